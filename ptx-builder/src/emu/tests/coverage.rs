//! Which rows of the instruction table the emulator refuses: an exact list, over all of the table's combinations of modifiers.

use std::collections::BTreeSet;

use super::*;
use crate::imm::Imm;
use crate::ir::{Addr, Base, Block, Inst, LaunchBounds, Operand, Param, Place, Reg, RegInfo, Terminator};
use crate::isa::{Form, Mods, Op, OpTy, OperandSpec, Role};

/// Rows of which at least one combination is refused.
const REFUSED: &[Op] = &[
    // Local and constant memory: an entry declares none.
    Op::Ld,
    Op::St,
    // Clusters.
    Op::ClusterArrive,
    Op::ClusterWait,
    Op::Mapa,
    Op::GetCtaRank,
    // mbarriers and what they count.
    Op::CpAsyncMbarrier,
    Op::BulkLoad,
    Op::BulkLoadHint,
    Op::BulkCopyCluster,
    Op::MbarrierInit,
    Op::MbarrierInval,
    Op::MbarrierArrive,
    Op::MbarrierArriveCount,
    Op::MbarrierArriveTx,
    Op::MbarrierArriveRemote,
    Op::MbarrierExpectTx,
    Op::MbarrierTest,
    Op::MbarrierTestParity,
    Op::MbarrierTryParity,
    Op::StAsync,
];

/// The types that registers here have, in order.
fn registers() -> Vec<Ty> {
    let fits = |ty: &Ty| ty.is_register() && ty.bits() <= 64;
    Ty::ALL.iter().copied().filter(fits).collect()
}

fn register(ty: Ty) -> Operand {
    let at = registers().iter().position(|known| *known == ty.register()).expect("a register of each type");
    Operand::Reg(Reg(at as u32))
}

fn operand(form: &Form, spec: &OperandSpec, mods: &Mods) -> Operand {
    let ty = form.operand_ty(spec, mods).0.unwrap_or(Ty::U32);
    match (spec.role, spec.ty) {
        (Role::Addr, _) if form.op == Op::LdParam => {
            Operand::Addr(Addr { base: Base::Param(crate::ir::ParamId(0)), offset: 0 })
        }
        (Role::Addr, _) => {
            let Operand::Reg(reg) = register(Ty::U64) else { unreachable!("a register") };
            Operand::Addr(Addr { base: Base::Reg(reg), offset: 0 })
        }
        (Role::Imm, _) => Operand::Imm(Imm::new(ty, 16)),
        (_, OpTy::PartsT) => Operand::Vec(vec![register(if ty.bits() == 64 { Ty::B32 } else { Ty::B16 }); 2]),
        (_, OpTy::VecT) if mods.vec() > 1 => Operand::Vec(vec![register(ty); mods.vec()]),
        _ => register(ty),
    }
}

fn entry(form: &Form, mods: Mods) -> Entry {
    let operands = form.operands.iter().map(|spec| operand(form, spec, &mods)).collect();
    let regs = registers().into_iter();
    let regs = regs.map(|ty| RegInfo { name: ty.suffix().to_owned(), ty, variable: true });
    Entry {
        name: "k".to_owned(),
        params: vec![Param {
            name: "x".to_owned(),
            ty: Ty::U64,
            pointer_align: None,
            place: Place::default(),
        }],
        bounds: LaunchBounds::default(),
        shared: Vec::new(),
        regs: regs.collect(),
        blocks: vec![Block {
            label: None,
            comments: crate::ir::Comments::default(),
            insts: vec![Inst { op: form.op, mods, operands, guard: None, place: Place::default() }],
            term: Terminator::Ret,
            term_place: Place::default(),
        }],
        place: Place::default(),
    }
}

#[test]
fn the_emulator_runs_every_other_row() {
    let mut refused = BTreeSet::new();
    let mut reasons = BTreeSet::new();
    let argument = Argument { bits: 0, buffer: None };
    // Jumps are terminators.
    for form in Form::all().iter().filter(|form| form.op != Op::Bra) {
        let combinations = form.combinations();
        let mut tried = 0;
        for mods in combinations.into_iter().filter(|mods| form.misfit(mods).is_none()) {
            tried += 1;
            if let Err(error) = decode(&entry(form, mods), &[argument], 0) {
                refused.insert(form.op);
                reasons.insert(format!("{:?}: {error}", form.op));
            }
        }
        assert!(tried > 0, "{:?} has no combination", form.op);
    }
    let expected: BTreeSet<Op> = REFUSED.iter().copied().collect();
    let wrong: Vec<&Op> = refused.symmetric_difference(&expected).collect();
    let about: Vec<&String> = reasons
        .iter()
        .filter(|reason| wrong.iter().any(|op| reason.starts_with(&format!("{op:?}:"))))
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}\n{about:#?}");
}
