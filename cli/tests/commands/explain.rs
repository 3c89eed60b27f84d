//! `metaloc report --explain`.

use std::path::Path;

use metaloc_report::{Confidence, Document};
use serde_json::Value;

use crate::stand_in::{COPIED_ADDITION as INPUT, Ran, StandIn, document, error, metaloc, ran};

fn report(input: &Path, args: &[&str]) -> Ran {
    let task = metaloc().args(["report", "tailcallelim", "--llvm", "16", "--input"]).arg(input);
    ran(task.args(args))
}

#[test]
fn an_error_is_shown_with_both_graphs_and_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.ll");
    std::fs::write(&input, INPUT).unwrap();
    let json = report(&input, &["--format", "json"]).with_status(1).stdout;
    let found = Document::from_json(&json).unwrap();
    let id = &found.errors[0].id;
    let kept = folder.path().join("report.json");
    std::fs::write(&kept, &json).unwrap();
    let (kept, dot) = (kept.to_str().unwrap(), folder.path().join("a.dot"));
    let text = report(&input, &["--explain", &id[..6], "--dot", dot.to_str().unwrap()]).with_status(0).stdout;
    for line in ["before tailcallelim, function total", "after", "path         entry -> tailrecurse -> out"] {
        assert!(text.lines().any(|known| known == line), "{line}:\n{text}");
    }
    let marked: Vec<&str> = text.lines().filter(|line| line.contains("<==")).collect();
    let [source, destination] = &marked[..] else { panic!("{text}") };
    assert!(source.contains("%sum = add i32 %rest, %n  ") && source.ends_with("<== source"), "{source}");
    let made = "%accumulator.ret.tr = add i32 %accumulator.tr, %last";
    assert!(destination.contains(made) && destination.ends_with("<== destination"), "{destination}");
    let dot = std::fs::read_to_string(dot).unwrap();
    assert!(dot.starts_with("digraph metaloc {") && dot.contains("==> %accumulator.ret.tr"), "{dot}");
    let page = report(&input, &["--explain", id, "--format", "html"]).with_status(0).stdout;
    assert_eq!(page.matches("<svg").count(), 2);
    assert!(page.contains(r#"<text class="strong""#) && page.contains(made), "{page}");
    // From the report alone, and as a document of its own schema.
    let again =
        ran(metaloc().args(["report", "--llvm", "16", "--format", "json", "--explain", id, "--from", kept]));
    let value: Value = again.with_status(0).stdout.parse().unwrap();
    let schema: Value = include_str!("../../schemas/explain-1.json").parse().unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let complaints: Vec<_> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(complaints, [""; 0]);
    assert_eq!(value["run"]["marks"][0]["error"], id.as_str());
}

#[test]
fn sarif_has_no_place_for_an_explanation() {
    let here = StandIn::new();
    let said = here.run("report", &["gvn", "--explain", "a", "--format", "sarif"]).with_status(2).stderr;
    assert!(said.starts_with("metaloc: --explain shows one error as text, json or html"), "{said}");
}

#[test]
fn what_cannot_be_explained_is_said() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let input = input.to_str().unwrap();
    let both = ["aa1", "aa2"].map(|id| error(id, "gvn", Confidence::Certain));
    here.plugin_finds(&document(both.into()));
    let explain =
        |id: &str| here.run("report", &["gvn", "--input", input, "--explain", id]).with_status(2).stderr;
    assert!(explain("aa").ends_with("metaloc: aa may be any of aa1, aa2\n"));
    assert!(explain("b").ends_with("metaloc: the report has no error b, of 2\n"));
    let gone = format!("metaloc: {input} does not show aa1 any more, in function f\n");
    assert!(explain("aa1").ends_with(&gone), "{}", explain("aa1"));
}

#[test]
fn a_report_of_another_llvm_or_none_at_all_is_refused() {
    let here = StandIn::new();
    let kept = here.path("report.json");
    let path = kept.to_str().unwrap();
    let explain = || here.run("report", &["--explain", "a", "--from", path]).with_status(2).stderr;
    assert!(explain().starts_with(&format!("metaloc: cannot read {path}")));
    std::fs::write(&kept, Document::empty("16.0.6").to_json()).unwrap();
    assert_eq!(explain(), format!("metaloc: {path} is of LLVM 16.0.6, not 19.1.7: give --llvm\n"));
    here.run("report", &["gvn", "--from", path]).with_status(2);
    std::fs::write(&kept, document(vec![error("a", "gvn", Confidence::Likely)]).to_json()).unwrap();
    let shown = here.run("report", &["--from", path]).with_status(1).stdout;
    assert!(shown.starts_with("error: gvn should "), "a report alone is printed again: {shown}");
}
