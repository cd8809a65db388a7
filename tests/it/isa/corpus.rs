//! The kernels of the corpus: for each combination of a row's modifiers one that loads what the instruction reads, executes
//! it and stores what it wrote.

use std::sync::OnceLock;

use ptxsmith_builder::imm::Imm;
use ptxsmith_builder::ir::{
    Addr, Base, Block, BlockId, Comments, Entry, Inst, LaunchBounds, Module, Operand, Param, ParamId, Place,
    Reg, RegInfo, SharedArray, SharedId, Terminator,
};
use ptxsmith_builder::isa::mods::{Cmp, Space};
use ptxsmith_builder::isa::{Form, Mod, Mods, Op, OpTy, Role, SmReq, SpecialReg, syntax, table};
use ptxsmith_builder::target::{PtxVersion, Target};
use ptxsmith_builder::types::Ty;
use ptxsmith_builder::verify::verify;

/// A kernel of the corpus.
pub(super) struct Case {
    pub(super) name: String,
    /// The entry without a header.
    pub(super) text: String,
    /// Lowest version by the table, the target's own apart.
    pub(super) ptx: PtxVersion,
    pub(super) sm: Vec<SmReq>,
}

impl Case {
    pub(super) fn admits(&self, target: Target) -> bool {
        self.sm.iter().all(|sm| sm.admits(target))
    }
}

/// Builds one entry: loads what the instruction reads, executes it, stores what it wrote.
pub(super) struct Maker {
    pub(super) entry: Entry,
    /// The output pointer.
    out: Reg,
}

impl Maker {
    pub(super) fn new(name: &str) -> Maker {
        let entry = Entry {
            name: name.to_owned(),
            params: Vec::new(),
            bounds: LaunchBounds::default(),
            shared: vec![SharedArray {
                name: "smem".into(),
                align: 32,
                ty: Ty::B64,
                len: Some(16),
                place: Place::default(),
            }],
            regs: Vec::new(),
            blocks: vec![Block {
                label: None,
                comments: Comments::default(),
                insts: Vec::new(),
                term: Terminator::Ret,
                term_place: Place::default(),
            }],
            place: Place::default(),
        };
        let mut maker = Maker { entry, out: Reg(0) };
        maker.out = maker.input(Ty::U64);
        maker
    }

    pub(super) fn reg(&mut self, ty: Ty) -> Reg {
        let name = format!("r{}", self.entry.regs.len());
        self.entry.regs.push(RegInfo { name, ty: ty.register(), variable: false });
        Reg(self.entry.regs.len() as u32 - 1)
    }

    pub(super) fn push(&mut self, op: Op, mods: &[Mod], operands: Vec<Operand>) {
        let inst = Inst { op, mods: Mods::new(mods), operands, guard: None, place: Place::default() };
        self.entry.blocks[0].insts.push(inst);
    }

    fn param(&mut self, ty: Ty) -> Operand {
        let id = ParamId(self.entry.params.len() as u32);
        let name = format!("p{}", id.0);
        self.entry.params.push(Param { name, ty, pointer_align: None, place: Place::default() });
        Operand::Addr(Addr { base: Base::Param(id), offset: 0 })
    }

    /// A register of unknown value.
    pub(super) fn input(&mut self, ty: Ty) -> Reg {
        if ty == Ty::Pred {
            let number = self.input(Ty::U32);
            let pred = self.reg(Ty::Pred);
            let zero = Operand::Imm(Imm::new(Ty::U32, 0));
            let operands = vec![Operand::Reg(pred), Operand::Reg(number), zero];
            self.push(Op::Setp, &[Cmp::Ne.get(), Mod::t(Ty::U32)], operands);
            return pred;
        }
        let reg = self.reg(ty);
        let load = if ty.register() == Ty::F16 { Ty::B16 } else { ty.register() };
        let address = self.param(load);
        self.push(Op::LdParam, &[Mod::t(load)], vec![Operand::Reg(reg), address]);
        reg
    }

