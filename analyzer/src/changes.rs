//! What of a function a pass run touched, and where instructions are in P and in P'.
//!
//! Blocks that a run leaves alone are shared between the snapshots, so an index over the blocks that
//! differ is enough, plus the instructions elsewhere that an event mentions (a copy has its source there).

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use metaloc_record::{Block, BlockId, EventKind, Inst, InstFlags, InstId, LocId, Opcode, PassRun, Snapshot};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::inst_map::InstMap;

/// Up to here a block is searched; a longer one gets a table, since a run may change thousands of
/// instructions in one block.
const SMALL_BLOCK: usize = 16;

/// Where an instruction is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Its block.
    pub block: BlockId,
    /// Position in the block.
    pub position: u32,
}

impl Default for At {
    /// Nowhere.
    fn default() -> Self {
        At { block: BlockId::NOWHERE, position: 0 }
    }
}

/// An instruction of P. A copy of it, since the way through the snapshot to the original misses the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Was {
    /// Where it is in P.
    pub at: At,
    /// What it is there.
    pub inst: Inst,
}

impl Default for Was {
    /// Nothing, nowhere.
    fn default() -> Self {
        let inst = Inst { id: InstId(0), loc: LocId::NONE, opcode: Opcode(0), flags: InstFlags::default() };
        Was { at: At::default(), inst }
    }
}

/// The blocks that differ between P and P', and an index of instructions.
#[derive(Debug)]
pub struct Changes<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    changed: Vec<BlockId>,
    rewired: Vec<BlockId>,
    before_at: InstMap<Was>,
    after_at: InstMap<At>,
    loses_stores: OnceCell<bool>,
    had: RefCell<FxHashMap<BlockId, FxHashSet<LocId>>>,
}

impl<'a> Changes<'a> {
    /// Compares the snapshots of a run.
    pub fn new(run: &PassRun<'a>) -> Changes<'a> {
        let mut changes = Changes {
            before: run.before,
            after: run.after,
            changed: Vec::new(),
            rewired: Vec::new(),
            before_at: InstMap::default(),
            after_at: InstMap::default(),
            loses_stores: OnceCell::new(),
            had: RefCell::default(),
        };
        changes.compare();
        changes.find_mentioned(run);
        changes
    }

    /// True if P' has the blocks and edges of P.
    pub fn same_edges(&self) -> bool {
        self.rewired.is_empty() && self.before.entry() == self.after.entry()
    }

    /// Blocks of P and P' that are in one of them only, or have other successors, in the order of ids.
    pub fn rewired(&self) -> &[BlockId] {
        &self.rewired
    }

    /// The blocks of P' that are new or differ from what they were in P, in the order of ids.
    pub fn changed(&self) -> &[BlockId] {
        &self.changed
    }

    /// Where an instruction is in P. Only answers for those in blocks that changed or in events.
    pub fn before(&self, inst: InstId) -> Option<At> {
        self.before_at.get(inst).map(|was| was.at)
    }

    /// The same with what it is there.
    pub fn was(&self, inst: InstId) -> Option<&Was> {
        self.before_at.get(inst)
    }

    /// Where an instruction is in P'. Only answers for those in blocks that changed or in events.
    pub fn after(&self, inst: InstId) -> Option<At> {
        self.after_at.get(inst).copied()
    }

    /// True if an instruction of P is not in P' any more. One that is not indexed is in a block that did
    /// not change.
    pub fn is_gone(&self, inst: InstId) -> bool {
        self.before_at.contains(inst) && !self.after_at.contains(inst)
    }

    /// A block as it was in P.
    pub fn block_before(&self, id: BlockId) -> Option<&'a Block> {
        self.before.get(id).map(|block| &**block)
    }

