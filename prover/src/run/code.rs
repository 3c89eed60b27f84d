//! Expressions compiled to straight code over slots: a graph is run for hundreds of thousands of steps, so
//! nothing is looked up by name, and nothing is allocated, while it runs.
//!
//! Bit vectors are in slots of their own, masked to their widths, which are known when the code is made.
//! Constants are in their slots from the start. A memory is one of the state with stores on top, and the stores
//! of all memories are links of one list.

use super::memory::mixed;
use super::state::{State, Table};
use crate::bits::{Bits, mask};
use crate::expr::eval::binary;
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node, Sort};
use crate::float::Function;
use std::cell::RefCell;
use std::collections::HashMap;

/// Straight code that computes some expressions of a state.
#[derive(Debug, Clone)]
pub struct Code {
    /// What the slots of bit vectors hold at first: constants, and zeros where something is computed.
    template: Vec<u128>,
    memories: usize,
    operations: Vec<(usize, Operation)>,
    results: Vec<Slot>,
}

/// Where a value is found once the code has run.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// A bit vector, with its width.
    Bits(usize, u32),
    Memory(usize),
}

/// Numbers are of slots, unless their name says something else.
#[derive(Debug, Clone)]
enum Operation {
    Variable {
        place: usize,
        mask: u128,
    },
    /// A value that nobody knows: another one each time.
    Unknown {
        number: u64,
        mask: u128,
    },
    Sum {
        constant: u128,
        terms: Vec<(u128, usize)>,
        mask: u128,
    },
    Commutative(CommutativeOp, Vec<usize>, u128),
    Binary(BinaryOp, u32, usize, usize),
    Equal(usize, usize),
    Below(usize, usize),
    /// Signed: flipping the sign of both makes it unsigned.
    Less {
        sign: u128,
        left: usize,
        right: usize,
    },
    /// Parts, each with the bits below it.
    Concat(Vec<(usize, u32)>),
    Extract {
        low_bit: u32,
        mask: u128,
        of: usize,
    },
    SignExtend {
        unused: u32,
        mask: u128,
        of: usize,
    },
    Choice(usize, usize, usize),
    Memory {
        place: usize,
    },
    MemoryChoice(usize, usize, usize),
    Load {
        memory: usize,
        address: usize,
        last: u64,
        bytes: u32,
    },
    Store {
        memory: usize,
        address: usize,
        last: u64,
        value: usize,
        bytes: u32,
    },
    Float {
        function: Function,
        arguments: Vec<usize>,
    },
    Apply {
        key: u64,
        arguments: Vec<usize>,
        mask: u128,
    },
}

/// A memory: that of a place, with a store on top, and that one's earlier ones.
#[derive(Debug, Clone, Copy)]
struct Chain {
    place: usize,
    newest: Option<usize>,
}

/// A store that does not wrap around.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub(super) address: u64,
    pub(super) value: u128,
    pub(super) bytes: u32,
    before: Option<usize>,
}

/// Values while code runs. One is used for all runs of a thread.
#[derive(Debug, Default)]
pub(super) struct Values {
    bits: Vec<u128>,
    memories: Vec<Chain>,
    stores: Vec<Stored>,
    /// Whether some function of numbers gave what LLVM's IR leaves open.
    pub(super) open: bool,
}

thread_local! {
    static VALUES: RefCell<Values> = RefCell::default();
}

/// Lends the values of this thread. Whoever has them does not run code by [`Code::bits`].
pub(super) fn with_values<T>(use_them: impl FnOnce(&mut Values) -> T) -> T {
    VALUES.with_borrow_mut(use_them)
}

/// Whether a variable stands for something that nobody knows.
pub fn is_unknown(arena: &Arena, id: ExprId) -> bool {
    matches!(arena.node(id), Node::Variable(symbol) if arena.name(*symbol).contains("unknown."))
}