    /// Makes a result observable.
    pub(super) fn output(&mut self, reg: Reg) {
        let declared = self.entry.regs[reg.index()].ty;
        let (value, ty) = match declared {
            Ty::Pred => {
                let number = self.reg(Ty::U32);
                let literal = |bits| Operand::Imm(Imm::new(Ty::U32, bits));
                let operands = vec![Operand::Reg(number), literal(1), literal(0), Operand::Reg(reg)];
                self.push(Op::Selp, &[Mod::t(Ty::U32)], operands);
                (number, Ty::U32)
            }
            Ty::F16 => (reg, Ty::B16),
            ty => (reg, ty),
        };
        let address = Operand::Addr(Addr { base: Base::Reg(self.out), offset: 0 });
        self.push(Op::St, &[Space::Global.get(), Mod::t(ty)], vec![address, Operand::Reg(value)]);
    }

    fn operand(&mut self, form: &Form, mods: &Mods, index: usize, written: &mut Vec<Reg>) -> Operand {
        let spec = form.operands[index];
        let (ty, _) = form.operand_ty(&spec, mods);
        match spec.role {
            Role::Addr => self.address(form, mods, index),
            Role::Imm => {
                // Copies take their size as a literal; 16 bytes is one that all of them have.
                let bits = if form.operands.iter().any(|spec| spec.role == Role::Addr) { 16 } else { 1 };
                Operand::Imm(Imm::new(ty.expect("a literal has a type"), bits))
            }
            Role::Def | Role::Use | Role::UseReg => {
                let ty = ty.expect("a register operand has a type");
                let mut one = |ty| {
                    if form.op == Op::MbarrierTest && ty == Ty::B64 {
                        // Both assemblers crash for sm_80 where the state is not that of an arrival.
                        let address = self.address(form, mods, index - 1);
                        let state = self.reg(ty);
                        self.push(Op::MbarrierArrive, &[], vec![Operand::Reg(state), address]);
                        Operand::Reg(state)
                    } else if spec.role == Role::Def {
                        written.push(self.reg(ty));
                        Operand::Reg(written[written.len() - 1])
                    } else {
                        Operand::Reg(self.input(ty))
                    }
                };
                match spec.ty {
                    OpTy::VecT if mods.vec() > 1 => Operand::Vec((0..mods.vec()).map(|_| one(ty)).collect()),
                    OpTy::PartsT => {
                        let half = if ty.bits() == 64 { Ty::B32 } else { Ty::B16 };
                        Operand::Vec(vec![one(half), one(half)])
                    }
                    _ => one(ty),
                }
            }
        }
    }

    /// An address in the state space that the name gives the operand: a copy names the destination's first; the mbarrier
    /// that counts it is in shared memory.
    fn address(&mut self, form: &Form, mods: &Mods, index: usize) -> Operand {
        let texts = form.head().iter().filter_map(|segment| match segment {
            syntax::Segment::Literal(text) => Some(*text),
            syntax::Segment::Slot { slot, .. } => mods.get(*slot).map(Mod::text),
        });
        let spaces: Vec<&str> =
            texts.filter(|text| Mod::from_text(ptxsmith_builder::isa::Slot::Space, text).is_some()).collect();
        let before = form.operands[..index].iter().filter(|spec| spec.role == Role::Addr).count();
        let space = match spaces[..] {
            [] => "generic",
            [one] => one,
            _ => spaces.get(before).copied().unwrap_or("shared"),
        };
        if space == "param" {
            return self.param(mods.t().expect("ld.param has a type"));
        }
        let base = if space.starts_with("shared") {
            let reg = self.reg(Ty::U32);
            self.push(Op::Mov, &[Mod::t(Ty::U32)], vec![Operand::Reg(reg), Operand::Shared(SharedId(0))]);
            reg
        } else {
            self.input(Ty::U64)
        };
        Operand::Addr(Addr { base: Base::Reg(base), offset: 0 })
    }
}

