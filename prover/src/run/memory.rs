//! Memory of a concrete state: pages that are shared until they are written. What was never written is made
//! up from a key, always the same, so a state costs what it changed.
//!
//! A run copies its state at every step, so the table of pages is shared, too: pages that were written lately
//! stand beside it and join it now and then.

use crate::bits::mask;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

const PAGE_BYTES: u64 = 256;
/// Bytes that a digest takes together.
const WORD_BYTES: usize = 8;
type Page = [u8; PAGE_BYTES as usize];

/// Bytes by 64-bit address.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    key: u64,
    /// Pages by number, but for those that are in `recent`.
    settled: Rc<Pages>,
    /// By number; few, and those written last are looked for first.
    recent: Vec<(u64, Rc<Page>)>,
    /// A sum over all words of what a word is at its address, less what it was at first: the same for the same
    /// contents, however they came about.
    digest: u64,
}

type Pages = HashMap<u64, Rc<Page>, BuildHasherDefault<PageHasher>>;

/// Numbers of pages are nobody's to choose: one multiplication spreads them well enough.
#[derive(Debug, Clone, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let spread = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }
}

/// Pages that are copied with a state.
const MOST_RECENT: usize = 24;

impl Memory {
    /// All made up from a key.
    pub fn made_up(key: u64) -> Memory {
        Memory { key: key & !3, ..Memory::default() }
    }

    /// The same, of small numbers: words are often equal, or zero, or one more than another.
    pub fn made_up_small(key: u64) -> Memory {
        Memory { key: key & !3 | 1, ..Memory::default() }
    }

    /// The same, of numbers that would do as indices.
    pub fn made_up_indices(key: u64) -> Memory {
        Memory { key: key & !3 | 2, ..Memory::default() }
    }

    /// The same, of floating-point numbers of a middling size: none is a NaN, and sums of some are none.
    pub fn made_up_floats(key: u64) -> Memory {
        Memory { key: key | 3, ..Memory::default() }
    }

    /// Some bytes, little-endian; addresses wrap around.
    pub fn load(&self, address: u64, bytes: u32) -> u128 {
        let offset = (address % PAGE_BYTES) as usize;
        let end = offset + bytes as usize;
        if end <= PAGE_BYTES as usize {
            return match self.page(address / PAGE_BYTES) {
                Some(page) => little_endian(&page[offset..end]),
                None => made_up_bytes(self.key, address, bytes),
            };
        }
        let byte = |number: u32| {
            let at = address.wrapping_add(u64::from(number));
            u128::from(self.byte(at)) << (8 * number)
        };
        (0..bytes).map(byte).fold(0, |all, byte| all | byte)
    }

    /// One byte.
    pub fn byte(&self, address: u64) -> u8 {
        match self.page(address / PAGE_BYTES) {
            Some(page) => page[(address % PAGE_BYTES) as usize],
            None => made_up_byte(self.key, address),
        }
    }

    fn page(&self, number: u64) -> Option<&Rc<Page>> {
        let recent = self.recent.iter().rev().find(|(recent, _)| *recent == number);
        recent.map(|(_, page)| page).or_else(|| self.settled.get(&number))
    }

    /// A page to write to.
    fn page_mut(&mut self, number: u64) -> &mut Page {
        let place = self.recent.iter().rposition(|(recent, _)| *recent == number).unwrap_or_else(|| {
            if self.recent.len() >= MOST_RECENT {
                Rc::make_mut(&mut self.settled).extend(self.recent.drain(..));
            }
            let page = self.settled.get(&number).cloned();
            let page = page.unwrap_or_else(|| Rc::new(made_up_page(self.key, number)));
            self.recent.push((number, page));
            self.recent.len() - 1
        });
        Rc::make_mut(&mut self.recent[place].1)
    }

    /// Replaces one byte.
    pub fn set_byte(&mut self, address: u64, byte: u8) {
        self.store(address, u128::from(byte), 1);
    }

    /// Replaces some bytes; those that are the same already cost nothing.
    pub fn store(&mut self, address: u64, value: u128, bytes: u32) {
        let offset = (address % PAGE_BYTES) as usize;
        let end = offset + bytes as usize;
        if end > PAGE_BYTES as usize {
            for number in 0..bytes {
                self.set_byte(address.wrapping_add(u64::from(number)), (value >> (8 * number)) as u8);
            }
        } else if self.load(address, bytes) != value & mask(8 * bytes) {
            let number = address / PAGE_BYTES;
            let page = self.page_mut(number);
            let (first, last) = (offset / WORD_BYTES, (end - 1) / WORD_BYTES);
            let digest = |page: &Page| {
                let words = (first..=last).map(|word| digest(page, number, word));
                words.fold(0, u64::wrapping_add)
            };
            let before = digest(page);
            page[offset..end].copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
            let after = digest(page);
            self.digest = self.digest.wrapping_add(after).wrapping_sub(before);
        }
    }

    /// A number that is the same for memories that [seem the same](Memory::seems_same_as).
    pub fn fingerprint(&self) -> u64 {
        mixed(mixed(self.key) ^ self.digest)
    }

    /// Whether every byte seems to be the same: memories that are the same do, and of those that are not one pair in
    /// 2^64. Enough where a mistake costs nothing but time.
    pub fn seems_same_as(&self, other: &Memory) -> bool {
        (self.key, self.digest) == (other.key, other.digest)
    }

