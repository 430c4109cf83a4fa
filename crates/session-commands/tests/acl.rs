//! Access control: the refusals, when a change takes effect, and that users survive being written to
//! a file.

mod common;

use common::{Conn, Server, array, replies, request};
use config::Config;
use stdx::rng::Rng;
use testing::TempDir;
use transcript::Reply;

const DENIED_KEY: &str = "-NOPERM No permissions to access a key\r\n";
const OK: &str = "+OK\r\n";

fn denied(user: &str, command: &str) -> String {
    format!("-NOPERM User {user} has no permissions to run the '{command}' command\r\n")
}

/// A server, a connection of the default user, and one of `alice`, whose rules these are.
fn with_alice(rules: &str) -> (Server, Conn, Conn) {
    let mut s = Server::new();
    let mut admin = s.connect();
    assert_eq!(s.send(&mut admin, &format!("ACL SETUSER alice on nopass {rules}")), OK);
    let mut alice = s.connect();
    assert_eq!(s.send(&mut alice, "AUTH alice x"), OK);
    (s, admin, alice)
}

fn texts(reply: &Reply) -> Vec<Vec<u8>> {
    match reply {
        Reply::Array(items) => items.iter().flat_map(texts).collect(),
        Reply::Bulk(bytes) => vec![bytes.clone()],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_counts_from_the_next_command_on() {
    let (mut s, _, mut alice) = with_alice("allkeys allchannels allcommands");
    let lines = ["SET k v", "GET k", "ACL SETUSER alice -get", "GET k", "SET k w", "GET k"];
    let input: Vec<u8> = lines.iter().flat_map(|l| request(l)).collect();
    let got = String::from_utf8(s.feed(&mut alice, &input)).expect("text");
    let no = denied("alice", "get");
    assert_eq!(got, format!("{OK}$1\r\nv\r\n{OK}{no}{OK}{no}"));
}

#[test]
fn keys_by_what_is_done_with_them() {
    let (mut s, mut admin, mut alice) = with_alice("+@all %R~r:* %W~w:* ~rw:* allchannels");
    for (line, allowed) in [
        ("GET r:1", true),
        ("GET w:1", false),
        ("GET rw:1", true),
        ("GET x", false),
        ("SET w:1 v", true),
        ("SET r:1 v", false),
        // This form answers the old value.
        ("SET w:1 v GET", false),
        ("SET rw:1 v GET", true),
        ("COPY r:1 w:2", true),
        ("COPY w:1 r:2", false),
        ("MSET w:1 a w:2 b", true),
        ("MSET w:1 a r:2 b", false),
        ("SORT r:1 STORE w:3", true),
        ("SORT r:1 STORE r:3", false),
        // Whether a key is there is its metadata.
        ("EXISTS r:1 w:1", true),
        ("STRLEN w:1", true),
        ("EXISTS x", false),
        ("PING", true),
        ("MEMORY USAGE r:1", true),
        ("MEMORY USAGE x", false),
        ("XREAD STREAMS r:1 r:2 0 0", true),
        ("XREAD STREAMS r:1 w:2 0 0", false),
        ("GETEX w:1", false),
    ] {
        let got = s.send(&mut alice, line);
        assert_eq!(got != DENIED_KEY, allowed, "{line}: {got}");
        let dry = s.send(&mut admin, &format!("ACL DRYRUN alice {line}"));
        assert_eq!(dry == OK, allowed, "{line}: {dry}");
    }
}

#[test]
fn one_selector_must_allow_all_of_it() {
    let (mut s, _, mut alice) = with_alice("+get ~a (+set ~b) (+@string ~c)");
    for (line, allowed) in [
        ("GET a", true),
        ("SET b 1", true),
        ("GET b", false),
        ("SET a 1", false),
        ("MGET a c", false),
        ("MGET c c", true),
    ] {
        let got = s.send(&mut alice, line);
        assert_eq!(!got.starts_with("-NOPERM"), allowed, "{line}: {got}");
    }
}

#[test]
fn sort_reaches_keys_that_nobody_named() {
    let (mut s, mut admin, mut alice) = with_alice("+@all ~l (+sort %R~* ~s)");
    s.send(&mut admin, "RPUSH l 2 1");
    let by = "-ERR BY option of SORT denied due to insufficient ACL permissions.\r\n";
    let get = "-ERR GET option of SORT denied due to insufficient ACL permissions.\r\n";
    // Reading everything is allowed for SORT without STORE alone.
    assert_eq!(s.send(&mut alice, "SORT l BY w_* GET #"), "*2\r\n$1\r\n1\r\n$1\r\n2\r\n");
    assert_eq!(s.send(&mut alice, "SORT_RO l BY w_*"), by);
    assert_eq!(s.send(&mut alice, "SORT_RO l BY nosort GET w_*"), get);
    assert_eq!(s.send(&mut alice, "SORT l BY w_* STORE l"), by);
    assert_eq!(s.send(&mut alice, "SORT_RO l BY nosort"), "*2\r\n$1\r\n2\r\n$1\r\n1\r\n");
    assert_eq!(s.send(&mut admin, "SORT l BY w_* STORE l"), ":2\r\n");
}

#[test]
fn transactions_are_checked_twice() {
    let (mut s, mut admin, mut alice) = with_alice("~a ~b +multi +exec +set +incr");
    s.send(&mut alice, "MULTI");
    assert_eq!(s.send(&mut alice, "SET c 1"), DENIED_KEY);
    assert!(s.send(&mut alice, "EXEC").starts_with("-EXECABORT"));
    s.send(&mut alice, "MULTI");
    for line in ["SET a 1", "SET b 1", "INCR a"] {
        assert_eq!(s.send(&mut alice, line), "+QUEUED\r\n");
    }
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice resetkeys ~a -incr"), OK);
    let got = s.send(&mut alice, "EXEC");
    let no = "-NOPERM ACLs rules changed between the moment the transaction was accumulated and \
              the EXEC call. This command is no longer allowed for the following reason: no \
              permission to";
    let expected = format!(
        "*3\r\n{OK}{no} touch the specified keys\r\n{no} execute the command or subcommand\r\n"
    );
    assert_eq!(got, expected);
    assert_eq!(s.send(&mut admin, "MGET a b"), "*2\r\n$1\r\n1\r\n$-1\r\n");
    let log = s.send(&mut admin, "ACL LOG");
    assert!(log.contains("multi") && log.contains("$4\r\nincr\r\n") && !log.contains("toplevel"));
}

#[test]
fn a_blocked_command_is_checked_when_it_goes_on() {
    let (mut s, mut admin, mut alice) = with_alice("+@all ~l");
    assert_eq!(s.send(&mut alice, "BLPOP l 0"), "");
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice resetkeys"), OK);
    assert_eq!(s.send(&mut admin, "RPUSH l x"), ":1\r\n");
    assert_eq!(String::from_utf8_lossy(&s.deliver(&mut alice)), DENIED_KEY);
    assert_eq!(s.send(&mut admin, "LLEN l"), ":1\r\n");
    assert_eq!(s.send(&mut alice, "PING"), "+PONG\r\n");
}

#[test]
fn subscribers_go_with_the_permission() {
    let (mut s, mut admin, mut alice) = with_alice("+@all &news &news.* &n*");
    let mut other = s.connect();
    s.send(&mut other, "AUTH alice x");
    assert_eq!(
        s.send(&mut alice, "SUBSCRIBE news x"),
        "-NOPERM No permissions to access a channel\r\n"
    );
    // A pattern is not matched: it must be in the list itself.
    assert!(s.send(&mut alice, "PSUBSCRIBE ne*").starts_with("-NOPERM"));
    assert!(s.send(&mut alice, "PSUBSCRIBE news.*").starts_with("*3"));
    assert!(s.send(&mut other, "SUBSCRIBE news").starts_with("*3"));
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice &more"), OK);
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice resetchannels &n*"), OK);
    assert!(alice.session.client.closing.load(std::sync::atomic::Ordering::Relaxed));
    assert!(!s.send(&mut admin, "CLIENT LIST").contains("psub=1"));
    assert_eq!(s.send(&mut other, "PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    assert!(!other.closed);
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice resetchannels"), OK);
    assert_eq!(s.send(&mut other, "PING"), "");
    assert!(other.closed);
}

#[test]
fn who_withdraws_his_own_channel_is_told_so_first() {
    let (mut s, _, mut alice) = with_alice("+@all ~* &*");
    s.send(&mut alice, "HELLO 3");
    s.send(&mut alice, "SUBSCRIBE news");
    assert_eq!(s.send(&mut alice, "ACL SETUSER alice resetchannels"), OK);
    s.send(&mut alice, "PING");
    assert!(alice.closed);
}

#[test]
fn a_deleted_user_is_gone_even_if_the_name_comes_back() {
    let (mut s, mut admin, mut alice) = with_alice("+@all ~* &*");
    assert_eq!(s.send(&mut admin, "ACL DELUSER alice"), ":1\r\n");
    assert_eq!(s.send(&mut admin, "ACL SETUSER alice on nopass +@all ~* &*"), OK);
    assert_eq!(s.send(&mut alice, "SET k v"), "");
    assert!(alice.closed);
    assert_eq!(s.send(&mut admin, "EXISTS k"), ":0\r\n");
    let mut again = s.connect();
    assert_eq!(s.send(&mut again, "AUTH alice x"), OK);
    assert_eq!(s.send(&mut again, "ACL DELUSER alice"), ":1\r\n");
    s.send(&mut again, "PING");
    assert!(again.closed);
}

#[test]
fn clients_are_found_by_their_user() {
    let (mut s, mut admin, mut alice) = with_alice("+client|list +client|kill");
    assert!(s.send(&mut alice, "CLIENT LIST").contains(" user=alice "));
    assert!(s.send(&mut alice, "CLIENT LIST").contains(" user=default "));
    assert_eq!(s.send(&mut alice, "CLIENT KILL USER alice"), ":0\r\n");
    assert_eq!(s.send(&mut admin, "CLIENT KILL USER alice"), ":1\r\n");
    assert_eq!(s.send(&mut alice, "CLIENT LIST"), "");
}

#[test]
fn passwords() {
    let mut s = Server::new();
    let mut c = s.connect();
    assert_eq!(s.send(&mut c, "ACL SETUSER alice on >one >two"), OK);
    let wrong = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    for (password, right) in [("one", true), ("two", true), ("three", false), ("", false)] {
        let got = s.send(&mut c, &format!("AUTH alice \"{password}\""));
        assert_eq!(got == OK, right, "{password}");
        assert_eq!(s.send(&mut c, "AUTH default x"), OK);
    }
    assert_eq!(s.send(&mut c, "ACL SETUSER alice <one"), OK);
    assert_eq!(s.send(&mut c, "AUTH alice one"), wrong);
    assert_eq!(s.send(&mut c, "ACL SETUSER alice off"), OK);
    assert_eq!(s.send(&mut c, "AUTH alice two"), wrong);
    assert_eq!(s.send(&mut c, "HELLO 2 AUTH alice two"), wrong);
    let info = s.send(&mut c, "INFO stats");
    assert!(info.contains("acl_access_denied_auth:5\r\n"), "{info}");
    // The default user may be closed like any other.
    assert_eq!(s.send(&mut c, "ACL SETUSER default off"), OK);
    let mut late = s.connect();
    assert_eq!(s.send(&mut late, "PING"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(s.send(&mut c, "PING"), "+PONG\r\n");
    assert_eq!(s.send(&mut c, "ACL SETUSER alice on +@all"), OK);
    assert_eq!(s.send(&mut late, "HELLO 3 AUTH alice two").as_bytes().first(), Some(&b'%'));
    assert_eq!(s.send(&mut late, "ACL WHOAMI"), "$5\r\nalice\r\n");
    // The option's value becomes the default user's password only when it changes.
    assert_eq!(s.send(&mut c, "ACL SETUSER default on >mine"), OK);
    assert_eq!(s.send(&mut c, "CONFIG SET maxmemory 0"), OK);
    assert_eq!(s.send(&mut late, "AUTH mine"), OK);
    assert_eq!(s.send(&mut c, "CONFIG SET requirepass other"), OK);
    assert_eq!(s.send(&mut late, "AUTH mine"), wrong);
    assert_eq!(s.send(&mut late, "AUTH other"), OK);
}

#[test]
fn the_log_joins_what_is_alike() {
    let (mut s, mut admin, mut alice) = with_alice("+get ~a");
    s.send(&mut admin, "CONFIG RESETSTAT");
    for _ in 0..3 {
        s.send(&mut alice, "GET b");
    }
    s.send(&mut alice, "SET a 1");
    s.wait_ms(61_000);
    s.send(&mut alice, "GET b");
    let log = replies(s.send(&mut admin, "ACL LOG").as_bytes());
    let Some(Reply::Array(entries)) = log.first() else { panic!("{log:?}") };
    let shown: Vec<String> = entries.iter().map(|e| format!("{e:?}")).collect();
    assert_eq!(entries.len(), 3, "{shown:?}");
    let count = |e: &Reply| match e {
        Reply::Array(fields) => fields.get(1).cloned(),
        _ => None,
    };
    let counts: Vec<_> = entries.iter().map(count).collect();
    assert_eq!(counts, [1, 1, 3].map(|n| Some(Reply::Integer(n))));
    let info = s.send(&mut admin, "INFO stats");
    assert!(info.contains("acl_access_denied_cmd:1\r\nacl_access_denied_key:4\r\n"), "{info}");
    s.configure("acllog-max-len", "1");
    s.send(&mut alice, "GET c");
    assert_eq!(replies(s.send(&mut admin, "ACL LOG").as_bytes()).len(), 1);
}

/// A random rule; some are refused.
fn rule(rng: &mut Rng) -> Vec<u8> {
    const PATTERNS: [&[u8]; 12] = [
        b"*",
        b"a:*",
        b"",
        b"[ab]?",
        b"x\"y",
        b"it's",
        b"end)",
        b"(open",
        b"\xff\x01",
        b"a\\*",
        b"|",
        b"b:*",
    ];
    const COMMANDS: [&str; 14] = [
        "get",
        "SET",
        "config",
        "config|get",
        "CONFIG|SET",
        "client|kill",
        "select|0",
        "select|A",
        "nosuch",
        "config|nosuch",
        "@read",
        "@Write",
        "@all",
        "@slow",
    ];
    const WORDS: [&str; 14] = [
        "on",
        "off",
        "nopass",
        "resetpass",
        "ALLKEYS",
        "resetkeys",
        "allchannels",
        "resetchannels",
        "allcommands",
        "nocommands",
        "clearselectors",
        "reset",
        "skip-sanitize-payload",
        "what",
    ];
    let pattern = PATTERNS[rng.index(PATTERNS.len())];
    let prefix = |p: &str| [p.as_bytes(), pattern].concat();
    match rng.below(9) {
        0 => WORDS[rng.index(WORDS.len())].as_bytes().to_vec(),
        1 => prefix("~"),
        2 => prefix(["%R~", "%W~", "%rw~"][rng.index(3)]),
        3 => prefix("&"),
        4 => format!(">{}", rng.below(4)).into_bytes(),
        5 => format!("<{}", rng.below(4)).into_bytes(),
        6 | 7 => {
            let sign = if rng.below(2) == 0 { '+' } else { '-' };
            format!("{sign}{}", COMMANDS[rng.index(COMMANDS.len())]).into_bytes()
        }
        _ => {
            let inner: Vec<Vec<u8>> = (0..rng.below(4)).map(|_| rule(rng)).collect();
            let plain = inner.into_iter().filter(|r| !r.starts_with(b"("));
            let words: Vec<Vec<u8>> = plain.map(|r| stdx::repr::quoted(&r).into_bytes()).collect();
            [b"(".as_slice(), &words.join(&b' '), b")"].concat()
        }
    }
}

/// The line of ACL LIST about a user, behind the name.
fn line_of(s: &mut Server, c: &mut Conn, user: &str) -> Option<Vec<u8>> {
    let lines = texts(&replies(&s.feed(c, &request("ACL LIST"))).remove(0));
    let start = format!("user {user} ").into_bytes();
    lines.iter().find_map(|l| l.strip_prefix(start.as_slice()).map(<[u8]>::to_vec))
}

#[test]
fn what_is_listed_makes_the_same_user_again() {
    let mut rng = Rng::from_seed(7);
    let mut s = Server::new();
    let mut c = s.connect();
    let (mut refused, mut taken) = (0, 0);
    for round in 0..3000 {
        if round % 8 == 0 {
            s.send(&mut c, "ACL DELUSER a");
            s.configure("acl-pubsub-default", ["allchannels", "resetchannels"][rng.index(2)]);
        }
        let before = line_of(&mut s, &mut c, "a");
        let mut words: Vec<Vec<u8>> = ["ACL", "SETUSER", "a"].map(Vec::from).to_vec();
        words.extend((0..rng.below(4)).map(|_| rule(&mut rng)));
        let reply = s.feed(&mut c, &array(&words));
        let after = line_of(&mut s, &mut c, "a");
        if reply != OK.as_bytes() {
            refused += 1;
            assert_eq!(before, after, "a refusal changes nothing");
            continue;
        }
        taken += 1;
        let line = after.expect("the user is there now");
        s.send(&mut c, "ACL DELUSER b");
        let mut words: Vec<&[u8]> = vec![b"ACL", b"SETUSER", b"b"];
        words.extend(line.split(|b| *b == b' '));
        let reply = s.feed(&mut c, &array(&words));
        let shown = String::from_utf8_lossy(&line).into_owned();
        assert_eq!(String::from_utf8_lossy(&reply), OK, "{shown}");
        assert_eq!(line_of(&mut s, &mut c, "b"), Some(line), "{shown}");
        let (a, b) = (request("ACL GETUSER a"), request("ACL GETUSER b"));
        assert_eq!(s.feed(&mut c, &a), s.feed(&mut c, &b), "{shown}");
    }
    assert!(refused > 100 && taken > 1000, "{refused} {taken}");
}

#[test]
fn every_key_that_is_locked_is_checked() {
    const WORDS: [&str; 22] = [
        "a",
        "b",
        "1",
        "2",
        "0",
        "-1",
        "STREAMS",
        "GROUP",
        "STORE",
        "GET",
        "BY",
        "SET",
        "KEYS",
        "COUNT",
        "WEIGHTS",
        "LIMIT",
        "NX",
        "EX",
        "STOREDIST",
        "u8",
        "x",
        "LEFT",
    ];
    let mut rng = Rng::from_seed(11);
    let s = Server::new();
    let (mut calls, mut found) = (0, 0);
    for cmd in s.engine.table.all() {
        let names: Vec<&str> = cmd.row.name.split('|').collect();
        for _ in 0..400 {
            let mut argv: Vec<&[u8]> = names.iter().map(|n| n.as_bytes()).collect();
            argv.extend((0..rng.below(9)).map(|_| WORDS[rng.index(WORDS.len())].as_bytes()));
            if !cmd.row.arity_fits(argv.len()) {
                continue;
            }
            let (mut locked, mut checked) = (Vec::new(), Vec::new());
            let argv = argv.as_slice();
            let locks = commands::keys::positions(cmd.row, argv, &mut |i| locked.push(i));
            let checks = commands::keys::keys(cmd.row, argv, &mut |k| checked.push(k.index));
            calls += 1;
            // Where the second fails, the first is asked instead.
            if locks.is_ok() && checks.is_ok() {
                found += locked.len();
                locked.retain(|i| !checked.contains(i));
                let shown = String::from_utf8_lossy(&argv.join(&b' ')).into_owned();
                assert!(locked.is_empty(), "{shown}: {locked:?} but not {checked:?}");
            }
        }
    }
    assert!(calls > 10_000 && found > 10_000, "{calls} {found}");
}

fn loaded(text: &str) -> (Config, Vec<Vec<u8>>) {
    let config = Config::new();
    let loaded = config::load_text(&config, "test", text.as_bytes()).expect("a configuration");
    (config, loaded.users)
}

#[test]
fn users_live_in_a_file_of_their_own() {
    let dir = TempDir::new();
    let path = dir.write("users", b"user alice on >pw +@all ~* &*\n\nuser bob on nopass +get ~b\n");
    let (config, users) = loaded(&format!("aclfile {}", path.display()));
    let mut s = Server::configured(config, None);
    s.engine.load_users(&users).expect("they are in order");
    let mut c = s.connect();
    let mut bob = s.connect();
    assert_eq!(s.send(&mut c, "AUTH alice pw"), OK);
    assert_eq!(s.send(&mut bob, "AUTH bob x"), OK);
    assert_eq!(s.send(&mut c, "ACL SETUSER bob +set"), OK);
    assert_eq!(
        s.send(&mut c, "ACL SETUSER carol on (+get ~\"x y\""),
        "-ERR Unmatched parenthesis in acl selector starting at '(+get'.\r\n"
    );
    assert_eq!(s.send(&mut c, "ACL SETUSER carol on nopass \"(+get ~e))\""), OK);
    assert_eq!(s.send(&mut c, "ACL SAVE"), OK);
    let list = s.send(&mut c, "ACL LIST");
    assert_eq!(s.send(&mut c, "ACL SETUSER bob reset"), OK);
    assert_eq!(s.send(&mut c, "ACL LOAD"), OK);
    assert_eq!(s.send(&mut c, "ACL LIST"), list);
    // Connections stay with their users.
    assert_eq!(s.send(&mut bob, "SET b 1"), OK);
    // One error, and nothing has changed.
    dir.write("users", b"user alice on +nosuch ~* %X~a\nbob\nuser alice\nuser d on (~a\n");
    let got = s.send(&mut c, "ACL LOAD");
    let at = path.display();
    assert_eq!(
        got,
        format!(
            "-ERR {at}:1: Error in applying operation '+nosuch': Unknown command or category name in \
         ACL. {at}:1: Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and \
         does not have any effect. Try 'resetkeys' to start with an empty list of patterns. {at}:2 \
         should start with user keyword followed by the username. WARNING: Duplicate user 'alice' \
         found on line 3. {at}:4: Unmatched parenthesis in selector definition. WARNING: ACL errors \
         detected, no change to the previously active ACL rules was performed\r\n"
        )
    );
    assert_eq!(s.send(&mut c, "ACL LIST"), list);
    // Users that are not in the file are deleted.
    dir.write("users", b"user alice on >pw +@all ~* &*\n");
    assert_eq!(s.send(&mut c, "ACL LOAD"), OK);
    assert_eq!(s.send(&mut bob, "GET b"), "");
    assert!(bob.closed);
    assert_eq!(s.send(&mut c, "ACL USERS"), "*2\r\n$5\r\nalice\r\n$7\r\ndefault\r\n");
}

#[test]
fn users_live_in_the_configuration_file() {
    let dir = TempDir::new();
    let text = "requirepass secret\nuser alice on >pw +@all ~* &*\nuser bob on +get (~it +set)\n";
    let path = dir.write("apus.conf", text.as_bytes());
    let (config, users) = loaded(text);
    let mut s = Server::configured(config, Some(path.clone()));
    s.engine.load_users(&users).expect("they are in order");
    let mut c = s.connect();
    assert_eq!(s.send(&mut c, "PING"), "-NOAUTH Authentication required.\r\n");
    assert_eq!(s.send(&mut c, "AUTH secret"), OK);
    assert_eq!(
        s.send(&mut c, "ACL SETUSER bob \"~a\\\"b\" &\"\\xff\" \"(~'x y' +get)\""),
        "-ERR Error in ACL SETUSER modifier '(~'x y' +get)': Syntax error\r\n"
    );
    assert_eq!(
        s.send(&mut c, "ACL SETUSER bob \"~a\\\"b\" \"&\\xff\" \"(~\\\"c\\\\\\\"d\\\" +get)\""),
        OK
    );
    let list = s.feed(&mut c, &request("ACL LIST"));
    assert_eq!(s.send(&mut c, "CONFIG REWRITE"), OK);
    let text = std::fs::read_to_string(&path).expect("the file");
    let (config, users) = loaded(&text);
    let mut again = Server::configured(config, None);
    again.engine.load_users(&users).expect("they are in order");
    let mut c = again.connect();
    assert_eq!(again.send(&mut c, "AUTH secret"), OK);
    assert_eq!(again.feed(&mut c, &request("ACL LIST")), list, "{text}");
}

#[test]
fn a_server_does_not_start_with_users_that_are_wrong() {
    for (text, why) in [
        ("user a on\nuser a off", "Duplicate user"),
        ("user a +nosuch", "Unknown command"),
        ("user a (~x", "Unmatched parenthesis"),
        ("user \"a b\" on", "Spaces not allowed"),
        ("aclfile /nowhere/at/all", "No such file"),
        ("aclfile x\nuser a on", "one of the two"),
    ] {
        let (config, users) = loaded(text);
        let e = Server::configured(config, None).engine.load_users(&users).expect_err(text);
        assert!(e.contains(why), "{text}: {e}");
    }
    let (config, users) = loaded("user a on >hush >hush ~* ~x <nohush");
    let e = Server::configured(config, None).engine.load_users(&users).expect_err("wrong");
    assert!(!e.contains("hush"), "{e}");
}
