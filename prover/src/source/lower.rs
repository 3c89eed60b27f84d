//! A function of the IR as a transition graph.

use super::bindings::{self, PointFacts, PointInfo};
use super::known::Known;
use super::origin::{Origin, Origins};
use super::segment::{self, Segment, handed_on, phis, segments};
use super::shape::{check_shape, frame, types};
use super::step::Run;
use super::{LowerError, Peek, SourceFunction, SourceParameter};
use crate::domain::{Domain, Layout, Symbolic};
use crate::expr::{Arena, ExprId, Sort};
use crate::graph::{Call, Edge, Graph, Point, PointId};
use crate::ir::{Block, Extension, Function, Instruction, Module, Operation, Type, Value};
use crate::region::{Partition, Region, SOURCE_PREFIX};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Name of the variable that takes the returned value.
pub const RETURN_VALUE: &str = "source.return";
/// Name of the variable that is the address of the first local in memory.
pub const FRAME: &str = "source.frame";

/// What is known of a function while its segments run.
pub(super) struct Context<'a> {
    pub(super) module: &'a Module,
    pub(super) origins: &'a Origins,
    layout: &'a SourceLayout,
    /// Distances of locals in memory from the start of the frame.
    frame: HashMap<&'a str, u64>,
    types: HashMap<&'a str, &'a Type>,
    /// Whether a result is a whole byte at least, with zeros above a narrower value.
    fills_byte: bool,
}

/// Gives each access the region that was chosen for it just before.
struct SourceLayout {
    partition: Partition,
    address_bits: u32,
    next: RefCell<Region>,
}

impl Layout for SourceLayout {
    fn region(&self, _: &mut Arena, _: ExprId) -> Region {
        self.partition.coarsen(self.next.borrow().clone())
    }

    fn address_bits(&self) -> u32 {
        self.address_bits
    }

    fn memory(&self, arena: &mut Arena, region: &Region) -> ExprId {
        memory_variable_in(arena, region, self.address_bits)
    }
}

/// The variable that stands for a region's contents in the source, with 64-bit addresses.
pub fn memory_variable(arena: &mut Arena, region: &Region) -> ExprId {
    memory_variable_in(arena, region, 64)
}

/// The same with addresses of a given width.
pub fn memory_variable_in(arena: &mut Arena, region: &Region, address_bits: u32) -> ExprId {
    arena.variable(&format!("{SOURCE_PREFIX}{}", region.variable_name()), Sort::Memory(address_bits))
}

impl Context<'_> {
    pub(super) fn pointer_bits(&self) -> u32 {
        self.module.layout.pointer_bits
    }

    pub(super) fn width_bits(&self, of: &Type) -> Result<u32, String> {
        match of {
            Type::Int(width_bits) => Ok(*width_bits),
            Type::Float(format) => Ok(format.width_bits()),
            Type::Pointer => Ok(self.pointer_bits()),
            other => Err(format!("value of type {other}")),
        }
    }

    /// The address of a local in memory, if a value is that.
    pub(super) fn frame_address(&self, domain: &Symbolic, name: &str) -> Option<ExprId> {
        let offset = self.frame.get(name)?;
        let start = domain.variable(FRAME, self.pointer_bits());
        Some(domain.add(start, domain.constant(self.pointer_bits(), u128::from(*offset))))
    }

    /// LLVM's verifier promises that a value is used with its type; text from elsewhere may break that.
    pub(super) fn check_type(&self, name: &str, of: &Type) -> Result<(), String> {
        if self.types.get(name) == Some(&of) { Ok(()) } else { Err(format!("%{name} as {of}")) }
    }

    pub(super) fn is_local_in_memory(&self, name: &str) -> bool {
        self.frame.contains_key(name)
    }

    /// Says where the next access goes.
    pub(super) fn select_region(&self, pointer: &Value) {
        *self.layout.next.borrow_mut() = match self.origins.of(pointer) {
            Origin::In(region) => region,
            Origin::Any => Region::Rest,
        };
    }
}

