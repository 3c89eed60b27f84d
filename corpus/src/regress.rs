//! The inputs under `regress/passes`: their headers, and how they are made ready for a version of LLVM.
//!
//! `regress/README.md` describes the header. What a file says of itself is checked by the test
//! `regress_inputs_show_what_they_say` in this crate, not here.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Stdin, Task};
use regex_lite::Regex;

use crate::ir_text::{LocationText, Probe};
use crate::stock::{self, opaque_pointer_args};
use crate::{Error, Result};

/// One input for one pass.
#[derive(Debug, Clone)]
pub struct RegressInput {
    /// The file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// Name of the folder: the pass as in `-passes=`.
    pub pass: String,
    /// Nothing must be reported about it.
    pub clean: bool,
    /// Pipeline of the observed run.
    pub pipeline: String,
    /// Pipeline that the stock `opt` runs first.
    prepare: Option<String>,
    /// Further arguments of `opt`.
    args: Vec<String>,
    /// The versions of LLVM that can run it.
    pub llvm: RangeInclusive<u32>,
    /// The known errors that it shows.
    pub shows: Vec<Shown>,
}

/// A known error that an input shows.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Id of the record in `llvm-truth.json`.
    pub record: String,
    /// Where the destination is after the pass.
    pub probe: Probe,
    /// Its location in a version that has the error.
    pub wrong: LocationText,
    /// Its location in a version that has not.
    pub right: LocationText,
}

/// An input ready for the observed run: `opt` with these arguments, and this on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// IR text or bitcode.
    pub input: Vec<u8>,
    /// Arguments, the pipeline among them; what is to be printed or loaded is for the caller to add.
    pub opt_args: Vec<String>,
}

/// All inputs below a folder such as `regress/passes`, sorted by path.
pub fn inputs(passes: &Path) -> Result<Vec<RegressInput>> {
    let mut inputs = Vec::new();
    for folder in sorted_entries(passes)?.iter().filter(|path| path.is_dir()) {
        inputs.extend(inputs_in(folder)?);
    }
    Ok(inputs)
}

/// The inputs of one folder such as `regress/passes/licm`, those in its `clean` folder last.
pub fn inputs_in(folder: &Path) -> Result<Vec<RegressInput>> {
    let pass = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut inputs = Vec::new();
    for (folder, clean) in [(folder.to_owned(), false), (folder.join("clean"), true)] {
        if clean && !folder.is_dir() {
            continue;
        }
        for path in sorted_entries(&folder)? {
            if path.extension().is_some_and(|extension| extension == "ll" || extension == "c") {
                let text = fs::read_to_string(&path).map_err(Error::read(&path))?;
                inputs.push(RegressInput::parse(path, text, &pass, clean)?);
            }
        }
    }
    Ok(inputs)
}

fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::read(folder))?;
    let paths: std::io::Result<Vec<_>> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(Error::read(folder))?;
    paths.sort();
    Ok(paths)
}

impl RegressInput {
    /// Reads the header of an input.
    pub fn parse(path: PathBuf, text: String, pass: &str, clean: bool) -> Result<RegressInput> {
        let mut input = RegressInput {
            path,
            pass: pass.into(),
            clean,
            pipeline: pass.into(),
            prepare: None,
            args: Vec::new(),
            llvm: 0..=u32::MAX,
            shows: Vec::new(),
            text: String::new(),
        };
        for line in text.lines() {
            let Some(setting) = header_setting(line) else { break };
            input.set(setting).map_err(|problem| Error::Header {
                path: input.path.clone(),
                line: line.into(),
                problem,
            })?;
        }
        input.text = text;
        Ok(input)
    }

    fn set(&mut self, setting: &str) -> std::result::Result<(), String> {
        let (key, value) = setting.split_once('=').ok_or("has no value")?;
        match key {
            "prepare" => self.prepare = Some(value.into()),
            "passes" => self.pipeline = value.into(),
            "args" => self.args = value.split_whitespace().map(str::to_owned).collect(),
            "llvm" => self.llvm = versions(value).ok_or("is not a range such as 16..22")?,
            "shows" if self.clean => return Err("shows an error, but the input is a clean one".into()),
            "shows" => self.shows.push(Shown::parse(value)?),
            other => return Err(format!("has the unknown key {other}")),
        }
        Ok(())
    }

    /// Compiles and prepares the input with the stock tools of an LLVM.
    pub fn prepare(&self, llvm: &Llvm) -> Result<Prepared> {
        if !self.llvm.contains(&llvm.major) {
            let reason = format!("its header asks for {} to {}", self.llvm.start(), self.llvm.end());
            return Err(Error::Unadaptable { path: self.path.clone(), major: llvm.major, reason });
        }
        let is_c = self.path.extension().is_some_and(|extension| extension == "c");
        let mut args = self.args.clone();
        let mut input = if is_c {
            self.compile(llvm)?
        } else {
            args.extend(opaque_pointer_args(&self.text, llvm.major));
            self.text.clone().into_bytes()
        };
        if let Some(pipeline) = &self.prepare {
            let task = Task::new(&llvm.opt).args(&args).arg(format!("-passes={pipeline}"));
            // With variables, IRBuilder of LLVM 16 takes the location of a dbg.value at its insertion point.
            let task = task.arg("-debugify-level=locations");
            input = stock::output(task.stdin(Stdin::Bytes(input)))?;
        }
        args.push(format!("-passes={}", self.pipeline));
        Ok(Prepared { input, opt_args: args })
    }

