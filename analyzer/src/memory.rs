//! What is remembered of a function from one pass run to the next, so that a run on a small part of a large
//! function is judged in the time of that part.
//!
//! **Invariant:** memory changes the time that a judgement takes, never the judgement. Whatever it is given as P,
//! it first compares with what it remembers: nothing depends on who judged what in between.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use metaloc_record::{Block, BlockId, LocId, LocationTable, Snapshot};

use crate::location_sets::is_real;
use crate::outline::{Outline, largest_region};
use crate::view::View;

/// Blocks by the locations that they have, and the outline of the function.
#[derive(Debug, Default)]
pub struct Memory {
    snapshot: Snapshot,
    blocks_with: BTreeSet<(LocId, BlockId)>,
    /// Searched for when a region is first asked for.
    outline: RefCell<Option<Outline>>,
    /// The whole function when it was last looked at: mostly P' of the run before, which is P of this one.
    whole: RefCell<Option<(Snapshot, Arc<View>)>>,
}

impl Memory {
    /// Makes P what is remembered.
    pub fn catch_up(&mut self, snapshot: &Snapshot, locations: &LocationTable) {
        let differences: Vec<BlockId> = self.snapshot.differences(snapshot).collect();
        // Most of the function is new: reading it at once is cheaper than piece by piece.
        if differences.len() > snapshot.len() / 4 {
            *self.outline.get_mut() = None;
            let blocks = snapshot.blocks();
            let pairs = blocks.flat_map(|block| real_locations(block, locations).map(|loc| (loc, block.id)));
            self.blocks_with = pairs.collect();
        } else {
            self.update(&differences, snapshot, locations);
        }
        self.snapshot = snapshot.clone();
    }

    /// The blocks of P that have a location, in the order of their ids.
    pub fn blocks_with(&self, loc: LocId) -> impl Iterator<Item = BlockId> {
        self.blocks_with.range((loc, BlockId(0))..=(loc, BlockId(u32::MAX))).map(|(_, block)| *block)
    }

    /// Views of a region that has all of some blocks of P between its ends: of P, and of P' if it differs.
    /// `None` if there is no such region smaller than the function.
    pub fn region_views(&self, wanted: &[BlockId], after: Option<&Snapshot>) -> Option<Views> {
        if wanted.len() > largest_region(self.snapshot.len()) {
            return None;
        }
        let mut outline = self.outline.borrow_mut();
        let outline =
            outline.get_or_insert_with(|| Outline::new(self.whole_view(&self.snapshot), &self.snapshot));
        let region = outline.region(wanted)?;
        let before = Arc::new(outline.view(&region, &self.snapshot)?);
        let after = match after {
            Some(after) => Some(Arc::new(outline.view(&region, after)?)),
            None => None,
        };
        Some(Views { before, after })
    }

    /// Views of the whole function, of P' if its edges differ.
    pub fn whole_views(&self, after: Option<&Snapshot>) -> Views {
        let before = self.whole_view(&self.snapshot);
        Views { before, after: after.map(|after| self.whole_view(after)) }
    }

    fn whole_view(&self, snapshot: &Snapshot) -> Arc<View> {
        let mut whole = self.whole.borrow_mut();
        let view = match &*whole {
            Some((of, view)) if of.has_edges_of(snapshot) => return Arc::clone(view),
            Some((of, view)) => Arc::new(view.next(of, snapshot)),
            None => Arc::new(View::of_function(snapshot)),
        };
        *whole = Some((snapshot.clone(), Arc::clone(&view)));
        view
    }

    fn update(&mut self, differences: &[BlockId], snapshot: &Snapshot, locations: &LocationTable) {
        let mut rewired: Vec<BlockId> = Vec::new();
        let (mut was, mut is) = (Vec::new(), Vec::new());
        for &id in differences {
            let (old, new) = (self.snapshot.get(id), snapshot.get(id));
            // The set is large and the two lists are short: only what differs is looked for in it.
            sorted_locations(old, locations, &mut was);
            sorted_locations(new, locations, &mut is);
            for loc in was.iter().filter(|loc| is.binary_search(loc).is_err()) {
                self.blocks_with.remove(&(*loc, id));
            }
            for loc in is.iter().filter(|loc| was.binary_search(loc).is_err()) {
                self.blocks_with.insert((*loc, id));
            }
            if self.snapshot.is_rewired(snapshot, id) {
                rewired.push(id);
            }
        }
        let before = &self.snapshot;
        let outline = self.outline.get_mut();
        if outline.as_mut().is_some_and(|outline| !outline.absorb(&rewired, before, snapshot)) {
            *outline = None;
        }
    }
}

