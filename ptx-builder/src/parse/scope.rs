//! Names of an entry: registers, shared arrays and labels, in nested scopes.
//!
//! A register range (`%r<10>`) is one entry of its scope however long it is; a register comes into being when an
//! instruction first names it.

use std::collections::{HashMap, HashSet};

use super::top::Global;
use super::{Result1, malformed};
use crate::ir::{Place, Reg, RegInfo, SharedArray, SharedId};
use crate::types::Ty;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    Reg(Reg),
    Shared(SharedId),
}

#[derive(Debug, Clone, Copy)]
struct Declared {
    ty: Ty,
    /// Position among the declarations of the entry.
    order: u32,
    /// Registers of a range; 0 for a single one.
    count: u32,
}

#[derive(Debug, Default)]
struct Scope {
    parent: Option<usize>,
    registers: HashMap<String, Declared>,
    /// Ranges by prefix.
    ranges: HashMap<String, Declared>,
    shared: HashMap<String, SharedId>,
    labels: HashMap<String, usize>,
}

/// A register in use.
#[derive(Debug)]
struct Used {
    name: String,
    ty: Ty,
    /// Declaration and number within its range.
    order: (u32, u32),
}

#[derive(Debug)]
pub(super) struct Names {
    scopes: Vec<Scope>,
    open: usize,
    declarations: u32,
    used: Vec<Used>,
    interned: HashMap<(u32, u32), Reg>,
    /// The arrays that the entry declares or uses.
    pub(super) shared: Vec<SharedArray>,
    /// For each of them, its position among the arrays of the module; `None` if it is the body's own.
    origins: Vec<Option<usize>>,
    /// The arrays of the module, the last one of each name.
    globals: HashMap<String, (usize, SharedArray)>,
}

impl Names {
    /// The names of an entry of a module with these arrays.
    pub(super) fn with_globals(globals: &[Global]) -> Names {
        let named = globals.iter().enumerate();
        Names {
            scopes: vec![Scope::default()],
            open: 0,
            declarations: 0,
            used: Vec::new(),
            interned: HashMap::new(),
            shared: Vec::new(),
            origins: Vec::new(),
            globals: named
                .map(|(i, global)| (global.array.name.clone(), (i, global.array.clone())))
                .collect(),
        }
    }

    /// For each shared array of the entry, its position among the arrays of the module, which are marked as used.
    pub(super) fn origins(self, globals: &mut [Global]) -> Vec<Option<usize>> {
        self.origins.iter().flatten().for_each(|i| globals[*i].used = true);
        self.origins
    }

