//! The functions as last seen, one mirror each. A hook that changes a block marks it; bringing a mirror up
//! to date reads the marked blocks and shares the others with the snapshot before.
//!
//! Edges can change without any hook (`setSuccessor` is inline). After a pass that does not claim to have kept
//! the control-flow graph they are read again: of all blocks after a pass on a function, and of the blocks
//! given after a pass on a loop, which may redirect edges of its loop, into it and to its preheader, but has
//! no business elsewhere. The others are read before the next pass on the function. Edges are compared by address,
//! so one that leads to an address where one block died and another was made counts as changed. The audit compares
//! everything after every run.

use std::sync::Arc;

use metaloc_record::{Block, BlockId, Inst, InstFlags, Snapshot};

use crate::ffi::{self, Edges, Ptr, RawInst};
use crate::identity::Identities;
use crate::locations::Locations;
use crate::pointer_map::{PointerMap, PointerSet, key};

/// A function in the table of mirrors. Keys of erased functions are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionKey(pub u32);

/// One function.
pub struct Mirror {
    /// Its address.
    pub function: Ptr,
    /// The context of its module, for location nodes.
    pub context: Ptr,
    /// What it looked like when last read.
    pub snapshot: Snapshot,
    /// The run that has already saved the snapshot it began with.
    pub saved_by: u64,
    /// True if edges may have changed since that nobody has looked at.
    pub edges_unread: bool,
    blocks: Vec<BlockState>,
    /// By id, as last read; those of blocks that are not there have no terminator.
    edges: Vec<Edges>,
    marked: Vec<BlockId>,
    freed: Freed,
}

/// Addresses of blocks that have died since all edges were last read: an edge that was read before may still be
/// known by one of them.
#[derive(Default)]
struct Freed {
    free: PointerSet,
    /// Those that another block has by now.
    again: PointerSet,
}

impl Freed {
    fn died(&mut self, block: Ptr) {
        self.free.insert(key(block));
    }

    fn made(&mut self, block: Ptr) {
        if self.free.contains(&key(block)) {
            self.again.insert(key(block));
        }
    }

    /// True if an edge may lead to an address that is not the block it was when the edge was read. More than two
    /// edges are read again whenever they are looked at.
    fn misleads(&self, edges: &Edges) -> bool {
        !self.again.is_empty() && edges.successors.iter().any(|to| self.again.contains(&key(*to)))
    }
}

struct BlockState {
    address: Ptr,
    /// False once it was taken out of the function.
    present: bool,
    marked: bool,
}

/// Whose edges to read though nothing marked them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen<'a> {
    /// Nobody's: no edge has changed.
    None,
    /// Those of these blocks.
    Of(&'a [BlockId]),
    /// Everybody's.
    All,
}

/// All functions, and which block belongs to which.
#[derive(Default)]
pub struct Mirrors {
    by_function: PointerMap<FunctionKey>,
    by_block: PointerMap<(FunctionKey, BlockId)>,
    mirrors: Vec<Option<Mirror>>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    pointers: Vec<Ptr>,
    insts: Vec<RawInst>,
}

// SAFETY: addresses are followed only under the rules of `cpp/shim.h`.
unsafe impl Send for Mirrors {}

impl Mirrors {
    /// The mirror of a function, read for the first time if need be.
    pub fn ensure(&mut self, function: Ptr, ids: &mut Identities, locations: &mut Locations) -> FunctionKey {
        if let Some(&known) = self.by_function.get(&key(function)) {
            return known;
        }
        let new = FunctionKey(self.mirrors.len() as u32);
        // SAFETY: the function is alive: a pass is about to run on it or on its module.
        let context = unsafe { ffi::metaloc_function_context(function) };
        self.by_function.insert(key(function), new);
        self.mirrors.push(Some(Mirror {
            function,
            context,
            snapshot: Snapshot::default(),
            saved_by: 0,
            edges_unread: false,
            blocks: Vec::new(),
            edges: Vec::new(),
            marked: Vec::new(),
            freed: Freed::default(),
        }));
        self.meet_blocks(new, function);
        self.refresh(new, Unseen::None, ids, locations);
        new
    }

