//! The cover contains all points, is the strongest one (against enumeration at small widths), and does not
//! depend on the order of the points.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn cover(width_bits: u32, columns: usize, points: &[Vec<u128>]) -> Cover {
    let order: Vec<usize> = (0..columns).collect();
    let mut cover = Cover::new(width_bits, &order);
    for point in points {
        cover.add(point);
    }
    cover
}

/// All vectors of a length with entries below `end`.
fn vectors(length: usize, end: u128) -> Vec<Vec<u128>> {
    (0..length).fold(vec![Vec::new()], |shorter, _| {
        let longer = |vector: Vec<u128>| {
            (0..end).map(move |entry| [vector.as_slice(), &[entry]].concat()).collect::<Vec<_>>()
        };
        shorter.into_iter().flat_map(longer).collect()
    })
}

/// The points at which every relation that holds at all of `points` holds, by trying all.
fn enumerated(width_bits: u32, columns: usize, points: &[Vec<u128>]) -> BTreeSet<Vec<u128>> {
    let end = 1 << width_bits;
    let relation = |vector: Vec<u128>| Relation {
        constant: vector[0],
        coefficients: vector[1..].to_vec(),
        defines: None,
    };
    let valid: Vec<Relation> = vectors(columns + 1, end)
        .into_iter()
        .map(relation)
        .filter(|relation| points.iter().all(|point| relation.holds(width_bits, point)))
        .collect();
    let inside = |point: &Vec<u128>| valid.iter().all(|relation| relation.holds(width_bits, point));
    vectors(columns, end).into_iter().filter(inside).collect()
}

fn covered(cover: &Cover, columns: usize) -> BTreeSet<Vec<u128>> {
    let relations = cover.relations();
    let inside =
        |point: &Vec<u128>| relations.iter().all(|relation| relation.holds(cover.width_bits(), point));
    vectors(columns, 1 << cover.width_bits()).into_iter().filter(inside).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_cover_is_the_strongest(
        width_bits in 1u32..4,
        columns in 1usize..3,
        raw in prop::collection::vec(prop::array::uniform2(any::<u8>()), 1..6),
    ) {
        let end = 1u128 << width_bits;
        let points: Vec<Vec<u128>> =
            raw.iter().map(|row| row[..columns].iter().map(|x| u128::from(*x) % end).collect()).collect();
        let cover = cover(width_bits, columns, &points);
        prop_assert_eq!(covered(&cover, columns), enumerated(width_bits, columns, &points));
    }

    #[test]
    fn all_points_are_inside_at_full_width(
        width_bits in prop::sample::select(vec![8u32, 32, 64, 128]),
        raw in prop::collection::vec(prop::array::uniform5(any::<(u128, u8)>()), 1..12),
    ) {
        // Entries with many factors of 2 are what makes this ring hard.
        let entry = |(value, twos): &(u128, u8)| {
            value.checked_shl(u32::from(*twos) % width_bits).unwrap_or(0) & mask(width_bits)
        };
        let points: Vec<Vec<u128>> = raw.iter().map(|row| row.iter().map(entry).collect()).collect();
        let mut cover = cover(width_bits, 5, &points);
        for relation in cover.relations() {
            prop_assert!(points.iter().all(|point| relation.holds(width_bits, point)));
        }
        for point in &points {
            prop_assert!(!cover.add(point), "a known point changes nothing");
        }
    }

    #[test]
    fn the_order_of_points_does_not_matter(
        raw in prop::collection::vec(prop::array::uniform2(0u128..8), 1..6), turn in 0usize..6,
    ) {
        let points: Vec<Vec<u128>> = raw.iter().map(|row| row.to_vec()).collect();
        let mut turned = points.clone();
        turned.rotate_left(turn % points.len());
        prop_assert_eq!(covered(&cover(3, 2, &points), 2), covered(&cover(3, 2, &turned), 2));
    }
}

/// rax = 4*i and i is a multiple of 4, as at the head of the vectorised s000.
#[test]
fn a_vector_loop_counter() {
    let points: Vec<Vec<u128>> = [0u128, 4, 8, 400, 31996].iter().map(|i| vec![*i, 4 * i]).collect();
    let relations = cover(64, 2, &points).relations();
    let rax = Relation {
        constant: 0,
        coefficients: vec![1u128.wrapping_neg() << 2 & mask(64), 1],
        defines: Some(1),
    };
    let multiple = Relation { constant: 0, coefficients: vec![1 << 62, 0], defines: None };
    assert_eq!(relations, [rax, multiple]);
}

#[test]
fn one_point_is_its_own_cover() {
    let cover = cover(32, 2, &[vec![7, 9]]);
    let relations = cover.relations();
    assert_eq!(relations.len(), 2);
    assert!(relations.iter().all(|relation| relation.holds(32, &[7, 9])));
    assert!(relations.iter().any(|relation| !relation.holds(32, &[7, 8])));
}

#[test]
fn nothing_is_left_between_random_columns() {
    let points: Vec<Vec<u128>> = vec![vec![3, 10], vec![4, 90], vec![9, 3], vec![12, 77], vec![1, 1]];
    assert!(cover(32, 2, &points).relations().is_empty());
}

/// Giving up a relation makes the cover weaker, and leaves the other one.
#[test]
fn one_relation_is_given_up() {
    let points: Vec<Vec<u128>> = [0u128, 4, 8, 400, 31996].iter().map(|i| vec![*i, 4 * i]).collect();
    let whole = cover(64, 2, &points);
    for (number, gone) in whole.relations().iter().enumerate() {
        let mut weaker = whole.clone();
        weaker.give_up(gone);
        let left = weaker.relations();
        assert!(!left.contains(gone) && left.contains(&whole.relations()[1 - number]), "{left:?}");
    }
}

/// Where the first column is a multiple of 4, a relation between the others does not name it.
#[test]
fn what_is_divisible_is_not_named_for_nothing() {
    let points: Vec<Vec<u128>> = [(4u128, 3u128), (16, 4), (36, 9), (44, 14), (8, 1)]
        .iter()
        .map(|(a, i)| vec![*a, *i, 4 * i])
        .collect();
    let relations = cover(64, 3, &points).relations();
    let named = relations.iter().find(|relation| relation.defines == Some(2)).unwrap();
    assert_eq!(named.coefficients, [0, 4u128.wrapping_neg() & mask(64), 1]);
    assert!(points.iter().all(|point| relations.iter().all(|relation| relation.holds(64, point))));
}
