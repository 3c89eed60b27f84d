//! What `metaloc bench repair` prints: `metaloc.bench-repair/1`, or tables for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::super::locations::Counts;
use super::paper::Figures;
use crate::args::{BenchRepair, Spread};
use crate::run::prove::VerdictName;
use crate::run::repair::{Outcome, Row as Stats};
use metaloc_tracer::check::Report;

/// One kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    pub configuration: String,
    /// Which build of this tool measured it: the beginning of a digest.
    pub build: String,
    pub verdict: VerdictName,
    /// Why it is not repaired.
    pub reason: Option<String>,
    /// What went wrong, if it could not be measured: then nothing else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub seconds: f64,
    /// What repair counts; nothing unless it is proved.
    pub stats: Option<Stats>,
    /// The same of other variants, by name.
    pub variants: Vec<(String, Stats)>,
    /// Pairs of a counter and an address in an innermost loop, in the compiler's object.
    pub before: Counts,
    /// And in the repaired one.
    pub after: Option<Counts>,
    pub check: Option<Outcome>,
}

impl Row {
    /// Whether there is a proof that was used.
    pub fn is_repaired(&self) -> bool {
        self.verdict == VerdictName::Proved && self.reason.is_none() && self.error.is_none()
    }

    /// Whether it has all that is asked for.
    pub fn has(&self, args: &BenchRepair) -> bool {
        self.error.is_none() && !self.is_repaired()
            || self.is_repaired()
                && ((!args.check || self.check.is_some()) && (!args.ablation || !self.variants.is_empty()))
    }

    /// Whether a debugger was seen to show something wrong in the compiler's object, or in what was kept of it.
    fn any_wrong(&self) -> bool {
        let untrue = |one: &crate::run::repair::Counted| one.report.kept.untrue > 0;
        self.before.wrong > 0 || self.check.iter().flat_map(|check| &check.debuggers).any(untrue)
    }

    /// True pairs afterwards: none of what is not proved, whatever the compiler said there.
    fn true_after(&self) -> usize {
        self.after.map_or(0, |after| after.true_value)
    }
}

/// `metaloc.bench-repair/1`.
#[derive(Debug, Serialize)]
pub struct Table {
    schema: &'static str,
    configuration: String,
    proved: usize,
    of: usize,
    /// Sums over all kernels; those that are not proved are not true afterwards.
    pairs: usize,
    true_before: usize,
    true_after: usize,
    wrong_before: usize,
    /// Of proved kernels.
    wrong_after: usize,
    kernels: Vec<Row>,
    #[serde(skip)]
    figures: BTreeMap<String, Figures>,
}

impl Table {
    pub fn new(configuration: String, kernels: Vec<Row>, figures: BTreeMap<String, Figures>) -> Table {
        Table {
            schema: "metaloc.bench-repair/1",
            configuration,
            proved: kernels.iter().filter(|row| row.is_repaired()).count(),
            of: kernels.len(),
            pairs: kernels.iter().map(|row| row.before.pairs).sum(),
            true_before: kernels.iter().map(|row| row.before.true_value).sum(),
            true_after: kernels.iter().map(Row::true_after).sum(),
            wrong_before: kernels.iter().map(|row| row.before.wrong).sum(),
            wrong_after: kernels.iter().filter_map(|row| row.after).map(|after| after.wrong).sum(),
            kernels,
            figures,
        }
    }

    /// Percent of pairs that are true afterwards.
    pub fn share_after(&self) -> f64 {
        share(self.true_after, self.pairs)
    }

    /// Values that debuggers print and that are not true, of those that were written or confirmed.
    pub fn untrue(&self) -> u64 {
        self.checks().map(|one| one.report.untrue()).sum()
    }

    /// Kernels that could not be measured.
    pub fn failed(&self) -> impl Iterator<Item = &Row> {
        self.kernels.iter().filter(|row| row.error.is_some())
    }

