//! Runs the built program as a script would: arguments in, exit code and the two streams out.

mod bad_input;
mod contract;
mod foreign;
mod sandbox;