    /// The function and id of a block, if its function has a mirror.
    pub fn block(&self, block: Ptr) -> Option<(FunctionKey, BlockId)> {
        self.by_block.get(&key(block)).copied()
    }

    /// The mirror of a function that was not erased.
    pub fn get(&self, function: FunctionKey) -> Option<&Mirror> {
        self.mirrors[function.0 as usize].as_ref()
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, function: FunctionKey) -> Option<&mut Mirror> {
        self.mirrors[function.0 as usize].as_mut()
    }

    /// The key of a function, if it has a mirror.
    pub fn owner(&self, function: Ptr) -> Option<FunctionKey> {
        self.by_function.get(&key(function)).copied()
    }

    /// A block was put into a function. Returns the function if it has a mirror.
    pub fn insert_block(&mut self, block: Ptr, function: Ptr) -> Option<FunctionKey> {
        let &owner = self.by_function.get(&key(function))?;
        let known = self.by_block.get(&key(block)).copied();
        let mirror = self.mirrors[owner.0 as usize].as_mut()?;
        let id = match known {
            // Taken out and put back: still the same block.
            Some((previous, id)) if previous == owner => id,
            _ => mirror.new_block(block),
        };
        mirror.blocks[id.index()].present = true;
        mirror.mark(id);
        self.by_block.insert(key(block), (owner, id));
        Some(owner)
    }

    /// A block was taken out of its function.
    pub fn remove_block(&mut self, block: Ptr) -> Option<FunctionKey> {
        let &(owner, id) = self.by_block.get(&key(block))?;
        let mirror = self.mirrors[owner.0 as usize].as_mut()?;
        mirror.blocks[id.index()].present = false;
        mirror.mark(id);
        Some(owner)
    }

    /// A block was destroyed.
    pub fn erase_block(&mut self, block: Ptr) {
        if let Some((owner, _)) = self.by_block.remove(&key(block))
            && let Some(mirror) = self.get_mut(owner)
        {
            mirror.freed.died(block);
        }
    }

    /// A function was destroyed.
    pub fn erase_function(&mut self, function: Ptr) {
        if let Some(gone) = self.by_function.remove(&key(function)) {
            self.mirrors[gone.0 as usize] = None;
        }
    }

    /// Something in this block changed.
    pub fn mark(&mut self, function: FunctionKey, block: BlockId) {
        if let Some(mirror) = self.get_mut(function) {
            mirror.mark(block);
        }
    }

    /// Brings the mirror up to date; `unseen` says which edges may have changed unseen.
    pub fn refresh(
        &mut self,
        function: FunctionKey,
        unseen: Unseen<'_>,
        ids: &mut Identities,
        locations: &mut Locations,
    ) {
        let Some(mirror) = self.mirrors[function.0 as usize].as_mut() else {
            return;
        };
        let mut reader = Reader {
            function,
            context: mirror.context,
            ids,
            locations,
            by_block: &mut self.by_block,
            scratch: &mut self.scratch,
        };
        mirror.read_marked(&mut reader);
        match unseen {
            Unseen::None => {}
            Unseen::Of(blocks) => {
                mirror.read_edges_of(blocks, &mut reader);
                mirror.edges_unread = true;
            }
            Unseen::All => {
                mirror.read_edges(&mut reader);
                mirror.edges_unread = false;
                mirror.freed = Freed::default();
            }
        }
        debug_assert!(mirror.marked.is_empty());
    }

    /// Ids for the blocks of a function that is met for the first time.
    fn meet_blocks(&mut self, owner: FunctionKey, function: Ptr) {
        let Some(mirror) = self.mirrors[owner.0 as usize].as_mut() else {
            return;
        };
        let pointers = &mut self.scratch.pointers;
        // SAFETY: the function is alive; the shim writes at most `capacity` pointers.
        unsafe {
            ffi::read_all(pointers, |out, capacity| ffi::metaloc_function_blocks(function, out, capacity));
        }
        for &block in pointers.iter() {
            let id = mirror.new_block(block);
            mirror.blocks[id.index()].present = true;
            mirror.mark(id);
            self.by_block.insert(key(block), (owner, id));
        }
    }

