//! One instruction from its line. What is not understood becomes [`Operation::Unsupported`], so that the
//! functions around it can still be read.

use super::cursor::{Cursor, Refusal};
use super::float;
use super::instruction::{BinaryOperator, Cast, Instruction, Operation, Predicate, Record, Value};
use super::read_call::call;
use super::token::Token;
use super::types::{DataLayout, Type};

/// Reads an instruction; `records` are the debug records before it.
pub(super) fn instruction(line: &[Token], layout: &DataLayout, records: Vec<Record>) -> Instruction {
    let (line, location) = attachments(line);
    let (result, line) = match line {
        [Token::Local(name), Token::Punctuation('='), rest @ ..] => (Some(name.clone()), rest),
        line => (None, line),
    };
    let mut cursor = Cursor::new(line, layout);
    let operation = match operation(&mut cursor).and_then(|operation| cursor.end().map(|()| operation)) {
        Ok(operation) => operation,
        Err(reason) => Operation::Unsupported(match line.first() {
            Some(Token::Word(opcode)) => format!("{opcode} ({reason})"),
            _ => reason,
        }),
    };
    Instruction { result, operation, location, records }
}

/// `#dbg_value(TYPE VALUE, !VARIABLE, !DIExpression(), !SCOPE)`; nothing for other records.
pub(super) fn record(line: &[Token], layout: &DataLayout) -> Option<Record> {
    let [Token::Hash(kind), Token::Punctuation('('), rest @ ..] = line else { return None };
    let variable_at = rest
        .iter()
        .position(|token| matches!(token, Token::Metadata(number) if number.parse::<u32>().is_ok()))?;
    let Token::Metadata(variable) = &rest[variable_at] else { return None };
    let mut cursor = Cursor::new(rest, layout);
    let value = cursor.typed().ok().filter(|_| cursor.punctuation(','));
    let plain = matches!(
        &rest[variable_at + 1..],
        [
            Token::Punctuation(','),
            Token::Metadata(expression),
            Token::Punctuation('('),
            Token::Punctuation(')'),
            ..
        ] if expression == "DIExpression"
    );
    // A variable in memory has no value here either.
    let value = value.filter(|_| plain && kind == "dbg_value");
    Some(Record { variable: variable.parse().ok()?, value })
}

/// The line without `, !name !12` at its end, and the number of `!dbg`. Other attachments are promises;
/// not using them is safe.
fn attachments(line: &[Token]) -> (&[Token], Option<u32>) {
    let start = line.windows(2).position(
        |pair| matches!(pair, [Token::Punctuation(','), Token::Metadata(name)] if !name.is_empty()),
    );
    let Some(start) = start else { return (line, None) };
    let tail = &line[start..];
    let location = tail.windows(2).find_map(|pair| match pair {
        [Token::Metadata(name), Token::Metadata(number)] if name == "dbg" => number.parse().ok(),
        _ => None,
    });
    (&line[..start], location)
}

fn operation(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    let Token::Word(opcode) = cursor.next()? else { return Err("a line that is no instruction".into()) };
    if let Some(operator) = binary_operator(opcode) {
        return binary(cursor, operator);
    }
    if let Some(cast) = cast_operator(opcode) {
        while cursor.word("nneg") || cursor.word("nuw") || cursor.word("nsw") {}
        let operand = cursor.typed()?;
        if !cursor.word("to") {
            return Err("a cast without to".into());
        }
        return Ok(Operation::Cast { cast, operand, to: cursor.type_name()? });
    }
    if let Some(read) = float::read(opcode, cursor) {
        return read;
    }
    match opcode.as_str() {
        "icmp" => compare(cursor),
        "select" => {
            let condition = cursor.typed()?;
            if condition.of != Type::Int(1) {
                return Err(format!("by {}", condition.of));
            }
            cursor.expect(',')?;
            let then = cursor.typed()?;
            cursor.expect(',')?;
            let otherwise = cursor.typed()?.value;
            Ok(Operation::Select { condition: condition.value, then, otherwise })
        }
        "getelementptr" => address(cursor),
        "load" => {
            let of = cursor.type_name()?;
            cursor.expect(',')?;
            let pointer = pointer(cursor)?;
            alignment(cursor)?;
            Ok(Operation::Load { of, pointer })
        }
        "store" => {
            let stored = cursor.typed()?;
            cursor.expect(',')?;
            let pointer = pointer(cursor)?;
            alignment(cursor)?;
            Ok(Operation::Store { stored, pointer })
        }
        "alloca" => {
            let of = cursor.type_name()?;
            let align_bytes = alignment(cursor)?;
            Ok(Operation::Alloca { of, align_bytes })
        }
        "phi" => {
            let of = cursor.type_name()?;
            let mut incoming = Vec::new();
            loop {
                cursor.expect('[')?;
                let value = cursor.value(&of)?;
                cursor.expect(',')?;
                incoming.push((value, local(cursor)?));
                cursor.expect(']')?;
                if !cursor.punctuation(',') {
                    return Ok(Operation::Phi { of, incoming });
                }
            }
        }
        "br" => branch(cursor),
        "switch" => switch(cursor),
        "ret" => match cursor.word("void") {
            true => Ok(Operation::Return(None)),
            false => Ok(Operation::Return(Some(cursor.typed()?))),
        },
        "unreachable" => Ok(Operation::Unreachable),
        "call" => call(cursor),
        "tail" | "notail" if cursor.word("call") => call(cursor),
        other => Err(format!("{other} is not modelled")),
    }
}

