//! Server commands in ways that a transcript cannot show: hooks, the clock, files, several
//! connections.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use config::{Config, Id};
use parking_lot::Mutex;
use resp::Proto;
use support::Server;
use transcript::Reply;

fn debugging() -> Server {
    Server::with_config("enable-debug-command local")
}

#[test]
fn debug_is_for_those_it_is_configured_for() {
    let mut server = Server::with_config("");
    let mut session = server.connect(Proto::V2);
    for line in ["DEBUG HELP", "DEBUG DIGEST", "DEBUG nosuch"] {
        let text = server.show(&mut session, line);
        assert!(text.starts_with("(error) ERR DEBUG command not allowed. If the"), "{text}");
    }
    assert!(server.show(&mut session, "INFO commandstats").contains("rejected_calls=3"));
    let mut server = debugging();
    let mut session = server.connect(Proto::V2);
    assert!(server.show(&mut session, "DEBUG HELP").contains("DEBUG <subcommand>"));
    assert_eq!(
        server.show(&mut session, "DEBUG SLEEP"),
        "(error) ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP."
    );
}

/// The digests are the answers of redis-server 7.0.15 for the same data.
#[test]
fn digests_are_those_of_redis() {
    let mut server = debugging();
    let mut s = server.connect(Proto::V2);
    assert_eq!(server.show(&mut s, "DEBUG DIGEST"), "0".repeat(40));
    for line in ["SET k v", "SET n 42", "SET e x EX 1000", "SELECT 3", "SET other 'hello world'"] {
        assert_eq!(server.show(&mut s, line), "OK");
    }
    assert_eq!(server.show(&mut s, "DEBUG DIGEST"), DIGEST);
    assert_eq!(server.show(&mut s, "SELECT 0"), "OK");
    let values = server.show(&mut s, "DEBUG DIGEST-VALUE k n e nosuch");
    assert_eq!(values, VALUES);
}

const DIGEST: &str = "f608ac4815223ec1fd93aaf68fc6ccab70a1434c";
const VALUES: &str = "1) d79ee9fe5d5ad902d7f6620efc3b07b75ddd742f
2) 547a004a370bc71c2d611f010c52f2e7b64c77a4
3) 0745672cb1bf060476eedeb8a28f5ffe1ff5a2be
4) 0000000000000000000000000000000000000000";

#[test]
fn debug_protocol_knows_every_type() {
    let mut server = debugging();
    let (mut two, mut three) = (server.connect(Proto::V2), server.connect(Proto::V3));
    for (name, v2, v3) in [
        ("string", "\"Hello World\"", "\"Hello World\""),
        ("integer", "(integer) 12345", "(integer) 12345"),
        ("double", "\"3.141\"", "(double) 3.141"),
        ("null", "(nil)", "(nil)"),
        ("true", "(integer) 1", "(true)"),
        ("false", "(integer) 0", "(false)"),
        ("verbatim", "\"This is a verbatim\\nstring\"", "This is a verbatim\nstring"),
        (
            "bignum",
            "\"1234567999999999999999999999999999999\"",
            "(big number) 1234567999999999999999999999999999999",
        ),
        (
            "attrib",
            "\"Some real reply following the attribute\"",
            "\"Some real reply following the attribute\"",
        ),
        (
            "push",
            "(error) ERR RESP2 is not supported by this command",
            "1) \"server-cpu-usage\"\n2) (integer) 42",
        ),
    ] {
        let line = format!("DEBUG PROTOCOL {name}");
        assert_eq!(server.show(&mut two, &line), v2);
        assert_eq!(server.show(&mut three, &line), v3);
    }
}

