//! A function's machine code as a transition graph: one edge per basic block and way out of it.
//!
//! - [`blocks`]: which instructions, in which blocks;
//! - [`fixups`]: what the linker will write, as expressions over addresses of symbols;
//! - [`origin`]: where registers point, and so which region an access goes to;
//! - [`frame`]: what of the frame a signal handler may write over;
//! - [`tables`]: reads of constant data at a variable place, and jumps to what was read, with guesses of
//!   [`backwards`] that are required of the machine;
//! - [`run`]: a block as assignments.
//!
//! Registers are the variables `rax` to `r15`, `xmm0` to `xmm15` and `flag.Carry` and so on; the address of a
//! symbol is the variable `address.S`, which nothing assigns. In 32-bit code the registers are `eax` to `edi` and
//! `xmm0` to `xmm7`, and addresses, those of memory included, have 32 bits.

mod backwards;
mod blocks;
mod fixups;
mod frame;
mod origin;
mod run;
mod tables;

use crate::bits::Bits;
use crate::domain::Layout;
use crate::expr::{Arena, ExprId};
use crate::graph::{Edge, Graph, Point, PointId};
use crate::object_file::FunctionCode;
use crate::region::{Partition, Region};
use crate::x86::Stop;
use blocks::Block;
use origin::Origins;

pub use run::RETURN_TARGET;

/// Why a function has no graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiftError {
    /// An instruction without a meaning.
    #[error(transparent)]
    Instruction(#[from] Stop),
    /// Something that is known, but not followed.
    #[error("unsupported: {what} at {pc:#x}")]
    Unsupported {
        /// What.
        what: String,
        /// Where.
        pc: u64,
    },
}

fn unsupported(what: impl Into<String>, pc: u64) -> LiftError {
    LiftError::Unsupported { what: what.into(), pc }
}

/// The graph of a function that calls no other, its expressions in `arena`.
pub fn lift(arena: &mut Arena, function: &FunctionCode) -> Result<Graph, LiftError> {
    let graph = lift_by(arena, function, Partition::ByGlobal)?;
    // What a call does to memory is for `calls` to say, which has the source beside it.
    if let Some((call, edge)) = graph.edges.iter().find_map(|edge| Some((edge.call.as_ref()?, edge)))
        && let Point::Pc(pc) = graph.points[edge.from.0 as usize]
    {
        return Err(unsupported(format!("call of {}", call.callee), pc));
    }
    // A pointer that could not be followed may point to any global: then all but the frame is one region.
    if graph.needs_merging() { lift_by(arena, function, Partition::Merged) } else { Ok(graph) }
}

/// The same with a given cut of memory. The finest one is right only if the graph does not
/// [need merging](Graph::needs_merging), and calls in it say nothing of memory until [`crate::calls`] has.
pub fn lift_by(arena: &mut Arena, function: &FunctionCode, partition: Partition) -> Result<Graph, LiftError> {
    let blocks = blocks::find(function)?;
    let origins = Origins::infer(arena, &blocks, function)?;
    let edges = run_all(arena, &blocks, function, &origins, partition)?;
    let mut points: Vec<Point> = blocks.iter().map(|block| Point::Pc(block.start())).collect();
    points.push(Point::Exit);
    Ok(Graph { points, edges })
}

/// A look into an edge: from its start to a point on the way, which no other edge leads to.
#[derive(Debug, Clone)]
pub struct Peek {
    /// The point.
    pub point: Point,
    /// The step to it; its end is not a point of the graph.
    pub edge: Edge,
}

/// Looks into the blocks of a graph that [`lift_by`] made: one for each instruction that does not start a block, in
/// the order of pcs. Also the pcs of all instructions with their ends.
pub fn peeks(
    arena: &mut Arena,
    function: &FunctionCode,
    partition: Partition,
) -> Result<(Vec<Peek>, Vec<std::ops::Range<u64>>), LiftError> {
    let blocks = blocks::find(function)?;
    let origins = Origins::infer(arena, &blocks, function)?;
    let (mut found, mut pcs) = (Vec::new(), Vec::new());
    for (number, block) in blocks.iter().enumerate() {
        pcs.extend(block.instructions.iter().map(|instruction| instruction.ip()..instruction.next_ip()));
        let layout = BlockLayout { origins: &origins, function, block: number, partition };
        for length in 1..block.instructions.len() {
            let start = block.cut(length);
            let ran = run::block(arena, &start, function, &layout)?;
            let guard = arena.constant(Bits::bit(true));
            found.push(Peek {
                point: Point::Pc(block.instructions[length].ip()),
                edge: Edge {
                    from: PointId(number as u32),
                    to: PointId(u32::MAX),
                    guard,
                    assignments: ran.assignments,
                    requirements: ran.requirements,
                    accesses: ran.accesses,
                    assumptions: Vec::new(),
                    call: None,
                    open: false,
                },
            });
        }
    }
    Ok((found, pcs))
}

/// Where the addresses of one block lead.
struct BlockLayout<'a> {
    origins: &'a Origins,
    function: &'a FunctionCode,
    block: usize,
    partition: Partition,
}

impl Layout for BlockLayout<'_> {
    fn address_bits(&self) -> u32 {
        self.function.address_bits
    }

    fn memory(&self, arena: &mut Arena, region: &Region) -> ExprId {
        region.variable_in(arena, self.function.address_bits)
    }

    fn region(&self, arena: &mut Arena, address: ExprId) -> Region {
        self.partition.coarsen(self.origins.region(arena, self.block, address))
    }

    fn constant(&self, arena: &mut Arena, address: ExprId, bytes: u32) -> Option<Bits> {
        let (symbol, offset) = self.origins.global_offset(arena, address)?;
        self.function.constants.get(&symbol)?.read(offset, bytes)
    }
}

fn run_all(
    arena: &mut Arena,
    blocks: &[Block],
    function: &FunctionCode,
    origins: &Origins,
    partition: Partition,
) -> Result<Vec<Edge>, LiftError> {
    let point =
        |pc: u64| blocks.iter().position(|block| block.start() == pc).map(|number| PointId(number as u32));
    let exit = PointId(blocks.len() as u32);
    let mut edges = Vec::new();
    let mut rans = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        let layout = BlockLayout { origins, function, block: number, partition };
        rans.push(run::block(arena, block, function, &layout)?);
    }
    frame::check(arena, blocks, origins, &rans, function.address_bits)?;
    frame::require(arena, origins, &mut rans, function.address_bits);
    for ((number, block), ran) in blocks.iter().enumerate().zip(rans) {
        let call = run::called(arena, block, function, origins.depth(number))?;
        for (guard, target) in ran.ways {
            let to = match target {
                Point::Pc(pc) => {
                    point(pc).ok_or_else(|| unsupported("branch out of the function", block.last_pc()))?
                }
                _ => exit,
            };
            edges.push(Edge {
                from: PointId(number as u32),
                to,
                guard,
                assignments: ran.assignments.clone(),
                requirements: ran.requirements.clone(),
                accesses: ran.accesses.clone(),
                assumptions: Vec::new(),
                call: call.clone(),
                open: false,
            });
        }
    }
    Ok(edges)
}
