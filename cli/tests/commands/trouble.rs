//! What cannot be run: one clear error on standard error, status 2, and nothing left behind.

use std::path::{Path, PathBuf};

use metaloc_report::{Confidence, Document};
use metaloc_toolchain::process::Task;

use crate::stand_in::{StandIn, document, error, metaloc, ran};

#[test]
fn a_pass_that_does_not_exist_gets_the_nearest_names() {
    let here = StandIn::new();
    let ran = here.run("report", &["tailcalelim"]).with_status(2);
    assert!(
        ran.stderr.starts_with("metaloc: LLVM 19.1.7 has no pass tailcalelim; nearest are tailcallelim, ")
    );
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn an_input_that_is_not_there_is_named() {
    let here = StandIn::new();
    let ran = here.run("report", &["gvn", "--input", "/no/such.ll"]).with_status(2);
    assert_eq!(ran.stderr, "metaloc: cannot read /no/such.ll: No such file or directory (os error 2)\n");
}

#[test]
fn an_opt_of_an_unsupported_version_is_refused() {
    let here = StandIn::new();
    let opt = here.path("opt-17");
    let write = r#"printf '#!/bin/sh\necho "  LLVM version 17.0.6"\n' > "$0" && chmod 755 "$0""#;
    assert!(Task::new("sh").args(["-c", write]).arg(&opt).run().unwrap().exit.success());
    let ran = ran(metaloc().args(["report", "gvn", "--llvm"]).arg(&opt)).with_status(2);
    let said = "is of LLVM 17.0.6, which is not supported; supported are 14, 15, 16, 19 and 22";
    assert_eq!(ran.stderr, format!("metaloc: {} {said}\n", opt.display()));
}

#[test]
fn something_that_is_no_opt_is_refused() {
    let ran = ran(metaloc().args(["report", "gvn", "--llvm", "/bin/echo"])).with_status(2);
    assert!(ran.stderr.starts_with("metaloc: /bin/echo is not LLVM's opt: "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}

/// A folder that nobody may create files in: root may everywhere but in the kernel's own file systems.
fn read_only_folder(here: &StandIn) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = here.path("read-only");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(folder.join("probe"), "").is_ok() { PathBuf::from("/sys/kernel") } else { folder }
}

#[test]
fn a_read_only_output_folder_is_said_before_any_work() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let out = read_only_folder(&here).join("report.json");
    let args = ["gvn", "--input", input.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let ran = here.run("report", &args).with_status(2);
    assert!(ran.stderr.starts_with(&format!("metaloc: cannot write {}: ", out.display())), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
    assert_eq!(here.lines("calls").len() + here.lines("builds").len(), 0);
}

#[test]
fn a_crash_is_said_and_what_was_found_is_reported() {
    let here = StandIn::new();
    let crashing = here.input("in/a.ll", "; stand-in: crash");
    here.input("in/b.ll", "");
    let found = document(vec![error("x", "gvn", Confidence::Certain)]);
    here.plugin_finds(&Document { complete: false, ..found });
    let folder = here.path("in");
    let args = ["gvn", "--input", folder.to_str().unwrap(), "--format", "json"];
    let ran = here.run("report", &args).with_status(2);
    let document = Document::from_json(&ran.stdout).unwrap();
    assert!(!document.complete);
    assert_eq!(document.errors[0].occurrences, 2);
    let said = format!(
        "metaloc: {}: opt of LLVM 19.1.7 crashed, killed by SIGABRT (LLVM ERROR: it broke); what it had done \
         until then is reported\n",
        crashing.display()
    );
    assert!(ran.stderr.ends_with(&said), "{}", ran.stderr);
}

#[test]
fn a_failing_opt_or_a_silent_plugin_does_not_stop_the_others() {
    let here = StandIn::new();
    let failing = here.input("in/a.ll", "; stand-in: fail");
    let silent = here.input("in/b.ll", "; stand-in: silent");
    here.input("in/c.ll", "");
    let folder = here.path("in");
    let ran = here.run("report", &["gvn", "--input", folder.to_str().unwrap()]).with_status(2);
    assert!(ran.stdout.contains("; 2 inputs, "), "{}", ran.stdout);
    let said = |path: &Path, text: &str| format!("metaloc: {}: {text}\n", path.display());
    assert!(ran.stderr.contains(&said(&failing, "opt: error: it failed")), "{}", ran.stderr);
    assert!(ran.stderr.contains(&said(&silent, "the plugin left no report")), "{}", ran.stderr);
}

#[test]
fn a_report_that_cannot_be_read_is_no_report() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    std::fs::write(here.path("document"), "{").unwrap();
    let ran = here.run("report", &["gvn", "--input", input.to_str().unwrap()]).with_status(2);
    assert!(ran.stderr.contains("the plugin's report: not a report: "), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_not_ir_is_said_to_be_none() {
    let here = StandIn::new();
    let path = here.path("a.ll");
    std::fs::write(&path, "This is not IR.\n").unwrap();
    let args = ["report", "licm", "--input", path.to_str().unwrap(), "--llvm"];
    for major in ["14", "16", "19", "22"] {
        let task = metaloc().args(args).arg(major).env("METALOC_CACHE", here.path("cache"));
        // Only stock processes get to see the file; the plugin is not loaded.
        let task = task.env("METALOC_ROOT", here.path("root")).env("CARGO", here.path("cargo"));
        let ran = ran(task).with_status(2);
        let said = ran.stderr.lines().last().unwrap();
        assert!(
            said.starts_with(&format!("metaloc: {} is not IR that LLVM {major}.", path.display())),
            "{said}"
        );
        assert!(said.contains("error: expected top-level entity"), "{said}");
    }
}

#[test]
fn ir_of_a_newer_llvm_is_said_to_be_that() {
    let here = StandIn::new();
    let path = here.path("a.ll");
    // `nuw` on getelementptr came with LLVM 19.
    let text = "define ptr @f(ptr %p) {\n  %q = getelementptr nuw i8, ptr %p, i64 1\n  ret ptr %q\n}\n";
    std::fs::write(&path, text).unwrap();
    let task = metaloc().args(["report", "licm", "--llvm", "16", "--input"]).arg(&path);
    let task = task.env("METALOC_CACHE", here.path("cache"));
    let ran =
        ran(task.env("METALOC_ROOT", here.path("root")).env("CARGO", here.path("cargo"))).with_status(2);
    let said = ran.stderr.lines().last().unwrap();
    let expected = format!("metaloc: {} is IR of a newer LLVM: 16.", path.display());
    assert!(said.starts_with(&expected) && said.contains(" cannot read it, 19."), "{said}");
}

#[test]
fn ctrl_c_ends_everything_and_leaves_nothing() {
    let here = StandIn::new();
    let input = here.input("a.ll", "; stand-in: hang");
    let out = here.path("report.json");
    let args = ["gvn", "--input", input.to_str().unwrap(), "-o", out.to_str().unwrap()];
    let ran = here.run_interrupted("report", &args, "2").with_status(2);
    assert_eq!(ran.stderr.lines().last(), Some("metaloc: interrupted"), "{}", ran.stderr);
    assert!(!out.exists());
    assert!(here.leftovers().is_empty(), "{:?}", here.leftovers());
    // On a busy machine the signal may come before the start; if not, the child is gone with us.
    if let [pid] = &here.lines("pid")[..] {
        assert!(!Path::new("/proc").join(pid).join("cwd").exists(), "{pid} is still running");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_trouble() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let script = r#""$@" | true"#;
    let task = Task::new("bash").args(["-o", "pipefail", "-c", script, "bash"]);
    let task =
        task.arg(env!("CARGO_BIN_EXE_metaloc")).args(["report", "gvn", "--llvm"]).arg(here.path("opt"));
    let task = task.arg("--input").arg(&input).env("METALOC_ROOT", here.path("root"));
    let task = task.env("METALOC_CACHE", here.path("cache")).env("CARGO", here.path("cargo"));
    let ran = ran(task).with_status(0);
    assert!(!ran.stderr.contains("roken pipe"), "{}", ran.stderr);
}
