//! What the driver can load: PTX text or a cubin, looked at before the driver sees it.
//!
//! The header of a text says which driver and which device it needs. A cubin goes to the driver as a bare pointer with
//! no length, so that a cut-off one would be read past its end: its ELF tables are checked to lie within the bytes.
//!
//! Limits: the contents of sections are the assembler's business; only their places are checked.

use ptxsmith_builder::target::{PtxVersion, Target};

use crate::driver::info::DeviceInfo;
use crate::error::Error;

/// Something that the driver can load.
#[derive(Debug, Clone, Copy)]
pub enum Image<'a> {
    /// PTX text, which the driver compiles.
    Ptx(&'a str),
    /// A cubin: machine code as an assembler wrote it.
    Cubin(&'a [u8]),
}

/// The directives that every PTX text begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxHeader<'a> {
    /// `.version`.
    pub version: PtxVersion,
    /// `.target` without its options, for example `sm_90a`.
    pub target: &'a str,
}

impl Image<'_> {
    /// Checks what can be known without the driver: the image is whole, and driver and device can take it.
    pub(crate) fn check(&self, kernel: &str, device: &DeviceInfo) -> Result<(), Error> {
        let malformed = |reason: String| Error::MalformedImage { kernel: kernel.to_owned(), reason };
        match self {
            Image::Cubin(bytes) => check_cubin(bytes).map_err(malformed),
            Image::Ptx(text) => {
                let header = PtxHeader::read(text).map_err(malformed)?;
                let has = device.max_ptx();
                if header.version > has {
                    let (kernel, driver) = (kernel.to_owned(), device.driver);
                    return Err(Error::DriverTooOld { kernel, needs: header.version, has, driver });
                }
                if !runs_on(header.target, device.sm_number()).map_err(malformed)? {
                    let target = header.target.to_owned();
                    return Err(Error::WrongArchitecture {
                        kernel: kernel.to_owned(),
                        target,
                        device: device.sm(),
                    });
                }
                Ok(())
            }
        }
    }
}

impl<'a> PtxHeader<'a> {
    /// Reads `.version` and `.target`, skipping comments.
    ///
    /// # Errors
    /// A sentence about the directive that is missing or cannot be read.
    pub fn read(text: &'a str) -> Result<PtxHeader<'a>, String> {
        let (word, rest) = next_word(text);
        if word != ".version" {
            return Err(format!("the text begins with `{}` instead of `.version`", shortened(word)));
        }
        let (number, rest) = next_word(rest);
        let version = number.parse().map_err(|_| format!("`{}` is no PTX version", shortened(number)))?;
        let (word, rest) = next_word(rest);
        if word != ".target" {
            return Err(format!("`.version` is followed by `{}` instead of `.target`", shortened(word)));
        }
        let target = next_word(rest).0;
        if target.is_empty() {
            return Err("`.target` names nothing".to_owned());
        }
        Ok(PtxHeader { version, target })
    }
}

/// The next word outside comments and what follows it; words end at white space, commas and comments.
fn next_word(text: &str) -> (&str, &str) {
    let mut rest = text.trim_start();
    loop {
        rest = if rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or("", |end| &rest[end + 2..])
        } else {
            break;
        };
        rest = rest.trim_start();
    }
    let end = rest.find(|c: char| c.is_whitespace() || c == ',' || c == '/').unwrap_or(rest.len());
    rest.split_at(end)
}

/// The beginning of a word, short enough for a message.
fn shortened(word: &str) -> String {
    word.chars().take(40).collect()
}

/// Whether text for a target may run on a device of architecture `device` (its number). A target that the table lacks is
/// left to the driver unless it is newer than the device; what is no target at all is an error, which the driver would
/// take.
fn runs_on(target: &str, device: u16) -> Result<bool, String> {
    if let Ok(known) = target.parse::<Target>() {
        return Ok(known.runs_on(device));
    }
    let digits = target.strip_prefix("sm_").map(|name| name.strip_suffix(['a', 'f']).unwrap_or(name));
    match digits.and_then(|digits| digits.parse::<u16>().ok()) {
        Some(number) => Ok(number <= device),
        None => Err(format!("`{}` is no target", shortened(target))),
    }
}

const ELF_HEADER: usize = 64;
const EM_CUDA: u16 = 190;
const SHT_NOBITS: u32 = 8;

