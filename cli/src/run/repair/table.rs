//! What `metaloc repair --stats` prints: `metaloc.repair/1`, a table, or comma-separated values.

use metaloc_repair::Counts;
use serde::{Deserialize, Serialize};

use super::super::prove::VerdictName;
use super::check;

#[derive(Debug, Serialize, Deserialize)]
pub struct Summary {
    pub schema: String,
    pub object: String,
    pub source: String,
    pub variant: String,
    pub changed: bool,
    pub debug_bytes_before: u64,
    pub debug_bytes_after: u64,
    pub functions: Vec<FunctionRow>,
    pub total: Row,
    /// Of the variants that spread less; none without `--ablation`.
    #[serde(default)]
    pub ablation: Vec<VariantRow>,
    /// What debuggers show; `null` without `--check`.
    pub check: Option<check::Outcome>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FunctionRow {
    pub name: String,
    pub verdict: VerdictName,
    /// Why it is not repaired; `null` if it is.
    pub reason: Option<String>,
    pub seconds: f64,
    #[serde(flatten)]
    pub row: Row,
}

/// What another variant would have counted in total.
#[derive(Debug, Serialize, Deserialize)]
pub struct VariantRow {
    pub variant: String,
    pub total: Row,
}

/// The columns, by the paper's names and ours.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Row {
    #[serde(rename = "T")]
    pub t: usize,
    #[serde(rename = "U")]
    pub u: usize,
    #[serde(rename = "V")]
    pub v: usize,
    #[serde(rename = "O")]
    pub o: usize,
    #[serde(rename = "M")]
    pub m: usize,
    #[serde(rename = "I")]
    pub i: usize,
    pub corrected: usize,
    pub grouped: usize,
    pub confirmed: usize,
    pub removed: usize,
    pub kept: usize,
    pub unprintable: usize,
}

impl FunctionRow {
    /// Whether it has values that are proved, new ones or old ones.
    pub fn is_repaired(&self) -> bool {
        self.row.u + self.row.corrected + self.row.confirmed > 0
    }
}

impl From<Counts> for Row {
    fn from(counts: Counts) -> Row {
        Row {
            t: counts.pcs,
            u: counts.updated_pcs,
            v: counts.improved_variables,
            o: counts.available,
            m: counts.missing,
            i: counts.incorrectly_constant,
            corrected: counts.corrected,
            grouped: counts.grouped,
            confirmed: counts.confirmed,
            removed: counts.removed,
            kept: counts.kept,
            unprintable: counts.unprintable,
        }
    }
}

impl Row {
    const NAMES: [&'static str; 12] =
        ["T", "U", "V", "O", "M", "I", "corrected", "grouped", "confirmed", "removed", "kept", "unprintable"];

    fn numbers(&self) -> [usize; 12] {
        [
            self.t,
            self.u,
            self.v,
            self.o,
            self.m,
            self.i,
            self.corrected,
            self.grouped,
            self.confirmed,
            self.removed,
            self.kept,
            self.unprintable,
        ]
    }
}

/// What the columns count, as in the debug-headers paper and beyond it.
const LEGEND: &str = "
T instructions, U of them with a new value, V variables improved; of pairs of variable and instruction: O with a value
before, M none before and one now, I a constant before and an expression now; corrected: the old value was not true, or
not known to be; confirmed: it was right; removed: it was wrong and no other is known; kept: nothing is known of it;
grouped: the value is that of the first of several iterations at once; unprintable: known, but not to debuggers
";

/// The table for people.
pub fn text(summary: &Summary) -> String {
    let mut out = format!("{LEGEND}\n");
    out += &format!("{:<16} {:<11}", "function", "verdict");
    for name in Row::NAMES {
        out.push_str(&format!(" {name:>width$}", width = name.len().max(4)));
    }
    out.push('\n');
    let mut line = |name: &str, verdict: &str, row: &Row| {
        out.push_str(&format!("{name:<16} {verdict:<11}"));
        for (name, number) in Row::NAMES.iter().zip(row.numbers()) {
            out.push_str(&format!(" {number:>width$}", width = name.len().max(4)));
        }
        out.push('\n');
    };
    for function in &summary.functions {
        line(&function.name, function.verdict.text(), &function.row);
    }
    line("total", "", &summary.total);
    for VariantRow { variant, total } in &summary.ablation {
        line("total", variant, total);
    }
    out
}

/// One line per function and one for the total, with a header.
pub fn csv(summary: &Summary) -> String {
    let mut out = format!("function,verdict,{}\n", Row::NAMES.join(","));
    let mut line = |name: &str, verdict: &str, row: &Row| {
        let numbers: Vec<String> = row.numbers().iter().map(usize::to_string).collect();
        out.push_str(&format!("{name},{verdict},{}\n", numbers.join(",")));
    };
    for function in &summary.functions {
        line(&function.name, function.verdict.text(), &function.row);
    }
    line("total", "", &summary.total);
    for VariantRow { variant, total } in &summary.ablation {
        line("total", variant, total);
    }
    out
}
