//! The location sets of the paper (Definition 3.3) and their comparison, many at a time.
//!
//! The set of a block is the union of the locations of all blocks on paths through it. A [`Query`] asks
//! which locations are in the set of a block of P' and in the set of none of some blocks of P. A
//! location with line 0 is in no set: it misleads nobody.
//!
//! One query is two searches. Where there are many, all sets are computed at once as bits over a slice
//! of the locations at a time, which costs as much as a few dozen searches and bounds the memory. Both
//! ways give the same answer; [`answer`] picks the cheaper.

use std::collections::HashMap;

use metaloc_record::{Inst, LocId, LocationTable, Snapshot};
use rustc_hash::FxBuildHasher;

use crate::cfg::dag::Visited;
use crate::cfg::graph::Rows;
use crate::cfg::{Dag, NONE};

/// Bits of one row of the table of sets: 2,048 locations at a time, 256 bytes for each node.
const WORDS: usize = 32;

/// A graph and the locations of its blocks.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Which blocks are on a path with which.
    pub dag: &'a Dag,
    /// The locations of each block.
    pub locations: &'a BlockLocations,
}

/// The distinct locations of each block, without those of line 0.
#[derive(Debug, Clone, Default)]
pub struct BlockLocations(Rows);

impl BlockLocations {
    /// The locations of a snapshot's blocks, of instructions that `counts` (given the index of the block).
    pub fn new(
        snapshot: &Snapshot,
        table: &LocationTable,
        counts: impl Fn(usize, &Inst) -> bool,
    ) -> BlockLocations {
        let mut rows = Rows::with_capacity(snapshot.blocks.len(), snapshot.blocks.len() * 4);
        let mut row: Vec<u32> = Vec::new();
        for (index, block) in snapshot.blocks.iter().enumerate() {
            row.clear();
            let mut last = LocId::NONE;
            for inst in &block.insts {
                // Neighbours mostly share a location; the rest is sorted out below.
                if inst.loc != last && inst.loc.is_some() && counts(index, inst) && is_real(table, inst.loc) {
                    row.push(inst.loc.0);
                    last = inst.loc;
                }
            }
            row.sort_unstable();
            row.dedup();
            rows.push(row.iter().copied());
        }
        BlockLocations(rows)
    }

    /// The locations of a block, sorted.
    pub fn of(&self, block: usize) -> &[u32] {
        self.0.row(block)
    }

    fn of_node<'a>(&'a self, dag: &'a Dag, node: usize) -> impl Iterator<Item = u32> + 'a {
        dag.blocks(node).iter().flat_map(|block| self.of(*block as usize).iter().copied())
    }
}

/// True for a location with a line: one that could mislead.
pub fn is_real(table: &LocationTable, loc: LocId) -> bool {
    table.get(loc).is_some_and(|l| l.line != 0)
}

/// "Which locations on paths through `destination` are on no path through any of `sources`?"
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    /// Index of a block of P'.
    pub destination: u32,
    /// Indices of blocks of P, sorted.
    pub sources: Vec<u32>,
}

/// Answers queries, each with its extra locations, sorted. Equal queries are computed once.
pub fn answer(
    after: Side<'_>,
    before: Side<'_>,
    queries: &[Query],
    scratch: &mut Scratch,
) -> Vec<Vec<LocId>> {
    let mut distinct: Vec<&Query> = Vec::new();
    let mut number: HashMap<&Query, u32, FxBuildHasher> = HashMap::default();
    let which: Vec<u32> = queries
        .iter()
        .map(|query| {
            *number.entry(query).or_insert_with(|| {
                distinct.push(query);
                distinct.len() as u32 - 1
            })
        })
        .collect();
    let answers = if searches_are_cheaper(after, before, distinct.len()) {
        distinct.iter().map(|query| by_search(after, before, query, scratch)).collect()
    } else {
        by_bits(after, before, &distinct)
    };
    which.iter().map(|n| answers[*n as usize].clone()).collect()
}

/// Costs in steps of a search. The loops over words do about eight of them in the time of one such step.
fn searches_are_cheaper(after: Side<'_>, before: Side<'_>, queries: usize) -> bool {
    let graph = |side: Side<'_>| side.dag.len() + side.dag.edges();
    let search = graph(after) + graph(before) + after.locations.0.items() + before.locations.0.items();
    let slices = after.locations.0.items().div_ceil(WORDS * 64).max(1);
    let bits = 2 * slices * (graph(after) + graph(before)) * WORDS / 8;
    queries.saturating_mul(search) <= bits
}

/// Buffers that are used again from query to query and from run to run.
#[derive(Debug, Default)]
pub struct Scratch {
    visited: Visited,
    known: Visited,
    nodes: Vec<u32>,
}

