//! What a disk may do to topics: ends that are cut off, bytes that have changed, processes killed.

mod common;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Backend, Rng, TempDir, all_from, from, input};
use log::batch::HEADER;
use log::storage::disk::Disk;
use log::storage::{Storage as _, Want};
use log::{Broker, Error, Options, Settings};

fn segment(dir: &Path, first: u64) -> PathBuf {
    dir.join("t").join(format!("{first:020}.log"))
}

fn broker(dir: &TempDir) -> Broker {
    Backend::Disk(TempDir::adopt(dir.to_path_buf())).leak().broker(Options::default())
}

impl Backend {
    /// Does not remove the directory.
    fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

/// What says up to which offset all records have reached the disk.
fn stored(dir: &TempDir) -> PathBuf {
    dir.path().join("t").join("stored")
}

/// Says that all records before this offset have reached the disk.
fn say_stored(dir: &TempDir, offset: u64) {
    let mut bytes = offset.to_le_bytes().to_vec();
    bytes.extend(stdx::crc32c::crc32c(0, &bytes).to_le_bytes());
    fs::write(stored(dir), bytes).expect("written");
}

/// Eight batches of one record of 1,000 bytes each; where they begin.
fn eight(dir: &TempDir, settings: &Settings) -> Vec<u64> {
    let b = broker(dir);
    b.create("t", settings).expect("created");
    for i in 0..8u8 {
        b.append_wait("t", input(&[&[i; 1000]])).expect("stored");
    }
    (0..=8).map(|i| i * (HEADER as u64 + 4 + 1000)).collect()
}

#[test]
fn a_torn_end_is_cut_wherever_it_tore() {
    let mut rng = Rng(11);
    for round in 0..60 {
        let dir = TempDir::new();
        let starts = eight(&dir, &Settings::default());
        let path = segment(dir.path(), 0);
        let file = File::options().write(true).open(&path).expect("there");
        // The last write is torn at some byte: cut off, or with zeros or noise behind. It was not acknowledged;
        // and what says so may not have reached the disk either.
        if round % 2 == 0 {
            say_stored(&dir, 7);
        } else {
            fs::remove_file(stored(&dir)).expect("there");
        }
        let torn = starts[7] + rng.below(starts[8] - starts[7]);
        match round % 3 {
            0 => file.set_len(torn).expect("cut"),
            1 => file.write_all_at(&vec![0; (starts[8] - torn) as usize], torn).expect("written"),
            _ => file.write_all_at(&vec![0xee; 5000], torn).expect("written"),
        }
        let b = broker(&dir);
        let n = all_from(&b, "t", 0).len();
        // Zeros over bytes that were zero change nothing.
        assert!(n == 7, "round {round}: {n} records after tearing at {torn}");
        assert!(b.verify("t", &mut |_| {}).expect("readable").is_empty());
        let a = b.append_wait("t", input(&[b"new"])).expect("stored");
        assert_eq!(a.first_offset, 7);
        drop(b);
        let b = broker(&dir);
        let records = all_from(&b, "t", 0);
        assert_eq!((records.len(), &records[7][..]), (8, &b"new"[..]));
    }
}

/// A group of six large batches behind three that were acknowledged one by one; where they begin.
fn group_of_six(dir: &TempDir) -> Vec<u64> {
    let b = broker(dir);
    let settings = Settings { linger_ms: Some(60_000), ..Settings::default() };
    b.create("t", &Settings::default()).expect("created");
    for i in 0..3u8 {
        b.append_wait("t", input(&[&[i; 1000]])).expect("stored");
    }
    b.set("t", settings).expect("set");
    let (tx, rx) = std::sync::mpsc::channel();
    for i in 0..6u64 {
        let tx = tx.clone();
        let done = Box::new(move |result| tx.send(result).expect("received"));
        // Numbered, so that they stay batches of their own.
        let numbered = input(&[&vec![i as u8 + 1; 600_000]]).by(i + 1, 1);
        b.append("t", numbered, None, done);
    }
    assert!(b.close(Duration::from_secs(60)), "what has gathered is stored");
    rx.iter().take(6).for_each(|result| assert!(result.is_ok(), "{result:?}"));
    let mut starts = Vec::new();
    let mut at = 0;
    let seen = &mut |h: &log::batch::Header| {
        starts.push(at);
        at += h.len() as u64;
        assert_eq!(h.synced_before(), Some(h.first_offset.min(3)), "one group");
    };
    assert!(b.verify("t", seen).expect("readable").is_empty());
    starts.push(at);
    starts
}

#[test]
fn a_hole_in_the_last_group_is_an_unfinished_write() {
    let mut rng = Rng(5);
    let sound = TempDir::new();
    let starts = group_of_six(&sound);
    assert_eq!(starts.len(), 10);
    for round in 0..24 {
        let dir = TempDir::new();
        fs::create_dir(dir.path().join("t")).expect("created");
        for name in ["topic.json", "00000000000000000000.log"] {
            let name = Path::new("t").join(name);
            fs::copy(sound.path().join(&name), dir.path().join(&name)).expect("copied");
        }
        // The disk has taken the group in any order, and one part of it not at all: blocks of it are
        // zeros, as where nothing was ever written, or what was there before. All else is sound.
        let block = |at: u64| at - at % 4096;
        let from = block(starts[3]) + 4096 * (1 + rng.below((starts[9] - starts[3]) / 4096 - 2));
        let blocks = 1 + rng.below(if round % 2 == 0 { 3 } else { 200 });
        let to = block(from + 4096 * blocks).min(starts[9]);
        let file = File::options().write(true).open(segment(dir.path(), 0)).expect("there");
        let hole = vec![if round % 3 == 0 { 0xee } else { 0 }; (to - from) as usize];
        file.write_all_at(&hole, from).expect("written");
        // What comes before the hole may have been stored; what comes behind must not come to light.
        let whole = starts[1..].iter().take_while(|end| **end <= from).count();
        let b = broker(&dir);
        assert_eq!(all_from(&b, "t", 0).len(), whole, "round {round}: hole {from}..{to}");
        assert!(b.verify("t", &mut |_| {}).expect("readable").is_empty());
        assert_eq!(b.describe("t").expect("there").extent.bytes, starts[whole]);
        b.set("t", Settings::default()).expect("set");
        for i in 0..4u8 {
            let a = b.append_wait("t", input(&[&vec![i; 500_000]])).expect("stored");
            assert_eq!(a.first_offset, whole as u64 + u64::from(i));
        }
        drop(b);
        let b = broker(&dir);
        assert_eq!(all_from(&b, "t", 0).len(), whole + 4);
        assert!(b.verify("t", &mut |_| {}).expect("readable").is_empty());
    }
}

#[test]
fn damage_in_the_middle_is_reported_and_the_rest_readable() {
    for (batch, byte) in [(3, 0), (3, 20), (3, 36), (3, HEADER as u64), (3, 500), (0, 7), (6, 90)] {
        let dir = TempDir::new();
        let starts = eight(&dir, &Settings::default());
        let path = segment(dir.path(), 0);
        let file = File::options().read(true).write(true).open(&path).expect("there");
        let at = starts[batch as usize] + byte;
        let mut was = [0];
        file.read_exact_at(&mut was, at).expect("there");
        file.write_all_at(&[was[0] ^ 0x40], at).expect("written");
        let b = broker(&dir);
        let damage = b.verify("t", &mut |_| {}).expect("readable");
        assert_eq!(damage.len(), 1, "{damage:?}");
        let d = &damage[0];
        assert_eq!((&d.topic[..], d.offset, d.resumes), ("t", batch, Some(batch + 1)));
        assert_eq!((d.position, &d.object), (starts[batch as usize], &path.display().to_string()));
        for offset in 0..8 {
            let read = b.read("t", &from(offset));
            if offset == batch {
                let Err(Error::Damaged(found)) = read else { panic!("{read:?}") };
                assert_eq!(found, *d);
                assert!(Error::Damaged(found).to_string().contains(&path.display().to_string()));
            } else {
                let batches = read.expect("sound").batches;
                assert_eq!(batches[0].header.first_offset, offset);
                // Nothing is skipped silently.
                let upto = if offset < batch { batch } else { 8 };
                assert_eq!(batches.last().map(|b| b.header.next_offset()), Some(upto));
            }
        }
        assert_eq!(b.append_wait("t", input(&[b"new"])).map(|a| a.first_offset), Ok(8));
    }
}

#[test]
fn damage_in_an_older_file_is_damage_at_its_end_too() {
    let dir = TempDir::new();
    let settings = Settings { segment_bytes: 4096, ..Settings::default() };
    let starts = eight(&dir, &settings);
    // Three batches in each file.
    let path = segment(dir.path(), 0);
    let file = File::options().write(true).open(&path).expect("there");
    file.set_len(starts[2] + 10).expect("cut");
    let b = broker(&dir);
    assert_eq!(b.describe("t").expect("there").extent.next, 8);
    let first = b.read("t", &from(0)).expect("sound").batches;
    assert_eq!(first.last().map(|b| b.header.next_offset()), Some(2));
    let Err(Error::Damaged(d)) = b.read("t", &from(2)) else { panic!("not damaged") };
    assert_eq!((d.offset, d.position), (2, starts[2]));
    assert_eq!(d.resumes, Some(3), "{d}");
    assert_eq!(b.read("t", &from(3)).expect("sound").batches[0].header.first_offset, 3);
    assert_eq!(b.verify("t", &mut |_| {}).expect("readable").len(), 1);
}

#[test]
fn a_file_that_is_missing_is_damage() {
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, ..Settings::default() });
    fs::remove_file(segment(dir.path(), 3)).expect("there");
    let b = broker(&dir);
    let Err(Error::Damaged(d)) = b.read("t", &from(3)) else { panic!("not damaged") };
    assert_eq!((d.offset, d.resumes), (3, Some(6)));
    assert_eq!(b.verify("t", &mut |_| {}).expect("readable").len(), 1);
    assert_eq!(all_from(&b, "t", 6).len(), 2);
}

