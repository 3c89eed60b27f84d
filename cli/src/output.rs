//! Where results and complaints go.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use metaloc_toolchain::atomic::PendingFile;

/// The place for a result: standard output, or a file that appears when it is complete.
#[derive(Debug)]
pub enum Output {
    Stdout,
    File(PendingFile),
}

impl Output {
    /// Opened before the work begins: a folder that cannot be written to is said first.
    pub fn open(path: Option<&Path>) -> Result<Output> {
        Ok(match path {
            None => Output::Stdout,
            Some(path) => Output::File(PendingFile::new(path)?),
        })
    }

    pub fn finish(self, text: &str) -> Result<()> {
        match self {
            Output::Stdout => print(text),
            Output::File(mut file) => {
                file.write(text.as_bytes())?;
                Ok(file.commit()?)
            }
        }
    }
}

/// Prints on standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Prints a complaint on standard error. There is nobody left to tell if that fails.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "metaloc: {text}");
}

/// Prints a report or other long text on standard error.
pub fn print_on_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// True if the reader of our output has gone, as `head` does: no reason to complain.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
