//! Types of number literals where rustc could not infer them: a value that both arms of a kernel `if` give is joined by a trait,
//! through which no expectation passes from the outside in.

use syn::{Block, Expr, Lit, Stmt, Type, UnOp};

use super::unsuffixed;

/// Appends a suffix to an unsuffixed literal, if it can have that type.
fn suffix(lit: &mut Lit, float: &str, int: &str) {
    match lit {
        Lit::Float(value) if value.suffix().is_empty() && !float.is_empty() => {
            let text = format!("{}{float}", value.base10_digits());
            *lit = Lit::Float(syn::LitFloat::new(&text, value.span()));
        }
        Lit::Int(value) if value.suffix().is_empty() && !int.is_empty() => {
            let text = format!("{}{int}", value.base10_digits());
            *lit = Lit::Int(syn::LitInt::new(&text, value.span()));
        }
        _ => {}
    }
}

/// Calls `f` with the expressions that may be the value of `expr`.
fn each_value(expr: &mut Expr, f: &mut impl FnMut(&mut Expr)) {
    match expr {
        Expr::Paren(paren) => each_value(&mut paren.expr, f),
        Expr::Group(group) => each_value(&mut group.expr, f),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => each_value(&mut unary.expr, f),
        Expr::Block(block) => each_block_value(&mut block.block, f),
        Expr::If(expr) => {
            each_block_value(&mut expr.then_branch, f);
            if let Some((_, other)) = &mut expr.else_branch {
                each_value(other, f);
            }
        }
        Expr::Match(expr) => expr.arms.iter_mut().for_each(|arm| each_value(&mut arm.body, f)),
        other => f(other),
    }
}

fn each_block_value(block: &mut Block, f: &mut impl FnMut(&mut Expr)) {
    if let Some(Stmt::Expr(expr, None)) = block.stmts.last_mut() {
        each_value(expr, f);
    }
}

/// Gives the literals that may be the value of `expr` the type `ty`.
pub(crate) fn expect(expr: &mut Expr, ty: &Type) {
    each_value(expr, &mut |value| match (value, ty) {
        (Expr::Lit(lit), Type::Path(path)) if unsuffixed(&lit.lit) => {
            let Some(name) = path.path.get_ident().map(ToString::to_string) else { return };
            match name.as_str() {
                "f32" | "f64" => suffix(&mut lit.lit, &name, ""),
                "u16" | "u32" | "i32" | "u64" | "i64" => suffix(&mut lit.lit, "", &name),
                _ => {}
            }
        }
        (Expr::Tuple(tuple), Type::Tuple(types)) => {
            tuple.elems.iter_mut().zip(&types.elems).for_each(|(elem, ty)| expect(elem, ty));
        }
        (Expr::Array(array), Type::Array(ty)) => {
            array.elems.iter_mut().for_each(|elem| expect(elem, &ty.elem))
        }
        (Expr::Repeat(repeat), Type::Array(ty)) => expect(&mut repeat.expr, &ty.elem),
        _ => {}
    });
}

/// Gives the literals that may be the value of a block the type `ty`.
pub(crate) fn expect_block(block: &mut Block, ty: &Type) {
    each_block_value(block, &mut |value| expect(value, ty));
}

/// Gives number literals the type that they have without any expectation: f32, as everywhere in kernels, and i32.
pub(super) fn default_types(expr: &mut Expr) {
    each_value(expr, &mut |value| match value {
        Expr::Lit(lit) => suffix(&mut lit.lit, "f32", "i32"),
        Expr::Tuple(tuple) => tuple.elems.iter_mut().for_each(default_types),
        Expr::Array(array) => array.elems.iter_mut().for_each(default_types),
        Expr::Repeat(repeat) => default_types(&mut repeat.expr),
        _ => {}
    });
}

/// Whether every value of `expr` is an unsuffixed literal.
pub(super) fn only_literals(expr: &Expr) -> bool {
    let (mut any, mut all) = (false, true);
    each_value(&mut expr.clone(), &mut |value| {
        any = true;
        all &= matches!(value, Expr::Lit(lit) if unsuffixed(&lit.lit));
    });
    any && all
}
