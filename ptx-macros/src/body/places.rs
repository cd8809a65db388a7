//! Reads and assignments: registers, elements of arrays of registers, views, and host variables.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, Ident, UnOp};

use super::{Body, Kind, borrowed, inner};
use crate::names::stage;

/// What an assignment goes to.
enum Target {
    /// Registers, by reference.
    Registers(TokenStream),
    /// An element of a view or of anything else that is not a variable of this body.
    Element(Expr, Expr),
    /// A Rust place.
    Native(Expr),
}

/// The variable at the root of a place: `a` of `a[i].0`, `*a`.
fn root(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) if path.qself.is_none() => path.path.get_ident(),
        Expr::Field(field) => root(&field.base),
        Expr::Index(index) => root(&index.expr),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => root(&unary.expr),
        Expr::Paren(paren) => root(&paren.expr),
        Expr::Group(group) => root(&group.expr),
        _ => None,
    }
}

/// The variable that a statement is about: the receiver or target at its root.
pub(super) fn subject(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Assign(assign) => root(&assign.left),
        Expr::Binary(binary) if super::compound(&binary.op).is_some() => root(&binary.left),
        Expr::MethodCall(call) => root(&call.receiver).or_else(|| subject(&call.receiver)),
        _ => None,
    }
}

impl Body<'_> {
    fn root_kind(&self, expr: &Expr) -> Kind {
        root(expr).map_or(Kind::Plain, |name| self.kind(name))
    }

    /// A reference to registers: `&a`, `&a.0`, or an element of an array of them.
    fn registers(&mut self, expr: &Expr) -> TokenStream {
        let span = expr.span();
        match expr {
            Expr::Field(field) => {
                let (base, member) = (self.registers(&field.base), &field.member);
                quote_spanned!(span=> &(#base).#member)
            }
            Expr::Index(index) => {
                let base = self.registers(&index.expr);
                let position = self.staged((*index.index).clone());
                let at = stage(span, "at");
                quote_spanned!(span=> #at(#base, #position))
            }
            Expr::Paren(paren) => self.registers(&paren.expr),
            Expr::Group(group) => self.registers(&group.expr),
            Expr::Unary(unary) => self.registers(&unary.expr),
            other => quote_spanned!(span=> &#other),
        }
    }

    fn read(&mut self, expr: &Expr) -> Expr {
        let span = expr.span();
        let place = self.registers(expr);
        let read = stage(span, "read");
        Expr::Verbatim(quote_spanned!(span=> #read(#place)))
    }

    pub(super) fn path(&mut self, path: syn::ExprPath) -> Expr {
        let expr = Expr::Path(path);
        match self.root_kind(&expr) {
            Kind::Register => self.read(&expr),
            Kind::RegisterRef | Kind::HostMut | Kind::Plain => expr,
        }
    }

    pub(super) fn field(&mut self, mut field: syn::ExprField) -> Expr {
        let expr = Expr::Field(field.clone());
        if is_place(&expr) && self.root_kind(&expr) == Kind::Register {
            return self.read(&expr);
        }
        visit_mut::visit_expr_field_mut(self, &mut field);
        Expr::Field(field)
    }

    pub(super) fn index(&mut self, index: syn::ExprIndex) -> Expr {
        let expr = Expr::Index(index);
        if is_place(&expr) && self.root_kind(&expr) == Kind::Register {
            return self.read(&expr);
        }
        let Expr::Index(mut index) = expr else { return expr };
        if matches!(inner(&index.index), Expr::Range(_)) {
            // A slice of a host array; its bounds are host integers.
            self.visit_expr_mut(&mut index.expr);
            if let Expr::Range(range) = &mut *index.index {
                visit_mut::visit_expr_range_mut(self, range);
            }
            return Expr::Index(index);
        }
        let span = index.bracket_token.span.join();
        let container = self.staged(*index.expr);
        let position = self.staged(*index.index);
        let container = borrowed(&container);
        let path = stage(span, "index");
        let call = Expr::Verbatim(quote_spanned!(span=> #path(#container, #position)));
        Expr::Unary(syn::ExprUnary {
            attrs: Vec::new(),
            op: UnOp::Deref(syn::token::Star(span)),
            expr: Box::new(call),
        })
    }

    pub(super) fn reference(&mut self, mut reference: syn::ExprReference) -> Expr {
        if reference.mutability.is_some() && is_place(&reference.expr) {
            match self.root_kind(&reference.expr) {
                // The registers themselves, for a `#[device]` function that assigns them.
                Kind::Register => {
                    let place = self.registers(&reference.expr);
                    return Expr::Verbatim(quote!(*#place));
                }
                Kind::RegisterRef => return *reference.expr,
                Kind::HostMut | Kind::Plain => {}
            }
        }
        visit_mut::visit_expr_reference_mut(self, &mut reference);
        Expr::Reference(reference)
    }

    pub(super) fn unary(&mut self, mut unary: syn::ExprUnary) -> Expr {
        if matches!(unary.op, UnOp::Deref(_))
            && is_place(&unary.expr)
            && self.root_kind(&unary.expr) == Kind::RegisterRef
        {
            let place = unary.expr.clone();
            return self.read(&place);
        }
        visit_mut::visit_expr_unary_mut(self, &mut unary);
        Expr::Unary(unary)
    }

    fn target(&mut self, place: Expr) -> Target {
        match self.root_kind(&place) {
            Kind::Register => Target::Registers(self.registers(&place)),
            Kind::RegisterRef if matches!(inner(&place), Expr::Unary(_)) => {
                Target::Registers(self.registers(&place))
            }
            Kind::HostMut => Target::Native(self.host_place(place)),
            Kind::RegisterRef | Kind::Plain => match place {
                Expr::Index(index) => {
                    let container = self.staged(*index.expr);
                    let position = self.staged(*index.index);
                    Target::Element(container, position)
                }
                mut other => {
                    visit_mut::visit_expr_mut(self, &mut other);
                    Target::Native(other)
                }
            },
        }
    }

    /// A place in a host variable: an index may be any integer of the host.
    fn host_place(&mut self, place: Expr) -> Expr {
        let span = place.span();
        match place {
            Expr::Index(index) => {
                let container = self.host_place(*index.expr);
                let position = self.staged(*index.index);
                let at = stage(span, "at_mut");
                let call = Expr::Verbatim(quote_spanned!(span=> #at(&mut #container, #position)));
                Expr::Unary(syn::ExprUnary {
                    attrs: Vec::new(),
                    op: UnOp::Deref(syn::token::Star(span)),
                    expr: Box::new(call),
                })
            }
            Expr::Field(field) => {
                let base = Box::new(self.host_place(*field.base));
                Expr::Field(syn::ExprField { base, ..field })
            }
            other => other,
        }
    }

    pub(super) fn assign(&mut self, assign: syn::ExprAssign) -> Expr {
        let span = assign.eq_token.span();
        let elements = match inner(&assign.left) {
            Expr::Tuple(tuple) => Some(tuple.elems.iter().cloned().collect::<Vec<_>>()),
            Expr::Array(array) => Some(array.elems.iter().cloned().collect()),
            Expr::Infer(_) => {
                let mut assign = assign;
                self.visit_expr_mut(&mut assign.right);
                return Expr::Assign(assign);
            }
            _ => None,
        };
        if let Some(elements) = elements {
            return self.destructure(&assign, elements);
        }
        let value = self.staged(*assign.right);
        match self.target(*assign.left) {
            Target::Registers(place) => {
                let path = stage(span, "assign");
                Expr::Verbatim(quote_spanned!(span=> #path(#place, #value)))
            }
            Target::Element(container, position) => {
                let path = stage(span, "store");
                let container = borrowed(&container);
                Expr::Verbatim(quote_spanned!(span=> #path(#container, #position, #value)))
            }
            Target::Native(place) => Expr::Assign(syn::ExprAssign {
                attrs: assign.attrs,
                left: Box::new(place),
                eq_token: assign.eq_token,
                right: Box::new(value),
            }),
        }
    }

    /// `(a, b) = value`: the values first, then the assignments in order.
    fn destructure(&mut self, assign: &syn::ExprAssign, elements: Vec<Expr>) -> Expr {
        let span = assign.eq_token.span();
        let value = self.staged((*assign.right).clone());
        let names: Vec<Ident> = elements.iter().map(|_| self.local("part", span)).collect();
        let assignments: Vec<Expr> = elements
            .into_iter()
            .zip(&names)
            .map(|(left, name)| {
                self.assign(syn::ExprAssign {
                    attrs: Vec::new(),
                    left: Box::new(left),
                    eq_token: assign.eq_token,
                    right: Box::new(Expr::Verbatim(quote!(#name))),
                })
            })
            .collect();
        let pattern = match inner(&assign.left) {
            Expr::Array(_) => quote_spanned!(span=> [#(#names),*]),
            _ => quote_spanned!(span=> (#(#names,)*)),
        };
        Expr::Verbatim(quote_spanned!(span=> { let #pattern = #value; #(#assignments;)* }))
    }

    /// `place op= value`. The parentheses around the variable of the expansion have the author's span, so that the place of
    /// the operator does too.
    pub(super) fn compound(&mut self, left: Expr, op: TokenStream, whole: BinOp, right: Expr) -> Expr {
        let span = whole.span();
        let value = self.staged(right);
        match self.target(left) {
            Target::Registers(place) => {
                let (assign, read) = (stage(span, "assign"), stage(span, "read"));
                let right = self.local("right", span);
                Expr::Verbatim(
                    quote_spanned!(span=> match #value { #right => #assign(#place, #read(#place) #op (#right)) }),
                )
            }
            Target::Element(container, position) => {
                let (store, index) = (stage(span, "store"), stage(span, "index"));
                let (at, right) = (self.local("at", span), self.local("right", span));
                let container = borrowed(&container);
                Expr::Verbatim(quote_spanned!(span=> match (#value, #position) {
                    (#right, #at) => #store(#container, #at, *#index(#container, #at) #op (#right))
                }))
            }
            Target::Native(place) => Expr::Binary(syn::ExprBinary {
                attrs: Vec::new(),
                left: Box::new(place),
                op: whole,
                right: Box::new(value),
            }),
        }
    }
}

/// Whether an expression names a place: a variable, a field, an element, or what a reference points to.
fn is_place(expr: &Expr) -> bool {
    root(expr).is_some()
}
