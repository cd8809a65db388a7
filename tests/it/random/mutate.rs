//! Damages that break one rule each, at a place that is drawn.

use ptxsmith_builder::imm::Imm;
use ptxsmith_builder::ir::{
    Addr, Base, Block, BlockId, Comments, Entry, Inst, Module, Operand, Place, Reg, Terminator,
};
use ptxsmith_builder::isa::{Effect, Form, Op, Role, SmReq};
use ptxsmith_builder::target::Target;
use ptxsmith_builder::types::Ty;

/// A damage: damages the module at one of the places where it can, told by a number; `false` where there is none.
pub(super) struct Damage {
    /// What it does.
    pub(super) name: &'static str,
    /// The rule that it breaks.
    pub(super) rule: &'static str,
    /// Rules that may be broken with it: another value decides otherwise where threads part.
    pub(super) also: &'static [&'static str],
    pub(super) apply: fn(&mut Module, usize) -> bool,
}

/// Every damage.
pub(super) const DAMAGES: &[Damage] = &[
    Damage {
        name: "a register of another type",
        rule: "types",
        also: &["convergence"],
        apply: wrong_register,
    },
    Damage { name: "an f32 literal in an f64 operand", rule: "types", also: &[], apply: wrong_literal },
    Damage { name: "an assignment left out", rule: "undefined", also: &[], apply: drop_assignment },
    Damage { name: "a value assigned twice", rule: "reassigned", also: &[], apply: assign_twice },
    Damage { name: "a guarded barrier", rule: "convergence", also: &[], apply: guard_barrier },
    Damage {
        name: "a barrier under a varying branch",
        rule: "convergence",
        also: &[],
        apply: branch_around_barrier,
    },
    Damage { name: "an older target", rule: "target", also: &[], apply: older_target },
    Damage { name: "a vector off its alignment", rule: "alignment", also: &[], apply: misalign },
    Damage { name: "a shared offset out of bounds", rule: "shared-bounds", also: &[], apply: out_of_bounds },
    Damage { name: "a jump to the entry", rule: "structure", also: &[], apply: jump_to_entry },
    Damage { name: "a name for two registers", rule: "names", also: &[], apply: same_name },
    Damage { name: "a block that is too large", rule: "launch-bounds", also: &[], apply: large_block },
    Damage { name: "shared memory that does not fit", rule: "shared-size", also: &[], apply: large_array },
    Damage { name: "parameters that do not fit", rule: "parameters", also: &[], apply: many_parameters },
];

fn entry(module: &mut Module) -> &mut Entry {
    &mut module.entries[0]
}

/// Block and position of the instructions that a condition holds for.
fn places(entry: &Entry, holds: impl Fn(&Inst) -> bool) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (b, block) in entry.blocks.iter().enumerate() {
        places.extend(block.insts.iter().enumerate().filter(|(_, inst)| holds(inst)).map(|(i, _)| (b, i)));
    }
    places
}

fn choose<T: Copy>(from: &[T], at: usize) -> Option<T> {
    from.get(at.checked_rem(from.len())?).copied()
}

fn choose_inst(entry: &mut Entry, at: usize, holds: impl Fn(&Inst) -> bool) -> Option<&mut Inst> {
    let (block, inst) = choose(&places(entry, holds), at)?;
    Some(&mut entry.blocks[block].insts[inst])
}

/// The plain register operands that an instruction reads, of a pure row, with their type.
fn sources(inst: &Inst) -> Vec<(usize, Ty)> {
    let form = Form::of(inst.op);
    if form.effect != Effect::Pure {
        return Vec::new();
    }
    let read = form.operands.iter().enumerate().filter(|(_, spec)| spec.role != Role::Def);
    read.filter(|(i, _)| matches!(inst.operands[*i], Operand::Reg(_)))
        .filter_map(|(i, spec)| Some((i, form.operand_ty(spec, &inst.mods).0?)))
        .collect()
}