    /// The scope that is open, to look labels up in later.
    pub(super) fn scope(&self) -> usize {
        self.open
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope { parent: Some(self.open), ..Scope::default() });
        self.open = self.scopes.len() - 1;
    }

    /// Closes the innermost scope; `false` if it is the body itself.
    pub(super) fn close(&mut self) -> bool {
        match self.scopes[self.open].parent {
            Some(parent) => {
                self.open = parent;
                true
            }
            None => false,
        }
    }

    /// Declares a register, or `count` of them.
    pub(super) fn declare(&mut self, name: &str, ty: Ty, count: Option<u32>, place: Place) -> Result1<()> {
        let declared = Declared { ty, order: self.declarations, count: count.unwrap_or(0) };
        self.declarations += 1;
        let scope = &mut self.scopes[self.open];
        let clash = match count {
            None => scope.registers.contains_key(name) || scope.in_range(name).is_some(),
            Some(_) => scope.ranges.contains_key(name),
        };
        if clash || scope.shared.contains_key(name) {
            return Err(malformed(place, format!("`{name}` is declared twice")));
        }
        let table = if count.is_some() { &mut scope.ranges } else { &mut scope.registers };
        table.insert(name.to_owned(), declared);
        Ok(())
    }

    /// Declares a shared array in the open scope.
    pub(super) fn declare_shared(&mut self, array: SharedArray) -> Result1<()> {
        let scope = &mut self.scopes[self.open];
        if scope.registers.contains_key(&array.name) || scope.shared.contains_key(&array.name) {
            return Err(malformed(array.place, format!("`{}` is declared twice", array.name)));
        }
        scope.shared.insert(array.name.clone(), SharedId(self.shared.len() as u32));
        self.shared.push(array);
        self.origins.push(None);
        Ok(())
    }

    /// Declares a label of the open scope, `index` being the caller's.
    pub(super) fn declare_label(&mut self, name: &str, index: usize, place: Place) -> Result1<()> {
        let labels = &mut self.scopes[self.open].labels;
        if labels.contains_key(name) {
            return Err(malformed(place, format!("the label `{name}` is placed twice")));
        }
        labels.insert(name.to_owned(), index);
        Ok(())
    }

    /// The label that a jump in `scope` names.
    pub(super) fn label(&self, name: &str, scope: usize) -> Option<usize> {
        self.chain(scope).find_map(|scope| scope.labels.get(name).copied())
    }

    fn chain(&self, from: usize) -> impl Iterator<Item = &Scope> {
        let mut at = Some(from);
        std::iter::from_fn(move || {
            let scope = &self.scopes[at?];
            at = scope.parent;
            Some(scope)
        })
    }

    /// What a name means in the open scope; a register comes into use.
    pub(super) fn look_up(&mut self, name: &str) -> Option<Symbol> {
        enum Found {
            Register(Declared, u32),
            Shared(SharedId),
        }
        let found = self.chain(self.open).find_map(|scope| {
            let shared = scope.shared.get(name).map(|id| Found::Shared(*id));
            let single = || scope.registers.get(name).map(|declared| Found::Register(*declared, 0));
            let ranged = || scope.in_range(name).map(|(declared, number)| Found::Register(declared, number));
            shared.or_else(single).or_else(ranged)
        });
        let Some(found) = found else {
            let (origin, array) = self.globals.remove(name)?;
            let id = SharedId(self.shared.len() as u32);
            self.scopes[0].shared.insert(name.to_owned(), id);
            self.shared.push(array);
            self.origins.push(Some(origin));
            return Some(Symbol::Shared(id));
        };
        Some(match found {
            Found::Shared(id) => Symbol::Shared(id),
            Found::Register(declared, number) => {
                let order = (declared.order, number);
                let next = Reg(self.used.len() as u32);
                let reg = *self.interned.entry(order).or_insert(next);
                if reg == next {
                    let name = name.strip_prefix('%').unwrap_or(name).to_owned();
                    self.used.push(Used { name, ty: declared.ty, order });
                }
                Symbol::Reg(reg)
            }
        })
    }

    /// The type of a register in use.
    pub(super) fn ty(&self, reg: Reg) -> Ty {
        self.used[reg.index()].ty
    }

    /// The registers in the order of the printed declarations, with names that are unique in the entry, and the new index
    /// of each old one. Whether they are variables is left to the caller.
    pub(super) fn registers(&self) -> (Vec<RegInfo>, Vec<Reg>) {
        let mut order: Vec<usize> = (0..self.used.len()).collect();
        order.sort_by_key(|i| (self.used[*i].ty, self.used[*i].order));
        let all: HashSet<&str> = self.used.iter().map(|used| used.name.as_str()).collect();
        let mut taken: HashSet<String> = HashSet::with_capacity(order.len());
        let mut next: HashMap<&str, u32> = HashMap::new();
        let mut infos = Vec::with_capacity(order.len());
        let mut moved = vec![Reg(0); order.len()];
        for old in order {
            let used = &self.used[old];
            let mut name = used.name.clone();
            while taken.contains(&name) {
                let count = next.entry(&used.name).or_insert(0);
                *count += 1;
                let candidate = format!("{}_{count}", used.name);
                if !all.contains(candidate.as_str()) {
                    name = candidate;
                }
            }
            taken.insert(name.clone());
            moved[old] = Reg(infos.len() as u32);
            infos.push(RegInfo { name, ty: used.ty, variable: false });
        }
        (infos, moved)
    }
}

impl Scope {
    /// The range that declares a name such as `%r7`, and the number.
    fn in_range(&self, name: &str) -> Option<(Declared, u32)> {
        if self.ranges.is_empty() {
            return None;
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        // A prefix may end with digits itself, and a number has no leading zeros. No count has more digits than u32::MAX.
        (1..=digits.min(10)).find_map(|length| {
            let (prefix, number) = name.split_at(name.len() - length);
            let plain = number == "0" || !number.starts_with('0');
            let declared = self.ranges.get(prefix).filter(|_| plain)?;
            let number: u32 = number.parse().ok()?;
            (number < declared.count).then_some((*declared, number))
        })
    }
}
