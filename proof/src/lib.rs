//! The proof document, `metaloc.proof/1`: what `metaloc prove` hands out and `metaloc repair` stands on.
//!
//! It is its own crate because three programs meet in it: the prover writes it, `repair` reads it, and
//! `metaloc prove --check` re-checks it with a solver of the user's choice. It knows no LLVM and no solver.
//!
//! - [`document`]: the object, the source and the functions;
//! - [`point`]: points of the two programs and what the source variables are there;
//! - [`paths`]: sets of paths in series-parallel form;
//! - [`invariant`]: affine relations, inequalities and equality of memory;
//! - [`obligation`]: what had to be shown, and how it was;
//! - [`form`]: what a finished proof is asked about places between its nodes;
//! - [`draw`]: pictures of the product graphs;
//! - [`wire`]: JSON in and out, [`validate`]: everything that can be checked without a solver.
//!
//! **Invariant**: a [`Proof`] has passed validation; only a [`Document`] may be malformed.

pub mod defect;
pub mod document;
pub mod draw;
pub mod form;
pub mod invariant;
pub mod obligation;
pub mod paths;
pub mod point;
pub mod validate;
pub mod wire;
pub mod word;

pub use defect::Defect;
pub use document::{
    Architecture, Document, Edge, Function, Global, MachineCode, Node, NodeRole, Object, ObjectKind, SCHEMA,
    Source,
};
pub use invariant::{
    Extend, Operation, Place, Predicate, Region, Relation, RowIndex, Side, Sum, SumTerm, Term,
};
pub use obligation::{
    Assumption, AssumptionKind, Claim, Discharge, Exact, Location, Obligation, Observable, Part, Query,
};
pub use paths::{PathSet, Paths};
pub use point::{
    Binding, BindingValue, MachinePlace, MachinePoint, SourceLocation, SourcePlace, SourcePoint, Value,
    Variable,
};
pub use wire::{Proof, ReadError};
pub use word::Word;
