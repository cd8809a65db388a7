//! The pinned NVIDIA tools: which package, which version, which program, for which role.
//!
//! `ptxas-pins.toml` is the one place that names a version; everything else asks for a role.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// One line of use of a Python package: the program it is installed for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pin {
    pub(crate) package: String,
    /// The package's version, which is also the one that the program reports.
    pub(crate) version: String,
    /// File name without the platform's suffix.
    pub(crate) binary: String,
}

impl Pin {
    /// The name of the folder that holds this package and no other version of it.
    pub(crate) fn folder(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }
}

/// The pins by role, in the order of the roles' names.
pub(crate) fn load() -> Result<BTreeMap<String, Pin>> {
    parse(include_str!("../ptxas-pins.toml")).context("xtask/ptxas-pins.toml")
}

fn parse(text: &str) -> Result<BTreeMap<String, Pin>> {
    Ok(toml::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_that_others_ask_for_is_pinned() {
        let pins = load().unwrap();
        for (role, binary) in [("newest", "ptxas"), ("driver", "ptxas"), ("nvdisasm", "nvdisasm")] {
            assert_eq!(pins[role].binary, binary, "role {role}");
        }
        assert_ne!(pins["newest"].folder(), pins["driver"].folder());
    }

    #[test]
    fn a_misspelled_or_missing_key_is_an_error() {
        let good = "[newest]\npackage = \"p\"\nversion = \"1.2\"\nbinary = \"b\"\n";
        assert_eq!(parse(good).unwrap()["newest"].folder(), "p-1.2");
        let misspelled = parse(&good.replace("binary", "bin")).unwrap_err();
        assert!(format!("{misspelled:#}").contains("bin"), "{misspelled:#}");
        assert!(parse("[newest]\npackage = \"p\"\n").is_err());
    }
}