impl Code {
    /// Code for some expressions; their variables get places in the table.
    pub fn new(arena: &Arena, table: &mut Table, roots: &[ExprId]) -> Code {
        let mut code =
            Code { template: Vec::new(), memories: 0, operations: Vec::new(), results: Vec::new() };
        let mut slots = HashMap::new();
        for id in arena.reachable(roots) {
            let slot = match arena.sort(id) {
                Sort::Bits(width_bits) => {
                    code.template.push(arena.as_constant(id).map_or(0, Bits::value));
                    Slot::Bits(code.template.len() - 1, width_bits)
                }
                Sort::Memory(_) => {
                    code.memories += 1;
                    Slot::Memory(code.memories - 1)
                }
            };
            if let Some(operation) = operation(arena, table, &slots, id) {
                code.operations.push((slot.number(), operation));
            }
            slots.insert(id, slot);
        }
        code.results = roots.iter().map(|root| slots[root]).collect();
        code
    }

    /// Values of the expressions, which are bit vectors, in their order.
    pub fn bits(&self, state: &State) -> Vec<Bits> {
        with_values(|values| {
            self.run(state, values);
            (0..self.results.len()).map(|number| self.result(values, number)).collect()
        })
    }

    /// Whether all expressions are set bits.
    pub fn all_set(&self, state: &State) -> bool {
        with_values(|values| {
            self.run(state, values);
            (0..self.results.len()).all(|number| self.result(values, number).is_set())
        })
    }

    /// Computes all expressions.
    pub(super) fn run(&self, state: &State, values: &mut Values) {
        values.bits.clear();
        values.bits.extend_from_slice(&self.template);
        values.memories.clear();
        values.memories.resize(self.memories, Chain { place: 0, newest: None });
        values.stores.clear();
        values.open = false;
        for (slot, operation) in &self.operations {
            operation.run(*slot, state, values);
        }
    }

    /// An expression that is a bit vector, after a run.
    pub(super) fn result(&self, values: &Values, number: usize) -> Bits {
        match self.results[number] {
            Slot::Bits(slot, width_bits) => Bits::new(width_bits, values.bits[slot]),
            Slot::Memory(_) => panic!("a memory is no bit vector"),
        }
    }

    /// An expression that is a memory, after a run: the place that it was, and what was stored, newest first.
    pub(super) fn stored<'a>(
        &self,
        values: &'a Values,
        number: usize,
    ) -> (usize, impl Iterator<Item = &'a Stored> + use<'a>) {
        let Slot::Memory(slot) = self.results[number] else { panic!("a bit vector is no memory") };
        let chain = values.memories[slot];
        (chain.place, values.chain(chain))
    }
}

impl Slot {
    fn number(self) -> usize {
        match self {
            Slot::Bits(number, _) | Slot::Memory(number) => number,
        }
    }
}