fn wrong_register(module: &mut Module, at: usize) -> bool {
    let entry = entry(module);
    // The registers of the first block are assigned everywhere behind it.
    let first: Vec<Reg> = places_of_definitions(entry, 0);
    let types: Vec<Ty> = entry.regs.iter().map(|info| info.ty).collect();
    let Some((block, inst)) = choose(&places(entry, |inst| !sources(inst).is_empty()), at) else {
        return false;
    };
    if block == 0 {
        return false;
    }
    let inst = &mut entry.blocks[block].insts[inst];
    let (operand, ty) = sources(inst)[0];
    // Conversions take wider registers of some types, but none takes a float for an integer or a predicate for a number.
    let wrong = if ty == Ty::F32 { Ty::F64 } else { Ty::F32 };
    let wrong = if matches!(ty.bits(), 32) && !matches!(ty, Ty::F32) { Ty::F64 } else { wrong };
    let Some(reg) = first.into_iter().find(|reg| types[reg.index()] == wrong) else { return false };
    inst.operands[operand] = Operand::Reg(reg);
    true
}

fn places_of_definitions(entry: &Entry, block: usize) -> Vec<Reg> {
    let mut regs = Vec::new();
    for inst in &entry.blocks[block].insts {
        inst.for_each_def(|reg| regs.push(reg));
    }
    regs
}

fn wrong_literal(module: &mut Module, at: usize) -> bool {
    let takes = |inst: &Inst| {
        let form = Form::of(inst.op);
        sources(inst).into_iter().find(|(i, ty)| *ty == Ty::F64 && form.operands[*i].role == Role::Use)
    };
    let Some(inst) = choose_inst(entry(module), at, |inst| takes(inst).is_some()) else { return false };
    let Some((operand, _)) = takes(inst) else { return false };
    inst.operands[operand] = Operand::Imm(Imm::f32(1e-5));
    true
}

fn drop_assignment(module: &mut Module, at: usize) -> bool {
    let entry = entry(module);
    let mut read = vec![false; entry.regs.len()];
    for block in &entry.blocks {
        block.insts.iter().for_each(|inst| inst.for_each_use(|reg| read[reg.index()] = true));
        if let Terminator::Branch { pred, .. } = block.term {
            read[pred.index()] = true;
        }
    }
    let wanted = |inst: &Inst| {
        let mut wanted = false;
        inst.for_each_def(|reg| wanted |= read[reg.index()] && !entry.regs[reg.index()].variable);
        wanted
    };
    let Some((block, inst)) = choose(&places(entry, wanted), at) else { return false };
    entry.blocks[block].insts.remove(inst);
    true
}

fn assign_twice(module: &mut Module, at: usize) -> bool {
    let regs = &mut entry(module).regs;
    let variables: Vec<usize> = (0..regs.len()).filter(|reg| regs[*reg].variable).collect();
    let Some(variable) = choose(&variables, at) else { return false };
    regs[variable].variable = false;
    true
}

/// A predicate that differs between the threads: whether the index in the block is below 7.
fn varying(entry: &Entry) -> Option<Reg> {
    let compare = entry.blocks[0].insts.iter().find(|inst| inst.op == Op::Setp)?;
    match compare.operands[0] {
        Operand::Reg(reg) => Some(reg),
        _ => None,
    }
}

fn guard_barrier(module: &mut Module, at: usize) -> bool {
    let entry = entry(module);
    let Some(pred) = varying(entry) else { return false };
    let Some(inst) = choose_inst(entry, at, |inst| inst.op == Op::BarSync) else { return false };
    inst.guard = Some(ptxsmith_builder::ir::Guard { pred, negated: false });
    true
}

