//! Small programs for the tests: compiled with the stock compilers, run under both debuggers.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};

use metaloc_toolchain::process::Task;
use metaloc_tracer::program::Program;
use metaloc_tracer::{Debugger, Gdb, Lldb};

/// Both debuggers.
pub const DEBUGGERS: [&dyn Debugger; 2] = [&Gdb, &Lldb];

/// A folder with programs, gone at the end of the test.
pub struct Built {
    folder: tempfile::TempDir,
}

impl Built {
    pub fn new() -> Built {
        Built { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// Runs a compiler, which has to succeed, in the folder.
    pub fn run(&self, words: &[&str]) {
        let task = Task::new(words[0]).args(&words[1..]).cwd(self.folder.path());
        let outcome = task.run().unwrap();
        assert!(outcome.exit.success(), "{}: {}", task.command_line(), outcome.stderr_text());
    }

    /// A program from one C file.
    pub fn c(&self, name: &str, text: &str, compiler: &[&str]) -> Program {
        let source = self.write(&format!("{name}.c"), text);
        let out = self.path(name);
        let words = [compiler, &["-g", path(&source), "-o", path(&out)]].concat();
        self.run(&words);
        Program::read(&out).unwrap()
    }
}

pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
