//! What `#[kernel]` yields: the spec type, its arguments and sizes, and `Kernel` for it.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, Ident, Type};

use super::Kernel;
use super::params::{Param, Role};
use crate::names::builder;
use crate::types::{has_float, option_of};

impl Kernel {
    fn baked(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.role, Role::Baked { .. }))
    }

    fn sizes(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.role, Role::Size { .. }))
    }

    fn args(&self) -> impl Iterator<Item = &Param> {
        self.params.iter().filter(|param| matches!(param.role, Role::Buffer { .. } | Role::Scalar { .. }))
    }

    /// Baked parameters, the target and the sizes as variables, for the expressions of attributes. They are rebuilt
    /// for every expression, so that each may consume them.
    fn scope(&self, expr: impl ToTokens) -> TokenStream {
        let baked = self.baked().map(|param| &param.ident);
        let sizes = self.sizes().map(|param| {
            let (ident, name) = (&param.ident, param.ident.to_string());
            quote!(let #ident = ::ptxsmith_builder::kernel::Expr::size(#name);)
        });
        quote! {{
            #(let #baked = ::core::clone::Clone::clone(&self.#baked);)*
            #(#sizes)*
            #expr
        }}
    }
}

/// Makes an argument's value from its field, its type and the path of `ArgValue`.
type Wrap = fn(TokenStream, &Type, &TokenStream) -> TokenStream;

/// The whole expansion.
pub(super) fn kernel(kernel: &Kernel, body: TokenStream) -> TokenStream {
    let spec = spec_type(kernel);
    let args = args_type(kernel);
    let shape = shape_type(kernel);
    let any = any_kernel(kernel);
    let typed = typed_kernel(kernel);
    quote! {
        #spec
        #args
        #shape
        const _: () = {
            #body
            #any
        };
        #typed
    }
}

