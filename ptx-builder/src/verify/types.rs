//! Types: registers agree with the instruction, literals have its type exactly, addresses fit their state space.
//!
//! The assembler checks registers too, but it reads an f32 literal in an f64 operand as other bits and cuts an integer
//! literal that is too long; here both are errors.

use super::Report;
use crate::imm::Imm;
use crate::ir::{Addr, Base, Entry, Inst, Operand, Reg};
use crate::isa::syntax::{self, Segment};
use crate::isa::{Effect, Form, Mod, Op, OpTy, OperandSpec, Role, Slot};
use crate::types::Ty;

const RULE: &str = "types";

pub(super) fn check(entry: &Entry, report: &mut Report<'_>) {
    for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
        let form = Form::of(inst.op);
        for (i, (operand, spec)) in inst.operands.iter().zip(form.operands).enumerate() {
            let result = match operand {
                Operand::Addr(addr) => address(entry, inst, i, addr),
                Operand::Vec(items) if spec.ty == OpTy::PartsT => {
                    parts(entry, inst, items).and_then(|()| alike(entry, items))
                }
                Operand::Vec(items) => {
                    let each = items.iter().try_for_each(|item| value(entry, inst, spec, item));
                    each.and_then(|()| alike(entry, items))
                }
                other => value(entry, inst, spec, other),
            };
            if let Err((message, hint)) = result {
                let finding = report.at_inst(
                    RULE,
                    inst,
                    format!("operand {} of `{}` {message}", i + 1, form.mnemonic()),
                );
                if let Some(hint) = hint {
                    finding.hint(hint);
                }
            }
        }
        barrier_number(inst, report);
        bit_field(inst, report);
        fraction(inst, report);
    }
}

type Wrong = (String, Option<&'static str>);

fn wrong<T>(message: String) -> Result<T, Wrong> {
    Err((message, None))
}

fn value(entry: &Entry, inst: &Inst, spec: &OperandSpec, operand: &Operand) -> Result<(), Wrong> {
    let (Some(ty), wider) = Form::of(inst.op).operand_ty(spec, &inst.mods) else { return Ok(()) };
    match operand {
        Operand::Reg(reg) => {
            let found = declared(entry, *reg);
            if ty.agrees(found) || (wider && widens(ty, found)) {
                return Ok(());
            }
            let or_wider = if wider && !ty.is_float() { " or wider" } else { "" };
            let name = &entry.regs[reg.index()].name;
            wrong(format!("is `%{name}`, declared `{found}`, the instruction takes `{ty}`{or_wider}"))
        }
        Operand::Imm(imm) => literal(ty, *imm),
        Operand::Special(special) => {
            let found = special.ty();
            if found.bits() == ty.bits() && !ty.is_float() {
                return Ok(());
            }
            wrong(format!("is `{special}`, which is `{found}`, the instruction takes `{ty}`"))
        }
        Operand::Shared(_) => {
            if matches!(ty.bits(), 32 | 64) && (ty.is_int() || ty.is_bits()) {
                return Ok(());
            }
            wrong(format!(
                "is the address of a shared array, which is `.u32` or `.u64`, the instruction takes `{ty}`"
            ))
        }
        Operand::Vec(_) | Operand::Addr(_) | Operand::Sink => Ok(()),
    }
}

/// Loads, stores and conversions take a wider register unless a float is involved.
fn widens(ty: Ty, register: Ty) -> bool {
    let plain = |ty: Ty| ty.is_int() || ty.is_bits();
    plain(ty) && plain(register) && register.bits() > ty.bits()
}

fn declared(entry: &Entry, reg: Reg) -> Ty {
    entry.regs[reg.index()].ty
}

fn literal(ty: Ty, imm: Imm) -> Result<(), Wrong> {
    let full = if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
    if imm.ty == ty && imm.bits <= full {
        return if matches!(ty.bits(), 8 | 16 | 32 | 64) && (ty.is_int() || ty.is_bits())
            || matches!(ty, Ty::F32 | Ty::F64 | Ty::Pred)
        {
            Ok(())
        } else {
            Err((
                format!("is a literal, which `{ty}` does not have"),
                Some("move the bits into a register with `mov.b16` or `mov.b32`"),
            ))
        };
    }
    if imm.ty != ty {
        let hint = match (imm.ty, ty) {
            (Ty::F32, Ty::F64) => Some("write the constant as f64 (`0d…`); its f32 bits are another number"),
            (Ty::F64, Ty::F32) => Some("write the constant as f32 (`0f…`)"),
            _ => None,
        };
        return Err((format!("is the `{}` literal `{imm}`, the instruction takes `{ty}`", imm.ty), hint));
    }
    wrong(format!("is the literal {:#x}, the largest `{ty}` is {full:#x}", imm.bits))
}

/// The registers of a packing `mov` have equal widths that add up to the whole.
fn parts(entry: &Entry, inst: &Inst, items: &[Operand]) -> Result<(), Wrong> {
    let Some(whole) = inst.mods.t() else { return Ok(()) };
    let each = whole.bits() / items.len() as u32;
    for item in items {
        if let Operand::Reg(reg) = item {
            let found = declared(entry, *reg);
            if found == Ty::Pred || found.bits() != each {
                let name = &entry.regs[reg.index()].name;
                return wrong(format!(
                    "has the part `%{name}`, declared `{found}`; {} parts of `{whole}` have {each} bits each",
                    items.len()
                ));
            }
        }
    }
    Ok(())
}

fn address(entry: &Entry, inst: &Inst, index: usize, addr: &Addr) -> Result<(), Wrong> {
    let space = space(inst, index);
    match addr.base {
        Base::Reg(reg) => {
            let (found, name) = (declared(entry, reg), &entry.regs[reg.index()].name);
            if !(found.is_int() || found.is_bits()) || !matches!(found.bits(), 32 | 64) {
                return wrong(format!(
                    "has the base `%{name}`, declared `{found}`, an address is a 32- or 64-bit integer"
                ));
            }
            match space {
                Where::Space("param") => {
                    wrong(format!("has the base `%{name}`, a kernel's parameters are named directly"))
                }
                Where::Unsaid => Ok(()),
                space if space.is_shared() || found.bits() == 64 => Ok(()),
                _ => wrong(format!(
                    "has the base `%{name}`, declared `{found}`, this state space has 64-bit addresses"
                )),
            }
        }
        Base::Shared(_) if space.is_shared() || space == Where::Unsaid => Ok(()),
        Base::Shared(id) => {
            let name = &entry.shared[id.index()].name;
            let accessed = match space {
                Where::Space(space) => format!("`.{space}`"),
                Where::Generic | Where::Unsaid => "generic addresses".to_owned(),
            };
            wrong(format!("names the shared array `{name}`, the instruction accesses {accessed}"))
        }
        Base::Param(id) => {
            let param = &entry.params[id.index()];
            if space != Where::Space("param") {
                return wrong(format!("names the parameter `{}`, only `ld.param` reads one", param.name));
            }
            let bytes = i64::from(inst.mods.t().map_or(0, Ty::bytes)) * inst.mods.vec() as i64;
            let size = i64::from(param.ty.bytes());
            if addr.offset < 0 || addr.offset.saturating_add(bytes) > size {
                return wrong(format!(
                    "reads bytes {} to {} of parameter `{}`, which has {size}",
                    addr.offset,
                    addr.offset.saturating_add(bytes),
                    param.name
                ));
            }
            Ok(())
        }
    }
}

/// Where an address operand points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// A named state space.
    Space(&'static str),
    /// Generic addresses.
    Generic,
    /// The row does not say, as for the mbarrier of a bulk copy.
    Unsaid,
}

impl Where {
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Where::Space("shared" | "shared::cta" | "shared::cluster"))
    }
}

