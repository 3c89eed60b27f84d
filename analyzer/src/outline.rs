//! Regions: the part of a function that a question is about, found without looking at the rest.
//!
//! A region has one entry c and one end p. Control comes into it through c only, not on a back edge, and leaves
//! it to p only (or not at all, where the function ends), or to code that never returns. Between the two a path
//! looks the same whether the rest of the function is there or not:
//!
//! - the depth-first search enters at c and leaves at p, so that retreating edges and loops are those of the
//!   whole function, except loops around the whole region: these are counted, and where any number of
//!   iterations matters, p leads back to c;
//! - whatever comes before c or after p comes so on every path through any block of the region.
//!
//! So a run on one loop of a large function is judged on the region around that loop.
//!
//! To find regions the whole function has to be searched once. That search, the outline, is kept while runs
//! change edges, as long as each change lies in a region. What is inside of such a region is then *stale*: the
//! outline knows nothing about it any more, but everything outside is as it was. A region whose c and p are
//! not stale contains each changed region that it touches as a whole: one that contains a block outside would
//! contain p, and one with an entry outside would contain c. So nothing that is known of c and p has changed.
//! If p could not be reached any more after a change, what follows would be dead, and the outline is given up.
//!
//! Code that never returns (calls to `abort`, `unreachable`) is often shared by the whole function. No path
//! leads back from it, so it may hang on a region; which parts of it control also comes to from elsewhere is said
//! with the view. A question about it is one about the function.

use std::ops::Range;
use std::sync::Arc;

use metaloc_record::{BlockId, Opcode, Snapshot};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::dag::Visited;
use crate::cfg::graph::Rows;
use crate::cfg::{Dominators, Graph};
use crate::view::{Around, View};

/// How many pairs of entry and end are tried before the whole function is taken.
const MAX_TRIES: usize = 8;

/// With more blocks that never return the whole function is taken.
const MAX_ASTRAY: usize = 64;

/// How many blocks of a function there are in a region at most: more than half of the function is no smaller than
/// all of it.
pub fn largest_region(blocks: usize) -> usize {
    blocks / 2 + 1
}

/// A function at one moment, and which parts of it have changed since.
#[derive(Debug)]
pub struct Outline {
    view: Arc<View>,
    /// By index, of blocks that control can reach.
    predecessors: Rows,
    /// By node: some path leads to a return.
    returns: Vec<bool>,
    /// What comes after, on paths that return.
    ends: Dominators,
    /// By index: within a region that has changed since.
    stale: Vec<bool>,
    /// Blocks that are younger, with the entry of the region that they came up in.
    younger: FxHashMap<BlockId, BlockId>,
    inside: Visited,
}

/// A part of a function with one entry and one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    entry: BlockId,
    end: Option<BlockId>,
    outer_loops: u32,
    /// The entry and what is between, in the outline.
    blocks: Vec<BlockId>,
}

/// Why two blocks are not the entry and the end of a region.
enum NotClosed {
    /// What is between them is no smaller than the function.
    TooLarge,
    /// Control also comes in from these blocks.
    EnteredFrom(Vec<usize>),
}

impl Outline {
    /// The outline of a whole function, of which this is the view.
    pub fn new(view: Arc<View>, snapshot: &Snapshot) -> Outline {
        let returns = returns(&view, snapshot);
        let ends = Dominators::after_among(view.paths(), |node| returns[node]);
        let edges = view.loops.reachable().iter().flat_map(|from| {
            let to = view.graph.successors(*from as usize);
            to.iter().map(|to| (*to, *from))
        });
        let predecessors = Rows::from_pairs(view.graph.len(), &edges.collect::<Vec<_>>());
        let stale = vec![false; view.graph.len()];
        Outline {
            view,
            predecessors,
            returns,
            ends,
            stale,
            younger: FxHashMap::default(),
            inside: Visited::default(),
        }
    }

