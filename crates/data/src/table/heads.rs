//! Looking ahead without the lock: what tables publish, and what can be made of it.
//!
//! Bucket words are atomics and bucket arrays are freed through epochs, so that a thread without the
//! table's lock may look for where a node probably is, to have it in the cache when the lock is held.
//! What is found may be wrong by then; it is never more than a hint.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use stdx::sync::{AtomicBool, AtomicU64, AtomicUsize};

use crate::epoch;

use super::{Array, Bucket, POINTER, SLOTS, pos_of, prefetch, tag_of};

/// Where tables publish their bucket arrays for prefetching, one place per table.
pub struct Heads {
    places: Box<[Head]>,
    /// Whether a table of this row has ever had an array.
    used: Box<[AtomicBool]>,
    /// Binary logarithm of the places in a row.
    row: u32,
}

/// Bits of an array's length in a [`Head`].
const LEN_BITS: u32 = 22;

/// An array as one word, so that unlocked readers see pointer and length together:
/// (pointer >> 6) << 22 | length. Arrays are aligned to their buckets of 64 bytes. An
/// array that is too long for this is published as none: threads without the lock then get no hints.
fn pack(array: Array) -> u64 {
    let len = array.len as u64;
    if len >> LEN_BITS == 0 { (array.base as u64 >> 6) << LEN_BITS | len } else { 0 }
}

#[inline]
fn unpack(word: u64) -> Array {
    let len = (word & ((1 << LEN_BITS) - 1)) as usize;
    Array { base: ((word >> LEN_BITS) << 6) as usize, len }
}

/// A table's arrays as others see them; the three may be of different moments.
#[derive(Default)]
#[repr(align(32))]
struct Head {
    main: AtomicU64,
    old: AtomicU64,
    moved: AtomicUsize,
}

impl Head {
    /// The array and bucket a hash probably lives in: right, except during a race with a resize.
    #[inline]
    fn locate(&self, hash: u64) -> Option<*const Bucket> {
        let old = unpack(self.old.load(Acquire));
        if !old.is_none() {
            let i = old.index(pos_of(hash));
            if i >= self.moved.load(Relaxed) {
                return Some(old.ptr(i));
            }
        }
        let main = unpack(self.main.load(Acquire));
        (!main.is_none()).then(|| main.ptr(main.index(pos_of(hash))))
    }
}

impl Heads {
    /// Places for so many rows of tables, `len` in each, which must be a power of two.
    pub fn new(rows: usize, len: usize) -> Arc<Self> {
        assert!(len.is_power_of_two());
        Arc::new(Self {
            places: (0..rows * len).map(|_| Head::default()).collect(),
            used: (0..rows).map(|_| AtomicBool::new(false)).collect(),
            row: len.trailing_zeros(),
        })
    }

    pub(super) fn publish(&self, i: usize, main: Array, old: Array, moved: usize) {
        let head = &self.places[i];
        head.main.store(pack(main), Release);
        head.old.store(pack(old), Release);
        head.moved.store(moved, Relaxed);
        if !main.is_none() && !self.is_used(i >> self.row) {
            self.used[i >> self.row].store(true, Relaxed);
        }
    }

    /// Whether a table of this row may hold anything, or has done so.
    #[inline]
    pub fn is_used(&self, row: usize) -> bool {
        self.used[row].load(Relaxed)
    }

    /// The bucket of `hash` in table `i`, which is not looked at. Needs no lock.
    #[inline]
    pub fn spot<'p>(&self, i: usize, hash: u64, _pin: &'p epoch::Guard) -> Spot<'p> {
        let bucket = self.places[i].locate(hash).unwrap_or(std::ptr::null());
        Spot { bucket, _pin: PhantomData }
    }
}

/// A bucket that was found without its table's lock, good for hints.
#[derive(Clone, Copy)]
pub struct Spot<'p> {
    /// Null when there is none.
    bucket: *const Bucket,
    _pin: PhantomData<&'p epoch::Guard>,
}

impl Spot<'_> {
    /// No bucket.
    pub const NONE: Self = Self { bucket: std::ptr::null(), _pin: PhantomData };

    /// Hints the processor to load the bucket.
    #[inline]
    pub fn prefetch_bucket(self) {
        self.hint().give();
    }

    /// A hint about the bucket, to be given later.
    #[inline]
    pub fn hint(self) -> Hint {
        Hint(self.bucket.addr())
    }

    /// The node that `hash` most likely means, by a look at the bucket. Needs no lock.
    #[inline]
    pub fn node(self, hash: u64) -> NodeSpot {
        if self.bucket.is_null() {
            return NodeSpot::NONE;
        }
        #[cfg(loom)]
        epoch::looked_at(self.bucket.addr());
        // SAFETY: the pin, from before the array was looked up until now, keeps a published array
        // from being freed, and the index was within its length.
        let (slot, v) = unsafe { guess(self.bucket, tag_of(hash)) };
        NodeSpot { node: ((v & POINTER) as usize) as *const u8, slot }
    }
}

/// A node that was found without its table's lock, good for hints.
#[derive(Clone, Copy)]
pub struct NodeSpot {
    /// May dangle: it is an address to ask for, and nothing else.
    node: *const u8,
    /// Its place in the bucket: a guess for [`find_mut_near`](super::Table::find_mut_near).
    pub slot: usize,
}

