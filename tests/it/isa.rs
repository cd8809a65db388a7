//! Every row of the instruction table, proved by assembling.
//!
//! The corpus has one small kernel for each combination of a row's types and modifiers (of three and more optional
//! modifiers a choice, see `Form::combinations`), made by the printer from operands that the row's own columns describe.
//! Both pinned assemblers must accept it at the version the row states for every target that the row admits, and refuse it
//! one version, and one target, lower. What no assembler can tell is left out of the second part only: a target that is
//! itself as new as the instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ptxsmith_builder::ir::{Module, Operand};
use ptxsmith_builder::isa::mods::{Ftz, Rnd};
use ptxsmith_builder::isa::{Eval, Form, Mod, Op, Role, SmReq, syntax};
use ptxsmith_builder::parse::parse;
use ptxsmith_builder::target::{PtxVersion, Target, Variant};
use ptxsmith_builder::types::Ty;
use ptxsmith_builder::verify::verify;
use ptxsmith_tests::assembler::Role as Assembler;

use crate::ptxas::{Batch, Depth, Ptxas};

mod corpus;

use corpus::{Case, Maker};

/// Versions that exist; 5.1 is another name of 6.0.
const VERSIONS: &[(u8, &[u8])] = &[
    (3, &[0, 1, 2]),
    (4, &[0, 1, 2, 3]),
    (5, &[0]),
    (6, &[0, 1, 2, 3, 4, 5]),
    (7, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    (8, &[0, 1, 2, 3, 4, 5, 6, 7, 8]),
    (9, &[0, 1, 2, 3, 4, 5]),
];

fn version_below(version: PtxVersion) -> Option<PtxVersion> {
    let all = VERSIONS
        .iter()
        .flat_map(|(major, minors)| minors.iter().map(|minor| PtxVersion::new(*major, *minor)));
    all.take_while(|below| *below < version).last()
}

/// Plain targets and the version that introduced them, those before the target table too: the assemblers check features
/// against them although they make no code for them any more.
fn plain_targets() -> Vec<(u16, PtxVersion)> {
    let old = [
        (30, 3, 0),
        (32, 4, 0),
        (35, 3, 1),
        (50, 4, 0),
        (52, 4, 1),
        (53, 4, 2),
        (60, 5, 0),
        (61, 5, 0),
        (70, 6, 0),
        (72, 6, 1),
    ];
    let old = old.into_iter().map(|(number, major, minor)| (number, PtxVersion::new(major, minor)));
    let new = Target::all().into_iter().filter(|target| target.variant() == Variant::Plain);
    old.chain(new.map(|target| (target.number(), target.min_ptx()))).collect()
}

/// The oldest target that has a case, by name, with its first version; and the one before it, which has not.
fn edge(case: &Case) -> ((String, PtxVersion), Option<(String, PtxVersion)>) {
    let plain = plain_targets();
    let at_least = case.sm.iter().filter_map(|sm| match sm {
        SmReq::AtLeast(number) => Some(*number),
        SmReq::OneOf(_) => None,
    });
    let number = at_least.max().unwrap_or(0);
    let name = |(number, version): (u16, PtxVersion)| (format!("sm_{number}"), version);
    if case.sm.iter().any(|sm| matches!(sm, SmReq::OneOf(_))) {
        let first =
            Target::all().into_iter().find(|target| case.admits(*target)).expect("some target has it");
        let without = plain.iter().find(|(number, _)| *number == first.number()).copied();
        return ((first.to_string(), first.min_ptx()), without.map(name));
    }
    let at = plain.iter().position(|(own, _)| *own >= number).expect("a plain target has it");
    (name(plain[at]), at.checked_sub(1).map(|below| name(plain[below])))
}

/// Newest version of the assembler of driver 580.
const DRIVER: PtxVersion = PtxVersion::new(9, 0);

fn limit(role: Assembler) -> PtxVersion {
    if role == Assembler::Driver { DRIVER } else { PtxVersion::new(u8::MAX, 0) }
}

/// Version, target, number of the case, what is wrong.
type Wrong = (PtxVersion, String, usize, String);

/// Groups entries by version and target.
#[derive(Default)]
struct Groups(BTreeMap<(PtxVersion, String), Vec<usize>>);

impl Groups {
    fn add(&mut self, version: PtxVersion, target: &str, case: usize) {
        let cases = self.0.entry((version, target.to_owned())).or_default();
        // The oldest target of a row is in the target table as well, if it is new enough.
        if cases.last() != Some(&case) {
            cases.push(case);
        }
    }

    fn assemble(
        self,
        cases: &[Case],
        ptxas: &Ptxas,
        depth: Depth,
    ) -> Vec<(PtxVersion, String, usize, Vec<String>)> {
        let batches: Vec<Batch<'_>> = self
            .0
            .into_iter()
            .map(|((version, target), numbers)| {
                let entries =
                    numbers.into_iter().map(|number| (number, cases[number].text.as_str())).collect();
                Batch { version, target, depth, entries }
            })
            .collect();
        let verdicts = ptxas.assemble(&batches);
        let of = |(batch, verdicts): (Batch<'_>, Vec<(usize, Vec<String>)>)| {
            let Batch { version, target, .. } = batch;
            verdicts.into_iter().map(move |(number, messages)| (version, target.clone(), number, messages))
        };
        batches.into_iter().zip(verdicts).flat_map(of).collect()
    }
}

const LONGEST_REPORT: usize = 20_000;

/// Fails with the first disagreement of each case.
fn report(cases: &[Case], ptxas: &Ptxas, wrong: Vec<Wrong>) {
    if wrong.is_empty() {
        return;
    }
    let mut text = format!("{:?} assembler: {} disagreements with the table", ptxas.role, wrong.len());
    let mut shown = BTreeSet::new();
    for (version, target, number, message) in wrong {
        if shown.insert(number) && text.len() < LONGEST_REPORT {
            let _ = write!(text, "\n{} (PTX {version}, {target}): {message}", cases[number].name);
            let inst = cases[number]
                .text
                .lines()
                .rev()
                .find(|line| !line.contains("st.global") && line.contains(';'));
            let _ = write!(
                text,
                "\n  table: PTX {} on {:?}; text: {}",
                cases[number].ptx,
                cases[number].sm,
                inst.unwrap_or_default()
            );
        }
    }
    panic!("{text}");
}

/// Where the assembler refuses what the table says that it has.
fn refused(cases: &[Case], ptxas: &Ptxas) -> Vec<Wrong> {
    let mut groups = Groups::default();
    let newest = limit(ptxas.role);
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.ptx <= newest) {
        let ((oldest, first), _) = edge(case);
        groups.add(case.ptx.max(first), &oldest, number);
        for target in Target::all().into_iter().filter(|t| case.admits(*t) && t.min_ptx() <= newest) {
            groups.add(case.ptx.max(target.min_ptx()), &target.to_string(), number);
        }
    }
    refusals(groups.assemble(cases, ptxas, Depth::Check))
}

