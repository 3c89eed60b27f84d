//! What the judgement says, structured; rendering is another layer.

use metaloc_record::{InstId, LocId, StackId};

/// The right update of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// The destination keeps the location of its one source.
    Preserve,
    /// The destination gets the merged location of its sources.
    Merge,
    /// The destination has no location.
    Drop,
}

/// What the pass did, read off the location that the destination ended up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actual {
    /// The location of one source.
    Preserve,
    /// A merged location.
    Merge,
    /// No location, or line 0.
    Drop,
    /// A location that is none of its sources'.
    Other,
}

/// The consequence of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A location is missing that should be there.
    Lost,
    /// A location is there that misleads.
    Incorrect,
}

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// Follows from what was observed, with no assumption.
    Certain,
    /// Follows from what was observed and one assumption that the rule names.
    Likely,
    /// Worth knowing; LLVM's rules ask for nothing here.
    Note,
}

/// How a source is linked to its destination, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Link {
    /// The destination is a copy of the source.
    Clone,
    /// The destination is the source, elsewhere.
    Move,
    /// Uses of the source became uses of the destination.
    Replace,
    /// The destination ends a block whose terminator, the source, was erased.
    Terminator,
    /// The destination ends a block of which the rest was split off, the source being the first of that rest.
    Split,
    /// The destination writes to what the source, which is gone, wrote to.
    Write,
    /// The destination is used in the place where something that its user stands for used the source.
    Operand,
    /// All that uses the destination together replaced the source.
    Use,
    /// The destination was given the location of the source by an update call.
    Update,
    /// The destination was put next to the source and nothing stronger is known.
    Position,
}

impl Link {
    /// As the report says it.
    pub fn name(self) -> &'static str {
        match self {
            Link::Clone => "clone",
            Link::Move => "move",
            Link::Replace => "replace",
            Link::Terminator => "terminator",
            Link::Split => "split",
            Link::Write => "write",
            Link::Operand => "operand",
            Link::Use => "use",
            Link::Position => "position",
            Link::Update => "update",
        }
    }
}

/// An instruction of P that a destination came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// The instruction.
    pub inst: InstId,
    /// Its location in P.
    pub loc: LocId,
    /// How it is linked.
    pub link: Link,
    /// The temporary that stands between the two, nearest to the destination: made and gone in the same run.
    pub via: Option<InstId>,
}

/// One destination that has another location than it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the rule, the same as that of its file in `conform/`.
    pub rule: &'static str,
    /// The right update.
    pub operation: Operation,
    /// What the pass did.
    pub actual: Actual,
    /// The consequence.
    pub kind: Kind,
    /// How sure this is.
    pub confidence: Confidence,
    /// The instruction in P'.
    pub destination: InstId,
    /// The instructions in P.
    pub sources: Vec<Source>,
    /// Where the destination was created, cloned or moved.
    pub site: StackId,
    /// Locations on paths through the destination that are on no path through a source.
    pub extra: Vec<LocId>,
    /// True if some path through the destination did not have its location: [`crate::path`] shows one.
    pub off_path: bool,
}
