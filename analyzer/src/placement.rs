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
//! - *Decisions that are still made.* A block that is older than the run and got code in front of its decision still makes
//!   it: control comes from where it came, and is led by the same terminator to one of the same blocks, or a `select` has
//!   the same condition. Those paths that avoided the location then still do, though nothing else may be left of them. (A
//!   decision that is not made any more may have been found to go one way always. So that a path avoided the location by
//!   the way out of another decision counts only if that one is still made, too.)
//!
//! Where none of these decides, the sets do (Definition 3.4), with two differences from the paper:
//!
//! - In P' only anchors count: instructions that were in the same block with the same location in P.
//!   Only they tell which path of P a path of P' was. Whatever else the run moved, copied or created
//!   there tells nothing, and one error must not make others out of everything on its paths.
//! - If the edges changed, iterations of a loop may have been laid out one after the other, so that what
//!   were two iterations is one path now. The set of a source is then taken over any number of
//!   iterations. An extra location is one that no execution that passes the source ever passes.
//!
//! Most runs change a small part of a function, and only the region around that part is looked at (see
//! [`crate::outline`]).

use std::cell::{OnceCell, RefCell};

use metaloc_record::{Block, BlockId, InstId, LocId, Opcode, PassRun};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::changes::Changes;
use crate::lineage::{Destination, Lineage};
use crate::location_sets::{self, Blocks, Scratch, is_real};
use crate::memory::{Memory, Views};
use crate::view::View;

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
    blocks: Vec<BlockId>,
}

/// The two functions of a run, compared by their paths.
pub struct Placements<'r, 'a> {
    run: PassRun<'a>,
    changes: &'r Changes<'a>,
    copies: FxHashSet<(BlockId, BlockId)>,
    splits: &'r FxHashMap<BlockId, BlockId>,
    memory: &'r Memory,
    /// The blocks of P that questions are going to be about; `None` if that is the whole function.
    about: Option<Vec<BlockId>>,
    views: OnceCell<Views>,
    entered_otherwise: OnceCell<FxHashSet<BlockId>>,
    known: RefCell<FxHashMap<Query, Placement>>,
}

impl<'r, 'a> Placements<'r, 'a> {
    /// Prepares nothing yet: most runs never ask. Questions are about the destinations given, their sources,
    /// and whatever had their locations.
    pub fn new(
        run: &PassRun<'a>,
        changes: &'r Changes<'a>,
        lineage: &'r Lineage<'a>,
        memory: &'r Memory,
        destinations: &[&Destination<'_>],
    ) -> Self {
        let mut placements = Placements::of_function(run, changes, lineage, memory);
        placements.about = Some(placements.blocks_about(lineage, destinations));
        placements
    }

    /// The same for questions about any block, in the time of the whole function.
    pub fn of_function(
        run: &PassRun<'a>,
        changes: &'r Changes<'a>,
        lineage: &'r Lineage<'a>,
        memory: &'r Memory,
    ) -> Self {
        Placements {
            run: *run,
            changes,
            copies: lineage.copies.iter().copied().collect(),
            splits: &lineage.splits,
            memory,
            about: None,
            views: OnceCell::new(),
            entered_otherwise: OnceCell::new(),
            known: RefCell::default(),
        }
    }

    fn blocks_about(&self, lineage: &Lineage<'_>, destinations: &[&Destination<'_>]) -> Vec<BlockId> {
        let mut about: Vec<BlockId> = self.changes.rewired().to_vec();
        for destination in destinations {
            about.extend(self.was(destination.at.block));
            about.extend(self.ways_out(destination.at.block));
            about.extend(
                destination.sources.iter().filter_map(|s| self.changes.before(s.inst)).map(|at| at.block),
            );
            self.add_blocks_taken(lineage, destination, &mut about);
            if is_real(self.run.locations, destination.inst.loc) {
                about.extend(self.blocks_with(destination.inst.loc));
            }
        }
        about.retain(|id| self.run.before.has(*id));
        about.sort_unstable();
        about.dedup();
        about
    }

