//! What there is to say about a report with many passes and inputs: one line per pass, and what did not run.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::confirm::{Confirmation, Verdict};
use crate::document::{Confidence, Document};
use crate::summary::{NotRun, PassSummary, Why};
use crate::text::counted;

/// Inputs that are named in the text; the document names all.
const NAMED: usize = 20;

/// One line for each pass that changed something, most errors first.
pub fn by_pass(document: &Document) -> String {
    let (mut rows, idle): (Vec<&PassSummary>, Vec<&PassSummary>) =
        document.passes.iter().partition(|summary| summary.changed_runs > 0);
    rows.sort_by_key(|summary| (std::cmp::Reverse((summary.certain, summary.likely)), &summary.pass));
    let width = rows.iter().map(|summary| summary.pass.len()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "{:width$} {:>9} {:>9} {:>8} {:>7} {:>6}  statements reached",
            "pass", "runs", "changed", "certain", "likely", "notes"
        );
    }
    for PassSummary { pass, runs, changed_runs, certain, likely, notes, statements } in rows {
        // Unreached is not clean, and unknown is not unreached.
        let reached = match statements {
            Some(statements) => format!("{} of {}", statements.reached, statements.total),
            None => "unknown".to_owned(),
        };
        let _ = writeln!(
            text,
            "{pass:width$} {runs:>9} {changed_runs:>9} {certain:>8} {likely:>7} {notes:>6}  {reached}"
        );
    }
    if !idle.is_empty() {
        let _ = writeln!(text, "{} ran and changed nothing", counted(idle.len() as u64, "more pass"));
    }
    text
}

/// What a newer LLVM makes of the errors, by confidence; nothing if none was asked.
pub fn confirmations(document: &Document) -> String {
    let mut text = String::new();
    let known = |confidence| {
        let of_confidence = document.errors.iter().filter(move |error| error.confidence == confidence);
        of_confidence.filter_map(|error| error.confirmation.as_ref())
    };
    let kinds =
        [(Confidence::Certain, "certain"), (Confidence::Likely, "likely"), (Confidence::Note, "notes")];
    for (confidence, name) in kinds {
        let Some(Confirmation { llvm, .. }) = known(confidence).next() else { continue };
        let count = |verdict| known(confidence).filter(|known| known.verdict == verdict).count();
        let _ = writeln!(
            text,
            "LLVM {llvm} on {name}: {} confirmed, {} still shown, {} unknown",
            count(Verdict::Confirmed),
            count(Verdict::StillShown),
            count(Verdict::Unknown)
        );
    }
    text
}

/// Crashes and timeouts by name, the rest in numbers.
pub fn not_run(document: &Document) -> String {
    let mut text = String::new();
    let is = |why: Why| move |not_run: &&NotRun| not_run.why == why;
    for (why, words) in [(Why::Crashed, "crashed"), (Why::TimedOut, "timed out")] {
        let of_kind: Vec<&NotRun> = document.not_run.iter().filter(is(why)).collect();
        for NotRun { input, detail, .. } in of_kind.iter().take(NAMED) {
            let _ = writeln!(text, "{words}: {input}: {detail}");
        }
        if of_kind.len() > NAMED {
            let _ = writeln!(text, "{words}: {} more", of_kind.len() - NAMED);
        }
    }
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for NotRun { why, detail, .. } in &document.not_run {
        match why {
            Why::Crashed => *reasons.entry("crashed".to_owned()).or_default() += 1,
            Why::TimedOut => *reasons.entry("timed out".to_owned()).or_default() += 1,
            Why::Failed => *reasons.entry("opt refused".to_owned()).or_default() += 1,
            Why::LeftOut => *reasons.entry(general(detail).to_owned()).or_default() += 1,
        }
    }
    if !reasons.is_empty() {
        let reasons: Vec<String> =
            reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        let all = counted(document.not_run.len() as u64, "RUN line");
        let _ = writeln!(text, "not run: {all}: {}", reasons.join(", "));
    }
    text
}

/// The reason in the plural, without what is special about one line.
fn general(reason: &str) -> &str {
    const REASONS: [(&str, &str); 8] = [
        ("runs opt more than once", "run opt more than once"),
        ("runs ", "run another program"),
        ("uses the substitution", "use a substitution of lit's"),
        ("uses a temporary file", "use a temporary file"),
        ("only the legacy manager has", "are for the legacy manager"),
        ("is a sequence of commands", "are sequences of commands"),
        ("writes its result", "write to a file"),
        ("expects ", "expect opt to fail"),
    ];
    REASONS.iter().find(|(start, _)| reason.starts_with(start)).map_or(reason, |(_, general)| general)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summary::Statements;

    fn summary(pass: &str, changed_runs: u64, certain: u64) -> PassSummary {
        PassSummary { runs: 10, changed_runs, certain, ..PassSummary::new(pass) }
    }

    #[test]
    fn passes_with_most_errors_come_first_and_idle_ones_are_counted() {
        let mut gvn = summary("gvn", 4, 3);
        gvn.statements = Some(Statements { total: 40, reached: 12 });
        let passes = vec![summary("adce", 0, 0), gvn, summary("licm", 7, 5), summary("dce", 1, 0)];
        let document = Document { passes, ..example::document() };
        insta::assert_snapshot!(by_pass(&document), @r"
        pass      runs   changed  certain  likely  notes  statements reached
        licm        10         7        5       0      0  unknown
        gvn         10         4        3       0      0  12 of 40
        dce         10         1        0       0      0  unknown
        1 more pass ran and changed nothing
        ");
    }

    #[test]
    fn confirmations_are_counted_by_confidence() {
        let verdicts = [Verdict::Confirmed, Verdict::StillShown, Verdict::StillShown];
        let error = |verdict| {
            let (llvm, input) = ("22.1.8".to_owned(), "a.ll".to_owned());
            let mut error = example::error("a");
            error.confirmation = Some(Confirmation { llvm, verdict, input, reason: None });
            error
        };
        let mut document = example::document();
        assert_eq!(confirmations(&document), "", "nobody was asked");
        document.errors = verdicts.map(error).to_vec();
        document.errors[2].confidence = Confidence::Likely;
        insta::assert_snapshot!(confirmations(&document), @r"
        LLVM 22.1.8 on certain: 1 confirmed, 1 still shown, 0 unknown
        LLVM 22.1.8 on likely: 0 confirmed, 1 still shown, 0 unknown
        ");
    }

    #[test]
    fn crashes_are_named_and_the_rest_is_counted() {
        let not_run = |input: &str, why, detail: &str| NotRun {
            input: input.to_owned(),
            why,
            detail: detail.to_owned(),
        };
        let all = vec![
            not_run("a.ll:1", Why::Crashed, "killed by SIGSEGV"),
            not_run("b.ll:1", Why::Failed, "exit status 1"),
            not_run("c.ll:1", Why::LeftOut, "runs llc, not opt"),
            not_run("d.ll:1", Why::LeftOut, "runs clang, not opt"),
            not_run("e.ll:9", Why::TimedOut, "timed out after 120 s"),
        ];
        let document = Document { not_run: all, ..example::document() };
        insta::assert_snapshot!(super::not_run(&document), @r"
        crashed: a.ll:1: killed by SIGSEGV
        timed out: e.ll:9: timed out after 120 s
        not run: 5 RUN lines: 1 crashed, 1 opt refused, 2 run another program, 1 timed out
        ");
        assert_eq!(super::not_run(&example::document()), "");
    }
}
