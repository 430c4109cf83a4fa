//! The table against a map of `std`, and its promises about scanning and growing.

use super::size::LONG;
use super::*;
use crate::entry::{Content, Entry};
use std::collections::{HashMap, HashSet};

fn key(i: u64) -> Vec<u8> {
    format!("key:{i}").into_bytes()
}

fn put(t: &mut Table<Entry>, k: &[u8], v: &[u8]) {
    let h = stdx::hash::hash64(k);
    if let Some(mut s) = t.find_mut(h, |e| e.key() == k) {
        s.replace_with(|e| e.set(Content::Bytes(v), None));
    } else {
        t.insert(Entry::string(k, Content::Bytes(v), None, 0));
    }
}

#[test]
fn behaves_like_a_std_map_while_growing_and_shrinking() {
    let rounds = if cfg!(miri) { 400 } else { 60_000 };
    let mut model: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut t = Table::<Entry>::new(300);
    let mut r = stdx::rng::Rng::from_seed(7);
    for round in 0..rounds {
        let spread = if round / (rounds / 4) % 2 == 0 { 20_000 } else { 500 };
        let k = key(r.next_u64() % spread);
        if round / (rounds / 4) % 2 == 1 || r.next_u64().is_multiple_of(4) {
            let h = stdx::hash::hash64(&k);
            let got = t.remove(h, |e| e.key() == k).is_some();
            assert_eq!(got, model.remove(&k).is_some());
            if let Some(other) = model.keys().next().cloned() {
                let h = stdx::hash::hash64(&other);
                assert!(t.remove(h, |e| e.key() == other).is_some());
                model.remove(&other);
            }
        } else {
            let v = vec![b'v'; (r.next_u64() % 300) as usize];
            put(&mut t, &k, &v);
            model.insert(k, v);
        }
        assert_eq!(t.len(), model.len());
    }
    for (k, v) in &model {
        let e = t.find(stdx::hash::hash64(k), |e| e.key() == k).expect("present");
        let crate::entry::Str::Inline(got) = e.str() else { panic!("inline") };
        assert_eq!(got, v);
    }
    let mut seen = 0;
    t.for_each(|e| {
        assert!(model.contains_key(e.key()));
        seen += 1;
    });
    assert_eq!(seen, model.len());
}

#[test]
fn scan_sees_all_that_stays_while_the_table_grows_and_shrinks() {
    let (stay, churn) = if cfg!(miri) { (50, 200) } else { (500, 20_000) };
    let mut t = Table::new(0);
    for i in 0..stay {
        put(&mut t, &key(i), b"stay");
    }
    let mut seen = HashSet::new();
    let mut at = Some(0);
    let mut n = 0;
    while let Some(pos) = at {
        at = t.scan(pos, |e| {
            seen.insert(e.key().to_vec());
        });
        // First grow by a factor of 40, then shrink again, between the steps of the scan.
        for _ in 0..97 {
            n += 1;
            let k = key(1_000_000 + n % churn);
            if n < churn {
                put(&mut t, &k, b"x");
            } else {
                t.remove(stdx::hash::hash64(&k), |e| e.key() == k);
            }
        }
    }
    for i in 0..stay {
        assert!(seen.contains(&key(i)), "key {i} was there all the time");
    }
}

#[test]
fn positions_follow_each_other_without_gap() {
    for n in [1usize, 2, 3, 5, 7, 100, 1000, 12_345] {
        let a = Array::new(n);
        for i in 0..n {
            let (s, e) = (a.start(i), a.start(i + 1));
            assert_eq!(a.index(s as u32), i);
            assert_eq!(a.index((e - 1) as u32), i);
        }
        a.retire(false);
    }
}

/// An array that is too long to be published: lookups without hints work as others do.
#[test]
#[cfg_attr(miri, ignore = "an array of 320 MiB")]
fn a_table_of_many_buckets_has_no_chains() {
    let heads = Heads::new(1, 1);
    for mut t in [Table::new(0), Table::published(0, &heads, 0)] {
        let n = 5_000;
        (0..n).for_each(|i| put(&mut t, &key(i), b"x"));
        t.finish();
        t.resize(5_000_000);
        t.finish();
        assert_eq!(t.buckets(), 5_000_000, "no children");
        (n..2 * n).for_each(|i| put(&mut t, &key(i), b"x"));
        let mut seen = 0;
        let mut at = Some(0);
        while let Some(pos) = at {
            at = t.scan(pos, |_| seen += 1);
        }
        assert_eq!((seen, t.len()), (2 * n as usize, 2 * n as usize));
        for i in 0..2 * n {
            let hash = stdx::hash::hash64(&key(i));
            let pin = crate::epoch::pin();
            heads.spot(0, hash, &pin).node(hash).prefetch();
            assert!(t.remove(hash, |e| e.key() == key(i)).is_some(), "{i}");
        }
        assert!(t.is_empty());
    }
}