#[test]
fn without_sync_a_broken_end_is_cut() {
    let dir = TempDir::new();
    let starts = eight(&dir, &Settings { sync: false, ..Settings::default() });
    let path = segment(dir.path(), 0);
    let file = File::options().write(true).open(&path).expect("there");
    file.write_all_at(&[1; 20], starts[5] + 500).expect("written");
    // What came after may have been written before it, when the power failed.
    let b = broker(&dir);
    assert_eq!(all_from(&b, "t", 0).len(), 5);
}

#[test]
fn retries_are_recognised_across_files() {
    let dir = TempDir::new();
    let b = broker(&dir);
    b.create("t", &Settings { segment_bytes: 4096, ..Settings::default() }).expect("created");
    let one = b.append_wait("t", input(&[b"numbered"]).by(5, 1)).expect("stored");
    for _ in 0..10 {
        b.append_wait("t", input(&[&[0; 3000]])).expect("stored");
    }
    drop(b);
    let b = broker(&dir);
    let again = b.append_wait("t", input(&[b"numbered"]).by(5, 1)).expect("known");
    assert!(again.duplicate && again.first_offset == one.first_offset);
    let gap = b.append_wait("t", input(&[b"x"]).by(5, 3));
    assert!(matches!(gap, Err(Error::Sequence { expected: 2, .. })));
}

