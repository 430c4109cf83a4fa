//! Commands of strings.

mod get;
mod set;

use store::{Content, Entry, Str};

use crate::command::DataCommand;

pub(crate) static COMMANDS: &[&DataCommand] = &[&get::GET, &set::SET];

/// How a value given by a client is stored: as an integer when it reads as one.
#[inline]
pub(crate) fn content(bytes: &[u8]) -> Content<'_> {
    if bytes.len() <= 20
        && let Some(n) = stdx::num::parse_i64(bytes)
    {
        return Content::Int(n);
    }
    Content::Bytes(bytes)
}

/// Writes a string value as a reply.
#[inline]
pub(crate) fn reply_value(e: &Entry, reply: &mut resp::Reply<'_>) {
    match e.str() {
        Str::Inline(b) => reply.bulk(b),
        Str::Int(n) => reply.bulk_int(n),
        Str::Shared(s) => reply.bulk_shared(s),
    }
}
