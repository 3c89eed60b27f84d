//! The walk of an unoptimised build: what every variable really is at each visit of a source point.
//!
//! Only the points that are asked about are stopped at, and only as far as is asked. A point may have code in
//! several places; it is visited where the first of them is, by address.
//!
//! A long way in a loop may be [passed over](Truth::pass): then there are no steps of it, and the step after it has the next
//! number. Nobody asks for visits from before such a gap to behind it.
//!
//! Invariant: a walk that ends before its program says why ([`Truth::early`]).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::debugger::Debugger;
use crate::program::{Point, Program};
use crate::protocol::Want;
use crate::session::{Limits, Moved, Session};
use crate::value::Variable;
use crate::{Error, Result};

/// The program at a source point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The point; none at the entry of the function.
    pub point: Option<Point>,
    /// Which call of the function, from 0.
    pub call: usize,
    /// All variables of the frame.
    pub variables: Vec<Variable>,
    /// A digest of each watched global.
    pub memory: Vec<u64>,
}

/// The walk through one function of an unoptimised program.
#[derive(Debug)]
pub struct Truth<'a> {
    program: &'a Program,
    session: Session,
    entry: u64,
    points: BTreeMap<u64, Point>,
    steps: Vec<Step>,
    calls: usize,
    /// Calls of which steps are missing.
    gaps: BTreeSet<usize>,
    ended: bool,
    want: Want,
    most_steps: usize,
    deadline: Option<Instant>,
    early: Option<Early>,
    strays: u32,
}

/// Why a walk was not followed to the end of its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Early {
    /// There were as many steps, or stops, as were asked for.
    Enough,
    /// Time was up.
    Time,
    /// A signal ended the program.
    Killed(i64),
    /// The program stopped again and again where nobody had asked it to; the last of these addresses.
    Stray(u64),
}

impl std::fmt::Display for Early {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Early::Enough => write!(f, "enough was seen"),
            Early::Time => write!(f, "time was up"),
            Early::Killed(signal) => write!(f, "signal {signal} ended the program"),
            Early::Stray(pc) => write!(f, "stops that nobody asked for, the last at {pc:#x}"),
        }
    }
}

/// Fewer visits are walked: to take breakpoints out and to put them back costs stops, too.
const MANY: u32 = 16;

/// Stops that nobody asked for (signals), after which a walk just goes on, at most.
pub const MOST_STRAYS: u32 = 16;