#[test]
fn one_process_at_a_time() {
    let dir = TempDir::new();
    let first = Disk::open(dir.path()).expect("free");
    let second = Disk::open(dir.path());
    assert!(second.is_err_and(|e| e.to_string().contains("used by another process")));
    drop(first);
    assert!(Disk::open(dir.path()).is_ok());
}

#[test]
fn what_was_left_unfinished_goes() {
    let dir = TempDir::new();
    for name in [".new-half", ".deleted-1-gone"] {
        fs::create_dir(dir.path().join(name)).expect("created");
        fs::write(dir.path().join(name).join("topic.json"), "{}").expect("written");
    }
    let disk = Disk::open(dir.path()).expect("free");
    assert_eq!(disk.topics(), Ok(Vec::new()));
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 1, "only the lock");
}

/// Flips a bit of a file.
fn flip(path: &Path, bit: usize) {
    let mut bytes = fs::read(path).expect("there");
    bytes[bit / 8] ^= 1 << (bit % 8);
    fs::write(path, bytes).expect("written");
}

/// What the error is, which must be a refusal that says what to do.
fn refusal<T>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Storage(text)) => text,
        Err(e) => panic!("another error: {e}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn any_flipped_bit_of_the_settings_is_refused_and_deletes_nothing() {
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, ..Settings::default() });
    let path = dir.path().join("t").join("topic.json");
    for bit in (0..fs::read(&path).expect("there").len() * 8).step_by(411) {
        flip(&path, bit);
        let b = broker(&dir);
        let text = refusal(b.trim("t"));
        assert!(text.contains("topic.json") && text.contains("apus log repair"), "{text}");
        flip(&path, bit);
    }
    assert_eq!(all_from(&broker(&dir), "t", 0).len(), 8);
    // Without it, too; and what to do then works.
    fs::remove_file(&path).expect("there");
    let b = broker(&dir);
    assert!(refusal(b.append_wait("t", input(&[b"x"]))).contains("is missing"));
    let (done, next) = b.repair("t").expect("repaired");
    assert!(done.len() == 1 && next.is_none(), "{done:?}");
    assert_eq!(b.describe("t").expect("there").settings, Settings::default());
    assert_eq!(all_from(&b, "t", 0).len(), 8);
}

