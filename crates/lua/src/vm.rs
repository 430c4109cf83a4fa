//! A virtual machine and its runs.

#![expect(unsafe_code, reason = "owns a Lua state and lends the host to it")]

use std::ffi::{c_int, c_void};
use std::panic::resume_unwind;
use std::ptr::NonNull;

use mlua_sys as ffi;
use mlua_sys::lua_State;
use resp::{Args, Proto, Reply};
use stdx::carried::carry;

use crate::ending::hook;
use crate::front::is_front;
use crate::host::{Entry, Host};
use crate::layout::{Item, Value};
use crate::memory::Memory;
use crate::proof::{self, Proof, Rule};
use crate::raw::{LuaType, Returned, Stack};
use crate::reply::{c_string, pass, push, write};
use crate::sandbox;
use crate::state::{ARRAY_MAX, Ending, Kept, Machine, Natives, State};

/// Instructions, or work of C code that takes as long (c/apus.h), between two looks at the clock.
const TICK: c_int = 100_000;
/// Runs between two looks at the pace of the garbage collector.
const PACE_EVERY: u32 = 50;
/// Garbage that may accumulate before a collection begins, in bytes. With less, a machine that keeps
/// little would collect all the time; much more would not stay in the processor's cache.
const GARBAGE_MIN: usize = 512 << 10;
/// Tables of keys or arguments that are used again have up to so many bytes.
const ARRAY_BYTES_MAX: usize = 4 << 10;
/// Positions on the main stack: the globals, the handler of errors, two names, and the globals without
/// fronts ([`sandbox::push_direct_globals`]).
const GLOBALS: c_int = 1;
const HANDLER: c_int = 2;
const KEYS: c_int = 3;
const ARGV: c_int = 4;
const DIRECT: c_int = 5;
/// How many these are.
const BOTTOM: usize = 5;

