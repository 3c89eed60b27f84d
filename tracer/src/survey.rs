//! Of all pairs of a loop counter and an address in an innermost loop: where does a debugger show a true value, where a
//! wrong one, where nothing?
//!
//! This needs no proof. The machine's loop is matched with the source's: at the first arrivals at its header the globals
//! are compared, byte for byte, with those of the unoptimised program at each visit of the loop's condition; where that
//! leaves several answers (a sum stores nothing), the iterations of both programs are counted to the end. One machine
//! iteration then covers the visits c to c + f of the source, and a printed value is true if the counter has it at one
//! of them. That is generous to what is printed: within an iteration nothing is called stale.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::Result;
use crate::code::{Loop, innermost_loops};
use crate::debugger::Debugger;
use crate::program::{Function, Point, Program};
use crate::protocol::{Stop, Want};
use crate::session::{Limits, Moved, Session};
use crate::source_loops::SourceLoop;
use crate::truth::{self, Truth};
use crate::value::{Value, lookup};

/// Arrivals at a header that are looked at, one after the other; one less is the number of whole iterations.
const ARRIVALS: usize = 4;
/// Arrivals altogether: an inner loop may be left after few iterations when it is come to first, and an iteration may
/// pass by some of its code.
const MOST_ARRIVALS: usize = 24;
/// Source iterations that one of the machine may cover: small numbers are tried first, for each visit is a stop.
const STRIDES: [usize; 4] = [8, 16, 40, 128];

/// What a debugger shows of a counter at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shown {
    /// A value that the counter has in this iteration, at every stop.
    True,
    /// At some stop a value that it does not have.
    Wrong,
    /// Never a value.
    Nothing,
    /// The address was not reached.
    Unreached,
    /// A value; the iterations of the two programs could not be matched.
    Unmatched,
}

/// A counter at an address of an innermost loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Header of the machine's loop.
    pub header: u64,
    /// The address.
    pub pc: u64,
    /// The counter.
    pub counter: String,
    /// Line of its loop.
    pub line: u32,
    /// What is shown.
    pub shown: Shown,
    /// A wrong value and what it could be, if there is one.
    pub example: Option<(Value, Vec<i128>)>,
}

/// How loops were matched, for a program of the same code with other debug information. The unoptimised program has to be
/// the same, too.
#[derive(Default)]
pub struct Matches {
    code: Option<Function>,
    known: Vec<Met>,
}

/// A loop with the loop of the source that it was matched with, if it was.
struct Met {
    header: u64,
    line: u32,
    /// Memories.
    arrivals: Vec<Vec<u64>>,
    matched: Option<Rc<Matched>>,
}

/// Surveys a function of an optimised program. `globals` are those that it may change; what `matches` has of the same code
/// is not found out again.
pub fn survey(
    debugger: &dyn Debugger,
    (optimised, unoptimised): (&Program, &Program),
    function: &str,
    loops: &[SourceLoop],
    globals: &[String],
    limits: Limits,
    matches: &mut Matches,
) -> Result<Vec<Pair>> {
    let code = optimised.function(function)?;
    if matches.code.as_ref() != Some(code) {
        *matches = Matches { code: Some(code.clone()), known: Vec::new() };
    }
    let mut pairs = Vec::new();
    let machine = innermost_loops(code, optimised.word_bytes());
    let observed = observe(debugger, optimised, code, &machine, globals, limits)?;
    for (one, seen) in machine.iter().zip(observed) {
        let Some(source) = source_of(optimised, code, one, loops) else { continue };
        let counters: Vec<&SourceLoop> = loops.iter().filter(|other| encloses(other, source)).collect();
        let problem = Problem { debugger, optimised, unoptimised, function, globals, limits };
        let arrivals: Vec<Vec<u64>> = run(&seen).iter().map(|one| one.memory.clone()).collect();
        let (header, line) = (one.header, source.line);
        let is_it = |known: &&Met| (known.header, known.line) == (header, line) && known.arrivals == arrivals;
        let matched = match matches.known.iter().find(is_it) {
            Some(known) => known.matched.clone(),
            None => {
                let matched = problem.matched(one, source, &arrivals)?.map(Rc::new);
                matches.known.push(Met { header, line, arrivals, matched: matched.clone() });
                matched
            }
        };
        for counter in counters {
            pairs.extend(one.pcs.iter().map(|pc| pair(one, *pc, counter, &seen, matched.as_deref())));
        }
    }
    Ok(pairs)
}

