//! Entity tags.

/// A strong entity tag of some content, with quotes: the same for the same bytes on all servers.
#[must_use]
pub fn tag(bytes: &[u8]) -> String {
    format!("\"{:016x}-{:x}\"", twox_hash::XxHash3_64::oneshot(bytes), bytes.len())
}
