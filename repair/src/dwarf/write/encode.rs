//! Lists as bytes, with the relocations that a relocatable file needs in them.

use super::{List, Writer};
use crate::elf::Machine;
use crate::error::{Error, Result, unsupported};
use crate::expression::{Encoded, FieldSymbol};
use crate::relocation::{Relocation, Symbol, by_name, uleb};
use std::ops::Range;

/// Bytes, and relocations that count from their start.
pub(super) type Written = (Vec<u8>, Vec<Relocation>);

/// How version 5 says that a base address follows.
#[derive(Clone, Copy)]
struct BaseCode(u8);

impl Writer<'_> {
    /// A list of locations, for a unit with a base.
    pub(super) fn encode_locations(&self, version: u16, mut base: u64, list: &List) -> Result<Written> {
        let mut out = Written::default();
        for (range, encoded) in list {
            let code = BaseCode(gimli::DW_LLE_base_address.0);
            base = self.add_pair(version, &mut out, (base, code), gimli::DW_LLE_offset_pair.0, range)?;
            let length = encoded.bytes.len();
            if version >= 5 {
                uleb(&mut out.0, length as u64);
            } else {
                let Ok(length) = u16::try_from(length) else { return unsupported("so long an expression") };
                out.0.extend(length.to_le_bytes());
            }
            self.add_expression(&mut out, encoded)?;
        }
        self.add_end(version, &mut out);
        Ok(out)
    }

    /// A list of ranges, for a unit with a base.
    pub(super) fn encode_ranges(
        &self,
        version: u16,
        mut base: u64,
        ranges: &[Range<u64>],
    ) -> Result<Written> {
        let mut out = Written::default();
        for range in ranges {
            // What has nothing in it might be the end of the list.
            if version < 5 && range.is_empty() {
                continue;
            }
            // lldb 19 does not follow other bases in `.debug_ranges`. Without one of its own a unit says addresses.
            if version < 5 && base == 0 && self.elf.relocatable {
                self.add_address(&mut out, range.start)?;
                self.add_address(&mut out, range.end)?;
                continue;
            }
            let code = BaseCode(gimli::DW_RLE_base_address.0);
            base = self.add_pair(version, &mut out, (base, code), gimli::DW_RLE_offset_pair.0, range)?;
        }
        self.add_end(version, &mut out);
        Ok(out)
    }

    /// A range, counted from a base, after another base if it cannot be: that base.
    fn add_pair(
        &self,
        version: u16,
        out: &mut Written,
        (mut base, code): (u64, BaseCode),
        pair: u8,
        range: &Range<u64>,
    ) -> Result<u64> {
        if !self.counts_from(base, range) {
            base = self.add_base(version, out, code, range.start)?;
        }
        let (begin, end) = (range.start - base, range.end - base);
        if version >= 5 {
            out.0.push(pair);
            uleb(&mut out.0, begin);
            uleb(&mut out.0, end);
        } else {
            let bytes = usize::from(self.machine().address_bytes());
            out.0.extend(&begin.to_le_bytes()[..bytes]);
            out.0.extend(&end.to_le_bytes()[..bytes]);
        }
        Ok(base)
    }

    fn add_end(&self, version: u16, out: &mut Written) {
        let end = if version >= 5 { 1 } else { 2 * usize::from(self.machine().address_bytes()) };
        out.0.resize(out.0.len() + end, 0);
    }

    /// Whether a range can be said from a base: it lies after it, in the same section.
    fn counts_from(&self, base: u64, range: &Range<u64>) -> bool {
        let section = |address: u64| match (self.elf.relocatable, self.elf.machine) {
            (false, _) => 1,
            (true, Machine::X86_64) => address >> 40,
            (true, Machine::I386) => address >> 20,
        };
        // What is in no section does not move with the code.
        section(base) != 0 && section(base) == section(range.start) && base <= range.start
    }

    fn add_base(&self, version: u16, out: &mut Written, code: BaseCode, address: u64) -> Result<u64> {
        if version >= 5 {
            out.0.push(code.0);
        } else {
            out.0.extend(vec![0xff; usize::from(self.machine().address_bytes())]);
        }
        self.add_address(out, address)?;
        Ok(address)
    }

    fn add_address(&self, out: &mut Written, address: u64) -> Result<()> {
        let bytes = usize::from(self.machine().address_bytes());
        let field = out.0.len();
        if !self.elf.relocatable {
            out.0.extend(&address.to_le_bytes()[..bytes]);
            return Ok(());
        }
        out.0.resize(field + bytes, 0);
        let (symbol, addend) = self.address(address)?;
        out.1.push(Relocation { offset: field as u64, kind: self.machine().absolute(), symbol, addend });
        Ok(())
    }

    /// An address of a relocatable file as it is read: a symbol and what is added to it.
    pub(super) fn address(&self, address: u64) -> Result<(u32, i64)> {
        let (section, offset) = match self.machine() {
            Machine::X86_64 => (address >> 40, address & ((1 << 40) - 1)),
            Machine::I386 => (address >> 20, address & ((1 << 20) - 1)),
        };
        let of_section = |symbol: &(usize, &Symbol)| u64::from(symbol.1.section) == section;
        let mut known = self.symbols.iter().enumerate().filter(of_section);
        let symbol = known
            .clone()
            .find(|symbol| symbol.1.is_section())
            .or_else(|| known.find(|symbol| symbol.1.is_function()));
        let Some((symbol, known)) = symbol else { return unsupported("a section of code without a symbol") };
        Ok((symbol as u32, offset.wrapping_sub(known.value) as i64))
    }

    fn add_expression(&self, out: &mut Written, encoded: &Encoded) -> Result<()> {
        let bytes = usize::from(self.machine().address_bytes());
        let at = out.0.len();
        out.0.extend(&encoded.bytes);
        for field in &encoded.fields {
            let symbol = match &field.symbol {
                FieldSymbol::Number(symbol) => self.renumbered(*symbol),
                FieldSymbol::Name(name) => *by_name(&self.symbols).get(name.as_str()).ok_or_else(|| {
                    Error::Unsupported(format!("the address of `{name}`, which has no symbol"))
                })?,
            };
            let offset = at + field.offset;
            if self.elf.relocatable {
                let (offset, kind, addend) = (offset as u64, field.kind, field.addend);
                out.1.push(Relocation { offset, kind, symbol, addend });
            } else {
                let value = self.symbols[symbol as usize].value.wrapping_add(field.addend as u64);
                out.0[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        Ok(())
    }
}
