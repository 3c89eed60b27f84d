//! What is to be proved: two graphs over one arena, what they have in common when they begin, and what the
//! memory model promises.

use super::flow::{Anchors, liveness};
use crate::abi::Abi;
use crate::bits::Bits;
use crate::calls::{CallError, Convention};
use crate::expr::{Arena, CommutativeOp, CompareOp, ExprId, Node, Sort};
use crate::float::Function;
use crate::graph::Graph;
use crate::ir::Extension;
use crate::lift::RETURN_TARGET;
use crate::object_file::GOT;
use crate::region::{ADDRESS_PREFIX, Region};
use metaloc_proof::Global;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Two programs that should behave alike.
#[derive(Debug)]
pub struct Problem {
    /// What caller and callee agree on.
    pub abi: &'static Abi,
    /// The unoptimised IR.
    pub source: Graph,
    /// Line and column of its points, for people.
    pub lines: Vec<Option<(u32, u32)>>,
    /// The machine code.
    pub machine: Graph,
    /// Globals that are named on either side.
    pub globals: Vec<Global>,
    /// Parameters, as variables of the source, in the order of the calling convention.
    pub parameters: Vec<ExprId>,
    /// Those of them that are addresses.
    pub pointers: Vec<ExprId>,
    /// Those of them that are passed in vector registers.
    pub floats: Vec<ExprId>,
    /// How a caller widens those that are narrower than 32 bits, as far as the source says.
    pub extensions: BTreeMap<ExprId, Extension>,
    /// The variable of the source that holds the returned value.
    pub returned: Option<ExprId>,
    /// Whether that is a floating-point number.
    pub returns_float: bool,
    /// Globals whose addresses stand in 32-bit fields: the linker puts all of such an object below 2^31. Of i386
    /// nothing of the kind follows.
    pub low_globals: BTreeSet<String>,
    /// Where symbols are in a linked object: all of them at these addresses, or all as far from them as the first.
    pub placed: Option<Placement>,
    /// Constants that the machine code has for itself, with what their addresses are multiples of: the linker
    /// keeps the alignment of a section.
    pub alignments: BTreeMap<String, u64>,
    /// Globals of the source that nobody writes to.
    pub read_only: BTreeSet<String>,
    /// Globals that the source writes to, by name.
    pub written: BTreeSet<String>,
    /// What globals hold that no other file can define and nobody writes to.
    pub contents: BTreeMap<String, Vec<u8>>,
    /// The file's own variables, with what they hold at first if that is followed.
    pub internal: BTreeMap<String, Option<Vec<u8>>>,
    /// Whether nobody but the file calls the function: its compiler knows with what.
    pub callers_known: bool,
}

/// What a linker has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Symbols with their virtual addresses.
    pub symbols: Vec<(String, u64)>,
    /// Loaded there and nowhere else.
    pub fixed: bool,
}

impl Problem {
    /// Constants of the machine code that are no globals of the source, with their alignments.
    pub fn own_constants(&self) -> impl Iterator<Item = (&String, u64)> {
        let named = |symbol: &String| self.globals.iter().any(|global| global.symbol == *symbol);
        let own = self.alignments.iter().filter(move |(symbol, _)| !named(symbol));
        own.map(|(symbol, align)| (symbol, (*align).max(1)))
    }

    /// Whether the machine may write to a global: only where the source does. Another thread, or a page that cannot
    /// be written to, would notice even if the contents stay the same.
    pub fn may_write(&self, symbol: &str) -> bool {
        self.written.contains(symbol) && !self.read_only.contains(symbol)
    }

    /// The parameters that are passed in general registers or on the stack.
    pub fn plain_parameters(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.parameters.iter().copied().filter(|parameter| !self.floats.contains(parameter))
    }

    /// Where the result of the machine is; nothing if it is not in registers that are modelled.
    pub fn result(&self, arena: &mut Arena) -> Option<ExprId> {
        let width_bits = arena.width_bits(self.returned?);
        if self.returns_float {
            return Some(self.abi.vector(arena, 0, width_bits)).filter(|_| self.abi.vectors > 0);
        }
        self.abi.result(arena, width_bits)
    }