    /// Whether every byte is the same.
    pub fn same_as(&self, other: &Memory) -> bool {
        // Two keys make up two memories: no number of pages makes those equal. Nor are contents with two digests.
        if !self.seems_same_as(other) {
            return false;
        }
        let same = |number: &u64| match (self.page(*number), other.page(*number)) {
            (Some(left), Some(right)) => Rc::ptr_eq(left, right) || left == right,
            (Some(page), None) | (None, Some(page)) => **page == made_up_page(self.key, *number),
            (None, None) => true,
        };
        let shared = Rc::ptr_eq(&self.settled, &other.settled);
        self.recent.iter().chain(&other.recent).all(|(number, _)| same(number))
            && (shared || self.settled.keys().chain(other.settled.keys()).all(same))
    }
}

/// What a word of a page adds to the digest of its memory.
fn digest(page: &Page, number: u64, word: usize) -> u64 {
    let bytes = &page[word * WORD_BYTES..(word + 1) * WORD_BYTES];
    let value = little_endian(bytes) as u64;
    mixed(value ^ mixed(number * PAGE_BYTES + word as u64))
}

fn made_up_page(key: u64, number: u64) -> Page {
    let mut page = [0; PAGE_BYTES as usize];
    for (offset, word) in page.chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&made_up_word(key, number * PAGE_BYTES + 4 * offset as u64).to_le_bytes());
    }
    page
}

/// Some bytes that nobody wrote.
fn made_up_bytes(key: u64, address: u64, bytes: u32) -> u128 {
    if address.is_multiple_of(4) && bytes.is_multiple_of(4) {
        let word =
            |number: u32| u128::from(made_up_word(key, address + 4 * u64::from(number))) << (32 * number);
        return (0..bytes / 4).map(word).fold(0, |all, word| all | word);
    }
    let byte = |number: u32| u128::from(made_up_byte(key, address + u64::from(number))) << (8 * number);
    (0..bytes).map(byte).fold(0, |all, byte| all | byte)
}

fn little_endian(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(word)
}

fn made_up_byte(key: u64, address: u64) -> u8 {
    made_up_word(key, address & !3).to_le_bytes()[(address & 3) as usize]
}

/// Mostly random, now and then small: programs compare with small numbers. The last two bits of the key say
/// that all are small, or indices, or floating-point numbers.
fn made_up_word(key: u64, address: u64) -> u32 {
    let bits = mixed(key ^ address.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    match key & 3 {
        1 => ((bits as u32) % 5).wrapping_sub(2),
        2 => bits as u32 % 1000,
        3 => made_up_float(bits),
        _ if bits >> 60 == 0 => (bits as u32) % 6,
        _ => bits as u32,
    }
}

/// The upper half of a `double` of a middling size, and a `float` of one: now and then a small integer.
pub fn made_up_float(bits: u64) -> u32 {
    let sign = (bits as u32) & 0x8000_0000;
    match bits >> 60 {
        0 => ((bits % 7) as f32 - 3.0).to_bits(),
        _ => sign | (0x78 + (bits as u32 >> 23 & 15)) << 23 | (bits as u32 & 0x7f_ffff),
    }
}

/// A 64-bit number in which every bit depends on every bit (the finaliser of splitmix64).
pub fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_loaded_across_pages() {
        let mut memory = Memory::made_up(7);
        let below = memory.byte(250);
        memory.store(251, 0x0102_0304_0506_0708_090a, 10);
        assert_eq!(memory.load(251, 10), 0x0102_0304_0506_0708_090a);
        assert_eq!((memory.byte(250), memory.byte(260)), (below, 1));
    }

    #[test]
    fn many_pages_are_kept_and_copies_do_not_see_each_other() {
        let mut memory = Memory::made_up(8);
        let mut copies = Vec::new();
        for number in 0..5 * MOST_RECENT as u64 {
            memory.store(number * PAGE_BYTES + 8, u128::from(number), 4);
            memory.store(8, u128::from(number), 4);
            copies.push(memory.clone());
        }
        for (number, copy) in (0u64..).zip(&copies) {
            assert_eq!(copy.load(8, 4), u128::from(number));
            assert!((1..=number).all(|page| copy.load(page * PAGE_BYTES + 8, 4) == u128::from(page)));
            assert!(
                copy.same_as(&copy.clone())
                    && (copy.same_as(&memory) == (copy.load(8, 4) == memory.load(8, 4)))
            );
        }
    }

    #[test]
    fn equality_is_by_contents() {
        let memory = Memory::made_up(6);
        let mut other = memory.clone();
        let byte = other.byte(1000);
        other.set_byte(1000, !byte);
        assert!(!memory.same_as(&other) && !other.same_as(&memory));
        other.set_byte(1000, byte);
        assert!(memory.same_as(&other));
        assert!(memory.seems_same_as(&other), "a digest forgets how it came about");
        other.store(1001, 0x1234_5678_9abc, 6);
        assert!(!memory.seems_same_as(&other));
        assert!(!memory.same_as(&Memory::made_up(8)));
        assert!(!memory.same_as(&Memory::made_up_small(7)));
        assert!(!memory.same_as(&Memory::made_up_indices(7)));
    }

    #[test]
    fn small_numbers_are_small_and_of_both_signs() {
        let memory = Memory::made_up_small(12);
        let words: Vec<i32> = (0..100).map(|number| memory.load(4 * number, 4) as u32 as i32).collect();
        assert!(words.iter().all(|word| (-2..=2).contains(word)), "{words:?}");
        assert!(words.contains(&-2) && words.contains(&0) && words.contains(&2), "{words:?}");
    }
}