    /// The smallest region found that has all of some blocks between its entry and its end, the entry
    /// included; `None` if only the whole function will do.
    pub fn region(&mut self, wanted: &[BlockId]) -> Option<Region> {
        let mut nodes: Vec<usize> = Vec::with_capacity(wanted.len());
        for id in wanted {
            let id = self.younger.get(id).unwrap_or(id);
            let node = self.view.node(*id).filter(|node| self.returns[*node])?;
            nodes.push(node);
        }
        nodes.sort_unstable();
        nodes.dedup();
        let dominators = self.view.forward_dominators();
        let mut top = nodes.iter().copied().try_fold(*nodes.first()?, |a, b| dominators.common_above(a, b));
        let mut bottom = nodes.iter().copied().try_fold(nodes[0], |a, b| self.ends.common_below(a, b));
        for _ in 0..MAX_TRIES {
            let mut entry = top?;
            while !self.is_fresh(entry) {
                entry = self.view.forward_dominators().above(entry)?;
            }
            bottom = bottom.and_then(|bottom| self.ends.common_below(bottom, entry));
            while let Some(node) = bottom
                && (!self.is_fresh(node)
                    || node == entry
                    || nodes.binary_search(&node).is_ok()
                    || self.is_in_loop_of(entry, node))
            {
                bottom = self.ends.below(node);
            }
            match self.closed(entry, bottom) {
                Ok(region) => return Some(region),
                // With an entry further up or an end further down it would be larger still.
                Err(NotClosed::TooLarge) => return None,
                Err(NotClosed::EnteredFrom(outside)) => {
                    let dominators = self.view.forward_dominators();
                    let above = outside.iter().copied().try_fold(entry, |a, b| dominators.common_above(a, b));
                    let below = bottom.and_then(|bottom| {
                        outside.iter().copied().try_fold(bottom, |a, b| self.ends.common_below(a, b))
                    });
                    // The end itself leads back if it is in a loop whose header is inside.
                    let below =
                        below.and_then(
                            |end| {
                                if outside.contains(&end) { self.ends.below(end) } else { Some(end) }
                            },
                        );
                    // A block from outside that both enclose already is in no region with this entry.
                    top =
                        if (above, below) == (Some(entry), bottom) { dominators.above(entry) } else { above };
                    bottom = below;
                }
            }
        }
        None
    }

    /// The view of a region as it is in a later snapshot; `None` if control leaves it otherwise by now.
    pub fn view(&mut self, region: &Region, snapshot: &Snapshot) -> Option<View> {
        let (ids, inner) = self.flood(region, snapshot)?;
        let with_edges = ids.len() - usize::from(region.end.is_some());
        let graph = Graph::part(snapshot, ids, with_edges);
        let end = region.end.and_then(|end| graph.index(end));
        let astray = inner..with_edges;
        // Round a loop control comes to each of them again.
        let shared = match region.outer_loops {
            0 => self.shared(&graph, astray),
            _ => astray.map(|index| index as u32).collect(),
        };
        let view = View::new(graph, Around { loops: region.outer_loops, end, shared });
        // Where a loop is entered first depends on all that leads to it.
        if view.shared().iter().any(|index| view.loops.innermost(*index as usize).is_some()) {
            return None;
        }
        // What does not lead to the end is not in the loops around the region, and what comes after the end does
        // not come after it.
        if end.is_some_and(|end| !all_lead_to(&view, end, inner)) {
            return None;
        }
        Some(view)
    }

    /// Those of the blocks that never return to which control also comes from outside of the region.
    fn shared(&self, graph: &Graph, astray: Range<usize>) -> Vec<u32> {
        let comes_from_outside = |index: usize| {
            let known = self.view.graph.index(graph.id(index));
            let from = known.map_or(&[][..], |known| self.predecessors.row(known));
            // The end, which is the last, is outside already.
            let is_outside = |id: BlockId| graph.index(id).is_none_or(|index| index >= astray.end);
            from.iter().any(|from| is_outside(self.view.graph.id(*from as usize)))
        };
        let mut shared: Vec<u32> =
            astray.clone().filter(|index| comes_from_outside(*index)).map(|i| i as u32).collect();
        let mut next = 0;
        while let Some(&block) = shared.get(next) {
            next += 1;
            for &to in graph.successors(block as usize) {
                if !shared.contains(&to) {
                    shared.push(to);
                }
            }
        }
        shared
    }

