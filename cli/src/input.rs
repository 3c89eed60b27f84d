//! The files that a pass is run on, and what they say about themselves.
//!
//! A file may begin with comment lines of the form `; metaloc: KEY=VALUE` (`// metaloc: ...` in C):
//!
//! - `prepare=PIPELINE`: stock `opt` runs this first, without the plugin;
//! - `pass=NAME<PARAMETERS>`: the parameters to use if the user gave none;
//! - `args=ARGUMENTS`: more arguments for `opt`, separated by blanks;
//! - `llvm=A..B`: only for these major versions; either end may be left out.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A file to run a pass on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// What kind of file it is.
    pub kind: Kind,
    /// What it says about itself.
    pub directives: Directives,
}

/// Kinds of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// IR as text; the flags say what the text contains.
    Text { has_debug_info: bool, has_opaque_pointers: bool },
    /// IR as bitcode.
    Bitcode,
    /// A C program.
    C,
}

/// What a file says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Directives {
    pub prepare: Option<String>,
    pub pass: Option<String>,
    pub args: Vec<String>,
    pub from: Option<u32>,
    pub to: Option<u32>,
}

impl Input {
    /// Reads a file. Anything that is neither C nor bitcode is taken for text.
    pub fn open(path: &Path) -> Result<Input> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let kind = if path.extension() == Some(OsStr::new("c")) {
            Kind::C
        } else if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) {
            Kind::Bitcode
        } else {
            let has_debug_info = text.contains("!llvm.dbg.cu");
            Kind::Text { has_debug_info, has_opaque_pointers: mentions_opaque_pointers(&text) }
        };
        let directives = match kind {
            Kind::Bitcode => Directives::default(),
            _ => Directives::read(&text).with_context(|| path.display().to_string())?,
        };
        Ok(Input { path: path.to_owned(), kind, directives })
    }

    /// True if the file is meant for this LLVM.
    pub fn is_for(&self, major: u32) -> bool {
        let Directives { from, to, .. } = self.directives;
        from.is_none_or(|from| major >= from) && to.is_none_or(|to| major <= to)
    }

    /// How reports name it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
}

impl Directives {
    fn read(text: &str) -> Result<Directives> {
        let mut directives = Directives::default();
        let body = |line: &'_ str| -> Option<String> {
            let line = line.trim_start();
            let comment = line.strip_prefix("//").or_else(|| line.strip_prefix(';'))?;
            Some(comment.trim().strip_prefix("metaloc:")?.trim().to_owned())
        };
        for line in text.lines().map_while(body) {
            let Some((key, value)) = line.split_once('=') else { bail!("'{line}' is not KEY=VALUE") };
            match key {
                "prepare" => directives.prepare = Some(value.to_owned()),
                "pass" => directives.pass = Some(value.to_owned()),
                "args" => directives.args = value.split_whitespace().map(str::to_owned).collect(),
                "llvm" => (directives.from, directives.to) = version_range(value)?,
                _ => bail!("unknown key '{key}' in 'metaloc: {line}'"),
            }
        }
        Ok(directives)
    }
}

fn version_range(value: &str) -> Result<(Option<u32>, Option<u32>)> {
    let end = |text: &str| match text {
        "" => Ok(None),
        _ => text.parse().map(Some).with_context(|| format!("'{value}' is not a range of LLVM versions")),
    };
    match value.split_once("..") {
        Some((from, to)) => Ok((end(from)?, end(to)?)),
        None => Ok((end(value)?, end(value)?)),
    }
}

/// The type `ptr`, as opposed to `%ptr`, `"ptr"` or a comment: LLVM 14 must be told to read it.
fn mentions_opaque_pointers(text: &str) -> bool {
    let code = text.lines().map(|line| line.split(';').next().unwrap_or_default());
    code.flat_map(|line| line.match_indices("ptr").map(move |(at, _)| (line, at))).any(|(line, at)| {
        let before = line[..at].chars().next_back();
        let after = line[at + 3..].chars().next();
        let delimits = |c: Option<char>| c.is_none_or(|c| " ,()[]{}<>=\t".contains(c));
        delimits(before) && delimits(after)
    })
}

