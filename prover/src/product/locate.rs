//! Questions about the variables of a proved function at any pc: what repair asks. A finished proof says what holds
//! at its nodes; here both programs are run on from there, the machine to a pc and the source to a point of it, and
//! "the variable is this expression" is shown like any other obligation.
//!
//! Positions: along an edge of the product the machine passes pcs, the source points; both are counted from 0, the
//! node itself. A step of the source between points that all its paths pass is one position further.
//!
//! **Invariant**: what [`Locator::show`] accepts rests on the node's invariants and the two prefixes alone, not on how
//! the edge goes on, nor on anything that was used to find it.

use super::assumed::{Assumed, equal};
use super::certify::Certified;
use super::columns::Place;
use super::document::{numbered, obligation, path_set, repeated, series, source_place};
use super::flow::Anchors;
use super::problem::{ProblemError, Setting, entry_variable, slot, source_memory_name};
use super::triple::{Context, Outcome, Triple, substituted};
use super::walk::{Values, Walk, Walker, and, implies};
use crate::bits::{Bits, mask};
use crate::expr::decompose::memory_equality;
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node as Expr, Sort, smtlib};
use crate::graph::{Edge, Graph, Point, PointId};
use crate::ir::{IrError, Module};
use crate::lift::{self, LiftError};
use crate::object_file::FunctionCode;
use crate::pair::{PairError, pair};
use crate::product::flow::Path;
use crate::prove::problem;
use crate::region::{Region, address_name};
use crate::run::state::Table;
use crate::smt::{Limits, Program, SmtError, Solver};
use crate::source::{self, LowerError, PointInfo};
use metaloc_proof as proof;
use metaloc_proof::{Exact, Extend, Paths, Predicate, Sum, Term};
use std::collections::BTreeMap;
use std::ops::Range;

/// Positions that an edge may have on one side.
const MOST_POSITIONS: usize = 4096;

/// Why a proved function cannot be asked about.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The source.
    #[error(transparent)]
    Ir(#[from] IrError),
    /// The source has no graph.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The code has no graph.
    #[error(transparent)]
    Lift(#[from] LiftError),
    /// No problem of the prover's.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The solver.
    #[error(transparent)]
    Solver(#[from] SmtError),
    /// The proof is not one of this function.
    #[error("the proof does not fit the function: {0}")]
    Mismatch(String),
}

fn mismatch<T>(what: impl Into<String>) -> Result<T, LocateError> {
    Err(LocateError::Mismatch(what.into()))
}

/// Where on an edge: numbers of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The edge of the product.
    pub edge: usize,
    /// Position of the machine.
    pub machine: usize,
    /// Position of the source.
    pub source: usize,
}

/// A position of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachinePosition {
    /// The pc.
    pub pc: u64,
    /// Whether memory other than the frame was written since the position before.
    pub stored: bool,
    steps: usize,
    peek: Option<usize>,
}

/// A position of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// Line and column, if the source has them.
    pub location: Option<proof::SourceLocation>,
    /// Whether memory was written since the position before.
    pub stored: bool,
    /// How often the point was met before on this edge.
    pub round: usize,
    elements: usize,
    peek: Option<usize>,
    point: Point,
}

/// A linear form over parts of the state that are not looked into, in integers: what the value is if nothing
/// overflows. For guessing; what is guessed is shown afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Linear {
    /// Coefficients by number of the part.
    pub terms: BTreeMap<u64, i128>,
    /// The constant.
    pub constant: i128,
}

/// A place of the machine and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceForm {
    /// The place.
    pub term: Term,
    /// Its value.
    pub form: Linear,
    /// What happened to it since the node.
    pub change: Change,
}

/// What happened to a place between the node and a pc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing.
    Kept,
    /// It was changed in a way that can be undone: its value is an invertible function of what it was.
    Reversible,
    /// It holds something else.
    New,
}

/// A proved function that can be asked.
pub struct Locator {
    arena: Arena,
    solver: Solver,
    normaliser: Normaliser,
    table: Table,
    setting: Setting,
    facts: Vec<ExprId>,
    walks: u32,
    function: proof::Function,
    machine: Graph,
    source: Graph,
    source_infos: Vec<PointInfo>,
    edges: Vec<EdgePositions>,
    pcs: Vec<Range<u64>>,
    address_bits: u32,
    slots: Vec<i64>,
    shown: Vec<(proof::Location, Certified)>,
}

/// An edge as positions on both sides.
struct EdgePositions {
    node: usize,
    machine_steps: Vec<usize>,
    machine: Vec<MachinePosition>,
    elements: Vec<Element>,
    source: Vec<SourcePosition>,
    /// Kept walks.
    source_walks: BTreeMap<usize, Walk>,
    /// Rewriting with lemmas of the whole edge, for guessing only.
    guessing: Option<Assumed>,
}

/// A step of the source between two points that all paths pass.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Element {
    from: u32,
    to: u32,
    paths: Paths,
}