impl<'a> Truth<'a> {
    /// A walk that stops at these points of a function. An error if the line table has none of one of them: see
    /// [`places`].
    pub fn start(
        debugger: &dyn Debugger,
        program: &'a Program,
        args: &[String],
        function: &str,
        points: &[Point],
        globals: &[String],
        limits: Limits,
    ) -> Result<Truth<'a>> {
        let entry = program.function(function)?.range.start;
        let places = places(program, function)?;
        let mut stops = BTreeMap::new();
        for point in points {
            let pc = places.get(point).ok_or_else(|| Error::Program {
                path: program.path().to_owned(),
                reason: format!("no code for {point} in {function}"),
            })?;
            stops.insert(*pc, *point);
        }
        let mut session = Session::start(debugger, program, args, limits)?;
        let addresses: Vec<u64> = stops.keys().copied().chain([entry]).collect();
        session.break_at(&addresses)?;
        session.watch(&ranges(program, globals)?)?;
        let want = Want { variables: true, memory: !globals.is_empty() };
        Ok(Truth {
            program,
            session,
            entry,
            points: stops,
            steps: Vec::new(),
            calls: 0,
            gaps: BTreeSet::new(),
            ended: false,
            want,
            most_steps: usize::MAX,
            deadline: None,
            early: None,
            strays: 0,
        })
    }

    /// Ends the walk at so many steps, or when it is so late.
    pub fn limit(&mut self, most_steps: usize, deadline: Instant) {
        (self.most_steps, self.deadline) = (most_steps, Some(deadline));
    }

    /// Why the walk ended although the program did not, if so: nothing is known of what comes after.
    pub fn early(&self) -> Option<&Early> {
        self.early.as_ref()
    }

    /// The program.
    pub fn program(&self) -> &'a Program {
        self.program
    }

    /// Where it is loaded.
    pub fn bias(&self) -> u64 {
        self.session.bias()
    }

    /// A step by number; none after the end of the program.
    pub fn step(&mut self, number: usize) -> Result<Option<&Step>> {
        while self.steps.len() <= number && !self.ended {
            self.advance()?;
        }
        Ok(self.steps.get(number))
    }

    /// All steps so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The number of the `visits`-th step (from 1) at a point, from step `from` on, in this call.
    pub fn visit(&mut self, call: usize, from: usize, point: Point, visits: u32) -> Result<Option<usize>> {
        let (mut number, mut left) = (from, visits);
        while left > 0 {
            match self.step(number)? {
                Some(step) if step.call == call => left -= u32::from(step.point == Some(point)),
                _ => return Ok(None),
            }
            number += 1;
        }
        Ok(Some(number - 1))
    }

    /// The number of the first step of a call.
    pub fn call(&mut self, call: usize) -> Result<Option<usize>> {
        let mut number = self.steps.partition_point(|step| step.call < call);
        while let Some(step) = self.step(number)? {
            if step.call == call {
                return Ok(Some(number));
            }
            number += 1;
        }
        Ok(None)
    }

    /// The same as [`visit`](Truth::visit) after a step, for many visits: what is not walked yet is passed over, but for the
    /// last of them.
    pub fn pass(&mut self, call: usize, after: usize, point: Point, visits: u64) -> Result<Option<usize>> {
        let mut left = visits;
        for number in after + 1..self.steps.len() {
            let step = &self.steps[number];
            if step.call != call {
                return Ok(None);
            }
            left -= u64::from(step.point == Some(point));
            if left == 0 {
                return Ok(Some(number));
            }
        }
        let first = self.steps.len();
        let place = self.points.iter().find(|(_, other)| **other == point).map(|(pc, _)| *pc);
        if let (Some(place), Ok(times @ MANY..)) = (place, u32::try_from(left - 1)) {
            // Nothing else is of interest; a new call is one too far.
            let others: Vec<u64> =
                self.points.keys().copied().filter(|pc| *pc != place && *pc != self.entry).collect();
            self.session.remove(&others)?;
            self.session.ignore(&[place], times)?;
            self.gaps.insert(call);
            // A signal on the way is no step.
            while self.steps.len() == first && !self.ended {
                self.advance()?;
            }
            if self.ended {
                return Ok(None);
            }
            let passed = self.session.passed(&[place])?[0];
            self.session.break_at(&others)?;
            let arrived =
                self.steps.get(first).is_some_and(|step| step.call == call && step.point == Some(point));
            return Ok((arrived && passed == left).then_some(first));
        }
        self.visit(call, after + 1, point, u32::try_from(visits).unwrap_or(u32::MAX))
    }

    /// Whether steps of a call are missing.
    pub fn has_gap(&self, call: usize) -> bool {
        self.gaps.contains(&call)
    }

    fn end(&mut self, early: Option<Early>) -> Result<()> {
        (self.ended, self.early) = (true, early);
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        if self.steps.len() >= self.most_steps {
            return self.end(Some(Early::Enough));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return self.end(Some(Early::Time));
        }
        let stop = match self.session.resume(self.want)? {
            Moved::Stopped(stop) => stop,
            Moved::Exited(_) => return self.end(None),
            Moved::Killed(signal) => return self.end(Some(Early::Killed(signal))),
        };
        let point = self.points.get(&stop.pc).copied();
        if stop.pc == self.entry {
            self.calls += 1;
        } else if point.is_none() {
            // A signal: the program goes on, or dies of it.
            self.strays += 1;
            return if self.strays < MOST_STRAYS { Ok(()) } else { self.end(Some(Early::Stray(stop.pc))) };
        }
        self.steps.push(Step {
            point,
            call: self.calls.saturating_sub(1),
            variables: stop.variables,
            memory: stop.memory,
        });
        Ok(())
    }
}

/// The points of a function in an unoptimised program, each with the address where it is visited.
pub fn places(program: &Program, function: &str) -> Result<BTreeMap<Point, u64>> {
    let function = program.function(function)?;
    let mut places = BTreeMap::new();
    for row in program.rows_of(function).iter().filter(|row| row.point.line > 0) {
        places.entry(row.point).or_insert(row.pc);
    }
    Ok(places)
}

/// Where globals are.
pub fn ranges(program: &Program, globals: &[String]) -> Result<Vec<(u64, u64)>> {
    let range = |name: &String| match program.globals().get(name) {
        Some(global) => Ok((global.address, global.size)),
        None => Err(Error::Program {
            path: program.path().to_owned(),
            reason: format!("no global variable '{name}'"),
        }),
    };
    globals.iter().map(range).collect()
}
