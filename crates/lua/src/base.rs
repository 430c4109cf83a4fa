//! Lua's own libraries, where they are replaced: functions that would break the sandbox, that take
//! unbounded time or memory, and that differ in Redis.
//!
//! Those that check something and then go on to the function of the C library are *guards*: they
//! call it in their own frame, which owns nothing, so that it may raise errors through them.

#![expect(unsafe_code, reason = "guards call functions of C")]

use std::ffi::{CString, c_int};

use mlua_sys as ffi;
use mlua_sys::lua_State;

use stdx::carried::carry;

use crate::front::{READONLY, is_front, push_behind};
use crate::patterns;
use crate::raw::{ALL, GLOBALS, LuaType, Raise, Returned, Stack, upvalue};
use crate::reply::c_string;
use crate::state::{Native, Natives};

/// Coroutines within coroutines. Lua counts calls of C per coroutine only.
const COROUTINES_MAX: u32 = 100;

/// The longest string that `string.rep` makes, whatever the memory limit: 512 MiB, as a value.
const REPEAT_MAX: usize = 512 << 20;

/// Opens the libraries of C, into the state's first table of globals.
pub(crate) fn open_libraries(s: Stack) {
    let libraries: [(&str, Native); 5] = [
        ("", ffi::luaopen_base),
        ("table", ffi::luaopen_table),
        ("string", ffi::luaopen_string),
        ("math", ffi::luaopen_math),
        ("os", ffi::luaopen_os),
    ];
    for (name, open) in libraries {
        s.push_native(open);
        s.push_bytes(name);
        // Nothing in there can fail while memory is not limited.
        let _ = s.protected_call_unlimited(1, 0);
    }
}

/// Puts the functions of this module into the table of the new globals at `globals`.
pub(crate) fn replace(s: Stack, globals: c_int) {
    let native = |name: &str| {
        s.field(GLOBALS, name);
        let f = s.native(-1);
        s.pop(1);
        f
    };
    let natives = &mut s.state().natives;
    *natives = Natives {
        next: native("next"),
        rawset: native("rawset"),
        getfenv: native("getfenv"),
        setfenv: native("setfenv"),
        setmetatable: native("setmetatable"),
        getmetatable: native("getmetatable"),
        ..Natives::default()
    };
    let guards: [(&str, Native); 6] = [
        ("next", next),
        ("rawset", rawset),
        ("getfenv", getfenv),
        ("setfenv", setfenv),
        ("setmetatable", setmetatable),
        ("getmetatable", getmetatable),
    ];
    for (name, f) in guards {
        s.push_native(f);
        s.set_field(globals, name);
    }
    s.push_value(globals);
    s.push_native(next);
    s.push_closure(pairs, 1);
    s.set_field(-2, "pairs");
    s.set_function("rawget", rawget);
    s.set_function("pcall", pcall);
    s.set_function("load", load);
    s.set_function("loadstring", loadstring);
    s.set_function("unpack", unpack);
    s.set_function("collectgarbage", collectgarbage);
    s.pop(1);
}

/// Replaces functions of the library on top.
pub(crate) fn adapt(s: Stack, library: &str) {
    let native = |name: &str| {
        s.field(-1, name);
        let f = s.native(-1);
        s.pop(1);
        f
    };
    let put = |name: &str, f: Native| {
        s.push_native(f);
        s.set_field(-2, name);
    };
    match library {
        "string" => {
            let n = &mut s.state().natives;
            n.find = native("find");
            n.matches = native("match");
            n.gmatch = native("gmatch");
            n.gsub = native("gsub");
            put("find", patterns::find);
            put("match", patterns::matches);
            put("gmatch", patterns::gmatch);
            put("gfind", patterns::gmatch);
            put("gsub", patterns::gsub);
            s.set_function("rep", repeat);
        }
        "table" => {
            let n = &mut s.state().natives;
            n.insert = native("insert");
            n.remove = native("remove");
            n.sort = native("sort");
            put("insert", insert);
            put("remove", remove);
            put("sort", sort);
        }
        "math" => {
            s.set_function("random", random);
            s.set_function("randomseed", randomseed);
        }
        "os" => {
            // The clock and nothing else.
            s.field(-1, "clock");
            s.new_table(0, 1);
            s.insert(-2);
            s.set_field(-2, "clock");
            s.remove(-2);
        }
        "coroutine" => {
            s.set_function("resume", resume);
            s.set_function("wrap", wrap);
        }
        _ => {}
    }
}

