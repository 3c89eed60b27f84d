//! `metaloc report --all`.

use metaloc_report::{Confidence, Document, Why};

use crate::stand_in::{StandIn, document, error};

fn report(here: &StandIn, args: &[&str]) -> (Document, String) {
    let folder = here.path("in");
    let mut all = vec!["--all", "--format", "json", "--input", folder.to_str().unwrap()];
    all.extend(args);
    let ran = here.run("report", &all);
    let document = Document::from_json(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
    (document, ran.stderr)
}

#[test]
fn every_plain_line_is_run_and_trouble_is_counted_and_named() {
    let here = StandIn::new();
    let run = "; RUN: opt -passes=gvn -S %s";
    here.input("in/a.ll", &format!("{run}\n; RUN: opt -passes=licm -S < %s\n; RUN: llc %s"));
    here.input("in/sub/b.ll", &format!("{run}\n; stand-in: crash"));
    here.input("in/c.ll", &format!("{run}\n; stand-in: fail"));
    here.input("in/Inputs/d.ll", run);
    here.plugin_finds(&document(vec![error("x", "gvn", Confidence::Likely)]));
    let (found, stderr) = report(&here, &["-j", "2"]);
    let why: Vec<_> = found.not_run.iter().map(|not_run| (not_run.input.as_str(), not_run.why)).collect();
    let expected = [("a.ll:3", Why::LeftOut), ("c.ll:1", Why::Failed), ("sub/b.ll:1", Why::Crashed)];
    assert_eq!(why, expected, "{stderr}");
    assert_eq!(found.stats.inputs, 3);
    let [one] = &found.errors[..] else { panic!("{:?}", found.errors) };
    // Twice from a.ll, and what the crashing one had found; nothing of the one that was refused.
    assert_eq!(one.occurrences, 3);
    let inputs: Vec<_> = one.witnesses.iter().map(|witness| witness.input.as_str()).collect();
    assert_eq!(inputs, ["a.ll:1", "a.ll:2", "sub/b.ll:1"]);
    // Locations are made once for both lines of a test.
    let debugified = here.lines("calls").iter().filter(|call| call.contains("debugify")).count();
    assert_eq!(debugified, 3);
    assert!(here.leftovers().is_empty());
}

#[test]
fn the_status_is_that_of_the_findings_whatever_crashed() {
    let here = StandIn::new();
    here.input("in/a.ll", "; RUN: opt -passes=gvn %s\n; stand-in: crash");
    let folder = here.path("in");
    let args = ["--all", "--input", folder.to_str().unwrap()];
    let ran = here.run("report", &args).with_status(0);
    assert!(ran.stdout.starts_with("crashed: a.ll:1: killed by SIGABRT"), "{}", ran.stdout);
    // What the plugin writes when its compiler dies; the line is named, and the rest is whole.
    let found = document(vec![error("x", "gvn", Confidence::Certain)]);
    here.plugin_finds(&Document { complete: false, ..found });
    let ran = here.run("report", &args).with_status(1);
    assert!(ran.stdout.contains("crashed: a.ll:1: killed by SIGABRT"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("incomplete"), "{}", ran.stdout);
    assert!(report(&here, &[]).0.complete);
}

#[test]
fn a_sample_is_a_part() {
    let here = StandIn::new();
    for name in ["a", "b", "c", "d"] {
        here.input(&format!("in/{name}.ll"), "; RUN: opt -passes=gvn %s");
    }
    assert_eq!(report(&here, &["--sample", "3"]).0.stats.inputs, 3);
}

#[test]
fn bad_arguments_are_said() {
    let here = StandIn::new();
    let file = here.input("a.ll", "");
    let ran = here.run("report", &["--all", "--input", file.to_str().unwrap()]).with_status(2);
    assert!(ran.stderr.contains("is no folder"), "{}", ran.stderr);
    std::fs::create_dir(here.path("empty")).unwrap();
    let ran = here.run("report", &["--all", "--input", here.path("empty").to_str().unwrap()]).with_status(2);
    assert_eq!(ran.stderr, "metaloc: there are no tests\n");
    here.run("report", &["--all", "gvn"]).with_status(2);
    here.run("report", &["gvn", "--sample", "3"]).with_status(2);
}
