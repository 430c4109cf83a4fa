//! The stack of a Lua state, and how functions in Rust are called from Lua.
//!
//! Lua reports errors with `longjmp`, which runs no destructors. So Rust code here never lets Lua
//! raise an error through it:
//!
//! - A function for Lua is a `fn(Stack) -> Returned`. It returns its error ([`Raise`]), and only the
//!   *trampoline* around it, whose frame owns nothing, hands that to Lua.
//! - The functions of [`Stack`] are those of Lua's interface that cannot fail when used as said here:
//!   raw access to tables, no metamethods, keys that are neither nil nor NaN. The one failure that
//!   every allocation could have, lack of memory, is off while Rust code runs
//!   ([`Memory::grace`](crate::memory::Memory)): the limit is enforced by the next allocation that
//!   Lua itself makes. Loops over input of any size ask [`Stack::has_memory`].
//! - Lua code that Rust calls runs protected ([`Stack::protected_call`]).
//!
//! Contract of this module's users (this crate alone): an index given is that of a value on the
//! stack or of an argument that may be missing; [`Stack::room`] comes before more than 20 values are
//! pushed; bytes borrowed from a value are not used after it has left the stack or its table.

#![expect(unsafe_code, reason = "calls Lua's C interface")]

use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use mlua_sys as ffi;
use mlua_sys::lua_State;
use stdx::carried::carried;

use crate::state::{Kept, Native, State};

/// Types of values, as `lua_type` numbers them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LuaType {
    None,
    Nil,
    Boolean,
    Light,
    Number,
    String,
    Table,
    Function,
    Userdata,
    Thread,
}

/// Why a function stops with an error.
#[derive(Debug)]
pub(crate) enum Raise {
    /// A text, in front of which comes the place of the call, as of `luaL_error`. Bytes that it quotes
    /// from a script are carried ([`stdx::carried`]).
    Text(Cow<'static, str>),
    /// The fault of the argument with this number, as of `luaL_argerror`.
    Arg(usize, Cow<'static, str>),
    /// The value on top of the stack.
    Top,
}

impl Raise {
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn arg(n: usize, text: impl Into<Cow<'static, str>>) -> Self {
        Self::Arg(n, text.into())
    }
}

/// How many values a function leaves on top of the stack as its results, or its error.
pub(crate) type Returned = Result<usize, Raise>;

/// See the module's text.
#[derive(Clone, Copy)]
pub(crate) struct Stack(*mut lua_State);

impl Stack {
    /// The state itself.
    #[inline]
    pub(crate) fn pointer_itself(self) -> *mut lua_State {
        self.0
    }
}

/// C stack that a script may use, in bytes, where it is checked. Between two checks there are at
/// most 200 calls of C functions with small frames; threads have 2 MiB at least.
const STACK_MAX: usize = 768 << 10;

/// The pseudo-index of upvalue `n` of the running function.
pub(crate) const fn upvalue(n: c_int) -> c_int {
    ffi::lua_upvalueindex(n)
}

pub(crate) const REGISTRY: c_int = ffi::LUA_REGISTRYINDEX;
pub(crate) const GLOBALS: c_int = ffi::LUA_GLOBALSINDEX;

/// Results of a protected call: all of them.
pub(crate) const ALL: c_int = ffi::LUA_MULTRET;

impl Stack {
    /// # Safety
    /// `l` is a living state made by [`crate::vm`].
    pub(crate) unsafe fn new(l: *mut lua_State) -> Self {
        Self(l)
    }

    /// The state's own record.
    #[inline]
    pub(crate) fn state<'a>(self) -> &'a mut State {
        // SAFETY: every state here was made with its `State` as the allocator's datum; the record
        // outlives the Lua state. Callers hold the reference for one access and call nothing
        // meanwhile that makes another.
        unsafe { &mut *self.datum().cast::<State>() }
    }

    /// Whether the memory limit still leaves room.
    pub(crate) fn has_memory(self) -> bool {
        self.state().memory.fits()
    }
}

unsafe extern "C" {
    // See c/apus.h.
    static mut apus_seed: [u64; 3];
    fn apus_charge(l: *mut lua_State, n: usize);
}

/// Chooses the seed of string hashes, once, before the first state is made.
pub(crate) fn seed() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let mut bytes = [0; 24];
        if stdx::rng::fill_from_os(&mut bytes).is_ok() {
            let (words, _) = bytes.as_chunks::<8>();
            let seed = [0, 1, 2].map(|i| u64::from_ne_bytes(words[i]) | 1);
            // SAFETY: no state is there yet, and nothing else reads or writes it.
            unsafe { (&raw mut apus_seed).write(seed) };
        }
    });
}

