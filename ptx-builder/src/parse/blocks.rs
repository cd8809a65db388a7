//! From statements to basic blocks: jumps resolved, labels kept where something jumps to them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::body::{Body, Item};
use super::scope::Names;
use super::{ParseError, malformed};
use crate::ir::{Block, BlockId, Comments, Guard, Inst, Place, Reg, RegInfo, Terminator};

/// A statement with resolved jumps; labels are indices.
enum Flat {
    Inst(Inst),
    Label(usize),
    Jump(usize, Place),
    Branch { guard: Guard, uniform: bool, label: usize, place: Place },
    End(Terminator, Place),
}

#[derive(Default)]
struct Draft {
    labels: Vec<usize>,
    insts: Vec<Inst>,
    end: Option<Flat>,
}

/// The blocks and registers of a body.
pub(super) fn build(body: Body<'_>, errors: &mut Vec<ParseError>) -> (Vec<Block>, Vec<RegInfo>, Names) {
    let Body { names, items, mut labels, .. } = body;
    let statements = flatten(items, &mut labels, &names, errors);
    let mut jumped = vec![false; labels.len()];
    for statement in &statements {
        if let Flat::Jump(label, _) | Flat::Branch { label, .. } = statement {
            jumped[*label] = true;
        }
    }
    let drafts = split(statements, &jumped);
    let mut position = vec![BlockId(0); labels.len()];
    for (i, draft) in drafts.iter().enumerate() {
        draft.labels.iter().for_each(|label| position[*label] = BlockId(i as u32));
    }
    let mut taken = Taken::new();
    let mut blocks: Vec<Block> = drafts
        .into_iter()
        .map(|draft| {
            let label = draft.labels.first().map(|label| unique(&labels[*label], &mut taken));
            let (term, term_place) = terminator(draft.end, &position);
            Block { label, comments: Comments::default(), insts: draft.insts, term, term_place }
        })
        .collect();
    let regs = renumber(&mut blocks, &names);
    (blocks, regs, names)
}

fn flatten(
    items: Vec<Item>,
    labels: &mut Vec<String>,
    names: &Names,
    errors: &mut Vec<ParseError>,
) -> Vec<Flat> {
    let mut flat = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Inst(inst) => flat.push(Flat::Inst(inst)),
            Item::Label(label) => flat.push(Flat::Label(label)),
            Item::Jump { guard, uniform, label, scope, place } => match names.label(&label, scope) {
                None => errors.push(malformed(place, format!("the label `{label}` is placed nowhere"))),
                Some(label) => flat.push(match guard {
                    Some(guard) => Flat::Branch { guard, uniform, label, place },
                    None => Flat::Jump(label, place),
                }),
            },
            Item::End { guard: None, term, place } => flat.push(Flat::End(term, place)),
            Item::End { guard: Some(guard), term, place } => {
                // `@p ret` is a branch over a `ret`: a terminator has no guard.
                let label = labels.len();
                labels.push("skip".to_owned());
                let guard = Guard { negated: !guard.negated, ..guard };
                flat.push(Flat::Branch { guard, uniform: false, label, place });
                flat.push(Flat::End(term, place));
                flat.push(Flat::Label(label));
            }
        }
    }
    flat
}

fn split(statements: Vec<Flat>, jumped: &[bool]) -> Vec<Draft> {
    let mut drafts = vec![Draft::default()];
    for statement in statements {
        let last = drafts.len() - 1;
        let full = drafts[last].end.is_some();
        match statement {
            Flat::Label(label) if !jumped[label] => continue,
            Flat::Label(_) if !full && drafts[last].insts.is_empty() => {}
            Flat::Label(_) => drafts.push(Draft::default()),
            _ if full => drafts.push(Draft::default()),
            _ => {}
        }
        let last = drafts.len() - 1;
        match statement {
            Flat::Inst(inst) => drafts[last].insts.push(inst),
            Flat::Label(label) => drafts[last].labels.push(label),
            end @ (Flat::Jump(..) | Flat::Branch { .. } | Flat::End(..)) => drafts[last].end = Some(end),
        }
    }
    drafts
}

fn terminator(end: Option<Flat>, position: &[BlockId]) -> (Terminator, Place) {
    match end {
        Some(Flat::Jump(label, place)) => (Terminator::Jump(position[label]), place),
        Some(Flat::Branch { guard: Guard { pred, negated }, uniform, label, place }) => {
            (Terminator::Branch { pred, negated, target: position[label], uniform }, place)
        }
        Some(Flat::End(term, place)) => (term, place),
        Some(Flat::Inst(_) | Flat::Label(_)) | None => (Terminator::Fall, Place::default()),
    }
}

/// Names by how often a name was made unique with a number behind it.
type Taken = HashMap<String, u32>;

fn unique(name: &str, taken: &mut Taken) -> String {
    let mut count = match taken.entry(name.to_owned()) {
        Entry::Vacant(free) => {
            free.insert(0);
            return name.to_owned();
        }
        Entry::Occupied(used) => *used.get(),
    };
    loop {
        count += 1;
        let candidate = format!("{name}_{count}");
        if !taken.contains_key(&candidate) {
            taken.insert(candidate.clone(), 0);
            taken.insert(name.to_owned(), count);
            return candidate;
        }
    }
}

/// Brings registers into the order of the printed declarations.
fn renumber(blocks: &mut [Block], names: &Names) -> Vec<RegInfo> {
    let (mut regs, moved) = names.registers();
    let mut rename = |reg: Reg| moved[reg.index()];
    let mut assigned = vec![0u32; regs.len()];
    for block in blocks {
        for inst in &mut block.insts {
            inst.operands.iter_mut().for_each(|operand| operand.map_regs(&mut rename));
            if let Some(guard) = &mut inst.guard {
                guard.pred = rename(guard.pred);
            }
            inst.for_each_def(|reg| assigned[reg.index()] = assigned[reg.index()].saturating_add(1));
        }
        if let Terminator::Branch { pred, .. } = &mut block.term {
            *pred = rename(*pred);
        }
    }
    regs.iter_mut().zip(assigned).for_each(|(info, count)| info.variable = count > 1);
    regs
}
