//! Bit vectors of 1 to 128 bits with the operations of SMT-LIB's QF_BV.
//!
//! This is the one place that says what an operation means: the concrete domain runs it on states that the
//! CPU judges, the evaluator of expressions runs it on models, and the normaliser folds constants with it.

/// A bit vector. The value is below 2^width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    width_bits: u32,
    value: u128,
}

impl std::fmt::Debug for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}:{}", self.value, self.width_bits)
    }
}

/// The largest value of a width.
pub fn mask(width_bits: u32) -> u128 {
    if width_bits >= 128 { u128::MAX } else { (1 << width_bits) - 1 }
}

impl Bits {
    /// `value` modulo 2^`width_bits`. The width is 1 to 128: all callers take it from decoded instructions
    /// or from other bit vectors, so another one is a bug here.
    pub fn new(width_bits: u32, value: u128) -> Bits {
        assert!((1..=128).contains(&width_bits), "no bit vector has {width_bits} bits");
        Bits { width_bits, value: value & mask(width_bits) }
    }

    /// One bit.
    pub fn bit(value: bool) -> Bits {
        Bits { width_bits: 1, value: u128::from(value) }
    }

    /// The width.
    pub fn width_bits(self) -> u32 {
        self.width_bits
    }

    /// The value, unsigned.
    pub fn value(self) -> u128 {
        self.value
    }

    /// The value as a two's complement number.
    pub fn signed(self) -> i128 {
        let unused = 128 - self.width_bits;
        ((self.value << unused) as i128) >> unused
    }

    /// Whether a single bit is set, or any of many.
    pub fn is_set(self) -> bool {
        self.value != 0
    }

    fn same_width(self, other: Bits) -> u32 {
        assert_eq!(self.width_bits, other.width_bits, "operands have different widths");
        self.width_bits
    }

    fn like(self, value: u128) -> Bits {
        Bits::new(self.width_bits, value)
    }

