//! Statements of a pass that set, merge or drop a location, each with the wrong ones that could stand there: what
//! the analysis has to notice if somebody forgets or confuses an update.
//!
//! All mutants of a file are in one text, so that it is compiled once: a statement `S;` becomes
//! `{ if (metaloc_mutant(7)) {} else S; }`, and [`PRELUDE`] says which one is chosen and which were come by. Lines
//! stay what they were; the operation of a statement is read off its name and its argument.

use metaloc_report::Operation;
use tree_sitter::Node;

use crate::makers::last_name;
use crate::statement::{SourceFile, ancestors};

/// What a mutated file needs in front: `METALOC_MUTANT` is the number of the chosen mutant, and the numbers of
/// those that were come by are added to the file `METALOC_MUTANTS_REACHED`.
pub const PRELUDE: &str = r#"#include <cstdio>
#include <cstdlib>
namespace {
struct MetalocMutants {
  int Chosen = 0;
  bool Reached[4096] = {};
  MetalocMutants() {
    if (const char *Text = std::getenv("METALOC_MUTANT"))
      Chosen = std::atoi(Text);
  }
  ~MetalocMutants() {
    const char *Path = std::getenv("METALOC_MUTANTS_REACHED");
    std::FILE *File = Path ? std::fopen(Path, "a") : nullptr;
    if (!File)
      return;
    for (int Number = 0; Number < 4096; ++Number)
      if (Reached[Number])
        std::fprintf(File, "%d\n", Number);
    std::fclose(File);
  }
};
bool metaloc_mutant(int Number) {
  static MetalocMutants All;
  All.Reached[Number] = true;
  return All.Chosen == Number;
}
} // namespace
"#;

/// The most that [`PRELUDE`] has room for.
const MAX_MUTANTS: u32 = 4095;

/// A statement in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// From 1, in the order of the file.
    pub number: u32,
    /// First line of the statement.
    pub line: u32,
    /// First column of it.
    pub column: u32,
    /// The function that it is in, without its class.
    pub function: Option<String>,
    /// The statement as written, spaces and line breaks as one space.
    pub text: String,
    /// What it does.
    pub operation: Operation,
    /// What is done instead.
    pub change: Change,
}

/// How a mutant differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The update is not made.
    Delete,
    /// The location is dropped instead of merged.
    Drop,
    /// The second location is taken as it is instead of merged with the first.
    TakeSecond,
}

impl Change {
    /// In one or two words.
    pub fn name(self) -> &'static str {
        match self {
            Change::Delete => "delete",
            Change::Drop => "drop",
            Change::TakeSecond => "take second",
        }
    }
}

/// A file with all its mutants in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutated {
    /// What to compile, [`PRELUDE`] not included.
    pub text: String,
    /// In the order of their numbers.
    pub mutants: Vec<Mutant>,
}

/// What is put in place of a part of the text.
struct Edit {
    from: usize,
    to: usize,
    text: String,
}

impl SourceFile {
    /// The file with its mutants.
    pub fn mutated(&self) -> Mutated {
        let mut mutants = Vec::new();
        let mut edits: Vec<Edit> = Vec::new();
        self.visit(self.root(), &mut |node| {
            // A statement within one that is replaced already (in a lambda) cannot be replaced again.
            let taken = edits.iter().any(|edit| edit.from <= node.start_byte() && node.end_byte() <= edit.to);
            if node.has_error() || taken || mutants.len() as u32 + 3 > MAX_MUTANTS {
                return;
            }
            let edit = match node.kind() {
                "expression_statement" => self.mutate_statement(node, &mut mutants),
                "call_expression" => self.mutate_argument(node, &mut mutants),
                _ => None,
            };
            edits.extend(edit);
        });
        edits.sort_by_key(|edit| edit.from);
        let mut text = String::new();
        let mut done = 0;
        for edit in &edits {
            text += &self.text()[done..edit.from];
            text += &edit.text;
            done = edit.to;
        }
        text += &self.text()[done..];
        Mutated { text, mutants }
    }

