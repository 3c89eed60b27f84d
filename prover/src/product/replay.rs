//! Running both programs side by side on concrete states.

use super::flow::{Anchors, Path};
use super::problem::Setting;
use super::triple::Step;
use crate::bits::mask;
use crate::expr::{Arena, Node};
use crate::graph::PointId;
use crate::region::Region;
use crate::run::callee::Objects;
use crate::run::code::Code;
use crate::run::memory::{made_up_float, mixed};
use crate::run::state::{State, Table};
use crate::run::{Runner, Step as Ran};
use std::collections::BTreeSet;

/// Both programs, ready to run.
#[derive(Debug)]
pub struct Replay {
    source: Runner,
    machine: Runner,
    /// Places of the memories that must agree, source first.
    pub(super) memories: Vec<(usize, usize)>,
}

/// What became of a state along an edge of the product.
#[derive(Debug, Clone)]
pub enum Followed {
    /// Both took their paths.
    Together(State),
    /// The machine took another path.
    MachineElsewhere,
    /// The machine took its path, the source another.
    SourceElsewhere,
    /// The source does something undefined.
    Undefined,
    /// The machine stops with a fault.
    Fault,
}

impl Replay {
    /// Both programs, their variables in the table.
    pub fn new(arena: &mut Arena, setting: &Setting, table: &mut Table) -> Replay {
        let objects = objects(arena, setting);
        let source = Runner::calling(arena, &setting.problem.source, table, 0, &objects);
        let machine = Runner::calling(arena, &setting.problem.machine, table, 1, &objects);
        // All that any state may be asked for has a place before the first state is made.
        let mut memories = Vec::new();
        for region in &setting.regions {
            let (left, right) = setting.memories(arena, region);
            memories.push((table.memory(arena, left), table.memory(arena, right)));
        }
        let abi = setting.problem.abi;
        let frame = Region::Stack.variable_in(arena, abi.address_bits);
        table.memory(arena, frame);
        for (left, right) in setting.precondition(arena) {
            for id in arena.reachable(&[left, right]) {
                if matches!(arena.node(id), Node::Variable(_))
                    && matches!(arena.sort(id), crate::expr::Sort::Bits(_))
                {
                    table.bits(arena, id);
                }
            }
        }
        for global in &setting.problem.globals {
            let address = abi.address(arena, &global.symbol);
            table.bits(arena, address);
        }
        for symbol in setting.problem.alignments.keys().chain(&setting.own_addresses) {
            let address = abi.address(arena, symbol);
            table.bits(arena, address);
        }
        Replay { source, machine, memories }
    }

    /// The edge that the machine takes.
    pub fn machine_edge(&self, from: PointId, state: &State) -> Option<usize> {
        self.machine.next(from, state)
    }

    /// One step of the machine.
    pub fn machine_step(&self, from: PointId, state: &mut State) -> Ran {
        self.machine.step(from, state)
    }

    /// The machine from an anchor to the next: the path, if it gets there.
    pub fn machine_path(&self, anchors: &Anchors, from: PointId, state: &mut State) -> Result<Path, Ran> {
        let mut path = Path { edges: Vec::new(), to: from };
        loop {
            match self.machine.step(path.to, state) {
                Ran::Taken { edge, to } => {
                    path.edges.push(edge);
                    path.to = to;
                    if anchors.contains(to) {
                        if anchors.is_crowded(from) {
                            path.edges.clear();
                        }
                        return Ok(path);
                    }
                }
                stopped => return Err(stopped),
            }
        }
    }

    /// The source from an anchor to the next.
    pub fn source_hop(&self, anchors: &Anchors, from: PointId, state: &mut State) -> Result<PointId, Ran> {
        let mut at = from;
        loop {
            match self.source.step(at, state) {
                Ran::Taken { to, .. } => {
                    at = to;
                    if anchors.contains(at) {
                        return Ok(at);
                    }
                }
                stopped => return Err(stopped),
            }
        }
    }

