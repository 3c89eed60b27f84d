//! From a proof to claims: for each pc and variable an expression over the machine's state that the prover accepts in
//! every part of the product graph in which the pc occurs.

use crate::claims::{Claim, FunctionClaims, VariableClaims, Verdict};
use crate::dwarf::read::FunctionCode;
use crate::echelon::{Rational, solve};
use crate::expression::depends_on_pc;
use crate::object::{Said, SaidVariable};
use crate::schedule::{
    Edge, MachineStep, Question, Scheduled, SourceStep, Synced, agree, is_told_by_reads, schedule, shared,
};
use metaloc_proof::form::{At, Change, Linear, PlaceForm};
use metaloc_proof::{Exact, Extend, Place, Sum, SumTerm, Term, Variable, Word};
use num_traits::{One, Zero};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Expressions that are put to the prover for one pc and variable, at most.
const MOST_CANDIDATES: usize = 8;

/// How far what holds at a node is spread: the paper's ablation (section V-B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// Only at the nodes.
    None,
    /// On to pcs where the places that it speaks of are as they were.
    Forward,
    /// And where they were changed by steps that can be undone.
    Reversible,
    /// And where other places hold what is needed, which is true at the next node.
    All,
}

impl Variant {
    fn allows(self, change: Change) -> bool {
        match self {
            Variant::None | Variant::Forward => change == Change::Kept,
            Variant::Reversible => change <= Change::Reversible,
            Variant::All => true,
        }
    }
}

