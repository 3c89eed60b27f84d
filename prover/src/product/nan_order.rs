//! Which of two NaNs a sum or a product of the source is made of.
//!
//! LLVM's IR says only that it is a NaN, made of one of them perhaps; x86 takes the first operand's. Compilers know
//! that a sum is the same either way and put the operands in any order, another one in another copy of the loop. So
//! the source may choose, each time that it runs such an instruction, and it is enough that *some* choice makes it
//! do what the machine does. The choice made here is one for each edge of the product and each pair of operands:
//! the order in which the machine has them there. A wrong guess costs a proof: whatever is chosen, all that is
//! shown of the edge is shown of the source with that choice, its conditions and its promises included.

use super::node::Node;
use super::walk::Walk;
use crate::expr::substitute::Substitution;
use crate::expr::{Arena, ExprId, Node as Expr, Sort};
use crate::float::Function;
use crate::run::code::Code;
use crate::run::state::{State, Table};
use std::collections::BTreeSet;

/// The name under which a proof lists that a choice was made.
pub(super) const CHOSEN: &str = "nan-of-either-operand";

/// States in which operands are compared; a coincidence in all of them is unlikely.
const COMPARED_STATES: usize = 6;

/// A sum or a product.
struct Commuting {
    id: ExprId,
    name: String,
    left: ExprId,
    right: ExprId,
}

/// What identifies it: its function, and what its operands are in some states.
type Key<'a> = (&'a str, Vec<u128>, Vec<u128>);

/// Gives the sums and products of the source the order of operands that the machine has them in. Says whether any has
/// got another one.
pub(super) fn follow_machine(
    arena: &mut Arena,
    table: &mut Table,
    node: &Node,
    machine: &Walk,
    source: &mut Walk,
) -> bool {
    let (wanted, own) = (commuting(arena, &parts(machine)), commuting(arena, &parts(source)));
    if wanted.is_empty() || own.is_empty() {
        return false;
    }
    let taken = Code::new(arena, table, &[machine.condition]);
    let mut states: Vec<&State> = node.states.iter().filter(|state| taken.all_set(state)).collect();
    if states.is_empty() {
        states = node.states.iter().collect();
    }
    states.truncate(COMPARED_STATES);
    if states.is_empty() {
        return false;
    }
    let (wanted_keys, own_keys) = (keys(arena, table, &wanted, &states), keys(arena, table, &own, &states));
    let wanted_keys: BTreeSet<Key> = wanted_keys.into_iter().collect();
    let mut turned: Vec<(ExprId, ExprId)> = Vec::new();
    for (one, key) in own.iter().zip(own_keys) {
        let other_way = (key.0, key.2.clone(), key.1.clone());
        let turn = !wanted_keys.contains(&key) && wanted_keys.contains(&other_way);
        let mut within = Substitution::new(turned.iter().copied());
        let (left, right) = (within.apply(arena, one.left), within.apply(arena, one.right));
        if !turn && (left, right) == (one.left, one.right) {
            continue;
        }
        let operands = if turn { [right, left] } else { [left, right] };
        let width_bits = arena.width_bits(one.id);
        turned.push((one.id, arena.apply(&one.name, &operands, width_bits)));
    }
    if turned.is_empty() {
        return false;
    }
    replace(arena, source, &mut Substitution::new(turned));
    true
}

/// What a walk says without knowing which order was chosen: each sum and each product is a value of which nothing is
/// known. For questions that are asked of a finished proof, in which the choices are no longer to be seen.
pub(super) fn forget_order(arena: &mut Arena, source: &mut Walk) {
    let mut unknown = Vec::new();
    for one in commuting(arena, &parts(source)) {
        let width_bits = arena.width_bits(one.id);
        let name = format!("either.{}", one.id.number());
        unknown.push((one.id, arena.variable(&name, Sort::Bits(width_bits))));
    }
    if !unknown.is_empty() {
        replace(arena, source, &mut Substitution::new(unknown));
    }
}

/// Everything that a walk says.
fn parts(walk: &Walk) -> Vec<ExprId> {
    let mut parts = vec![walk.condition];
    parts.extend(walk.values.values());
    parts.extend(walk.requirements.iter().flat_map(|it| [it.when, it.what]));
    parts.extend(walk.accesses.iter().flat_map(|it| [it.when, it.what.address]));
    parts.extend(walk.assumptions.iter().flat_map(|it| [it.when, it.what.condition]));
    parts
}

fn replace(arena: &mut Arena, walk: &mut Walk, by: &mut Substitution) {
    let mut new = |id: &mut ExprId| *id = by.apply(arena, *id);
    new(&mut walk.condition);
    walk.values.values_mut().for_each(&mut new);
    for it in &mut walk.requirements {
        new(&mut it.when);
        new(&mut it.what);
    }
    for it in &mut walk.accesses {
        new(&mut it.when);
        new(&mut it.what.address);
    }
    for it in &mut walk.assumptions {
        new(&mut it.when);
        new(&mut it.what.condition);
    }
}

/// Sums and products, parts before wholes.
fn commuting(arena: &Arena, roots: &[ExprId]) -> Vec<Commuting> {
    let mut found = Vec::new();
    for id in arena.reachable(roots) {
        if let Expr::Apply { function, arguments, .. } = arena.node(id)
            && let [left, right] = **arguments
            && Function::named(arena.name(*function)).is_some_and(Function::is_commutative)
        {
            found.push(Commuting { id, name: arena.name(*function).to_owned(), left, right });
        }
    }
    found
}

fn keys<'a>(arena: &Arena, table: &mut Table, of: &'a [Commuting], states: &[&State]) -> Vec<Key<'a>> {
    let operands: Vec<ExprId> = of.iter().flat_map(|one| [one.left, one.right]).collect();
    let code = Code::new(arena, table, &operands);
    let mut keys: Vec<Key> = of.iter().map(|one| (one.name.as_str(), Vec::new(), Vec::new())).collect();
    for state in states {
        let values = code.bits(state);
        for (key, pair) in keys.iter_mut().zip(values.chunks(2)) {
            key.1.push(pair[0].value());
            key.2.push(pair[1].value());
        }
    }
    keys
}