/// The state space of the address operand at `index`. An instruction with two spaces (a copy) names the destination's
/// first, in the order of its operands.
pub(super) fn space(inst: &Inst, index: usize) -> Where {
    let form = Form::of(inst.op);
    let texts = form.head().iter().filter_map(|segment| match segment {
        Segment::Literal(text) => Some(*text),
        Segment::Slot { slot, .. } => inst.mods.get(*slot).map(Mod::text),
    });
    let spaces: Vec<&'static str> =
        texts.filter(|text| Mod::from_text(Slot::Space, text).is_some()).collect();
    let before = form.operands.iter().take(index).filter(|spec| spec.role == Role::Addr).count();
    match (spaces.as_slice(), before) {
        ([], _) => Where::Generic,
        ([one], _) => Where::Space(one),
        (several, before) => several.get(before).map_or(Where::Unsaid, |space| Where::Space(space)),
    }
}

/// Blocks have 16 barriers.
/// The registers of a vector agree with each other: the assembler takes no float beside an integer, even where the
/// instruction moves bits, and no two widths.
fn alike(entry: &Entry, items: &[Operand]) -> Result<(), Wrong> {
    let regs = || {
        items.iter().filter_map(|item| match item {
            Operand::Reg(reg) => Some(&entry.regs[reg.index()]),
            _ => None,
        })
    };
    for (i, one) in regs().enumerate() {
        if let Some(other) = regs().take(i).find(|other| !other.ty.agrees(one.ty)) {
            return Err((
                format!(
                    "has elements of different types: `%{}`, declared `{}`, and `%{}`, declared `{}`",
                    other.name, other.ty, one.name, one.ty
                ),
                Some("move the bits into registers of one type with `mov.b16`, `mov.b32` or `mov.b64`"),
            ));
        }
    }
    Ok(())
}

/// Position and length of a bit field: only their low byte counts, and the assembler takes no larger literal.
fn bit_field(inst: &Inst, report: &mut Report<'_>) {
    const MOST: u64 = 255;
    let names: [(&str, &str); 2] = match inst.op {
        Op::Bfe => [("b", "position"), ("c", "length")],
        Op::Bfi => [("c", "position"), ("d", "length")],
        _ => return,
    };
    for (name, meaning) in names {
        if let Some(Operand::Imm(imm)) = syntax::operand_named(inst.op, name).map(|at| &inst.operands[at])
            && imm.bits > MOST
        {
            let message =
                format!("the {meaning} of the bit field is {}, the largest literal is {MOST}", imm.bits);
            report.at_inst(RULE, inst, message);
        }
    }
}

/// A cache policy is for a fraction of the accesses.
fn fraction(inst: &Inst, report: &mut Report<'_>) {
    if inst.op != Op::CreatePolicy {
        return;
    }
    for operand in &inst.operands {
        let Operand::Imm(imm) = operand else { continue };
        let value = f32::from_bits(imm.bits as u32);
        if imm.ty == Ty::F32 && !(value > 0.0 && value <= 1.0) {
            let message = format!("the fraction of the accesses is {value:e}, it is above 0 and at most 1");
            report.at_inst(RULE, inst, message);
        }
    }
}

fn barrier_number(inst: &Inst, report: &mut Report<'_>) {
    const BARRIERS: u64 = 16;
    if Form::of(inst.op).effect == Effect::Barrier
        && let Some(Operand::Imm(imm)) = syntax::operand_named(inst.op, "a").map(|at| &inst.operands[at])
        && imm.bits >= BARRIERS
    {
        let message = format!("barrier {}, the largest number is {}", imm.bits, BARRIERS - 1);
        report.at_inst(RULE, inst, message);
    }
}
