//! `match`: native over host values; a chain of comparisons where the patterns are numbers, ranges and `_`, so that it works on
//! host and kernel values alike.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, Ident, Lit, Pat, RangeLimits, Stmt};

use super::control::{diverges, ends_in_literal};
use super::patterns::take_mut;
use super::{Body, Kind};
use crate::names::stage;

/// The pattern and the guard of an arm.
fn split_guard(pat: Pat) -> (Pat, Option<Expr>) {
    match pat {
        Pat::Guard(guard) => (*guard.pat, Some(*guard.guard)),
        other => (other, None),
    }
}

/// Whether a pattern compares numbers or matches anything; `compares` tells whether it compares.
fn numeric(pat: &Pat, compares: &mut bool) -> bool {
    match pat {
        Pat::Lit(lit) => {
            let number = matches!(lit.lit, Lit::Int(_) | Lit::Float(_) | Lit::Bool(_));
            *compares |= number;
            number
        }
        Pat::Range(_) => {
            *compares = true;
            true
        }
        Pat::Wild(_) => true,
        Pat::Ident(ident) => ident.subpat.is_none() && ident.by_ref.is_none(),
        Pat::Path(_) => true,
        Pat::Verbatim(_) => false,
        Pat::Or(or) => or.cases.iter().all(|pat| numeric(pat, compares)),
        Pat::Paren(paren) => numeric(&paren.pat, compares),
        Pat::Guard(guard) => numeric(&guard.pat, compares),
        _ => false,
    }
}

/// Whether the pattern of an arm binds the whole value.
fn binding(pat: &Pat) -> Option<&Ident> {
    match pat {
        Pat::Ident(ident) if !ident.ident.to_string().starts_with(char::is_uppercase) => Some(&ident.ident),
        _ => None,
    }
}

