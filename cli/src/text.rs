//! What identifies a text: its lines without those for readers and debuggers.

use sha2::{Digest, Sha256};

/// SHA-256, in lower-case hexadecimal, of the lines of `text` that are not comment lines: those whose first characters
/// after white space are `//`, and no source lines (`.file`, `.loc`): none of them change what is computed.
pub(crate) fn text_hash(text: &str) -> String {
    let mut hasher = Sha256::new();
    let counts =
        |line: &&str| !["//", ".file ", ".loc "].iter().any(|start| line.trim_start().starts_with(start));
    for line in text.split_inclusive('\n').filter(counts) {
        hasher.update(line);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_source_lines_do_not_count() {
        // The digest of "a\nb\n" by coreutils' sha256sum.
        let plain = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        assert_eq!(text_hash("// c\na\n\t// d\nb\n"), text_hash("a\nb\n"));
        assert_eq!(text_hash(".file 1 \"k.rs\"\na\n\t.loc 1 2 3\nb\n"), text_hash("a\nb\n"));
        assert_ne!(text_hash("a\nb\n"), text_hash("a\nb // e\n"));
        assert_eq!(text_hash("a\nb\n"), plain);
    }
}