    /// Addresses of a global are below this power of two.
    pub fn address_bits(&self, symbol: &str) -> u32 {
        match self.abi.address_bits {
            32 => 32,
            _ if self.low_globals.contains(symbol) => 31,
            _ => 47,
        }
    }
}

/// What the source's variable for a region is called.
pub fn source_memory_name(region: &Region) -> String {
    format!("source.{}", region.variable_name())
}

/// How far below and above its first stack pointer a function's frame may reach.
pub const FRAME_BYTES: u128 = 1 << 16;

/// Why there is nothing to search for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// A parameter of more than two words.
    #[error("unsupported: a parameter of {0} bits")]
    WideParameter(u32),
    /// More than there are vector registers for.
    #[error("unsupported: {0} parameters in vector registers")]
    ManyFloats(usize),
    /// A result that is not in registers.
    #[error("unsupported: a result of {0} bits")]
    WideResult(u32),
    /// Calls that cannot be compared.
    #[error("unsupported: {0}")]
    Call(#[from] CallError),
}

/// Both programs with what is known about them before the search.
#[derive(Debug)]
pub struct Setting {
    /// What is to be proved.
    pub problem: Problem,
    /// Anchors of the source.
    pub source_anchors: Anchors,
    /// Anchors of the machine.
    pub machine_anchors: Anchors,
    /// Live variables of the source by point.
    pub source_live: Vec<HashSet<ExprId>>,
    /// Live variables of the machine by point.
    pub machine_live: Vec<HashSet<ExprId>>,
    /// Regions that both sides have: all but the frame.
    pub regions: BTreeSet<Region>,
    /// Symbols that are no globals of the source and whose addresses the machine has to have somewhere: constants of
    /// its own, and the table of addresses of i386 code.
    pub own_addresses: BTreeSet<String>,
    /// Variables of the source that are floating-point numbers: computed as such, or computed with.
    pub numbers: HashSet<ExprId>,
    /// Whether the source computes with floating-point numbers of 64 bits.
    pub doubles: bool,
    /// Whether it adds or multiplies floating-point numbers.
    pub commutes: bool,
}

impl Setting {
    /// Looks at the problem; refuses what the search cannot do.
    pub fn new(arena: &mut Arena, mut problem: Problem) -> Result<Setting, ProblemError> {
        let abi = problem.abi;
        let mut widths = problem.parameters.iter().map(|parameter| arena.width_bits(*parameter));
        if let Some(wide) = widths.find(|width_bits| !abi.passes(*width_bits)) {
            return Err(ProblemError::WideParameter(wide));
        }
        let accesses =
            problem.source.edges.iter().chain(&problem.machine.edges).flat_map(|edge| &edge.accesses);
        let mut regions: BTreeSet<Region> = accesses.map(|access| access.region.clone()).collect();
        regions.extend(problem.globals.iter().map(|global| Region::Global(global.symbol.clone())));
        regions.insert(Region::Rest);
        regions.remove(&Region::Stack);
        if problem.floats.len() > abi.vectors {
            return Err(ProblemError::ManyFloats(problem.floats.len()));
        }
        let widths: Vec<u32> =
            problem.plain_parameters().map(|parameter| arena.width_bits(parameter)).collect();
        // What the source may write to is no constant, wherever the object has it.
        let named = |symbol: &&String| problem.globals.iter().any(|global| global.symbol == **symbol);
        let constant = |symbol: &&String| !named(symbol) || problem.read_only.contains(*symbol);
        let constants: BTreeSet<Region> =
            problem.alignments.keys().filter(constant).map(|symbol| Region::Global(symbol.clone())).collect();
        let convention = Convention {
            abi,
            regions: &regions,
            constants,
            bytes_above: abi.word_bytes() + abi.parameter_bytes(&widths),
        };
        convention.complete(arena, &mut problem.source, &mut problem.machine)?;
        let mut machine_exit: Vec<ExprId> = abi.kept().map(|name| abi.register(arena, name)).collect();
        machine_exit.push(arena.variable(RETURN_TARGET, Sort::Bits(abi.address_bits)));
        if let Some(returned) = problem.returned {
            let width_bits = arena.width_bits(returned);
            if problem.result(arena).is_none() {
                return Err(ProblemError::WideResult(width_bits));
            }
            match problem.returns_float {
                true => machine_exit.push(abi.vector(arena, 0, 128)),
                false => machine_exit.extend(abi.results.iter().map(|name| abi.register(arena, name))),
            }
        }
        let mut source_exit: Vec<ExprId> = problem.returned.into_iter().collect();
        for region in &regions {
            source_exit.push(arena.variable(&source_memory_name(region), Sort::Memory(abi.address_bits)));
            machine_exit.push(region.variable_in(arena, abi.address_bits));
        }
        let own_addresses = own_addresses(arena, &problem);
        let functions: Vec<(Function, u32)> = functions(arena, &problem.source);
        let source_live = liveness(arena, &problem.source, &source_exit);
        let machine_live = liveness(arena, &problem.machine, &machine_exit);
        Ok(Setting {
            source_anchors: Anchors::of(&problem.source),
            machine_anchors: Anchors::of(&problem.machine),
            source_live,
            machine_live,
            regions,
            own_addresses,
            numbers: numbers(arena, &problem),
            doubles: functions.iter().any(|(_, width_bits)| *width_bits == 64),
            commutes: functions.iter().any(|(function, _)| function.is_commutative()),
            problem,
        })
    }

