//! The reader on texts that nobody wrote: damaged ones, and ones made to be large.

use std::fmt::Write;

use ptxsmith_builder::parse::{Trouble, parse};

const KERNEL: &str = include_str!("../filetests/parse/layout.ptx");
const REDUCTION: &str = include_str!("../filetests/verify/clean_reduction.ptx");

/// A fixed sequence of numbers: the same texts in every run.
struct Sequence(u64);

impl Sequence {
    fn below(&mut self, limit: usize) -> usize {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

fn damaged(text: &str, random: &mut Sequence) -> String {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        ";",
        ":",
        "::",
        ",",
        "|",
        "@",
        "!",
        "+",
        "-",
        "_",
        "\"",
        "/*",
        "*/",
        "//",
        "\n",
        ".reg",
        ".shared",
        ".extern",
        ".entry",
        ".param",
        ".v4",
        "%p",
        "%tid.x",
        "0x",
        "0f",
        "0d",
        "99999999999999999999",
        "4294967295",
        "1e99999",
        "<4294967295>",
        "bra",
        "ret",
        "é",
        "\u{0}",
        "mov.b64",
        "shfl.sync",
        "bar.sync 0;",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => {
                bytes.remove(at);
            }
            1 => bytes[at] = random.below(256) as u8,
            2 => {
                let piece = PIECES[random.below(PIECES.len())];
                bytes.splice(at..at, piece.bytes());
            }
            _ => {
                let end = (at + random.below(40)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whatever the text, the reader answers, and the verifier answers for what it read.
#[test]
fn damaged_texts_are_answered() {
    let mut random = Sequence(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..6000 {
        let text = damaged(if round % 2 == 0 { KERNEL } else { REDUCTION }, &mut random);
        match parse(&text) {
            Ok(parsed) => {
                accepted += 1;
                let _ = parsed.check();
            }
            Err(errors) => {
                refused += 1;
                assert!(!errors.0.is_empty());
                assert!(
                    errors.0.iter().all(|error| error.place.is_known() && !error.message.is_empty()),
                    "{errors}"
                );
            }
        }
    }
    // Both ways are taken often, or the damage is of the wrong size.
    assert!(accepted > 150 && refused > 3000, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_prefix_of_a_text_is_answered() {
    for (end, _) in KERNEL.char_indices() {
        let _ = parse(&KERNEL[..end]);
    }
}

#[test]
fn deep_scopes_and_huge_ranges_cost_nothing() {
    let head = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n";
    let deep = format!("{head}{{ {} ret; {} }}", "{".repeat(100_000), "}".repeat(100_000));
    let errors = parse(&deep).expect_err("too deep");
    assert!(
        errors
            .0
            .iter()
            .any(|error| error.trouble == Trouble::OutsideSubset && error.message.contains("scopes")),
        "{errors}"
    );
    let huge = format!("{head}{{ .reg .u32 %r<4294967295>; mov.u32 %r4294967294, 1; ret; }}");
    let parsed = parse(&huge).expect("a large range");
    assert_eq!(parsed.module.entries[0].regs.len(), 1);
    assert_eq!(parsed.module.entries[0].regs[0].name, "r4294967294");
}

#[test]
fn places_name_line_and_column() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tfoo;\n  ret;\n}\n";
    let errors = parse(text).expect_err("an unknown instruction");
    assert_eq!((errors.0[0].place.line, errors.0[0].place.column), (6, 2));
    assert_eq!(errors.to_string(), "6:2: outside of the subset: `foo` is not an instruction of the subset");
}

#[test]
fn a_long_text_is_read_whole() {
    let mut text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .u32 %r<20001>;\nmov.u32 %r0, 1;\n".to_owned();
    for i in 0..20_000 {
        writeln!(text, "add.u32 %r{}, %r{i}, 1;", i + 1).expect("a string");
    }
    text.push_str("ret;\n}\n");
    let parsed = parse(&text).expect("a long kernel");
    assert_eq!(parsed.module.entries[0].blocks[0].insts.len(), 20_001);
    assert!(parsed.check().is_empty());
}
