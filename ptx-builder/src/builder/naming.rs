//! Names of registers and labels: the author's where there is one, unique in the entry.

use std::fmt::Write;
use std::rc::Rc;

use super::Builder;
use crate::hash::{FastMap, FastSet};
use crate::ir::Reg;

/// Makes names unique by counting up behind the base.
#[derive(Debug)]
pub(super) struct Namer<'r> {
    is_reserved: fn(&str, &'r [&'r str]) -> bool,
    reserved: &'r [&'r str],
    used: FastSet<Rc<str>>,
    next: FastMap<Rc<str>, u32>,
}

impl<'r> Namer<'r> {
    /// A namer that leaves these names alone.
    pub(super) fn without(reserved: &'r [&'r str]) -> Namer<'r> {
        let is_reserved = |name: &str, reserved: &'r [&'r str]| reserved.contains(&name);
        Namer { is_reserved, reserved, used: FastSet::default(), next: FastMap::default() }
    }

    /// A namer of registers: it leaves the names of special registers alone.
    pub(super) fn of_registers() -> Namer<'r> {
        let is_reserved = |name: &str, _: &'r [&'r str]| crate::isa::special::is_base(name);
        Namer { is_reserved, reserved: &[], used: FastSet::default(), next: FastMap::default() }
    }

    pub(super) fn unique(&mut self, base: &Rc<str>) -> String {
        let is_new = match self.next.get(base) {
            Some(_) => false,
            None => !(self.is_reserved)(base, self.reserved) && self.used.insert(Rc::clone(base)),
        };
        if is_new {
            return base.as_ref().to_owned();
        }
        let next = self.next.entry(Rc::clone(base)).or_insert(1);
        let mut name = String::with_capacity(base.len() + 4);
        loop {
            name.clear();
            name.push_str(base);
            name.push('_');
            // Writing to a string does not fail.
            let _ = write!(name, "{next}");
            *next += 1;
            if self.used.insert(Rc::from(name.as_str())) {
                return name;
            }
        }
    }
}

impl Builder {
    /// Number of registers so far: a mark for [`name_since`](Builder::name_since).
    pub fn mark(&self) -> usize {
        self.regs.len()
    }

    /// Names a register after the author's variable, unless it has a name.
    pub(crate) fn name(&mut self, reg: Reg, name: &str) {
        let slot = &mut self.regs[reg.index()].name;
        if slot.is_none() {
            *slot = Some(Rc::from(name));
        }
    }

    /// Names every register made since `mark` that has no name after the statement's variable, as its temporary. A change
    /// of one statement then renames the temporaries of that statement only.
    pub fn name_since(&mut self, mark: usize, name: &str) {
        let mut temporary: Option<Rc<str>> = None;
        for reg in self.regs.iter_mut().skip(mark).filter(|reg| reg.name.is_none()) {
            reg.name = Some(Rc::clone(temporary.get_or_insert_with(|| format!("{name}_t").into())));
        }
    }
}
