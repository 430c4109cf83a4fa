//! Fronts: empty tables in front of those that scripts may not change. See [`crate::sandbox`].

use crate::raw::{LuaType, Raise, Returned, Stack};
use crate::state::Front;

/// Redis's text for any write to a read-only table.
pub(crate) const READONLY: &str = "Attempt to modify a readonly table";

/// Replaces the table on top by a front for it.
pub(crate) fn protect(s: Stack) {
    s.new_table(0, 0);
    s.new_table(0, 2);
    s.push_value(-3);
    s.set_field(-2, "__index");
    s.set_function("__newindex", readonly);
    s.set_metatable(-2);
    let front = s.pointer(-1);
    s.insert(-2);
    let behind = s.keep();
    s.state().fronts.push(Front { front, behind });
}

fn readonly(_: Stack) -> Returned {
    Err(Raise::text(READONLY))
}

/// Whether the value at `i` is a front.
pub(crate) fn is_front(s: Stack, i: i32) -> bool {
    find(s, i).is_some()
}

fn find(s: Stack, i: i32) -> Option<usize> {
    if s.kind(i) != LuaType::Table {
        return None;
    }
    let p = s.pointer(i);
    s.state().fronts.iter().position(|f| f.front == p)
}

/// Pushes the table behind the front at `i`, if it is one.
pub(crate) fn push_behind(s: Stack, i: i32) -> bool {
    let Some(at) = find(s, i) else { return false };
    s.push_kept(&s.state().fronts[at].behind);
    true
}
