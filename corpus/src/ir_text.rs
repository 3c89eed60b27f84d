//! Printed IR, read just far enough: functions, blocks, one text per instruction, and debug locations.
//!
//! Made for what `opt -S` prints, in all supported versions; hand-written IR may be laid out in ways that
//! are not understood here. Nothing is guessed: what cannot be read is not found.

use std::collections::HashMap;

use regex_lite::Regex;

/// Where to look for an instruction in a printed module.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Name of the function without `@`; `None` for any.
    pub function: Option<String>,
    /// Name of the block without `%`; `None` for any.
    pub block: Option<String>,
    /// What the text of the instruction, without indentation, has to match.
    pub pattern: Regex,
}

/// The instruction that a probe led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationInfo {
    /// Function that it is in, without `@`.
    pub function: String,
    /// Block that it is in, without `%`; `None` in an entry block without a label.
    pub block: Option<String>,
    /// `%name`; `None` for an instruction without a result.
    pub name: Option<String>,
    /// Opcode as in the IR.
    pub opcode: String,
    /// Its debug location.
    pub location: LocationText,
}

impl DestinationInfo {
    fn new(inst: &Instruction<'_>, location: LocationText) -> DestinationInfo {
        DestinationInfo {
            function: inst.function.into(),
            block: inst.block.map(str::to_owned),
            name: inst.name().map(str::to_owned),
            opcode: inst.opcode().into(),
            location,
        }
    }
}

/// A location as `llvm-truth.json` writes it: `5:1@f`, or `-` for none. Inlining is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LocationText(pub String);

impl LocationText {
    /// No location attached; not the same as line 0.
    pub fn none() -> LocationText {
        LocationText("-".into())
    }
}

impl std::fmt::Display for LocationText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The first instruction of a printed module that a probe matches.
pub fn destination(ir: &str, probe: &Probe) -> Option<DestinationInfo> {
    let metadata = Metadata::read(ir);
    let wanted = |wanted: &Option<String>, name: Option<&str>| wanted.is_none() || wanted.as_deref() == name;
    instructions(ir)
        .find(|inst| {
            wanted(&probe.function, Some(inst.function))
                && wanted(&probe.block, inst.block)
                && probe.pattern.is_match(&inst.text)
        })
        .map(|inst| DestinationInfo::new(&inst, metadata.location_of(&inst.text)))
}

/// The instructions of `after` that have another location than in `before`, which is the same module otherwise;
/// `None` if it is not.
pub fn relocated(before: &str, after: &str) -> Option<Vec<DestinationInfo>> {
    let (old, new) = (Metadata::read(before), Metadata::read(after));
    let (mut befores, mut afters) = (instructions(before), instructions(after));
    let mut changed = Vec::new();
    loop {
        let (was, is) = match (befores.next(), afters.next()) {
            (Some(was), Some(is)) => (was, is),
            (None, None) => return Some(changed),
            _ => return None,
        };
        if (was.function, was.name(), was.opcode()) != (is.function, is.name(), is.opcode()) {
            return None;
        }
        let location = new.location_of(&is.text);
        if old.location_of(&was.text) != location {
            changed.push(DestinationInfo::new(&is, location));
        }
    }
}

/// One instruction of a printed module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction<'a> {
    /// The function's name without `@`.
    pub function: &'a str,
    /// The block's label; `None` for an entry block that has none.
    pub block: Option<&'a str>,
    /// The text without indentation; instructions printed on several lines are joined with spaces.
    pub text: String,
}

impl Instruction<'_> {
    /// `%name` of the result.
    pub fn name(&self) -> Option<&str> {
        let (name, _) = self.text.split_once(" = ")?;
        (name.starts_with('%') && !name.contains(' ')).then_some(name)
    }

    /// The opcode, behind the result and the markers of calls.
    pub fn opcode(&self) -> &str {
        let text = match self.name() {
            Some(name) => &self.text[name.len() + " = ".len()..],
            None => &self.text,
        };
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.find(|word| !matches!(*word, "tail" | "musttail" | "notail")).unwrap_or_default()
    }
}

