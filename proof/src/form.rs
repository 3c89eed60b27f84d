//! What is asked of a finished proof and answered: where on the product graph, and what variables and places of the
//! machine are there, as linear forms. No part of the document: the prover answers, `repair` asks, and neither knows the
//! other.

use crate::Term;
use std::collections::BTreeMap;

/// Where on an edge of the product graph: numbers of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The edge.
    pub edge: usize,
    /// Position of the machine.
    pub machine: usize,
    /// Position of the source.
    pub source: usize,
}

/// A linear form over parts of the state that are not looked into, in integers: what the value is if nothing
/// overflows. For guessing; what is guessed is shown afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Linear {
    /// Coefficients by number of the part.
    pub terms: BTreeMap<u64, i128>,
    /// The constant.
    pub constant: i128,
}

/// A place of the machine and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceForm {
    /// The place.
    pub term: Term,
    /// Its value.
    pub form: Linear,
    /// What happened to it since the node.
    pub change: Change,
}

/// What happened to a place between the node and a pc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing.
    Kept,
    /// It was changed in a way that can be undone: its value is an invertible function of what it was.
    Reversible,
    /// It holds something else.
    New,
}
