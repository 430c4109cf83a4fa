//! What another server said, as text for the log.

/// Most characters of it that a log line shows.
const SHOWN_MAX: usize = 256;

/// The bytes as one line of visible ASCII, cut after 256 characters.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let visible = |b: &u8| if (0x20..0x7f).contains(b) { char::from(*b) } else { '?' };
    bytes.iter().take(SHOWN_MAX).map(visible).collect()
}
