//! What a debugger prints of an optimised program, compared with what is true.
//!
//! Both programs run under the debugger. A [`Plan`] says where they meet: at a [`Meeting`] the optimised program is
//! at an address while the unoptimised one is at a source point, and a [`Leg`] says how many visits of that point
//! one way from meeting to meeting takes. So the walk of the unoptimised program is followed visit by visit, and
//! every [`Entry`] is looked up where it belongs.
//!
//! Independently of the plan, memory is compared: if the globals at a stop are byte for byte those of some steps of
//! the unoptimised program, one of these steps must have the value that is printed.
//!
//! A loop of which all addresses have been seen often enough is passed over: its breakpoint counts, the unoptimised program
//! follows by as many visits, and both go on behind it.
//!
//! Invariant: what cannot be compared is counted as such, never as right.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::debugger::{Debugger, Gdb};
use crate::program::{Point, Program};
use crate::protocol::{Stop, Want};
use crate::session::{Limits, Moved, Session};
use crate::truth::{self, Early, MOST_STRAYS, Step, Truth};
use crate::value::{Known, Value, lookup};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where the two programs meet in a function, and what is promised there.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The function.
    pub function: String,
    /// Correlated places.
    pub meetings: Vec<Meeting>,
    /// Ways from one to another.
    pub legs: Vec<Leg>,
    /// What the debug information says.
    pub entries: Vec<Entry>,
}

/// A place where both programs are at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// Of the optimised program, as in its file.
    pub pc: u64,
    /// Of the source.
    pub point: Point,
}

/// A way from one meeting to another, through no third one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// Number of the meeting where it begins; none for the entry of the function.
    pub from: Option<usize>,
    /// Number of the meeting where it ends.
    pub to: usize,
    /// How often the source comes to the point of `to` on the way, its end included: for a loop, the iterations of
    /// the source that one of the machine covers. None if it stays where it is.
    pub visits: u32,
}

/// A variable with a value at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Of the optimised program, as in its file.
    pub pc: u64,
    /// Name.
    pub variable: String,
    /// Line of its declaration; 0 if it does not matter.
    pub declared: u32,
    /// Number of the meeting after which the program is on its way to the address; none for the entry of the function.
    pub from: Option<usize>,
    /// The source point whose value is to be shown.
    pub point: Point,
    /// Which visit of that point since that meeting, from 0.
    pub visit: u32,
    /// Whether somebody vouches for the value. What nobody does is counted apart, in [`Report::kept`].
    pub promised: bool,
}

/// Arrivals at a meeting, one after the other and with nothing to be compared, after which a loop is passed over.
const LONG: u32 = 4;

/// How often a breakpoint is passed, at most.
const IGNORED: u32 = i32::MAX as u32;

/// How much is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Stops at each address that has an entry.
    pub stops_per_pc: u32,
    /// Stops of the optimised program altogether.
    pub stops: u32,
    /// Steps of the unoptimised program.
    pub steps: usize,
    /// Stops of the optimised program at which nothing was to be compared, one after the other: what is left may come
    /// after a loop that runs for long, or never.
    pub patience: u32,
    /// For the walk, both programs together.
    pub time: Duration,
    /// How long to wait for a debugger.
    pub limits: Limits,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent {
            stops_per_pc: 16,
            stops: 20_000,
            steps: 40_000,
            patience: 2_000,
            time: Duration::from_secs(3600),
            limits: Limits::default(),
        }
    }
}

