//! Reading a statement of a pass: where it begins and ends, and what it assigns the result of a call to.

use tree_sitter::{Node, Parser, Point, Tree};

/// A parsed source file.
pub struct SourceFile {
    text: String,
    tree: Tree,
}

/// A statement with a call in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// First line, from 1.
    pub line: u32,
    /// First column, from 1.
    pub column: u32,
    /// Last line.
    pub last_line: u32,
    /// The line of a statement that is to be executed right after this one; before it where this one leaves.
    pub next_line: u32,
    /// As written.
    pub text: String,
    /// What the result of the call becomes the value of; `None` if it is used in another way or not at all.
    pub assigned: Option<String>,
}

/// Casts that give the same instruction under another type.
const CASTS: [&str; 8] = [
    "cast",
    "cast_or_null",
    "cast_if_present",
    "dyn_cast",
    "dyn_cast_or_null",
    "dyn_cast_if_present",
    "static_cast",
    "const_cast",
];

impl SourceFile {
    /// Parses C++; `None` only if the parser itself cannot be had.
    pub fn parse(text: String) -> Option<SourceFile> {
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_cpp::LANGUAGE.into()).ok()?;
        let tree = parser.parse(&text, None)?;
        Some(SourceFile { text, tree })
    }

    /// The statement with the call at a place, both numbers from 1. A place where no call begins, or code that
    /// the parser does not understand, is no statement.
    pub fn statement_at(&self, line: u32, column: u32) -> Option<Statement> {
        let point = Point::new(line.checked_sub(1)? as usize, column.checked_sub(1)? as usize);
        let node = self.tree.root_node().named_descendant_for_point_range(point, point)?;
        let call = ancestors(node).find(|node| is_call(*node))?;
        let statement = ancestors(call).find(|node| is_statement(*node))?;
        if statement.has_error() {
            return None;
        }
        // What stands in the head of an `if` or a loop is a part of that.
        let whole = ancestors(statement).take_while(|node| node.kind() != "compound_statement");
        let head = whole.filter(|node| is_head(*node)).last().and_then(|node| node.parent());
        let (first, last) = match head {
            Some(outer) => (outer.start_position(), statement.end_position()),
            None => (statement.start_position(), statement.end_position()),
        };
        let leaves = matches!(statement.kind(), "return_statement" | "co_return_statement");
        let next_line = if leaves { first.row as u32 + 1 } else { last.row as u32 + 2 };
        Some(Statement {
            line: first.row as u32 + 1,
            column: first.column as u32 + 1,
            last_line: last.row as u32 + 1,
            next_line,
            text: self.text_of(statement).to_owned(),
            assigned: self.assigned(call, statement),
        })
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn text_of(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn assigned(&self, call: Node<'_>, statement: Node<'_>) -> Option<String> {
        let mut value = call;
        while value != statement {
            let parent = value.parent()?;
            let is = |field: &str| parent.child_by_field_name(field) == Some(value);
            match parent.kind() {
                "parenthesized_expression" => value = parent,
                "conditional_expression" if !is("condition") => value = parent,
                "init_declarator" if is("value") => {
                    return self.declared(parent.child_by_field_name("declarator")?);
                }
                "assignment_expression" if is("right") => {
                    let left = parent.child_by_field_name("left")?;
                    let named =
                        matches!(left.kind(), "identifier" | "field_expression" | "pointer_expression");
                    let plain = self.text_of(parent.child_by_field_name("operator")?) == "=";
                    return (named && plain).then(|| without_spaces(self.text_of(left)));
                }
                // `if (X *V = f())`: the declaration has the value itself.
                "declaration" if is("value") => {
                    return self.declared(parent.child_by_field_name("declarator")?);
                }
                "argument_list" => {
                    let outer = parent.parent().filter(|outer| outer.kind() == "call_expression")?;
                    let function = self.text_of(outer.child_by_field_name("function")?);
                    let name = function.split('<').next().unwrap_or_default();
                    if !CASTS.contains(&name) {
                        return None;
                    }
                    value = outer;
                }
                _ => return None,
            }
        }
        None
    }

    /// The name in a declarator such as `*const X`.
    fn declared(&self, mut declarator: Node<'_>) -> Option<String> {
        loop {
            match declarator.kind() {
                "identifier" => return Some(self.text_of(declarator).to_owned()),
                "pointer_declarator" | "reference_declarator" => {
                    let inner = declarator.child_by_field_name("declarator");
                    // A reference's is not a field of its own.
                    let last = declarator
                        .named_child_count()
                        .checked_sub(1)
                        .and_then(|last| declarator.named_child(u32::try_from(last).ok()?));
                    declarator = inner.or(last)?;
                }
                _ => return None,
            }
        }
    }
}

pub(crate) fn ancestors(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(Some(node), |node| node.parent())
}

fn is_call(node: Node<'_>) -> bool {
    let declares = node.kind() == "init_declarator"
        && node.child_by_field_name("value").is_some_and(|value| value.kind() == "argument_list");
    declares || matches!(node.kind(), "call_expression" | "new_expression")
}

fn is_statement(node: Node<'_>) -> bool {
    const KINDS: [&str; 6] = [
        "declaration",
        "expression_statement",
        "return_statement",
        "co_return_statement",
        "condition_clause",
        "for_range_loop",
    ];
    KINDS.contains(&node.kind()) || is_head(node)
}

/// The part of an `if`, `while`, `switch` or `for` that is not its body.
fn is_head(node: Node<'_>) -> bool {
    let Some(parent) = node.parent() else { return false };
    match parent.kind() {
        "if_statement" | "while_statement" | "switch_statement" => node.kind() == "condition_clause",
        "for_statement" => parent.child_by_field_name("body") != Some(node) && node.is_named(),
        _ => false,
    }
}

fn without_spaces(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statement with the call at the place of `^` in the line above it.
    fn read(body: &str) -> Option<Statement> {
        let mut lines: Vec<&str> = vec!["void f() {"];
        let mut place = None;
        for line in body.lines() {
            match line.find('^') {
                Some(column) if line.trim() == "^" => place = Some((lines.len() as u32, column as u32 + 1)),
                _ => lines.push(line),
            }
        }
        lines.push("}");
        let (line, column) = place.unwrap();
        SourceFile::parse(lines.join("\n")).unwrap().statement_at(line, column)
    }

    fn assigned(body: &str) -> Option<String> {
        read(body).unwrap().assigned
    }

    #[test]
    fn a_declaration_names_its_variable() {
        assert_eq!(assigned("Instruction *New = Old->clone();\n                        ^").unwrap(), "New");
        assert_eq!(
            assigned("auto &New = *Old;\nauto *N = new SExtInst(A, B);\n              ^").unwrap(),
            "N"
        );
        assert_eq!(
            assigned("Value *V = cast<Value>(X->clone());\n                          ^").unwrap(),
            "V"
        );
    }

    #[test]
    fn a_statement_over_several_lines_begins_with_its_first() {
        let statement =
            read("  Instruction *R = S ? Op::CreateS(X, Y)\n    : Op::CreateU(X, Y);\n      ^").unwrap();
        assert_eq!((statement.line, statement.column, statement.next_line), (2, 3, 4));
        assert_eq!(statement.assigned.as_deref(), Some("R"));
    }

    #[test]
    fn an_assignment_names_what_is_on_its_left() {
        assert_eq!(assigned("V = Cast::Create(V);\n    ^").unwrap(), "V");
        assert_eq!(assigned("Cand.Load = Cast::Create(V);\n            ^").unwrap(), "Cand.Load");
        assert_eq!(assigned("*It = Cast::Create(V);\n      ^").unwrap(), "*It");
    }

    #[test]
    fn a_result_that_is_not_assigned_has_no_name() {
        assert_eq!(assigned("BranchInst::Create(A, B);\n^"), None);
        assert_eq!(assigned("X = g(BranchInst::Create(A, B));\n      ^"), None);
        assert_eq!(assigned("X = BranchInst::Create(A, B)->next();\n    ^"), None);
        assert_eq!(assigned("X += I->clone();\n        ^"), None);
        assert_eq!(assigned("M[K] = I->clone();\n          ^"), None);
        assert_eq!(assigned("X = I->clone() ? A : B;\n       ^"), None);
    }

    #[test]
    fn an_update_of_what_is_returned_goes_before() {
        let statement = read("return I->clone();\n          ^").unwrap();
        assert_eq!((statement.line, statement.next_line), (2, 2));
    }

    #[test]
    fn the_head_of_an_if_is_a_part_of_it() {
        let statement =
            read("  if (a)\n    x();\n  if (auto *N = I->clone())\n                   ^\n    g(N);").unwrap();
        assert_eq!((statement.line, statement.column), (4, 3));
        assert_eq!(statement.assigned.as_deref(), Some("N"));
    }

    #[test]
    fn where_no_call_is_there_is_no_statement() {
        assert_eq!(read("int X = 1;\n    ^"), None);
        assert_eq!(read("\n^"), None);
        let file = SourceFile::parse("int x;".to_owned()).unwrap();
        assert_eq!(file.statement_at(0, 1), None);
        assert_eq!(file.statement_at(900, 1), None);
    }
}
