//! An ELF file as sections that can be replaced, and the file written again.
//!
//! Written by hand, though `object` has a builder: that one lays out and writes anew what it has understood, while
//! here every byte that belongs to no replaced section is copied. **Invariant**: without a replaced or added section
//! the output is the input; in a linked file, everything that a segment or an allocated section covers stays where it
//! was; in a relocatable one, contents stay and only file offsets change.

use crate::error::{Error, Result, malformed, unsupported};
use std::borrow::Cow;
use std::ops::Range;

/// `sh_type` of a section that has no bytes in the file.
const NOBITS: u32 = 8;
/// `sh_type` of the symbol table.
pub(crate) const SYMTAB: u32 = 2;
/// `sh_type` of relocations with addends, and of those without.
pub(crate) const RELA: u32 = 4;
pub(crate) const REL: u32 = 9;
/// `sh_flags`.
const ALLOC: u64 = 2;
pub(crate) const INFO_LINK: u64 = 0x40;
const COMPRESSED: u64 = 0x800;
const PROGBITS: u32 = 1;

/// Instruction set of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// i386.
    I386,
}

impl Machine {
    /// Bytes of an address.
    pub fn address_bytes(self) -> u8 {
        match self {
            Machine::X86_64 => 8,
            Machine::I386 => 4,
        }
    }
}

/// A little-endian ELF file for x86.
#[derive(Debug, Clone)]
pub struct Elf<'a> {
    file: &'a [u8],
    /// For which processor.
    pub machine: Machine,
    /// Whether addresses are offsets in sections that a linker will place.
    pub relocatable: bool,
    /// All sections; the first is the empty one.
    pub sections: Vec<Section<'a>>,
    wide: bool,
    names: usize,
    segments: Vec<(u64, u64)>,
}

/// One section: its header and its bytes.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    /// Its name.
    pub name: String,
    name_offset: u32,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    /// Address in a linked file.
    pub address: u64,
    offset: u64,
    size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    align: u64,
    pub(crate) entry_bytes: u64,
    /// What it holds; nothing in the file for `.bss` and the like.
    pub data: Cow<'a, [u8]>,
    /// Whether the bytes are others than those of the input.
    changed: bool,
}

impl Section<'_> {
    /// Whether it is a part of the running program.
    pub fn is_allocated(&self) -> bool {
        self.flags & ALLOC != 0
    }

    /// Where its bytes are in the input.
    pub(crate) fn file_range(&self) -> Range<usize> {
        self.offset as usize..self.offset as usize + self.data.len()
    }

    /// Whether its bytes are compressed.
    pub fn is_compressed(&self) -> bool {
        self.flags & COMPRESSED != 0 || self.name.starts_with(".zdebug")
    }

    /// Replaces its bytes.
    pub fn replace(&mut self, bytes: Vec<u8>) {
        if *self.data != *bytes {
            (self.data, self.changed) = (Cow::Owned(bytes), true);
        }
    }
}

impl<'a> Elf<'a> {
    /// Reads a file.
    pub fn parse(file: &'a [u8]) -> Result<Elf<'a>> {
        let ident = file.get(..16).filter(|ident| ident.starts_with(b"\x7fELF"));
        let Some(ident) = ident else { return malformed("no ELF file") };
        let wide = match ident[4] {
            1 => false,
            2 => true,
            _ => return malformed("an ELF class that does not exist"),
        };
        if ident[5] != 1 {
            return unsupported("big-endian files");
        }
        let reader = Reader { bytes: file, wide };
        let machine = match (reader.u16(18)?, wide) {
            (62, true) => Machine::X86_64,
            (3, false) => Machine::I386,
            (number, _) => return unsupported(format!("ELF machine {number}, want x86-64 or i386")),
        };
        let relocatable = match reader.u16(16)? {
            1 => true,
            2 | 3 => false,
            other => return unsupported(format!("ELF files of type {other}")),
        };
        let table = reader.word(if wide { 40 } else { 32 }, wide)?;
        let at = |wide_at: u64, narrow_at: u64| if wide { wide_at } else { narrow_at };
        let (entry, count) = (reader.u16(at(58, 46))?, reader.u16(at(60, 48))?);
        let names = usize::from(reader.u16(at(62, 50))?);
        if count == 0 || table == 0 {
            return unsupported("files without a section table (stripped?)");
        }
        if u64::from(entry) != at(64, 40) || names >= usize::from(count) {
            return malformed("the section table");
        }
        let mut sections = Vec::new();
        for number in 0..u64::from(count) {
            let start = table.checked_add(number * u64::from(entry));
            let start = start.ok_or_else(|| Error::Malformed("the section table".into()))?;
            sections.push(reader.section(start)?);
        }
        let total: u64 = sections.iter().map(|section| section.data.len() as u64).sum();
        if total > 4 * file.len() as u64 {
            return malformed("sections that overlap");
        }
        name_sections(&mut sections, names)?;
        let segments = reader.segments()?;
        Ok(Elf { file, machine, relocatable, sections, wide, names, segments })
    }

    /// The number of the section of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|section| section.name == name)
    }

