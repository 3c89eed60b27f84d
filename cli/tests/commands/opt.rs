//! `metaloc opt`.

use metaloc_report::Confidence;

use crate::stand_in::{StandIn, document, error};

#[test]
fn arguments_are_passed_on_and_findings_follow_on_stderr() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let args = ["--", "-passes=gvn,licm", "-S", input.to_str().unwrap()];
    let ran = here.run("opt", &args).with_status(0);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("LLVM 19.1.7: no errors; "), "{}", ran.stderr);
    let call = here.lines("calls").pop().unwrap();
    assert!(call.starts_with("-load-pass-plugin="), "{call}");
    assert!(call.ends_with(&format!(" -passes=gvn,licm -S {}", input.display())), "{call}");

    here.plugin_finds(&document(vec![error("x", "gvn", Confidence::Certain)]));
    let ran = here.run("opt", &args).with_status(1);
    assert!(ran.stderr.contains("error: gvn should drop the location of %sum (add)\n"), "{}", ran.stderr);
}

#[test]
fn a_failing_opt_is_status_2_and_its_findings_are_kept() {
    let here = StandIn::new();
    here.plugin_finds(&document(vec![error("x", "gvn", Confidence::Certain)]));
    for (word, end) in [("fail", "exit status 1"), ("crash", "killed by SIGABRT")] {
        let input = here.input("a.ll", &format!("; stand-in: {word}"));
        let ran = here.run("opt", &["--", "-passes=gvn", input.to_str().unwrap()]).with_status(2);
        assert!(ran.stderr.contains("error: gvn should drop"), "{}", ran.stderr);
        assert!(ran.stderr.ends_with(&format!("/opt: {end}\n")), "{}", ran.stderr);
    }
}

#[test]
fn an_opt_that_has_nothing_to_run_is_no_trouble() {
    let here = StandIn::new();
    let input = here.input("a.ll", "; stand-in: silent");
    here.run("opt", &["--", "-passes=gvn", input.to_str().unwrap()]).with_status(0);
}
