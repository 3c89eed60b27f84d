//! How results set flags, and what condition codes ask of them.
//!
//! The formulas are chosen so that the normaliser finds the comparison again: overflow of a subtraction is
//! `(a < b) xor sign`, so that `sign xor overflow`, which `jl` asks for, is `a < b`.

use super::operand::Context;
use super::state::{Flag, FlagWord};
use crate::domain::Domain;
use iced_x86::ConditionCode;

/// What happens to a flag.
#[derive(Debug, Clone, Copy)]
pub enum FlagUpdate<W> {
    /// It gets a value.
    Set(W),
    /// The manual leaves it open.
    Undefined,
    /// If the first bit is set, it gets the second, with the third as whether it is defined; else it is kept.
    If {
        /// Whether anything happens.
        condition: W,
        /// The value.
        value: W,
        /// Whether the value is the manual's.
        defined: W,
    },
}

impl<W: Copy> FlagUpdate<W> {
    /// The flag afterwards.
    pub fn apply<D: Domain<Word = W>>(self, domain: &D, old: FlagWord<W>) -> FlagWord<W> {
        match self {
            FlagUpdate::Set(value) => FlagWord { value, defined: domain.bit(true) },
            FlagUpdate::Undefined => FlagWord { value: old.value, defined: domain.bit(false) },
            FlagUpdate::If { condition, value, defined } => FlagWord {
                value: domain.choose(condition, value, old.value),
                defined: domain.choose(condition, defined, old.defined),
            },
        }
    }
}

/// Zero, sign and parity of a result.
pub fn of_result<D: Domain>(domain: &D, result: D::Word) -> [(Flag, D::Word); 3] {
    [
        (Flag::Zero, domain.is_zero(result)),
        (Flag::Sign, domain.sign(result)),
        (Flag::Parity, parity(domain, result)),
    ]
}

/// Whether the low byte has an even number of set bits.
fn parity<D: Domain>(domain: &D, result: D::Word) -> D::Word {
    let bits = domain.lanes(domain.low(result, 8), 1);
    bits.into_iter().fold(domain.bit(true), |even, bit| domain.xor(even, bit))
}

/// Carry from bit 3 to bit 4.
pub fn auxiliary<D: Domain>(domain: &D, left: D::Word, right: D::Word, result: D::Word) -> D::Word {
    domain.extract(domain.xor(domain.xor(left, right), result), 4, 1)
}

impl<D: Domain> Context<'_, D> {
    /// Sets zero, sign and parity from a result, and the others as given.
    pub fn set_result_flags(&mut self, result: D::Word, others: &[(Flag, FlagUpdate<D::Word>)]) {
        let updates = of_result(self.domain, result).map(|(flag, value)| (flag, FlagUpdate::Set(value)));
        self.set_flags(&updates);
        self.set_flags(others);
    }

    /// Flags of `left + right = result`.
    pub fn set_addition_flags(
        &mut self,
        left: D::Word,
        right: D::Word,
        result: D::Word,
        carry: Option<D::Word>,
    ) {
        let domain = self.domain;
        let overflow = domain.sign(domain.and(domain.xor(left, result), domain.xor(right, result)));
        self.set_arithmetic_flags(left, right, result, carry, overflow);
    }

    /// Flags of `left - right = result`.
    pub fn set_subtraction_flags(
        &mut self,
        left: D::Word,
        right: D::Word,
        result: D::Word,
        borrow: Option<D::Word>,
    ) {
        let domain = self.domain;
        let overflow = domain.xor(domain.slt(left, right), domain.sign(result));
        self.set_arithmetic_flags(left, right, result, borrow, overflow);
    }

    /// Flags of an addition or subtraction; the carry is kept if none is given.
    pub fn set_arithmetic_flags(
        &mut self,
        left: D::Word,
        right: D::Word,
        result: D::Word,
        carry: Option<D::Word>,
        overflow: D::Word,
    ) {
        let nibble = auxiliary(self.domain, left, right, result);
        let others =
            [(Flag::Auxiliary, FlagUpdate::Set(nibble)), (Flag::Overflow, FlagUpdate::Set(overflow))];
        self.set_result_flags(result, &others);
        if let Some(carry) = carry {
            self.set_flags(&[(Flag::Carry, FlagUpdate::Set(carry))]);
        }
    }

    /// The bit that a condition code asks for. Codes come in pairs: the second is the first inverted.
    pub fn condition(&self, code: ConditionCode) -> D::Word {
        use ConditionCode as Code;
        let domain = self.domain;
        let less = || domain.xor(self.flag(Flag::Sign), self.flag(Flag::Overflow));
        match code {
            Code::o => self.flag(Flag::Overflow),
            Code::b => self.flag(Flag::Carry),
            Code::e => self.flag(Flag::Zero),
            Code::be => domain.or(self.flag(Flag::Carry), self.flag(Flag::Zero)),
            Code::s => self.flag(Flag::Sign),
            Code::p => self.flag(Flag::Parity),
            Code::l => less(),
            Code::le => domain.or(less(), self.flag(Flag::Zero)),
            Code::no => domain.not(self.condition(Code::o)),
            Code::ae => domain.not(self.condition(Code::b)),
            Code::ne => domain.not(self.condition(Code::e)),
            Code::a => domain.not(self.condition(Code::be)),
            Code::ns => domain.not(self.condition(Code::s)),
            Code::np => domain.not(self.condition(Code::p)),
            Code::ge => domain.not(self.condition(Code::l)),
            Code::g => domain.not(self.condition(Code::le)),
            Code::None => domain.bit(true),
        }
    }
}
