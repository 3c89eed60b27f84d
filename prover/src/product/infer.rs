//! Inductive invariants: the strongest that the states seen so far satisfy are weakened, by counterexamples of
//! the solver and by giving up what cannot be shown, until every edge keeps them (Counter, figure 5a).

use super::node::{Compared, Invariant};
use super::replay::Followed;
use super::required::Class;
use super::search::{Edge, Failure, Product, Search, Wrong};
use super::triple::{Context, Goal, Outcome, Shown, Step, Triple};
use super::walk::and;
use crate::bits::Bits;
use crate::expr::{CompareOp, ExprId, Node as Expr, evaluate};
use crate::run::state::State;

/// States that complete a model, one after the other, without anything new.
const LIKES: usize = 40;

/// What checking an edge came to.
enum Checked {
    Holds,
    Weaker,
    Wrong(String),
}

impl Search<'_> {
    /// Weakens until all edges keep the invariants; an edge that cannot is returned.
    pub(super) fn infer(&mut self, product: &mut Product) -> Result<Result<(), Wrong>, Failure> {
        let compared = self.compared();
        // The entry has what the calling convention says, and that has no inequalities.
        for node in product.nodes.iter_mut().skip(1) {
            node.propose_bounds(self.context.arena, &mut self.context.table, &compared);
        }
        self.weaken_entry(product)?;
        let mut open: Vec<usize> = (0..product.edges.len()).collect();
        self.weakened.clear();
        while let Some(number) = open.pop() {
            self.check_limits()?;
            let edge = product.edges[number].clone();
            match self.check(product, &edge)? {
                Checked::Holds => {}
                Checked::Weaker => {
                    // Runs that were taken further have weakened other nodes, too.
                    let mut weaker = std::mem::take(&mut self.weakened);
                    weaker.insert(edge.to);
                    let leaving = product.edges.iter().enumerate();
                    let leaving = leaving.filter(|(_, other)| weaker.contains(&other.from));
                    let again: Vec<usize> = leaving.map(|(other, _)| other).chain([number]).collect();
                    open.retain(|other| !again.contains(other));
                    open.extend(again);
                }
                Checked::Wrong(reason) => return Ok(Err(Wrong { edge: Some(edge), reason })),
            }
        }
        Ok(Ok(()))
    }

    /// Gives up what the seeds happen to have in common and the calling convention does not promise.
    fn weaken_entry(&mut self, product: &mut Product) -> Result<(), Failure> {
        if !self.options.required.has(Class::Precondition) {
            return Ok(());
        }
        loop {
            let Some(invariants) = product.nodes[0].invariants(self.context.arena) else { return Ok(()) };
            let mut weaker = false;
            for (number, invariant) in invariants.iter().enumerate() {
                if !matches!(self.context.at_entry(number, invariant)?, Outcome::Holds(_)) {
                    product.nodes[0].give_up(invariant);
                    weaker = true;
                    break;
                }
            }
            if !weaker {
                return Ok(());
            }
        }
    }

    fn check(&mut self, product: &mut Product, edge: &Edge) -> Result<Checked, Failure> {
        let node = &product.nodes[edge.from];
        let Some(mut triple) = self.context.triple(node, &edge.step) else {
            return Ok(Checked::Wrong("an edge from where no state is known".into()));
        };
        let name = format!("edge {} to {}", edge.from, edge.to);
        let (given, goal) = (triple.given.clone(), triple.source.condition);
        let correlated = match self.options.required.has(Class::Correlation) {
            true => {
                self.context.implied_if_defined(&format!("{name} correlation"), &mut triple, &given, goal)?.0
            }
            false => Outcome::Holds(Shown::Rewriting),
        };
        match correlated {
            Outcome::Holds(_) => {}
            Outcome::Fails(_) => {
                return Ok(Checked::Wrong(format!("{name}: the source may take another path")));
            }
            Outcome::Open(reason) => return Ok(Checked::Wrong(format!("{name}: correlation: {reason}"))),
        }
        if self.options.required.has(Class::Event)
            && let Err(reason) = self.check_event(product, edge, &mut triple, &name)?
        {
            return Ok(Checked::Wrong(reason));
        }
        self.check_kept(product, edge, &mut triple, &name)
    }

    /// Whether the edge keeps the invariants of its end.
    fn check_kept(
        &mut self,
        product: &mut Product,
        edge: &Edge,
        triple: &mut Triple,
        name: &str,
    ) -> Result<Checked, Failure> {
        let given: Vec<ExprId> = triple.given.iter().copied().chain([triple.source.condition]).collect();
        let taking = self.taking(product, edge, 12);
        if product.nodes[edge.to].states.len() < LIKES {
            let name = format!("{name} example");
            let taken = and(self.context.arena, &[triple.machine.condition, triple.source.condition]);
            let never = self.context.arena.not(taken);
            let given = self.context.known(triple);
            if let Outcome::Fails(model) = self.context.implied(&name, &mut triple.assumed, &given, never)? {
                self.take_in(product, edge, triple, &model);
            }
        }
        let Some(invariants) = product.nodes[edge.to].invariants(self.context.arena) else {
            return Ok(Checked::Wrong(format!("{name}: no state at its end is known")));
        };
        let goals = self.goals(triple, &given, &invariants, &taking, name)?;
        let (memory, scalar): (Vec<_>, Vec<_>) =
            goals.into_iter().partition(|(number, _)| matches!(invariants[*number], Invariant::Equal(_)));
        match self.check_goals(product, edge, triple, &given, &invariants, &scalar, name)? {
            Checked::Holds => {}
            other => return Ok(other),
        }
        self.check_goals(product, edge, triple, &given, &invariants, &memory, &format!("{name} memory"))
    }

    /// Shows some goals at once; gives up those that do not follow.
    #[allow(clippy::too_many_arguments)]
    fn check_goals(
        &mut self,
        product: &mut Product,
        edge: &Edge,
        triple: &mut Triple,
        given: &[ExprId],
        invariants: &[Invariant],
        goals: &[(usize, Vec<ExprId>)],
        name: &str,
    ) -> Result<Checked, Failure> {
        if goals.is_empty() {
            return Ok(Checked::Holds);
        }
        let bits: Vec<ExprId> = goals.iter().flat_map(|(_, goal)| goal.iter().copied()).collect();
        let all = and(self.context.arena, &bits);
        match self.context.implied_if_defined(&format!("{name} kept"), triple, given, all)?.0 {
            Outcome::Holds(_) => Ok(Checked::Holds),
            Outcome::Fails(model) => {
                self.effort.counterexamples += 1;
                if self.take_in(product, edge, triple, &model) {
                    return Ok(Checked::Weaker);
                }
                let mut given_up = Vec::new();
                for (invariant, goal) in goals {
                    let mut holds = |bit: &ExprId| {
                        let form =
                            triple.assumed.rewrite(self.context.arena, &mut self.context.normaliser, *bit);
                        evaluate(self.context.arena, form, &model).bits().is_set()
                    };
                    if !goal.iter().all(&mut holds) {
                        given_up.push(*invariant);
                    }
                }
                // In a model a function of numbers may be another one than it is: then it shows nothing.
                if given_up.is_empty() && !self.context.setting.numbers.is_empty() {
                    return self.check_each(product, edge, triple, given, invariants, goals, name);
                }
                self.give_up(product, edge, invariants, &given_up, name)
            }
            Outcome::Open(_) => self.check_each(product, edge, triple, given, invariants, goals, name),
        }
    }

    /// Shows some goals one by one; gives up those that do not follow.
    #[allow(clippy::too_many_arguments)]
    fn check_each(
        &mut self,
        product: &mut Product,
        edge: &Edge,
        triple: &mut Triple,
        given: &[ExprId],
        invariants: &[Invariant],
        goals: &[(usize, Vec<ExprId>)],
        name: &str,
    ) -> Result<Checked, Failure> {
        let mut given_up = Vec::new();
        for (invariant, goal) in goals {
            let goal = and(self.context.arena, goal);
            let name = format!("{name} kept {invariant}");
            let outcome = self.context.implied_if_defined(&name, triple, given, goal)?.0;
            if !matches!(outcome, Outcome::Holds(_)) {
                given_up.push(*invariant);
            }
            self.check_limits()?;
        }
        if given_up.is_empty() {
            return Ok(Checked::Holds);
        }
        self.give_up(product, edge, invariants, &given_up, name)
    }

    /// Goals of invariants after the edge, with lemmas where rewriting alone leaves something.
    pub(super) fn goals(
        &mut self,
        triple: &mut Triple,
        given: &[ExprId],
        invariants: &[Invariant],
        taking: &[State],
        name: &str,
    ) -> Result<Vec<(usize, Vec<ExprId>)>, Failure> {
        let context = &mut self.context;
        let mut open = open_goals(context, triple, invariants, given, name)?;
        if !open.is_empty() {
            let mut roots: Vec<ExprId> = open.iter().flat_map(|(_, goal)| goal.iter().copied()).collect();
            let regions: Vec<_> = context.setting.regions.iter().cloned().collect();
            for region in regions {
                let (source, machine) = context.setting.memories(context.arena, &region);
                roots.extend(triple.source.values.get(&source));
                roots.extend(triple.machine.values.get(&machine));
            }
            let states: Vec<&State> = taking.iter().collect();
            for _ in 0..3 {
                if !context.add_lemmas(name, triple, given, &roots, &states)? {
                    break;
                }
            }
            open = open_goals(context, triple, invariants, given, name)?;
        }
        Ok(open)
    }

    /// Adds what a counterexample becomes at the edge's end; says whether that changed anything.
    fn take_in(
        &mut self,
        product: &mut Product,
        edge: &Edge,
        triple: &Triple,
        model: &crate::expr::Assignment,
    ) -> bool {
        // One model, completed by many states: what the query did not speak of differs in each. States that
        // take the edge come first: the query may not speak of what decides that.
        let mut likes = self.taking(product, edge, 12);
        likes.extend(product.nodes[edge.from].states.iter().cloned());
        let before = (product.nodes[edge.from].source, product.nodes[edge.from].machine);
        let (mut weaker, mut in_vain) = (false, 0);
        for like in likes {
            let Context { arena, table, setting, .. } = &mut self.context;
            let state = triple.assumed.state(arena, table, &like, model);
            if edge.from == 0 && in_vain == 0 {
                self.suspects.push(state.clone());
            }
            let followed = self.replay.follow(setting, before, &edge.step, &state);
            // Memory that differs afterwards is for the question about memory to find: here it may come from a
            // model that does not speak of all that the invariant does.
            if let Followed::Together(after) = followed
                && self.same_memory(&after)
                && self.may_be_defined(product.nodes[edge.to].source, &after)
                && product.nodes[edge.to].add(&after)
            {
                (weaker, in_vain) = (true, 0);
                self.propagate(product, edge.to, &after, 3);
            } else {
                in_vain += 1;
            }
            if in_vain > LIKES {
                break;
            }
        }
        weaker
    }

    fn give_up(
        &mut self,
        product: &mut Product,
        edge: &Edge,
        invariants: &[Invariant],
        given_up: &[usize],
        name: &str,
    ) -> Result<Checked, Failure> {
        // Then only what a state contradicts is given up, not what is not shown.
        if !self.options.required.has(Class::Preservation) {
            return Ok(Checked::Holds);
        }
        if given_up.is_empty() {
            return Ok(Checked::Wrong(format!("{name}: a counterexample that shows nothing")));
        }
        for number in given_up {
            if let Invariant::Equal(region) = &invariants[*number] {
                return Ok(Checked::Wrong(format!("{name}: {region} may differ")));
            }
            product.nodes[edge.to].give_up(&invariants[*number]);
        }
        Ok(Checked::Weaker)
    }

    /// Known states that take an edge.
    pub(super) fn taking(&self, product: &Product, edge: &Edge, most: usize) -> Vec<State> {
        let node = &product.nodes[edge.from];
        let setting = self.context.setting;
        let takes = |state: &&State| {
            let followed = self.replay.follow(setting, (node.source, node.machine), &edge.step, state);
            matches!(followed, Followed::Together(_))
        };
        node.states.iter().filter(takes).take(most).cloned().collect()
    }

    /// Asks for states that take paths without an edge. Says whether there is one.
    pub(super) fn find_uncovered(&mut self, product: &mut Product) -> Result<bool, Failure> {
        let setting = self.context.setting;
        let mut found = false;
        if !self.options.required.has(Class::Coverage) {
            return Ok(false);
        }
        for number in 0..product.nodes.len() {
            let node = &product.nodes[number];
            if setting.machine_anchors.is_exit(node.machine) {
                continue;
            }
            let paths = setting.machine_anchors.ways(&setting.problem.machine, node.machine);
            for path in paths {
                let known = product.edges.iter().any(|edge| edge.from == number && edge.step.machine == path);
                if known {
                    continue;
                }
                self.check_limits()?;
                let node = &product.nodes[number];
                let step = Step { machine: path, source: Vec::new() };
                let Some(mut triple) = self.context.triple(node, &step) else { continue };
                let given = self.context.known(&triple);
                let never = self.context.arena.not(triple.machine.condition);
                let name = format!("node {number} path {}", setting.machine_path(&step.machine));
                match self.context.implied(&name, &mut triple.assumed, &given, never)? {
                    Outcome::Holds(_) => {}
                    Outcome::Open(reason) => return Err(Failure::Open(format!("{name}: {reason}"))),
                    // At the entry a model is a real state.
                    Outcome::Fails(_) if number != 0 && self.run_longer(product) => return Ok(true),
                    Outcome::Fails(model) => {
                        self.effort.counterexamples += 1;
                        let node = &product.nodes[number];
                        let like = node.states.first().cloned();
                        let Context { arena, table, .. } = &mut self.context;
                        let Some(like) = like else { continue };
                        let state = triple.assumed.state(arena, table, &like, &model);
                        let mut after = state.clone();
                        let taken =
                            self.replay.machine_path(&setting.machine_anchors, node.machine, &mut after);
                        if taken.as_ref() != Ok(&step.machine) {
                            return Err(Failure::Open(format!(
                                "{name}: a model that does not take the path"
                            )));
                        }
                        if number == 0 {
                            self.suspects.push(state.clone());
                        }
                        product.nodes[number].add(&state);
                        product.nodes[number].keep(&state);
                        found = true;
                    }
                }
            }
        }
        Ok(found)
    }

    /// What guards compare with, at 32 and 64 bits.
    fn compared(&mut self) -> Compared {
        let problem = &self.context.setting.problem;
        let guards: Vec<ExprId> =
            problem.source.edges.iter().chain(&problem.machine.edges).map(|edge| edge.guard).collect();
        let arena = &mut *self.context.arena;
        let setting = self.context.setting;
        let mut found =
            Compared { numbers: setting.numbers.clone(), eights: setting.doubles, ..Compared::default() };
        let of_source: Vec<ExprId> = problem.source.edges.iter().map(|edge| edge.guard).collect();
        found.unsigned = arena.reachable(&of_source).into_iter().any(|id| match *arena.node(id) {
            Expr::Compare(CompareOp::Ult, left, right) => {
                [left, right].iter().all(|side| arena.as_constant(*side).is_none())
            }
            _ => false,
        });
        for id in arena.reachable(&guards) {
            let Expr::Compare(_, left, right) = *arena.node(id) else { continue };
            for (side, other) in [(left, right), (right, left)] {
                let Some(limit) = arena.as_constant(side) else { continue };
                if !matches!(limit.width_bits(), 32 | 64) {
                    continue;
                }
                let one = Bits::new(limit.width_bits(), 1);
                let near = [limit, limit.sub(one), limit.add(one)];
                found.constants.extend(near);
                let other = self.context.normaliser.normal(arena, other);
                if let Expr::Sum { constant, terms } = arena.node(other)
                    && let [(factor, _)] = terms[..]
                    && factor != 1
                {
                    let factor = Bits::new(constant.width_bits(), factor);
                    found.multiples.extend(near.map(|limit| (factor, *constant, limit)));
                }
            }
        }
        found
    }
}

/// Invariants, by number, of which rewriting leaves something to show.
fn open_goals(
    context: &mut Context,
    triple: &mut Triple,
    invariants: &[Invariant],
    given: &[ExprId],
    name: &str,
) -> Result<Vec<(usize, Vec<ExprId>)>, Failure> {
    let mut open = Vec::new();
    for (number, invariant) in invariants.iter().enumerate() {
        let bits = match context.after(triple, invariant) {
            Goal::Bits(bits) => bits,
            Goal::Anywhere(bit) => vec![bit],
        };
        let mut left = Vec::new();
        for bit in bits {
            let form = triple.assumed.rewrite(context.arena, &mut context.normaliser, bit);
            let rewritten = context.arena.as_constant(form).is_some_and(|bits| bits.is_set());
            let name = format!("{name} kept {number}");
            if !rewritten && !context.holds_by_cases(&name, triple, given, form)? {
                left.push(bit);
            }
        }
        if left.is_empty() {
            context.solver.statistics.normaliser += 1;
        } else {
            open.push((number, left));
        }
    }
    Ok(open)
}
