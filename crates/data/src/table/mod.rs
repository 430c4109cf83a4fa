//! The hash table of the keyspace: 64-byte buckets of tagged pointers, ordered by hash.
//!
//! ```text
//!  hash (64 bits)   ssssssssss......pppppppppppppppppppppppppppppppptttttttttttttttt
//!                   shard (caller's)  position, 32 bits             tag, 16 bits
//!
//!  bucket (64 B)    | w0 | w1 | w2 | w3 | w4 | w5 | w6 | w7 |      w = tag << 48 | pointer
//!                                                        └ or: child bucket pointer | 1
//! ```
//!
//! **A bucket covers an interval of positions.** Of `n` buckets, number `i` holds the positions in
//! `[i/n, (i+1)/n)` of 2^32; the index is a multiplication and a shift, and `n` need not be a
//! power of two. Three things follow from that order:
//!
//! - *Growth by three eighths, in small steps.* A growing table has an old and a new array and a boundary:
//!   positions below it live in the new array, the others in the old one. So every lookup probes
//!   exactly one bucket, growing or not, and an insertion moves one old bucket. Nothing ever
//!   rehashes a whole table.
//! - *A stateless scan cursor.* The cursor is a position. Whatever the table's size was or will
//!   be, a node's position stays, so a scan that walks all positions returns every node that was
//!   present throughout.
//! - *No synchronised growth over many tables:* sizes are any number, so every table can start
//!   from a slightly different size (`phase`) and the memory of a keyspace grows smoothly.
//!
//! A full bucket keeps seven nodes and turns its last word into the pointer of a child bucket.
//!
//! **Prefetching without the lock.** A table publishes its bucket array in [`Heads`] outside
//! itself; bucket words are atomics and bucket arrays are freed through epochs. So
//! [`Heads::spot`] and [`Spot::node`] may run while another thread changes the
//! table. They only give hints to the processor; everything else needs the lock that owns the
//! table, which `&self`/`&mut self` stand for.

#![expect(unsafe_code, reason = "tagged pointers and unlocked prefetch; fuzzed against a std map")]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stdx::mem::allocated;

use crate::epoch;

mod heads;
mod size;
mod view;

use heads::guess;
pub use heads::{Heads, Hint, NodeSpot, Spot};
use size::Coming;
use view::{Pieces, Retired};

/// Nodes a bucket holds before it needs a child.
const SLOTS: usize = 8;
/// Quarters of the mean number of nodes per bucket at which the table grows. At 6.25 of 8, one
/// bucket in eight has a child, and two nodes in a hundred are in one.
const FILL_MAX_QUARTERS: usize = 25;
/// The most buckets one table may have: half as many as there are positions, for 13 thousand million
/// nodes. A table with more nodes has longer chains.
const BUCKETS_MAX: usize = 1 << 31;
/// How many buckets ahead of a walk the words of one are prefetched.
const BUCKETS_AHEAD: usize = 4;
const POINTER: u64 = (1 << 48) - 1;
const CHILD: u64 = 1;

/// An element of a table: an owning pointer.
///
/// # Safety
/// `into_raw` must give a pointer aligned to 8 whose value is below 2^48 (any user-space pointer
/// of x86-64 and AArch64 Linux and macOS is); `from_raw` must take it back; `hash` must always
/// give the same value for a node while it is in a table.
pub unsafe trait Node: Sized {
    /// Gives up ownership as a pointer.
    fn into_raw(self) -> NonNull<u8>;
    /// Takes ownership back.
    ///
    /// # Safety
    /// `ptr` came from `into_raw` and is not used otherwise.
    unsafe fn from_raw(ptr: NonNull<u8>) -> Self;
    /// The hash the node was inserted with.
    fn hash(&self) -> u64;
    /// A node of its own with the same content.
    fn duplicate(&self) -> Self;
}

#[repr(C, align(64))]
struct Bucket([AtomicU64; SLOTS]);

/// A bucket array.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Array {
    /// The address of its first bucket, 0 if there is none.
    base: usize,
    /// Buckets.
    len: usize,
}

impl Array {
    const NONE: Self = Self { base: 0, len: 0 };

    /// An array of empty buckets.
    fn new(n: usize) -> Self {
        // All-zero is a valid array of empty buckets.
        Self::with(n, alloc_zeroed)
    }

