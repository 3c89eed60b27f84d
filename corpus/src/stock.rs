//! Running stock tools that must succeed.

use metaloc_toolchain::process::{Outcome, Task};
use metaloc_toolchain::{Error, Result};

/// What a command prints on standard output; anything but success is an error with the end of what it said.
pub fn output(task: Task) -> Result<Vec<u8>> {
    Ok(succeed(task)?.stdout)
}

/// Runs a command that must succeed.
pub fn succeed(task: Task) -> Result<Outcome> {
    let outcome = task.run()?;
    if outcome.exit.success() {
        return Ok(outcome);
    }
    let said = outcome.stderr_text();
    let lines: Vec<&str> = said.lines().collect();
    let said = lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n");
    Err(Error::Failed { command: task.command_line(), exit: outcome.exit, said })
}

/// How much of a failing command's complaint goes into the message.
const SHOWN_LINES: usize = 20;

/// LLVM 14 reads opaque pointers only when told to; later ones know no other pointers.
pub fn opaque_pointer_args(ir: &str, major: u32) -> Option<String> {
    (major < 15 && uses_opaque_pointers(ir)).then(|| "-opaque-pointers".into())
}

/// The type `ptr`, as opposed to `%ptr`, `"ptr"` or a comment.
pub fn uses_opaque_pointers(ir: &str) -> bool {
    let delimits = |c: Option<char>| c.is_none_or(|c| " ,()[]{}<>=\t".contains(c));
    ir.lines().map(|line| line.split(';').next().unwrap_or_default()).any(|code| {
        code.match_indices("ptr").any(|(at, word)| {
            delimits(code[..at].chars().next_back()) && delimits(code[at + word.len()..].chars().next())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_type_ptr_counts() {
        for ir in [
            "define void @f(ptr %x)",
            "  store i32 1, ptr @g",
            "%a = alloca ptr\n",
            "(ptr, i32)",
            "<4 x ptr>",
        ] {
            assert!(uses_opaque_pointers(ir), "{ir}");
        }
        for ir in [
            "define void @f(i32* %ptr)",
            "; a ptr\n",
            "%ptr.1 = alloca i32*",
            "\"ptr\"",
            "inttoptr i32 1 to i8*",
        ] {
            assert!(!uses_opaque_pointers(ir), "{ir}");
        }
        assert_eq!(opaque_pointer_args("ptr", 15), None);
        assert_eq!(opaque_pointer_args("ptr", 14).as_deref(), Some("-opaque-pointers"));
    }
}
