//! Topics in an object store that other processes write to as well, and that fails in all its ways.

mod common;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::faulty::{Faults, Faulty};
use common::{Rng, TempDir, all_from, from, input, objects_options};
use log::storage::object::{self, Bucket, CacheOptions, Objects};
use log::storage::{Storage as _, Want};
use log::{Broker, Error, Options, Settings};
use object_store::memory::InMemory;
use object_store::path::Path as Name;
use object_store::{Attribute, ObjectStore, ObjectStoreExt as _, PutOptions};
use parking_lot::Mutex;

/// The messages for people.
type Told = Arc<Mutex<Vec<String>>>;

fn process_with(
    bucket: Bucket,
    options: object::Options,
    kept_max: usize,
    cache: Option<&Path>,
) -> (Broker, Told) {
    let told = Told::default();
    let (tell, told2) = (Arc::clone(&told), Arc::clone(&told));
    let cache = cache.map(|dir| CacheOptions { dir: dir.to_owned(), bytes: 1 << 20 });
    let hear = Arc::new(move |text: &str| tell.lock().push(text.to_owned()));
    let storage = Objects::open(bucket, options, cache, hear).expect("a store");
    let tell = Box::new(move |text: &str| told2.lock().push(text.to_owned()));
    let options = Options { kept_max, ..Options::default() };
    (Broker::new(Arc::new(storage), options, tell, Box::new(common::real_us)), told)
}

fn process(bucket: Bucket, options: object::Options) -> Broker {
    process_with(bucket, options, 0, None).0
}

fn bucket(store: &Arc<InMemory>) -> Bucket {
    Bucket::new(Arc::clone(store) as Arc<dyn ObjectStore>, "", "memory://")
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}

/// The objects in a folder.
fn listed(store: &InMemory, folder: &str) -> Vec<Name> {
    use futures_util::TryStreamExt as _;
    let all = store.list(Some(&Name::from(folder))).map_ok(|m| m.location);
    let mut all: Vec<Name> = wait(all.try_collect()).expect("listed");
    all.sort();
    all
}

/// The objects of the only topic's log.
fn log_of(store: &InMemory) -> Vec<Name> {
    let mut all = listed(store, "data");
    all.retain(|p| p.as_ref().contains("/log/"));
    all
}

#[test]
fn two_processes_append_and_read() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    let b = process(bucket(&store), objects_options());
    let mut expected = Vec::new();
    for i in 0..50u64 {
        let (writer, reader) = if i % 3 == 0 { (&a, &b) } else { (&b, &a) };
        let record = format!("r{i}").into_bytes();
        let stored = writer.append_wait("t", input(&[&record])).expect("stored");
        assert_eq!(stored.first_offset, i);
        expected.push(record);
        if i % 7 == 0 {
            assert_eq!(all_from(reader, "t", 0), expected);
        }
    }
    // What one waits for, the other brings.
    std::thread::scope(|s| {
        let waiting = s.spawn(|| a.wait_for("t", 50, Duration::from_secs(60)));
        b.append_wait("t", input(&[b"last"])).expect("stored");
        assert_eq!(waiting.join().expect("no panic"), Ok(true));
    });
    assert_eq!(b.describe("t").expect("there").extent.objects, 51);
}

#[test]
fn a_retry_is_recognised_by_another_process() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    let b = process(bucket(&store), objects_options());
    b.create("t", &Settings::default()).expect("created");
    b.open("t").expect("open");
    let first = a.append_wait("t", input(&[b"x"]).by(7, 1)).expect("stored");
    let again = b.append_wait("t", input(&[b"x"]).by(7, 1)).expect("stored");
    assert!(again.duplicate && again.first_offset == first.first_offset);
    let gap = b.append_wait("t", input(&[b"z"]).by(7, 3));
    assert_eq!(gap, Err(Error::Sequence { producer: 7, expected: 2, got: 3 }));
    assert!(!b.append_wait("t", input(&[b"y"]).by(7, 2)).expect("stored").duplicate);
    assert_eq!(all_from(&a, "t", 0), [b"x", b"y"]);
}

