//! The identity of a text: SHA-256 of its lines that are no comments.

use sha2::{Digest, Sha256};

/// SHA-256 of a text without comment lines.
pub(crate) type TextHash = [u8; 32];

/// Hashes a text; comment lines, which are for readers, do not count.
pub(crate) fn text_hash(text: &str) -> TextHash {
    let mut hasher = Sha256::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_do_not_count_and_everything_else_does() {
        let plain = text_hash(".version 8.0\n.target sm_90\n");
        assert_eq!(text_hash("// eps\n.version 8.0\n\t// why\n.target sm_90\n"), plain);
        assert_ne!(text_hash(".version 8.0\n.target sm_90a\n"), plain);
        assert_ne!(text_hash(".version 8.0\n.target sm_90 // why\n"), plain);
        // The SHA-256 of no bytes.
        assert_eq!(text_hash("// only\n")[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    }
}
