//! Rewriting keeps values: random expressions over all node kinds, evaluated before and after under random
//! values; and the rewrites that the prover relies on, by example.

use super::Normaliser;
use crate::bits::{Bits, mask};
use crate::expr::{Arena, Assignment, BinaryOp, CommutativeOp, CompareOp, ExprId, Sort, evaluate};
use crate::run::memory::mixed;
use proptest::prelude::*;
use std::collections::BTreeSet;

const WIDTHS: [u32; 6] = [1, 8, 16, 32, 64, 128];

/// Builds a random expression from random words; every word chooses an operation and its operands.
fn build(arena: &mut Arena, words: &[u64]) -> ExprId {
    let mut pool: Vec<ExprId> = Vec::new();
    for width_bits in WIDTHS {
        for name in ["a", "b"] {
            pool.push(arena.variable(&format!("{name}{width_bits}"), Sort::Bits(width_bits)));
        }
        for value in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978] {
            pool.push(arena.constant(Bits::new(width_bits, value)));
        }
    }
    let mut memories = vec![arena.variable("m", Sort::Memory(64))];
    for word in words {
        grow(arena, &mut pool, &mut memories, *word);
    }
    if words.first().is_some_and(|word| word % 5 == 0) {
        memories[memories.len() - 1]
    } else {
        pool[pool.len() - 1]
    }
}

fn grow(arena: &mut Arena, pool: &mut Vec<ExprId>, memories: &mut Vec<ExprId>, word: u64) {
    // Recent expressions are preferred, so that the result is deep.
    let pick = |bits: u64, pool: &[ExprId]| {
        let back = (bits as usize % pool.len()).min(bits as usize % 7);
        if bits & 0x80 == 0 { pool[pool.len() - 1 - back] } else { pool[bits as usize % pool.len()] }
    };
    let left = pick(word >> 8, pool);
    let width_bits = arena.width_bits(left);
    let same: Vec<ExprId> = pool.iter().copied().filter(|id| arena.width_bits(*id) == width_bits).collect();
    let right = pick(word >> 16, &same);
    let third = pick(word >> 24, &same);
    let bits: Vec<ExprId> = pool.iter().copied().filter(|id| arena.width_bits(*id) == 1).collect();
    let address = address(arena, pool, word);
    let memory = memories[memories.len() - 1 - (word >> 40) as usize % memories.len().min(2)];
    let made = match word % 16 {
        0 => arena.add(left, right),
        1 => arena.sub(left, right),
        2 => arena.commutative(CommutativeOp::Product, &[left, right]),
        3 => arena.commutative(CommutativeOp::And, &[left, right, third]),
        4 => arena.commutative(CommutativeOp::Or, &[left, right]),
        5 => arena.commutative(CommutativeOp::Xor, &[left, right, third]),
        6 => {
            use BinaryOp::*;
            let op = [UDiv, URem, SDiv, SRem, Shl, LShr, AShr][(word >> 32) as usize % 7];
            let small =
                arena.constant(Bits::new(width_bits, u128::from(word >> 48) % u128::from(width_bits + 2)));
            arena.binary(op, left, if word >> 63 == 0 { small } else { right })
        }
        7 | 8 => {
            let op = [CompareOp::Eq, CompareOp::Ult, CompareOp::Slt][(word >> 32) as usize % 3];
            arena.compare(op, left, right)
        }
        9 | 10 => {
            let low_bit = (word >> 32) as u32 % width_bits;
            let width = 1 + (word >> 40) as u32 % (width_bits - low_bit);
            let aligned = (low_bit & !7, 8.min(width_bits));
            let (low_bit, width) =
                if width_bits.is_multiple_of(8) && word >> 63 == 0 { aligned } else { (low_bit, width) };
            arena.extract(left, low_bit, width)
        }
        11 => arena.sign_extend(left, (width_bits + (word >> 32) as u32 % 70).min(128)),
        12 if width_bits <= 64 => arena.concat(&[left, right]),
        13 => {
            let condition = pick(word >> 32, &bits);
            arena.choice(condition, left, right)
        }
        14 => arena.load(memory, address, 1 + (word >> 32) as u32 % 16),
        15 if width_bits.is_multiple_of(8) => {
            memories.push(arena.store(memory, address, left));
            return;
        }
        _ => arena.not(left),
    };
    pool.push(made);
}

