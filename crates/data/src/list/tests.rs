//! Lists against a `VecDeque`, and the rules of their names.

use std::collections::VecDeque;

use stdx::rng::Rng;

use super::{End, Limit, Needle, View, insert, pop, push, remove, remove_equal, set};
use crate::big::Value;
use crate::entry::{Entry, Kind};
use crate::list::List;
use crate::table::{Node, SlotMut, Table};

/// A table with one empty list in it.
fn table() -> Table<Entry> {
    let mut table = Table::new(0);
    table.insert(Entry::packed(Kind::List, b"k", &crate::packed::EMPTY, None, 0));
    table
}

fn slot(table: &mut Table<Entry>) -> SlotMut<'_, Entry> {
    let hash = Entry::packed(Kind::List, b"k", &crate::packed::EMPTY, None, 0).hash();
    table.find_mut(hash, |_| true).expect("it is there")
}

fn contents(slot: &Entry) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    View::of(slot).each(0, |elem| {
        all.push(elem.to_vec());
        true
    });
    all
}

/// Values of one of several characters, so that every code of cold nodes is met.
fn value(rng: &mut Rng, flavour: usize) -> Vec<u8> {
    let n = rng.index(1_000_000);
    match flavour {
        0 => format!("item:{n}").into_bytes(),
        1 => (n as i64 - 500_000).to_string().into_bytes(),
        2 => (0..8 + rng.index(9)).map(|_| rng.next_u64() as u8).collect(),
        3 => vec![b'x'; rng.index(3)],
        4 => (rng.next_u64() as i64).to_string().into_bytes(),
        8 => b"the same".to_vec(),
        5 => vec![b'a' + (n % 26) as u8; rng.index(300)],
        6 if n.is_multiple_of(50) => vec![b'0' + (n % 7) as u8; 3000 + rng.index(3000)],
        _ => match rng.index(4) {
            0 => b"007".to_vec(),
            1 => format!("{}", n % 300).into_bytes(),
            2 => format!("user:profile:{:x}", n % 997).into_bytes(),
            _ => vec![0xff; n % 20],
        },
    }
}

fn check(table: &mut Table<Entry>, model: &VecDeque<Vec<u8>>) {
    let slot = slot(table);
    assert_eq!(View::of(&slot).len(), model.len());
    if let Some(list) = slot.value::<List>() {
        list.check();
    }
    assert!(contents(&slot).iter().eq(model.iter()), "contents differ");
}

#[test]
fn a_list_is_a_deque() {
    for seed in 0..27 {
        let mut rng = Rng::from_seed(seed);
        let flavour = seed as usize % 9;
        let limit = Limit::new([-2, 16, -1, -5][seed as usize % 4]);
        let (mut table, mut model) = (table(), VecDeque::new());
        // Grows, then shrinks, and grows again.
        for step in 0..1500 {
            let growing = step % 600 < 400;
            let mut slot = slot(&mut table);
            let value = value(&mut rng, flavour);
            let end = if rng.index(2) == 0 { End::Head } else { End::Tail };
            let len = model.len();
            match rng.index(20) {
                0..=11 if growing => {
                    let n = 1 + rng.index(if step % 7 == 0 { 200 } else { 3 });
                    let values: Vec<Vec<u8>> = (0..n)
                        .map(
                            |i| if i == 0 { value.clone() } else { self::value(&mut rng, flavour) },
                        )
                        .collect();
                    push(&mut slot, end, values.iter().map(Vec::as_slice), limit);
                    for v in values {
                        match end {
                            End::Head => model.push_front(v),
                            End::Tail => model.push_back(v),
                        }
                    }
                }
                0..=9 => {
                    for _ in 0..1 + rng.index(90) {
                        let popped = pop(&mut slot, end, limit, |elem| elem.to_vec());
                        let expected = match end {
                            End::Head => model.pop_front(),
                            End::Tail => model.pop_back(),
                        };
                        if let Some(expected) = expected {
                            assert_eq!(popped, Some(expected));
                        }
                    }
                }
                12 | 13 => {
                    let at = rng.index(len + 1);
                    insert(&mut slot, at, &value, limit);
                    model.insert(at, value);
                }
                14 | 15 if len > 0 => {
                    let at = rng.index(len);
                    assert!(set(&mut slot, at, &value, limit));
                    model[at] = value;
                }
                16 if len > 0 => {
                    let (at, n) = (rng.index(len), rng.index(len / 3 + 2));
                    remove(&mut slot, at, n, limit);
                    model.drain(at..(at + n).min(len));
                }
                17 if len > 0 => {
                    let target = model[rng.index(len)].clone();
                    let most = if rng.index(2) == 0 { usize::MAX } else { 1 + rng.index(3) };
                    let mut expected = 0;
                    while expected < most {
                        let at = match end {
                            End::Head => model.iter().position(|v| *v == target),
                            End::Tail => model.iter().rposition(|v| *v == target),
                        };
                        let Some(at) = at else { break };
                        model.remove(at);
                        expected += 1;
                    }
                    assert_eq!(remove_equal(&mut slot, &target, most, end, limit), expected);
                }
                _ if len > 0 => {
                    let at = rng.index(len);
                    let view = View::of(&slot);
                    assert_eq!(view.get(at, |e| e.to_vec()).as_ref(), model.get(at));
                    let mut back = Vec::new();
                    view.each_back(at, |elem| {
                        assert!(Needle::new(&elem.to_vec()).is(elem));
                        back.push(elem.to_vec());
                        back.len() < 700
                    });
                    assert!(back.iter().eq(model.range(..=at).rev().take(700)));
                }
                _ => {}
            }
            if step % 10 == 0 {
                check(&mut table, &model);
            }
        }
        check(&mut table, &model);
        let slot = slot(&mut table);
        if let Some(list) = slot.value::<List>() {
            let copy = list.duplicate();
            copy.check();
            assert_eq!(copy.len(), list.len());
        }
    }
}

#[test]
fn names_follow_the_limit() {
    let mut table = table();
    let mut slot = slot(&mut table);
    let limit = Limit::new(4);
    for (n, name) in [(1, "listpack"), (4, "listpack"), (5, "quicklist"), (6, "quicklist")] {
        while View::of(&slot).len() < n {
            push(&mut slot, End::Tail, [&b"x"[..]].into_iter(), limit);
        }
        assert_eq!(slot.encoding_name(), name, "{n} elements");
    }
    // It goes back at half of it, not before.
    for (n, name) in [(3, "quicklist"), (2, "listpack"), (1, "listpack")] {
        while View::of(&slot).len() > n {
            pop(&mut slot, End::Head, limit, |_| ());
        }
        assert_eq!(slot.encoding_name(), name, "{n} elements");
    }
    // The name and the real form are two things.
    let limit = Limit::new(-5);
    for i in 0..3000 {
        push(&mut slot, End::Tail, [format!("value {i}").as_bytes()].into_iter(), limit);
    }
    assert!(slot.value::<List>().is_some());
    assert_eq!(slot.encoding_name(), "listpack");
}
