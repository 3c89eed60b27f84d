//! What is remembered of a function from one pass run to the next, so that a run on a small part of a large
//! function is judged in the time of that part.
//!
//! **Invariant:** memory changes the time that a judgement takes, never the judgement, apart from what is
//! said in [`crate::placement`] about locations outside of a region. Whatever it is given as P, it first
//! compares with what it remembers: nothing depends on who judged what in between.

use std::cell::RefCell;
use std::collections::BTreeSet;

use metaloc_record::{Block, BlockId, LocId, LocationTable, Snapshot};

use crate::location_sets::is_real;
use crate::outline::Outline;
use crate::view::View;

/// Blocks by the locations that they have, and the outline of the function.
#[derive(Debug, Default)]
pub struct Memory {
    snapshot: Snapshot,
    blocks_with: BTreeSet<(LocId, BlockId)>,
    /// Searched for when a region is first asked for.
    outline: RefCell<Option<Outline>>,
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
        let mut outline = self.outline.borrow_mut();
        let outline = outline.get_or_insert_with(|| Outline::new(&self.snapshot));
        let region = outline.region(wanted)?;
        let before = outline.view(&region, &self.snapshot)?;
        let after = match after {
            Some(after) => Some(outline.view(&region, after)?),
            None => None,
        };
        Some(Views { before, after, whole: false })
    }

    fn update(&mut self, differences: &[BlockId], snapshot: &Snapshot, locations: &LocationTable) {
        let mut rewired: Vec<BlockId> = Vec::new();
        for &id in differences {
            let (old, new) = (self.snapshot.get(id), snapshot.get(id));
            if let Some(old) = old {
                for loc in real_locations(old, locations) {
                    self.blocks_with.remove(&(loc, id));
                }
            }
            if let Some(new) = new {
                self.blocks_with.extend(real_locations(new, locations).map(|loc| (loc, id)));
            }
            if old.zip(new).is_none_or(|(old, new)| old.successors != new.successors) {
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
    pub before: View,
    /// P', unless it has the edges of P.
    pub after: Option<View>,
    /// True if this is the whole function.
    pub whole: bool,
}

impl Views {
    /// The whole function.
    pub fn of_function(before: &Snapshot, after: Option<&Snapshot>) -> Views {
        Views { before: View::of_function(before), after: after.map(View::of_function), whole: true }
    }
}

/// The locations of a block that could mislead; neighbours mostly share one, which is given once.
fn real_locations<'a>(block: &'a Block, locations: &'a LocationTable) -> impl Iterator<Item = LocId> + 'a {
    let mut last = LocId::NONE;
    let locs = block.insts.iter().map(|inst| inst.loc);
    locs.filter(move |loc| std::mem::replace(&mut last, *loc) != *loc).filter(|loc| is_real(locations, *loc))
}
