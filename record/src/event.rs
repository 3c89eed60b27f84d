//! What a pass called, one value per call that matters, in order.
//!
//! Events explain; snapshots decide. The location that an instruction ends up with is read from the
//! snapshot, and an event tells which call put it there and from which line of the pass.

use crate::ids::{BlockId, InstId, LocId, StackId};

/// One observed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What was done.
    pub kind: EventKind,
    /// Where it was called from.
    pub stack: StackId,
}

/// The calls that the hooks see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A constructor ran. Also precedes [`EventKind::Clone`] of the same instruction.
    Create {
        /// The new instruction.
        inst: InstId,
    },
    /// `new` is a copy of `old`, location included.
    Clone {
        /// The copy.
        new: InstId,
        /// What was copied.
        old: InstId,
    },
    /// An instruction without a parent was put into a block: after its creation, or after a removal.
    Insert {
        /// The instruction.
        inst: InstId,
        /// Where it went; [`BlockId::NOWHERE`] for a block that was not yet in a function.
        block: BlockId,
        /// What it was put in front of; `None` at the end of the block.
        before: Option<InstId>,
    },
    /// The insertion just before was one by `insertAfter`. An event of its own, since few are: it costs the others nothing.
    InsertAfter {
        /// The instruction.
        inst: InstId,
        /// What it was put behind.
        after: InstId,
    },
    /// An instruction was taken out of its block, to be erased or to be inserted elsewhere.
    Remove {
        /// The instruction.
        inst: InstId,
        /// Where it was.
        block: BlockId,
    },
    /// An instruction went from one place to another in one step (`moveBefore`, `splice`).
    Move {
        /// The instruction.
        inst: InstId,
        /// Where it was.
        from: BlockId,
        /// Where it is now.
        to: BlockId,
    },
    /// Uses of `old` became uses of `new`.
    Replace {
        /// What was used before.
        old: InstId,
        /// What is used now; `None` if it is not an instruction (a constant, an argument).
        new: Option<InstId>,
        /// All uses, or only some (`replaceUsesWithIf`, `replaceUsesOutsideBlock`, ...).
        all: bool,
    },
    /// An instruction was destroyed.
    Erase {
        /// The instruction.
        inst: InstId,
    },
    /// The location was written: `setDebugLoc`, or the end of one of the calls below.
    SetLocation {
        /// The instruction.
        inst: InstId,
        /// Its location from now on.
        loc: LocId,
    },
    /// `applyMergedLocation` was called.
    MergeLocation {
        /// The instruction.
        inst: InstId,
        /// First location given.
        a: LocId,
        /// Second location given.
        b: LocId,
    },
    /// `dropLocation` was called.
    DropLocation {
        /// The instruction.
        inst: InstId,
    },
    /// `updateLocationAfterHoist` was called: a drop in the words of LLVM.
    UpdateAfterHoist {
        /// The instruction.
        inst: InstId,
    },
}

impl EventKind {
    /// The instruction that the event is about: the new one of a clone, the old one of a replacement.
    pub fn inst(&self) -> InstId {
        match *self {
            EventKind::Clone { new, .. } => new,
            EventKind::Replace { old, .. } => old,
            EventKind::Create { inst }
            | EventKind::Insert { inst, .. }
            | EventKind::InsertAfter { inst, .. }
            | EventKind::Remove { inst, .. }
            | EventKind::Move { inst, .. }
            | EventKind::Erase { inst }
            | EventKind::SetLocation { inst, .. }
            | EventKind::MergeLocation { inst, .. }
            | EventKind::DropLocation { inst }
            | EventKind::UpdateAfterHoist { inst } => inst,
        }
    }

    /// Every instruction that the event mentions.
    pub fn insts(&self) -> [Option<InstId>; 2] {
        let other = match *self {
            EventKind::Clone { old, .. } => Some(old),
            EventKind::Replace { new, .. } => new,
            EventKind::Insert { before, .. } => before,
            EventKind::InsertAfter { after, .. } => Some(after),
            _ => None,
        };
        [Some(self.inst()), other]
    }
}
