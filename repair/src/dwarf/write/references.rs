//! What refers to entries and lists, after some of them have moved.
//!
//! A relocatable file says which fields are offsets into another section: its relocations. In a linked one nothing does,
//! so that all entries of all units are looked at, and all their expressions. The types that an expression names are
//! offsets in its unit in any file; their numbers keep their length (clang leaves room), or the file is refused.

use super::super::read::{Debug, Sections, UnitInfo};
use super::super::scopes;
use super::super::splice::Splices;
use super::super::unit::Bytes;
use super::lists::{Lists, list_offset, section_name};
use super::{Change, Says, patch};
use crate::error::{Error, Result, unsupported};
use gimli::{AttributeValue, LittleEndian, Operation, Reader, UnitOffset};
use std::collections::BTreeMap;

/// Fields in sections of lists, by offset in the input, and what they are now.
pub(super) type Fixes = BTreeMap<&'static str, Vec<(usize, Vec<u8>)>>;

/// References inside of a changed unit.
pub(super) fn inside(
    info: &UnitInfo,
    sections: &Sections,
    splices: &Splices,
    data: &mut [u8],
    fixes: &mut Fixes,
) -> Result<()> {
    let encoding = info.unit.encoding();
    let name = section_name(info.unit.header.version());
    let in_info = Bytes::new(sections.section(".debug_info"), LittleEndian);
    let in_lists = Bytes::new(sections.section(name), LittleEndian);
    let start = splices.map(info.offset);
    let moved = |offset: usize| -> Result<usize> {
        let old = info.offset.checked_add(offset).ok_or_else(|| Error::Dwarf("a reference".into()))?;
        Ok(splices.map(old).wrapping_sub(start))
    };
    for attribute in info.entries.iter().flat_map(|entry| &entry.attributes) {
        if splices.replaces(attribute.range().start) && !attribute.range().is_empty() {
            continue;
        }
        match (attribute.raw(), attribute.form) {
            (AttributeValue::UnitRef(UnitOffset(old)), form) => {
                let new = moved(old)?;
                if new == old {
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
                patch(data, splices.map(attribute.range().start), new as u64, bytes)?;
            }
            (AttributeValue::Exprloc(expression), _) => {
                each_type(&expression.0, encoding, |place, old, width| {
                    let field = number(moved(old)?, old, &place, width)?;
                    put(data, splices.map(place.offset_from(in_info)), &field)
                })?;
            }
            _ => {}
        }
        if let Some(offset) = list_offset(info, sections, attribute.value())? {
            each_expression(sections, offset, encoding, |expression| {
                each_type(&expression, encoding, |place, old, width| {
                    let new = moved(old)?;
                    if new != old {
                        let field = number(new, old, &place, width)?;
                        fixes.entry(name).or_default().push((place.offset_from(in_lists), field));
                    }
                    Ok(())
                })
            })?;
        }
    }
    Ok(())
}

/// Refuses a new list that refers to an entry which moves.
pub(super) fn check_new(info: &UnitInfo, change: &Change, splices: &Splices) -> Result<()> {
    let encoding = info.unit.encoding();
    let start = splices.map(info.offset);
    let stays = |stays: bool| match stays {
        true => Ok(()),
        false => unsupported("an expression that refers to an entry after a changed one"),
    };
    let Says::Locations(list) = &change.says else { return Ok(()) };
    for (_, encoded) in list {
        let expression = Bytes::new(&encoded.bytes, LittleEndian);
        each_type(&expression, encoding, |_, old, _| {
            stays(splices.map(info.offset.saturating_add(old)).wrapping_sub(start) == old)
        })?;
        each_entry(&expression, encoding, |_, offset| stays(splices.map(offset) == offset))?;
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
    fixes: &mut Fixes,
) -> Result<()> {
    let moved: BTreeMap<&str, Splices> = lists.iter().map(|lists| (lists.name, lists.splices())).collect();
    let mut headers = debug.dwarf.units();
    while let Some(header) = headers.next()? {
        let Some(gimli::DebugInfoOffset(start)) = header.debug_info_offset() else { continue };
        let unit = debug.dwarf.unit(header)?;
        let (encoding, name) = (unit.encoding(), section_name(unit.header.version()));
        let shift_in = |name: &str, offset: usize| moved.get(name).map_or(offset, |moved| moved.map(offset));
        let shift = |offset: usize| shift_in(name, offset);
        let ranges = scopes::section_name(unit.header.version());
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
                    AttributeValue::RangeListsRef(gimli::RawRangeListsOffset(offset)) => {
                        field(data, shift_in(ranges, offset))?;
                        continue;
                    }
                    AttributeValue::DebugRngListsBase(base) => {
                        field(data, shift_in(ranges, base.0))?;
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
                            let field = (new as u32).to_le_bytes().to_vec();
                            fixes.entry(name).or_default().push((place.offset_from(whole), field));
                        }
                        Ok(())
                    })
                })?;
            }
        }
    }
    Ok(())
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

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Uleb,
    Bytes(usize),
}

