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
//! - position (ours): the neighbour that the destination was put in front of, and only if nothing
//!   stronger is known and the destination has no location. The rule decides what that is worth.
//!
//! All but the last go through instructions that lived in this run only: a copy of a copy has the
//! original as its source, and what replaced a temporary replaced what that one had replaced. A source is
//! an instruction of P in this function. A destination that leads to anything else (inlining) cannot be
//! judged and is only counted.

use metaloc_record::{BlockId, EventKind, Inst, InstFlags, InstId, LocId, PassRun, StackId};
use rustc_hash::FxHashMap;

use crate::changes::{At, Changes};
use crate::finding::{Link, Source};

/// How deep chains of temporaries are followed. LLVM's are two or three long; a cycle must end.
const MAX_CHAIN: u32 = 16;

/// How many replaced instructions are listed as sources. More of them say nothing that these do not.
const MAX_REPLACED: usize = 64;

/// An instruction of P' that needs its location looked at.
#[derive(Debug, Clone)]
pub struct Destination<'a> {
    /// The instruction with the location it ended up with.
    pub inst: &'a Inst,
    /// Where it is in P'.
    pub at: At,
    /// How it came about.
    pub origin: Origin,
    /// Where it was created, cloned or moved.
    pub site: StackId,
    /// What it came from, strongest link first; for a link several may be of one kind.
    pub sources: Vec<Source>,
    /// Which update calls were seen.
    pub updates: Updates,
    /// Where it was first put: in front of what.
    pub placed: Option<Placed>,
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

/// A place in a block, at the time of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The block.
    pub block: BlockId,
    /// What was behind it; `None` at the end of the block.
    pub before: Option<InstId>,
}

/// What the events say about one instruction.
#[derive(Debug, Clone, Default)]
struct Life {
    created: Option<StackId>,
    clone_of: Option<InstId>,
    moved: Option<StackId>,
    placed: Option<(Placed, u32)>,
    replaces: Vec<InstId>,
    updates: Updates,
}

/// All destinations of a run.
#[derive(Debug, Default)]
pub struct Lineage<'a> {
    /// Those that can be judged, in the order of P'.
    pub destinations: Vec<Destination<'a>>,
    /// How many lead out of the function.
    pub foreign: usize,
    /// (block of P, block of P' that is new) such that the run copied the first into the second.
    pub copies: Vec<(BlockId, BlockId)>,
    /// The instruction that took over the uses of another one, the last if there were several.
    pub replaced_by: FxHashMap<InstId, InstId>,
}

impl<'a> Lineage<'a> {
    /// Reads the events of a run.
    pub fn new(run: &PassRun<'a>, changes: &Changes<'a>) -> Lineage<'a> {
        let reader = Reader::new(run, changes);
        let mut lineage =
            Lineage { copies: reader.copies(), replaced_by: reader.replaced_by(), ..Lineage::default() };
        for &index in changes.changed() {
            let block = changes.block_after(index);
            for (position, inst) in block.insts.iter().enumerate() {
                let at = At { block: index, position: position as u32 };
                match reader.destination(inst, at, block.id) {
                    Ok(Some(destination)) => lineage.destinations.push(destination),
                    Ok(None) => {}
                    Err(Foreign) => lineage.foreign += 1,
                }
            }
        }
        lineage
    }
}

/// A source is in another function.
struct Foreign;

struct Reader<'r, 'a> {
    changes: &'r Changes<'a>,
    lives: FxHashMap<InstId, Life>,
    /// Instructions taken out of a block: (block, instruction, when, where it went if it was moved).
    removed: FxHashMap<BlockId, Vec<Removal>>,
}

#[derive(Debug, Clone, Copy)]
struct Removal {
    inst: InstId,
    when: u32,
    to: Option<BlockId>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(run: &PassRun<'a>, changes: &'r Changes<'a>) -> Self {
        let mut reader = Reader { changes, lives: FxHashMap::default(), removed: FxHashMap::default() };
        for (when, event) in run.events.iter().enumerate() {
            reader.read(event.kind, event.stack, when as u32);
        }
        reader
    }