/// Makes methods of strings go to the front of the library, and its metatable unreachable.
pub(crate) fn protect_strings(s: Stack, globals: c_int) {
    s.push_bytes("");
    s.new_table(0, 1);
    s.field(globals, "string");
    s.set_field(-2, "__index");
    s.set_metatable(-2);
    s.pop(1);
}

// ---- guards ----------------------------------------------------------------------------------------

/// Raises an error from a guard.
///
/// # Safety
/// `l` is a living state; the caller's frame owns nothing.
unsafe fn refuse(l: *mut lua_State, text: &'static std::ffi::CStr) -> c_int {
    // SAFETY: as said.
    unsafe {
        ffi::lua_pushstring(l, text.as_ptr());
        ffi::lua_error(l)
    }
}

const READONLY_C: &std::ffi::CStr = c"Attempt to modify a readonly table";
const _: () = assert!(READONLY.len() == READONLY_C.count_bytes());

macro_rules! guards {
    ($($name:ident: $check:expr;)*) => {$(
        unsafe extern "C-unwind" fn $name(l: *mut lua_State) -> c_int {
            // SAFETY: Lua calls with its living state; neither the check nor this frame owns anything
            // when an error is raised.
            unsafe {
                let s = Stack::new(l);
                let check: fn(Stack) -> Option<&'static std::ffi::CStr> = $check;
                if let Some(text) = check(s) {
                    return refuse(l, text);
                }
                match s.state().natives.$name {
                    Some(f) => f(l),
                    None => 0,
                }
            }
        }
    )*};
}

fn writes_front(s: Stack) -> Option<&'static std::ffi::CStr> {
    is_front(s, 1).then_some(READONLY_C)
}

guards! {
    next: |s| {
        if push_behind(s, 1) {
            s.replace(1);
        }
        None
    };
    rawset: writes_front;
    insert: writes_front;
    remove: writes_front;
    sort: writes_front;
    setmetatable: writes_front;
    getfenv: |_| None;
    setfenv: |s| {
        // Level 0 would replace the globals of all scripts that come after this one.
        (s.is_number(1) && s.number(1) < 1.0).then_some(READONLY_C)
    };
}

unsafe extern "C-unwind" fn getmetatable(l: *mut lua_State) -> c_int {
    // SAFETY: as in the guards.
    unsafe {
        let s = Stack::new(l);
        if s.kind(1) == LuaType::String || is_front(s, 1) {
            // The metatables of strings and of the globals may be read, but not written.
            if s.kind(1) == LuaType::String || s.pointer(1) == s.state().globals_front {
                s.push_decoy();
            } else {
                s.push_nil();
            }
            return 1;
        }
        match s.state().natives.getmetatable {
            Some(f) => f(l),
            None => 0,
        }
    }
}

// ---- functions -------------------------------------------------------------------------------------

fn pairs(s: Stack) -> Returned {
    s.check_table(1)?;
    // The guard of `next`, which knows fronts.
    s.push_value(upvalue(1));
    s.push_value(1);
    s.push_nil();
    Ok(3)
}

fn rawget(s: Stack) -> Returned {
    s.check_table(1)?;
    if s.kind(2) == LuaType::None {
        return Err(Raise::arg(2, "value expected"));
    }
    s.set_top(2);
    if push_behind(s, 1) {
        s.replace(1);
    }
    s.raw_get(1);
    Ok(1)
}

