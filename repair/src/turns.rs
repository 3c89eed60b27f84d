//! Iterations that store nothing, told apart by what they read.
//!
//! A body that is unrolled but not vectorised reads the elements of one iteration after those of the one before. So an
//! instruction that reads what the source reads in its iteration k is of that iteration, and the source does not come to
//! its own read of the next one before the machine does.

use crate::schedule::SourceStep;
use std::collections::BTreeMap;

/// Which iteration the machine is at, by its positions on an edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turns {
    /// For the first position of the machine in each iteration, the source's read.
    begins: BTreeMap<usize, usize>,
}

impl Turns {
    /// By positions of the machine whose instruction reads what the source reads at its position: those of one point of
    /// the source that the machine does one after the other, each iteration's own one. The earliest of such points.
    pub fn of(source: &[SourceStep], reads: &[(usize, usize)]) -> Option<Turns> {
        let mut found: Vec<Turns> =
            (0..source.len()).filter_map(|number| Turns::of_point(source, number, reads)).collect();
        found.sort_by_key(|turns| turns.begins.first_key_value().map(|(machine, _)| *machine));
        found.into_iter().next()
    }

    /// If the position is the first one of its point.
    fn of_point(source: &[SourceStep], number: usize, reads: &[(usize, usize)]) -> Option<Turns> {
        let is_here = |other: &usize| source[*other].point == source[number].point;
        // Nothing is read at the end of the edge any more.
        let positions: Vec<usize> = (0..source.len() - 1).filter(is_here).collect();
        let rounds = positions.iter().map(|position| source[*position].round);
        if positions[..].first() != Some(&number) || positions.len() < 2 || !rounds.eq(0..positions.len()) {
            return None;
        }
        let mut begins = BTreeMap::new();
        let mut before = None;
        for position in positions {
            let machine = reads.iter().filter(|read| read.1 == position).map(|read| read.0).min()?;
            if before.is_some_and(|before| machine <= before) {
                return None;
            }
            begins.insert(machine, position);
            before = Some(machine);
        }
        Some(Turns { begins })
    }

    /// At a position of the machine: where the source is at least, and at most.
    pub fn at(&self, machine: usize) -> (usize, usize) {
        let begun = self.begins.range(..=machine).next_back().map_or(0, |(_, source)| *source);
        let next = self.begins.range(machine + 1..).next().map_or(usize::MAX, |(_, source)| source - 1);
        (begun, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rounds` of a body that reads at its second point.
    fn body(rounds: usize) -> Vec<SourceStep> {
        let places = |round: usize| {
            [0, 1, 2].map(|point| SourceStep {
                place: (8, 9),
                point,
                stored: false,
                round,
                block: 2 * round,
                branches: Vec::new(),
            })
        };
        (0..=rounds).flat_map(places).take(3 * rounds + 1).collect()
    }

    #[test]
    fn reads_one_after_the_other_are_turns() {
        let turns = Turns::of(&body(3), &[(0, 1), (2, 4), (5, 7)]).unwrap();
        let at = (0..7).map(|machine| turns.at(machine)).collect::<Vec<_>>();
        let (first, second, third) = ((1, 3), (4, 6), (7, usize::MAX));
        assert_eq!(at, [first, first, second, second, second, third, third]);
    }

    #[test]
    fn what_is_not_read_one_after_the_other_is_not() {
        let of = |reads: &[(usize, usize)]| Turns::of(&body(3), reads);
        assert_eq!(of(&[(0, 1), (5, 4), (2, 7)]), None, "another order");
        assert_eq!(of(&[(0, 1), (2, 4)]), None, "an iteration without its own read");
        assert_eq!(of(&[(0, 1), (2, 4), (2, 7)]), None, "one read for two");
        assert_eq!(Turns::of(&body(1), &[(0, 1)]), None, "one iteration needs no turns");
        let mut twice = body(3);
        twice[4].round = 0;
        assert_eq!(Turns::of(&twice, &[(0, 1), (2, 4), (5, 7)]), None, "of another loop");
        // Read again, it stays where it was read first.
        assert!(of(&[(0, 1), (2, 4), (4, 1), (5, 7)]).is_some_and(|turns| turns.at(4) == (4, 6)));
    }
}
