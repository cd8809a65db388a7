//! What patterns bind.

use syn::{Ident, Pat};

use super::{Body, Kind};

/// Removes every `mut` of a pattern and returns the names that had it; `ref mut` is refused.
pub(super) fn take_mut(body: &Body<'_>, pat: &mut Pat) -> Vec<Ident> {
    let mut found = Vec::new();
    each_ident(pat, &mut |ident| {
        if ident.by_ref.is_some() && ident.mutability.is_some() {
            body.errors
                .at(&ident.ident, "`ref mut` cannot be staged: bind the value with `mut` and assign it");
        }
        if ident.mutability.take().is_some() {
            found.push(ident.ident.clone());
        }
    });
    found
}

/// The names that a pattern binds.
pub(super) fn names(pat: &Pat) -> Vec<Ident> {
    let mut pat = pat.clone();
    let mut found = Vec::new();
    each_ident(&mut pat, &mut |ident| {
        // An upper-case name is a constant or a variant.
        if !ident.ident.to_string().starts_with(char::is_uppercase) || ident.subpat.is_some() {
            found.push(ident.ident.clone());
        }
    });
    found
}

fn each_ident(pat: &mut Pat, f: &mut impl FnMut(&mut syn::PatIdent)) {
    match pat {
        Pat::Ident(ident) => {
            f(ident);
            if let Some((_, sub)) = &mut ident.subpat {
                each_ident(sub, f);
            }
        }
        Pat::Or(or) => or.cases.iter_mut().for_each(|pat| each_ident(pat, f)),
        Pat::Paren(paren) => each_ident(&mut paren.pat, f),
        Pat::Guard(guard) => each_ident(&mut guard.pat, f),
        Pat::Reference(reference) => each_ident(&mut reference.pat, f),
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(|pat| each_ident(pat, f)),
        Pat::Struct(fields) => fields.fields.iter_mut().for_each(|field| each_ident(&mut field.pat, f)),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(|pat| each_ident(pat, f)),
        Pat::TupleStruct(tuple) => tuple.elems.iter_mut().for_each(|pat| each_ident(pat, f)),
        Pat::Type(ty) => each_ident(&mut ty.pat, f),
        _ => {}
    }
}

impl Body<'_> {
    /// Shadows the names that a pattern binds.
    pub(super) fn bind_pattern(&mut self, pat: &Pat) {
        for name in names(pat) {
            self.bind(&name, Kind::Plain);
        }
    }
}
