//! Random programs: what the verifier accepts, both assemblers, the reader and the emulator accept too; what breaks a rule
//! is named by the rule.
//!
//! The seed is fixed: the same programs in every run. A failing one is made smaller before it is reported, as text that can go
//! into `tests/filetests`.

use std::collections::{BTreeMap, BTreeSet};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ptxsmith_builder::emu::{self, Access, ArgValue, Contents, Memory};
use ptxsmith_builder::ir::Module;
use ptxsmith_builder::parse::parse;
use ptxsmith_builder::target::{PtxVersion, Target};
use ptxsmith_builder::verify::{Severity, Verified, check, verify};
use ptxsmith_tests::assembler::Role;

use crate::ptxas::{Batch, Depth, Ptxas};

mod mutate;
mod program;
mod statement;

use mutate::DAMAGES;
use program::{BLOCKS, N, TARGETS, THREADS, X_BYTES, Y_BYTES, program};

/// Programs of a run.
const PROGRAMS: usize = 300;
/// Attempts at making a failing program smaller.
const ATTEMPTS: usize = 2000;

type Tape = Box<dyn ValueTree<Value = Vec<u32>>>;

/// The tapes of the programs.
fn tapes() -> Vec<Tape> {
    let seed: [u8; 32] = std::array::from_fn(|i| i as u8);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = proptest::collection::vec(proptest::num::u32::ANY, 20..400).boxed();
    (0..PROGRAMS)
        .map(|_| Box::new(strategy.new_tree(&mut runner).expect("no tape is refused")) as Tape)
        .collect()
}

/// The first failure of a property, for the smallest program found that has one.
fn for_each_program(property: impl Fn(&[u32]) -> Result<(), String>) {
    for (i, mut tape) in tapes().into_iter().enumerate() {
        let Err(mut message) = property(&tape.current()) else { continue };
        shrink(&mut tape, |choices| match property(choices) {
            Ok(()) => false,
            Err(smaller) => {
                message = smaller;
                true
            }
        });
        panic!("program {i}: {message}");
    }
}

/// Makes the tape smaller as long as it still fails.
fn shrink(tape: &mut Tape, mut fails: impl FnMut(&[u32]) -> bool) {
    let mut smallest = tape.current();
    let mut more = tape.simplify();
    for _ in 0..ATTEMPTS {
        if !more {
            break;
        }
        let now = tape.current();
        more = if fails(&now) {
            smallest = now;
            tape.simplify()
        } else {
            tape.complicate()
        };
    }
    // The last attempt may have been one that passes.
    fails(&smallest);
}

fn verified(name: &str, choices: &[u32]) -> Result<Verified, String> {
    verified_module(program(name, choices, false))
}

fn verified_module(module: Module) -> Result<Verified, String> {
    verify(module.clone()).map_err(|findings| format!("refused:\n{findings}\n{module:#?}"))
}

#[test]
fn what_is_printed_is_read_back() {
    for_each_program(|choices| {
        let verified = verified("k", choices)?;
        let text = verified.to_string();
        let parsed = parse(&text).map_err(|errors| format!("not read:\n{errors}\n{text}"))?;
        if parsed.version != verified.version() {
            return Err(format!("version {} comes back as {}\n{text}", verified.version(), parsed.version));
        }
        if parsed.module != *verified.module() {
            let again = verify(parsed.module).map_or_else(|f| f.to_string(), |module| module.to_string());
            return Err(format!("comes back as another module:\n{text}\n{again}"));
        }
        Ok(())
    });
}

/// What one run of a program leaves behind.
fn ran(module: &Module, threads: usize) -> Result<(emu::Outcome, [Vec<u8>; 2]), String> {
    let mut memory = Memory::new();
    let size = |bytes: u32| (BLOCKS * THREADS * bytes) as usize;
    // Bytes of every value, so that float data has zeros, subnormals, infinities and NaNs among ordinary numbers.
    let x: Vec<u8> = (0..size(X_BYTES)).map(|i| ((i * i) >> 3) as u8 ^ (i as u8).wrapping_mul(29)).collect();
    let x = memory.add("x", Access::ReadOnly, Contents::Bytes(x));
    let y = memory.add("y", Access::ReadWrite, Contents::Bytes(vec![0; size(Y_BYTES)]));
    let z = memory.add("z", Access::ReadWrite, Contents::Bytes(vec![0; 4]));
    let buffer = |id| ArgValue::Buffer(id, 0);
    let args = [buffer(x), buffer(y), buffer(z), ArgValue::Scalar(N.into())];
    let launch = emu::Launch::linear(BLOCKS, THREADS);
    let options = emu::Options { threads, ..emu::Options::default() };
    let outcome = emu::run(module, "k", &launch, &args, &mut memory, &options)
        .map_err(|error| format!("does not run: {error}"))?;
    Ok((outcome, [memory.bytes(y), memory.bytes(z)]))
}

