//! A sparse array whose copies share what they have in common.
//!
//! A tree of fixed depth. A copy costs a pointer per 1,024 slots, the first change of a copy the three small
//! nodes above one slot, and what two copies share is passed over when they are compared. Nodes are small
//! because to copy one touches every node below it, and these are seldom in the cache.

use std::sync::Arc;

/// Slots in a leaf, and leaves in a twig.
const SMALL: usize = 8;
/// Twigs in a branch.
const LARGE: usize = 16;

type Leaf<T> = [Option<Arc<T>>; SMALL];
type Twig<T> = [Option<Arc<Leaf<T>>>; SMALL];
type Branch<T> = [Option<Arc<Twig<T>>>; LARGE];

/// Values by number.
#[derive(Debug)]
pub struct SharedSlots<T> {
    branches: Vec<Option<Arc<Branch<T>>>>,
}

impl<T> Default for SharedSlots<T> {
    fn default() -> SharedSlots<T> {
        SharedSlots { branches: Vec::new() }
    }
}

impl<T> Clone for SharedSlots<T> {
    fn clone(&self) -> SharedSlots<T> {
        SharedSlots { branches: self.branches.clone() }
    }
}

impl<T> SharedSlots<T> {
    /// All numbers that were ever used are below this one.
    pub fn bound(&self) -> usize {
        self.branches.len() * LARGE * SMALL * SMALL
    }

    /// The value with a number.
    pub fn get(&self, at: usize) -> Option<&Arc<T>> {
        self.leaf(at / SMALL)?[at % SMALL].as_ref()
    }

    /// The place for a value, this copy's own from now on.
    pub fn slot(&mut self, at: usize) -> &mut Option<Arc<T>> {
        let (leaf, twig) = (at / SMALL, at / SMALL / SMALL);
        let branch = twig / LARGE;
        if self.branches.len() <= branch {
            self.branches.resize_with(branch + 1, || None);
        }
        let branch = own(&mut self.branches[branch]);
        let twig = own(&mut branch[twig % LARGE]);
        &mut own(&mut twig[leaf % SMALL])[at % SMALL]
    }

    /// All values with their numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Arc<T>)> {
        let leaves = (0..self.bound() / SMALL).filter_map(|at| self.leaf(at).map(|leaf| (at, leaf)));
        leaves.flat_map(|(at, leaf)| {
            (at * SMALL..).zip(leaf.iter()).filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
        })
    }

    /// The numbers that do not have the very same value in both, in order. What is shared is not looked at.
    pub fn differences<'a>(&'a self, other: &'a SharedSlots<T>) -> impl Iterator<Item = usize> + 'a {
        (0..self.branches.len().max(other.branches.len()))
            .filter(|at| differ(self.branch(*at), other.branch(*at)))
            .flat_map(|at| at * LARGE..(at + 1) * LARGE)
            .filter(|at| differ(self.twig(*at), other.twig(*at)))
            .flat_map(|at| at * SMALL..(at + 1) * SMALL)
            .filter(|at| differ(self.leaf(*at), other.leaf(*at)))
            .flat_map(|at| at * SMALL..(at + 1) * SMALL)
            .filter(|at| differ(self.get(*at), other.get(*at)))
    }

    fn branch(&self, at: usize) -> Option<&Arc<Branch<T>>> {
        self.branches.get(at)?.as_ref()
    }

    fn twig(&self, at: usize) -> Option<&Arc<Twig<T>>> {
        self.branch(at / LARGE)?[at % LARGE].as_ref()
    }

    fn leaf(&self, at: usize) -> Option<&Arc<Leaf<T>>> {
        self.twig(at / SMALL)?[at % SMALL].as_ref()
    }
}

/// The node itself, copied if somebody else has it too.
fn own<N: Clone + Default>(node: &mut Option<Arc<N>>) -> &mut N {
    Arc::make_mut(node.get_or_insert_default())
}

fn differ<N>(a: Option<&Arc<N>>, b: Option<&Arc<N>>) -> bool {
    match (a, b) {
        (None, None) => false,
        (Some(a), Some(b)) => !Arc::ptr_eq(a, b),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Copies of copies against maps: a fixed sequence of writes and removals, spread over several branches.
    #[test]
    fn copies_are_independent_and_compare_by_value() {
        let mut random = 1u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % below
        };
        type State = (SharedSlots<u32>, BTreeMap<usize, Arc<u32>>);
        let mut states: Vec<State> = vec![Default::default()];
        for step in 0..300 {
            let (mut slots, mut map) = states[next(states.len())].clone();
            for _ in 0..next(20) {
                let at = next(if step % 2 == 0 { 64 } else { 5_000 });
                if next(3) == 0 {
                    if map.contains_key(&at) {
                        *slots.slot(at) = None;
                    }
                    map.remove(&at);
                } else {
                    let value = Arc::new(step);
                    *slots.slot(at) = Some(Arc::clone(&value));
                    map.insert(at, value);
                }
            }
            states.push((slots, map));
        }
        let mut differing = 0;
        for (slots, map) in &states {
            assert!(slots.iter().map(|(at, value)| (at, **value)).eq(map.iter().map(|(at, v)| (*at, **v))));
            let (others, other_map) = &states[next(states.len())];
            let expected: Vec<usize> = (0..slots.bound().max(others.bound()))
                .filter(|at| differ(map.get(at), other_map.get(at)))
                .collect();
            assert_eq!(slots.differences(others).collect::<Vec<_>>(), expected);
            differing += expected.len();
        }
        assert!(differing > 1_000, "the states should differ");
    }
}
