//! Which point of the source a pc belongs to: s(pc), by positions along an edge of the product.
//!
//! At a node it is the node's own point. From there both programs go on, the source never back. If the source goes round
//! its loop more than once on the edge, memory decides first: where the machine has stored something, the source goes on
//! to where it has stored the same, and it does not pass its own next store before the machine has done that one. So
//! each store of a scalar unrolled body has its own iteration, and what comes after a vector store belongs to the last
//! iteration that it served. Where there are no stores in these iterations, what they read tells them apart in the same way,
//! if the machine reads for one after the other ([`Turns`]); otherwise the source stays in the first of them until it leaves
//! the loop. Within these bounds the line table decides: the next point that has the line and the column of a row at the pc, unless more
//! of the instructions that follow agree if the source waits ([`Ahead`]): compilers interleave statements. No row, or
//! line 0: the point stays. Where the memories are not seen to be the same again up to the end of the edge, nothing is
//! known from the first such store on.
//!
//! An instruction that the machine may pass by (a store for one lane of a condition) belongs to where the source is before
//! the branch, or to where its line is from there on; the source does not move for it.
//!
//! An instruction that comes before its turn, or after it, belongs to two points: the one that the source is at, and the
//! one of the same iteration that its line names ([`Scheduled::also`]). What is said of a variable has to hold at both.

use crate::dwarf::lines::LineColumn;
use crate::turns::Turns;
use std::collections::{BTreeMap, BTreeSet};

/// A position of the machine on an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineStep {
    /// The pc.
    pub pc: u64,
    /// How often memory was written since the position before, at most.
    pub stores: usize,
    /// Whether the machine may pass it by: what it writes aside counts where its ways meet again.
    pub aside: bool,
}

/// A position of the source on an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceStep {
    /// Line and column; zeros if unknown.
    pub place: LineColumn,
    /// Which point of the source it is: the first position of the edge that is at it.
    pub point: usize,
    /// Whether memory was written since the position before.
    pub stored: bool,
    /// How often its point was met before on the edge.
    pub round: usize,
    /// The same number in one block of the source: how many have been passed on the edge.
    pub block: usize,
    /// Lines of the branches of which one is taken from here to the next position without them.
    pub branches: Vec<u64>,
}

/// The point of the source that a position of the machine belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// Position of the source.
    pub source: usize,
    /// Other positions that it belongs to as well, so that what is said has to hold at all of them: that of its line, if
    /// the source is elsewhere in its iteration, and all positions up to the end of the branches, if its line is that of
    /// a branch that the source takes or does not take, and the machine makes a choice of values of it.
    pub also: (usize, usize),
    /// Whether the instruction serves several iterations.
    pub grouped: bool,
    /// Whether the line of the last row at or before the pc is that of one of these positions, or one of several rows
    /// there is and the last one's line has no point on the edge; a node's own point always agrees.
    pub agrees: bool,
    /// Where the memories were seen to be the same again, if it was here.
    pub synced: Option<usize>,
}

impl Scheduled {
    /// At a position of the source, by the rows that cover the instruction.
    fn new(source: &[SourceStep], at: usize, rows: &[LineColumn], bounds: Bounds) -> Scheduled {
        let off = rows.last().filter(|row| row.0 != source[at].place.0);
        let also = off.map_or(Some((at, at)), |row| elsewhere(source, at, *row));
        // The last of several rows at one pc may be of a line that has no point at all, as the end of a function.
        let has_point =
            |line: u64| source.iter().any(|step| step.place.0 == line || step.branches.contains(&line));
        let here = rows.iter().any(|row| row.0 == source[at].place.0);
        Scheduled {
            source: at,
            also: also.unwrap_or((at, at)),
            grouped: bounds.rounds.is_some_and(|last| at < last),
            agrees: also.is_some() || here && off.is_some_and(|row| !has_point(row.0)),
            synced: None,
        }
    }

    /// All positions that it belongs to.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        let source = self.source;
        std::iter::once(source).chain((self.also.0..self.also.1).filter(move |also| *also != source))
    }
}

/// Where the memories are the same again, by position of the machine, as another edge that begins alike has it.
pub type Synced = BTreeMap<usize, usize>;

