//! Functions of the string library that match patterns.
//!
//! Lua 5.1 matches recursively, once for every repetition and capture of the pattern: one with a
//! million of them would run over the end of the C stack. So their number is bounded. How long a match takes is
//! not, but it can be ended: its steps count as instructions (build.rs).

#![expect(unsafe_code, reason = "guards call functions of C")]

use std::ffi::c_int;

use mlua_sys as ffi;
use mlua_sys::lua_State;

use crate::raw::Stack;

/// Repetitions and captures of a pattern: some hundred bytes of C stack each.
const RECURSION_MAX: usize = 1000;

fn is_too_deep(s: Stack) -> bool {
    let pattern = s.string(2).unwrap_or(&[]);
    pattern.len() > RECURSION_MAX
        && pattern.iter().filter(|c| b"?*+-()".contains(c)).count() > RECURSION_MAX
}

macro_rules! guards {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C-unwind" fn $name(l: *mut lua_State) -> c_int {
            // SAFETY: Lua calls with its living state; this frame owns nothing when an error is
            // raised.
            unsafe {
                let s = Stack::new(l);
                if is_too_deep(s) {
                    return ffi::luaL_error(l, c"pattern too complex".as_ptr());
                }
                if s.check_c_stack().is_err() {
                    return ffi::luaL_error(l, c"C stack overflow".as_ptr());
                }
                match s.state().natives.$name {
                    Some(f) => f(l),
                    None => 0,
                }
            }
        }
    )*};
}

guards!(find matches gmatch gsub);
