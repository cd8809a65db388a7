//! The attribute macros of ptxsmith: [`macro@kernel`], [`macro@device`], and the derives for baked parameters.
//!
//! Three steps, as usual for a macro crate: parse, check, expand. The checks put every mistake into one bag, each at its own
//! token, and the expansion of what is left goes out with them, so that one mistake does not cause others and rust-analyzer
//! keeps working. Nothing here knows types: where the meaning depends on one, the expansion calls a trait of
//! `ptxsmith_builder::lang::stage`, and rustc decides.
//!
//! Limits: an outer item is left as it is, and so are the tokens inside of a macro call.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod body;
mod derive;
mod device;
mod errors;
mod kernel;
mod names;
#[cfg(test)]
mod tests;
mod types;

/// A GPU kernel, written in Rust.
///
/// Yields a struct of the baked parameters, named after the function in `CamelCase`, with its argument and shape
/// types, and implements `Kernel` for it. See `docs/language.md`.
#[proc_macro_attribute]
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel::expand(attr.into(), item.into()).into()
}

/// A function that kernels call; its instructions go where it is called.
///
/// Parameters of compute types (`f32`, `u32`, …) are kernel values; `#[host]` parameters are known while the text is
/// made. See `docs/language.md`.
#[proc_macro_attribute]
pub fn device(attr: TokenStream, item: TokenStream) -> TokenStream {
    device::expand(attr.into(), item.into()).into()
}

/// A struct whose fields are baked parameters of a kernel.
///
/// The documentation of a field is its meaning in listings. `#[spec(default = expression)]` makes a field optional,
/// `#[spec(range = 1..=1024)]` limits it.
#[proc_macro_derive(Spec, attributes(spec))]
pub fn spec(item: TokenStream) -> TokenStream {
    derive::spec(item.into()).into()
}

/// An enum without data as a baked value: its variants in kebab-case.
#[proc_macro_derive(Baked)]
pub fn baked(item: TokenStream) -> TokenStream {
    derive::baked(item.into()).into()
}
