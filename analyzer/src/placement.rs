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
use crate::location_sets::{self, BlockLocations, Query, Scratch, Side, is_real};

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
    /// Such a path.
    pub path: Vec<BlockId>,
}

/// One snapshot with what is derived from it when it is first asked for.
struct View {
    graph: Graph,
    loops: Loops,
    paths: OnceCell<Dag>,
    components: OnceCell<Dag>,
    dominators: OnceCell<Dominators>,
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
        }
    }

    fn paths(&self) -> &Dag {
        self.paths.get_or_init(|| Dag::paths(&self.graph, &self.loops))
    }

    fn components(&self) -> &Dag {
        self.components.get_or_init(|| Dag::components(&self.graph, &self.loops))
    }

    /// True if every path through one block passes the other; blocks by id, both have to be here.
    fn passes(&self, through: BlockId, by: BlockId) -> bool {
        let node = |id| self.graph.index(id).and_then(|index| self.paths().node(index));
        let (Some(through), Some(by)) = (node(through), node(by)) else { return false };
        self.dominators.get_or_init(|| Dominators::new(self.paths())).passes(through, by)
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

/// The two functions of a run, compared by their paths.
pub struct Placements<'r, 'a> {
    run: PassRun<'a>,
    changes: &'r Changes<'a>,
    copies: FxHashSet<(BlockId, BlockId)>,
    before: OnceCell<View>,
    after: OnceCell<View>,
    blocks_with: OnceCell<FxHashMap<LocId, Vec<u32>>>,
    all_before: OnceCell<BlockLocations>,
    anchors: OnceCell<BlockLocations>,
    avoiding: RefCell<FxHashMap<Query, Option<Vec<u32>>>>,
}

impl<'r, 'a> Placements<'r, 'a> {
    /// Prepares nothing yet: most runs never ask.
    pub fn new(run: &PassRun<'a>, changes: &'r Changes<'a>, copies: &[(BlockId, BlockId)]) -> Self {
        Placements {
            run: *run,
            changes,
            copies: copies.iter().copied().collect(),
            before: OnceCell::new(),
            after: OnceCell::new(),
            blocks_with: OnceCell::new(),
            all_before: OnceCell::new(),
            anchors: OnceCell::new(),
            avoiding: RefCell::default(),
        }
    }

    /// True if every path through the block of P' surely is a path through the block of P.
    pub fn passes(&self, destination: BlockId, source: BlockId) -> bool {
        destination == source
            || self.copies.contains(&(source, destination))
            || self.before().passes(destination, source)
            || (!self.changes.same_edges() && self.after().passes(destination, source))
    }

    /// True if the destination is outside of a loop that the source is in, before or after the run.
    pub fn leaves_loop(&self, destination: BlockId, source: BlockId) -> bool {
        self.before().leaves_loop(source, destination)
            || (!self.changes.same_edges() && self.after().leaves_loop(source, destination))
    }

    /// True if a block of P is in a loop in P'.
    pub fn in_loop_after(&self, block: BlockId) -> bool {
        let view = self.after();
        view.graph.index(block).is_some_and(|index| view.loops.innermost(index).is_some())
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

    /// True if the block came before the other one on every way in P: a move from the first to the
    /// second goes down.
    pub fn comes_before(&self, first: BlockId, second: BlockId) -> bool {
        let view = if self.changes.index_before(second).is_some() { self.before() } else { self.after() };
        let node = |id| view.graph.index(id).and_then(|index| view.paths().node(index));
        let (Some(first), Some(second)) = (node(first), node(second)) else { return false };
        view.dominators.get_or_init(|| Dominators::new(view.paths())).dominates(first, second)
    }

    /// Indices of the blocks of P that have the location, in order.
    pub fn blocks_with(&self, loc: LocId) -> &[u32] {
        let map = self.blocks_with.get_or_init(|| {
            let mut map: FxHashMap<LocId, Vec<u32>> = FxHashMap::default();
            for (index, block) in self.run.before.blocks.iter().enumerate() {
                for inst in block.insts.iter().filter(|inst| is_real(self.run.locations, inst.loc)) {
                    let blocks = map.entry(inst.loc).or_default();
                    if blocks.last() != Some(&(index as u32)) {
                        blocks.push(index as u32);
                    }
                }
            }
            map
        });
        map.get(&loc).map_or(&[], Vec::as_slice)
    }

    /// For each (block of P', location): is the location right there?
    pub fn of_locations(&self, asked: &[(BlockId, LocId)], scratch: &mut Scratch) -> Vec<Placement> {
        let mut placements: Vec<Placement> = Vec::with_capacity(asked.len());
        let mut open: Vec<(usize, Query)> = Vec::new();
        for (number, &(destination, loc)) in asked.iter().enumerate() {
            let blocks = self.blocks_with(loc);
            let decided = self.decide(destination, blocks);
            let needs_sets = decided.as_ref().is_none_or(|p| matches!(p, Placement::OffPath(_)));
            if let Some(index) = self.changes.index_after(destination).filter(|_| needs_sets) {
                open.push((number, Query { destination: index, sources: blocks.to_vec() }));
            }
            placements.push(decided.unwrap_or(Placement::Unclear));
        }
        let queries: Vec<Query> = open.iter().map(|(_, query)| query.clone()).collect();
        for ((number, query), extra) in open.iter().zip(self.extras(&queries, scratch)) {
            if let Some(first) = extra.first() {
                let path =
                    location_sets::path_to(self.anchored(), query.destination as usize, *first, scratch);
                let path = path.into_iter().map(|b| self.changes.block_after(b).id).collect();
                placements[*number] = Placement::OffPath(OffPath { extra, path });
            }
        }
        placements
    }

    /// The determination rule of the paper for several sources: true if L_dst is a subset of L_src.
    pub fn conform(&self, asked: &[(BlockId, Vec<BlockId>)], scratch: &mut Scratch) -> Vec<bool> {
        let queries: Vec<Query> = asked
            .iter()
            .map(|(destination, sources)| {
                let mut sources: Vec<u32> =
                    sources.iter().filter_map(|id| self.changes.index_before(*id)).collect();
                sources.sort_unstable();
                sources.dedup();
                Query { destination: self.changes.index_after(*destination).unwrap_or(0), sources }
            })
            .collect();
        self.extras(&queries, scratch).iter().map(Vec::is_empty).collect()
    }

    /// What the correspondence of paths says about a location that blocks of P had.
    fn decide(&self, destination: BlockId, blocks: &[u32]) -> Option<Placement> {
        let old = self.changes.index_before(destination);
        if old.is_some_and(|index| blocks.binary_search(&index).is_ok()) {
            return Some(Placement::OnPath);
        }
        let mut reachable = blocks.iter().map(|b| self.changes.block_before(*b).id);
        let mut reachable = reachable.by_ref().filter(|id| self.was_reachable(*id)).peekable();
        if reachable.peek().is_none() {
            return Some(Placement::Unclear);
        }
        if reachable.any(|id| self.passes(destination, id)) {
            return Some(Placement::OnPath);
        }
        if !self.changes.same_edges() {
            return None;
        }
        let index = self.changes.index_before(destination)?;
        let mut known = self.avoiding.borrow_mut();
        let path = known
            .entry(Query { destination: index, sources: blocks.to_vec() })
            .or_insert_with(|| location_sets::path_without(self.before().paths(), index as usize, blocks));
        Some(match path {
            None => Placement::OnPath,
            Some(path) => Placement::OffPath(OffPath {
                extra: Vec::new(),
                path: path.iter().map(|b| self.changes.block_before(*b).id).collect(),
            }),
        })
    }

    fn extras(&self, queries: &[Query], scratch: &mut Scratch) -> Vec<Vec<LocId>> {
        if queries.is_empty() {
            return Vec::new();
        }
        let before = self.before();
        let dag = if self.changes.same_edges() { before.paths() } else { before.components() };
        let locations = self
            .all_before
            .get_or_init(|| BlockLocations::new(self.run.before, self.run.locations, |_, _| true));
        location_sets::answer(self.anchored(), Side { dag, locations }, queries, scratch)
    }

    fn anchored(&self) -> Side<'_> {
        let locations = self.anchors.get_or_init(|| {
            BlockLocations::new(self.run.after, self.run.locations, |block, inst| {
                self.changes.is_anchor(block as u32, inst)
            })
        });
        Side { dag: self.after().paths(), locations }
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
