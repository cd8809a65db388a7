//! Decoding: an entry becomes compact operations over dense register slots, once per launch.
//!
//! * Literals, special registers, kernel arguments and addresses of shared arrays become registers that are filled once.
//! * Register classes are checked here, so that executing never meets a slot of another class.
//! * Reads that some path may reach without a write are marked; only those are checked while running.

use std::collections::HashMap;

use super::error::Error;
use super::lane::{Class, RegFile, Slots, WarpFn};
use super::profile::InstClass;
use crate::ir::{Base, BlockId, Entry, Inst, Operand, Place, Reg, Terminator};
use crate::isa::{Effect, Eval, Form, Op, Role, SpecialReg};
use crate::print::{show_inst, show_terminator};
use crate::types::Ty;

mod assigned;
mod atomic;
mod copy;
mod effects;
mod origin;
mod vote;

pub(crate) use atomic::{AtomicOp, Combine, Ordering};
pub(crate) use copy::{AsyncOp, CopyOp};
pub(crate) use effects::{AddrBase, BarrierKind, BarrierOp, MemOp, PackOp, Reduce, ShuffleOp, Space, extend};
pub(crate) use vote::{VoteKind, VoteOp};

/// No block, no instruction.
pub(crate) const NONE: u32 = u32::MAX;

/// A register of a known class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) class: Class,
    pub(crate) at: u32,
}

/// What an operation does.
#[derive(Debug)]
pub(crate) enum Act {
    Lanes(fn(&mut RegFile, &Slots, u32), Slots),
    /// Copies a register of 32 bits, destination first.
    Copy32(u32, u32),
    /// Copies a register of 64 bits.
    Copy64(u32, u32),
    Pack(Box<PackOp>),
    Unpack(Box<PackOp>),
    Load(Box<MemOp>),
    Store(Box<MemOp>),
    Shuffle(Box<ShuffleOp>),
    Vote(Box<VoteOp>),
    Atomic(Box<AtomicOp>),
    Async(AsyncOp),
    Fence {
        wide: bool,
    },
    Barrier(BarrierOp),
    Exit,
    Trap,
    Nothing,
}

/// An operation.
#[derive(Debug)]
pub(crate) struct OpCode {
    pub(crate) act: Act,
    /// Predicate slot and whether it is negated.
    pub(crate) guard: Option<(u32, bool)>,
    /// Index in [`Program::insts`].
    pub(crate) inst: u32,
    /// Reads a register that may not have been written.
    pub(crate) check: bool,
    /// Writes a register that some instruction may read unwritten.
    pub(crate) track: bool,
}

/// The end of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Term {
    Go(u32),
    Branch { pred: u32, negated: bool, target: u32, fall: u32, uniform: bool },
    Exit,
    Trap,
}

/// A basic block.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) ops: Vec<OpCode>,
    pub(crate) term: Term,
    pub(crate) term_inst: u32,
    /// The terminator reads a predicate that may not have been written.
    pub(crate) term_check: bool,
    /// Where lanes that a branch at the end divides come together; [`NONE`] if only at the exit.
    pub(crate) join: u32,
    /// Instructions, the terminator included if it is one.
    pub(crate) cost: u64,
}

/// An instruction, or a terminator.
#[derive(Debug, Clone)]
pub(crate) struct InstInfo {
    pub(crate) block: u32,
    /// Position in the block; [`NONE`] for the terminator.
    pub(crate) index: u32,
    pub(crate) class: InstClass,
    pub(crate) place: Place,
    /// The guard's register, by index in the entry as all of these.
    pub(crate) guard: Option<u32>,
    /// Registers read beside the guard; once decoded, only those that may not have been written.
    pub(crate) reads: Vec<u32>,
    /// Registers written; once decoded, only those that some instruction may read unwritten.
    pub(crate) writes: Vec<u32>,
}

/// A shared array's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArrayAt {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// What an argument is at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) bits: u64,
    pub(crate) buffer: Option<u32>,
}

/// A decoded entry with its arguments.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) blocks: Vec<Code>,
    pub(crate) insts: Vec<InstInfo>,
    /// Registers with all constants in place.
    pub(crate) template: RegFile,
    pub(crate) specials: Vec<(SpecialReg, Slot)>,
    /// Registers that may be read unwritten: index in the entry and slot.
    pub(crate) tracked: Vec<(u32, Slot)>,
    pub(crate) arrays: Vec<ArrayAt>,
    pub(crate) shared_bytes: u32,
    /// Bytes of dynamic shared memory within them.
    pub(crate) dynamic_shared: u32,
}

