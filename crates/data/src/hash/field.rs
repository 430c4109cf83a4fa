//! A field of a big hash: head, deadline if any, name and value in one allocation.
//!
//! ```text
//!  ┌────────────────────────────┬─────────────────┬──────────────────┬──────┬─────────────────┐
//!  │ head, 8 bytes              │ deadline, 8     │ pointer, 8       │ name │ value           │
//!  │ flags 2 · vlen 14 · nlen 48│ if EXPIRES      │ if OUTSIDE       │      │ unless OUTSIDE  │
//!  └────────────────────────────┴─────────────────┴──────────────────┴──────┴─────────────────┘
//! ```
//!
//! Values of up to [`INLINE_MAX`] bytes lie behind the name. Longer ones are an `Arc<Vec<u8>>`, so
//! that a reply can hold on to the bytes while they go out. The allocation is always exactly one
//! size class, so that a new value of the same class is written over the old one.

#![expect(unsafe_code, reason = "variable-length layout behind one thin pointer; fuzzed")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::Arc;

use stdx::mem::size_class;

use super::Value;
use crate::entry::INLINE_MAX;
use crate::table::{Node, Slot};

const EXPIRES: u64 = 1;
const OUTSIDE: u64 = 2;
const VLEN_SHIFT: u32 = 2;
const VLEN_MASK: u64 = (1 << 14) - 1;
const NLEN_SHIFT: u32 = 16;

/// See the module's text.
#[repr(transparent)]
pub(super) struct Field(NonNull<u8>);

// SAFETY: a field owns its bytes; the only shared part is an `Arc<Vec<u8>>`.
unsafe impl Send for Field {}
// SAFETY: `&Field` only reads.
unsafe impl Sync for Field {}

/// The bytes behind the name.
enum Fill<'a> {
    Inline(&'a [u8]),
    Outside(Arc<Vec<u8>>),
}

impl<'a> Fill<'a> {
    fn of(value: &Value<'a>, buf: &'a mut [u8; stdx::num::I64_LEN_MAX]) -> Self {
        match *value {
            Value::Shared(a) if a.len() > INLINE_MAX => Fill::Outside(Arc::clone(a)),
            Value::Shared(a) => Fill::Inline(a),
            Value::Bytes(b) if b.len() > INLINE_MAX => Fill::Outside(Arc::new(b.to_vec())),
            Value::Bytes(b) => Fill::Inline(b),
            Value::Int(n) => Fill::Inline(stdx::num::fmt_i64(buf, n)),
        }
    }
}

fn head_of(nlen: usize, fill: &Fill<'_>, deadline: Option<i64>) -> u64 {
    let (flag, vlen) = match fill {
        Fill::Inline(b) => (0, b.len()),
        Fill::Outside(_) => (OUTSIDE, 0),
    };
    let expires = if deadline.is_some() { EXPIRES } else { 0 };
    (nlen as u64) << NLEN_SHIFT | (vlen as u64) << VLEN_SHIFT | flag | expires
}

/// Offset of the name and bytes of the allocation.
fn shape(head: u64) -> (usize, usize) {
    let at = 8 + 8 * (head & 1) as usize + 8 * (head >> 1 & 1) as usize;
    let vlen = (head >> VLEN_SHIFT & VLEN_MASK) as usize;
    (at, size_class(at + (head >> NLEN_SHIFT) as usize + vlen))
}

fn layout(class: usize) -> Layout {
    // SAFETY: a power of two, and slices that exist are what the size was made from.
    unsafe { Layout::from_size_align_unchecked(class, 8) }
}