#[test]
fn populate_object_and_tables() {
    let mut server = debugging();
    let mut s = server.connect(Proto::V2);
    assert_eq!(server.show(&mut s, "SET key:3 mine"), "OK");
    assert_eq!(server.show(&mut s, "DEBUG POPULATE 100"), "OK");
    assert_eq!(server.show(&mut s, "GET key:3"), "\"mine\"");
    assert_eq!(server.show(&mut s, "GET key:99"), "\"value:99\"");
    assert_eq!(server.show(&mut s, "DEBUG POPULATE 2 p 9"), "OK");
    assert_eq!(server.show(&mut s, "GET p:1"), "\"value:1\\x00\\x00\"");
    let text = server.show(&mut s, "DEBUG HTSTATS 0");
    assert!(text.contains("number of elements: 102"), "{text}");
    assert!(text.contains("[Expires HT]\\nNo stats available"), "{text}");
    assert_eq!(server.show(&mut s, "DEBUG HTSTATS 16"), "(error) ERR Out of range database");
    assert_eq!(server.show(&mut s, "SET n 300"), "OK");
    server.clock.advance_ms(5_000);
    let text = server.show(&mut s, "DEBUG OBJECT n");
    assert!(text.contains("encoding:int serializedlength:3 lru:"), "{text}");
    assert!(text.ends_with("lru_seconds_idle:5"), "{text}");
    assert_eq!(server.show(&mut s, "DEBUG OBJECT nosuch"), "(error) ERR no such key");
    server.show(&mut s, "CONFIG SET list-max-listpack-size 1");
    server.show(&mut s, "RPUSH long a b c");
    let text = server.show(&mut s, "DEBUG OBJECT long");
    assert!(text.ends_with(" ql_listpack_max:1 ql_compressed:1"), "{text}");
    server.show(&mut s, "HSET small f v");
    assert_eq!(server.show(&mut s, "DEBUG LISTPACK small"), "OK");
    let none = "(error) ERR Not a listpack encoded object.";
    assert_eq!(server.show(&mut s, "DEBUG LISTPACK long"), none);
}

#[test]
fn config_set_calls_the_hook_and_takes_back_what_it_refuses() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    let calls: Arc<Mutex<Vec<(Id, String)>>> = Arc::default();
    let seen = Arc::clone(&calls);
    *server.engine.hooks.config.write() = Some(Box::new(move |id: Id, c: &Config| {
        let value = String::from_utf8_lossy(&c.show(id)).into_owned();
        seen.lock().push((id, value.clone()));
        if id == Id::Port && value == "1" { Err("Permission denied".into()) } else { Ok(()) }
    }));
    assert_eq!(server.show(&mut s, "CONFIG SET maxclients 50 hz 20"), "OK");
    assert_eq!(
        server.show(&mut s, "CONFIG SET maxclients 60 port 1"),
        "(error) ERR CONFIG SET failed (possibly related to argument 'port') - Permission denied"
    );
    assert_eq!(server.engine.config.int(Id::Maxclients), 50);
    let calls: Vec<_> = calls.lock().iter().map(|(id, v)| format!("{} {v}", id.name())).collect();
    let expected =
        ["maxclients 50", "hz 20", "maxclients 60", "port 1", "maxclients 50", "port 6379"];
    assert_eq!(calls, expected);
}

#[test]
fn options_act_at_once() {
    let mut server = debugging();
    let mut s = server.connect(Proto::V2);
    // Every command from here on is slow; the one that says so is the first.
    assert_eq!(server.show(&mut s, "CONFIG SET slowlog-log-slower-than 0"), "OK");
    for _ in 0..5 {
        server.show(&mut s, "PING");
    }
    assert_eq!(server.show(&mut s, "SLOWLOG LEN"), "(integer) 6");
    assert_eq!(server.show(&mut s, "CONFIG SET slowlog-max-len 2"), "OK");
    assert_eq!(server.show(&mut s, "SLOWLOG LEN"), "(integer) 2");
    assert_eq!(server.show(&mut s, "CONFIG SET slowlog-max-len 0"), "OK");
    assert_eq!(server.show(&mut s, "SLOWLOG LEN"), "(integer) 0");
    // An entry that is not kept takes no number: 6 pings and so on, then two at length 2, then
    // this.
    assert_eq!(server.show(&mut s, "CONFIG SET slowlog-max-len 10 requirepass p"), "OK");
    let text = server.show(&mut s, "SLOWLOG GET 1");
    assert!(text.starts_with("1) 1) (integer) 9\n"), "{text}");
    assert!(text.contains("5) \"requirepass\"\n      6) \"(redacted)\""), "{text}");
    assert!(text.contains("5) \"127.0.0.1:50000\"\n   6) \"\""), "{text}");
}