    fn read(&mut self, kind: EventKind, stack: StackId, when: u32) {
        if let EventKind::Erase { inst } = kind {
            return self.erased(inst, when);
        }
        if let EventKind::Replace { old, new, .. } = kind {
            // What an instruction replaces by itself or by a constant links nothing.
            if let Some(new) = new.filter(|new| *new != old) {
                let replaces = &mut self.lives.entry(new).or_default().replaces;
                if replaces.len() < MAX_REPLACED && !replaces.contains(&old) {
                    replaces.push(old);
                }
            }
            return;
        }
        let copied_with = match kind {
            EventKind::SetLocation { inst, .. } => self.copied_with(inst),
            _ => None,
        };
        let life = self.lives.entry(kind.inst()).or_default();
        match kind {
            EventKind::Create { .. } => life.created = Some(stack),
            EventKind::Clone { old, .. } => {
                life.created = Some(stack);
                life.clone_of = Some(old);
                // Copying a location is no update.
                life.updates = Updates::default();
            }
            EventKind::Insert { block, before, .. } => {
                life.placed.get_or_insert((Placed { block, before }, when));
                life.moved = Some(stack);
            }
            EventKind::Remove { inst, block } => {
                self.removed.entry(block).or_default().push(Removal { inst, when, to: None });
            }
            EventKind::Move { inst, from, to } => {
                life.moved = Some(stack);
                if from != to {
                    self.removed.entry(from).or_default().push(Removal { inst, when, to: Some(to) });
                }
            }
            EventKind::SetLocation { loc, .. } if loc == LocId::NONE => life.updates.dropped = true,
            EventKind::SetLocation { loc, .. } => life.updates.set |= copied_with != Some(loc),
            EventKind::MergeLocation { .. } => life.updates.merged = true,
            EventKind::DropLocation { .. } | EventKind::UpdateAfterHoist { .. } => {
                life.updates.dropped = true
            }
            EventKind::Replace { .. } | EventKind::Erase { .. } => {}
        }
    }

    /// An instruction that dies without having been taken out of its block first.
    fn erased(&mut self, inst: InstId, when: u32) {
        let Some(at) = self.changes.before(inst) else { return };
        let removals = self.removed.entry(self.changes.block_before(at.block).id).or_default();
        if !removals.iter().any(|r| r.inst == inst) {
            removals.push(Removal { inst, when, to: None });
        }
    }

    fn copied_with(&self, inst: InstId) -> Option<LocId> {
        let old = self.lives.get(&inst)?.clone_of?;
        Some(self.changes.inst_before(self.changes.before(old)?).loc)
    }

    fn destination(
        &self,
        inst: &'a Inst,
        at: At,
        block: BlockId,
    ) -> Result<Option<Destination<'a>>, Foreign> {
        let life = self.lives.get(&inst.id);
        let old = self.changes.before(inst.id);
        let origin = match (old, life) {
            (Some(old), _) if self.changes.block_before(old.block).id == block => return Ok(None),
            (Some(_), _) => Origin::Moved,
            (None, Some(life)) if life.clone_of.is_some() => Origin::Cloned,
            (None, Some(life)) if life.created.is_some() => Origin::Created,
            // Neither in P nor made in this run: it came from another function.
            (None, _) => return Err(Foreign),
        };
        let unseen = Life::default();
        let life = life.unwrap_or(&unseen);
        let mut sources = Sources { reader: self, found: Vec::new(), steps: 0 };
        sources.of(inst.id, 0)?;
        if inst.flags.has(InstFlags::TERMINATOR) && origin == Origin::Created {
            sources.of_terminator(inst.id, block)?;
        }
        let mut sources = sources.found;
        sources.sort_by_key(|s| s.link);
        let site = match origin {
            Origin::Moved => life.moved,
            Origin::Created | Origin::Cloned => life.created,
        };
        Ok(Some(Destination {
            inst,
            at,
            origin,
            site: site.unwrap_or(StackId(0)),
            sources,
            updates: life.updates,
            placed: life.placed.map(|(placed, _)| placed),
        }))
    }

    /// Blocks that were copied whole into new blocks: the terminator was, or everything else was.
    ///
    /// A single instruction is not enough for the latter, since that is what hoisting by copy looks like.
    fn copies(&self) -> Vec<(BlockId, BlockId)> {
        let mut copied: FxHashMap<(u32, BlockId), (u32, bool)> = FxHashMap::default();
        for life in self.lives.values() {
            let (Some(old), Some((placed, _))) = (life.clone_of, life.placed) else { continue };
            let Some(root) = self.root(old) else { continue };
            if self.changes.index_before(placed.block).is_none() {
                let flags = self.changes.inst_before(root).flags;
                let entry = copied.entry((root.block, placed.block)).or_default();
                entry.0 += u32::from(!flags.has(InstFlags::PHI) && !flags.has(InstFlags::TERMINATOR));
                entry.1 |= flags.has(InstFlags::TERMINATOR);
            }
        }
        let whole = |block: u32, count: u32| {
            let insts = &self.changes.block_before(block).insts;
            let plain = insts.iter().filter(|i| !i.flags.has(InstFlags::PHI)).count().saturating_sub(1);
            count >= 2 && count as usize >= plain
        };
        let copied = copied.into_iter().filter(|((block, _), (count, end))| *end || whole(*block, *count));
        copied.map(|((block, into), _)| (self.changes.block_before(block).id, into)).collect()
    }

    fn replaced_by(&self) -> FxHashMap<InstId, InstId> {
        let pairs = self.lives.iter().flat_map(|(new, life)| life.replaces.iter().map(|old| (*old, *new)));
        pairs.collect()
    }

    /// The instruction of P that a chain of copies began with.
    fn root(&self, mut inst: InstId) -> Option<At> {
        for _ in 0..MAX_CHAIN {
            if let Some(at) = self.changes.before(inst) {
                return Some(at);
            }
            inst = self.lives.get(&inst)?.clone_of?;
        }
        None
    }

    /// The terminator whose place a terminator took that was put into the block: the last one taken out
    /// before, or else the first one after.
    fn replaced_terminator(&self, inst: InstId, block: BlockId) -> Option<InstId> {
        let when = self.lives.get(&inst)?.placed.map_or(0, |(_, when)| when);
        let removals = self.removed.get(&block)?;
        let mut candidates = removals.iter().filter(|r| r.inst != inst && self.is_terminator(r.inst));
        let earlier = candidates.clone().filter(|r| r.when < when).max_by_key(|r| r.when);
        let removal = earlier.or_else(|| candidates.find(|r| r.when >= when))?;
        let leads_to = |to: BlockId| {
            let index = self.changes.index_after(block);
            index.is_some_and(|i| self.changes.block_after(i).successors == [to])
        };
        let split = removal.to.is_some_and(leads_to);
        (!split).then_some(removal.inst)
    }

    fn is_terminator(&self, inst: InstId) -> bool {
        match self.root(inst) {
            Some(at) => self.changes.inst_before(at).flags.has(InstFlags::TERMINATOR),
            // A temporary of unknown kind that was put at the end of its block.
            None => self.lives.get(&inst).is_some_and(|life| {
                life.created.is_some() && life.placed.is_some_and(|(placed, _)| placed.before.is_none())
            }),
        }
    }
}

