//! How Lua 5.1 keeps its values in memory, for facts that its interface gives too slowly or not at all.
//!
//! A script's arguments for a command, and the array that it returns, are read where they lie; for a
//! call it is known whether its result is the script's own result. The source of Lua is fixed
//! (5.1.5, vendored, unchanged since 2012), and so is this layout; a new machine compares it with
//! the results of the interface ([`Stack::check_layout`]).
//!
//! Nothing is written through these types.

#![expect(unsafe_code, reason = "reads Lua's structures")]
#![expect(clippy::undocumented_unsafe_blocks, reason = "one argument for all: see below")]

// SAFETY (of all blocks): the pointers are those of a living state, whose structures look as
// described, as `check_layout` has seen; they are read within one function, during which Lua does not
// run.

use std::ffi::{c_int, c_void};

use mlua_sys as ffi;

use crate::raw::{LuaType, Stack};

/// The head of all collected objects.
#[repr(C)]
struct Head {
    next: *mut c_void,
    kind: u8,
    marked: u8,
    /// Strings: reserved. Tables: absent metamethods. Functions: written in C. Threads: status.
    third: u8,
    /// Tables: the logarithm of the size of the hash part.
    fourth: u8,
}

/// A value on the stack or in a table.
#[repr(C)]
pub(crate) struct Value {
    payload: Payload,
    kind: c_int,
}

#[repr(C)]
union Payload {
    object: *const Head,
    number: f64,
    boolean: c_int,
}

/// A string; its bytes follow.
#[repr(C)]
struct Text {
    next: *mut c_void,
    /// The kind and so on; the hash lies where [`Head`] has its padding.
    head: [u8; 4],
    hash: u32,
    len: usize,
}

#[repr(C)]
struct Table {
    head: Head,
    metatable: *const Table,
    array: *const Value,
    nodes: *const Node,
    last_free: *const Node,
    gray: *const c_void,
    array_len: c_int,
}

#[repr(C)]
struct Node {
    value: Value,
    key: Value,
    next: *const Node,
}

#[repr(C)]
struct Call {
    base: *const Value,
    function: *const Value,
    top: *const Value,
    /// The next instruction, while the function waits for one that it has called.
    next: *const u32,
    results: c_int,
    tail_calls: c_int,
}

#[repr(C)]
struct Thread {
    head: Head,
    top: *const Value,
    base: *const Value,
    global: *const Global,
    call: *const Call,
    next: *const u32,
    stack_last: *const Value,
    stack: *const Value,
    calls_end: *const Call,
    calls: *const Call,
}

#[repr(C)]
struct Global {
    strings: *const c_void,
    strings_used: u32,
    strings_size: c_int,
    allocate: *const c_void,
    datum: *mut c_void,
    white: u8,
    phase: u8,
    swept: c_int,
    /// The list of objects, the sweep's place in it, and four lists of gray ones.
    lists: [*const c_void; 6],
    buffer: [usize; 3],
    threshold: usize,
    total: usize,
    estimate: usize,
}

/// A value, read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    Text(&'a [u8]),
    Number(f64),
    Nil,
    /// Anything else.
    Other,
}

impl Value {
    /// The kind of the value. Bytes are borrowed as from [`Stack::bytes`].
    #[inline]
    pub(crate) fn read<'a>(&self) -> Item<'a> {
        unsafe {
            match self.kind {
                ffi::LUA_TSTRING => {
                    let text = self.payload.object.cast::<Text>();
                    let bytes = text.add(1).cast::<u8>();
                    Item::Text(std::slice::from_raw_parts(bytes, (*text).len))
                }
                ffi::LUA_TNUMBER => Item::Number(self.payload.number),
                ffi::LUA_TNIL => Item::Nil,
                _ => Item::Other,
            }
        }
    }
}

const RETURN: u32 = 30;

impl Stack {
    #[inline]
    fn thread_itself(self) -> *const Thread {
        self.pointer_itself().cast()
    }

    /// The datum given to the allocator.
    #[inline]
    pub(crate) fn datum(self) -> *mut c_void {
        unsafe { (*(*self.thread_itself()).global).datum }
    }

    /// How many bytes the collector took to be in use when it last looked.
    pub(crate) fn live(self) -> usize {
        unsafe { (*(*self.thread_itself()).global).estimate }
    }

    /// The arguments of the running function.
    #[inline]
    pub(crate) fn arguments<'a>(self) -> &'a [Value] {
        unsafe {
            let t = &*self.thread_itself();
            std::slice::from_raw_parts(t.base, t.top.offset_from_unsigned(t.base))
        }
    }

