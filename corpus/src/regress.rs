//! The inputs under `regress/passes`, and how they are made ready for a version of LLVM.
//!
//! What a file says of itself in its [`Header`] is checked by the test `regress_inputs_show_what_they_say`
//! in this crate, not here.

use std::fs;
use std::path::{Path, PathBuf};

use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Stdin, Task};

use crate::header::Header;
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
    /// What it says about itself.
    pub header: Header,
}

/// An input ready for the observed run: `opt` with these arguments, and this on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// IR text or bitcode.
    pub input: Vec<u8>,
    /// Arguments, the pipeline among them; what is to be printed or loaded is for the caller to add.
    pub opt_args: Vec<String>,
}

/// How C inputs become bitcode. The names of values are kept: reports show them.
pub const CLANG_ARGS: [&str; 7] =
    ["-O1", "-g", "-fno-discard-value-names", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"];

/// Gives a module without debug information a location per instruction. Locations alone: with variables,
/// IRBuilder of LLVM 16 takes the location of a dbg.value at its insertion point.
pub const DEBUGIFY_ARGS: [&str; 3] = ["-passes=debugify", "-debugify-level=locations", "-debugify-quiet"];

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
                inputs.push(RegressInput::open(path, &pass, clean)?);
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
    fn open(path: PathBuf, pass: &str, clean: bool) -> Result<RegressInput> {
        let text = fs::read_to_string(&path).map_err(Error::read(&path))?;
        let header = Header::read(&text).map_err(|reason| Error::Header { path: path.clone(), reason })?;
        Ok(RegressInput { path, text, pass: pass.into(), clean, header })
    }

    /// Compiles and prepares the input with the stock tools of an LLVM.
    pub fn prepare(&self, llvm: &Llvm) -> Result<Prepared> {
        if !self.header.llvm.contains(llvm.major) {
            let reason = "its header excludes that version".into();
            return Err(Error::Unadaptable { path: self.path.clone(), major: llvm.major, reason });
        }
        let is_c = self.path.extension().is_some_and(|extension| extension == "c");
        let mut args = self.header.args.clone();
        let mut input = if is_c {
            self.compile(llvm)?
        } else {
            args.extend(opaque_pointer_args(&self.text, llvm.major));
            self.text.clone().into_bytes()
        };
        let opt = || Task::new(&llvm.opt).args(&args);
        if let Some(pipeline) = &self.header.prepare {
            let task = opt().arg(format!("-passes={pipeline}"));
            input = stock::output(task.stdin(Stdin::Bytes(input)))?;
        }
        if !is_c && !self.text.contains("!llvm.dbg.cu") {
            input = stock::output(opt().args(DEBUGIFY_ARGS).stdin(Stdin::Bytes(input)))?;
        }
        args.push(format!("-passes={}", self.header.pass.as_ref().unwrap_or(&self.pass)));
        Ok(Prepared { input, opt_args: args })
    }

    fn compile(&self, llvm: &Llvm) -> Result<Vec<u8>> {
        // In its own folder: debug information names the file without the path of the repository.
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let name = self.path.file_name().unwrap_or_default();
        let task = Task::new(llvm.clang()?).args(CLANG_ARGS).args(["-o", "-"]).arg(name).cwd(folder);
        Ok(stock::output(task)?)
    }
}
