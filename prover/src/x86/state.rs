//! Registers and flags. A flag is two bits: its value, and whether the manual says what it is.

use crate::domain::Domain;
use iced_x86::Register;

/// General and vector registers and the status flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State<W> {
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15: 64 bits each.
    pub general: [W; 16],
    /// xmm0 to xmm15: 128 bits each.
    pub vector: [W; 16],
    /// By [`Flag`].
    pub flags: [FlagWord<W>; 6],
}

/// Index of rsp in [`State::general`].
pub const RSP: usize = 4;

/// The status flags, in the order of [`State::flags`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Flag {
    Carry,
    Parity,
    Auxiliary,
    Zero,
    Sign,
    Overflow,
}

impl Flag {
    /// All of them, in order.
    pub const ALL: [Flag; 6] =
        [Flag::Carry, Flag::Parity, Flag::Auxiliary, Flag::Zero, Flag::Sign, Flag::Overflow];

    /// Position in the flags register.
    pub fn bit(self) -> u32 {
        match self {
            Flag::Carry => 0,
            Flag::Parity => 2,
            Flag::Auxiliary => 4,
            Flag::Zero => 6,
            Flag::Sign => 7,
            Flag::Overflow => 11,
        }
    }
}

/// A flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlagWord<W> {
    /// Its value; one bit.
    pub value: W,
    /// Whether the value is the manual's; one bit.
    pub defined: W,
}

impl<W: Copy> State<W> {
    /// The state with general registers, vector registers and flags given by index.
    pub fn new<D: Domain<Word = W>>(
        domain: &D,
        general: impl Fn(usize) -> W,
        vector: impl Fn(usize) -> W,
        flag: impl Fn(Flag) -> W,
    ) -> State<W> {
        let flag_word =
            |number: usize| FlagWord { value: flag(Flag::ALL[number]), defined: domain.bit(true) };
        State {
            general: std::array::from_fn(general),
            vector: std::array::from_fn(vector),
            flags: std::array::from_fn(flag_word),
        }
    }

    /// A flag.
    pub fn flag(&self, flag: Flag) -> FlagWord<W> {
        self.flags[flag as usize]
    }

    /// The register's bits.
    pub fn read<D: Domain<Word = W>>(&self, domain: &D, register: Register) -> W {
        let whole = register.full_register().number();
        if register.is_xmm() {
            return self.vector[whole];
        }
        let low_bit = if is_high_byte(register) { 8 } else { 0 };
        let width_bits = 8 * register.size() as u32;
        if width_bits == 64 {
            self.general[whole]
        } else {
            domain.extract(self.general[whole], low_bit, width_bits)
        }
    }

    /// Writes the register's bits. 32 bits clear the upper half, fewer keep the rest.
    pub fn write<D: Domain<Word = W>>(&mut self, domain: &D, register: Register, value: W) {
        let whole = register.full_register().number();
        if register.is_xmm() {
            self.vector[whole] = value;
            return;
        }
        let old = self.general[whole];
        self.general[whole] = match register.size() {
            8 => value,
            4 => domain.zero_extend(value, 64),
            2 => domain.concat(domain.extract(old, 16, 48), value),
            _ if is_high_byte(register) => {
                let above = domain.extract(old, 16, 48);
                domain.concat(domain.concat(above, value), domain.extract(old, 0, 8))
            }
            _ => domain.concat(domain.extract(old, 8, 56), value),
        };
    }
}

/// ah, ch, dh and bh.
fn is_high_byte(register: Register) -> bool {
    matches!(register, Register::AH | Register::CH | Register::DH | Register::BH)
}