impl Locator {
    /// Rebuilds both programs of a proved function.
    pub fn new(
        module: &Module,
        code: &FunctionCode,
        function: &proof::Function,
        program: &Program,
        limits: Limits,
    ) -> Result<Locator, LocateError> {
        let ir = module.function(&code.name)?;
        let mut arena = Arena::new();
        let partition = match pair(&mut arena, module, ir, code) {
            Ok(pair) => pair.partition,
            Err(PairError::Source(error)) => return Err(error.into()),
            Err(PairError::Machine(error)) => return Err(error.into()),
        };
        let (lowered, source_peeks) = source::lower_with_peeks(&mut arena, module, ir, partition)?;
        let machine = lift::lift_by(&mut arena, code, partition)?;
        let (machine_peeks, mut pcs) = lift::peeks(&mut arena, code, partition)?;
        pcs.sort_by_key(|range| range.start);
        let problem = problem(&mut arena, &lowered, machine.clone(), code);
        let setting = Setting::new(&mut arena, problem)?;
        let facts = setting.facts(&mut arena);
        check_points(function, &machine, &lowered.graph)?;
        let mut source_infos = lowered.points.clone();
        let (mut machine, mut source) = (machine, lowered.graph.clone());
        for peek in machine_peeks {
            extend(&mut machine, peek.point, peek.edge);
        }
        for peek in source_peeks {
            extend(&mut source, peek.point, peek.edge);
            source_infos.push(peek.info);
        }
        let mut slots: Vec<i64> = function.nodes.iter().flat_map(slots_of).collect();
        slots.sort_unstable();
        slots.dedup();
        let mut locator = Locator {
            solver: Solver::new(program.clone(), limits),
            arena,
            normaliser: Normaliser::new(),
            table: Table::default(),
            facts,
            walks: 0,
            function: function.clone(),
            machine,
            source,
            source_infos,
            edges: Vec::new(),
            pcs,
            address_bits: code.address_bits,
            slots,
            shown: Vec::new(),
            setting,
        };
        for edge in &function.edges {
            let positions = locator.positions(edge)?;
            locator.edges.push(positions);
        }
        Ok(locator)
    }

    /// Instructions by pc.
    pub fn instructions(&self) -> &[Range<u64>] {
        &self.pcs
    }

    /// Variables of the source.
    pub fn variables(&self) -> &[proof::Variable] {
        &self.function.variables
    }

    /// How many edges the product has.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// Positions of the machine on an edge; its end is not one, as it belongs to the edges that leave that node.
    pub fn machine(&self, edge: usize) -> &[MachinePosition] {
        &self.edges[edge].machine
    }

    /// Positions of the source on an edge, its end included.
    pub fn source(&self, edge: usize) -> &[SourcePosition] {
        &self.edges[edge].source
    }

    /// Whether a variable has a value at a position of the source.
    pub fn is_bound(&self, edge: usize, source: usize, variable: usize) -> bool {
        self.bound(edge, source, variable).is_some()
    }

    fn bound(&self, edge: usize, source: usize, variable: usize) -> Option<source::Bound> {
        let position = &self.edges[edge].source[source];
        let point = self.source.find(&position.point)?;
        let info = self.source_infos.get(point.0 as usize)?;
        let found = info.bindings.iter().find(|(number, _)| *number == variable)?;
        (found.1 != source::Bound::Undefined).then_some(found.1)
    }

    /// Both sides of an edge as positions.
    fn positions(&self, edge: &proof::Edge) -> Result<EdgePositions, LocateError> {
        let steps = machine_steps(&edge.machine.paths)?;
        let mut machine_steps = Vec::new();
        let mut machine = Vec::new();
        let mut stored = false;
        for (from, to) in steps {
            let number = self.machine.edges.iter().position(|edge| edge.from.0 == from && edge.to.0 == to);
            let Some(number) = number else { return mismatch("a step of the machine that is none") };
            let whole = &self.machine.edges[number];
            let Point::Pc(pc) = self.machine.points[from as usize] else {
                return mismatch("a step from the exit");
            };
            machine.push(MachinePosition { pc, stored, steps: machine_steps.len(), peek: None });
            let mut before = 0;
            for (peek, edge) in self.machine.edges.iter().enumerate() {
                let inside =
                    edge.from.0 == from && edge.to.0 as usize >= self.setting.problem.machine.points.len();
                if !inside {
                    continue;
                }
                let Point::Pc(pc) = self.machine.points[edge.to.0 as usize] else { continue };
                let writes = writes(edge);
                machine.push(MachinePosition {
                    pc,
                    stored: writes > before,
                    steps: machine_steps.len(),
                    peek: Some(peek),
                });
                before = writes;
            }
            stored = writes(whole) > before;
            machine_steps.push(number);
            if machine.len() > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
        }
        let mut elements = Vec::new();
        flatten(&edge.source.paths, &mut elements)?;
        let source =
            self.source_positions(self.function.nodes[edge.from as usize].source_point, &elements)?;
        Ok(EdgePositions {
            node: edge.from as usize,
            machine_steps,
            machine,
            elements,
            source,
            source_walks: BTreeMap::new(),
            guessing: None,
        })
    }

    fn source_positions(&self, start: u32, elements: &[Element]) -> Result<Vec<SourcePosition>, LocateError> {
        let coarse = self.setting.problem.source.points.len();
        let mut found: Vec<SourcePosition> = Vec::new();
        let mut rounds = BTreeMap::<u32, usize>::new();
        let mut stored = false;
        let mut at = start;
        for number in 0..=elements.len() {
            let round = rounds.entry(at).or_default();
            let Some(point) = self.source.points.get(at as usize).cloned() else {
                return mismatch("a source point");
            };
            let location = |point: usize| self.source_infos.get(point).and_then(|info| info.location.clone());
            let whole = location(at as usize);
            found.push(SourcePosition {
                location: whole,
                stored,
                round: *round,
                elements: number,
                peek: None,
                point,
            });
            stored = false;
            let mut before = 0;
            for (peek, edge) in self.source.edges.iter().enumerate() {
                if edge.from.0 != at || (edge.to.0 as usize) < coarse || number == elements.len() {
                    continue;
                }
                let writes = writes(edge);
                found.push(SourcePosition {
                    location: location(edge.to.0 as usize),
                    stored: writes > before,
                    round: *round,
                    elements: number,
                    peek: Some(peek),
                    point: self.source.points[edge.to.0 as usize].clone(),
                });
                before = writes;
            }
            *round += 1;
            if let Some(element) = elements.get(number) {
                let mut inside = self.source.edges.iter().filter(|edge| (edge.to.0 as usize) < coarse);
                let total = match &element.paths {
                    Paths::Step(from, to) => {
                        inside.find(|edge| edge.from.0 == *from && edge.to.0 == *to).map(writes)
                    }
                    // Any path may write.
                    _ => Some(usize::MAX),
                };
                stored = total.is_none_or(|total| total > before);
                at = element.to;
            }
            if found.len() > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
        }
        Ok(found)
    }

