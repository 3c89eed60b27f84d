//! What affine relations at a node may speak of: places of the two states, each as an expression of 32 or 64
//! bits, those that should stay independent first.

use super::problem::{Setting, source_memory_name};
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::PointId;
use crate::region::{ADDRESS_PREFIX, Region};
use std::collections::BTreeSet;

/// A place of one of the two states.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A register, or what it was at entry.
    Register(String),
    /// A 32-bit lane of a vector register, or the low half of a general one.
    Word {
        /// The register.
        register: String,
        /// Number of the word.
        lane: u32,
    },
    /// A word of the frame: eight bytes, in 32-bit code four.
    Slot(i64),
    /// A register at entry.
    Entry(String),
    /// The return address at entry.
    EntryReturn,
    /// Address of a global.
    Address(String),
    /// A value of the IR.
    Value(ExprId),
    /// The same, zeros above.
    ZeroExtended(ExprId),
    /// The same, its sign above.
    SignExtended(ExprId),
    /// Four bytes of a global, in the source's memory.
    Global(String, u64),
}

/// A place and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Where.
    pub place: Place,
    /// Its value in terms of the variables of both graphs.
    pub value: ExprId,
}

impl Column {
    /// Whether no program changes it.
    pub fn is_fixed(&self) -> bool {
        matches!(self.place, Place::Entry(_) | Place::EntryReturn | Place::Address(_))
    }

    /// Whether it is a part of the machine's state.
    pub fn is_machine(&self) -> bool {
        matches!(self.place, Place::Register(_) | Place::Word { .. } | Place::Slot(_))
    }
}

/// Columns by width.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// 64 bits wide.
    pub wide: Vec<Column>,
    /// 32 bits wide.
    pub narrow: Vec<Column>,
}

impl Columns {
    /// Adds a column by its width.
    fn push(&mut self, arena: &Arena, column: Column) {
        match arena.width_bits(column.value) {
            32 => self.narrow.push(column),
            _ => self.wide.push(column),
        }
    }
}

/// Places that all nodes may speak of.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// Offsets of words of the frame that the machine uses.
    pub slots: BTreeSet<i64>,
    /// Words of globals that the source reads at a constant address.
    pub words: BTreeSet<(String, u64)>,
}

impl Common {
    /// Words of globals that the source names.
    pub fn of(arena: &mut Arena, setting: &Setting) -> Common {
        let mut words = BTreeSet::new();
        for edge in &setting.problem.source.edges {
            for access in edge.accesses.iter().filter(|access| access.bytes == 4) {
                let Region::Global(symbol) = &access.region else { continue };
                words.extend(
                    constant_offset(arena, access.address, symbol).map(|offset| (symbol.clone(), offset)),
                );
            }
        }
        Common { slots: BTreeSet::new(), words }
    }
}

/// The constant distance of an address from a symbol.
fn constant_offset(arena: &mut Arena, address: ExprId, symbol: &str) -> Option<u64> {
    let normal = crate::expr::normal::Normaliser::new().normal(arena, address);
    let (offset, base) = match arena.node(normal) {
        Node::Sum { constant, terms } if terms.len() == 1 && terms[0].0 == 1 => {
            (constant.value(), terms[0].1)
        }
        _ => (0, normal),
    };
    let Node::Variable(name) = arena.node(base) else { return None };
    (arena.name(*name).strip_prefix(ADDRESS_PREFIX) == Some(symbol)).then_some(offset as u64)
}

/// The columns of a node.
pub fn columns(
    arena: &mut Arena,
    setting: &Setting,
    common: &Common,
    source: PointId,
    machine: PointId,
) -> Columns {
    let mut columns = Columns::default();
    fixed(arena, setting, common, &mut columns);
    source_values(arena, setting, source, &mut columns);
    machine_places(arena, setting, common, machine, &mut columns);
    columns
}

