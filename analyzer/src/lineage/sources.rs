//! The sources of one destination: links followed back to P.

use metaloc_record::{BlockId, Inst, InstFlags, InstId, StackId};

use super::reader::{Life, Reader, Replaced};
use super::{Destination, Origin, Passage};
use crate::changes::At;
use crate::finding::{Link, Source};
use crate::location_sets::is_real;

/// How deep chains of temporaries are followed. LLVM's are two or three long; a cycle must end.
pub(super) const MAX_CHAIN: u32 = 16;

/// How many replaced instructions are listed as sources. More of them say nothing that these do not.
pub(super) const MAX_REPLACED: usize = 64;

/// A source is in another function.
pub(super) struct Foreign;

impl<'a> Reader<'_, 'a> {
    /// What the events say about an instruction of P' in a changed block; `None` if it is no destination.
    pub(super) fn destination(&self, inst: &'a Inst, at: At) -> Result<Option<Destination<'a>>, Foreign> {
        let life = self.lives.get(inst.id);
        let old = self.changes.before(inst.id);
        let origin = match (old, life) {
            (Some(old), _) if old.block == at.block => return Ok(None),
            (Some(_), _) => Origin::Moved,
            (None, Some(life)) if life.clone_of().is_some() => Origin::Cloned,
            (None, Some(life)) if life.created().is_some() => Origin::Created,
            // Neither in P nor made in this run: it came from another function.
            (None, _) => return Err(Foreign),
        };
        let unseen = Life::default();
        let life = life.unwrap_or(&unseen);
        let placed = match origin {
            Origin::Moved => at.block,
            Origin::Created | Origin::Cloned => life.placed().map_or(at.block, |(block, _)| block),
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
            Origin::Moved => life.moved(),
            Origin::Created | Origin::Cloned => life.created(),
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
            stored: false,
        }))
    }

    /// True unless only some uses were taken over and the other one lives on: then the new one stands
    /// beside it, as the PHIs of SSA repair do.
    pub(super) fn stands_for(&self, replaced: &Replaced) -> bool {
        replaced.all || self.changes.after(replaced.old).is_none()
    }

    /// What a location meets in a temporary, given what it meets later.
    fn passage(&self, life: &Life, later: Passage) -> Passage {
        match life.created() {
            _ if is_real(self.locations, life.loc) => Passage::Kept,
            Some(site) if !life.loc.is_some() && !life.updates.dropped && life.clone_of().is_none() => {
                if later == Passage::Dropped {
                    later
                } else {
                    Passage::Lost(site)
                }
            }
            _ => Passage::Dropped,
        }
    }

    /// The terminator whose place a terminator took that was put into the block: the one that was there
    /// and was taken out later, or else the last one that was taken out before. If that one went with the rest of the
    /// block, what decides at the split stands for what the rest begins with: that is how `splitBasicBlock` locates
    /// the branch that it leaves there.
    fn replaced_terminator(&self, inst: InstId, block: BlockId) -> Option<(InstId, Link)> {
        let when = self.lives.get(inst)?.placed().map_or(0, |(_, when)| when);
        let others = self.removed.get(&block)?.iter().filter(|r| r.inst != inst);
        let terminators = others.clone().filter(|r| self.is_terminator(r.inst) == Some(true));
        let there = terminators.filter(|r| r.since <= when && when < r.when).min_by_key(|r| r.when);
        let earlier = || {
            let maybe = others.filter(|r| r.when <= when && self.is_terminator(r.inst) != Some(false));
            maybe.max_by_key(|r| r.when)
        };
        let removal = there.or_else(earlier)?;
        let leads_to =
            |to: BlockId| self.changes.block_after(block).is_some_and(|block| block.successors == [to]);
        if removal.to.is_some_and(leads_to) {
            return None;
        }
        let located =
            |inst: &InstId| self.changes.was(*inst).is_some_and(|was| is_real(self.locations, was.inst.loc));
        let first = removal.to.and_then(|rest| self.split_at(block, rest)).filter(located);
        Some(first.map_or((removal.inst, Link::Terminator), |first| (first, Link::Split)))
    }

    /// `None` for a temporary of unknown kind. If it was none, it leads to nothing or to what it replaced.
    fn is_terminator(&self, inst: InstId) -> Option<bool> {
        match self.root(inst) {
            Some(was) => Some(was.inst.flags.has(InstFlags::TERMINATOR)),
            None if self.lives.get(inst).is_some_and(|life| life.clone_of().is_some()) => {
                Some(self.lookup.opcode(inst).is_terminator())
            }
            None if self.lives.get(inst).is_some_and(|life| !life.replaces_any()) => None,
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
            self.add(inst, Link::Move, None);
        }
        let Some(life) = self.reader.lives.get(inst) else { return Ok(()) };
        if let Some(old) = life.clone_of() {
            self.follow(old, Link::Clone, None, depth)?;
        }
        for replaced in self.reader.replaces(life) {
            // What is replaced may be anything that was there for a moment; it need not lead to P.
            if self.reader.stands_for(&replaced) {
                let _ = self.follow(replaced.old, Link::Replace, None, depth);
            }
        }
        Ok(())
    }

    fn of_terminator(&mut self, inst: InstId, block: BlockId) -> Result<(), Foreign> {
        let mut inst = inst;
        for depth in 0..MAX_CHAIN {
            let Some((old, link)) = self.reader.replaced_terminator(inst, block) else { return Ok(()) };
            let count = self.found.len();
            if let Err(foreign) = self.follow(old, link, None, depth) {
                return self.add_temporary(old, link).ok_or(foreign);
            }
            if self.found.len() > count {
                return Ok(());
            }
            // A temporary without a source of its own took the place of the one before it.
            inst = old;
        }
        Ok(())
    }

    /// `via` is the first temporary on the way to `inst`.
    fn follow(&mut self, inst: InstId, link: Link, via: Option<InstId>, depth: u32) -> Result<(), Foreign> {
        if self.reader.changes.before(inst).is_some() {
            self.add(inst, link, via);
            return Ok(());
        }
        let life = self.reader.lives.get(inst).filter(|life| life.created().is_some()).ok_or(Foreign)?;
        self.steps += 1;
        if depth >= MAX_CHAIN || self.steps > MAX_REPLACED * 4 {
            return Ok(());
        }
        self.passage = self.reader.passage(life, self.passage);
        let via = via.or(Some(inst));
        if let Some(old) = life.clone_of() {
            self.follow(old, link, via, depth + 1)?;
        }
        for replaced in self.reader.replaces(life) {
            let _ = self.follow(replaced.old, link.max(Link::Replace), via, depth + 1);
        }
        Ok(())
    }

    /// A temporary from another function stands for itself, if it had a location when it went and control came there.
    fn add_temporary(&mut self, inst: InstId, link: Link) -> Option<()> {
        let loc = self.reader.lives.get(inst)?.loc;
        let has_code = self.reader.lookup.opcode(inst).name() != "unreachable";
        (has_code && is_real(self.reader.locations, loc)).then(|| {
            self.found.push(Source { inst, loc, link, via: None });
        })
    }

    fn add(&mut self, inst: InstId, link: Link, via: Option<InstId>) {
        let Some(was) = self.reader.changes.was(inst) else { return };
        match self.found.iter_mut().find(|s| s.inst == inst) {
            Some(known) if link < known.link => (known.link, known.via) = (link, via),
            Some(_) => {}
            None => self.found.push(Source { inst, loc: was.inst.loc, link, via }),
        }
    }
}