    fn context(&mut self) -> (Context<'_>, &mut Vec<EdgePositions>, &proof::Function) {
        let context = Context {
            arena: &mut self.arena,
            solver: &mut self.solver,
            normaliser: std::mem::take(&mut self.normaliser),
            setting: &self.setting,
            table: std::mem::take(&mut self.table),
            facts: self.facts.clone(),
            walks: self.walks,
        };
        (context, &mut self.edges, &self.function)
    }

    /// What a node's invariants give.
    fn assumed(&mut self, node: usize) -> Result<Assumed, LocateError> {
        let predicates = self.function.nodes[node].invariants.clone();
        let (mut bits, mut memories, mut definitions) = (Vec::new(), Vec::new(), Vec::new());
        for predicate in &predicates {
            match predicate {
                Predicate::Zero { sum } => {
                    let value = self.sum(sum)?;
                    let zero = self.arena.constant(Bits::new(sum.width_bits, 0));
                    bits.push(equal(&mut self.arena, value, zero));
                    definitions.extend(self.definition(sum)?);
                }
                Predicate::Compare { relation, left, right } => {
                    let (left, right) = (self.sum(left)?, self.sum(right)?);
                    let arena = &mut self.arena;
                    bits.push(match relation {
                        proof::Relation::Ult => arena.compare(CompareOp::Ult, left, right),
                        proof::Relation::Slt => arena.compare(CompareOp::Slt, left, right),
                        proof::Relation::Ule => {
                            let more = arena.compare(CompareOp::Ult, right, left);
                            arena.not(more)
                        }
                        proof::Relation::Sle => {
                            let more = arena.compare(CompareOp::Slt, right, left);
                            arena.not(more)
                        }
                    });
                }
                Predicate::MemoryEqual { region, except } if except.is_empty() => {
                    let region = match region {
                        proof::Region::Global { symbol } => Region::Global(symbol.clone()),
                        proof::Region::Stack => Region::Stack,
                        proof::Region::Rest => Region::Rest,
                    };
                    if self.setting.regions.contains(&region) {
                        let (source, machine) = self.setting.memories(&mut self.arena, &region);
                        memories.push((machine, source));
                    }
                }
                // Less is assumed than holds.
                Predicate::MemoryEqual { .. } => {}
            }
        }
        Ok(Assumed::of(&mut self.arena, &mut self.normaliser, bits, memories, &definitions))
    }

    /// The last term with coefficient 1, if it is a part of a state, and its value by the others.
    fn definition(&mut self, sum: &Sum) -> Result<Option<(Place, ExprId, ExprId)>, LocateError> {
        let defined = |term: &&proof::SumTerm| term.coefficient.0 == 1 && self.place(term).is_some();
        let Some(term) = sum.terms.iter().rev().find(defined).cloned() else { return Ok(None) };
        let Some(place) = self.place(&term) else { return Ok(None) };
        let column = self.term(&term, sum.width_bits)?;
        let rest = Sum {
            width_bits: sum.width_bits,
            terms: sum.terms.iter().filter(|other| **other != term).cloned().collect(),
            constant: sum.constant,
        };
        let rest = self.sum(&rest)?;
        let value = self.arena.sum(Bits::new(sum.width_bits, 0), &[(mask(sum.width_bits), rest)]);
        Ok(Some((place, column, value)))
    }

    fn place(&self, term: &proof::SumTerm) -> Option<Place> {
        let value = |number: u32| {
            let value = self.function.values.get(number as usize)?;
            self.arena_variable(&value.name)
        };
        match (&term.term, term.extend) {
            (Term::Machine { place: proof::Place::Register { name, low_bit, width_bits } }, Extend::None) => {
                match (low_bit, width_bits) {
                    (0, bits) if *bits == self.address_bits => Some(Place::Register(name.clone())),
                    (low, 32) if low % 32 == 0 => {
                        Some(Place::Word { register: name.clone(), lane: low / 32 })
                    }
                    _ => None,
                }
            }
            (Term::Machine { place: proof::Place::StackSlot { offset_bytes, width_bits } }, Extend::None)
                if *width_bits == self.address_bits =>
            {
                Some(Place::Slot(*offset_bytes))
            }
            (Term::Value { value: number }, Extend::None) => Some(Place::Value(value(*number)?)),
            (Term::Value { value: number }, Extend::Zero) => Some(Place::ZeroExtended(value(*number)?)),
            (Term::Value { value: number }, Extend::Sign) => Some(Place::SignExtended(value(*number)?)),
            (
                Term::Global { side: proof::Side::Source, symbol, offset_bytes, width_bits: 32 },
                Extend::None,
            ) => Some(Place::Global(symbol.clone(), *offset_bytes)),
            _ => None,
        }
    }

    fn arena_variable(&self, name: &str) -> Option<ExprId> {
        self.arena.find_variable(name)
    }

