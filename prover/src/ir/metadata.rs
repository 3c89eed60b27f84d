//! Debug metadata: locations, variables and their types. Only what names variables and lines is read; other
//! nodes are skipped.

use super::token::{Token, tokens};
use metaloc_proof::SourceLocation;
use std::collections::HashMap;

/// The numbered nodes of a module.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    nodes: HashMap<u32, Node>,
}

/// A specialised node: its kind, and each field up to the next comma.
#[derive(Debug, Clone)]
struct Node {
    kind: String,
    fields: HashMap<String, Token>,
}

/// A variable of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceVariable {
    /// Its name.
    pub name: String,
    /// Where it is declared. LLVM does not keep the column: it is 0.
    pub declared: SourceLocation,
    /// Size of its type.
    pub width_bits: u32,
    /// Whether its type is signed.
    pub signed: bool,
}

/// Chains of typedefs and scopes longer than this are taken as broken.
const CHAIN: u32 = 64;

impl Metadata {
    /// Takes a line `!12 = ...`; false if it is no such line.
    pub(super) fn take(&mut self, line: &str) -> bool {
        let Ok(words) = tokens(line) else { return line.starts_with('!') };
        let [Token::Metadata(number), Token::Punctuation('='), rest @ ..] = words.as_slice() else {
            return false;
        };
        let rest = match rest {
            [Token::Word(distinct), rest @ ..] if distinct == "distinct" => rest,
            rest => rest,
        };
        if let (Ok(number), [Token::Metadata(kind), Token::Punctuation('('), fields @ ..]) =
            (number.parse(), rest)
        {
            self.nodes.insert(number, Node { kind: kind.clone(), fields: read_fields(fields) });
        }
        true
    }

    /// The place that a `!dbg` names.
    pub fn location(&self, number: u32) -> Option<SourceLocation> {
        let node = self.node(number, "DILocation")?;
        let scope = node.reference("scope")?;
        Some(SourceLocation {
            file: self.file(scope)?,
            line: node.number("line").unwrap_or(0),
            column: node.number("column").unwrap_or(0),
        })
    }

    /// The variable that a debug record names; nothing if its type is no number or pointer.
    pub fn variable(&self, number: u32) -> Option<SourceVariable> {
        let node = self.node(number, "DILocalVariable")?;
        let (width_bits, signed) = self.scalar(node.reference("type")?)?;
        Some(SourceVariable {
            name: node.text("name")?,
            declared: SourceLocation {
                file: self.file(node.reference("file").or(node.reference("scope"))?)?,
                line: node.number("line").unwrap_or(0),
                column: 0,
            },
            width_bits,
            signed,
        })
    }

    /// Whether a variable is in scope at a place.
    pub fn in_scope(&self, location: u32, variable: u32) -> bool {
        let scope_of = |number, kind| self.node(number, kind).and_then(|node| node.reference("scope"));
        let (Some(mut scope), Some(home)) =
            (scope_of(location, "DILocation"), scope_of(variable, "DILocalVariable"))
        else {
            return false;
        };
        for _ in 0..CHAIN {
            if scope == home {
                return true;
            }
            match self.nodes.get(&scope).and_then(|node| node.reference("scope")) {
                Some(outer) => scope = outer,
                None => return false,
            }
        }
        false
    }

    /// Name of the file that a scope is in.
    fn file(&self, mut scope: u32) -> Option<String> {
        for _ in 0..CHAIN {
            let node = self.nodes.get(&scope)?;
            if node.kind == "DIFile" {
                return node.text("filename");
            }
            scope = node.reference("file").or(node.reference("scope"))?;
        }
        None
    }

    /// Width and signedness of a type, behind typedefs and qualifiers.
    fn scalar(&self, mut of: u32) -> Option<(u32, bool)> {
        for _ in 0..CHAIN {
            let node = self.nodes.get(&of)?;
            let size = || node.number("size").filter(|size| (1..=128).contains(size));
            match (node.kind.as_str(), node.word("tag")) {
                ("DIBasicType", _) => {
                    let encoding = node.word("encoding")?;
                    let signed = matches!(encoding, "DW_ATE_signed" | "DW_ATE_signed_char");
                    let number = signed
                        || matches!(
                            encoding,
                            "DW_ATE_unsigned" | "DW_ATE_unsigned_char" | "DW_ATE_boolean" | "DW_ATE_UTF"
                        );
                    return number.then_some((size()?, signed));
                }
                ("DIDerivedType", Some("DW_TAG_pointer_type")) => return Some((size()?, false)),
                ("DIDerivedType", _) => of = node.reference("baseType")?,
                ("DICompositeType", Some("DW_TAG_enumeration_type")) => of = node.reference("baseType")?,
                _ => return None,
            }
        }
        None
    }