    /// Both along an edge of the product.
    pub fn follow(
        &self,
        setting: &Setting,
        from: (PointId, PointId),
        step: &Step,
        state: &State,
    ) -> Followed {
        let mut state = state.clone();
        match self.machine_path(&setting.machine_anchors, from.1, &mut state) {
            Ok(path) if path == step.machine => {}
            Ok(_) | Err(Ran::End) => return Followed::MachineElsewhere,
            Err(_) => return Followed::Fault,
        }
        let mut at = from.0;
        for next in &step.source {
            match self.source_hop(&setting.source_anchors, at, &mut state) {
                Ok(to) if to == *next => at = to,
                Ok(_) | Err(Ran::End) => return Followed::SourceElsewhere,
                Err(_) => return Followed::Undefined,
            }
        }
        match state.same_calls() {
            true => Followed::Together(state),
            false => Followed::SourceElsewhere,
        }
    }

    /// Offsets of words of the frame that the machine touches in a run from the entry, parameters included.
    pub fn slots(
        &self,
        arena: &mut Arena,
        setting: &Setting,
        table: &mut Table,
        state: &State,
        steps: usize,
    ) -> BTreeSet<i64> {
        let abi = setting.problem.abi;
        let stack = abi.entry_stack(arena);
        let start = state.bits[table.bits(arena, stack)] as u64;
        let (word, above) = (i64::from(abi.word_bytes()), i64::from(setting.bytes_above(arena)));
        let mut found = BTreeSet::new();
        let codes: Vec<_> = setting
            .problem
            .machine
            .edges
            .iter()
            .map(|edge| {
                let frame = edge.accesses.iter().filter(|access| access.region == Region::Stack);
                let addresses: Vec<_> = frame.map(|access| access.address).collect();
                Code::new(arena, table, &addresses)
            })
            .collect();
        let (mut state, mut at) = (state.clone(), PointId(0));
        for _ in 0..steps {
            let Some(edge) = self.machine.next(at, &state) else { break };
            let addresses = codes[edge].bits(&state);
            let Ran::Taken { to, .. } = self.machine.step(at, &mut state) else { break };
            for address in addresses {
                let offset = (address.value() as u64).wrapping_sub(start) as i64;
                if offset % word == 0 && (-4096..above).contains(&offset) && offset != 0 {
                    found.insert(offset);
                }
            }
            at = to;
        }
        found
    }
}

/// What callees change: globals that are no constants, and what parameters point to.
fn objects(arena: &mut Arena, setting: &Setting) -> Objects {
    let problem = &setting.problem;
    let globals = problem.globals.iter().filter(|global| !problem.alignments.contains_key(&global.symbol));
    let mut objects: Objects =
        globals.map(|global| (problem.abi.address(arena, &global.symbol), global.size_bytes)).collect();
    objects.extend(problem.pointers.iter().map(|pointer| (*pointer, 64)));
    objects
}

/// Bytes of a constant that are put into every state that is made up: larger ones cost more than they show.
const MOST_CONTENTS: usize = 4096;