fn spec_type(kernel: &Kernel) -> TokenStream {
    let Kernel { item, ty, .. } = kernel;
    let vis = &item.vis;
    let attrs: Vec<_> = item.attrs.iter().filter(|attr| !attr.path().is_ident("allow")).collect();
    let names: Vec<&Ident> = kernel.baked().map(|param| &param.ident).collect();
    let types: Vec<&Type> = kernel.baked().map(|param| &param.ty).collect();
    let docs: Vec<String> = kernel
        .baked()
        .map(|param| {
            if param.doc.is_empty() {
                format!("Baked parameter `{}`.", param.ident)
            } else {
                param.doc.clone()
            }
        })
        .collect();
    let by_bits = |param: &Param, this: TokenStream| {
        let ident = &param.ident;
        if has_float(&param.ty) {
            quote!(::ptxsmith_builder::lang::stage::ByBits::by_bits(&#this.#ident))
        } else {
            quote!(#this.#ident)
        }
    };
    let equal = kernel.baked().map(|param| {
        let (a, b) = (by_bits(param, quote!(self)), by_bits(param, quote!(other)));
        quote!(#a == #b)
    });
    let hashed = kernel.baked().map(|param| {
        let value = by_bits(param, quote!(self));
        quote!(::core::hash::Hash::hash(&#value, state);)
    });
    let new_doc = format!("A kernel value of `{}`: everything that reaches its text.", kernel.name);
    quote! {
        #(#attrs)*
        #[derive(Debug, Clone)]
        #vis struct #ty { #(#[doc = #docs] pub #names: #types,)* }

        impl #ty {
            #[doc = #new_doc]
            pub fn new(#(#names: #types),*) -> #ty {
                #ty { #(#names),* }
            }
        }

        impl ::core::cmp::PartialEq for #ty {
            #[allow(unused_variables, reason = "a kernel without baked parameters has one value")]
            fn eq(&self, other: &#ty) -> bool {
                true #(&& #equal)*
            }
        }

        impl ::core::cmp::Eq for #ty {}

        impl ::core::hash::Hash for #ty {
            #[allow(unused_variables, reason = "a kernel without baked parameters has one value")]
            fn hash<H: ::core::hash::Hasher>(&self, state: &mut H) {
                #(#hashed)*
            }
        }
    }
}

fn args_type(kernel: &Kernel) -> TokenStream {
    let Kernel { item, ty, .. } = kernel;
    let (vis, name) = (&item.vis, format_ident!("{}Args", ty));
    let value = builder(ty.span(), &["kernel", "ArgValue"]);
    let (mut fields, mut values, mut visits, mut has_buffer) = (Vec::new(), Vec::new(), Vec::new(), false);
    for param in kernel.args() {
        let ident = &param.ident;
        let inner = option_of(&param.ty).unwrap_or(&param.ty);
        let doc = if param.doc.is_empty() { format!("Argument `{ident}`.") } else { param.doc.clone() };
        let (ty, wrap): (TokenStream, Wrap) = match param.role {
            Role::Buffer { .. } => {
                has_buffer = true;
                (quote!(B), |this, _, value| quote!(#value::Buffer(#this)))
            }
            _ => (
                quote!(#inner),
                |this, ty, value| quote!(#value::Scalar(<#ty as ::ptxsmith_builder::value::Scalar>::bits(#this))),
            ),
        };
        if param.when.is_some() {
            let wrapped = wrap(quote!(value), inner, &value);
            fields.push(quote!(#[doc = #doc] pub #ident: ::core::option::Option<#ty>));
            values.push(
                quote!(if let ::core::option::Option::Some(value) = self.#ident { values.push(#wrapped); }),
            );
            visits.push(quote!(if let ::core::option::Option::Some(value) = self.#ident { f(#wrapped); }));
        } else {
            let wrapped = wrap(quote!(self.#ident), inner, &value);
            fields.push(quote!(#[doc = #doc] pub #ident: #ty));
            values.push(quote!(values.push(#wrapped);));
            visits.push(quote!(f(#wrapped);));
        }
    }
    if !has_buffer {
        let doc = "Names the buffer type of a kernel without buffers.";
        fields.push(quote!(#[doc = #doc] pub buffers: ::core::marker::PhantomData<B>));
    }
    let doc = format!("Arguments of [`{ty}`], in the order of its signature.");
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy)]
        #vis struct #name<B> { #(#fields,)* }

        impl<B> ::ptxsmith_builder::kernel::Args<B> for #name<B> {
            #[allow(clippy::vec_init_then_push, unused_mut, reason = "conditional arguments are left out")]
            fn into_values(self) -> ::std::vec::Vec<#value<B>> {
                let mut values = ::std::vec::Vec::new();
                #(#values)*
                values
            }

            #[allow(unused_mut, unused_variables, reason = "a kernel may have no arguments")]
            fn for_each(self, mut f: impl ::core::ops::FnMut(#value<B>)) {
                #(#visits)*
            }
        }
    }
}

fn shape_type(kernel: &Kernel) -> TokenStream {
    let Kernel { item, ty, .. } = kernel;
    let (vis, name) = (&item.vis, format_ident!("{}Shape", ty));
    let names: Vec<&Ident> = kernel.sizes().map(|param| &param.ident).collect();
    let texts = names.iter().map(|name| name.to_string());
    let types = kernel.sizes().map(|param| &param.ty);
    let docs = kernel.sizes().map(|param| {
        if param.doc.is_empty() { format!("Size `{}`.", param.ident) } else { param.doc.clone() }
    });
    let doc = format!("Sizes of a launch of [`{ty}`].");
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #vis struct #name { #(#[doc = #docs] pub #names: #types,)* }

        impl ::ptxsmith_builder::kernel::Shape for #name {
            fn sizes(&self) -> ::std::vec::Vec<(&'static str, u64)> {
                ::std::vec![#((#texts, ::core::convert::From::from(self.#names))),*]
            }

            #[allow(unused_mut, unused_variables, reason = "a kernel may have no sizes")]
            fn for_each(&self, mut f: impl ::core::ops::FnMut(u64)) {
                #(f(::core::convert::From::from(self.#names));)*
            }
        }
    }
}

/// A variable that the expressions of attributes cannot see.
fn hidden(name: &str) -> Ident {
    Ident::new(name, proc_macro2::Span::mixed_site())
}

fn geometry(kernel: &Kernel) -> TokenStream {
    let options = &kernel.options;
    if let Some(geometry) = &options.geometry {
        return kernel.scope(quote_spanned!(geometry.span()=> #geometry));
    }
    let (Some(block), Some(grid)) = (&options.block, &options.grid) else {
        return quote!(::ptxsmith_builder::kernel::Geometry::new(1, 1u32));
    };
    let block = {
        let path = crate::names::stage(block.span(), "IntoBlock");
        kernel.scope(quote_spanned!(block.span()=> #path::into_block(#block)))
    };
    let grid = kernel.scope(quote_spanned!(grid.span()=> ::ptxsmith_builder::kernel::Expr::from(#grid)));
    let geometry = hidden("geometry");
    let mut sets = TokenStream::new();
    for (field, value) in
        [("cluster", &options.cluster), ("dynamic_shared", &options.shared), ("pdl", &options.pdl)]
    {
        if let Some(value) = value {
            let (field, value) = (Ident::new(field, value.span()), kernel.scope(value));
            sets.extend(quote!(#geometry.#field = #value;));
        }
    }
    quote! {{
        #[allow(unused_mut, reason = "only some kernels set more")]
        let mut #geometry = ::ptxsmith_builder::kernel::Geometry::new(1, #grid);
        #geometry.block = #block;
        #sets
        #geometry
    }}
}

/// Conditions of arguments, by position; `true` for those without one.
fn condition(kernel: &Kernel, param: &Param) -> Option<TokenStream> {
    let when: &Expr = param.when.as_ref()?;
    Some(kernel.scope(quote_spanned!(when.span()=> { let condition: bool = #when; condition })))
}

fn arg_infos(kernel: &Kernel) -> Vec<TokenStream> {
    let args = hidden("args");
    kernel
        .args()
        .map(|param| {
            let name = param.ident.to_string();
            let inner = option_of(&param.ty).unwrap_or(&param.ty);
            let kind = match &param.role {
                Role::Buffer { dtype, len, align, writable, inout } => {
                    let dtype =
                        value_of(kernel, dtype.as_ref(), quote!(::ptxsmith_builder::types::Dtype::F32));
                    let len = match len {
                        Some(len) => kernel
                            .scope(quote_spanned!(len.span()=> ::ptxsmith_builder::kernel::Expr::from(#len))),
                        None => quote!(::ptxsmith_builder::kernel::Expr::from(0u32)),
                    };
                    let direction = match (writable, inout) {
                        (false, _) => quote!(In),
                        (true, false) => quote!(Out),
                        (true, true) => quote!(InOut),
                    };
                    let stored = hidden("stored");
                    let align = value_of(kernel, align.as_ref(), quote!(#stored.bytes()));
                    quote! {{
                        let #stored: ::ptxsmith_builder::types::Dtype = #dtype;
                        ::ptxsmith_builder::kernel::ArgKind::Buffer {
                            dtype: #stored,
                            direction: ::ptxsmith_builder::kernel::Direction::#direction,
                            len: #len,
                            align: #align,
                        }
                    }}
                }
                Role::Scalar { stride_of: Some(of) } => {
                    let of = of.to_token_stream().to_string();
                    quote!(::ptxsmith_builder::kernel::ArgKind::Stride { of: #of })
                }
                _ => quote!(::ptxsmith_builder::kernel::ArgKind::Scalar {
                    ty: <#inner as ::ptxsmith_builder::value::Scalar>::TY
                }),
            };
            let push = quote!(#args.push(::ptxsmith_builder::kernel::ArgInfo { name: #name, kind: #kind }););
            match condition(kernel, param) {
                Some(condition) => quote!(if #condition { #push }),
                None => push,
            }
        })
        .collect()
}

fn value_of(kernel: &Kernel, expr: Option<&Expr>, default: TokenStream) -> TokenStream {
    match expr {
        Some(expr) => kernel.scope(quote_spanned!(expr.span()=> #expr)),
        None => default,
    }
}

/// Makes every parameter of the body, in the order of the signature.
fn body_inputs(kernel: &Kernel) -> Vec<TokenStream> {
    kernel.params.iter().map(|param| {
        let (ident, name, span) = (&param.ident, param.ident.to_string(), param.ident.span());
        let inner = option_of(&param.ty).unwrap_or(&param.ty);
        let value = match &param.role {
            Role::Baked { .. } => return quote!(let #ident = ::core::clone::Clone::clone(&self.#ident);),
            Role::Size { .. } | Role::Scalar { .. } => {
                let path = builder(span, &["lang", "scalar_param"]);
                quote_spanned!(span=> #path::<#inner>(#name))
            }
            Role::Buffer { dtype, align, .. } => {
                let dtype = value_of(kernel, dtype.as_ref(), quote!(::ptxsmith_builder::types::Dtype::F32));
                let stored = hidden("stored");
                let align = value_of(kernel, align.as_ref(), quote!(#stored.bytes()));
                quote_spanned!(span=> { let #stored: ::ptxsmith_builder::types::Dtype = #dtype; <#inner>::param(#name, #stored, #align) })
            }
        };
        match condition(kernel, param) {
            Some(condition) => quote_spanned!(span=>
                let #ident = if #condition { ::core::option::Option::Some(#value) } else { ::core::option::Option::None };
            ),
            None => quote_spanned!(span=> let #ident = #value;),
        }
    }).collect()
}

fn any_kernel(kernel: &Kernel) -> TokenStream {
    let Kernel { ty, name, options, .. } = kernel;
    let (entry, arg_list, launch, fields) =
        (hidden("entry"), hidden("args"), hidden("launch"), hidden("fields"));
    let geometry = geometry(kernel);
    let args = arg_infos(kernel);
    let inputs = body_inputs(kernel);
    let idents = kernel.params.iter().map(|param| &param.ident);
    let sizes = kernel.sizes().map(|param| {
        let (name, ty) = (param.ident.to_string(), &param.ty);
        let max = match &param.role {
            Role::Size { max: Some(max) } => {
                kernel.scope(quote_spanned!(max.span()=> { let max: #ty = #max; max }))
            }
            _ => quote!(<#ty>::MAX),
        };
        quote!((#name, ::core::convert::From::from(#max)))
    });
    let validate = options.validate.as_ref().map(|path| quote_spanned!(path.span()=> #path(self, target)?;));
    let min_blocks = options.min_blocks.as_ref().map(|value| {
        let value = kernel.scope(value);
        quote!(#entry.bounds.min_blocks = ::core::option::Option::Some(#value);)
    });
    let bind = match &options.bind {
        Some(path) => quote_spanned!(path.span()=> #path(self, tensors)),
        None => quote! {{
            let _ = tensors;
            ::core::result::Result::Err(::ptxsmith_builder::kernel::KernelError::Argument {
                name: ::std::string::String::from(#name),
                message: ::std::string::String::from("the kernel does not say how tensors bind: add `bind` to its attribute"),
            })
        }},
    };
    let reference = match &options.reference {
        Some(path) => quote_spanned!(path.span()=> #path(self, inputs)),
        None => quote!({
            let _ = inputs;
            ::core::option::Option::None
        }),
    };
    let values = kernel.baked().map(|param| {
        let (ident, field) = (&param.ident, param.ident.to_string());
        let Role::Baked { schedule, chosen } = &param.role else { return TokenStream::new() };
        let this = match chosen {
            Some(chosen) => {
                let chosen = kernel.scope(quote_spanned!(chosen.span()=> #chosen));
                quote!(::core::clone::Clone::clone(&self.#ident).or_else(|| ::core::option::Option::Some(#chosen)))
            }
            None => quote_spanned!(param.ty.span()=> self.#ident),
        };
        let (span, ty) = (param.ty.span(), &param.ty);
        let values = quote_spanned!(span=> <#ty as ::ptxsmith_builder::lang::stage::BakedParam>::values(&#this, #field));
        if *schedule || field == "schedule" {
            quote!(::ptxsmith_builder::lang::stage::schedule_values(#values))
        } else {
            values
        }
    });
    quote! {
        impl ::ptxsmith_builder::kernel::AnyKernel for #ty {
            fn name(&self) -> &'static str {
                #name
            }

            #[allow(unused_variables, reason = "only a chosen schedule depends on the target")]
            fn fields(&self, target: ::ptxsmith_builder::target::Target) -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldValue> {
                let mut #fields = ::std::vec::Vec::new();
                #(#fields.extend(#values);)*
                #fields
            }

            #[allow(
                unused_variables, unused_mut, clippy::vec_init_then_push, clippy::clone_on_copy, clippy::redundant_clone,
                clippy::useless_conversion,
                reason = "every expression of an attribute sees the same names"
            )]
            fn operation(
                &self,
                target: ::ptxsmith_builder::target::Target,
            ) -> ::core::result::Result<::ptxsmith_builder::kernel::Operation, ::ptxsmith_builder::kernel::KernelError> {
                #validate
                let #launch: ::ptxsmith_builder::kernel::Geometry = #geometry;
                let mut #arg_list = ::std::vec::Vec::new();
                #(#args)*
                let mut #entry = ::ptxsmith_builder::builder::build_entry(#name, target, || {
                    #(#inputs)*
                    body(#(#idents),*);
                })?;
                #min_blocks
                ::ptxsmith_builder::kernel::Operation::new(
                    #name,
                    target,
                    #arg_list,
                    ::std::vec![#(#sizes),*],
                    ::std::vec![::ptxsmith_builder::kernel::BuiltEntry { entry: #entry, geometry: #launch }],
                )
            }

            fn bind(
                &self,
                tensors: &[::ptxsmith_builder::kernel::TensorShape],
            ) -> ::core::result::Result<::ptxsmith_builder::kernel::Binding, ::ptxsmith_builder::kernel::KernelError> {
                #bind
            }

            fn reference(
                &self,
                inputs: &::ptxsmith_builder::kernel::ReferenceInputs,
            ) -> ::core::option::Option<::std::vec::Vec<(&'static str, ::std::vec::Vec<f64>)>> {
                #reference
            }
        }
    }
}

fn typed_kernel(kernel: &Kernel) -> TokenStream {
    let ty = &kernel.ty;
    let (args, shape) = (format_ident!("{}Args", ty), format_ident!("{}Shape", ty));
    let names: Vec<&Ident> = kernel.baked().map(|param| &param.ident).collect();
    let infos = kernel.baked().map(|param| {
        let (ty, field, doc) = (&param.ty, param.ident.to_string(), &param.doc);
        let span = ty.span();
        let infos =
            quote_spanned!(span=> <#ty as ::ptxsmith_builder::lang::stage::BakedParam>::infos(#field, #doc));
        match &param.role {
            Role::Baked { schedule, .. } if *schedule || field == "schedule" => {
                quote!(::ptxsmith_builder::lang::stage::schedule_infos(#infos))
            }
            _ => infos,
        }
    });
    let takes = kernel.baked().map(|param| {
        let (ident, ty, field) = (&param.ident, &param.ty, param.ident.to_string());
        let span = ty.span();
        quote_spanned!(span=> let #ident = <#ty as ::ptxsmith_builder::lang::stage::BakedParam>::take(#field, fields)?;)
    });
    quote! {
        impl ::ptxsmith_builder::kernel::Kernel for #ty {
            type Shape = #shape;
            type Args<B> = #args<B>;

            fn field_infos() -> ::std::vec::Vec<::ptxsmith_builder::kernel::FieldInfo> {
                let mut infos = ::std::vec::Vec::new();
                #(infos.extend(#infos);)*
                infos
            }

            #[allow(unused_variables, reason = "a kernel may have no baked parameters")]
            fn from_fields(
                fields: &mut ::ptxsmith_builder::kernel::Fields,
            ) -> ::core::result::Result<Self, ::ptxsmith_builder::kernel::KernelError> {
                #(#takes)*
                ::core::result::Result::Ok(#ty { #(#names),* })
            }
        }
    }
}
