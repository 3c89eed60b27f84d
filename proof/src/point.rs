//! Points of the two programs. A product node is a pair of points; paths are sequences of them.
//!
//! Source points carry what a debugger user calls the variables: which IR value, or constant, each one is
//! there (the maps P_is and R_is of the debug-headers paper, section III-A).

use crate::word::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An SSA value of the IR that invariants or bindings speak of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Position in [`crate::Function::values`].
    pub id: u32,
    /// As LLVM prints it: `%.0`, `%i`.
    pub name: String,
    /// Width of its type; pointers have the width of an address.
    pub width_bits: u32,
}

/// A variable of the source, as DWARF will name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Position in [`crate::Function::variables`].
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Where it is declared; tells variables of the same name apart.
    pub declared: SourceLocation,
    /// Size of its type.
    pub width_bits: u32,
    /// Whether its type is signed.
    pub signed: bool,
}

/// File, line and column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceLocation {
    /// File name as the debug information has it.
    pub file: String,
    /// Line from 1; 0 if the compiler gave none.
    pub line: u32,
    /// Column from 1; 0 if the compiler gave none.
    pub column: u32,
}

/// A point of the source program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourcePoint {
    /// Position in [`crate::Function::source_points`].
    pub id: u32,
    /// Where in the IR.
    pub place: SourcePlace,
    /// Where in the source; `null` where the IR says nothing.
    pub location: Option<SourceLocation>,
    /// What the variables in scope are, before the instruction runs. A variable not listed is unknown.
    pub variables: Vec<Binding>,
}

/// A place in the IR.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SourcePlace {
    /// Before an instruction.
    Instruction {
        /// Label of the basic block as LLVM prints it, without `%`.
        block: String,
        /// Number of the instruction in its block, phi nodes counted and debug records not.
        instruction: u32,
    },
    /// After the return.
    Exit,
}

/// What a variable is at a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Index into [`crate::Function::variables`].
    pub variable: u32,
    /// Its value.
    pub is: BindingValue,
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum BindingValue {
    /// That of an IR value of the variable's width.
    Value {
        /// Index into [`crate::Function::values`].
        value: u32,
    },
    /// A constant.
    Constant {
        /// The constant, modulo 2^width of the variable.
        word: Word,
    },
    /// In scope, but before its first definition: nothing may be shown.
    Undefined,
}

/// A point of the machine code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachinePoint {
    /// Position in [`crate::Function::machine_points`].
    pub id: u32,
    /// Where in the code.
    pub place: MachinePlace,
}

/// A place in the machine code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum MachinePlace {
    /// Before the instruction at `pc`.
    Instruction {
        /// Offset in the section for relocatable objects, virtual address for linked ones.
        pc: u64,
    },
    /// After the return.
    Exit,
}
