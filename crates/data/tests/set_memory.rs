//! What MEMORY USAGE says of a set is what the allocator gave.

use data::packed::Item;
use data::set::{BigSet, Draft, Encoding, Limits, Set};
use stdx::mem::{Counting, used_by_this_thread};

#[global_allocator]
static ALLOCATOR: Counting<std::alloc::System> = Counting(std::alloc::System);

const LIMITS: Limits = Limits { intset_entries: 512, listpack_entries: 128, listpack_value: 64 };

/// Frees what the table has retired.
fn settle() {
    for _ in 0..2000 {
        crossbeam_epoch::pin().flush();
    }
}

#[test]
fn within_a_tenth_of_the_allocator() {
    type Member = fn(u64) -> String;
    let kinds: [(&str, Member); 4] = [
        ("dense", |i| (i * 7919 % 100_003).to_string()),
        ("wide", |i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64).to_string()),
        ("text", |i| format!("member:{i}")),
        ("mixed", |i| if i % 2 == 0 { i.to_string() } else { format!("a longer member {i}") }),
    ];
    for (name, member) in kinds {
        for n in [10, 400, 3000, 60_000] {
            settle();
            let before = used_by_this_thread();
            let mut draft = Draft::new(b"key", Encoding::Intset);
            let mut buf = String::new();
            for i in 0..n {
                buf = member(i);
                draft.add(Item::of(buf.as_bytes()), &LIMITS);
            }
            for i in 0..n / 5 {
                buf = member(i * 3);
                draft.remove(Item::of(buf.as_bytes()));
            }
            drop(buf);
            let e = draft.finish();
            settle();
            let truth = ((used_by_this_thread() - before) as u64) as u64;
            let said = e.bytes() as u64;
            assert!(said.abs_diff(truth) * 10 <= truth, "{name} {n}: {said}, truly {truth}");
            // Shared for a moment, and changed before and after that ends.
            let mut e = e;
            let frozen = e.freeze();
            let mut change = || {
                let Some(set) = e.value_mut::<BigSet>() else { return };
                for i in 0..20 {
                    set.put(Item::of(member(i * 3).as_bytes()));
                    set.remove(Item::of(member(i * 3).as_bytes()));
                }
            };
            change();
            drop(frozen);
            change();
            settle();
            let truth = ((used_by_this_thread() - before) as u64) as u64;
            let said = e.bytes() as u64;
            assert!(said.abs_diff(truth) * 10 <= truth, "{name} {n}: {said}, truly {truth}");
            let copy = e.with_key(b"copy");
            assert_eq!(Set::of(&copy).len(), Set::of(&e).len());
            let both = ((used_by_this_thread() - before) as u64) as u64;
            let said = said + copy.bytes() as u64;
            assert!(said.abs_diff(both) * 10 <= both, "{name} {n}: {said}, truly {both}");
        }
    }
    // Integers alone are left, and the buckets of the others.
    settle();
    let before = used_by_this_thread();
    let mut draft = Draft::new(b"key", Encoding::Hashtable);
    let text = |i: u64| format!("member:{i}");
    for i in 0..30_000 {
        draft.add(Item::Int(i), &LIMITS);
        draft.add(Item::of(text(i as u64).as_bytes()), &LIMITS);
    }
    for i in 0..30_000 {
        draft.remove(Item::of(text(i).as_bytes()));
    }
    settle();
    let e = draft.finish();
    let (said, truth) = (e.bytes() as u64, (used_by_this_thread() - before) as u64);
    assert!(said.abs_diff(truth) * 10 <= truth, "{said}, truly {truth}");
}
