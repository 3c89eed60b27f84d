//! Whether the paths through a destination are paths that had a location before the run.
//!
//! The paper abstracts a path to its locations, because which path of P' came from which path of P is
//! hard to tell in general. Often it is not:
//!
//! - *Same block.* What stays in its block stays on its paths, whatever happens around it
//!   (HowToUpdateDebugInfo: "if the instruction remains in its basic block").
//! - *Same edges.* If the run changed no edge, paths correspond one to one, and the conformance relation
//!   (Definition 3.2) can be decided as it is written: the location may be there if every path through
//!   the destination passes a block that had the location in P.
//! - *Dominance.* If the edges changed, but every path through the destination passes the source's block
//!   in P', or in P for a destination block that is older than the run (splits and merges of blocks).
//! - *Splits.* A new block that was split off an older one is the rest of that.
//! - *Copies.* A new block that is a copy of the source's block stands for it (unrolling, threading, ...).
//!
//! Where none of these decides, the sets do (Definition 3.4), with two differences from the paper:
//!
//! - In P' only anchors count: instructions that were in the same block with the same location in P.
//!   Only they tell which path of P a path of P' was. Whatever else the run moved, copied or created
//!   there tells nothing, and one error must not make others out of everything on its paths.
//! - If the edges changed, iterations of a loop may have been laid out one after the other, so that what
//!   were two iterations is one path now. The set of a source is then taken over any number of
//!   iterations. An extra location is one that no execution that passes the source ever passes.

use std::cell::{OnceCell, RefCell};

use metaloc_record::{BlockId, LocId, PassRun, Snapshot};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::{Dag, Dominators, Graph, Loops};
use crate::changes::Changes;
use crate::lineage::Lineage;
use crate::location_sets::{self, Blocks, Scratch, Side, is_real};

/// What can be said about a location on the paths through a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Every path through the destination had the location.
    OnPath,
    /// Some path did not.
    OffPath(OffPath),
    /// Neither is certain.
    Unclear,
}

/// A path through the destination that did not have the location.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffPath {
    /// Locations on paths through the destination that are on no path with the location in P. May be
    /// empty if the paths correspond and the one that lacks the location has no other of its own.
    pub extra: Vec<LocId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Query {
    destination: BlockId,
    blocks: Vec<u32>,
}

/// One snapshot with what is derived from it when it is first asked for.
struct View {
    graph: Graph,
    loops: Loops,
    paths: OnceCell<Dag>,
    components: OnceCell<Dag>,
    dominators: OnceCell<Dominators>,
    forward: OnceCell<Dag>,
    forward_dominators: OnceCell<Dominators>,
    component_dominators: OnceCell<Dominators>,
}

impl View {
    fn new(snapshot: &Snapshot) -> View {
        let graph = Graph::new(snapshot);
        let loops = Loops::new(&graph);
        View {
            graph,
            loops,
            paths: OnceCell::new(),
            components: OnceCell::new(),
            dominators: OnceCell::new(),
            forward: OnceCell::new(),
            forward_dominators: OnceCell::new(),
            component_dominators: OnceCell::new(),
        }
    }

    fn paths(&self) -> &Dag {
        self.paths.get_or_init(|| Dag::paths(&self.graph, &self.loops))
    }

    fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(self.paths()))
    }

    fn forward(&self) -> &Dag {
        self.forward.get_or_init(|| Dag::forward(&self.graph, &self.loops))
    }

    fn node(&self, block: BlockId) -> Option<usize> {
        self.graph.index(block).and_then(|index| self.paths().node(index))
    }

    /// True if every execution that reaches one block has passed the other.
    fn dominates(&self, by: BlockId, to: BlockId) -> bool {
        let (Some(by), Some(to)) = (self.node(by), self.node(to)) else { return false };
        self.forward_dominators.get_or_init(|| Dominators::before(self.forward())).dominates(by, to)
    }

    fn path_side(&self) -> Side<'_> {
        Side { dag: self.paths(), dominators: self.dominators() }
    }

    fn component_side(&self) -> Side<'_> {
        let dag = self.components.get_or_init(|| Dag::components(&self.graph, &self.loops));
        Side { dag, dominators: self.component_dominators.get_or_init(|| Dominators::new(dag)) }
    }

    /// True if every path through one block passes the other; blocks by id, both have to be here.
    fn passes(&self, through: BlockId, by: BlockId) -> bool {
        let (Some(node), Some(other)) = (self.node(through), self.node(by)) else { return false };
        self.dominators().is_passed_after(other, node) || self.dominates(by, through)
    }

    fn is_reachable(&self, block: BlockId) -> bool {
        self.graph.index(block).is_some_and(|index| self.loops.is_reachable(index))
    }

    /// True if both are here and the first is in a loop that the second is not in.
    fn leaves_loop(&self, from: BlockId, to: BlockId) -> bool {
        let (Some(from), Some(to)) = (self.graph.index(from), self.graph.index(to)) else { return false };
        self.loops.innermost(from).is_some_and(|of| !self.loops.contains(of, to))
    }
}

