//! MIGRATE: <https://redis.io/docs/latest/commands/migrate/>
//!
//! In Redis all clients wait until the other server has answered. Here only the clients wait whose
//! commands name a key that is being moved (`frozen`), and the connection that called MIGRATE:
//!
//! 1. The keys are frozen. Every thread is asked for a sign, so that no command that began before is
//!    still under way.
//! 2. The values are serialised with their shards locked, the only part of the work that makes other
//!    commands wait.
//! 3. A thread of its own connects, sends, and reads the answers (`link`).
//! 4. The keys that the target has acknowledged are deleted, in one commit, and the keys are
//!    unfrozen.
//!
//! Scripts may use keys that they did not declare, which are then not held back. Keys are watched
//! meanwhile: one that has changed stays, and the client is notified.
//!
//! In a transaction or a script nothing can be left and come back to: there the thread itself waits
//! for the target, and every thread that needs its locks waits with it, as in Redis.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};
use std::time::Duration;

use ::acl::Catalogue as _;
use commands::row::{
    Acl, Argv, FindKeys, Flags, Group, KeyError, KeyFlags, KeyPos, KeySpec, Row, Scope,
};
use commands::{Fail, Outcome, parse};
use engine::Client;
use engine::Thread;
use engine::commit::Own;
use engine::log;
use engine::migrate::{Report, Target, request};
use engine::{Call, SessionCommand};
use engine::{Engine, Worker};
use engine::{Job, Message};
use engine::{commit, commit_own};
use parking_lot::Mutex;
use resp::{Args, Out, Proto, Reply};
use store::{Block, Class, Db, Empty, Key, Kind, ShardSet, Waiter, Watch};

pub(crate) static COMMANDS: &[&SessionCommand] = &[&MIGRATE];

static MIGRATE: SessionCommand = SessionCommand {
    row: Row {
        name: "migrate",
        group: Group::Generic,
        since: "2.6.0",
        arity: -6,
        flags: Flags::WRITE,
        acl: Acl::KEYSPACE.or(Acl::DANGEROUS),
        keys: &[
            KeySpec::one(3, KEY),
            KeySpec::after(
                "KEYS",
                -2,
                FindKeys::Range { last: -1, step: 1, limit: 0 },
                KEY.or(KeyFlags::INCOMPLETE),
            ),
        ],
        get_keys: Some(keys),
        secrets: Some(is_secret),
        tips: &["nondeterministic_output"],
        history: &[
            ("3.0.0", "Added the `COPY` and `REPLACE` options."),
            ("3.0.6", "Added the `KEYS` option."),
            ("4.0.7", "Added the `AUTH` option."),
            ("6.0.0", "Added the `AUTH2` option."),
        ],
        scope: Scope::None,
        complexity: "O(N) for N bytes of values: DUMP and DEL here, RESTORE there, and the way. \
                     Only commands over the same keys wait meanwhile.",
        summary: "Moves keys to another server.",
        syntax: "MIGRATE host port <key | \"\"> destination-db timeout [COPY] [REPLACE] \
                 [AUTH password | AUTH2 username password] [KEYS key [key ...]]",
        transcript: r#"
> MIGRATE 127.0.0.1 6379 nothing 0 1000
NOKEY
> MIGRATE 127.0.0.1 6379 "" 0 1000 COPY REPLACE AUTH2 user password KEYS a b
NOKEY
# Where there is something to move, it waits: crates/session-commands/tests/migrate.rs.
> MIGRATE 127.0.0.1 6379 greeting 0 1000 KEYS a
(error) ERR When using MIGRATE KEYS option, the key argument must be set to the empty string
> MIGRATE 127.0.0.1 6379 greeting 0 soon
(error) ERR value is not an integer or out of range
> MIGRATE 127.0.0.1 6379 greeting 0 1000 AUTH
(error) ERR syntax error
> MIGRATE 127.0.0.1 6379 greeting 0 1000 MOVE
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run: migrate,
    subs: &[],
};

const KEY: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);

