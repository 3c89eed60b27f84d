//! Moves, extensions, lea, exchange, flag moves, and instructions that do nothing.

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::{Mnemonic, Register};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Move,
    ZeroExtend,
    SignExtend,
    Address,
    Exchange,
    /// Sign of the first register's low part into the whole: cbw, cwde, cdqe.
    Widen(Register, Register),
    /// Copies of the sign of the first register into the second: cwd, cdq, cqo.
    Spread(Register, Register),
    Nothing,
    Carry(Option<bool>),
    LoadFlags,
    StoreFlags,
}

pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Mov, Meaning::Moves(Op::Move)),
    (Mnemonic::Movnti, Meaning::Moves(Op::Move)),
    (Mnemonic::Movzx, Meaning::Moves(Op::ZeroExtend)),
    (Mnemonic::Movsx, Meaning::Moves(Op::SignExtend)),
    (Mnemonic::Movsxd, Meaning::Moves(Op::SignExtend)),
    (Mnemonic::Lea, Meaning::Moves(Op::Address)),
    (Mnemonic::Xchg, Meaning::Moves(Op::Exchange)),
    (Mnemonic::Cbw, Meaning::Moves(Op::Widen(Register::AL, Register::AX))),
    (Mnemonic::Cwde, Meaning::Moves(Op::Widen(Register::AX, Register::EAX))),
    (Mnemonic::Cdqe, Meaning::Moves(Op::Widen(Register::EAX, Register::RAX))),
    (Mnemonic::Cwd, Meaning::Moves(Op::Spread(Register::AX, Register::DX))),
    (Mnemonic::Cdq, Meaning::Moves(Op::Spread(Register::EAX, Register::EDX))),
    (Mnemonic::Cqo, Meaning::Moves(Op::Spread(Register::RAX, Register::RDX))),
    (Mnemonic::Nop, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Endbr64, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Endbr32, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Pause, Meaning::Moves(Op::Nothing)),
    // Hints and order among processors: one thread sees nothing of them.
    (Mnemonic::Prefetchnta, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Prefetcht0, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Prefetcht1, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Prefetcht2, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Lfence, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Mfence, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Sfence, Meaning::Moves(Op::Nothing)),
    (Mnemonic::Clc, Meaning::Moves(Op::Carry(Some(false)))),
    (Mnemonic::Stc, Meaning::Moves(Op::Carry(Some(true)))),
    (Mnemonic::Cmc, Meaning::Moves(Op::Carry(None))),
    (Mnemonic::Lahf, Meaning::Moves(Op::LoadFlags)),
    (Mnemonic::Sahf, Meaning::Moves(Op::StoreFlags)),
];

pub(super) fn run<D: Domain>(op: Op, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    match op {
        Op::Move => cx.write(0, cx.read(1)?),
        Op::ZeroExtend => cx.write(0, d.zero_extend(cx.read(1)?, cx.width_bits(0))),
        // One form of movsxd extends nothing.
        Op::SignExtend => cx.write(0, d.sign_extend(cx.read(1)?, cx.width_bits(0))),
        Op::Address => cx.write(0, d.low(cx.address(), cx.width_bits(0))),
        Op::Exchange => {
            let (left, right) = (cx.read(0)?, cx.read(1)?);
            // The memory operand goes first: its address may use the register.
            let (first, second) =
                if cx.is_memory(1) { ((1, left), (0, right)) } else { ((0, right), (1, left)) };
            cx.write(first.0, first.1)?;
            cx.write(second.0, second.1)
        }
        Op::Widen(from, to) => {
            let value = d.sign_extend(cx.state.read(d, from), 8 * to.size() as u32);
            cx.state.write(d, to, value);
            Ok(())
        }
        Op::Spread(from, to) => {
            let sign = d.sign(cx.state.read(d, from));
            cx.state.write(d, to, d.sign_extend(sign, 8 * to.size() as u32));
            Ok(())
        }
        Op::Nothing => Ok(()),
        Op::Carry(value) => {
            let carry = value.map_or_else(|| d.not(cx.flag(Flag::Carry)), |value| d.bit(value));
            cx.set_flags(&[(Flag::Carry, FlagUpdate::Set(carry))]);
            Ok(())
        }
        Op::LoadFlags => {
            let flag = |flag| cx.flag(flag);
            // From bit 0: CF, 1, PF, 0, AF, 0, ZF, SF.
            let bits = [
                flag(Flag::Carry),
                d.bit(true),
                flag(Flag::Parity),
                d.bit(false),
                flag(Flag::Auxiliary),
                d.bit(false),
                flag(Flag::Zero),
                flag(Flag::Sign),
            ];
            cx.state.write(d, Register::AH, d.join(&bits));
            Ok(())
        }
        Op::StoreFlags => {
            let byte = cx.state.read(d, Register::AH);
            let flags = [Flag::Carry, Flag::Parity, Flag::Auxiliary, Flag::Zero, Flag::Sign];
            cx.set_flags(&flags.map(|flag| (flag, FlagUpdate::Set(d.extract(byte, flag.bit(), 1)))));
            Ok(())
        }
    }
}
