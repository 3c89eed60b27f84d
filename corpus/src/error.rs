//! Everything that can go wrong with an input. A message names the file and the reason.

use std::io;
use std::path::PathBuf;

/// Why an input could not be read, adapted or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The table of known errors is not what it should be.
    #[error("{path} is not a table of known errors: {source}")]
    Truth {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// An expression in a record or in the header of an input.
    #[error("{place}: {pattern} is not a regular expression: {source}")]
    Pattern {
        /// Which record or file.
        place: String,
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        source: regex_lite::Error,
    },
    /// The header of an input.
    #[error("{path}: {source}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: crate::header::HeaderError,
    },
    /// A command line in a record.
    #[error("{place}: cannot read the arguments {args}: {problem}")]
    Arguments {
        /// Which record.
        place: String,
        /// The arguments.
        args: String,
        /// What is wrong with them.
        problem: String,
    },
    /// An input cannot be made for a version of LLVM.
    #[error("{path} cannot be used with LLVM {major}: {reason}")]
    Unadaptable {
        /// The input.
        path: PathBuf,
        /// Version of LLVM.
        major: u32,
        /// Why not.
        reason: String,
    },
    /// A tool could not be run, or failed.
    #[error(transparent)]
    Tool(#[from] metaloc_toolchain::Error),
}

impl Error {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Read { path, source }
    }
}
