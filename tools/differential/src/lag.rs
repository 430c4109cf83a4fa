//! The lag of a consumer group, as Redis 7.4 counts it.
//!
//! Redis 7.0 gives other numbers once entries were deleted or trimmed (redis/redis#13338 and
//! #13473 put that right), so it is no measure for them. XINFO STREAM … FULL tells all that the
//! number is made of: here it is made once more.

use transcript::Reply;

type Id = (u64, u64);

/// Whether every group in the reply to XINFO STREAM … FULL has the lag that it should have.
pub(crate) fn is_right(stream: &Reply) -> bool {
    let check = || {
        let Reply::Array(groups) = field(stream, "groups")? else { return None };
        Some(groups.iter().all(|group| {
            let shown = match field(group, "lag") {
                Some(Reply::Integer(lag)) => Some(*lag),
                _ => None,
            };
            expected(stream, group).is_some_and(|lag| lag == shown)
        }))
    };
    check().unwrap_or(false)
}

/// Whether entries were deleted from within the stream.
pub(crate) fn has_gaps(stream: &Reply) -> bool {
    id(stream, "max-deleted-entry-id").is_some_and(|id| id != (0, 0))
}

/// The outer `None` is a reply that lacks a field.
fn expected(stream: &Reply, group: &Reply) -> Option<Option<i64>> {
    let length = number(stream, "length")?;
    let added = number(stream, "entries-added")?;
    let first = id(stream, "recorded-first-entry-id")?;
    let last = id(stream, "last-generated-id")?;
    let deleted = id(stream, "max-deleted-entry-id")?;
    let delivered = id(group, "last-delivered-id")?;
    let has_gaps = has_gaps(stream);
    if added == 0 || length == 0 {
        return Some(Some(0));
    }
    if delivered < first && deleted < first {
        return Some(Some(length));
    }
    if let Some(read) = number(group, "entries-read")
        && !(has_gaps && delivered <= deleted)
    {
        return Some(Some(added.wrapping_sub(read)));
    }
    Some(match delivered {
        _ if delivered != (0, 0) && delivered < deleted => None,
        _ if delivered == last => Some(0),
        _ if delivered > last || has_gaps && deleted >= first => None,
        _ if delivered < first => Some(length),
        _ if delivered == first => Some(length - 1),
        _ => None,
    })
}

/// A field of a map, or of the flat array that RESP2 has for it.
fn field<'a>(map: &'a Reply, name: &str) -> Option<&'a Reply> {
    let is_it = |key: &Reply| matches!(key, Reply::Bulk(text) if text == name.as_bytes());
    match map {
        Reply::Map(pairs) => pairs.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value),
        Reply::Array(items) => {
            let mut pairs = items.chunks_exact(2);
            pairs.find(|pair| pair.first().is_some_and(is_it))?.last()
        }
        _ => None,
    }
}

fn number(map: &Reply, name: &str) -> Option<i64> {
    match field(map, name)? {
        Reply::Integer(n) => Some(*n),
        _ => None,
    }
}

fn id(map: &Reply, name: &str) -> Option<Id> {
    let Reply::Bulk(text) = field(map, name)? else { return None };
    let (ms, seq) = std::str::from_utf8(text).ok()?.split_once('-')?;
    Some((ms.parse().ok()?, seq.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::is_right;
    use transcript::Reply;

    /// Entries 1-0 to 4-0 were added, of which `length` are left from `first` on.
    fn stream(length: i64, first: &str, deleted: &str, delivered: &str, lag: Option<i64>) -> Reply {
        let text = |text: &str| Reply::Bulk(text.into());
        let map = |fields: &[(&str, Reply)]| {
            Reply::Map(fields.iter().map(|(name, value)| (text(name), value.clone())).collect())
        };
        let group = map(&[
            ("last-delivered-id", text(delivered)),
            ("entries-read", Reply::Nil),
            ("lag", lag.map_or(Reply::Nil, Reply::Integer)),
        ]);
        map(&[
            ("length", Reply::Integer(length)),
            ("last-generated-id", text("4-0")),
            ("max-deleted-entry-id", text(deleted)),
            ("entries-added", Reply::Integer(4)),
            ("recorded-first-entry-id", text(first)),
            ("groups", Reply::Array(vec![group])),
        ])
    }

    #[test]
    fn lags() {
        assert!(is_right(&stream(4, "1-0", "0-0", "0-0", Some(4))));
        assert!(!is_right(&stream(4, "1-0", "0-0", "0-0", Some(3))));
        assert!(is_right(&stream(4, "1-0", "0-0", "1-0", Some(3))));
        assert!(is_right(&stream(4, "1-0", "0-0", "4-0", Some(0))));
        assert!(is_right(&stream(4, "1-0", "0-0", "2-0", None)));
        assert!(!is_right(&stream(4, "1-0", "0-0", "2-0", Some(2))));
        // Trimmed from the front; a gap in the middle; nothing left.
        assert!(is_right(&stream(2, "3-0", "2-0", "1-0", Some(2))));
        assert!(is_right(&stream(3, "1-0", "3-0", "1-0", None)));
        assert!(is_right(&stream(0, "0-0", "4-0", "1-0", Some(0))));
    }
}
