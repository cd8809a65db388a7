//! `#[kernel]`: signature and attribute in, spec type and implementation of `Kernel` out.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{ItemFn, ReturnType};

use crate::body::{Body, Kind, Returns};
use crate::errors::Errors;
use crate::types::{ComputeTypes, allowed, camel_case};

mod attrs;
mod emit;
mod params;

pub(crate) use attrs::Entries;
use params::{Param, Role};

/// A checked kernel.
struct Kernel {
    item: ItemFn,
    /// The spec type: `RmsNorm`.
    ty: Ident,
    /// Entry name.
    name: String,
    options: attrs::Options,
    params: Vec<Param>,
}

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            errors.push(error);
            return errors.into_tokens();
        }
    };
    let options = attrs::Options::parse(attr, &item.sig.ident, &errors);
    check_signature(&item, &errors);
    let before = errors.count();
    let params = params::parse(&item.sig, &errors);
    let sound = errors.count() == before;
    let name = options
        .name
        .clone()
        .unwrap_or_else(|| item.sig.ident.to_string().trim_start_matches("r#").to_owned());
    let kernel = Kernel { ty: camel_case(&item.sig.ident), name, options, params, item };
    let body = kernel.body(&errors, sound);
    let tokens = emit::kernel(&kernel, body);
    let errors = errors.into_tokens();
    quote!(#tokens #errors)
}

fn check_signature(item: &ItemFn, errors: &Errors) {
    let sig = &item.sig;
    if let Some(token) = &sig.constness {
        errors.at(token, "a kernel cannot be `const`: remove it");
    }
    if let Some(token) = &sig.asyncness {
        errors.at(token, "a kernel cannot be `async`: launches are asynchronous anyway; remove it");
    }
    if let syn::Safety::Unsafe(token) = &sig.safety {
        errors.at(token, "a kernel cannot be `unsafe`: its arguments are checked at the launch; remove it");
    }
    if let Some(abi) = &sig.abi {
        errors.at(abi, "a kernel has no ABI of Rust: remove `extern`");
    }
    if !sig.generics.params.is_empty() {
        errors.at(
            &sig.generics,
            "a kernel has no generic parameters: bake the choice as a `#[baked]` value, or make a generic `#[device]` function",
        );
    }
    if let ReturnType::Type(_, ty) = &sig.output {
        errors.at(ty, "a kernel returns nothing: store the result to a `GlobalMut` parameter");
    }
}

impl Kernel {
    /// The function that stages the body, up to the first statement with a mistake, so that it causes no others.
    /// Nothing of it is left where the parameters are not `sound`.
    fn body(&self, errors: &Errors, sound: bool) -> TokenStream {
        let mut walk = Body::new(errors, Returns::Kernel);
        let mut block = (*self.item.block).clone();
        let compute = ComputeTypes::none();
        let mut inputs = Vec::new();
        let mut prelude = TokenStream::new();
        for param in &self.params {
            let (ident, ty) = (&param.ident, &param.ty);
            let staged = match &param.role {
                Role::Baked { .. } | Role::Buffer { .. } => quote!(#ty),
                Role::Size { .. } | Role::Scalar { .. } => {
                    let inner = crate::types::option_of(ty).unwrap_or(ty);
                    match compute.staged(inner) {
                        Some(value) if param.when.is_some() => quote!(::core::option::Option<#value>),
                        Some(value) => quote!(#value),
                        None => quote!(#ty),
                    }
                }
            };
            // What only sizes or shapes a launch is used by attributes.
            let unused = match &param.role {
                Role::Baked { .. } | Role::Size { .. } => {
                    quote!(#[allow(unused_variables, reason = "attributes may be all that uses it")])
                }
                Role::Buffer { .. } | Role::Scalar { .. } => TokenStream::new(),
            };
            inputs.push(quote!(#unused #ident: #staged));
            if param.mutable {
                let (into_var, text) =
                    (crate::names::stage(ident.span(), "into_var"), crate::names::register_name(ident));
                prelude.extend(quote!(let #ident = #into_var(#ident, #text);));
                walk.bind(ident, Kind::Register);
            } else {
                walk.bind(ident, Kind::Plain);
            }
        }
        walk.statements(&mut block);
        let allowed = allowed();
        let stmts = if sound { block.stmts } else { Vec::new() };
        let unused = if errors.is_empty() {
            quote!()
        } else {
            quote!(#[allow(unused_variables, reason = "the body has errors")])
        };
        quote! {
            #allowed
            #unused
            fn body(#(#inputs),*) {
                use ::ptxsmith_builder::lang::stage::{NameHost as _, NameKernel as _};
                #prelude
                #(#stmts)*
            }
        }
    }
}
