//! The broker's guarantees, over every storage.

#![allow(dead_code, unreachable_pub, reason = "every test uses some of it")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use super::common::{self, Backend, Rng, all_from, from, input};
use log::batch::{Compression, RECORDS_MAX};
use log::storage::Want;
use log::{Appended, Broker, Error, Input, Options, Settings, Start};

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

fn broker(place: &Backend) -> Broker {
    place.broker(Options::default())
}

fn append(b: &Broker, topic: &str, records: &[&[u8]]) -> Appended {
    b.append_wait(topic, input(records)).expect("stored")
}

pub fn offsets_are_dense_and_records_come_back(place: &Backend) {
    let b = broker(place);
    let (mut rng, mut expected) = (Rng(7), Vec::new());
    for _ in 0..200 {
        let big = rng.below(10) == 0;
        let records: Vec<Vec<u8>> = (0..=rng.below(20))
            .map(|_| vec![rng.below(256) as u8; rng.below(if big { 20_000 } else { 50 }) as usize])
            .collect();
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let a = append(&b, "t", &slices);
        assert_eq!((a.first_offset, a.records), (expected.len() as u64, slices.len() as u32));
        assert!(!a.duplicate);
        expected.extend(records);
    }
    assert_eq!(all_from(&b, "t", 0), expected);
    assert!(b.verify("t", &mut |_| {}).expect("readable").is_empty());
    // From anywhere, also when nothing is kept in memory.
    drop(b);
    let b = place.broker(Options { kept_max: 0, ..Options::default() });
    assert_eq!(all_from(&b, "t", 0), expected);
    for _ in 0..50 {
        let at = rng.below(expected.len() as u64);
        let want = Want { offset: at, records: 1, bytes: 1, before: u64::MAX, most: usize::MAX };
        let fetched = b.read("t", &want).expect("there");
        let batch = &fetched.batches[0];
        assert_eq!(fetched.batches.len(), 1);
        let record =
            batch.records().expect("sound").iter().nth((at - batch.header.first_offset) as usize);
        assert_eq!(record.as_deref(), Some(&expected[at as usize][..]));
    }
    assert_eq!(append(&b, "t", &[b"next"]).first_offset, expected.len() as u64);
}

pub fn slow_readers_hold_no_more_than_is_kept(place: &Backend) {
    const MAX: usize = 4 << 20;
    let b = place.broker(Options { kept_max: MAX, ..Options::default() });
    let record = vec![b'r'; 700 << 10];
    let mut slow = Vec::new();
    for i in 0..12 {
        append(&b, "t", &[&record]);
        let fetched = b.read("t", &from(i)).expect("there");
        assert_eq!(fetched.batches.len(), 1);
        slow.push(fetched);
        let kept = b.kept_bytes();
        assert!(kept <= MAX, "{kept} bytes after {i}");
    }
    assert!(b.kept_bytes() > 0);
    // No other reader is kept waiting, and when they have read, new groups are kept again.
    assert_eq!(all_from(&b, "t", 0).len(), 12);
    drop(slow);
    append(&b, "t", &[&record]);
    assert!(b.read_kept("t", &from(12)).is_some_and(|f| f.is_ok()));
    assert!((1..=MAX).contains(&b.kept_bytes()));
}

pub fn large_groups_are_prepared_while_others_are_written(place: &Backend) {
    const EACH: u64 = 12;
    let b = broker(place);
    for compression in ["none", "lz4"] {
        let topic = format!("t-{compression}");
        let settings = format!("{{\"compression\":\"{compression}\",\"segment_bytes\":3000000}}");
        let settings = Settings::default().with_json(settings.as_bytes()).expect("settings");
        b.create(&topic, &settings).expect("created");
        let record =
            |p: u64, i: u64, part: u8| vec![(p * 31 + i) as u8 ^ part; 350_000 + part as usize];
        std::thread::scope(|s| {
            for p in 1..=6 {
                let (b, topic) = (b.clone(), topic.clone());
                s.spawn(move || {
                    for i in 0..EACH {
                        let parts = [record(p, i, 0), record(p, i, 1)];
                        let input = || input(&[&parts[0], &parts[1]]).by(p, i);
                        // Half of them send everything twice, so that groups turn out otherwise.
                        let first = b.append_wait(&topic, input()).expect("stored");
                        if p % 2 == 0 {
                            let again = b.append_wait(&topic, input()).expect("stored");
                            assert!(again.duplicate && again.first_offset == first.first_offset);
                        }
                    }
                });
            }
        });
        let mut next = [0; 7];
        let mut offset = 0;
        while offset < 6 * EACH * 2 {
            for batch in b.read(&topic, &from(offset)).expect("there").batches {
                let h = batch.header;
                assert_eq!((h.first_offset, h.records), (offset, 2));
                let (p, i) = (h.producer, h.sequence);
                let records: Vec<_> = batch.records().expect("sound").iter().collect();
                assert_eq!(records, [record(p, i, 0), record(p, i, 1)]);
                assert_eq!(i, next[p as usize]);
                next[p as usize] += 1;
                offset = h.next_offset();
            }
        }
        assert!(b.verify(&topic, &mut |_| {}).expect("readable").is_empty());
    }
}