/// Splits a block around a barrier: `@p bra behind; bar.sync; behind: …`.
fn branch_around_barrier(module: &mut Module, at: usize) -> bool {
    let entry = entry(module);
    let Some(pred) = varying(entry) else { return false };
    let Some((b, i)) = choose(&places(entry, |inst| inst.op == Op::BarSync), at) else { return false };
    for block in &mut entry.blocks {
        if let Terminator::Jump(target) | Terminator::Branch { target, .. } = &mut block.term
            && target.index() > b
        {
            target.0 += 2;
        }
    }
    let block = &mut entry.blocks[b];
    let rest = block.insts.split_off(i + 1);
    let barrier = block.insts.split_off(i);
    let behind = BlockId(b as u32 + 2);
    let term = std::mem::replace(
        &mut block.term,
        Terminator::Branch { pred, negated: false, target: behind, uniform: false },
    );
    let part = |label, insts, term| Block {
        label,
        comments: Comments::default(),
        insts,
        term,
        term_place: Place::default(),
    };
    entry.blocks.insert(b + 1, part(None, barrier, Terminator::Fall));
    entry.blocks.insert(b + 2, part(Some("behind".to_owned()), rest, term));
    true
}

fn older_target(module: &mut Module, _: usize) -> bool {
    let needs = |inst: &Inst| {
        let mut since = Form::of(inst.op).requirements(&inst.mods);
        since.any(|since| !matches!(since.sm, SmReq::AtLeast(..=75)))
    };
    if places(entry(module), needs).is_empty() {
        return false;
    }
    module.target = Target::sm(75).expect("a row of the target table");
    true
}

/// The vector accesses of a space known to be aligned.
fn misalign(module: &mut Module, at: usize) -> bool {
    let Some(inst) = choose_inst(entry(module), at, |inst| inst.mods.vec() > 1) else { return false };
    let bytes = i64::from(inst.mods.t().map_or(1, Ty::bytes));
    for operand in &mut inst.operands {
        if let Operand::Addr(addr) = operand {
            // To where the access stays within its array.
            addr.offset += if addr.offset < bytes { bytes } else { -bytes };
        }
    }
    true
}

fn out_of_bounds(module: &mut Module, at: usize) -> bool {
    fn fixed(operand: &Operand) -> bool {
        matches!(operand, Operand::Addr(Addr { base: Base::Shared(_), .. }))
    }
    let inst = choose_inst(entry(module), at, |inst| inst.operands.iter().any(fixed));
    let Some(inst) = inst else { return false };
    for operand in &mut inst.operands {
        if let Operand::Addr(addr) = operand {
            addr.offset += i64::from(super::program::FIXED_BYTES);
        }
    }
    true
}

fn jump_to_entry(module: &mut Module, at: usize) -> bool {
    let entry = entry(module);
    let jumps = |block: &Block| matches!(block.term, Terminator::Jump(_) | Terminator::Branch { .. });
    let blocks: Vec<usize> = (0..entry.blocks.len()).filter(|b| jumps(&entry.blocks[*b])).collect();
    let Some(block) = choose(&blocks, at) else { return false };
    if let Terminator::Jump(target) | Terminator::Branch { target, .. } = &mut entry.blocks[block].term {
        *target = BlockId(0);
    }
    true
}

fn same_name(module: &mut Module, at: usize) -> bool {
    let regs = &mut entry(module).regs;
    let other = at % (regs.len() - 1) + 1;
    regs[other].name = regs[0].name.clone();
    true
}

fn large_block(module: &mut Module, at: usize) -> bool {
    entry(module).bounds.block = Some([1025 + at as u32 % 1000, 1, 1]);
    true
}

fn large_array(module: &mut Module, _: usize) -> bool {
    entry(module).shared[0].len = Some(228 * 1024);
    true
}

fn many_parameters(module: &mut Module, _: usize) -> bool {
    let entry = entry(module);
    let param = entry.params[0].clone();
    // 32 764 bytes is the most that any version passes.
    entry
        .params
        .extend((0..4096).map(|i| ptxsmith_builder::ir::Param { name: format!("q{i}"), ..param.clone() }));
    true
}
