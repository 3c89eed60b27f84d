//! Programs with one thing changed, as text: assembly that a compiler printed, and C. Whether a mutant behaves
//! differently is for the caller to find out by running it; most do.
//!
//! - [`assembly`]: a line of AT&T assembly taken apart, and changes to it;
//! - [`source`]: operators of C.

mod assembly;
mod source;

use crate::random::Random;

pub use assembly::SECRET;

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An immediate.
    Constant,
    /// A register operand.
    Register,
    /// The condition of a jump, a set or a conditional move.
    Condition,
    /// The displacement of a memory operand.
    Offset,
    /// How wide the elements are that an instruction works on.
    Width,
    /// An instruction is missing.
    Dropped,
    /// Two neighbours change places.
    Swapped,
    /// A register that the caller wants back is overwritten.
    Clobbered,
    /// A store that the source does not have.
    StrayStore,
    /// Something happens only if one word of memory has one of its 2^32 values ([`SECRET`]): random inputs do
    /// not show it.
    Backdoor,
    /// An operator in the source.
    Operator,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 11] = [
        Kind::Constant,
        Kind::Register,
        Kind::Condition,
        Kind::Offset,
        Kind::Width,
        Kind::Dropped,
        Kind::Swapped,
        Kind::Clobbered,
        Kind::StrayStore,
        Kind::Backdoor,
        Kind::Operator,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Constant => "constant",
            Kind::Register => "register",
            Kind::Condition => "condition",
            Kind::Offset => "offset",
            Kind::Width => "width",
            Kind::Dropped => "dropped",
            Kind::Swapped => "swapped",
            Kind::Clobbered => "callee-saved",
            Kind::StrayStore => "stray store",
            Kind::Backdoor => "backdoor",
            Kind::Operator => "operator",
        }
    }
}

/// A changed program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// All of its text.
    pub text: String,
    /// What was changed, for people.
    pub what: String,
}

/// What an assembly is for: which registers there are, and how a global is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// x86-64.
    X86_64,
    /// i386 at a fixed address.
    I386,
}

/// A mutant of the kind: of the assembly of a function, or of its source. Nothing if there is nothing of that
/// kind to change where the random numbers point.
pub fn mutant(
    kind: Kind,
    processor: Processor,
    assembly: &str,
    source: &str,
    function: &str,
    random: &mut Random,
) -> Option<Mutant> {
    match kind {
        Kind::Operator => source::mutant(source, random),
        kind => assembly::mutant(kind, processor, assembly, function, random),
    }
}