#[test]
fn what_was_stored_without_an_answer_is_stored_once() {
    let store = Arc::new(InMemory::new());
    let faulty = Faulty::new(&store, Faults::default(), 1);
    let options = object::Options { patience: Duration::from_millis(50), ..objects_options() };
    let a = process(faulty.bucket(), options.clone());
    a.create("t", &Settings::default()).expect("created");
    a.open("t").expect("open");
    faulty.set(Faults { lost: 1000, ..Faults::default() });
    assert_eq!(a.append_wait("t", input(&[b"x"])).map(|s| s.first_offset), Ok(0));
    assert_eq!(log_of(&store).len(), 1);
    // The result is unknown at first; then it turns out that it was stored.
    faulty.set(Faults { late: 1000, late_ms: 0, ..Faults::default() });
    let numbered = || input(&[b"y"]).by(5, 1);
    let unknown = loop {
        match a.append_wait("t", numbered()) {
            Err(e) => break e,
            // Its retry found it already.
            Ok(s) => assert!(s.first_offset == 1),
        }
        faulty.set(Faults { failed: 1000, ..Faults::default() });
    };
    assert!(unknown.to_string().contains("bad day"), "{unknown}");
    faulty.set(Faults::default());
    let again = a.append_wait("t", numbered()).expect("stored");
    assert_eq!(again.first_offset, 1);
    assert_eq!(all_from(&process(bucket(&store), options), "t", 0), [b"x", b"y"]);
}

#[test]
fn a_name_that_is_free_again_is_not_taken() {
    let store = Arc::new(InMemory::new());
    // All is old at once.
    let options = object::Options {
        grace: Duration::from_millis(2),
        check: Duration::from_secs(600),
        ..objects_options()
    };
    let sleeper = process(bucket(&store), options.clone());
    for _ in 0..3 {
        sleeper.append_wait("t", input(&[b"old"]).by(3, 1)).expect("stored");
    }
    let other = process(bucket(&store), options);
    let settings = Settings { retention_bytes: 1, ..Settings::default() };
    other.set("t", settings).expect("set");
    for i in 0..10u8 {
        other.append_wait("t", input(&[&[i; 100]])).expect("stored");
    }
    testing::eventually("all but one are trimmed", || {
        other.trim("t").expect("trimmed");
        (log_of(&store).len() == 1).then_some(())
    });
    let left = log_of(&store);
    let late = sleeper.append_wait("t", input(&[b"late"])).expect("stored");
    assert_eq!(late.first_offset, 11);
    // Nothing was left where it tried first.
    assert_eq!(log_of(&store).len(), left.len() + 1);
    assert!(log_of(&store).starts_with(&left));
    // A known producer stays known although its records are gone.
    let again = sleeper.append_wait("t", input(&[b"old"]).by(3, 1)).expect("known");
    assert!(again.duplicate && again.first_offset == 0, "{again:?}");
    assert_eq!(sleeper.describe("t").expect("there").extent.first, 10);
    assert!(matches!(sleeper.read("t", &from(2)), Err(Error::OutOfBounds { first: 10, .. })));
}

#[test]
fn deleted_and_changed_by_another_server() {
    let store = Arc::new(InMemory::new());
    let options = object::Options { check: Duration::ZERO, ..objects_options() };
    let a = process(bucket(&store), options.clone());
    let b = process(bucket(&store), options);
    a.append_wait("t", input(&[b"x"])).expect("stored");
    a.commit("t", "g", 1).expect("kept");
    assert_eq!(b.committed("t", "g"), Ok(Some(1)));
    let settings = Settings { linger_ms: Some(3), ..Settings::default() };
    b.set("t", settings.clone()).expect("set");
    assert_eq!(a.describe("t").expect("there").settings, settings);
    // A reader that waits for a record of a deleted topic is notified, and producers that append begin
    // a new one.
    let (tx, rx) = std::sync::mpsc::channel();
    let wake = Box::new(move || tx.send(()).expect("received"));
    let waiting = a.wait("t", 1, wake).expect("open");
    b.delete("t").expect("deleted");
    rx.recv_timeout(Duration::from_secs(60)).expect("woken");
    drop(waiting);
    assert_eq!(a.describe("t").map(|_| ()), Err(Error::NoTopic("t".to_owned())));
    assert_eq!(a.append_wait("t", input(&[b"new"])).map(|s| s.first_offset), Ok(0));
    assert_eq!(a.committed("t", "g"), Ok(None));
    assert_eq!(all_from(&b, "t", 0), [b"new"]);
    // Without a request.
    b.delete("t").expect("deleted");
    assert_eq!(a.append_wait("t", input(&[b"newer"])).map(|s| s.first_offset), Ok(0));
    assert_eq!(all_from(&b, "t", 0), [b"newer"]);
}

