//! Sizes of a worker's shared buffers.

/// Short input, in bytes: that of a connection that does not pipeline.
pub(super) const SMALL: usize = 256;
/// Leftovers up to this size are copied in front of the next read; longer ones grow in place.
pub(super) const LEFTOVER: usize = 32 * 1024;
/// The shared output buffer, in bytes: from the beginning, since its growth at the first large reply would
/// be missing from `maxmemory` all of a sudden.
pub(super) const OUTPUT: usize = 256 * 1024;
/// When one batch has made it larger than this, it is given back at once; when it is larger than it
/// was, some times per second.
pub(super) const OUTPUT_KEEP: usize = 4 << 20;