/// Redis's `pcall`: an error that is a table gives its text.
fn pcall(s: Stack) -> Returned {
    if s.kind(1) == LuaType::None {
        // Redis's own function calls the value that it has put there, the outcome.
        s.push_bool(false);
        s.push_bytes("attempt to call a boolean value");
        return Ok(2);
    }
    s.check_c_stack()?;
    let args = s.top() - 1;
    s.push_bool(true);
    s.insert(1);
    if s.protected_call(args, ALL, 0).is_err() {
        s.remove(1);
        if s.kind(-1) == LuaType::Table && s.room(2) {
            // As in Redis: an error table without a text stays, and the value there instead comes behind it.
            s.field(-1, "err");
            if matches!(s.kind(-1), LuaType::String | LuaType::Number) {
                s.replace(-2);
            }
        }
        s.push_bool(false);
        s.insert(1);
    }
    Ok(s.top())
}

fn chunk_name(name: Option<&[u8]>, text: &[u8]) -> CString {
    CString::new(name.unwrap_or(text))
        .unwrap_or_else(|e| CString::new(&e.into_vec()[..0]).unwrap_or_default())
}

fn compile(s: Stack, text: &[u8], name: Option<&[u8]>) -> Returned {
    s.check_c_stack()?;
    if s.compile(text, &chunk_name(name, text)).is_ok() {
        return Ok(1);
    }
    s.push_nil();
    s.insert(-2);
    Ok(2)
}

fn loadstring(s: Stack) -> Returned {
    let text = s.check_bytes(1)?;
    compile(s, text, s.bytes(2))
}

/// As Lua's, but all pieces are there before the parser begins, so that no code runs amid it.
fn load(s: Stack) -> Returned {
    if s.kind(1) != LuaType::Function {
        return Err(Raise::arg(1, format!("function expected, got {}", s.type_name(1))));
    }
    s.check_c_stack()?;
    s.set_top(2);
    let mut text = Vec::new();
    loop {
        s.push_value(1);
        if s.protected_call(0, 1, 0).is_err() {
            s.push_nil();
            s.insert(-2);
            return Ok(2);
        }
        match s.kind(-1) {
            LuaType::Nil => break,
            LuaType::String | LuaType::Number => {}
            _ => return Err(Raise::text("reader function must return a string")),
        }
        let piece = s.bytes(-1).unwrap_or(&[]);
        if piece.is_empty() {
            break;
        }
        if text.len() + piece.len() > s.state().memory_limit() {
            return Err(Raise::text("not enough memory"));
        }
        text.extend_from_slice(piece);
        s.pop(1);
    }
    s.set_top(2);
    let name = s.bytes(2).unwrap_or(b"=(load)");
    compile(s, &text, Some(name))
}

fn unpack(s: Stack) -> Returned {
    s.check_table(1)?;
    let first = s.opt_integer(2, 1)?;
    let last = match s.kind(3) {
        LuaType::None | LuaType::Nil => s.length(1) as i64,
        _ => s.check_integer(3)?,
    };
    // C's int.
    let (first, last) = (first as i32, last as i32);
    if first > last {
        return Ok(0);
    }
    let n = last.abs_diff(first) as usize + 1;
    if n > i32::MAX as usize || !s.room(n) {
        return Err(Raise::text("too many results to unpack"));
    }
    s.charge(n);
    for i in first..=last {
        s.raw_get_int(1, i);
    }
    Ok(n)
}

/// Options that change the collector for all scripts are accepted and do nothing.
fn collectgarbage(s: Stack) -> Returned {
    match s.bytes(1).unwrap_or(b"collect") {
        b"collect" => {
            s.charge(s.collectable() >> 5);
            s.collect();
            s.push_number(0.0);
        }
        b"count" => s.push_number(s.collectable() as f64 / 1024.0),
        b"step" => {
            let size = s.opt_integer(2, 0)?.clamp(0, 1 << 20) as c_int;
            s.charge(s.collectable().min((size as usize) << 10) >> 5);
            let done = s.collect_step(size);
            s.push_bool(done);
        }
        b"stop" | b"restart" | b"setpause" | b"setstepmul" => s.push_number(0.0),
        other => {
            let other = carry(c_string(other));
            return Err(Raise::arg(1, format!("invalid option '{other}'")));
        }
    }
    Ok(1)
}

