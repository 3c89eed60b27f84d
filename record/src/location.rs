//! Debug locations, interned: two locations are the same exactly if their ids are.
//!
//! A location is (line, column, scope, inlined-at). Discriminators are not part of it: the recorder
//! looks through the lexical-block-file scopes that carry them before it interns a scope.

use std::collections::HashMap;

use crate::ids::{LocId, ScopeId};

/// A debug location as compared by the judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// Source line; 0 means "compiler generated, belongs to the scope but to no line".
    pub line: u32,
    /// Source column; 0 means unknown.
    pub column: u32,
    /// Innermost scope.
    pub scope: ScopeId,
    /// Where the code was inlined, or [`LocId::NONE`].
    pub inlined_at: LocId,
}

/// What a report says about a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// Name of the file, as in the debug information.
    pub file: String,
    /// Name of the subprogram that the scope belongs to.
    pub subprogram: String,
    /// The enclosing scope; `None` for a subprogram.
    pub parent: Option<ScopeId>,
}

/// All locations and scopes that one recording mentions.
#[derive(Debug, Clone, Default)]
pub struct LocationTable {
    locations: Vec<Location>,
    ids: HashMap<Location, LocId>,
    scopes: Vec<Scope>,
}

impl LocationTable {
    /// Adds a scope; the caller sees to it that each scope is added once.
    pub fn add_scope(&mut self, scope: Scope) -> ScopeId {
        self.scopes.push(scope);
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// The id of a location, the same one each time it is asked for.
    pub fn intern(&mut self, location: Location) -> LocId {
        *self.ids.entry(location).or_insert_with(|| {
            self.locations.push(location);
            LocId(self.locations.len() as u32)
        })
    }

    /// The location behind an id; `None` for [`LocId::NONE`].
    pub fn get(&self, id: LocId) -> Option<&Location> {
        self.locations.get(id.index().checked_sub(1)?)
    }

    /// The scope behind an id.
    pub fn scope(&self, id: ScopeId) -> Option<&Scope> {
        self.scopes.get(id.index())
    }

    /// Number of locations, [`LocId::NONE`] included: ids are below this.
    pub fn len(&self) -> usize {
        self.locations.len() + 1
    }

    /// True if no location was ever interned.
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Source line, or `None` for no location at all. Line 0 is `Some(0)`.
    pub fn line(&self, id: LocId) -> Option<u32> {
        self.get(id).map(|l| l.line)
    }

    /// `t.c:5:35`, with ` @[ t.c:9:3 ]` for each inlining; `-` for no location.
    pub fn text(&self, id: LocId) -> String {
        let Some(location) = self.get(id) else {
            return "-".into();
        };
        let file = self.scope(location.scope).map_or("?", |s| s.file.as_str());
        let mut text = format!("{file}:{}:{}", location.line, location.column);
        if location.inlined_at.is_some() {
            text += &format!(" @[ {} ]", self.text(location.inlined_at));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(table: &mut LocationTable) -> ScopeId {
        table.add_scope(Scope { file: "t.c".into(), subprogram: "f".into(), parent: None })
    }

    #[test]
    fn equal_locations_have_one_id_and_none_is_not_line_zero() {
        let mut table = LocationTable::default();
        let scope = scope(&mut table);
        let location = Location { line: 5, column: 3, scope, inlined_at: LocId::NONE };
        let first = table.intern(location);
        assert_eq!(first, table.intern(location));
        let zero = table.intern(Location { line: 0, column: 0, ..location });
        assert_ne!(zero, LocId::NONE);
        assert_eq!(table.line(zero), Some(0));
        assert_eq!(table.line(LocId::NONE), None);
    }

    #[test]
    fn text_names_file_line_column_and_inlining() {
        let mut table = LocationTable::default();
        let scope = scope(&mut table);
        let call = table.intern(Location { line: 9, column: 3, scope, inlined_at: LocId::NONE });
        let inner = table.intern(Location { line: 5, column: 35, scope, inlined_at: call });
        assert_eq!(table.text(inner), "t.c:5:35 @[ t.c:9:3 ]");
        assert_eq!(table.text(LocId::NONE), "-");
    }
}
