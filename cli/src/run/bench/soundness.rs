//! `metaloc bench soundness`: no mutant that behaves differently is proved.
//!
//! A mutant counts if running it and its reference on the same inputs shows a difference; what the prover says
//! of it comes after that. The kernels that the mutants are made of are proved in the same run: a prover that
//! proves nothing would pass otherwise.
//!
//! - [`subject`]: a kernel, its mutants and their runs.

mod subject;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use metaloc_corpus::mutants::Kind;
use metaloc_corpus::random::Random;
use metaloc_prover::ir::Module;
use metaloc_prover::object_file::FunctionCode;
use metaloc_prover::product::search::Options;
use metaloc_prover::prove::{ProveError, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{self, Limits, Program};
use serde::Serialize;

use super::prove::{configuration, wanted};
use crate::args::{BenchSoundness, Format};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::status::Status;
use subject::{Different, Subject};

/// Kernels that are proved fast, of different shapes, and defined for all inputs.
const KERNELS: [&str; 12] =
    ["vpv", "vpvts", "vpvtv", "vtvtv", "s112", "s1112", "s121", "s1351", "s173", "s251", "sum1d", "vif"];
/// Kernels with conditions on their inputs, or with pointers to places that the driver does not know.
const CONDITIONAL: [&str; 9] = ["s122", "s162", "s171", "s174", "s4115", "s1421", "s421", "s423", "s000"];
/// Mutants tried for each one that is wanted, before a kind is given up.
const TRIES: usize = 8;

pub fn run(args: &BenchSoundness) -> Result<Status> {
    let llvm = find_llvm(&args.kernels.llvm)?;
    let configuration = configuration(&llvm, &args.kernels)?;
    let names = match args.only.is_empty() {
        true => KERNELS.map(str::to_owned).to_vec(),
        false => args.only.clone(),
    };
    if let Some(name) = names.iter().find(|name| CONDITIONAL.contains(&name.as_str())) {
        bail!("{name} is not defined for all inputs, or cannot be made small: want another kernel");
    }
    let workers = parallel::workers(args.kernels.jobs);
    let subjects =
        parallel::map(&wanted(&names)?, workers, |kernel| Subject::new(&llvm, &configuration, kernel))?;
    let bench = Bench {
        subjects,
        seed: args.seed,
        workers,
        program: Program::find(smt::Kind::Z3)?,
        limit: Duration::from_secs(args.limit),
    };
    let unproved = bench.unproved_originals()?;
    let each = args.mutants.get().div_ceil(Kind::ALL.len());
    let mut rows = Vec::new();
    for kind in Kind::ALL {
        rows.push(bench.row(kind, each)?);
    }
    let result = BenchResult::new(configuration.name, args.seed, names, unproved, rows);
    output::print(&match args.kernels.format {
        Format::Text => result.text(),
        Format::Json => serde_json::to_string_pretty(&result)? + "\n",
    })?;
    // Mutants that were not made would have been no false proofs.
    let short: Vec<&Row> = result.kinds.iter().filter(|row| row.different < each).collect();
    for row in &short {
        output::complain(&format!(
            "{}: {} of {each} mutants that behave differently",
            row.kind, row.different
        ));
    }
    let fine = result.false_proofs.is_empty() && result.originals_not_proved.is_empty() && short.is_empty();
    Ok(if fine { Status::Clean } else { Status::Findings })
}

struct Bench {
    subjects: Vec<Subject>,
    seed: u64,
    workers: usize,
    program: Program,
    limit: Duration,
}

/// What was said of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    /// Refuted, and a run of the compiled functions on that input shows it.
    Confirmed,
    /// Refuted by the graphs only.
    Refuted,
    Unknown,
    Unsupported,
    Proved,
}

