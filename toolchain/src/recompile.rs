//! One source file of LLVM, compiled anew as a library to be swapped into a stock `opt`; together with all of its
//! folder, where these files have symbols of their own that LLVM keeps from everybody else.
//!
//! Compiled with the `clang` of that LLVM against its installed headers, without optimisation and with debug
//! information. The result is kept under a hash of everything that goes into it, and so is the reason if a file
//! cannot be used: nothing is compiled twice to fail twice. Whether it can be loaded is a matter of the plugin, and
//! kept for each.
//!
//! References to a symbol that both the library and LLVM define go to the library's own, as if it were a program
//! of its own, with three exceptions: the keys of analyses and the ids of types are told apart by their addresses
//! all over LLVM, so there LLVM's own are meant; and what registers a pass of the legacy manager has to be LLVM's, since a
//! second pass of the same name ends the process (PlaceSafepoints runs such a pass of its own).

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};

use crate::llvm::Llvm;
use crate::plugin::last_lines;
use crate::process::{Outcome, Task};
use crate::{Error, Notice, Result, atomic, cache};

/// Raised when what is made of a file changes for another reason than the file or the flags.
const RECIPE: u32 = 2;

/// What LLVM compares by address, and what registers passes.
const SHARED: &str =
    "{ _ZN*3KeyE; _ZN*6SetKeyE; _ZN4llvm3Any6TypeId*; _ZN4llvm*initialize*RNS_12PassRegistryE; };\n";

const REFUSED: &str = "refused";

/// A file that can be swapped, or the reason why not.
pub type Swappable = std::result::Result<PathBuf, Refusal>;

/// Why a source file cannot be swapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It does not compile by itself: it needs a header that is not installed, or is made during the build.
    #[error("{file} does not compile alone: {said}")]
    Compile {
        /// Name of the file.
        file: String,
        /// The first error.
        said: String,
    },
    /// It compiles, but cannot be put into the process.
    #[error("{file} cannot be swapped: {reason}")]
    Load {
        /// Name of the file.
        file: String,
        /// Why not.
        reason: String,
    },
}

/// What to compile.
#[derive(Debug, Clone, Copy)]
pub struct Unit<'a> {
    /// The file.
    pub file: &'a Path,
    /// Others that it cannot do without.
    pub with: &'a [PathBuf],
    /// The folder whose private headers it includes, if that is not its own.
    pub headers: Option<&'a Path>,
    /// A file to include before its first line.
    pub prelude: Option<&'a Path>,
}

impl<'a> Unit<'a> {
    /// A file as it stands.
    pub fn of(file: &'a Path) -> Unit<'a> {
        Unit { file, with: &[], headers: None, prelude: None }
    }

    /// All files that are compiled.
    pub fn files(&self) -> impl Iterator<Item = &'a Path> {
        std::iter::once(self.file).chain(self.with.iter().map(PathBuf::as_path))
    }

    fn folder(&self) -> &'a Path {
        self.headers.or_else(|| self.file.parent()).unwrap_or(Path::new("."))
    }
}

/// What is done with a library that was compiled.
pub trait Finish {
    /// Whatever decides what [`Finish::describe`] makes.
    fn recipe(&self) -> &str;

    /// Puts files beside a new library, in a temporary folder, that begin with its name, and says why it cannot be
    /// used if that is so.
    fn describe(&self, library: &Path) -> Result<Option<String>>;

    /// Says why the library cannot be loaded if that is so.
    fn load(&self, library: &Path) -> Result<Option<String>>;
}

/// The library made from a file, from the cache if it is there.
///
/// `plugin` is what loads it: whether it can is asked once of each, and the library is the same for all.
pub fn library(
    llvm: &Llvm,
    plugin: &Path,
    unit: Unit<'_>,
    finish: &impl Finish,
    notice: Notice<'_>,
) -> Result<Swappable> {
    library_in(&cache::folder()?.join("recompiled"), llvm, plugin, unit, finish, notice)
}

