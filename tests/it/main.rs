//! The integration tests of the workspace: one binary, one module for each subject.

mod filetests;
mod golden;
mod isa;
mod kernels;
mod language;
mod lines;
mod ptxas;
mod random;
mod reader;
mod rope_frequencies;
mod roundtrip;
mod ui;