// SAFETY (of all blocks below): the contract in the module's text.
#[expect(
    clippy::undocumented_unsafe_blocks,
    reason = "one argument for all: the module's contract"
)]
impl Stack {
    #[inline]
    pub(crate) fn top(self) -> usize {
        unsafe { ffi::lua_gettop(self.0) as usize }
    }

    /// Counts work of so many instructions: the script is looked at the sooner.
    pub(crate) fn charge(self, n: usize) {
        unsafe { apus_charge(self.0, n) }
    }

    #[inline]
    pub(crate) fn set_top(self, n: usize) {
        unsafe { ffi::lua_settop(self.0, n as c_int) }
    }

    #[inline]
    pub(crate) fn pop(self, n: usize) {
        unsafe { ffi::lua_settop(self.0, -(n as c_int) - 1) }
    }

    /// Whether `n` more values may be pushed.
    #[inline]
    pub(crate) fn room(self, n: usize) -> bool {
        c_int::try_from(n).is_ok_and(|n| unsafe { ffi::lua_checkstack(self.0, n) } != 0)
    }

    #[inline]
    pub(crate) fn kind(self, i: c_int) -> LuaType {
        match unsafe { ffi::lua_type(self.0, i) } {
            ffi::LUA_TNIL => LuaType::Nil,
            ffi::LUA_TBOOLEAN => LuaType::Boolean,
            ffi::LUA_TLIGHTUSERDATA => LuaType::Light,
            ffi::LUA_TNUMBER => LuaType::Number,
            ffi::LUA_TSTRING => LuaType::String,
            ffi::LUA_TTABLE => LuaType::Table,
            ffi::LUA_TFUNCTION => LuaType::Function,
            ffi::LUA_TUSERDATA => LuaType::Userdata,
            ffi::LUA_TTHREAD => LuaType::Thread,
            _ => LuaType::None,
        }
    }

