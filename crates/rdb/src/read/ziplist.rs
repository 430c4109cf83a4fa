//! Ziplists, in which Redis before 7.0 kept small collections.
//!
//! ```text
//!  | bytes 4 | offset of the last entry 4 | count 2 | entry … | ff |
//!  entry = | bytes of the entry before, 1 or fe and 4 | encoding | value |
//! ```

use data::packed::Item;

const HEAD: usize = 10;
const END: u8 = 0xff;

/// Calls `f` for every entry. None if anything is wrong with the ziplist or `f` says false.
pub(super) fn each(bytes: &[u8], mut f: impl FnMut(Item<'_>) -> bool) -> Option<()> {
    let total = u32::from_le_bytes(*bytes.first_chunk()?);
    let tail = u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?) as usize;
    let said = u16::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
    let (last, body) = bytes.split_last()?;
    if total as usize != bytes.len() || *last != END || body.len() < HEAD {
        return None;
    }
    let (mut at, mut before, mut count, mut last_at) = (HEAD, 0, 0usize, HEAD);
    while at < body.len() {
        let (item, next) = entry(body, at, before)?;
        if !f(item) {
            return None;
        }
        last_at = at;
        before = next - at;
        at = next;
        count += 1;
    }
    let right_tail = if count == 0 { tail <= body.len() } else { tail == last_at };
    (right_tail && (said == u16::MAX || usize::from(said) == count)).then_some(())
}

/// The entry at `at`, the one before it having `before` bytes, and where it ends.
fn entry(b: &[u8], at: usize, before: usize) -> Option<(Item<'_>, usize)> {
    let (said, at) = match *b.get(at)? {
        0xfe => (u32::from_le_bytes(*b.get(at + 1..)?.first_chunk()?) as usize, at + 5),
        0xff => return None,
        n => (usize::from(n), at + 1),
    };
    if said != before {
        return None;
    }
    let head = *b.get(at)?;
    let text = |from: usize, len: usize| {
        let end = from.checked_add(len)?;
        Some((Item::of(b.get(from..end)?), end))
    };
    let int = |n: usize| {
        let bytes = b.get(at + 1..=at + n)?;
        let mut wide = [if bytes.last()? & 0x80 == 0 { 0 } else { 0xff }; 8];
        wide.get_mut(..n)?.copy_from_slice(bytes);
        Some((Item::Int(i64::from_le_bytes(wide)), at + 1 + n))
    };
    match head {
        0..=0x3f => text(at + 1, usize::from(head)),
        0x40..=0x7f => text(at + 2, usize::from(head & 0x3f) << 8 | usize::from(*b.get(at + 1)?)),
        0x80 => text(at + 5, u32::from_be_bytes(*b.get(at + 1..)?.first_chunk()?) as usize),
        0xc0 => int(2),
        0xd0 => int(4),
        0xe0 => int(8),
        0xf0 => int(3),
        0xfe => int(1),
        0xf1..=0xfd => Some((Item::Int(i64::from(head & 15) - 1), at + 1)),
        _ => None,
    }
}
