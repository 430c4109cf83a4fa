//! Sets against a `std` model and against Redis's rules for encodings, whatever way they are kept.

use std::collections::{BTreeSet, HashSet};

use data::big::Value as _;
use data::entry::Entry;
use data::packed::Item;
use data::set::{self, BigSet, Draft, Encoding, Ints, Limits, Set};
use stdx::rng::Rng;

const LIMITS: Limits = Limits { intset_entries: 512, listpack_entries: 128, listpack_value: 64 };

/// Values of several densities, so that blocks of every width come and go.
fn value(rng: &mut Rng) -> i64 {
    match rng.index(6) {
        0 | 1 => rng.index(3000) as i64,
        2 => rng.index(200_000) as i64 - 100_000,
        3 => rng.next_u64() as i32 as i64,
        4 => rng.next_u64() as i64,
        _ => [i64::MIN, i64::MAX, 0, -1][rng.index(4)],
    }
}

#[test]
fn blocks_of_integers_behave_like_a_btree() {
    for seed in 0..4 {
        let mut rng = Rng::from_seed(seed);
        let (mut ints, mut model) = (Ints::default(), BTreeSet::new());
        for round in 0..40_000 {
            let v = value(&mut rng);
            // Growing, then shrinking, then growing.
            if rng.index(10) < [2, 8, 3, 9][round / 10_000] {
                let v = if rng.index(2) == 0 {
                    model.range(v..).next().copied().unwrap_or(v)
                } else {
                    v
                };
                assert_eq!(ints.remove(v), model.remove(&v));
            } else {
                assert_eq!(ints.insert(v), model.insert(v));
            }
            assert_eq!(ints.len(), model.len());
            let probe = value(&mut rng);
            assert_eq!(ints.contains(probe), model.contains(&probe));
        }
        assert!(ints.walk().eq(model.iter().copied()));
        for _ in 0..200 {
            let from = value(&mut rng);
            assert!(ints.walk_from(from).take(700).eq(model.range(from..).copied().take(700)));
            let mut walk = ints.walk_from(from);
            walk.next();
            let further = value(&mut rng);
            walk.seek(further);
            if let Some(after) = from.checked_add(1) {
                let first = model.range(from..).next().copied().unwrap_or(after);
                let expected = first.saturating_add(1).max(further);
                assert_eq!(walk.next(), model.range(expected..).next().copied());
            }
        }
        let all: Vec<i64> = model.iter().copied().collect();
        let again = Ints::from_sorted(&all);
        assert!(again.walk().eq(all.iter().copied()));
        for v in all {
            assert!(ints.remove(v));
        }
        assert!(ints.is_empty() && ints.walk().next().is_none());
    }
}

fn text(rng: &mut Rng, spread: usize) -> Vec<u8> {
    match rng.index(3) {
        0 => rng.index(spread).to_string().into_bytes(),
        1 => format!("member:{}", rng.index(spread)).into_bytes(),
        _ => {
            let n = rng.index(spread);
            vec![b'a' + (n % 26) as u8; n % 70]
        }
    }
}

fn members(set: Set<'_>) -> HashSet<Vec<u8>> {
    let mut found = HashSet::new();
    set.each(|item| {
        assert!(found.insert(item.to_vec()), "twice");
        true
    });
    found
}

#[test]
fn a_set_behaves_like_a_std_set_through_all_encodings() {
    for seed in 0..60 {
        let mut rng = Rng::from_seed(seed);
        let limits = Limits {
            intset_entries: [512, 10, 100_000][seed as usize % 3],
            listpack_entries: [128, 20_000, 3][seed as usize / 3 % 3],
            listpack_value: [64, 10][seed as usize % 2],
        };
        let spread = [20, 300, 5000][seed as usize / 9 % 3];
        let begin = if seed % 4 == 0 { Encoding::Listpack } else { Encoding::Intset };
        let (mut draft, mut model) = (Draft::new(b"key", begin), HashSet::new());
        let only_ints = rng.index(2) == 0;
        for _ in 0..4000 {
            let member = if only_ints {
                value(&mut rng).to_string().into_bytes()
            } else {
                text(&mut rng, spread)
            };
            let item = Item::of(&member);
            if rng.index(4) == 0 {
                assert_eq!(draft.remove(item), model.remove(&member));
            } else {
                assert_eq!(draft.add(item, &limits), model.insert(member.clone()));
            }
            assert_eq!(draft.set().len(), model.len());
            assert_eq!(draft.set().contains(item), model.contains(&member));
        }
        assert_eq!(members(draft.set()), model);
        let e = draft.finish();
        assert_eq!(members(Set::of(&e.with_key(b"copy"))), model);
    }
}

