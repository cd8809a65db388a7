//! Expansions as tokens: they parse, contain no `unsafe`, introduce hygienic names only, and collect every mistake.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// A kernel with every construct that the language stages.
fn everything() -> TokenStream {
    quote! {
        /// Documentation.
        pub fn everything(
            #[baked] spec: Spec,
            #[size(max = 7)] n: u32,
            #[when(spec.biased)] #[buffer(dtype = spec.x, len = n * 2, align = 16)] x: Option<Global>,
            #[buffer(dtype = spec.y, len = n, inout)] y: GlobalMut,
            #[stride(of = y)] step: i64,
            mut scale: f32,
        ) {
            let mut acc = [0.0; 4];
            let (a, mut b) = (1u32, n);
            'outer: for i in (0..n).step_by(2) {
                if i < b && scale > 0.0 || !done(i) { continue; } else if i == 3 { break 'outer; }
                while b != 0 { b -= 1; if b == 2 { return; } }
                let found = loop { if b > 7 { break b; } b += 1; };
                acc[1] += match found { 0 => 1.0, 1 | 2 => 2.0, 3..=9 if a > 1 => scale, other => other as f32 };
                (acc[0], acc[2]) = (acc[2], acc[0]);
                'block: { if i == 2 { break 'block; } y[i] = acc[0]; }
                if let Some(x) = x { y[i] += x[i]; }
            }
        }
    }
}

fn expanded(attr: TokenStream, item: TokenStream) -> TokenStream {
    crate::kernel::expand(attr, item)
}

fn idents(tokens: TokenStream, f: &mut impl FnMut(&proc_macro2::Ident)) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => f(&ident),
            TokenTree::Group(group) => idents(group.stream(), f),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[test]
fn the_expansion_parses_and_is_safe() {
    let tokens = expanded(quote!(block = 32, grid = n), everything());
    let file: syn::File = syn::parse2(tokens.clone()).expect("the expansion is Rust");
    assert!(file.items.len() >= 10, "a spec type, arguments, sizes and implementations");
    let mut names = Vec::new();
    idents(tokens, &mut |ident| names.push(ident.to_string()));
    assert!(!names.contains(&"unsafe".to_owned()));
    assert!(!names.contains(&"compile_error".to_owned()), "nothing is wrong with it");
    assert!(names.iter().any(|name| name.starts_with("__for")), "the loop has a state");
}

#[test]
fn every_mistake_is_in_the_bag() {
    let item = quote! {
        fn wrong(#[length] n: u32, #[buffer(dtype = Dtype::F32)] x: Global) -> f32 {
            let v;
            unsafe { v }
            n?;
        }
    };
    let tokens = expanded(quote!(blocks = 1), item).to_string();
    assert_eq!(tokens.matches("compile_error").count(), 8, "{tokens}");
}

#[test]
fn what_does_not_parse_is_one_mistake() {
    let tokens = expanded(
        TokenStream::new(),
        quote!(
            struct NotAFunction;
        ),
    )
    .to_string();
    assert_eq!(tokens.matches("compile_error").count(), 1, "{tokens}");
}

#[test]
fn a_device_function_keeps_its_shape() {
    let item = quote! {
        pub fn mixed<T: Float, const N: usize>(x: T, #[host] table: [T; N], count: &mut u32, pair: (f32, u32)) -> (T, u32) {
            if *count > 3 { return (x, 1); }
            (x, pair.1)
        }
    };
    let tokens = crate::device::expand(TokenStream::new(), item);
    let function: syn::ItemFn = syn::parse2(tokens).expect("one function");
    assert_eq!(function.sig.inputs.len(), 4);
    assert_eq!(function.sig.generics.params.len(), 2);
}
