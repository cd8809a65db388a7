//! Decoding of atomic accesses and of what orders accesses: semantics, scopes, fences.

use super::effects::Target;
use super::{Act, Class, Decoder, Error, Form, Inst, MemOp, Operand, Role, Slot, element_bytes};
use crate::isa::Op;
use crate::isa::mods::{AtomOp, Membar, Scope, Sem};
use crate::types::Ty;

/// What an access orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ordering {
    /// Atomic, volatile, or with a scope: does not race with others of its kind.
    pub(crate) strong: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    /// Among more threads than those of the block.
    pub(crate) wide: bool,
}

impl Ordering {
    pub(super) fn of(inst: &Inst) -> Ordering {
        let sem = Sem::of(&inst.mods);
        let strong = match inst.op {
            Op::LdSem | Op::LdVolatile | Op::StSem | Op::StVolatile => true,
            op => Form::of(op).effect == crate::isa::Effect::Atomic,
        };
        Ordering {
            strong,
            acquire: matches!(sem, Some(Sem::Acquire | Sem::AcqRel | Sem::Sc)),
            release: matches!(sem, Some(Sem::Release | Sem::AcqRel | Sem::Sc)),
            wide: Scope::of(&inst.mods) != Some(Scope::Cta),
        }
    }
}

/// How an atomic access combines what is there with its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    With(AtomOp),
    /// Compare and swap.
    Cas,
}

/// An atomic access. The places are those of `mem`, whose `regs` are the elements of the operand.
#[derive(Debug)]
pub(crate) struct AtomicOp {
    pub(crate) mem: MemOp,
    pub(crate) combine: Combine,
    pub(crate) ty: Ty,
    /// What was there, by element; empty for `red`.
    pub(crate) results: Vec<Slot>,
    /// The new value of a compare and swap.
    pub(crate) new: Option<Slot>,
}

impl Decoder<'_, '_> {
    pub(super) fn fence(&self, inst: &Inst) -> Act {
        match (Membar::of(&inst.mods), Scope::of(&inst.mods)) {
            (Some(Membar::Cta), _) | (_, Some(Scope::Cta)) => Act::Fence { wide: false },
            (Some(_), _) | (_, Some(_)) => Act::Fence { wide: true },
            // Proxies and initialized mbarriers: nothing that two threads order.
            (None, None) => Act::Nothing,
        }
    }

    pub(super) fn atomic(&mut self, inst: &Inst) -> Result<Act, Error> {
        let combine = match (inst.op, AtomOp::of(&inst.mods)) {
            (Op::AtomCas, _) => Combine::Cas,
            (_, Some(op)) => Combine::With(op),
            (_, None) => Combine::With(AtomOp::Add),
        };
        let Target::In(space) = self.space(inst)? else {
            return self.refuse(inst, "an atomic access to a parameter");
        };
        let ty = inst.mods.t().unwrap_or(Ty::U32);
        let Some(elem) = element_bytes(ty) else {
            return self.refuse(inst, "elements of 16, 32 or 64 bits are emulated");
        };
        let addr = self.address(inst)?;
        let mut mem = self.memory_at(inst, addr, space, elem)?;
        let class = if elem == 8 { Class::W64 } else { Class::W32 };
        let mut results = Vec::new();
        let mut new = None;
        let operands = inst.operands.clone();
        for (operand, spec) in operands.iter().zip(Form::of(inst.op).operands) {
            match spec.role {
                // A vector of which nothing is wanted.
                Role::Def if *operand == Operand::Sink => {}
                Role::Def => {
                    for item in self.elements(inst, operand)? {
                        results.push(self.target(inst, item, Some(class))?);
                    }
                }
                Role::Use | Role::UseReg if mem.regs.is_empty() => {
                    for item in self.elements(inst, operand)? {
                        mem.regs.push(self.source(inst, item, Some(class))?);
                    }
                }
                Role::Use | Role::UseReg => new = Some(self.source(inst, operand, Some(class))?),
                Role::Addr | Role::Imm => {}
            }
        }
        if mem.regs.len() != inst.mods.vec() || (combine == Combine::Cas) != new.is_some() {
            return self.refuse(inst, "not the operands of an atomic access");
        }
        let float = matches!(ty, Ty::F16 | Ty::Bf16 | Ty::F16x2 | Ty::Bf16x2);
        if float && !matches!(combine, Combine::With(AtomOp::Add | AtomOp::Min | AtomOp::Max)) {
            return self.refuse(inst, "floats are added or compared");
        }
        Ok(Act::Atomic(Box::new(AtomicOp { mem, combine, ty, results, new })))
    }
}
