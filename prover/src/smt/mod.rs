//! The one place that asks a solver. A query has a name, a script and limits of its own; answers are kept by
//! content, so no question is put twice; models come back as assignments.
//!
//! A solver is a program that reads SMT-LIB 2 text, not a library. A z3 process starts in 3 to 8 ms (Debian's
//! 4.8.12), less than a typical query takes, and what that buys is worth more: a limit on time or memory is
//! kept by killing the process, a crash of the solver is an answer, and z3, cvc5 and bitwuzla are asked in the
//! same words.
//!
//! - [`program`]: which programs, and how they are told their limits;
//! - [`model`]: what to ask of a model and how to read it.

mod model;
mod program;

use crate::expr::{Arena, Assignment, ExprId, smtlib};
use metaloc_toolchain::process::{Exit, Outcome, Stdin, Task};
use std::collections::HashMap;
use std::time::{Duration, Instant};

pub use program::{Kind, Program};

/// How much more time on the clock than processor time is waited for.
pub const WALL_FACTOR: u32 = 10;

/// A question that takes longer is worth a note.
const SLOW: Duration = Duration::from_secs(1);

/// What a query may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processor time, so that an answer does not depend on how busy the machine is. On the clock a question
    /// may take [`WALL_FACTOR`] times as long.
    pub time: Duration,
    /// Memory of the solver.
    pub memory_mib: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Duration::from_secs(10), memory_mib: 1024 }
    }
}

/// What a solver says. Nothing but `Unsat` proves anything.
#[derive(Debug, Clone)]
pub enum Answer {
    /// There is no model.
    Unsat,
    /// There is one. Variables that the query does not name are not in it.
    Sat(Assignment),
    /// No answer.
    Unknown(Reason),
}

impl Answer {
    /// Whether there is no model.
    pub fn is_unsat(&self) -> bool {
        matches!(self, Answer::Unsat)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Out of time.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// Anything else: what the solver printed or how it ended, cut.
    #[error("{0}")]
    GaveUp(String),
}

/// Why a question could not be put.
#[derive(Debug, thiserror::Error)]
pub enum SmtError {
    /// The program does not run at all.
    #[error("solver {name}: {reason}")]
    Program {
        /// The program.
        name: String,
        /// Why.
        reason: metaloc_toolchain::Error,
    },
    /// It runs but says something else than a solver would.
    #[error("solver {name}: does not say its version: {said}")]
    Version {
        /// The program.
        name: String,
        /// What it said.
        said: String,
    },
}

/// How many obligations were settled, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// By rewriting alone.
    pub normaliser: u64,
    /// The solver said `unsat`.
    pub unsat: u64,
    /// The solver had a model.
    pub sat: u64,
    /// The solver had no answer.
    pub unknown: u64,
    /// Answers that were known already; not counted above.
    pub cached: u64,
    /// Processor time of the solver.
    pub spent: Duration,
}

/// A solver and all that it has answered.
#[derive(Debug)]
pub struct Solver {
    program: Program,
    limits: Limits,
    answers: HashMap<String, Answer>,
    /// Questions without an answer, with the time that was waited for one.
    timeouts: HashMap<String, Duration>,
    /// What was settled by whom.
    pub statistics: Statistics,
    /// Changes the models, not the answers.
    seed: u64,
    /// Questions that took long, with their processor time.
    pub slow: Vec<(String, Duration)>,
    /// What the function that is asked about may cost.
    budget: Option<Budget>,
}

/// Processor time of one function: that of this thread and of the solver.
#[derive(Debug, Clone, Copy)]
struct Budget {
    limit: Duration,
    /// Of this thread, of the solver, and on the clock, at the beginning.
    thread: Duration,
    solver: Duration,
    begun: Instant,
}