fn library_in(
    cache: &Path,
    llvm: &Llvm,
    plugin: &Path,
    unit: Unit<'_>,
    finish: &impl Finish,
    notice: Notice<'_>,
) -> Result<Swappable> {
    let flags = flags(llvm)?;
    let name = unit.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let place = cache.join(&llvm.version).join(key(llvm, unit, &flags, finish.recipe())?);
    let library = place.join(format!("{name}.so"));
    let mut hasher = DefaultHasher::new();
    plugin.hash(&mut hasher);
    let answer = place.join(format!("loaded-{:016x}", hasher.finish()));
    if !answer.exists() {
        let parent = place.parent().unwrap_or(Path::new("."));
        atomic::create_folder(parent)?;
        let _lock = cache::Lock::take(&parent.join(format!("{name}.lock")))?;
        if !place.is_dir() {
            let others = match unit.with.len() {
                0 => String::new(),
                others => format!(" and {others} more files"),
            };
            notice(&format!("compiling {name}.cpp{others} of LLVM {} (once)", llvm.version));
            let fill = |folder: &Path| match compile(llvm, unit, &flags, folder, &name)? {
                Some(said) => atomic::write(&folder.join(REFUSED), format!("compile\n{said}").as_bytes()),
                None => match finish.describe(&folder.join(format!("{name}.so")))? {
                    Some(reason) => {
                        atomic::write(&folder.join(REFUSED), format!("load\n{reason}").as_bytes())
                    }
                    None => Ok(()),
                },
            };
            atomic::fill_folder(&place, fill)?;
        }
        if !answer.exists() && !place.join(REFUSED).exists() {
            atomic::write(&answer, finish.load(&library)?.unwrap_or_default().as_bytes())?;
        }
    }
    let file = format!("{name}.cpp");
    if let Some(reason) = fs::read_to_string(&answer).ok().filter(|reason| !reason.is_empty()) {
        return Ok(Err(Refusal::Load { file, reason }));
    }
    Ok(match fs::read_to_string(place.join(REFUSED)) {
        Err(_) => Ok(library),
        Ok(text) => Err(match text.split_once('\n') {
            Some(("compile", said)) => Refusal::Compile { file, said: said.to_owned() },
            Some((_, reason)) => Refusal::Load { file, reason: reason.to_owned() },
            None => Refusal::Load { file, reason: text },
        }),
    })
}

/// As LLVM itself was compiled, as far as `llvm-config` tells.
fn flags(llvm: &Llvm) -> Result<Vec<String>> {
    let outcome = Task::new(&llvm.llvm_config).args(["--cxxflags"]).run()?;
    let said = outcome.stdout_text();
    let keeps = |flag: &&str| {
        ["-I", "-std=", "-D", "-fno-"].iter().any(|prefix| flag.starts_with(prefix)) && *flag != "-DNDEBUG"
    };
    let mut flags: Vec<String> = said.split_whitespace().filter(keeps).map(str::to_owned).collect();
    flags.extend(["-DNDEBUG", "-fPIC", "-g", "-O0", "-w", "-shared"].map(str::to_owned));
    Ok(flags)
}

/// Private headers lie beside the file; they count as the file does.
fn key(llvm: &Llvm, unit: Unit<'_>, flags: &[String], recipe: &str) -> Result<String> {
    let read = |path: &Path| fs::read(path).map_err(|reason| Error::Read { path: path.to_owned(), reason });
    let mut hasher = DefaultHasher::new();
    (RECIPE, recipe, SHARED, flags, unit.file, &llvm.version, &llvm.build_id, &llvm.clang).hash(&mut hasher);
    for file in unit.files() {
        read(file)?.hash(&mut hasher);
    }
    unit.with.hash(&mut hasher);
    unit.prelude.map(read).transpose()?.hash(&mut hasher);
    let folder = unit.folder();
    let entries = fs::read_dir(folder).map_err(|reason| Error::Read { path: folder.to_owned(), reason })?;
    let mut headers: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    headers.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    headers.sort();
    for header in headers {
        read(&header)?.hash(&mut hasher);
    }
    let name = unit.file.file_stem().unwrap_or_default().to_string_lossy();
    Ok(format!("{name}-{:016x}", hasher.finish()))
}

