//! A value of many allocations behind one thin pointer: big lists, sets, sorted sets, hashes and
//! streams.
//!
//! An entry's payload is eight bytes, so what it points at begins with a table of functions, and
//! the pointer alone is enough to free, measure or copy the value whatever its type.

#![expect(unsafe_code, reason = "a thin pointer to a value of erased type; run in Miri")]

use std::any::TypeId;
use std::ptr::NonNull;

use crate::kind::Kind;

/// Facts that every kind of big value gives about itself.
pub trait Value: Send + Sync + Sized + 'static {
    /// Its type.
    const KIND: Kind;

    /// Bytes it holds from the allocator beyond its own size; kept up to date, not computed.
    fn bytes(&self) -> usize;

    /// About how many allocations freeing it gives back.
    fn effort(&self) -> usize;

    /// The answer of OBJECT ENCODING.
    fn encoding_name(&self) -> &'static str;

    /// A copy (COPY).
    fn duplicate(&self) -> Self;

    /// A copy for a snapshot to write while this one goes on changing; nothing else may be asked of
    /// it. It is made while commands wait, so it shares what it can.
    fn freeze(&mut self) -> Self {
        self.duplicate()
    }

    /// The earliest deadline of a part of it (a hash's field), in Unix milliseconds.
    fn deadline(&self) -> Option<i64> {
        None
    }

    /// Hints the processor to load what a command about this part of it (a member, a field) will
    /// read. Of several parts, all are taken through one step before any is taken through the next,
    /// so that their cache misses overlap.
    fn prefetch(&self, _about: Named<'_>, _step: Step) {}
}

/// A member or a field that commands are about to be run for.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The hash of its name.
    pub hash: u64,
}

/// How far [`Value::prefetch`] looks. Every step reads what the one before it has loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the bucket of the hash table.
    Bucket,
    /// To what lies there.
    Node,
    /// To where that is in an order, if there is one.
    Place,
}

struct Functions {
    id: fn() -> TypeId,
    drop: unsafe fn(NonNull<u8>),
    bytes: unsafe fn(NonNull<u8>) -> usize,
    effort: unsafe fn(NonNull<u8>) -> usize,
    encoding_name: unsafe fn(NonNull<u8>) -> &'static str,
    duplicate: unsafe fn(NonNull<u8>) -> Big,
    freeze: unsafe fn(NonNull<u8>) -> Big,
    deadline: unsafe fn(NonNull<u8>) -> Option<i64>,
    prefetch: unsafe fn(NonNull<u8>, Named<'_>, Step),
}

#[repr(C)]
struct Cell<T> {
    functions: &'static Functions,
    value: T,
}

impl<T: Value> Cell<T> {
    const FUNCTIONS: &'static Functions = &Functions {
        id: TypeId::of::<T>,
        drop: Self::free,
        bytes: |p| stdx::mem::size_class(size_of::<Self>()) + Self::of(&p).value.bytes(),
        effort: |p| Self::of(&p).value.effort(),
        encoding_name: |p| Self::of(&p).value.encoding_name(),
        duplicate: |p| Big::new(Self::of(&p).value.duplicate()),
        freeze: Self::freeze,
        deadline: |p| Self::of(&p).value.deadline(),
        prefetch: |p, about, step| Self::of(&p).value.prefetch(about, step),
    };

    /// # Safety
    /// As [`of`](Self::of), and no code uses the pointer afterwards.
    unsafe fn free(p: NonNull<u8>) {
        // SAFETY: `new` leaked a box of this type.
        drop(unsafe { Box::from_raw(p.cast::<Self>().as_ptr()) });
    }

    /// # Safety
    /// As [`of`](Self::of), and no other borrow of the cell exists.
    unsafe fn freeze(p: NonNull<u8>) -> Big {
        // SAFETY: by the contract.
        Big::new(unsafe { p.cast::<Self>().as_mut() }.value.freeze())
    }

    /// The cell at `p`. Only called through the function table that lies there, which says that
    /// the cell is of this type; the borrow ends with the call.
    fn of(p: &NonNull<u8>) -> &Self {
        // SAFETY: see above.
        unsafe { p.cast::<Self>().as_ref() }
    }
}

/// An owned big value. See the module's text.
pub struct Big(NonNull<u8>);

// SAFETY: it owns a `T: Value`, which is Send and Sync.
unsafe impl Send for Big {}
// SAFETY: as above.
unsafe impl Sync for Big {}

impl Big {
    /// Takes a value in.
    pub fn new<T: Value>(value: T) -> Self {
        let cell = Box::new(Cell { functions: Cell::<T>::FUNCTIONS, value });
        Self(NonNull::from(Box::leak(cell)).cast())
    }

    fn functions(&self) -> &'static Functions {
        // SAFETY: every cell starts with this reference.
        unsafe { self.0.cast::<&'static Functions>().read() }
    }

    #[inline]
    fn is<T: Value>(&self) -> bool {
        // One address nearly always tells; there may be copies of a table of functions.
        let functions = self.functions();
        std::ptr::eq(functions, Cell::<T>::FUNCTIONS) || (functions.id)() == TypeId::of::<T>()
    }

    /// The value, if it is a `T`.
    #[inline]
    pub fn get<T: Value>(&self) -> Option<&T> {
        // SAFETY: the type was checked, and the borrow is that of `self`.
        self.is::<T>().then(|| unsafe { &self.0.cast::<Cell<T>>().as_ref().value })
    }

    /// The value, if it is a `T`, to change.
    #[inline]
    pub fn get_mut<T: Value>(&mut self) -> Option<&mut T> {
        // SAFETY: as above, and `&mut self` makes it the only borrow.
        self.is::<T>().then(|| unsafe { &mut self.0.cast::<Cell<T>>().as_mut().value })
    }

    /// Bytes held from the allocator, all included.
    pub fn bytes(&self) -> usize {
        // SAFETY: the function table belongs to what it lies in front of.
        unsafe { (self.functions().bytes)(self.0) }
    }

    /// See [`Value::effort`].
    pub fn effort(&self) -> usize {
        // SAFETY: as above.
        unsafe { (self.functions().effort)(self.0) }
    }

    /// See [`Value::encoding_name`].
    pub fn encoding_name(&self) -> &'static str {
        // SAFETY: as above.
        unsafe { (self.functions().encoding_name)(self.0) }
    }

    /// See [`Value::deadline`].
    pub fn deadline(&self) -> Option<i64> {
        // SAFETY: as above.
        unsafe { (self.functions().deadline)(self.0) }
    }

    /// See [`Value::prefetch`].
    #[inline]
    pub fn prefetch(&self, about: Named<'_>, step: Step) {
        // SAFETY: as above.
        unsafe { (self.functions().prefetch)(self.0, about, step) }
    }

    /// See [`Value::duplicate`].
    pub fn duplicate(&self) -> Self {
        // SAFETY: as above.
        unsafe { (self.functions().duplicate)(self.0) }
    }

    /// See [`Value::freeze`].
    pub fn freeze(&mut self) -> Self {
        // SAFETY: as above, and `&mut self` is the only borrow.
        unsafe { (self.functions().freeze)(self.0) }
    }
}

impl Drop for Big {
    fn drop(&mut self) {
        // SAFETY: as above, and this is the only owner.
        unsafe { (self.functions().drop)(self.0) }
    }
}
