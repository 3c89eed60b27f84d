//! `metaloc report`.

use metaloc_report::{Confidence, Document};

use crate::stand_in::{StandIn, document, error};

fn str_of(path: &std::path::Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn nothing_found_is_status_0() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let ran = here.run("report", &["tailcallelim", "--input", str_of(&input)]).with_status(0);
    assert!(ran.stdout.starts_with("LLVM 19.1.7: no errors; 1 input, "), "{}", ran.stdout);
    assert_eq!(here.leftovers(), [""; 0].map(std::path::PathBuf::from));
}

#[test]
fn errors_of_the_pass_are_status_1_and_name_the_users_file() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let found = ["tailcallelim", "gvn"].map(|pass| error(pass, pass, Confidence::Certain));
    here.plugin_finds(&document(found.into()));
    let ran = here.run("report", &["TailRecursionElimination", "--input", str_of(&input)]).with_status(1);
    assert!(ran.stdout.starts_with("error: tailcallelim should drop the location of %sum (add)\n"));
    assert!(ran.stdout.contains(&format!("  seen    in {}, function f", input.display())), "{}", ran.stdout);
    assert!(!ran.stdout.contains("gvn"), "{}", ran.stdout);
}

#[test]
fn notes_are_status_0_and_shown_only_if_asked_for() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    here.plugin_finds(&document(vec![error("n", "tailcallelim", Confidence::Note)]));
    let args = ["tailcallelim", "--input", str_of(&input), "--notes"];
    let quiet = here.run("report", &args[..3]).with_status(0);
    assert!(quiet.stdout.contains("no errors, 1 note not shown;") && !quiet.stdout.contains("note: "));
    let loud = here.run("report", &args).with_status(0);
    assert!(loud.stdout.starts_with("note: tailcallelim "), "{}", loud.stdout);
}

#[test]
fn inputs_are_merged_into_one_json_document() {
    let here = StandIn::new();
    for name in ["in/a.ll", "in/sub/b.ll", "in/c.ll"] {
        here.input(name, "");
    }
    here.plugin_finds(&document(vec![error("x", "licm", Confidence::Likely)]));
    let folder = here.path("in");
    for jobs in ["1", "3"] {
        let args = ["LICMPass", "--input", str_of(&folder), "--format", "json", "-j", jobs];
        let ran = here.run("report", &args).with_status(1);
        let document = Document::from_json(&ran.stdout).unwrap();
        assert_eq!(document.stats.inputs, 3);
        let [error] = &document.errors[..] else { panic!("{:?}", document.errors) };
        assert_eq!(error.occurrences, 3);
        let inputs: Vec<_> = error.witnesses.iter().map(|witness| witness.input.clone()).collect();
        let expected = ["a.ll", "c.ll", "sub/b.ll"].map(|name| str_of(&folder.join(name)).to_owned());
        assert_eq!(inputs, expected);
        assert_eq!(ran.stderr.lines().filter(|line| !line.contains("building")).count(), 0, "{}", ran.stderr);
    }
}

#[test]
fn the_report_can_go_to_a_file() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let out = here.path("report.json");
    let args = ["gvn", "--input", str_of(&input), "--format", "json", "-o", str_of(&out)];
    let ran = here.run("report", &args).with_status(0);
    assert_eq!(ran.stdout, "");
    assert!(Document::from_json(&std::fs::read_to_string(&out).unwrap()).unwrap().complete);
}

#[test]
fn without_input_the_kept_ones_are_used() {
    let here = StandIn::new();
    let ran = here.run("report", &["gvn"]).with_status(2);
    assert!(ran.stderr.starts_with("metaloc: no inputs for gvn in "), "{}", ran.stderr);
    here.input("root/regress/passes/gvn/findings/a.ll", "");
    here.input("root/regress/passes/gvn/clean/b.ll", "");
    let ran = here.run("report", &["gvn"]).with_status(0);
    assert!(ran.stdout.contains("; 2 inputs, "), "{}", ran.stdout);
}

#[test]
fn inputs_say_how_they_are_run() {
    let here = StandIn::new();
    let header = "; metaloc: prepare=mem2reg\n; metaloc: pass=gvn<no-pre>\n; metaloc: args=-a -b";
    let input = here.input("a.ll", header);
    here.run("report", &["gvn", "--input", str_of(&input)]).with_status(0);
    let calls = here.lines("calls");
    let [prepare, debugify, observe] = &calls[..] else { panic!("{calls:?}") };
    assert!(prepare.starts_with("-passes=mem2reg "), "{prepare}");
    assert!(debugify.starts_with("-passes=debugify -debugify-level=locations "), "{debugify}");
    assert!(observe.starts_with("-load-pass-plugin="), "{observe}");
    assert!(observe.contains(" -passes=gvn<no-pre> -a -b -disable-output "), "{observe}");
}

#[test]
fn inputs_with_debug_information_keep_it() {
    let here = StandIn::new();
    let input = here.input("a.ll", "!llvm.dbg.cu = !{!0}");
    here.run("report", &["gvn", "--input", str_of(&input)]).with_status(0);
    assert_eq!(here.lines("calls").len(), 1);
}

#[test]
fn inputs_for_other_versions_are_left_out() {
    let here = StandIn::new();
    let old = here.input("old.ll", "; metaloc: llvm=14..16");
    let new = here.input("new.ll", "; metaloc: llvm=19..");
    let both = ["gvn", "--input", str_of(&old), "--input", str_of(&new)];
    let ran = here.run("report", &both).with_status(0);
    assert!(ran.stdout.contains("; 1 input, "), "{}", ran.stdout);
    let ran = here.run("report", &both[..3]).with_status(2);
    assert_eq!(ran.stderr, "metaloc: none of the 1 inputs for gvn is for LLVM 19\n");
}