#[test]
fn any_flipped_bit_of_a_group_is_refused() {
    let dir = TempDir::new();
    eight(&dir, &Settings::default());
    broker(&dir).commit("t", "g", 5).expect("committed");
    let path = dir.path().join("t").join("groups").join("g");
    for bit in (0..fs::read(&path).expect("there").len() * 8).step_by(131) {
        flip(&path, bit);
        let text = refusal(broker(&dir).committed("t", "g"));
        assert!(text.contains("groups/g"), "{text}");
        flip(&path, bit);
    }
    flip(&path, 9);
    let b = broker(&dir);
    b.commit("t", "g", 6).expect("committed anew");
    assert_eq!(b.committed("t", "g"), Ok(Some(6)));
    drop(b);
    flip(&path, 9);
    assert_eq!(broker(&dir).forget_group("t", "g"), Ok(true));
}

#[test]
fn files_of_earlier_versions_are_read() {
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, ..Settings::default() });
    let t = dir.path().join("t");
    fs::write(t.join("topic.json"), r#"{"sync":false}"#).expect("written");
    fs::create_dir_all(t.join("groups")).expect("created");
    fs::write(t.join("groups").join("g"), "5").expect("written");
    fs::remove_file(t.join("segments")).expect("there");
    let b = broker(&dir);
    assert!(!b.describe("t").expect("there").settings.sync);
    assert_eq!(b.committed("t", "g"), Ok(Some(5)));
    assert_eq!(all_from(&b, "t", 0).len(), 8);
    b.append_wait("t", input(&[b"x"])).expect("stored");
    assert!(t.join("segments").exists());
}

#[test]
fn offsets_are_never_used_again_when_the_last_file_is_lost() {
    for segment_bytes in [4096, 1 << 20] {
        let dir = TempDir::new();
        eight(&dir, &Settings { segment_bytes, ..Settings::default() });
        let last = if segment_bytes == 4096 { 6 } else { 0 };
        fs::remove_file(segment(dir.path(), last)).expect("there");
        let b = broker(&dir);
        let text = refusal(b.append_wait("t", input(&[b"x"])));
        assert!(text.contains("is missing") && text.contains("apus log repair"), "{text}");
        let (done, _) = b.repair("t").expect("repaired");
        assert_eq!(done.len(), 1, "{done:?}");
        let a = b.append_wait("t", input(&[b"x"])).expect("stored");
        assert!(a.first_offset > 1 << 39, "{a:?}");
        drop(b);
        assert_eq!(broker(&dir).read("t", &from(a.first_offset)).expect("there").batches.len(), 1);
    }
    // What says which files there are is protected itself.
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, ..Settings::default() });
    flip(&dir.path().join("t").join("segments"), 70);
    let b = broker(&dir);
    assert!(refusal(b.append_wait("t", input(&[b"x"]))).contains("segments is damaged"));
    b.repair("t").expect("repaired");
    assert_eq!(b.append_wait("t", input(&[b"x"])).expect("stored").first_offset, 8);
}

