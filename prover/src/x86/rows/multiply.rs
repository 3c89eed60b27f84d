//! mul and imul in their one-, two- and three-operand forms.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::{Mnemonic, Register};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Unsigned,
    Signed,
}

pub(super) const ROWS: super::Rows =
    &[(Mnemonic::Mul, Meaning::Multiply(Op::Unsigned)), (Mnemonic::Imul, Meaning::Multiply(Op::Signed))];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = cx.width_bits(0);
    let (left, right) = match cx.instruction.op_count() {
        1 => (cx.state.read(d, low_half(width_bits)), cx.read(0)?),
        2 => (cx.read(0)?, cx.read(1)?),
        _ => (cx.read(1)?, cx.read(2)?),
    };
    let wide = |word| match op {
        Op::Unsigned => d.zero_extend(word, 2 * width_bits),
        Op::Signed => d.sign_extend(word, 2 * width_bits),
    };
    let product = d.mul(wide(left), wide(right));
    // The low half is written as a product of its own width: the normaliser need not cut a wide one.
    let result = d.mul(left, right);
    if cx.instruction.op_count() > 1 {
        cx.write(0, result)?;
    } else {
        write_pair(cx, width_bits, d.extract(product, width_bits, width_bits), result);
    }
    let lost = d.not(d.equals(product, wide(result)));
    cx.set_flags(&[
        (Flag::Carry, FlagUpdate::Set(lost)),
        (Flag::Overflow, FlagUpdate::Set(lost)),
        (Flag::Sign, FlagUpdate::Undefined),
        (Flag::Zero, FlagUpdate::Undefined),
        (Flag::Auxiliary, FlagUpdate::Undefined),
        (Flag::Parity, FlagUpdate::Undefined),
    ]);
    Ok(())
}

/// al, ax, eax or rax.
pub(super) fn low_half(width_bits: u32) -> Register {
    match width_bits {
        8 => Register::AL,
        16 => Register::AX,
        32 => Register::EAX,
        _ => Register::RAX,
    }
}

/// ah, dx, edx or rdx.
pub(super) fn high_half(width_bits: u32) -> Register {
    match width_bits {
        8 => Register::AH,
        16 => Register::DX,
        32 => Register::EDX,
        _ => Register::RDX,
    }
}

/// Writes the two halves of a result.
pub(super) fn write_pair<D: Domain>(cx: &mut Context<D>, width_bits: u32, high: D::Word, low: D::Word) {
    cx.state.write(cx.domain, low_half(width_bits), low);
    cx.state.write(cx.domain, high_half(width_bits), high);
}
