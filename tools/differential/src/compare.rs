//! When two replies are the same: a reply is brought into a form in which what is free (order,
//! choice, idle times) no longer shows, and the forms are compared.

use crate::table::How;
use transcript::Reply;

/// `reply` without what `how` leaves free.
pub(crate) fn canonical(reply: &Reply, how: How) -> Reply {
    match (how, reply) {
        (_, Reply::Error(_)) | (How::Exact, _) => reply.clone(),
        (How::Sorted, _) => sorted(reply),
        (How::Pairs, _) => pairs(reply),
        (How::Scan, Reply::Array(items)) => behind_cursor(items, sorted),
        (How::ScanPairs, Reply::Array(items)) => behind_cursor(items, pairs),
        (How::Idle, Reply::Array(items)) => {
            let entry = |item: &Reply| match item {
                Reply::Array(fields) => {
                    let kept = fields.iter().enumerate().filter(|(i, _)| *i != 2);
                    Reply::Array(kept.map(|(_, field)| field.clone()).collect())
                }
                other => other.clone(),
            };
            Reply::Array(items.iter().map(entry).collect())
        }
        (How::Info, _) => info(reply, INFO_FREE),
        (How::Shape, _) => shape(reply),
        (_, other) => other.clone(),
    }
}

/// Any total order does.
fn key(reply: &Reply) -> String {
    format!("{reply:?}")
}

/// Its elements in some order that is always the same.
pub(crate) fn sorted(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(items) => {
            let mut items = items.clone();
            items.sort_by_cached_key(key);
            Reply::Array(items)
        }
        Reply::Set(items) => {
            let mut items = items.clone();
            items.sort_by_cached_key(key);
            Reply::Set(items)
        }
        other => other.clone(),
    }
}

fn pairs(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(items) => {
            let mut pairs: Vec<Reply> =
                items.chunks(2).map(|pair| Reply::Array(pair.to_vec())).collect();
            pairs.sort_by_cached_key(key);
            Reply::Array(pairs)
        }
        Reply::Map(pairs) => {
            let mut pairs = pairs.clone();
            pairs.sort_by_cached_key(|(name, _)| key(name));
            Reply::Map(pairs)
        }
        other => other.clone(),
    }
}

fn behind_cursor(items: &[Reply], form: fn(&Reply) -> Reply) -> Reply {
    Reply::Array(items.iter().map(form).collect())
}

fn shape(reply: &Reply) -> Reply {
    match reply {
        Reply::Array(items) => Reply::Array(items.iter().map(shape).collect()),
        Reply::Bulk(_) => Reply::Bulk(Vec::new()),
        Reply::Double(_) => Reply::Double(String::new()),
        // -1 and -2 say that there is no deadline, and no key.
        Reply::Integer(n) => Reply::Integer((*n).min(0)),
        other => other.clone(),
    }
}

/// Fields of XINFO that read a clock or tell how Redis stores a stream.
const INFO_FREE: &[&str] = &[
    "radix-tree-keys",
    "radix-tree-nodes",
    "idle",
    "inactive",
    "seen-time",
    "active-time",
    // Of one consumer's and the group's pending entries: id, time, count.
    "delivery-time",
];

/// XINFO's reply without some fields of the stream, its groups and their consumers.
pub(crate) fn without(reply: &Reply, names: &[&str]) -> Reply {
    info(reply, names)
}

fn info(reply: &Reply, free: &[&str]) -> Reply {
    match reply {
        Reply::Map(pairs) => {
            let kept = pairs.iter().filter(|(name, _)| !is_named(name, free));
            let field =
                |(name, value): &(Reply, Reply)| (name.clone(), info_field(name, value, free));
            Reply::Map(kept.map(field).collect())
        }
        Reply::Array(items) if is_flat_map(items) => {
            let is_free = |name: &Reply| is_named(name, free);
            let kept = items.chunks(2).filter(|pair| !pair.first().is_some_and(is_free));
            let field = |pair: &[Reply]| match pair {
                [name, value] => vec![name.clone(), info_field(name, value, free)],
                other => other.to_vec(),
            };
            Reply::Array(kept.flat_map(field).collect())
        }
        Reply::Array(items) => Reply::Array(items.iter().map(|item| info(item, free)).collect()),
        other => other.clone(),
    }
}

fn is_named(name: &Reply, names: &[&str]) -> bool {
    matches!(name, Reply::Bulk(text) if names.iter().any(|known| known.as_bytes() == text))
}

fn is_flat_map(items: &[Reply]) -> bool {
    let names = &["length", "name", "radix-tree-keys"];
    items.first().is_some_and(|first| is_named(first, names))
}

fn info_field(name: &Reply, value: &Reply, free: &[&str]) -> Reply {
    match value {
        // The group's entries are [id, consumer, time, count], a consumer's are [id, time, count].
        Reply::Array(entries)
            if is_named(name, &["pel", "pending"]) && free.contains(&"delivery-time") =>
        {
            let entry = |entry: &Reply| match entry {
                Reply::Array(fields) => {
                    let time = fields.len().saturating_sub(2);
                    let kept = fields.iter().enumerate().filter(|(i, _)| *i != time);
                    Reply::Array(kept.map(|(_, field)| field.clone()).collect())
                }
                other => other.clone(),
            };
            Reply::Array(entries.iter().map(entry).collect())
        }
        // An entry's fields may be named as ours are.
        other if is_named(name, &["groups", "consumers"]) => info(other, free),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;
    use crate::table::How;
    use transcript::Reply;

    fn texts(texts: &[&str]) -> Reply {
        Reply::Array(texts.iter().map(|text| Reply::Bulk(text.as_bytes().to_vec())).collect())
    }

    fn same(how: How, a: &[&str], b: &[&str]) -> bool {
        canonical(&texts(a), how) == canonical(&texts(b), how)
    }

    #[test]
    fn only_what_is_free_is_forgiven() {
        assert!(!same(How::Exact, &["a", "b"], &["b", "a"]));
        assert!(same(How::Sorted, &["a", "b"], &["b", "a"]));
        assert!(!same(How::Sorted, &["a", "a"], &["a"]));
        assert!(same(How::Pairs, &["a", "1", "b", "2"], &["b", "2", "a", "1"]));
        assert!(!same(How::Pairs, &["a", "1", "b", "2"], &["b", "1", "a", "2"]));
        assert!(same(How::Shape, &["a"], &["b"]));
        assert!(!same(How::Shape, &["a"], &["b", "c"]));
        let error = Reply::Error(b"ERR x".to_vec());
        assert_ne!(canonical(&error, How::Shape), canonical(&texts(&["a"]), How::Shape));
        assert_ne!(canonical(&Reply::Integer(-2), How::Shape), Reply::Integer(-1));
    }
}
