//! Symbolic execution along paths, from variables that stand for the state at a node. Paths that part and meet
//! again are run together: a value becomes a choice, and a store is made by all, each with its value or with
//! what was there (so no choice between memories is needed and the size is that of the graph, not of the
//! number of paths).

use super::flow::{Anchors, Path};
use crate::bits::Bits;
use crate::calls::is_reply;
use crate::expr::substitute::Substitution;
use crate::expr::{Arena, CommutativeOp, ExprId, Node, Sort};
use crate::graph::{Assumption, Edge, Graph, PointId};
use crate::region::Access;
use crate::run::code::is_unknown;
use std::collections::{BTreeMap, HashMap};

/// Values of variables in terms of those at the node; what is not listed is unchanged.
pub type Values = BTreeMap<ExprId, ExprId>;

/// A condition under which something is done, and what.
#[derive(Debug, Clone)]
pub struct Guarded<T> {
    /// The bit that is set if the program gets there.
    pub when: ExprId,
    /// What is done.
    pub what: T,
}

/// What a program does along some paths.
#[derive(Debug, Clone)]
pub struct Walk {
    /// The bit that is set if one of the paths is taken.
    pub condition: ExprId,
    /// The state afterwards.
    pub values: Values,
    /// What the machine must not fail at.
    pub requirements: Vec<Guarded<ExprId>>,
    /// Accesses, with addresses in terms of the state at the node.
    pub accesses: Vec<Guarded<Access>>,
    /// What holds if the source does nothing undefined.
    pub assumptions: Vec<Guarded<Assumption>>,
}

/// Runs paths of one graph.
#[derive(Debug)]
pub struct Walker<'a> {
    graph: &'a Graph,
    anchors: &'a Anchors,
    /// Tells unknowns of different walks apart.
    name: String,
    unknowns: u32,
    /// What answers of callees are called if another walk gets the same ones.
    replies: Option<String>,
}

