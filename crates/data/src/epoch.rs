//! When memory is freed that threads look at without its lock: no sooner than every look has ended that was under way
//! when the memory became unreachable. A look begins with [`pin`] and ends with its [`Guard`].
//!
//! With `--cfg loom` this is a model of what `crossbeam-epoch` promises, as mean as it may be: what no pin protects is
//! gone at once. loom does not see memory itself. So the model knows the blocks that may be looked at
//! (`allocated`, `looked_at`, `freed`), each with a cell of loom's, which reports a look that the block's
//! initialisation does not happen before, or that does not happen before its end.

#[cfg(not(loom))]
pub use crossbeam_epoch::{Guard, pin};
#[cfg(loom)]
pub use model::{Guard, allocated, freed, looked_at, pin};

#[cfg(loom)]
#[expect(missing_docs, reason = "as `crossbeam-epoch` has them")]
mod model {
    use std::sync::{Arc, Mutex};

    use stdx::sync::loom::{self, cell::UnsafeCell};

    loom::lazy_static! {
        static ref PINS: loom::sync::Mutex<Pins> = Default::default();
        /// Not loom's lock: looking something up here must not order anything.
        static ref BLOCKS: Mutex<Vec<Block>> = Default::default();
    }

    type Deferred = Box<dyn FnOnce() + Send>;

    #[derive(Default)]
    struct Pins {
        /// The pins that have begun and not ended.
        under_way: Vec<u64>,
        last: u64,
        /// What is to be done when these pins have ended.
        deferred: Vec<(Vec<u64>, Deferred)>,
    }

    pub struct Guard(u64);

    pub fn pin() -> Guard {
        let mut pins = PINS.lock().expect("no model goes on behind a panic");
        pins.last += 1;
        let number = pins.last;
        pins.under_way.push(number);
        Guard(number)
    }

    impl Guard {
        /// # Safety
        /// As `crossbeam_epoch::Guard::defer_unchecked`.
        #[expect(unsafe_code, reason = "the interface of the original")]
        pub unsafe fn defer_unchecked(&self, f: impl FnOnce() + Send + 'static) {
            let mut pins = PINS.lock().expect("no model goes on behind a panic");
            let until = pins.under_way.clone();
            pins.deferred.push((until, Box::new(f)));
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            let mut pins = PINS.lock().expect("no model goes on behind a panic");
            pins.under_way.retain(|pin| *pin != self.0);
            pins.deferred.iter_mut().for_each(|(until, _)| until.retain(|pin| *pin != self.0));
            let due: Vec<_> = pins.deferred.extract_if(.., |(until, _)| until.is_empty()).collect();
            drop(pins);
            due.into_iter().for_each(|(_, f)| f());
        }
    }

    /// Memory that threads may look at without a lock. Its addresses are not used again.
    struct Block {
        base: usize,
        bytes: usize,
        is_freed: bool,
        content: Arc<UnsafeCell<()>>,
    }

    pub fn allocated(base: usize, bytes: usize) {
        // First: making the list would order what comes before it.
        let mut blocks = BLOCKS.lock().expect("no model goes on behind a panic");
        let content = Arc::new(UnsafeCell::new(()));
        content.with_mut(|_| ());
        blocks.push(Block { base, bytes, is_freed: false, content });
    }

    /// The content of the block at an address, of which `f` sees whether it has been freed.
    fn find(address: usize, f: impl FnOnce(&mut bool)) -> Arc<UnsafeCell<()>> {
        let mut blocks = BLOCKS.lock().expect("no model goes on behind a panic");
        let has = |block: &&mut Block| (block.base..block.base + block.bytes).contains(&address);
        let block = blocks.iter_mut().find(has).expect("the address of a block");
        f(&mut block.is_freed);
        Arc::clone(&block.content)
    }

    pub fn looked_at(address: usize) {
        let content = find(address, |is_freed| assert!(!*is_freed, "freed while it is looked at"));
        content.with(|_| ());
    }

    pub fn freed(base: usize) {
        let content = find(base, |is_freed| assert!(!std::mem::replace(is_freed, true)));
        content.with_mut(|_| ());
    }
}
