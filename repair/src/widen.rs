//! Blocks that leave out instructions at which a variable of theirs has a proved value: a debugger would not look at it.
//!
//! A claim speaks of a point of the source at which the variable is in scope, so that the block may have the
//! instruction, and the blocks around it too. **Invariant**: a block gains nothing outside of its function, nothing that
//! an inlined function or a block beside it has, and no instruction of which nothing is claimed, unless a block inside of
//! it has that one. Whatever else the block
//! declares keeps its silence there (`claims::merge`).

use crate::claims::{FunctionClaims, VariableClaims, Verdict};
use crate::dwarf::read::{FunctionInfo, Old, VariableInfo};
use crate::dwarf::scopes::Scope;
use crate::elf::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What blocks gain: instructions by number of the scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Widened {
    gained: BTreeMap<usize, BTreeSet<(u64, u64)>>,
    /// What they have to have because scopes inside of them have it.
    inside: BTreeMap<usize, Vec<(u64, u64)>>,
}

impl Widened {
    /// Whether a scope gains the instruction at a pc.
    pub fn has(&self, scope: usize, pc: u64) -> bool {
        let gained = self.gained.get(&scope);
        gained.is_some_and(|gained| gained.range((pc, 0)..).next().is_some_and(|(start, _)| *start == pc))
    }

    /// Whether a scope gains anything.
    pub fn changes(&self, scope: usize) -> bool {
        self.gained.contains_key(&scope)
    }

    /// A list that a compiler has cut short (gcc 12 ends one of DWARF 4 with an empty range at the unit's start) may lack
    /// what is inside of its block; what is written has it.
    fn contain(&mut self, function: &FunctionClaims, info: &FunctionInfo) {
        for (number, gained) in &mut self.gained {
            let below = (0..info.scopes.len()).filter(|below| has_above(&info.scopes, *below, *number));
            for range in below.flat_map(|below| info.scopes[below].ranges.iter().flatten()) {
                let whole = info.scopes[*number].ranges.iter().flatten();
                if whole.clone().any(|whole| whole.start <= range.start && range.end <= whole.end) {
                    continue;
                }
                self.inside.entry(*number).or_default().push((range.start, range.end));
                let lost = function.instructions.iter().filter(|one| range.contains(&one.start));
                let lost = lost.filter(|one| !whole.clone().any(|whole| whole.contains(&one.start)));
                gained.extend(lost.map(|one| (one.start, one.end)));
            }
        }
    }

    /// The scopes that gain something, with all their ranges.
    pub fn ranges<'a>(&'a self, scopes: &'a [Scope]) -> impl Iterator<Item = (&'a Scope, Vec<Range<u64>>)> {
        self.gained.iter().map(|(number, gained)| {
            let scope = &scopes[*number];
            // Of several ranges some may be empty, and blocks inside may have the same ones.
            let old = scope.ranges.iter().flatten().filter(|range| !scope.has_ends || !range.is_empty());
            let old = old.map(|range| (range.start, range.end));
            let inside = self.inside.get(number).into_iter().flatten();
            (scope, joined(old.chain(gained.iter().copied()).chain(inside.copied()).collect()))
        })
    }
}

/// Which blocks of a function gain what from claims about variables of it.
pub fn widen(
    machine: Machine,
    function: &FunctionClaims,
    info: &FunctionInfo,
    claimed: &[(&VariableClaims, &VariableInfo)],
) -> Widened {
    let mut widened = Widened::default();
    for instruction in &function.instructions {
        for (claims, variable) in claimed {
            let pc = instruction.start;
            let has_value = claims.claims.get(&pc).is_some_and(|claim| match &claim.is {
                Verdict::Value(value) => function.is_printable(machine, pc, value),
                Verdict::Confirmed => true,
                Verdict::Refuted => false,
            });
            if !has_value || variable.in_scope(pc) || widened.has(variable.block, pc) {
                continue;
            }
            let Some(blocks) = growing(info, &widened, variable.block, instruction) else { continue };
            for block in blocks {
                widened.gained.entry(block).or_default().insert((instruction.start, instruction.end));
            }
        }
    }
    widened.contain(function, info);
    widened
}

