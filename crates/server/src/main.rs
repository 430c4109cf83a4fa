//! The `apus` binary: command line, start and signals.
//!
//! The flags of `apus serve` are the options of redis.conf, whose rows (`config`) have their names, kinds and help. An
//! option takes several words as Redis takes them, up to the next that begins with `--`, which no crate of a parser
//! has; the other commands are read with one (`bench::words`).

mod notify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apus::{Config, LineSink, Log, Server};
use config::Id;
use durable::Durable;
use engine::log;
use signal_hook::consts::{SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

#[global_allocator]
static ALLOCATOR: apus::Allocator = apus::ALLOCATOR;

const COMMANDS: [(&str, &str); 12] = [
    ("serve [FILE] [--option value ...]", "run the server; options are those of redis.conf"),
    ("bench kv [--help | OPTIONS]", "drive any RESP server and measure it"),
    ("bench pubsub [--help | OPTIONS]", "publish to subscribers of any RESP server and measure it"),
    (
        "bench live [--help | OPTIONS]",
        "publish to live channels, of Apus or Centrifugo, and measure",
    ),
    ("bench http [--help | OPTIONS]", "ask for pages of any web server and measure it"),
    ("bench log [--help | OPTIONS]", "drive an event log and measure it"),
    ("log COMMAND [--help]", "maintain topics on disk: create, append, verify, repair …"),
    ("site COMMAND [--help]", "a site for the web port: new, check, push into a server, pull"),
    (
        "check FILE [--fix]",
        "verify a journal, a snapshot or a file of Redis; --fix truncates a broken journal",
    ),
    ("docs commands|configuration", "print a reference as Markdown"),
    ("help [COMMAND]", "print this, or what a command takes: every option of serve"),
    ("--version", "print the version"),
];

const VERSION: &str = concat!("apus ", env!("CARGO_PKG_VERSION"), "\n");

const CHECK: &str = "\
Reads a file of the server to its end, and says whether it is complete.

Usage: apus check FILE [--fix]

  FILE    a snapshot (dump.rdb), a journal (appendonlydir/appendonly.aof.journal, with all that
          belongs to it), one segment of a journal (….seg), or an append-only file of Redis (….aof,
          or ….aof.manifest with all that belongs to it)
  --fix   truncate a broken journal behind its last complete record; snapshots and files of Redis are never changed

Exit code: 0 if the file is complete, 1 if it is damaged or cannot be read.
";

const DOCS: &str = "\
Usage: apus docs commands|configuration

Prints the reference of commands or of options as Markdown.
";

const BENCH: &str = "\
Usage: apus bench kv|http|pubsub|live|log [OPTIONS]

'apus bench kv --help' lists the options; so does --help of http, pubsub, live and log.
";

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let first = args.first().map(|a| a.to_string_lossy().into_owned()).unwrap_or_default();
    match first.as_str() {
        "serve" => serve(&args[1..]),
        "" | "help" | "--help" | "-h" => help(&args[args.len().min(1)..]),
        "--version" | "-v" | "-V" | "version" => print(VERSION),
        "bench" => bench(&args[1..]),
        "log" => {
            let words = args[1..].iter().map(|a| a.to_string_lossy().into_owned());
            apus::log_tool::main(&words.collect::<Vec<_>>())
        }
        "site" => {
            let words = args[1..].iter().map(|a| a.to_string_lossy().into_owned());
            apus::site_tool::main(&words.collect::<Vec<_>>())
        }
        "docs" => docs(args.get(1)),
        "check" => check(&args[1..]),
        "transcripts" => print(&apus::docs::transcripts()),
        "client-sources" => print(&apus::client::sources()),
        // `apus redis.conf --port 7000` as redis-server takes it.
        _ if std::path::Path::new(&args[0]).is_file() || first.starts_with('-') => serve(&args),
        // An argument that looks like a file names one that is not there.
        other if other.ends_with(".conf") || other.contains('/') => serve(&args),
        other => no_command(other),
    }
}