    /// An array of what `alloc` returns.
    fn with(n: usize, alloc: unsafe fn(Layout) -> *mut u8) -> Self {
        assert!(n > 0 && n <= BUCKETS_MAX);
        let layout = Self::layout(n);
        // SAFETY: the layout is not zero-sized.
        let ptr = unsafe { alloc(layout) };
        if ptr.is_null() {
            handle_alloc_error(layout);
        }
        let base = ptr.expose_provenance();
        assert!(base as u64 <= POINTER, "bucket arrays must lie below 2^48");
        #[cfg(loom)]
        epoch::allocated(base, layout.size());
        Self { base, len: n }
    }

    fn layout(n: usize) -> Layout {
        Layout::array::<Bucket>(n).expect("at most 2^31 buckets of 64 bytes")
    }

    #[inline]
    fn is_none(self) -> bool {
        self.len == 0
    }

    #[inline]
    fn len(self) -> usize {
        self.len
    }

    #[inline]
    fn index(self, pos: u32) -> usize {
        ((u64::from(pos) * self.len as u64) >> 32) as usize
    }

    #[inline]
    fn ptr(self, i: usize) -> *const Bucket {
        // Read for every lookup; an index comes from `index`, which cannot exceed the length, or from a loop over it.
        debug_assert!(i < self.len);
        std::ptr::with_exposed_provenance::<Bucket>(self.base).wrapping_add(i)
    }

    /// First position that bucket `i` covers; `i == len` gives 2^32.
    fn start(self, i: usize) -> u64 {
        ((i as u64) << 32).div_ceil(self.len() as u64)
    }

    /// Frees the array: if others may have seen it, once no thread can be prefetching from it.
    fn retire(self, shared: bool) {
        if self.is_none() {
            return;
        }
        if !shared {
            // SAFETY: the array came from `new`, and only its table knew of it.
            unsafe { self.free() };
            return;
        }
        let guard = epoch::pin();
        // SAFETY: the array came from `new` and has just become unreachable; unlocked readers hold
        // a pin, and the closure runs after all present pins are gone. An array is two numbers, so it is Send.
        unsafe { guard.defer_unchecked(move || self.free()) };
    }

    /// Frees it at once.
    ///
    /// # Safety
    /// It came from `new`, and no code uses it any more.
    unsafe fn free(self) {
        // In a model, addresses are not used again: see there.
        #[cfg(loom)]
        epoch::freed(self.base);
        #[cfg(not(loom))]
        // SAFETY: the caller's contract.
        unsafe {
            std::alloc::dealloc(
                std::ptr::with_exposed_provenance_mut(self.base),
                Self::layout(self.len),
            );
        }
    }
}

/// A borrowed node in a table.
pub struct Slot<'t, T: Node> {
    node: ManuallyDrop<T>,
    _table: PhantomData<&'t T>,
}

impl<T: Node> Deref for Slot<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.node
    }
}

/// A mutably borrowed node in a table, with the word that points at it.
pub struct SlotMut<'t, T: Node> {
    node: ManuallyDrop<T>,
    word: &'t AtomicU64,
    /// Where the node must go instead of being changed.
    retired: Option<&'t Retired<T>>,
    _table: PhantomData<&'t mut T>,
}

impl<T: Node> Deref for SlotMut<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.node
    }
}

impl<T: Node> SlotMut<'_, T> {
    /// The node, to change in place what does not move it and is not its hash.
    #[inline]
    pub fn node_mut(&mut self) -> &mut T {
        self.make_own();
        &mut self.node
    }

    /// Puts a node in the place of this one, which is returned.
    #[inline]
    fn put(&mut self, new: T) -> T {
        let addr = new.into_raw().as_ptr().expose_provenance() as u64;
        self.word.store(self.word.load(Relaxed) & !POINTER | addr, Relaxed);
        // SAFETY: `addr` was just given up by `into_raw`, and the table owns it now.
        let new = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(addr)) });
        ManuallyDrop::into_inner(std::mem::replace(&mut self.node, new))
    }

    /// Exchanges the node by what `f` makes of it (a node that grew has moved).
    /// The hash must stay the same. A panic in `f` aborts: the word would dangle.
    #[inline]
    pub fn replace_with(&mut self, f: impl FnOnce(T) -> T) {
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                std::process::abort();
            }
        }
        self.make_own();
        let bomb = Abort;
        // SAFETY: the node is taken out once and a new one put in before anyone can look.
        let old = unsafe { ManuallyDrop::take(&mut self.node) };
        let new = f(old);
        let addr = new.into_raw().as_ptr().expose_provenance() as u64;
        self.word.store(self.word.load(Relaxed) & !POINTER | addr, Relaxed);
        // SAFETY: `addr` was just given up by `into_raw`, and the table owns it now.
        self.node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(addr)) });
        std::mem::forget(bomb);
    }
}

