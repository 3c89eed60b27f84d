//! Who came from whom: the destinations of a pass run and their sources (the paper's Algorithm 1, extended).
//!
//! A destination is an instruction of P' that was created or cloned in the run, or whose block is another
//! one than in P. Moving within a block is no matter: "block-local instruction reordering should not drop
//! source locations" (HowToUpdateDebugInfo), and nothing else could be asked.
//!
//! Links, strongest first; where the paper stops is said:
//!
//! - clone and move;
//! - replace: the uses of the source became uses of the destination;
//! - terminator (ours): no use connects a new terminator to the one it replaces, so a terminator created
//!   in a block has as its source the terminator that the run took out of that block, before or after.
//!   One that was moved away counts too, unless the new one leads right to it: then the block was split
//!   and the new branch stands for nothing;
//!   What ends a new block may be known by the ways through it: see [`ends`];
//! - split (ours): where the rest of a block was split off, a terminator that decides there has as its source what
//!   that rest begins with;
//! - write, operand, use (ours): see [`uses`];
//! - position (ours): the neighbours of the destination, and only if nothing stronger is known. That is
//!   not read here but by the one rule that uses it.
//!
//! They all go through instructions that lived in this run only: a copy of a copy has the
//! original as its source, and what replaced a temporary replaced what that one had replaced. A source is
//! an instruction of P in this function. A destination that leads to anything else (inlining) has paths of two
//! functions and is a [`Stranger`]. One exception: what took the place of a terminator that came from elsewhere in the
//! same run, with a location, stands for that one.

mod ends;
mod reader;
mod sources;
mod stored;
pub(crate) mod uses;

use metaloc_record::{BlockId, Inst, InstId, PassRun, StackId};
use rustc_hash::FxHashMap;

use crate::changes::{At, Changes};
use crate::finding::{Link, Source};
use crate::inst_map::InstMap;
use reader::Reader;
use sources::Foreign;

/// An instruction of P' that needs its location looked at.
#[derive(Debug, Clone)]
pub struct Destination<'a> {
    /// The instruction with the location it ended up with.
    pub inst: &'a Inst,
    /// Where it is in P'.
    pub at: At,
    /// How it came about.
    pub origin: Origin,
    /// The block that it was put into first; later on blocks may have been merged. For a moved one the
    /// block that it is in.
    pub placed: BlockId,
    /// Where it was created, cloned or moved.
    pub site: StackId,
    /// What it came from, strongest link first; for a link several may be of one kind.
    pub sources: Vec<Source>,
    /// Which update calls were seen.
    pub updates: Updates,
    /// What became of the location of its sources on the way through temporaries.
    pub passage: Passage,
    /// It was computed for a write that had no location, and what it took over from are loads of what was written: see
    /// [`stored`]. Known of those whose location is in question.
    pub stored: bool,
}

/// How a destination came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// By a constructor.
    Created,
    /// As a copy.
    Cloned,
    /// It is older than the run and is now in another block.
    Moved,
}

/// What became of a location on its way from a source to a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// There was no temporary.
    Direct,
    /// It got as far as the last temporary.
    Kept,
    /// A temporary that was created here had none already: that is the site to blame.
    Lost(StackId),
    /// A temporary had none or line 0 on purpose.
    Dropped,
}

/// Update calls on one instruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Updates {
    /// A location was set that is not the one it was copied with.
    pub set: bool,
    /// `applyMergedLocation`.
    pub merged: bool,
    /// `dropLocation`, `updateLocationAfterHoist`, or no location was set.
    pub dropped: bool,
}

/// What took over the uses of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplacedBy {
    /// The instruction.
    pub inst: InstId,
    /// True if a constructor made it in this run.
    pub created: bool,
}

/// An instruction of P' that came from another function.
#[derive(Debug, Clone, Copy)]
pub struct Stranger<'a> {
    /// The instruction.
    pub inst: &'a Inst,
    /// Where it was copied or moved.
    pub site: StackId,
}

