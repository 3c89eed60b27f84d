//! Calls on edges of the product. An edge has either no call or is a call: one step of each program, and nothing
//! else. Only then may both get the same answer, and only then is what they owe each other said at a node: the
//! state before that step.

use super::assumed::equal;
use super::certify::Certified;
use super::flow::Anchors;
use super::problem::Setting;
use super::search::{Edge, Failure, Product, Search};
use super::triple::{Outcome, Step, Triple, anywhere};
use super::walk::and;
use crate::expr::{Arena, ExprId};
use crate::graph::{Call, Graph, PointId};
use metaloc_proof::Claim;

/// What a step of the product has to do with calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls<'a> {
    /// Neither program makes one.
    None,
    /// Both make one, and do nothing else.
    One(&'a Call, &'a Call),
    /// Anything else: nothing can be said of such a step.
    Mixed,
}

/// The call that leaves a point.
fn call_at<'a>(graph: &'a Graph, anchors: &Anchors, at: PointId) -> Option<(&'a Call, PointId)> {
    if !anchors.is_call(at) {
        return None;
    }
    let mut leaving = graph.leaving(at);
    let edge = leaving.next()?;
    // A call is the only way out of where it is.
    edge.call.as_ref().filter(|_| leaving.next().is_none()).map(|call| (call, edge.to))
}

impl Setting {
    /// The calls of a step from two points.
    pub fn calls(&self, (source, machine): (PointId, PointId), step: &Step) -> Calls<'_> {
        let problem = &self.problem;
        let (source_anchors, machine_anchors) = (&self.source_anchors, &self.machine_anchors);
        // Points of the source that something is done at: all that are passed but the last.
        let passed = || std::iter::once(source).chain(step.source.iter().copied()).take(step.source.len());
        let machine_calls = machine_anchors.is_call(machine);
        // Between anchors there is none: the points around it are anchors.
        if !machine_calls && !passed().any(|at| source_anchors.is_call(at)) {
            return Calls::None;
        }
        let pair = call_at(&problem.source, source_anchors, source).zip(call_at(
            &problem.machine,
            machine_anchors,
            machine,
        ));
        match (pair, step.source.as_slice(), step.machine.edges.as_slice()) {
            (Some(((left, after), (right, end))), [to], [_])
                if *to == after && step.machine.to == end && left.callee == right.callee =>
            {
                Calls::One(left, right)
            }
            _ => Calls::Mixed,
        }
    }

    /// Whether two points may be a node, as far as calls go: where the machine is about to make one, so is the source.
    /// The source may be there before.
    pub fn may_meet(&self, source: PointId, machine: PointId) -> bool {
        let left = call_at(&self.problem.source, &self.source_anchors, source);
        let right = call_at(&self.problem.machine, &self.machine_anchors, machine);
        match (left, right) {
            (Some((left, _)), Some((right, _))) => left.callee == right.callee,
            (_, right) => right.is_none(),
        }
    }
}

/// What both programs owe at a call, in terms of the state before it: arguments, memory, and what the callee relies
/// on. That the callee is the same is a matter of the graphs.
pub(super) fn goals(arena: &mut Arena, setting: &Setting, source: &Call, machine: &Call) -> Vec<ExprId> {
    let mut goals = Vec::new();
    if source.arguments.len() != machine.arguments.len() {
        goals.push(arena.constant(crate::bits::Bits::bit(false)));
    }
    for (left, right) in source.arguments.iter().zip(&machine.arguments) {
        goals.push(equal(arena, *right, *left));
    }
    for region in &setting.regions {
        let (left, right) = setting.memories(arena, region);
        goals.push(anywhere(arena, left, right));
    }
    goals.extend(&machine.wanted);
    goals
}

impl Search<'_> {
    /// Shows what an edge that is a call owes.
    pub(super) fn certify_event(
        &mut self,
        product: &Product,
        number: u32,
        edge: &Edge,
        (triple, given): (&mut Triple, &[ExprId]),
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let node = &product.nodes[edge.from];
        let setting = self.context.setting;
        let (source, machine) = match setting.calls((node.source, node.machine), &edge.step) {
            Calls::None => return Ok(()),
            Calls::One(source, machine) => (source, machine),
            Calls::Mixed => return Err(Failure::Open(format!("edge {number} makes calls that are no pair"))),
        };
        let goals = goals(self.context.arena, setting, source, machine);
        let of = goals.len() as u32;
        for (part, goal) in (0..).zip(goals) {
            let name = format!("proof edge {number} event {part}");
            let shown = self.shown(&name, triple, given, goal)?;
            let mut whole = self.part(Claim::Event { edge: number }, triple, given, goal, shown);
            whole.part = (part, of);
            certified.push(whole);
        }
        Ok(())
    }

    /// Whether the edge owes nothing, or what it owes follows; otherwise what is wrong with it.
    pub(super) fn check_event(
        &mut self,
        product: &Product,
        edge: &Edge,
        triple: &mut Triple,
        name: &str,
    ) -> Result<Result<(), String>, Failure> {
        let node = &product.nodes[edge.from];
        let setting = self.context.setting;
        let (source, machine) = match setting.calls((node.source, node.machine), &edge.step) {
            Calls::None => return Ok(Ok(())),
            Calls::One(source, machine) => (source, machine),
            Calls::Mixed => return Ok(Err(format!("{name}: calls that are no pair"))),
        };
        let goals = goals(self.context.arena, setting, source, machine);
        let all = and(self.context.arena, &goals);
        let given = triple.given.clone();
        Ok(match self.context.implied_if_defined(&format!("{name} event"), triple, &given, all)?.0 {
            Outcome::Holds(_) => Ok(()),
            Outcome::Fails(_) => {
                Err(format!("{name}: the programs may call {} in different situations", source.callee))
            }
            Outcome::Open(reason) => Err(format!("{name}: event: {reason}")),
        })
    }
}
