//! Mistakes in kernels, and what rustc says about them.
//!
//! The messages are those of the Rust toolchain that the workspace is built with; a new one may word its own part differently.

use std::path::PathBuf;

fn folder() -> PathBuf {
    ptxsmith_tests::root().join("tests").join("ui")
}

fn files(extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("tests/ui exists");
    let paths = entries.map(|entry| entry.expect("tests/ui is readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

#[test]
fn every_mistake_is_reported_as_reviewed() {
    let cases = trybuild::TestCases::new();
    for file in files("rs") {
        cases.compile_fail(file);
    }
}

/// What no message may contain: names of the expansion, and errors that point at the attribute as a whole.
const FORBIDDEN: &[&str] =
    &["__", "in the attribute macro", "PhantomData", "Verbatim", "::Out", "compile_error", "#[kernel(..."];

fn offences(text: &str) -> Vec<&'static str> {
    FORBIDDEN.iter().copied().filter(|word| text.contains(word)).collect()
}

#[test]
fn messages_speak_the_language_of_the_author() {
    let reviewed = files("stderr");
    assert_eq!(reviewed.len(), files("rs").len(), "every case has its message");
    assert!(reviewed.len() >= 30, "{} cases", reviewed.len());
    for file in reviewed {
        let text = std::fs::read_to_string(&file).expect("readable");
        assert_eq!(offences(&text), Vec::<&str>::new(), "{}:\n{text}", file.display());
    }
    // The check itself finds what it is for.
    assert_eq!(offences("expected `__if3` to be `If<C, A, B>`"), ["__"]);
}