impl<'a> Walker<'a> {
    /// `name` is used for nothing else in the arena.
    pub fn new(graph: &'a Graph, anchors: &'a Anchors, name: &str) -> Walker<'a> {
        Walker { graph, anchors, name: name.to_owned(), unknowns: 0, replies: None }
    }

    /// The answer to a call is the one that another walk of the same name gets: for two programs that make the same
    /// call, and one call only.
    pub fn sharing_replies(self, name: &str) -> Walker<'a> {
        Walker { replies: Some(name.to_owned()), ..self }
    }

    /// Does nothing.
    pub fn start(&self, arena: &mut Arena) -> Walk {
        Walk {
            condition: arena.constant(Bits::bit(true)),
            values: Values::new(),
            requirements: Vec::new(),
            accesses: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    /// Goes on along one path, or along all with the same end.
    pub fn path(&mut self, arena: &mut Arena, walk: Walk, from: PointId, path: &Path) -> Walk {
        match path.edges.is_empty() {
            true => self.hop(arena, walk, from, path.to),
            false => self.along(arena, walk, &path.edges),
        }
    }

    /// Goes on along these edges; stays where it is if there are none.
    pub fn along(&mut self, arena: &mut Arena, mut walk: Walk, edges: &[usize]) -> Walk {
        for number in edges {
            let graph = self.graph;
            let (condition, values) = self.edge(arena, &mut walk, &graph.edges[*number]);
            (walk.condition, walk.values) = (condition, values);
        }
        walk
    }

    /// Goes on from one anchor to the next along all paths between them.
    pub fn hop(&mut self, arena: &mut Arena, mut walk: Walk, from: PointId, to: PointId) -> Walk {
        let graph = self.graph;
        let mut arrived = HashMap::<PointId, Vec<(ExprId, Values)>>::new();
        arrived.insert(from, vec![(walk.condition, walk.values.clone())]);
        let mut ends = Vec::new();
        for point in self.between(from, to) {
            let Some(ways) = arrived.remove(&point) else { continue };
            (walk.condition, walk.values) = merged(arena, ways);
            for edge in graph.leaving(point).filter(|edge| edge.to == to || !self.anchors.contains(edge.to)) {
                let (condition, values) = self.edge(arena, &mut walk, edge);
                if edge.to == to {
                    ends.push((condition, values));
                } else {
                    arrived.entry(edge.to).or_default().push((condition, values));
                }
            }
        }
        if ends.is_empty() {
            walk.condition = arena.constant(Bits::bit(false));
        } else {
            (walk.condition, walk.values) = merged(arena, ends);
        }
        walk
    }

    /// Points that lie between two anchors, each after those that lead to it. There is no cycle among them.
    fn between(&self, from: PointId, to: PointId) -> Vec<PointId> {
        let mut order = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut open = vec![(from, false)];
        while let Some((point, done)) = open.pop() {
            if done {
                order.push(point);
            } else if seen.insert(point) {
                open.push((point, true));
                let next = self.graph.leaving(point).map(|edge| edge.to);
                open.extend(
                    next.filter(|next| *next != to && !self.anchors.contains(*next))
                        .map(|next| (next, false)),
                );
            }
        }
        order.reverse();
        order
    }

    /// One edge from the state that `walk` has; notes what it does there.
    fn edge(&mut self, arena: &mut Arena, walk: &mut Walk, edge: &Edge) -> (ExprId, Values) {
        let mut now = self.substitution(arena, walk, edge);
        let when = walk.condition;
        for requirement in &edge.requirements {
            let what = now.apply(arena, requirement.condition);
            walk.requirements.push(Guarded { when, what });
        }
        for access in &edge.accesses {
            let address = now.apply(arena, access.address);
            walk.accesses.push(Guarded { when, what: Access { address, ..access.clone() } });
        }
        for assumption in &edge.assumptions {
            let condition = now.apply(arena, assumption.condition);
            walk.assumptions.push(Guarded { when, what: Assumption { condition, ..assumption.clone() } });
        }
        let guard = now.apply(arena, edge.guard);
        let condition = and(arena, &[when, guard]);
        let mut values = walk.values.clone();
        for (variable, value) in &edge.assignments {
            values.insert(*variable, now.apply(arena, *value));
        }
        (condition, values)
    }

    /// Replaces variables by their values now, and what nobody knows by something new.
    fn substitution(&mut self, arena: &mut Arena, walk: &Walk, edge: &Edge) -> Substitution {
        let values = edge.assignments.iter().map(|(_, value)| *value);
        let requirements = edge.requirements.iter().map(|requirement| requirement.condition);
        let assumptions = edge.assumptions.iter().map(|assumption| assumption.condition);
        let addresses = edge.accesses.iter().map(|access| access.address);
        let roots: Vec<ExprId> =
            values.chain(requirements).chain(assumptions).chain(addresses).chain([edge.guard]).collect();
        let parts = arena.reachable(&roots);
        let replies: Vec<ExprId> = parts.iter().copied().filter(|part| is_reply(arena, *part)).collect();
        let unknowns: Vec<ExprId> = parts.into_iter().filter(|part| is_unknown(arena, *part)).collect();
        let mut replaced: Vec<(ExprId, ExprId)> =
            walk.values.iter().map(|(key, value)| (*key, *value)).collect();
        for unknown in unknowns {
            self.unknowns += 1;
            let name = format!("unknown.{}.{}", self.name, self.unknowns);
            let fresh = arena.variable(&name, arena.sort(unknown));
            replaced.push((unknown, fresh));
        }
        // Each call has an answer of its own.
        self.unknowns += 1;
        let own = format!("{}.{}", self.name, self.unknowns);
        let answer = self.replies.as_ref().unwrap_or(&own);
        for reply in replies {
            let Node::Variable(symbol) = arena.node(reply) else { continue };
            let name = format!("reply.{answer}.{}", arena.name(*symbol));
            let fresh = arena.variable(&name, arena.sort(reply));
            replaced.push((reply, fresh));
        }
        Substitution::new(replaced)
    }
}

/// All bits set.
pub fn and(arena: &mut Arena, bits: &[ExprId]) -> ExprId {
    match bits {
        [] => arena.constant(Bits::bit(true)),
        [single] => *single,
        several => arena.commutative(CommutativeOp::And, several),
    }
}

/// Any bit set.
pub fn or(arena: &mut Arena, bits: &[ExprId]) -> ExprId {
    match bits {
        [] => arena.constant(Bits::bit(false)),
        [single] => *single,
        several => arena.commutative(CommutativeOp::Or, several),
    }
}

/// The left bit implies the right one.
pub fn implies(arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
    let not = arena.not(left);
    or(arena, &[not, right])
}

/// One state for several ways to the same point. Their conditions exclude each other; where none holds, the
/// state is that of the last, which nobody asks for. What all conditions have in common does not decide between
/// them: `c and p` and `c and not p` are told apart by `p`, and one of them holds where `c` does.
fn merged(arena: &mut Arena, mut ways: Vec<(ExprId, Values)>) -> (ExprId, Values) {
    if ways.len() == 1 {
        return ways.remove(0);
    }
    let conjuncts: Vec<Vec<ExprId>> =
        ways.iter().map(|(condition, _)| conjuncts(arena, *condition)).collect();
    let common: Vec<ExprId> = conjuncts[0]
        .iter()
        .copied()
        .filter(|bit| conjuncts[1..].iter().all(|others| others.contains(bit)))
        .collect();
    let deciding: Vec<ExprId> = conjuncts
        .iter()
        .map(|bits| {
            let own: Vec<ExprId> = bits.iter().copied().filter(|bit| !common.contains(bit)).collect();
            and(arena, &own)
        })
        .collect();
    let mut condition = common;
    let complete = match deciding.as_slice() {
        [left, right] => arena.not(*left) == *right || arena.not(*right) == *left,
        _ => false,
    };
    if !complete {
        condition.push(or(arena, &deciding));
    }
    let condition = and(arena, &condition);
    let mut rest = deciding.into_iter().zip(ways).rev();
    let (_, (_, mut values)) = rest.next().expect("a point that is reached has a way to it");
    for (condition, (_, other)) in rest {
        let variables: Vec<ExprId> = values.keys().chain(other.keys()).copied().collect();
        for variable in variables {
            let of = |values: &Values| values.get(&variable).copied().unwrap_or(variable);
            let (then, otherwise) = (of(&other), of(&values));
            if then != otherwise {
                let value = match arena.sort(variable) {
                    Sort::Bits(_) => arena.choice(condition, then, otherwise),
                    Sort::Memory(_) => either_memory(arena, condition, then, otherwise),
                };
                values.insert(variable, value);
            }
        }
    }
    (condition, values)
}

/// Bits of which all must be set for a bit to be; the bit 1 is left out.
fn conjuncts(arena: &Arena, bit: ExprId) -> Vec<ExprId> {
    let (mut open, mut found) = (vec![bit], Vec::new());
    while let Some(bit) = open.pop() {
        match arena.node(bit) {
            Node::Commutative(CommutativeOp::And, parts) => open.extend(parts.iter().rev()),
            _ if arena.as_constant(bit).is_some_and(|bits| bits.is_set()) => {}
            _ if found.contains(&bit) => {}
            _ => found.push(bit),
        }
    }
    found
}

/// `then` if the condition holds, `otherwise` if not, as stores on what they have in common.
fn either_memory(arena: &mut Arena, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
    let (left, right) = (chain(arena, then), chain(arena, otherwise));
    let common = left.iter().zip(&right).take_while(|(left, right)| left == right).count();
    if common == 0 {
        return arena.choice(condition, then, otherwise);
    }
    let not = arena.not(condition);
    let mut memory = left[common - 1];
    for (condition, side) in [(condition, &left[common..]), (not, &right[common..])] {
        for stored in side {
            let Node::Store { address, value, .. } = *arena.node(*stored) else {
                return arena.choice(condition, then, otherwise);
            };
            let bytes = arena.width_bits(value) / 8;
            let old = arena.load(memory, address, bytes);
            let value = arena.choice(condition, value, old);
            memory = arena.store(memory, address, value);
        }
    }
    memory
}

/// A memory and all that it was before, oldest first.
fn chain(arena: &Arena, memory: ExprId) -> Vec<ExprId> {
    let mut chain = vec![memory];
    while let Node::Store { memory, .. } = arena.node(chain[chain.len() - 1]) {
        chain.push(*memory);
    }
    chain.reverse();
    chain
}