#[test]
fn a_damaged_copy_is_reported_and_fetched_again() {
    let (store, dir) = (Arc::new(InMemory::new()), TempDir::new());
    let (a, told) = process_with(bucket(&store), objects_options(), 0, Some(dir.path()));
    let record = vec![b'r'; 1000];
    for _ in 0..2 {
        a.append_wait("t", input(&[&record, &record])).expect("stored");
    }
    let copies = || -> Vec<_> {
        let ids = std::fs::read_dir(dir.path()).expect("a directory").flatten();
        let id = ids.map(|e| e.path()).find(|p| p.is_dir()).expect("the topic's");
        let mut files: Vec<_> =
            std::fs::read_dir(id).expect("files").flatten().map(|e| e.path()).collect();
        files.sort();
        files
    };
    assert_eq!(copies().len(), 2);
    assert_eq!(all_from(&a, "t", 0), vec![record.clone(); 4]);
    assert!(told.lock().is_empty(), "{told:?}");
    let damaged = copies()[1].clone();
    let sound = std::fs::read(&damaged).expect("there");
    for at in [0, 50, 90, sound.len() - 1] {
        let mut wrong = sound.clone();
        wrong[at] ^= 4;
        std::fs::write(&damaged, &wrong).expect("written");
        assert_eq!(all_from(&a, "t", 0), vec![record.clone(); 4]);
        let text = told.lock().pop().expect("told");
        let file = damaged.display().to_string();
        assert!(
            text.contains("'t' is damaged at offset 2") && text.contains(&file),
            "{at}: {text}"
        );
        assert_eq!(std::fs::read(&damaged).expect("there"), sound, "it was fetched again");
    }
    std::fs::write(&damaged, &sound[..sound.len() - 1]).expect("written");
    assert_eq!(all_from(&a, "t", 2), vec![record.clone(); 2]);
    // Reads come from the copies, also after a restart.
    drop(a);
    let faulty = Faulty::new(&store, Faults::default(), 1);
    let mut opened = None;
    for _ in 0..50 {
        let cache = Some(CacheOptions { dir: dir.path().to_owned(), bytes: 1 << 20 });
        opened = Objects::open(faulty.bucket(), objects_options(), cache, Arc::new(|_| {})).ok();
        if opened.is_some() {
            break;
        }
    }
    let log = opened.expect("free").open("t", &Settings::default(), &|_| {}).expect("open");
    faulty.kill();
    assert_eq!(log.read(&from(0)).expect("from copies").len(), 2);
}

#[test]
fn a_damaged_object_is_an_error_with_its_place() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..3u8 {
        a.append_wait("t", input(&[&[i; 100], b""])).expect("stored");
    }
    let object = log_of(&store)[1].clone();
    let sound = wait(async { store.get(&object).await?.bytes().await }).expect("there");
    let mut wrong = sound.to_vec();
    wrong[120] ^= 1;
    wait(store.put(&object, wrong.into())).expect("stored");
    for broker in [&a, &process(bucket(&store), objects_options())] {
        let e = broker.read("t", &from(3)).map(|_| ());
        let Err(Error::Damaged(d)) = e else { panic!("{e:?}") };
        assert_eq!((d.topic.as_str(), d.offset, d.position, d.resumes), ("t", 2, 0, Some(4)));
        assert_eq!(d.object, format!("memory://{object}"));
        assert_eq!(broker.read("t", &from(0)).expect("sound").batches.len(), 1);
        assert_eq!(broker.read("t", &from(4)).expect("sound").batches.len(), 1);
        let damage = broker.verify("t", &mut |_| {}).expect("read");
        assert_eq!(damage.iter().map(|d| d.offset).collect::<Vec<_>>(), [2]);
    }
    // Nothing of a header is left: the next object tells where it ends.
    wait(store.put(&object, vec![7; 300].into())).expect("stored");
    let (b, told) = process_with(bucket(&store), objects_options(), 0, None);
    assert_eq!(b.append_wait("t", input(&[b"x"])).map(|s| s.first_offset), Ok(6));
    assert!(told.lock()[0].contains("damaged at offset 2"), "{told:?}");
    // Nothing comes behind: the records before it can be read.
    let last = log_of(&store)[3].clone();
    wait(store.put(&last, vec![7; 300].into())).expect("stored");
    let (c, told) = process_with(bucket(&store), objects_options(), 0, None);
    assert_eq!(c.read("t", &from(4)).expect("sound").batches.len(), 1);
    let e = c.append_wait("t", input(&[b"x"])).expect_err("it would give offsets twice");
    assert!(matches!(&e, Error::Damaged(d) if d.offset == 6), "{e}");
    assert!(e.to_string().contains(&format!("memory://{last}")), "{e}");
    assert!(e.to_string().contains("apus log repair"), "{e}");
    assert_eq!(c.verify("t", &mut |_| {}).expect("read").len(), 2);
    // No producer gets the offsets that may have been given out.
    assert_eq!(c.repair("t"), Ok((Vec::new(), Some(1_000_000_000_006))));
    assert_eq!(c.repair("t"), Ok((Vec::new(), None)));
    for (broker, offset) in [(&c, 1_000_000_000_006), (&a, 1_000_000_000_007)] {
        let stored = broker.append_wait("t", input(&[b"x"]));
        assert_eq!(stored.map(|s| s.first_offset), Ok(offset));
    }
    let e = a.read("t", &from(7)).map(|_| ());
    assert!(matches!(&e, Err(Error::Damaged(d)) if d.resumes == Some(1_000_000_000_006)), "{e:?}");
    assert!(told.lock().iter().any(|t| t.contains("damaged at offset 6")), "{told:?}");
    drop(b);
    wait(store.delete(&object)).expect("deleted");
    let e = a.read("t", &from(2)).map(|_| ());
    assert!(matches!(&e, Err(Error::Damaged(d)) if d.why.contains("missing")), "{e:?}");
    assert_eq!(a.verify("t", &mut |_| {}).expect("read").len(), 2);
}

