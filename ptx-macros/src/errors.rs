//! The bag of mistakes: each is reported at its own token, all of them in one compile.

use std::cell::RefCell;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// Mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors {
    found: RefCell<Vec<syn::Error>>,
}

impl Errors {
    /// Adds a mistake at `tokens`.
    pub(crate) fn at(&self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake.
    pub(crate) fn push(&self, error: syn::Error) {
        self.found.borrow_mut().push(error);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.found.borrow().len()
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// `compile_error!` for each.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.found.into_inner().iter().map(syn::Error::to_compile_error).collect()
    }
}