/// All instructions of a printed module in order. Debug records are not instructions; intrinsics are.
pub fn instructions(ir: &str) -> impl Iterator<Item = Instruction<'_>> {
    let mut lines = ir.lines().peekable();
    let mut function = None;
    let mut block = None;
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            let text = line.trim_start();
            if line.starts_with("define ") {
                (function, block) = (defined_name(line), None);
                continue;
            }
            if line == "}" {
                function = None;
            }
            let Some(function) = function else { continue };
            if text.len() == line.len() {
                block = label(line).or(block);
                continue;
            }
            if text.is_empty() || text.starts_with([';', '#']) {
                continue;
            }
            let mut joined = text.trim_end().to_owned();
            // The cases of a switch stand on lines of their own, up to the closing bracket ...
            if joined.ends_with('[') {
                for case in lines.by_ref() {
                    joined.push(' ');
                    joined.push_str(case.trim());
                    if case.trim_start().starts_with(']') {
                        break;
                    }
                }
            }
            // ... and destinations of an invoke, clauses of a landingpad on lines with a deeper indentation.
            while let Some(more) = lines.next_if(|line| line.starts_with("        ")) {
                joined.push(' ');
                joined.push_str(more.trim());
            }
            return Some(Instruction { function, block, text: joined });
        }
    })
}

/// The name in `define ... @name(`, quotes removed.
fn defined_name(line: &str) -> Option<&str> {
    let after = line.split_once('@')?.1;
    match after.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => after.split('(').next(),
    }
}

/// The name in `name:` or `"name":` at the beginning of a line.
fn label(line: &str) -> Option<&str> {
    match line.strip_prefix('"') {
        Some(quoted) => quoted.split_once("\":").map(|(name, _)| name),
        None => line.split_once(':').map(|(name, _)| name).filter(|name| !name.contains([' ', ';', '!'])),
    }
}

/// The numbered metadata of a module.
#[derive(Debug, Default)]
pub struct Metadata<'a> {
    nodes: HashMap<&'a str, &'a str>,
}

impl<'a> Metadata<'a> {
    /// Reads the lines `!N = ...`.
    pub fn read(ir: &'a str) -> Metadata<'a> {
        let nodes = ir.lines().filter_map(|line| {
            let (number, node) = line.strip_prefix('!')?.split_once(" = ")?;
            number.bytes().all(|byte| byte.is_ascii_digit()).then_some((number, node))
        });
        Metadata { nodes: nodes.collect() }
    }

    /// The text of a node.
    pub(crate) fn node(&self, number: &str) -> Option<&'a str> {
        self.nodes.get(number).copied()
    }

    /// The location behind `!dbg` in the text of an instruction.
    pub fn location_of(&self, inst: &str) -> LocationText {
        let Some((_, after)) = inst.rsplit_once("!dbg !") else { return LocationText::none() };
        let number = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        self.location(number).unwrap_or_else(|| LocationText(format!("?!{number}")))
    }

    fn location(&self, number: &str) -> Option<LocationText> {
        let node = self.nodes.get(number)?;
        let number_field = |name| field(node, name).unwrap_or("0");
        let subprogram = self.subprogram(field(node, "scope")?)?;
        let name = subprogram.trim_matches('"');
        Some(LocationText(format!("{}:{}@{name}", number_field("line"), number_field("column"))))
    }

    /// The name of the subprogram that encloses a scope.
    fn subprogram(&self, scope: &str) -> Option<&'a str> {
        let mut scope = scope;
        // A scope that encloses itself is not valid; more steps than nodes would mean that.
        for _ in 0..=self.nodes.len() {
            let node = *self.nodes.get(scope.strip_prefix('!')?)?;
            if node.contains("!DISubprogram(") {
                return field(node, "name");
            }
            scope = field(node, "scope")?;
        }
        None
    }
}

