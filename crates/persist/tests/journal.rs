//! The journal on a disk that fails: durable records are there after a crash, nothing is there that
//! was not written, and damage is distinguished from a torn end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use persist::disk::sim::{Faults, SimDisk};
use persist::disk::{Disk, File};
use persist::journal::{
    Base, Control, Location, Observer, Recovered, Recovery, Refusal, Shared, Sync, Trouble, Writer,
    check, writer::Orders, writer::Turn,
};
use stdx::rng::Rng;
use stream::{Commands, Lane};

#[derive(Default)]
struct Seen {
    durable: Mutex<u64>,
    trouble: Mutex<Option<Trouble>>,
    doubts: Mutex<u32>,
}

impl Observer for Seen {
    fn durable(&self, sequence: u64) {
        *self.durable.lock() = sequence;
    }
    fn trouble(&self, trouble: Option<&Trouble>) {
        *self.trouble.lock() = trouble.cloned();
    }
    fn written(&self) {}
    fn may_have_lost(&self) {
        *self.doubts.lock() += 1;
    }
    fn note(&self, _: &str) {}
}

fn place(segment_bytes: u64) -> Location {
    let dir = "/data/aof".into();
    Location { dir, stem: "a.aof".into(), segment_bytes, ahead_bytes: 8192 }
}

struct Journal {
    shared: Arc<Shared>,
    seen: Arc<Seen>,
    lanes: Vec<Arc<Lane>>,
    writer: Writer,
    orders: Orders,
}

fn start(disk: &SimDisk, policy: Sync, segment_bytes: u64, from: Recovered) -> Journal {
    let shared = Arc::new(Shared::default());
    shared.set_policy(policy);
    let lanes = (0..3).map(|_| shared.stream.add_lane()).collect();
    let seen = Arc::new(Seen::default());
    let (writer, orders) = Writer::start(
        Arc::new(disk.clone()),
        Arc::clone(&shared),
        Arc::clone(&seen) as Arc<dyn Observer>,
        place(segment_bytes),
        from,
    )
    .expect("a journal");
    Journal { shared, seen, lanes, writer, orders }
}

impl Journal {
    fn append(&self, lane: usize, value: &[u8]) {
        self.lanes[lane].append(self.shared.stream.counter(), 5, true, |unit| {
            unit.command(0, b"SET", 1, std::iter::once(value));
        });
    }

    fn turn(&mut self, now: Instant) {
        while self.writer.turn(now) == Turn::More {}
    }
}

/// The values of all records, and where a writer goes on.
fn recover(disk: &SimDisk) -> Result<(Vec<Vec<u8>>, Recovered), Refusal> {
    let Some(found) = Recovery::open(Arc::new(disk.clone()), place(0))? else {
        return Ok((Vec::new(), Recovered::fresh(Base::default())));
    };
    let mut values = Vec::new();
    let recovered = found.replay(true, |changes, _| {
        for change in changes {
            let mut commands = Commands::new(change.payload).expect("written by us");
            let mut args = Vec::new();
            while commands.next(|at, n| args.push((at, n))).expect("written by us").is_some() {}
            let (at, n) = args[1];
            values.push(change.payload[at..at + n].to_vec());
        }
        Ok(())
    })?;
    Ok((values, recovered))
}

