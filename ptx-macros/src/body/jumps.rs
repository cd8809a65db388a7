//! `break`, `continue` and `return`.
//!
//! A jump asks the constructs between itself and its target, innermost first, whether one is open: whether code that it skips
//! here may run elsewhere. If so, the jump is emitted and the staging leaves that construct only; if not, the jump
//! is a native one.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, Lifetime};

use super::literals::expect;
use super::{Body, Frame, FrameKind, Returns};
use crate::names::stage;

/// Leaves the staging of an open construct behind an emitted jump.
fn leave(frame: &Frame, span: Span) -> TokenStream {
    let Frame { state, label, .. } = frame;
    match frame.kind {
        FrameKind::Arms => quote_spanned!(span=> continue #label;),
        FrameKind::Block => quote_spanned!(span=> break #label;),
        FrameKind::Loop | FrameKind::ValueLoop => {
            quote_spanned!(span=> if #state.leave() { continue #label; } else { break #label; })
        }
        FrameKind::Closure => TokenStream::new(),
    }
}

impl Body<'_> {
    /// The index of the construct that a jump refers to; `Err` has been reported.
    fn jump_target(
        &self,
        keyword: &str,
        span: Span,
        label: Option<&Lifetime>,
        loops_only: bool,
    ) -> Result<usize, ()> {
        for (i, frame) in self.frames.iter().enumerate().rev() {
            match frame.kind {
                FrameKind::Closure => break,
                FrameKind::Arms => continue,
                FrameKind::Block if loops_only || label.is_none() => continue,
                FrameKind::Loop | FrameKind::ValueLoop | FrameKind::Block => {}
            }
            if label.is_none_or(|label| frame.user.as_ref().is_some_and(|user| user.ident == label.ident)) {
                return Ok(i);
            }
        }
        let message = match label {
            Some(label) => format!("no loop or block around this `{keyword}` has the label `{label}`"),
            None => format!("`{keyword}` outside of a loop"),
        };
        self.errors.push(syn::Error::new(label.map_or(span, Lifetime::span), message));
        Err(())
    }

    /// The checks of the constructs from the innermost to the one behind `outermost`, each of which emits `jump` and leaves.
    fn checks(&self, outermost: usize, jump: &TokenStream, span: Span) -> TokenStream {
        let mut tokens = TokenStream::new();
        for frame in self.frames[outermost..].iter().rev() {
            if frame.kind == FrameKind::Closure {
                break;
            }
            let (state, leave) = (&frame.state, leave(frame, span));
            tokens.extend(quote_spanned!(span=> if #state.open() { #jump #leave }));
        }
        tokens
    }

    pub(super) fn break_expr(&mut self, jump: syn::ExprBreak) -> Expr {
        let span = jump.break_token.span;
        let value = jump.expr.map(|value| self.staged(*value));
        let Ok(target) = self.jump_target("break", span, jump.label.as_ref(), false) else {
            return Expr::Verbatim(quote!(::core::unreachable!()));
        };
        let mut set = TokenStream::new();
        if let Some(value) = value {
            if self.frames[target].kind == FrameKind::ValueLoop {
                let exit = match self.frames[target].value.clone() {
                    Some(exit) => exit,
                    None => self.local("exit", span),
                };
                self.frames[target].value = Some(exit.clone());
                set = quote_spanned!(span=> #exit.set(#value););
            } else {
                let message = "`break` with a value belongs to a `loop`: assign a `let mut` variable instead";
                self.errors.at(&value, message);
            }
        }
        let Frame { state, label, kind, .. } = &self.frames[target];
        let emit = quote_spanned!(span=> #state.jump_break(););
        let checks = self.checks(target + 1, &emit, span);
        let last = match kind {
            FrameKind::Block => quote_spanned!(span=> break #label;),
            _ => quote_spanned!(span=> if #state.break_here() { continue #label; } else { break #label; }),
        };
        Expr::Verbatim(quote_spanned!(span=> { #set #checks #last }))
    }

    pub(super) fn continue_expr(&mut self, jump: syn::ExprContinue) -> Expr {
        let span = jump.continue_token.span;
        let Ok(target) = self.jump_target("continue", span, jump.label.as_ref(), true) else {
            return Expr::Verbatim(quote!(::core::unreachable!()));
        };
        let Frame { state, label, .. } = &self.frames[target];
        let emit = quote_spanned!(span=> #state.jump_continue(););
        let checks = self.checks(target + 1, &emit, span);
        Expr::Verbatim(quote_spanned!(span=> { #checks continue #label; }))
    }

    pub(super) fn return_expr(&mut self, jump: syn::ExprReturn) -> Expr {
        let span = jump.return_token.span;
        if self.frames.iter().any(|frame| frame.kind == FrameKind::Closure) {
            return self.refuse(
                jump.return_token,
                "`return` in a closure cannot be staged: make the last expression its value, or write a `#[device]` function",
            );
        }
        let value = jump.expr.map(|mut value| {
            if let Some(ty) = self.result.clone() {
                expect(&mut value, &ty);
            }
            self.staged(*value)
        });
        let nested = !self.frames.is_empty();
        self.early_return |= nested;
        match &self.returns {
            Returns::Kernel => {
                if let Some(value) = value {
                    self.errors
                        .at(&value, "a kernel returns nothing: store the value to a `GlobalMut` parameter");
                }
                let ret = stage(span, "ret");
                let checks = self.checks(0, &quote_spanned!(span=> #ret();), span);
                Expr::Verbatim(quote_spanned!(span=> { #checks return; }))
            }
            Returns::Device { staged, state } => {
                let value = value.map_or_else(|| quote_spanned!(span=> ()), |value| quote!(#value));
                if staged.is_none() && nested {
                    // A host result: the return is native, and an open branch would lose the other lanes.
                    let error = stage(span, "host_return");
                    let checks = self.checks(0, &quote_spanned!(span=> #error();), span);
                    return Expr::Verbatim(quote_spanned!(span=> { #checks return #value; }));
                }
                let kept = self.local_name("returned", span);
                let checks = self.checks(0, &quote_spanned!(span=> #state.jump(#kept);), span);
                Expr::Verbatim(
                    quote_spanned!(span=> { let #kept = #value; #checks return #state.finish(#kept); }),
                )
            }
        }
    }

    fn local_name(&self, name: &str, span: Span) -> syn::Ident {
        crate::names::local(name, 0, span)
    }

    /// Behind a construct that control never leaves: ends the staging of what is around it.
    pub(super) fn leave_unreachable(&mut self, span: Span) -> TokenStream {
        let checks = self.checks(0, &TokenStream::new(), span);
        let in_closure = self.frames.iter().any(|frame| frame.kind == FrameKind::Closure);
        let last = match &self.returns {
            _ if in_closure => quote_spanned!(span=> ::core::unreachable!();),
            Returns::Kernel => quote_spanned!(span=> return;),
            Returns::Device { staged: Some(_), state } => {
                self.early_return = true;
                quote_spanned!(span=> return #state.unreachable();)
            }
            Returns::Device { staged: None, .. } => quote_spanned!(span=> ::core::unreachable!();),
        };
        quote_spanned!(span=> #checks #last)
    }
}