/// The graph with a given cut of memory.
pub(super) fn lower(
    arena: &mut Arena,
    module: &Module,
    function: &Function,
    partition: Partition,
) -> Result<SourceFunction, LowerError> {
    Ok(lower_cut(arena, module, function, partition, |_| Vec::new())?.0)
}

/// The same with looks into the segments.
pub(super) fn lower_with_peeks(
    arena: &mut Arena,
    module: &Module,
    function: &Function,
    partition: Partition,
) -> Result<(SourceFunction, Vec<Peek>), LowerError> {
    lower_cut(arena, module, function, partition, cuts)
}

/// `cuts` says where to look into a segment, as numbers of its instructions.
fn lower_cut(
    arena: &mut Arena,
    module: &Module,
    function: &Function,
    partition: Partition,
    cuts: impl Fn(&Segment) -> Vec<usize>,
) -> Result<(SourceFunction, Vec<Peek>), LowerError> {
    let refuse = |what: String| LowerError::new(module, function, None, what);
    if let Some(reason) = &function.refused {
        return Err(refuse(reason.clone()));
    }
    check_shape(module, function)?;
    let origins = Origins::infer(function);
    if let Some(instruction) = origins.escape(function) {
        return Err(LowerError::new(module, function, Some(instruction), "kept address of a local".into()));
    }
    let address_bits = module.layout.pointer_bits;
    let layout = SourceLayout { partition, address_bits, next: RefCell::new(Region::Rest) };
    let frame = frame(module, function)?;
    let types = types(function);
    let fills_byte = function.returns_extension == Extension::Zero;
    let context = Context { module, origins: &origins, layout: &layout, frame, types, fills_byte };
    let mut segments = segments(function);
    let whole = segments.len();
    let mut parts = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        for cut in cuts(segment) {
            let rest = Segment {
                block: segment.block,
                start: segment.start + cut,
                instructions: &segment.instructions[cut..],
            };
            parts.push((number, cut, rest));
        }
    }
    let numbers: Vec<(usize, usize)> = parts.iter().map(|(number, cut, _)| (*number, *cut)).collect();
    segments.extend(parts.into_iter().map(|(_, _, rest)| rest));
    let facts = bindings::infer(module, function, &segments);
    let named: HashSet<String> = facts.values().map(str::to_owned).collect();
    segments.truncate(whole);
    let handed_on: HashSet<&str> =
        handed_on(&segments).into_iter().chain(named.iter().map(String::as_str)).collect();
    let graph = graph(arena, &context, function, &segments, &handed_on)?;
    let mut peeks = Vec::new();
    for (number, cut) in numbers {
        let segment = &segments[number];
        let start = Segment {
            block: segment.block,
            start: segment.start,
            instructions: &segment.instructions[..cut],
        };
        let ran = run(arena, &context, function, &start, &handed_on)?;
        let guard = arena.constant(crate::bits::Bits::bit(true));
        let edge = Edge {
            from: PointId(number as u32),
            to: PointId(u32::MAX),
            guard,
            assignments: ran.assignments,
            requirements: Vec::new(),
            accesses: ran.accesses,
            assumptions: ran.assumptions,
            call: None,
            open: false,
        };
        let point = segment::point(&segment.block.label, segment.start + cut);
        peeks.push(Peek { edge, point, info: PointInfo::default() });
    }
    let mut source = finish(arena, &context, function, graph, facts)?;
    // The exit comes last.
    let exit = source.points.pop();
    let infos = source.points.split_off(whole);
    for (peek, info) in peeks.iter_mut().zip(infos) {
        peek.info = info;
    }
    source.points.extend(exit);
    Ok((source, peeks))
}

/// Where the line, the column or a variable changes inside of a segment. A call is not looked into.
fn cuts(segment: &Segment) -> Vec<usize> {
    if segment.instructions.iter().any(|instruction| segment::is_event(&instruction.operation)) {
        return Vec::new();
    }
    let changes = |number: &usize| {
        let (before, here) = (&segment.instructions[number - 1], &segment.instructions[*number]);
        !here.records.is_empty() || here.location != before.location
    };
    (1..segment.instructions.len()).filter(changes).collect()
}

