//! Everything that can go wrong with a debugger or its program.

use std::io;
use std::path::PathBuf;

use metaloc_toolchain::process::Exit;

/// Why something could not be found out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The debugger is not there.
    #[error("{program} is missing: it comes with the package {package} (apt-get install {package})")]
    Missing {
        /// The program.
        program: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// The debugger ended though it was not told to.
    #[error("{debugger} died on {program}: {exit}{}{said}", if .said.is_empty() { "" } else { ": " })]
    Died {
        /// Which debugger.
        debugger: &'static str,
        /// The program under it.
        program: PathBuf,
        /// How it ended.
        exit: Exit,
        /// The last that it said.
        said: String,
    },
    /// An answer did not come in time; the debugger was ended.
    #[error("{debugger} on {program}: no answer to '{request}' within {seconds} s")]
    Timeout {
        /// Which debugger.
        debugger: &'static str,
        /// The program under it.
        program: PathBuf,
        /// What was asked.
        request: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The debugger says that it cannot do what it was asked for.
    #[error("{debugger} on {program}: {request}: {reason}")]
    Refused {
        /// Which debugger.
        debugger: &'static str,
        /// The program under it.
        program: PathBuf,
        /// What was asked.
        request: &'static str,
        /// Its words.
        reason: String,
    },
    /// What came back is no answer to what was asked.
    #[error("{debugger} on {program}: {request}: {reason}")]
    Protocol {
        /// Which debugger.
        debugger: &'static str,
        /// The program under it.
        program: PathBuf,
        /// What was asked.
        request: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The program ended before it got to where it was wanted.
    #[error("{program} ended early: {what}")]
    Ended {
        /// The program.
        program: PathBuf,
        /// Where it was wanted.
        what: String,
    },
    /// A program that this cannot read.
    #[error("{path}: {reason}")]
    Program {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What is not handled.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// A pipe, socket or temporary file.
    #[error("{what}: {reason}")]
    Io {
        /// What was done.
        what: &'static str,
        /// Why it failed.
        reason: io::Error,
    },
    /// Starting a process.
    #[error(transparent)]
    Toolchain(#[from] metaloc_toolchain::Error),
}

impl Error {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::Io { what, reason }
    }
}
