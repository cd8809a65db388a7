//! Keys of attributes: `#[kernel(…)]` and those of parameters.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Path, Token};

use crate::errors::Errors;

/// `key` or `key = expression`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Option<Expr>,
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Entry> {
        let key = input.parse()?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() { Some(input.parse()?) } else { None };
        Ok(Entry { key, value })
    }
}

/// Entries of an attribute, checked against the keys that it has; each may occur once.
pub(crate) struct Entries {
    entries: Vec<Entry>,
}

impl Entries {
    pub(crate) fn parse(tokens: TokenStream, of: &str, keys: &[&str], errors: &Errors) -> Entries {
        let parser = Punctuated::<Entry, Token![,]>::parse_terminated;
        let parsed = match syn::parse::Parser::parse2(parser, tokens) {
            Ok(parsed) => parsed,
            Err(error) => {
                errors.push(error);
                return Entries { entries: Vec::new() };
            }
        };
        let mut entries: Vec<Entry> = Vec::new();
        for entry in parsed {
            let name = entry.key.to_string();
            if !keys.contains(&name.as_str()) {
                let known = if keys.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("its keys are {}", keys.join(", "))
                };
                errors.at(&entry.key, format!("`{of}` has no key `{name}`; {known}"));
            } else if entries.iter().any(|known| known.key == entry.key) {
                errors.at(&entry.key, format!("`{name}` is given twice"));
            } else {
                entries.push(entry);
            }
        }
        Entries { entries }
    }

    /// Takes the expression of a key.
    pub(crate) fn value(&mut self, key: &str, errors: &Errors) -> Option<Expr> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        let entry = self.entries.remove(at);
        if entry.value.is_none() {
            errors.at(&entry.key, format!("`{key}` needs a value: `{key} = …`"));
        }
        entry.value
    }

    /// Takes a key without a value.
    pub(crate) fn flag(&mut self, key: &str, errors: &Errors) -> bool {
        let Some(at) = self.entries.iter().position(|entry| entry.key == key) else { return false };
        let entry = self.entries.remove(at);
        if let Some(value) = &entry.value {
            errors.at(value, format!("`{key}` takes no value"));
        }
        true
    }

    /// Takes the path of a key.
    fn path(&mut self, key: &str, errors: &Errors) -> Option<Path> {
        match self.value(key, errors)? {
            Expr::Path(path) => Some(path.path),
            other => {
                errors.at(&other, format!("`{key}` is the name of a function"));
                None
            }
        }
    }
}

/// `#[kernel(…)]`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) geometry: Option<Expr>,
    pub(crate) block: Option<Expr>,
    pub(crate) grid: Option<Expr>,
    pub(crate) cluster: Option<Expr>,
    pub(crate) shared: Option<Expr>,
    pub(crate) pdl: Option<Expr>,
    pub(crate) min_blocks: Option<Expr>,
    pub(crate) name: Option<String>,
    pub(crate) bind: Option<Path>,
    pub(crate) reference: Option<Path>,
    pub(crate) validate: Option<Path>,
}

const KEYS: &[&str] = &[
    "block",
    "grid",
    "geometry",
    "cluster",
    "shared",
    "pdl",
    "min_blocks",
    "name",
    "bind",
    "reference",
    "validate",
];

impl Options {
    pub(crate) fn parse(tokens: TokenStream, kernel: &Ident, errors: &Errors) -> Options {
        let mut entries = Entries::parse(tokens, "kernel", KEYS, errors);
        let name = entries.value("name", errors).and_then(|value| match &value {
            Expr::Lit(lit) => match &lit.lit {
                syn::Lit::Str(text) if is_identifier(&text.value()) => Some(text.value()),
                _ => {
                    errors.at(
                        &value,
                        "`name` is a string of letters, digits and `_` that does not begin with a digit",
                    );
                    None
                }
            },
            _ => {
                errors.at(&value, "`name` is a string literal");
                None
            }
        });
        let options = Options {
            geometry: entries.value("geometry", errors),
            block: entries.value("block", errors),
            grid: entries.value("grid", errors),
            cluster: entries.value("cluster", errors),
            shared: entries.value("shared", errors),
            pdl: entries.value("pdl", errors),
            min_blocks: entries.value("min_blocks", errors),
            name,
            bind: entries.path("bind", errors),
            reference: entries.path("reference", errors),
            validate: entries.path("validate", errors),
        };
        options.check(kernel, errors);
        options
    }

    fn check(&self, kernel: &Ident, errors: &Errors) {
        let parts = [
            ("block", &self.block),
            ("grid", &self.grid),
            ("cluster", &self.cluster),
            ("shared", &self.shared),
            ("pdl", &self.pdl),
        ];
        if self.geometry.is_some() {
            for (key, value) in parts {
                if let Some(value) = value {
                    errors.at(value.to_token_stream(), format!("`geometry` says everything: remove `{key}`"));
                }
            }
            return;
        }
        let missing: Vec<String> = parts[..2]
            .iter()
            .filter(|(_, value)| value.is_none())
            .map(|(key, _)| format!("`{key} = …`"))
            .collect();
        if !missing.is_empty() {
            errors.at(
                kernel,
                format!(
                    "the launch of this kernel is not described: add {} to `#[kernel(…)]`",
                    missing.join(" and ")
                ),
            );
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
