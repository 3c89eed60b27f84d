//! Shape of a graph: loop heads, anchors, paths between them, and which variables are live where.

use crate::calls::is_reply;
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::{Graph, Point, PointId};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Points at which nodes of the product may lie: the entry, the exit, and the head of every loop, so that
/// every cycle has one.
#[derive(Debug, Clone)]
pub struct Anchors {
    anchors: BTreeSet<PointId>,
    loop_heads: BTreeSet<PointId>,
    exit: Option<PointId>,
    /// Points right before a call.
    calls: BTreeSet<PointId>,
    /// Anchors with so many paths to the next ones that those with one end are taken together.
    crowded: BTreeSet<PointId>,
}

/// Paths to the next anchors that are looked at one by one.
const SINGLE_PATHS: usize = 16;

impl Anchors {
    /// The anchors of a graph.
    pub fn of(graph: &Graph) -> Anchors {
        let loop_heads = loop_heads(graph);
        let exit = graph.find(&Point::Exit);
        // Calls are taken together one by one.
        let calls: Vec<(PointId, PointId)> =
            graph.edges.iter().filter(|edge| edge.call.is_some()).map(|edge| (edge.from, edge.to)).collect();
        let around = calls.iter().flat_map(|(from, to)| [*from, *to]);
        let anchors: BTreeSet<PointId> =
            loop_heads.iter().copied().chain([PointId(0)]).chain(exit).chain(around).collect();
        let calls = calls.into_iter().map(|(from, _)| from).collect();
        let mut found = Anchors { anchors, loop_heads, exit, calls, crowded: BTreeSet::new() };
        let crowded = |from: &PointId| paths(graph, &found, *from, SINGLE_PATHS).is_none();
        found.crowded = found.anchors.iter().copied().filter(crowded).collect();
        found
    }

    /// Whether paths from here to the same anchor are taken together.
    pub fn is_crowded(&self, point: PointId) -> bool {
        self.crowded.contains(&point)
    }

    /// What the product has an edge for each of: all paths from an anchor to the next ones, those with one end
    /// together where there are many.
    pub fn ways(&self, graph: &Graph, from: PointId) -> Vec<Path> {
        if !self.is_crowded(from) {
            return paths(graph, self, from, SINGLE_PATHS).unwrap_or_default();
        }
        let (mut open, mut seen, mut ends) = (vec![from], HashSet::new(), BTreeSet::new());
        while let Some(point) = open.pop() {
            let mut leads_on = false;
            for edge in graph.leaving(point) {
                leads_on = true;
                if self.contains(edge.to) {
                    ends.insert(edge.to);
                } else if seen.insert(edge.to) {
                    open.push(edge.to);
                }
            }
            if !leads_on {
                ends.insert(point);
            }
        }
        ends.into_iter().map(|to| Path { edges: Vec::new(), to }).collect()
    }

    /// Whether a point is an anchor.
    pub fn contains(&self, point: PointId) -> bool {
        self.anchors.contains(&point)
    }

    /// Whether the step from a point is a call.
    pub fn is_call(&self, point: PointId) -> bool {
        self.calls.contains(&point)
    }

    /// Whether a point is the head of a loop.
    pub fn is_loop_head(&self, point: PointId) -> bool {
        self.loop_heads.contains(&point)
    }

    /// Whether a point is the exit.
    pub fn is_exit(&self, point: PointId) -> bool {
        self.exit == Some(point)
    }
}

/// Targets of edges that go back to a point that is being visited.
fn loop_heads(graph: &Graph) -> BTreeSet<PointId> {
    let mut heads = BTreeSet::new();
    let (mut seen, mut on_path) = (HashSet::from([PointId(0)]), HashSet::from([PointId(0)]));
    let successors = |point| graph.leaving(point).map(|edge| edge.to).collect::<Vec<_>>();
    let mut open = vec![(PointId(0), successors(PointId(0)))];
    while let Some((point, rest)) = open.last_mut() {
        match rest.pop() {
            Some(next) if on_path.contains(&next) => {
                heads.insert(next);
            }
            Some(next) => {
                if seen.insert(next) {
                    on_path.insert(next);
                    open.push((next, successors(next)));
                }
            }
            None => {
                on_path.remove(point);
                open.pop();
            }
        }
    }
    heads
}

/// A path from one anchor to the next, or all paths with the same end. The last point is no anchor only if the
/// program stops there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    /// Numbers of edges in the graph; empty for all paths to the end.
    pub edges: Vec<usize>,
    /// Where it ends.
    pub to: PointId,
}

/// All paths from an anchor to the next anchors, nothing if there are more than `most`.
pub fn paths(graph: &Graph, anchors: &Anchors, from: PointId, most: usize) -> Option<Vec<Path>> {
    let mut done = Vec::new();
    let mut open = vec![Path { edges: Vec::new(), to: from }];
    while let Some(path) = open.pop() {
        let begun = !path.edges.is_empty();
        let ways: Vec<_> = graph.edges.iter().enumerate().filter(|(_, edge)| edge.from == path.to).collect();
        if begun && (anchors.contains(path.to) || ways.is_empty()) {
            done.push(path);
            if done.len() > most {
                return None;
            }
            continue;
        }
        for (number, edge) in ways.into_iter().rev() {
            let edges = [path.edges.as_slice(), &[number]].concat();
            open.push(Path { edges, to: edge.to });
        }
    }
    Some(done)
}