#[test]
fn offsets_are_never_used_again_when_the_last_file_is_cut() {
    let cuts: [fn(&[u64]) -> u64; 4] = [|s| s[7] + 500, |s| s[6], |s| s[0], |s| s[8] - 1];
    for (i, cut) in cuts.iter().enumerate() {
        for segment_bytes in [4096, 1 << 20] {
            let dir = TempDir::new();
            let starts = eight(&dir, &Settings { segment_bytes, ..Settings::default() });
            // Three batches in each file.
            let (first, len) = match segment_bytes {
                4096 => (6, cut(&starts).saturating_sub(starts[6])),
                _ => (0, cut(&starts)),
            };
            let path = segment(dir.path(), first);
            let file = File::options().write(true).open(&path).expect("there");
            file.set_len(len).expect("cut");
            let before = fs::read(&path).expect("there");
            let b = broker(&dir);
            let text = refusal(b.append_wait("t", input(&[b"x"])));
            assert!(text.contains(&path.display().to_string()), "{text}");
            assert!(text.contains("offset 8") && text.contains("apus log repair t"), "{text}");
            assert_eq!(fs::read(&path).expect("there"), before, "a refusal changes nothing");
            let (done, _) = b.repair("t").expect("repaired");
            assert_eq!(done.len(), 1, "{done:?}");
            let a = b.append_wait("t", input(&[b"x"])).expect("stored");
            assert!(a.first_offset > 1 << 39, "{a:?}");
            drop(b);
            // All that is there is read, and that the rest is not is said.
            let b = broker(&dir);
            assert_eq!(b.read("t", &from(a.first_offset)).expect("there").batches.len(), 1);
            let whole = [7, 6, first, 7][i].max(first);
            let mut offset = 0;
            while offset < whole {
                let batches = b.read("t", &from(offset)).expect("sound").batches;
                offset = batches.last().expect("some").header.next_offset();
            }
            let lost = b.read("t", &from(whole));
            let Err(Error::Damaged(d)) = lost else { panic!("round {i}: {lost:?}") };
            assert_eq!((d.offset, d.resumes), (whole, Some(a.first_offset)), "round {i}");
            assert_eq!(b.verify("t", &mut |_| {}).expect("readable").len(), 1, "round {i}");
            assert!(b.repair("t").expect("nothing to do").0.is_empty());
        }
    }
}

#[test]
fn damage_in_the_last_group_is_no_unfinished_write_if_it_was_acknowledged() {
    let sound = TempDir::new();
    let starts = group_of_six(&sound);
    for batch in 3..9u64 {
        for byte in [20, HEADER as u64 + 300_000] {
            let dir = TempDir::new();
            fs::create_dir(dir.path().join("t")).expect("created");
            for name in ["topic.json", "stored", "00000000000000000000.log"] {
                let name = Path::new("t").join(name);
                fs::copy(sound.path().join(&name), dir.path().join(&name)).expect("copied");
            }
            flip(&segment(dir.path(), 0), (starts[batch as usize] + byte) as usize * 8);
            let b = broker(&dir);
            if batch == 8 && byte == 20 {
                // Nothing says how many records the last batch had.
                let text = refusal(b.append_wait("t", input(&[b"x"])));
                assert!(text.contains("ends at offset 8"), "{text}");
                continue;
            }
            let Err(Error::Damaged(d)) = b.read("t", &from(batch)) else { panic!("not damaged") };
            let resumes = (batch < 8).then_some(batch + 1);
            assert_eq!((d.offset, d.resumes.filter(|at| *at < 9)), (batch, resumes));
            if let Some(next) = resumes {
                assert_eq!(all_from(&b, "t", next).len() as u64, 9 - next);
            }
            b.set("t", Settings::default()).expect("set");
            assert_eq!(b.append_wait("t", input(&[b"x"])).map(|a| a.first_offset), Ok(9));
            drop(b);
            let b = broker(&dir);
            assert_eq!(b.read("t", &from(9)).expect("there").batches.len(), 1);
        }
    }
    // What says how much was stored may be damaged itself: then nothing is known.
    let dir = TempDir::new();
    eight(&dir, &Settings::default());
    flip(&stored(&dir), 9);
    let b = broker(&dir);
    assert_eq!(b.append_wait("t", input(&[b"x"])).map(|a| a.first_offset), Ok(8));
}