    /// A block as it is in P'.
    pub fn block_after(&self, id: BlockId) -> Option<&'a Block> {
        self.after.get(id).map(|block| &**block)
    }

    /// True if a block of P' was there in P and had the location.
    pub fn had(&self, id: BlockId, loc: LocId) -> bool {
        let Some(block) = self.block_before(id) else { return false };
        let insts = &block.insts;
        if insts.len() <= SMALL_BLOCK {
            return insts.iter().any(|inst| inst.loc == loc);
        }
        let mut had = self.had.borrow_mut();
        had.entry(id).or_insert_with(|| insts.iter().map(|inst| inst.loc).collect()).contains(&loc)
    }

    /// True if the instruction was in this block of P', with this location, in P already: where control
    /// passes it, it passed it before the run as well.
    pub fn is_anchor(&self, block: BlockId, inst: &Inst) -> bool {
        match self.was(inst.id) {
            Some(was) => was.at.block == block && was.inst.loc == inst.loc,
            // Not indexed: the block, if it was there, is the same in P.
            None => !self.after_at.contains(inst.id) && self.before.has(block),
        }
    }

    /// True if a store of P is not in P' any more.
    pub fn loses_stores(&self) -> bool {
        *self.loses_stores.get_or_init(|| {
            let store = Opcode::from_name("store");
            let mut gone = self.before_at.iter().filter(|(inst, _)| !self.after_at.contains(*inst));
            gone.any(|(_, was)| was.inst.opcode == store)
        })
    }

    fn compare(&mut self) {
        for id in self.before.differences(self.after) {
            let (old, new) = (self.before.get(id), self.after.get(id));
            if old.zip(new).is_some_and(|(old, new)| Arc::ptr_eq(old, new) || old == new) {
                continue;
            }
            if self.before.is_rewired(self.after, id) {
                self.rewired.push(id);
            }
            if let Some(new) = new {
                self.changed.push(id);
                for (inst, at) in placed(new) {
                    self.after_at.insert(inst.id, at);
                }
            }
            if let Some(old) = old {
                for (inst, at) in placed(old) {
                    self.before_at.insert(inst.id, Was { at, inst: *inst });
                }
            }
        }
    }

    fn find_mentioned(&mut self, run: &PassRun<'_>) {
        // What was made in the run is not in P; only the rest is worth a search.
        let mut made: InstMap<()> = InstMap::default();
        let mut wanted: FxHashMap<BlockId, FxHashSet<InstId>> = FxHashMap::default();
        for event in run.events {
            if let EventKind::Create { inst } | EventKind::Clone { new: inst, .. } = event.kind {
                made.insert(inst, ());
            }
            for inst in event.kind.insts().into_iter().flatten() {
                if !self.before_at.contains(inst)
                    && !made.contains(inst)
                    && let Some(home) = run.homes.home(inst)
                {
                    wanted.entry(home).or_default().insert(inst);
                }
            }
        }
        for (id, wanted) in wanted {
            // In a block that changed everything is indexed already.
            if self.changed.binary_search(&id).is_ok() || !self.before.has(id) {
                continue;
            }
            let Some(block) = self.after.get(id) else { continue };
            for (inst, at) in placed(block).filter(|(inst, _)| wanted.contains(&inst.id)) {
                self.before_at.insert(inst.id, Was { at, inst: *inst });
                self.after_at.insert(inst.id, at);
            }
        }
    }
}

/// The instructions of a block with their places.
fn placed(block: &Block) -> impl Iterator<Item = (&Inst, At)> {
    block.insts.iter().zip(0..).map(|(inst, position)| (inst, At { block: block.id, position }))
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
        assert_eq!(changes.changed(), [BlockId(0)]);
        assert_eq!(changes.before(InstId(3)), Some(At { block: BlockId(1), position: 0 }));
        assert_eq!(changes.before(InstId(4)), None);
        assert_eq!(changes.before(InstId(9)), None);
        let is_anchor = |block, position: usize| {
            let block = run.after.get(BlockId(block)).expect("the block is there");
            changes.is_anchor(block.id, &block.insts[position])
        };
        assert!(is_anchor(0, 0));
        assert!(!is_anchor(0, 1));
        assert!(is_anchor(1, 1));
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
        let run = scene.run();
        let changes = Changes::new(&run);
        assert!(!changes.same_edges());
        assert_eq!(changes.rewired(), [BlockId(0)]);
    }
}