    /// Reads the whole function anew and compares: the test that no change goes unseen.
    pub fn audit(
        &mut self,
        function: FunctionKey,
        ids: &mut Identities,
        locations: &mut Locations,
    ) -> Result<(), String> {
        let Some(mirror) = self.mirrors[function.0 as usize].as_mut() else {
            return Ok(());
        };
        let kept = mirror.snapshot.clone();
        let mut there = std::mem::take(&mut self.scratch.pointers);
        // SAFETY: the function is alive; the shim writes at most `capacity` pointers.
        unsafe {
            ffi::read_all(&mut there, |out, capacity| {
                ffi::metaloc_function_blocks(mirror.function, out, capacity)
            });
        }
        let known = there.iter().map(|block| self.by_block.get(&key(*block)).copied());
        let known: Vec<Option<(FunctionKey, BlockId)>> = known.collect();
        self.scratch.pointers = there;
        if known.len() != kept.len() {
            return Err(format!("{} blocks kept, {} there", kept.len(), known.len()));
        }
        for id in known {
            match id.filter(|(owner, id)| *owner == function && kept.has(*id)) {
                Some((_, id)) => mirror.mark(id),
                None => return Err("a block is there that was never seen".to_owned()),
            }
        }
        let mut reader = Reader {
            function,
            context: mirror.context,
            ids,
            locations,
            by_block: &mut self.by_block,
            scratch: &mut self.scratch,
        };
        mirror.read_marked(&mut reader);
        if kept.entry() != mirror.snapshot.entry() {
            return Err(format!("entry {:?} kept, {:?} there", kept.entry(), mirror.snapshot.entry()));
        }
        for (kept, read) in kept.blocks().zip(mirror.snapshot.blocks()) {
            // InstCombine swaps the successors of a branch and rightly claims to have kept the graph.
            if kept.id != read.id || kept.insts != read.insts || sorted(kept) != sorted(read) {
                return Err(format!("block {:?} differs: kept {kept:?}, there {read:?}", kept.id));
            }
        }
        Ok(())
    }
}

impl Mirror {
    /// The address of a block, for its name.
    pub fn block_address(&self, block: BlockId) -> Ptr {
        self.blocks.get(block.index()).map_or(std::ptr::null(), |state| state.address)
    }

    fn new_block(&mut self, address: Ptr) -> BlockId {
        self.freed.made(address);
        self.blocks.push(BlockState { address, present: false, marked: false });
        self.edges.push(Edges::default());
        BlockId(self.blocks.len() as u32 - 1)
    }

    fn mark(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.index()];
        if !state.marked {
            state.marked = true;
            self.marked.push(block);
        }
    }

    fn read_marked(&mut self, reader: &mut Reader<'_>) {
        if self.marked.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.marked) {
            let state = &mut self.blocks[id.index()];
            state.marked = false;
            if state.present {
                let (block, edges) = reader.block(id, state.address);
                self.snapshot.put(block);
                self.edges[id.index()] = edges;
            } else {
                self.snapshot.remove(id);
                self.edges[id.index()] = Edges::default();
            }
        }
        // SAFETY: the function is alive.
        let entry = unsafe { ffi::metaloc_function_entry(self.function) };
        self.snapshot.set_entry(reader.by_block.get(&key(entry)).map(|(_, id)| *id));
    }

    fn read_edges(&mut self, reader: &mut Reader<'_>) {
        let mut changed = Vec::with_capacity(self.edges.len());
        // SAFETY: the terminators of unmarked blocks are alive: taking one out of its block marks the block. The
        // shim writes at most one index per element.
        unsafe {
            let count =
                ffi::metaloc_changed_edges(self.edges.as_ptr(), self.edges.len(), changed.as_mut_ptr());
            changed.set_len(count);
        }
        let misleading = |(index, edges)| self.freed.misleads(edges).then_some(index);
        changed.extend((0..).zip(&self.edges).filter_map(misleading));
        for index in changed {
            self.read_edges_again(BlockId(index), reader);
        }
    }

    fn read_edges_of(&mut self, blocks: &[BlockId], reader: &mut Reader<'_>) {
        for &id in blocks {
            let mut index = 0u32;
            // SAFETY: as above, for one element; one of a block that is not there has no terminator.
            let changed =
                unsafe { ffi::metaloc_changed_edges(&raw const self.edges[id.index()], 1, &raw mut index) };
            if changed > 0 || self.freed.misleads(&self.edges[id.index()]) {
                self.read_edges_again(id, reader);
            }
        }
    }

    fn read_edges_again(&mut self, id: BlockId, reader: &mut Reader<'_>) {
        let address = self.blocks[id.index()].address;
        // SAFETY: the block is in a live function.
        self.edges[id.index()] = unsafe { ffi::metaloc_block_edges(address) };
        self.snapshot.set_successors(id, reader.successors(address));
    }
}