/// A timeout of zero or less.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The arguments from [`Argv`] on: where the first key is, and how many there are.
fn key_range(argv: &dyn Argv) -> (usize, usize) {
    let mut i = 6;
    while i < argv.len() {
        let word = argv.get(i);
        if word.eq_ignore_ascii_case(b"keys") {
            // With a key in the usual place, too, the command refuses.
            let count = if argv.get(3).is_empty() { argv.len() - i - 1 } else { 0 };
            return (i + 1, count);
        }
        i += 1 + credentials(word);
    }
    (3, 1)
}

/// The number of credentials behind this option.
fn credentials(option: &[u8]) -> usize {
    match option {
        word if word.eq_ignore_ascii_case(b"auth") => 1,
        word if word.eq_ignore_ascii_case(b"auth2") => 2,
        _ => 0,
    }
}

/// Whether argument `i` is a credential. Behind KEYS, and behind AUTH, `auth` is a word like any other.
fn is_secret(argv: &dyn Argv, i: usize) -> bool {
    let mut at = 6;
    while at < i && !argv.get(at).eq_ignore_ascii_case(b"keys") {
        let hidden = credentials(argv.get(at));
        if i <= at + hidden {
            return true;
        }
        at += 1 + hidden;
    }
    false
}

fn keys(argv: &dyn Argv, out: &mut dyn FnMut(KeyPos)) -> Result<(), KeyError> {
    let (first, count) = key_range(argv);
    (first..first + count).for_each(|index| out(KeyPos { index, flags: KEY }));
    Ok(())
}

/// The arguments of the call.
struct Plan {
    to: Target,
    copy: bool,
    replace: bool,
    keys: Vec<Vec<u8>>,
}

