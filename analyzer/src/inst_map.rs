//! A map from instructions to what is known about them in one run.
//!
//! Ids are given in the order in which instructions are met, block by block, so ids that are near each other are
//! used near each other. A hash table over ids would scatter them: with the events of a run on a large function
//! that is a miss of the cache for every step. Here only pages of ids are hashed.

use metaloc_record::InstId;
use rustc_hash::FxHashMap;

const PAGE: usize = 64;
const EMPTY: u32 = u32::MAX;

/// Nothing is ever removed from it.
#[derive(Debug, Clone)]
pub struct InstMap<T> {
    pages: FxHashMap<u32, u32>,
    /// Where in `values` the instructions of each page are.
    slots: Vec<[u32; PAGE]>,
    values: Vec<(InstId, T)>,
}

impl<T> Default for InstMap<T> {
    fn default() -> Self {
        InstMap { pages: FxHashMap::default(), slots: Vec::new(), values: Vec::new() }
    }
}

impl<T> InstMap<T> {
    /// What is known about an instruction.
    pub fn get(&self, inst: InstId) -> Option<&T> {
        let page = *self.pages.get(&(inst.0 / PAGE as u32))?;
        let slot = self.slots[page as usize][inst.index() % PAGE];
        (slot != EMPTY).then(|| &self.values[slot as usize].1)
    }

    /// True if something is known about an instruction.
    pub fn contains(&self, inst: InstId) -> bool {
        self.get(inst).is_some()
    }

    /// Sets what is known about an instruction.
    pub fn insert(&mut self, inst: InstId, value: T)
    where
        T: Default,
    {
        *self.get_or_default(inst) = value;
    }

    /// What is known about an instruction, to be changed.
    pub fn get_or_default(&mut self, inst: InstId) -> &mut T
    where
        T: Default,
    {
        let next = self.slots.len() as u32;
        let page = *self.pages.entry(inst.0 / PAGE as u32).or_insert(next);
        if page == next {
            self.slots.push([EMPTY; PAGE]);
        }
        let slot = &mut self.slots[page as usize][inst.index() % PAGE];
        if *slot == EMPTY {
            *slot = self.values.len() as u32;
            self.values.push((inst, T::default()));
        }
        &mut self.values[*slot as usize].1
    }

    /// All of it, in the order in which it was put in.
    pub fn iter(&self) -> impl Iterator<Item = (InstId, &T)> {
        self.values.iter().map(|(inst, value)| (*inst, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(insertions in prop::collection::vec((prop_oneof![0..200u32, 0..=u32::MAX], 1..9u32), 0..99)) {
            let (mut map, mut model) = (InstMap::default(), BTreeMap::new());
            for (inst, value) in &insertions {
                map.insert(InstId(*inst), *value);
                model.insert(*inst, *value);
            }
            for (inst, _) in &insertions {
                for near in [inst.wrapping_sub(1), *inst, inst.wrapping_add(1)] {
                    prop_assert_eq!(map.get(InstId(near)), model.get(&near));
                    prop_assert_eq!(map.contains(InstId(near)), model.contains_key(&near));
                }
            }
            let mut all: Vec<(u32, u32)> = map.iter().map(|(inst, value)| (inst.0, *value)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, model.into_iter().collect::<Vec<_>>());
        }
    }
}
