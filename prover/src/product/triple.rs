//! One edge of the product: what both programs do along it, and what may be used to show something about it.
//!
//! Questions are settled by rewriting with the invariant of the edge's start, then by lemmas that rewriting
//! can use (no overflow in an index, a branch that goes one way), each shown by the solver first, and what is
//! left goes to the solver.

use super::assumed::{Assumed, equal, spread_extension};
use super::events::Calls;
use super::flow::Path;
use super::nan_order;
use super::node::{Invariant, Node};
use super::problem::Setting;
use super::walk::{Guarded, Values, Walk, Walker, and, implies};
use crate::bits::Bits;
use crate::expr::decompose::memory_equality;
use crate::expr::normal::Normaliser;
use crate::expr::substitute::Substitution;
use crate::expr::{
    Arena, Assignment, BinaryOp, CommutativeOp, CompareOp, ExprId, Node as Expr, Sort, evaluate,
};
use crate::graph::{Assumption, PointId};
use crate::region::Region;
use crate::run::code::{Code, is_unknown};
use crate::run::state::{State, Table};
use crate::smt::{Answer, Limits, Reason, SmtError, Solver};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

/// Conditions that a goal is split by: two to this power are the cases.
const MOST_CONDITIONS: usize = 5;

/// A lemma saves questions, and one that takes longer than this saves nothing: of the kernels' lemmas those that had an
/// answer at all had it within 1.6 s, and the others (of sums in memory) cost the whole time of a question.
const LEMMA_TIME: Duration = Duration::from_secs(2);

/// Factors below this, times a power of two, are cheap to multiply by.
const EASY_FACTOR: u128 = 1 << 12;

/// Everything that questions are asked with.
pub struct Context<'a> {
    /// All expressions.
    pub arena: &'a mut Arena,
    /// The solver.
    pub solver: &'a mut Solver,
    /// The normaliser.
    pub normaliser: Normaliser,
    /// Both programs.
    pub setting: &'a Setting,
    /// Places of variables in concrete states.
    pub table: Table,
    /// What the memory model promises.
    pub facts: Vec<ExprId>,
    /// Tells walks apart.
    pub walks: u32,
    /// Whether what is shown may rest on what the source does right after an edge, too (see `ahead`).
    pub looks_ahead: bool,
}

/// Paths that both programs take together, as the search knows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    /// The path of the machine.
    pub machine: Path,
    /// The anchors that the source passes; empty if it stays. Between two anchors it takes any path.
    pub source: Vec<PointId>,
}

/// How something was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// By rewriting alone.
    Rewriting,
    /// By the solver, after rewriting.
    Solver,
}

/// What came of trying to show something.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// It holds.
    Holds(Shown),
    /// It does not hold where the model says.
    Fails(Assignment),
    /// Nobody knows.
    Open(Reason),
}

/// One edge with all that may be used on it.
pub struct Triple {
    /// What the machine does.
    pub machine: Walk,
    /// What the source does.
    pub source: Walk,
    /// The invariant at the start.
    pub assumed: Assumed,
    /// Bits that are set at the start if the machine takes its path, facts of the model included.
    pub given: Vec<ExprId>,
    /// What the source promises where it goes on after its path.
    pub ahead: Vec<Guarded<Assumption>>,
    /// Bits that are set if the source does nothing undefined on its paths, and where it goes on.
    pub defined: Vec<ExprId>,
    /// Whether rewriting uses lemmas that a solver showed.
    pub lemmas: bool,
    /// Whether a solver showed that some case of a choice cannot be.
    pub cases: bool,
}

/// What an expression costs the solver: little, if it speaks of indices; some, if of memory, or if it multiplies by
/// numbers of many bits; much, if it multiplies or divides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Cost {
    Little,
    Some,
    Much,
}

/// What lemmas may rest on, with what it costs.
pub(super) struct Hypotheses {
    /// By the invariant and the machine's path.
    known: Vec<(Cost, ExprId)>,
    /// By a source that does nothing undefined.
    promised: Vec<(Cost, ExprId)>,
}

impl Hypotheses {
    /// All that a source promises that does nothing undefined.
    pub(super) fn promised(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.promised.iter().map(|(_, bit)| *bit)
    }

