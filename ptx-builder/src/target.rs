//! The target table: one row per streaming multiprocessor version.
//!
//! A row names the first PTX version that knows the architecture and its `a` (architecture-specific) and `f` (family)
//! variants, and the limits a launch is checked against. The first versions were found by assembling an empty kernel
//! for every pair; limits are those of the CUDA programming guide, "Technical specifications per compute capability".

use std::fmt;
use std::str::FromStr;

/// A PTX ISA version, for example 8.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PtxVersion {
    /// Major number.
    pub major: u8,
    /// Minor number.
    pub minor: u8,
}

impl PtxVersion {
    /// The version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> PtxVersion {
        PtxVersion { major, minor }
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<PtxVersion, String> {
        let wrong = || format!("`{text}` is not a PTX version");
        let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
        Ok(PtxVersion::new(major.parse().map_err(|_| wrong())?, minor.parse().map_err(|_| wrong())?))
    }
}

/// What is fixed for an architecture.
#[derive(Debug)]
pub struct Sm {
    /// The number in `sm_90`: 10 × major + minor compute capability.
    pub number: u16,
    /// First PTX version that accepts the plain target.
    pub ptx: PtxVersion,
    /// First PTX version that accepts the `a` variant, if there is one.
    pub ptx_a: Option<PtxVersion>,
    /// First PTX version that accepts the `f` variant, if there is one.
    pub ptx_f: Option<PtxVersion>,
    /// Most bytes of shared memory a block may use after opting in.
    pub shared_per_block: u32,
    /// Bytes of shared memory of one multiprocessor.
    pub shared_per_sm: u32,
    /// Most resident threads of one multiprocessor.
    pub threads_per_sm: u32,
    /// Most resident blocks of one multiprocessor.
    pub blocks_per_sm: u32,
}

const KIB: u32 = 1024;

const fn v(major: u8, minor: u8) -> PtxVersion {
    PtxVersion::new(major, minor)
}

#[rustfmt::skip]
#[expect(clippy::too_many_arguments, reason = "one for each column of the table")]
const fn sm(number: u16, ptx: PtxVersion, ptx_a: Option<PtxVersion>, ptx_f: Option<PtxVersion>, block: u32, sm: u32, threads: u32, blocks: u32) -> Sm {
    Sm { number, ptx, ptx_a, ptx_f, shared_per_block: block * KIB, shared_per_sm: sm * KIB, threads_per_sm: threads, blocks_per_sm: blocks }
}

/// Every architecture, oldest first.
#[rustfmt::skip]
pub static TARGETS: &[Sm] = &[
    //  sm   PTX      `a` variant    `f` variant    shared block/SM  threads blocks
    sm(75,  v(6, 3), None,          None,           64,  64,         1024,   16),
    sm(80,  v(7, 0), None,          None,          163, 164,         2048,   32),
    sm(86,  v(7, 1), None,          None,           99, 100,         1536,   16),
    sm(87,  v(7, 4), None,          None,          163, 164,         1536,   16),
    sm(88,  v(9, 0), None,          None,           99, 100,         1536,   16),
    sm(89,  v(7, 8), None,          None,           99, 100,         1536,   24),
    sm(90,  v(7, 8), Some(v(8, 0)), None,          227, 228,         2048,   32),
    sm(100, v(8, 6), Some(v(8, 6)), Some(v(8, 8)), 227, 228,         2048,   32),
    sm(103, v(8, 8), Some(v(8, 8)), Some(v(8, 8)), 227, 228,         2048,   32),
    sm(107, v(9, 4), Some(v(9, 4)), Some(v(9, 4)), 227, 228,         2048,   32),
    sm(110, v(9, 0), Some(v(9, 0)), Some(v(9, 0)), 227, 228,         1536,   24),
    sm(120, v(8, 7), Some(v(8, 7)), Some(v(8, 8)),  99, 100,         1536,   24),
    sm(121, v(8, 8), Some(v(8, 8)), Some(v(8, 8)),  99, 100,         1536,   24),
];

/// Which feature set of an architecture is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// Features that every later architecture keeps.
    Plain,
    /// Features that the later members of the family keep (`f`).
    Family,
    /// Features of this architecture alone (`a`).
    Arch,
}

/// A row of [`TARGETS`] and a variant of it; `Display` and `FromStr` use the spelling of `.target`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    row: u8,
    variant: Variant,
}

impl Target {
    /// The plain target of an architecture number, for example 90.
    pub fn sm(number: u16) -> Option<Target> {
        let row = TARGETS.iter().position(|sm| sm.number == number)?;
        Some(Target { row: row as u8, variant: Variant::Plain })
    }

    /// Every target, variants included, oldest first.
    pub fn all() -> Vec<Target> {
        let mut all = Vec::new();
        for (row, sm) in TARGETS.iter().enumerate() {
            let row = row as u8;
            all.push(Target { row, variant: Variant::Plain });
            if sm.ptx_f.is_some() {
                all.push(Target { row, variant: Variant::Family });
            }
            if sm.ptx_a.is_some() {
                all.push(Target { row, variant: Variant::Arch });
            }
        }
        all
    }

    /// The table row.
    pub fn row(self) -> &'static Sm {
        &TARGETS[usize::from(self.row)]
    }

    /// The architecture number, for example 90.
    pub fn number(self) -> u16 {
        self.row().number
    }

    /// The variant.
    pub fn variant(self) -> Variant {
        self.variant
    }

    /// First PTX version that accepts this target.
    pub fn min_ptx(self) -> PtxVersion {
        let row = self.row();
        match self.variant {
            Variant::Plain => row.ptx,
            Variant::Family => row.ptx_f.unwrap_or(row.ptx),
            Variant::Arch => row.ptx_a.unwrap_or(row.ptx),
        }
    }

    /// Whether text for this target runs on a device of architecture `device` (its number): the same or a later one for
    /// a plain target, the same major number from it on for a family one, that one alone for an `a` one.
    pub fn runs_on(self, device: u16) -> bool {
        let number = self.number();
        match self.variant {
            Variant::Plain => device >= number,
            Variant::Family => device >= number && device / 10 == number / 10,
            Variant::Arch => device == number,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            Variant::Plain => "",
            Variant::Family => "f",
            Variant::Arch => "a",
        };
        write!(f, "sm_{}{suffix}", self.number())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A target name that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTarget(pub String);

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = Target::all().iter().map(Target::to_string).collect();
        write!(f, "`{}` is not a known target; known are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownTarget {}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        Target::all()
            .into_iter()
            .find(|t| t.to_string() == text)
            .ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for target in Target::all() {
            assert_eq!(target.to_string().parse::<Target>(), Ok(target));
        }
        assert!("sm_90f".parse::<Target>().is_err());
        assert!("sm_101".parse::<Target>().is_err());
    }

    #[test]
    fn only_plain_targets_are_forward_compatible() {
        let at = |name: &str| name.parse::<Target>().expect("a known target");
        assert!(at("sm_80").runs_on(90));
        assert!(!at("sm_90").runs_on(80));
        assert!(!at("sm_90a").runs_on(100));
        assert!(at("sm_100f").runs_on(103));
        assert!(!at("sm_100f").runs_on(120));
    }
}
