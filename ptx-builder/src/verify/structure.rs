//! Structure: indices in range, operands of the right number and kind, modifiers that the row has, blocks that follow on.
//!
//! Every other rule that follows data through an entry may rely on what is checked here.

use super::Report;
use crate::hash::FastSet;
use crate::ir::{Addr, Base, BlockId, Entry, Inst, Operand, Reg, Terminator};
use crate::isa::syntax::{self, Segment};
use crate::isa::{Effect, Form, Misfit, Mods, Op, OpTy, Role, Slot};
use crate::types::Ty;

const RULE: &str = "structure";

/// Whether the entry holds together.
pub(super) fn check(entry: &Entry, report: &mut Report<'_>) -> bool {
    let before = report.len();
    if entry.blocks.is_empty() {
        report
            .at_entry(RULE, String::new(), "the kernel has no instructions".to_owned())
            .hint("write `ret;`");
    }
    let mut fitting = FastSet::default();
    for block in &entry.blocks {
        for inst in &block.insts {
            instruction(entry, inst, &mut fitting, report);
        }
    }
    for (i, block) in entry.blocks.iter().enumerate() {
        let last = i + 1 == entry.blocks.len();
        if last && matches!(block.term, Terminator::Fall | Terminator::Branch { .. }) {
            let (text, place) = match (block.insts.last(), &block.term) {
                (Some(inst), Terminator::Fall) => (crate::print::show_inst(entry, inst), inst.place),
                _ => (report.end_text(block), block.term_place),
            };
            let message = "control runs past the last instruction of the kernel".to_owned();
            report
                .add(RULE, super::Severity::Error, (text, place), message)
                .hint("end the kernel with `ret;`");
        }
        if let Terminator::Jump(target) | Terminator::Branch { target, .. } = block.term {
            check_target(entry, target, i, report);
        }
        if let Terminator::Branch { pred, .. } = block.term
            && !is_predicate(entry, pred)
        {
            report.at_end(RULE, block, "the branch needs a predicate register".to_owned());
        }
    }
    report.len() == before
}

fn check_target(entry: &Entry, target: BlockId, from: usize, report: &mut Report<'_>) {
    let block = &entry.blocks[from];
    match entry.blocks.get(target.index()) {
        None => {
            let count = entry.blocks.len();
            report.at_end(RULE, block, format!("jump to block {}, the kernel has {count} blocks", target.0));
        }
        Some(to) if to.label.is_none() => {
            report.at_end(RULE, block, format!("jump to block {}, which has no label", target.0));
        }
        Some(_) => {}
    }
}

fn is_predicate(entry: &Entry, reg: Reg) -> bool {
    entry.regs.get(reg.index()).is_some_and(|info| info.ty == Ty::Pred)
}

/// Checks an instruction; `fitting` remembers the forms whose modifiers are known to fit.
fn instruction(entry: &Entry, inst: &Inst, fitting: &mut FastSet<(Op, Mods)>, report: &mut Report<'_>) {
    let form = Form::of(inst.op);
    let mnemonic = form.mnemonic();
    if matches!(inst.op, Op::Bra | Op::Ret | Op::Exit | Op::Trap) {
        report.at_inst(
            RULE,
            inst,
            format!("`{mnemonic}` ends a block; it is a terminator, not an instruction"),
        );
        return;
    }
    if let Some(guard) = inst.guard
        && !is_predicate(entry, guard.pred)
    {
        report.at_inst(RULE, inst, "the guard must be a predicate register".to_owned());
    }
    if !fitting.contains(&(inst.op, inst.mods)) {
        let before = report.len();
        modifiers(inst, report);
        if report.len() == before {
            fitting.insert((inst.op, inst.mods));
        }
    }
    if inst.operands.len() != form.operands.len() {
        let (found, wanted) = (inst.operands.len(), form.operands.len());
        report.at_inst(RULE, inst, format!("`{mnemonic}` takes {wanted} operands, found {found}"));
        return;
    }
    for (i, operand) in inst.operands.iter().enumerate() {
        if let Err(message) = in_range(entry, operand).and_then(|()| kind(inst, i, operand)) {
            report.at_inst(RULE, inst, format!("operand {} of `{mnemonic}` {message}", i + 1));
        }
    }
}

