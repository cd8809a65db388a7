//! The integration tests of the workspace: one binary, one module for each subject.

mod filetests;
mod language;
mod reader;
mod rope_frequencies;
mod roundtrip;
