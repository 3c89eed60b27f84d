//! The top of `metaloc.proof/1`: which object, which source, and one product graph per proved function.
//!
//! Unknown fields are refused: a reader that skipped one could take a conditional proof for a plain one.
//! So a new field is a new version of the schema.

use crate::invariant::Predicate;
use crate::obligation::{Assumption, Location, Obligation};
use crate::paths::PathSet;
use crate::point::{MachinePoint, SourcePoint, Value, Variable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Value of the field `schema`.
pub const SCHEMA: &str = "metaloc.proof/1";

/// The proved functions of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What was proved right.
    pub object: Object,
    /// What it was compared with.
    pub source: Source,
    /// Every global that the functions name: distinct objects that do not overlap.
    pub globals: Vec<Global>,
    /// The proved functions.
    pub functions: Vec<Function>,
}

/// Identity of the object file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// File name, for messages.
    pub name: String,
    /// SHA-256 of the file, lower-case hexadecimal.
    pub sha256: String,
    /// Instruction set and ABI.
    pub architecture: Architecture,
    /// What a pc is counted from.
    pub kind: ObjectKind,
}

/// Instruction set, with its System V ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Architecture {
    /// x86-64.
    #[serde(rename = "x86_64")]
    X86_64,
    /// i386.
    #[serde(rename = "i386")]
    I386,
}

impl Architecture {
    /// Width of an address and of a general register.
    pub fn address_bits(self) -> u32 {
        match self {
            Architecture::X86_64 => 64,
            Architecture::I386 => 32,
        }
    }
}

/// Kind of ELF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A pc is an offset in its section.
    Relocatable,
    /// A pc is a virtual address before relocation.
    Linked,
}

/// Identity of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// File name, for messages.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// SHA-256 of the IR text that was compared; block labels and value names are those of that text.
    pub ir_sha256: String,
}

/// A global variable or constant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Global {
    /// Symbol.
    pub symbol: String,
    /// Size.
    pub size_bytes: u64,
    /// Alignment that the proof relies on, a power of two.
    pub align_bytes: u64,
}

/// One proved function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Name in the source.
    pub name: String,
    /// Its code.
    pub machine: MachineCode,
    /// Width of the returned value; `null` for void.
    pub returns_bits: Option<u32>,
    /// Symbols of the globals that its memory is cut into; all of the document's if it does not say. Those of other
    /// functions only are a part of the rest of its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub globals: Option<Vec<String>>,
    /// IR values named below.
    pub values: Vec<Value>,
    /// Source variables named below.
    pub variables: Vec<Variable>,
    /// Points of the IR named below.
    pub source_points: Vec<SourcePoint>,
    /// Points of the code named below.
    pub machine_points: Vec<MachinePoint>,
    /// Nodes of the product graph; the first is the entry.
    pub nodes: Vec<Node>,
    /// Edges of the product graph.
    pub edges: Vec<Edge>,
    /// Promises of the language that were used.
    pub assumptions: Vec<Assumption>,
    /// Values for the debugger.
    pub locations: Vec<Location>,
    /// What had to be shown.
    pub obligations: Vec<Obligation>,
}

/// Where the function's code is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineCode {
    /// Symbol in the object.
    pub symbol: String,
    /// Section that holds it.
    pub section: String,
    /// First pc.
    pub low_pc: u64,
    /// First pc after it.
    pub high_pc: u64,
    /// SHA-256 of the bytes as they are in the file.
    pub sha256: String,
}

/// A pair of points that the two programs reach together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Position in [`Function::nodes`].
    pub id: u32,
    /// What kind of pair.
    pub role: NodeRole,
    /// Index into [`Function::source_points`].
    pub source_point: u32,
    /// Index into [`Function::machine_points`].
    pub machine_point: u32,
    /// What holds whenever the programs are here.
    pub invariants: Vec<Predicate>,
}

/// Role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeRole {
    /// Both programs begin.
    Entry,
    /// A point in between.
    Inner,
    /// Both programs have returned.
    Exit,
}

/// Paths that the two programs take together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Position in [`Function::edges`].
    pub id: u32,
    /// Node where it starts.
    pub from: u32,
    /// Node where it ends.
    pub to: u32,
    /// What the source does.
    pub source: PathSet,
    /// What the machine does; never empty.
    pub machine: PathSet,
    /// Whether both sides make calls on the way, so that [`crate::Claim::Event`] is due.
    pub calls: bool,
}

impl Function {
    /// Obligations that nobody computed: not empty means this is no proof yet, only a claim of one.
    pub fn asserted(&self) -> impl Iterator<Item = &Obligation> {
        self.obligations
            .iter()
            .filter(|obligation| matches!(obligation.discharge, crate::Discharge::Assertion { .. }))
    }
}
