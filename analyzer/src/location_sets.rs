//! The location sets of the paper, compared where they can differ.
//!
//! The set of a block (Definition 3.3) is the union of the locations of all blocks on paths through it,
//! and what matters is which locations are in the set of a destination and in that of no source. Almost
//! all of a function is in both. Let c be the last block before the destination that every way to it
//! passes in P' and that every way to the sources passes in P, and p likewise the first block after it.
//! Whatever is before c or after p is on paths of both. So the search stays between c and p: its cost is
//! the size of the difference and not of the function, which keeps a run with thousands of destinations
//! linear.
//!
//! A location of a block between c and p is extra if no block that had it in P is on a path through a
//! source. One of a block that is not between the two in P (c does not dominate it, or it comes after p) counts as
//! known without a further look, which errs towards silence, and in the same way whatever else is in the graph.
//! The tests compare with the definition: what is found here is extra there.
//!
//! A location with line 0 is in no set: it misleads nobody.

use std::cell::RefCell;

use metaloc_record::{LocId, LocationTable};

use crate::cfg::dag::Visited;
use crate::cfg::{Dag, Dominators, NONE};

/// More extra locations than these prove nothing more.
const MAX_EXTRA: usize = 16;

/// True for a location with a line: one that could mislead.
pub fn is_real(table: &LocationTable, loc: LocId) -> bool {
    table.get(loc).is_some_and(|l| l.line != 0)
}

/// A graph of paths with its dominators.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Which blocks are on a path with which.
    pub dag: &'a Dag,
    /// Which have to be.
    pub dominators: &'a Dominators,
}

/// What the comparison asks about blocks and their locations. Blocks are indices into P or P'.
pub trait Blocks {
    /// The block of P that a block of P' was.
    fn before(&self, block: u32) -> Option<u32>;
    /// Calls with each location of a block of P' that counts.
    fn locations(&self, block: u32, each: &mut dyn FnMut(LocId));
    /// True if the predicate holds for one of the blocks of P that had a location.
    fn any_with(&self, loc: LocId, predicate: &dyn Fn(u32) -> bool) -> bool;
}

/// Buffers that are used again from query to query and from run to run.
#[derive(Debug, Default)]
pub struct Scratch {
    region: Visited,
    known: Visited,
    queue: Vec<u32>,
    nodes: Vec<u32>,
    ways: RefCell<(Visited, Vec<u32>)>,
}

/// Locations on paths through a block of P' that are on no path through any of some blocks of P: up to
/// sixteen of them, sorted.
pub fn extra(
    after: Side<'_>,
    before: Side<'_>,
    destination: u32,
    sources: &[u32],
    blocks: &impl Blocks,
    scratch: &mut Scratch,
) -> Vec<LocId> {
    let sources: Vec<usize> = sources.iter().filter_map(|s| before.dag.node(*s as usize)).collect();
    let Some(through) = after.dag.node(destination as usize).filter(|_| !sources.is_empty()) else {
        return Vec::new();
    };
    let limits = Limits::new(after, before, through, &sources, blocks);
    let Scratch { region, known, queue, nodes, ways } = scratch;
    known.reset(before.dag.len());
    for forwards in [true, false] {
        let stop = if forwards { limits.below } else { limits.above }.map(|l| l.1);
        nodes.clear();
        region.reset(before.dag.len());
        for &source in &sources {
            walk(before.dag, source, forwards, stop, region, queue, nodes);
        }
        nodes.iter().for_each(|node| {
            known.insert(*node as usize);
        });
    }
    nodes.clear();
    for forwards in [true, false] {
        let stop = if forwards { limits.below } else { limits.above }.map(|l| l.0);
        region.reset(after.dag.len());
        if stop != Some(through) {
            walk(after.dag, through, forwards, stop, region, queue, nodes);
        }
    }
    let is_known = |block: u32| {
        let node = before.dag.node(block as usize);
        node.is_none_or(|node| known.contains(node) || limits.is_outside(before, node, ways))
    };
    let mut extra = Vec::new();
    for &node in nodes.iter() {
        if limits.is_limit(node as usize) {
            continue;
        }
        for &block in after.dag.blocks(node as usize) {
            blocks.locations(block, &mut |loc| {
                if extra.len() < MAX_EXTRA && !extra.contains(&loc) && !blocks.any_with(loc, &is_known) {
                    extra.push(loc);
                }
            });
        }
    }
    extra.sort_unstable();
    extra
}

