//! What of a function a pass run touched, and where instructions are in P and in P'.
//!
//! Blocks that a run leaves alone are shared between the snapshots, and most of what is in the others stays as
//! it was too: a block is compared from both ends, and only what lies between is indexed, plus the instructions
//! elsewhere that an event mentions (a copy has its source there).

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use metaloc_record::{
    Block, BlockId, EventKind, Inst, InstFlags, InstId, LocId, Lookup, Opcode, PassRun, Snapshot,
};
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

/// Where a block of P' differs from what it was in P: in both, the instructions in front of `start` are the
/// same, and so are those from the end of the middle on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Middle {
    start: usize,
    end_before: usize,
    end_after: usize,
}

impl Middle {
    fn between(old: &[Inst], new: &[Inst]) -> Middle {
        let equal = |pair: &(&Inst, &Inst)| pair.0 == pair.1;
        let start = old.iter().zip(new).take_while(equal).count();
        let (rest_old, rest_new) = (&old[start..], &new[start..]);
        let same = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(equal).count();
        Middle { start, end_before: old.len() - same, end_after: new.len() - same }
    }

    /// Where an instruction of P' was in P if it is not between the ends.
    fn before(&self, position: usize) -> Option<usize> {
        match position {
            _ if position < self.start => Some(position),
            _ if position >= self.end_after => Some(position - self.end_after + self.end_before),
            _ => None,
        }
    }
}

