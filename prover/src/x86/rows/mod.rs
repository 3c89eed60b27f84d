//! The table of known instructions: mnemonics with their meaning, one file per family. A row is a form: one
//! encoding of a known mnemonic (iced's `Code`) that is valid in a mode and has only operands that
//! [`super::operand`] can read and write. The forms are enumerated from iced's own tables, so none can be
//! forgotten, and every one is judged by the CPU in each of its modes.
//!
//! To add an instruction: put its mnemonic into the family's `ROWS`, its meaning into the family's `run`, and
//! run `cargo test -p metaloc-prover`: its forms are judged without further ado.

mod arith;
mod bits;
mod conditional;
mod control;
mod divide;
mod float;
mod moves;
mod multiply;
mod packed;
mod packed_horizontal;
mod packed_logic;
mod packed_moves;
mod packed_multiply;
mod packed_select;
mod packed_shift;
mod packed_shuffle;
mod packed_width;
mod shift;
mod stack;

use super::operand::Context;
use super::{Mode, Next};
use crate::domain::{Domain, Fault};
use crate::float::Format;
use iced_x86::{Code, EncodingKind, Mnemonic, OpCodeOperandKind};
use std::sync::OnceLock;

/// What a mnemonic means, by family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Meaning {
    Arith(arith::Op),
    Bits(bits::Op),
    Conditional(conditional::Op),
    Control(control::Op),
    Divide(divide::Op),
    Float(float::Op, Format, float::Lanes),
    Moves(moves::Op),
    Multiply(multiply::Op),
    Packed(packed::Op, u32),
    PackedHorizontal(packed_horizontal::Op),
    PackedLogic(packed_logic::Op),
    PackedMoves(packed_moves::Op),
    PackedMultiply(packed_multiply::Op),
    PackedSelect(packed_select::Op),
    PackedShift(packed_shift::Op, u32),
    PackedShuffle(packed_shuffle::Op),
    PackedWidth(packed_width::Op),
    Shift(shift::Op),
    Stack(stack::Op),
}

type Rows = &'static [(Mnemonic, Meaning)];

const FAMILIES: &[Rows] = &[
    arith::ROWS,
    bits::ROWS,
    conditional::ROWS,
    control::ROWS,
    divide::ROWS,
    float::ROWS,
    float::WITH_FOUR_FORMS,
    moves::ROWS,
    multiply::ROWS,
    packed::ROWS,
    packed_horizontal::ROWS,
    packed_logic::ROWS,
    packed_moves::ROWS,
    packed_multiply::ROWS,
    packed_select::ROWS,
    packed_shift::ROWS,
    packed_shuffle::ROWS,
    packed_width::ROWS,
    shift::ROWS,
    stack::ROWS,
];

/// The meaning of a form in 64-bit mode; nothing if there is no row for it.
pub fn meaning(code: Code) -> Option<Meaning> {
    meaning_in(Mode::Bits64, code)
}

/// The meaning of a form; nothing if there is no row for it.
pub fn meaning_in(mode: Mode, code: Code) -> Option<Meaning> {
    static TABLES: [OnceLock<Vec<Option<Meaning>>>; 2] = [OnceLock::new(), OnceLock::new()];
    let table = TABLES[mode as usize].get_or_init(|| Code::values().map(|code| find(mode, code)).collect());
    table[code as usize]
}

/// All rows of 64-bit mode.
pub fn forms() -> impl Iterator<Item = Code> {
    forms_in(Mode::Bits64)
}

/// All rows of a mode.
pub fn forms_in(mode: Mode) -> impl Iterator<Item = Code> {
    Code::values().filter(move |code| meaning_in(mode, *code).is_some())
}

/// All mnemonics with a row.
pub fn mnemonics() -> impl Iterator<Item = Mnemonic> {
    FAMILIES.iter().flat_map(|rows| rows.iter()).map(|(mnemonic, _)| *mnemonic)
}

/// Whether a form computes with floating-point numbers.
pub fn computes_with_floats(code: Code) -> bool {
    let mut rows = float::ROWS.iter().chain(float::WITH_FOUR_FORMS);
    rows.any(|(mnemonic, _)| *mnemonic == code.mnemonic())
}

pub(super) fn run<D: Domain>(meaning: Meaning, cx: &mut Context<D>) -> Result<Next<D::Word>, Fault> {
    match meaning {
        Meaning::Control(op) => return control::run(op, cx),
        Meaning::Arith(op) => arith::run(op, cx),
        Meaning::Bits(op) => bits::run(op, cx),
        Meaning::Conditional(op) => conditional::run(op, cx),
        Meaning::Divide(op) => divide::run(op, cx),
        Meaning::Float(op, format, lanes) => float::run(op, format, lanes, cx),
        Meaning::Moves(op) => moves::run(op, cx),
        Meaning::Multiply(op) => multiply::run(op, cx),
        Meaning::Packed(op, lane_bits) => packed::run(op, lane_bits, cx),
        Meaning::PackedHorizontal(op) => packed_horizontal::run(op, cx),
        Meaning::PackedLogic(op) => packed_logic::run(op, cx),
        Meaning::PackedMoves(op) => packed_moves::run(op, cx),
        Meaning::PackedMultiply(op) => packed_multiply::run(op, cx),
        Meaning::PackedSelect(op) => packed_select::run(op, cx),
        Meaning::PackedShift(op, lane_bits) => packed_shift::run(op, lane_bits, cx),
        Meaning::PackedShuffle(op) => packed_shuffle::run(op, cx),
        Meaning::PackedWidth(op) => packed_width::run(op, cx),
        Meaning::Shift(op) => shift::run(op, cx),
        Meaning::Stack(op) => stack::run(op, cx),
    }?;
    Ok(Next::Fall)
}