    /// Whether all memory but the frame is one region.
    pub fn is_merged(&self) -> bool {
        let edges = self.problem.source.edges.iter().chain(&self.problem.machine.edges);
        edges.flat_map(|edge| &edge.accesses).any(|access| access.region == Region::Rest)
    }

    /// The region that a global lies in.
    pub fn home(&self, symbol: &str) -> Region {
        if self.is_merged() { Region::Rest } else { Region::Global(symbol.to_owned()) }
    }

    /// The two variables for a region, source first.
    pub fn memories(&self, arena: &mut Arena, region: &Region) -> (ExprId, ExprId) {
        let address_bits = self.problem.abi.address_bits;
        let source = arena.variable(&source_memory_name(region), Sort::Memory(address_bits));
        (source, region.variable_in(arena, address_bits))
    }

    /// Widths of the parameters in general registers and on the stack.
    pub fn parameter_widths(&self, arena: &Arena) -> Vec<u32> {
        self.problem.plain_parameters().map(|parameter| arena.width_bits(parameter)).collect()
    }

    /// Bytes from the stack pointer at entry on that belong to the function: return address and parameters.
    pub fn bytes_above(&self, arena: &Arena) -> u32 {
        let abi = self.problem.abi;
        abi.word_bytes() + abi.parameter_bytes(&self.parameter_widths(arena))
    }

    /// Pairs of expressions that are equal when both programs begin: what the calling convention says.
    pub fn precondition(&self, arena: &mut Arena) -> Vec<(ExprId, ExprId)> {
        let abi = self.problem.abi;
        let mut equal = Vec::new();
        for name in abi.kept() {
            equal.push((abi.register(arena, name), abi.entry(arena, name)));
        }
        equal.push((abi.return_slot(arena), abi.entry(arena, "return")));
        let widths = self.parameter_widths(arena);
        for (place, parameter) in abi.passed(arena, &widths).into_iter().zip(self.problem.plain_parameters())
        {
            equal.push(self.widened(arena, place, parameter));
        }
        for (number, parameter) in self.problem.floats.iter().enumerate() {
            let width_bits = arena.width_bits(*parameter);
            equal.push((abi.vector(arena, number, width_bits), *parameter));
        }
        equal
    }

