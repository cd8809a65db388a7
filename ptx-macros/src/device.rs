//! `#[device]`: a function that is inlined where a kernel calls it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, Pat, ReturnType, Type};

use crate::body::{Body, Kind, Returns, block_diverges, block_value_span, expect_type, take_host};
use crate::errors::Errors;
use crate::names::{builder, local, register_name, stage};
use crate::types::{ComputeTypes, allowed};

pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    if !attr.is_empty() {
        errors.at(&attr, "`device` has no keys");
    }
    let mut item: ItemFn = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => {
            errors.push(error);
            return errors.into_tokens();
        }
    };
    if let Some(token) = &item.sig.asyncness {
        errors.at(token, "a device function cannot be `async`: it is inlined into the kernel; remove it");
    }
    if let Some(token) = &item.sig.constness {
        errors.at(token, "a device function cannot be `const`: it adds instructions; remove it");
    }
    if let syn::Safety::Unsafe(token) = &item.sig.safety {
        errors.at(token, "a device function cannot be `unsafe`: remove it");
    }
    let compute = ComputeTypes::of(&item.sig.generics);
    let span = item.sig.ident.span();
    let result = match &item.sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some((**ty).clone()),
    };
    let staged = match &result {
        // A function without a result returns early as one with a result of no registers.
        None => Some(Type::Verbatim(quote_spanned!(span=> ()))),
        Some(ty) => compute.staged(ty).or_else(|| is_unit_or_value(ty).then(|| ty.clone())),
    };
    let state = local("result", 0, span);
    let mut body = Body::new(&errors, Returns::Device { staged: staged.clone(), state: state.clone() });
    let mut prelude = TokenStream::new();
    for input in &mut item.sig.inputs {
        if let FnArg::Typed(typed) = input {
            prelude.extend(stage_param(typed, &compute, &mut body, &errors));
        }
    }
    let mut block = (*item.block).clone();
    if let Some(ty) = &result {
        expect_type(&mut block, ty);
        body.expect_result(ty.clone());
    }
    let diverges = block_diverges(&block);
    let span = block_value_span(&block).unwrap_or(span);
    body.statements(&mut block);
    let early = body.has_early_return();
    drop(body);
    let stmts = &block.stmts;
    let inner = quote!({ #(#stmts)* });
    let value = match (&staged, early) {
        (Some(ty), true) if diverges => {
            let path = stage(span, "Return");
            quote_spanned!(span=> let mut #state = #path::<#ty>::new(); #inner)
        }
        _ if diverges => quote!(#inner),
        (Some(ty), true) => {
            let path = stage(span, "Return");
            quote_spanned!(span=> let mut #state = #path::<#ty>::new(); let value = #inner; #state.finish(value))
        }
        (Some(ty), false) if result.is_some() => {
            let path = stage(span, "lift");
            quote_spanned!(span=> #path::<#ty, _>(#inner))
        }
        _ => quote!(#(#stmts)*),
    };
    if let (Some(ty), ReturnType::Type(_, output)) = (&staged, &mut item.sig.output) {
        **output = ty.clone();
    }
    let allowed = allowed();
    let ItemFn { attrs, vis, sig, .. } = &item;
    let body = if errors.is_empty() {
        quote! {
            use ::ptxsmith_builder::lang::stage::{NameHost as _, NameKernel as _};
            #prelude
            #value
        }
    } else {
        quote!(::core::unreachable!())
    };
    let unused =
        (!errors.is_empty()).then(|| quote!(#[allow(unused_variables, reason = "the body has errors")]));
    let errors = errors.into_tokens();
    quote! {
        #(#attrs)*
        #allowed
        #unused
        #vis #sig {
            #body
        }
        #errors
    }
}

/// Whether an author wrote a kernel value as the result: `Value<f32>`, `()`.
fn is_unit_or_value(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => tuple.elems.iter().all(is_unit_or_value),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "Value"),
        Type::Array(array) => is_unit_or_value(&array.elem),
        _ => false,
    }
}

/// Replaces the type of a parameter by what a call may pass, and returns the statement that makes the kernel value of it.
fn stage_param(
    typed: &mut syn::PatType,
    compute: &ComputeTypes,
    body: &mut Body<'_>,
    errors: &Errors,
) -> TokenStream {
    let host = take_host(&mut typed.attrs);
    let Pat::Ident(pat) = &mut *typed.pat else {
        errors.at(&typed.pat, "a parameter of a device function is a plain name: take it apart in the body");
        return TokenStream::new();
    };
    let ident = pat.ident.clone();
    let span = typed.ty.span();
    if host {
        body.bind(&ident, if pat.mutability.is_some() { Kind::HostMut } else { Kind::Plain });
        return TokenStream::new();
    }
    if let Type::Reference(reference) = &*typed.ty
        && reference.mutability.is_some()
        && compute.contains(&reference.elem)
    {
        let (var, inner) = (builder(span, &["value", "Var"]), &reference.elem);
        *typed.ty = Type::Verbatim(quote_spanned!(span=> #var<#inner>));
        body.bind(&ident, Kind::RegisterRef);
        return TokenStream::new();
    }
    let mutable = pat.mutability.take().is_some();
    body.bind(&ident, if mutable { Kind::Register } else { Kind::Plain });
    let (into_var, text) = (stage(ident.span(), "into_var"), register_name(&ident));
    let register = mutable.then(|| quote_spanned!(ident.span()=> let #ident = #into_var(#ident, #text);));
    let ty = (*typed.ty).clone();
    if compute.contains(&ty) {
        let operand = builder(span, &["value", "Operand"]);
        *typed.ty = Type::Verbatim(quote_spanned!(span=> impl #operand<#ty>));
        return quote_spanned!(span=> let #ident = #operand::<#ty>::value(#ident); #register);
    }
    if let Some(staged) = compute.staged(&ty) {
        let (lift_trait, lift) = (stage(span, "Lift"), stage(span, "lift"));
        *typed.ty = Type::Verbatim(quote_spanned!(span=> impl #lift_trait<#staged>));
        return quote_spanned!(span=> let #ident = #lift::<#staged, _>(#ident); #register);
    }
    quote!(#register)
}
