//! One command with and without the plugin: everything that it shows must be the same.
//!
//! Some commands do not even agree with themselves, because what they print depends on addresses. They are
//! found by running them without the plugin more than once, each time with another arrangement of the heap
//! (address randomisation alone keeps the distances), and left out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use metaloc_toolchain::process::{Exit, Outcome};

/// What was found about one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing changed.
    Identical,
    /// Something changed: what, and how to see it.
    Differs(String),
    /// It says nothing about the plugin.
    LeftOut(&'static str),
}

/// Which commands say something about the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// All that agree with themselves.
    Any,
    /// Those that succeed, too: inputs of a newer LLVM are refused by an older one.
    Succeeding,
}

/// Everything that a command shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    /// Empty where nobody looks at it.
    pub stderr: Vec<u8>,
    /// The first thing that the plugin complains about, of its own audit or of a bug.
    pub complaint: Option<String>,
}

impl Shown {
    pub fn of(outcome: Outcome, with_stderr: bool) -> Shown {
        let complaint = outcome.stderr_text().lines().find(|l| l.starts_with("metaloc: ")).map(str::to_owned);
        let stderr = if with_stderr { outcome.stderr } else { Vec::new() };
        Shown { exit: outcome.exit, stdout: outcome.stdout, stderr, complaint }
    }

    fn difference(&self, plain: &Shown) -> Option<String> {
        if let Some(complaint) = &self.complaint {
            return Some(complaint.clone());
        }
        if self.exit != plain.exit {
            return Some(format!("{} instead of {}", self.exit, plain.exit));
        }
        let streams = [("output", &self.stdout, &plain.stdout), ("complaint", &self.stderr, &plain.stderr)];
        streams.iter().find(|(_, now, before)| now != before).map(|(name, now, before)| {
            let at = now.iter().zip(before.iter()).take_while(|(a, b)| a == b).count();
            format!("another {name} from byte {at} on, {} bytes instead of {}", now.len(), before.len())
        })
    }
}

/// How often a command is run again without the plugin before a difference counts.
const DOUBTS: usize = 3;

/// Compares `plain`, run at least twice, with `observed`. Both get a fresh folder to run in, and `plain` how
/// often it has been run before.
pub fn compare(
    baseline: Baseline,
    plain: impl Fn(&Path, usize) -> Result<Shown>,
    observed: impl Fn(&Path) -> Result<Shown>,
) -> Result<Verdict> {
    let plain = |before: usize| in_scratch(|folder: &Path| plain(folder, before));
    let first = plain(0)?;
    match (baseline, first.exit) {
        (_, Exit::Timeout(_)) => return Ok(Verdict::LeftOut("take too long without the plugin")),
        (Baseline::Succeeding, exit) if !exit.success() => {
            return Ok(Verdict::LeftOut("fail without the plugin"));
        }
        _ => {}
    }
    if plain(1)? != first {
        return Ok(Verdict::LeftOut(VARIES));
    }
    let Some(difference) = in_scratch(observed)?.difference(&first) else { return Ok(Verdict::Identical) };
    for again in 0..DOUBTS {
        if plain(2 + again)? != first {
            return Ok(Verdict::LeftOut(VARIES));
        }
    }
    Ok(Verdict::Differs(difference))
}

const VARIES: &str = "vary from run to run without the plugin";

fn in_scratch(run: impl Fn(&Path) -> Result<Shown>) -> Result<Shown> {
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    run(scratch.path())
}

/// All verdicts together.
#[derive(Debug, Default)]
pub struct Tally {
    identical: usize,
    left_out: BTreeMap<String, usize>,
    differences: Vec<String>,
}

impl Tally {
    /// Adds the verdict on a command.
    pub fn add(&mut self, name: &str, verdict: Verdict) {
        match verdict {
            Verdict::Identical => self.identical += 1,
            Verdict::Differs(difference) => self.differences.push(format!("{name}: {difference}")),
            Verdict::LeftOut(why) => self.leave_out(why, 1),
        }
    }

    /// Counts what was not even compared.
    pub fn leave_out(&mut self, why: &str, count: usize) {
        if count > 0 {
            *self.left_out.entry(why.to_owned()).or_default() += count;
        }
    }