/// What computes an expression; nothing for a constant.
fn operation(
    arena: &Arena,
    table: &mut Table,
    slots: &HashMap<ExprId, Slot>,
    id: ExprId,
) -> Option<Operation> {
    let slot = |id: &ExprId| slots[id].number();
    let all = |ids: &[ExprId]| ids.iter().map(slot).collect::<Vec<_>>();
    let own_mask = match arena.sort(id) {
        Sort::Bits(width_bits) => mask(width_bits),
        Sort::Memory(_) => 0,
    };
    Some(match arena.node(id) {
        Node::Constant(_) => return None,
        Node::Variable(_) => match arena.sort(id) {
            Sort::Bits(_) if is_unknown(arena, id) => {
                Operation::Unknown { number: slots.len() as u64, mask: own_mask }
            }
            Sort::Bits(_) => Operation::Variable { place: table.bits(arena, id), mask: own_mask },
            Sort::Memory(_) => Operation::Memory { place: table.memory(arena, id) },
        },
        Node::Sum { constant, terms } => Operation::Sum {
            constant: constant.value(),
            terms: terms.iter().map(|(factor, term)| (*factor, slot(term))).collect(),
            mask: own_mask,
        },
        Node::Commutative(op, parts) => Operation::Commutative(*op, all(parts), own_mask),
        Node::Binary(op, left, right) => {
            Operation::Binary(*op, arena.width_bits(*left), slot(left), slot(right))
        }
        Node::Compare(op, left, right) => {
            let sign = 1 << (arena.width_bits(*left) - 1);
            let (left, right) = (slot(left), slot(right));
            match op {
                CompareOp::Eq => Operation::Equal(left, right),
                CompareOp::Ult => Operation::Below(left, right),
                CompareOp::Slt => Operation::Less { sign, left, right },
            }
        }
        Node::Concat(parts) => {
            let mut below = arena.width_bits(id);
            let placed = parts.iter().map(|part| {
                below -= arena.width_bits(*part);
                (slot(part), below)
            });
            Operation::Concat(placed.collect())
        }
        Node::Extract { low_bit, of, .. } => {
            Operation::Extract { low_bit: *low_bit, mask: own_mask, of: slot(of) }
        }
        Node::SignExtend { of, .. } => {
            Operation::SignExtend { unused: 128 - arena.width_bits(*of), mask: own_mask, of: slot(of) }
        }
        Node::Choice { condition, then, otherwise } => {
            let (condition, then, otherwise) = (slot(condition), slot(then), slot(otherwise));
            match arena.sort(id) {
                Sort::Bits(_) => Operation::Choice(condition, then, otherwise),
                Sort::Memory(_) => Operation::MemoryChoice(condition, then, otherwise),
            }
        }
        Node::Load { memory, address, bytes } => Operation::Load {
            memory: slot(memory),
            address: slot(address),
            last: last_address(arena, *address),
            bytes: *bytes,
        },
        Node::Store { memory, address, value } => Operation::Store {
            memory: slot(memory),
            address: slot(address),
            last: last_address(arena, *address),
            value: slot(value),
            bytes: arena.width_bits(*value) / 8,
        },
        Node::Apply { function, arguments, .. } => {
            if let Some(function) = Function::named(arena.name(*function)) {
                table.floats = true;
                return Some(Operation::Float { function, arguments: all(arguments) });
            }
            let name = arena.name(*function).bytes();
            let key = name.fold(0, |key, byte| mixed(key ^ u64::from(byte)));
            Operation::Apply { key, arguments: all(arguments), mask: own_mask }
        }
    })
}

