//! Lines and variables of a pass.
//!
//! - [`dwarf`]: the code map of a recompiled file, from its debug information;
//! - [`statement`]: a statement of C++ and what it assigns its result to.
//!
//! Knows no process and no LLVM API: bytes of a library and text of a source file come in.

pub mod dwarf;
pub mod statement;
