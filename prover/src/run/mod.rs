//! Running graphs on concrete states. The search reads correlations off such runs, and a refutation is only
//! one if it was seen here.
//!
//! - [`memory`]: pages, shared until written; [`state`]: values of both programs; [`code`]: compiled
//!   expressions; here: steps of a graph.

pub mod code;
pub mod memory;
pub mod state;
#[cfg(test)]
mod tests;

use crate::expr::{Arena, ExprId};
use crate::graph::{Graph, PointId};
use code::{Code, Value};
use metaloc_proof::AssumptionKind;
use state::{State, Table};

/// A graph ready to run.
#[derive(Debug)]
pub struct Runner {
    /// Ways out of each point.
    ways: Vec<Vec<Way>>,
}

#[derive(Debug)]
struct Way {
    edge: usize,
    to: PointId,
    guard: Code,
    /// Requirements, assumptions, then new values.
    body: Code,
    requirements: usize,
    assumptions: Vec<AssumptionKind>,
    targets: Vec<Target>,
}

#[derive(Debug, Clone, Copy)]
enum Target {
    Bits(usize),
    Memory(usize),
}

/// What one step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An edge was taken, by number.
    Taken {
        /// Its number in the graph.
        edge: usize,
        /// Where it ends.
        to: PointId,
    },
    /// The program does something undefined here: nothing is known from here on.
    Undefined(AssumptionKind),
    /// A requirement does not hold: the machine faults.
    Fault,
    /// No edge leaves.
    End,
}

impl Runner {
    /// A runner for a graph; its variables get places in the table.
    pub fn new(arena: &Arena, graph: &Graph, table: &mut Table) -> Runner {
        let mut ways: Vec<Vec<Way>> = graph.points.iter().map(|_| Vec::new()).collect();
        for (number, edge) in graph.edges.iter().enumerate() {
            let requirements = edge.requirements.iter().map(|requirement| requirement.condition);
            let assumptions = edge.assumptions.iter().map(|assumption| assumption.condition);
            let values = edge.assignments.iter().map(|(_, value)| *value);
            let roots: Vec<ExprId> = requirements.chain(assumptions).chain(values).collect();
            let targets = edge.assignments.iter().map(|(variable, _)| match arena.sort(*variable) {
                crate::expr::Sort::Bits(_) => Target::Bits(table.bits(arena, *variable)),
                crate::expr::Sort::Memory(_) => Target::Memory(table.memory(arena, *variable)),
            });
            let targets = targets.collect();
            ways[edge.from.0 as usize].push(Way {
                edge: number,
                to: edge.to,
                guard: Code::new(arena, table, &[edge.guard]),
                body: Code::new(arena, table, &roots),
                requirements: edge.requirements.len(),
                assumptions: edge.assumptions.iter().map(|assumption| assumption.kind).collect(),
                targets,
            });
        }
        Runner { ways }
    }

    /// One step from a point. Guards of a point exclude each other: the first that holds is taken.
    pub fn step(&self, point: PointId, state: &mut State) -> Step {
        let taken = self.ways[point.0 as usize].iter().find(|way| way.guard.bits(state)[0].is_set());
        let Some(way) = taken else { return Step::End };
        let values = way.body.run(state);
        let (conditions, values) = values.split_at(way.requirements + way.assumptions.len());
        let (requirements, assumptions) = conditions.split_at(way.requirements);
        let broken = assumptions.iter().position(|condition| !condition.bits().is_set());
        if let Some(broken) = broken {
            return Step::Undefined(way.assumptions[broken]);
        }
        if requirements.iter().any(|condition| !condition.bits().is_set()) {
            return Step::Fault;
        }
        assign(state, &way.targets, values);
        state.surprises = memory::mixed(state.surprises);
        Step::Taken { edge: way.edge, to: way.to }
    }
}

/// Assigns all at once. A memory that is another one with stores on top is copied, which shares its pages.
fn assign(state: &mut State, targets: &[Target], values: &[Value]) {
    let mut replaced = Vec::new();
    for (target, value) in targets.iter().zip(values) {
        match (target, value) {
            (Target::Bits(place), Value::Bits(bits)) => state.bits[*place] = bits.value(),
            (Target::Memory(place), Value::Stores(base, stores)) => {
                replaced.push((*place, (base != place).then(|| state.memories[*base].clone()), stores));
            }
            _ => panic!("an assignment keeps the sort"),
        }
    }
    for (place, whole, stores) in replaced {
        let memory = &mut state.memories[place];
        if let Some(whole) = whole {
            *memory = whole;
        }
        for (address, value) in stores {
            memory.store(*address, value.value(), value.width_bits() / 8);
        }
    }
}
