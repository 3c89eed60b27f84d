//! Packed integer multiplications.

use super::Meaning;
use super::packed::saturate_signed;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Low half of the products of lanes.
    Low(u32),
    HighSigned,
    HighUnsigned,
    /// Rounded bits 15 to 30 of the products.
    HighRounded,
    /// The even 32-bit lanes, to 64 bits.
    EvenUnsigned,
    EvenSigned,
    /// Sums of neighbouring products of 16-bit lanes.
    AddPairs,
    /// Unsigned times signed bytes, neighbouring products added and saturated.
    AddPairsOfBytes,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Pmullw, Meaning::PackedMultiply(Op::Low(16))),
    (Mnemonic::Pmulld, Meaning::PackedMultiply(Op::Low(32))),
    (Mnemonic::Pmulhw, Meaning::PackedMultiply(Op::HighSigned)),
    (Mnemonic::Pmulhuw, Meaning::PackedMultiply(Op::HighUnsigned)),
    (Mnemonic::Pmulhrsw, Meaning::PackedMultiply(Op::HighRounded)),
    (Mnemonic::Pmuludq, Meaning::PackedMultiply(Op::EvenUnsigned)),
    (Mnemonic::Pmuldq, Meaning::PackedMultiply(Op::EvenSigned)),
    (Mnemonic::Pmaddwd, Meaning::PackedMultiply(Op::AddPairs)),
    (Mnemonic::Pmaddubsw, Meaning::PackedMultiply(Op::AddPairsOfBytes)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, left, right) = (cx.domain, cx.read(0)?, cx.read(1)?);
    let each = |lane_bits: u32, make: &dyn Fn(D::Word, D::Word) -> D::Word| {
        let pairs = d.lanes(left, lane_bits).into_iter().zip(d.lanes(right, lane_bits));
        let lanes: Vec<_> = pairs.map(|(left, right)| make(left, right)).collect();
        d.join(&lanes)
    };
    let signed = |word, width_bits| d.sign_extend(word, width_bits);
    let unsigned = |word, width_bits| d.zero_extend(word, width_bits);
    let result = match op {
        Op::Low(lane_bits) => each(lane_bits, &|left, right| d.mul(left, right)),
        Op::HighSigned => {
            each(16, &|left, right| d.extract(d.mul(signed(left, 32), signed(right, 32)), 16, 16))
        }
        Op::HighUnsigned => {
            each(16, &|left, right| d.extract(d.mul(unsigned(left, 32), unsigned(right, 32)), 16, 16))
        }
        Op::HighRounded => each(16, &|left, right| {
            let product = d.mul(signed(left, 32), signed(right, 32));
            d.extract(d.add(product, d.constant(32, 1 << 14)), 15, 16)
        }),
        Op::EvenUnsigned => {
            each(64, &|left, right| d.mul(unsigned(d.low(left, 32), 64), unsigned(d.low(right, 32), 64)))
        }
        Op::EvenSigned => {
            each(64, &|left, right| d.mul(signed(d.low(left, 32), 64), signed(d.low(right, 32), 64)))
        }
        Op::AddPairs => each(32, &|left, right| {
            let product = |low_bit| {
                let half = |word| signed(d.extract(word, low_bit, 16), 32);
                d.mul(half(left), half(right))
            };
            d.add(product(0), product(16))
        }),
        Op::AddPairsOfBytes => each(16, &|left, right| {
            let product = |low_bit| {
                let (left, right) = (d.extract(left, low_bit, 8), d.extract(right, low_bit, 8));
                d.mul(unsigned(left, 18), signed(right, 18))
            };
            saturate_signed(d, d.add(product(0), product(8)), 16)
        }),
    };
    cx.write(0, result)
}