fn binary(cursor: &mut Cursor, operator: BinaryOperator) -> Result<Operation, Refusal> {
    let (mut nsw, mut nuw) = (false, false);
    loop {
        if cursor.word("nsw") {
            nsw = true;
        } else if cursor.word("nuw") {
            nuw = true;
        } else if !cursor.word("exact") && !cursor.word("disjoint") {
            break;
        }
    }
    let left = cursor.typed()?;
    cursor.expect(',')?;
    let right = cursor.value(&left.of)?;
    Ok(Operation::Binary { operator, nsw, nuw, left, right })
}

fn compare(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    cursor.word("samesign");
    let Token::Word(name) = cursor.next()? else { return Err("no predicate".into()) };
    let predicate = match name.as_str() {
        "eq" => Predicate::Eq,
        "ne" => Predicate::Ne,
        "ugt" => Predicate::Ugt,
        "uge" => Predicate::Uge,
        "ult" => Predicate::Ult,
        "ule" => Predicate::Ule,
        "sgt" => Predicate::Sgt,
        "sge" => Predicate::Sge,
        "slt" => Predicate::Slt,
        "sle" => Predicate::Sle,
        other => return Err(format!("predicate {other}")),
    };
    let left = cursor.typed()?;
    cursor.expect(',')?;
    let right = cursor.value(&left.of)?;
    Ok(Operation::Compare { predicate, left, right })
}

fn address(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    let mut inbounds = false;
    loop {
        if cursor.word("inbounds") {
            inbounds = true;
        } else if !cursor.word("nusw") && !cursor.word("nuw") {
            break;
        }
    }
    let of = cursor.type_name()?;
    cursor.expect(',')?;
    let base = pointer(cursor)?;
    let mut indices = Vec::new();
    while cursor.punctuation(',') {
        indices.push(cursor.typed()?);
    }
    Ok(Operation::Address { inbounds, of, base, indices })
}

/// `ptr VALUE`, in the one address space.
fn pointer(cursor: &mut Cursor) -> Result<Value, Refusal> {
    match cursor.type_name()? {
        Type::Pointer => cursor.value(&Type::Pointer),
        other => Err(format!("address of type {other}")),
    }
}

/// `, align N`; 1 if it is not there.
fn alignment(cursor: &mut Cursor) -> Result<u64, Refusal> {
    let before = cursor.clone();
    if cursor.punctuation(',') && cursor.word("align") {
        return cursor.number();
    }
    *cursor = before;
    Ok(1)
}

fn local(cursor: &mut Cursor) -> Result<String, Refusal> {
    match cursor.next()? {
        Token::Local(name) => Ok(name.clone()),
        other => Err(format!("{other:?} in place of a label")),
    }
}

fn label(cursor: &mut Cursor) -> Result<String, Refusal> {
    if cursor.word("label") { local(cursor) } else { Err("no label".into()) }
}

fn branch(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    if let Ok(target) = label(&mut cursor.clone()) {
        label(cursor)?;
        return Ok(Operation::Jump(target));
    }
    let condition = cursor.typed()?.value;
    cursor.expect(',')?;
    let then = label(cursor)?;
    cursor.expect(',')?;
    Ok(Operation::Branch { condition, then, otherwise: label(cursor)? })
}

fn switch(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    let on = cursor.typed()?;
    cursor.expect(',')?;
    let default = label(cursor)?;
    cursor.expect('[')?;
    let mut cases = Vec::new();
    while !cursor.punctuation(']') {
        let case = cursor.typed()?;
        cursor.expect(',')?;
        let Value::Constant(bits) = case.value else { return Err("a case that is no number".into()) };
        cases.push((bits, label(cursor)?));
    }
    Ok(Operation::Switch { on, default, cases })
}

fn binary_operator(opcode: &str) -> Option<BinaryOperator> {
    Some(match opcode {
        "add" => BinaryOperator::Add,
        "sub" => BinaryOperator::Sub,
        "mul" => BinaryOperator::Mul,
        "udiv" => BinaryOperator::UDiv,
        "sdiv" => BinaryOperator::SDiv,
        "urem" => BinaryOperator::URem,
        "srem" => BinaryOperator::SRem,
        "shl" => BinaryOperator::Shl,
        "lshr" => BinaryOperator::LShr,
        "ashr" => BinaryOperator::AShr,
        "and" => BinaryOperator::And,
        "or" => BinaryOperator::Or,
        "xor" => BinaryOperator::Xor,
        _ => return None,
    })
}

fn cast_operator(opcode: &str) -> Option<Cast> {
    Some(match opcode {
        "trunc" => Cast::Trunc,
        "zext" => Cast::ZExt,
        "sext" => Cast::SExt,
        "ptrtoint" => Cast::PtrToInt,
        "inttoptr" => Cast::IntToPtr,
        "bitcast" => Cast::Bitcast,
        _ => return None,
    })
}