    pub(super) fn up_to(&self, known: Cost, promised: Cost) -> Vec<ExprId> {
        let known = self.known.iter().filter(|(cost, _)| *cost <= known);
        let promised = self.promised.iter().filter(|(cost, _)| *cost <= promised);
        known.chain(promised).map(|(_, bit)| *bit).collect()
    }
}

/// What rewriting may use on an edge once `goal` is shown there, which implies that the two are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lemma {
    pub(super) term: ExprId,
    pub(super) value: ExprId,
    pub(super) goal: ExprId,
}

impl Context<'_> {
    /// Runs both sides of an edge from a node.
    pub fn triple(&mut self, node: &Node, step: &Step) -> Option<Triple> {
        let calls = self.setting.calls((node.source, node.machine), step);
        let assumed = Assumed::new(self.arena, &mut self.normaliser, self.setting, node)?;
        self.walks += 2;
        let (setting, arena) = (self.setting, &mut *self.arena);
        let name = self.walks.to_string();
        // Only a call that both make, and nothing else, has one answer for both.
        let shared = |walker| match calls {
            Calls::One(..) => Walker::sharing_replies(walker, &format!("c{name}")),
            Calls::None | Calls::Mixed => walker,
        };
        let walker = Walker::new(&setting.problem.machine, &setting.machine_anchors, &format!("m{name}"));
        let mut walker = shared(walker);
        let start = walker.start(arena);
        let machine = walker.path(arena, start, node.machine, &step.machine);
        let walker = Walker::new(&setting.problem.source, &setting.source_anchors, &format!("s{name}"));
        let mut walker = shared(walker);
        let mut source = walker.start(arena);
        let mut from = node.source;
        for to in &step.source {
            source = walker.hop(arena, source, from, *to);
            from = *to;
        }
        if setting.commutes && nan_order::follow_machine(arena, &mut self.table, node, &machine, &mut source)
        {
            self.normaliser.note(nan_order::CHOSEN);
        }
        let ahead = match (self.looks_ahead, calls) {
            (true, Calls::None) => ahead(arena, setting, &mut walker, &source, from),
            _ => Vec::new(),
        };
        let mut given = assumed.bits.clone();
        given.extend(&self.facts);
        given.push(machine.condition);
        let defined = source
            .assumptions
            .iter()
            .chain(&ahead)
            .map(|assumption| implies(arena, assumption.when, assumption.what.condition))
            .collect();
        Some(Triple { machine, source, assumed, given, ahead, defined, lemmas: false, cases: false })
    }

    /// Whether bits that are `given` imply another; all in terms of the state at the node.
    pub fn implied(
        &mut self,
        name: &str,
        assumed: &mut Assumed,
        given: &[ExprId],
        goal: ExprId,
    ) -> Result<Outcome, SmtError> {
        let goal = assumed.rewrite(self.arena, &mut self.normaliser, goal);
        if self.arena.as_constant(goal).is_some_and(|bits| bits.is_set()) {
            self.solver.statistics.normaliser += 1;
            return Ok(Outcome::Holds(Shown::Rewriting));
        }
        let given = self.rewritten(assumed, given);
        let asserted = self.about(given, goal);
        Ok(match self.solver.ask(self.arena, name, &asserted)? {
            Answer::Unsat => Outcome::Holds(Shown::Solver),
            Answer::Sat(model) => Outcome::Fails(model),
            Answer::Unknown(reason) => Outcome::Open(reason),
        })
    }

    /// Whether a rewritten bit is set whichever way the choices in it go, as far as they can: every case is
    /// settled by rewriting, or cannot be.
    pub fn holds_by_cases(
        &mut self,
        name: &str,
        triple: &mut Triple,
        given: &[ExprId],
        goal: ExprId,
    ) -> Result<bool, SmtError> {
        let mut conditions = Vec::new();
        for id in self.arena.reachable(&[goal]) {
            if let Expr::Choice { condition, .. } = *self.arena.node(id)
                && !conditions.contains(&condition)
            {
                conditions.push(condition);
            }
        }
        if conditions.is_empty() || conditions.len() > MOST_CONDITIONS {
            return Ok(false);
        }
        for case in 0..1u32 << conditions.len() {
            let decided = |number: usize| Bits::bit(case >> number & 1 == 1);
            let values: Vec<ExprId> =
                (0..conditions.len()).map(|number| self.arena.constant(decided(number))).collect();
            let mut cases = Substitution::new(conditions.iter().copied().zip(values.iter().copied()));
            let form = cases.apply(self.arena, goal);
            let form = self.normaliser.normal(self.arena, form);
            if self.arena.as_constant(form).is_some_and(|bits| bits.is_set()) {
                continue;
            }
            let chosen: Vec<ExprId> = conditions
                .iter()
                .zip(&values)
                .map(|(condition, value)| equal(self.arena, *condition, *value))
                .collect();
            let possible = and(self.arena, &chosen);
            let never = self.arena.not(possible);
            let name = format!("{name} case {case}");
            match self.implied(&name, &mut triple.assumed, given, never)? {
                Outcome::Holds(Shown::Rewriting) => {}
                Outcome::Holds(Shown::Solver) => triple.cases = true,
                Outcome::Fails(_) | Outcome::Open(_) => return Ok(false),
            }
        }
        self.normaliser.note("cases-of-choices");
        Ok(true)
    }

    /// What is known at the start of an edge, whichever path is taken.
    pub fn known(&self, triple: &Triple) -> Vec<ExprId> {
        triple.assumed.bits.iter().chain(&self.facts).copied().collect()
    }

    /// A model of all the bits together.
    pub fn model(
        &mut self,
        name: &str,
        assumed: &mut Assumed,
        given: &[ExprId],
    ) -> Result<Outcome, SmtError> {
        let asserted = self.rewritten(assumed, given);
        Ok(match self.solver.ask(self.arena, name, &asserted)? {
            Answer::Unsat => Outcome::Holds(Shown::Solver),
            Answer::Sat(model) => Outcome::Fails(model),
            Answer::Unknown(reason) => Outcome::Open(reason),
        })
    }

    /// Whether an invariant of the entry follows from the calling convention.
    pub fn at_entry(&mut self, number: usize, invariant: &Invariant) -> Result<Outcome, SmtError> {
        let condition = match invariant {
            Invariant::Zero { condition, .. } => *condition,
            Invariant::Bound(bound) => bound.condition,
            // Both programs begin in one memory.
            Invariant::Equal(_) => return Ok(Outcome::Holds(Shown::Rewriting)),
        };
        let mut given = self.facts.clone();
        for (left, right) in self.setting.precondition(self.arena) {
            given.push(equal(self.arena, left, right));
        }
        let mut nothing = Assumed::nothing(self.setting);
        self.implied(&format!("entry {number}"), &mut nothing, &given, condition)
    }

    /// The negated goal with those bits that have to do with it, directly or through others. A model of these
    /// can be completed by any state in which the rest holds.
    pub(super) fn about(&mut self, mut given: Vec<ExprId>, goal: ExprId) -> Vec<ExprId> {
        given.sort_unstable();
        given.dedup();
        let variables = |arena: &Arena, id: ExprId| -> HashSet<ExprId> {
            let parts = arena.reachable(&[id]).into_iter();
            parts.filter(|part| matches!(arena.node(*part), Expr::Variable(_))).collect()
        };
        let mut known = variables(self.arena, goal);
        let mut open: Vec<(ExprId, HashSet<ExprId>)> =
            given.into_iter().map(|bit| (bit, variables(self.arena, bit))).collect();
        let mut asserted = vec![self.arena.not(goal)];
        loop {
            let before = asserted.len();
            open.retain(|(bit, variables)| {
                // A bit without variables is 0: it contradicts everything.
                let near = variables.is_empty() || !known.is_disjoint(variables);
                if near {
                    known.extend(variables);
                    asserted.push(*bit);
                }
                !near
            });
            if asserted.len() == before {
                return asserted;
            }
        }
    }

    fn rewritten(&mut self, assumed: &mut Assumed, bits: &[ExprId]) -> Vec<ExprId> {
        let mut rewritten = Vec::new();
        for bit in bits {
            let form = assumed.rewrite(self.arena, &mut self.normaliser, *bit);
            if !self.arena.as_constant(form).is_some_and(|bits| bits.is_set()) {
                rewritten.push(form);
            }
        }
        rewritten
    }

    /// A goal under what is given, and, if that does not suffice, under what a defined source gives, too.
    pub fn implied_if_defined(
        &mut self,
        name: &str,
        triple: &mut Triple,
        given: &[ExprId],
        goal: ExprId,
    ) -> Result<(Outcome, bool), SmtError> {
        let first = self.implied(name, &mut triple.assumed, given, goal)?;
        if matches!(first, Outcome::Holds(_)) || triple.defined.is_empty() {
            return Ok((first, false));
        }
        // That sums and products of what is in memory do not overflow seldom matters, and costs most.
        let easy: Vec<ExprId> =
            triple.defined.iter().copied().filter(|bit| self.cost(*bit) == Cost::Little).collect();
        if !easy.is_empty() && easy.len() < triple.defined.len() {
            let given: Vec<ExprId> = given.iter().chain(&easy).copied().collect();
            let second = self.implied(name, &mut triple.assumed, &given, goal)?;
            if matches!(second, Outcome::Holds(_)) {
                return Ok((second, true));
            }
        }
        let given: Vec<ExprId> = given.iter().chain(&triple.defined).copied().collect();
        Ok((self.implied(name, &mut triple.assumed, &given, goal)?, true))
    }

    /// What an expression costs the solver.
    fn cost(&self, id: ExprId) -> Cost {
        let few_bits = |width_bits: u32, factor: u128| {
            let size = Bits::new(width_bits, factor).signed().unsigned_abs();
            size == 0 || size >> size.trailing_zeros() < EASY_FACTOR
        };
        let parts = self.arena.reachable(&[id]).into_iter();
        let costs = parts.map(|part| match self.arena.node(part) {
            Expr::Commutative(CommutativeOp::Product, _) | Expr::Apply { .. } => Cost::Much,
            Expr::Binary(BinaryOp::UDiv | BinaryOp::URem | BinaryOp::SDiv | BinaryOp::SRem, ..) => Cost::Much,
            Expr::Load { .. } | Expr::Store { .. } => Cost::Some,
            Expr::Sum { constant, terms } => {
                let cheap = terms.iter().all(|(factor, _)| few_bits(constant.width_bits(), *factor));
                if cheap { Cost::Little } else { Cost::Some }
            }
            _ => Cost::Little,
        });
        costs.max().unwrap_or(Cost::Little)
    }

    /// Lets rewriting use what the solver shows about the terms of some expressions: extensions of sums that do
    /// not overflow, conditions that are the same in all the states, and loads from beside what was stored; if there is
    /// nothing of the kind, addresses that are the same in all the states. Says whether it found any.
    pub fn add_lemmas(
        &mut self,
        name: &str,
        triple: &mut Triple,
        given: &[ExprId],
        roots: &[ExprId],
        states: &[&State],
    ) -> Result<bool, SmtError> {
        let roots: Vec<ExprId> = roots
            .iter()
            .map(|root| triple.assumed.rewrite(self.arena, &mut self.normaliser, *root))
            .collect();
        let (mut candidates, mut loads) = (Vec::new(), Vec::new());
        for id in self.arena.reachable(&roots) {
            if let Some(spread) = spread_extension(self.arena, id) {
                // No address is a product of what is in memory.
                if self.cost(id) != Cost::Much {
                    candidates.push(self.equality(id, spread));
                }
            } else if let Expr::Choice { condition, .. } = *self.arena.node(id) {
                candidates.extend(self.constant_value(condition, states));
            } else if matches!(self.arena.node(id), Expr::Variable(_))
                && matches!(self.arena.sort(id), Sort::Bits(2..))
                && states.len() > 1
            {
                // A counter at the end of its loop.
                candidates.extend(self.constant_value(id, states));
            } else if let Expr::Load { memory, address, bytes } = *self.arena.node(id) {
                loads.extend(self.load_past_stores(id, (memory, address, bytes), states));
            }
        }
        let promised = triple.defined.clone();
        let (known, promised) =
            (self.rewritten(&mut triple.assumed, given), self.rewritten(&mut triple.assumed, &promised));
        let costs = |bits: Vec<ExprId>| bits.into_iter().map(|bit| (self.cost(bit), bit)).collect();
        let hypotheses = Hypotheses { known: costs(known), promised: costs(promised) };
        // Apart, because the latter are harder: a question without an answer settles none of its lemmas.
        let mut shown = self.shown_lemmas(&format!("{name} lemmas"), &hypotheses, candidates)?;
        let terms = self.arena.reachable(&roots);
        shown.extend(self.promised_products(name, &mut triple.assumed, &hypotheses, &terms)?);
        shown.extend(self.shown_lemmas(&format!("{name} loads"), &hypotheses, loads)?);
        if shown.is_empty() {
            let addresses = self.same_addresses(&roots, states);
            shown = self.shown_lemmas(&format!("{name} addresses"), &hypotheses, addresses)?;
        }
        let found = !shown.is_empty();
        triple.lemmas |= found;
        for Lemma { term, value, .. } in shown {
            let value = triple.assumed.rewrite(self.arena, &mut self.normaliser, value);
            triple.assumed.replace(self.arena, term, value);
        }
        Ok(found)
    }

    /// Lets rewriting use that a variable has one value only: a counter at the end of its loop.
    pub fn add_constants(
        &mut self,
        name: &str,
        triple: &mut Triple,
        given: &[ExprId],
        roots: &[ExprId],
    ) -> Result<(), SmtError> {
        let roots: Vec<ExprId> = roots
            .iter()
            .map(|root| triple.assumed.rewrite(self.arena, &mut self.normaliser, *root))
            .collect();
        let given: Vec<ExprId> = given.iter().chain(&triple.defined).copied().collect();
        let hypotheses = self.rewritten(&mut triple.assumed, &given);
        let Answer::Sat(model) = self.solver.ask(self.arena, &format!("{name} model"), &hypotheses)? else {
            return Ok(());
        };
        let mut candidates = Vec::new();
        for id in self.arena.reachable(&roots) {
            let variable = matches!(self.arena.node(id), Expr::Variable(_));
            if variable && matches!(self.arena.sort(id), Sort::Bits(2..)) {
                let value = self.arena.constant(evaluate(self.arena, id, &model).bits());
                candidates.push(self.equality(id, value));
            }
        }
        for Lemma { term, value, .. } in
            self.following(&format!("{name} constants"), &hypotheses, candidates)?
        {
            triple.assumed.replace(self.arena, term, value);
        }
        Ok(())
    }

    /// Those lemmas that follow. One that costs the solver much may cost the answer to all, and so may a hypothesis: so
    /// each is asked for with others like it, and without what costs more than the lemma itself; a lemma about indices
    /// also with what is known of memory, but not with what is promised of it.
    fn shown_lemmas(
        &mut self,
        name: &str,
        hypotheses: &Hypotheses,
        mut candidates: Vec<Lemma>,
    ) -> Result<Vec<Lemma>, SmtError> {
        candidates.sort_unstable();
        candidates.dedup();
        let mut open: Vec<(Cost, Lemma)> =
            candidates.into_iter().map(|lemma| (self.cost(lemma.goal), lemma)).collect();
        let mut shown = Vec::new();
        let levels = [
            (Cost::Little, Cost::Little, Cost::Little),
            (Cost::Little, Cost::Some, Cost::Little),
            (Cost::Some, Cost::Some, Cost::Some),
            (Cost::Much, Cost::Much, Cost::Much),
        ];
        for (number, (of, known, promised)) in levels.into_iter().enumerate() {
            let asked = open.iter().filter(|(cost, _)| *cost == of).map(|(_, lemma)| *lemma).collect();
            let given = hypotheses.up_to(known, promised);
            let following = self.following(&format!("{name} {number}"), &given, asked)?;
            open.retain(|(_, lemma)| !following.contains(lemma));
            shown.extend(following);
        }
        Ok(shown)
    }

    /// Those lemmas that follow: all are asked for at once, and a model tells which ones are wrong.
    pub(super) fn following(
        &mut self,
        name: &str,
        hypotheses: &[ExprId],
        mut candidates: Vec<Lemma>,
    ) -> Result<Vec<Lemma>, SmtError> {
        for round in 0..24 {
            if candidates.is_empty() {
                break;
            }
            let goals: Vec<ExprId> = candidates.iter().map(|lemma| lemma.goal).collect();
            let all = and(self.arena, &goals);
            let asserted = self.about(hypotheses.to_vec(), all);
            let limits = self.solver.limits();
            self.solver.set_limits(Limits { time: limits.time.min(LEMMA_TIME), ..limits });
            let answer = self.solver.ask(self.arena, &format!("{name} {round}"), &asserted);
            self.solver.set_limits(limits);
            match answer? {
                Answer::Unsat => return Ok(candidates),
                Answer::Sat(model) => {
                    let before = candidates.len();
                    candidates.retain(|lemma| evaluate(self.arena, lemma.goal, &model).bits().is_set());
                    if candidates.len() == before {
                        break;
                    }
                }
                Answer::Unknown(_) => break,
            }
        }
        Ok(Vec::new())
    }

    pub(super) fn equality(&mut self, term: ExprId, value: ExprId) -> Lemma {
        Lemma { term, value, goal: equal(self.arena, term, value) }
    }

    /// A load from a memory with stores, all of them elsewhere in the states: it is the load from what was there
    /// before them, if the bytes do not overlap. That is a question about addresses, not about memories.
    fn load_past_stores(
        &mut self,
        term: ExprId,
        (memory, address, bytes): (ExprId, ExprId, u32),
        states: &[&State],
    ) -> Option<Lemma> {
        let (mut before, mut goals) = (memory, Vec::new());
        while let Expr::Store { memory, address: stored, value } = *self.arena.node(before) {
            let apart = self.apart((address, bytes), (stored, self.arena.width_bits(value) / 8));
            if !self.holds_in_all(apart, states) {
                break;
            }
            goals.push(apart);
            before = memory;
        }
        if goals.is_empty() {
            return None;
        }
        let value = self.arena.load(before, address, bytes);
        Some(Lemma { term, value, goal: and(self.arena, &goals) })
    }

    /// Addresses of loads and stores that are the same in all the states and written differently (`4*i` is where the
    /// rounded end was): each is the shortest of them.
    fn same_addresses(&mut self, roots: &[ExprId], states: &[&State]) -> Vec<Lemma> {
        if states.is_empty() {
            return Vec::new();
        }
        let mut addresses = Vec::new();
        for id in self.arena.reachable(roots) {
            if let Expr::Load { address, .. } | Expr::Store { address, .. } = *self.arena.node(id)
                && !addresses.contains(&address)
                && !self.arena.reachable(&[address]).into_iter().any(|part| is_unknown(self.arena, part))
            {
                addresses.push(address);
            }
        }
        let code = Code::new(self.arena, &mut self.table, &addresses);
        let mut alike = BTreeMap::<Vec<u128>, Vec<ExprId>>::new();
        let seen: Vec<Vec<Bits>> = states.iter().map(|state| code.bits(state)).collect();
        for (number, address) in addresses.into_iter().enumerate() {
            let values = seen.iter().map(|bits| bits[number].value()).collect();
            alike.entry(values).or_default().push(address);
        }
        let mut lemmas = Vec::new();
        for group in alike.into_values().filter(|group| group.len() > 1) {
            let size = |id: &ExprId| (self.arena.reachable(&[*id]).len(), *id);
            let Some(shortest) = group.iter().copied().min_by_key(size) else { continue };
            let others = group.into_iter().filter(|address| *address != shortest);
            lemmas.extend(others.map(|address| self.equality(address, shortest)));
        }
        lemmas
    }

    /// The bit that is set if two pieces of memory do not overlap; addresses wrap around. They overlap if one
    /// begins in the other.
    fn apart(&mut self, (left, left_bytes): (ExprId, u32), (right, right_bytes): (ExprId, u32)) -> ExprId {
        let width_bits = self.arena.width_bits(left);
        let mut begins_beyond = |from: ExprId, to: ExprId, bytes: u32| {
            let distance = self.arena.sub(to, from);
            let bytes = self.arena.constant(Bits::new(width_bits, u128::from(bytes)));
            let inside = self.arena.compare(CompareOp::Ult, distance, bytes);
            self.arena.not(inside)
        };
        let both = [begins_beyond(left, right, left_bytes), begins_beyond(right, left, right_bytes)];
        and(self.arena, &both)
    }

    fn holds_in_all(&mut self, bit: ExprId, states: &[&State]) -> bool {
        if states.is_empty()
            || self.arena.reachable(&[bit]).into_iter().any(|part| is_unknown(self.arena, part))
        {
            return false;
        }
        let code = Code::new(self.arena, &mut self.table, &[bit]);
        states.iter().all(|state| code.bits(state)[0].is_set())
    }

    /// An expression that has one value in all states, and that value.
    fn constant_value(&mut self, condition: ExprId, states: &[&State]) -> Option<Lemma> {
        if states.is_empty() || self.arena.as_constant(condition).is_some() {
            return None;
        }
        if self.arena.reachable(&[condition]).into_iter().any(|part| is_unknown(self.arena, part)) {
            return None;
        }
        let code = Code::new(self.arena, &mut self.table, &[condition]);
        let first = code.bits(states[0])[0];
        let same = states.iter().all(|state| code.bits(state)[0] == first);
        let value = self.arena.constant(first);
        same.then(|| self.equality(condition, value))
    }

    /// An invariant of the edge's end, in terms of the start, as bits of which all must be set.
    pub fn after(&mut self, triple: &mut Triple, invariant: &Invariant) -> Goal {
        match invariant {
            Invariant::Zero { condition, .. } => Goal::Bits(vec![self.after_both(triple, *condition)]),
            Invariant::Bound(bound) => Goal::Bits(vec![self.after_both(triple, bound.condition)]),
            Invariant::Equal(region) => self.equal_after(triple, region),
        }
    }

    fn after_both(&mut self, triple: &Triple, condition: ExprId) -> ExprId {
        substituted(self.arena, &[&triple.machine.values, &triple.source.values], condition)
    }

    /// Equality of a region after the edge, taken apart where that is possible.
    fn equal_after(&mut self, triple: &mut Triple, region: &Region) -> Goal {
        let (source, machine) = self.setting.memories(self.arena, region);
        let value = |values: &Values, variable: ExprId| values.get(&variable).copied().unwrap_or(variable);
        let source = value(&triple.source.values, source);
        let machine = value(&triple.machine.values, machine);
        let left = triple.assumed.rewrite(self.arena, &mut self.normaliser, source);
        let right = triple.assumed.rewrite(self.arena, &mut self.normaliser, machine);
        match memory_equality(self.arena, &mut self.normaliser, left, right) {
            Some(pairs) => {
                Goal::Bits(pairs.into_iter().map(|(left, right)| equal(self.arena, left, right)).collect())
            }
            None => Goal::Anywhere(anywhere(self.arena, source, machine)),
        }
    }
}

