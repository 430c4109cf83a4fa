//! Sorted sets in their entries: small ones that become big, both against a sorted vector; and what
//! they say they hold against what the allocator gave.
//!
//! One test in this file, since memory is counted for the whole process.

use data::entry::{Entry, Kind};
use data::packed;
use data::table::{Node as _, SlotMut, Table};
use data::zset::{self, Draft, How, Limits, Put, View};
use stdx::rng::Rng;

#[global_allocator]
static ALLOCATOR: stdx::mem::Counting<std::alloc::System> = stdx::mem::Counting(std::alloc::System);

type Model = Vec<(f64, Vec<u8>)>;

fn sort(model: &mut Model) {
    model.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
}

fn members(e: &Entry) -> Model {
    let mut found = Vec::new();
    View::of(e).for_each(|member, score| found.push((score, member.to_vec())));
    found
}

fn in_table(e: Entry, f: impl FnOnce(&mut SlotMut<'_, Entry>)) {
    let mut table = Table::new(0);
    let hash = e.hash();
    table.insert(e);
    f(&mut table.find_mut(hash, |_| true).expect("it was inserted"));
}

fn run() -> Entry {
    Entry::packed(Kind::ZSet, b"key", &packed::EMPTY, None, 0)
}

/// Scores of all forms: small and large integers, fractions, infinities.
fn score(r: &mut Rng) -> f64 {
    match r.below(6) {
        0 => r.below(10) as f64,
        1 => r.below(1 << 40) as f64 - 1e9,
        2 => r.below(1000) as f64 / 7.0,
        3 => 1e19 + r.below(9) as f64 * 1e17,
        4 => f64::INFINITY,
        _ => -0.1 * r.below(50) as f64 - 0.1,
    }
}

fn behaves_like_a_sorted_vector(limits: Limits, rounds: u64) {
    let mut r = Rng::from_seed(limits.entries as u64);
    in_table(run(), |slot| {
        let mut model: Model = Vec::new();
        for round in 0..rounds {
            let n = r.below(200);
            let member = match round % 3 {
                0 => format!("{n}"),
                1 => format!("member:{n}"),
                _ => "x".repeat(n as usize / 4),
            };
            let member = member.as_bytes();
            let at = model.iter().position(|(_, m)| m == member);
            match r.below(8) {
                0..4 => {
                    let score = score(&mut r);
                    let done = zset::put(slot, limits, member, score, How::default());
                    match at {
                        None => {
                            assert_eq!(done, Put::Added(score));
                            model.push((score, member.to_vec()));
                        }
                        Some(at) if model[at].0 == score => assert_eq!(done, Put::Same(score)),
                        Some(at) => {
                            assert_eq!(done, Put::Updated(score));
                            model[at].0 = score;
                        }
                    }
                }
                4 | 5 => {
                    let gone = zset::remove(slot, member);
                    assert_eq!(gone, at.map(|at| model.remove(at).0));
                }
                6 if model.len() > 3 => {
                    let (from, n) = (r.below(model.len() as u64) as usize, r.below(4) as usize);
                    zset::remove_ranks(slot, from, n);
                    model.drain(from..(from + n).min(model.len()));
                }
                _ => {
                    let how = How { gt: true, xx: true, ..How::default() };
                    let done = zset::put(slot, limits, member, 5.0, how);
                    assert_eq!(
                        matches!(done, Put::Updated(_)),
                        at.is_some_and(|i| model[i].0 < 5.0)
                    );
                    if let Put::Updated(score) = done {
                        model[at.expect("there")].0 = score;
                    }
                }
            }
            sort(&mut model);
            let view = View::of(slot);
            assert_eq!(members(slot), model, "round {round}");
            if let Some((score, member)) = model.get(r.below(60) as usize) {
                let rank = model.iter().position(|(_, m)| m == member);
                assert_eq!(view.rank(member), Some((rank.expect("there"), *score)));
                let lower = model.iter().filter(|(s, _)| s < score).count();
                assert_eq!(view.count_scores(|s| s < *score), lower);
                let mut back = Vec::new();
                view.each(rank.expect("there"), 5, true, |m, _| back.push(m.to_vec()));
                let wanted: Vec<_> = model[..=rank.expect("there")].iter().rev().take(5).collect();
                assert!(back.iter().eq(wanted.iter().map(|(_, m)| m)));
            }
        }
        assert!(View::of(slot).len() > 20);
        // A stored result is the same set, in the encoding that its size asks for.
        let mut draft = Draft::default();
        model.iter().for_each(|(score, member)| draft.insert(member, *score));
        let stored = zset::entry(b"other", draft, limits);
        assert_eq!(members(&stored), model);
        assert_eq!(stored.run().is_some(), slot.run().is_some());
    });
}

/// Redis's listpacks may be longer than a run: the name stays although the structure changes.
fn the_name_is_that_of_the_limits() {
    let limits = Limits { entries: 10_000, value: 1000 };
    in_table(run(), |slot| {
        let mut i = 0;
        while slot.run().is_some() {
            i += 1;
            let member = format!("{i:0300}");
            zset::put(slot, limits, member.as_bytes(), 0.5, How::default());
        }
        assert!(i > 150 && slot.encoding_name() == "listpack");
        zset::put(slot, limits, &[b'x'; 1001], 0.5, How::default());
        assert_eq!(slot.encoding_name(), "skiplist");
    });
}

fn bytes_are_the_allocators() {
    for (n, width) in [(100, 8), (1_000, 3), (50_000, 12), (50_000, 60)] {
        let before = stdx::mem::used_by_this_thread();
        let mut table = Table::new(0);
        let e = run();
        let hash = e.hash();
        table.insert(e);
        let empty = stdx::mem::used_by_this_thread() - size(&table, hash);
        let mut slot = table.find_mut(hash, |_| true).expect("it was inserted");
        let mut r = Rng::from_seed(1);
        for i in 0..n {
            let limits = Limits { entries: 128, value: 64 };
            let member = format!("{i:0width$}");
            let score = r.below(1 << 30) as f64;
            zset::put(&mut slot, limits, member.as_bytes(), score, How::default());
        }
        for i in (0..n).step_by(3) {
            zset::remove(&mut slot, format!("{i:0width$}").as_bytes());
        }
        let (said, held) = (slot.bytes() as f64, (stdx::mem::used_by_this_thread() - empty) as f64);
        assert!((said - held).abs() < held * 0.1, "{n} of {width}: says {said}, holds {held}");
        drop(table);
        assert_eq!(stdx::mem::used_by_this_thread(), before);
    }
}

fn size(table: &Table<Entry>, hash: u64) -> i64 {
    table.find(hash, |_| true).map_or(0, |e| e.bytes() as i64)
}

#[test]
fn sorted_sets() {
    behaves_like_a_sorted_vector(Limits { entries: 1000, value: 64 }, 3000);
    behaves_like_a_sorted_vector(Limits { entries: 8, value: 64 }, 3000);
    the_name_is_that_of_the_limits();
    bytes_are_the_allocators();
}
