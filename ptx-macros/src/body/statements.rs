//! Blocks and `let`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Expr, Ident, Local, Pat, Stmt};

use super::literals::{default_types, expect, only_literals};
use super::patterns::{names, take_mut};
use super::places::subject;
use super::{Body, Kind, inner};
use crate::names::{register_name, stage};
use crate::types::{ComputeTypes, is_number, is_primitive};

/// Whether an expression adds no instruction, so that nothing of it needs a name.
fn silent(expr: &Expr) -> bool {
    match inner(expr) {
        Expr::Lit(_) | Expr::Path(_) | Expr::Closure(_) => true,
        Expr::Unary(unary) => silent(&unary.expr),
        Expr::Field(field) => silent(&field.base),
        _ => false,
    }
}

/// Takes the marker attribute `#[host]`.
pub(crate) fn take_host(attrs: &mut Vec<syn::Attribute>) -> bool {
    let before = attrs.len();
    attrs.retain(|attr| !attr.path().is_ident("host"));
    attrs.len() != before
}

impl Body<'_> {
    /// A block in a scope of its own.
    pub(super) fn block(&mut self, block: &mut syn::Block) {
        self.scoped(|body| body.statements(block));
    }

    /// The statements of a block, in the present scope.
    pub(crate) fn statements(&mut self, block: &mut syn::Block) {
        let stmts = std::mem::take(&mut block.stmts);
        let before = self.errors.count();
        let mut sound = 0;
        for stmt in stmts {
            if self.errors.count() == before {
                sound = block.stmts.len();
            }
            match stmt {
                Stmt::Local(local) => {
                    let tokens = self.local_stmt(local);
                    block.stmts.push(Stmt::Expr(Expr::Verbatim(tokens), None));
                }
                Stmt::Expr(expr, semi) => {
                    let subject = subject(&expr).map(register_name);
                    let span = expr.span();
                    let expr = self.staged(expr);
                    let stmt = Stmt::Expr(expr, semi);
                    match (subject, semi) {
                        (Some(name), Some(_)) => {
                            let (mark, name_since) = (stage(span, "mark"), stage(span, "name_since"));
                            let since = self.local("mark", span);
                            let tokens = quote_spanned!(span=>
                                let #since = #mark();
                                #stmt
                                #name_since(#since, #name);
                            );
                            block.stmts.push(Stmt::Expr(Expr::Verbatim(tokens), None));
                        }
                        _ => block.stmts.push(stmt),
                    }
                }
                item @ (Stmt::Item(_) | Stmt::Macro(_)) => block.stmts.push(item),
            }
        }
        if self.errors.count() > before {
            block.stmts.truncate(sound);
        }
    }

    fn local_stmt(&mut self, mut local: Local) -> TokenStream {
        let host = take_host(&mut local.attrs);
        let span = local.let_token.span;
        let Some(init) = local.init.take() else {
            if host {
                self.bind_host(&local.pat);
                return quote!(#local);
            }
            self.errors.at(
                &local.pat,
                "a `let` without a value cannot be staged: write `let mut` with a first value, or use the value of an `if`",
            );
            self.bind_pattern(&local.pat);
            return TokenStream::new();
        };
        if host || init.diverge.is_some() {
            return self.native_let(local, init, host);
        }
        let mut value = *init.expr;
        let (mut pat, ty) = match local.pat {
            Pat::Type(typed) => (*typed.pat, Some(*typed.ty)),
            other => (other, None),
        };
        let quiet = silent(&value);
        let registers = take_mut(self, &mut pat);
        let whole_register =
            matches!(&pat, Pat::Ident(ident) if ident.subpat.is_none() && !registers.is_empty());
        match &ty {
            Some(ty) => expect(&mut value, ty),
            None if whole_register => default_types(&mut value),
            None if matches!(inner(&value), Expr::If(_) | Expr::Match(_)) && only_literals(&value) => {
                default_types(&mut value)
            }
            None => {}
        }
        let value = self.staged(value);
        let attrs = &local.attrs;
        let bound = names(&pat);
        let first = bound.first().map(register_name).unwrap_or_else(|| "t".to_owned());
        let staged = ty.as_ref().and_then(|ty| ComputeTypes::none().staged(ty));
        let declared = match (&ty, &staged) {
            (Some(ty), _) if whole_register && is_primitive(ty) => {
                let path = stage(value.span(), "register");
                let value = quote_spanned!(value.span()=> #path::<#ty>(#value, #first));
                quote_spanned!(span=> #(#attrs)* let #pat = #value;)
            }
            (Some(_), Some(staged)) if !registers.is_empty() => {
                let lift = stage(span, "lift");
                quote_spanned!(span=> #(#attrs)* let #pat: #staged = #lift::<#staged, _>(#value);)
            }
            (Some(ty), _) if is_number(ty) => {
                let typed = stage(value.span(), "typed");
                let value = quote_spanned!(value.span()=> #typed::<#ty, _, _>(#value));
                quote_spanned!(span=> #(#attrs)* let #pat = #value;)
            }
            (Some(ty), _) => quote_spanned!(span=> #(#attrs)* let #pat: #ty = #value;),
            (None, _) => quote_spanned!(span=> #(#attrs)* let #pat = #value;),
        };
        let converted = registers.iter().map(|name| {
            let (path, text) = (stage(name.span(), "into_var"), register_name(name));
            match (&ty, whole_register) {
                (Some(ty), true) if is_primitive(ty) => TokenStream::new(),
                _ => quote_spanned!(name.span()=> let #name = #path(#name, #text);),
            }
        });
        let mut tokens = quote!(#declared #(#converted)*);
        if !quiet {
            let named = bound.iter().filter(|name| !registers.contains(name)).map(|name| self.named(name));
            let (named, mark, name_since) =
                (quote!(#(#named)*), stage(span, "mark"), stage(span, "name_since"));
            let since = self.local("mark", span);
            tokens = quote_spanned!(span=> let #since = #mark(); #tokens #named #name_since(#since, #first););
        }
        self.bind_pattern(&pat);
        for name in &registers {
            self.bind(name, Kind::Register);
        }
        tokens
    }

    /// Gives a kernel value the name of its variable; does nothing for a host value.
    fn named(&self, name: &Ident) -> TokenStream {
        let (span, text) = (name.span(), register_name(name));
        let naming = stage(span, "Naming");
        quote_spanned!(span=> (&#naming(&#name)).name(#text);)
    }

    /// `#[host] let` and `let … else`: as Rust has them.
    fn native_let(&mut self, mut local: Local, mut init: syn::LocalInit, host: bool) -> TokenStream {
        self.visit_expr_mut(&mut init.expr);
        if let Some((_, diverge)) = &mut init.diverge {
            self.visit_expr_mut(diverge);
        }
        let registers = if host { Vec::new() } else { take_mut(self, &mut local.pat) };
        local.init = Some(init);
        self.bind_pattern(&local.pat);
        if host {
            self.bind_host(&local.pat);
        }
        let converted = self.registers_of(&registers);
        quote!(#local #converted)
    }

    fn bind_host(&mut self, pat: &Pat) {
        for name in names(pat) {
            self.bind(&name, Kind::HostMut);
        }
    }

    /// Turns names that a pattern bound with `mut` into registers, and binds them as such.
    pub(super) fn registers_of(&mut self, registers: &[Ident]) -> TokenStream {
        let mut tokens = TokenStream::new();
        for name in registers {
            let (path, text) = (stage(name.span(), "into_var"), register_name(name));
            tokens.extend(quote_spanned!(name.span()=> let #name = #path(#name, #text);));
            self.bind(name, Kind::Register);
        }
        tokens
    }
}
