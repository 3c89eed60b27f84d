//! One unit of `.debug_info` as entries with the byte ranges of all their attributes: what is needed to copy most of
//! it and change a little.

use crate::error::{Result, unsupported};
use gimli::{AttributeValue, DwAt, DwForm, DwTag, EndianSlice, LittleEndian};
use std::ops::Range;

/// Bytes of a section as gimli reads them.
pub type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// An entry. There are a million of them for 40 MB, so that it is kept small.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    offset: u32,
    end: u32,
    /// One more than the number of the entry that it is below.
    below: u32,
    code_bytes: u8,
    /// Whether entries below it follow.
    pub has_children: bool,
    /// What it is.
    pub tag: DwTag,
    /// Its attributes; of what is neither code nor a variable only those that may refer to something.
    pub attributes: Box<[Attribute<'a>]>,
}

/// An attribute. Large units have millions of them, so that only what cannot be computed is kept.
#[derive(Debug, Clone)]
pub struct Attribute<'a> {
    inner: gimli::Attribute<Bytes<'a>>,
    /// How it is written.
    pub form: DwForm,
    implicit: i64,
    start: u32,
    length: u32,
}

impl<'a> Attribute<'a> {
    /// Which.
    pub fn name(&self) -> DwAt {
        self.inner.name()
    }

    /// Constant that stands in the abbreviation.
    pub fn implicit(&self) -> Option<i64> {
        (self.form == gimli::DW_FORM_implicit_const).then_some(self.implicit)
    }

    /// Its bytes in `.debug_info`; empty for what stands in the abbreviation.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.start as usize + self.length as usize
    }

    /// What it says, by its name.
    pub fn value(&self) -> AttributeValue<Bytes<'a>> {
        self.inner.value()
    }

    /// What it says, by its form.
    pub fn raw(&self) -> AttributeValue<Bytes<'a>> {
        self.inner.raw_value()
    }
}

impl<'a> Entry<'a> {
    /// Offset in `.debug_info`.
    pub fn offset(&self) -> usize {
        self.offset as usize
    }

    /// The number of its abbreviation.
    pub fn code(&self) -> Range<usize> {
        self.offset()..self.offset() + usize::from(self.code_bytes)
    }

    /// End of its attributes.
    pub fn end(&self) -> usize {
        self.end as usize
    }

    /// Number of the entry that it is below.
    pub fn parent(&self) -> Option<usize> {
        self.below.checked_sub(1).map(|number| number as usize)
    }

    /// An attribute by name.
    pub fn attribute(&self, name: DwAt) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name() == name)
    }

    /// A constant, however it is written.
    pub fn number(&self, name: DwAt) -> Option<u64> {
        self.attribute(name).and_then(|attribute| attribute.value().udata_value())
    }
}

/// All entries of a unit in the order of the file. `start` is where the unit begins.
pub fn entries<'a>(unit: &gimli::Unit<Bytes<'a>>, start: usize) -> Result<Vec<Entry<'a>>> {
    let mut raw = unit.entries_raw(None)?;
    let mut found: Vec<Entry> = Vec::new();
    let mut above: Vec<usize> = Vec::new();
    while !raw.is_empty() {
        let offset = start + raw.next_offset().0;
        let Some(abbreviation) = raw.read_abbreviation()? else {
            above.pop();
            continue;
        };
        // A number that is padded may be of any length.
        let Ok(code_bytes) = u8::try_from(start + raw.next_offset().0 - offset) else {
            return unsupported("a number of an abbreviation in so many bytes");
        };
        let whole = is_whole(abbreviation.tag());
        let kept = |form: DwForm| whole || refers(form);
        let count = abbreviation.attributes().iter().filter(|one| kept(one.form())).count();
        let mut attributes = Vec::with_capacity(count);
        for specification in abbreviation.attributes() {
            if !kept(specification.form()) && specification.form() != gimli::DW_FORM_indirect {
                raw.skip_attributes(std::slice::from_ref(specification))?;
                continue;
            }
            let begin = start + raw.next_offset().0;
            let attribute = raw.read_attribute(*specification)?;
            if specification.form() == gimli::DW_FORM_indirect {
                return unsupported("DW_FORM_indirect");
            }
            let end = start + raw.next_offset().0;
            let (Ok(begin), Ok(end)) = (u32::try_from(begin), u32::try_from(end)) else {
                return unsupported("4 GB of debug information");
            };
            attributes.push(Attribute {
                inner: attribute,
                form: specification.form(),
                implicit: specification.implicit_const_value().unwrap_or(0),
                start: begin,
                length: end - begin,
            });
        }
        let end = u32::try_from(start + raw.next_offset().0);
        let below = u32::try_from(above.last().map_or(0, |parent| parent + 1));
        let (Ok(end), Ok(below), Ok(offset)) = (end, below, u32::try_from(offset)) else {
            return unsupported("4 GB of debug information");
        };
        let entry = Entry {
            offset,
            end,
            below,
            code_bytes,
            has_children: abbreviation.has_children(),
            tag: abbreviation.tag(),
            attributes: attributes.into_boxed_slice(),
        };
        if abbreviation.has_children() {
            above.push(found.len());
        }
        found.push(entry);
    }
    // Units that change are all in memory at a time.
    found.shrink_to_fit();
    Ok(found)
}

/// Whether all attributes of an entry are wanted: what is changed, or asked for code and variables. Most entries of large
/// units are types, of which only references are.
fn is_whole(tag: DwTag) -> bool {
    [
        gimli::DW_TAG_variable,
        gimli::DW_TAG_formal_parameter,
        gimli::DW_TAG_lexical_block,
        gimli::DW_TAG_subprogram,
        gimli::DW_TAG_inlined_subroutine,
        gimli::DW_TAG_try_block,
        gimli::DW_TAG_catch_block,
        gimli::DW_TAG_with_stmt,
        gimli::DW_TAG_compile_unit,
    ]
    .contains(&tag)
}

/// Whether an attribute of a form may refer to an entry of its unit or to a list, or hold an expression, from version 4
/// on.
fn refers(form: DwForm) -> bool {
    [
        gimli::DW_FORM_ref1,
        gimli::DW_FORM_ref2,
        gimli::DW_FORM_ref4,
        gimli::DW_FORM_ref8,
        gimli::DW_FORM_ref_udata,
        gimli::DW_FORM_exprloc,
        gimli::DW_FORM_sec_offset,
        gimli::DW_FORM_loclistx,
        gimli::DW_FORM_rnglistx,
    ]
    .contains(&form)
}
