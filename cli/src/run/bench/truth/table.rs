//! The known errors on several versions of LLVM, side by side: a row per error, a column per version.
//!
//! `found` and `missed` are errors that show; `right` is a destination with the right location about which nothing is
//! said; `corrected` one that is reported with another operation than the record's, with the reason below the table; with
//! the source of LLVM a line is given beside `found`, with a `?` if it is not the one of the table.

use std::fmt::Write;

use super::{BenchResult, Row};

/// All results have the same records in the same order.
pub(super) fn text(results: &[BenchResult]) -> String {
    let mut text = String::new();
    let heads: String = results.iter().map(|result| format!(" {:<14}", result.llvm)).collect();
    let _ = writeln!(text, "{:22}{:9} {:22}{}", "error", "asks for", "pass", heads.trim_end());
    let Some(first) = results.first() else { return text };
    for (at, row) in first.records.iter().enumerate() {
        let cells = results.iter().filter_map(|result| result.records.get(at));
        let cells: String = cells.map(|row| format!(" {:<14}", cell(row))).collect();
        let _ = writeln!(text, "{:22}{:9} {:22}{}", row.id, row.operation, row.pass, cells.trim_end());
    }
    for (at, row) in first.records.iter().enumerate() {
        let rows = || results.iter().filter_map(|result| result.records.get(at));
        if let Some(why) = rows().find_map(Row::why_corrected) {
            let _ = writeln!(text, "{}: {why}", row.id);
        }
    }
    for result in results {
        text += &result.sum();
    }
    text
}

fn cell(row: &Row) -> String {
    match row.reading().map(|reading| (reading.line, &reading.line_wrong)) {
        Some((Some(line), None)) => format!("{} {line}", row.verdict()),
        Some((Some(line), Some(_))) => format!("{} {line}?", row.verdict()),
        _ => row.verdict().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Outcome};
    use super::*;

    fn result(llvm: &str, visible: bool, found: bool) -> BenchResult {
        of_outcome(llvm, (visible, found, false))
    }

    fn of_outcome(llvm: &str, (visible, found, corrected): (bool, bool, bool)) -> BenchResult {
        let (location, matches) = ("-".into(), Vec::new());
        let outcome = Outcome::Ran { location, visible, found, corrected, reading: None, matches };
        let cases = vec![Case { input: "x.ll".into(), outcome }];
        let (id, pass, operation, site) = ("t-1".into(), "licm".into(), "drop".into(), "s".into());
        let since = Some("reported, as merge: because".to_owned());
        BenchResult::new(llvm, vec![Row { id, pass, operation, corrected: since, site, cases }])
    }

    #[test]
    fn a_row_has_the_verdict_of_each_version() {
        let text = text(&[result("16.0.6", true, true), result("19.1.7", false, false)]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][4..], ["16.0.6", "19.1.7"]);
        assert_eq!(lines[1], ["t-1", "drop", "licm", "found", "right"]);
        assert_eq!(lines[2][..3], ["LLVM", "16.0.6:", "1"]);
        assert_eq!(lines[3][..3], ["LLVM", "19.1.7:", "0"]);
    }
    #[test]
    fn what_was_corrected_since_is_said_with_its_reason_and_counted_apart() {
        let text =
            text(&[of_outcome("14.0.6", (true, false, true)), of_outcome("19.1.7", (false, false, false))]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].split_whitespace().skip(3).collect::<Vec<_>>(), ["corrected", "right"]);
        assert_eq!(lines[2], "t-1: reported, as merge: because");
        assert!(
            lines[3].starts_with("LLVM 14.0.6: 0 found of 1 visible, 1 as corrected since, 0 "),
            "{text}"
        );
        assert!(lines[4].starts_with("LLVM 19.1.7: 0 found of 0 visible, 0 "), "{text}");
    }
}