#[test]
fn monitors_see_commands_but_neither_passwords_nor_administration() {
    let mut server = Server::with_config("requirepass secret");
    let mut monitor = server.connect(Proto::V2);
    monitor.set_authenticated(true);
    assert_eq!(server.show(&mut monitor, "MONITOR"), "OK");
    let mut s = server.connect(Proto::V2);
    server.show(&mut s, "AUTH secret");
    server.show(&mut s, "SET k \"a\\nb\"");
    server.show(&mut s, "CONFIG GET hz");
    server.show(&mut s, "SELECT 2");
    server.show(&mut s, "GET k");
    // EXEC ends the transaction that MULTI has begun, even when there is nothing to execute.
    for line in ["MULTI", "NOSUCH", "EXEC"] {
        server.show(&mut s, line);
    }
    let lines: Vec<String> = server
        .engine
        .workers()
        .iter()
        .flat_map(|w| w.mailbox.take())
        .filter_map(|m| match m {
            engine::Message::Push(id, line) if id == monitor.client.id => {
                Some(String::from_utf8_lossy(&line).into_owned())
            }
            _ => None,
        })
        .collect();
    let at = "+1700000000.123000";
    assert_eq!(
        lines,
        [
            format!("{at} [0 127.0.0.1:50000] \"AUTH\" \"(redacted)\"\r\n"),
            format!("{at} [0 127.0.0.1:50000] \"SET\" \"k\" \"a\\nb\"\r\n"),
            format!("{at} [0 127.0.0.1:50000] \"SELECT\" \"2\"\r\n"),
            format!("{at} [2 127.0.0.1:50000] \"GET\" \"k\"\r\n"),
            format!("{at} [2 127.0.0.1:50000] \"MULTI\"\r\n"),
            format!("{at} [2 127.0.0.1:50000] \"EXEC\"\r\n"),
        ]
    );
}

#[test]
fn shutdown_asks_those_who_can_stop_it() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    let failed = "(error) ERR Errors trying to SHUTDOWN. Check logs.";
    assert_eq!(server.show(&mut s, "SHUTDOWN"), failed);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&asked);
    *durable::Durable::of(&server.engine).shutdown.hook.write() =
        Some(Box::new(move |r| list.lock().push(r)));
    assert!(!s.closing);
    assert_eq!(server.show(&mut s, "SHUTDOWN NOSAVE NOW"), "(no reply)");
    assert!(s.closing);
    let r = asked.lock()[0];
    assert_eq!((r.save, r.now, r.force), (Some(false), true, false));
}

#[test]
fn rewrite_needs_a_file() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    assert_eq!(
        server.show(&mut s, "CONFIG REWRITE"),
        "(error) ERR The server is running without a config file"
    );
    let dir = testing::TempDir::new();
    let path = dir.write("apus.conf", "# mine\nmaxclients 100\n");
    let mut server = Server::with(Config::new(), Some(path.clone()));
    let mut s = server.connect(Proto::V2);
    assert_eq!(server.show(&mut s, "CONFIG SET maxclients 200 hz 50"), "OK");
    assert_eq!(server.show(&mut s, "CONFIG REWRITE"), "OK");
    let text = std::fs::read_to_string(&path).expect("the file");
    assert!(text.starts_with("# mine\nmaxclients 200\n") && text.contains("\nhz 50\n"), "{text}");
    let gone = dir.join("no-such-directory/apus.conf");
    let mut server = Server::with(Config::new(), Some(gone));
    let mut s = server.connect(Proto::V2);
    assert_eq!(
        server.show(&mut s, "CONFIG REWRITE"),
        "(error) ERR Rewriting config file: No such file or directory"
    );
}

