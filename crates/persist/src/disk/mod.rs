//! Files, as far as the journal needs them: behind a trait, so that tests can use a disk that fails,
//! fills up, and loses bytes that were not synced.

use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

#[cfg(any(test, feature = "sim"))]
pub mod sim;

/// A directory tree. Bytes and names that are not synced may be lost when the machine stops.
pub trait Disk: Send + Sync {
    /// Opens a file for reading and writing. With `create` it must not be there yet.
    ///
    /// # Errors
    /// As the system says.
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn File>>;
    /// All bytes of a file.
    ///
    /// # Errors
    /// As the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Renames a file over any file that has the new name.
    ///
    /// # Errors
    /// As the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// As the system says.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes a directory and its parents, if they are not there.
    ///
    /// # Errors
    /// As the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// As the system says.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory.
    ///
    /// # Errors
    /// As the system says.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Length of a file; `NotFound` when there is none.
    ///
    /// # Errors
    /// As the system says.
    fn len(&self, path: &Path) -> io::Result<u64>;
    /// The path that names the same file whatever the process's directory is later.
    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
    /// Takes the right to use the data that a lock file stands for; the file is created if it is
    /// missing. `None` when another process has the right. The right ends with the returned value, or
    /// with the process.
    ///
    /// # Errors
    /// As the system says.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;
}

/// See [`Disk::lock`].
pub type Lock = Box<dyn Send>;

/// An open file, which several threads may use at once.
pub trait File: Send + Sync {
    /// Writes all of `bytes` at an offset. After an error any part of it may have been written.
    ///
    /// # Errors
    /// As the system says.
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Makes the content durable, its length included.
    ///
    /// # Errors
    /// As the system says; bytes written since the last success may be lost, whatever a later call
    /// says.
    fn sync(&self) -> io::Result<()>;
    /// Has the system begin to write a range to the disk, so that a later [`sync`](Self::sync) has less
    /// to do; with `wait`, returns when that range is written. This makes nothing durable.
    ///
    /// # Errors
    /// As the system says, with the consequences that [`sync`](Self::sync) names.
    fn write_out(&self, range: Range<u64>, wait: bool) -> io::Result<()>;
    /// Cuts the file, or extends it by zeros.
    ///
    /// # Errors
    /// As the system says.
    fn set_len(&self, len: u64) -> io::Result<()>;
}

/// Whether there is such a file.
///
/// # Errors
/// The system cannot say.
pub fn exists(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    match disk.len(path) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// A path that no file has: `path` with `suffix`, and a number behind it if earlier ones are there.
///
/// # Errors
/// As the system says.
pub fn free_name(disk: &dyn Disk, path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let named = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let mut free = named(suffix);
    let mut number = 1;
    while exists(disk, &free)? {
        number += 1;
        free = named(&format!("{suffix}.{number}"));
    }
    Ok(free)
}

/// Writes a file so that it is there whole or not at all: under a temporary name, synced, renamed,
/// the directory synced.
///
/// # Errors
/// As the system says; the file that was there before still is.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temp = path.with_file_name(name);
    if exists(disk, &temp)? {
        disk.remove(&temp)?;
    }
    let file = disk.open(&temp, true)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    drop(file);
    disk.rename(&temp, path)?;
    match path.parent() {
        Some(dir) => disk.sync_dir(dir),
        None => Ok(()),
    }
}

/// The system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Disk for Real {
    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn File>> {
        let file = fs::OpenOptions::new().read(true).write(true).create_new(create).open(path)?;
        Ok(Box::new(file))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        fs::File::open(path)?.sync_all()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let names = fs::read_dir(dir)?.map(|e| Ok(e?.file_name().into_string().ok()));
        names.filter_map(Result::transpose).collect()
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(fs::metadata(path)?.len())
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            // A file system without locks (some over networks): then no lock protects it.
            Err(fs::TryLockError::Error(_)) => Ok(Some(Box::new(file))),
        }
    }
}

impl File for fs::File {
    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    #[cfg(target_os = "linux")]
    fn write_out(&self, range: Range<u64>, wait: bool) -> io::Result<()> {
        let flags = libc::SYNC_FILE_RANGE_WRITE
            | if wait {
                libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WAIT_AFTER
            } else {
                0
            };
        let (from, len) = (range.start as i64, (range.end - range.start) as i64);
        // SAFETY: takes numbers only; the file is open.
        #[expect(unsafe_code, reason = "neither std nor rustix has it")]
        match unsafe { libc::sync_file_range(self.as_raw_fd(), from, len, flags) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn write_out(&self, _range: Range<u64>, wait: bool) -> io::Result<()> {
        if wait { self.sync_data() } else { Ok(()) }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        fs::File::set_len(self, len)
    }
}