pub fn producers_side_by_side(place: &Backend) {
    const THREADS: usize = 8;
    const EACH: usize = 100;
    let b = broker(place);
    let offsets: Vec<u64> = std::thread::scope(|s| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let b = b.clone();
                s.spawn(move || {
                    (0..EACH)
                        .map(|i| append(&b, "t", &[format!("{t}-{i}").as_bytes()]).first_offset)
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
    });
    // Each producer's records are in its order, and none got lost or came twice.
    let records = all_from(&b, "t", 0);
    assert_eq!(records.len(), THREADS * EACH);
    for (i, offset) in offsets.iter().enumerate() {
        let expected = format!("{}-{}", i / EACH, i % EACH);
        assert_eq!(records[*offset as usize], expected.as_bytes());
        assert!(i % EACH == 0 || offsets[i - 1] < *offset);
    }
    assert_eq!(offsets.iter().collect::<BTreeSet<_>>().len(), THREADS * EACH);
}

pub fn reads_are_bounded(place: &Backend) {
    let b = broker(place);
    for i in 0..10u8 {
        // Large enough to stay batches of their own.
        append(&b, "t", &[&[i; 50_000], &[i; 50_000]]);
    }
    let count = |want: Want| b.read("t", &want).expect("there").batches.len();
    let all = Want {
        offset: 0,
        records: u64::MAX,
        bytes: usize::MAX,
        before: u64::MAX,
        most: usize::MAX,
    };
    assert_eq!(count(all), 10);
    assert_eq!(count(Want { records: 5, ..all }), 3);
    assert_eq!(count(Want { records: 0, ..all }), 1);
    assert_eq!(count(Want { bytes: 250_000, ..all }), 2);
    assert_eq!(count(Want { bytes: 0, ..all }), 1);
    assert_eq!(count(Want { before: 5, ..all }), 3);
    assert_eq!(count(Want { offset: 19, ..all }), 1);
    let fetched = b.read("t", &Want { offset: 7, ..all }).expect("there");
    assert_eq!(fetched.batches[0].header.first_offset, 6);
    assert_eq!((fetched.extent.first, fetched.extent.next), (0, 20));
}

pub fn what_is_not_there(place: &Backend) {
    let b = place.broker(Options { auto_create: false, ..Options::default() });
    let none = Error::NoTopic("t".to_owned());
    assert_eq!(b.append_wait("t", input(&[b"x"])), Err(none.clone()));
    assert_eq!(b.read("t", &from(0)).map(|_| ()), Err(none.clone()));
    assert_eq!(b.describe("t").map(|_| ()), Err(none.clone()));
    assert_eq!(b.commit("t", "g", 0), Err(none.clone()));
    assert_eq!(b.delete("t"), Err(none));
    assert_eq!(b.topics(), Ok(Vec::new()));
    b.create("t", &Settings::default()).expect("created");
    append(&b, "t", &[b"a", b"b"]);
    for offset in [2, 3, u64::MAX] {
        let e = Error::OutOfBounds { offset, first: 0, next: 2 };
        assert_eq!(b.read("t", &from(offset)).map(|_| ()), Err(e));
    }
    for bad in ["", "..", "a/b", ".x"] {
        assert!(matches!(b.append_wait(bad, input(&[b"x"])), Err(Error::Bad(_))), "{bad}");
        assert!(matches!(b.create(bad, &Settings::default()), Err(Error::Bad(_))), "{bad}");
        assert!(matches!(b.read(bad, &from(0)), Err(Error::Bad(_))), "{bad}");
        assert!(matches!(b.commit("t", bad, 0), Err(Error::Bad(_))), "{bad}");
    }
}

pub fn reading_creates_nothing(place: &Backend) {
    let b = broker(place);
    let none = Err(Error::NoTopic("t".to_owned()));
    for start in [Start::Earliest, Start::Latest, Start::Offset(0), Start::Time(1)] {
        assert_eq!(b.start("t", start).map(|_| ()), none, "{start:?}");
    }
    assert_eq!(b.read("t", &from(0)).map(|_| ()), none);
    assert_eq!(b.open("t"), none);
    assert_eq!(b.describe("t").map(|_| ()), none);
    assert_eq!(b.wait_for("t", 0, Duration::ZERO).map(|_| ()), none);
    assert_eq!(b.committed("t", "g").map(|_| ()), none);
    assert_eq!(b.groups("t").map(|_| ()), none);
    assert_eq!(b.topics(), Ok(Vec::new()));
    // A producer does.
    append(&b, "t", &[b"x"]);
    assert_eq!(b.topics(), Ok(vec!["t".to_owned()]));
}

pub fn topics_come_and_go(place: &Backend) {
    let b = broker(place);
    let settings = Settings { linger_ms: Some(0), retention_ms: 1 << 40, ..Settings::default() };
    b.create("b", &settings).expect("created");
    append(&b, "a", &[b"made by using it"]);
    assert_eq!(b.create("a", &settings), Err(Error::TopicExists("a".to_owned())));
    assert_eq!(b.topics(), Ok(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(b.describe("a").expect("there").settings, Settings::default());
    assert_eq!(b.describe("b").expect("there").settings, settings);
    let changed = Settings { compression: Compression::Lz4, ..settings };
    b.set("b", changed.clone()).expect("kept");
    append(&b, "b", &[b"x"]);
    drop(b);
    let b = broker(place);
    let described = b.describe("b").expect("there");
    assert_eq!((described.settings, described.extent.next), (changed, 1));
    assert!(described.extent.latest_us > 0 && described.extent.bytes > 0);
    b.commit("a", "g", 1).expect("kept");
    b.delete("a").expect("deleted");
    b.delete("b").expect("deleted");
    assert_eq!(b.topics(), Ok(Vec::new()));
    // A new one of that name begins anew.
    assert_eq!(append(&b, "a", &[b"y"]).first_offset, 0);
    assert_eq!(b.committed("a", "g"), Ok(None));
    assert_eq!(all_from(&b, "a", 0), [b"y"]);
}

pub fn a_topic_is_told_from_others_of_its_name(place: &Backend) {
    let b = broker(place);
    assert!(b.identity("a").is_err(), "asking creates nothing");
    append(&b, "a", &[b"x"]);
    append(&b, "b", &[b"x"]);
    let (a, other) = (b.identity("a").expect("there"), b.identity("b").expect("there"));
    assert!(a != other && !a.is_empty());
    append(&b, "a", &[b"y"]);
    assert_eq!(b.identity("a").as_deref(), Ok(&*a));
    drop(b);
    let read_only = Options { read_only: true, ..Options::default() };
    assert_eq!(place.broker(read_only).identity("a").as_deref(), Ok(&*a), "kept");
    let b = broker(place);
    b.delete("a").expect("deleted");
    assert!(b.identity("a").is_err());
    append(&b, "a", &[b"x"]);
    assert_ne!(b.identity("a").as_deref(), Ok(&*a), "another topic");
}

pub fn what_is_acknowledged_is_in_a_topic_that_is_there(place: &Backend) {
    let b = broker(place);
    std::thread::scope(|s| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                let b = b.clone();
                s.spawn(move || {
                    (0..200).filter(|_| b.append_wait("t", input(&[b"x"])).is_ok()).count()
                })
            })
            .collect();
        for _ in 0..40 {
            match b.delete("t") {
                Ok(()) | Err(Error::NoTopic(_)) => {}
                Err(e) => panic!("{e}"),
            }
        }
        let stored: usize = writers.into_iter().map(|w| w.join().expect("no panic")).sum();
        assert!(stored > 0);
    });
    // It holds exactly the records appended since it was deleted last.
    let next = match b.describe("t") {
        Ok(d) => d.extent.next,
        Err(e) => {
            assert_eq!(e, Error::NoTopic("t".to_owned()));
            0
        }
    };
    assert_eq!(append(&b, "t", &[b"y"]).first_offset, next);
    let records = all_from(&b, "t", 0);
    assert_eq!(records.len() as u64, next + 1);
    drop(b);
    assert_eq!(all_from(&broker(place), "t", 0), records);
}

