//! A fresh folder with a stand-in LLVM 19.1.7 and a stand-in cargo, so that tests need no real ones.
//!
//! The stand-in `opt` looks for words in its input: `stand-in: crash`, `stand-in: fail`, `stand-in: hang`,
//! `stand-in: silent`. Before that it writes the report that stands in the file `document`, as the plugin
//! would. The stand-in cargo "builds" a plugin by writing a file, and counts its calls.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metaloc_report::{
    Actual, Confidence, Destination, Document, Error, Kind, Operation, Site, Source, Witness,
};
use metaloc_toolchain::process::{Exit, Stdin, Task};

pub struct StandIn {
    folder: tempfile::TempDir,
}

/// What the binary did.
pub struct Ran {
    pub status: Exit,
    pub stdout: String,
    pub stderr: String,
}

/// `tailcallelim` puts a copy of the addition before the other return. Up to LLVM 16 it keeps the location there.
pub const COPIED_ADDITION: &str = "define i32 @total(i32 %n) {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %out, label %more
out:
  %last = call i32 @pick(i32 %n)
  ret i32 %last
more:
  %less = add i32 %n, -1
  %rest = call i32 @total(i32 %less)
  %sum = add i32 %rest, %n
  ret i32 %sum
}
declare i32 @pick(i32)
";

const OPT: &str = r#"#!/bin/sh
here=$(dirname "$0")
case "$1" in
--version) echo 'LLVM (http://llvm.org/):'; echo '  LLVM version 19.1.7'; exit 0 ;;
--help-hidden) printf '  Optimizations available\n      --gvn - x\n      --old-one - x\n'; exit 0 ;;
-print-passes) printf 'Function passes:\n  tailcallelim\n  gvn\nLoop passes:\n  licm\n'; exit 0 ;;
esac
for word in "$@"; do
    case "$previous" in -o) output=$word ;; *) case "$word" in -*) ;; *) input=$word ;; esac ;; esac
    previous=$word
done
echo "$@" >> "$here/calls"
if [ -z "$METALOC_OUT" ]; then
    grep -q '^define' "$input" || { echo "opt: $input:1:1: error: expected top-level entity" >&2; exit 1; }
    [ -z "$output" ] || cp "$input" "$output"
    exit 0
fi
if grep -q 'stand-in: hang' "$input"; then echo $$ > "$here/pid"; exec sleep 60; fi
grep -q 'stand-in: silent' "$input" || cp "$here/document" "$METALOC_OUT"
if grep -q 'stand-in: crash' "$input"; then echo 'LLVM ERROR: it broke' >&2; kill -ABRT $$; fi
if grep -q 'stand-in: fail' "$input"; then echo 'opt: error: it failed' >&2; exit 1; fi
exit 0
"#;

const CARGO: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$METALOC_LLVM_CONFIG" >> "$here/builds"
[ ! -e "$here/broken" ] || { echo 'error: it does not compile' >&2; exit 101; }
while [ "$1" != --target-dir ]; do shift; done
mkdir -p "$2/release" && echo plugin > "$2/release/libmetaloc_hooks.so"
"#;

