//! From DILocation nodes to interned locations. Nodes are kept apart by context, because the nodes of a
//! context that goes away may be followed by others at the same addresses.

use metaloc_record::{LocId, Location, LocationTable, Scope, ScopeId};

use crate::ffi::{self, Ptr};
use crate::pointer_map::{PointerMap, key};

/// The location table and what of it is cached by address.
#[derive(Default)]
pub struct Locations {
    table: LocationTable,
    nodes: PointerMap<(LocId, usize)>,
    scopes: PointerMap<(ScopeId, usize)>,
}

impl Locations {
    /// The meaning of the ids.
    pub fn table(&self) -> &LocationTable {
        &self.table
    }

    /// The id of a DILocation or of null, in a module of `context`.
    pub fn intern(&mut self, node: Ptr, context: Ptr) -> LocId {
        if node.is_null() {
            return LocId::NONE;
        }
        if let Some(&(id, _)) = self.nodes.get(&key(node)) {
            return id;
        }
        // SAFETY: the node is attached to an instruction that is alive.
        let raw = unsafe { ffi::metaloc_location(node) };
        let scope = self.scope(raw.scope, context);
        let inlined_at = self.intern(raw.inlined_at, context);
        let id = self.table.intern(Location { line: raw.line, column: raw.column, scope, inlined_at });
        self.nodes.insert(key(node), (id, key(context)));
        id
    }

    /// Forgets the nodes of a context that was destroyed.
    pub fn forget(&mut self, context: Ptr) {
        self.nodes.retain(|_, (_, owner)| *owner != key(context));
        self.scopes.retain(|_, (_, owner)| *owner != key(context));
    }

    fn scope(&mut self, node: Ptr, context: Ptr) -> ScopeId {
        if let Some(&(id, _)) = self.scopes.get(&key(node)) {
            return id;
        }
        // SAFETY: the scope of a location that is alive.
        let raw = unsafe { ffi::metaloc_scope(node) };
        let parent = (!raw.parent.is_null()).then(|| self.scope(raw.parent, context));
        // SAFETY: strings of metadata nodes live as long as their context.
        let (file, subprogram) = unsafe { (raw.file.text(), raw.subprogram.text()) };
        let id = self.table.add_scope(Scope { file, subprogram, parent });
        self.scopes.insert(key(node), (id, key(context)));
        id
    }
}
