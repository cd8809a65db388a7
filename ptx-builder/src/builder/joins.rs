//! What structured control flow leaves behind: jumps around jumps, and copies where arms join.

use super::finish::{copy, count_uses, drop_marked};
use super::{Builder, Label};
use crate::ir::{Block, BlockId, Reg, Terminator};
use crate::isa::{Effect, Form, Role};

use super::Item;

/// Blocks and instructions that the search for the end of an arm may pass.
const REACH: usize = 64;

/// Where arms join, `mov x, d` copies what each arm assigned to `d`. If `d` has no other use, and nothing between its assignments
/// and the copy touches `x`, the arms assign `x` instead.
pub(super) fn assign_joined(builder: &Builder, blocks: &mut [Block]) {
    let uses = count_uses(builder, blocks);
    let mut defs: Vec<Vec<(usize, usize)>> = vec![Vec::new(); builder.regs.len()];
    for (b, block) in blocks.iter().enumerate() {
        for (i, inst) in block.insts.iter().enumerate() {
            inst.for_each_def(|reg| defs[reg.index()].push((b, i)));
        }
    }
    let mut dead: Vec<Vec<bool>> = blocks.iter().map(|block| vec![false; block.insts.len()]).collect();
    for b in 0..blocks.len() {
        for i in 0..blocks[b].insts.len() {
            let Some((target, source)) = copy(builder, &blocks[b].insts[i]) else { continue };
            let joined =
                builder.regs[source.index()].variable && uses[source.index()] == 1 && target != source;
            if !joined
                || !defs[source.index()].iter().all(|def| leads_to(blocks, &dead, *def, (b, i), target))
            {
                continue;
            }
            dead[b][i] = true;
            let moved = std::mem::take(&mut defs[source.index()]);
            for &(block, at) in &moved {
                let inst = &mut blocks[block].insts[at];
                let specs = Form::of(inst.op).operands;
                for (operand, _) in
                    inst.operands.iter_mut().zip(specs).filter(|(_, spec)| spec.role == Role::Def)
                {
                    operand.map_regs(&mut |reg| if reg == source { target } else { reg });
                }
                // An arm that left the variable as it was.
                dead[block][at] |= copy(builder, inst) == Some((target, target));
            }
            defs[target.index()].retain(|def| *def != (b, i));
            defs[target.index()].extend(moved);
        }
    }
    for (block, dead) in blocks.iter_mut().zip(&dead) {
        drop_marked(block, dead);
    }
}

/// Whether control goes from behind the assignment `from` to the copy `to` and nowhere else, without an instruction that
/// touches `target`.
fn leads_to(
    blocks: &[Block],
    dead: &[Vec<bool>],
    from: (usize, usize),
    to: (usize, usize),
    target: Reg,
) -> bool {
    if blocks[from.0].insts[from.1].guard.is_some() {
        return false;
    }
    let (mut block, mut at) = (from.0, from.1 + 1);
    for _ in 0..REACH {
        if (block, at) == to {
            return true;
        }
        if let Some(inst) = blocks[block].insts.get(at) {
            let mut touches = false;
            inst.for_each_def(|reg| touches |= reg == target);
            inst.for_each_use(|reg| touches |= reg == target);
            if touches && !dead[block][at] {
                return false;
            }
            at += 1;
            continue;
        }
        (block, at) = match blocks[block].term {
            Terminator::Fall => (block + 1, 0),
            Terminator::Jump(next) => (next.index(), 0),
            _ => return false,
        };
        if block >= blocks.len() {
            return false;
        }
    }
    false
}

/// Simplifies jumps until nothing changes: `@!p bra over; bra far; over:` becomes `@p bra far`, a jump to the block behind
/// becomes a fall, jumps to an empty block go to the one behind it, and a block that only falls into one that
/// nothing jumps to is joined with it.
pub(super) fn simplify_jumps(blocks: &mut Vec<Block>) {
    while simplify_once(blocks) {}
}

