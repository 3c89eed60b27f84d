//! push, pop and leave.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::operand::Context;
use crate::x86::state::RSP;
use iced_x86::{Mnemonic, OpKind, Register};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Push,
    Pop,
    Leave,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Push, Meaning::Stack(Op::Push)),
    (Mnemonic::Pop, Meaning::Stack(Op::Pop)),
    (Mnemonic::Leave, Meaning::Stack(Op::Leave)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    match op {
        Op::Push => {
            let value = match cx.instruction.op_kind(0) {
                OpKind::Register | OpKind::Memory => cx.read(0)?,
                _ => {
                    let width_bits = cx.instruction.stack_pointer_increment().unsigned_abs() * 8;
                    d.constant(width_bits, u128::from(cx.instruction.immediate(0)))
                }
            };
            push(cx, value)
        }
        Op::Pop => {
            // The stack pointer moves first: it may be the destination, or the base of its address.
            let value = pop(cx, cx.width_bits(0) / 8)?;
            cx.write(0, value)
        }
        Op::Leave => {
            cx.state.general[RSP] = cx.state.read(d, Register::RBP);
            let narrow = cx.instruction.op_code().operand_size().max(16) == 16;
            let (bytes, frame) = match (narrow, cx.address_bytes()) {
                (true, _) => (2, Register::BP),
                (false, 4) => (4, Register::EBP),
                (false, _) => (8, Register::RBP),
            };
            let value = pop(cx, bytes)?;
            cx.state.write(d, frame, value);
            Ok(())
        }
    }
}

/// Moves the stack pointer down and stores there.
pub(super) fn push<D: Domain>(cx: &mut Context<D>, value: D::Word) -> Result<(), Fault> {
    let d = cx.domain;
    let bytes = u128::from(d.width_bits(value) / 8);
    let top = cx.in_mode(d.sub(cx.state.general[RSP], d.constant(64, bytes)));
    d.store(top, value).map_err(of_stack)?;
    cx.state.general[RSP] = top;
    Ok(())
}

/// Loads from the stack pointer and moves it up.
pub(super) fn pop<D: Domain>(cx: &mut Context<D>, bytes: u32) -> Result<D::Word, Fault> {
    let d = cx.domain;
    let value = d.load(cx.state.general[RSP], bytes).map_err(of_stack)?;
    let top = d.add(cx.state.general[RSP], d.constant(64, u128::from(bytes)));
    cx.state.general[RSP] = cx.in_mode(top);
    Ok(value)
}

/// What the processor calls a fault of the stack itself.
fn of_stack(fault: Fault) -> Fault {
    if fault == Fault::GeneralProtection { Fault::StackSegment } else { fault }
}
