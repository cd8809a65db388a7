//! The body of a kernel: Rust in, staged Rust out.
//!
//! [`Body`] walks the syntax tree once and replaces what the language stages: reads and assignments of `let mut` variables,
//! comparisons, `&&` and `||`, `as`, indexing, ranges and control flow. Everything else, native operators included, stays as
//! it is. It keeps two stacks: scopes (which names are registers) and frames (which constructs a jump would leave).

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, Ident, Lifetime, Lit, Type};

use crate::errors::Errors;
use crate::names::{label, local, stage};

mod control;
mod jumps;
mod literals;
mod matches;
mod patterns;
mod places;
mod statements;

pub(crate) use control::{block_diverges, block_value_span};
pub(crate) use literals::expect_block as expect_type;
pub(crate) use statements::take_host;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `let mut`: registers, read by copying.
    Register,
    /// `&mut` parameter of a `#[device]` function: registers of the caller, behind `*`.
    RegisterRef,
    /// `#[host] let mut`: a Rust variable.
    HostMut,
    /// Anything else.
    Plain,
}

/// A construct that a jump may leave.
struct Frame {
    kind: FrameKind,
    /// The state that the expansion keeps.
    state: Ident,
    /// The native loop or block of the expansion.
    label: Lifetime,
    /// The author's label.
    user: Option<Lifetime>,
    /// The register of `break value`, once there is one.
    value: Option<Ident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameKind {
    /// Arms of an `if`.
    Arms,
    /// `for` and `while`.
    Loop,
    /// `loop`, which may have a value.
    ValueLoop,
    /// A labeled block.
    Block,
    /// A closure: no jump leaves it.
    Closure,
}

/// What `return` is.
#[expect(clippy::large_enum_variant, reason = "there is one for each body")]
pub(crate) enum Returns {
    /// The end of the thread.
    Kernel,
    /// The result of an inlined function, of this kernel type or of a host type.
    Device {
        /// Type of the kernel value, if the result is one.
        staged: Option<Type>,
        /// The state of early returns.
        state: Ident,
    },
}

/// The walk over one body.
pub(crate) struct Body<'e> {
    errors: &'e Errors,
    scopes: Vec<HashMap<String, Kind>>,
    frames: Vec<Frame>,
    returns: Returns,
    /// The type of the result, for literals behind `return`.
    result: Option<Type>,
    /// Whether a `return` stands under a construct, so that the result may have to be joined.
    early_return: bool,
    numbers: usize,
}

