//! Regions of divergence: the blocks between a branch and the place where its paths meet again.
//!
//! A block lies in the region of a branch if it is control-dependent on it, directly or through other branches. The graph
//! leaves out the ways that can only end in `trap`.

use crate::cfg::Cfg;
use crate::ir::{Block, BlockId, Comments, Entry, LaunchBounds, Place, Terminator};

pub(super) struct Regions {
    graph: Cfg,
    /// For each branch: the blocks whose execution it decides directly.
    decides: Vec<Vec<BlockId>>,
    /// For each block: the branch because of which lanes of a warp may disagree on executing it.
    warp: Vec<Option<BlockId>>,
    /// The same for the threads of a block.
    block: Vec<Option<BlockId>>,
}

impl Regions {
    pub(super) fn new(entry: &Entry) -> Regions {
        let graph = without_traps(entry).cfg();
        let count = entry.blocks.len();
        let mut decides = vec![Vec::new(); count];
        for &from in graph.reverse_postorder() {
            let ways = graph.successors(from);
            if ways.len() < 2 {
                continue;
            }
            let join = graph.immediate_post_dominator(from);
            for way in ways {
                let mut at = Some(*way);
                while at != join
                    && let Some(block) = at
                {
                    if !decides[from.index()].contains(&block) {
                        decides[from.index()].push(block);
                    }
                    at = graph.immediate_post_dominator(block);
                }
            }
        }
        Regions { graph, decides, warp: vec![None; count], block: vec![None; count] }
    }

    pub(super) fn warp(&self, block: BlockId) -> Option<BlockId> {
        self.warp[block.index()]
    }

    pub(super) fn block(&self, block: BlockId) -> Option<BlockId> {
        self.block[block.index()]
    }

    pub(super) fn join(&self, branch: BlockId) -> Option<BlockId> {
        self.graph.immediate_post_dominator(branch)
    }

    /// Records that threads may take different ways at the end of `branch`; says whether that is news.
    pub(super) fn diverge(&mut self, branch: BlockId, in_warp: bool, in_block: bool) -> bool {
        let warp = in_warp && spread(&self.decides, &mut self.warp, branch);
        let block = in_block && spread(&self.decides, &mut self.block, branch);
        warp || block
    }
}

fn spread(decides: &[Vec<BlockId>], causes: &mut [Option<BlockId>], branch: BlockId) -> bool {
    let mut work = vec![branch];
    let mut news = false;
    while let Some(from) = work.pop() {
        for block in &decides[from.index()] {
            if causes[block.index()].is_none() {
                causes[block.index()] = Some(branch);
                work.push(*block);
                news = true;
            }
        }
    }
    news
}

/// The entry's blocks without instructions and without ways that can only end in `trap`.
fn without_traps(entry: &Entry) -> Entry {
    let count = entry.blocks.len();
    let mut doomed = vec![false; count];
    // Blocks mostly follow their predecessors, so that going backwards settles nearly all at once.
    let mut changed = true;
    while changed {
        changed = false;
        for i in (0..count).rev() {
            let mut ways = entry.successors(BlockId(i as u32)).peekable();
            let ends = match entry.blocks[i].term {
                Terminator::Trap => true,
                Terminator::Fall | Terminator::Jump(_) | Terminator::Branch { .. } => {
                    ways.peek().is_some() && ways.all(|way| doomed[way.index()])
                }
                Terminator::Ret | Terminator::Exit => false,
            };
            changed |= ends && !doomed[i];
            doomed[i] |= ends;
        }
    }
    let blocks = entry.blocks.iter().enumerate().map(|(i, block)| {
        let term = match block.term {
            Terminator::Branch { target, .. } if !doomed[i] => {
                let falls_to_trap = doomed.get(i + 1).copied().unwrap_or(true);
                match (doomed[target.index()], falls_to_trap) {
                    (true, false) => Terminator::Fall,
                    (false, true) => Terminator::Jump(target),
                    (true, true) | (false, false) => block.term,
                }
            }
            other => other,
        };
        Block {
            label: None,
            comments: Comments::default(),
            insts: Vec::new(),
            term,
            term_place: Place::default(),
        }
    });
    Entry {
        name: String::new(),
        params: Vec::new(),
        bounds: LaunchBounds::default(),
        shared: Vec::new(),
        regs: Vec::new(),
        blocks: blocks.collect(),
        place: Place::default(),
    }
}
