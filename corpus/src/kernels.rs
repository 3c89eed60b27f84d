//! The loops under `regress/kernels`, and the compilers and flags that they are compared with.
//!
//! One list for the benchmarks, the tests of the prover and its examples.

use std::path::{Path, PathBuf};

use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;

use crate::{Error, Result, stock};

/// A function of a file, with what it is compiled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// File.
    pub path: PathBuf,
    /// Its function.
    pub name: String,
    /// Definitions.
    pub defines: Vec<String>,
    /// Definitions that make its arrays small.
    pub small: Vec<String>,
}

impl Kernel {
    /// Name with definitions.
    pub fn label(&self) -> String {
        let defines: Vec<&str> = self.defines.iter().map(|define| define.trim_start_matches("-D")).collect();
        [vec![self.name.as_str()], defines].concat().join(",")
    }
}

/// The TSVC loops of a folder such as `regress/kernels`.
pub fn tsvc(folder: &Path) -> Result<Vec<Kernel>> {
    Ok(files(folder)?.iter().map(|path| kernel(path, &[], &["-DL=240", "-DN=24"])).collect())
}

/// All kernels below a folder such as `regress/kernels`: TSVC, the papers' figures, and nests with and without a
/// store, at the compiler's own factor and at 8.
pub fn all(folder: &Path) -> Result<Vec<Kernel>> {
    Ok([tsvc(folder)?, figures(folder)?, nests(folder)?].concat())
}

/// The examples in the papers' figures.
pub fn figures(folder: &Path) -> Result<Vec<Kernel>> {
    let files = files(&folder.join("figures"))?;
    Ok(files.iter().map(|path| kernel(path, &[], &["-DLEN=64"])).collect())
}

/// Loops over floating-point numbers, vectorised and not.
pub fn floats(folder: &Path) -> Result<Vec<Kernel>> {
    let files = files(&folder.join("floats"))?;
    let scalar = ["-fno-tree-vectorize", "-fno-tree-slp-vectorize"];
    let both = |path| [kernel(path, &[], &["-DLEN=64"]), kernel(path, &scalar, &["-DLEN=64"])];
    Ok(files.iter().flat_map(|path| both(path)).collect())
}

/// One loop, not vectorised, at so many iterations of the source to one of the machine.
pub fn steps(folder: &Path) -> Result<Vec<Kernel>> {
    let variant = |path: &Path, by: u32| {
        let by = format!("-DUNROLL_BY={by}");
        kernel(path, &[&by, "-fno-tree-vectorize"], &["-DLEN=128"])
    };
    let files = files(&folder.join("steps"))?;
    Ok(files.iter().flat_map(|path| [2, 4, 8, 16, 32, 64].map(|by| variant(path, by))).collect())
}

/// The nests with and without a store, at the compiler's own factor and at 8.
pub fn nests(folder: &Path) -> Result<Vec<Kernel>> {
    let mut found = Vec::new();
    for path in files(&folder.join("nests"))? {
        for defines in [
            &["-DSTORE=1"][..],
            &["-DSTORE=0"],
            &["-DSTORE=1", "-DUNROLL_BY=8"],
            &["-DSTORE=0", "-DUNROLL_BY=8"],
        ] {
            found.push(kernel(&path, defines, &["-DLEN=96", "-DROWS=24"]));
        }
    }
    Ok(found)
}

/// Functions as users write them, for [`Flags::Plain`].
pub fn plain(folder: &Path) -> Result<Vec<Kernel>> {
    Ok(files(&folder.join("plain"))?.iter().map(|path| kernel(path, &[], &[])).collect())
}

fn kernel(path: &Path, defines: &[&str], small: &[&str]) -> Kernel {
    Kernel {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        path: path.to_owned(),
        defines: texts(defines),
        small: texts(small),
    }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).map_err(Error::read(folder))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::read(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    /// Debian's gcc 12.
    Gcc12,
    /// clang of the LLVM that makes the IR.
    Clang,
}

/// What a kernel is compiled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// Those of the papers, beside `-O3 -msse4.2`: wrapping arithmetic, no library calls for loops.
    Paper,
    /// None beside `-O3 -msse4.2`.
    Default,
    /// `-O2`, as a user compiles who thinks of nothing.
    Plain,
}

/// Where code may be loaded, and for which processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// x86-64 at a fixed address.
    Fixed,
    /// x86-64, position-independent.
    Pie,
    /// i386 at a fixed address.
    I386,
    /// i386, position-independent.
    I386Pie,
}

/// Flags of the papers' objects that today's compilers know (kernel-facts, section 1).
const PAPER: [&str; 6] = [
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-builtin",
    "-fno-jump-tables",
    "-std=c11",
    "-fcf-protection=none",
];

/// What gcc's `-fwrapv` leaves as it is, as clang spells it from 20 on: addresses do not wrap around.
const POINTERS: &str = "-fno-wrapv-pointer";

