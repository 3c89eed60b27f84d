//! Programs under real debuggers, and what their debug information is worth.
//!
//! - [`debugger`]: gdb and lldb, how they are found and started;
//! - [`session`]: one program under one of them; [`protocol`] is what goes over the wire;
//! - [`value`]: what a debugger says of a variable;
//! - [`program`]: the same program as a file: functions, globals, line table; [`code`] its loops;
//! - [`truth`]: the walk of an unoptimised build, where every variable has its value;
//! - [`check`]: what a debugger prints of an optimised program, compared with that;
//! - [`survey`]: which share of the loop counters a debugger shows rightly; [`source_loops`] finds them.
//!
//! Addresses are those of the file everywhere; where the program is loaded is the session's business.

pub mod check;
pub mod code;
pub mod debugger;
pub mod error;
pub mod program;
pub mod protocol;
pub mod session;
pub mod source_loops;
pub mod survey;
pub mod truth;
pub mod value;

pub use debugger::{Debugger, Gdb, Lldb};
pub use error::Error;
pub use session::{Limits, Session};
pub use value::{Known, Value, Variable};

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;
