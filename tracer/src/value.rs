//! What a debugger says of a variable. Four answers, never a text to be read twice.

use std::fmt;

/// A variable of the frame, as a debugger lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Line of its declaration: two loops may have an `i` each. 0 if the debug information has none.
    pub line: u32,
    /// What the debugger says of it.
    pub value: Value,
}

/// What a debugger says of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// It has this value.
    Known(Known),
    /// It is in scope, and the debug information has no value for it here.
    OptimisedOut,
    /// No variable of this name is in scope. Debuggers list what is in scope; this is what is not in the list.
    NotInScope,
    /// There is a location, and the debugger cannot read it; with its words.
    Unreadable(String),
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Known {
    /// Of an integer type of up to 64 bits.
    Integer {
        /// As its type has it.
        value: i128,
        /// Width of the type.
        bits: u32,
    },
    /// Of a pointer, where the program is loaded.
    Pointer(u64),
    /// Of any other type: its bytes in memory.
    Bytes(Vec<u8>),
}

impl Value {
    /// The value of an integer.
    pub fn integer(&self) -> Option<i128> {
        match self {
            Value::Known(Known::Integer { value, .. }) => Some(*value),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Known(Known::Integer { value, .. }) => write!(f, "{value}"),
            Value::Known(Known::Pointer(address)) => write!(f, "{address:#x}"),
            Value::Known(Known::Bytes(bytes)) => {
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str(" (bytes)")
            }
            Value::OptimisedOut => f.write_str("<optimised out>"),
            Value::NotInScope => f.write_str("<not in scope>"),
            Value::Unreadable(words) => write!(f, "<unreadable: {words}>"),
        }
    }
}

/// The value of a variable in a list: by name and, unless it is 0, line of declaration.
pub fn lookup<'a>(variables: &'a [Variable], name: &str, line: u32) -> &'a Value {
    let found = variables
        .iter()
        .find(|variable| variable.name == name && (line == 0 || variable.line == 0 || variable.line == line));
    found.map_or(&Value::NotInScope, |variable| &variable.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_told_apart_by_their_declarations() {
        let of = |line, value| Variable {
            name: "i".into(),
            line,
            value: Value::Known(Known::Integer { value, bits: 32 }),
        };
        let both = [of(3, 1), of(9, 2)];
        assert_eq!(lookup(&both, "i", 9).integer(), Some(2));
        assert_eq!(lookup(&both, "i", 0).integer(), Some(1));
        assert_eq!(*lookup(&both, "i", 5), Value::NotInScope);
        assert_eq!(*lookup(&both, "j", 0), Value::NotInScope);
    }
}
