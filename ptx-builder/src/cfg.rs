//! The control-flow graph of an entry: who reaches whom, dominators and post-dominators.
//!
//! * [`Entry::cfg`] computes everything at once, in time close to linear in the number of edges.
//! * A block that the start does not reach has no dominator and does not stand in the reverse postorder.
//! * Post-dominance ends in one imagined exit behind all blocks that end the thread, so `None` stands for "only the exit".
//!   An endless loop is treated as if its last block in reverse postorder could also leave to the exit; otherwise
//!   nothing inside it would have a post-dominator.
//! * Jumps to blocks that do not exist are left out: naming them is the verifier's task.

use crate::ir::{BlockId, Entry};

/// The control-flow graph of an [`Entry`]. Indices are those of [`Entry::blocks`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cfg {
    successors: Vec<Vec<BlockId>>,
    predecessors: Vec<Vec<BlockId>>,
    order: Vec<BlockId>,
    idom: Vec<Option<BlockId>>,
    ipdom: Vec<Option<BlockId>>,
    reachable: Vec<bool>,
}

impl Entry {
    /// Its control-flow graph.
    pub fn cfg(&self) -> Cfg {
        Cfg::new(self)
    }
}

impl Cfg {
    fn new(entry: &Entry) -> Cfg {
        let count = entry.blocks.len();
        let mut successors: Vec<Vec<BlockId>> = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (from, list) in successors.iter_mut().enumerate() {
            let id = BlockId(from as u32);
            for to in entry.successors(id) {
                if to.index() < count && !list.contains(&to) {
                    list.push(to);
                    predecessors[to.index()].push(id);
                }
            }
        }
        let forward: Vec<Vec<usize>> = indices(&successors);
        let order = if count == 0 { Vec::new() } else { reverse_postorder(&forward, 0) };
        let idom = dominators(&forward, &order);
        let ipdom = post_dominators(&forward, &order);
        let mut reachable = vec![false; count];
        order.iter().for_each(|block| reachable[*block] = true);
        let id = |index: usize| BlockId(index as u32);
        Cfg {
            successors,
            predecessors,
            order: order.iter().copied().map(id).collect(),
            idom: idom.into_iter().map(|at| at.map(id)).collect(),
            ipdom: ipdom.into_iter().map(|at| at.map(id)).collect(),
            reachable,
        }
    }

    /// Blocks that control may go to from the end of `block`, each once.
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        &self.successors[block.index()]
    }

    /// Blocks from whose end control may come to `block`, each once.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block.index()]
    }

    /// The reachable blocks, each before its successors except along back edges; the start is first.
    pub fn reverse_postorder(&self) -> &[BlockId] {
        &self.order
    }

    /// Whether the start reaches `block`.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.reachable[block.index()]
    }

    /// The closest block other than itself through which every path from the start to `block` goes; `None` for the
    /// start and for unreachable blocks.
    pub fn immediate_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.idom[block.index()]
    }

    /// The closest block other than itself through which every path from `block` to the end of the thread goes; `None`
    /// if there is none before the end.
    pub fn immediate_post_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.ipdom[block.index()]
    }

    /// Whether every path from the start to `block` goes through `over`. A block dominates itself.
    pub fn dominates(&self, over: BlockId, block: BlockId) -> bool {
        climbs_to(&self.idom, over, block)
    }

    /// Whether every path from `block` to the end of the thread goes through `over`. A block post-dominates itself.
    pub fn post_dominates(&self, over: BlockId, block: BlockId) -> bool {
        climbs_to(&self.ipdom, over, block)
    }
}

fn climbs_to(parents: &[Option<BlockId>], over: BlockId, block: BlockId) -> bool {
    let mut at = Some(block);
    while let Some(block) = at {
        if block == over {
            return true;
        }
        at = parents[block.index()];
    }
    false
}

fn indices(lists: &[Vec<BlockId>]) -> Vec<Vec<usize>> {
    lists.iter().map(|list| list.iter().map(|block| block.index()).collect()).collect()
}