/// The inputs that the user named: files as they are, folders with all inputs in them.
pub fn named(paths: &[PathBuf]) -> Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = inputs.len();
            inputs.extend(in_folder(path)?);
            if inputs.len() == before {
                bail!("{} has no .ll, .bc or .c files", path.display());
            }
        } else {
            inputs.push(Input::open(path)?);
        }
    }
    Ok(inputs)
}

/// All inputs below a folder, sorted by name.
pub fn in_folder(folder: &Path) -> Result<Vec<Input>> {
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| Input::open(path)).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let cannot_read = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        let extension = path.extension().and_then(OsStr::to_str);
        if path.is_dir() {
            collect(&path, paths)?;
        } else if matches!(extension, Some("ll" | "bc" | "c")) {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_read_from_the_top_of_the_file() {
        let text = "; metaloc: args=-a -b=c\n; metaloc: pass=licm<x>\n; metaloc: llvm=15..\ndefine\n; metaloc: args=no\n";
        let read = Directives::read(text).unwrap();
        assert_eq!(read.args, ["-a", "-b=c"]);
        assert_eq!(read.pass.as_deref(), Some("licm<x>"));
        assert_eq!((read.from, read.to), (Some(15), None));
        let read = Directives::read("// metaloc: prepare=mem2reg,simplifycfg\nint x;\n").unwrap();
        assert_eq!(read.prepare.as_deref(), Some("mem2reg,simplifycfg"));
        assert_eq!(Directives::read("int x;\n").unwrap(), Directives::default());
    }

    #[test]
    fn wrong_directives_are_named() {
        let error = Directives::read("; metaloc: pases=x\n").unwrap_err().to_string();
        assert_eq!(error, "unknown key 'pases' in 'metaloc: pases=x'");
        assert!(Directives::read("; metaloc: prepare\n").is_err());
        assert!(Directives::read("; metaloc: llvm=new\n").is_err());
    }

    #[test]
    fn ranges_of_versions() {
        let input = |text: &str| Input {
            path: "x.ll".into(),
            kind: Kind::Bitcode,
            directives: Directives::read(&format!("; metaloc: llvm={text}\n")).unwrap(),
        };
        assert!(input("15..19").is_for(16) && input("15..19").is_for(19) && input("15..19").is_for(15));
        assert!(!input("15..19").is_for(14) && !input("15..19").is_for(22));
        assert!(input("..15").is_for(14) && !input("..15").is_for(16));
        assert!(input("16").is_for(16) && !input("16").is_for(19));
    }

    #[test]
    fn the_type_ptr_is_told_from_names() {
        for text in ["load i32, ptr %p", "define void @f(ptr %p)", "ptr", "<4 x ptr>", "[2 x ptr]"] {
            assert!(mentions_opaque_pointers(text), "{text}");
        }
        for text in ["%ptr = add", "@ptr", "i32* %ptr.x", "ptrtoint i32* %p", "; a ptr", "\"ptr\"", "!ptr"] {
            assert!(!mentions_opaque_pointers(text), "{text}");
        }
    }

    #[test]
    fn folders_are_searched_and_empty_ones_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = named(&[folder.path().to_owned()]).unwrap_err().to_string();
        assert!(error.ends_with("has no .ll, .bc or .c files"), "{error}");
        fs::create_dir(folder.path().join("sub")).unwrap();
        fs::write(folder.path().join("sub/a.ll"), "!llvm.dbg.cu = !{}\n").unwrap();
        fs::write(folder.path().join("b.c"), "int x;\n").unwrap();
        fs::write(folder.path().join("README.md"), "text").unwrap();
        let inputs = named(&[folder.path().to_owned()]).unwrap();
        let kinds: Vec<_> = inputs.iter().map(|input| input.kind).collect();
        assert_eq!(kinds, [Kind::C, Kind::Text { has_debug_info: true, has_opaque_pointers: false }]);
        let error = named(&[folder.path().join("none.ll")]).unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.ends_with("none.ll"), "{error}");
    }
}