/// A proved function that can be asked.
pub trait Proved {
    /// What may go wrong.
    type Error;
    /// Its instructions.
    fn instructions(&self) -> Vec<Range<u64>>;
    /// How wide addresses are.
    fn address_bits(&self) -> u32;
    /// Its variables.
    fn variables(&self) -> Vec<Variable>;
    /// Number of edges of the product graph.
    fn edges(&self) -> usize;
    /// Number of the node that an edge begins at.
    fn from(&self, edge: usize) -> usize;
    /// Whether an edge is a call of both programs; then its only position is the instruction that calls.
    fn is_call(&self, edge: usize) -> bool;
    /// Whether a register is kept by all that may be called.
    fn outlasts_calls(&self, register: &str) -> bool;
    /// Positions of the machine on an edge.
    fn machine(&self, edge: usize) -> Vec<MachineStep>;
    /// Whether the machine may write memory between the last position on an edge and its end.
    fn stores_at_end(&self, edge: usize) -> bool;
    /// Positions of the source on an edge.
    fn source(&self, edge: usize) -> Vec<SourceStep>;
    /// Whether a variable has a value at a position of the source.
    fn is_bound(&self, edge: usize, source: usize, variable: usize) -> bool;
    /// What a schedule asks.
    fn ask(&mut self, question: Question, at: At) -> Result<bool, Self::Error>;
    /// Positions of the machine whose instruction reads just what the source reads at a position.
    fn reads(&mut self, edge: usize) -> Result<Vec<(usize, usize)>, Self::Error>;
    /// What a variable and the machine's places are.
    fn forms(&mut self, at: At, variable: usize) -> Result<Option<(Linear, Vec<PlaceForm>)>, Self::Error>;
    /// Shows that a variable has a value.
    fn show(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, Self::Error>;
    /// Shows that a variable never has a value.
    fn refute(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, Self::Error>;
    /// Shows that on some run a variable does not have a value.
    fn contradict(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, Self::Error>;
}

/// Which points of the source the pcs of a function belong to: the same for all variants.
#[derive(Debug, Clone)]
pub struct Schedule {
    places: Occurrences,
    points: BTreeMap<u64, Vec<At>>,
}

impl Schedule {
    /// Asks for all of them.
    pub fn new<P: Proved>(proved: &mut P, said: &Said) -> Result<Schedule, P::Error> {
        let places = occurrences(proved, said)?;
        let points = points(&places);
        Ok(Schedule { places, points })
    }

    /// By pc, where its point of the source is known: where it occurs.
    pub fn points(&self) -> &BTreeMap<u64, Vec<At>> {
        &self.points
    }
}

/// What can be claimed of a function.
pub fn derive<P: Proved>(
    proved: &mut P,
    code: FunctionCode,
    said: &Said,
    Schedule { places, points }: &Schedule,
    variant: Variant,
) -> Result<FunctionClaims, P::Error> {
    let instructions = proved.instructions();
    let mut variables = Vec::new();
    for (number, variable) in proved.variables().into_iter().enumerate() {
        let mut claims = VariableClaims {
            name: variable.name.clone(),
            line: u64::from(variable.declared.line),
            column: u64::from(variable.declared.column),
            claims: BTreeMap::new(),
        };
        let mut matching = said.variables.iter().filter(|said| is_variable(said, &claims));
        let (Some(old), None) = (matching.next(), matching.next()) else { continue };
        let mut before: Option<Exact> = None;
        for instruction in &instructions {
            let pc = instruction.start;
            let Some(at) = points.get(&pc) else {
                before = None;
                continue;
            };
            let grouped = places[&pc].iter().flatten().any(|(_, found)| found.grouped);
            // A node of which the paper's first variant says something.
            let is_node = at.iter().any(|at| at.machine == 0);
            if variant == Variant::None && !is_node {
                continue;
            }
            if !at.iter().all(|at| proved.is_bound(at.edge, at.source, number)) {
                continue;
            }
            // While the callee runs a debugger shows what is said of the call, with the registers that it can tell.
            let calls = at.iter().any(|at| proved.is_call(at.edge));
            let said = old.value(pc, variable.width_bits);
            if let Some(value) = &said
                && (!calls || outlasts_calls(proved, value))
                && accepted(proved, at, number, value)?
            {
                claims.claims.insert(pc, Claim { is: Verdict::Confirmed, grouped });
                before = None;
                continue;
            }
            let allowed = if is_node { Variant::All } else { variant };
            let usable = Usable { variant: allowed, calls };
            let value = find(proved, at, (number, &variable), before.as_ref(), usable)?;
            let verdict = match (&value, said) {
                (Some(value), _) => Some(Verdict::Value(value.clone())),
                (None, Some(said)) if refuted(proved, at, number, &said)? => Some(Verdict::Refuted),
                (None, _) => None,
            };
            claims.claims.extend(verdict.map(|is| (pc, Claim { is, grouped })));
            before = value;
        }
        variables.push(claims);
    }
    Ok(FunctionClaims { code, instructions, variables })
}

/// The pcs whose point of the source is known wherever they occur. Where the line table says another line, a debugger
/// would show a line that a value is not about.
fn points(places: &Occurrences) -> BTreeMap<u64, Vec<At>> {
    let known = |all: &Vec<Option<(At, Scheduled)>>| -> Option<Vec<At>> {
        let mut found = Vec::new();
        for one in all {
            let (at, scheduled) = one.filter(|(_, found)| found.agrees)?;
            found.extend(scheduled.positions().map(|source| At { source, ..at }));
        }
        Some(found)
    };
    places.iter().filter_map(|(pc, all)| Some((*pc, known(all)?))).collect()
}

fn is_variable(said: &SaidVariable, claims: &VariableClaims) -> bool {
    let column = said.column.is_none_or(|column| claims.column == 0 || claims.column == column);
    said.name == claims.name && said.line == claims.line && column
}

/// By pc: positions on the product graph, if the point of the source is known there.
type Occurrences = BTreeMap<u64, Vec<Option<(At, Scheduled)>>>;

/// Where each pc occurs on the product graph, with the point of the source that it belongs to there.
fn occurrences<P: Proved>(proved: &mut P, said: &Said) -> Result<Occurrences, P::Error> {
    let mut all = Vec::new();
    for edge in 0..proved.edges() {
        all.push(scheduled(proved, said, edge, &Synced::new())?);
    }
    // The way back round a loop says more of the memories than the way out of it, which begins alike.
    for edge in 0..all.len() {
        let mut known = Synced::new();
        let steps = |proved: &P, edge| (proved.machine(edge), proved.source(edge));
        let own = steps(proved, edge);
        for other in (0..all.len()).filter(|other| proved.from(*other) == proved.from(edge)) {
            let theirs = steps(proved, other);
            known.extend(shared((&theirs.0, &theirs.1), &all[other], (&own.0, &own.1)));
        }
        let synced = |machine: usize| all[edge][machine].and_then(|found| found.synced);
        if known.iter().any(|(machine, source)| synced(*machine) != Some(*source)) {
            all[edge] = scheduled(proved, said, edge, &known)?;
        }
    }
    for node in (0..all.len()).map(|edge| proved.from(edge)).collect::<BTreeSet<_>>() {
        let own: Vec<usize> = (0..all.len()).filter(|edge| proved.from(*edge) == node).collect();
        let mut edges: Vec<Edge> = own
            .iter()
            .map(|edge| Edge {
                machine: proved.machine(*edge),
                source: proved.source(*edge),
                found: all[*edge].clone(),
            })
            .collect();
        agree(&mut edges);
        for (edge, agreed) in own.into_iter().zip(edges) {
            all[edge] = agreed.found;
        }
    }
    let mut found = Occurrences::new();
    for (edge, points) in all.into_iter().enumerate() {
        for (machine, (step, point)) in proved.machine(edge).iter().zip(points).enumerate() {
            let occurrence = point.map(|point| (At { edge, machine, source: point.source }, point));
            found.entry(step.pc).or_default().push(occurrence);
        }
    }
    Ok(found)
}

/// The points of one edge.
fn scheduled<P: Proved>(
    proved: &mut P,
    said: &Said,
    edge: usize,
    known: &Synced,
) -> Result<Vec<Option<Scheduled>>, P::Error> {
    let (machine, source) = (proved.machine(edge), proved.source(edge));
    let at_end = proved.stores_at_end(edge);
    let reads = if is_told_by_reads(&source) { proved.reads(edge)? } else { Vec::new() };
    schedule((&machine, at_end), (&source, &reads), (&said.rows, known), |question, machine, source| {
        proved.ask(question, At { edge, machine, source })
    })
}

fn accepted<P: Proved>(proved: &mut P, at: &[At], variable: usize, value: &Exact) -> Result<bool, P::Error> {
    for at in at {
        if !proved.show(*at, variable, value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a value is shown to be wrong: wherever the pc occurs, so that it is wrong whenever the program gets there, or
/// on some run, so that nobody can rely on it.
fn refuted<P: Proved>(proved: &mut P, at: &[At], variable: usize, value: &Exact) -> Result<bool, P::Error> {
    let mut never = !at.is_empty();
    for at in at {
        never = never && proved.refute(*at, variable, value)?;
    }
    if never {
        return Ok(true);
    }
    // An instruction that belongs to several points of the source may be about any of them.
    for occurrence in at.chunk_by(|left, right| (left.edge, left.machine) == (right.edge, right.machine)) {
        let mut always = true;
        for at in occurrence {
            always = always && proved.contradict(*at, variable, value)?;
        }
        if always {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which places an expression may name.
#[derive(Debug, Clone, Copy)]
struct Usable {
    variant: Variant,
    /// Only those that a callee keeps.
    calls: bool,
}

/// Whether a debugger knows a value of the caller while a callee runs: nothing else than registers that it keeps is in it.
/// An address is written as a distance from the pc, which a debugger has as that of the return.
fn outlasts_calls<P: Proved>(proved: &P, value: &Exact) -> bool {
    value.sum.terms.iter().all(|term| is_kept(proved, &term.term))
}

fn is_kept<P: Proved>(proved: &P, term: &Term) -> bool {
    match term {
        Term::Machine { place: Place::Register { name, .. } } => proved.outlasts_calls(name),
        _ => false,
    }
}

/// An expression that the prover accepts everywhere.
fn find<P: Proved>(
    proved: &mut P,
    at: &[At],
    (number, variable): (usize, &Variable),
    before: Option<&Exact>,
    usable: Usable,
) -> Result<Option<Exact>, P::Error> {
    let mut forms = Vec::new();
    for at in at {
        match proved.forms(*at, number)? {
            Some((form, mut places)) => {
                places.retain(|place| !usable.calls || is_kept(proved, &place.term));
                forms.push((form, places));
            }
            None => return Ok(None),
        }
    }
    let mut tried = Vec::new();
    for solution in solutions(&forms, before, usable.variant) {
        for value in expressions(&solution, variable, proved.address_bits()) {
            if tried.contains(&value) {
                continue;
            }
            if tried.len() == MOST_CANDIDATES {
                return Ok(None);
            }
            if accepted(proved, at, number, &value)? {
                return Ok(Some(value));
            }
            tried.push(value);
        }
    }
    Ok(None)
}

/// Coefficients of places, and a constant.
type Solution = (Vec<(Term, Rational)>, Rational);

/// Solutions that hold in all forms, the shortest first; one with the places of the expression before it, first of all.
fn solutions(forms: &[(Linear, Vec<PlaceForm>)], before: Option<&Exact>, variant: Variant) -> Vec<Solution> {
    let Some((_, first)) = forms.first() else { return Vec::new() };
    // Places that every form has, in the state that the variant allows.
    let usable: Vec<&Term> = first
        .iter()
        .map(|place| &place.term)
        .filter(|term| {
            forms.iter().all(|(_, places)| {
                places.iter().any(|place| place.term == **term && variant.allows(place.change))
            })
        })
        .collect();
    let registers: Vec<&Term> = usable.iter().copied().filter(|term| !is_address(term)).collect();
    let addresses: Vec<&Term> = usable.iter().copied().filter(|term| is_address(term)).collect();
    let mut sets: Vec<Vec<&Term>> = vec![Vec::new()];
    if let Some(before) = before {
        let named: Vec<Term> = before.sum.terms.iter().map(|term| whole(&term.term)).collect();
        sets.push(usable.iter().copied().filter(|term| named.contains(&whole(term))).collect());
    }
    sets.extend(registers.iter().map(|register| vec![*register]));
    for register in &registers {
        sets.extend(addresses.iter().map(|address| vec![*register, *address]));
    }
    for (number, left) in registers.iter().enumerate() {
        sets.extend(registers[..number].iter().map(|right| vec![*left, *right]));
    }
    sets.push(registers.clone());
    sets.push(usable.clone());
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for set in sets {
        let Some(solution) = solution(forms, &set) else { continue };
        let key = format!("{solution:?}");
        if seen.insert(key) {
            found.push(solution);
        }
        if found.len() > 2 * MOST_CANDIDATES {
            break;
        }
    }
    found
}

fn is_address(term: &Term) -> bool {
    matches!(term, Term::Address { .. })
}

/// A register whatever part of it is meant.
fn whole(term: &Term) -> Term {
    match term {
        Term::Machine { place: Place::Register { name, .. } } => {
            Term::Machine { place: Place::Register { name: name.clone(), low_bit: 0, width_bits: 0 } }
        }
        other => other.clone(),
    }
}

fn solution(forms: &[(Linear, Vec<PlaceForm>)], set: &[&Term]) -> Option<Solution> {
    let (mut matrix, mut right) = (Vec::new(), Vec::new());
    for (target, places) in forms {
        let columns: Vec<&Linear> = set
            .iter()
            .map(|term| places.iter().find(|place| place.term == **term).map(|place| &place.form))
            .collect::<Option<_>>()?;
        let mut parts: BTreeSet<u64> = target.terms.keys().copied().collect();
        parts.extend(columns.iter().flat_map(|column| column.terms.keys().copied()));
        for part in parts {
            let of = |form: &Linear| Rational::from_integer(form.terms.get(&part).copied().unwrap_or(0));
            matrix.push(columns.iter().map(|column| of(column)).chain([Rational::zero()]).collect());
            right.push(of(target));
        }
        let constant = |form: &Linear| Rational::from_integer(form.constant);
        matrix.push(columns.iter().map(|column| constant(column)).chain([Rational::one()]).collect());
        right.push(constant(target));
    }
    let mut solved = solve(&matrix, &right)?;
    let constant = solved.pop()?;
    let terms = set.iter().zip(solved).filter(|(_, factor)| !factor.is_zero());
    Some((terms.map(|(term, factor)| ((*term).clone(), factor)).collect(), constant))
}

/// A solution as expressions that may be exact, the plainest first.
fn expressions((terms, constant): &Solution, variable: &Variable, address_bits: u32) -> Vec<Exact> {
    let divisor = terms.iter().map(|(_, factor)| *factor.denom()).chain([*constant.denom()]).try_fold(
        1i128,
        |all, next| {
            let common = gcd(all, next);
            (all / common).checked_mul(next)
        },
    );
    let Some(divisor) = divisor.filter(|divisor| *divisor < 1 << 31) else { return Vec::new() };
    let word = |number: Rational, width_bits: u32| {
        let scaled = *(number * Rational::from_integer(divisor)).numer();
        Word(scaled as u128 & (u128::MAX >> (128 - width_bits)))
    };
    let width_of = |term: &Term| match term {
        Term::Machine { place } => place.width_bits(),
        _ => address_bits,
    };
    let build = |width_bits: u32, signed: bool| -> Option<Exact> {
        let mut sum = Sum { width_bits, terms: Vec::new(), constant: word(*constant, width_bits) };
        for (term, factor) in terms {
            let coefficient = word(*factor, width_bits);
            if coefficient.0 == 0 {
                continue;
            }
            let (term, extend) = match term {
                Term::Machine { place: Place::Register { name, .. } } if width_of(term) > width_bits => {
                    let place = Place::Register { name: name.clone(), low_bit: 0, width_bits };
                    (Term::Machine { place }, Extend::None)
                }
                term if width_of(term) > width_bits => (term.clone(), Extend::Truncate),
                term if width_of(term) == width_bits => (term.clone(), Extend::None),
                _ => return None,
            };
            sum.terms.push(SumTerm { coefficient, term, extend });
        }
        Some(Exact { sum, divisor: Word(divisor as u128), signed })
    };
    let wide = terms.iter().map(|(term, _)| width_of(term)).max().unwrap_or(variable.width_bits);
    if divisor == 1 {
        return build(variable.width_bits.min(wide), variable.signed).into_iter().collect();
    }
    // By a shift both are written, the unsigned one of narrow registers in fewer operations; divisions are signed.
    let kinds = if wide < 64 && divisor.count_ones() == 1 { [false, true] } else { [true, false] };
    kinds.iter().filter_map(|signed| build(wide, *signed)).collect()
}

fn gcd(left: i128, right: i128) -> i128 {
    if right == 0 { left.abs() } else { gcd(right, left % right) }
}

/// Whether a claim needs an expression of its own at each pc.
pub fn is_per_pc(claim: &Claim) -> bool {
    matches!(&claim.is, Verdict::Value(value) if depends_on_pc(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_proof::SourceLocation;

    #[test]
    fn an_address_is_as_wide_as_the_machine_s() {
        let declared = SourceLocation { file: "t.c".into(), line: 1, column: 1 };
        let pointer = |width_bits| Variable {
            id: 0,
            name: "p".into(),
            declared: declared.clone(),
            width_bits,
            signed: false,
        };
        let address = (vec![(Term::Address { symbol: "a".into() }, Rational::one())], Rational::zero());
        let written = |width_bits, address_bits| {
            let found = expressions(&address, &pointer(width_bits), address_bits);
            let [value] = &found[..] else { panic!("{found:?}") };
            (value.sum.width_bits, value.sum.terms[0].extend)
        };
        assert_eq!(written(32, 32), (32, Extend::None));
        assert_eq!(written(64, 64), (64, Extend::None));
        assert_eq!(written(32, 64), (32, Extend::Truncate));
    }
}