fn rounds(default: u64) -> u64 {
    std::env::var("APUS_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn after_any_crash_what_was_durable_is_there() {
    for seed in 0..rounds(100) {
        let mut rng = Rng::from_seed(seed);
        let disk = SimDisk::default();
        let policy = [Sync::Always, Sync::EverySecond, Sync::Never][rng.index(3)];
        let (mut written, mut now) = (Vec::<Vec<u8>>::new(), Instant::now());
        // Several lives on one disk.
        for life in 0..3 {
            let (values, from) = recover(&disk).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert!(values.len() <= written.len(), "seed {seed}");
            assert_eq!(values, written[..values.len()], "seed {seed} life {life}");
            assert_eq!(from.last, values.len() as u64, "seed {seed}");
            written.truncate(values.len());
            let mut journal = start(&disk, policy, 2000 + rng.index(20_000) as u64, from);
            match rng.index(5) {
                0 => disk.set_faults(Faults {
                    room: Some(rng.index(60_000) as u64),
                    ..Faults::default()
                }),
                1 => disk.set_faults(Faults {
                    good_syncs: Some(rng.index(20) as u32),
                    drops: policy == Sync::Always,
                    ..Faults::default()
                }),
                2 => disk.set_faults(Faults {
                    good_writes: Some(rng.index(20) as u32),
                    ..Faults::default()
                }),
                _ => {}
            }
            for _ in 0..rng.index(60) {
                for _ in 0..rng.index(8) {
                    let value = vec![written.len() as u8; rng.index(1500)];
                    journal.append(rng.index(3), &value);
                    written.push(value);
                }
                if rng.index(4) > 0 {
                    now += Duration::from_millis(rng.index(700) as u64);
                    journal.turn(now);
                }
                if rng.index(40) == 0 {
                    disk.set_faults(Faults::default());
                }
            }
            let durable = *journal.seen.durable.lock() as usize;
            assert!(durable <= written.len());
            drop(journal);
            disk.crash(&mut rng);
            let (values, _) = recover(&disk).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert!(
                values.len() >= durable,
                "seed {seed} life {life}: {durable} were durable, {} are there",
                values.len()
            );
            // A part that recovery has cut stays cut.
            let (again, _) = recover(&disk).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
            assert_eq!(again, values, "seed {seed}");
        }
    }
}

#[test]
fn threads_that_append_at_once_leave_no_gap() {
    let disk = SimDisk::default();
    let Journal { shared, lanes, writer, orders, .. } =
        start(&disk, Sync::Always, 100_000, Recovered::fresh(Base::default()));
    const EACH: u64 = 5_000;
    std::thread::scope(|scope| {
        let w = scope.spawn(move || writer.run());
        let threads: Vec<_> = lanes
            .iter()
            .enumerate()
            .map(|(i, lane)| {
                let shared = &shared;
                scope.spawn(move || {
                    for n in 0..EACH {
                        let value = format!("{i}:{n}").into_bytes();
                        lane.append(shared.stream.counter(), 5, true, |unit| {
                            unit.command(0, b"SET", 1, std::iter::once(value.as_slice()));
                        });
                        if n % 7 == 0 {
                            shared.wake_writer();
                        }
                    }
                    shared.wake_writer();
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().expect("appended"));
        orders.send(Control::Stop).expect("it runs");
        shared.ring();
        w.join().expect("ended");
    });
    let (values, from) = recover(&disk).expect("sound");
    assert_eq!(from.last, 3 * EACH);
    let mut next = [0; 3];
    for value in values {
        let text = String::from_utf8(value).expect("text");
        let (i, n) = text.split_once(':').expect("two numbers");
        let i: usize = i.parse().expect("a lane");
        assert_eq!(n.parse(), Ok(next[i]), "the order within a lane");
        next[i] += 1;
    }
}

fn filled(disk: &SimDisk) -> (Location, Vec<String>) {
    let mut journal = start(disk, Sync::Always, 4000, Recovered::fresh(Base::default()));
    for i in 0..40u8 {
        journal.append(0, &[i; 400]);
        journal.turn(Instant::now());
    }
    let names = disk.names().iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
    let segments = names.into_iter().filter(|n| n.ends_with(".seg")).collect();
    (place(4000), segments)
}

#[test]
fn what_was_durable_and_is_damaged_stops_the_start() {
    let disk = SimDisk::default();
    let (place, segments) = filled(&disk);
    assert!(segments.len() > 3, "{segments:?}");
    for name in &segments {
        let bytes = disk.read(Path::new(name)).expect("there");
        let reader = persist::journal::segment::survey(&bytes).expect("sound");
        for at in [3, 70, 200, reader.end / 2] {
            let broken = SimDisk::default();
            copy(&disk, &broken);
            broken.damage(Path::new(name), |b| b[at] ^= 1);
            let Err(Refusal(text)) = recover(&broken).map(|_| ()) else {
                panic!("{name} at {at} was loaded");
            };
            assert!(text.contains("damaged at offset") && text.contains("apus check"), "{text}");
            let report = check::check_journal(&broken, &place.manifest(), false).expect("readable");
            assert!(!report.sound, "{}", report.text);
            check::check_journal(&broken, &place.manifest(), true).expect("fixable");
            let (values, _) = recover(&broken).expect("sound after the fix");
            assert!(values.iter().enumerate().all(|(i, v)| *v == [i as u8; 400]));
        }
    }
}

#[test]
fn after_an_orderly_end_every_loss_is_damage() {
    for policy in [Sync::Always, Sync::EverySecond, Sync::Never] {
        let disk = SimDisk::default();
        let mut journal = start(&disk, policy, 1 << 20, Recovered::fresh(Base::default()));
        (0..20u8).for_each(|i| journal.append(0, &[i; 100]));
        journal.turn(Instant::now());
        journal.orders.send(Control::Stop).expect("it runs");
        while journal.writer.turn(Instant::now()) != Turn::Stopped {}
        let name = disk.names().into_iter().find(|p| p.extension().is_some_and(|e| e == "seg"));
        let name = name.expect("a segment");
        let (values, _) = recover(&disk).expect("sound");
        assert_eq!(values.len(), 20);
        let end = disk.read(&name).expect("there").iter().rposition(|b| *b != 0).expect("records");
        for at in (100..end - 44).step_by(70) {
            let broken = SimDisk::default();
            copy(&disk, &broken);
            broken.damage(&name, |b| b[at] ^= 1);
            assert!(recover(&broken).is_err(), "{policy:?}, {at} of {end}");
        }
    }
}

/// As when the process is killed some time after its last write was synced, or the machine stops.
#[test]
fn of_an_idle_server_every_loss_of_what_was_durable_is_damage() {
    for policy in [Sync::Always, Sync::EverySecond] {
        for (syncs, stops) in [(1, false), (2, false), (2, true)] {
            let disk = SimDisk::default();
            let mut journal = start(&disk, policy, 1 << 20, Recovered::fresh(Base::default()));
            (0..20u8).for_each(|i| journal.append(0, &[i; 100]));
            let now = Instant::now();
            for seconds in 0..=syncs * 2 {
                journal.turn(now + Duration::from_secs(seconds));
            }
            assert_eq!(journal.shared.durable(), 20);
            let syncs = journal.shared.figures.syncs.load(SeqCst);
            // What is marked is not marked again.
            for seconds in 10..20 {
                journal.turn(now + Duration::from_secs(seconds));
            }
            assert!(journal.shared.figures.syncs.load(SeqCst) <= syncs + 1);
            drop(journal);
            if stops {
                disk.crash(&mut Rng::from_seed(1));
            }
            every_loss_is_damage(&disk, 20, &format!("{policy:?} {syncs} {stops}"));
            // So it is when another server has loaded it, and nothing was written since.
            let (_, from) = recover(&disk).expect("sound");
            let len = disk.len(&place(0).file("a.aof.1.seg")).expect("there");
            let mut journal = start(&disk, policy, 1 << 20, from);
            (0..4).for_each(|s| journal.turn(now + Duration::from_secs(20 + s)));
            drop(journal);
            assert_eq!(disk.len(&place(0).file("a.aof.1.seg")).expect("there"), len);
            every_loss_is_damage(&disk, 20, &format!("{policy:?} again"));
        }
    }
}

/// What a start has found in memory only is durable then.
#[test]
fn what_a_start_has_found_is_marked() {
    for policy in [Sync::Always, Sync::EverySecond] {
        let disk = SimDisk::default();
        let mut journal = start(&disk, Sync::Never, 1 << 20, Recovered::fresh(Base::default()));
        (0..20u8).for_each(|i| journal.append(0, &[i; 100]));
        journal.turn(Instant::now());
        drop(journal);
        let (_, from) = recover(&disk).expect("sound");
        let mut journal = start(&disk, policy, 1 << 20, from);
        journal.turn(Instant::now());
        drop(journal);
        every_loss_is_damage(&disk, 20, &format!("{policy:?}"));
    }
}

/// Of the records in the only segment.
fn every_loss_is_damage(disk: &SimDisk, records: usize, what: &str) {
    let name = disk.names().into_iter().find(|p| p.extension().is_some_and(|e| e == "seg"));
    let name = name.expect("a segment");
    assert_eq!(recover(disk).expect("sound").0.len(), records);
    let bytes = disk.read(&name).expect("there");
    let end = bytes.iter().rposition(|b| *b != 0).expect("records");
    for at in (64..end - 44).step_by(7).chain([end - 50]) {
        let broken = SimDisk::default();
        copy(disk, &broken);
        broken.damage(&name, |b| b[at] ^= 1);
        // Marks may be lost: they are no data.
        match recover(&broken) {
            Ok((values, _)) => assert_eq!(values.len(), records, "{what}: {at} of {end}"),
            Err(Refusal(text)) => assert!(text.contains("damaged at"), "{what}: {text}"),
        }
    }
}

fn copy(from: &SimDisk, to: &SimDisk) {
    for path in from.names() {
        let file = to.open(&path, true).expect("new");
        file.write_at(&from.read(&path).expect("there"), 0).expect("room");
        file.sync().expect("works");
    }
}

#[test]
fn no_content_of_the_files_makes_it_panic() {
    let disk = SimDisk::default();
    let (place, segments) = filled(&disk);
    for seed in 0..rounds(500) {
        let mut rng = Rng::from_seed(seed);
        let broken = SimDisk::default();
        copy(&disk, &broken);
        for _ in 0..=rng.index(3) {
            let names: Vec<_> = broken.names();
            let path = if rng.index(4) == 0 {
                names[rng.index(names.len())].clone()
            } else {
                segments[rng.index(segments.len())].clone().into()
            };
            broken.damage(&path, |b| {
                // Where records are: what is ahead of them is zeros.
                let room = b.len().clamp(1, 6000);
                match rng.index(4) {
                    0 => b.truncate(rng.index(room)),
                    1 if b.len() > 200 => {
                        let (at, n) = (rng.index(room - 100), rng.index(100));
                        b.drain(at..at + n);
                    }
                    2 if b.len() > 200 => {
                        let at = rng.index(room - 20);
                        b[at..at + 20].fill_with(|| rng.next_u64() as u8);
                    }
                    _ if !b.is_empty() => {
                        let at = rng.index(room.min(b.len()));
                        b[at] = [0, 0xff, 1, 0x7f][rng.index(4)];
                    }
                    _ => {}
                }
            });
        }
        let before = recover(&broken).map(|(v, _)| v.len());
        let _ = check::check_journal(&broken, &place.manifest(), rng.index(2) == 0);
        for name in &segments {
            let _ = check::check_segment(&broken, Path::new(name), false);
        }
        if let (Ok(n), Ok((values, _))) = (before, recover(&broken)) {
            assert!(values.len() <= 40 && n <= 40);
            assert!(values.iter().enumerate().all(|(i, v)| *v == [i as u8; 400]), "seed {seed}");
        }
    }
}

#[test]
fn a_failed_sync_under_always_lasts_until_a_new_base() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::Always, 1 << 20, Recovered::fresh(Base::default()));
    journal.append(0, b"one");
    journal.turn(Instant::now());
    assert_eq!(journal.shared.durable(), 1);
    disk.set_faults(Faults { good_syncs: Some(0), ..Faults::default() });
    journal.append(0, b"two");
    journal.turn(Instant::now());
    assert!(journal.seen.trouble.lock().as_ref().is_some_and(|t| t.lasting));
    disk.set_faults(Faults::default());
    journal.append(0, b"three");
    journal.turn(Instant::now() + Duration::from_secs(5));
    assert_eq!(journal.shared.durable(), 1, "nothing of that segment is trusted any more");
    // A rewrite: a new segment, a snapshot of everything so far, a new base.
    journal.orders.send(Control::Rotate).expect("open");
    journal.turn(Instant::now() + Duration::from_secs(10));
    let sequence = journal.shared.last();
    let base = Base::Snapshot { name: "a.aof.9.base".into(), bytes: 1, sequence };
    let (tell, told) = std::sync::mpsc::channel();
    let done = Box::new(move |r| tell.send(r).expect("heard"));
    journal.orders.send(Control::Rebase(base, done)).expect("open");
    journal.append(0, b"four");
    journal.turn(Instant::now() + Duration::from_secs(20));
    told.recv().expect("told").expect("rebased");
    assert_eq!(journal.shared.durable(), 4);
    assert!(journal.seen.trouble.lock().is_none());
    disk.crash(&mut Rng::from_seed(1));
    let (values, from) = recover(&disk).expect("sound");
    assert_eq!((values, from.last), (vec![b"four".to_vec()], 4));
}

#[test]
fn what_was_interrupted_is_removed_and_nothing_else() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::Always, 4000, Recovered::fresh(Base::default()));
    journal.append(0, b"one");
    journal.turn(Instant::now());
    drop(journal);
    let kept = [
        "a.aof.1.base.rdb",
        "a.aof.manifest",
        "a.aof.2.seg.lost",
        "a.aof2.1.seg",
        "a.aof.x.seg",
        "temp-1.rdb",
    ];
    let strays = ["a.aof.7.base", "a.aof.7.base.tmp", "a.aof.9.seg", "a.aof.journal.tmp"];
    for name in kept.iter().chain(&strays) {
        disk.open(&place(0).file(name), true).expect("new");
    }
    let (values, from) = recover(&disk).expect("sound");
    assert_eq!(values, [b"one"]);
    start(&disk, Sync::Always, 4000, from);
    let names = disk.names();
    let there = |name: &&str| names.contains(&place(0).file(name));
    assert!(kept.iter().all(there), "{names:?}");
    assert!(!strays.iter().any(there), "{names:?}");
}