    pub(crate) fn type_name(self, i: c_int) -> &'static str {
        match self.kind(i) {
            LuaType::None => "no value",
            LuaType::Nil => "nil",
            LuaType::Boolean => "boolean",
            LuaType::Light | LuaType::Userdata => "userdata",
            LuaType::Number => "number",
            LuaType::String => "string",
            LuaType::Table => "table",
            LuaType::Function => "function",
            LuaType::Thread => "thread",
        }
    }

    #[inline]
    pub(crate) fn push_value(self, i: c_int) {
        unsafe { ffi::lua_pushvalue(self.0, i) }
    }

    pub(crate) fn insert(self, i: c_int) {
        unsafe { ffi::lua_insert(self.0, i) }
    }

    pub(crate) fn remove(self, i: c_int) {
        unsafe { ffi::lua_remove(self.0, i) }
    }

    pub(crate) fn replace(self, i: c_int) {
        unsafe { ffi::lua_replace(self.0, i) }
    }

    /// The value as a number; 0 when it is none.
    #[inline]
    pub(crate) fn number(self, i: c_int) -> f64 {
        unsafe { ffi::lua_tonumber(self.0, i) }
    }

    /// Whether the value is a number, or a string that reads as one.
    pub(crate) fn is_number(self, i: c_int) -> bool {
        unsafe { ffi::lua_isnumber(self.0, i) != 0 }
    }

    pub(crate) fn boolean(self, i: c_int) -> bool {
        unsafe { ffi::lua_toboolean(self.0, i) != 0 }
    }

    /// The bytes of a string or of a number, which becomes a string in its place.
    #[inline]
    pub(crate) fn bytes<'a>(self, i: c_int) -> Option<&'a [u8]> {
        let mut n = 0;
        unsafe {
            let p = ffi::lua_tolstring(self.0, i, &raw mut n);
            (!p.is_null()).then(|| std::slice::from_raw_parts(p.cast(), n))
        }
    }

    /// The bytes of a string, of nothing else.
    #[inline]
    pub(crate) fn string<'a>(self, i: c_int) -> Option<&'a [u8]> {
        if self.kind(i) == LuaType::String { self.bytes(i) } else { None }
    }

    pub(crate) fn is_null(self, i: c_int) -> bool {
        self.kind(i) == LuaType::Light && unsafe { ffi::lua_touserdata(self.0, i) }.is_null()
    }

    pub(crate) fn pointer(self, i: c_int) -> usize {
        unsafe { ffi::lua_topointer(self.0, i) }.addr()
    }

    #[inline]
    pub(crate) fn length(self, i: c_int) -> usize {
        unsafe { ffi::lua_objlen(self.0, i) }
    }

    pub(crate) fn push_nil(self) {
        unsafe { ffi::lua_pushnil(self.0) }
    }

    pub(crate) fn push_bool(self, b: bool) {
        unsafe { ffi::lua_pushboolean(self.0, c_int::from(b)) }
    }

    #[inline]
    pub(crate) fn push_number(self, n: f64) {
        unsafe { ffi::lua_pushnumber(self.0, n) }
    }

    #[inline]
    pub(crate) fn push_bytes(self, b: impl AsRef<[u8]>) {
        let b = b.as_ref();
        unsafe { ffi::lua::lua_pushlstring_(self.0, b.as_ptr().cast(), b.len()) }
    }

    /// The light userdata that stands for JSON's null.
    pub(crate) fn push_null(self) {
        unsafe { ffi::lua_pushlightuserdata(self.0, std::ptr::null_mut()) }
    }

    #[inline]
    pub(crate) fn new_table(self, array: usize, fields: usize) {
        let most = |n: usize| n.min(1 << 24) as c_int;
        unsafe { ffi::lua_createtable(self.0, most(array), most(fields)) }
    }

    /// Replaces the key on top by its value in the table at `i`.
    #[inline]
    pub(crate) fn raw_get(self, i: c_int) {
        unsafe { ffi::lua::lua_rawget_(self.0, i) }
    }

    /// Sets the key below the top to the value on top, in the table at `i`; pops both. The key must
    /// be neither nil nor NaN.
    #[inline]
    pub(crate) fn raw_set(self, i: c_int) {
        unsafe { ffi::lua_rawset(self.0, i) }
    }

    /// Whether the value at `i` may be the key of a table.
    pub(crate) fn is_key(self, i: c_int) -> bool {
        match self.kind(i) {
            LuaType::None | LuaType::Nil => false,
            LuaType::Number => !self.number(i).is_nan(),
            _ => true,
        }
    }

    #[inline]
    pub(crate) fn raw_get_at(self, i: c_int, n: usize) {
        unsafe { ffi::lua::lua_rawgeti_(self.0, i, n as c_int) }
    }

    pub(crate) fn raw_get_int(self, i: c_int, n: c_int) {
        unsafe { ffi::lua::lua_rawgeti_(self.0, i, n) }
    }

    #[inline]
    pub(crate) fn raw_set_at(self, i: c_int, n: usize) {
        unsafe { ffi::lua::lua_rawseti_(self.0, i, n as c_int) }
    }

    /// Pushes a field of the table at `i`, which is not relative to the top.
    pub(crate) fn field(self, i: c_int, name: &str) {
        self.push_bytes(name);
        self.raw_get(if i < 0 && i > REGISTRY { i - 1 } else { i });
    }

    /// Sets a field of the table at `i` to the value on top, and pops it.
    pub(crate) fn set_field(self, i: c_int, name: &str) {
        self.push_bytes(name);
        self.insert(-2);
        self.raw_set(if i < 0 && i > REGISTRY { i - 1 } else { i });
    }

    /// Sets a field of the table on top to a function.
    pub(crate) fn set_function<F: Function>(self, name: &str, f: F) {
        self.push_function(f);
        self.set_field(-2, name);
    }

    /// Replaces the key on top by the next pair of the table at `i`; pops it when there is none.
    /// The table must not have got new keys since the key was taken from it.
    #[inline]
    pub(crate) fn next(self, i: c_int) -> bool {
        unsafe { ffi::lua_next(self.0, i) != 0 }
    }

    pub(crate) fn get_metatable(self, i: c_int) -> bool {
        unsafe { ffi::lua_getmetatable(self.0, i) != 0 }
    }

    /// Sets the table on top as the metatable of the value at `i`, and pops it.
    pub(crate) fn set_metatable(self, i: c_int) {
        unsafe {
            ffi::lua_setmetatable(self.0, i);
        }
    }

    pub(crate) fn concat(self, n: usize) {
        unsafe { ffi::lua_concat(self.0, n as c_int) }
    }

    pub(crate) fn native(self, i: c_int) -> Option<Native> {
        unsafe { ffi::lua_tocfunction(self.0, i) }
    }

    pub(crate) fn push_native(self, f: Native) {
        unsafe { ffi::lua_pushcclosure(self.0, f, 0) }
    }

    pub(crate) fn push_function<F: Function>(self, f: F) {
        self.push_closure(f, 0);
    }

    /// A function with the `n` values on top as its upvalues.
    pub(crate) fn push_closure<F: Function>(self, _: F, n: c_int) {
        const { assert!(size_of::<F>() == 0, "functions only, no closures with state") };
        unsafe { ffi::lua_pushcclosure(self.0, trampoline::<F>, n) }
    }

    /// Calls the function below the `args` values on top, with errors caught: `Err` when there was
    /// one, which is then on top.
    pub(crate) fn protected_call(
        self,
        args: usize,
        results: c_int,
        handler: c_int,
    ) -> Result<(), c_int> {
        let grace = self.state().memory.set_grace(false);
        let status = unsafe { ffi::lua_pcall(self.0, args as c_int, results, handler) };
        self.state().memory.set_grace(grace);
        if status == ffi::LUA_OK { Ok(()) } else { Err(status) }
    }

    /// The same for a function that is called before any script: opens a library.
    pub(crate) fn protected_call_unlimited(self, args: usize, results: c_int) -> c_int {
        unsafe { ffi::lua_pcall(self.0, args as c_int, results, 0) }
    }

    /// Compiles a text into a function on top of the stack; an error leaves its message there.
    /// Text only: precompiled code, which can break the virtual machine, is refused.
    pub(crate) fn compile(self, text: &[u8], name: &CStr) -> Result<(), ()> {
        if text.first() == Some(&0x1b) {
            self.push_bytes("precompiled code is not allowed");
            return Err(());
        }
        let grace = self.state().memory.set_grace(false);
        let status = unsafe {
            // The parser of Lua 5.1 keeps objects where the collector does not see them
            // (CVE-2025-49844), so nothing is collected while it works.
            ffi::lua_gc(self.0, ffi::LUA_GCSTOP, 0);
            let status =
                ffi::luaL_loadbuffer(self.0, text.as_ptr().cast(), text.len(), name.as_ptr());
            ffi::lua_gc(self.0, ffi::LUA_GCRESTART, 0);
            status
        };
        self.state().memory.set_grace(grace);
        if status == ffi::LUA_OK { Ok(()) } else { Err(()) }
    }

    pub(crate) fn collect(self) {
        unsafe {
            ffi::lua_gc(self.0, ffi::LUA_GCCOLLECT, 0);
        }
    }

    pub(crate) fn collect_step(self, size: c_int) -> bool {
        unsafe { ffi::lua_gc(self.0, ffi::LUA_GCSTEP, size) != 0 }
    }

    /// A collection begins when memory has grown to so many percent of the rest after the last one.
    pub(crate) fn set_pause(self, percent: c_int) {
        unsafe {
            ffi::lua_gc(self.0, ffi::LUA_GCSETPAUSE, percent);
        }
    }

    /// Bytes that the garbage collector counts.
    pub(crate) fn collectable(self) -> usize {
        unsafe {
            let kb = ffi::lua_gc(self.0, ffi::LUA_GCCOUNT, 0) as usize;
            kb * 1024 + ffi::lua_gc(self.0, ffi::LUA_GCCOUNTB, 0) as usize
        }
    }

    /// Keeps the value on top, and pops it.
    pub(crate) fn keep(self) -> Kept {
        Kept(unsafe { ffi::luaL_ref(self.0, REGISTRY) })
    }

    /// Sets the table on top as the globals of the Lua function at `i`, and pops it.
    pub(crate) fn set_globals(self, i: c_int) {
        unsafe {
            ffi::lua_setfenv(self.0, i);
        }
    }

    #[inline]
    pub(crate) fn push_kept(self, k: &Kept) {
        unsafe { ffi::lua::lua_rawgeti_(self.0, REGISTRY, k.0) }
    }

    pub(crate) fn release(self, k: Kept) {
        unsafe { ffi::luaL_unref(self.0, REGISTRY, k.0) }
    }

    /// Whether the value is a coroutine; its stack.
    pub(crate) fn thread(self, i: c_int) -> Option<Self> {
        let l = unsafe { ffi::lua_tothread(self.0, i) };
        (!l.is_null()).then_some(Self(l))
    }

    /// Moves the `n` values on top to another stack of the same state.
    pub(crate) fn move_to(self, to: Self, n: usize) {
        unsafe { ffi::lua_xmove(self.0, to.0, n as c_int) }
    }

    /// Resumes a coroutine with the `n` values on its top. Errors stay on its top.
    pub(crate) fn resume(self, n: usize) -> Result<(), ()> {
        let grace = self.state().memory.set_grace(false);
        let status = unsafe { ffi::lua::lua_resume_(self.0, n as c_int) };
        self.state().memory.set_grace(grace);
        if matches!(status, ffi::LUA_OK | ffi::LUA_YIELD) { Ok(()) } else { Err(()) }
    }

    /// Whether a coroutine can be resumed: it is suspended, or has not begun.
    pub(crate) fn is_resumable(self) -> bool {
        unsafe {
            match ffi::lua_status(self.0) {
                ffi::LUA_YIELD => true,
                ffi::LUA_OK => {
                    let mut ar = std::mem::zeroed();
                    ffi::lua_getstack(self.0, 0, &raw mut ar) == 0 && ffi::lua_gettop(self.0) > 0
                }
                _ => false,
            }
        }
    }

    /// Whether a coroutine has resumed another one, and waits for it.
    pub(crate) fn is_running(self) -> bool {
        unsafe {
            let mut ar = std::mem::zeroed();
            ffi::lua_status(self.0) == ffi::LUA_OK && ffi::lua_getstack(self.0, 0, &raw mut ar) != 0
        }
    }

    /// Pushes a coroutine of the function at `i`.
    pub(crate) fn new_coroutine(self, i: c_int) {
        unsafe {
            let co = ffi::lua_newthread(self.0);
            ffi::lua_pushvalue(self.0, i);
            ffi::lua_xmove(self.0, co, 1);
        }
    }

    /// Pushes what scripts see as the metatable of strings.
    pub(crate) fn push_decoy(self) {
        match &self.state().decoy {
            Some(k) => self.push_kept(k),
            None => self.push_nil(),
        }
    }

    /// Fails when the script has used up its part of the C stack. Lua counts calls, and per
    /// coroutine only; what counts is bytes.
    pub(crate) fn check_c_stack(self) -> Result<(), Raise> {
        let here = 0u8;
        let here = (&raw const here).addr();
        if self.state().stack_base.saturating_sub(here) < STACK_MAX {
            return Ok(());
        }
        Err(Raise::text("C stack overflow"))
    }

    /// A value of type `T` that Lua's collector owns.
    pub(crate) fn push_userdata<T: Copy>(self, value: T) {
        const { assert!(align_of::<T>() <= 8) };
        unsafe { ffi::lua_newuserdata(self.0, size_of::<T>()).cast::<T>().write(value) };
    }

    /// The value of type `T` in upvalue 1, which must be one.
    pub(crate) fn userdata<'a, T: Copy>(self) -> &'a mut T {
        unsafe { &mut *ffi::lua_touserdata(self.0, upvalue(1)).cast::<T>() }
    }

    pub(crate) fn is_same(self, other: Self) -> bool {
        self.0 == other.0
    }

    /// Source and line of the function `level` levels above the running one, and whether it is Lua.
    pub(crate) fn place(self, level: c_int) -> Option<(Vec<u8>, c_int, bool)> {
        unsafe {
            let mut ar: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(self.0, level, &raw mut ar) == 0
                || ffi::lua_getinfo(self.0, c"nSl".as_ptr(), &raw mut ar) == 0
            {
                return None;
            }
            let source = CStr::from_ptr(ar.source).to_bytes().to_vec();
            Some((source, ar.currentline, CStr::from_ptr(ar.what).to_bytes() != b"C"))
        }
    }

    /// From now on, the hook runs at every line of Lua code: an error that it raises cannot be
    /// outrun by catching it.
    pub(crate) fn hook_lines(self) {
        unsafe {
            ffi::lua_sethook(
                self.0,
                ffi::lua_gethook(self.0),
                ffi::LUA_MASKLINE | ffi::LUA_MASKCOUNT,
                1,
            );
        }
    }

    /// The compiled form of the Lua function on top.
    pub(crate) fn dump(self) -> Option<Vec<u8>> {
        unsafe extern "C-unwind" fn write(
            _: *mut lua_State,
            p: *const c_void,
            n: usize,
            to: *mut c_void,
        ) -> c_int {
            unsafe {
                (*to.cast::<Vec<u8>>()).extend_from_slice(std::slice::from_raw_parts(p.cast(), n))
            };
            0
        }
        let mut bytes = Vec::new();
        let status = unsafe { ffi::lua::lua_dump_(self.0, write, (&raw mut bytes).cast()) };
        (status == 0).then_some(bytes)
    }
}