    /// The word that a parameter was passed in, and what it is there: a caller widens what the source says is widened, to
    /// 32 bits, as is shown of the calls that code makes.
    fn widened(&self, arena: &mut Arena, place: ExprId, parameter: ExprId) -> (ExprId, ExprId) {
        let Node::Extract { low_bit: 0, width_bits: ..32, of } = *arena.node(place) else {
            return (place, parameter);
        };
        let value = match self.problem.extensions.get(&parameter) {
            Some(Extension::Zero) => arena.zero_extend(parameter, 32),
            Some(Extension::Sign) => arena.sign_extend(parameter, 32),
            Some(Extension::None) | None => return (place, parameter),
        };
        (arena.extract(of, 0, 32), value)
    }

    /// What the memory model promises: globals are aligned, lie below a limit and not at 0; the stack pointer
    /// is far from both ends and as the ABI wants it.
    pub fn facts(&self, arena: &mut Arena) -> Vec<ExprId> {
        let abi = self.problem.abi;
        let mut facts = Vec::new();
        for global in &self.problem.globals {
            let address = abi.address(arena, &global.symbol);
            let limit = (1u128 << self.problem.address_bits(&global.symbol))
                .saturating_sub(u128::from(global.size_bytes));
            facts.push(below(arena, address, limit));
            facts.push(at_least(arena, address, 4096));
            facts.extend(multiple(arena, address, global.align_bytes, 0));
        }
        for (symbol, align) in self.problem.own_constants() {
            let address = abi.address(arena, symbol);
            facts.push(below(arena, address, (1u128 << self.problem.address_bits(symbol)) - 1));
            facts.push(at_least(arena, address, 4096));
            facts.extend(multiple(arena, address, align, 0));
        }
        facts.extend(self.placed(arena));
        facts.extend(self.apart(arena));
        let stack = abi.entry_stack(arena);
        let end = if abi.address_bits == 32 { 1 << 32 } else { 1 << 47 };
        facts.push(below(arena, stack, end - 2 * FRAME_BYTES));
        facts.push(at_least(arena, stack, 4096 + 2 * FRAME_BYTES));
        // Before the call, which pushes one word.
        facts.extend(multiple(arena, stack, 16, 16 - u128::from(abi.word_bytes())));
        facts
    }
}

impl Setting {
    /// Symbols of a linked object lie where they lie, or all moved by the same distance.
    fn placed(&self, arena: &mut Arena) -> Vec<ExprId> {
        let Some(placement) = &self.problem.placed else { return Vec::new() };
        let abi = self.problem.abi;
        let mut facts = Vec::new();
        let first = placement.symbols.first();
        for (symbol, address) in &placement.symbols {
            let at = abi.address(arena, symbol);
            let expected = match first {
                Some((base, start)) if !placement.fixed => {
                    let base = abi.address(arena, base);
                    arena.sum(abi.word(u128::from(address.wrapping_sub(*start))), &[(1, base)])
                }
                _ => arena.constant(abi.word(u128::from(*address))),
            };
            facts.push(arena.compare(CompareOp::Eq, at, expected));
        }
        facts
    }

    /// Globals do not overlap. Needed only where they share a region.
    fn apart(&self, arena: &mut Arena) -> Vec<ExprId> {
        let accesses = self.problem.machine.edges.iter().flat_map(|edge| &edge.accesses);
        if !accesses.into_iter().any(|access| access.region == Region::Rest) {
            return Vec::new();
        }
        let mut facts = Vec::new();
        for (number, left) in self.problem.globals.iter().enumerate() {
            for right in &self.problem.globals[..number] {
                let mut before = |low: &Global, high: &Global| {
                    let abi = self.problem.abi;
                    let start = abi.address(arena, &low.symbol);
                    let next = abi.address(arena, &high.symbol);
                    let last = arena.sum(abi.word(u128::from(low.size_bytes.max(1)) - 1), &[(1, start)]);
                    arena.compare(CompareOp::Ult, last, next)
                };
                let either = [before(left, right), before(right, left)];
                facts.push(arena.commutative(CommutativeOp::Or, &either));
            }
        }
        facts
    }
}