/// What came out. Written out, it is the counts alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Values that were compared with the truth.
    pub compared: u64,
    /// Those of them that the variable does not have anywhere between this meeting and the next.
    pub wrong: u64,
    /// Those of them that the variable has there, but not at the point that belongs to the address.
    pub stale: u64,
    /// Promised values that the debugger does not show.
    pub missing: u64,
    /// Promised values that it cannot read.
    pub unreadable: u64,
    /// Values that cannot be compared: the unoptimised program has none at the point, or a pointer is to no global.
    pub uncompared: u64,
    /// Entries whose source point has no code of its own in the unoptimised program (see [`truth::places`]).
    pub unplaced: u64,
    /// Other entries whose address was not reached, or not while the walk lasted.
    pub unreached: u64,
    /// Values that were compared through memory.
    pub memory_compared: u64,
    /// Those of them that no step with that memory has.
    pub memory_wrong: u64,
    /// Stops where the plan has no way from the last meeting to this one: the plan is wrong, and nothing is compared
    /// until the next call.
    pub lost: u64,
    /// The walk ended at a limit, not with the program or with enough stops everywhere.
    pub cut: bool,
    /// Why it ended, if that was neither the program's end nor that enough was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<String>,
    /// Values that nobody vouches for.
    #[serde(flatten)]
    pub kept: Kept,
    /// What is wrong, at most one for each entry and kind.
    #[serde(skip)]
    pub findings: Vec<Finding>,
}

/// Values that are shown and that nobody vouches for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Values that were compared with the truth.
    #[serde(rename = "kept_compared")]
    pub compared: u64,
    /// Those of them that are wrong or stale.
    #[serde(rename = "kept_untrue")]
    pub untrue: u64,
}

impl Report {
    /// Nothing wrong was seen, and something was compared.
    pub fn is_clean(&self) -> bool {
        self.compared > 0 && self.untrue() == 0
    }

    /// Promised values that are shown and not true, and where the walk went astray.
    pub fn untrue(&self) -> u64 {
        self.wrong + self.stale + self.memory_wrong + self.lost
    }

    /// Adds the counts of another report.
    pub fn add(&mut self, other: Report) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.stale += other.stale;
        self.missing += other.missing;
        self.unreadable += other.unreadable;
        self.uncompared += other.uncompared;
        self.unplaced += other.unplaced;
        self.unreached += other.unreached;
        self.memory_compared += other.memory_compared;
        self.memory_wrong += other.memory_wrong;
        self.lost += other.lost;
        self.cut |= other.cut;
        self.early = self.early.take().or(other.early);
        self.kept.compared += other.kept.compared;
        self.kept.untrue += other.kept.untrue;
        self.findings.extend(other.findings);
    }
}

/// Something wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The function.
    pub function: String,
    /// Address as in the file.
    pub pc: u64,
    /// The variable; empty if the plan got lost.
    pub variable: String,
    /// What is wrong.
    pub kind: FindingKind,
    /// The source point.
    pub point: Point,
    /// What the debugger prints.
    pub printed: Value,
    /// What is true.
    pub truth: Value,
    /// At which stop at this address, from 0.
    pub stop: u32,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// A value that the variable does not have here.
    Wrong,
    /// A value that it had a little earlier, or will have a little later.
    Stale,
    /// No value.
    Missing,
    /// Memory says that it is another one.
    Memory,
    /// The plan has no way here.
    Lost,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Finding { function, pc, variable, kind, point, printed, truth, stop } = self;
        write!(f, "{function} {pc:#x} (stop {stop}): ")?;
        match kind {
            FindingKind::Wrong => write!(f, "{variable} is {printed}, wrong: {truth} at {point}"),
            FindingKind::Stale => write!(f, "{variable} is {printed}, stale: {truth} at {point}"),
            FindingKind::Missing => write!(f, "{variable} is {printed}: {truth} at {point}"),
            FindingKind::Memory => write!(f, "{variable} is {printed}: never so with this memory"),
            FindingKind::Lost => write!(f, "no way from the last meeting to the one at {point}"),
        }
    }
}

