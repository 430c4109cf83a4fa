//! The keyspace under loom, with two shards. What a model of the lock alone would not show: whether the rules for
//! taking no lock ([`Keyspace::share`]) and those of a snapshot order every use of a shard, and whether what they
//! promise holds in every order of the threads' steps.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use data::entry::{Content, Entry, Str};
use stdx::rng::Rng;
use stdx::sync::loom::thread;
use stdx::sync::{Condvar, check};

use crate::{Class, Context, Db, Keep, Key, Keyspace, SoloToken, Ttl, Watch};

fn context(solo: SoloToken) -> Context {
    let mut cx = Context::new(1000, Rng::from_seed(1));
    cx.solo = solo;
    cx
}

fn set(ks: &Keyspace, cx: &mut Context, key: &[u8], value: &[u8]) {
    let key = Key::new(key);
    Db::lock_one(ks, 0, key, cx).set(key, Content::Bytes(value), Ttl::Clear);
}

/// A message from one thread to another.
#[derive(Default)]
struct Signal {
    is_given: stdx::sync::Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    fn give(&self) {
        *self.is_given.lock() = true;
        self.changed.notify_one();
    }

    fn wait(&self) {
        let mut is_given = self.is_given.lock();
        while !*is_given {
            self.changed.wait(&mut is_given);
        }
    }
}

/// The thread with the token lets another one in, for two reasons of which one ends early, and works on meanwhile.
#[test]
fn without_locks_there_is_one_thread() {
    check(2, || {
        let (ks, solo) = Keyspace::single(1, 1000);
        let mut cx = context(solo);
        let [begin, end] = [(); 2].map(|()| Arc::new(Signal::default()));
        let (theirs, may_begin, has_ended) =
            (Arc::clone(&ks), Arc::clone(&begin), Arc::clone(&end));
        thread::spawn(move || {
            may_begin.wait();
            set(&theirs, &mut context(SoloToken::NONE), b"k", b"another");
            has_ended.give();
        });
        set(&ks, &mut cx, b"k", b"alone");
        ks.share(&cx.solo);
        ks.share(&cx.solo);
        begin.give();
        set(&ks, &mut cx, b"k", b"with locks");
        ks.unshare(&cx.solo);
        set(&ks, &mut cx, b"k", b"still with locks");
        end.wait();
        ks.unshare(&cx.solo);
        assert!(ks.is_single());
        set(&ks, &mut cx, b"k", b"alone again");
    });
}

/// The values that the snapshot saved, by key.
#[derive(Default)]
struct Saved(Mutex<Vec<(Vec<u8>, usize)>>);

fn content(e: &Entry) -> (Vec<u8>, usize) {
    let length = match e.str() {
        Str::Int(n) => n.to_string().len(),
        Str::Inline(b) => b.len(),
        Str::Shared(b) => b.len(),
    };
    (e.key().to_vec(), length)
}

impl Keep for Saved {
    fn keep(&self, _: usize, e: &Entry) {
        self.0.lock().unwrap().push(content(e));
    }
}

/// Long enough that the writer freezes it and the snapshot saves the copy.
const LONG: usize = 80_000;

/// A change of a key, or of all of them.
type Change = (Option<&'static str>, fn(&mut Db<'_>));

/// The keys and the lengths of their values.
type Image = &'static [(&'static str, usize)];

fn put(db: &mut Db<'_>, key: &str, value: &[u8]) {
    db.set(Key::new(key.as_bytes()), Content::Bytes(value), Ttl::Clear);
}

/// A thread takes a snapshot while another one makes changes. The first image is what there is at the beginning, and
/// each change leads to the next.
fn snapshot_while(changes: &'static [Change], images: &'static [Image]) {
    check(2, move || {
        let ks = Keyspace::new(1, 1000);
        let mut cx = context(SoloToken::NONE);
        set(&ks, &mut cx, b"short", b"12345");
        set(&ks, &mut cx, b"long", &[b'x'; LONG]);
        // Changed with a shard locked; the snapshot begins with all of them locked. It orders nothing in the model.
        let done = Arc::new(AtomicUsize::new(0));
        let (theirs, counted) = (Arc::clone(&ks), Arc::clone(&done));
        let writer = thread::spawn(move || {
            let mut cx = context(SoloToken::NONE);
            for (key, change) in changes {
                let mut db = match key {
                    Some(key) => Db::lock_one(&theirs, 0, Key::new(key.as_bytes()), &mut cx),
                    None => Db::lock_all(&theirs, 0, &mut cx),
                };
                change(&mut db);
                counted.fetch_add(1, Relaxed);
            }
        });
        let saved = Arc::new(Saved::default());
        let mut moment = 0;
        let keep: Arc<dyn Keep> = Arc::<Saved>::clone(&saved);
        let snapshot = ks.begin_snapshot(&mut cx, keep, || moment = done.load(Relaxed)).unwrap();
        let add = |db: usize, e: &Entry| saved.keep(db, e);
        for mut walk in snapshot.walks(1) {
            while walk.step(&mut cx, 1, |db, e| {
                add(db, e);
                1
            }) {}
        }
        snapshot.finish(&mut cx, add);
        writer.join().unwrap();
        let mut saved = saved.0.lock().unwrap().clone();
        saved.sort();
        let expected = images[moment].iter().map(|(key, len)| (key.as_bytes().to_vec(), *len));
        assert!(saved.iter().cloned().eq(expected), "{saved:?} after {moment} changes");
    });
}

#[test]
fn a_snapshot_has_what_writers_change_and_delete() {
    let changes: &[Change] = &[
        (Some("short"), |db| put(db, "short", b"123")),
        (Some("long"), |db| assert!(db.delete(Key::new(b"long")))),
        (Some("new"), |db| put(db, "new", b"1")),
    ];
    let images: &[Image] = &[
        &[("long", LONG), ("short", 5)],
        &[("long", LONG), ("short", 3)],
        &[("short", 3)],
        &[("new", 1), ("short", 3)],
    ];
    snapshot_while(changes, images);
}

#[test]
fn a_snapshot_has_what_flushall_drops() {
    let changes: &[Change] = &[
        (None, |db| assert_eq!(db.flush(crate::Flush::Lazily), 2)),
        (Some("short"), |db| put(db, "short", b"1")),
    ];
    let images: &[Image] = &[&[("long", LONG), ("short", 5)], &[], &[("short", 1)]];
    snapshot_while(changes, images);
}

/// A thread watches a key that another one changes. Whether changes are noted at all is read without the lock that
/// a watch is registered under.
#[test]
fn a_change_after_the_watch_is_seen_by_it() {
    check(3, || {
        let ks = Keyspace::new(1, 1000);
        let key = Key::new(b"k");
        let theirs = Arc::clone(&ks);
        let writer = thread::spawn(move || {
            let mut cx = context(SoloToken::NONE);
            let mut db = Db::lock_one(&theirs, 0, key, &mut cx);
            db.set(key, Content::Bytes(b"v"), Ttl::Clear);
            db.event(Class::String, "set", key.bytes);
            db.notify();
        });
        let watch = Arc::new(Watch::default());
        let mut cx = context(SoloToken::NONE);
        let mut db = Db::lock_one(&ks, 0, key, &mut cx);
        let before = db.read(key).is_none();
        db.watch(key, &watch);
        drop(db);
        writer.join().unwrap();
        assert_eq!(watch.is_dirty(), before);
    });
}
