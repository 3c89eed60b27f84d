//! Expressions compiled to straight code over slots: a graph is run for tens of thousands of steps, so nothing
//! is looked up by name while it runs.

use super::memory::{Memory, mixed};
use super::state::{State, Table};
use crate::bits::{Bits, mask};
use crate::expr::eval::{binary, commutative, compare};
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node, Sort};
use std::collections::HashMap;

/// Straight code that computes some expressions of a state.
#[derive(Debug, Clone)]
pub struct Code {
    operations: Vec<Operation>,
    results: Vec<usize>,
}

#[derive(Debug, Clone)]
enum Operation {
    Constant(Bits),
    Variable(usize, u32),
    /// A value that nobody knows: another one each time.
    Unknown(u32),
    Sum(Bits, Vec<(u128, usize)>),
    Commutative(CommutativeOp, Vec<usize>),
    Binary(BinaryOp, usize, usize),
    Compare(CompareOp, usize, usize),
    Concat(Vec<usize>),
    Extract(u32, u32, usize),
    SignExtend(u32, usize),
    Choice(usize, usize, usize),
    Memory(usize),
    Load(usize, usize, u32),
    Store(usize, usize, usize),
    Apply(u64, Vec<usize>, u32),
}

/// Value of an expression.
#[derive(Debug, Clone)]
pub enum Value {
    /// A bit vector.
    Bits(Bits),
    /// A memory: that of a variable with stores on top, oldest first.
    Stores(usize, Vec<(u64, Bits)>),
}

impl Value {
    /// The bit vector. Asking for one where there is a memory is a bug.
    pub fn bits(&self) -> Bits {
        match self {
            Value::Bits(bits) => *bits,
            Value::Stores(..) => panic!("a memory is no bit vector"),
        }
    }
}

/// Whether a variable stands for something that nobody knows.
pub fn is_unknown(arena: &Arena, id: ExprId) -> bool {
    matches!(arena.node(id), Node::Variable(symbol) if arena.name(*symbol).contains("unknown."))
}

impl Code {
    /// Code for some expressions; their variables get places in the table.
    pub fn new(arena: &Arena, table: &mut Table, roots: &[ExprId]) -> Code {
        let mut slots = HashMap::new();
        let mut operations = Vec::new();
        for id in arena.reachable(roots) {
            slots.insert(id, operations.len());
            operations.push(operation(arena, table, &slots, id));
        }
        Code { operations, results: roots.iter().map(|root| slots[root]).collect() }
    }

    /// Values of the expressions, in their order.
    pub fn run(&self, state: &State) -> Vec<Value> {
        let mut slots: Vec<Value> = Vec::with_capacity(self.operations.len());
        for (number, operation) in self.operations.iter().enumerate() {
            let value = operation.value(&slots, state, number as u64);
            slots.push(value);
        }
        self.results.iter().map(|result| slots[*result].clone()).collect()
    }

    /// The same for bit vectors.
    pub fn bits(&self, state: &State) -> Vec<Bits> {
        self.run(state).iter().map(Value::bits).collect()
    }
}

fn operation(arena: &Arena, table: &mut Table, slots: &HashMap<ExprId, usize>, id: ExprId) -> Operation {
    let slot = |id: &ExprId| slots[id];
    let all = |ids: &[ExprId]| ids.iter().map(slot).collect::<Vec<_>>();
    match arena.node(id) {
        Node::Constant(bits) => Operation::Constant(*bits),
        Node::Variable(_) => match arena.sort(id) {
            Sort::Bits(width_bits) if is_unknown(arena, id) => Operation::Unknown(width_bits),
            Sort::Bits(width_bits) => Operation::Variable(table.bits(arena, id), width_bits),
            Sort::Memory(_) => Operation::Memory(table.memory(arena, id)),
        },
        Node::Sum { constant, terms } => {
            Operation::Sum(*constant, terms.iter().map(|(factor, term)| (*factor, slot(term))).collect())
        }
        Node::Commutative(op, parts) => Operation::Commutative(*op, all(parts)),
        Node::Binary(op, left, right) => Operation::Binary(*op, slot(left), slot(right)),
        Node::Compare(op, left, right) => Operation::Compare(*op, slot(left), slot(right)),
        Node::Concat(parts) => Operation::Concat(all(parts)),
        Node::Extract { low_bit, width_bits, of } => Operation::Extract(*low_bit, *width_bits, slot(of)),
        Node::SignExtend { width_bits, of } => Operation::SignExtend(*width_bits, slot(of)),
        Node::Choice { condition, then, otherwise } => {
            Operation::Choice(slot(condition), slot(then), slot(otherwise))
        }
        Node::Load { memory, address, bytes } => Operation::Load(slot(memory), slot(address), *bytes),
        Node::Store { memory, address, value } => Operation::Store(slot(memory), slot(address), slot(value)),
        Node::Apply { function, arguments, width_bits } => {
            let name = arena.name(*function).bytes();
            let key = name.fold(0, |key, byte| mixed(key ^ u64::from(byte)));
            Operation::Apply(key, all(arguments), *width_bits)
        }
    }
}

