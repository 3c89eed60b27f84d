//! Solver programs: how each is told its limits, and what its output means.

use super::{Limits, Reason, SmtError, WALL_FACTOR, ended, limited};
use metaloc_toolchain::process::{Exit, Outcome, Task};
use std::path::PathBuf;
use std::time::Duration;

/// A kind of solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Z3,
    Cvc5,
    Bitwuzla,
}

impl Kind {
    /// The name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Z3 => "z3",
            Kind::Cvc5 => "cvc5",
            Kind::Bitwuzla => "bitwuzla",
        }
    }
}

/// A solver that is there.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it is.
    pub kind: Kind,
    path: PathBuf,
    /// What it says that it is.
    pub version: String,
}

impl Program {
    /// The solver of that kind in PATH.
    pub fn find(kind: Kind) -> Result<Program, SmtError> {
        let path = PathBuf::from(kind.name());
        let name = || kind.name().to_owned();
        let task = Task::new(&path).arg("--version").timeout(Duration::from_secs(20));
        let outcome = task.run().map_err(|reason| SmtError::Program { name: name(), reason })?;
        let said = outcome.stdout_text();
        let version = said
            .split_whitespace()
            .find(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'));
        match version {
            Some(version) if outcome.exit.success() => {
                let version = version.trim_end_matches([',', ']']).to_owned();
                Ok(Program { kind, path, version })
            }
            _ => Err(SmtError::Version { name: name(), said: said.chars().take(200).collect() }),
        }
    }

    /// Name of the kind.
    pub fn name(&self) -> String {
        self.kind.name().to_owned()
    }

    /// A run that reads a script from its standard input.
    pub(super) fn task(&self, limits: Limits, seed: u64) -> Task {
        let milliseconds = (limits.time * WALL_FACTOR).as_millis();
        let task = Task::new(&self.path);
        let task = match self.kind {
            Kind::Z3 => task.args([
                "-in".to_owned(),
                "-smt2".to_owned(),
                format!("-t:{milliseconds}"),
                format!("-memory:{}", limits.memory_mib),
                // Models with many zeros weaken an affine cover one bit at a time.
                "sat.phase=random".to_owned(),
                format!("sat.random_seed={}", seed >> 40),
                "smt.phase_selection=5".to_owned(),
                format!("smt.random_seed={}", seed >> 40),
            ]),
            Kind::Cvc5 => task.args([
                "--lang=smt2".to_owned(),
                "--produce-models".to_owned(),
                format!("--tlimit={milliseconds}"),
                format!("--seed={}", seed >> 40),
                "-".to_owned(),
            ]),
            Kind::Bitwuzla => {
                task.args(["--produce-models".to_owned(), format!("--time-limit={milliseconds}")])
            }
        };
        limited(task, limits)
    }
}

/// What an output says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Unsat,
    /// With what was printed after it.
    Sat(String),
    Unknown(Reason),
}

/// The verdict of a run. Errors printed beside `unsat` (there is no model to print) are expected, anything
/// else before the answer is not one.
pub(super) fn verdict(outcome: &Outcome, time: Duration) -> Verdict {
    let text = outcome.stdout_text();
    let (first, rest) = text.split_once('\n').unwrap_or((text.as_str(), ""));
    match first.trim() {
        "unsat" if ended(outcome) => Verdict::Unsat,
        "sat" => Verdict::Sat(rest.to_owned()),
        _ if matches!(outcome.exit, Exit::Timeout(_)) => Verdict::Unknown(Reason::Timeout(time)),
        "timeout" => Verdict::Unknown(Reason::Timeout(time)),
        "unknown" if outcome.usage.cpu() >= time || outcome.usage.wall >= time * WALL_FACTOR => {
            Verdict::Unknown(Reason::Timeout(time))
        }
        _ if outcome.stderr_text().contains("interrupted by timeout") => {
            Verdict::Unknown(Reason::Timeout(time))
        }
        said => {
            let said = if said.is_empty() { outcome.stderr_text() } else { said.to_owned() };
            let said: String = said.chars().take(200).collect();
            Verdict::Unknown(Reason::GaveUp(format!("{said} ({})", outcome.exit)))
        }
    }
}