    fn node(&self, number: u32, kind: &str) -> Option<&Node> {
        self.nodes.get(&number).filter(|node| node.kind == kind)
    }
}

impl Node {
    fn reference(&self, field: &str) -> Option<u32> {
        match self.fields.get(field)? {
            Token::Metadata(number) => number.parse().ok(),
            _ => None,
        }
    }

    fn number(&self, field: &str) -> Option<u32> {
        self.word(field)?.parse().ok()
    }

    fn word(&self, field: &str) -> Option<&str> {
        match self.fields.get(field)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn text(&self, field: &str) -> Option<String> {
        match self.fields.get(field)? {
            Token::Text(text) => String::from_utf8(text.clone()).ok(),
            _ => None,
        }
    }
}

/// `name: value` pairs; of a value that is more than a word, the first word.
fn read_fields(mut rest: &[Token]) -> HashMap<String, Token> {
    let mut fields = HashMap::new();
    let mut depth = 0;
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (Token::Punctuation('(' | '{'), _) => depth += 1,
            (Token::Punctuation(')' | '}'), _) => depth -= 1,
            (Token::Word(name), [Token::Punctuation(':'), value, ..]) if depth == 0 => {
                fields.insert(name.clone(), value.clone());
            }
            _ => {}
        }
        rest = after;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Metadata {
        let mut metadata = Metadata::default();
        for line in [
            r#"!1 = !DIFile(filename: "k.c", directory: "/d")"#,
            r#"!2 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 5, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)"#,
            r#"!3 = distinct !DILexicalBlock(scope: !2, file: !1, line: 6, column: 3)"#,
            r#"!4 = !DILocation(line: 7, column: 12, scope: !3)"#,
            r#"!5 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)"#,
            r#"!6 = !DIDerivedType(tag: DW_TAG_typedef, name: "number", file: !1, line: 1, baseType: !5)"#,
            r#"!7 = !DILocalVariable(name: "i", scope: !3, file: !1, line: 6, type: !6)"#,
            r#"!8 = !DICompositeType(tag: DW_TAG_array_type, baseType: !5, size: 96, elements: !9)"#,
            r#"!9 = !DILocalVariable(name: "v", scope: !3, file: !1, line: 6, type: !8)"#,
            r#"!10 = !DIDerivedType(tag: DW_TAG_const_type, baseType: !10)"#,
            r#"!11 = !DILocalVariable(name: "w", scope: !3, file: !1, line: 6, type: !10)"#,
        ] {
            assert!(metadata.take(line));
        }
        metadata
    }

    #[test]
    fn locations_and_variables_have_their_file() {
        let metadata = metadata();
        let expected = SourceLocation { file: "k.c".into(), line: 7, column: 12 };
        assert_eq!(metadata.location(4), Some(expected));
        let i = metadata.variable(7).unwrap();
        assert_eq!((i.name.as_str(), i.declared.line, i.width_bits, i.signed), ("i", 6, 32, true));
    }

    #[test]
    fn a_variable_is_in_scope_in_its_block_only() {
        let mut metadata = metadata();
        assert!(metadata.take("!12 = !DILocation(line: 9, column: 1, scope: !2)"));
        assert!(metadata.take("!13 = distinct !DILexicalBlock(scope: !3, file: !1, line: 6, column: 9)"));
        assert!(metadata.take("!14 = !DILocation(line: 6, column: 9, scope: !13)"));
        assert_eq!([4, 14, 12].map(|location| metadata.in_scope(location, 7)), [true, true, false]);
    }

    #[test]
    fn what_is_no_scalar_or_broken_is_no_variable() {
        let metadata = metadata();
        assert_eq!([9, 11, 4, 99].map(|number| metadata.variable(number)), [None, None, None, None]);
        assert_eq!(metadata.location(7), None);
    }
}