/// Runs both programs and compares. `globals` are the variables whose memory is compared; those that are not in both
/// programs are an error.
pub fn check(
    debugger: &dyn Debugger,
    optimised: &Program,
    unoptimised: &Program,
    args: &[String],
    plan: &Plan,
    globals: &[String],
    extent: Extent,
) -> Result<Report> {
    validate(plan, optimised)?;
    let places = truth::places(unoptimised, &plan.function)?;
    let (entries, unplaced): (Vec<Entry>, Vec<Entry>) =
        plan.entries.iter().cloned().partition(|entry| places.contains_key(&entry.point));
    let plan = &Plan { entries, ..plan.clone() };
    let points: BTreeSet<Point> = plan
        .meetings
        .iter()
        .map(|meeting| meeting.point)
        .chain(plan.entries.iter().map(|entry| entry.point))
        .collect();
    let points: Vec<Point> = points.into_iter().collect();
    let limits = extent.limits;
    let deadline = Instant::now() + extent.time;
    // What is true is the same for all; of the two, gdb is quicker at stopping.
    let walker: &dyn Debugger = if Gdb.find().is_ok() { &Gdb } else { debugger };
    let mut truth = Truth::start(walker, unoptimised, args, &plan.function, &points, globals, limits)?;
    truth.limit(extent.steps, deadline);
    let mut session = Session::start(debugger, optimised, args, limits)?;
    session.watch(&truth::ranges(optimised, globals)?)?;
    let entry = optimised.function(&plan.function)?.range.start;
    let mut walk = Walk {
        plan,
        optimised,
        truth,
        bias: session.bias(),
        memory: !globals.is_empty(),
        positions: Vec::new(),
        calls: 0,
        report: Report { unplaced: unplaced.len() as u64, ..Report::default() },
        said: BTreeSet::new(),
        stops: BTreeMap::new(),
    };
    let entry_pcs: BTreeSet<u64> = plan.entries.iter().map(|entry| entry.pc).collect();
    let meeting_pcs: BTreeSet<u64> = plan.meetings.iter().map(|meeting| meeting.pc).collect();
    let mut open = entry_pcs.clone();
    let all: Vec<u64> = entry_pcs.iter().chain(&meeting_pcs).copied().chain([entry]).collect();
    session.break_at(&all)?;
    let (mut stops, mut idle, mut strays) = (0, 0, 0);
    let mut last = None;
    while !open.is_empty() {
        if let Some(early) = walk.truth.early().cloned() {
            walk.end(early);
            break;
        }
        if stops >= extent.stops || idle >= extent.patience {
            walk.end(Early::Enough);
            break;
        }
        if Instant::now() >= deadline {
            walk.end(Early::Time);
            break;
        }
        let round = last.filter(|pc| idle >= LONG && !open.contains(pc)).and_then(|pc| walk.round(pc));
        if let Some(round) = round {
            session.ignore(&[round.pc], IGNORED)?;
        }
        let moved = session.resume(Want::default())?;
        if let (Some(round), Moved::Stopped(_)) = (round, &moved) {
            walk.pass(round, session.passed(&[round.pc])?[0])?;
        }
        let stop = match moved {
            Moved::Stopped(stop) => stop,
            Moved::Exited(_) => break,
            Moved::Killed(signal) => {
                walk.end(Early::Killed(signal));
                break;
            }
        };
        (stops, idle) = (stops + 1, idle + 1);
        last = Some(stop.pc);
        if !entry_pcs.contains(&stop.pc) && !meeting_pcs.contains(&stop.pc) && stop.pc != entry {
            // A signal somewhere else: the program goes on, or dies of it.
            strays += 1;
            if strays >= MOST_STRAYS {
                walk.end(Early::Stray(stop.pc));
                break;
            }
            continue;
        }
        if stop.pc == entry {
            walk.enter(&session.backtrace()?)?;
        }
        walk.meet(stop.pc)?;
        if open.contains(&stop.pc) && !walk.positions.is_empty() {
            let stop = session.look(Want { variables: true, memory: walk.memory })?;
            idle = 0;
            if walk.compare(&stop)? >= extent.stops_per_pc {
                open.remove(&stop.pc);
                if !meeting_pcs.contains(&stop.pc) && stop.pc != entry {
                    session.remove(&[stop.pc])?;
                }
            }
        }
    }
    let reached = |entry: &&Entry| walk.stops.contains_key(&entry.pc);
    walk.report.unreached = (plan.entries.len() - plan.entries.iter().filter(reached).count()) as u64;
    Ok(walk.report)
}