#[test]
fn a_destroyed_last_object_still_says_where_it_ends() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    a.append_wait("t", input(&[b"first"])).expect("stored");
    a.append_wait("t", input(&[b"x", b"y", b"z"]).by(7, 1)).expect("stored");
    let last = log_of(&store)[1].clone();
    let attributes = wait(async { store.get(&last).await }).expect("there").attributes;
    let options = PutOptions { attributes, ..PutOptions::default() };
    wait(store.put_opts(&last, vec![7; 300].into(), options)).expect("stored");
    // Nothing is behind it, and none of its headers can be read: it is known all the same which offsets
    // were given out, and no producer gets them again.
    let (b, told) = process_with(bucket(&store), objects_options(), 0, None);
    assert_eq!(b.append_wait("t", input(&[b"next"])).map(|s| s.first_offset), Ok(4));
    assert!(told.lock()[0].contains("damaged at offset 1"), "{told:?}");
    let e = b.read("t", &from(2)).map(|_| ());
    assert!(matches!(&e, Err(Error::Damaged(d)) if d.resumes == Some(4)), "{e:?}");
    assert_eq!(all_from(&b, "t", 4), [b"next"]);
    let damage = b.verify("t", &mut |_| {}).expect("read");
    assert_eq!(damage.iter().map(|d| d.offset).collect::<Vec<_>>(), [1]);
}

#[test]
fn an_object_that_is_none() {
    let store = Arc::new(InMemory::new());
    let options = object::Options { patience: Duration::from_millis(50), ..objects_options() };
    let a = process(bucket(&store), options.clone());
    a.append_wait("t", input(&[b"x"])).expect("stored");
    let named = |n: u64| {
        let first = log_of(&store)[0].clone();
        Name::from(first.as_ref().replace("00000000000000000000", &format!("{n:020}")))
    };
    let next = named(1);
    // Empty, and not to be told where it ends, or told so that no offsets were left.
    for next_said in [None, Some("1"), Some("-7"), Some("18446744073709551615")] {
        let said = next_said.map(|n| (Attribute::Metadata("apusnext".into()), n));
        let attributes = said.into_iter().collect();
        let put = PutOptions { attributes, ..PutOptions::default() };
        wait(store.put_opts(&next, Vec::new().into(), put)).expect("stored");
        for broker in [&a, &process(bucket(&store), options.clone())] {
            let e = broker.append_wait("t", input(&[b"y"]));
            assert!(matches!(&e, Err(Error::Damaged(d)) if d.offset == 1), "{next_said:?}: {e:?}");
            assert_eq!(broker.read("t", &from(0)).expect("sound").batches.len(), 1);
        }
    }
    wait(store.delete(&next)).expect("deleted");
    // Nor do names count that no topic gets to.
    wait(store.put(&named(u64::MAX), vec![1].into())).expect("stored");
    wait(store.put(&next, vec![7; 100].into())).expect("stored");
    let e = a.append_wait("t", input(&[b"y"]));
    assert!(matches!(&e, Err(Error::Damaged(d)) if d.resumes.is_none()), "{e:?}");
}