fn refusals(verdicts: Vec<(PtxVersion, String, usize, Vec<String>)>) -> Vec<Wrong> {
    let refused = verdicts.into_iter().filter(|(.., messages)| !messages.is_empty());
    refused
        .map(|(v, t, number, messages)| (v, t, number, format!("refused: {}", messages.join("; "))))
        .collect()
}

/// Where the assembler accepts a kernel one version or one target below what the table says.
fn accepted_below(cases: &[Case], ptxas: &Ptxas) -> Vec<Wrong> {
    let mut groups = Groups::default();
    let newest = limit(ptxas.role);
    for (number, case) in cases.iter().enumerate().filter(|(_, case)| case.ptx <= newest) {
        let ((oldest, first), before) = edge(case);
        if let Some(below) = version_below(case.ptx).filter(|below| *below >= first) {
            groups.add(below, &oldest, number);
        }
        if let Some((target, first)) = before.filter(|(_, first)| *first <= newest) {
            groups.add(case.ptx.max(first), &target, number);
        }
    }
    let verdicts = groups.assemble(cases, ptxas, Depth::Check);
    let accepted = verdicts.into_iter().filter(|(.., messages)| messages.is_empty());
    accepted.map(|(v, t, number, _)| (v, t, number, "accepted below its minimum".to_owned())).collect()
}

