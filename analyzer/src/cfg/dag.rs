//! Acyclic graphs to ask reachability of.
//!
//! Three of them come from a control-flow graph:
//!
//! - [`Dag::paths`], the path graph of DESIGN.md, "What a path is". A walk from the entry takes no
//!   retreating edge; where it would take one to header h, it continues with the exits of h's loop. An
//!   exit is an edge from a block of the loop to one outside; one that is itself retreating, to the
//!   header of a loop further out, continues with the exits of that loop in turn. A loop without exits
//!   ends the walk. Each loop has a node of its own that stands for "the exits of this loop", so that
//!   many latches and many exits make their sum of edges and not their product.
//! - [`Dag::forward`], the same without what comes after a loop: which ways lead *to* a block. In the path
//!   graph an exit of a loop can be reached from any latch, also if only one block of the loop leads there.
//! - [`Dag::components`], where every strongly connected component is one node: reachability in it is
//!   reachability over any number of iterations.
//!
//! Why the path graph has no cycle: order the blocks so that each loop is contiguous and, between the
//! parts of a loop, along the edges that do not retreat (these lower the finishing time of the search,
//! so they close no cycle between parts). An exit of a loop leads to a later part, so an edge from a
//! latch to an exit target goes forward in that order, and so does every other edge.

use super::NONE;
use super::graph::{Graph, Rows};
use super::loops::Loops;

/// An acyclic graph whose nodes stand for blocks. Node 0 stands for the entry.
#[derive(Debug, Clone, Default)]
pub struct Dag {
    node_of: Vec<u32>,
    blocks: Rows,
    successors: Rows,
    predecessors: Rows,
    order: Vec<u32>,
    position: Vec<u32>,
}

impl Dag {
    /// The graph of the walks that are paths.
    pub fn paths(graph: &Graph, loops: &Loops) -> Dag {
        let blocks = graph.len();
        let exits_of = |of: usize| (blocks + of) as u32;
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(blocks * 2 + loops.len() * 2);
        for &from in loops.reachable() {
            for &to in graph.successors(from as usize) {
                let to = if loops.is_retreating(from as usize, to as usize) {
                    // A header is innermost in the loop that it heads.
                    exits_of(loops.innermost(to as usize).expect("a retreating edge ends in a header"))
                } else {
                    to
                };
                edges.push((from, to));
                let mut left = loops.innermost(from as usize);
                let target =
                    if (to as usize) < blocks { to as usize } else { loops.header(to as usize - blocks) };
                while let Some(of) = left.filter(|of| !loops.contains(*of, target)) {
                    edges.push((exits_of(of), to));
                    left = loops.parent(of);
                }
            }
        }
        let node = |block: usize| if loops.is_reachable(block) { block as u32 } else { NONE };
        Dag::new((0..blocks).map(node).collect(), blocks + loops.len(), edges)
    }

    /// The edges that do not retreat, over the same nodes as [`Dag::paths`]. Ways to a block in it are the
    /// ways to the block without repetition, so that a block before another one on all of them is so in
    /// every execution. (In irreducible graphs there may be more ways.)
    pub fn forward(graph: &Graph, loops: &Loops) -> Dag {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(graph.len() * 2);
        for &from in loops.reachable() {
            let to = graph.successors(from as usize).iter();
            edges.extend(
                to.filter(|to| !loops.is_retreating(from as usize, **to as usize)).map(|to| (from, *to)),
            );
        }
        let node = |block: usize| if loops.is_reachable(block) { block as u32 } else { NONE };
        Dag::new((0..graph.len()).map(node).collect(), graph.len() + loops.len(), edges)
    }

    /// The strongly connected components that the entry reaches.
    pub fn components(graph: &Graph, loops: &Loops) -> Dag {
        let (mut node_of, count) = components(graph);
        for (block, node) in node_of.iter_mut().enumerate() {
            if !loops.is_reachable(block) {
                *node = NONE;
            }
        }
        let mut edges = Vec::new();
        for &from in loops.reachable() {
            for &to in graph.successors(from as usize) {
                let edge = (node_of[from as usize], node_of[to as usize]);
                if edge.0 != edge.1 {
                    edges.push(edge);
                }
            }
        }
        Dag::new(node_of, count, edges)
    }

    fn new(node_of: Vec<u32>, nodes: usize, edges: Vec<(u32, u32)>) -> Dag {
        let successors = Rows::from_pairs(nodes, &edges);
        let reversed: Vec<(u32, u32)> = edges.iter().map(|(from, to)| (*to, *from)).collect();
        let predecessors = Rows::from_pairs(nodes, &reversed);
        let members: Vec<(u32, u32)> =
            node_of.iter().enumerate().filter(|(_, n)| **n != NONE).map(|(b, n)| (*n, b as u32)).collect();
        let blocks = Rows::from_pairs(nodes, &members);
        let order = topological_order(&successors, &predecessors);
        let mut position = vec![0; nodes];
        for (at, node) in order.iter().enumerate() {
            position[*node as usize] = at as u32;
        }
        Dag { node_of, blocks, successors, predecessors, order, position }
    }

