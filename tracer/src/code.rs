//! The innermost loops of a function's machine code.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};

use crate::program::Function;

/// A loop that has no loop inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Where it is entered: the lowest address that has an edge from outside.
    pub header: u64,
    /// Its instructions.
    pub pcs: BTreeSet<u64>,
}

/// Where each instruction may go.
pub(crate) type Edges = BTreeMap<u64, Vec<u64>>;

/// The innermost loops, by address. Indirect jumps have no edges here, so that what only they reach is not seen.
pub fn innermost_loops(function: &Function, word_bytes: u32) -> Vec<Loop> {
    let edges = flow(function, word_bytes);
    let mut found = Vec::new();
    let all = edges.keys().copied().collect();
    inside(&edges, &all, &mut found);
    found.sort_by_key(|one: &Loop| one.header);
    found
}

/// The instructions that can be reached from the entry, with where each may go.
pub(crate) fn flow(function: &Function, word_bytes: u32) -> Edges {
    let mut edges = Edges::new();
    let mut open = vec![function.range.start];
    while let Some(pc) = open.pop() {
        if edges.contains_key(&pc) {
            continue;
        }
        let bytes = &function.bytes[(pc - function.range.start) as usize..];
        let mut decoder = Decoder::with_ip(8 * word_bytes, bytes, pc, DecoderOptions::NONE);
        let next: Vec<u64> = successors(&decoder.decode())
            .into_iter()
            .filter(|target| function.range.contains(target))
            .collect();
        open.extend(&next);
        edges.insert(pc, next);
    }
    edges
}

fn successors(instruction: &Instruction) -> Vec<u64> {
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
        FlowControl::ConditionalBranch => vec![instruction.next_ip(), instruction.near_branch_target()],
        FlowControl::Return | FlowControl::IndirectBranch | FlowControl::Exception => Vec::new(),
        _ if instruction.is_invalid() => Vec::new(),
        _ => vec![instruction.next_ip()],
    }
}

/// Adds the innermost loops within `part`: a strongly connected component is a loop, and without the edges to its
/// header what still is one is inside of it.
fn inside(edges: &Edges, part: &BTreeSet<u64>, found: &mut Vec<Loop>) {
    for component in components(edges, part) {
        let entered = |pc: &&u64| edges.iter().any(|(from, to)| !component.contains(from) && to.contains(pc));
        let header = component.iter().find(entered).or(component.first()).copied().unwrap_or_default();
        let mut without = edges.clone();
        without.values_mut().for_each(|to| to.retain(|target| *target != header));
        let before = found.len();
        inside(&without, &component, found);
        if found.len() == before {
            found.push(Loop { header, pcs: component });
        }
    }
}

/// The strongly connected components with an edge inside (Kosaraju).
fn components(edges: &Edges, part: &BTreeSet<u64>) -> Vec<BTreeSet<u64>> {
    let forward = |pc: u64| -> Vec<u64> {
        edges.get(&pc).into_iter().flatten().copied().filter(|to| part.contains(to)).collect()
    };
    let mut backward = Edges::new();
    for from in part {
        for to in forward(*from) {
            backward.entry(to).or_default().push(*from);
        }
    }
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for start in part {
        visit(*start, &forward, &mut seen, &mut order);
    }
    let back = |pc: u64| backward.get(&pc).cloned().unwrap_or_default();
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for start in order.iter().rev() {
        let mut component = Vec::new();
        visit(*start, &back, &mut taken, &mut component);
        let cyclic = component.len() > 1 || component.iter().any(|pc| forward(*pc).contains(pc));
        if cyclic {
            found.push(component.into_iter().collect());
        }
    }
    found
}

/// Depth first; `order` is that of leaving.
fn visit(start: u64, next: &dyn Fn(u64) -> Vec<u64>, seen: &mut BTreeSet<u64>, order: &mut Vec<u64>) {
    if !seen.insert(start) {
        return;
    }
    let mut stack = vec![(start, next(start))];
    while let Some((pc, open)) = stack.last_mut() {
        match open.pop() {
            Some(to) if seen.insert(to) => stack.push((to, next(to))),
            Some(_) => {}
            None => {
                order.push(*pc);
                stack.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(bytes: &[u8]) -> Function {
        Function { name: "f".into(), range: 0x1000..0x1000 + bytes.len() as u64, bytes: bytes.to_vec() }
    }

    #[test]
    fn the_inner_of_two_loops() {
        // 00 nop; 01 nop (outer); 02 nop (inner); 03 dec ecx; 05 jne 02; 07 dec edx; 09 jne 01; 0b ret
        let bytes = [0x90, 0x90, 0x90, 0xff, 0xc9, 0x75, 0xfb, 0xff, 0xca, 0x75, 0xf6, 0xc3];
        let loops = innermost_loops(&function(&bytes), 8);
        assert_eq!(loops, [Loop { header: 0x1002, pcs: [0x1002, 0x1003, 0x1005].into() }]);
    }

    #[test]
    fn an_outer_loop_that_only_skips_its_body_is_still_outer() {
        // 00 jmp 07; 02 dec ecx (inner); 04 jne 02; 06 nop; 07 dec edx (outer head); 09 jne 02; 0b ret
        let bytes = [0xeb, 0x05, 0xff, 0xc9, 0x75, 0xfc, 0x90, 0xff, 0xca, 0x75, 0xf7, 0xc3];
        let loops = innermost_loops(&function(&bytes), 8);
        assert_eq!(loops, [Loop { header: 0x1002, pcs: [0x1002, 0x1004].into() }]);
    }

    #[test]
    fn a_loop_of_one_instruction_and_two_in_a_row() {
        // 00 loop 00; 02 dec ecx; 04 jne 02; 06 ret
        let bytes = [0xe2, 0xfe, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
        let headers: Vec<u64> = innermost_loops(&function(&bytes), 8).iter().map(|one| one.header).collect();
        assert_eq!(headers, [0x1000, 0x1002]);
        assert_eq!(innermost_loops(&function(&[0x90, 0xc3]), 8), []);
    }

    #[test]
    fn bytes_that_are_no_code_end_it() {
        assert_eq!(innermost_loops(&function(&[0x06, 0x06]), 8), []);
        assert_eq!(innermost_loops(&function(&[0x75]), 8), []);
        assert_eq!(innermost_loops(&function(&[]), 8), []);
    }
}
