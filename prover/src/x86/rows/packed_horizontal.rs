//! Operations across the lanes of a vector: horizontal sums and differences, sums of absolute differences,
//! the smallest word, sign masks, and the checksum step.

use super::Meaning;
use super::packed::saturate_signed;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Of neighbouring lanes.
    Add(u32),
    AddSaturated,
    Sub(u32),
    SubSaturated,
    /// Sum of absolute differences of bytes, for each half.
    Distance,
    /// Eight sums of absolute differences of four bytes.
    Distances,
    SmallestWord,
    /// The sign bits of all lanes.
    SignMask(u32),
    Checksum,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Phaddw, Meaning::PackedHorizontal(Op::Add(16))),
    (Mnemonic::Phaddd, Meaning::PackedHorizontal(Op::Add(32))),
    (Mnemonic::Phaddsw, Meaning::PackedHorizontal(Op::AddSaturated)),
    (Mnemonic::Phsubw, Meaning::PackedHorizontal(Op::Sub(16))),
    (Mnemonic::Phsubd, Meaning::PackedHorizontal(Op::Sub(32))),
    (Mnemonic::Phsubsw, Meaning::PackedHorizontal(Op::SubSaturated)),
    (Mnemonic::Psadbw, Meaning::PackedHorizontal(Op::Distance)),
    (Mnemonic::Mpsadbw, Meaning::PackedHorizontal(Op::Distances)),
    (Mnemonic::Phminposuw, Meaning::PackedHorizontal(Op::SmallestWord)),
    (Mnemonic::Pmovmskb, Meaning::PackedHorizontal(Op::SignMask(8))),
    (Mnemonic::Movmskps, Meaning::PackedHorizontal(Op::SignMask(32))),
    (Mnemonic::Movmskpd, Meaning::PackedHorizontal(Op::SignMask(64))),
    (Mnemonic::Crc32, Meaning::PackedHorizontal(Op::Checksum)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let result = match op {
        Op::Add(lane_bits) => neighbours(cx, lane_bits, |low, high| d.add(low, high))?,
        Op::Sub(lane_bits) => neighbours(cx, lane_bits, |low, high| d.sub(low, high))?,
        Op::AddSaturated => neighbours(cx, 16, |low, high| {
            saturate_signed(d, d.add(d.sign_extend(low, 18), d.sign_extend(high, 18)), 16)
        })?,
        Op::SubSaturated => neighbours(cx, 16, |low, high| {
            saturate_signed(d, d.sub(d.sign_extend(low, 18), d.sign_extend(high, 18)), 16)
        })?,
        Op::Distance => {
            let (left, right) = (d.lanes(cx.read(0)?, 8), d.lanes(cx.read(1)?, 8));
            let half =
                |from: usize| d.zero_extend(distance(d, &left[from..from + 8], &right[from..from + 8]), 64);
            d.join(&[half(0), half(8)])
        }
        Op::Distances => distances(cx)?,
        Op::SmallestWord => smallest_word(d, cx.read(1)?),
        Op::SignMask(lane_bits) => {
            let signs: Vec<_> =
                d.lanes(cx.read(1)?, lane_bits).into_iter().map(|lane| d.sign(lane)).collect();
            d.zero_extend(d.join(&signs), cx.width_bits(0))
        }
        Op::Checksum => checksum(cx)?,
    };
    cx.write(0, result)
}

/// Results of neighbouring lanes of the first operand, then of the second.
fn neighbours<D: Domain>(
    cx: &Context<D>,
    lane_bits: u32,
    make: impl Fn(D::Word, D::Word) -> D::Word,
) -> Result<D::Word, Fault> {
    let d = cx.domain;
    let mut lanes = d.lanes(cx.read(0)?, lane_bits);
    lanes.extend(d.lanes(cx.read(1)?, lane_bits));
    let results: Vec<_> = lanes.chunks(2).map(|pair| make(pair[0], pair[1])).collect();
    Ok(d.join(&results))
}

/// Sum of absolute differences of bytes, 16 bits.
fn distance<D: Domain>(d: &D, left: &[D::Word], right: &[D::Word]) -> D::Word {
    left.iter().zip(right).fold(d.zero(16), |sum, (left, right)| {
        let (one, other) = (d.zero_extend(*left, 16), d.zero_extend(*right, 16));
        d.add(sum, d.choose(d.ult(one, other), d.sub(other, one), d.sub(one, other)))
    })
}

fn distances<D: Domain>(cx: &Context<D>) -> Result<D::Word, Fault> {
    let d = cx.domain;
    let (left, right) = (d.lanes(cx.read(0)?, 8), d.lanes(cx.read(1)?, 8));
    let control = cx.immediate_byte() as usize;
    let (first, block) = (4 * (control >> 2 & 1), 4 * (control & 3));
    let sums: Vec<_> = (0..8)
        .map(|number| distance(d, &left[first + number..first + number + 4], &right[block..block + 4]))
        .collect();
    Ok(d.join(&sums))
}

/// The smallest word, then its number; the first of equals.
fn smallest_word<D: Domain>(d: &D, vector: D::Word) -> D::Word {
    let words = d.lanes(vector, 16);
    let start = (words[0], d.zero(112));
    let (smallest, number) =
        words.iter().zip(0u128..).skip(1).fold(start, |(smallest, number), (word, index)| {
            let smaller = d.ult(*word, smallest);
            (d.choose(smaller, *word, smallest), d.choose(smaller, d.constant(112, index), number))
        });
    d.concat(number, smallest)
}

/// CRC-32C of the bits of the second operand, lowest first.
fn checksum<D: Domain>(cx: &Context<D>) -> Result<D::Word, Fault> {
    let d = cx.domain;
    let data = d.lanes(cx.read(1)?, 1);
    let polynomial = d.constant(32, 0x82f6_3b78);
    let start = d.low(cx.read(0)?, 32);
    let sum = data.into_iter().fold(start, |sum, bit| {
        let odd = d.xor(d.low(sum, 1), bit);
        let half = d.lshr(sum, d.constant(32, 1));
        d.choose(odd, d.xor(half, polynomial), half)
    });
    Ok(d.zero_extend(sum, cx.width_bits(0)))
}