#[test]
fn a_journal_without_its_manifest_is_neither_forgotten_nor_removed() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::Always, 4000, Recovered::fresh(Base::default()));
    journal.append(0, b"one");
    journal.turn(Instant::now());
    drop(journal);
    disk.remove(&place(0).manifest()).expect("removed");
    let why = recover(&disk).expect_err("refused").to_string();
    assert!(why.contains("a.aof.1.seg") && why.contains("Restore it from a backup"), "{why}");
    // Nor one whose segments are all behind a base.
    let disk = SimDisk::default();
    disk.create_dir(&place(0).dir).expect("made");
    disk.open(&place(0).file("a.aof.3.base"), true).expect("new");
    assert!(recover(&disk).expect_err("refused").to_string().contains("a.aof.3.base"));
    // A journal that had no base yet still counts as none.
    let disk = SimDisk::default();
    let from = Recovered::instead_of(None, false, 0);
    let mut journal = start(&disk, Sync::Always, 4000, from);
    journal.append(0, b"one");
    journal.turn(Instant::now());
    drop(journal);
    disk.open(&place(0).file("a.aof.3.base.tmp"), true).expect("new");
    assert!(recover(&disk).expect("nothing").0.is_empty());
    // So is a segment that was made and nothing more.
    let disk = SimDisk::default();
    drop(start(&disk, Sync::Always, 4000, Recovered::fresh(Base::default())));
    disk.remove(&place(0).manifest()).expect("removed");
    assert!(recover(&disk).expect("nothing").0.is_empty());
}

