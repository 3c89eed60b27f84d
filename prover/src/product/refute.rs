//! Refutation: both programs run from the same input, and what a caller sees differs. Only a run that was seen
//! counts; a model of the solver is an input like any other, once it has been run.
//!
//! What a run of the machine can show, where the source returns: another result or memory, a register that is
//! not given back, a fault, an access where nothing is, or a state that comes again, so that it never ends.
//!
//! What nobody but the file sees, its compiler may have done something else with, knowing all that the file does: a
//! variable that is `static` holds what it does at first (it may never hold anything else, or one of a few values), what
//! is left in it shows nothing (it may never be read again), no pointer from elsewhere leads to it, and a function that
//! is `static` is called with what it is called with.

use super::assumed::equal;
use super::problem::{FRAME_BYTES, Setting};
use super::replay::{Replay, contents, entry_state};
use crate::expr::{Arena, Sort};
use crate::graph::PointId;
use crate::lift::RETURN_TARGET;
use crate::region::Region;
use crate::run::Step as Ran;
use crate::run::code::Code;
use crate::run::state::{State, Table};
use std::collections::{BTreeMap, BTreeSet};

/// An input on which the programs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refuted {
    /// Where the input is from.
    pub input: InputSource,
    /// Values of the parameters.
    pub parameters: Vec<u128>,
    /// What each global holds at first.
    pub memory: BTreeMap<String, Vec<u8>>,
    /// What differs.
    pub what: String,
}

/// Where an input is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSource {
    /// Made up from this number.
    Seed(u64),
    /// A model of the solver, completed.
    Model,
}

/// Memory is mapped in pages of this size: a read beyond the last page of an object may fault.
const PAGE_BYTES: u64 = 4096;

/// As far from a variable, in memory that is one region, an access may have been meant to be relative to it.
const BESIDE: u64 = 1 << 16;

/// Both programs, ready to be run to their ends.
pub struct Refuter<'a> {
    setting: &'a Setting,
    replay: Replay,
    /// Addresses of the accesses of each edge of the machine.
    addresses: Vec<Code>,
    /// Bits that are set in a state in which both may begin.
    may_begin: Code,
    steps: usize,
}

/// Looks for an input on which the programs differ, among so many that are made up.
pub fn refute(arena: &mut Arena, setting: &Setting, inputs: u64, steps: usize) -> Option<Refuted> {
    let mut table = Table::default();
    let refuter = Refuter::new(arena, setting, &mut table, steps);
    (0..inputs).find_map(|seed| {
        let begin = entry_state(arena, setting, &mut table, seed);
        refuter.run(arena, &mut table, &begin, InputSource::Seed(seed))
    })
}

