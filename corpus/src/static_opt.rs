//! A statically linked `opt`, as users build it themselves: LLVM's own sources of the tool, Debian's archives.
//!
//! It exports its symbols for plugins, as upstream's build does, but there is no `libLLVM` to find them in:
//! the case that a plugin must not get wrong. Linking takes half a minute, so it is kept in the cache.

use std::path::{Path, PathBuf};

use metaloc_toolchain::process::Task;
use metaloc_toolchain::{Llvm, Notice, atomic, cache, sources};

use crate::{Result, stock};

/// The tool's own sources; the same three in LLVM 19 and later.
const FILES: [&str; 3] = ["opt.cpp", "optdriver.cpp", "NewPMDriver.cpp"];

/// The oldest version whose `opt` has these files.
const OLDEST: u32 = 19;

/// The path of a static `opt` of Debian's LLVM `llvm`, with `llvm-config` beside it; linked if need be.
pub fn path(llvm: &Llvm, notice: Notice<'_>) -> Result<PathBuf> {
    if llvm.major < OLDEST {
        let reason = format!("opt of LLVM {OLDEST} and later can be linked from its sources alone");
        return Err(crate::Error::Unadaptable { path: llvm.opt.clone(), major: llvm.major, reason });
    }
    let folder = cache::folder()?.join("static-opt").join(&llvm.version);
    if !folder.is_dir() {
        let sources = sources::fetch(llvm.major, &["llvm/tools/opt/*"], notice)?;
        notice(&format!("linking a static opt of LLVM {} (about a minute, 130 MB)", llvm.version));
        atomic::fill_folder(&folder, |folder| build(llvm, &sources.join("llvm/tools/opt"), folder))?;
    }
    Ok(folder.join("opt"))
}

fn build(llvm: &Llvm, sources: &Path, folder: &Path) -> metaloc_toolchain::Result<()> {
    // Polly's archive is in another package: this opt goes without extensions.
    let headers = folder.join("include");
    atomic::create_folder(&headers.join("llvm/Support"))?;
    atomic::write(&headers.join("llvm/Support/Extension.def"), b"#undef HANDLE_EXTENSION\n")?;
    let flags = config(llvm, &["--cxxflags"])?;
    let mut objects = Vec::new();
    for file in FILES {
        let object = folder.join(file).with_extension("o");
        let task = Task::new("g++").args(["-c", "-O1", "-w", "-I"]).arg(&headers).args(&flags);
        stock::succeed(task.arg(sources.join(file)).arg("-o").arg(&object))?;
        objects.push(object);
    }
    let libraries = config(llvm, &["--link-static", "--ldflags", "--libs", "all"])?;
    let libraries = libraries.into_iter().filter(|library| !library.starts_with("-lPolly"));
    let link = Task::new("g++").arg("-rdynamic").args(&objects).args(libraries);
    // Of zstd only the run-time package is sure to be there; Z3 and libxml2 are used by nothing that opt has.
    let link = link.args(["-Wl,--as-needed", "-lrt", "-ldl", "-lm", "-lz", "-l:libzstd.so.1"]);
    stock::succeed(link.arg("-o").arg(folder.join("opt")))?;
    for object in objects {
        // Left-overs in a cache are no failure.
        let _ = std::fs::remove_file(object);
    }
    std::os::unix::fs::symlink(&llvm.llvm_config, folder.join("llvm-config"))
        .map_err(|reason| metaloc_toolchain::Error::Write { path: folder.join("llvm-config"), reason })
}

fn config(llvm: &Llvm, args: &[&str]) -> metaloc_toolchain::Result<Vec<String>> {
    let said = stock::output(Task::new(&llvm.llvm_config).args(args.iter().copied()))?;
    Ok(String::from_utf8_lossy(&said).split_whitespace().map(str::to_owned).collect())
}
