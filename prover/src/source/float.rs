//! What floating-point instructions of the IR mean: functions of bit patterns, the processor's where LLVM leaves open
//! which NaN a result is, or what a number becomes that no integer is near. Choosing is allowed: what LLVM leaves
//! open, any program may decide that takes its place.

use super::step::{Refusal, Run};
use crate::domain::{Domain, Symbolic};
use crate::expr::ExprId;
use crate::float::{Format, Function, Operator, Relation, Rounding, relation};
use crate::ir::{FloatOperation, FloatPredicate, Type, Typed};

impl Run<'_, '_, '_> {
    pub(super) fn float(
        &self,
        operation: FloatOperation,
        operands: &[Typed],
        to: &Type,
    ) -> Result<ExprId, Refusal> {
        let domain = self.domain;
        let values = operands.iter().map(|operand| self.value(&operand.value, &operand.of));
        let values: Vec<ExprId> = values.collect::<Result<_, Refusal>>()?;
        let from = operands.first().map(|operand| &operand.of);
        let refused = || {
            let from = from.map(|from| format!("{from} ")).unwrap_or_default();
            Err(format!("{operation:?} {from}to {to}"))
        };
        let function = match (operation, from, to) {
            (FloatOperation::Compare(predicate), Some(Type::Float(format)), _) => {
                return Ok(compare(domain, predicate, *format, values[0], values[1]));
            }
            (FloatOperation::Arithmetic(operator), _, Type::Float(format)) => {
                Function::Arithmetic(operator, *format)
            }
            (FloatOperation::SquareRoot, _, Type::Float(format)) => Function::SquareRoot(*format),
            (FloatOperation::Negate, _, Type::Float(format)) => {
                let sign = domain.constant(format.width_bits(), format.sign());
                return Ok(domain.xor(values[0], sign));
            }
            (FloatOperation::Absolute, _, Type::Float(format)) => {
                let rest = domain.constant(format.width_bits(), format.sign() - 1);
                return Ok(domain.and(values[0], rest));
            }
            (FloatOperation::MultiplyAdd, _, Type::Float(format)) => {
                let product = domain.float(Function::Arithmetic(Operator::Mul, *format), &values[..2]);
                return Ok(domain.float(Function::Arithmetic(Operator::Add, *format), &[product, values[2]]));
            }
            (FloatOperation::FromSigned, Some(Type::Int(bits)), Type::Float(format)) => {
                let integer = match bits {
                    1..=32 => domain.sign_extend(values[0], 32),
                    64 => values[0],
                    _ => return refused(),
                };
                return Ok(from_signed(domain, *format, integer));
            }
            (FloatOperation::FromUnsigned, Some(Type::Int(bits)), Type::Float(format)) => {
                let integer = match bits {
                    1..=31 => domain.zero_extend(values[0], 32),
                    32 => domain.zero_extend(values[0], 64),
                    _ => return refused(),
                };
                return Ok(from_signed(domain, *format, integer));
            }
            (FloatOperation::ToSigned, Some(Type::Float(format)), Type::Int(bits @ (32 | 64))) => {
                Function::ToSigned(*format, *bits, Rounding::Truncate)
            }
            (FloatOperation::Convert, Some(Type::Float(from)), Type::Float(to)) if from != to => {
                Function::To(*to)
            }
            _ => return refused(),
        };
        Ok(domain.float(function, &values))
    }
}

fn from_signed(domain: &Symbolic, format: Format, integer: ExprId) -> ExprId {
    domain.float(Function::FromSigned(domain.width_bits(integer), format), &[integer])
}

fn compare(
    domain: &Symbolic,
    predicate: FloatPredicate,
    format: Format,
    left: ExprId,
    right: ExprId,
) -> ExprId {
    use FloatPredicate as Is;
    let is = |of, left, right| relation(domain, of, format, left, right);
    match predicate {
        Is::False => domain.bit(false),
        Is::Oeq => is(Relation::Equal, left, right),
        Is::Ogt => is(Relation::Less, right, left),
        Is::Oge => is(Relation::LessOrEqual, right, left),
        Is::Olt => is(Relation::Less, left, right),
        Is::Ole => is(Relation::LessOrEqual, left, right),
        Is::Ueq => is(Relation::EqualOrUnordered, left, right),
        Is::Uno => is(Relation::Unordered, left, right),
        // Each of the others is the opposite of one of these.
        Is::One => domain.not(compare(domain, Is::Ueq, format, left, right)),
        Is::Ord => domain.not(compare(domain, Is::Uno, format, left, right)),
        Is::Ugt => domain.not(compare(domain, Is::Ole, format, left, right)),
        Is::Uge => domain.not(compare(domain, Is::Olt, format, left, right)),
        Is::Ult => domain.not(compare(domain, Is::Oge, format, left, right)),
        Is::Ule => domain.not(compare(domain, Is::Ogt, format, left, right)),
        Is::Une => domain.not(compare(domain, Is::Oeq, format, left, right)),
        Is::True => domain.bit(true),
    }
}