fn validate(plan: &Plan, optimised: &Program) -> Result<()> {
    let range = &optimised.function(&plan.function)?.range;
    let meetings = plan.meetings.len();
    for leg in &plan.legs {
        if leg.to >= meetings || leg.from.is_some_and(|from| from >= meetings) {
            return Err(Error::Unsupported(format!("{}: a leg that leads nowhere: {leg:?}", plan.function)));
        }
    }
    let pcs = plan.meetings.iter().map(|meeting| meeting.pc).chain(plan.entries.iter().map(|entry| entry.pc));
    match pcs.into_iter().find(|pc| !range.contains(pc)) {
        Some(pc) => Err(Error::Unsupported(format!("{pc:#x} is not in {}", plan.function))),
        None => Ok(()),
    }
}

/// Both programs, in step.
struct Walk<'a> {
    plan: &'a Plan,
    optimised: &'a Program,
    truth: Truth<'a>,
    bias: u64,
    memory: bool,
    /// The last meeting and the step of the unoptimised program there. More than one if the plan has several ways of
    /// different lengths; none before the first call and after the plan got lost.
    positions: Vec<(Option<usize>, usize)>,
    /// Calls so far; the present one has this number less one.
    calls: usize,
    report: Report,
    said: BTreeSet<(u64, String, FindingKind)>,
    stops: BTreeMap<u64, u32>,
}

/// A way from a meeting back to itself.
#[derive(Clone, Copy)]
struct Round {
    pc: u64,
    meeting: usize,
    /// Step of the unoptimised program.
    step: usize,
    visits: u32,
}

