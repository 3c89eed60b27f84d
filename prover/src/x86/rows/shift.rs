//! Shifts and rotations of general registers and memory. The count is taken modulo 32 or 64; a count of 0
//! keeps all flags, and overflow is defined for a count of 1 only.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::{FlagUpdate, of_result};
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::{Mnemonic, OpKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Left,
    RightLogical,
    RightArithmetic,
    RotateLeft,
    RotateRight,
    RotateCarryLeft,
    RotateCarryRight,
    DoubleLeft,
    DoubleRight,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Shl, Meaning::Shift(Op::Left)),
    (Mnemonic::Sal, Meaning::Shift(Op::Left)),
    (Mnemonic::Shr, Meaning::Shift(Op::RightLogical)),
    (Mnemonic::Sar, Meaning::Shift(Op::RightArithmetic)),
    (Mnemonic::Rol, Meaning::Shift(Op::RotateLeft)),
    (Mnemonic::Ror, Meaning::Shift(Op::RotateRight)),
    (Mnemonic::Rcl, Meaning::Shift(Op::RotateCarryLeft)),
    (Mnemonic::Rcr, Meaning::Shift(Op::RotateCarryRight)),
    (Mnemonic::Shld, Meaning::Shift(Op::DoubleLeft)),
    (Mnemonic::Shrd, Meaning::Shift(Op::DoubleRight)),
];

/// What a shift does: the result, the last bit out and the overflow of a shift by one.
struct Shifted<W> {
    result: W,
    carry: W,
    carry_defined: W,
    overflow: W,
}

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, value) = (cx.domain, cx.read(0)?);
    let width_bits = d.width_bits(value);
    let count = count(cx, width_bits)?;
    let shifted = match op {
        Op::Left | Op::RightLogical | Op::RightArithmetic => plain(op, d, value, count),
        Op::RotateLeft | Op::RotateRight => rotated(op, d, value, count),
        Op::RotateCarryLeft | Op::RotateCarryRight => {
            rotated_through_carry(op, d, value, count, cx.flag(Flag::Carry))
        }
        Op::DoubleLeft | Op::DoubleRight => double(op, cx, value, count)?,
    };
    cx.write(0, shifted.result)?;
    let moved = d.not(d.is_zero(count));
    let by_one = d.equals(count, d.constant(d.width_bits(count), 1));
    let update = |value, defined| FlagUpdate::If { condition: moved, value, defined };
    cx.set_flags(&[
        (Flag::Carry, update(shifted.carry, shifted.carry_defined)),
        (Flag::Overflow, update(shifted.overflow, by_one)),
    ]);
    let rotation =
        matches!(op, Op::RotateLeft | Op::RotateRight | Op::RotateCarryLeft | Op::RotateCarryRight);
    if !rotation {
        let result = of_result(d, shifted.result).map(|(flag, value)| (flag, update(value, d.bit(true))));
        cx.set_flags(&result);
        cx.set_flags(&[(Flag::Auxiliary, update(d.bit(false), d.bit(false)))]);
    }
    Ok(())
}

/// The last operand modulo 32 or 64, as 8 bits.
fn count<D: Domain>(cx: &Context<D>, width_bits: u32) -> Result<D::Word, Fault> {
    let last = cx.instruction.op_count() - 1;
    let byte = match cx.instruction.op_kind(last) {
        OpKind::Register => cx.read(last)?,
        _ => cx.domain.constant(8, u128::from(cx.immediate_byte())),
    };
    let modulus = if width_bits == 64 { 63 } else { 31 };
    Ok(cx.domain.and(byte, cx.domain.constant(8, modulus)))
}

/// A copy of the last bit moved out is kept in one bit more: above for the left, below for the right.
fn plain<D: Domain>(op: Op, d: &D, value: D::Word, count: D::Word) -> Shifted<D::Word> {
    let width_bits = d.width_bits(value);
    let steps = d.zero_extend(count, width_bits.max(8) + 1);
    let below_width = d.ult(count, d.constant(8, u128::from(width_bits)));
    let sign = d.sign(value);
    if op == Op::Left {
        let wide = d.shl(d.zero_extend(value, width_bits + 1), steps);
        let (result, carry) = (d.low(wide, width_bits), d.sign(wide));
        return Shifted { result, carry, carry_defined: below_width, overflow: d.xor(d.sign(result), carry) };
    }
    let extended = d.concat(value, d.bit(false));
    let wide = if op == Op::RightLogical { d.lshr(extended, steps) } else { d.ashr(extended, steps) };
    let (result, carry) = (d.extract(wide, 1, width_bits), d.low(wide, 1));
    if op == Op::RightLogical {
        Shifted { result, carry, carry_defined: below_width, overflow: sign }
    } else {
        Shifted { result, carry, carry_defined: d.bit(true), overflow: d.bit(false) }
    }
}

