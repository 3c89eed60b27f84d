//! Compilers, binutils and debuggers for the tests.

#![allow(dead_code, missing_docs)]

use metaloc_toolchain::process::{Exit, Outcome, Task};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// A file of `regress/`.
pub fn regress(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress").join(path)
}

pub fn run(program: &str, arguments: &[&str]) -> Outcome {
    Task::new(program)
        .args(arguments)
        .timeout(LIMIT)
        .run()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

pub fn succeed(program: &str, arguments: &[&str]) -> String {
    let outcome = run(program, arguments);
    assert!(outcome.exit.success(), "{program} {arguments:?}: {}\n{}", outcome.exit, outcome.stderr_text());
    outcome.stdout_text()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of ours")
}

pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub fn write_program(&self, name: &str, bytes: &[u8]) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.write(name, bytes);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub fn compile(&self, compiler: &str, flags: &[&str], source: &Path, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let mut arguments = flags.to_vec();
        arguments.extend(["-c", text(source), "-o", text(&path)]);
        succeed(compiler, &arguments);
        path
    }

    pub fn link(&self, compiler: &str, flags: &[&str], inputs: &[&Path]) -> PathBuf {
        let path = self.0.path().join("program");
        let mut arguments = flags.to_vec();
        arguments.extend(inputs.iter().map(|input| text(input)));
        arguments.extend(["-o", text(&path)]);
        succeed(compiler, &arguments);
        path
    }
}

/// Instructions of a function as objdump sees them.
pub fn instructions(object: &Path, function: &str) -> Vec<Range<u64>> {
    let listing =
        succeed("objdump", &["-d", "--no-show-raw-insn", &format!("--disassemble={function}"), text(object)]);
    let pcs: Vec<u64> = listing
        .lines()
        .filter_map(|line| line.split_once(":\t"))
        .filter_map(|(pc, _)| u64::from_str_radix(pc.trim(), 16).ok())
        .collect();
    assert!(!pcs.is_empty(), "{function} in {}", object.display());
    // The last one is `ret`.
    let mut found: Vec<Range<u64>> = pcs.windows(2).map(|pair| pair[0]..pair[1]).collect();
    found.push(pcs[pcs.len() - 1]..pcs[pcs.len() - 1] + 1);
    found
}

/// Entries as llvm-dwarfdump prints them, in order.
fn dumped(object: &Path) -> Vec<String> {
    let all = succeed("llvm-dwarfdump-19", &["--debug-info", text(object)]);
    all.split("\n\n").map(str::to_owned).collect()
}

/// Whether the block before a variable has a list of ranges.
pub fn block_has_list(object: &Path, variable: &str) -> bool {
    let entries = dumped(object);
    let name = format!("DW_AT_name\t(\"{variable}\")");
    let variable =
        entries.iter().position(|entry| entry.contains("DW_TAG_variable") && entry.contains(&name));
    let before = &entries[..variable.expect("the variable")];
    let block = before.iter().rev().find(|entry| entry.contains("DW_TAG_lexical_block"));
    block.expect("a block around it").contains("DW_AT_ranges")
}

/// Where inlined functions are.
pub fn inlined(object: &Path) -> Vec<Range<u64>> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("an address");
    let mut found = Vec::new();
    for entry in dumped(object).iter().filter(|entry| entry.contains("DW_TAG_inlined_subroutine")) {
        let after = |name: &str| {
            let line = entry.lines().find(|line| line.contains(name));
            line.and_then(|line| line.split_once('(')).map(|(_, value)| number(value.trim_end_matches(')')))
        };
        if let (Some(low), Some(high)) = (after("DW_AT_low_pc"), after("DW_AT_high_pc")) {
            found.push(low..high);
        }
        for line in entry.lines().filter_map(|line| line.split_once("[0x")).map(|(_, line)| line) {
            let (low, rest) = line.split_once(", ").expect("a range");
            found.push(number(low)..number(rest.split_once(')').expect("its end").0));
        }
    }
    found
}

/// What verifiers say of an output, they say of its input.
pub fn nothing_new(input: &Path, output: &Path) {
    nothing_new_of_dwarfdump(verified(input, LONGEST).as_deref(), output);
    nothing_new_of_readelf(input, output);
}

/// Far more than `llvm-dwarfdump --verify` takes where it ends: it does not on some of what gcc-12 makes.
pub const LONGEST: Duration = Duration::from_secs(60);

/// Where it ends with an input, it ends with the output, and says the same.
pub fn nothing_new_of_dwarfdump(before: Option<&[String]>, output: &Path) {
    if let Some(before) = before {
        let after = verified(output, LONGEST);
        assert_eq!(after.as_deref(), Some(before), "llvm-dwarfdump --verify {}", output.display());
    }
}