/// Calls `found` for each entry of its own unit that an expression names, types most of all: where the number is, and
/// what. 0 is no type.
fn each_type<'s>(
    expression: &Bytes<'s>,
    encoding: gimli::Encoding,
    mut found: impl FnMut(Bytes<'s>, usize, Width) -> Result<()>,
) -> Result<()> {
    let mut open = vec![*expression];
    while let Some(mut reader) = open.pop() {
        while !reader.is_empty() {
            let mut place = reader;
            let operation = Operation::parse(&mut reader, encoding)?;
            let length = place.len() - reader.len();
            let (offset, before, width) = match operation {
                Operation::TypedLiteral { base_type, .. }
                | Operation::Convert { base_type }
                | Operation::Reinterpret { base_type } => (base_type, 1, Width::Uleb),
                // A size before it.
                Operation::Deref { base_type, .. } => (base_type, 2, Width::Uleb),
                Operation::RegisterOffset { base_type, .. } if base_type.0 != 0 => {
                    let mut register = place;
                    register.skip(1)?;
                    register.read_uleb128()?;
                    (base_type, place.len() - register.len(), Width::Uleb)
                }
                Operation::Call { offset: gimli::DieReference::UnitRef(offset) }
                | Operation::ParameterRef { offset } => (offset, 1, Width::Bytes(length - 1)),
                Operation::EntryValue { expression } => {
                    open.push(expression);
                    continue;
                }
                _ => continue,
            };
            if offset.0 != 0 {
                place.skip(before)?;
                found(place, offset.0, width)?;
            }
        }
    }
    Ok(())
}

/// A new number in as many bytes as the old one has at a place.
fn number(new: usize, old: usize, place: &Bytes, width: Width) -> Result<Vec<u8>> {
    if let Width::Bytes(bytes) = width {
        if bytes < 8 && new >> (8 * bytes) != 0 {
            return unsupported("a reference that grows");
        }
        return Ok(new.to_le_bytes()[..bytes].to_vec());
    }
    let mut after = *place;
    let bytes = match after.read_uleb128() {
        Ok(read) if read == old as u64 => place.len() - after.len(),
        _ => return Err(Error::Dwarf("a type in an expression".into())),
    };
    if bytes < 9 && new >> (7 * bytes) != 0 {
        return unsupported("an expression whose type moves too far");
    }
    Ok((0..bytes)
        .map(|byte| (new >> (7 * byte) & 0x7f) as u8 | if byte + 1 < bytes { 0x80 } else { 0 })
        .collect())
}

fn put(data: &mut [u8], at: usize, field: &[u8]) -> Result<()> {
    let place = data.get_mut(at..).and_then(|rest| rest.get_mut(..field.len()));
    place.ok_or_else(|| Error::Dwarf("a field outside of its section".into()))?.copy_from_slice(field);
    Ok(())
}

/// Puts fields of one section into its bytes; `map` says where an offset is now, if it is still there.
pub(super) fn apply(
    fixes: &[(usize, Vec<u8>)],
    data: &mut [u8],
    map: impl Fn(usize) -> Option<usize>,
) -> Result<()> {
    fixes.iter().try_for_each(|(at, field)| map(*at).map_or(Ok(()), |at| put(data, at, field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_length() {
        let padded = [0x85, 0x80, 0x80, 0x00, 0x9f];
        let place = Bytes::new(&padded, LittleEndian);
        assert_eq!(number(0x1234, 5, &place, Width::Uleb).unwrap(), [0xb4, 0xa4, 0x80, 0x00]);
        assert!(number(1 << 28, 5, &place, Width::Uleb).is_err());
        assert!(number(6, 7, &place, Width::Uleb).is_err(), "not what was read");
    }

    #[test]
    fn types_and_calls_are_found_behind_registers_and_sizes() {
        let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
        // regval_type rax, 0x21; deref_type 4, 0x22; convert 0x23; convert to the generic type; call4 0x24; stack_value
        let bytes = [0xa5, 0x00, 0x21, 0xa6, 0x04, 0x22, 0xa8, 0x23, 0xa8, 0x00, 0x99, 0x24, 0, 0, 0, 0x9f];
        let whole = Bytes::new(&bytes, LittleEndian);
        let mut found = Vec::new();
        each_type(&whole, encoding, |place, offset, width| {
            found.push((place.offset_from(whole), offset, width));
            Ok(())
        })
        .unwrap();
        let typed = [(2, 0x21), (5, 0x22), (7, 0x23)].map(|(at, offset)| (at, offset, Width::Uleb));
        assert_eq!(found, [&typed[..], &[(11, 0x24, Width::Bytes(4))]].concat());
    }
}
