//! The obligations of a product, each shown again from nothing but the product itself. What the search did to
//! find it does not matter here: this file, with what it calls in `triple`, `assumed` and `walk`, is what a
//! proof rests on.
//!
//! | claim | shown |
//! |---|---|
//! | precondition | every invariant of the entry follows from the calling convention |
//! | correlation | invariants and the machine's path imply that the source takes one of its paths |
//! | preservation | and that the invariants of the end hold then |
//! | access | and that the machine stays in the regions that the model gives it, and does not fault |
//! | event | and, where both make a call, that it is the same one, with the same arguments and memory |
//! | coverage | invariants imply that the machine takes a path of some edge |
//! | satisfiable | the invariants have a model |
//! | observable | at an exit, memory, result, registers and return address are as they should be |
//!
//! That no cycle has only empty source sides is a matter of the graph: `metaloc_proof` checks it.

use super::assumed::{Assumed, equal};
use super::node::Invariant;
use super::problem::FRAME_BYTES;
use super::required::Class;
use super::search::{Edge, Failure, Product, Search};
use super::triple::{Goal, Outcome, Shown, Triple, anywhere, substituted};
use super::walk::{Guarded, and, implies, or};
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CompareOp, ExprId, Sort, smtlib};
use crate::graph::Assumption;
use crate::lift::RETURN_TARGET;
use crate::region::{Access, Region};
use metaloc_proof::{Claim, Observable};

/// One part of a claim, shown.
#[derive(Debug, Clone)]
pub struct Certified {
    /// The claim.
    pub claim: Claim,
    /// Which part, and of how many.
    pub part: (u32, u32),
    /// The question as it was before any rewriting: `unsat`, or `sat` for a claim that something has a model.
    pub script: String,
    /// How it was settled.
    pub shown: Shown,
    /// What a defined source promises and this used.
    pub assumptions: Vec<Assumption>,
}

/// A region as the proof names it.
pub fn proof_region(region: &Region) -> metaloc_proof::Region {
    match region {
        Region::Global(symbol) => metaloc_proof::Region::Global { symbol: symbol.clone() },
        Region::Stack => metaloc_proof::Region::Stack,
        Region::Rest => metaloc_proof::Region::Rest,
    }
}