    fn checks(&self) -> impl Iterator<Item = &crate::run::repair::Counted> {
        self.kernels.iter().filter_map(|row| row.check.as_ref()).flat_map(|check| &check.debuggers)
    }

    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.configuration);
        let _ = writeln!(
            text,
            "{:8} {:>9} {:>2} {:>13} {:>9} {:>7} {:>7} | {:>9} {:>2} {:>13} | {:>5} {:>6} {:>5} | {:>8} {:>5} {:>5} {:>6}",
            "kernel",
            "T/U",
            "V",
            "O/M/I",
            "corrected",
            "grouped",
            "removed",
            "paper T/U",
            "V",
            "O/M/I",
            "pairs",
            "before",
            "after",
            "compared",
            "wrong",
            "stale",
            "s"
        );
        for row in &self.kernels {
            self.line(&mut text, row);
        }
        self.sums(&mut text);
        self.ablation(&mut text);
        text
    }

    fn line(&self, text: &mut String, row: &Row) {
        let paper = self.figures.get(&row.name);
        let (paper_tu, paper_v, paper_omi) = match paper {
            Some(Figures { t, u, v, o, m, i }) => (format!("{t}/{u}"), v.to_string(), format!("{o}/{m}/{i}")),
            None => Default::default(),
        };
        let checks: Vec<_> = row.check.iter().flat_map(|check| &check.debuggers).collect();
        let sum = |of: fn(&Report) -> u64| match checks.is_empty() {
            true => "-".to_owned(),
            false => checks.iter().map(|one| of(&one.report)).sum::<u64>().to_string(),
        };
        let Some(stats) = &row.stats else {
            let reason = row.error.as_deref().or(row.reason.as_deref()).unwrap_or_default();
            let verdict = if row.error.is_some() { "error" } else { row.verdict.text() };
            let _ = writeln!(
                text,
                "{:8} {:<52} | {paper_tu:>9} {paper_v:>2} {paper_omi:>13} | {:>5} {:>6} {:>5} | {:6.0} s",
                row.name,
                format!("{verdict}: {}", first_line(reason).chars().take(38).collect::<String>()),
                row.before.pairs,
                row.before.true_value,
                "-",
                row.seconds,
            );
            return;
        };
        let mut notes: Vec<String> =
            paper.and_then(|paper| less_than(paper, stats, row.any_wrong())).into_iter().collect();
        let early = checks.iter().filter_map(|one| Some((one, one.report.early.as_ref()?)));
        notes.extend(early.map(|(one, why)| format!("check in {} ended early: {why}", one.debugger)));
        let _ = writeln!(
            text,
            "{:8} {:>9} {:>2} {:>13} {:>9} {:>7} {:>7} | {paper_tu:>9} {paper_v:>2} {paper_omi:>13} | {:>5} {:>6} {:>5} | \
             {:>8} {:>5} {:>5} {:>6.0}{}",
            row.name,
            format!("{}/{}", stats.t, stats.u),
            stats.v,
            format!("{}/{}/{}", stats.o, stats.m, stats.i),
            stats.corrected,
            stats.grouped,
            stats.removed,
            row.before.pairs,
            row.before.true_value,
            row.true_after(),
            sum(|one| one.compared),
            sum(|one| one.wrong + one.memory_wrong),
            sum(|one| one.stale),
            row.seconds,
            notes.iter().map(|note| format!("  {note}")).collect::<String>(),
        );
    }

    fn sums(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\n{} of {} proved and repaired\n{} pairs of a counter and an address in an innermost loop: true {} ({:.1}%) \
             before, {} ({:.1}%) after, those of unproved kernels counted as not true; wrong {} before, {} after (of \
             proved ones)",
            self.proved,
            self.of,
            self.pairs,
            self.true_before,
            share(self.true_before, self.pairs),
            self.true_after,
            self.share_after(),
            self.wrong_before,
            self.wrong_after,
        );
        let debuggers: BTreeSet<&str> = self.checks().map(|one| one.debugger.as_str()).collect();
        for debugger in debuggers {
            let sum = |of: fn(&Report) -> u64| -> u64 {
                self.checks().filter(|one| one.debugger == debugger).map(|one| of(&one.report)).sum()
            };
            let _ = writeln!(
                text,
                "{debugger}: {} values compared, {} wrong, {} stale, {} missing, {} unreadable, {} lost; by memory {} \
                 compared, {} wrong; kept: {} compared, {} untrue",
                sum(|one| one.compared),
                sum(|one| one.wrong),
                sum(|one| one.stale),
                sum(|one| one.missing),
                sum(|one| one.unreadable),
                sum(|one| one.lost),
                sum(|one| one.memory_compared),
                sum(|one| one.memory_wrong),
                sum(|one| one.kept.compared),
                sum(|one| one.kept.untrue),
            );
        }
        for row in self.failed() {
            let error = row.error.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}: not measured, its pairs are not counted: {error}", row.name);
        }
        for row in &self.kernels {
            for one in row.check.iter().flat_map(|check| &check.not_checked) {
                let _ = writeln!(text, "{}: not checked: {}", row.name, one.reason);
            }
            for one in row.check.iter().flat_map(|check| &check.debuggers) {
                if one.report.untrue() > 0 {
                    one.findings.iter().for_each(|finding| {
                        let _ = writeln!(text, "{}, {}: {finding}", row.name, one.debugger);
                    });
                }
            }
        }
        let builds: BTreeSet<&str> = self.kernels.iter().map(|row| row.build.as_str()).collect();
        if builds.len() > 1 {
            let _ =
                writeln!(text, "measured by {} builds: {}", builds.len(), Vec::from_iter(builds).join(" "));
        }
    }

    /// Over the kernels that have all variants.
    fn ablation(&self, text: &mut String) {
        let names: BTreeSet<&str> =
            self.kernels.iter().flat_map(|row| &row.variants).map(|(name, _)| name.as_str()).collect();
        let of = |row: &Row, name: &str| {
            row.variants.iter().find(|(known, _)| known == name).map(|(_, stats)| *stats)
        };
        let whole: Vec<&Row> = self
            .kernels
            .iter()
            .filter(|row| row.stats.is_some() && names.iter().all(|name| of(row, name).is_some()))
            .collect();
        if names.is_empty() || whole.is_empty() {
            return;
        }
        let _ = writeln!(text, "\nablation over {} kernels: U of T pcs updated, M and I", whole.len());
        let order = [Spread::None, Spread::Forward, Spread::Reversible, Spread::All];
        for variant in order.iter().map(|variant| variant.name()) {
            let stats: Option<Vec<Stats>> =
                whole.iter().map(|row| if variant == "all" { row.stats } else { of(row, variant) }).collect();
            let Some(stats) = stats else { continue };
            let sum = |of: fn(&Stats) -> usize| stats.iter().map(of).sum::<usize>();
            let (t, u) = (sum(|one| one.t), sum(|one| one.u));
            let _ = writeln!(
                text,
                "{variant:10} {u:>5} of {t} ({:.1}%)  M {:>5}  I {:>5}",
                share(u, t),
                sum(|one| one.m),
                sum(|one| one.i)
            );
        }
    }
}

