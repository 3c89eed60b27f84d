//! RUN lines of LLVM's regression tests: which of them are one plain `opt` command, and which.
//!
//! Plain means: the line begins with `opt`, starts it once, and what `opt` prints is the result, whether
//! FileCheck or grep looks at it or nobody does. Everything else is left out, with the reason. A line is never
//! run through a shell: it is taken apart here and the arguments are handed over as they are.

use std::path::{Path, PathBuf};

use crate::shell::{self, RedirectKind, Token};

/// A RUN line with its continuations joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLine {
    /// Line of the test file where it begins, from 1.
    pub line: u32,
    /// What follows `RUN:`.
    pub text: String,
}

/// One plain `opt` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptLine {
    /// Arguments, still with `%s`, `%S` and `%%`: see [`OptLine::args_for`].
    args: Vec<String>,
    /// File on standard input, likewise: see [`OptLine::stdin_for`].
    stdin: Option<String>,
    /// Standard output is part of the result.
    pub shows_stdout: bool,
    /// Standard error is part of the result (`2>&1`).
    pub shows_stderr: bool,
    /// `not opt`: the command is expected to fail.
    pub expects_failure: bool,
}

/// Why a RUN line is not a plain `opt` line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPlain {
    /// It does not begin with `opt`.
    #[error("runs {0}, not opt")]
    OtherProgram(String),
    /// The output is optimised again.
    #[error("runs opt more than once")]
    SecondOpt,
    /// `&&`, `;` and the like.
    #[error("is a sequence of commands ({0})")]
    Sequence(&'static str),
    /// The result goes to a file.
    #[error("writes its result to a file")]
    OutputToFile,
    /// `%t` and its kind: another line makes the file or looks at it.
    #[error("uses a temporary file")]
    TemporaryFile,
    /// A substitution that only lit knows.
    #[error("uses the substitution {0}")]
    Substitution(String),
    /// `not --crash opt`
    #[error("expects a crash")]
    ExpectsCrash,
    /// It could not be read.
    #[error("{0}")]
    Shell(#[from] shell::SplitError),
    /// A redirection without a target, an empty command.
    #[error("is incomplete")]
    Incomplete,
}

/// All RUN lines of a test file, in order. Bytes that are not UTF-8 are replaced.
pub fn run_lines(test: &[u8]) -> Vec<RunLine> {
    let mut lines: Vec<RunLine> = Vec::new();
    let mut continues = false;
    for (number, line) in (1..).zip(test.split(|&byte| byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        if after_keyword(&line, "END.").is_some() {
            break;
        }
        let Some(text) = after_keyword(&line, "RUN:") else { continue };
        let (text, goes_on) = match text.trim().strip_suffix('\\') {
            Some(text) => (text.trim_end(), true),
            None => (text.trim(), false),
        };
        match lines.last_mut() {
            Some(last) if continues => {
                last.text.push(' ');
                last.text.push_str(text);
            }
            _ => lines.push(RunLine { line: number, text: text.into() }),
        }
        continues = goes_on;
    }
    lines
}

/// What stands behind a lit keyword, which must not be the end of a longer word (`CHECK-RUN:`).
fn after_keyword<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let (before, after) = line.split_once(keyword)?;
    let glued = before.ends_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
    (!glued).then_some(after)
}

impl RunLine {
    /// The `opt` command of a plain line.
    pub fn classify(&self) -> Result<OptLine, NotPlain> {
        let mut commands = commands(shell::split(&self.text)?)?.into_iter();
        let first = commands.next().unwrap_or_default();
        // What FileCheck or grep then say is not our concern.
        for reader in commands {
            match reader.words.first().map(String::as_str) {
                Some("opt") => return Err(NotPlain::SecondOpt),
                Some(_) => {}
                None => return Err(NotPlain::Incomplete),
            }
        }
        first.plain()
    }
}

impl OptLine {
    /// The arguments with lit's substitutions for the test file at `test`, which should be absolute.
    pub fn args_for(&self, test: &Path) -> Vec<String> {
        let folder = test.parent().unwrap_or(Path::new("."));
        self.args.iter().map(|arg| substitute(arg, test, folder)).collect()
    }

    /// The file to read from standard input, if any, for the test file at `test`.
    pub fn stdin_for(&self, test: &Path) -> Option<PathBuf> {
        let folder = test.parent().unwrap_or(Path::new("."));
        self.stdin.as_ref().map(|file| substitute(file, test, folder).into())
    }

    /// The arguments as they stand in the test.
    pub fn raw_args(&self) -> &[String] {
        &self.args
    }

    /// The same line with other arguments, for example translated ones.
    pub fn with_args(&self, args: Vec<String>) -> OptLine {
        OptLine { args, ..self.clone() }
    }
}

/// One command of a pipeline.
#[derive(Debug, Default)]
struct Command {
    words: Vec<String>,
    stdin: Option<String>,
    stdout: Stream,
    stderr: Stream,
}

/// Where one of the two output streams ends up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Stream {
    /// Standard output: on to the next command.
    Output,
    /// Standard error, which lit shows only when the test fails.
    #[default]
    Unseen,
    File(PathBuf),
}

