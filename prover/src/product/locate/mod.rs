//! Questions about the variables of a proved function at any pc: what repair asks. A finished proof says what holds
//! at its nodes; here both programs are run on from there, the machine to a pc and the source to a point of it, and
//! "the variable is this expression" is shown like any other obligation.
//!
//! Positions: along an edge of the product the machine passes pcs, the source points; both are counted from 0, the
//! node itself. A step of the source between points that all its paths pass is one position further. The machine also has
//! positions inside of such a step, as every pc is asked about.
//!
//! **Invariant**: what [`Locator::show`] accepts rests on the node's invariants and the two prefixes alone, not on how
//! the edge goes on, nor on anything that was used to find it.
//!
//! - [`positions`]: edges as positions; [`walks`]: both programs run to them; [`invariants`]: what holds at a node;
//!   [`reads`]: what instructions read that the source reads; [`forms`]: material for guesses; [`show`]: the questions;
//!   [`contradict`]: wrong on some run; [`entries`]: what was shown, for the document; [`examples`]: states by which a
//!   wrong guess is seen to be one.

mod contradict;
mod entries;
mod examples;
mod forms;
mod invariants;
mod positions;
mod reads;
mod show;
mod walks;

use super::certify::Certified;
use super::document::source_place;
use super::problem::{ProblemError, Setting};
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, ExprId};
use crate::graph::{Edge, Graph, Point, PointId};
use crate::ir::{IrError, Module};
use crate::lift::{self, LiftError};
use crate::object_file::FunctionCode;
use crate::pair::{PairError, pair};
use crate::prove::problem;
use crate::run::state::Table;
use crate::smt::{Limits, Program, SmtError, Solver};
use crate::source::{self, LowerError, PointInfo};
use examples::Examples;
use metaloc_proof as proof;
use positions::EdgePositions;
use std::collections::BTreeMap;
use std::ops::Range;

use invariants::slots_of;
pub use metaloc_proof::form::{At, Change, Linear, PlaceForm};

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

/// A position of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachinePosition {
    /// The pc.
    pub pc: u64,
    /// How often memory other than the frame was written since the position before, at most. What is written aside counts
    /// where all paths meet again.
    pub stores: usize,
    /// Whether the machine may pass it by: it is on some of the paths between two points that all of them pass.
    pub aside: bool,
    elements: usize,
    /// The point inside of the next element that the position is at, or after.
    inside: Option<u32>,
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
    /// Lines of the branches of which one is taken on the way to the next position that is not in this segment.
    pub branches: Vec<u32>,
    elements: usize,
    peek: Option<usize>,
    /// Before which instruction of the IR.
    pub point: Point,
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
    contradicted: BTreeMap<Contradicted, bool>,
    /// States that answer questions, by edge.
    examples: BTreeMap<usize, Examples>,
    /// How often memories that seemed to be the same were not shown to be, by edge.
    unlike: BTreeMap<usize, usize>,
}

/// Edge, where on it the machine and the source are, the variable and a constant that is said of it.
type Contradicted = (usize, usize, Option<u32>, usize, usize, u128);

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
        let problem = problem(&mut arena, &lowered, machine, code);
        let setting = Setting::new(&mut arena, problem)?;
        let facts = setting.facts(&mut arena);
        let mut source_infos = lowered.points.clone();
        // With what calls do.
        let (mut machine, mut source) = (setting.problem.machine.clone(), setting.problem.source.clone());
        check_points(function, &machine, &source)?;
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
            contradicted: BTreeMap::new(),
            examples: BTreeMap::new(),
            unlike: BTreeMap::new(),
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

    /// How wide addresses are.
    pub fn address_bits(&self) -> u32 {
        self.address_bits
    }

    /// Variables of the source.
    pub fn variables(&self) -> &[proof::Variable] {
        &self.function.variables
    }

    /// How many edges the product has.
    pub fn edges(&self) -> usize {
        self.edges.len()
    }

    /// The node that an edge begins at.
    pub fn from(&self, edge: usize) -> usize {
        self.edges[edge].node
    }

    /// Whether an edge is a call of both programs. It has one position of the machine: the instruction that calls.
    pub fn is_call(&self, edge: usize) -> bool {
        self.function.edges[edge].calls
    }

    /// Whether a register is after every call what it was before, so that a debugger knows it of the caller while the callee
    /// runs. The stack pointer is not counted: how it is found depends on the debugger.
    pub fn outlasts_calls(&self, register: &str) -> bool {
        self.setting.problem.abi.callee_saved.contains(&register)
    }

    /// Positions of the machine on an edge; its end is not one, as it belongs to the edges that leave that node.
    pub fn machine(&self, edge: usize) -> &[MachinePosition] {
        &self.edges[edge].machine
    }

    /// Whether the memories may differ where an edge ends, or the machine writes after its last position on it.
    pub fn stores_at_end(&self, edge: usize) -> bool {
        let to = self.function.edges[edge].to as usize;
        let node = &self.function.nodes[to];
        let equal = |one: &&proof::Predicate| matches!(one, proof::Predicate::MemoryEqual { except, .. } if except.is_empty());
        let equal = node.invariants.iter().filter(equal).count();
        let same = node.role == proof::NodeRole::Exit || equal >= self.setting.regions.len();
        self.edges[edge].stores_at_end || !same
    }

    /// How many steps the source has taken up to a position: those with the same number are in one block.
    pub fn steps(&self, edge: usize, source: usize) -> usize {
        self.edges[edge].source[source].elements
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