impl Search<'_> {
    /// All obligations of a product.
    pub fn certify(&mut self, product: &Product) -> Result<Vec<Certified>, Failure> {
        let mut certified = Vec::new();
        if self.options.required.has(Class::Precondition) {
            self.certify_entry(product, &mut certified)?;
        }
        for (number, edge) in product.edges.iter().enumerate() {
            self.check_limits()?;
            self.certify_edge(product, number as u32, edge, &mut certified)?;
        }
        for number in 0..product.nodes.len() {
            self.check_limits()?;
            self.certify_node(product, number, &mut certified)?;
        }
        Ok(certified)
    }

    fn certify_entry(&mut self, product: &Product, certified: &mut Vec<Certified>) -> Result<(), Failure> {
        let entry = &product.nodes[0];
        let invariants = entry.invariants(self.context.arena).ok_or_else(|| open("no state at the entry"))?;
        let mut given = self.context.facts.clone();
        for (left, right) in self.context.setting.precondition(self.context.arena) {
            given.push(equal(self.context.arena, left, right));
        }
        for (number, invariant) in invariants.iter().enumerate() {
            let shown = match self.context.at_entry(number, invariant)? {
                Outcome::Holds(shown) => shown,
                _ => return Err(open(format!("invariant {number} of the entry"))),
            };
            let (goal, memories) = match invariant {
                Invariant::Zero { condition, .. } => (*condition, None),
                Invariant::Bound(bound) => (bound.condition, None),
                Invariant::Equal(region) => {
                    let (left, right) = self.context.setting.memories(self.context.arena, region);
                    (anywhere(self.context.arena, left, right), Some(equal(self.context.arena, left, right)))
                }
            };
            let given: Vec<ExprId> = given.iter().copied().chain(memories).collect();
            certified.push(Certified {
                claim: Claim::Precondition { invariant: number as u32 },
                part: (0, 1),
                script: self.script(&given, goal),
                shown,
                assumptions: Vec::new(),
            });
        }
        Ok(())
    }

    fn certify_edge(
        &mut self,
        product: &Product,
        number: u32,
        edge: &Edge,
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let node = &product.nodes[edge.from];
        let mut triple = self
            .context
            .triple(node, &edge.step)
            .ok_or_else(|| open("an edge from where nothing is known"))?;
        let name = format!("proof edge {number}");
        let (given, goal) = (triple.given.clone(), triple.source.condition);
        let required = self.options.required;
        if required.has(Class::Correlation) {
            let shown = self.shown(&format!("{name} correlation"), &mut triple, &given, goal)?;
            certified.push(self.part(Claim::Correlation { edge: number }, &triple, &given, goal, shown));
        }
        if required.has(Class::Event) {
            self.certify_event(product, number, edge, (&mut triple, &given), certified)?;
        }
        let given: Vec<ExprId> = given.iter().copied().chain([goal]).collect();
        if required.has(Class::Preservation) {
            self.certify_preservation(product, number, edge, &mut triple, &given, certified)?;
        }
        if !required.has(Class::Access) {
            return Ok(());
        }
        let safe = self.safe(&triple)?;
        let shown = self.shown(&format!("{name} access"), &mut triple, &given, safe)?;
        certified.push(self.part(Claim::Access { edge: number }, &triple, &given, safe, shown));
        Ok(())
    }

    fn certify_preservation(
        &mut self,
        product: &Product,
        number: u32,
        edge: &Edge,
        triple: &mut Triple,
        given: &[ExprId],
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let invariants = product.nodes[edge.to]
            .invariants(self.context.arena)
            .ok_or_else(|| open("an end without a state"))?;
        // What is to be shown is fixed before any lemma: lemmas only help to show it.
        let mut whole = Vec::new();
        for invariant in &invariants {
            let goal = match invariant {
                Invariant::Equal(region) => {
                    let (source, machine) = self.context.setting.memories(self.context.arena, region);
                    let value =
                        |values: &super::walk::Values, id: ExprId| values.get(&id).copied().unwrap_or(id);
                    let source = value(&triple.source.values, source);
                    let machine = value(&triple.machine.values, machine);
                    anywhere(self.context.arena, source, machine)
                }
                other => match self.context.after(triple, other) {
                    Goal::Bits(bits) => and(self.context.arena, &bits),
                    Goal::Anywhere(bit) => bit,
                },
            };
            whole.push(goal);
        }
        let taking = self.taking(product, edge, 12);
        let name = format!("proof edge {number}");
        let left = self.goals(triple, given, &invariants, &taking, &name)?;
        // Memory apart from the rest: one question about arrays, one without.
        let mut needs_defined = std::collections::HashSet::new();
        for memory in [false, true] {
            let group = left
                .iter()
                .filter(|(number, _)| matches!(invariants[*number], Invariant::Equal(_)) == memory);
            let group: Vec<&(usize, Vec<ExprId>)> = group.collect();
            if group.is_empty() {
                continue;
            }
            let bits: Vec<ExprId> = group.iter().flat_map(|(_, bits)| bits.iter().copied()).collect();
            let all = and(self.context.arena, &bits);
            let (_, defined) = self.shown(&format!("{name} kept {memory}"), triple, given, all)?;
            if defined {
                needs_defined.extend(group.iter().map(|(number, _)| *number));
            }
        }
        for (invariant, goal) in whole.into_iter().enumerate() {
            let settled = !left.iter().any(|(open, _)| *open == invariant);
            let shown = if settled { Shown::Rewriting } else { Shown::Solver };
            let claim = Claim::Preservation { edge: number, invariant: invariant as u32 };
            certified.push(self.part(
                claim,
                triple,
                given,
                goal,
                (shown, needs_defined.contains(&invariant)),
            ));
        }
        Ok(())
    }

    /// The bit that is set if every access of the machine stays in its region and nothing faults.
    fn safe(&mut self, triple: &Triple) -> Result<ExprId, Failure> {
        let arena = &mut *self.context.arena;
        let abi = self.context.setting.problem.abi;
        let above = self.context.setting.bytes_above(arena);
        let mut bits = Vec::new();
        for requirement in &triple.machine.requirements {
            bits.push(implies(arena, requirement.when, requirement.what));
        }
        for access in &triple.machine.accesses {
            let inside = match &access.what.region {
                Region::Global(symbol) => {
                    let globals = &self.context.setting.problem.globals;
                    let global = globals.iter().find(|global| global.symbol == *symbol);
                    let Some(global) = global else {
                        return Err(open(format!(
                            "the machine uses `{symbol}`, which the source does not name"
                        )));
                    };
                    if access.what.write && !self.context.setting.problem.may_write(symbol) {
                        arena.constant(Bits::bit(false))
                    } else {
                        let start = abi.address(arena, symbol);
                        within(arena, &access.what, start, 0, global.size_bytes)
                    }
                }
                Region::Stack => {
                    let start = abi.entry_stack(arena);
                    within(arena, &access.what, start, FRAME_BYTES, u64::from(above))
                }
                Region::Rest => elsewhere(arena, self.context.setting, access, &triple.source.accesses),
            };
            bits.push(implies(arena, access.when, inside));
        }
        Ok(and(arena, &bits))
    }

    fn certify_node(
        &mut self,
        product: &Product,
        number: usize,
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let node = &product.nodes[number];
        let at = number as u32;
        let mut assumed =
            Assumed::new(self.context.arena, &mut self.context.normaliser, self.context.setting, node)
                .ok_or_else(|| open("a node without a state"))?;
        let given: Vec<ExprId> = assumed.bits.iter().chain(&self.context.facts).copied().collect();
        let raw: Vec<ExprId> = given.iter().copied().chain(self.memory_equalities(&assumed)).collect();
        let required = self.options.required;
        if required.has(Class::Satisfiable) {
            self.certify_satisfiable(at, &mut assumed, &given, &raw, certified)?;
        }
        if !required.has(if self.is_exit(product, number) { Class::Observable } else { Class::Coverage }) {
            return Ok(());
        }
        if self.is_exit(product, number) {
            return self.certify_exit(product, number, &mut assumed, &given, &raw, certified);
        }
        let mut ways = Vec::new();
        for edge in product.edges.iter().filter(|edge| edge.from == number) {
            ways.extend(self.context.triple(node, &edge.step).map(|triple| triple.machine.condition));
        }
        let goal = or(self.context.arena, &ways);
        let outcome =
            self.context.implied(&format!("proof node {at} coverage"), &mut assumed, &given, goal)?;
        let Outcome::Holds(shown) = outcome else { return Err(open(format!("coverage of node {at}"))) };
        certified.push(Certified {
            claim: Claim::Coverage { node: at },
            part: (0, 1),
            script: self.script(&raw, goal),
            shown,
            assumptions: Vec::new(),
        });
        Ok(())
    }

    fn is_exit(&self, product: &Product, number: usize) -> bool {
        self.context.setting.machine_anchors.is_exit(product.nodes[number].machine)
    }

    fn certify_satisfiable(
        &mut self,
        node: u32,
        assumed: &mut Assumed,
        given: &[ExprId],
        raw: &[ExprId],
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        match self.context.model(&format!("proof node {node} satisfiable"), assumed, given)? {
            Outcome::Fails(_) => {}
            Outcome::Holds(_) => {
                return Err(open(format!("the invariants of node {node} contradict each other")));
            }
            Outcome::Open(reason) => return Err(open(format!("whether node {node} has a model: {reason}"))),
        }
        certified.push(Certified {
            claim: Claim::Satisfiable { node },
            part: (0, 1),
            script: smtlib::script(self.context.arena, raw),
            shown: Shown::Solver,
            assumptions: Vec::new(),
        });
        Ok(())
    }

    fn certify_exit(
        &mut self,
        product: &Product,
        number: usize,
        assumed: &mut Assumed,
        given: &[ExprId],
        raw: &[ExprId],
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let node = number as u32;
        let setting = self.context.setting;
        let mut goals = Vec::new();
        for region in &setting.regions {
            let (source, machine) = setting.memories(self.context.arena, region);
            let goal = anywhere(self.context.arena, source, machine);
            goals.push((Observable::Memory { region: proof_region(region) }, goal));
        }
        let arena = &mut *self.context.arena;
        let mut kept = Vec::new();
        let abi = setting.problem.abi;
        for name in abi.callee_saved {
            let (now, then) = (abi.register(arena, name), abi.entry(arena, name));
            kept.push(equal(arena, now, then));
        }
        let (now, then) = (abi.register(arena, abi.stack_pointer), abi.entry_stack(arena));
        let popped = arena.sum(abi.word(u128::from(abi.word_bytes())), &[(1, then)]);
        kept.push(equal(arena, now, popped));
        goals.push((Observable::PreservedRegisters, and(arena, &kept)));
        if let Some(returned) = setting.problem.returned {
            let result = setting.problem.result(arena).ok_or_else(|| open("where the result is"))?;
            goals.push((Observable::ReturnValue, equal(arena, result, returned)));
        }
        for (what, goal) in goals {
            let name = format!("proof node {node} {what:?}");
            let Outcome::Holds(shown) = self.context.implied(&name, assumed, given, goal)? else {
                return Err(open(format!("{what:?} at the exit")));
            };
            certified.push(Certified {
                claim: Claim::Observable { node, what },
                part: (0, 1),
                script: self.script(raw, goal),
                shown,
                assumptions: Vec::new(),
            });
        }
        self.certify_return_address(product, number, certified)
    }

    /// Where the machine returns to is what was on the stack: shown on every edge to the exit.
    fn certify_return_address(
        &mut self,
        product: &Product,
        number: usize,
        certified: &mut Vec<Certified>,
    ) -> Result<(), Failure> {
        let claim = Claim::Observable { node: number as u32, what: Observable::ReturnAddress };
        let edges: Vec<&Edge> = product.edges.iter().filter(|edge| edge.to == number).collect();
        for (part, edge) in edges.iter().enumerate() {
            let node = &product.nodes[edge.from];
            let Some(mut triple) = self.context.triple(node, &edge.step) else { continue };
            let abi = self.context.setting.problem.abi;
            let target = self.context.arena.variable(RETURN_TARGET, Sort::Bits(abi.address_bits));
            let entry = abi.entry(self.context.arena, "return");
            let goal = equal(self.context.arena, target, entry);
            let goal = substituted(self.context.arena, &[&triple.machine.values], goal);
            let given = triple.given.clone();
            let shown = self.shown(&format!("proof return {number} {part}"), &mut triple, &given, goal)?;
            let mut whole = self.part(claim.clone(), &triple, &given, goal, shown);
            whole.part = (part as u32, edges.len() as u32);
            certified.push(whole);
        }
        Ok(())
    }

    /// Shows a goal on an edge; says how, and whether that needed a defined source.
    pub(super) fn shown(
        &mut self,
        name: &str,
        triple: &mut Triple,
        given: &[ExprId],
        goal: ExprId,
    ) -> Result<(Shown, bool), Failure> {
        match self.context.implied_if_defined(name, triple, given, goal)? {
            (Outcome::Holds(shown), defined) => Ok((shown, defined)),
            (Outcome::Fails(_), _) => Err(open(format!("{name} does not follow"))),
            (Outcome::Open(reason), _) => Err(open(format!("{name}: {reason}"))),
        }
    }

    pub(super) fn part(
        &mut self,
        claim: Claim,
        triple: &Triple,
        given: &[ExprId],
        goal: ExprId,
        (shown, defined): (Shown, bool),
    ) -> Certified {
        let mut raw: Vec<ExprId> = given.to_vec();
        raw.extend(self.memory_equalities(&triple.assumed));
        let mut assumptions = Vec::new();
        // Lemmas are shown for a defined source: whatever rests on them does, too.
        let (shown, defined) = match (triple.lemmas, triple.cases) {
            (true, _) => (Shown::Solver, true),
            (false, true) => (Shown::Solver, defined),
            (false, false) => (shown, defined),
        };
        if defined {
            raw.extend(&triple.defined);
            let promises = triple.source.assumptions.iter().chain(&triple.ahead);
            assumptions = promises.map(|guarded| guarded.what.clone()).collect();
        }
        Certified { claim, part: (0, 1), script: self.script(&raw, goal), shown, assumptions }
    }

    fn memory_equalities(&mut self, assumed: &Assumed) -> Vec<ExprId> {
        let pairs = assumed.memories.clone();
        pairs.into_iter().map(|(machine, source)| equal(self.context.arena, machine, source)).collect()
    }

    /// A question whose answer must be `unsat`. Bits that have nothing to do with the goal are left out.
    fn script(&mut self, given: &[ExprId], goal: ExprId) -> String {
        let asserted = self.context.about(given.to_vec(), goal);
        smtlib::script(self.context.arena, &asserted)
    }
}