#[inline]
fn tag_of(hash: u64) -> u64 {
    hash << 48
}

#[inline]
fn pos_of(hash: u64) -> u32 {
    (hash >> 16) as u32
}

#[inline]
fn node_ptr(word: u64) -> NonNull<u8> {
    let p = std::ptr::with_exposed_provenance_mut::<u8>((word & POINTER) as usize);
    NonNull::new(p).expect("a word that is not empty has a pointer")
}

/// Hints the processor to load the cache line of an address, which may be any.
///
/// A hint about a page that no translation buffer holds is a page walk, and the processor is not done with the hint
/// before the walk is. Only so many instructions may be under way behind it, so hints about several places stand together, in
/// a loop that does nothing else: their walks go on at the same time.
#[inline]
pub fn prefetch(addr: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(addr.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = addr;
}

/// Bit `4 * i + 3` is set where word `i` of the bucket carries the tag.
#[inline]
fn matches(bucket: &Bucket, tag: u64) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: SSE2 is part of x86-64. The loads are plain, which is fine: the caller holds the
    // table's lock, so no thread writes; unlocked readers only load.
    unsafe {
        use std::arch::x86_64::*;
        let t = _mm_set1_epi16((tag >> 48) as i16);
        let p = std::ptr::from_ref(bucket).cast::<__m128i>();
        let c = |i| _mm_cmpeq_epi16(_mm_load_si128(p.add(i)), t);
        let lo = _mm_movemask_epi8(_mm_packs_epi16(c(0), c(1))) as u32;
        let hi = _mm_movemask_epi8(_mm_packs_epi16(c(2), c(3))) as u32;
        (lo | hi << 16) & 0x8888_8888
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        let mut m = 0;
        for (i, w) in bucket.0.iter().enumerate() {
            m |= u32::from(w.load(Relaxed) & !POINTER == tag) << (4 * i + 3);
        }
        m
    }
}

/// See the module's text.
pub struct Table<T: Node> {
    /// The array that positions below the boundary (all, when not growing) live in.
    main: Array,
    /// While resizing: the array that is being emptied, or none.
    old: Array,
    /// Buckets of `old` that have been emptied, from 0 upwards.
    moved: usize,
    /// The array that it will grow into.
    coming: Option<Box<Coming>>,
    len: usize,
    children: usize,
    /// 0..1024: shifts this table's sizes so that many tables do not grow together.
    phase: u16,
    head: Option<(Arc<Heads>, u32)>,
    /// Whether others may have seen an array of this table: stays when the contents are taken out.
    shared: bool,
    /// It owns no node, has no arrays, and its `len` is 0.
    is_view: bool,
    /// There are views of it, or were; or of what it is one.
    retired: Option<Arc<Retired<T>>>,
    /// The buckets as the last view sees them, or, of a view, as it does.
    pieces: Option<Arc<Pieces>>,
    _own: PhantomData<T>,
}

// SAFETY: the table owns its nodes; the raw words are only an encoding of owning pointers.
unsafe impl<T: Node + Send> Send for Table<T> {}
// SAFETY: `&Table` gives out `&T` only.
unsafe impl<T: Node + Send + Sync> Sync for Table<T> {}

impl<T: Node> Table<T> {
    /// An empty table that allocates nothing. `phase` in 0..1024 spreads the sizes of many tables.
    pub const fn new(phase: u16) -> Self {
        Self {
            main: Array::NONE,
            old: Array::NONE,
            moved: 0,
            coming: None,
            len: 0,
            children: 0,
            phase,
            head: None,
            shared: false,
            is_view: false,
            retired: None,
            pieces: None,
            _own: PhantomData,
        }
    }

