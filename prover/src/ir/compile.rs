//! C, or IR of any kind, to the text that is compared: what clang makes at -O0, with locals in registers
//! (`mem2reg`) and nothing else done to it.

use super::IrError;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Outcome, Stdin, Task};
use std::path::Path;
use std::time::Duration;

/// Far more than any file needs; ends a compiler that hangs.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// IR text of a `.c` file, or of a `.ll` file as given. `flags` are those that change what the source means
/// (`-fwrapv`, `-D`, `-m32`); a `.ll` file ignores them. LLVM verifies the module on the way.
pub fn text(llvm: &Llvm, source: &Path, flags: &[String]) -> Result<String, IrError> {
    let input = match source.extension().and_then(|extension| extension.to_str()) {
        Some("ll") => Stdin::File(source.to_owned()),
        _ => {
            let clang = Task::new(llvm.clang()?)
                .args(["-O0", "-Xclang", "-disable-O0-optnone", "-g", "-S", "-emit-llvm"])
                .args(flags)
                .arg(source)
                .args(["-o", "-"]);
            Stdin::Bytes(succeed(source, "clang", &clang)?.stdout)
        }
    };
    let opt = Task::new(&llvm.opt).args(["-passes=mem2reg", "-S", "-o", "-", "-"]).stdin(input);
    Ok(succeed(source, "opt", &opt)?.stdout_text())
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
