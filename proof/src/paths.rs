//! Sets of paths between two points in series-parallel form (Counter, section 3.7): a vectorised body with
//! four source iterations of three branches each is 81 paths and a dozen nodes here.
//!
//! A step goes from one point to the next and passes at most one branch, its last instruction. A set means the set
//! of its paths; the numbers mu and delta bound how often points are met, the start not counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A (mu, delta)-unrolled set of paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSet {
    /// No point but the last is met more often on any path.
    pub mu: u32,
    /// The last point is met exactly so often on every path; 0 only for the empty path. This keeps the
    /// paths apart: one that is a prefix of another would meet the last point less often.
    pub delta: u32,
    /// The paths.
    pub paths: Paths,
}

/// Series-parallel paths over point numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Paths {
    /// The empty path: the program stays where it is.
    Empty,
    /// From one point to the next, past at most one branch.
    Step(u32, u32),
    /// One after the other.
    Series(Vec<Paths>),
    /// One of several with the same ends.
    Parallel(Vec<Paths>),
    /// A closed set run a number of times.
    Repeat {
        /// How often, at least 2.
        times: u32,
        /// What; ends where it starts.
        body: Box<Paths>,
    },
}

/// Start and end of a set of paths; `None` for the empty path, which fits anywhere.
pub type Ends = Option<(u32, u32)>;

/// Why a series-parallel term is no set of paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Two parts in series do not meet.
    #[error("a path reaches point {reached} but goes on from point {continues}")]
    Broken {
        /// End of the first part.
        reached: u32,
        /// Start of the second.
        continues: u32,
    },
    /// Branches with different ends, or an empty one beside others.
    #[error("parallel branches have different ends")]
    Forked,
    /// The same branch twice.
    #[error("the same parallel branch is there twice")]
    Twice,
    /// Series or parallel of less than two parts, or one that contains the empty path.
    #[error("series and parallel need two parts or more, none of them empty")]
    Thin,
    /// A repetition that is not closed, or of fewer than two rounds.
    #[error("a repetition needs a closed body and two rounds or more")]
    Repetition,
}

impl Paths {
    /// Start and end, if this is well formed.
    pub fn ends(&self) -> Result<Ends, PathError> {
        match self {
            Paths::Empty => Ok(None),
            Paths::Step(from, to) => Ok(Some((*from, *to))),
            Paths::Series(parts) => series_ends(parts),
            Paths::Parallel(branches) => parallel_ends(branches),
            Paths::Repeat { times, body } => match body.ends()? {
                Some((from, to)) if from == to && *times >= 2 => Ok(Some((from, to))),
                _ => Err(PathError::Repetition),
            },
        }
    }

    /// How many paths there are; saturates.
    pub fn count(&self) -> u64 {
        match self {
            Paths::Empty | Paths::Step(..) => 1,
            Paths::Series(parts) => parts.iter().fold(1, |all, part| all.saturating_mul(part.count())),
            Paths::Parallel(branches) => {
                branches.iter().fold(0, |all, part| all.saturating_add(part.count()))
            }
            Paths::Repeat { times, body } => body.count().saturating_pow(*times),
        }
    }

    /// How often each point is met: least and most over all paths, starts not counted. Counts saturate.
    pub fn visits(&self) -> BTreeMap<u32, (u64, u64)> {
        match self {
            Paths::Empty => BTreeMap::new(),
            Paths::Step(_, to) => BTreeMap::from([(*to, (1, 1))]),
            Paths::Series(parts) => {
                let mut sum = BTreeMap::<u32, (u64, u64)>::new();
                for (point, (least, most)) in parts.iter().flat_map(Paths::visits) {
                    let count = sum.entry(point).or_default();
                    *count = (count.0.saturating_add(least), count.1.saturating_add(most));
                }
                sum
            }
            Paths::Parallel(branches) => parallel_visits(branches),
            Paths::Repeat { times, body } => {
                let times = u64::from(*times);
                let scaled =
                    |(least, most): (u64, u64)| (least.saturating_mul(times), most.saturating_mul(times));
                body.visits().into_iter().map(|(point, count)| (point, scaled(count))).collect()
            }
        }
    }

    /// All points named, in no order, with repetitions.
    pub fn points(&self) -> Vec<u32> {
        match self {
            Paths::Empty => Vec::new(),
            Paths::Step(from, to) => vec![*from, *to],
            Paths::Series(parts) | Paths::Parallel(parts) => parts.iter().flat_map(Paths::points).collect(),
            Paths::Repeat { body, .. } => body.points(),
        }
    }
}

