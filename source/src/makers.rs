//! The statements of a source file that create, clone, move or replace instructions: what a pass's tests should
//! reach, since a statement that no input reached was not judged.
//!
//! Read off the names of the functions that a statement calls, which are LLVM's: `clone`, `moveBefore`,
//! `replaceAllUsesWith`, `CreateAdd`, `PHINode::Create`, `new LoadInst`. A call of a function that is written in
//! the same file does not count: what it does is done by the statements in it.

use std::collections::{BTreeSet, HashSet};

use tree_sitter::Node;

use crate::statement::SourceFile;

/// Line and column of a statement's first character.
pub type Place = (u32, u32);

/// What `Create` makes that is no instruction.
const NO_INSTRUCTIONS: [&str; 8] = [
    "BasicBlock",
    "Function",
    "GlobalVariable",
    "GlobalAlias",
    "GlobalIFunc",
    "Module",
    "MDBuilder",
    "DIBuilder",
];

impl SourceFile {
    /// The statements that create, clone, move or replace instructions.
    pub fn makers(&self) -> BTreeSet<Place> {
        let mut calls = Vec::new();
        let mut own = HashSet::new();
        self.visit(self.root(), &mut |node| match node.kind() {
            "call_expression" | "new_expression" => calls.push(node),
            "function_definition" => own.extend(self.defined_name(node)),
            _ => {}
        });
        let makers = calls.into_iter().filter(|call| self.is_maker(*call, &own));
        let statements = makers.filter_map(|call| {
            let at = call.start_position();
            self.statement_at(at.row as u32 + 1, at.column as u32 + 1)
        });
        statements.map(|statement| (statement.line, statement.column)).collect()
    }

    pub(crate) fn visit<'a>(&'a self, node: Node<'a>, see: &mut impl FnMut(Node<'a>)) {
        see(node);
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.visit(child, see);
        }
    }

    /// The last part of the name that a function is defined under.
    pub(crate) fn defined_name(&self, definition: Node<'_>) -> Option<String> {
        let mut declarator = definition.child_by_field_name("declarator")?;
        while declarator.kind() != "function_declarator" {
            declarator = declarator.child_by_field_name("declarator").or_else(|| {
                declarator.named_child(0).filter(|_| declarator.kind() == "reference_declarator")
            })?;
        }
        Some(last_name(self.text_of(declarator.child_by_field_name("declarator")?)).to_owned())
    }

    fn is_maker(&self, call: Node<'_>, own: &HashSet<String>) -> bool {
        if call.kind() == "new_expression" {
            let class = call.child_by_field_name("type").map(|class| self.text_of(class)).unwrap_or_default();
            return class.ends_with("Inst") || class == "PHINode";
        }
        let Some(function) = call.child_by_field_name("function") else { return false };
        let text = self.text_of(function);
        let name = last_name(text);
        if own.contains(name) {
            return false;
        }
        if name.starts_with("Create") {
            let class = text[..text.len() - name.len()].trim_end_matches("::");
            return !NO_INSTRUCTIONS.contains(&last_name(class));
        }
        let replaces = name.starts_with("replace") && name.contains("Use");
        let moves = name.starts_with("moveBefore") || name.starts_with("moveAfter") || name == "splice";
        let by_helper = ["ReplaceInstWithInst", "ReplaceInstWithValue", "replaceAndRecursivelySimplify"];
        name == "clone" || replaces || moves || by_helper.contains(&name)
    }
}

/// `run` of `A<B>::run`, `clone` of `Old->clone`, `cast` of `cast<X>`.
pub(crate) fn last_name(text: &str) -> &str {
    let name = match text.strip_suffix('>') {
        Some(_) => &text[..template_arguments(text).unwrap_or(text.len())],
        None => text,
    };
    let start = name.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    &name[start..]
}

/// Where the template arguments at the end of a text begin.
fn template_arguments(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    text.char_indices().rev().find_map(|(at, c)| {
        match c {
            '>' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (c == '<' && depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(body: &str) -> Vec<u32> {
        let file = SourceFile::parse(body.to_owned()).unwrap();
        file.makers().into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn the_four_kinds_are_found() {
        let body = "void f() {
  Instruction *New = Old->clone();
  Builder.CreateAdd(A, B);
  auto *P = PHINode::Create(T, 2);
  auto *L = new LoadInst(T, P);
  New->moveBefore(Old);
  BB->splice(BB->end(), Other);
  Old->replaceAllUsesWith(New);
  if (auto *S = Builder.CreateSelect(C, A, B))
    use(S);
}";
        assert_eq!(lines(body), [2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn what_makes_no_instruction_is_left_out() {
        let body = "static Value *CreateNeg(Value *V) { return V; }
void f() {
  BasicBlock *BB = BasicBlock::Create(C);
  auto *F = llvm::Function::Create(T);
  CreateNeg(V);
  replace(A, B);
  X = new Thing();
  Old->eraseFromParent();
  g();
}";
        assert!(lines(body).is_empty(), "{:?}", lines(body));
    }

    #[test]
    fn a_statement_with_two_calls_is_one() {
        assert_eq!(lines("void f() {\n  X->replaceAllUsesWith(\n      Y->clone());\n}"), [2]);
    }

    #[test]
    fn names() {
        assert_eq!(last_name("Old->clone"), "clone");
        assert_eq!(last_name("IRBuilder<>(I).CreateAdd"), "CreateAdd");
        assert_eq!(last_name("cast<X>"), "cast");
        assert_eq!(last_name("A::B::run"), "run");
    }
}