    /// Whether any section was replaced or added.
    pub fn is_changed(&self) -> bool {
        self.sections.iter().any(|section| section.changed)
    }

    /// Adds a section that is not a part of the running program, and says its number.
    pub(crate) fn add(&mut self, name: &str, kind: u32, (link, info): (u32, u32), entry_bytes: u64) -> usize {
        let names = &mut self.sections[self.names];
        let name_offset = names.data.len() as u32;
        let mut text = names.data.to_vec();
        text.extend(name.as_bytes());
        text.push(0);
        names.replace(text);
        let flags = if kind == PROGBITS { 0 } else { INFO_LINK };
        let align = match (kind, self.wide) {
            (PROGBITS, _) => 1,
            (_, wide) => {
                if wide {
                    8
                } else {
                    4
                }
            }
        };
        self.sections.push(Section {
            name: name.to_owned(),
            name_offset,
            kind,
            flags,
            address: 0,
            offset: u64::MAX,
            size: 0,
            link,
            info,
            align,
            entry_bytes,
            data: Cow::Owned(Vec::new()),
            changed: true,
        });
        self.sections.len() - 1
    }

    /// Adds an empty section for debug information.
    pub(crate) fn add_debug(&mut self, name: &str) -> usize {
        self.add(name, PROGBITS, (0, 0), 0)
    }

    /// The file with all that was replaced or added.
    pub fn write(&self) -> Result<Vec<u8>> {
        if !self.is_changed() {
            return Ok(self.file.to_vec());
        }
        let wide = self.wide;
        let header_bytes = if wide { 64 } else { 52 };
        let kept = if self.relocatable { header_bytes } else { self.kept_bytes() };
        let Some(start) = self.file.get(..kept as usize) else { return malformed("segments past the end") };
        let grown =
            self.sections.iter().map(|section| section.data.len().saturating_sub(section.size as usize));
        let mut out = Vec::with_capacity(self.file.len() + grown.sum::<usize>());
        out.extend_from_slice(start);
        let mut order: Vec<usize> = (1..self.sections.len()).collect();
        order.sort_by_key(|number| (self.sections[*number].offset, *number));
        let mut offsets: Vec<u64> = self.sections.iter().map(|section| section.offset).collect();
        for number in order {
            let section = &self.sections[number];
            let stays = !self.relocatable
                && !section.changed
                && section.offset.checked_add(section.data.len() as u64).is_some_and(|end| end <= kept);
            if stays {
                continue;
            }
            if !self.relocatable && section.is_allocated() {
                return unsupported(format!("allocated section {} outside of all segments", section.name));
            }
            align(&mut out, section.align);
            offsets[number] = out.len() as u64;
            out.extend(section.data.iter());
        }
        align(&mut out, if wide { 8 } else { 4 });
        let table = out.len() as u64;
        for (section, offset) in self.sections.iter().zip(&offsets) {
            write_section(&mut out, section, *offset, wide);
        }
        let count = u16::try_from(self.sections.len());
        let Some(count) = count.ok().filter(|count| *count < 0xff00) else {
            return unsupported("so many sections");
        };
        if wide {
            out[40..48].copy_from_slice(&table.to_le_bytes());
            out[60..62].copy_from_slice(&count.to_le_bytes());
        } else {
            let Ok(table) = u32::try_from(table) else { return unsupported("a 32-bit file of that size") };
            out[32..36].copy_from_slice(&table.to_le_bytes());
            out[48..50].copy_from_slice(&count.to_le_bytes());
        }
        Ok(out)
    }

    /// How much of a linked file does not move: headers, segments and what is loaded.
    fn kept_bytes(&self) -> u64 {
        let header = if self.wide { 64 } else { 52 };
        let loaded = self.sections.iter().filter(|section| section.is_allocated() && section.kind != NOBITS);
        let ends = loaded.map(|section| section.offset.saturating_add(section.size));
        let segments = self.segments.iter().map(|(offset, size)| offset.saturating_add(*size));
        ends.chain(segments).max().unwrap_or(0).max(header)
    }
}