impl Stack {
    /// Keeps the function on top as one that can be called by its entry.
    pub(crate) fn keep_entry(self) -> Entry {
        let kept = self.keep();
        let entries = &mut self.state().entries;
        match entries.iter().position(Option::is_none) {
            Some(free) => {
                entries[free] = Some(kept);
                Entry(free as u32)
            }
            None => {
                entries.push(Some(kept));
                Entry(entries.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn forget(self, e: Entry) {
        let kept = self.state().entries.get_mut(e.0 as usize).and_then(Option::take);
        if let Some(kept) = kept {
            self.release(kept);
        }
    }
}

/// A compiled script of one machine, which must be given back to it
/// ([`Vm::release`]).
#[derive(Debug)]
pub struct Compiled {
    code: Kept,
    /// It can neither change globals nor get at their table, and only reads from the libraries.
    direct: bool,
}

/// The function to run, with its arguments.
pub struct Invocation<'a> {
    /// The script or function.
    pub code: Code<'a>,
    /// Its name in error messages: a digest, or a function's name.
    pub name: &'a str,
    /// The arguments of EVAL or FCALL.
    pub args: &'a Args<'a>,
    /// Which of them is the first key.
    pub first: usize,
    /// How many are keys; all behind them are arguments.
    pub keys: usize,
}

/// A script or a function.
pub enum Code<'a> {
    /// Of [`Vm::compile`].
    Script(&'a Compiled),
    /// Of [`Vm::load`].
    Function(Entry),
}

/// Why a run failed.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// With an error for the client, code first; whether it has been counted already.
    Error(Vec<u8>, bool),
    /// The host ended it ([`Called::Abort`](crate::Called::Abort)).
    Aborted,
}

/// A virtual machine. For one thread at a time.
pub struct Vm {
    l: NonNull<lua_State>,
    state: NonNull<State>,
    runs: u32,
}

// SAFETY: it owns everything that it points to; the thread that has it may use it.
unsafe impl Send for Vm {}

impl Drop for Vm {
    fn drop(&mut self) {
        // SAFETY: both were made in `new` and belong to this value alone.
        unsafe {
            ffi::lua_close(self.l.as_ptr());
            drop(Box::from_raw(self.state.as_ptr()));
        }
    }
}

impl Vm {
    /// A machine whose scripts see `version` as that of Redis, may use `limit` bytes together, and
    /// draw random numbers from `seed` on.
    pub fn new(machine: Machine, version: &str, limit: usize, seed: u64) -> Self {
        crate::raw::seed();
        let state = Box::new(State {
            memory: Memory::new(limit),
            host: None,
            stack_base: 0,
            coroutines: 0,
            proto: Proto::V2,
            aborted: false,
            ending: Ending::No,
            panic: None,
            random: seed & 0xffff_ffff_ffff,
            fronts: Vec::new(),
            natives: Natives::default(),
            scratch: None,
            reply_max: usize::MAX,
            passes: false,
            main: std::ptr::null_mut(),
            decoy: None,
            globals_front: 0,
            loading: false,
            front_metatable: None,
            loading_globals: None,
            entries: Vec::new(),
            arrays: Default::default(),
            limit,
        });
        let state = NonNull::from(Box::leak(state));
        // SAFETY: `allocate` takes a `State`.
        let l = unsafe { ffi::lua_newstate(allocate, state.as_ptr().cast()) };
        let l = NonNull::new(l).expect("memory for a Lua state");
        let vm = Self { l, state, runs: 0 };
        let s = vm.stack();
        s.check_layout();
        s.state().main = vm.l.as_ptr();
        sandbox::build(s, machine, version);
        s.push_function(handler);
        s.push_bytes("KEYS");
        s.push_bytes("ARGV");
        match machine {
            Machine::Scripts => sandbox::push_direct_globals(s, GLOBALS),
            Machine::Functions => s.push_nil(),
        }
        assert!(s.top() == BOTTOM);
        s.collect();
        vm.pace();
        vm.set_hook();
        vm
    }

    pub(crate) fn stack(&self) -> Stack {
        // SAFETY: it lives as long as `self`.
        unsafe { Stack::new(self.l.as_ptr()) }
    }

    fn set_hook(&self) {
        // SAFETY: as in `stack`.
        unsafe { ffi::lua_sethook(self.l.as_ptr(), Some(hook), ffi::LUA_MASKCOUNT, TICK) };
    }

    /// Bytes that it uses.
    pub fn memory(&self) -> usize {
        let memory = &self.stack().state().memory;
        memory.used() + memory.kept()
    }

    /// Changes how much it may use.
    pub fn set_memory_limit(&mut self, limit: usize) {
        let state = self.stack().state();
        state.limit = limit;
        state.memory.set_limit(limit);
    }

    /// Compiles a script.
    ///
    /// # Errors
    /// Lua's message; bytes in it that are not UTF-8 are carried ([`stdx::carried`]).
    pub fn compile(&mut self, text: &[u8]) -> Result<Compiled, String> {
        let s = self.stack();
        if s.compile(text, c"@user_script").is_ok() {
            let keeps = s.dump().filter(|dump| proof::keeps_globals(dump));
            let only_reads = |dump: &Vec<u8>| proof::only_reads_from(dump, &sandbox::LIBRARIES);
            let direct = keeps.as_ref().is_some_and(only_reads);
            if keeps.is_some() {
                // The script cannot get at the table itself, only at its fields: no need to go through
                // the front each time.
                s.push_value(if direct { DIRECT } else { GLOBALS });
                s.set_globals(-2);
            }
            let compiled = Compiled { code: s.keep(), direct };
            self.collect();
            self.tidy();
            return Ok(compiled);
        }
        Err(self.take_message())
    }

    fn take_message(&mut self) -> String {
        let s = self.stack();
        let text = carry(s.string(-1).unwrap_or(b"?")).into_owned();
        s.set_top(BOTTOM);
        self.collect();
        text
    }

    /// Proves that a script uses only keys that its call declares: `rule` gives the keys of a command
    /// by its name. None when there is no proof.
    pub fn uses_declared_keys(
        &mut self,
        c: &Compiled,
        rule: &dyn Fn(&[u8]) -> Rule,
    ) -> Option<Proof> {
        let s = self.stack();
        s.push_kept(&c.code);
        let dump = s.dump();
        s.pop(1);
        proof::declared_only(&dump?, false, rule)
    }

    /// The same of a function, whose keys are its first argument.
    pub fn function_uses_declared_keys(
        &mut self,
        e: Entry,
        rule: &dyn Fn(&[u8]) -> Rule,
    ) -> Option<Proof> {
        let s = self.stack();
        let entries = &s.state().entries;
        let Some(Some(kept)) = entries.get(e.0 as usize) else { return None };
        s.push_kept(kept);
        let dump = if s.native(-1).is_none() { s.dump() } else { None };
        s.pop(1);
        proof::declared_only(&dump?, true, rule)
    }

    /// Gives a script back.
    pub fn release(&mut self, c: Compiled) {
        self.stack().release(c.code);
        self.collect();
    }

    /// Gives a function back.
    pub fn forget(&mut self, e: Entry) {
        self.stack().forget(e);
    }

    /// Loads a library: runs its code, which registers functions with the host.
    ///
    /// # Errors
    /// The error for the client; bytes in it that are not UTF-8 are carried ([`stdx::carried`]).
    pub fn load(&mut self, code: &[u8], host: &mut dyn Host) -> Result<(), String> {
        let s = self.stack();
        self.set_load_globals(true);
        let outcome = if s.compile(code, c"@user_function").is_err() {
            Err(format!("Error compiling function: {}", self.take_message()))
        } else {
            self.begin(host);
            s.state().loading = true;
            let outcome = s.protected_call(0, 0, 0);
            s.state().loading = false;
            self.end();
            outcome.map_err(|_| {
                let text = match s.kind(-1) {
                    LuaType::Table if !is_front(s, -1) => {
                        s.field(-1, "err");
                        carry(s.bytes(-1).unwrap_or(b"?")).into_owned()
                    }
                    _ => format!("ERR {}", carry(s.bytes(-1).unwrap_or(b"?"))),
                };
                format!("Error registering functions: {text}")
            })
        };
        s.set_top(BOTTOM);
        self.set_load_globals(false);
        self.collect();
        self.tidy();
        outcome
    }

    /// While it is loaded, a library sees other globals than its functions see later.
    fn set_load_globals(&self, loading: bool) {
        let s = self.stack();
        let state = s.state();
        let (Some(meta), Some(globals)) = (&state.front_metatable, &state.loading_globals) else {
            return;
        };
        s.push_kept(meta);
        if loading {
            s.push_kept(globals);
        } else {
            s.push_value(GLOBALS);
        }
        s.set_field(-2, "__index");
        s.pop(1);
    }

    fn begin(&mut self, host: &mut dyn Host) {
        let here = 0u8;
        let state = self.stack().state();
        // SAFETY: only the lifetime changes; `end` takes it back before the borrow ends.
        let host = unsafe {
            std::mem::transmute::<NonNull<dyn Host + '_>, NonNull<dyn Host + 'static>>(
                NonNull::from(host),
            )
        };
        state.host = Some(host);
        state.stack_base = (&raw const here).addr();
        state.coroutines = 0;
        state.proto = Proto::V2;
        state.aborted = false;
        state.ending = Ending::No;
        if std::mem::take(&mut state.passes)
            && let Some(scratch) = &mut state.scratch
        {
            // It was killed after its last call.
            scratch.clear();
        }
    }

    fn end(&mut self) {
        let state = self.stack().state();
        state.host = None;
        let restore = state.aborted || state.ending != Ending::No;
        let panic = state.panic.take();
        if restore {
            self.set_hook();
        }
        if let Some(panic) = panic {
            self.stack().set_top(BOTTOM);
            resume_unwind(panic);
        }
    }

    /// Runs a script or a function and writes its result as a reply.
    ///
    /// # Errors
    /// The error that it ended with; nothing has been written then.
    pub fn run(
        &mut self,
        what: &Invocation<'_>,
        host: &mut dyn Host,
        reply: &mut Reply<'_>,
    ) -> Result<(), Failure> {
        let s = self.stack();
        let arguments = push_call(s, what);
        self.begin(host);
        let outcome = s.protected_call(arguments, 1, HANDLER);
        let aborted = s.state().aborted;
        let inner = s.state().proto;
        self.end();
        let outcome = match outcome {
            _ if aborted => Err(Failure::Aborted),
            Ok(()) if s.state().passes => {
                let mut scratch = s.state().scratch.take().unwrap_or_default();
                if scratch.out.shared.is_empty() {
                    returned(s, &scratch.out.buf, reply, host);
                } else {
                    returned(s, &scratch.out.join(), reply, host);
                }
                scratch.clear();
                s.state().scratch = Some(scratch);
                Ok(())
            }
            Ok(()) => {
                write(s, reply, inner, host);
                Ok(())
            }
            Err(_) => Err(failure(s, what.name)),
        };
        s.set_top(BOTTOM);
        self.collect();
        outcome
    }

    /// Collects everything when a script has left so much behind that the next one would find no
    /// memory; otherwise the collector goes on as memory is used.
    fn collect(&mut self) {
        let state = self.stack().state();
        if state.memory.used() > state.limit / 2 {
            // Scripts may have left anything in these.
            for kept in state.arrays.iter_mut().flatten().filter_map(Option::take) {
                self.stack().release(kept);
            }
            return self.stack().collect();
        }
        self.runs += 1;
        if self.runs >= PACE_EVERY {
            self.runs = 0;
            self.pace();
        }
    }

    /// Collects what compiling and loading have left behind, which is more than what they keep, when it
    /// is a part of all that counts: scripts do not come as often as they run.
    fn tidy(&self) {
        let s = self.stack();
        let grown = s.collectable().saturating_sub(s.live());
        if grown > (2 * GARBAGE_MIN).max(s.live() / 12) {
            s.collect();
            s.state().memory.trim();
            self.pace();
        }
    }

    /// A collection begins when the memory in use has doubled, or has grown by [`GARBAGE_MIN`].
    fn pace(&self) {
        let live = self.stack().live().max(1);
        let percent = 100 + 100 * live.max(GARBAGE_MIN) / live;
        self.stack().set_pause(percent.min(2000) as c_int);
    }
}

/// Pushes what is called, with KEYS and ARGV where it finds them. Returns the number of its arguments.
#[inline]
fn push_call(s: Stack, what: &Invocation<'_>) -> usize {
    let array = |from: usize, n: usize, again: Option<usize>| {
        let n = n.min(what.args.len().saturating_sub(from));
        let before = match again {
            Some(which) if n <= ARRAY_MAX => push_array(s, what, which, from, n),
            _ => {
                s.new_table(n, 0);
                &[]
            }
        };
        for (i, a) in what.args.iter_from(from).take(n).enumerate() {
            // Many elements are the same as in the last run.
            if before.get(i).is_none_or(|value| value.read() != Item::Text(a)) {
                s.push_bytes(a);
                s.raw_set_at(-2, i + 1);
            }
        }
    };
    let rest = what.first + what.keys;
    match what.code {
        Code::Script(c) => {
            s.push_kept(&c.code);
            let globals = if c.direct { DIRECT } else { GLOBALS };
            s.push_value(KEYS);
            array(what.first, what.keys, c.direct.then_some(0));
            s.raw_set(globals);
            s.push_value(ARGV);
            array(rest, usize::MAX, c.direct.then_some(1));
            s.raw_set(globals);
            0
        }
        Code::Function(e) => {
            match s.state().entries.get(e.0 as usize) {
                Some(Some(kept)) => s.push_kept(kept),
                _ => s.push_nil(),
            }
            array(what.first, what.keys, None);
            array(rest, usize::MAX, None);
            2
        }
    }
}

/// Pushes a table for `n` elements, which are the arguments from `from` on: the one that the last
/// script with as many has left, if it has left it as it was. No reference to it remains: everything that
/// could hold one is gone with that script. Returns its elements, which stay there until they are replaced.
fn push_array<'a>(
    s: Stack,
    what: &Invocation<'_>,
    which: usize,
    from: usize,
    n: usize,
) -> &'a [Value] {
    let bytes: usize = what.args.iter_from(from).take(n).map(<[u8]>::len).sum();
    if bytes > ARRAY_BYTES_MAX {
        // The table would be kept for long.
        s.new_table(n, 0);
        return &[];
    }
    let place = &mut s.state().arrays[which][n];
    if let Some(kept) = place {
        s.push_kept(kept);
        if let Some(values) = s.array_of(n) {
            return values;
        }
        s.pop(1);
    }
    if let Some(changed) = place.take() {
        s.release(changed);
    }
    s.new_table(n, 0);
    s.push_value(-1);
    *place = Some(s.keep());
    &[]
}

