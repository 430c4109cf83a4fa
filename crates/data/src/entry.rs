//! A key with its value and deadline in one allocation.
//!
//! ```text
//!  ┌────────────────────────────────┬──────────────┬─────────────┬──────────┬───────┬───────────┐
//!  │ head, 8 bytes                  │ deadline, 8  │ payload, 8  │ klen, 8  │ key   │ value     │
//!  │ type 4 · encoding 4 · flags 8  │ if EXPIRES   │ unless the  │ if klen  │       │ if inline │
//!  │ · access 24 · klen 8 · vlen 16 │              │ value is    │ is 255   │       │           │
//!  │                                │              │ inline      │          │       │           │
//!  └────────────────────────────────┴──────────────┴─────────────┴──────────┴───────┴───────────┘
//! ```
//!
//! Strings of up to [`INLINE_MAX`] bytes lie behind the key. Integers lie in the payload. Longer
//! strings are an `Arc<Vec<u8>>` in the payload, so that a reply can hold on to the bytes while
//! they go out, without a copy, whatever happens to the key meanwhile.
//!
//! Values of the other types are a [`packed`] run behind the key while they are
//! small, and a [`Big`] in the payload beyond that.
//!
//! The allocation is always exactly one size class of the allocator. So the head alone tells how
//! much was allocated, and a new value of the same class is written over the old one in place.
//!
//! `access` is Redis's 24-bit LRU clock or LFU counter; this module only stores it, as it does the
//! snapshot mark (bit 14).

#![expect(
    unsafe_code,
    reason = "variable-length layout behind one thin pointer; fuzzed and run in Miri"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;
use std::sync::Arc;

use stdx::mem::size_class;

use crate::big::{Big, Value};
use crate::hash::deadline;
pub use crate::kind::Kind;
use crate::packed;
use crate::table::{Node, SlotMut};

/// Longest string value that is kept inside the entry, in bytes.
pub const INLINE_MAX: usize = 4096;

const EXPIRES: u64 = 1 << 8;
const RAW: u64 = 1 << 9;
const TAG_SHIFT: u32 = 10;
const TAG_MASK: u64 = 15 << TAG_SHIFT;
const MARK_SHIFT: u32 = 14;
const MARK_BIT: u64 = 1 << MARK_SHIFT;
const ENCODING_SHIFT: u32 = 4;
const ACCESS_SHIFT: u32 = 16;
const ACCESS_MASK: u64 = 0xff_ffff << ACCESS_SHIFT;
/// What a new value leaves as it was.
const CARRIED: u64 = ACCESS_MASK | MARK_BIT;
const KLEN_SHIFT: u32 = 40;
const VLEN_SHIFT: u32 = 48;
const KLEN_LONG: usize = 255;
/// Type, encoding and deadline of an entry that is an inline string and does not expire.
const PLAIN_MASK: u64 = 0xff | EXPIRES;
const PLAIN: u64 = Kind::String as u64 | (Enc::Inline as u64) << ENCODING_SHIFT;

/// How a value is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Enc {
    Int = 0,
    Inline = 1,
    Shared = 2,
    Big = 3,
}

/// A string value as it is stored.
#[derive(Clone, Copy)]
pub enum Str<'a> {
    /// A value that reads as a canonical 64-bit integer.
    Int(i64),
    /// Bytes inside the entry.
    Inline(&'a [u8]),
    /// Bytes outside it, which a reader may keep.
    Shared(&'a Arc<Vec<u8>>),
}

/// A string value to be stored.
pub enum Content<'a> {
    /// An integer.
    Int(i64),
    /// Bytes to copy: into the entry, or when longer than [`INLINE_MAX`] behind it.
    Bytes(&'a [u8]),
    /// Bytes to keep without a copy; for strings longer than [`INLINE_MAX`].
    Shared(Arc<Vec<u8>>),
}

/// The value that is written into an entry.
enum Fill<'a> {
    Int(i64),
    Bytes(&'a [u8]),
    Shared(Arc<Vec<u8>>),
    Big(Big),
}

impl Fill<'_> {
    #[inline]
    fn enc(&self) -> Enc {
        match self {
            Fill::Int(_) => Enc::Int,
            Fill::Bytes(_) => Enc::Inline,
            Fill::Shared(_) => Enc::Shared,
            Fill::Big(_) => Enc::Big,
        }
    }

    #[inline]
    fn inline_len(&self) -> usize {
        match self {
            Fill::Bytes(b) => b.len(),
            _ => 0,
        }
    }
}

