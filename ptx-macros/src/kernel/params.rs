//! Parameters of a kernel: what each of them is.

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, FnArg, Ident, Meta, Pat, Signature, Type};

use super::attrs::Entries;
use crate::errors::Errors;
use crate::types::{doc_text, is_primitive, option_of};

/// A parameter.
pub(super) struct Param {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) role: Role,
    /// The condition of `#[when(…)]`.
    pub(super) when: Option<Expr>,
    pub(super) mutable: bool,
    pub(super) doc: String,
}

/// What a parameter is.
#[expect(clippy::large_enum_variant, reason = "there is one for each parameter of a signature")]
pub(super) enum Role {
    /// Known while the text is made.
    Baked {
        /// Its fields belong to the schedule.
        schedule: bool,
        /// What stands for it in listings while it is `None`.
        chosen: Option<Expr>,
    },
    /// A number that sizes the launch.
    Size {
        /// Its largest value.
        max: Option<Expr>,
    },
    /// A buffer.
    Buffer { dtype: Option<Expr>, len: Option<Expr>, align: Option<Expr>, writable: bool, inout: bool },
    /// A number of the launch.
    Scalar {
        /// The buffer whose row stride it is.
        stride_of: Option<Expr>,
    },
}

/// The attributes that say what a parameter is.
const ROLES: &[&str] = &["baked", "size", "buffer", "scalar", "stride"];

pub(super) fn parse(sig: &Signature, errors: &Errors) -> Vec<Param> {
    sig.inputs.iter().filter_map(|input| param(input, errors)).collect()
}

fn param(input: &FnArg, errors: &Errors) -> Option<Param> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            errors.at(receiver, "a kernel has no `self`: take what it needs as `#[baked]` parameters");
            return None;
        }
    };
    let Pat::Ident(pat) = &*typed.pat else {
        errors.at(&typed.pat, "a kernel parameter is a plain name: take it apart in the body");
        return None;
    };
    let ty = (*typed.ty).clone();
    let (mut role, mut when) = (None, None);
    for attr in &typed.attrs {
        let Some(name) = attr.path().get_ident().map(Ident::to_string) else {
            errors.at(
                attr,
                "kernel parameters have the attributes baked, size, buffer, scalar, stride and when",
            );
            continue;
        };
        match name.as_str() {
            "doc" | "allow" | "expect" => {}
            "when" => match &attr.meta {
                Meta::List(list) => match list.parse_args::<Expr>() {
                    Ok(condition) => when = Some(condition),
                    Err(error) => errors.push(error),
                },
                _ => errors.at(attr, "`when` needs a condition over baked parameters: `#[when(spec.bias)]`"),
            },
            name if ROLES.contains(&name) => {
                if role.is_some() {
                    errors.at(attr, "a parameter is one of baked, size, buffer, scalar and stride");
                } else {
                    role = parse_role(name, attr, &ty, errors);
                }
            }
            other => errors.at(
                attr,
                format!("kernel parameters have no attribute `{other}`; they have baked, size, buffer, scalar, stride and when"),
            ),
        }
    }
    let role = match role {
        Some(role) => role,
        None if is_primitive(option_of(&ty).unwrap_or(&ty)) => Role::Scalar { stride_of: None },
        None if is_view(&ty) => {
            errors.at(&typed.ty, "a buffer needs its dtype and length: `#[buffer(dtype = …, len = …)]`");
            buffer(&ty, Entries::parse(TokenStream::new(), "buffer", &[], errors), errors)
        }
        None => {
            errors.at(
                &typed.ty,
                "this is neither a number nor a view: mark what is known while the text is made as `#[baked]`, \
                 and buffers as `#[buffer(…)] x: Global` or `GlobalMut`",
            );
            return None;
        }
    };
    let before = errors.count();
    check(&pat.ident, &ty, &role, when.as_ref(), errors);
    let (ty, when) = if errors.count() == before { (ty, when) } else { repaired(ty, &role, when) };
    Some(Param {
        ident: pat.ident.clone(),
        ty,
        role,
        when,
        mutable: pat.mutability.is_some(),
        doc: doc_text(&typed.attrs),
    })
}