/// The definition, for one query.
fn by_search(after: Side<'_>, before: Side<'_>, query: &Query, scratch: &mut Scratch) -> Vec<LocId> {
    let Scratch { visited, known, nodes } = scratch;
    let largest = |side: Side<'_>| side.locations.0.max().map_or(0, |loc| loc as usize + 1);
    known.reset(largest(after).max(largest(before)));
    for &source in &query.sources {
        if let Some(node) = before.dag.node(source as usize) {
            nodes.clear();
            before.dag.reach(node, visited, nodes);
            for &node in nodes.iter() {
                before.locations.of_node(before.dag, node as usize).for_each(|loc| {
                    known.insert(loc as usize);
                });
            }
        }
    }
    let mut extra = Vec::new();
    if let Some(node) = after.dag.node(query.destination as usize) {
        nodes.clear();
        after.dag.reach(node, visited, nodes);
        for &node in nodes.iter() {
            let new = after.locations.of_node(after.dag, node as usize);
            extra.extend(new.filter(|loc| known.insert(*loc as usize)).map(LocId));
        }
    }
    extra.sort_unstable();
    extra
}

/// All queries at once, a slice of the locations of P' at a time.
fn by_bits(after: Side<'_>, before: Side<'_>, queries: &[&Query]) -> Vec<Vec<LocId>> {
    let mut universe: Vec<u32> =
        (0..after.locations.0.rows()).flat_map(|b| after.locations.of(b)).copied().collect();
    universe.sort_unstable();
    universe.dedup();
    let mut extra: Vec<Vec<LocId>> = vec![Vec::new(); queries.len()];
    let mut table: Vec<[u64; WORDS]> = Vec::new();
    for slice in universe.chunks(WORDS * 64) {
        let mut found = vec![[0u64; WORDS]; queries.len()];
        let mut known = vec![[0u64; WORDS]; queries.len()];
        for forwards in [true, false] {
            fill(after, slice, forwards, &mut table);
            for (query, found) in queries.iter().zip(&mut found) {
                add(after.dag, query.destination, &table, found);
            }
            fill(before, slice, forwards, &mut table);
            for (query, known) in queries.iter().zip(&mut known) {
                query.sources.iter().for_each(|source| add(before.dag, *source, &table, known));
            }
        }
        for ((found, known), extra) in found.iter().zip(&known).zip(&mut extra) {
            for (word, (found, known)) in found.iter().zip(known).enumerate() {
                let mut left = found & !known;
                while left != 0 {
                    extra.push(LocId(slice[word * 64 + left.trailing_zeros() as usize]));
                    left &= left - 1;
                }
            }
        }
    }
    extra
}

/// For each node the locations of the slice in all nodes that reach it, or that it reaches.
fn fill(side: Side<'_>, slice: &[u32], forwards: bool, table: &mut Vec<[u64; WORDS]>) {
    table.clear();
    table.resize(side.dag.len(), [0; WORDS]);
    let (first, last) = (slice[0], slice[slice.len() - 1]);
    let order = side.dag.order();
    for step in 0..order.len() {
        let node = order[if forwards { step } else { order.len() - 1 - step }] as usize;
        let comes_from = if forwards { side.dag.predecessors(node) } else { side.dag.successors(node) };
        let mut bits = [0u64; WORDS];
        for &from in comes_from {
            for (word, more) in bits.iter_mut().zip(&table[from as usize]) {
                *word |= more;
            }
        }
        for &block in side.dag.blocks(node) {
            let row = side.locations.of(block as usize);
            let row = &row[row.partition_point(|loc| *loc < first)..row.partition_point(|loc| *loc <= last)];
            for bit in row.iter().filter_map(|loc| slice.binary_search(loc).ok()) {
                bits[bit / 64] |= 1 << (bit % 64);
            }
        }
        table[node] = bits;
    }
}

fn add(dag: &Dag, block: u32, table: &[[u64; WORDS]], into: &mut [u64; WORDS]) {
    if let Some(node) = dag.node(block as usize) {
        for (word, more) in into.iter_mut().zip(&table[node]) {
            *word |= more;
        }
    }
}

/// A path from the entry of P' through the destination to the first block on a path through it that has
/// the location (or from there through the destination), as block indices.
pub fn path_to(after: Side<'_>, destination: usize, loc: LocId, scratch: &mut Scratch) -> Vec<u32> {
    let has = |node: u32| after.locations.of_node(after.dag, node as usize).any(|l| l == loc.0);
    let Some(through) = after.dag.node(destination) else {
        return Vec::new();
    };
    let Scratch { visited, nodes, .. } = scratch;
    nodes.clear();
    after.dag.reach(through, visited, nodes);
    let Some(&other) = nodes.iter().find(|node| has(**node)) else {
        return Vec::new();
    };
    let free = |_: usize| false;
    let join = |first: usize, second: usize| {
        let mut path = after.dag.route(0, first, free)?;
        path.extend(after.dag.route(first, second, free)?.into_iter().skip(1));
        Some(path)
    };
    let path = join(through, other as usize).or_else(|| join(other as usize, through)).unwrap_or_default();
    path.into_iter().filter_map(|node| after.dag.blocks(node as usize).first().copied()).collect()
}

