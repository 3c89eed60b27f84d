//! Transition graphs: what both programs become. An edge has a guard and assigns all its variables at once.
//!
//! The variables of a graph are expressions that are variables of the arena; the same names at every point.
//! An assignment that is not listed keeps its variable. A point other than the exit that no edge leaves is a
//! trap: a program that gets there stops with a fault.
//!
//! What must hold on a step is said twice, as the two programs differ in who owes it. The machine must not
//! fault, so a proof shows its [`Edge::requirements`]. The source does nothing undefined, so a proof may use
//! its [`Edge::assumptions`] and lists those it used.

use crate::domain::Requirement;
use crate::expr::ExprId;
use crate::region::{Access, Region};
use metaloc_proof::AssumptionKind;

/// Number of a point in its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PointId(pub u32);

/// A place in a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// Before the instruction at a pc.
    Pc(u64),
    /// Before an instruction of the IR.
    Ir {
        /// Label of the basic block as LLVM prints it, without `%`.
        block: String,
        /// Number in its block, phi nodes counted and debug records not.
        instruction: u32,
    },
    /// After the return.
    Exit,
}

/// A step from point to point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Where it starts.
    pub from: PointId,
    /// Where it ends.
    pub to: PointId,
    /// The bit that is set when this edge is taken.
    pub guard: ExprId,
    /// Variables and their new values, all in terms of the old ones.
    pub assignments: Vec<(ExprId, ExprId)>,
    /// What must hold for the step to complete.
    pub requirements: Vec<Requirement>,
    /// Accesses to memory, with the region that each is taken to go to.
    pub accesses: Vec<Access>,
    /// What holds if the program does nothing undefined on this step.
    pub assumptions: Vec<Assumption>,
    /// The call that this step is, if it is one.
    pub call: Option<Call>,
    /// Whether the step rounds what a compiler may round in another way: a run that takes it refutes nothing.
    pub open: bool,
}

/// A bit that is set wherever the program does nothing undefined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    /// The bit, in terms of the state before the step.
    pub condition: ExprId,
    /// Which promise.
    pub kind: AssumptionKind,
    /// The instruction that makes it.
    pub at: Point,
}

/// A call: an observable event. Its step does nothing else; it assigns fresh variables to the result, to all
/// memory but the frame, and to whatever else the callee may change.
///
/// What front ends say of it is not all: what the callee leaves behind is one answer to both programs, and
/// [`crate::calls`] puts it into their graphs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Symbol of the callee.
    pub callee: String,
    /// Other symbols of the same function.
    pub aliases: Vec<String>,
    /// Values passed, with what the callee may rely on above them. On the machine side, the places that they are
    /// in, once [`crate::calls`] has looked up how they are passed.
    pub arguments: Vec<ExprId>,
    /// Variable of the source that takes the result.
    pub result: Option<ExprId>,
    /// Bits that the callee may rely on to be set: the machine owes them.
    pub wanted: Vec<ExprId>,
    /// Bytes from the stack pointer of the machine at the call up to the one at entry.
    pub frame_bytes: Option<u32>,
    /// Whether the callee is jumped to and returns to the caller's caller: then it finds that return address on the
    /// stack, and takes it away.
    pub tail: bool,
}

/// A program as points and steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The first is the entry.
    pub points: Vec<Point>,
    /// In the order of their start points.
    pub edges: Vec<Edge>,
}

impl Graph {
    /// The edges that leave a point.
    pub fn leaving(&self, point: PointId) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.from == point)
    }

    /// Whether a pointer that could not be followed makes all memory but the frame one region.
    pub fn needs_merging(&self) -> bool {
        self.edges.iter().flat_map(|edge| &edge.accesses).any(|access| access.region == Region::Rest)
    }

    /// The number of a point.
    pub fn find(&self, point: &Point) -> Option<PointId> {
        self.points.iter().position(|known| known == point).map(|position| PointId(position as u32))
    }
}