/// A disk on which files are renamed when the test says so.
struct Slow(SimDisk, Arc<AtomicBool>);

impl Disk for Slow {
    fn lock(&self, path: &Path) -> io::Result<Option<persist::disk::Lock>> {
        self.0.lock(path)
    }
    fn open(&self, path: &Path, create: bool) -> io::Result<Box<dyn File>> {
        self.0.open(path, create)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        while !self.1.load(SeqCst) {
            std::thread::yield_now();
        }
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }
    fn len(&self, path: &Path) -> io::Result<u64> {
        self.0.len(path)
    }
}

#[test]
fn a_segment_that_was_begun_and_not_named_is_found() {
    let disk = SimDisk::default();
    let go_on = Arc::new(AtomicBool::new(true));
    let shared = Arc::new(Shared::default());
    let lane = shared.stream.add_lane();
    let (writer, orders) = Writer::start(
        Arc::new(Slow(disk.clone(), Arc::clone(&go_on))),
        Arc::clone(&shared),
        Arc::new(Seen::default()),
        place(500),
        Recovered::fresh(Base::default()),
    )
    .expect("a journal");
    // The manifest is not written until the end.
    go_on.store(false, SeqCst);
    let writer = std::thread::spawn(move || writer.run());
    let append = |value: &[u8]| {
        lane.append(shared.stream.counter(), 5, true, |unit| {
            unit.command(0, b"SET", 1, std::iter::once(value));
        });
        while shared.written() < shared.last() {
            shared.write_through(|| {});
        }
    };
    let mut expected = Vec::new();
    let second = place(0).file("a.aof.2.seg");
    let begun = || disk.read(&second).is_ok_and(|b| b.len() > 64 && b[..8] != [0; 8]);
    while !begun() {
        append(&[7; 100]);
        expected.push(vec![7; 100]);
        std::thread::yield_now();
    }
    for i in 0..3u8 {
        append(&[i; 100]);
        expected.push(vec![i; 100]);
        // A killed process: all that was written is there.
        let killed = disk.fork();
        let (values, from) = recover(&killed).expect("sound");
        assert!(values == expected, "{} of {}", values.len(), expected.len());
        // The journal that goes on then names it before anything else.
        let mut journal = start(&killed, Sync::EverySecond, 500, from);
        journal.append(0, b"more");
        journal.turn(Instant::now() + Duration::from_secs(2));
        killed.crash(&mut Rng::from_seed(i.into()));
        assert_eq!(recover(&killed).expect("sound").0.len(), expected.len() + 1);
    }
    go_on.store(true, SeqCst);
    orders.send(Control::Stop).expect("it runs");
    shared.ring();
    writer.join().expect("ended");
    assert_eq!(recover(&disk).expect("sound").0, expected);
}