/// Checks that bytes are a 64-bit little-endian ELF file for CUDA whose tables, sections and segments lie within them.
fn check_cubin(bytes: &[u8]) -> Result<(), String> {
    let len = bytes.len();
    if len < ELF_HEADER || !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err(format!("its {len} bytes are no 64-bit ELF file"));
    }
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let machine = half(18);
    if machine != EM_CUDA {
        return Err(format!("it is an ELF file for machine {machine} instead of {EM_CUDA} (CUDA)"));
    }
    let within = |what: &str, start: u64, size: u64| match start.checked_add(size) {
        Some(end) if end <= len as u64 => Ok(()),
        _ => Err(format!("{what} at byte {start} of size {size} ends past its {len} bytes")),
    };
    let table = |what: &str, start: u64, count: u16, entry: u16, smallest: u16| {
        if count > 0 && entry < smallest {
            return Err(format!("entries of the {what} have {entry} bytes instead of {smallest}"));
        }
        within(what, start, u64::from(count) * u64::from(entry))
    };
    let (sections, section_size, section_count) = (long(40), half(58), half(60));
    let (segments, segment_size, segment_count) = (long(32), half(54), half(56));
    if section_count == 0 {
        return Err("it has no sections".to_owned());
    }
    table("section table", sections, section_count, section_size, 64)?;
    table("segment table", segments, segment_count, segment_size, 56)?;
    for index in 0..usize::from(section_count) {
        let at = sections as usize + index * usize::from(section_size);
        if word(at + 4) != SHT_NOBITS {
            within("a section", long(at + 24), long(at + 32))?;
        }
    }
    for index in 0..usize::from(segment_count) {
        let at = segments as usize + index * usize::from(segment_size);
        within("a segment", long(at + 8), long(at + 32))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::info::tests::h200;

    #[test]
    fn headers_are_found_behind_comments() {
        let text = "// eps = 1e-6\n/* a\n .version 1.0 */ .version 8.0 // why\n.target sm_90a, debug\n.address_size 64";
        assert_eq!(PtxHeader::read(text), Ok(PtxHeader { version: PtxVersion::new(8, 0), target: "sm_90a" }));
    }

    #[test]
    fn texts_without_a_header_are_named() {
        for (text, part) in [
            ("", "begins with ``"),
            (".target sm_90", "begins with `.target`"),
            (".version x", "`x` is no PTX version"),
            (".version 8", "`8` is no PTX version"),
            (".version 8.0 .entry", "followed by `.entry`"),
            (".version 8.0\n.target // sm_90", "names nothing"),
            ("/* unfinished .version 8.0", "begins with ``"),
        ] {
            let error = PtxHeader::read(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn targets_run_where_the_table_says_and_unknown_ones_only_on_newer_devices() {
        for (target, device, runs) in [
            ("sm_80", 90, true),
            ("sm_90a", 90, true),
            ("sm_100", 90, false),
            ("sm_90a", 100, false),
            ("sm_100f", 103, true),
            ("sm_70", 90, true),
            ("sm_130a", 90, false),
        ] {
            assert_eq!(runs_on(target, device), Ok(runs), "{target} on sm_{device}");
        }
        for target in ["compute_90", "sm_90q", "sm_", "sm_a", "sm_-1", "sm_99999"] {
            assert!(runs_on(target, 90).is_err(), "{target}");
        }
    }

    #[test]
    fn texts_are_refused_before_the_driver_sees_them() {
        let check = |text| Image::Ptx(text).check("k", &h200());
        assert!(check(".version 9.0\n.target sm_90").is_ok());
        assert!(matches!(
            check(".version 9.1\n.target sm_90"),
            Err(Error::DriverTooOld { needs: PtxVersion { major: 9, minor: 1 }, .. })
        ));
        assert!(matches!(check(".version 8.8\n.target sm_100"), Err(Error::WrongArchitecture { .. })));
        assert!(matches!(check("entry"), Err(Error::MalformedImage { .. })));
        assert!(matches!(check(".version 8.0\n.target sm_90q"), Err(Error::MalformedImage { .. })));
    }

    /// A file of one header, a table of two sections and 16 bytes of data.
    fn small_cubin() -> Vec<u8> {
        let mut bytes = vec![0; ELF_HEADER + 2 * 64 + 16];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&EM_CUDA.to_le_bytes());
        bytes[40..48].copy_from_slice(&(ELF_HEADER as u64).to_le_bytes());
        bytes[58..60].copy_from_slice(&64u16.to_le_bytes());
        bytes[60..62].copy_from_slice(&2u16.to_le_bytes());
        let second = ELF_HEADER + 64;
        bytes[second + 24..second + 32].copy_from_slice(&192u64.to_le_bytes());
        bytes[second + 32..second + 40].copy_from_slice(&16u64.to_le_bytes());
        bytes
    }

    #[test]
    fn a_whole_cubin_passes_and_every_cut_off_one_fails() {
        let cubin = small_cubin();
        assert_eq!(check_cubin(&cubin), Ok(()));
        for len in 0..cubin.len() {
            assert!(check_cubin(&cubin[..len]).is_err(), "{len} bytes passed");
        }
    }

    #[test]
    fn cubins_with_wild_tables_fail() {
        let with = |at: usize, value: &[u8]| {
            let mut cubin = small_cubin();
            cubin[at..at + value.len()].copy_from_slice(value);
            check_cubin(&cubin)
        };
        assert!(with(18, &62u16.to_le_bytes()).is_err());
        assert!(with(40, &u64::MAX.to_le_bytes()).is_err());
        assert!(with(58, &8u16.to_le_bytes()).is_err());
        assert!(with(60, &0u16.to_le_bytes()).is_err());
        assert!(with(56, &9u16.to_le_bytes()).is_err());
        assert!(with(ELF_HEADER + 64 + 32, &u64::MAX.to_le_bytes()).is_err());
        // A section without bytes in the file may claim any size.
        let mut cubin = small_cubin();
        cubin[ELF_HEADER + 64 + 4] = SHT_NOBITS as u8;
        cubin[ELF_HEADER + 64 + 32..ELF_HEADER + 64 + 40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(check_cubin(&cubin), Ok(()));
    }
}
