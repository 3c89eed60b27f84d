//! The search for a product: correlations are read off concrete runs, ranked by how many places of the two
//! states they relate, and discarded when an obligation shows them wrong (Counter, sections 3.8 to 3.11).
//!
//! How many iterations of the source a path of the machine stands for is not enumerated: the source is run
//! along, and a number of hops is a candidate only if the memories agree after it in every state; among
//! several, the ratio of the numbers of iterations of the two loops comes first.

use super::columns::{Common, columns};
use super::flow::Path;
use super::node::Node;
use super::problem::Setting;
use super::refute::{InputSource, Refuted, Refuter};
use super::replay::{Followed, Replay, entry_state};
use super::required::{Class, Required};
use super::triple::{Context, Step};
use crate::expr::Arena;
use crate::graph::PointId;
use crate::run::state::{State, Table};
use crate::smt::{SmtError, Solver};
use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// What the search may cost.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Time for one function.
    pub time: Duration,
    /// Hops of the source that one edge may stand for.
    pub most_hops: usize,
    /// Correlations that may turn out wrong.
    pub most_retries: usize,
    /// Memory of this process; a solver has its own limit.
    pub memory_mib: u64,
    /// What has to be shown.
    pub required: Required,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            time: Duration::from_secs(60),
            most_hops: 136,
            most_retries: 24,
            memory_mib: 2048,
            required: Required::default(),
        }
    }
}

/// Why no product was found. None of these says that the programs differ.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Out of time.
    #[error("out of time after {} s", .0.as_secs())]
    Time(Duration),
    /// Out of memory.
    #[error("out of memory: {0} MiB")]
    Memory(u64),
    /// No correlation for a path fits what was seen.
    #[error("no source path fits machine path {path} from ({source_point}, {machine_point})")]
    NoCandidate {
        /// Where the source is.
        source_point: String,
        /// Where the machine is.
        machine_point: String,
        /// The path.
        path: String,
    },
    /// All were tried.
    #[error("search exhausted after {0} correlations; the last failed: {1}")]
    Exhausted(usize, String),
    /// An obligation is open.
    #[error("not shown: {0}")]
    Open(String),
    /// The solver does not run.
    #[error(transparent)]
    Solver(#[from] SmtError),
}

/// What kind of limit a failure ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FailureClass {
    /// The time of the function.
    Time,
    /// The memory of the process.
    Memory,
    /// No correlation was left: not bisimilar, or the right one was not thought of.
    Correlation,
    /// A correlation, and an obligation that was not shown: outside the grammar, or too hard for the solver.
    Obligation,
}

impl FailureClass {
    /// Its name in tables and documents.
    pub fn name(self) -> &'static str {
        match self {
            FailureClass::Time => "time",
            FailureClass::Memory => "memory",
            FailureClass::Correlation => "correlation",
            FailureClass::Obligation => "obligation",
        }
    }
}

impl Failure {
    /// What kind it is.
    pub fn class(&self) -> FailureClass {
        match self {
            Failure::Time(_) => FailureClass::Time,
            Failure::Memory(_) => FailureClass::Memory,
            Failure::NoCandidate { .. } | Failure::Exhausted(..) => FailureClass::Correlation,
            Failure::Open(_) | Failure::Solver(_) => FailureClass::Obligation,
        }
    }
}

/// Nodes and edges; the first node is the entry.
#[derive(Debug, Clone, Default)]
pub struct Product {
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Edges.
    pub edges: Vec<Edge>,
}

/// An edge of the product.
#[derive(Debug, Clone)]
pub struct Edge {
    /// Number of the node where it starts.
    pub from: usize,
    /// Number of the node where it ends.
    pub to: usize,
    /// What both do.
    pub step: Step,
}

/// What the search did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Correlations considered.
    pub candidates: usize,
    /// Correlations that were taken and turned out wrong.
    pub retries: usize,
    /// Counterexamples from the solver.
    pub counterexamples: usize,
}

