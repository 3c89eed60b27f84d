//! Equality of two memories taken apart: where both are one memory with stores at known distances, they are
//! equal if the stored pieces are. One vector store against four scalar ones becomes four equalities of lanes,
//! each small enough for rewriting or for a solver.

use super::normal::Normaliser;
use super::{Arena, ExprId, Node};
use crate::bits::Bits;
use std::collections::BTreeSet;

/// Pairs of bit vectors whose equality implies that of the memories, those that rewriting makes equal left
/// out; nothing if the memories start differently or a distance is not a constant.
pub fn memory_equality(
    arena: &mut Arena,
    normaliser: &mut Normaliser,
    left: ExprId,
    right: ExprId,
) -> Option<Vec<(ExprId, ExprId)>> {
    let (left, right) = (normaliser.normal(arena, left), normaliser.normal(arena, right));
    let (left_base, left_stores) = stores(arena, left);
    let (right_base, right_stores) = stores(arena, right);
    if left_base != right_base {
        return None;
    }
    let Some((origin, _)) = left_stores.first().or(right_stores.first()).copied() else {
        return Some(Vec::new());
    };
    let left_pieces = placed(arena, normaliser, origin, &left_stores)?;
    let right_pieces = placed(arena, normaliser, origin, &right_stores)?;
    let edges: BTreeSet<i64> =
        left_pieces.iter().chain(&right_pieces).flat_map(|piece| [piece.start, piece.end]).collect();
    let edges: Vec<i64> = edges.into_iter().collect();
    let mut unequal = Vec::new();
    for (start, end) in edges.iter().copied().zip(edges.iter().copied().skip(1)) {
        let mut side = |pieces: &[Piece]| slice(arena, pieces, start, end);
        let (one, other) = (side(&left_pieces), side(&right_pieces));
        let (one, other) = match (one, other) {
            (None, None) => continue,
            (Some(one), Some(other)) => (one, other),
            // Only one side writes here: it must write what was there.
            (Some(one), None) => (one, original(arena, left_base, origin, start, end)),
            (None, Some(other)) => (original(arena, left_base, origin, start, end), other),
        };
        let (one, other) = (normaliser.normal(arena, one), normaliser.normal(arena, other));
        if one != other {
            unequal.push((one, other));
        }
    }
    Some(unequal)
}

/// A stored value and where it lies.
struct Piece {
    start: i64,
    end: i64,
    value: ExprId,
}

/// The memory below all stores, and the stores, oldest first.
fn stores(arena: &Arena, memory: ExprId) -> (ExprId, Vec<(ExprId, ExprId)>) {
    let (mut base, mut found) = (memory, Vec::new());
    while let Node::Store { memory, address, value } = *arena.node(base) {
        found.push((address, value));
        base = memory;
    }
    found.reverse();
    (base, found)
}

fn placed(
    arena: &mut Arena,
    normaliser: &mut Normaliser,
    origin: ExprId,
    stores: &[(ExprId, ExprId)],
) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    for (address, value) in stores {
        let distance = arena.sub(*address, origin);
        let distance = normaliser.normal(arena, distance);
        let start = i64::try_from(arena.as_constant(distance)?.signed()).ok()?;
        let end = start.checked_add(i64::from(arena.width_bits(*value) / 8))?;
        pieces.push(Piece { start, end, value: *value });
    }
    Some(pieces)
}

/// What the newest store left between two edges; no store begins or ends in between.
fn slice(arena: &mut Arena, pieces: &[Piece], start: i64, end: i64) -> Option<ExprId> {
    let piece = pieces.iter().rev().find(|piece| piece.start <= start && end <= piece.end)?;
    let (low_bit, width_bits) = (8 * (start - piece.start) as u32, 8 * (end - start) as u32);
    Some(arena.extract(piece.value, low_bit, width_bits))
}