fn name_sections(sections: &mut [Section], names: usize) -> Result<()> {
    let text = sections[names].data.to_vec();
    for section in sections {
        let start = text.get(section.name_offset as usize..);
        let name = start.and_then(|start| start.split(|byte| *byte == 0).next());
        match name.map(std::str::from_utf8) {
            Some(Ok(name)) => section.name = name.to_owned(),
            _ => return malformed("the name of a section"),
        }
    }
    Ok(())
}

fn align(out: &mut Vec<u8>, align: u64) {
    let align = align.clamp(1, 1 << 16).next_power_of_two();
    out.resize((out.len() as u64).next_multiple_of(align) as usize, 0);
}

fn write_section(out: &mut Vec<u8>, section: &Section, offset: u64, wide: bool) {
    let size = if section.changed { section.data.len() as u64 } else { section.size };
    out.extend(section.name_offset.to_le_bytes());
    out.extend(section.kind.to_le_bytes());
    let mut word = |value: u64| {
        if wide { out.extend(value.to_le_bytes()) } else { out.extend((value as u32).to_le_bytes()) }
    };
    [section.flags, section.address, offset, size].into_iter().for_each(&mut word);
    out.extend(section.link.to_le_bytes());
    out.extend(section.info.to_le_bytes());
    let mut word = |value: u64| {
        if wide { out.extend(value.to_le_bytes()) } else { out.extend((value as u32).to_le_bytes()) }
    };
    [section.align, section.entry_bytes].into_iter().for_each(&mut word);
}

/// Fields of a file at checked places.
struct Reader<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl<'a> Reader<'a> {
    fn field(&self, at: u64, count: u64) -> Result<&'a [u8]> {
        let end = at.checked_add(count).and_then(|end| usize::try_from(end).ok());
        let found = end.and_then(|end| self.bytes.get(at as usize..end));
        found.ok_or_else(|| Error::Malformed(format!("it ends before {:#x}", at.saturating_add(count))))
    }

    fn u16(&self, at: u64) -> Result<u16> {
        Ok(u16::from_le_bytes(self.field(at, 2)?.try_into().expect("two bytes")))
    }

    fn u32(&self, at: u64) -> Result<u32> {
        Ok(u32::from_le_bytes(self.field(at, 4)?.try_into().expect("four bytes")))
    }

    fn word(&self, at: u64, wide: bool) -> Result<u64> {
        if !wide {
            return Ok(u64::from(self.u32(at)?));
        }
        Ok(u64::from_le_bytes(self.field(at, 8)?.try_into().expect("eight bytes")))
    }

    fn section(&self, at: u64) -> Result<Section<'a>> {
        let wide = self.wide;
        let bytes = if wide { 8 } else { 4 };
        let word = |number: u64| self.word(at + 8 + number * bytes, wide);
        let after = at + 8 + 4 * bytes;
        let (kind, offset, size) = (self.u32(at + 4)?, word(2)?, word(3)?);
        let data = if kind == NOBITS || kind == 0 { &[] } else { self.field(offset, size)? };
        Ok(Section {
            name: String::new(),
            name_offset: self.u32(at)?,
            kind,
            flags: word(0)?,
            address: word(1)?,
            offset,
            size,
            link: self.u32(after)?,
            info: self.u32(after + 4)?,
            align: self.word(after + 8, wide)?,
            entry_bytes: self.word(after + 8 + bytes, wide)?,
            data: Cow::Borrowed(data),
            changed: false,
        })
    }

    /// Parts of the file that segments cover, their table included.
    fn segments(&self) -> Result<Vec<(u64, u64)>> {
        let wide = self.wide;
        let table = self.word(if wide { 32 } else { 28 }, wide)?;
        let entry = u64::from(self.u16(if wide { 54 } else { 42 })?);
        let count = u64::from(self.u16(if wide { 56 } else { 44 })?);
        let mut found = vec![(table, entry * count)];
        for number in 0..count {
            let at = table.checked_add(number * entry);
            let at = at.ok_or_else(|| Error::Malformed("the segment table".into()))?;
            let (offset, size) = if wide { (8, 32) } else { (4, 16) };
            let field = |offset: u64| at.checked_add(offset).map(|at| self.word(at, wide));
            let (Some(offset), Some(size)) = (field(offset), field(size)) else {
                return malformed("the segment table");
            };
            found.push((offset?, size?));
        }
        if count == 0 { Ok(Vec::new()) } else { Ok(found) }
    }
}
