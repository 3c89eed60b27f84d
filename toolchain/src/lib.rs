//! Finding, installing and running tools.
