//! Floating point in the IR: its operations, and reading them. Flags that allow what IEEE 754 does not (`fast`,
//! `nnan`, `contract`, ...) are refused: under them a result is not a function of the operands.

use super::cursor::{Cursor, Refusal};
use super::instruction::{Operation, Typed, Value};
use super::token::Token;
use super::types::Type;
use crate::bits::Bits;
use crate::float::{Format, Operator};

/// What is done with numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatOperation {
    /// Of two.
    Arithmetic(Operator),
    /// The other sign, of a NaN too.
    Negate,
    /// Without a sign, a NaN too.
    Absolute,
    /// The square root.
    SquareRoot,
    /// `a * b + c`, with the product rounded or not as the compiler likes; read as rounded.
    MultiplyAdd,
    /// `fcmp`.
    Compare(FloatPredicate),
    /// From a signed integer.
    FromSigned,
    /// From an unsigned integer.
    FromUnsigned,
    /// To a signed integer, towards zero.
    ToSigned,
    /// To the other format.
    Convert,
}

/// Relations of `fcmp`; those with `U` hold if one operand is a NaN, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FloatPredicate {
    False,
    Oeq,
    Ogt,
    Oge,
    Olt,
    Ole,
    One,
    Ord,
    Ueq,
    Ugt,
    Uge,
    Ult,
    Ule,
    Une,
    Uno,
    True,
}

/// Words between an opcode and a type that change what it means.
const FAST: [&str; 8] = ["fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"];

/// An instruction on numbers; nothing if the opcode is none of them.
pub(super) fn read(opcode: &str, cursor: &mut Cursor) -> Option<Result<Operation, Refusal>> {
    let operation = match opcode {
        "fadd" => FloatOperation::Arithmetic(Operator::Add),
        "fsub" => FloatOperation::Arithmetic(Operator::Sub),
        "fmul" => FloatOperation::Arithmetic(Operator::Mul),
        "fdiv" => FloatOperation::Arithmetic(Operator::Div),
        "fneg" => FloatOperation::Negate,
        "fcmp" => return Some(compare(cursor)),
        "sitofp" => return Some(cast(cursor, FloatOperation::FromSigned)),
        "uitofp" => return Some(cast(cursor, FloatOperation::FromUnsigned)),
        "fptosi" => return Some(cast(cursor, FloatOperation::ToSigned)),
        "fpext" | "fptrunc" => return Some(cast(cursor, FloatOperation::Convert)),
        _ => return None,
    };
    Some(arithmetic(cursor, operation))
}

fn arithmetic(cursor: &mut Cursor, operation: FloatOperation) -> Result<Operation, Refusal> {
    plain(cursor)?;
    let mut operands = vec![cursor.typed()?];
    let to = number(&operands[0].of)?;
    if operation != FloatOperation::Negate {
        cursor.expect(',')?;
        operands.push(Typed { value: cursor.value(&to)?, of: to.clone() });
    }
    Ok(Operation::Float { operation, operands, to })
}

fn compare(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    plain(cursor)?;
    let Token::Word(name) = cursor.next()? else { return Err("no predicate".into()) };
    let predicate = predicate(name).ok_or_else(|| format!("predicate {name}"))?;
    let left = cursor.typed()?;
    let of = number(&left.of)?;
    cursor.expect(',')?;
    let right = Typed { value: cursor.value(&of)?, of };
    let operation = FloatOperation::Compare(predicate);
    Ok(Operation::Float { operation, operands: vec![left, right], to: Type::Int(1) })
}

fn cast(cursor: &mut Cursor, operation: FloatOperation) -> Result<Operation, Refusal> {
    plain(cursor)?;
    // A promise that an integer is not negative: not using it is safe.
    while cursor.word("nneg") {}
    let operand = cursor.typed()?;
    if !cursor.word("to") {
        return Err("a cast without to".into());
    }
    let to = cursor.type_name()?;
    Ok(Operation::Float { operation, operands: vec![operand], to })
}

/// A call of an intrinsic that is an operation here.
pub(super) fn intrinsic(callee: &str, arguments: &[Typed], returns: &Type) -> Option<Operation> {
    let (name, format) = callee.strip_prefix("llvm.")?.rsplit_once('.')?;
    let format = match format {
        "f32" => Format::Single,
        "f64" => Format::Double,
        _ => return None,
    };
    let (operation, count) = match name {
        "fabs" => (FloatOperation::Absolute, 1),
        "sqrt" => (FloatOperation::SquareRoot, 1),
        "fmuladd" => (FloatOperation::MultiplyAdd, 3),
        _ => return None,
    };
    let of = Type::Float(format);
    let fits =
        arguments.len() == count && *returns == of && arguments.iter().all(|argument| argument.of == of);
    fits.then(|| Operation::Float { operation, operands: arguments.to_vec(), to: of })
}

fn plain(cursor: &Cursor) -> Result<(), Refusal> {
    match cursor.rest.first() {
        Some(Token::Word(word)) if FAST.contains(&word.as_str()) => Err(format!("with {word}")),
        _ => Ok(()),
    }
}

fn number(of: &Type) -> Result<Type, Refusal> {
    match of {
        Type::Float(_) => Ok(of.clone()),
        other => Err(format!("of {other}")),
    }
}

/// A constant: decimal, or the bits of a `double` in hexadecimal. LLVM writes only what is exact.
pub(super) fn constant(digits: &str, format: Format) -> Result<Value, Refusal> {
    let refused = || format!("constant {digits}");
    let number = match digits.strip_prefix("0x") {
        Some(hexadecimal) => f64::from_bits(u64::from_str_radix(hexadecimal, 16).map_err(|_| refused())?),
        None if digits.contains('.') => digits.parse().map_err(|_| refused())?,
        None => return Err(refused()),
    };
    let bits = match format {
        Format::Single if f64::from(number as f32).to_bits() == number.to_bits() => {
            u128::from((number as f32).to_bits())
        }
        Format::Double => u128::from(number.to_bits()),
        Format::Single => return Err(refused()),
    };
    // What LLVM makes of a NaN on the way is not followed.
    if number.is_nan() { Err(refused()) } else { Ok(Value::Constant(Bits::new(format.width_bits(), bits))) }
}

fn predicate(name: &str) -> Option<FloatPredicate> {
    use FloatPredicate as Is;
    Some(match name {
        "false" => Is::False,
        "oeq" => Is::Oeq,
        "ogt" => Is::Ogt,
        "oge" => Is::Oge,
        "olt" => Is::Olt,
        "ole" => Is::Ole,
        "one" => Is::One,
        "ord" => Is::Ord,
        "ueq" => Is::Ueq,
        "ugt" => Is::Ugt,
        "uge" => Is::Uge,
        "ult" => Is::Ult,
        "ule" => Is::Ule,
        "une" => Is::Une,
        "uno" => Is::Uno,
        "true" => Is::True,
        _ => return None,
    })
}
