//! Small changes to a long section: ranges replaced by other bytes, and where every offset is then.

use std::ops::Range;

/// Replaces a range by bytes; an empty range inserts before its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// What goes.
    pub range: Range<usize>,
    /// What comes.
    pub with: Vec<u8>,
}

/// Changes by offset.
#[derive(Debug, Clone, Default)]
pub struct Splices {
    sorted: Vec<Splice>,
    /// By how much offsets at and after each change's end move.
    shifts: Vec<isize>,
    /// Where the changes are among the sorted ones, in the order in which they were given.
    places: Vec<usize>,
}

impl Splices {
    /// Changes in any order; insertions at one place stay in order.
    pub fn new(splices: Vec<Splice>) -> Splices {
        let mut order: Vec<usize> = (0..splices.len()).collect();
        order.sort_by_key(|number| (splices[*number].range.start, splices[*number].range.end));
        let mut places = vec![0; splices.len()];
        for (place, number) in order.iter().enumerate() {
            places[*number] = place;
        }
        let splices: Vec<Splice> = order.into_iter().map(|number| splices[number].clone()).collect();
        let mut shift = 0;
        let shifts = splices
            .iter()
            .map(|splice| {
                shift += splice.with.len() as isize - splice.range.len() as isize;
                shift
            })
            .collect();
        Splices { sorted: splices, shifts, places }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Where an offset is afterwards: after what is inserted before it. An offset inside of a replaced range has no
    /// new place; it gets that of the range's start.
    pub fn map(&self, offset: usize) -> usize {
        let done = self.sorted.partition_point(|splice| splice.range.end <= offset);
        let shift = if done == 0 { 0 } else { self.shifts[done - 1] };
        match self.sorted.get(done) {
            Some(splice) if splice.range.start < offset => splice.range.start.wrapping_add_signed(shift),
            _ => offset.wrapping_add_signed(shift),
        }
    }

    /// Whether an offset lies in what is replaced.
    pub fn replaces(&self, offset: usize) -> bool {
        let next = self.sorted.partition_point(|splice| splice.range.end <= offset);
        self.sorted.get(next).is_some_and(|splice| splice.range.contains(&offset))
    }

    /// Where the bytes that a change inserts begin afterwards, by its number in the order in which they were given.
    pub fn inserted(&self, number: usize) -> Option<usize> {
        let place = *self.places.get(number)?;
        let shift = if place == 0 { 0 } else { self.shifts[place - 1] };
        Some(self.sorted[place].range.start.wrapping_add_signed(shift))
    }

    /// The changed bytes; nothing if changes overlap or lie outside, as they may in broken debug information.
    pub fn apply(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let grown = self.shifts.last().copied().unwrap_or(0);
        let mut out = Vec::with_capacity(bytes.len().saturating_add_signed(grown));
        let mut at = 0;
        for splice in &self.sorted {
            out.extend_from_slice(bytes.get(at..splice.range.start)?);
            out.extend_from_slice(&splice.with);
            at = splice.range.end;
        }
        out.extend_from_slice(bytes.get(at..)?);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn splice(range: Range<usize>, with: &[u8]) -> Splice {
        Splice { range, with: with.to_vec() }
    }

    #[test]
    fn offsets_follow_their_bytes() {
        let splices = Splices::new(vec![splice(6..6, b"++"), splice(1..2, b"abc"), splice(3..5, b"")]);
        assert_eq!(splices.apply(b"01234567").unwrap(), b"0abc25++67");
        assert_eq!(splices.apply(b"0123"), None);
        assert_eq!(Splices::new(vec![splice(1..4, b""), splice(2..3, b"")]).apply(b"012345"), None);
        assert_eq!([0, 1, 2, 5, 6, 7].map(|offset| splices.map(offset)), [0, 1, 4, 5, 8, 9]);
        assert!(splices.replaces(3) && !splices.replaces(2) && !splices.replaces(6));
        assert_eq!(splices.inserted(0), Some(6));
        let twice = Splices::new(vec![splice(1..1, b"ab"), splice(1..1, b"ab")]);
        assert_eq!([twice.inserted(0), twice.inserted(1), twice.inserted(2)], [Some(1), Some(3), None]);
    }

    proptest! {
        /// Every byte that is not replaced is found again where its offset went.
        #[test]
        fn kept_bytes_are_where_the_map_says(
            length in 1usize..60,
            cuts in proptest::collection::btree_set(0usize..60, 0..8),
            inserted in 0usize..5,
        ) {
            let bytes: Vec<u8> = (0..length as u8).collect();
            let cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < length).collect();
            let list = cuts.chunks(2).map(|pair| {
                splice(pair[0]..pair.get(1).copied().unwrap_or(pair[0]), &vec![0xff; inserted])
            }).collect();
            let splices = Splices::new(list);
            let changed = splices.apply(&bytes).unwrap();
            for (offset, byte) in bytes.iter().enumerate() {
                if !splices.replaces(offset) {
                    prop_assert_eq!(changed[splices.map(offset)], *byte);
                }
            }
        }
    }
}