pub fn groups_are_kept(place: &Backend) {
    let b = broker(place);
    append(&b, "t", &[b"a", b"b", b"c"]);
    assert_eq!(b.committed("t", "g"), Ok(None));
    b.commit("t", "g", 2).expect("kept");
    b.commit("t", "other", 3).expect("kept");
    let e = Error::OutOfBounds { offset: 4, first: 0, next: 3 };
    assert_eq!(b.commit("t", "g", 4), Err(e));
    drop(b);
    let b = broker(place);
    assert_eq!(b.committed("t", "g"), Ok(Some(2)));
    b.commit("t", "g", 1).expect("going back is allowed");
    let groups = b.groups("t").expect("read");
    assert_eq!(groups, [("g".to_owned(), 1), ("other".to_owned(), 3)]);
    assert_eq!(b.forget_group("t", "g"), Ok(true));
    assert_eq!(b.forget_group("t", "g"), Ok(false));
    assert_eq!(b.groups("t").expect("read").len(), 1);
}

pub fn retries_are_stored_once(place: &Backend) {
    let b = broker(place);
    let send = |b: &Broker, producer, sequence| {
        let record = format!("{producer}/{sequence}");
        b.append_wait("t", input(&[record.as_bytes(), b"-"]).by(producer, sequence))
    };
    let first = send(&b, 1, 10).expect("stored");
    let second = send(&b, 1, 11).expect("stored");
    assert_eq!(send(&b, 1, 10), Ok(Appended { duplicate: true, ..first }));
    assert_eq!(send(&b, 1, 11), Ok(Appended { duplicate: true, ..second }));
    assert_eq!(send(&b, 1, 13), Err(Error::Sequence { producer: 1, expected: 12, got: 13 }));
    assert_eq!(send(&b, 2, 0).map(|a| a.first_offset), Ok(4));
    // The process that goes on recognises them.
    drop(b);
    let b = broker(place);
    assert_eq!(send(&b, 1, 11), Ok(Appended { duplicate: true, ..second }));
    assert_eq!(send(&b, 1, 13), Err(Error::Sequence { producer: 1, expected: 12, got: 13 }));
    assert_eq!(send(&b, 1, 12).map(|a| (a.first_offset, a.duplicate)), Ok((6, false)));
    assert_eq!(all_from(&b, "t", 0).len(), 8);
    assert_eq!(b.counters().duplicates.load(Relaxed), 1);
}

