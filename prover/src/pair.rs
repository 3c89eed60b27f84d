//! Both programs of a function as graphs in one arena, with memory cut in the same way.

use crate::expr::Arena;
use crate::graph::Graph;
use crate::ir::{Function, Module};
use crate::lift::{LiftError, lift_by};
use crate::object_file::FunctionCode;
use crate::region::{Partition, Region};
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
    /// A global that the machine uses and the source does not name: what it holds is not known.
    pub foreign: Option<String>,
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
    let finest = pair_by(arena, module, source, machine, Partition::ByGlobal)?;
    if finest.source.graph.needs_merging() || finest.machine.needs_merging() {
        let foreign = finest.foreign;
        return Ok(Pair { foreign, ..pair_by(arena, module, source, machine, Partition::Merged)? });
    }
    Ok(finest)
}

/// The same with a given cut of memory.
pub fn pair_by(
    arena: &mut Arena,
    module: &Module,
    source: &Function,
    machine: &FunctionCode,
    partition: Partition,
) -> Result<Pair, PairError> {
    let source = lower_by(arena, module, source, partition)?;
    let machine = lift_by(arena, machine, partition)?;
    let named = |symbol: &String| source.globals.iter().any(|global| global.symbol == *symbol);
    let accesses = machine.edges.iter().flat_map(|edge| &edge.accesses);
    let foreign = accesses
        .filter_map(|access| match &access.region {
            Region::Global(symbol) if !named(symbol) => Some(symbol.clone()),
            _ => None,
        })
        .next();
    Ok(Pair { source, machine, partition, foreign })
}
