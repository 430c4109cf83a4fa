//! Looking at a script: whether its memory still fits, and whether the host wants it to end.
//!
//! Lua looks every so many instructions (the hook), and loops over input of any size here do so themselves
//! ([`Stack::look`]).

#![expect(unsafe_code, reason = "calls Lua's C interface")]

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mlua_sys as ffi;
use mlua_sys::lua_State;

use crate::host::Tick;
use crate::raw::{Raise, Stack};
use crate::refusal::push_refusal;
use crate::state::{Ending, KILLED, SHUTDOWN};

unsafe extern "C" {
    // See c/apus.h.
    fn apus_due(l: *mut lua_State, n: usize) -> c_int;
}

impl Stack {
    /// Fails when there is no memory left, or the script is to end: to be asked in loops over input.
    pub(crate) fn check_memory(self) -> Result<(), Raise> {
        self.look(8)?;
        if self.has_memory() { Ok(()) } else { Err(Raise::text("not enough memory")) }
    }

    /// Counts work of so many instructions, and looks at the script if it is time to: an error when it is to
    /// end.
    #[inline]
    pub(crate) fn look(self, n: usize) -> Result<(), Raise> {
        let l = self.pointer_itself();
        // SAFETY: a living state.
        if unsafe { apus_due(l, n) } != 0 && prepare_end(l) {
            return Err(Raise::Top);
        }
        Ok(())
    }
}

/// The instruction hook: asks the host whether the script goes on.
pub(crate) unsafe extern "C-unwind" fn hook(l: *mut lua_State, _: *mut ffi::lua_Debug) {
    if prepare_end(l) {
        // SAFETY: the error is on top, and this frame owns nothing.
        unsafe { ffi::lua_error(l) };
    }
}

/// Whether the script ends here; its error is on top of the stack then.
fn prepare_end(l: *mut lua_State) -> bool {
    // SAFETY: Lua calls with its living state.
    let s = unsafe { Stack::new(l) };
    let grace = s.state().memory.set_grace(true);
    let state = s.state();
    let mut end = state.aborted || state.ending != Ending::No;
    if !end && let Some(host) = state.host() {
        match catch_unwind(AssertUnwindSafe(|| host.tick())) {
            Ok(Tick::Continue) => {}
            Ok(Tick::Kill) => {
                s.state().ending = Ending::Killed;
                end = true;
            }
            Ok(Tick::Shutdown) => {
                s.state().ending = Ending::Shutdown;
                end = true;
            }
            Err(panic) => {
                s.state().panic = Some(panic);
                s.state().aborted = true;
                end = true;
            }
        }
    }
    if end {
        s.hook_lines();
        if s.state().aborted || !s.room(8) {
            s.push_bytes("the script was ended");
        } else if s.state().loading {
            push_refusal(s, b"FUNCTION LOAD timeout", false);
        } else if s.state().ending == Ending::Shutdown {
            push_refusal(s, SHUTDOWN, false);
        } else {
            push_refusal(s, KILLED, false);
        }
    }
    s.state().memory.set_grace(grace);
    end
}
