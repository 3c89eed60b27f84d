//! Tables of `.debug_abbrev`: copied with a few abbreviations more.

use crate::error::{Error, Result};
use crate::relocation::{sleb, uleb};
use gimli::{DwAt, DwForm, DwTag, Reader};
use std::ops::Range;

/// Attributes of an abbreviation: name, form, and a constant if the form has it here.
pub type Specification = (DwAt, DwForm, Option<i64>);

/// The table of one unit, and what is added to it.
#[derive(Debug)]
pub struct Table {
    /// Where it is, without the final zero.
    pub range: Range<usize>,
    next_code: u64,
    added: Vec<(u64, Vec<u8>)>,
}

impl Table {
    /// The table at an offset.
    pub fn read(section: &[u8], offset: usize) -> Result<Table> {
        let broken = || Error::Dwarf("a table of abbreviations".into());
        let whole = gimli::EndianSlice::new(section.get(offset..).ok_or_else(broken)?, gimli::LittleEndian);
        let mut reader = whole;
        let mut last = 0;
        loop {
            let at = section.len() - reader.len();
            let code = reader.read_uleb128()?;
            if code == 0 {
                return Ok(Table { range: offset..at, next_code: last + 1, added: Vec::new() });
            }
            last = last.max(code);
            if last == u64::MAX {
                return Err(broken());
            }
            reader.read_uleb128()?;
            reader.read_u8()?;
            loop {
                let (name, form) = (reader.read_uleb128()?, reader.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    reader.read_sleb128()?;
                }
                if name == 0 && form == 0 {
                    break;
                }
            }
        }
    }

    /// The code of an abbreviation, which is added if no earlier addition is the same.
    pub fn code(&mut self, tag: DwTag, has_children: bool, attributes: &[Specification]) -> u64 {
        let mut bytes = Vec::new();
        uleb(&mut bytes, u64::from(tag.0));
        bytes.push(u8::from(has_children));
        for (name, form, constant) in attributes {
            uleb(&mut bytes, u64::from(name.0));
            uleb(&mut bytes, u64::from(form.0));
            if let (Some(constant), gimli::DW_FORM_implicit_const) = (constant, *form) {
                sleb(&mut bytes, *constant);
            }
        }
        bytes.extend([0, 0]);
        if let Some((code, _)) = self.added.iter().find(|(_, known)| *known == bytes) {
            return *code;
        }
        let code = self.next_code;
        self.next_code += 1;
        self.added.push((code, bytes));
        code
    }

    /// Whether anything was added.
    pub fn has_additions(&self) -> bool {
        !self.added.is_empty()
    }

    /// Writes this table with its additions, and says its offset. A table that ends the section grows; any other is
    /// copied to the end, so that no other unit's table moves.
    pub fn write(&self, section: &mut Vec<u8>) -> usize {
        let offset = if self.range.end + 1 == section.len() {
            section.truncate(self.range.end);
            self.range.start
        } else {
            let offset = section.len();
            section.extend_from_within(self.range.clone());
            offset
        };
        for (code, bytes) in &self.added {
            uleb(section, *code);
            section.extend(bytes);
        }
        section.push(0);
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additions_are_read_back_and_other_tables_stay() {
        // Two tables: code 1, subprogram without children, name as string; twice.
        let one = [1, 0x2e, 0, 0x03, 0x08, 0, 0, 0];
        let section = [one, one].concat();
        for (offset, expected) in [(0, section.len()), (one.len(), one.len())] {
            let mut table = Table::read(&section, offset).unwrap();
            let wanted = [(gimli::DW_AT_name, gimli::DW_FORM_implicit_const, Some(-7))];
            let code = table.code(gimli::DW_TAG_variable, true, &wanted);
            assert_eq!((code, table.code(gimli::DW_TAG_variable, true, &wanted)), (2, 2));
            let mut written = section.clone();
            let at = table.write(&mut written);
            assert_eq!(at, expected);
            let debug_abbrev = gimli::DebugAbbrev::new(&written, gimli::LittleEndian);
            let read = debug_abbrev.abbreviations(gimli::DebugAbbrevOffset(at)).unwrap();
            assert_eq!(read.get(1).unwrap().tag(), gimli::DW_TAG_subprogram);
            let added = read.get(2).unwrap();
            assert!(added.has_children());
            assert_eq!(added.attributes()[0].implicit_const_value(), Some(-7));
            assert!(debug_abbrev.abbreviations(gimli::DebugAbbrevOffset(0)).unwrap().get(1).is_some());
        }
    }
}
