//! The functions as last seen, one mirror each. A hook that changes a block marks it; bringing a mirror up
//! to date reads the marked blocks and shares the others with the snapshot before.
//!
//! Edges can change without any hook (`setSuccessor` is inline), so they are read again for every block
//! after a pass that does not claim to have kept the control-flow graph.

use std::sync::Arc;

use metaloc_record::{Block, BlockId, Inst, InstFlags, Snapshot};

use crate::ffi::{self, Edges, Ptr, RawInst};
use crate::identity::Identities;
use crate::locations::Locations;
use crate::pointer_map::{PointerMap, key};

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
    blocks: Vec<BlockState>,
    /// In the order of the snapshot.
    edges: Vec<Edges>,
    marked: Vec<BlockId>,
    layout_changed: bool,
}

struct BlockState {
    address: Ptr,
    /// Position in the snapshot, if it is there.
    position: Option<u32>,
    marked: bool,
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
            blocks: Vec::new(),
            edges: Vec::new(),
            marked: Vec::new(),
            layout_changed: true,
        }));
        self.refresh(new, false, ids, locations);
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
        mirror.layout_changed = true;
        let id = match known {
            // Taken out and put back: still the same block.
            Some((previous, id)) if previous == owner => id,
            _ => mirror.new_block(block),
        };
        mirror.mark(id);
        self.by_block.insert(key(block), (owner, id));
        Some(owner)
    }

    /// A block was taken out of its function.
    pub fn remove_block(&mut self, block: Ptr) -> Option<FunctionKey> {
        let &(owner, _) = self.by_block.get(&key(block))?;
        self.mirrors[owner.0 as usize].as_mut()?.layout_changed = true;
        Some(owner)
    }

    /// A block was destroyed.
    pub fn erase_block(&mut self, block: Ptr) {
        self.by_block.remove(&key(block));
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

    /// Brings the mirror up to date; `edges` says that edges may have changed unseen.
    pub fn refresh(
        &mut self,
        function: FunctionKey,
        edges: bool,
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
        if mirror.layout_changed {
            mirror.read_layout(&mut reader);
        } else {
            mirror.read_marked(&mut reader);
        }
        if edges {
            mirror.read_edges(&mut reader);
        }
        debug_assert!(mirror.marked.is_empty() && !mirror.layout_changed);
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
        for index in 0..mirror.blocks.len() {
            if mirror.blocks[index].position.is_some() {
                mirror.mark(BlockId(index as u32));
            }
        }
        mirror.layout_changed = true;
        let mut reader = Reader {
            function,
            context: mirror.context,
            ids,
            locations,
            by_block: &mut self.by_block,
            scratch: &mut self.scratch,
        };
        mirror.read_layout(&mut reader);
        if kept.blocks.len() != mirror.snapshot.blocks.len() {
            return Err(format!("{} blocks kept, {} there", kept.blocks.len(), mirror.snapshot.blocks.len()));
        }
        for (kept, read) in kept.blocks.iter().zip(&mirror.snapshot.blocks) {
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
        self.blocks.push(BlockState { address, position: None, marked: false });
        BlockId(self.blocks.len() as u32 - 1)
    }

    fn mark(&mut self, block: BlockId) {
        let state = &mut self.blocks[block.index()];
        if !state.marked {
            state.marked = true;
            self.marked.push(block);
        }
    }

    fn read_layout(&mut self, reader: &mut Reader<'_>) {
        let mut addresses = std::mem::take(&mut reader.scratch.pointers);
        // SAFETY: the function is alive; the shim writes at most `capacity` pointers.
        unsafe {
            ffi::read_all(&mut addresses, |out, capacity| {
                ffi::metaloc_function_blocks(self.function, out, capacity)
            });
        }
        let ids: Vec<BlockId> = addresses.iter().map(|&block| self.meet_block(block, reader)).collect();
        reader.scratch.pointers = addresses;
        let before = std::mem::take(&mut self.snapshot.blocks);
        let edges_before = std::mem::take(&mut self.edges);
        let mut blocks = Vec::with_capacity(ids.len());
        self.edges.reserve(ids.len());
        for (position, &id) in ids.iter().enumerate() {
            let state = &self.blocks[id.index()];
            let (block, edges) = match state.position {
                Some(old) if !state.marked => (before[old as usize].clone(), edges_before[old as usize]),
                _ => reader.block(id, state.address),
            };
            blocks.push((position as u32, block));
            self.edges.push(edges);
        }
        for state in &mut self.blocks {
            state.position = None;
        }
        for (position, block) in &blocks {
            self.blocks[block.id.index()].position = Some(*position);
        }
        self.snapshot.blocks = blocks.into_iter().map(|(_, block)| block).collect();
        self.layout_changed = false;
        self.unmark();
    }

    fn read_marked(&mut self, reader: &mut Reader<'_>) {
        for index in 0..self.marked.len() {
            let id = self.marked[index];
            let state = &self.blocks[id.index()];
            if let Some(position) = state.position {
                let (block, edges) = reader.block(id, state.address);
                self.snapshot.blocks[position as usize] = block;
                self.edges[position as usize] = edges;
            }
        }
        self.unmark();
    }

    fn read_edges(&mut self, reader: &mut Reader<'_>) {
        let mut changed = Vec::with_capacity(self.edges.len());
        // SAFETY: the terminators of unmarked blocks are alive: taking one out of its block marks the block. The
        // shim writes at most one position per element.
        unsafe {
            let count =
                ffi::metaloc_changed_edges(self.edges.as_ptr(), self.edges.len(), changed.as_mut_ptr());
            changed.set_len(count);
        }
        for position in changed {
            let shared = &mut self.snapshot.blocks[position as usize];
            let address = self.blocks[shared.id.index()].address;
            // SAFETY: the block is in the layout of a live function.
            self.edges[position as usize] = unsafe { ffi::metaloc_block_edges(address) };
            let successors = reader.successors(address);
            if successors != shared.successors {
                Arc::make_mut(shared).successors = successors;
            }
        }
    }

    fn unmark(&mut self) {
        for id in self.marked.drain(..) {
            self.blocks[id.index()].marked = false;
        }
    }

    fn meet_block(&mut self, block: Ptr, reader: &mut Reader<'_>) -> BlockId {
        match reader.by_block.get(&key(block)) {
            Some(&(owner, id)) if owner == reader.function => id,
            _ => {
                let id = self.new_block(block);
                reader.by_block.insert(key(block), (reader.function, id));
                id
            }
        }
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
        // SAFETY: the block is in the layout of a live function.
        unsafe {
            ffi::read_all(&mut raw, |out, capacity| ffi::metaloc_block_insts(address, out, capacity));
        }
        let insts = raw
            .iter()
            .map(|inst| Inst {
                id: self.ids.meet(inst.inst, inst.opcode, self.function),
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
        // SAFETY: the block is in the layout of a live function.
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

    /// Ids of blocks of this function. Every successor is in the layout, which was read before.
    fn known_blocks(&self, blocks: &[Ptr]) -> Vec<BlockId> {
        let known = blocks.iter().filter_map(|block| self.by_block.get(&key(*block)));
        known.filter(|(owner, _)| *owner == self.function).map(|(_, id)| *id).collect()
    }
}