/// Nodes that destination and sources have in common on all their paths: (in P', in P).
struct Limits {
    above: Option<(usize, usize)>,
    below: Option<(usize, usize)>,
}

impl Limits {
    fn new(
        after: Side<'_>,
        before: Side<'_>,
        through: usize,
        sources: &[usize],
        blocks: &impl Blocks,
    ) -> Limits {
        let was = |node: usize| {
            let block = after.dag.blocks(node).first()?;
            before.dag.node(blocks.before(*block)? as usize)
        };
        let first = |step: &dyn Fn(usize) -> Option<usize>, common: &dyn Fn(usize) -> bool| {
            let mut at = Some(through);
            while let Some(node) = at {
                if let Some(old) = was(node).filter(|old| common(*old)) {
                    return Some((node, old));
                }
                at = step(node);
            }
            None
        };
        let dominators = before.dominators;
        Limits {
            above: first(&|node| after.dominators.above(node), &|old| {
                sources.iter().all(|s| dominators.dominates(old, *s))
            }),
            below: first(&|node| after.dominators.below(node), &|old| {
                sources.iter().all(|s| dominators.is_passed_after(old, *s))
            }),
        }
    }

    fn is_limit(&self, node: usize) -> bool {
        [self.above, self.below].into_iter().flatten().any(|l| l.0 == node)
    }

    /// True if a node of P is not between the limits.
    fn is_outside(&self, before: Side<'_>, node: usize, ways: &RefCell<(Visited, Vec<u32>)>) -> bool {
        let comes_after = |limit: usize| {
            before.dag.position(node) > before.dag.position(limit)
                && (before.dominators.dominates(limit, node)
                    || leads_to(before.dag, limit, node, &mut ways.borrow_mut()))
        };
        self.above.is_some_and(|l| !before.dominators.dominates(l.1, node))
            || self.below.is_some_and(|l| comes_after(l.1))
    }
}

/// True if a path leads from one node to another. The search goes back no further than the first in topological
/// order.
fn leads_to(dag: &Dag, from: usize, to: usize, (visited, queue): &mut (Visited, Vec<u32>)) -> bool {
    let first = dag.position(from);
    visited.reset(dag.len());
    queue.clear();
    queue.push(to as u32);
    while let Some(node) = queue.pop() {
        if node as usize == from {
            return true;
        }
        let back = dag.predecessors(node as usize).iter().copied();
        queue.extend(back.filter(|n| dag.position(*n as usize) >= first && visited.insert(*n as usize)));
    }
    false
}

/// Adds what is reachable from a node without going past `stop`.
fn walk(
    dag: &Dag,
    start: usize,
    forwards: bool,
    stop: Option<usize>,
    visited: &mut Visited,
    queue: &mut Vec<u32>,
    found: &mut Vec<u32>,
) {
    queue.clear();
    if visited.insert(start) {
        queue.push(start as u32);
    }
    while let Some(node) = queue.pop() {
        found.push(node);
        if stop == Some(node as usize) {
            continue;
        }
        let next = if forwards { dag.successors(node as usize) } else { dag.predecessors(node as usize) };
        queue.extend(next.iter().copied().filter(|n| visited.insert(*n as usize)));
    }
}

/// True if a node can be reached on `ways` and left on `paths` without passing any of some nodes. Both
/// graphs have the same nodes. The search ends where none of them is left ahead in topological order, so
/// it is short if they are near.
pub fn can_avoid(ways: &Dag, paths: &Dag, through: usize, by: &[usize], scratch: &mut Scratch) -> bool {
    let Scratch { region, known, queue, .. } = scratch;
    known.reset(paths.len());
    by.iter().for_each(|node| {
        known.insert(*node);
    });
    let first = by.iter().map(|node| ways.position(*node)).min();
    let last = by.iter().map(|node| paths.position(*node)).max();
    let (Some(first), Some(last)) = (first, last) else {
        return true;
    };
    let mut escapes = |forwards: bool| {
        region.reset(paths.len());
        region.insert(through);
        queue.clear();
        queue.push(through as u32);
        while let Some(node) = queue.pop() {
            let node = node as usize;
            if known.contains(node) {
                continue;
            }
            let next = if forwards { paths.successors(node) } else { ways.predecessors(node) };
            let past = if forwards { paths.position(node) > last } else { ways.position(node) < first };
            if past || next.is_empty() {
                return true;
            }
            queue.extend(next.iter().copied().filter(|n| region.insert(*n as usize)));
        }
        false
    };
    escapes(true) && escapes(false)
}

