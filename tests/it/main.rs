//! The integration tests of the workspace: one binary, one module for each subject.

mod filetests;
mod golden;
mod kernels;
mod language;
mod reader;
mod roundtrip;
mod ui;
