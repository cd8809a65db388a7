//! CUDA releases, and which driver takes which text.
//!
//! The table holds the highest `.version` that the assembler of each CUDA release accepts; a driver takes the text of
//! its own release and of all earlier ones. Releases past the end of the table follow the rule that holds since
//! CUDA 11: PTX major = CUDA major − 4, same minor. The driver has the last word; the table only lets the answer come
//! before a load is tried.

use std::fmt;

use ptxsmith_builder::target::PtxVersion;

/// A CUDA release, for example 13.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CudaVersion {
    /// Major number.
    pub major: u8,
    /// Minor number.
    pub minor: u8,
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Releases and the PTX version of each, oldest first, up to the last one that does not follow the rule.
const RELEASES: &[(CudaVersion, PtxVersion)] = &[
    (CudaVersion::new(11, 8), PtxVersion::new(7, 8)),
    (CudaVersion::new(12, 0), PtxVersion::new(8, 0)),
    (CudaVersion::new(12, 1), PtxVersion::new(8, 1)),
    (CudaVersion::new(12, 2), PtxVersion::new(8, 2)),
    (CudaVersion::new(12, 3), PtxVersion::new(8, 3)),
    (CudaVersion::new(12, 4), PtxVersion::new(8, 4)),
    (CudaVersion::new(12, 5), PtxVersion::new(8, 5)),
    (CudaVersion::new(12, 6), PtxVersion::new(8, 5)),
    (CudaVersion::new(12, 7), PtxVersion::new(8, 6)),
    (CudaVersion::new(12, 8), PtxVersion::new(8, 7)),
    (CudaVersion::new(12, 9), PtxVersion::new(8, 8)),
];

/// First Linux driver branch of each release.
const LINUX_BRANCHES: &[(CudaVersion, u16)] = &[
    (CudaVersion::new(11, 8), 520),
    (CudaVersion::new(12, 0), 525),
    (CudaVersion::new(12, 1), 530),
    (CudaVersion::new(12, 2), 535),
    (CudaVersion::new(12, 3), 545),
    (CudaVersion::new(12, 4), 550),
    (CudaVersion::new(12, 5), 555),
    (CudaVersion::new(12, 6), 560),
    (CudaVersion::new(12, 7), 565),
    (CudaVersion::new(12, 8), 570),
    (CudaVersion::new(12, 9), 575),
    (CudaVersion::new(13, 0), 580),
];

impl CudaVersion {
    /// The release `major.minor`.
    pub const fn new(major: u8, minor: u8) -> CudaVersion {
        CudaVersion { major, minor }
    }

    /// The oldest release, from 11.8 on, whose driver takes text of a PTX version.
    pub fn for_ptx(ptx: PtxVersion) -> CudaVersion {
        match RELEASES.iter().find(|&&(_, takes)| takes >= ptx) {
            Some(&(cuda, _)) => cuda,
            None => CudaVersion::new(ptx.major.saturating_add(4), ptx.minor),
        }
    }

    /// The release out of the driver's number, 1000 × major + 10 × minor.
    pub fn from_driver_number(number: i32) -> CudaVersion {
        let part = |n: i32| u8::try_from(n).unwrap_or(0);
        CudaVersion::new(part(number / 1000), part(number % 1000 / 10))
    }

    /// The highest PTX version that a driver of this release takes.
    pub fn max_ptx(self) -> PtxVersion {
        match RELEASES.iter().find(|&&(cuda, _)| cuda == self) {
            Some(&(_, ptx)) => ptx,
            None => PtxVersion::new(self.major.saturating_sub(4), self.minor),
        }
    }

    /// What to install: the release, and the Linux driver branch where it is known.
    pub fn driver_hint(self) -> String {
        match LINUX_BRANCHES.iter().find(|&&(cuda, _)| cuda == self) {
            Some((_, branch)) => {
                format!("a driver for CUDA {self} or newer (Linux driver {branch} or newer)")
            }
            None => format!("a driver for CUDA {self} or newer"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_the_ptx_version_their_assembler_accepts() {
        let table = [
            ((11, 8), (7, 8)),
            ((12, 0), (8, 0)),
            ((12, 4), (8, 4)),
            ((12, 5), (8, 5)),
            ((12, 6), (8, 5)),
            ((12, 8), (8, 7)),
            ((12, 9), (8, 8)),
            ((13, 0), (9, 0)),
            ((13, 1), (9, 1)),
            ((13, 5), (9, 5)),
        ];
        for ((major, minor), (ptx_major, ptx_minor)) in table {
            assert_eq!(CudaVersion::new(major, minor).max_ptx(), PtxVersion::new(ptx_major, ptx_minor));
        }
    }

    #[test]
    fn the_oldest_release_for_a_version_takes_it_and_its_predecessor_does_not() {
        for (major, minors) in [(7, 8..=8), (8, 0..=8), (9, 0..=5)] {
            for minor in minors {
                let ptx = PtxVersion::new(major, minor);
                let cuda = CudaVersion::for_ptx(ptx);
                assert!(cuda.max_ptx() >= ptx, "{ptx} on {cuda}");
                if cuda.minor > 0 {
                    let before = CudaVersion::new(cuda.major, cuda.minor - 1);
                    assert!(before.max_ptx() < ptx, "{ptx} on {before}");
                }
            }
        }
        assert_eq!(CudaVersion::for_ptx(PtxVersion::new(8, 5)), CudaVersion::new(12, 5));
        assert_eq!(CudaVersion::for_ptx(PtxVersion::new(9, 1)), CudaVersion::new(13, 1));
    }

    #[test]
    fn driver_numbers_split() {
        assert_eq!(CudaVersion::from_driver_number(13000), CudaVersion::new(13, 0));
        assert_eq!(CudaVersion::from_driver_number(12080), CudaVersion::new(12, 8));
        assert_eq!(CudaVersion::from_driver_number(-1), CudaVersion::new(0, 0));
    }

    #[test]
    fn hints_name_the_release_and_the_known_branch() {
        assert!(CudaVersion::new(12, 8).driver_hint().contains("570"));
        assert_eq!(CudaVersion::new(13, 4).driver_hint(), "a driver for CUDA 13.4 or newer");
    }
}
