//! `if`, `for`, `while`, `loop` and labeled blocks.
//!
//! Each becomes a short native loop around a state of the staging library, so that borrows and native jumps keep working. For a
//! kernel `if`:
//!
//! ```text
//! let mut state = If::new(condition, true);
//! 'label: loop {
//!     match state.next() {                               // emits the branch, then the labels between the arms
//!         Arm::Then => if let Some(value) = state.then({ … }) { break 'label value },
//!         Arm::Else => if let Some(value) = state.otherwise({ … }) { break 'label value },
//!         Arm::End(value) => break 'label value,
//!     }
//! }
//! ```

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, Lit, Pat, Stmt};

use super::patterns::take_mut;
use super::{Body, FrameKind, inner};
use crate::names::{register_name, stage};

/// Whether an expression never ends normally, as far as syntax tells.
pub(super) fn diverges(expr: &Expr) -> bool {
    match inner(expr) {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(call) => is_panic(&call.mac),
        Expr::Block(block) => block.label.is_none() && block_diverges(&block.block),
        Expr::If(expr) => {
            let otherwise = expr.else_branch.as_ref().is_some_and(|(_, other)| diverges(other));
            otherwise && block_diverges(&expr.then_branch)
        }
        _ => false,
    }
}

fn is_panic(mac: &syn::Macro) -> bool {
    ["panic", "unreachable", "todo", "unimplemented"].iter().any(|name| mac.path.is_ident(name))
}

pub(crate) fn block_diverges(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match stmt {
        Stmt::Expr(expr, _) => diverges(expr),
        Stmt::Macro(mac) => is_panic(&mac.mac),
        _ => false,
    })
}

/// Whether a condition has a `let` in it.
fn has_let(expr: &Expr) -> bool {
    match inner(expr) {
        Expr::Let(_) => true,
        Expr::Binary(binary) => {
            matches!(binary.op, syn::BinOp::And(_)) && (has_let(&binary.left) || has_let(&binary.right))
        }
        _ => false,
    }
}

/// Whether the value of a block is a literal, which may have to join a kernel value.
pub(super) fn ends_in_literal(expr: &Expr) -> bool {
    match inner(expr) {
        Expr::Lit(lit) => !matches!(lit.lit, Lit::Str(_)),
        Expr::Unary(unary) => matches!(unary.op, syn::UnOp::Neg(_)) && ends_in_literal(&unary.expr),
        Expr::Block(block) => match block.block.stmts.last() {
            Some(Stmt::Expr(expr, None)) => ends_in_literal(expr),
            _ => false,
        },
        _ => false,
    }
}

/// Where the value of an expression stands: behind the statements of a block.
pub(crate) fn value_span(expr: &Expr) -> Option<Span> {
    match inner(expr) {
        Expr::Block(block) => block_value_span(&block.block),
        Expr::If(expr) => match &expr.else_branch {
            Some((_, other)) => value_span(other),
            None => block_value_span(&expr.then_branch),
        },
        other => Some(other.span()),
    }
}

/// Where the value of a block stands, if it has one.
pub(crate) fn block_value_span(block: &Block) -> Option<Span> {
    match block.stmts.last() {
        Some(Stmt::Expr(expr, None)) => value_span(expr),
        _ => None,
    }
}