/// What an edge knows for another one from the same node: as long as both programs go the same way.
pub fn shared(
    (machine, source): (&[MachineStep], &[SourceStep]),
    found: &[Option<Scheduled>],
    (other_machine, other_source): (&[MachineStep], &[SourceStep]),
) -> Synced {
    let (machine_alike, source_alike) = (alike(machine, other_machine), alike(source, other_source));
    let synced = found.iter().map(|found| found.and_then(|found| found.synced)).enumerate();
    let known = synced.take(machine_alike).filter_map(|(number, synced)| Some((number, synced?)));
    known.take_while(|(_, synced)| *synced < source_alike).collect()
}

/// One edge with what was found for it.
#[derive(Debug)]
pub struct Edge {
    /// Positions of the machine.
    pub machine: Vec<MachineStep>,
    /// Positions of the source.
    pub source: Vec<SourceStep>,
    /// By position of the machine.
    pub found: Vec<Option<Scheduled>>,
}

/// Makes edges from one node agree: as long as both programs go the same way on two of them nobody can know which one it
/// is, so the source is where it is on both, the earlier of two positions.
pub fn agree(edges: &mut [Edge]) {
    let count = edges.len();
    let mut changed = true;
    while changed {
        changed = false;
        for (left, right) in (0..count).flat_map(|left| (0..count).map(move |right| (left, right))) {
            let machine_alike = alike(&edges[left].machine, &edges[right].machine);
            let source_alike = alike(&edges[left].source, &edges[right].source);
            for number in 0..machine_alike {
                let Some(one) = edges[left].found[number] else { continue };
                let later = edges[right].found[number].is_none_or(|other| one.source < other.source);
                if later && one.source < source_alike && one.also.1 <= source_alike {
                    edges[right].found[number] = Some(one);
                    changed = true;
                }
            }
        }
    }
}

fn alike<T: PartialEq>(left: &[T], right: &[T]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// What is asked about a pair of positions, of the machine and of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether the memories are seen to be the same, at little cost.
    SameMemory,
    /// Whether they are shown to be the same, at any cost.
    SurelySameMemory,
    /// Whether the source certainly gets there.
    Reached,
}

/// Whether an edge has several iterations and stores nothing in them, so that only what they read can tell them apart.
pub fn is_told_by_reads(source: &[SourceStep]) -> bool {
    Bounds::of(source).rounds.is_some()
}

