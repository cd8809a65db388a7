//! What identifies a text: its lines without the comment lines.

use sha2::{Digest, Sha256};

/// SHA-256, in lower-case hexadecimal, of the lines of `text` that are not comment lines: those whose first characters
/// after white space are `//`.
pub(crate) fn text_hash(text: &str) -> String {
    let mut hasher = Sha256::new();
    for line in text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with("//")) {
        hasher.update(line);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_lines_do_not_count() {
        // The digest of "a\nb\n" by coreutils' sha256sum.
        let plain = "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2";
        assert_eq!(text_hash("// c\na\n\t// d\nb\n"), text_hash("a\nb\n"));
        assert_ne!(text_hash("a\nb\n"), text_hash("a\nb // e\n"));
        assert_eq!(text_hash("a\nb\n"), plain);
    }
}
