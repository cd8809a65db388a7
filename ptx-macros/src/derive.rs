//! `#[derive(Spec)]` and `#[derive(Baked)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Meta};

use crate::errors::Errors;
use crate::kernel::Entries;
use crate::types::{doc_text, kebab_case};

fn parse(item: TokenStream, errors: &Errors) -> Option<DeriveInput> {
    match syn::parse2(item) {
        Ok(input) => Some(input),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

/// Signatures of the methods that `#[derive(Spec)]` implements.
const SPEC_METHODS: [&str; 4] = [
    "fn infos(_: &'static str, _: &'static str) -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldInfo>",
    "fn given(_: &'static str, _: &mut ::ptxsmith_builder::kernel::Fields) -> bool",
    "fn take(_: &'static str, _: &mut ::ptxsmith_builder::kernel::Fields) \
     -> ::core::result::Result<Self, ::ptxsmith_builder::kernel::FieldError>",
    "fn values(&self, _: &'static str) -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldValue>",
];

/// Signatures of the methods that `#[derive(Baked)]` implements.
const BAKED_METHODS: [&str; 3] = [
    "fn type_name() -> ::std::string::String",
    "fn parse(_: &str) -> ::core::result::Result<Self, ::std::string::String>",
    "fn text(&self) -> ::std::string::String",
];

/// An implementation that is never called, so that a mistake in a derive does not cause others where the type is used.
fn stub(path: &TokenStream, name: &syn::Ident, methods: &[&str], errors: Errors) -> TokenStream {
    let methods = methods.iter().filter_map(|method| method.parse::<TokenStream>().ok());
    let errors = errors.into_tokens();
    quote! {
        impl #path for #name {
            #(#methods { ::core::unreachable!() })*
        }
        #errors
    }
}

pub(crate) fn spec(item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let Some(input) = parse(item, &errors) else { return errors.into_tokens() };
    let name = &input.ident;
    if !input.generics.params.is_empty() {
        errors.at(&input.generics, "a spec has no generic parameters: make the choice a field");
    }
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => fields.named.iter().collect::<Vec<_>>(),
            Fields::Unit => Vec::new(),
            Fields::Unnamed(fields) => {
                errors.at(fields, "fields of a spec have names: they are its keys on the command line");
                Vec::new()
            }
        },
        Data::Enum(data) => {
            errors.at(data.enum_token, "`Spec` is for structs: derive `Baked` on an enum without data");
            Vec::new()
        }
        Data::Union(data) => {
            errors.at(data.union_token, "`Spec` is for structs");
            Vec::new()
        }
    };
    let (mut infos, mut given, mut takes, mut values, mut idents) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let (ty, text, doc) = (&field.ty, ident.to_string(), doc_text(&field.attrs));
        if doc.is_empty() {
            errors.at(ident, "a field of a spec needs documentation: it is its meaning in listings");
        }
        let (mut default, mut range) = (None, None);
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("spec")) {
            match &attr.meta {
                Meta::List(list) => {
                    let mut entries =
                        Entries::parse(list.tokens.clone(), "spec", &["default", "range"], &errors);
                    default = entries.value("default", &errors);
                    range = entries.value("range", &errors);
                }
                other => errors.at(other, "write the keys in parentheses: `#[spec(default = …, range = …)]`"),
            }
        }
        let baked = quote!(::ptxsmith_builder::lang::stage::BakedParam);
        let info = quote!(<#ty as #baked>::infos(#text, #doc));
        let take = quote!(<#ty as #baked>::take(#text, fields)?);
        let take = match &range {
            Some(range) => quote!(::ptxsmith_builder::lang::stage::in_range(#text, #take, #range)?),
            None => take,
        };
        match &default {
            Some(default) => {
                infos.push(quote!(::ptxsmith_builder::lang::stage::infos_with_default::<#ty>(#info, #text, &(#default))));
                takes.push(quote!(if <#ty as #baked>::given(#text, fields) { #take } else { #default }));
            }
            None => {
                infos.push(info);
                takes.push(take);
            }
        }
        given.push(quote!(<#ty as #baked>::given(#text, fields)));
        values.push(quote!(<#ty as #baked>::values(&self.#ident, #text)));
        idents.push(ident);
    }
    if !errors.is_empty() {
        return stub(&quote!(::ptxsmith_builder::lang::stage::BakedParam), name, &SPEC_METHODS, errors);
    }
    quote! {
        impl ::ptxsmith_builder::lang::stage::BakedParam for #name {
            fn infos(_: &'static str, _: &'static str) -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldInfo> {
                let mut infos = ::std::vec::Vec::new();
                #(infos.extend(#infos);)*
                infos
            }

            #[allow(unused_variables, reason = "a spec may have no fields")]
            fn given(_: &'static str, fields: &mut ::ptxsmith_builder::kernel::Fields) -> bool {
                // Every field is asked, so that each counts as known.
                let mut any = false;
                #(any |= #given;)*
                any
            }

            #[allow(unused_variables, reason = "a spec may have no fields")]
            fn take(
                _: &'static str,
                fields: &mut ::ptxsmith_builder::kernel::Fields,
            ) -> ::core::result::Result<Self, ::ptxsmith_builder::kernel::FieldError> {
                #(let #idents = #takes;)*
                ::core::result::Result::Ok(#name { #(#idents),* })
            }

            fn values(&self, _: &'static str) -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldValue> {
                let mut values = ::std::vec::Vec::new();
                #(values.extend(#values);)*
                values
            }
        }
    }
}

pub(crate) fn baked(item: TokenStream) -> TokenStream {
    let errors = Errors::default();
    let Some(input) = parse(item, &errors) else { return errors.into_tokens() };
    let name = &input.ident;
    let mut variants = Vec::new();
    match &input.data {
        Data::Enum(data) => {
            for variant in &data.variants {
                if matches!(variant.fields, Fields::Unit) {
                    variants.push(&variant.ident);
                } else {
                    errors
                        .at(variant, "a variant with data has no text: use a struct with `#[derive(Spec)]`");
                }
            }
        }
        Data::Struct(data) => {
            errors.at(data.struct_token, "`Baked` is for enums without data: derive `Spec` on a struct")
        }
        Data::Union(data) => errors.at(data.union_token, "`Baked` is for enums without data"),
    }
    let texts: Vec<String> = variants.iter().map(|variant| kebab_case(variant)).collect();
    let type_name = texts.join("|");
    let listed = texts.join(", ");
    if !errors.is_empty() {
        return stub(&quote!(::ptxsmith_builder::kernel::Baked), name, &BAKED_METHODS, errors);
    }
    quote! {
        impl ::ptxsmith_builder::kernel::Baked for #name {
            fn type_name() -> ::std::string::String {
                ::std::string::String::from(#type_name)
            }

            fn parse(text: &str) -> ::core::result::Result<Self, ::std::string::String> {
                match text {
                    #(#texts => ::core::result::Result::Ok(#name::#variants),)*
                    _ => {
                        let hint = match ::ptxsmith_builder::kernel::nearest(text, &[#(#texts),*]) {
                            ::core::option::Option::Some(near) => ::std::format!(" (did you mean `{near}`?)"),
                            ::core::option::Option::None => ::std::string::String::new(),
                        };
                        ::core::result::Result::Err(::std::format!("one of {}{hint}", #listed))
                    }
                }
            }

            fn text(&self) -> ::std::string::String {
                ::std::string::String::from(match self { #(#name::#variants => #texts,)* })
            }
        }
    }
}