#[test]
fn the_newest_assembler_accepts_every_row_where_the_table_says() {
    let (cases, ptxas) = (corpus::all(), Ptxas::pinned(Assembler::Newest));
    report(cases, &ptxas, refused(cases, &ptxas));
}

#[test]
fn the_drivers_assembler_accepts_every_row_where_the_table_says() {
    let (cases, ptxas) = (corpus::all(), Ptxas::pinned(Assembler::Driver));
    report(cases, &ptxas, refused(cases, &ptxas));
}

#[test]
fn the_newest_assembler_refuses_every_row_below() {
    let (cases, ptxas) = (corpus::all(), Ptxas::pinned(Assembler::Newest));
    report(cases, &ptxas, accepted_below(cases, &ptxas));
}

#[test]
fn the_drivers_assembler_refuses_every_row_below() {
    let (cases, ptxas) = (corpus::all(), Ptxas::pinned(Assembler::Driver));
    report(cases, &ptxas, accepted_below(cases, &ptxas));
}

/// Some features are checked only while code is made, and the assembler may fail there.
#[test]
fn every_row_becomes_machine_code() {
    let (cases, ptxas) = (corpus::all(), Ptxas::pinned(Assembler::Newest));
    let mut groups = Groups::default();
    let targets: Vec<Target> =
        ["sm_75", "sm_80", "sm_90", "sm_100f", "sm_120f"].map(|name| name.parse().expect("a target")).into();
    for (number, case) in cases.iter().enumerate() {
        // The first that has it stands for the others, and the newest for all.
        let having: Vec<&Target> = targets.iter().filter(|target| case.admits(**target)).collect();
        for target in having.first().into_iter().chain(having.iter().skip(1).last()) {
            groups.add(case.ptx.max(target.min_ptx()), &target.to_string(), number);
        }
    }
    report(cases, &ptxas, refusals(groups.assemble(cases, &ptxas, Depth::Code)));
}

/// A wrong statement of the table is found, in both directions and for versions and targets.
#[test]
fn wrong_requirements_are_found() {
    let ptxas = Ptxas::pinned(Assembler::Newest);
    let fused = corpus::all().iter().find(|case| case.name == "Fma .bf16 .rn").expect("a case");
    let with = |major, minor, sm| {
        let ptx = PtxVersion::new(major, minor);
        vec![Case { name: fused.name.clone(), text: fused.text.clone(), ptx, sm: vec![SmReq::AtLeast(sm)] }]
    };
    // It needs PTX 7.0 and sm_80.
    assert!(
        refused(&with(7, 0, 80), &ptxas).is_empty() && accepted_below(&with(7, 0, 80), &ptxas).is_empty()
    );
    assert!(!refused(&with(6, 5, 75), &ptxas).is_empty());
    assert!(!refused(&with(7, 0, 75), &ptxas).is_empty());
    assert_eq!(accepted_below(&with(7, 1, 80), &ptxas).len(), 1);
    assert_eq!(accepted_below(&with(7, 1, 86), &ptxas).len(), 1);
}

/// The target table is the newest assembler's list, variants included, and each first version is one.
#[test]
fn targets_are_those_of_the_newest_assembler() {
    let ptxas = Ptxas::pinned(Assembler::Newest);
    let own: BTreeSet<u16> = Target::all().iter().map(|target| target.number()).collect();
    assert_eq!(own, ptxas.architectures().into_iter().collect());
    let empty = corpus::empty();
    let verdict = |version, target: String| {
        let batch = Batch { version, target, depth: Depth::Check, entries: vec![(0, empty.as_str())] };
        ptxas.assemble(&[batch]).remove(0).remove(0).1
    };
    for name in own.iter().flat_map(|number| ["", "a", "f"].map(|variant| format!("sm_{number}{variant}"))) {
        let Ok(target) = name.parse::<Target>() else {
            let newest = PtxVersion::new(9, 5);
            assert!(!verdict(newest, name.clone()).is_empty(), "{name} exists and is not in the table");
            continue;
        };
        let said = verdict(target.min_ptx(), name.clone());
        assert!(said.is_empty(), "{name} is refused at PTX {}, its minimum: {said:?}", target.min_ptx());
        let below = version_below(target.min_ptx()).expect("a version before");
        assert!(!verdict(below, name).is_empty(), "{target} is accepted at PTX {below}, below its minimum");
    }
}

