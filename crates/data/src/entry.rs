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
//! The allocation is always exactly one size class of the allocator. So the head alone tells how
//! much was allocated, and a new value of the same class is written over the old one in place.
//!
//! `access` is Redis's 24-bit LRU clock or LFU counter; this module only stores it.

#![expect(
    unsafe_code,
    reason = "variable-length layout behind one thin pointer; fuzzed and run in Miri"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;
use std::sync::Arc;

use stdx::mem::size_class;

use crate::table::Node;

/// Longest string value that is kept inside the entry, in bytes.
pub const INLINE_MAX: usize = 4096;

const EXPIRES: u64 = 1 << 8;
const RAW: u64 = 1 << 9;
const ENCODING_SHIFT: u32 = 4;
const ACCESS_SHIFT: u32 = 16;
const ACCESS_MASK: u64 = 0xff_ffff << ACCESS_SHIFT;
const KLEN_SHIFT: u32 = 40;
const VLEN_SHIFT: u32 = 48;
const KLEN_LONG: usize = 255;

/// The type of a value; the numbers are Redis's object types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A string, integer or not.
    String = 0,
    /// A list.
    List = 1,
    /// A set.
    Set = 2,
    /// A sorted set.
    ZSet = 3,
    /// A hash.
    Hash = 4,
    /// A stream.
    Stream = 6,
}

impl Kind {
    /// The name that TYPE answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::ZSet => "zset",
            Kind::Hash => "hash",
            Kind::Stream => "stream",
        }
    }

    fn from_bits(bits: u64) -> Self {
        match bits & 15 {
            0 => Kind::String,
            1 => Kind::List,
            2 => Kind::Set,
            3 => Kind::ZSet,
            4 => Kind::Hash,
            _ => Kind::Stream,
        }
    }
}

/// How a string is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Enc {
    Int = 0,
    Inline = 1,
    Shared = 2,
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

/// See the module's text.
#[repr(transparent)]
pub struct Entry(NonNull<u8>);

// SAFETY: an entry owns its bytes; the only shared part is an `Arc<Vec<u8>>`.
unsafe impl Send for Entry {}
// SAFETY: `&Entry` only reads.
unsafe impl Sync for Entry {}

struct Shape {
    class: usize,
    key_at: usize,
}

/// Sizes and offsets for a head word and a key and value length.
#[inline]
fn shape(head: u64, klen: usize, vlen: usize) -> Shape {
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
    Shape { class: size_class(at + klen + vlen), key_at: at }
}

