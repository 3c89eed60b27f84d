//! Lines, variables and skeletons for the errors of a report, from what the plugin saw in a recompiled pass.
//!
//! The plugin says which return address it saw and which variables held which instruction; the code map turns
//! that into a place and into expressions, and the statement there is read in the source. A name that the
//! values do not bear out is left out: what cannot be known is null.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use metaloc_record::code_map::{CodeMap, Function, Variable};
use metaloc_report::{Document, Error, Operation, Site, Statements, Trace, Update, pass_names};

use crate::statement::{SourceFile, Statement};

/// Why a file that was swapped cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {path}: {reason}")]
pub struct Unreadable {
    /// The code map or the source file.
    pub path: String,
    /// Why not.
    pub reason: String,
}

/// What lies around a site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// Last line of its statement.
    pub last_line: Option<u32>,
    /// Expressions for instructions that can be written where the update belongs.
    pub expressions: HashSet<String>,
    /// For each source all expressions that held it, at the site or where the update belongs.
    pub sources: Vec<HashSet<String>>,
}

/// Reads code maps and sources, each once.
#[derive(Default)]
pub struct Annotator {
    modules: HashMap<String, Rc<Module>>,
}

struct Module {
    map: CodeMap,
    /// By file; one that cannot be parsed is none.
    sources: Vec<Option<SourceFile>>,
}

impl Annotator {
    /// Gives every error with a trace its lines and variables; the traces go. What else is known of a site is
    /// returned by the id of its error.
    pub fn annotate(&mut self, document: &mut Document) -> Result<HashMap<String, Surroundings>, Unreadable> {
        let mut surroundings = HashMap::new();
        for error in &mut document.errors {
            if let Some(trace) = error.trace.take() {
                let module = self.module(&trace.module)?;
                module.annotate(error, &trace);
                surroundings.insert(error.id.clone(), module.surroundings(&trace));
            }
        }
        for reached in std::mem::take(&mut document.reached) {
            let module = self.module(&reached.module)?;
            let Some(statements) = module.statements(&reached.pcs) else { continue };
            let stems: Vec<_> =
                module.map.files.iter().filter_map(|file| Path::new(file).file_stem()).collect();
            for summary in &mut document.passes {
                if pass_names::files(&summary.pass).iter().any(|file| stems.contains(&file.as_ref())) {
                    let so_far = summary.statements.unwrap_or_default();
                    summary.statements = Some(Statements {
                        total: so_far.total + statements.total,
                        reached: so_far.reached + statements.reached,
                    });
                }
            }
        }
        Ok(surroundings)
    }

    fn module(&mut self, library: &str) -> Result<Rc<Module>, Unreadable> {
        if let Some(known) = self.modules.get(library) {
            return Ok(known.clone());
        }
        let read = |path: &str| {
            let failed =
                |reason: &dyn ToString| Unreadable { path: path.to_owned(), reason: reason.to_string() };
            // Comments in LLVM's sources are not all UTF-8; columns count bytes, which replacing would change,
            // but only on the lines of such comments.
            fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|e| failed(&e))
        };
        let path = format!("{library}.map");
        let map =
            CodeMap::from_text(&read(&path)?).map_err(|e| Unreadable { path, reason: e.to_string() })?;
        let sources =
            map.files.iter().map(|file| read(file).map(SourceFile::parse)).collect::<Result<_, _>>()?;
        let module = Rc::new(Module { map, sources });
        self.modules.insert(library.to_owned(), module.clone());
        Ok(module)
    }
}

/// A place in a function.
struct Place {
    line: u32,
    column: u32,
    statement: Option<Statement>,
}

impl Module {
    fn annotate(&self, error: &mut Error, trace: &Trace) {
        let Some((_, function)) = self.map.function_at(trace.pc.saturating_sub(1)) else { return };
        let Some(site) = self.place(function, trace.pc) else { return };
        let file = self.map.files.get(function.file).and_then(|file| Path::new(file).file_name());
        let name = file.map(|name| name.to_string_lossy().into_owned());
        error.site = Site {
            function: Some(function.name.clone()),
            file: name,
            line: Some(site.line),
            column: Some(site.column),
            symbol: std::mem::take(&mut error.site.symbol),
        };
        let update = self.place(function, trace.update_pc);
        let names = Names { function, trace, site: site.statement.as_ref(), update: update.as_ref() };
        error.destination.variable = names.destination();
        for (source, held) in error.sources.iter_mut().zip(&trace.sources) {
            source.variable = names.best(held);
        }
        if let Some(statement) = update.as_ref().and_then(|place| place.statement.as_ref()) {
            error.update = Some(Update { line: statement.next_line, column: statement.column });
            error.skeleton = Some(skeleton(error, statement.next_line));
        }
    }