/// What is less than in the paper though the code has as many instructions, with the reason if it is known.
fn less_than(paper: &Figures, ours: &Stats, any_wrong: bool) -> Option<String> {
    if paper.t != ours.t || (ours.u >= paper.u && ours.m >= paper.m && ours.i >= paper.i) {
        return None;
    }
    // What was right already is not updated.
    let right_already = ours.m + ours.confirmed >= paper.m;
    // Today's compiler may say fewer wrong constants: then all of them are gone, or nobody has seen one.
    let none_wrong = ours.i >= paper.i || ours.kept == 0 || !any_wrong;
    let reason = match (right_already && none_wrong, ours.m < paper.m) {
        (true, true) => format!("{} confirmed, not updated", ours.confirmed),
        (true, false) if ours.u < paper.u => format!("{} confirmed, not updated", ours.confirmed),
        (true, false) => "no other constant was wrong".to_owned(),
        (false, _) => "not explained".to_owned(),
    };
    Some(format!("less than the paper: {reason}"))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn share(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, verdict: VerdictName, before: usize, after: Option<usize>) -> Row {
        let counts = |true_value| Counts { pairs: 10, true_value, ..Counts::default() };
        Row {
            name: name.into(),
            configuration: "x".into(),
            build: "b".into(),
            verdict,
            reason: None,
            error: None,
            seconds: 1.0,
            stats: after.map(|_| Stats::default()),
            variants: Vec::new(),
            before: counts(before),
            after: after.map(counts),
            check: None,
        }
    }

    #[test]
    fn what_is_not_proved_is_not_true() {
        let rows = vec![row("a", VerdictName::Proved, 1, Some(9)), row("b", VerdictName::Unknown, 5, None)];
        let table = Table::new("x".into(), rows, BTreeMap::new());
        assert_eq!((table.pairs, table.true_before, table.true_after), (20, 6, 9));
        assert_eq!(table.share_after(), 45.0);
        assert!(table.text().contains("1 of 2 proved"), "{}", table.text());
    }

    #[test]
    fn what_could_not_be_measured_is_said_and_measured_again() {
        use clap::Parser;
        let failed = Row { error: Some("gdb died\nof it".into()), ..row("b", VerdictName::Unknown, 0, None) };
        let rows = vec![row("a", VerdictName::Proved, 1, Some(9)), failed.clone()];
        let table = Table::new("x".into(), rows, BTreeMap::new());
        assert_eq!(table.failed().map(|row| &*row.name).collect::<Vec<_>>(), ["b"]);
        let text = table.text();
        assert!(text.contains("error: gdb died ") && text.contains("b: not measured"), "{text}");
        let line = ["metaloc", "bench", "repair"];
        let crate::args::Command::Bench(bench) = crate::args::Args::parse_from(line).command else {
            panic!("not what was typed");
        };
        let crate::args::BenchWhat::Repair(args) = bench.what else { panic!("not what was typed") };
        assert!(!failed.has(&args));
        assert!(row("b", VerdictName::Unknown, 0, None).has(&args));
    }

    #[test]
    fn less_than_the_paper_has_a_reason() {
        let paper = Figures { t: 17, u: 14, v: 1, o: 1, m: 13, i: 1 };
        let ours = Stats { t: 17, u: 3, m: 4, confirmed: 10, ..Stats::default() };
        let note = |ours: Stats| less_than(&paper, &ours, true);
        assert_eq!(note(ours).as_deref(), Some("less than the paper: 10 confirmed, not updated"));
        let lost = Some("less than the paper: not explained".to_owned());
        assert_eq!(note(Stats { confirmed: 8, ..ours }), lost);
        assert_eq!(note(Stats { kept: 1, ..ours }), lost, "a constant that may be wrong was left");
        assert!(less_than(&paper, &Stats { kept: 1, ..ours }, false) != lost, "it was seen to be right");
        assert_eq!(note(Stats { t: 18, ..ours }), None, "other code");
        assert_eq!(note(Stats { u: 14, m: 13, i: 1, ..ours }), None);
    }
}
