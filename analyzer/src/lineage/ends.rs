//! What ends blocks, where no use and no place tells what it stands for, but control does.
//!
//! - *Ends of the function that became one.* SimplifyCFG and others put one `ret` into a block of its own and let all
//!   blocks lead there that returned. If several of a kind went in a run and one in a new block came, it stands for all of
//!   them. Whether they are all that control comes from is asked by the rules.
//! - *Ends of all successors that became one.* If all blocks went that a block led to, which ended in the same way, and it
//!   ends in a copy of one of these ends now, that stands for all of them: they were hoisted.
//! - *Blocks that are gone round.* A new block that leads from A to C, where A led to B, and B to C, stands for B as a copy
//!   does: jump threading copies what B does and leaves out what is known, which may be all of it. Every way to the new
//!   block has to be of this kind, with the same B, and nothing else is done there.
//!
//! - *Edges that were split.* A new block that leads from A to B, where A led to B, is part of the edge. The branch that ends
//!   it stands for nothing, but LLVM's own helpers give it a location: that of the end of A, if there is one A
//!   (`SplitCriticalEdge`), or of what B begins with (`SplitBlockPredecessors`). That is a link by place, and only asked
//!   for where there is no location.
//!
//! Otherwise nothing is said.

use metaloc_record::{Block, BlockId, Inst, InstFlags, Opcode, PassRun};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Destination, Lineage, Origin};
use crate::changes::Changes;
use crate::finding::{Link, Source};

/// Where a block leads to more places than this, which of them was given up for which is not asked: the answer would take
/// time that grows faster than the function.
const MAX_WAYS: usize = 16;

/// Adds what went to the sources of some destinations, given by their indices, and the blocks that are gone round to the
/// copies.
pub(super) fn link<'a>(
    run: &PassRun<'a>,
    changes: &mut Changes<'a>,
    lineage: &mut Lineage<'a>,
    asked: &[usize],
) {
    let mut edges = None;
    for &at in asked {
        let destination = &lineage.destinations[at];
        let id = destination.at.block;
        let Some(block) = changes.block_after(id).filter(|_| is_end(destination)) else { continue };
        let edges = edges.get_or_insert_with(|| Edges::read(changes));
        let joined = match changes.block_before(id) {
            Some(old) => hoisted(changes, destination, old),
            None if block.successors.is_empty() => edges.joined(destination.inst.opcode),
            None => {
                let from = edges.predecessors.get(&id).map_or(&[][..], Vec::as_slice);
                let copied = |inst: &Inst| {
                    let made = lineage.destination(inst.id).is_some_and(|d| d.origin == Origin::Cloned);
                    made || inst.flags.has(InstFlags::PHI) || inst.id == destination.inst.id
                };
                let old = gone_round(changes, from, block).filter(|_| block.insts.iter().all(copied));
                lineage.copies.extend(old.map(|old| (old, id)));
                if old.is_none() && !destination.inst.loc.is_some() && destination.sources.is_empty() {
                    let place = on_edge(changes, from, block).filter(|inst| inst.loc.is_some());
                    if let Some(inst) = place.filter(|inst| changes.index(inst.id, run.lookup)) {
                        let link = Link::Position;
                        let source = Source { inst: inst.id, loc: inst.loc, link, via: None };
                        lineage.destinations[at].sources.push(source);
                    }
                }
                continue;
            }
        };
        let sources = &mut lineage.destinations[at].sources;
        for end in joined {
            if !sources.iter().any(|s| s.inst == end.id) {
                sources.push(Source { inst: end.id, loc: end.loc, link: Link::Terminator, via: None });
            }
        }
    }
    index_originals(run, changes, lineage, asked);
}

fn is_end(destination: &Destination<'_>) -> bool {
    destination.inst.flags.has(InstFlags::TERMINATOR)
}

/// Makes what ended the original of a copied block known, for what ends the copy and has no location.
fn index_originals<'a>(run: &PassRun<'a>, changes: &mut Changes<'a>, lineage: &Lineage<'a>, asked: &[usize]) {
    let lost = asked.iter().map(|at| &lineage.destinations[*at]);
    let lost = lost.filter(|d| is_end(d) && !d.inst.loc.is_some());
    let into: FxHashSet<BlockId> = lost.map(|d| d.placed).collect();
    if into.is_empty() {
        return;
    }
    for (old, _) in lineage.copies.iter().filter(|(_, copy)| into.contains(copy)) {
        if let Some(end) = changes.block_before(*old).and_then(|block| block.insts.last()) {
            changes.index(end.id, run.lookup);
        }
    }
}

/// The edges that changed, and the ends of the function.
struct Edges<'a> {
    /// Of new blocks. What leads to one now did not before, so that it is among the blocks whose edges changed.
    predecessors: FxHashMap<BlockId, Vec<BlockId>>,
    /// What ended the function and went.
    gone: Vec<&'a Inst>,
    /// What ends it in a new block.
    new: Vec<Opcode>,
}

impl<'a> Edges<'a> {
    fn read(changes: &Changes<'a>) -> Edges<'a> {
        let mut edges = Edges { predecessors: FxHashMap::default(), gone: Vec::new(), new: Vec::new() };
        let end = |block: Option<&'a Block>| block.filter(|b| b.successors.is_empty())?.insts.last();
        for from in changes.rewired() {
            let (was, is) = (changes.block_before(*from), changes.block_after(*from));
            edges.gone.extend(end(was).filter(|end| changes.is_gone(end.id)));
            edges.new.extend(end(is).filter(|_| was.is_none()).map(|end| end.opcode));
            let to = is.into_iter().flat_map(|block| &block.successors);
            for to in to.filter(|to| changes.block_before(**to).is_none()) {
                edges.predecessors.entry(*to).or_default().push(*from);
            }
        }
        edges
    }

    fn joined(&self, opcode: Opcode) -> Vec<&'a Inst> {
        let alike = self.gone.iter().copied().filter(|end| end.opcode == opcode);
        let one = self.new.iter().filter(|new| **new == opcode).count() == 1;
        if one && alike.clone().count() > 1 { alike.collect() } else { Vec::new() }
    }
}