    /// An empty table that publishes its array at place `i` of `heads`, which no other table uses.
    pub fn published(phase: u16, heads: &Arc<Heads>, i: usize) -> Self {
        let head = Some((Arc::clone(heads), i as u32));
        let mut table = Self::new(phase);
        (table.head, table.shared) = (head, true);
        table
    }

    /// Must be called after every change of `main`, `old` or `moved`, before an array is retired.
    #[inline]
    fn publish(&self) {
        if let Some((heads, i)) = &self.head {
            heads.publish(*i as usize, self.main, self.old, self.moved);
        }
    }

    /// Nodes in the table.
    #[inline]
    pub fn len(&self) -> usize {
        if self.is_view { self.viewed() } else { self.len }
    }

    /// Whether the table holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Buckets in all arrays, children included.
    pub fn buckets(&self) -> usize {
        self.main.len() + self.old.len() + self.children
    }

    /// Bytes that its buckets hold from the allocator.
    pub fn bytes(&self) -> usize {
        let array = |array: Array| allocated::<Bucket>(array.len());
        let coming = self.coming.as_ref().map_or(0, |c| allocated::<Bucket>(c.len()));
        array(self.main) + array(self.old) + coming + self.children * size_of::<Bucket>()
    }

    /// Whether a resize is under way.
    pub fn is_resizing(&self) -> bool {
        !self.old.is_none()
    }

    /// Buckets of the array that a resize is leaving; 0 when none is under way.
    pub fn old_buckets(&self) -> usize {
        self.old.len()
    }

    /// The array and bucket a position lives in now.
    #[inline]
    fn locate(&self, pos: u32) -> (Array, usize) {
        let old = self.old;
        if !old.is_none() {
            let i = old.index(pos);
            if i >= self.moved {
                return (old, i);
            }
        }
        let main = self.main;
        (main, main.index(pos))
    }