/// Live variables at each point: what is read later, on some path, before it is written.
pub fn liveness(arena: &Arena, graph: &Graph, at_exit: &[ExprId]) -> Vec<HashSet<ExprId>> {
    let mut read = HashMap::<ExprId, Vec<ExprId>>::new();
    let mut variables = |id: ExprId| {
        let found = read.entry(id).or_insert_with(|| {
            let parts = arena.reachable(&[id]);
            // An answer is nothing that a program has before it asks.
            let own =
                |part: &ExprId| matches!(arena.node(*part), Node::Variable(_)) && !is_reply(arena, *part);
            parts.into_iter().filter(own).collect()
        });
        found.clone()
    };
    let mut live: Vec<HashSet<ExprId>> = graph.points.iter().map(|_| HashSet::new()).collect();
    if let Some(exit) = graph.find(&Point::Exit) {
        live[exit.0 as usize].extend(at_exit);
    }
    let mut changed = true;
    while changed {
        changed = false;
        for edge in graph.edges.iter().rev() {
            let after = live[edge.to.0 as usize].clone();
            let assigned: HashMap<ExprId, ExprId> = edge.assignments.iter().copied().collect();
            let mut before: Vec<ExprId> = variables(edge.guard);
            for value in edge.call.iter().flat_map(|call| call.arguments.iter().chain(&call.wanted)) {
                before.extend(variables(*value));
            }
            // A callee reads the memory that it changes.
            if edge.call.is_some() {
                let memories = edge.assignments.iter().map(|(variable, _)| *variable);
                before.extend(memories.filter(|variable| matches!(arena.sort(*variable), Sort::Memory(_))));
            }
            for access in &edge.accesses {
                before.extend(variables(access.address));
            }
            for requirement in &edge.requirements {
                before.extend(variables(requirement.condition));
            }
            for variable in after {
                match assigned.get(&variable) {
                    Some(value) => before.extend(variables(*value)),
                    None => before.push(variable),
                }
            }
            let at = &mut live[edge.from.0 as usize];
            let size = at.len();
            at.extend(before);
            changed |= at.len() != size;
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Bits;
    use crate::graph::Edge;

    fn graph(arena: &mut Arena, points: u32, ends: &[(u32, u32)]) -> Graph {
        let guard = arena.constant(Bits::bit(true));
        let edge = |(from, to): &(u32, u32)| Edge {
            from: PointId(*from),
            to: PointId(*to),
            guard,
            assignments: Vec::new(),
            requirements: Vec::new(),
            accesses: Vec::new(),
            assumptions: Vec::new(),
            call: None,
            open: false,
        };
        let mut names: Vec<Point> = (1..points).map(|pc| Point::Pc(u64::from(pc))).collect();
        names.push(Point::Exit);
        Graph { points: names, edges: ends.iter().map(edge).collect() }
    }

    #[test]
    fn nested_loops_have_two_heads_and_paths_stop_at_them() {
        let mut arena = Arena::new();
        // 0 -> 1 (outer) -> 2 (inner) -> 3 -> 2, 2 -> 1, 1 -> 4
        let graph = graph(&mut arena, 5, &[(0, 1), (1, 2), (2, 3), (3, 2), (2, 1), (1, 4)]);
        let anchors = Anchors::of(&graph);
        let heads: Vec<u32> = (0..5).filter(|n| anchors.is_loop_head(PointId(*n))).collect();
        assert_eq!(heads, [1, 2]);
        let found = paths(&graph, &anchors, PointId(2), 9).unwrap();
        let found: Vec<_> = found.iter().map(|path| (path.edges.clone(), path.to.0)).collect();
        assert_eq!(found, [(vec![2, 3], 2), (vec![4], 1)]);
    }

    #[test]
    fn too_many_paths_are_refused_and_a_trap_ends_one() {
        let mut arena = Arena::new();
        let diamonds = graph(&mut arena, 6, &[(0, 1), (0, 2), (1, 3), (2, 3), (3, 5), (3, 4)]);
        let anchors = Anchors::of(&diamonds);
        assert!(paths(&diamonds, &anchors, PointId(0), 3).is_none());
        let found = paths(&diamonds, &anchors, PointId(0), 4).unwrap();
        assert_eq!(found.iter().filter(|path| path.to == PointId(4)).count(), 2);
    }

    #[test]
    fn a_variable_is_live_until_it_is_overwritten() {
        let mut arena = Arena::new();
        let (a, b) = (arena.variable("a", Sort::Bits(8)), arena.variable("b", Sort::Bits(8)));
        let mut graph = graph(&mut arena, 3, &[(0, 1), (1, 2)]);
        graph.edges[1].assignments.push((a, b));
        let live = liveness(&arena, &graph, &[a]);
        assert_eq!(live, [HashSet::from([b]), HashSet::from([b]), HashSet::from([a])]);
    }
}
