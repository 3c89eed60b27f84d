//! One LLVM: its `opt` with the `llvm-config` and the `clang` that belong to it.
//!
//! Found once, then passed along. Debian's are found by number, a user's own build by the path of its
//! `opt`. Nothing is assumed from a name: the version is what the program says.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use crate::process::Task;
use crate::{Error, Result};

/// The versions that the plugin has a symbol table for.
pub const SUPPORTED: [u32; 5] = [14, 15, 16, 19, 22];

/// The version used when none is asked for.
pub const DEFAULT: u32 = 19;

/// An LLVM as the user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Debian's, by major version.
    Number(u32),
    /// The one that this `opt` belongs to.
    Opt(PathBuf),
}

/// An LLVM that is installed and supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llvm {
    /// Major version.
    pub major: u32,
    /// Whole version, for example `16.0.6`.
    pub version: String,
    /// The optimiser.
    pub opt: PathBuf,
    /// The compiler of the same version, if it is there.
    pub clang: Option<PathBuf>,
    /// What tells where headers and libraries are.
    pub llvm_config: PathBuf,
    /// The folder with the other tools (`FileCheck`, `llvm-dis`, ...).
    pub bindir: PathBuf,
    /// Changes whenever the code that a plugin is loaded into changes: files, sizes and times.
    pub build_id: String,
}

impl FromStr for Which {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Which, Self::Err> {
        Ok(match text.parse() {
            Ok(number) => Which::Number(number),
            Err(_) => Which::Opt(text.into()),
        })
    }
}

impl Llvm {
    /// Finds an LLVM and makes sure that its parts fit together.
    pub fn find(which: &Which, llvm_config: Option<&Path>) -> Result<Llvm> {
        let (opt, named) = match which {
            Which::Number(major) if !SUPPORTED.contains(major) => {
                return Err(Error::UnsupportedNumber { major: *major });
            }
            Which::Number(major) => (debian_opt(*major)?, Some(debian_bindir(*major).join("llvm-config"))),
            Which::Opt(path) => (path.clone(), None),
        };
        let version = version_of_opt(&opt)?;
        let major = supported_major(&opt, &version)?;
        let llvm_config = match llvm_config.map(Path::to_owned).or(named) {
            Some(path) => path,
            None => neighbouring_config(&opt, major)?,
        };
        let config = Config::ask(&llvm_config)?;
        if base_version(&config.version) != base_version(&version) {
            return Err(Error::Mismatch {
                opt,
                opt_version: version,
                llvm_config,
                config_version: config.version,
            });
        }
        let clang = find_clang(&opt, &config.bindir, major);
        let build_id = build_id(&opt, &config.libdir)?;
        Ok(Llvm { major, version, opt, clang, llvm_config, bindir: config.bindir, build_id })
    }

    /// Those of [`SUPPORTED`] that Debian's packages have put on this machine.
    pub fn installed() -> Vec<Llvm> {
        SUPPORTED.iter().filter_map(|major| Llvm::find(&Which::Number(*major), None).ok()).collect()
    }

    /// The compiler, or an error that names its package.
    pub fn clang(&self) -> Result<&Path> {
        self.clang.as_deref().ok_or_else(|| Error::NotInstalled {
            major: self.major,
            path: self.bindir.join("clang"),
            package: format!("clang-{}", self.major),
        })
    }

    /// Another tool of this LLVM, such as `FileCheck`.
    pub fn tool(&self, name: &str) -> PathBuf {
        self.bindir.join(name)
    }
}

/// The supported versions in words.
pub fn supported_list() -> String {
    let (last, first) = SUPPORTED.split_last().expect("at least one version is supported");
    let first: Vec<_> = first.iter().map(u32::to_string).collect();
    format!("{} and {last}", first.join(", "))
}

fn debian_bindir(major: u32) -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{major}/bin"))
}

fn debian_opt(major: u32) -> Result<PathBuf> {
    let path = debian_bindir(major).join("opt");
    if path.exists() {
        return Ok(path);
    }
    Err(Error::NotInstalled { major, path, package: format!("llvm-{major}") })
}

/// What `llvm-config` says.
struct Config {
    version: String,
    bindir: PathBuf,
    libdir: PathBuf,
}

impl Config {
    fn ask(llvm_config: &Path) -> Result<Config> {
        let task = Task::new(llvm_config).args(["--version", "--bindir", "--libdir"]);
        let outcome = task.timeout(PATIENCE).run()?;
        let said = outcome.stdout_text();
        let mut lines = said.lines().map(str::to_owned);
        match (outcome.exit.success(), lines.next(), lines.next(), lines.next()) {
            (true, Some(version), Some(bindir), Some(libdir)) => {
                Ok(Config { version, bindir: bindir.into(), libdir: libdir.into() })
            }
            _ => Err(Error::NotLlvm {
                program: llvm_config.to_owned(),
                expected: "llvm-config",
                said: first_line(&said, &outcome.stderr_text()),
            }),
        }
    }
}

