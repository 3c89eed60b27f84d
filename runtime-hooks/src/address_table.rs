//! From the addresses of live instructions to their ids, laid out as the heap is.
//!
//! Every event looks instructions up, and a pass goes through neighbours. A hash would spread them over the whole
//! table, a cache line or two each; here sixteen neighbours on the heap share a line, so that a function that
//! fits the cache with LLVM does so with us. In one that does not, a lookup is one miss: a slot says by itself
//! which address it is about.

use std::cell::Cell;

use metaloc_record::InstId;

use crate::ffi::Ptr;
use crate::pointer_map::{PointerMap, key};

/// No instruction is smaller (`cpp/entries.cpp` insists), so that no two begin in the same granule.
const GRANULE: usize = 64;
/// Instructions begin at multiples of this, so that a granule has eight places for one.
const ALIGNMENT: usize = 8;
const PLACES: u32 = (GRANULE / ALIGNMENT) as u32;
/// Granules that are kept together.
const PAGE: usize = 1024;
/// Ids from here on do not fit into a slot: their instructions are not known by address. A process would have to
/// make 500 million instructions.
const TOO_LARGE: u32 = u32::MAX / PLACES;

/// At most one id per granule of memory.
#[derive(Default)]
pub struct AddressTable {
    /// Where the pages of memory are in `slots`.
    pages: PointerMap<usize>,
    /// Per granule an id plus one and the place of its instruction in the granule; 0 for none.
    slots: Vec<u32>,
    /// The page that was last looked up, and where it is.
    last: Cell<Option<(usize, usize)>>,
}

impl AddressTable {
    /// What an address means, if anything. It is a multiple of [`ALIGNMENT`].
    pub fn get(&self, address: Ptr) -> Option<InstId> {
        let slot = self.slots[self.find(address)?];
        let id = (slot / PLACES).checked_sub(1)?;
        (slot % PLACES == place(address)).then_some(InstId(id))
    }

    /// From now on the address means this id, and no other address in its granule means anything.
    pub fn put(&mut self, address: Ptr, id: InstId) {
        let at = self.find(address).unwrap_or_else(|| self.add(address));
        self.slots[at] = if id.0 < TOO_LARGE { (id.0 + 1) * PLACES + place(address) } else { 0 };
    }

    /// From now on nothing in the granule of the address has an id.
    pub fn clear(&mut self, address: Ptr) {
        if let Some(at) = self.find(address) {
            self.slots[at] = 0;
        }
    }

    fn find(&self, address: Ptr) -> Option<usize> {
        let (page, granule) = split(address);
        let start = match self.last.get() {
            Some((last, start)) if last == page => start,
            _ => {
                let start = *self.pages.get(&page)?;
                self.last.set(Some((page, start)));
                start
            }
        };
        Some(start + granule)
    }

    fn add(&mut self, address: Ptr) -> usize {
        let (page, granule) = split(address);
        let start = self.slots.len();
        self.pages.insert(page, start);
        self.slots.resize(start + PAGE, 0);
        start + granule
    }
}

fn split(address: Ptr) -> (usize, usize) {
    let granule = key(address) / GRANULE;
    (granule / PAGE, granule % PAGE)
}

fn place(address: Ptr) -> u32 {
    (key(address) % GRANULE / ALIGNMENT) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> Ptr {
        address as Ptr
    }

    #[test]
    fn an_address_means_what_was_last_put_there() {
        let mut table = AddressTable::default();
        assert_eq!(table.get(at(0x7000_0040)), None);
        table.put(at(0x7000_0040), InstId(0));
        table.put(at(0x7000_0080), InstId(7));
        table.put(at(0x10), InstId(9));
        assert_eq!(table.get(at(0x7000_0040)), Some(InstId(0)));
        assert_eq!(table.get(at(0x7000_0080)), Some(InstId(7)));
        assert_eq!(table.get(at(0x10)), Some(InstId(9)));
        assert_eq!(table.get(at(0x7000_00c0)), None, "nothing was put there");
        table.put(at(0x7000_0048), InstId(8));
        assert_eq!(table.get(at(0x7000_0048)), Some(InstId(8)));
        assert_eq!(table.get(at(0x7000_0040)), None, "whatever was in the granule is gone");
        table.clear(at(0x7000_0040));
        table.clear(at(0x9000_0000));
        assert_eq!(table.get(at(0x7000_0048)), None);
        assert_eq!(table.get(at(0x7000_0080)), Some(InstId(7)));
    }

    #[test]
    fn every_place_of_a_granule_is_told_from_the_others() {
        let mut table = AddressTable::default();
        let places = (0x7000_0000..0x7000_0040).step_by(ALIGNMENT);
        for (id, place) in (0..).map(InstId).zip(places.clone()) {
            table.put(at(place), id);
            assert_eq!(places.clone().filter_map(|one| table.get(at(one))).collect::<Vec<_>>(), [id]);
        }
    }

    #[test]
    fn an_id_that_does_not_fit_is_not_known_and_is_nobody_else() {
        let mut table = AddressTable::default();
        for (id, fits) in [(TOO_LARGE - 1, true), (TOO_LARGE, false), (u32::MAX, false)] {
            let id = InstId(id);
            table.put(at(0x7000_0078), id);
            assert_eq!(table.get(at(0x7000_0078)), fits.then_some(id));
        }
    }
}
