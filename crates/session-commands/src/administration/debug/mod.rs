//! DEBUG: <https://redis.io/docs/latest/commands/debug/>
//!
//! The subcommands that tests of clients and of Redis itself use. As in Redis they are no commands
//! of their own, and `enable-debug-command` must allow them. Switches over internals that Apus
//! does not have (packed lists, reply buffers that shrink) are accepted, since setting them means
//! nothing; a subcommand that needs a missing feature is refused.

mod digest;
mod protocol;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use commands::row::{DocFlags, Flags, Group, Row, Scope};
use commands::{Fail, Outcome, parse};
use resp::{Args, Reply};
use store::{Content, Db, Entry, Key, Kind, Str, Ttl};

use super::config as config_command;
use durable::load::{self, Present};
use durable::snapshots;
use engine::commit;
use engine::log;
use engine::random_repl_id;
use engine::{Call, Engine, SessionCommand};
use engine::{Job, Message};
use replicator::Replicator;
use replicator::pause::Point;

pub(crate) static DEBUG: SessionCommand = super::command(
    Row {
        name: "debug",
        group: Group::Server,
        arity: -2,
        flags: super::ADMIN.or(Flags::PROTECTED),
        doc_flags: DocFlags::SYSCMD,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Looks into the server and makes it misbehave, for tests.",
        syntax: "DEBUG subcommand [arg [arg ...]]",
        untranscribed: "enable-debug-command forbids it unless configured",
        ..Row::DEFAULT
    },
    run,
);

/// A subcommand is one of those that have an answer of their own, or of those that answer OK.
fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let word = String::from_utf8_lossy(&args[1]).to_ascii_lowercase();
    if let Some(outcome) = answer(call, &word, args, reply) {
        return outcome;
    }
    act(call, &word, args)?;
    reply.ok();
    Ok(())
}

/// The subcommands with an answer of their own; nothing if `word` is none of them.
fn answer(
    call: &mut Call<'_>,
    word: &str,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
) -> Option<Outcome> {
    match (word, args.len()) {
        ("help", 2) => commands::help::write(reply, "DEBUG", HELP),
        ("object", 3) => return Some(object(call, args, reply)),
        ("digest", 2) => reply.simple(&digest::dataset(call)),
        ("digest-value", _) => {
            let keys = args.to_slices(2);
            reply.array(keys.len());
            for key in keys {
                reply.simple(&digest::value(call, key));
            }
        }
        ("protocol", 3) => return Some(protocol::answer(args, reply)),
        ("error", 3) => reply.error(&args[2]),
        ("htstats", 3 | 4) => return Some(table_stats(call, args, reply)),
        _ => return None,
    }
    Some(Ok(()))
}

/// The subcommands that answer OK.
fn act(call: &mut Call<'_>, word: &str, args: &mut Args<'_>) -> Outcome {
    let engine = call.engine;
    match (word, args.len()) {
        ("sleep", 3) => sleep(call, args),
        ("set-active-expire", 3) => engine.active_expire.store(switch(args, 2), Relaxed),
        ("set-skip-checksum-validation", 3) => {
            engine.trust_checksums.store(switch(args, 2), Relaxed);
        }
        ("pause-cron", 3) => engine.cron_paused.store(switch(args, 2), Relaxed),
        ("log", 3) => {
            log!(engine.log, Warning, "DEBUG LOG: {}", String::from_utf8_lossy(&args[2]));
        }
        ("populate", 3..=5) => populate(call, args)?,
        ("htstats-key", 3 | 4) => {
            with_entry(call, &args[2], |_, _| ())?;
            return Err(Fail::text(
                "ERR The value stored at the specified key is not represented using an hash table",
            ));
        }
        ("listpack", 3) => log_listpack(call, &args[2])?,
        ("change-repl-id", 2) => {
            log!(engine.log, Notice, "drew a new replication ID for DEBUG CHANGE-REPL-ID");
            let id = random_repl_id(engine.clock.wall_ms() as i64);
            engine.replication.state().history.restart(id);
        }
        ("config-rewrite-force-all", 2) => {
            config_command::rewrite(engine, true, "CONFIG-REWRITE-FORCE-ALL failed")?;
        }
        ("quicklist-packed-threshold", 3) => {
            let bytes = memory_size(&args[2]).filter(|n| *n < 4 << 30);
            bytes.ok_or(Fail::text(
                "ERR argument must be a memory value bigger than 1 and smaller than 4gb",
            ))?;
        }
        ("replybuffer", 4) if args.is(2, "peak-reset-time") => {
            if !args.is(3, "never") && !args.is(3, "reset") {
                parse::int(args, 3)?;
            }
        }
        ("replybuffer", 4) if args.is(2, "resizing") => {}
        ("set-disable-deny-scripts", 3) => {
            engine.scripts.allow_all.store(switch(args, 2), Relaxed);
        }
        ("replicate", 3..) => replicate(call, &args.to_slices(2)),
        ("repl-pause", 3) if pauses_replication(engine, &args[2]) => {}
        ("reload", _) => reload(call, args)?,
        ("loadaof", 2) => {
            durable::journal::reload(engine, call.thread).map_err(|why| {
                log!(engine.log, Warning, "DEBUG LOADAOF: {}", why);
                Fail::new(format!("ERR Error trying to load the AOF files: {why}"))
            })?;
        }
        _ => {
            let word = commands::fail::quoted(&args[1][..args[1].len().min(128)]);
            return Err(Fail::new(format!(
                "ERR unknown subcommand or wrong number of arguments for '{word}'. Try DEBUG HELP."
            )));
        }
    }
    Ok(())
}

