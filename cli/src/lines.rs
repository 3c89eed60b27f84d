//! Lines and variables for reports: the source of LLVM, and a pass's file of it compiled anew and swapped in.

use std::collections::HashMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use metaloc_report::pass_names;
use metaloc_source::dwarf;
use metaloc_toolchain::process::{Exit, Stdin, Task};
use metaloc_toolchain::recompile::{self, Finish, Swappable, Unit};
use metaloc_toolchain::{Llvm, atomic, cache, sources};

use crate::observe::complaint;
use crate::output;
use crate::pass;

/// Where the source of an LLVM is, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LlvmSource {
    /// Debian's source package, fetched once.
    Auto,
    /// A checkout: the folder that has `llvm/`.
    Folder(PathBuf),
}

impl FromStr for LlvmSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<LlvmSource, Self::Err> {
        Ok(match text {
            "auto" => LlvmSource::Auto,
            folder => LlvmSource::Folder(folder.into()),
        })
    }
}

/// Where in the source of an LLVM each file of a pass is, by its name; names that several files have are left out.
pub fn paths(llvm: &Llvm, source: &LlvmSource) -> Result<HashMap<String, String>> {
    let lines = Lines::open(llvm, Path::new(""), source)?;
    let mut paths: HashMap<String, Option<String>> = HashMap::new();
    for file in lines.files()? {
        let Some(name) = file.file_name().map(|name| name.display().to_string()) else { continue };
        let inside = file.strip_prefix(&lines.tree).unwrap_or(&file).display().to_string();
        paths.entry(name).and_modify(|path| *path = None).or_insert(Some(inside));
    }
    Ok(paths.into_iter().filter_map(|(name, path)| Some((name, path?))).collect())
}

/// What of the source package holds passes.
const PASSES: [&str; 2] = ["llvm/lib/Transforms/*", "llvm/lib/CodeGen/*"];
/// What of it holds their tests.
const TESTS: [&str; 1] = ["llvm/test/Transforms/*"];

/// The source of one LLVM, ready to have files of it swapped.
#[derive(Debug)]
pub struct Lines<'a> {
    llvm: &'a Llvm,
    plugin: &'a Path,
    tree: PathBuf,
}

