use super::*;
use crate::testing::{get, set, set_error};

#[test]
fn errors_have_the_texts_of_redis() {
    // Asked of a redis-server 7.0.
    let failed = |name: &str, why: &str| {
        format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}")
    };
    let config = Config::new();
    for (name, value, why) in [
        ("maxmemory", "x", "argument must be a memory value"),
        ("maxmemory", "-1", "argument must be a memory value"),
        ("maxmemory", "1tb", "argument must be a memory value"),
        ("maxmemory-clients", "101%", "percentage argument must be less or equal to 100"),
        ("maxmemory-clients", "-1", "argument must be a memory or percent value"),
        ("port", "99999", "argument must be between 0 and 65535 inclusive"),
        ("port", "abc", "argument couldn't be parsed into an integer"),
        ("port", "+1", "argument couldn't be parsed into an integer"),
        ("list-max-listpack-size", "05", "argument couldn't be parsed into an integer"),
        ("maxclients", "0", "argument must be between 1 and 4294967295 inclusive"),
        ("slowlog-max-len", "-1", "argument must be between 0 and 9223372036854775807 inclusive"),
        (
            "proto-max-bulk-len",
            "1",
            "argument must be between 1048576 and 9223372036854775807 inclusive",
        ),
        ("unixsocketperm", "777", "can't set immutable config"),
        ("daemonize", "yes", "can't set immutable config"),
        ("slaveof", "a", "can't set immutable config"),
        ("dir", "/", "can't set protected config"),
        ("appendonly", "maybe", "argument must be 'yes' or 'no'"),
        (
            "maxmemory-policy",
            "x",
            "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, \
             volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
        ),
        (
            "oom-score-adj",
            "x",
            "argument(s) must be one of the following: no, yes, relative, absolute",
        ),
        (
            "shutdown-on-sigint",
            "",
            "argument(s) must be one of the following: default, save, nosave, now, force",
        ),
        (
            "shutdown-on-sigint",
            "save nosave",
            "shutdown options SAVE and NOSAVE can't be used simultaneously",
        ),
        ("save", "900  1", "Invalid save parameters"),
        ("save", "900", "Invalid save parameters"),
        ("save", "0 1", "Invalid save parameters"),
        ("oom-score-adj-values", "1 2", "wrong number of arguments"),
        (
            "oom-score-adj-values",
            "1 2 9999",
            "Invalid oom-score-adj-values, elements must be between -2000 and 2000.",
        ),
        (
            "client-output-buffer-limit",
            "foo 1 2 3",
            "Invalid client class specified in buffer limit configuration.",
        ),
        (
            "client-output-buffer-limit",
            "normal 1 2",
            "Wrong number of arguments in buffer limit configuration.",
        ),
        (
            "client-output-buffer-limit",
            "normal x 2 3",
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
        ),
        ("notify-keyspace-events", "q", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
        (
            "latency-tracking-info-percentiles",
            "50.5 a",
            "Invalid latency-tracking-info-percentiles parameters",
        ),
        (
            "latency-tracking-info-percentiles",
            "500",
            "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
        ),
        (
            "cluster-announce-hostname",
            "a_b",
            "Hostnames may only contain alphanumeric characters, hyphens or dots",
        ),
        (
            "proc-title-template",
            "{foo}",
            "template format is invalid or contains unknown variables",
        ),
        ("proc-title-template", "", "template format is invalid or contains unknown variables"),
    ] {
        assert_eq!(set_error(&config, name, value), failed(name, why), "{name} {value}");
    }
    assert_eq!(
        set_error(&config, "fo\r\no", "1"),
        "ERR Unknown option or number of arguments for CONFIG SET - 'fo  o'"
    );
    assert_eq!(
        set_error(&config, "MAXMEMORY", "x"),
        failed("maxmemory", "argument must be a memory value")
    );
    let twice = set(&config, &[("hz", "1"), ("HZ", "2")]).unwrap_err();
    assert_eq!(twice.to_string(), failed("HZ", "duplicate parameter"));
    let mixed = set(&config, &[("foo", "1"), ("port", "1")]).unwrap_err();
    assert_eq!(mixed, SetError::Unknown("foo".to_owned()));
}