/// Adds what another run of the function shows, whose addresses `moved` makes those of the first: a value that is wrong in
/// one of them is wrong, and what one run does not come to, or cannot be judged in it, another may.
pub fn also(pairs: &mut [Pair], others: &[Pair], moved: impl Fn(u64) -> u64) {
    let rank = |shown| match shown {
        Shown::Unreached => 0,
        Shown::Unmatched => 1,
        Shown::True => 2,
        Shown::Nothing => 3,
        Shown::Wrong => 4,
    };
    for other in others {
        let key = (moved(other.header), moved(other.pc), &other.counter, other.line);
        let known = pairs.iter_mut().find(|pair| (pair.header, pair.pc, &pair.counter, pair.line) == key);
        if let Some(known) = known.filter(|known| rank(other.shown) > rank(known.shown)) {
            (known.shown, known.example) = (other.shown, other.example.clone());
        }
    }
}

/// One pass through a machine loop: the stops from one arrival at the header to the next.
#[derive(Debug, Default)]
struct Iteration {
    /// Memory at the header.
    memory: Vec<u64>,
    stops: Vec<Stop>,
    /// The program was seen outside of the loop since.
    left: bool,
    /// The next one follows it without leaving the loop.
    whole: bool,
}

/// The first iterations of each loop.
fn observe(
    debugger: &dyn Debugger,
    program: &Program,
    function: &Function,
    loops: &[Loop],
    globals: &[String],
    limits: Limits,
) -> Result<Vec<Vec<Iteration>>> {
    let mut session = Session::start(debugger, program, &[], limits)?;
    session.watch(&truth::ranges(program, globals)?)?;
    let inside: BTreeMap<u64, usize> = loops
        .iter()
        .enumerate()
        .flat_map(|(number, one)| one.pcs.iter().map(move |pc| (*pc, number)))
        .collect();
    let mut open: BTreeSet<usize> = (0..loops.len()).collect();
    let mut seen: Vec<Vec<Iteration>> = loops.iter().map(|_| Vec::new()).collect();
    let exits: Vec<u64> = exits(function, program.word_bytes(), loops);
    session.break_at(&inside.keys().copied().chain(exits.iter().copied()).collect::<Vec<_>>())?;
    while !open.is_empty() {
        let Moved::Stopped(stop) = session.resume(Want { variables: true, memory: false })? else { break };
        let here = inside.get(&stop.pc).copied();
        for (_, iterations) in seen.iter_mut().enumerate().filter(|(number, _)| here != Some(*number)) {
            if let Some(last) = iterations.last_mut() {
                last.left = true;
            }
        }
        let Some(number) = here else { continue };
        let iterations = &mut seen[number];
        if stop.pc == loops[number].header {
            if let Some(last) = iterations.last_mut() {
                last.whole = !last.left;
            }
            let memory = session.look(Want { variables: false, memory: true })?.memory;
            iterations.push(Iteration { memory, ..Iteration::default() });
        }
        if let Some(last) = iterations.last_mut() {
            last.stops.push(stop);
        }
        let one = run(iterations);
        let passed = |pc: &u64| one.iter().any(|one| one.stops.iter().any(|stop| stop.pc == *pc));
        let all = one.len() >= ARRIVALS && loops[number].pcs.iter().all(passed);
        if (all || iterations.len() >= MOST_ARRIVALS) && open.remove(&number) {
            let pcs: Vec<u64> = loops[number].pcs.iter().copied().collect();
            session.remove(&pcs)?;
        }
    }
    Ok(seen)
}

