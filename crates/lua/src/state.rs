//! What a Lua state has besides Lua's own data, which everything here shares. Its [`Vm`](crate::vm::Vm) makes
//! it and lends it the host of each run; [`Stack::state`](crate::raw::Stack::state) finds it.

#![expect(unsafe_code, reason = "the host is lent for one run")]

use std::any::Any;
use std::ffi::c_int;
use std::ptr::NonNull;

use mlua_sys as ffi;
use mlua_sys::lua_State;
use resp::{Out, Proto, Span};

use crate::host::Host;
use crate::memory::Memory;

/// Tables of keys or arguments that are used again have up to so many elements.
pub(crate) const ARRAY_MAX: usize = 20;
/// Buffers of calls are kept up to this size, in bytes.
const KEEP_MAX: usize = 64 << 10;

/// The error of a script that was killed.
pub(crate) const KILLED: &[u8] = b"Script killed by user with SCRIPT KILL...";

/// The error of a script that the server does not wait for when it ends.
pub(crate) const SHUTDOWN: &[u8] = b"Script ended: the server is shutting down";

/// The purpose of a machine. The two differ in the functions of `redis`, and in how keys are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// EVAL: KEYS and ARGV are globals.
    Scripts,
    /// FCALL: they are arguments.
    Functions,
}

/// Whether the script that runs is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    No,
    Killed,
    Shutdown,
}

/// A value that is kept from the garbage collector.
#[derive(Debug)]
pub(crate) struct Kept(pub(crate) c_int);

/// A function that Lua's own libraries gave.
pub(crate) type Native = ffi::lua_CFunction;

/// A front and the table behind it.
#[derive(Debug)]
pub(crate) struct Front {
    /// The address of the front.
    pub(crate) front: usize,
    pub(crate) behind: Kept,
}

/// Native functions that are called by the ones that replace them.
#[derive(Debug, Default)]
pub(crate) struct Natives {
    pub(crate) find: Option<Native>,
    pub(crate) matches: Option<Native>,
    pub(crate) gmatch: Option<Native>,
    pub(crate) gsub: Option<Native>,
    pub(crate) next: Option<Native>,
    pub(crate) rawset: Option<Native>,
    pub(crate) getfenv: Option<Native>,
    pub(crate) setfenv: Option<Native>,
    pub(crate) setmetatable: Option<Native>,
    pub(crate) getmetatable: Option<Native>,
    pub(crate) insert: Option<Native>,
    pub(crate) remove: Option<Native>,
    pub(crate) sort: Option<Native>,
}

/// Buffers for a call's arguments and its reply; kept with the state.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) args: Vec<u8>,
    pub(crate) spans: Vec<Span>,
    pub(crate) out: Out,
}

impl Scratch {
    /// Clears the buffers, and frees unusually large ones.
    pub(crate) fn clear(&mut self) {
        self.out.clear();
        if self.out.buf.capacity() > KEEP_MAX {
            self.out.buf = Vec::new();
        }
        if self.args.capacity() > KEEP_MAX {
            self.args = Vec::new();
        }
    }
}

/// The data of a Lua state besides Lua's own.
pub(crate) struct State {
    pub(crate) memory: Memory,
    pub(crate) host: Option<NonNull<dyn Host>>,
    /// Address on the C stack where the run began.
    pub(crate) stack_base: usize,
    /// Coroutines that wait for one another.
    pub(crate) coroutines: u32,
    /// The protocol in which replies of commands are converted.
    pub(crate) proto: Proto,
    /// The host wants the script to end, in any case.
    pub(crate) aborted: bool,
    pub(crate) ending: Ending,
    pub(crate) panic: Option<Box<dyn Any + Send>>,
    pub(crate) random: u64,
    pub(crate) fronts: Vec<Front>,
    pub(crate) natives: Natives,
    pub(crate) scratch: Option<Box<Scratch>>,
    /// How long the buffer of replies may become while a script's result is written, in bytes.
    pub(crate) reply_max: usize,
    /// The script returns the last call's reply, which is in `scratch`.
    pub(crate) passes: bool,
    /// The thread that is no coroutine.
    pub(crate) main: *mut lua_State,
    pub(crate) decoy: Option<Kept>,
    pub(crate) globals_front: usize,
    /// A library is being loaded.
    pub(crate) loading: bool,
    pub(crate) front_metatable: Option<Kept>,
    pub(crate) loading_globals: Option<Kept>,
    pub(crate) entries: Vec<Option<Kept>>,
    /// Tables of keys and of arguments that scripts have used, by how many there were: a script of
    /// which nothing can survive its run leaves them to the next one.
    pub(crate) arrays: [[Option<Kept>; ARRAY_MAX + 1]; 2],
    /// Bytes that scripts may use together.
    pub(crate) limit: usize,
}

impl State {
    /// The host of the present run.
    pub(crate) fn host<'a>(&mut self) -> Option<&'a mut dyn Host> {
        // SAFETY: `lend` took it from a mutable borrow that outlives the run, and takes it back at
        // its end; Lua runs one function at a time, which holds it while it calls it.
        self.host.map(|mut h| unsafe { h.as_mut() })
    }

    pub(crate) fn memory_limit(&self) -> usize {
        self.limit
    }
}
