//! Structural validation: everything about a document that can be checked without IR, object or solver.
//!
//! - [`tables`]: ids, hashes, globals, points, bindings, widths;
//! - [`sums`]: terms, sums and predicates;
//! - [`graph`]: roles, edges and their paths, reachability, no cycle on which only the machine moves;
//! - [`claims`]: no obligation is left out, none is about something else.
//!
//! It collects all defects it can: later checks skip what earlier ones found dangling.

mod claims;
mod graph;
mod script;
mod sums;
mod tables;

use crate::defect::Defect;
use crate::document::{Document, Function, Global, SCHEMA};

/// All that is wrong with a document; empty for a proof.
pub fn defects(document: &Document) -> Vec<Defect> {
    let mut report = Report::default();
    if document.schema != SCHEMA {
        report.add(Defect::Schema { found: document.schema.chars().take(80).collect() });
    }
    tables::check_document(document, &mut report);
    for (number, function) in document.functions.iter().enumerate() {
        let scope = Scope { document, function, at: format!("functions[{number}]") };
        tables::check_function(&scope, &mut report);
        graph::check(&scope, &mut report);
        claims::check(&scope, &mut report);
    }
    report.found
}

/// A function with the document around it and its place in the JSON.
struct Scope<'a> {
    document: &'a Document,
    function: &'a Function,
    at: String,
}

impl<'a> Scope<'a> {
    /// The globals that the function's memory is cut into.
    fn globals(&self) -> impl Iterator<Item = &'a Global> {
        let own = self.function.globals.as_ref();
        self.document.globals.iter().filter(move |global| own.is_none_or(|own| own.contains(&global.symbol)))
    }

    fn at(&self, rest: impl std::fmt::Display) -> String {
        format!("{}.{rest}", self.at)
    }
}

#[derive(Default)]
struct Report {
    found: Vec<Defect>,
}

impl Report {
    fn add(&mut self, defect: Defect) {
        self.found.push(defect);
    }

    /// Reports an index that leads nowhere.
    fn index(&mut self, at: &str, what: &'static str, index: u32, length: usize) -> bool {
        let exists = (index as usize) < length;
        if !exists {
            self.add(Defect::Dangling { at: at.to_owned(), what, index });
        }
        exists
    }
}
