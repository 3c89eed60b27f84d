//! Which of the reported sites are judged: decided by a seed, before anybody has looked at them.

use std::collections::{BTreeMap, BTreeSet};

use metaloc_corpus::llvm_tests::sample;
use metaloc_report::{Confidence, Error};

/// Half certain and half likely ones, one after the other from each pass that has some, in an order that only the
/// seed decides; what one half lacks the other gets. Notes claim nothing and are not drawn.
pub fn draw(reported: Vec<(String, Error)>, seed: u64, count: usize) -> Vec<(String, Error)> {
    let certain = count.div_ceil(2);
    let of = |confidence| {
        reported.iter().filter(|(_, error)| error.confidence == confidence).cloned().collect::<Vec<_>>()
    };
    let mut first = in_turn(of(Confidence::Certain), seed);
    let mut second = in_turn(of(Confidence::Likely), seed);
    let from_second = count.saturating_sub(certain.min(first.len())).min(second.len());
    first.truncate(count - from_second);
    second.truncate(from_second);
    first.append(&mut second);
    // The judge must not see from the order which are which.
    sample(first, |(_, error)| &error.id, seed, count)
}

/// The first site of each pass, then the second of each that has one, and so on. Sites of two LLVMs with the same
/// witness are one.
fn in_turn(reported: Vec<(String, Error)>, seed: u64) -> Vec<(String, Error)> {
    let all = reported.len();
    let mut seen = BTreeSet::new();
    let mut turns: BTreeMap<usize, Vec<(String, Error)>> = BTreeMap::new();
    let mut of_pass: BTreeMap<String, usize> = BTreeMap::new();
    for (llvm, error) in sample(reported, |(_, error)| &error.id, seed, all) {
        let witness = error.witnesses.first().map(|witness| (witness.function.clone(), witness.name.clone()));
        if !seen.insert((error.pass.clone(), error.operation, witness)) {
            continue;
        }
        let turn = of_pass.entry(error.pass.clone()).or_default();
        turns.entry(*turn).or_default().push((llvm, error));
        *turn += 1;
    }
    turns.into_values().flat_map(|turn| sample(turn, |(_, error)| &error.pass, seed, all)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::error;
    use super::*;

    fn reported() -> Vec<(String, Error)> {
        let pass = |number: usize| if number < 30 { "big" } else { ["gvn", "licm", "dce"][number % 3] };
        let confidence = |number: usize| ["certain", "likely", "note"][(number / 3) % 3];
        let one = |number| ("19".to_owned(), error(&format!("e{number}"), pass(number), confidence(number)));
        (0..60).map(one).collect()
    }

    #[test]
    fn a_draw_is_the_same_each_time_and_takes_passes_in_turn() {
        let drawn = draw(reported(), 7, 8);
        assert_eq!(drawn, draw(reported(), 7, 8));
        let mut reversed = reported();
        reversed.reverse();
        assert_eq!(drawn, draw(reversed, 7, 8));
        assert_ne!(drawn, draw(reported(), 8, 8));
        for confidence in [Confidence::Certain, Confidence::Likely] {
            let of: BTreeSet<&str> = drawn
                .iter()
                .filter(|(_, error)| error.confidence == confidence)
                .map(|(_, error)| error.pass.as_str())
                .collect();
            assert_eq!(of.len(), 4, "one of each pass, though half of all are of one");
        }
    }

    #[test]
    fn what_one_half_lacks_the_other_gets() {
        let few: Vec<_> =
            reported().into_iter().filter(|(_, e)| e.confidence != Confidence::Certain).collect();
        assert_eq!(draw(few, 7, 8).len(), 8);
        let twice = vec![("16".to_owned(), error("a", "gvn", "likely")); 2];
        assert_eq!(draw(twice, 7, 8).len(), 1, "the same witness is the same site");
    }
}