    /// Number of nodes, those without a block included.
    pub fn len(&self) -> usize {
        self.successors.rows()
    }

    /// True for the graph of a declaration.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.successors.items()
    }

    /// The node of a block, unless the block cannot be reached.
    pub fn node(&self, block: usize) -> Option<usize> {
        (self.node_of[block] != NONE).then_some(self.node_of[block] as usize)
    }

    /// The blocks of a node; none for a node that stands for the exits of a loop.
    pub fn blocks(&self, node: usize) -> &[u32] {
        self.blocks.row(node)
    }

    /// Where edges from a node lead.
    pub fn successors(&self, node: usize) -> &[u32] {
        self.successors.row(node)
    }

    /// Where edges to a node come from.
    pub fn predecessors(&self, node: usize) -> &[u32] {
        self.predecessors.row(node)
    }

    /// All nodes, each after its predecessors.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Where a node is in [`Dag::order`].
    pub fn position(&self, node: usize) -> u32 {
        self.position[node]
    }

    /// Appends each node that is reachable from `start`, `start` included, forwards and backwards.
    pub fn reach(&self, start: usize, visited: &mut Visited, out: &mut Vec<u32>) {
        for rows in [&self.successors, &self.predecessors] {
            visited.reset(self.len());
            visited.insert(start);
            let first = out.len();
            out.push(start as u32);
            let mut next = first;
            while next < out.len() {
                let node = out[next] as usize;
                next += 1;
                out.extend(rows.row(node).iter().copied().filter(|to| visited.insert(*to as usize)));
            }
        }
    }

    /// A shortest path from `from` to `to` that avoids what `avoid` says, both ends included.
    pub fn route(&self, from: usize, to: usize, avoid: impl Fn(usize) -> bool) -> Option<Vec<u32>> {
        let mut came_from = vec![NONE; self.len()];
        let mut queue = vec![from as u32];
        if avoid(from) || avoid(to) {
            return None;
        }
        came_from[from] = from as u32;
        let mut next = 0;
        while next < queue.len() && came_from[to] == NONE {
            let node = queue[next];
            next += 1;
            for &step in self.successors(node as usize) {
                if came_from[step as usize] == NONE && !avoid(step as usize) {
                    came_from[step as usize] = node;
                    queue.push(step);
                }
            }
        }
        if came_from[to] == NONE {
            return None;
        }
        let mut path = vec![to as u32];
        while path[path.len() - 1] as usize != from {
            path.push(came_from[path[path.len() - 1] as usize]);
        }
        path.reverse();
        Some(path)
    }
}

/// A set of nodes that is emptied without touching its memory.
#[derive(Debug, Clone, Default)]
pub struct Visited {
    stamp: Vec<u32>,
    now: u32,
}

impl Visited {
    /// Empties the set and makes room for `len` nodes.
    pub fn reset(&mut self, len: usize) {
        if self.stamp.len() < len {
            self.stamp.resize(len, 0);
        }
        self.now = self.now.checked_add(1).unwrap_or_else(|| {
            self.stamp.fill(0);
            1
        });
    }

    /// Adds a node; false if it was there.
    pub fn insert(&mut self, node: usize) -> bool {
        let new = self.stamp[node] != self.now;
        self.stamp[node] = self.now;
        new
    }

    /// True if the node is in the set.
    pub fn contains(&self, node: usize) -> bool {
        self.stamp.get(node) == Some(&self.now)
    }
}

fn topological_order(successors: &Rows, predecessors: &Rows) -> Vec<u32> {
    let nodes = successors.rows();
    let mut missing: Vec<u32> = (0..nodes).map(|n| predecessors.row(n).len() as u32).collect();
    let mut order: Vec<u32> = (0..nodes as u32).filter(|n| missing[*n as usize] == 0).collect();
    order.reserve(nodes - order.len());
    let mut next = 0;
    while next < order.len() {
        let node = order[next] as usize;
        next += 1;
        for &to in successors.row(node) {
            missing[to as usize] -= 1;
            if missing[to as usize] == 0 {
                order.push(to);
            }
        }
    }
    debug_assert_eq!(order.len(), nodes, "the graph has a cycle");
    order
}

