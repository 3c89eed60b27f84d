//! The debuggers: where they are, and how they are started with a script of ours inside.
//!
//! All that differs between them lives here and in `scripts/`; a [`crate::Session`] is the same for both.

use std::path::Path;

use metaloc_toolchain::process::Task;

use crate::{Error, Result};

/// A debugger that can run a script of ours.
pub trait Debugger: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// The program that is started.
    fn program(&self) -> &'static str;

    /// Debian's package that has it.
    fn package(&self) -> &'static str;

    /// The script that runs inside.
    fn script(&self) -> &'static str;

    /// How it is started with the script.
    fn task(&self, script: &Path) -> Task;

    /// An error that names the package, unless the program is there.
    fn find(&self) -> Result<()> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if std::env::split_paths(&path).any(|folder| folder.join(self.program()).is_file()) {
            Ok(())
        } else {
            Err(Error::Missing { program: self.program(), package: self.package() })
        }
    }
}

/// gdb, with the Python inside it.
#[derive(Debug, Clone, Copy)]
pub struct Gdb;

/// lldb 19, with the Python inside it.
#[derive(Debug, Clone, Copy)]
pub struct Lldb;

impl Debugger for Gdb {
    fn name(&self) -> &'static str {
        "gdb"
    }

    fn program(&self) -> &'static str {
        "gdb"
    }

    fn package(&self) -> &'static str {
        "gdb"
    }

    fn script(&self) -> &'static str {
        include_str!("scripts/gdb_side.py")
    }

    fn task(&self, script: &Path) -> Task {
        Task::new(self.program()).args(["-nx", "-q", "-batch", "-x"]).arg(script)
    }
}

impl Debugger for Lldb {
    fn name(&self) -> &'static str {
        "lldb"
    }

    fn program(&self) -> &'static str {
        "lldb-19"
    }

    fn package(&self) -> &'static str {
        "lldb-19"
    }

    fn script(&self) -> &'static str {
        include_str!("scripts/lldb_side.py")
    }

    fn task(&self, script: &Path) -> Task {
        // The folder of the script is one of ours: no blank, no quote.
        let import = format!("command script import {}", script.display());
        Task::new(self.program()).args(["-x", "-b", "-o"]).arg(import)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Debugger for Nowhere {
        fn name(&self) -> &'static str {
            "nowhere"
        }
        fn program(&self) -> &'static str {
            "metaloc-no-such-debugger"
        }
        fn package(&self) -> &'static str {
            "no-such-package"
        }
        fn script(&self) -> &'static str {
            ""
        }
        fn task(&self, _: &Path) -> Task {
            Task::new(self.program())
        }
    }

    #[test]
    fn a_missing_debugger_names_its_package() {
        let error = Nowhere.find().unwrap_err().to_string();
        assert!(error.contains("metaloc-no-such-debugger is missing"), "{error}");
        assert!(error.contains("apt-get install no-such-package"), "{error}");
    }
}
