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
//! - position (ours): the neighbours of the destination, and only if nothing stronger is known. That is
//!   not read here but by the one rule that uses it.
//!
//! They all go through instructions that lived in this run only: a copy of a copy has the
//! original as its source, and what replaced a temporary replaced what that one had replaced. A source is
//! an instruction of P in this function. A destination that leads to anything else (inlining) cannot be
//! judged and is only counted.

use metaloc_record::{BlockId, EventKind, Inst, InstFlags, InstId, LocId, LocationTable, PassRun, StackId};
use rustc_hash::FxHashMap;

use crate::changes::{At, Changes};
use crate::finding::{Link, Source};
use crate::location_sets::is_real;

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

/// What the events say about one instruction.
#[derive(Debug, Clone)]
struct Life {
    created: Option<StackId>,
    clone_of: Option<InstId>,
    moved: Option<StackId>,
    /// When it came to the block that it is in; 0 if it was there when the run began.
    since: u32,
    /// The block it was first put into, and when.
    placed: Option<(BlockId, u32)>,
    replaces: Vec<Replaced>,
    updates: Updates,
    loc: LocId,
}

impl Default for Life {
    fn default() -> Self {
        Life {
            created: None,
            clone_of: None,
            moved: None,
            since: 0,
            placed: None,
            replaces: Vec::new(),
            updates: Updates::default(),
            loc: LocId::NONE,
        }
    }
}

/// An instruction whose uses another one took over: all of them, or some.
#[derive(Debug, Clone, Copy)]
struct Replaced {
    old: InstId,
    all: bool,
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
    /// Blocks of P' that are new, with the block of P that they were split off.
    pub splits: FxHashMap<BlockId, BlockId>,
    /// The instruction that took over the uses of another one, the last if there were several.
    pub replaced_by: FxHashMap<InstId, InstId>,
    /// The instruction of P whose uses another one took over, the first if there were several.
    pub replaced: FxHashMap<InstId, InstId>,
}

impl<'a> Lineage<'a> {
    /// Reads the events of a run.
    pub fn new(run: &PassRun<'a>, changes: &Changes<'a>) -> Lineage<'a> {
        let reader = Reader::new(run, changes);
        let mut lineage = Lineage {
            copies: reader.copies(),
            splits: reader.splits(),
            replaced_by: reader.replaced_by(),
            ..Lineage::default()
        };
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
        for destination in &lineage.destinations {
            if let Some(source) = destination.sources.iter().find(|s| s.link == Link::Replace) {
                lineage.replaced.insert(destination.inst.id, source.inst);
            }
        }
        lineage
    }
}

/// A source is in another function.
struct Foreign;

struct Reader<'r, 'a> {
    changes: &'r Changes<'a>,
    locations: &'a LocationTable,
    lives: FxHashMap<InstId, Life>,
    /// Instructions taken out of a block.
    removed: FxHashMap<BlockId, Vec<Removal>>,
    /// Where the first instruction of a block that is not in P was moved from; `None` if it was inserted.
    filled_from: FxHashMap<BlockId, Option<BlockId>>,
    /// Where the last instruction that left a block by a move went.
    emptied_into: FxHashMap<BlockId, BlockId>,
}

/// An instruction was in a block for a while and then was taken out.
#[derive(Debug, Clone, Copy)]
struct Removal {
    inst: InstId,
    since: u32,
    when: u32,
    to: Option<BlockId>,
}

impl<'r, 'a> Reader<'r, 'a> {
    fn new(run: &PassRun<'a>, changes: &'r Changes<'a>) -> Self {
        let mut reader = Reader {
            changes,
            locations: run.locations,
            lives: FxHashMap::default(),
            removed: FxHashMap::default(),
            filled_from: FxHashMap::default(),
            emptied_into: FxHashMap::default(),
        };
        for (when, event) in run.events.iter().enumerate() {
            reader.read(event.kind, event.stack, when as u32);
        }
        reader
    }

