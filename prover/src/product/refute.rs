//! Refutation: both programs run to their ends from the same input, and what a caller sees differs. Only a run
//! that was seen counts; a model of the solver does not.

use super::problem::{CALLEE_SAVED, Setting, entry_variable, register};
use super::replay::{Replay, entry_state};
use crate::bits::mask;
use crate::expr::{Arena, Sort};
use crate::graph::PointId;
use crate::lift::RETURN_TARGET;
use crate::region::{Region, address_name};
use crate::run::state::{State, Table};
use std::collections::BTreeMap;

/// An input on which the programs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuted {
    /// Names the input: it is made up from this number.
    pub seed: u64,
    /// Values of the parameters.
    pub parameters: Vec<u128>,
    /// What each global holds at first.
    pub memory: BTreeMap<String, Vec<u8>>,
    /// What differs.
    pub what: String,
}

/// Looks for an input on which the programs differ. Inputs on which the source does something undefined, or
/// either runs for longer than `steps` hops, say nothing.
pub fn refute(arena: &mut Arena, setting: &Setting, inputs: u64, steps: usize) -> Option<Refuted> {
    let mut table = Table::default();
    let replay = Replay::new(arena, setting, &mut table);
    let target = arena.variable(RETURN_TARGET, Sort::Bits(64));
    table.bits(arena, target);
    (0..inputs).find_map(|seed| {
        let begin = entry_state(arena, setting, &mut table, seed);
        let mut state = begin.clone();
        let mut at = PointId(0);
        for step in 0.. {
            if setting.source_anchors.is_exit(at) {
                break;
            }
            at = replay.source_hop(&setting.source_anchors, at, &mut state).ok()?;
            if step > steps {
                return None;
            }
        }
        let mut at = PointId(0);
        for step in 0.. {
            if setting.machine_anchors.is_exit(at) {
                break;
            }
            // A fault says nothing yet: not all that the linker promises about addresses is known here.
            at = replay.machine_path(&setting.machine_anchors, at, &mut state).ok()?.to;
            if step > steps {
                return None;
            }
        }
        let what = difference(arena, setting, &mut table, &replay, &state);
        what.map(|what| Refuted {
            seed,
            memory: globals(arena, setting, &mut table, &begin),
            parameters: setting
                .problem
                .parameters
                .iter()
                .map(|id| begin.bits[table.bits(arena, *id)])
                .collect(),
            what,
        })
    })
}

/// The bytes of all globals.
fn globals(
    arena: &mut Arena,
    setting: &Setting,
    table: &mut Table,
    state: &State,
) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for global in &setting.problem.globals {
        let own = Region::Global(global.symbol.clone());
        let region = if setting.regions.contains(&own) { own } else { Region::Rest };
        let (memory, _) = setting.memories(arena, &region);
        let memory = table.memory(arena, memory);
        let address = arena.variable(&address_name(&global.symbol), Sort::Bits(64));
        let start = state.bits[table.bits(arena, address)] as u64;
        let bytes = (start..start + global.size_bytes).map(|at| state.memories[memory].byte(at)).collect();
        found.insert(global.symbol.clone(), bytes);
    }
    found
}

/// What a caller sees differently after both have returned.
fn difference(
    arena: &mut Arena,
    setting: &Setting,
    table: &mut Table,
    replay: &Replay,
    state: &State,
) -> Option<String> {
    for ((source, machine), region) in replay.memories.iter().zip(&setting.regions) {
        if !state.memories[*source].same_as(&state.memories[*machine]) {
            return Some(format!("memory of {}", region.variable_name()));
        }
    }
    let mut value = |id| state.bits[table.bits(arena, id)];
    if let Some(returned) = setting.problem.returned {
        let expected = value(returned);
        let rax = register(arena, "rax");
        let found = state.bits[table.bits(arena, rax)] & mask(arena.width_bits(returned));
        if found != expected {
            return Some(format!("result {found:#x}, want {expected:#x}"));
        }
    }
    for name in CALLEE_SAVED.iter().chain(&["rsp"]) {
        let (now, then) = (register(arena, name), entry_variable(arena, name));
        let popped = if *name == "rsp" { 8 } else { 0 };
        let expected = state.bits[table.bits(arena, then)].wrapping_add(popped) & mask(64);
        if state.bits[table.bits(arena, now)] != expected {
            return Some(format!("register {name}"));
        }
    }
    let (target, entry) = (arena.variable(RETURN_TARGET, Sort::Bits(64)), entry_variable(arena, "return"));
    let same = state.bits[table.bits(arena, target)] == state.bits[table.bits(arena, entry)];
    (!same).then(|| "where it returns to".to_owned())
}
