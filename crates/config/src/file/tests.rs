use super::*;
use crate::testing::get;
use crate::{HIDDEN, ROWS};
use testing::TempDir;

fn run(args: &[&str], stdin: &str) -> (Config, Result<Loaded, LoadError>) {
    let config = Config::new();
    let loaded = load(&config, args, &mut stdin.as_bytes());
    (config, loaded)
}

fn ok(args: &[&str]) -> Config {
    let (config, loaded) = run(args, "");
    loaded.unwrap();
    config
}

fn error(args: &[&str]) -> String {
    run(args, "").1.unwrap_err().to_string()
}

fn text(lines: &str) -> (Config, Result<Loaded, LoadError>) {
    let config = Config::new();
    let loaded = load_text(&config, "redis.conf", lines.as_bytes());
    (config, loaded)
}

#[test]
fn options_take_values_up_to_the_next_name() {
    let config = ok(&["--port", "7000", "--bind", "127.0.0.1", "::1", "--save", "900", "1"]);
    assert_eq!(config.int(Id::Port), 7000);
    assert_eq!(get(&config, "bind"), "127.0.0.1 ::1");
    assert_eq!(get(&config, "save"), "900 1");
    let config = ok(&["--maxmemory 700mb", "--maxmemory-policy 'volatile-lru'"]);
    assert_eq!(get(&config, "maxmemory"), "734003200");
    assert_eq!(get(&config, "maxmemory-policy"), "volatile-lru");
    let config = ok(&["--proc-title-template", "--my--title", "--loglevel", "verbose"]);
    assert_eq!(get(&config, "proc-title-template"), "--my--title");
    assert_eq!(get(&config, "loglevel"), "verbose");
    let config = ok(&[
        "--shutdown-on-sigint",
        "nosave",
        "force",
        "now",
        "--shutdown-on-sigterm",
        "nosave force",
    ]);
    assert_eq!(get(&config, "shutdown-on-sigint"), "nosave now force");
    assert_eq!(get(&config, "shutdown-on-sigterm"), "nosave force");
    let config = ok(&["--client-output-buffer-limit", "normal", "1", "2", "3"]);
    assert_eq!(config.output_limits(crate::ClientClass::Normal).soft_seconds, 3);
}

#[test]
fn an_empty_save_may_be_written_in_many_ways() {
    for args in [
        &["--save", "--loglevel", "verbose"][..],
        &["--loglevel", "verbose", "--save"],
        &["--save", "", "--loglevel", "verbose"],
        &["--loglevel", "verbose", "--save", ""],
    ] {
        let config = ok(args);
        assert_eq!((get(&config, "save"), get(&config, "loglevel")), ("".into(), "verbose".into()));
    }
    let config = ok(&["--proc-title-template", "--save", "--save", "", "--loglevel", "verbose"]);
    assert_eq!(get(&config, "proc-title-template"), "--save");
    assert_eq!(get(&config, "save"), "");
}