impl Program<'_> {
    /// The text of an instruction.
    pub(crate) fn text(&self, inst: u32) -> String {
        let Some(info) = self.insts.get(inst as usize) else { return String::new() };
        let block = &self.entry.blocks[info.block as usize];
        match block.insts.get(info.index as usize) {
            Some(inst) => show_inst(self.entry, inst),
            None => show_terminator(self.entry, &block.term).unwrap_or_default(),
        }
    }
}

/// Lays the shared arrays out as the assembler does: in the order of declaration, each aligned, dynamic ones behind.
fn layout(entry: &Entry, dynamic: u32) -> (Vec<ArrayAt>, u32) {
    let mut end = 0u32;
    let mut arrays = vec![ArrayAt { start: 0, len: 0 }; entry.shared.len()];
    for (at, array) in arrays.iter_mut().zip(&entry.shared) {
        if let Some(bytes) = array.bytes() {
            let start = end.next_multiple_of(array.align.max(1));
            *at = ArrayAt { start, len: bytes };
            end = start.saturating_add(bytes);
        }
    }
    let mut total = end.saturating_add(dynamic);
    for (at, array) in arrays.iter_mut().zip(&entry.shared) {
        if array.len.is_none() {
            let start = end.next_multiple_of(array.align.max(1));
            *at = ArrayAt { start, len: dynamic };
            total = total.max(start.saturating_add(dynamic));
        }
    }
    (arrays, total)
}

/// Decodes an entry for one launch.
pub(crate) fn decode<'a>(
    entry: &'a Entry,
    arguments: &[Argument],
    dynamic: u32,
) -> Result<Program<'a>, Error> {
    let (arrays, shared_bytes) = layout(entry, dynamic);
    let mut decoder = Decoder {
        entry,
        arguments,
        slots: Vec::with_capacity(entry.regs.len()),
        file: RegFile::default(),
        constants: HashMap::new(),
        specials: Vec::new(),
        arrays,
        origins: origin::trace(entry, arguments),
    };
    for info in &entry.regs {
        let class =
            Class::of(info.ty).ok_or_else(|| Error::Register { name: info.name.clone(), ty: info.ty })?;
        let at = decoder.file.push(class);
        decoder.slots.push(Slot { class, at });
    }
    let cfg = entry.cfg();
    let mut insts = Vec::new();
    let mut blocks = Vec::with_capacity(entry.blocks.len());
    for (b, block) in entry.blocks.iter().enumerate() {
        let mut ops = Vec::with_capacity(block.insts.len());
        for (i, inst) in block.insts.iter().enumerate() {
            let id = insts.len() as u32;
            insts.push(describe(b as u32, i as u32, inst));
            let act = decoder.act(inst)?;
            let guard = match inst.guard {
                Some(guard) => Some((decoder.predicate(inst, guard.pred)?, guard.negated)),
                None => None,
            };
            ops.push(OpCode { act, guard, inst: id, check: false, track: false });
        }
        let term_inst = insts.len() as u32;
        let (term, counted) = decoder.term(b, block)?;
        let reads = match block.term {
            Terminator::Branch { pred, .. } => vec![pred.0],
            _ => Vec::new(),
        };
        insts.push(InstInfo {
            block: b as u32,
            index: NONE,
            class: InstClass::Control,
            place: block.term_place,
            guard: None,
            reads,
            writes: Vec::new(),
        });
        blocks.push(Code {
            cost: ops.len() as u64 + u64::from(counted),
            ops,
            term,
            term_inst,
            term_check: false,
            join: cfg.immediate_post_dominator(BlockId(b as u32)).map_or(NONE, |block| block.0),
        });
    }
    let tracked = assigned::mark(entry, &cfg, &mut insts, &mut blocks);
    let tracked = tracked.into_iter().map(|reg| (reg, decoder.slots[reg as usize])).collect();
    Ok(Program {
        entry,
        blocks,
        insts,
        template: decoder.file,
        specials: decoder.specials,
        tracked,
        arrays: decoder.arrays,
        shared_bytes,
        dynamic_shared: dynamic,
    })
}

fn describe(block: u32, index: u32, inst: &Inst) -> InstInfo {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    let guard = inst.guard.map(|guard| guard.pred.0);
    // The guard is the first use.
    inst.for_each_use(|reg| reads.push(reg.0));
    reads.drain(..usize::from(guard.is_some()));
    inst.for_each_def(|reg| writes.push(reg.0));
    InstInfo { block, index, class: InstClass::of(inst), place: inst.place, guard, reads, writes }
}

