//! A variable's entry with another location: which attributes go, which come, and its abbreviation.

use super::super::abbreviation::{Specification, Table};
use super::super::splice::Splice;
use super::super::unit::Entry;
use super::lists::Placed;
use crate::relocation::uleb;

/// A list's offset that goes into bytes which a splice inserts.
pub(super) struct Patch {
    /// Number of the splice.
    pub(super) splice: usize,
    pub(super) list: Placed,
}

/// The entry without what it said of the variable's value, with its list.
pub(super) fn change_entry(
    entry: &Entry,
    placed: Placed,
    table: &mut Table,
    splices: &mut Vec<Splice>,
    patches: &mut Vec<Patch>,
) {
    let mut gone = vec![gimli::DW_AT_const_value, gimli::DW_AT_GNU_locviews];
    if !matches!(placed, Placed::InPlace) {
        gone.push(gimli::DW_AT_location);
    }
    let mut changed = false;
    let mut specifications: Vec<Specification> = Vec::new();
    for attribute in &entry.attributes {
        if !gone.contains(&attribute.name()) {
            specifications.push((attribute.name(), attribute.form, attribute.implicit()));
            continue;
        }
        changed = true;
        if !attribute.range().is_empty() {
            splices.push(Splice { range: attribute.range(), with: Vec::new() });
        }
    }
    if let Placed::Indexed(index) = placed {
        changed = true;
        specifications.push((gimli::DW_AT_location, gimli::DW_FORM_loclistx, None));
        let mut with = Vec::new();
        uleb(&mut with, index);
        splices.push(Splice { range: entry.end..entry.end, with });
    } else if matches!(placed, Placed::Inserted(..) | Placed::Appended(..)) {
        changed = true;
        specifications.push((gimli::DW_AT_location, gimli::DW_FORM_sec_offset, None));
        patches.push(Patch { splice: splices.len(), list: placed });
        splices.push(Splice { range: entry.end..entry.end, with: vec![0; 4] });
    }
    if changed {
        let mut code = Vec::new();
        uleb(&mut code, table.code(entry.tag, entry.has_children, &specifications));
        splices.push(Splice { range: entry.code.clone(), with: code });
    }
}
