//! Symbols and relocations of an ELF file: reading them, applying them to what is read, moving and adding them.
//!
//! A relocatable object holds zeros where addresses go. For reading, relocations are applied with one made-up address
//! per section, [`place`], so that with `-ffunction-sections` code of different sections has different addresses.

use crate::elf::{Elf, Machine, REL, RELA, SYMTAB};
use crate::error::{Error, Result, malformed, unsupported};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Its name; empty for a section's.
    pub name: String,
    /// Its value: an offset in its section, or an address.
    pub value: u64,
    /// How many bytes it stands for.
    pub size: u64,
    /// Type and binding.
    pub info: u8,
    /// Number of its section; 0 if it is defined elsewhere, high numbers mean no section.
    pub section: u16,
}

impl Symbol {
    /// Whether it stands for a section.
    pub fn is_section(&self) -> bool {
        self.info & 0xf == 3
    }

    /// Whether it is a function.
    pub fn is_function(&self) -> bool {
        self.info & 0xf == 2
    }
}

/// A field that the linker fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Offset of the field in its section.
    pub offset: u64,
    /// Type, in the numbering of the machine.
    pub kind: u32,
    /// Number of the symbol.
    pub symbol: u32,
    /// Added to the symbol; for i386 it stands in the field itself.
    pub addend: i64,
}

/// The address that stands for an offset in a section of a relocatable file.
pub fn place(machine: Machine, section: usize, offset: u64) -> u64 {
    match machine {
        Machine::X86_64 => ((section as u64) << 40).wrapping_add(offset),
        Machine::I386 => ((section as u64) << 20).wrapping_add(offset) & 0xffff_ffff,
    }
}

impl Machine {
    /// Type of a relocation that puts a symbol plus its addend into an address.
    pub fn absolute(self) -> u32 {
        1
    }

    /// The same into four bytes.
    pub fn absolute_32(self) -> u32 {
        match self {
            Machine::X86_64 => 10,
            Machine::I386 => 1,
        }
    }

    fn field_bytes(self, kind: u32) -> Option<usize> {
        match (self, kind) {
            (Machine::X86_64, 1) => Some(8),
            (Machine::X86_64, 10 | 11) | (Machine::I386, 1) => Some(4),
            _ => None,
        }
    }
}

/// The symbols of a file; none if it has no table.
pub fn symbols(elf: &Elf) -> Result<Vec<Symbol>> {
    let Some(table) = symbol_table(elf) else { return Ok(Vec::new()) };
    let section = &elf.sections[table];
    let Some(names) = elf.sections.get(section.link as usize) else { return malformed("the symbol table") };
    let wide = elf.machine == Machine::X86_64;
    let bytes = if wide { 24 } else { 16 };
    let symbol = |entry: &[u8]| -> Result<Symbol> {
        let name_offset = u32::from_le_bytes(entry[..4].try_into().expect("four bytes"));
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
        let half =
            |at: usize| u64::from(u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes")));
        let (info, section_at, value, size) =
            if wide { (entry[4], 6, word(8), word(16)) } else { (entry[12], 14, half(4), half(8)) };
        let section = u16::from_le_bytes(entry[section_at..section_at + 2].try_into().expect("two bytes"));
        let name = names.data.get(name_offset as usize..);
        let name = name.and_then(|name| name.split(|byte| *byte == 0).next());
        let Some(name) = name else { return malformed("the name of a symbol") };
        Ok(Symbol { name: String::from_utf8_lossy(name).into_owned(), value, size, info, section })
    };
    section.data.chunks_exact(bytes).map(symbol).collect()
}

/// Number of the section with the symbols.
pub fn symbol_table(elf: &Elf) -> Option<usize> {
    elf.sections.iter().position(|section| section.kind == SYMTAB)
}

/// Number of the section with the relocations of a section.
pub fn relocation_section(elf: &Elf, of: usize) -> Option<usize> {
    let kinds = [RELA, REL];
    let wanted = of as u32;
    elf.sections.iter().position(|section| {
        kinds.contains(&section.kind) && section.info == wanted && !section.is_allocated()
    })
}

/// Relocations of a section, in the order of the file. Addends of i386 are read from the fields.
pub fn relocations(elf: &Elf, of: usize) -> Result<Vec<Relocation>> {
    let Some(number) = relocation_section(elf, of) else { return Ok(Vec::new()) };
    let section = &elf.sections[number];
    let field = |entry: &[u8], at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("8 bytes"));
    match (elf.machine, section.kind) {
        (Machine::X86_64, RELA) => Ok(section
            .data
            .chunks_exact(24)
            .map(|entry| Relocation {
                offset: field(entry, 0),
                kind: field(entry, 8) as u32,
                symbol: (field(entry, 8) >> 32) as u32,
                addend: field(entry, 16) as i64,
            })
            .collect()),
        (Machine::I386, REL) => {
            let target = &elf.sections[of].data;
            let mut found = Vec::new();
            for entry in section.data.chunks_exact(8) {
                let word = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes"));
                let (offset, info) = (word(0), word(4));
                let place = target.get(offset as usize..).and_then(|rest| rest.get(..4));
                let Some(place) = place else { return malformed("a relocation outside of its section") };
                let addend = i64::from(i32::from_le_bytes(place.try_into().expect("four bytes")));
                let (offset, kind, symbol) = (u64::from(offset), info & 0xff, info >> 8);
                found.push(Relocation { offset, kind, symbol, addend });
            }
            Ok(found)
        }
        _ => unsupported(format!("relocations of the kind in {}", section.name)),
    }
}

