//! Unoptimised LLVM IR: read from its text.
//!
//! - [`compile`]: C to IR text with the stock clang and opt;
//! - [`marks`]: the same text with a number at every instruction, to find it again in a program;
//! - [`Module::parse`]: text to functions; [`types`] has the data layout, [`metadata`] what names variables
//!   and lines.
//!
//! Why the text and not LLVM's library: the proof document names blocks and values as they are printed, which
//! the C API does not give for unnamed ones; LLVM 19's C API cannot iterate debug records; and linking
//! libLLVM costs every call of the tool 26 ms at start (28.5 ms against 2.5 ms for an empty program) and a
//! development package to build. The text always comes from LLVM's own printer, after its verifier. The reader
//! is strict: a line is read to its last word or the function is unsupported.

pub mod compile;
mod cursor;
mod float;
mod identity;
mod initialiser;
mod instruction;
pub mod marks;
pub mod metadata;
mod read;
mod read_call;
mod read_instruction;
mod token;
pub mod types;
mod unusual;
mod wrapping;

#[cfg(test)]
mod tests;

pub(crate) use cursor::{Step, step};
pub use float::{FloatOperation, FloatPredicate};
pub use instruction::{BinaryOperator, Block, Cast, Instruction, Operation, Predicate, Record, Typed, Value};
pub use metadata::{Metadata, SourceVariable};
pub use read_call::Extension;
pub use types::{DataLayout, Type};

use std::collections::{BTreeMap, BTreeSet};

/// Functions and globals of one translation unit.
#[derive(Debug, Clone)]
pub struct Module {
    /// Name of the file, for messages.
    pub file: String,
    /// Sizes.
    pub layout: DataLayout,
    /// Globals, in the order of the text.
    pub globals: Vec<Global>,
    /// Debug metadata.
    pub metadata: Metadata,
    functions: Vec<Function>,
    /// Symbols of the module that other files may see or have.
    external: BTreeSet<String>,
    /// Globals that are not followed, with the reason.
    unfollowed: BTreeMap<String, &'static str>,
}

/// A global variable or constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// Its symbol.
    pub symbol: String,
    /// Size.
    pub size_bytes: u64,
    /// Alignment that the module states.
    pub align_bytes: u64,
    /// The bytes, if they never change and are known.
    pub constant: Option<Vec<u8>>,
    /// Whether nobody writes to it.
    pub read_only: bool,
    /// Whether no other file has a name for it.
    pub internal: bool,
    /// Whether the module has its contents, and does not only declare it.
    pub defined: bool,
    /// These contents, if they are followed.
    pub initial: Option<Vec<u8>>,
}

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Type of the result.
    pub returns: Type,
    /// What is above it in its register.
    pub returns_extension: Extension,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// The first is the entry.
    pub blocks: Vec<Block>,
    /// Why the function cannot be used at all.
    pub refused: Option<String>,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// `%name`, without the mark.
    pub name: String,
    /// Type.
    pub of: Type,
    /// What a caller puts above it.
    pub extension: Extension,
}

/// Why IR cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum IrError {
    /// Not the text of a module.
    #[error("{file}:{line}: not readable as LLVM IR: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// Line from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// Another machine.
    #[error("{file}: data layout `{found}`, want that of little-endian x86")]
    Layout {
        /// The file.
        file: String,
        /// What it says.
        found: String,
    },
    /// The function is not there.
    #[error("{file}: no function `{name}` with a body; there are: {known}")]
    NoFunction {
        /// The file.
        file: String,
        /// What was asked for.
        name: String,
        /// What is there, cut.
        known: String,
    },
    /// The tools did not run.
    #[error(transparent)]
    Tool(#[from] metaloc_toolchain::Error),
    /// The source does not compile.
    #[error("{file}: {tool} says: {said}")]
    Compile {
        /// The file.
        file: String,
        /// Which tool.
        tool: String,
        /// The first lines of its complaint.
        said: String,
    },
}

impl Module {
    /// Reads a module; `file` is its name for messages.
    pub fn parse(file: &str, text: &str) -> Result<Module, IrError> {
        read::module(file, text)
    }

    /// Functions with a body, in the order of the text.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Result<&Function, IrError> {
        self.functions.iter().find(|function| function.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.functions.iter().take(10).map(|known| known.name.as_str()).collect();
            IrError::NoFunction { file: self.file.clone(), name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Whether the module names a symbol that other files may see or have.
    pub fn is_external(&self, symbol: &str) -> bool {
        self.external.contains(symbol)
    }

    /// Why a global is not followed, if it is there and is not.
    pub fn why_unfollowed(&self, symbol: &str) -> Option<&'static str> {
        self.unfollowed.get(symbol).copied()
    }

    /// The global of that name.
    pub fn global(&self, symbol: &str) -> Option<&Global> {
        self.globals.iter().find(|global| global.symbol == symbol)
    }
}
