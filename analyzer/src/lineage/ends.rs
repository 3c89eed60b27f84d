//! What ends new blocks, where the way tells what it stands for.
//!
//! - *Ends of the function that became one.* SimplifyCFG and others put one `ret` into a block of its own and let all
//!   blocks lead there that returned. No use and no place connects the new one with those that went, but control does: what
//!   ends the function in a new block, whose predecessors all ended it in the same way, stands for all of them.
//! - *Blocks that are gone round.* A new block that leads from A to C, where A led to B, and B to C, stands for B as a copy
//!   does: jump threading copies what B does and leaves out what is known, which may be all of it. Every way to the new
//!   block has to be of this kind, with the same B.
//!
//! Otherwise nothing is said.

use metaloc_record::{Block, BlockId, Inst, InstFlags, PassRun};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lineage;
use crate::changes::Changes;
use crate::finding::{Link, Source};

/// Where a block leads to more places than this, which of them was given up for which is not asked: the answer would take
/// time that grows faster than the function.
const MAX_WAYS: usize = 16;

/// Adds what went from the predecessors to the sources of some destinations, given by their indices, and the blocks that are
/// gone round to the copies.
pub(super) fn link<'a>(
    run: &PassRun<'a>,
    changes: &mut Changes<'a>,
    lineage: &mut Lineage<'a>,
    asked: &[usize],
) {
    let mut predecessors = None;
    for &at in asked {
        let destination = &lineage.destinations[at];
        let (id, inst) = (destination.at.block, destination.inst);
        if !inst.flags.has(InstFlags::TERMINATOR) || changes.block_before(id).is_some() {
            continue;
        }
        let Some(block) = changes.block_after(id) else { continue };
        let from = predecessors.get_or_insert_with(|| of_new_blocks(changes)).get(&id);
        let from = from.map_or(&[][..], Vec::as_slice);
        if block.successors.is_empty() {
            let joined: Option<Vec<&Inst>> = from.iter().map(|p| gone_end(changes, *p, inst)).collect();
            let sources = &mut lineage.destinations[at].sources;
            for end in joined.filter(|joined| joined.len() > 1).unwrap_or_default() {
                if !sources.iter().any(|s| s.inst == end.id) {
                    sources.push(Source { inst: end.id, loc: end.loc, link: Link::Terminator, via: None });
                }
            }
        } else if let Some(old) = gone_round(changes, from, block) {
            lineage.copies.push((old, id));
        }
    }
    index_originals(run, changes, lineage, asked);
}

/// Makes what ended the original of a copied block known, for what ends the copy and has no location.
fn index_originals<'a>(run: &PassRun<'a>, changes: &mut Changes<'a>, lineage: &Lineage<'a>, asked: &[usize]) {
    let lost = asked.iter().map(|at| &lineage.destinations[*at]);
    let lost = lost.filter(|d| d.inst.flags.has(InstFlags::TERMINATOR) && !d.inst.loc.is_some());
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

/// What leads to a new block now did not before, so that it is among the blocks whose edges changed.
fn of_new_blocks(changes: &Changes<'_>) -> FxHashMap<BlockId, Vec<BlockId>> {
    let mut predecessors: FxHashMap<BlockId, Vec<BlockId>> = FxHashMap::default();
    for from in changes.rewired() {
        let to = changes.block_after(*from).into_iter().flat_map(|block| &block.successors);
        for to in to.filter(|to| changes.block_before(**to).is_none()) {
            predecessors.entry(*to).or_default().push(*from);
        }
    }
    predecessors
}

/// What ended the function in a block of P, as another instruction does, and went.
fn gone_end<'a>(changes: &Changes<'a>, from: BlockId, by: &Inst) -> Option<&'a Inst> {
    let block = changes.block_before(from).filter(|block| block.successors.is_empty())?;
    block.insts.last().filter(|last| last.opcode == by.opcode && changes.is_gone(last.id))
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
}
