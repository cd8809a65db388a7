//! `for`, `while`, `loop` and labeled blocks, and the jumps out of them.
//!
//! A host loop repeats its body while the text is made; a kernel loop stages its body once, between a head label and a jump
//! back. Jumps that depend on the run are possible in both: their labels are made when the first one is, and placed where the
//! iteration or the loop ends. From then on a host loop is *open* like a kernel one: code behind those labels can
//! be reached, so a native jump across them would lose it.

use super::arms::Decide;
use super::calls::Lift;
use super::registers::{Registers, here};
use crate::builder::{Label, with};
use crate::ir::Place;

/// Labels of a construct that jumps may leave.
#[derive(Debug)]
pub struct Exits {
    kernel: bool,
    name: &'static str,
    breaks: Option<Label>,
    continues: Option<Label>,
    /// Where `continue` of a kernel `while` or `loop` goes.
    head: Option<Label>,
}

impl Exits {
    fn new(kernel: bool, name: &'static str) -> Exits {
        Exits { kernel, name, breaks: None, continues: None, head: None }
    }

    /// Behind the construct.
    pub(super) fn break_label(&mut self) -> Label {
        let name = format!("end_{}", self.name);
        *self.breaks.get_or_insert_with(|| with(|b| b.label(&name)))
    }

    fn jump_break(&mut self, place: Place) {
        let label = self.break_label();
        with(|b| b.jump(label, place));
    }

    fn jump_continue(&mut self, place: Place) {
        let name = format!("next_{}", self.name);
        let label = match self.head {
            Some(head) => head,
            None => *self.continues.get_or_insert_with(|| with(|b| b.label(&name))),
        };
        with(|b| b.jump(label, place));
    }

    /// Places the label of `continue`, if a jump to it was made.
    pub(super) fn place_continue(&mut self) {
        if let Some(label) = self.continues.take() {
            with(|b| b.place(label));
        }
    }

    fn place_break(&mut self) {
        if let Some(label) = self.breaks.take() {
            with(|b| b.place(label));
        }
    }
}

macro_rules! jumps {
    ([$($generic:ident)?] $name:ty) => {
        impl $(<$generic>)? $name {
            /// Whether a jump out of the body must be emitted, because code that only the running kernel skips would be lost.
            pub fn open(&self) -> bool {
                self.exits.kernel || self.exits.continues.is_some() || self.exits.breaks.is_some()
            }

            /// After an emitted jump: whether the staging of the body is left by `continue` (else by `break`).
            pub fn leave(&self) -> bool {
                self.exits.kernel || self.exits.continues.is_some()
            }

            /// Emits a jump behind the construct.
            #[track_caller]
            pub fn jump_break(&mut self) {
                self.exits.jump_break(here());
            }

            /// Emits a jump to the next iteration.
            #[track_caller]
            pub fn jump_continue(&mut self) {
                self.exits.jump_continue(here());
            }

            /// `break` where nothing is open between here and the construct: whether a jump was emitted and the staging of
            /// the body is left by `continue` (else by `break`).
            #[track_caller]
            pub fn break_here(&mut self) -> bool {
                let leave = self.leave();
                if leave {
                    self.exits.jump_break(here());
                }
                leave
            }

            /// Ends the construct.
            pub fn finish(&mut self) {
                self.exits.place_break();
            }
        }
    };
}

jumps!([T] For<'_, T>);
jumps!([] While);
jumps!([] Loop);
jumps!([] Block);

/// The iterations of a `for` whose pattern binds a `T`.
pub trait Steps<T> {
    /// Whether it is a loop of the kernel.
    fn is_kernel(&self) -> bool;

    /// The next item, for a loop of the author at `place`; a kernel loop gives one, and ends behind its body when asked again.
    fn step(&mut self, exits: &mut Exits, place: Place) -> Option<T>;
}

/// An iterator of the host.
struct HostSteps<I>(I);

impl<I: Iterator> Steps<I::Item> for HostSteps<I> {
    fn is_kernel(&self) -> bool {
        false
    }

    fn step(&mut self, exits: &mut Exits, _: Place) -> Option<I::Item> {
        exits.place_continue();
        self.0.next()
    }
}

/// A `for` that is being staged.
pub struct For<'a, T> {
    exits: Exits,
    steps: Box<dyn Steps<T> + 'a>,
}