    /// The blocks of values elsewhere that a destination took over from, and of what uses these or the destination now.
    fn add_blocks_taken(
        &self,
        lineage: &Lineage<'_>,
        destination: &Destination<'_>,
        about: &mut Vec<BlockId>,
    ) {
        let lookup = self.run.lookup;
        let users = |inst: InstId| lookup.users(inst).unwrap_or_default().into_iter();
        let mut elsewhere = false;
        for inst in lineage.taken(destination) {
            let Some(at) = self.changes.before(inst).filter(|at| at.block != destination.at.block) else {
                continue;
            };
            elsewhere = true;
            about.push(at.block);
            about.extend(users(inst).filter_map(|user| lookup.home(user)));
        }
        if elsewhere {
            about.extend(users(destination.inst.id).filter_map(|user| lookup.home(user)));
        }
    }

    /// Where a block led that leads elsewhere now.
    fn ways_out(&self, id: BlockId) -> &'a [BlockId] {
        let rewired = self.changes.rewired().binary_search(&id).is_ok();
        let block = self.changes.block_before(id).filter(|_| rewired);
        block.map_or(&[], |block| block.successors.as_slice())
    }

    /// True if every path through the block of P' surely is a path through the block of P.
    pub fn passes(&self, destination: BlockId, source: BlockId) -> bool {
        let was = self.was(destination);
        was == Some(source)
            || self.copies.contains(&(source, destination))
            || was.is_some_and(|was| self.before().passes(was, source))
            || (!self.changes.same_edges() && self.after().passes(destination, source))
    }

    /// True if every path through a block of P surely is a path through another one of P', before or behind it.
    pub fn leads_through(&self, source: BlockId, destination: BlockId) -> bool {
        match self.was(destination) {
            Some(was) => was != source && self.before().passes(source, was),
            None => !self.changes.same_edges() && self.after().passes(source, destination),
        }
    }

    /// True if some path through a block of P does not have the location.
    pub fn avoids(&self, source: BlockId, loc: LocId) -> bool {
        let view = self.before();
        let (ways, paths) = (view.forward(), view.paths());
        let nodes: Vec<usize> = self.memory.blocks_with(loc).filter_map(|id| view.node(id)).collect();
        let source = view.node(source);
        source
            .is_some_and(|node| location_sets::can_avoid(ways, paths, node, &nodes, &mut Scratch::default()))
    }

    /// The block of P that a block of P' is, or is the rest of.
    pub fn was(&self, destination: BlockId) -> Option<BlockId> {
        let older = self.run.before.has(destination).then_some(destination);
        older.or_else(|| self.splits.get(&destination).copied())
    }

    /// True if the destination is outside of a loop that the source is in, before or after the run. A copy is in a copy of
    /// the loop, or in an iteration that was taken out of it.
    pub fn leaves_loop(&self, destination: BlockId, source: BlockId) -> bool {
        if self.is_copy(source, destination) {
            return false;
        }
        self.was(destination).is_some_and(|was| self.before().leaves_loop(source, was))
            || (!self.changes.same_edges() && self.after().leaves_loop(source, destination))
    }

    /// True if a block of P is in more loops in P' than another block of P'.
    pub fn goes_up_in_depth(&self, from: BlockId, to: BlockId) -> bool {
        let view = self.after();
        view.depth(from).zip(view.depth(to)).is_some_and(|(from, to)| to < from)
    }

    /// True if a block of P was in no loop and is in one in P'.
    pub fn made_loop(&self, block: BlockId) -> bool {
        self.before().depth(block) == Some(0) && self.after().depth(block).is_some_and(|depth| depth > 0)
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
        let both_old = [first, second].iter().all(|id| self.run.before.has(*id));
        let view = if both_old { self.before() } else { self.after() };
        view.dominates(first, second)
    }

    /// The blocks of P that have the location, in the order of their ids.
    pub fn blocks_with(&self, loc: LocId) -> Vec<BlockId> {
        self.memory.blocks_with(loc).collect()
    }

    /// Is a location right in a block of P'?
    pub fn of_location(&self, destination: BlockId, loc: LocId, scratch: &mut Scratch) -> Placement {
        let key = Query { destination, blocks: self.blocks_with(loc) };
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let placement = self.decide(destination, &key.blocks, scratch);
        self.known.borrow_mut().insert(key, placement.clone());
        placement
    }

    /// The determination rule of the paper: true if L_dst is a subset of L_src.
    pub fn conform(&self, destination: BlockId, sources: &[BlockId], scratch: &mut Scratch) -> bool {
        self.extra(destination, sources, scratch).is_empty()
    }

    /// A path from the entry through the block of P' that did not have the location. Asks about any block.
    pub fn path(&self, destination: BlockId, loc: LocId, extra: Option<LocId>) -> Vec<BlockId> {
        let view = self.after();
        let path = match (extra, view.graph.index(destination)) {
            (Some(extra), Some(index)) => location_sets::path_to(view.paths(), index as u32, |block| {
                let block = self.changes.block_after(view.graph.id(block as usize));
                block.is_some_and(|block| {
                    block.insts.iter().any(|i| i.loc == extra && self.changes.is_anchor(block.id, i))
                })
            }),
            (None, Some(index)) if self.changes.same_edges() => {
                let with = self.blocks_with(loc);
                let sources: Vec<u32> = with.iter().filter_map(|id| self.index_after(*id)).collect();
                location_sets::path_without(view.forward(), view.paths(), index as u32, &sources)
                    .unwrap_or_default()
            }
            _ => Vec::new(),
        };
        path.into_iter().map(|block| view.graph.id(block as usize)).collect()
    }

    fn decide(&self, destination: BlockId, blocks: &[BlockId], scratch: &mut Scratch) -> Placement {
        if blocks.binary_search(&destination).is_ok() {
            return Placement::OnPath;
        }
        let reachable: Vec<BlockId> = blocks.iter().copied().filter(|id| self.was_reachable(*id)).collect();
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
        if extra.is_empty() && !self.still_avoids(destination, &reachable, scratch) {
            return Placement::Unclear;
        }
        Placement::OffPath(OffPath { extra })
    }

    /// True if the block was there and decided whether control comes to the others, and still does.
    fn still_avoids(&self, id: BlockId, others: &[BlockId], scratch: &mut Scratch) -> bool {
        let (Some(was), Some(is)) = (self.changes.block_before(id), self.changes.block_after(id)) else {
            return false;
        };
        let (Some(end), [_, _, ..]) = (was.insts.last(), self.ways_out(id)) else { return false };
        let same_end = is.insts.last().is_some_and(|last| last.id == end.id);
        if !same_end && !self.is_select_of(is, end.id) {
            return false;
        }
        let view = self.before();
        if self.entered_otherwise().contains(&id) || !others.iter().all(|other| view.dominates(id, *other)) {
            return false;
        }
        let nodes: Vec<usize> = others.iter().filter_map(|id| view.node(*id)).collect();
        let (ways, paths) = (view.forward(), view.paths());
        let went = |node: usize| {
            let mut blocks = paths.blocks(node).iter().map(|block| view.graph.id(*block as usize));
            blocks.any(|block| block != id && self.decides_no_more(block, is))
        };
        let mut avoids = |to: &BlockId| {
            let node = view.node(*to).filter(|_| !same_end || is.successors.contains(to));
            node.is_some_and(|node| {
                location_sets::can_avoid(ways, paths, node, &nodes, scratch)
                    && location_sets::can_avoid_from(paths, node, &nodes, went, scratch)
            })
        };
        was.successors.iter().any(&mut avoids)
    }

    /// True if a block of P led to several, and neither its terminator is left nor a `select` on its condition, there or in
    /// the block of P' given.
    fn decides_no_more(&self, id: BlockId, is: &Block) -> bool {
        let Some(was) = self.changes.block_before(id) else { return false };
        let Some(end) = was.insts.last().filter(|end| self.changes.is_gone(end.id)) else { return false };
        let decided = was.successors.iter().any(|to| *to != was.successors[0]);
        let here = self.changes.block_after(id);
        decided && !here.into_iter().chain([is]).any(|block| self.is_select_of(block, end.id))
    }

    /// The blocks that control does not come to from all the same blocks as before.
    fn entered_otherwise(&self) -> &FxHashSet<BlockId> {
        self.entered_otherwise.get_or_init(|| {
            let mut found = FxHashSet::default();
            for id in self.changes.rewired() {
                let led = |block: Option<&'a Block>| block.map_or(&[][..], |block| &block.successors);
                let (was, is) = (led(self.changes.block_before(*id)), led(self.changes.block_after(*id)));
                let (was, is): (FxHashSet<_>, FxHashSet<_>) = (was.iter().collect(), is.iter().collect());
                found.extend(was.symmetric_difference(&is).map(|to| **to));
            }
            found
        })
    }

    /// True if a new `select` of a block of P' has the condition of a terminator that went.
    fn is_select_of(&self, block: &Block, end: InstId) -> bool {
        let select = Opcode::from_name("select");
        let lookup = self.run.lookup;
        let Some(condition) = lookup.noted_operands(end).first().filter(|_| self.changes.is_gone(end)) else {
            return false;
        };
        let is_new = |inst: &InstId| self.changes.after(*inst).is_some() && self.changes.was(*inst).is_none();
        let selects = block.insts.iter().filter(|inst| inst.opcode == select).map(|inst| inst.id);
        selects.filter(is_new).any(|inst| lookup.operands(inst).first() == Some(condition))
    }

    fn extra(&self, destination: BlockId, sources: &[BlockId], scratch: &mut Scratch) -> Vec<LocId> {
        let Some(destination) = self.index_after(destination) else { return Vec::new() };
        let sources: Vec<u32> = sources.iter().filter_map(|id| self.index_before(*id)).collect();
        let view = self.before();
        let before = if self.changes.same_edges() { view.path_side() } else { view.component_side() };
        location_sets::extra(self.after().path_side(), before, destination, &sources, self, scratch)
    }

    fn index_before(&self, id: BlockId) -> Option<u32> {
        self.before().graph.index(id).map(|index| index as u32)
    }

    fn index_after(&self, id: BlockId) -> Option<u32> {
        self.after().graph.index(id).map(|index| index as u32)
    }

    fn views(&self) -> &Views {
        self.views.get_or_init(|| {
            let after = (!self.changes.same_edges()).then_some(self.run.after);
            // A new entry is in front of every region.
            let region = self.about.as_ref().filter(|_| self.run.before.entry() == self.run.after.entry());
            let region = region.and_then(|about| self.memory.region_views(about, after));
            region.unwrap_or_else(|| self.memory.whole_views(after))
        })
    }

    fn before(&self) -> &View {
        &self.views().before
    }

    fn after(&self) -> &View {
        // The same edges make the same view, so that one is enough.
        let views = self.views();
        views.after.as_ref().unwrap_or(&views.before)
    }
}

impl Blocks for Placements<'_, '_> {
    fn before(&self, block: u32) -> Option<u32> {
        self.was(self.after().graph.id(block as usize)).and_then(|was| self.index_before(was))
    }

    fn locations(&self, block: u32, each: &mut dyn FnMut(LocId)) {
        let Some(block) = self.changes.block_after(self.after().graph.id(block as usize)) else { return };
        let mut last = LocId::NONE;
        for inst in &block.insts {
            // Neighbours mostly share a location.
            if inst.loc != last
                && is_real(self.run.locations, inst.loc)
                && self.changes.is_anchor(block.id, inst)
            {
                last = inst.loc;
                each(inst.loc);
            }
        }
    }

    /// What is outside of the region is not between any limits in it, and so is what control also comes to from
    /// outside: see [`crate::location_sets`] for what that means.
    fn any_with(&self, loc: LocId, predicate: &dyn Fn(u32) -> bool) -> bool {
        let is_known = |index: u32| self.before().shared().contains(&index) || predicate(index);
        self.memory.blocks_with(loc).any(|id| self.index_before(id).is_none_or(is_known))
    }
}
