//! The functions: names, widths and values.
//!
//! Values are those of SSE instructions (Intel's manual, volume 1, sections 4.8.3.5 and 11.5.2.1): of two NaNs the first
//! operand's, made quiet; where no operand is a NaN and the result is one, the negative quiet NaN without payload.

use super::Format;
use crate::bits::{Bits, mask};

/// An operation on two numbers of one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
}

/// How a number becomes an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, to an even one of two.
    Nearest,
    /// Towards zero.
    Truncate,
}

/// A function of bit patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Function {
    /// `a OP b`.
    Arithmetic(Operator, Format),
    /// The square root.
    SquareRoot(Format),
    /// How two numbers compare, in two bits: 0 greater, 1 less, 2 equal, 3 not at all. Bit 1 is what `ucomis` puts
    /// into the zero flag, bit 0 into the carry flag.
    Compare(Format),
    /// The other format: `float` to `double`, which is exact, or `double` to `float`.
    To(Format),
    /// A number from a signed integer of so many bits.
    FromSigned(u32, Format),
    /// A signed integer of so many bits; of what does not fit, the lowest.
    ToSigned(Format, u32, Rounding),
}

const OPERATORS: [Operator; 4] = [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div];
const INTEGERS: [u32; 2] = [32, 64];

impl Function {
    /// All of them.
    pub fn all() -> Vec<Function> {
        let mut all = Vec::new();
        for format in Format::ALL {
            all.extend(OPERATORS.map(|operator| Function::Arithmetic(operator, format)));
            all.extend([Function::SquareRoot(format), Function::Compare(format), Function::To(format)]);
            for width_bits in INTEGERS {
                all.push(Function::FromSigned(width_bits, format));
                all.push(Function::ToSigned(format, width_bits, Rounding::Nearest));
                all.push(Function::ToSigned(format, width_bits, Rounding::Truncate));
            }
        }
        all
    }

    /// Its name in expressions and in proofs.
    pub fn name(self) -> String {
        let operator = |operator| match operator {
            Operator::Add => "add",
            Operator::Sub => "sub",
            Operator::Mul => "mul",
            Operator::Div => "div",
        };
        match self {
            Function::Arithmetic(which, format) => format!("fp.{}.{}", operator(which), format.width_bits()),
            Function::SquareRoot(format) => format!("fp.sqrt.{}", format.width_bits()),
            Function::Compare(format) => format!("fp.compare.{}", format.width_bits()),
            Function::To(Format::Single) => "fp.narrow.64.32".to_owned(),
            Function::To(Format::Double) => "fp.widen.32.64".to_owned(),
            Function::FromSigned(from, to) => format!("fp.from_signed.{from}.{}", to.width_bits()),
            Function::ToSigned(from, to, Rounding::Nearest) => {
                format!("fp.round.{}.{to}", from.width_bits())
            }
            Function::ToSigned(from, to, Rounding::Truncate) => {
                format!("fp.truncate.{}.{to}", from.width_bits())
            }
        }
    }

    /// The function of a name.
    pub fn named(name: &str) -> Option<Function> {
        if !name.starts_with("fp.") {
            return None;
        }
        Function::all().into_iter().find(|function| function.name() == name)
    }

    /// Width of its result.
    pub fn width_bits(self) -> u32 {
        match self {
            Function::Arithmetic(_, format)
            | Function::SquareRoot(format)
            | Function::To(format)
            | Function::FromSigned(_, format) => format.width_bits(),
            Function::Compare(_) => 2,
            Function::ToSigned(_, to, _) => to,
        }
    }

    /// Whether two operands may change places, but for which of two NaNs the result is made of.
    pub fn is_commutative(self) -> bool {
        matches!(self, Function::Arithmetic(Operator::Add | Operator::Mul, _))
    }