/// The point of the source for each position of the machine, if it is known. `stores_at_end` says whether the machine's
/// last step, which has no position after it, may write; `reads` which positions read the same, if
/// [nothing else tells iterations apart](is_told_by_reads).
pub fn schedule<E>(
    (machine, stores_at_end): (&[MachineStep], bool),
    (source, reads): (&[SourceStep], &[(usize, usize)]),
    (rows, known): (&BTreeMap<u64, Vec<LineColumn>>, &Synced),
    mut ask: impl FnMut(Question, usize, usize) -> Result<bool, E>,
) -> Result<Vec<Option<Scheduled>>, E> {
    let bounds = Bounds::of(source);
    let turns = bounds.rounds.and_then(|_| Turns::of(source, reads));
    let unstored = unstored(machine, stores_at_end, source);
    let in_turn = |number: usize| match &turns {
        Some(turns) => (turns.at(number).0, Bounds { rounds: None, most: turns.at(number).1, ..bounds }),
        // In one iteration memory does not decide, but what is not stored yet cannot have been passed.
        None if !bounds.store => (0, Bounds { most: unstored[number], ..bounds }),
        None => (0, bounds),
    };
    let last_store = machine.iter().rposition(|step| step.stores > 0);
    let last_source_store = source.iter().rposition(|step| step.stored);
    let mut found: Vec<Scheduled> = Vec::new();
    let ahead = Ahead::new(machine, source, rows, in_turn);
    // The rows at the last pc that has some.
    let mut astray: &[LineColumn] = &[];
    let (mut at, mut behind) = (0, None);
    // Since the memories were last the same: the first position of the machine, that of the source, and stores.
    let (mut since, mut synced, mut done) = (0, 0, 0);
    for (number, step) in machine.iter().enumerate() {
        let (turn, bounds) = in_turn(number);
        let own = rows.get(&step.pc).map_or(&[][..], Vec::as_slice);
        // Without a row of its own an instruction is of the line of the one before it in the file.
        let covering = rows.range(..=step.pc).next_back().map_or(&[][..], |(_, rows)| rows.as_slice());
        let last = covering.last().filter(|row| row.0 != 0 && number > 0);
        let covering = if last.is_some() { covering } else { &[] };
        if step.aside {
            let ahead = last.and_then(|row| next_in_line(source, at, *row, bounds));
            let here = match ahead.filter(|ahead| behind.is_none() && *ahead != at) {
                Some(ahead) if ask(Question::Reached, number, ahead)? => ahead,
                _ => at,
            };
            found.push(Scheduled::new(source, here, covering, bounds));
            continue;
        }
        if step.stores > 0 && bounds.store {
            behind = behind.or(Some(number));
            done += step.stores;
        }
        let mut here = None;
        if behind.is_some() {
            // Memory can only be the same right after a store of the source.
            let later: Vec<usize> = (at + 1..source.len()).filter(|next| source[*next].stored).collect();
            let mut same = None;
            for next in &later {
                // At the end of the edge the memories are the same, and nobody writes any more until then.
                let finished =
                    Some(number) >= last_store && !stores_at_end && Some(*next) == last_source_store;
                let told = known.get(&number);
                if told.map_or(finished, |told| told == next)
                    || told.is_none() && ask(Question::SameMemory, number, *next)?
                {
                    same = Some(*next);
                    break;
                }
            }
            // A store of the machine that is one of the source may be hard to recognise.
            if same.is_none()
                && step.stores > 0
                && let Some(next) = later.get(done - 1)
                && ask(Question::SurelySameMemory, number, *next)?
            {
                same = Some(*next);
            }
            if let Some(next) = same
                && ask(Question::Reached, number, next)?
            {
                let served = source[synced + 1..=next].iter().filter(|step| step.stored).count();
                found[since..].iter_mut().for_each(|found| found.grouped |= served > done);
                (at, behind, here) = (next, None, Some(next));
                (since, synced, done) = (number, next, 0);
            }
        }
        // A node has its own point.
        if turn > at && number > 0 && behind.is_none() && ask(Question::Reached, number, turn)? {
            at = turn;
        }
        if behind.is_none() && number > 0 && ahead.moves(number, at) {
            for row in own {
                if let Some(next) = next_in_line(source, at, *row, bounds)
                    && next != at
                    && ask(Question::Reached, number, next)?
                {
                    at = next;
                }
            }
        }
        astray = if covering.is_empty() { astray } else { covering };
        found.push(Scheduled { synced: here, ..Scheduled::new(source, at, astray, bounds) });
    }
    let known = behind.unwrap_or(machine.len());
    if behind.is_some() {
        // The memories are the same at the end of the edge at the latest.
        let served = source[synced + 1..].iter().filter(|step| step.stored).count();
        found[since..].iter_mut().for_each(|found| found.grouped |= served > done);
    }
    Ok(found.into_iter().enumerate().map(|(number, found)| (number < known).then_some(found)).collect())
}

/// By position of the machine the last position of the source that its stores allow: as long as the machine has some left
/// to do, the source has not done more than it.
fn unstored(machine: &[MachineStep], stores_at_end: bool, source: &[SourceStep]) -> Vec<usize> {
    let last = machine.iter().rposition(|step| step.stores > 0);
    let stored: Vec<usize> = (0..source.len()).filter(|number| source[*number].stored).collect();
    let mut done = 0;
    let limit = |(number, step): (usize, &MachineStep)| {
        done += step.stores;
        let left = stores_at_end || last.is_some_and(|last| number < last);
        // A position is after what was stored on the way to it.
        stored.get(done).filter(|_| left).map_or(usize::MAX, |next| next - 1)
    };
    machine.iter().enumerate().map(limit).collect()
}

/// Where the line of a row is in the iteration that the source is in: a position, or those from a choice of branches of
/// which one has the line to the end of them.
fn elsewhere(source: &[SourceStep], at: usize, row: LineColumn) -> Option<(usize, usize)> {
    let nearest = |wanted: &dyn Fn(&SourceStep) -> bool| {
        let same = |number: &usize| source[*number].round == source[at].round && wanted(&source[*number]);
        (0..source.len()).filter(same).min_by_key(|number| number.abs_diff(at))
    };
    let here = nearest(&|step| step.place == row).or_else(|| nearest(&|step| step.place.0 == row.0));
    if let Some(here) = here {
        return Some((here, here + 1));
    }
    let choice = nearest(&|step| step.branches.contains(&row.0))?;
    let of_it =
        |step: &&SourceStep| step.branches == source[choice].branches && step.round == source[choice].round;
    let end = choice + source[choice..].iter().take_while(of_it).count();
    (end < source.len()).then_some((choice, end + 1))
}

/// Which instructions the source goes on for: as many as possible have the line of the source's position.
///
/// The source never goes back, so that an instruction of a later line that was moved up would take all that follow with
/// it. Memory moves the source, too: what is counted ends at the next store of the machine if memory decides.
struct Ahead {
    /// By instruction and position of the source: how many agree from there on if it moves, and if it stays.
    gains: Vec<(u32, u32)>,
    positions: usize,
}

