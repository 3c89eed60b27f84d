//! Pictures of proofs: the product graph of each function, with what holds at its nodes.
//!
//! - [`words`]: invariants and paths as people write them;
//! - [`layout`]: where nodes and edges go;
//! - [`svg`] and [`dot`]: the two formats.
//!
//! A picture shows everything that the document says of nodes and edges, and nothing that it does not say.

mod dot;
mod layout;
mod svg;
mod words;

pub use dot::dot;
pub use svg::svg;

use crate::Function;
use words::{edge_lines, node_lines, title};

/// A function as boxes and arrows with text.
struct Drawing {
    title: String,
    /// Lines of each node; the first is its heading.
    nodes: Vec<Vec<String>>,
    edges: Vec<Arrow>,
}

struct Arrow {
    from: usize,
    to: usize,
    lines: Vec<String>,
}

impl Drawing {
    fn of(function: &Function) -> Drawing {
        let arrow = |edge: &crate::Edge| Arrow {
            from: edge.from as usize,
            to: edge.to as usize,
            lines: edge_lines(function, edge),
        };
        Drawing {
            title: title(function),
            nodes: function.nodes.iter().map(|node| node_lines(function, node)).collect(),
            edges: function.edges.iter().map(arrow).collect(),
        }
    }
}
