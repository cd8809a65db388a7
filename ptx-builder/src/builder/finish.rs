//! From the stream to basic blocks: unreachable code dropped, copies of variables folded away, dead code removed,
//! registers and labels named.

use std::collections::HashMap;
use std::rc::Rc;

use super::joins::{assign_joined, simplify_jumps};
use super::naming::Namer;
use super::{BuildErrors, Builder, Item, Label};
use crate::ir::{
    Addr, Base, Block, BlockId, Comments, Entry, Inst, Operand, Param, ParamId, Place, Reg, RegInfo,
    SharedArray, SharedId, Terminator,
};
use crate::isa::{Form, Op, Role};
use crate::types::Ty;

/// A block whose targets are still labels.
#[derive(Default)]
struct Draft {
    labels: Vec<Label>,
    insts: Vec<Inst>,
    comments: Vec<(usize, String)>,
    end: End,
    place: Place,
}

#[derive(Default, Clone, Copy)]
enum End {
    #[default]
    Fall,
    Jump(Label),
    Branch(crate::ir::Guard, Label, bool),
    Ret,
}

impl Builder {
    /// Ends the build.
    pub(super) fn finish(mut self) -> Result<Entry, BuildErrors> {
        self.items.push(Item::Ret(self.place));
        for label in &self.labels {
            if label.first_jump.is_some() && !label.placed {
                self.errors.push(super::BuildError {
                    message: format!("label `{}` is jumped to and never placed", label.name),
                    place: Place::default(),
                });
            }
        }
        if !self.errors.is_empty() {
            return Err(BuildErrors { entry: self.name, errors: self.errors });
        }
        let drafts = drop_unreachable(split(std::mem::take(&mut self.items)));
        let mut blocks = self.link(drafts);
        forward_copies(&self, &mut blocks);
        retarget_copies(&self, &mut blocks);
        assign_joined(&self, &mut blocks);
        remove_dead(&self, &mut blocks);
        simplify_jumps(&mut blocks);
        drop_unread_params(&mut self.params, &mut blocks);
        self.name_labels(&mut blocks);
        let regs = self.name_registers(&mut blocks);
        dynamic_arrays_first(&mut self.shared, &mut blocks);
        Ok(Entry {
            name: self.name,
            params: self.params,
            bounds: self.bounds,
            shared: self.shared,
            regs,
            blocks,
            place: self.place,
        })
    }

    /// Resolves labels to block positions and keeps the names of those that are used.
    fn link(&self, drafts: Vec<Draft>) -> Vec<Block> {
        let mut position = HashMap::new();
        for (i, draft) in drafts.iter().enumerate() {
            for label in &draft.labels {
                position.insert(label.0, BlockId(i as u32));
            }
        }
        let at = |label: Label| position.get(&label.0).copied().unwrap_or(BlockId(0));
        let mut names = vec![None; drafts.len()];
        let mut targets = vec![false; drafts.len()];
        for draft in &drafts {
            if let End::Jump(label) | End::Branch(_, label, _) = draft.end {
                targets[at(label).index()] = true;
            }
        }
        for (i, draft) in drafts.iter().enumerate() {
            if targets[i]
                && let Some(label) = draft.labels.first()
            {
                names[i] = Some(self.labels[label.0 as usize].name.clone());
            }
        }
        drafts
            .into_iter()
            .zip(names)
            .map(|(draft, label)| Block {
                label,
                comments: Comments(draft.comments),
                insts: draft.insts,
                term: match draft.end {
                    End::Fall => Terminator::Fall,
                    End::Jump(label) => Terminator::Jump(at(label)),
                    End::Branch(guard, label, uniform) => {
                        let crate::ir::Guard { pred, negated } = guard;
                        Terminator::Branch { pred, negated, target: at(label), uniform }
                    }
                    End::Ret => Terminator::Ret,
                },
                term_place: draft.place,
            })
            .collect()
    }

    /// Makes the names of labels unique; they share their name space with parameters and arrays.
    fn name_labels(&self, blocks: &mut [Block]) {
        let params = self.params.iter().map(|param| param.name.as_str());
        let reserved: Vec<&str> = params.chain(self.shared.iter().map(|array| array.name.as_str())).collect();
        let mut namer = Namer::without(&reserved);
        for label in blocks.iter_mut().filter_map(|block| block.label.as_mut()) {
            *label = namer.unique(&Rc::from(label.as_str()));
        }
    }

