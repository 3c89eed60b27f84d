//! The symbolic domain: words are expressions, memory is one expression per region, and what must hold for an
//! instruction to complete is collected instead of decided.

use super::{Domain, Fault};
use crate::bits::Bits;
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node, Sort};
use crate::float::Function;
use crate::region::{Access, Region};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A bit that must be set, or the instruction faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement {
    /// The bit.
    pub condition: ExprId,
    /// What happens otherwise.
    pub otherwise: Fault,
}

/// Where addresses lead.
pub trait Layout {
    /// The region that an address is taken to lie in. That it does is an obligation of its own.
    fn region(&self, arena: &mut Arena, address: ExprId) -> Region;

    /// The value of bytes that never change and are known.
    fn constant(&self, _arena: &mut Arena, _address: ExprId, _bytes: u32) -> Option<Bits> {
        None
    }

    /// Width of the addresses of memory. Words that hold addresses have 64 bits; the rest of them is 0.
    fn address_bits(&self) -> u32 {
        64
    }

    /// The variable that stands for a region's contents.
    fn memory(&self, arena: &mut Arena, region: &Region) -> ExprId {
        region.variable(arena)
    }
}

/// All memory is one region, with addresses of so many bits.
#[derive(Debug, Clone, Copy)]
pub struct OneRegion(pub u32);

impl Layout for OneRegion {
    fn region(&self, _: &mut Arena, _: ExprId) -> Region {
        Region::Rest
    }

    fn address_bits(&self) -> u32 {
        self.0
    }

    fn memory(&self, arena: &mut Arena, region: &Region) -> ExprId {
        region.variable_in(arena, self.0)
    }
}

/// Expressions of one arena and the memories they speak of.
pub struct Symbolic<'a> {
    inner: RefCell<Inner>,
    layout: &'a dyn Layout,
}

struct Inner {
    arena: Arena,
    prefix: String,
    collected: Collected,
    unknowns: u32,
}

/// What a symbolic run leaves behind.
#[derive(Debug, Default)]
pub struct Collected {
    /// Memories that were touched, as they are now.
    pub memories: BTreeMap<Region, ExprId>,
    /// What must hold for all that ran to complete.
    pub requirements: Vec<Requirement>,
    /// All accesses, in order.
    pub accesses: Vec<Access>,
}

impl<'a> Symbolic<'a> {
    /// With 64-bit addresses. `prefix` sets its unknowns apart from those of other runs in the same arena.
    pub fn new(arena: Arena, prefix: &str, layout: &'a dyn Layout) -> Symbolic<'a> {
        let inner = Inner { arena, prefix: prefix.to_owned(), collected: Collected::default(), unknowns: 0 };
        Symbolic { inner: RefCell::new(inner), layout }
    }

    /// A variable.
    pub fn variable(&self, name: &str, width_bits: u32) -> ExprId {
        self.with(|arena| arena.variable(name, Sort::Bits(width_bits)))
    }

    /// The arena and what was collected.
    pub fn into_parts(self) -> (Arena, Collected) {
        let inner = self.inner.into_inner();
        (inner.arena, inner.collected)
    }

    /// How many accesses there were.
    pub fn accesses(&self) -> usize {
        self.inner.borrow().collected.accesses.len()
    }

    /// Bits that a word needs as a signed number, as far as its form says.
    pub fn signed_bits(&self, word: ExprId) -> u32 {
        let arena = &self.inner.borrow().arena;
        match arena.node(word) {
            Node::Constant(bits) => u128::BITS + 1 - bits.signed().unsigned_abs().leading_zeros(),
            Node::SignExtend { of, .. } => arena.width_bits(*of),
            Node::Concat(parts) => match parts.as_ref() {
                [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| bits.value() == 0) => {
                    arena.width_bits(*of) + 1
                }
                _ => arena.width_bits(word),
            },
            _ => arena.width_bits(word),
        }
    }

    /// Does something with the arena.
    pub fn with<T>(&self, make: impl FnOnce(&mut Arena) -> T) -> T {
        make(&mut self.inner.borrow_mut().arena)
    }

    /// Notes an access; gives its region and the memory there.
    fn access(&self, address: ExprId, bytes: u32, write: bool) -> (Region, ExprId) {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        let region = self.layout.region(&mut inner.arena, address);
        inner.collected.accesses.push(Access { region: region.clone(), address, bytes, write });
        let arena = &mut inner.arena;
        let start = || self.layout.memory(arena, &region);
        let memory = *inner.collected.memories.entry(region.clone()).or_insert_with(start);
        (region, memory)
    }
}

impl Domain for Symbolic<'_> {
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

    fn float(&self, function: Function, operands: &[ExprId]) -> ExprId {
        self.with(|arena| arena.apply(&function.name(), operands, function.width_bits()))
    }

    fn unknown(&self, width_bits: u32) -> ExprId {
        let mut inner = self.inner.borrow_mut();
        inner.unknowns += 1;
        let name = format!("{}unknown.{}.{width_bits}", inner.prefix, inner.unknowns);
        inner.arena.variable(&name, Sort::Bits(width_bits))
    }

    fn load(&self, address: ExprId, bytes: u32) -> Result<ExprId, Fault> {
        let address = self.low(address, self.layout.address_bits().min(self.width_bits(address)));
        let known = self.with(|arena| self.layout.constant(arena, address, bytes));
        if let Some(bits) = known {
            return Ok(self.with(|arena| arena.constant(bits)));
        }
        let (_, memory) = self.access(address, bytes, false);
        Ok(self.with(|arena| arena.load(memory, address, bytes)))
    }

    fn store(&self, address: ExprId, value: ExprId) -> Result<(), Fault> {
        let address = self.low(address, self.layout.address_bits().min(self.width_bits(address)));
        let (region, memory) = self.access(address, self.width_bits(value) / 8, true);
        let after = self.with(|arena| arena.store(memory, address, value));
        self.inner.borrow_mut().collected.memories.insert(region, after);
        Ok(())
    }

    fn require(&self, condition: ExprId, otherwise: Fault) -> Result<(), Fault> {
        self.inner.borrow_mut().collected.requirements.push(Requirement { condition, otherwise });
        Ok(())
    }
}