/// The bytes of a section as they would be if every section lay at its [`place`]; those of a linked file are not copied.
pub fn relocated<'a>(elf: &Elf<'a>, symbols: &[Symbol], number: usize) -> Result<Cow<'a, [u8]>> {
    if !elf.relocatable {
        return Ok(elf.sections[number].data.clone());
    }
    let mut data = elf.sections[number].data.to_vec();
    for relocation in relocations(elf, number)? {
        // Others than these have no meaning in what is read here: offsets of thread-local variables.
        let Some(bytes) = elf.machine.field_bytes(relocation.kind) else { continue };
        let Some(symbol) = symbols.get(relocation.symbol as usize) else {
            return malformed("a relocation with a symbol that is not there");
        };
        let loaded =
            elf.sections.get(usize::from(symbol.section)).is_some_and(|section| section.is_allocated());
        let base =
            if loaded { place(elf.machine, usize::from(symbol.section), symbol.value) } else { symbol.value };
        let value = base.wrapping_add(relocation.addend as u64);
        let start = usize::try_from(relocation.offset).ok();
        let field = start.and_then(|start| data.get_mut(start..start.checked_add(bytes)?));
        let Some(field) = field else { return malformed("a relocation outside of its section") };
        field.copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
    Ok(Cow::Owned(data))
}

/// Writes the relocations of a section, by offset; for i386 the addends go into the section's fields.
pub fn set_relocations(elf: &mut Elf, of: usize, mut list: Vec<Relocation>) -> Result<()> {
    list.sort_by_key(|relocation| relocation.offset);
    let number = match relocation_section(elf, of) {
        Some(number) => number,
        None if list.is_empty() => return Ok(()),
        None => {
            let table =
                symbol_table(elf).ok_or_else(|| Error::Unsupported("objects without symbols".into()))?;
            let (prefix, kind, bytes) = match elf.machine {
                Machine::X86_64 => (".rela", RELA, 24),
                Machine::I386 => (".rel", REL, 8),
            };
            let name = format!("{prefix}{}", elf.sections[of].name);
            elf.add(&name, kind, (table as u32, of as u32), bytes)
        }
    };
    let mut bytes = Vec::new();
    match elf.machine {
        Machine::X86_64 => {
            for relocation in &list {
                bytes.extend(relocation.offset.to_le_bytes());
                bytes.extend((u64::from(relocation.symbol) << 32 | u64::from(relocation.kind)).to_le_bytes());
                bytes.extend(relocation.addend.to_le_bytes());
            }
        }
        Machine::I386 => {
            let mut data = elf.sections[of].data.to_vec();
            for relocation in &list {
                bytes.extend((relocation.offset as u32).to_le_bytes());
                bytes.extend((relocation.symbol << 8 | relocation.kind & 0xff).to_le_bytes());
                let start = relocation.offset as usize;
                let Some(field) = data.get_mut(start..).and_then(|rest| rest.get_mut(..4)) else {
                    return malformed("a relocation outside of its section");
                };
                field.copy_from_slice(&(relocation.addend as u32).to_le_bytes());
            }
            elf.sections[of].replace(data);
        }
    }
    elf.sections[number].replace(bytes);
    Ok(())
}

