//! Where Apus differs from Redis 7.0 on purpose. Everything else is a mistake.
//!
//! An exception forgives a reply, never a difference in what is stored: what changes data in one
//! server and not in the other must not be sent at all.

use crate::compare::{sorted, without};
use crate::{Args, lag};
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
        reason: "Redis 7.2 keeps small sets and small lists in a listpack",
        applies: |args, redis, apus| {
            is(args, &["OBJECT", "ENCODING"])
                && (text(redis, "hashtable") || text(redis, "quicklist"))
                && text(apus, "listpack")
        },
    },
    Exception {
        reason: "Redis 7.4 counts the lag of a group also where entries were deleted",
        applies: |args, redis, apus| {
            let is_same = |names: &[&str]| without(redis, names) == without(apus, names);
            let is_full = is(args, &["XINFO", "STREAM"]) && args.len() > 3;
            // Where entries are missing, the count of those read is an estimate, too.
            is(args, &["XINFO", "GROUPS"]) && is_same(&["lag", "entries-read"])
                || is_full
                    && lag::is_right(apus)
                    && (is_same(&["lag"])
                        || lag::has_gaps(apus) && is_same(&["lag", "entries-read"]))
        },
    },
    Exception {
        reason: "Redis 7.4 says which command has unbalanced streams",
        applies: |_, redis, apus| {
            error(redis, "ERR Unbalanced XREAD list") && error(apus, "ERR Unbalanced 'xread")
        },
    },
    Exception {
        reason: "Redis 7.4 reads the last entry with XREAD and the ID +",
        applies: |args, redis, apus| {
            is(args, &["XREAD"])
                && args.iter().any(|arg| arg == b"+")
                && error(redis, "ERR Invalid stream ID")
                && (!error(apus, "ERR ") || error(apus, "ERR The > ID can be specified only"))
        },
    },
    Exception {
        reason: "Redis 7.4 says why the ID + is no use to XREADGROUP",
        applies: |args, redis, apus| {
            is(args, &["XREADGROUP"])
                && error(redis, "ERR Invalid stream ID")
                && error(apus, "ERR The + ID is meaningless")
        },
    },
    Exception {
        reason: "Redis 7.2 knows a timeout that is too long from one that is negative",
        applies: |_, redis, apus| {
            error(redis, "ERR timeout is negative") && error(apus, "ERR timeout is out of range")
        },
    },
    Exception {
        reason: "Redis 7.4 refuses a timeout that ends past the end of time also in WAIT",
        applies: |args, redis, apus| {
            is(args, &["WAIT"])
                && matches!(redis, Reply::Integer(_))
                && error(apus, "ERR timeout is out of range")
        },
    },
    Exception {
        reason: "Redis 7.2 refuses a timeout that ends past the end of time at once, and earlier \
                 versions go on to the next argument",
        applies: |args, redis, apus| {
            args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BLOCK"))
                && !error(redis, "ERR timeout")
                && error(apus, "ERR timeout is out of range")
        },
    },
    Exception {
        reason: "of places at the same distance, Redis's COUNT takes and sorts any",
        applies: |args, redis, apus| {
            let counts = args.iter().any(|arg| arg.eq_ignore_ascii_case(b"COUNT"));
            let is_geo =
                args.first().is_some_and(|name| name[..].to_ascii_uppercase().starts_with(b"GEO"));
            // All but the last place must be the same.
            counts
                && is_geo
                && matches!((redis, apus), (Reply::Array(redis), Reply::Array(apus))
                if redis.len() == apus.len()
                    && apus.iter().filter(|place| !redis.contains(place)).count() <= 1)
        },
    },
    Exception {
        reason: "Redis 7.2 refuses a rank that cannot be negated",
        applies: |args, _, apus| {
            is(args, &["LPOS"]) && error(apus, "ERR value is out of range, value must between")
        },
    },
    Exception {
        reason: "what SORT … BY has no order for, least of all in sets, has none",
        applies: |args, redis, apus| {
            let has = |word: &str| args.iter().any(|a| a.eq_ignore_ascii_case(word.as_bytes()));
            let by = args.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(b"BY"));
            let is_sort = is(args, &["SORT"]) || is(args, &["SORT_RO"]);
            is_sort
                && by.is_some_and(|by| has("ALPHA") || !by[1].contains(&b'*'))
                && (sorted(redis) == sorted(apus)
                    || has("LIMIT")
                        && matches!((redis, apus),
                        (Reply::Array(redis), Reply::Array(apus)) if redis.len() == apus.len()))
        },
    },
    Exception {
        reason: "Redis 7.2 writes scores in the shortest form that reads back as the same number",
        applies: |args, redis, apus| is_of_scores(args) && same_numbers(redis, apus),
    },
    Exception {
        reason: "Redis 7.2 checks the numbers of BITCOUNT and BITPOS before it looks at the key",
        applies: |args, redis, apus| {
            (is(args, &["BITCOUNT"]) || is(args, &["BITPOS"]))
                && (matches!(redis, Reply::Integer(0 | -1)) || error(redis, "WRONGTYPE "))
                && (error(apus, "ERR value is not an integer") || error(apus, "ERR syntax error"))
        },
    },
    Exception {
        reason: "Redis's SORT takes the ERANGE of a tiny score in the sorted set for one of its own",
        applies: |args, redis, apus| {
            (is(args, &["SORT"]) || is(args, &["SORT_RO"]))
                && !args.iter().any(|arg| arg.eq_ignore_ascii_case(b"STORE"))
                && error(redis, "ERR One or more scores can't be converted into double")
                && matches!(apus, Reply::Array(_))
        },
    },
    Exception {
        reason: "to strcoll, a text ends at its first zero byte; what is the same up to there has no \
                 order",
        applies: |args, redis, apus| {
            let ends_early =
                |reply: &Reply| matches!(reply, Reply::Bulk(text) if text.contains(&0));
            (is(args, &["SORT"]) || is(args, &["SORT_RO"]))
                && args.iter().any(|arg| arg.eq_ignore_ascii_case(b"ALPHA"))
                && sorted(redis) == sorted(apus)
                && matches!(redis, Reply::Array(items) if items.iter().any(ends_early))
        },
    },
    Exception {
        reason: "errors of Apus are UTF-8 also where they quote what a client sent",
        applies: |_, redis, apus| {
            matches!((redis, apus), (Reply::Error(redis), Reply::Error(apus))
                if String::from_utf8_lossy(redis).as_bytes() == apus)
        },
    },
    Exception {
        reason: "of streams without an ID each, the command itself tells; Redis finds the first half",
        applies: |args, redis, apus| {
            is(args, &["COMMAND", "GETKEYS", "XREAD"])
                && matches!(redis, Reply::Array(_))
                && error(apus, "ERR Invalid arguments specified for command")
        },
    },
    Exception {
        reason: "Redis 7.4 gives nothing, not the first byte, for a range that ends before the text",
        applies: |args, redis, apus| {
            (is(args, &["GETRANGE"]) || is(args, &["SUBSTR"]))
                && args.get(3).is_some_and(|end| end.starts_with(b"-"))
                && matches!(redis, Reply::Bulk(text) if text.len() == 1)
                && text(apus, "")
        },
    },
];