/// The value of `name: value` in the text of a metadata node.
pub(crate) fn field<'a>(node: &'a str, name: &str) -> Option<&'a str> {
    let inside = &node[node.find('(')? + 1..];
    let mut quoted = false;
    let mut depth = 0usize;
    let mut parts = inside.split(|c: char| {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && !quoted && depth == 0
    });
    let value = parts.find_map(|part| part.trim_start().strip_prefix(name)?.strip_prefix(": "))?;
    Some(value.strip_suffix(')').unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODULE: &str = r#"
; ModuleID = 'x'
define i32 @f(i32 %x) !dbg !5 {
  %a = add i32 %x, 1, !dbg !8
    #dbg_value(i32 %a, !9, !DIExpression(), !8)
  switch i32 %a, label %"odd name" [
    i32 1, label %next
  ], !dbg !10

next:                                             ; preds = %0
  %c = tail call i32 @g(), !dbg !11
  invoke void @h()
          to label %"odd name" unwind label %pad, !dbg !12

"odd name":
  ret i32 %x

pad:
  %p = landingpad { ptr, i32 }
          cleanup, !dbg !8
  ret i32 0, !dbg !99
}

define void @"a name"() {
entry:
  br label %entry
}

!5 = distinct !DISubprogram(name: "f, (really)", linkageName: "f", scope: null, line: 1)
!6 = !DILexicalBlock(scope: !5, file: !1, line: 3)
!7 = !{i32 1}
!8 = !DILocation(line: 4, column: 9, scope: !6)
!10 = !DILocation(line: 0, scope: !5)
!11 = distinct !DILocation(line: 7, column: 2, scope: !6, inlinedAt: !8)
!12 = !DILocation(line: 3, column: 1, scope: !13)
!13 = !DILexicalBlock(scope: !13)
"#;

    fn find(function: Option<&str>, block: Option<&str>, pattern: &str) -> Option<DestinationInfo> {
        let probe = Probe {
            function: function.map(str::to_owned),
            block: block.map(str::to_owned),
            pattern: Regex::new(pattern).unwrap(),
        };
        destination(MODULE, &probe)
    }

    #[test]
    fn locations_are_followed_through_scopes_to_the_subprogram() {
        assert_eq!(
            find(Some("f"), None, "^%a = ").unwrap(),
            DestinationInfo {
                function: "f".into(),
                block: None,
                name: Some("%a".into()),
                opcode: "add".into(),
                location: LocationText("4:9@f, (really)".into()),
            }
        );
        assert_eq!(find(None, Some("next"), "^%c").unwrap().location.0, "7:2@f, (really)");
    }

    #[test]
    fn line_zero_is_not_no_location() {
        let switch = find(None, None, "^switch").unwrap();
        assert_eq!((switch.name, switch.opcode.as_str()), (None, "switch"));
        assert_eq!(switch.location.0, "0:0@f, (really)");
        assert_eq!(find(Some("a name"), Some("entry"), "^br").unwrap().location, LocationText::none());
    }

    #[test]
    fn instructions_on_several_lines_are_one() {
        let texts: Vec<_> = instructions(MODULE).map(|inst| inst.text).collect();
        assert_eq!(texts[1], r#"switch i32 %a, label %"odd name" [ i32 1, label %next ], !dbg !10"#);
        assert_eq!(texts[3], r#"invoke void @h() to label %"odd name" unwind label %pad, !dbg !12"#);
        assert_eq!(texts[5], "%p = landingpad { ptr, i32 } cleanup, !dbg !8");
        assert_eq!(texts.len(), 8);
    }

    #[test]
    fn what_has_another_location_is_listed() {
        // Numbers of metadata do not matter, what they stand for does.
        let other = MODULE.replace("%c = tail call i32 @g(), !dbg !11", "%c = tail call i32 @g(), !dbg !8");
        let changed = relocated(MODULE, &other).unwrap();
        let shown: Vec<_> =
            changed.iter().map(|inst| (inst.name.as_deref(), inst.location.0.as_str())).collect();
        assert_eq!(shown, [(Some("%c"), "4:9@f, (really)")]);
        assert_eq!(relocated(MODULE, MODULE), Some(Vec::new()));
        assert_eq!(relocated(MODULE, &MODULE.replace("%c = tail call", "%d = tail call")), None);
        assert_eq!(relocated(MODULE, &MODULE.replace("  ret i32 %x\n", "")), None);
    }

    #[test]
    fn blocks_and_functions_restrict_the_search() {
        assert_eq!(find(Some("f"), Some("odd name"), "^ret").unwrap().location, LocationText::none());
        assert_eq!(find(Some("g"), None, "."), None);
        assert_eq!(find(Some("f"), Some("entry"), "^br"), None);
        assert_eq!(find(None, None, "^%c").unwrap().opcode, "call");
    }

    #[test]
    fn a_broken_location_is_shown_as_such() {
        assert_eq!(find(None, Some("pad"), "^ret").unwrap().location.0, "?!99");
        assert_eq!(find(None, None, "^invoke").unwrap().location.0, "?!12");
    }

    proptest! {
        #[test]
        fn no_text_panics(lines in proptest::collection::vec(r#"(define |@|"|\(|\)|[a-z%:=! ,]|!dbg !|!1 = |scope: !1|\[|\]|        |\})*"#, 0..12)) {
            let text = lines.join("\n");
            let probe = Probe { function: None, block: None, pattern: Regex::new("x").unwrap() };
            destination(&text, &probe);
            instructions(&text).for_each(|inst| drop(inst.opcode().to_owned()));
        }
    }
}