pub fn retries_are_recognised_while_they_wait(place: &Backend) {
    let b = broker(place);
    b.create("t", &Settings { linger_ms: Some(60_000), ..Settings::default() }).expect("created");
    b.open("t").expect("there");
    let (tx, rx) = mpsc::channel();
    for (sequence, name) in [(1, "a"), (2, "b"), (1, "a"), (4, "d"), (2, "b"), (3, "c")] {
        let tx = tx.clone();
        let done = Box::new(move |r: log::Result<Appended>| {
            tx.send((name, r.map(|a| (a.first_offset, a.duplicate)))).expect("received");
        });
        b.append("t", input(&[name.as_bytes()]).by(9, sequence), None, done);
    }
    assert!(b.close(LONG));
    let mut got: Vec<_> = rx.try_iter().collect();
    got.sort_by_key(|(name, r)| (*name, r.as_ref().is_ok_and(|r| r.1)));
    let wrong = got.pop().expect("the gap");
    assert!(matches!(wrong, ("d", Err(Error::Sequence { expected: 3, got: 4, .. }))), "{wrong:?}");
    assert_eq!(
        got,
        [
            ("a", Ok((0, false))),
            ("a", Ok((0, true))),
            ("b", Ok((1, false))),
            ("b", Ok((1, true))),
            ("c", Ok((2, false)))
        ]
    );
}