    /// `X->setDebugLoc(L);` and the like.
    fn mutate_statement(&self, statement: Node<'_>, mutants: &mut Vec<Mutant>) -> Option<Edit> {
        let call = statement.named_child(0).filter(|call| call.kind() == "call_expression")?;
        let function = call.child_by_field_name("function").filter(|f| f.kind() == "field_expression")?;
        let receiver = self.text_of(function.child_by_field_name("argument")?);
        if is_record(receiver) {
            return None;
        }
        let operator = self.text_of(function).strip_prefix(receiver)?.trim_start().get(..2)?;
        let operator = if operator == "->" { "->" } else { "." };
        let on = |what: String| format!("{}{operator}{what};", one_line(receiver));
        let whole = self.text_of(statement);
        let arguments = self.arguments(call);
        let name = last_name(self.text_of(function));
        let mut changes = vec![(Change::Delete, "{}".to_owned())];
        let operation = match (name, arguments.as_slice()) {
            ("setDebugLoc" | "SetCurrentDebugLocation", [location]) => {
                let operation = self.operation_of(*location);
                if operation == Operation::Merge {
                    changes.push((Change::Drop, on(format!("{name}(llvm::DebugLoc())"))));
                }
                operation
            }
            ("applyMergedLocation", [_, second]) => {
                let second = one_line(self.text_of(*second));
                changes.push((Change::Drop, on("setDebugLoc(llvm::DebugLoc())".to_owned())));
                changes.push((Change::TakeSecond, on(format!("setDebugLoc({second})"))));
                Operation::Merge
            }
            ("dropLocation" | "updateLocationAfterHoist", []) => Operation::Drop,
            ("copyMetadata", [_]) => {
                let kept = on("setDebugLoc(MetalocKept)".to_owned());
                let read = on("getDebugLoc()".to_owned());
                changes = vec![(
                    Change::Delete,
                    format!("{{ llvm::DebugLoc MetalocKept = {read} {} {kept} }}", one_line(whole)),
                )];
                Operation::Preserve
            }
            _ => return None,
        };
        let mut text = "{ ".to_owned();
        for (change, instead) in changes {
            let number = self.add(statement, operation, change, mutants);
            text += &format!("if (metaloc_mutant({number})) {instead} else ");
        }
        text += whole;
        text += " }";
        Some(Edit { from: statement.start_byte(), to: statement.end_byte(), text })
    }

    /// A location that is given to a function which makes instructions.
    fn mutate_argument(&self, call: Node<'_>, mutants: &mut Vec<Mutant>) -> Option<Edit> {
        let is_location = call.child_by_field_name("function").is_some_and(|function| {
            let owner = function.child_by_field_name("argument");
            function.kind() == "field_expression"
                && last_name(self.text_of(function)) == "getDebugLoc"
                && !owner.is_some_and(|owner| is_record(self.text_of(owner)))
        });
        let list = call.parent().filter(|list| is_location && list.kind() == "argument_list")?;
        let outer = list.parent()?;
        let name = match outer.kind() {
            "call_expression" => last_name(self.text_of(outer.child_by_field_name("function")?)).to_owned(),
            // `Helper H(A, I->getDebugLoc());` says no more than its type.
            "init_declarator" => {
                let declaration = outer.parent()?;
                self.text_of(declaration.child_by_field_name("type")?).to_owned()
            }
            _ => return None,
        };
        // What merges or sets is a statement of its own above; remarks and variables have locations of their own;
        // and what is read from a location, or kept for later, is not given to anything.
        let other = [
            "Remark",
            "Dbg",
            "Debug",
            "Loc",
            "DIExpression",
            "emit",
            "dump",
            "print",
            "insert",
            "push",
            "DVR",
        ];
        let is_other = other.iter().any(|part| name.contains(part));
        let in_remark = ancestors(call)
            .take_while(|node| node.kind() != "compound_statement")
            .any(|node| node.kind() == "call_expression" && self.text_of(node).contains("Remark"));
        if is_other || in_remark {
            return None;
        }
        let statement = ancestors(call)
            .find(|node| node.kind().ends_with("statement") || node.kind() == "declaration")?;
        let number = self.add(statement, Operation::Preserve, Change::Delete, mutants);
        let text = format!("(metaloc_mutant({number}) ? llvm::DebugLoc() : {})", self.text_of(call));
        Some(Edit { from: call.start_byte(), to: call.end_byte(), text })
    }

    fn add(
        &self,
        statement: Node<'_>,
        operation: Operation,
        change: Change,
        mutants: &mut Vec<Mutant>,
    ) -> u32 {
        let number = mutants.len() as u32 + 1;
        let at = statement.start_position();
        mutants.push(Mutant {
            number,
            line: at.row as u32 + 1,
            column: at.column as u32 + 1,
            function: self.enclosing(statement).and_then(|function| self.defined_name(function)),
            text: one_line(self.text_of(statement)),
            operation,
            change,
        });
        number
    }

    fn enclosing<'a>(&self, node: Node<'a>) -> Option<Node<'a>> {
        ancestors(node).find(|node| node.kind() == "function_definition")
    }

    fn arguments<'a>(&self, call: Node<'a>) -> Vec<Node<'a>> {
        let Some(list) = call.child_by_field_name("arguments") else { return Vec::new() };
        let mut cursor = list.walk();
        list.named_children(&mut cursor).filter(|node| node.kind() != "comment").collect()
    }

    /// What giving a location does: the merge of several, none, or somebody's. A variable is what it was made
    /// from.
    fn operation_of(&self, location: Node<'_>) -> Operation {
        let text: String = self.text_of(location).split_whitespace().collect();
        let direct = operation_of_text(&text);
        if direct != Operation::Preserve || location.kind() != "identifier" {
            return direct;
        }
        let Some(function) = self.enclosing(location) else { return direct };
        let mut made = direct;
        self.visit(function, &mut |node| {
            let (name, value) = match node.kind() {
                "init_declarator" => ("declarator", "value"),
                "assignment_expression" => ("left", "right"),
                _ => return,
            };
            let of = |field| node.child_by_field_name(field).map(|node| self.text_of(node));
            if of(name).is_some_and(|name| name.trim_start_matches(['*', '&', ' ']) == text) {
                let value: String = of(value).unwrap_or_default().split_whitespace().collect();
                let operation = operation_of_text(&value);
                if operation != Operation::Preserve {
                    made = operation;
                }
            }
        });
        made
    }
}

