//! Blends, and lanes put in and taken out.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// By the bits of the immediate.
    Blend(u32),
    /// By the signs of the lanes of xmm0.
    BlendVariable(u32),
    /// One lane from a general register or memory.
    Insert(u32),
    /// One lane to a general register or memory.
    Extract(u32),
    /// One 32-bit lane from a vector, and some lanes cleared.
    InsertSingle,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Pblendw, Meaning::PackedSelect(Op::Blend(16))),
    (Mnemonic::Blendps, Meaning::PackedSelect(Op::Blend(32))),
    (Mnemonic::Blendpd, Meaning::PackedSelect(Op::Blend(64))),
    (Mnemonic::Pblendvb, Meaning::PackedSelect(Op::BlendVariable(8))),
    (Mnemonic::Blendvps, Meaning::PackedSelect(Op::BlendVariable(32))),
    (Mnemonic::Blendvpd, Meaning::PackedSelect(Op::BlendVariable(64))),
    (Mnemonic::Pinsrb, Meaning::PackedSelect(Op::Insert(8))),
    (Mnemonic::Pinsrw, Meaning::PackedSelect(Op::Insert(16))),
    (Mnemonic::Pinsrd, Meaning::PackedSelect(Op::Insert(32))),
    (Mnemonic::Pinsrq, Meaning::PackedSelect(Op::Insert(64))),
    (Mnemonic::Pextrb, Meaning::PackedSelect(Op::Extract(8))),
    (Mnemonic::Pextrw, Meaning::PackedSelect(Op::Extract(16))),
    (Mnemonic::Pextrd, Meaning::PackedSelect(Op::Extract(32))),
    (Mnemonic::Pextrq, Meaning::PackedSelect(Op::Extract(64))),
    (Mnemonic::Extractps, Meaning::PackedSelect(Op::Extract(32))),
    (Mnemonic::Insertps, Meaning::PackedSelect(Op::InsertSingle)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let control = cx.immediate_byte();
    match op {
        Op::Blend(lane_bits) => {
            let pairs = d.lanes(cx.read(0)?, lane_bits).into_iter().zip(d.lanes(cx.read(1)?, lane_bits));
            let lanes: Vec<_> = (0..)
                .zip(pairs)
                .map(|(number, (left, right))| if control >> number & 1 == 1 { right } else { left })
                .collect();
            cx.write(0, d.join(&lanes))
        }
        Op::BlendVariable(lane_bits) => {
            let lanes = |word| d.lanes(word, lane_bits);
            let (left, right, mask) = (lanes(cx.read(0)?), lanes(cx.read(1)?), lanes(cx.state.vector[0]));
            let chosen: Vec<_> =
                (0..mask.len()).map(|n| d.choose(d.sign(mask[n]), right[n], left[n])).collect();
            cx.write(0, d.join(&chosen))
        }
        Op::Insert(lane_bits) => {
            let mut lanes = d.lanes(cx.read(0)?, lane_bits);
            let number = control as usize % lanes.len();
            lanes[number] = cx.read_low(1, lane_bits)?;
            cx.write(0, d.join(&lanes))
        }
        Op::Extract(lane_bits) => {
            let lanes = d.lanes(cx.read(1)?, lane_bits);
            let lane = lanes[control as usize % lanes.len()];
            cx.write(0, d.zero_extend(lane, cx.width_bits(0)))
        }
        Op::InsertSingle => {
            let mut lanes = d.lanes(cx.read(0)?, 32);
            let source = cx.read(1)?;
            // From memory there is one lane only; from a register the immediate chooses.
            let chosen = if cx.is_memory(1) { 0 } else { control >> 6 };
            lanes[(control >> 4 & 3) as usize] = d.extract(source, 32 * chosen, 32);
            for (number, lane) in lanes.iter_mut().enumerate() {
                if control >> number & 1 == 1 {
                    *lane = d.zero(32);
                }
            }
            cx.write(0, d.join(&lanes))
        }
    }
}