/// DEBUG LISTPACK: the size of the listpack inside a value, into the log.
fn log_listpack(call: &mut Call<'_>, key: &[u8]) -> Outcome {
    let found = with_entry(call, key, |e, _| {
        let named = e.encoding_name().starts_with("listpack");
        e.run().filter(|_| named).map(|run| (store::packed::Packed::new(run).len(), run.len()))
    })?;
    let (elements, bytes) = found.ok_or(Fail::text("ERR Not a listpack encoded object."))?;
    log!(call.engine.log, Warning, "DEBUG LISTPACK: {} elements, {} bytes", elements, bytes);
    Ok(())
}

/// DEBUG REPLICATE: sends a command to the replicas alone. On a replica the stream is its primary's.
fn replicate(call: &Call<'_>, words: &[&[u8]]) {
    let engine = call.engine;
    if engine.is_replica() || !engine.replication.renders() {
        return;
    }
    let mut bytes = Vec::new();
    replication::render::push_command(&mut bytes, words);
    // Behind what this thread has committed.
    engine.render_changes(call.thread.worker());
    engine.replication.state().append(&bytes);
    engine.feed_now();
}

/// DEBUG REPL-PAUSE: has the process stop itself at a point of full copies. Returns whether there is such a point.
fn pauses_replication(engine: &Engine, word: &[u8]) -> bool {
    let pauses = &Replicator::of(engine).pauses;
    match Point::parse(word) {
        Some(point) => pauses.add(point),
        None if word.eq_ignore_ascii_case(b"clear") => pauses.clear(),
        None => return false,
    }
    true
}

/// DEBUG RELOAD: a snapshot, written and read again; no client sees anything in between.
fn reload(call: &mut Call<'_>, args: &Args<'_>) -> Outcome {
    let (mut merge, mut flush, mut save) = (false, true, true);
    for i in 2..args.len() {
        match () {
            () if args.is(i, "merge") => merge = true,
            () if args.is(i, "noflush") => flush = false,
            () if args.is(i, "nosave") => save = false,
            () => {
                return Err(Fail::text(
                    "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
                ));
            }
        }
    }
    let engine = call.engine;
    let path = snapshots::path(engine);
    load::within(engine, call.thread, |thread| {
        if save {
            snapshots::save(engine, thread)?;
        }
        if flush {
            thread.flush_all(engine);
        }
        let present = if merge { Present::Replace } else { Present::Refuse };
        load::read_file(engine, &mut thread.cx, &path, present).map_err(|e| {
            log!(engine.log, Warning, "DEBUG RELOAD: {}: {}", path.display(), e);
            Fail::text("ERR Error trying to load the RDB dump, check server logs")
        })
    })?;
    log!(engine.log, Warning, "DB reloaded by DEBUG RELOAD");
    Ok(())
}