#[test]
fn a_deletion_that_failed_is_not_made_up_for_later() {
    let store = Arc::new(InMemory::new());
    let faulty = Faulty::new(&store, Faults::default(), 1);
    let options = object::Options { patience: Duration::from_millis(20), ..objects_options() };
    let a = process(faulty.bucket(), options.clone());
    a.append_wait("t", input(&[b"x"])).expect("stored");
    faulty.set(Faults { undeletable: true, ..Faults::default() });
    assert!(matches!(a.delete("t"), Err(Error::Storage(_))));
    faulty.set(Faults::default());
    // It goes on as if nothing had been; so it does after a restart.
    assert_eq!(a.append_wait("t", input(&[b"y"])).map(|s| s.first_offset), Ok(1));
    let b = process(bucket(&store), options);
    let deadline = Instant::now() + Duration::from_secs(20);
    let marks = || listed(&store, "deleted");
    while !marks().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", marks());
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(all_from(&b, "t", 0), [b"x", b"y"]);
    // One that was done is.
    b.delete("t").expect("deleted");
    while !listed(&store, "data").is_empty() || !marks().is_empty() {
        assert!(Instant::now() < deadline, "{:?}", listed(&store, "data"));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_store_may_list_more_than_it_was_asked_for() {
    // Azurite does not know where to begin.
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..5u8 {
        a.append_wait("t", input(&[&[i; 100], b""])).expect("stored");
    }
    // Only the name of the next one tells where it ends.
    wait(store.put(&log_of(&store)[3], vec![7; 300].into())).expect("stored");
    let faulty = Faulty::new(&store, Faults { whole_lists: true, ..Faults::default() }, 1);
    let b = process(faulty.bucket(), objects_options());
    let e = b.read("t", &from(7)).map(|_| ());
    assert!(matches!(&e, Err(Error::Damaged(d)) if d.resumes == Some(8)), "{e:?}");
    assert_eq!(b.append_wait("t", input(&[b"x"])).map(|s| s.first_offset), Ok(10));
}

#[test]
fn who_reads_on_gets_what_comes_next_meanwhile() {
    // Opening reads, and so copies, those behind the 128th.
    const OBJECTS: u64 = 140;
    const READ: u64 = 110;
    for cached in [true, false] {
        let (store, dir) = (Arc::new(InMemory::new()), TempDir::new());
        let a = process(bucket(&store), objects_options());
        let expected: Vec<Vec<u8>> = (0..OBJECTS).map(|i| vec![i as u8; 1000]).collect();
        for record in &expected {
            a.append_wait("t", input(&[record])).expect("stored");
        }
        let slow = Faulty::new(&store, Faults { get_ms: 20, ..Faults::default() }, 1);
        let cache = cached.then(|| dir.path());
        let storage = common::objects(slow.bucket(), objects_options(), cache);
        let log = storage.open("t", &Settings::default(), &|_| {}).expect("open");
        slow.gets.store(0, Relaxed);
        slow.together.store(0, Relaxed);
        // One alone is fetched alone, and once.
        let one =
            |offset| Want { offset, records: 1, bytes: 1, before: u64::MAX, most: usize::MAX };
        for _ in 0..2 {
            assert_eq!(log.read(&one(120)).expect("there").len(), 1);
        }
        assert_eq!((slow.gets.load(Relaxed), slow.together.load(Relaxed)), (1, 1));
        for i in 0..READ {
            let batches = log.read(&one(i)).expect("there");
            assert_eq!(batches[0].records().expect("sound").block(), &expected[i as usize]);
        }
        // Each once, and some that are not read.
        let gets = slow.gets.load(Relaxed);
        assert!((READ..=READ + 16).contains(&gets), "{gets} were fetched");
        let together = slow.together.load(Relaxed);
        assert!((4..=16).contains(&together), "{together} at the same time");
    }
}

#[test]
fn objects_for_readers_take_no_more_memory_than_they_may() {
    const SIZE: usize = 100_000;
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..30u8 {
        a.append_wait("t", input(&[&[i; SIZE]])).expect("stored");
    }
    let options = object::Options { fetch_max: 3 * SIZE + 1000, ..objects_options() };
    let faulty = Faulty::new(&store, Faults { get_ms: 1, ..Faults::default() }, 1);
    let storage = common::objects(faulty.bucket(), options, None);
    let log = storage.open("t", &Settings::default(), &|_| {}).expect("open");
    faulty.together.store(0, Relaxed);
    let one = |offset| Want { offset, records: 1, bytes: 1, before: u64::MAX, most: usize::MAX };
    // Readers that keep the groups that they have read leave no room for others …
    let mut held: Vec<_> = (0..3).map(|i| log.read(&one(i)).expect("there")).collect();
    assert!(faulty.together.load(Relaxed) <= 2);
    assert!(matches!(log.read(&one(9)), Err(Error::Busy { .. })));
    // … until they let go of it.
    held.remove(0);
    assert_eq!(log.read(&one(9)).expect("there")[0].header.first_offset, 9);
    drop(held);
    for i in 0..30 {
        assert_eq!(log.read(&one(i)).expect("there")[0].header.first_offset, i);
    }
    // One who wants more than there is room for gets less.
    let all = log.read(&from(0)).expect("there");
    assert!((1..=3).contains(&all.len()), "{}", all.len());
    drop(all);
}

#[test]
fn requests_at_a_time_are_bounded() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..40u8 {
        a.append_wait("t", input(&[&[i; 1000]])).expect("stored");
    }
    let faulty = Faulty::new(&store, Faults { get_ms: 5, ..Faults::default() }, 1);
    let options = object::Options { requests_max: 3, ..objects_options() };
    let b = process(faulty.bucket(), options);
    b.open("t").expect("open");
    std::thread::scope(|s| {
        for thread in 0..12u64 {
            let b = &b;
            s.spawn(move || {
                for i in 0..20 {
                    let offset = (thread * 7 + i * 3) % 40;
                    assert!(!b.read("t", &from(offset)).expect("there").batches.is_empty());
                }
            });
        }
    });
    let together = faulty.together.load(Relaxed);
    assert!((2..=3).contains(&together), "{together} at a time");
}

#[test]
fn what_many_readers_want_is_fetched_once() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..30u8 {
        a.append_wait("t", input(&[&[i; 1000]])).expect("stored");
    }
    let faulty = Faulty::new(&store, Faults { get_ms: 30, ..Faults::default() }, 1);
    let storage = common::objects(faulty.bucket(), objects_options(), None);
    let log = storage.open("t", &Settings::default(), &|_| {}).expect("open");
    faulty.gets.store(0, Relaxed);
    let one = Want { offset: 15, records: 1, bytes: 1, before: u64::MAX, most: usize::MAX };
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| assert_eq!(log.read(&one).expect("there").len(), 1));
        }
    });
    assert_eq!(faulty.gets.load(Relaxed), 1);
}

