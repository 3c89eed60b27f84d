//! LLVM's sources from Debian's source packages, in the cache; fetched once, then used offline.
//!
//! apt is given a private list of sources and private state: the system's own has usually no `deb-src`
//! entries, and adding some beside it fails ("conflicting values for Signed-By"). The archive is kept, and
//! each set of members that somebody asks for is unpacked from it once.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::install::expect;
use crate::process::Task;
use crate::{Error, Notice, Result, atomic, cache};

/// The versions whose source package Debian 12 has.
pub const AVAILABLE: [u32; 4] = [14, 15, 16, 19];

/// Unpacks some members of LLVM's source package and gives the folder that has `llvm/` in it.
///
/// `members` are shell patterns below the package's root, such as `llvm/test/Transforms/*`.
pub fn fetch(major: u32, members: &[&str], notice: Notice<'_>) -> Result<PathBuf> {
    let package = format!("llvm-toolchain-{major}");
    if !AVAILABLE.contains(&major) {
        let reason = "Debian 12 has those of 14, 15, 16 and 19".to_owned();
        return Err(Error::NoSource { package, reason });
    }
    let folder = cache::folder()?.join("sources").join(major.to_string());
    let unpacked = folder.join(format!("tree-{:016x}", hash_of(members)));
    if unpacked.is_dir() {
        return Ok(unpacked);
    }
    atomic::create_folder(&folder)?;
    let _lock = cache::Lock::take(&folder.join("lock"))?;
    if !unpacked.is_dir() {
        let archive = archive(&folder, &package, notice)?;
        notice(&format!("unpacking {}", members.join(" ")));
        atomic::fill_folder(&unpacked, |temporary| unpack(&archive, members, temporary))?;
    }
    Ok(unpacked)
}

/// The order in which members are asked for does not matter.
fn hash_of(members: &[&str]) -> u64 {
    let mut members = members.to_vec();
    members.sort_unstable();
    let mut hasher = DefaultHasher::new();
    members.hash(&mut hasher);
    hasher.finish()
}

/// The upstream archive, downloaded unless it is there. The caller has the lock.
fn archive(folder: &Path, package: &str, notice: Notice<'_>) -> Result<PathBuf> {
    let download = folder.join("package");
    if !download.is_dir() {
        notice(&format!("downloading the source package {package} (about 160 MB)"));
        atomic::fill_folder(&download, |temporary| fetch_package(temporary, package))?;
    }
    let is_archive = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(package) && name.ends_with(".orig.tar.xz")
    };
    let entries = fs::read_dir(&download).map_err(|reason| Error::Read { path: download.clone(), reason })?;
    let found = entries.flatten().map(|entry| entry.path()).find(|path| is_archive(path));
    found.ok_or_else(|| Error::NoSource {
        package: package.to_owned(),
        reason: format!("no .orig.tar.xz in {}", download.display()),
    })
}

fn fetch_package(folder: &Path, package: &str) -> Result<()> {
    let private = folder.join("apt");
    atomic::create_folder(&private.join("lists/partial"))?;
    let list = private.join("metaloc.sources");
    atomic::write(&list, source_entries(Path::new("/etc/apt"))?.as_bytes())?;
    expect(private_apt(&private).arg("update"))?;
    let source = private_apt(&private).args(["source", "--download-only", package]).cwd(folder);
    expect(source).map_err(|error| match error {
        Error::Failed { said, .. } => Error::NoSource { package: package.to_owned(), reason: said },
        other => other,
    })?;
    fs::remove_dir_all(&private).map_err(|reason| Error::Write { path: private, reason })
}

fn private_apt(private: &Path) -> Task {
    let option = |name: &str, value: &Path| format!("{name}={}", value.display());
    let options = [
        option("Dir::Etc::sourcelist", &private.join("metaloc.sources")),
        option("Dir::Etc::sourceparts", Path::new("/dev/null")),
        option("Dir::State::lists", &private.join("lists")),
        // Without these apt would rewrite the system's caches for our lists.
        option("Dir::Cache::pkgcache", Path::new("")),
        option("Dir::Cache::srcpkgcache", Path::new("")),
        // The user that apt downloads as may not write into somebody's cache folder.
        "APT::Sandbox::User=root".to_owned(),
    ];
    let options = options.into_iter().flat_map(|option| ["-o".to_owned(), option]);
    Task::new("apt-get").args(options).env("LC_ALL", "C")
}

fn unpack(archive: &Path, members: &[&str], folder: &Path) -> Result<()> {
    let patterns = members.iter().map(|member| format!("*/{member}"));
    let task = Task::new("tar").arg("-xJf").arg(archive).arg("-C").arg(folder);
    let task = task.args(["--strip-components=1", "--no-same-owner", "--wildcards"]);
    expect(task.args(patterns)).map(drop)
}