#[test]
fn info_chooses_sections() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V3);
    let mut titles = |line: &str| -> Vec<String> {
        let text = server.show(&mut s, line);
        text.lines().filter_map(|l| l.strip_prefix("# ")).map(|l| l.trim().to_owned()).collect()
    };
    let default = titles("INFO");
    assert_eq!(
        default,
        [
            "Server",
            "Clients",
            "Memory",
            "Persistence",
            "Stats",
            "Replication",
            "CPU",
            "Modules",
            "Errorstats",
            "Cluster",
            "Topics",
            "Keyspace",
        ]
    );
    assert_eq!(titles("INFO default"), default);
    assert_eq!(titles("INFO all").len(), 16);
    assert_eq!(titles("INFO EVERYTHING"), titles("INFO all"));
    assert_eq!(titles("INFO cpu SERVER cpu"), ["Server", "CPU"]);
    assert_eq!(titles("INFO default commandstats").len(), 13);
    assert_eq!(titles("INFO debug"), ["Debug"]);
}

#[test]
fn resetstat_leaves_the_facts() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V3);
    for line in ["SET k v", "GET k", "GET nosuch", "nosuch", "CONFIG RESETSTAT"] {
        server.show(&mut s, line);
    }
    let text = server.show(&mut s, "INFO stats persistence errorstats");
    for line in [
        "total_commands_processed:1\r",
        "keyspace_hits:0\r",
        "keyspace_misses:0\r",
        "total_error_replies:0\r",
        "rdb_changes_since_last_save:1\r",
    ] {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    assert!(!text.contains("errorstat_"));
}

#[test]
fn latency_events_are_shown() {
    let mut server = debugging();
    let mut s = server.connect(Proto::V2);
    assert!(server.show(&mut s, "LATENCY DOCTOR").contains("monitor is off"));
    server.show(&mut s, "CONFIG SET latency-monitor-threshold 100");
    let engine = Arc::clone(&server.engine);
    engine.latency.record("command", 250_000_000, 1_700_000_000_000);
    engine.latency.record("command", 150_000_000, 1_700_000_001_000);
    engine.latency.record("expire-cycle", 120_000_000, 1_700_000_000_000);
    assert_eq!(
        server.show(&mut s, "LATENCY LATEST"),
        "1) 1) \"command\"\n   2) (integer) 1700000001\n   3) (integer) 150\n   4) (integer) 250\n\
         2) 1) \"expire-cycle\"\n   2) (integer) 1700000000\n   3) (integer) 120\n   \
         4) (integer) 120"
    );
    assert_eq!(
        server.show(&mut s, "LATENCY HISTORY command"),
        "1) 1) (integer) 1700000000\n   2) (integer) 250\n\
         2) 1) (integer) 1700000001\n   2) (integer) 150"
    );
    let text = server.show(&mut s, "LATENCY DOCTOR");
    assert!(text.contains("1. command: 2 latency spikes (average 200ms, mean deviation 50ms"));
    assert!(text.contains("Worst all time event 250ms"), "{text}");
    assert!(server.show(&mut s, "LATENCY GRAPH command").contains("high 250 ms, low 150 ms"));
    assert_eq!(server.show(&mut s, "LATENCY RESET expire-cycle nosuch"), "(integer) 1");
    assert_eq!(server.show(&mut s, "LATENCY RESET"), "(integer) 1");
}

