//! What came of swapping each file, kept in a table: all files take hours, so it can be stopped and gone on with, and the
//! list of files that do not swap is this table.
//!
//! A file whose row is deleted is tried again.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use metaloc_toolchain::atomic;

use crate::run::kept_rows;

const COLUMNS: [&str; 6] = ["file", "outcome", "identical", "compared", "commit", "detail"];

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// Folder and name below `lib/Transforms`.
    pub file: String,
    /// True if it was swapped in.
    pub swapped: bool,
    /// RUN lines that gave the same.
    pub identical: usize,
    /// RUN lines that were compared.
    pub compared: usize,
    /// Why it was refused, or the first difference.
    pub detail: String,
}

impl Row {
    /// Something is not the same.
    pub fn differs(&self) -> bool {
        self.identical < self.compared
    }
}

/// The table.
pub(super) struct Saved {
    path: PathBuf,
    title: String,
    commit: String,
    /// Each with the commit that it is of.
    rows: Vec<(Row, String)>,
}

impl Saved {
    /// Reads the rows that there are; a file that is not there has none.
    pub(super) fn open(path: &Path, title: &str) -> Result<Saved> {
        let rows = kept_rows::read(path, title, &COLUMNS, row)?;
        Ok(Saved { path: path.to_owned(), title: title.to_owned(), commit: kept_rows::checked_out()?, rows })
    }

    /// The row of a file.
    pub(super) fn row(&self, file: &str) -> Option<Row> {
        self.rows.iter().find(|(row, _)| row.file == file).map(|(row, _)| row.clone())
    }

    /// Adds a row and writes the table.
    pub(super) fn keep(&mut self, row: Row) -> Result<()> {
        self.rows.push((row, self.commit.clone()));
        self.rows.sort_by(|(left, _), (right, _)| left.file.cmp(&right.file));
        let rows = self.rows.iter().map(|(row, commit)| fields(row, commit));
        Ok(atomic::write(&self.path, kept_rows::written(&self.title, &COLUMNS, rows).as_bytes())?)
    }
}

fn fields(row: &Row, commit: &str) -> Vec<String> {
    let outcome = if row.swapped { "swapped" } else { "refused" };
    let detail = row.detail.replace(['\t', '\n'], " ").trim().to_owned();
    vec![
        row.file.clone(),
        outcome.to_owned(),
        row.identical.to_string(),
        row.compared.to_string(),
        commit.to_owned(),
        if detail.is_empty() { "-".to_owned() } else { detail },
    ]
}

fn row(line: &str) -> Result<(Row, String)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [file, outcome, identical, compared, commit, detail] = fields[..] else {
        bail!("{} fields, not {}", fields.len(), COLUMNS.len())
    };
    let swapped = match outcome {
        "swapped" => true,
        "refused" => false,
        other => bail!("no outcome: {other}"),
    };
    let row = Row {
        file: file.to_owned(),
        swapped,
        identical: identical.parse()?,
        compared: compared.parse()?,
        detail: if detail == "-" { String::new() } else { detail.to_owned() },
    };
    Ok((row, commit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swapped(file: &str, identical: usize, detail: &str) -> Row {
        Row { file: file.into(), swapped: true, identical, compared: 3, detail: detail.into() }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.tsv");
        let rows = [
            swapped("Scalar/B.cpp", 3, ""),
            swapped("Scalar/A.cpp", 2, "x.ll:1:\tanother output"),
            Row { swapped: false, identical: 0, compared: 0, ..swapped("Utils/C.cpp", 0, "no header\n") },
        ];
        let mut saved = Saved::open(&path, "t").unwrap();
        rows.iter().for_each(|row| saved.keep(row.clone()).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let again = Saved::open(&path, "t").unwrap();
        let files: Vec<&str> = again.rows.iter().map(|(row, _)| row.file.as_str()).collect();
        assert_eq!(files, ["Scalar/A.cpp", "Scalar/B.cpp", "Utils/C.cpp"]);
        assert_eq!(again.row("Scalar/B.cpp"), Some(rows[0].clone()));
        assert_eq!(again.row("Scalar/A.cpp").unwrap().detail, "x.ll:1: another output");
        assert_eq!(again.row("Utils/C.cpp").unwrap().detail, "no header");
        assert!(rows[1].differs() && !rows[0].differs() && !rows[2].differs());
        assert_eq!(again.row("Utils/D.cpp"), None);
        assert!(Saved::open(&path, "another").is_err());
        std::fs::write(&path, text.replace("refused", "lost")).unwrap();
        assert!(Saved::open(&path, "t").is_err());
    }
}