/// The test of a pattern; `None` matches everything.
fn test(pat: &Pat, value: &Ident) -> Option<Expr> {
    let span = pat.span();
    let verbatim = |tokens: TokenStream| syn::parse2::<Expr>(tokens).ok();
    match pat {
        Pat::Wild(_) => None,
        Pat::Ident(_) if binding(pat).is_some() => None,
        Pat::Paren(paren) => test(&paren.pat, value),
        Pat::Or(or) => {
            let mut tests = Vec::new();
            for case in &or.cases {
                tests.push(test(case, value)?);
            }
            tests.into_iter().reduce(|a, b| {
                Expr::Binary(syn::ExprBinary {
                    attrs: Vec::new(),
                    left: Box::new(a),
                    op: syn::BinOp::Or(syn::token::OrOr { spans: [span; 2] }),
                    right: Box::new(b),
                })
            })
        }
        Pat::Range(range) => {
            let (start, end) = (range.start.as_ref(), range.end.as_ref());
            let upper = match range.limits {
                RangeLimits::HalfOpen(_) => quote_spanned!(span=> <),
                RangeLimits::Closed(_) => quote_spanned!(span=> <=),
            };
            match (start, end) {
                (Some(start), Some(end)) => {
                    verbatim(quote_spanned!(span=> #value >= #start && #value #upper #end))
                }
                (Some(start), None) => verbatim(quote_spanned!(span=> #value >= #start)),
                (None, Some(end)) => verbatim(quote_spanned!(span=> #value #upper #end)),
                (None, None) => None,
            }
        }
        other => verbatim(quote_spanned!(span=> #value == #other)),
    }
}

/// Whether the first two arms are `true` and `false`, which needs no `_`.
fn covers_bool(arms: &[(Pat, Option<Expr>, Expr)]) -> bool {
    let seen = |wanted: bool| {
        arms.iter().any(|(pat, guard, _)| {
            guard.is_none() && matches!(pat, Pat::Lit(lit) if matches!(&lit.lit, Lit::Bool(value) if value.value == wanted))
        })
    };
    seen(true) && seen(false)
}

impl Body<'_> {
    pub(super) fn match_expr(&mut self, expr: syn::ExprMatch) -> Expr {
        let mut compares = false;
        let numeric = expr.arms.iter().all(|arm| numeric(&arm.pat, &mut compares));
        if numeric && compares { self.match_numbers(expr) } else { self.match_native(expr) }
    }

    fn match_native(&mut self, mut expr: syn::ExprMatch) -> Expr {
        let span = expr.match_token.span;
        self.visit_expr_mut(&mut expr.expr);
        let values: Vec<bool> = expr.arms.iter().map(|arm| !diverges(&arm.body)).collect();
        let literals = expr.arms.iter().filter(|arm| ends_in_literal(&arm.body)).count();
        let joins = expr.arms.len() == 2 && literals == 1 && values.iter().all(|value| *value);
        let join = self.local("join", span);
        for (i, arm) in expr.arms.iter_mut().enumerate() {
            let registers = take_mut(self, &mut arm.pat);
            self.scoped(|body| {
                body.bind_pattern(&arm.pat);
                if let Pat::Guard(guard) = &mut arm.pat {
                    body.visit_expr_mut(&mut guard.guard);
                }
                let converted = body.registers_of(&registers);
                body.visit_expr_mut(&mut arm.body);
                let value = &arm.body;
                let method =
                    if i == 0 { quote_spanned!(span=> then) } else { quote_spanned!(span=> otherwise) };
                let value = if joins { quote!(#join.#method(#value)) } else { quote!(#value) };
                if joins || !converted.is_empty() {
                    *arm.body = Expr::Verbatim(quote!({ #converted #value }));
                    arm.comma = Some(syn::token::Comma(span));
                } else if matches!(*arm.body, Expr::Verbatim(_)) {
                    *arm.body = Expr::Verbatim(quote!({ #value }));
                    arm.comma = Some(syn::token::Comma(span));
                }
            });
        }
        if !joins {
            return Expr::Match(expr);
        }
        let matched = stage(span, "matched");
        Expr::Verbatim(quote_spanned!(span=> { let #join = #matched(); #expr }))
    }

    fn match_numbers(&mut self, expr: syn::ExprMatch) -> Expr {
        let span = expr.match_token.span;
        let scrutinee = self.staged(*expr.expr);
        let value = self.local("value", span);
        let mut arms: Vec<(Pat, Option<Expr>, Expr)> = expr
            .arms
            .into_iter()
            .map(|arm| {
                let (pat, guard) = split_guard(arm.pat);
                (pat, guard, *arm.body)
            })
            .collect();
        let bools = covers_bool(&arms);
        let total =
            |(pat, guard, _): &(Pat, Option<Expr>, Expr)| guard.is_none() && test(pat, &value).is_none();
        // Arms behind one that matches everything are never reached; rustc would only warn.
        if let Some(last) = arms.iter().position(total) {
            arms.truncate(last + 1);
        } else if !bools {
            self.errors.push(syn::Error::new(
                span,
                "a `match` on numbers needs a last arm `_`: rustc cannot see that the patterns of a kernel value are complete",
            ));
        }
        let mut chain: Option<Expr> = None;
        for (pat, guard, body) in arms.into_iter().rev() {
            let bound = binding(&pat).cloned();
            let mutable = matches!(&pat, Pat::Ident(ident) if ident.mutability.is_some());
            let with_binding = |expr: Expr| -> Block {
                let mut stmts = Vec::new();
                if let Some(name) = &bound {
                    let mutability = mutable.then(|| syn::token::Mut(name.span()));
                    if let Ok(stmt) =
                        syn::parse2::<Stmt>(quote_spanned!(name.span()=> let #mutability #name = #value;))
                    {
                        stmts.push(stmt);
                    }
                }
                stmts.push(Stmt::Expr(expr, None));
                Block { brace_token: Default::default(), stmts }
            };
            let guard = guard.map(|guard| match bound {
                Some(_) => block_expr(with_binding(guard)),
                None => guard,
            });
            let condition = match (test(&pat, &value), guard) {
                (Some(test), Some(guard)) => Some(conjunction(test, guard, span)),
                (Some(test), None) => Some(test),
                (None, guard) => guard,
            };
            let block = with_binding(body);
            chain = Some(match (condition, chain) {
                (None, _) => block_expr(block),
                // Of `true` and `false` the last is what is left.
                (Some(_), None) if bools => block_expr(block),
                (Some(condition), rest) => Expr::If(syn::ExprIf {
                    attrs: Vec::new(),
                    if_token: syn::token::If(pat.span()),
                    cond: Box::new(condition),
                    then_branch: block,
                    else_branch: rest.map(|rest| (syn::token::Else(pat.span()), Box::new(rest))),
                }),
            });
        }
        self.scoped(|body| {
            body.bind(&value, Kind::Plain);
            let chain = chain.map(|chain| body.staged(chain));
            Expr::Verbatim(quote_spanned!(span=> match #scrutinee { #value => { #chain } }))
        })
    }
}

fn block_expr(block: Block) -> Expr {
    Expr::Block(syn::ExprBlock { attrs: Vec::new(), label: None, block })
}

fn conjunction(left: Expr, right: Expr, span: Span) -> Expr {
    Expr::Binary(syn::ExprBinary {
        attrs: Vec::new(),
        left: Box::new(left),
        op: syn::BinOp::And(syn::token::AndAnd { spans: [span; 2] }),
        right: Box::new(right),
    })
}
