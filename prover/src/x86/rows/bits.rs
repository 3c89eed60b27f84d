//! Bit tests, bit scans, counting and byte swap.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::{Mnemonic, OpKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Test,
    Set,
    Reset,
    Complement,
    ScanForward,
    ScanReverse,
    TrailingZeros,
    LeadingZeros,
    Population,
    ByteSwap,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Bt, Meaning::Bits(Op::Test)),
    (Mnemonic::Bts, Meaning::Bits(Op::Set)),
    (Mnemonic::Btr, Meaning::Bits(Op::Reset)),
    (Mnemonic::Btc, Meaning::Bits(Op::Complement)),
    (Mnemonic::Bsf, Meaning::Bits(Op::ScanForward)),
    (Mnemonic::Bsr, Meaning::Bits(Op::ScanReverse)),
    (Mnemonic::Tzcnt, Meaning::Bits(Op::TrailingZeros)),
    (Mnemonic::Lzcnt, Meaning::Bits(Op::LeadingZeros)),
    (Mnemonic::Popcnt, Meaning::Bits(Op::Population)),
    (Mnemonic::Bswap, Meaning::Bits(Op::ByteSwap)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    match op {
        Op::Test | Op::Set | Op::Reset | Op::Complement => test(op, cx),
        Op::ScanForward | Op::ScanReverse => scan(op, cx),
        Op::TrailingZeros | Op::LeadingZeros => count_zeros(op, cx),
        Op::Population => population(cx),
        Op::ByteSwap => {
            let mut bytes = cx.domain.lanes(cx.read(0)?, 8);
            bytes.reverse();
            cx.write(0, cx.domain.join(&bytes))
        }
    }
}

/// A register as bit number of a memory operand reaches beyond the operand: signed, in whole operands.
fn test<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = cx.width_bits(0);
    let number = cx.read(1)?;
    let reaches = cx.is_memory(0) && cx.instruction.op_kind(1) == OpKind::Register;
    let address = reaches.then(|| {
        let operands = d.ashr(number, d.constant(width_bits, u128::from(width_bits.trailing_zeros())));
        let bytes = d.mul(d.sign_extend(operands, 64), d.constant(64, u128::from(width_bits / 8)));
        cx.wrapped(d.add(cx.address(), bytes))
    });
    let value = match address {
        Some(address) => d.load(address, width_bits / 8).map_err(|fault| cx.by_segment(fault))?,
        None => cx.read(0)?,
    };
    let within = d.and(number, d.constant(width_bits, u128::from(width_bits - 1)));
    let single = d.shl(d.constant(width_bits, 1), within);
    let result = match op {
        Op::Set => d.or(value, single),
        Op::Reset => d.and(value, d.not(single)),
        _ => d.xor(value, single),
    };
    match address {
        _ if op == Op::Test => {}
        Some(address) => d.store(address, result).map_err(|fault| cx.by_segment(fault))?,
        None => cx.write(0, result)?,
    }
    let carry = d.low(d.lshr(value, within), 1);
    cx.set_flags(&[
        (Flag::Carry, FlagUpdate::Set(carry)),
        (Flag::Overflow, FlagUpdate::Undefined),
        (Flag::Sign, FlagUpdate::Undefined),
        (Flag::Auxiliary, FlagUpdate::Undefined),
        (Flag::Parity, FlagUpdate::Undefined),
    ]);
    Ok(())
}

/// Number of the first set bit in an order; `none` if there is none.
fn first_set<D: Domain>(d: &D, value: D::Word, order: impl Iterator<Item = u32>, none: D::Word) -> D::Word {
    let width_bits = d.width_bits(value);
    let numbers: Vec<u32> = order.collect();
    numbers.into_iter().rev().fold(none, |rest, number| {
        d.choose(d.extract(value, number, 1), d.constant(width_bits, u128::from(number)), rest)
    })
}

/// A scan of 0 leaves the destination open.
fn scan<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, value) = (cx.domain, cx.read(1)?);
    let width_bits = d.width_bits(value);
    let empty = d.is_zero(value);
    d.require(d.not(empty), Fault::UndefinedResult)?;
    let zero = d.zero(width_bits);
    let number = match op {
        Op::ScanForward => first_set(d, value, 0..width_bits, zero),
        _ => first_set(d, value, (0..width_bits).rev(), zero),
    };
    cx.write(0, number)?;
    cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Undefined)));
    cx.set_flags(&[(Flag::Zero, FlagUpdate::Set(empty))]);
    Ok(())
}

fn count_zeros<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, value) = (cx.domain, cx.read(1)?);
    let width_bits = d.width_bits(value);
    let all = d.constant(width_bits, u128::from(width_bits));
    let count = match op {
        Op::TrailingZeros => first_set(d, value, 0..width_bits, all),
        _ => {
            // Numbered from the top: bit n is number width-1-n, and a missing one gives the width.
            let minus_one = d.constant(width_bits, u128::MAX);
            let number = first_set(d, value, (0..width_bits).rev(), minus_one);
            d.sub(d.constant(width_bits, u128::from(width_bits - 1)), number)
        }
    };
    cx.write(0, count)?;
    cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Undefined)));
    let updates = [(Flag::Carry, d.is_zero(value)), (Flag::Zero, d.is_zero(count))];
    cx.set_flags(&updates.map(|(flag, value)| (flag, FlagUpdate::Set(value))));
    Ok(())
}

fn population<D: Domain>(cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, value) = (cx.domain, cx.read(1)?);
    let width_bits = d.width_bits(value);
    let bits = d.lanes(value, 1);
    let count =
        bits.into_iter().fold(d.zero(width_bits), |sum, bit| d.add(sum, d.zero_extend(bit, width_bits)));
    cx.write(0, count)?;
    cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Set(d.bit(false)))));
    cx.set_flags(&[(Flag::Zero, FlagUpdate::Set(d.is_zero(value)))]);
    Ok(())
}