/// Which blocks a jump names.
fn wanted(blocks: &[Block]) -> Vec<bool> {
    let mut wanted = vec![false; blocks.len()];
    for block in blocks {
        if let Terminator::Jump(target) | Terminator::Branch { target, .. } = block.term {
            wanted[target.index()] = true;
        }
    }
    wanted
}

fn simplify_once(blocks: &mut Vec<Block>) -> bool {
    let jumped = wanted(blocks);
    let mut gone = vec![false; blocks.len()];
    let is_empty = |block: &Block| block.insts.is_empty() && block.comments.0.is_empty();
    for i in 0..blocks.len().saturating_sub(1) {
        if gone[i] {
            continue;
        }
        let next = &blocks[i + 1];
        match (blocks[i].term, next.term) {
            (Terminator::Jump(target), _) if target.index() == i + 1 => blocks[i].term = Terminator::Fall,
            (Terminator::Branch { pred, negated, target, uniform }, Terminator::Jump(far))
                if target.index() == i + 2 && !jumped[i + 1] && is_empty(next) =>
            {
                blocks[i].term_place = next.term_place;
                blocks[i].term = Terminator::Branch { pred, negated: !negated, target: far, uniform };
                gone[i + 1] = true;
            }
            _ => {}
        }
        gone[i] |= matches!(blocks[i].term, Terminator::Fall) && is_empty(&blocks[i]);
    }
    let jumped = wanted(blocks);
    for i in (1..blocks.len()).rev() {
        let falls = matches!(blocks[i - 1].term, Terminator::Fall);
        if falls && !jumped[i] && !gone[i] && !gone[i - 1] {
            let next = std::mem::replace(&mut blocks[i], empty_block());
            let last = &mut blocks[i - 1];
            let offset = last.insts.len();
            last.insts.extend(next.insts);
            last.comments.0.extend(next.comments.0.into_iter().map(|(at, text)| (at + offset, text)));
            (last.term, last.term_place) = (next.term, next.term_place);
            gone[i] = true;
        }
    }
    // The new position of each block, or of the one behind it that stays.
    let (mut position, mut kept) = (Vec::with_capacity(blocks.len()), 0);
    for gone in &gone {
        position.push(BlockId(kept));
        kept += u32::from(!gone);
    }
    let mut label = None;
    for (block, gone) in blocks.iter_mut().zip(&gone) {
        match (gone, block.label.take()) {
            (true, own) => label = label.or(own),
            (false, own) => block.label = own.or(label.take()),
        }
        if let Terminator::Jump(target) | Terminator::Branch { target, .. } = &mut block.term {
            *target = position[target.index()];
        }
    }
    let mut stays = gone.iter().map(|gone| !gone);
    blocks.retain(|_| stays.next() == Some(true));
    let jumped = wanted(blocks);
    for (block, jumped) in blocks.iter_mut().zip(jumped) {
        if !jumped {
            block.label = None;
        }
    }
    gone.contains(&true)
}

fn empty_block() -> Block {
    let comments = crate::ir::Comments::default();
    Block {
        label: None,
        comments,
        insts: Vec::new(),
        term: Terminator::Fall,
        term_place: crate::ir::Place::default(),
    }
}

impl Builder {
    /// Number of items so far.
    pub(crate) fn position(&self) -> usize {
        self.items.len()
    }