const HELP: &[&str] = &[
    "CHANGE-REPL-ID",
    "    Draws a new replication ID.",
    "CONFIG-REWRITE-FORCE-ALL",
    "    Like CONFIG REWRITE, but writes every option.",
    "DIGEST",
    "    Answers a hash over all data.",
    "DIGEST-VALUE <key> [<key> ...]",
    "    Answers a hash over each key's value.",
    "ERROR <string>",
    "    Answers with the error <string>.",
    "HTSTATS <dbid> [full]",
    "    Tells about the hash tables of a database.",
    "HTSTATS-KEY <key> [full]",
    "    Tells about the hash table inside a value.",
    "LISTPACK <key>",
    "    Writes the size of the listpack inside a value to the log.",
    "LOADAOF",
    "    Throws all data away and reads it again from the journal.",
    "LOG <message>",
    "    Writes <message> to the log.",
    "OBJECT <key>",
    "    Tells how the value of <key> is stored.",
    "PAUSE-CRON <0|1>",
    "    Stops the periodic work, or lets it go on.",
    "POPULATE <count> [<prefix>] [<size>]",
    "    Makes <count> keys <prefix>:<n> (default prefix: key) where there are none.",
    "PROTOCOL <type>",
    "    Answers with a value of <type>: string, integer, double, bignum, null, array, set, map,",
    "    attrib, push, verbatim, true, false.",
    "QUICKLIST-PACKED-THRESHOLD <size>",
    "    Checks <size>; there is no such threshold.",
    "RELOAD [MERGE] [NOFLUSH] [NOSAVE]",
    "    Saves a snapshot and loads it: without saving (NOSAVE), into the data that is there (NOFLUSH),",
    "    in the place of keys that are there (MERGE).",
    "REPL-PAUSE <clear|after-fork|before-rdb-channel|on-streaming-repl-buf>",
    "    Stops the process (SIGSTOP) at this point of a full copy, until it gets SIGCONT.",
    "REPLICATE <command> [<arg> ...]",
    "    Sends the command to the replicas, and does not execute it.",
    "REPLYBUFFER PEAK-RESET-TIME <never|reset|ms>",
    "REPLYBUFFER RESIZING <0|1>",
    "    Has no effect: replies share one buffer per thread.",
    "SET-ACTIVE-EXPIRE <0|1>",
    "    Turns the expiry of keys that nobody asks for off or on.",
    "SET-DISABLE-DENY-SCRIPTS <0|1>",
    "    Lets scripts call the commands that no script may call, or forbids it again.",
    "SET-SKIP-CHECKSUM-VALIDATION <0|1>",
    "    Takes payloads of RESTORE whatever their checksum says.",
    "SLEEP <seconds>",
    "    Stops the thread of this connection for <seconds>, which may have decimals.",
];

/// A switch as C's `atoi` reads it: an argument that begins with a number other than 0 is on.
fn switch(args: &Args<'_>, i: usize) -> bool {
    let text = args[i].trim_ascii_start();
    let text = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit());
    digits.into_iter().any(|b| *b != b'0')
}

