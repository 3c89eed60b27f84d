//! What the judgements come to: precision by confidence, rule and batch, and how far two judges agree.

use std::collections::BTreeMap;
use std::fmt::Write;

use metaloc_report::Confidence;
use serde::Serialize;

use super::{Batch, Label};

/// Counts by confidence, by rule and by batch.
#[derive(Debug, Default, Serialize)]
pub struct Tally {
    schema: &'static str,
    by_confidence: BTreeMap<String, Counts>,
    by_rule: BTreeMap<String, Counts>,
    /// By batch and then by confidence: a batch that was drawn after the rules were tuned speaks for itself.
    by_batch: BTreeMap<String, BTreeMap<String, Counts>>,
    twice: Twice,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Counts {
    error: usize,
    intended: usize,
    unclear: usize,
    not_judged: usize,
}

/// Sites that a second judge has seen, who did not know what the first one said.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Twice {
    judged: usize,
    agreed: usize,
    disagreed: Vec<Disagreement>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Disagreement {
    batch: String,
    id: String,
    first: Label,
    second: Label,
}

impl Tally {
    pub fn new(batches: &[Batch]) -> Tally {
        let mut tally = Tally { schema: "metaloc.bench-labels/1", ..Tally::default() };
        for batch in batches {
            let of_batch = tally.by_batch.entry(batch.name.clone()).or_default();
            for (site, key) in &batch.sites {
                let confidence = name(key.confidence);
                for counts in [
                    tally.by_confidence.entry(confidence.clone()).or_default(),
                    tally.by_rule.entry(key.rule.clone()).or_default(),
                    of_batch.entry(confidence).or_default(),
                ] {
                    counts.count(site.label);
                }
                if let (Some(first), Some(&second)) = (site.label, batch.second.get(&site.id)) {
                    tally.twice.compare(batch, &site.id, first, second);
                }
            }
        }
        tally
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{:24} error intended unclear open  precision", "");
        let all = |parts: &BTreeMap<String, Counts>| {
            parts.values().fold(Counts::default(), |sum, counts| sum.plus(*counts))
        };
        for (name, counts) in &self.by_confidence {
            let _ = writeln!(text, "{}", counts.line(name));
        }
        let _ = writeln!(text, "{}", all(&self.by_confidence).line("all"));
        for (name, counts) in &self.by_rule {
            let _ = writeln!(text, "{}", counts.line(name));
        }
        for (batch, counts) in &self.by_batch {
            let _ = writeln!(text, "{}", all(counts).line(batch));
            for (name, counts) in counts {
                let _ = writeln!(text, "{}", counts.line(&format!("  {name}")));
            }
        }
        if self.twice.judged > 0 {
            text += &self.twice.text();
        }
        text
    }
}

fn name(confidence: Confidence) -> String {
    format!("{confidence:?}").to_lowercase()
}

impl Counts {
    fn count(&mut self, label: Option<Label>) {
        match label {
            Some(Label::Error) => self.error += 1,
            Some(Label::Intended) => self.intended += 1,
            Some(Label::Unclear) => self.unclear += 1,
            None => self.not_judged += 1,
        }
    }

    fn plus(self, other: Counts) -> Counts {
        Counts {
            error: self.error + other.error,
            intended: self.intended + other.intended,
            unclear: self.unclear + other.unclear,
            not_judged: self.not_judged + other.not_judged,
        }
    }

    fn line(self, name: &str) -> String {
        let Counts { error, intended, unclear, not_judged } = self;
        let of = error + intended + unclear + not_judged;
        let share = 100.0 * error as f64 / of.max(1) as f64;
        format!("{name:24} {error:5} {intended:8} {unclear:7} {not_judged:4}  {error} of {of} ({share:.0}%)")
    }
}

impl Twice {
    fn compare(&mut self, batch: &Batch, id: &str, first: Label, second: Label) {
        self.judged += 1;
        if first == second {
            self.agreed += 1;
        } else {
            let (batch, id) = (batch.name.clone(), id.to_owned());
            self.disagreed.push(Disagreement { batch, id, first, second });
        }
    }

    fn text(&self) -> String {
        let Twice { judged, agreed, disagreed } = self;
        let share = 100.0 * *agreed as f64 / *judged as f64;
        let mut text = format!("judged twice: {agreed} of {judged} alike ({share:.0}%)\n");
        for Disagreement { batch, id, first, second } in disagreed {
            let _ = writeln!(text, "  {batch} {id}: first {}, second {}", first.word(), second.word());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::error;
    use super::super::{Site, apart};
    use super::*;

    fn batch(labels: &[Option<Label>]) -> Batch {
        let site = |(number, &label): (usize, &Option<Label>)| {
            let (site, key) = apart("19".to_owned(), error(&format!("e{number}"), "gvn", "certain"));
            (Site { label, ..site }, key)
        };
        let sites = labels.iter().enumerate().map(site).collect();
        Batch { name: "b1".to_owned(), sites, second: BTreeMap::new() }
    }

    #[test]
    fn what_is_not_an_error_counts_against_us() {
        let batch = batch(&[Some(Label::Error), Some(Label::Unclear), None, Some(Label::Intended)]);
        let text = Tally::new(&[batch]).text();
        for of in ["certain", "b1", "off_path", "all"] {
            let line = text.lines().find(|line| line.starts_with(of)).unwrap();
            assert!(line.ends_with("1 of 4 (25%)"), "{line}");
        }
        assert!(!text.contains("twice"), "{text}");
    }

    #[test]
    fn agreement_is_of_what_both_have_judged() {
        let mut batch = batch(&[Some(Label::Error), Some(Label::Error), None]);
        let second = [("e0", Label::Error), ("e1", Label::Intended), ("e2", Label::Error)];
        batch.second = second.map(|(id, label)| (id.to_owned(), label)).into();
        let text = Tally::new(&[batch]).text();
        assert!(
            text.contains("judged twice: 1 of 2 alike (50%)\n  b1 e1: first error, second intended\n"),
            "{text}"
        );
    }
}
