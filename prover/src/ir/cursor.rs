//! Reading types, values and constants from the words of a line. A reason is returned for what is not
//! understood; nothing is skipped that is not known to be without meaning here.

use super::float;
use super::instruction::{Typed, Value};
use super::token::Token;
use super::types::{DataLayout, Type};
use crate::bits::Bits;
use crate::float::Format;

/// Why something was not read: a short text for `unsupported: ...`.
pub(super) type Refusal = String;

/// A place in a line.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [Token],
    pub(super) layout: &'a DataLayout,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(rest: &'a [Token], layout: &'a DataLayout) -> Cursor<'a> {
        Cursor { rest, layout }
    }

    pub(super) fn next(&mut self) -> Result<&'a Token, Refusal> {
        let (first, rest) = self.rest.split_first().ok_or("a line that ends early")?;
        self.rest = rest;
        Ok(first)
    }

    /// Takes a word if it is next.
    pub(super) fn word(&mut self, wanted: &str) -> bool {
        self.take(&Token::Word(wanted.to_owned()))
    }

    /// Takes a bracket or comma if it is next.
    pub(super) fn punctuation(&mut self, wanted: char) -> bool {
        self.take(&Token::Punctuation(wanted))
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.rest.first() == Some(wanted);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    pub(super) fn expect(&mut self, wanted: char) -> Result<(), Refusal> {
        if self.punctuation(wanted) { Ok(()) } else { Err(format!("a line without `{wanted}`")) }
    }

    /// Nothing may be left over.
    pub(super) fn end(&self) -> Result<(), Refusal> {
        match self.rest.first() {
            None => Ok(()),
            Some(token) => Err(format!("{token:?} at the end of a line")),
        }
    }

    pub(super) fn number(&mut self) -> Result<u64, Refusal> {
        match self.next()? {
            Token::Word(word) => word.parse().map_err(|_| format!("number {word}")),
            other => Err(format!("{other:?} in place of a number")),
        }
    }

    /// A type.
    pub(super) fn type_name(&mut self) -> Result<Type, Refusal> {
        let found = match self.next()? {
            Token::Word(word) => named_type(word),
            Token::Local(name) => Type::Named(name.clone()),
            Token::Punctuation('[') => {
                let count = self.number()?;
                if !self.word("x") {
                    return Err("an array type without x".into());
                }
                let element = self.type_name()?;
                self.expect(']')?;
                Type::Array(count, Box::new(element))
            }
            Token::Punctuation('{') => {
                Type::Struct { packed: false, fields: self.list('}', Cursor::type_name)? }
            }
            Token::Punctuation('<') if self.punctuation('{') => {
                let fields = self.list('}', Cursor::type_name)?;
                self.expect('>')?;
                Type::Struct { packed: true, fields }
            }
            Token::Punctuation('<') => {
                while !self.punctuation('>') {
                    self.next()?;
                }
                Type::Other("vector".into())
            }
            other => return Err(format!("{other:?} in place of a type")),
        };
        Ok(found)
    }

    /// Comma-separated things up to a closing bracket, which is taken too.
    pub(super) fn list<T>(
        &mut self,
        close: char,
        mut one: impl FnMut(&mut Self) -> Result<T, Refusal>,
    ) -> Result<Vec<T>, Refusal> {
        let mut found = Vec::new();
        if self.punctuation(close) {
            return Ok(found);
        }
        loop {
            found.push(one(self)?);
            if self.punctuation(close) {
                return Ok(found);
            }
            self.expect(',')?;
        }
    }

    /// A type and a value of it.
    pub(super) fn typed(&mut self) -> Result<Typed, Refusal> {
        let of = self.type_name()?;
        let value = self.value(&of)?;
        Ok(Typed { of, value })
    }

    /// A value of a known type.
    pub(super) fn value(&mut self, of: &Type) -> Result<Value, Refusal> {
        match self.next()? {
            Token::Local(name) => Ok(Value::Local(name.clone())),
            Token::Global(name) => Ok(Value::Global(name.clone())),
            Token::Word(word) => match (word.as_str(), of) {
                ("undef" | "poison", _) => Ok(Value::Unknown),
                ("null", Type::Pointer) => Ok(Value::Constant(Bits::new(self.layout.pointer_bits, 0))),
                ("true", Type::Int(1)) => Ok(Value::Constant(Bits::bit(true))),
                ("false", Type::Int(1)) => Ok(Value::Constant(Bits::bit(false))),
                ("getelementptr", Type::Pointer) => self.constant_address(),
                ("ptrtoint", Type::Int(width_bits)) if *width_bits == self.layout.pointer_bits => {
                    self.constant_cast()
                }
                ("inttoptr", Type::Pointer) => self.constant_cast(),
                (digits, Type::Int(width_bits)) => integer(digits, *width_bits),
                (digits, Type::Float(format)) => float::constant(digits, *format),
                (other, _) => Err(format!("constant {other}")),
            },
            other => Err(format!("{other:?} in place of a value")),
        }
    }

    /// `(TYPE VALUE to TYPE)`, both of the width of a pointer.
    fn constant_cast(&mut self) -> Result<Value, Refusal> {
        self.expect('(')?;
        let operand = self.typed()?;
        if !self.word("to") {
            return Err("a cast without to".into());
        }
        let to = self.type_name()?;
        self.expect(')')?;
        let whole = |of: &Type| matches!(of, Type::Int(bits) if *bits == self.layout.pointer_bits);
        if whole(&operand.of) || whole(&to) { Ok(operand.value) } else { Err("a cast of a part".into()) }
    }

    /// `[inbounds ...] (TYPE, ptr BASE, INDICES)` with constant indices.
    fn constant_address(&mut self) -> Result<Value, Refusal> {
        while self.word("inbounds") || self.word("nusw") || self.word("nuw") {}
        self.expect('(')?;
        let of = self.type_name()?;
        self.expect(',')?;
        let base = self.typed()?.value;
        let mut indices = Vec::new();
        while self.punctuation(',') {
            indices.push(self.typed()?);
        }
        self.expect(')')?;
        let (global, start) = match base {
            Value::Global(global) => (global, 0),
            Value::Offset { global, bytes } => (global, bytes),
            _ => return Err("constant getelementptr".into()),
        };
        let mut bytes = start;
        let mut within = None;
        for index in indices {
            let Value::Constant(number) = index.value else {
                return Err("constant getelementptr".into());
            };
            let (scale, next) = step(self.layout, within.as_ref(), &of, &number)?;
            bytes = match scale {
                Step::Fixed(offset) => bytes.wrapping_add_unsigned(offset),
                Step::Scaled(size) => bytes.wrapping_add((number.signed() as i64).wrapping_mul(size as i64)),
            };
            within = Some(next);
        }
        Ok(Value::Offset { global, bytes })
    }
}

