//! The tables: ids count up, hashes look like hashes, points lie in the function, bindings fit.

use super::{Report, Scope, sums};
use crate::defect::Defect;
use crate::document::Document;
use crate::point::{BindingValue, MachinePlace, SourcePoint};
use std::collections::HashSet;

pub(super) fn check_document(document: &Document, report: &mut Report) {
    check_hash("object.sha256", &document.object.sha256, report);
    check_hash("source.sha256", &document.source.sha256, report);
    check_hash("source.ir_sha256", &document.source.ir_sha256, report);
    let mut symbols = HashSet::new();
    for (number, global) in document.globals.iter().enumerate() {
        let at = format!("globals[{number}]");
        if !global.align_bytes.is_power_of_two() {
            report.add(Defect::Alignment { at: at.clone(), align_bytes: global.align_bytes });
        }
        if !symbols.insert(&global.symbol) {
            report.add(Defect::Twice { at, what: format!("global `{}`", global.symbol) });
        }
    }
    let mut functions = HashSet::new();
    for (number, function) in document.functions.iter().enumerate() {
        let key = (&function.machine.section, &function.machine.symbol);
        if !functions.insert(key) {
            let what = format!("function `{}`", function.machine.symbol);
            report.add(Defect::Twice { at: format!("functions[{number}]"), what });
        }
    }
}

/// The globals of a function are some of the document's.
fn check_globals(scope: &Scope, report: &mut Report) {
    let mut named = HashSet::new();
    for (number, symbol) in scope.function.globals.iter().flatten().enumerate() {
        let at = scope.at(format_args!("globals[{number}]"));
        if !scope.document.globals.iter().any(|global| global.symbol == *symbol) {
            report.add(Defect::UnknownGlobal { at, symbol: symbol.clone() });
        } else if !named.insert(symbol) {
            report.add(Defect::Twice { at, what: format!("global `{symbol}`") });
        }
    }
}

pub(super) fn check_function(scope: &Scope, report: &mut Report) {
    let function = scope.function;
    let code = &function.machine;
    check_hash(&scope.at("machine.sha256"), &code.sha256, report);
    if code.low_pc >= code.high_pc {
        let (low_pc, high_pc) = (code.low_pc, code.high_pc);
        report.add(Defect::EmptyRange { at: scope.at("machine"), low_pc, high_pc });
    }
    check_width(&scope.at("returns_bits"), function.returns_bits.unwrap_or(1), report);
    check_globals(scope, report);
    check_ids(scope, report);
    for value in &function.values {
        check_width(&scope.at(format_args!("values[{}]", value.id)), value.width_bits, report);
    }
    for variable in &function.variables {
        check_width(&scope.at(format_args!("variables[{}]", variable.id)), variable.width_bits, report);
    }
    for (number, point) in function.source_points.iter().enumerate() {
        check_bindings(scope, &scope.at(format_args!("source_points[{number}]")), point, report);
    }
    check_places(scope, report);
    for (number, assumption) in function.assumptions.iter().enumerate() {
        let at = scope.at(format_args!("assumptions[{number}]"));
        report.index(&at, "source point", assumption.source_point, function.source_points.len());
    }
    for (number, node) in function.nodes.iter().enumerate() {
        for (invariant, predicate) in node.invariants.iter().enumerate() {
            let at = scope.at(format_args!("nodes[{number}].invariants[{invariant}]"));
            sums::check_predicate(scope, &at, predicate, report);
        }
    }
}

pub(super) fn check_hash(at: &str, text: &str, report: &mut Report) {
    let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if text.len() != 64 || !digits {
        report.add(Defect::Hash { at: at.to_owned(), found: text.chars().take(80).collect() });
    }
}

pub(super) fn check_width(at: &str, width_bits: u32, report: &mut Report) -> bool {
    let possible = (1..=128).contains(&width_bits);
    if !possible {
        report.add(Defect::Width { at: at.to_owned(), width_bits });
    }
    possible
}

fn check_ids(scope: &Scope, report: &mut Report) {
    let function = scope.function;
    let mut table = |name: &str, ids: Vec<u32>| {
        for (position, found) in ids.into_iter().enumerate() {
            if position != found as usize {
                report.add(Defect::Id { at: scope.at(name), position, found });
            }
        }
    };
    table("values", function.values.iter().map(|entry| entry.id).collect());
    table("variables", function.variables.iter().map(|entry| entry.id).collect());
    table("source_points", function.source_points.iter().map(|entry| entry.id).collect());
    table("machine_points", function.machine_points.iter().map(|entry| entry.id).collect());
    table("nodes", function.nodes.iter().map(|entry| entry.id).collect());
    table("edges", function.edges.iter().map(|entry| entry.id).collect());
    table("assumptions", function.assumptions.iter().map(|entry| entry.id).collect());
    table("locations", function.locations.iter().map(|entry| entry.id).collect());
    table("obligations", function.obligations.iter().map(|entry| entry.id).collect());
}

fn check_bindings(scope: &Scope, at: &str, point: &SourcePoint, report: &mut Report) {
    let function = scope.function;
    let mut bound = HashSet::new();
    for binding in &point.variables {
        if !report.index(at, "variable", binding.variable, function.variables.len()) {
            continue;
        }
        let variable = &function.variables[binding.variable as usize];
        if !bound.insert(binding.variable) {
            report.add(Defect::Twice { at: at.to_owned(), what: format!("variable `{}`", variable.name) });
        }
        match &binding.is {
            BindingValue::Value { value } => {
                if report.index(at, "value", *value, function.values.len()) {
                    let width_bits = function.values[*value as usize].width_bits;
                    if width_bits != variable.width_bits {
                        report.add(Defect::Width { at: at.to_owned(), width_bits });
                    }
                }
            }
            BindingValue::Constant { word } if !word.fits(variable.width_bits) => {
                let (word, width_bits) = (word.to_string(), variable.width_bits);
                report.add(Defect::Constant { at: at.to_owned(), word, width_bits });
            }
            BindingValue::Constant { .. } | BindingValue::Undefined => {}
        }
    }
}

fn check_places(scope: &Scope, report: &mut Report) {
    let code = &scope.function.machine;
    let mut pcs = HashSet::new();
    for (number, point) in scope.function.machine_points.iter().enumerate() {
        let at = scope.at(format_args!("machine_points[{number}]"));
        if !pcs.insert(match point.place {
            MachinePlace::Instruction { pc } => Some(pc),
            MachinePlace::Exit => None,
        }) {
            report.add(Defect::Twice { at: at.clone(), what: "machine place".into() });
        }
        if let MachinePlace::Instruction { pc } = point.place
            && !(code.low_pc..code.high_pc).contains(&pc)
        {
            report.add(Defect::OutOfFunction { at, pc });
        }
    }
    let mut places = HashSet::new();
    for (number, point) in scope.function.source_points.iter().enumerate() {
        if !places.insert(&point.place) {
            let at = scope.at(format_args!("source_points[{number}]"));
            report.add(Defect::Twice { at, what: "source place".into() });
        }
    }
}