    /// A sum in terms of the two states.
    fn sum(&mut self, sum: &Sum) -> Result<ExprId, LocateError> {
        let mut terms = Vec::new();
        for term in &sum.terms {
            terms.push((term.coefficient.0, self.term(term, sum.width_bits)?));
        }
        Ok(self.arena.sum(Bits::new(sum.width_bits, sum.constant.0), &terms))
    }

    fn term(&mut self, term: &proof::SumTerm, width_bits: u32) -> Result<ExprId, LocateError> {
        let address_bits = self.address_bits;
        let arena = &mut self.arena;
        let value = match &term.term {
            Term::Machine { place } => machine_place(arena, address_bits, place),
            Term::Entry { place: proof::Place::Register { name, low_bit: 0, .. } } => {
                entry_variable(arena, name)
            }
            Term::Entry { place: proof::Place::StackSlot { offset_bytes: 0, .. } } => {
                entry_variable(arena, "return")
            }
            Term::Entry { .. } => return mismatch("a place at entry"),
            Term::Address { symbol } => arena.variable(&address_name(symbol), Sort::Bits(address_bits)),
            Term::Global { side, symbol, offset_bytes, width_bits } => {
                let region = Region::Global(symbol.clone());
                let memory = match side {
                    proof::Side::Source => {
                        arena.variable(&source_memory_name(&region), Sort::Memory(address_bits))
                    }
                    proof::Side::Machine => region.variable_in(arena, address_bits),
                };
                let start = arena.variable(&address_name(symbol), Sort::Bits(address_bits));
                let address = arena.sum(Bits::new(address_bits, u128::from(*offset_bytes)), &[(1, start)]);
                arena.load(memory, address, width_bits / 8)
            }
            Term::Value { value } => {
                let Some(value) = self.function.values.get(*value as usize) else {
                    return mismatch("a value");
                };
                arena.variable(&value.name, Sort::Bits(value.width_bits))
            }
        };
        Ok(match term.extend {
            Extend::None => value,
            Extend::Zero => arena.zero_extend(value, width_bits),
            Extend::Sign => arena.sign_extend(value, width_bits),
            Extend::Truncate => arena.extract(value, 0, width_bits),
        })
    }

    fn walk_machine(&mut self, edge: usize, machine: usize) -> Walk {
        self.walks += 1;
        let positions = &self.edges[edge];
        let position = &positions.machine[machine];
        let mut numbers: Vec<usize> = positions.machine_steps[..position.steps].to_vec();
        numbers.extend(position.peek);
        let mut walker =
            Walker::new(&self.machine, &self.setting.machine_anchors, &format!("locate.m{}", self.walks));
        let start = walker.start(&mut self.arena);
        walker.path(&mut self.arena, start, &Path { edges: numbers, to: PointId(0) })
    }

    fn walk_source(&mut self, edge: usize, source: usize) -> Walk {
        if let Some(known) = self.edges[edge].source_walks.get(&source) {
            return known.clone();
        }
        let (elements, peek) = {
            let position = &self.edges[edge].source[source];
            (position.elements, position.peek)
        };
        // The nearest whole step that was walked before.
        let base = self.edges[edge]
            .source_walks
            .iter()
            .rev()
            .map(|(number, walk)| (&self.edges[edge].source[*number], walk))
            .find(|(position, _)| position.peek.is_none() && position.elements <= elements)
            .map(|(position, walk)| (position.elements, walk.clone()));
        self.walks += 1;
        let coarse = &self.setting.problem.source;
        let anchors: &Anchors = &self.setting.source_anchors;
        let mut walker = Walker::new(&self.source, anchors, &format!("locate.s{}", self.walks));
        let mut plain = Walker::new(coarse, anchors, &format!("locate.h{}", self.walks));
        let (mut done, mut walk) = base.unwrap_or_else(|| (0, walker.start(&mut self.arena)));
        while done < elements {
            let element = &self.edges[edge].elements[done];
            walk = match &element.paths {
                Paths::Step(from, to) => {
                    let step = coarse.edges.iter().position(|edge| edge.from.0 == *from && edge.to.0 == *to);
                    let edges: Vec<usize> = step.into_iter().collect();
                    walker.path(&mut self.arena, walk, &Path { edges, to: PointId(*to) })
                }
                _ => plain.hop(&mut self.arena, walk, PointId(element.from), PointId(element.to)),
            };
            done += 1;
        }
        if let Some(peek) = peek {
            walk = walker.path(&mut self.arena, walk, &Path { edges: vec![peek], to: PointId(0) });
        }
        self.edges[edge].source_walks.insert(source, walk.clone());
        walk
    }

    /// Both programs run to a place, with what may be used there.
    fn triple(&mut self, at: At) -> Result<Triple, LocateError> {
        let assumed = self.assumed(self.edges[at.edge].node)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let source = self.walk_source(at.edge, at.source);
        let mut given = assumed.bits.clone();
        given.extend(&self.facts);
        given.push(machine.condition);
        let arena = &mut self.arena;
        let defined = source
            .assumptions
            .iter()
            .map(|assumption| implies(arena, assumption.when, assumption.what.condition))
            .collect();
        Ok(Triple { machine, source, assumed, given, defined, lemmas: false, cases: false })
    }

    /// Rewriting for guesses: with what the solver shows of the whole edge.
    fn guessing(&mut self, edge: usize) -> Result<Assumed, LocateError> {
        if let Some(known) = self.edges[edge].guessing.take() {
            return Ok(known);
        }
        let last = At {
            edge,
            machine: self.edges[edge].machine.len() - 1,
            source: self.edges[edge].source.len() - 1,
        };
        let mut triple = self.triple(last)?;
        let given = triple.given.clone();
        let mut roots: Vec<ExprId> =
            triple.source.accesses.iter().map(|access| access.what.address).collect();
        roots.extend(triple.machine.accesses.iter().map(|access| access.what.address));
        let (mut context, _, _) = self.context();
        let found = context.add_lemmas(&format!("locate edge {edge}"), &mut triple, &given, &roots, &[]);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        found?;
        Ok(triple.assumed)
    }

