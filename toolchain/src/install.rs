//! Debian's packages of LLVM: which are there, which can be had, what they cost, and getting them.

use std::path::Path;

use crate::llvm::{Llvm, SUPPORTED, Which};
use crate::plugin::last_lines;
use crate::process::{Outcome, Stdin, Task};
use crate::{Error, Notice, Result};

/// What is known of one supported LLVM.
#[derive(Debug)]
pub struct Entry {
    /// Major version.
    pub major: u32,
    /// Whether it is there.
    pub state: State,
}

/// Whether an LLVM is there.
#[derive(Debug)]
pub enum State {
    /// It is, with all its packages.
    Installed(Llvm),
    /// It is not, or not with all its packages, and apt has what is missing.
    Installable {
        /// The version that would be installed, as Debian writes it.
        version: String,
        /// What that takes.
        cost: Cost,
    },
    /// It is not, and cannot be had.
    Unavailable(Error),
}

/// What an installation takes, in apt's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// For example `86.9 MB`.
    pub download: String,
    /// For example `580 MB`.
    pub disk: String,
}

/// The packages of one LLVM: `llvm-N` has `opt-N`, `-dev` the headers for the plugin, and clang compiles inputs.
pub fn packages(major: u32) -> [String; 3] {
    [format!("llvm-{major}"), format!("llvm-{major}-dev"), format!("clang-{major}")]
}

/// All supported LLVMs. Changes nothing and needs no rights.
pub fn list() -> Vec<Entry> {
    let entry = |major| Entry { major, state: state(major) };
    SUPPORTED.into_iter().map(entry).collect()
}

/// Installs one LLVM; says what it costs first. Does nothing if it is there.
pub fn add(major: u32, notice: Notice<'_>) -> Result<Llvm> {
    if !SUPPORTED.contains(&major) {
        return Err(Error::UnsupportedNumber { major });
    }
    if let Some(llvm) = installed(major) {
        return Ok(llvm);
    }
    let packages = packages(major);
    let cost = match plan(&packages) {
        Ok(cost) => cost,
        // Package lists may be missing or old: a fresh container has none.
        Err(Error::NoPackage { .. }) => {
            notice("bringing apt's package lists up to date");
            expect(apt_get(["update"]))?;
            plan(&packages)?
        }
        Err(error) => return Err(error),
    };
    let Cost { download, disk } = &cost;
    notice(&format!("installing {}: {download} to download, {disk} on disk", packages.join(", ")));
    install(&packages)?;
    Llvm::find(&Which::Number(major), None)
}

fn state(major: u32) -> State {
    if let Some(llvm) = installed(major) {
        return State::Installed(llvm);
    }
    let packages = packages(major);
    let known = candidate(&packages[0]).and_then(|version| Ok((version, plan(&packages)?)));
    match known {
        Ok((version, cost)) => State::Installable { version, cost },
        Err(error) => State::Unavailable(error),
    }
}

/// With everything that [`add`] would install.
fn installed(major: u32) -> Option<Llvm> {
    let llvm = Llvm::find(&Which::Number(major), None).ok()?;
    let headers = Path::new("/usr/lib").join(format!("llvm-{major}/include/llvm/IR/Instruction.h"));
    (headers.is_file() && llvm.clang.is_some()).then_some(llvm)
}

fn candidate(package: &str) -> Result<String> {
    let outcome = expect(Task::new("apt-cache").args(["policy", package]).env("LC_ALL", "C"))?;
    let said = outcome.stdout_text();
    let version = said.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
    match version.filter(|version| *version != "(none)") {
        Some(version) => Ok(version.to_owned()),
        None => {
            Err(Error::NoPackage { package: package.to_owned(), said: "apt has no version of it".to_owned() })
        }
    }
}

/// What installing would take: apt asks whether to go on, and is told no.
fn plan(packages: &[String]) -> Result<Cost> {
    let install = ["install", "--assume-no", "--no-install-recommends", "-o", "Debug::NoLocking=1"];
    let outcome = apt_get(install).args(packages).run()?;
    let complaint = outcome.stderr_text();
    if let Some(package) = missing_package(&complaint) {
        return Err(Error::NoPackage { package, said: last_lines(&complaint, 1) });
    }
    let unplanned = || failed("apt-get install --assume-no", &outcome);
    parse_cost(&outcome.stdout_text()).ok_or_else(unplanned)
}

fn install(packages: &[String]) -> Result<()> {
    let task = apt_get(["install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=600"]);
    let task = task.args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    // SAFETY: `geteuid` cannot fail and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return Err(Error::NotRoot { command: task.command_line() });
    }
    expect(task).map(drop)
}

fn apt_get<const N: usize>(args: [&str; N]) -> Task {
    Task::new("apt-get").args(args).env("LC_ALL", "C").stdin(Stdin::Null)
}

/// Runs a tool that has no reason to fail.
pub(crate) fn expect(task: Task) -> Result<Outcome> {
    let outcome = task.run()?;
    if outcome.exit.success() { Ok(outcome) } else { Err(failed(&task.command_line(), &outcome)) }
}

fn failed(command: &str, outcome: &Outcome) -> Error {
    let said = last_lines(&format!("{}\n{}", outcome.stdout_text(), outcome.stderr_text()), 10);
    Error::Failed { command: command.to_owned(), exit: outcome.exit, said }
}

fn missing_package(complaint: &str) -> Option<String> {
    complaint.lines().find_map(|line| {
        let line = line.strip_prefix("E: ")?;
        let located = line.strip_prefix("Unable to locate package ").map(str::to_owned);
        located.or_else(|| {
            let name = line.strip_prefix("Package '")?.split_once("' has no installation candidate")?.0;
            Some(name.to_owned())
        })
    })
}

/// `Need to get 12 MB/86.9 MB of archives.` means that some of it is in apt's cache already.
fn parse_cost(said: &str) -> Option<Cost> {
    let between = |before: &str, after: &str| {
        said.lines().find_map(|line| Some(line.strip_prefix(before)?.split_once(after)?.0.to_owned()))
    };
    let download = between("Need to get ", " of archives.").unwrap_or_else(|| "0 B".to_owned());
    let disk = between("After this operation, ", " of additional disk space will be used.")?;
    let download = download.split('/').next()?.to_owned();
    Some(Cost { download, disk })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_from_what_apt_says() {
        let said = "0 upgraded, 10 newly installed.\nNeed to get 12.0 MB/86.9 MB of archives.\n\
                    After this operation, 580 MB of additional disk space will be used.\nAbort.\n";
        let cost = parse_cost(said).unwrap();
        assert_eq!(cost, Cost { download: "12.0 MB".into(), disk: "580 MB".into() });
        assert_eq!(parse_cost("0 upgraded, 0 newly installed."), None);
    }

    #[test]
    fn missing_packages_are_named() {
        assert_eq!(missing_package("E: Unable to locate package llvm-17\n").as_deref(), Some("llvm-17"));
        let none = "E: Package 'clang-22' has no installation candidate\n";
        assert_eq!(missing_package(none).as_deref(), Some("clang-22"));
        assert_eq!(missing_package("W: something else\n"), None);
    }

    #[test]
    fn an_unsupported_number_installs_nothing() {
        let error = add(17, &|_| panic!("nothing to say")).unwrap_err();
        assert!(matches!(error, Error::UnsupportedNumber { major: 17 }));
    }
}