#[test]
fn what_retention_has_let_go_of_does_not_come_back() {
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, retention_bytes: 1, ..Settings::default() });
    // Its removal fails: a directory is in the place of the file.
    let path = segment(dir.path(), 0);
    let kept = dir.path().join("kept");
    fs::rename(&path, &kept).expect("moved");
    fs::create_dir(&path).expect("created");
    fs::write(path.join("full"), "").expect("written");
    let b = broker(&dir);
    assert!(b.trim("t").is_err());
    let first = b.describe("t").expect("there").extent.first;
    assert_eq!(first, 6);
    drop(b);
    fs::remove_dir_all(&path).expect("there");
    fs::rename(&kept, &path).expect("moved");
    let b = broker(&dir);
    assert_eq!(b.describe("t").expect("there").extent.first, first);
    assert!(!path.exists(), "the rest of the removal is done at the next start");
    // A first file that is lost is damage.
    drop(b);
    let dir = TempDir::new();
    eight(&dir, &Settings { segment_bytes: 4096, ..Settings::default() });
    fs::remove_file(segment(dir.path(), 0)).expect("there");
    let b = broker(&dir);
    let Err(Error::Damaged(d)) = b.read("t", &from(0)) else { panic!("not damaged") };
    assert_eq!((d.offset, d.resumes), (0, Some(3)));
    assert_eq!(b.verify("t", &mut |_| {}).expect("readable").len(), 1);
}

#[test]
fn open_files_are_bounded() {
    let dir = TempDir::new();
    let disk = std::sync::Arc::new(Disk::open_with(dir.path(), 4).expect("free"));
    let tell = Box::new(|_: &str| {});
    let b = Broker::new(disk.clone(), Options::default(), tell, Box::new(|| 1));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let b = &b;
            scope.spawn(move || {
                for i in 0..40 {
                    let topic = format!("t{}", (i * 7 + thread) % 40);
                    b.append_wait(&topic, input(&[b"x"])).expect("stored");
                    b.read(&topic, &from(0)).expect("there");
                }
            });
        }
    });
    let open = fs::read_dir("/proc/self/fd").map_or(0, |files| {
        let inside = |f: &fs::DirEntry| {
            fs::read_link(f.path())
                .is_ok_and(|to| to.starts_with(dir.path()) && !to.ends_with(".lock"))
        };
        files.filter_map(Result::ok).filter(inside).count()
    });
    assert!(open <= 4 && disk.descriptors().0 <= 4 && disk.descriptors().1 == 4, "{open}");
}

#[test]
fn a_read_takes_its_memory_before_it_reads() {
    let dir = TempDir::new();
    let disk = std::sync::Arc::new(Disk::open(dir.path()).expect("free"));
    // Nothing is kept for readers: all is read from the file.
    let options = Options { answers_max: 8 << 20, kept_max: 0, ..Options::default() };
    let b = Broker::new(disk, options, Box::new(|_: &str| {}), Box::new(|| 1));
    for size in [6 << 20, 1000, 1000] {
        b.append_wait("t", input(&[&vec![7; size]])).expect("stored");
    }
    let reads = || b.counters().reads.load(std::sync::atomic::Ordering::Relaxed);
    let others = b.answer_permit(4 << 20).expect("room");
    // Much more is wanted than there is room for: the small ones fit, the large one does not.
    let all = |offset| Want { bytes: 1 << 30, ..from(offset) };
    assert!(matches!(b.read_with_permit("t", &all(0)), Err(Error::Busy { .. })));
    assert_eq!(reads(), 0, "it has not been read");
    let (fetched, room) = b.read_with_permit("t", &all(1)).expect("there is room");
    assert!(fetched.batches.len() == 2 && room.bytes() < 4000, "{}", room.bytes());
    drop((others, room));
    let (fetched, room) =
        b.read_with_permit("t", &Want { bytes: 0, ..from(0) }).expect("there is room");
    assert!(fetched.batches.len() == 1 && room.bytes() > 6 << 20);
    drop(room);
    assert_eq!(b.figures().answers.0, 0);
}

