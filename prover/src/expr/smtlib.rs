//! Expressions as SMT-LIB 2 text: how obligations are exported, as they are before any rewriting.
//!
//! A script declares its variables and defines one function of no arguments for every shared expression, parts
//! first, so its size is that of the expression and not of its tree. The text depends on the expressions
//! alone, not on what else is in the arena: it can be hashed.

use super::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node, Sort};
use crate::bits::Bits;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// A script that asserts that all the bits are set and asks whether that is possible.
pub fn script(arena: &Arena, asserted: &[ExprId]) -> String {
    script_with_values(arena, asserted, &[])
}

/// The same, and then asks for some values of the model.
pub fn script_with_values(arena: &Arena, asserted: &[ExprId], values: &[ExprId]) -> String {
    let roots: Vec<ExprId> = asserted.iter().chain(values).copied().collect();
    let order = parts_first(arena, &roots);
    let names: HashMap<ExprId, String> =
        order.iter().enumerate().map(|(number, id)| (*id, name(arena, *id, number))).collect();
    let mut text = String::from("(set-logic QF_AUFBV)\n");
    for (name, signature) in declarations(arena, &order) {
        let _ = writeln!(text, "(declare-fun {name} {signature})");
    }
    for id in &order {
        if !matches!(arena.node(*id), Node::Variable(_)) {
            let body = body(arena, *id, &names);
            let _ = writeln!(text, "(define-fun {} () {} {body})", names[id], sort(arena.sort(*id)));
        }
    }
    for id in asserted {
        let _ = writeln!(text, "(assert (= {} #b1))", names[id]);
    }
    text.push_str("(check-sat)\n");
    if !values.is_empty() {
        let values: Vec<&str> = values.iter().map(|id| names[id].as_str()).collect();
        let _ = writeln!(text, "(get-value ({}))", values.join(" "));
    }
    text
}

/// All expressions that `roots` are made of, in the order in which a walk from the roots completes them.
fn parts_first(arena: &Arena, roots: &[ExprId]) -> Vec<ExprId> {
    let mut order = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut open: Vec<(ExprId, bool)> = roots.iter().rev().map(|root| (*root, false)).collect();
    while let Some((id, parts_done)) = open.pop() {
        if parts_done {
            order.push(id);
        } else if seen.insert(id) {
            open.push((id, true));
            let mut parts = Vec::new();
            arena.node(id).for_each_part(|part| parts.push((part, false)));
            open.extend(parts.into_iter().rev());
        }
    }
    order
}

fn name(arena: &Arena, id: ExprId, number: usize) -> String {
    match arena.node(id) {
        Node::Variable(symbol) => quoted(arena.name(*symbol)),
        // No variable is quoted like this.
        _ => format!("|/e{number}|"),
    }
}

/// A quoted symbol. The two characters that SMT-LIB forbids there are spelt out, and the one that spells them
/// too: different names stay different.
fn quoted(name: &str) -> String {
    let inner: String = name
        .chars()
        .map(|character| match character {
            '|' => "/7c".to_owned(),
            '\\' => "/5c".to_owned(),
            '/' => "/2f".to_owned(),
            other => other.to_string(),
        })
        .collect();
    format!("|{inner}|")
}

fn sort(sort: Sort) -> String {
    match sort {
        Sort::Bits(width_bits) => format!("(_ BitVec {width_bits})"),
        Sort::Memory(address_bits) => format!("(Array (_ BitVec {address_bits}) (_ BitVec 8))"),
    }
}

/// Variables and functions by name, with their signatures.
fn declarations(arena: &Arena, order: &[ExprId]) -> BTreeMap<String, String> {
    let mut declared = BTreeMap::new();
    for id in order {
        match arena.node(*id) {
            Node::Variable(symbol) => {
                declared.insert(quoted(arena.name(*symbol)), format!("() {}", sort(arena.sort(*id))));
            }
            Node::Apply { function, arguments, width_bits } => {
                let from: Vec<String> = arguments.iter().map(|part| sort(arena.sort(*part))).collect();
                let signature = format!("({}) {}", from.join(" "), sort(Sort::Bits(*width_bits)));
                declared.insert(quoted(arena.name(*function)), signature);
            }
            _ => {}
        }
    }
    declared
}

fn literal(bits: Bits) -> String {
    format!("(_ bv{} {})", bits.value(), bits.width_bits())
}

