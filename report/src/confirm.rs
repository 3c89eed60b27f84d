//! The differential oracle: what a newer LLVM makes of an error of an older one, on the same input.
//!
//! Nothing is guessed. The runs of the pass on the function are compared one by one: the function must be the
//! same before in both LLVMs, instruction by instruction with its location, and have the same shape after (blocks,
//! edges, opcodes and names). Then the destination is the instruction in the same place. Whatever does not
//! correspond in this way is unknown, with the reason.

use serde::{Deserialize, Serialize};

use crate::document::{Error, Kind, Operation};
use crate::kept_run::{Graph, KeptRun, Mark, Spot};

/// What a newer LLVM says of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// Version of the newer LLVM.
    pub llvm: String,
    /// What it says.
    pub verdict: Verdict,
    /// The input that decided it; the first one if none did.
    pub input: String,
    /// Why it is unknown; `None` if it is not.
    pub reason: Option<String>,
}

/// What a newer LLVM does where an older one has an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It makes the very change that the report asks for.
    Confirmed,
    /// It has the same error.
    StillShown,
    /// The two cannot be compared, or it does something else.
    Unknown,
}

/// A verdict with the reason if it is unknown.
pub type Answer = Result<Verdict, &'static str>;

/// What one LLVM did: runs of one pass on one function, and the errors that their marks name.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// All runs that changed the function, in order.
    pub runs: &'a [KeptRun],
    /// The errors of the same document.
    pub errors: &'a [Error],
}

/// Compares all places where the older LLVM shows an error, given by the ids that its marks may have.
pub fn compare(old: Side<'_>, new: Side<'_>, ids: &[&str], error: &Error) -> Answer {
    let mut answer = None;
    for (number, run) in old.runs.iter().enumerate() {
        for mark in run.marks.iter().filter(|mark| ids.contains(&mark.error.as_str())) {
            let here = at_mark(run, mark, new.runs.get(number), new.errors, error);
            match answer {
                None => answer = Some(here),
                Some(known) if known == here => {}
                Some(_) => return Err("it does not do the same everywhere in the function"),
            }
        }
    }
    answer.unwrap_or(Err("the older LLVM does not show it on this input alone"))
}

fn at_mark(old: &KeptRun, mark: &Mark, new: Option<&KeptRun>, errors: &[Error], error: &Error) -> Answer {
    let Some(new) = new else { return Err("it changes nothing here") };
    if !same_shape(&old.before, &new.before) || !same_locations(&old.before, &new.before) {
        return Err("the function is another one before the pass");
    }
    if !same_shape(&old.after, &new.after) {
        return Err("it leaves another function behind");
    }
    let (Some(then), Some(now)) = (old.after.at(mark.destination), new.after.at(mark.destination)) else {
        return Err("the destination is not there");
    };
    let shown = new.marks.iter().filter(|known| known.destination == mark.destination);
    let shown: Vec<(Operation, Kind)> = shown
        .filter_map(|known| errors.iter().find(|error| error.id == known.error))
        .map(|error| (error.operation, error.kind))
        .collect();
    if shown.contains(&(error.operation, error.kind)) {
        return Ok(Verdict::StillShown);
    }
    if !shown.is_empty() {
        return Err("it has another error here");
    }
    if then.location == now.location {
        return Err("it does the same, and is not reported");
    }
    let sources = locations(&new.before, &mark.sources);
    match is_asked_for(error.operation, &sources, now.location.as_deref()) {
        true => Ok(Verdict::Confirmed),
        false => Err("it gives a location that was not asked for"),
    }
}

fn locations<'a>(graph: &'a Graph, spots: &[Spot]) -> Vec<&'a str> {
    spots.iter().filter_map(|&spot| graph.at(spot)?.location.as_deref()).collect()
}

/// Is this the location that the operation gives?
fn is_asked_for(operation: Operation, sources: &[&str], location: Option<&str>) -> bool {
    match operation {
        Operation::Drop => location.is_none_or(|location| line(location) == Some(0)),
        Operation::Preserve => location.is_some_and(|location| sources.contains(&location)),
        Operation::Merge => {
            let lines: Vec<_> = sources.iter().map(|source| line(source)).collect();
            let merged = match lines.split_first() {
                Some((first, rest)) if rest.iter().all(|other| other == first) => *first,
                Some(_) => Some(0),
                None => return false,
            };
            merged.is_some() && location.is_some_and(|location| line(location) == merged)
        }
    }
}

/// The line of `file:line:column`, with or without where it was inlined.
fn line(location: &str) -> Option<u32> {
    let first = location.split(" @[").next()?;
    let (rest, _column) = first.rsplit_once(':')?;
    rest.rsplit_once(':')?.1.parse().ok()
}