    /// Whether the two memories are seen to agree: by rewriting alone, so `false` says nothing.
    pub fn same_memory(&mut self, at: At) -> Result<bool, LocateError> {
        let mut assumed = self.guessing(at.edge)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let source = self.walk_source(at.edge, at.source);
        let value = |values: &Values, variable: ExprId| values.get(&variable).copied().unwrap_or(variable);
        let mut same = true;
        for region in self.setting.regions.clone() {
            let (left, right) = self.setting.memories(&mut self.arena, &region);
            let left = value(&source.values, left);
            let right = value(&machine.values, right);
            let left = assumed.rewrite(&mut self.arena, &mut self.normaliser, left);
            let right = assumed.rewrite(&mut self.arena, &mut self.normaliser, right);
            let pairs = memory_equality(&mut self.arena, &mut self.normaliser, left, right);
            let Some(pairs) = pairs else {
                same = false;
                break;
            };
            for (left, right) in pairs {
                let bit = equal(&mut self.arena, left, right);
                let bit = assumed.rewrite(&mut self.arena, &mut self.normaliser, bit);
                same &= self.arena.as_constant(bit).is_some_and(|bits| bits.is_set());
            }
        }
        self.edges[at.edge].guessing = Some(assumed);
        Ok(same)
    }

    /// Whether the source certainly gets to its position if the machine is at its own.
    pub fn reached(&mut self, at: At) -> Result<bool, LocateError> {
        let mut triple = self.triple(at)?;
        let goal = triple.source.condition;
        let name = format!("locate reached {at:?}");
        Ok(self.implied(&name, &mut triple, goal)?.is_some())
    }

    fn implied(
        &mut self,
        name: &str,
        triple: &mut Triple,
        goal: ExprId,
    ) -> Result<Option<(super::triple::Shown, bool)>, LocateError> {
        let given = triple.given.clone();
        let (mut context, _, _) = self.context();
        let outcome = context.implied_if_defined(name, triple, &given, goal);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        Ok(match outcome? {
            (Outcome::Holds(shown), defined) => Some((shown, defined)),
            _ => None,
        })
    }

    /// What a variable is at a place, and what the machine's places are there. Nothing if it has no value.
    pub fn forms(
        &mut self,
        at: At,
        variable: usize,
    ) -> Result<Option<(Linear, Vec<PlaceForm>)>, LocateError> {
        let Some(target) = self.bound_value(at, variable) else { return Ok(None) };
        let mut assumed = self.guessing(at.edge)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let mut form = |arena: &mut Arena, normaliser: &mut Normaliser, id: ExprId| {
            let rewritten = assumed.rewrite(arena, normaliser, id);
            linear(arena, rewritten)
        };
        let target = form(&mut self.arena, &mut self.normaliser, target);
        let mut places = Vec::new();
        for term in self.places() {
            let plain =
                proof::SumTerm { coefficient: proof::Word(1), term: term.clone(), extend: Extend::None };
            let before = self.term(&plain, self.address_bits)?;
            let after = substituted(&mut self.arena, &[&machine.values], before);
            let change = self.change(before, after);
            let form = form(&mut self.arena, &mut self.normaliser, after);
            places.extend(form.map(|form| PlaceForm { term, form, change }));
        }
        self.edges[at.edge].guessing = Some(assumed);
        Ok(target.map(|target| (target, places)))
    }

    /// Whether a place can be computed back: a sum of itself and of nothing that may change, or an inverted one.
    fn change(&mut self, before: ExprId, after: ExprId) -> Change {
        let normal = self.normaliser.normal(&mut self.arena, after);
        if normal == before || after == before {
            return Change::Kept;
        }
        match self.arena.node(normal) {
            Expr::Sum { terms, .. } if terms.len() == 1 && terms[0].1 == before && terms[0].0 % 2 == 1 => {
                Change::Reversible
            }
            Expr::Commutative(CommutativeOp::Xor, parts) => {
                let others = parts.iter().filter(|part| **part != before);
                let constant = others.clone().all(|part| self.arena.as_constant(*part).is_some());
                if constant && others.count() + 1 == parts.len() { Change::Reversible } else { Change::New }
            }
            _ => Change::New,
        }
    }

    /// Places that a location may speak of.
    fn places(&self) -> Vec<Term> {
        const WIDE: [&str; 15] = [
            "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15",
        ];
        const NARROW: [&str; 7] = ["eax", "ecx", "edx", "ebx", "esi", "edi", "ebp"];
        let names: &[&str] = if self.address_bits == 64 { &WIDE } else { &NARROW };
        let width_bits = self.address_bits;
        let register =
            |name: &&str| proof::Place::Register { name: (*name).to_owned(), low_bit: 0, width_bits };
        let slot = |offset: &i64| proof::Place::StackSlot { offset_bytes: *offset, width_bits };
        let places = names.iter().map(register).chain(self.slots.iter().map(slot));
        let globals = &self.setting.problem.globals;
        places
            .map(|place| Term::Machine { place })
            .chain(globals.iter().map(|global| Term::Address { symbol: global.symbol.clone() }))
            .collect()
    }