/// True if some nodes can be avoided on `paths` from a node on, where it is not for the path to choose the way out of what
/// `forced` says. The search ends where none of them is left ahead.
pub fn can_avoid_from(
    paths: &Dag,
    from: usize,
    by: &[usize],
    forced: impl Fn(usize) -> bool,
    scratch: &mut Scratch,
) -> bool {
    let Some(last) = by.iter().map(|node| paths.position(*node)).max() else { return true };
    let Scratch { region: found, known: leads, queue, nodes: ahead, .. } = scratch;
    found.reset(paths.len());
    found.insert(from);
    ahead.clear();
    queue.clear();
    queue.push(from as u32);
    while let Some(node) = queue.pop() {
        ahead.push(node);
        let next = paths.successors(node as usize).iter().copied();
        queue.extend(next.filter(|n| paths.position(*n as usize) <= last && found.insert(*n as usize)));
    }
    // Those from which one of the nodes is passed, or may be.
    ahead.sort_unstable_by_key(|node| std::cmp::Reverse(paths.position(*node as usize)));
    leads.reset(paths.len());
    for &node in ahead.iter() {
        let node = node as usize;
        let mut next = paths.successors(node).iter().map(|n| leads.contains(*n as usize));
        let all = !paths.successors(node).is_empty() && next.clone().all(|leads| leads);
        if by.contains(&node) || all || (forced(node) && next.any(|leads| leads)) {
            leads.insert(node);
        }
    }
    !leads.contains(from)
}

/// A path from the entry of P' through the destination and a block that has the location, up to the later
/// of the two, as block indices.
pub fn path_to(dag: &Dag, destination: u32, has: impl Fn(u32) -> bool) -> Vec<u32> {
    let Some(through) = dag.node(destination as usize) else {
        return Vec::new();
    };
    let mut nodes = Vec::new();
    dag.reach(through, &mut Visited::default(), &mut nodes);
    let there = nodes.iter().find(|node| dag.blocks(**node as usize).iter().any(|b| has(*b)));
    let Some(&other) = there else {
        return Vec::new();
    };
    let free = |_: usize| false;
    let join = |first: usize, second: usize| {
        let mut path = dag.route(0, first, free)?;
        path.extend(dag.route(first, second, free)?.into_iter().skip(1));
        Some(path)
    };
    let path = join(through, other as usize).or_else(|| join(other as usize, through)).unwrap_or_default();
    path.into_iter().filter_map(|node| dag.blocks(node as usize).first().copied()).collect()
}

/// A path through a block that passes none of some others, from the entry on one of `ways` and then on to
/// an end, as block indices.
pub fn path_without(ways: &Dag, dag: &Dag, through: u32, by: &[u32]) -> Option<Vec<u32>> {
    let through = dag.node(through as usize)?;
    let mut avoided = vec![false; dag.len()];
    for node in by.iter().filter_map(|block| dag.node(*block as usize)) {
        avoided[node] = true;
    }
    let mut path = ways.route(0, through, |node| avoided[node])?;
    path.extend(to_an_end(dag, through, &avoided)?.into_iter().skip(1));
    Some(path.into_iter().filter_map(|node| dag.blocks(node as usize).first().copied()).collect())
}