impl Ahead {
    /// Products of instructions and positions; beyond that the source always goes on.
    const MOST: usize = 1 << 16;

    fn new(
        machine: &[MachineStep],
        source: &[SourceStep],
        rows: &BTreeMap<u64, Vec<LineColumn>>,
        in_turn: impl Fn(usize) -> (usize, Bounds),
    ) -> Ahead {
        let positions = source.len();
        if machine.len() * positions > Ahead::MOST {
            return Ahead { gains: Vec::new(), positions };
        }
        let mut gains = vec![(0, 0); machine.len() * positions];
        for (number, step) in machine.iter().enumerate().rev() {
            let (turn, bounds) = in_turn(number);
            let rows = rows.get(&step.pc).map_or(&[][..], Vec::as_slice);
            let line = rows.last().map_or(0, |row| row.0);
            let next = machine.get(number + 1).filter(|next| !bounds.store || next.aside || next.stores == 0);
            let after = |at: usize| match next {
                Some(_) => gains[(number + 1) * positions + at],
                None => (0, 0),
            };
            let value = |at: usize| {
                let (moved, stayed) = after(at);
                u32::from(line != 0 && source[at].place.0 == line) + moved.max(stayed)
            };
            let found: Vec<(u32, u32)> = (0..positions)
                .map(|at| {
                    let at = at.max(turn).min(positions - 1);
                    if step.aside {
                        return after(at);
                    }
                    let go = |at, row: &LineColumn| next_in_line(source, at, *row, bounds).unwrap_or(at);
                    (value(rows.iter().fold(at, go)), value(at))
                })
                .collect();
            gains[number * positions..(number + 1) * positions].copy_from_slice(&found);
        }
        Ahead { gains, positions }
    }

    /// Whether the source goes on for an instruction.
    fn moves(&self, number: usize, at: usize) -> bool {
        self.gains.get(number * self.positions + at).is_none_or(|(moved, stayed)| moved >= stayed)
    }
}

/// How far the source may go on by the line table alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    /// Up to its next store: memory tells iterations of the edge apart.
    store: bool,
    /// Nothing tells them apart: it stays in the first one, or goes to what comes after them all. The last position that
    /// belongs to another one.
    rounds: Option<usize>,
    /// Up to here: the next iteration has not begun.
    most: usize,
}

impl Bounds {
    fn of(source: &[SourceStep]) -> Bounds {
        let repeated = || source.iter().enumerate().filter(|(_, step)| step.round > 0);
        let blocks: BTreeSet<usize> = repeated().map(|(_, step)| step.block).collect();
        let last = repeated().map(|(number, _)| number).next_back();
        // A way round a loop, or out of it, comes to the loop's condition once more.
        let again = blocks.len() > 1 || repeated().any(|(_, step)| step.stored);
        let Some(last) = last.filter(|_| again) else {
            return Bounds { store: false, rounds: None, most: usize::MAX };
        };
        let inside = source[..=last].iter().any(|step| step.stored);
        let store = source.iter().any(|step| step.stored);
        Bounds { store, rounds: (!inside).then_some(last), most: usize::MAX }
    }
}