    fn bound_value(&mut self, at: At, variable: usize) -> Option<ExprId> {
        match self.bound(at.edge, at.source, variable)? {
            source::Bound::Value(value) => {
                let walk = self.walk_source(at.edge, at.source);
                Some(walk.values.get(&value).copied().unwrap_or(value))
            }
            source::Bound::Constant(bits) => Some(self.arena.constant(bits)),
            source::Bound::Undefined => None,
        }
    }

    /// Shows that a variable has a value at a place, and that the source is there; keeps the obligation if so.
    pub fn show(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        let location = self.location(at, variable, value)?;
        if self.shown.iter().any(|(known, _)| proof::Location { id: 0, ..known.clone() } == location) {
            return Ok(true);
        }
        let Some(bound) = self.bound_value(at, variable) else { return Ok(false) };
        let mut triple = self.triple(at)?;
        let sum = self.sum(&value.sum)?;
        let sum = substituted(&mut self.arena, &[&triple.machine.values], sum);
        let Some(same) = exactly(&mut self.arena, bound, sum, value) else { return Ok(false) };
        let goal = and(&mut self.arena, &[triple.source.condition, same]);
        let name = format!("locate {at:?} variable {variable}");
        let Some((shown, defined)) = self.implied(&name, &mut triple, goal)? else { return Ok(false) };
        let mut raw = triple.given.clone();
        for (machine, source) in triple.assumed.memories.clone() {
            raw.push(equal(&mut self.arena, machine, source));
        }
        let mut assumptions = Vec::new();
        if defined {
            raw.extend(&triple.defined);
            assumptions = triple.source.assumptions.iter().map(|guarded| guarded.what.clone()).collect();
        }
        let (mut context, _, _) = self.context();
        let asserted = context.about(raw, goal);
        let script = smtlib::script(context.arena, &asserted);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        let claim = proof::Claim::Location { location: 0 };
        self.shown.push((location, Certified { claim, part: (0, 1), script, shown, assumptions }));
        Ok(true)
    }

    /// The entry of the document, numbers of points as in [`Locator::finish`].
    fn location(&self, at: At, variable: usize, value: &Exact) -> Result<proof::Location, LocateError> {
        let edge = &self.edges[at.edge];
        let (machine, source) = (&edge.machine[at.machine], &edge.source[at.source]);
        let step = |number: &usize| {
            let edge = &self.machine.edges[*number];
            Paths::Step(edge.from.0, edge.to.0)
        };
        let steps = edge.machine_steps[..machine.steps].iter().chain(machine.peek.iter()).map(step).collect();
        let mut parts: Vec<Paths> =
            edge.elements[..source.elements].iter().map(|element| element.paths.clone()).collect();
        parts = rounds(parts);
        parts.extend(source.peek.map(|peek| {
            let edge = &self.source.edges[peek];
            Paths::Step(edge.from.0, SOURCE_PEEK + edge.to.0)
        }));
        Ok(proof::Location {
            id: 0,
            variable: variable as u32,
            node: edge.node as u32,
            source_prefix: path_set(series(parts)),
            machine_prefix: path_set(series(steps)),
            value: value.clone(),
        })
    }

    /// The function with all that was shown among its locations and obligations, except for what the predicate
    /// leaves out (by variable and pc).
    pub fn finish(&self, keep: impl Fn(u32, u64) -> bool) -> Option<proof::Function> {
        let mut function = self.function.clone();
        function.obligations.retain(|obligation| !matches!(obligation.claim, proof::Claim::Location { .. }));
        for (number, obligation) in function.obligations.iter_mut().enumerate() {
            obligation.id = number as u32;
        }
        function.locations.clear();
        // Points of the machine beyond those of the graph are peeks, which the document does not have yet.
        let coarse = self.setting.problem.machine.points.len();
        function.machine_points.truncate(coarse);
        for point in &self.machine.points[coarse..] {
            let Point::Pc(pc) = point else { return None };
            let place = proof::MachinePlace::Instruction { pc: *pc };
            function
                .machine_points
                .push(proof::MachinePoint { id: function.machine_points.len() as u32, place });
        }
        let mut numbers = BTreeMap::new();
        let program = (self.solver.program().name(), self.solver.program().version.clone());
        let rewrites: Vec<String> = self.normaliser.used().map(str::to_owned).collect();
        for (location, certified) in &self.shown {
            let last = location.machine_prefix.paths.ends().ok()?.map(|(_, last)| last);
            let last = last.unwrap_or(function.nodes[location.node as usize].machine_point);
            let proof::MachinePlace::Instruction { pc } = function.machine_points.get(last as usize)?.place
            else {
                return None;
            };
            if !keep(location.variable, pc) {
                continue;
            }
            let mut location = location.clone();
            location.id = function.locations.len() as u32;
            self.name_peeks(&mut location.source_prefix.paths, &mut numbers, &mut function)?;
            let mut certified = certified.clone();
            certified.claim = proof::Claim::Location { location: location.id };
            let used =
                numbered(&certified.assumptions, &mut function.assumptions, &mut function.source_points)?;
            let number = function.obligations.len();
            function.obligations.push(obligation(number, &certified, used, (&program, &rewrites)));
            function.locations.push(location);
        }
        Some(function)
    }

    /// Gives the source points of peeks, which stand for themselves so far, numbers in the document.
    fn name_peeks(
        &self,
        paths: &mut Paths,
        numbers: &mut BTreeMap<u32, u32>,
        function: &mut proof::Function,
    ) -> Option<()> {
        match paths {
            Paths::Step(_, to) if *to >= SOURCE_PEEK => {
                let point = *to - SOURCE_PEEK;
                let known = numbers.get(&point).copied();
                *to = match known {
                    Some(known) => known,
                    None => {
                        let id = self.add_point(point, function)?;
                        numbers.insert(point, id);
                        id
                    }
                };
                Some(())
            }
            Paths::Series(parts) => {
                parts.iter_mut().try_for_each(|part| self.name_peeks(part, numbers, function))
            }
            _ => Some(()),
        }
    }

