//! Addition, subtraction, comparison and bitwise operations on general registers and memory.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    AddWithCarry,
    Sub,
    SubWithBorrow,
    Compare,
    Increment,
    Decrement,
    Negate,
    And,
    Or,
    Xor,
    Test,
    Not,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Add, Meaning::Arith(Op::Add)),
    (Mnemonic::Adc, Meaning::Arith(Op::AddWithCarry)),
    (Mnemonic::Sub, Meaning::Arith(Op::Sub)),
    (Mnemonic::Sbb, Meaning::Arith(Op::SubWithBorrow)),
    (Mnemonic::Cmp, Meaning::Arith(Op::Compare)),
    (Mnemonic::Inc, Meaning::Arith(Op::Increment)),
    (Mnemonic::Dec, Meaning::Arith(Op::Decrement)),
    (Mnemonic::Neg, Meaning::Arith(Op::Negate)),
    (Mnemonic::And, Meaning::Arith(Op::And)),
    (Mnemonic::Or, Meaning::Arith(Op::Or)),
    (Mnemonic::Xor, Meaning::Arith(Op::Xor)),
    (Mnemonic::Test, Meaning::Arith(Op::Test)),
    (Mnemonic::Not, Meaning::Arith(Op::Not)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    match op {
        Op::Increment | Op::Decrement | Op::Negate | Op::Not => unary(op, cx),
        Op::And | Op::Or | Op::Xor | Op::Test => logic(op, cx),
        Op::AddWithCarry | Op::SubWithBorrow => with_carry(op, cx),
        Op::Add | Op::Sub | Op::Compare => plain(op, cx),
    }
}

fn plain<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, left, right) = (cx.domain, cx.read(0)?, cx.read(1)?);
    if op == Op::Add {
        let result = d.add(left, right);
        cx.write(0, result)?;
        cx.set_addition_flags(left, right, result, Some(d.ult(result, left)));
    } else {
        let result = d.sub(left, right);
        if op == Op::Sub {
            cx.write(0, result)?;
        }
        cx.set_subtraction_flags(left, right, result, Some(d.ult(left, right)));
    }
    Ok(())
}

/// One bit more than the operands have holds the carry or borrow.
fn with_carry<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, left, right) = (cx.domain, cx.read(0)?, cx.read(1)?);
    let width_bits = d.width_bits(left);
    let wide = |word| d.zero_extend(word, width_bits + 1);
    let carry = wide(cx.flag(Flag::Carry));
    let total = if op == Op::AddWithCarry {
        d.add(d.add(wide(left), wide(right)), carry)
    } else {
        d.sub(d.sub(wide(left), wide(right)), carry)
    };
    let result = d.low(total, width_bits);
    cx.write(0, result)?;
    let changed = d.xor(left, result);
    let overflow = if op == Op::AddWithCarry {
        d.sign(d.and(changed, d.xor(right, result)))
    } else {
        d.sign(d.and(changed, d.xor(left, right)))
    };
    cx.set_arithmetic_flags(left, right, result, Some(d.sign(total)), overflow);
    Ok(())
}

fn unary<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, value) = (cx.domain, cx.read(0)?);
    let width_bits = d.width_bits(value);
    let (zero, one) = (d.zero(width_bits), d.constant(width_bits, 1));
    match op {
        Op::Increment => {
            let result = d.add(value, one);
            cx.write(0, result)?;
            cx.set_addition_flags(value, one, result, None);
        }
        Op::Decrement => {
            let result = d.sub(value, one);
            cx.write(0, result)?;
            cx.set_subtraction_flags(value, one, result, None);
        }
        Op::Negate => {
            let result = d.sub(zero, value);
            cx.write(0, result)?;
            cx.set_subtraction_flags(zero, value, result, Some(d.not(d.is_zero(value))));
        }
        _ => cx.write(0, d.not(value))?,
    }
    Ok(())
}

fn logic<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, left, right) = (cx.domain, cx.read(0)?, cx.read(1)?);
    let result = match op {
        Op::Or => d.or(left, right),
        Op::Xor => d.xor(left, right),
        _ => d.and(left, right),
    };
    if op != Op::Test {
        cx.write(0, result)?;
    }
    let clear = FlagUpdate::Set(d.bit(false));
    let others = [(Flag::Carry, clear), (Flag::Overflow, clear), (Flag::Auxiliary, FlagUpdate::Undefined)];
    cx.set_result_flags(result, &others);
    Ok(())
}
