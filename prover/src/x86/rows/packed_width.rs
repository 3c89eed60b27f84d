//! Lanes made wider (pmovsx, pmovzx) and narrower (packs with saturation).

use super::Meaning;
use super::packed::{saturate_signed, saturate_unsigned};
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    SignExtend(u32, u32),
    ZeroExtend(u32, u32),
    /// Lanes of that width to half of it.
    PackSigned(u32),
    PackUnsigned(u32),
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Pmovsxbw, Meaning::PackedWidth(Op::SignExtend(8, 16))),
    (Mnemonic::Pmovsxbd, Meaning::PackedWidth(Op::SignExtend(8, 32))),
    (Mnemonic::Pmovsxbq, Meaning::PackedWidth(Op::SignExtend(8, 64))),
    (Mnemonic::Pmovsxwd, Meaning::PackedWidth(Op::SignExtend(16, 32))),
    (Mnemonic::Pmovsxwq, Meaning::PackedWidth(Op::SignExtend(16, 64))),
    (Mnemonic::Pmovsxdq, Meaning::PackedWidth(Op::SignExtend(32, 64))),
    (Mnemonic::Pmovzxbw, Meaning::PackedWidth(Op::ZeroExtend(8, 16))),
    (Mnemonic::Pmovzxbd, Meaning::PackedWidth(Op::ZeroExtend(8, 32))),
    (Mnemonic::Pmovzxbq, Meaning::PackedWidth(Op::ZeroExtend(8, 64))),
    (Mnemonic::Pmovzxwd, Meaning::PackedWidth(Op::ZeroExtend(16, 32))),
    (Mnemonic::Pmovzxwq, Meaning::PackedWidth(Op::ZeroExtend(16, 64))),
    (Mnemonic::Pmovzxdq, Meaning::PackedWidth(Op::ZeroExtend(32, 64))),
    (Mnemonic::Packsswb, Meaning::PackedWidth(Op::PackSigned(16))),
    (Mnemonic::Packssdw, Meaning::PackedWidth(Op::PackSigned(32))),
    (Mnemonic::Packuswb, Meaning::PackedWidth(Op::PackUnsigned(16))),
    (Mnemonic::Packusdw, Meaning::PackedWidth(Op::PackUnsigned(32))),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let lanes: Vec<_> = match op {
        Op::SignExtend(from, to) => {
            low_lanes(cx, from, to)?.into_iter().map(|lane| d.sign_extend(lane, to)).collect()
        }
        Op::ZeroExtend(from, to) => {
            low_lanes(cx, from, to)?.into_iter().map(|lane| d.zero_extend(lane, to)).collect()
        }
        Op::PackSigned(from) => {
            both_lanes(cx, from)?.into_iter().map(|lane| saturate_signed(d, lane, from / 2)).collect()
        }
        Op::PackUnsigned(from) => {
            both_lanes(cx, from)?.into_iter().map(|lane| saturate_unsigned(d, lane, from / 2)).collect()
        }
    };
    cx.write(0, d.join(&lanes))
}

/// As many low lanes of the source as fit when made wider.
fn low_lanes<D: Domain>(cx: &Context<D>, from: u32, to: u32) -> Result<Vec<D::Word>, Fault> {
    Ok(cx.domain.lanes(cx.read_low(1, 128 / to * from)?, from))
}

fn both_lanes<D: Domain>(cx: &Context<D>, lane_bits: u32) -> Result<Vec<D::Word>, Fault> {
    let mut lanes = cx.domain.lanes(cx.read(0)?, lane_bits);
    lanes.extend(cx.domain.lanes(cx.read(1)?, lane_bits));
    Ok(lanes)
}
