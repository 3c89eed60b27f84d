//! The control-flow graph of a snapshot, or of a part of one, with dense block indices.
//!
//! Block ids are small and never reused within a function, so the way from an id to its index is a
//! table, unless the part is so small that the table would be all there is to do. An edge to a block that is
//! not in the graph is left out: a record is foreign input.

use metaloc_record::{BlockId, Snapshot};

use super::NONE;

/// Blocks by index; index 0 is the entry.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    ids: Vec<BlockId>,
    index_of: IndexOf,
    successors: Rows,
    /// Edges were left out.
    partial: bool,
}

/// Index by id.
#[derive(Debug, Clone)]
enum IndexOf {
    Table(Vec<u32>),
    Sorted(Vec<(BlockId, u32)>),
}

impl Default for IndexOf {
    fn default() -> Self {
        IndexOf::Sorted(Vec::new())
    }
}

impl IndexOf {
    fn new(ids: &[BlockId], bound: usize) -> IndexOf {
        if ids.len() < bound / 16 {
            let mut sorted: Vec<(BlockId, u32)> = ids.iter().copied().zip(0..).collect();
            sorted.sort_unstable();
            return IndexOf::Sorted(sorted);
        }
        let mut table = vec![NONE; bound];
        for (index, id) in ids.iter().enumerate() {
            table[id.index()] = index as u32;
        }
        IndexOf::Table(table)
    }

    fn get(&self, id: BlockId) -> Option<u32> {
        match self {
            IndexOf::Table(table) => table.get(id.index()).copied().filter(|index| *index != NONE),
            IndexOf::Sorted(sorted) => {
                sorted.binary_search_by_key(&id, |entry| entry.0).ok().map(|at| sorted[at].1)
            }
        }
    }
}

impl Graph {
    /// The graph of a whole snapshot.
    pub fn new(snapshot: &Snapshot) -> Graph {
        let ids = ids_of(snapshot);
        let inner = ids.len();
        Graph::part(snapshot, ids, inner)
    }

    /// The graph of a whole snapshot, given this one of another: only the blocks that differ are read.
    pub fn next(&self, of: &Snapshot, next: &Snapshot) -> Graph {
        // What an edge that was left out led to may be there by now.
        if self.partial {
            return Graph::new(next);
        }
        let ids = ids_of(next);
        let index_of = IndexOf::new(&ids, next.bound());
        // Where the blocks of this graph are in the next one.
        let moved: Vec<u32> = self.ids.iter().map(|id| index_of.get(*id).unwrap_or(NONE)).collect();
        let mut differs = vec![false; next.bound()];
        of.differences(next).filter(|id| next.has(*id)).for_each(|id| differs[id.index()] = true);
        let mut successors = Rows::with_capacity(ids.len(), self.successors.items() + ids.len() / 8);
        let mut partial = false;
        for id in &ids {
            match self.index(*id).filter(|_| !differs[id.index()]) {
                Some(row) => {
                    let to = self.successors(row).iter().map(|to| moved[*to as usize]);
                    successors.push(to.filter(|to| *to != NONE));
                    partial |= successors.row(successors.rows() - 1).len() < self.successors(row).len();
                }
                None => partial |= push_edges(&mut successors, next, *id, &index_of),
            }
        }
        Graph { ids, index_of, successors, partial }
    }

    /// The graph of some blocks of a snapshot, the entry first. Of these the first `inner` have their edges,
    /// the others end the paths.
    pub fn part(snapshot: &Snapshot, ids: Vec<BlockId>, inner: usize) -> Graph {
        let index_of = IndexOf::new(&ids, snapshot.bound());
        let mut successors = Rows::with_capacity(ids.len(), ids.len() * 2);
        let mut partial = inner < ids.len();
        for (index, id) in ids.iter().enumerate() {
            match index < inner {
                true => partial |= push_edges(&mut successors, snapshot, *id, &index_of),
                false => successors.push([]),
            }
        }
        Graph { ids, index_of, successors, partial }
    }