/// The text of an entry without the header, made for some target that has it.
fn print(entry: Entry, admits: impl Fn(Target) -> bool) -> String {
    let name = entry.name.clone();
    let target = Target::all().into_iter().find(|target| admits(*target));
    let target = target.unwrap_or_else(|| panic!("{name}: no target has it"));
    let verified = verify(Module { target, entries: vec![entry] })
        .unwrap_or_else(|findings| panic!("{name}: {findings}"));
    let text = verified.to_string();
    let (_, entry) = text.split_once(".address_size 64\n").expect("a header of three lines");
    entry.to_owned()
}

fn case(number: usize, form: &'static Form, mods: &Mods) -> Case {
    let mut maker = Maker::new(&format!("k{number}"));
    let mut written = Vec::new();
    let operands = (0..form.operands.len()).map(|i| maker.operand(form, mods, i, &mut written)).collect();
    maker.push(form.op, &mods.iter().collect::<Vec<_>>(), operands);
    written.into_iter().for_each(|reg| maker.output(reg));
    let since: Vec<_> = form.requirements(mods).collect();
    let ptx = since.iter().map(|since| since.ptx).max().expect("every row has a requirement");
    let sm: Vec<SmReq> = since.iter().map(|since| since.sm).collect();
    let text = print(maker.entry, |target| sm.iter().all(|sm| sm.admits(target)));
    let modifiers: String = mods.iter().map(|modifier| format!(" .{}", modifier.text())).collect();
    Case { name: format!("{:?}{modifiers}", form.op), text, ptx, sm }
}

/// Terminators and special registers are no instructions of a block: their kernels are made by hand.
fn by_hand(number: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for special in SpecialReg::ALL {
        let mut maker = Maker::new(&format!("k{}", number + cases.len()));
        let reg = maker.reg(special.ty());
        maker.push(Op::Mov, &[Mod::t(special.ty())], vec![Operand::Reg(reg), Operand::Special(*special)]);
        maker.output(reg);
        let since = table::special_since(*special);
        let text = print(maker.entry, |target| since.sm.admits(target));
        cases.push(Case { name: special.name().to_owned(), text, ptx: since.ptx, sm: vec![since.sm] });
    }
    for (op, end) in [
        (Op::Bra, Terminator::Jump(BlockId(2))),
        (Op::Bra, Terminator::Branch { pred: Reg(0), negated: true, target: BlockId(2), uniform: true }),
        (Op::Ret, Terminator::Ret),
        (Op::Exit, Terminator::Exit),
        (Op::Trap, Terminator::Trap),
    ] {
        let mut maker = Maker::new(&format!("k{}", number + cases.len()));
        let mut end = end;
        if let Terminator::Branch { pred, .. } = &mut end {
            *pred = maker.input(Ty::Pred);
        }
        let mut blocks: Vec<Block> = vec![maker.entry.blocks[0].clone(); 3];
        blocks[0].term = end;
        blocks[1].insts.clear();
        blocks[2] = Block { label: Some("there".into()), ..blocks[1].clone() };
        maker.entry.blocks = blocks;
        let form = Form::of(op);
        let since: Vec<_> = form.requirements(&Mods::NONE).collect();
        let text = print(maker.entry, |_| true);
        let ptx = since.iter().map(|since| since.ptx).max().expect("every row has a requirement");
        cases.push(Case {
            name: format!("{op:?}"),
            text,
            ptx,
            sm: since.iter().map(|since| since.sm).collect(),
        });
    }
    cases
}

/// The corpus, made once.
pub(super) fn all() -> &'static [Case] {
    static CORPUS: OnceLock<Vec<Case>> = OnceLock::new();
    CORPUS.get_or_init(make_corpus)
}

fn make_corpus() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in Form::all() {
        if matches!(form.op, Op::Bra | Op::Ret | Op::Exit | Op::Trap) {
            continue;
        }
        for mods in form.combinations() {
            cases.push(case(cases.len(), form, &mods));
        }
    }
    cases.extend(by_hand(cases.len()));
    cases
}

/// The text of an entry that does nothing.
pub(super) fn empty() -> String {
    print(Maker::new("k").entry, |_| true)
}
