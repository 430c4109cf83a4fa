//! The store of the page that this thread renders. The functions of templates are the same for all threads
//! and pages, so they find it here.
#![expect(unsafe_code, reason = "functions of templates are 'static, and a store is borrowed")]

use std::cell::Cell;
use std::ptr::NonNull;

use crate::Store;

thread_local! {
    static CURRENT: Cell<Option<NonNull<dyn Store>>> = const { Cell::new(None) };
}

/// Puts back what was there before, also when the stack unwinds.
struct Restore(Option<NonNull<dyn Store>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs `f`, in which [`with`] finds `store`.
pub(crate) fn enter<R>(store: &mut dyn Store, f: impl FnOnce() -> R) -> R {
    let pointer = NonNull::from(store);
    // SAFETY: only the lifetime differs. The pointer is in `CURRENT` until `_restore` is dropped, at the end of
    // this function, and `store` is borrowed for longer. Only `with` follows it, on this thread, during `f`.
    let pointer: NonNull<dyn Store + 'static> = unsafe { std::mem::transmute(pointer) };
    let _restore = Restore(CURRENT.replace(Some(pointer)));
    f()
}

/// Runs `f` with the present store; none outside of [`enter`], and within another `with`.
pub(crate) fn with<R>(f: impl FnOnce(&mut dyn Store) -> R) -> Option<R> {
    // It is taken out meanwhile, so that there is never a second reference to it.
    let mut pointer = CURRENT.take()?;
    let _restore = Restore(Some(pointer));
    // SAFETY: `enter` is on the stack below and has the only reference, which it does not use meanwhile.
    Some(f(unsafe { pointer.as_mut() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(u32);

    impl Store for Count {
        fn read(&mut self, _: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
            self.0 += 1;
            assert!(with(|_| ()).is_none(), "a second reference");
            Ok(Vec::new())
        }
    }

    #[test]
    fn the_store_is_found_inside_only() {
        let mut store = Count(0);
        assert!(with(|_| ()).is_none());
        enter(&mut store, || {
            assert!(with(|s| s.read(Vec::new())).is_some());
            let mut inner = Count(0);
            enter(&mut inner, || with(|s| s.read(Vec::new())));
            assert_eq!(inner.0, 1);
            assert!(with(|s| s.read(Vec::new())).is_some());
        });
        assert!(with(|_| ()).is_none());
        assert_eq!(store.0, 2);
    }
}
