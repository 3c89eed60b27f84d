//! What refers to entries and lists, after some of them have moved.
//!
//! A relocatable file says which fields are offsets into another section: its relocations. In a linked one nothing does,
//! so that all entries of all units are looked at, and all their expressions. Numbers of variable length, by which an
//! expression names a type of its own unit, are not written again: if that type moves, the file is refused.

use super::super::read::{Debug, Sections, UnitInfo};
use super::super::splice::Splices;
use super::super::unit::Bytes;
use super::lists::{Lists, list_offset, section_name};
use super::{Change, patch};
use crate::error::{Error, Result, unsupported};
use gimli::{AttributeValue, LittleEndian, Operation, Reader, UnitOffset};
use std::collections::BTreeMap;

/// Fields of four bytes in sections of lists, by offset in the input, and what they are now.
pub(super) type Fixes = BTreeMap<&'static str, Vec<(usize, u64)>>;

/// References inside of a changed unit.
pub(super) fn inside(info: &UnitInfo, sections: &Sections, splices: &Splices, data: &mut [u8]) -> Result<()> {
    let start = splices.map(info.offset);
    let moved = |offset: usize| -> Result<usize> {
        let old = info.offset.checked_add(offset).ok_or_else(|| Error::Dwarf("a reference".into()))?;
        Ok(splices.map(old).wrapping_sub(start))
    };
    let check = |expression: &Bytes| types_stay(info.offset, info.unit.encoding(), expression, splices);
    for attribute in info.entries.iter().flat_map(|entry| &entry.attributes) {
        if splices.replaces(attribute.range.start) && !attribute.range.is_empty() {
            continue;
        }
        match (&attribute.raw, attribute.form) {
            (AttributeValue::UnitRef(UnitOffset(old)), form) => {
                let new = moved(*old)?;
                if new == *old {
                    continue;
                }
                let bytes = match form {
                    gimli::DW_FORM_ref1 => 1,
                    gimli::DW_FORM_ref2 => 2,
                    gimli::DW_FORM_ref4 => 4,
                    gimli::DW_FORM_ref8 => 8,
                    _ => return unsupported("references of variable length after a change"),
                };
                if bytes < 8 && new >> (8 * bytes) != 0 {
                    return unsupported("a reference that grows");
                }
                patch(data, splices.map(attribute.range.start), new as u64, bytes)?;
            }
            (AttributeValue::Exprloc(expression), _) => check(&expression.0)?,
            _ => {}
        }
        if let Some(offset) = list_offset(info, sections, attribute.value)? {
            each_expression(sections, offset, info.unit.encoding(), |expression| check(&expression))?;
        }
    }
    Ok(())
}

/// Refuses a new list that refers to an entry which moves.
pub(super) fn check_new(info: &UnitInfo, change: &Change, splices: &Splices) -> Result<()> {
    for (_, encoded) in &change.list {
        let expression = Bytes::new(&encoded.bytes, LittleEndian);
        types_stay(info.offset, info.unit.encoding(), &expression, splices)?;
        each_entry(&expression, info.unit.encoding(), |_, offset| {
            if splices.map(offset) == offset {
                Ok(())
            } else {
                unsupported("an expression that refers to an entry after a changed one")
            }
        })?;
    }
    Ok(())
}

/// In a linked file: all that refers to entries of other units, and to lists.
pub(super) fn relink(
    debug: &Debug,
    sections: &Sections,
    splices: &Splices,
    lists: &[Lists],
    data: &mut [u8],
) -> Result<Fixes> {
    let moved: BTreeMap<&str, Splices> = lists.iter().map(|lists| (lists.name(), lists.splices())).collect();
    let mut fixes = Fixes::new();
    let mut headers = debug.dwarf.units();
    while let Some(header) = headers.next()? {
        let Some(gimli::DebugInfoOffset(start)) = header.debug_info_offset() else { continue };
        let unit = debug.dwarf.unit(header)?;
        let (encoding, name) = (unit.encoding(), section_name(unit.header.version()));
        let shift = |offset: usize| moved.get(name).map_or(offset, |moved| moved.map(offset));
        let mut raw = unit.entries_raw(None)?;
        while !raw.is_empty() {
            let Some(abbreviation) = raw.read_abbreviation()? else { continue };
            for specification in abbreviation.attributes() {
                let at = start + raw.next_offset().0;
                let attribute = raw.read_attribute(*specification)?;
                let field = |data: &mut [u8], value: usize| match splices.replaces(at) {
                    true => Ok(()),
                    false => patch(data, splices.map(at), value as u64, 4),
                };
                match attribute.raw_value() {
                    AttributeValue::DebugInfoRef(gimli::DebugInfoOffset(offset)) => {
                        field(data, splices.map(offset))?;
                        continue;
                    }
                    AttributeValue::Exprloc(expression) if !splices.replaces(at) => {
                        let whole = Bytes::new(sections.section(".debug_info"), LittleEndian);
                        each_entry(&expression.0, encoding, |place, offset| {
                            patch(data, splices.map(place.offset_from(whole)), splices.map(offset) as u64, 4)
                        })?;
                        continue;
                    }
                    AttributeValue::SecOffset(offset) if attribute.name() == gimli::DW_AT_GNU_locviews => {
                        field(data, shift(offset))?;
                        continue;
                    }
                    _ => {}
                }
                let list = match attribute.value() {
                    AttributeValue::LocationListsRef(offset) => {
                        field(data, shift(offset.0))?;
                        offset
                    }
                    AttributeValue::DebugLocListsBase(base) => {
                        field(data, shift(base.0))?;
                        continue;
                    }
                    AttributeValue::DebugLocListsIndex(index) => {
                        debug.dwarf.locations_offset(&unit, index)?
                    }
                    _ => continue,
                };
                let whole = Bytes::new(sections.section(name), LittleEndian);
                each_expression(sections, list, encoding, |expression| {
                    each_entry(&expression, encoding, |place, offset| {
                        let new = splices.map(offset);
                        if new != offset {
                            fixes.entry(name).or_default().push((place.offset_from(whole), new as u64));
                        }
                        Ok(())
                    })
                })?;
            }
        }
    }
    Ok(fixes)
}

