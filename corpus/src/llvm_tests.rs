//! LLVM's regression tests of transformations: all of them, or a fixed sample.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metaloc_toolchain::{Notice, sources};

use crate::run_line::{self, NotPlain, OptLine, RunLine};
use crate::{Error, Result};

/// One `.ll` file under `llvm/test/Transforms`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlvmTest {
    /// The file.
    pub path: PathBuf,
    /// Its name below `llvm/test/Transforms`, with `/`: the same on every machine.
    pub name: String,
}

impl LlvmTest {
    /// The RUN lines, each plain or with the reason why not.
    pub fn lines(&self) -> Result<Vec<(RunLine, std::result::Result<OptLine, NotPlain>)>> {
        let text = fs::read(&self.path).map_err(Error::read(&self.path))?;
        Ok(run_line::run_lines(&text)
            .into_iter()
            .map(|line| {
                let class = line.classify();
                (line, class)
            })
            .collect())
    }
}

/// What of LLVM's source package holds the tests.
const MEMBERS: [&str; 1] = ["llvm/test/Transforms/*"];

/// The folder with the tests of LLVM 19, fetched once: the only version whose tests are used, with every LLVM.
pub fn source(notice: Notice<'_>) -> Result<PathBuf> {
    Ok(sources::fetch(19, &MEMBERS, notice)?)
}

/// All tests of a source tree, sorted by name. `source` is the folder that has `llvm/test/Transforms`.
pub fn all(source: &Path) -> Result<Vec<LlvmTest>> {
    below(&source.join("llvm/test/Transforms"))
}

/// All tests below a folder, sorted by name.
///
/// Files in folders called `Inputs` belong to other tests and are left out, as lit does.
pub fn below(root: &Path) -> Result<Vec<LlvmTest>> {
    let mut tests = Vec::new();
    collect(root, root, &mut tests)?;
    tests.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tests)
}

/// `count` of the items, the same ones on every machine for the same seed, whatever order they come in.
///
/// An item's place depends on its own name alone: a sample of 300 is part of a sample of 1,000, and a test
/// that is added or taken away changes at most one place.
pub fn sample<T>(items: Vec<T>, name: impl Fn(&T) -> &str, seed: u64, count: usize) -> Vec<T> {
    let mut keyed: Vec<(u64, T)> =
        items.into_iter().map(|item| (stable_hash(seed, name(&item).as_bytes()), item)).collect();
    keyed.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| name(x).cmp(name(y))));
    keyed.into_iter().take(count).map(|(_, item)| item).collect()
}

/// `count` of the items like [`sample`], but as many of each group as of any other while there are some.
pub fn spread<T>(
    items: Vec<T>,
    name: impl Fn(&T) -> &str,
    group: impl Fn(&T) -> String,
    seed: u64,
    count: usize,
) -> Vec<T> {
    let all = items.len();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut rounds: Vec<(usize, T)> = Vec::new();
    for item in sample(items, name, seed, all) {
        let round = seen.entry(group(&item)).or_default();
        rounds.push((*round, item));
        *round += 1;
    }
    rounds.sort_by_key(|(round, _)| *round);
    rounds.into_iter().take(count).map(|(_, item)| item).collect()
}

fn collect(root: &Path, folder: &Path, tests: &mut Vec<LlvmTest>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::read(folder))? {
        let path = entry.map_err(Error::read(folder))?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "Inputs") {
                collect(root, &path, tests)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "ll") {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            tests.push(LlvmTest { path, name });
        }
    }
    Ok(())
}

/// FNV-1a, then a finaliser that spreads it: stable across releases of Rust, unlike `std`'s hashers.
fn stable_hash(seed: u64, bytes: &[u8]) -> u64 {
    let fnv = bytes.iter().fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(seed: u64, count: usize) -> Vec<String> {
        let all: Vec<String> = (0..1000).map(|number| format!("Pass/test-{number}.ll")).collect();
        sample(all, |name| name, seed, count)
    }

    #[test]
    fn a_smaller_sample_is_the_beginning_of_a_larger_one() {
        assert_eq!(names(1, 300)[..], names(1, 900)[..300]);
        assert_ne!(names(1, 300), names(2, 300));
        assert_eq!(names(1, 5000).len(), 1000);
    }

    #[test]
    fn a_spread_sample_has_its_share_of_each_group() {
        let many = (0..90).map(|number| format!("A/{number}"));
        let all: Vec<String> = many.chain(["B/1".to_owned(), "C/1".to_owned(), "C/2".to_owned()]).collect();
        let spread = |count| spread(all.clone(), |name| name, |name| name[..1].to_owned(), 1, count);
        let groups = |count| spread(count).iter().map(|name| name[..1].to_owned()).collect::<Vec<_>>();
        let (mut three, five) = (groups(3), groups(5));
        three.sort();
        assert_eq!(three, ["A", "B", "C"]);
        assert_eq!(five.iter().filter(|group| *group == "C").count(), 2);
        assert_eq!(spread(3)[..], spread(5)[..3]);
        assert_eq!(spread(500).len(), all.len());
    }

    #[test]
    fn the_order_of_the_items_does_not_matter() {
        let mut all: Vec<String> = (0..1000).map(|number| format!("Pass/test-{number}.ll")).collect();
        all.reverse();
        assert_eq!(sample(all, |name| name, 1, 50), names(1, 50));
    }

    #[test]
    fn the_sample_never_changes() {
        insta::assert_snapshot!(names(1, 3).join(" "), @"Pass/test-774.ll Pass/test-182.ll Pass/test-482.ll");
    }

    #[test]
    fn a_sample_is_spread_over_all_items() {
        let sum: usize = names(7, 200)
            .iter()
            .map(|name| name[10..].trim_end_matches(".ll").parse::<usize>().unwrap())
            .sum();
        assert!((80_000..120_000).contains(&sum), "{sum}");
    }
}