/// A clock that tests set.
fn clock() -> (Arc<AtomicU64>, impl Fn() -> u64 + Send + Sync + 'static) {
    let us = Arc::new(AtomicU64::new(1_000_000));
    let read = Arc::clone(&us);
    (us, move || read.load(Relaxed))
}

pub fn old_records_go(place: &Backend) {
    let (us, now) = clock();
    let b = place.broker_at(Options::default(), now);
    let settings = Settings { segment_bytes: 4096, retention_ms: 1000, ..Settings::default() };
    b.create("t", &settings).expect("created");
    for i in 0..10 {
        us.store(1_000_000 + i * 100_000, Relaxed);
        append(&b, "t", &[&[b'x'; 4000], b"y"]);
    }
    // Everything is within a second.
    assert_eq!(b.trim("t"), Ok(false));
    us.store(2_450_001, Relaxed);
    assert_eq!(b.trim("t"), Ok(true));
    let extent = b.describe("t").expect("there").extent;
    assert!(extent.first >= 8 && extent.first <= 10 && extent.next == 20, "{extent:?}");
    assert!(matches!(b.read("t", &from(extent.first - 1)), Err(Error::OutOfBounds { .. })));
    assert_eq!(all_from(&b, "t", extent.first).len() as u64, 20 - extent.first);
    // When all is gone, offsets go on where they were.
    us.store(60_000_000, Relaxed);
    assert_eq!(b.trim("t"), Ok(true));
    let extent = b.describe("t").expect("there").extent;
    assert_eq!((extent.first, extent.next, extent.bytes), (20, 20, 0));
    drop(b);
    let b = place.broker_at(Options::default(), || 70_000_000);
    assert_eq!(append(&b, "t", &[b"z"]).first_offset, 20);
    assert_eq!(all_from(&b, "t", 20), [b"z"]);
    // Producers are known although their records are gone.
    let sent = b.append_wait("t", input(&[b"n"]).by(3, 8)).expect("stored");
    drop(b);
    let b = place.broker_at(Options::default(), || 900_000_000);
    assert_eq!(b.trim("t"), Ok(true));
    assert_eq!(b.describe("t").expect("there").extent.bytes, 0);
    assert!(
        matches!(place, Backend::Memory(_)) || {
            drop(b);
            let b = place.broker_at(Options::default(), || 900_000_000);
            let again = b.append_wait("t", input(&[b"n"]).by(3, 8));
            again == Ok(Appended { duplicate: true, ..sent })
        }
    );
}

pub fn too_many_records_go(place: &Backend) {
    let b = broker(place);
    let settings = Settings { segment_bytes: 8192, retention_bytes: 20_000, ..Settings::default() };
    b.create("t", &settings).expect("created");
    for _ in 0..30 {
        append(&b, "t", &[&[b'x'; 4000]]);
    }
    assert_eq!(b.trim("t"), Ok(true));
    let extent = b.describe("t").expect("there").extent;
    assert!((12_000..=30_000).contains(&extent.bytes), "{extent:?}");
    assert_eq!(all_from(&b, "t", extent.first).len() as u64, 30 - extent.first);
    assert_eq!(b.trim("t"), Ok(false));
    assert_eq!(b.start("t", Start::Earliest), Ok(extent.first));
}

pub fn by_time(place: &Backend) {
    let (us, now) = clock();
    let b = place.broker_at(Options::default(), now);
    b.create("t", &Settings { segment_bytes: 10_000, ..Settings::default() }).expect("created");
    for i in 1..=20u64 {
        us.store(i * 1000, Relaxed);
        append(&b, "t", &[&[b'x'; 2000], b""]);
    }
    for (time, offset) in
        [(0, 0), (1000, 0), (1001, 2), (7000, 12), (7001, 14), (20_000, 38), (20_001, 40)]
    {
        assert_eq!(b.start("t", Start::Time(time)), Ok(offset), "{time}");
    }
    assert_eq!(b.start("t", Start::Latest), Ok(40));
    assert_eq!(b.start("t", Start::Earliest), Ok(0));
    assert_eq!(b.start("t", Start::Offset(99)), Ok(99));
    // Where nothing has ever been written.
    b.create("empty", &Settings::default()).expect("created");
    assert_eq!(b.start("empty", Start::Time(1)), Ok(0));
    // Time never goes back within a topic.
    us.store(5, Relaxed);
    assert_eq!(append(&b, "t", &[b"x"]).appended_us, 20_000);
}

