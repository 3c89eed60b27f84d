//! Bitwise operations on whole vector registers, and the test of them.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    And,
    AndNot,
    Or,
    Xor,
    Test,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Pand, Meaning::PackedLogic(Op::And)),
    (Mnemonic::Andps, Meaning::PackedLogic(Op::And)),
    (Mnemonic::Andpd, Meaning::PackedLogic(Op::And)),
    (Mnemonic::Pandn, Meaning::PackedLogic(Op::AndNot)),
    (Mnemonic::Andnps, Meaning::PackedLogic(Op::AndNot)),
    (Mnemonic::Andnpd, Meaning::PackedLogic(Op::AndNot)),
    (Mnemonic::Por, Meaning::PackedLogic(Op::Or)),
    (Mnemonic::Orps, Meaning::PackedLogic(Op::Or)),
    (Mnemonic::Orpd, Meaning::PackedLogic(Op::Or)),
    (Mnemonic::Pxor, Meaning::PackedLogic(Op::Xor)),
    (Mnemonic::Xorps, Meaning::PackedLogic(Op::Xor)),
    (Mnemonic::Xorpd, Meaning::PackedLogic(Op::Xor)),
    (Mnemonic::Ptest, Meaning::PackedLogic(Op::Test)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let (d, left, right) = (cx.domain, cx.read(0)?, cx.read(1)?);
    let result = match op {
        Op::And => d.and(left, right),
        Op::AndNot => d.and(d.not(left), right),
        Op::Or => d.or(left, right),
        Op::Xor => d.xor(left, right),
        Op::Test => {
            cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Set(d.bit(false)))));
            cx.set_flags(&[
                (Flag::Zero, FlagUpdate::Set(d.is_zero(d.and(left, right)))),
                (Flag::Carry, FlagUpdate::Set(d.is_zero(d.and(d.not(left), right)))),
            ]);
            return Ok(());
        }
    };
    cx.write(0, result)
}