/// What no program changes, or only through memory.
fn fixed(arena: &mut Arena, setting: &Setting, common: &Common, columns: &mut Columns) {
    let abi = setting.problem.abi;
    for name in abi.kept() {
        let value = abi.entry(arena, name);
        columns.push(arena, Column { place: Place::Entry(name.to_owned()), value });
    }
    let value = abi.entry(arena, "return");
    columns.push(arena, Column { place: Place::EntryReturn, value });
    for global in &setting.problem.globals {
        let value = abi.address(arena, &global.symbol);
        columns.push(arena, Column { place: Place::Address(global.symbol.clone()), value });
    }
    for (symbol, offset) in &common.words {
        let region = Region::Global(symbol.clone());
        let memory = arena.variable(&source_memory_name(&region), Sort::Memory(abi.address_bits));
        let start = abi.address(arena, symbol);
        let address = arena.sum(abi.word(u128::from(*offset)), &[(1, start)]);
        let value = arena.load(memory, address, 4);
        columns.narrow.push(Column { place: Place::Global(symbol.clone(), *offset), value });
    }
}

fn source_values(arena: &mut Arena, setting: &Setting, source: PointId, columns: &mut Columns) {
    let mut live: Vec<ExprId> = setting.source_live[source.0 as usize].iter().copied().collect();
    live.sort_unstable();
    let (mut zero, mut sign) = (Vec::new(), Vec::new());
    for variable in live {
        let Node::Variable(symbol) = arena.node(variable) else { continue };
        if arena.name(*symbol).starts_with(ADDRESS_PREFIX) || arena.name(*symbol).starts_with("unknown.") {
            continue;
        }
        match arena.sort(variable) {
            Sort::Bits(64) => columns.wide.push(Column { place: Place::Value(variable), value: variable }),
            Sort::Bits(32) => {
                columns.narrow.push(Column { place: Place::Value(variable), value: variable });
                // Nothing of 32-bit code is wider.
                if setting.problem.abi.address_bits == 32 {
                    continue;
                }
                let value = arena.zero_extend(variable, 64);
                zero.push(Column { place: Place::ZeroExtended(variable), value });
                let value = arena.sign_extend(variable, 64);
                sign.push(Column { place: Place::SignExtended(variable), value });
            }
            _ => {}
        }
    }
    columns.wide.extend(zero);
    columns.wide.extend(sign);
}

fn machine_places(
    arena: &mut Arena,
    setting: &Setting,
    common: &Common,
    machine: PointId,
    columns: &mut Columns,
) {
    let abi = setting.problem.abi;
    let live = &setting.machine_live[machine.0 as usize];
    let mut named: Vec<(String, ExprId)> = live
        .iter()
        .filter_map(|variable| match arena.node(*variable) {
            Node::Variable(symbol) => Some((arena.name(*symbol).to_owned(), *variable)),
            _ => None,
        })
        .collect();
    named.sort();
    for offset in common.slots.iter().chain([&0]) {
        let value = abi.slot(arena, *offset, abi.word_bytes());
        columns.push(arena, Column { place: Place::Slot(*offset), value });
    }
    // A parameter may be narrower than the word of the stack that it is in, or wider.
    for (offset, bytes) in abi.stack_parameters(&setting.parameter_widths(arena)) {
        let value = abi.slot(arena, offset, bytes);
        let width_bits = arena.width_bits(value);
        let known = columns.wide.iter().chain(&columns.narrow).any(|column| column.value == value);
        if !known && matches!(width_bits, 32 | 64) {
            columns.push(arena, Column { place: Place::Slot(offset), value });
        }
    }
    for (name, variable) in named {
        match arena.sort(variable) {
            Sort::Bits(64) if !name.contains('.') => {
                columns.wide.push(Column { place: Place::Register(name.clone()), value: variable });
                let value = arena.extract(variable, 0, 32);
                columns.narrow.push(Column { place: Place::Word { register: name, lane: 0 }, value });
            }
            Sort::Bits(32) if !name.contains('.') && abi.address_bits == 32 => {
                columns.narrow.push(Column { place: Place::Register(name), value: variable });
            }
            Sort::Bits(128) => {
                for lane in 0..4 {
                    let value = arena.extract(variable, 32 * lane, 32);
                    columns
                        .narrow
                        .push(Column { place: Place::Word { register: name.clone(), lane }, value });
                }
            }
            _ => {}
        }
    }
    // The stack pointer is always worth knowing: addresses of the frame are relative to it.
    let stack = abi.register(arena, abi.stack_pointer);
    if !columns.wide.iter().chain(&columns.narrow).any(|column| column.value == stack) {
        columns.push(arena, Column { place: Place::Register(abi.stack_pointer.into()), value: stack });
    }
}