fn to_an_end(dag: &Dag, from: usize, avoided: &[bool]) -> Option<Vec<u32>> {
    let mut came_from = vec![NONE; dag.len()];
    came_from[from] = from as u32;
    let mut queue = vec![from as u32];
    let mut next = 0;
    while let Some(&node) = queue.get(next) {
        next += 1;
        if dag.successors(node as usize).is_empty() {
            let mut path = vec![node];
            while path[path.len() - 1] as usize != from {
                path.push(came_from[path[path.len() - 1] as usize]);
            }
            path.reverse();
            return Some(path);
        }
        for &step in dag.successors(node as usize) {
            if came_from[step as usize] == NONE && !avoided[step as usize] {
                came_from[step as usize] = node;
                queue.push(step);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::walks::{blocks_by_walks, edges_strategy, graph, structured_edges};
    use crate::cfg::{Graph, Loops};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// P and P' over the same block numbers, with the locations of the blocks.
    #[derive(Debug, Clone)]
    struct Pair {
        before: Graph,
        after: Graph,
        before_locs: Vec<Vec<u32>>,
        after_locs: Vec<Vec<u32>>,
        with: BTreeMap<u32, Vec<u32>>,
    }

    impl Blocks for Pair {
        fn before(&self, block: u32) -> Option<u32> {
            Some(block).filter(|b| (*b as usize) < self.before.len())
        }

        fn locations(&self, block: u32, each: &mut dyn FnMut(LocId)) {
            self.after_locs[block as usize].iter().for_each(|loc| each(LocId(*loc)));
        }

        fn any_with(&self, loc: LocId, predicate: &dyn Fn(u32) -> bool) -> bool {
            self.with.get(&loc.0).is_some_and(|blocks| blocks.iter().any(|block| predicate(*block)))
        }
    }

    impl Pair {
        /// The definition, over enumerated walks.
        fn extra(&self, destination: u32, source: u32) -> BTreeSet<LocId> {
            let set = |graph: &Graph, locs: &[Vec<u32>], block: u32| -> BTreeSet<u32> {
                let on_walks = &blocks_by_walks(graph)[block as usize];
                on_walks.iter().flat_map(|b| locs[*b].iter().copied()).collect()
            };
            let known = set(&self.before, &self.before_locs, source);
            set(&self.after, &self.after_locs, destination).difference(&known).map(|l| LocId(*l)).collect()
        }
    }

    fn locations(blocks: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
        prop::collection::vec(prop::collection::vec(1..12u32, 0..3), blocks)
    }

    fn build(
        before: &[Vec<u32>],
        after: &[Vec<u32>],
        before_locs: Vec<Vec<u32>>,
        after_locs: Vec<Vec<u32>>,
    ) -> Pair {
        let graph = |edges: &[Vec<u32>]| graph(&edges.iter().map(|e| e.as_slice()).collect::<Vec<_>>());
        let mut with: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (block, locs) in before_locs.iter().enumerate() {
            for loc in locs.iter().copied().collect::<BTreeSet<_>>() {
                with.entry(loc).or_default().push(block as u32);
            }
        }
        Pair { before: graph(before), after: graph(after), before_locs, after_locs, with }
    }

    fn changed_pair() -> impl Strategy<Value = Pair> {
        (edges_strategy(8), edges_strategy(8)).prop_flat_map(|(before, after)| {
            (locations(before.len()), locations(after.len()))
                .prop_map(move |(b, a)| build(&before, &after, b, a))
        })
    }

    /// The same edges, and locations of which each is in one block only.
    fn same_pair() -> impl Strategy<Value = Pair> {
        prop_oneof![edges_strategy(8).boxed(), structured_edges().boxed()].prop_map(|edges| {
            let locs: Vec<Vec<u32>> = (0..edges.len() as u32).map(|b| vec![b + 1]).collect();
            build(&edges, &edges, locs.clone(), locs)
        })
    }

    /// What [`extra`] does not look at, and says so: a block that the last block before the destination which all
    /// paths of both pass is not before on all paths, or that may come after the first such block behind it.
    fn is_outside(pair: &Pair, destination: u32, source: u32, block: u32) -> bool {
        let dag = Dag::paths(&pair.before, &Loops::new(&pair.before));
        let dominators = Dominators::new(&dag);
        let node = |block: u32| dag.node(block as usize);
        let (Some(d), Some(s), Some(b)) = (node(destination), node(source), node(block)) else {
            return false;
        };
        let side = Side { dag: &dag, dominators: &dominators };
        Limits::new(side, side, d, &[s], pair).is_outside(side, b, &RefCell::default())
    }

    #[test]
    fn another_exit_of_a_loop_is_not_looked_at() {
        let edges: Vec<Vec<u32>> = vec![vec![3, 1], vec![], vec![], vec![0, 2]];
        let locs: Vec<Vec<u32>> = (1..=4).map(|l| vec![l]).collect();
        let pair = build(&edges, &edges, locs.clone(), locs);
        assert_eq!(pair.extra(3, 2), BTreeSet::from([LocId(2)]));
        assert!(found(&pair, 3, 2).is_empty() && is_outside(&pair, 3, 2, 1));
        assert_eq!(found(&pair, 0, 2), [LocId(2)]);
    }

    fn found(pair: &Pair, destination: u32, source: u32) -> Vec<LocId> {
        let (before, after) = (
            Dag::paths(&pair.before, &Loops::new(&pair.before)),
            Dag::paths(&pair.after, &Loops::new(&pair.after)),
        );
        let (below, above) = (Dominators::new(&before), Dominators::new(&after));
        let before = Side { dag: &before, dominators: &below };
        let after = Side { dag: &after, dominators: &above };
        extra(after, before, destination, &[source], pair, &mut Scratch::default())
    }

    proptest! {
        /// Whatever changed, nothing is called extra that the definition does not call so.
        #[test]
        fn what_is_found_is_extra_by_the_definition(pair in changed_pair(), d in 0..8u32, s in 0..8u32) {
            let (d, s) = (d % pair.after.len() as u32, s % pair.before.len() as u32);
            let expected = pair.extra(d, s);
            if blocks_by_walks(&pair.before)[s as usize].is_empty() {
                prop_assert!(found(&pair, d, s).is_empty());
            }
            for loc in found(&pair, d, s) {
                prop_assert!(expected.contains(&loc), "{:?} not in {:?}", loc, expected);
            }
        }

        /// Where edges did not change, nothing is missed either but what is not between the limits.
        #[test]
        fn nothing_is_missed_where_paths_correspond(pair in same_pair(), d in 0..16u32, s in 0..16u32) {
            let (d, s) = (d % pair.after.len() as u32, s % pair.before.len() as u32);
            if !blocks_by_walks(&pair.before)[s as usize].is_empty() {
                let expected = pair.extra(d, s).into_iter().filter(|loc| !is_outside(&pair, d, s, loc.0 - 1));
                prop_assert_eq!(found(&pair, d, s), expected.collect::<Vec<_>>());
            }
        }

        #[test]
        fn avoiding_is_finding_a_path_without(pair in same_pair(), d in 0..16u32, by in prop::collection::vec(0..16u32, 1..3)) {
            let count = pair.before.len() as u32;
            let loops = Loops::new(&pair.before);
            let (ways, dag) = (Dag::forward(&pair.before, &loops), Dag::paths(&pair.before, &loops));
            let by: Vec<u32> = by.into_iter().map(|b| b % count).collect();
            if let Some(through) = dag.node((d % count) as usize) {
                let nodes: Vec<usize> = by.iter().filter_map(|b| dag.node(*b as usize)).collect();
                let path = path_without(&ways, &dag, d % count, &by);
                prop_assert_eq!(can_avoid(&ways, &dag, through, &nodes, &mut Scratch::default()), path.is_some());
            }
        }
    }

    /// The side of the branch that the post-dominator of the source does not post-dominate.
    #[test]
    fn a_block_on_the_way_need_not_lead_to_the_lower_limit() {
        let edges: Vec<Vec<u32>> = vec![vec![1], vec![3, 4], vec![1], vec![0, 2], vec![2]];
        let locs: Vec<Vec<u32>> = (1..=5).map(|l| vec![l]).collect();
        let pair = build(&edges, &edges, locs.clone(), locs);
        assert_eq!(found(&pair, 2, 4), [LocId(4)]);
    }

    #[test]
    fn a_path_leads_through_destination_and_location() {
        let function = graph(&[&[1, 2], &[3], &[3], &[4], &[]]);
        let dag = Dag::paths(&function, &Loops::new(&function));
        assert_eq!(path_to(&dag, 2, |b| b == 3), [0, 2, 3]);
        assert_eq!(path_to(&dag, 3, |b| b == 1), [0, 1, 3]);
        assert_eq!(path_without(&dag, &dag, 0, &[1]), Some(vec![0, 2, 3, 4]));
        assert_eq!(path_without(&dag, &dag, 0, &[1, 2]), None);
    }
}