    /// Unique names in the order of first appearance; the register table keeps only what is used, sorted by type as the
    /// declarations are printed.
    fn name_registers(&self, blocks: &mut [Block]) -> Vec<RegInfo> {
        let mut order = Vec::new();
        let mut assigned = vec![0u32; self.regs.len()];
        let mut seen = vec![false; self.regs.len()];
        let mut see = |reg: Reg, order: &mut Vec<Reg>| {
            if !std::mem::replace(&mut seen[reg.index()], true) {
                order.push(reg);
            }
        };
        for block in blocks.iter() {
            for inst in &block.insts {
                inst.for_each_def(|reg| {
                    assigned[reg.index()] += 1;
                    see(reg, &mut order);
                });
                inst.for_each_use(|reg| see(reg, &mut order));
            }
            if let Terminator::Branch { pred, .. } = block.term {
                see(pred, &mut order);
            }
        }
        let mut namer = Namer::of_registers();
        let unnamed: [Rc<str>; 2] = ["t".into(), "p".into()];
        let mut names = vec![String::new(); self.regs.len()];
        for reg in &order {
            let build = &self.regs[reg.index()];
            let base = build.name.as_ref().unwrap_or(&unnamed[usize::from(build.ty == Ty::Pred)]);
            names[reg.index()] = namer.unique(base);
        }
        order.sort_by_key(|reg| self.regs[reg.index()].ty);
        let mut renumbered = vec![Reg(0); self.regs.len()];
        let mut infos = Vec::with_capacity(order.len());
        for reg in order {
            renumbered[reg.index()] = Reg(infos.len() as u32);
            infos.push(RegInfo {
                name: std::mem::take(&mut names[reg.index()]),
                ty: self.regs[reg.index()].ty,
                variable: assigned[reg.index()] > 1,
            });
        }
        let mut rename = |reg: Reg| renumbered[reg.index()];
        for block in blocks {
            for inst in &mut block.insts {
                inst.operands.iter_mut().for_each(|operand| operand.map_regs(&mut rename));
                if let Some(guard) = &mut inst.guard {
                    guard.pred = rename(guard.pred);
                }
            }
            if let Terminator::Branch { pred, .. } = &mut block.term {
                *pred = rename(*pred);
            }
        }
        infos
    }
}

/// The order of the text: dynamic arrays are declared before the entry.
fn dynamic_arrays_first(shared: &mut Vec<SharedArray>, blocks: &mut [Block]) {
    let mut order: Vec<usize> = (0..shared.len()).collect();
    order.sort_by_key(|i| shared[*i].len.is_some());
    let mut moved = vec![SharedId(0); shared.len()];
    for (new, old) in order.iter().enumerate() {
        moved[*old] = SharedId(new as u32);
    }
    *shared = order.iter().map(|old| shared[*old].clone()).collect();
    for operand in blocks.iter_mut().flat_map(|block| &mut block.insts).flat_map(|inst| &mut inst.operands) {
        if let Operand::Shared(id) | Operand::Addr(Addr { base: Base::Shared(id), .. }) = operand {
            *id = moved[id.index()];
        }
    }
}

/// Keeps the parameters that an instruction reads: a launch does not pass what nobody wants.
fn drop_unread_params(params: &mut Vec<Param>, blocks: &mut [Block]) {
    let mut read = vec![false; params.len()];
    let each = |blocks: &mut [Block], f: &mut dyn FnMut(&mut ParamId)| {
        for operand in
            blocks.iter_mut().flat_map(|block| &mut block.insts).flat_map(|inst| &mut inst.operands)
        {
            if let Operand::Addr(Addr { base: Base::Param(id), .. }) = operand {
                f(id);
            }
        }
    };
    each(blocks, &mut |id| read[id.0 as usize] = true);
    let position = |id: ParamId| read[..id.0 as usize].iter().filter(|read| **read).count() as u32;
    each(blocks, &mut |id| *id = ParamId(position(*id)));
    let mut read = read.iter();
    params.retain(|_| read.next().is_some_and(|read| *read));
}

