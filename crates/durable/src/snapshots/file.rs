//! A snapshot's file: there whole under its name, or not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use persist::disk::{self, Disk, exists};

use super::sink::Sink;

/// Bytes that the system is asked to write to the disk at once (`rdb-save-incremental-fsync`), so
/// that the end of the snapshot is not one long wait for all users of the disk. Starting it takes the
/// core for as long as all these pages need.
const BEGIN_EVERY: u64 = 256 << 10;
/// Bytes that may be on their way: the writer waits for those before them.
const UNDER_WAY: u64 = 4 << 20;

/// A name beside the final one that no other process uses; within this one there is one snapshot at
/// a time. The name of a journal's base shows the journal, which removes the files that a crash has
/// left.
fn temporary(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|e| e == "base") {
        return path.with_extension("base.tmp");
    }
    path.with_file_name(format!("temp-{}.rdb", std::process::id()))
}

/// A file that gets its name when it is whole and durable. The file that has the name meanwhile stays if
/// this one fails, and no other file is left behind.
pub(crate) struct FileSink {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    temporary: PathBuf,
    /// Has the system begin to write early.
    sync_often: bool,
    /// Opened by the first write.
    file: Option<Box<dyn disk::File>>,
    bytes: u64,
    /// The system has begun to write the bytes before this one.
    begun: u64,
    /// The bytes before this one are written.
    written: u64,
    /// It is on the disk under its temporary name.
    is_there: bool,
}

impl FileSink {
    /// The file `path`; not opened yet.
    pub(crate) fn new(disk: Arc<dyn Disk>, path: &Path, sync_often: bool) -> Self {
        // `dir` may be another when it is done.
        let path = disk.absolute(path);
        let temporary = temporary(&path);
        let (bytes, begun, written) = (0, 0, 0);
        Self {
            disk,
            path,
            temporary,
            sync_often,
            file: None,
            bytes,
            begun,
            written,
            is_there: false,
        }
    }

    /// The file that it becomes.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The name that it has until it is whole.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }
}

fn open(disk: &dyn Disk, path: &Path) -> io::Result<Box<dyn disk::File>> {
    if exists(disk, path)? {
        disk.remove(path)?;
    }
    disk.open(path, true)
}

impl Sink for FileSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let file = none.insert(open(&*self.disk, &self.temporary)?);
                self.is_there = true;
                file
            }
        };
        file.write_at(bytes, self.bytes)?;
        self.bytes += bytes.len() as u64;
        if self.sync_often && self.bytes - self.begun >= BEGIN_EVERY {
            file.write_out(self.begun..self.bytes, false)?;
            self.begun = self.bytes;
            if self.begun - self.written >= 2 * UNDER_WAY {
                let until = self.written + UNDER_WAY;
                file.write_out(self.written..until, true)?;
                self.written = until;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(file) = self.file.take() {
            file.sync()?;
        }
        self.disk.rename(&self.temporary, &self.path)?;
        self.is_there = false;
        let dir = self.path.parent().filter(|d| !d.as_os_str().is_empty());
        self.disk.sync_dir(dir.unwrap_or(Path::new(".")))
    }
}

impl Drop for FileSink {
    fn drop(&mut self) {
        // One that has written nothing leaves the name alone: another one may be using it.
        if self.is_there {
            // The system's error has been reported by what failed before.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}