/// See the module's text.
#[repr(transparent)]
pub struct Entry(NonNull<u8>);

// SAFETY: an entry owns its bytes; the only shared part is an `Arc<Vec<u8>>`.
unsafe impl Send for Entry {}
// SAFETY: `&Entry` only reads.
unsafe impl Sync for Entry {}

struct Offsets {
    class: usize,
    key_at: usize,
}

/// Sizes and offsets for a head word and a key and value length.
#[inline]
fn shape(head: u64, klen: usize, vlen: usize) -> Offsets {
    let mut at = 8;
    if head & EXPIRES != 0 {
        at += 8;
    }
    if (head >> ENCODING_SHIFT) & 15 != Enc::Inline as u64 {
        at += 8;
    }
    if klen >= KLEN_LONG {
        at += 8;
    }
    Offsets { class: size_class(at + klen + vlen), key_at: at }
}

impl Entry {
    /// A new string entry. `deadline` is in Unix milliseconds; `access` fills 24 bits, and bit 24
    /// is the snapshot [`mark`](Self::mark).
    #[inline]
    pub fn string(key: &[u8], content: Content<'_>, deadline: Option<i64>, access: u32) -> Self {
        Self::new(Kind::String, key, settle(content), deadline, access)
    }

    /// A new entry of any type but a string that holds a packed run, which must not be longer than
    /// [`packed::BYTES_MAX`].
    pub fn packed(kind: Kind, key: &[u8], run: &[u8], deadline: Option<i64>, access: u32) -> Self {
        assert!(kind != Kind::String && run.len() <= packed::BYTES_MAX);
        Self::new(kind, key, Fill::Bytes(run), deadline, access)
    }

    /// A new entry that holds a big value.
    pub fn big<T: Value>(key: &[u8], value: T, deadline: Option<i64>, access: u32) -> Self {
        Self::new(T::KIND, key, Fill::Big(Big::new(value)), deadline, access)
    }