fn modifiers(inst: &Inst, report: &mut Report<'_>) {
    let form = Form::of(inst.op);
    for segment in form.head() {
        if let Segment::Slot { slot, optional: false } = segment
            && inst.mods.get(*slot).is_none()
        {
            let what = match slot {
                Slot::T | Slot::S => "a type".to_owned(),
                slot => format!("one of {}", list(slot.values().iter().map(|value| format!("`.{value}`")))),
            };
            report.at_inst(RULE, inst, format!("`{}` lacks {what}", form.mnemonic()));
        }
    }
    for modifier in inst.mods.iter() {
        let in_head =
            form.head().iter().any(|s| matches!(s, Segment::Slot { slot, .. } if *slot == modifier.slot));
        if !in_head || !form.allows(modifier) {
            report.at_inst(RULE, inst, format!("`.{}` does not fit `{}`", modifier.text(), form.syntax));
        }
    }
    if let Some(misfit @ Misfit::Excluded(_)) = form.misfit(&inst.mods) {
        report.at_inst(RULE, inst, format!("`{}` has no {misfit}", form.syntax));
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn in_range(entry: &Entry, operand: &Operand) -> Result<(), String> {
    let reg = |reg: Reg| match entry.regs.get(reg.index()) {
        Some(_) => Ok(()),
        None => Err(format!("is register {}, the kernel has {}", reg.0, entry.regs.len())),
    };
    match operand {
        Operand::Reg(r) | Operand::Addr(Addr { base: Base::Reg(r), .. }) => reg(*r),
        Operand::Shared(id) | Operand::Addr(Addr { base: Base::Shared(id), .. }) => {
            let count = entry.shared.len();
            if id.index() < count {
                Ok(())
            } else {
                Err(format!("is shared array {}, the kernel has {count}", id.0))
            }
        }
        Operand::Addr(Addr { base: Base::Param(id), .. }) => {
            let count = entry.params.len();
            if id.index() < count {
                Ok(())
            } else {
                Err(format!("is parameter {}, the kernel has {count}", id.0))
            }
        }
        Operand::Vec(items) => items.iter().try_for_each(|item| in_range(entry, item)),
        Operand::Imm(_) | Operand::Special(_) | Operand::Sink => Ok(()),
    }
}

/// Whether an operand is of the kind that its role and type ask for.
fn kind(inst: &Inst, index: usize, operand: &Operand) -> Result<(), String> {
    let spec = Form::of(inst.op).operands[index];
    let vector = match spec.ty {
        OpTy::VecT if inst.mods.vec() > 1 => Some(inst.mods.vec()),
        OpTy::PartsT => Some(0),
        OpTy::T | OpTy::S | OpTy::WideT | OpTy::WideS | OpTy::VecT | OpTy::Fixed(_) | OpTy::Address => None,
    };
    match (vector, operand) {
        (Some(wanted), Operand::Vec(items)) => {
            if wanted != 0 && items.len() != wanted {
                return Err(format!("has {} elements, `.v{wanted}` takes {wanted}", items.len()));
            }
            if wanted == 0 && !matches!(items.len(), 2 | 4) {
                return Err(format!("has {} elements, a packing `mov` takes 2 or 4", items.len()));
            }
            items.iter().try_for_each(|item| scalar(inst, spec.role, spec.ty, item))
        }
        (Some(_), _) => Err("must be a list in braces".to_owned()),
        (None, Operand::Vec(_)) => Err("must not be a list in braces".to_owned()),
        (None, operand) => scalar(inst, spec.role, spec.ty, operand),
    }
}

fn scalar(inst: &Inst, role: Role, ty: OpTy, operand: &Operand) -> Result<(), String> {
    let wanted = match role {
        Role::Def => "a register",
        Role::Use => "a register or a literal",
        Role::UseReg => "a register",
        Role::Addr => "an address in brackets",
        Role::Imm => "a literal",
    };
    let fits = match (role, operand) {
        (Role::Def | Role::Use | Role::UseReg, Operand::Reg(_)) => true,
        (Role::Def, Operand::Sink) => may_discard(inst.op, ty),
        (Role::Use, Operand::Imm(_)) => ty != OpTy::PartsT,
        (Role::Imm, Operand::Imm(_)) | (Role::Addr, Operand::Addr(_)) => true,
        (Role::Use, Operand::Special(_)) => reads_special(inst.op),
        (Role::Use, Operand::Shared(_)) => inst.op == Op::Mov,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let found = match operand {
        Operand::Reg(_) => "a register",
        Operand::Imm(_) => "a literal",
        Operand::Special(_) => "a special register",
        Operand::Shared(_) => "the address of a shared array",
        Operand::Vec(_) => "a list in braces",
        Operand::Addr(_) => "an address in brackets",
        Operand::Sink => "`_`",
    };
    Err(format!("must be {wanted}, found {found}"))
}

/// Only `mov` and `cvt` read special registers; other instructions refuse them.
fn reads_special(op: Op) -> bool {
    matches!(Form::of(op).mnemonic(), "mov" | "cvt")
}

/// Results that may be dropped with `_`: elements of a vector, one of two results, the old value of an atomic.
fn may_discard(op: Op, ty: OpTy) -> bool {
    let form = Form::of(op);
    let two_results = syntax::operands(op).contains(&syntax::Piece::Punct('|'));
    matches!(ty, OpTy::VecT | OpTy::PartsT)
        || two_results
        || matches!(form.effect, Effect::Atomic | Effect::Mbarrier)
}