fn encoding_after(begin: Encoding, add: impl IntoIterator<Item = String>) -> &'static str {
    let mut draft = Draft::new(b"k", begin);
    for member in add {
        draft.add(Item::of(member.as_bytes()), &LIMITS);
    }
    draft.finish().encoding_name()
}

/// The steps of Redis 7.4's `setTypeAddAux`.
#[test]
fn encodings_change_as_in_redis() {
    let ints = |n: usize| (0..n).map(|i| i.to_string());
    let one = |s: &str| [s.to_owned()];
    assert_eq!(encoding_after(Encoding::Intset, ints(512)), "intset");
    assert_eq!(encoding_after(Encoding::Intset, ints(513)), "hashtable");
    assert_eq!(encoding_after(Encoding::Intset, ints(127).chain(one("x"))), "listpack");
    assert_eq!(encoding_after(Encoding::Intset, ints(128).chain(one("x"))), "hashtable");
    assert_eq!(encoding_after(Encoding::Intset, ints(3).chain(one(&"x".repeat(65)))), "hashtable");
    assert_eq!(encoding_after(Encoding::Listpack, ints(128)), "listpack");
    assert_eq!(encoding_after(Encoding::Listpack, ints(129)), "hashtable");
    assert_eq!(encoding_after(Encoding::Listpack, one(&"x".repeat(64))), "listpack");
    assert_eq!(encoding_after(Encoding::Listpack, one(&"x".repeat(65))), "hashtable");
}

#[test]
fn a_scan_sees_all_that_stays_while_the_set_grows_and_changes_its_nature() {
    for (seed, count) in [(1, 1), (2, 10), (3, 1000)] {
        let mut rng = Rng::from_seed(seed);
        let mut big = BigSet::new(Encoding::Hashtable);
        let mut stay = HashSet::new();
        for i in 0..3000 {
            let member = match i % 3 {
                0 => (i * 7).to_string(),
                1 => (rng.next_u64() as i64).to_string(),
                _ => format!("text {i}"),
            };
            big.put(Item::of(member.as_bytes()));
            stay.insert(member.into_bytes());
        }
        let (mut cursor, mut seen, mut calls) = (0, HashSet::new(), 0);
        loop {
            cursor = big.scan(cursor, count, |item| {
                seen.insert(item.to_vec());
            });
            calls += 1;
            assert!(cursor < 1 << 53, "a cursor fits a double");
            if cursor == 0 {
                break;
            }
            let extra = text(&mut rng, 1_000_000);
            if !stay.contains(&extra) {
                big.put(Item::of(&extra));
                let other = text(&mut rng, 1_000_000);
                if !stay.contains(&other) {
                    big.remove(Item::of(&other));
                }
            }
        }
        assert!(stay.is_subset(&seen));
        assert!(calls > 2, "in steps");
        for cursor in [1, 5 << 50, u64::MAX, (1 << 52) - 1, 1 << 52, (1 << 52) + (1 << 32)] {
            big.scan(cursor, 10, |_| {});
        }
    }
}

/// Pearson's statistic of `n` counts against all being equal.
fn chi_square(counts: &[u32]) -> f64 {
    let mean = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|c| (f64::from(*c) - mean).powi(2) / mean).sum()
}

