//! The report as one page that needs nothing else: errors by pass, and for one error the two control-flow graphs
//! beside each other.
//!
//! The page is complete without scripts; the one that it has hides what a reader does not look for.

use metaloc_picture::{escaped, svg};

use crate::document::{Confidence, Document, Error};
use crate::drawing::{self, Highlights};
use crate::kept_run::KeptRun;
use crate::table;
use crate::text::{self, Options, Parts};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/filter.js");

/// The whole report.
pub fn render(document: &Document, options: Options) -> String {
    let shown = |error: &&Error| options.notes || error.confidence != Confidence::Note;
    let mut body = format!("<h1>Debug-location update errors, LLVM {}</h1>\n", escaped(&document.llvm));
    body += &format!("<p>{}</p>\n", escaped(text::summary(document, options).trim_end()));
    if options.by_pass {
        let rows = table::by_pass(document) + &table::confirmations(document) + &table::not_run(document);
        body += &format!("<details><summary>By pass</summary><pre>{}</pre></details>\n", escaped(&rows));
    }
    body += "<p><input id=\"filter\" type=\"search\" placeholder=\"pass, rule, file, id\" hidden></p>\n";
    for error in document.errors.iter().filter(shown) {
        body += &card(error);
    }
    page(&format!("metaloc: LLVM {}", document.llvm), &body)
}

/// One error with the function before and after the pass.
pub fn explain(llvm: &str, error: &Error, run: &KeptRun, highlights: &(Highlights, Highlights)) -> String {
    let before = drawing::picture(&format!("before {}", run.pass), &run.before, &highlights.0);
    let after = drawing::picture(&format!("after {}", run.pass), &run.after, &highlights.1);
    let mut body = format!("<h1>Function {} before and after</h1>\n", escaped(&run.function));
    body += &card(error);
    body += &format!("<div class=\"graphs\">\n{}\n{}</div>\n", svg(&[before]), svg(&[after]));
    page(&format!("metaloc: {} in {} of LLVM {llvm}", error.id, error.pass), &body)
}

fn card(error: &Error) -> String {
    let Parts { headline, verdict, rows } = Parts::of(error);
    let row = |(word, said): &(&str, String)| format!("<dt>{word}</dt><dd>{}</dd>\n", escaped(said));
    format!(
        "<section class=\"{confidence}\" id=\"{id}\">\n<h2>{headline}</h2>\n<p>{verdict}</p>\n<dl>\n{rows}</dl>\n</section>\n",
        confidence = error.confidence.name(),
        id = escaped(&error.id),
        headline = escaped(&headline),
        verdict = escaped(&verdict),
        rows = rows.iter().map(row).collect::<String>(),
    )
}

fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n{body}<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn document() -> Document {
        let mut document = example::document();
        document.errors.push(example::error_with_source("8899aabbccddeeff"));
        document
    }

    #[test]
    fn every_error_has_a_card_and_notes_only_if_asked_for() {
        let mut document = document();
        document.errors[1].confidence = Confidence::Note;
        let count = |notes| {
            let page = render(&document, Options { notes, ..Options::default() });
            page.matches("<section").count()
        };
        assert_eq!((count(false), count(true)), (1, 2));
    }

    #[test]
    fn what_is_said_cannot_break_the_page() {
        let mut document = document();
        document.errors[0].witnesses[0].input = "<script>alert(1)</script>".to_owned();
        document.errors[0].id = "\"><b>".to_owned();
        let page = render(&document, Options::default());
        assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script>alert"));
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn both_graphs_are_drawn_with_the_instruction_and_the_path() {
        let run = example::run();
        let mark = &run.marks[0];
        let highlights = |spots: Vec<_>, path| Highlights { path, spots };
        let before = highlights(vec![(mark.sources[0], "source".to_owned())], Vec::new());
        let after = highlights(vec![(mark.destination, "destination".to_owned())], mark.path.clone());
        let page = explain("16.0.6", &example::error("00"), &run, &(before, after));
        assert_eq!(page.matches("<svg").count(), 2);
        assert_eq!(page.matches("class=\"strong\"").count(), 2);
        assert_eq!(page.matches("class=\"bar path\"").count(), mark.path.len());
        let blocks = run.before.blocks.len() + run.after.blocks.len();
        assert_eq!(page.matches("class=\"bar").count(), blocks);
    }
}