#[test]
fn a_damaged_head_is_made_up_for() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..100u64 {
        a.append_wait("t", input(&[b"x"]).by(1, i)).expect("stored");
    }
    let object = log_of(&store)[0].clone();
    let head = Name::from(object.as_ref().replace("/log/00000000000000000000", "/head"));
    let sound = wait(async { store.get(&head).await?.bytes().await }).expect("there");
    assert!(sound.len() > 100, "the state was written down");
    let mut wrong = sound.to_vec();
    wrong[20] ^= 1;
    wait(store.put(&head, wrong.into())).expect("stored");
    let (b, told) = process_with(bucket(&store), objects_options(), 0, None);
    assert!(b.append_wait("t", input(&[b"x"]).by(1, 99)).expect("known").duplicate);
    assert_eq!(all_from(&b, "t", 0).len(), 100);
    assert!(told.lock()[0].contains("head is damaged"), "{told:?}");
}

#[test]
fn a_store_that_takes_every_put_is_refused() {
    #[derive(Debug)]
    struct Careless(InMemory);
    impl std::fmt::Display for Careless {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("careless")
        }
    }
    #[async_trait::async_trait]
    impl ObjectStore for Careless {
        async fn put_opts(
            &self,
            location: &Name,
            payload: object_store::PutPayload,
            _: object_store::PutOptions,
        ) -> object_store::Result<object_store::PutResult> {
            self.0.put(location, payload).await
        }
        async fn put_multipart_opts(
            &self,
            location: &Name,
            options: object_store::PutMultipartOptions,
        ) -> object_store::Result<Box<dyn object_store::MultipartUpload>> {
            self.0.put_multipart_opts(location, options).await
        }
        async fn get_opts(
            &self,
            location: &Name,
            options: object_store::GetOptions,
        ) -> object_store::Result<object_store::GetResult> {
            self.0.get_opts(location, options).await
        }
        fn delete_stream(
            &self,
            all: futures_util::stream::BoxStream<'static, object_store::Result<Name>>,
        ) -> futures_util::stream::BoxStream<'static, object_store::Result<Name>> {
            self.0.delete_stream(all)
        }
        fn list(
            &self,
            prefix: Option<&Name>,
        ) -> futures_util::stream::BoxStream<'static, object_store::Result<object_store::ObjectMeta>>
        {
            self.0.list(prefix)
        }
        async fn list_with_delimiter(
            &self,
            prefix: Option<&Name>,
        ) -> object_store::Result<object_store::ListResult> {
            self.0.list_with_delimiter(prefix).await
        }
        async fn copy_opts(
            &self,
            from: &Name,
            to: &Name,
            options: object_store::CopyOptions,
        ) -> object_store::Result<()> {
            self.0.copy_opts(from, to, options).await
        }
    }
    let bucket = Bucket::new(Arc::new(Careless(InMemory::new())), "", "memory://");
    let refused = Objects::open(bucket, objects_options(), None, Arc::new(|_| {}));
    let e = refused.expect_err("it would lose records");
    assert!(e.to_string().contains("If-None-Match"), "{e}");
}