/// Set in the process that is killed: where it writes.
const CHILD: &str = "APUS_LOG_CRASH_DIR";
const PRODUCERS: u64 = 4;

/// The process that is killed: numbered producers that print what is acknowledged.
#[test]
fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let b = Backend::Disk(TempDir::adopt(dir.into())).leak().broker(Options::default());
    let _ = b.create("t", &Settings { segment_bytes: 1 << 20, ..Settings::default() });
    let mut next = HashMap::new();
    for record in all_from(&b, "t", 0) {
        let (producer, sequence) = parse(&record);
        next.insert(producer, sequence + 1);
    }
    std::thread::scope(|s| {
        for producer in 1..=PRODUCERS {
            let b = b.clone();
            let first = next.get(&producer).copied().unwrap_or(1);
            s.spawn(move || {
                let mut rng = Rng(producer);
                for sequence in first.. {
                    let mut record = format!("{producer}/{sequence}/").into_bytes();
                    record.resize(record.len() + rng.below(30_000) as usize, b'.');
                    let input = input(&[&record]).by(producer, sequence);
                    let a = b.append_wait("t", input).expect("stored");
                    let line = format!("{producer}/{sequence}/ {}\n", a.first_offset);
                    let mut out = std::io::stdout().lock();
                    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn parse(record: &[u8]) -> (u64, u64) {
    let text: String = record.iter().take(60).map(|b| *b as char).collect();
    let mut parts = text.split('/').map(|p| p.parse().expect("a number"));
    (parts.next().expect("producer"), parts.next().expect("sequence"))
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let dir = TempDir::new();
    let mut rng = Rng(common::real_us() | 1);
    let mut acknowledged: HashMap<(u64, u64), u64> = HashMap::new();
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "child", "--nocapture"])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .map(Killed)
            .expect("started");
        let out = BufReader::new(child.0.stdout.take().expect("piped"));
        let mut lines = out.lines().map_while(|l| l.ok()).filter(|l| l.contains("/ "));
        // However slow the disk is, some are stored before it is killed.
        let mut all: Vec<String> = lines.by_ref().take(10).collect();
        let pause = Duration::from_millis(rng.below(400));
        let rest = std::thread::scope(|s| {
            let rest = s.spawn(|| lines.collect::<Vec<_>>());
            std::thread::sleep(pause);
            drop(child);
            rest.join().expect("read")
        });
        all.extend(rest);
        for line in all {
            // The kill may cut the last one.
            let Some((record, offset)) = line.split_once("/ ") else { continue };
            let record = record.trim_start_matches("test child ... ");
            let Ok(offset) = offset.parse() else { continue };
            acknowledged.insert(parse(format!("{record}/").as_bytes()), offset);
        }
        let b = broker(&dir);
        let records = all_from(&b, "t", 0);
        let mut last = HashMap::new();
        for record in &records {
            let (producer, sequence) = parse(record);
            // Each once, in the producer's order, without a gap.
            assert_eq!(last.insert(producer, sequence).unwrap_or(0) + 1, sequence, "{producer}");
        }
        for ((producer, sequence), offset) in &acknowledged {
            let at = usize::try_from(*offset).expect("small");
            // A number in the line may have been cut by the kill, but then it is another record's.
            let found = records.get(at).map(|r| parse(r));
            assert_eq!(found, Some((*producer, *sequence)), "round {round}, offset {offset}");
        }
        assert!(b.verify("t", &mut |_| {}).expect("readable").is_empty());
    }
    assert!(acknowledged.len() > 100, "only {} appends were tested", acknowledged.len());
}
