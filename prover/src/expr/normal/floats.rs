//! Functions of floating-point numbers. Their rules hold bit for bit of what [`Function::value`] says, NaNs included:
//! no sum is taken for its commuted one unless an operand is a constant, which is no NaN.

use super::Normaliser;
use crate::bits::Bits;
use crate::expr::{Arena, CommutativeOp, ExprId, Node, Symbol};
use crate::float::{Format, Function, Operator};

impl Normaliser {
    /// A function of rewritten arguments.
    pub(super) fn apply(
        &mut self,
        arena: &mut Arena,
        function: Symbol,
        arguments: &[ExprId],
        width_bits: u32,
    ) -> ExprId {
        let name = arena.name(function).to_owned();
        match Function::named(&name) {
            Some(function) => self.float(arena, function, arguments),
            None => arena.apply(&name, arguments, width_bits),
        }
    }

    fn float(&mut self, arena: &mut Arena, function: Function, arguments: &[ExprId]) -> ExprId {
        let constants: Option<Vec<u128>> =
            arguments.iter().map(|argument| arena.as_constant(*argument).map(Bits::value)).collect();
        if let Some(constants) = constants {
            self.rule("float-of-constants");
            let value = function.value(&constants);
            return arena.constant(Bits::new(function.width_bits(), value));
        }
        match (function, arguments) {
            (Function::Arithmetic(operator, format), [left, right]) => {
                self.arithmetic(arena, operator, format, *left, *right)
            }
            (Function::Compare(format), [left, right]) => self.order(arena, format, *left, *right),
            (Function::FromSigned(64, format), [of]) => match *arena.node(*of) {
                Node::SignExtend { of, .. } if arena.width_bits(of) <= 32 => {
                    self.rule("float-of-extension");
                    let of = self.sign_extend(arena, of, 32);
                    made(arena, Function::FromSigned(32, format), &[of])
                }
                _ => made(arena, function, arguments),
            },
            _ => made(arena, function, arguments),
        }
    }

    fn arithmetic(
        &mut self,
        arena: &mut Arena,
        operator: Operator,
        format: Format,
        left: ExprId,
        right: ExprId,
    ) -> ExprId {
        let number = |arena: &Arena, id| {
            let value = arena.as_constant(id).map(Bits::value);
            value.filter(|value| !format.is_nan(*value))
        };
        if matches!(operator, Operator::Add | Operator::Mul) && number(arena, left).is_some() {
            self.rule("float-constant-last");
            return self.arithmetic(arena, operator, format, right, left);
        }
        match (operator, number(arena, right)) {
            (Operator::Sub, Some(value)) => {
                self.rule("float-less-constant");
                let opposite = arena.constant(Bits::new(format.width_bits(), value ^ format.sign()));
                self.arithmetic(arena, Operator::Add, format, left, opposite)
            }
            (Operator::Div, Some(value)) if let Some(inverse) = inverse(format, value) => {
                self.rule("float-divided-by-power");
                let inverse = arena.constant(Bits::new(format.width_bits(), inverse));
                self.arithmetic(arena, Operator::Mul, format, left, inverse)
            }
            (Operator::Mul, Some(value)) if value == power(format, 1) => {
                self.rule("float-doubled");
                made(arena, Function::Arithmetic(Operator::Add, format), &[left, left])
            }
            _ => made(arena, Function::Arithmetic(operator, format), &[left, right]),
        }
    }

    /// One order of two operands, for both.
    fn order(&mut self, arena: &mut Arena, format: Format, left: ExprId, right: ExprId) -> ExprId {
        if left <= right {
            return made(arena, Function::Compare(format), &[left, right]);
        }
        self.rule("float-comparison-turned");
        let order = made(arena, Function::Compare(format), &[right, left]);
        let (low, high) = (self.extract(arena, order, 0, 1), self.extract(arena, order, 1, 1));
        // Greater and less change places, the others stay.
        let one = arena.constant(Bits::bit(true));
        let low = self.commutative(arena, CommutativeOp::Xor, &[one, low, high]);
        self.concat(arena, &[high, low])
    }
}

fn made(arena: &mut Arena, function: Function, arguments: &[ExprId]) -> ExprId {
    arena.apply(&function.name(), arguments, function.width_bits())
}

/// 2 to some power.
fn power(format: Format, exponent: i32) -> u128 {
    let bias = (1 << (format.width_bits() - format.fraction_bits() - 2)) - 1;
    ((bias + exponent) as u128) << format.fraction_bits()
}

/// The inverse of a power of 2, with its sign, if neither is a denormal: to divide by one is to multiply by the other.
fn inverse(format: Format, value: u128) -> Option<u128> {
    let (sign, size) = (value & format.sign(), value & (format.sign() - 1));
    let exponent = size >> format.fraction_bits();
    let one = power(format, 0) >> format.fraction_bits();
    let plain = exponent << format.fraction_bits() == size && (1..2 * one).contains(&exponent);
    plain.then(|| sign | (2 * one - exponent) << format.fraction_bits())
}