/// Writes the reply of the last call as the script's result.
fn returned(s: Stack, bytes: &[u8], reply: &mut Reply<'_>, host: &mut dyn Host) {
    if !pass(bytes, reply) {
        s.set_top(BOTTOM);
        if push(s, &mut &*bytes, 0).is_ok() {
            write(s, reply, Proto::V2, host);
        } else {
            reply.error("ERR reached lua stack limit");
        }
    }
}

/// The error on top as the client receives it.
#[cold]
fn failure(s: Stack, name: &str) -> Failure {
    if s.kind(-1) != LuaType::Table {
        let text = String::from_utf8_lossy(s.bytes(-1).unwrap_or(b"execution failure"));
        let text: String = text.chars().take(100).collect();
        return Failure::Error(format!("ERR Error running script {name}, {text}").into(), false);
    }
    let field = |name: &str| {
        s.field(-1, name);
        let text = s.bytes(-1).map(|text| c_string(text).to_vec());
        s.pop(1);
        text
    };
    let mut text = field("err").unwrap_or_else(|| b"ERR unknown error".to_vec());
    if let (Some(source), Some(line)) = (field("source"), field("line")) {
        let (source, line) = (String::from_utf8_lossy(&source), String::from_utf8_lossy(&line));
        text.extend_from_slice(format!(" script: {name}, on {source}:{line}.").as_bytes());
    }
    s.field(-1, "ignore_error_stats_update");
    let counted = s.boolean(-1);
    s.pop(1);
    Failure::Error(text, counted)
}