    #[inline]
    fn word(&self, hash: u64, mut eq: impl FnMut(&T) -> bool) -> Option<&AtomicU64> {
        if self.len == 0 {
            return None;
        }
        let tag = tag_of(hash);
        let (array, i) = self.locate(pos_of(hash));
        // SAFETY: `i` is in range, and the array is alive: the caller holds the table.
        let mut bucket: &Bucket = unsafe { &*array.ptr(i) };
        loop {
            let mut m = matches(bucket, tag);
            while m != 0 {
                let w = &bucket.0[(m.trailing_zeros() >> 2) as usize];
                let v = w.load(Relaxed);
                // An empty word or a child pointer can carry the bits of tag 0.
                if v != 0 && v & CHILD == 0 {
                    // SAFETY: the word owns a live node; the copy is never dropped.
                    let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(v)) });
                    if eq(&node) {
                        return Some(w);
                    }
                }
                m &= m - 1;
            }
            bucket = child(bucket)?;
        }
    }

    /// Hints the processor to load the bucket of `hash`.
    #[inline]
    pub fn prefetch_bucket(&self, hash: u64) {
        if self.len > 0 {
            let (array, i) = self.locate(pos_of(hash));
            prefetch(array.ptr(i).cast());
        }
    }

    /// Hints the processor to load the node that `hash` most likely means; reads the bucket.
    #[inline]
    pub fn prefetch_node(&self, hash: u64) {
        if self.len > 0 {
            let (array, i) = self.locate(pos_of(hash));
            // SAFETY: in range and alive, as in `word`.
            let (_, v) = unsafe { guess(array.ptr(i), tag_of(hash)) };
            prefetch(((v & POINTER) as usize) as *const u8);
        }
    }

    /// The node with this hash for which `eq` holds.
    #[inline]
    pub fn find(&self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<Slot<'_, T>> {
        let w = self.word(hash, eq)?;
        // SAFETY: the word owns a live node, borrowed for as long as the table is.
        let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(w.load(Relaxed))) });
        Some(Slot { node, _table: PhantomData })
    }

    /// The same, to change it.
    #[inline(never)]
    pub fn find_mut(&mut self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<SlotMut<'_, T>> {
        if self.retired().is_some() {
            let (array, i) = self.locate(pos_of(hash));
            self.keep_bucket(array, i);
        }
        let word = self.word(hash, eq)?;
        // SAFETY: as in `find`, and `&mut self` makes it the only borrow.
        let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(word.load(Relaxed))) });
        Some(SlotMut { node, word, retired: self.retired.as_deref(), _table: PhantomData })
    }

    /// The same when the node is probably at place `slot` of its bucket: then nothing else is looked
    /// at. For paths where that pays, because it is copied to each of them.
    #[inline(always)]
    pub fn find_mut_near(
        &mut self,
        hash: u64,
        slot: usize,
        mut eq: impl FnMut(&T) -> bool,
    ) -> Option<SlotMut<'_, T>> {
        if self.len == 0 {
            return None;
        }
        let (array, i) = self.locate(pos_of(hash));
        // SAFETY: `i` is in range, and the array is alive: the caller holds the table.
        let bucket: &Bucket = unsafe { &*array.ptr(i) };
        let word = &bucket.0[slot % SLOTS];
        let v = word.load(Relaxed);
        // Neither another tag, nor the pointer of a child, nor nothing.
        if (v ^ tag_of(hash)) & (!POINTER | CHILD) == 0 && v & POINTER != 0 {
            // SAFETY: the word owns a live node, `&mut self` makes it the only borrow, and the copy
            // is never dropped.
            let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(v)) });
            if self.retired.is_none() && eq(&node) {
                return Some(SlotMut { node, word, retired: None, _table: PhantomData });
            }
        }
        self.find_mut(hash, eq)
    }

    /// Adds a node. The caller knows that no equal one is present.
    pub fn insert(&mut self, node: T) {
        let hash = node.hash();
        self.insert_hashed(hash, node);
    }

    /// The same for a node whose hash the caller has computed already.
    pub fn insert_hashed(&mut self, hash: u64, node: T) {
        // To hash it again would cost what this function saves.
        debug_assert!(hash == node.hash());
        self.make_room();
        let addr = node.into_raw().as_ptr().expose_provenance() as u64;
        assert!(addr & !POINTER == 0 && addr & 7 == 0);
        self.put(hash, addr);
        self.len += 1;
        self.step(1);
    }

    /// Makes room for so many nodes in all, for a caller that adds them: nothing is moved meanwhile.
    pub fn reserve(&mut self, nodes: usize) {
        let least = nodes.saturating_mul(4) / FILL_MAX_QUARTERS + 1;
        // Tables of one keyspace are not to grow together later, either.
        let spread = least.saturating_mul(usize::from(self.phase) * 3 / 8) / 1024;
        let n = least.saturating_add(spread).min(BUCKETS_MAX);
        if n <= self.main.len() {
            return;
        }
        self.finish();
        if self.main.is_none() {
            self.main = Array::new(n);
            self.publish();
        } else {
            self.resize(n);
        }
    }

    /// Takes a node out.
    pub fn remove(&mut self, hash: u64, eq: impl FnMut(&T) -> bool) -> Option<T> {
        let w = std::ptr::from_ref(self.word(hash, eq)?);
        let (array, i) = self.locate(pos_of(hash));
        self.keep_bucket(array, i);
        // SAFETY: in range and alive, as in `word`.
        let head: &Bucket = unsafe { &*array.ptr(i) };
        // SAFETY: the word lies in this bucket chain, which nothing has changed since.
        let w = unsafe { &*w };
        let v = w.load(Relaxed);
        w.store(0, Relaxed);
        self.fill_hole(head, w);
        self.len -= 1;
        self.maybe_shrink();
        self.step(1);
        // SAFETY: the word owned the node and has been emptied.
        let node = unsafe { T::from_raw(node_ptr(v)) };
        let Some(retired) = self.retired() else { return Some(node) };
        let copy = node.duplicate();
        retired.retire(node);
        Some(copy)
    }

    /// Moves the last node of a bucket chain into an emptied word, and frees a child that this
    /// leaves with a single node, so that chains never hold gaps for long.
    fn fill_hole(&mut self, head: &Bucket, hole: &AtomicU64) {
        let mut parent = head;
        let Some(mut last) = child(head) else {
            return;
        };
        while let Some(next) = child(last) {
            parent = last;
            last = next;
        }
        if let Some(w) = last.0.iter().rev().find(|w| w.load(Relaxed) != 0)
            && !std::ptr::eq(w, hole)
        {
            hole.store(w.load(Relaxed), Relaxed);
            w.store(0, Relaxed);
        }
        let mut left = last.0.iter().filter(|w| w.load(Relaxed) != 0);
        let (first, more) = (left.next(), left.next());
        if more.is_none() {
            // One node left moves into the word that pointed at the child.
            let v = first.map_or(0, |w| w.load(Relaxed));
            let link = &parent.0[SLOTS - 1];
            let child = child_ptr(link.load(Relaxed));
            link.store(v, Relaxed);
            self.children -= 1;
            // SAFETY: children come from Box, are never read without the lock, and this one has
            // just become unreachable.
            drop(unsafe { Box::from_raw(child.cast_mut()) });
        }
    }

    /// Writes a node's word into the first free place of its bucket chain.
    fn put(&mut self, hash: u64, addr: u64) {
        let v = tag_of(hash) | addr;
        let (array, i) = self.locate(pos_of(hash));
        self.keep_bucket(array, i);
        // SAFETY: in range and alive.
        let mut bucket: &Bucket = unsafe { &*array.ptr(i) };
        loop {
            if let Some(w) = bucket.0.iter().find(|w| w.load(Relaxed) == 0) {
                w.store(v, Relaxed);
                return;
            }
            let last = &bucket.0[SLOTS - 1];
            let present = last.load(Relaxed);
            if present & CHILD == 0 {
                let child = Box::new(Bucket(Default::default()));
                child.0[0].store(present, Relaxed);
                child.0[1].store(v, Relaxed);
                let addr = Box::into_raw(child).expose_provenance() as u64;
                assert!(addr & !POINTER == 0);
                last.store(addr | CHILD, Relaxed);
                self.children += 1;
                return;
            }
            // SAFETY: a word with the CHILD bit owns a live bucket.
            bucket = unsafe { &*child_ptr(present) };
        }
    }

    /// Moves up to `buckets` buckets of a resize that is under way; costs a cache miss per node
    /// moved (overlapped by prefetching). Returns whether there is more to do.
    pub fn step(&mut self, buckets: usize) -> bool {
        let old = self.old;
        if old.is_none() {
            return false;
        }
        for _ in 0..buckets {
            self.keep_bucket(old, self.moved);
            // SAFETY: in range (a finished resize has no old array) and alive.
            let head: &Bucket = unsafe { &*old.ptr(self.moved) };
            self.moved += 1;
            self.publish();
            self.drain(head);
            if self.moved == old.len() {
                self.old = Array::NONE;
                self.moved = 0;
                self.publish();
                // Views have all of it by now.
                old.retire(self.shared);
                return false;
            }
        }
        true
    }

    /// Re-inserts every node of a bucket chain, and frees its children.
    fn drain(&mut self, head: &Bucket) {
        let mut chain = Some(head);
        while let Some(bucket) = chain {
            for w in &bucket.0 {
                prefetch(((w.load(Relaxed) & POINTER) as usize) as *const u8);
            }
            chain = child(bucket);
            for w in &bucket.0 {
                let v = w.load(Relaxed);
                if v != 0 && v & CHILD == 0 {
                    w.store(0, Relaxed);
                    // SAFETY: the word owned a live node; the copy is never dropped.
                    let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(v)) });
                    self.put(node.hash(), v & POINTER);
                }
            }
            if !std::ptr::eq(bucket, head) {
                self.children -= 1;
                // SAFETY: children come from Box, and the chain above this one is emptied.
                drop(unsafe { Box::from_raw(std::ptr::from_ref(bucket).cast_mut()) });
            }
        }
        head.0[SLOTS - 1].store(0, Relaxed);
    }

    /// Completes a resize at once.
    fn finish(&mut self) {
        while self.step(64) {}
    }

    /// Calls `f` for every node of the bucket that covers position `pos`, and returns the first
    /// position after that bucket, or `None` at the end. Starting from 0 and following the returned
    /// positions visits every node that is present throughout at least once, whatever is inserted,
    /// removed or resized between calls.
    pub fn scan(&self, pos: u32, mut f: impl FnMut(&T)) -> Option<u32> {
        // SAFETY: a word owns a live node; the copy is never dropped.
        self.scan_raw(pos, |p| f(&ManuallyDrop::new(unsafe { T::from_raw(p) })))
    }

    /// As [`scan`](Self::scan), and `f` may change what is not the node's hash and does not move
    /// it. Between any two nodes one of the next bucket is prefetched.
    pub fn scan_mut(&mut self, pos: u32, mut f: impl FnMut(&mut T)) -> Option<u32> {
        let mut ahead = self.ahead(pos).into_iter();
        let mut prefetch_next = || {
            if let Some(v) = ahead.next() {
                let node = ((v & POINTER) as usize) as *const u8;
                prefetch(node);
                prefetch(node.wrapping_add(64));
            }
        };
        let next = self.scan_raw(pos, |p| {
            prefetch_next();
            // SAFETY: a word owns a live node, and `&mut self` makes this the only borrow of any;
            // the copy is never dropped.
            f(&mut ManuallyDrop::new(unsafe { T::from_raw(p) }));
        });
        for _ in 0..SLOTS {
            prefetch_next();
        }
        next
    }

    /// The words of the bucket behind the one that covers `pos`, if there is one; prefetches a later one.
    fn ahead(&self, pos: u32) -> [u64; SLOTS] {
        let (array, i) = if self.main.is_none() { (Array::NONE, 0) } else { self.locate(pos) };
        if i + 1 >= array.len() {
            return [0; SLOTS];
        }
        prefetch(array.ptr((i + BUCKETS_AHEAD).min(array.len() - 1)).cast());
        // SAFETY: in range and alive.
        let bucket = unsafe { &*array.ptr(i + 1) };
        std::array::from_fn(|k| bucket.0[k].load(Relaxed))
    }

    fn scan_raw(&self, pos: u32, mut f: impl FnMut(NonNull<u8>)) -> Option<u32> {
        if self.main.is_none() {
            return self.scan_view(pos, f);
        }
        let (array, i) = self.locate(pos);
        // SAFETY: in range and alive.
        each_raw(unsafe { &*array.ptr(i) }, &mut f);
        let mut end = array.start(i + 1);
        let old = self.old;
        if !old.is_none() && array != old {
            // A new bucket may reach over the boundary; what lies beyond it is in the old array.
            end = end.min(old.start(self.moved));
        }
        u32::try_from(end).ok()
    }

    fn each_in(&self, array: Array, i: usize, f: &mut impl FnMut(&T)) {
        // SAFETY: in range and alive.
        let head = unsafe { &*array.ptr(i) };
        // SAFETY: a word owns a live node; the copy is never dropped.
        each_raw(head, &mut |p| f(&ManuallyDrop::new(unsafe { T::from_raw(p) })));
    }

    /// Calls `f` for every node.
    pub fn for_each(&self, mut f: impl FnMut(&T)) {
        let mut at = Some(0);
        while let Some(pos) = at {
            at = self.scan(pos, &mut f);
        }
    }

    /// A node near position `pos`: with a random `pos`, every node has a fair chance when the
    /// bucket it falls into is chosen again each time. `pick` chooses among `n` (0..n).
    /// Returns `None` when that bucket is empty (try another position) or the table is.
    pub fn sample(&self, pos: u32, pick: impl FnOnce(usize) -> usize) -> Option<Slot<'_, T>> {
        if self.len == 0 {
            return None;
        }
        let (array, i) = self.locate(pos);
        self.sample_in(array, i, pick)
    }

    /// A node of one bucket.
    fn sample_in(
        &self,
        array: Array,
        i: usize,
        pick: impl FnOnce(usize) -> usize,
    ) -> Option<Slot<'_, T>> {
        let mut n = 0;
        self.each_in(array, i, &mut |_| n += 1);
        if n == 0 {
            return None;
        }
        let mut k = pick(n).min(n - 1);
        // SAFETY: in range and alive.
        let mut bucket = Some(unsafe { &*array.ptr(i) });
        while let Some(b) = bucket {
            for w in &b.0 {
                let v = w.load(Relaxed);
                if v != 0 && v & CHILD == 0 {
                    if k == 0 {
                        // SAFETY: the word owns a live node, borrowed as long as the table is.
                        let node = ManuallyDrop::new(unsafe { T::from_raw(node_ptr(v)) });
                        return Some(Slot { node, _table: PhantomData });
                    }
                    k -= 1;
                }
            }
            bucket = child(b);
        }
        None
    }

    /// A random node, each with the same chance; `below(n)` chooses below `n`. `None` when the
    /// table is empty.
    pub fn sample_fair(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<Slot<'_, T>> {
        // Any bucket that holds nodes now, and then any of ROOM places in it, taken or not: so all
        // nodes are equal however full their bucket is. Chains above ROOM hardly ever exist.
        const ROOM: usize = 2 * SLOTS;
        if self.len == 0 {
            return None;
        }
        let (main, old) = (self.main, self.old);
        let (new, left) = match self.moved {
            _ if old.is_none() => (main.len(), 0),
            0 => (0, old.len()),
            moved => (main.index((old.start(moved) - 1) as u32) + 1, old.len() - moved),
        };
        for _ in 0..10_000 {
            let i = below(new + left);
            let (array, i) = if i < new { (main, i) } else { (old, self.moved + i - new) };
            let mut taken = false;
            let found = self.sample_in(array, i, |n| {
                let k = below(n.max(ROOM));
                taken = k < n;
                k
            });
            if taken {
                return found;
            }
        }
        // A table that has lost nearly all of its nodes at once: any of them.
        let mut at = Some(0);
        while let Some(pos) = at {
            if let Some(found) = self.sample(pos, &mut *below) {
                return Some(found);
            }
            at = self.scan(pos, |_| {});
        }
        None
    }

    /// Takes everything out into a table of its own, leaving this one empty.
    pub fn take(&mut self) -> Self {
        let mut taken = Self::new(self.phase);
        self.exchange(&mut taken);
        taken
    }

    /// Exchanges the contents of two tables; each keeps its own head.
    pub fn exchange(&mut self, other: &mut Self) {
        std::mem::swap(self, other);
        std::mem::swap(&mut self.head, &mut other.head);
        self.shared |= self.head.is_some();
        other.shared |= other.head.is_some();
        self.publish();
        other.publish();
    }
}

