//! The folder for what is made once and used often: plugins, unpacked sources, prepared inputs.

use std::env;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{Error, Result, atomic, interrupt};

/// `$METALOC_CACHE`, or `metaloc` in `$XDG_CACHE_HOME` or `$HOME/.cache`. The folder is made if need be.
pub fn folder() -> Result<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("METALOC_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("metaloc")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/metaloc")))
        .ok_or(Error::NoCache)?;
    atomic::create_folder(&folder)?;
    Ok(folder)
}

/// What nobody has used for this long is thrown away.
const UNUSED_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Noted at most this often, so that a use does not write to the disk each time.
const NOTED_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// Notes that a file in the cache is in use: its time of modification is that of its last use. A cache that cannot
/// be written to is still good to read.
pub fn used(path: &Path) {
    if let Ok(file) = fs::OpenOptions::new().append(true).open(path)
        && unused_for(&file).is_some_and(|time| time > NOTED_AFTER)
    {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Throws away the folders in a folder of the cache whose file of this name nobody has used for two weeks. One
/// that cannot be removed stays: it costs room and nothing else.
pub fn prune(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let old = File::open(entry.path().join(name)).ok().and_then(|file| unused_for(&file));
        if old.is_some_and(|time| time > UNUSED_FOR) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn unused_for(file: &File) -> Option<Duration> {
    SystemTime::now().duration_since(file.metadata().ok()?.modified().ok()?).ok()
}

/// Held while something in the cache is made, so that two processes do not make it twice. Ends with the
/// process at the latest: the kernel gives it up.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Lock {
    /// Waits for the lock in the file at `path`, which is made if need be.
    pub fn take(path: &Path) -> Result<Lock> {
        let failed = |reason| Error::Write { path: path.to_owned(), reason };
        let file =
            fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        loop {
            // SAFETY: the descriptor is open: `file` lives until the end of this function or in `Lock`.
            if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
                return Ok(Lock(file));
            }
            let error = std::io::Error::last_os_error();
            if error.kind() != std::io::ErrorKind::WouldBlock {
                return Err(failed(error));
            }
            // Not a blocking call: that would not notice ctrl-C.
            interrupt::check()?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_two_weeks_goes() {
        let folder = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        for (name, days) in [("old", 15), ("used", 15), ("young", 13)] {
            fs::create_dir(folder.path().join(name)).unwrap();
            let file = File::create(folder.path().join(name).join("lib.so")).unwrap();
            file.set_modified(SystemTime::now() - day * days).unwrap();
        }
        fs::create_dir(folder.path().join("being made")).unwrap();
        used(&folder.path().join("used/lib.so"));
        used(&folder.path().join("never made/lib.so"));
        prune(folder.path(), "lib.so");
        let left = |name: &str| folder.path().join(name).is_dir();
        assert_eq!(["old", "used", "young", "being made"].map(left), [false, true, true, true]);
    }

    #[test]
    fn a_lock_keeps_the_second_one_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let (tx, rx) = std::sync::mpsc::channel();
        let other = path.clone();
        let thread = std::thread::spawn(move || {
            let _second = Lock::take(&other).unwrap();
            tx.send(()).unwrap();
        });
        assert!(rx.recv_timeout(Duration::from_millis(200)).is_err());
        drop(first);
        rx.recv_timeout(Duration::from_secs(30)).unwrap();
        thread.join().unwrap();
    }
}
