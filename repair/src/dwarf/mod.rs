//! The debug information of an object.
//!
//! - [`unit`]: entries with byte ranges; [`read`]: functions, their variables and what is said of them;
//! - [`scopes`]: the blocks of a function and where they are;
//! - [`lines`]: rows of the line table by pc;
//! - [`splice`], [`abbreviation`]: changing a little and copying the rest; [`write`]: new location lists for variables.

pub mod abbreviation;
pub mod lines;
pub mod read;
pub mod scopes;
pub mod splice;
pub mod unit;
pub mod write;
