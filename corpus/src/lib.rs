//! What the tool is run on, and what is known about it.
//!
//! - [`header`], [`regress`]: the inputs of our own under `regress/passes`, and what they say about themselves;
//! - [`truth`]: the known errors of `regress/llvm-truth.json`, and whether a report finds them;
//! - [`llvm_tests`], [`run_line`], [`shell`], [`pass_names`], [`own_tests`]: LLVM's own regression
//!   tests, how to run them, and which of them are a pass's;
//! - [`adapt`]: IR text of a newer LLVM made readable for an older one;
//! - [`programs`]: real programs as bitcode;
//! - [`generate`]: modules of any size;
//! - [`kernels`]: the loops that are proved, and what they are compiled with; [`mutants`]: the same, with one
//!   thing changed; [`kernel_driver`]: programs that run them;
//! - [`random`]: numbers that a seed brings back;
//! - [`static_opt`]: an `opt` without `libLLVM`;
//! - [`stock`]: running stock tools that must succeed;
//! - [`ir_text`]: reading printed IR: functions, blocks, instructions and their locations; [`discriminators`]: whether
//!   two texts differ in more than these.
//!
//! Nothing here knows the plugin or judges a location: stock tools make the inputs, the caller runs the
//! observed process.

pub mod adapt;
pub mod discriminators;
mod error;
pub mod generate;
pub mod header;
pub mod ir_text;
pub mod kernel_driver;
pub mod kernels;
pub mod llvm_tests;
pub mod mutants;
pub mod own_tests;
pub mod pass_names;
pub mod programs;
pub mod random;
pub mod regress;
pub mod run_line;
pub mod shell;
pub mod static_opt;
pub mod stock;
pub mod truth;

pub use error::Error;

/// Result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;
