//! A snapshot is the keyspace as it was when the snapshot began, whatever is changed meanwhile.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use data::stream::{Id, NodeLimits, Stream};
use stdx::rng::Rng;
use store::{Content, Context, Db, Entry, Flush, Keep, Key, Keyspace, Kind, Str, Ttl};

const LIMITS: data::set::Limits =
    data::set::Limits { intset_entries: 8, listpack_entries: 16, listpack_value: 64 };

const HASH_LIMITS: data::hash::Limits = data::hash::Limits { entries: 16, value: 64 };

type Image = BTreeMap<(usize, Vec<u8>), (Vec<u8>, Option<i64>)>;

/// The saved entries; a second copy of anything is an error.
#[derive(Default)]
struct Saved(Mutex<Image>);

fn value(e: &Entry) -> (Vec<u8>, Option<i64>) {
    let bytes = match e.kind() {
        Kind::String => match e.str() {
            Str::Int(n) => n.to_string().into_bytes(),
            Str::Inline(b) => b.to_vec(),
            Str::Shared(b) => b.to_vec(),
        },
        _ => {
            let mut all = Vec::new();
            store::walk(e, &mut |part| all.extend_from_slice(format!("{part:?},").as_bytes()));
            all
        }
    };
    (bytes, e.deadline())
}

impl Saved {
    fn add(&self, db: usize, e: &Entry) {
        let old = self.0.lock().unwrap().insert((db, e.key().to_vec()), value(e));
        assert!(old.is_none(), "saved twice: {db} {:?}", String::from_utf8_lossy(e.key()));
    }
}

impl Keep for Saved {
    fn keep(&self, db: usize, e: &Entry) {
        self.add(db, e);
    }
}

fn image(ks: &Keyspace, cx: &mut Context) -> Image {
    let mut all = Image::new();
    for db in 0..ks.databases() {
        Db::lock_all(ks, db, cx).for_each(|e| {
            all.insert((db, e.key().to_vec()), value(e));
        });
    }
    all
}

/// A random change of one of four collections, which are or become so large that a snapshot takes a
/// frozen copy.
fn change_large(ks: &Keyspace, cx: &mut Context, rng: &mut Rng, more: bool) {
    let (name, kind) =
        [("set", Kind::Set), ("ints", Kind::Set), ("hash", Kind::Hash), ("log", Kind::Stream)]
            [rng.index(4)];
    let key = Key::new(name.as_bytes());
    let mut db = Db::lock_all(ks, 1, cx);
    if db.write(key).is_none() {
        match name {
            "ints" => {
                let ints: Vec<i64> = (0..9_000).map(|i| i << 40).collect();
                let set = data::set::BigSet::from_ints(&ints, data::set::Encoding::Hashtable);
                db.create(key, Entry::big(key.bytes, set, None, 0));
            }
            "log" => drop(db.create(key, Entry::big(key.bytes, Stream::default(), None, 0))),
            _ => drop(db.create_run(key, kind)),
        }
    }
    let Some(mut e) = db.peek(key) else { return };
    if let Some(stream) = e.node_mut().value_mut::<Stream>() {
        let limits = NodeLimits { bytes: 4096, entries: 4 };
        let id = Id::new(stream.log.last.ms + 1, 0);
        if more || rng.index(2) == 0 {
            let value = rng.next_u64().to_string().repeat(12);
            stream.log.append(id, [&b"field"[..], value.as_bytes()].into_iter(), limits);
        } else {
            stream.log.delete(Id::new(rng.below(id.ms), 0));
        }
        return;
    }
    if name == "ints" {
        let text = ((rng.below(9_000) << 40) + rng.below(9)).to_string();
        let item = store::packed::Item::of(text.as_bytes());
        if more || rng.index(2) == 0 {
            data::set::add(&mut e, item, &LIMITS);
        } else {
            data::set::remove(&mut e, item);
        }
        return;
    }
    let part = format!("m{}", rng.index(2000));
    let item = store::packed::Item::of(part.as_bytes());
    let text = rng.next_u64().to_string();
    match (more || rng.index(2) == 0, kind) {
        (true, Kind::Set) => drop(data::set::add(&mut e, item, &LIMITS)),
        (true, _) => {
            let value = data::hash::Value::Bytes(text.as_bytes());
            data::hash::set(&mut e, part.as_bytes(), &value, false, HASH_LIMITS);
        }
        (false, Kind::Set) => drop(data::set::remove(&mut e, item)),
        (false, _) => drop(data::hash::remove(&mut e, part.as_bytes())),
    }
}