    fn read(&mut self, kind: EventKind, stack: StackId, when: u32) {
        if let EventKind::Erase { inst } = kind {
            return self.erased(inst, when);
        }
        if let EventKind::Replace { old, new, all } = kind {
            // What an instruction replaces by itself or by a constant links nothing.
            if let Some(new) = new.filter(|new| *new != old) {
                let replaces = &mut self.lives.entry(new).or_default().replaces;
                let room = replaces.len() < MAX_REPLACED;
                match replaces.iter_mut().find(|r| r.old == old) {
                    Some(known) => known.all |= all,
                    None if room => replaces.push(Replaced { old, all }),
                    None => {}
                }
            }
            return;
        }
        let copied_with = match kind {
            EventKind::SetLocation { inst, .. } => self.lives.get(&inst).and_then(|life| life.clone_of),
            EventKind::Clone { old, .. } => Some(old),
            _ => None,
        };
        let copied_with = copied_with.map(|old| self.location_of(old));
        let life = self.lives.entry(kind.inst()).or_default();
        match kind {
            EventKind::Create { .. } => life.created = Some(stack),
            EventKind::Clone { old, .. } => {
                life.created = Some(stack);
                life.clone_of = Some(old);
                // Copying a location is no update.
                life.updates = Updates::default();
                life.loc = copied_with.unwrap_or(LocId::NONE);
            }
            EventKind::Insert { block, .. } => {
                life.placed.get_or_insert((block, when));
                life.moved = Some(stack);
                life.since = when;
                self.filled(block, None);
            }
            EventKind::Remove { inst, block } => {
                let removal = Removal { inst, since: life.since, when, to: None };
                self.removed.entry(block).or_default().push(removal);
            }
            EventKind::Move { inst, from, to } => {
                life.moved = Some(stack);
                let removal = Removal { inst, since: life.since, when, to: Some(to) };
                if from != to {
                    life.since = when;
                    self.removed.entry(from).or_default().push(removal);
                    self.emptied_into.insert(from, to);
                }
                self.filled(to, Some(from));
            }
            EventKind::SetLocation { loc, .. } => {
                life.loc = loc;
                life.updates.dropped |= loc == LocId::NONE;
                life.updates.set |= loc.is_some() && copied_with != Some(loc);
            }
            EventKind::MergeLocation { .. } => life.updates.merged = true,
            EventKind::DropLocation { .. } | EventKind::UpdateAfterHoist { .. } => {
                life.updates.dropped = true
            }
            EventKind::Replace { .. } | EventKind::Erase { .. } => {}
        }
    }

    fn filled(&mut self, block: BlockId, from: Option<BlockId>) {
        if self.changes.index_before(block).is_none() {
            self.filled_from.entry(block).or_insert(from);
        }
    }

    /// A new block whose first instructions came from an older one is the rest of that one: that is how
    /// `splitBasicBlock` fills it, and what is put there later does not change it.
    fn splits(&self) -> FxHashMap<BlockId, BlockId> {
        let root = |mut block: BlockId| {
            for _ in 0..MAX_CHAIN {
                match self.filled_from.get(&block) {
                    None => return Some(block),
                    Some(from) => block = (*from)?,
                }
            }
            None
        };
        let blocks = self.filled_from.keys().filter_map(|block| Some((*block, root(*block)?)));
        blocks.collect()
    }

    /// An instruction that dies without having been taken out of its block first.
    fn erased(&mut self, inst: InstId, when: u32) {
        let Some(at) = self.changes.before(inst) else { return };
        let removals = self.removed.entry(self.changes.block_before(at.block).id).or_default();
        if !removals.iter().any(|r| r.inst == inst) {
            removals.push(Removal { inst, since: 0, when, to: None });
        }
    }

