//! Reads the events of a run, in order, into what they say about each instruction and each block.

use metaloc_record::{BlockId, EventKind, InstFlags, InstId, LocId, LocationTable, Lookup, PassRun, StackId};
use rustc_hash::FxHashMap;

use super::sources::{MAX_CHAIN, MAX_REPLACED};
use super::{ReplacedBy, Updates};
use crate::changes::{Changes, Was};
use crate::inst_map::InstMap;

/// What the events say about one instruction. There are as many of these as a run has touched instructions, and they are
/// come by in the order of its events: in a large function each is a miss of the cache, so they are small.
#[derive(Debug, Clone)]
pub(super) struct Life {
    created: Maybe,
    clone_of: Maybe,
    moved: Maybe,
    /// When it came to the block that it is in; 0 if it was there when the run began.
    pub(super) since: u32,
    /// The block it was first put into, and when.
    placed: Maybe,
    placed_when: u32,
    /// The first of what it replaced, in [`Reader::links`].
    replaces: Maybe,
    pub(super) loc: LocId,
    pub(super) updates: Updates,
    removed: bool,
}

impl Default for Life {
    fn default() -> Self {
        Life {
            created: Maybe::default(),
            clone_of: Maybe::default(),
            moved: Maybe::default(),
            since: 0,
            placed: Maybe::default(),
            placed_when: 0,
            replaces: Maybe::default(),
            loc: LocId::NONE,
            updates: Updates::default(),
            removed: false,
        }
    }
}

impl Life {
    /// Where it was made, if it was made in the run.
    pub(super) fn created(&self) -> Option<StackId> {
        self.created.get().map(StackId)
    }

    /// What it is a copy of.
    pub(super) fn clone_of(&self) -> Option<InstId> {
        self.clone_of.get().map(InstId)
    }

    /// Where it was moved or put last.
    pub(super) fn moved(&self) -> Option<StackId> {
        self.moved.get().map(StackId)
    }

    /// The block it was first put into, and when.
    pub(super) fn placed(&self) -> Option<(BlockId, u32)> {
        Some((BlockId(self.placed.get()?), self.placed_when))
    }

    /// A copy leaves a block that got into the function with it: that is where it was put.
    fn leaves(&mut self, block: BlockId) {
        if self.clone_of().is_some() && self.placed.get().is_none() {
            (self.placed, self.placed_when) = (Maybe(block.0), self.since);
        }
    }

    /// Whether it took over uses of others.
    pub(super) fn replaces_any(&self) -> bool {
        self.replaces.get().is_some()
    }
}

/// A number that may be missing, without more room for that. No id and no place in a list is the largest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Maybe(u32);

impl Default for Maybe {
    fn default() -> Self {
        Maybe(u32::MAX)
    }
}

impl Maybe {
    fn get(self) -> Option<u32> {
        (self.0 != u32::MAX).then_some(self.0)
    }
}

/// An instruction whose uses another one took over: all of them, or some.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replaced {
    pub(super) old: InstId,
    pub(super) all: bool,
}

/// The events of a run, sorted by instruction and by block.
pub(super) struct Reader<'r, 'a> {
    pub(super) changes: &'r Changes<'a>,
    pub(super) locations: &'a LocationTable,
    pub(super) lookup: &'a dyn Lookup,
    pub(super) lives: InstMap<Life>,
    /// Instructions taken out of a block.
    pub(super) removed: FxHashMap<BlockId, Vec<Removal>>,
    /// The first instruction of each block that is not in P.
    filled_from: FxHashMap<BlockId, First>,
    /// Where the last instruction that left a block by a move went.
    emptied_into: FxHashMap<BlockId, BlockId>,
    /// Replacements in order.
    taken_over: Vec<(Replaced, InstId)>,
    /// What instructions replaced, each once, and where the next one of the same instruction is.
    links: Vec<(Replaced, Maybe)>,
    /// What an instruction was put behind by `insertAfter`, unless it was put elsewhere since.
    put_behind: FxHashMap<InstId, InstId>,
    /// Instructions that were made in the run and had no location when they were taken out.
    pub(super) bare_temporaries: Vec<InstId>,
}

