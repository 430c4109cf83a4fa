//! A snapshot's file: there whole under its name, or not at all.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rdb::Encoder;

use super::queue::Queue;

/// Bytes after which the file is forced to disk (`rdb-save-incremental-fsync`), so that the end of
/// the snapshot is not one long wait for everybody who uses the disk.
const SYNC_EVERY: u64 = 4 << 20;

/// A name beside the final one that no other process uses; within this one there is one snapshot at
/// a time.
pub(super) fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!("temp-{}.rdb", std::process::id()))
}

/// What is asked of the file.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    pub(super) checksum: bool,
    pub(super) sync_often: bool,
}

/// Writes `head`, everything that comes through the queue, and the end. Returns the length.
///
/// # Errors
/// As the system says; the file that was there before still is, and nothing else is left behind.
pub(super) fn write(path: &Path, head: &[u8], queue: &Queue, wishes: &Wishes) -> io::Result<u64> {
    let temp = temporary(path);
    let outcome = write_to(&temp, head, queue, wishes).and_then(|bytes| {
        fs::rename(&temp, path)?;
        let dir = path.parent().filter(|d| !d.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(bytes)
    });
    if outcome.is_err() {
        queue.kill();
        let _ = fs::remove_file(&temp);
    }
    outcome
}

fn write_to(temp: &Path, head: &[u8], queue: &Queue, wishes: &Wishes) -> io::Result<u64> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(temp)?;
    let (mut crc, mut bytes, mut synced) = (0, 0u64, 0u64);
    let mut add = |piece: &[u8]| {
        file.write_all(piece)?;
        if wishes.checksum {
            crc = rdb::crc64(crc, piece);
        }
        bytes += piece.len() as u64;
        if wishes.sync_often && bytes - synced >= SYNC_EVERY {
            file.sync_data()?;
            synced = bytes;
        }
        io::Result::Ok(())
    };
    add(head)?;
    while let Some(piece) = queue.take() {
        add(&piece)?;
    }
    let encoder = Encoder::new(false);
    let mut end = Vec::new();
    encoder.end(&mut end);
    add(&end)?;
    let mut sum = Vec::new();
    encoder.checksum(&mut sum, crc);
    file.write_all(&sum)?;
    file.sync_all()?;
    Ok(bytes + sum.len() as u64)
}
