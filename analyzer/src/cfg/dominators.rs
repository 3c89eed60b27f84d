//! Dominators of an acyclic graph, forwards and backwards.
//!
//! Every path through node d passes node s exactly if s is on all ways from the entry to d or on all
//! ways from d to an end: the way to d and the way from d are chosen independently. So two dominator
//! trees answer "is every path through d a path through s" at once for any pair.
//!
//! In topological order one pass suffices, since all predecessors of a node are finished when it is its
//! turn. The common ancestor of the predecessors is found with jump pointers (a pointer to the parent
//! and one further up, at distances that make a climb logarithmic), so that long ladders of blocks stay
//! cheap.

use super::NONE;
use super::dag::Dag;

/// Dominator and post-dominator tree of one [`Dag`].
#[derive(Debug, Clone)]
pub struct Dominators {
    before: Tree,
    after: Tree,
}

impl Dominators {
    /// Computes both trees.
    pub fn new(dag: &Dag) -> Dominators {
        let Dominators { before, .. } = Dominators::before(dag);
        let mut after = Tree::new(dag.len());
        for &node in dag.order().iter().rev() {
            after.add(node, dag.successors(node as usize));
        }
        Dominators { before, after }
    }

    /// The dominator tree alone; nothing is passed after anything.
    pub fn before(dag: &Dag) -> Dominators {
        let mut before = Tree::new(dag.len());
        for &node in dag.order() {
            before.add(node, dag.predecessors(node as usize));
        }
        Dominators { before, after: Tree::new(0) }
    }

    /// The tree of what comes after, of the paths that stay among some nodes; nothing dominates anything.
    pub fn after_among(dag: &Dag, keep: impl Fn(usize) -> bool) -> Dominators {
        let mut after = Tree::new(dag.len());
        let mut next = Vec::new();
        for &node in dag.order().iter().rev().filter(|node| keep(**node as usize)) {
            next.clear();
            next.extend(dag.successors(node as usize).iter().copied().filter(|to| keep(*to as usize)));
            after.add(node, &next);
        }
        Dominators { before: Tree::new(0), after }
    }

    /// The last node that every way from the entry to either of two passes.
    pub fn common_above(&self, a: usize, b: usize) -> Option<usize> {
        self.before.common_of(a, b)
    }

    /// The first node that every way from either of two to an end passes.
    pub fn common_below(&self, a: usize, b: usize) -> Option<usize> {
        self.after.common_of(a, b)
    }

    /// True if every path through `through` passes `by`.
    pub fn passes(&self, through: usize, by: usize) -> bool {
        self.dominates(by, through) || self.is_passed_after(by, through)
    }

    /// The last node before this one that every way from the entry passes.
    pub fn above(&self, node: usize) -> Option<usize> {
        self.before.parent_of(node)
    }

    /// The first node after this one that every way to an end passes.
    pub fn below(&self, node: usize) -> Option<usize> {
        self.after.parent_of(node)
    }

    /// True if every way from `from` to an end passes `by`.
    pub fn is_passed_after(&self, by: usize, from: usize) -> bool {
        self.after.is_above(by as u32, from as u32)
    }

    /// True if every way from the entry to `to` passes `by`.
    pub fn dominates(&self, by: usize, to: usize) -> bool {
        self.before.is_above(by as u32, to as u32)
    }
}

/// A tree under a root that is no node: the ends of the paths, of which there may be several.
#[derive(Debug, Clone)]
struct Tree {
    parent: Vec<u32>,
    jump: Vec<u32>,
    depth: Vec<u32>,
}

impl Tree {
    fn new(nodes: usize) -> Tree {
        let root = nodes;
        let mut tree =
            Tree { parent: vec![NONE; nodes + 1], jump: vec![NONE; nodes + 1], depth: vec![0; nodes + 1] };
        tree.parent[root] = root as u32;
        tree.jump[root] = root as u32;
        tree
    }

    fn parent_of(&self, node: usize) -> Option<usize> {
        let parent = self.parent[node];
        (parent != self.root()).then_some(parent as usize)
    }

    fn common_of(&self, a: usize, b: usize) -> Option<usize> {
        let common = self.common(a as u32, b as u32);
        (common != self.root()).then_some(common as usize)
    }

    fn root(&self) -> u32 {
        self.parent.len() as u32 - 1
    }

    fn add(&mut self, node: u32, comes_from: &[u32]) {
        let parent = comes_from.iter().copied().reduce(|a, b| self.common(a, b)).unwrap_or(self.root());
        let (at, up) = (node as usize, parent as usize);
        let jump = self.jump[up] as usize;
        self.parent[at] = parent;
        self.depth[at] = self.depth[up] + 1;
        let far = self.jump[jump];
        let equal = self.depth[up] - self.depth[jump] == self.depth[jump] - self.depth[far as usize];
        self.jump[at] = if equal { far } else { parent };
    }

    fn climb(&self, mut node: u32, depth: u32) -> u32 {
        while self.depth[node as usize] > depth {
            let jump = self.jump[node as usize];
            node = if self.depth[jump as usize] >= depth { jump } else { self.parent[node as usize] };
        }
        node
    }

    fn common(&self, a: u32, b: u32) -> u32 {
        let depth = self.depth[a as usize].min(self.depth[b as usize]);
        let (mut a, mut b) = (self.climb(a, depth), self.climb(b, depth));
        while a != b {
            let (x, y) = (self.jump[a as usize], self.jump[b as usize]);
            (a, b) = if x != y { (x, y) } else { (self.parent[a as usize], self.parent[b as usize]) };
        }
        a
    }

    fn is_above(&self, above: u32, node: u32) -> bool {
        self.depth[node as usize] >= self.depth[above as usize]
            && self.climb(node, self.depth[above as usize]) == above
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::Loops;
    use crate::cfg::walks::{self, graph_strategy};
    use proptest::prelude::*;

    /// Is there a path through `through` that avoids `by`? By removing `by` from the graph.
    fn avoids(dag: &Dag, through: usize, by: usize) -> bool {
        let ends = (0..dag.len()).filter(|n| dag.successors(*n).is_empty());
        dag.route(0, through, |n| n == by).is_some()
            && ends.into_iter().any(|end| dag.route(through, end, |n| n == by).is_some())
    }

    #[test]
    fn body_of_a_loop_tested_at_the_top_is_not_on_every_path_through_the_header() {
        let graph = walks::graph(&[&[1], &[2, 3], &[1], &[]]);
        let dominators = Dominators::new(&Dag::paths(&graph, &Loops::new(&graph)));
        assert!(!dominators.passes(1, 2));
        assert!(dominators.passes(2, 1));
        assert!(dominators.passes(0, 3));
    }

    proptest! {
        #[test]
        fn passes_is_what_removal_says(graph in graph_strategy(10)) {
            let dag = Dag::paths(&graph, &Loops::new(&graph));
            let dominators = Dominators::new(&dag);
            for through in (0..graph.len()).filter_map(|b| dag.node(b)) {
                for by in (0..graph.len()).filter_map(|b| dag.node(b)) {
                    prop_assert_eq!(dominators.passes(through, by), !avoids(&dag, through, by));
                }
            }
        }
    }
}
