//! Floating point: the operations that both programs name, as functions of bit patterns.
//!
//! A proof knows nothing of them but their names: equal operands, equal results. A run computes them, as a processor
//! does with the environment that the ABI promises (round to nearest even, no flushing of denormals, exceptions
//! masked), NaN for NaN: [`function`] says what each is, and the processor judges it with the rows that use it.
//!
//! What LLVM's IR leaves open of a result that is a NaN, its sign and its payload, the source of a proof decides as the
//! processor would, but for the order of two operands of a sum or a product, which `product/nan_order` decides. A
//! run in which the source had to decide anything refutes nothing ([`Function::is_open`]).
//!
//! - [`function`]: the functions, their names and values;
//! - [`relation`]: comparisons, as bits of the one function that compares.

mod function;
mod relation;

pub use function::{Function, Operator, Rounding};
pub use relation::{Relation, relation};

/// A format of IEEE 754 that the model knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `float`: 32 bits.
    Single,
    /// `double`: 64 bits.
    Double,
}

impl Format {
    /// Both.
    pub const ALL: [Format; 2] = [Format::Single, Format::Double];

    /// The width of a number.
    pub fn width_bits(self) -> u32 {
        match self {
            Format::Single => 32,
            Format::Double => 64,
        }
    }

    /// Width of the fraction.
    pub(crate) fn fraction_bits(self) -> u32 {
        match self {
            Format::Single => 23,
            Format::Double => 52,
        }
    }

    /// The sign of a number, alone.
    pub fn sign(self) -> u128 {
        1 << (self.width_bits() - 1)
    }

    /// Infinity.
    pub(crate) fn infinity(self) -> u128 {
        (self.sign() - 1) >> self.fraction_bits() << self.fraction_bits()
    }

    /// The bit that makes a NaN quiet.
    pub(crate) fn quiet(self) -> u128 {
        1 << (self.fraction_bits() - 1)
    }

    /// Whether a pattern is no number.
    pub fn is_nan(self, pattern: u128) -> bool {
        pattern & (self.sign() - 1) > self.infinity()
    }
}
