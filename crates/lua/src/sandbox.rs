//! The globals and libraries of scripts, which scripts cannot change.
//!
//! Every table that outlives a script (the globals, the libraries, the metatable of strings) is
//! hidden behind an empty *front*, whose metatable reads from the table and refuses to write. The
//! functions that could tell a front from its table, or write past metatables (`rawset`,
//! `setmetatable`, `table.insert` …), are replaced in [`crate::base`].
//!
//! Redis marks tables as read-only inside of the virtual machine instead; the errors are the same.

use stdx::carried::carry;

use crate::base;
use crate::front::{protect, push_behind};
use crate::raw::{GLOBALS, Raise, Returned, Stack};
use crate::reply::c_string;
use crate::state::Machine;
use crate::{bit, cjson, cmsgpack, redis, structs};

/// Global functions of Lua that stay as they are.
const BASE: [&str; 11] = [
    "assert", "error", "gcinfo", "ipairs", "rawequal", "rawget", "select", "tonumber", "tostring",
    "type", "xpcall",
];

/// Global tables that are hidden behind fronts.
pub(crate) const LIBRARIES: [&str; 10] =
    ["string", "table", "math", "os", "coroutine", "cjson", "cmsgpack", "struct", "bit", "redis"];

/// Pushes a table of globals for scripts that can neither change globals nor get at their table, and
/// only read from the libraries: these lie there without their fronts.
pub(crate) fn push_direct_globals(s: Stack, globals: i32) {
    s.new_table(0, 64);
    s.push_nil();
    while s.next(globals) {
        let library = s.string(-2).is_some_and(|n| LIBRARIES.iter().any(|l| l.as_bytes() == n));
        if library && push_behind(s, -1) {
            s.remove(-2);
        }
        // The walk needs the key once more.
        s.push_value(-2);
        s.insert(-2);
        s.raw_set(-4);
    }
    s.get_metatable(globals);
    s.set_metatable(-2);
}

/// Makes the globals of a new state. Leaves the table of the globals, unprotected, as value 1 of the
/// stack.
pub(crate) fn build(s: Stack, machine: Machine, version: &str) {
    base::open_libraries(s);
    // The globals that C libraries have set are taken over name by name.
    s.new_table(0, 48);
    let globals = s.top() as i32;
    for name in BASE {
        s.field(GLOBALS, name);
        s.set_field(globals, name);
    }
    base::replace(s, globals);
    s.push_bytes("Lua 5.1");
    s.set_field(globals, "_VERSION");

    for name in ["string", "table", "math", "os", "coroutine"] {
        s.field(GLOBALS, name);
        base::adapt(s, name);
        protect(s);
        s.set_field(globals, name);
    }
    base::protect_strings(s, globals);
    cjson::open(s);
    protect(s);
    s.set_field(globals, "cjson");
    cmsgpack::open(s);
    protect(s);
    s.set_field(globals, "cmsgpack");
    structs::open(s);
    protect(s);
    s.set_field(globals, "struct");
    bit::open(s);
    protect(s);
    s.set_field(globals, "bit");
    redis::open(s, machine, version);
    protect(s);
    s.set_field(globals, "redis");

    // Reading a missing field is an error.
    s.new_table(0, 1);
    s.set_function("__index", nonexistent);
    s.set_metatable(globals);

    s.push_value(globals);
    protect(s);
    if machine == Machine::Functions {
        // While a library is loaded, its globals are others: the front's metatable says which.
        s.get_metatable(-1);
        s.state().front_metatable = Some(s.keep());
        redis::open_loading(s, version);
        protect_strict(s);
        s.new_table(0, 1);
        s.insert(-2);
        s.set_field(-2, "redis");
        s.new_table(0, 1);
        s.set_function("__index", nonexistent);
        s.set_metatable(-2);
        s.state().loading_globals = Some(s.keep());
    }
    s.state().globals_front = s.pointer(-1);
    s.push_value(-1);
    s.set_field(globals, "_G");
    s.replace(GLOBALS);
    s.new_table(0, 1);
    s.field(globals, "string");
    s.set_field(-2, "__index");
    protect(s);
    s.state().decoy = Some(s.keep());
    assert!(s.top() as i32 == globals && globals == 1);
}

/// The same, for a table of which missing fields are an error.
fn protect_strict(s: Stack) {
    s.new_table(0, 1);
    s.set_function("__index", nonexistent);
    s.set_metatable(-2);
    protect(s);
}

fn nonexistent(s: Stack) -> Returned {
    let name = carry(c_string(s.bytes(2).unwrap_or_default()));
    Err(Raise::text(format!("Script attempted to access nonexistent global variable '{name}'")))
}