/// What `llvm-dwarfdump --verify` complains of; nothing if it does not end in time.
pub fn verified(path: &Path, limit: Duration) -> Option<Vec<String>> {
    let outcome = Task::new("llvm-dwarfdump-19").args(["--verify", text(path)]).timeout(limit).run();
    let outcome = outcome.unwrap_or_else(|error| panic!("llvm-dwarfdump-19: {error}"));
    if matches!(outcome.exit, Exit::Timeout(_)) {
        return None;
    }
    let all = outcome.stdout_text() + &outcome.stderr_text();
    let mut lines: Vec<String> = all
        .lines()
        .filter(|line| line.contains("error:") || line.contains("warning:"))
        .map(str::to_owned)
        .collect();
    lines.sort();
    Some(lines)
}

/// What `readelf -w` says of an output, it says of its input.
pub fn nothing_new_of_readelf(input: &Path, output: &Path) {
    let warnings = |path: &Path| {
        let said = run("readelf", &["-w", text(path)]).stderr_text();
        let lines = said.lines().filter(|line| line.contains("arning") || line.contains("rror"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let (before, after) = (warnings(input), warnings(output));
    // Offsets in a complaint may move.
    assert!(after.len() <= before.len(), "readelf -w {}: {before:?}, now {after:?}", output.display());
}

/// Code and data are byte for byte the same, relocations of code mean the same.
pub fn same_program(input: &Path, output: &Path) {
    let sections = |path: &Path| {
        let names = succeed("readelf", &["-SW", text(path)]);
        let wanted = names.lines().filter_map(|line| line.split_once("] ")).map(|(_, rest)| rest.to_owned());
        wanted
            .filter(|rest| {
                [".text", ".data", ".rodata", ".eh_frame", ".bss"].iter().any(|name| rest.starts_with(name))
            })
            .map(|rest| rest.split_whitespace().next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(sections(input), sections(output));
    for section in sections(input) {
        let dump = |path: &Path| run("objdump", &["-s", "-r", "-j", &section, text(path)]).stdout_text();
        let bodies = [dump(input), dump(output)]
            .map(|text| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(bodies[0], bodies[1], "{section}");
    }
}

/// Values of expressions at a place, as often as it is passed.
pub fn gdb(program: &Path, at: &str, times: usize, expressions: &[&str]) -> Vec<String> {
    let mut arguments =
        vec!["-nx".to_owned(), "-batch".into(), "-ex".into(), "set debuginfod enabled off".into()];
    arguments.extend(["-ex".into(), format!("break *({at})"), "-ex".into(), "run".into()]);
    for time in 0..times {
        for expression in expressions {
            arguments.extend(["-ex".into(), format!("print {expression}")]);
        }
        if time + 1 < times {
            arguments.extend(["-ex".into(), "continue".into()]);
        }
    }
    arguments.push(text(program).to_owned());
    let outcome = run("gdb", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let printed = outcome.stdout_text();
    let values: Vec<String> = printed
        .lines()
        .filter_map(|line| line.strip_prefix('$').and_then(|line| line.split_once(" = ")))
        .map(|(_, value)| value.to_owned())
        .collect();
    assert_eq!(values.len(), times * expressions.len(), "{printed}\n{}", outcome.stderr_text());
    values
}

/// Variables, and values of expressions, at a distance from a function's start, as often as the place is passed.
pub fn lldb(program: &Path, function: &str, distance: u64, times: usize, variables: &[&str]) -> Vec<String> {
    let mut arguments = vec!["-x".to_owned(), "-b".into()];
    let mut command = |text: String| arguments.extend(["-o".to_owned(), text]);
    // Addresses are known only when it runs.
    command("breakpoint set -n main".into());
    command("run".into());
    command(format!("breakpoint set -a `(unsigned long)&{function}+{distance}`"));
    for _ in 0..times {
        command("continue".into());
        for variable in variables {
            let plain = variable.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            command(format!("{} {variable}", if plain { "frame variable" } else { "expression --" }));
        }
    }
    arguments.push(text(program).to_owned());
    let outcome = run("lldb-19", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let printed = outcome.stdout_text();
    let values: Vec<String> = printed
        .lines()
        .filter_map(|line| line.strip_prefix('(').and_then(|line| line.split_once(" = ")))
        .map(|(_, value)| value.to_owned())
        .collect();
    assert_eq!(values.len(), times * variables.len(), "{printed}\n{}", outcome.stderr_text());
    values
}
