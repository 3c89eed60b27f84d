//! The oracle of the tests: loops and walks straight from their definitions, and graphs to try them on.
//!
//! Nothing here is shared with what it checks except [`Graph`]; everything is exponential or cubic.

use std::collections::{BTreeMap, BTreeSet};

use metaloc_record::{Block, BlockId, Snapshot};
use proptest::prelude::*;

use super::graph::Graph;

/// The graph with these successors of block 0, 1, ...
pub(crate) fn graph(successors: &[&[u32]]) -> Graph {
    Graph::new(&snapshot(successors))
}

/// A snapshot with these edges and no instructions.
pub(crate) fn snapshot(successors: &[&[u32]]) -> Snapshot {
    let block = |(id, to): (usize, &&[u32])| {
        let successors = to.iter().map(|t| BlockId(*t)).collect();
        Block { id: BlockId(id as u32), insts: vec![], successors }
    };
    successors.iter().enumerate().map(block).collect()
}

/// Any graph with at most `max` blocks: irreducible, unreachable and endless parts included.
pub(crate) fn graph_strategy(max: usize) -> impl Strategy<Value = Graph> {
    edges_strategy(max).prop_map(|edges| graph(&edges.iter().map(|e| e.as_slice()).collect::<Vec<_>>()))
}

pub(crate) fn edges_strategy(max: usize) -> impl Strategy<Value = Vec<Vec<u32>>> {
    (1..=max).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n as u32, 0..=2), n))
}

/// Structured code: sequences, diamonds, and loops tested at the top and at the bottom, nested.
#[derive(Debug, Clone)]
enum Code {
    Block,
    Seq(Vec<Code>),
    If(Box<Code>, Option<Box<Code>>),
    While(Box<Code>),
    DoWhile(Box<Code>),
}

pub(crate) fn structured_strategy() -> impl Strategy<Value = Graph> {
    structured_edges().prop_map(|edges| graph(&edges.iter().map(|e| e.as_slice()).collect::<Vec<_>>()))
}

pub(crate) fn structured_edges() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let code = Just(Code::Block).prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(Code::Seq),
            (inner.clone(), prop::option::of(inner.clone()))
                .prop_map(|(a, b)| Code::If(Box::new(a), b.map(Box::new))),
            inner.clone().prop_map(|c| Code::While(Box::new(c))),
            inner.prop_map(|c| Code::DoWhile(Box::new(c))),
        ]
    });
    code.prop_map(|code| {
        let mut edges = vec![vec![]];
        let last = emit(&code, 0, &mut edges);
        assert!(edges[last as usize].is_empty());
        edges
    })
}

/// Appends the code after block `at`; returns the block where control comes out.
fn emit(code: &Code, at: u32, edges: &mut Vec<Vec<u32>>) -> u32 {
    let block = |edges: &mut Vec<Vec<u32>>| {
        edges.push(vec![]);
        edges.len() as u32 - 1
    };
    match code {
        Code::Block => {
            let next = block(edges);
            edges[at as usize].push(next);
            next
        }
        Code::Seq(parts) => parts.iter().fold(at, |at, part| emit(part, at, edges)),
        Code::If(then, other) => {
            let first = block(edges);
            edges[at as usize].push(first);
            let then_end = emit(then, first, edges);
            let join = block(edges);
            edges[then_end as usize].push(join);
            let mut other_end = at;
            if let Some(other) = other {
                let second = block(edges);
                edges[at as usize].push(second);
                other_end = emit(other, second, edges);
            }
            edges[other_end as usize].push(join);
            join
        }
        Code::While(body) => {
            let header = block(edges);
            edges[at as usize].push(header);
            let first = block(edges);
            edges[header as usize].push(first);
            let latch = emit(body, first, edges);
            edges[latch as usize].push(header);
            let exit = block(edges);
            edges[header as usize].push(exit);
            exit
        }
        Code::DoWhile(body) => {
            let header = block(edges);
            edges[at as usize].push(header);
            let latch = emit(body, header, edges);
            edges[latch as usize].push(header);
            let exit = block(edges);
            edges[latch as usize].push(exit);
            exit
        }
    }
}