/// Several processes on one topic of a store on a bad day; some of them are killed. What must hold is
/// checked at the end.
fn round(seed: u64) {
    const PROCESSES: u64 = 3;
    const PRODUCERS: u64 = 4;
    const EACH: u64 = 25;
    let store = Arc::new(InMemory::new());
    let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let faults = Faults {
        failed: rng.below(120),
        lost: rng.below(200),
        late: rng.below(150),
        late_ms: 1 + rng.below(40),
        stale: rng.below(500),
        ..Faults::default()
    };
    let options = object::Options {
        patience: Duration::from_millis(10 + rng.below(100)),
        check: Duration::from_millis(rng.below(50)),
        // Much longer than anything is late, also on a machine that stops now and then.
        grace: Duration::from_secs(60),
        ..objects_options()
    };
    let start = |seed: u64| {
        let faulty = Faulty::new(&store, Faults::default(), seed);
        let broker = process(faulty.bucket(), options.clone());
        faulty.set(faults);
        (faulty, broker)
    };
    process(bucket(&store), options.clone()).create("t", &Settings::default()).expect("created");
    let processes: Vec<Mutex<(Arc<Faulty>, Broker)>> =
        (0..PROCESSES).map(|i| Mutex::new(start(seed * 100 + i))).collect();
    let over = AtomicBool::new(false);
    // (offset, record): the acknowledged ones, and those that readers saw.
    let (acknowledged, seen) = (Mutex::new(Vec::new()), Mutex::new(HashMap::new()));
    std::thread::scope(|s| {
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|p| {
                let (processes, acknowledged) = (&processes, &acknowledged);
                let mut rng = Rng(seed * 1000 + p + 1);
                s.spawn(move || {
                    let deadline = Instant::now() + Duration::from_secs(600);
                    for i in 0..EACH {
                        let record = format!("{p}-{i}").into_bytes();
                        let mut last = None;
                        let stored = loop {
                            let late = Instant::now() >= deadline;
                            assert!(!late, "round {seed} does not end: {record:?}, {last:?}");
                            let at = rng.below(PROCESSES) as usize;
                            let broker = processes[at].lock().1.clone();
                            match broker.append_wait("t", input(&[&record]).by(p + 1, i)) {
                                Ok(stored) => break stored,
                                Err(Error::Sequence { expected, .. }) => {
                                    panic!("round {seed}: {p} sends {i}, wanted is {expected}")
                                }
                                Err(e) => last = Some(e),
                            }
                        };
                        acknowledged.lock().push((stored.first_offset, record));
                    }
                })
            })
            .collect();
        s.spawn(|| {
            let mut rng = Rng(seed + 77);
            while !over.load(Relaxed) {
                let at = rng.below(PROCESSES) as usize;
                let (broker, offset) = (processes[at].lock().1.clone(), rng.below(100));
                if let Ok(found) = broker.read("t", &from(offset)) {
                    for b in found.batches {
                        let records = b.records().expect("sound");
                        for (i, record) in records.iter().enumerate() {
                            let offset = b.header.first_offset + i as u64;
                            let before = seen.lock().insert(offset, record.clone());
                            assert!(before.is_none_or(|b| b == record), "round {seed}: {offset}");
                        }
                    }
                }
                std::thread::sleep(Duration::from_millis(rng.below(5)));
            }
        });
        s.spawn(|| {
            let mut rng = Rng(seed + 99);
            let mut before = 0;
            while !over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(rng.below(400)));
                // On a slow machine no process would make progress otherwise.
                while acknowledged.lock().len() == before && !over.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                before = acknowledged.lock().len();
                let at = rng.below(PROCESSES) as usize;
                let mut process = processes[at].lock();
                process.0.kill();
                *process = start(seed * 100 + rng.below(1 << 20));
            }
        });
        let results: Vec<_> = producers.into_iter().map(|p| p.join()).collect();
        over.store(true, Relaxed);
        for r in results {
            if let Err(panic) = r {
                std::panic::resume_unwind(panic);
            }
        }
    });
    // What was under way lands.
    std::thread::sleep(Duration::from_millis(faults.late_ms + 20));
    let fresh = process(bucket(&store), objects_options());
    let all = all_from(&fresh, "t", 0);
    assert_eq!(all.len() as u64, PRODUCERS * EACH, "round {seed}: each is there once");
    for (offset, record) in acknowledged.lock().iter() {
        assert_eq!(&all[*offset as usize], record, "round {seed}: offset {offset}");
    }
    for (offset, record) in seen.lock().iter() {
        assert_eq!(all[*offset as usize], &record[..], "round {seed}: seen at {offset}");
    }
    let mut next = [0; PRODUCERS as usize];
    for record in &all {
        let text = String::from_utf8(record.clone()).expect("text");
        let (p, i) = text.split_once('-').expect("ours");
        let next = &mut next[p.parse::<usize>().expect("a number")];
        assert_eq!(i.parse::<u64>(), Ok(*next), "round {seed}: in the producer's order");
        *next += 1;
    }
    assert!(fresh.verify("t", &mut |_| {}).expect("readable").is_empty());
}

