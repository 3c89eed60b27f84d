//! From the DWARF of recompiled files to their [`CodeMap`].
//!
//! Done once per library, when it has been compiled. Kept is only what is written in the files themselves: the code of
//! inlined header functions is in the library too, but is no code of the pass.
//!
//! - [`entries`]: names, files and addresses of debugging entries;
//! - [`variables`]: which expressions are instructions, by their types.

mod entries;
mod variables;

use std::path::Path;

use gimli::{
    AttributeValue, DW_AT_high_pc, DW_AT_low_pc, DW_AT_ranges, DwTag, EndianSlice, LittleEndian, UnitOffset,
};
use metaloc_record::code_map::{CodeMap, Function, Row};
use object::{Object, ObjectSection};

use entries::Entries;

pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// All that decides what a code map says, as text: a map that was made by other code is made anew.
pub const RECIPE: &str = concat!(
    include_str!("mod.rs"),
    include_str!("entries.rs"),
    include_str!("variables.rs"),
    include_str!("../../../record/src/code_map.rs")
);

/// Why a library has no code map.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not an ELF file.
    #[error("the library cannot be read: {0}")]
    Object(#[from] object::read::Error),
    /// The debug information is broken.
    #[error("the debug information cannot be read: {0}")]
    Dwarf(#[from] gimli::Error),
    /// There is debug information, but not of the file.
    #[error("the debug information has no function of {0}")]
    Empty(String),
}

/// Reads the code map of a library that was made from `files`, named as the compiler was told; a unit each, in
/// their order.
pub fn code_map(library: &[u8], files: &[&Path]) -> Result<CodeMap, Error> {
    let object = object::File::parse(library)?;
    let load = |id: gimli::SectionId| -> Result<Bytes<'_>, object::read::Error> {
        let section = object.section_by_name(id.name());
        let data = section.map(|section| section.data()).transpose()?.unwrap_or_default();
        Ok(EndianSlice::new(data, LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load)?;
    let mut functions = Vec::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        let unit = unit.unit_ref(&dwarf);
        let name = unit.name.map(|name| name.to_string_lossy());
        let Some(number) = files.iter().position(|file| name == Some(file.to_string_lossy())) else {
            continue;
        };
        let entries = Entries::read(unit, files[number])?;
        add_functions(&entries, number, &mut functions)?;
        add_rows(&entries, &mut functions)?;
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    if functions.is_empty() {
        return Err(Error::Empty(files.join(", ")));
    }
    Ok(CodeMap { files, functions })
}

fn add_functions(entries: &Entries<'_>, file: usize, functions: &mut Vec<Function>) -> Result<(), Error> {
    for &offset in entries.with_tag(gimli::DW_TAG_subprogram) {
        let Some((low, high)) = range(entries, offset)? else { continue };
        if !entries.is_own(offset)? {
            continue;
        }
        let mut variables = Vec::new();
        if entries.has_frame_pointer(offset)? {
            collect(entries, offset, (low, high), &mut variables)?;
        }
        let name = entries.function_name(offset)?;
        functions.push(Function { low, high, file, name, rows: Vec::new(), variables });
    }
    functions.sort_by_key(|function| function.low);
    // One function may be described twice (complete and base constructors); the map has each byte once.
    functions.dedup_by(|later, first| later.low < first.high);
    Ok(())
}

/// Variables of a block and of the blocks in it.
fn collect(
    entries: &Entries<'_>,
    block: UnitOffset,
    scope: (u64, u64),
    variables: &mut Vec<metaloc_record::code_map::Variable>,
) -> Result<(), Error> {
    for &child in entries.children(block) {
        match entries.tag(child) {
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                variables::add(entries, child, scope, variables)?;
            }
            gimli::DW_TAG_lexical_block => {
                let inner = range(entries, child)?.unwrap_or(scope);
                collect(entries, child, inner, variables)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// From the first to the last byte of an entry's code.
fn range(entries: &Entries<'_>, offset: UnitOffset) -> Result<Option<(u64, u64)>, Error> {
    let entry = entries.entry(offset)?;
    let unit = entries.unit;
    if let Some(low) =
        entry.attr_value(DW_AT_low_pc).map(|value| unit.attr_address(value)).transpose()?.flatten()
    {
        let high = match entry.attr_value(DW_AT_high_pc) {
            Some(AttributeValue::Addr(high)) => high,
            Some(value) => low + value.udata_value().unwrap_or(0),
            None => return Ok(None),
        };
        // What the linker dropped is at 0.
        return Ok((low != 0 && low < high).then_some((low, high)));
    }
    let Some(value) = entry.attr_value(DW_AT_ranges) else { return Ok(None) };
    let Some(mut ranges) = unit.attr_ranges(value)? else { return Ok(None) };
    let mut whole: Option<(u64, u64)> = None;
    while let Some(part) = ranges.next()? {
        whole = Some(
            whole.map_or((part.begin, part.end), |(low, high)| (low.min(part.begin), high.max(part.end))),
        );
    }
    Ok(whole)
}

/// Each function gets the rows of its bytes; those of another file say line 0.
fn add_rows(entries: &Entries<'_>, functions: &mut [Function]) -> Result<(), Error> {
    let Some(program) = entries.unit.line_program.clone() else { return Ok(()) };
    let mut rows = program.rows();
    while let Some((_, row)) = rows.next_row()? {
        let address = row.address();
        let index = functions.partition_point(|function| function.low <= address);
        let Some(function) = index.checked_sub(1).and_then(|index| functions.get_mut(index)) else {
            continue;
        };
        if address >= function.high {
            continue;
        }
        let own = !row.end_sequence() && entries.is_own_file(row.file_index());
        let line = row.line().filter(|_| own).and_then(|line| u32::try_from(line.get()).ok()).unwrap_or(0);
        let column = match row.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(column) => u32::try_from(column.get()).unwrap_or(0),
        };
        function.rows.push(Row { address, line, column });
    }
    for function in functions {
        function.rows.sort_by_key(|row| row.address);
        // The last row for an address is the one that holds; a row that repeats the one before says nothing.
        let mut kept: Vec<Row> = Vec::with_capacity(function.rows.len());
        for row in function.rows.drain(..) {
            match kept.last_mut() {
                Some(last) if last.address == row.address => *last = row,
                Some(last) if (last.line, last.column) == (row.line, row.column) => {}
                _ => kept.push(row),
            }
        }
        function.rows = kept;
    }
    Ok(())
}

/// The name of a tag's kind of scope that has members or functions.
pub(crate) fn is_class(tag: DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_class_type | gimli::DW_TAG_structure_type | gimli::DW_TAG_union_type)
}
