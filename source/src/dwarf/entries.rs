//! The debugging entries of one unit, with the questions that are asked of them.

use std::collections::HashMap;
use std::path::Path;

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_artificial, DW_AT_decl_file, DW_AT_decl_line,
    DW_AT_declaration, DW_AT_frame_base, DW_AT_name, DW_AT_specification, DW_AT_type,
    DebuggingInformationEntry, DwAt, DwTag, Operation, UnitOffset, UnitRef,
};

use super::{Bytes, Error, is_class};

/// How far references between entries are followed; those that compilers write are two or three long.
const DEPTH: usize = 8;

/// All entries of a unit.
pub(crate) struct Entries<'a> {
    pub(crate) unit: UnitRef<'a, Bytes<'a>>,
    known: HashMap<UnitOffset, Known>,
    by_tag: HashMap<DwTag, Vec<UnitOffset>>,
    /// By index: whether it is the file that the library was made from.
    own_files: Vec<bool>,
}

struct Known {
    tag: DwTag,
    parent: Option<UnitOffset>,
    children: Vec<UnitOffset>,
}

impl<'a> Entries<'a> {
    pub(crate) fn read(unit: UnitRef<'a, Bytes<'a>>, file: &Path) -> Result<Self, Error> {
        let mut known: HashMap<UnitOffset, Known> = HashMap::new();
        let mut by_tag: HashMap<DwTag, Vec<UnitOffset>> = HashMap::new();
        let mut open: Vec<UnitOffset> = Vec::new();
        let mut cursor = unit.entries();
        while let Some(entry) = cursor.next_dfs()? {
            open.truncate(usize::try_from(entry.depth()).unwrap_or(0));
            let parent = open.last().copied();
            let (offset, tag) = (entry.offset(), entry.tag());
            if let Some(parent) = parent.and_then(|parent| known.get_mut(&parent)) {
                parent.children.push(offset);
            }
            known.insert(offset, Known { tag, parent, children: Vec::new() });
            by_tag.entry(tag).or_default().push(offset);
            open.push(offset);
        }
        let own_files = own_files(unit, file)?;
        Ok(Entries { unit, known, by_tag, own_files })
    }

