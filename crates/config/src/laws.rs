//! Laws over the whole table.

use std::collections::HashSet;

use crate::kind::{IMMUTABLE, MULTI, OptionKind, PROTECTED};
use crate::parse::{self, Value};
use crate::testing::get;
use crate::values::default_of;
use crate::{Area, Caller, Config, Id, ROWS, State, help, lookup};

#[test]
fn names_are_unique_lower_case_and_found() {
    let mut seen = HashSet::new();
    for row in &ROWS {
        for name in row.names() {
            assert!(seen.insert(name), "{name} stands twice");
            assert_eq!(name, name.to_ascii_lowercase());
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b"-_".contains(&b)), "{name}");
            assert_eq!(lookup(name.as_bytes()), Some(row.id));
            assert_eq!(lookup(name.to_ascii_uppercase().as_bytes()), Some(row.id));
        }
    }
}

#[test]
fn rows_stand_in_the_order_of_their_ids() {
    for (place, row) in ROWS.iter().enumerate() {
        assert_eq!(row.id as usize, place);
        assert_eq!(row.id.row().name, row.name);
    }
}

#[test]
fn every_row_is_documented() {
    for row in &ROWS {
        assert!(row.doc.len() > 20 && row.doc.ends_with('.'), "{}", row.name);
        assert!(!row.doc.contains('\n'));
        if let State::Accepted(why) | State::Refused(why) = row.state {
            assert!(!why.is_empty() && !why.ends_with('.'), "{}", row.name);
        }
        assert!(Area::ALL.iter().any(|(area, _)| *area == row.area));
    }
}

#[test]
fn options_of_several_words_say_so() {
    for row in &ROWS {
        let several = matches!(
            row.kind,
            OptionKind::Save
                | OptionKind::OutputLimits
                | OptionKind::OomValues
                | OptionKind::Bind
                | OptionKind::ReplicaOf
                | OptionKind::Percentiles
                | OptionKind::Set(_)
        );
        assert_eq!(several, row.has(MULTI), "{}", row.name);
    }
}

#[test]
fn every_default_parses_to_itself() {
    let config = Config::new();
    for row in ROWS.iter().filter(|row| !matches!(row.kind, OptionKind::Dir)) {
        let value = default_of(row.id, &config).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert_eq!(value, config.load(row.id), "{}", row.name);
        // The text that CONFIG GET shows parses to the same value.
        let shown = parse::show(row, &value);
        let words =
            if row.has(MULTI) { stdx::split::split_args(&shown).unwrap() } else { vec![shown] };
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        assert_eq!(parse::parse(row, &words, &config), Ok(value), "{}", row.name);
        assert!(config.is_default(row.id), "{}", row.name);
    }
}

/// Some values of an option, in the form in which CONFIG GET shows them.
fn examples(id: Id) -> Vec<String> {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    match id.row().kind {
        OptionKind::Bool => list(&["yes", "no", "yes"]),
        OptionKind::Off(_) => list(&["no"]),
        OptionKind::Int(min, max) => vec![min.to_string(), max.to_string(), (min + 1).to_string()],
        OptionKind::ZeroOr(min, max) => vec![min.to_string(), max.to_string(), "0".to_owned()],
        OptionKind::Hz => list(&["1", "500", "100"]),
        OptionKind::Octal(max) => vec![format!("{max:o}"), "0".to_owned()],
        OptionKind::Memory(min, max) => {
            vec![min.to_string(), max.to_string(), (min + 7).to_string()]
        }
        OptionKind::MemoryOrPercent => list(&["100%", "1%", "12345", "0"]),
        OptionKind::Choice(names) => {
            let shown = names.iter().filter(|(name, _)| *name != "relative");
            shown.map(|(name, _)| (*name).to_owned()).collect()
        }
        OptionKind::Set(_) => list(&["save", "nosave now force", "default", "now"]),
        OptionKind::Text(_) if id == Id::ProcTitleTemplate => list(&["x {port}", "{title}"]),
        OptionKind::Optional(_) if id == Id::WebSecret => {
            list(&["0123456789abcdef0123456789abcdef", ""])
        }
        OptionKind::Optional(_) if id == Id::WebTrustedProxies => list(&["10.0.0.0/8, ::1", ""]),
        OptionKind::Text(_) | OptionKind::Optional(_) => list(&["a-b.c", "x"]),
        OptionKind::Dir => vec![std::env::temp_dir().canonicalize().unwrap().display().to_string()],
        OptionKind::Save => list(&["", "900 1", "900 0 3 4"]),
        OptionKind::OutputLimits => list(&[
            "normal 1 2 3 slave 4 5 6 pubsub 7 8 9",
            "normal 0 0 0 slave 0 0 0 pubsub 0 0 0",
        ]),
        OptionKind::OomValues => list(&["-2000 0 2000", "0 0 0"]),
        OptionKind::Events => list(&["AKE", "$xnKE", "gm", ""]),
        OptionKind::Bind => list(&["127.0.0.1 -::1", "", "*"]),
        OptionKind::ReplicaOf => list(&["host 6379", ""]),
        OptionKind::Percentiles => list(&["50.5 99.99 100", "", "0"]),
    }
}