fn plan(args: &Args<'_>) -> Result<Plan, Fail> {
    let (mut copy, mut replace, mut auth) = (false, false, None);
    let mut i = 6;
    while i < args.len() {
        let more = args.len() - 1 - i;
        if args.is(i, "copy") {
            copy = true;
        } else if args.is(i, "replace") {
            replace = true;
        } else if args.is(i, "auth") && more >= 1 {
            auth = Some((None, args[i + 1].to_vec()));
            i += 1;
        } else if args.is(i, "auth2") && more >= 2 {
            auth = Some((Some(args[i + 1].to_vec()), args[i + 2].to_vec()));
            i += 2;
        } else if args.is(i, "keys") {
            if !args[3].is_empty() {
                return Err(Fail::text(
                    "ERR When using MIGRATE KEYS option, the key argument must be set to the \
                     empty string",
                ));
            }
            break;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    let timeout = u64::try_from(parse::int(args, 5)?).ok().filter(|ms| *ms > 0);
    let db = parse::int(args, 4)?;
    let (first, count) = key_range(args);
    let host = String::from_utf8_lossy(&args[1]).into_owned();
    let port = std::str::from_utf8(&args[2]).ok().and_then(|port| port.parse().ok());
    let timeout = timeout.map_or(TIMEOUT, Duration::from_millis);
    Ok(Plan {
        to: Target { host, port, db, timeout, auth },
        copy,
        replace,
        keys: args.iter_from(first).take(count).map(<[u8]>::to_vec).collect(),
    })
}

/// The shards of `keys`.
fn shards(keys: &[Vec<u8>]) -> ShardSet {
    let mut set = ShardSet::default();
    keys.iter().for_each(|key| set.add(stdx::hash::hash64(key)));
    set
}

fn migrate(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut plan = plan(args)?;
    let (engine, index) = (call.engine, call.session.db);
    let cx = &mut call.thread.cx;
    let mut db = Db::lock_set(&engine.keyspace, index, shards(&plan.keys), cx);
    plan.keys.retain(|key| db.read(Key::new(key)).is_some());
    commit(engine, &mut call.thread.pubsub, &mut db);
    drop(db);
    if plan.keys.is_empty() {
        reply.simple("NOKEY");
        return Ok(());
    }
    if !call.thread.cx.may_block {
        let mut parcel = pack(call.thread, engine, index, &plan);
        let now = call.thread.cx.now;
        let report = parcel.send(engine, &plan.to, now);
        return unpack(call.thread, engine, index, &plan, &parcel, report, reply);
    }
    engine.freeze(&plan.keys);
    let (kind, errors, empty) = (Kind::String, false, Empty::Null);
    let answer_id = Block::next_answer_id();
    let block = Block { errors, answer_id, ..Block::new(Vec::new(), kind, None, empty) };
    call.thread.cx.block = Some(block);
    let mover = Mover {
        worker: Arc::clone(call.thread.worker()),
        client: Arc::clone(&call.session.client),
        answer_id,
        proto: call.session.proto,
        index,
        plan,
    };
    mover.when_all_know(engine);
    Ok(())
}

/// Values on their way.
struct Parcel {
    /// One RESTORE for each of the keys.
    requests: Vec<u8>,
    keys: Vec<Vec<u8>>,
    /// Set for keys that change meanwhile.
    watches: Vec<Arc<Watch>>,
}

impl Parcel {
    fn send(&mut self, engine: &Engine, to: &Target, now_ms: i64) -> Report {
        let dial = engine.hooks.dial.read().clone();
        let requests = std::mem::take(&mut self.requests);
        let what = (requests.as_slice(), self.keys.len());
        engine.migrations.links.deliver(dial.as_ref(), to, what, now_ms)
    }
}

/// Serialises the keys that are still there, and watches them.
fn pack(thread: &mut Thread, engine: &Engine, index: usize, plan: &Plan) -> Parcel {
    let mut parcel = Parcel { requests: Vec::new(), keys: Vec::new(), watches: Vec::new() };
    let mut db = Db::lock_set(&engine.keyspace, index, shards(&plan.keys), &mut thread.cx);
    let now = db.now();
    for name in &plan.keys {
        let key = Key::new(name);
        let Some(e) = db.peek(key) else { continue };
        let ttl = e.deadline().map_or(0, |at| at.saturating_sub(now).max(1)).to_string();
        let payload = rdb::dump(&e);
        let words = [&b"RESTORE"[..], name, ttl.as_bytes(), &payload, b"REPLACE"];
        let count = if plan.replace { 5 } else { 4 };
        request(&mut parcel.requests, words.into_iter().take(count));
        let watch = Arc::new(Watch::default());
        db.watch(key, &watch);
        parcel.watches.push(watch);
        parcel.keys.push(name.clone());
    }
    commit(engine, &mut thread.pubsub, &mut db);
    parcel
}

/// Deletes the keys that the target has, and answers.
fn unpack(
    thread: &mut Thread,
    engine: &Engine,
    index: usize,
    plan: &Plan,
    parcel: &Parcel,
    report: Report,
    reply: &mut Reply<'_>,
) -> Outcome {
    let mut changed = None;
    let mut form: Vec<&[u8]> = vec![b"DEL"];
    let mut db = Db::lock_set(&engine.keyspace, index, shards(&parcel.keys), &mut thread.cx);
    // Some may have expired meanwhile, of which clients are notified, too.
    for name in &parcel.keys {
        db.peek(Key::new(name));
    }
    // Once: it looks at every event that the command has noted so far.
    db.notify();
    for ((name, watch), i) in parcel.keys.iter().zip(&parcel.watches).zip(0..) {
        let key = Key::new(name);
        let there = db.peek(key).is_some();
        let taken = report.taken.get(i).is_some_and(|taken| *taken);
        if taken && there && !plan.copy {
            if watch.is_dirty() {
                changed = Some(name);
            } else {
                db.delete(key);
                db.changed(name, Class::Generic, "del");
                form.push(name);
            }
        }
        db.unwatch(key, watch);
    }
    if form.len() > 1 {
        db.rewrite(&form);
    }
    let Some(cmd) = engine.table.named(b"migrate").map(|id| engine.table.get(id)) else {
        return Err(Fail::SYNTAX);
    };
    let args = Args::new(&[], &[], &mut []);
    commit_own(engine, &mut thread.pubsub, &mut db, &Own { db: index, cmd, args: &args });
    drop(db);
    thread.collect();
    if let Some(error) = report.error {
        return Err(Fail::new(error));
    }
    if let Some(name) = changed {
        let name = commands::fail::quoted(&name[..name.len().min(128)]);
        return Err(Fail::new(format!(
            "ERR a script has changed '{name}' meanwhile: it stays, and the target has what it \
             was before"
        )));
    }
    reply.ok();
    Ok(())
}

/// A MIGRATE whose connection waits.
struct Mover {
    worker: Arc<Worker>,
    client: Arc<Client>,
    /// Of the connection's waiting.
    answer_id: u64,
    proto: Proto,
    index: usize,
    plan: Plan,
}

impl Mover {
    /// Goes on when every thread is between two commands: later ones see that the keys are frozen.
    fn when_all_know(self, engine: &Engine) {
        let workers = engine.workers();
        let left = Arc::new(AtomicUsize::new(workers.len()));
        let next = Arc::new(Mutex::new(Some(self)));
        for w in workers {
            let (left, next) = (Arc::clone(&left), Arc::clone(&next));
            w.mailbox.post(Message::Run(Job::new(move |_, _| {
                if left.fetch_sub(1, AcqRel) > 1 {
                    return;
                }
                let Some(mover) = next.lock().take() else { return };
                let home = Arc::clone(&mover.worker);
                let go = move |engine: &Engine, thread: &mut Thread| mover.go(engine, thread);
                home.mailbox.post(Message::Run(Job::new(go)));
            })));
        }
    }

    fn go(self, engine: &Engine, thread: &mut Thread) {
        let Some(waiter) = self.client.waits_for(self.answer_id) else {
            // The client has closed its connection, or CLIENT UNBLOCK has ended the command.
            engine.thaw(&self.plan.keys);
            return;
        };
        let parcel = pack(thread, engine, self.index, &self.plan);
        let now = thread.cx.now;
        let trip = Arc::new(Mutex::new(Some(Trip { mover: self, parcel, waiter })));
        let (engine_ref, carried) = (engine.weak(), Arc::clone(&trip));
        let carry = move || {
            let trip = carried.lock().take();
            let (Some(engine), Some(mut trip)) = (engine_ref.upgrade(), trip) else { return };
            let report = trip.parcel.send(&engine, &trip.mover.plan.to, now);
            let home = Arc::clone(&trip.mover.worker);
            let end = move |engine: &Engine, thread: &mut Thread| trip.end(engine, thread, report);
            home.mailbox.post(Message::Run(Job::new(end)));
        };
        let spawned = std::thread::Builder::new().name("apus-migrate".into()).spawn(carry);
        if let Err(e) = spawned
            && let Some(trip) = trip.lock().take()
        {
            log!(engine.log, Warning, "no thread for MIGRATE: {}", e);
            let report = Report::failed("IOERR error or timeout connecting to the client");
            trip.end(engine, thread, report);
        }
    }
}

/// Its values are on their way.
struct Trip {
    mover: Mover,
    parcel: Parcel,
    waiter: Arc<Waiter>,
}

impl Trip {
    fn end(self, engine: &Engine, thread: &mut Thread, report: Report) {
        let Mover { proto, index, plan, client, .. } = &self.mover;
        thread.cx.client = client.id;
        let mut out = Out::default();
        let mut reply = Reply::new(&mut out, *proto);
        let outcome = unpack(thread, engine, *index, plan, &self.parcel, report, &mut reply);
        let failed = outcome.err();
        if let Some(fail) = &failed {
            reply.error(fail.bytes());
        }
        thread.serve_ready(engine);
        engine.thaw(&plan.keys);
        thread.send_mail(engine);
        if let Some(crowded) = thread.take_crowded() {
            client.crowded.store(crowded as u32 + 1, Relaxed);
        }
        thread.answer_waiter(engine, &self.waiter, out.join(), failed.as_ref());
    }
}