    pub(crate) fn entry(&self, offset: UnitOffset) -> Result<DebuggingInformationEntry<Bytes<'a>>, Error> {
        Ok(self.unit.entry(offset)?)
    }

    pub(crate) fn with_tag(&self, tag: DwTag) -> &[UnitOffset] {
        self.by_tag.get(&tag).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn tag(&self, offset: UnitOffset) -> DwTag {
        self.known.get(&offset).map_or(gimli::DW_TAG_null, |known| known.tag)
    }

    pub(crate) fn children(&self, offset: UnitOffset) -> &[UnitOffset] {
        self.known.get(&offset).map_or(&[], |known| &known.children)
    }

    /// An attribute of an entry, or of the declaration that it completes.
    pub(crate) fn attribute(
        &self,
        offset: UnitOffset,
        name: DwAt,
    ) -> Result<Option<AttributeValue<Bytes<'a>>>, Error> {
        let mut at = offset;
        for _ in 0..DEPTH {
            let entry = self.entry(at)?;
            if let Some(value) = entry.attr_value(name) {
                return Ok(Some(value));
            }
            let next =
                entry.attr_value(DW_AT_specification).or_else(|| entry.attr_value(DW_AT_abstract_origin));
            let Some(AttributeValue::UnitRef(next)) = next else { return Ok(None) };
            at = next;
        }
        Ok(None)
    }

    pub(crate) fn name(&self, offset: UnitOffset) -> Result<Option<String>, Error> {
        let Some(value) = self.attribute(offset, DW_AT_name)? else { return Ok(None) };
        Ok(Some(self.unit.attr_string(value)?.to_string_lossy().into_owned()))
    }

    pub(crate) fn number(&self, offset: UnitOffset, name: DwAt) -> Result<Option<u64>, Error> {
        Ok(self.attribute(offset, name)?.and_then(|value| value.udata_value()))
    }

    pub(crate) fn is_artificial(&self, offset: UnitOffset) -> Result<bool, Error> {
        Ok(matches!(self.attribute(offset, DW_AT_artificial)?, Some(AttributeValue::Flag(true))))
    }

    pub(crate) fn line(&self, offset: UnitOffset) -> Result<u32, Error> {
        Ok(self.number(offset, DW_AT_decl_line)?.and_then(|line| u32::try_from(line).ok()).unwrap_or(0))
    }

    /// The type of an entry; `None` for void.
    pub(crate) fn type_of(&self, offset: UnitOffset) -> Result<Option<UnitOffset>, Error> {
        match self.attribute(offset, DW_AT_type)? {
            Some(AttributeValue::UnitRef(to)) => Ok(Some(to)),
            _ => Ok(None),
        }
    }

    /// True if only the name of a class is known.
    pub(crate) fn is_declaration(&self, offset: UnitOffset) -> Result<bool, Error> {
        Ok(matches!(self.entry(offset)?.attr_value(DW_AT_declaration), Some(AttributeValue::Flag(true))))
    }

    pub(crate) fn is_own(&self, offset: UnitOffset) -> Result<bool, Error> {
        Ok(match self.attribute(offset, DW_AT_decl_file)? {
            Some(AttributeValue::FileIndex(index)) => self.is_own_file(index),
            _ => false,
        })
    }

    pub(crate) fn is_own_file(&self, index: u64) -> bool {
        usize::try_from(index).ok().and_then(|index| self.own_files.get(index)).copied().unwrap_or(false)
    }

    /// True if the function's variables are addressed from rbp, as unoptimised code does it.
    pub(crate) fn has_frame_pointer(&self, offset: UnitOffset) -> Result<bool, Error> {
        let Some(AttributeValue::Exprloc(expression)) = self.attribute(offset, DW_AT_frame_base)? else {
            return Ok(false);
        };
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next()?;
        Ok(matches!(first, Some(Operation::Register { register: gimli::X86_64::RBP })))
    }

    /// `Class::function`, without namespaces.
    pub(crate) fn function_name(&self, offset: UnitOffset) -> Result<String, Error> {
        let mut at = offset;
        for _ in 0..DEPTH {
            match self.entry(at)?.attr_value(DW_AT_specification) {
                Some(AttributeValue::UnitRef(next)) => at = next,
                _ => break,
            }
        }
        let mut name = self.name(offset)?.unwrap_or_else(|| "?".to_owned());
        let mut parent = self.known.get(&at).and_then(|known| known.parent);
        while let Some(scope) = parent.filter(|scope| is_class(self.tag(*scope))) {
            // A lambda is an operator of a class without a name.
            let class = self.name(scope)?.unwrap_or_else(|| "(lambda)".to_owned());
            name = format!("{class}::{name}");
            parent = self.known.get(&scope).and_then(|known| known.parent);
        }
        Ok(name)
    }
}

fn own_files<'a>(unit: UnitRef<'a, Bytes<'a>>, own: &Path) -> Result<Vec<bool>, Error> {
    let Some(program) = &unit.line_program else { return Ok(Vec::new()) };
    let header = program.header();
    let text =
        |value| -> Result<String, Error> { Ok(unit.attr_string(value)?.to_string_lossy().into_owned()) };
    let compiled_in = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
    let mut files = Vec::new();
    let count = header.file_names().len() as u64 + 1;
    for index in 0..count {
        let Some(file) = header.file(index) else {
            files.push(false);
            continue;
        };
        let folder = file.directory(header).map(&text).transpose()?.unwrap_or_default();
        let path = Path::new(&compiled_in).join(folder).join(text(file.path_name())?);
        files.push(path == own);
    }
    Ok(files)
}