fn graph(
    arena: &mut Arena,
    context: &Context,
    function: &Function,
    segments: &[Segment],
    handed_on: &HashSet<&str>,
) -> Result<Graph, LowerError> {
    let mut points: Vec<Point> = segments.iter().map(Segment::point).collect();
    points.push(Point::Exit);
    let mut edges = Vec::new();
    let known = Known::infer(context.module, function);
    let is_open =
        |segment: &Segment| segment.instructions.iter().any(|one| known.may_be_fused(&one.operation));
    for (number, segment) in segments.iter().enumerate() {
        let mut ran = run(arena, context, function, segment, handed_on)?;
        if let Some(call) = &ran.call {
            havoc(arena, context, segments, &mut ran.assignments, call, &segment.point());
        }
        for way in ran.ways {
            let to = points.iter().position(|point| *point == way.to).unwrap_or(points.len() - 1);
            edges.push(Edge {
                from: PointId(number as u32),
                to: PointId(to as u32),
                guard: way.guard,
                assignments: ran.assignments.iter().copied().chain(way.assignments).collect(),
                requirements: Vec::new(),
                accesses: ran.accesses.clone(),
                assumptions: ran.assumptions.clone(),
                call: ran.call.clone(),
                open: is_open(segment),
            });
        }
    }
    Ok(Graph { points, edges })
}

/// A way out of a segment.
struct Way {
    guard: ExprId,
    to: Point,
    /// Phi nodes of the block that it leads to.
    assignments: Vec<(ExprId, ExprId)>,
}

struct Ran {
    assignments: Vec<(ExprId, ExprId)>,
    accesses: Vec<crate::region::Access>,
    assumptions: Vec<crate::graph::Assumption>,
    call: Option<Call>,
    ways: Vec<Way>,
}

fn run(
    arena: &mut Arena,
    context: &Context,
    function: &Function,
    segment: &Segment,
    handed_on: &HashSet<&str>,
) -> Result<Ran, LowerError> {
    let prefix = format!("{SOURCE_PREFIX}{}.{}.", segment.block.label, segment.start);
    let domain = Symbolic::new(std::mem::take(arena), &prefix, context.layout);
    let mut state =
        Run { context, domain: &domain, local: HashMap::new(), assumptions: Vec::new(), at: segment.point() };
    let outcome = run_in(&mut state, function, segment, handed_on);
    let assumptions = std::mem::take(&mut state.assumptions);
    drop(state);
    let (returned, collected) = domain.into_parts();
    *arena = returned;
    let (mut assignments, call, ways) = outcome
        .map_err(|(instruction, what)| LowerError::new(context.module, function, instruction, what))?;
    for (region, memory) in collected.memories {
        let variable = context.layout.memory(arena, &region);
        if variable != memory {
            assignments.push((variable, memory));
        }
    }
    Ok(Ran { assignments, accesses: collected.accesses, assumptions, call, ways })
}

type Outcome = (Vec<(ExprId, ExprId)>, Option<Call>, Vec<Way>);

fn run_in<'a>(
    state: &mut Run<'a, '_, '_>,
    function: &'a Function,
    segment: &Segment<'a>,
    handed_on: &HashSet<&str>,
) -> Result<Outcome, (Option<&'a Instruction>, String)> {
    let domain = state.domain;
    let mut assignments = Vec::new();
    let (mut call, mut ways) = (None, None);
    for (number, instruction) in segment.instructions.iter().enumerate() {
        let refused = |what: String| (Some(instruction), what);
        state.at = segment::point(&segment.block.label, segment.start + number);
        if segment::is_event(&instruction.operation) {
            let (event, result) = event(state, instruction).map_err(refused)?;
            call = Some(event);
            assignments.extend(result);
        } else if instruction.operation.ends_block() {
            let (found, returned) = ways_out(state, function, segment, instruction).map_err(refused)?;
            ways = Some(found);
            assignments.extend(returned);
        } else {
            let value = state.operation(&instruction.operation).map_err(refused)?;
            if let (Some(name), Some(value)) = (&instruction.result, value) {
                state.local.insert(name, value);
                if handed_on.contains(name.as_str()) {
                    let variable = domain.variable(&format!("%{name}"), domain.width_bits(value));
                    assignments.push((variable, value));
                }
            }
        }
    }
    let ways = ways.unwrap_or_else(|| {
        let next = segment::point(&segment.block.label, segment.start + segment.instructions.len());
        vec![Way { guard: domain.bit(true), to: next, assignments: Vec::new() }]
    });
    debug_assert!(
        segment.is_cut() || segment.instructions.last().is_some_and(|last| last.operation.ends_block())
    );
    Ok((assignments, call, ways))
}