fn commands(tokens: Vec<Token>) -> Result<Vec<Command>, NotPlain> {
    let mut done = Vec::new();
    let mut now = Command { stdout: Stream::Output, ..Command::default() };
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => now.words.push(word),
            Token::Sequence(operator) => return Err(NotPlain::Sequence(operator)),
            Token::Pipe => done
                .push(std::mem::replace(&mut now, Command { stdout: Stream::Output, ..Command::default() })),
            Token::Redirect(RedirectKind::ErrToOut) => now.stderr = now.stdout.clone(),
            Token::Redirect(kind) => {
                let Some(Token::Word(target)) = tokens.next() else { return Err(NotPlain::Incomplete) };
                now.redirect(kind, target);
            }
        }
    }
    done.push(now);
    Ok(done)
}

impl Command {
    fn redirect(&mut self, kind: RedirectKind, target: String) {
        let stream = if target == "/dev/null" { Stream::Unseen } else { Stream::File(target.clone().into()) };
        match kind {
            RedirectKind::In => self.stdin = Some(target),
            RedirectKind::Out => self.stdout = stream,
            RedirectKind::Err => self.stderr = stream,
            RedirectKind::Both => (self.stdout, self.stderr) = (stream.clone(), stream),
            RedirectKind::ErrToOut => {}
        }
    }

    fn plain(self) -> Result<OptLine, NotPlain> {
        let mut words = self.words.into_iter().peekable();
        let expects_failure = words.next_if(|word| word == "not").is_some();
        match words.next() {
            Some(program) if program == "opt" => {}
            Some(option) if expects_failure && option == "--crash" => return Err(NotPlain::ExpectsCrash),
            Some(program) => return Err(NotPlain::OtherProgram(program)),
            None => return Err(NotPlain::Incomplete),
        }
        let args: Vec<String> = words.collect();
        for word in args.iter().chain(&self.stdin) {
            known_substitutions(word)?;
        }
        let to_file = |stream: &Stream| matches!(stream, Stream::File(_));
        if to_file(&self.stdout) || to_file(&self.stderr) || names_output_file(&args) {
            return Err(NotPlain::OutputToFile);
        }
        let shows = |stream: &Stream| *stream == Stream::Output;
        Ok(OptLine {
            stdin: self.stdin,
            shows_stdout: shows(&self.stdout),
            shows_stderr: shows(&self.stderr),
            expects_failure,
            args,
        })
    }
}

/// Of lit's substitutions we know `%s`, `%S`, `%p` and `%%`.
fn known_substitutions(word: &str) -> Result<(), NotPlain> {
    let mut chars = word.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '%' {
            continue;
        }
        match chars.next() {
            Some((_, 's' | 'S' | 'p' | '%')) => {}
            Some((_, 't' | 'T')) => return Err(NotPlain::TemporaryFile),
            _ => return Err(NotPlain::Substitution(word[at..].into())),
        }
    }
    Ok(())
}

/// `-o FILE`, `-o=FILE`, `--o FILE`; `-` and `/dev/null` are no files.
fn names_output_file(args: &[String]) -> bool {
    let is_file = |target: &str| target != "-" && target != "/dev/null";
    args.iter().enumerate().any(|(at, arg)| {
        let Some(name) = arg.strip_prefix("--").or(arg.strip_prefix('-')) else { return false };
        match name.strip_prefix('o') {
            Some("") => args.get(at + 1).is_some_and(|target| is_file(target)),
            Some(rest) => rest.strip_prefix('=').is_some_and(is_file),
            None => false,
        }
    })
}

