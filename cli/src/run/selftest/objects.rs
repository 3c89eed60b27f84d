//! `metaloc selftest objects`: broken objects through repair. One that panics or does not end is a finding.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use metaloc_corpus::kernel_driver;
use metaloc_corpus::kernels::{Compiler, Configuration, Flags, Kernel, Target, tsvc};
use metaloc_corpus::random::Random;
use metaloc_repair::mutate::{Parts, mutant};
use metaloc_repair::{Error, FunctionClaims, Object};
use metaloc_toolchain::plugin;

use crate::args::SelftestObjects;
use crate::made_up;
use crate::output;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::status::Status;

/// What one mutant may take.
const MOST: Duration = Duration::from_secs(10);
/// A kernel with two loops, so with two blocks, and several variables.
const KERNELS: [&str; 3] = ["s000", "s122", "s1421"];

pub fn run(args: &SelftestObjects) -> Result<Status> {
    let subjects = subjects(args)?;
    let count = args.mutants.get();
    let progress = Progress::new(count);
    let results = start(subjects.clone(), count, args.seed);
    let mut sums = Sums::default();
    let mut findings = Vec::new();
    for number in 0..count {
        let name = &subjects[number % subjects.len()].name;
        match results.recv_timeout(MOST) {
            Ok((outcome, time)) => {
                sums.longest = sums.longest.max(time);
                match outcome {
                    Outcome::Repaired => sums.repaired += 1,
                    Outcome::Refused => sums.refused += 1,
                    Outcome::Unstable => sums.unstable += 1,
                    Outcome::Panicked => findings.push(format!("mutant {number} of {name}: panics")),
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                findings.push(format!("mutant {number} of {name}: still running after {} s", MOST.as_secs()));
                break;
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the worker ended at mutant {number}"),
        }
        progress.done(name);
    }
    drop(progress);
    for finding in &findings {
        output::print(&format!("{finding}\n"))?;
    }
    output::print(&sums.text(count, subjects.len(), args.seed, findings.len()))?;
    // A test of which everything is refused at the first look says nothing.
    let vacuous = findings.is_empty() && (sums.repaired * 20 < count || sums.refused * 20 < count);
    if vacuous {
        output::print("too few were repaired, or refused: the mutants are too coarse, or not broken\n")?;
    }
    Ok(if findings.is_empty() && !vacuous { Status::Clean } else { Status::Findings })
}

#[derive(Debug, Default)]
struct Sums {
    repaired: usize,
    refused: usize,
    unstable: usize,
    longest: Duration,
}

impl Sums {
    fn text(&self, count: usize, subjects: usize, seed: u64, findings: usize) -> String {
        format!(
            "{count} mutants of {subjects} files (seed {seed}): {} repaired, {} refused, {} refused because the output \
             could not be read again, {findings} that panic or hang; the longest took {:.2} s\n",
            self.repaired,
            self.refused,
            self.unstable,
            self.longest.as_secs_f64()
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Repaired,
    Refused,
    Unstable,
    Panicked,
}

/// A sound file, and claims about one of its functions.
#[derive(Debug, Clone)]
struct Subject {
    name: String,
    bytes: Vec<u8>,
    parts: Parts,
    claims: FunctionClaims,
}

fn subjects(args: &SelftestObjects) -> Result<Vec<Subject>> {
    let llvm = find_llvm(&args.llvm)?;
    let folder = plugin::root()?.join("regress/kernels");
    let kernels: Vec<Kernel> =
        tsvc(&folder)?.into_iter().filter(|kernel| KERNELS.contains(&kernel.name.as_str())).collect();
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let mut found = Vec::new();
    for compiler in [Compiler::Gcc12, Compiler::Clang] {
        for (target, dwarf) in
            [(Target::Fixed, "-gdwarf-5"), (Target::Pie, "-gdwarf-4"), (Target::I386, "-gdwarf-5")]
        {
            let mut configuration = Configuration::new(&llvm, compiler, Flags::Paper, target)?;
            configuration.flags.push(dwarf.to_owned());
            for kernel in &kernels {
                let (object, program) = (scratch.path().join("kernel.o"), scratch.path().join("program"));
                configuration.compile(&kernel.path, &kernel.defines, "-c", &object)?;
                kernel_driver::link(&configuration, (kernel, 0), &object, scratch.path(), &program)?;
                for (kind, path) in [("object", &object), ("program", &program)] {
                    let name = format!("{}, {dwarf}, {}, {kind}", configuration.name, kernel.name);
                    found.push(subject(name, path, &kernel.name)?);
                }
            }
        }
    }
    Ok(found)
}

fn subject(name: String, path: &Path, function: &str) -> Result<Subject> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let object = Object::parse(&bytes)?;
    let code = object.functions()?.into_iter().find(|code| code.symbol == function);
    let code = code.with_context(|| format!("{name}: no function {function}"))?;
    let said = object.said(std::slice::from_ref(&code))?.remove(0);
    let claims = said.map(|said| made_up::claims(&code, &said, object.machine(), 4));
    let claims = claims.with_context(|| format!("{name}: no debug information"))?;
    let parts = Parts::of(&bytes)?;
    let repaired = object.repair_and_check(std::slice::from_ref(&claims)).with_context(|| name.clone())?;
    if repaired.bytes == bytes {
        bail!("{name}: nothing changes, so its mutants would show nothing");
    }
    Ok(Subject { name, bytes, parts, claims })
}

/// Works through all mutants in a thread, which is left behind if it hangs.
fn start(subjects: Vec<Subject>, count: usize, seed: u64) -> Receiver<(Outcome, Duration)> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        // What panics is counted; a trace for each would bury that.
        std::panic::set_hook(Box::new(|_| {}));
        for number in 0..count {
            let subject = &subjects[number % subjects.len()];
            let mut random = Random::named(seed, &format!("{number}"));
            let bytes = mutant(&subject.bytes, &subject.parts, |limit| random.below(limit.max(1)));
            let begun = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| repair(&bytes, &subject.claims)));
            if sender.send((outcome.unwrap_or(Outcome::Panicked), begun.elapsed())).is_err() {
                return;
            }
        }
    });
    receiver
}

fn repair(bytes: &[u8], claims: &FunctionClaims) -> Outcome {
    let claims = std::slice::from_ref(claims);
    let repaired = Object::parse(bytes).and_then(|object| {
        object.said(std::slice::from_ref(&claims[0].code))?;
        object.repair_and_check(claims)
    });
    match repaired {
        Ok(_) => Outcome::Repaired,
        Err(Error::Unstable(_)) => Outcome::Unstable,
        Err(_) => Outcome::Refused,
    }
}
