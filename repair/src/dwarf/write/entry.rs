//! The entry of a variable or a block that says something else: which attributes go, which come, and its abbreviation.

use super::super::abbreviation::{Specification, Table};
use super::super::splice::Splice;
use super::super::unit::Entry;
use super::lists::Placed;
use crate::elf::Machine;
use crate::error::{Result, unsupported};
use crate::relocation::uleb;
use gimli::{DwAt, DwForm};
use std::ops::Range;

/// What goes into bytes that a splice inserts.
pub(super) struct Patch {
    /// Number of the splice.
    pub(super) splice: usize,
    pub(super) is: Wanted,
}

/// What is known only when everything has its place.
pub(super) enum Wanted {
    /// The offset of a list.
    List(Placed),
    /// An address as it is read.
    Address(u64),
}

/// An entry under construction.
pub(super) struct NewEntry<'e, 'a> {
    entry: &'e Entry<'a>,
    splices: &'e mut Vec<Splice>,
    patches: &'e mut Vec<Patch>,
    specifications: Vec<Specification>,
    changed: bool,
}

impl<'e, 'a> NewEntry<'e, 'a> {
    /// The entry as it is.
    pub(super) fn new(
        entry: &'e Entry<'a>,
        splices: &'e mut Vec<Splice>,
        patches: &'e mut Vec<Patch>,
    ) -> NewEntry<'e, 'a> {
        let specifications = entry
            .attributes
            .iter()
            .map(|attribute| (attribute.name(), attribute.form, attribute.implicit()))
            .collect();
        NewEntry { entry, splices, patches, specifications, changed: false }
    }

    /// Without what it said of a variable's value, with its list.
    pub(super) fn locate(&mut self, placed: Placed) {
        self.remove(&[gimli::DW_AT_const_value, gimli::DW_AT_GNU_locviews]);
        self.list(gimli::DW_AT_location, gimli::DW_FORM_loclistx, placed);
    }

    /// With its list of ranges, in place of anything else that it said of where it is.
    pub(super) fn range(&mut self, placed: Placed) {
        self.remove(&[gimli::DW_AT_low_pc, gimli::DW_AT_high_pc]);
        self.list(gimli::DW_AT_ranges, gimli::DW_FORM_rnglistx, placed);
    }

    /// With other ends. The start keeps its form if it is the old one.
    pub(super) fn span(&mut self, range: &Range<u64>, low: Option<u64>, machine: Machine) -> Result<()> {
        let Ok(length) = u32::try_from(range.end - range.start) else {
            return unsupported("so long a block");
        };
        self.remove(&[gimli::DW_AT_high_pc]);
        if low != Some(range.start) {
            self.remove(&[gimli::DW_AT_low_pc]);
            let address = vec![0; usize::from(machine.address_bytes())];
            let splice = self.add(gimli::DW_AT_low_pc, gimli::DW_FORM_addr, address);
            self.patches.push(Patch { splice, is: Wanted::Address(range.start) });
        }
        self.add(gimli::DW_AT_high_pc, gimli::DW_FORM_data4, length.to_le_bytes().to_vec());
        Ok(())
    }

    /// Its abbreviation, if it needs another one.
    pub(super) fn finish(self, table: &mut Table) {
        if self.changed {
            let mut with = Vec::new();
            uleb(&mut with, table.code(self.entry.tag, self.entry.has_children, &self.specifications));
            self.splices.push(Splice { range: self.entry.code(), with });
        }
    }

    fn list(&mut self, name: DwAt, indexed: DwForm, placed: Placed) {
        match placed {
            Placed::InPlace => {}
            Placed::Nowhere => self.remove(&[name]),
            Placed::Indexed(index) => {
                self.remove(&[name]);
                let mut with = Vec::new();
                uleb(&mut with, index);
                self.add(name, indexed, with);
            }
            Placed::Inserted(..) | Placed::Appended(..) => {
                self.remove(&[name]);
                let splice = self.add(name, gimli::DW_FORM_sec_offset, vec![0; 4]);
                self.patches.push(Patch { splice, is: Wanted::List(placed) });
            }
        }
    }

    fn remove(&mut self, names: &[DwAt]) {
        self.specifications.retain(|(name, ..)| !names.contains(name));
        for attribute in self.entry.attributes.iter().filter(|attribute| names.contains(&attribute.name())) {
            self.changed = true;
            if !attribute.range().is_empty() {
                self.splices.push(Splice { range: attribute.range(), with: Vec::new() });
            }
        }
    }

    /// Adds an attribute, and says the number of the splice that has its bytes.
    fn add(&mut self, name: DwAt, form: DwForm, with: Vec<u8>) -> usize {
        self.changed = true;
        self.specifications.push((name, form, None));
        self.splices.push(Splice { range: self.entry.end()..self.entry.end(), with });
        self.splices.len() - 1
    }
}