struct Decoder<'a, 'b> {
    entry: &'a Entry,
    arguments: &'b [Argument],
    slots: Vec<Slot>,
    file: RegFile,
    constants: HashMap<(Class, u64), u32>,
    specials: Vec<(SpecialReg, Slot)>,
    arrays: Vec<ArrayAt>,
    origins: Vec<origin::Origin>,
}

impl Decoder<'_, '_> {
    fn refuse<T>(&self, inst: &Inst, reason: impl Into<String>) -> Result<T, Error> {
        Err(Error::Instruction {
            text: show_inst(self.entry, inst),
            place: inst.place,
            reason: reason.into(),
        })
    }

    fn register(&self, inst: &Inst, reg: Reg) -> Result<Slot, Error> {
        match self.slots.get(reg.index()) {
            Some(slot) => Ok(*slot),
            None => self.refuse(inst, format!("register {} of {}", reg.0, self.slots.len())),
        }
    }

    fn predicate(&self, inst: &Inst, reg: Reg) -> Result<u32, Error> {
        match self.register(inst, reg)? {
            Slot { class: Class::Pred, at } => Ok(at),
            _ => self.refuse(inst, "the guard is not a predicate"),
        }
    }

    /// A register that holds a constant.
    fn constant(&mut self, class: Class, bits: u64) -> u32 {
        let file = &mut self.file;
        *self.constants.entry((class, bits)).or_insert_with(|| file.push_splat(class, bits))
    }

    fn special(&mut self, inst: &Inst, special: SpecialReg) -> Result<Slot, Error> {
        if let Some((_, slot)) = self.specials.iter().find(|(known, _)| *known == special) {
            return Ok(*slot);
        }
        let Some(class) = Class::of(special.ty()) else {
            return self.refuse(inst, format!("{special} is too wide"));
        };
        let slot = Slot { class, at: self.file.push(class) };
        self.specials.push((special, slot));
        Ok(slot)
    }

    /// The register of an operand that is read as `class` (or as whatever class it has).
    fn source(&mut self, inst: &Inst, operand: &Operand, class: Option<Class>) -> Result<Slot, Error> {
        let slot = match operand {
            Operand::Reg(reg) => self.register(inst, *reg)?,
            Operand::Imm(imm) => {
                let Some(own) = class.or(Class::of(imm.ty)) else {
                    return self.refuse(inst, "literal too wide");
                };
                let bits =
                    if own == Class::W64 && imm.ty.is_signed() { imm.signed() as u64 } else { imm.bits };
                Slot { class: own, at: self.constant(own, bits) }
            }
            Operand::Special(special) => self.special(inst, *special)?,
            Operand::Shared(id) => {
                let Some(array) = self.arrays.get(id.index()).copied() else {
                    return self.refuse(inst, format!("shared array {} of {}", id.0, self.arrays.len()));
                };
                let own = class.unwrap_or(Class::W32);
                Slot { class: own, at: self.constant(own, u64::from(array.start)) }
            }
            Operand::Vec(_) | Operand::Addr(_) | Operand::Sink => {
                return self.refuse(inst, "an operand that is neither a register nor a literal");
            }
        };
        match class {
            Some(class) if class != slot.class => {
                self.refuse(inst, format!("an operand of class {:?}, expected {class:?}", slot.class))
            }
            _ => Ok(slot),
        }
    }

    /// The register that an operand writes.
    fn target(&mut self, inst: &Inst, operand: &Operand, class: Option<Class>) -> Result<Slot, Error> {
        let slot = match operand {
            Operand::Reg(reg) => self.register(inst, *reg)?,
            Operand::Sink => {
                let class = class.unwrap_or(Class::W32);
                Slot { class, at: self.file.push(class) }
            }
            _ => return self.refuse(inst, "a result that is not a register"),
        };
        match class {
            Some(class) if class != slot.class => {
                self.refuse(inst, format!("a result of class {:?}, expected {class:?}", slot.class))
            }
            _ => Ok(slot),
        }
    }

    fn act(&mut self, inst: &Inst) -> Result<Act, Error> {
        let form = Form::of(inst.op);
        if inst.operands.len() != form.operands.len() {
            return self
                .refuse(inst, format!("{} operands, expected {}", inst.operands.len(), form.operands.len()));
        }
        match form.eval {
            Eval::Lanes(select) => match select(&inst.mods) {
                Some(function) => self.lanes(inst, function),
                None => self.refuse(inst, "these modifiers are not emulated"),
            },
            Eval::Effect => self.effect(inst, form.effect),
        }
    }