    fn add_point(&self, point: u32, function: &mut proof::Function) -> Option<u32> {
        let info = self.source_infos.get(point as usize)?;
        let mut variables = Vec::new();
        for (variable, bound) in &info.bindings {
            let width_bits = function.variables.get(*variable)?.width_bits;
            let is = match bound {
                source::Bound::Value(value) if self.arena.width_bits(*value) == width_bits => {
                    let Expr::Variable(symbol) = self.arena.node(*value) else { continue };
                    let name = self.arena.name(*symbol);
                    let known = function.values.iter().position(|value| value.name == name);
                    let number = known.unwrap_or_else(|| {
                        let id = function.values.len();
                        function.values.push(proof::Value {
                            id: id as u32,
                            name: name.to_owned(),
                            width_bits,
                        });
                        id
                    });
                    proof::BindingValue::Value { value: number as u32 }
                }
                source::Bound::Value(_) => continue,
                source::Bound::Constant(bits) => {
                    proof::BindingValue::Constant { word: proof::Word(bits.value()) }
                }
                source::Bound::Undefined => proof::BindingValue::Undefined,
            };
            variables.push(proof::Binding { variable: *variable as u32, is });
        }
        let place = source_place(&self.source.points[point as usize]);
        // An instruction that an assumption names has a number already, without what is known there.
        if let Some(known) = function.source_points.iter_mut().find(|known| known.place == place) {
            (known.location, known.variables) = (info.location.clone(), variables);
            return Some(known.id);
        }
        let id = function.source_points.len() as u32;
        function.source_points.push(proof::SourcePoint {
            id,
            place,
            location: info.location.clone(),
            variables,
        });
        Some(id)
    }
}

/// Numbers of source points from here on are peeks, until they have numbers in the document.
const SOURCE_PEEK: u32 = 1 << 24;

/// The bit that is set if `bound` is `sum` divided exactly.
fn exactly(arena: &mut Arena, bound: ExprId, sum: ExprId, value: &Exact) -> Option<ExprId> {
    let (narrow, wide) = (arena.width_bits(bound), arena.width_bits(sum));
    if value.divisor.0 == 1 {
        if wide < narrow {
            return None;
        }
        let low = if wide == narrow { sum } else { arena.extract(sum, 0, narrow) };
        return Some(equal(arena, bound, low));
    }
    // Wide enough that the product does not wrap around: then the division is exact and gives the value.
    let divisor_bits = 128 - value.divisor.0.leading_zeros();
    let width_bits = if narrow + divisor_bits < wide { wide } else { 2 * wide };
    if width_bits > 128 || narrow + divisor_bits >= width_bits {
        return None;
    }
    let mut extended = |of: ExprId| match value.signed {
        true => arena.sign_extend(of, width_bits),
        false => arena.zero_extend(of, width_bits),
    };
    let (bound, sum) = (extended(bound), extended(sum));
    let product = arena.sum(Bits::new(width_bits, 0), &[(value.divisor.0, bound)]);
    Some(equal(arena, product, sum))
}

fn machine_place(arena: &mut Arena, address_bits: u32, place: &proof::Place) -> ExprId {
    match place {
        proof::Place::Register { name, low_bit, width_bits } => {
            let whole_bits = if name.starts_with("xmm") { 128 } else { address_bits };
            let whole = arena.variable(name, Sort::Bits(whole_bits));
            if *width_bits == whole_bits { whole } else { arena.extract(whole, *low_bit, *width_bits) }
        }
        proof::Place::StackSlot { offset_bytes, width_bits } => slot(arena, *offset_bytes, width_bits / 8),
    }
}

/// A form in integers; nothing if the numbers are out of hand.
fn linear(arena: &Arena, id: ExprId) -> Option<Linear> {
    let mut form = Linear::default();
    add(arena, id, 1, &mut form, 0)?;
    form.terms.retain(|_, factor| *factor != 0);
    Some(form)
}

fn add(arena: &Arena, id: ExprId, factor: i128, form: &mut Linear, depth: u32) -> Option<()> {
    if depth > 64 {
        return None;
    }
    match arena.node(id) {
        Expr::Constant(bits) => {
            form.constant = form.constant.checked_add(bits.signed().checked_mul(factor)?)?;
            Some(())
        }
        Expr::Sum { constant, terms } => {
            form.constant = form.constant.checked_add(constant.signed().checked_mul(factor)?)?;
            let width_bits = constant.width_bits();
            for (coefficient, term) in terms.iter() {
                let coefficient = Bits::new(width_bits, *coefficient).signed();
                add(arena, *term, factor.checked_mul(coefficient)?, form, depth + 1)?;
            }
            Some(())
        }
        Expr::SignExtend { of, .. } | Expr::Extract { low_bit: 0, of, .. } => {
            add(arena, *of, factor, form, depth + 1)
        }
        Expr::Concat(parts) => match parts.as_ref() {
            [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| bits.value() == 0) => {
                add(arena, *of, factor, form, depth + 1)
            }
            _ => atom(id, factor, form),
        },
        Expr::Binary(BinaryOp::Shl, of, by) => match arena.as_constant(*by) {
            Some(by) if by.value() < 32 => {
                add(arena, *of, factor.checked_mul(1 << by.value())?, form, depth + 1)
            }
            _ => atom(id, factor, form),
        },
        _ => atom(id, factor, form),
    }
}