/// A type that fits the role, so that one mistake does not cause others.
fn repaired(ty: Type, role: &Role, when: Option<Expr>) -> (Type, Option<Expr>) {
    let inner = option_of(&ty).cloned().unwrap_or(ty);
    let inner: Type = match role {
        Role::Baked { .. } => return (inner, None),
        Role::Size { .. } => syn::parse_quote!(u32),
        Role::Scalar { stride_of: Some(_) } => syn::parse_quote!(i64),
        Role::Scalar { .. } if !is_primitive(&inner) => syn::parse_quote!(f32),
        Role::Buffer { .. } if !is_view(&inner) => syn::parse_quote!(::ptxsmith_builder::lang::Global),
        Role::Scalar { .. } | Role::Buffer { .. } => inner,
    };
    match (&when, role) {
        (Some(_), Role::Size { .. }) | (None, _) => (inner, None),
        (Some(_), _) => (syn::parse_quote!(::core::option::Option<#inner>), when),
    }
}

fn last_segment(ty: &Type) -> Option<String> {
    match option_of(ty).unwrap_or(ty) {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

fn is_view(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|name| name == "Global" || name == "GlobalMut")
}

fn arguments(attr: &Attribute, errors: &Errors) -> TokenStream {
    match &attr.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(meta) => {
            errors.at(meta, "write the keys in parentheses: `#[name(key = value)]`");
            TokenStream::new()
        }
    }
}

fn parse_role(name: &str, attr: &Attribute, ty: &Type, errors: &Errors) -> Option<Role> {
    let before = errors.count();
    let tokens = arguments(attr, errors);
    let entries = |keys: &[&str]| Entries::parse(tokens.clone(), name, keys, errors);
    Some(match name {
        "baked" => {
            let mut entries = entries(&["schedule", "chosen"]);
            let schedule = entries.flag("schedule", errors);
            Role::Baked { schedule, chosen: entries.value("chosen", errors) }
        }
        "size" => Role::Size { max: entries(&["max"]).value("max", errors) },
        "buffer" => {
            let keys = ["dtype", "len", "align", "inout"];
            let given = entries(&keys);
            let buffer = buffer(ty, given, errors);
            if let Role::Buffer { dtype, len, .. } = &buffer {
                let missing: Vec<&str> = [("dtype", dtype), ("len", len)]
                    .iter()
                    .filter(|(_, value)| value.is_none())
                    .map(|(key, _)| *key)
                    .collect();
                if !missing.is_empty() && errors.count() == before {
                    errors.at(attr, format!("a buffer needs {}", missing.join(" and ")));
                }
            }
            buffer
        }
        "scalar" => {
            entries(&[]);
            Role::Scalar { stride_of: None }
        }
        _ => {
            let of = entries(&["of"]).value("of", errors);
            if of.is_none() && errors.count() == before {
                errors.at(attr, "`stride` needs the buffer that it belongs to: `#[stride(of = x)]`");
            }
            Role::Scalar { stride_of: of }
        }
    })
}

fn buffer(ty: &Type, mut entries: Entries, errors: &Errors) -> Role {
    let writable = last_segment(ty).is_some_and(|name| name == "GlobalMut");
    let inout = entries.flag("inout", errors);
    if inout && !writable {
        errors.at(ty, "an `inout` buffer is written: its type is `GlobalMut`");
    }
    Role::Buffer {
        dtype: entries.value("dtype", errors),
        len: entries.value("len", errors),
        align: entries.value("align", errors),
        writable,
        inout,
    }
}

fn check(name: &Ident, ty: &Type, role: &Role, when: Option<&Expr>, errors: &Errors) {
    let optional = option_of(ty);
    let inner = optional.unwrap_or(ty);
    if let Some(condition) = when {
        if matches!(role, Role::Baked { .. } | Role::Size { .. }) {
            errors.at(condition, "only buffers and scalars can depend on a condition");
        } else if optional.is_none() {
            errors.push(syn::Error::new(
                ty.span(),
                format!("`{name}` exists under a condition: its type is `Option<…>`"),
            ));
        }
    } else if optional.is_some() && !matches!(role, Role::Baked { .. }) {
        errors.at(ty, "an optional parameter needs the condition that it depends on: `#[when(…)]`");
    }
    let named = |names: &[&str]| last_segment(inner).is_some_and(|ty| names.contains(&ty.as_str()));
    match role {
        Role::Baked { .. } => {}
        Role::Size { .. } if named(&["u32", "u64"]) => {}
        Role::Size { .. } => errors.at(ty, "a size is a `u32` or a `u64`"),
        Role::Buffer { .. } if is_view(inner) => {}
        Role::Buffer { .. } => errors.at(ty, "a buffer is a `Global` (read) or a `GlobalMut` (written)"),
        Role::Scalar { stride_of: Some(_) } if named(&["i64"]) => {}
        Role::Scalar { stride_of: Some(_) } => errors.at(ty, "a stride is an `i64`"),
        Role::Scalar { .. } if is_primitive(inner) && !named(&["bool", "u16"]) => {}
        Role::Scalar { .. } => errors.at(ty, "a scalar argument is an f32, f64, u32, i32, u64 or i64"),
    }
}