impl Entry {
    /// A new string entry. `deadline` is in Unix milliseconds; `access` fills 24 bits.
    #[inline]
    pub fn string(key: &[u8], content: Content<'_>, deadline: Option<i64>, access: u32) -> Self {
        let content = settle(content);
        let head = head_for(key.len(), &content, deadline.is_some())
            | (u64::from(access) << ACCESS_SHIFT) & ACCESS_MASK;
        let s = shape(head, key.len(), inline_len(&content));
        let layout = Layout::from_size_align(s.class, 8).expect("lengths are below isize::MAX");
        // SAFETY: the size is at least 16.
        let ptr = unsafe { alloc(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        let mut e = Self(ptr);
        // SAFETY: all writes lie within the class that `shape` computed for these lengths.
        unsafe {
            std::ptr::copy_nonoverlapping(key.as_ptr(), ptr.as_ptr().add(s.key_at), key.len());
            e.write(head, key.len(), &s, content, deadline);
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
        s: &Shape,
        content: Content<'_>,
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
            match content {
                Content::Int(n) => {
                    p.add(at).cast::<i64>().write(n);
                    at += 8;
                }
                Content::Shared(a) => {
                    p.add(at).cast::<Arc<Vec<u8>>>().write(a);
                    at += 8;
                }
                Content::Bytes(v) => {
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
            _ => Enc::Shared,
        }
    }

    #[inline]
    fn shape(&self) -> Shape {
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

    /// The string value.
    #[inline]
    pub fn str(&self) -> Str<'_> {
        debug_assert!(self.kind() == Kind::String);
        match self.enc() {
            Enc::Inline => {
                let klen = self.klen();
                let s = shape(self.head(), klen, 0);
                // SAFETY: the value's bytes lie behind the key.
                Str::Inline(unsafe {
                    let at = self.0.as_ptr().add(s.key_at + klen);
                    std::slice::from_raw_parts(at, self.vlen())
                })
            }
            // SAFETY: the payload of this encoding is an integer.
            Enc::Int => Str::Int(unsafe { self.payload_ptr().cast::<i64>().read() }),
            // SAFETY: the payload of this encoding is an Arc.
            Enc::Shared => Str::Shared(unsafe { &*self.payload_ptr().cast::<Arc<Vec<u8>>>() }),
        }
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

    /// The inline bytes, to change in place.
    pub fn inline_mut(&mut self) -> Option<&mut [u8]> {
        if self.enc() != Enc::Inline {
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

    /// The name OBJECT ENCODING gives to this string.
    pub fn encoding_name(&self) -> &'static str {
        match self.str() {
            Str::Int(_) => "int",
            Str::Inline(b) if b.len() <= 44 && self.head() & RAW == 0 => "embstr",
            _ => "raw",
        }
    }

    /// Exchanges value and deadline, in place when the size class stays the same.
    #[inline]
    pub fn set(mut self, content: Content<'_>, deadline: Option<i64>) -> Self {
        let content = settle(content);
        let klen = self.klen();
        let old = self.shape();
        let head = head_for(klen, &content, deadline.is_some()) | self.head() & ACCESS_MASK;
        let new = shape(head, klen, inline_len(&content));
        if old.class != new.class {
            return Self::string(self.key(), content, deadline, self.access());
        }
        self.drop_payload();
        // SAFETY: both key ranges lie within the class, which has room for the new shape.
        unsafe {
            if old.key_at != new.key_at {
                let p = self.0.as_ptr();
                std::ptr::copy(p.add(old.key_at), p.add(new.key_at), klen);
            }
            self.write(head, klen, &new, content, deadline);
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
        let raw = self.head() & RAW;
        let mut new = match self.str() {
            Str::Int(n) => Self::string(self.key(), Content::Int(n), deadline, self.access()),
            Str::Inline(b) => Self::string(self.key(), Content::Bytes(b), deadline, self.access()),
            Str::Shared(a) => {
                Self::string(self.key(), Content::Shared(Arc::clone(a)), deadline, self.access())
            }
        };
        new.set_head(new.head() | raw);
        new
    }

    /// The same value under another key.
    pub fn with_key(&self, key: &[u8]) -> Self {
        let raw = self.head() & RAW;
        let content = match self.str() {
            Str::Int(n) => Content::Int(n),
            Str::Inline(b) => Content::Bytes(b),
            Str::Shared(a) => Content::Shared(Arc::clone(a)),
        };
        let mut new = Self::string(key, content, self.deadline(), self.access());
        new.set_head(new.head() | raw);
        new
    }

    /// Bytes this entry holds from the allocator.
    pub fn bytes(&self) -> usize {
        self.shape().class
            + match self.str() {
                Str::Shared(a) => size_class(a.capacity()) + size_class(40),
                _ => 0,
            }
    }

    /// Whether freeing takes long enough to be done off the path.
    pub fn is_big(&self) -> bool {
        matches!(self.str(), Str::Shared(a) if a.capacity() >= 1 << 16)
    }

    #[inline]
    fn drop_payload(&mut self) {
        if self.enc() == Enc::Shared {
            // SAFETY: the payload is an Arc, and is overwritten or freed next.
            drop(unsafe { self.payload_ptr().cast::<Arc<Vec<u8>>>().read() });
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
}

/// Chooses between inline and shared by length.
#[inline]
fn settle(content: Content<'_>) -> Content<'_> {
    match content {
        Content::Bytes(b) if b.len() > INLINE_MAX => Content::Shared(Arc::new(b.to_vec())),
        c => c,
    }
}

#[inline]
fn inline_len(content: &Content<'_>) -> usize {
    match content {
        Content::Bytes(b) => b.len(),
        _ => 0,
    }
}

#[inline]
fn head_for(klen: usize, content: &Content<'_>, expires: bool) -> u64 {
    let enc = match content {
        Content::Int(_) => Enc::Int,
        Content::Bytes(_) => Enc::Inline,
        Content::Shared(_) => Enc::Shared,
    };
    Kind::String as u64
        | (enc as u64) << ENCODING_SHIFT
        | if expires { EXPIRES } else { 0 }
        | (klen.min(KLEN_LONG) as u64) << KLEN_SHIFT
        | (inline_len(content) as u64) << VLEN_SHIFT
}
