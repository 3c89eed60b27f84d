//! The depth-first search of a control-flow graph, its retreating edges, and the loops they close.
//!
//! The search starts at the entry and follows successors in terminator order. An edge to a block that
//! is still open in the search is retreating, and its target is a header. The loop of header h is h and
//! every descendant of h in the search tree that reaches h without leaving the descendants of h: the
//! natural loop where h dominates its latches, and a well nested set in irreducible graphs as well
//! (Havlak, "Nesting of reducible and irreducible loops", TOPLAS 1997).

use super::NONE;
use super::graph::{Graph, Rows};

/// Loops of a graph. Loops are numbered so that an inner one has a higher number than those around it.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    /// Preorder number of a block, `NONE` if it cannot be reached.
    pre: Vec<u32>,
    /// Last preorder number in the subtree of a block.
    last: Vec<u32>,
    /// Blocks by preorder number.
    order: Vec<u32>,
    /// Innermost loop of a block, a header being in its own.
    innermost: Vec<u32>,
    /// Header of a loop.
    header: Vec<u32>,
    /// The loop around a loop.
    parent: Vec<u32>,
    /// How many loops are around a loop.
    depth: Vec<u32>,
}

impl Loops {
    /// Searches the graph and finds its loops.
    pub fn new(graph: &Graph) -> Loops {
        let mut loops = Loops::search(graph);
        loops.find(graph);
        loops
    }

    /// True if a path leads from the entry to the block.
    pub fn is_reachable(&self, block: usize) -> bool {
        self.pre[block] != NONE
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.header.len()
    }

    /// True if nothing loops.
    pub fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// The innermost loop around a block, its own for a header.
    pub fn innermost(&self, block: usize) -> Option<usize> {
        (self.innermost[block] != NONE).then_some(self.innermost[block] as usize)
    }

    /// How many loops a block is in.
    pub fn depth(&self, block: usize) -> u32 {
        self.innermost(block).map_or(0, |of| self.depth[of] + 1)
    }

    /// The loop around a loop.
    pub fn parent(&self, of: usize) -> Option<usize> {
        (self.parent[of] != NONE).then_some(self.parent[of] as usize)
    }

    /// Header of a loop.
    pub fn header(&self, of: usize) -> usize {
        self.header[of] as usize
    }

    /// True if the block is in the loop or in one nested in it.
    pub fn contains(&self, of: usize, block: usize) -> bool {
        let mut inner = self.innermost[block];
        while inner != NONE && self.depth[inner as usize] > self.depth[of] {
            inner = self.parent[inner as usize];
        }
        inner == of as u32
    }

    /// True if the edge between two reachable blocks goes back to a header whose loop it closes.
    pub fn is_retreating(&self, from: usize, to: usize) -> bool {
        self.is_descendant(from, to)
    }

    /// Blocks that can be reached, in the order of the search.
    pub fn reachable(&self) -> &[u32] {
        &self.order
    }

    fn is_descendant(&self, block: usize, of: usize) -> bool {
        self.pre[of] <= self.pre[block] && self.pre[block] <= self.last[of]
    }

    fn search(graph: &Graph) -> Loops {
        let count = graph.len();
        let mut loops = Loops {
            pre: vec![NONE; count],
            last: vec![0; count],
            innermost: vec![NONE; count],
            order: Vec::with_capacity(count),
            ..Loops::default()
        };
        let mut open: Vec<(u32, u32)> = Vec::new();
        if count > 0 {
            loops.pre[0] = 0;
            loops.order.push(0);
            open.push((0, 0));
        }
        while let Some((block, next)) = open.last_mut() {
            if let Some(to) = graph.successors(*block as usize).get(*next as usize).copied() {
                *next += 1;
                if loops.pre[to as usize] == NONE {
                    loops.pre[to as usize] = loops.order.len() as u32;
                    loops.order.push(to);
                    open.push((to, 0));
                }
            } else {
                loops.last[*block as usize] = loops.order.len() as u32 - 1;
                open.pop();
            }
        }
        loops
    }

