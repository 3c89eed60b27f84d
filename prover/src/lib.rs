//! The prover: unoptimised IR and optimised x86 as transition graphs over one expression type.
//!
//! - [`bits`]: what the operations on bit vectors mean, said once;
//! - [`expr`]: hash-consed expressions, their evaluation and their normal form;
//! - [`domain`]: what semantics may do with words, concrete and symbolic;
//! - [`x86`]: the table of instructions, judged by the processor in `cpu`;
//! - [`ir`]: unoptimised LLVM IR, read from its text; [`source`] makes a transition graph of a function;
//! - [`abi`]: the calling conventions;
//! - [`object_file`]: functions of an ELF object; [`lift`] makes a transition [`graph`] of one, with memory by
//!   [`region`].

pub mod abi;
pub mod affine;
pub mod bits;
pub mod calls;
pub mod domain;
pub mod expr;
pub mod float;
pub mod graph;
pub mod ir;
pub mod lift;
pub mod native;
pub mod object_file;
pub mod pair;
pub mod product;
pub mod prove;
pub mod region;
pub mod run;
pub mod smt;
pub mod source;
pub mod x86;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub mod cpu;
