//! The bytes that a stream says it holds are those that the allocator gets back from it.

use std::alloc::System;

use data::big::Value as _;
use data::stream::{Id, NodeLimits, Pending, Stream};
use stdx::mem::Counting;
use stdx::rng::Rng;

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

fn build(rng: &mut Rng, entries: u64, deletes: usize, groups: usize) -> Stream {
    let limits = NodeLimits { bytes: 4096, entries: 100 };
    let mut stream = Stream::default();
    for i in 1..=entries {
        let value = "v".repeat(rng.index(if i % 50 == 0 { 9000 } else { 60 }));
        let texts = [b"field", value.as_bytes(), b"other", b"17"];
        stream.log.append(Id::new(i, 0), texts.into_iter(), limits);
    }
    for _ in 0..deletes {
        stream.log.delete(Id::new(1 + rng.below(entries), 0));
    }
    for g in 0..groups {
        let name = format!("group {g}");
        stream.add_group(name.as_bytes(), Id::MIN, None);
        let (mut group, _) = stream.group_mut(name.as_bytes()).expect("there");
        for i in 0..2000 {
            let consumer = format!("consumer {}", rng.index(20));
            let (consumer, _) = group.find_or_add(consumer.as_bytes(), 1);
            group.assign(Id::new(i, 0), Pending { time: 1, count: 1, consumer });
        }
        for _ in 0..1500 {
            group.forget(Id::new(rng.below(2000), 0));
        }
        group.remove_consumer(b"consumer 3");
    }
    stream
}

#[test]
fn bytes_are_those_of_the_allocator() {
    let mut rng = Rng::from_seed(3);
    let held = stdx::mem::used_by_this_thread;
    for (entries, deletes, groups) in [(1, 0, 0), (3000, 0, 0), (3000, 9000, 0), (3000, 10, 9)] {
        let mut stream = build(&mut rng, entries, deletes, groups);
        for copied in [false, true] {
            if copied {
                stream = stream.duplicate();
            }
            let (bytes, before) = (stream.bytes(), held());
            drop(std::mem::take(&mut stream));
            assert_eq!(bytes, (before - held()) as usize, "{entries} {deletes} {groups} {copied}");
            stream = build(&mut rng, entries, deletes, groups);
        }
    }
    // Frozen, with the copy there and gone, changed and not.
    for changed in [false, true] {
        for gone in [false, true] {
            let mut stream = build(&mut rng, 9000, 500, 3);
            let copy = stream.freeze();
            if changed {
                let limits = NodeLimits { bytes: 4096, entries: 100 };
                stream.log.append(Id::new(9001, 0), [&b"f"[..], b"v"].into_iter(), limits);
                for _ in 0..500 {
                    stream.log.delete(Id::new(1 + rng.below(9000), 0));
                }
                let (mut group, _) = stream.group_mut(b"group 1").expect("there");
                for _ in 0..100 {
                    group.forget(Id::new(rng.below(2000), 0));
                }
            }
            let copied = copy.bytes();
            let mut copy = Some(copy);
            if gone {
                copy = None;
            }
            let (bytes, before) = (stream.bytes(), held());
            drop(stream);
            let freed = (before - held()) as usize;
            if gone {
                assert_eq!(bytes, freed, "{changed}");
            } else {
                // What is shared is freed with the last that has it.
                assert!(freed < bytes, "{changed}");
                let before = held();
                drop(copy);
                assert_eq!(copied, (before - held()) as usize, "{changed}");
            }
        }
    }
}