    /// Whether the result of the running function is the whole result of the outermost one, a Lua
    /// function that has called it. The outermost one of a coroutine does not count.
    #[inline]
    pub(crate) fn is_last(self) -> bool {
        unsafe {
            let t = &*self.thread_itself();
            if t.call != t.calls.add(2) || self.pointer_itself() != self.state().main {
                return false;
            }
            let outer = t.calls.add(1);
            if (*(*(*outer).function).payload.object).third != 0 {
                return false;
            }
            // A call is followed by `RETURN A B` when its results are returned; they begin where the
            // function was.
            let next = *(*outer).next;
            let (a, b) = ((next >> 6 & 0xff) as usize, next >> 23);
            next & 0x3f == RETURN && b != 1 && b <= 2 && (*outer).base.add(a) == (*t.call).function
        }
    }

    /// Whether the result of the running function is unused.
    #[inline]
    pub(crate) fn is_ignored(self) -> bool {
        unsafe { (*(*self.thread_itself()).call).results == 0 }
    }

    /// The values of the table on top, when it has an array part of exactly `n` values, no metatable
    /// and nothing else. Its elements stay where they are as long as only these are replaced.
    #[inline]
    pub(crate) fn array_of<'a>(self, n: usize) -> Option<&'a [Value]> {
        unsafe {
            let top = &*(*self.thread_itself()).top.sub(1);
            if top.kind != ffi::LUA_TTABLE
                || !(*top.payload.object.cast::<Table>()).metatable.is_null()
            {
                return None;
            }
        }
        self.plain_array().filter(|values| values.len() == n)
    }

    /// The array part of the table on top, when there is nothing else in the table.
    #[inline]
    pub(crate) fn plain_array<'a>(self) -> Option<&'a [Value]> {
        unsafe {
            let top = &*(*self.thread_itself()).top.sub(1);
            if top.kind != ffi::LUA_TTABLE {
                return None;
            }
            let table = &*top.payload.object.cast::<Table>();
            if table.head.fourth != 0 || (*table.nodes).key.kind != ffi::LUA_TNIL {
                return None;
            }
            if table.array_len == 0 {
                return Some(&[]);
            }
            Some(std::slice::from_raw_parts(table.array, table.array_len as usize))
        }
    }

    /// Compares this layout with the results of Lua's interface. The stack is left as it was.
    ///
    /// # Panics
    /// If they differ: this is another Lua.
    pub(crate) fn check_layout(self) {
        let mut datum = std::ptr::null_mut();
        unsafe { ffi::lua_getallocf(self.pointer_itself(), &raw mut datum) };
        assert!(self.datum() == datum, "another Lua");
        self.collect();
        let (used, live) = (self.collectable(), self.live());
        assert!(live > 0 && live <= used && used - live < used / 2, "another Lua");
        let before = self.top();
        self.new_table(3, 0);
        self.push_bytes("text");
        self.raw_set_at(-2, 1);
        self.push_number(1.5);
        self.raw_set_at(-2, 2);
        let array: Option<Vec<_>> = self.plain_array().map(|a| a.iter().map(Value::read).collect());
        assert!(
            array == Some(vec![Item::Text(b"text"), Item::Number(1.5), Item::Nil]),
            "another Lua"
        );
        assert!(self.array_of(3).is_some() && self.array_of(2).is_none(), "another Lua");
        self.new_table(0, 0);
        self.set_metatable(-2);
        assert!(self.array_of(3).is_none(), "another Lua");
        self.push_bool(true);
        self.set_field(-2, "field");
        assert!(self.plain_array().is_none(), "another Lua");
        assert!(self.arguments().len() == self.top() && self.kind(-1) == LuaType::Table);
        self.set_top(before);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::state::Machine;
    use crate::vm::Vm;

    use super::*;

    /// Long strings are not hashed by a few of their bytes only, which one could keep the same.
    #[test]
    fn strings_that_differ_in_one_byte_do_not_collide() {
        let vm = Vm::new(Machine::Scripts, "7.4.0", 64 << 20, 1);
        let s = vm.stack();
        for length in [1, 3, 7, 8, 15, 16, 17, 31, 33, 1024, 5000] {
            let mut hashes = HashSet::new();
            for at in 0..length.min(1024) {
                let mut text = vec![b'x'; length];
                text[at] = b'y';
                s.push_bytes(&text);
                let bytes = s.bytes(-1).expect("a string").as_ptr();
                let header = unsafe { bytes.cast::<Text>().sub(1).read_unaligned() };
                assert_eq!(header.len, length);
                hashes.insert(header.hash);
                s.pop(1);
            }
            assert!(hashes.len() + 1 >= length.min(1024), "{} of {length}", hashes.len());
        }
    }
}
