//! Expressions over bit vectors and byte memories, hash-consed in one arena: equal expressions have equal ids.
//!
//! The constructors here build exactly what they are asked for; [`normal::Normaliser`] rewrites. So an
//! obligation can be exported as it was before any rewriting. Both use the same nodes: a normal form is a
//! node whose parts obey more rules.
//!
//! **Invariant**: the parts of a node have smaller ids than the node, so passes over a set of expressions
//! go by increasing id and need no recursion.

pub mod decompose;
pub(crate) mod eval;
pub mod normal;
pub mod smtlib;
pub mod substitute;

use crate::bits::Bits;
use std::collections::HashMap;

pub use eval::{Assignment, MemoryValue, Outcome, evaluate};

/// Name of an expression in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// The number that it is.
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }
}

/// Name of a variable or of an uninterpreted function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(u32);

/// What an expression stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// A bit vector of so many bits.
    Bits(u32),
    /// Bytes by address, addresses of so many bits.
    Memory(u32),
}

/// One expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// A constant.
    Constant(Bits),
    /// A variable of any sort.
    Variable(Symbol),
    /// `constant + c1*t1 + ...` modulo 2^w.
    Sum {
        /// The constant; its width is that of the sum.
        constant: Bits,
        /// Coefficients and terms.
        terms: Box<[(u128, ExprId)]>,
    },
    /// An operation on any number of operands of one width, in any order.
    Commutative(CommutativeOp, Box<[ExprId]>),
    /// An operation on two operands of one width.
    Binary(BinaryOp, ExprId, ExprId),
    /// A relation between two operands of one width; one bit.
    Compare(CompareOp, ExprId, ExprId),
    /// One above the other, the highest first.
    Concat(Box<[ExprId]>),
    /// `width_bits` bits from `low_bit` on.
    Extract {
        /// Lowest bit.
        low_bit: u32,
        /// Number of bits.
        width_bits: u32,
        /// Of what.
        of: ExprId,
    },
    /// Copies of the sign above, to `width_bits`.
    SignExtend {
        /// New width.
        width_bits: u32,
        /// What is extended.
        of: ExprId,
    },
    /// One of two, by a bit.
    Choice {
        /// The bit.
        condition: ExprId,
        /// If it is set.
        then: ExprId,
        /// If not.
        otherwise: ExprId,
    },
    /// Little-endian value of some bytes; addresses wrap around.
    Load {
        /// Memory.
        memory: ExprId,
        /// Address of the lowest byte.
        address: ExprId,
        /// Number of bytes, 1 to 16.
        bytes: u32,
    },
    /// Memory with some bytes replaced.
    Store {
        /// Memory before.
        memory: ExprId,
        /// Address of the lowest byte.
        address: ExprId,
        /// The bytes, little-endian; a multiple of 8 bits.
        value: ExprId,
    },
    /// A function of which only the name is known.
    Apply {
        /// The function.
        function: Symbol,
        /// Its arguments.
        arguments: Box<[ExprId]>,
        /// Width of the result.
        width_bits: u32,
    },
}

/// Operations whose operands may be taken in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum CommutativeOp {
    And,
    Or,
    Xor,
    Product,
}

/// Operations on two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum BinaryOp {
    UDiv,
    URem,
    SDiv,
    SRem,
    Shl,
    LShr,
    AShr,
}

/// Relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    Ult,
    Slt,
}

/// Owner of all expressions.
#[derive(Debug, Default)]
pub struct Arena {
    nodes: Vec<Node>,
    sorts: Vec<Sort>,
    interned: HashMap<Node, ExprId>,
    names: Vec<(String, Sort)>,
    named: HashMap<String, Symbol>,
}

impl Arena {
    /// An empty arena.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// The node of an expression.
    pub fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Its sort.
    pub fn sort(&self, id: ExprId) -> Sort {
        self.sorts[id.0 as usize]
    }

    /// Width of a bit vector. A memory has none: asking is a bug.
    pub fn width_bits(&self, id: ExprId) -> u32 {
        match self.sort(id) {
            Sort::Bits(width_bits) => width_bits,
            Sort::Memory(_) => panic!("a memory has no width"),
        }
    }