/// `deb-src` entries for every Debian archive that the system has `deb` entries for, in apt's deb822 form.
fn source_entries(etc_apt: &Path) -> Result<String> {
    let mut files = vec![etc_apt.join("sources.list")];
    if let Ok(entries) = fs::read_dir(etc_apt.join("sources.list.d")) {
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let mut stanzas = Vec::new();
    for file in files {
        let extension = file.extension().and_then(|extension| extension.to_str());
        let read = || fs::read_to_string(&file).unwrap_or_default();
        match extension {
            Some("sources") => stanzas.extend(from_deb822(&read())),
            Some("list") => stanzas.extend(from_one_line(&read())),
            _ => {}
        }
    }
    if stanzas.is_empty() {
        let reason = format!("{} has no entry for a Debian archive", etc_apt.display());
        return Err(Error::NoSource { package: "llvm-toolchain".to_owned(), reason });
    }
    Ok(stanzas.join("\n"))
}

/// Other vendors' archives have no source packages of LLVM and would only slow the update down.
fn is_debian(uris: &str) -> bool {
    uris.split_whitespace()
        .any(|uri| uri.trim_end_matches('/').split('/').any(|part| part.starts_with("debian")))
}

fn from_deb822(text: &str) -> Vec<String> {
    let uncommented: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let stanzas = uncommented.split(|line| line.trim().is_empty()).filter(|stanza| !stanza.is_empty());
    stanzas.filter_map(deb822_stanza).collect()
}

fn deb822_stanza(lines: &[&str]) -> Option<String> {
    let field = |name: &str| {
        lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let binary = field("Types")?.split_whitespace().any(|kind| kind == "deb");
    let enabled = field("Enabled").is_none_or(|value| !value.eq_ignore_ascii_case("no"));
    if !(binary && enabled && is_debian(field("URIs")?)) {
        return None;
    }
    // Everything else stays as it is, keys that go over several lines included.
    let mut stanza = String::from("Types: deb-src\n");
    for line in lines.iter().filter(|line| !line.to_ascii_lowercase().starts_with("types:")) {
        stanza += line;
        stanza.push('\n');
    }
    Some(stanza)
}

/// `deb [signed-by=KEY arch=amd64] URI SUITE COMPONENT...`
fn from_one_line(text: &str) -> Vec<String> {
    let entry = |line: &str| {
        let rest = line.trim().strip_prefix("deb ")?.trim();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let (uri, suite) = (words.next()?, words.next()?);
        let components = words.collect::<Vec<_>>().join(" ");
        let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
        let signed_by = signed_by.map(|key| format!("Signed-By: {key}\n")).unwrap_or_default();
        is_debian(uri).then(|| {
            format!("Types: deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {components}\n{signed_by}")
        })
    };
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEB822: &str = "Types: deb\n# a snapshot\nURIs: http://deb.example/debian\nSuites: bookworm bookworm-updates\n\
                          Components: main\nSigned-By: /usr/share/keyrings/debian.gpg\n\n\
                          Types: deb\nURIs: http://other.example/tools\nSuites: stable\nComponents: main\n\n\
                          Enabled: no\nTypes: deb\nURIs: http://deb.example/debian\nSuites: sid\nComponents: main\n";

    #[test]
    fn deb822_entries_become_source_entries_of_debian_only() {
        let expected = "Types: deb-src\nURIs: http://deb.example/debian\nSuites: bookworm bookworm-updates\n\
                        Components: main\nSigned-By: /usr/share/keyrings/debian.gpg\n";
        assert_eq!(from_deb822(DEB822), [expected]);
    }

    #[test]
    fn one_line_entries_become_source_entries() {
        let list = "# deb http://deb.example/debian old main\n\
                    deb [arch=amd64 signed-by=/k.gpg] http://deb.example/debian-security bookworm-security main contrib\n\
                    deb-src http://deb.example/debian bookworm main\ndeb http://other.example/x stable main\n";
        let expected = "Types: deb-src\nURIs: http://deb.example/debian-security\nSuites: bookworm-security\n\
                        Components: main contrib\nSigned-By: /k.gpg\n";
        assert_eq!(from_one_line(list), [expected]);
    }

    #[test]
    fn a_system_without_debian_entries_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let error = source_entries(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has no entry for a Debian archive"), "{error}");
        fs::create_dir(folder.path().join("sources.list.d")).unwrap();
        fs::write(folder.path().join("sources.list.d/debian.sources"), DEB822).unwrap();
        fs::write(folder.path().join("sources.list.d/debian.sources.off"), "garbage").unwrap();
        assert!(source_entries(folder.path()).unwrap().starts_with("Types: deb-src\n"));
    }

    #[test]
    fn a_version_without_source_package_is_said_at_once() {
        let error = fetch(22, &["llvm/test/*"], &|_| panic!("nothing to say")).unwrap_err();
        assert!(matches!(error, Error::NoSource { .. }), "{error}");
    }

    #[test]
    fn only_the_members_asked_for_are_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("root-1/llvm");
        fs::create_dir_all(tree.join("test/Transforms")).unwrap();
        fs::write(tree.join("test/Transforms/a.ll"), "a").unwrap();
        fs::write(tree.join("other"), "b").unwrap();
        let archive = folder.path().join("x.orig.tar.xz");
        let pack = Task::new("tar").arg("-cJf").arg(&archive).arg("-C").arg(folder.path()).arg("root-1");
        assert!(pack.run().unwrap().exit.success());
        let out = folder.path().join("out");
        atomic::fill_folder(&out, |temporary| unpack(&archive, &["llvm/test/Transforms/*"], temporary))
            .unwrap();
        assert_eq!(fs::read_to_string(out.join("llvm/test/Transforms/a.ll")).unwrap(), "a");
        assert!(!out.join("llvm/other").exists());
        assert_eq!(hash_of(&["a", "b"]), hash_of(&["b", "a"]));
    }
}
