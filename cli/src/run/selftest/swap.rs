//! `metaloc selftest swap`: a recompiled source file in place of LLVM's own changes nothing.
//!
//! A file of a pass is tested with the RUN lines that name the pass, any other file with all of them. That the
//! recompiled code really ran is not taken for granted: the plugin complains if it could not be swapped, and a
//! complaint counts as a difference.

mod saved;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use metaloc_corpus::llvm_tests;
use metaloc_corpus::own_tests::OwnLine;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Stdin, Task};

use self::saved::{Row, Saved};
use super::compare::{Baseline, Shown, Tally, Verdict, compare};
use crate::args::SelftestSwap;
use crate::lines::{self, Lines};
use crate::output;
use crate::own;
use crate::parallel;
use crate::progress::Progress;
use crate::run::{find_llvm, find_plugin};
use crate::status::Status;

/// The order of the RUN lines in a sample. Any number would do; this one stays.
const SEED: u64 = 1;

/// Unoptimised code is slower by an order of magnitude.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn run(args: &SelftestSwap) -> Result<Status> {
    let llvm = find_llvm(&args.llvm)?;
    let plugin = find_plugin(&llvm)?;
    let lines = Lines::open(&llvm, &plugin, &args.llvm_source)?;
    let files = files(args, &lines)?;
    let (tests, _) = own::lines(&llvm, &llvm_tests::all(&lines::tests(&llvm, &args.llvm_source)?)?)?;
    let workers = parallel::workers(args.jobs);
    let sample_of = args.sample.map_or("all".to_owned(), |count| format!("at most {count}"));
    let title = format!("LLVM {}, {sample_of} RUN lines for a file", llvm.version);
    let mut saved = args.save.as_deref().map(|path| Saved::open(path, &title)).transpose()?;
    let mut rows = Vec::new();
    for file in &files {
        let name = below_transforms(file);
        if let Some(known) = saved.as_ref().and_then(|saved| saved.row(&name)) {
            rows.push(known);
            continue;
        }
        let row = match lines.library(file)? {
            Ok(library) => {
                let check = Check { llvm: &llvm, plugin: &plugin, library: &library };
                let lines = sample(&tests, &lines::stem(file), args.sample);
                let tally = check.lines(&lines, workers)?;
                output::print(&tally.text_for(&format!("swapped   {name}"), "RUN lines"))?;
                let (identical, compared) = (tally.identical(), tally.compared());
                let detail = tally.differences().first().cloned().unwrap_or_default();
                Row { file: name, swapped: true, identical, compared, detail }
            }
            Err(refusal) => {
                output::print(&format!("refused   {refusal}\n"))?;
                let detail = refusal.to_string();
                Row { file: name, swapped: false, identical: 0, compared: 0, detail }
            }
        };
        if let Some(saved) = saved.as_mut() {
            saved.keep(row.clone())?;
        }
        rows.push(row);
    }
    let swapped = rows.iter().filter(|row| row.swapped).count();
    let compared: usize = rows.iter().map(|row| row.compared).sum();
    let of = files.len();
    output::print(&format!(
        "LLVM {}: {swapped} of {of} files swapped, {compared} RUN lines compared\n",
        llvm.version
    ))?;
    if compared == 0 {
        bail!("nothing was compared");
    }
    Ok(if rows.iter().any(Row::differs) { Status::Findings } else { Status::Clean })
}

/// `Scalar/LICM.cpp`.
fn below_transforms(file: &Path) -> String {
    let parts: Vec<_> = file.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let from = parts
        .iter()
        .rposition(|part| part == "Transforms")
        .map_or(parts.len().saturating_sub(1), |at| at + 1);
    parts[from..].join("/")
}

struct Check<'a> {
    llvm: &'a Llvm,
    plugin: &'a Path,
    library: &'a Path,
}

impl Check<'_> {
    fn lines(&self, lines: &[&OwnLine], workers: usize) -> Result<Tally> {
        let progress = Progress::new(lines.len());
        let verdicts = parallel::map(lines, workers, |line| {
            let verdict = self.line(line)?;
            progress.done(&line.name);
            Ok(verdict)
        })?;
        drop(progress);
        let mut tally = Tally::default();
        lines.iter().zip(verdicts).for_each(|(line, verdict)| tally.add(&line.name, verdict));
        Ok(tally)
    }

    fn line(&self, own: &OwnLine) -> Result<Verdict> {
        let stdin = own.line.stdin_for(&own.test).map_or(Stdin::Null, Stdin::File);
        let task = Task::new(&self.llvm.opt).args(own.line.args_for(&own.test)).stdin(stdin);
        let task = task.env_remove("METALOC_OUT").env_remove("METALOC_SWAP");
        let with_stderr = own.line.shows_stderr;
        let plain = |folder: &Path, before: usize| {
            let task = task.clone().cwd(folder).timeout(PATIENCE);
            let task = match before {
                0 => task,
                _ => task.env("GLIBC_TUNABLES", format!("glibc.malloc.tcache_count={before}")),
            };
            Ok(Shown::of(task.run()?, with_stderr))
        };
        let swapped = |folder: &Path| {
            let task = task.clone().arg(format!("-load-pass-plugin={}", self.plugin.display()));
            let task = task.cwd(folder).timeout(PATIENCE).env_remove("METALOC");
            let task = task.env("METALOC_OUT", folder.join("report.json")).env("METALOC_SWAP", self.library);
            Ok(Shown::of(task.run()?, with_stderr))
        };
        compare(Baseline::Succeeding, plain, swapped)
    }
}

fn files(args: &SelftestSwap, lines: &Lines<'_>) -> Result<Vec<PathBuf>> {
    if args.all {
        let wanted = |path: &PathBuf| {
            let folder =
                path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            let transforms = path.components().any(|part| part.as_os_str() == "Transforms");
            transforms && args.folder.as_ref().is_none_or(|wanted| folder.as_ref() == Some(wanted))
        };
        return Ok(lines.files()?.into_iter().filter(wanted).collect());
    }
    lines.named(&args.files, &args.passes)
}

fn sample<'a>(tests: &'a [OwnLine], stem: &str, sample: Option<usize>) -> Vec<&'a OwnLine> {
    let lines = own::lines_for(tests, stem);
    let count = sample.unwrap_or(lines.len());
    llvm_tests::sample(lines, |line| &line.name, SEED, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_below_transforms() {
        assert_eq!(below_transforms(Path::new("/x/llvm/lib/Transforms/Scalar/LICM.cpp")), "Scalar/LICM.cpp");
        assert_eq!(below_transforms(Path::new("/x/llvm/lib/CodeGen/A.cpp")), "A.cpp");
    }
}