/// A call that others can see, and the fresh value of its result.
fn event(state: &Run, instruction: &Instruction) -> Result<(Call, Option<(ExprId, ExprId)>), String> {
    let Operation::Call { returns, callee, arguments, extensions, refused, .. } = &instruction.operation
    else {
        return Err("no call".into());
    };
    if let Some(what) = refused {
        return Err(format!("call of {callee}, {what}"));
    }
    // They are passed in places of their own.
    let number = |of: &Type| matches!(of, Type::Float(_));
    if number(returns) || arguments.iter().any(|argument| number(&argument.of)) {
        return Err(format!("call of {callee} with floating point"));
    }
    let mut values = Vec::new();
    for (argument, extension) in arguments.iter().zip(extensions) {
        let value = state.value(&argument.value, &argument.of)?;
        // A callee may rely on what the caller has to put above.
        values.push(match extension {
            Extension::Zero if state.domain.width_bits(value) < 32 => state.domain.zero_extend(value, 32),
            Extension::Sign if state.domain.width_bits(value) < 32 => state.domain.sign_extend(value, 32),
            _ => value,
        });
    }
    let mut call = Call { callee: callee.clone(), arguments: values, ..Call::default() };
    let Some(name) = &instruction.result else { return Ok((call, None)) };
    let width_bits = state.context.width_bits(returns)?;
    let variable = state.domain.variable(&format!("%{name}"), width_bits);
    call.result = Some(variable);
    let fresh = state.domain.variable(&format!("{SOURCE_PREFIX}call.{callee}.%{name}"), width_bits);
    Ok((call, Some((variable, fresh))))
}

/// After a call, all memory but the frame is what the callee left.
fn havoc(
    arena: &mut Arena,
    context: &Context,
    segments: &[Segment],
    assignments: &mut Vec<(ExprId, ExprId)>,
    call: &Call,
    at: &Point,
) {
    let mut regions = BTreeSet::from([context.layout.partition.coarsen(Region::Rest)]);
    for instruction in segments.iter().flat_map(|segment| segment.instructions) {
        for value in instruction.operation.values() {
            if let Origin::In(region @ Region::Global(_)) = context.origins.of(value) {
                regions.insert(context.layout.partition.coarsen(region));
            }
        }
    }
    let Point::Ir { block, instruction } = at else { return };
    for region in regions {
        let variable = context.layout.memory(arena, &region);
        let name =
            format!("{SOURCE_PREFIX}call.{}.{block}.{instruction}.{}", call.callee, region.variable_name());
        assignments.push((variable, arena.variable(&name, Sort::Memory(context.pointer_bits()))));
    }
}

/// Bits that a caller may look at in a result of a width: of a truth value of C, a whole byte.
fn returned_bits(context: &Context, width_bits: u32) -> u32 {
    if width_bits == 1 && context.fills_byte { 8 } else { width_bits }
}

type WaysOut = (Vec<Way>, Option<(ExprId, ExprId)>);

