//! The sample table is lawful; each law finds a row that breaks it.

use super::*;
use crate::row::DocFlags;
use crate::sample::{GET, ROWS};

#[test]
fn the_sample_is_lawful() {
    assert_eq!(check_rows(ROWS), Vec::<String>::new());
}

/// GET, to be changed.
fn get() -> Row {
    Row {
        name: GET.name,
        group: GET.group,
        arity: GET.arity,
        flags: GET.flags,
        keys: GET.keys,
        complexity: GET.complexity,
        summary: GET.summary,
        syntax: GET.syntax,
        transcript: GET.transcript,
        ..Row::DEFAULT
    }
}

#[test]
fn each_law_finds_its_breaker() {
    const RO: KeyFlags = KeyFlags::RO;
    let numkeys = || Row { syntax: "GET key numkeys", arity: 3, ..get() };
    for (row, part) in [
        (Row { loose_arity: "x", ..get() }, "agrees with the syntax line"),
        (Row { name: "GET", ..get() }, "not lower-case"),
        (Row { arity: 3, ..get() }, "the syntax line says 2"),
        (Row { arity: -2, ..get() }, "the syntax line says 2"),
        (Row { arity: 0, ..get() }, "less than its name"),
        (Row { syntax: "GET key [x]", ..get() }, "the syntax line says -2"),
        (Row { syntax: "GET key [", ..get() }, "is missing"),
        (Row { syntax: "SET key", ..get() }, "does not begin with GET"),
        (Row { syntax: "GET name", ..get() }, "no argument belongs to key specification 0"),
        (
            Row { keys: const { &[KeySpec::one(2, RO)] }, ..numkeys() },
            "points at numkeys, which is no key",
        ),
        (
            Row { keys: const { &[KeySpec::counted(1, RO)] }, ..numkeys() },
            "points at key, which is no integer",
        ),
        (Row { keys: const { &[KeySpec::one(0, RO)] }, ..get() }, "points at the command's name"),
        (
            Row {
                keys: const {
                    &[KeySpec::after("AT", 1, FindKeys::Range { last: 0, step: 1, limit: 0 }, RO)]
                },
                ..get()
            },
            "searches AT",
        ),
        (Row { keys: &[], ..get() }, "no key specification names it"),
        (
            Row { keys: const { &[KeySpec::one(1, KeyFlags::ACCESS)] }, ..get() },
            "exactly one of RO",
        ),
        (
            Row { keys: const { &[KeySpec::one(1, KeyFlags::RM)] }, ..get() },
            "overwrites or removes",
        ),
        (Row { keys: const { &[KeySpec::unknown(RO)] }, ..get() }, "no get_keys"),
        (Row { keys: const { &[KeySpec::range(1, 0, 0, RO)] }, ..get() }, "step 0"),
        (Row { flags: Flags::FAST, ..get() }, "neither WRITE nor READONLY"),
        (Row { flags: Flags::READONLY.or(Flags::WRITE), ..get() }, "is WRITE and READONLY"),
        (Row { flags: Flags::READONLY.or(Flags::DENYOOM), ..get() }, "DENYOOM and not WRITE"),
        (Row { flags: GET.flags.or(Flags::MOVABLEKEYS), ..get() }, "derived, not written"),
        (Row { summary: "Returns it", ..get() }, "full stop"),
        (Row { summary: "A.\nB.", ..get() }, "one line"),
        (Row { since: "1.0", ..get() }, "not a version"),
        (Row { since: "2.0.0", history: &[("1.0.0", "x")], ..get() }, "at or after 2.0.0"),
        (Row { history: &[("2.0.0", " ")], ..get() }, "says nothing"),
        (Row { doc_flags: DocFlags::DEPRECATED, ..get() }, "go together"),
        (Row { transcript: "\n", ..get() }, "has no transcript"),
        (Row { untranscribed: "x", ..get() }, "a reason for having none"),
        (Row { complexity: "O(N)", ..get() }, "is FAST with"),
        (Row { complexity: "", ..get() }, "has no complexity"),
        (Row { name: "get|x", ..get() }, "belongs in the subcommands"),
    ] {
        let found = check_rows([&row]);
        assert!(found.iter().any(|what| what.contains(part)), "{part}: {found:?}");
    }
    assert_eq!(check_rows([&Row { arity: -2, loose_arity: "x", ..get() }]), [""; 0]);
    assert_eq!(check_rows([&GET, &get()]), ["get: the name is taken"]);
}
