//! `metaloc report --all`: every plain RUN line of LLVM's transformation tests, whatever passes it runs.
//!
//! The lines of one test run one after the other, so that synthetic locations are made once for them. Reports are
//! merged as they come, in any order: the result is the same.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use metaloc_corpus::llvm_tests::{self, LlvmTest};
use metaloc_corpus::own_tests::OwnLine;
use metaloc_report::merge::Merger;
use metaloc_report::{Document, NotRun, Why, pass_names};
use metaloc_toolchain::{Llvm, sources};

use crate::args::Report;
use crate::lines::{self, Lines, LlvmSource};
use crate::observe::Observer;
use crate::output;
use crate::own::{self, Ran};
use crate::parallel;
use crate::progress::Progress;

/// The order of the tests in a sample; the same as in the selftest.
const SEED: u64 = 1;

/// The LLVM whose tests are used where its own cannot be had.
const TESTS_OF: u32 = 19;

/// Runs all of it and merges what comes.
pub fn observe(observer: &mut Observer, args: &Report) -> Result<Document> {
    let tests = tests(&observer.llvm, args)?;
    if tests.is_empty() {
        bail!("there are no tests");
    }
    let (lines, left_out) = own::lines(&observer.llvm, &tests)?;
    let workers = parallel::workers(args.jobs);
    if let Some(source) = &args.llvm_source {
        observer.swapped = swap(observer, source, &lines, workers)?;
    }
    let observer = &*observer;
    let merger = Mutex::new(Merger::new(&observer.llvm.version));
    let in_merger = |ran: Ran| -> Result<()> {
        let mut merger = merger.lock().unwrap_or_else(PoisonError::into_inner);
        let document = match ran {
            Ran::Whole(document) => Some(document),
            Ran::Not(not_run, document) => {
                merger.add_not_run(not_run);
                document
            }
        };
        document.map_or(Ok(()), |document| merger.add(document)).context("merging reports")
    };
    let groups = by_test(&lines);
    let progress = Progress::new(groups.len());
    parallel::map(&groups, workers, |group| {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        for own in *group {
            let libraries = observer.libraries(own.passes.iter().map(String::as_str));
            let ran = match observer.prepare_test(scratch.path(), own)? {
                Ok(prepared) => observer.run_line(scratch.path(), &prepared, own, &libraries)?,
                Err(not_run) => Ran::Not(not_run, None),
            };
            in_merger(ran)?;
        }
        progress.done(group.first().map_or("", |own| &own.name));
        Ok(())
    })?;
    drop(progress);
    let mut merger = merger.into_inner().unwrap_or_else(PoisonError::into_inner);
    for line in left_out {
        let (input, why, detail) = (line.name, Why::LeftOut, line.reason);
        merger.add_not_run(NotRun { input, why, detail });
    }
    let mut document = merger.finish();
    // Inputs are what was run; a process that was refused is in no document.
    document.stats.inputs = groups.len() as u64;
    Ok(document)
}

/// The tests asked for: those below the folders given, or those of the LLVM.
fn tests(llvm: &Llvm, args: &Report) -> Result<Vec<LlvmTest>> {
    let mut tests = Vec::new();
    for input in &args.inputs {
        let folder =
            std::fs::canonicalize(input).with_context(|| format!("cannot read {}", input.display()))?;
        if !folder.is_dir() {
            bail!(
                "{} is no folder: with --all, --input is a folder of tests with RUN lines",
                input.display()
            );
        }
        tests.extend(llvm_tests::below(&folder)?);
    }
    if args.inputs.is_empty() {
        tests = llvm_tests::all(&source_of_tests(llvm, args.llvm_source.as_ref())?)?;
    }
    Ok(match args.sample {
        Some(count) => llvm_tests::sample(tests, |test| &test.name, SEED, count),
        None => tests,
    })
}

/// The folder that has `llvm/test/Transforms`: of the source that was named, of the same LLVM, or of another one
/// if Debian has no source package of this.
pub fn source_of_tests(llvm: &Llvm, source: Option<&LlvmSource>) -> Result<PathBuf> {
    if let Some(source @ LlvmSource::Folder(_)) = source {
        return lines::tests(llvm, source);
    }
    let major = if sources::AVAILABLE.contains(&llvm.major) { llvm.major } else { TESTS_OF };
    if major != llvm.major {
        output::complain(&format!(
            "the tests are those of LLVM {major}: there is no source package of {}",
            llvm.major
        ));
    }
    lines::tests_of(major)
}

/// Neighbouring lines of the same test.
fn by_test(lines: &[OwnLine]) -> Vec<&[OwnLine]> {
    lines.chunk_by(|a, b| a.test == b.test).collect()
}

/// Compiles the files of all passes that some line names, by the name of the pass.
fn swap(
    observer: &Observer,
    source: &LlvmSource,
    lines: &[OwnLine],
    workers: usize,
) -> Result<HashMap<String, Vec<PathBuf>>> {
    let opened = Lines::open(&observer.llvm, &observer.plugin, source)?;
    let known: BTreeSet<&str> = pass_names::all().map(|row| row.name).collect();
    let named = lines.iter().flat_map(|line| &line.passes).map(String::as_str);
    let passes: Vec<&str> =
        named.filter(|name| known.contains(name)).collect::<BTreeSet<_>>().into_iter().collect();
    let progress = Progress::new(passes.len());
    let libraries = parallel::map(&passes, workers, |pass| {
        let of_pass = opened.libraries_of_pass(pass)?;
        progress.done(pass);
        Ok(of_pass)
    })?;
    drop(progress);
    let mut swapped = HashMap::new();
    for (pass, of_pass) in passes.into_iter().zip(libraries) {
        swapped.extend(of_pass.or_say(pass).map(|libraries| (pass.to_owned(), libraries)));
    }
    Ok(swapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_corpus::run_line::run_lines;

    fn own(test: &str, passes: &[&str]) -> OwnLine {
        let line = run_lines(b"; RUN: opt -passes=x %s\n")[0].classify().unwrap();
        let passes = passes.iter().map(|pass| (*pass).to_owned()).collect();
        OwnLine { name: format!("{test}:1"), test: test.into(), line, passes }
    }

    #[test]
    fn lines_of_one_test_stay_together() {
        let lines = [own("a", &[]), own("a", &[]), own("b", &[])];
        assert_eq!(by_test(&lines).iter().map(|group| group.len()).collect::<Vec<_>>(), [2, 1]);
    }
}
