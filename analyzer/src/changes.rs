//! What of a function a pass run touched, and where instructions are in P and in P'.
//!
//! Blocks that a run leaves alone are shared between the snapshots, so an index over the blocks that
//! differ is enough, plus the instructions elsewhere that an event mentions (a copy has its source there).

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use metaloc_record::{Block, BlockId, EventKind, Inst, InstId, LocId, Opcode, PassRun, Snapshot};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::NONE;

/// Up to here a block is searched; a longer one gets a table, since a run may change thousands of
/// instructions in one block.
const SMALL_BLOCK: usize = 16;

/// Where an instruction is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Index of its block in the snapshot.
    pub block: u32,
    /// Position in the block.
    pub position: u32,
}

/// The blocks that differ between P and P', and an index of instructions.
#[derive(Debug)]
pub struct Changes<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    before_blocks: Vec<u32>,
    after_blocks: Vec<u32>,
    changed: Vec<u32>,
    same_edges: bool,
    same_layout: bool,
    before_at: FxHashMap<InstId, At>,
    after_at: FxHashMap<InstId, At>,
    loses_stores: OnceCell<bool>,
    had: RefCell<FxHashMap<u32, FxHashSet<LocId>>>,
}

impl<'a> Changes<'a> {
    /// Compares the snapshots of a run.
    pub fn new(run: &PassRun<'a>) -> Changes<'a> {
        let shared = Shared::of(run.before, run.after);
        let before_blocks = positions(run.before);
        let same_layout = shared.is_same_layout(run.before, run.after);
        let after_blocks = if same_layout { before_blocks.clone() } else { positions(run.after) };
        let mut changes = Changes {
            before: run.before,
            after: run.after,
            before_blocks,
            after_blocks,
            changed: Vec::new(),
            same_edges: false,
            same_layout,
            before_at: FxHashMap::default(),
            after_at: FxHashMap::default(),
            loses_stores: OnceCell::new(),
            had: RefCell::default(),
        };
        changes.compare(&shared);
        changes.find_mentioned(run);
        changes
    }

    /// True if P' has the blocks and edges of P.
    pub fn same_edges(&self) -> bool {
        self.same_edges
    }

    /// True if P' has the blocks of P in the same order: an index is then the same block in both.
    pub fn same_layout(&self) -> bool {
        self.same_layout
    }

    /// Indices of the blocks of P' that are new or differ from what they were in P.
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Where an instruction is in P. Only answers for those in blocks that changed or in events.
    pub fn before(&self, inst: InstId) -> Option<At> {
        self.before_at.get(&inst).copied()
    }

    /// Where an instruction is in P'. Only answers for those in blocks that changed or in events.
    pub fn after(&self, inst: InstId) -> Option<At> {
        self.after_at.get(&inst).copied()
    }

    /// True if an instruction of P is not in P' any more. One that is not indexed is in a block that did
    /// not change.
    pub fn is_gone(&self, inst: InstId) -> bool {
        self.before_at.contains_key(&inst) && !self.after_at.contains_key(&inst)
    }

    /// The instruction at a place of P.
    pub fn inst_before(&self, at: At) -> &'a Inst {
        &self.before.blocks[at.block as usize].insts[at.position as usize]
    }

