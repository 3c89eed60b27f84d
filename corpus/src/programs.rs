//! Real programs to run passes on: sqlite3, Lua and zlib, from crates that ship their C sources.
//!
//! The crates are fetched by cargo itself, which checks them against the registry's hashes, with a manifest
//! of its own in the cache: they are data here, no dependencies of ours. Each translation unit becomes
//! unoptimised bitcode, once per LLVM, made by that LLVM's own clang.

use std::fs;
use std::path::{Path, PathBuf};

use metaloc_toolchain::process::Task;
use metaloc_toolchain::{Llvm, Notice, atomic, cache};

use crate::{Error, Result, stock};

/// A program whose sources a crate ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// What it is called here.
    pub name: &'static str,
    /// The crate, and its version.
    package: (&'static str, &'static str),
    /// Where in the crate its sources are.
    folder: &'static str,
    /// What its makefile would say on Linux.
    defines: &'static [&'static str],
}

/// The programs. Versions are exact: what is measured today can be measured again.
pub const PROGRAMS: [Program; 3] = [
    Program {
        name: "sqlite3",
        package: ("libsqlite3-sys", "0.39.1"),
        folder: "sqlite3",
        defines: &["-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_FTS5"],
    },
    Program {
        name: "lua",
        package: ("lua-src", "551.1.0"),
        folder: "lua-5.4.9",
        defines: &["-DLUA_USE_POSIX", "-DLUA_USE_DLOPEN"],
    },
    Program {
        name: "zlib",
        package: ("libz-sys", "1.1.31"),
        folder: "src/zlib",
        defines: &["-DHAVE_UNISTD_H", "-D_LARGEFILE64_SOURCE=1"],
    },
];

/// Sources that are no part of the program on Linux.
const LEFT_OUT: [&str; 1] = ["wasm32-wasi-vfs.c"];

/// One C file of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The program.
    pub program: Program,
    /// Its folder of sources: where it is compiled.
    pub folder: PathBuf,
    /// Name of the file there.
    pub file: String,
}

/// All units of all programs, fetched if need be.
pub fn units(notice: Notice<'_>) -> Result<Vec<Unit>> {
    let vendor = vendor(notice)?;
    let mut units = Vec::new();
    for program in PROGRAMS {
        let folder = vendor.join(program.package.0).join(program.folder);
        let entries = fs::read_dir(&folder).map_err(Error::read(&folder))?;
        let mut files: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|file| file.ends_with(".c") && !LEFT_OUT.contains(&file.as_str()))
            .collect();
        files.sort();
        units.extend(files.into_iter().map(|file| Unit { program, folder: folder.clone(), file }));
    }
    Ok(units)
}

impl Unit {
    /// `lua/lapi.c`
    pub fn name(&self) -> String {
        format!("{}/{}", self.program.name, self.file)
    }

    /// What the compiler is given apart from what it is to do: preprocessor flags and the file, for use in
    /// [`Unit::folder`].
    pub fn compile_args(&self) -> Vec<String> {
        let mut args: Vec<String> = self.program.defines.iter().map(|define| (*define).into()).collect();
        args.push(self.file.clone());
        args
    }

    /// Its unoptimised bitcode with debug information, made by an LLVM's clang as if for `-O2`, in the cache.
    pub fn bitcode(&self, llvm: &Llvm) -> Result<PathBuf> {
        let folder = root()?.join(format!("bitcode-{}", llvm.version)).join(self.program.name);
        let path = folder.join(&self.file).with_extension("bc");
        if path.is_file() {
            return Ok(path);
        }
        atomic::create_folder(&folder)?;
        let pending = atomic::PendingFile::new(&path)?;
        // The folder must not show in the output: it is another one on each machine.
        let task = Task::new(llvm.clang()?)
            .args(["-O2", "-g", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c", "-w"])
            .arg("-fdebug-compilation-dir=.")
            .args(self.compile_args())
            .arg("-o")
            .arg(pending.temporary())
            .cwd(&self.folder);
        stock::succeed(task)?;
        pending.commit()?;
        Ok(path)
    }
}

/// The folder of the cache for this set of versions.
fn root() -> Result<PathBuf> {
    let pins: Vec<String> =
        PROGRAMS.iter().map(|program| format!("{}-{}", program.name, program.package.1)).collect();
    Ok(cache::folder()?.join("programs").join(pins.join("_")))
}

/// The unpacked crates.
fn vendor(notice: Notice<'_>) -> Result<PathBuf> {
    let root = root()?;
    let vendor = root.join("vendor");
    if vendor.is_dir() {
        return Ok(vendor);
    }
    atomic::create_folder(&root)?;
    let _lock = cache::Lock::take(&root.join("lock"))?;
    if !vendor.is_dir() {
        notice("fetching the sources of sqlite3, lua and zlib (15 MB)");
        let manifest = root.join("manifest");
        atomic::create_folder(&manifest.join("src"))?;
        atomic::write(&manifest.join("Cargo.toml"), manifest_text().as_bytes())?;
        atomic::write(&manifest.join("src/lib.rs"), b"")?;
        atomic::fill_folder(&vendor, |temporary| {
            stock::succeed(cargo(&manifest).args(["vendor", "--quiet"]).arg(temporary)).map(drop)
        })?;
    }
    Ok(vendor)
}

fn cargo(manifest: &Path) -> Task {
    // A target folder or flags set for our own build are not meant for this.
    Task::new("cargo").cwd(manifest).env_remove("RUSTFLAGS").env_remove("CARGO_TARGET_DIR")
}

fn manifest_text() -> String {
    // A workspace of its own: cargo must not look for one further up.
    let mut text = "[package]\nname = \"metaloc-programs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n".to_owned();
    for program in PROGRAMS {
        let (name, version) = program.package;
        text += &format!("{name} = {{ version = \"={version}\", default-features = false }}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_pins_every_program_and_stands_alone() {
        let text = manifest_text();
        assert!(text.contains("\n[workspace]\n"), "{text}");
        assert_eq!(text.matches("version = \"=").count(), PROGRAMS.len(), "{text}");
    }

    #[test]
    fn a_unit_is_named_by_program_and_file() {
        let unit = Unit { program: PROGRAMS[1], folder: "x".into(), file: "lapi.c".into() };
        assert_eq!(unit.name(), "lua/lapi.c");
        assert_eq!(unit.compile_args().last().map(String::as_str), Some("lapi.c"));
    }
}