/// What stands behind `in`, with items of type `T`: an iterator of host values, or a range with a kernel value in it.
#[diagnostic::on_unimplemented(
    message = "`for` runs over ranges and iterators, found `{Self}`",
    label = "not a range or an iterator",
    note = "a range whose bounds or step are kernel values becomes a loop of the kernel, an iterator of host values is unrolled"
)]
pub trait IntoSteps<'a, T> {
    /// Begins; `name` is that of the loop variable.
    fn into_steps(self, name: &'static str) -> Box<dyn Steps<T> + 'a>;
}

#[diagnostic::do_not_recommend]
impl<'a, I: IntoIterator<IntoIter: 'a>> IntoSteps<'a, I::Item> for I {
    fn into_steps(self, _: &'static str) -> Box<dyn Steps<I::Item> + 'a> {
        Box::new(HostSteps(self.into_iter()))
    }
}

/// `for name in steps`.
pub fn for_loop<'a, I: IntoSteps<'a, T>, T>(steps: I, name: &'static str) -> For<'a, T> {
    let steps = steps.into_steps(name);
    For { exits: Exits::new(steps.is_kernel(), name), steps }
}

impl<T> For<'_, T> {
    /// The next item to stage the body with.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "the place of the caller is part of it")]
    pub fn next(&mut self) -> Option<T> {
        self.steps.step(&mut self.exits, here())
    }
}

/// Iterations of a host `while` before the build is refused: a text of that size is a mistake.
const LIMIT: u32 = 1 << 16;

/// A `while` that is being staged.
#[derive(Debug)]
pub struct While {
    exits: Exits,
    head: Option<Label>,
    iterations: u32,
}

impl Default for While {
    fn default() -> While {
        While::new()
    }
}

impl While {
    /// Begins.
    pub fn new() -> While {
        While { exits: Exits::new(false, "while"), head: None, iterations: 0 }
    }

    /// Before the condition: whether it is to be staged.
    #[track_caller]
    pub fn head(&mut self) -> bool {
        let place = here();
        if self.exits.kernel {
            if let Some(head) = self.head {
                with(|b| b.jump(head, place));
            }
            return false;
        }
        self.exits.place_continue();
        self.head = Some(with(|b| {
            let head = b.label("while");
            b.place(head);
            head
        }));
        self.iterations += 1;
        if self.iterations > LIMIT {
            with(|b| b.error(place, format!("a host `while` runs more than {LIMIT} times")));
        }
        self.iterations <= LIMIT
    }

    /// Behind the condition: whether the body is to be staged.
    #[track_caller]
    pub fn test(&mut self, condition: impl Decide) -> bool {
        let place = here();
        if let Some(known) = condition.known() {
            return known;
        }
        self.exits.kernel = true;
        self.exits.head = self.head;
        let exit = self.exits.break_label();
        condition.branch_unless(true, exit, place);
        true
    }
}

/// A `loop` that is being staged: always a loop of the kernel.
#[derive(Debug)]
pub struct Loop {
    exits: Exits,
}

impl Default for Loop {
    fn default() -> Loop {
        Loop::new()
    }
}

impl Loop {
    /// Begins.
    pub fn new() -> Loop {
        Loop { exits: Exits::new(true, "loop") }
    }

    /// Whether the body is to be staged.
    #[track_caller]
    pub fn head(&mut self) -> bool {
        let place = here();
        match self.exits.head {
            None => {
                self.exits.head = Some(with(|b| {
                    let head = b.label("loop");
                    b.place(head);
                    head
                }));
                true
            }
            Some(head) => {
                with(|b| b.jump(head, place));
                false
            }
        }
    }
}

/// A labeled block that is being staged.
#[derive(Debug)]
pub struct Block {
    exits: Exits,
}

impl Default for Block {
    fn default() -> Block {
        Block::new()
    }
}

impl Block {
    /// Begins.
    pub fn new() -> Block {
        Block { exits: Exits::new(false, "block") }
    }
}

/// The value of a `loop`: that of its `break`s.
pub struct Exit<R: Registers> {
    vars: Option<R::Vars>,
}

impl<R: Registers> Default for Exit<R> {
    fn default() -> Exit<R> {
        Exit::new()
    }
}

impl<R: Registers> Exit<R> {
    /// No `break` so far.
    pub fn new() -> Exit<R> {
        Exit { vars: None }
    }

    /// `break value`.
    #[track_caller]
    pub fn set(&mut self, value: impl Lift<R>) {
        let vars = *self.vars.get_or_insert_with(R::declare);
        value.lift().assign_to(vars, here());
    }

    /// The value.
    pub fn value(&mut self) -> R {
        R::settled(self.vars.unwrap_or_else(R::declare))
    }
}
