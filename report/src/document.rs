//! The types of `metaloc.report/1`. Fields may be added; those here stay.

use serde::{Deserialize, Serialize};

/// Value of the field `schema`.
pub const SCHEMA: &str = "metaloc.report/1";

/// One report: of one process, or of many merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the LLVM that ran, for example `16.0.6`.
    pub llvm: String,
    /// False if the compiler ended before the plugin could finish: what is here was found until then.
    pub complete: bool,
    /// What was found, most certain first.
    pub errors: Vec<Error>,
    /// How much was looked at.
    pub stats: Stats,
}

/// One debug-location update error: one site in a pass and one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// Stable from run to run for the same site.
    pub id: String,
    /// Name of the pass as in `-passes=`.
    pub pass: String,
    /// The right update.
    pub operation: Operation,
    /// What the pass did.
    pub actual: Actual,
    /// What is the consequence.
    pub kind: Kind,
    /// Name of the rule that found it; see the analyzer's `conform` modules.
    pub rule: String,
    /// The statement that creates, clones or moves the destination.
    pub site: Site,
    /// The instruction whose location is wrong.
    pub destination: Destination,
    /// The instructions whose locations count.
    pub sources: Vec<Source>,
    /// Where the skeleton's statement belongs; `None` without the pass's source.
    pub update: Option<Update>,
    /// `Line 779 Drop(AccRecInstrNew)`; `None` without the pass's source.
    pub skeleton: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// How many pass runs showed it; `witnesses` keeps the smallest.
    pub occurrences: u64,
    /// Inputs that show it, smallest first.
    pub witnesses: Vec<Witness>,
}

/// The three updates of LLVM's HowToUpdateDebugInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The destination keeps the location of its one source.
    Preserve,
    /// The destination gets the merged location of its sources.
    Merge,
    /// The destination has no location.
    Drop,
}

/// What a pass did with a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// The two kinds of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A location is missing that should be there.
    Lost,
    /// A location is there that misleads.
    Incorrect,
}

/// How sure a finding is. Only the first two change the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Follows from what was observed, with no assumption.
    Certain,
    /// Follows from what was observed and one assumption that the rule names.
    Likely,
    /// Worth knowing; LLVM's rules ask for nothing here.
    Note,
}

/// A place in the code of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// C++ function; `None` without the pass's source.
    pub function: Option<String>,
    /// Source file of the pass.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in it.
    pub column: Option<u32>,
    /// Nearest exported symbol and offset of the return address, always known.
    pub symbol: String,
}

/// The instruction whose location is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// C++ variable; `None` without the pass's source.
    pub variable: Option<String>,
    /// Opcode as in the IR.
    pub opcode: String,
    /// `%name` in the function after the pass; `None` if the instruction has no result.
    pub name: Option<String>,
    /// The location that it has, `None` for none.
    pub location: Option<String>,
}

/// An instruction that a destination came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// C++ variable; `None` without the pass's source.
    pub variable: Option<String>,
    /// Opcode as in the IR.
    pub opcode: String,
    /// `%name`, where it could still be read.
    pub name: Option<String>,
    /// Its location before the pass, `None` for none.
    pub location: Option<String>,
    /// How it is linked to the destination: clone, move, replace, terminator, position, ...
    pub link: String,
}

/// Where an update belongs in the source of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// Line of the statement to add.
    pub line: u32,
    /// Column of the statement to add.
    pub column: u32,
}

/// One input that shows an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The module's identifier: the input file, or `-`.
    pub input: String,
    /// The function in it.
    pub function: String,
    /// Number of instructions in the function before the pass: smaller is better to look at.
    pub size: u64,
    /// The destination's name in this witness.
    pub name: Option<String>,
    /// Locations on paths through the destination that are on no path through a source.
    pub extra: Vec<String>,
    /// A path through the destination in the function after the pass that shows the first extra location.
    pub path: Vec<String>,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Processes, that is, inputs.
    pub inputs: u64,
    /// Runs of passes that are not managers or adaptors.
    pub pass_runs: u64,
    /// Those of them that changed something.
    pub changed_runs: u64,
    /// Calls recorded.
    pub events: u64,
    /// Destinations judged.
    pub judged: u64,
    /// Wall time in the plugin's process or in the whole run.
    pub seconds: f64,
}