/// How long a program may think about its version before it is taken for something else.
const PATIENCE: Duration = Duration::from_secs(30);

fn version_of_opt(opt: &Path) -> Result<String> {
    let outcome = Task::new(opt).arg("--version").timeout(PATIENCE).run()?;
    let said = outcome.stdout_text();
    parse_version(&said).ok_or_else(|| Error::NotLlvm {
        program: opt.to_owned(),
        expected: "opt",
        said: first_line(&said, &outcome.stderr_text()),
    })
}

fn first_line(stdout: &str, stderr: &str) -> String {
    let line = stdout.lines().chain(stderr.lines()).find(|line| !line.trim().is_empty());
    match line {
        Some(line) => format!("asked for its version it says {:?}", line.trim()),
        None => "asked for its version it says nothing".to_owned(),
    }
}

/// Vendors put their name in front: `Debian LLVM version 14.0.6`.
fn parse_version(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.contains("LLVM version "))?;
    let version = line.split("LLVM version ").nth(1)?.split_whitespace().next()?;
    version.starts_with(|c: char| c.is_ascii_digit()).then(|| version.to_owned())
}

fn supported_major(opt: &Path, version: &str) -> Result<u32> {
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    major
        .filter(|major| SUPPORTED.contains(major))
        .ok_or_else(|| Error::UnsupportedOpt { opt: opt.to_owned(), version: version.to_owned() })
}

/// `19.1.7git-abc` and `19.1.7` are the same release: builds spell the suffix differently.
fn base_version(version: &str) -> &str {
    let end = version.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(version.len());
    &version[..end]
}

/// The `llvm-config` of a user's build: beside `opt` as it was named, then beside the file it links to.
fn neighbouring_config(opt: &Path, major: u32) -> Result<PathBuf> {
    let mut tried = Vec::new();
    for place in [Some(opt.to_owned()), fs::canonicalize(opt).ok()].into_iter().flatten() {
        let folder = place.parent().unwrap_or(Path::new(""));
        let suffix =
            place.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("opt"));
        tried.extend(suffix.map(|suffix| folder.join(format!("llvm-config{suffix}"))));
        tried.push(folder.join("llvm-config"));
        tried.push(folder.join(format!("llvm-config-{major}")));
        tried.push(folder.join("../bin/llvm-config"));
    }
    let mut seen = std::collections::HashSet::new();
    tried.retain(|path| seen.insert(path.clone()));
    match tried.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(Error::NoLlvmConfig { opt: opt.to_owned(), tried }),
    }
}

fn find_clang(opt: &Path, bindir: &Path, major: u32) -> Option<PathBuf> {
    let beside = opt.parent().unwrap_or(Path::new(""));
    [beside, bindir]
        .iter()
        .flat_map(|folder| [folder.join("clang"), folder.join(format!("clang-{major}"))])
        .find(|path| path.is_file())
}

/// `opt` itself, which holds all of LLVM if it is linked statically, and the libraries it may load.
fn build_id(opt: &Path, libdir: &Path) -> Result<String> {
    let mut files = vec![opt.to_owned()];
    if let Ok(entries) = fs::read_dir(libdir) {
        let shared = |name: &str| {
            let rest = name.strip_prefix("libLLVM").unwrap_or("?");
            rest.starts_with(['-', '.']) && rest.contains(".so")
        };
        let paths = entries.flatten().map(|entry| entry.path());
        files.extend(paths.filter(|path| path.file_name().and_then(|n| n.to_str()).is_some_and(shared)));
    }
    let mut parts = Vec::new();
    for file in files {
        let read = |reason| Error::Read { path: file.clone(), reason };
        let target = fs::canonicalize(&file).map_err(read)?;
        let meta = fs::metadata(&target).map_err(read)?;
        let time = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let nanos = time.map_or(0, |time| time.as_nanos());
        parts.push(format!("{}:{}:{nanos}", target.display(), meta.len()));
    }
    parts.sort();
    parts.dedup();
    Ok(parts.join(";"))
}