impl Solver {
    /// A solver that has been asked nothing.
    pub fn new(program: Program, limits: Limits) -> Solver {
        Solver {
            program,
            limits,
            answers: HashMap::new(),
            timeouts: HashMap::new(),
            statistics: Statistics::default(),
            seed: 1,
            slow: Vec::new(),
            budget: None,
        }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// From now on this thread and the solver together may use that much processor time, and [`WALL_FACTOR`]
    /// times as much on the clock; after that nothing is asked.
    pub fn set_budget(&mut self, limit: Duration) {
        let (thread, solver) = (thread_time(), self.statistics.spent);
        self.budget = Some(Budget { limit, thread, solver, begun: Instant::now() });
    }

    /// What is left of the budget; `None` without one.
    pub fn left(&self) -> Option<Duration> {
        let budget = self.budget?;
        let solver = self.statistics.spent.saturating_sub(budget.solver);
        let used = thread_time().saturating_sub(budget.thread) + solver;
        let late = budget.begun.elapsed() > budget.limit * WALL_FACTOR;
        Some(if late { Duration::ZERO } else { budget.limit.saturating_sub(used) })
    }

    /// Limits of the queries from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Limits of a query.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether all the bits can be set at once. `name` says in messages what was asked.
    pub fn ask(&mut self, arena: &mut Arena, name: &str, asserted: &[ExprId]) -> Result<Answer, SmtError> {
        let wanted = model::wanted(arena, asserted);
        let values: Vec<ExprId> = wanted.iter().map(|value| value.expression).collect();
        let script = smtlib::script_with_values(arena, asserted, &values);
        if let Some(answer) = self.answers.get(&script) {
            self.statistics.cached += 1;
            return Ok(answer.clone());
        }
        let no_more = self.limits_now().map_or(Duration::ZERO, |limits| limits.time);
        if self.timeouts.get(&script).is_some_and(|waited| *waited >= no_more) {
            self.statistics.cached += 1;
            return Ok(Answer::Unknown(Reason::Timeout(no_more)));
        }
        let Some(limits) = self.limits_now() else {
            self.statistics.unknown += 1;
            return Ok(Answer::Unknown(Reason::Timeout(Duration::ZERO)));
        };
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let output = self.run(&script, limits)?;
        if output.usage.cpu() > SLOW {
            self.slow.push((name.to_owned(), output.usage.cpu()));
        }
        let answer = match program::verdict(&output, limits.time) {
            program::Verdict::Unsat => Answer::Unsat,
            program::Verdict::Sat(values) => match model::read(arena, &wanted, &values) {
                Some(mut assignment) => {
                    assignment.seed = self.seed;
                    Answer::Sat(assignment)
                }
                None => Answer::Unknown(Reason::GaveUp(format!("{name}: the model cannot be read"))),
            },
            program::Verdict::Unknown(reason) => Answer::Unknown(reason),
        };
        match &answer {
            Answer::Unsat => self.statistics.unsat += 1,
            Answer::Sat(_) => self.statistics.sat += 1,
            Answer::Unknown(_) => self.statistics.unknown += 1,
        }
        // A timeout may be over with more time; what was answered stays true.
        match &answer {
            Answer::Unknown(Reason::Timeout(_)) => {
                self.timeouts.insert(script, limits.time);
            }
            Answer::Unknown(Reason::GaveUp(_)) => {}
            Answer::Unsat | Answer::Sat(_) => {
                self.answers.insert(script, answer.clone());
            }
        }
        Ok(answer)
    }

    /// Whether the script is answered `unsat`, `sat` or not at all; no model. For checking a finished proof.
    pub fn check_script(&mut self, script: &str) -> Result<Result<bool, Reason>, SmtError> {
        let output = self.run(script, self.limits)?;
        Ok(match program::verdict(&output, self.limits.time) {
            program::Verdict::Unsat => Ok(false),
            program::Verdict::Sat(_) => Ok(true),
            program::Verdict::Unknown(reason) => Err(reason),
        })
    }

    /// What a query may cost now; nothing if there is no time left.
    fn limits_now(&self) -> Option<Limits> {
        let Some(left) = self.left() else { return Some(self.limits) };
        // Less than a process takes to start.
        let enough = left > Duration::from_millis(20);
        enough.then(|| Limits { time: self.limits.time.min(left), ..self.limits })
    }

    fn run(&mut self, script: &str, limits: Limits) -> Result<Outcome, SmtError> {
        let task = self.program.task(limits, self.seed).stdin(Stdin::Bytes(script.as_bytes().to_vec()));
        let outcome = task.run().map_err(|reason| SmtError::Program { name: self.program.name(), reason })?;
        self.statistics.spent += outcome.usage.cpu();
        Ok(outcome)
    }
}

/// Whether a child ended by itself.
fn ended(outcome: &Outcome) -> bool {
    matches!(outcome.exit, Exit::Code(_))
}

/// A task whose time is limited: on the clock the solver is told, too, and killed a little later.
fn limited(task: Task, limits: Limits) -> Task {
    task.cpu_timeout(limits.time).timeout(limits.time * WALL_FACTOR + Duration::from_millis(500))
}

/// Processor time of this thread.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "every thread has a clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests;