#[test]
fn positions_of_very_long_arrays() {
    const { assert!(BUCKETS_MAX > 1 << 24) };
    let a = Array { base: 64, len: 1 << 31 };
    assert_eq!(a.index(u32::MAX), (1 << 31) - 1);
    assert_eq!((a.start(1), a.start(1 << 31)), (2, 1 << 32));
}

#[test]
fn a_long_table_grows_when_its_next_array_is_zeroed() {
    let mut t = Table::new(0);
    let (mut prepared, mut n) = (0, 0);
    while prepared < 3 {
        let buckets = t.main.len();
        put(&mut t, &key(n), b"x");
        n += 1;
        assert!(t.main.len() < LONG || t.main.len() == buckets || t.coming.is_none());
        if t.coming.is_some() {
            // Each insertion zeroes a part, and finds what was there before.
            let begun = n;
            while t.coming.is_some() {
                assert_eq!(t.main.len(), buckets);
                put(&mut t, &key(n), b"x");
                n += 1;
            }
            assert_eq!((n - begun) as usize, (t.main.len() - 1) / 64);
            assert_eq!(t.main.len(), buckets * 11 / 8);
            prepared += 1;
        }
        assert_eq!(t.len(), n as usize);
    }
    (0..n).for_each(|i| {
        assert!(t.remove(stdx::hash::hash64(&key(i)), |e| e.key() == key(i)).is_some())
    });
    // A table that shrinks, or goes, takes what it has prepared with it.
    let mut t = Table::new(0);
    let mut n = 0;
    while t.coming.is_none() {
        put(&mut t, &key(n), b"x");
        n += 1;
    }
    (0..n).for_each(|i| drop(t.remove(stdx::hash::hash64(&key(i)), |e| e.key() == key(i))));
    assert!(t.coming.is_none() && t.is_empty());
    (0..n).for_each(|i| put(&mut t, &key(i), b"x"));
    assert!(t.main.len() >= LONG / 2);
}

#[test]
fn colliding_hashes_share_a_chain() {
    struct Same(Box<u64>);
    // SAFETY: a Box of an aligned u64; the hash is constant.
    unsafe impl Node for Same {
        fn into_raw(self) -> NonNull<u8> {
            NonNull::new(Box::into_raw(self.0).cast()).expect("a box is not null")
        }
        unsafe fn from_raw(p: NonNull<u8>) -> Self {
            // SAFETY: from `into_raw`.
            Self(unsafe { Box::from_raw(p.as_ptr().cast()) })
        }
        fn hash(&self) -> u64 {
            0
        }
        fn duplicate(&self) -> Self {
            Self(self.0.clone())
        }
    }
    let mut t = Table::new(0);
    for i in 0..100u64 {
        t.insert(Same(Box::new(i)));
    }
    for i in (0..100u64).rev().step_by(2).chain((0..100).step_by(2)) {
        assert!(t.find(0, |n| *n.0 == i).is_some(), "{i}");
        assert!(t.remove(0, |n| *n.0 == i).is_some());
        assert!(t.find(0, |n| *n.0 == i).is_none());
    }
    assert!(t.is_empty() && t.children == 0);
}

#[test]
fn a_table_with_room_moves_nothing() {
    let many = if cfg!(miri) { 300 } else { 20_000 };
    for (phase, nodes) in [(0, 1), (0, many), (1023, many), (500, many)] {
        for before in [0, 1, nodes / 2] {
            let mut t = Table::<Entry>::new(phase);
            (0..before).for_each(|n| put(&mut t, &key(n), b"v"));
            t.reserve(nodes as usize);
            t.finish();
            let buckets = t.main.len();
            assert!(buckets <= nodes as usize / 4 + 2, "{buckets} for {nodes}");
            for n in before..nodes {
                put(&mut t, &key(n), b"v");
                assert!(!t.is_resizing());
            }
            assert_eq!((t.main.len(), t.len()), (buckets, (nodes.max(before)) as usize));
            for n in 0..nodes {
                let k = key(n);
                assert!(t.find(stdx::hash::hash64(&k), |e| e.key() == k).is_some());
            }
            // The table has that room already.
            t.reserve(nodes as usize / 2);
            assert_eq!(t.main.len(), buckets);
        }
    }
}