pub fn readers_wait(place: &Backend) {
    let b = broker(place);
    append(&b, "t", &[b"a"]);
    assert_eq!(b.wait_for("t", 0, LONG), Ok(true));
    assert_eq!(b.wait_for("t", 1, Duration::from_millis(20)), Ok(false));
    let (tx, rx) = mpsc::channel();
    let wait = |offset: u64| {
        let tx = tx.clone();
        let wake = Box::new(move || tx.send(offset).expect("received"));
        b.wait("t", offset, wake).expect("open")
    };
    assert!(wait(0).is_none());
    assert_eq!(rx.recv(), Ok(0));
    let waiting: Vec<_> = [1, 2, 3].into_iter().map(wait).collect();
    drop(wait(1));
    append(&b, "t", &[b"b", b"c"]);
    let woken: BTreeSet<u64> = [rx.recv_timeout(LONG), rx.recv_timeout(LONG)]
        .into_iter()
        .map(|r| r.expect("woken"))
        .collect();
    assert_eq!(woken, BTreeSet::from([1, 2]));
    // No reader waits for a topic that is gone.
    b.delete("t").expect("deleted");
    assert_eq!(rx.recv_timeout(LONG), Ok(3));
    drop(waiting);
    assert!(rx.try_recv().is_err());
}

pub fn compressed(place: &Backend) {
    let b = broker(place);
    let long = b"all work and no play ".repeat(500);
    for compression in Compression::ALL {
        let name = compression.name();
        b.create(name, &Settings { compression, ..Settings::default() }).expect("created");
        append(&b, name, &[&long, b"", &long]);
        // Of a producer that compressed it himself.
        b.append_wait(name, input(&[&long]).compressed(Compression::Zstd)).expect("stored");
        assert_eq!(all_from(&b, name, 0), [&long[..], b"", &long, &long]);
        let extent = b.describe(name).expect("there").extent;
        assert_eq!(extent.bytes < 3000, compression != Compression::None, "{extent:?}");
    }
    drop(b);
    let b = broker(place);
    for compression in Compression::ALL {
        assert_eq!(all_from(&b, compression.name(), 0), [&long[..], b"", &long, &long]);
    }
}

pub fn those_who_wait_are_stored_together(place: &Backend) {
    let b = broker(place);
    let settings = Settings { linger_ms: Some(60_000), group_bytes: 20_000, ..Settings::default() };
    b.create("t", &settings).expect("created");
    append(&b, "t", &[b"opens it"]);
    let (tx, rx) = mpsc::channel();
    for i in 0..20u64 {
        let tx = tx.clone();
        let done = Box::new(move |r: log::Result<Appended>| {
            tx.send((i, r.expect("stored").first_offset)).expect("received");
        });
        b.append("t", input(&[&[b'x'; 2000]]), None, done);
    }
    assert!(b.close(LONG));
    let mut answers: Vec<(u64, u64)> = rx.try_iter().collect();
    answers.sort_unstable();
    // In the order in which they came, in few writes.
    assert_eq!(answers, (0..20).map(|i| (i, i + 1)).collect::<Vec<_>>());
    assert!(b.counters().groups.load(Relaxed) <= 5, "{:?}", b.counters());
}

pub fn too_much_is_turned_away(place: &Backend) {
    let b = place.broker(Options { pending_max: 10_000, ..Options::default() });
    let room = b.permit(8_000).expect("room");
    let refused = b.append_wait("t", input(&[&[0; 3000]]));
    assert!(matches!(refused, Err(Error::Busy { retry_ms: 1.. })), "{refused:?}");
    assert!(matches!(b.permit(3000), Err(Error::Busy { .. })));
    assert_eq!(append(&b, "t", &[&[0; 1000]]).first_offset, 0);
    drop(room);
    assert_eq!(append(&b, "t", &[&[0; 3000]]).first_offset, 1);
    let (tx, rx) = mpsc::channel();
    let done = Box::new(move |r| tx.send(r).expect("received"));
    let room = b.permit(9_000).expect("room");
    b.append("t", input(&[&[0; 8000]]), Some(room), done);
    assert!(rx.recv().expect("answered").is_ok());
    assert!(b.permit(10_000).is_ok(), "all of it was given back");
}

