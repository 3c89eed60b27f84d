//! Packed integer operations that work lane by lane on two vectors: addition, saturation, comparison,
//! minimum, maximum, average, absolute value and sign.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    AddSaturateSigned,
    AddSaturateUnsigned,
    SubSaturateSigned,
    SubSaturateUnsigned,
    Equal,
    Greater,
    MaxSigned,
    MaxUnsigned,
    MinSigned,
    MinUnsigned,
    Average,
    Absolute,
    Sign,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Paddb, Meaning::Packed(Op::Add, 8)),
    (Mnemonic::Paddw, Meaning::Packed(Op::Add, 16)),
    (Mnemonic::Paddd, Meaning::Packed(Op::Add, 32)),
    (Mnemonic::Paddq, Meaning::Packed(Op::Add, 64)),
    (Mnemonic::Psubb, Meaning::Packed(Op::Sub, 8)),
    (Mnemonic::Psubw, Meaning::Packed(Op::Sub, 16)),
    (Mnemonic::Psubd, Meaning::Packed(Op::Sub, 32)),
    (Mnemonic::Psubq, Meaning::Packed(Op::Sub, 64)),
    (Mnemonic::Paddsb, Meaning::Packed(Op::AddSaturateSigned, 8)),
    (Mnemonic::Paddsw, Meaning::Packed(Op::AddSaturateSigned, 16)),
    (Mnemonic::Paddusb, Meaning::Packed(Op::AddSaturateUnsigned, 8)),
    (Mnemonic::Paddusw, Meaning::Packed(Op::AddSaturateUnsigned, 16)),
    (Mnemonic::Psubsb, Meaning::Packed(Op::SubSaturateSigned, 8)),
    (Mnemonic::Psubsw, Meaning::Packed(Op::SubSaturateSigned, 16)),
    (Mnemonic::Psubusb, Meaning::Packed(Op::SubSaturateUnsigned, 8)),
    (Mnemonic::Psubusw, Meaning::Packed(Op::SubSaturateUnsigned, 16)),
    (Mnemonic::Pcmpeqb, Meaning::Packed(Op::Equal, 8)),
    (Mnemonic::Pcmpeqw, Meaning::Packed(Op::Equal, 16)),
    (Mnemonic::Pcmpeqd, Meaning::Packed(Op::Equal, 32)),
    (Mnemonic::Pcmpeqq, Meaning::Packed(Op::Equal, 64)),
    (Mnemonic::Pcmpgtb, Meaning::Packed(Op::Greater, 8)),
    (Mnemonic::Pcmpgtw, Meaning::Packed(Op::Greater, 16)),
    (Mnemonic::Pcmpgtd, Meaning::Packed(Op::Greater, 32)),
    (Mnemonic::Pcmpgtq, Meaning::Packed(Op::Greater, 64)),
    (Mnemonic::Pmaxsb, Meaning::Packed(Op::MaxSigned, 8)),
    (Mnemonic::Pmaxsw, Meaning::Packed(Op::MaxSigned, 16)),
    (Mnemonic::Pmaxsd, Meaning::Packed(Op::MaxSigned, 32)),
    (Mnemonic::Pmaxub, Meaning::Packed(Op::MaxUnsigned, 8)),
    (Mnemonic::Pmaxuw, Meaning::Packed(Op::MaxUnsigned, 16)),
    (Mnemonic::Pmaxud, Meaning::Packed(Op::MaxUnsigned, 32)),
    (Mnemonic::Pminsb, Meaning::Packed(Op::MinSigned, 8)),
    (Mnemonic::Pminsw, Meaning::Packed(Op::MinSigned, 16)),
    (Mnemonic::Pminsd, Meaning::Packed(Op::MinSigned, 32)),
    (Mnemonic::Pminub, Meaning::Packed(Op::MinUnsigned, 8)),
    (Mnemonic::Pminuw, Meaning::Packed(Op::MinUnsigned, 16)),
    (Mnemonic::Pminud, Meaning::Packed(Op::MinUnsigned, 32)),
    (Mnemonic::Pavgb, Meaning::Packed(Op::Average, 8)),
    (Mnemonic::Pavgw, Meaning::Packed(Op::Average, 16)),
    (Mnemonic::Pabsb, Meaning::Packed(Op::Absolute, 8)),
    (Mnemonic::Pabsw, Meaning::Packed(Op::Absolute, 16)),
    (Mnemonic::Pabsd, Meaning::Packed(Op::Absolute, 32)),
    (Mnemonic::Psignb, Meaning::Packed(Op::Sign, 8)),
    (Mnemonic::Psignw, Meaning::Packed(Op::Sign, 16)),
    (Mnemonic::Psignd, Meaning::Packed(Op::Sign, 32)),
];