fn split(items: Vec<Item>) -> Vec<Draft> {
    let mut drafts = vec![Draft::default()];
    let mut open = true;
    for item in items {
        if !open {
            drafts.push(Draft::default());
            open = true;
        }
        let last = drafts.len() - 1;
        let draft = &mut drafts[last];
        match item {
            Item::Inst(inst) => draft.insts.push(inst),
            Item::Comment(text) => draft.comments.push((draft.insts.len(), text)),
            Item::Label(label) if draft.insts.is_empty() => draft.labels.push(label),
            Item::Label(label) => drafts.push(Draft { labels: vec![label], ..Draft::default() }),
            Item::Jump(label, place) => (draft.end, draft.place, open) = (End::Jump(label), place, false),
            Item::Branch { guard, target, uniform, place } => {
                (draft.end, draft.place, open) = (End::Branch(guard, target, uniform), place, false);
            }
            Item::Ret(place) => (draft.end, draft.place, open) = (End::Ret, place, false),
        }
    }
    drafts
}

/// Keeps the reachable blocks; a jump to the block that follows becomes a fall, and a block that only falls into one that
/// nothing jumps to is joined with it.
fn drop_unreachable(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut position = HashMap::new();
    for (i, draft) in drafts.iter().enumerate() {
        for label in &draft.labels {
            position.insert(label.0, i);
        }
    }
    let mut reached = vec![false; drafts.len()];
    let mut work = vec![0];
    while let Some(i) = work.pop() {
        if i >= drafts.len() || std::mem::replace(&mut reached[i], true) {
            continue;
        }
        match drafts[i].end {
            End::Fall => work.push(i + 1),
            End::Jump(label) => work.extend(position.get(&label.0)),
            End::Branch(_, label, _) => {
                work.extend(position.get(&label.0));
                work.push(i + 1);
            }
            End::Ret => {}
        }
    }
    let mut kept: Vec<Draft> =
        drafts.into_iter().zip(reached).filter(|(_, reached)| *reached).map(|(draft, _)| draft).collect();
    for i in 0..kept.len().saturating_sub(1) {
        if let End::Jump(label) = kept[i].end
            && kept[i + 1].labels.contains(&label)
        {
            kept[i].end = End::Fall;
        }
    }
    keep_wanted_labels(&mut kept);
    let mut joined: Vec<Draft> = Vec::with_capacity(kept.len());
    for mut draft in kept {
        match joined.last_mut() {
            Some(last) if matches!(last.end, End::Fall) && draft.labels.is_empty() => {
                let offset = last.insts.len();
                last.insts.append(&mut draft.insts);
                last.comments.extend(draft.comments.into_iter().map(|(at, text)| (at + offset, text)));
                (last.end, last.place) = (draft.end, draft.place);
            }
            _ => joined.push(draft),
        }
    }
    joined
}

/// Forgets labels that nothing jumps to.
fn keep_wanted_labels(drafts: &mut [Draft]) {
    let jumped: std::collections::HashSet<u32> = drafts
        .iter()
        .filter_map(|draft| match draft.end {
            End::Jump(label) | End::Branch(_, label, _) => Some(label.0),
            End::Fall | End::Ret => None,
        })
        .collect();
    for draft in drafts {
        draft.labels.retain(|label| jumped.contains(&label.0));
    }
}

/// How often each register is read, the terminators included.
pub(super) fn count_uses(builder: &Builder, blocks: &[Block]) -> Vec<u32> {
    let mut uses = vec![0; builder.regs.len()];
    for block in blocks {
        for inst in &block.insts {
            inst.for_each_use(|reg| uses[reg.index()] += 1);
        }
        if let Terminator::Branch { pred, .. } = block.term {
            uses[pred.index()] += 1;
        }
    }
    uses
}

/// The registers of a plain copy `mov d, a` between registers of one type.
pub(super) fn copy(builder: &Builder, inst: &Inst) -> Option<(Reg, Reg)> {
    match (inst.op, inst.guard, inst.operands.as_slice()) {
        (Op::Mov, None, [Operand::Reg(d), Operand::Reg(a)])
            if builder.regs[d.index()].ty == builder.regs[a.index()].ty =>
        {
            Some((*d, *a))
        }
        _ => None,
    }
}

