//! Files and folders that are there as a whole or not at all: written under another name, then renamed.
//!
//! The other name is in the same folder, since only there a rename is one step. It is taken before the
//! work begins, so that a folder that cannot be written to is noticed first and not last.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempDir};

use crate::{Error, Result};

/// A file that is not there yet. Dropped without [`PendingFile::commit`] it leaves nothing behind.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl PendingFile {
    /// Takes a place beside `path`, which is not touched.
    pub fn new(path: &Path) -> Result<PendingFile> {
        let failed = |reason| Error::Write { path: path.to_owned(), reason };
        if path.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(".metaloc-");
        let file = builder.make_in(folder_of(path), create_with_usual_rights).map_err(failed)?;
        Ok(PendingFile { path: path.to_owned(), file })
    }

    /// Where the contents are until [`PendingFile::commit`].
    pub fn temporary(&self) -> &Path {
        self.file.path()
    }

    /// Adds to the contents.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let path = &self.path;
        self.file.write_all(bytes).map_err(|reason| Error::Write { path: path.clone(), reason })
    }

    /// Puts the file in its place.
    pub fn commit(self) -> Result<()> {
        let path = self.path;
        self.file.persist(&path).map_err(|e| Error::Write { path: path.clone(), reason: e.error })?;
        Ok(())
    }
}

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut pending = PendingFile::new(path)?;
    pending.write(bytes)?;
    pending.commit()
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).map_err(|reason| Error::Read { path: from.to_owned(), reason })?;
    write(to, &bytes)
}

/// Makes a folder with all above it.
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|reason| Error::Write { path: path.to_owned(), reason })
}

/// Fills a folder: `fill` gets a temporary one, which becomes `path` if it succeeds. If somebody else was
/// faster, theirs stays.
pub fn fill_folder(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let parent = folder_of(path);
    create_folder(&parent)?;
    let failed = |reason| Error::Write { path: path.to_owned(), reason };
    let temporary = tempfile::Builder::new().prefix(".metaloc-").tempdir_in(&parent).map_err(failed)?;
    fill(temporary.path())?;
    match fs::rename(temporary.path(), path) {
        Ok(()) => {
            // It is no longer there under the old name; nothing is left to delete.
            let _ = TempDir::keep(temporary);
            Ok(())
        }
        Err(_) if path.is_dir() => Ok(()),
        Err(source) => Err(failed(source)),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Temporary files are private by default; what replaces a user's file has the rights that his umask gives.
fn create_with_usual_rights(path: &Path) -> std::io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        write(&path, b"old").unwrap();
        let mut pending = PendingFile::new(&path).unwrap();
        pending.write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        pending.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["report.json"]);
    }

    #[test]
    fn what_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(PendingFile::new(&folder.path().join("report.json")).unwrap());
        let unpacked = folder.path().join("unpacked");
        let failed = fill_folder(&unpacked, |temporary| {
            fs::write(temporary.join("half"), b"x").unwrap();
            Err(Error::Interrupted)
        });
        assert!(failed.is_err());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn a_folder_appears_when_it_is_full_and_the_first_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        for contents in ["first", "second"] {
            fill_folder(&path, |temporary| write(&temporary.join("file"), contents.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "first");
        }
        assert_eq!(names(&folder.path().join("a")), ["b"]);
    }

    #[test]
    fn a_bad_folder_is_named_before_any_work() {
        let folder = tempfile::tempdir().unwrap();
        let error = PendingFile::new(&folder.path().join("no/report.json")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && error.contains("no/report.json: "), "{error}");
        let error = PendingFile::new(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
    }
}
