//! A linked program as a file: its functions, globals and line table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gimli::{EndianSlice, LittleEndian};
use object::{Object, ObjectKind, ObjectSection, ObjectSymbol, SymbolKind};

use crate::{Error, Result};

/// A place in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// From 1.
    pub line: u32,
    /// From 1; 0 if the compiler did not say.
    pub column: u32,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A row of the line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// In the file.
    pub pc: u64,
    /// The place, in the main file of its unit.
    pub point: Point,
    /// Whether a debugger should stop here.
    pub is_stmt: bool,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Its addresses.
    pub range: Range<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A global variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// Address in the file.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// A linked program for x86.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    entry: u64,
    word_bytes: u32,
    functions: Vec<Function>,
    globals: BTreeMap<String, Global>,
    rows: Vec<Row>,
}

impl Program {
    /// Reads a program.
    pub fn read(path: &Path) -> Result<Program> {
        let wrong = |reason: &dyn std::fmt::Display| Error::Program {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let bytes = std::fs::read(path).map_err(|reason| wrong(&reason))?;
        let file = object::File::parse(&*bytes).map_err(|reason| wrong(&reason))?;
        let word_bytes = match file.architecture() {
            object::Architecture::X86_64 => 8,
            object::Architecture::I386 => 4,
            other => return Err(wrong(&format_args!("for {other:?}, want x86-64 or i386"))),
        };
        if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
            return Err(wrong(&"not a linked program"));
        }
        let mut functions = Vec::new();
        let mut globals = BTreeMap::new();
        for symbol in file.symbols().filter(|symbol| symbol.size() > 0) {
            let Ok(name) = symbol.name() else { continue };
            match symbol.kind() {
                SymbolKind::Text => functions.extend(function(&file, name, &symbol)),
                SymbolKind::Data => {
                    let global = Global { address: symbol.address(), size: symbol.size() };
                    globals.insert(name.to_owned(), global);
                }
                _ => {}
            }
        }
        let rows = rows(&file).map_err(|reason| wrong(&reason))?;
        Ok(Program { path: path.to_owned(), entry: file.entry(), word_bytes, functions, globals, rows })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it begins.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Size of an address.
    pub fn word_bytes(&self) -> u32 {
        self.word_bytes
    }

    /// A function by name; an error if there is none, or more than one.
    pub fn function(&self, name: &str) -> Result<&Function> {
        let mut found = self.functions.iter().filter(|function| function.name == name);
        let wrong = |reason: String| Error::Program { path: self.path.clone(), reason };
        let first = found.next().ok_or_else(|| wrong(format!("no function '{name}'")))?;
        if found.any(|other| other.range != first.range) {
            return Err(wrong(format!("more than one function '{name}'")));
        }
        Ok(first)
    }

    /// Global variables by name.
    pub fn globals(&self) -> &BTreeMap<String, Global> {
        &self.globals
    }

    /// The rows of a function, by address.
    pub fn rows_of(&self, function: &Function) -> &[Row] {
        let from = self.rows.partition_point(|row| row.pc < function.range.start);
        let to = self.rows.partition_point(|row| row.pc < function.range.end);
        &self.rows[from..to]
    }

    /// The globals that an address in the file may point into: one past the end counts.
    pub fn pointed_at(&self, address: u64) -> Vec<(&str, u64)> {
        let inside =
            |global: &Global| address.checked_sub(global.address).filter(|offset| *offset <= global.size);
        self.globals.iter().filter_map(|(name, global)| Some((name.as_str(), inside(global)?))).collect()
    }
}

/// The names that an object leaves to others to define, functions included.
pub fn undefined_symbols(path: &Path) -> Result<Vec<String>> {
    let wrong =
        |reason: &dyn std::fmt::Display| Error::Program { path: path.to_owned(), reason: reason.to_string() };
    let bytes = std::fs::read(path).map_err(|reason| wrong(&reason))?;
    let file = object::File::parse(&*bytes).map_err(|reason| wrong(&reason))?;
    let undefined = file.symbols().filter(|symbol| symbol.is_undefined());
    Ok(undefined
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| !name.is_empty())
        .collect())
}

fn function<'data>(
    file: &object::File<'data>,
    name: &str,
    symbol: &impl ObjectSymbol<'data>,
) -> Option<Function> {
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let bytes = section.data_range(symbol.address(), symbol.size()).ok()??;
    let range = symbol.address()..symbol.address().checked_add(symbol.size())?;
    Some(Function { name: name.to_owned(), range, bytes: bytes.to_vec() })
}

/// All rows by address, of the main file of each unit. Rows at one address stay in the order of the table; the
/// last one is what holds there.
fn rows(file: &object::File<'_>) -> gimli::Result<Vec<Row>> {
    let section = |id: gimli::SectionId| -> gimli::Result<std::borrow::Cow<'_, [u8]>> {
        let found = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
        Ok(found.unwrap_or_default())
    };
    let sections = gimli::DwarfSections::load(section)?;
    let dwarf = sections.borrow(|data| EndianSlice::new(data, LittleEndian));
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let Some(program) = unit.line_program.clone() else { continue };
        let main = if program.header().version() >= 5 { 0 } else { 1 };
        let name = |index| {
            let file = program.header().file(index)?;
            let name = dwarf.attr_string(&unit, file.path_name()).ok()?.to_string_lossy().into_owned();
            Some(PathBuf::from(name).file_name()?.to_owned())
        };
        // gcc lists the main file twice, with and without its folder.
        let own: Vec<bool> =
            (0..=program.header().file_names().len() as u64).map(|index| name(index) == name(main)).collect();
        let mut rows = program.clone().rows();
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() || !own.get(row.file_index() as usize).is_some_and(|own| *own) {
                continue;
            }
            let column = match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(column) => column.get() as u32,
            };
            let line = row.line().map_or(0, |line| line.get() as u32);
            found.push(Row { pc: row.address(), point: Point { line, column }, is_stmt: row.is_stmt() });
        }
    }
    // Stable: rows at one address keep their order.
    found.sort_by_key(|row| row.pc);
    Ok(found)
}