/// Called with an error where it happens: notes the place.
fn handler(s: Stack) -> Returned {
    let place = match s.place(1) {
        Some((_, _, false)) => s.place(2),
        place => place,
    };
    s.set_top(1);
    if s.kind(1) != LuaType::Table || is_front(s, 1) {
        let text = match s.kind(1) {
            LuaType::Nil | LuaType::None => b"nil".to_vec(),
            LuaType::Boolean => s.boolean(1).to_string().into_bytes(),
            LuaType::String | LuaType::Number => s.bytes(1).unwrap_or(&[]).to_vec(),
            _ if s.is_null(1) => b"userdata: (nil)".to_vec(),
            _ => format!("{}: {:#x}", s.type_name(1), s.pointer(1)).into_bytes(),
        };
        s.new_table(0, 3);
        s.push_bytes([b"ERR ", text.as_slice()].concat());
        s.set_field(-2, "err");
        s.replace(1);
    }
    if let Some((source, line, _)) = place {
        s.push_bytes(source);
        s.set_field(1, "source");
        s.push_number(f64::from(line));
        s.set_field(1, "line");
    }
    Ok(1)
}

/// The allocator, as `lua_Alloc` describes it; `ud` is the [`State`].
unsafe extern "C" fn allocate(
    ud: *mut c_void,
    p: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: `ud` is the state's record, and no other code accesses its memory while Lua allocates;
    // `p` came from here with size `old`.
    unsafe { (*ud.cast::<State>()).memory.allocate(p, old, new) }
}