/// `ROUNDS=1000` for more, `ROUND=17` for that one.
#[test]
fn nothing_is_lost_on_bad_days() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    if let Some(seed) = number("ROUND") {
        return round(seed);
    }
    let rounds = number("ROUNDS").unwrap_or(4);
    for seed in 1..=rounds {
        round(seed);
    }
}

#[test]
fn offsets_are_never_used_again_when_an_object_vanishes() {
    let store = Arc::new(InMemory::new());
    let a = process(bucket(&store), objects_options());
    for i in 0..6u8 {
        a.append_wait("t", input(&[&[i; 100], b""])).expect("stored");
    }
    // In the middle: its name is free, but what comes behind tells that it is not the end.
    let vanished = log_of(&store)[2].clone();
    wait(store.delete(&vanished)).expect("deleted");
    let (b, told) = process_with(bucket(&store), objects_options(), 0, None);
    assert_eq!(b.append_wait("t", input(&[b"x"])).map(|s| s.first_offset), Ok(12));
    assert!(told.lock()[0].contains("damaged at offset 4"), "{told:?}");
    let e = b.read("t", &from(5)).map(|_| ());
    let Err(Error::Damaged(d)) = e else { panic!("{e:?}") };
    assert!(d.resumes == Some(6) && d.why.contains("missing"), "{d}");
    assert_eq!(all_from(&b, "t", 6).len(), 7);
    assert_eq!(b.verify("t", &mut |_| {}).expect("read").len(), 1);
    // At the end: a topic that has come to rest knows where it ended.
    let storage = Objects::open(bucket(&store), objects_options(), None, Arc::new(|_| {}));
    let log = storage.expect("a store").open("t", &Settings::default(), &|_| {}).expect("open");
    log.release_idle(Some(&Vec::new));
    let last = log_of(&store).pop().expect("there");
    wait(store.delete(&last)).expect("deleted");
    let c = process(bucket(&store), objects_options());
    assert_eq!(c.append_wait("t", input(&[b"y"])).map(|s| s.first_offset), Ok(13));
    let e = c.read("t", &from(12)).map(|_| ());
    let Err(Error::Damaged(d)) = e else { panic!("{e:?}") };
    assert!(d.resumes == Some(13) && d.why.contains("missing"), "{d}");
}