/// The next position with a row's line and column, or else its line, within the bounds.
fn next_in_line(source: &[SourceStep], at: usize, row: LineColumn, bounds: Bounds) -> Option<usize> {
    if row.0 == 0 {
        return None;
    }
    let ahead = source.iter().enumerate().skip(at);
    let ahead = ahead.take_while(|(number, step)| *number == at || !(bounds.store && step.stored));
    let ahead = ahead.take_while(|(number, _)| *number <= bounds.most.max(at));
    let ahead = ahead.filter(|(number, step)| *number == at || bounds.rounds.is_none() || step.round == 0);
    let ahead: Vec<(usize, &SourceStep)> = ahead.collect();
    let exact = ahead.iter().find(|(_, step)| step.place == row);
    let line = ahead.iter().find(|(_, step)| step.place.0 == row.0);
    exact.or(line).map(|(number, _)| *number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A loop body of the source with the head at line 6, a store at line 7, the increment at 6:27; `rounds` of it.
    fn body(rounds: usize) -> Vec<SourceStep> {
        let step = |place, stored, round, block| SourceStep {
            place,
            point: 0,
            stored,
            round,
            block,
            branches: Vec::new(),
        };
        let mut steps = Vec::new();
        for round in 0..rounds {
            steps.push(step((6, 21), false, round, 3 * round));
            steps.push(step((7, 17), false, round, 3 * round + 1));
            steps.push(step((7, 10), false, round, 3 * round + 1));
            steps.push(step((6, 27), true, round, 3 * round + 2));
        }
        steps.push(step((6, 21), false, rounds, 3 * rounds));
        steps.iter_mut().enumerate().for_each(|(number, step)| step.point = number % 4);
        steps
    }

    fn run(
        machine: &[(u64, bool)],
        source: &[SourceStep],
        rows: &[(u64, LineColumn)],
        per_store: usize,
    ) -> Vec<Option<(usize, bool)>> {
        run_until(machine, source, rows, (per_store, true))
    }

    fn run_until(
        machine: &[(u64, bool)],
        source: &[SourceStep],
        rows: &[(u64, LineColumn)],
        (per_store, at_end): (usize, bool),
    ) -> Vec<Option<(usize, bool)>> {
        let steps: Vec<MachineStep> = machine
            .iter()
            .map(|(pc, stored)| MachineStep { pc: *pc, stores: usize::from(*stored), aside: false })
            .collect();
        let rows: BTreeMap<u64, Vec<LineColumn>> = rows.iter().map(|(pc, row)| (*pc, vec![*row])).collect();
        let stored =
            |number: usize| steps[..=number].iter().map(|step| step.stores).sum::<usize>() * per_store;
        let done = |number: usize| source[..=number].iter().filter(|step| step.stored).count();
        let ask = |question: Question, machine: usize, source: usize| {
            Ok::<_, ()>(question == Question::Reached || stored(machine) == done(source))
        };
        let found = schedule((&steps, at_end), (source, &[]), (&rows, &Synced::new()), ask).unwrap();
        found.into_iter().map(|found| found.map(|found| (found.source, found.grouped))).collect()
    }

    #[test]
    fn a_vector_store_belongs_to_the_first_iteration_and_what_follows_to_the_last() {
        let machine = [(0x10, false), (0x20, false), (0x27, true), (0x2d, false)];
        let rows = [(0x10, (7, 17)), (0x20, (7, 10)), (0x27, (6, 27)), (0x2d, (6, 21))];
        assert_eq!(
            run(&machine, &body(4), &rows, 4),
            [(0, true), (2, true), (15, false), (16, false)].map(Some)
        );
    }

    #[test]
    fn each_store_of_an_unrolled_body_has_its_iteration() {
        let machine = [(1, false), (2, true), (3, false), (4, true)];
        let rows = [(1, (7, 10)), (2, (7, 17)), (3, (7, 10)), (4, (6, 27))];
        assert_eq!(
            run(&machine, &body(2), &rows, 1),
            [(0, false), (5, false), (6, false), (7, false)].map(Some)
        );
    }

    #[test]
    fn without_stores_the_source_stays_in_its_first_iteration() {
        let mut source = body(4);
        source.iter_mut().for_each(|step| step.stored = false);
        let machine = [(1, false), (2, false), (3, false), (4, false)];
        let rows = [(2, (7, 17)), (3, (6, 27)), (4, (6, 21))];
        assert_eq!(run(&machine, &source, &rows, 1), [0, 1, 3, 3].map(|at| Some((at, true))));
    }

    #[test]
    fn without_stores_reads_tell_iterations_apart() {
        let mut source = body(4);
        source.iter_mut().for_each(|step| step.stored = false);
        let machine: Vec<MachineStep> =
            (1..10).map(|pc| MachineStep { pc, stores: 0, aside: false }).collect();
        // The first point of line 7 is read by every other instruction, whose row is that of the second.
        let reads = [(0, 1), (2, 5), (4, 9), (6, 13)];
        let rows = [
            (2, (7, 10)),
            (3, (7, 10)),
            (4, (7, 17)),
            (5, (7, 10)),
            (7, (7, 10)),
            (8, (6, 27)),
            (9, (6, 21)),
        ];
        let rows: BTreeMap<u64, Vec<LineColumn>> = rows.map(|(pc, row)| (pc, vec![row])).into();
        let run = |reads: &[(usize, usize)], reached: &dyn Fn(usize) -> bool| {
            let ask = |question, _, source| Ok::<_, ()>(question == Question::Reached && reached(source));
            let found = schedule((&machine, true), (&source, reads), (&rows, &Synced::new()), ask).unwrap();
            let found = found.into_iter().flatten().map(|found| (found.source, found.grouped));
            found.collect::<Vec<_>>()
        };
        let expected = [0, 2, 6, 6, 10, 10, 14, 15, 16].map(|at| (at, false));
        assert_eq!(run(&reads, &|_| true), expected);
        // Where it is not certain that the source gets there it stays, and it does not come to its next read.
        assert_eq!(run(&reads, &|at| at < 5)[2..], [2, 2, 2, 2, 2, 3, 4].map(|at| (at, false)));
        // Reads in another order say nothing.
        let swapped = [(0, 1), (2, 9), (4, 5), (6, 13)];
        assert!(run(&swapped, &|_| true).iter().all(|found| found.1 && found.0 < 4));
    }

    #[test]
    fn the_last_of_several_rows_may_be_of_a_line_that_has_no_point() {
        let source = body(1);
        let machine: Vec<MachineStep> =
            (1..4).map(|pc| MachineStep { pc, stores: 0, aside: false }).collect();
        let run = |line: u64| {
            let rows = BTreeMap::from([(2, vec![(7, 10), (line, 1)])]);
            let found = schedule((&machine, false), (&source, &[]), (&rows, &Synced::new()), |_, _, _| {
                Ok::<_, ()>(true)
            });
            let found = found.unwrap().into_iter().flatten();
            found
                .map(|found| (found.positions().collect(), found.agrees))
                .collect::<Vec<(Vec<usize>, bool)>>()
        };
        assert_eq!(run(99), [(vec![0], true), (vec![2], true), (vec![2], true)]);
        assert_eq!(
            run(6),
            [(vec![0], true), (vec![3], true), (vec![3], true)],
            "a line that has one is gone to"
        );
        // The only row: nobody knows what the instruction is about.
        let rows = BTreeMap::from([(2, vec![(99, 1)])]);
        let found =
            schedule((&machine, false), (&source, &[]), (&rows, &Synced::new()), |_, _, _| Ok::<_, ()>(true));
        assert!(!found.unwrap()[1].unwrap().agrees);
    }

    #[test]
    fn the_way_out_of_a_loop_without_stores_agrees_with_the_way_round_it() {
        // Four iterations of a sum, then its store at line 9.
        let mut out = body(4);
        out.iter_mut().for_each(|step| step.stored = false);
        let after = |place, stored, block| SourceStep {
            place,
            point: block,
            stored,
            round: 0,
            block,
            branches: Vec::new(),
        };
        out.extend([after((9, 3), false, 13), after((10, 3), true, 13)]);
        let machine = [(1, false), (2, false), (3, false), (4, false), (5, false), (6, true)];
        let rows = [(2, (7, 17)), (3, (6, 27)), (4, (6, 21)), (5, (9, 3)), (6, (10, 3))];
        let expected = [(0, true), (1, true), (3, true), (3, true), (17, false), (18, false)];
        assert_eq!(run(&machine, &out, &rows, 1), expected.map(Some));
    }

    #[test]
    fn the_way_out_of_a_loop_with_a_store_that_is_not_made_goes_on() {
        // One iteration, whose store the machine does not make on this path, and the condition once more.
        let mut source = body(1);
        source.push(SourceStep {
            place: (9, 3),
            point: 4,
            stored: false,
            round: 0,
            block: 4,
            branches: Vec::new(),
        });
        let machine = [(1, false), (2, false), (3, false), (4, false)];
        let rows = [(2, (7, 17)), (3, (6, 21)), (4, (9, 3))];
        assert_eq!(run_until(&machine, &source, &rows, (1, false)), [0, 1, 4, 5].map(|at| Some((at, false))));
    }

    #[test]
    fn code_of_a_branch_that_may_not_be_taken_belongs_before_and_after_it() {
        // Line 6: condition; 7 or 8 is taken; then 9.
        let step = |line, branches: &[u64]| SourceStep {
            place: (line, 1),
            point: 0,
            stored: false,
            round: 0,
            block: 0,
            branches: branches.to_vec(),
        };
        let source = [step(6, &[7, 8]), step(6, &[7, 8]), step(9, &[])];
        let machine: Vec<MachineStep> =
            (1..5).map(|pc| MachineStep { pc, stores: 0, aside: false }).collect();
        let rows = BTreeMap::from([(2, vec![(8, 3)]), (3, vec![(9, 1)]), (4, vec![(77, 1)])]);
        let found =
            schedule((&machine, true), (&source, &[]), (&rows, &Synced::new()), |_, _, _| Ok::<_, ()>(true))
                .unwrap();
        let found: Vec<_> =
            found.into_iter().flatten().map(|found| (found.positions().collect(), found.agrees)).collect();
        let expected: [(Vec<usize>, bool); 4] =
            [(vec![0], true), (vec![0, 1, 2], true), (vec![2], true), (vec![2], false)];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_instruction_before_its_turn_takes_no_other_with_it() {
        // Lines 8, 9 and 10 in order, the increment in line 7; the machine increments early and does 9 before 8.
        let step = |line, column, round| SourceStep {
            place: (line, column),
            point: 0,
            stored: false,
            round,
            block: 0,
            branches: Vec::new(),
        };
        let source =
            [step(7, 21, 0), step(8, 3, 0), step(9, 3, 0), step(10, 3, 0), step(7, 32, 0), step(7, 21, 1)];
        let machine: Vec<MachineStep> =
            (1..8).map(|pc| MachineStep { pc, stores: 0, aside: false }).collect();
        let rows = [(2, (9, 3)), (3, (7, 21)), (4, (8, 3)), (5, (8, 3)), (6, (10, 3)), (7, (7, 32))];
        let rows: BTreeMap<u64, Vec<LineColumn>> = rows.map(|(pc, row)| (pc, vec![row])).into();
        let found =
            schedule((&machine, true), (&source, &[]), (&rows, &Synced::new()), |_, _, _| Ok::<_, ()>(true))
                .unwrap();
        let found: Vec<Vec<usize>> =
            found.into_iter().flatten().map(|found| found.positions().collect()).collect();
        let expected: [&[usize]; 7] = [&[0], &[0, 2], &[0], &[1], &[1], &[3], &[4]];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_may_be_passed_by_does_not_move_the_source() {
        // Two iterations, each with a store aside (pcs 3 and 6) that counts where the ways meet (4 and 7).
        let step = |pc, stored: bool, aside| MachineStep { pc, stores: usize::from(stored), aside };
        let machine = [
            step(1, false, false),
            step(2, false, false),
            step(3, false, true),
            step(4, true, false),
            step(5, false, false),
            step(6, false, true),
            step(7, true, false),
        ];
        let rows = [(2, (6, 21)), (3, (7, 10)), (4, (6, 21)), (6, (7, 10)), (7, (6, 27))];
        let rows: BTreeMap<u64, Vec<LineColumn>> = rows.map(|(pc, row)| (pc, vec![row])).into();
        let source = body(2);
        let stores = |number: usize| source[..=number].iter().filter(|step| step.stored).count();
        let run = |easy: bool| {
            let mut asked = Vec::new();
            let found =
                schedule((&machine, false), (&source, &[]), (&rows, &Synced::new()), |question, pc, at| {
                    let same = machine[..=pc].iter().filter(|step| step.stores > 0 && !step.aside).count()
                        == stores(at);
                    asked.extend((question == Question::SurelySameMemory).then_some((pc, at)));
                    Ok::<_, ()>(match question {
                        Question::SameMemory => easy && same,
                        Question::SurelySameMemory => same,
                        Question::Reached => true,
                    })
                });
            let found: Vec<_> = found.unwrap().into_iter().flatten().collect();
            (found.iter().map(|found| (found.source, found.grouped)).collect::<Vec<_>>(), asked)
        };
        let expected = [0, 0, 2, 4, 4, 6, 7].map(|at| (at, false));
        assert_eq!(run(true), (expected.to_vec(), Vec::new()));
        // What rewriting does not see is asked of the store that it would be, and of no other.
        assert_eq!(run(false), (expected.to_vec(), vec![(3, 3)]));
    }

    #[test]
    fn one_iteration_does_not_pass_a_store_that_is_still_to_be_made() {
        // As gcc does s174: the counter is increased, at the line of the condition, before the store.
        let source = body(1);
        let rows = [(2, (7, 17)), (3, (6, 21)), (4, (7, 10)), (5, (6, 21))];
        let early = [(1, false), (2, false), (3, false), (4, false), (5, true)];
        assert_eq!(run(&early, &source, &rows, 1), [0, 1, 1, 2, 4].map(|at| Some((at, false))));
        // Nothing is left to be stored.
        let done = [(1, false), (2, false), (3, true), (4, false), (5, false)];
        let found = run_until(&done, &source, &rows, (1, false));
        assert_eq!(found, [0, 1, 4, 4, 4].map(|at| Some((at, false))));
    }

    #[test]
    fn one_iteration_follows_the_line_table_alone() {
        // A store that the source makes on some paths only is not seen to be the same.
        let machine = [(1, false), (2, true), (3, false)];
        let rows = [(2, (6, 27)), (3, (6, 21))];
        let source = &body(1)[1..];
        assert_eq!(run(&machine, source, &rows, 7), [0, 2, 3].map(|at| Some((at, false))));
    }

    #[test]
    fn after_the_last_stores_of_both_the_memories_are_the_same() {
        let machine = [(1, false), (2, true), (3, false)].map(|(pc, stored)| MachineStep {
            pc,
            stores: usize::from(stored),
            aside: false,
        });
        let rows = BTreeMap::new();
        let run = |at_end: bool| {
            let found =
                schedule((&machine, at_end), (&body(4), &[]), (&rows, &Synced::new()), |question, _, _| {
                    Ok::<_, ()>(question == Question::Reached)
                })
                .unwrap();
            found
                .into_iter()
                .map(|found| found.map(|found| (found.source, found.grouped)))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(false), [Some((0, true)), Some((15, false)), Some((15, false))]);
        assert_eq!(run(true), [Some((0, true)), None, None], "it may write once more");
    }

    #[test]
    fn an_edge_that_begins_alike_says_where_the_memories_are_the_same() {
        let steps = |stored: &[bool]| -> Vec<MachineStep> {
            let step = |(pc, stored): (usize, &bool)| MachineStep {
                pc: pc as u64,
                stores: usize::from(*stored),
                aside: false,
            };
            stored.iter().enumerate().map(step).collect()
        };
        let rows = BTreeMap::new();
        let run = |machine: &[MachineStep], source: &[SourceStep], known: &Synced, at_end: bool| {
            let never = |question, _, _| Ok::<_, ()>(question == Question::Reached);
            schedule((machine, at_end), (source, &[]), (&rows, known), never).unwrap()
        };
        // Round the loop: one store for four. Out of it: the same, and one more for one more, which stays unknown.
        let (back, out) = (steps(&[false, true, false]), steps(&[false, true, false, true]));
        let (four, five) = (body(4), body(5));
        let found = run(&back, &four, &Synced::new(), false);
        let known = shared((&back, &four[..16]), &found, (&out, &five));
        assert_eq!(known, Synced::from([(1, 15)]));
        let places = |found: Vec<Option<Scheduled>>| -> Vec<Option<usize>> {
            found.into_iter().map(|found| found.map(|found| found.source)).collect()
        };
        assert_eq!(places(run(&out, &five, &Synced::new(), true)), [Some(0), None, None, None]);
        assert_eq!(places(run(&out, &five, &known, true)), [Some(0), Some(15), Some(15), None]);
        // Another way of the machine, or of the source.
        assert_eq!(shared((&back, &four), &found, (&steps(&[false, false, true]), &five)), Synced::new());
        assert_eq!(shared((&back, &four), &found, (&out, &five[4..])), Synced::new());
    }

    #[test]
    fn edges_that_begin_alike_agree() {
        let machine =
            |pcs: &[u64]| pcs.iter().map(|pc| MachineStep { pc: *pc, stores: 0, aside: false }).collect();
        let at = |source: usize, also: (usize, usize)| {
            Some(Scheduled { source, also, grouped: false, agrees: true, synced: None })
        };
        let (four, five) = (body(4), body(5));
        let mut edges = [
            Edge {
                machine: machine(&[1, 2, 3, 4]),
                source: four[..16].to_vec(),
                found: vec![at(0, (0, 0)); 4],
            },
            Edge { machine: machine(&[1, 2, 3, 9]), source: five, found: vec![at(0, (0, 0)); 4] },
        ];
        let (back, out) = (
            [at(0, (0, 0)), at(9, (9, 9)), None, at(15, (15, 15))],
            [at(0, (0, 0)), at(17, (17, 17)), at(15, (14, 17)), at(18, (18, 18))],
        );
        (edges[0].found, edges[1].found) = (back.to_vec(), out.to_vec());
        agree(&mut edges);
        assert_eq!(
            edges[1].found,
            [back[0], back[1], out[2], out[3]],
            "the earlier one, as long as they are alike"
        );
        assert_eq!(edges[0].found, back, "not one that speaks of what the other edge does not have");
    }

    #[test]
    fn nothing_is_known_after_a_store_that_does_not_match() {
        let machine = [(1, false), (2, true), (3, false)];
        // One store where the source has two: it serves both.
        assert_eq!(run(&machine, &body(2), &[(2, (6, 27))], 7), [Some((0, true)), None, None]);
    }
}
