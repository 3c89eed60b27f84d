//! Lines and variables of a pass.
//!
//! - [`dwarf`]: the code map of a recompiled file, from its debug information;
//! - [`statement`]: a statement of C++ and what it assigns its result to;
//! - [`makers`]: the statements that do something to instructions;
//! - [`mutants`]: the statements that set a location, and wrong ones in their place;
//! - [`annotate`]: all together, for the errors of a report.
//!
//! Knows no process and no LLVM API: bytes of a library and text of a source file come in.

pub mod annotate;
pub mod dwarf;
pub mod makers;
pub mod mutants;
pub mod statement;