/// True for what LLVM calls records of variables by: their locations say where a variable is, and belong to no
/// instruction.
fn is_record(receiver: &str) -> bool {
    matches!(receiver, "DR" | "DVR" | "DLR" | "DVI" | "DII") || receiver.contains("Dbg")
}

fn operation_of_text(text: &str) -> Operation {
    let nothing = ["DebugLoc()", "llvm::DebugLoc()", "DebugLoc{}", "{}", "nullptr"];
    if text.contains("getMergedLocation") {
        Operation::Merge
    } else if nothing.contains(&text) || (text.contains("DILocation::get(") && text.contains(",0,0,")) {
        Operation::Drop
    } else {
        Operation::Preserve
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutated(body: &str) -> (String, Vec<(u32, Operation, Change)>) {
        let file = SourceFile::parse(format!("void C::f() {{\n{body}\n}}")).unwrap();
        let Mutated { text, mutants } = file.mutated();
        assert!(mutants.iter().all(|mutant| mutant.function.as_deref() == Some("f")));
        assert!(mutants.iter().zip(1..).all(|(mutant, number)| mutant.number == number));
        let text = text.strip_prefix("void C::f() {\n").unwrap().strip_suffix("\n}").unwrap();
        (text.to_owned(), mutants.iter().map(|m| (m.line, m.operation, m.change)).collect())
    }

    #[test]
    fn a_preserved_location_is_not_set() {
        let (text, mutants) = mutated("if (A)\n  New->setDebugLoc(\n    Old->getDebugLoc());\nelse g();");
        assert_eq!(mutants, [(3, Operation::Preserve, Change::Delete)]);
        let stays = "New->setDebugLoc(\n    Old->getDebugLoc());";
        assert_eq!(
            text,
            format!("if (A)\n  {{ if (metaloc_mutant(1)) {{}} else {stays} }}\nelse g();"),
            "lines stay, and so does what `else` belongs to"
        );
    }

    #[test]
    fn a_merge_can_be_confused_in_three_ways() {
        let (text, mutants) = mutated("I->applyMergedLocation(A->getDebugLoc(),\n B.get());");
        let merges = [Change::Delete, Change::Drop, Change::TakeSecond];
        assert_eq!(mutants, merges.map(|change| (2, Operation::Merge, change)));
        assert!(text.contains("if (metaloc_mutant(2)) I->setDebugLoc(llvm::DebugLoc()); else"), "{text}");
        assert!(text.contains("if (metaloc_mutant(3)) I->setDebugLoc(B.get()); else"), "{text}");
    }

    #[test]
    fn operations_are_read_off_names_and_arguments() {
        let operation = |body: &str| mutated(body).1.iter().map(|m| m.1).collect::<Vec<_>>();
        assert_eq!(operation("I->dropLocation();"), [Operation::Drop]);
        assert_eq!(operation("I.updateLocationAfterHoist();"), [Operation::Drop]);
        assert_eq!(operation("I->setDebugLoc(DebugLoc());"), [Operation::Drop]);
        assert_eq!(operation("B.SetCurrentDebugLocation(L);"), [Operation::Preserve]);
        assert_eq!(operation("I->copyMetadata(*J);"), [Operation::Preserve]);
        assert_eq!(
            operation("auto *M = DILocation::getMergedLocation(A, B);\nI->setDebugLoc(M);"),
            [Operation::Merge; 2]
        );
        assert!(operation("I->setMetadata(K, M); g(); I->getDebugLoc(); X = I->getDebugLoc();").is_empty());
        assert!(operation("I->copyMetadata(*J, Kinds);").is_empty());
        // Where a variable is, and no instruction.
        assert!(operation("DR.setDebugLoc(L); DVR->setDebugLoc(L); NewDbgValue->setDebugLoc(L);").is_empty());
        assert!(operation("auto *M = mapMetadata(DR.getDebugLoc());").is_empty());
        assert_eq!(operation("DRem->setDebugLoc(L);"), [Operation::Preserve]);
    }

    #[test]
    fn a_location_may_be_an_argument() {
        let (text, mutants) = mutated("auto *N = makeAdd(A, I->getDebugLoc());");
        assert_eq!(mutants, [(2, Operation::Preserve, Change::Delete)]);
        assert_eq!(text, "auto *N = makeAdd(A, (metaloc_mutant(1) ? llvm::DebugLoc() : I->getDebugLoc()));");
        for other in [
            "ORE.emit(OptimizationRemark(P, N, I->getDebugLoc(), BB));",
            "insertDbgValue(V, I->getDebugLoc());",
            "Locs.push_back(I->getDebugLoc());",
            "bool Same = DILocation::getMergedLocation(I->getDebugLoc(), L);",
        ] {
            assert!(mutated(other).1.is_empty(), "{other}");
        }
    }
}