    /// Takes back the branch to `label` at position `at`, if what was added since may as well be computed where it is not
    /// wanted: at most `limit` instructions without effect. Whether it was.
    pub(crate) fn take_back_branch(&mut self, at: usize, label: Label, limit: usize) -> bool {
        let Some((Item::Branch { target, .. }, added)) = self.items.get(at..).and_then(<[Item]>::split_first)
        else {
            return false;
        };
        let harmless = |item: &Item| match item {
            Item::Inst(inst) => {
                let mut assigns = false;
                inst.for_each_def(|reg| assigns |= self.regs[reg.index()].variable);
                inst.guard.is_none() && Form::of(inst.op).effect == Effect::Pure && !assigns
            }
            Item::Label(_) | Item::Comment(_) | Item::Jump(..) | Item::Branch { .. } | Item::Ret(_) => false,
        };
        if *target != label || added.len() > limit || !added.iter().all(harmless) {
            return false;
        }
        self.items.remove(at);
        self.labels[label.0 as usize].first_jump = None;
        self.pending.retain(|other| *other != label);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::builder::{build_entry, with};
    use crate::ir::{Entry, Guard, Place};
    use crate::isa::Op;
    use crate::lang::{GlobalMut, thread_idx_x};
    use crate::types::Dtype;
    use crate::value::{Operand, Value, Var};

    fn build(body: impl FnOnce(GlobalMut, Value<u32>)) -> Entry {
        let target = "sm_90".parse().expect("a target");
        let entry = build_entry("k", target, || body(GlobalMut::param("y", Dtype::F32, 4), thread_idx_x()));
        entry.unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn copies(entry: &Entry) -> usize {
        entry.blocks.iter().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::Mov).count()
    }

    /// `x = tid < 5 ? tid + 1 : <other>`, with `x` read by `between` in the second arm.
    fn joined(read_between: bool) -> Entry {
        build(|y, tid| {
            let x = Var::new("x", tid);
            let slot = Var::<u32>::declare();
            let pred = crate::value::compare::<u32>(crate::isa::mods::Cmp::Lt, tid, 5).reg();
            let (other, end) = with(|b| (b.label("else"), b.label("endif")));
            with(|b| b.branch(Guard { pred, negated: true }, other, Place::default()));
            slot.set(x.get() + 1);
            with(|b| b.jump(end, Place::default()));
            with(|b| b.place(other));
            slot.set(tid + 7);
            if read_between {
                y.store(0u32, x.get().bitcast::<f32>());
            }
            with(|b| b.place(end));
            x.set(slot.settled());
            y.store(tid, x.get().bitcast::<f32>());
        })
    }

    #[test]
    fn arms_assign_the_joined_variable() {
        // The special register, the first value of x and the two bit casts are left.
        assert_eq!(copies(&joined(false)), 3);
        assert!(copies(&joined(true)) > 4, "the second arm still reads x");
    }

    #[test]
    fn only_harmless_code_is_computed_before_its_condition() {
        let taken = |body: fn(GlobalMut, Value<u32>)| {
            let mut taken = false;
            build(|y, tid| {
                let pred = crate::value::compare::<u32>(crate::isa::mods::Cmp::Lt, tid, 5).reg();
                let (at, end) = with(|b| (b.position(), b.label("end")));
                with(|b| b.branch(Guard { pred, negated: true }, end, Place::default()));
                body(y, tid);
                taken = with(|b| b.take_back_branch(at, end, 2));
                with(|b| b.place(end));
            });
            taken
        };
        assert!(taken(|_, tid| {
            let _ = tid + 1u32.value();
        }));
        assert!(!taken(|y, tid| y.store(tid, 1.0)), "a store has an effect");
        assert!(
            !taken(|y, tid| {
                let _ = y.load(tid);
            }),
            "a load may be out of bounds"
        );
        assert!(!taken(|_, tid| Var::new("x", tid).set(tid)), "an assignment is an effect");
        assert!(
            !taken(|_, tid| {
                let _ = tid * 3 + 4 + tid;
            }),
            "three instructions are more than the limit"
        );
    }

    #[test]
    fn a_jump_behind_a_branch_becomes_the_branch() {
        let entry = build(|y, tid| {
            let pred = crate::value::compare::<u32>(crate::isa::mods::Cmp::Lt, tid, 5).reg();
            let (over, far) = with(|b| (b.label("over"), b.label("far")));
            with(|b| b.branch(Guard { pred, negated: true }, over, Place::default()));
            with(|b| b.jump(far, Place::default()));
            with(|b| b.place(over));
            y.store(tid, 1.0);
            with(|b| b.place(far));
        });
        assert_eq!(entry.blocks.len(), 3, "{entry:?}");
        assert!(matches!(entry.blocks[0].term, super::Terminator::Branch { negated: false, .. }));
        assert_eq!(entry.blocks[1].label, None);
        assert_eq!(entry.blocks[2].label.as_deref(), Some("far"));
    }
}