#[test]
fn a_full_disk_is_tried_again() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::EverySecond, 1 << 20, Recovered::fresh(Base::default()));
    disk.set_faults(Faults { room: Some(100), ..Faults::default() });
    journal.append(0, &[7; 500]);
    let now = Instant::now();
    journal.turn(now);
    let trouble = journal.shared.trouble().expect("the disk is full");
    assert_eq!(trouble.reason, "No space left on device");
    assert!(trouble.text.contains("a.aof.1.seg") && !trouble.lasting, "{}", trouble.text);
    disk.set_faults(Faults::default());
    journal.turn(now + Duration::from_secs(2));
    assert!(journal.shared.trouble().is_none());
    assert_eq!(journal.shared.durable(), 1);
}

/// All that was durable before a sync failed.
fn one_of_two(policy: Sync) -> (SimDisk, Journal) {
    let disk = SimDisk::default();
    let mut journal = start(&disk, policy, 1 << 20, Recovered::fresh(Base::default()));
    let soon = Instant::now() + Duration::from_secs(1);
    journal.append(0, b"one");
    journal.turn(soon);
    disk.set_faults(Faults { good_syncs: Some(0), drops: true, ..Faults::default() });
    journal.append(0, b"two");
    journal.turn(soon + Duration::from_secs(1));
    assert!(journal.shared.trouble().is_some());
    disk.set_faults(Faults::default());
    (disk, journal)
}

