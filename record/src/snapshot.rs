//! A function at one moment: blocks, edges, and the location of every instruction.
//!
//! Successive snapshots share what a run leaves untouched (see [`crate::shared_slots`]), so that a run on one loop
//! of a large function does not pay for the rest of it. Debug intrinsics and records are not instructions
//! here; they describe variables.

use std::sync::Arc;

use crate::ids::{BlockId, InstId, LocId};
use crate::shared_slots::SharedSlots;

/// The control-flow graph of a function. A block is found by its id; LLVM's layout order is not kept, since no
/// path depends on it.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    entry: Option<BlockId>,
    by_id: SharedSlots<Block>,
    blocks: usize,
    instructions: usize,
}

impl Snapshot {
    /// The block that control enters at; none in a declaration.
    pub fn entry(&self) -> Option<BlockId> {
        self.entry
    }

    /// Says which block control enters at.
    pub fn set_entry(&mut self, entry: Option<BlockId>) {
        self.entry = entry;
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.blocks
    }

    /// True for a declaration.
    pub fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Number of instructions.
    pub fn instructions(&self) -> usize {
        self.instructions
    }

    /// All ids are below this one.
    pub fn bound(&self) -> usize {
        self.by_id.bound()
    }

    /// A block, if it is in the function.
    pub fn get(&self, id: BlockId) -> Option<&Arc<Block>> {
        self.by_id.get(id.index())
    }

    /// True if the block is in the function.
    pub fn has(&self, id: BlockId) -> bool {
        self.get(id).is_some()
    }

    /// The blocks in the order of their ids.
    pub fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.by_id.iter().map(|(_, block)| block)
    }

    /// The ids of the blocks, in order. Does not look at the blocks.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.by_id.iter().map(|(id, _)| BlockId(id as u32))
    }

    /// Puts a block in, or in the place of the one with the same id.
    pub fn put(&mut self, block: Arc<Block>) {
        self.instructions += block.insts.len();
        self.blocks += 1;
        let id = block.id;
        let old = self.by_id.slot(id.index()).replace(block);
        self.forget(old);
    }

    /// Takes a block out.
    pub fn remove(&mut self, id: BlockId) {
        if self.has(id) {
            let old = self.by_id.slot(id.index()).take();
            self.forget(old);
        }
    }

    /// Gives a block other successors.
    pub fn set_successors(&mut self, id: BlockId, successors: Vec<BlockId>) {
        if self.get(id).is_some_and(|block| block.successors != successors)
            && let Some(block) = self.by_id.slot(id.index())
        {
            Arc::make_mut(block).successors = successors;
        }
    }

    /// Ids of the blocks that are not the very same in both, in order. Equal blocks may be among them; what
    /// is shared is not looked at.
    pub fn differences<'a>(&'a self, other: &'a Snapshot) -> impl Iterator<Item = BlockId> + 'a {
        self.by_id.differences(&other.by_id).map(|id| BlockId(id as u32))
    }

    /// True if a block is in one of the two only, or has other successors.
    pub fn is_rewired(&self, other: &Snapshot, id: BlockId) -> bool {
        match (self.get(id), other.get(id)) {
            (Some(old), Some(new)) => old.successors != new.successors,
            (old, new) => old.is_some() || new.is_some(),
        }
    }

    /// True if the two have the same blocks with the same successors, and the same entry.
    pub fn has_edges_of(&self, other: &Snapshot) -> bool {
        self.entry() == other.entry() && !self.differences(other).any(|id| self.is_rewired(other, id))
    }

    fn forget(&mut self, old: Option<Arc<Block>>) {
        if let Some(old) = old {
            self.instructions -= old.insts.len();
            self.blocks -= 1;
        }
    }
}

impl FromIterator<Block> for Snapshot {
    /// The first block is the entry.
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for block in blocks {
            snapshot.entry.get_or_insert(block.id);
            snapshot.put(Arc::new(block));
        }
        snapshot
    }
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its id, the same for as long as LLVM's block lives.
    pub id: BlockId,
    /// Its instructions in order, terminator last.
    pub insts: Vec<Inst>,
    /// Successors in terminator order; one that occurs twice is listed twice.
    pub successors: Vec<BlockId>,
}

/// An instruction and the location it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inst {
    /// Its id.
    pub id: InstId,
    /// Its location at the moment of the snapshot.
    pub loc: LocId,
    /// What it is.
    pub opcode: Opcode,
    /// Properties that rules ask for.
    pub flags: InstFlags,
}

/// LLVM's opcode number made stable: an index into [`Opcode::NAMES`], the same for all LLVM versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Opcode(pub u8);

