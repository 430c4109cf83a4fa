//! Replies against those recorded from redis-server 7 (`redis-cli -3 --json`).

use super::*;
use crate::keys::positions;
use crate::sample::{EVAL, GET, MSET, ROWS, SET, SORT, XREAD};

/// A reply as redis-cli writes it with `--json`.
fn json(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(json).collect::<Vec<_>>().join(",");
    match value {
        Value::Simple(text) => format!("{text:?}"),
        Value::Bulk(bytes) => format!("{:?}", str::from_utf8(bytes).unwrap()),
        Value::Int(n) => n.to_string(),
        Value::Array(values) | Value::Set(values) => format!("[{}]", list(values)),
        Value::Map(pairs) => {
            let pair = |(key, value): &(Value, Value)| format!("{}:{}", json(key), json(value));
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(","))
        }
        Value::Nil => "null".into(),
    }
}

fn info_json(name: &[u8]) -> String {
    json(&command_info(ROWS, &[name]))
}

#[test]
fn info_is_that_of_redis() {
    assert_eq!(
        info_json(b"GeT"),
        r#"[["get",2,["readonly","fast"],1,1,1,["@read","@string","@fast"],[],[{"flags":["RO","access"],"begin_search":{"type":"index","spec":{"index":1}},"find_keys":{"type":"range","spec":{"lastkey":0,"keystep":1,"limit":0}}}],[]]]"#
    );
    assert_eq!(
        info_json(b"set"),
        r#"[["set",-3,["write","denyoom"],1,1,1,["@write","@string","@slow"],[],[{"notes":"RW and ACCESS due to the optional `GET` argument","flags":["RW","access","update","variable_flags"],"begin_search":{"type":"index","spec":{"index":1}},"find_keys":{"type":"range","spec":{"lastkey":0,"keystep":1,"limit":0}}}],[]]]"#
    );
    assert_eq!(
        info_json(b"mset"),
        r#"[["mset",-3,["write","denyoom"],1,-1,2,["@write","@string","@slow"],["request_policy:multi_shard","response_policy:all_succeeded"],[{"flags":["OW","update"],"begin_search":{"type":"index","spec":{"index":1}},"find_keys":{"type":"range","spec":{"lastkey":-1,"keystep":2,"limit":0}}}],[]]]"#
    );
    assert_eq!(
        info_json(b"sort"),
        r#"[["sort",-2,["write","denyoom","movablekeys"],1,1,1,["@write","@set","@sortedset","@list","@slow","@dangerous"],[],[{"flags":["RO","access"],"begin_search":{"type":"index","spec":{"index":1}},"find_keys":{"type":"range","spec":{"lastkey":0,"keystep":1,"limit":0}}},{"flags":["RO","access"],"begin_search":{"type":"unknown","spec":{}},"find_keys":{"type":"unknown","spec":{}}},{"flags":["OW","update"],"begin_search":{"type":"unknown","spec":{}},"find_keys":{"type":"unknown","spec":{}}}],[]]]"#
    );
    assert_eq!(
        info_json(b"eval"),
        r#"[["eval",-3,["noscript","stale","skip_monitor","no_mandatory_keys","movablekeys"],0,0,0,["@slow","@scripting"],[],[{"flags":["RW","access","update"],"begin_search":{"type":"index","spec":{"index":2}},"find_keys":{"type":"keynum","spec":{"keynumidx":0,"firstkey":1,"keystep":1}}}],[]]]"#
    );
    assert_eq!(
        info_json(b"xread"),
        r#"[["xread",-4,["readonly","blocking","movablekeys"],0,0,0,["@read","@stream","@slow","@blocking"],[],[{"flags":["RO","access"],"begin_search":{"type":"keyword","spec":{"keyword":"STREAMS","startfrom":1}},"find_keys":{"type":"range","spec":{"lastkey":-1,"keystep":1,"limit":2}}}],[]]]"#
    );
}

