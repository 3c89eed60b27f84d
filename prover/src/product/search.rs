//! The search for a product: correlations are proposed by `correlate`, and discarded when an obligation shows
//! them wrong (Counter, sections 3.8 to 3.11).

use super::assumed::Assumed;
use super::columns::{Common, columns};
use super::flow::Path;
use super::node::Node;
use super::problem::Setting;
use super::refute::{InputSource, Refuted, Refuter};
use super::replay::{Followed, Replay, entry_state};
use super::required::Required;
use super::triple::{Context, Step};
use crate::bits::Bits;
use crate::expr::{Arena, Assignment, Node as Expr, Sort};
use crate::graph::PointId;
use crate::region::ADDRESS_PREFIX;
use crate::run::state::{State, Table};
use crate::smt::{SmtError, Solver, thread_time};
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// What the search may cost.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Processor time for one function, the solver's included.
    pub time: Duration,
    /// Hops of the source that one edge may stand for.
    pub most_hops: usize,
    /// Correlations that may turn out wrong.
    pub most_retries: usize,
    /// Memory of this process; a solver has its own limit.
    pub memory_mib: u64,
    /// What has to be shown.
    pub required: Required,
    /// What is tried next.
    pub order: Order,
}

/// How the next correlation is picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Those that fit the runs of both programs, by what they relate.
    #[default]
    Ranked,
    /// The least unrolled path of the source first, neither compared with what the runs do to memory nor ranked, and as
    /// many wrong ones as there is time for: Counter's depth-first search, to compare with (see `depth_first`).
    Static,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            time: Duration::from_secs(60),
            most_hops: 136,
            most_retries: 24,
            memory_mib: 2048,
            required: Required::default(),
            order: Order::default(),
        }
    }
}

