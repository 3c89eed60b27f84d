//! What had to be shown for the theorem, part by part, how each part was shown, and what was assumed.
//!
//! The obligations alone imply the theorem (README, "Why the obligations suffice"); [`crate::validate`] asks
//! that none is left out.

use crate::invariant::{Region, Sum};
use crate::paths::PathSet;
use crate::word::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One part of one claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Obligation {
    /// Position in [`crate::Function::obligations`].
    pub id: u32,
    /// What is claimed.
    pub claim: Claim,
    /// Which part of the claim this is: claims are taken apart per store and lane.
    pub part: Part,
    /// Indices into [`crate::Function::assumptions`] that this part uses.
    pub assumptions: Vec<u32>,
    /// How it was shown.
    pub discharge: Discharge,
}

/// Part `index` (from 0) of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// At least 1.
    pub of: u32,
}

/// A claim. Edges, nodes and invariants are given by number; `invariant` counts in the node's list.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Claim {
    /// An invariant of the entry node follows from the calling convention alone.
    Precondition {
        /// Number of the invariant.
        invariant: u32,
    },
    /// If the invariants of the edge's start hold and the machine takes one of the edge's paths, then the
    /// source takes one of its own (Counter, section 3.7.3).
    Correlation {
        /// The edge.
        edge: u32,
    },
    /// The Hoare triple of one invariant at the edge's end.
    Preservation {
        /// The edge.
        edge: u32,
        /// Number of the invariant at the edge's end.
        invariant: u32,
    },
    /// Every machine access on the edge stays in the region that the model gives it and does not fault.
    Access {
        /// The edge.
        edge: u32,
    },
    /// The machine paths of the edges that leave the node cover all that the machine can do there.
    Coverage {
        /// The node.
        node: u32,
    },
    /// The invariants of the node have a model: nothing below is shown from a contradiction.
    Satisfiable {
        /// The node.
        node: u32,
    },
    /// At an exit, what the caller can see is the same on both sides.
    Observable {
        /// The node.
        node: u32,
        /// What.
        what: Observable,
    },
    /// Along the edge both programs make the same calls with the same arguments and memory.
    Event {
        /// The edge.
        edge: u32,
    },
    /// An entry of [`crate::Function::locations`]: the variable has the value there.
    Location {
        /// Index into [`crate::Function::locations`].
        location: u32,
    },
}

/// What a caller can see.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Observable {
    /// The returned value.
    ReturnValue,
    /// Memory of a region other than the stack.
    Memory {
        /// The region.
        region: Region,
    },
    /// Callee-saved registers and the stack pointer are as the ABI wants them.
    PreservedRegisters,
    /// Control goes back to the caller.
    ReturnAddress,
}

/// How a part was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discharge {
    /// Rewriting alone.
    Normaliser {
        /// The query, as it was before any rewriting.
        query: Query,
        /// Names of the rewrite rules used.
        rewrites: Vec<String>,
    },
    /// A solver said `unsat`.
    Solver {
        /// The query, as it was before any rewriting.
        query: Query,
        /// Name of the solver.
        solver: String,
        /// Its version.
        version: String,
        /// Names of the rewrite rules used: the solver was asked after rewriting.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rewrites: Vec<String>,
    },
    /// A person says so. Nothing was computed: for fixtures, and refused wherever a proof is asked for.
    Assertion {
        /// Why it holds.
        argument: String,
    },
}

/// An SMT-LIB 2 script whose answer must be `unsat` (`sat` for [`Claim::Satisfiable`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Unique in the function.
    pub name: String,
    /// SHA-256 of the script, lower-case hexadecimal.
    pub sha256: String,
    /// The script; `null` if it is kept elsewhere under its hash.
    pub smt2: Option<String>,
}

/// Something that the language promises and that the proof uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Position in [`crate::Function::assumptions`].
    pub id: u32,
    /// Which promise.
    pub kind: AssumptionKind,
    /// At which source point.
    pub source_point: u32,
}

/// Kinds of undefined behaviour that a compiler may take as not happening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssumptionKind {
    /// `nsw`: no signed overflow.
    NoSignedWrap,
    /// `nuw`: no unsigned overflow.
    NoUnsignedWrap,
    /// `inbounds`: an address stays in its object.
    InBounds,
    /// Accesses of different types, or through `restrict`, do not meet.
    NoAlias,
    /// A pointer that is dereferenced is not null.
    NonNull,
    /// A shift count is below the width.
    ShiftInRange,
    /// An address is aligned as its type wants.
    Aligned,
    /// A divisor is not 0 and the quotient fits.
    DivisionDefined,
}

/// A value that a debugger may show: written by `repair`, an obligation like the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Position in [`crate::Function::locations`].
    pub id: u32,
    /// Index into [`crate::Function::variables`].
    pub variable: u32,
    /// The node where both prefixes start.
    pub node: u32,
    /// Source paths from the node to the point s(pc) whose variables are shown.
    pub source_prefix: PathSet,
    /// Machine paths from the node to the pc.
    pub machine_prefix: PathSet,
    /// The value, of machine terms and addresses only.
    pub value: Exact,
}

/// An affine sum divided without remainder: `rax / 4`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exact {
    /// What is divided.
    pub sum: Sum,
    /// By what; 1 for no division. The obligation includes that nothing remains.
    pub divisor: Word,
    /// Whether the division is signed.
    pub signed: bool,
}