    /// Number of commands that were compared.
    pub fn compared(&self) -> usize {
        self.identical + self.differences.len()
    }

    /// Number of those that are the same.
    pub fn identical(&self) -> usize {
        self.identical
    }

    /// Those that are not, and how.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Whether something changed.
    pub fn has_differences(&self) -> bool {
        !self.differences.is_empty()
    }

    /// One line, and one for each difference.
    pub fn text(&self, version: &str, things: &str) -> String {
        self.text_for(&format!("LLVM {version}"), things)
    }

    /// The same about something else than an LLVM.
    pub fn text_for(&self, what: &str, things: &str) -> String {
        let mut text = format!("{what}: {} of {} {things} identical", self.identical, self.compared());
        let mut separator = "; left out: ";
        for (why, count) in &self.left_out {
            let _ = write!(text, "{separator}{count} that {why}");
            separator = ", ";
        }
        text.push('\n');
        for difference in &self.differences {
            let _ = writeln!(text, "  {difference}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn shown(exit: i32, stdout: &str, stderr: &str) -> Shown {
        Shown { exit: Exit::Code(exit), stdout: stdout.into(), stderr: stderr.into(), complaint: None }
    }

    fn verdict(baseline: Baseline, plain: Shown, observed: Shown) -> Verdict {
        compare(baseline, |_, _| Ok(plain.clone()), |_| Ok(observed.clone())).unwrap()
    }

    #[test]
    fn every_difference_is_noticed() {
        let plain = shown(0, "abc", "x");
        let differs = |observed| match verdict(Baseline::Any, plain.clone(), observed) {
            Verdict::Differs(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(verdict(Baseline::Any, plain.clone(), plain.clone()), Verdict::Identical);
        assert_eq!(differs(shown(1, "abc", "x")), "exit status 1 instead of exit status 0");
        assert_eq!(differs(shown(0, "abd", "x")), "another output from byte 2 on, 3 bytes instead of 3");
        assert_eq!(differs(shown(0, "abcd", "x")), "another output from byte 3 on, 4 bytes instead of 3");
        let complaint = Some("metaloc: audit: two blocks kept, one there".to_owned());
        assert!(differs(Shown { complaint, ..plain.clone() }).starts_with("metaloc: audit"));
        assert_eq!(differs(shown(0, "abc", "")), "another complaint from byte 0 on, 0 bytes instead of 1");
    }

    #[test]
    fn a_failing_command_counts_only_where_it_may() {
        let failing = shown(1, "", "");
        assert_eq!(verdict(Baseline::Any, failing.clone(), failing.clone()), Verdict::Identical);
        let left_out = verdict(Baseline::Succeeding, failing.clone(), failing);
        assert_eq!(left_out, Verdict::LeftOut("fail without the plugin"));
    }

    #[test]
    fn what_varies_by_itself_is_left_out_even_if_it_shows_late() {
        for late in 1..DOUBTS {
            let runs = Cell::new(0);
            let plain = |_: &Path, _: usize| {
                runs.set(runs.get() + 1);
                Ok(shown(0, if runs.get() > late { "b" } else { "a" }, ""))
            };
            let verdict = compare(Baseline::Any, plain, |_| Ok(shown(0, "c", ""))).unwrap();
            assert_eq!(verdict, Verdict::LeftOut(VARIES), "after {late}");
        }
    }

    #[test]
    fn the_tally_names_what_was_left_out_and_what_differs() {
        let mut tally = Tally::default();
        tally.add("a.ll:1", Verdict::Identical);
        tally.add("b.ll:1", Verdict::Differs("another output".into()));
        tally.add("c.ll:1", Verdict::LeftOut("vary"));
        tally.leave_out("are legacy", 3);
        tally.leave_out("never", 0);
        assert_eq!(
            tally.text("19.1.7", "RUN lines"),
            "LLVM 19.1.7: 1 of 2 RUN lines identical; left out: 3 that are legacy, 1 that vary\n  b.ll:1: another output\n"
        );
        assert!(tally.has_differences());
    }
}
