//! The code of recompiled source files, one library: which bytes belong to which function and statement, and where each
//! function keeps the instructions that it works on.
//!
//! Distilled from DWARF once, when they are compiled, because the plugin needs a part of it in every process
//! of a compiler and reading megabytes of DWARF there would cost more than the pass itself. The text form has
//! one line per item, with a letter first; addresses are relative to the library and in hexadecimal.

use std::fmt::{self, Display, Formatter};

/// Functions in the order of their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeMap {
    /// The source files as the compiler was given them: one, or all of a folder.
    pub files: Vec<String>,
    /// Functions that are written in the files; those of headers are left out.
    pub functions: Vec<Function>,
}

/// A function of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// First byte.
    pub low: u64,
    /// One past the last byte.
    pub high: u64,
    /// Place of its file in [`CodeMap::files`].
    pub file: usize,
    /// As in C++, with its class, without parameters.
    pub name: String,
    /// Where in the source each stretch of bytes comes from, by address.
    pub rows: Vec<Row>,
    /// Where instructions are kept.
    pub variables: Vec<Variable>,
}

/// From `address` to the next row the code is of this place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// First byte.
    pub address: u64,
    /// Line; 0 for code that is of no line, or of another file.
    pub line: u32,
    /// Column, the first is 1.
    pub column: u32,
}

/// An expression of C++ that is an instruction while the function runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// First byte of the block that it is declared in.
    pub low: u64,
    /// One past the last byte of that block.
    pub high: u64,
    /// The line of its declaration.
    pub line: u32,
    /// How to get at its value: the frame pointer plus the first number is the address of a word; each further
    /// number is added to that word to give the address of the next one. The last word is the value.
    pub steps: Vec<i64>,
    /// The value is the address of the instruction's node in the list of its block, as iterators have it, not of
    /// the instruction.
    pub is_node: bool,
    /// `I`, `Cand.Load`, `*It`.
    pub expression: String,
}

/// A line that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1.
    pub line: usize,
}

impl Display for Malformed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the code map cannot be read", self.line)
    }
}

impl std::error::Error for Malformed {}

impl CodeMap {
    /// The function that has the byte at `address`, with its place in the list.
    pub fn function_at(&self, address: u64) -> Option<(usize, &Function)> {
        let index = self.functions.partition_point(|f| f.low <= address).checked_sub(1)?;
        let function = &self.functions[index];
        (address < function.high).then_some((index, function))
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text: String = self.files.iter().map(|file| format!("s {file}\n")).collect();
        for Function { low, high, file, name, rows, variables } in &self.functions {
            text += &format!("f {low:x} {high:x} {file} {name}\n");
            for Row { address, line, column } in rows {
                text += &format!("r {address:x} {line} {column}\n");
            }
            for v in variables {
                let steps: Vec<String> = v.steps.iter().map(i64::to_string).collect();
                let (steps, node) = (steps.join(","), u8::from(v.is_node));
                text += &format!("v {:x} {:x} {} {steps} {node} {}\n", v.low, v.high, v.line, v.expression);
            }
        }
        text
    }

    /// Reads the text form.
    pub fn from_text(text: &str) -> Result<CodeMap, Malformed> {
        let mut map = CodeMap::default();
        for (number, line) in (1..).zip(text.lines()) {
            map.add_line(line).ok_or(Malformed { line: number })?;
        }
        Ok(map)
    }

