//! Why an object is not repaired: it is not what it should be, or it has something that is not rewritten here.

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not an ELF file, or a broken one.
    #[error("not a readable object: {0}")]
    Malformed(String),
    /// A sound file that has something which is not rewritten here.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// The debug information is broken.
    #[error("broken debug information: {0}")]
    Dwarf(String),
    /// What was written is not read as it was meant.
    #[error(
        "the output would not be read as it is written ({0}): broken debug information, or a defect of metaloc"
    )]
    Unstable(String),
}

impl From<gimli::Error> for Error {
    fn from(error: gimli::Error) -> Error {
        Error::Dwarf(error.to_string())
    }
}

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn malformed<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Malformed(what.into()))
}

pub(crate) fn unsupported<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported(what.into()))
}