#[test]
fn the_emulator_finds_nothing_and_always_the_same_result() {
    for_each_program(|choices| {
        let verified = verified_module(program("k", choices, true))?;
        let one = ran(verified.module(), 1)?;
        if !one.0.completed || !one.0.findings.is_empty() {
            let findings: Vec<String> = one.0.findings.iter().map(ToString::to_string).collect();
            return Err(format!("the emulator finds:\n{}\n{verified}", findings.join("\n")));
        }
        if one != ran(verified.module(), 3)? {
            return Err(format!("other results with 3 host threads:\n{verified}"));
        }
        Ok(())
    });
}

/// The entry's text, without the lines of the file.
fn entry_text(text: &str) -> &str {
    text.find(".visible").map_or("", |at| &text[at..])
}

/// What an assembler says about the program of a tape alone.
fn refusal(assembler: &Ptxas, choices: &[u32]) -> Option<String> {
    let verified = verified("k", choices).ok()?;
    let text = verified.to_string();
    let batch = batch(verified.module().target, verified.version(), vec![(0, entry_text(&text))]);
    let (_, said) = assembler.assemble(&[batch]).pop()?.pop()?;
    (!said.is_empty()).then(|| format!("{:?} refuses it: {}\n{text}", assembler.role, said.join("\n")))
}

fn batch(target: Target, version: PtxVersion, entries: Vec<(usize, &str)>) -> Batch<'_> {
    Batch { version, target: target.to_string(), depth: Depth::Code, entries }
}

#[test]
fn both_assemblers_take_what_the_verifier_takes() {
    let mut tapes = tapes();
    let programs: Vec<Verified> = tapes
        .iter()
        .enumerate()
        .map(|(i, tape)| {
            verified(&format!("k{i}"), &tape.current()).unwrap_or_else(|e| panic!("program {i}: {e}"))
        })
        .collect();
    let texts: Vec<String> = programs.iter().map(ToString::to_string).collect();
    let mut batches = Vec::new();
    for target in TARGETS.iter().filter_map(|number| Target::sm(*number)) {
        let own = || programs.iter().enumerate().filter(|(_, program)| program.module().target == target);
        let version = own().map(|(_, program)| program.version()).max().expect("programs for every target");
        batches.push(batch(target, version, own().map(|(i, _)| (i, entry_text(&texts[i]))).collect()));
    }
    for role in [Role::Newest, Role::Driver] {
        let assembler = Ptxas::pinned(role);
        let verdicts = assembler.assemble(&batches);
        let refused: Vec<(usize, Vec<String>)> =
            verdicts.into_iter().flatten().filter(|(_, said)| !said.is_empty()).collect();
        let Some((i, said)) = refused.first().cloned() else { continue };
        let all: BTreeSet<&String> = refused.iter().flat_map(|(_, said)| said).collect();
        let mut message = format!("{role:?} refuses it: {}\n{}", said.join("\n"), texts[i]);
        shrink(&mut tapes[i], |choices| match refusal(&assembler, choices) {
            None => false,
            Some(smaller) => {
                message = smaller;
                true
            }
        });
        panic!("{} programs are refused: {all:#?}\nprogram {i}: {message}", refused.len());
    }
}

#[test]
fn what_breaks_a_rule_is_named_by_it() {
    let mut applied = BTreeMap::new();
    for (i, tape) in tapes().iter().enumerate() {
        let choices = tape.current();
        for damage in DAMAGES {
            let mut module = program("k", &choices, false);
            if !(damage.apply)(&mut module, i.wrapping_mul(7919) + choices.len()) {
                continue;
            }
            let findings = check(&module);
            let errors = || findings.iter().filter(|finding| finding.severity == Severity::Error);
            let rules: Vec<&str> = errors().map(|finding| finding.rule).collect();
            let texts: Vec<String> = errors().map(ToString::to_string).collect();
            assert!(
                rules.contains(&damage.rule)
                    && rules.iter().all(|rule| *rule == damage.rule || damage.also.contains(rule)),
                "program {i}, {}: the verifier names {rules:?}\n{}",
                damage.name,
                texts.join("\n")
            );
            *applied.entry(damage.name).or_insert(0) += 1;
        }
    }
    for damage in DAMAGES {
        let count = applied.get(damage.name).copied().unwrap_or(0);
        assert!(count >= 20, "{}: only {count} programs have a place for it", damage.name);
    }
}