fn repeat(s: Stack) -> Returned {
    let piece = s.check_bytes(1)?;
    let n = usize::try_from(s.check_integer(2)?).unwrap_or(0);
    let most = REPEAT_MAX.min(s.state().memory_limit());
    if piece.len().checked_mul(n).is_none_or(|all| all > most) {
        return Err(Raise::text("not enough memory"));
    }
    s.push_bytes(piece.repeat(n));
    Ok(1)
}

/// `drand48`'s generator, as Redis has it: the same numbers for the same seed everywhere.
fn random(s: Stack) -> Returned {
    let x = &mut s.state().random;
    *x = x.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & 0xffff_ffff_ffff;
    let max = f64::from(i32::MAX);
    let r = ((*x >> 17) as i32 % i32::MAX) as f64 / max;
    let int = |n: usize| s.check_integer(n).map(|v| v as i32);
    let empty = |n| Raise::arg(n, "interval is empty");
    let value = match s.top() {
        0 => r,
        1 => {
            let upper = int(1)?;
            if upper < 1 {
                return Err(empty(1));
            }
            (r * f64::from(upper)).floor() + 1.0
        }
        2 => {
            let (lower, upper) = (int(1)?, int(2)?);
            if lower > upper {
                return Err(empty(2));
            }
            (r * (f64::from(upper) - f64::from(lower) + 1.0)).floor() + f64::from(lower)
        }
        _ => return Err(Raise::text("wrong number of arguments")),
    };
    s.push_number(value);
    Ok(1)
}

fn randomseed(s: Stack) -> Returned {
    let seed = s.check_integer(1)? as u32;
    s.state().random = u64::from(seed) << 16 | 0x330E;
    Ok(0)
}

// ---- coroutines ------------------------------------------------------------------------------------

/// Resumes `co` with the `args` values on top of `s`. Leaves its results, or the error, on top of
/// `s`; returns how many results.
fn run(s: Stack, co: Stack, args: usize) -> Result<usize, ()> {
    let fail = |text: &str| {
        s.pop(args);
        s.push_bytes(text);
        Err(())
    };
    if !co.is_resumable() || co.is_same(s) {
        let running = co.is_same(s) || co.is_running();
        return fail(if running {
            "cannot resume non-suspended coroutine"
        } else {
            "cannot resume dead coroutine"
        });
    }
    if s.state().coroutines >= COROUTINES_MAX || s.check_c_stack().is_err() {
        return fail("C stack overflow");
    }
    if !co.room(args) {
        return fail("too many arguments to resume");
    }
    s.move_to(co, args);
    s.state().coroutines += 1;
    let outcome = co.resume(args);
    s.state().coroutines -= 1;
    if outcome.is_err() {
        co.move_to(s, 1);
        return Err(());
    }
    let results = co.top();
    if !s.room(results + 1) {
        co.set_top(0);
        s.push_bytes("too many results to resume");
        return Err(());
    }
    co.move_to(s, results);
    Ok(results)
}

fn resume(s: Stack) -> Returned {
    let Some(co) = s.thread(1) else { return Err(Raise::arg(1, "coroutine expected")) };
    match run(s, co, s.top() - 1) {
        Ok(n) => {
            s.push_bool(true);
            s.insert(-(n as c_int) - 1);
            Ok(n + 1)
        }
        Err(()) => {
            s.push_bool(false);
            s.insert(-2);
            Ok(2)
        }
    }
}

fn wrap(s: Stack) -> Returned {
    if s.kind(1) != LuaType::Function || s.native(1).is_some() {
        return Err(Raise::arg(1, "Lua function expected"));
    }
    s.new_coroutine(1);
    s.push_closure(call_wrapped, 1);
    Ok(1)
}

fn call_wrapped(s: Stack) -> Returned {
    let Some(co) = s.thread(upvalue(1)) else { return Err(Raise::text("coroutine expected")) };
    match run(s, co, s.top()) {
        Ok(n) => Ok(n),
        Err(()) => {
            if s.kind(-1) == LuaType::String {
                let text = s.bytes(-1).unwrap_or(&[]);
                return Err(Raise::text(carry(text).into_owned()));
            }
            Err(Raise::Top)
        }
    }
}
