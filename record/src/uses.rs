//! What an instruction uses and what it writes to: what connects instructions where no call of the pass does.
//!
//! An instruction of `after` can be asked at any time. One that is gone cannot, so the recorder notes these
//! things when it is first taken out of its block; what it used in P is what it used then, unless the run had changed
//! that before.

use crate::ids::InstId;

/// An operand: an instruction, or `None` for anything else (a constant, an argument, a block).
pub type Operand = Option<InstId>;

/// The memory that a store or a memory intrinsic writes to, as far as it is known by address computations alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Object {
    /// The address that an instruction gives: an `alloca`, a load of a pointer, a call.
    Inst(InstId),
    /// What an argument of the function points to, by its number.
    Argument(u32),
    /// A global variable, by a hash of its name.
    Global(u64),
}