#[test]
fn command_line_errors_show_the_line_and_the_reason() {
    for (args, parts) in [
        (&["--invalid"][..], ["'invalid'", "Bad directive or wrong number of arguments"]),
        (&["--port"], ["'port'", "wrong number of arguments"]),
        (&["--port", "6380", "--loglevel"], ["'loglevel'", "wrong number of arguments"]),
        (&["--port", "6379", "6380"], [r#"'port "6379" "6380"'"#, "wrong number of arguments"]),
        (
            &["--port", "--loglevel", "verbose"],
            [r#"'port "--loglevel" "verbose"'"#, "wrong number"],
        ),
        (
            &["--port", "--bla", "--loglevel", "verbose"],
            [r#"'port "--bla"'"#, "parsed into an integer"],
        ),
        (&["--logfile", "--x", "--loglevel", "--bla"], [r#"'loglevel "--bla"'"#, "must be one of"]),
        (&["--shutdown-on-sigint"], ["'shutdown-on-sigint'", "must be one of"]),
        (
            &["--replicaof", "127.0.0.1", "abc"],
            [r#"'replicaof "127.0.0.1" "abc"'"#, "Invalid master port"],
        ),
        (
            &["--replicaof", "--127.0.0.1", "--abc"],
            [r#"'replicaof "--127.0.0.1"'"#, "wrong number"],
        ),
        (&["--prot", "1"], ["command line", "did you mean 'port'?"]),
        (&["--rename-command", "GET"], ["rename-command", "wants other arguments"]),
        (&["-p", "1"], ["'-p' is not an option", "two dashes (the port is --port)"]),
        (&["--threads", "2", "-p", "7000"], ["'-p' is not an option", "the port is --port"]),
        (&["--threads", "2", "-q"], ["'-q' is not an option", "two dashes"]),
        (&["--maxmemory", "-p"], ["'maxmemory \"-p\"'", "must be a memory value"]),
        (&["--port=x"], [r#"'port "x"'"#, "parsed into an integer"]),
        (&["--prot=7000"], ["'prot", "did you mean 'port'?"]),
        (&["port", "7000"], ["can't read", "did you mean --port?"]),
        (&["/no/such/file"], ["/no/such/file", "No such file or directory"]),
    ] {
        let error = error(args);
        let at = error.find(parts[0]).unwrap_or_else(|| panic!("{error}"));
        assert!(error[at..].contains(parts[1]), "{error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn secrets_stay_out_of_errors() {
    let (_, loaded) = text("requirepass hush hush");
    let error = loaded.unwrap_err();
    assert!(!error.to_string().contains("hush"), "{error}");
    assert_eq!(error.place, "redis.conf:1");
}

#[test]
fn file_then_stdin_then_options() {
    let dir = TempDir::new();
    let path = dir.write("a.conf", "port 1\ntimeout 1\nhz 11\n");
    let (config, loaded) =
        run(&[path.to_str().unwrap(), "--port", "3", "-"], "port 2\ntimeout 2\n");
    assert_eq!(loaded.unwrap().file, Some(path));
    let values = [Id::Port, Id::Timeout, Id::Hz].map(|id| config.int(id));
    assert_eq!(values, [3, 2, 11]);
    let (config, loaded) = run(&["-", "--port", "4"], "timeout 9\nport 5");
    assert_eq!(loaded.unwrap().file, None);
    assert_eq!((config.int(Id::Port), config.int(Id::Timeout)), (4, 9));
    // In the middle, a dash is a value.
    assert_eq!(get(&ok(&["--logfile", "-", "--port", "4"]), "logfile"), "-");
}

#[test]
fn what_is_wrong_usage_for_us_works_for_redis() {
    let dir = TempDir::new();
    let path = dir.write("a.conf", "");
    let (config, loaded) = run(&[path.to_str().unwrap(), "loglevel", "verbose", "--port", "3"], "");
    loaded.unwrap();
    assert_eq!((get(&config, "loglevel"), config.int(Id::Port)), ("verbose".to_owned(), 3));
}

#[test]
fn lines_comments_quotes_and_case() {
    let (config, loaded) = text(
        "# a comment\n\n  \t# another\r\n\tPORT 7001  \r\nlogfile ''\nrequirepass \"a\\x20b\\\"\"\nhash-max-ziplist-entries 7\n",
    );
    loaded.unwrap();
    assert_eq!(config.int(Id::Port), 7001);
    assert_eq!(get(&config, "requirepass"), "a b\"");
    assert_eq!(get(&config, "hash-max-listpack-entries"), "7");
    let place = |lines: &str| text(lines).1.unwrap_err().to_string();
    assert!(place("port 1\n\nport \"1").starts_with("redis.conf:3: 'port \"1': Unbalanced quotes"));
    assert!(place("port 1\nmaxmemroy 1").ends_with("did you mean 'maxmemory'?"));
}

#[test]
fn save_points_add_up_after_the_first() {
    let save = |lines: &str| {
        let (config, loaded) = text(lines);
        loaded.unwrap();
        get(&config, "save")
    };
    assert_eq!(save(""), "3600 1 300 100 60 10000");
    assert_eq!(save("save 900 1\nsave 60 5"), "900 1 60 5");
    assert_eq!(save("save 900 1 60 5"), "900 1 60 5");
    assert_eq!(save("save \"900 1\"\nsave ''"), "");
    assert_eq!(save("save ''\nsave 1 2"), "1 2");
}

#[test]
fn includes_are_read_where_they_stand() {
    let dir = TempDir::new();
    dir.write("conf.d/b.conf", "hz 20\ntimeout 2");
    dir.write("conf.d/a.conf", "hz 30\n");
    dir.write("conf.d/.hidden.conf", "nonsense");
    dir.write("one.conf", "port 5\n");
    let root = dir.display();
    let main = dir.write(
        "main.conf",
        format!("port 4\ndir {root}\ninclude one.conf\ninclude {root}/conf.d/*.conf\ninclude {root}/empty/*.conf\ntimeout 3\n"),
    );
    let (config, loaded) = run(&[main.to_str().unwrap()], "");
    loaded.unwrap();
    assert_eq!([Id::Port, Id::Hz, Id::Timeout].map(|id| config.int(id)), [5, 20, 3]);

    dir.write("bad.conf", "port 1\nport x\n");
    let main = dir.write("main2.conf", format!("\ninclude {root}/bad.conf\n"));
    let error = error(&[main.to_str().unwrap()]);
    assert!(error.contains("bad.conf:2: 'port x'"), "{error}");
    let main = dir.write("loop.conf", format!("include {root}/loop.conf\n"));
    assert!(self::error(&[main.to_str().unwrap()]).contains("include itself"));
    let main = dir.write("gone.conf", format!("include {root}/gone/x.conf\n"));
    assert!(self::error(&[main.to_str().unwrap()]).contains("gone/x.conf: can't read"));
}

#[test]
fn lines_without_use_load_and_are_listed_once() {
    let (config, loaded) = text(
        "bf.error-rate 0.1\ntls-dh-params-file a.pem\n\
         list-max-ziplist-entries 3\nio-threads 4\nio-threads 5\n\
         activedefrag yes\nappendonly no\nuser alice on >pw ~* \"+get\"\nrename-command FLUSHALL \"\"\n\
         rename-command CONFIG admin\n",
    );
    let loaded = loaded.unwrap();
    let names: Vec<_> = loaded.ignored.iter().map(|note| note.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "bf.error-rate",
            "list-max-ziplist-entries",
            "activedefrag",
            "tls-dh-params-file",
            "io-threads"
        ]
    );
    assert_eq!(loaded.users, [b"user alice on >pw ~* \"+get\""]);
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(loaded.renames, [pair("FLUSHALL", ""), pair("CONFIG", "admin")]);
    assert_eq!(config.int(Id::IoThreads), 5);
    assert_eq!(get(&config, "activedefrag"), "no");
}

/// A file with every option, written as people write them.
const SAMPLE: &str = include_str!("sample.conf");

#[test]
fn a_file_with_every_option_loads() {
    let (config, loaded) = text(SAMPLE);
    loaded.unwrap();
    for row in ROWS.iter().filter(|row| !row.has(HIDDEN)) {
        let line = SAMPLE.lines().filter_map(|l| l.split_ascii_whitespace().next());
        assert!(line.into_iter().any(|name| name == row.name), "{} is not in the sample", row.name);
    }
    assert_eq!(get(&config, "auto-aof-rewrite-min-size"), "134217728");
    assert_eq!(get(&config, "save"), "900 1 300 10");
    assert_eq!(get(&config, "unixsocketperm"), "700");
    assert_eq!(get(&config, "maxmemory-clients"), "5%");
    assert_eq!(get(&config, "bind"), "127.0.0.1 -::1");
    assert_eq!(
        get(&config, "client-output-buffer-limit"),
        "normal 0 0 0 slave 536870912 134217728 120 pubsub 33554432 8388608 60"
    );
    assert_eq!(get(&config, "replicaof"), "");
}

#[test]
fn the_configuration_of_the_redis_test_suite_loads() {
    let (config, loaded) = text(
        "always-show-logo yes\nnotify-keyspace-events KEA\ndaemonize no\npidfile /var/run/redis.pid\n\
         port 6379\ntimeout 0\nbind 127.0.0.1\nloglevel verbose\nlogfile ''\ndatabases 16\n\
         latency-monitor-threshold 1\nrepl-diskless-sync-delay 0\nsave ''\nrdbcompression yes\n\
         dir ./\nslave-serve-stale-data yes\nenable-debug-command yes\nenable-protected-configs yes\n\
         propagation-error-behavior panic\nshutdown-on-sigterm force\n",
    );
    loaded.unwrap();
    assert_eq!(get(&config, "notify-keyspace-events"), "AKE");
    assert_eq!(get(&config, "save"), "");
    assert_eq!(get(&config, "dir"), std::env::current_dir().unwrap().to_str().unwrap());
}

#[test]
fn what_would_do_harm_when_it_is_missing_stops_the_start() {
    for (line, name, why) in [
        ("cluster-enabled yes", "cluster-enabled", "no cluster mode"),
        ("CLUSTER-ENABLED yes", "CLUSTER-ENABLED", "no cluster mode"),
        ("loadmodule /usr/lib/auth.so x", "loadmodule", "loads no modules"),
        ("sentinel monitor m 127.0.0.1 6379 2", "sentinel", "not a sentinel"),
    ] {
        let (_, loaded) = text(&format!("port 1\n{line}\nport 2\n"));
        let said = loaded.unwrap_err().to_string();
        assert!(said.starts_with(&format!("redis.conf:2: '{name}")), "{said}");
        assert!(said.contains(why), "{said}");
        let dir = TempDir::new();
        let file = dir.write("redis.conf", format!("{line}\n"));
        let said = error(&[file.to_str().unwrap()]);
        assert!(said.contains("redis.conf:1: ") && said.contains(why), "{said}");
        // The same holds in an included file and on the command line.
        let outer = dir.write("outer.conf", format!("include {}\n", file.display()));
        let said = error(&[outer.to_str().unwrap()]);
        assert!(said.contains("redis.conf:1: ") && said.contains(why), "{said}");
        let (name, value) = line.split_once(' ').unwrap();
        let said = error(&[&format!("--{name}"), value]);
        assert!(said.starts_with("command line: ") && said.contains(why), "{said}");
        let said = error(&[&format!("--{name}={value}")]);
        assert!(said.contains(why), "{said}");
    }
    assert!(error(&["--sentinel"]).contains("not a sentinel"));
    // An option that is off, or is taken back, does no harm.
    let none = "replicaof no one\nslaveof \"\"\ncluster-enabled no\ntls-port 0\n";
    assert!(text(none).1.unwrap().ignored.is_empty());
    let (config, loaded) = text("replicaof 10.0.0.1 6380\nslaveof no one\n");
    assert_eq!((loaded.unwrap().ignored.len(), get(&config, "replicaof")), (0, String::new()));
    let dir = TempDir::new();
    let file = dir.write("redis.conf", "replicaof 10.0.0.1 6380\n");
    let (_, loaded) = run(&[file.to_str().unwrap(), "--replicaof", "no", "one"], "");
    assert!(loaded.unwrap().ignored.is_empty());
}

#[test]
fn values_may_follow_an_equals_sign() {
    let config =
        ok(&["--port=7000", "--save=900 1", "--bind=127.0.0.1 ::1", "--requirepass=a=b c"]);
    assert_eq!(config.int(Id::Port), 7000);
    assert_eq!(get(&config, "save"), "900 1");
    assert_eq!(get(&config, "bind"), "127.0.0.1 ::1");
    assert_eq!(get(&config, "requirepass"), "a=b c");
    let config = ok(&["--requirepass=", "--save=", "--client-output-buffer-limit=normal 1 2 3"]);
    assert_eq!((get(&config, "requirepass"), get(&config, "save")), (String::new(), String::new()));
    assert_eq!(config.output_limits(crate::ClientClass::Normal).soft_seconds, 3);
    // A value is a value, whatever it looks like.
    let config = ok(&["--logfile", "--x=y", "--port", "1"]);
    assert_eq!(get(&config, "logfile"), "--x=y");
}