/// True if a path through `through` passes no block of `by`; then that path, as block indices.
pub fn path_without(dag: &Dag, through: usize, by: &[u32]) -> Option<Vec<u32>> {
    let through = dag.node(through)?;
    let mut avoided = vec![false; dag.len()];
    for block in by {
        if let Some(node) = dag.node(*block as usize) {
            avoided[node] = true;
        }
    }
    let mut path = dag.route(0, through, |node| avoided[node])?;
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
    use crate::cfg::walks::{blocks_by_walks, edges_strategy, graph};
    use crate::cfg::{Graph, Loops};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A function with block-wise locations, as the tests need it.
    #[derive(Debug, Clone)]
    struct Function {
        graph: Graph,
        locations: Vec<Vec<u32>>,
    }

    impl Function {
        fn rows(&self) -> BlockLocations {
            let mut rows = Rows::default();
            for row in &self.locations {
                rows.push(row.iter().copied().collect::<BTreeSet<_>>());
            }
            BlockLocations(rows)
        }

        fn dag(&self) -> Dag {
            Dag::paths(&self.graph, &Loops::new(&self.graph))
        }

        /// Definition 3.3 over enumerated walks.
        fn set(&self, block: u32) -> BTreeSet<u32> {
            let on_walks = &blocks_by_walks(&self.graph)[block as usize];
            on_walks.iter().flat_map(|b| self.locations[*b].iter().copied()).collect()
        }
    }

    fn function(max_loc: u32) -> impl Strategy<Value = Function> {
        edges_strategy(8).prop_flat_map(move |edges| {
            let locations = prop::collection::vec(prop::collection::vec(1..max_loc, 0..4), edges.len());
            locations.prop_map(move |locations| Function {
                graph: graph(&edges.iter().map(|e| e.as_slice()).collect::<Vec<_>>()),
                locations,
            })
        })
    }

    proptest! {
        /// Searches, bits and the definition agree. Locations up to 5,000 make several slices.
        #[test]
        fn both_ways_give_what_the_definition_says(
            after in function(5000), before in function(5000), shared in prop::bool::ANY,
            picks in prop::collection::vec((0..8u32, prop::collection::vec(0..8u32, 1..3)), 1..6),
        ) {
            let before = if shared { after.clone() } else { before };
            let (rows, dag) = (after.rows(), after.dag());
            let (rows_before, dag_before) = (before.rows(), before.dag());
            let sides = (Side { dag: &dag, locations: &rows }, Side { dag: &dag_before, locations: &rows_before });
            let queries: Vec<Query> = picks.into_iter().map(|(destination, sources)| Query {
                destination: destination % after.graph.len() as u32,
                sources: sources.into_iter().map(|s| s % before.graph.len() as u32).collect::<BTreeSet<_>>()
                    .into_iter().collect(),
            }).collect();
            let expected: Vec<Vec<LocId>> = queries.iter().map(|q| {
                let known: BTreeSet<u32> = q.sources.iter().flat_map(|s| before.set(*s)).collect();
                after.set(q.destination).difference(&known).map(|l| LocId(*l)).collect()
            }).collect();
            let mut scratch = Scratch::default();
            let refs: Vec<&Query> = queries.iter().collect();
            prop_assert_eq!(&by_bits(sides.0, sides.1, &refs), &expected);
            prop_assert_eq!(&answer(sides.0, sides.1, &queries, &mut scratch), &expected);
            for (query, expected) in queries.iter().zip(&expected) {
                prop_assert_eq!(&by_search(sides.0, sides.1, query, &mut scratch), expected);
                if let Some(first) = expected.first() {
                    let path = path_to(sides.0, query.destination as usize, *first, &mut scratch);
                    prop_assert!(path.contains(&query.destination));
                    prop_assert!(path.iter().any(|b| after.locations[*b as usize].contains(&first.0)));
                    prop_assert_eq!(path[0], 0);
                }
            }
        }
    }

    #[test]
    fn bits_cross_the_border_of_a_slice() {
        let count = (WORDS * 64 + 10) as u32;
        let function = Function { graph: graph(&[&[1], &[]]), locations: vec![(1..count).collect(), vec![]] };
        let (rows, dag) = (function.rows(), function.dag());
        let side = Side { dag: &dag, locations: &rows };
        let empty = BlockLocations(Rows::from_pairs(2, &[]));
        let before = Side { dag: &dag, locations: &empty };
        let query = Query { destination: 1, sources: vec![0] };
        let all: Vec<LocId> = (1..count).map(LocId).collect();
        assert_eq!(by_bits(side, before, &[&query]), [all]);
    }

    #[test]
    fn a_path_that_passes_no_source_is_found_and_one_that_cannot_is_not() {
        let function = graph(&[&[1, 2], &[3], &[3], &[]]);
        let dag = Dag::paths(&function, &Loops::new(&function));
        assert_eq!(path_without(&dag, 0, &[1]), Some(vec![0, 2, 3]));
        assert_eq!(path_without(&dag, 0, &[1, 2]), None);
        assert_eq!(path_without(&dag, 1, &[1]), None);
    }
}