fn find(mode: Mode, code: Code) -> Option<Meaning> {
    let info = code.op_code();
    let valid = if mode == Mode::Bits64 { info.mode64() } else { info.mode32() };
    let plain = valid && info.encoding() == EncodingKind::Legacy && info.is_instruction();
    if !plain || excluded(code) || !info.op_kinds().iter().all(|kind| known_operand(*kind)) {
        return None;
    }
    let mut rows = FAMILIES.iter().flat_map(|rows| rows.iter());
    rows.find(|(mnemonic, _)| *mnemonic == code.mnemonic()).map(|(_, meaning)| *meaning)
}

/// Forms of known mnemonics that mean something else or nothing certain.
fn excluded(code: Code) -> bool {
    match code {
        // The manual leaves the result of a 16-bit byte swap open.
        Code::Bswap_r16
        // Processors read two or four bytes of memory.
        | Code::Movsxd_r16_rm16
        // Branches with 16-bit targets truncate rip on some processors and not on others.
        | Code::Jmp_rm16 | Code::Call_rm16 | Code::Retnw | Code::Retnw_imm16
        // Far jumps and calls change the code segment.
        | Code::Jmp_m1616 | Code::Jmp_m1632 | Code::Jmp_m1664
        | Code::Call_m1616 | Code::Call_m1632 | Code::Call_m1664 => true,
        _ => false,
    }
}

fn known_operand(kind: OpCodeOperandKind) -> bool {
    use OpCodeOperandKind as Kind;
    matches!(
        kind,
        Kind::None
            | Kind::mem
            | Kind::mem_offs
            | Kind::r8_or_mem
            | Kind::r16_or_mem
            | Kind::r32_or_mem
            | Kind::r64_or_mem
            | Kind::xmm_or_mem
            | Kind::r8_reg
            | Kind::r8_opcode
            | Kind::r16_reg
            | Kind::r16_rm
            | Kind::r16_opcode
            | Kind::r32_reg
            | Kind::r32_rm
            | Kind::r32_opcode
            | Kind::r64_reg
            | Kind::r64_rm
            | Kind::r64_opcode
            | Kind::xmm_reg
            | Kind::xmm_rm
            | Kind::al
            | Kind::cl
            | Kind::ax
            | Kind::eax
            | Kind::rax
            | Kind::imm8
            | Kind::imm8_const_1
            | Kind::imm8sex16
            | Kind::imm8sex32
            | Kind::imm8sex64
            | Kind::imm16
            | Kind::imm32
            | Kind::imm32sex64
            | Kind::imm64
            | Kind::br64_1
            | Kind::br64_4
            | Kind::br32_1
            | Kind::br32_4
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_mnemonic_is_listed_once_and_has_a_form() {
        let mut seen = HashSet::new();
        let with_form: HashSet<Mnemonic> = forms().map(Code::mnemonic).collect();
        for mnemonic in mnemonics() {
            assert!(seen.insert(mnemonic), "{mnemonic:?} is listed twice");
            assert!(with_form.contains(&mnemonic), "{mnemonic:?} has no form");
        }
    }

    #[test]
    fn each_mode_has_its_own_encodings() {
        let narrow = |code| meaning_in(Mode::Bits32, code);
        assert!(meaning(Code::Push_r32).is_none() && narrow(Code::Push_r32).is_some());
        assert!(meaning(Code::Push_r64).is_some() && narrow(Code::Push_r64).is_none());
        assert!(meaning(Code::Je_rel8_32).is_none() && narrow(Code::Je_rel8_32).is_some());
        assert!(narrow(Code::Je_rel8_16).is_none());
        assert!(narrow(Code::Add_rm64_r64).is_none());
        assert!(narrow(Code::Paddd_xmm_xmmm128).is_some());
    }

    #[test]
    fn string_moves_and_mmx_are_not_taken_for_sse() {
        assert!(meaning(Code::Movsd_xmm_xmmm64).is_some());
        assert!(meaning(Code::Movsd_m32_m32).is_none());
        assert!(meaning(Code::Cmpsd_xmm_xmmm64_imm8).is_some());
        assert!(meaning(Code::Cmpsd_m32_m32).is_none());
        assert!(meaning(Code::Cvttps2pi_mm_xmmm64).is_none());
        assert!(meaning(Code::Paddd_xmm_xmmm128).is_some());
        assert!(meaning(Code::Paddd_mm_mmm64).is_none());
        assert!(meaning(Code::Mov_Sreg_r32m16).is_none());
    }
}
