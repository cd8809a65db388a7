//! Source lines in the text: on request only, without effect on the module, and taken by the assembler.

use ptxsmith_builder::kernel::emit::emit;
use ptxsmith_builder::parse::parse;
use ptxsmith_builder::print::Options;
use ptxsmith_builder::target::Target;
use ptxsmith_kernels::registry;
use ptxsmith_tests::assembler::{Role, line_table};
use ptxsmith_tests::root;

/// The samples of every kernel: name, text without and with lines.
fn samples(target: Target) -> Vec<(String, String, String)> {
    let mut texts = Vec::new();
    for info in registry::all() {
        for sample in (info.samples)() {
            let name = format!("{}.{}", info.name, sample.name);
            let kernel = info.sample(&sample).unwrap_or_else(|error| panic!("{name}: {error}"));
            let Ok(emitted) = emit(kernel.as_ref(), target) else { continue };
            let module = &emitted.operation.module;
            texts.push((name, module.to_string(), module.text(Options { lines: true })));
        }
    }
    assert!(texts.len() >= 7, "the registry has samples");
    texts
}

fn sm_90() -> Target {
    Target::sm(90).expect("a row of the target table")
}

fn is_line(line: &&str) -> bool {
    line.starts_with(".file ") || line.starts_with("\t.loc ")
}

#[test]
fn lines_are_in_the_text_on_request_only() {
    for (name, plain, lined) in samples(sm_90()) {
        assert_eq!(plain.lines().find(is_line), None, "{name}");
        let without: String = lined.lines().filter(|line| !is_line(line)).map(|l| format!("{l}\n")).collect();
        assert_eq!(without, plain, "{name}: nothing else differs");
        assert!(lined.contains("\t.loc 1 "), "{name}:\n{lined}");
        let (with, without) = (parse(&lined), parse(&plain));
        assert_eq!(with.expect("lined text is read"), without.expect("text is read"), "{name}");
    }
}

#[test]
fn files_are_named_relative_to_the_repository() {
    for (name, _, lined) in samples(sm_90()) {
        let files: Vec<&str> = lined.lines().filter_map(|line| line.strip_prefix(".file ")).collect();
        for (i, file) in files.iter().enumerate() {
            let (number, path) = file.split_once(' ').expect("a number and a path");
            assert_eq!(number, (i + 1).to_string(), "{name}");
            let path = path.trim_matches('"');
            assert!(path.ends_with(".rs") && !path.starts_with('/'), "{name}: {path}");
            let text = std::fs::read_to_string(root().join(path)).expect("the file is in the repository");
            let locations = lined.lines().filter_map(|line| line.strip_prefix(&format!("\t.loc {number} ")));
            for location in locations {
                let line = location.split(' ').next().and_then(|line| line.parse().ok()).expect("a line");
                assert!((1..=text.lines().count()).contains(&line), "{name}: {path}:{line}");
            }
        }
        assert!(files.iter().any(|file| file.contains("\"kernels/src/")), "{name}: {files:?}");
    }
}

#[test]
fn the_assembler_makes_a_line_table_of_every_sample() {
    for (name, plain, lined) in samples(sm_90()) {
        let table = |text: &str| {
            line_table(Role::Newest, sm_90(), text).unwrap_or_else(|said| panic!("{name}: {said}\n{text}"))
        };
        assert!(table(&lined), "{name}: the machine code has no line table");
        assert!(!table(&plain), "{name}: a line table without lines");
    }
}
