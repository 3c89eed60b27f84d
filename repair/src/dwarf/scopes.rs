//! The blocks of a function: where a debugger looks at the variables that are declared in them.

use super::read::Debug;
use super::unit::{Bytes, Entry};
use crate::error::Result;
use gimli::{AttributeValue, DwTag, LittleEndian, Reader};
use std::collections::HashMap;
use std::ops::Range;

/// A function, or a block or an inlined function in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Number of its entry in the unit.
    pub entry: usize,
    /// Number of the scope that it is in, among those of the function.
    pub parent: Option<usize>,
    /// What it is.
    pub tag: DwTag,
    /// Pcs of the proof; nothing if it says none, and then it is all of what it is in.
    pub ranges: Option<Vec<Range<u64>>>,
    /// Whether it says them as one range, by its ends.
    pub has_ends: bool,
    /// The bytes of its list of ranges, if they are known and no other entry of the unit refers to them.
    pub list: Option<Range<usize>>,
}

impl Scope {
    /// Whether a scope is a block of the function itself.
    pub fn is_block(&self) -> bool {
        self.tag == gimli::DW_TAG_lexical_block
    }
}

/// The innermost scope around something in a scope that says where it is: a debugger takes a block that says nothing
/// for a part of what it is in.
pub fn told(scopes: &[Scope], mut number: usize) -> usize {
    while scopes[number].ranges.is_none()
        && let Some(parent) = scopes[number].parent
    {
        number = parent;
    }
    number
}

/// Which lists of ranges the entries of a unit refer to.
#[derive(Debug, Default)]
pub struct RangeUses {
    /// How often, by offset.
    users: HashMap<usize, usize>,
    /// The first offset.
    pub(crate) first: Option<usize>,
}

/// The section of ranges for a version of DWARF.
pub(crate) fn section_name(version: u16) -> &'static str {
    if version >= 5 { ".debug_rnglists" } else { ".debug_ranges" }
}

