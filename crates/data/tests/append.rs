//! `Entry::append` against a plain vector, over every way a string can be kept.

use std::sync::Arc;

use data::entry::{Content, Entry, INLINE_MAX, Str};

fn value(e: &Entry) -> Vec<u8> {
    match e.str() {
        Str::Int(n) => n.to_string().into_bytes(),
        Str::Inline(bytes) => bytes.to_vec(),
        Str::Shared(bytes) => bytes.to_vec(),
    }
}

/// Steps of many sizes, so that entries grow within their class, into the next, past several, and
/// out of the entry.
#[test]
fn grows_like_a_vector() {
    let keys = [b"k".to_vec(), vec![b'k'; 254], vec![b'k'; 255], vec![b'k'; 1000]];
    for key in &keys {
        for deadline in [None, Some(1_770_000_000_000)] {
            for step in [0, 1, 7, 100, 1000, INLINE_MAX, INLINE_MAX + 1] {
                let mut e = Entry::string(key, Content::Int(-42), deadline, 77);
                let mut model = b"-42".to_vec();
                for round in 0..60u8 {
                    let tail = vec![round; step];
                    e = e.append(&tail);
                    model.extend_from_slice(&tail);
                    assert_eq!(value(&e), model);
                    assert_eq!(e.key(), key);
                    assert_eq!((e.deadline(), e.access()), (deadline, 77));
                    assert_eq!(e.encoding_name(), "raw");
                    if model.len() > 3 * INLINE_MAX {
                        break;
                    }
                }
            }
        }
    }
}

/// A reply that still goes out keeps the bytes it was given.
#[test]
fn leaves_a_shared_string_to_its_reader() {
    let bytes = Arc::new(vec![b'x'; INLINE_MAX + 1]);
    let e = Entry::string(b"k", Content::Shared(Arc::clone(&bytes)), None, 0);
    let e = e.append(b"y");
    assert_eq!(bytes.len(), INLINE_MAX + 1);
    assert_eq!(value(&e).len(), INLINE_MAX + 2);
}
