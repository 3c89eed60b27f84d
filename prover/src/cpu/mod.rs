//! The CPU as judge of the table: every row runs on the real processor and in the concrete domain, from the
//! same state, and all results must agree: registers, flags that are defined, memory, where control goes,
//! and faults.
//!
//! - [`child`]: runs instructions in a forked process; the only `unsafe` code of this crate;
//! - [`sample`]: instructions of a form and states to run them in;
//! - [`judge`]: the comparison;
//! - [`broken`]: rows broken on purpose, to see that the comparison notices;
//! - [`agreement`]: the symbolic domain says the same as the concrete one.
//!
//! 32-bit code runs in the same process, through the code segment that Linux has for it; a kernel without it is
//! found out by [`runs_in`].
//!
//! Only on x86-64 Linux; elsewhere the module does not exist.

mod agreement;
mod broken;
mod child;
mod judge;
mod random;
mod sample;

pub use agreement::domains_agree;
pub use broken::{BrokenRow, break_row};
pub use child::{ChildError, runs_in};
pub use judge::{Mismatch, RowReport, judge_row};