fn substitute(arg: &str, test: &Path, folder: &Path) -> String {
    let mut out = String::with_capacity(arg.len());
    let mut chars = arg.chars();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next() {
                Some('s') => out += &test.to_string_lossy(),
                Some('S' | 'p') => out += &folder.to_string_lossy(),
                Some(other) => out.push(other),
                None => out.push('%'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn classify(text: &str) -> Result<OptLine, NotPlain> {
        RunLine { line: 1, text: text.into() }.classify()
    }

    fn args(text: &str) -> Vec<String> {
        classify(text).unwrap().args_for(Path::new("/t/Pass/a.ll"))
    }

    #[test]
    fn continuations_are_joined_and_lines_counted() {
        let test = b"; RUN: opt -S \\\n; RUN:   -passes=x %s \\\n;RUN: | FileCheck %s\n\n  ;; RUN: opt < %s\n; NOT-RUN: y\n";
        assert_eq!(
            run_lines(test),
            [
                RunLine { line: 1, text: "opt -S -passes=x %s | FileCheck %s".into() },
                RunLine { line: 5, text: "opt < %s".into() },
            ]
        );
    }

    #[test]
    fn nothing_is_read_after_the_end_keyword() {
        assert_eq!(run_lines(b"; RUN: a\n; END.\n; RUN: b\n").len(), 1);
    }

    #[test]
    fn file_and_standard_input_are_both_plain() {
        let line = classify("opt < %s -S -passes='loop(licm)' | FileCheck %s").unwrap();
        assert!(line.shows_stdout && !line.shows_stderr && !line.expects_failure);
        assert_eq!(line.stdin_for(Path::new("/t/a.ll")), Some("/t/a.ll".into()));
        assert_eq!(args("opt < %s -S -passes='loop(licm)'"), ["-S", "-passes=loop(licm)"]);
        assert_eq!(
            args("opt %s -o - --arg=%S/Inputs/x 100%%"),
            ["/t/Pass/a.ll", "-o", "-", "--arg=/t/Pass/Inputs/x", "100%"]
        );
        assert_eq!(classify("opt %s -S").unwrap().stdin_for(Path::new("/t/a.ll")), None);
        let other = classify("opt -S < %S/Inputs/x.ll").unwrap();
        assert_eq!(other.stdin_for(Path::new("/t/a.ll")), Some("/t/Inputs/x.ll".into()));
    }

    #[test]
    fn streams_end_up_where_the_redirections_say_in_their_order() {
        let shows = |text: &str| classify(text).map(|line| (line.shows_stdout, line.shows_stderr)).unwrap();
        assert_eq!(shows("opt %s 2>&1 | FileCheck %s"), (true, true));
        assert_eq!(shows("opt %s 2>/dev/null | FileCheck %s"), (true, false));
        assert_eq!(shows("opt %s 2>&1 >/dev/null | FileCheck %s"), (false, true));
        assert_eq!(shows("opt %s >/dev/null 2>&1"), (false, false));
        assert_eq!(shows("opt %s |& FileCheck %s"), (true, true));
    }

    #[test]
    fn it_does_not_matter_who_reads_the_output() {
        for text in ["opt %s | FileCheck %s", "opt %s | not grep add", "opt %s | llvm-dis | FileCheck %s"] {
            assert!(classify(text).unwrap().shows_stdout, "{text}");
        }
    }

    #[test]
    fn not_opt_is_plain_and_a_crash_is_not() {
        assert!(classify("not opt -S %s 2>&1 | FileCheck %s").unwrap().expects_failure);
        assert_eq!(classify("not --crash opt -S %s"), Err(NotPlain::ExpectsCrash));
    }

    #[test]
    fn other_lines_say_why() {
        let reason = |text| classify(text).unwrap_err();
        assert_eq!(reason("llc %s"), NotPlain::OtherProgram("llc".into()));
        assert_eq!(reason("opt %s | opt -S | FileCheck %s"), NotPlain::SecondOpt);
        assert_eq!(reason("opt %s && opt %s"), NotPlain::Sequence("&&"));
        assert_eq!(reason("opt %s -o %t"), NotPlain::TemporaryFile);
        assert_eq!(reason("opt %s -o=x.bc"), NotPlain::OutputToFile);
        assert_eq!(reason("opt %s > x"), NotPlain::OutputToFile);
        assert_eq!(reason("opt %s 2> x"), NotPlain::OutputToFile);
        assert_eq!(reason("opt %{flags} %s"), NotPlain::Substitution("%{flags}".into()));
        assert_eq!(reason("opt %s >"), NotPlain::Incomplete);
        assert_eq!(reason(""), NotPlain::Incomplete);
        assert!(matches!(reason("opt $X"), NotPlain::Shell(_)));
    }

    #[test]
    fn output_options_that_only_look_like_one_are_no_files() {
        assert!(classify("opt %s -o - -openmp-opt-disable").is_ok());
        assert!(classify("opt %s -o /dev/null").is_ok());
    }

    proptest! {
        #[test]
        fn no_test_file_panics(test in proptest::collection::vec(any::<u8>(), 0..200)) {
            for line in run_lines(&test) {
                let _ = line.classify();
            }
        }

        #[test]
        fn no_run_line_panics(text in r#"(opt|not|%[a-zS%]|[-'"<>|&;\\$ 2>&1a-z=])*"#) {
            if let Ok(line) = classify(&text) {
                line.args_for(Path::new("x.ll"));
            }
        }
    }
}