/// The scopes that have to gain an instruction so that one of them can; nothing if it cannot.
fn growing(
    info: &FunctionInfo,
    widened: &Widened,
    block: usize,
    instruction: &Range<u64>,
) -> Option<Vec<usize>> {
    let scopes = &info.scopes;
    let ranges = |number: usize| scopes[number].ranges.as_deref();
    if !ranges(0)?.iter().any(|range| range.start <= instruction.start && instruction.end <= range.end) {
        return None;
    }
    let mut around = vec![block];
    while let Some(parent) = scopes[around[around.len() - 1]].parent {
        around.push(parent);
    }
    let touches = |range: &Range<u64>| range.start < instruction.end && instruction.start < range.end;
    let taken = |number: usize| {
        let scope = &scopes[number];
        let below = scope.is_block() && is_below(scopes, number, block);
        !around.contains(&number)
            && !below
            && (ranges(number).is_some_and(|ranges| ranges.iter().any(touches))
                || widened.has(number, instruction.start))
    };
    if (0..scopes.len()).any(taken) {
        return None;
    }
    let covers = |number: &usize| {
        widened.has(*number, instruction.start)
            // What says nothing is all of what it is in.
            || ranges(*number).is_none_or(|ranges| {
                ranges.iter().any(|range| range.start <= instruction.start && instruction.end <= range.end)
            })
    };
    let growing: Vec<usize> = around.into_iter().filter(|number| !covers(number)).collect();
    // What is not followed could not be kept silent.
    let unknown =
        |variable: &VariableInfo| matches!(variable.old, Old::Other(_)) && growing.contains(&variable.block);
    let can_grow = growing.iter().all(|number| scopes[*number].is_block());
    (can_grow && !info.variables.iter().any(unknown)).then_some(growing)
}

fn is_below(scopes: &[Scope], mut number: usize, above: usize) -> bool {
    while let Some(parent) = scopes[number].parent {
        // An inlined function's blocks are its own.
        if !scopes[number].is_block() {
            return false;
        }
        if parent == above {
            return true;
        }
        number = parent;
    }
    false
}

fn has_above(scopes: &[Scope], mut number: usize, above: usize) -> bool {
    while let Some(parent) = scopes[number].parent {
        if parent == above {
            return true;
        }
        number = parent;
    }
    false
}

/// Ranges in order; those that meet are one.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<Range<u64>> {
    ranges.sort_unstable();
    let mut found: Vec<Range<u64>> = Vec::new();
    for (start, end) in ranges {
        match found.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => found.push(start..end),
        }
    }
    found
}