/// Number of the symbol that stands for a section. One is added if there is none: a local symbol, so that the numbers
/// of all symbols after the local ones grow by one wherever they are used.
pub fn section_symbol(elf: &mut Elf, section: usize) -> Result<u32> {
    let known = symbols(elf)?;
    let found = known.iter().position(|symbol| symbol.is_section() && usize::from(symbol.section) == section);
    if let Some(found) = found {
        return Ok(found as u32);
    }
    let table = symbol_table(elf).ok_or_else(|| Error::Unsupported("objects without symbols".into()))?;
    let new = elf.sections[table].info;
    let wide = elf.machine == Machine::X86_64;
    let mut entry = vec![0; if wide { 24 } else { 16 }];
    let (info_at, section_at) = if wide { (4, 6) } else { (12, 14) };
    entry[info_at] = 3;
    entry[section_at..section_at + 2].copy_from_slice(&(section as u16).to_le_bytes());
    let mut data = elf.sections[table].data.to_vec();
    let at = new as usize * entry.len();
    if at > data.len() {
        return malformed("the symbol table");
    }
    data.splice(at..at, entry);
    elf.sections[table].replace(data);
    elf.sections[table].info = new + 1;
    renumber(elf, table as u32, new)?;
    Ok(new)
}

/// All uses of symbols from `first` on go one up.
fn renumber(elf: &mut Elf, table: u32, first: u32) -> Result<()> {
    /// Numbers of symbols as LEB128: which ones have their address taken.
    const LLVM_ADDRSIG: u32 = 0x6fff_4c03;
    const GROUP: u32 = 17;
    const SYMTAB_SHNDX: u32 = 18;
    let machine = elf.machine;
    for section in elf.sections.iter_mut().filter(|section| section.link == table) {
        let up = |symbol: u32| if symbol >= first { symbol.saturating_add(1) } else { symbol };
        match section.kind {
            RELA | REL => {
                let mut data = section.data.to_vec();
                let (entry, at) = match machine {
                    Machine::X86_64 => (24, 12),
                    Machine::I386 => (8, 4),
                };
                for entry in data.chunks_exact_mut(entry) {
                    let field = &mut entry[at..at + 4];
                    let old = u32::from_le_bytes((&*field).try_into().expect("four bytes"));
                    let new = match machine {
                        Machine::X86_64 => up(old),
                        Machine::I386 => up(old >> 8) << 8 | old & 0xff,
                    };
                    field.copy_from_slice(&new.to_le_bytes());
                }
                section.replace(data);
            }
            LLVM_ADDRSIG => {
                let mut data = Vec::new();
                let mut rest = &section.data[..];
                while !rest.is_empty() {
                    let symbol = gimli::leb128::read::unsigned(&mut gimli::EndianSlice::new(
                        rest,
                        gimli::LittleEndian,
                    ))
                    .ok()
                    .and_then(|symbol| u32::try_from(symbol).ok());
                    let Some(symbol) = symbol else { return malformed(".llvm_addrsig") };
                    let length =
                        rest.iter().position(|byte| byte & 0x80 == 0).map_or(rest.len(), |last| last + 1);
                    rest = &rest[length..];
                    uleb(&mut data, u64::from(up(symbol)));
                }
                section.replace(data);
            }
            GROUP => section.info = up(section.info),
            SYMTAB_SHNDX => return unsupported("so many sections"),
            _ => {}
        }
    }
    Ok(())
}

/// Appends an unsigned LEB128.
pub fn uleb(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        out.push(if value == 0 { byte } else { byte | 0x80 });
        if value == 0 {
            return;
        }
    }
}

/// Appends a signed LEB128.
pub fn sleb(out: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        let done = (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0);
        out.push(if done { byte } else { byte | 0x80 });
        if done {
            return;
        }
    }
}

/// Symbols by name, those that are defined first.
pub fn by_name(symbols: &[Symbol]) -> BTreeMap<&str, u32> {
    let mut found = BTreeMap::new();
    for (number, symbol) in symbols.iter().enumerate().filter(|(_, symbol)| !symbol.name.is_empty()) {
        let known = found.entry(symbol.name.as_str()).or_insert(number as u32);
        if symbols[*known as usize].section == 0 {
            *known = number as u32;
        }
    }
    found
}