impl<'a> Refuter<'a> {
    /// `steps` bounds the run of either program. States must be made after this: it gives variables their places.
    pub fn new(arena: &mut Arena, setting: &'a Setting, table: &mut Table, steps: usize) -> Refuter<'a> {
        let replay = Replay::new(arena, setting, table);
        let abi = setting.problem.abi;
        let target = arena.variable(RETURN_TARGET, Sort::Bits(abi.address_bits));
        table.bits(arena, target);
        for name in abi.results {
            let result = abi.register(arena, name);
            table.bits(arena, result);
        }
        if setting.problem.returns_float {
            let result = abi.vector(arena, 0, 128);
            table.bits(arena, result);
        }
        let mut wanted = setting.facts(arena);
        for (left, right) in setting.precondition(arena) {
            wanted.push(equal(arena, left, right));
        }
        let may_begin = Code::new(arena, table, &wanted);
        let addresses = setting
            .problem
            .machine
            .edges
            .iter()
            .map(|edge| {
                let addresses: Vec<_> = edge.accesses.iter().map(|access| access.address).collect();
                Code::new(arena, table, &addresses)
            })
            .collect();
        Refuter { setting, replay, addresses, may_begin, steps }
    }

    /// Runs both from a state in which they may begin. A state in which the source does something undefined, or
    /// in which either takes too long, says nothing.
    pub fn run(
        &self,
        arena: &mut Arena,
        table: &mut Table,
        begin: &State,
        input: InputSource,
    ) -> Option<Refuted> {
        let setting = self.setting;
        let problem = &setting.problem;
        // A model's pointers may lead to any variable; those that are made up lead to none.
        let reached = input == InputSource::Model && setting.is_merged();
        if problem.callers_known || reached && !problem.internal.is_empty() {
            return None;
        }
        let begin = &self.as_at_first(arena, table, begin)?;
        if !self.may_begin(begin) {
            return None;
        }
        // Constants are what the source says.
        for ((source, _), region) in self.replay.memories.iter().zip(&setting.regions) {
            for (start, bytes) in contents(arena, setting, table, begin, region) {
                if (start..).zip(bytes).any(|(at, byte)| begin.memories[*source].byte(at) != *byte) {
                    return None;
                }
            }
        }
        let mut state = begin.clone();
        let mut at = PointId(0);
        for step in 0.. {
            if setting.source_anchors.is_exit(at) {
                break;
            }
            at = self.replay.source_hop(&setting.source_anchors, at, &mut state).ok()?;
            if state.calls != begin.calls {
                return None;
            }
            if step > self.steps {
                return None;
            }
        }
        let what = match self.run_machine(arena, table, &mut state)? {
            Ended::Returned => {
                forget_internal(arena, setting, table, &mut state);
                difference(arena, setting, table, &self.replay, &state)?
            }
            Ended::Otherwise(what) => what,
        };
        let parameter = |arena: &Arena, table: &mut Table, id| begin.bits[table.bits(arena, id)];
        Some(Refuted {
            input,
            parameters: setting.problem.parameters.iter().map(|id| parameter(arena, table, *id)).collect(),
            memory: globals(arena, setting, table, begin),
            what,
        })
    }

    /// A state in which the file's own variables hold what they do at first.
    fn as_at_first(&self, arena: &mut Arena, table: &mut Table, state: &State) -> Option<State> {
        let mut state = state.clone();
        for (symbol, bytes) in &self.setting.problem.internal {
            let bytes = bytes.as_ref()?;
            let (start, memories) = place(arena, self.setting, table, &state, symbol);
            for (at, byte) in (start..).zip(bytes) {
                for memory in memories {
                    if state.memories[memory].byte(at) != *byte {
                        state.memories[memory].set_byte(at, *byte);
                    }
                }
            }
        }
        Some(state)
    }

    /// Whether a state is as the calling convention and the memory model want it.
    fn may_begin(&self, state: &State) -> bool {
        let same = self.replay.memories.iter();
        let mut same = same.map(|(source, machine)| (&state.memories[*source], &state.memories[*machine]));
        self.may_begin.bits(state).iter().all(|bit| bit.is_set())
            && same.all(|(source, machine)| source.same_as(machine))
    }

    fn run_machine(&self, arena: &mut Arena, table: &mut Table, state: &mut State) -> Option<Ended> {
        let objects = Objects::of(arena, self.setting, table, state);
        let mut at = PointId(0);
        let mut earlier: Option<(PointId, State)> = None;
        for number in 0..self.steps {
            if self.setting.machine_anchors.is_exit(at) {
                return Some(Ended::Returned);
            }
            // Brent: if a state comes again, it comes again after the next power of two, too.
            if let Some((point, before)) = &earlier
                && *point == at
                && same_machine(before, state)
            {
                return Some(Ended::Otherwise("the machine never returns".to_owned()));
            }
            if number.is_power_of_two() {
                earlier = Some((at, state.clone()));
            }
            let edge = self.replay.machine_edge(at, state)?;
            let addresses = self.addresses[edge].bits(state);
            match self.replay.machine_step(at, state) {
                // What a callee answers is made up: a compiler that knows the callee may know better.
                Ran::Taken { .. } if state.calls != [0; 2] => return None,
                Ran::Taken { to, .. } => {
                    let accesses = &self.setting.problem.machine.edges[edge].accesses;
                    for (access, address) in accesses.iter().zip(addresses) {
                        let address = address.value() as u64;
                        if objects.is_misnamed(&access.region, address, access.bytes) {
                            return None;
                        }
                        if let Some(what) =
                            objects.outside(&access.region, address, access.bytes, access.write)
                        {
                            return Some(Ended::Otherwise(what));
                        }
                    }
                    at = to;
                }
                Ran::Fault => return Some(Ended::Otherwise("the machine faults".to_owned())),
                Ran::Undefined(_) | Ran::Open | Ran::End => return None,
            }
        }
        None
    }
}

enum Ended {
    Returned,
    Otherwise(String),
}

/// Whether all that a step of the machine depends on is the same: what is unknown to it must not matter.
fn same_machine(left: &State, right: &State) -> bool {
    left.bits == right.bits
        && left.memories.iter().zip(&right.memories).all(|(left, right)| left.same_as(right))
}

/// Where objects lie in a run.
struct Objects {
    globals: BTreeMap<String, (u64, u64)>,
    /// Those of the file's own.
    internal: BTreeSet<String>,
    stack: u64,
    /// Bytes from there on that belong to the function.
    above: u64,
}

impl Objects {
    fn of(arena: &mut Arena, setting: &Setting, table: &mut Table, state: &State) -> Objects {
        let mut globals = BTreeMap::new();
        for global in &setting.problem.globals {
            let address = setting.problem.abi.address(arena, &global.symbol);
            let start = state.bits[table.bits(arena, address)] as u64;
            globals.insert(global.symbol.clone(), (start, start.saturating_add(global.size_bytes)));
        }
        let stack = setting.problem.abi.entry_stack(arena);
        let above = u64::from(setting.bytes_above(arena));
        let internal = setting.problem.internal.keys().cloned().collect();
        Objects { globals, internal, stack: state.bits[table.bits(arena, stack)] as u64, above }
    }

