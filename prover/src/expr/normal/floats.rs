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
        if left == right {
            // A number is equal to itself or is none.
            self.rule("float-compared-with-itself");
            let order = made(arena, Function::Compare(format), &[left, right]);
            let low = self.extract(arena, order, 0, 1);
            let one = arena.constant(Bits::bit(true));
            return self.concat(arena, &[one, low]);
        }
        if left < right {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Assignment, Sort, evaluate};
    use crate::run::memory::mixed;
    use std::collections::BTreeSet;

    /// Patterns at corners: zeros, ones, powers of 2, what is nearly one, the ends of the range, NaNs of both kinds.
    const CORNERS: [u32; 14] = [
        0,
        1,
        0x3f80_0000,
        0x4000_0000,
        0x3f00_0000,
        0x3f00_0001,
        0x0080_0000,
        0x7e80_0000,
        0x7f00_0000,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
        0x7fc0_1234,
        0x007f_ffff,
    ];

    fn pattern(format: Format, drawn: u64) -> u128 {
        let corner = CORNERS[drawn as usize % CORNERS.len()] | (drawn >> 8) as u32 & 0x8000_0000;
        let value = match drawn >> 61 {
            0 => u128::from(mixed(drawn)),
            // The same number in the other format, or a number near it.
            _ if format == Format::Double => Function::To(Format::Double).value(&[u128::from(corner)]),
            _ => u128::from(corner),
        };
        value & (format.sign() | (format.sign() - 1))
    }

    /// A function of variables, constants, extensions of narrower words, and other functions.
    fn grow(arena: &mut Arena, pool: &mut Vec<ExprId>, random: &mut impl FnMut() -> u64) {
        let all = Function::all();
        let function = all[random() as usize % all.len()];
        let (count, width_bits) = match function {
            Function::Arithmetic(_, format) | Function::Compare(format) => (2, format.width_bits()),
            Function::SquareRoot(format) | Function::ToSigned(format, ..) => (1, format.width_bits()),
            Function::To(Format::Single) => (1, 64),
            Function::To(Format::Double) => (1, 32),
            Function::FromSigned(from, _) => (1, from),
        };
        let format = if width_bits == 32 { Format::Single } else { Format::Double };
        let mut operands = Vec::new();
        for _ in 0..count {
            let fitting: Vec<ExprId> =
                pool.iter().copied().filter(|id| arena.width_bits(*id) == width_bits).collect();
            operands.push(match random() % 4 {
                0 => arena.constant(Bits::new(width_bits, pattern(format, random()))),
                1 if width_bits == 64 => {
                    let word = arena.variable("s0", Sort::Bits(32));
                    arena.sign_extend(word, 64)
                }
                2 if !operands.is_empty() => operands[0],
                _ => fitting[random() as usize % fitting.len()],
            });
        }
        pool.push(made(arena, function, &operands));
    }

    /// Every rule, on random functions of corner values: the value stays, bit for bit.
    #[test]
    fn rules_keep_values_and_all_are_used() {
        let text = include_str!("floats.rs");
        let named = text.split("rule(\"").skip(1).filter_map(|rest| rest.split('"').next());
        let mut missing: BTreeSet<&str> = named.filter(|name| name.starts_with("float-")).collect();
        assert!(missing.len() >= 8, "{missing:?}");
        let mut state = 7;
        let mut random = || {
            state = mixed(state);
            state
        };
        for round in 0..6000 {
            let mut arena = Arena::new();
            let mut pool = Vec::new();
            for number in 0..3 {
                pool.push(arena.variable(&format!("s{number}"), Sort::Bits(32)));
                pool.push(arena.variable(&format!("d{number}"), Sort::Bits(64)));
            }
            let variables = pool.clone();
            for _ in 0..1 + random() % 4 {
                grow(&mut arena, &mut pool, &mut random);
            }
            let root = pool[pool.len() - 1];
            let mut normaliser = Normaliser::new();
            let normal = normaliser.normal(&mut arena, root);
            for _ in 0..6 {
                let mut assignment = Assignment { seed: round, ..Assignment::default() };
                for variable in &variables {
                    let width_bits = arena.width_bits(*variable);
                    let format = if width_bits == 32 { Format::Single } else { Format::Double };
                    if let Node::Variable(symbol) = arena.node(*variable) {
                        assignment.bits.insert(*symbol, Bits::new(width_bits, pattern(format, random())));
                    }
                }
                let (before, after) =
                    (evaluate(&arena, root, &assignment), evaluate(&arena, normal, &assignment));
                assert_eq!(before, after, "{:?}", arena.node(root));
            }
            let used: BTreeSet<&str> = normaliser.used().collect();
            missing.retain(|rule| !used.contains(rule));
        }
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// Of two NaNs the first counts: no rule turns a sum of two variables.
    #[test]
    fn sums_and_differences_are_not_turned() {
        let mut arena = Arena::new();
        let (a, b) = (arena.variable("a", Sort::Bits(32)), arena.variable("b", Sort::Bits(32)));
        for operator in [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div] {
            let function = Function::Arithmetic(operator, Format::Single);
            let (one, other) = (made(&mut arena, function, &[a, b]), made(&mut arena, function, &[b, a]));
            let mut normaliser = Normaliser::new();
            assert_ne!(normaliser.normal(&mut arena, one), normaliser.normal(&mut arena, other));
        }
    }
}
