//! Everything that can go wrong with a tool. A message names the file or program and the reason.

use std::io;
use std::path::PathBuf;

use crate::process::Exit;

/// Why a tool could not be found, run or built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started at all.
    #[error("cannot start {program}: {reason}")]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The program was started and could not be waited for, or its pipes could not be read.
    #[error("lost track of {program}: {reason}")]
    Wait {
        /// What was started.
        program: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The user pressed ctrl-C, or the process was told to end.
    #[error("interrupted")]
    Interrupted,
    /// A tool that should not fail did.
    #[error("{command}: {exit}{}{}", if .said.is_empty() { "" } else { "\n" }, .said)]
    Failed {
        /// The command line.
        command: String,
        /// How it ended.
        exit: Exit,
        /// The end of what it printed.
        said: String,
    },
    /// A file could not be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write {path}: {reason}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// There is no place for the cache.
    #[error("no cache folder: set METALOC_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A supported LLVM that is not there.
    #[error(
        "LLVM {major} is not installed: {path} comes with the package {package} (metaloc toolchain add {major})"
    )]
    NotInstalled {
        /// Which LLVM.
        major: u32,
        /// The file that was looked for.
        path: PathBuf,
        /// The Debian package that has it.
        package: String,
    },
    /// A version number that is not supported.
    #[error("LLVM {major} is not supported; supported are {}", crate::llvm::supported_list())]
    UnsupportedNumber {
        /// What was asked for.
        major: u32,
    },
    /// An `opt` of a version that is not supported.
    #[error(
        "{opt} is of LLVM {version}, which is not supported; supported are {}",
        crate::llvm::supported_list()
    )]
    UnsupportedOpt {
        /// The program.
        opt: PathBuf,
        /// Its version.
        version: String,
    },
    /// A program that is not `opt`.
    #[error("{program} is not LLVM's {expected}: {said}")]
    NotLlvm {
        /// The program.
        program: PathBuf,
        /// What it should be.
        expected: &'static str,
        /// What it said when asked for its version.
        said: String,
    },
    /// No `llvm-config` near an `opt`.
    #[error(
        "no llvm-config for {opt}: looked for {}; give it with --llvm-config",
        .tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoLlvmConfig {
        /// The `opt`.
        opt: PathBuf,
        /// Where it was looked for.
        tried: Vec<PathBuf>,
    },
    /// `opt` and `llvm-config` are of different versions.
    #[error("{opt} is of LLVM {opt_version}, but {llvm_config} is of LLVM {config_version}")]
    Mismatch {
        /// The `opt`.
        opt: PathBuf,
        /// Its version.
        opt_version: String,
        /// The `llvm-config`.
        llvm_config: PathBuf,
        /// Its version.
        config_version: String,
    },
    /// The headers that the plugin is built with are not there.
    #[error("the headers of LLVM {version} are missing: {path} comes with the package llvm-{major}-dev")]
    NoHeaders {
        /// Major version.
        major: u32,
        /// Whole version.
        version: String,
        /// The header that was looked for.
        path: PathBuf,
    },
    /// The sources of the plugin are not where this program was built.
    #[error(
        "the sources of metaloc are not at {root}: start it with the script ./metaloc, or set METALOC_ROOT"
    )]
    NoRoot {
        /// Where they were looked for.
        root: PathBuf,
    },
    /// The plugin did not build.
    #[error("cannot build the plugin for LLVM {version}: {exit}\n{said}")]
    PluginBuild {
        /// Version of LLVM.
        version: String,
        /// How cargo ended.
        exit: Exit,
        /// The end of what cargo printed.
        said: String,
    },
    /// apt has no such package.
    #[error("the package {package} is not available: {said}")]
    NoPackage {
        /// The package.
        package: String,
        /// What apt said.
        said: String,
    },
    /// Installing needs rights that we do not have.
    #[error("installing needs root: run {command}")]
    NotRoot {
        /// What root would have to run.
        command: String,
    },
    /// The source package has not what was asked for.
    #[error("the source package {package} is not available: {reason}")]
    NoSource {
        /// Name of the source package.
        package: String,
        /// Why not.
        reason: String,
    },
}
