//! What holds at a product node: affine relations over Z/2^w, inequalities between affine sums, and equality
//! of memory by region (the grammar of Counter, figure 5b).
//!
//! Every term is exact: it says which bits of which register, which bytes at which offset from the stack
//! pointer at entry, and how a narrow term is brought to the width of its sum. Divisibility is affine too:
//! "i is a multiple of 4" is `2^30 * i = 0` modulo 2^32.

use crate::word::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One predicate over the two states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Predicate {
    /// The sum is 0 modulo 2^w.
    Zero {
        /// The sum.
        sum: Sum,
    },
    /// An inequality between two sums of one width.
    Compare {
        /// Which.
        relation: Relation,
        /// Left side.
        left: Sum,
        /// Right side.
        right: Sum,
    },
    /// The two memories agree on a region, except for some bytes of it.
    MemoryEqual {
        /// Where; not the stack, which the source does not have.
        region: Region,
        /// Bytes of a global that may differ, as (offset, length).
        except: Vec<(u64, u64)>,
    },
}

/// Order of bit vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Less, unsigned.
    Ult,
    /// Less or equal, unsigned.
    Ule,
    /// Less, signed.
    Slt,
    /// Less or equal, signed.
    Sle,
}

/// `constant + c_1 * t_1 + ... + c_n * t_n` modulo 2^w.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// w, from 1 to 128.
    pub width_bits: u32,
    /// The terms, each at most once, none with coefficient 0.
    pub terms: Vec<SumTerm>,
    /// The constant.
    pub constant: Word,
}

/// A term with its coefficient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SumTerm {
    /// Modulo 2^w, not 0.
    pub coefficient: Word,
    /// The term.
    pub term: Term,
    /// How the term's width becomes the sum's.
    #[serde(default, skip_serializing_if = "Extend::is_none")]
    pub extend: Extend,
}

/// Change of width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Extend {
    /// The widths are equal.
    #[default]
    None,
    /// The term is narrower: zeros above.
    Zero,
    /// The term is narrower: its sign above.
    Sign,
    /// The term is wider: its low bits.
    Truncate,
}

impl Extend {
    fn is_none(&self) -> bool {
        *self == Extend::None
    }
}

/// A part of one of the two states.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Term {
    /// Machine state at the node.
    Machine {
        /// Which part.
        place: Place,
    },
    /// The same machine state when the function was entered.
    Entry {
        /// Which part.
        place: Place,
    },
    /// Address of a global: a constant known to the linker. It has the width of an address.
    Address {
        /// Symbol, listed in [`crate::Document::globals`].
        symbol: String,
    },
    /// Contents of a global.
    Global {
        /// In whose memory.
        side: Side,
        /// Symbol, listed in [`crate::Document::globals`].
        symbol: String,
        /// Offset from the symbol.
        offset_bytes: u64,
        /// Width, a multiple of 8; little-endian.
        width_bits: u32,
    },
    /// Contents of a global at an index: the bytes from `symbol + stride * value + offset` on, the value
    /// sign-extended to the width of an address. With a row, `row.stride * row.value` is added, likewise.
    Element {
        /// In whose memory.
        side: Side,
        /// Symbol, listed in [`crate::Document::globals`].
        symbol: String,
        /// The index: a number in [`crate::Function::values`].
        value: u32,
        /// Bytes from one element to the next.
        stride_bytes: u64,
        /// The index of the row, where there are rows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<RowIndex>,
        /// Where the element of index 0 begins.
        offset_bytes: i64,
        /// Width, a multiple of 8; little-endian.
        width_bits: u32,
    },
    /// An IR value.
    Value {
        /// Index into [`crate::Function::values`].
        value: u32,
    },
    /// Several parts of the states, taken together in `width_bits`: each is brought to that width first, a narrower
    /// one with its sign above.
    Fold {
        /// How.
        operation: Operation,
        /// Of what: at least two parts of the machine's state, or values, of at most that width.
        of: Vec<Term>,
        /// Width of the result.
        width_bits: u32,
    },
}

/// What takes several numbers together; the order in which it does makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The product modulo 2^w.
    Product,
    /// The greatest of all, signed.
    Greatest,
    /// The least of all, signed.
    Least,
}

/// Which row of a global an element is in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowIndex {
    /// The index: a number in [`crate::Function::values`].
    pub value: u32,
    /// Bytes from one row to the next.
    pub stride_bytes: u64,
}

/// A register or a stack slot.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Place {
    /// Some bits of a register; a lane of a vector register is one of its 32-bit words.
    Register {
        /// The whole register: `rax`, `xmm1`; `eax` and `xmm1` for i386.
        name: String,
        /// Lowest bit.
        low_bit: u32,
        /// Number of bits.
        width_bits: u32,
    },
    /// Bytes at a constant offset from the stack pointer at function entry (which points to the return
    /// address): -8 is what the first `push` writes.
    StackSlot {
        /// Offset.
        offset_bytes: i64,
        /// Width, a multiple of 8; little-endian.
        width_bits: u32,
    },
}

/// One of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The unoptimised IR.
    Source,
    /// The machine code.
    Machine,
}

/// A part of memory. Regions do not overlap.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Region {
    /// One global.
    Global {
        /// Symbol, listed in [`crate::Document::globals`].
        symbol: String,
    },
    /// The frame of the function, below and at the stack pointer at entry.
    Stack,
    /// Everything else.
    Rest,
}

impl Place {
    /// Width of the place.
    pub fn width_bits(&self) -> u32 {
        match self {
            Place::Register { width_bits, .. } | Place::StackSlot { width_bits, .. } => *width_bits,
        }
    }
}