/// All destinations of a run.
#[derive(Debug, Default)]
pub struct Lineage<'a> {
    /// Those that can be judged, by block and then in order.
    pub destinations: Vec<Destination<'a>>,
    /// Those that lead out of the function.
    pub strangers: Vec<Stranger<'a>>,
    /// (block of P, block of P' that is new) such that the run copied the first into the second.
    pub copies: Vec<(BlockId, BlockId)>,
    /// Blocks of P' that are new, with the block of P that they were split off.
    pub splits: FxHashMap<BlockId, BlockId>,
    /// What took over the uses of an instruction, the last if there were several.
    pub replaced_by: FxHashMap<InstId, ReplacedBy>,
    /// The instruction of P whose uses another one took over, the first if there were several.
    pub replaced: FxHashMap<InstId, InstId>,
    /// For new instructions, those of P that they took over some uses of, and that live on with others.
    pub taken_in_part: FxHashMap<InstId, Vec<InstId>>,
    /// What an instruction was put behind by `insertAfter`, if that is one of P.
    pub put_behind: FxHashMap<InstId, InstId>,
    /// Instructions that were made in the run and had no location when they were taken out.
    bare_temporaries: Vec<InstId>,
    /// Where in the list of destinations an instruction is; empty until [`uses::link`] needs it.
    index: InstMap<u32>,
}