impl<'e> Body<'e> {
    pub(crate) fn new(errors: &'e Errors, returns: Returns) -> Body<'e> {
        Body {
            errors,
            scopes: vec![HashMap::new()],
            frames: Vec::new(),
            returns,
            result: None,
            early_return: false,
            numbers: 0,
        }
    }

    /// Says which type the result has.
    pub(crate) fn expect_result(&mut self, ty: Type) {
        self.result = Some(ty);
    }

    /// Whether early returns were found, so that the state of [`Returns::Device`] is used.
    pub(crate) fn has_early_return(&self) -> bool {
        self.early_return
    }

    /// Adds a name to the present scope.
    pub(crate) fn bind(&mut self, name: &Ident, kind: Kind) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), kind);
        }
    }

    fn kind(&self, name: &Ident) -> Kind {
        let name = name.to_string();
        self.scopes.iter().rev().find_map(|scope| scope.get(&name)).copied().unwrap_or(Kind::Plain)
    }

    fn scoped<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(HashMap::new());
        let result = f(self);
        self.scopes.pop();
        result
    }

    fn local(&mut self, name: &str, span: Span) -> Ident {
        self.numbers += 1;
        local(name, self.numbers, span)
    }

    fn frame(
        &mut self,
        kind: FrameKind,
        name: &str,
        span: Span,
        user: Option<Lifetime>,
    ) -> (Ident, Lifetime) {
        let state = self.local(name, span);
        let label = label(name, self.numbers, span);
        self.frames.push(Frame { kind, state: state.clone(), label: label.clone(), user, value: None });
        (state, label)
    }

    /// The expression, staged.
    pub(crate) fn staged(&mut self, mut expr: Expr) -> Expr {
        self.visit_expr_mut(&mut expr);
        expr
    }

    fn refuse(&self, tokens: impl quote::ToTokens, message: &str) -> Expr {
        self.errors.at(tokens, message);
        Expr::Verbatim(quote!(::core::unreachable!()))
    }

    fn binary(&mut self, expr: syn::ExprBinary) -> Expr {
        let span = expr.op.span();
        let (name, by_ref) = match expr.op {
            BinOp::Lt(_) => ("lt", true),
            BinOp::Le(_) => ("le", true),
            BinOp::Gt(_) => ("gt", true),
            BinOp::Ge(_) => ("ge", true),
            BinOp::Eq(_) => ("eq", true),
            BinOp::Ne(_) => ("ne", true),
            BinOp::And(_) => return self.logic(*expr.left, *expr.right, span, true),
            BinOp::Or(_) => return self.logic(*expr.left, *expr.right, span, false),
            _ => ("", false),
        };
        if !by_ref {
            if let Some(op) = compound(&expr.op) {
                return self.compound(*expr.left, op, expr.op, *expr.right);
            }
            let mut expr = expr;
            visit_mut::visit_expr_binary_mut(self, &mut expr);
            return Expr::Binary(expr);
        }
        let left = self.staged(*expr.left);
        let right = self.staged(*expr.right);
        let path = stage(span, name);
        let (left, right) = (borrowed(&left), borrowed(&right));
        Expr::Verbatim(quote_spanned!(span=> #path(#left, #right)))
    }

    fn logic(&mut self, left: Expr, right: Expr, span: Span, and: bool) -> Expr {
        let left = self.condition(left);
        let (state, label) = self.frame(FrameKind::Arms, "logic", span, None);
        let right = self.condition(right);
        self.frames.pop();
        let (path, out) = (stage(span, "Logic"), self.local("out", span));
        Expr::Verbatim(quote_spanned!(span=> {
            let mut #state = #path::new(#left, #and);
            #label: loop {
                match #state.result() {
                    ::core::option::Option::Some(#out) => break #label #out,
                    ::core::option::Option::None => {
                        if let ::core::option::Option::Some(#out) = #state.right(#right) {
                            break #label #out;
                        }
                    }
                }
            }
        }))
    }

    fn cast(&mut self, expr: syn::ExprCast) -> Expr {
        let span = expr.as_token.span();
        let castable = matches!(&*expr.ty, Type::Path(_) | Type::Infer(_));
        let literal = matches!(&*expr.expr, Expr::Lit(lit) if unsuffixed(&lit.lit));
        let ty = expr.ty.clone();
        let value = self.staged(*expr.expr);
        if literal || !castable {
            return Expr::Cast(syn::ExprCast { expr: Box::new(value), ..expr });
        }
        let path = stage(span, "cast");
        Expr::Verbatim(quote_spanned!(span=> #path::<_, #ty, _>(#value)))
    }

    fn range(&mut self, expr: syn::ExprRange) -> Expr {
        let (Some(start), Some(end)) = (&expr.start, &expr.end) else {
            let mut expr = expr;
            visit_mut::visit_expr_range_mut(self, &mut expr);
            return Expr::Range(expr);
        };
        let both_literal =
            [start, end].iter().all(|bound| matches!(&***bound, Expr::Lit(lit) if unsuffixed(&lit.lit)));
        if both_literal {
            return Expr::Range(expr);
        }
        let (span, name) = match &expr.limits {
            syn::RangeLimits::HalfOpen(token) => (token.span(), "range"),
            syn::RangeLimits::Closed(token) => (token.span(), "range_inclusive"),
        };
        let (start, end) = (self.staged((**start).clone()), self.staged((**end).clone()));
        let path = stage(span, name);
        Expr::Verbatim(quote_spanned!(span=> #path(#start, #end)))
    }

    fn method_call(&mut self, mut call: syn::ExprMethodCall) -> Expr {
        let is_range = matches!(inner(&call.receiver), Expr::Range(_));
        if is_range && call.method == "step_by" && call.args.len() == 1 {
            let span = call.method.span();
            let range = match inner(&call.receiver).clone() {
                Expr::Range(range) => self.range(range),
                other => other,
            };
            let step = call.args[0].clone();
            let step = self.staged(step);
            let path = stage(span, "step_by");
            return Expr::Verbatim(quote_spanned!(span=> #path(#range, #step)));
        }
        visit_mut::visit_expr_method_call_mut(self, &mut call);
        Expr::MethodCall(call)
    }

    /// An array of kernel values and literals: the literals become kernel values too.
    fn array(&mut self, mut array: syn::ExprArray) -> Expr {
        let literal = |expr: &Expr| matches!(inner(expr), Expr::Lit(_));
        let first = array.elems.iter().position(|elem| !literal(elem));
        let constants: Vec<bool> = array.elems.iter().map(literal).collect();
        visit_mut::visit_expr_array_mut(self, &mut array);
        let Some(first) = first.filter(|_| constants.contains(&true)) else { return Expr::Array(array) };
        let span = array.bracket_token.span.join();
        let names: Vec<Ident> = array.elems.iter().map(|elem| self.local("elem", elem.span())).collect();
        let (like, other) = (stage(span, "like"), &names[first]);
        let elems = names.iter().zip(constants).map(|(name, constant)| {
            if constant { quote_spanned!(name.span()=> #like(&#other, #name)) } else { quote!(#name) }
        });
        let values = &array.elems;
        Expr::Verbatim(quote_spanned!(span=> match (#values,) { (#(#names,)*) => [#(#elems),*] }))
    }

    fn closure(&mut self, mut closure: syn::ExprClosure) -> Expr {
        let span = closure.inputs_begin.span();
        self.frames.push(Frame {
            kind: FrameKind::Closure,
            state: local("closure", 0, span),
            label: label("closure", 0, span),
            user: None,
            value: None,
        });
        self.scoped(|body| {
            for input in &closure.inputs {
                body.bind_pattern(input);
            }
            body.visit_expr_mut(&mut closure.body);
        });
        self.frames.pop();
        Expr::Closure(closure)
    }
}

impl VisitMut for Body<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let taken = std::mem::replace(expr, Expr::Verbatim(TokenStream::new()));
        *expr = match taken {
            Expr::Path(path) => self.path(path),
            Expr::Field(field) => self.field(field),
            Expr::Index(index) => self.index(index),
            Expr::Reference(reference) => self.reference(reference),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => self.cast(cast),
            Expr::Range(range) => self.range(range),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Closure(closure) => self.closure(closure),
            Expr::Array(array) => self.array(array),
            Expr::If(expr) => self.if_expr(expr),
            Expr::Match(expr) => self.match_expr(expr),
            Expr::ForLoop(expr) => self.for_loop(expr),
            Expr::While(expr) => self.while_loop(expr),
            Expr::Loop(expr) => self.loop_expr(expr),
            Expr::Block(block) => self.block_expr(block),
            Expr::Break(jump) => self.break_expr(jump),
            Expr::Continue(jump) => self.continue_expr(jump),
            Expr::Return(jump) => self.return_expr(jump),
            Expr::Unsafe(expr) => self.refuse(
                expr.unsafe_token,
                "`unsafe` has no meaning in a kernel: views are checked by the emulator and at the launch; \
                 use `inline_ptx` for an instruction that the library lacks",
            ),
            Expr::Async(expr) => {
                self.refuse(expr.async_token, "`async` cannot be staged: write the statements in order")
            }
            Expr::Await(expr) => self.refuse(
                expr.await_token,
                "`.await` cannot be staged: for asynchronous copies call `lang::async_copy` and wait on its barrier",
            ),
            Expr::Try(expr) => self.refuse(
                expr.question_token,
                "`?` cannot leave a kernel: check host values in the kernel's `validate` function",
            ),
            Expr::TryBlock(expr) => self.refuse(expr.try_token, "`try` blocks cannot be staged: use `if` and `match`"),
            Expr::Yield(expr) => self.refuse(expr.yield_token, "`yield` cannot be staged: use a loop"),
            Expr::RawAddr(expr) => self.refuse(
                expr.and_token,
                "registers have no address: pass a view, or a value",
            ),
            mut other => {
                visit_mut::visit_expr_mut(self, &mut other);
                other
            }
        };
    }

    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        if field.colon_token.is_none() {
            field.colon_token = Some(syn::token::Colon(field.member.span()));
        }
        self.visit_expr_mut(&mut field.expr);
    }

    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        // The length is a constant of rustc.
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_expr_const_mut(&mut self, _: &mut syn::ExprConst) {}

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.block(block);
    }

    fn visit_item_mut(&mut self, _: &mut syn::Item) {}

    fn visit_type_mut(&mut self, _: &mut Type) {}

    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
}

/// The expression inside of parentheses.
fn inner(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => inner(&paren.expr),
        Expr::Group(group) => inner(&group.expr),
        other => other,
    }
}

/// A number literal without a suffix: rustc infers its type.
fn unsuffixed(lit: &Lit) -> bool {
    match lit {
        Lit::Int(lit) => lit.suffix().is_empty(),
        Lit::Float(lit) => lit.suffix().is_empty(),
        _ => false,
    }
}

/// `&expr`, with parentheses where `&` would bind to a part of it.
fn borrowed(expr: &Expr) -> TokenStream {
    let span = expr.span();
    match expr {
        Expr::Path(_)
        | Expr::Lit(_)
        | Expr::Verbatim(_)
        | Expr::Call(_)
        | Expr::MethodCall(_)
        | Expr::Paren(_)
        | Expr::Field(_) => {
            quote_spanned!(span=> &#expr)
        }
        _ => quote_spanned!(span=> &(#expr)),
    }
}

/// The operator of a compound assignment.
fn compound(op: &BinOp) -> Option<TokenStream> {
    let span = op.span();
    Some(match op {
        BinOp::AddAssign(_) => quote_spanned!(span=> +),
        BinOp::SubAssign(_) => quote_spanned!(span=> -),
        BinOp::MulAssign(_) => quote_spanned!(span=> *),
        BinOp::DivAssign(_) => quote_spanned!(span=> /),
        BinOp::RemAssign(_) => quote_spanned!(span=> %),
        BinOp::BitXorAssign(_) => quote_spanned!(span=> ^),
        BinOp::BitAndAssign(_) => quote_spanned!(span=> &),
        BinOp::BitOrAssign(_) => quote_spanned!(span=> |),
        BinOp::ShlAssign(_) => quote_spanned!(span=> <<),
        BinOp::ShrAssign(_) => quote_spanned!(span=> >>),
        _ => return None,
    })
}