/// Checks of arguments, with the errors of Lua's auxiliary library.
impl Stack {
    fn type_error(self, n: usize, wanted: &str) -> Raise {
        Raise::arg(n, format!("{wanted} expected, got {}", self.type_name(n as c_int)))
    }

    pub(crate) fn check_number(self, n: usize) -> Result<f64, Raise> {
        let i = n as c_int;
        if self.is_number(i) { Ok(self.number(i)) } else { Err(self.type_error(n, "number")) }
    }

    /// As `luaL_checkinteger`, for which a number is cut off.
    pub(crate) fn check_integer(self, n: usize) -> Result<i64, Raise> {
        self.check_number(n).map(stdx_cast)
    }

    pub(crate) fn opt_integer(self, n: usize, default: i64) -> Result<i64, Raise> {
        match self.kind(n as c_int) {
            LuaType::None | LuaType::Nil => Ok(default),
            _ => self.check_integer(n),
        }
    }

    pub(crate) fn check_bytes<'a>(self, n: usize) -> Result<&'a [u8], Raise> {
        self.bytes(n as c_int).ok_or_else(|| self.type_error(n, "string"))
    }

    pub(crate) fn check_table(self, n: usize) -> Result<(), Raise> {
        if self.kind(n as c_int) == LuaType::Table {
            Ok(())
        } else {
            Err(self.type_error(n, "table"))
        }
    }
}