impl StandIn {
    pub fn new() -> StandIn {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let config = format!(
            "#!/bin/sh\ncase \"$*\" in --includedir) echo {0} ;; *) printf '%s\\n' 19.1.7 {0} {0} ;; esac\n",
            here.display()
        );
        fs::create_dir_all(here.join("llvm/IR")).unwrap();
        fs::write(here.join("llvm/IR/Instruction.h"), "").unwrap();
        for (name, text) in [("opt", OPT), ("cargo", CARGO), ("llvm-config", config.as_str())] {
            write_program(&here.join(name), text);
        }
        for krate in ["runtime-hooks", "analyzer", "picture", "record", "report"] {
            fs::create_dir_all(here.join("root").join(krate)).unwrap();
            fs::write(here.join("root").join(krate).join("Cargo.toml"), krate).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock"] {
            fs::write(here.join("root").join(file), file).unwrap();
        }
        fs::create_dir(here.join("tmp")).unwrap();
        let stand_in = StandIn { folder };
        stand_in.plugin_finds(&document(vec![]));
        stand_in
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes an input; the text is a comment in a function without debug information.
    pub fn input(&self, name: &str, comment: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{comment}\ndefine void @f() {{\n  ret void\n}}\n")).unwrap();
        path
    }

    /// What the plugin will report from now on.
    pub fn plugin_finds(&self, document: &Document) {
        fs::write(self.path("document"), document.to_json()).unwrap();
    }

    /// Lines of a file that a stand-in has written.
    pub fn lines(&self, name: &str) -> Vec<String> {
        fs::read_to_string(self.path(name)).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// What is left in the folder for temporary files.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Runs `metaloc SUBCOMMAND --llvm <stand-in> ARGS...`; the subcommand may be two words.
    pub fn run(&self, subcommand: &str, args: &[&str]) -> Ran {
        ran(self.task(metaloc(), subcommand, args))
    }

    /// The same, with SIGINT after some time.
    pub fn run_interrupted(&self, subcommand: &str, args: &[&str], after: &str) -> Ran {
        let task = Task::new("timeout").args(["--preserve-status", "--foreground", "-s", "INT", after]);
        ran(self.task(task.arg(env!("CARGO_BIN_EXE_metaloc")), subcommand, args))
    }

    fn task(&self, program: Task, subcommand: &str, args: &[&str]) -> Task {
        let task = program.args(subcommand.split(' ')).arg("--llvm").arg(self.path("opt")).args(args);
        let task = task.env("METALOC_ROOT", self.path("root")).env("METALOC_CACHE", self.path("cache"));
        let task = task.env("CARGO", self.path("cargo")).env("TMPDIR", self.path("tmp"));
        task.env_remove("METALOC_OUT").env_remove("METALOC").timeout(Duration::from_secs(120))
    }
}

/// The binary, to be run with the real toolchains.
pub fn metaloc() -> Task {
    Task::new(env!("CARGO_BIN_EXE_metaloc"))
}

pub fn ran(task: Task) -> Ran {
    let outcome = task.run().unwrap();
    Ran { status: outcome.exit, stdout: outcome.stdout_text(), stderr: outcome.stderr_text() }
}

impl Ran {
    /// Checks the status and gives the rest; shows all of it if the status is another.
    #[track_caller]
    pub fn with_status(self, status: i32) -> Ran {
        let Ran { stdout, stderr, .. } = &self;
        assert_eq!(self.status, Exit::Code(status), "stdout:\n{stdout}\nstderr:\n{stderr}");
        self
    }
}

/// Written by a child: a thread of ours that forks meanwhile would hold the file open ("text file busy").
fn write_program(path: &Path, text: &str) {
    let write = Task::new("sh").args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path);
    assert!(write.stdin(Stdin::Bytes(text.as_bytes().to_vec())).run().unwrap().exit.success());
}

pub fn document(errors: Vec<Error>) -> Document {
    let mut document = Document { errors, ..Document::empty("19.1.7") };
    document.stats.inputs = 1;
    document.stats.pass_runs = 1;
    document
}

pub fn error(id: &str, pass: &str, confidence: Confidence) -> Error {
    let symbol = "llvm::TailCallElimPass::run(llvm::Function&)+0x1f".to_owned();
    Error {
        id: id.to_owned(),
        pass: pass.to_owned(),
        operation: Operation::Drop,
        actual: Actual::Preserve,
        kind: Kind::Incorrect,
        rule: "foreign_locations".to_owned(),
        site: Site { function: None, file: None, line: None, column: None, symbol },
        destination: Destination {
            variable: None,
            opcode: "add".to_owned(),
            name: Some("%sum".to_owned()),
            location: Some("t.c:5:35".to_owned()),
        },
        sources: vec![Source {
            variable: None,
            opcode: "add".to_owned(),
            name: None,
            location: Some("t.c:5:35".to_owned()),
            link: "clone".to_owned(),
        }],
        update: None,
        skeleton: None,
        confidence,
        occurrences: 1,
        witnesses: vec![Witness {
            input: "prepared.ll".to_owned(),
            function: "f".to_owned(),
            size: 3,
            name: None,
            extra: vec![],
            path: vec![],
        }],
        trace: None,
        confirmation: None,
    }
}