/// What the source promises between where a walk has brought it and its next anchors. It goes on from there whatever
/// the machine does, without a call and without a loop on the way: so a run in which that is broken does something
/// undefined, and nothing is said of it. A state that only such runs come to needs no invariant.
fn ahead(
    arena: &mut Arena,
    setting: &Setting,
    walker: &mut Walker,
    walk: &Walk,
    from: PointId,
) -> Vec<Guarded<Assumption>> {
    let anchors = &setting.source_anchors;
    if anchors.is_call(from) || anchors.is_exit(from) {
        return Vec::new();
    }
    let ways = anchors.ways(&setting.problem.source, from);
    let ends: BTreeSet<PointId> = ways.iter().map(|way| way.to).filter(|to| anchors.contains(*to)).collect();
    let mut found = Vec::new();
    for to in ends {
        let further = walker.hop(arena, walk.clone(), from, to);
        found.extend(further.assumptions.into_iter().skip(walk.assumptions.len()));
    }
    found
}

/// What has to be shown for an invariant.
#[derive(Debug, Clone)]
pub enum Goal {
    /// All of these bits.
    Bits(Vec<ExprId>),
    /// That the memories have the same byte at an address of which nothing is known.
    Anywhere(ExprId),
}

/// The bit that is set if two memories have the same byte at some address that nothing else speaks of.
pub fn anywhere(arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
    let Sort::Memory(address_bits) = arena.sort(left) else { panic!("only memories are compared by byte") };
    let address = arena.variable("anywhere", Sort::Bits(address_bits));
    let (left, right) = (arena.load(left, address, 1), arena.load(right, address, 1));
    equal(arena, left, right)
}

/// A condition in terms of the state before.
pub fn substituted(arena: &mut Arena, values: &[&Values], condition: ExprId) -> ExprId {
    let replaced =
        values.iter().flat_map(|values| values.iter().map(|(variable, value)| (*variable, *value)));
    Substitution::new(replaced).apply(arena, condition)
}

/// The bit 1.
pub fn always(arena: &mut Arena) -> ExprId {
    arena.constant(Bits::bit(true))
}