/// Collects the sources of one destination.
struct Sources<'s, 'r, 'a> {
    reader: &'s Reader<'r, 'a>,
    found: Vec<Source>,
    steps: usize,
}

impl Sources<'_, '_, '_> {
    fn of(&mut self, inst: InstId, depth: u32) -> Result<(), Foreign> {
        if self.reader.changes.before(inst).is_some() {
            self.add(inst, Link::Move);
        }
        let Some(life) = self.reader.lives.get(&inst) else { return Ok(()) };
        if let Some(old) = life.clone_of {
            self.follow(old, Link::Clone, depth)?;
        }
        for &old in &life.replaces {
            // What is replaced may be anything that was there for a moment; it need not lead to P.
            let _ = self.follow(old, Link::Replace, depth);
        }
        Ok(())
    }

    fn of_terminator(&mut self, inst: InstId, block: BlockId) -> Result<(), Foreign> {
        let mut inst = inst;
        for depth in 0..MAX_CHAIN {
            let Some(old) = self.reader.replaced_terminator(inst, block) else { return Ok(()) };
            let count = self.found.len();
            self.follow(old, Link::Terminator, depth)?;
            if self.found.len() > count {
                return Ok(());
            }
            inst = old;
        }
        Ok(())
    }

    fn follow(&mut self, inst: InstId, link: Link, depth: u32) -> Result<(), Foreign> {
        if self.reader.changes.before(inst).is_some() {
            self.add(inst, link);
            return Ok(());
        }
        let life = self.reader.lives.get(&inst).filter(|life| life.created.is_some()).ok_or(Foreign)?;
        self.steps += 1;
        if depth >= MAX_CHAIN || self.steps > MAX_REPLACED * 4 {
            return Ok(());
        }
        if let Some(old) = life.clone_of {
            self.follow(old, link, depth + 1)?;
        }
        for &old in &life.replaces {
            let _ = self.follow(old, link.max(Link::Replace), depth + 1);
        }
        Ok(())
    }

    fn add(&mut self, inst: InstId, link: Link) {
        let Some(at) = self.reader.changes.before(inst) else { return };
        match self.found.iter_mut().find(|s| s.inst == inst) {
            Some(known) => known.link = known.link.min(link),
            None => self.found.push(Source { inst, loc: self.reader.changes.inst_before(at).loc, link }),
        }
    }
}