/// Reading a variable copies it, so that a later assignment does not change what was read. Up to the next assignment in
/// its block the uses of the copy read the variable itself; a copy that nobody reads any more is dead code.
fn forward_copies(builder: &Builder, blocks: &mut [Block]) {
    let mut source: Vec<Option<Reg>> = vec![None; builder.regs.len()];
    let mut copies: Vec<Vec<Reg>> = vec![Vec::new(); builder.regs.len()];
    for block in blocks {
        let mut touched = Vec::new();
        let rename = |reg: Reg, source: &[Option<Reg>]| source[reg.index()].unwrap_or(reg);
        for inst in &mut block.insts {
            let specs = Form::of(inst.op).operands;
            for (operand, _) in inst.operands.iter_mut().zip(specs).filter(|(_, spec)| spec.role != Role::Def)
            {
                operand.map_regs(&mut |reg| rename(reg, &source));
            }
            if let Some(guard) = &mut inst.guard {
                guard.pred = rename(guard.pred, &source);
            }
            inst.for_each_def(|reg| {
                for value in copies[reg.index()].drain(..) {
                    source[value.index()] = None;
                }
            });
            if let Some((value, variable)) = copy(builder, inst)
                && !builder.regs[value.index()].variable
            {
                source[value.index()] = Some(variable);
                copies[variable.index()].push(value);
                touched.push((value, variable));
            }
        }
        if let Terminator::Branch { pred, .. } = &mut block.term {
            *pred = rename(*pred, &source);
        }
        for (value, variable) in touched {
            source[value.index()] = None;
            copies[variable.index()].clear();
        }
    }
}

/// `op d, …; mov x, d` with no other use of `d`, and none of `x` in between, becomes `op x, …`.
fn retarget_copies(builder: &Builder, blocks: &mut [Block]) {
    let uses = count_uses(builder, blocks);
    // Position of the latest definition and of the latest mention, with the block that it stands in.
    let mut defined = vec![(usize::MAX, 0); builder.regs.len()];
    let mut mentioned = vec![(usize::MAX, 0); builder.regs.len()];
    for (b, block) in blocks.iter_mut().enumerate() {
        let mut dead = vec![false; block.insts.len()];
        for (i, dead) in dead.iter_mut().enumerate() {
            let retargeted = copy(builder, &block.insts[i]).and_then(|(variable, value)| {
                let (at, j) = defined[value.index()];
                let (last_block, last) = mentioned[variable.index()];
                let free = last_block != b || last <= j;
                let single = uses[value.index()] == 1 && !builder.regs[value.index()].variable;
                (at == b && free && single && block.insts[j].guard.is_none()).then_some((variable, value, j))
            });
            if let Some((variable, value, j)) = retargeted {
                let specs = Form::of(block.insts[j].op).operands;
                for (operand, _) in
                    block.insts[j].operands.iter_mut().zip(specs).filter(|(_, spec)| spec.role == Role::Def)
                {
                    operand.map_regs(&mut |reg| if reg == value { variable } else { reg });
                }
                *dead = true;
                mentioned[variable.index()] = (b, i);
                defined[variable.index()] = (b, j);
                continue;
            }
            let inst = &block.insts[i];
            inst.for_each_use(|reg| mentioned[reg.index()] = (b, i));
            inst.for_each_def(|reg| {
                mentioned[reg.index()] = (b, i);
                defined[reg.index()] = (b, i);
            });
        }
        drop_marked(block, &dead);
    }
}

/// Takes the marked instructions out of a block; comments stay above what they stood above.
pub(super) fn drop_marked(block: &mut Block, dead: &[bool]) {
    if !dead.contains(&true) {
        return;
    }
    for (at, _) in &mut block.comments.0 {
        *at -= dead[..(*at).min(dead.len())].iter().filter(|dead| **dead).count();
    }
    let mut dead = dead.iter();
    block.insts.retain(|_| dead.next() != Some(&true));
}

/// Removes instructions without effect whose results nobody reads, last first, until none is left.
fn remove_dead(builder: &Builder, blocks: &mut [Block]) {
    let mut uses = count_uses(builder, blocks);
    loop {
        let mut removed = false;
        for block in blocks.iter_mut().rev() {
            let mut dead = vec![false; block.insts.len()];
            for (inst, dead) in block.insts.iter().zip(&mut dead).rev() {
                let removable = Form::of(inst.op).is_removable();
                let mut wanted = false;
                inst.for_each_def(|reg| wanted |= uses[reg.index()] > 0);
                if removable && !wanted {
                    inst.for_each_use(|reg| uses[reg.index()] -= 1);
                    *dead = true;
                    removed = true;
                }
            }
            drop_marked(block, &dead);
        }
        if !removed {
            return;
        }
    }
}