impl Operation {
    fn value(&self, slots: &[Value], state: &State, number: u64) -> Value {
        let bits = |slot: &usize| slots[*slot].bits();
        Value::Bits(match self {
            Operation::Constant(bits) => *bits,
            // A variable that is newer than the state has any value.
            Operation::Variable(place, width_bits) => {
                let value = state.bits.get(*place).copied();
                Bits::new(*width_bits, value.unwrap_or_else(|| state.surprise(*place as u64)))
            }
            Operation::Unknown(width_bits) => Bits::new(*width_bits, state.surprise(number)),
            Operation::Sum(constant, terms) => terms.iter().fold(*constant, |sum, (factor, term)| {
                sum.add(Bits::new(constant.width_bits(), *factor).mul(bits(term)))
            }),
            Operation::Commutative(op, parts) => {
                let rest = parts[1..].iter().map(bits);
                rest.fold(bits(&parts[0]), |left, right| commutative(*op, left, right))
            }
            Operation::Binary(op, left, right) => binary(*op, bits(left), bits(right)),
            Operation::Compare(op, left, right) => compare(*op, bits(left), bits(right)),
            Operation::Concat(parts) => parts[1..].iter().map(bits).fold(bits(&parts[0]), Bits::concat),
            Operation::Extract(low_bit, width_bits, of) => bits(of).extract(*low_bit, *width_bits),
            Operation::SignExtend(width_bits, of) => bits(of).sign_extend(*width_bits),
            Operation::Choice(condition, then, otherwise) => {
                return slots[if bits(condition).is_set() { *then } else { *otherwise }].clone();
            }
            Operation::Memory(place) => return Value::Stores(*place, Vec::new()),
            Operation::Load(memory, address, bytes) => load(&slots[*memory], state, bits(address), *bytes),
            Operation::Store(memory, address, value) => {
                let Value::Stores(base, mut stores) = slots[*memory].clone() else {
                    panic!("a store changes a memory")
                };
                let (address, value) = (bits(address), bits(value));
                let (start, last) = (address.value() as u64, last_address(address));
                let bytes = value.width_bits() / 8;
                if last - start >= u64::from(bytes) {
                    stores.push((start, value));
                } else {
                    let byte = |number: u32| {
                        let at = start.wrapping_add(u64::from(number)) & last;
                        (at, value.extract(8 * number, 8))
                    };
                    stores.extend((0..bytes).map(byte));
                }
                return Value::Stores(base, stores);
            }
            Operation::Apply(key, arguments, width_bits) => {
                let key = arguments.iter().map(bits).fold(*key, |key, argument| {
                    mixed(mixed(key ^ argument.value() as u64) ^ (argument.value() >> 64) as u64)
                });
                let high = u128::from(mixed(key ^ 1)) << 64;
                Bits::new(*width_bits, high | u128::from(mixed(key)))
            }
        })
    }
}

/// The highest address of the width of this one: what goes on behind it goes on at 0.
fn last_address(address: Bits) -> u64 {
    mask(address.width_bits().min(64)) as u64
}

fn load(memory: &Value, state: &State, address: Bits, bytes: u32) -> Bits {
    let Value::Stores(base, stores) = memory else { panic!("a load reads a memory") };
    let below: &Memory = &state.memories[*base];
    let last = last_address(address);
    let address = address.value() as u64;
    if stores.is_empty() && last - address >= u64::from(bytes) {
        return Bits::new(8 * bytes, below.load(address, bytes));
    }
    let byte = |number: u32| {
        let at = address.wrapping_add(u64::from(number)) & last;
        let within = |start: u64| at.wrapping_sub(start) & last;
        let hit =
            stores.iter().rev().find(|(start, value)| within(*start) < u64::from(value.width_bits() / 8));
        let byte = match hit {
            Some((start, value)) => (value.value() >> (8 * within(*start))) as u8,
            None => below.byte(at),
        };
        u128::from(byte) << (8 * number)
    };
    Bits::new(8 * bytes, (0..bytes).map(byte).fold(0, |all, byte| all | byte))
}