impl<'a> Debug<'a> {
    /// The lists of ranges of a unit.
    pub(crate) fn range_uses(
        &self,
        unit: &gimli::Unit<Bytes<'a>>,
        entries: &[Entry<'a>],
    ) -> Result<RangeUses> {
        let mut uses = RangeUses::default();
        for entry in entries {
            let Some(attribute) = entry.attribute(gimli::DW_AT_ranges) else { continue };
            let Some(offset) = self.dwarf.attr_ranges_offset(unit, attribute.value())? else { continue };
            *uses.users.entry(offset.0).or_default() += 1;
            uses.first = uses.first.or(Some(offset.0));
        }
        Ok(uses)
    }

    /// A function and all scopes in it, it first, each after the one that it is in.
    pub(crate) fn scopes(
        &self,
        unit: &gimli::Unit<Bytes<'a>>,
        (entries, uses): (&[Entry<'a>], &RangeUses),
        function: usize,
        base: u64,
    ) -> Result<Vec<Scope>> {
        let mut found: Vec<Scope> = Vec::new();
        let mut numbers = HashMap::new();
        for (number, entry) in entries.iter().enumerate().skip(function) {
            let parent = match number == function {
                true => None,
                false => match entry.parent() {
                    Some(above) if above >= function => numbers.get(&above).copied(),
                    // Entries of a function lie together.
                    _ => break,
                },
            };
            let ranges = match number == function || is_code(entry.tag) {
                true => self.ranges(unit, entry, base)?,
                // What is below a type or a call is no code of its own, but something below may be.
                false => {
                    if let (true, Some(parent)) = (entry.has_children, parent) {
                        numbers.insert(number, parent);
                    }
                    continue;
                }
            };
            numbers.insert(number, found.len());
            found.push(Scope {
                entry: number,
                parent,
                tag: entry.tag,
                ranges,
                has_ends: entry.attribute(gimli::DW_AT_ranges).is_none(),
                list: self.range_bytes(unit, uses, entry)?,
            });
        }
        Ok(found)
    }

    /// Ranges of a block or function as pcs of the proof; nothing if it says none.
    fn ranges(
        &self,
        unit: &gimli::Unit<Bytes<'a>>,
        entry: &Entry<'a>,
        base: u64,
    ) -> Result<Option<Vec<Range<u64>>>> {
        if let Some(attribute) = entry.attribute(gimli::DW_AT_ranges) {
            let Some(mut ranges) = self.dwarf.attr_ranges(unit, attribute.value())? else { return Ok(None) };
            let mut found = Vec::new();
            while let Some(range) = ranges.next()? {
                found.push(range.begin.wrapping_sub(base)..range.end.wrapping_sub(base));
            }
            return Ok(Some(found));
        }
        let Some(low) = self.low_pc(unit, entry) else { return Ok(None) };
        let high = match entry.attribute(gimli::DW_AT_high_pc).map(|attribute| attribute.value()) {
            Some(value) => match self.dwarf.attr_address(unit, value)? {
                Some(high) => high,
                None => low.wrapping_add(value.udata_value().unwrap_or(0)),
            },
            None => return Ok(None),
        };
        let range = low.wrapping_sub(base)..high.wrapping_sub(base);
        Ok(Some(Vec::from([range])))
    }

    /// Where the list of ranges of an entry is in its section.
    fn range_bytes(
        &self,
        unit: &gimli::Unit<Bytes<'a>>,
        uses: &RangeUses,
        entry: &Entry<'a>,
    ) -> Result<Option<Range<usize>>> {
        let value: Option<AttributeValue<Bytes>> =
            entry.attribute(gimli::DW_AT_ranges).map(|attribute| attribute.value());
        let Some(value) = value else { return Ok(None) };
        let Some(start) = self.dwarf.attr_ranges_offset(unit, value)? else { return Ok(None) };
        if uses.users.get(&start.0) != Some(&1) {
            return Ok(None);
        }
        let version = unit.header.version();
        let section = self.section(section_name(version));
        Ok(list_end(section, start.0, version, usize::from(unit.header.address_size()))
            .map(|end| start.0..end))
    }
}

/// Entries that say where code is.
fn is_code(tag: DwTag) -> bool {
    [
        gimli::DW_TAG_lexical_block,
        gimli::DW_TAG_inlined_subroutine,
        gimli::DW_TAG_subprogram,
        gimli::DW_TAG_try_block,
        gimli::DW_TAG_catch_block,
        gimli::DW_TAG_with_stmt,
    ]
    .contains(&tag)
}

/// Where a list of ranges ends, its end marker included.
fn list_end(section: &[u8], start: usize, version: u16, address_bytes: usize) -> Option<usize> {
    let mut reader = Bytes::new(section.get(start..)?, LittleEndian);
    let address = |reader: &mut Bytes| reader.read_address(address_bytes as u8).ok();
    loop {
        if version < 5 {
            if (address(&mut reader)?, address(&mut reader)?) == (0, 0) {
                break;
            }
            continue;
        }
        match gimli::DwRle(reader.read_u8().ok()?) {
            gimli::DW_RLE_end_of_list => break,
            gimli::DW_RLE_base_addressx => {
                reader.read_uleb128().ok()?;
            }
            gimli::DW_RLE_startx_endx | gimli::DW_RLE_startx_length | gimli::DW_RLE_offset_pair => {
                reader.read_uleb128().ok()?;
                reader.read_uleb128().ok()?;
            }
            gimli::DW_RLE_base_address => {
                address(&mut reader)?;
            }
            gimli::DW_RLE_start_end => {
                address(&mut reader)?;
                address(&mut reader)?;
            }
            gimli::DW_RLE_start_length => {
                address(&mut reader)?;
                reader.read_uleb128().ok()?;
            }
            _ => return None,
        }
    }
    Some(section.len() - reader.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_after_their_marker() {
        let five = [
            4, 0, 0x80, 1, // offset pair
            1, 3, // base by number
            5, 1, 0, 0, 0, // base
            6, 1, 0, 0, 0, 2, 0, 0, 0, // start and end
            7, 1, 0, 0, 0, 9, // start and length
            2, 1, 2, 3, 1, 2, // numbers
            0, 9,
        ];
        assert_eq!(list_end(&five, 0, 5, 4), Some(five.len() - 1));
        assert_eq!(list_end(&five[..five.len() - 2], 0, 5, 4), None, "no marker");
        assert_eq!(list_end(&[8, 0], 0, 5, 4), None, "nobody knows what 8 is");
        let four = [[1, 0, 0, 0], [2, 0, 0, 0], [0; 4], [0; 4], [7; 4]].concat();
        assert_eq!(list_end(&four, 0, 4, 4), Some(16));
        assert_eq!(list_end(&four[..12], 0, 4, 4), None);
        assert_eq!(list_end(&four, 99, 4, 4), None);
    }
}