#[test]
fn what_is_set_is_what_is_got() {
    for row in &ROWS {
        let config = Config::new();
        // The start may set every option, CONFIG SET those that it can change: both must agree.
        let runtime = !row.has(IMMUTABLE) && !row.has(PROTECTED);
        for text in examples(row.id) {
            if runtime {
                let pair = (row.name.as_bytes(), text.as_bytes());
                config.set(&[pair], Caller::default(), &mut |_, _| Ok(())).unwrap();
                assert_eq!(get(&config, row.name), text, "{}", row.name);
            }
            let line = format!("{} {}", row.name, stdx::repr::quoted(text.as_bytes()));
            let fresh = Config::new();
            let loaded = crate::load_text(&fresh, "test", line.as_bytes());
            match row.state {
                State::Refused(why) if !fresh.is_default(row.id) => {
                    let said = loaded.unwrap_err().to_string();
                    assert!(said.starts_with("test:1: '") && said.ends_with(why), "{said}");
                }
                _ => drop(loaded.unwrap()),
            }
            assert_eq!(get(&fresh, row.name), text, "{line}");
            for alias in row.aliases {
                assert_eq!(get(&fresh, alias), text, "{alias}");
            }
        }
    }
}

#[test]
fn no_text_of_a_client_panics() {
    let config = Config::new();
    let long = "9".repeat(500);
    let many = "1 ".repeat(300);
    let texts: [&[u8]; 16] = [
        b"",
        b" ",
        b"-",
        b"-1",
        b"\xff\xfe",
        b"0x",
        b"1gbb",
        b"%",
        b"-1%",
        b"{",
        b"{{",
        b"nan",
        b"1e400",
        b"-9223372036854775808",
        long.as_bytes(),
        many.as_bytes(),
    ];
    for row in &ROWS {
        for text in texts {
            let _ =
                config.set(&[(row.name.as_bytes(), text)], Caller::default(), &mut |_, _| Ok(()));
            let _ = config.show(row.id);
        }
    }
    let _ = config.save_points();
    let _ = config.latency_percentiles();
}

#[test]
fn the_accessors_show_what_was_set() {
    let config = Config::new();
    assert_eq!(config.save_points(), [(3600, 1), (300, 100), (60, 10000)]);
    assert_eq!(config.latency_percentiles(), [50.0, 99.0, 99.9]);
    assert_eq!(config.list(Id::Bind), ["*", "-::*"]);
    let replica = config.output_limits(crate::ClientClass::Replica);
    assert_eq!((replica.hard, replica.soft, replica.soft_seconds), (256 << 20, 64 << 20, 60));
    assert_eq!(
        config.chosen::<crate::MaxmemoryPolicy>(Id::MaxmemoryPolicy),
        crate::MaxmemoryPolicy::Noeviction
    );
    assert_eq!(config.notify_keyspace_events(), 0);
    assert!(config.flag(Id::ProtectedMode));
    assert_eq!(config.string(Id::Appendfilename), "appendonly.aof");
    assert!(matches!(config.load(Id::Port), Value::Number(6379)));
    assert!(!format!("{config:?}").contains("6379"), "Debug must not show values");
}

