//! Models: which values to ask for, and how to read them.
//!
//! Bit vectors are asked for by name. A memory is asked for byte by byte, at every address at which the query
//! looks at it: arrays as solvers print them need no reading, and the rest of the memory does not matter.

use crate::bits::Bits;
use crate::expr::{Arena, Assignment, ExprId, Node, Sort, Symbol};
use std::collections::{BTreeSet, HashMap};

/// A value that a model is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) expression: ExprId,
    role: Role,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// Value of a variable.
    Variable(Symbol),
    /// An address at which memory is looked at; the contents follow.
    Address,
    /// Bytes of a memory at the address before.
    Bytes(Symbol),
}

/// What to ask for to know all that matters about a query.
pub(super) fn wanted(arena: &mut Arena, asserted: &[ExprId]) -> Vec<Wanted> {
    let parts = arena.reachable(asserted);
    let mut wanted = Vec::new();
    let mut looked_at = BTreeSet::new();
    let mut bases = HashMap::<ExprId, BTreeSet<ExprId>>::new();
    for id in parts {
        match arena.node(id) {
            Node::Variable(symbol) => match arena.sort(id) {
                Sort::Bits(_) => wanted.push(Wanted { expression: id, role: Role::Variable(*symbol) }),
                Sort::Memory(_) => {
                    bases.insert(id, BTreeSet::from([id]));
                }
            },
            Node::Store { memory, address, value } => {
                let under = bases[memory].clone();
                looked_at.extend(under.iter().map(|base| (*base, *address, arena.width_bits(*value) / 8)));
                bases.insert(id, under);
            }
            Node::Choice { then, otherwise, .. } if matches!(arena.sort(id), Sort::Memory(_)) => {
                let both = bases[then].union(&bases[otherwise]).copied().collect();
                bases.insert(id, both);
            }
            Node::Load { memory, address, bytes } => {
                looked_at.extend(bases[memory].iter().map(|base| (*base, *address, *bytes)));
            }
            _ => {}
        }
    }
    for (base, address, bytes) in looked_at {
        let Node::Variable(symbol) = *arena.node(base) else { continue };
        // At most 16 bytes are loaded at once; no store is larger.
        let contents = arena.load(base, address, bytes.min(16));
        wanted.push(Wanted { expression: address, role: Role::Address });
        wanted.push(Wanted { expression: contents, role: Role::Bytes(symbol) });
    }
    wanted
}

/// The assignment that an answer to `get-value` describes; nothing if it cannot be read.
pub(super) fn read(arena: &Arena, wanted: &[Wanted], text: &str) -> Option<Assignment> {
    let mut assignment = Assignment::default();
    if wanted.is_empty() {
        return Some(assignment);
    }
    let values = values(text)?;
    if values.len() != wanted.len() {
        return None;
    }
    let mut address = 0;
    for (Wanted { expression, role }, value) in wanted.iter().zip(values) {
        let width_bits = arena.width_bits(*expression);
        match role {
            Role::Variable(symbol) => {
                assignment.bits.insert(*symbol, Bits::new(width_bits, value));
            }
            Role::Address => address = value,
            Role::Bytes(symbol) => {
                let memory = assignment.memories.entry(*symbol).or_default();
                for number in 0..width_bits / 8 {
                    let at = u128::from((address as u64).wrapping_add(u64::from(number)));
                    memory.insert(at, (value >> (8 * number)) as u8);
                }
            }
        }
    }
    Some(assignment)
}

/// The values of `((term value) (term value) ...)`, in order.
fn values(text: &str) -> Option<Vec<u128>> {
    let tokens = tokens(text);
    let mut position = 0;
    (take(&tokens, &mut position)? == "(").then_some(())?;
    let mut found = Vec::new();
    while *tokens.get(position)? == "(" {
        position += 1;
        skip(&tokens, &mut position)?;
        found.push(value(&tokens, &mut position)?);
        (take(&tokens, &mut position)? == ")").then_some(())?;
    }
    (take(&tokens, &mut position)? == ")").then_some(found)
}

fn take<'a>(tokens: &[&'a str], position: &mut usize) -> Option<&'a str> {
    let token = tokens.get(*position)?;
    *position += 1;
    Some(token)
}

/// Passes over one term.
fn skip(tokens: &[&str], position: &mut usize) -> Option<()> {
    let mut depth = 0usize;
    loop {
        match take(tokens, position)? {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(());
        }
    }
}

/// `#x12`, `#b01` or `(_ bv18 8)`.
fn value(tokens: &[&str], position: &mut usize) -> Option<u128> {
    match take(tokens, position)? {
        "(" => {
            (take(tokens, position)? == "_").then_some(())?;
            let number = take(tokens, position)?.strip_prefix("bv")?.parse().ok()?;
            take(tokens, position)?;
            (take(tokens, position)? == ")").then_some(number)
        }
        literal => match literal.split_at_checked(2)? {
            ("#x", digits) => u128::from_str_radix(digits, 16).ok(),
            ("#b", digits) => u128::from_str_radix(digits, 2).ok(),
            _ => None,
        },
    }
}

/// Parentheses, quoted symbols and words.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => 1,
            '|' => rest[1..].find('|').map_or(rest.len(), |end| end + 2),
            _ => rest
                .find(|other: char| other.is_whitespace() || matches!(other, '(' | ')' | '|'))
                .unwrap_or(rest.len()),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn answers_of_all_solvers_are_read() {
        assert_eq!(values("((|a b| #x1f)\n ((select |m| (bvadd |a b| #x01)) #b101))"), Some(vec![31, 5]));
        assert_eq!(values("((x (_ bv18 8)))"), Some(vec![18]));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for text in ["", "(", "((x", "((x 5))", "((x #xzz))", "(error \"no model\")", "((x #x1) y)"] {
            assert_eq!(values(text), None, "{text}");
        }
    }
}