impl Body<'_> {
    /// A condition, staged.
    pub(super) fn condition(&mut self, condition: Expr) -> TokenStream {
        let span = condition.span();
        let condition = self.staged(condition);
        let path = stage(span, "condition");
        quote_spanned!(span=> #path(#condition))
    }

    pub(super) fn if_expr(&mut self, expr: syn::ExprIf) -> Expr {
        let otherwise = expr.else_branch.map(|(_, otherwise)| *otherwise);
        if has_let(&expr.cond) {
            return self.if_let(expr.if_token.span, *expr.cond, expr.then_branch, otherwise);
        }
        self.stage_if(expr.if_token.span, *expr.cond, expr.then_branch, otherwise)
    }

    pub(super) fn stage_if(
        &mut self,
        span: Span,
        condition: Expr,
        then: Block,
        otherwise: Option<Expr>,
    ) -> Expr {
        let condition = self.condition(condition);
        // Where rustc is to report arms that do not fit together.
        let joined_at = match (&otherwise, &then) {
            (Some(other), _) => value_span(other).unwrap_or(span),
            (None, then) => block_value_span(then).unwrap_or(span),
        };
        let then_diverges = block_diverges(&then);
        let else_diverges = otherwise.as_ref().is_some_and(diverges);
        let has_else = otherwise.is_some();
        let (state, label) = self.frame(FrameKind::Arms, "if", span, None);
        let mut then = then;
        self.visit_block_mut(&mut then);
        let otherwise = otherwise.map(|other| self.staged(other));
        self.frames.pop();

        let (path, arm) = (stage(joined_at, "If"), stage(span, "Arm"));
        let out = self.local("out", span);
        let arm_body = |value: TokenStream, method: TokenStream, diverges: bool| {
            if diverges {
                quote_spanned!(span=> #value)
            } else {
                quote_spanned!(span=> if let ::core::option::Option::Some(#out) = #state.#method(#value) { break #label #out; })
            }
        };
        let then = arm_body(quote!(#then), quote_spanned!(span=> then), then_diverges);
        let otherwise = match otherwise {
            Some(other @ Expr::Verbatim(_)) => {
                arm_body(quote!({ #other }), quote_spanned!(span=> otherwise), else_diverges)
            }
            Some(other) => arm_body(quote!(#other), quote_spanned!(span=> otherwise), else_diverges),
            None => arm_body(quote!(()), quote_spanned!(span=> otherwise), false),
        };
        let types = match (then_diverges, else_diverges) {
            (false, false) => TokenStream::new(),
            (true, true) => {
                let neither = stage(span, "neither");
                quote_spanned!(span=> #neither(&#state);)
            }
            _ => {
                let both = stage(span, "both");
                quote_spanned!(span=> #both(&#state);)
            }
        };
        let begin = quote_spanned!(joined_at=> let mut #state = #path::new(););
        let whole = quote_spanned!(span=> {
            #begin
            #types
            #state.decide(#condition, #has_else);
            #label: loop {
                match #state.next() {
                    #arm::Then => { #then }
                    #arm::Else => { #otherwise }
                    #arm::End(#out) => break #label #out,
                }
            }
        });
        if then_diverges && else_diverges {
            let leave = self.leave_unreachable(span);
            return Expr::Verbatim(quote!({ #whole; #leave }));
        }
        Expr::Verbatim(whole)
    }

    /// `if let`: a pattern matches host values, so the choice is native.
    fn if_let(&mut self, span: Span, condition: Expr, then: Block, otherwise: Option<Expr>) -> Expr {
        self.scoped(|body| {
            let (condition, registers) = body.let_chain(condition);
            let joins = otherwise.as_ref().is_some_and(|other| {
                let then_literal =
                    matches!(then.stmts.last(), Some(Stmt::Expr(expr, None)) if ends_in_literal(expr));
                (then_literal != ends_in_literal(other)) && !block_diverges(&then) && !diverges(other)
            });
            let mut then = then;
            let converted = body.registers_of(&registers);
            body.visit_block_mut(&mut then);
            let otherwise = otherwise.map(|other| body.staged(other));
            let then = if converted.is_empty() { quote!(#then) } else { quote!({ #converted #then }) };
            Expr::Verbatim(match otherwise {
                Some(other) if joins => {
                    let (state, matched) = (body.local("join", span), stage(span, "matched"));
                    quote_spanned!(span=> {
                        let #state = #matched();
                        if #condition { #state.then(#then) } else { #state.otherwise(#other) }
                    })
                }
                Some(other) => quote_spanned!(span=> if #condition #then else { #other }),
                None => quote_spanned!(span=> if #condition #then),
            })
        })
    }

    /// A condition with `let`: its `&&` stay native, its patterns bind from here on.
    fn let_chain(&mut self, condition: Expr) -> (Expr, Vec<syn::Ident>) {
        match condition {
            Expr::Binary(mut binary) if matches!(binary.op, syn::BinOp::And(_)) => {
                let (left, mut registers) = self.let_chain(*binary.left);
                let (right, more) = self.let_chain(*binary.right);
                registers.extend(more);
                (binary.left, binary.right) = (Box::new(left), Box::new(right));
                (Expr::Binary(binary), registers)
            }
            Expr::Let(mut binding) => {
                self.visit_expr_mut(&mut binding.expr);
                let registers = take_mut(self, &mut binding.pat);
                self.bind_pattern(&binding.pat);
                (Expr::Let(binding), registers)
            }
            other => (self.staged(other), Vec::new()),
        }
    }

    pub(super) fn for_loop(&mut self, expr: syn::ExprForLoop) -> Expr {
        let span = expr.for_token.span;
        let steps = self.staged(*expr.expr);
        let mut pat = *expr.pat;
        let registers = take_mut(self, &mut pat);
        let name = match &pat {
            Pat::Ident(ident) => register_name(&ident.ident),
            _ => "i".to_owned(),
        };
        let name = name.trim_start_matches('_').to_owned();
        let name = if name.is_empty() { "i".to_owned() } else { name };
        let (state, label) = self.frame(FrameKind::Loop, "for", span, expr.label.map(|label| label.name));
        let mut body = expr.body;
        let converted = self.scoped(|inner| {
            inner.bind_pattern(&pat);
            let converted = inner.registers_of(&registers);
            inner.visit_block_mut(&mut body);
            converted
        });
        self.frames.pop();
        let path = stage(span, "for_loop");
        let item = self.local("item", span);
        Expr::Verbatim(quote_spanned!(span=> {
            let mut #state = #path(#steps, #name);
            #label: while let ::core::option::Option::Some(#item) = #state.next() {
                let #pat = #item;
                #converted
                #body
            }
            #state.finish();
        }))
    }

    pub(super) fn while_loop(&mut self, expr: syn::ExprWhile) -> Expr {
        let span = expr.while_token.span;
        let user = expr.label.map(|label| label.name);
        if let Expr::Lit(lit) = inner(&expr.cond)
            && matches!(&lit.lit, Lit::Bool(value) if value.value)
        {
            return self.endless(span, user, expr.body, false);
        }
        let path = stage(span, "While");
        if has_let(&expr.cond) {
            return self.scoped(|body| {
                let (condition, registers) = body.let_chain(*expr.cond);
                let (state, label) = body.frame(FrameKind::Loop, "while", span, user);
                let mut block = expr.body;
                let converted = body.registers_of(&registers);
                body.visit_block_mut(&mut block);
                body.frames.pop();
                Expr::Verbatim(quote_spanned!(span=> {
                    let mut #state = #path::new();
                    #label: loop {
                        if !#state.head() {
                            break;
                        }
                        if #condition { #converted #block } else { break }
                    }
                    #state.finish();
                }))
            });
        }
        let condition = self.condition(*expr.cond);
        let (state, label) = self.frame(FrameKind::Loop, "while", span, user);
        let mut body = expr.body;
        self.visit_block_mut(&mut body);
        self.frames.pop();
        Expr::Verbatim(quote_spanned!(span=> {
            let mut #state = #path::new();
            #label: while #state.head() && #state.test(#condition) #body
            #state.finish();
        }))
    }

    pub(super) fn loop_expr(&mut self, expr: syn::ExprLoop) -> Expr {
        self.endless(expr.loop_token.span, expr.label.map(|label| label.name), expr.body, true)
    }

    /// A `loop`, with the value of its `break`s if it has one.
    fn endless(
        &mut self,
        span: Span,
        user: Option<syn::Lifetime>,
        mut body: Block,
        may_have_value: bool,
    ) -> Expr {
        let kind = if may_have_value { FrameKind::ValueLoop } else { FrameKind::Loop };
        let (state, label) = self.frame(kind, "loop", span, user);
        self.visit_block_mut(&mut body);
        let value = self.frames.pop().and_then(|frame| frame.value);
        let path = stage(span, "Loop");
        let (declared, result) = match &value {
            Some(value) => {
                let exit = stage(span, "Exit");
                (quote_spanned!(span=> let mut #value = #exit::new();), quote_spanned!(span=> #value.value()))
            }
            None => (TokenStream::new(), TokenStream::new()),
        };
        Expr::Verbatim(quote_spanned!(span=> {
            #declared
            let mut #state = #path::new();
            #label: while #state.head() #body
            #state.finish();
            #result
        }))
    }

    pub(super) fn block_expr(&mut self, mut expr: syn::ExprBlock) -> Expr {
        let Some(user) = expr.label.take() else {
            self.visit_block_mut(&mut expr.block);
            return Expr::Block(expr);
        };
        let span = user.name.span();
        let (state, label) = self.frame(FrameKind::Block, "block", span, Some(user.name));
        self.visit_block_mut(&mut expr.block);
        self.frames.pop();
        let (path, block) = (stage(span, "Block"), expr.block);
        Expr::Verbatim(quote_spanned!(span=> {
            let mut #state = #path::new();
            #label: #block
            #state.finish();
        }))
    }
}