#[test]
fn a_crash_before_the_new_base_leaves_what_was_durable() {
    let (disk, mut journal) = one_of_two(Sync::Always);
    journal.append(0, b"three");
    journal.turn(Instant::now() + Duration::from_secs(5));
    journal.orders.send(Control::Rotate).expect("open");
    journal.turn(Instant::now() + Duration::from_secs(10));
    disk.crash(&mut Rng::from_seed(1));
    let (values, _) = recover(&disk).expect("sound");
    assert_eq!(values, [b"one"]);
}

#[test]
fn what_was_dropped_counts_as_written_when_a_base_has_it() {
    let (_, mut journal) = one_of_two(Sync::Always);
    journal.append(0, b"three");
    journal.turn(Instant::now() + Duration::from_secs(5));
    assert_eq!(journal.shared.written(), 2);
    journal.orders.send(Control::Rotate).expect("open");
    journal.turn(Instant::now() + Duration::from_secs(10));
    let base = Base::Snapshot { name: "a.aof.9.base".into(), bytes: 1, sequence: 3 };
    journal.orders.send(Control::Rebase(base, Box::new(|r| r.expect("rebased")))).expect("open");
    journal.turn(Instant::now() + Duration::from_secs(20));
    assert_eq!((journal.shared.written(), journal.shared.durable()), (3, 3));
}

