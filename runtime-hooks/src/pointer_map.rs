//! A hash map keyed by addresses of LLVM objects.
//!
//! Every hook looks something up by address, millions of times in a compilation, so the hash is one
//! multiplication. Keys come from the allocator, not from an adversary.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::ffi::Ptr;

/// From the address of an LLVM object to what is known of it.
pub type PointerMap<V> = HashMap<usize, V, BuildHasherDefault<AddressHasher>>;

/// Addresses of LLVM objects.
pub type PointerSet = HashSet<usize, BuildHasherDefault<AddressHasher>>;

/// The key for an object.
pub fn key(object: Ptr) -> usize {
    object as usize
}

/// Fibonacci hashing: the high bits of the product depend on all bits of the address.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let product = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The table takes its bucket from the low bits and its tag from the top seven: fold both in.
        self.0 = product ^ (product >> 32);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
