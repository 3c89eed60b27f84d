//! `metaloc plugin-path`: built once, and again when something that it is made from changes.

use std::fs;

use crate::stand_in::StandIn;

#[test]
fn the_plugin_is_built_once() {
    let here = StandIn::new();
    let first = here.run("plugin-path", &[]).with_status(0);
    assert!(first.stderr.contains("building the plugin for LLVM 19.1.7 (once)"), "{}", first.stderr);
    assert_eq!(fs::read_to_string(first.stdout.trim()).unwrap(), "plugin\n");
    let second = here.run("plugin-path", &[]).with_status(0);
    assert_eq!((second.stdout, second.stderr), (first.stdout, String::new()));
    assert_eq!(here.lines("builds"), [here.path("llvm-config").to_str().unwrap()]);
}

#[test]
fn a_stale_or_mismatching_plugin_is_rebuilt() {
    let here = StandIn::new();
    let first = here.run("plugin-path", &[]).with_status(0).stdout;
    fs::write(here.path("root/analyzer/lib.rs"), "changed").unwrap();
    let second = here.run("plugin-path", &[]).with_status(0).stdout;
    assert_ne!(first, second);
    // Another libLLVM under the same version.
    fs::write(here.path("libLLVM-19.so.1"), "rebuilt").unwrap();
    let third = here.run("plugin-path", &[]).with_status(0).stdout;
    assert_ne!(second, third);
    assert_eq!(here.lines("builds").len(), 3);
}

#[test]
fn a_build_that_fails_says_why_and_leaves_nothing() {
    let here = StandIn::new();
    fs::write(here.path("broken"), "").unwrap();
    let ran = here.run("plugin-path", &[]).with_status(2);
    let expected =
        "metaloc: cannot build the plugin for LLVM 19.1.7: exit status 101\nerror: it does not compile\n";
    assert!(ran.stderr.ends_with(expected), "{}", ran.stderr);
    fs::remove_file(here.path("broken")).unwrap();
    here.run("plugin-path", &[]).with_status(0);
}

#[test]
fn missing_headers_are_named_with_their_package() {
    let here = StandIn::new();
    fs::remove_file(here.path("llvm/IR/Instruction.h")).unwrap();
    let ran = here.run("plugin-path", &[]).with_status(2);
    assert!(ran.stderr.ends_with("Instruction.h comes with the package llvm-19-dev\n"), "{}", ran.stderr);
}