/// Addresses near each other, or apart by an unknown distance.
fn address(arena: &mut Arena, pool: &[ExprId], word: u64) -> ExprId {
    let bases: Vec<ExprId> = pool.iter().copied().filter(|id| arena.width_bits(*id) == 64).collect();
    let base = if word >> 62 == 0 { bases[word as usize % bases.len()] } else { bases[0] };
    let offset = arena.constant(Bits::new(64, u128::from(word >> 50) % 24));
    arena.add(base, offset)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]
    #[test]
    fn rewriting_keeps_values(words in prop::collection::vec(any::<u64>(), 1..40), seeds: [u64; 4], corner: u128) {
        keeps_values(&words, &seeds, corner)?;
    }
}

/// Evaluates a random expression and its normal form; says which rewrites were made.
fn keeps_values(words: &[u64], seeds: &[u64], corner: u128) -> Result<Vec<&'static str>, TestCaseError> {
    let mut arena = Arena::new();
    let root = build(&mut arena, words);
    let mut normaliser = Normaliser::new();
    let normal = normaliser.normal(&mut arena, root);
    prop_assert_eq!(arena.sort(root), arena.sort(normal));
    for seed in seeds {
        let mut assignment = Assignment { seed: *seed, ..Assignment::default() };
        // Small and equal values meet the corners that random ones miss.
        let value = [0, 1, corner, u128::MAX, 1 << 127 | 1 << 63 | 1 << 31][*seed as usize % 5];
        for width_bits in WIDTHS {
            let symbol = arena.symbol(&format!("a{width_bits}"), Sort::Bits(width_bits));
            assignment.bits.insert(symbol, Bits::new(width_bits, value));
        }
        prop_assert_eq!(evaluate(&arena, root, &assignment), evaluate(&arena, normal, &assignment));
    }
    Ok(normaliser.used().collect())
}

/// Rewrites that random expressions of so few nodes do not lead to. Each has a test with values of its own below.
const RARE: [&str; 7] = [
    "choice-between-sums",
    "extensions-differ-by-sign",
    "extremum-turned",
    "join-loads",
    "join-slices",
    "order-excluded",
    "sum-below-what-falls-off",
];

/// A rule that nothing leads to is not tested by any number of random expressions.
#[test]
fn every_rewrite_is_made_on_random_expressions() {
    let sources = [
        include_str!("logic.rs"),
        include_str!("memory.rs"),
        include_str!("slices.rs"),
        include_str!("sums.rs"),
    ];
    let named = |text: &'static str| text.split("rule(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let mut missing: BTreeSet<&str> = sources.into_iter().flat_map(named).collect();
    assert!(missing.len() >= 48, "{missing:?}");
    let mut state = 1;
    let mut random = || {
        state = mixed(state);
        state
    };
    for _ in 0..20_000 {
        let words: Vec<u64> = (0..1 + random() % 40).map(|_| random()).collect();
        let used = keeps_values(&words, &[random(), random()], u128::from(random())).unwrap();
        missing.retain(|rule| !used.contains(rule));
    }
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), RARE);
}

/// Checks that two expressions have one normal form.
fn assert_same(make: impl Fn(&mut Arena) -> (ExprId, ExprId)) {
    let mut arena = Arena::new();
    let (left, right) = make(&mut arena);
    let mut normaliser = Normaliser::new();
    let (left, right) = (normaliser.normal(&mut arena, left), normaliser.normal(&mut arena, right));
    assert_eq!(left, right, "{:?} and {:?}", arena.node(left), arena.node(right));
}

fn word(arena: &mut Arena, name: &str) -> ExprId {
    arena.variable(name, Sort::Bits(32))
}

#[test]
fn commuted_and_distributed_products_are_one() {
    assert_same(|arena| {
        let (a, b, c) = (word(arena, "a"), word(arena, "b"), word(arena, "c"));
        let sum = arena.add(b, c);
        let left = arena.commutative(CommutativeOp::Product, &[sum, a]);
        let first = arena.commutative(CommutativeOp::Product, &[a, c]);
        let second = arena.commutative(CommutativeOp::Product, &[b, a]);
        (left, arena.add(first, second))
    });
}

#[test]
fn lanes_of_a_vector_are_its_loads() {
    assert_same(|arena| {
        let memory = arena.variable("m", Sort::Memory(64));
        let address = arena.variable("p", Sort::Bits(64));
        let vector = arena.load(memory, address, 16);
        let lane = arena.extract(vector, 64, 32);
        let eight = arena.constant(Bits::new(64, 8));
        let above = arena.add(address, eight);
        (lane, arena.load(memory, above, 4))
    });
}

