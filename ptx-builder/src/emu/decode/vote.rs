//! Decoding of what combines a value over the lanes of a warp.

use super::{Act, Class, Decoder, Error, Form, Inst, Role, Slot};
use crate::emu::float::compare::MinMax;
use crate::isa::Op;
use crate::isa::mods::{Abs, AtomOp, Nan, Vote};
use crate::types::Ty;

/// What is combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteKind {
    All,
    Any,
    Uniform,
    Ballot,
    /// `activemask`.
    Active,
    MatchAny,
    MatchAll,
    Elect,
    Add,
    Min,
    Max,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
    MinFloat(MinMax),
    MaxFloat(MinMax),
}

/// `vote.sync`, `match.sync`, `redux.sync`, `elect.sync` or `activemask`.
#[derive(Debug)]
pub(crate) struct VoteOp {
    pub(crate) kind: VoteKind,
    pub(crate) d: Slot,
    pub(crate) p: Option<Slot>,
    pub(crate) a: Option<Slot>,
    /// The member mask; `activemask` has none.
    pub(crate) members: Option<u32>,
}

fn kind(inst: &Inst) -> Option<VoteKind> {
    let signed = inst.mods.t() == Some(Ty::S32);
    let float = || MinMax {
        ftz: false,
        nan: Nan::of(&inst.mods).is_some(),
        abs: Abs::of(&inst.mods).is_some(),
        xorsign: false,
    };
    Some(match (inst.op, Vote::of(&inst.mods), AtomOp::of(&inst.mods)) {
        (Op::VoteSync, Some(Vote::All), _) => VoteKind::All,
        (Op::VoteSync, Some(Vote::Any), _) => VoteKind::Any,
        (Op::VoteSync, Some(Vote::Uni), _) => VoteKind::Uniform,
        (Op::VoteBallot, ..) => VoteKind::Ballot,
        (Op::ActiveMask, ..) => VoteKind::Active,
        (Op::MatchAny, ..) => VoteKind::MatchAny,
        (Op::MatchAll, ..) => VoteKind::MatchAll,
        (Op::ElectSync, ..) => VoteKind::Elect,
        (Op::Redux, _, Some(AtomOp::Add)) => VoteKind::Add,
        (Op::Redux, _, Some(AtomOp::Min)) if signed => VoteKind::MinSigned,
        (Op::Redux, _, Some(AtomOp::Max)) if signed => VoteKind::MaxSigned,
        (Op::Redux, _, Some(AtomOp::Min)) => VoteKind::Min,
        (Op::Redux, _, Some(AtomOp::Max)) => VoteKind::Max,
        (Op::ReduxBits, _, Some(AtomOp::And)) => VoteKind::And,
        (Op::ReduxBits, _, Some(AtomOp::Or)) => VoteKind::Or,
        (Op::ReduxBits, _, Some(AtomOp::Xor)) => VoteKind::Xor,
        (Op::ReduxF, _, Some(AtomOp::Min)) => VoteKind::MinFloat(float()),
        (Op::ReduxF, _, Some(AtomOp::Max)) => VoteKind::MaxFloat(float()),
        _ => return None,
    })
}

impl Decoder<'_, '_> {
    /// Results and operands as registers of the classes that the row gives them.
    pub(super) fn typed(&mut self, inst: &Inst) -> Result<(Vec<Slot>, Vec<Slot>), Error> {
        let (mut defs, mut uses) = (Vec::new(), Vec::new());
        for (operand, spec) in inst.operands.iter().zip(Form::of(inst.op).operands) {
            let class = spec.ty.of(&inst.mods).and_then(Class::of);
            match spec.role {
                Role::Def => defs.push(self.target(inst, operand, class)?),
                Role::Addr => {}
                Role::Use | Role::UseReg | Role::Imm => uses.push(self.source(inst, operand, class)?),
            }
        }
        Ok((defs, uses))
    }

    pub(super) fn vote(&mut self, inst: &Inst) -> Result<Act, Error> {
        if inst.op == Op::BarWarpSync {
            return self.barrier(inst);
        }
        let Some(kind) = kind(inst) else {
            return self.refuse(inst, "this exchange is not emulated");
        };
        let (defs, uses) = self.typed(inst)?;
        let (a, members) = match uses.as_slice() {
            [] => (None, None),
            [members] => (None, Some(members.at)),
            [a, members, ..] => (Some(*a), Some(members.at)),
        };
        let Some(&d) = defs.first() else { return self.refuse(inst, "no result") };
        Ok(Act::Vote(Box::new(VoteOp { kind, d, p: defs.get(1).copied(), a, members })))
    }
}
