//! Types of signatures: which of them stand for kernel values.

use std::collections::HashSet;

use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, Ident, Type, TypeParamBound};

use crate::names::builder;

/// Compute types that Rust writes as primitives.
const PRIMITIVES: &[&str] = &["f32", "f64", "u32", "i32", "u64", "i64", "u16", "bool"];

/// Host numbers that have no registers.
const HOST_NUMBERS: &[&str] = &["u8", "i8", "i16", "u128", "i128", "usize", "isize", "char"];

/// Traits of compute types: a type parameter bounded by one is a compute type.
const COMPUTE_BOUNDS: &[&str] = &["Scalar", "Number", "Float", "Int", "Arithmetic"];

fn single(ty: &Type) -> Option<&Ident> {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Type::Group(group) => single(&group.elem),
        Type::Paren(paren) => single(&paren.elem),
        _ => None,
    }
}

/// Whether a type is a primitive compute type.
pub(crate) fn is_primitive(ty: &Type) -> bool {
    single(ty).is_some_and(|ident| PRIMITIVES.contains(&ident.to_string().as_str()))
}

/// Whether a type is a number, `bool` or `char` of the host.
pub(crate) fn is_number(ty: &Type) -> bool {
    single(ty).is_some_and(|ident| {
        let name = ident.to_string();
        PRIMITIVES.contains(&name.as_str()) || HOST_NUMBERS.contains(&name.as_str())
    })
}

/// Whether a type mentions a float, which has no `Eq` and `Hash` of its own.
pub(crate) fn has_float(ty: &Type) -> bool {
    use quote::ToTokens;
    fn walk(tokens: proc_macro2::TokenStream) -> bool {
        tokens.into_iter().any(|tree| match tree {
            proc_macro2::TokenTree::Ident(ident) => ident == "f32" || ident == "f64",
            proc_macro2::TokenTree::Group(group) => walk(group.stream()),
            proc_macro2::TokenTree::Punct(_) | proc_macro2::TokenTree::Literal(_) => false,
        })
    }
    walk(ty.to_token_stream())
}

/// The type inside of `Option<…>`.
pub(crate) fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        syn::PathArguments::AngleBracketed(args) if last.ident == "Option" && args.args.len() == 1 => {
            match args.args.first()? {
                syn::GenericArgument::Type(ty) => Some(ty),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The compute types of a signature.
pub(crate) struct ComputeTypes {
    generics: HashSet<String>,
}

impl ComputeTypes {
    pub(crate) fn none() -> ComputeTypes {
        ComputeTypes { generics: HashSet::new() }
    }

    /// The primitives, and the type parameters that are bounded by a trait of compute types.
    pub(crate) fn of(generics: &Generics) -> ComputeTypes {
        let computes = |bound: &TypeParamBound| match bound {
            TypeParamBound::Trait(bound) => {
                let last = bound.path.segments.last();
                last.is_some_and(|last| COMPUTE_BOUNDS.contains(&last.ident.to_string().as_str()))
            }
            _ => false,
        };
        let mut found = HashSet::new();
        for param in &generics.params {
            if let GenericParam::Type(param) = param
                && param.bounds.iter().any(computes)
            {
                found.insert(param.ident.to_string());
            }
        }
        for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
            if let syn::WherePredicate::Type(predicate) = predicate
                && let Some(ident) = single(&predicate.bounded_ty)
                && predicate.bounds.iter().any(computes)
            {
                found.insert(ident.to_string());
            }
        }
        ComputeTypes { generics: found }
    }

    /// Whether it is one.
    pub(crate) fn contains(&self, ty: &Type) -> bool {
        is_primitive(ty) || single(ty).is_some_and(|ident| self.generics.contains(&ident.to_string()))
    }

    /// The type of the kernel value that stands for `ty`: compute types become `Value`s, also in tuples and arrays.
    /// `None` if nothing changes.
    pub(crate) fn staged(&self, ty: &Type) -> Option<Type> {
        let span = ty.span();
        if self.contains(ty) {
            let value = builder(span, &["value", "Value"]);
            return Some(Type::Verbatim(quote_spanned!(span=> #value<#ty>)));
        }
        match ty {
            Type::Tuple(tuple) if !tuple.elems.is_empty() => {
                let staged: Vec<_> = tuple.elems.iter().map(|ty| self.staged(ty)).collect();
                if staged.iter().all(Option::is_none) {
                    return None;
                }
                let elems =
                    tuple.elems.iter().zip(staged).map(|(ty, staged)| staged.unwrap_or_else(|| ty.clone()));
                Some(Type::Verbatim(quote_spanned!(span=> (#(#elems,)*))))
            }
            Type::Array(array) => {
                let elem = self.staged(&array.elem)?;
                let len = &array.len;
                Some(Type::Verbatim(quote_spanned!(span=> [#elem; #len])))
            }
            Type::Paren(paren) => self.staged(&paren.elem),
            Type::Group(group) => self.staged(&group.elem),
            _ => None,
        }
    }
}

/// `rms_norm` as `RmsNorm`.
pub(crate) fn camel_case(ident: &Ident) -> Ident {
    let name = ident.to_string();
    let name: String = name
        .trim_start_matches("r#")
        .split('_')
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
        })
        .collect();
    format_ident!("{}", name, span = ident.span())
}

/// `KebabCase` as `kebab-case`.
pub(crate) fn kebab_case(ident: &Ident) -> String {
    let mut out = String::new();
    for (i, c) in ident.to_string().chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The text of the documentation comments, joined.
pub(crate) fn doc_text(attrs: &[syn::Attribute]) -> String {
    let mut lines = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("doc")) {
        if let syn::Meta::NameValue(meta) = &attr.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &meta.value
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    lines.join(" ").trim().to_owned()
}

/// Lints that expansions would set off in the author's code.
pub(crate) fn allowed() -> proc_macro2::TokenStream {
    quote! {
        #[allow(
            unused_braces, unused_parens, unreachable_code, unused_labels, unused_mut,
            clippy::let_unit_value, clippy::never_loop, clippy::match_single_binding, clippy::unit_arg,
            clippy::redundant_clone, clippy::clone_on_copy, clippy::needless_return, clippy::borrow_deref_ref,
            clippy::explicit_auto_deref, clippy::deref_addrof, clippy::needless_borrow, clippy::while_let_loop,
            clippy::too_many_arguments, clippy::blocks_in_conditions, clippy::unused_unit, clippy::single_match,
            clippy::nonminimal_bool, clippy::collapsible_if, clippy::collapsible_else_if,
            reason = "the expansion of the kernel language is regular, not minimal"
        )]
    }
}