#[test]
fn a_sync_that_failed_and_was_tried_again_asks_for_a_rewrite() {
    let (_, mut journal) = one_of_two(Sync::EverySecond);
    let now = Instant::now();
    journal.turn(now + Duration::from_secs(4));
    assert!(journal.seen.trouble.lock().is_none());
    journal.append(0, b"three");
    for seconds in [6, 8] {
        journal.turn(now + Duration::from_secs(seconds));
    }
    assert_eq!((journal.shared.durable(), *journal.seen.doubts.lock()), (3, 1));
}

#[test]
fn a_segment_whose_beginning_could_not_be_synced_is_not_used() {
    for good in 0..24 {
        let disk = SimDisk::default();
        let mut journal = start(&disk, Sync::Always, 1000, Recovered::fresh(Base::default()));
        disk.set_faults(Faults { good_syncs: Some(good), drops: true, ..Faults::default() });
        let (mut now, mut written) = (Instant::now(), 0);
        while journal.shared.trouble().is_none() {
            journal.append(0, &[7; 400]);
            written += 1;
            now += Duration::from_secs(2);
            journal.turn(now);
        }
        // The next attempt succeeds, whatever it has not written.
        disk.set_faults(Faults::default());
        now += Duration::from_secs(2);
        journal.turn(now);
        journal.append(0, &[7; 400]);
        journal.turn(now);
        let durable = *journal.seen.durable.lock();
        drop(journal);
        disk.crash(&mut Rng::from_seed(good.into()));
        let (values, _) = recover(&disk).unwrap_or_else(|e| panic!("{good} good syncs: {e}"));
        assert!(values.len() as u64 >= durable, "{good}: {durable} of {written} were durable");
    }
}

#[test]
fn an_empty_journal_takes_the_place_of_another_at_once_or_not_at_all() {
    for room in [0, 100, 8300] {
        let disk = SimDisk::default();
        let (place, _) = filled(&disk);
        let (values, from) = recover(&disk).expect("sound");
        drop(from);
        let old =
            Recovery::open(Arc::new(disk.clone()), place.clone()).expect("sound").expect("there");
        let from = Recovered::instead_of(Some(old.manifest), true, 40);
        disk.set_faults(Faults { room: Some(room), ..Faults::default() });
        let shared = Arc::new(Shared::default());
        shared.set_policy(Sync::Always);
        let (files, seen) = (Arc::new(disk.clone()), Arc::new(Seen::default()));
        let started = Writer::start(files, shared, seen, place, from);
        assert!(started.is_err(), "there was room");
        disk.set_faults(Faults::default());
        assert_eq!(recover(&disk).expect("the old one is still there").0, values);
    }
}

#[test]
fn it_ends_although_a_new_base_waits_for_a_segment_that_cannot_be_made() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::Always, 1 << 20, Recovered::fresh(Base::default()));
    journal.append(0, b"one");
    journal.turn(Instant::now());
    disk.set_faults(Faults { room: Some(1000), ..Faults::default() });
    let (tell, told) = std::sync::mpsc::channel();
    let done = Box::new(move |r| tell.send(r).expect("heard"));
    let base = Base::Snapshot { name: "a.aof.9.base".into(), bytes: 1, sequence: 1 };
    journal.orders.send(Control::Rotate).expect("open");
    journal.orders.send(Control::Rebase(base, done)).expect("open");
    journal.turn(Instant::now() + Duration::from_secs(5));
    journal.orders.send(Control::Stop).expect("open");
    let later = Instant::now() + Duration::from_secs(5);
    assert!((0..10).any(|_| journal.writer.turn(later) == Turn::Stopped));
    assert!(told.try_recv().expect("told").is_err());
}

