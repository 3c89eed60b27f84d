//! The obligations of a finished proof, asked again of a solver; the search is not run.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_proof::{Claim, Discharge, Proof};
use metaloc_prover::smt::{Kind, Limits, Program, Solver};
use serde::{Deserialize, Serialize};

use super::Picture;
use crate::args::{Prove, SolverName};
use crate::output;
use crate::status::Status;

/// What a solver says of obligations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::run) struct Counts {
    /// The solver says the same.
    pub(in crate::run) confirmed: usize,
    /// The solver does not know, or there is nothing to ask it.
    pub(in crate::run) open: usize,
    /// The solver says the opposite.
    pub(in crate::run) refuted: usize,
}

/// Checks every obligation of a proof.
pub(super) fn run(args: &Prove, path: &Path, picture: Option<Picture>) -> Result<Status> {
    let proof = read(path)?;
    // What was not proved is not in the document, and nothing to check is nothing confirmed.
    if proof.functions.is_empty() {
        bail!("{}: has the proof of no function", path.display());
    }
    if let Some(picture) = picture {
        picture.finish(&proof)?;
    }
    let mut solver = solver(args.solver, Duration::from_secs(args.query_time))?;
    let counts = confirm(&proof, &mut solver, 1, |text| output::print(&format!("{text}\n")))
        .with_context(|| path.display().to_string())?;
    let (name, Counts { confirmed, open, refuted }) = (kind(args.solver).name(), counts);
    output::print(&format!("{confirmed} obligations confirmed by {name}, {open} open, {refuted} refuted\n"))?;
    Ok(if open + refuted == 0 { Status::Clean } else { Status::Findings })
}

/// A proof; reading it checks the document.
pub(in crate::run) fn read(path: &Path) -> Result<Proof> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Proof::from_json(&bytes).with_context(|| path.display().to_string())
}

fn kind(name: SolverName) -> Kind {
    match name {
        SolverName::Z3 => Kind::Z3,
        SolverName::Cvc5 => Kind::Cvc5,
        SolverName::Bitwuzla => Kind::Bitwuzla,
    }
}

/// A solver with so much time for each question.
pub(in crate::run) fn solver(name: SolverName, time: Duration) -> Result<Solver> {
    Ok(Solver::new(Program::find(kind(name))?, Limits { time, ..Limits::default() }))
}

/// Asks for one in `every` obligations; `say` gets what is not confirmed.
pub(in crate::run) fn confirm(
    proof: &Proof,
    solver: &mut Solver,
    every: usize,
    say: impl Fn(String) -> Result<()>,
) -> Result<Counts> {
    let mut counts = Counts::default();
    for function in &proof.functions {
        for obligation in function.obligations.iter().step_by(every) {
            let query = match &obligation.discharge {
                Discharge::Normaliser { query, .. } | Discharge::Solver { query, .. } => query,
                Discharge::Assertion { .. } => {
                    counts.open += 1;
                    say(format!("{}: {:?} is only asserted", function.name, obligation.claim))?;
                    continue;
                }
            };
            let Some(script) = &query.smt2 else { bail!("query {} is kept elsewhere", query.name) };
            let expected = matches!(obligation.claim, Claim::Satisfiable { .. });
            match solver.check_script(script)? {
                Ok(found) if found == expected => counts.confirmed += 1,
                Ok(_) => {
                    counts.refuted += 1;
                    say(format!("{}: {:?} is refuted", function.name, obligation.claim))?;
                }
                Err(reason) => {
                    counts.open += 1;
                    say(format!("{}: {:?}: {reason}", function.name, obligation.claim))?;
                }
            }
        }
    }
    Ok(counts)
}