/// The blocks that differ between P and P', and an index of instructions.
#[derive(Debug)]
pub struct Changes<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    changed: Vec<BlockId>,
    /// Of the changed blocks, in the same order.
    middles: Vec<Middle>,
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
            middles: Vec::new(),
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

    /// The instructions of P' that are new, moved, or have another location, and those between two such in a
    /// block, with their places; by block and then in order.
    pub fn differing(&self) -> impl Iterator<Item = (&'a Inst, At)> {
        let after = self.after;
        let blocks = self.changed.iter().zip(&self.middles);
        let blocks = blocks.filter_map(move |(id, middle)| Some((after.get(*id)?, middle)));
        blocks.flat_map(|(block, middle)| placed(block, middle.start..middle.end_after))
    }

    /// Where an instruction was in P that is at a place in P'.
    pub fn origin(&self, inst: InstId, at: At) -> Option<At> {
        if let Some(was) = self.before(inst) {
            return Some(was);
        }
        let position = match self.changed.binary_search(&at.block) {
            Ok(index) => self.middles[index].before(at.position as usize)? as u32,
            Err(_) => at.position,
        };
        self.before.has(at.block).then_some(At { position, ..at })
    }

    /// Where an instruction is in P. Only answers for those that differ, have differing ones around them, or
    /// are in events.
    pub fn before(&self, inst: InstId) -> Option<At> {
        self.before_at.get(inst).map(|was| was.at)
    }

    /// The same with what it is there.
    pub fn was(&self, inst: InstId) -> Option<&Was> {
        self.before_at.get(inst)
    }

    /// Where an instruction is in P'. Answers for the same ones.
    pub fn after(&self, inst: InstId) -> Option<At> {
        self.after_at.get(inst).copied()
    }

    /// True if an instruction of P is not in P' any more. One that is not indexed is where it was.
    pub fn is_gone(&self, inst: InstId) -> bool {
        self.before_at.contains(inst) && !self.after_at.contains(inst)
    }

    /// The instructions of P that are not in P' any more, in no order.
    pub fn gone(&self) -> impl Iterator<Item = &Inst> {
        let gone = self.before_at.iter().filter(|(inst, _)| !self.after_at.contains(*inst));
        gone.map(|(_, was)| &was.inst)
    }

    /// A block as it was in P.
    pub fn block_before(&self, id: BlockId) -> Option<&'a Block> {
        self.before.get(id).map(|block| &**block)
    }

    /// A block as it is in P'.
    pub fn block_after(&self, id: BlockId) -> Option<&'a Block> {
        self.after.get(id).map(|block| &**block)
    }

    /// True if a block of P' was there in P and had the location. A PHI does not count: it has no code in its block, and
    /// those that LCSSA makes have the location of what is in the loop.
    pub fn had(&self, id: BlockId, loc: LocId) -> bool {
        let Some(block) = self.block_before(id) else { return false };
        let insts = &block.insts;
        if insts.len() <= SMALL_BLOCK {
            return insts.iter().any(|inst| inst.loc == loc && !inst.flags.has(InstFlags::PHI));
        }
        let mut had = self.had.borrow_mut();
        let with_code = insts.iter().filter(|inst| !inst.flags.has(InstFlags::PHI));
        had.entry(id).or_insert_with(|| with_code.map(|inst| inst.loc).collect()).contains(&loc)
    }

    /// True if the instruction was in this block of P', with this location, in P already: where control
    /// passes it, it passed it before the run as well.
    pub fn is_anchor(&self, block: BlockId, inst: &Inst) -> bool {
        match self.was(inst.id) {
            Some(was) => was.at.block == block && was.inst.loc == inst.loc,
            // Not indexed: it is where it was, if the block was there.
            None => !self.after_at.contains(inst.id) && self.before.has(block),
        }
    }

    /// True if a store of P is not in P' any more.
    pub fn loses_stores(&self) -> bool {
        *self.loses_stores.get_or_init(|| {
            let store = Opcode::from_name("store");
            self.gone().any(|inst| inst.opcode == store)
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
            let insts = |block: Option<&'a Arc<Block>>| block.map_or(&[][..], |block| &block.insts[..]);
            let middle = Middle::between(insts(old), insts(new));
            if let Some(new) = new {
                self.changed.push(id);
                self.middles.push(middle);
                for (inst, at) in placed(new, middle.start..middle.end_after) {
                    self.after_at.insert(inst.id, at);
                }
            }
            if let Some(old) = old {
                for (inst, at) in placed(old, middle.start..middle.end_before) {
                    self.before_at.insert(inst.id, Was { at, inst: *inst });
                }
            }
        }
    }

    fn find_mentioned(&mut self, run: &PassRun<'_>) {
        // What was made in the run is not in P; only the rest is worth a search.
        let mut made: InstMap<()> = InstMap::default();
        let mut wanted: Vec<(BlockId, InstId)> = Vec::new();
        for event in run.events {
            if let EventKind::Create { inst } | EventKind::Clone { new: inst, .. } = event.kind {
                made.insert(inst, ());
            }
            for inst in event.kind.insts().into_iter().flatten() {
                if !self.before_at.contains(inst)
                    && !made.contains(inst)
                    && let Some(home) = run.lookup.home(inst)
                {
                    wanted.push((home, inst));
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        for wanted in wanted.chunk_by(|a, b| a.0 == b.0) {
            self.find_in_block(wanted[0].0, wanted);
        }
    }

    /// Indexes an instruction that is where it was. False if it is not in P.
    pub fn index(&mut self, inst: InstId, lookup: &dyn Lookup) -> bool {
        if !self.before_at.contains(inst)
            && let Some(home) = lookup.home(inst)
        {
            self.find_in_block(home, &[(home, inst)]);
        }
        self.before_at.contains(inst)
    }

    /// `wanted` is sorted; those that are there have not been indexed, so they are the same in P and P'.
    fn find_in_block(&mut self, id: BlockId, wanted: &[(BlockId, InstId)]) {
        let (true, Some(block)) = (self.before.has(id), self.after.get(id)) else { return };
        let middle = self.changed.binary_search(&id).ok().map(|index| self.middles[index]);
        for (inst, at) in placed(block, 0..block.insts.len()) {
            if wanted.binary_search(&(id, inst.id)).is_err() {
                continue;
            }
            let position = match middle {
                Some(middle) => middle.before(at.position as usize),
                None => Some(at.position as usize),
            };
            if let Some(position) = position {
                let was = At { position: position as u32, ..at };
                self.before_at.insert(inst.id, Was { at: was, inst: *inst });
                self.after_at.insert(inst.id, at);
            }
        }
    }
}

/// Some instructions of a block with their places.
fn placed(block: &Block, range: Range<usize>) -> impl Iterator<Item = (&Inst, At)> {
    let insts = range.clone().zip(&block.insts[range]);
    insts.map(|(position, inst)| (inst, At { block: block.id, position: position as u32 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;
    use proptest::prelude::*;

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

    /// Instructions 0 to 11, each in one of two blocks of P, in one of P', in both or in none, with a location.
    fn functions() -> impl Strategy<Value = [Vec<Vec<(u32, u32)>>; 2]> {
        let inst = (0..12u32, prop_oneof![3 => Just(0u32), 1 => 1..3u32]);
        let block = || prop::collection::vec(inst.clone(), 0..9);
        let changed = (block(), block(), block(), 0..9usize, 0..9usize);
        changed.prop_map(|(one, two, new, cut, keep)| {
            // P' has the beginning and the end of a block of P around something else.
            let middle = cut.min(one.len())..(cut + keep % 3).min(one.len());
            let mut after = one.clone();
            after.splice(middle, new);
            let once = |blocks: Vec<Vec<(u32, u32)>>| {
                let mut seen = FxHashSet::default();
                let fresh = |block: Vec<(u32, u32)>| block.into_iter().filter(|i| seen.insert(i.0)).collect();
                blocks.into_iter().map(fresh).collect()
            };
            [once(vec![one, two.clone()]), once(vec![after, two])]
        })
    }

    fn snapshot(blocks: &[Vec<(u32, u32)>]) -> Snapshot {
        let inst = |(id, loc): &(u32, u32)| Inst {
            id: InstId(*id),
            loc: LocId(*loc),
            opcode: Opcode(0),
            flags: InstFlags::default(),
        };
        let block = |(id, insts): (u32, &Vec<(u32, u32)>)| Block {
            id: BlockId(id),
            insts: insts.iter().map(inst).collect(),
            successors: Vec::new(),
        };
        (0..).zip(blocks).map(block).collect()
    }

    #[derive(Debug)]
    struct In<'a>(&'a Snapshot);

    impl metaloc_record::Lookup for In<'_> {
        fn home(&self, inst: InstId) -> Option<BlockId> {
            everywhere(self.0).get(&inst).map(|(at, _)| at.block)
        }

        fn operands(&self, _: InstId) -> Vec<metaloc_record::Operand> {
            Vec::new()
        }

        fn is_marker(&self, _: InstId) -> bool {
            false
        }
    }

    fn everywhere(snapshot: &Snapshot) -> FxHashMap<InstId, (At, Inst)> {
        let all = snapshot.blocks().flat_map(|block| placed(block, 0..block.insts.len()));
        all.map(|(inst, at)| (inst.id, (at, *inst))).collect()
    }

    proptest! {
        /// Against an index of everything.
        #[test]
        fn what_is_not_indexed_is_where_it_was(
            [before, after] in functions(),
            mentioned in prop::collection::vec(0..12u32, 0..4),
        ) {
            let (before, after) = (snapshot(&before), snapshot(&after));
            let (was, is) = (everywhere(&before), everywhere(&after));
            let event = |inst: &u32| metaloc_record::Event {
                kind: EventKind::DropLocation { inst: InstId(*inst) },
                stack: metaloc_record::StackId(0),
            };
            let events: Vec<_> = mentioned.iter().map(event).collect();
            let run = PassRun {
                pass: "test",
                before: &before,
                after: &after,
                events: &events,
                locations: &metaloc_record::LocationTable::default(),
                lookup: &In(&after),
            };
            let changes = Changes::new(&run);
            let differing: FxHashSet<InstId> = changes.differing().map(|(inst, _)| inst.id).collect();
            for (&inst, (at, now)) in &is {
                let old = was.get(&inst);
                prop_assert_eq!(changes.origin(inst, *at), old.map(|(at, _)| *at));
                let stays = old.is_some_and(|(old, then)| old.block == at.block && then.loc == now.loc);
                prop_assert_eq!(changes.is_anchor(at.block, now), stays);
                prop_assert!(stays || differing.contains(&inst));
            }
            for inst in was.keys() {
                prop_assert_eq!(changes.is_gone(*inst), !is.contains_key(inst));
            }
            for inst in mentioned.iter().map(|inst| InstId(*inst)) {
                prop_assert_eq!(changes.before(inst), was.get(&inst).map(|(at, _)| *at));
                prop_assert_eq!(changes.after(inst), is.get(&inst).map(|(at, _)| *at));
            }
        }
    }
}