#[test]
fn loads_pass_stores_at_other_constant_offsets() {
    assert_same(|arena| {
        let memory = arena.variable("m", Sort::Memory(64));
        let address = arena.variable("p", Sort::Bits(64));
        let value = arena.variable("v", Sort::Bits(128));
        let sixteen = arena.constant(Bits::new(64, 16));
        let above = arena.add(address, sixteen);
        let stored = arena.store(memory, above, value);
        (arena.load(stored, address, 16), arena.load(memory, address, 16))
    });
}

#[test]
fn flags_of_a_comparison_become_the_comparison() {
    assert_same(|arena| {
        let (a, b) = (word(arena, "a"), word(arena, "b"));
        let difference = arena.sub(a, b);
        let zero = arena.constant(Bits::new(32, 0));
        let carry = arena.compare(CompareOp::Ult, a, b);
        let equal = arena.compare(CompareOp::Eq, difference, zero);
        let below_or_equal = arena.commutative(CommutativeOp::Or, &[carry, equal]);
        let above = arena.compare(CompareOp::Ult, b, a);
        (below_or_equal, arena.not(above))
    });
}

#[test]
fn a_load_does_not_pass_a_store_at_an_unknown_distance() {
    let mut arena = Arena::new();
    let memory = arena.variable("m", Sort::Memory(64));
    let (p, q) = (arena.variable("p", Sort::Bits(64)), arena.variable("q", Sort::Bits(64)));
    let value = word(&mut arena, "v");
    let stored = arena.store(memory, q, value);
    let after = arena.load(stored, p, 4);
    let before = arena.load(memory, p, 4);
    let mut normaliser = Normaliser::new();
    assert_ne!(normaliser.normal(&mut arena, after), normaliser.normal(&mut arena, before));
}

#[test]
fn the_rewrites_used_are_named() {
    let mut arena = Arena::new();
    let a = word(&mut arena, "a");
    let twice = arena.add(a, a);
    let mut normaliser = Normaliser::new();
    normaliser.normal(&mut arena, twice);
    assert_eq!(normaliser.used().collect::<Vec<_>>(), ["sum-collect"]);
}

/// What a blend by bytes leaves of words: slices, and low bits that are sums of low bits.
#[test]
fn bytes_that_one_condition_chooses_are_a_chosen_word() {
    assert_same(|arena| {
        let (a, b, c) = (word(arena, "a"), word(arena, "b"), word(arena, "c"));
        let (left, right) = (arena.add(a, b), arena.commutative(CommutativeOp::Product, &[b, c]));
        let condition = arena.compare(CompareOp::Slt, a, c);
        let bytes: Vec<ExprId> = (0..4)
            .rev()
            .map(|number| {
                let (left, right) = (arena.extract(left, 8 * number, 8), arena.extract(right, 8 * number, 8));
                arena.choice(condition, left, right)
            })
            .collect();
        (arena.concat(&bytes), arena.choice(condition, left, right))
    });
}

#[test]
fn bytes_that_two_conditions_choose_stay_apart() {
    let mut arena = Arena::new();
    let (a, b) = (word(&mut arena, "a"), word(&mut arena, "b"));
    let (first, second) = (arena.compare(CompareOp::Slt, a, b), arena.compare(CompareOp::Ult, a, b));
    let half = |arena: &mut Arena, condition, low_bit| {
        let (left, right) = (arena.extract(a, low_bit, 16), arena.extract(b, low_bit, 16));
        arena.choice(condition, left, right)
    };
    let parts = [half(&mut arena, first, 16), half(&mut arena, second, 0)];
    let mixed = arena.concat(&parts);
    let whole = arena.choice(first, a, b);
    let mut normaliser = Normaliser::new();
    assert_ne!(normaliser.normal(&mut arena, mixed), normaliser.normal(&mut arena, whole));
}

#[test]
fn a_mask_of_a_comparison_is_a_choice() {
    assert_same(|arena| {
        let (a, b, c) = (word(arena, "a"), word(arena, "b"), word(arena, "c"));
        let condition = arena.compare(CompareOp::Slt, a, b);
        let (ones, zero) = (arena.constant(Bits::new(32, u128::MAX)), arena.constant(Bits::new(32, 0)));
        let mask = arena.choice(condition, ones, zero);
        let inverted = arena.not(mask);
        let kept = arena.commutative(CommutativeOp::And, &[mask, a]);
        let other = arena.commutative(CommutativeOp::And, &[inverted, c]);
        (arena.commutative(CommutativeOp::Or, &[kept, other]), arena.choice(condition, a, c))
    });
}