/// Transitive closure over at least one edge.
pub(crate) fn closure(graph: &Graph) -> Vec<Vec<bool>> {
    let n = graph.len();
    let mut reach = vec![vec![false; n]; n];
    for (from, row) in reach.iter_mut().enumerate() {
        graph.successors(from).iter().for_each(|to| row[*to as usize] = true);
    }
    for via in 0..n {
        for from in 0..n {
            if reach[from][via] {
                let row = reach[via].clone();
                (0..n).filter(|to| row[*to]).for_each(|to| reach[from][to] = true);
            }
        }
    }
    reach
}

/// The search tree by plain recursion: for each reachable block, its ancestors with itself last.
fn ancestors(graph: &Graph) -> Vec<Option<Vec<usize>>> {
    fn visit(graph: &Graph, at: usize, mut above: Vec<usize>, found: &mut Vec<Option<Vec<usize>>>) {
        above.push(at);
        found[at] = Some(above.clone());
        for &to in graph.successors(at) {
            if found[to as usize].is_none() {
                visit(graph, to as usize, above.clone(), found);
            }
        }
    }
    let mut found = vec![None; graph.len()];
    if !graph.is_empty() {
        visit(graph, 0, Vec::new(), &mut found);
    }
    found
}

/// Header -> members, by the definition in `loops.rs`.
pub(crate) fn loops_by_definition(graph: &Graph) -> BTreeMap<usize, Vec<usize>> {
    let ancestors = ancestors(graph);
    let is_below = |block: usize, above: usize| ancestors[block].as_ref().is_some_and(|a| a.contains(&above));
    let mut loops = BTreeMap::new();
    for from in 0..graph.len() {
        for &to in graph.successors(from) {
            let header = to as usize;
            if is_below(from, header) {
                loops.entry(header).or_insert_with(|| {
                    let mut members: BTreeSet<usize> = [header].into();
                    loop {
                        let more: Vec<usize> = (0..graph.len())
                            .filter(|b| is_below(*b, header) && !members.contains(b))
                            .filter(|b| graph.successors(*b).iter().any(|s| members.contains(&(*s as usize))))
                            .collect();
                        if more.is_empty() {
                            break;
                        }
                        members.extend(more);
                    }
                    members.into_iter().collect()
                });
            }
        }
    }
    loops
}

/// For each block, the blocks on all walks through it: the walks are enumerated one by one.
pub(crate) fn blocks_by_walks(graph: &Graph) -> Vec<BTreeSet<usize>> {
    let mut found = vec![BTreeSet::new(); graph.len()];
    if !graph.is_empty() {
        let walks = Walks { graph, loops: loops_by_definition(graph), ancestors: ancestors(graph) };
        walks.walk(0, &mut Vec::new(), &mut |walk| {
            for block in walk {
                found[*block].extend(walk.iter().copied());
            }
        });
    }
    found
}

struct Walks<'a> {
    graph: &'a Graph,
    loops: BTreeMap<usize, Vec<usize>>,
    ancestors: Vec<Option<Vec<usize>>>,
}

impl Walks<'_> {
    fn walk(&self, at: usize, so_far: &mut Vec<usize>, done: &mut impl FnMut(&[usize])) {
        assert!(!so_far.contains(&at), "a walk came back to {at}: {so_far:?}");
        so_far.push(at);
        let mut next = BTreeSet::new();
        for &to in self.graph.successors(at) {
            self.step(at, to as usize, &mut next);
        }
        if next.is_empty() {
            done(so_far);
        }
        for to in next {
            self.walk(to, so_far, done);
        }
        so_far.pop();
    }

    /// Where a walk goes that would take this edge.
    fn step(&self, from: usize, to: usize, next: &mut BTreeSet<usize>) {
        if !self.ancestors[from].as_ref().is_some_and(|a| a.contains(&to)) {
            next.insert(to);
            return;
        }
        let members = &self.loops[&to];
        for &member in members {
            for &exit in self.graph.successors(member) {
                if !members.contains(&(exit as usize)) {
                    self.step(member, exit as usize, next);
                }
            }
        }
    }
}
