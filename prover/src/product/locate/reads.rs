//! Which of the source's reads each instruction of an edge does: what tells iterations apart that store nothing.

use super::super::assumed::Assumed;
use super::super::walk::{Guarded, Walk};
use super::{LocateError, Locator};
use crate::bits::{Bits, mask};
use crate::region::{Access, Region};

/// Pairs of reads that are compared on one edge, at most: they are for guessing.
const MOST_PAIRS: usize = 1 << 12;

/// What is read between a position and the next one.
type Reads = Vec<(usize, Access)>;

impl Locator {
    /// Positions of the machine on an edge whose instruction reads the very bytes that the source reads from a position
    /// to its next one, as far as rewriting shows it. Nothing if one instruction reads or does several things at once:
    /// if it reads more than the source does at a time, or if there are vectors on the edge.
    pub fn reads(&mut self, edge: usize) -> Result<Vec<(usize, usize)>, LocateError> {
        let last = self.walk_machine_end(edge);
        let vectors = (0..16).filter_map(|number| self.arena.find_variable(&format!("xmm{number}")));
        if vectors.into_iter().any(|vector| last.values.contains_key(&vector)) {
            return Ok(Vec::new());
        }
        let of_machine = self.machine_reads(edge, &last);
        let of_source = self.source_reads(edge);
        if of_machine.len() * of_source.len() > MOST_PAIRS {
            return Ok(Vec::new());
        }
        let mut assumed = self.guessing(edge)?;
        let mut found = Some(Vec::new());
        for (machine, ours) in &of_machine {
            for (source, theirs) in of_source.iter().filter(|(_, theirs)| theirs.region == ours.region) {
                let Some(ahead) = self.ahead(&mut assumed, ours, theirs) else { continue };
                if (ahead, ours.bytes) == (0, theirs.bytes) {
                    found.iter_mut().for_each(|found| found.push((*machine, *source)));
                } else if ahead + u128::from(theirs.bytes) <= u128::from(ours.bytes) {
                    found = None;
                }
            }
        }
        self.edges[edge].guessing = Some(assumed);
        let mut found = found.unwrap_or_default();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// By how many bytes the second access is ahead of the first, modulo the width of an address.
    fn ahead(&mut self, assumed: &mut Assumed, first: &Access, second: &Access) -> Option<u128> {
        let arena = &mut self.arena;
        let width_bits = arena.width_bits(first.address);
        let terms = [(1, second.address), (mask(width_bits), first.address)];
        let ahead = arena.sum(Bits::new(width_bits, 0), &terms);
        let ahead = assumed.rewrite(arena, &mut self.normaliser, ahead);
        Some(self.arena.as_constant(ahead)?.value())
    }

    fn machine_reads(&mut self, edge: usize, last: &Walk) -> Reads {
        // What may be passed by tells nothing.
        let always = |number: &usize| !self.edges[edge].machine[*number].aside;
        let numbers: Vec<usize> = (0..self.edges[edge].machine.len()).filter(always).collect();
        let mut walks: Vec<Walk> = numbers.iter().map(|number| self.walk_machine(edge, *number)).collect();
        walks.push(last.clone());
        let positions = &self.edges[edge].machine;
        let numbers = numbers.into_iter().map(|number| (number, positions[number].peek.is_none()));
        between(numbers, &walks)
    }

    fn source_reads(&mut self, edge: usize) -> Reads {
        let numbers: Vec<usize> = (0..self.edges[edge].source.len()).collect();
        let walks: Vec<Walk> = numbers.iter().map(|number| self.walk_source(edge, *number)).collect();
        let positions = self.edges[edge].source.iter().enumerate();
        between(positions.map(|(number, position)| (number, position.peek.is_none())), &walks)
    }
}

/// What each walk but the last reads on the way to the next, whatever branch it takes. Numbers of the positions, and
/// whether they begin a step.
fn between(positions: impl Iterator<Item = (usize, bool)>, walks: &[Walk]) -> Reads {
    let mut found = Vec::new();
    let mut when = None;
    for ((number, begins), walks) in positions.zip(walks.windows(2)) {
        let (here, next) = (&walks[0], &walks[1]);
        // What is read on some paths of the step only has another condition.
        when = if begins { Some(here.condition) } else { when };
        let new: &[Guarded<Access>] = next.accesses.get(here.accesses.len()..).unwrap_or_default();
        let read = |access: &&Guarded<Access>| {
            !access.what.write && access.what.region != Region::Stack && Some(access.when) == when
        };
        found.extend(new.iter().filter(read).map(|access| (number, access.what.clone())));
    }
    found
}