/// Writes a document; a reader that has seen enough (`| head`) is not an error.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("apus: {}", config::os_text(&e));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Says that there is no such command, and which one may have been meant.
fn no_command(name: &str) -> ExitCode {
    let names = ["serve", "bench", "log", "site", "check", "docs", "help", "version"];
    match config::help::nearest_of(name, names) {
        Some(near) => {
            eprintln!("apus: there is no command '{name}'; did you mean 'apus {near}'?");
        }
        None => eprintln!("apus: there is no command '{name}'"),
    }
    eprintln!("Try 'apus help'.");
    ExitCode::from(2)
}

fn help(topics: &[OsString]) -> ExitCode {
    let topics: Vec<_> = topics.iter().map(|t| t.to_string_lossy()).collect();
    let asks = ["--help".to_owned()];
    match topics.iter().map(|t| &**t).collect::<Vec<_>>().as_slice() {
        [] => {}
        ["serve", ..] => return print(&config::help::serve()),
        ["check", ..] => return print(CHECK),
        ["docs", ..] => return print(DOCS),
        ["log", ..] => return apus::log_tool::main(&asks),
        ["site", ..] => return apus::site_tool::main(&asks),
        ["bench", "kv", ..] => return bench::kv::main(&asks),
        ["bench", "http", ..] => return bench::http::main(&asks),
        ["bench", "pubsub", ..] => return bench::pubsub::main(&asks),
        ["bench", "live", ..] => return bench::live::main(&asks),
        ["bench", "log", ..] => return bench::log::main(&asks),
        ["bench", ..] => return print(BENCH),
        ["help" | "version" | "--version", ..] => {}
        [other, ..] => return no_command(other),
    }
    let mut text = String::from("Apus, a Redis-compatible data server.\n\nUsage: apus COMMAND\n\n");
    for (usage, what) in COMMANDS {
        text.push_str(&format!("  {usage:36} {what}\n"));
    }
    text.push_str("\n  apus serve --port 7000 --maxmemory 1gb --unixsocket /run/apus.sock\n");
    print(&text)
}

fn docs(which: Option<&OsString>) -> ExitCode {
    match which.and_then(|w| w.to_str()) {
        Some("commands") => print(&apus::docs::commands()),
        Some("configuration") => print(&apus::docs::configuration()),
        Some("--help" | "-h") => print(DOCS),
        Some(other) => {
            eprintln!(
                "apus: there is no reference '{other}'; there are commands and configuration"
            );
            ExitCode::from(2)
        }
        None => {
            eprintln!("apus: 'apus docs commands' or 'apus docs configuration'");
            ExitCode::from(2)
        }
    }
}

fn check(args: &[OsString]) -> ExitCode {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        return print(CHECK);
    }
    let (fix, files): (Vec<_>, Vec<_>) = args.iter().partition(|a| *a == "--fix");
    let is_option = |a: &&&OsString| a.to_string_lossy().starts_with('-');
    if let Some(option) = files.iter().find(is_option) {
        let option = option.to_string_lossy();
        eprintln!("apus: there is no option '{option}'; 'apus help check' lists the options");
        return ExitCode::from(2);
    }
    let [file] = files.as_slice() else {
        eprintln!("apus: 'apus check FILE' or 'apus check --fix FILE'; see 'apus help check'");
        return ExitCode::from(2);
    };
    match apus::check(std::path::Path::new(file), !fix.is_empty()) {
        Ok(report) => {
            let printed = print(&report.text);
            if report.sound { printed } else { ExitCode::FAILURE }
        }
        Err(e) => {
            eprintln!("apus: {}: {}", file.display(), config::os_text(&e));
            ExitCode::FAILURE
        }
    }
}

fn bench(args: &[OsString]) -> ExitCode {
    let args: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    match args.split_first() {
        Some((what, rest)) if what == "kv" => bench::kv::main(rest),
        Some((what, rest)) if what == "http" => bench::http::main(rest),
        Some((what, rest)) if what == "live" => bench::live::main(rest),
        Some((what, rest)) if what == "log" => bench::log::main(rest),
        Some((what, rest)) if what == "pubsub" => bench::pubsub::main(rest),
        Some((what, _)) if what == "--help" || what == "-h" => print(BENCH),
        Some((what, _)) => {
            eprintln!(
                "apus: there is no benchmark '{what}'; there are kv, http, pubsub, live and log"
            );
            ExitCode::from(2)
        }
        None => {
            eprintln!(
                "apus: which benchmark? kv, http, pubsub, live or log; 'apus bench kv --help' lists the options"
            );
            ExitCode::from(2)
        }
    }
}

