//! Both programs of a function as graphs in one arena, with memory cut in the same way.

use crate::expr::Arena;
use crate::graph::Graph;
use crate::ir::{Function, Module};
use crate::lift::{LiftError, lift_by};
use crate::object_file::FunctionCode;
use crate::region::Partition;
use crate::source::{LowerError, SourceFunction, lower_by};

/// What is to be proved equal.
#[derive(Debug)]
pub struct Pair {
    /// The IR.
    pub source: SourceFunction,
    /// The machine code.
    pub machine: Graph,
    /// The cut of memory.
    pub partition: Partition,
}

/// Why a function is not a pair of graphs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The IR.
    #[error(transparent)]
    Source(#[from] LowerError),
    /// The machine code.
    #[error(transparent)]
    Machine(#[from] LiftError),
}

/// The graphs of a function. If a pointer of either program cannot be followed, both have one region for all
/// memory but the frame.
pub fn pair(
    arena: &mut Arena,
    module: &Module,
    source: &Function,
    machine: &FunctionCode,
) -> Result<Pair, PairError> {
    let by = |arena: &mut Arena, partition| -> Result<Pair, PairError> {
        let source = lower_by(arena, module, source, partition)?;
        Ok(Pair { source, machine: lift_by(arena, machine, partition)?, partition })
    };
    let finest = by(arena, Partition::ByGlobal)?;
    if finest.source.graph.needs_merging() || finest.machine.needs_merging() {
        return by(arena, Partition::Merged);
    }
    Ok(finest)
}