#[test]
fn values_are_read_as_redis_reads_them() {
    let config = Config::new();
    for (name, value, shown) in [
        ("maxmemory", "1gb", "1073741824"),
        ("maxmemory", "1G", "1000000000"),
        ("maxmemory", "10k", "10000"),
        ("maxmemory", "10KB", "10240"),
        ("maxmemory", "7b", "7"),
        ("maxmemory", "", "0"),
        ("maxmemory", "18446744073709551615", "18446744073709551615"),
        ("maxmemory", "99999999999999999999", "18446744073709551615"),
        ("maxmemory-clients", "5%", "5%"),
        ("maxmemory-clients", "5mb", "5242880"),
        ("hz", "0", "1"),
        ("hz", "1000", "500"),
        ("save", "", ""),
        ("notify-keyspace-events", "KEA", "AKE"),
        ("notify-keyspace-events", "KxE$n", "$xnKE"),
        ("notify-keyspace-events", "g$lshzxetdKm", "AKm"),
        ("shutdown-on-sigterm", "now force nosave", "nosave now force"),
        ("oom-score-adj", "relative", "yes"),
        ("loglevel", "WARNING", "warning"),
        ("appendonly", "YES", "yes"),
        (
            "client-output-buffer-limit",
            "normal 1mb 2 3 replica 1gb 1 1",
            "normal 1048576 2 3 slave 1073741824 1 1 pubsub 33554432 8388608 60",
        ),
        (
            "client-output-buffer-limit",
            "",
            "normal 1048576 2 3 slave 1073741824 1 1 pubsub 33554432 8388608 60",
        ),
        ("bind", "127.0.0.1 -::1", "127.0.0.1 -::1"),
        ("bind", "", ""),
    ] {
        set(&config, &[(name, value)]).unwrap();
        assert_eq!(get(&config, name), shown, "{name} {value}");
    }
    assert_eq!(config.bytes(Id::Maxmemory), u64::MAX);
    assert_eq!(config.output_limits(crate::ClientClass::Normal).hard, 1 << 20);
}

#[test]
fn get_takes_patterns_names_and_aliases() {
    let config = Config::new();
    let names = |patterns: &[&str]| -> Vec<String> {
        let patterns: Vec<_> = patterns.iter().map(|p| p.as_bytes()).collect();
        config.get(&patterns).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&["*of"]), ["replicaof", "slaveof"]);
    assert_eq!(names(&["maxmemory", "MAXmemory*", "nothing-like-it"])[0], "maxmemory");
    assert_eq!(names(&["maxmemory*", "maxmemory"]).iter().filter(|n| *n == "maxmemory").count(), 1);
    assert_eq!(names(&["MAXmemory", "maxmemory"]), ["MAXmemory"]);
    assert_eq!(names(&["key-load-delay"]), ["key-load-delay"]);
    assert!(!names(&["*"]).contains(&"key-load-delay".to_owned()));
    assert!(names(&["*"]).len() > 200);
}

#[test]
fn set_is_all_or_nothing() {
    let config = Config::new();
    let before = config.get(&[b"*"]);
    let error = set(
        &config,
        &[("maxmemory", "1"), ("save", "1 1"), ("maxmemory-clients", "200%"), ("hz", "x")],
    );
    assert!(error.unwrap_err().to_string().contains("'maxmemory-clients'"));
    assert_eq!(config.get(&[b"*"]), before);
}

#[test]
fn a_refusing_hook_brings_the_old_values_back() {
    let config = Config::new();
    let before = config.get(&[b"*"]);
    let mut calls = Vec::new();
    let pairs: [(&[u8], &[u8]); 3] =
        [(b"maxmemory", b"1gb"), (b"port", b"7000"), (b"requirepass", b"\xff")];
    let error = config.set(&pairs, Caller::default(), &mut |id, config| {
        calls.push((id, config.int(Id::Port)));
        if id == Id::Port { Err("Unable to listen on this port.".to_owned()) } else { Ok(()) }
    });
    assert_eq!(
        error.unwrap_err().to_string(),
        "ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port."
    );
    assert_eq!(config.get(&[b"*"]), before);
    // The hook was called for both options on the change, and for both on the way back.
    let expected =
        [(Id::Maxmemory, 7000), (Id::Port, 7000), (Id::Maxmemory, 6379), (Id::Port, 6379)];
    assert_eq!(calls, expected);
}