/// A number as C's conversion to a 64-bit integer gives it on the processors that Redis runs on:
/// a number that does not fit becomes the least integer.
pub(crate) fn stdx_cast(n: f64) -> i64 {
    // Both bounds are powers of two, so the comparison is exact.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&n) {
        n as i64
    } else {
        i64::MIN
    }
}

/// A function item for Lua; has no state, so that its type alone says which it is.
pub(crate) trait Function: Fn(Stack) -> Returned + Copy + 'static {}
impl<F: Fn(Stack) -> Returned + Copy + 'static> Function for F {}

const TOP: c_int = -1;
const ARG: c_int = -2;

/// The function that Lua calls. Owns nothing while it raises an error.
unsafe extern "C-unwind" fn trampoline<F: Function>(l: *mut lua_State) -> c_int {
    let code = run::<F>(l);
    if code >= 0 {
        return code;
    }
    // SAFETY: `run` has left the raised value on top of the stack, and returned: no frame in between
    // owns anything.
    unsafe {
        if code == ARG {
            let n = ffi::lua_tonumber(l, -2) as c_int;
            return ffi::luaL_argerror(l, n, ffi::lua_tostring(l, -1));
        }
        ffi::lua_error(l)
    }
}

#[inline]
fn run<F: Function>(l: *mut lua_State) -> c_int {
    // SAFETY: Lua calls with its living state.
    let stack = unsafe { Stack::new(l) };
    let grace = stack.state().memory.set_grace(true);
    // SAFETY: a function item is a type without a value; `push_closure` has made sure that it is.
    let f: F = unsafe { std::mem::zeroed() };
    let code = match catch_unwind(AssertUnwindSafe(|| f(stack))) {
        Ok(Ok(n)) => n as c_int,
        Ok(Err(raise)) => prepare(stack, raise),
        Err(panic) => {
            // It goes on when Lua has been left.
            stack.state().panic = Some(panic);
            stack.state().aborted = true;
            stack.hook_lines();
            stack.push_bytes("internal error");
            TOP
        }
    };
    stack.state().memory.set_grace(grace);
    code
}

#[cold]
fn prepare(stack: Stack, raise: Raise) -> c_int {
    if matches!(raise, Raise::Top) {
        // It is there already, however full the stack is.
        return TOP;
    }
    if !stack.room(4) {
        stack.set_top(0);
    }
    match raise {
        Raise::Top => TOP,
        Raise::Text(text) => {
            // SAFETY: there is room; while memory is not limited it cannot fail.
            unsafe { ffi::luaL_where(stack.0, 1) };
            stack.push_bytes(carried(&text));
            stack.concat(2);
            TOP
        }
        Raise::Arg(n, text) => {
            stack.push_number(n as f64);
            stack.push_bytes(carried(&text));
            ARG
        }
    }
}