fn sorted(block: &Block) -> Vec<BlockId> {
    let mut successors = block.successors.clone();
    successors.sort_unstable();
    successors
}

/// What reading a block of one function needs.
struct Reader<'a> {
    function: FunctionKey,
    context: Ptr,
    ids: &'a mut Identities,
    locations: &'a mut Locations,
    by_block: &'a mut PointerMap<(FunctionKey, BlockId)>,
    scratch: &'a mut Scratch,
}

impl Reader<'_> {
    fn block(&mut self, id: BlockId, address: Ptr) -> (Arc<Block>, Edges) {
        let mut raw = std::mem::take(&mut self.scratch.insts);
        // SAFETY: the block is in a live function.
        unsafe {
            ffi::read_all(&mut raw, |out, capacity| ffi::metaloc_block_insts(address, out, capacity));
        }
        let insts = raw
            .iter()
            .map(|inst| Inst {
                id: self.ids.meet(inst.inst, inst.opcode, self.function, id),
                loc: self.locations.intern(inst.location, self.context),
                opcode: self.ids.opcode(inst.opcode),
                flags: InstFlags(inst.flags),
            })
            .collect();
        self.scratch.insts = raw;
        // SAFETY: as above.
        let edges = unsafe { ffi::metaloc_block_edges(address) };
        (Arc::new(Block { id, insts, successors: self.successors(address) }), edges)
    }

    fn successors(&mut self, address: Ptr) -> Vec<BlockId> {
        let mut raw = [std::ptr::null(); 2];
        // SAFETY: the block is in a live function.
        let count = unsafe { ffi::metaloc_block_successors(address, raw.as_mut_ptr(), raw.len()) };
        if count <= raw.len() {
            return self.known_blocks(&raw[..count]);
        }
        let mut many = Vec::new();
        // SAFETY: as above.
        unsafe {
            ffi::read_all(&mut many, |out, capacity| ffi::metaloc_block_successors(address, out, capacity));
        }
        self.known_blocks(&many)
    }

    /// Ids of blocks of this function. Every block that is in it has one.
    fn known_blocks(&self, blocks: &[Ptr]) -> Vec<BlockId> {
        let known = blocks.iter().filter_map(|block| self.by_block.get(&key(*block)));
        known.filter(|(owner, _)| *owner == self.function).map(|(_, id)| *id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize) -> Ptr {
        address as Ptr
    }

    fn edges(to: &[usize]) -> Edges {
        let successor = |index: usize| to.get(index).map_or(std::ptr::null(), |address| at(*address));
        Edges { terminator: at(1), successors: [successor(0), successor(1)], count: to.len() as u32 }
    }

    #[test]
    fn an_address_misleads_once_another_block_has_it() {
        let mut freed = Freed::default();
        freed.made(at(8));
        freed.died(at(8));
        assert!(!freed.misleads(&edges(&[16, 8])), "it leads to the one that died");
        freed.made(at(24));
        freed.made(at(8));
        assert!(freed.misleads(&edges(&[16, 8])) && !freed.misleads(&edges(&[16, 24])));
        assert!(!freed.misleads(&Edges::default()));
        freed.died(at(8));
        assert!(
            freed.misleads(&edges(&[16, 8])),
            "an edge that nobody has looked at since may be the old one"
        );
    }
}
