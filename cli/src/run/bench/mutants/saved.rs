//! Rows of `metaloc bench mutants` in a file, tab-separated: all files take about an hour, so it can be stopped and gone
//! on with, and the tables of the repository are these files.
//!
//! The first line says what the rows are of; a file of something else is refused. Every row has the commit that was
//! checked out when it was made. The rows of a source file are taken as a whole, and only if they are of the mutants
//! that it has now. A source file whose rows are deleted is measured again.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use metaloc_source::mutants::Mutant;
use metaloc_toolchain::atomic;

use super::trial::{Outcome, Report};
use crate::run::kept_rows;

const COLUMNS: [&str; 11] = [
    "file",
    "line",
    "column",
    "change",
    "operation",
    "outcome",
    "input",
    "said",
    "elsewhere",
    "commit",
    "statement",
];

/// Between several reports in one field.
const BETWEEN: &str = "; ";

/// A file of rows.
pub(super) struct Saved {
    path: PathBuf,
    title: String,
    commit: String,
    rows: Vec<Row>,
}

/// One mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    file: String,
    /// Line, column, change, operation and statement: which mutant it is.
    mutant: [String; 5],
    outcome: Outcome,
    commit: String,
}

impl Saved {
    /// Reads the rows that there are; a file that is not there has none.
    pub(super) fn open(path: &Path, title: &str) -> Result<Saved> {
        let rows = kept_rows::read(path, title, &COLUMNS, row)?;
        let (path, title) = (path.to_owned(), title.to_owned());
        Ok(Saved { path, title, commit: kept_rows::checked_out()?, rows })
    }

    /// What came of the mutants of a source file, if all of them are there.
    pub(super) fn outcomes(&self, file: &str, mutants: &[Mutant]) -> Option<Vec<Outcome>> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.file == file).collect();
        let same = rows.len() == mutants.len()
            && rows.iter().zip(mutants).all(|(row, mutant)| row.mutant == key(mutant));
        same.then(|| rows.iter().map(|row| row.outcome.clone()).collect())
    }

    /// Adds the rows of a source file, or replaces them, and writes the file.
    pub(super) fn keep(&mut self, file: &str, mutants: &[Mutant], outcomes: &[Outcome]) -> Result<()> {
        self.rows.retain(|row| row.file != file);
        let rows = mutants.iter().zip(outcomes).map(|(mutant, outcome)| Row {
            file: file.to_owned(),
            mutant: key(mutant),
            outcome: outcome.clone(),
            commit: self.commit.clone(),
        });
        self.rows.extend(rows);
        // Stable: mutants stay in their order.
        self.rows.sort_by(|left, right| left.file.cmp(&right.file));
        Ok(atomic::write(&self.path, written(&self.title, &self.rows).as_bytes())?)
    }
}

fn key(mutant: &Mutant) -> [String; 5] {
    [
        mutant.line.to_string(),
        mutant.column.to_string(),
        mutant.change.name().to_owned(),
        mutant.operation.name().to_owned(),
        mutant.text.replace('\t', " "),
    ]
}

fn written(title: &str, rows: &[Row]) -> String {
    kept_rows::written(title, &COLUMNS, rows.iter().map(fields))
}

fn fields(row: &Row) -> Vec<String> {
    let [line, column, change, operation, statement] = row.mutant.clone();
    let (input, said, elsewhere) = match &row.outcome {
        Outcome::NotRun { reason } => (None, Some(reason.clone()), None),
        Outcome::Unreached => (None, None, None),
        Outcome::Equivalent { lines } => (None, Some(lines.to_string()), None),
        Outcome::Found(report) | Outcome::Noted(report) | Outcome::Missed(report) => {
            let elsewhere = (!report.elsewhere.is_empty()).then(|| report.elsewhere.join(BETWEEN));
            (Some(report.input.clone()), Some(report.said.clone()), elsewhere)
        }
    };
    let text = |field: Option<String>| {
        field.map_or("-".to_owned(), |text| text.replace(['\t', '\n'], " ").trim().to_owned())
    };
    vec![
        row.file.clone(),
        line,
        column,
        change,
        operation,
        row.outcome.word().to_owned(),
        text(input),
        text(said),
        text(elsewhere),
        row.commit.clone(),
        statement,
    ]
}

