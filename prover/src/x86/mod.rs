//! x86 semantics as a table over decoded instructions.
//!
//! 32-bit code runs on the same state, with the upper halves of registers 0 and addresses modulo 2^32: an
//! instruction knows the mode that it was decoded for.
//!
//! - [`state`]: registers and flags; [`operand`]: reading and writing what an instruction names;
//! - [`flags`]: how results set flags, and conditions;
//! - [`rows`]: which mnemonics are known, one file per family.
//!
//! Anything without a row is `unsupported: mnemonic at pc`; nothing is guessed.

pub mod flags;
pub mod operand;
pub mod rows;
pub mod state;

use crate::domain::{Domain, Fault};
use iced_x86::{CodeSize, Decoder, DecoderOptions, FlowControl, Instruction};
use operand::{Context, Fixups};
use state::State;

/// How wide addresses are: the mode that code is decoded and run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// 64-bit mode.
    Bits64,
    /// 32-bit protected mode, or compatibility mode.
    Bits32,
}

impl Mode {
    /// Both.
    pub const ALL: [Mode; 2] = [Mode::Bits64, Mode::Bits32];

    /// 64 or 32.
    pub fn address_bits(self) -> u32 {
        match self {
            Mode::Bits64 => 64,
            Mode::Bits32 => 32,
        }
    }
}

/// Where control goes after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<W> {
    /// To the next instruction.
    Fall,
    /// To a known place.
    Jump(u64),
    /// To a known place if the bit is set, to the next instruction otherwise.
    Branch {
        /// The bit.
        condition: W,
        /// The place.
        target: u64,
    },
    /// To a computed place.
    Indirect(W),
    /// Into a function, the return address pushed.
    Call(W),
    /// Out of the function.
    Return(W),
}

/// Why an instruction has no successor state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The processor faults.
    #[error("{0:?} fault")]
    Fault(Fault),
    /// There is no row for it.
    #[error("unsupported: {what} at {pc:#x}")]
    Unsupported {
        /// The mnemonic, and the operand or prefix if that is what has no meaning here.
        what: String,
        /// Where.
        pc: u64,
    },
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

/// Decodes one instruction; what is none is unsupported.
pub fn decode(bytes: &[u8], pc: u64) -> Result<Instruction, Stop> {
    decode_in(bytes, pc, 64)
}

/// The same in a mode with addresses of 32 or 64 bits.
pub fn decode_in(bytes: &[u8], pc: u64, address_bits: u32) -> Result<Instruction, Stop> {
    let instruction = Decoder::with_ip(address_bits, bytes, pc, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return Err(Stop::Unsupported { what: "bytes that are no instruction".into(), pc });
    }
    // Of a branch it cuts the pc to 16 bits, or is ignored, depending on the mode and on who made the processor.
    if instruction.flow_control() != FlowControl::Next && has_operand_size_prefix(bytes, address_bits) {
        let what = format!("{:?} with an operand-size prefix", instruction.mnemonic()).to_lowercase();
        return Err(Stop::Unsupported { what, pc });
    }
    Ok(instruction)
}

/// Whether 66 is among the prefixes.
fn has_operand_size_prefix(bytes: &[u8], address_bits: u32) -> bool {
    let prefix = |byte: &&u8| match byte {
        0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3 => true,
        // REX.
        0x40..=0x4f => address_bits == 64,
        _ => false,
    };
    bytes.iter().take_while(prefix).any(|byte| *byte == 0x66)
}

/// Runs one instruction. If it stops, the registers are as they were.
pub fn step<D: Domain>(
    domain: &D,
    state: &mut State<D::Word>,
    instruction: &Instruction,
) -> Result<Next<D::Word>, Stop> {
    step_linked(domain, state, instruction, Fixups::default())
}

/// Runs one instruction into which the linker will write.
pub fn step_linked<D: Domain>(
    domain: &D,
    state: &mut State<D::Word>,
    instruction: &Instruction,
    fixups: Fixups<D::Word>,
) -> Result<Next<D::Word>, Stop> {
    let unsupported = |detail: &str| Stop::Unsupported {
        what: format!("{:?}{detail}", instruction.mnemonic()).to_lowercase(),
        pc: instruction.ip(),
    };
    let mode = if instruction.code_size() == CodeSize::Code32 { Mode::Bits32 } else { Mode::Bits64 };
    let meaning = rows::meaning_in(mode, instruction.code()).ok_or_else(|| unsupported(""))?;
    if instruction.has_lock_prefix() {
        return Err(unsupported(" with lock"));
    }
    if operand::uses_segment_base(instruction) {
        return Err(unsupported(" relative to fs or gs"));
    }
    if operand::has_16_bit_address(instruction) {
        return Err(unsupported(" with a 16-bit address"));
    }
    let before = state.clone();
    let next = rows::run(meaning, &mut Context { domain, state, instruction, fixups });
    if next.is_err() {
        *state = before;
    }
    next.map_err(Stop::Fault)
}
