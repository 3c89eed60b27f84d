//! The known errors on several versions of LLVM, side by side: a row per error, a column per version.
//!
//! `found` and `missed` are errors that show; `right` is a destination with the right location about which nothing is
//! said; with the source of LLVM a line is given beside `found`, with a `?` if it is not the one of the table.

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
        let outcome =
            Outcome::Ran { location: "-".into(), visible, found, reading: None, matches: Vec::new() };
        let cases = vec![Case { input: "x.ll".into(), outcome }];
        let row =
            Row { id: "t-1".into(), pass: "licm".into(), operation: "drop".into(), site: "s".into(), cases };
        BenchResult::new(llvm, vec![row])
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
}
