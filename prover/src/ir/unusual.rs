//! Functions that are not left as they are entered: those that may return twice, and those that never return. A
//! caller of one is refused, as a call is taken for a step that is made once and goes on. Their declarations and
//! calls say so in groups of attributes (`#3`), which stand at the end of a module.

use super::instruction::Operation;
use super::{Function, Instruction};
use std::collections::{BTreeMap, BTreeSet};

/// What an attribute says of a call.
const UNUSUAL: [(&str, &str); 2] =
    [("returns_twice", "which may return twice"), ("noreturn", "which does not return")];

/// Functions that return twice whatever is said of them: compilers know them by these names.
const RETURN_TWICE: [&str; 7] =
    ["setjmp", "_setjmp", "__setjmp", "sigsetjmp", "__sigsetjmp", "vfork", "getcontext"];

/// Marks all calls of such functions.
pub(super) fn refuse(text: &str, functions: &mut [Function]) {
    let groups = groups(text);
    let said =
        |words: &str| words.split_whitespace().find_map(|word| groups.get(word.trim_end_matches(['{', '}'])));
    let mut named = BTreeMap::<&str, &str>::new();
    for line in text.lines().filter(|line| line.starts_with("declare ") || line.starts_with("define ")) {
        let name = line.split_once('@').and_then(|(_, rest)| rest.split_once('('));
        if let Some((name, rest)) = name
            && let Some(what) = said(rest)
        {
            named.insert(name.trim_matches('"'), what);
        }
    }
    named.extend(RETURN_TWICE.map(|name| (name, UNUSUAL[0].1)));
    let instructions = functions.iter_mut().flat_map(|function| &mut function.blocks);
    for instruction in instructions.flat_map(|block| &mut block.instructions) {
        mark(instruction, &groups, &named);
    }
}

fn mark(instruction: &mut Instruction, groups: &BTreeMap<String, &str>, named: &BTreeMap<&str, &str>) {
    let Operation::Call { callee, groups: own, refused, .. } = &mut instruction.operation else { return };
    let own = own.iter().find_map(|group| groups.get(&format!("#{group}")));
    let what = own.copied().or_else(|| named.get(callee.as_str()).copied());
    if refused.is_none() {
        *refused = what.map(str::to_owned);
    }
}

/// Groups with an attribute that is unusual.
fn groups(text: &str) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((name, words)) = line.strip_prefix("attributes ").and_then(|rest| rest.split_once('='))
        else {
            continue;
        };
        let words: BTreeSet<&str> = words.split_whitespace().collect();
        if let Some((_, what)) = UNUSUAL.iter().find(|(attribute, _)| words.contains(attribute)) {
            found.insert(name.trim().to_owned(), *what);
        }
    }
    found
}