fn open(what: impl Into<String>) -> Failure {
    Failure::Open(what.into())
}

/// The bit that is set if an access lies in `[start - below, start + size)`.
fn within(arena: &mut Arena, access: &Access, start: ExprId, below: u128, size: u64) -> ExprId {
    let Some(room) = (below + u128::from(size)).checked_sub(u128::from(access.bytes)) else {
        return arena.constant(Bits::bit(false));
    };
    let width_bits = arena.width_bits(start);
    let offset = arena.sum(Bits::new(width_bits, below), &[(1, access.address), (mask(width_bits), start)]);
    let room = arena.constant(Bits::new(width_bits, room));
    let beyond = arena.compare(CompareOp::Ult, room, offset);
    arena.not(beyond)
}

/// The bit that is set if an access to memory of unknown owner lies in a global, one that the source writes to if
/// this writes, or each of its words in one that the source reads or writes on the same edge.
fn elsewhere(
    arena: &mut Arena,
    setting: &super::problem::Setting,
    access: &Guarded<Access>,
    source: &[Guarded<Access>],
) -> ExprId {
    let mut ways = Vec::new();
    let open = |symbol: &str| !access.what.write || setting.problem.may_write(symbol);
    for global in setting.problem.globals.iter().filter(|global| open(&global.symbol)) {
        let start = setting.problem.abi.address(arena, &global.symbol);
        ways.push(within(arena, &access.what, start, 0, global.size_bytes));
    }
    let word_bytes = access.what.bytes.min(4);
    let mut words = Vec::new();
    for offset in (0..access.what.bytes).step_by(word_bytes as usize) {
        let start = setting.problem.abi.word(u128::from(offset));
        let address = arena.sum(start, &[(1, access.what.address)]);
        let word = Access { address, bytes: word_bytes, ..access.what.clone() };
        let mut touched = Vec::new();
        // What the machine writes, the source must write: another thread or a read-only page would notice.
        for other in source.iter().filter(|other| other.what.write || !access.what.write) {
            if other.what.region == access.what.region {
                let inside = within(arena, &word, other.what.address, 0, u64::from(other.what.bytes));
                touched.push(and(arena, &[other.when, inside]));
            }
        }
        words.push(or(arena, &touched));
    }
    ways.push(and(arena, &words));
    or(arena, &ways)
}
