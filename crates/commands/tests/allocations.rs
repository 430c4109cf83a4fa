//! Allocations of the most frequent commands: reads and changes in place allocate nothing, a new key
//! one block. A count that grows here is a regression that no reply shows.

#![expect(unsafe_code, reason = "a global allocator that counts; it only passes calls on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use resp::{Args, Out, Proto, Reply, Span};
use stdx::rng::Rng;
use store::{Context, Db, Keyspace};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|n| n.set(n.get() + 1));
        // SAFETY: the caller's contract.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn hot_commands() {
    let keyspace = Keyspace::new(1, 0);
    let mut cx = Context::new(1_770_000_000_000, Rng::from_seed(1));
    let mut out =
        Out { buf: Vec::with_capacity(1 << 20), shared: Vec::with_capacity(16), limit: 0 };
    // Returns how often the command asked for memory.
    let mut run = |line: &str| {
        let (mut buf, mut spans) = (Vec::new(), Vec::new());
        for arg in line.split(' ') {
            spans.push(Span::new(buf.len(), arg.len()));
            buf.extend_from_slice(arg.as_bytes());
        }
        let name = line.split(' ').next().expect("a name").to_lowercase();
        let command = commands::all().find(|c| c.row.name == name).expect("a command");
        let mut args = Args::new(&buf, &spans, &mut []);
        // A lock of all shards needs no memory of its own, unlike one of some shards.
        let mut db = Db::lock_all(&keyspace, 0, &mut cx);
        let before = COUNT.with(Cell::get);
        (command.run)(&mut db, &mut args, &mut Reply::new(&mut out, Proto::V2)).expect("accepted");
        COUNT.with(Cell::get) - before
    };
    // The first keys of a shard also make its table.
    for line in ["SET n 5", "SET s hello", "MSET a 1 b two", "SET new 1", "DEL new"] {
        run(line);
    }
    let large = format!("SET large {}", "x".repeat(100_000));
    run(&large);
    // No reply refers to this value, so that its bytes may change where they lie.
    run(&large.replace("large", "bitmap"));
    let cases = [
        ("GET n", 0),
        ("GET s", 0),
        ("GET large", 0),
        ("GET nothing", 0),
        ("STRLEN n", 0),
        ("GETRANGE s 1 3", 0),
        ("GETRANGE n 0 0", 0),
        ("MGET n s a b nothing large", 0),
        ("INCR n", 0),
        ("DECRBY n 100", 0),
        ("SET s jello", 0),
        ("SET n 7", 0),
        ("MSET a 2 b six", 0),
        ("SETNX s no", 0),
        ("SETRANGE s 0 c", 0),
        ("APPEND s !", 0),
        ("GETSET s hello", 0),
        ("GETBIT n 3", 0),
        ("GETBIT large 99", 0),
        ("BITCOUNT n", 0),
        ("BITCOUNT s 3 9 BIT", 0),
        ("BITPOS s 0 1 -1", 0),
        ("BITFIELD n GET u8 0 GET i4 #1", 0),
        ("SETBIT s 3 0", 0),
        ("SETBIT bitmap 12345 1", 0),
        ("BITFIELD s SET u8 0 72 OVERFLOW SAT INCRBY i4 #9 100", 0),
        ("INCR new", 1),
        ("DEL new", 0),
        ("SETNX new fresh", 1),
        ("DEL new", 0),
        ("SET new fresh", 1),
        ("DEL new", 0),
        ("APPEND new fresh", 1),
    ];
    for (line, allocations) in cases {
        assert_eq!(run(line), allocations, "{line}");
    }
}