    /// Whether an access is beside a variable of the file. Which one an address in a section belongs to is a guess, and
    /// they lie elsewhere in a run than they do in the section: another one may be meant.
    fn is_misnamed(&self, region: &Region, address: u64, bytes: u32) -> bool {
        let last = address.saturating_add(u64::from(bytes));
        let inside = |(start, end): &(u64, u64)| *start <= address && last <= *end;
        match region {
            Region::Stack => false,
            Region::Global(symbol) => {
                self.internal.contains(symbol) && !self.globals.get(symbol).is_some_and(inside)
            }
            Region::Rest => {
                let near = |symbol: &String| {
                    let found = self.globals.get(symbol);
                    found.is_some_and(|(start, end)| {
                        start.saturating_sub(BESIDE) < last && address < end.saturating_add(BESIDE)
                    })
                };
                !self.globals.values().any(inside) && self.internal.iter().any(near)
            }
        }
    }

    /// Says so if an access is where nothing is. Of memory that a pointer of unknown origin leads to, and of
    /// objects that only the machine has, nothing is said.
    fn outside(&self, region: &Region, address: u64, bytes: u32, write: bool) -> Option<String> {
        let (name, (start, end)) = match region {
            Region::Global(symbol) => (symbol.clone(), *self.globals.get(symbol)?),
            Region::Stack => {
                let below = self.stack.saturating_sub(FRAME_BYTES as u64);
                // What a caller has above the return address may be read: parameters are there.
                let above = if write { self.stack + self.above } else { self.stack + FRAME_BYTES as u64 };
                ("the frame".to_owned(), (below, above))
            }
            Region::Rest => return None,
        };
        // Reading what else is on the pages of an object may be wrong and cannot fault.
        let (start, end) = match write {
            true => (start, end),
            false => (start / PAGE_BYTES * PAGE_BYTES, end.next_multiple_of(PAGE_BYTES)),
        };
        let inside = start <= address && address.saturating_add(u64::from(bytes)) <= end;
        let verb = if write { "writes" } else { "reads" };
        (!inside).then(|| format!("the machine {verb} outside of {name}"))
    }
}

/// Where a global begins, and the memories that it is in, the source's first.
fn place(
    arena: &mut Arena,
    setting: &Setting,
    table: &mut Table,
    state: &State,
    symbol: &str,
) -> (u64, [usize; 2]) {
    let (source, machine) = setting.memories(arena, &setting.home(symbol));
    let address = setting.problem.abi.address(arena, symbol);
    let start = state.bits[table.bits(arena, address)] as u64;
    (start, [table.memory(arena, source), table.memory(arena, machine)])
}

/// Makes what the file's own variables hold the same on both sides.
fn forget_internal(arena: &mut Arena, setting: &Setting, table: &mut Table, state: &mut State) {
    for global in &setting.problem.globals {
        if !setting.problem.internal.contains_key(&global.symbol) {
            continue;
        }
        let (start, [source, machine]) = place(arena, setting, table, state, &global.symbol);
        for at in start..start.saturating_add(global.size_bytes) {
            let byte = state.memories[source].byte(at);
            if state.memories[machine].byte(at) != byte {
                state.memories[machine].set_byte(at, byte);
            }
        }
    }
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
        let (memory, _) = setting.memories(arena, &setting.home(&global.symbol));
        let memory = table.memory(arena, memory);
        let address = setting.problem.abi.address(arena, &global.symbol);
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
            return Some(format!("{} differs", region.variable_name()));
        }
    }
    let abi = setting.problem.abi;
    if let Some(returned) = setting.problem.returned
        && let Some(result) = setting.problem.result(arena)
    {
        let expected = state.bits[table.bits(arena, returned)];
        let found = Code::new(arena, table, &[result]).bits(state)[0].value();
        if found != expected {
            return Some(format!("the result is {found:#x}, want {expected:#x}"));
        }
    }
    for name in abi.kept() {
        let (now, then) = (abi.register(arena, name), abi.entry(arena, name));
        let popped = if name == abi.stack_pointer { u128::from(abi.word_bytes()) } else { 0 };
        let expected = abi.word(state.bits[table.bits(arena, then)]).add(abi.word(popped)).value();
        if state.bits[table.bits(arena, now)] != expected {
            return Some(format!("register {name} is not given back"));
        }
    }
    let target = arena.variable(RETURN_TARGET, Sort::Bits(abi.address_bits));
    let entry = abi.entry(arena, "return");
    let same = state.bits[table.bits(arena, target)] == state.bits[table.bits(arena, entry)];
    (!same).then(|| "the machine returns elsewhere".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> Objects {
        Objects {
            globals: BTreeMap::from([
                ("a".to_owned(), (0x1_0010, 0x1_0050)),
                ("own".to_owned(), (0x80_0000, 0x80_0010)),
            ]),
            internal: BTreeSet::from(["own".to_owned()]),
            stack: 1 << 40,
            above: 8,
        }
    }

    #[test]
    fn a_write_must_be_inside_and_a_read_on_its_pages() {
        let objects = objects();
        let at = |address, write| objects.outside(&Region::Global("a".into()), address, 4, write);
        assert_eq!((at(0x1_0010, true), at(0x1_004c, true)), (None, None));
        assert_eq!(at(0x1_004d, true).unwrap(), "the machine writes outside of a");
        assert_eq!((at(0x1_0050, false), at(0x1_0ffc, false)), (None, None));
        assert_eq!(at(0x1_0ffd, false).unwrap(), "the machine reads outside of a");
        assert!(at(0x1_000f, true).is_some() && at(0xfffd, false).is_some() && at(u64::MAX, false).is_some());
    }

    #[test]
    fn what_is_beside_a_variable_of_the_file_may_be_another() {
        let objects = objects();
        let at = |symbol: &str, address| objects.is_misnamed(&Region::Global(symbol.into()), address, 4);
        assert!(at("own", 0x7f_fffc) && at("own", 0x80_000d) && at("own", 0));
        assert!(!at("own", 0x80_0000) && !at("own", 0x80_000c) && !at("a", 0x1_0050));
        let rest = |address| objects.is_misnamed(&Region::Rest, address, 4);
        assert!(rest(0x7f_fffc) && rest(0x80_0010) && !rest(0x80_0004) && !rest(0x1_0010) && !rest(1 << 40));
        assert!(!objects.is_misnamed(&Region::Stack, 0x7f_fffc, 4));
    }

    #[test]
    fn the_callers_frame_is_read_only_and_unknown_pointers_are_left_alone() {
        let (objects, stack) = (objects(), 1u64 << 40);
        let at = |address, write| objects.outside(&Region::Stack, address, 8, write);
        assert_eq!((at(stack - 8, true), at(stack, true), at(stack + 8, false)), (None, None, None));
        assert_eq!(at(stack + 8, true).unwrap(), "the machine writes outside of the frame");
        assert_eq!(objects.outside(&Region::Rest, 3, 8, true), None);
        assert_eq!(objects.outside(&Region::Global("only the machine's".into()), 3, 8, true), None);
    }
}
