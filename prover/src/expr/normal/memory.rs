//! Load over store. Two addresses are compared by their difference: a constant decides, anything else leaves
//! the load where it is. Stores at known distances are kept by address, lowest first, and an overwritten
//! store disappears.

use super::Normaliser;
use crate::bits::{Bits, mask};
use crate::expr::{Arena, ExprId, Node};

/// How `length` bytes at some distance lie to `stored` bytes at distance 0.
enum Overlap {
    /// Not at all.
    Apart,
    /// All of them inside, from this byte on.
    Inside(u32),
    /// Some: the boundary is after so many of the bytes.
    SplitAfter(u32),
    /// The distance is not a constant.
    Unknown,
}

impl Normaliser {
    pub(super) fn load(&mut self, arena: &mut Arena, memory: ExprId, address: ExprId, bytes: u32) -> ExprId {
        let mut memory = memory;
        while let Node::Store { memory: before, address: stored, value } = *arena.node(memory) {
            let size = arena.width_bits(value) / 8;
            match self.overlap(arena, address, bytes, stored, size) {
                Overlap::Apart => {
                    self.rule("load-past-store");
                    memory = before;
                }
                Overlap::Inside(first) => {
                    self.rule("load-of-store");
                    return self.extract(arena, value, 8 * first, 8 * bytes);
                }
                Overlap::SplitAfter(count) => {
                    self.rule("load-split");
                    let low = self.load(arena, memory, address, count);
                    let offset = Bits::new(arena.width_bits(address), u128::from(count));
                    let above = self.sum(arena, offset, &[(1, address)]);
                    let high = self.load(arena, memory, above, bytes - count);
                    return self.concat(arena, &[high, low]);
                }
                Overlap::Unknown => break,
            }
        }
        arena.load(memory, address, bytes)
    }

    pub(super) fn store(
        &mut self,
        arena: &mut Arena,
        memory: ExprId,
        address: ExprId,
        value: ExprId,
    ) -> ExprId {
        let size = arena.width_bits(value) / 8;
        if size <= 16 && self.load(arena, memory, address, size) == value {
            self.rule("store-of-load");
            return memory;
        }
        let Node::Store { memory: before, address: earlier, value: old } = *arena.node(memory) else {
            return arena.store(memory, address, value);
        };
        let old_size = arena.width_bits(old) / 8;
        if let Overlap::Inside(_) = self.overlap(arena, earlier, old_size, address, size) {
            self.rule("store-overwritten");
            return self.store(arena, before, address, value);
        }
        let apart = matches!(self.overlap(arena, address, size, earlier, old_size), Overlap::Apart);
        let distance = self.difference(arena, address, earlier);
        let below = arena.as_constant(distance).is_some_and(|bits| bits.signed() < 0);
        if apart && below {
            self.rule("stores-sorted");
            let inner = self.store(arena, before, address, value);
            return self.plain_store(arena, inner, earlier, old);
        }
        arena.store(memory, address, value)
    }

    /// Puts back a store that was there before: nothing below it changed but a store apart from it.
    fn plain_store(&mut self, arena: &mut Arena, memory: ExprId, address: ExprId, value: ExprId) -> ExprId {
        arena.store(memory, address, value)
    }

    fn overlap(
        &mut self,
        arena: &mut Arena,
        address: ExprId,
        length: u32,
        stored: ExprId,
        size: u32,
    ) -> Overlap {
        let distance = self.difference(arena, address, stored);
        let Some(bits) = arena.as_constant(distance) else { return Overlap::Unknown };
        let (length, size) = (u128::from(length), u128::from(size));
        let ahead = bits.value();
        // Addresses wrap around: the same distance counted the other way.
        let behind = Bits::new(bits.width_bits(), 0).sub(bits).value();
        debug_assert!(length + size <= mask(bits.width_bits()));
        if ahead + length <= size {
            Overlap::Inside(ahead as u32)
        } else if ahead < size {
            Overlap::SplitAfter((size - ahead) as u32)
        } else if behind < length {
            Overlap::SplitAfter(behind as u32)
        } else {
            Overlap::Apart
        }
    }
}