impl<'a> Lines<'a> {
    /// Fetches the source if need be.
    pub fn open(llvm: &'a Llvm, plugin: &'a Path, source: &LlvmSource) -> Result<Lines<'a>> {
        let tree = match source {
            LlvmSource::Auto => sources::fetch(llvm.major, &PASSES, &output::complain)?,
            LlvmSource::Folder(folder) => checkout(folder)?,
        };
        Ok(Lines { llvm, plugin, tree })
    }

    /// The libraries to swap for a pass: its file, and what else it is written in.
    pub fn libraries_of_pass(&self, pass: &str) -> Result<OfPass> {
        let mut of_pass = OfPass::default();
        let files = pass_names::files(pass);
        if files.is_empty() {
            of_pass.refused.push(format!("the source file of {pass} is not known"));
        }
        for stem in files {
            match self.file(stem)? {
                Some(file) => match self.library(&file)? {
                    Ok(library) => of_pass.libraries.push(library),
                    Err(refusal) => of_pass.refused.push(refusal.to_string()),
                },
                None => of_pass
                    .refused
                    .push(format!("{stem}.cpp is not in the source of LLVM {}", self.llvm.version)),
            }
        }
        Ok(of_pass)
    }

    /// The source file of this name without suffix.
    pub fn file(&self, stem: &str) -> Result<Option<PathBuf>> {
        let name = format!("{stem}.cpp");
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|file| file == name.as_str());
        Ok(self.files()?.into_iter().find(is_it))
    }

    /// The source files of these names without suffix, and of these passes.
    pub fn named(&self, files: &[String], passes: &[String]) -> Result<Vec<PathBuf>> {
        let mut stems = files.to_vec();
        for pass in pass::resolve_all(self.llvm, passes)? {
            match pass_names::all().find(|row| row.name == pass.name) {
                Some(row) => stems.push(row.source.to_owned()),
                None => bail!("the source file of {} is not known", pass.name),
            }
        }
        stems.dedup();
        let mut found = Vec::new();
        for stem in stems {
            match self.file(&stem)? {
                Some(file) => found.push(file),
                None => bail!("{stem}.cpp is not in the source of LLVM {}", self.llvm.version),
            }
        }
        Ok(found)
    }

    /// All files that passes may be written in, those of transformations first.
    pub fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for folder in ["llvm/lib/Transforms", "llvm/lib/CodeGen"] {
            let folder = self.tree.join(folder);
            if folder.is_dir() {
                let before = files.len();
                collect(&folder, &mut files)?;
                files[before..].sort();
            }
        }
        Ok(files)
    }

    /// A file compiled as a library that can be swapped; if it cannot alone, with its folder, which is one library
    /// whichever of its files was asked for.
    pub fn library(&self, file: &Path) -> Result<Swappable> {
        let alone = self.library_of(Unit::of(file))?;
        let folder = folder_of_one_pass(file)?;
        if alone.is_ok() || folder.len() < 2 {
            return Ok(alone);
        }
        let (first, with) = first_apart(folder);
        self.library_of(Unit { with: &with, ..Unit::of(&first) })
    }

    /// The same of a file that was changed.
    pub fn library_of(&self, unit: Unit<'_>) -> Result<Swappable> {
        Ok(recompile::library(
            self.llvm,
            self.plugin,
            unit,
            &Mapped { lines: self, unit },
            &output::complain,
        )?)
    }

    /// The same of another text in place of a file's, with `prelude` included before it. Reports read the text
    /// again, so it is kept.
    pub fn library_of_text(&self, file: &Path, text: &str, prelude: &str) -> Result<Swappable> {
        let name = file.file_name().unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (file, text, prelude).hash(&mut hasher);
        let place = format!("{}-{:016x}", name.display(), hasher.finish());
        let headers = file.parent();
        let folder = cache::folder()?.join("changed").join(&self.llvm.version).join(place);
        let before = folder.join("prelude.h");
        atomic::fill_folder(&folder, |folder| {
            atomic::write(&folder.join("prelude.h"), prelude.as_bytes())?;
            atomic::write(&folder.join(name), text.as_bytes())
        })?;
        let file = &folder.join(name);
        self.library_of(Unit { headers, prelude: Some(&before), ..Unit::of(file) })
    }

    /// Swaps a library into an `opt` that has nothing to do, and says what is wrong with that.
    fn try_loading(&self, library: &Path) -> metaloc_toolchain::Result<Option<String>> {
        let outcome = Task::new(&self.llvm.opt)
            .arg(format!("-load-pass-plugin={}", self.plugin.display()))
            .args(["-passes=verify", "-disable-output", "-"])
            .stdin(Stdin::Bytes(Vec::new()))
            .env("METALOC_SWAP", library)
            .env_remove("METALOC")
            .env_remove("METALOC_OUT")
            .run()?;
        let said = outcome.stderr_text();
        let prefix = format!("metaloc: swap: {}: ", library.display());
        let refused = said.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned);
        Ok(refused.or_else(|| match outcome.exit {
            Exit::Code(0) => None,
            exit => Some(format!("opt: {exit} ({})", complaint(&outcome).unwrap_or_default())),
        }))
    }
}

/// What there is to swap for a pass.
#[derive(Debug, Clone, Default)]
pub struct OfPass {
    /// One for each of its files.
    pub libraries: Vec<PathBuf>,
    /// In words, for each file that has none, why.
    pub refused: Vec<String>,
}

impl OfPass {
    /// Says what is missing, and gives what there is.
    pub fn or_say(self, pass: &str) -> Option<Vec<PathBuf>> {
        for reason in &self.refused {
            let missing = if self.libraries.is_empty() { "no lines" } else { "not all lines" };
            output::complain(&format!("{missing} for {pass}: {reason}"));
        }
        (!self.libraries.is_empty()).then_some(self.libraries)
    }
}

/// A library with its code map beside it.
struct Mapped<'a> {
    lines: &'a Lines<'a>,
    unit: Unit<'a>,
}