fn serve(args: &[OsString]) -> ExitCode {
    let asks = |w: &str| args.iter().any(|a| a == w);
    if asks("--help") || asks("-h") {
        return print(&config::help::serve());
    }
    if let [word] = args
        && (word == "--version" || word == "-v" || word == "-V")
    {
        return print(VERSION);
    }
    let config = Config::new();
    let (source, loaded) = match config::Source::load(&config, args, &mut io::stdin()) {
        Ok(l) => l,
        Err(e) => {
            eprintln!("apus: {e}");
            return ExitCode::from(1);
        }
    };
    match run(config, source, loaded) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("apus: {}", config::os_text(&e));
            ExitCode::from(1)
        }
    }
}

/// Says what starts, and with which configuration.
fn log_start(log: &Log, loaded: &apus::Loaded) {
    log!(
        log,
        Notice,
        "Apus version={}, bits=64, pid={}, just started. PID: {}",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        std::process::id()
    );
    match &loaded.file {
        Some(f) => log!(log, Notice, "Configuration loaded from {}", f.display()),
        None => log!(log, Notice, "No config file given, using the defaults and the command line"),
    }
    for line in &loaded.ignored {
        log!(log, Warning, "Ignored: {}", line);
    }
}

/// Says where clients are served.
fn log_ready(log: &Log, server: &Server) {
    for a in server.addresses() {
        log!(log, Notice, "Ready to accept connections tcp on {}", a);
    }
    for a in server.tls_addresses() {
        log!(log, Notice, "Ready to accept connections tls on {}", a);
    }
    for path in server.engine().config.string(Id::Unixsocket).split_whitespace() {
        log!(log, Notice, "Ready to accept connections unix on {}", path);
    }
}

fn run(config: Config, source: config::Source, loaded: apus::Loaded) -> io::Result<()> {
    apus::enter_dir(&config)?;
    let touch = if config.flag(Id::DisableThp) {
        apus::huge_pages::forbid_at_first_touch()
    } else {
        apus::huge_pages::FirstTouch::Asked
    };
    let json = matches!(config.chosen(Id::LogFormat), config::LogFormat::Json);
    let sink = LineSink::new(&config.string(Id::Logfile), json)?;
    let log = Log::new(Arc::new(sink), apus::level_of(&config));
    log_start(&log, &loaded);
    fit_file_limit(&config, &log)?;
    let pidfile = config.string(Id::Pidfile);
    // Before any other thread starts, so that none of them is killed by a signal meant for the
    // process.
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGUSR1])?;
    let handle = signals.handle();
    let (running, signal_log) = (Arc::new(OnceLock::new()), log.clone());
    let told = Arc::clone(&running);
    let watcher = apus::start_thread("apus-signals".into(), move || {
        watch(signals, &told, source, &signal_log);
    })?;
    apus::give_back::start();
    if config.flag(Id::CollapseHugePages) {
        apus::huge_pages::start(touch);
    }
    let has_logfile = !config.string(Id::Logfile).is_empty();
    let started = Server::builder().config(config, loaded).log(log.clone()).start();
    if let Err(e) = &started
        && has_logfile
    {
        // A user who looks there does not see the terminal's output.
        log!(log, Warning, "Cannot start: {}", config::os_text(e));
    }
    let server = started?;
    log!(log, Notice, "Server initialized");
    let engine = Arc::clone(server.engine());
    let _ = running.set(Arc::clone(&engine));
    // Only now: one that cannot start leaves the file to the one that is running.
    if !pidfile.is_empty()
        && let Err(e) = std::fs::write(&pidfile, format!("{}\n", std::process::id()))
    {
        log!(log, Warning, "Failed to write PID file {}: {}", pidfile, config::os_text(&e));
    }
    let loaded = server.wait_until_loaded();
    if loaded.is_ok() {
        log_ready(&log, &server);
        notify::ready(&engine.config, &log);
    } else {
        server.stop();
    }
    server.join();
    Durable::of(&engine).snapshots.abandon();
    if !pidfile.is_empty() {
        let _ = std::fs::remove_file(&pidfile);
    }
    log!(log, Warning, "Apus is now ready to exit, bye bye...");
    handle.close();
    let _ = watcher.join();
    loaded.map_err(io::Error::other)
}