#[cfg(test)]
impl Llvm {
    /// One that is not there, for tests that only look at its description.
    pub(crate) fn nowhere() -> Llvm {
        Llvm {
            major: 16,
            version: "16.0.6".into(),
            opt: "/opt".into(),
            clang: None,
            llvm_config: "/llvm-config".into(),
            bindir: "/".into(),
            build_id: "libLLVM:1:2".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Stdin;

    /// Written by a child: a thread of ours that forks meanwhile would otherwise hold the file open for
    /// writing, and nobody could start it ("text file busy").
    fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
        let path = folder.join(name);
        let write = Task::new("sh").args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(&path);
        let text = format!("#!/bin/sh\n{body}\n").into_bytes();
        assert!(write.stdin(Stdin::Bytes(text)).run().unwrap().exit.success());
        path
    }

    fn fake_opt(folder: &Path, version: &str) -> PathBuf {
        script(folder, "opt", &format!("echo 'LLVM (http://llvm.org/):'; echo '  LLVM version {version}'"))
    }

    fn fake_config(folder: &Path, name: &str, version: &str) -> PathBuf {
        let here = folder.display();
        script(folder, name, &format!("printf '%s\\n' {version} {here} {here}"))
    }

    fn find(opt: &Path) -> Result<Llvm> {
        Llvm::find(&Which::Opt(opt.to_owned()), None)
    }

    #[test]
    fn versions_are_read_from_all_spellings() {
        assert_eq!(parse_version("Debian LLVM version 14.0.6\n  Optimized").as_deref(), Some("14.0.6"));
        assert_eq!(parse_version("LLVM (x):\n  LLVM version 19.1.7git\n").as_deref(), Some("19.1.7git"));
        assert_eq!(parse_version("Debian clang version 16.0.6"), None);
        assert_eq!(parse_version(""), None);
        assert_eq!(base_version("19.1.7git-0ab"), "19.1.7");
    }

    #[test]
    fn a_number_or_a_path() {
        assert_eq!("16".parse(), Ok(Which::Number(16)));
        assert_eq!("./opt".parse(), Ok(Which::Opt("./opt".into())));
    }

    #[test]
    fn a_build_of_ones_own_is_found_with_its_neighbours() {
        let folder = tempfile::tempdir().unwrap();
        let opt = fake_opt(folder.path(), "19.1.7git");
        fake_config(folder.path(), "llvm-config", "19.1.7");
        let clang = script(folder.path(), "clang", "true");
        let llvm = find(&opt).unwrap();
        assert_eq!((llvm.major, llvm.version.as_str()), (19, "19.1.7git"));
        assert_eq!(llvm.llvm_config, folder.path().join("llvm-config"));
        assert_eq!(llvm.clang, Some(clang));
    }

    #[test]
    fn another_build_has_another_id() {
        let folder = tempfile::tempdir().unwrap();
        let opt = fake_opt(folder.path(), "16.0.6");
        fake_config(folder.path(), "llvm-config", "16.0.6");
        let before = find(&opt).unwrap().build_id;
        assert_eq!(before, find(&opt).unwrap().build_id);
        fs::write(folder.path().join("libLLVM-16.so.1"), "library").unwrap();
        fs::write(folder.path().join("libLLVMCore.a"), "not loaded").unwrap();
        let after = find(&opt).unwrap().build_id;
        assert_ne!(before, after);
        assert!(after.contains("libLLVM-16.so.1") && !after.contains("libLLVMCore"), "{after}");
    }

    #[test]
    fn an_unsupported_opt_says_what_it_is_and_what_is_supported() {
        let folder = tempfile::tempdir().unwrap();
        let opt = fake_opt(folder.path(), "17.0.6");
        let error = find(&opt).unwrap_err().to_string();
        let expected = format!(
            "{} is of LLVM 17.0.6, which is not supported; supported are 14, 15, 16, 19 and 22",
            opt.display()
        );
        assert_eq!(error, expected);
        let error = Llvm::find(&Which::Number(17), None).unwrap_err().to_string();
        assert_eq!(error, "LLVM 17 is not supported; supported are 14, 15, 16, 19 and 22");
    }

    #[test]
    fn a_program_that_is_not_opt_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let other = script(folder.path(), "opt", "echo GNU something 1.0");
        let error = find(&other).unwrap_err().to_string();
        assert!(
            error.ends_with(r#"is not LLVM's opt: asked for its version it says "GNU something 1.0""#),
            "{error}"
        );
        let error = find(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(error.starts_with("cannot start "), "{error}");
    }

    #[test]
    fn a_missing_or_mismatching_llvm_config_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let opt = fake_opt(folder.path(), "16.0.6");
        let error = find(&opt).unwrap_err().to_string();
        assert!(
            error.starts_with("no llvm-config for ") && error.ends_with("give it with --llvm-config"),
            "{error}"
        );
        let config = fake_config(folder.path(), "llvm-config", "19.1.7");
        let error = find(&opt).unwrap_err().to_string();
        let expected =
            format!("{} is of LLVM 16.0.6, but {} is of LLVM 19.1.7", opt.display(), config.display());
        assert_eq!(error, expected);
    }

    #[test]
    fn the_given_llvm_config_wins() {
        let folder = tempfile::tempdir().unwrap();
        let opt = fake_opt(folder.path(), "16.0.6");
        fake_config(folder.path(), "llvm-config", "19.1.7");
        let given = fake_config(folder.path(), "my-config", "16.0.6");
        let llvm = Llvm::find(&Which::Opt(opt), Some(&given)).unwrap();
        assert_eq!(llvm.llvm_config, given);
    }

    #[test]
    fn suffixes_go_together() {
        let folder = tempfile::tempdir().unwrap();
        let opt = folder.path().join("opt-16");
        fs::rename(fake_opt(folder.path(), "16.0.6"), &opt).unwrap();
        fake_config(folder.path(), "llvm-config", "19.1.7");
        let config = fake_config(folder.path(), "llvm-config-16", "16.0.6");
        assert_eq!(find(&opt).unwrap().llvm_config, config);
    }
}