// A block with one range has a list of one range.
#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;
    use crate::claims::Claim;
    use crate::dwarf::read::FunctionCode;
    use crate::expression::Encoded;

    const F: Range<u64> = 0..40;

    fn scope(parent: Option<usize>, tag: gimli::DwTag, ranges: &[Range<u64>]) -> Scope {
        Scope { entry: 0, parent, tag, ranges: Some(ranges.to_vec()), has_ends: false, list: None }
    }

    fn block(parent: usize, ranges: &[Range<u64>]) -> Scope {
        scope(Some(parent), gimli::DW_TAG_lexical_block, ranges)
    }

    fn variable(block: usize, scopes: &[Scope], old: Old) -> VariableInfo {
        let name = format!("v{block}");
        let scope = scopes[block].ranges.clone();
        VariableInfo { entry: 0, name, line: 1, column: None, block, scope, old, list: None }
    }

    /// Instructions of four bytes from 0 to 48, the variable of a block confirmed at these.
    fn gained(
        scopes: &[Scope],
        of: usize,
        pcs: &[u64],
        others: &[VariableInfo],
    ) -> Vec<(usize, Vec<Range<u64>>)> {
        let info = FunctionInfo {
            number: 0,
            base: 0,
            variables: [&[variable(of, scopes, Old::Nothing)], others].concat(),
            scopes: scopes
                .iter()
                .enumerate()
                .map(|(entry, scope)| Scope { entry, ..scope.clone() })
                .collect(),
        };
        let claim = Claim { is: Verdict::Confirmed, grouped: false };
        let claims = VariableClaims {
            name: format!("v{of}"),
            line: 1,
            column: 0,
            claims: pcs.iter().map(|pc| (*pc, claim.clone())).collect(),
        };
        let function = FunctionClaims {
            code: FunctionCode { symbol: "f".into(), pcs: 0..48 },
            instructions: (0..12).map(|number| 4 * number..4 * number + 4).collect(),
            variables: Vec::new(),
        };
        let widened = widen(Machine::X86_64, &function, &info, &[(&claims, &info.variables[0])]);
        widened.ranges(&info.scopes).map(|(scope, ranges)| (scope.entry, ranges)).collect()
    }

    fn function() -> Scope {
        scope(None, gimli::DW_TAG_subprogram, &[F])
    }

    #[test]
    fn a_block_gains_what_is_claimed_and_so_do_those_around_it() {
        let scopes = [function(), block(0, &[12..30]), block(1, &[16..20])];
        assert_eq!(gained(&scopes, 1, &[4, 8, 16], &[]), [(1, vec![4..30])]);
        assert_eq!(gained(&scopes, 2, &[4, 12], &[]), [(1, vec![4..8, 12..30]), (2, vec![4..8, 12..20])]);
        assert_eq!(gained(&scopes, 1, &[16], &[]), [], "it is there already");
        assert_eq!(gained(&scopes, 0, &[4], &[]), []);
        let empty = [function(), block(0, &[4..4, 12..30])];
        assert_eq!(gained(&empty, 1, &[8], &[]), [(1, vec![4..4, 8..30])], "a block inside may have it");
        let ends = [function(), Scope { has_ends: true, ..block(0, &[4..4]) }];
        assert_eq!(gained(&ends, 1, &[8], &[]), [(1, vec![8..12])]);
    }

    #[test]
    fn nothing_is_gained_outside_of_the_function() {
        let scopes = [function(), block(0, &[12..30])];
        assert_eq!(gained(&scopes, 1, &[36, 40, 44], &[]), [(1, vec![12..30, 36..40])]);
        let unknown = [Scope { ranges: None, ..function() }, block(0, &[12..30])];
        assert_eq!(gained(&unknown, 1, &[4], &[]), [], "who knows where it ends");
    }

    #[test]
    fn nothing_is_taken_from_inlined_functions_and_blocks_beside_it() {
        let inlined = |parent| scope(Some(parent), gimli::DW_TAG_inlined_subroutine, &[4..8]);
        for scopes in [
            [function(), block(0, &[12..30]), inlined(0)],
            [function(), block(0, &[12..30]), block(0, &[5..6])],
        ] {
            assert_eq!(gained(&scopes, 1, &[4, 8], &[]), [(1, vec![8..30])]);
        }
        let cut = [
            function(),
            block(0, &[]),
            block(1, &[12..32]),
            scope(Some(2), gimli::DW_TAG_inlined_subroutine, &[13..17]),
        ];
        assert_eq!(gained(&cut, 1, &[8, 16], &[]), [(1, vec![8..32])], "what is in it is in it");
        let own = [function(), block(0, &[12..30]), inlined(1)];
        assert_eq!(gained(&own, 1, &[4], &[]), [], "nothing that is claimed of another function");
        let nested = [function(), block(0, &[12..30]), block(1, &[4..8])];
        assert_eq!(gained(&nested, 1, &[4], &[]), [(1, vec![4..8, 12..30])], "its own block is no hindrance");
    }

    #[test]
    fn a_block_with_something_that_is_not_followed_stays() {
        let scopes = [function(), block(0, &[12..30])];
        let other = variable(1, &scopes, Old::Other("constant"));
        assert_eq!(gained(&scopes, 1, &[4], &[other]), []);
        let constant = Old::Everywhere(Encoded { bytes: vec![0x30, 0x9f], fields: Vec::new() });
        assert_eq!(gained(&scopes, 1, &[8], &[variable(1, &scopes, constant)]), [(1, vec![8..30])]);
    }
}
