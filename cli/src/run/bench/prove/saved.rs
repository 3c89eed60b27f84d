//! Rows of `metaloc bench prove` in a file, tab-separated: a sweep takes hours, so it can be stopped and gone on
//! with, and the tables of the repository are these files.
//!
//! The first line says what the rows are of; a file of something else is refused. Every row has the commit that was
//! checked out when it was made. A row that is deleted is made again.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use metaloc_toolchain::atomic;

use super::table::{Row, Shape};
use crate::run::kept_rows;
use crate::run::prove::check::Counts;
use crate::run::prove::{FunctionResult, Queries, VerdictName};

const COLUMNS: [&str; 21] = [
    "kernel",
    "verdict",
    "class",
    "seconds",
    "mib",
    "obligations",
    "rewriting",
    "solver",
    "unroll",
    "nodes",
    "edges",
    "source_paths",
    "machine_paths",
    "candidates",
    "wrong",
    "counterexamples",
    "confirmed",
    "open",
    "refuted",
    "commit",
    "reason",
];

/// A file of rows.
pub(super) struct Saved {
    path: PathBuf,
    title: String,
    commit: String,
    rows: Mutex<Vec<Row>>,
}

impl Saved {
    /// Reads the rows that there are; a file that is not there has none.
    pub(super) fn open(path: &Path, title: &str) -> Result<Saved> {
        let rows = kept_rows::read(path, title, &COLUMNS, row)?;
        let (path, title) = (path.to_owned(), title.to_owned());
        Ok(Saved { path, title, commit: kept_rows::checked_out()?, rows: Mutex::new(rows) })
    }

    /// The row of a kernel.
    pub(super) fn row(&self, kernel: &str) -> Option<Row> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().find(|row| row.kernel == kernel).cloned()
    }

    /// Adds a row, or replaces it, and writes the file.
    pub(super) fn keep(&self, row: &Row) -> Result<()> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut row = row.clone();
        row.commit.get_or_insert_with(|| self.commit.clone());
        rows.retain(|known| known.kernel != row.kernel);
        rows.push(row);
        rows.sort_by(|left, right| left.kernel.cmp(&right.kernel));
        Ok(atomic::write(&self.path, written(&self.title, &rows).as_bytes())?)
    }
}

fn written(title: &str, rows: &[Row]) -> String {
    kept_rows::written(title, &COLUMNS, rows.iter().map(fields))
}

fn fields(row: &Row) -> Vec<String> {
    fn or_none(number: Option<impl ToString>) -> String {
        number.map_or("-".to_owned(), |number| number.to_string())
    }
    let (result, product, counts) = (&row.result, row.product.as_ref(), row.confirmed);
    vec![
        row.kernel.clone(),
        result.verdict.text().to_owned(),
        or_none(result.class.as_deref()),
        format!("{:.2}", result.seconds),
        row.memory_mib.to_string(),
        result.obligations.to_string(),
        result.queries.normaliser.to_string(),
        result.queries.solver.to_string(),
        or_none(result.unroll),
        or_none(product.map(|product| product.nodes)),
        or_none(product.map(|product| product.edges)),
        or_none(product.map(|product| product.source_paths)),
        or_none(product.map(|product| product.machine_paths)),
        result.candidates.to_string(),
        result.retries.to_string(),
        result.counterexamples.to_string(),
        or_none(counts.map(|counts| counts.confirmed)),
        or_none(counts.map(|counts| counts.open)),
        or_none(counts.map(|counts| counts.refuted)),
        or_none(row.commit.as_deref()),
        or_none(result.reason.as_deref().map(|reason| reason.replace(['\t', '\n'], " "))),
    ]
}

fn row(line: &str) -> Result<Row> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [
        kernel,
        verdict,
        class,
        seconds,
        memory_mib,
        obligations,
        normaliser,
        solver,
        unroll,
        nodes,
        edges,
        source_paths,
        machine_paths,
        candidates,
        retries,
        counterexamples,
        confirmed,
        open,
        refuted,
        commit,
        reason,
    ] = fields[..]
    else {
        bail!("{} fields, not {}", fields.len(), COLUMNS.len())
    };
    let some = |field: &str| (field != "-").then(|| field.to_owned());
    let product = match nodes {
        "-" => None,
        nodes => Some(Shape {
            nodes: nodes.parse()?,
            edges: edges.parse()?,
            source_paths: source_paths.parse()?,
            machine_paths: machine_paths.parse()?,
        }),
    };
    let confirmed = match confirmed {
        "-" => None,
        confirmed => {
            Some(Counts { confirmed: confirmed.parse()?, open: open.parse()?, refuted: refuted.parse()? })
        }
    };
    let verdict = [VerdictName::Proved, VerdictName::Refuted, VerdictName::Unknown, VerdictName::Unsupported]
        .into_iter()
        .find(|name| name.text() == verdict)
        .with_context(|| format!("no verdict: {verdict}"))?;
    let result = FunctionResult {
        name: kernel.split(',').next().unwrap_or_default().to_owned(),
        verdict,
        class: some(class),
        reason: some(reason),
        seconds: seconds.parse()?,
        unroll: some(unroll).map(|unroll| unroll.parse()).transpose()?,
        obligations: obligations.parse()?,
        queries: Queries { normaliser: normaliser.parse()?, solver: solver.parse()? },
        counterexamples: counterexamples.parse()?,
        candidates: candidates.parse()?,
        retries: retries.parse()?,
    };
    Ok(Row {
        kernel: kernel.to_owned(),
        result,
        product,
        memory_mib: memory_mib.parse()?,
        confirmed,
        commit: some(commit),
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::row as example;
    use super::*;

    fn read_text(text: &str, title: &str) -> Result<Vec<Row>> {
        kept_rows::parse(text, title, &COLUMNS, row)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut proved = example("one", VerdictName::Proved, None, 2.25);
        proved.product = Some(Shape { nodes: 3, edges: 4, source_paths: 5, machine_paths: 6 });
        proved.confirmed = Some(Counts { confirmed: 7, open: 1, refuted: 0 });
        let mut failed = example("step,UNROLL_BY=2", VerdictName::Unknown, Some("time"), 60.0);
        failed.result.reason = Some("two\nlines and a\ttab".to_owned());
        let text = written("x", &[proved, failed]);
        let rows = read_text(&text, "x").unwrap();
        assert_eq!(written("x", &rows), text);
        assert_eq!(rows[1].result.reason.as_deref(), Some("two lines and a tab"));
        assert_eq!(rows[0].confirmed, Some(Counts { confirmed: 7, open: 1, refuted: 0 }));
    }

    #[test]
    fn a_table_of_something_else_is_refused() {
        let text = written("gcc", &[]);
        assert!(read_text(&text, "clang").unwrap_err().to_string().contains("has rows of \"gcc\""));
        assert!(read_text("kernel\tverdict\n", "gcc").is_err());
        assert!(read_text("# gcc\nkernel\n", "gcc").unwrap_err().to_string().contains("columns"));
        let cut = text + "s000\tproved\n";
        assert!(read_text(&cut, "gcc").unwrap_err().to_string().contains("not a row"));
    }
}
