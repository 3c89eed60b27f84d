//! Where the report of this process goes: text on stderr, or a JSON document where `METALOC_OUT` says.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use metaloc_report::{Document, text};

/// What the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Text on stderr.
    Stderr,
    /// This very file.
    File(PathBuf),
    /// A file of its own for every process, in this folder.
    Folder(PathBuf),
}

/// Where one document goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Text on stderr.
    Stderr,
    /// JSON in this file.
    File(PathBuf),
}

impl Output {
    /// Reads `METALOC_OUT`.
    pub fn of_environment() -> Output {
        match std::env::var_os("METALOC_OUT").filter(|v| !v.is_empty()).map(PathBuf::from) {
            None => Output::Stderr,
            Some(path) if path.is_dir() => Output::Folder(path),
            Some(path) => Output::File(path),
        }
    }

    /// The document's place, given the name of the input.
    pub fn target(&self, input: &str) -> Target {
        match self {
            Output::Stderr => Target::Stderr,
            Output::File(path) => Target::File(path.clone()),
            Output::Folder(folder) => {
                let name = Path::new(input).file_name().map_or("stdin".into(), |n| n.to_string_lossy());
                let name = if name == "-" || name == "<stdin>" { "stdin".into() } else { name };
                Target::File(folder.join(format!("{name}.{}.json", std::process::id())))
            }
        }
    }
}

/// Writes the report; a file appears whole or not at all.
pub fn write(document: &Document, target: &Target) -> io::Result<()> {
    match target {
        Target::Stderr => io::stderr().write_all(text::render(document, text::Options::default()).as_bytes()),
        Target::File(path) => {
            let temporary = temporary(path);
            let written = std::fs::write(&temporary, document.to_json())
                .and_then(|()| std::fs::rename(&temporary, path));
            if written.is_err() {
                let _ = std::fs::remove_file(&temporary);
            }
            written
        }
    }
}

/// The file that is written first and then renamed.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gets_one_file_per_process_named_after_the_input() {
        let output = Output::Folder("out".into());
        let expected = format!("out/lapi.c.{}.json", std::process::id());
        assert_eq!(output.target("src/lapi.c"), Target::File(expected.into()));
        let expected = format!("out/stdin.{}.json", std::process::id());
        assert_eq!(output.target("<stdin>"), Target::File(expected.into()));
    }
}
