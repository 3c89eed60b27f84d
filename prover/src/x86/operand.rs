//! What an instruction names: registers, immediates, memory. Reading and writing goes through here, so that
//! alignment, extension and address size are said once.

use super::flags::FlagUpdate;
use super::state::{Flag, State};
use crate::domain::{Domain, Fault};
use iced_x86::{CodeSize, Instruction, Mnemonic, OpKind, Register};

/// Words that stand for what the linker will write into an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fixups<W> {
    /// The displacement, 64 bits; the whole address if the operand is relative to rip.
    pub displacement: Option<W>,
    /// The immediate, of the operand's width.
    pub immediate: Option<W>,
    /// What the memory operand holds: a constant that the linker knows.
    pub loaded: Option<W>,
}

impl<W> Default for Fixups<W> {
    fn default() -> Self {
        Fixups { displacement: None, immediate: None, loaded: None }
    }
}

/// One instruction about to run.
pub struct Context<'a, D: Domain> {
    /// The domain.
    pub domain: &'a D,
    /// The state that it changes.
    pub state: &'a mut State<D::Word>,
    /// The instruction.
    pub instruction: &'a Instruction,
    /// What the linker writes into it.
    pub fixups: Fixups<D::Word>,
}

impl<'a, D: Domain> Context<'a, D> {
    /// Width of an operand: of the register, of the access, or of the first operand for immediates.
    pub fn width_bits(&self, operand: u32) -> u32 {
        match self.instruction.op_kind(operand) {
            OpKind::Register => 8 * self.instruction.op_register(operand).size() as u32,
            OpKind::Memory => 8 * self.instruction.memory_size().size() as u32,
            _ => self.width_bits(0),
        }
    }

    /// Whether the operand is in memory.
    pub fn is_memory(&self, operand: u32) -> bool {
        self.instruction.op_kind(operand) == OpKind::Memory
    }

    /// The last operand as an immediate byte.
    pub fn immediate_byte(&self) -> u32 {
        u32::from(self.instruction.immediate8())
    }

    /// The value of an operand.
    pub fn read(&self, operand: u32) -> Result<D::Word, Fault> {
        match self.instruction.op_kind(operand) {
            OpKind::Register => Ok(self.state.read(self.domain, self.instruction.op_register(operand))),
            OpKind::Memory => {
                if let Some(word) = self.fixups.loaded {
                    return Ok(word);
                }
                let address = self.address();
                self.check_alignment(address)?;
                let bytes = self.instruction.memory_size().size() as u32;
                self.domain.load(address, bytes).map_err(|fault| self.by_segment(fault))
            }
            _ => {
                let value = u128::from(self.instruction.immediate(operand));
                let plain = || self.domain.constant(self.width_bits(operand), value);
                Ok(self.fixups.immediate.unwrap_or_else(plain))
            }
        }
    }

    /// Replaces an operand. A memory operand is written at once, so rows write memory before registers.
    pub fn write(&mut self, operand: u32, value: D::Word) -> Result<(), Fault> {
        if self.is_memory(operand) {
            let address = self.address();
            self.check_alignment(address)?;
            return self.domain.store(address, value).map_err(|fault| self.by_segment(fault));
        }
        self.state.write(self.domain, self.instruction.op_register(operand), value);
        Ok(())
    }

    /// The low bits of an operand that may be a vector register or a narrower memory access.
    pub fn read_low(&self, operand: u32, width_bits: u32) -> Result<D::Word, Fault> {
        Ok(self.domain.low(self.read(operand)?, width_bits))
    }

    /// Address of the memory operand.
    pub fn address(&self) -> D::Word {
        let (domain, instruction) = (self.domain, self.instruction);
        // For rip-relative operands iced has already added the address of the next instruction.
        if instruction.is_ip_rel_memory_operand() {
            let plain = || domain.constant(64, u128::from(instruction.ip_rel_memory_address()));
            return self.fixups.displacement.unwrap_or_else(plain);
        }
        let plain = || domain.constant(64, u128::from(instruction.memory_displacement64()));
        let mut address = self.fixups.displacement.unwrap_or_else(plain);
        for (register, scale) in
            [(instruction.memory_base(), 1), (instruction.memory_index(), instruction.memory_index_scale())]
        {
            if register != Register::None {
                let value = domain.zero_extend(self.state.read(domain, register), 64);
                address = domain.add(address, domain.mul(value, domain.constant(64, u128::from(scale))));
            }
        }
        self.wrapped(address)
    }

    /// Bytes of an address in the mode of the code.
    pub fn address_bytes(&self) -> u32 {
        if self.instruction.code_size() == CodeSize::Code32 { 4 } else { 8 }
    }

    /// A stack pointer as the mode of the code has it: modulo 2^32 in 32-bit code.
    pub fn in_mode(&self, word: D::Word) -> D::Word {
        if self.address_bytes() == 4 { self.domain.zero_extend(self.domain.low(word, 32), 64) } else { word }
    }

    /// The address modulo 2^32 if the instruction computes with 32 bits.
    pub fn wrapped(&self, address: D::Word) -> D::Word {
        let (base, index) = (self.instruction.memory_base(), self.instruction.memory_index());
        let bare =
            base == Register::None && index == Register::None && self.instruction.memory_displ_size() == 4;
        let narrow = bare || base.is_gpr32() || index.is_gpr32() || base == Register::EIP;
        if narrow { self.domain.zero_extend(self.domain.low(address, 32), 64) } else { address }
    }

    /// Addresses relative to rsp or rbp that are not canonical raise another exception.
    pub fn by_segment(&self, fault: Fault) -> Fault {
        let stack = self.instruction.memory_segment() == Register::SS;
        if stack && fault == Fault::GeneralProtection { Fault::StackSegment } else { fault }
    }

    /// 16-byte operands of SSE must be aligned, except for the moves that say otherwise.
    fn check_alignment(&self, address: D::Word) -> Result<(), Fault> {
        let free = matches!(
            self.instruction.mnemonic(),
            Mnemonic::Movdqu | Mnemonic::Movups | Mnemonic::Movupd | Mnemonic::Lddqu
        );
        if self.instruction.memory_size().size() != 16 || free {
            return Ok(());
        }
        let aligned = self.domain.is_zero(self.domain.low(address, 4));
        self.domain.require(aligned, Fault::GeneralProtection)
    }

    /// The value of a flag; unknown if it is undefined.
    pub fn flag(&self, flag: Flag) -> D::Word {
        let word = self.state.flag(flag);
        self.domain.choose(word.defined, word.value, self.domain.unknown(1))
    }

    /// Changes flags.
    pub fn set_flags(&mut self, updates: &[(Flag, FlagUpdate<D::Word>)]) {
        for (flag, update) in updates {
            self.state.flags[*flag as usize] = update.apply(self.domain, self.state.flag(*flag));
        }
    }
}

/// Whether the memory operand is relative to fs or gs; the other segments start at 0.
pub fn uses_segment_base(instruction: &Instruction) -> bool {
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    memory && matches!(instruction.memory_segment(), Register::FS | Register::GS)
}

/// Whether the memory operand has an address of 16 bits, which only 32-bit code can have.
pub fn has_16_bit_address(instruction: &Instruction) -> bool {
    let memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let bare = base == Register::None && index == Register::None;
    memory && (base.is_gpr16() || index.is_gpr16() || bare && instruction.memory_displ_size() == 2)
}
