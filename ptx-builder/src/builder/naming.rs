//! Names of registers and labels: the author's where there is one, unique in the entry.

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::ir::Reg;

/// Makes names unique by counting up behind the base.
#[derive(Debug, Default)]
pub(super) struct Namer {
    used: HashSet<String>,
    next: HashMap<String, u32>,
}

impl Namer {
    /// A namer that leaves these names alone.
    pub(super) fn without<'a>(reserved: impl IntoIterator<Item = &'a str>) -> Namer {
        Namer { used: reserved.into_iter().map(str::to_owned).collect(), next: HashMap::new() }
    }

    pub(super) fn unique(&mut self, base: &str) -> String {
        if self.used.insert(base.to_owned()) {
            return base.to_owned();
        }
        let next = self.next.entry(base.to_owned()).or_insert(1);
        loop {
            let name = format!("{base}_{next}");
            *next += 1;
            if self.used.insert(name.clone()) {
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
            *slot = Some(name.to_owned());
        }
    }

    /// Names every register made since `mark` that has no name after the statement's variable, as its temporary. A change
    /// of one statement then renames the temporaries of that statement only.
    pub fn name_since(&mut self, mark: usize, name: &str) {
        for reg in self.regs.iter_mut().skip(mark) {
            if reg.name.is_none() {
                reg.name = Some(format!("{name}_t"));
            }
        }
    }
}