fn original(arena: &mut Arena, base: ExprId, origin: ExprId, start: i64, end: i64) -> ExprId {
    let offset = arena.constant(Bits::new(arena.width_bits(origin), start as u128));
    let address = arena.add(origin, offset);
    arena.load(base, address, (end - start) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Sort;

    struct Setting {
        arena: Arena,
        memory: ExprId,
        address: ExprId,
    }

    impl Setting {
        fn new() -> Setting {
            let mut arena = Arena::new();
            let memory = arena.variable("m", Sort::Memory(64));
            let address = arena.variable("p", Sort::Bits(64));
            Setting { arena, memory, address }
        }

        fn at(&mut self, offset: u128) -> ExprId {
            let offset = self.arena.constant(Bits::new(64, offset));
            self.arena.add(self.address, offset)
        }

        fn lane(&mut self, number: u32) -> ExprId {
            self.arena.variable(&format!("lane{number}"), Sort::Bits(32))
        }

        /// Stores lanes one by one.
        fn scalar(&mut self, lanes: &[u32]) -> ExprId {
            lanes.iter().fold(self.memory, |memory, number| {
                let (address, value) = (self.at(4 * u128::from(*number)), self.lane(*number));
                self.arena.store(memory, address, value)
            })
        }

        fn vector(&mut self) -> ExprId {
            let lanes = [3, 2, 1, 0].map(|number| self.lane(number));
            let value = self.arena.concat(&lanes);
            self.arena.store(self.memory, self.address, value)
        }

        fn unequal(&mut self, left: ExprId, right: ExprId) -> Option<usize> {
            let pairs = memory_equality(&mut self.arena, &mut Normaliser::new(), left, right);
            pairs.map(|pairs| pairs.len())
        }
    }

    #[test]
    fn one_vector_store_is_four_scalar_ones_in_any_order() {
        let mut setting = Setting::new();
        let (vector, scalar) = (setting.vector(), setting.scalar(&[2, 0, 3, 1]));
        assert_eq!(setting.unequal(vector, scalar), Some(0));
    }

    #[test]
    fn a_missing_lane_is_left_to_show() {
        let mut setting = Setting::new();
        let (vector, scalar) = (setting.vector(), setting.scalar(&[0, 1, 3]));
        assert_eq!(setting.unequal(vector, scalar), Some(1));
    }

    #[test]
    fn another_value_is_left_to_show() {
        let mut setting = Setting::new();
        let scalar = setting.scalar(&[0, 1, 2, 3]);
        let (address, value) = (setting.at(4), setting.lane(7));
        let changed = setting.arena.store(scalar, address, value);
        assert_eq!(setting.unequal(changed, scalar), Some(1));
    }

    #[test]
    fn an_unknown_distance_and_another_memory_are_refused() {
        let mut setting = Setting::new();
        let vector = setting.vector();
        let elsewhere = setting.arena.variable("q", Sort::Bits(64));
        let value = setting.lane(0);
        let unknown = setting.arena.store(vector, elsewhere, value);
        assert_eq!(setting.unequal(unknown, vector), None);
        let other = setting.arena.variable("n", Sort::Memory(64));
        assert_eq!(setting.unequal(other, vector), None);
    }

    use crate::expr::{Assignment, evaluate};
    use proptest::prelude::*;

    /// Stores of 1 to 8 bytes near each other, with values from a small set.
    fn build(setting: &mut Setting, stores: &[(u8, u8, u8)]) -> ExprId {
        stores.iter().fold(setting.memory, |memory, (offset, bytes, value)| {
            let address = setting.at(u128::from(offset % 12));
            let bits = Bits::new(
                8 * (1 + u32::from(bytes % 8)),
                [0, u128::MAX, 0x0102_0304_0506_0708][*value as usize % 3],
            );
            let value = setting.arena.constant(bits);
            setting.arena.store(memory, address, value)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn equal_pieces_mean_equal_memories(
            left in prop::collection::vec(any::<(u8, u8, u8)>(), 0..6),
            right in prop::collection::vec(any::<(u8, u8, u8)>(), 0..6),
            seed: u64,
        ) {
            let mut setting = Setting::new();
            let (left, right) = (build(&mut setting, &left), build(&mut setting, &right));
            let pairs = memory_equality(&mut setting.arena, &mut Normaliser::new(), left, right).unwrap();
            let assignment = Assignment { seed, ..Assignment::default() };
            let value = |id| evaluate(&setting.arena, id, &assignment);
            let pieces_equal = pairs.iter().all(|(one, other)| value(*one) == value(*other));
            prop_assert_eq!(pieces_equal, value(left) == value(right));
        }
    }
}