#[test]
fn only_what_changes_is_reported_and_counted() {
    let config = Config::new();
    let generation = config.generation();
    assert_eq!(
        set(&config, &[("maxmemory", "0"), ("save", "3600 1 300 100 60 10000")]),
        Ok(vec![])
    );
    assert_eq!(config.generation(), generation);
    assert_eq!(set(&config, &[("maxmemory", "0"), ("timeout", "5")]), Ok(vec![Id::Timeout]));
    assert!(config.generation() > generation);
    // The file behind a certificate may be new although its name is not.
    assert_eq!(set(&config, &[("tls-cert-file", "")]), Ok(vec![Id::TlsCertFile]));
}

#[test]
fn a_name_and_its_alias_may_be_set_together() {
    let config = Config::new();
    set(&config, &[("slave-priority", "1"), ("replica-priority", "2")]).unwrap();
    assert_eq!(get(&config, "slave-priority"), "2");
    let error = set(&config, &[("slave-priority", "3"), ("replica-priority", "4"), ("hz", "x")]);
    assert!(error.is_err());
    assert_eq!(get(&config, "replica-priority"), "2");
}

#[test]
fn guarded_options_ask_who_calls() {
    let config = Config::new();
    let set_name = |config: &Config, local: bool| {
        let caller = Caller { local, ..Caller::default() };
        config.set(&[(b"dbfilename", b"a.rdb")], caller, &mut |_, _| Ok(())).is_ok()
    };
    assert!(!set_name(&config, true));
    crate::load_text(&config, "t", b"enable-protected-configs local").unwrap();
    assert!(!set_name(&config, false));
    assert!(set_name(&config, true));
    crate::load_text(&config, "t", b"enable-protected-configs yes").unwrap();
    assert!(set_name(&config, false));
    let loading = Caller { local: true, loading: true, owner: false };
    let error = config.set(&[(b"dir", b"/")], loading, &mut |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().starts_with("LOADING "));
    let error = config.set(&[(b"dir", b"/no/such/place")], Caller::default(), &mut |_, _| Ok(()));
    assert!(error.unwrap_err().to_string().ends_with(" - No such file or directory"));
}

#[test]
fn everything_shown_can_be_set_to_what_it_is() {
    // As redis-cli's users and Redis's own test suite do: all options but those they know to be fixed.
    let config = Config::new();
    let fixed_in_redis = |name: &str| {
        let row = lookup(name.as_bytes()).unwrap().row();
        row.area != Area::Apus && (row.has(IMMUTABLE) || row.has(PROTECTED))
    };
    for (name, value) in config.get(&[b"*"]) {
        if !fixed_in_redis(&name) {
            let pairs = [(name.as_bytes(), value.as_slice())];
            let result = config.set(&pairs, Caller::default(), &mut |_, _| Ok(()));
            assert!(result.is_ok(), "{name}: {result:?}");
        }
    }
    assert!(set_error(&config, "threads", "3").contains("immutable"));
}

#[test]
fn bytes_that_are_not_text_are_kept() {
    let config = Config::new();
    let pairs: [(&[u8], &[u8]); 1] = [(b"requirepass", b"\xff\x00\n")];
    config.set(&pairs, Caller::default(), &mut |_, _| Ok(())).unwrap();
    assert_eq!(config.get(&[b"requirepass"])[0].1, b"\xff\x00\n");
    assert!(is_sensitive(b"RequirePass") && !is_sensitive(b"port") && !is_sensitive(b"x"));
}

#[test]
fn a_refused_value_is_never_visible() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (config, done) = (Config::new(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert_eq!(config.int(Id::Maxmemory), 0);
            }
        });
        for _ in 0..20_000 {
            set(&config, &[("maxmemory", "1"), ("hz", "x")]).unwrap_err();
        }
        done.store(true, Ordering::Relaxed);
    });
}