pub(super) fn run<D: Domain>(op: Op, lane_bits: u32, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let (left, right) = (d.lanes(cx.read(0)?, lane_bits), d.lanes(cx.read(1)?, lane_bits));
    let lanes: Vec<_> = left.into_iter().zip(right).map(|(left, right)| lane(op, d, left, right)).collect();
    cx.write(0, d.join(&lanes))
}

fn lane<D: Domain>(op: Op, d: &D, left: D::Word, right: D::Word) -> D::Word {
    let width_bits = d.width_bits(left);
    let zero = d.zero(width_bits);
    let mask = |bit| d.sign_extend(bit, width_bits);
    match op {
        Op::Add => d.add(left, right),
        Op::Sub => d.sub(left, right),
        Op::AddSaturateSigned | Op::SubSaturateSigned => {
            let (left, right) = (d.sign_extend(left, width_bits + 2), d.sign_extend(right, width_bits + 2));
            let exact = if op == Op::AddSaturateSigned { d.add(left, right) } else { d.sub(left, right) };
            saturate_signed(d, exact, width_bits)
        }
        Op::AddSaturateUnsigned | Op::SubSaturateUnsigned => {
            let (left, right) = (d.zero_extend(left, width_bits + 2), d.zero_extend(right, width_bits + 2));
            let exact = if op == Op::AddSaturateUnsigned { d.add(left, right) } else { d.sub(left, right) };
            saturate_unsigned(d, exact, width_bits)
        }
        Op::Equal => mask(d.equals(left, right)),
        Op::Greater => mask(d.slt(right, left)),
        Op::MaxSigned => d.choose(d.slt(left, right), right, left),
        Op::MaxUnsigned => d.choose(d.ult(left, right), right, left),
        Op::MinSigned => d.choose(d.slt(left, right), left, right),
        Op::MinUnsigned => d.choose(d.ult(left, right), left, right),
        Op::Average => {
            let wide = |word| d.zero_extend(word, width_bits + 1);
            let sum = d.add(d.add(wide(left), wide(right)), d.constant(width_bits + 1, 1));
            d.extract(sum, 1, width_bits)
        }
        Op::Absolute => d.choose(d.sign(right), d.sub(zero, right), right),
        Op::Sign => {
            let negated = d.choose(d.sign(right), d.sub(zero, left), left);
            d.choose(d.is_zero(right), zero, negated)
        }
    }
}

/// A signed number cut to `width_bits` bits, to the nearest that fits.
pub(super) fn saturate_signed<D: Domain>(d: &D, exact: D::Word, width_bits: u32) -> D::Word {
    let wide = d.width_bits(exact);
    let largest = d.constant(wide, (1 << (width_bits - 1)) - 1);
    let smallest = d.not(largest);
    let above = d.slt(largest, exact);
    let below = d.slt(exact, smallest);
    d.low(d.choose(above, largest, d.choose(below, smallest, exact)), width_bits)
}

/// A signed number cut to `width_bits` unsigned bits, to the nearest that fits.
pub(super) fn saturate_unsigned<D: Domain>(d: &D, exact: D::Word, width_bits: u32) -> D::Word {
    let wide = d.width_bits(exact);
    let largest = d.constant(wide, (1 << width_bits) - 1);
    let zero = d.zero(wide);
    let above = d.slt(largest, exact);
    d.low(d.choose(above, largest, d.choose(d.sign(exact), zero, exact)), width_bits)
}