fn same_shape(a: &Graph, b: &Graph) -> bool {
    let same_names = |a: &Option<String>, b: &Option<String>| a == b;
    a.blocks.len() == b.blocks.len()
        && a.blocks.iter().zip(&b.blocks).all(|(a, b)| {
            a.successors == b.successors
                && a.instructions.len() == b.instructions.len()
                && a.instructions
                    .iter()
                    .zip(&b.instructions)
                    .all(|(a, b)| a.opcode == b.opcode && same_names(&a.name, &b.name))
        })
}

/// Of graphs of the same shape.
fn same_locations(a: &Graph, b: &Graph) -> bool {
    a.spots().zip(b.spots()).all(|((_, a), (_, b))| a.location == b.location)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::example;

    const ID: &str = "0011223344556677";

    fn document() -> Document {
        Document { runs: vec![example::run()], ..example::document() }
    }

    fn side(document: &Document) -> Side<'_> {
        Side { runs: &document.runs, errors: &document.errors }
    }

    fn answer(change: impl FnOnce(&mut Document)) -> Answer {
        let old = document();
        let mut new = document();
        change(&mut new);
        compare(side(&old), side(&new), &[ID], &old.errors[0])
    }

    fn fixed(document: &mut Document) {
        document.runs[0].marks.clear();
        document.runs[0].after.blocks[2].instructions[0].location = None;
    }

    #[test]
    fn the_change_that_was_asked_for_confirms() {
        assert_eq!(answer(fixed), Ok(Verdict::Confirmed));
        let line_0 = |document: &mut Document| {
            fixed(document);
            document.runs[0].after.blocks[2].instructions[0].location = Some("t.c:0:0".to_owned());
        };
        assert_eq!(answer(line_0), Ok(Verdict::Confirmed));
    }

    #[test]
    fn the_same_error_is_still_shown() {
        assert_eq!(answer(|_| {}), Ok(Verdict::StillShown));
    }

    #[test]
    fn another_error_in_the_same_place_is_unknown() {
        assert_eq!(
            answer(|new| new.errors[0].operation = Operation::Merge),
            Err("it has another error here")
        );
    }

    #[test]
    fn what_does_not_correspond_is_unknown() {
        let reason = |change: &dyn Fn(&mut Document)| {
            answer(|new| {
                fixed(new);
                change(new);
            })
            .unwrap_err()
        };
        assert_eq!(reason(&|new| new.runs.clear()), "it changes nothing here");
        let before = "the function is another one before the pass";
        assert_eq!(reason(&|new| drop(new.runs[0].before.blocks.pop())), before);
        let other = Some("t.c:9:9".to_owned());
        assert_eq!(
            reason(&|new| new.runs[0].before.blocks[0].instructions[0].location = other.clone()),
            before
        );
        let after = "it leaves another function behind";
        assert_eq!(reason(&|new| drop(new.runs[0].after.blocks[2].instructions.pop())), after);
        assert_eq!(
            reason(&|new| new.runs[0].after.blocks[2].instructions[0].opcode = "sub".to_owned()),
            after
        );
        assert_eq!(reason(&|new| new.runs[0].after.blocks[0].successors.reverse()), after);
        let elsewhere = "it gives a location that was not asked for";
        assert_eq!(
            reason(&|new| new.runs[0].after.blocks[2].instructions[0].location = other.clone()),
            elsewhere
        );
        assert_eq!(answer(|new| new.runs[0].marks.clear()), Err("it does the same, and is not reported"));
    }

    #[test]
    fn places_that_differ_are_unknown() {
        let mut old = document();
        old.runs.push(old.runs[0].clone());
        let mut new = old.clone();
        fixed(&mut new);
        let answer = compare(side(&old), side(&new), &[ID], &old.errors[0]);
        assert_eq!(answer, Err("it does not do the same everywhere in the function"));
        let nowhere = compare(side(&old), side(&new), &["x"], &old.errors[0]);
        assert_eq!(nowhere, Err("the older LLVM does not show it on this input alone"));
    }

    #[test]
    fn operations_ask_for_locations() {
        let (preserve, merge) = (Operation::Preserve, Operation::Merge);
        assert!(is_asked_for(preserve, &["a.c:1:2"], Some("a.c:1:2")));
        assert!(!is_asked_for(preserve, &["a.c:1:2"], Some("a.c:1:3")));
        assert!(!is_asked_for(preserve, &["a.c:1:2"], None));
        assert!(is_asked_for(merge, &["a.c:1:2", "a.c:3:2"], Some("a.c:0:0")));
        assert!(is_asked_for(merge, &["a.c:1:2", "a.c:1:9"], Some("a.c:1:0")));
        assert!(!is_asked_for(merge, &["a.c:1:2", "a.c:3:2"], Some("a.c:1:2")));
        assert!(!is_asked_for(merge, &["a.c:1:2", "a.c:3:2"], None));
        assert!(!is_asked_for(merge, &[], Some("a.c:0:0")));
        assert_eq!(line("/x:y/a.c:7:35 @[ b.c:9:1 ]"), Some(7));
    }
}