/// A sum of those numbers that a condition chooses: branches leave choices between sums, masks sums of choices.
#[test]
fn chosen_terms_of_a_sum_are_chosen_one_by_one() {
    assert_same(|arena| {
        let (sum, a, b) = (word(arena, "s"), word(arena, "a"), word(arena, "b"));
        let zero = arena.constant(Bits::new(32, 0));
        let (first, second) =
            (arena.compare(CompareOp::Slt, zero, a), arena.compare(CompareOp::Slt, zero, b));
        let added = arena.add(sum, a);
        let one = arena.choice(first, added, sum);
        let added = arena.add(one, b);
        let both = arena.choice(second, added, one);
        // As two merges of the same branch leave it.
        let both = arena.choice(second, both, one);
        let (left, right) = (arena.choice(first, a, zero), arena.choice(second, b, zero));
        (both, arena.sum(Bits::new(32, 0), &[(1, sum), (1, right), (1, left)]))
    });
}

#[test]
fn choices_between_sums_of_other_terms_stay_apart() {
    let mut arena = Arena::new();
    let (sum, a, b) = (word(&mut arena, "s"), word(&mut arena, "a"), word(&mut arena, "b"));
    let condition = arena.compare(CompareOp::Slt, a, b);
    let (more, twice) = (arena.add(sum, a), arena.sum(Bits::new(32, 0), &[(2, sum)]));
    let (one, other) = (arena.choice(condition, more, sum), arena.choice(condition, more, twice));
    let mut normaliser = Normaliser::new();
    assert_ne!(normaliser.normal(&mut arena, one), normaliser.normal(&mut arena, other));
}

/// At the corners of the width; [`rewriting_keeps_values`] has the random values.
#[test]
fn common_terms_leave_choices_as_they_are() {
    let mut arena = Arena::new();
    let names = ["k", "x", "y"].map(|name| word(&mut arena, name));
    let [k, x, y] = names;
    let condition = arena.variable("c", Sort::Bits(1));
    let (left, right) = (arena.add(k, x), arena.sum(Bits::new(32, 7), &[(1, k), (3, y)]));
    let choice = arena.choice(condition, left, right);
    let mut normaliser = Normaliser::new();
    let normal = normaliser.normal(&mut arena, choice);
    assert!(normaliser.used().any(|rule| rule == "choice-between-sums"));
    let corners = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
    for (number, bit) in (0..corners.len().pow(3)).flat_map(|number| [(number, 0), (number, 1)]) {
        let mut assignment = Assignment::default();
        for (place, name) in ["k", "x", "y"].iter().enumerate() {
            let value = corners[number / corners.len().pow(place as u32) % corners.len()];
            let symbol = arena.symbol(name, Sort::Bits(32));
            assignment.bits.insert(symbol, Bits::new(32, value));
        }
        let symbol = arena.symbol("c", Sort::Bits(1));
        assignment.bits.insert(symbol, Bits::new(1, bit));
        assert_eq!(evaluate(&arena, choice, &assignment), evaluate(&arena, normal, &assignment));
    }
}

/// `pmaxsd` compares the other way round than the source, and with zero both compare with a sign.
#[test]
fn the_larger_of_two_is_the_same_from_both_sides() {
    for (op, with_zero) in [(CompareOp::Slt, false), (CompareOp::Slt, true), (CompareOp::Ult, false)] {
        assert_same(|arena| {
            let a = word(arena, "a");
            let b = if with_zero { arena.constant(Bits::new(32, 0)) } else { word(arena, "b") };
            let (below, above) = (arena.compare(op, a, b), arena.compare(op, b, a));
            (arena.choice(below, b, a), arena.choice(above, a, b))
        });
        assert_same(|arena| {
            let a = word(arena, "a");
            let b = if with_zero { arena.constant(Bits::new(32, 0)) } else { word(arena, "b") };
            let (below, above) = (arena.compare(op, a, b), arena.compare(op, b, a));
            (arena.choice(below, a, b), arena.choice(above, b, a))
        });
    }
}

