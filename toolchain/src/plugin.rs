//! The plugin, built once per LLVM and kept in the cache.
//!
//! Its place in the cache is named by a hash of everything that it is made from: our sources, the version
//! and place of LLVM, and the very build of LLVM. A stale or mismatching plugin is therefore never found;
//! it is simply not there and gets built. The sources are hashed at every call: they are a few hundred
//! kilobytes, which takes some milliseconds and cannot be wrong as a time stamp can.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use crate::llvm::Llvm;
use crate::process::Task;
use crate::{Error, Notice, Result, atomic, cache};

/// Name of the library.
pub const LIBRARY: &str = "libmetaloc_hooks.so";

const CRATE: &str = "metaloc-runtime-hooks";

/// What the plugin is made from, relative to the root.
const INGREDIENTS: [&str; 7] =
    ["Cargo.lock", "Cargo.toml", "runtime-hooks", "analyzer", "picture", "record", "report"];

/// Folders in them that do not go into the library.
const NOT_BUILT: [&str; 5] = ["tests", "benches", "schemas", "snapshots", "target"];

/// The folder with the workspace: `$METALOC_ROOT`, which the script `./metaloc` sets, or where this crate was
/// compiled.
pub fn root() -> Result<PathBuf> {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = env::var_os("METALOC_ROOT").map(PathBuf::from).unwrap_or(compiled);
    match fs::canonicalize(&root) {
        Ok(root) if root.join("runtime-hooks/Cargo.toml").is_file() => Ok(root),
        _ => Err(Error::NoRoot { root }),
    }
}

/// The library for an LLVM. Builds it if it is not in the cache, after saying so.
pub fn path(llvm: &Llvm, notice: Notice<'_>) -> Result<PathBuf> {
    let root = root()?;
    let cache = cache::folder()?;
    let library = place(&root, &cache, llvm)?;
    if library.is_file() {
        cache::used(&library);
        return Ok(library);
    }
    check_headers(llvm)?;
    // What two builds share is the target folder: other checkouts need not wait.
    let target = root.join("target");
    atomic::create_folder(&target)?;
    let _lock = cache::Lock::take(&target.join("plugin.lock"))?;
    if !library.is_file() {
        notice(&format!("building the plugin for LLVM {} (once)", llvm.version));
        build(&root, &target, llvm, &library)?;
        cache::prune(&cache.join("plugins"), LIBRARY);
    }
    Ok(library)
}

fn place(root: &Path, cache: &Path, llvm: &Llvm) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    for ingredient in INGREDIENTS {
        hash_path(&mut hasher, root, Path::new(ingredient))?;
    }
    for fact in [&*llvm.llvm_config.to_string_lossy(), &llvm.version, &llvm.build_id] {
        hash_bytes(&mut hasher, fact.as_bytes());
    }
    let folder = format!("{}-{:016x}", llvm.version, hasher.finish());
    Ok(cache.join("plugins").join(folder).join(LIBRARY))
}

fn hash_path(hasher: &mut DefaultHasher, root: &Path, relative: &Path) -> Result<()> {
    let path = root.join(relative);
    let failed = |reason| Error::Read { path: path.clone(), reason };
    if !fs::metadata(&path).map_err(failed)?.is_dir() {
        hash_bytes(hasher, relative.as_os_str().as_encoded_bytes());
        hash_bytes(hasher, &fs::read(&path).map_err(failed)?);
        return Ok(());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    // The order of a folder's entries is not the same on two machines.
    names.sort();
    for name in names {
        if !NOT_BUILT.iter().any(|skipped| name == *skipped) {
            hash_path(hasher, root, &relative.join(name))?;
        }
    }
    Ok(())
}

/// With the length first, so that no two lists of strings give the same bytes.
fn hash_bytes(hasher: &mut DefaultHasher, bytes: &[u8]) {
    hasher.write_usize(bytes.len());
    hasher.write(bytes);
}

/// Asked before the compiler is, whose message would be long and would not name the package.
fn check_headers(llvm: &Llvm) -> Result<()> {
    let outcome = Task::new(&llvm.llvm_config).arg("--includedir").run()?;
    let path = Path::new(outcome.stdout_text().trim()).join("llvm/IR/Instruction.h");
    if path.is_file() {
        return Ok(());
    }
    Err(Error::NoHeaders { major: llvm.major, version: llvm.version.clone(), path })
}

/// All LLVMs share the workspace's own target folder, so that the Rust dependencies are compiled once, for the
/// command line too. A folder shared by several checkouts would not do: cargo tells workspace members apart
/// by their path within the workspace only. The caller has the lock.
fn build(root: &Path, target: &Path, llvm: &Llvm, library: &Path) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let outcome = Task::new(cargo)
        .args(["build", "--release", "--locked", "--package", CRATE, "--target-dir"])
        .arg(target)
        .env("METALOC_LLVM_CONFIG", &llvm.llvm_config)
        .env_remove("CARGO_TARGET_DIR")
        .cwd(root)
        .run()?;
    if !outcome.exit.success() {
        let said = last_lines(&outcome.stderr_text(), 30);
        return Err(Error::PluginBuild { version: llvm.version.clone(), exit: outcome.exit, said });
    }
    if let Some(folder) = library.parent() {
        atomic::create_folder(folder)?;
    }
    atomic::copy(&target.join("release").join(LIBRARY), library)
}