    /// Takes note of edges that have changed. False if the outline is of no use any more.
    #[must_use]
    pub fn absorb(&mut self, rewired: &[BlockId], before: &Snapshot, after: &Snapshot) -> bool {
        if rewired.is_empty() && before.entry() == after.entry() {
            return true;
        }
        let older: Vec<BlockId> = rewired.iter().copied().filter(|id| before.has(*id)).collect();
        if before.entry() != after.entry() || older.is_empty() {
            return false;
        }
        // Where control goes astray is known of the outline only.
        if self.ways_astray(rewired, before) != self.ways_astray(rewired, after) {
            return false;
        }
        let Some(region) = self.region(&older) else { return false };
        let Some((ids, inner)) = self.flood(&region, after) else { return false };
        for id in region.blocks.iter().filter(|id| **id != region.entry) {
            if let Some(index) = self.view.graph.index(*id) {
                self.stale[index] = true;
            }
        }
        for id in ids[..inner].iter().filter(|id| self.view.graph.index(**id).is_none()) {
            self.younger.insert(*id, region.entry);
        }
        true
    }

    /// The edges from some blocks to those that never return.
    fn ways_astray(&self, from: &[BlockId], snapshot: &Snapshot) -> Vec<(BlockId, BlockId)> {
        let blocks = from.iter().filter_map(|id| snapshot.get(*id));
        let edges = blocks.flat_map(|block| block.successors.iter().map(|to| (block.id, *to)));
        let astray = |to: BlockId| self.view.graph.index(to).is_some_and(|index| self.never_returns(index));
        edges.filter(|(_, to)| astray(*to)).collect()
    }

    /// True if the first block heads a loop that the second is in: a back edge within the region would then
    /// close the same loop as one from outside.
    fn is_in_loop_of(&self, header: usize, node: usize) -> bool {
        let loops = &self.view.loops;
        loops.innermost(header).is_some_and(|of| loops.header(of) == header && loops.contains(of, node))
    }

    fn is_fresh(&self, node: usize) -> bool {
        // Nodes beyond the blocks stand for the exits of a loop.
        self.stale.get(node).is_some_and(|stale| !stale)
    }

    /// The region between two blocks if control enters at the first only.
    fn closed(&mut self, entry: usize, end: Option<usize>) -> Result<Region, NotClosed> {
        let graph = &self.view.graph;
        self.inside.reset(graph.len());
        self.inside.insert(entry);
        let mut found = vec![entry as u32];
        let mut next = 0;
        while let Some(&block) = found.get(next) {
            next += 1;
            if found.len() > largest_region(graph.len()) {
                return Err(NotClosed::TooLarge);
            }
            for &to in graph.successors(block as usize) {
                if Some(to as usize) != end && self.returns[to as usize] && self.inside.insert(to as usize) {
                    found.push(to);
                }
            }
        }
        // Control enters the function at index 0, which no other block is above.
        let mut outside: Vec<usize> = Vec::new();
        for &block in &found[1..] {
            let from = self.predecessors.row(block as usize).iter().map(|from| *from as usize);
            outside.extend(from.filter(|from| !self.inside.contains(*from)));
            outside.extend((block == 0).then_some(0));
        }
        if !outside.is_empty() {
            return Err(NotClosed::EnteredFrom(outside));
        }
        let loops = &self.view.loops;
        let mut outer_loops = 0;
        let mut around = loops.innermost(entry);
        while let Some(of) = around {
            outer_loops += u32::from(end.is_some_and(|end| loops.contains(of, end)));
            around = loops.parent(of);
        }
        let blocks = found.iter().map(|index| graph.id(*index as usize)).collect();
        let end = end.map(|end| graph.id(end));
        Ok(Region { entry: graph.id(entry), end, outer_loops, blocks })
    }

