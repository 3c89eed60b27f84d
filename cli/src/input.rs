//! The files that a pass is run on, and what they say about themselves.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::header::Header;
use metaloc_corpus::stock::uses_opaque_pointers;

/// A file to run a pass on.
#[derive(Debug, Clone)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// What kind of file it is.
    pub kind: Kind,
    /// What it says about itself.
    pub header: Header,
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
            Kind::Text { has_debug_info, has_opaque_pointers: uses_opaque_pointers(&text) }
        };
        let header = match kind {
            Kind::Bitcode => Header::default(),
            _ => Header::read(&text).with_context(|| path.display().to_string())?,
        };
        Ok(Input { path: path.to_owned(), kind, header })
    }

    /// True if the file is meant for this LLVM.
    pub fn is_for(&self, major: u32) -> bool {
        self.header.llvm.contains(major)
    }

    /// How reports name it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }
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
