//! Whether two printed modules differ in more than discriminators.
//!
//! A discriminator tells copies of a line apart for a sample profiler; no debugger shows it, and two locations that
//! differ in nothing else are the same place. LLVM keeps it in a scope between the location and its block
//! (`DILexicalBlockFile`). Whatever else differs, and whatever is not understood here, is a difference.

use crate::ir_text::{Metadata, field, instructions};

/// What the text of a module has beside locations and discriminators: instructions, then metadata, without numbers.
#[derive(Debug, PartialEq, Eq)]
struct Plain {
    /// Text and location of each instruction.
    instructions: Vec<(String, String)>,
    /// All lines but those of instructions, locations and scopes for discriminators; metadata in the order of its text.
    others: Vec<String>,
}

/// True if the modules have the same instructions with the same locations, whatever discriminators these have.
pub fn differ_in_nothing_else(before: &str, after: &str) -> bool {
    plain(before).is_some_and(|before| plain(after) == Some(before))
}

fn plain(ir: &str) -> Option<Plain> {
    let metadata = Metadata::read(ir);
    let with_place = |text: String| {
        let place = match text.rsplit_once("!dbg !") {
            Some((_, after)) => place(&metadata, number(after), 0)?,
            None => String::new(),
        };
        Some((unnumbered(&text), place))
    };
    let instructions = instructions(ir).map(|inst| with_place(inst.text)).collect::<Option<Vec<_>>>()?;
    let is_place = |line: &str| line.contains("!DILocation(") || line.contains("!DILexicalBlockFile(");
    let is_instruction = |line: &str| line.starts_with(' ') && !line.trim_start().starts_with('#');
    let others = ir.lines().filter(|line| !is_place(line) && !is_instruction(line));
    let mut others: Vec<String> = others.map(unnumbered).collect();
    others.sort();
    Some(Plain { instructions, others })
}

/// A location with all scopes and calls around it, each by what it says.
fn place(metadata: &Metadata<'_>, number_of: &str, depth: usize) -> Option<String> {
    // A cycle is not valid; nothing valid is nested as deep.
    if depth > 1000 {
        return None;
    }
    let node = metadata.node(number_of)?;
    let outer = |name: &str| match field(node, name).and_then(|value| value.strip_prefix('!')) {
        Some(outer) => place(metadata, outer, depth + 1),
        None => Some(String::new()),
    };
    if node.contains("!DILexicalBlockFile(") {
        return outer("scope");
    }
    if node.contains("!DISubprogram(") {
        return Some(unnumbered(node));
    }
    Some(format!("{} in [{}] at [{}]", unnumbered(node), outer("scope")?, outer("inlinedAt")?))
}

fn number(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()
}

/// The text with every `!12` as `!`: numbers shift when there is one node more.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split('!');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('!');
        plain.push_str(&part[number(part).len()..]);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"
define void @f() !dbg !5 {
  call void @g(), !dbg !8
    #dbg_value(i32 0, !9, !DIExpression(), !8)
  ret void, !dbg !8
}

!5 = distinct !DISubprogram(name: "f", scope: null, line: 1)
!8 = !DILocation(line: 4, column: 9, scope: !5)
!9 = !DILocalVariable(name: "v", scope: !5)
"#;

    fn changed(from: &str, to: &str) -> String {
        let text = MODULE.replace(from, to);
        assert_ne!(text, MODULE);
        text
    }

    #[test]
    fn a_discriminator_is_no_difference() {
        let first = changed("call void @g(), !dbg !8", "call void @g(), !dbg !10")
            + "!10 = !DILocation(line: 4, column: 9, scope: !11)\n\
               !11 = !DILexicalBlockFile(scope: !5, file: !1, discriminator: 2)\n";
        assert!(differ_in_nothing_else(MODULE, &first));
        assert!(differ_in_nothing_else(MODULE, MODULE));
        assert!(!differ_in_nothing_else(
            MODULE,
            &first.replace("line: 4, column: 9, scope: !11", "line: 5, scope: !11")
        ));
    }

    #[test]
    fn everything_else_is() {
        let located = |location: &str| changed("g(), !dbg !8", "g(), !dbg !10") + "!10 = " + location + "\n";
        let others = [
            located("!DILocation(line: 4, column: 8, scope: !5)"),
            located("!DILocation(line: 4, column: 9, scope: !5, inlinedAt: !8)"),
            located("!DILocation(line: 4, column: 9, scope: !10)"),
            changed("g(), !dbg !8", "g()"),
            changed("@g()", "@h()"),
            changed("i32 0", "i32 1"),
            changed("\"v\"", "\"w\""),
            changed("line: 1", "line: 2"),
            changed("  ret void, !dbg !8\n", ""),
        ];
        for other in others {
            assert!(!differ_in_nothing_else(MODULE, &other), "{other}");
        }
    }
}
