//! What a function consists of: blocks of instructions over values.

use super::float::FloatOperation;
use super::read_call::Extension;
use super::types::Type;
use crate::bits::Bits;

/// A value that an instruction uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `%name`, without the mark.
    Local(String),
    /// Address of a global or function.
    Global(String),
    /// An integer, or the null pointer.
    Constant(Bits),
    /// `undef` or `poison`: nobody knows.
    Unknown,
    /// A constant address: a global plus a number of bytes.
    Offset {
        /// The global.
        global: String,
        /// Bytes after its start.
        bytes: i64,
    },
    /// Something that is not modelled, by its text.
    Other(String),
}

/// A value with its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The type.
    pub of: Type,
    /// The value.
    pub value: Value,
}

/// Operations on two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOperator {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// Relations of `icmp`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Predicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

/// Changes of type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Cast {
    Trunc,
    ZExt,
    SExt,
    PtrToInt,
    IntToPtr,
    Bitcast,
}

/// What an instruction does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Arithmetic.
    Binary {
        /// Which.
        operator: BinaryOperator,
        /// Promise that there is no signed overflow.
        nsw: bool,
        /// Promise that there is no unsigned overflow.
        nuw: bool,
        /// Left operand.
        left: Typed,
        /// Right operand, of the same type.
        right: Value,
    },
    /// A comparison of integers or pointers.
    Compare {
        /// Which.
        predicate: Predicate,
        /// Left operand.
        left: Typed,
        /// Right operand, of the same type.
        right: Value,
    },
    /// Something done with numbers.
    Float {
        /// What.
        operation: FloatOperation,
        /// With what.
        operands: Vec<Typed>,
        /// Type of the result.
        to: Type,
    },
    /// A change of type.
    Cast {
        /// Which.
        cast: Cast,
        /// What is changed.
        operand: Typed,
        /// To what.
        to: Type,
    },
    /// One of two by a bit.
    Select {
        /// The bit.
        condition: Value,
        /// If it is set.
        then: Typed,
        /// If not.
        otherwise: Value,
    },
    /// Address arithmetic.
    Address {
        /// Promise that the result stays in the object.
        inbounds: bool,
        /// Type that the indices walk through.
        of: Type,
        /// Where they start.
        base: Value,
        /// The indices.
        indices: Vec<Typed>,
    },
    /// A read of memory.
    Load {
        /// What is read.
        of: Type,
        /// Where.
        pointer: Value,
    },
    /// A write to memory.
    Store {
        /// What is written.
        stored: Typed,
        /// Where.
        pointer: Value,
    },
    /// A local in memory.
    Alloca {
        /// Its type.
        of: Type,
        /// Alignment in bytes.
        align_bytes: u64,
    },
    /// A value by where control came from.
    Phi {
        /// Type.
        of: Type,
        /// Values and the labels of the blocks they come from.
        incoming: Vec<(Value, String)>,
    },
    /// A jump.
    Jump(String),
    /// One of two ways.
    Branch {
        /// The bit.
        condition: Value,
        /// If it is set.
        then: String,
        /// If not.
        otherwise: String,
    },
    /// One of many ways.
    Switch {
        /// What decides.
        on: Typed,
        /// If nothing fits.
        default: String,
        /// Constants and where they lead.
        cases: Vec<(Bits, String)>,
    },
    /// Return.
    Return(Option<Typed>),
    /// A call.
    Call {
        /// Result.
        returns: Type,
        /// Symbol.
        callee: String,
        /// Arguments.
        arguments: Vec<Typed>,
        /// What a caller puts above each of them.
        extensions: Vec<Extension>,
        /// Names of its groups of attributes.
        groups: Vec<String>,
        /// Why it is no call that is made, returns once, and goes on.
        refused: Option<String>,
    },
    /// Control does not get here.
    Unreachable,
    /// Something that is not modelled.
    Unsupported(String),
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// `%name` of the result, without the mark.
    pub result: Option<String>,
    /// What it does.
    pub operation: Operation,
    /// Number of its `!dbg` node.
    pub location: Option<u32>,
    /// Debug records before it.
    pub records: Vec<Record>,
}

/// `#dbg_value`: from here on, a variable has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Number of the variable's node.
    pub variable: u32,
    /// The value, if it is that of one IR value as it is; nothing if it is more complicated.
    pub value: Option<Typed>,
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its label as LLVM prints it, without `%`.
    pub label: String,
    /// Its instructions, phi nodes first, one way out last.
    pub instructions: Vec<Instruction>,
}

impl Operation {
    /// Whether it ends a block.
    pub fn ends_block(&self) -> bool {
        matches!(
            self,
            Operation::Jump(_)
                | Operation::Branch { .. }
                | Operation::Switch { .. }
                | Operation::Return(_)
                | Operation::Unreachable
        )
    }

    /// Labels of the blocks that may be next.
    pub fn targets(&self) -> Vec<&str> {
        match self {
            Operation::Jump(to) => vec![to],
            Operation::Branch { then, otherwise, .. } => vec![then, otherwise],
            Operation::Switch { default, cases, .. } => {
                std::iter::once(default).chain(cases.iter().map(|(_, to)| to)).map(String::as_str).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Type of its result; nothing if it has none.
    pub fn result_type(&self) -> Option<&Type> {
        match self {
            Operation::Binary { left, .. } => Some(&left.of),
            Operation::Compare { .. } => Some(&Type::Int(1)),
            Operation::Cast { to, .. } | Operation::Float { to, .. } => Some(to),
            Operation::Select { then, .. } => Some(&then.of),
            Operation::Address { .. } | Operation::Alloca { .. } => Some(&Type::Pointer),
            Operation::Load { of, .. } | Operation::Phi { of, .. } => Some(of),
            Operation::Call { returns, .. } => Some(returns),
            _ => None,
        }
    }

    /// The values that it uses.
    pub fn values(&self) -> Vec<&Value> {
        match self {
            Operation::Binary { left, right, .. } | Operation::Compare { left, right, .. } => {
                vec![&left.value, right]
            }
            Operation::Float { operands, .. } => operands.iter().map(|operand| &operand.value).collect(),
            Operation::Cast { operand, .. } => vec![&operand.value],
            Operation::Select { condition, then, otherwise } => vec![condition, &then.value, otherwise],
            Operation::Address { base, indices, .. } => {
                std::iter::once(base).chain(indices.iter().map(|index| &index.value)).collect()
            }
            Operation::Load { pointer, .. } => vec![pointer],
            Operation::Store { stored, pointer } => vec![&stored.value, pointer],
            Operation::Phi { incoming, .. } => incoming.iter().map(|(value, _)| value).collect(),
            Operation::Branch { condition, .. } => vec![condition],
            Operation::Switch { on, .. } => vec![&on.value],
            Operation::Return(value) => value.iter().map(|value| &value.value).collect(),
            Operation::Call { arguments, .. } => arguments.iter().map(|argument| &argument.value).collect(),
            Operation::Alloca { .. }
            | Operation::Jump(_)
            | Operation::Unreachable
            | Operation::Unsupported(_) => Vec::new(),
        }
    }
}
