//! The locks and atomics of protocols between threads that loom checks.
//!
//! Ordinarily these are those of `parking_lot` and `std`. With `--cfg loom` they are loom's, and a
//! test in a module named `model` (`cargo xtask test --only model`) runs the same code under every
//! order of its steps, up to a number of preemptions, with every value that a load may see. loom knows
//! sequentially consistent fences, but takes a sequentially consistent access for an acquiring or
//! releasing one: where the order of a store and a load of something else matters, say so with a
//! [`fence`].

#[cfg(not(loom))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RawMutex, RwLock};
#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence},
    thread::yield_now,
};

#[cfg(loom)]
pub use loom::{
    self,
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence},
    // Under loom, a spinning thread yields: the condition that it waits for needs the others.
    thread::{yield_now, yield_now as spin_loop},
};
#[cfg(loom)]
pub use model::{Condvar, Mutex, MutexGuard, RawMutex, RwLock, check};

/// A lock without data, unlocked.
#[cfg(not(loom))]
pub const fn raw_mutex() -> RawMutex {
    <RawMutex as lock_api::RawMutex>::INIT
}

/// A lock without data, unlocked.
#[cfg(loom)]
pub fn raw_mutex() -> RawMutex {
    RawMutex::default()
}

/// `parking_lot`'s interface to loom's locks.
#[cfg(loom)]
#[expect(missing_docs, reason = "as `parking_lot` has them")]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    const POISONED: &str = "a thread that panics ends the model";

    /// Runs `f` in every order that has no more than so many preemptions. Panics when one of them ends
    /// in a panic, in a deadlock or in a race.
    pub fn check(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.max_branches = 20_000;
        builder.check(f);
    }

    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    /// The guard is missing while a condition is waited for.
    pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>, &'a Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(data: T) -> Self {
            Self(loom::sync::Mutex::new(data))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect(POISONED)), self)
        }

        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok().map(|guard| MutexGuard(Some(guard), self))
        }

        /// To loom, patience is over at once.
        pub fn try_lock_for(&self, _: Duration) -> Option<MutexGuard<'_, T>> {
            self.try_lock()
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_deref().expect("locked")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_deref_mut().expect("locked")
        }
    }

    #[derive(Debug, Default)]
    pub struct Condvar(loom::sync::Condvar);

    impl Condvar {
        pub fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let inner = guard.0.take().expect("locked");
            guard.0 = Some(self.0.wait(inner).expect(POISONED));
        }

        /// Under loom, the time is over when the others have had a turn: no thread may rely on being
        /// woken before.
        pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
            drop(guard.0.take());
            loom::thread::yield_now();
            *guard = guard.1.lock();
        }

        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A lock without data.
    #[derive(Debug, Default)]
    pub struct RawMutex {
        is_locked: Mutex<bool>,
        unlocked: Condvar,
    }

    #[expect(unsafe_code, reason = "the interface of the original")]
    impl RawMutex {
        pub fn try_lock(&self) -> bool {
            !std::mem::replace(&mut *self.is_locked.lock(), true)
        }

        /// To loom, patience is endless: a deadlock is found all the same.
        pub fn try_lock_for(&self, _: Duration) -> bool {
            let mut is_locked = self.is_locked.lock();
            while *is_locked {
                self.unlocked.wait(&mut is_locked);
            }
            *is_locked = true;
            true
        }

        /// # Safety
        /// The caller has locked it.
        pub unsafe fn unlock(&self) {
            *self.is_locked.lock() = false;
            self.unlocked.notify_one();
        }
    }

    #[derive(Debug, Default)]
    pub struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub fn read(&self) -> loom::sync::RwLockReadGuard<'_, T> {
            self.0.read().expect(POISONED)
        }

        pub fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
            self.0.write().expect(POISONED)
        }
    }
}
