//! Broken objects, made from sound ones: what repair must refuse or survive.
//!
//! Most changes go into debug sections, a few bytes at a time, because anything coarser is refused at the first look.

use crate::elf::Elf;
use std::ops::Range;

/// Where changes are made in a file, by its sections.
#[derive(Debug, Clone)]
pub struct Parts {
    bytes: usize,
    debug: Vec<Range<usize>>,
}

impl Parts {
    /// The parts of a file that is sound.
    pub fn of(file: &[u8]) -> crate::error::Result<Parts> {
        let elf = Elf::parse(file)?;
        let debug =
            elf.sections.iter().filter(|section| section.name.contains("debug") && !section.data.is_empty());
        Ok(Parts { bytes: file.len(), debug: debug.map(|section| section.file_range()).collect() })
    }
}

/// A mutant of a file; `draw` gives a number below its argument.
pub fn mutant(file: &[u8], parts: &Parts, mut draw: impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut mutant = file.to_vec();
    for _ in 0..1 + draw(4) {
        let place = match (draw(4), parts.debug.is_empty()) {
            (0, _) | (_, true) => 0..parts.bytes,
            _ => parts.debug[draw(parts.debug.len())].clone(),
        };
        let at = (place.start + draw(place.len().max(1))).min(mutant.len().saturating_sub(1));
        if mutant.is_empty() {
            break;
        }
        match draw(16) {
            0 => mutant.truncate(at.max(1)),
            1..=3 => mutant[at] = 0xff,
            4..=5 => mutant[at] = 0,
            6..=9 => mutant[at] ^= 1 << draw(8),
            10..=11 => mutant[at] = mutant[at].wrapping_add(1),
            // A field of four bytes.
            12 => {
                let end = (at + 4).min(mutant.len());
                mutant[at..end].fill([0, 0xff, 0x7f][draw(3)]);
            }
            // A piece of the same file.
            13 => {
                let from = draw(mutant.len());
                let count = (1 + draw(16)).min(mutant.len() - at.max(from));
                mutant.copy_within(from..from + count, at);
            }
            _ => mutant[at] = draw(256) as u8,
        }
    }
    mutant
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_differ_and_stay_in_bounds() {
        let file = vec![7; 64];
        let parts = Parts { bytes: 64, debug: Vec::from([10..20, 60..64]) };
        let mut state = 1usize;
        let mut draw = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit.max(1)
        };
        let changed = (0..2000).filter(|_| mutant(&file, &parts, &mut draw) != file).count();
        assert!(changed > 1500, "{changed}");
    }
}
