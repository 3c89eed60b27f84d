//! Repair: what a proof says about the variables of a function, written into the debug information of its object.
//!
//! - [`object`]: the whole: an object is read, asked, and written with claims;
//! - [`derive`]: from a proof to claims, by [`schedule`] (which source point a pc belongs to; [`turns`]: by what it reads) and
//!   [`echelon`];
//! - [`claims`]: what is claimed, and how it is laid over what was there; [`widen`]: where variables have to be visible
//!   for that; [`stats`]: what is counted;
//! - [`expression`]: values as DWARF; [`dwarf`]: the debug information; [`elf`], [`relocation`]: the file around it.
//! - [`mutate`]: broken objects, to try all of it with.
//!
//! **Invariant**: prints nothing, starts nothing, writes no file: bytes in, bytes out.

pub mod claims;
pub mod derive;
pub mod dwarf;
pub mod echelon;
pub mod elf;
pub mod error;
pub mod expression;
pub mod mutate;
pub mod object;
pub mod relocation;
pub mod schedule;
pub mod stats;
pub mod turns;
pub mod widen;

pub use claims::{Claim, FunctionClaims, VariableClaims, Verdict};
pub use dwarf::read::FunctionCode;
pub use error::Error;
pub use object::{Object, Repaired, Said, SaidVariable};
pub use stats::Counts;
