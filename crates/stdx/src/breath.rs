//! Pauses within work that is one long call, such as dropping a value of a million parts.
//!
//! A thread that does such work and should not keep others from a core says what to do now and
//! then ([`each`]); the work itself only says when it could be done ([`breathe`]).

use std::cell::RefCell;

thread_local! {
    static BREATH: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// What this thread does from now on where work of its own says that it could pause.
pub fn each(f: impl FnMut() + 'static) {
    BREATH.set(Some(Box::new(f)));
}

/// Called by long work, after every few hundred parts. It holds nothing that others wait for, as far
/// as it knows.
pub fn breathe() {
    // A value may be dropped while the thread ends, or by what is done here.
    let _ = BREATH.try_with(|breath| {
        if let Ok(mut breath) = breath.try_borrow_mut()
            && let Some(f) = breath.as_mut()
        {
            f();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn only_the_thread_that_wants_to_is_told() {
        let n = Rc::new(Cell::new(0));
        breathe();
        let count = Rc::clone(&n);
        each(move || {
            count.set(count.get() + 1);
            breathe();
        });
        breathe();
        std::thread::spawn(breathe).join().expect("ended");
        assert_eq!(n.get(), 1);
    }
}
