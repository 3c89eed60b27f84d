//! A function, or a region of it, with what is derived from its graph when it is first asked for.

use std::sync::OnceLock;

use metaloc_record::{BlockId, Snapshot};

use crate::cfg::{Dag, Dominators, Graph, Loops};
use crate::location_sets::Side;

/// The paths of a graph and what can be asked about them; blocks by id.
#[derive(Debug)]
pub struct View {
    /// The blocks.
    pub graph: Graph,
    /// Its loops.
    pub loops: Loops,
    /// The loops around all of it.
    around: Around,
    paths: OnceLock<Dag>,
    components: OnceLock<Dag>,
    dominators: OnceLock<Dominators>,
    forward: OnceLock<Dag>,
    forward_dominators: OnceLock<Dominators>,
    component_dominators: OnceLock<Dominators>,
}

/// What is around a region.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Around {
    /// How many loops.
    pub loops: u32,
    /// The block, by index, that control leaves to, and from which it comes back to the entry if there is a loop.
    pub end: Option<usize>,
    /// Blocks of it, by index, that control also comes to from outside.
    pub shared: Vec<u32>,
}

impl View {
    /// The whole function.
    pub fn of_function(snapshot: &Snapshot) -> View {
        View::new(Graph::new(snapshot), Around::default())
    }

    /// The whole function, given this view of another state of it.
    pub fn next(&self, of: &Snapshot, next: &Snapshot) -> View {
        View::new(self.graph.next(of, next), Around::default())
    }

    /// A graph and what is around it.
    pub fn new(graph: Graph, around: Around) -> View {
        let loops = Loops::new(&graph);
        View {
            graph,
            loops,
            around,
            paths: OnceLock::new(),
            components: OnceLock::new(),
            dominators: OnceLock::new(),
            forward: OnceLock::new(),
            forward_dominators: OnceLock::new(),
            component_dominators: OnceLock::new(),
        }
    }

    /// The graph of the walks that are paths.
    pub fn paths(&self) -> &Dag {
        self.paths.get_or_init(|| Dag::paths(&self.graph, &self.loops))
    }

    /// Dominators of [`View::paths`].
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(self.paths()))
    }

    /// The edges that do not retreat.
    pub fn forward(&self) -> &Dag {
        self.forward.get_or_init(|| Dag::forward(&self.graph, &self.loops))
    }

    /// Dominators of [`View::forward`], without what comes after.
    pub fn forward_dominators(&self) -> &Dominators {
        self.forward_dominators.get_or_init(|| Dominators::before(self.forward()))
    }

    /// The node of a block in [`View::paths`] and [`View::forward`].
    pub fn node(&self, block: BlockId) -> Option<usize> {
        self.graph.index(block).and_then(|index| self.paths().node(index))
    }

    /// True if every execution that reaches one block has passed the other.
    pub fn dominates(&self, by: BlockId, to: BlockId) -> bool {
        let (Some(by), Some(to)) = (self.node(by), self.node(to)) else { return false };
        self.forward_dominators().dominates(by, to)
    }

    /// For comparing sets over paths.
    pub fn path_side(&self) -> Side<'_> {
        Side { dag: self.paths(), dominators: self.dominators() }
    }

    /// For comparing sets over any number of iterations, also of the loops around.
    pub fn component_side(&self) -> Side<'_> {
        let dag = self.components.get_or_init(|| match self.around.end.filter(|_| self.around.loops > 0) {
            Some(end) => Dag::components(&self.graph.with_edge(end, 0), &self.loops),
            None => Dag::components(&self.graph, &self.loops),
        });
        Side { dag, dominators: self.component_dominators.get_or_init(|| Dominators::new(dag)) }
    }

    /// True if every path through one block passes the other; both have to be here.
    pub fn passes(&self, through: BlockId, by: BlockId) -> bool {
        let (Some(node), Some(other)) = (self.node(through), self.node(by)) else { return false };
        self.dominators().is_passed_after(other, node) || self.dominates(by, through)
    }

    /// True if the block is here and control can reach it.
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.graph.index(block).is_some_and(|index| self.loops.is_reachable(index))
    }

    /// True if both are here and the first is in a loop that the second is not in.
    pub fn leaves_loop(&self, from: BlockId, to: BlockId) -> bool {
        let (Some(from), Some(to)) = (self.graph.index(from), self.graph.index(to)) else { return false };
        self.loops.innermost(from).is_some_and(|of| !self.loops.contains(of, to))
    }

    /// The blocks, by index, that control also comes to from outside of the region.
    pub fn shared(&self) -> &[u32] {
        &self.around.shared
    }

    /// In how many loops a block is.
    pub fn depth(&self, block: BlockId) -> Option<u32> {
        self.graph.index(block).map(|index| self.loops.depth(index) + self.around.loops)
    }
}
