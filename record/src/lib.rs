//! What a pass did to a function: the plain types that `runtime-hooks` fills in and `analyzer` judges.
//!
//! Nothing here knows LLVM, processes or files. No raw address leaves `runtime-hooks`: whatever is
//! mentioned here has an id that is never used again for something else.
//!
//! - [`ids`]: the newtypes;
//! - [`location`]: debug locations and scopes, interned so that equality is equality of ids;
//! - [`snapshot`]: the control-flow graph of a function with the location of every instruction;
//! - [`event`]: what the pass called, in order;
//! - [`code_map`]: lines and variables of a recompiled pass.

pub mod code_map;
pub mod event;
pub mod ids;
pub mod location;
mod shared_slots;
pub mod snapshot;

pub use event::{Event, EventKind};
pub use ids::{BlockId, InstId, LocId, ScopeId, StackId};
pub use location::{Location, LocationTable, Scope};
pub use snapshot::{Block, Inst, InstFlags, Opcode, Snapshot};

/// One run of one pass as seen by one function: what the judgement is a pure function of.
///
/// `before` is P, the whole function when the run began (or when the last nested run ended), `after`
/// is P'. Events are those of this run only, in the order in which they happened; events that touch
/// another function are left out by the recorder unless an instruction of this function takes part.
#[derive(Debug, Clone, Copy)]
pub struct PassRun<'a> {
    /// Name as in `-passes=`, for example `tailcallelim`.
    pub pass: &'a str,
    /// The function as the run found it.
    pub before: &'a Snapshot,
    /// The function as the run left it.
    pub after: &'a Snapshot,
    /// What happened in between.
    pub events: &'a [Event],
    /// Meaning of the location ids in all of the above.
    pub locations: &'a LocationTable,
    /// More about single instructions of `after`.
    pub lookup: &'a dyn Lookup,
}

/// What is asked about few instructions, and would be too much to record for all.
pub trait Lookup: std::fmt::Debug {
    /// The block of `after` that the instruction is in, without a search through the function; `None` if it is
    /// not in the function.
    fn home(&self, inst: InstId) -> Option<BlockId>;

    /// The instructions whose values an instruction of `after` uses.
    fn operands(&self, inst: InstId) -> Vec<InstId>;

    /// True if an instruction of `after` is there for other passes, and no machine code comes from it: it stores to
    /// null or poison, which marks code that is never reached, or only intrinsics without code use its value
    /// (assumptions, lifetimes).
    fn is_marker(&self, inst: InstId) -> bool;
}