/// Two rows that print alike could not be told apart by the reader.
#[test]
fn no_two_rows_print_alike() {
    let mut seen: BTreeMap<String, Op> = BTreeMap::new();
    for form in Form::all() {
        for mods in form.combinations() {
            let head: Vec<&str> = form
                .head()
                .iter()
                .filter_map(|segment| match segment {
                    syntax::Segment::Literal(text) => Some(*text),
                    syntax::Segment::Slot { slot, .. } => mods.get(*slot).map(Mod::text),
                })
                .collect();
            let shape: String = syntax::operands(form.op)
                .iter()
                .map(|piece| match piece {
                    syntax::Piece::Punct(c) => *c,
                    syntax::Piece::Operand(_) => 'x',
                })
                .collect();
            if let Some(other) = seen.insert(format!("{} {shape}", head.join(".")), form.op) {
                assert_eq!(other, form.op, "{} prints like {other:?}", head.join("."));
            }
        }
    }
}

/// Modifiers that exist one by one and not together are refused in a module and in text.
#[test]
fn excluded_combinations_are_refused() {
    let mods = [Rnd::Rn.get(), Ftz::Ftz.get(), Mod::t(Ty::F64)];
    let mut maker = Maker::new("k");
    let (d, a) = (maker.reg(Ty::F64), maker.input(Ty::F64));
    maker.push(Op::AddF, &mods, vec![Operand::Reg(d), Operand::Reg(a), Operand::Reg(a)]);
    maker.output(d);
    let target = Target::sm(90).expect("a target");
    let findings = verify(Module { target, entries: vec![maker.entry] }).expect_err("f64 has no .ftz");
    assert!(findings.to_string().contains("has no form with any .ftz and T .f64"), "{findings}");
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\t.reg .f64 %a;\n\t\
                mov.f64 %a, 0d0000000000000000;\n\tadd.rn.ftz.f64 %a, %a, %a;\n\tret;\n}\n";
    let errors = parse(text).expect_err("f64 has no .ftz").to_string();
    assert!(errors.contains("`add.rn.ftz.f64` combines modifiers that exclude each other"), "{errors}");
    assert!(parse(&text.replace(".ftz", "")).is_ok());
}

/// Every combination of a pure row has semantics, and no other has.
#[test]
fn every_pure_row_is_executed() {
    for form in Form::all() {
        let Eval::Lanes(select) = form.eval else { continue };
        for mods in form.combinations() {
            let function = select(&mods).unwrap_or_else(|| panic!("{:?} {mods:?} has no semantics", form.op));
            let inputs = form.operands.iter().filter(|spec| spec.role != Role::Def).count();
            assert_eq!(function.operands.len(), inputs, "{:?} {mods:?}", form.op);
            for bits in [0u64, 1, 0x3f80_0000_3f80_3c00, 0x7ff8_7fc0_7fff_7e00, u64::MAX] {
                let values: Vec<u64> = form
                    .operands
                    .iter()
                    .filter(|spec| spec.role != Role::Def)
                    .map(|spec| {
                        let width = form.operand_ty(spec, &mods).0.map_or(64, Ty::bits);
                        bits & (u64::MAX >> (64 - width))
                    })
                    .collect();
                let result = function.scalar(&values).expect("as many operands as it names");
                let result_ty = form.operand_ty(&form.operands[0], &mods).0.expect("a result has a type");
                let width = result_ty.register().bits();
                assert_eq!(
                    result >> (width - 1) >> 1,
                    0,
                    "{:?} {mods:?}: {result:#x} is wider than {result_ty}",
                    form.op
                );
            }
        }
    }
}
