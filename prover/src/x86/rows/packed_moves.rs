//! Moves of vector registers: whole, halves, and to and from general registers. Scalar float moves are here
//! too: they move bits.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// All 128 bits.
    Whole,
    /// So many low bits; a vector register gets zeros above.
    LowCleared(u32),
    /// So many low bits; from memory with zeros above, from a register with the rest kept.
    Scalar(u32),
    /// The low half to or from memory.
    LowHalf,
    /// The high half to or from memory.
    HighHalf,
    /// The low half of the source to the high half.
    LowToHigh,
    /// The high half of the source to the low half.
    HighToLow,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Movdqa, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movdqu, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movaps, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movups, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movapd, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movupd, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Lddqu, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movntdq, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movntps, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movntpd, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movntdqa, Meaning::PackedMoves(Op::Whole)),
    (Mnemonic::Movd, Meaning::PackedMoves(Op::LowCleared(32))),
    (Mnemonic::Movq, Meaning::PackedMoves(Op::LowCleared(64))),
    (Mnemonic::Movss, Meaning::PackedMoves(Op::Scalar(32))),
    (Mnemonic::Movsd, Meaning::PackedMoves(Op::Scalar(64))),
    (Mnemonic::Movlps, Meaning::PackedMoves(Op::LowHalf)),
    (Mnemonic::Movlpd, Meaning::PackedMoves(Op::LowHalf)),
    (Mnemonic::Movhps, Meaning::PackedMoves(Op::HighHalf)),
    (Mnemonic::Movhpd, Meaning::PackedMoves(Op::HighHalf)),
    (Mnemonic::Movlhps, Meaning::PackedMoves(Op::LowToHigh)),
    (Mnemonic::Movhlps, Meaning::PackedMoves(Op::HighToLow)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let (to_memory, from_memory) = (cx.is_memory(0), cx.is_memory(1));
    // The destination counts only where part of it stays; a memory destination is not read.
    let old = |low_bit, width_bits| Ok::<_, Fault>(d.extract(cx.read(0)?, low_bit, width_bits));
    let source = cx.read(1)?;
    let result = match op {
        Op::Whole => source,
        Op::LowCleared(width_bits) => d.zero_extend(d.low(source, width_bits), cx.width_bits(0)),
        Op::Scalar(width_bits) if to_memory => d.low(source, width_bits),
        Op::Scalar(_) if from_memory => d.zero_extend(source, 128),
        Op::Scalar(width_bits) => d.concat(old(width_bits, 128 - width_bits)?, d.low(source, width_bits)),
        Op::LowHalf if to_memory => d.low(source, 64),
        Op::LowHalf => d.concat(old(64, 64)?, source),
        Op::HighHalf if to_memory => d.extract(source, 64, 64),
        Op::HighHalf => d.concat(source, old(0, 64)?),
        Op::LowToHigh => d.concat(d.low(source, 64), old(0, 64)?),
        Op::HighToLow => d.concat(old(64, 64)?, d.extract(source, 64, 64)),
    };
    cx.write(0, result)
}
