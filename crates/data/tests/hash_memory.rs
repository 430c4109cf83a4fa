//! What a hash says it holds is what the allocator gave it. A test binary of its own: the counters
//! are those of the process.

use data::entry::{Entry, Kind};
use data::hash::{self, Limits, Value};
use data::packed::EMPTY;
use data::table::{SlotMut, Table};

#[global_allocator]
static ALLOCATOR: stdx::mem::Counting<std::alloc::System> = stdx::mem::Counting(std::alloc::System);

fn slot(table: &mut Table<Entry>) -> SlotMut<'_, Entry> {
    table.find_mut(stdx::hash::hash64(b"key"), |e| e.key() == b"key").expect("it is there")
}

#[test]
fn what_it_says_it_holds_is_what_it_was_given() {
    let limits = Limits { entries: 128, value: 64 };
    for (fields, value, deadlines) in
        [(100usize, 20usize, false), (20_000, 8, false), (20_000, 30, true), (2000, 6000, false)]
    {
        let before = stdx::mem::used_by_this_thread();
        let mut table = Table::new(0);
        table.insert(Entry::packed(Kind::Hash, b"key", &EMPTY, None, 0));
        let bucket = 64;
        for i in 0..fields {
            let field = format!("field:{i}");
            let value = vec![b'v'; value];
            let mut e = slot(&mut table);
            hash::set(&mut e, field.as_bytes(), &Value::Bytes(&value), false, limits);
            if deadlines {
                hash::set_deadline(&mut e, field.as_bytes(), Some(1 + (i * 7919 % 10_000) as i64));
            }
        }
        let said = slot(&mut table).bytes() as f64;
        let held = (stdx::mem::used_by_this_thread() - before - bucket) as f64;
        assert!((said / held - 1.0).abs() < 0.1, "{fields} fields: says {said}, holds {held}");
    }
}
