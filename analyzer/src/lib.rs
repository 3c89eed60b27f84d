//! Control-flow conformance analysis: what the location of an instruction ought to be after a pass.
//!
//! A pure function of [`metaloc_record`] types: no LLVM, no process, no file, so that the same code can
//! judge inside a compiler and in a test.

pub mod cfg;
pub mod finding;

pub use finding::{Actual, Confidence, Finding, Kind, Link, Operation, Source};

use metaloc_record::PassRun;

/// What judging one pass run of one function gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What is wrong, or worth a note.
    pub findings: Vec<Finding>,
    /// Destinations that were looked at.
    pub judged: usize,
}

/// Judges one run of one pass on one function.
pub fn judge(run: &PassRun<'_>) -> Judgement {
    let _ = run;
    Judgement::default()
}