pub fn nothing_more_after_closing(place: &Backend) {
    let b = broker(place);
    append(&b, "t", &[b"a"]);
    assert!(b.close(LONG));
    assert_eq!(b.append_wait("t", input(&[b"b"])), Err(Error::Closed));
    assert_eq!(all_from(&b, "t", 0), [b"a"]);
}

pub fn read_only(place: &Backend) {
    let b = broker(place);
    append(&b, "t", &[b"a"]);
    drop(b);
    let b = place.broker(Options { read_only: true, ..Options::default() });
    assert_eq!(b.append_wait("t", input(&[b"b"])), Err(Error::ReadOnly));
    assert_eq!(b.append_wait("new", input(&[b"b"])), Err(Error::ReadOnly));
    assert_eq!(b.create("u", &Settings::default()), Err(Error::ReadOnly));
    assert_eq!(b.delete("t"), Err(Error::ReadOnly));
    assert_eq!(b.commit("t", "g", 1), Err(Error::ReadOnly));
    assert_eq!(b.set("t", Settings::default()), Err(Error::ReadOnly));
    assert!(matches!(b.open("new"), Err(Error::NoTopic(_))));
    assert_eq!(all_from(&b, "t", 0), [b"a"]);
}

pub fn as_large_as_can_be(place: &Backend) {
    let b = broker(place);
    let many = Input::from_records(std::iter::repeat_n(&b"x"[..], RECORDS_MAX)).expect("fits");
    assert_eq!(b.append_wait("t", many).map(|a| a.first_offset), Ok(0));
    let large = vec![7; log::batch::BYTES_MAX];
    assert_eq!(append(&b, "t", &[&large]).first_offset, RECORDS_MAX as u64);
    let tiny = append(&b, "t", &[b""]);
    assert_eq!(tiny.first_offset, RECORDS_MAX as u64 + 1);
    drop(b);
    let b = broker(place);
    let records = all_from(&b, "t", RECORDS_MAX as u64);
    assert!(records.len() == 2 && records[0] == large && records[1].is_empty());
}

pub fn resting_topics_go_on(place: &Backend) {
    let storage = place.storage();
    let tell = Box::new(|_: &str| {});
    let b = Broker::new(Arc::clone(&storage), Options::default(), tell, Box::new(common::real_us));
    b.create("t", &Settings { segment_bytes: 9_000, ..Settings::default() }).expect("created");
    let mut expected = Vec::new();
    for i in 0..20u8 {
        append(&b, "t", &[&[i; 1500]]);
        expected.push(vec![i; 1500]);
    }
    let log = storage.open("t", &Settings::default(), &|_| {}).expect("open");
    assert_eq!(log.extent().next, 20);
    log.release_idle(None);
    let read = log.read(&from(3)).expect("there");
    assert_eq!(read[0].header.first_offset, 3);
    log.release_idle(None);
    assert_eq!(log.find(u64::MAX).expect("read"), 20);
    assert_eq!(all_from(&b, "t", 0), expected);
}

/// A module of tests, one for each promise, over places of one kind.
macro_rules! contract {
    ($kind:ident, $place:expr) => {
        contract! { $kind, $place;
            offsets_are_dense_and_records_come_back producers_side_by_side reads_are_bounded
            slow_readers_hold_no_more_than_is_kept large_groups_are_prepared_while_others_are_written
            what_is_not_there reading_creates_nothing topics_come_and_go
            a_topic_is_told_from_others_of_its_name what_is_acknowledged_is_in_a_topic_that_is_there
            groups_are_kept retries_are_stored_once retries_are_recognised_while_they_wait
            old_records_go too_many_records_go by_time readers_wait compressed
            those_who_wait_are_stored_together too_much_is_turned_away nothing_more_after_closing
            read_only as_large_as_can_be resting_topics_go_on
        }
    };
    ($kind:ident, $place:expr; $($name:ident)*) => {
        mod $kind {
            $(#[test] fn $name() { crate::suite::$name(&$place); })*
        }
    };
}