impl NodeSpot {
    /// No node.
    pub const NONE: Self = Self { node: std::ptr::null(), slot: 0 };

    /// Hints the processor to load the node.
    #[inline]
    pub fn prefetch(self) {
        self.hint().give();
    }

    /// A hint about the node, to be given later.
    #[inline]
    pub fn hint(self) -> Hint {
        Hint(self.node.addr())
    }
}

/// An address that will be needed soon. It may be any.
#[derive(Clone, Copy)]
pub struct Hint(usize);

impl Hint {
    /// No address.
    pub const NONE: Self = Self(0);

    /// Has the processor load what is there.
    #[inline]
    pub fn give(self) {
        if self.0 != 0 {
            prefetch(std::ptr::without_provenance(self.0));
        }
    }
}

/// The place and the word of the bucket that is worth following for a tag, while others may write
/// the bucket.
///
/// # Safety
/// The bucket is alive.
#[inline]
pub(super) unsafe fn guess(bucket: *const Bucket, tag: u64) -> (usize, u64) {
    let mut m: u32;
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: reads 64 aligned bytes that the caller vouches for. The words are atomics that other
    // threads may write meanwhile; the comparison happens in assembly because Rust has no vector
    // load that may race. Each 8-byte word is read whole.
    unsafe {
        std::arch::asm!(
            "movd {t}, {tag:e}",
            "pshuflw {t}, {t}, 0",
            "punpcklqdq {t}, {t}",
            "movdqa {a}, [{p}]",
            "movdqa {b}, [{p} + 32]",
            "pcmpeqw {a}, {t}",
            "pcmpeqw {b}, {t}",
            "movdqa {c}, [{p} + 16]",
            "movdqa {d}, [{p} + 48]",
            "pcmpeqw {c}, {t}",
            "pcmpeqw {d}, {t}",
            "packsswb {a}, {c}",
            "packsswb {b}, {d}",
            "pmovmskb {m:e}, {a}",
            "pmovmskb {n:e}, {b}",
            "shl {n:e}, 16",
            "or {m:e}, {n:e}",
            p = in(reg) bucket,
            tag = in(reg) tag >> 48,
            t = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            m = out(reg) m,
            n = out(reg) _,
            options(nostack, readonly),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        m = 0;
        // SAFETY: the caller's contract.
        for (i, w) in unsafe { &(*bucket).0 }.iter().enumerate() {
            m |= u32::from((w.load(Relaxed) ^ tag) >> 48 == 0) << (4 * i + 3);
        }
    }
    m &= 0x8888_8888;
    // Without a match the node may be in the child, whose pointer is the last word.
    let i = if m == 0 { SLOTS - 1 } else { (m.trailing_zeros() >> 2) as usize };
    // SAFETY: the caller's contract.
    (i, unsafe { (&(*bucket).0)[i].load(Relaxed) })
}

#[cfg(all(test, loom))]
mod model {
    use stdx::sync::check;
    use stdx::sync::loom::thread;

    use super::super::Table;
    use super::*;
    use crate::entry::{Content, Entry};

    fn entry(i: u32) -> Entry {
        Entry::string(&i.to_le_bytes(), Content::Bytes(b"v"), None, 0)
    }

    fn add(table: &mut Table<Entry>, keys: std::ops::Range<u32>) {
        keys.for_each(|i| table.insert(entry(i)));
    }

    fn remove(table: &mut Table<Entry>, keys: std::ops::Range<u32>) {
        for i in keys {
            let hash = stdx::hash::hash64(&i.to_le_bytes());
            assert!(table.remove(hash, |e| e.key() == i.to_le_bytes()).is_some());
        }
    }

    /// Threads look ahead without a lock while `f` changes a table that `prepare` has filled.
    fn look_while(prepare: fn(&mut Table<Entry>), f: fn(Table<Entry>)) {
        check(2, move || {
            let heads = Heads::new(1, 1);
            let mut table = Table::published(0, &heads, 0);
            prepare(&mut table);
            let looking = thread::spawn(move || {
                for hash in [0, u64::MAX] {
                    let pin = epoch::pin();
                    heads.spot(0, hash, &pin).node(hash).prefetch();
                }
            });
            f(table);
            looking.join().unwrap();
        });
    }

    #[test]
    fn a_new_array_is_seen_with_its_content() {
        look_while(|_| (), |mut table| add(&mut table, 0..1));
    }

    #[test]
    fn an_array_that_a_growing_table_leaves_lives_as_long_as_it_is_looked_at() {
        look_while(|table| add(table, 0..6), |mut table| add(&mut table, 6..9));
    }

    #[test]
    fn so_does_one_that_a_shrinking_table_leaves() {
        let prepare = |table: &mut Table<Entry>| add(table, 0..14);
        look_while(prepare, |mut table| remove(&mut table, 0..13));
    }

    #[test]
    fn so_does_that_of_a_table_that_goes() {
        look_while(|table| add(table, 0..2), |mut table| drop(table.take()));
        look_while(|table| add(table, 0..7), drop);
    }
}
