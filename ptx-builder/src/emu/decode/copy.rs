//! Decoding of asynchronous copies that threads wait for in groups.

use super::{Act, Decoder, Error, Inst, MemOp, Operand, Space};
use crate::emu::lane::Class;
use crate::ir::{Addr, Base};
use crate::isa::Op;

/// `cp.async` between global and shared memory.
#[derive(Debug)]
pub(crate) struct CopyOp {
    pub(crate) to: MemOp,
    pub(crate) from: MemOp,
    /// Register with the bytes of a bulk copy; of others `to` tells them.
    pub(crate) bytes: Option<u32>,
    /// Register with the bytes that are read; the rest becomes zero.
    pub(crate) copied: Option<u32>,
    pub(crate) bulk: bool,
}

/// What an instruction does with asynchronous copies. Bulk copies have groups of their own.
#[derive(Debug)]
pub(crate) enum AsyncOp {
    Start(Box<CopyOp>),
    Commit {
        bulk: bool,
    },
    /// Waits until at most so many groups are pending; without a number until no copy is.
    Wait {
        bulk: bool,
        pending: Option<u32>,
    },
}

impl Decoder<'_, '_> {
    pub(super) fn copy(&mut self, inst: &Inst) -> Result<Act, Error> {
        let number = |at: usize| match inst.operands.get(at) {
            Some(Operand::Imm(imm)) => u32::try_from(imm.bits).ok(),
            _ => None,
        };
        let op = match inst.op {
            Op::CpAsyncCommit => AsyncOp::Commit { bulk: false },
            Op::BulkCommit => AsyncOp::Commit { bulk: true },
            Op::CpAsyncWaitAll => AsyncOp::Wait { bulk: false, pending: None },
            Op::CpAsyncWait | Op::BulkWait => {
                let Some(pending) = number(0) else { return self.refuse(inst, "no number of groups") };
                AsyncOp::Wait { bulk: inst.op == Op::BulkWait, pending: Some(pending) }
            }
            Op::BulkStore => {
                let [to, from, bytes] = inst.operands.as_slice() else {
                    return self.refuse(inst, "not the operands of a copy");
                };
                let bytes = Some(self.source(inst, bytes, Some(Class::W32))?.at);
                let to = self.side(inst, to, Space::Global, 16)?;
                let from = self.side(inst, from, Space::Shared, 16)?;
                AsyncOp::Start(Box::new(CopyOp { to, from, bytes, copied: None, bulk: true }))
            }
            Op::CpAsyncCa | Op::CpAsyncCaZfill | Op::CpAsyncCg | Op::CpAsyncCgZfill | Op::CpAsyncCgHint => {
                let Some(bytes) = number(2).filter(|bytes| matches!(bytes, 4 | 8 | 16)) else {
                    return self.refuse(inst, "4, 8 or 16 bytes are copied");
                };
                let to = self.side(inst, &inst.operands[0], Space::Shared, bytes)?;
                let from = self.side(inst, &inst.operands[1], Space::Global, bytes)?;
                let copied = match inst.op {
                    Op::CpAsyncCaZfill | Op::CpAsyncCgZfill => {
                        Some(self.source(inst, &inst.operands[3], Some(Class::W32))?.at)
                    }
                    _ => None,
                };
                AsyncOp::Start(Box::new(CopyOp { to, from, bytes: None, copied, bulk: false }))
            }
            _ => return self.refuse(inst, "copies that an mbarrier counts are not emulated"),
        };
        Ok(Act::Async(op))
    }

    fn side(&mut self, inst: &Inst, operand: &Operand, space: Space, bytes: u32) -> Result<MemOp, Error> {
        let addr = match operand {
            Operand::Addr(addr) => *addr,
            Operand::Reg(reg) => Addr { base: Base::Reg(*reg), offset: 0 },
            Operand::Shared(id) => Addr { base: Base::Shared(*id), offset: 0 },
            _ => return self.refuse(inst, "no address"),
        };
        self.memory_at(inst, addr, space, bytes)
    }
}
