//! Whether what is said of a variable is wrong on some run: from the entry of both programs, by symbolic execution of both,
//! not from the invariants of a node, which some states have that no run comes to.

use super::super::assumed::equal;
use super::super::triple::Outcome;
use super::super::walk::{Walk, implies};
use super::walks::Way;
use super::{At, LocateError, Locator};
use crate::bits::Bits;
use crate::expr::{Arena, ExprId, Node};
use crate::run::code::is_unknown;
use crate::source::Bound;
use metaloc_proof as proof;
use metaloc_proof::Exact;
use std::collections::{BTreeMap, VecDeque};

impl Locator {
    /// Shows that some run comes to a place where a variable does not have a value, a constant. The ways to the place
    /// that are tried: the shortest one, and that with one round more of the shortest loop there.
    pub fn contradict(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        if !value.sum.terms.is_empty() || value.divisor.0 != 1 {
            return Ok(false);
        }
        let position = &self.edges[at.edge].machine[at.machine];
        // Where the machine is does not change a constant, only on which paths.
        let key = (at.edge, position.elements, position.inside, at.source, variable, value.sum.constant.0);
        if let Some(known) = self.contradicted.get(&key) {
            return Ok(*known);
        }
        let mut found = false;
        for way in self.ways(at.edge) {
            found = found || self.differs(&way, at, variable, value.sum.constant)?;
        }
        self.contradicted.insert(key, found);
        Ok(found)
    }

    /// Whether on the way along some edges, and then to a place, a variable may be something else.
    fn differs(
        &mut self,
        way: &[usize],
        at: At,
        variable: usize,
        constant: proof::Word,
    ) -> Result<bool, LocateError> {
        // No callee may ever answer what a solver makes up.
        if way.iter().any(|edge| self.function.edges[*edge].calls) {
            return Ok(false);
        }
        let Some(bound) = self.bound(at.edge, at.source, variable) else { return Ok(false) };
        let (machine, source) = self.walk_from_entry(way, at);
        let is = match bound {
            Bound::Value(value) => source.values.get(&value).copied().unwrap_or(value),
            Bound::Constant(bits) => self.arena.constant(bits),
            Bound::Undefined => return Ok(false),
        };
        let said = self.arena.constant(Bits::new(self.arena.width_bits(is), constant.0));
        let same = equal(&mut self.arena, is, said);
        let other = self.arena.not(same);
        let Some(entry) = self.entry() else { return Ok(false) };
        let mut assumed = self.assumed(entry)?;
        let mut given = assumed.bits.clone();
        given.extend(&self.facts);
        for (left, right) in self.setting.precondition(&mut self.arena) {
            given.push(equal(&mut self.arena, left, right));
        }
        let arena = &mut self.arena;
        let defined: Vec<ExprId> = source
            .assumptions
            .iter()
            .map(|assumption| implies(arena, assumption.when, assumption.what.condition))
            .collect();
        // The machine's condition names flags that the manual leaves open, though no branch of proved code rests on them.
        let run = [defined, vec![source.condition, other]].concat();
        if rests_on_unknown(&self.arena, &run) {
            return Ok(false);
        }
        given.extend(run);
        given.push(machine.condition);
        let (mut context, _, _) = self.context();
        let outcome = context.model(&format!("locate {at:?} other {variable}"), &mut assumed, &given);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        Ok(matches!(outcome?, Outcome::Fails(_)))
    }

    /// Both programs run from their entries along edges of the product, and on to a place.
    fn walk_from_entry(&mut self, way: &[usize], at: At) -> (Walk, Walk) {
        self.walks += 1;
        let names = [format!("locate.entry.m{}", self.walks), format!("locate.entry.s{}", self.walks)];
        let last = &self.edges[at.edge];
        let program = (&self.machine, &self.setting.problem.machine, &self.setting.machine_anchors);
        let mut along = Way::new(program, &names[0]);
        let mut machine = along.start(&mut self.arena);
        for edge in way {
            machine = along.on(&mut self.arena, machine, &self.edges[*edge].machine_elements);
        }
        let position = &last.machine[at.machine];
        let whole = &last.machine_elements;
        machine = along.on(&mut self.arena, machine, &whole[..position.elements]);
        let inside = position.inside.map(|inside| (whole[position.elements].from, inside));
        machine = along.enter(&mut self.arena, machine, inside, position.peek);
        let program = (&self.source, &self.setting.problem.source, &self.setting.source_anchors);
        let mut along = Way::new(program, &names[1]);
        let mut source = along.start(&mut self.arena);
        for edge in way {
            source = along.on(&mut self.arena, source, &self.edges[*edge].elements);
        }
        let position = &last.source[at.source];
        source = along.on(&mut self.arena, source, &last.elements[..position.elements]);
        source = along.enter(&mut self.arena, source, None, position.peek);
        (machine, source)
    }

    fn entry(&self) -> Option<usize> {
        self.function.nodes.iter().position(|node| node.role == proof::NodeRole::Entry)
    }

    /// Edges from the entry to the node that an edge begins at, and the same with a round of a loop at that node.
    fn ways(&self, edge: usize) -> Vec<Vec<usize>> {
        let node = self.edges[edge].node;
        let Some(first) = self.entry().and_then(|entry| self.shortest(entry, node)) else {
            return Vec::new();
        };
        let leaving = (0..self.edges.len()).filter(|edge| self.edges[*edge].node == node);
        let rounds = leaving.filter_map(|edge| {
            let back = self.shortest(self.function.edges[edge].to as usize, node)?;
            Some([vec![edge], back].concat())
        });
        let round = rounds.min_by_key(Vec::len);
        let again = round.map(|round| [first.clone(), round].concat());
        std::iter::once(first).chain(again).collect()
    }

    /// The fewest edges from one node to another.
    fn shortest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut ways = BTreeMap::from([(from, Vec::new())]);
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            if node == to {
                return ways.remove(&to);
            }
            for (number, edge) in self.function.edges.iter().enumerate() {
                let next = edge.to as usize;
                if edge.from as usize == node && !ways.contains_key(&next) {
                    let way = [ways[&node].clone(), vec![number]].concat();
                    ways.insert(next, way);
                    open.push_back(next);
                }
            }
        }
        None
    }
}

/// Whether something takes part of which only the name is known: a model may make up what it is, and would be no run.
fn rests_on_unknown(arena: &Arena, bits: &[ExprId]) -> bool {
    let unknown = |part: ExprId| is_unknown(arena, part) || matches!(arena.node(part), Node::Apply { .. });
    arena.reachable(bits).into_iter().any(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Sort;

    #[test]
    fn what_a_model_may_make_up_is_no_run() {
        let mut arena = Arena::new();
        let known = arena.variable("rax", Sort::Bits(32));
        let flag = arena.variable("m1.unknown.af", Sort::Bits(32));
        let applied = arena.apply("f", &[known], 32);
        let zero = arena.constant(Bits::new(32, 0));
        let is_zero = [known, flag, applied].map(|value| equal(&mut arena, value, zero));
        let rests = is_zero.map(|bit| rests_on_unknown(&arena, &[is_zero[0], bit]));
        assert_eq!(rests, [false, true, true]);
    }
}