/// What of a block was copied into another.
#[derive(Debug, Clone, Copy, Default)]
struct Copied {
    /// Instructions.
    count: u32,
    /// Its end is among them.
    end: bool,
    /// One of the copies took over from an instruction of another block.
    joins: bool,
}

/// What a new block began with.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    inst: InstId,
    /// Where it was moved from; `None` if it was inserted.
    from: Option<BlockId>,
}

/// An instruction was in a block for a while and then was taken out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    pub(super) inst: InstId,
    pub(super) since: u32,
    pub(super) when: u32,
    pub(super) to: Option<BlockId>,
}

impl<'r, 'a> Reader<'r, 'a> {
    pub(super) fn new(run: &PassRun<'a>, changes: &'r Changes<'a>) -> Self {
        let mut reader = Reader {
            changes,
            locations: run.locations,
            lookup: run.lookup,
            lives: InstMap::default(),
            removed: FxHashMap::default(),
            filled_from: FxHashMap::default(),
            emptied_into: FxHashMap::default(),
            taken_over: Vec::new(),
            links: Vec::new(),
            put_behind: FxHashMap::default(),
            bare_temporaries: Vec::new(),
        };
        for (when, event) in run.events.iter().enumerate() {
            reader.read(event.kind, event.stack, when as u32);
        }
        reader
    }

    fn read(&mut self, kind: EventKind, stack: StackId, when: u32) {
        if let EventKind::Replace { old, new, all } = kind {
            // What an instruction replaces by itself or by a constant links nothing.
            if let Some(new) = new.filter(|new| *new != old) {
                self.taken_over.push((Replaced { old, all }, new));
                self.replaced(new, Replaced { old, all });
            }
            return;
        }
        let copied_with = match kind {
            EventKind::SetLocation { inst, .. } => self.lives.get(inst).and_then(Life::clone_of),
            EventKind::Clone { old, .. } => Some(old),
            _ => None,
        };
        let copied_with = copied_with.map(|old| self.location_of(old));
        let life = self.lives.get_or_default(kind.inst());
        match kind {
            EventKind::Create { .. } => life.created = Maybe(stack.0),
            EventKind::Clone { old, .. } => {
                life.created = Maybe(stack.0);
                life.clone_of = Maybe(old.0);
                // Copying a location is no update.
                life.updates = Updates::default();
                life.loc = copied_with.unwrap_or(LocId::NONE);
            }
            EventKind::Insert { inst, block, .. } => {
                if life.placed.get().is_none() {
                    (life.placed, life.placed_when) = (Maybe(block.0), when);
                }
                life.moved = Maybe(stack.0);
                life.since = when;
                self.put_behind.remove(&inst);
                self.filled(block, First { inst, from: None });
            }
            EventKind::InsertAfter { inst, after } => drop(self.put_behind.insert(inst, after)),
            EventKind::Remove { inst, block } => {
                life.leaves(block);
                life.removed = true;
                if life.created().is_some() && !life.loc.is_some() {
                    self.bare_temporaries.push(inst);
                }
                let removal = Removal { inst, since: life.since, when, to: None };
                self.taken_out(block, removal);
            }
            EventKind::Move { inst, from, to } => {
                life.leaves(from);
                life.moved = Maybe(stack.0);
                self.put_behind.remove(&inst);
                let removal = Removal { inst, since: life.since, when, to: Some(to) };
                if from != to {
                    life.since = when;
                    self.taken_out(from, removal);
                    self.emptied_into.insert(from, to);
                }
                self.filled(to, First { inst, from: Some(from) });
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
            EventKind::Erase { inst } => {
                // It may die without having been taken out of its block first.
                let removal = Removal { inst, since: life.since, when, to: None };
                if !std::mem::replace(&mut life.removed, true)
                    && let Some(at) = self.changes.before(inst)
                {
                    self.taken_out(at.block, removal);
                }
            }
            EventKind::Replace { .. } => {}
        }
    }

    fn replaced(&mut self, new: InstId, replaced: Replaced) {
        let next = Maybe(self.links.len() as u32);
        let first = &mut self.lives.get_or_default(new).replaces;
        let Some(mut at) = first.get() else {
            *first = next;
            self.links.push((replaced, Maybe::default()));
            return;
        };
        let mut length = 1;
        loop {
            let (known, after) = &mut self.links[at as usize];
            if known.old == replaced.old {
                known.all |= replaced.all;
                return;
            }
            let Some(after) = after.get() else { break };
            (at, length) = (after, length + 1);
        }
        if length < MAX_REPLACED {
            self.links[at as usize].1 = next;
            self.links.push((replaced, Maybe::default()));
        }
    }

    /// What an instruction took over uses of, in order.
    pub(super) fn replaces(&self, life: &Life) -> impl Iterator<Item = Replaced> + '_ {
        let first = life.replaces.get();
        let places = std::iter::successors(first, |at| self.links[*at as usize].1.get());
        places.map(|at| self.links[at as usize].0)
    }