    /// Havlak's bottom-up collection. `entered_from[h]` are the blocks outside that enter the loop of h
    /// past its header, by irreducibility: an outer loop has to follow them as if they entered at h.
    fn find(&mut self, graph: &Graph) {
        let mut retreating: Vec<(u32, u32)> = Vec::new();
        let mut forward: Vec<(u32, u32)> = Vec::new();
        for &from in &self.order {
            for &to in graph.successors(from as usize) {
                let closes = self.is_retreating(from as usize, to as usize);
                if closes { &mut retreating } else { &mut forward }.push((to, from));
            }
        }
        if retreating.is_empty() {
            return;
        }
        let latches = Rows::from_pairs(graph.len(), &retreating);
        let predecessors = Rows::from_pairs(graph.len(), &forward);
        let mut entered_from: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
        let mut collapsed = Collapsed::new(graph.len());
        let mut inner_to_outer: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut seen = vec![NONE; graph.len()];

        for &header in self.order.iter().rev() {
            if latches.row(header as usize).is_empty() {
                continue;
            }
            let mut body: Vec<u32> = Vec::new();
            seen[header as usize] = header;
            for &latch in latches.row(header as usize) {
                let latch = collapsed.find(latch);
                if seen[latch as usize] != header {
                    seen[latch as usize] = header;
                    body.push(latch);
                }
            }
            let mut next = 0;
            while next < body.len() {
                let member = body[next] as usize;
                next += 1;
                let late = std::mem::take(&mut entered_from[member]);
                for &from in predecessors.row(member).iter().chain(&late) {
                    let from = collapsed.find(from);
                    if seen[from as usize] == header {
                        continue;
                    }
                    seen[from as usize] = header;
                    if self.is_descendant(from as usize, header as usize) {
                        body.push(from);
                    } else {
                        entered_from[header as usize].push(from);
                    }
                }
            }
            for &member in &body {
                collapsed.put(member, header);
            }
            inner_to_outer.push((header, body));
        }
        self.number(&inner_to_outer);
    }

    /// Numbers loops outermost first. A member that is itself a header stands for its whole loop.
    fn number(&mut self, inner_to_outer: &[(u32, Vec<u32>)]) {
        let count = inner_to_outer.len();
        self.parent = vec![NONE; count];
        self.depth = vec![0; count];
        self.header = inner_to_outer.iter().rev().map(|(header, _)| *header).collect();
        for (number, header) in self.header.iter().enumerate() {
            self.innermost[*header as usize] = number as u32;
        }
        for (number, (_, body)) in inner_to_outer.iter().rev().enumerate() {
            for &member in body {
                let inner = self.innermost[member as usize];
                if inner != NONE && self.header[inner as usize] == member {
                    self.parent[inner as usize] = number as u32;
                    self.depth[inner as usize] = self.depth[number] + 1;
                } else {
                    self.innermost[member as usize] = number as u32;
                }
            }
        }
    }
}

/// Union-find: a block of a finished loop stands for the loop's header.
struct Collapsed(Vec<u32>);

impl Collapsed {
    fn new(count: usize) -> Collapsed {
        Collapsed((0..count as u32).collect())
    }

    fn find(&mut self, mut block: u32) -> u32 {
        while self.0[block as usize] != block {
            let above = self.0[self.0[block as usize] as usize];
            self.0[block as usize] = above;
            block = above;
        }
        block
    }

    fn put(&mut self, block: u32, into: u32) {
        self.0[block as usize] = into;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::walks::{self, graph_strategy};
    use proptest::prelude::*;

    fn members(loops: &Loops, of: usize, count: usize) -> Vec<usize> {
        (0..count).filter(|b| loops.contains(of, *b)).collect()
    }

    #[test]
    fn nested_loops_nest() {
        // 0 -> 1(outer) -> 2(inner) -> 2, 3 -> 1, 4
        let graph = walks::graph(&[&[1], &[2], &[2, 3], &[1, 4], &[]]);
        let loops = Loops::new(&graph);
        assert_eq!(loops.len(), 2);
        let (outer, inner) = (loops.innermost(1).unwrap(), loops.innermost(2).unwrap());
        assert_eq!(loops.parent(inner), Some(outer));
        assert_eq!(loops.parent(outer), None);
        assert_eq!(members(&loops, outer, 5), [1, 2, 3]);
        assert_eq!(members(&loops, inner, 5), [2]);
    }

    #[test]
    fn straight_line_code_has_no_loop() {
        assert!(Loops::new(&walks::graph(&[&[1], &[2], &[]])).is_empty());
    }

    proptest! {
        /// Against the definition in the header of this file, taken literally.
        #[test]
        fn loops_are_those_of_the_definition(graph in graph_strategy(12)) {
            let loops = Loops::new(&graph);
            let expected = walks::loops_by_definition(&graph);
            prop_assert_eq!(loops.len(), expected.len());
            for of in 0..loops.len() {
                prop_assert_eq!(&members(&loops, of, graph.len()), &expected[&loops.header(of)]);
            }
            for block in 0..graph.len() {
                let innermost = expected.iter().filter(|(_, m)| m.contains(&block)).min_by_key(|(_, m)| m.len());
                prop_assert_eq!(loops.innermost(block).map(|l| loops.header(l)), innermost.map(|(h, _)| *h));
            }
        }
    }
}