#[test]
fn the_larger_and_the_smaller_stay_apart() {
    let mut arena = Arena::new();
    let (a, b) = (word(&mut arena, "a"), word(&mut arena, "b"));
    let (below, unsigned) = (arena.compare(CompareOp::Slt, a, b), arena.compare(CompareOp::Ult, b, a));
    let (larger, smaller) = (arena.choice(below, b, a), arena.choice(below, a, b));
    let other = arena.choice(unsigned, a, b);
    let mut normaliser = Normaliser::new();
    let forms = [larger, smaller, other].map(|id| normaliser.normal(&mut arena, id));
    assert!(forms[0] != forms[1] && forms[0] != forms[2] && forms[1] != forms[2]);
}

/// All values at a width of four bits: the rules of choices have no width in them but that of words.
#[test]
fn extrema_keep_their_values_at_a_small_width() {
    for (op, turn) in [CompareOp::Slt, CompareOp::Ult].iter().flat_map(|op| [(*op, false), (*op, true)]) {
        let mut arena = Arena::new();
        let (a, b) = (arena.variable("a", Sort::Bits(4)), arena.variable("b", Sort::Bits(4)));
        let condition = arena.compare(op, b, a);
        let choice = if turn { arena.choice(condition, a, b) } else { arena.choice(condition, b, a) };
        let mut normaliser = Normaliser::new();
        let normal = normaliser.normal(&mut arena, choice);
        assert!(normaliser.used().any(|rule| rule == "extremum-turned"));
        let (left, right) = (arena.symbol("a", Sort::Bits(4)), arena.symbol("b", Sort::Bits(4)));
        for values in 0..256u128 {
            let mut assignment = Assignment::default();
            assignment.bits.insert(left, Bits::new(4, values));
            assignment.bits.insert(right, Bits::new(4, values >> 4));
            assert_eq!(evaluate(&arena, choice, &assignment), evaluate(&arena, normal, &assignment));
        }
    }
}

/// `2^k` times an extension, of which the upper `k` bits fall off: all values of two terms, all widths up to six bits.
#[test]
fn what_falls_off_does_not_matter() {
    let mut fired = 0;
    for (wide, narrow, zeros) in (2..7)
        .flat_map(|wide| (1..wide).flat_map(move |narrow| (0..wide).map(move |zeros| (wide, narrow, zeros))))
    {
        for signed in [false, true] {
            let mut arena = Arena::new();
            let (a, b) = (arena.variable("a", Sort::Bits(narrow)), arena.variable("b", Sort::Bits(narrow)));
            let sum = arena.sum(Bits::new(narrow, 3), &[(3, a), (mask(narrow), b)]);
            let inner = [sum, a];
            for of in inner {
                let extended = if signed { arena.sign_extend(of, wide) } else { arena.zero_extend(of, wide) };
                let root = arena.sum(Bits::new(wide, 1), &[(3 << zeros & mask(wide), extended)]);
                let mut normaliser = Normaliser::new();
                let normal = normaliser.normal(&mut arena, root);
                fired += usize::from(normaliser.used().any(|rule| rule.ends_with("falls-off")));
                let symbols = ["a", "b"].map(|name| arena.symbol(name, Sort::Bits(narrow)));
                for values in 0..1u128 << (2 * narrow) {
                    let mut assignment = Assignment::default();
                    assignment.bits.insert(symbols[0], Bits::new(narrow, values));
                    assignment.bits.insert(symbols[1], Bits::new(narrow, values >> narrow));
                    assert_eq!(evaluate(&arena, root, &assignment), evaluate(&arena, normal, &assignment));
                }
            }
        }
    }
    assert!(fired > 50, "{fired}");
}

/// That the upper half of a number is its sign is no relation at all; that half of it is, is one.
#[test]
fn signs_of_sums_matter_where_they_do_not_fall_off() {
    for (factor, same) in [(1u128 << 32, true), (1 << 31, false)] {
        let mut arena = Arena::new();
        let (a, b) = (word(&mut arena, "a"), word(&mut arena, "b"));
        let sum = arena.add(a, b);
        let signed = arena.sign_extend(sum, 64);
        let (one, other) = (arena.zero_extend(a, 64), arena.zero_extend(b, 64));
        let left = arena.sum(Bits::new(64, 0), &[(factor, signed)]);
        let right = arena.sum(Bits::new(64, 0), &[(factor, one), (factor, other)]);
        let mut normaliser = Normaliser::new();
        let forms = [left, right].map(|id| normaliser.normal(&mut arena, id));
        assert_eq!(forms[0] == forms[1], same, "{factor:#x}");
    }
}

