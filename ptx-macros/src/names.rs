//! Paths that expansions refer to, and names that they introduce.
//!
//! Calls carry the author's spans, so that errors and places of instructions point there; local variables and labels of
//! the expansion are hygienic, so that they never meet the author's.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::Lifetime;

/// A path into `ptxsmith_builder::lang::stage`.
pub(crate) fn stage(span: Span, name: &str) -> TokenStream {
    let name = Ident::new(name, span);
    quote_spanned!(span=> ::ptxsmith_builder::lang::stage::#name)
}

/// A path into `ptxsmith_builder`.
pub(crate) fn builder(span: Span, path: &[&str]) -> TokenStream {
    let path = path.iter().map(|name| Ident::new(name, span));
    quote_spanned!(span=> ::ptxsmith_builder #(::#path)*)
}

/// A variable of the expansion.
pub(crate) fn local(name: &str, number: usize, span: Span) -> Ident {
    Ident::new(&format!("__{name}{number}"), Span::mixed_site().located_at(span))
}

/// A label of the expansion.
pub(crate) fn label(name: &str, number: usize, span: Span) -> Lifetime {
    Lifetime::new(&format!("'__{name}{number}"), Span::mixed_site().located_at(span))
}

/// An identifier as registers are named: without `r#`, in ASCII.
pub(crate) fn register_name(ident: &Ident) -> String {
    let name = ident.to_string();
    let name = name.strip_prefix("r#").unwrap_or(&name);
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}
