//! Rules that no text can break, on modules that are damaged as data; and that damage never makes the verifier panic.

use super::*;
use crate::imm::Imm;
use crate::ir::{Addr, Base};
use crate::ir::{BlockId, Guard, Operand, ParamId, Reg, SharedId, Terminator};
use crate::isa::mods::Rnd;
use crate::isa::{Mod, Mods, Op};
use crate::parse::parse;
use crate::types::Ty;

const TEXT: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 x)
{
    .reg .pred %p;
    .reg .u32 %a, %b;
    .reg .u64 %x;
    .shared .align 4 .u32 s[2];
    ld.param.u64 %x, [x];
    mov.u32 %a, 1;
    st.shared.u32 [s+4], %a;
again:
    add.u32 %a, %a, 1;
    setp.lt.u32 %p, %a, 9;
    @%p bra again;
    mov.u32 %b, %a;
    st.global.u32 [%x], %b;
    ret;
}
";

fn module() -> Module {
    parse(TEXT).expect("a sound text").module
}

/// The rules that a damaged module breaks.
fn broken(damage: impl FnOnce(&mut Entry)) -> Vec<&'static str> {
    let mut module = module();
    damage(&mut module.entries[0]);
    let mut rules: Vec<&str> = check(&module).iter().map(|finding| finding.rule).collect();
    rules.dedup();
    rules
}

fn register(entry: &Entry, name: &str) -> Reg {
    let at = entry.regs.iter().position(|info| info.name == name).expect("a register of the text");
    Reg(at as u32)
}

#[test]
fn the_undamaged_module_is_clean() {
    assert!(broken(|_| {}).is_empty());
}

#[test]
fn a_value_is_assigned_once() {
    let rules = broken(|entry| {
        let a = register(entry, "a");
        entry.regs[a.index()].variable = false;
    });
    assert_eq!(rules, ["reassigned"]);
}

#[test]
fn indices_out_of_range_are_errors() {
    let damages: [fn(&mut Entry); 9] = [
        |entry| entry.blocks[0].insts[1].operands[0] = Operand::Reg(Reg(99)),
        |entry| entry.blocks[0].insts[1].operands[1] = Operand::Shared(SharedId(9)),
        |entry| entry.blocks[0].insts[1].guard = Some(Guard { pred: Reg(99), negated: false }),
        |entry| {
            let base = Base::Param(ParamId(7));
            entry.blocks[0].insts[0].operands[1] = Operand::Addr(Addr { base, offset: 0 });
        },
        |entry| entry.blocks[2].term = Terminator::Jump(BlockId(77)),
        |entry| entry.blocks[2].term = Terminator::Jump(BlockId(0)),
        |entry| {
            entry.blocks[1].term =
                Terminator::Branch { pred: Reg(99), negated: false, target: BlockId(1), uniform: false };
        },
        |entry| entry.blocks[1].label = None,
        |entry| entry.blocks.clear(),
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        assert_eq!(broken(damage), ["structure"], "damage {i}");
    }
}

#[test]
fn instructions_have_their_operands_and_modifiers() {
    let damages: [fn(&mut Inst); 6] = [
        |inst| inst.operands.truncate(1),
        |inst| inst.operands.push(Operand::Sink),
        |inst| inst.mods = Mods::NONE,
        |inst| inst.mods.set(Rnd::Rn.get()),
        |inst| inst.mods.set(Mod::t(Ty::Tf32)),
        |inst| inst.op = Op::Ret,
    ];
    for (i, damage) in damages.into_iter().enumerate() {
        assert_eq!(broken(|entry| damage(&mut entry.blocks[0].insts[1])), ["structure"], "damage {i}");
    }
}

#[test]
fn literals_are_of_the_width_that_they_claim() {
    let rules = broken(|entry| {
        let imm = Imm { ty: Ty::U32, bits: 1 << 40 };
        entry.blocks[0].insts[1].operands[1] = Operand::Imm(imm);
    });
    assert_eq!(rules, ["types"]);
}

#[test]
fn sizes_beyond_every_limit_do_not_overflow() {
    let rules = broken(|entry| {
        entry.shared[0].len = Some(u32::MAX);
        entry.bounds.block = Some([u32::MAX; 3]);
        entry.bounds.min_blocks = Some(u32::MAX);
        entry.bounds.max_regs = Some(u32::MAX);
        let param = entry.params[0].clone();
        entry.params.extend((0..9000).map(|i| crate::ir::Param { name: format!("x{i}"), ..param.clone() }));
    });
    assert!(
        rules.contains(&"launch-bounds") && rules.contains(&"shared-size") && rules.contains(&"parameters"),
        "{rules:?}"
    );
}

#[test]
fn many_parameters_need_a_later_version() {
    let mut module = module();
    let param = module.entries[0].params[0].clone();
    let more = (0..600).map(|i| crate::ir::Param { name: format!("x{i}"), ..param.clone() });
    module.entries[0].params.extend(more);
    let findings = check_version(&module, PtxVersion::new(8, 0));
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].message, "PTX 8.1 is needed for 4808 bytes of parameters, `.version` is 8.0");
    assert_eq!(verify(module).expect("warnings only").version(), PtxVersion::new(8, 1));
}

#[test]
fn findings_name_kernel_text_place_and_hint() {
    let mut module = module();
    module.entries[0].blocks[0].insts[2].operands[0] =
        Operand::Addr(Addr { base: Base::Shared(SharedId(0)), offset: 6 });
    let findings: Vec<String> = check(&module).iter().map(Finding::to_string).collect();
    assert_eq!(
        findings,
        [
            "12:5: error: kernel `k`: bytes 6 to 10 of shared array `s`, which has 8\n    st.shared.u32 [s+6], %a;",
            "12:5: error: kernel `k`: the address must be a multiple of 4, it is 2 modulo 4\n    st.shared.u32 [s+6], %a;\n  \
         hint: change the offset, or use a narrower access",
        ]
    );
}