/// States that begin at the entry.
const SEEDS: u64 = 64;
/// Of these, how many are run to the end.
const LONG_RUNS: u64 = 3;
/// Entry states from models that are run to the end.
const MOST_SUSPECTS: usize = 16;
/// How many, these included, are run for long enough to leave an inner loop a few times: with too few states at
/// the head of the outer one, what they have in common hides what always holds.
const MEDIUM_RUNS: u64 = 24;
const MEDIUM_STEPS: usize = 1200;
/// Steps of the product in a run to the end.
const LONG_STEPS: usize = 300_000;

/// A search under way.
pub struct Search<'a> {
    /// What questions are asked with.
    pub context: Context<'a>,
    pub(super) replay: Replay,
    pub(super) common: Common,
    pub(super) options: Options,
    pub(super) begun: Instant,
    wrong: HashSet<(PointId, PointId, Step)>,
    /// What was done.
    pub effort: Effort,
    /// Correlations that turned out wrong, with reasons.
    pub notes: Vec<String>,
    /// States at the entry that a model of the solver made: inputs that something may be wrong with.
    pub(super) suspects: Vec<State>,
    /// What running one of them showed.
    pub refuted: Option<Refuted>,
}

impl<'a> Search<'a> {
    /// A search that has not begun.
    pub fn new(
        arena: &'a mut Arena,
        solver: &'a mut Solver,
        setting: &'a Setting,
        options: Options,
    ) -> Search<'a> {
        let mut table = Table::default();
        let replay = Replay::new(arena, setting, &mut table);
        let mut common = Common::of(arena, setting);
        let first = entry_state(arena, setting, &mut table, 1);
        common.slots = replay.slots(arena, setting, &mut table, &first, 2000);
        let facts = setting.facts(arena);
        let normaliser = Default::default();
        let context = Context { arena, solver, normaliser, setting, table, facts, walks: 0 };
        let begun = Instant::now();
        // No question takes longer than the function has left.
        context.solver.set_deadline(begun + options.time);
        Search {
            context,
            replay,
            common,
            options,
            begun,
            wrong: HashSet::new(),
            effort: Effort::default(),
            notes: Vec::new(),
            suspects: Vec::new(),
            refuted: None,
        }
    }

    /// A product with invariants that are inductive, if one is found. If not, [`Search::refuted`] may say why.
    pub fn run(&mut self) -> Result<Product, Failure> {
        let found = self.find();
        if found.is_err() {
            self.refute();
        }
        found
    }

    fn find(&mut self) -> Result<Product, Failure> {
        let mut last = String::from("nothing");
        for retry in 0..=self.options.most_retries {
            self.effort.retries = retry;
            let mut product = self.start();
            match self.complete(&mut product)? {
                Ok(()) => return Ok(product),
                Err(Wrong { edge: Some(edge), reason }) => {
                    let node = &product.nodes[edge.from];
                    self.notes
                        .push(format!("({:?}, {:?}) {:?}: {reason}", node.source, node.machine, edge.step));
                    self.wrong.insert((node.source, node.machine, edge.step));
                    last = reason;
                }
                Err(Wrong { edge: None, reason }) => return Err(Failure::Exhausted(retry, reason)),
            }
        }
        Err(Failure::Exhausted(self.options.most_retries, last))
    }

    /// Runs both programs from the entry states that models of the solver gave: one may show that they differ.
    fn refute(&mut self) -> bool {
        let suspects = std::mem::take(&mut self.suspects);
        if suspects.is_empty() || self.refuted.is_some() {
            return self.refuted.is_some();
        }
        // A class of obligation that is left out is to be missed, not made up for.
        if !self.options.required.is_all() {
            return false;
        }
        let Context { arena, setting, table, .. } = &mut self.context;
        let refuter = Refuter::new(arena, setting, table, LONG_STEPS);
        self.refuted = suspects.iter().take(MOST_SUSPECTS).find_map(|suspect| {
            let state = table.completed(suspect);
            refuter.run(arena, table, &state, InputSource::Model)
        });
        self.refuted.is_some()
    }

    /// Whether there is time and memory left.
    pub(super) fn check_limits(&self) -> Result<(), Failure> {
        if self.begun.elapsed() > self.options.time {
            return Err(Failure::Time(self.options.time));
        }
        match resident_mib() {
            Some(mib) if mib > self.options.memory_mib => Err(Failure::Memory(mib)),
            _ => Ok(()),
        }
    }

    fn start(&mut self) -> Product {
        let mut product = Product::default();
        let entry = self.node(&mut product, PointId(0), PointId(0));
        for seed in 0..SEEDS {
            let Context { arena, setting, table, .. } = &mut self.context;
            let state = entry_state(arena, setting, table, seed);
            product.nodes[entry].take_in(&state);
            product.nodes[entry].keep(&state);
        }
        product
    }

    /// The node of a pair of points; a new one if there is none.
    fn node(&mut self, product: &mut Product, source: PointId, machine: PointId) -> usize {
        let known = product.nodes.iter().position(|node| (node.source, node.machine) == (source, machine));
        known.unwrap_or_else(|| {
            product.nodes.push(self.fresh_node(source, machine));
            product.nodes.len() - 1
        })
    }

    fn fresh_node(&mut self, source: PointId, machine: PointId) -> Node {
        let Context { arena, setting, table, .. } = &mut self.context;
        let columns = columns(arena, setting, &self.common, source, machine);
        Node::new(arena, setting, table, columns, (source, machine))
    }

    /// Adds edges until every path of the machine that is possible has one, and shows what holds.
    fn complete(&mut self, product: &mut Product) -> Result<Result<(), Wrong>, Failure> {
        loop {
            while let Some((node, path)) = self.missing(product) {
                self.check_limits()?;
                let step = match self.candidate(product, node, &path)? {
                    Some(step) => step,
                    None => return Ok(Err(self.blame(product, node, &path))),
                };
                self.add_edge(product, node, step);
            }
            match self.infer(product)? {
                Ok(()) => {}
                Err(wrong) => return Ok(Err(wrong)),
            }
            if !self.find_uncovered(product)? {
                return Ok(Ok(()));
            }
            if self.refute() {
                return Err(Failure::Open("the programs differ".to_owned()));
            }
        }
    }

    /// No candidate is left: the edge that led here is to blame, if there is one.
    fn blame(&self, product: &Product, node: usize, path: &Path) -> Wrong {
        let setting = self.context.setting;
        let at = &product.nodes[node];
        let reason = Failure::NoCandidate {
            source_point: format!("{:?}", setting.problem.source.points[at.source.0 as usize]),
            machine_point: format!("{:?}", setting.problem.machine.points[at.machine.0 as usize]),
            path: format!("{:?}", path.edges),
        };
        let edge = product.edges.iter().rev().find(|edge| edge.to == node && edge.from != node);
        let edge = edge.or_else(|| product.edges.iter().rev().find(|edge| edge.to == node));
        Wrong { edge: edge.cloned(), reason: reason.to_string() }
    }

    /// A node and a path that some state at the node takes and no edge has.
    fn missing(&self, product: &Product) -> Option<(usize, Path)> {
        let setting = self.context.setting;
        for (number, node) in product.nodes.iter().enumerate() {
            if setting.machine_anchors.is_exit(node.machine) {
                continue;
            }
            for state in &node.states {
                let mut state = state.clone();
                let path = self.replay.machine_path(&setting.machine_anchors, node.machine, &mut state);
                if let Ok(path) = path
                    && !product.edges.iter().any(|edge| edge.from == number && edge.step.machine == path)
                {
                    return Some((number, path));
                }
            }
        }
        None
    }

    /// The most promising correlation for a path.
    fn candidate(
        &mut self,
        product: &mut Product,
        node: usize,
        path: &Path,
    ) -> Result<Option<Step>, Failure> {
        let setting = self.context.setting;
        let at = (product.nodes[node].source, product.nodes[node].machine);
        let taking: Vec<(State, State)> = product.nodes[node]
            .states
            .iter()
            .filter_map(|state| {
                let mut after = state.clone();
                let taken = self.replay.machine_path(&setting.machine_anchors, at.1, &mut after).ok()?;
                (taken == *path).then(|| (state.clone(), after))
            })
            .collect();
        let mut fitting = self.fitting(&taking, at.0, path);
        let forbidden = self.options.required.has(Class::Progress);
        fitting.retain(|hops| {
            let step = Step { machine: path.clone(), source: hops.clone() };
            let idle = hops.is_empty() && forbidden && idle_cycle(product, node, at, path);
            !idle && !self.wrong.contains(&(at.0, at.1, step))
        });
        self.effort.candidates += fitting.len();
        if fitting.len() > 4 && path.to == at.1 {
            let ratio = self.ratio(&taking, at, path);
            fitting.sort_by_key(|hops| hops.len().abs_diff(ratio));
            fitting.truncate(3);
        }
        // Places that nothing relates, a loop head beside none, hops: fewer is better.
        let mut ranked: Vec<(Rank, Vec<PointId>)> = Vec::new();
        for hops in fitting {
            let step = Step { machine: path.clone(), source: hops.clone() };
            let to = hops.last().copied().unwrap_or(at.0);
            let known =
                product.nodes.iter().find(|node| (node.source, node.machine) == (to, path.to)).cloned();
            let mut node = known.unwrap_or_else(|| self.fresh_node(to, path.to));
            for (state, _) in &taking {
                let mut state = state.clone();
                // Around the loop a few times, where it is one.
                for _ in 0..6 {
                    match self.replay.follow(setting, at, &step, &state) {
                        Followed::Together(after) => {
                            node.add(&after);
                            state = after;
                        }
                        _ => break,
                    }
                    if (to, path.to) != at {
                        break;
                    }
                }
            }
            if node.memory_agrees(setting) {
                let odd =
                    setting.machine_anchors.is_loop_head(path.to) != setting.source_anchors.is_loop_head(to);
                ranked.push(((node.unrelated(), odd, hops.len()), hops));
            }
        }
        ranked.sort();
        Ok(ranked.into_iter().next().map(|(_, source)| Step { machine: path.clone(), source }))
    }

    /// Sequences of anchors that the source passes in all states, after which the memories agree.
    fn fitting(&self, taking: &[(State, State)], from: PointId, path: &Path) -> Vec<Vec<PointId>> {
        let setting = self.context.setting;
        let ends = setting.machine_anchors.is_exit(path.to);
        let mut agreed: Option<BTreeSet<Vec<PointId>>> = None;
        for (_, after) in taking.iter().take(16) {
            let mut state = after.clone();
            let (mut at, mut hops) = (from, Vec::new());
            let mut here = BTreeSet::new();
            loop {
                if setting.source_anchors.is_exit(at) == ends && self.same_memory(&state) {
                    here.insert(hops.clone());
                }
                if hops.len() >= self.options.most_hops || setting.source_anchors.is_exit(at) {
                    break;
                }
                match self.replay.source_hop(&setting.source_anchors, at, &mut state) {
                    Ok(to) => {
                        at = to;
                        hops.push(to);
                    }
                    // Something undefined: this state says nothing about what would follow.
                    Err(_) => break,
                }
            }
            agreed = Some(match agreed {
                None => here,
                Some(before) => before.intersection(&here).cloned().collect(),
            });
        }
        agreed.unwrap_or_default().into_iter().collect()
    }

    /// Whether the memories agree everywhere but in the frame.
    pub(super) fn same_memory(&self, state: &State) -> bool {
        self.common_memories()
            .iter()
            .all(|(left, right)| state.memories[*left].same_as(&state.memories[*right]))
    }

    fn common_memories(&self) -> &[(usize, usize)] {
        &self.replay.memories
    }

    /// Iterations of the source's loop for each of the machine's.
    fn ratio(&self, taking: &[(State, State)], at: (PointId, PointId), path: &Path) -> usize {
        let setting = self.context.setting;
        let count = |limit: usize, mut step: Box<dyn FnMut(&mut State) -> bool + '_>| {
            let mut most = 0;
            for (state, _) in taking.iter().take(4) {
                let mut state = state.clone();
                let mut turns = 0;
                while turns < limit && step(&mut state) {
                    turns += 1;
                }
                most = most.max(turns);
            }
            most
        };
        let machine = count(
            100_000,
            Box::new(|state| {
                self.replay
                    .machine_path(&setting.machine_anchors, at.1, state)
                    .is_ok_and(|taken| taken.to == path.to)
            }),
        );
        let source = count(
            200_000,
            Box::new(|state| {
                self.replay.source_hop(&setting.source_anchors, at.0, state).is_ok_and(|to| to == at.0)
            }),
        );
        (source + machine / 2).checked_div(machine).unwrap_or(1).max(1)
    }

    /// Adds an edge and runs the states of its start along it, and on.
    fn add_edge(&mut self, product: &mut Product, from: usize, step: Step) {
        let at = &product.nodes[from];
        let to = (step.source.last().copied().unwrap_or(at.source), step.machine.to);
        let to = self.node(product, to.0, to.1);
        product.edges.push(Edge { from, to, step });
        let states = product.nodes[from].states.clone();
        for (number, state) in states.iter().enumerate() {
            let steps = match number as u64 {
                0..LONG_RUNS => LONG_STEPS,
                LONG_RUNS..MEDIUM_RUNS => MEDIUM_STEPS,
                _ => 8,
            };
            self.propagate(product, from, state, steps);
        }
    }

    /// Runs a state along the edges that there are. All states of the first steps are taken in, later ones now
    /// and then; the last one is kept, as it needs an edge that is not there.
    pub(super) fn propagate(&mut self, product: &mut Product, from: usize, state: &State, steps: usize) {
        let setting = self.context.setting;
        let (mut at, mut state) = (from, state.clone());
        let mut fresh = false;
        for number in 0..steps {
            if number % 1024 == 1023 && self.check_limits().is_err() {
                return;
            }
            let node = &product.nodes[at];
            if setting.machine_anchors.is_exit(node.machine) {
                break;
            }
            let pair = (node.source, node.machine);
            let mut after = state.clone();
            let Ok(path) = self.replay.machine_path(&setting.machine_anchors, pair.1, &mut after) else {
                break;
            };
            let Some(edge) = product.edges.iter().find(|edge| edge.from == at && edge.step.machine == path)
            else {
                if fresh {
                    // The last of a loop: its extremes are bounds.
                    product.nodes[at].take_in(&state);
                    product.nodes[at].keep(&state);
                }
                return;
            };
            let mut point = pair.0;
            for hop in &edge.step.source {
                match self.replay.source_hop(&setting.source_anchors, point, &mut after) {
                    Ok(to) if to == *hop => point = to,
                    _ => return,
                }
            }
            (at, state, fresh) = (edge.to, after, true);
            if number < 100 || number % 61 == 0 {
                product.nodes[at].add(&state);
            }
        }
        if fresh {
            product.nodes[at].add(&state);
        }
    }
}

/// Memory that this process has now; `None` where the kernel does not say.
fn resident_mib() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    // Pages of x86-64.
    Some(resident * 4096 / (1 << 20))
}

/// How promising a correlation is; less is better.
type Rank = ((usize, usize), bool, usize);

/// An edge that turned out wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Which; nothing if none is to blame.
    pub(super) edge: Option<Edge>,
    /// Why.
    pub(super) reason: String,
}

/// Whether an edge on which the source stays where it is would close a cycle of such edges.
fn idle_cycle(product: &Product, from: usize, at: (PointId, PointId), path: &Path) -> bool {
    if path.to == at.1 {
        return true;
    }
    let target = product.nodes.iter().position(|node| (node.source, node.machine) == (at.0, path.to));
    let Some(target) = target else { return false };
    let mut open = vec![target];
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop() {
        if node == from {
            return true;
        }
        if seen.insert(node) {
            let idle = product.edges.iter().filter(|edge| edge.from == node && edge.step.source.is_empty());
            open.extend(idle.map(|edge| edge.to));
        }
    }
    false
}