/// A memory size: digits and a unit (`k`, `kb`, `m`, `mb`, `g`, `gb`, none).
fn memory_size(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The whole server sleeps, as Redis does: other threads as soon as they finish their current batch.
fn sleep(call: &Call<'_>, args: &Args<'_>) {
    let text = std::str::from_utf8(&args[2]).unwrap_or_default();
    // As in Redis, an argument that is no number counts as 0.
    let seconds = text.parse::<f64>().unwrap_or(0.0);
    let Ok(time) = Duration::try_from_secs_f64(seconds) else { return };
    let Some(end) = Instant::now().checked_add(time) else { return };
    let own = call.thread.index;
    for (_, w) in call.engine.workers().iter().enumerate().filter(|(i, _)| *i != own) {
        w.mailbox.post(Message::Run(Job::new(move |_, _| {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
        })));
    }
    // Nor does the link to a primary go on. It is not waited for if it waits for this thread.
    let link = call.engine.replication.applying.try_lock_for(Duration::from_millis(10));
    std::thread::sleep(end.saturating_duration_since(Instant::now()));
    drop(link);
}

/// Calls `f` with the entry at `key`.
fn with_entry<R>(
    call: &mut Call<'_>,
    key: &[u8],
    f: impl FnOnce(&Entry, u32) -> R,
) -> Result<R, Fail> {
    let key = Key::new(key);
    let (ks, index) = (&call.engine.keyspace, call.session.db);
    let mut db = Db::lock_one(ks, index, key, &mut call.thread.cx);
    let now = db.cx.lru_clock;
    // As in Redis, an expired key is there until another command looks at it.
    let found = db.inspect(key).map(|e| f(&e, now));
    found.ok_or(Fail::NO_SUCH_KEY)
}

fn object(call: &mut Call<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let lfu = call.thread.cx.access.lfu;
    let nodes_max = call.thread.cx.small.list_max_listpack_size;
    let text = with_entry(call, &args[2], |e, now| {
        let idle = if lfu { 0 } else { now.wrapping_sub(e.access()) & 0xff_ffff };
        format!(
            "Value at:{:p} refcount:1 encoding:{} serializedlength:{} lru:{} lru_seconds_idle:{idle}",
            e.key().as_ptr(),
            e.encoding_name(),
            if e.kind() == Kind::String { saved_bytes(e.str()) } else { e.bytes() },
            e.access(),
        ) + &quicklist(e, nodes_max)
    })?;
    reply.simple(&text);
    Ok(())
}

/// Further figures of long lists. Their nodes between the ends are always packed.
fn quicklist(e: &Entry, nodes_max: i64) -> String {
    if e.encoding_name() != "quicklist" {
        return String::new();
    }
    format!(" ql_listpack_max:{nodes_max} ql_compressed:1")
}

/// Bytes of a string in an RDB file, without compression.
fn saved_bytes(value: Str<'_>) -> usize {
    let len = match value {
        Str::Int(n) if i8::try_from(n).is_ok() => return 2,
        Str::Int(n) if i16::try_from(n).is_ok() => return 3,
        Str::Int(n) if i32::try_from(n).is_ok() => return 5,
        Str::Int(n) => n.to_string().len(),
        Str::Inline(b) => b.len(),
        Str::Shared(b) => b.len(),
    };
    len + match len {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..=0xffff_ffff => 5,
        _ => 9,
    }
}

fn populate(call: &mut Call<'_>, args: &Args<'_>) -> Outcome {
    let count =
        parse::int(args, 2).and_then(|n| u64::try_from(n).map_err(|_| Fail::NOT_POSITIVE))?;
    let size = match args.get(4) {
        Some(_) => usize::try_from(parse::int(args, 4)?).map_err(|_| Fail::NOT_POSITIVE)?,
        None => 0,
    };
    if size > call.thread.cx.string_max {
        return Err(Fail::TOO_LONG);
    }
    let prefix = args.get(3).unwrap_or(b"key");
    let worker = std::sync::Arc::clone(call.thread.worker());
    for n in 0..count {
        let name = [prefix, b":", n.to_string().as_bytes()].concat();
        let mut value = format!("value:{n}").into_bytes();
        if size > 0 {
            value.resize(size, 0);
        }
        let key = Key::new(&name);
        let (ks, index) = (&call.engine.keyspace, call.session.db);
        let mut db = Db::lock_one(ks, index, key, &mut call.thread.cx);
        if db.peek(key).is_none() {
            let content = if value.len() > store::INLINE_MAX {
                Content::Shared(std::sync::Arc::new(value))
            } else {
                Content::Bytes(&value)
            };
            let bytes = match &content {
                Content::Shared(a) => a.to_vec(),
                Content::Bytes(b) => b.to_vec(),
                _ => Vec::new(),
            };
            db.set(key, content, Ttl::Clear);
            engine::commit::note_words(
                &call.engine.stream,
                &worker.lane,
                &db,
                index,
                &[b"set".as_slice(), &name, &bytes],
            );
        }
        commit(call.engine, &mut call.thread.pubsub, &mut db);
    }
    call.thread.collect();
    Ok(())
}

fn table_stats(call: &mut Call<'_>, args: &Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let ks = &call.engine.keyspace;
    let index = parse::int(args, 2)?;
    let index = usize::try_from(index).ok().filter(|i| *i < ks.databases());
    let index = index.ok_or(Fail::text("ERR Out of range database"))?;
    let mut db = Db::unlocked(ks, index, &mut call.thread.cx);
    let (keys, buckets, expires) = (db.len(), db.buckets(), db.expiring().0);
    let part = |title: &str, elements: usize, buckets: Option<usize>| {
        if elements == 0 {
            return format!("[{title} HT]\nNo stats available for empty dictionaries\n");
        }
        let size = buckets.map_or(String::new(), |n| format!(" table size: {n}\n"));
        format!(
            "[{title} HT]\nHash table 0 stats (main hash table):\n{size} number of elements: \
             {elements}\n"
        )
    };
    // Deadlines are in the entries, so there is no second table.
    let text = part("Dictionary", keys, Some(buckets)) + &part("Expires", expires, None);
    reply.verbatim("txt", text);
    Ok(())
}
