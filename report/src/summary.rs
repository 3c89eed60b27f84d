//! What a report says about passes and inputs as a whole: how much of a pass was seen, and what did not run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// One pass in all inputs. A pass that ran and changed little is not a clean pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassSummary {
    /// Name of the pass as in `-passes=`.
    pub pass: String,
    /// How often it ran, on a function, a loop or a module.
    pub runs: u64,
    /// How often it changed something.
    pub changed_runs: u64,
    /// Errors that are certain.
    pub certain: u64,
    /// Errors that are likely.
    pub likely: u64,
    /// Notes.
    pub notes: u64,
    /// What of its source was reached; `None` if its source file was not swapped in: unknown.
    pub statements: Option<Statements>,
}

impl PassSummary {
    /// A pass of which nothing is known yet.
    pub fn new(pass: impl Into<String>) -> PassSummary {
        let (runs, changed_runs, certain, likely, notes) = (0, 0, 0, 0, 0);
        PassSummary { pass: pass.into(), runs, changed_runs, certain, likely, notes, statements: None }
    }
}

/// The statements of a pass's own files that create, clone, move or replace instructions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statements {
    /// All of them.
    pub total: u64,
    /// Those that some input made do it.
    pub reached: u64,
}

/// An input that did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotRun {
    /// As in witnesses.
    pub input: String,
    /// What happened.
    pub why: Why,
    /// In words.
    pub detail: String,
}

/// Why an input did not run to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A signal ended the compiler; what it had done until then is reported.
    Crashed,
    /// It took too long.
    TimedOut,
    /// The compiler refused: another build is asked for, an option or the IR is of another version.
    Failed,
    /// The input is no single command of `opt`, or one of the legacy pass manager.
    LeftOut,
}

/// Events in a recompiled pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// Path of the library.
    pub module: String,
    /// Return addresses of calls that created, cloned, moved or replaced something, relative to the library.
    pub pcs: BTreeSet<u64>,
}