#[test]
fn containers_list_their_subcommands() {
    let encoding = r#"["object|encoding",3,["readonly"],2,2,1,["@keyspace","@read","@slow"],["nondeterministic_output"],[{"flags":["RO"],"begin_search":{"type":"index","spec":{"index":2}},"find_keys":{"type":"range","spec":{"lastkey":0,"keystep":1,"limit":0}}}],[]]"#;
    let help = r#"["object|help",2,["loading","stale"],0,0,0,["@keyspace","@slow"],[],[],[]]"#;
    assert_eq!(info_json(b"object|ENCODING"), format!("[{encoding}]"));
    assert_eq!(
        info_json(b"object"),
        format!(r#"[["object",-2,[],0,0,0,["@slow"],[],[],[{encoding},{help}]]]"#)
    );
    for unknown in [&b"nosuch"[..], b"object|nosuch", b"object|help|x", b"get|get", b""] {
        assert_eq!(info_json(unknown), "[null]");
    }
}

#[test]
fn docs_are_shaped_as_those_of_redis() {
    assert_eq!(
        json(&command_docs(ROWS, Some(&[b"set", b"nosuch"]))),
        r#"{"set":{"summary":"Sets the string value of a key.","since":"1.0.0","group":"string","complexity":"O(1)","history":[["2.6.12","Added the `EX`, `PX`, `NX` and `XX` options."]],"arguments":[{"name":"key","type":"key","display_text":"key","key_spec_index":0},{"name":"value","type":"string","display_text":"value"},{"name":"condition","type":"oneof","flags":["optional"],"arguments":[{"name":"nx","type":"pure-token","display_text":"nx","token":"NX"},{"name":"xx","type":"pure-token","display_text":"xx","token":"XX"}]},{"name":"get","type":"pure-token","display_text":"get","token":"GET","flags":["optional"]},{"name":"expiration","type":"oneof","flags":["optional"],"arguments":[{"name":"seconds","type":"integer","display_text":"seconds","token":"EX"},{"name":"milliseconds","type":"integer","display_text":"milliseconds","token":"PX"},{"name":"keepttl","type":"pure-token","display_text":"keepttl","token":"KEEPTTL"}]}]}}"#
    );
    let object = json(&command_docs(ROWS, Some(&[b"object"])));
    assert!(object.contains(r#""group":"generic","subcommands":{"object|encoding":{"summary""#));
    let Value::Map(all) = command_docs(ROWS, None) else { panic!("not a map") };
    assert_eq!(all.len(), ROWS.len());
}

#[test]
fn list_and_count() {
    let glob = |pattern: &[u8], text: &[u8]| text.starts_with(pattern.strip_suffix(b"*").unwrap());
    let list = |args: &[&[u8]]| command_list(ROWS, args, glob).map(|value| json(&value));
    let all = r#"["get","set","mset","object","object|encoding","object|help","sort","eval","xread","ping"]"#;
    assert_eq!(list(&[]).as_deref(), Ok(all));
    assert_eq!(
        list(&[b"FilterBy", b"aclcat", b"KEYSPACE"]).as_deref(),
        Ok(r#"["object|encoding","object|help"]"#)
    );
    assert_eq!(list(&[b"filterby", b"aclcat", b"nosuch"]).as_deref(), Ok("[]"));
    assert_eq!(list(&[b"filterby", b"module", b"m"]).as_deref(), Ok("[]"));
    let objects = list(&[b"filterby", b"pattern", b"object*"]);
    assert_eq!(objects.as_deref(), Ok(r#"["object","object|encoding","object|help"]"#));
    for wrong in [&[&b"x"[..]][..], &[b"filterby", b"module"], &[b"filterby", b"x", b"y"]] {
        assert_eq!(list(wrong), Err("ERR syntax error"));
    }
    assert_eq!(command_count(ROWS), Value::Int(8));
    assert_eq!(json(&command_all(ROWS)).matches("@slow").count(), 8);
}

fn getkeys(line: &str) -> String {
    let argv: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    command_getkeys(ROWS, &argv).map_or_else(str::to_owned, |value| json(&value))
}

#[test]
fn getkeys_finds_what_redis_finds() {
    const NONE: &str = "ERR The command has no key arguments";
    const ARGUMENTS: &str = "ERR Invalid arguments specified for command";
    const UNKNOWN: &str = "ERR Invalid command specified";
    const NUMBER: &str = "ERR Invalid number of arguments specified for command";
    for (line, keys) in [
        ("get a", r#"["a"]"#),
        ("get a b", NUMBER),
        ("GET", NUMBER),
        ("mset a 1 b 2", r#"["a","b"]"#),
        ("mset a 1 b", r#"["a","b"]"#),
        ("object ENCODING k", r#"["k"]"#),
        ("object help", NONE),
        ("object nosuch k", UNKNOWN),
        ("object", NONE),
        ("nosuch a", UNKNOWN),
        ("ping x", NONE),
        ("eval x 0", "[]"),
        ("eval x 0 a", "[]"),
        ("eval x 2 a b c", r#"["a","b"]"#),
        ("eval x 3 a b", "[]"),
        ("eval x z a", "[]"),
        ("eval x -1 a", "[]"),
        ("eval x 99999999999999999999 a", "[]"),
        ("xread count 2 streams a b 0 0", r#"["a","b"]"#),
        ("xread count 2 STREAMS a b 0", r#"["a"]"#),
        ("xread count 2 stream a", ARGUMENTS),
        ("xread count 2 3 streams", ARGUMENTS),
        ("sort k by streams get # store d", r#"["k","d"]"#),
        ("sort k store a store b", r#"["k","b"]"#),
        ("sort k get store x", r#"["k"]"#),
    ] {
        assert_eq!(getkeys(line), keys, "{line}");
    }
}

#[test]
fn getkeysandflags_knows_variable_flags() {
    let flags = |argv: &[&[u8]]| json(&command_getkeysandflags(ROWS, argv).unwrap());
    assert_eq!(flags(&[b"set", b"a", b"b"]), r#"[["a",["OW","update"]]]"#);
    assert_eq!(flags(&[b"set", b"a", b"b", b"get"]), r#"[["a",["RW","access","update"]]]"#);
    assert_eq!(flags(&[b"get", b"a"]), r#"[["a",["RO","access"]]]"#);
}

#[test]
fn positions_agree_with_keys_for_any_argument_type() {
    for (row, line) in [
        (&GET, "get a"),
        (&SET, "set a b get"),
        (&MSET, "mset a 1 b 2 c 3"),
        (&EVAL, "eval x 2 a b c"),
        (&XREAD, "xread streams a b 0 0"),
        (&SORT, "sort k store a"),
    ] {
        let owned: Vec<Vec<u8>> = line.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let borrowed: Vec<&[u8]> = owned.iter().map(Vec::as_slice).collect();
        let (mut all, mut at, mut at_owned) = (Vec::new(), Vec::new(), Vec::new());
        let count = keys(row, borrowed.as_slice(), &mut |key| all.push(key.index));
        assert_eq!(count, Ok(all.len()));
        assert_eq!(positions(row, borrowed.as_slice(), &mut |key| at.push(key)), count);
        assert_eq!(positions(row, owned.as_slice(), &mut |key| at_owned.push(key)), count);
        assert!(!all.is_empty() && all == at && all == at_owned, "{line}: {all:?}");
        // Too few arguments are an error or no keys; never a panic or a stray position.
        for len in 0..borrowed.len() {
            let short = &borrowed[..len];
            for found in [
                keys(row, short, &mut |key| assert!(key.index < len)),
                positions(row, short, &mut |key| assert!(key < len)),
            ] {
                assert!(len > 1 || found.is_err() || found == Ok(0), "{line} {len}: {found:?}");
            }
        }
    }
}

/// Redis does not look for a keyword in the last argument: no key could follow.
#[test]
fn an_absent_keyword_means_no_keys() {
    for argv in [&[&b"xread"[..], b"count", b"2", b"streams"], &[b"streams", b"a", b"b", b"c"]] {
        assert_eq!(positions(&XREAD, &argv[..], &mut |at| panic!("{at}")), Ok(0));
    }
}

#[test]
fn the_page_has_every_command() {
    let page = reference_page(ROWS);
    for part in [
        "## string\n\n### GET\n\nReturns the string value of a key.\n\n```text\nGET key\n```\n",
        "### OBJECT\n\nInspects the representation of a value.\n\nSubcommands: ENCODING, HELP.\n",
        "- ACL categories: @read @string @fast\n- Keys: RO access: argument 1\n\n```text\n> GET a",
        "- Keys: OW update: argument 1 to the last, every 2\n",
        "- Keys: RO access: argument after STREAMS, the first 1/2 of the rest\n",
        "- Keys: RW access update: argument 2 (their number), and those after it\n",
        "[STORE destination]\n",
        "- Since 2.6.12: Added",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}
