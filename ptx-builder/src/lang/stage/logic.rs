//! `&&` and `||`.
//!
//! The right side runs only where the left one does not decide, so it stands behind a branch; where it turns out to be a few
//! instructions without effect, the branch is taken back and one `and.pred` or `or.pred` joins the sides.

use super::arms::{Decide, HostCondition, KernelCondition};
use super::registers::here;
use crate::builder::{Label, with};
use crate::value::{Value, Var};

/// Instructions of a right side that are cheaper than a branch around them.
const CHEAP: usize = 4;

/// The two sides of `&&` and `||`, and the result `O`: a `bool` if both sides are, else a `Value<bool>`.
pub trait Connect<R, O>: Decide {
    /// A side that alone decides.
    fn left(value: bool) -> O;
    /// The right side, where it alone decides.
    fn right(value: R) -> O;
    /// The joined predicate; `None` where nothing is to be joined.
    fn joined(value: Value<bool>) -> Option<O>;
}

impl Connect<HostCondition, bool> for HostCondition {
    fn left(value: bool) -> bool {
        value
    }
    fn right(value: HostCondition) -> bool {
        value.0
    }
    fn joined(_: Value<bool>) -> Option<bool> {
        None
    }
}

macro_rules! kernel_sides {
    ($($left:ident $right:ident;)*) => {$(
        impl Connect<$right, Value<bool>> for $left {
            fn left(value: bool) -> Value<bool> {
                Value::constant(value)
            }
            fn right(value: $right) -> Value<bool> {
                value.predicate()
            }
            fn joined(value: Value<bool>) -> Option<Value<bool>> {
                Some(value)
            }
        }
    )*};
}

kernel_sides! {
    HostCondition KernelCondition;
    KernelCondition HostCondition;
    KernelCondition KernelCondition;
}

/// The branch around the right side.
#[derive(Debug, Clone, Copy)]
struct Open {
    /// Its position in the stream.
    at: usize,
    /// Behind the right side.
    end: Label,
    /// Holds the result.
    slot: Var<bool>,
}

/// An `&&` or `||` that is being staged.
#[derive(Debug)]
pub struct Logic<L, R, O> {
    left: L,
    and: bool,
    started: bool,
    open: Option<Open>,
    sides: std::marker::PhantomData<fn(R) -> O>,
}

impl<L: Connect<R, O>, R: Decide, O> Logic<L, R, O> {
    /// Begins: `left && …` or `left || …`.
    pub fn new(left: L, and: bool) -> Logic<L, R, O> {
        Logic { left, and, started: false, open: None, sides: std::marker::PhantomData }
    }

    /// The result; `None` asks for the right side first.
    #[track_caller]
    pub fn result(&mut self) -> Option<O> {
        let place = here();
        if std::mem::replace(&mut self.started, true) {
            // The right side jumped away: what is left is where the left side decided.
            let open = self.open.take()?;
            with(|b| b.place(open.end));
            return L::joined(open.slot.settled());
        }
        match self.left.known() {
            Some(left) if left != self.and => Some(L::left(left)),
            Some(_) => None,
            None => {
                let slot = Var::declare();
                slot.set(self.left.predicate());
                // The register of the predicate comes before the branch.
                self.left.predicate().reg();
                let (at, end) = with(|b| (b.position(), b.label(if self.and { "and" } else { "or" })));
                self.left.branch_unless(self.and, end, place);
                self.open = Some(Open { at, end, slot });
                None
            }
        }
    }

    /// Takes the right side; `Some` is the result.
    #[track_caller]
    pub fn right(&mut self, right: R) -> Option<O> {
        let Some(open) = self.open.take() else { return Some(L::right(right)) };
        let (left, value) = (self.left.predicate(), right.predicate());
        if with(|b| b.take_back_branch(open.at, open.end, CHEAP)) {
            return match right.known() {
                Some(right) if right == self.and => L::joined(left),
                Some(right) => Some(L::left(right)),
                None if self.and => L::joined(left & value),
                None => L::joined(left | value),
            };
        }
        open.slot.set(value);
        with(|b| b.place(open.end));
        L::joined(open.slot.settled())
    }

    /// Whether a branch of the kernel is open.
    pub fn open(&self) -> bool {
        self.open.is_some()
    }
}