    #[inline]
    fn new(kind: Kind, key: &[u8], fill: Fill<'_>, deadline: Option<i64>, access: u32) -> Self {
        let head = head_for(kind, key.len(), &fill, deadline.is_some())
            | (u64::from(access) << ACCESS_SHIFT) & ACCESS_MASK
            | (u64::from(access) >> (24 - MARK_SHIFT)) & MARK_BIT;
        let s = shape(head, key.len(), fill.inline_len());
        let layout = Layout::from_size_align(s.class, 8).expect("lengths are below isize::MAX");
        // SAFETY: the size is at least 16.
        let ptr = unsafe { alloc(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        let mut e = Self(ptr);
        // SAFETY: all writes lie within the class that `shape` computed for these lengths.
        unsafe {
            std::ptr::copy_nonoverlapping(key.as_ptr(), ptr.as_ptr().add(s.key_at), key.len());
            e.write(head, key.len(), &s, fill, deadline);
        }
        e
    }

    /// Writes everything but the key.
    ///
    /// # Safety
    /// `s` is the shape of `head`, and the allocation has its class; no live payload is there.
    #[inline]
    unsafe fn write(
        &mut self,
        head: u64,
        klen: usize,
        s: &Offsets,
        fill: Fill<'_>,
        deadline: Option<i64>,
    ) {
        let p = self.0.as_ptr();
        // SAFETY: by the contract the offsets lie inside the allocation; 8-byte fields come first
        // and are aligned.
        unsafe {
            p.cast::<u64>().write(head);
            let mut at = 8;
            if let Some(d) = deadline {
                p.add(at).cast::<i64>().write(d);
                at += 8;
            }
            match fill {
                Fill::Int(n) => {
                    p.add(at).cast::<i64>().write(n);
                    at += 8;
                }
                Fill::Shared(a) => {
                    p.add(at).cast::<Arc<Vec<u8>>>().write(a);
                    at += 8;
                }
                Fill::Big(b) => {
                    p.add(at).cast::<Big>().write(b);
                    at += 8;
                }
                Fill::Bytes(v) => {
                    let to = p.add(s.key_at + klen);
                    std::ptr::copy_nonoverlapping(v.as_ptr(), to, v.len());
                }
            }
            if klen >= KLEN_LONG {
                p.add(at).cast::<u64>().write(klen as u64);
            }
        }
    }

    #[inline]
    fn head(&self) -> u64 {
        // SAFETY: every entry starts with its head.
        unsafe { self.0.as_ptr().cast::<u64>().read() }
    }

    #[inline]
    fn set_head(&mut self, head: u64) {
        // SAFETY: as above, and `&mut self`.
        unsafe { self.0.as_ptr().cast::<u64>().write(head) }
    }

    #[inline]
    fn payload_at(&self) -> usize {
        if self.head() & EXPIRES != 0 { 16 } else { 8 }
    }

    #[inline]
    fn klen(&self) -> usize {
        let head = self.head();
        let short = (head >> KLEN_SHIFT) as usize & 255;
        if short != KLEN_LONG {
            return short;
        }
        let at = self.payload_at() + if self.enc() == Enc::Inline { 0 } else { 8 };
        // SAFETY: a long key has its length at this place.
        unsafe { self.0.as_ptr().add(at).cast::<u64>().read() as usize }
    }

    #[inline]
    fn vlen(&self) -> usize {
        (self.head() >> VLEN_SHIFT) as usize
    }

    #[inline]
    fn enc(&self) -> Enc {
        match (self.head() >> ENCODING_SHIFT) & 15 {
            0 => Enc::Int,
            1 => Enc::Inline,
            2 => Enc::Shared,
            _ => Enc::Big,
        }
    }

    #[inline]
    fn shape(&self) -> Offsets {
        shape(self.head(), self.klen(), self.vlen())
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let klen = self.klen();
        let at = shape(self.head(), klen, 0).key_at;
        // SAFETY: the key's bytes lie there, for as long as the entry lives.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(at), klen) }
    }

    /// Whether this is the key: what every lookup asks, with one look at the head.
    #[inline(always)]
    pub fn has_key(&self, key: &[u8]) -> bool {
        let head = self.head();
        let klen = (head >> KLEN_SHIFT) as usize & 255;
        if klen != key.len() || klen == KLEN_LONG {
            return klen == KLEN_LONG && self.has_long_key(key);
        }
        let at = shape(head, 0, 0).key_at;
        // SAFETY: the key's bytes lie there, for as long as the entry lives.
        stdx::bytes::same(unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(at), klen) }, key)
    }

    #[cold]
    fn has_long_key(&self, key: &[u8]) -> bool {
        self.key() == key
    }

