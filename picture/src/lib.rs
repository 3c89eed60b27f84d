//! Pictures of graphs: boxes with lines of text, and arrows between them. Product graphs of proofs and control-flow
//! graphs of passes are drawn by the same code, because both are read from top to bottom.
//!
//! - [`layout`]: where boxes and arrows go;
//! - [`svg`] and [`dot`]: the two formats.
//!
//! Depends on nothing: what the text says is up to the caller, and whatever it says cannot break a picture.

mod dot;
mod layout;
mod svg;

pub use dot::dot;
pub use svg::{escaped, svg};

/// A graph as boxes and arrows with text.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// What stands above it.
    pub title: String,
    /// The entry first.
    pub boxes: Vec<Box>,
    /// Those that leave the same box in the order in which they are listed in it.
    pub arrows: Vec<Arrow>,
}

/// A node: its first line is its heading.
#[derive(Debug, Clone, Default)]
pub struct Box {
    /// What it says.
    pub lines: Vec<Line>,
    /// True if it is drawn as one to look at.
    pub strong: bool,
}

/// A line of text in a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it says.
    pub text: String,
    /// True if it is drawn as one to look at.
    pub strong: bool,
}

impl From<String> for Line {
    fn from(text: String) -> Line {
        Line { text, strong: false }
    }
}

/// An edge.
#[derive(Debug, Clone)]
pub struct Arrow {
    /// Place in [`Drawing::boxes`].
    pub from: usize,
    /// Place in [`Drawing::boxes`].
    pub to: usize,
    /// What stands at its beginning.
    pub lines: Vec<String>,
}

#[cfg(test)]
fn example(edges: &[(usize, usize)], boxes: usize) -> Drawing {
    let arrow = |&(from, to): &(usize, usize)| Arrow { from, to, lines: vec![format!("to {to}")] };
    let one = |number: usize| Box { lines: vec![format!("node {number}").into()], strong: false };
    Drawing {
        title: "example".to_owned(),
        boxes: (0..boxes).map(one).collect(),
        arrows: edges.iter().map(arrow).collect(),
    }
}
