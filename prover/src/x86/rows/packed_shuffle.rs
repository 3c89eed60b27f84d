//! Rearranging lanes by an immediate, by position, or by a vector of indices.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Any of the four 32-bit lanes of the source.
    Doublewords,
    /// Any of the four low words of the source; the high half stays.
    LowWords,
    /// Any of the four high words of the source; the low half stays.
    HighWords,
    /// Two lanes of the destination, two of the source.
    TwoSources,
    /// One of the destination, one of the source.
    TwoSourcesDouble,
    /// Bytes by index.
    Bytes,
    /// Bytes of destination and source together, shifted.
    Align,
    /// Lanes of the low halves, one from each.
    InterleaveLow(u32),
    /// Lanes of the high halves, one from each.
    InterleaveHigh(u32),
    /// Lanes 0 and 0, 2 and 2.
    DuplicateEven,
    /// Lanes 1 and 1, 3 and 3.
    DuplicateOdd,
    /// The low quadword twice.
    DuplicateLow,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Pshufd, Meaning::PackedShuffle(Op::Doublewords)),
    (Mnemonic::Pshuflw, Meaning::PackedShuffle(Op::LowWords)),
    (Mnemonic::Pshufhw, Meaning::PackedShuffle(Op::HighWords)),
    (Mnemonic::Shufps, Meaning::PackedShuffle(Op::TwoSources)),
    (Mnemonic::Shufpd, Meaning::PackedShuffle(Op::TwoSourcesDouble)),
    (Mnemonic::Pshufb, Meaning::PackedShuffle(Op::Bytes)),
    (Mnemonic::Palignr, Meaning::PackedShuffle(Op::Align)),
    (Mnemonic::Punpcklbw, Meaning::PackedShuffle(Op::InterleaveLow(8))),
    (Mnemonic::Punpcklwd, Meaning::PackedShuffle(Op::InterleaveLow(16))),
    (Mnemonic::Punpckldq, Meaning::PackedShuffle(Op::InterleaveLow(32))),
    (Mnemonic::Punpcklqdq, Meaning::PackedShuffle(Op::InterleaveLow(64))),
    (Mnemonic::Unpcklps, Meaning::PackedShuffle(Op::InterleaveLow(32))),
    (Mnemonic::Unpcklpd, Meaning::PackedShuffle(Op::InterleaveLow(64))),
    (Mnemonic::Punpckhbw, Meaning::PackedShuffle(Op::InterleaveHigh(8))),
    (Mnemonic::Punpckhwd, Meaning::PackedShuffle(Op::InterleaveHigh(16))),
    (Mnemonic::Punpckhdq, Meaning::PackedShuffle(Op::InterleaveHigh(32))),
    (Mnemonic::Punpckhqdq, Meaning::PackedShuffle(Op::InterleaveHigh(64))),
    (Mnemonic::Unpckhps, Meaning::PackedShuffle(Op::InterleaveHigh(32))),
    (Mnemonic::Unpckhpd, Meaning::PackedShuffle(Op::InterleaveHigh(64))),
    (Mnemonic::Movsldup, Meaning::PackedShuffle(Op::DuplicateEven)),
    (Mnemonic::Movshdup, Meaning::PackedShuffle(Op::DuplicateOdd)),
    (Mnemonic::Movddup, Meaning::PackedShuffle(Op::DuplicateLow)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let (left, right) = (cx.read(0)?, cx.read(1)?);
    let field = |number: u32, bits: u32| {
        (cx.instruction.immediate8() as usize >> (number * bits)) & ((1 << bits) - 1)
    };
    let result = match op {
        Op::Doublewords => pick(d, &d.lanes(right, 32), (0..4).map(|number| field(number, 2))),
        Op::LowWords => {
            let order = (0..4).map(|number| field(number, 2)).chain(4..8);
            pick(d, &d.lanes(right, 16), order)
        }
        Op::HighWords => {
            let order = (0..4).chain((0..4).map(|number| 4 + field(number, 2)));
            pick(d, &d.lanes(right, 16), order)
        }
        Op::TwoSources => {
            let order = [field(0, 2), field(1, 2), 4 + field(2, 2), 4 + field(3, 2)];
            pick(d, &both(d, left, right, 32), order.into_iter())
        }
        Op::TwoSourcesDouble => {
            pick(d, &both(d, left, right, 64), [field(0, 1), 2 + field(1, 1)].into_iter())
        }
        Op::Bytes => {
            let bytes: Vec<_> = d.lanes(right, 8).into_iter().map(|index| indexed(d, left, index)).collect();
            d.join(&bytes)
        }
        Op::Align => {
            let mut bytes = both(d, right, left, 8);
            bytes.resize(32 + 256, d.zero(8));
            let first = cx.immediate_byte() as usize;
            d.join(&bytes[first..first + 16])
        }
        Op::InterleaveLow(lane_bits) => interleave(d, left, right, lane_bits, 0),
        Op::InterleaveHigh(lane_bits) => interleave(d, left, right, lane_bits, 64 / lane_bits as usize),
        Op::DuplicateEven => pick(d, &d.lanes(right, 32), [0, 0, 2, 2].into_iter()),
        Op::DuplicateOdd => pick(d, &d.lanes(right, 32), [1, 1, 3, 3].into_iter()),
        Op::DuplicateLow => d.concat(d.low(right, 64), d.low(right, 64)),
    };
    cx.write(0, result)
}

fn pick<D: Domain>(d: &D, lanes: &[D::Word], order: impl Iterator<Item = usize>) -> D::Word {
    let picked: Vec<_> = order.map(|number| lanes[number]).collect();
    d.join(&picked)
}

fn both<D: Domain>(d: &D, first: D::Word, second: D::Word, lane_bits: u32) -> Vec<D::Word> {
    let mut lanes = d.lanes(first, lane_bits);
    lanes.extend(d.lanes(second, lane_bits));
    lanes
}

fn interleave<D: Domain>(d: &D, left: D::Word, right: D::Word, lane_bits: u32, from: usize) -> D::Word {
    let pairs = d.lanes(left, lane_bits).into_iter().zip(d.lanes(right, lane_bits));
    let lanes: Vec<_> =
        pairs.skip(from).take(64 / lane_bits as usize).flat_map(|(left, right)| [left, right]).collect();
    d.join(&lanes)
}

/// A byte of the vector by the low four bits of the index; 0 if the index has its sign.
fn indexed<D: Domain>(d: &D, vector: D::Word, index: D::Word) -> D::Word {
    let bits = d.concat(d.zero(121), d.concat(d.low(index, 4), d.zero(3)));
    let byte = d.low(d.lshr(vector, bits), 8);
    d.choose(d.sign(index), d.zero(8), byte)
}
