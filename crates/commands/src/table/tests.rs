//! Every name is found in any case; nothing else is.

use super::*;
use crate::sample::ROWS;

fn mixed(name: &str) -> String {
    let odd = |(at, c): (usize, char)| {
        if at % 2 == 1 { c.to_ascii_uppercase() } else { c }
    };
    name.chars().enumerate().map(odd).collect()
}

#[test]
fn names_are_found_in_any_case() {
    let index = Index::new(&ROWS);
    for (at, row) in ROWS.iter().enumerate() {
        for name in [row.name.to_owned(), row.name.to_uppercase(), mixed(row.name)] {
            assert_eq!(index.lookup(name.as_bytes()).map(usize::from), Some(at), "{name}");
        }
        for (sub_at, sub) in row.subcommands.iter().enumerate() {
            let owner = u16::try_from(at).unwrap();
            let name = mixed(sub.sub_name());
            assert_eq!(index.lookup_sub(owner, name.as_bytes()).map(usize::from), Some(sub_at));
            assert_eq!(index.lookup(name.as_bytes()), None, "a subcommand is no command");
        }
    }
    // Few slots and many owners: most of them meet the one that has it.
    let owners = || (0..NONE).filter(|owner| index.lookup_sub(*owner, b"encoding").is_some());
    assert_eq!(owners().collect::<Vec<_>>(), [3], "of another command");
    assert_eq!(index.lookup_sub(NONE, b"get"), None, "no such row");
}

/// Names of every length around the borders between the layouts, which differ
/// in one byte only, at every place.
#[test]
fn one_different_byte_is_another_name() {
    for len in 1..=40 {
        let name: Vec<u8> = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
        let index = Index::with_names(&ROWS, [(name.as_slice(), 3)]);
        assert_eq!(index.lookup(&name), Some(3));
        assert_eq!(index.lookup(&name.to_ascii_uppercase()), Some(3));
        for at in 0..len {
            for other in [0, b'@', b'[', b'`', b'{', 0x80 | name[at], name[at] ^ 0x10] {
                let mut changed = name.clone();
                changed[at] = other;
                assert_eq!(index.lookup(&changed), None, "{changed:?}");
            }
        }
        assert_eq!(index.lookup(&name[1..]), None);
        assert_eq!(index.lookup(&name[..len - 1]), None);
        assert_eq!(index.lookup(&[&name[..], b"\0"].concat()), None);
    }
}

/// Every case fold of a byte agrees with the standard library's.
#[test]
fn folding_is_ascii_and_per_byte() {
    for byte in 0..=255_u8 {
        for at in 0..8 {
            let mut bytes = *b"Z[@aA\x80\xffz";
            bytes[at] = byte;
            let folded = lower(u64::from_le_bytes(bytes)).to_le_bytes();
            assert_eq!(folded, bytes.map(|byte| byte.to_ascii_lowercase()));
        }
    }
}

#[test]
fn a_full_table_finds_all_and_nothing_else() {
    let names: Vec<String> = (0..600).map(|n| format!("c{}", n * 7919 % 100_000)).collect();
    let pairs = || names.iter().enumerate().map(|(at, name)| (name.as_bytes(), at % ROWS.len()));
    let index = Index::with_names(&ROWS, pairs());
    for (name, at) in pairs() {
        assert_eq!(index.lookup(name).map(usize::from), Some(at));
    }
    // A xorshift stream: any strings will do, they are long enough to be new.
    let mut state = 1_u64;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bytes = [state, state.rotate_left(9), state ^ MIX].map(u64::to_le_bytes).concat();
        let len = 7 + (state % 18) as usize;
        assert_eq!(index.lookup(&bytes[..len]), None);
    }
    assert_eq!(index.lookup(b""), None);
}