/// Whether the replies are the same, except for intended differences.
pub(crate) fn is_same(args: &Args, redis: &Reply, apus: &Reply) -> bool {
    redis == apus || EXCEPTIONS.iter().any(|exception| (exception.applies)(args, redis, apus))
}

fn is(args: &Args, words: &[&str]) -> bool {
    words.len() <= args.len()
        && words.iter().zip(args).all(|(word, arg)| word.as_bytes().eq_ignore_ascii_case(arg))
}

/// Whether replies of the command have scores or distances.
fn is_of_scores(args: &Args) -> bool {
    let name = args.first().map_or_else(Vec::new, |name| name.to_ascii_uppercase());
    [&b"Z"[..], b"BZ", b"GEO"].iter().any(|start| name.starts_with(start))
}

/// The same except for the form of numbers.
fn same_numbers(redis: &Reply, apus: &Reply) -> bool {
    match (redis, apus) {
        (Reply::Array(redis), Reply::Array(apus)) => {
            redis.len() == apus.len() && redis.iter().zip(apus).all(|(r, a)| same_numbers(r, a))
        }
        (Reply::Bulk(redis), Reply::Bulk(apus)) => {
            redis == apus || number(redis).is_some_and(|n| number(apus) == Some(n))
        }
        (Reply::Double(redis), Reply::Double(apus)) => {
            redis == apus || number(redis.as_bytes()) == number(apus.as_bytes())
        }
        _ => redis == apus,
    }
}

fn number(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn text(reply: &Reply, expected: &str) -> bool {
    matches!(reply, Reply::Bulk(text) if text == expected.as_bytes())
}

fn error(reply: &Reply, start: &str) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(start.as_bytes()))
}