impl Opcode {
    /// Names as in the IR's text form. The shim translates through the name, so numbers may differ between versions.
    pub const NAMES: &'static [&'static str] = &[
        "<unknown>",
        "ret",
        "br",
        "switch",
        "indirectbr",
        "invoke",
        "resume",
        "unreachable",
        "cleanupret",
        "catchret",
        "catchswitch",
        "callbr",
        "fneg",
        "add",
        "fadd",
        "sub",
        "fsub",
        "mul",
        "fmul",
        "udiv",
        "sdiv",
        "fdiv",
        "urem",
        "srem",
        "frem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "alloca",
        "load",
        "store",
        "getelementptr",
        "fence",
        "cmpxchg",
        "atomicrmw",
        "trunc",
        "zext",
        "sext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "fptrunc",
        "fpext",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "addrspacecast",
        "cleanuppad",
        "catchpad",
        "icmp",
        "fcmp",
        "phi",
        "call",
        "select",
        "va_arg",
        "extractelement",
        "insertelement",
        "shufflevector",
        "extractvalue",
        "insertvalue",
        "landingpad",
        "freeze",
        "ptrtoaddr",
    ];

    /// The opcode of a name, `<unknown>` if LLVM has grown one that is not in the table.
    pub fn from_name(name: &str) -> Opcode {
        let index = Self::NAMES.iter().position(|n| *n == name).unwrap_or(0);
        Opcode(index as u8)
    }

    /// True for what ends a block.
    pub fn is_terminator(self) -> bool {
        const ENDS: std::ops::RangeInclusive<u8> = 1..=11;
        ENDS.contains(&self.0)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self.0 as usize).copied().unwrap_or("<unknown>")
    }
}

/// Properties of an instruction, as a set of bits. `cpp/shim.h` has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InstFlags(pub u8);

impl InstFlags {
    /// Ends its block.
    pub const TERMINATOR: InstFlags = InstFlags(1);
    /// A PHI node: executed on the edge, not in the block.
    pub const PHI: InstFlags = InstFlags(2);
    /// A call to something that is not an intrinsic: a frame below it must have a location.
    pub const CALL: InstFlags = InstFlags(4);
    /// A call to an intrinsic.
    pub const INTRINSIC: InstFlags = InstFlags(8);
    /// Reads or writes memory through a pointer and so may trap: load, store, cmpxchg, atomicrmw.
    pub const MEMORY: InstFlags = InstFlags(16);
    /// An intrinsic that LLVM gives no code: lifetime, assume, invariant, annotation and the like.
    pub const NO_CODE: InstFlags = InstFlags(32);

    /// True if all bits of `other` are set.
    pub fn has(self, other: InstFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    pub fn with(self, other: InstFlags) -> InstFlags {
        InstFlags(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(id: u32, insts: u32) -> Arc<Block> {
        let inst = |n| Inst { id: InstId(n), loc: LocId::NONE, opcode: Opcode(0), flags: InstFlags(0) };
        Arc::new(Block { id: BlockId(id), insts: (0..insts).map(inst).collect(), successors: vec![] })
    }

    #[test]
    fn what_is_put_and_removed_is_counted() {
        let mut snapshot = Snapshot::default();
        snapshot.put(block(3, 2));
        snapshot.put(block(100, 5));
        snapshot.put(block(3, 1));
        assert_eq!((snapshot.len(), snapshot.instructions()), (2, 6));
        snapshot.remove(BlockId(100));
        snapshot.remove(BlockId(100));
        snapshot.remove(BlockId(7_000));
        assert_eq!((snapshot.len(), snapshot.instructions()), (1, 1));
        assert_eq!(snapshot.blocks().map(|b| b.id.0).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_copy_differs_where_it_was_changed_and_nowhere_else() {
        let before: Snapshot = (0..1000).map(|id| Arc::unwrap_or_clone(block(id, 1))).collect();
        let mut after = before.clone();
        assert_eq!(before.differences(&after).count(), 0);
        after.put(block(5, 2));
        after.remove(BlockId(500));
        after.put(block(2000, 1));
        after.set_successors(BlockId(7), vec![]);
        after.set_successors(BlockId(8), vec![BlockId(9)]);
        let ids = |a: &Snapshot, b: &Snapshot| a.differences(b).map(|id| id.0).collect::<Vec<_>>();
        assert_eq!(ids(&before, &after), [5, 8, 500, 2000]);
        assert_eq!(ids(&after, &before), [5, 8, 500, 2000]);
        let rewired: Vec<u32> =
            before.differences(&after).filter(|id| before.is_rewired(&after, *id)).map(|id| id.0).collect();
        assert_eq!(rewired, [8, 500, 2000], "block 5 has other instructions only");
        assert!(before.get(BlockId(8)).is_some_and(|b| b.successors.is_empty()), "the original is as it was");
    }
}
