//! Running graphs on concrete states. The search reads correlations off such runs, and a refutation is only
//! one if it was seen here.
//!
//! - [`memory`]: pages, shared until written; [`callee`]: made-up answers to calls; [`state`]: values of both programs; [`code`]: compiled
//!   expressions; here: steps of a graph.

pub mod callee;
pub mod code;
pub mod memory;
pub mod state;
#[cfg(test)]
mod tests;

use crate::domain::{Fault, Requirement};
use crate::expr::{Arena, ExprId};
use crate::graph::{Graph, PointId};
use callee::{Callee, Objects};
use code::{Code, Values, with_values};
use memory::Memory;
use metaloc_proof::AssumptionKind;
use state::{State, Table};

/// A graph ready to run.
#[derive(Debug)]
pub struct Runner {
    /// Ways out of each point.
    ways: Vec<Vec<Way>>,
    /// Which of the two programs of a state this is.
    program: usize,
}

#[derive(Debug)]
struct Way {
    edge: usize,
    to: PointId,
    /// What must hold for it to be taken: its condition, and then what was guessed of it.
    guard: Code,
    guards: usize,
    /// Requirements, assumptions, then new values.
    body: Code,
    requirements: usize,
    assumptions: Vec<AssumptionKind>,
    targets: Vec<Target>,
    callee: Option<Callee>,
    open: bool,
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
    /// The first program computes something that LLVM's IR leaves open: the sign and the payload of a NaN, or an integer
    /// for a number that none is near, or a product that is rounded or not. What the other one makes of it may differ
    /// and be right.
    Open,
    /// A requirement does not hold: the machine faults.
    Fault,
    /// No edge leaves.
    End,
}

impl Runner {
    /// A runner for a graph; its variables get places in the table.
    pub fn new(arena: &Arena, graph: &Graph, table: &mut Table) -> Runner {
        Runner::calling(arena, graph, table, 0, &Vec::new())
    }

    /// The same for one of two programs, 0 or 1, whose callees change these objects.
    pub fn calling(
        arena: &Arena,
        graph: &Graph,
        table: &mut Table,
        program: usize,
        objects: &Objects,
    ) -> Runner {
        let mut ways: Vec<Vec<Way>> = graph.points.iter().map(|_| Vec::new()).collect();
        for (number, edge) in graph.edges.iter().enumerate() {
            // What is below the stack pointer is memory like other memory in a run.
            let faults = |requirement: &&Requirement| {
                !matches!(requirement.otherwise, Fault::BelowStack | Fault::Guess)
            };
            // Where a guess is wrong, no edge leaves.
            let guessed = edge.requirements.iter().filter(|one| one.otherwise == Fault::Guess);
            let guard: Vec<ExprId> =
                [edge.guard].into_iter().chain(guessed.map(|one| one.condition)).collect();
            let requirements: Vec<ExprId> =
                edge.requirements.iter().filter(faults).map(|it| it.condition).collect();
            let assumptions = edge.assumptions.iter().map(|assumption| assumption.condition);
            let values = edge.assignments.iter().map(|(_, value)| *value);
            let roots: Vec<ExprId> = requirements.iter().copied().chain(assumptions).chain(values).collect();
            let targets = edge.assignments.iter().map(|(variable, _)| match arena.sort(*variable) {
                crate::expr::Sort::Bits(_) => Target::Bits(table.bits(arena, *variable)),
                crate::expr::Sort::Memory(_) => Target::Memory(table.memory(arena, *variable)),
            });
            let targets = targets.collect();
            ways[edge.from.0 as usize].push(Way {
                edge: number,
                to: edge.to,
                guard: Code::new(arena, table, &guard),
                guards: guard.len(),
                body: Code::new(arena, table, &roots),
                requirements: requirements.len(),
                assumptions: edge.assumptions.iter().map(|assumption| assumption.kind).collect(),
                targets,
                callee: edge.call.as_ref().map(|call| Callee::new(arena, table, edge, call, objects)),
                open: edge.open,
            });
        }
        Runner { ways, program }
    }

    /// The edge that is taken from a point; none if none leaves. Guards of a point exclude each other: the first
    /// that holds is taken.
    pub fn next(&self, point: PointId, state: &State) -> Option<usize> {
        self.way(point, state).map(|(way, _)| way.edge)
    }

    /// The way, and whether finding it computed something open.
    fn way(&self, point: PointId, state: &State) -> Option<(&Way, bool)> {
        let mut open = false;
        let way = with_values(|values| {
            self.ways[point.0 as usize].iter().find(|way| {
                way.guard.run(state, values);
                open |= values.open;
                (0..way.guards).all(|number| way.guard.result(values, number).is_set())
            })
        });
        way.map(|way| (way, open))
    }

    /// One step from a point.
    pub fn step(&self, point: PointId, state: &mut State) -> Step {
        let Some((way, open)) = self.way(point, state) else { return Step::End };
        if let Some(callee) = &way.callee {
            callee.answer(state, self.program);
        }
        with_values(|values| {
            way.body.run(state, values);
            let set = |number: usize| way.body.result(values, number).is_set();
            let mut assumptions = way.assumptions.iter().enumerate();
            if let Some((_, kind)) = assumptions.find(|(number, _)| !set(way.requirements + number)) {
                return Step::Undefined(*kind);
            }
            // Also if only the side of a choice that is not taken is: a run that says nothing costs little.
            if self.program == 0 && (open || way.open || values.open) {
                return Step::Open;
            }
            if !(0..way.requirements).all(set) {
                return Step::Fault;
            }
            way.assign(state, values);
            state.surprises = memory::mixed(state.surprises);
            Step::Taken { edge: way.edge, to: way.to }
        })
    }
}

impl Way {
    /// Assigns all at once. A memory that is another one with stores on top is copied, which shares its pages.
    fn assign(&self, state: &mut State, values: &Values) {
        let first = self.requirements + self.assumptions.len();
        // A memory that is assigned to another one is that of before the step.
        let copies: Vec<(usize, Memory)> = (first..)
            .zip(&self.targets)
            .filter_map(|(number, target)| match *target {
                Target::Memory(place) => Some((place, self.body.stored(values, number).0)),
                Target::Bits(_) => None,
            })
            .filter(|(place, from)| place != from)
            .map(|(place, from)| (place, state.memories[from].clone()))
            .collect();
        for (place, memory) in copies {
            state.memories[place] = memory;
        }
        for (number, target) in (first..).zip(&self.targets) {
            match *target {
                Target::Bits(place) => state.bits[place] = self.body.result(values, number).value(),
                Target::Memory(place) => {
                    let stores: Vec<&code::Stored> = self.body.stored(values, number).1.collect();
                    for stored in stores.iter().rev() {
                        state.memories[place].store(stored.address, stored.value, stored.bytes);
                    }
                }
            }
        }
    }
}