    /// The constant that a node is.
    pub fn as_constant(&self, id: ExprId) -> Option<Bits> {
        match self.node(id) {
            Node::Constant(bits) => Some(*bits),
            _ => None,
        }
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Name of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.0 as usize].0
    }

    /// All expressions that `roots` are made of, parts before wholes.
    pub fn reachable(&self, roots: &[ExprId]) -> Vec<ExprId> {
        let mut seen = std::collections::HashSet::new();
        let mut open = roots.to_vec();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                self.node(id).for_each_part(|part| open.push(part));
            }
        }
        let mut ids: Vec<ExprId> = seen.into_iter().collect();
        ids.sort_unstable();
        ids
    }

    fn intern(&mut self, node: Node, sort: Sort) -> ExprId {
        if let Some(id) = self.interned.get(&node) {
            return *id;
        }
        let id = ExprId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 expressions"));
        self.nodes.push(node.clone());
        self.sorts.push(sort);
        self.interned.insert(node, id);
        id
    }

    /// The symbol of that name. One name has one sort: another is a bug.
    pub fn symbol(&mut self, name: &str, sort: Sort) -> Symbol {
        if let Some(symbol) = self.named.get(name) {
            assert_eq!(self.names[symbol.0 as usize].1, sort, "`{name}` has another sort");
            return *symbol;
        }
        let symbol = Symbol(self.names.len() as u32);
        self.names.push((name.to_owned(), sort));
        self.named.insert(name.to_owned(), symbol);
        symbol
    }

    /// A variable.
    pub fn variable(&mut self, name: &str, sort: Sort) -> ExprId {
        let symbol = self.symbol(name, sort);
        self.intern(Node::Variable(symbol), sort)
    }

    /// The variable of that name, if there is one.
    pub fn find_variable(&self, name: &str) -> Option<ExprId> {
        let symbol = self.named.get(name)?;
        self.interned.get(&Node::Variable(*symbol)).copied()
    }

    /// A constant.
    pub fn constant(&mut self, bits: Bits) -> ExprId {
        self.intern(Node::Constant(bits), Sort::Bits(bits.width_bits()))
    }

    /// A sum as it is given.
    pub fn sum(&mut self, constant: Bits, terms: &[(u128, ExprId)]) -> ExprId {
        let sort = Sort::Bits(constant.width_bits());
        assert!(terms.iter().all(|(_, term)| self.sort(*term) == sort), "a sum has one width");
        self.intern(Node::Sum { constant, terms: terms.into() }, sort)
    }

    /// `left + right`.
    pub fn add(&mut self, left: ExprId, right: ExprId) -> ExprId {
        let width_bits = self.width_bits(left);
        self.sum(Bits::new(width_bits, 0), &[(1, left), (1, right)])
    }

    /// `left - right`.
    pub fn sub(&mut self, left: ExprId, right: ExprId) -> ExprId {
        let zero = Bits::new(self.width_bits(left), 0);
        let minus_one = zero.sub(Bits::new(zero.width_bits(), 1)).value();
        self.sum(zero, &[(1, left), (minus_one, right)])
    }

    /// An operation on operands in any order.
    pub fn commutative(&mut self, op: CommutativeOp, operands: &[ExprId]) -> ExprId {
        let sort = self.sort(operands[0]);
        assert!(operands.iter().all(|operand| self.sort(*operand) == sort), "operands have one width");
        self.intern(Node::Commutative(op, operands.into()), sort)
    }

    /// All bits inverted.
    pub fn not(&mut self, of: ExprId) -> ExprId {
        let ones = self.constant(Bits::new(self.width_bits(of), u128::MAX));
        self.commutative(CommutativeOp::Xor, &[ones, of])
    }

    /// An operation on two operands.
    pub fn binary(&mut self, op: BinaryOp, left: ExprId, right: ExprId) -> ExprId {
        assert_eq!(self.sort(left), self.sort(right), "operands have one width");
        self.intern(Node::Binary(op, left, right), self.sort(left))
    }

    /// A relation.
    pub fn compare(&mut self, op: CompareOp, left: ExprId, right: ExprId) -> ExprId {
        assert_eq!(self.sort(left), self.sort(right), "operands have one width");
        self.intern(Node::Compare(op, left, right), Sort::Bits(1))
    }

    /// One above the other, the highest first.
    pub fn concat(&mut self, parts: &[ExprId]) -> ExprId {
        let width_bits = parts.iter().map(|part| self.width_bits(*part)).sum();
        assert!((1..=128).contains(&width_bits), "no bit vector has {width_bits} bits");
        self.intern(Node::Concat(parts.into()), Sort::Bits(width_bits))
    }

    /// Some of the bits.
    pub fn extract(&mut self, of: ExprId, low_bit: u32, width_bits: u32) -> ExprId {
        assert!(width_bits > 0 && low_bit + width_bits <= self.width_bits(of), "bits outside of the vector");
        self.intern(Node::Extract { low_bit, width_bits, of }, Sort::Bits(width_bits))
    }

    /// Zeros above; the expression itself if it has that width.
    pub fn zero_extend(&mut self, of: ExprId, width_bits: u32) -> ExprId {
        let missing = width_bits - self.width_bits(of);
        if missing == 0 {
            return of;
        }
        let zeros = self.constant(Bits::new(missing, 0));
        self.concat(&[zeros, of])
    }

    /// Copies of the sign above; the expression itself if it has that width.
    pub fn sign_extend(&mut self, of: ExprId, width_bits: u32) -> ExprId {
        assert!(width_bits >= self.width_bits(of), "an extension does not cut");
        if width_bits == self.width_bits(of) {
            return of;
        }
        self.intern(Node::SignExtend { width_bits, of }, Sort::Bits(width_bits))
    }

    /// One of two.
    pub fn choice(&mut self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        assert_eq!(self.sort(condition), Sort::Bits(1), "a condition is one bit");
        assert_eq!(self.sort(then), self.sort(otherwise), "both sides have one sort");
        self.intern(Node::Choice { condition, then, otherwise }, self.sort(then))
    }

    /// Bytes of a memory.
    pub fn load(&mut self, memory: ExprId, address: ExprId, bytes: u32) -> ExprId {
        assert_eq!(self.sort(memory), Sort::Memory(self.width_bits(address)), "addresses of one width");
        assert!((1..=16).contains(&bytes), "1 to 16 bytes at once");
        self.intern(Node::Load { memory, address, bytes }, Sort::Bits(8 * bytes))
    }

    /// A memory with some bytes replaced.
    pub fn store(&mut self, memory: ExprId, address: ExprId, value: ExprId) -> ExprId {
        assert_eq!(self.sort(memory), Sort::Memory(self.width_bits(address)), "addresses of one width");
        assert!(self.width_bits(value).is_multiple_of(8), "whole bytes");
        self.intern(Node::Store { memory, address, value }, self.sort(memory))
    }

    /// A function of which only the name is known.
    pub fn apply(&mut self, function: &str, arguments: &[ExprId], width_bits: u32) -> ExprId {
        let function = self.symbol(function, Sort::Bits(width_bits));
        let node = Node::Apply { function, arguments: arguments.into(), width_bits };
        self.intern(node, Sort::Bits(width_bits))
    }
}

impl Node {
    /// Calls `visit` for each direct part.
    pub fn for_each_part(&self, mut visit: impl FnMut(ExprId)) {
        match self {
            Node::Constant(_) | Node::Variable(_) => {}
            Node::Sum { terms, .. } => terms.iter().for_each(|(_, term)| visit(*term)),
            Node::Commutative(_, parts) | Node::Concat(parts) | Node::Apply { arguments: parts, .. } => {
                parts.iter().copied().for_each(visit);
            }
            Node::Binary(_, left, right) | Node::Compare(_, left, right) => {
                [*left, *right].into_iter().for_each(visit)
            }
            Node::Extract { of, .. } | Node::SignExtend { of, .. } => visit(*of),
            Node::Choice { condition, then, otherwise } => {
                [*condition, *then, *otherwise].into_iter().for_each(visit);
            }
            Node::Load { memory, address, .. } => [*memory, *address].into_iter().for_each(visit),
            Node::Store { memory, address, value } => [*memory, *address, *value].into_iter().for_each(visit),
        }
    }
}