/// The blocks of P by the locations they have: two columns, sorted by location, then block.
struct BlocksWith {
    locations: Vec<LocId>,
    blocks: Vec<u32>,
}

impl BlocksWith {
    fn new(run: &PassRun<'_>) -> BlocksWith {
        let mut pairs: Vec<(LocId, u32)> = Vec::new();
        for (index, block) in run.before.blocks.iter().enumerate() {
            let mut last = LocId::NONE;
            for inst in &block.insts {
                // Neighbours mostly share a location.
                if inst.loc != last && is_real(run.locations, inst.loc) {
                    last = inst.loc;
                    pairs.push((inst.loc, index as u32));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        let (locations, blocks) = pairs.into_iter().unzip();
        BlocksWith { locations, blocks }
    }

    fn of(&self, loc: LocId) -> &[u32] {
        let start = self.locations.partition_point(|l| *l < loc);
        let count = self.locations[start..].iter().take_while(|l| **l == loc).count();
        &self.blocks[start..start + count]
    }
}

/// The two functions of a run, compared by their paths.
pub struct Placements<'r, 'a> {
    run: PassRun<'a>,
    changes: &'r Changes<'a>,
    copies: FxHashSet<(BlockId, BlockId)>,
    splits: &'r FxHashMap<BlockId, BlockId>,
    before: OnceCell<View>,
    after: OnceCell<View>,
    blocks_with: OnceCell<BlocksWith>,
    known: RefCell<FxHashMap<Query, Placement>>,
}

impl<'r, 'a> Placements<'r, 'a> {
    /// Prepares nothing yet: most runs never ask.
    pub fn new(run: &PassRun<'a>, changes: &'r Changes<'a>, lineage: &'r Lineage<'a>) -> Self {
        Placements {
            run: *run,
            changes,
            copies: lineage.copies.iter().copied().collect(),
            splits: &lineage.splits,
            before: OnceCell::new(),
            after: OnceCell::new(),
            blocks_with: OnceCell::new(),
            known: RefCell::default(),
        }
    }

    /// True if every path through the block of P' surely is a path through the block of P.
    pub fn passes(&self, destination: BlockId, source: BlockId) -> bool {
        let was = self.was(destination);
        was == Some(source)
            || self.copies.contains(&(source, destination))
            || was.is_some_and(|was| self.before().passes(was, source))
            || (!self.changes.same_edges() && self.after().passes(destination, source))
    }

    /// The block of P that a block of P' is, or is the rest of.
    pub fn was(&self, destination: BlockId) -> Option<BlockId> {
        let older = self.changes.index_before(destination).map(|_| destination);
        older.or_else(|| self.splits.get(&destination).copied())
    }

    /// True if the destination is outside of a loop that the source is in, before or after the run.
    pub fn leaves_loop(&self, destination: BlockId, source: BlockId) -> bool {
        self.was(destination).is_some_and(|was| self.before().leaves_loop(source, was))
            || (!self.changes.same_edges() && self.after().leaves_loop(source, destination))
    }

    /// True if a block of P is in more loops in P' than another block of P'.
    pub fn goes_up_in_depth(&self, from: BlockId, to: BlockId) -> bool {
        let view = self.after();
        let depth = |id| view.graph.index(id).map(|index| view.loops.depth(index));
        depth(from).zip(depth(to)).is_some_and(|(from, to)| to < from)
    }

    /// True if a block of P was in no loop and is in one in P'.
    pub fn made_loop(&self, block: BlockId) -> bool {
        let depth = |view: &View| view.graph.index(block).map(|index| view.loops.depth(index));
        depth(self.before()) == Some(0) && depth(self.after()).is_some_and(|depth| depth > 0)
    }

    /// True if the block of P' is a copy of the block of P.
    pub fn is_copy(&self, source: BlockId, destination: BlockId) -> bool {
        self.copies.contains(&(source, destination))
    }

    /// True if the destination can be reached in P'.
    pub fn is_reachable(&self, destination: BlockId) -> bool {
        self.after().is_reachable(destination)
    }

    /// True if the source can be reached in P.
    pub fn was_reachable(&self, source: BlockId) -> bool {
        self.before().is_reachable(source)
    }

    /// True if every way to the second block passes the first, in P if both were there: what is moved from
    /// the first to the second is moved down.
    pub fn comes_before(&self, first: BlockId, second: BlockId) -> bool {
        let both_old = [first, second].iter().all(|id| self.changes.index_before(*id).is_some());
        let view = if both_old { self.before() } else { self.after() };
        view.dominates(first, second)
    }

    /// Indices of the blocks of P that have the location, in order.
    pub fn blocks_with(&self, loc: LocId) -> &[u32] {
        self.blocks_with.get_or_init(|| BlocksWith::new(&self.run)).of(loc)
    }

    /// Is a location right in a block of P'?
    pub fn of_location(&self, destination: BlockId, loc: LocId, scratch: &mut Scratch) -> Placement {
        let blocks = self.blocks_with(loc);
        let key = Query { destination, blocks: blocks.to_vec() };
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let placement = self.decide(destination, blocks, scratch);
        self.known.borrow_mut().insert(key, placement.clone());
        placement
    }

    /// The determination rule of the paper: true if L_dst is a subset of L_src.
    pub fn conform(&self, destination: BlockId, sources: &[BlockId], scratch: &mut Scratch) -> bool {
        let sources: Vec<u32> = sources.iter().filter_map(|id| self.changes.index_before(*id)).collect();
        self.extra(destination, &sources, scratch).is_empty()
    }

    /// A path through the block of P' that did not have the location.
    pub fn path(&self, destination: BlockId, loc: LocId, off_path: &OffPath) -> Vec<BlockId> {
        let path = match (off_path.extra.first(), self.changes.index_after(destination)) {
            (Some(first), Some(index)) => location_sets::path_to(self.after().paths(), index, |block| {
                let insts = &self.changes.block_after(block).insts;
                insts.iter().any(|inst| inst.loc == *first && self.changes.is_anchor(block, inst))
            }),
            (None, Some(index)) if self.changes.same_edges() => {
                let sources: Vec<u32> = self.blocks_with(loc).iter().filter_map(|b| self.now(*b)).collect();
                let view = self.after();
                location_sets::path_without(view.forward(), view.paths(), index, &sources).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        path.into_iter().map(|block| self.changes.block_after(block).id).collect()
    }

    fn decide(&self, destination: BlockId, blocks: &[u32], scratch: &mut Scratch) -> Placement {
        let old = self.changes.index_before(destination);
        if old.is_some_and(|index| blocks.binary_search(&index).is_ok()) {
            return Placement::OnPath;
        }
        let mut ids = blocks.iter().map(|b| self.changes.block_before(*b).id);
        let reachable: Vec<BlockId> = ids.by_ref().filter(|id| self.was_reachable(*id)).collect();
        if reachable.is_empty() {
            return Placement::Unclear;
        }
        if reachable.iter().any(|id| self.passes(destination, *id)) {
            return Placement::OnPath;
        }
        if self.changes.same_edges() {
            let view = self.before();
            let nodes: Vec<usize> = reachable.iter().filter_map(|id| view.node(*id)).collect();
            let (ways, paths) = (view.forward(), view.paths());
            let mut avoids = |node| location_sets::can_avoid(ways, paths, node, &nodes, scratch);
            if !view.node(destination).is_some_and(&mut avoids) {
                return Placement::OnPath;
            }
            return Placement::OffPath(OffPath { extra: self.extra(destination, blocks, scratch) });
        }
        let extra = self.extra(destination, blocks, scratch);
        if extra.is_empty() { Placement::Unclear } else { Placement::OffPath(OffPath { extra }) }
    }

    fn extra(&self, destination: BlockId, sources: &[u32], scratch: &mut Scratch) -> Vec<LocId> {
        let Some(index) = self.changes.index_after(destination) else { return Vec::new() };
        let view = self.before();
        let before = if self.changes.same_edges() { view.path_side() } else { view.component_side() };
        location_sets::extra(self.after().path_side(), before, index, sources, self, scratch)
    }

    /// Index in P' of a block of P.
    fn now(&self, block: u32) -> Option<u32> {
        self.changes.index_after(self.changes.block_before(block).id)
    }

    fn before(&self) -> &View {
        self.before.get_or_init(|| View::new(self.run.before))
    }

    fn after(&self) -> &View {
        // The same edges make the same view, so that one is enough; indices may differ, ids do not.
        if self.changes.same_edges() && self.changes.same_layout() {
            return self.before();
        }
        self.after.get_or_init(|| View::new(self.run.after))
    }
}

impl Blocks for Placements<'_, '_> {
    fn before(&self, block: u32) -> Option<u32> {
        self.was(self.changes.block_after(block).id).and_then(|was| self.changes.index_before(was))
    }

    fn locations(&self, block: u32, each: &mut dyn FnMut(LocId)) {
        let mut last = LocId::NONE;
        for inst in &self.changes.block_after(block).insts {
            // Neighbours mostly share a location.
            if inst.loc != last
                && is_real(self.run.locations, inst.loc)
                && self.changes.is_anchor(block, inst)
            {
                last = inst.loc;
                each(inst.loc);
            }
        }
    }

    fn with(&self, loc: LocId) -> &[u32] {
        self.blocks_with(loc)
    }
}