    /// The blocks of a region in a later snapshot, the entry first, then (from the index that is returned on)
    /// those that never return and are reached from there, and last the end.
    fn flood(&mut self, region: &Region, snapshot: &Snapshot) -> Option<(Vec<BlockId>, usize)> {
        let graph = &self.view.graph;
        self.inside.reset(graph.len());
        for index in region.blocks.iter().filter_map(|id| graph.index(*id)) {
            self.inside.insert(index);
        }
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut leaves = false;
        let mut astray: Vec<BlockId> = Vec::new();
        let mut found = vec![region.entry];
        seen.insert(region.entry);
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            next += 1;
            for &to in &snapshot.get(id)?.successors {
                if !seen.insert(to) {
                    continue;
                }
                match graph.index(to) {
                    _ if Some(to) == region.end => leaves = true,
                    Some(index) if self.inside.contains(index) => found.push(to),
                    Some(index) if self.never_returns(index) => astray.push(to),
                    Some(_) => return None,
                    // One that came up elsewhere is not in this region; one that did not is new.
                    None if self.younger.get(&to).is_some_and(|of| !self.has_inside(*of)) => return None,
                    None => found.push(to),
                }
            }
        }
        if region.end.is_some() && !leaves {
            return None;
        }
        // What never returns has not changed since: `absorb` would have found no region.
        let mut next = 0;
        while let Some(id) = astray.get(next).copied() {
            next += 1;
            if next > MAX_ASTRAY {
                return None;
            }
            astray.extend(snapshot.get(id)?.successors.iter().filter(|to| seen.insert(**to)));
        }
        let inner = found.len();
        found.append(&mut astray);
        found.extend(region.end);
        Some((found, inner))
    }

    fn has_inside(&self, id: BlockId) -> bool {
        self.view.graph.index(id).is_some_and(|index| self.inside.contains(index))
    }

    fn never_returns(&self, index: usize) -> bool {
        self.view.loops.is_reachable(index) && !self.returns[index]
    }
}

/// True if some path leads from each of the first `inner` blocks to the end.
fn all_lead_to(view: &View, end: usize, inner: usize) -> bool {
    let dag = view.paths();
    let mut leads = vec![false; dag.len()];
    for &node in dag.order().iter().rev() {
        let node = node as usize;
        leads[node] = node == end || dag.successors(node).iter().any(|to| leads[*to as usize]);
    }
    leads[..inner].iter().all(|leads| *leads)
}

