//! Files that are there whole or not at all, and still there after the power has failed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Names that begin so are unfinished, and are removed when the storage is opened.
pub(in crate::storage) const UNFINISHED: &str = ".new-";
/// Names that begin so are being deleted.
pub(in crate::storage) const DELETED: &str = ".deleted-";

/// How long the earlier owner may take to release a directory: a process that has been ordered to
/// stop, or a thread that has just stored something.
const PATIENCE: Duration = Duration::from_millis(200);

/// An error with its path.
pub(in crate::storage) fn at(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |e| Error::io(path.display(), &e)
}

/// Makes the entries of a directory durable.
pub(in crate::storage) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(at(dir))
}

/// Replaces a file's content.
pub(in crate::storage) fn write(path: &Path, content: &[u8]) -> Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::Bad(format!("{} is no file's path", path.display())));
    };
    let unfinished = dir.join(format!("{UNFINISHED}{}", name.to_string_lossy()));
    let write = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(at(path))?;
    sync_dir(dir)
}

/// A file's content, if there is one.
pub(in crate::storage) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(at(path)(e)),
    }
}

/// Removes a file, if there is one.
pub(in crate::storage) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Ok(()) => path.parent().map_or(Ok(()), sync_dir),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(at(path)(e)),
    }
}

/// The names in a directory, sorted; none if there is no such directory.
pub(in crate::storage) fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(at(dir)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        // A name that is not UTF-8 is not ours.
        if let Ok(name) = entry.map_err(at(dir))?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Opens a file to write whole blocks, past the page cache if the file system can: copying into the
/// cache and writing it back from there costs five times as much processor time as all else together.
pub(in crate::storage) fn open_blocks(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).read(true).create(true).truncate(false);
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let direct = options.clone().custom_flags(libc::O_DIRECT).open(path);
        match direct {
            // Some file systems only tell by refusing.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
            other => return other.map_err(at(path)),
        }
    }
    options.open(path).map_err(at(path))
}

/// Locks a file, which is created if needed, for as long as the returned value lives: only one
/// process at a time uses `dir`.
pub(in crate::storage) fn lock(path: &Path, dir: &Path) -> Result<File> {
    let mut options = File::options();
    let lock = options.create(true).truncate(false).write(true).open(path).map_err(at(path))?;
    let patience = Instant::now() + PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < patience => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let dir = dir.display();
                return Err(Error::Storage(format!("{dir} is used by another process")));
            }
            Err(TryLockError::Error(e)) => return Err(at(path)(e)),
        }
    }
}