    /// The location of an instruction when the run began, or that it has by now if it is younger.
    fn location_of(&self, inst: InstId) -> LocId {
        match self.changes.before(inst) {
            Some(at) => self.changes.inst_before(at).loc,
            None => self.lives.get(&inst).map_or(LocId::NONE, |life| life.loc),
        }
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
        let placed = match origin {
            Origin::Moved => block,
            Origin::Created | Origin::Cloned => life.placed.map_or(block, |(block, _)| block),
        };
        let mut sources = Sources { reader: self, found: Vec::new(), passage: Passage::Direct, steps: 0 };
        sources.of(inst.id, 0)?;
        if inst.flags.has(InstFlags::TERMINATOR) && origin == Origin::Created {
            sources.of_terminator(inst.id, placed)?;
        }
        let passage = sources.passage;
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
            placed,
            site: site.unwrap_or(StackId(0)),
            sources,
            updates: life.updates,
            passage,
        }))
    }

    /// True unless only some uses were taken over and the other one lives on: then the new one stands
    /// beside it, as the PHIs of SSA repair do.
    fn stands_for(&self, replaced: &Replaced) -> bool {
        replaced.all || self.changes.after(replaced.old).is_none()
    }

    /// What a location meets in a temporary, given what it meets later.
    fn passage(&self, life: &Life, later: Passage) -> Passage {
        match life.created {
            _ if is_real(self.locations, life.loc) => Passage::Kept,
            Some(site) if !life.loc.is_some() && !life.updates.dropped && life.clone_of.is_none() => {
                if later == Passage::Dropped { later } else { Passage::Lost(site) }
            }
            _ => Passage::Dropped,
        }
    }

    /// Blocks that were copied into new blocks: their terminator was, or all but that. Several
    /// instructions will do, since copies are simplified at once; one out of several is what hoisting by
    /// copy looks like.
    fn copies(&self) -> Vec<(BlockId, BlockId)> {
        let mut copied: FxHashMap<(u32, BlockId), (u32, bool)> = FxHashMap::default();
        for life in self.lives.values() {
            let (Some(old), Some((block, _))) = (life.clone_of, life.placed) else { continue };
            let Some(root) = self.root(old) else { continue };
            if self.changes.index_before(block).is_none() {
                let entry = copied.entry((root.block, block)).or_default();
                entry.0 += 1;
                entry.1 |= self.changes.inst_before(root).flags.has(InstFlags::TERMINATOR);
            }
        }
        let all = |block: u32| {
            let insts = self.changes.block_before(block).insts.iter();
            insts.filter(|i| !i.flags.has(InstFlags::PHI) && !i.flags.has(InstFlags::TERMINATOR)).count()
        };
        let copied = copied
            .into_iter()
            .filter(|((block, _), (count, end))| *end || *count > 1 || *count as usize >= all(*block));
        let pair = |((block, into), _): ((u32, BlockId), _)| {
            let old = self.changes.block_before(block).id;
            [(old, into), (old, self.merged_into(into))]
        };
        copied.flat_map(pair).collect()
    }

    /// The block that a block is part of in P', if it was merged.
    fn merged_into(&self, mut block: BlockId) -> BlockId {
        for _ in 0..MAX_CHAIN {
            match self.emptied_into.get(&block) {
                Some(into) if self.changes.index_after(block).is_none() => block = *into,
                _ => break,
            }
        }
        block
    }

    fn replaced_by(&self) -> FxHashMap<InstId, InstId> {
        let pairs = self.lives.iter().flat_map(|(new, life)| life.replaces.iter().map(|r| (r, *new)));
        pairs.filter(|(replaced, _)| self.stands_for(replaced)).map(|(r, new)| (r.old, new)).collect()
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

    /// The terminator whose place a terminator took that was put into the block: the one that was there
    /// and was taken out later, or else the last one that was taken out before.
    fn replaced_terminator(&self, inst: InstId, block: BlockId) -> Option<InstId> {
        let when = self.lives.get(&inst)?.placed.map_or(0, |(_, when)| when);
        let others = self.removed.get(&block)?.iter().filter(|r| r.inst != inst);
        let terminators = others.clone().filter(|r| self.is_terminator(r.inst) == Some(true));
        let there = terminators.filter(|r| r.since <= when && when < r.when).min_by_key(|r| r.when);
        let earlier = || {
            let maybe = others.filter(|r| r.when <= when && self.is_terminator(r.inst) != Some(false));
            maybe.max_by_key(|r| r.when)
        };
        let removal = there.or_else(earlier)?;
        let leads_to = |to: BlockId| {
            let index = self.changes.index_after(block);
            index.is_some_and(|i| self.changes.block_after(i).successors == [to])
        };
        let split = removal.to.is_some_and(leads_to);
        (!split).then_some(removal.inst)
    }

    /// `None` for a temporary of unknown kind. If it was none, it leads to nothing or to what it replaced.
    fn is_terminator(&self, inst: InstId) -> Option<bool> {
        match self.root(inst) {
            Some(at) => Some(self.changes.inst_before(at).flags.has(InstFlags::TERMINATOR)),
            None if self.lives.get(&inst).is_some_and(|life| life.replaces.is_empty()) => None,
            None => Some(false),
        }
    }
}

/// Collects the sources of one destination.
struct Sources<'s, 'r, 'a> {
    reader: &'s Reader<'r, 'a>,
    found: Vec<Source>,
    passage: Passage,
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
        for replaced in &life.replaces {
            // What is replaced may be anything that was there for a moment; it need not lead to P.
            if self.reader.stands_for(replaced) {
                let _ = self.follow(replaced.old, Link::Replace, depth);
            }
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
            // A temporary without a source of its own took the place of the one before it.
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
        self.passage = self.reader.passage(life, self.passage);
        if let Some(old) = life.clone_of {
            self.follow(old, link, depth + 1)?;
        }
        for replaced in &life.replaces {
            let _ = self.follow(replaced.old, link.max(Link::Replace), depth + 1);
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