/// By node of the paths: does some path through it end in a return? In a function without any, such as one that
/// waits for events for ever, every end is as good as another.
fn returns(view: &View, snapshot: &Snapshot) -> Vec<bool> {
    let ret = Opcode::from_name("ret");
    let dag = view.paths();
    let mut returns = vec![false; dag.len()];
    for &node in dag.order().iter().rev() {
        let node = node as usize;
        let block = dag.blocks(node).first().and_then(|index| snapshot.get(view.graph.id(*index as usize)));
        let ends = block.and_then(|block| block.insts.last()).is_some_and(|inst| inst.opcode == ret);
        returns[node] = ends || dag.successors(node).iter().any(|to| returns[*to as usize]);
    }
    if !returns.contains(&true) {
        returns.fill(true);
    }
    returns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::walks::edges_strategy;
    use crate::edits::{Edit, bare, edit_strategy, long_edges};
    use proptest::prelude::*;

    /// Whatever is asked about blocks of a region has the answer of the whole function.
    fn compare(region: &View, whole: &View, ends: &[BlockId]) {
        let inner = (0..region.graph.len()).map(|i| region.graph.id(i)).filter(|id| !ends.contains(id));
        let inner: Vec<BlockId> = inner.collect();
        for &a in &inner {
            assert!(whole.is_reachable(a), "{a:?} is reachable in the region only");
            assert_eq!(region.depth(a), whole.depth(a), "depth of {a:?}");
            for &b in &inner {
                assert_eq!(region.passes(a, b), whole.passes(a, b), "{a:?} passes {b:?}");
                assert_eq!(region.dominates(a, b), whole.dominates(a, b), "{a:?} dominates {b:?}");
                assert_eq!(region.leaves_loop(a, b), whole.leaves_loop(a, b), "{a:?} to {b:?} leaves a loop");
            }
        }
    }

    fn outline_of(snapshot: &Snapshot) -> Outline {
        Outline::new(Arc::new(View::of_function(snapshot)), snapshot)
    }

    fn check(edges: &[Vec<u32>], steps: &[(Edit, Vec<usize>)]) -> usize {
        let mut now = crate::edits::snapshot(edges, bare);
        let mut next = edges.len() as u32;
        let mut outline = outline_of(&now);
        let mut regions = 0;
        for (edit, asked) in steps {
            let after = edit.apply(&now, &mut next, bare);
            let rewired: Vec<BlockId> = now.differences(&after).collect();
            let ids: Vec<BlockId> = now.blocks().map(|b| b.id).collect();
            let mut wanted: Vec<BlockId> = asked.iter().map(|n| ids[n % ids.len()]).collect();
            wanted.extend(rewired.iter().filter(|id| now.has(**id)));
            if let Some(region) = outline.region(&wanted) {
                let views = (outline.view(&region, &now), outline.view(&region, &after));
                if let (Some(before), Some(then)) = views {
                    regions += 1;
                    for (view, snapshot) in [(before, &now), (then, &after)] {
                        let ends: Vec<BlockId> = (0..view.graph.len())
                            .map(|i| view.graph.id(i))
                            .filter(|id| Some(*id) == region.end || !region.blocks.contains(id))
                            .filter(|id| outline.view.graph.index(*id).is_some())
                            .collect();
                        compare(&view, &View::of_function(snapshot), &ends);
                    }
                    assert!(wanted.iter().all(|id| {
                        !View::of_function(&now).is_reachable(*id)
                            || views_have(&mut outline, &region, &now, *id)
                    }));
                }
            }
            if !outline.absorb(&rewired, &now, &after) {
                outline = outline_of(&after);
            }
            now = after;
        }
        regions
    }

    fn views_have(outline: &mut Outline, region: &Region, snapshot: &Snapshot, id: BlockId) -> bool {
        outline.view(region, snapshot).is_some_and(|view| view.graph.index(id).is_some())
    }

    fn steps() -> impl Strategy<Value = Vec<(Edit, Vec<usize>)>> {
        prop::collection::vec((edit_strategy(), prop::collection::vec(0..64usize, 0..2)), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_region_answers_as_the_function_does(edges in long_edges(), steps in steps()) {
            check(&edges, &steps);
        }

        #[test]
        fn also_in_graphs_of_any_shape(edges in edges_strategy(16), steps in steps()) {
            check(&edges, &steps);
        }
    }

    /// The property above would hold if no region was ever found.
    #[test]
    fn regions_are_found_and_small() {
        // A row of a hundred loops with a diamond in each.
        let mut edges: Vec<Vec<u32>> = vec![vec![1]];
        for unit in 0..100u32 {
            let head = 1 + unit * 4;
            edges.extend([vec![head + 1, head + 2], vec![head + 3], vec![head + 3], vec![head, head + 4]]);
        }
        edges.push(vec![]);
        let mut now = crate::edits::snapshot(&edges, bare);
        let mut next = edges.len() as u32;
        let mut outline = outline_of(&now);
        for unit in 0..100usize {
            let head = 1 + unit * 4;
            let after = Edit::Split(head, 0).apply(&now, &mut next, bare);
            let rewired: Vec<BlockId> = now.differences(&after).collect();
            let region = outline.region(&[BlockId(head as u32)]).expect("there is one");
            assert!(region.blocks.len() <= 5, "{region:?}");
            let view = outline.view(&region, &after).expect("control leaves as before");
            assert_eq!(view.depth(BlockId(next - 1)), Some(1), "the new block is in the loop");
            assert!(outline.absorb(&rewired, &now, &after));
            now = after;
        }
    }

    #[test]
    fn what_is_behind_an_end_that_is_not_reached_any_more_is_not_known() {
        let row = [vec![1], vec![2], vec![3], vec![4], vec![5], vec![]];
        let before = crate::edits::snapshot(&row, bare);
        let after = Edit::Return(1).apply(&before, &mut 6, bare);
        let mut outline = outline_of(&before);
        assert!(!outline.absorb(&[BlockId(1)], &before, &after));
    }
}