    /// Sum.
    #[allow(clippy::should_implement_trait)]
    pub fn add(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value.wrapping_add(other.value))
    }

    /// Difference.
    #[allow(clippy::should_implement_trait)]
    pub fn sub(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value.wrapping_sub(other.value))
    }

    /// Product.
    #[allow(clippy::should_implement_trait)]
    pub fn mul(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value.wrapping_mul(other.value))
    }

    /// Conjunction.
    pub fn and(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value & other.value)
    }

    /// Disjunction.
    pub fn or(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value | other.value)
    }

    /// Exclusive or.
    pub fn xor(self, other: Bits) -> Bits {
        Bits::new(self.same_width(other), self.value ^ other.value)
    }

    /// Unsigned quotient; all ones if divided by 0.
    pub fn udiv(self, other: Bits) -> Bits {
        self.same_width(other);
        self.like(self.value.checked_div(other.value).unwrap_or(u128::MAX))
    }

    /// Unsigned remainder; the dividend if divided by 0.
    pub fn urem(self, other: Bits) -> Bits {
        self.same_width(other);
        self.like(self.value.checked_rem(other.value).unwrap_or(self.value))
    }

    /// Signed quotient, truncated; 1 or -1 if divided by 0.
    pub fn sdiv(self, other: Bits) -> Bits {
        self.same_width(other);
        let by_zero = if self.signed() < 0 { 1 } else { -1 };
        let quotient = if other.value == 0 { by_zero } else { self.signed().wrapping_div(other.signed()) };
        self.like(quotient as u128)
    }

    /// Signed remainder with the sign of the dividend; the dividend if divided by 0.
    pub fn srem(self, other: Bits) -> Bits {
        self.same_width(other);
        let remainder =
            if other.value == 0 { self.signed() } else { self.signed().wrapping_rem(other.signed()) };
        self.like(remainder as u128)
    }

    /// Shift to the left; 0 if the count reaches the width.
    #[allow(clippy::should_implement_trait)]
    pub fn shl(self, count: Bits) -> Bits {
        let width = self.same_width(count);
        if count.value >= u128::from(width) { self.like(0) } else { self.like(self.value << count.value) }
    }

    /// Logical shift to the right; 0 if the count reaches the width.
    pub fn lshr(self, count: Bits) -> Bits {
        let width = self.same_width(count);
        if count.value >= u128::from(width) { self.like(0) } else { self.like(self.value >> count.value) }
    }

    /// Arithmetic shift to the right; all sign if the count reaches the width.
    pub fn ashr(self, count: Bits) -> Bits {
        let width = self.same_width(count);
        let steps = count.value.min(u128::from(width - 1));
        self.like((self.signed() >> steps) as u128)
    }

    /// `width_bits` bits from `low_bit` on.
    pub fn extract(self, low_bit: u32, width_bits: u32) -> Bits {
        assert!(low_bit + width_bits <= self.width_bits, "bits outside of the vector");
        Bits::new(width_bits, self.value >> low_bit)
    }

    /// This above `low`.
    pub fn concat(self, low: Bits) -> Bits {
        Bits::new(self.width_bits + low.width_bits, (self.value << low.width_bits) | low.value)
    }

    /// Zeros above, to `width_bits`.
    pub fn zero_extend(self, width_bits: u32) -> Bits {
        assert!(width_bits >= self.width_bits, "an extension does not cut");
        Bits::new(width_bits, self.value)
    }

    /// Copies of the sign above, to `width_bits`.
    pub fn sign_extend(self, width_bits: u32) -> Bits {
        assert!(width_bits >= self.width_bits, "an extension does not cut");
        Bits::new(width_bits, self.signed() as u128)
    }

    /// Whether both are equal.
    pub fn equals(self, other: Bits) -> Bits {
        self.same_width(other);
        Bits::bit(self.value == other.value)
    }

    /// Whether this is less, unsigned.
    pub fn ult(self, other: Bits) -> Bits {
        self.same_width(other);
        Bits::bit(self.value < other.value)
    }

    /// Whether this is less, signed.
    pub fn slt(self, other: Bits) -> Bits {
        self.same_width(other);
        Bits::bit(self.signed() < other.signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(value: u128) -> Bits {
        Bits::new(8, value)
    }

    #[test]
    fn signed_operations_at_the_edge() {
        assert_eq!(byte(0x80).sdiv(byte(0xff)), byte(0x80));
        assert_eq!(byte(0x80).srem(byte(0xff)), byte(0));
        assert_eq!(byte(0xf9).sdiv(byte(2)), byte(0xfd));
        assert_eq!(byte(0xf9).srem(byte(2)), byte(0xff));
        assert_eq!(Bits::new(128, 1 << 127).sdiv(Bits::new(128, u128::MAX)), Bits::new(128, 1 << 127));
    }

    #[test]
    fn division_by_zero_is_that_of_smt_lib() {
        assert_eq!(byte(5).udiv(byte(0)), byte(0xff));
        assert_eq!(byte(5).urem(byte(0)), byte(5));
        assert_eq!(byte(5).sdiv(byte(0)), byte(0xff));
        assert_eq!(byte(0xfb).sdiv(byte(0)), byte(1));
        assert_eq!(byte(0xfb).srem(byte(0)), byte(0xfb));
    }

    #[test]
    fn shifts_beyond_the_width() {
        assert_eq!(byte(0xff).shl(byte(8)), byte(0));
        assert_eq!(byte(0xff).lshr(byte(200)), byte(0));
        assert_eq!(byte(0x80).ashr(byte(200)), byte(0xff));
        assert_eq!(Bits::new(128, u128::MAX).shl(Bits::new(128, 128)), Bits::new(128, 0));
    }

    #[test]
    fn slices_and_extensions() {
        assert_eq!(byte(0xa5).concat(byte(0x3c)).extract(4, 8), byte(0x53));
        assert_eq!(byte(0x80).sign_extend(16), Bits::new(16, 0xff80));
        assert_eq!(byte(0x80).zero_extend(16), Bits::new(16, 0x80));
        assert_eq!(Bits::new(1, 1).sign_extend(128), Bits::new(128, u128::MAX));
    }
}