    /// The value's type.
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::from_bits(self.head())
    }

    /// The deadline in Unix milliseconds, if the key expires.
    #[inline]
    pub fn deadline(&self) -> Option<i64> {
        // SAFETY: the flag says that the field is there.
        (self.head() & EXPIRES != 0).then(|| unsafe { self.0.as_ptr().add(8).cast::<i64>().read() })
    }

    /// The 24 bits of the LRU clock or LFU counter.
    #[inline]
    pub fn access(&self) -> u32 {
        ((self.head() & ACCESS_MASK) >> ACCESS_SHIFT) as u32
    }

    /// Stores the 24 bits. Does not write when they are the same, so that reads of a hot key keep
    /// its cache line shared between cores.
    #[inline]
    pub fn set_access(&mut self, access: u32) {
        let head = self.head();
        let new = head & !ACCESS_MASK | (u64::from(access) << ACCESS_SHIFT) & ACCESS_MASK;
        if new != head {
            self.set_head(new);
        }
    }

    /// The snapshot mark: what it means is the store's to say. It stays through every change.
    #[inline]
    pub fn mark(&self) -> bool {
        self.head() & MARK_BIT != 0
    }

    /// Stores the snapshot mark.
    #[inline]
    pub fn set_mark(&mut self, mark: bool) {
        self.set_head(self.head() & !MARK_BIT | u64::from(mark) << MARK_SHIFT);
    }

    /// Access and mark as constructors take them.
    #[inline]
    fn carried(&self) -> u32 {
        self.access() | u32::from(self.mark()) << 24
    }

    #[inline]
    fn inline(&self) -> &[u8] {
        // On the path of GET; every caller has just matched on the encoding.
        debug_assert!(self.enc() == Enc::Inline);
        let klen = self.klen();
        let s = shape(self.head(), klen, 0);
        // SAFETY: the value's bytes lie behind the key; `vlen` is 0 when they are not there.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(s.key_at + klen), self.vlen()) }
    }

    /// The string value. Only for strings: the caller has checked the type; of another type
    /// this is the empty string.
    #[inline]
    pub fn str(&self) -> Str<'_> {
        // On the path of GET; of another type the answer is wrong, and no memory is touched that is not its own.
        debug_assert!(self.kind() == Kind::String);
        match self.enc() {
            Enc::Inline => Str::Inline(self.inline()),
            Enc::Big => Str::Inline(&[]),
            // SAFETY: the payload of this encoding is an integer.
            Enc::Int => Str::Int(unsafe { self.payload_ptr().cast::<i64>().read() }),
            // SAFETY: the payload of this encoding is an Arc.
            Enc::Shared => Str::Shared(unsafe { &*self.payload_ptr().cast::<Arc<Vec<u8>>>() }),
        }
    }

    /// The packed run, if the value is one.
    #[inline]
    pub fn run(&self) -> Option<&[u8]> {
        (self.kind() != Kind::String && self.enc() == Enc::Inline).then(|| self.inline())
    }

    /// The big value, if it is a `T`.
    #[inline]
    pub fn value<T: Value>(&self) -> Option<&T> {
        self.as_big()?.get()
    }

    /// The big value, if it is a `T`, to change.
    #[inline]
    pub fn value_mut<T: Value>(&mut self) -> Option<&mut T> {
        if self.enc() != Enc::Big {
            return None;
        }
        // SAFETY: the payload of this encoding is a Big, and `&mut self` makes this the only
        // borrow.
        unsafe { &mut *self.payload_ptr().cast::<Big>() }.get_mut()
    }

    /// The value, if it is of many allocations.
    #[inline]
    pub fn as_big(&self) -> Option<&Big> {
        // SAFETY: the payload of this encoding is a Big.
        (self.enc() == Enc::Big).then(|| unsafe { &*self.payload_ptr().cast::<Big>() })
    }

    /// Four bits that a type may use as it likes; 0 in a new entry. They stay through every change
    /// but that of the whole value.
    #[inline]
    pub fn tag(&self) -> u8 {
        ((self.head() & TAG_MASK) >> TAG_SHIFT) as u8
    }

    /// Stores the four bits.
    pub fn set_tag(&mut self, tag: u8) {
        self.set_head(self.head() & !TAG_MASK | u64::from(tag & 15) << TAG_SHIFT);
    }

    /// Puts `insert` in place of the `remove` bytes at offset `at` of the packed run. In place when
    /// the size class stays the same. Panics when the value is no run, or the result is too long.
    pub fn splice(mut self, at: usize, remove: usize, insert: &[u8]) -> Self {
        let (klen, vlen) = (self.klen(), self.vlen());
        assert!(self.run().is_some() && at <= vlen && remove <= vlen - at);
        let longer = vlen - remove + insert.len();
        assert!(longer <= packed::BYTES_MAX);
        let old = self.shape();
        let head = self.head() & !(0xffff << VLEN_SHIFT) | (longer as u64) << VLEN_SHIFT;
        let new = shape(head, klen, longer);
        // SAFETY: the allocation has the layout of `old`; everything before the edit stays where
        // it is, since the encoding stays. It is made larger before bytes move up and smaller
        // after they moved down, so all ranges lie inside it.
        unsafe {
            let layout = Layout::from_size_align_unchecked(old.class, 8);
            if new.class > old.class {
                let grown = realloc(self.0.as_ptr(), layout, new.class);
                let Some(grown) = NonNull::new(grown) else { handle_alloc_error(layout) };
                self.0 = grown;
            }
            let to = self.0.as_ptr().add(new.key_at + klen + at);
            std::ptr::copy(to.add(remove), to.add(insert.len()), vlen - at - remove);
            std::ptr::copy_nonoverlapping(insert.as_ptr(), to, insert.len());
            if new.class < old.class {
                let cut = realloc(self.0.as_ptr(), layout, new.class);
                let Some(cut) = NonNull::new(cut) else { handle_alloc_error(layout) };
                self.0 = cut;
            }
        }
        self.set_head(head);
        self
    }

    /// The packed run's bytes, to change in place what does not change its length.
    pub fn run_mut(&mut self) -> Option<&mut [u8]> {
        self.run()?;
        let klen = self.klen();
        let at = shape(self.head(), klen, 0).key_at + klen;
        // SAFETY: the value's bytes lie behind the key, and `&mut self` makes this the only borrow.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().add(at), self.vlen()) })
    }

    /// The same key, deadline, access and tag with a big value.
    pub fn with_big<T: Value>(self, value: T) -> Self {
        self.refill(T::KIND, Fill::Big(Big::new(value)))
    }

    /// The same key, deadline, access and tag with a packed run.
    pub fn with_run(self, kind: Kind, run: &[u8]) -> Self {
        assert!(kind != Kind::String && run.len() <= packed::BYTES_MAX);
        self.refill(kind, Fill::Bytes(run))
    }

    fn refill(self, kind: Kind, fill: Fill<'_>) -> Self {
        let mut new = Self::new(kind, self.key(), fill, self.deadline(), self.carried());
        new.set_tag(self.tag());
        new
    }

    /// What is written into another entry to have this one's value: a copy of it.
    fn copied(&self) -> Fill<'_> {
        match self.enc() {
            // SAFETY: the payload of this encoding is an integer.
            Enc::Int => Fill::Int(unsafe { self.payload_ptr().cast::<i64>().read() }),
            Enc::Inline => Fill::Bytes(self.inline()),
            Enc::Shared => {
                // SAFETY: the payload of this encoding is an Arc.
                Fill::Shared(Arc::clone(unsafe { &*self.payload_ptr().cast::<Arc<Vec<u8>>>() }))
            }
            // SAFETY: the payload of this encoding is a Big.
            Enc::Big => Fill::Big(unsafe { &*self.payload_ptr().cast::<Big>() }.duplicate()),
        }
    }

    /// The value under `key` with another deadline: what lies behind the entry is moved, the rest
    /// is copied.
    fn rebuild(mut self, key: Option<&[u8]>, deadline: Option<i64>) -> Self {
        let fill = match self.enc() {
            Enc::Int | Enc::Inline => self.copied(),
            Enc::Shared => {
                // SAFETY: the payload is an Arc; the encoding is changed below, so it is read once.
                Fill::Shared(unsafe { self.payload_ptr().cast::<Arc<Vec<u8>>>().read() })
            }
            // SAFETY: the payload is a Big, and as above.
            Enc::Big => Fill::Big(unsafe { self.payload_ptr().cast::<Big>().read() }),
        };
        let key = key.unwrap_or(self.key());
        let mut new = Self::new(self.kind(), key, fill, deadline, self.carried());
        new.set_head(new.head() | self.head() & (RAW | TAG_MASK));
        if matches!(self.enc(), Enc::Shared | Enc::Big) {
            // An integer is as large as the payload that has moved, and has nothing to free.
            let enc = (Enc::Int as u64) << ENCODING_SHIFT;
            self.set_head(self.head() & !(15 << ENCODING_SHIFT) | enc);
        }
        new
    }

    fn payload_ptr(&self) -> *mut u8 {
        // SAFETY: within the allocation: only called for encodings that have a payload.
        unsafe { self.0.as_ptr().add(self.payload_at()) }
    }

    /// The integer, to change in place.
    #[inline]
    pub fn int_mut(&mut self) -> Option<&mut i64> {
        // SAFETY: the payload of this encoding is an aligned integer.
        (self.enc() == Enc::Int).then(|| unsafe { &mut *self.payload_ptr().cast::<i64>() })
    }

    /// The inline bytes of a string, to change in place.
    pub fn inline_mut(&mut self) -> Option<&mut [u8]> {
        if self.enc() != Enc::Inline || self.kind() != Kind::String {
            return None;
        }
        self.set_head(self.head() | RAW);
        let at = self.shape().key_at + self.klen();
        // SAFETY: the value's bytes lie behind the key, and `&mut self` makes this the only borrow.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().add(at), self.vlen()) })
    }

    /// The bytes outside the entry, to change; copies them first when a reply still holds them.
    pub fn shared_mut(&mut self) -> Option<&mut Vec<u8>> {
        if self.enc() != Enc::Shared {
            return None;
        }
        // SAFETY: as in `str`, and `&mut self` makes this the only borrow of the Arc itself.
        Some(Arc::make_mut(unsafe { &mut *self.payload_ptr().cast::<Arc<Vec<u8>>>() }))
    }

    /// Marks a short string as one that was modified in place; OBJECT ENCODING calls it `raw`.
    pub fn mark_raw(&mut self) {
        self.set_head(self.head() | RAW);
    }

    /// The answer of OBJECT ENCODING.
    pub fn encoding_name(&self) -> &'static str {
        if let Some(big) = self.as_big() {
            return big.encoding_name();
        }
        if self.kind() != Kind::String {
            return match (self.kind(), self.tag() & 1) {
                (Kind::Set, 1) => "intset",
                (Kind::Hash, 1) => "listpackex",
                (Kind::List, 1) => "quicklist",
                _ => "listpack",
            };
        }
        match self.str() {
            Str::Int(_) => "int",
            Str::Inline(b) if b.len() <= 44 && self.head() & RAW == 0 => "embstr",
            _ => "raw",
        }
    }

    /// Puts other bytes in the place of a string, where that takes no more than writing them: the
    /// string is inline and has no deadline, the key is of the usual length, and the size class stays.
    /// Returns whether it was so; otherwise nothing has changed.
    #[inline(always)]
    pub fn overwrite(&mut self, bytes: &[u8]) -> bool {
        let head = self.head();
        let klen = (head >> KLEN_SHIFT) as usize & 255;
        if head & PLAIN_MASK != PLAIN || klen == KLEN_LONG || bytes.len() > INLINE_MAX {
            return false;
        }
        let at = 8 + klen;
        let old = (head >> VLEN_SHIFT) as usize;
        if old != bytes.len() && size_class(at + old) != size_class(at + bytes.len()) {
            return false;
        }
        let new =
            head & !(RAW | TAG_MASK | 0xffff << VLEN_SHIFT) | (bytes.len() as u64) << VLEN_SHIFT;
        self.set_head(new);
        // SAFETY: the value of such an entry lies behind the key, which begins behind the head, and
        // the class has room for the new one.
        let to = unsafe { std::slice::from_raw_parts_mut(self.0.as_ptr().add(at), bytes.len()) };
        stdx::bytes::copy(to, bytes);
        true
    }

    /// The value, if it is a string that lies right behind a key of the usual length, without a
    /// deadline: what most strings are, told by one look at the head.
    #[inline(always)]
    pub fn plain(&self) -> Option<&[u8]> {
        let head = self.head();
        let klen = (head >> KLEN_SHIFT) as usize & 255;
        if head & PLAIN_MASK != PLAIN || klen == KLEN_LONG {
            return None;
        }
        let (at, vlen) = (8 + klen, (head >> VLEN_SHIFT) as usize);
        // SAFETY: the value of such an entry lies behind the key, which begins behind the head.
        Some(unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(at), vlen) })
    }

    /// Exchanges value and deadline, in place when the size class stays the same.
    #[inline]
    pub fn set(mut self, content: Content<'_>, deadline: Option<i64>) -> Self {
        let fill = settle(content);
        let klen = self.klen();
        let old = self.shape();
        let head = head_for(Kind::String, klen, &fill, deadline.is_some()) | self.head() & CARRIED;
        let new = shape(head, klen, fill.inline_len());
        if old.class != new.class {
            return Self::new(Kind::String, self.key(), fill, deadline, self.carried());
        }
        self.drop_payload();
        // SAFETY: both key ranges lie within the class, which has room for the new shape.
        unsafe {
            if old.key_at != new.key_at {
                let p = self.0.as_ptr();
                std::ptr::copy(p.add(old.key_at), p.add(new.key_at), klen);
            }
            self.write(head, klen, &new, fill, deadline);
        }
        self
    }

    /// Appends to the string. Bytes that are there already are not copied as long as the size class
    /// has room, or the vector outside the entry. The string is `raw` afterwards.
    pub fn append(mut self, tail: &[u8]) -> Self {
        if let Some(bytes) = self.shared_mut() {
            bytes.extend_from_slice(tail);
            return self;
        }
        let deadline = self.deadline();
        if let Str::Int(n) = self.str() {
            self = self.set(Content::Bytes(n.to_string().as_bytes()), deadline);
        }
        let (klen, vlen) = (self.klen(), self.vlen());
        let longer = vlen + tail.len();
        if longer > INLINE_MAX {
            let mut bytes = Vec::with_capacity(longer);
            if let Str::Inline(start) = self.str() {
                bytes.extend_from_slice(start);
            }
            bytes.extend_from_slice(tail);
            return self.set(Content::Shared(Arc::new(bytes)), deadline);
        }
        let old = self.shape();
        let head = self.head() & !(0xffff << VLEN_SHIFT) | (longer as u64) << VLEN_SHIFT | RAW;
        let new = shape(head, klen, longer);
        // SAFETY: the allocation has the layout of `old`; everything before the tail stays where it
        // is, since the encoding stays; and the new class has room for the tail.
        unsafe {
            if new.class != old.class {
                let layout = Layout::from_size_align_unchecked(old.class, 8);
                let grown = realloc(self.0.as_ptr(), layout, new.class);
                let Some(grown) = NonNull::new(grown) else { handle_alloc_error(layout) };
                self.0 = grown;
            }
            let to = self.0.as_ptr().add(new.key_at + klen + vlen);
            std::ptr::copy_nonoverlapping(tail.as_ptr(), to, tail.len());
        }
        self.set_head(head);
        self
    }

    /// Exchanges the deadline alone.
    pub fn set_deadline(self, deadline: Option<i64>) -> Self {
        if let (Some(d), true) = (deadline, self.head() & EXPIRES != 0) {
            // SAFETY: the flag says that the field is there.
            unsafe { self.0.as_ptr().add(8).cast::<i64>().write(d) };
            return self;
        }
        if deadline.is_none() && self.head() & EXPIRES == 0 {
            return self;
        }
        self.rebuild(None, deadline)
    }

    /// A copy of the value under another key.
    pub fn with_key(&self, key: &[u8]) -> Self {
        let mut new = Self::new(self.kind(), key, self.copied(), self.deadline(), self.carried());
        new.set_head(new.head() | self.head() & (RAW | TAG_MASK));
        new
    }

    /// A copy for a snapshot, which shares what it can: see [`crate::big::Value::freeze`].
    #[must_use]
    pub fn freeze(&mut self) -> Self {
        if self.enc() != Enc::Big {
            return self.with_key(self.key());
        }
        // SAFETY: the payload of this encoding is a Big, and `&mut self` is the only borrow.
        let big = unsafe { &mut *self.payload_ptr().cast::<Big>() }.freeze();
        let mut new =
            Self::new(self.kind(), self.key(), Fill::Big(big), self.deadline(), self.carried());
        new.set_head(new.head() | self.head() & (RAW | TAG_MASK));
        new
    }

    /// The value under another key; what lies behind the entry stays where it is (RENAME).
    pub fn rename(self, key: &[u8]) -> Self {
        let deadline = self.deadline();
        self.rebuild(Some(key), deadline)
    }

    /// Bytes this entry holds from the allocator.
    pub fn bytes(&self) -> usize {
        let behind = match self.enc() {
            Enc::Int | Enc::Inline => 0,
            // SAFETY: the payload of this encoding is an Arc.
            Enc::Shared => unsafe {
                let a = &*self.payload_ptr().cast::<Arc<Vec<u8>>>();
                size_class(a.capacity()) + size_class(40)
            },
            Enc::Big => self.as_big().map_or(0, Big::bytes),
        };
        self.shape().class + behind
    }

    /// About how long freeing takes, in allocations; a long string counts by its length.
    #[inline]
    pub fn effort(&self) -> usize {
        match self.enc() {
            Enc::Int | Enc::Inline => 1,
            // SAFETY: the payload of this encoding is an Arc.
            Enc::Shared => unsafe {
                (*self.payload_ptr().cast::<Arc<Vec<u8>>>()).capacity() / 1024
            },
            Enc::Big => self.as_big().map_or(0, Big::effort),
        }
    }

    /// Whether freeing takes long enough to be done off the path (Redis: more than 64
    /// allocations).
    #[inline]
    pub fn is_big(&self) -> bool {
        self.effort() >= 64
    }

    /// The earliest moment at which a part of the value expires (a hash's field), in Unix
    /// milliseconds.
    #[inline]
    pub fn part_deadline(&self) -> Option<i64> {
        match self.enc() {
            Enc::Big => self.as_big()?.deadline(),
            Enc::Inline if self.kind() == Kind::Hash && self.tag() & deadline::EX != 0 => {
                deadline::earliest(self.inline())
            }
            _ => None,
        }
    }

    #[inline]
    fn drop_payload(&mut self) {
        match self.enc() {
            Enc::Int | Enc::Inline => {}
            // SAFETY: the payload is an Arc, and is overwritten or freed next.
            Enc::Shared => drop(unsafe { self.payload_ptr().cast::<Arc<Vec<u8>>>().read() }),
            // SAFETY: the payload is a Big, and is overwritten or freed next.
            Enc::Big => drop(unsafe { self.payload_ptr().cast::<Big>().read() }),
        }
    }
}

