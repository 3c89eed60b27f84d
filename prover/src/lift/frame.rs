//! What of the frame a signal handler may write over at any moment: all that is further below the stack pointer than
//! the ABI keeps free. A graph has the frame as memory that nobody else writes to, which is right only of code that
//! never reads what was down there in the meantime. So an access below is refused, and so is a read of what was once
//! given back and not written since.
//!
//! Only constant distances from the stack pointer are followed. That an address at another one is not too far below
//! is required of the machine, and so an obligation; a read there while some of the frame is lost is refused.

use super::blocks::Block;
use super::origin::Origins;
use super::run::{Ran, Touched};
use super::{LiftError, unsupported};
use crate::bits::Bits;
use crate::domain::{Fault, Requirement};
use crate::expr::{Arena, CompareOp};
use crate::graph::Point;
use crate::region::Region;
use std::collections::BTreeSet;

/// Distances that are followed; a frame has no bytes beyond.
const FARTHEST: i64 = 1 << 17;

/// Offsets of bytes, from the stack pointer at entry, that may have changed since they were written.
type Lost = BTreeSet<i64>;

/// Refuses code that relies on memory below its stack pointer.
pub(super) fn check(
    arena: &mut Arena,
    blocks: &[Block],
    origins: &Origins,
    rans: &[Ran],
    address_bits: u32,
) -> Result<(), LiftError> {
    let mut at_start: Vec<Option<Lost>> = vec![None; blocks.len()];
    at_start[0] = Some(Lost::new());
    let mut open = vec![0];
    while let Some(number) = open.pop() {
        let Some(mut lost) = at_start[number].clone() else { continue };
        for touched in &rans[number].touched {
            let mut frame =
                Frame { arena: &mut *arena, origins, block: number, ran: &rans[number], address_bits };
            frame.step(touched, &mut lost)?;
        }
        for (_, target) in &rans[number].ways {
            let Point::Pc(pc) = target else { continue };
            let Some(to) = blocks.iter().position(|block| block.start() == *pc) else { continue };
            let before = at_start[to].as_ref().map(Lost::len);
            let known = at_start[to].get_or_insert_default();
            known.extend(&lost);
            if before != Some(known.len()) {
                open.push(to);
            }
        }
    }
    Ok(())
}

/// Requires that accesses of the frame at distances that are not constant are not too far below the stack pointer.
pub(super) fn require(arena: &mut Arena, origins: &Origins, rans: &mut [Ran], address_bits: u32) {
    for (number, ran) in rans.iter_mut().enumerate() {
        let Ran { touched, accesses, requirements, .. } = ran;
        for touched in touched.iter() {
            for access in &accesses[touched.accesses.clone()] {
                let known = origins.frame_offset(arena, number, access.address).is_some();
                if access.region != Region::Stack || known {
                    continue;
                }
                let down = Bits::new(address_bits, -i128::from(red_zone(address_bits)) as u128);
                let floor = arena.sum(down, &[(1, touched.before)]);
                let beyond = arena.compare(CompareOp::Ult, access.address, floor);
                let condition = arena.not(beyond);
                requirements.push(Requirement { condition, otherwise: Fault::BelowStack });
            }
        }
    }
}

/// Bytes below the stack pointer that are the function's own.
fn red_zone(address_bits: u32) -> i64 {
    if address_bits == 64 { 128 } else { 0 }
}

struct Frame<'a> {
    arena: &'a mut Arena,
    origins: &'a Origins,
    block: usize,
    ran: &'a Ran,
    address_bits: u32,
}

impl Frame<'_> {
    fn step(&mut self, touched: &Touched, lost: &mut Lost) -> Result<(), LiftError> {
        let red_zone = red_zone(self.address_bits);
        let mut offset = |id| self.origins.frame_offset(self.arena, self.block, id);
        let (before, after) = (offset(touched.before), offset(touched.after));
        for access in &self.ran.accesses[touched.accesses.clone()] {
            if access.region != Region::Stack {
                continue;
            }
            let refused = |what: &str| Err(unsupported(what, touched.pc));
            let (Some(before), Some(after)) = (before, after) else {
                return refused("access of the frame with a stack pointer that is not followed");
            };
            let (read_floor, write_floor) = (before - red_zone, before.min(after) - red_zone);
            match offset(access.address) {
                Some(start) => {
                    let bytes = start..start.saturating_add(i64::from(access.bytes));
                    if touched.asks && start < write_floor {
                        lost.extend(bytes);
                        continue;
                    }
                    let floor = if access.write { write_floor } else { read_floor };
                    if start < floor {
                        return refused("access below what is kept of the stack");
                    }
                    if access.write {
                        lost.retain(|byte| !bytes.contains(byte));
                    } else if lost.range(bytes).next().is_some() {
                        return refused("read of stack that was given back");
                    }
                }
                None if !access.write && lost.range(read_floor..).next().is_some() => {
                    return refused("read of stack some of which was given back");
                }
                None => {}
            }
        }
        let end = after.map(|after| after.clamp(-FARTHEST, FARTHEST) - red_zone);
        match (before, end) {
            (Some(before), Some(end)) => {
                lost.extend((before.clamp(-FARTHEST, FARTHEST) - red_zone)..end);
            }
            (None, Some(end)) => lost.extend(-FARTHEST..end),
            (_, None) => {}
        }
        Ok(())
    }
}