    fn lanes(&mut self, inst: &Inst, function: WarpFn) -> Result<Act, Error> {
        let specs = Form::of(inst.op).operands;
        let mut slots = Slots { context: function.context, ..Slots::default() };
        let mut next = 0;
        let mut results = 0;
        for (operand, spec) in inst.operands.iter().zip(specs) {
            if spec.role == Role::Def {
                slots.d = self.target(inst, operand, Some(function.result))?.at;
                results += 1;
            } else {
                let (Some(class), Some(_)) = (function.operands.get(next), slots.s.get(next)) else {
                    return self.refuse(inst, format!("more than {} operands", function.operands.len()));
                };
                slots.s[next] = self.source(inst, operand, Some(*class))?.at;
                next += 1;
            }
        }
        if results != 1 || next != function.operands.len() {
            return self.refuse(inst, format!("{results} results and {next} operands"));
        }
        Ok(match (inst.op, function.result) {
            (Op::Mov, Class::W32) => Act::Copy32(slots.d, slots.s[0]),
            (Op::Mov, Class::W64) => Act::Copy64(slots.d, slots.s[0]),
            _ => Act::Lanes(function.run, slots),
        })
    }

    fn effect(&mut self, inst: &Inst, effect: Effect) -> Result<Act, Error> {
        match (effect, inst.op) {
            (Effect::Pure, Op::MovPack) => self.pack(inst, false),
            (Effect::Pure, Op::MovUnpack) => self.pack(inst, true),
            (Effect::Load, _) => self.load(inst),
            (Effect::Store, _) => self.store(inst),
            (Effect::Shuffle, _) => self.shuffle(inst),
            (Effect::Barrier, _) => self.barrier(inst),
            (Effect::Vote, _) => self.vote(inst),
            (Effect::Exit, _) => Ok(Act::Exit),
            (Effect::Trap, _) => Ok(Act::Trap),
            (Effect::Atomic, _) => self.atomic(inst),
            (Effect::AsyncCopy, _) => self.copy(inst),
            (Effect::Fence, _) => Ok(self.fence(inst)),
            // Hints change no value; one grid runs at a time.
            (Effect::Hint | Effect::GridWait, _) => Ok(Act::Nothing),
            (Effect::Pure | Effect::Mbarrier | Effect::ClusterBarrier, _) => {
                self.refuse(inst, "this instruction is not emulated")
            }
        }
    }

    fn term(&self, index: usize, block: &crate::ir::Block) -> Result<(Term, bool), Error> {
        let refuse = |reason: String| {
            Err(Error::Instruction {
                text: show_terminator(self.entry, &block.term).unwrap_or_default(),
                place: block.term_place,
                reason,
            })
        };
        let count = self.entry.blocks.len();
        let fall = index as u32 + 1;
        Ok(match block.term {
            Terminator::Fall if fall as usize == count => (Term::Exit, false),
            Terminator::Fall => (Term::Go(fall), false),
            Terminator::Jump(target) if target.index() < count => (Term::Go(target.0), true),
            Terminator::Branch { pred, negated, target, uniform } if target.index() < count => {
                let slot = self.slots.get(pred.index());
                match slot {
                    Some(Slot { class: Class::Pred, at }) if (fall as usize) < count => {
                        (Term::Branch { pred: *at, negated, target: target.0, fall, uniform }, true)
                    }
                    Some(Slot { class: Class::Pred, .. }) => {
                        return refuse("control can run past the last instruction".to_owned());
                    }
                    _ => return refuse("the condition is not a predicate".to_owned()),
                }
            }
            Terminator::Jump(target) | Terminator::Branch { target, .. } => {
                return refuse(format!("a jump to block {} of {count}", target.0));
            }
            Terminator::Ret | Terminator::Exit => (Term::Exit, true),
            Terminator::Trap => (Term::Trap, true),
        })
    }
}

/// Bits of a register, at most 64.
fn register_bits(entry: &Entry, operand: &Operand) -> u32 {
    match operand {
        Operand::Reg(reg) => entry.regs.get(reg.index()).map_or(32, |info| info.ty.bits()),
        Operand::Imm(imm) => imm.ty.bits(),
        Operand::Special(special) => special.ty().bits(),
        Operand::Shared(_) | Operand::Vec(_) | Operand::Addr(_) | Operand::Sink => 32,
    }
}

/// The parameter and byte offset that an address names.
fn parameter(base: Base) -> Option<usize> {
    match base {
        Base::Param(id) => Some(id.index()),
        Base::Reg(_) | Base::Shared(_) => None,
    }
}

/// Bytes of `ty` in memory if the emulator can move one.
fn element_bytes(ty: Ty) -> Option<u32> {
    matches!(ty.bits(), 8 | 16 | 32 | 64).then(|| ty.bytes())
}
