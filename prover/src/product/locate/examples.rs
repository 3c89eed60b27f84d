//! States of both programs at the node that an edge begins at, by which a question is answered "no" without a solver: one in
//! which all that is given holds and the goal does not. Most questions of repair are guesses that are wrong, and to find
//! that out anew for each of them is what a solver takes longest for, above all of memories.
//!
//! An example is a model that the solver gave; what a question is about is evaluated in it, all that is given included, so
//! a model that has little to do with the question costs an evaluation and answers nothing.

use super::super::triple::{Outcome, Triple};
use super::{At, LocateError, Locator};
use crate::expr::{Assignment, ExprId, evaluate};
use crate::smt::Limits;
use std::time::Duration;

/// Examples that are kept of an edge: the first is of the whole edge, the others are answers to questions.
const MOST_EXAMPLES: usize = 4;
/// Time for finding the first: most take a hundredth of it.
const EXAMPLE_TIME: Duration = Duration::from_millis(500);

/// What is known of an edge.
#[derive(Default)]
pub(super) struct Examples {
    found: Vec<Assignment>,
    sought: bool,
}

impl Locator {
    /// Whether in some example all of the triple's conditions hold, and what is asked does not: then it does not follow.
    /// The goal is one bit, or that two memories are the same.
    pub(super) fn is_refuted(
        &mut self,
        edge: usize,
        triple: &mut Triple,
        goal: Goal,
    ) -> Result<bool, LocateError> {
        self.seek(edge)?;
        let mut rewrite = |id: ExprId| triple.assumed.rewrite(&mut self.arena, &mut self.normaliser, id);
        let goal = match goal {
            Goal::Bit(bit) => Goal::Bit(rewrite(bit)),
            Goal::Same(when, left, right) => Goal::Same(rewrite(when), rewrite(left), rewrite(right)),
        };
        let given: Vec<ExprId> =
            triple.given.iter().chain(&triple.defined).map(|bit| rewrite(*bit)).collect();
        let Some(examples) = self.examples.get(&edge) else { return Ok(false) };
        let is_set = |example: &Assignment, bit: ExprId| evaluate(&self.arena, bit, example).bits().is_set();
        Ok(examples.found.iter().any(|example| {
            let fails = match goal {
                Goal::Bit(bit) => !is_set(example, bit),
                Goal::Same(when, left, right) => {
                    let memory = |id: ExprId| evaluate(&self.arena, id, example);
                    is_set(example, when) && memory(left) != memory(right)
                }
            };
            fails && given.iter().all(|bit| is_set(example, *bit))
        }))
    }

    /// Keeps the answer to a question about an edge.
    pub(super) fn keep_example(&mut self, edge: usize, model: Assignment) {
        let known = self.examples.entry(edge).or_default();
        if known.found.len() < MOST_EXAMPLES {
            known.found.push(model);
        }
    }

    /// A run along the whole edge, as far as its positions go.
    fn seek(&mut self, edge: usize) -> Result<(), LocateError> {
        let known = self.examples.entry(edge).or_default();
        if std::mem::replace(&mut known.sought, true) {
            return Ok(());
        }
        let last = At {
            edge,
            machine: self.edges[edge].machine.len() - 1,
            source: self.edges[edge].source.len() - 1,
        };
        let mut triple = self.triple(last)?;
        let mut given = triple.given.clone();
        given.extend(&triple.defined);
        given.push(triple.source.condition);
        let limits = self.solver.limits();
        self.solver.set_limits(Limits { time: limits.time.min(EXAMPLE_TIME), ..limits });
        let (mut context, _, _) = self.context();
        let outcome = context.model(&format!("locate example {edge}"), &mut triple.assumed, &given);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        self.solver.set_limits(limits);
        if let Outcome::Fails(model) = outcome? {
            self.keep_example(edge, model);
        }
        Ok(())
    }
}

/// What is asked.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// Whether a bit is set.
    Bit(ExprId),
    /// Whether, if a bit is set, two memories are the same.
    Same(ExprId, ExprId, ExprId),
}
