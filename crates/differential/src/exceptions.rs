//! Where Apus differs from Redis 7.0 on purpose. Everything else is a mistake.
//!
//! An exception forgives a reply, never a difference in what is stored: what changes data in one
//! server and not in the other must not be sent at all.

use crate::Args;
use transcript::Reply;

/// One difference that is wanted.
pub(crate) struct Exception {
    /// Why Apus answers as it does.
    #[expect(dead_code, reason = "read by people")]
    pub(crate) reason: &'static str,
    /// Whether this is it, given the command and the replies of Redis and of Apus.
    pub(crate) applies: fn(&Args, &Reply, &Reply) -> bool,
}

pub(crate) const EXCEPTIONS: &[Exception] = &[
    Exception {
        reason: "Redis 7.2 keeps small sets in a listpack",
        applies: |args, redis, apus| {
            is(args, &["OBJECT", "ENCODING"]) && text(redis, "hashtable") && text(apus, "listpack")
        },
    },
    Exception {
        reason: "Redis 7.4 says which command has unbalanced streams",
        applies: |_, redis, apus| {
            starts(redis, "ERR Unbalanced XREAD list") && starts(apus, "ERR Unbalanced 'xread")
        },
    },
];

/// Whether the difference is one of those above.
pub(crate) fn is_wanted(args: &Args, redis: &Reply, apus: &Reply) -> bool {
    EXCEPTIONS.iter().any(|exception| (exception.applies)(args, redis, apus))
}

fn is(args: &Args, words: &[&str]) -> bool {
    words.len() <= args.len()
        && words.iter().zip(args).all(|(word, arg)| word.as_bytes().eq_ignore_ascii_case(arg))
}

fn text(reply: &Reply, expected: &str) -> bool {
    match reply {
        Reply::Bulk(text) | Reply::Status(text) | Reply::Error(text) => text == expected.as_bytes(),
        _ => false,
    }
}

fn starts(reply: &Reply, expected: &str) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(expected.as_bytes()))
}
