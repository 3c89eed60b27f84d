//! What a row of semantics may do with words. Rows are written once over this trait and run in two domains:
//! [`Concrete`] on states that the CPU judges, [`Symbolic`] for proofs.
//!
//! Operations take `&self`, so that rows read like formulas; the domains keep what changes in cells.

mod concrete;
mod symbolic;

use crate::float::Function;

pub use concrete::{Concrete, Window};
pub use symbolic::{Collected, Layout, OneRegion, Requirement, Symbolic};

/// Why an instruction does not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// #DE: division by zero, or a quotient that does not fit.
    Divide,
    /// #UD.
    InvalidOpcode,
    /// #GP: unaligned vector access or an address that is not canonical.
    GeneralProtection,
    /// #SS: an address that is not canonical, of the stack or relative to rsp or rbp.
    StackSegment,
    /// #PF: no memory there.
    Page,
    /// The manual leaves the result open. No processor faults here, but no proof may go past it either.
    UndefinedResult,
    /// An access of the frame so far below the stack pointer that a signal handler may write there. No run shows
    /// that, but no proof may go past it.
    BelowStack,
    /// What the front end guessed does not hold. Nothing is known of such a run, and no proof may go past it.
    Guess,
}

/// Words of 1 to 128 bits, and memory.
pub trait Domain {
    /// A word.
    type Word: Copy + std::fmt::Debug;

    /// A constant, modulo 2^`width_bits`.
    fn constant(&self, width_bits: u32, value: u128) -> Self::Word;
    /// Width of a word.
    fn width_bits(&self, word: Self::Word) -> u32;
    /// Sum.
    fn add(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Difference.
    fn sub(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Product.
    fn mul(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Conjunction.
    fn and(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Disjunction.
    fn or(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Exclusive or.
    fn xor(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Unsigned quotient, as in SMT-LIB.
    fn udiv(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Unsigned remainder, as in SMT-LIB.
    fn urem(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Signed quotient, as in SMT-LIB.
    fn sdiv(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Signed remainder, as in SMT-LIB.
    fn srem(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Shift to the left; 0 from the width on.
    fn shl(&self, word: Self::Word, count: Self::Word) -> Self::Word;
    /// Logical shift to the right; 0 from the width on.
    fn lshr(&self, word: Self::Word, count: Self::Word) -> Self::Word;
    /// Arithmetic shift to the right; all sign from the width on.
    fn ashr(&self, word: Self::Word, count: Self::Word) -> Self::Word;
    /// Bits from `low_bit` on.
    fn extract(&self, word: Self::Word, low_bit: u32, width_bits: u32) -> Self::Word;
    /// One above the other.
    fn concat(&self, high: Self::Word, low: Self::Word) -> Self::Word;
    /// Zeros above; the word itself if it has that width.
    fn zero_extend(&self, word: Self::Word, width_bits: u32) -> Self::Word;
    /// Sign above; the word itself if it has that width.
    fn sign_extend(&self, word: Self::Word, width_bits: u32) -> Self::Word;
    /// Equality; one bit.
    fn equals(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Less, unsigned; one bit.
    fn ult(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// Less, signed; one bit.
    fn slt(&self, left: Self::Word, right: Self::Word) -> Self::Word;
    /// One of two, by a bit.
    fn choose(&self, condition: Self::Word, then: Self::Word, otherwise: Self::Word) -> Self::Word;
    /// A function of floating-point numbers.
    fn float(&self, function: Function, operands: &[Self::Word]) -> Self::Word;
    /// A value that nobody knows.
    fn unknown(&self, width_bits: u32) -> Self::Word;
    /// Bytes of memory, little-endian.
    fn load(&self, address: Self::Word, bytes: u32) -> Result<Self::Word, Fault>;
    /// Replaces bytes of memory.
    fn store(&self, address: Self::Word, value: Self::Word) -> Result<(), Fault>;
    /// Goes on only if the bit is set: stops here in the concrete, notes the condition in the symbolic.
    fn require(&self, condition: Self::Word, otherwise: Fault) -> Result<(), Fault>;

    /// 0 of a width.
    fn zero(&self, width_bits: u32) -> Self::Word {
        self.constant(width_bits, 0)
    }

    /// A bit.
    fn bit(&self, value: bool) -> Self::Word {
        self.constant(1, u128::from(value))
    }

    /// All bits inverted.
    fn not(&self, word: Self::Word) -> Self::Word {
        self.xor(word, self.constant(self.width_bits(word), u128::MAX))
    }

    /// Whether no bit is set.
    fn is_zero(&self, word: Self::Word) -> Self::Word {
        self.equals(word, self.zero(self.width_bits(word)))
    }

    /// The highest bit.
    fn sign(&self, word: Self::Word) -> Self::Word {
        self.extract(word, self.width_bits(word) - 1, 1)
    }

    /// The low bits.
    fn low(&self, word: Self::Word, width_bits: u32) -> Self::Word {
        if width_bits == self.width_bits(word) { word } else { self.extract(word, 0, width_bits) }
    }

    /// Lanes of a vector, lowest first.
    fn lanes(&self, word: Self::Word, lane_bits: u32) -> Vec<Self::Word> {
        (0..self.width_bits(word) / lane_bits)
            .map(|lane| self.extract(word, lane * lane_bits, lane_bits))
            .collect()
    }

    /// A vector of lanes, lowest first. There is at least one.
    fn join(&self, lanes: &[Self::Word]) -> Self::Word {
        let (first, rest) = lanes.split_first().expect("a vector has lanes");
        rest.iter().fold(*first, |low, high| self.concat(*high, low))
    }
}