    /// Only what may be a terminator is kept.
    fn taken_out(&mut self, block: BlockId, removal: Removal) {
        let was = self.changes.was(removal.inst);
        if was.is_none_or(|was| was.inst.flags.has(InstFlags::TERMINATOR)) {
            self.removed.entry(block).or_default().push(removal);
        }
    }

    fn filled(&mut self, block: BlockId, first: First) {
        if self.changes.block_before(block).is_none() {
            self.filled_from.entry(block).or_insert(first);
        }
    }

    /// A new block whose first instructions came from an older one is the rest of that one: that is how
    /// `splitBasicBlock` fills it, and what is put there later does not change it.
    pub(super) fn splits(&self) -> FxHashMap<BlockId, BlockId> {
        let root = |mut block: BlockId| {
            for _ in 0..MAX_CHAIN {
                match self.filled_from.get(&block) {
                    None => return Some(block),
                    Some(first) => block = first.from?,
                }
            }
            None
        };
        let blocks = self.filled_from.keys().filter_map(|block| Some((*block, root(*block)?)));
        blocks.collect()
    }

    /// The first instruction of what was split off a block, if a block is that.
    pub(super) fn split_at(&self, block: BlockId, rest: BlockId) -> Option<InstId> {
        self.filled_from.get(&rest).filter(|first| first.from == Some(block)).map(|first| first.inst)
    }

    /// The location of an instruction when the run began, or that it has by now if it is younger.
    fn location_of(&self, inst: InstId) -> LocId {
        match self.changes.was(inst) {
            Some(was) => was.inst.loc,
            None => self.lives.get(inst).map_or(LocId::NONE, |life| life.loc),
        }
    }

