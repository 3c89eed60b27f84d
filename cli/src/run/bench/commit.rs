//! The commit that figures are of.

use anyhow::{Result, bail};
use metaloc_toolchain::plugin;
use metaloc_toolchain::process::Task;

/// The commit that is checked out; marked if sources differ from it.
pub(super) fn checked_out() -> Result<String> {
    let git = |args: &[&str]| -> Result<String> {
        let outcome = Task::new("git").args(args).cwd(plugin::root()?).run()?;
        if !outcome.exit.success() {
            bail!("git {}: {}", args.join(" "), outcome.stderr_text().trim());
        }
        Ok(outcome.stdout_text().trim().to_owned())
    };
    let head = git(&["rev-parse", "--short=10", "HEAD"])?;
    let sources = ["*.rs", "*.c", "*.cpp", "*.h", "Cargo.*"];
    let status = ["status", "--porcelain", "--untracked-files=no", "--"];
    let changed = git(&[&status[..], &sources[..]].concat())?;
    Ok(if changed.is_empty() { head } else { format!("{head}+changes") })
}
