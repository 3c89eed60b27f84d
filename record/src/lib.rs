//! What a pass did to a function: the plain types that `runtime-hooks` fills in and `analyzer` judges.
//!
//! Nothing here knows LLVM, processes or files. No raw address leaves `runtime-hooks`: whatever is
//! mentioned here has an id that is never used again for something else.
//!
//! - [`ids`]: the newtypes;
//! - [`location`]: debug locations and scopes, interned so that equality is equality of ids;
//! - [`snapshot`]: the control-flow graph of a function with the location of every instruction;
//! - [`event`]: what the pass called, in order;
//! - [`uses`]: operands, and what is written to;
//! - [`code_map`]: lines and variables of a recompiled pass.

pub mod code_map;
pub mod event;
pub mod ids;
pub mod location;
mod shared_slots;
pub mod snapshot;
pub mod uses;

pub use event::{Event, EventKind};
pub use ids::{BlockId, InstId, LocId, ScopeId, StackId};
pub use location::{Location, LocationTable, Scope};
pub use snapshot::{Block, Inst, InstFlags, Opcode, Snapshot};
pub use uses::{Object, Operand};

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

    /// The operands of an instruction of `after`, by position. May leave out those beyond the first few.
    fn operands(&self, inst: InstId) -> Vec<Operand>;

    /// The same of an instruction that the run took out of its block, as they were then; empty for any other.
    fn noted_operands(&self, inst: InstId) -> &[Operand] {
        let _ = inst;
        &[]
    }

    /// The instructions of `after` that use the value of one of them; `None` if there are more than a few.
    fn users(&self, inst: InstId) -> Option<Vec<InstId>> {
        let _ = inst;
        None
    }

    /// What an instruction of `after` writes to; `None` if it is no store and no memory intrinsic.
    fn written(&self, inst: InstId) -> Option<Object> {
        let _ = inst;
        None
    }

    /// The instructions that wrote to an object when the run took them out of their blocks, in that order; none if
    /// there are more than a few.
    fn noted_writes(&self, object: Object) -> Vec<InstId> {
        let _ = object;
        Vec::new()
    }

    /// What an instruction is that the run made, whether it is still there or not; `<unknown>` if that was not seen.
    fn opcode(&self, inst: InstId) -> Opcode {
        let _ = inst;
        Opcode(0)
    }

    /// True if an instruction of `after` is a call that LLVM refuses without a location: of a function with debug
    /// information that may be inlined, in one that has some.
    fn must_have_location(&self, inst: InstId) -> bool {
        let _ = inst;
        false
    }

    /// True if the function has debug information and an instruction of `after` has a location of another one, behind all
    /// that was inlined: what LLVM refuses.
    fn has_foreign_scope(&self, inst: InstId) -> bool {
        let _ = inst;
        false
    }

    /// True if an instruction of `after` is in a function with debug information: in others none is missed.
    fn is_described(&self, inst: InstId) -> bool {
        let _ = inst;
        false
    }

    /// True if an instruction of `after` is there for other passes, and no machine code comes from it: it stores to
    /// null or poison, which marks code that is never reached, or only intrinsics without code use its value
    /// (assumptions, lifetimes).
    fn is_marker(&self, inst: InstId) -> bool;
}