/// The addresses that follow a loop directly.
fn exits(function: &Function, word_bytes: u32, loops: &[Loop]) -> Vec<u64> {
    let edges = crate::code::flow(function, word_bytes);
    let leaves = |one: &Loop| -> Vec<u64> {
        let to = one.pcs.iter().flat_map(|pc| edges.get(pc).into_iter().flatten());
        to.copied().filter(|to| !one.pcs.contains(to)).collect()
    };
    let found: BTreeSet<u64> = loops.iter().flat_map(leaves).collect();
    let inside = |pc: &u64| loops.iter().any(|one| one.pcs.contains(pc));
    found.into_iter().filter(|pc| !inside(pc)).collect()
}

/// The source loop that most rows of a machine loop are in, the innermost one.
fn source_of<'l>(
    program: &Program,
    function: &Function,
    one: &Loop,
    loops: &'l [SourceLoop],
) -> Option<&'l SourceLoop> {
    let rows = program.rows_of(function);
    let mut votes = BTreeMap::<u32, (usize, &SourceLoop)>::new();
    for pc in &one.pcs {
        let row = rows[..rows.partition_point(|row| row.pc <= *pc)].last();
        let Some(line) = row.map(|row| row.point.line).filter(|line| *line > 0) else { continue };
        let holding = loops.iter().filter(|other| other.has_line(line));
        if let Some(inner) = holding.min_by_key(|other| other.last_line - other.line) {
            votes.entry(inner.line).or_insert((0, inner)).0 += 1;
        }
    }
    // What is only about the outer loop (its counting) may be in the inner one's code as well.
    votes.into_values().max_by_key(|(count, inner)| (*count, inner.line)).map(|(_, inner)| inner)
}

fn encloses(outer: &SourceLoop, inner: &SourceLoop) -> bool {
    outer.line <= inner.line && inner.last_line <= outer.last_line
}

/// Both programs of a survey.
struct Problem<'a> {
    debugger: &'a dyn Debugger,
    optimised: &'a Program,
    unoptimised: &'a Program,
    function: &'a str,
    globals: &'a [String],
    limits: Limits,
}

/// Which visits of the source an iteration of the machine covers, and the counters there.
struct Matched {
    /// For each iteration that is looked at, its first visit.
    begins: Vec<usize>,
    stride: usize,
    visits: Vec<truth::Step>,
}

impl Problem<'_> {
    fn matched(&self, one: &Loop, source: &SourceLoop, arrivals: &[Vec<u64>]) -> Result<Option<Matched>> {
        if arrivals.is_empty() {
            return Ok(None);
        }
        let Some(condition) = self.point(source.condition)? else { return Ok(None) };
        let points = [condition];
        let (function, limits) = (self.function, self.limits);
        let mut truth =
            Truth::start(self.debugger, self.unoptimised, &[], function, &points, self.globals, limits)?;
        let arrivals: Vec<&[u64]> = arrivals.iter().map(Vec::as_slice).collect();
        let mut visits = Vec::new();
        let mut fits = Vec::new();
        for most in STRIDES {
            walk(&mut truth, arrivals.len() * most + 1, &mut visits)?;
            fits = fitting(&arrivals, &visits, 1..=most);
            if !fits.is_empty() {
                break;
            }
        }
        if fits.len() > 1
            && let Some(stride) = self.counted(one, source, condition)?
        {
            walk(&mut truth, arrivals.len() * stride + 1, &mut visits)?;
            fits = fitting(&arrivals, &visits, stride..=stride);
        }
        // Of equal strides the earliest: nothing has been done yet when a loop is come to.
        let strides: BTreeSet<usize> = fits.iter().map(|fit| fit.1).collect();
        let fit = fits.into_iter().min().filter(|_| strides.len() == 1);
        Ok(fit.map(|(begin, stride)| Matched {
            begins: (0..arrivals.len()).map(|number| begin + number * stride).collect(),
            stride,
            visits,
        }))
    }

    /// Source iterations for each of the machine's, over the whole run; none if that is no number of iterations.
    fn counted(&self, one: &Loop, source: &SourceLoop, condition: Point) -> Result<Option<usize>> {
        let Some(first) = self.point(source.first)? else { return Ok(None) };
        let places = truth::places(self.unoptimised, self.function)?;
        let mut session = Session::start(self.debugger, self.unoptimised, &[], self.limits)?;
        let of_source = session.count(&[places[&condition], places[&first]])?;
        let mut session = Session::start(self.debugger, self.optimised, &[], self.limits)?;
        let of_machine = session.count(&[one.header])?;
        let (Some(iterations), arrivals) = (of_source[0].checked_sub(of_source[1]), of_machine[0]) else {
            return Ok(None);
        };
        let stride = iterations.checked_div(arrivals).unwrap_or(0);
        // With fewer arrivals than iterations in one, what is left over could hide another number.
        Ok((stride > 0 && arrivals > stride).then_some(stride as usize))
    }

    /// The first point of a clause that has code.
    fn point(&self, clause: (Point, Point)) -> Result<Option<Point>> {
        let places = truth::places(self.unoptimised, self.function)?;
        Ok(places.range(clause.0..clause.1).next().map(|(point, _)| *point))
    }
}

