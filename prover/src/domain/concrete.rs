//! The concrete domain: words are bit vectors, memory is one window of readable and writable bytes with
//! nothing around it. This is what the CPU judges.

use super::{Domain, Fault};
use crate::bits::Bits;
use crate::float::Function;
use std::cell::RefCell;

/// The bytes that exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Address of the first byte.
    pub start: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Concrete words and memory.
#[derive(Debug)]
pub struct Concrete {
    memory: RefCell<Window>,
}

impl Concrete {
    /// With that memory.
    pub fn new(window: Window) -> Concrete {
        Concrete { memory: RefCell::new(window) }
    }

    /// The memory as it is now.
    pub fn into_window(self) -> Window {
        self.memory.into_inner()
    }

    /// Where the bytes are in the window.
    fn find(&self, address: Bits, bytes: u32) -> Result<usize, Fault> {
        let address = address.value() as u64;
        if (((address << 16) as i64) >> 16) as u64 != address {
            return Err(Fault::GeneralProtection);
        }
        let window = self.memory.borrow();
        let offset = address.checked_sub(window.start).ok_or(Fault::Page)?;
        let end = offset.checked_add(u64::from(bytes)).ok_or(Fault::Page)?;
        if end <= window.bytes.len() as u64 { Ok(offset as usize) } else { Err(Fault::Page) }
    }
}

impl Domain for Concrete {
    type Word = Bits;

    fn constant(&self, width_bits: u32, value: u128) -> Bits {
        Bits::new(width_bits, value)
    }
    fn width_bits(&self, word: Bits) -> u32 {
        word.width_bits()
    }
    fn add(&self, left: Bits, right: Bits) -> Bits {
        left.add(right)
    }
    fn sub(&self, left: Bits, right: Bits) -> Bits {
        left.sub(right)
    }
    fn mul(&self, left: Bits, right: Bits) -> Bits {
        left.mul(right)
    }
    fn and(&self, left: Bits, right: Bits) -> Bits {
        left.and(right)
    }
    fn or(&self, left: Bits, right: Bits) -> Bits {
        left.or(right)
    }
    fn xor(&self, left: Bits, right: Bits) -> Bits {
        left.xor(right)
    }
    fn udiv(&self, left: Bits, right: Bits) -> Bits {
        left.udiv(right)
    }
    fn urem(&self, left: Bits, right: Bits) -> Bits {
        left.urem(right)
    }
    fn sdiv(&self, left: Bits, right: Bits) -> Bits {
        left.sdiv(right)
    }
    fn srem(&self, left: Bits, right: Bits) -> Bits {
        left.srem(right)
    }
    fn shl(&self, word: Bits, count: Bits) -> Bits {
        word.shl(count)
    }
    fn lshr(&self, word: Bits, count: Bits) -> Bits {
        word.lshr(count)
    }
    fn ashr(&self, word: Bits, count: Bits) -> Bits {
        word.ashr(count)
    }
    fn extract(&self, word: Bits, low_bit: u32, width_bits: u32) -> Bits {
        word.extract(low_bit, width_bits)
    }
    fn concat(&self, high: Bits, low: Bits) -> Bits {
        high.concat(low)
    }
    fn zero_extend(&self, word: Bits, width_bits: u32) -> Bits {
        word.zero_extend(width_bits)
    }
    fn sign_extend(&self, word: Bits, width_bits: u32) -> Bits {
        word.sign_extend(width_bits)
    }
    fn equals(&self, left: Bits, right: Bits) -> Bits {
        left.equals(right)
    }
    fn ult(&self, left: Bits, right: Bits) -> Bits {
        left.ult(right)
    }
    fn slt(&self, left: Bits, right: Bits) -> Bits {
        left.slt(right)
    }
    fn choose(&self, condition: Bits, then: Bits, otherwise: Bits) -> Bits {
        assert_eq!(then.width_bits(), otherwise.width_bits(), "both sides have one width");
        if condition.is_set() { then } else { otherwise }
    }

    fn float(&self, function: Function, operands: &[Bits]) -> Bits {
        let operands: Vec<u128> = operands.iter().map(|operand| operand.value()).collect();
        Bits::new(function.width_bits(), function.value(&operands))
    }

    fn unknown(&self, width_bits: u32) -> Bits {
        Bits::new(width_bits, 0)
    }

    fn load(&self, address: Bits, bytes: u32) -> Result<Bits, Fault> {
        let offset = self.find(address, bytes)?;
        let window = self.memory.borrow();
        let found = &window.bytes[offset..offset + bytes as usize];
        Ok(Bits::new(8 * bytes, found.iter().rev().fold(0, |value, byte| (value << 8) | u128::from(*byte))))
    }

    fn store(&self, address: Bits, value: Bits) -> Result<(), Fault> {
        let bytes = value.width_bits() / 8;
        let offset = self.find(address, bytes)?;
        let mut window = self.memory.borrow_mut();
        window.bytes[offset..offset + bytes as usize]
            .copy_from_slice(&value.value().to_le_bytes()[..bytes as usize]);
        Ok(())
    }

    fn require(&self, condition: Bits, otherwise: Fault) -> Result<(), Fault> {
        if condition.is_set() { Ok(()) } else { Err(otherwise) }
    }
}
