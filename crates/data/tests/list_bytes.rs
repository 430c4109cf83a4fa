//! A list counts its bytes as the allocator does.

use std::alloc::System;

use data::entry::{Entry, Kind};
use data::list::{End, Limit, pop, push, remove, remove_equal, set};
use data::packed::EMPTY;
use data::table::{Node as _, Table};
use stdx::mem::{Counting, used_by_this_thread};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// One test, since others would allocate meanwhile.
#[test]
fn bytes_are_those_of_the_allocator() {
    for form in 0..4usize {
        let mut table = Table::new(0);
        let hash = Entry::packed(Kind::List, b"key", &EMPTY, None, 0).hash();
        // The table grows once, before anything is measured.
        table.insert(Entry::packed(Kind::List, b"key", &EMPTY, None, 0));
        let empty =
            used_by_this_thread() - table.find(hash, |_| true).expect("it is there").bytes() as i64;
        let limit = Limit::new(-2);
        let value = |i: usize| match form {
            0 => format!("item:{i}"),
            1 => (i * i % 1_000_003).to_string(),
            2 => "x".repeat(i % 700),
            _ => "long".repeat(if i.is_multiple_of(40) { 2000 } else { 3 }),
        };
        // The texts of assertions are only made when they fail.
        let mut check =
            |what: &'static str, f: &mut dyn FnMut(&mut data::table::SlotMut<'_, Entry>)| {
                let mut slot = table.find_mut(hash, |_| true).expect("it is there");
                f(&mut slot);
                let (counted, held) = (slot.bytes(), (used_by_this_thread() - empty) as usize);
                let off = counted.abs_diff(held);
                assert!(
                    off * 100 <= held * 2,
                    "form {form}, {what}: {counted} counted, {held} held"
                );
            };
        for size in [10, 100, 1000, 20_000] {
            check("grown", &mut |slot| {
                for i in 0..size {
                    let end = if i % 3 == 0 { End::Head } else { End::Tail };
                    push(slot, end, [value(i).as_bytes()].into_iter(), limit);
                }
            });
        }
        check("changed in the middle", &mut |slot| {
            for i in 0..300 {
                set(slot, i * 31, value(i * 7).as_bytes(), limit);
            }
            remove_equal(slot, value(7).as_bytes(), usize::MAX, End::Tail, limit);
        });
        check("cut", &mut |slot| remove(slot, 500, 10_000, limit));
        check("shortened", &mut |slot| {
            for _ in 0..5000 {
                pop(slot, End::Tail, limit, |_| ());
            }
        });
    }
}