fn rotate<D: Domain>(d: &D, value: D::Word, left_by: D::Word) -> D::Word {
    let width = d.constant(d.width_bits(value), u128::from(d.width_bits(value)));
    d.or(d.shl(value, left_by), d.lshr(value, d.sub(width, left_by)))
}

fn rotated<D: Domain>(op: Op, d: &D, value: D::Word, count: D::Word) -> Shifted<D::Word> {
    let width_bits = d.width_bits(value);
    let steps = d.zero_extend(d.and(count, d.constant(8, u128::from(width_bits - 1))), width_bits.max(8));
    let top = |word| d.sign(word);
    let second = |word| d.extract(word, width_bits - 2, 1);
    let defined = d.bit(true);
    if op == Op::RotateLeft {
        let result = rotate(d, value, steps);
        let carry = d.low(result, 1);
        Shifted { result, carry, carry_defined: defined, overflow: d.xor(top(result), carry) }
    } else {
        let width = d.constant(width_bits, u128::from(width_bits));
        let result =
            rotate(d, value, d.and(d.sub(width, steps), d.constant(width_bits, u128::from(width_bits - 1))));
        Shifted {
            result,
            carry: top(result),
            carry_defined: defined,
            overflow: d.xor(top(result), second(result)),
        }
    }
}

/// The carry is one bit more, above the value.
fn rotated_through_carry<D: Domain>(
    op: Op,
    d: &D,
    value: D::Word,
    count: D::Word,
    carry: D::Word,
) -> Shifted<D::Word> {
    let width_bits = d.width_bits(value);
    let whole = d.concat(carry, value);
    let width = d.constant(width_bits + 1, u128::from(width_bits) + 1);
    let steps = d.urem(d.zero_extend(count, width_bits.max(8) + 1), width);
    let left_by = if op == Op::RotateCarryLeft { steps } else { d.urem(d.sub(width, steps), width) };
    let turned = rotate(d, whole, left_by);
    let result = d.low(turned, width_bits);
    let carry = d.sign(turned);
    let overflow = if op == Op::RotateCarryLeft {
        d.xor(d.sign(result), carry)
    } else {
        d.xor(d.sign(result), d.extract(result, width_bits - 2, 1))
    };
    Shifted { result, carry, carry_defined: d.bit(true), overflow }
}

/// Bits of the second operand move in. Beyond the width (16-bit forms) the manual leaves the result open.
fn double<D: Domain>(
    op: Op,
    cx: &Context<D>,
    value: D::Word,
    count: D::Word,
) -> Result<Shifted<D::Word>, Fault> {
    let (d, width_bits) = (cx.domain, cx.width_bits(0));
    let within = d.not(d.ult(d.constant(8, u128::from(width_bits)), count));
    d.require(within, Fault::UndefinedResult)?;
    let filler = cx.read(1)?;
    let steps = d.zero_extend(count, 2 * width_bits);
    let narrow = d.zero_extend(count, width_bits + 1);
    let defined = d.bit(true);
    let (result, carry) = if op == Op::DoubleLeft {
        let wide = d.shl(d.concat(value, filler), steps);
        let out = d.shl(d.zero_extend(value, width_bits + 1), narrow);
        (d.extract(wide, width_bits, width_bits), d.sign(out))
    } else {
        let wide = d.lshr(d.concat(filler, value), steps);
        let out = d.lshr(d.concat(value, d.bit(false)), narrow);
        (d.low(wide, width_bits), d.low(out, 1))
    };
    let overflow = d.xor(d.sign(value), d.sign(result));
    Ok(Shifted { result, carry, carry_defined: defined, overflow })
}