/// Makes room for `maxclients` among the open files, or makes it as many as there is room for.
fn fit_file_limit(config: &Config, log: &Log) -> io::Result<()> {
    let wanted = config.int(Id::Maxclients) as u64;
    let http = apus::http_connections(config);
    let files = apus::raise_file_limit(wanted, apus::threads_of(config), http)?;
    let room = files.clients;
    if files.http < http {
        log!(
            log,
            Warning,
            "topic-http-max-connections is {} instead of {}: the limit of open files is too low.",
            files.http,
            http
        );
        let line = format!("topic-http-max-connections {}", files.http);
        config::load_text(config, "ulimit", line.as_bytes()).map_err(io::Error::other)?;
    }
    if room < wanted {
        log!(
            log,
            Warning,
            "maxclients is {} instead of {}: the limit of open files is too low. Raise it with \
             `ulimit -n`, or LimitNOFILE= of the service.",
            room,
            wanted
        );
        let line = format!("maxclients {room}");
        config::load_text(config, "ulimit", line.as_bytes()).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The engine, if the server runs within a second: the shorter starts are waited for, so that the
/// writes of their first client are saved.
fn started(running: &OnceLock<Arc<engine::Engine>>) -> Option<&Arc<engine::Engine>> {
    for _ in 0..100 {
        if running.get().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    running.get()
}

/// Reads the configuration file and the ACL file again.
fn reload(running: &OnceLock<Arc<engine::Engine>>, source: &Arc<Mutex<config::Source>>, log: &Log) {
    let Some(engine) = running.get() else {
        log!(log, Warning, "Received SIGHUP while starting: only the log file was opened anew.");
        return;
    };
    log!(log, Notice, "Received SIGHUP: reading the files again.");
    let read = source.lock().unwrap_or_else(PoisonError::into_inner).changes();
    let changes = match read {
        Ok(changes) => changes,
        Err(e) => {
            log!(log, Warning, "Not reloaded, everything stays as it is: {}", e);
            return;
        }
    };
    if !changes.restart.is_empty() {
        let names = changes.restart.join(", ");
        log!(log, Warning, "Changed in the file, for the next start only: {}", names);
    }
    let source = Arc::clone(source);
    engine.reload(changes.set.clone(), move |done| {
        if done {
            source.lock().unwrap_or_else(PoisonError::into_inner).accept(changes);
        }
    });
}

/// The handling of signals, until they are closed. Before the server runs there is nothing to be
/// saved.
fn watch(
    mut signals: Signals,
    running: &OnceLock<Arc<engine::Engine>>,
    source: config::Source,
    log: &Log,
) {
    let source = Arc::new(Mutex::new(source));
    for s in &mut signals {
        let name = match s {
            SIGTERM => "SIGTERM",
            SIGINT => "SIGINT",
            SIGHUP | SIGUSR1 => {
                if let Err(e) = log.sink().reopen() {
                    let e = config::os_text(&e);
                    log!(log, Warning, "The log goes on where it went: {}", e);
                }
                if s == SIGHUP {
                    reload(running, &source, log);
                }
                continue;
            }
            _ => continue,
        };
        let Some(engine) = started(running) else {
            log!(log, Warning, "Received {} while starting, exiting.", name);
            std::process::exit(0);
        };
        // As in Redis: a user who presses Ctrl-C again does not want to wait for the snapshot.
        if s == SIGINT && engine.ends.is_requested() {
            log!(log, Warning, "Received {} again, exiting at once.", name);
            Durable::of(engine).snapshots.abandon();
            std::process::exit(1);
        }
        log!(log, Warning, "Received {} scheduling shutdown...", name);
        let how = if s == SIGTERM { Id::ShutdownOnSigterm } else { Id::ShutdownOnSigint };
        durable::ask_shutdown(engine, how);
    }
}
