//! Cutting a function into segments: straight pieces that become one edge per way out. A call is a segment of
//! its own. Also which values a segment must hand on, as later segments use them.

use super::origin::block_operation;
use crate::graph::Point;
use crate::ir::{Block, Function, Instruction, Operation, Value};
use std::collections::{HashMap, HashSet};

/// Some instructions of a block, without its phi nodes.
#[derive(Debug)]
pub(super) struct Segment<'a> {
    pub(super) block: &'a Block,
    /// Number of the first instruction in its block.
    pub(super) start: usize,
    pub(super) instructions: &'a [Instruction],
}

impl Segment<'_> {
    pub(super) fn point(&self) -> Point {
        point(&self.block.label, self.start)
    }

    /// Whether the block goes on after it.
    pub(super) fn is_cut(&self) -> bool {
        self.start + self.instructions.len() < self.block.instructions.len()
    }
}

/// A place in the IR.
pub(super) fn point(block: &str, instruction: usize) -> Point {
    Point::Ir { block: block.to_owned(), instruction: instruction as u32 }
}

/// Number of phi nodes that a block begins with.
pub(super) fn phis(block: &Block) -> usize {
    block
        .instructions
        .iter()
        .take_while(|instruction| matches!(instruction.operation, Operation::Phi { .. }))
        .count()
}

/// Whether an instruction is a call that others can see.
pub(super) fn is_event(operation: &Operation) -> bool {
    match operation {
        Operation::Call { callee, arguments, .. } => {
            block_operation(callee, arguments).is_none() && !callee.starts_with("llvm.")
        }
        _ => false,
    }
}

/// The segments of a function; the first is its entry. Blocks that no jump leads to are left out.
pub(super) fn segments(function: &Function) -> Vec<Segment<'_>> {
    let reached = reached(function);
    let mut found = Vec::new();
    for block in function.blocks.iter().filter(|block| reached.contains(block.label.as_str())) {
        let mut start = phis(block);
        for (number, instruction) in block.instructions.iter().enumerate().skip(start) {
            let after = number + 1;
            if is_event(&instruction.operation) {
                if number > start {
                    found.push(Segment { block, start, instructions: &block.instructions[start..number] });
                }
                found.push(Segment {
                    block,
                    start: number,
                    instructions: &block.instructions[number..after],
                });
                start = after;
            }
        }
        if start < block.instructions.len() {
            found.push(Segment { block, start, instructions: &block.instructions[start..] });
        }
    }
    found
}

fn reached(function: &Function) -> HashSet<&str> {
    let blocks: HashMap<&str, &Block> =
        function.blocks.iter().map(|block| (block.label.as_str(), block)).collect();
    let mut reached = HashSet::new();
    let mut open: Vec<&str> = function.blocks.first().map(|block| block.label.as_str()).into_iter().collect();
    while let Some(label) = open.pop() {
        if reached.insert(label)
            && let Some(last) = blocks.get(label).and_then(|block| block.instructions.last())
        {
            open.extend(last.operation.targets());
        }
    }
    reached
}

/// Values that are variables of the graph: those used in another segment than the one that computes them.
pub(super) fn handed_on<'a>(segments: &[Segment<'a>]) -> HashSet<&'a str> {
    let mut home: HashMap<&str, usize> = HashMap::new();
    for (number, segment) in segments.iter().enumerate() {
        for instruction in segment.instructions {
            if let Some(result) = &instruction.result {
                home.insert(result, number);
            }
        }
    }
    let last_of: HashMap<&str, usize> =
        segments.iter().enumerate().map(|(number, segment)| (segment.block.label.as_str(), number)).collect();
    let mut found = HashSet::new();
    for (number, segment) in segments.iter().enumerate() {
        // An event's result is a variable, as the event assigns it.
        for instruction in segment.instructions.iter().filter(|instruction| is_event(&instruction.operation))
        {
            found.extend(instruction.result.as_deref());
        }
        let mut used = |value: &'a Value, at: usize| {
            if let Value::Local(name) = value
                && home.get(name.as_str()).is_some_and(|home| *home != at)
            {
                found.insert(name.as_str());
            }
        };
        for instruction in segment.instructions {
            instruction.operation.values().into_iter().for_each(|value| used(value, number));
        }
        for instruction in &segment.block.instructions[..phis(segment.block)] {
            if let Operation::Phi { incoming, .. } = &instruction.operation {
                for (value, from) in incoming {
                    // The value is read where the edge comes from.
                    if let Some(from) = last_of.get(from.as_str()) {
                        used(value, *from);
                    }
                }
            }
        }
    }
    found
}
