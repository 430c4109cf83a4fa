//! Where a snapshot's bytes go: the way from the queue to a [`Sink`].

use std::io;

use rdb::Encoder;
use store::Background;

use super::queue::Queue;

/// Bytes that are written at once: about as much work as is done between two pauses.
const PART: usize = 128 << 10;

/// Takes a snapshot's bytes in order, on one thread. A sink that is dropped before it has been
/// [finished](Self::finish) has got a part of a snapshot only.
pub trait Sink: Send {
    /// Takes the next bytes; waits as long as it must.
    ///
    /// # Errors
    /// The sink cannot take the bytes: the snapshot ends.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// The snapshot is whole: no more bytes follow. Called once.
    ///
    /// # Errors
    /// The bytes are not where they should be.
    fn finish(&mut self) -> io::Result<()>;
}

/// Writes `head`, everything that comes through the queue, and the end; with `background`, pauses now and
/// then. Returns the length. After an error nothing is queued any more.
///
/// # Errors
/// The sink's errors; or the snapshot was given up.
pub(super) fn drain(
    sink: &mut dyn Sink,
    head: &[u8],
    queue: &Queue,
    checksum: bool,
    background: Option<Background>,
) -> io::Result<u64> {
    let outcome = write(sink, head, queue, checksum, background);
    if outcome.is_err() {
        queue.kill();
    }
    outcome
}

fn write(
    sink: &mut dyn Sink,
    head: &[u8],
    queue: &Queue,
    checksum: bool,
    mut background: Option<Background>,
) -> io::Result<u64> {
    let (mut crc, mut bytes) = (0, 0u64);
    let mut add = |piece: &[u8]| {
        sink.write(piece)?;
        if checksum {
            crc = rdb::crc64(crc, piece);
        }
        bytes += piece.len() as u64;
        io::Result::Ok(())
    };
    add(head)?;
    while let Some(piece) = queue.take() {
        for part in piece.chunks(PART) {
            add(part)?;
            if let Some(background) = &mut background {
                background.yield_point();
            }
        }
    }
    if queue.is_dead() {
        return Err(io::Error::other("given up"));
    }
    let encoder = Encoder::new(false);
    let mut end = Vec::new();
    encoder.end(&mut end);
    add(&end)?;
    let mut sum = Vec::new();
    encoder.checksum(&mut sum, crc);
    sink.write(&sum)?;
    sink.finish()?;
    Ok(bytes + sum.len() as u64)
}