/// What one index of a getelementptr adds.
pub(crate) enum Step {
    /// These many bytes: a field of a struct.
    Fixed(u64),
    /// The index times these many bytes.
    Scaled(u64),
}

/// What an index adds, and the type that it leads to. `within` is nothing for the first index, which counts
/// whole objects of the type `of`.
pub(crate) fn step(
    layout: &DataLayout,
    within: Option<&Type>,
    of: &Type,
    constant: &Bits,
) -> Result<(Step, Type), Refusal> {
    let sized = |of: &Type| layout.size_bytes(of).ok_or_else(|| format!("address of {of}"));
    let Some(within) = within else { return Ok((Step::Scaled(sized(of)?), of.clone())) };
    match layout.resolve(within) {
        Some(Type::Array(_, element)) => Ok((Step::Scaled(sized(element)?), (**element).clone())),
        Some(Type::Struct { .. }) => {
            let number = usize::try_from(constant.value()).unwrap_or(usize::MAX);
            let field = layout.field(within, number).ok_or_else(|| format!("field {number} of {within}"))?;
            Ok((Step::Fixed(field.0), field.1))
        }
        _ => Err(format!("address within {within}")),
    }
}

fn named_type(word: &str) -> Type {
    let width = word.strip_prefix('i').and_then(|digits| digits.parse::<u32>().ok());
    match (word, width) {
        ("void", _) => Type::Void,
        ("ptr", _) => Type::Pointer,
        ("float", _) => Type::Float(Format::Single),
        ("double", _) => Type::Float(Format::Double),
        (_, Some(width_bits)) if (1..=64).contains(&width_bits) => Type::Int(width_bits),
        _ => Type::Other(word.to_owned()),
    }
}

/// A decimal number that fits in a width, as signed or as unsigned.
pub(super) fn integer(digits: &str, width_bits: u32) -> Result<Value, Refusal> {
    let number: i128 = digits.parse().map_err(|_| format!("constant {digits}"))?;
    let fits = (-(1i128 << (width_bits - 1))..1i128 << width_bits).contains(&number);
    let refused = || format!("constant {digits} of {width_bits} bits");
    if fits { Ok(Value::Constant(Bits::new(width_bits, number as u128))) } else { Err(refused()) }
}