impl packed::Edit for SlotMut<'_, Entry> {
    fn run(&self) -> &[u8] {
        Entry::run(self).unwrap_or(&packed::EMPTY)
    }

    fn splice(&mut self, at: usize, remove: usize, insert: &[u8]) {
        self.replace_with(|e| e.splice(at, remove, insert));
    }

    fn set_count(&mut self, n: u16) {
        if let Some(run) = self.node_mut().run_mut() {
            run[..packed::START].copy_from_slice(&n.to_le_bytes());
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let class = self.shape().class;
        self.drop_payload();
        // SAFETY: the entry was allocated with exactly this layout, whatever was set since.
        unsafe { dealloc(self.0.as_ptr(), Layout::from_size_align_unchecked(class, 8)) }
    }
}

// SAFETY: the pointer comes from the allocator with 8-byte alignment, and the hash depends on the
// key only, which never changes.
unsafe impl Node for Entry {
    #[inline]
    fn into_raw(self) -> NonNull<u8> {
        let p = self.0;
        std::mem::forget(self);
        p
    }

    #[inline]
    unsafe fn from_raw(ptr: NonNull<u8>) -> Self {
        Self(ptr)
    }

    #[inline]
    fn hash(&self) -> u64 {
        stdx::hash::hash64(self.key())
    }

    fn duplicate(&self) -> Self {
        self.with_key(self.key())
    }
}

/// Chooses between inline and shared by length.
#[inline]
fn settle(content: Content<'_>) -> Fill<'_> {
    match content {
        Content::Bytes(b) if b.len() > INLINE_MAX => Fill::Shared(Arc::new(b.to_vec())),
        Content::Bytes(b) => Fill::Bytes(b),
        Content::Int(n) => Fill::Int(n),
        Content::Shared(a) => Fill::Shared(a),
    }
}

#[inline]
fn head_for(kind: Kind, klen: usize, fill: &Fill<'_>, expires: bool) -> u64 {
    kind as u64
        | (fill.enc() as u64) << ENCODING_SHIFT
        | if expires { EXPIRES } else { 0 }
        | (klen.min(KLEN_LONG) as u64) << KLEN_SHIFT
        | (fill.inline_len() as u64) << VLEN_SHIFT
}
