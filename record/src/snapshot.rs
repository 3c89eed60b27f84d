//! A function at one moment: blocks, edges, and the location of every instruction.
//!
//! Blocks are shared between the snapshots of successive pass runs: what a run leaves untouched is
//! not copied. Debug intrinsics and records are not instructions here; they describe variables.

use std::sync::Arc;

use crate::ids::{BlockId, InstId, LocId};

/// The control-flow graph of a function. `blocks[0]` is the entry; the order is LLVM's layout order.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The blocks in layout order.
    pub blocks: Vec<Arc<Block>>,
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
