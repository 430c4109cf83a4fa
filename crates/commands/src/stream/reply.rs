//! Replies about entries.

use data::stream::{Entry, Id, JOINED_MAX, Log, Text};
use resp::Reply;

/// An ID.
pub(super) fn id(reply: &mut Reply<'_>, id: Id) {
    let (mut a, mut b) = (itoa::Buffer::new(), itoa::Buffer::new());
    let (ms, seq) = (a.format(id.ms).as_bytes(), b.format(id.seq).as_bytes());
    let mut text = [b'-'; 41];
    let end = ms.len() + 1 + seq.len();
    text[..ms.len()].copy_from_slice(ms);
    text[ms.len() + 1..end].copy_from_slice(seq);
    reply.bulk(&text[..end]);
}

fn text(reply: &mut Reply<'_>, text: Text<'_>) {
    match text {
        Text::Int(n) => reply.bulk_int(n),
        Text::Bytes(b) => reply.bulk(b),
        Text::Joined(..) => reply.bulk(text.bytes(&mut [0; JOINED_MAX])),
    }
}

/// An entry: its ID, and its fields and values in turn.
pub(super) fn entry(reply: &mut Reply<'_>, e: &Entry<'_>) {
    reply.array(2);
    id_and_fields(reply, e);
}

/// The same with the milliseconds since its last delivery, and how often it was delivered before.
pub(super) fn delivered(reply: &mut Reply<'_>, e: &Entry<'_>, idle: i64, count: u64) {
    reply.array(4);
    id_and_fields(reply, e);
    reply.int(idle);
    reply.int(i64::try_from(count).unwrap_or(i64::MAX));
}

fn id_and_fields(reply: &mut Reply<'_>, e: &Entry<'_>) {
    id(reply, e.id);
    let fields = e.fields();
    reply.array(2 * fields.len());
    for (field, value) in fields {
        text(reply, field);
        text(reply, value);
    }
}

/// Entries, `count` at most (0: all).
pub(super) fn entries<'a>(
    reply: &mut Reply<'_>,
    entries: impl Iterator<Item = Entry<'a>>,
    count: u64,
) {
    let (mark, mut n) = (reply.begin(), 0);
    let max = if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) };
    for e in entries.take(max) {
        entry(reply, &e);
        n += 1;
    }
    reply.end_array(mark, n);
}

/// The entry of an ID, or null where it is gone.
pub(super) fn entry_or_null(reply: &mut Reply<'_>, log: &Log, at: Id) {
    match log.get(at) {
        Some(e) => entry(reply, &e),
        None => {
            reply.array(2);
            id(reply, at);
            reply.null_array();
        }
    }
}
