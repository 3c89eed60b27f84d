//! setcc and cmovcc.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Set,
    Move,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Seta, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setae, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setb, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setbe, Meaning::Conditional(Op::Set)),
    (Mnemonic::Sete, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setg, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setge, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setl, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setle, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setne, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setno, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setnp, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setns, Meaning::Conditional(Op::Set)),
    (Mnemonic::Seto, Meaning::Conditional(Op::Set)),
    (Mnemonic::Setp, Meaning::Conditional(Op::Set)),
    (Mnemonic::Sets, Meaning::Conditional(Op::Set)),
    (Mnemonic::Cmova, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovae, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovb, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovbe, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmove, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovg, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovge, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovl, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovle, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovne, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovno, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovnp, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovns, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovo, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovp, Meaning::Conditional(Op::Move)),
    (Mnemonic::Cmovs, Meaning::Conditional(Op::Move)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let condition = cx.condition(cx.instruction.condition_code());
    match op {
        Op::Set => cx.write(0, d.zero_extend(condition, 8)),
        // The source is read, and the upper half cleared, whatever the condition is.
        Op::Move => {
            let (old, new) = (cx.read(0)?, cx.read(1)?);
            cx.write(0, d.choose(condition, new, old))
        }
    }
}