fn reverse_postorder(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::with_capacity(successors.len());
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = stack.last_mut() {
        match successors[*node].get(*next) {
            Some(&to) => {
                *next += 1;
                if !seen[to] {
                    seen[to] = true;
                    stack.push((to, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Immediate dominators by the iterative intersection of Cooper, Harvey and Kennedy.
fn dominators(successors: &[Vec<usize>], order: &[usize]) -> Vec<Option<usize>> {
    let mut rank = vec![usize::MAX; successors.len()];
    for (i, node) in order.iter().enumerate() {
        rank[*node] = i;
    }
    // Everything below is in ranks; the root has rank 0 and is its own parent until the end.
    let mut before = vec![Vec::new(); order.len()];
    for (i, node) in order.iter().enumerate() {
        for to in &successors[*node] {
            before[rank[*to]].push(i);
        }
    }
    let mut parent = vec![None; order.len()];
    if let Some(root) = parent.first_mut() {
        *root = Some(0);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for i in 1..order.len() {
            let known = before[i].iter().copied().filter(|&from| parent[from].is_some());
            let new = known.reduce(|a, b| intersect(&parent, a, b));
            if new != parent[i] {
                parent[i] = new;
                changed = true;
            }
        }
    }
    let mut result = vec![None; successors.len()];
    for i in 1..order.len() {
        result[order[i]] = parent[i].map(|at| order[at]);
    }
    result
}

fn intersect(parent: &[Option<usize>], mut a: usize, mut b: usize) -> usize {
    while a != b {
        // A parent has a lower rank than its child, so the higher one climbs.
        let high = if a > b { &mut a } else { &mut b };
        *high = parent[*high].unwrap_or(0);
    }
    a
}

fn post_dominators(forward: &[Vec<usize>], order: &[usize]) -> Vec<Option<usize>> {
    let exit = forward.len();
    let mut backward = vec![Vec::new(); exit + 1];
    for &from in order {
        for &to in &forward[from] {
            backward[to].push(from);
        }
        if forward[from].is_empty() {
            backward[exit].push(from);
        }
    }
    let mut reversed = reverse_postorder(&backward, exit);
    let mut reached = vec![false; exit + 1];
    reversed.iter().for_each(|node| reached[*node] = true);
    while let Some(&endless) = order.iter().rev().find(|node| !reached[**node]) {
        backward[exit].push(endless);
        reversed = reverse_postorder(&backward, exit);
        reversed.iter().for_each(|node| reached[*node] = true);
    }
    let mut result = dominators(&backward, &reversed);
    result.truncate(exit);
    result.iter_mut().for_each(|at| *at = at.filter(|node| *node != exit));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Block, Comments, LaunchBounds, Place, Reg, Terminator};

    fn entry(terms: &[Terminator]) -> Entry {
        let block = |term: &Terminator| Block {
            label: None,
            comments: Comments::default(),
            insts: Vec::new(),
            term: *term,
            term_place: Place::default(),
        };
        Entry {
            name: "k".to_owned(),
            params: Vec::new(),
            bounds: LaunchBounds::default(),
            shared: Vec::new(),
            regs: Vec::new(),
            blocks: terms.iter().map(block).collect(),
            place: Place::default(),
        }
    }

    fn branch(target: u32) -> Terminator {
        Terminator::Branch { pred: Reg(0), negated: false, target: BlockId(target), uniform: false }
    }

    fn tree(of: impl Fn(BlockId) -> Option<BlockId>, count: u32) -> Vec<Option<u32>> {
        (0..count).map(|i| of(BlockId(i)).map(|block| block.0)).collect()
    }

    #[test]
    fn diamond_joins_at_its_end() {
        // 0 -> {1, 2}, 1 -> 3, 2 -> 3.
        let cfg = entry(&[branch(2), Terminator::Jump(BlockId(3)), Terminator::Fall, Terminator::Ret]).cfg();
        assert_eq!(tree(|b| cfg.immediate_dominator(b), 4), [None, Some(0), Some(0), Some(0)]);
        assert_eq!(tree(|b| cfg.immediate_post_dominator(b), 4), [Some(3), Some(3), Some(3), None]);
        assert_eq!(cfg.predecessors(BlockId(3)), [BlockId(1), BlockId(2)]);
        assert!(cfg.dominates(BlockId(0), BlockId(3)) && !cfg.dominates(BlockId(1), BlockId(3)));
        assert!(cfg.post_dominates(BlockId(3), BlockId(0)) && !cfg.post_dominates(BlockId(2), BlockId(0)));
    }

    #[test]
    fn loop_leaves_through_its_head() {
        // 0 falls into 1; 1 leaves to 3 or falls into 2; 2 jumps back to 1.
        let cfg = entry(&[Terminator::Fall, branch(3), Terminator::Jump(BlockId(1)), Terminator::Ret]).cfg();
        assert_eq!(tree(|b| cfg.immediate_dominator(b), 4), [None, Some(0), Some(1), Some(1)]);
        assert_eq!(tree(|b| cfg.immediate_post_dominator(b), 4), [Some(1), Some(3), Some(1), None]);
    }

    #[test]
    fn early_return_has_no_join_before_the_exit() {
        let cfg = entry(&[branch(2), Terminator::Ret, Terminator::Exit]).cfg();
        assert_eq!(cfg.immediate_post_dominator(BlockId(0)), None);
    }

    #[test]
    fn endless_loop_still_has_joins_inside() {
        // 0 -> {1, 2}, 1 falls into 2, 2 jumps to 0: no way out.
        let cfg = entry(&[branch(2), Terminator::Fall, Terminator::Jump(BlockId(0))]).cfg();
        assert_eq!(cfg.immediate_post_dominator(BlockId(0)), Some(BlockId(2)));
    }

    #[test]
    fn unreachable_blocks_and_bad_targets_stand_apart() {
        let cfg =
            entry(&[Terminator::Jump(BlockId(2)), Terminator::Fall, Terminator::Jump(BlockId(9))]).cfg();
        assert_eq!(cfg.reverse_postorder(), [BlockId(0), BlockId(2)]);
        assert!(!cfg.is_reachable(BlockId(1)));
        assert_eq!(cfg.successors(BlockId(2)), []);
        assert_eq!(entry(&[]).cfg().reverse_postorder(), []);
    }
}