    /// Blocks that were copied into new blocks: their terminator was, or all but that. Several
    /// instructions will do, since copies are simplified at once; one out of several is what hoisting by
    /// copy looks like. An end alone is no copy of its block if the block leads to it now, or
    /// if it took over from that of another: several ends became one.
    pub(super) fn copies(&self) -> Vec<(BlockId, BlockId)> {
        let mut copied: FxHashMap<(BlockId, BlockId), Copied> = FxHashMap::default();
        for (inst, life) in self.lives.iter() {
            // `CloneBasicBlock` fills a block that is in no function yet, and unrolling puts it there afterwards.
            let inserted = || self.changes.after(inst).map(|at| at.block);
            let place = life.placed().map(|(block, _)| block).or_else(inserted);
            let (Some(old), Some(block)) = (life.clone_of(), place) else { continue };
            let Some(root) = self.root(old) else { continue };
            if self.changes.block_before(block).is_none() {
                let entry = copied.entry((root.at.block, block)).or_default();
                entry.count += 1;
                entry.end |= root.inst.flags.has(InstFlags::TERMINATOR);
                let others = self.replaces(life).filter_map(|replaced| self.changes.before(replaced.old));
                entry.joins |= others.into_iter().any(|at| at.block != root.at.block);
            }
        }
        let all = |block: BlockId| {
            let insts = self.changes.block_before(block).into_iter().flat_map(|block| &block.insts);
            insts.filter(|i| !i.flags.has(InstFlags::PHI) && !i.flags.has(InstFlags::TERMINATOR)).count()
        };
        // Control passes the end of a block and then what is put there in place of it, unless the two are iterations.
        let is_joined = |old: BlockId, into: BlockId| {
            let loops = self.changes.block_before(old).is_some_and(|block| block.successors.contains(&old));
            !loops && self.changes.block_after(old).is_some_and(|block| block.successors == [into])
        };
        let copied = copied.into_iter().filter(|((block, into), copied)| match copied {
            Copied { count: 1, end: true, joins } => !joins && !is_joined(*block, *into),
            Copied { count, end, .. } => *end || *count > 1 || *count as usize >= all(*block),
        });
        let pair = |((old, into), _): ((BlockId, BlockId), _)| [(old, into), (old, self.merged_into(into))];
        copied.flat_map(pair).collect()
    }

    /// The block that a block is part of in P', if it was merged.
    fn merged_into(&self, mut block: BlockId) -> BlockId {
        for _ in 0..MAX_CHAIN {
            match self.emptied_into.get(&block) {
                Some(into) if self.changes.block_after(block).is_none() => block = *into,
                _ => break,
            }
        }
        block
    }

    pub(super) fn replaced_by(&self) -> FxHashMap<InstId, ReplacedBy> {
        let valid = self.taken_over.iter().filter(|(replaced, _)| self.stands_for(replaced));
        let created = |inst: &InstId| {
            self.lives.get(*inst).is_some_and(|life| life.created().is_some() && life.clone_of().is_none())
        };
        valid.map(|(r, new)| (r.old, ReplacedBy { inst: *new, created: created(new) })).collect()
    }

    /// See [`super::Lineage::taken_in_part`].
    pub(super) fn taken_in_part(&self) -> FxHashMap<InstId, Vec<InstId>> {
        let mut taken: FxHashMap<InstId, Vec<InstId>> = FxHashMap::default();
        let is_new = |inst: InstId| self.lives.get(inst).is_some_and(|life| life.created().is_some());
        for (replaced, new) in &self.taken_over {
            if !self.stands_for(replaced) && self.changes.was(replaced.old).is_some() && is_new(*new) {
                taken.entry(*new).or_default().push(replaced.old);
            }
        }
        taken
    }

    /// The instructions of P that what was put somewhere by `insertAfter` was put behind, through others that were.
    pub(super) fn put_behind(&self) -> FxHashMap<InstId, InstId> {
        let root = |mut after: InstId| {
            for _ in 0..MAX_CHAIN {
                if self.changes.was(after).is_some() {
                    return Some(after);
                }
                after = *self.put_behind.get(&after)?;
            }
            None
        };
        self.put_behind.iter().filter_map(|(inst, after)| Some((*inst, root(*after)?))).collect()
    }

    /// Where an instruction was made, or else put where it is.
    pub(super) fn site(&self, inst: InstId) -> StackId {
        let life = self.lives.get(inst);
        life.and_then(|life| life.created().or(life.moved())).unwrap_or(StackId(0))
    }

    /// The instruction of P that a chain of copies began with.
    pub(super) fn root(&self, mut inst: InstId) -> Option<&Was> {
        for _ in 0..MAX_CHAIN {
            if let Some(was) = self.changes.was(inst) {
                return Some(was);
            }
            inst = self.lives.get(inst)?.clone_of()?;
        }
        None
    }
}
