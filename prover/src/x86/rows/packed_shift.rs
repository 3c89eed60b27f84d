//! Packed shifts: by an immediate, by the low quadword of a vector, and of the whole register by bytes.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::{Mnemonic, OpKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Left,
    RightLogical,
    RightArithmetic,
    LeftBytes,
    RightBytes,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Psllw, Meaning::PackedShift(Op::Left, 16)),
    (Mnemonic::Pslld, Meaning::PackedShift(Op::Left, 32)),
    (Mnemonic::Psllq, Meaning::PackedShift(Op::Left, 64)),
    (Mnemonic::Psrlw, Meaning::PackedShift(Op::RightLogical, 16)),
    (Mnemonic::Psrld, Meaning::PackedShift(Op::RightLogical, 32)),
    (Mnemonic::Psrlq, Meaning::PackedShift(Op::RightLogical, 64)),
    (Mnemonic::Psraw, Meaning::PackedShift(Op::RightArithmetic, 16)),
    (Mnemonic::Psrad, Meaning::PackedShift(Op::RightArithmetic, 32)),
    (Mnemonic::Pslldq, Meaning::PackedShift(Op::LeftBytes, 128)),
    (Mnemonic::Psrldq, Meaning::PackedShift(Op::RightBytes, 128)),
];

pub(super) fn run<D: Domain>(op: Op, lane_bits: u32, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let value = cx.read(0)?;
    if matches!(op, Op::LeftBytes | Op::RightBytes) {
        let bits = d.constant(128, u128::from(8 * cx.immediate_byte()));
        let shifted = if op == Op::LeftBytes { d.shl(value, bits) } else { d.lshr(value, bits) };
        return cx.write(0, shifted);
    }
    let count = match cx.instruction.op_kind(1) {
        OpKind::Immediate8 => d.constant(64, u128::from(cx.immediate_byte())),
        _ => cx.read_low(1, 64)?,
    };
    let steps = clamped(d, count, lane_bits);
    let lanes: Vec<_> = d
        .lanes(value, lane_bits)
        .into_iter()
        .map(|lane| match op {
            Op::Left => d.shl(lane, steps),
            Op::RightLogical => d.lshr(lane, steps),
            _ => d.ashr(lane, steps),
        })
        .collect();
    cx.write(0, d.join(&lanes))
}

/// A 64-bit count as one of the lane's width: all counts from the width on shift everything out.
fn clamped<D: Domain>(d: &D, count: D::Word, lane_bits: u32) -> D::Word {
    let width = d.constant(64, u128::from(lane_bits));
    d.low(d.choose(d.ult(count, width), count, width), lane_bits)
}
