//! What is to be proved: two graphs over one arena, what they have in common when they begin, and what the
//! memory model promises.

use super::flow::{Anchors, liveness};
use crate::bits::Bits;
use crate::expr::{Arena, CommutativeOp, CompareOp, ExprId, Sort};
use crate::graph::Graph;
use crate::lift::RETURN_TARGET;
use crate::region::{Region, address_name};
use metaloc_proof::Global;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Two programs that should behave alike.
#[derive(Debug)]
pub struct Problem {
    /// The unoptimised IR.
    pub source: Graph,
    /// The machine code.
    pub machine: Graph,
    /// Globals that are named on either side.
    pub globals: Vec<Global>,
    /// Parameters, as variables of the source, in the order of the calling convention.
    pub parameters: Vec<ExprId>,
    /// The variable of the source that holds the returned value.
    pub returned: Option<ExprId>,
    /// Globals whose addresses stand in 32-bit fields: the linker puts all of such an object below 2^31.
    pub low_globals: BTreeSet<String>,
    /// Constants that the machine code has for itself, with what their addresses are multiples of: the linker
    /// keeps the alignment of a section.
    pub alignments: BTreeMap<String, u64>,
}

impl Problem {
    /// Constants of the machine code that are no globals of the source, with their alignments.
    pub fn own_constants(&self) -> impl Iterator<Item = (&String, u64)> {
        let named = |symbol: &String| self.globals.iter().any(|global| global.symbol == *symbol);
        let own = self.alignments.iter().filter(move |(symbol, _)| !named(symbol));
        own.map(|(symbol, align)| (symbol, (*align).max(1)))
    }

    /// Addresses of a global are below this power of two.
    pub fn address_bits(&self, symbol: &str) -> u32 {
        if self.low_globals.contains(symbol) { 31 } else { 47 }
    }
}

/// What the source's variable for a region is called.
pub fn source_memory_name(region: &Region) -> String {
    format!("source.{}", region.variable_name())
}

/// Registers that pass integer parameters in the System V ABI for x86-64.
const PARAMETER_REGISTERS: [&str; 6] = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];

/// Registers that a callee gives back as they were.
pub const CALLEE_SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

/// How far below and above its first stack pointer a function's frame may reach.
pub const FRAME_BYTES: u128 = 1 << 16;

/// Why there is nothing to search for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// Parameters beyond those in registers.
    #[error("unsupported: parameters on the stack")]
    StackParameters,
    /// A step that is a call.
    #[error("unsupported: call of {0}")]
    Call(String),
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
}

/// A variable for what a register, or the return address, was at entry.
pub fn entry_variable(arena: &mut Arena, name: &str) -> ExprId {
    arena.variable(&format!("entry.{name}"), Sort::Bits(64))
}

/// A general register.
pub fn register(arena: &mut Arena, name: &str) -> ExprId {
    arena.variable(name, Sort::Bits(64))
}

impl Setting {
    /// Looks at the problem; refuses what the search cannot do.
    pub fn new(arena: &mut Arena, problem: Problem) -> Result<Setting, ProblemError> {
        if problem.parameters.len() > PARAMETER_REGISTERS.len() {
            return Err(ProblemError::StackParameters);
        }
        for edge in problem.source.edges.iter().chain(&problem.machine.edges) {
            if let Some(call) = &edge.call {
                return Err(ProblemError::Call(call.callee.clone()));
            }
        }
        let accesses =
            problem.source.edges.iter().chain(&problem.machine.edges).flat_map(|edge| &edge.accesses);
        let mut regions: BTreeSet<Region> = accesses.map(|access| access.region.clone()).collect();
        regions.extend(problem.globals.iter().map(|global| Region::Global(global.symbol.clone())));
        regions.insert(Region::Rest);
        regions.remove(&Region::Stack);
        let mut machine_exit: Vec<ExprId> =
            CALLEE_SAVED.iter().chain(&["rsp"]).map(|name| register(arena, name)).collect();
        machine_exit.push(arena.variable(RETURN_TARGET, Sort::Bits(64)));
        machine_exit.extend(problem.returned.map(|_| register(arena, "rax")));
        let mut source_exit: Vec<ExprId> = problem.returned.into_iter().collect();
        for region in &regions {
            source_exit.push(arena.variable(&source_memory_name(region), Sort::Memory(64)));
            machine_exit.push(region.variable(arena));
        }
        let source_live = liveness(arena, &problem.source, &source_exit);
        let machine_live = liveness(arena, &problem.machine, &machine_exit);
        Ok(Setting {
            source_anchors: Anchors::of(&problem.source),
            machine_anchors: Anchors::of(&problem.machine),
            source_live,
            machine_live,
            regions,
            problem,
        })
    }

