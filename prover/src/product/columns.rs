//! What affine relations at a node may speak of: places of the two states, each as an expression of 32 or 64
//! bits, those that should stay independent first.

use super::folds::{Fold, Part};
use super::problem::Setting;
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::PointId;
use crate::region::ADDRESS_PREFIX;
use std::collections::{BTreeMap, BTreeSet};

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
    /// A 64-bit lane of a vector register, where the source computes with numbers as wide.
    Half {
        /// The register.
        register: String,
        /// Number of the lane.
        half: u32,
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
    /// Four or eight bytes of a global, in the source's memory.
    Global(String, u64),
    /// Four bytes of a global in the source's memory, at an index that is a value.
    Element(Element),
    /// Several lanes or values taken together.
    Fold(Fold),
}

/// The word at `symbol + 4 * value + offset`, the value sign-extended; in a row, that much further.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Element {
    /// The global.
    pub symbol: String,
    /// The index, a value of the IR.
    pub value: ExprId,
    /// The row, where the array has rows.
    pub row: Option<Row>,
    /// Where the element of index 0 begins.
    pub offset: i64,
}

/// A row of an array: it begins at `stride * value`, the value sign-extended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    /// The index, a value of the IR.
    pub value: ExprId,
    /// Bytes from one row to the next.
    pub stride_bytes: u64,
}

/// Bytes of an element.
pub const ELEMENT_BYTES: u32 = 4;

impl Element {
    /// The word in the source's memory.
    pub fn word(&self, arena: &mut Arena, setting: &Setting) -> ExprId {
        let memory = source_memory(arena, setting, &self.symbol);
        let abi = setting.problem.abi;
        let start = abi.address(arena, &self.symbol);
        let index = arena.sign_extend(self.value, abi.address_bits);
        let mut terms = vec![(1, start), (u128::from(ELEMENT_BYTES), index)];
        if let Some(row) = &self.row {
            let index = arena.sign_extend(row.value, abi.address_bits);
            terms.push((u128::from(row.stride_bytes), index));
        }
        let address = arena.sum(abi.word(self.offset as u128), &terms);
        arena.load(memory, address, ELEMENT_BYTES)
    }
}

/// The source's memory that a global lies in.
fn source_memory(arena: &mut Arena, setting: &Setting, symbol: &str) -> ExprId {
    setting.memories(arena, &setting.home(symbol)).0
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
        matches!(self.place, Place::Register(_) | Place::Word { .. } | Place::Half { .. } | Place::Slot(_))
    }
}

impl Column {
    /// Whether it is a general register or the low half of one.
    pub fn is_general(&self) -> bool {
        match &self.place {
            Place::Word { register, lane } => *lane == 0 && !register.starts_with("xmm"),
            Place::Register(_) => true,
            _ => false,
        }
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

    fn push_fold(&mut self, arena: &mut Arena, fold: &Fold) {
        let value = fold.value(arena);
        self.push(arena, Column { place: Place::Fold(fold.clone()), value });
    }
}

/// Places that all nodes may speak of.
#[derive(Debug, Clone, Default)]
pub struct Common {
    /// Offsets of words of the frame that the machine uses.
    pub slots: BTreeSet<i64>,
    /// Words of globals that the source uses at a constant address: symbol, offset, bytes.
    pub words: BTreeSet<(String, u64, u32)>,
    /// Products that the source computes of its values.
    pub products: Vec<Fold>,
    /// Elements that registers hold, by node.
    pub elements: BTreeMap<(PointId, PointId), Vec<Element>>,
    /// What values of the source are of lanes, by node.
    pub folds: BTreeMap<(PointId, PointId), Vec<Fold>>,
}

impl Common {
    /// Words of globals that the source names.
    pub fn of(arena: &mut Arena, setting: &Setting) -> Common {
        let mut words = BTreeSet::new();
        for edge in &setting.problem.source.edges {
            for access in edge.accesses.iter().filter(|access| matches!(access.bytes, 4 | 8)) {
                let found = constant_offset(arena, access.address);
                words.extend(found.map(|(symbol, offset)| (symbol, offset, access.bytes)));
            }
        }
        let products = super::folds::products(arena, setting);
        Common { words, products, ..Common::default() }
    }
}

/// A symbol and the constant distance of an address from it.
fn constant_offset(arena: &mut Arena, address: ExprId) -> Option<(String, u64)> {
    let normal = crate::expr::normal::Normaliser::new().normal(arena, address);
    let (offset, base) = match arena.node(normal) {
        Node::Sum { constant, terms } if terms.len() == 1 && terms[0].0 == 1 => {
            (constant.value(), terms[0].1)
        }
        _ => (0, normal),
    };
    let Node::Variable(name) = arena.node(base) else { return None };
    let symbol = arena.name(*name).strip_prefix(ADDRESS_PREFIX)?;
    Some((symbol.to_owned(), offset as u64))
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
    // Those before the values of the source express them.
    let folds = common.folds.get(&(source, machine)).map_or(&[][..], Vec::as_slice);
    let (before, after): (Vec<&Fold>, Vec<&Fold>) = folds.iter().partition(|fold| fold.is_rewritten());
    for fold in before {
        columns.push_fold(arena, fold);
    }
    source_values(arena, setting, source, &mut columns);
    for fold in after {
        columns.push_fold(arena, fold);
    }
    let live = &setting.source_live[source.0 as usize];
    let known = |part: &Part| matches!(part, Part::Value(value) if live.contains(value));
    for product in common.products.iter().filter(|product| product.of.iter().all(known)) {
        columns.push_fold(arena, product);
    }
    for element in common.elements.get(&(source, machine)).into_iter().flatten() {
        let value = element.word(arena, setting);
        columns.narrow.push(Column { place: Place::Element(element.clone()), value });
    }
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
    for symbol in &setting.own_addresses {
        let value = abi.address(arena, symbol);
        columns.push(arena, Column { place: Place::Address(symbol.clone()), value });
    }
    for (symbol, offset, bytes) in &common.words {
        let memory = source_memory(arena, setting, symbol);
        let start = abi.address(arena, symbol);
        let address = arena.sum(abi.word(u128::from(*offset)), &[(1, start)]);
        let value = arena.load(memory, address, *bytes);
        columns.push(arena, Column { place: Place::Global(symbol.clone(), *offset), value });
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
            // That a narrow value is the low part of a register is affine, too, modulo 2^32.
            Sort::Bits(..32) => {
                let value = arena.zero_extend(variable, 32);
                columns.narrow.push(Column { place: Place::ZeroExtended(variable), value });
                let value = arena.sign_extend(variable, 32);
                columns.narrow.push(Column { place: Place::SignExtended(variable), value });
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
                for half in 0..if setting.doubles { 2 } else { 0 } {
                    let value = arena.extract(variable, 64 * half, 64);
                    columns.wide.push(Column { place: Place::Half { register: name.clone(), half }, value });
                }
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
