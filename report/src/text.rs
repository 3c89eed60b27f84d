//! The report for people.

use std::fmt::{self, Display, Formatter};

use crate::confirm::{Confirmation, Verdict};
use crate::document::{
    Actual, Confidence, Destination, Document, Error, Kind, Operation, Site, Source, Witness,
};
use crate::table;

/// What to print.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Print notes too; they are only counted otherwise.
    pub notes: bool,
    /// Print one line per pass, too.
    pub by_pass: bool,
}

/// The whole report, errors first, then one line that sums it up.
pub fn render(document: &Document, options: Options) -> String {
    let shown = |error: &&Error| options.notes || error.confidence != Confidence::Note;
    let mut text: String =
        document.errors.iter().filter(shown).map(|error| format!("{}\n", Parts::of(error))).collect();
    if options.by_pass {
        text += &table::by_pass(document);
    }
    text += &table::confirmations(document);
    text += &table::not_run(document);
    text += &summary(document, options);
    text
}

/// One error alone, as in the report.
pub fn render_error(error: &Error) -> String {
    format!("{}\n", Parts::of(error))
}

/// One line: how many errors in how much.
pub(crate) fn summary(document: &Document, options: Options) -> String {
    let count =
        |confidence| document.errors.iter().filter(|error| error.confidence == confidence).count() as u64;
    let (certain, likely, notes) =
        (count(Confidence::Certain), count(Confidence::Likely), count(Confidence::Note));
    let errors = match (certain, likely) {
        (0, 0) => "no errors".to_owned(),
        (_, 0) => format!("{} (all certain)", counted(certain, "error")),
        (0, _) => format!("{} (all likely)", counted(likely, "error")),
        _ => format!("{} ({certain} certain, {likely} likely)", counted(certain + likely, "error")),
    };
    let notes = match (notes, options.notes) {
        (0, _) => String::new(),
        (_, true) => format!(", {}", counted(notes, "note")),
        (_, false) => format!(", {} not shown", counted(notes, "note")),
    };
    let stats = &document.stats;
    let incomplete = if document.complete { "" } else { "incomplete: the compiler did not get to its end\n" };
    format!(
        "{incomplete}LLVM {}: {errors}{notes}; {}, {} ({} changed something), {} judged, {:.1} s\n",
        document.llvm,
        counted(stats.inputs, "input"),
        counted(stats.pass_runs, "pass run"),
        stats.changed_runs,
        counted(stats.judged, "instruction"),
        stats.seconds,
    )
}

pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// What there is to say about one error, part by part; other formats say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What the pass should do.
    pub headline: String,
    /// What it does instead, and how sure that is.
    pub verdict: String,
    /// The rest: a word, and what it is about.
    pub rows: Vec<(&'static str, String)>,
}

impl Parts {
    /// All that is said about an error.
    pub fn of(error: &Error) -> Parts {
        let level = if error.confidence == Confidence::Note { "note" } else { "error" };
        let destination = instruction(&error.destination.opcode, error.destination.name.as_deref());
        let duty = match error.operation {
            Operation::Preserve => "keep the location of its source for",
            Operation::Merge => "merge the locations of its sources for",
            Operation::Drop => "drop the location of",
        };
        let headline = format!("{level}: {} should {duty} {destination}", error.pass);
        let mut rows = vec![("site", site(&error.site))];
        rows.extend(error.sources.iter().map(|source| ("source", source_text(source))));
        rows.extend(error.skeleton.iter().map(|skeleton| ("update", skeleton.clone())));
        if let Some(witness) = error.witnesses.first() {
            rows.extend(witness_rows(error, witness));
        }
        if let Some(Confirmation { llvm, verdict, reason, .. }) = &error.confirmation {
            let said = match verdict {
                Verdict::Confirmed => "makes this change: confirmed",
                Verdict::StillShown => "still shows it",
                Verdict::Unknown => "says nothing about it",
            };
            let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
            rows.push(("newer", format!("LLVM {llvm} {said}{reason}")));
        }
        Parts { headline, verdict: verdict(error), rows }
    }
}

impl Display for Parts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n  {}", self.headline, self.verdict)?;
        self.rows.iter().try_for_each(|(word, said)| writeln!(f, "  {word:8}{said}"))
    }
}