/// A compiler with flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// For people.
    pub name: String,
    /// The compiler.
    pub compiler: PathBuf,
    /// Its flags.
    pub flags: Vec<String>,
    /// What these say of the source, as `metaloc prove` is told (see [`Configuration::plain`]).
    pub meaning: Vec<String>,
    /// Whether sums of numbers wrap around.
    pub wraps: bool,
    /// For 32-bit code.
    pub i386: bool,
}

impl Configuration {
    /// One of them.
    pub fn new(llvm: &Llvm, compiler: Compiler, flags: Flags, target: Target) -> Result<Configuration> {
        let (compiler_name, program) = match compiler {
            Compiler::Gcc12 => ("gcc-12".to_owned(), PathBuf::from("gcc-12")),
            Compiler::Clang => (format!("clang-{}", llvm.major), llvm.clang()?.to_owned()),
        };
        let (flags_name, semantic, mut meaning) = match flags {
            Flags::Paper => ("paper's flags", &PAPER[..], texts(&["-fwrapv", "-std=c11"])),
            Flags::Default => ("default flags", &[][..], Vec::new()),
            Flags::Plain => ("-O2", &[][..], Vec::new()),
        };
        let level = match flags {
            Flags::Paper | Flags::Default => &["-O3", "-msse4.2", "-g"][..],
            Flags::Plain => &["-O2", "-g"],
        };
        let (target_name, place) = match target {
            Target::Fixed => ("", &["-fno-pic"][..]),
            Target::Pie => (", PIE", &["-fpie"][..]),
            Target::I386 => (", i386", &["-m32", "-fno-pic"][..]),
            Target::I386Pie => (", i386, PIE", &["-m32", "-fpie"][..]),
        };
        if (compiler, flags) == (Compiler::Gcc12, Flags::Paper) {
            meaning.push(POINTERS.to_owned());
        }
        let i386 = matches!(target, Target::I386 | Target::I386Pie);
        if i386 {
            meaning.push("-m32".to_owned());
        }
        Ok(Configuration {
            name: format!("{compiler_name}, {flags_name}{target_name}"),
            compiler: program,
            flags: texts(&[level, place, semantic].concat()),
            meaning,
            wraps: flags == Flags::Paper,
            i386,
        })
    }

    /// gcc-12 and clang, with the flags of the papers and with plain ones, the latter also
    /// position-independent, for x86-64; and the papers' and plain position-independent ones for i386.
    pub fn all(llvm: &Llvm) -> Result<Vec<Configuration>> {
        let mut found = Vec::new();
        for (flags, target) in [
            (Flags::Paper, Target::Fixed),
            (Flags::Default, Target::Fixed),
            (Flags::Default, Target::Pie),
            (Flags::Paper, Target::I386),
            (Flags::Default, Target::I386Pie),
        ] {
            for compiler in [Compiler::Gcc12, Compiler::Clang] {
                found.push(Configuration::new(llvm, compiler, flags, target)?);
            }
        }
        Ok(found)
    }

    /// The meaning for a clang that compiles without optimisation, for a program that is run: the flag about addresses
    /// changes nothing there, and clang before 20 does not know it.
    pub fn plain(&self) -> impl Iterator<Item = &String> {
        self.meaning.iter().filter(|flag| *flag != POINTERS)
    }

    /// How a program of this configuration is compiled and linked: where it may be loaded, and for which processor.
    pub fn place(&self) -> Vec<&'static str> {
        let fixed = self.flags.iter().any(|flag| flag == "-fno-pic");
        let place = if fixed { ["-fno-pic", "-no-pie"] } else { ["-fpie", "-pie"] };
        let width = self.i386.then_some("-m32");
        place.into_iter().chain(width).collect()
    }

    /// Compiles a file to what `stage` says: `-c` for an object, `-S` for assembly.
    pub fn compile(&self, source: &Path, defines: &[String], stage: &str, to: &Path) -> Result<()> {
        let task = Task::new(&self.compiler).args(&self.flags).args(defines);
        stock::succeed(task.arg(stage).arg(source).arg("-o").arg(to))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/kernels")
    }

    #[test]
    fn there_are_76_loops_and_the_rest() {
        let loops = tsvc(&folder()).unwrap();
        assert_eq!(loops.len(), 76);
        assert!(loops.windows(2).all(|pair| pair[0].name < pair[1].name));
        let all = all(&folder()).unwrap();
        assert!(all.len() > 76 + 5);
        let labels: std::collections::HashSet<String> = all.iter().map(Kernel::label).collect();
        assert_eq!(labels.len(), all.len(), "labels tell kernels apart");
        let floats = floats(&folder()).unwrap();
        assert!(floats.len() >= 2 * 14 && floats.iter().any(|kernel| kernel.name == "saxpy"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = tsvc(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
    }
}