/// Addresses that what is required of the machine, or wanted at its calls, speaks of.
fn own_addresses(arena: &Arena, problem: &Problem) -> BTreeSet<String> {
    let requirements = problem.machine.edges.iter().flat_map(|edge| &edge.requirements);
    let calls = problem.machine.edges.iter().filter_map(|edge| edge.call.as_ref());
    let wanted = calls.flat_map(|call| call.wanted.iter().copied());
    let roots: Vec<ExprId> = requirements.map(|requirement| requirement.condition).chain(wanted).collect();
    let mut found = BTreeSet::new();
    for id in arena.reachable(&roots) {
        let Node::Variable(symbol) = arena.node(id) else { continue };
        let Some(place) = arena.name(*symbol).strip_prefix(ADDRESS_PREFIX) else { continue };
        let own = place == GOT || problem.alignments.contains_key(place);
        if own && !problem.globals.iter().any(|global| global.symbol == place) {
            found.insert(place.to_owned());
        }
    }
    found
}

/// Functions of numbers in a graph, with the width of the widest operand or result.
fn functions(arena: &Arena, graph: &Graph) -> Vec<(Function, u32)> {
    let mut roots: Vec<ExprId> = Vec::new();
    for edge in &graph.edges {
        roots.push(edge.guard);
        roots.extend(edge.assignments.iter().map(|(_, value)| *value));
    }
    let mut found = Vec::new();
    for id in arena.reachable(&roots) {
        if let Node::Apply { function, arguments, width_bits } = arena.node(id)
            && let Some(function) = Function::named(arena.name(*function))
        {
            let widths = arguments.iter().map(|argument| arena.width_bits(*argument));
            found.push((function, widths.fold(*width_bits, u32::max)));
        }
    }
    found
}

/// Variables of the source that functions of numbers are of, or that are what these give. An integer that becomes a
/// number is none.
fn numbers(arena: &Arena, problem: &Problem) -> HashSet<ExprId> {
    let function = |id: ExprId| match arena.node(id) {
        Node::Apply { function, arguments, .. } => {
            Function::named(arena.name(*function)).map(|function| (function, &arguments[..]))
        }
        _ => None,
    };
    let mut found: HashSet<ExprId> = problem.floats.iter().copied().collect();
    let assignments = problem.source.edges.iter().flat_map(|edge| &edge.assignments);
    let mut roots: Vec<ExprId> = problem.source.edges.iter().map(|edge| edge.guard).collect();
    for (variable, value) in assignments {
        roots.push(*value);
        if function(*value).is_some_and(|(function, _)| !matches!(function, Function::ToSigned(..))) {
            found.insert(*variable);
        }
    }
    for (function, operands) in arena.reachable(&roots).into_iter().filter_map(function) {
        if !matches!(function, Function::FromSigned(..)) {
            let variable = |id: &&ExprId| matches!(arena.node(**id), Node::Variable(_));
            found.extend(operands.iter().filter(variable));
        }
    }
    found
}

fn below(arena: &mut Arena, value: ExprId, limit: u128) -> ExprId {
    let limit = constant_like(arena, value, limit);
    arena.compare(CompareOp::Ult, value, limit)
}

fn at_least(arena: &mut Arena, value: ExprId, least: u128) -> ExprId {
    let last = constant_like(arena, value, least - 1);
    arena.compare(CompareOp::Ult, last, value)
}

/// A constant as wide as a value.
fn constant_like(arena: &mut Arena, value: ExprId, constant: u128) -> ExprId {
    let width_bits = arena.width_bits(value);
    arena.constant(Bits::new(width_bits, constant))
}

fn multiple(arena: &mut Arena, value: ExprId, of: u64, rest: u128) -> Option<ExprId> {
    if of < 2 {
        return None;
    }
    let mask = constant_like(arena, value, u128::from(of) - 1);
    let low = arena.commutative(CommutativeOp::And, &[value, mask]);
    let rest = constant_like(arena, value, rest);
    Some(arena.compare(CompareOp::Eq, low, rest))
}
