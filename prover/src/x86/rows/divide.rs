//! div and idiv: a dividend of twice the width, #DE if the quotient does not fit.

use super::Meaning;
use super::multiply::{high_half, low_half, write_pair};
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Unsigned,
    Signed,
}

pub(super) const ROWS: super::Rows =
    &[(Mnemonic::Div, Meaning::Divide(Op::Unsigned)), (Mnemonic::Idiv, Meaning::Divide(Op::Signed))];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = cx.width_bits(0);
    let divisor = cx.read(0)?;
    d.require(d.not(d.is_zero(divisor)), Fault::Divide)?;
    let half = |register| cx.state.read(d, register);
    let dividend = d.concat(half(high_half(width_bits)), half(low_half(width_bits)));
    let (quotient, remainder, again) = match op {
        Op::Unsigned => {
            let divisor = d.zero_extend(divisor, 2 * width_bits);
            let quotient = d.udiv(dividend, divisor);
            (quotient, d.urem(dividend, divisor), d.zero_extend(d.low(quotient, width_bits), 2 * width_bits))
        }
        Op::Signed => {
            let divisor = d.sign_extend(divisor, 2 * width_bits);
            let quotient = d.sdiv(dividend, divisor);
            (quotient, d.srem(dividend, divisor), d.sign_extend(d.low(quotient, width_bits), 2 * width_bits))
        }
    };
    d.require(d.equals(quotient, again), Fault::Divide)?;
    write_pair(cx, width_bits, d.low(remainder, width_bits), d.low(quotient, width_bits));
    cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Undefined)));
    Ok(())
}