/// Calls `check` for each expression of a list.
fn each_expression<'s>(
    sections: &'s Sections,
    offset: gimli::LocationListsOffset,
    encoding: gimli::Encoding,
    mut check: impl FnMut(Bytes<'s>) -> Result<()>,
) -> Result<()> {
    let lists = gimli::LocationLists::new(
        gimli::DebugLoc::new(sections.section(".debug_loc"), LittleEndian),
        gimli::DebugLocLists::new(sections.section(".debug_loclists"), LittleEndian),
    );
    let mut entries = lists.raw_locations(offset, encoding)?;
    while let Some(entry) = entries.next()? {
        use gimli::RawLocListEntry as Raw;
        match entry {
            Raw::AddressOrOffsetPair { data, .. }
            | Raw::StartxEndx { data, .. }
            | Raw::StartxLength { data, .. }
            | Raw::OffsetPair { data, .. }
            | Raw::DefaultLocation { data }
            | Raw::StartEnd { data, .. }
            | Raw::StartLength { data, .. } => check(data.0)?,
            Raw::BaseAddress { .. } | Raw::BaseAddressx { .. } => {}
        }
    }
    Ok(())
}

/// Calls `found` for each field of an expression that is an offset in `.debug_info`: where it is, and what.
fn each_entry<'s>(
    expression: &Bytes<'s>,
    encoding: gimli::Encoding,
    mut found: impl FnMut(Bytes<'s>, usize) -> Result<()>,
) -> Result<()> {
    // Most expressions are one register.
    let mut open = vec![*expression];
    while let Some(mut reader) = open.pop() {
        while !reader.is_empty() {
            let mut place = reader;
            let operation = Operation::parse(&mut reader, encoding)?;
            match operation {
                Operation::ImplicitPointer { value: gimli::DebugInfoOffset(offset), .. }
                | Operation::Call {
                    offset: gimli::DieReference::DebugInfoRef(gimli::DebugInfoOffset(offset)),
                } => {
                    place.skip(1)?;
                    found(place, offset)?;
                }
                Operation::EntryValue { expression } => open.push(expression),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Refuses an expression that names a type of its own unit which moves.
fn types_stay(
    unit_offset: usize,
    encoding: gimli::Encoding,
    expression: &Bytes,
    splices: &Splices,
) -> Result<()> {
    let start = splices.map(unit_offset);
    let mut open = vec![*expression];
    while let Some(mut reader) = open.pop() {
        while !reader.is_empty() {
            let in_unit = match Operation::parse(&mut reader, encoding)? {
                Operation::Call { offset: gimli::DieReference::UnitRef(offset) } => offset,
                Operation::TypedLiteral { base_type, .. }
                | Operation::Convert { base_type }
                | Operation::Reinterpret { base_type }
                | Operation::RegisterOffset { base_type, .. }
                | Operation::Deref { base_type, .. } => base_type,
                Operation::ParameterRef { offset } => offset,
                Operation::EntryValue { expression } => {
                    open.push(expression);
                    continue;
                }
                _ => continue,
            };
            let old = unit_offset.saturating_add(in_unit.0);
            if in_unit.0 != 0 && splices.map(old).wrapping_sub(start) != in_unit.0 {
                return unsupported("an expression that refers to an entry after a changed one");
            }
        }
    }
    Ok(())
}