impl Finish for Mapped<'_> {
    fn recipe(&self) -> &str {
        dwarf::RECIPE
    }

    fn describe(&self, library: &Path) -> metaloc_toolchain::Result<Option<String>> {
        let read = |reason| metaloc_toolchain::Error::Read { path: library.to_owned(), reason };
        let files: Vec<&Path> = self.unit.files().collect();
        let map = match dwarf::code_map(&fs::read(library).map_err(read)?, &files) {
            Ok(map) => map,
            Err(error) => return Ok(Some(error.to_string())),
        };
        let mut beside = library.as_os_str().to_owned();
        beside.push(".map");
        atomic::write(Path::new(&beside), map.to_text().as_bytes())?;
        Ok(None)
    }

    fn load(&self, library: &Path) -> metaloc_toolchain::Result<Option<String>> {
        self.lines.try_loading(library)
    }
}

/// The name of a file without folder and suffix.
pub fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The folder with the tests of an LLVM's transformations.
pub fn tests(llvm: &Llvm, source: &LlvmSource) -> Result<PathBuf> {
    Ok(match source {
        LlvmSource::Auto => tests_of(llvm.major)?,
        LlvmSource::Folder(folder) => checkout(folder)?,
    })
}

/// The same from Debian's source package of an LLVM.
pub fn tests_of(major: u32) -> Result<PathBuf> {
    Ok(sources::fetch(major, &TESTS, &output::complain)?)
}

/// All files of a folder whose files make up one pass, or a few that belong together (InstCombine, ObjCARC,
/// Coroutines); of others none.
fn folder_of_one_pass(file: &Path) -> Result<Vec<PathBuf>> {
    const HOLD_MANY: [&str; 5] = ["Scalar", "Utils", "IPO", "Instrumentation", "CodeGen"];
    let mut files = Vec::new();
    let folder = file.parent().unwrap_or(Path::new("."));
    if !folder.file_name().is_some_and(|name| HOLD_MANY.iter().any(|many| name == *many)) {
        collect(folder, &mut files)?;
        files.sort();
    }
    Ok(files)
}

/// The file that gives the library of a folder its name, which is that of a pass if one is, and the others.
fn first_apart(mut folder: Vec<PathBuf>) -> (PathBuf, Vec<PathBuf>) {
    let is_of_a_pass = |file: &PathBuf| pass_names::all().any(|row| row.source == stem(file));
    let at = folder.iter().position(is_of_a_pass).unwrap_or(0);
    (folder.remove(at), folder)
}

fn checkout(folder: &Path) -> Result<PathBuf> {
    let folder = fs::canonicalize(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    if !folder.join("llvm/lib/Transforms").is_dir() {
        bail!("{} is no source of LLVM: it has no llvm/lib/Transforms", folder.display());
    }
    Ok(folder)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let cannot_read = || format!("cannot read {}", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot_read)? {
        let path = entry.with_context(cannot_read)?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "cpp") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_one_pass_is_told_from_one_of_many() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let (main, part) = (file("InstCombine/Main.cpp"), file("InstCombine/Part.cpp"));
        file("InstCombine/Private.h");
        assert_eq!(folder_of_one_pass(&main).unwrap(), [main.clone(), part.clone()]);
        assert_eq!(folder_of_one_pass(&part).unwrap(), [main, part]);
        let (one, _) = (file("Scalar/One.cpp"), file("Scalar/Another.cpp"));
        assert!(folder_of_one_pass(&one).unwrap().is_empty());
    }

    #[test]
    fn the_library_of_a_folder_is_named_after_a_pass() {
        let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let (first, with) =
            first_apart(files(&["InstCombineAddSub.cpp", "InstructionCombining.cpp", "X.cpp"]));
        assert_eq!(
            (first, with),
            ("InstructionCombining.cpp".into(), files(&["InstCombineAddSub.cpp", "X.cpp"]))
        );
        let (first, with) = first_apart(files(&["A.cpp", "B.cpp"]));
        assert_eq!((first, with), ("A.cpp".into(), files(&["B.cpp"])));
    }

    #[test]
    fn a_folder_that_is_no_checkout_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = checkout(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("is no source of LLVM: it has no llvm/lib/Transforms"), "{error}");
        fs::create_dir_all(folder.path().join("llvm/lib/Transforms")).unwrap();
        assert!(checkout(folder.path()).is_ok());
        assert_eq!("auto".parse(), Ok(LlvmSource::Auto));
        assert_eq!("x".parse(), Ok(LlvmSource::Folder("x".into())));
    }
}