fn row(line: &str) -> Result<Row> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [file, line, column, change, operation, word, input, said, elsewhere, commit, statement] = fields[..]
    else {
        bail!("{} fields, not {}", fields.len(), COLUMNS.len())
    };
    let report = || {
        let elsewhere = if elsewhere == "-" { "" } else { elsewhere };
        let each = elsewhere.split(BETWEEN).filter(|text| !text.is_empty());
        Report {
            input: input.to_owned(),
            said: said.to_owned(),
            elsewhere: each.map(str::to_owned).collect(),
        }
    };
    let outcome = match word {
        "not run" => Outcome::NotRun { reason: said.to_owned() },
        "unreached" => Outcome::Unreached,
        "equivalent" => Outcome::Equivalent { lines: said.parse()? },
        "found" => Outcome::Found(report()),
        "noted" => Outcome::Noted(report()),
        "missed" => Outcome::Missed(report()),
        other => bail!("no outcome: {other}"),
    };
    let mutant = [line, column, change, operation, statement].map(str::to_owned);
    Ok(Row { file: file.to_owned(), mutant, outcome, commit: commit.to_owned() })
}

#[cfg(test)]
mod tests {
    use metaloc_report::Operation;
    use metaloc_source::mutants::Change;

    use super::*;

    fn read_text(text: &str, title: &str) -> Result<Vec<Row>> {
        kept_rows::parse(text, title, &COLUMNS, row)
    }

    fn mutant(number: u32) -> Mutant {
        Mutant {
            number,
            line: 7,
            column: number,
            function: None,
            text: "I->dropLocation();".to_owned(),
            operation: Operation::Drop,
            change: Change::Delete,
        }
    }

    fn report(elsewhere: &[&str]) -> Report {
        let elsewhere = elsewhere.iter().map(|&text| text.to_owned()).collect();
        Report { input: "A/b.ll:2".to_owned(), said: "a rule".to_owned(), elsewhere }
    }

    fn outcomes() -> Vec<Outcome> {
        vec![
            Outcome::NotRun { reason: "two lines".to_owned() },
            Outcome::Unreached,
            Outcome::Equivalent { lines: 4 },
            Outcome::Found(report(&[])),
            Outcome::Noted(report(&["one", "two"])),
            Outcome::Missed(report(&["one"])),
        ]
    }

    #[test]
    fn what_is_kept_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        let (mutants, outcomes): (Vec<Mutant>, _) = ((1..=6).map(mutant).collect(), outcomes());
        let open = || {
            let rows =
                std::fs::read_to_string(&path).map_or(Vec::new(), |text| read_text(&text, "x").unwrap());
            Saved { path: path.clone(), title: "x".to_owned(), commit: "c".to_owned(), rows }
        };
        let mut saved = open();
        assert_eq!(saved.outcomes("B.cpp", &mutants), None);
        saved.keep("B.cpp", &mutants, &outcomes).unwrap();
        saved.keep("A.cpp", &mutants[..1], &outcomes[..1]).unwrap();
        let saved = open();
        assert_eq!(saved.outcomes("B.cpp", &mutants), Some(outcomes));
        assert_eq!(saved.outcomes("C.cpp", &mutants), None);
        // The file has another statement by now.
        assert_eq!(saved.outcomes("B.cpp", &mutants[1..]), None);
        let other = Mutant { line: 8, ..mutant(1) };
        assert_eq!(saved.outcomes("A.cpp", &[other]), None);
    }

    #[test]
    fn a_table_of_something_else_is_refused() {
        let text = written("LLVM 19", &[]);
        assert!(read_text(&text, "LLVM 16").unwrap_err().to_string().contains("has rows of \"LLVM 19\""));
        assert!(read_text("file\tline\n", "LLVM 19").is_err());
        assert!(read_text("# LLVM 19\nfile\n", "LLVM 19").unwrap_err().to_string().contains("columns"));
        assert!(read_text(&(text + "A.cpp\t7\n"), "LLVM 19").unwrap_err().to_string().contains("not a row"));
    }
}