    /// The block of P at an index.
    pub fn block_before(&self, index: u32) -> &'a Block {
        &self.before.blocks[index as usize]
    }

    /// The block of P' at an index.
    pub fn block_after(&self, index: u32) -> &'a Block {
        &self.after.blocks[index as usize]
    }

    /// Index in P of a block.
    pub fn index_before(&self, id: BlockId) -> Option<u32> {
        self.before_blocks.get(id.index()).copied().filter(|i| *i != NONE)
    }

    /// Index in P' of a block.
    pub fn index_after(&self, id: BlockId) -> Option<u32> {
        self.after_blocks.get(id.index()).copied().filter(|i| *i != NONE)
    }

    /// True if a block of P' was there in P and had the location.
    pub fn had(&self, block: BlockId, loc: LocId) -> bool {
        let Some(index) = self.index_before(block) else { return false };
        let insts = &self.block_before(index).insts;
        if insts.len() <= SMALL_BLOCK {
            return insts.iter().any(|inst| inst.loc == loc);
        }
        let mut had = self.had.borrow_mut();
        had.entry(index).or_insert_with(|| insts.iter().map(|inst| inst.loc).collect()).contains(&loc)
    }

    /// True if the instruction was in this block of P', with this location, in P already: where control
    /// passes it, it passed it before the run as well.
    pub fn is_anchor(&self, block: u32, inst: &Inst) -> bool {
        let block = self.block_after(block);
        let Some(index) = self.index_before(block.id) else {
            return false;
        };
        match self.before(inst.id) {
            Some(at) => at.block == index && self.inst_before(at).loc == inst.loc,
            // Not indexed: the block is the same in P.
            None => !self.after_at.contains_key(&inst.id),
        }
    }

    /// True if a store of P is not in P' any more.
    pub fn loses_stores(&self) -> bool {
        *self.loses_stores.get_or_init(|| {
            let store = Opcode::from_name("store");
            let mut gone = self.before_at.iter().filter(|(inst, _)| !self.after_at.contains_key(inst));
            gone.any(|(_, at)| self.inst_before(*at).opcode == store)
        })
    }

    fn compare(&mut self, shared: &Shared) {
        let mut same = self.before.blocks.len() == self.after.blocks.len()
            && self.before.blocks.first().map(|b| b.id) == self.after.blocks.first().map(|b| b.id);
        for index in shared.middle(self.after) {
            let block = &self.after.blocks[index];
            let old = self.index_before(block.id).map(|i| &self.before.blocks[i as usize]);
            if old.is_some_and(|old| Arc::ptr_eq(old, block) || old == block) {
                continue;
            }
            same &= old.is_some_and(|old| old.successors == block.successors);
            self.changed.push(index as u32);
            index_block(index, block, &mut self.after_at);
            if let Some(index) = self.index_before(block.id) {
                index_block(index as usize, self.block_before(index), &mut self.before_at);
            }
        }
        for index in shared.middle(self.before) {
            let block = &self.before.blocks[index];
            if self.index_after(block.id).is_none() {
                same = false;
                index_block(index, block, &mut self.before_at);
            }
        }
        self.same_edges = same;
    }

    fn find_mentioned(&mut self, run: &PassRun<'_>) {
        // What was made in the run is not in P; only the rest is worth a search.
        let mut made: FxHashSet<InstId> = FxHashSet::default();
        let mut wanted: FxHashSet<InstId> = FxHashSet::default();
        for event in run.events {
            if let EventKind::Create { inst } | EventKind::Clone { new: inst, .. } = event.kind {
                made.insert(inst);
            }
            for inst in event.kind.insts().into_iter().flatten() {
                if !self.before_at.contains_key(&inst) && !made.contains(&inst) {
                    wanted.insert(inst);
                }
            }
        }
        if wanted.is_empty() {
            return;
        }
        for (index, block) in self.after.blocks.iter().enumerate() {
            let Some(old) = self.index_before(block.id) else { continue };
            if self.changed.binary_search(&(index as u32)).is_ok() {
                continue;
            }
            for (position, inst) in block.insts.iter().enumerate() {
                if wanted.contains(&inst.id) {
                    let position = position as u32;
                    self.before_at.insert(inst.id, At { block: old, position });
                    self.after_at.insert(inst.id, At { block: index as u32, position });
                }
            }
        }
    }
}

/// How many blocks at the start and at the end are the very same in P and P'. A run on one loop of a large
/// function leaves most blocks alone, and comparing pointers does not even touch them.
struct Shared {
    start: usize,
    end: usize,
}

impl Shared {
    fn of(before: &Snapshot, after: &Snapshot) -> Shared {
        let same = |(a, b): &(&Arc<Block>, &Arc<Block>)| Arc::ptr_eq(a, b);
        let (before, after) = (&before.blocks, &after.blocks);
        let start = before.iter().zip(after).take_while(same).count();
        let rest = before[start..].iter().rev().zip(after[start..].iter().rev());
        Shared { start, end: rest.take_while(same).count() }
    }

    /// The blocks of a snapshot that are not known to be shared.
    fn middle(&self, snapshot: &Snapshot) -> Range<usize> {
        self.start..snapshot.blocks.len() - self.end
    }

    fn is_same_layout(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let ids = |snapshot: &Snapshot| snapshot.blocks[self.middle(snapshot)].iter().map(|b| b.id).collect();
        let (before, after): (Vec<BlockId>, Vec<BlockId>) = (ids(before), ids(after));
        before == after
    }
}

fn positions(snapshot: &Snapshot) -> Vec<u32> {
    let ids = snapshot.blocks.iter().map(|b| b.id.index());
    let mut positions = vec![NONE; ids.clone().max().map_or(0, |id| id + 1)];
    for (index, id) in ids.enumerate() {
        positions[id] = index as u32;
    }
    positions
}

fn index_block(index: usize, block: &Block, into: &mut FxHashMap<InstId, At>) {
    for (position, inst) in block.insts.iter().enumerate() {
        into.insert(inst.id, At { block: index as u32, position: position as u32 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn untouched_blocks_are_not_indexed_unless_mentioned() {
        let scene = Scene::read(
            "before
             b0 -> b1: %1 add @1, %2 br @2
             b1: %3 mul @3, %4 ret @4
             after
             b0 -> b1: %1 add @1, %9 add, %2 br @2
             b1: %3 mul @3, %4 ret @4
             events
             clone %9 %3",
        );
        let run = scene.run();
        let changes = Changes::new(&run);
        assert!(changes.same_edges());
        assert_eq!(changes.changed(), [0]);
        assert_eq!(changes.before(InstId(3)), Some(At { block: 1, position: 0 }));
        assert_eq!(changes.before(InstId(4)), None);
        assert_eq!(changes.before(InstId(9)), None);
        let blocks = &run.after.blocks;
        assert!(changes.is_anchor(0, &blocks[0].insts[0]));
        assert!(!changes.is_anchor(0, &blocks[0].insts[1]));
        assert!(changes.is_anchor(1, &blocks[1].insts[1]));
    }

    #[test]
    fn a_new_edge_is_noticed() {
        let scene = Scene::read(
            "before
             b0 -> b1 b1: %2 br @2
             b1: %4 ret @4
             after
             b0 -> b1: %2 br @2
             b1: %4 ret @4",
        );
        assert!(!Changes::new(&scene.run()).same_edges());
    }
}