#[test]
fn the_nearest_name_is_the_one_meant() {
    for (given, near) in [
        ("prot", "port"),
        ("maxmemroy", "maxmemory"),
        ("--maxmemory-polcy", "maxmemory-policy"),
        ("appendfync", "appendfsync"),
        ("INCLUD", "include"),
        ("port=7000", "port"),
    ] {
        assert_eq!(help::nearest(given), Some(near), "{given}");
    }
    assert_eq!(help::nearest("completely-different"), None);
    assert_eq!(help::nearest(&"x".repeat(1 << 20)), None);
    assert_eq!(help::nearest(""), None);
}

#[test]
fn help_and_reference_name_every_visible_option() {
    let (help, reference) = (help::serve(), help::reference());
    for row in ROWS.iter().filter(|row| !row.has(crate::HIDDEN)) {
        assert!(reference.contains(&format!("| `{}`", row.name)), "{}", row.name);
        let effective = row.state == State::Effective;
        assert_eq!(help.contains(&format!("  --{} <", row.name)), effective, "{}", row.name);
    }
    let docs = help.lines().filter(|line| line.starts_with("        "));
    assert!(docs.into_iter().all(|line| line.chars().count() <= 100));
    assert!(Config::new().debug_info().contains("io-threads 1\n"));
}

/// Options whose code is this crate's own, with the functions that other crates call.
const OWN: &[(Id, &str)] = &[
    (Id::EnableProtectedConfigs, "Caller {"),
    (Id::ClientOutputBufferLimit, "output_limits("),
    (Id::Save, "save_points("),
    (Id::LatencyTrackingInfoPercentiles, "latency_percentiles("),
    (Id::NotifyKeyspaceEvents, "notify_keyspace_events("),
];

/// Options without an effect that code reads, and why reading them is no effect.
const SHOWN: &[(Id, &str)] = &[(Id::ReplBacklogSize, "INFO shows it")];

/// The code of all crates, without their tests.
fn code(dir: &std::path::Path, text: &mut String) {
    for file in std::fs::read_dir(dir).expect("a directory of sources") {
        let path = file.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_dir() {
            code(&path, text);
        } else if name.ends_with(".rs") && !["laws.rs", "tests.rs", "testing.rs"].contains(&name) {
            let source = std::fs::read_to_string(&path).expect("a source file");
            text.push_str(source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
        }
    }
}

/// The positions where `id` stands as a whole word.
fn names(text: &str, id: Id) -> bool {
    let word = format!("Id::{id:?}");
    let ends = |at: usize| !text.as_bytes()[at..].first().is_some_and(u8::is_ascii_alphanumeric);
    text.match_indices(&word).any(|(at, _)| ends(at + word.len()))
}

#[test]
fn every_effective_option_is_read_and_no_other() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for dir in std::fs::read_dir(&crates).expect("the crates") {
        let dir = dir.expect("an entry").path();
        if !dir.ends_with("config") && dir.join("src").is_dir() {
            code(&dir.join("src"), &mut text);
        }
    }
    let mut wrong = Vec::new();
    for row in &ROWS {
        let own = OWN.iter().find(|(id, _)| *id == row.id);
        let read = names(&text, row.id) || own.is_some_and(|(_, call)| text.contains(call));
        let shown = SHOWN.iter().any(|(id, _)| *id == row.id);
        match row.state {
            State::Effective if !read => wrong.push(format!("{} is read nowhere", row.name)),
            State::Accepted(_) if read && !shown => {
                wrong.push(format!("{} is said to have no effect and is read", row.name));
            }
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