/// P and P', or the region of them that matters.
#[derive(Debug)]
pub struct Views {
    /// P.
    pub before: Arc<View>,
    /// P', unless it has the edges of P.
    pub after: Option<Arc<View>>,
}

/// The locations of a block that could mislead; neighbours mostly share one, which is given once.
fn real_locations<'a>(block: &'a Block, locations: &'a LocationTable) -> impl Iterator<Item = LocId> + 'a {
    let mut last = LocId::NONE;
    let locs = block.insts.iter().map(|inst| inst.loc);
    locs.filter(move |loc| std::mem::replace(&mut last, *loc) != *loc).filter(|loc| is_real(locations, *loc))
}

/// The same of a block that may not be there, each once, in order.
fn sorted_locations(block: Option<&Arc<Block>>, locations: &LocationTable, into: &mut Vec<LocId>) {
    into.clear();
    into.extend(block.into_iter().flat_map(|block| real_locations(block, locations)));
    into.sort_unstable();
    into.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edits::{Edit, edit_strategy, end, long_edges, snapshot};
    use crate::{judge, judge_whole};
    use metaloc_record::{
        Event, EventKind, Inst, InstFlags, InstId, Location, Lookup, Opcode, PassRun, Scope, StackId,
    };
    use proptest::prelude::*;

    /// One run: edges change, and an instruction is copied from one block to another.
    type Step = (Edit, usize, usize);

    fn add(id: u32, loc: LocId) -> Inst {
        Inst { id: InstId(id), loc, opcode: Opcode::from_name("add"), flags: InstFlags::default() }
    }

    #[derive(Debug)]
    struct In<'a>(&'a Snapshot);

    impl Lookup for In<'_> {
        fn home(&self, inst: InstId) -> Option<BlockId> {
            self.0.blocks().find(|block| block.insts.iter().any(|i| i.id == inst)).map(|block| block.id)
        }

        fn operands(&self, _: InstId) -> Vec<metaloc_record::Operand> {
            Vec::new()
        }

        fn is_marker(&self, _: InstId) -> bool {
            false
        }
    }

    /// Judges run after run with one memory, and each of them without; returns how much was found.
    fn compare(edges: &[Vec<u32>], steps: &[Step], shared: u32) -> usize {
        let mut locations = LocationTable::default();
        let scope = locations.add_scope(Scope { file: "t.c".into(), subprogram: "f".into(), parent: None });
        let lines: Vec<LocId> = (0..200)
            .map(|line| {
                let at = Location { line: line + 1, column: 1, scope, inlined_at: LocId::NONE };
                locations.intern(at)
            })
            .collect();
        // Some lines are in several blocks.
        let line = |id: BlockId| lines[if id.0.is_multiple_of(shared) { 0 } else { id.index() }];
        // Each block has an addition and its end, both on its line.
        let block = |id: BlockId, old: Option<&Block>, successors: Vec<BlockId>| {
            let mut insts = match old {
                Some(old) => old.insts[..old.insts.len() - 1].to_vec(),
                None => vec![add(id.0 * 2, line(id))],
            };
            insts.push(end(InstId(id.0 * 2 + 1), line(id), &successors));
            Block { id, insts, successors }
        };
        let mut now = snapshot(edges, block);
        let mut next = edges.len() as u32;
        let mut made = 10_000;
        let mut memory = Memory::default();
        let mut found = 0;
        for (edit, from, to) in steps {
            let mut after = edit.apply(&now, &mut next, block);
            let ids: Vec<BlockId> = now.blocks().map(|b| b.id).filter(|id| after.has(*id)).collect();
            let (from, to) = (ids[from % ids.len()], ids[to % ids.len()]);
            let old = now.get(from).expect("the block is there").insts[0];
            let mut target = Block::clone(after.get(to).expect("the block is there"));
            made += 1;
            let copy = Inst { id: InstId(made), ..old };
            target.insts.insert(0, copy);
            after.put(Arc::new(target));
            let event = |kind| Event { kind, stack: StackId(1) };
            let events = [
                event(EventKind::Create { inst: copy.id }),
                event(EventKind::Clone { new: copy.id, old: old.id }),
                event(EventKind::Insert { inst: copy.id, block: to, before: None }),
            ];
            let run = PassRun {
                pass: "test",
                before: &now,
                after: &after,
                events: &events,
                locations: &locations,
                lookup: &In(&after),
            };
            let judgement = judge(&run, &mut memory);
            let whole = judge_whole(&run);
            assert_eq!(judgement, whole);
            found += judgement.findings.len();
            now = after;
        }
        found
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        prop::collection::vec((edit_strategy(), 0..64usize, 0..64usize), 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn with_a_memory_the_judgement_is_the_same(edges in long_edges(), steps in steps(), shared in 2..9u32) {
            compare(&edges, &steps, shared);
        }
    }

    /// Code that never returns: entered elsewhere by now, from after a region or from its end, round a loop, and a
    /// loop of its own with two entries; and a new way to it.
    #[test]
    fn what_never_returns_is_known_as_it_is_in_the_whole_function() {
        let elsewhere: &[&[u32]] = &[&[1], &[2, 4], &[3], &[3, 2], &[5], &[6], &[7], &[8], &[9], &[]];
        let after: &[&[u32]] = &[&[1], &[2, 3], &[2], &[4], &[5], &[6], &[7, 2], &[8], &[9], &[]];
        let at_the_end: &[&[u32]] = &[&[1], &[2, 3], &[2], &[4], &[5, 2], &[6], &[7], &[8], &[9], &[]];
        let loops: &[&[u32]] = &[&[1], &[2], &[3, 9], &[4, 5], &[4], &[6], &[7], &[8], &[2], &[10], &[]];
        let two: &[&[u32]] = &[&[1, 6], &[2], &[3], &[4, 7], &[5], &[6], &[5], &[8], &[9], &[10], &[]];
        let new: &[&[u32]] = &[&[1], &[6, 2], &[3], &[4], &[5], &[7], &[6], &[8], &[9], &[]];
        let no_edit = Edit::Cut(8, 0);
        for (edges, steps) in [
            (elsewhere, vec![(Edit::Redirect(1, 0, 2), 4, 0)]),
            (after, vec![(no_edit.clone(), 3, 0)]),
            (at_the_end, vec![(no_edit.clone(), 3, 0)]),
            (loops, vec![(no_edit.clone(), 5, 3)]),
            (two, vec![(no_edit.clone(), 7, 2)]),
            (new, vec![(no_edit.clone(), 3, 1), (Edit::Add(4, 2), 3, 3), (no_edit, 2, 0)]),
        ] {
            let mut edges: Vec<Vec<u32>> = edges.iter().map(|to| to.to_vec()).collect();
            // More of the function, for most of it to stay as it is.
            for next in edges.len() as u32..30 {
                edges[next as usize - 1].push(next);
                edges.push(vec![]);
            }
            compare(&edges, &steps, 1_000);
        }
    }

    /// The property above would hold if nothing was ever found.
    #[test]
    fn there_is_something_to_find() {
        // Diamonds in a row; each run copies from one side to the other.
        let mut edges: Vec<Vec<u32>> = Vec::new();
        for unit in 0..10u32 {
            let head = unit * 4;
            edges.extend([vec![head + 1, head + 2], vec![head + 3], vec![head + 3], vec![head + 4]]);
        }
        edges.push(vec![]);
        let steps: Vec<Step> =
            (0..10).map(|unit| (Edit::Split(unit * 4 + 1, 0), unit * 4 + 1, unit * 4 + 2)).collect();
        assert_eq!(compare(&edges, &steps, 1_000), 10);
    }
}