    fn add_line(&mut self, line: &str) -> Option<()> {
        let hex = |word: &str| u64::from_str_radix(word, 16).ok();
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "s" => self.files.push(rest.to_owned()),
            "f" => {
                let mut words = rest.splitn(4, ' ');
                let (low, high) = (hex(words.next()?)?, hex(words.next()?)?);
                let file: usize = words.next()?.parse().ok()?;
                let overlaps = self.functions.last().is_some_and(|before| low < before.high);
                if high < low || overlaps || file >= self.files.len() {
                    return None;
                }
                let (name, rows, variables) = (words.next()?.to_owned(), Vec::new(), Vec::new());
                self.functions.push(Function { low, high, file, name, rows, variables });
            }
            "r" => {
                let mut words = rest.split(' ');
                let (address, line, column) = (words.next()?, words.next()?, words.next()?);
                let row =
                    Row { address: hex(address)?, line: line.parse().ok()?, column: column.parse().ok()? };
                self.functions.last_mut()?.rows.push(row);
            }
            "v" => {
                let mut words = rest.splitn(6, ' ');
                let (low, high) = (hex(words.next()?)?, hex(words.next()?)?);
                let line = words.next()?.parse().ok()?;
                let steps: Option<Vec<i64>> =
                    words.next()?.split(',').map(|step| step.parse().ok()).collect();
                let is_node = words.next()? == "1";
                let expression = words.next()?.to_owned();
                let variable = Variable { low, high, line, steps: steps?, is_node, expression };
                self.functions.last_mut()?.variables.push(variable);
            }
            _ => return None,
        }
        Some(())
    }
}

impl Function {
    /// The place in the source of the byte at `address`; `None` for code that is of no line.
    pub fn row_at(&self, address: u64) -> Option<&Row> {
        let index = self.rows.partition_point(|row| row.address <= address).checked_sub(1)?;
        self.rows.get(index).filter(|row| row.line != 0)
    }
}

impl Variable {
    /// True while the code at `address` can name it.
    pub fn is_in_scope(&self, address: u64) -> bool {
        self.low <= address && address < self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> CodeMap {
        let row = |address, line, column| Row { address, line, column };
        let variable = Variable {
            low: 0x14,
            high: 0x30,
            line: 8,
            steps: vec![-40, 16],
            is_node: true,
            expression: "*It of a".to_owned(),
        };
        let function = |low, high, file, name: &str| Function {
            low,
            high,
            file,
            name: name.to_owned(),
            rows: vec![row(low, 7, 1), row(low + 4, 8, 3), row(low + 8, 0, 0)],
            variables: vec![variable.clone()],
        };
        let functions =
            vec![function(0x10, 0x20, 1, "(anonymous namespace)::A::b"), function(0x30, 0x40, 0, "c")];
        CodeMap { files: vec!["a b.cpp".to_owned(), "c.cpp".to_owned()], functions }
    }

    #[test]
    fn the_text_form_comes_back_the_same() {
        assert_eq!(CodeMap::from_text(&map().to_text()).unwrap(), map());
        assert_eq!(CodeMap::from_text("").unwrap(), CodeMap::default());
    }

    #[test]
    fn addresses_lead_to_functions_and_lines() {
        let map = map();
        let name =
            |address| map.function_at(address).map(|(index, function)| (index, function.name.as_str()));
        assert_eq!(name(0xf), None);
        assert_eq!(name(0x10), Some((0, "(anonymous namespace)::A::b")));
        assert_eq!(name(0x20), None, "the gap between two functions is of neither");
        assert_eq!(name(0x3f), Some((1, "c")));
        let line = |address| map.functions[0].row_at(address).map(|row| row.line);
        assert_eq!((line(0xf), line(0x13), line(0x14), line(0x18)), (None, Some(7), Some(8), None));
    }

    #[test]
    fn a_line_that_is_cut_or_out_of_place_is_named() {
        for (text, line) in [
            ("s f\nf 10", 2),
            ("r 1 2 3", 1),
            ("s f\nf 10 20 0 a\nv 1 2 3 x 0 I", 3),
            ("s f\nf 10 20 0 a\nf 18 30 0 b", 3),
            ("s f\nf 10 20 1 a", 2),
            ("q 1", 1),
        ] {
            assert_eq!(CodeMap::from_text(text), Err(Malformed { line }), "{text}");
        }
    }
}
