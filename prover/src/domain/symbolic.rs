//! The symbolic domain: words are expressions, memory is an expression, and what must hold for an instruction
//! to complete is collected instead of decided.

use super::{Domain, Fault};
use crate::bits::Bits;
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Sort};
use std::cell::RefCell;

/// A bit that must be set, or the instruction faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The bit.
    pub condition: ExprId,
    /// What happens otherwise.
    pub otherwise: Fault,
}

/// Expressions of one arena and the memory they speak of.
#[derive(Debug)]
pub struct Symbolic {
    inner: RefCell<Inner>,
}

#[derive(Debug)]
struct Inner {
    arena: Arena,
    memory: ExprId,
    requirements: Vec<Requirement>,
    unknowns: u32,
}

impl Symbolic {
    /// With 64-bit addresses; the memory is the variable `memory`.
    pub fn new(mut arena: Arena) -> Symbolic {
        let memory = arena.variable("memory", Sort::Memory(64));
        Symbolic { inner: RefCell::new(Inner { arena, memory, requirements: Vec::new(), unknowns: 0 }) }
    }

    /// A variable.
    pub fn variable(&self, name: &str, width_bits: u32) -> ExprId {
        self.inner.borrow_mut().arena.variable(name, Sort::Bits(width_bits))
    }

    /// The memory as it is now.
    pub fn memory(&self) -> ExprId {
        self.inner.borrow().memory
    }

    /// The arena, the memory as it is now, and what must hold for all that ran to complete.
    pub fn into_parts(self) -> (Arena, ExprId, Vec<Requirement>) {
        let inner = self.inner.into_inner();
        (inner.arena, inner.memory, inner.requirements)
    }

    fn with<T>(&self, make: impl FnOnce(&mut Arena) -> T) -> T {
        make(&mut self.inner.borrow_mut().arena)
    }
}

impl Domain for Symbolic {
    type Word = ExprId;

    fn constant(&self, width_bits: u32, value: u128) -> ExprId {
        self.with(|arena| arena.constant(Bits::new(width_bits, value)))
    }
    fn width_bits(&self, word: ExprId) -> u32 {
        self.inner.borrow().arena.width_bits(word)
    }
    fn add(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.add(left, right))
    }
    fn sub(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.sub(left, right))
    }
    fn mul(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.commutative(CommutativeOp::Product, &[left, right]))
    }
    fn and(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.commutative(CommutativeOp::And, &[left, right]))
    }
    fn or(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.commutative(CommutativeOp::Or, &[left, right]))
    }
    fn xor(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.commutative(CommutativeOp::Xor, &[left, right]))
    }
    fn udiv(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::UDiv, left, right))
    }
    fn urem(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::URem, left, right))
    }
    fn sdiv(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::SDiv, left, right))
    }
    fn srem(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::SRem, left, right))
    }
    fn shl(&self, word: ExprId, count: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::Shl, word, count))
    }
    fn lshr(&self, word: ExprId, count: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::LShr, word, count))
    }
    fn ashr(&self, word: ExprId, count: ExprId) -> ExprId {
        self.with(|arena| arena.binary(BinaryOp::AShr, word, count))
    }
    fn extract(&self, word: ExprId, low_bit: u32, width_bits: u32) -> ExprId {
        self.with(|arena| arena.extract(word, low_bit, width_bits))
    }
    fn concat(&self, high: ExprId, low: ExprId) -> ExprId {
        self.with(|arena| arena.concat(&[high, low]))
    }
    fn zero_extend(&self, word: ExprId, width_bits: u32) -> ExprId {
        self.with(|arena| arena.zero_extend(word, width_bits))
    }
    fn sign_extend(&self, word: ExprId, width_bits: u32) -> ExprId {
        self.with(|arena| arena.sign_extend(word, width_bits))
    }
    fn equals(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.compare(CompareOp::Eq, left, right))
    }
    fn ult(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.compare(CompareOp::Ult, left, right))
    }
    fn slt(&self, left: ExprId, right: ExprId) -> ExprId {
        self.with(|arena| arena.compare(CompareOp::Slt, left, right))
    }
    fn choose(&self, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        self.with(|arena| arena.choice(condition, then, otherwise))
    }

    fn unknown(&self, width_bits: u32) -> ExprId {
        let mut inner = self.inner.borrow_mut();
        inner.unknowns += 1;
        let name = format!("unknown.{}.{width_bits}", inner.unknowns);
        inner.arena.variable(&name, Sort::Bits(width_bits))
    }

    fn load(&self, address: ExprId, bytes: u32) -> Result<ExprId, Fault> {
        let memory = self.memory();
        Ok(self.with(|arena| arena.load(memory, address, bytes)))
    }

    fn store(&self, address: ExprId, value: ExprId) -> Result<(), Fault> {
        let memory = self.memory();
        let after = self.with(|arena| arena.store(memory, address, value));
        self.inner.borrow_mut().memory = after;
        Ok(())
    }

    fn require(&self, condition: ExprId, otherwise: Fault) -> Result<(), Fault> {
        self.inner.borrow_mut().requirements.push(Requirement { condition, otherwise });
        Ok(())
    }
}
