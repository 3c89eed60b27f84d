//! Tables that a command keeps row by row in a file, tab-separated, so that it can be stopped and gone on with.
//!
//! The first line says what the rows are of, the second names the columns; a file of something else is refused. Every
//! row has the commit that was checked out when it was made.

use std::path::Path;

use anyhow::{Context, Result, bail};
use metaloc_toolchain::plugin;
use metaloc_toolchain::process::Task;

/// Reads the rows that there are; a file that is not there has none.
pub fn read<R>(
    path: &Path,
    title: &str,
    columns: &[&str],
    row: impl Fn(&str) -> Result<R>,
) -> Result<Vec<R>> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, title, columns, row).with_context(|| path.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The same from what such a file says.
pub fn parse<R>(
    text: &str,
    title: &str,
    columns: &[&str],
    row: impl Fn(&str) -> Result<R>,
) -> Result<Vec<R>> {
    let mut lines = text.lines();
    match lines.next().and_then(|line| line.strip_prefix("# ")) {
        Some(found) if found == title => {}
        Some(found) => bail!("has rows of \"{found}\", not of \"{title}\""),
        None => bail!("is no table of metaloc"),
    }
    if lines.next() != Some(columns.join("\t").as_str()) {
        bail!("has other columns");
    }
    lines.map(|line| row(line).with_context(|| format!("not a row: {line}"))).collect()
}

/// What the file of some rows says.
pub fn written(title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = [format!("# {title}"), columns.join("\t")];
    head.into_iter().chain(rows.map(|fields| fields.join("\t"))).map(|line| line + "\n").collect()
}

/// The commit that is checked out; marked if sources differ from it.
pub fn checked_out() -> Result<String> {
    let git = |args: &[&str]| -> Result<String> {
        let outcome = Task::new("git").args(args).cwd(plugin::root()?).run()?;
        if !outcome.exit.success() {
            bail!("git {}: {}", args.join(" "), outcome.stderr_text().trim());
        }
        Ok(outcome.stdout_text().trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=10", "HEAD"])?;
    let sources = ["*.rs", "*.c", "*.cpp", "*.h", "Cargo.*"];
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(&[&status[..], &sources[..]].concat())?;
    Ok(if changed.is_empty() { head } else { format!("{head}+changes") })
}
