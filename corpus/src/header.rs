//! The first comment lines of an input: what it says about itself.
//!
//! Lines of the form `; metaloc: KEY=VALUE` (`// metaloc: ...` in C), one key each, before anything else:
//!
//! - `prepare=PIPELINE`: stock `opt` runs this first, without the plugin;
//! - `pass=PIPELINE`: the pass with the parameters and adaptors to use if the user gave none;
//! - `args=ARGUMENTS`: more arguments for `opt`, separated by blanks;
//! - `llvm=A..B`: only for these major versions; either end may be left out;
//! - `shows=...`: a known error that the input shows, see [`Shown`].

use regex_lite::Regex;

use crate::ir_text::{LocationText, Probe};

/// What an input says about itself.
#[derive(Debug, Clone, Default)]
pub struct Header {
    /// Pipeline that the stock `opt` runs first.
    pub prepare: Option<String>,
    /// Pipeline of the observed run.
    pub pass: Option<String>,
    /// Further arguments of `opt`.
    pub args: Vec<String>,
    /// The versions of LLVM that it is for.
    pub llvm: Versions,
    /// The known errors that it shows.
    pub shows: Vec<Shown>,
}

/// A range of major versions, ends included; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Versions {
    /// The oldest one.
    pub from: Option<u32>,
    /// The newest one.
    pub to: Option<u32>,
}

/// A known error that an input shows:
/// `shows=ID in=FUNCTION[/BLOCK] wrong=LOCATION right=LOCATION destination=REGEX`.
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

/// A line that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header line 'metaloc: {line}' {problem}")]
pub struct HeaderError {
    line: String,
    problem: String,
}

impl Header {
    /// Reads the header of a text.
    pub fn read(text: &str) -> Result<Header, HeaderError> {
        let mut header = Header::default();
        for line in text.lines().map_while(setting) {
            header.set(line).map_err(|problem| HeaderError { line: line.into(), problem })?;
        }
        Ok(header)
    }

    fn set(&mut self, line: &str) -> Result<(), String> {
        let (key, value) = line.split_once('=').ok_or("is not KEY=VALUE")?;
        match key {
            "prepare" => self.prepare = Some(value.into()),
            "pass" => self.pass = Some(value.into()),
            "args" => self.args = value.split_whitespace().map(str::to_owned).collect(),
            "llvm" => self.llvm = Versions::parse(value).ok_or("has no range of LLVM versions")?,
            "shows" => self.shows.push(Shown::parse(value)?),
            other => return Err(format!("has the unknown key '{other}'")),
        }
        Ok(())
    }
}

impl Versions {
    /// `16..22`, `16..`, `..15` or `16`.
    fn parse(text: &str) -> Option<Versions> {
        let end = |text: &str| match text {
            "" => Some(None),
            _ => text.parse().ok().map(Some),
        };
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        (!text.is_empty()).then_some(())?;
        Some(Versions { from: end(from)?, to: end(to)? })
    }

    /// Whether a version is one of them.
    pub fn contains(self, major: u32) -> bool {
        self.from.is_none_or(|from| major >= from) && self.to.is_none_or(|to| major <= to)
    }
}

impl Shown {
    fn parse(value: &str) -> Result<Shown, String> {
        let (front, pattern) = value.split_once(" destination=").ok_or("has no destination=")?;
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
fn setting(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let comment = line.strip_prefix(';').or(line.strip_prefix("//"))?;
    comment.trim().strip_prefix("metaloc:").map(str::trim_start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_key_is_read() {
        let header = Header::read(
            "; metaloc: prepare=mem2reg\n; metaloc: pass=loop(licm<x>)\n; metaloc: args=-a -b=c\n\
             ; metaloc: llvm=16..19\n; metaloc: shows=t1 in=f/b wrong=- right=3:1@f destination=^%x = add\n; text\n",
        )
        .unwrap();
        assert_eq!(
            (header.prepare.as_deref(), header.pass.as_deref()),
            (Some("mem2reg"), Some("loop(licm<x>)"))
        );
        assert_eq!(header.args, ["-a", "-b=c"]);
        assert_eq!(header.llvm, Versions { from: Some(16), to: Some(19) });
        let shown = &header.shows[0];
        assert_eq!(
            (shown.record.as_str(), shown.wrong.0.as_str(), shown.right.0.as_str()),
            ("t1", "-", "3:1@f")
        );
        assert_eq!((shown.probe.function.as_deref(), shown.probe.block.as_deref()), (Some("f"), Some("b")));
        assert_eq!(shown.probe.pattern.as_str(), "^%x = add");
    }

    #[test]
    fn only_the_first_lines_are_header() {
        assert_eq!(Header::read("; text\n; metaloc: pass=x\n").unwrap().pass, None);
        assert_eq!(Header::read("// metaloc: pass=x\nint y;\n").unwrap().pass.as_deref(), Some("x"));
    }

    #[test]
    fn ranges_of_versions() {
        let contains = |text, major| Versions::parse(text).unwrap().contains(major);
        assert!(contains("15..19", 15) && contains("15..19", 19) && !contains("15..19", 14));
        assert!(contains("..15", 14) && !contains("..15", 16));
        assert!(contains("16..", 22) && !contains("16..", 15));
        assert!(contains("16", 16) && !contains("16", 19));
        assert!(Versions::default().contains(22));
        assert_eq!(Versions::parse("new"), None);
        assert_eq!(Versions::parse(""), None);
    }

    #[test]
    fn a_bad_line_is_shown_with_what_is_wrong() {
        for (line, problem) in [
            ("prepare", "is not KEY=VALUE"),
            ("pases=x", "has the unknown key 'pases'"),
            ("llvm=new", "has no range of LLVM versions"),
            ("shows=t in=f wrong=- right=-", "has no destination="),
            ("shows=t wrong=- right=- destination=x", "has no in="),
            ("shows=t in=f on=g destination=x", "has on=g, which is not in=, wrong= or right="),
        ] {
            let error = Header::read(&format!("; metaloc: {line}\n")).unwrap_err().to_string();
            assert_eq!(error, format!("the header line 'metaloc: {line}' {problem}"));
        }
    }

    proptest! {
        #[test]
        fn no_header_panics(text in "(; metaloc: (prepare|pass|llvm|shows)=([a-z0-9./=\\\\( -]|in=|wrong=|right=| destination=)*\n)*") {
            let _ = Header::read(&text);
        }
    }
}
