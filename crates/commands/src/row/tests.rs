//! The old first-last-step triple, and what makes keys movable, for the
//! combinations of specifications that Redis's commands have.

use super::*;

const RO: KeyFlags = KeyFlags::RO;

#[track_caller]
fn check(keys: &'static [KeySpec], triple: (i64, i64, i64), movable: bool) {
    let row = Row { keys, ..Row::DEFAULT };
    assert_eq!(row.first_last_step(), triple);
    assert_eq!(row.all_flags().has(Flags::MOVABLEKEYS), movable);
}

#[test]
fn ranges_are_joined_and_the_rest_is_movable() {
    const STORE: KeySpec =
        KeySpec::after("STORE", 6, FindKeys::Range { last: 0, step: 1, limit: 0 }, RO);
    check(&[], (0, 0, 0), false);
    // SMOVE, BITOP, SINTERSTORE: one after the other.
    check(const { &[KeySpec::one(1, RO), KeySpec::one(2, RO)] }, (1, 2, 1), false);
    check(const { &[KeySpec::one(2, RO), KeySpec::range(3, -1, 1, RO)] }, (2, -1, 1), false);
    // Not consecutive, a step, after an open end: only the first counts.
    check(const { &[KeySpec::one(1, RO), KeySpec::one(3, RO)] }, (1, 1, 1), true);
    check(const { &[KeySpec::one(1, RO), KeySpec::range(2, -1, 2, RO)] }, (1, 1, 1), true);
    check(const { &[KeySpec::range(1, -1, 1, RO), KeySpec::one(2, RO)] }, (1, -1, 1), true);
    // GEORADIUS, ZUNIONSTORE, ZUNION.
    check(const { &[KeySpec::one(1, RO), STORE] }, (1, 1, 1), true);
    check(const { &[KeySpec::one(1, RO), KeySpec::counted(2, RO)] }, (1, 1, 1), true);
    check(const { &[KeySpec::counted(1, RO)] }, (0, 0, 0), true);
    // Incomplete, alone or among others.
    const INCOMPLETE: KeySpec = KeySpec::one(1, RO.or(KeyFlags::INCOMPLETE));
    check(const { &[INCOMPLETE] }, (1, 1, 1), true);
    check(const { &[INCOMPLETE, KeySpec::one(2, RO)] }, (1, 2, 1), true);
}

#[test]
fn arity_counts_the_name() {
    let fits = |arity, argc| Row { arity, ..Row::DEFAULT }.arity_fits(argc);
    assert!(fits(2, 2) && !fits(2, 1) && !fits(2, 3));
    assert!(fits(-2, 2) && fits(-2, 9) && !fits(-2, 1));
}