impl Operation {
    fn run(&self, slot: usize, state: &State, values: &mut Values) {
        let bits = |slot: &usize| values.bits[*slot];
        values.bits[slot] = match self {
            // A variable that is newer than the state has any value.
            Operation::Variable { place, mask } => match state.bits.get(*place) {
                Some(value) => value & mask,
                None => state.surprise(*place as u64) & mask,
            },
            Operation::Unknown { number, mask } => state.surprise(*number) & mask,
            Operation::Sum { constant, terms, mask } => {
                let products = terms.iter().map(|(factor, term)| factor.wrapping_mul(bits(term)));
                products.fold(*constant, u128::wrapping_add) & mask
            }
            Operation::Commutative(op, parts, mask) => {
                let parts = parts.iter().map(bits);
                match op {
                    CommutativeOp::And => parts.fold(*mask, |all, part| all & part),
                    CommutativeOp::Or => parts.fold(0, |all, part| all | part),
                    CommutativeOp::Xor => parts.fold(0, |all, part| all ^ part),
                    CommutativeOp::Product => parts.fold(1, u128::wrapping_mul) & mask,
                }
            }
            Operation::Binary(op, width_bits, left, right) => {
                let side = |slot| Bits::new(*width_bits, bits(slot));
                binary(*op, side(left), side(right)).value()
            }
            Operation::Equal(left, right) => u128::from(bits(left) == bits(right)),
            Operation::Below(left, right) => u128::from(bits(left) < bits(right)),
            Operation::Less { sign, left, right } => u128::from(bits(left) ^ sign < bits(right) ^ sign),
            Operation::Concat(parts) => parts.iter().fold(0, |all, (part, below)| all | bits(part) << below),
            Operation::Extract { low_bit, mask, of } => bits(of) >> low_bit & mask,
            Operation::SignExtend { unused, mask, of } => {
                (((bits(of) << unused) as i128) >> unused) as u128 & mask
            }
            Operation::Choice(condition, then, otherwise) => {
                bits(if bits(condition) != 0 { then } else { otherwise })
            }
            Operation::Load { memory, address, last, bytes } => {
                values.load(state, values.memories[*memory], bits(address) as u64, *last, *bytes)
            }
            Operation::Float { function, arguments } => {
                let mut operands = [0; 2];
                operands.iter_mut().zip(arguments).for_each(|(operand, slot)| *operand = bits(slot));
                let operands = &operands[..arguments.len()];
                let value = function.value(operands);
                values.open |= function.is_open(operands, value);
                value
            }
            Operation::Apply { key, arguments, mask } => {
                let key = arguments.iter().map(bits).fold(*key, |key, argument| {
                    mixed(mixed(key ^ argument as u64) ^ (argument >> 64) as u64)
                });
                (u128::from(mixed(key ^ 1)) << 64 | u128::from(mixed(key))) & mask
            }
            Operation::Memory { place } => {
                values.memories[slot] = Chain { place: *place, newest: None };
                return;
            }
            Operation::MemoryChoice(condition, then, otherwise) => {
                let chosen = if bits(condition) != 0 { then } else { otherwise };
                values.memories[slot] = values.memories[*chosen];
                return;
            }
            Operation::Store { memory, address, last, value, bytes } => {
                let (address, value) = (bits(address) as u64, bits(value));
                values.memories[slot] = values.memories[*memory];
                values.store(slot, address, *last, value, *bytes);
                return;
            }
        };
    }
}

impl Values {
    fn chain(&self, chain: Chain) -> impl Iterator<Item = &Stored> + use<'_> {
        std::iter::successors(chain.newest.map(|newest| &self.stores[newest]), |stored| {
            stored.before.map(|before| &self.stores[before])
        })
    }

    /// Puts a store on top of a memory; one that wraps around byte by byte.
    fn store(&mut self, slot: usize, address: u64, last: u64, value: u128, bytes: u32) {
        let mut push = |address, value, bytes| {
            let before = self.memories[slot].newest;
            self.memories[slot].newest = Some(self.stores.len());
            self.stores.push(Stored { address, value, bytes, before });
        };
        if last - address >= u64::from(bytes) {
            return push(address, value, bytes);
        }
        for number in 0..bytes {
            push(address.wrapping_add(u64::from(number)) & last, value >> (8 * number) & 0xff, 1);
        }
    }

    fn load(&self, state: &State, chain: Chain, address: u64, last: u64, bytes: u32) -> u128 {
        let below = &state.memories[chain.place];
        if last - address >= u64::from(bytes) {
            let end = address + u64::from(bytes);
            let touches =
                |stored: &&Stored| stored.address < end && address < stored.address + u64::from(stored.bytes);
            let Some(stored) = self.chain(chain).find(touches) else {
                return below.load(address, bytes);
            };
            if stored.address <= address && end <= stored.address + u64::from(stored.bytes) {
                return stored.value >> (8 * (address - stored.address)) & mask(8 * bytes);
            }
        }
        let byte = |number: u32| {
            let at = address.wrapping_add(u64::from(number)) & last;
            let hit = self.chain(chain).find(|stored| {
                at.checked_sub(stored.address).is_some_and(|within| within < u64::from(stored.bytes))
            });
            let byte = match hit {
                Some(stored) => (stored.value >> (8 * (at - stored.address))) as u8,
                None => below.byte(at),
            };
            u128::from(byte) << (8 * number)
        };
        (0..bytes).map(byte).fold(0, |all, byte| all | byte)
    }
}

/// The highest address of the width of this one: what goes on behind it goes on at 0.
fn last_address(arena: &Arena, address: ExprId) -> u64 {
    mask(arena.width_bits(address).min(64)) as u64
}
