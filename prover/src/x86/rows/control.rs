//! Jumps, calls and returns.

use super::Meaning;
use super::stack::{pop, push};
use crate::domain::{Domain, Fault};
use crate::x86::Next;
use crate::x86::operand::Context;
use crate::x86::state::RSP;
use iced_x86::{Mnemonic, OpKind, Register};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Jump,
    /// By the condition code of the instruction.
    Branch,
    /// If the register is 0.
    BranchIfZero(Register),
    Call,
    Return,
    Trap,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Jmp, Meaning::Control(Op::Jump)),
    (Mnemonic::Ja, Meaning::Control(Op::Branch)),
    (Mnemonic::Jae, Meaning::Control(Op::Branch)),
    (Mnemonic::Jb, Meaning::Control(Op::Branch)),
    (Mnemonic::Jbe, Meaning::Control(Op::Branch)),
    (Mnemonic::Je, Meaning::Control(Op::Branch)),
    (Mnemonic::Jg, Meaning::Control(Op::Branch)),
    (Mnemonic::Jge, Meaning::Control(Op::Branch)),
    (Mnemonic::Jl, Meaning::Control(Op::Branch)),
    (Mnemonic::Jle, Meaning::Control(Op::Branch)),
    (Mnemonic::Jne, Meaning::Control(Op::Branch)),
    (Mnemonic::Jno, Meaning::Control(Op::Branch)),
    (Mnemonic::Jnp, Meaning::Control(Op::Branch)),
    (Mnemonic::Jns, Meaning::Control(Op::Branch)),
    (Mnemonic::Jo, Meaning::Control(Op::Branch)),
    (Mnemonic::Jp, Meaning::Control(Op::Branch)),
    (Mnemonic::Js, Meaning::Control(Op::Branch)),
    (Mnemonic::Jecxz, Meaning::Control(Op::BranchIfZero(Register::ECX))),
    (Mnemonic::Jrcxz, Meaning::Control(Op::BranchIfZero(Register::RCX))),
    (Mnemonic::Call, Meaning::Control(Op::Call)),
    (Mnemonic::Ret, Meaning::Control(Op::Return)),
    (Mnemonic::Ud2, Meaning::Control(Op::Trap)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<Next<D::Word>, Fault> {
    let d = cx.domain;
    let direct = cx.instruction.op_count() > 0
        && matches!(cx.instruction.op_kind(0), OpKind::NearBranch64 | OpKind::NearBranch32);
    let near = cx.instruction.near_branch_target();
    match op {
        Op::Jump if direct => Ok(Next::Jump(near)),
        Op::Jump => Ok(Next::Indirect(cx.read(0)?)),
        Op::Branch => {
            let condition = cx.condition(cx.instruction.condition_code());
            Ok(Next::Branch { condition, target: near })
        }
        Op::BranchIfZero(register) => {
            let condition = d.is_zero(cx.state.read(d, register));
            Ok(Next::Branch { condition, target: near })
        }
        Op::Call => {
            let bits = 8 * cx.address_bytes();
            let target = if direct { d.constant(bits, u128::from(near)) } else { cx.read(0)? };
            push(cx, d.constant(bits, u128::from(cx.instruction.next_ip())))?;
            Ok(Next::Call(target))
        }
        Op::Return => {
            let target = pop(cx, cx.address_bytes())?;
            if cx.instruction.op_count() == 1 {
                let dropped = d.constant(64, u128::from(cx.instruction.immediate16()));
                cx.state.general[RSP] = cx.in_mode(d.add(cx.state.general[RSP], dropped));
            }
            Ok(Next::Return(target))
        }
        Op::Trap => Err(Fault::InvalidOpcode),
    }
}