#[test]
fn every_member_is_as_likely_as_any_other() {
    for size in [5u64, 100, 1000, 3000] {
        for texts in [0, 1, 2] {
            let mut rng = Rng::from_seed(size + texts);
            let mut draft = Draft::new(b"k", Encoding::Intset);
            for i in 0..size {
                let member =
                    if i % 2 < texts { format!("t{i}") } else { format!("{}", i * i * 900) };
                draft.add(Item::of(member.as_bytes()), &LIMITS);
            }
            let mut names = std::collections::HashMap::new();
            let mut counts = vec![0; size as usize];
            for _ in 0..size * 200 {
                let n = names.len();
                let name = draft.set().random(&mut rng, |i| i.to_vec()).expect("not empty");
                counts[*names.entry(name).or_insert(n)] += 1;
            }
            // Six deviations above the mean of the distribution.
            let free = (size - 1) as f64;
            let chi = chi_square(&counts);
            assert!(chi < free + 6.0 * (2.0 * free).sqrt() + 10.0, "{size} {texts}: {chi}");
        }
    }
}

#[test]
fn dense_integers_take_few_bytes() {
    let mut rng = Rng::from_seed(5);
    let mut ascending = BigSet::new(Encoding::Hashtable);
    let mut shuffled = BigSet::new(Encoding::Hashtable);
    let mut order: Vec<i64> = (0..200_000).collect();
    for v in &order {
        ascending.put(Item::Int(*v));
    }
    for i in 0..order.len() {
        let j = i + rng.index(order.len() - i);
        order.swap(i, j);
    }
    for v in &order {
        shuffled.put(Item::Int(*v));
    }
    let each = |s: &BigSet| s.bytes() as f64 / s.len() as f64;
    assert!(each(&ascending) < 2.5, "{}", each(&ascending));
    assert!(each(&shuffled) < 3.2, "{}", each(&shuffled));
}

#[test]
fn damaged_runs_do_no_harm() {
    for tag in [0, set::INTSET] {
        for bytes in [&[][..], &[1], &[9, 0], &[3, 0, 1, 1, 2], &[255, 255, 1, 2, 3, 4, 5, 6, 7]] {
            let mut e = Entry::packed(data::entry::Kind::Set, b"k", bytes, None, 0);
            e.set_tag(tag);
            let set = Set::of(&e);
            let _ = (set.len(), set.contains(Item::Int(1)), set.contains(Item::Bytes(b"x")));
            set.each(|_| true);
            let _ = set.random(&mut Rng::from_seed(1), |i| i.to_vec());
        }
    }
}

#[test]
fn a_frozen_set_of_integers_stays_as_it_was() {
    for seed in 0..4 {
        let mut rng = Rng::from_seed(seed);
        let (mut set, mut model) = (BigSet::new(Encoding::Hashtable), BTreeSet::new());
        let mut frozen: Vec<(BigSet, BTreeSet<i64>)> = Vec::new();
        let is = |set: &BigSet, model: &BTreeSet<i64>| set.ints().walk().eq(model.iter().copied());
        for round in 0..120_000 {
            let v = match value(&mut rng) {
                v @ -200_000..200_000 => v * 50 + rng.index(50) as i64,
                v => v,
            };
            // Growing, shrinking, growing.
            if rng.index(10) < [2, 2, 9, 3][round / 30_000] {
                let v = model.range(v..).next().copied().unwrap_or(v);
                assert_eq!(set.remove(Item::Int(v)), model.remove(&v));
            } else {
                assert_eq!(set.put(Item::Int(v)), model.insert(v));
            }
            if round % 9_000 == 8_999 {
                frozen.push((set.freeze(), model.clone()));
            }
            if round % 20_000 == 19_999 {
                let (copy, then) = frozen.swap_remove(rng.index(frozen.len()));
                assert!(is(&copy, &then), "seed {seed}, round {round}");
                assert!(is(&set, &model), "seed {seed}, round {round}");
            }
        }
        drop(set);
        assert!(frozen.len() > 2);
        std::thread::scope(|scope| {
            for (copy, then) in frozen {
                scope.spawn(move || assert!(is(&copy, &then)));
            }
        });
    }
}