    fn compile(&self, llvm: &Llvm) -> Result<Vec<u8>> {
        let name = self.path.file_name().unwrap_or_default();
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let task = Task::new(llvm.clang()?)
            .args(["-O1", "-g", "-fno-discard-value-names", "-Xclang"])
            .args(["-disable-llvm-passes", "-emit-llvm", "-c", "-o", "-"]);
        // Debug information names the file without the folder that the repository is in.
        Ok(stock::output(task.arg(name).cwd(folder))?)
    }
}

impl Shown {
    /// Reads `ID in=FUNCTION[/BLOCK] wrong=LOCATION right=LOCATION destination=REGEX`.
    fn parse(value: &str) -> std::result::Result<Shown, String> {
        let (front, pattern) = value.split_once(" destination=").ok_or("has no destination")?;
        let mut words = front.split_whitespace();
        let record = words.next().ok_or("names no record")?.to_owned();
        let (mut function, mut block, mut wrong, mut right) = (None, None, None, None);
        for word in words {
            match word.split_once('=') {
                Some(("in", place)) => match place.split_once('/') {
                    Some((f, b)) => (function, block) = (Some(f.to_owned()), Some(b.to_owned())),
                    None => function = Some(place.to_owned()),
                },
                Some(("wrong", location)) => wrong = Some(LocationText(location.into())),
                Some(("right", location)) => right = Some(LocationText(location.into())),
                _ => return Err(format!("has {word}, which is not in=, wrong= or right=")),
            }
        }
        let pattern = Regex::new(pattern).map_err(|error| format!("has a bad expression: {error}"))?;
        Ok(Shown {
            record,
            probe: Probe { function: Some(function.ok_or("has no in=")?), block, pattern },
            wrong: wrong.ok_or("has no wrong=")?,
            right: right.ok_or("has no right=")?,
        })
    }
}

/// What follows `metaloc:` in a comment; `None` ends the header.
fn header_setting(line: &str) -> Option<&str> {
    let comment = line.strip_prefix(';').or(line.strip_prefix("//"))?;
    comment.trim().strip_prefix("metaloc:").map(str::trim_start)
}

fn versions(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once("..")?;
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<RegressInput> {
        RegressInput::parse("licm/x.ll".into(), text.into(), "licm", false)
    }

    #[test]
    fn the_folder_gives_the_pass_and_the_header_the_rest() {
        let input = parse("define void @f() {\n").unwrap();
        assert_eq!((input.pipeline.as_str(), input.prepare, input.shows.len()), ("licm", None, 0));
        let input = parse(
            "; metaloc: prepare=debugify\n; metaloc: passes=loop(licm)\n; metaloc: args=-a -b=c\n\
             ; metaloc: llvm=16..19\n; metaloc: shows=t1 in=f/b wrong=- right=3:1@f destination=^%x = add\n; text\n",
        )
        .unwrap();
        assert_eq!(input.prepare.as_deref(), Some("debugify"));
        assert_eq!((input.pass.as_str(), input.pipeline.as_str()), ("licm", "loop(licm)"));
        assert_eq!(input.args, ["-a", "-b=c"]);
        assert_eq!(input.llvm, 16..=19);
        let shown = &input.shows[0];
        assert_eq!(
            (shown.record.as_str(), shown.wrong.0.as_str(), shown.right.0.as_str()),
            ("t1", "-", "3:1@f")
        );
        assert_eq!((shown.probe.function.as_deref(), shown.probe.block.as_deref()), (Some("f"), Some("b")));
        assert_eq!(shown.probe.pattern.as_str(), "^%x = add");
    }

    #[test]
    fn only_the_first_lines_are_header() {
        assert_eq!(parse("; text\n; metaloc: passes=x\n").unwrap().pipeline, "licm");
    }

    #[test]
    fn a_bad_header_names_the_file_and_the_line() {
        for (line, problem) in [
            ("prepare", "has no value"),
            ("colour=red", "has the unknown key colour"),
            ("llvm=16", "is not a range such as 16..22"),
            ("shows=t in=f wrong=- right=-", "has no destination"),
            ("shows=t wrong=- right=- destination=x", "has no in="),
            ("shows=t in=f on=g destination=x", "has on=g, which is not in=, wrong= or right="),
        ] {
            let error = parse(&format!("; metaloc: {line}\n")).unwrap_err().to_string();
            assert_eq!(error, format!("licm/x.ll: the header line \"; metaloc: {line}\" {problem}"));
        }
    }

    #[test]
    fn a_clean_input_shows_nothing() {
        let text = "// metaloc: shows=t in=f wrong=- right=- destination=x\n".to_owned();
        assert!(RegressInput::parse("x.c".into(), text, "licm", true).is_err());
    }

    proptest! {
        #[test]
        fn no_header_panics(text in "(; metaloc: (prepare|passes|llvm|shows)=([a-z0-9./=\\\\( -]|in=|wrong=|right=| destination=)*\n)*") {
            let _ = parse(&text);
        }
    }
}