    /// The same with one edge more.
    pub fn with_edge(&self, from: usize, to: usize) -> Graph {
        let mut successors = Rows::with_capacity(self.len(), self.successors.items() + 1);
        for index in 0..self.len() {
            let more = (index == from).then_some(to as u32);
            successors.push(self.successors(index).iter().copied().chain(more));
        }
        Graph { ids: self.ids.clone(), index_of: self.index_of.clone(), successors, partial: true }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True for the graph of a declaration.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Index of a block, if the snapshot has it.
    pub fn index(&self, id: BlockId) -> Option<usize> {
        self.index_of.get(id).map(|index| index as usize)
    }

    /// Id of the block at an index.
    pub fn id(&self, index: usize) -> BlockId {
        self.ids[index]
    }

    /// Successors of a block in terminator order; one that occurs twice is listed twice.
    pub fn successors(&self, index: usize) -> &[u32] {
        self.successors.row(index)
    }
}

/// All blocks, the entry first. Without an entry nothing can be reached, and there is nothing to ask.
fn ids_of(snapshot: &Snapshot) -> Vec<BlockId> {
    let Some(entry) = snapshot.entry().filter(|id| snapshot.has(*id)) else { return Vec::new() };
    std::iter::once(entry).chain(snapshot.ids().filter(|id| *id != entry)).collect()
}

/// Adds the row of a block. True if an edge had to be left out.
fn push_edges(rows: &mut Rows, snapshot: &Snapshot, from: BlockId, index_of: &IndexOf) -> bool {
    let to = snapshot.get(from).map_or(&[][..], |block| &block.successors);
    rows.push(to.iter().filter_map(|id| index_of.get(*id)));
    rows.row(rows.rows() - 1).len() < to.len()
}

/// Rows of numbers of different lengths in two flat arrays.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Default for Rows {
    fn default() -> Self {
        Rows { start: vec![0], items: Vec::new() }
    }
}

impl Rows {
    pub(crate) fn with_capacity(rows: usize, items: usize) -> Rows {
        let mut start = Vec::with_capacity(rows + 1);
        start.push(0);
        Rows { start, items: Vec::with_capacity(items) }
    }

    pub(crate) fn push(&mut self, items: impl IntoIterator<Item = u32>) {
        self.items.extend(items);
        self.start.push(self.items.len() as u32);
    }

    pub(crate) fn row(&self, index: usize) -> &[u32] {
        &self.items[self.start[index] as usize..self.start[index + 1] as usize]
    }

    pub(crate) fn rows(&self) -> usize {
        self.start.len() - 1
    }

    pub(crate) fn items(&self) -> usize {
        self.items.len()
    }

    /// Rows from (row, item) pairs in any order; within a row the order of the pairs is kept.
    pub(crate) fn from_pairs(rows: usize, pairs: &[(u32, u32)]) -> Rows {
        let mut start = vec![0u32; rows + 1];
        for (row, _) in pairs {
            start[*row as usize + 1] += 1;
        }
        for row in 0..rows {
            start[row + 1] += start[row];
        }
        let mut next = start.clone();
        let mut items = vec![0; pairs.len()];
        for (row, item) in pairs {
            let at = &mut next[*row as usize];
            items[*at as usize] = *item;
            *at += 1;
        }
        Rows { start, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::walks::edges_strategy;
    use crate::edits::{bare, edit_strategy, snapshot};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn the_next_graph_is_the_graph_of_the_next(
            edges in edges_strategy(12),
            edits in prop::collection::vec(edit_strategy(), 1..6),
            gone in 0..40usize,
        ) {
            let first = snapshot(&edges, bare);
            let (mut now, mut graph) = (first.clone(), Graph::new(&first));
            let mut fresh = edges.len() as u32;
            for (step, edit) in edits.iter().enumerate() {
                let mut after = edit.apply(&now, &mut fresh, bare);
                // A block goes, and what led to it does not know; or it is there again.
                let block = BlockId((gone % edges.len()) as u32);
                match first.get(block) {
                    Some(old) if gone < 20 && step == 2 => after.put(Arc::clone(old)),
                    _ if gone < 20 && step == 0 && after.len() > 1 => after.remove(block),
                    _ => {}
                }
                graph = graph.next(&now, &after);
                let whole = Graph::new(&after);
                prop_assert_eq!(&graph.ids, &whole.ids);
                prop_assert_eq!(graph.partial, whole.partial);
                for index in 0..whole.len() {
                    prop_assert_eq!(graph.successors(index), whole.successors(index));
                    prop_assert_eq!(graph.index(whole.id(index)), Some(index));
                }
                now = after;
            }
        }
    }

    #[test]
    fn pairs_become_rows_in_order() {
        let rows = Rows::from_pairs(3, &[(2, 7), (0, 1), (2, 5)]);
        assert_eq!((rows.row(0), rows.row(1), rows.row(2)), (&[1][..], &[][..], &[7, 5][..]));
        assert_eq!((rows.rows(), rows.items()), (3, 3));
    }
}
