//! Test support: graphs, and runs that change their edges a little.

use std::sync::Arc;

use metaloc_record::{Block, BlockId, Inst, InstFlags, InstId, LocId, Opcode, Snapshot};
use proptest::prelude::*;

use crate::cfg::walks::structured_edges;

/// Edges that change in one run. Blocks are numbers modulo what is there.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    /// A new block on an edge.
    Split(usize, usize),
    /// An edge leads elsewhere.
    Redirect(usize, usize, usize),
    /// An edge less.
    Cut(usize, usize),
    /// An edge more.
    Add(usize, usize),
    /// The block ends the function.
    Return(usize),
    /// The block goes, and what led to it leads to its successor.
    Bypass(usize),
}

pub(crate) fn edit_strategy() -> impl Strategy<Value = Edit> {
    let n = 0..64usize;
    prop_oneof![
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Split(a, b)),
        (n.clone(), n.clone(), n.clone()).prop_map(|(a, b, c)| Edit::Redirect(a, b, c)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Cut(a, b)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Edit::Add(a, b)),
        n.clone().prop_map(Edit::Return),
        n.prop_map(Edit::Bypass),
    ]
}

impl Edit {
    /// The function after the edit. `next` is the id of the next new block; `block` makes blocks, from what they
    /// were if they are older.
    pub(crate) fn apply(
        &self,
        before: &Snapshot,
        next: &mut u32,
        block: impl Fn(BlockId, Option<&Block>, Vec<BlockId>) -> Block,
    ) -> Snapshot {
        let ids: Vec<BlockId> = before.blocks().map(|b| b.id).collect();
        if ids.is_empty() {
            return before.clone();
        }
        let (Edit::Split(at, _)
        | Edit::Redirect(at, ..)
        | Edit::Cut(at, _)
        | Edit::Add(at, _)
        | Edit::Return(at)
        | Edit::Bypass(at)) = *self;
        let at = at % ids.len();
        let from = ids[at];
        let old = |id: BlockId| before.get(id).map(|block| &**block);
        let mut after = before.clone();
        let mut put = |id: BlockId, to: Vec<BlockId>| after.put(Arc::new(block(id, old(id), to)));
        // Targets near the source, as passes have them; far ones now and then.
        let near =
            |n: usize| if n.is_multiple_of(5) { n % ids.len() } else { (at + n % 4).min(ids.len() - 1) };
        let mut to = old(from).map(|block| block.successors.clone()).unwrap_or_default();
        match *self {
            Edit::Split(_, edge) if !to.is_empty() => {
                let edge = edge % to.len();
                let new = BlockId(*next);
                *next += 1;
                put(new, vec![to[edge]]);
                to[edge] = new;
                put(from, to);
            }
            Edit::Redirect(_, edge, target) if !to.is_empty() => {
                let edge = edge % to.len();
                to[edge] = ids[near(target)];
                put(from, to);
            }
            Edit::Cut(_, edge) if to.len() > 1 => {
                to.remove(edge % to.len());
                put(from, to);
            }
            Edit::Add(_, target) if !to.is_empty() && to.len() < 3 => {
                to.push(ids[near(target)]);
                put(from, to);
            }
            Edit::Return(_) => put(from, Vec::new()),
            Edit::Bypass(_) if to.len() == 1 && to[0] != from && before.entry() != Some(from) => {
                for other in before.blocks().filter(|b| b.successors.contains(&from)) {
                    let moved = |id: &BlockId| if *id == from { to[0] } else { *id };
                    put(other.id, other.successors.iter().map(moved).collect());
                }
                after.remove(from);
            }
            _ => {}
        }
        after
    }
}

/// A block with nothing but its end.
pub(crate) fn bare(id: BlockId, _: Option<&Block>, successors: Vec<BlockId>) -> Block {
    Block { id, insts: vec![end(InstId(id.0), LocId::NONE, &successors)], successors }
}

/// A return, or a branch.
pub(crate) fn end(id: InstId, loc: LocId, successors: &[BlockId]) -> Inst {
    let opcode = Opcode::from_name(if successors.is_empty() { "ret" } else { "br" });
    Inst { id, loc, opcode, flags: InstFlags::TERMINATOR }
}

/// A function with these successors of block 0, 1, ...
pub(crate) fn snapshot(
    edges: &[Vec<u32>],
    block: impl Fn(BlockId, Option<&Block>, Vec<BlockId>) -> Block,
) -> Snapshot {
    let ids = |to: &Vec<u32>| to.iter().map(|id| BlockId(*id)).collect();
    edges.iter().zip(0..).map(|(to, id)| block(BlockId(id), None, ids(to))).collect()
}

/// Several pieces of structured code in a row: most regions are much smaller than that.
pub(crate) fn long_edges() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(structured_edges(), 2..5).prop_map(|parts| {
        let mut all: Vec<Vec<u32>> = vec![];
        for part in parts {
            let base = all.len() as u32;
            if let Some(last) = all.last_mut() {
                last.push(base);
            }
            all.extend(part.into_iter().map(|to| to.into_iter().map(|t| t + base).collect()));
        }
        all
    })
}