    fn surroundings(&self, trace: &Trace) -> Surroundings {
        let Some((_, function)) = self.map.function_at(trace.pc.saturating_sub(1)) else {
            return Surroundings::default();
        };
        let statement = self.place(function, trace.pc).and_then(|place| place.statement);
        let in_scope = function.variables.iter().filter(|v| v.is_in_scope(trace.update_pc.saturating_sub(1)));
        let expression = |&number: &u32| Some(function.variables.get(number as usize)?.expression.clone());
        let held = trace.sources.iter().zip(&trace.sources_at_site);
        Surroundings {
            sources: held
                .map(|(now, first)| now.iter().chain(first).filter_map(expression).collect())
                .collect(),
            last_line: statement.map(|statement| statement.last_line),
            expressions: in_scope.map(|variable| variable.expression.clone()).collect(),
        }
    }

    /// How many of the statements that do something to instructions were reached; `None` if the source cannot be
    /// read.
    fn statements(&self, pcs: &BTreeSet<u64>) -> Option<Statements> {
        let mut makers = BTreeSet::new();
        for (file, source) in self.sources.iter().enumerate() {
            makers.extend(source.as_ref()?.makers().into_iter().map(|place| (file, place)));
        }
        let statement = |&pc: &u64| {
            let (_, function) = self.map.function_at(pc.saturating_sub(1))?;
            let place = self.place(function, pc)?;
            Some((function.file, (place.line, place.column)))
        };
        let reached: BTreeSet<_> = pcs.iter().filter_map(statement).collect();
        let count = makers.intersection(&reached).count();
        Some(Statements { total: makers.len() as u64, reached: count as u64 })
    }

    fn place(&self, function: &Function, pc: u64) -> Option<Place> {
        let row = function.row_at(pc.checked_sub(1)?)?;
        let source = self.sources.get(function.file).and_then(Option::as_ref);
        let statement = source.and_then(|source| source.statement_at(row.line, row.column));
        let (line, column) = statement.as_ref().map_or((row.line, row.column), |s| (s.line, s.column));
        Some(Place { line, column, statement })
    }
}

/// Chooses among the expressions that held an instruction.
struct Names<'a> {
    function: &'a Function,
    trace: &'a Trace,
    site: Option<&'a Statement>,
    update: Option<&'a Place>,
}

impl Names<'_> {
    /// What the statement assigns its result to, if that is borne out: by the value that the variable has later,
    /// or by the statement doing nothing else than making one instruction.
    fn destination(&self) -> Option<String> {
        let held = &self.trace.destination;
        let assigned = self.site.and_then(|statement| statement.assigned.as_deref());
        if let Some(assigned) = assigned {
            let is_held =
                held.iter().filter_map(|&number| self.variable(number)).any(|v| v.expression == assigned);
            let is_instruction = self.function.variables.iter().any(|v| v.expression == assigned);
            if is_held || (self.trace.direct && is_instruction) {
                return Some(assigned.to_owned());
            }
        }
        self.best(held)
    }

    /// Of several expressions for one instruction the one that the pass itself uses here, then the one that was
    /// declared last, which is the most special.
    fn best(&self, held: &[u32]) -> Option<String> {
        let here = self.trace.update_pc.saturating_sub(1);
        let known = held.iter().filter_map(|&number| self.variable(number));
        let rank = |variable: &&Variable| {
            let used = |statement: &Statement| uses(&statement.text, &variable.expression);
            let at_site = self.site.is_some_and(used);
            let at_update = self.update.and_then(|place| place.statement.as_ref()).is_some_and(used);
            (variable.is_in_scope(here), at_site, at_update, variable.line)
        };
        known.max_by_key(rank).map(|variable| variable.expression.clone())
    }

    fn variable(&self, number: u32) -> Option<&Variable> {
        self.function.variables.get(number as usize)
    }
}

/// True if a text has an expression as a whole, not as a part of a longer name.
fn uses(text: &str, expression: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(expression).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(part_of_name);
        let after = text[at + expression.len()..].chars().next().is_some_and(part_of_name);
        !before && !after
    })
}