impl Walk<'_> {
    /// The loop that the programs are at the beginning of, if there is one way only that it can go round.
    fn round(&self, pc: u64) -> Option<Round> {
        let [(Some(meeting), step)] = self.positions[..] else { return None };
        let mut here = (0..self.plan.meetings.len()).filter(|other| self.plan.meetings[*other].pc == pc);
        let (Some(only), None) = (here.next(), here.next()) else { return None };
        let mut back = self.plan.legs.iter().filter(|leg| (leg.from, leg.to) == (Some(meeting), meeting));
        let (Some(leg), None) = (back.next(), back.next()) else { return None };
        (only == meeting && leg.visits > 0).then_some(Round { pc, meeting, step, visits: leg.visits })
    }

    /// The optimised program has gone round so many times: the unoptimised one follows.
    fn pass(&mut self, round: Round, times: u64) -> Result<()> {
        if times == 0 {
            return Ok(());
        }
        let point = self.plan.meetings[round.meeting].point;
        let visits = times * u64::from(round.visits);
        let step = self.truth.pass(self.calls - 1, round.step, point, visits)?;
        self.positions = step.map(|step| (Some(round.meeting), step)).into_iter().collect();
        if self.positions.is_empty() && self.truth.early().is_none() {
            self.report.lost += 1;
            self.find(FindingKind::Lost, round.pc, None, &Value::NotInScope, &Value::NotInScope);
        }
        Ok(())
    }

    /// The walk ends before its program.
    fn end(&mut self, early: Early) {
        self.report.cut = true;
        self.report.early = (early != Early::Enough).then(|| early.to_string());
    }

    /// A new call of the function begins.
    fn enter(&mut self, frames: &[crate::protocol::Frame]) -> Result<()> {
        if frames.iter().filter(|frame| frame.function == self.plan.function).count() > 1 {
            return Err(Error::Unsupported(format!("{} calls itself", self.plan.function)));
        }
        self.positions = self.truth.call(self.calls)?.map(|step| (None, step)).into_iter().collect();
        self.calls += 1;
        Ok(())
    }

    /// Follows the unoptimised program to a meeting, if there is one at this address.
    fn meet(&mut self, pc: u64) -> Result<()> {
        let here: Vec<usize> =
            (0..self.plan.meetings.len()).filter(|m| self.plan.meetings[*m].pc == pc).collect();
        if here.is_empty() || self.positions.is_empty() {
            return Ok(());
        }
        let call = self.calls - 1;
        let mut next = BTreeSet::new();
        for &(from, step) in &self.positions {
            for leg in self.plan.legs.iter().filter(|leg| leg.from == from && here.contains(&leg.to)) {
                let point = self.plan.meetings[leg.to].point;
                if leg.visits == 0 {
                    next.insert((Some(leg.to), step));
                    continue;
                }
                // A meeting is not met a second time without a step; the entry of the function may be a point itself.
                let first = if from.is_some() { step + 1 } else { step };
                next.extend(
                    self.truth.visit(call, first, point, leg.visits)?.map(|step| (Some(leg.to), step)),
                );
            }
        }
        self.positions = next.into_iter().collect();
        // Nobody knows where the unoptimised program would have got.
        if self.positions.is_empty() && self.truth.early().is_none() {
            self.report.lost += 1;
            self.find(FindingKind::Lost, pc, None, &Value::NotInScope, &Value::NotInScope);
        }
        Ok(())
    }

    /// Compares what is printed at a stop; how often this address was stopped at.
    fn compare(&mut self, stop: &Stop) -> Result<u32> {
        let plan = self.plan;
        for entry in plan.entries.iter().filter(|entry| entry.pc == stop.pc) {
            let printed = lookup(&stop.variables, &entry.variable, entry.declared).clone();
            if !self.positions.iter().any(|(from, _)| *from == entry.from) {
                continue;
            }
            self.compare_entry(entry, &printed)?;
            if self.memory && entry.promised {
                self.compare_memory(entry, &printed, &stop.memory);
            }
        }
        let count = self.stops.entry(stop.pc).or_default();
        *count += 1;
        Ok(*count)
    }

    fn compare_entry(&mut self, entry: &Entry, printed: &Value) -> Result<()> {
        let call = self.calls - 1;
        let mut truths = Vec::new();
        let here = self.positions.iter().filter(|(from, _)| *from == entry.from);
        for (_, step) in here.copied().collect::<Vec<_>>() {
            if let Some(step) = self.truth.visit(call, step, entry.point, entry.visit + 1)? {
                truths.push(value_at(&self.truth.steps()[step], entry).clone());
            }
        }
        if self.truth.early().is_some() {
            return Ok(());
        }
        let Some(truth) = truths.iter().find(|truth| matches!(truth, Value::Known(_))).cloned() else {
            self.report.uncompared += u64::from(entry.promised);
            return Ok(());
        };
        if !entry.promised {
            if let Value::Known(known) = printed
                && let Some(same) = truths.iter().filter_map(|truth| self.same(known, truth)).max()
            {
                self.report.kept.compared += 1;
                self.report.kept.untrue += u64::from(!same);
            }
            return Ok(());
        }
        match printed {
            Value::OptimisedOut | Value::NotInScope => {
                self.report.missing += 1;
                self.find(FindingKind::Missing, entry.pc, Some(entry), printed, &truth);
            }
            Value::Unreadable(_) => {
                self.report.unreadable += 1;
                self.find(FindingKind::Missing, entry.pc, Some(entry), printed, &truth);
            }
            Value::Known(known) => match truths.iter().filter_map(|truth| self.same(known, truth)).max() {
                None => self.report.uncompared += 1,
                Some(true) => self.report.compared += 1,
                Some(false) => {
                    self.report.compared += 1;
                    let near = self.near(entry, known)?;
                    let kind = if near { FindingKind::Stale } else { FindingKind::Wrong };
                    *(if near { &mut self.report.stale } else { &mut self.report.wrong }) += 1;
                    self.find(kind, entry.pc, Some(entry), printed, &truth);
                }
            },
        }
        Ok(())
    }

    /// Whether the variable has the value anywhere between this meeting and the next.
    fn near(&mut self, entry: &Entry, printed: &Known) -> Result<bool> {
        let call = self.calls - 1;
        for (from, step) in self.positions.clone().into_iter().filter(|(from, _)| *from == entry.from) {
            let mut end = step;
            for leg in self.plan.legs.iter().filter(|leg| leg.from == from) {
                let point = self.plan.meetings[leg.to].point;
                if leg.visits == 0 {
                    continue;
                }
                end = end.max(self.truth.visit(call, step + 1, point, leg.visits)?.unwrap_or(end));
            }
            let steps = &self.truth.steps()[step..=end];
            if steps.iter().any(|step| self.same(printed, value_at(step, entry)) == Some(true)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The steps of this call that have this memory: one of them must have the printed value.
    fn compare_memory(&mut self, entry: &Entry, printed: &Value, memory: &[u64]) {
        let Value::Known(known) = printed else { return };
        let call = self.calls - 1;
        let steps: Vec<&Step> = self.truth.steps().iter().filter(|step| step.call == call).collect();
        let same: Vec<&&Step> = steps.iter().filter(|step| step.memory == memory).collect();
        // Memory that never changes says nothing, and what is stored later than in the source is not to be found.
        if same.is_empty() || same.len() == steps.len() {
            return;
        }
        let answers: Vec<bool> =
            same.iter().filter_map(|step| self.same(known, value_at(step, entry))).collect();
        if answers.is_empty() {
            return;
        }
        // In steps that were passed over it may have been so.
        if self.truth.has_gap(call) && !answers.contains(&true) {
            return;
        }
        self.report.memory_compared += 1;
        if !answers.contains(&true) {
            self.report.memory_wrong += 1;
            self.find(FindingKind::Memory, entry.pc, Some(entry), printed, &Value::NotInScope);
        }
    }

    /// Whether a printed value is the true one; none if that cannot be said. Globals may be elsewhere in the two
    /// programs: pointers are equal if they point to the same place in the same global.
    fn same(&self, printed: &Known, truth: &Value) -> Option<bool> {
        let Value::Known(truth) = truth else { return None };
        let (Known::Pointer(printed), Known::Pointer(truth)) = (printed, truth) else {
            return Some(printed == truth);
        };
        if *printed == 0 || *truth == 0 {
            return Some(printed == truth);
        }
        let true_places = self.truth.program().pointed_at(truth.wrapping_sub(self.truth.bias()));
        if true_places.is_empty() {
            return None;
        }
        let printed_places = self.optimised.pointed_at(printed.wrapping_sub(self.bias));
        Some(printed_places.iter().any(|place| true_places.contains(place)))
    }

    fn find(&mut self, kind: FindingKind, pc: u64, entry: Option<&Entry>, printed: &Value, truth: &Value) {
        let variable = entry.map_or(String::new(), |entry| entry.variable.clone());
        if !self.said.insert((pc, variable.clone(), kind)) {
            return;
        }
        let meeting = self.plan.meetings.iter().find(|meeting| meeting.pc == pc).map(|meeting| meeting.point);
        let point = entry.map(|entry| entry.point).or(meeting).unwrap_or(Point { line: 0, column: 0 });
        self.report.findings.push(Finding {
            function: self.plan.function.clone(),
            pc,
            variable,
            kind,
            point,
            printed: printed.clone(),
            truth: truth.clone(),
            stop: self.stops.get(&pc).copied().unwrap_or(0),
        });
    }
}

fn value_at<'s>(step: &'s Step, entry: &Entry) -> &'s Value {
    lookup(&step.variables, &entry.variable, entry.declared)
}