fn atom(id: ExprId, factor: i128, form: &mut Linear) -> Option<()> {
    let known = form.terms.entry(id.number()).or_default();
    *known = known.checked_add(factor)?;
    Some(())
}

/// How many accesses of an edge write memory that both programs have.
fn writes(edge: &Edge) -> usize {
    edge.accesses.iter().filter(|access| access.write && access.region != Region::Stack).count()
}

/// Adds a peek to a graph.
fn extend(graph: &mut Graph, point: Point, mut edge: Edge) {
    edge.to = PointId(graph.points.len() as u32);
    graph.points.push(point);
    graph.edges.push(edge);
}

fn check_points(function: &proof::Function, machine: &Graph, source: &Graph) -> Result<(), LocateError> {
    for (number, point) in machine.points.iter().enumerate() {
        let place = match point {
            Point::Pc(pc) => proof::MachinePlace::Instruction { pc: *pc },
            _ => proof::MachinePlace::Exit,
        };
        if function.machine_points.get(number).is_none_or(|known| known.place != place) {
            return mismatch(format!("machine point {number}"));
        }
    }
    for (number, point) in source.points.iter().enumerate() {
        if function.source_points.get(number).is_none_or(|known| known.place != source_place(point)) {
            return mismatch(format!("source point {number}"));
        }
    }
    Ok(())
}

fn slots_of(node: &proof::Node) -> Vec<i64> {
    let sums = node.invariants.iter().flat_map(|predicate| match predicate {
        Predicate::Zero { sum } => vec![sum],
        Predicate::Compare { left, right, .. } => vec![left, right],
        Predicate::MemoryEqual { .. } => Vec::new(),
    });
    sums.flat_map(|sum| &sum.terms)
        .filter_map(|term| match &term.term {
            // The return address is no variable's home.
            Term::Machine { place: proof::Place::StackSlot { offset_bytes, .. } } if *offset_bytes != 0 => {
                Some(*offset_bytes)
            }
            _ => None,
        })
        .collect()
}

/// Steps of the machine: one after the other.
fn machine_steps(paths: &Paths) -> Result<Vec<(u32, u32)>, LocateError> {
    match paths {
        Paths::Step(from, to) => Ok(vec![(*from, *to)]),
        Paths::Series(parts) => {
            let parts: Result<Vec<Vec<(u32, u32)>>, LocateError> = parts.iter().map(machine_steps).collect();
            Ok(parts?.concat())
        }
        Paths::Repeat { times, body } => {
            let body = machine_steps(body)?;
            let times = *times as usize;
            if body.len().saturating_mul(times) > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
            Ok(body.repeat(times))
        }
        Paths::Empty | Paths::Parallel(_) => mismatch("several paths of the machine on one edge"),
    }
}

/// A set of paths as steps between points that all paths pass.
fn flatten(paths: &Paths, elements: &mut Vec<Element>) -> Result<(), LocateError> {
    if elements.len() > MOST_POSITIONS {
        return mismatch("a path that is too long");
    }
    match paths {
        Paths::Empty => Ok(()),
        Paths::Step(from, to) => {
            elements.push(Element { from: *from, to: *to, paths: paths.clone() });
            Ok(())
        }
        Paths::Series(parts) => parts.iter().try_for_each(|part| flatten(part, elements)),
        Paths::Repeat { times, body } => (0..*times).try_for_each(|_| flatten(body, elements)),
        Paths::Parallel(branches) => {
            let steps: Result<Vec<Vec<(u32, u32)>>, LocateError> =
                branches.iter().map(machine_steps).collect();
            elements.extend(split(&steps?));
            Ok(())
        }
    }
}

/// Several paths with the same ends, cut at the points that all of them pass.
fn split(branches: &[Vec<(u32, u32)>]) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest: Vec<&[(u32, u32)]> = branches.iter().map(Vec::as_slice).collect();
    while rest.iter().all(|branch| !branch.is_empty()) {
        // The first point that all the rests pass.
        let passes = |branch: &[(u32, u32)], point: u32| branch.iter().position(|(_, to)| *to == point);
        let next = rest[0]
            .iter()
            .map(|(_, to)| *to)
            .find(|point| rest.iter().all(|branch| passes(branch, *point).is_some()));
        let Some(next) = next else { break };
        let from = rest[0][0].0;
        let mut ways: Vec<Paths> = Vec::new();
        for branch in &mut rest {
            let end = passes(branch, next).map_or(0, |end| end + 1);
            let way = series(branch[..end].iter().map(|(from, to)| Paths::Step(*from, *to)).collect());
            if !ways.contains(&way) {
                ways.push(way);
            }
            *branch = &branch[end..];
        }
        let paths = if ways.len() == 1 { ways.remove(0) } else { Paths::Parallel(ways) };
        match paths {
            Paths::Series(parts) => elements.extend(parts.into_iter().filter_map(|part| match part {
                Paths::Step(from, to) => Some(Element { from, to, paths: part }),
                _ => None,
            })),
            paths => elements.push(Element { from, to: next, paths }),
        }
    }
    elements
}

/// The same round several times in a row is said once.
fn rounds(parts: Vec<Paths>) -> Vec<Paths> {
    let length = parts.len();
    for period in 1..=length / 2 {
        let times = (1..length / period + 1)
            .take_while(|time| parts[(time - 1) * period..time * period] == parts[..period])
            .count();
        let body = series(parts[..period].to_vec());
        let closed = body.ends().is_ok_and(|ends| ends.is_some_and(|(from, to)| from == to));
        if times >= 2 && closed {
            let mut said = vec![Paths::Repeat { times: times as u32, body: Box::new(body) }];
            said.extend(repeated(parts[times * period..].to_vec()));
            return said;
        }
    }
    parts
}
