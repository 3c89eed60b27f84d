//! The source side: a function of unoptimised IR as a transition graph.
//!
//! - [`origin`]: which object each pointer points into, and so which region an access goes to;
//! - [`shape`]: what a function must look like; [`segment`]: the straight pieces that become edges;
//! - [`known`]: what a compiler may compute itself; [`step`]: what an instruction means; [`lower`]: segments as edges;
//! - [`bindings`]: what the variables of the source are at each point.
//!
//! Names of the graph's variables: an IR value is `%name` as LLVM prints it (parameters too), memory is
//! `source.memory.global.X`, `source.memory.stack`, `source.memory.rest`, the returned value is
//! [`RETURN_VALUE`], the address of a global is `address.X` as on the machine's side. Locals in memory lie at
//! constant distances from [`FRAME`]. A value that is used only where it is computed is no variable.

mod bindings;
mod float;
mod known;
mod lower;
mod origin;
mod segment;
mod shape;
mod step;
#[cfg(test)]
mod tests;

pub use bindings::{Bound, PointInfo};
pub use lower::{FRAME, RETURN_VALUE, memory_variable, memory_variable_in};

use crate::expr::{Arena, ExprId};
use crate::graph::Graph;
use crate::ir::{Extension, Function, Global, Instruction, Module, SourceVariable};
use crate::region::Partition;
use std::collections::BTreeSet;

/// A function of the source.
#[derive(Debug, Clone)]
pub struct SourceFunction {
    /// Its graph.
    pub graph: Graph,
    /// Width of an address.
    pub address_bits: u32,
    /// Parameters in order.
    pub parameters: Vec<SourceParameter>,
    /// Width of the returned value; nothing for void.
    pub returns_bits: Option<u32>,
    /// Whether that is a number, which has a register of its own.
    pub returns_float: bool,
    /// Variables of the source that are bound somewhere.
    pub variables: Vec<SourceVariable>,
    /// What is known at each point, in the order of the graph's points.
    pub points: Vec<PointInfo>,
    /// Globals that the function names.
    pub globals: Vec<Global>,
    /// Symbols of those that it writes to, by name.
    pub written: BTreeSet<String>,
}

/// A parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceParameter {
    /// The variable that holds it.
    pub variable: ExprId,
    /// Its width.
    pub width_bits: u32,
    /// What a caller puts above it in its register.
    pub extension: Extension,
    /// Whether it is an address.
    pub pointer: bool,
    /// Whether it is a number, which has a register of its own.
    pub float: bool,
}

/// Something in the function that has no meaning here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unsupported: {what} at {place}")]
pub struct LowerError {
    /// What.
    pub what: String,
    /// FILE:LINE, or the function where the IR has no line.
    pub place: String,
}

impl LowerError {
    fn new(module: &Module, function: &Function, at: Option<&Instruction>, what: String) -> LowerError {
        let location = at.and_then(|at| at.location).and_then(|number| module.metadata.location(number));
        let place = match location {
            Some(location) => format!("{}:{}", location.file, location.line),
            None => format!("{}:{}", module.file, function.name),
        };
        LowerError { what, place }
    }
}

/// The graph of a function, its expressions in `arena`.
pub fn lower(arena: &mut Arena, module: &Module, function: &Function) -> Result<SourceFunction, LowerError> {
    let source = lower_by(arena, module, function, Partition::ByGlobal)?;
    if source.graph.needs_merging() {
        lower_by(arena, module, function, Partition::Merged)
    } else {
        Ok(source)
    }
}

/// A look into a segment: from its start to an instruction on the way.
#[derive(Debug, Clone)]
pub struct Peek {
    /// The step to it; its end is not a point of the graph.
    pub edge: crate::graph::Edge,
    /// The instruction.
    pub point: crate::graph::Point,
    /// What is known there.
    pub info: PointInfo,
}

/// The graph, and looks into its segments wherever the line, the column or a variable of the source changes. All
/// values that some variable is anywhere are variables of the graph.
pub fn lower_with_peeks(
    arena: &mut Arena,
    module: &Module,
    function: &Function,
    partition: Partition,
) -> Result<(SourceFunction, Vec<Peek>), LowerError> {
    lower::lower_with_peeks(arena, module, function, partition)
}

/// The same with a given cut of memory. The finest one is right only if the graph does not
/// [need merging](Graph::needs_merging).
pub fn lower_by(
    arena: &mut Arena,
    module: &Module,
    function: &Function,
    partition: Partition,
) -> Result<SourceFunction, LowerError> {
    lower::lower(arena, module, function, partition)
}