/// The bucket that a chain goes on with.
#[inline]
fn child(bucket: &Bucket) -> Option<&Bucket> {
    let last = bucket.0[SLOTS - 1].load(Relaxed);
    // SAFETY: a word with the CHILD bit owns a live bucket.
    (last & CHILD != 0).then(|| unsafe { &*child_ptr(last) })
}

/// Calls `f` for every node of a bucket chain.
fn each_raw(head: &Bucket, f: &mut impl FnMut(NonNull<u8>)) {
    let mut bucket = Some(head);
    while let Some(b) = bucket {
        for w in &b.0 {
            let v = w.load(Relaxed);
            if v != 0 && v & CHILD == 0 {
                f(node_ptr(v));
            }
        }
        bucket = child(b);
    }
}

#[inline]
fn child_ptr(word: u64) -> *const Bucket {
    std::ptr::with_exposed_provenance((word & POINTER & !CHILD) as usize)
}

impl<T: Node> Drop for Table<T> {
    fn drop(&mut self) {
        let fate = self.fate();
        let arrays = [self.main, self.old];
        (self.main, self.old) = (Array::NONE, Array::NONE);
        self.publish();
        for array in arrays {
            for i in 0..array.len() {
                if i % 64 == 63 {
                    stdx::yield_point::reached();
                }
                // SAFETY: in range and alive.
                let head: &Bucket = unsafe { &*array.ptr(i) };
                let mut chain = Some(head);
                while let Some(bucket) = chain {
                    for w in &bucket.0 {
                        prefetch(((w.load(Relaxed) & POINTER) as usize) as *const u8);
                    }
                    chain = child(bucket);
                    for w in &bucket.0 {
                        let v = w.load(Relaxed);
                        if v != 0 && v & CHILD == 0 {
                            // SAFETY: the word owns the node, and no code looks at it again.
                            fate.meet(unsafe { T::from_raw(node_ptr(v)) });
                        }
                    }
                    if !std::ptr::eq(bucket, head) {
                        // SAFETY: children come from Box; the walk has left this one.
                        drop(unsafe { Box::from_raw(std::ptr::from_ref(bucket).cast_mut()) });
                    }
                }
            }
            array.retire(self.shared);
        }
        fate.end();
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
