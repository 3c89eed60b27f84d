//! Replacing expressions by others, everywhere at once. Nothing is rewritten beyond that: what comes out has
//! the shape of what went in.

use super::{Arena, ExprId, Node};
use std::collections::HashMap;

/// A simultaneous substitution with what it has done so far.
#[derive(Debug, Clone, Default)]
pub struct Substitution {
    done: HashMap<ExprId, ExprId>,
}

impl Substitution {
    /// Each key becomes its value; keys inside of values stay.
    pub fn new(replaced: impl IntoIterator<Item = (ExprId, ExprId)>) -> Substitution {
        Substitution { done: replaced.into_iter().collect() }
    }

    /// The expression with everything replaced.
    pub fn apply(&mut self, arena: &mut Arena, root: ExprId) -> ExprId {
        if let Some(id) = self.done.get(&root) {
            return *id;
        }
        let mut open = vec![(root, false)];
        while let Some((id, parts_done)) = open.pop() {
            if self.done.contains_key(&id) {
                continue;
            }
            if parts_done {
                let rebuilt = self.rebuild(arena, id);
                self.done.insert(id, rebuilt);
            } else {
                open.push((id, true));
                arena.node(id).for_each_part(|part| open.push((part, false)));
            }
        }
        self.done[&root]
    }

    fn rebuild(&self, arena: &mut Arena, id: ExprId) -> ExprId {
        let part = |id: &ExprId| self.done[id];
        let all = |ids: &[ExprId]| ids.iter().map(part).collect::<Vec<_>>();
        match arena.node(id).clone() {
            Node::Constant(_) | Node::Variable(_) => id,
            Node::Sum { constant, terms } => {
                let terms: Vec<_> = terms.iter().map(|(factor, term)| (*factor, part(term))).collect();
                arena.sum(constant, &terms)
            }
            Node::Commutative(op, parts) => arena.commutative(op, &all(&parts)),
            Node::Binary(op, left, right) => arena.binary(op, part(&left), part(&right)),
            Node::Compare(op, left, right) => arena.compare(op, part(&left), part(&right)),
            Node::Concat(parts) => arena.concat(&all(&parts)),
            Node::Extract { low_bit, width_bits, of } => arena.extract(part(&of), low_bit, width_bits),
            Node::SignExtend { width_bits, of } => arena.sign_extend(part(&of), width_bits),
            Node::Choice { condition, then, otherwise } => {
                arena.choice(part(&condition), part(&then), part(&otherwise))
            }
            Node::Load { memory, address, bytes } => arena.load(part(&memory), part(&address), bytes),
            Node::Store { memory, address, value } => {
                arena.store(part(&memory), part(&address), part(&value))
            }
            Node::Apply { function, arguments, width_bits } => {
                let name = arena.name(function).to_owned();
                arena.apply(&name, &all(&arguments), width_bits)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Sort;

    #[test]
    fn variables_are_swapped_at_once() {
        let mut arena = Arena::new();
        let (a, b) = (arena.variable("a", Sort::Bits(32)), arena.variable("b", Sort::Bits(32)));
        let (difference, swapped) = (arena.sub(a, b), arena.sub(b, a));
        let mut substitution = Substitution::new([(a, b), (b, a)]);
        assert_eq!(substitution.apply(&mut arena, difference), swapped);
    }

    #[test]
    fn what_has_no_key_inside_stays_itself() {
        let mut arena = Arena::new();
        let (a, b) = (arena.variable("a", Sort::Bits(32)), arena.variable("b", Sort::Bits(32)));
        let memory = arena.variable("m", Sort::Memory(32));
        let stored = arena.store(memory, a, a);
        let loaded = arena.load(stored, a, 4);
        assert_eq!(Substitution::new([(b, a)]).apply(&mut arena, loaded), loaded);
        assert_ne!(Substitution::new([(a, b)]).apply(&mut arena, loaded), loaded);
    }
}
