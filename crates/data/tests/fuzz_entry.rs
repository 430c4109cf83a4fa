//! Drives an [`Entry`] through random changes beside a plain model of it.

mod drive;

use std::sync::Arc;

use data::entry::{Content, Entry, INLINE_MAX, Kind, Str};
use stdx::mem::size_class;
use stdx::rng::Rng;

/// What an entry should hold.
#[derive(Clone, Debug)]
struct Model {
    key: Vec<u8>,
    value: Value,
    deadline: Option<i64>,
    access: u32,
    raw: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    Inline(Vec<u8>),
    Shared(Vec<u8>),
}

impl Value {
    fn of_bytes(bytes: Vec<u8>) -> Self {
        if bytes.len() > INLINE_MAX { Self::Shared(bytes) } else { Self::Inline(bytes) }
    }

    fn content(&self) -> Content<'_> {
        match self {
            Self::Int(n) => Content::Int(*n),
            Self::Inline(bytes) => Content::Bytes(bytes),
            Self::Shared(bytes) if bytes.len().is_multiple_of(2) => Content::Bytes(bytes),
            Self::Shared(bytes) => Content::Shared(Arc::new(bytes.clone())),
        }
    }
}

impl Model {
    fn check(&self, e: &Entry) {
        assert_eq!(e.key(), self.key);
        assert!(e.has_key(&self.key) && !e.has_key(&[&self.key[..], b"x"].concat()));
        if let Some(last) = self.key.last() {
            let mut other = self.key.clone();
            other[self.key.len() - 1] = !last;
            assert!(!e.has_key(&other) && !e.has_key(&self.key[1..]));
        }
        if let Some(bytes) = e.plain() {
            assert_eq!(Value::Inline(bytes.to_vec()), self.value);
            assert_eq!(self.deadline, None);
        }
        assert_eq!(e.kind(), Kind::String);
        assert_eq!(e.deadline(), self.deadline);
        assert_eq!(e.access(), self.access);
        let mut size = 8 + self.key.len() + if self.deadline.is_some() { 8 } else { 0 };
        size += if self.key.len() >= 255 { 8 } else { 0 };
        let (encoding, inline, behind) = match (&self.value, e.str()) {
            (Value::Int(model), Str::Int(n)) => {
                assert_eq!(n, *model);
                ("int", 8, 0)
            }
            (Value::Inline(model), Str::Inline(bytes)) => {
                assert_eq!(bytes, model);
                let short = bytes.len() <= 44 && !self.raw;
                (if short { "embstr" } else { "raw" }, bytes.len(), 0)
            }
            (Value::Shared(model), Str::Shared(bytes)) => {
                assert_eq!(**bytes, *model);
                ("raw", 8, size_class(bytes.capacity()) + size_class(40))
            }
            (model, _) => panic!("{model:?} is stored in another way"),
        };
        assert_eq!(e.encoding_name(), encoding);
        assert_eq!(e.bytes(), size_class(size + inline) + behind);
    }
}

fn some_bytes(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rng.fill(&mut bytes);
    bytes
}

fn some_key(rng: &mut Rng) -> Vec<u8> {
    let len = match rng.index(4) {
        0 => 250 + rng.index(10),
        1 => 256 + rng.index(2000),
        _ => rng.index(300),
    };
    some_bytes(rng, len)
}

fn some_value(rng: &mut Rng) -> Value {
    let len = match rng.index(6) {
        0 | 1 => return Value::Int(rng.next_u64() as i64),
        2 => rng.index(20),
        3 => rng.index(300),
        4 => INLINE_MAX - 3 + rng.index(7),
        _ => rng.index(3 * INLINE_MAX),
    };
    Value::of_bytes(some_bytes(rng, len))
}

fn some_deadline(rng: &mut Rng) -> Option<i64> {
    (rng.index(2) == 0).then(|| rng.next_u64() as i64)
}

/// One change of both; returns the entry, which may have moved.
fn change(rng: &mut Rng, mut e: Entry, m: &mut Model) -> Entry {
    match rng.index(10) {
        0..=2 => {
            (m.value, m.deadline, m.raw) = (some_value(rng), some_deadline(rng), false);
            e = e.set(m.value.content(), m.deadline);
        }
        3 => {
            m.deadline = some_deadline(rng);
            e = e.set_deadline(m.deadline);
        }
        4 => {
            m.access = rng.below(1 << 24) as u32;
            e.set_access(m.access);
        }
        5 => {
            m.raw = true;
            e.mark_raw();
        }
        6 => {
            m.key = some_key(rng);
            e = e.with_key(&m.key);
        }
        7 => overwrite(rng, &mut e, m),
        _ => in_place(rng, &mut e, m),
    }
    e
}

/// Writes over the value where that is possible, and only there.
fn overwrite(rng: &mut Rng, e: &mut Entry, m: &mut Model) {
    let class = |len: usize| size_class(8 + m.key.len() + len);
    let Value::Inline(old) = &m.value else {
        assert!(e.plain().is_none() && !e.overwrite(b"new"));
        return;
    };
    // Mostly of a length that may fit.
    let len = if rng.index(4) == 0 { rng.index(2 * INLINE_MAX) } else { old.len() ^ rng.index(16) };
    let new = some_bytes(rng, len);
    let plain = m.deadline.is_none() && m.key.len() < 255;
    assert_eq!(e.plain().is_some(), plain);
    let fits = plain && len <= INLINE_MAX && class(len) == class(old.len());
    assert_eq!(e.overwrite(&new), fits, "{} bytes over {}", len, old.len());
    if fits {
        (m.value, m.raw) = (Value::Inline(new), false);
    }
}

/// Changes the value where it lies; the accessors of other encodings must refuse.
fn in_place(rng: &mut Rng, e: &mut Entry, m: &mut Model) {
    match &mut m.value {
        Value::Int(model) => {
            assert!(e.inline_mut().is_none() && e.shared_mut().is_none());
            *model = rng.next_u64() as i64;
            *e.int_mut().expect("an integer") = *model;
        }
        Value::Inline(model) => {
            assert!(e.int_mut().is_none() && e.shared_mut().is_none());
            let bytes = e.inline_mut().expect("inline");
            m.raw = true;
            if !model.is_empty() {
                let at = rng.index(model.len());
                model[at] ^= 0x55;
                bytes[at] ^= 0x55;
            }
        }
        Value::Shared(model) => {
            assert!(e.int_mut().is_none() && e.inline_mut().is_none());
            // A reply holds on to the bytes in half of the cases and must keep the old ones.
            let held = match e.str() {
                Str::Shared(bytes) if rng.index(2) == 0 => Some(Arc::clone(bytes)),
                _ => None,
            };
            let before = model.clone();
            let bytes = e.shared_mut().expect("shared");
            let len = rng.index(2 * INLINE_MAX);
            model.resize(len, 7);
            bytes.resize(len, 7);
            if let Some(held) = held {
                assert_eq!(*held, before);
            }
        }
    }
}

#[test]
fn like_the_model() {
    for seed in drive::seeds(if cfg!(miri) { 2 } else { 60 }) {
        eprintln!("seed {seed}");
        let mut rng = Rng::from_seed(seed);
        let mut m = Model {
            key: some_key(&mut rng),
            value: some_value(&mut rng),
            deadline: some_deadline(&mut rng),
            access: rng.below(1 << 24) as u32,
            raw: false,
        };
        let mut e = Entry::string(&m.key, m.value.content(), m.deadline, m.access);
        m.check(&e);
        for _ in 0..drive::steps(1000) {
            e = change(&mut rng, e, &mut m);
            m.check(&e);
        }
    }
}