#[test]
fn setting_a_journal_aside_can_be_taken_up_again() {
    for renames in 0.. {
        let disk = SimDisk::default();
        let (place, _) = filled(&disk);
        let files = || Arc::new(disk.clone());
        let open = || Recovery::open(files(), place.clone());
        let manifest = open().expect("sound").expect("there").manifest;
        disk.set_faults(Faults { good_renames: Some(renames), ..Faults::default() });
        if manifest.set_aside(&disk, &place).is_ok() {
            assert!(renames > 5 && open().expect("sound").is_none());
            break;
        }
        disk.crash(&mut Rng::from_seed(renames.into()));
        let manifest = open().expect("sound").expect("it is still there").manifest;
        manifest.set_aside(&disk, &place).expect("it works now");
        assert!(open().expect("sound").is_none());
    }
}

#[test]
fn what_was_set_aside_stays() {
    let disk = SimDisk::default();
    let (place, segments) = filled(&disk);
    let files = Arc::new(disk.clone());
    let text = |path: &Path| disk.read(path).expect("there");
    let ends = |end: &str| {
        let mut names = disk.names();
        names.retain(|n| n.to_string_lossy().ends_with(end));
        names
    };
    // A repair, and another one of a journal that went on under the same names.
    let first = text(Path::new(&segments[3]));
    let damage = |name: &str| disk.damage(Path::new(name), |b| b[70] ^= 1);
    damage(&segments[2]);
    check::check_journal(&disk, &place.manifest(), true).expect("fixable");
    assert!(!ends(".seg.lost").is_empty());
    let (_, from) = recover(&disk).expect("sound");
    let mut journal = start(&disk, Sync::Always, 4000, from);
    for _ in 0..40 {
        journal.append(0, &[9; 400]);
        journal.turn(Instant::now());
    }
    drop(journal);
    damage(&segments[2]);
    let report = check::check_journal(&disk, &place.manifest(), true).expect("fixable");
    assert!(report.text.contains(".seg.lost.2"), "{}", report.text);
    assert_eq!(text(Path::new(&format!("{}.lost", segments[3]))), first);
    // So with a journal in whose place files of a Redis were loaded.
    for n in 1..=3 {
        let manifest = Recovery::open(files.clone(), place.clone()).expect("sound");
        manifest.expect("there").manifest.set_aside(&disk, &place).expect("set aside");
        let olds =
            disk.names().iter().filter(|p| p.to_string_lossy().contains("journal.old")).count();
        assert_eq!(olds, n);
        drop(start(&disk, Sync::Always, 4000, Recovered::fresh(Base::default())));
    }
}

#[test]
fn without_aof_load_truncated_a_torn_end_stops_the_start() {
    let disk = SimDisk::default();
    let mut journal = start(&disk, Sync::Never, 1 << 20, Recovered::fresh(Base::default()));
    (0..3u8).for_each(|i| journal.append(0, &[i; 100]));
    journal.turn(Instant::now());
    drop(journal);
    let name = place(0).file("a.aof.1.seg");
    disk.damage(&name, |b| b.truncate(b.len() - 5));
    let bytes = disk.read(&name).expect("there");
    let open = || Recovery::open(Arc::new(disk.clone()), place(0)).expect("sound").expect("there");
    let refused = open().replay(false, |_, _| Ok(())).expect_err("refused").to_string();
    assert!(refused.contains("ends in the middle of a record, at offset"), "{refused}");
    assert_eq!(disk.read(&name).expect("there"), bytes, "it stays as it is");
    let recovered = open().replay(true, |_, _| Ok(())).expect("cut");
    let (file, at, lost) = recovered.cut.expect("cut");
    assert!(file.ends_with("a.aof.1.seg") && at + lost == bytes.len() as u64);
    assert_eq!(recovered.last, 2);
}
