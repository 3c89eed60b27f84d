//! IR text with a mark at every instruction: a line number that nothing else has. So the instruction of a proof is found
//! again as an address of an unoptimised program, where line and column of the source would name several.
//!
//! Two texts are made with the same numbers. In one, a `nop` before each instruction has the mark as its line: compiled,
//! it is the program as it is written, with a place to stop before each instruction, whatever becomes of the instruction
//! itself. In the other the instructions have the marks as their own lines, so that a pass (`mem2reg`) shows which of them
//! are left.

use std::collections::BTreeMap;

/// Marks are lines from here on: more than a source has.
const FIRST: u32 = 1 << 20;

/// Text with stops before the instructions, at lines that are marks.
pub fn with_stops(text: &str) -> String {
    marked(text, |out, line, (indent, number)| {
        // Phi nodes come first in their block.
        if !line.contains(" = phi ") {
            out.push_str(&format!("{indent}call void asm sideeffect \"nop\", \"\"(), !dbg !{number}\n"));
        }
        out.push_str(line);
    })
}

/// Text with the marks as the lines of the instructions.
pub fn with_lines(text: &str) -> String {
    marked(text, |out, line, (_, number)| {
        let (before, after) = line.split_once("!dbg !").unwrap_or((line, ""));
        let after = after.trim_start_matches(|one: char| one.is_ascii_digit());
        out.push_str(&format!("{before}!dbg !{number}{after}"));
    })
}

/// Whether a line is a mark.
pub fn is_mark(line: u32) -> bool {
    line >= FIRST
}

/// Calls `write` for each instruction that has a location, with the number of a new location; other lines are copied.
fn marked(text: &str, write: impl Fn(&mut String, &str, (&str, u64))) -> String {
    let scopes = scopes(text);
    let mut next = 1 + text.lines().filter_map(number_of_node).max().unwrap_or(0);
    let (mut out, mut nodes) = (String::new(), String::new());
    let mut mark = FIRST;
    let mut inside = false;
    // Lines of a statement that goes over several.
    let mut begun = String::new();
    for line in text.lines() {
        if line.starts_with("define ") {
            inside = true;
        } else if line.starts_with('}') {
            inside = false;
        } else if inside && line.starts_with(' ') && !is_record(line) {
            begun.push_str(line);
            let open = begun.trim_start().starts_with("switch ") && !begun.contains(']');
            let statement = if open {
                begun.push('\n');
                continue;
            } else {
                std::mem::take(&mut begun)
            };
            if let Some(scope) = location_of(&statement).and_then(|number| scopes.get(&number)) {
                let indent = &statement[..statement.len() - statement.trim_start().len()];
                write(&mut out, &statement, (indent, next));
                nodes.push_str(&format!("!{next} = !DILocation(line: {mark}, scope: {scope})\n"));
                (next, mark) = (next + 1, mark + 1);
            } else {
                out.push_str(&statement);
            }
            out.push('\n');
            continue;
        }
        // A statement that never ends is no statement.
        out.push_str(&std::mem::take(&mut begun));
        out.push_str(line);
        out.push('\n');
    }
    out + &begun + &nodes
}

/// A debug record, or a call that is one in older LLVMs.
fn is_record(line: &str) -> bool {
    line.trim_start().starts_with("#dbg_") || line.contains("@llvm.dbg.")
}

/// The number of a metadata node that a line defines.
fn number_of_node(line: &str) -> Option<u64> {
    line.strip_prefix('!')?.split_once(" = ")?.0.parse().ok()
}

/// The number of an instruction's location.
fn location_of(statement: &str) -> Option<u64> {
    let (_, after) = statement.rsplit_once(", !dbg !")?;
    let digits = after.find(|one: char| !one.is_ascii_digit()).unwrap_or(after.len());
    after[..digits].parse().ok()
}

/// The scopes of all locations, as they are written.
fn scopes(text: &str) -> BTreeMap<u64, &str> {
    let location = |line: &'_ str| -> Option<(u64, usize, usize)> {
        let number = number_of_node(line)?;
        let start = line.find("!DILocation(").and_then(|at| Some(at + line[at..].find("scope: ")? + 7))?;
        let end = start + line[start..].find([',', ')'])?;
        Some((number, start, end))
    };
    text.lines()
        .filter_map(|line| location(line).map(|(number, start, end)| (number, &line[start..end])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "define i32 @f(i32 %0) !dbg !4 {
  %2 = alloca i32, align 4
    #dbg_declare(ptr %2, !5, !DIExpression(), !6)
  store i32 0, ptr %2, align 4, !dbg !6
  switch i32 %0, label %3 [
    i32 1, label %3
  ], !dbg !7, !annotation !3

3:
  %4 = phi i32 [ 0, %1 ], !dbg !7
  ret i32 0, !dbg !7
}

!3 = !{}
!6 = !DILocation(line: 2, column: 7, scope: !4)
!7 = !DILocation(line: 3, column: 1, scope: !8, inlinedAt: !9)
";

    #[test]
    fn instructions_with_a_location_get_a_number_each() {
        let lines = with_lines(TEXT);
        for expected in [
            "store i32 0, ptr %2, align 4, !dbg !8\n",
            "  ], !dbg !9, !annotation !3\n",
            "%4 = phi i32 [ 0, %1 ], !dbg !10\n",
            "ret i32 0, !dbg !11\n",
            "%2 = alloca i32, align 4\n",
            "#dbg_declare(ptr %2, !5, !DIExpression(), !6)\n",
            "!8 = !DILocation(line: 1048576, scope: !4)\n",
            "!11 = !DILocation(line: 1048579, scope: !8)\n",
        ] {
            assert!(lines.contains(expected), "{expected}{lines}");
        }
    }

    #[test]
    fn stops_have_the_numbers_of_the_instructions_after_them() {
        let stops = with_stops(TEXT);
        let nop = |number: u64| format!("  call void asm sideeffect \"nop\", \"\"(), !dbg !{number}\n");
        let expected = [
            nop(8) + "  store i32 0, ptr %2, align 4, !dbg !6\n",
            nop(9) + "  switch i32 %0, label %3 [\n    i32 1, label %3\n  ], !dbg !7",
            nop(11) + "  ret i32 0, !dbg !7\n",
        ];
        for expected in expected {
            assert!(stops.contains(&expected), "{expected}{stops}");
        }
        assert!(!stops.contains(&nop(10)), "no stop before a phi node: {stops}");
        assert!(is_mark(1_048_576) && !is_mark(70_000));
    }
}