    /// Whether LLVM's IR leaves open what the result is: which NaN, or what a conversion gives that has no result.
    pub fn is_open(self, operands: &[u128], result: u128) -> bool {
        match self {
            Function::Arithmetic(_, format) | Function::SquareRoot(format) | Function::To(format) => {
                format.is_nan(result)
            }
            Function::Compare(_) | Function::FromSigned(..) => false,
            // The lowest integer may be the right answer: then nothing is refuted that could be.
            Function::ToSigned(_, to, _) => operands.len() != 1 || result == 1 << (to - 1),
        }
    }

    /// Its value. Operands are as many and as wide as it takes.
    pub fn value(self, operands: &[u128]) -> u128 {
        let one = operands.first().copied().unwrap_or_default();
        let other = operands.get(1).copied().unwrap_or_default();
        match self {
            Function::Arithmetic(operator, format) => {
                if let Some(nan) = [one, other].into_iter().find(|operand| format.is_nan(*operand)) {
                    return nan | format.quiet();
                }
                made(format, arithmetic(operator, format, one, other))
            }
            Function::SquareRoot(format) if format.is_nan(one) => one | format.quiet(),
            Function::SquareRoot(Format::Single) => made(Format::Single, single(single_of(one).sqrt())),
            Function::SquareRoot(Format::Double) => made(Format::Double, double(double_of(one).sqrt())),
            Function::Compare(format) => compare(format, one, other),
            Function::To(format) => converted(format, one),
            Function::FromSigned(from, to) => {
                let integer = Bits::new(from, one).signed() as i64;
                match to {
                    Format::Single => single(integer as f32),
                    Format::Double => double(integer as f64),
                }
            }
            Function::ToSigned(from, to, rounding) => integer(from, to, rounding, one),
        }
    }
}

fn single_of(pattern: u128) -> f32 {
    f32::from_bits(pattern as u32)
}

fn double_of(pattern: u128) -> f64 {
    f64::from_bits(pattern as u64)
}

fn single(number: f32) -> u128 {
    u128::from(number.to_bits())
}

fn double(number: f64) -> u128 {
    u128::from(number.to_bits())
}

/// A result of operands that are no NaNs: if it is one, the processor's.
fn made(format: Format, pattern: u128) -> u128 {
    if format.is_nan(pattern) { format.sign() | format.infinity() | format.quiet() } else { pattern }
}

fn arithmetic(operator: Operator, format: Format, one: u128, other: u128) -> u128 {
    match format {
        Format::Single => {
            let (one, other) = (single_of(one), single_of(other));
            single(match operator {
                Operator::Add => one + other,
                Operator::Sub => one - other,
                Operator::Mul => one * other,
                Operator::Div => one / other,
            })
        }
        Format::Double => {
            let (one, other) = (double_of(one), double_of(other));
            double(match operator {
                Operator::Add => one + other,
                Operator::Sub => one - other,
                Operator::Mul => one * other,
                Operator::Div => one / other,
            })
        }
    }
}

fn compare(format: Format, one: u128, other: u128) -> u128 {
    use std::cmp::Ordering;
    let order = match format {
        Format::Single => single_of(one).partial_cmp(&single_of(other)),
        Format::Double => double_of(one).partial_cmp(&double_of(other)),
    };
    match order {
        Some(Ordering::Greater) => 0,
        Some(Ordering::Less) => 1,
        Some(Ordering::Equal) => 2,
        None => 3,
    }
}

/// To a format from the other one. A NaN keeps its sign and the upper bits of its payload.
fn converted(to: Format, one: u128) -> u128 {
    let from = if to == Format::Single { Format::Double } else { Format::Single };
    if from.is_nan(one) {
        let sign = if one & from.sign() == 0 { 0 } else { to.sign() };
        let payload = one & mask(from.fraction_bits());
        let payload = match to {
            Format::Single => payload >> (from.fraction_bits() - to.fraction_bits()),
            Format::Double => payload << (to.fraction_bits() - from.fraction_bits()),
        };
        return sign | to.infinity() | to.quiet() | payload;
    }
    match to {
        Format::Single => single(double_of(one) as f32),
        Format::Double => double(f64::from(single_of(one))),
    }
}