impl Bench {
    /// Originals that are not proved, with what was said of them.
    fn unproved_originals(&self) -> Result<Vec<String>> {
        let progress = Progress::new(self.subjects.len());
        let found = parallel::map(&self.subjects, self.workers, |subject| {
            let verdict = self.verdict(&subject.module, &subject.original()?, Duration::from_secs(60))?;
            progress.done(&subject.kernel.name);
            Ok(match verdict {
                Verdict::Proved(_) => None,
                other => Some(format!("{}: {other:?}", subject.kernel.name)),
            })
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    fn verdict(&self, module: &Module, code: &FunctionCode, limit: Duration) -> Result<Verdict> {
        let options = ProveOptions {
            search: Options { time: limit, ..Options::default() },
            query: Limits { time: limit.min(Duration::from_secs(10)), ..Limits::default() },
        };
        match prove(module, code, &self.program, options) {
            Ok((verdict, _)) => Ok(verdict),
            // The function cannot be looked at: no proof either.
            Err(ProveError::Ir(error)) => Ok(Verdict::Unsupported(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// So many mutants of a kind that behave differently, and what is said of each.
    fn row(&self, kind: Kind, wanted: usize) -> Result<Row> {
        let begun = Instant::now();
        let mut found: Vec<Different> = Vec::new();
        let mut tried = 0;
        while found.len() < wanted && tried < TRIES * wanted {
            let numbers: Vec<usize> = (tried..tried + (wanted - found.len()).max(self.workers)).collect();
            let made = parallel::map(&numbers, self.workers, |number| {
                let subject = number % self.subjects.len();
                let mut random = Random::named(self.seed, &format!("{} {number}", kind.name()));
                self.subjects[subject].different(subject, kind, &mut random)
            })?;
            tried += numbers.len();
            found.extend(made.into_iter().flatten());
        }
        found.truncate(wanted);
        let progress = Progress::new(found.len());
        let said = parallel::map(&found, self.workers, |mutant| {
            let said = self.judge(mutant)?;
            progress.done(&mutant.what);
            Ok(said)
        })?;
        drop(progress);
        let mut counts = BTreeMap::new();
        said.iter().for_each(|(said, _)| *counts.entry(*said).or_default() += 1);
        let with = |wanted: Said| {
            found
                .iter()
                .zip(&said)
                .filter(|(_, (said, _))| *said == wanted)
                .map(|(mutant, (_, reason))| format!("{}: {reason}", mutant.what))
                .collect()
        };
        Ok(Row {
            kind: kind.name(),
            tried,
            different: found.len(),
            counts,
            seconds: begun.elapsed().as_secs_f64(),
            proved: with(Said::Proved),
            unconfirmed: with(Said::Refuted),
            unknown: with(Said::Unknown),
        })
    }

    fn judge(&self, mutant: &Different) -> Result<(Said, String)> {
        let subject = &self.subjects[mutant.subject];
        let module = mutant.module.as_ref().unwrap_or(&subject.module);
        Ok(match self.verdict(module, &mutant.code, self.limit)? {
            Verdict::Proved(_) => (Said::Proved, "PROVED".to_owned()),
            Verdict::Refuted(refuted) => {
                let said = if subject.confirms(mutant, &refuted)? { Said::Confirmed } else { Said::Refuted };
                (said, refuted.what)
            }
            Verdict::Unknown(failure) => (Said::Unknown, failure.to_string()),
            Verdict::Unsupported(what) => (Said::Unsupported, what),
        })
    }
}

/// Mutants of one kind.
#[derive(Debug, Serialize)]
struct Row {
    kind: &'static str,
    /// Mutants made.
    tried: usize,
    /// Those that assemble and behave differently.
    different: usize,
    counts: BTreeMap<Said, usize>,
    seconds: f64,
    /// False proofs.
    proved: Vec<String>,
    /// Refuted by the graphs, not by the compiled functions.
    unconfirmed: Vec<String>,
    unknown: Vec<String>,
}

/// `metaloc.bench-soundness/1`.
#[derive(Debug, Serialize)]
struct BenchResult {
    schema: &'static str,
    configuration: String,
    seed: u64,
    kernels: Vec<String>,
    originals_not_proved: Vec<String>,
    different: usize,
    confirmed: usize,
    false_proofs: Vec<String>,
    kinds: Vec<Row>,
}

impl BenchResult {
    fn new(
        configuration: String,
        seed: u64,
        kernels: Vec<String>,
        originals_not_proved: Vec<String>,
        kinds: Vec<Row>,
    ) -> BenchResult {
        BenchResult {
            schema: "metaloc.bench-soundness/1",
            configuration,
            seed,
            kernels,
            originals_not_proved,
            different: kinds.iter().map(|row| row.different).sum(),
            confirmed: kinds.iter().map(|row| row.count(Said::Confirmed)).sum(),
            false_proofs: kinds.iter().flat_map(|row| row.proved.clone()).collect(),
            kinds,
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{}, seed {}: {} of {} kernels proved as they are ({})\n\n",
            self.configuration,
            self.seed,
            self.kernels.len() - self.originals_not_proved.len(),
            self.kernels.len(),
            self.kernels.join(" ")
        );
        for original in &self.originals_not_proved {
            let _ = writeln!(text, "NOT PROVED {original}");
        }
        let _ = writeln!(
            text,
            "{:13} {:>6} {:>9} {:>10} {:>8} {:>8} {:>12} {:>7} {:>7}",
            "kind", "tried", "different", "confirmed", "refuted", "unknown", "unsupported", "proved", "s"
        );
        for row in &self.kinds {
            let _ = writeln!(
                text,
                "{:13} {:>6} {:>9} {:>10} {:>8} {:>8} {:>12} {:>7} {:>7.1}",
                row.kind,
                row.tried,
                row.different,
                row.count(Said::Confirmed),
                row.count(Said::Refuted),
                row.count(Said::Unknown),
                row.count(Said::Unsupported),
                row.count(Said::Proved),
                row.seconds,
            );
        }
        let share = 100.0 * self.confirmed as f64 / self.different.max(1) as f64;
        let _ = writeln!(
            text,
            "\n{} mutants behave differently: {} refuted with a confirmed input ({share:.1}%), {} proved",
            self.different,
            self.confirmed,
            self.false_proofs.len()
        );
        for proof in &self.false_proofs {
            let _ = writeln!(text, "FALSE PROOF {proof}");
        }
        text
    }
}

impl Row {
    fn count(&self, said: Said) -> usize {
        self.counts.get(&said).copied().unwrap_or(0)
    }
}