#[test]
fn command_histograms_have_names_and_steps() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V3);
    for line in ["CONFIG RESETSTAT", "CONFIG GET hz", "GET a", "GET a"] {
        server.show(&mut s, line);
    }
    let Some(Reply::Map(all)) = server.call(&mut s, &["LATENCY", "HISTOGRAM", "get", "config"])
    else {
        panic!("no map");
    };
    let names: Vec<String> = all.iter().map(|(name, _)| transcript::format(name)).collect();
    assert_eq!(names, ["\"get\"", "\"config|get\"", "\"config|resetstat\""]);
    // The clock of this server stands still, which counts as the shortest time there is.
    let get = transcript::format(&all[0].1);
    assert_eq!(
        get,
        "1# \"calls\" => (integer) 2\n2# \"histogram_usec\" => 1# (integer) 1 => (integer) 2"
    );
}

#[test]
fn options_reach_the_commands() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    server.show(&mut s, "SET n 1");
    let shared = "(integer) 2147483647";
    for (memory, policy, count) in [
        ("1gb", "allkeys-random", shared),
        ("1gb", "allkeys-lru", "(integer) 1"),
        ("1gb", "volatile-lfu", "(integer) 1"),
        ("0", "volatile-lfu", shared),
    ] {
        let set = format!("CONFIG SET maxmemory {memory} maxmemory-policy {policy}");
        assert_eq!(server.show(&mut s, &set), "OK");
        assert_eq!(server.show(&mut s, "OBJECT REFCOUNT n"), count, "{memory} {policy}");
    }
    let handed_over = |server: &Server| {
        let (pending, freed) = server.engine.keyspace.lazy_counts();
        pending + freed
    };
    assert_eq!(server.show(&mut s, "FLUSHALL"), "OK");
    assert_eq!(handed_over(&server), 0);
    assert_eq!(server.show(&mut s, "SET k v"), "OK");
    assert_eq!(server.show(&mut s, "CONFIG SET lazyfree-lazy-user-flush yes"), "OK");
    assert_eq!(server.show(&mut s, "FLUSHALL"), "OK");
    assert_eq!(handed_over(&server), 1);
}

#[test]
fn expired_keys_go_when_they_are_met_but_not_in_a_pause() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    for line in ["SET a 1 PX 10", "SET b 2 PX 10", "SET c 3"] {
        assert_eq!(server.show(&mut s, line), "OK");
    }
    server.clock.advance_ms(11);
    assert_eq!(server.show(&mut s, "CLIENT PAUSE 1000 WRITE"), "OK");
    assert_eq!(server.show(&mut s, "GET a"), "(nil)");
    let scan = "1) \"0\"\n2) 1) \"c\"";
    assert_eq!(server.show(&mut s, "SCAN 0 COUNT 5000"), scan);
    assert_eq!(server.show(&mut s, "DBSIZE"), "(integer) 3");
    assert_eq!(server.show(&mut s, "CLIENT UNPAUSE"), "OK");
    assert_eq!(server.show(&mut s, "GET a"), "(nil)");
    assert_eq!(server.show(&mut s, "DBSIZE"), "(integer) 2");
    // A walk through the keys removes the expired ones that it finds.
    assert_eq!(server.show(&mut s, "SCAN 0 COUNT 5000"), scan);
    assert_eq!(server.show(&mut s, "DBSIZE"), "(integer) 1");
    assert!(server.thread.cx.overdue.is_empty());
}

#[test]
fn rates_are_over_more_than_a_moment() {
    let mut server = Server::with_config("");
    let mut s = server.connect(Proto::V2);
    let rate = |server: &Server| server.engine.rates.ops_per_sec.load(Relaxed);
    for _ in 0..16 {
        server.engine.sample_rates();
        server.clock.advance_ms(100);
    }
    for _ in 0..16 {
        server.show(&mut s, "PING");
    }
    server.engine.sample_rates();
    assert_eq!(rate(&server), 10);
    for _ in 0..16 {
        server.clock.advance_ms(100);
        server.engine.sample_rates();
    }
    assert_eq!(rate(&server), 0);
}
