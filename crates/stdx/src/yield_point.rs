//! Pauses within work that is one long call, such as dropping a value of a million parts.
//!
//! The work says where it could pause: a yield point ([`reached`]). A thread that does such work and should
//! not keep others from a core says what happens at each of them ([`each`]).

use std::cell::RefCell;

thread_local! {
    static AT_YIELD_POINT: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// What this thread does from now on at each yield point of its work.
pub fn each(f: impl FnMut() + 'static) {
    AT_YIELD_POINT.set(Some(Box::new(f)));
}

/// A yield point: called by long work, after every few hundred parts. As far as the work knows, it has locked
/// nothing that others wait for.
pub fn reached() {
    // A value may be dropped while the thread ends, or by what is done here.
    let _ = AT_YIELD_POINT.try_with(|at| {
        if let Ok(mut at) = at.try_borrow_mut()
            && let Some(f) = at.as_mut()
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
        reached();
        let count = Rc::clone(&n);
        each(move || {
            count.set(count.get() + 1);
            reached();
        });
        reached();
        std::thread::spawn(reached).join().expect("ended");
        assert_eq!(n.get(), 1);
    }
}