/// That both extensions of a number are the same says that it is not negative, unless the difference falls off: all
/// values of a number of three bits.
#[test]
fn extensions_are_equal_where_there_is_no_sign() {
    for factor in 1..64 {
        let mut arena = Arena::new();
        let a = arena.variable("a", Sort::Bits(3));
        let (signed, unsigned) = (arena.sign_extend(a, 6), arena.zero_extend(a, 6));
        let [left, right] = [signed, unsigned].map(|id| arena.sum(Bits::new(6, 0), &[(factor, id)]));
        let root = arena.compare(CompareOp::Eq, left, right);
        let mut normaliser = Normaliser::new();
        let normal = normaliser.normal(&mut arena, root);
        let used = normaliser.used().any(|rule| rule == "extensions-differ-by-sign");
        assert_eq!(used, factor % 8 != 0, "{factor}");
        let symbol = arena.symbol("a", Sort::Bits(3));
        for value in 0..8 {
            let mut assignment = Assignment::default();
            assignment.bits.insert(symbol, Bits::new(3, value));
            assert_eq!(evaluate(&arena, root, &assignment), evaluate(&arena, normal, &assignment));
        }
    }
}

/// Evaluates before and after rewriting; says whether a rewrite was made.
fn keeps(arena: &mut Arena, root: ExprId, rule: &str, assignments: &[Assignment]) -> bool {
    let mut normaliser = Normaliser::new();
    let normal = normaliser.normal(arena, root);
    for assignment in assignments {
        assert_eq!(evaluate(arena, root, assignment), evaluate(arena, normal, assignment), "{rule}");
    }
    normaliser.used().any(|used| used == rule)
}

/// All ways to cut a piece out of eight bits and to cut it in two, all values.
#[test]
fn slices_that_are_joined_keep_their_values() {
    let mut joined = 0;
    for (start, low, high) in (0..8).flat_map(|start| {
        (1..8 - start).flat_map(move |low| (1..=8 - start - low).map(move |high| (start, low, high)))
    }) {
        let mut arena = Arena::new();
        let a = arena.variable("a", Sort::Bits(8));
        let parts = [arena.extract(a, start + low, high), arena.extract(a, start, low)];
        let root = arena.concat(&parts);
        let symbol = arena.symbol("a", Sort::Bits(8));
        let assignments = (0..256).map(|value| {
            let mut assignment = Assignment::default();
            assignment.bits.insert(symbol, Bits::new(8, value));
            assignment
        });
        joined += usize::from(keeps(&mut arena, root, "join-slices", &assignments.collect::<Vec<_>>()));
    }
    assert!(joined > 50, "{joined}");
}

/// All sizes of two loads beside each other, from memories made up.
#[test]
fn loads_that_are_joined_keep_their_values() {
    for (low, high) in (1..16).flat_map(|low| (1..=16 - low).map(move |high| (low, high))) {
        let mut arena = Arena::new();
        let memory = arena.variable("m", Sort::Memory(64));
        let address = arena.variable("p", Sort::Bits(64));
        let distance = arena.constant(Bits::new(64, u128::from(low)));
        let above = arena.add(address, distance);
        let parts = [arena.load(memory, above, high), arena.load(memory, address, low)];
        let root = arena.concat(&parts);
        let assignments: Vec<Assignment> =
            (0..20).map(|seed| Assignment { seed, ..Assignment::default() }).collect();
        assert!(keeps(&mut arena, root, "join-loads", &assignments), "{low} {high}");
    }
}

/// All values of two numbers of three bits: of `a < b` and `b < a` at most one holds.
#[test]
fn an_order_that_is_excluded_does_not_matter() {
    for op in [CompareOp::Slt, CompareOp::Ult] {
        let mut arena = Arena::new();
        let [a, b] = ["a", "b"].map(|name| arena.variable(name, Sort::Bits(3)));
        let [x, y, z] = ["x", "y", "z"].map(|name| word(&mut arena, name));
        let (below, above) = (arena.compare(op, a, b), arena.compare(op, b, a));
        let inner = arena.choice(above, x, y);
        let root = arena.choice(below, inner, z);
        let symbols = ["a", "b"].map(|name| arena.symbol(name, Sort::Bits(3)));
        let assignments = (0..64).map(|values: u128| {
            let mut assignment = Assignment::default();
            assignment.bits.insert(symbols[0], Bits::new(3, values));
            assignment.bits.insert(symbols[1], Bits::new(3, values >> 3));
            assignment
        });
        assert!(keeps(&mut arena, root, "order-excluded", &assignments.collect::<Vec<_>>()));
    }
}
