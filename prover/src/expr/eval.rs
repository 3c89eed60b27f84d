//! The value of an expression under an assignment: used to propagate counterexamples, and to test that
//! rewriting keeps values.

use super::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node, Sort, Symbol};
use crate::bits::{Bits, mask};
use crate::float::Function;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Values of variables. What is not listed gets a value made from its name and `seed`, always the same one:
/// a counterexample need not name every variable (Counter, section 3.5).
#[derive(Debug, Clone, Default)]
pub struct Assignment {
    /// Bit vectors.
    pub bits: HashMap<Symbol, Bits>,
    /// Memories: bytes that differ from the made-up ones.
    pub memories: HashMap<Symbol, BTreeMap<u128, u8>>,
    /// Changes everything that is made up.
    pub seed: u64,
}

/// A memory: that of a variable, with some bytes replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryValue {
    base: Symbol,
    address_bits: u32,
    seed: u64,
    replaced: BTreeMap<u128, u8>,
}

/// Value of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A bit vector.
    Bits(Bits),
    /// A memory.
    Memory(MemoryValue),
}

impl Outcome {
    /// The bit vector. Asking for one where there is a memory is a bug.
    pub fn bits(&self) -> Bits {
        match self {
            Outcome::Bits(bits) => *bits,
            Outcome::Memory(_) => panic!("a memory is no bit vector"),
        }
    }

    fn memory(&self) -> &MemoryValue {
        match self {
            Outcome::Memory(memory) => memory,
            Outcome::Bits(_) => panic!("a bit vector is no memory"),
        }
    }
}

impl MemoryValue {
    /// The byte at an address.
    pub fn byte(&self, address: u128) -> u8 {
        let address = address & mask(self.address_bits);
        let made_up = || made_up(&(self.base, self.seed, address)) as u8;
        self.replaced.get(&address).copied().unwrap_or_else(made_up)
    }

    fn with(mut self, address: u128, byte: u8) -> MemoryValue {
        let address = address & mask(self.address_bits);
        self.replaced.remove(&address);
        // Only true differences are kept, so that equal memories compare equal.
        if self.byte(address) != byte {
            self.replaced.insert(address, byte);
        }
        self
    }
}

fn made_up(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Value of `root`.
pub fn evaluate(arena: &Arena, root: ExprId, assignment: &Assignment) -> Outcome {
    let mut values = HashMap::new();
    for id in arena.reachable(&[root]) {
        let value = value_of(arena, id, &values, assignment);
        values.insert(id, value);
    }
    values.remove(&root).expect("a root is reachable from itself")
}

fn value_of(
    arena: &Arena,
    id: ExprId,
    values: &HashMap<ExprId, Outcome>,
    assignment: &Assignment,
) -> Outcome {
    let bits = |part: &ExprId| values[part].bits();
    let result = match arena.node(id) {
        Node::Constant(constant) => *constant,
        Node::Variable(symbol) => return variable(arena.sort(id), *symbol, assignment),
        Node::Sum { constant, terms } => terms.iter().fold(*constant, |sum, (coefficient, term)| {
            sum.add(Bits::new(constant.width_bits(), *coefficient).mul(bits(term)))
        }),
        Node::Commutative(op, parts) => {
            let mut rest = parts.iter().map(bits);
            let first = rest.next().expect("an operation has operands");
            rest.fold(first, |left, right| commutative(*op, left, right))
        }
        Node::Binary(op, left, right) => binary(*op, bits(left), bits(right)),
        Node::Compare(op, left, right) => compare(*op, bits(left), bits(right)),
        Node::Concat(parts) => {
            let mut rest = parts.iter().map(bits);
            let first = rest.next().expect("a concatenation has parts");
            rest.fold(first, Bits::concat)
        }
        Node::Extract { low_bit, width_bits, of } => bits(of).extract(*low_bit, *width_bits),
        Node::SignExtend { width_bits, of } => bits(of).sign_extend(*width_bits),
        Node::Choice { condition, then, otherwise } => {
            return values[if bits(condition).is_set() { then } else { otherwise }].clone();
        }
        Node::Load { memory, address, bytes } => {
            let (memory, address) = (values[memory].memory(), bits(address).value());
            let byte = |number: u32| {
                u128::from(memory.byte(address.wrapping_add(u128::from(number)))) << (8 * number)
            };
            Bits::new(8 * bytes, (0..*bytes).map(byte).fold(0, |all, byte| all | byte))
        }
        Node::Store { memory, address, value } => {
            let (address, value) = (bits(address).value(), bits(value));
            let memory =
                (0..value.width_bits() / 8).fold(values[memory].memory().clone(), |memory, number| {
                    memory
                        .with(address.wrapping_add(u128::from(number)), (value.value() >> (8 * number)) as u8)
                });
            return Outcome::Memory(memory);
        }
        Node::Apply { function, arguments, width_bits } => {
            let arguments: Vec<Bits> = arguments.iter().map(bits).collect();
            if let Some(function) = Function::named(arena.name(*function)) {
                let arguments: Vec<u128> = arguments.iter().map(|argument| argument.value()).collect();
                return Outcome::Bits(Bits::new(*width_bits, function.value(&arguments)));
            }
            let half = |which: u8| u128::from(made_up(&(which, function, &arguments, assignment.seed)));
            Bits::new(*width_bits, (half(0) << 64) | half(1))
        }
    };
    Outcome::Bits(result)
}

fn variable(sort: Sort, symbol: Symbol, assignment: &Assignment) -> Outcome {
    let seed = assignment.seed;
    match sort {
        Sort::Bits(width_bits) => {
            let half = |which: u8| u128::from(made_up(&(which, symbol, seed)));
            let made_up = || Bits::new(width_bits, (half(0) << 64) | half(1));
            Outcome::Bits(assignment.bits.get(&symbol).copied().unwrap_or_else(made_up))
        }
        Sort::Memory(address_bits) => {
            let plain = MemoryValue { base: symbol, address_bits, seed, replaced: BTreeMap::new() };
            let given = assignment.memories.get(&symbol).into_iter().flatten();
            Outcome::Memory(given.fold(plain, |memory, (address, byte)| memory.with(*address, *byte)))
        }
    }
}

pub(crate) fn commutative(op: CommutativeOp, left: Bits, right: Bits) -> Bits {
    match op {
        CommutativeOp::And => left.and(right),
        CommutativeOp::Or => left.or(right),
        CommutativeOp::Xor => left.xor(right),
        CommutativeOp::Product => left.mul(right),
    }
}

pub(crate) fn binary(op: BinaryOp, left: Bits, right: Bits) -> Bits {
    match op {
        BinaryOp::UDiv => left.udiv(right),
        BinaryOp::URem => left.urem(right),
        BinaryOp::SDiv => left.sdiv(right),
        BinaryOp::SRem => left.srem(right),
        BinaryOp::Shl => left.shl(right),
        BinaryOp::LShr => left.lshr(right),
        BinaryOp::AShr => left.ashr(right),
    }
}

pub(crate) fn compare(op: CompareOp, left: Bits, right: Bits) -> Bits {
    match op {
        CompareOp::Eq => left.equals(right),
        CompareOp::Ult => left.ult(right),
        CompareOp::Slt => left.slt(right),
    }
}