/// A state in which both programs may begin: as the calling convention and the memory model want it, the
/// rest made up from a seed.
pub fn entry_state(arena: &mut Arena, setting: &Setting, table: &mut Table, seed: u64) -> State {
    let mut state = table.made_up(seed);
    let mut random = mixed(seed ^ 0x5eed);
    let mut draw = |below: u64| {
        random = mixed(random);
        random % below
    };
    let abi = setting.problem.abi;
    for global in &setting.problem.globals {
        let address = abi.address(arena, &global.symbol);
        let limit = (1u64 << setting.problem.address_bits(&global.symbol)) - global.size_bytes - (1 << 20);
        let align = global.align_bytes.max(1);
        state.bits[table.bits(arena, address)] =
            u128::from(((1 << 20) + draw(limit - (1 << 20))) / align * align);
    }
    for (symbol, align) in setting.problem.own_constants() {
        let address = abi.address(arena, symbol);
        let limit = 1u64 << setting.problem.address_bits(symbol);
        state.bits[table.bits(arena, address)] =
            u128::from(((1 << 20) + draw(limit - (1 << 21))) / align * align);
    }
    if let Some(placement) = &setting.problem.placed {
        let moved = if placement.fixed { 0 } else { (1 << 40) + draw(1 << 24) * 4096 };
        for (symbol, address) in &placement.symbols {
            let at = abi.address(arena, symbol);
            state.bits[table.bits(arena, at)] = u128::from(address.wrapping_add(moved));
        }
    }
    let stack = abi.entry_stack(arena);
    let (least, room) = if abi.address_bits == 32 { (1 << 24, 1 << 31) } else { (1 << 40, 1 << 45) };
    let word_bytes = u64::from(abi.word_bytes());
    state.bits[table.bits(arena, stack)] = u128::from((least + draw(room)) / 16 * 16 + 16 - word_bytes);
    for name in abi.kept() {
        let (now, then) = (abi.register(arena, name), abi.entry(arena, name));
        state.bits[table.bits(arena, now)] = state.bits[table.bits(arena, then)];
    }
    for parameter in setting.problem.parameters.clone() {
        let place = table.bits(arena, parameter);
        match arena.width_bits(parameter) {
            width_bits if setting.problem.floats.contains(&parameter) => {
                let low = if width_bits == 64 { draw(1 << 32) } else { 0 };
                let high = made_up_float(draw(u64::MAX));
                state.bits[place] = u128::from(high) << (width_bits - 32) | u128::from(low);
            }
            32 if setting.problem.pointers.contains(&parameter) => {
                state.bits[place] = u128::from((1 << 24) + draw(1 << 31)) & !0xf;
            }
            // A pointer, most likely.
            64 if abi.address_bits == 64 => {
                state.bits[place] = u128::from((1 << 33) + draw(1 << 40)) & !0xf;
            }
            // Loop bounds and strides are small, strides even more so; which is which nobody knows.
            width_bits if seed % 4 != 3 => {
                let stride = seed % 4 == 2 && (seed % 8 == 2 || draw(2) == 0);
                let small = if stride { draw(4) as i64 - 1 } else { draw(70) as i64 - 3 };
                state.bits[place] = small as u128 & mask(width_bits);
            }
            _ => {}
        }
    }
    for (left, right) in setting.precondition(arena) {
        let value = Code::new(arena, table, &[right]).bits(&state)[0].value();
        pass(arena, table, &mut state, left, value);
    }
    for region in &setting.regions {
        let (source, machine) = setting.memories(arena, region);
        let (source, machine) = (table.memory(arena, source), table.memory(arena, machine));
        // One that is not put there is not as the source says, and then nothing is refuted.
        let small = |(_, bytes): &(u64, &[u8])| bytes.len() <= MOST_CONTENTS;
        for (start, bytes) in contents(arena, setting, table, &state, region).into_iter().filter(small) {
            for (at, byte) in (start..).zip(bytes) {
                state.memories[source].store(at, u128::from(*byte), 1);
            }
        }
        state.memories[machine] = state.memories[source].clone();
    }
    state
}

/// Constants in a region whose contents the source says: where they begin, and what they hold.
pub fn contents<'a>(
    arena: &mut Arena,
    setting: &'a Setting,
    table: &mut Table,
    state: &State,
    region: &Region,
) -> Vec<(u64, &'a [u8])> {
    let mut found = Vec::new();
    for (symbol, bytes) in
        setting.problem.contents.iter().filter(|(symbol, _)| setting.home(symbol) == *region)
    {
        let address = setting.problem.abi.address(arena, symbol);
        found.push((state.bits[table.bits(arena, address)] as u64, bytes.as_slice()));
    }
    found
}

/// Makes a place hold a value.
fn pass(arena: &mut Arena, table: &mut Table, state: &mut State, place: crate::expr::ExprId, value: u128) {
    match *arena.node(place) {
        Node::Variable(_) => state.bits[table.bits(arena, place)] = value,
        Node::Extract { width_bits, of, .. } => {
            let whole = Code::new(arena, table, &[of]).bits(state)[0].value();
            pass(arena, table, state, of, whole & !mask(width_bits) | value);
        }
        Node::Load { memory, address, bytes } => {
            let address = Code::new(arena, table, &[address]).bits(state)[0].value();
            let place = table.memory(arena, memory);
            state.memories[place].store(address as u64, value, bytes);
        }
        _ => {}
    }
}
