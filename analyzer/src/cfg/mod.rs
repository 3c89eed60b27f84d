//! Control-flow graphs of snapshots, and what a path through them is.
//!
//! - [`graph`]: blocks as dense indices, edges as flat arrays;
//! - [`loops`]: the depth-first search, its retreating edges, and the loops they close;
//! - [`dag`]: acyclic graphs to ask reachability of: the path graph of DESIGN.md, and the components;
//! - [`dominators`]: on such a graph, what every path through a node has to pass.
//!
//! Everything is linear in the size of the function, up to a logarithm in [`dominators`]: the judgement
//! runs inside a compiler, once per pass run.

pub mod dag;
pub mod dominators;
pub mod graph;
pub mod loops;

#[cfg(test)]
pub(crate) mod walks;

pub use dag::Dag;
pub use dominators::Dominators;
pub use graph::Graph;
pub use loops::Loops;

/// "No such index" in the flat tables of this module.
pub const NONE: u32 = u32::MAX;