/// Walks until there are so many visits of the one point that is walked, or the program ends.
fn walk(truth: &mut Truth<'_>, wanted: usize, visits: &mut Vec<truth::Step>) -> Result<()> {
    let is_visit = |step: &&truth::Step| step.point.is_some();
    let mut number = truth.steps().len();
    while truth.steps().iter().filter(is_visit).count() < wanted {
        if truth.step(number)?.is_none() {
            break;
        }
        number += 1;
    }
    *visits = truth.steps().iter().filter(is_visit).cloned().collect();
    Ok(())
}

/// The most iterations that follow each other, the first of as many, with the arrival that ends them.
fn run(seen: &[Iteration]) -> &[Iteration] {
    let runs = seen.split_inclusive(|one| !one.whole);
    runs.fold(&[], |longest, run| if run.len() > longest.len() { run } else { longest })
}

/// Beginnings and strides for which memory is the same at every arrival.
fn fitting(
    arrivals: &[&[u64]],
    visits: &[truth::Step],
    strides: std::ops::RangeInclusive<usize>,
) -> Vec<(usize, usize)> {
    let same = |visit: usize, memory: &[u64]| visits.get(visit).is_some_and(|step| step.memory == memory);
    let mut found = Vec::new();
    for begin in (0..visits.len()).filter(|begin| same(*begin, arrivals[0])) {
        let found_here = strides.clone().filter(|stride| {
            arrivals.iter().enumerate().all(|(number, memory)| same(begin + number * stride, memory))
        });
        found.extend(found_here.map(|stride| (begin, stride)));
    }
    // One arrival alone says nothing about the stride.
    if arrivals.len() < 2 { Vec::new() } else { found }
}

fn pair(one: &Loop, pc: u64, counter: &SourceLoop, seen: &[Iteration], matched: Option<&Matched>) -> Pair {
    let declared = if counter.declares { counter.line } else { 0 };
    let mut result = Pair {
        header: one.header,
        pc,
        counter: counter.counter.clone(),
        line: counter.line,
        shown: Shown::Unreached,
        example: None,
    };
    for (number, iteration) in run(seen).iter().enumerate() {
        for stop in iteration.stops.iter().filter(|stop| stop.pc == pc) {
            let printed = lookup(&stop.variables, &counter.counter, declared);
            let shown = match (printed.integer(), matched) {
                (None, _) => Shown::Nothing,
                (Some(_), None) => Shown::Unmatched,
                (Some(value), Some(matched)) => {
                    let possible = matched.possible(number, counter, declared);
                    if possible.contains(&value) {
                        Shown::True
                    } else {
                        result.example.get_or_insert((printed.clone(), possible));
                        Shown::Wrong
                    }
                }
            };
            result.shown = worse(result.shown, shown);
        }
    }
    result
}

