//! The alignment that a caller promises.

use ptxsmith_builder::kernel::Baked;

/// The widest vector access, in bytes.
pub const WIDE: u32 = 16;

/// Bytes that the base and every row start of a buffer are promised to be aligned to; a launch checks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Align {
    /// 16 where contiguous rows allow it, else the element size.
    #[default]
    Auto,
    /// This many, a power of two up to 16; at least the element size is meant.
    Bytes(u32),
}

const ALLOWED: &str = "auto, 1, 2, 4, 8 or 16";

impl Align {
    /// Whether it is one of the allowed values.
    pub fn is_valid(self) -> bool {
        match self {
            Align::Auto => true,
            Align::Bytes(bytes) => bytes.is_power_of_two() && bytes <= WIDE,
        }
    }

    /// What is allowed, in words.
    pub const fn allowed() -> &'static str {
        ALLOWED
    }
}

impl Baked for Align {
    fn type_name() -> String {
        "auto|1|2|4|8|16".to_owned()
    }

    fn parse(text: &str) -> Result<Align, String> {
        let align = match text {
            "auto" => Align::Auto,
            number => Align::Bytes(number.parse().map_err(|_| ALLOWED.to_owned())?),
        };
        if align.is_valid() { Ok(align) } else { Err(ALLOWED.to_owned()) }
    }

    fn text(&self) -> String {
        match self {
            Align::Auto => "auto".to_owned(),
            Align::Bytes(bytes) => bytes.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for align in [Align::Auto, Align::Bytes(1), Align::Bytes(16)] {
            assert_eq!(Align::parse(&align.text()), Ok(align));
        }
        for bad in ["0", "3", "32", "-2", "wide"] {
            assert!(Align::parse(bad).is_err(), "{bad}");
        }
    }
}
