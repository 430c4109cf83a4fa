//! Hostile bytes: whatever is done to files and payloads, reading them ends with a value or an
//! error, without a panic and without more memory than the bytes justify; and what was read can be
//! written and read again.
//!
//! `APUS_FUZZ_SECONDS` says for how long (default: some thousand rounds), `APUS_FUZZ_SEED` from
//! where.

#![expect(unsafe_code, reason = "an allocator that notes the largest request")]

mod old;
mod show;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use rdb::{Item, Limits, Reader};
use show::show;
use stdx::rng::Rng;

thread_local! {
    /// The largest allocation of the thread.
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Noting;

fn note(n: usize) {
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(n)));
}

// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Memory that is there to begin with: buffers, tables.
const AT_LEAST: usize = 4 << 20;
/// How much larger a structure may be than the bytes it was read from, LZF included.
const RATIO: usize = 100 * 8;

/// Bytes that mean something to the format.
const PIECES: [&[u8]; 14] = [
    &[0xff],
    &[0x80, 0xff, 0xff, 0xff, 0xff],
    &[0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    &[0xc0, 0x80],
    &[0xc3, 5, 0x7f, 0xff],
    &[0xfe, 0xff, 0xff, 0xff, 0x7f],
    &[0xf4, 0, 0, 0, 0, 0, 0, 0, 0x80],
    &[0],
    &[0x7f, 0xff],
    &[0xf0, 0xff, 0xff, 0xff, 0xff],
    &[1, 1],
    &[0xc0, 0, 2],
    &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
];

fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, from: usize) {
    for _ in 0..1 + rng.below(4) {
        let at = from + rng.index((bytes.len() - from).max(1));
        match rng.below(7) {
            0 if at < bytes.len() => bytes[at] = rng.next_u64() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            2 if at < bytes.len() => bytes[at] = bytes[at].wrapping_add([1, 255][rng.index(2)]),
            3 => bytes.truncate(at.max(from)),
            4 => drop(bytes.drain(at.min(bytes.len())..(at + rng.index(9)).min(bytes.len()))),
            5 => {
                let piece = PIECES[rng.index(PIECES.len())];
                let end = (at + rng.index(piece.len() + 1)).min(bytes.len());
                bytes.splice(at.min(end)..end, piece.iter().copied());
            }
            _ => {
                let end = (at + rng.index(20)).min(bytes.len());
                let copy = bytes[at.min(end)..end].to_vec();
                let to = from + rng.index((bytes.len() - from).max(1));
                bytes.splice(to.min(bytes.len())..to.min(bytes.len()), copy);
            }
        }
    }
}

fn limits(rng: &mut Rng) -> Limits {
    let mut limits = Limits::default();
    if rng.below(2) == 0 {
        limits.hash.entries = rng.index(5);
        limits.hash.value = rng.index(70);
        limits.set.intset_entries = rng.index(5);
        limits.set.listpack_entries = rng.index(5);
        limits.zset.entries = rng.index(5);
        limits.list = data::list::Limit::new(rng.below(4) as i64 - 2);
    }
    limits
}

fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs `round` with a generator of its own, often enough.
fn rounds(least: u64, mut round: impl FnMut(&mut Rng) -> bool) {
    let time = env("APUS_FUZZ_SECONDS").map_or(Duration::ZERO, Duration::from_secs);
    let seed = env("APUS_FUZZ_SEED").unwrap_or(1);
    let start = Instant::now();
    let (mut n, mut accepted) = (0, 0);
    while n < least || start.elapsed() < time {
        let mut rng = Rng::from_seed(seed.wrapping_add(n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let guard = Named(seed.wrapping_add(n));
        accepted += u64::from(round(&mut rng));
        std::mem::forget(guard);
        n += 1;
    }
    eprintln!("{n} rounds, {accepted} accepted");
    assert!(accepted > 0 && accepted < n);
}

/// Says which seed was at work when a round did not end.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        eprintln!("APUS_FUZZ_SEED={}", self.0);
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(dir.join(name)).expect("a fixture")
}

/// Payloads of every type and encoding, without their footers.
fn values() -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = old::payloads().into_iter().map(|(p, _)| p).collect();
    let file = fixture("redis-7.0-compressed.rdb");
    let mut reader = Reader::new(&file[..], Limits::default(), true).expect("a fixture");
    loop {
        match reader.next().expect("a fixture") {
            Item::Entry(e) => values.push(rdb::dump(&e.entry)),
            Item::End { .. } => break,
            _ => {}
        }
    }
    // Long ones make a round slow and a change improbable to matter.
    values.retain(|v| v.len() < 20_000);
    values
}

#[test]
fn payloads() {
    let values = values();
    rounds(6_000, |rng| {
        let mut bytes = values[rng.index(values.len())].clone();
        let len = bytes.len();
        let footer = bytes.split_off(len - 10);
        // The type mostly stays.
        let from = usize::from(rng.below(10) > 0).min(bytes.len());
        mutate(rng, &mut bytes, from);
        bytes.extend_from_slice(&footer);
        let limits = limits(rng);
        LARGEST.set(0);
        let read = rdb::restore(&bytes, b"key", None, limits, false);
        assert!(LARGEST.get() < AT_LEAST + RATIO * bytes.len(), "{} bytes", LARGEST.get());
        let Ok(e) = read else { return false };
        let again = rdb::restore(&rdb::dump(&e), b"key", None, limits, true).expect("our own");
        // A name may have become another: Redis names by what it read.
        let parts = |e| show(e).split_once(": ").map(|(_, parts)| parts.to_owned());
        assert_eq!(parts(&e), parts(&again));
        assert!(e.bytes() > 0 && e.effort() > 0);
        true
    });
}

#[test]
fn files() {
    let files = [fixture("redis-7.0-plain.rdb"), fixture("redis-7.0-compressed.rdb")];
    rounds(120, |rng| {
        let mut bytes = files[rng.index(2)].clone();
        // Half of the changes near the beginning, so that some are reached at all.
        let end = if rng.below(2) == 0 { 2000 } else { bytes.len() };
        let mut head = bytes[..end].to_vec();
        mutate(rng, &mut head, 0);
        bytes.splice(..end, head);
        LARGEST.set(0);
        let Ok(mut reader) = Reader::new(&bytes[..], limits(rng), false) else { return false };
        let accepted = loop {
            match reader.next() {
                Ok(Item::End { .. }) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        assert!(LARGEST.get() < AT_LEAST + RATIO * bytes.len(), "{} bytes", LARGEST.get());
        accepted
    });
}