    /// Whether all memory but the frame is one region.
    pub fn is_merged(&self) -> bool {
        let edges = self.problem.source.edges.iter().chain(&self.problem.machine.edges);
        edges.flat_map(|edge| &edge.accesses).any(|access| access.region == Region::Rest)
    }

    /// The two variables for a region, source first.
    pub fn memories(&self, arena: &mut Arena, region: &Region) -> (ExprId, ExprId) {
        let source = arena.variable(&source_memory_name(region), Sort::Memory(64));
        (source, region.variable(arena))
    }

    /// Pairs of expressions that are equal when both programs begin: what the calling convention says.
    pub fn precondition(&self, arena: &mut Arena) -> Vec<(ExprId, ExprId)> {
        let mut equal = Vec::new();
        for name in CALLEE_SAVED.iter().chain(&["rsp"]) {
            equal.push((register(arena, name), entry_variable(arena, name)));
        }
        equal.push((return_slot(arena), entry_variable(arena, "return")));
        for (parameter, name) in self.problem.parameters.iter().zip(PARAMETER_REGISTERS) {
            let width_bits = arena.width_bits(*parameter);
            let whole = register(arena, name);
            // The caller leaves anything in the upper bits.
            let passed = if width_bits == 64 { whole } else { arena.extract(whole, 0, width_bits) };
            equal.push((passed, *parameter));
        }
        equal
    }

    /// What the memory model promises: globals are aligned, lie below a limit and not at 0; the stack pointer
    /// is far from both ends and as the ABI wants it.
    pub fn facts(&self, arena: &mut Arena) -> Vec<ExprId> {
        let mut facts = Vec::new();
        for global in &self.problem.globals {
            let address = arena.variable(&address_name(&global.symbol), Sort::Bits(64));
            let limit = (1u128 << self.problem.address_bits(&global.symbol))
                .saturating_sub(u128::from(global.size_bytes));
            facts.push(below(arena, address, limit));
            facts.push(at_least(arena, address, 4096));
            facts.extend(multiple(arena, address, global.align_bytes, 0));
        }
        for (symbol, align) in self.problem.own_constants() {
            let address = arena.variable(&address_name(symbol), Sort::Bits(64));
            facts.push(below(arena, address, 1u128 << self.problem.address_bits(symbol)));
            facts.push(at_least(arena, address, 4096));
            facts.extend(multiple(arena, address, align, 0));
        }
        facts.extend(self.apart(arena));
        let stack = entry_variable(arena, "rsp");
        facts.push(below(arena, stack, (1 << 47) - 2 * FRAME_BYTES));
        facts.push(at_least(arena, stack, 4096 + 2 * FRAME_BYTES));
        facts.extend(multiple(arena, stack, 16, 8));
        facts
    }
}

impl Setting {
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
                    let start = arena.variable(&address_name(&low.symbol), Sort::Bits(64));
                    let next = arena.variable(&address_name(&high.symbol), Sort::Bits(64));
                    let last = arena.sum(Bits::new(64, u128::from(low.size_bytes.max(1)) - 1), &[(1, start)]);
                    arena.compare(CompareOp::Ult, last, next)
                };
                let either = [before(left, right), before(right, left)];
                facts.push(arena.commutative(CommutativeOp::Or, &either));
            }
        }
        facts
    }
}

/// The slot of the return address.
pub fn return_slot(arena: &mut Arena) -> ExprId {
    slot(arena, 0, 8)
}

/// Bytes of the frame at an offset from the stack pointer at entry.
pub fn slot(arena: &mut Arena, offset: i64, bytes: u32) -> ExprId {
    let memory = Region::Stack.variable(arena);
    let start = entry_variable(arena, "rsp");
    let address = arena.sum(Bits::new(64, offset as u128), &[(1, start)]);
    arena.load(memory, address, bytes)
}

fn below(arena: &mut Arena, value: ExprId, limit: u128) -> ExprId {
    let limit = arena.constant(Bits::new(64, limit));
    arena.compare(CompareOp::Ult, value, limit)
}

fn at_least(arena: &mut Arena, value: ExprId, least: u128) -> ExprId {
    let last = arena.constant(Bits::new(64, least - 1));
    arena.compare(CompareOp::Ult, last, value)
}

fn multiple(arena: &mut Arena, value: ExprId, of: u64, rest: u128) -> Option<ExprId> {
    if of < 2 {
        return None;
    }
    let mask = arena.constant(Bits::new(64, u128::from(of) - 1));
    let low = arena.commutative(CommutativeOp::And, &[value, mask]);
    let rest = arena.constant(Bits::new(64, rest));
    Some(arena.compare(CompareOp::Eq, low, rest))
}