fn body(arena: &Arena, id: ExprId, names: &HashMap<ExprId, String>) -> String {
    let part = |id: &ExprId| names[id].as_str();
    match arena.node(id) {
        Node::Constant(bits) => literal(*bits),
        Node::Variable(_) => part(&id).to_owned(),
        Node::Sum { constant, terms } => {
            let term = |(factor, term): &(u128, ExprId)| match factor {
                1 => part(term).to_owned(),
                factor => {
                    format!("(bvmul {} {})", literal(Bits::new(constant.width_bits(), *factor)), part(term))
                }
            };
            let terms = terms.iter().map(term);
            let constant = (constant.is_set() || terms.len() == 0).then(|| literal(*constant));
            folded("bvadd", terms.chain(constant))
        }
        Node::Commutative(op, parts) => {
            let operation = match op {
                CommutativeOp::And => "bvand",
                CommutativeOp::Or => "bvor",
                CommutativeOp::Xor => "bvxor",
                CommutativeOp::Product => "bvmul",
            };
            folded(operation, parts.iter().map(|operand| part(operand).to_owned()))
        }
        Node::Binary(op, left, right) => format!("({} {} {})", binary(*op), part(left), part(right)),
        Node::Compare(op, left, right) => {
            let relation = match op {
                CompareOp::Eq => "=",
                CompareOp::Ult => "bvult",
                CompareOp::Slt => "bvslt",
            };
            format!("(ite ({relation} {} {}) #b1 #b0)", part(left), part(right))
        }
        Node::Concat(parts) => folded("concat", parts.iter().map(|operand| part(operand).to_owned())),
        Node::Extract { low_bit, width_bits, of } => {
            format!("((_ extract {} {low_bit}) {})", low_bit + width_bits - 1, part(of))
        }
        Node::SignExtend { width_bits, of } => {
            format!("((_ sign_extend {}) {})", width_bits - arena.width_bits(*of), part(of))
        }
        Node::Choice { condition, then, otherwise } => {
            format!("(ite (= {} #b1) {} {})", part(condition), part(then), part(otherwise))
        }
        Node::Load { memory, address, bytes } => {
            let byte =
                |number| format!("(select {} {})", part(memory), offset(arena, *address, number, names));
            folded("concat", (0..*bytes).rev().map(byte))
        }
        Node::Store { memory, address, value } => {
            let bytes = arena.width_bits(*value) / 8;
            (0..bytes).fold(part(memory).to_owned(), |memory, number| {
                let byte = format!("((_ extract {} {}) {})", 8 * number + 7, 8 * number, part(value));
                format!("(store {memory} {} {byte})", offset(arena, *address, number, names))
            })
        }
        Node::Apply { function, arguments, .. } => {
            let arguments: Vec<&str> = arguments.iter().map(part).collect();
            format!("({} {})", quoted(arena.name(*function)), arguments.join(" "))
        }
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::UDiv => "bvudiv",
        BinaryOp::URem => "bvurem",
        BinaryOp::SDiv => "bvsdiv",
        BinaryOp::SRem => "bvsrem",
        BinaryOp::Shl => "bvshl",
        BinaryOp::LShr => "bvlshr",
        BinaryOp::AShr => "bvashr",
    }
}

/// The address of a byte of an access; addresses wrap around.
fn offset(arena: &Arena, address: ExprId, number: u32, names: &HashMap<ExprId, String>) -> String {
    if number == 0 {
        return names[&address].clone();
    }
    format!(
        "(bvadd {} {})",
        names[&address],
        literal(Bits::new(arena.width_bits(address), u128::from(number)))
    )
}

/// Operands from the left, two at a time: not every solver takes more.
fn folded(operation: &str, operands: impl Iterator<Item = String>) -> String {
    let joined = operands.reduce(|left, right| format!("({operation} {left} {right})"));
    joined.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(arena: &mut Arena) -> ExprId {
        let memory = arena.variable("memory.rest", Sort::Memory(64));
        let address = arena.variable("rax", Sort::Bits(64));
        let value = arena.load(memory, address, 2);
        let doubled = arena.add(value, value);
        let stored = arena.store(memory, address, doubled);
        let again = arena.load(stored, address, 2);
        let wide = arena.sign_extend(again, 32);
        let limit = arena.constant(Bits::new(32, 7));
        arena.compare(CompareOp::Slt, wide, limit)
    }

    #[test]
    fn a_script_declares_defines_asserts_and_asks() {
        let mut arena = Arena::new();
        let root = example(&mut arena);
        insta::assert_snapshot!(script(&arena, &[root]));
    }

    #[test]
    fn the_text_does_not_depend_on_the_rest_of_the_arena() {
        let (mut fresh, mut used) = (Arena::new(), Arena::new());
        let other = used.variable("other", Sort::Bits(64));
        let rax = used.variable("rax", Sort::Bits(64));
        used.add(rax, other);
        let (left, right) = (example(&mut fresh), example(&mut used));
        assert_eq!(script(&fresh, &[left]), script(&used, &[right]));
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        assert_eq!(quoted("a|b"), "|a/7cb|");
        assert_eq!(quoted("a\\b"), "|a/5cb|");
        assert_eq!(quoted("a/7cb"), "|a/2f7cb|");
    }
}
