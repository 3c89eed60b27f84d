//! Other sections that refer to `.debug_info` by offset.

use super::super::splice::Splices;
use super::{Writer, patch};
use crate::error::{Result, unsupported};
use crate::relocation::{Symbol, relocation_section, relocations, set_relocations};

/// Indexes of the debug information: they would be out of date.
const INDEXES: [&str; 6] = [
    ".debug_names",
    ".gdb_index",
    ".debug_pubnames",
    ".debug_pubtypes",
    ".debug_gnu_pubnames",
    ".debug_gnu_pubtypes",
];

impl Writer<'_> {
    /// Other sections that refer to `.debug_info` by offset.
    pub(super) fn followers(&mut self, number: usize, splices: &Splices) -> Result<()> {
        for name in INDEXES {
            if self.elf.find(name).is_some() {
                return unsupported(format!(
                    "{name}: an index of the debug information would be out of date"
                ));
            }
        }
        if !self.elf.relocatable {
            return self.linked_followers(splices);
        }
        let known = &self.symbols;
        let inside = |symbol: &Symbol| usize::from(symbol.section) == number && !symbol.is_section();
        if known
            .iter()
            .any(|symbol| inside(symbol) && splices.map(symbol.value as usize) as u64 != symbol.value)
        {
            return unsupported("symbols inside of .debug_info");
        }
        let of_info: Vec<bool> =
            known.iter().map(|symbol| symbol.is_section() && usize::from(symbol.section) == number).collect();
        for section in 1..self.elf.sections.len() {
            if relocation_section(&self.elf, section).is_none() || self.elf.sections[section].is_allocated() {
                continue;
            }
            let mut list = relocations(&self.elf, section)?;
            let mut any = false;
            for relocation in &mut list {
                if of_info.get(relocation.symbol as usize) == Some(&true) {
                    let new = splices.map(relocation.addend as usize) as i64;
                    any |= new != relocation.addend;
                    relocation.addend = new;
                }
            }
            if any {
                set_relocations(&mut self.elf, section, list)?;
            }
        }
        Ok(())
    }

    /// In a linked file: the offsets of units in `.debug_aranges`.
    fn linked_followers(&mut self, splices: &Splices) -> Result<()> {
        let Some(number) = self.elf.find(".debug_aranges") else { return Ok(()) };
        let mut data = self.elf.sections[number].data.to_vec();
        let mut at = 0usize;
        while at + 12 <= data.len() {
            let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"));
            let (length, unit) = (word(at) as usize, word(at + 6) as usize);
            if length >= 0xffff_fff0 {
                return unsupported("64-bit DWARF");
            }
            patch(&mut data, at + 6, splices.map(unit) as u64, 4)?;
            at = at.saturating_add(4).saturating_add(length);
        }
        self.elf.sections[number].replace(data);
        Ok(())
    }
}