fn verdict(error: &Error) -> String {
    let Destination { location, .. } = &error.destination;
    let location = location.as_deref().map(short);
    let has = match (error.actual, location) {
        (Actual::Drop, None) if error.operation == Operation::Drop => {
            "it has no location at all, where line 0 is due".to_owned()
        }
        (Actual::Drop, None) => "it has no location".to_owned(),
        (Actual::Drop, Some(location)) => format!("it has {location}, which is no line"),
        (Actual::Preserve, Some(location)) => format!("it has {location}, as one of its sources"),
        (Actual::Merge, Some(location)) => format!("it has {location}, a merged location"),
        (Actual::Other, Some(location)) => format!("it has {location}, from elsewhere"),
        (_, None) => "its location is not known".to_owned(),
    };
    let kind = match error.kind {
        Kind::Lost => "lost",
        Kind::Incorrect => "incorrect",
    };
    let confidence = error.confidence.name();
    format!("{has}: {kind}, {confidence} (rule {}, id {})", error.rule, error.id)
}

fn instruction(opcode: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{name} ({opcode})"),
        None => format!("a new {opcode}"),
    }
}

fn site(site: &Site) -> String {
    let Some(file) = &site.file else { return demangled(&site.symbol) };
    let mut text = file.clone();
    for number in [site.line, site.column].into_iter().flatten() {
        text += &format!(":{number}");
    }
    if let Some(function) = &site.function {
        text += &format!(" in {function}");
    }
    text
}

/// A symbol with its offset, the C++ name readable; whatever is not a C++ name stays as it is.
fn demangled(symbol: &str) -> String {
    let (name, offset) = match symbol.rfind('+') {
        Some(at) => symbol.split_at(at),
        None => (symbol, ""),
    };
    match cpp_demangle::Symbol::new(name).ok().and_then(|name| name.demangle().ok()) {
        Some(name) => format!("{name}{offset}"),
        None => symbol.to_owned(),
    }
}

/// A location with the names of its files, without their folders: those are in the JSON document.
pub fn short(location: &str) -> String {
    let last = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    location.split(' ').map(last).collect::<Vec<_>>().join(" ")
}

fn source_text(source: &Source) -> String {
    let Source { opcode, name, location, link, .. } = source;
    let name = name.as_deref().map(|name| format!("{name} ({opcode})")).unwrap_or_else(|| opcode.clone());
    format!("{name} at {} by {link}", location.as_deref().map_or("no location".to_owned(), short))
}

fn witness_rows(error: &Error, witness: &Witness) -> Vec<(&'static str, String)> {
    let Witness { input, function, size, .. } = witness;
    let times = match error.occurrences {
        0 | 1 => "in".to_owned(),
        many => format!("{many} times, smallest in"),
    };
    let mut rows =
        vec![("seen", format!("{times} {input}, function {function} ({})", counted(*size, "instruction")))];
    if !witness.extra.is_empty() {
        let extra: Vec<_> = witness.extra.iter().map(|location| short(location)).collect();
        rows.push(("extra", extra.join(", ")));
    }
    if !witness.path.is_empty() {
        rows.push(("path", witness.path.join(" -> ")));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Stats;
    use crate::example;

    fn document() -> Document {
        let mut note = example::error("8899");
        note.confidence = Confidence::Note;
        note.operation = Operation::Preserve;
        note.occurrences = 1;
        let errors = vec![example::error("0011"), example::error_with_source("4455"), note];
        Document { errors, ..example::document() }
    }

    #[test]
    fn errors_are_explained_and_notes_only_counted() {
        insta::assert_snapshot!(render(&document(), Options::default()));
    }

    #[test]
    fn notes_are_shown_if_asked_for() {
        insta::assert_snapshot!(render(&document(), Options { notes: true, ..Options::default() }));
    }

    #[test]
    fn symbols_are_readable() {
        assert_eq!(demangled("_ZN4llvm8LICMPass3runEv+0x1f"), "llvm::LICMPass::run()+0x1f");
        assert_eq!(demangled("main+0x2"), "main+0x2");
        assert_eq!(demangled("/usr/lib/libLLVM.so.1+0x2"), "/usr/lib/libLLVM.so.1+0x2");
        assert_eq!(demangled("_Zoperator"), "_Zoperator");
    }

    #[test]
    fn folders_are_left_out_of_locations() {
        assert_eq!(short("/a/b/t.c:5:35 @[ ../c/u.h:9:3 ]"), "t.c:5:35 @[ u.h:9:3 ]");
        assert_eq!(short("t.c:5:35"), "t.c:5:35");
    }

    #[test]
    fn nothing_wrong_is_one_line() {
        let stats = Stats { inputs: 2, ..Stats::default() };
        let document = Document { stats, ..Document::empty("19.1.7") };
        let text = render(&document, Options::default());
        assert_eq!(
            text,
            "LLVM 19.1.7: no errors; 2 inputs, 0 pass runs (0 changed something), 0 instructions judged, 0.0 s\n"
        );
        let crashed = render(&Document { complete: false, ..document }, Options::default());
        assert!(crashed.starts_with("incomplete: "), "{crashed}");
    }
}