/// What ended the successors of a block, if one of these ends was copied to it and all of them went with their blocks.
fn hoisted<'a>(changes: &Changes<'a>, destination: &Destination<'_>, old: &Block) -> Vec<&'a Inst> {
    let copied = destination.sources.iter().find(|s| s.link == Link::Clone);
    let from = copied.and_then(|copied| changes.before(copied.inst)).map(|at| at.block);
    if old.successors.len() < 2 || !from.is_some_and(|from| old.successors.contains(&from)) {
        return Vec::new();
    }
    let end = |to: &BlockId| {
        let last = changes.block_before(*to)?.insts.last()?;
        let went = changes.block_after(*to).is_none() && changes.is_gone(last.id);
        (went && last.opcode == destination.inst.opcode).then_some(last)
    };
    old.successors.iter().map(end).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The block of P that all ways through a new block went through.
fn gone_round(changes: &Changes<'_>, from: &[BlockId], new: &Block) -> Option<BlockId> {
    let [to] = new.successors[..] else { return None };
    let mut given_up = from.iter().map(|from| {
        let (was, is) = (changes.block_before(*from)?, changes.block_after(*from)?);
        if was.successors.len().max(is.successors.len()) > MAX_WAYS || was.successors.contains(&to) {
            return None;
        }
        let mut left = was.successors.iter().filter(|to| !is.successors.contains(to));
        left.next().copied().filter(|one| left.all(|other| other == one))
    });
    let old = given_up.next()??;
    let leads = old != to && changes.block_before(old)?.successors.contains(&to);
    (leads && given_up.all(|other| other == Some(old))).then_some(old)
}

/// Whose location a branch in the middle of edges is given by LLVM's helpers.
fn on_edge<'a>(changes: &Changes<'a>, from: &[BlockId], new: &Block) -> Option<&'a Inst> {
    let [to] = new.successors[..] else { return None };
    let led = |from: &BlockId| changes.block_before(*from).is_some_and(|was| was.successors.contains(&to));
    let glue = new.insts.iter().rev().skip(1).all(|inst| inst.flags.has(InstFlags::PHI));
    if !glue || !from.iter().all(led) {
        return None;
    }
    match from {
        [] => None,
        [one] => changes.block_before(*one)?.insts.last(),
        _ => changes.block_before(to)?.insts.iter().find(|inst| !inst.flags.has(InstFlags::PHI)),
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// SimplifyCFG: the returns of all blocks become one.
    fn returns(third: &str, loc: &str, update: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2 b3: %1 switch @1
             b1: %2 call! @2, %3 ret @3
             b2: %4 call! @4, %5 ret @5
             b3: %6 call! @6, %7 {third} @7
             after
             b0 -> b1 b2 b3: %1 switch @1
             b1 -> b9: %2 call! @2, %13 br @3
             b2 -> b9: %4 call! @4, %15 br @5
             b3 -> b9: %6 call! @6, %17 br @7
             b9: %9 ret {loc}
             events
             create %9
             clone %9 %3
             insert %9 b9
             {update}
             create %13
             insert %13 b1 %3
             set %13 @3
             remove %3 b1
             erase %3
             create %15
             insert %15 b2 %5
             set %15 @5
             remove %5 b2
             erase %5
             create %17
             insert %17 b3 %7
             set %17 @7
             remove %7 b3
             erase %7"
        ))
    }

    #[test]
    fn with_the_location_of_one() {
        assert_eq!(returns("ret", "@3", ""), ["unmerged certain incorrect merge %9 <- %3 %5 %7"]);
    }

    #[test]
    fn with_none() {
        assert_eq!(returns("ret", "", "drop %9"), ["lost_merge likely lost merge %9 <- %3 %5 %7"]);
    }

    #[test]
    fn merged() {
        assert_eq!(returns("ret", "@0", "merge %9 @3 @5"), [""; 0]);
    }

    /// One of the predecessors did not return: the location of one is wrong there, but nothing is due to be merged.
    #[test]
    fn of_another_kind() {
        assert_eq!(returns("resume", "@3", ""), ["off_path certain incorrect drop %9 <- %3"]);
        assert_eq!(returns("resume", "", "drop %9"), [""; 0]);
    }

    /// SimplifyCFG: both sides did the same, their ends included.
    fn same_sides(end: &str, loc: &str, update: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 br @2
             b2 -> b3: %4 {end} @4
             b3: %6 ret @6
             after
             b0 -> b3: %9 br {loc}
             b3: %6 ret @6
             events
             create %9
             clone %9 %2
             insert %9 b0 %1
             {update}
             remove %1 b0
             erase %1
             remove %2 b1
             erase %2
             remove %4 b2
             erase %4"
        ))
    }

    #[test]
    fn the_ends_of_both_sides() {
        let found = ["unmerged certain incorrect merge %9 <- %2 %4"];
        assert_eq!(same_sides("br", "@2", ""), found);
        assert_eq!(same_sides("br", "", "drop %9"), ["lost_merge likely lost merge %9 <- %2 %4"]);
        assert_eq!(same_sides("br", "@0", "merge %9 @2 @4"), [""; 0]);
        // The other side ended otherwise: the branch may have been decided.
        assert_eq!(same_sides("switch", "@2", ""), [""; 0]);
    }
}