/// Why no product was found. None of these says that the programs differ.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Out of time.
    #[error("out of time after {} s of processor time", .0.as_secs())]
    Time(Duration),
    /// Out of memory.
    #[error("out of memory: {0} MiB")]
    Memory(u64),
    /// No correlation for a path fits what was seen.
    #[error("no path of the source fits that of the machine from {from} by {path}")]
    NoCandidate {
        /// Where both are.
        from: String,
        /// Where the machine goes.
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
const SEEDS: usize = 64;
/// So many are tried, the source is run so far, and those are taken in which it does nothing undefined.
const TRIED_SEEDS: u64 = 1024;
const DEFINED_HOPS: usize = 200;
/// Paths that fewer states begin with are looked for further.
const FEW_BEGUN: usize = 24;
/// So many of these are tried for runs to the end.
const TRIED_LONG_RUNS: usize = 32;
/// Of these, how many are run to the end.
const LONG_RUNS: u64 = 3;
/// Entry states from models that are run to the end.
const MOST_SUSPECTS: usize = 16;
/// How many, these included, are run for long enough to leave an inner loop a few times: with too few states at
/// the head of the outer one, what they have in common hides what always holds.
const MEDIUM_RUNS: u64 = 24;
const MEDIUM_STEPS: usize = 1200;
/// How many are run to the end where a path is missing that none of the others takes, and for how long together.
const MORE_LONG_RUNS: usize = 48;
const MORE_LONG_TIME: Duration = Duration::from_secs(2);
/// So many visits of a run to a node are taken in, and one of so many after that.
const ALL_VISITS: usize = 300;
const SOME_VISITS: usize = 61;
/// Nodes that fewer runs than this get to are given more.
const FEW_ORIGINS: usize = 24;
/// A run is copied once in so many steps of the product: a copy costs as much as a few of them.
const REPEATED_STEPS: usize = 32;
/// Steps of the product in a run to the end.
const LONG_STEPS: usize = 300_000;

/// A search under way.
pub struct Search<'a> {
    /// What questions are asked with.
    pub context: Context<'a>,
    pub(super) replay: Replay,
    pub(super) common: Common,
    pub(super) options: Options,
    pub(super) wrong: HashSet<(PointId, PointId, Step)>,
    /// Choices that were taken back, depth first.
    pub(super) taken_back: usize,
    /// Of the states at the entry.
    seeds: Vec<u64>,
    /// Whether the product at hand was given more runs to the end.
    run_longer: bool,
    /// What was done.
    pub effort: Effort,
    /// Correlations that turned out wrong, with reasons.
    pub notes: Vec<String>,
    /// States at the entry that a model of the solver made: inputs that something may be wrong with.
    pub(super) suspects: Vec<State>,
    /// What running one of them showed.
    pub refuted: Option<Refuted>,
    /// Nodes that runs have weakened since somebody looked.
    pub(super) weakened: HashSet<usize>,
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
        let context =
            Context { arena, solver, normaliser, setting, table, facts, walks: 0, looks_ahead: false };
        // No question takes longer than the function has left.
        context.solver.set_budget(options.time);
        Search {
            context,
            replay,
            common,
            options,
            wrong: HashSet::new(),
            taken_back: 0,
            seeds: Vec::new(),
            run_longer: false,
            effort: Effort::default(),
            notes: Vec::new(),
            suspects: Vec::new(),
            refuted: None,
            weakened: HashSet::new(),
        }
    }

    /// A product with invariants that are inductive, if one is found. If not, [`Search::refuted`] may say why.
    pub fn run(&mut self) -> Result<Product, Failure> {
        let found = match self.options.order {
            Order::Ranked => match self.find() {
                Err(Failure::Exhausted(..)) if !self.refute() => {
                    self.wrong.clear();
                    match self.find_depth_first() {
                        Err(Failure::Exhausted(..)) if !self.refute() => self.find_ahead(),
                        found => found,
                    }
                }
                found => found,
            },
            Order::Static => self.find_depth_first(),
        };
        if found.is_err() {
            self.refute();
        }
        found
    }

    /// The search once more, with what the source does right after each edge. Only then, as it makes every question
    /// larger, and few loops need it.
    fn find_ahead(&mut self) -> Result<Product, Failure> {
        self.wrong.clear();
        self.context.looks_ahead = true;
        self.find()
    }

    /// Whether a state at a point of the source may be one of a run in which nothing undefined is done, as far as
    /// proofs look.
    pub(super) fn may_be_defined(&self, source: PointId, state: &State) -> bool {
        let anchors = &self.context.setting.source_anchors;
        !self.context.looks_ahead
            || anchors.is_exit(source)
            || anchors.is_call(source)
            || self.replay.source_hop(anchors, source, &mut state.clone()).is_ok()
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
                    self.note_invariants(&product, &[edge.from, edge.to]);
                    let [from, to] = [edge.from, edge.to].map(|number| {
                        let node = &product.nodes[number];
                        self.context.setting.place(node.source, node.machine)
                    });
                    let node = &product.nodes[edge.from];
                    self.wrong.insert((node.source, node.machine, edge.step));
                    last = format!("{reason} (from {from} to {to})");
                }
                Err(Wrong { edge: None, reason }) => return Err(Failure::Exhausted(retry, reason)),
            }
        }
        Err(Failure::Exhausted(self.options.most_retries, last))
    }

    /// What was believed at some nodes, for people who wonder why a correlation was given up.
    fn note_invariants(&mut self, product: &Product, nodes: &[usize]) {
        for number in nodes {
            let node = &product.nodes[*number];
            let invariants = node.invariants(self.context.arena).unwrap_or_default();
            let lines = invariants.iter().map(|invariant| node.text(self.context.arena, invariant));
            let lines: Vec<String> = lines.collect();
            let (source, machine) = (node.source, node.machine);
            self.notes.push(format!("at ({source:?}, {machine:?}):\n  {}", lines.join("\n  ")));
        }
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
        if self.context.solver.left().is_some_and(|left| left.is_zero()) {
            return Err(Failure::Time(self.options.time));
        }
        match resident_mib() {
            Some(mib) if mib > self.options.memory_mib => Err(Failure::Memory(mib)),
            _ => Ok(()),
        }
    }

    pub(super) fn start(&mut self) -> Product {
        let mut product = Product::default();
        self.run_longer = false;
        let entry = self.node(&mut product, PointId(0), PointId(0));
        if self.seeds.is_empty() {
            self.seeds = self.choose_seeds();
        }
        for seed in self.seeds.clone() {
            let Context { arena, setting, table, .. } = &mut self.context;
            let state = entry_state(arena, setting, table, seed);
            product.nodes[entry].take_in(&state);
            product.nodes[entry].keep(&state);
        }
        product
    }

    /// Seeds of states from which the source does nothing undefined at first: the others show little. A few of
    /// those are taken where there is nothing else. First come those from which it gets through long loops: the
    /// first ones are run to the end. Paths that few states begin with get more, and each has its share of long runs.
    fn choose_seeds(&mut self) -> Vec<u64> {
        let (mut long, mut short, mut undefined) = (Vec::new(), Vec::new(), Vec::new());
        let mut begun = HashMap::<Option<Path>, usize>::new();
        // Without parameters one run is as long as the other, and begins as it does.
        let alike = self.context.setting.problem.parameters.is_empty();
        for seed in 0..TRIED_SEEDS {
            let path = if alike { None } else { self.first_path(seed) };
            let known = begun.get(&path).copied().unwrap_or(0);
            if long.len() + short.len() >= SEEDS && known >= FEW_BEGUN {
                if alike {
                    break;
                }
                continue;
            }
            match self.source_hops(seed, DEFINED_HOPS) {
                Hops::End => short.push(seed),
                Hops::Many => long.push((known, seed)),
                Hops::Undefined => {
                    undefined.push(seed);
                    continue;
                }
            }
            begun.insert(path, known + 1);
        }
        // Each path in turn.
        long.sort_by_key(|(known, _)| *known);
        let mut long: Vec<u64> = long.into_iter().map(|(_, seed)| seed).collect();
        if !alike {
            let tried = long.iter().copied().take(TRIED_LONG_RUNS);
            let through = tried.filter(|seed| matches!(self.source_hops(*seed, LONG_STEPS), Hops::End));
            let through: Vec<u64> = through.take(LONG_RUNS as usize).collect();
            long.retain(|seed| !through.contains(seed));
            long.splice(0..0, through);
        }
        let wanted = (SEEDS / 4).saturating_sub(long.len() + short.len());
        long.into_iter().chain(short).chain(undefined.into_iter().take(wanted)).collect()
    }

    /// The path that the machine begins with.
    fn first_path(&mut self, seed: u64) -> Option<Path> {
        let Context { arena, setting, table, .. } = &mut self.context;
        let mut state = entry_state(arena, setting, table, seed);
        self.replay.machine_path(&setting.machine_anchors, PointId(0), &mut state).ok()
    }

    /// How far the source gets from a state.
    fn source_hops(&mut self, seed: u64, most: usize) -> Hops {
        let Context { arena, setting, table, .. } = &mut self.context;
        let mut state = entry_state(arena, setting, table, seed);
        let mut at = PointId(0);
        for _ in 0..most {
            if setting.source_anchors.is_exit(at) {
                return Hops::End;
            }
            match self.replay.source_hop(&setting.source_anchors, at, &mut state) {
                Ok(to) => at = to,
                Err(_) => return Hops::Undefined,
            }
        }
        Hops::Many
    }

    /// The node of a pair of points; a new one if there is none.
    fn node(&mut self, product: &mut Product, source: PointId, machine: PointId) -> usize {
        let known = product.nodes.iter().position(|node| (node.source, node.machine) == (source, machine));
        known.unwrap_or_else(|| {
            product.nodes.push(self.fresh_node(source, machine));
            product.nodes.len() - 1
        })
    }

    pub(super) fn fresh_node(&mut self, source: PointId, machine: PointId) -> Node {
        let Context { arena, setting, table, .. } = &mut self.context;
        let columns = columns(arena, setting, &self.common, source, machine);
        Node::new(arena, setting, table, columns, (source, machine))
    }

    /// Adds edges until every path of the machine that is possible has one, and shows what holds.
    fn complete(&mut self, product: &mut Product) -> Result<Result<(), Wrong>, Failure> {
        loop {
            // Paths on which the source does something undefined wait: where they lead is for others to show.
            let mut waiting = Vec::new();
            while let Some((node, path)) = self.missing(product, &waiting) {
                self.check_limits()?;
                match self.candidate(product, node, &path) {
                    Some(step) => {
                        self.add_edge(product, node, step);
                        waiting.clear();
                    }
                    None if self.only_undefined(product, node, &path).is_some() => waiting.push((node, path)),
                    None => return Ok(Err(self.blame(product, node, &path))),
                }
            }
            if let Some((node, path)) = waiting.first() {
                return Ok(Err(self.blame(product, *node, path)));
            }
            if self.find_elements(product) | self.find_folds(product) {
                *product = self.start();
                continue;
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
    pub(super) fn blame(&self, product: &Product, node: usize, path: &Path) -> Wrong {
        let setting = self.context.setting;
        let at = &product.nodes[node];
        let reason = Failure::NoCandidate {
            from: setting.place(at.source, at.machine),
            path: setting.machine_path(path),
        };
        let edge = product.edges.iter().rev().find(|edge| edge.to == node && edge.from != node);
        let edge = edge.or_else(|| product.edges.iter().rev().find(|edge| edge.to == node));
        Wrong { edge: edge.cloned(), reason: reason.to_string() }
    }

    /// A node and a path that some state at the node takes and no edge has, but for those given.
    pub(super) fn missing(&self, product: &Product, waiting: &[(usize, Path)]) -> Option<(usize, Path)> {
        let setting = self.context.setting;
        for (number, node) in product.nodes.iter().enumerate() {
            if setting.machine_anchors.is_exit(node.machine) {
                continue;
            }
            for state in &node.states {
                let mut state = state.clone();
                let path = self.replay.machine_path(&setting.machine_anchors, node.machine, &mut state);
                let Ok(path) = path else { continue };
                let known = |edge: &Edge| edge.from == number && edge.step.machine == path;
                let waits = |(node, other): &(usize, Path)| *node == number && *other == path;
                if !product.edges.iter().any(known) && !waiting.iter().any(waits) {
                    return Some((number, path));
                }
            }
        }
        None
    }

    /// Adds an edge and runs the states of its start along it, and on.
    pub(super) fn add_edge(&mut self, product: &mut Product, from: usize, step: Step) {
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
        self.diversify(product, product.edges.len() - 1);
    }

    /// More runs to the end, once for each product: which way a loop is left may depend on its count, and a real state
    /// that takes a path says more about what the source does there than a model of what is known so far. Says
    /// whether there were any.
    pub(super) fn run_longer(&mut self, product: &mut Product) -> bool {
        if std::mem::replace(&mut self.run_longer, true) {
            return false;
        }
        let begun = thread_time();
        let states: Vec<State> =
            product.nodes[0].states.iter().skip(LONG_RUNS as usize).take(MORE_LONG_RUNS).cloned().collect();
        for state in &states {
            if thread_time().saturating_sub(begun) > MORE_LONG_TIME {
                break;
            }
            self.propagate(product, 0, state, LONG_STEPS);
        }
        !states.is_empty()
    }

    /// Few runs get to the end of a long loop, and what few runs have in common (addresses, registers at entry)
    /// hides what always holds. So runs that have only begun are put where the others leave the loop: they get
    /// the source's values from there, and what the invariants say follows from these.
    fn diversify(&mut self, product: &mut Product, number: usize) {
        let edge = product.edges[number].clone();
        let setting = self.context.setting;
        let Context { arena, table, .. } = &mut self.context;
        let mark = setting.problem.abi.entry(arena, "return");
        let mark = table.bits(arena, mark);
        let origins = |states: &[State]| states.iter().map(|state| state.bits[mark]).collect::<HashSet<_>>();
        let (begun, arrived) = (&product.nodes[edge.from].states, &product.nodes[edge.to].states);
        if edge.from == 0
            || origins(arrived).len() >= FEW_ORIGINS
            || origins(begun).len() <= origins(arrived).len()
        {
            return;
        }
        let there = self.taking(product, &edge, 3);
        let node = &product.nodes[edge.from];
        let (before, begun) = ((node.source, node.machine), node.states.clone());
        let assumed = {
            let Context { arena, normaliser, .. } = &mut self.context;
            Assumed::new(arena, normaliser, setting, node)
        };
        let Some(assumed) = assumed else { return };
        let mut seen = HashSet::new();
        for (count, like) in begun.iter().filter(|like| seen.insert(like.bits[mark])).enumerate() {
            let Some(end) = there.get(count % there.len().max(1)) else { return };
            let Context { arena, table, .. } = &mut self.context;
            let mut model = Assignment::default();
            for variable in &setting.source_live[before.0.0 as usize] {
                let Expr::Variable(symbol) = *arena.node(*variable) else { continue };
                let width = match arena.sort(*variable) {
                    Sort::Bits(width) if !arena.name(symbol).starts_with(ADDRESS_PREFIX) => width,
                    _ => continue,
                };
                let value = end.bits[table.bits(arena, *variable)];
                model.bits.insert(symbol, Bits::new(width, value));
            }
            let state = assumed.state(arena, table, like, &model);
            if let Followed::Together(after) = self.replay.follow(setting, before, &edge.step, &state)
                && self.same_memory(&after)
                && self.may_be_defined(product.nodes[edge.to].source, &after)
            {
                product.nodes[edge.to].add(&after);
                product.nodes[edge.to].keep(&after);
            }
        }
    }

    /// Runs a state along the edges that there are. The first visits to a node are taken in, later ones now
    /// and then; the last one is kept, as it needs an edge that is not there.
    pub(super) fn propagate(&mut self, product: &mut Product, from: usize, state: &State, steps: usize) {
        let mut run = Run { at: from, state: state.clone() };
        let mut visits: Vec<usize> = Vec::new();
        // Where a run cannot go on is only known once it has gone: then it is repeated from here to there.
        let (mut earlier, mut since) = (run.clone(), 0);
        for number in 0..steps {
            if number % 1024 == 1023 && self.check_limits().is_err() {
                return;
            }
            if since == REPEATED_STEPS {
                (earlier, since) = (run.clone(), 0);
            }
            match self.advance(product, &mut run) {
                Advance::Moved => since += 1,
                Advance::SourceElsewhere => return,
                stopped => {
                    for _ in 0..since {
                        self.advance(product, &mut earlier);
                    }
                    if number > 0 && stopped == Advance::NoEdge {
                        // The last of a loop: its extremes are bounds.
                        if product.nodes[earlier.at].take_in(&earlier.state) {
                            self.weakened.insert(earlier.at);
                        }
                        product.nodes[earlier.at].keep(&earlier.state);
                    } else if number > 0 && product.nodes[earlier.at].add(&earlier.state) {
                        self.weakened.insert(earlier.at);
                    }
                    return;
                }
            }
            // By node: the head of an outer loop is seen seldom, and its last turn is a bound.
            let at = run.at;
            if !self.may_be_defined(product.nodes[at].source, &run.state) {
                return;
            }
            visits.resize(product.nodes.len(), 0);
            visits[at] += 1;
            let taken_in = visits[at] <= ALL_VISITS || visits[at].is_multiple_of(SOME_VISITS);
            if taken_in && product.nodes[at].add(&run.state) {
                self.weakened.insert(at);
            }
        }
        if product.nodes[run.at].add(&run.state) {
            self.weakened.insert(run.at);
        }
    }

    /// One edge further. A run that cannot go on is left somewhere on the way.
    fn advance(&self, product: &Product, run: &mut Run) -> Advance {
        let setting = self.context.setting;
        let node = &product.nodes[run.at];
        if setting.machine_anchors.is_exit(node.machine) {
            return Advance::End;
        }
        let path = self.replay.machine_path(&setting.machine_anchors, node.machine, &mut run.state);
        let Ok(path) = path else { return Advance::End };
        let taken = |edge: &&Edge| edge.from == run.at && edge.step.machine == path;
        let Some(edge) = product.edges.iter().find(taken) else { return Advance::NoEdge };
        let mut point = node.source;
        for hop in &edge.step.source {
            match self.replay.source_hop(&setting.source_anchors, point, &mut run.state) {
                Ok(to) if to == *hop => point = to,
                _ => return Advance::SourceElsewhere,
            }
        }
        // What callees answer to different questions says nothing.
        if !run.state.same_calls() {
            return Advance::SourceElsewhere;
        }
        run.at = edge.to;
        Advance::Moved
    }
}

/// A run of both programs along the edges of a product.
#[derive(Debug, Clone)]
struct Run {
    /// Number of the node.
    at: usize,
    state: State,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advance {
    Moved,
    /// The machine is at its end, or stops.
    End,
    /// The machine takes a path without an edge.
    NoEdge,
    /// The source takes another path than the edge says, or does something undefined.
    SourceElsewhere,
}

/// Memory that this process has now; `None` where the kernel does not say.
fn resident_mib() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let resident: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    // Pages of x86-64.
    Some(resident * 4096 / (1 << 20))
}

/// How far a run of the source gets.
enum Hops {
    /// To the exit.
    End,
    /// As far as was asked for.
    Many,
    /// To something undefined.
    Undefined,
}

/// An edge that turned out wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Which; nothing if none is to blame.
    pub(super) edge: Option<Edge>,
    /// Why.
    pub(super) reason: String,
}