/// The end of a long text: that is where the error is.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<_> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(folder: &Path) {
        for ingredient in INGREDIENTS {
            let path = folder.join(ingredient);
            if ingredient.contains('.') {
                fs::write(path, ingredient).unwrap();
            } else {
                fs::create_dir_all(path.join("src")).unwrap();
                fs::write(path.join("src/lib.rs"), ingredient).unwrap();
            }
        }
    }

    #[test]
    fn a_change_of_any_ingredient_moves_the_plugin() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        workspace(root);
        let cache = Path::new("/cache");
        let mut seen = vec![place(root, cache, &Llvm::nowhere()).unwrap()];
        assert!(seen[0].starts_with("/cache/plugins") && seen[0].ends_with(LIBRARY));
        assert_eq!(place(root, cache, &Llvm::nowhere()).unwrap(), seen[0]);
        for changed in ["Cargo.lock", "runtime-hooks/src/lib.rs", "analyzer/src/lib.rs", "record/src/new.rs"]
        {
            fs::write(root.join(changed), "changed").unwrap();
            seen.push(place(root, cache, &Llvm::nowhere()).unwrap());
        }
        seen.push(place(root, cache, &Llvm { build_id: "libLLVM:1:3".into(), ..Llvm::nowhere() }).unwrap());
        seen.push(place(root, cache, &Llvm { llvm_config: "/other".into(), ..Llvm::nowhere() }).unwrap());
        seen.push(place(root, cache, &Llvm { version: "16.0.7".into(), ..Llvm::nowhere() }).unwrap());
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    /// Or a change of it would leave a stale plugin in use.
    #[test]
    fn every_crate_that_the_plugin_is_linked_from_is_an_ingredient() {
        let root = root().unwrap();
        let (mut open, mut seen) = (vec!["runtime-hooks".to_owned()], Vec::new());
        while let Some(folder) = open.pop() {
            let manifest = fs::read_to_string(root.join(&folder).join("Cargo.toml")).unwrap();
            let built = manifest.split("[dev-dependencies]").next().unwrap();
            let ours = built.lines().filter_map(|line| line.strip_prefix("metaloc-")?.split('.').next());
            open.extend(ours.map(str::to_owned));
            assert!(INGREDIENTS.contains(&folder.as_str()), "{folder}");
            seen.push(folder);
        }
        assert!(seen.contains(&"picture".to_owned()), "the walk ended early: {seen:?}");
    }

    #[test]
    fn what_is_not_built_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        workspace(folder.path());
        let before = place(folder.path(), Path::new("/cache"), &Llvm::nowhere()).unwrap();
        fs::create_dir(folder.path().join("analyzer/tests")).unwrap();
        fs::write(folder.path().join("analyzer/tests/new.rs"), "test").unwrap();
        fs::write(folder.path().join("README.md"), "text").unwrap();
        assert_eq!(place(folder.path(), Path::new("/cache"), &Llvm::nowhere()).unwrap(), before);
    }

    #[test]
    fn missing_headers_are_named_with_their_package() {
        let llvm = Llvm { llvm_config: "/bin/echo".into(), ..Llvm::nowhere() };
        let error = check_headers(&llvm).unwrap_err().to_string();
        assert!(error.starts_with("the headers of LLVM 16.0.6 are missing: "), "{error}");
        assert!(error.ends_with("comes with the package llvm-16-dev"), "{error}");
    }

    #[test]
    fn the_end_of_a_long_text() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }
}
