//! The runner agrees with the evaluator of expressions, which the normaliser is tested against.

use super::*;
use crate::bits::Bits;
use crate::expr::{Assignment, CompareOp, Sort, evaluate};
use crate::graph::{Edge, Point};

/// A loop that stores `x + i` at `p + 4*i` while `i < 10`, then reads the last one into `x`.
fn example(arena: &mut Arena) -> Graph {
    let (p, x, i) = (
        arena.variable("p", Sort::Bits(64)),
        arena.variable("x", Sort::Bits(32)),
        arena.variable("i", Sort::Bits(32)),
    );
    let memory = arena.variable("m", Sort::Memory(64));
    let (ten, one) = (arena.constant(Bits::new(32, 10)), arena.constant(Bits::new(32, 1)));
    let wide = arena.zero_extend(i, 64);
    let address = arena.sum(Bits::new(64, 0), &[(1, p), (4, wide)]);
    let value = arena.add(x, i);
    let stored = arena.store(memory, address, value);
    let next = arena.add(i, one);
    let guard = arena.compare(CompareOp::Ult, i, ten);
    let after = arena.not(guard);
    let last = arena.sum(Bits::new(64, u128::MAX - 3), &[(1, p), (4, wide)]);
    let loaded = arena.load(memory, last, 4);
    let edge = |from, to, guard, assignments| Edge {
        from: PointId(from),
        to: PointId(to),
        guard,
        assignments,
        requirements: Vec::new(),
        accesses: Vec::new(),
        assumptions: Vec::new(),
        call: None,
        open: false,
    };
    Graph {
        points: vec![Point::Pc(0), Point::Exit],
        edges: vec![
            edge(0, 0, guard, vec![(i, next), (memory, stored)]),
            edge(0, 1, after, vec![(x, loaded)]),
        ],
    }
}

#[test]
fn a_loop_runs_to_its_end() {
    let mut arena = Arena::new();
    let graph = example(&mut arena);
    let mut table = Table::default();
    let runner = Runner::new(&arena, &graph, &mut table);
    let mut state = table.made_up(5);
    let place = |name: &str, arena: &mut Arena, table: &mut Table, width| {
        let variable = arena.variable(name, Sort::Bits(width));
        table.bits(arena, variable)
    };
    let (x, i) = (place("x", &mut arena, &mut table, 32), place("i", &mut arena, &mut table, 32));
    state.bits[i] = 0;
    let begun = state.bits[x];
    let mut steps = 0;
    let mut point = PointId(0);
    while let Step::Taken { to, .. } = runner.step(point, &mut state) {
        (point, steps) = (to, steps + 1);
    }
    assert_eq!((point, steps, state.bits[x]), (PointId(1), 11, (begun + 9) & 0xffff_ffff));
}

#[test]
fn code_agrees_with_the_evaluator() {
    let mut arena = Arena::new();
    let graph = example(&mut arena);
    let roots: Vec<ExprId> =
        graph.edges.iter().flat_map(|edge| [edge.guard, edge.assignments[0].1]).collect();
    let memory = arena.variable("m", Sort::Memory(64));
    let mut table = Table::default();
    let code = Code::new(&arena, &mut table, &roots);
    let memory_place = table.memory(&arena, memory);
    for seed in 0..50 {
        let state = table.made_up(seed);
        let mut assignment = Assignment::default();
        for (variable, place) in table.bit_variables() {
            let crate::expr::Node::Variable(symbol) = arena.node(variable) else { panic!() };
            let bits = Bits::new(arena.width_bits(variable), state.bits[place]);
            assignment.bits.insert(*symbol, bits);
        }
        let crate::expr::Node::Variable(symbol) = *arena.node(memory) else { panic!() };
        let p = arena.variable("p", Sort::Bits(64));
        let i = arena.variable("i", Sort::Bits(32));
        let last = state.bits[table.bits(&arena, p)] as u64;
        let last = last.wrapping_add(4 * state.bits[table.bits(&arena, i)] as u64).wrapping_sub(4);
        let bytes = (0..4)
            .map(|n| last.wrapping_add(n))
            .map(|at| (u128::from(at), state.memories[memory_place].byte(at)));
        assignment.memories.insert(symbol, bytes.collect());
        for (root, value) in roots.iter().zip(code.bits(&state)) {
            assert_eq!(evaluate(&arena, *root, &assignment).bits(), value);
        }
    }
}

/// What is stored across the last address of 32 bits goes on at 0, and is loaded from there.
#[test]
fn memory_wraps_around_at_the_width_of_its_addresses() {
    let mut arena = Arena::new();
    let memory = arena.variable("m", Sort::Memory(32));
    let start = arena.constant(Bits::new(32, 0xffff_fffe));
    let word = arena.constant(Bits::new(32, 0x4433_2211));
    let stored = arena.store(memory, start, word);
    let zero = arena.constant(Bits::new(32, 0));
    let whole = arena.load(stored, start, 4);
    let (low, old) = (arena.load(stored, zero, 2), arena.load(memory, zero, 2));
    let (across, first) = (arena.load(memory, start, 4), arena.load(memory, start, 2));
    let mut table = Table::default();
    let code = Code::new(&arena, &mut table, &[whole, low, across, first, old]);
    let bits: Vec<u128> = code.bits(&table.made_up(3)).iter().map(|bits| bits.value()).collect();
    assert_eq!((bits[0], bits[1]), (0x4433_2211, 0x4433));
    assert_eq!(bits[2], bits[4] << 16 | bits[3], "without a store as well");
}

/// Stores of all sizes that overlap, then loads of all sizes: what is loaded is what an array of bytes has.
#[test]
fn loads_see_the_newest_store_of_every_byte() {
    let mut random = 7;
    let mut draw = |below: u64| {
        random = memory::mixed(random);
        random % below
    };
    for address_bits in [32, 64] {
        for _ in 0..200 {
            let mut arena = Arena::new();
            let variable = arena.variable("m", Sort::Memory(address_bits));
            let mut table = Table::default();
            let place = table.memory(&arena, variable);
            let state = table.made_up(draw(1 << 40));
            // Around address 0, so that some wrap around.
            let last = crate::bits::mask(address_bits) as u64;
            let at = |offset: u64| offset.wrapping_sub(24) & last;
            let mut bytes: Vec<u8> = (0..64).map(|offset| state.memories[place].byte(at(offset))).collect();
            let mut memory = variable;
            for _ in 0..draw(6) {
                let (offset, size) = (draw(48), 1 << draw(5));
                let value = u128::from(draw(u64::MAX)) << 64 | u128::from(draw(u64::MAX));
                let address = arena.constant(Bits::new(address_bits, u128::from(at(offset))));
                let stored = arena.constant(Bits::new(8 * size as u32, value));
                memory = arena.store(memory, address, stored);
                let window = offset as usize..offset as usize + size as usize;
                bytes[window].copy_from_slice(&value.to_le_bytes()[..size as usize]);
            }
            let mut wanted = Vec::new();
            let mut roots = Vec::new();
            for size in [1, 2, 4, 8, 16] {
                let offset = draw(48) as usize;
                let address = arena.constant(Bits::new(address_bits, u128::from(at(offset as u64))));
                roots.push(arena.load(memory, address, size as u32));
                let value = bytes[offset..offset + size].iter().rev();
                let value = value.fold(0, |value: u128, byte| value << 8 | u128::from(*byte));
                wanted.push(Bits::new(8 * size as u32, value));
            }
            assert_eq!(Code::new(&arena, &mut table, &roots).bits(&state), wanted);
        }
    }
}