/// What the compiler complains about, if it does.
fn compile(
    llvm: &Llvm,
    unit: Unit<'_>,
    flags: &[String],
    folder: &Path,
    name: &str,
) -> Result<Option<String>> {
    let shared = folder.join("shared-symbols");
    atomic::write(&shared, SHARED.as_bytes())?;
    let clang = llvm.clang()?;
    let compiler = || {
        let mut task = Task::new(clang).arg("--driver-mode=g++").args(flags);
        if let Some(headers) = unit.headers {
            task = task.arg("-iquote").arg(headers);
        }
        if let Some(prelude) = unit.prelude {
            task = task.arg("-include").arg(prelude);
        }
        task
    };
    let files: Vec<&Path> = unit.files().collect();
    let objects: Vec<PathBuf> = (0..files.len()).map(|at| folder.join(format!("{at}.o"))).collect();
    let pairs: Vec<(&&Path, &PathBuf)> = files.iter().zip(&objects).collect();
    // All cores, one after the other of each share: there are a few files, of about the same size.
    let share = pairs.len().div_ceil(std::thread::available_parallelism().map_or(1, NonZeroUsize::get));
    let compile_share = |share: &[(&&Path, &PathBuf)]| -> Result<Option<String>> {
        for (file, object) in share {
            let said = complaint(&compiler().arg("-c").arg(file).arg("-o").arg(object).run()?);
            if said.is_some() {
                return Ok(said);
            }
        }
        Ok(None)
    };
    let said: Result<Vec<Option<String>>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            pairs.chunks(share).map(|share| scope.spawn(move || compile_share(share))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    if let Some(said) = said?.into_iter().flatten().next() {
        return Ok(Some(said));
    }
    let linked = compiler()
        .arg(format!("-Wl,--dynamic-list={}", shared.display()))
        .args(&objects)
        .arg("-o")
        .arg(folder.join(format!("{name}.so")))
        .run()?;
    for object in &objects {
        let _ = fs::remove_file(object);
    }
    Ok(complaint(&linked))
}

/// What a compiler says is wrong, if anything.
fn complaint(outcome: &Outcome) -> Option<String> {
    if outcome.exit.success() {
        return None;
    }
    let text = outcome.stderr_text();
    let error = text.lines().find(|line| line.contains("error:")).map(str::to_owned);
    Some(error.unwrap_or_else(|| format!("{}: {}", outcome.exit, last_lines(&text, 1))))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::llvm::Which;

    fn llvm() -> Llvm {
        Llvm::find(&Which::Number(crate::llvm::DEFAULT), None).unwrap()
    }

    /// Says the same about every library, and counts how often it is asked.
    #[derive(Default)]
    struct Saying {
        described: Option<&'static str>,
        loaded: Option<&'static str>,
        asked: Cell<usize>,
    }

    impl Finish for Saying {
        fn recipe(&self) -> &str {
            "recipe"
        }

        fn describe(&self, _: &Path) -> Result<Option<String>> {
            self.asked.set(self.asked.get() + 1);
            Ok(self.described.map(str::to_owned))
        }

        fn load(&self, _: &Path) -> Result<Option<String>> {
            self.asked.set(self.asked.get() + 10);
            Ok(self.loaded.map(str::to_owned))
        }
    }

    #[test]
    fn a_change_of_the_file_or_of_a_header_moves_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("A.cpp");
        let llvm = Llvm::nowhere();
        let key = |llvm: &Llvm, flags: &[String], recipe| key(llvm, Unit::of(&file), flags, recipe).unwrap();
        let mut seen = Vec::new();
        let mut look = |llvm: &Llvm, flags: &[String]| seen.push(key(llvm, flags, "1"));
        fs::write(&file, "int x;").unwrap();
        look(&llvm, &[]);
        fs::write(&file, "int y;").unwrap();
        look(&llvm, &[]);
        fs::write(folder.path().join("A.h"), "").unwrap();
        look(&llvm, &[]);
        look(&llvm, &["-g".to_owned()]);
        look(&Llvm { build_id: "2".into(), ..llvm.clone() }, &[]);
        fs::write(folder.path().join("A.txt"), "no header").unwrap();
        assert_eq!(key(&llvm, &[], "1"), seen[2]);
        seen.push(key(&llvm, &[], "2"));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn what_does_not_compile_is_said_and_not_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Broken.cpp");
        fs::write(&file, "#include \"no/such/header.h\"\n").unwrap();
        let (llvm, finish) = (llvm(), Saying::default());
        let said = |notice: Notice<'_>| {
            let plugin = Path::new("/plugin.so");
            library_in(folder.path(), &llvm, plugin, Unit::of(&file), &finish, notice)
                .unwrap()
                .unwrap_err()
                .to_string()
        };
        let first = said(&|_| {});
        assert!(
            first.starts_with("Broken.cpp does not compile alone: ") && first.contains("no/such/header.h")
        );
        assert_eq!(said(&|text| panic!("{text}")), first);
        assert_eq!(finish.asked.get(), 0, "what does not compile is not finished");
    }

    #[test]
    fn each_plugin_is_asked_once_and_nothing_is_compiled_again_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("A.cpp");
        fs::write(&file, "int x;").unwrap();
        let llvm = llvm();
        let look = |plugin: &str, finish: &Saying| {
            library_in(folder.path(), &llvm, Path::new(plugin), Unit::of(&file), finish, &|_| {}).unwrap()
        };
        let willing = Saying::default();
        assert!(look("/a.so", &willing).is_ok() && look("/a.so", &willing).is_ok());
        assert_eq!(willing.asked.get(), 11);
        let refusing = Saying { loaded: Some("no"), ..Saying::default() };
        for _ in 0..2 {
            assert_eq!(look("/b.so", &refusing).unwrap_err().to_string(), "A.cpp cannot be swapped: no");
        }
        assert_eq!(refusing.asked.get(), 10);
        assert!(look("/a.so", &willing).is_ok());
    }

    #[test]
    fn keys_of_analyses_are_shared_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Keys.cpp");
        let text = "struct A { static int Key; static int Other; }; int A::Key, A::Other;\n\
                    int *key() { return &A::Key; } int *other() { return &A::Other; }\n";
        fs::write(&file, text).unwrap();
        let llvm = llvm();
        let (plugin, finish) = (Path::new("/plugin.so"), Saying::default());
        let library =
            library_in(folder.path(), &llvm, plugin, Unit::of(&file), &finish, &|_| {}).unwrap().unwrap();
        let task = Task::new(llvm.tool("llvm-readobj")).args(["--dyn-relocations"]).arg(library);
        let said = task.run().unwrap().stdout_text();
        assert!(said.contains("_ZN1A3KeyE") && !said.contains("_ZN1A5OtherE"), "{said}");
    }
}