/// What an address shows altogether: one wrong value is enough, and nothing at some stops is not a value.
fn worse(before: Shown, now: Shown) -> Shown {
    let rank = |shown| match shown {
        Shown::Unreached => 0,
        Shown::True => 1,
        Shown::Nothing => 2,
        Shown::Unmatched => 3,
        Shown::Wrong => 4,
    };
    if rank(now) > rank(before) { now } else { before }
}

impl Matched {
    /// What the counter is at the visits that an iteration covers.
    fn possible(&self, iteration: usize, counter: &SourceLoop, declared: u32) -> Vec<i128> {
        let begin = self.begins[iteration];
        let covered = begin..=(begin + self.stride).min(self.visits.len().saturating_sub(1));
        let steps = self.visits.get(covered).unwrap_or_default();
        steps
            .iter()
            .filter_map(|step| lookup(&step.variables, &counter.counter, declared).integer())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(memory: u64) -> truth::Step {
        truth::Step { point: None, call: 0, variables: Vec::new(), memory: vec![memory] }
    }

    #[test]
    fn memory_tells_the_stride() {
        let visits: Vec<truth::Step> = (0..100).map(step).collect();
        let arrivals = |memory: &[u64]| memory.iter().map(|one| vec![*one]).collect::<Vec<_>>();
        let of = |memory: &[u64]| {
            fitting(&arrivals(memory).iter().map(|one| &**one).collect::<Vec<_>>(), &visits, 1..=40)
        };
        assert_eq!(of(&[0, 8, 16, 24]), [(0, 8)]);
        assert_eq!(of(&[3, 4, 5]), [(3, 1)]);
        assert_eq!(of(&[0, 8, 17]), []);
        assert_eq!(of(&[0]), [], "one arrival is not enough");
        let same: Vec<truth::Step> = (0..100).map(|_| step(0)).collect();
        assert!(
            fitting(&[&[0], &[0], &[0]], &same, 1..=8).len() > 1,
            "a loop that stores nothing fits everywhere"
        );
    }

    #[test]
    fn a_loop_that_is_left_early_at_first_is_looked_at_later() {
        let iterations: Vec<Iteration> = [false, true, false, true, true, false]
            .iter()
            .enumerate()
            .map(|(number, whole)| Iteration {
                memory: vec![number as u64],
                whole: *whole,
                ..Iteration::default()
            })
            .collect();
        let numbers = |seen: &[Iteration]| run(seen).iter().map(|one| one.memory[0]).collect::<Vec<_>>();
        assert_eq!(numbers(&iterations), [3, 4, 5]);
        assert_eq!(numbers(&iterations[..3]), [1, 2]);
        assert_eq!(numbers(&iterations[..1]), [0]);
        assert_eq!(numbers(&[]), [0; 0]);
    }

    #[test]
    fn another_run_may_come_to_what_one_did_not() {
        let pair = |pc, shown| Pair { header: 8, pc, counter: "i".into(), line: 3, shown, example: None };
        let run = |base: u64, shown: [Shown; 4]| -> Vec<Pair> {
            let pairs = shown.into_iter().zip(8..).map(|(shown, pc)| pair(pc + base, shown));
            pairs.map(|pair| Pair { header: 8 + base, ..pair }).collect()
        };
        let mut first = run(0, [Shown::Unreached, Shown::True, Shown::Nothing, Shown::Unmatched]);
        let second = run(100, [Shown::True, Shown::Wrong, Shown::True, Shown::Unreached]);
        also(&mut first, &second, |address| address - 100);
        assert_eq!(first, run(0, [Shown::True, Shown::Wrong, Shown::Nothing, Shown::Unmatched]));
        also(&mut first, &second, |address| address);
        assert_eq!(first.len(), 4, "what is at other addresses is not another pair's");
    }

    #[test]
    fn one_wrong_stop_is_enough() {
        assert_eq!(worse(Shown::True, Shown::Wrong), Shown::Wrong);
        assert_eq!(worse(Shown::Wrong, Shown::True), Shown::Wrong);
        assert_eq!(worse(Shown::True, Shown::Nothing), Shown::Nothing);
        assert_eq!(worse(Shown::Unreached, Shown::True), Shown::True);
    }
}