/// `Line 779 Drop(AccRecInstrNew)`; `_` stands for an instruction that no variable holds.
fn skeleton(error: &Error, line: u32) -> String {
    let name = |variable: &Option<String>| variable.clone().unwrap_or_else(|| "_".to_owned());
    let mut arguments = vec![name(&error.destination.variable)];
    let verb = match error.operation {
        Operation::Drop => "Drop",
        Operation::Preserve => {
            arguments.extend(error.sources.first().map(|source| name(&source.variable)));
            "Preserve"
        }
        Operation::Merge => {
            for source in &error.sources {
                let source = name(&source.variable);
                if !arguments[1..].contains(&source) && source != arguments[0] {
                    arguments.push(source);
                }
            }
            "Merge"
        }
    };
    format!("Line {line} {verb}({})", arguments.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_record::code_map::Row;

    #[test]
    fn an_expression_is_used_as_a_whole() {
        assert!(uses("Cand.Load->getType()", "Cand.Load"));
        assert!(uses("f(&I)", "I"));
        assert!(!uses("f(It, BI)", "I"));
        assert!(!uses("", "I"));
    }

    const SOURCE: &str = "void f(Instruction *Old, Instruction *Same) {\n\
                          Instruction *New =\n    Old->clone();\n\
                          New->insertBefore(Old);\n\
                          g(New);\n}\n";

    fn variable(expression: &str, line: u32) -> Variable {
        Variable {
            low: 0x10,
            high: 0x50,
            line,
            steps: vec![-8],
            is_node: false,
            expression: expression.to_owned(),
        }
    }

    fn module() -> Module {
        let row = |address, line, column| Row { address, line, column };
        let function = Function {
            low: 0x10,
            high: 0x50,
            file: 0,
            name: "f".to_owned(),
            rows: vec![row(0x10, 1, 6), row(0x18, 3, 10), row(0x28, 4, 6), row(0x38, 5, 1)],
            variables: vec![variable("Old", 1), variable("Same", 1), variable("New", 2)],
        };
        let map = CodeMap { files: vec!["/s/Pass.cpp".to_owned()], functions: vec![function] };
        Module { map, sources: vec![SourceFile::parse(SOURCE.to_owned())] }
    }

    fn error(operation: &str) -> Error {
        let text = format!(
            r#"{{ "id": "e", "pass": "p", "operation": "{operation}", "actual": "other", "kind": "lost",
            "rule": "r", "update": null, "skeleton": null, "confidence": "certain", "occurrences": 1,
            "witnesses": [],
            "site": {{ "function": null, "file": null, "line": null, "column": null, "symbol": "s+0x1" }},
            "destination": {{ "variable": null, "opcode": "add", "name": null, "location": null }},
            "sources": [ {{ "variable": null, "opcode": "add", "name": null, "location": null, "link": "clone" }} ] }}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn trace() -> Trace {
        Trace {
            module: "x.so".to_owned(),
            pc: 0x20,
            update_pc: 0x30,
            direct: true,
            destination: vec![2],
            sources: vec![vec![1, 0]],
            sources_at_site: vec![vec![0]],
        }
    }

    fn annotated(operation: &str, trace: Trace) -> Error {
        let mut error = error(operation);
        module().annotate(&mut error, &trace);
        error
    }

    #[test]
    fn site_update_and_skeleton() {
        let error = annotated("preserve", trace());
        let site = error.site;
        assert_eq!((site.file.as_deref(), site.function.as_deref()), (Some("Pass.cpp"), Some("f")));
        // The statement begins a line above its call.
        assert_eq!((site.line, site.column, site.symbol.as_str()), (Some(2), Some(1), "s+0x1"));
        assert_eq!(error.update, Some(Update { line: 5, column: 1 }));
        assert_eq!(error.skeleton.as_deref(), Some("Line 5 Preserve(New, Old)"));
        assert_eq!(annotated("drop", trace()).skeleton.as_deref(), Some("Line 5 Drop(New)"));
        assert_eq!(annotated("merge", trace()).skeleton.as_deref(), Some("Line 5 Merge(New, Old)"));
    }

    #[test]
    fn of_two_names_the_one_that_is_used_here_is_taken() {
        assert_eq!(annotated("drop", trace()).sources[0].variable.as_deref(), Some("Old"));
        let same = Trace { sources: vec![vec![1]], ..trace() };
        assert_eq!(annotated("drop", same).sources[0].variable.as_deref(), Some("Same"));
    }

    #[test]
    fn a_name_that_no_value_bears_out_is_none() {
        let helper = Trace { direct: false, destination: Vec::new(), sources: vec![Vec::new()], ..trace() };
        let error = annotated("preserve", helper);
        assert_eq!(error.destination.variable, None);
        assert_eq!(error.skeleton.as_deref(), Some("Line 5 Preserve(_, _)"));
        let made = Trace { destination: Vec::new(), ..trace() };
        assert_eq!(annotated("drop", made).destination.variable.as_deref(), Some("New"));
    }

    #[test]
    fn statements_that_were_reached_are_counted() {
        let count = |pcs: &[u64]| module().statements(&pcs.iter().copied().collect()).unwrap();
        assert_eq!(count(&[0x20, 0x24, 0x30]), Statements { total: 1, reached: 1 });
        assert_eq!(count(&[0x30, 0x90]), Statements { total: 1, reached: 0 });
    }

    #[test]
    fn an_address_outside_of_the_file_changes_nothing() {
        let outside = Trace { pc: 0x90, ..trace() };
        assert_eq!(annotated("drop", outside), error("drop"));
    }
}
