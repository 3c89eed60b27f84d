//! Compiles the C++ shim against the headers of one LLVM version.
//!
//! `METALOC_LLVM_CONFIG` names the `llvm-config` to ask; without it, Debian's default version 19 is meant.
//! LLVM's libraries are not linked: the plugin is loaded into a process that has them already, be it from
//! a shared library or in a statically linked `opt`.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=METALOC_LLVM_CONFIG");
    println!("cargo:rerun-if-changed=cpp");
    let config = std::env::var("METALOC_LLVM_CONFIG").unwrap_or_else(|_| "llvm-config-19".into());
    let include = ask(&config, "--includedir");
    let flags = ask(&config, "--cxxflags");

    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(2).pic(true).warnings(false);
    // LLVM's headers go in as system headers: warnings are about our code.
    build.flag("-isystem").flag(&include).flag("-Wall").flag("-Wextra");
    // Stacks are unwound from the frame of a detour entry, so it must have one, and still have it when it calls
    // the hook as the last thing that it does.
    build.flag("-fno-omit-frame-pointer").flag("-fno-optimize-sibling-calls");
    build.flag("-fno-rtti").flag("-fvisibility=hidden");
    for flag in flags.split_whitespace().filter(|f| f.starts_with("-D") && *f != "-DNDEBUG") {
        build.flag(flag);
    }
    build.define("NDEBUG", None);
    for file in ["entries", "ir", "callbacks", "legacy", "options"] {
        build.file(format!("cpp/{file}.cpp"));
    }
    build.compile("metaloc_shim");
    // For the unit tests, which are a process without LLVM in it; see `lib.rs`.
    println!("cargo:rustc-link-search=native={}", ask(&config, "--libdir"));
}

fn ask(config: &str, question: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "a build script cannot depend on the crate toolchain")]
    let output = Command::new(config).arg(question).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Ok(output) => panic!("{config} {question} failed: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => panic!("cannot run {config}: {error}; install llvm-19-dev or set METALOC_LLVM_CONFIG"),
    }
}