/// One random change.
fn change(ks: &Keyspace, cx: &mut Context, rng: &mut Rng) {
    if rng.index(4) == 0 {
        return change_large(ks, cx, rng, false);
    }
    let name = format!("k{}", rng.index(300));
    let key = Key::new(name.as_bytes());
    let other = format!("k{}", rng.index(300));
    let index = rng.index(ks.databases());
    let mut db = Db::lock_all(ks, index, cx);
    let text = rng.next_u64().to_string();
    let deadline = rng.index(2) == 0;
    let ttl = if deadline { Ttl::At(1 << 40) } else { Ttl::Keep };
    match rng.index(200) {
        0 => drop(db.flush([Flush::Now, Flush::Lazily][rng.index(2)])),
        1 => {
            let last = db.databases() - 1;
            db.swap(0, last);
        }
        2..20 => drop(db.delete(key)),
        20..30 => {
            if let Some(e) = db.take(key) {
                db.delete(Key::new(other.as_bytes()));
                db.put(e.rename(other.as_bytes()));
            }
        }
        30..50 => drop(db.set_deadline(key, deadline.then_some(1 << 41))),
        50..90 => {
            if db.write(key).is_none() {
                db.create_run(key, Kind::Set);
            }
            let slot = db.peek(key).filter(|e| e.kind() == Kind::Set);
            if let Some(mut e) = slot {
                let item = store::packed::Item::of(text.as_bytes());
                data::set::add(&mut e, item, &LIMITS);
            }
        }
        90..100 => {
            let mut copy = db.read(key).map(|e| e.with_key(other.as_bytes()));
            if let Some(e) = copy.take() {
                db.replace(Key::new(other.as_bytes()), e);
            }
        }
        100..110 => {
            let long = vec![b'x'; 5000];
            db.set(key, Content::Bytes(&long), ttl);
        }
        _ => db.set(key, Content::Bytes(text.as_bytes()), ttl),
    }
}

#[test]
fn a_snapshot_is_of_one_moment() {
    for seed in 0..8 {
        let mut rng = Rng::from_seed(seed);
        let mut cx = Context::new(1000, Rng::from_seed(seed + 1000));
        let (ks, solo) = Keyspace::single(4, 1000);
        if seed % 2 == 0 {
            cx.solo = solo;
        } else {
            ks.share(&solo);
        }
        // The second and third snapshots find the marks as the first has left them.
        for _ in 0..3 {
            for _ in 0..rng.index(2000) {
                change(&ks, &mut cx, &mut rng);
            }
            for _ in 0..2600 + rng.index(1400) {
                change_large(&ks, &mut cx, &mut rng, true);
            }
            let before = image(&ks, &mut cx);
            let saved = Arc::new(Saved::default());
            let keep: Arc<dyn Keep> = Arc::<Saved>::clone(&saved);
            let snapshot = ks.begin_snapshot(&mut cx, keep, || {}).unwrap();
            let none = Arc::new(Saved::default());
            assert!(ks.begin_snapshot(&mut cx, none, || {}).is_none());
            let mut walks = snapshot.walks(3);
            while !walks.is_empty() {
                for _ in 0..rng.index(30) {
                    change(&ks, &mut cx, &mut rng);
                }
                let i = rng.index(walks.len());
                let more = walks[i].step(&mut cx, 1 + rng.index(4), |db, e| {
                    saved.add(db, e);
                    1
                });
                if !more {
                    walks.swap_remove(i);
                }
                if rng.index(50) == 0 {
                    snapshot.orphans(|db, e| saved.add(db, e));
                }
            }
            snapshot.finish(&mut cx, |db, e| saved.add(db, e));
            let saved = std::mem::take(&mut *saved.0.lock().unwrap());
            assert_eq!(saved.len(), before.len(), "seed {seed}");
            assert!(saved == before, "seed {seed}");
        }
    }
}

#[test]
fn the_next_one_begins_when_the_last_one_is_finished() {
    let context = |n| Context::new(1000, Rng::from_seed(n));
    let (mut cx, mut other) = (context(1), context(2));
    let ks = Keyspace::new(1, 1000);
    let mut set = |value: &[u8]| {
        let key = Key::new(b"k");
        let mut db = Db::lock_one(&ks, 0, key, &mut cx);
        db.set(key, Content::Bytes(value), Ttl::Clear);
    };
    set(&[b'x'; 100_000]);
    let saved = Arc::new(Saved::default());
    let snapshot = ks.begin_snapshot(&mut other, saved, || {}).unwrap();
    set(b"new");
    for mut walk in snapshot.walks(1) {
        while walk.step(&mut other, 1, |_, _| panic!("what has changed is frozen")) {}
    }
    let mut frozen = 0;
    snapshot.finish(&mut other, |_, _| {
        frozen += 1;
        assert!(ks.begin_snapshot(&mut cx, Arc::new(Saved::default()), || {}).is_none());
    });
    assert_eq!(frozen, 1);
    assert!(ks.begin_snapshot(&mut cx, Arc::new(Saved::default()), || {}).is_some());
}