fn integer(from: Format, to: u32, rounding: Rounding, one: u128) -> u128 {
    let lowest = 1 << (to - 1);
    // Every `float` is a `double`, and the integer next to it is the same.
    let number = match from {
        Format::Single => f64::from(single_of(one)),
        Format::Double => double_of(one),
    };
    let whole = match rounding {
        Rounding::Nearest => number.round_ties_even(),
        Rounding::Truncate => number.trunc(),
    };
    let limit = (lowest as f64).abs();
    // Also where it is no number.
    if !(-limit..limit).contains(&whole) {
        return lowest;
    }
    (whole as i64) as u128 & mask(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: u128 = 0x7fc0_0001;
    const SIGNALLING: u128 = 0x7f80_0002;
    const DEFAULT: u128 = 0xffc0_0000;

    fn add(one: u128, other: u128) -> u128 {
        Function::Arithmetic(Operator::Add, Format::Single).value(&[one, other])
    }

    #[test]
    fn names_are_read_back() {
        for function in Function::all() {
            assert_eq!(Function::named(&function.name()), Some(function));
        }
        assert_eq!(Function::named("fp.add"), None);
    }

    #[test]
    fn the_first_nan_is_handed_on_and_made_quiet() {
        assert_eq!(add(QUIET, SIGNALLING), QUIET);
        assert_eq!(add(SIGNALLING, QUIET), SIGNALLING | 0x40_0000);
        assert_eq!(add(single(1.0), SIGNALLING), SIGNALLING | 0x40_0000);
        assert_eq!(add(single(f32::INFINITY), single(f32::NEG_INFINITY)), DEFAULT);
    }

    #[test]
    fn zeros_have_signs_and_denormals_count() {
        assert_eq!(add(single(-0.0), single(-0.0)), single(-0.0));
        assert_eq!(add(single(-0.0), 0), 0);
        assert_eq!(add(1, 2), 3);
        assert_eq!(Function::Compare(Format::Single).value(&[single(-0.0), 0]), 2);
    }

    #[test]
    fn conversions_at_the_edge() {
        let truncate = Function::ToSigned(Format::Double, 32, Rounding::Truncate);
        let value = |number: f64| truncate.value(&[double(number)]);
        assert_eq!(value(2_147_483_647.5), 0x7fff_ffff);
        assert_eq!(value(2_147_483_648.0), 0x8000_0000);
        assert_eq!(value(-2_147_483_648.5), 0x8000_0000);
        assert_eq!(value(f64::NAN), 0x8000_0000);
        assert_eq!(value(-1.5), 0xffff_ffff);
        let nearest = Function::ToSigned(Format::Single, 32, Rounding::Nearest);
        assert_eq!((nearest.value(&[single(2.5)]), nearest.value(&[single(3.5)])), (2, 4));
        assert_eq!(Function::To(Format::Single).value(&[0x7ff0_0000_0000_0001]), 0x7fc0_0000);
        assert_eq!(Function::To(Format::Double).value(&[SIGNALLING]), 0x7ff8_0000_4000_0000);
        assert_eq!(Function::FromSigned(64, Format::Single).value(&[u128::from(u64::MAX)]), single(-1.0));
    }

    #[test]
    fn what_is_open_is_a_nan_or_an_integer_that_does_not_fit() {
        let sum = Function::Arithmetic(Operator::Add, Format::Single);
        assert!(sum.is_open(&[QUIET, 0], QUIET) && !sum.is_open(&[0, 0], 0));
        let truncate = Function::ToSigned(Format::Single, 32, Rounding::Truncate);
        assert!(truncate.is_open(&[QUIET], 0x8000_0000) && !truncate.is_open(&[0], 0));
    }
}
