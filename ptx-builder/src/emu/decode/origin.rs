//! Origins of addresses: from which buffers and shared arrays a register's value may be computed.
//!
//! Independent of the order of instructions: a register's origins are those of everything that is ever assigned to it. A
//! 64-bit value loaded from memory may come from anywhere. An address that has origins must lead to one of them, which is how
//! an access through a pointer to one buffer that lands in another is told from a good one.

use std::collections::BTreeSet;

use super::{Argument, parameter};
use crate::ir::{Addr, Base, Entry, Inst, Operand, Reg};
use crate::isa::{Effect, Form, Op, Role};
use crate::types::Ty;

/// Where a value may come from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    /// Anywhere.
    pub(crate) unknown: bool,
    /// Buffers.
    pub(crate) buffers: BTreeSet<u32>,
    /// Shared arrays.
    pub(crate) arrays: BTreeSet<u32>,
}

impl Origin {
    fn join(&mut self, other: &Origin) -> bool {
        let before = (self.unknown, self.buffers.len(), self.arrays.len());
        self.unknown |= other.unknown;
        self.buffers.extend(&other.buffers);
        self.arrays.extend(&other.arrays);
        before != (self.unknown, self.buffers.len(), self.arrays.len())
    }

    /// The buffers it must lead to; `None` if that is not known.
    pub(crate) fn known_buffers(&self) -> Option<Box<[u32]>> {
        (!self.unknown && !self.buffers.is_empty()).then(|| self.buffers.iter().copied().collect())
    }

    /// The shared arrays it must lead to; `None` if that is not known.
    pub(crate) fn known_arrays(&self) -> Option<Box<[u32]>> {
        (!self.unknown && !self.arrays.is_empty()).then(|| self.arrays.iter().copied().collect())
    }
}

fn of_inst(inst: &Inst, arguments: &[Argument], origins: &[Origin]) -> Origin {
    let form = Form::of(inst.op);
    let mut origin = Origin::default();
    match (form.effect, inst.op) {
        (Effect::Load, Op::LdParam) => {
            let argument = inst.operands.iter().find_map(|operand| match operand {
                Operand::Addr(Addr { base, .. }) => arguments.get(parameter(*base)?),
                _ => None,
            });
            origin.buffers.extend(argument.and_then(|argument| argument.buffer));
        }
        // Only a 64-bit number can be a pointer; smaller ones are offsets.
        (Effect::Load | Effect::Atomic, _) => origin.unknown = inst.mods.t().is_none_or(|ty| ty.bits() >= 64),
        _ => {
            for (operand, spec) in inst.operands.iter().zip(form.operands) {
                match operand {
                    Operand::Shared(id) => {
                        origin.arrays.insert(id.0);
                    }
                    Operand::Addr(Addr { base: Base::Shared(id), .. }) => {
                        origin.arrays.insert(id.0);
                    }
                    _ if spec.role != Role::Def => operand.for_each_reg(&mut |reg: Reg| {
                        if let Some(of) = origins.get(reg.index()) {
                            origin.join(of);
                        }
                    }),
                    _ => {}
                }
            }
        }
    }
    origin
}

/// The origins of every register of the entry.
pub(super) fn trace(entry: &Entry, arguments: &[Argument]) -> Vec<Origin> {
    let mut origins = vec![Origin::default(); entry.regs.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for inst in entry.blocks.iter().flat_map(|block| &block.insts) {
            let origin = of_inst(inst, arguments, &origins);
            if origin == Origin::default() {
                continue;
            }
            inst.for_each_def(|reg| {
                let numeric = entry.regs.get(reg.index()).is_some_and(|info| info.ty != Ty::Pred);
                if numeric && let Some(of) = origins.get_mut(reg.index()) {
                    changed |= of.join(&origin);
                }
            });
        }
    }
    origins
}