/// Where control goes; targets that are the same are one way, as a step is known by its ends.
fn ways_out(
    state: &Run,
    function: &Function,
    segment: &Segment,
    instruction: &Instruction,
) -> Result<WaysOut, String> {
    let domain = state.domain;
    let always = domain.bit(true);
    let mut guards: BTreeMap<&str, ExprId> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut add = |target, guard| match guards.get(target).copied() {
        Some(other) => {
            guards.insert(target, domain.or(other, guard));
        }
        None => {
            order.push(target);
            guards.insert(target, guard);
        }
    };
    match &instruction.operation {
        Operation::Jump(target) => add(target, always),
        Operation::Branch { condition, then, otherwise } => {
            let condition = state.value(condition, &Type::Int(1))?;
            add(then, condition);
            add(otherwise, domain.not(condition));
        }
        Operation::Switch { on, default, cases } => {
            let value = state.value(&on.value, &on.of)?;
            let mut none = always;
            for (case, target) in cases {
                let fits = domain.equals(value, domain.constant(case.width_bits(), case.value()));
                add(target, fits);
                none = domain.and(none, domain.not(fits));
            }
            add(default, none);
        }
        Operation::Return(value) => {
            let returned = match value {
                None => None,
                Some(value) => {
                    let value = state.value(&value.value, &value.of)?;
                    let width_bits = returned_bits(state.context, domain.width_bits(value));
                    let value = domain.zero_extend(value, width_bits);
                    Some((domain.variable(RETURN_VALUE, domain.width_bits(value)), value))
                }
            };
            return Ok((vec![Way { guard: always, to: Point::Exit, assignments: Vec::new() }], returned));
        }
        // Undefined if reached: no way on.
        Operation::Unreachable => {}
        other => return Err(format!("{other:?} at the end of a block")),
    }
    let ways = order.into_iter().map(|target| {
        let block = function.blocks.iter().find(|block| block.label == target).ok_or("a lost block")?;
        let assignments = phi_values(state, segment, block)?;
        Ok(Way { guard: guards[target], to: segment::point(target, phis(block)), assignments })
    });
    Ok((ways.collect::<Result<_, String>>()?, None))
}

/// What the phi nodes of a block get from where control comes from.
fn phi_values(state: &Run, from: &Segment, to: &Block) -> Result<Vec<(ExprId, ExprId)>, String> {
    let mut found = Vec::new();
    for instruction in &to.instructions[..phis(to)] {
        let (Operation::Phi { of, incoming }, Some(name)) = (&instruction.operation, &instruction.result)
        else {
            return Err("a phi node without a name".into());
        };
        let value = incoming.iter().find(|(_, label)| *label == from.block.label);
        let (value, _) = value.ok_or_else(|| format!("phi %{name} without {}", from.block.label))?;
        let value = state.value(value, of)?;
        found.push((state.domain.variable(&format!("%{name}"), state.domain.width_bits(value)), value));
    }
    Ok(found)
}

fn finish(
    arena: &mut Arena,
    context: &Context,
    function: &Function,
    graph: Graph,
    facts: PointFacts,
) -> Result<SourceFunction, LowerError> {
    let refuse = |what: String| LowerError::new(context.module, function, None, what);
    let mut parameters = Vec::new();
    for parameter in &function.parameters {
        let width_bits = context.width_bits(&parameter.of).map_err(refuse)?;
        let variable = arena.variable(&format!("%{}", parameter.name), Sort::Bits(width_bits));
        let (extension, pointer) = (parameter.extension, parameter.of == Type::Pointer);
        let float = matches!(parameter.of, Type::Float(_));
        parameters.push(SourceParameter { variable, width_bits, extension, pointer, float });
    }
    let returns_bits = match &function.returns {
        Type::Void => None,
        of => Some(returned_bits(context, context.width_bits(of).map_err(refuse)?)),
    };
    let named: BTreeSet<&str> = function
        .blocks
        .iter()
        .flat_map(|block| &block.instructions)
        .flat_map(|instruction| instruction.operation.values())
        .filter_map(|value| match value {
            Value::Global(global) | Value::Offset { global, .. } => Some(global.as_str()),
            _ => None,
        })
        .collect();
    let globals = named.into_iter().filter_map(|symbol| context.module.global(symbol)).cloned().collect();
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let written = instructions.filter_map(|instruction| match &instruction.operation {
        Operation::Store { pointer, .. } => match context.origins.of(pointer) {
            Origin::In(Region::Global(symbol)) => Some(symbol),
            _ => None,
        },
        _ => None,
    });
    let written = written.collect();
    let (variables, points) = facts.resolve(arena, context);
    let address_bits = context.pointer_bits();
    let returns_float = matches!(function.returns, Type::Float(_));
    Ok(SourceFunction {
        graph,
        address_bits,
        parameters,
        returns_bits,
        returns_float,
        variables,
        points,
        globals,
        written,
    })
}