impl<'a> Lineage<'a> {
    /// The destination that an instruction is. Answers once there is one whose location is in question.
    pub fn destination(&self, inst: InstId) -> Option<&Destination<'a>> {
        self.index.get(inst).map(|at| &self.destinations[*at as usize])
    }

    /// The instructions of P that a destination took over uses of, some or all.
    pub fn taken<'s>(&'s self, destination: &'s Destination<'_>) -> impl Iterator<Item = InstId> + 's {
        let in_part = self.taken_in_part.get(&destination.inst.id).into_iter().flatten().copied();
        let whole = destination.sources.iter().filter(|s| s.link == Link::Replace).map(|s| s.inst);
        in_part.chain(whole)
    }

    /// Reads the events of a run.
    pub fn new(run: &PassRun<'a>, changes: &Changes<'a>) -> Lineage<'a> {
        let reader = Reader::new(run, changes);
        let mut lineage = Lineage {
            copies: reader.copies(),
            splits: reader.splits(),
            replaced_by: reader.replaced_by(),
            taken_in_part: reader.taken_in_part(),
            put_behind: reader.put_behind(),
            ..Lineage::default()
        };
        for (inst, at) in changes.differing() {
            match reader.destination(inst, at) {
                Ok(Some(destination)) => lineage.destinations.push(destination),
                Ok(None) => {}
                Err(Foreign) => lineage.strangers.push(Stranger { inst, site: reader.site(inst.id) }),
            }
        }
        lineage.bare_temporaries = reader.bare_temporaries;
        for destination in &lineage.destinations {
            if let Some(source) = destination.sources.iter().find(|s| s.link == Link::Replace) {
                lineage.replaced.insert(destination.inst.id, source.inst);
            }
        }
        lineage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    /// `%destination origin <- link %source ...` for each destination, and how many are foreign.
    fn read(text: &str) -> (Vec<String>, usize) {
        let scene = Scene::read(text);
        let run = scene.run();
        let changes = Changes::new(&run);
        let lineage = Lineage::new(&run, &changes);
        let line = |d: &Destination<'_>| {
            let sources = d.sources.iter().map(|s| format!(" {:?} %{}", s.link, s.inst.0));
            format!("%{} {:?} <-{}", d.inst.id.0, d.origin, sources.collect::<String>()).to_lowercase()
        };
        (lineage.destinations.iter().map(line).collect(), lineage.strangers.len())
    }

    #[test]
    fn chains_of_temporaries_lead_to_p() {
        let (found, foreign) = read(
            "before
             b0: %1 add @1, %2 sub @2, %3 ret @3
             after
             b0: %5 add @1, %7 sub, %3 ret @3
             events
             clone %4 %1
             clone %5 %4
             create %6
             replace %2 %6
             create %7
             replace %6 %7
             erase %1
             erase %2
             erase %4
             erase %6",
        );
        assert_eq!(found, ["%5 cloned <- clone %1", "%7 created <- replace %2"]);
        assert_eq!(foreign, 0);
    }

    /// In the order in which they were taken over, each once, and no more than tell something.
    #[test]
    fn what_took_over_from_many() {
        let taken = |count: u32| {
            let old = |number: u32| format!("%{number} add @{number}, ");
            let take = |number: u32| format!("replace %{number} %900\nreplace-some %{number} %900\n");
            let insts: String = (1..=count).rev().map(old).collect();
            let events: String = (1..=count).rev().map(take).collect();
            let text = format!(
                "before\nb0: {insts}%999 ret @1\nafter\nb0: %900 sub, %999 ret @1\nevents\ncreate %900\n{events}"
            );
            read(&text).0
        };
        assert_eq!(taken(3), ["%900 created <- replace %3 replace %2 replace %1"]);
        for (count, listed) in [(64, 64), (65, 64), (80, 64)] {
            assert_eq!(taken(count)[0].matches("replace").count(), listed);
        }
    }

    #[test]
    fn a_cycle_of_replacements_ends() {
        let (found, _) = read(
            "before
             b0: %1 ret @1
             after
             b0: %2 add, %1 ret @1
             events
             create %2
             create %3
             replace %2 %3
             replace %3 %2",
        );
        assert_eq!(found, ["%2 created <-"]);
    }

    #[test]
    fn what_comes_from_another_function_is_counted() {
        let (found, foreign) = read(
            "before
             b0: %1 ret @1
             after
             b0: %2 add @7, %3 sub @8, %1 ret @1
             events
             clone %2 %99",
        );
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(foreign, 2);
    }

    #[test]
    fn moving_within_a_block_makes_no_destination() {
        let (found, _) = read(
            "before
             b0 -> b1: %1 add @1, %2 sub @2, %3 br @3
             b1: %4 mul @4, %5 ret @5
             after
             b0 -> b1: %2 sub @2, %1 add @1, %4 mul @4, %3 br @3
             b1: %5 ret @5
             events
             move %2 b0 b0
             remove %4 b1
             insert %4 b0",
        );
        assert_eq!(found, ["%4 moved <- move %4"]);
    }

    #[test]
    fn splits_and_copies_are_noticed() {
        let scene = Scene::read(
            "before
             b0 -> b1: %1 add @1, %2 sub @2, %3 br @3
             b1: %4 mul @4, %5 ret @5
             after
             b0 -> b2: %1 add @1, %9 br
             b2 -> b3: %2 sub @2, %3 br @3
             b3: %6 mul @4, %7 ret @5
             events
             move %2 b0 b2
             move %3 b0 b2
             create %9
             insert %9 b0
             clone %6 %4
             insert %6 b4
             clone %7 %5
             insert %7 b4
             move %6 b4 b3
             move %7 b4 b3",
        );
        let run = scene.run();
        let changes = Changes::new(&run);
        let lineage = Lineage::new(&run, &changes);
        assert_eq!(lineage.splits.get(&BlockId(2)), Some(&BlockId(0)));
        assert!(lineage.copies.contains(&(BlockId(1), BlockId(4))));
        assert!(lineage.copies.contains(&(BlockId(1), BlockId(3))), "b4 was merged into b3");
    }

    /// `CloneBasicBlock` without a function: the block is filled first and put there afterwards.
    fn unrolled(events: &str) -> Vec<(BlockId, BlockId)> {
        let scene = Scene::read(&format!(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp @3, %4 br @4
             b2: %5 ret @5
             after
             b0 -> b1: %1 br @1
             b1 -> b3: %2 add @2, %3 icmp @3, %4 br @4
             b3 -> b2: %6 add @2, %7 icmp @3, %8 br @4
             b2: %5 ret @5
             events
             {events}"
        ));
        let run = scene.run();
        let changes = Changes::new(&run);
        Lineage::new(&run, &changes).copies
    }

    #[test]
    fn a_block_that_was_copied_before_it_was_in_the_function() {
        let copies = unrolled("clone %6 %2\n clone %7 %3\n clone %8 %4");
        assert!(copies.contains(&(BlockId(1), BlockId(3))), "{copies:?}");
        let created = unrolled("create %6\n create %7\n create %8");
        assert!(created.is_empty(), "what is no copy makes none: {created:?}");
    }

    #[test]
    fn such_a_copy_that_was_merged_into_another_block() {
        let moved = "clone %6 %2\n clone %7 %3\n clone %8 %4\n move %6 b9 b3\n move %7 b9 b3\n move %8 b9 b3";
        let copies = unrolled(moved);
        assert!(copies.contains(&(BlockId(1), BlockId(9))), "{copies:?}");
        assert!(copies.contains(&(BlockId(1), BlockId(3))), "{copies:?}");
    }
}