fn series_ends(parts: &[Paths]) -> Result<Ends, PathError> {
    let mut whole: Ends = None;
    for part in parts {
        let (from, to) = part.ends()?.ok_or(PathError::Thin)?;
        whole = match whole {
            None => Some((from, to)),
            Some((start, reached)) if reached == from => Some((start, to)),
            Some((_, reached)) => return Err(PathError::Broken { reached, continues: from }),
        };
    }
    if parts.len() < 2 { Err(PathError::Thin) } else { Ok(whole) }
}

fn parallel_ends(branches: &[Paths]) -> Result<Ends, PathError> {
    let (first, rest) = branches.split_first().ok_or(PathError::Thin)?;
    let ends = first.ends()?;
    if rest.is_empty() || ends.is_none() {
        return Err(PathError::Thin);
    }
    for branch in rest {
        if branch.ends()? != ends {
            return Err(PathError::Forked);
        }
    }
    let mut seen = std::collections::HashSet::new();
    if branches.iter().all(|branch| seen.insert(branch)) { Ok(ends) } else { Err(PathError::Twice) }
}

fn parallel_visits(branches: &[Paths]) -> BTreeMap<u32, (u64, u64)> {
    let counts: Vec<_> = branches.iter().map(Paths::visits).collect();
    let mut whole = BTreeMap::<u32, (u64, u64)>::new();
    for point in counts.iter().flat_map(BTreeMap::keys) {
        let of = |count: &BTreeMap<u32, (u64, u64)>| count.get(point).copied().unwrap_or((0, 0));
        let least = counts.iter().map(|count| of(count).0).min().unwrap_or(0);
        let most = counts.iter().map(|count| of(count).1).max().unwrap_or(0);
        whole.insert(*point, (least, most));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_row_multiply_and_beside_each_other_add() {
        let diamond = || Paths::Parallel(vec![Paths::Step(0, 1), Paths::Step(0, 2), Paths::Empty]);
        let twice = Paths::Series(vec![diamond(), Paths::Step(2, 3), diamond()]);
        assert_eq!(twice.count(), 9);
        assert_eq!(Paths::Repeat { times: 4, body: Box::new(diamond()) }.count(), 81);
        assert_eq!(Paths::Repeat { times: 64, body: Box::new(diamond()) }.count(), u64::MAX);
    }

    fn diamond() -> Paths {
        let branch = |middle| Paths::Series(vec![Paths::Step(0, middle), Paths::Step(middle, 0)]);
        Paths::Parallel(vec![branch(1), branch(2), branch(3)])
    }

    #[test]
    fn repeated_diamond_meets_its_ends_a_fixed_number_of_times() {
        let four = Paths::Repeat { times: 4, body: Box::new(diamond()) };
        assert_eq!(four.ends(), Ok(Some((0, 0))));
        assert_eq!(four.visits()[&0], (4, 4));
        assert_eq!(four.visits()[&2], (0, 4));
    }

    #[test]
    fn malformed_terms_are_named() {
        let step = |from, to| Paths::Step(from, to);
        let refused = |paths: Paths| paths.ends().unwrap_err();
        assert_eq!(
            refused(Paths::Series(vec![step(0, 1), step(2, 3)])),
            PathError::Broken { reached: 1, continues: 2 }
        );
        assert_eq!(refused(Paths::Parallel(vec![step(0, 1), step(0, 2)])), PathError::Forked);
        assert_eq!(refused(Paths::Parallel(vec![step(0, 1), step(0, 1)])), PathError::Twice);
        assert_eq!(refused(Paths::Series(vec![step(0, 1), Paths::Empty])), PathError::Thin);
        assert_eq!(refused(Paths::Parallel(vec![])), PathError::Thin);
        assert_eq!(refused(Paths::Repeat { times: 4, body: Box::new(step(0, 1)) }), PathError::Repetition);
        assert_eq!(refused(Paths::Repeat { times: 1, body: Box::new(step(0, 0)) }), PathError::Repetition);
    }

    #[test]
    fn counts_saturate() {
        let mut paths = Paths::Step(0, 0);
        for _ in 0..4 {
            paths = Paths::Repeat { times: u32::MAX, body: Box::new(paths) };
        }
        assert_eq!(paths.visits()[&0], (u64::MAX, u64::MAX));
    }
}