impl Field {
    pub(super) fn new(name: &[u8], value: &Value<'_>, deadline: Option<i64>) -> Self {
        let mut buf = [0; stdx::num::I64_LEN_MAX];
        let fill = Fill::of(value, &mut buf);
        let head = head_of(name.len(), &fill, deadline);
        let (at, class) = shape(head);
        // SAFETY: the size is at least 16.
        let ptr = unsafe { alloc(layout(class)) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout(class)) };
        let mut field = Self(ptr);
        // SAFETY: all writes lie within the class that `shape` computed for these lengths.
        unsafe {
            std::ptr::copy_nonoverlapping(name.as_ptr(), ptr.as_ptr().add(at), name.len());
            field.write(head, fill, deadline);
        }
        field
    }

    /// Writes everything but the name.
    ///
    /// # Safety
    /// The allocation has the class of `head`, its name is where `head` says, and no live pointer
    /// is in it.
    unsafe fn write(&mut self, head: u64, fill: Fill<'_>, deadline: Option<i64>) {
        let p = self.0.as_ptr();
        let (at, _) = shape(head);
        // SAFETY: by the contract the offsets lie inside the allocation; the fields of 8 bytes come
        // first and are aligned.
        unsafe {
            p.cast::<u64>().write(head);
            if let Some(d) = deadline {
                p.add(8).cast::<i64>().write(d);
            }
            match fill {
                Fill::Inline(b) => {
                    let to = p.add(at + (head >> NLEN_SHIFT) as usize);
                    std::ptr::copy_nonoverlapping(b.as_ptr(), to, b.len());
                }
                Fill::Outside(a) => p.add(at - 8).cast::<Arc<Vec<u8>>>().write(a),
            }
        }
    }

    fn head(&self) -> u64 {
        // SAFETY: every field starts with its head.
        unsafe { self.0.as_ptr().cast::<u64>().read() }
    }

    /// The bytes from offset `at` on.
    fn slice(&self, at: usize, len: usize) -> &[u8] {
        // SAFETY: only called with ranges that the head says were written.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(at), len) }
    }

    pub(super) fn name(&self) -> &[u8] {
        let head = self.head();
        self.slice(shape(head).0, (head >> NLEN_SHIFT) as usize)
    }

    pub(super) fn value(&self) -> Value<'_> {
        let head = self.head();
        match self.outside() {
            Some(a) => Value::Shared(a),
            None => {
                let at = shape(head).0 + (head >> NLEN_SHIFT) as usize;
                Value::Bytes(self.slice(at, (head >> VLEN_SHIFT & VLEN_MASK) as usize))
            }
        }
    }

    fn outside(&self) -> Option<&Arc<Vec<u8>>> {
        let head = self.head();
        // SAFETY: the flag says that the pointer is there, right before the name.
        (head & OUTSIDE != 0).then(|| unsafe { &*self.0.as_ptr().add(shape(head).0 - 8).cast() })
    }

    pub(super) fn deadline(&self) -> Option<i64> {
        // SAFETY: the flag says that the field is there.
        (self.head() & EXPIRES != 0).then(|| unsafe { self.0.as_ptr().add(8).cast::<i64>().read() })
    }

    /// The same name with another value and deadline, in place when the shape stays the same.
    pub(super) fn with(mut self, value: &Value<'_>, deadline: Option<i64>) -> Self {
        let mut buf = [0; stdx::num::I64_LEN_MAX];
        let old = self.head();
        let fill = Fill::of(value, &mut buf);
        let head = head_of((old >> NLEN_SHIFT) as usize, &fill, deadline);
        if shape(head) != shape(old) || (head ^ old) & (EXPIRES | OUTSIDE) != 0 {
            return Self::new(self.name(), value, deadline);
        }
        self.drop_outside();
        // SAFETY: same class, same place of the name, and the pointer was dropped.
        unsafe { self.write(head, fill, deadline) };
        self
    }

    /// The same with another deadline.
    pub(super) fn with_deadline(self, deadline: Option<i64>) -> Self {
        if let (Some(d), true) = (deadline, self.head() & EXPIRES != 0) {
            // SAFETY: the flag says that the field is there.
            unsafe { self.0.as_ptr().add(8).cast::<i64>().write(d) };
            return self;
        }
        Self::new(self.name(), &self.value(), deadline)
    }

    /// Bytes it holds from the allocator.
    pub(super) fn bytes(&self) -> usize {
        let outside = self.outside().map_or(0, |a| size_class(a.capacity()) + size_class(40));
        shape(self.head()).1 + outside
    }

    /// Name and value of a borrowed field, for as long as its table is borrowed.
    pub(super) fn parts<'t>(slot: &Slot<'t, Self>) -> (&'t [u8], Value<'t>) {
        // SAFETY: both lie in the field's allocation and not in the slot; the table owns that, and
        // leaves it as it is while it is borrowed.
        unsafe {
            (
                std::mem::transmute::<&[u8], &'t [u8]>(slot.name()),
                std::mem::transmute::<Value<'_>, Value<'t>>(slot.value()),
            )
        }
    }

    fn drop_outside(&mut self) {
        if self.head() & OUTSIDE != 0 {
            let at = shape(self.head()).0 - 8;
            // SAFETY: the pointer is there, and is overwritten or freed next.
            drop(unsafe { self.0.as_ptr().add(at).cast::<Arc<Vec<u8>>>().read() });
        }
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        let class = shape(self.head()).1;
        self.drop_outside();
        // SAFETY: the field was allocated with exactly this layout, whatever was set since.
        unsafe { dealloc(self.0.as_ptr(), layout(class)) }
    }
}

// SAFETY: the pointer comes from the allocator with 8-byte alignment, and the hash depends on the
// name only, which never changes.
unsafe impl Node for Field {
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
        stdx::hash::hash64(self.name())
    }

    fn duplicate(&self) -> Self {
        Self::new(self.name(), &self.value(), self.deadline())
    }
}
