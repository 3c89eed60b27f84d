//! Regions of memory: one array for each global, one for the frame, one for the rest. Which region an access
//! goes to is decided while lifting; that it stays there is an obligation of the proof.

use crate::expr::{Arena, ExprId, Sort};

/// A part of memory that overlaps no other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Region {
    /// One global, by symbol.
    Global(String),
    /// The frame of the function: at and below the stack pointer at entry, and its stack arguments.
    Stack,
    /// Everything else; everything but the frame where some pointer could not be followed.
    Rest,
}

/// How memory outside of the frame is cut into regions. Both programs of a proof have the same cut, or their
/// memories could not be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// One region for each global, one for the rest.
    ByGlobal,
    /// One region: some pointer may point to anything.
    Merged,
}

impl Partition {
    /// The region of this cut that a region of the finest cut lies in.
    pub fn coarsen(self, region: Region) -> Region {
        match (self, region) {
            (Partition::Merged, Region::Global(_)) => Region::Rest,
            (_, region) => region,
        }
    }
}

/// One access to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The region it is taken to go to.
    pub region: Region,
    /// Address of the lowest byte.
    pub address: ExprId,
    /// Number of bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
}

impl Region {
    /// Name of the variable that stands for the region's contents.
    pub fn variable_name(&self) -> String {
        match self {
            Region::Global(symbol) => format!("memory.global.{symbol}"),
            Region::Stack => "memory.stack".to_owned(),
            Region::Rest => "memory.rest".to_owned(),
        }
    }

    /// The variable that stands for the region's contents, with 64-bit addresses.
    pub fn variable(&self, arena: &mut Arena) -> ExprId {
        self.variable_in(arena, 64)
    }

    /// The same with addresses of a given width.
    pub fn variable_in(&self, arena: &mut Arena, address_bits: u32) -> ExprId {
        arena.variable(&self.variable_name(), Sort::Memory(address_bits))
    }
}

/// What names of variables of the source begin with, where the machine has one of the same name.
pub const SOURCE_PREFIX: &str = "source.";

/// What names of variables for addresses of symbols begin with.
pub const ADDRESS_PREFIX: &str = "address.";

/// Name of the variable that stands for the address of a symbol.
pub fn address_name(symbol: &str) -> String {
    format!("{ADDRESS_PREFIX}{symbol}")
}