/// Tarjan's algorithm without recursion; components are numbered from the entry on.
fn components(graph: &Graph) -> (Vec<u32>, usize) {
    let count = graph.len();
    let mut pre = vec![NONE; count];
    let mut low = vec![0u32; count];
    let mut component = vec![NONE; count];
    let mut found = 0u32;
    let mut clock = 0u32;
    let mut pending: Vec<u32> = Vec::new();
    let mut open: Vec<(u32, u32)> = Vec::new();
    if count > 0 {
        open.push((0, 0));
    }
    while let Some((block, next)) = open.last_mut() {
        let at = *block as usize;
        if *next == 0 {
            pre[at] = clock;
            low[at] = clock;
            clock += 1;
            pending.push(*block);
        }
        if let Some(&to) = graph.successors(at).get(*next as usize) {
            *next += 1;
            if pre[to as usize] == NONE {
                open.push((to, 0));
            } else if component[to as usize] == NONE {
                low[at] = low[at].min(pre[to as usize]);
            }
            continue;
        }
        open.pop();
        if let Some((above, _)) = open.last() {
            let above = *above as usize;
            low[above] = low[above].min(low[at]);
        }
        if low[at] == pre[at] {
            while let Some(member) = pending.pop() {
                component[member as usize] = found;
                if member as usize == at {
                    break;
                }
            }
            found += 1;
        }
    }
    // Tarjan finds the entry's component last; node 0 has to stand for the entry.
    for number in component.iter_mut().filter(|n| **n != NONE) {
        *number = found - 1 - *number;
    }
    (component, found as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::walks::{self, graph_strategy, structured_strategy};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn through(graph: &Graph, block: usize) -> BTreeSet<usize> {
        let dag = Dag::paths(graph, &Loops::new(graph));
        let mut nodes = Vec::new();
        if let Some(node) = dag.node(block) {
            dag.reach(node, &mut Visited::default(), &mut nodes);
        }
        nodes.iter().flat_map(|n| dag.blocks(*n as usize)).map(|b| *b as usize).collect()
    }

    fn set(blocks: &[usize]) -> BTreeSet<usize> {
        blocks.iter().copied().collect()
    }

    #[test]
    fn code_after_a_loop_tested_at_the_top_is_on_the_paths_of_its_body() {
        // 0 -> 1 -> 2 -> 1, 1 -> 3
        let graph = walks::graph(&[&[1], &[2, 3], &[1], &[]]);
        assert_eq!(through(&graph, 2), set(&[0, 1, 2, 3]));
    }

    #[test]
    fn sides_of_a_diamond_in_a_loop_stay_apart() {
        // 0 -> 1 -> {2, 3} -> 4 -> 1, 5
        let graph = walks::graph(&[&[1], &[2, 3], &[4], &[4], &[1, 5], &[]]);
        assert_eq!(through(&graph, 2), set(&[0, 1, 2, 4, 5]));
        assert_eq!(through(&graph, 3), set(&[0, 1, 3, 4, 5]));
    }

    #[test]
    fn an_exit_that_is_a_back_edge_of_the_outer_loop_continues_with_the_exits_of_that() {
        // outer 1, inner 2 = {2}, whose only exit goes back to 1; 1 -> 3 leaves.
        let graph = walks::graph(&[&[1], &[2, 3], &[2, 1], &[]]);
        assert_eq!(through(&graph, 2), set(&[0, 1, 2, 3]));
    }

    #[test]
    fn a_loop_without_exit_ends_the_walk_and_an_unreachable_block_is_on_none() {
        let graph = walks::graph(&[&[1, 3], &[2], &[1], &[], &[3]]);
        assert_eq!(through(&graph, 2), set(&[0, 1, 2]));
        assert_eq!(through(&graph, 4), set(&[]));
    }

    #[test]
    fn components_join_what_iterations_join() {
        let graph = walks::graph(&[&[1], &[2, 3], &[4], &[4], &[1, 5], &[]]);
        let dag = Dag::components(&graph, &Loops::new(&graph));
        assert_eq!(dag.node(0), Some(0));
        assert_eq!(dag.node(2), dag.node(3));
        assert_ne!(dag.node(2), dag.node(5));
    }

    #[test]
    fn many_latches_and_exits_make_their_sum_of_edges() {
        let mut edges: Vec<Vec<u32>> = vec![vec![1], (2..502).collect()];
        edges.extend((2..502).map(|_| vec![1, 502]));
        edges.push(vec![]);
        let graph = walks::graph(&edges.iter().map(|e| e.as_slice()).collect::<Vec<_>>());
        let dag = Dag::paths(&graph, &Loops::new(&graph));
        assert!(dag.edges() < 2100, "{}", dag.edges());
    }

    proptest! {
        #[test]
        fn reachability_is_the_union_of_the_walks(graph in graph_strategy(9)) {
            let walks = walks::blocks_by_walks(&graph);
            for (block, expected) in walks.iter().enumerate() {
                prop_assert_eq!(&through(&graph, block), expected, "block {}", block);
            }
        }

        #[test]
        fn reachability_is_the_union_of_the_walks_in_structured_code(graph in structured_strategy()) {
            let walks = walks::blocks_by_walks(&graph);
            for (block, expected) in walks.iter().enumerate() {
                prop_assert_eq!(&through(&graph, block), expected, "block {}", block);
            }
        }

        #[test]
        fn components_are_mutual_reachability(graph in graph_strategy(12)) {
            let dag = Dag::components(&graph, &Loops::new(&graph));
            let reach = walks::closure(&graph);
            for (a, from_a) in reach.iter().enumerate() {
                for (b, from_b) in reach.iter().enumerate() {
                    if let (Some(x), Some(y)) = (dag.node(a), dag.node(b)) {
                        prop_assert_eq!(x == y, a == b || (from_a[b] && from_b[a]));
                    }
                }
            }
        }
    }
}
