//! C, or IR of any kind, to the text that is compared: what clang makes at -O0, with locals in registers
//! (`mem2reg`) and nothing else done to it.

use super::identity::identity;
use super::{IrError, marks, wrapping};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Outcome, Stdin, Task};
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// Far more than any file needs; ends a compiler that hangs.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// IR text of a `.c` file, or of a `.ll` file as given. `flags` are those that change what the source means
/// (`-fwrapv`, `-fno-wrapv-pointer`, `-D`, `-m32`); a `.ll` file ignores them. LLVM verifies the module on the way.
pub fn text(llvm: &Llvm, source: &Path, flags: &[String]) -> Result<String, IrError> {
    let input = match is_ir(source) {
        true => Stdin::File(source.to_owned()),
        false => Stdin::Bytes(locals_in_memory(llvm, source, flags)?.into_bytes()),
    };
    promoted(llvm, source, input)
}

/// What a proof keeps a hash of, to know the program again: of a `.c` file [`identity`], of IR its text.
pub fn identified<'a>(source: &Path, text: &'a str) -> Cow<'a, str> {
    if is_ir(source) { Cow::Borrowed(text) } else { Cow::Owned(identity(text)) }
}

/// Whether a file is IR already.
fn is_ir(source: &Path) -> bool {
    source.extension().is_some_and(|extension| extension == "ll")
}

/// What clang makes of a `.c` file at -O0.
fn locals_in_memory(llvm: &Llvm, source: &Path, flags: &[String]) -> Result<String, IrError> {
    let (flags, numbers_wrap) = wrapping::flags(llvm.major, flags);
    let clang = Task::new(llvm.clang()?)
        .args(["-O0", "-Xclang", "-disable-O0-optnone", "-g", "-S", "-emit-llvm"])
        .args(flags)
        .arg(source)
        .args(["-o", "-"]);
    let text = succeed(source, "clang", &clang)?.stdout_text();
    Ok(if numbers_wrap { wrapping::numbers_wrap(&text) } else { text })
}

/// The same with locals in registers.
fn promoted(llvm: &Llvm, source: &Path, input: Stdin) -> Result<String, IrError> {
    let opt = Task::new(&llvm.opt).args(["-passes=mem2reg", "-S", "-o", "-", "-"]).stdin(input);
    Ok(succeed(source, "opt", &opt)?.stdout_text())
}

/// A source whose instructions can be stopped at.
#[derive(Debug)]
pub struct Marked {
    /// The text of [`text`], with marks as lines (see [`super::marks`]).
    pub lines: String,
    /// The unoptimised program with a stop before each instruction.
    pub stops: String,
}

/// A `.c` file with marks. A `.ll` file has no unoptimised program: its locals may be in registers already.
pub fn marked(llvm: &Llvm, source: &Path, flags: &[String]) -> Result<Option<Marked>, IrError> {
    if is_ir(source) {
        return Ok(None);
    }
    let text = locals_in_memory(llvm, source, flags)?;
    let lines = promoted(llvm, source, Stdin::Bytes(marks::with_lines(&text).into_bytes()))?;
    Ok(Some(Marked { lines, stops: marks::with_stops(&text) }))
}

/// Compiles IR text to an object as it is. `flags` say for which machine.
pub fn object(llvm: &Llvm, text: &str, flags: &[String], to: &Path) -> Result<(), IrError> {
    let (flags, _) = wrapping::flags(llvm.major, flags);
    let clang = Task::new(llvm.clang()?)
        .args(["-O0", "-w", "-Wno-unused-command-line-argument"])
        .args(flags)
        .args(["-x", "ir", "-c", "-"])
        .arg("-o")
        .arg(to)
        .stdin(Stdin::Bytes(text.as_bytes().to_vec()));
    succeed(to, "clang", &clang)?;
    Ok(())
}

fn succeed(source: &Path, tool: &str, task: &Task) -> Result<Outcome, IrError> {
    let outcome = task.clone().timeout(TIME_LIMIT).run()?;
    if outcome.exit.success() {
        return Ok(outcome);
    }
    let complaint = outcome.stderr_text();
    let said = complaint.lines().take(5).collect::<Vec<_>>().join("\n");
    let said = if said.is_empty() { outcome.exit.to_string() } else { said };
    Err(IrError::Compile { file: source.display().to_string(), tool: tool.to_owned(), said })
}
