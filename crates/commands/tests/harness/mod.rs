//! A server without sockets, to test commands by themselves.
//!
//! It looks a command up by name, checks its arity, finds and locks its keys as the row says, runs
//! it and turns a refusal into an error reply; the engine does the same with a session around it.
//! Time stands still and the random numbers are the same in every run.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod effects;

use std::sync::{Arc, OnceLock};

use commands::command::DataCommand;
use commands::row::{Row, Scope};
use commands::table::Index;
use commands::{Fail, keys};
use resp::{Args, Out, Proto, Span};
use stdx::rng::Rng;
use store::{Context, Db, Key, Keyspace, Kind, ShardSet};
use transcript::{Reply, Step, Target};

/// The time at which everything happens, in Unix milliseconds.
const NOW_MS: i64 = 1_770_000_000_000;

/// Databases, as many as Redis has by default.
const DATABASES: usize = 16;

/// How arguments reach a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// In the input buffer, as nearly all do.
    Buffer,
    /// In buffers of their own, which the command may take: large arguments, inline commands.
    Owned,
}

/// A called command and its outcome.
pub(crate) struct Answer {
    /// The row that was run, a subcommand's if there is one.
    pub(crate) row: &'static Row,
    /// Its reply.
    pub(crate) reply: Reply,
}

/// A key as a client sees it: database, key, deadline, value.
pub(crate) type Seen = (usize, Vec<u8>, Option<i64>, Vec<u8>);

/// No data command of this name: a session command, which the engine's tests run.
#[derive(Debug)]
pub(crate) struct Unknown;

/// One thread of a server, over a keyspace of its own.
pub(crate) struct Server {
    keyspace: Arc<Keyspace>,
    /// Context of the commands; its effects are those of the last one.
    pub(crate) cx: Context,
}

impl Server {
    /// An empty server.
    pub(crate) fn new() -> Self {
        let keyspace = Keyspace::new(DATABASES, NOW_MS);
        keyspace.take_interest();
        keyspace.keep_misses(true);
        Self { keyspace, cx: Context::new(NOW_MS, Rng::from_seed(7)) }
    }

    /// Runs one command in database `db`.
    pub(crate) fn call<A: AsRef<[u8]>>(
        &mut self,
        db: usize,
        args: &[A],
        proto: Proto,
        arrival: Arrival,
    ) -> Result<Answer, Unknown> {
        let name = args.first().expect("a name").as_ref();
        let (index, commands) = table();
        let at = index.lookup(name).ok_or(Unknown)?;
        let mut command = commands[usize::from(at)];
        if let (false, Some(sub)) = (command.subs.is_empty(), args.get(1))
            && let Some(sub) = index.lookup_sub(at, sub.as_ref())
        {
            command = command.subs[usize::from(sub)];
        }
        let (mut buf, mut owned) = (Vec::new(), Vec::new());
        let spans: Vec<Span> = args
            .iter()
            .map(|arg| match arrival {
                Arrival::Buffer => {
                    buf.extend_from_slice(arg.as_ref());
                    Span::new(buf.len() - arg.as_ref().len(), arg.as_ref().len())
                }
                Arrival::Owned => {
                    owned.push(arg.as_ref().to_vec());
                    Span::owned(owned.len() - 1)
                }
            })
            .collect();
        let mut args = Args::new(&buf, &spans, &mut owned);
        self.cx.effects.clear();
        let mut out = Out::default();
        let mut writer = resp::Reply::new(&mut out, proto);
        if let Err(fail) = self.run(db, command, &mut args, &mut writer) {
            writer.error(fail.bytes());
        }
        let bytes = out.join();
        let mut rest = &bytes[..];
        let reply = transcript::decode(&mut rest).expect("valid RESP").expect("a whole reply");
        assert!(rest.is_empty(), "{}: more than one reply: {bytes:?}", command.row.name);
        Ok(Answer { row: &command.row, reply })
    }

    fn run(
        &mut self,
        index: usize,
        command: &DataCommand,
        args: &mut Args<'_>,
        reply: &mut resp::Reply<'_>,
    ) -> commands::Outcome {
        let row = &command.row;
        if !row.arity_fits(args.len()) {
            return Err(Fail::arity(row.name));
        }
        let (ks, cx) = (&*self.keyspace, &mut self.cx);
        let mut found = Vec::new();
        // Where the specifications do not fit, the command itself has the error text.
        let _ = keys::positions(row, args, &mut |at| found.push(at));
        let mut db = match (row.scope_of(args), found.as_slice()) {
            (Scope::All | Scope::Patterns, _) => Db::lock_all(ks, index, cx),
            (Scope::Each | Scope::None, _) | (Scope::Keys, []) => Db::unlocked(ks, index, cx),
            (Scope::Keys, [one]) => Db::lock_one(ks, index, Key::new(&args[*one]), cx),
            (Scope::Keys, many) => {
                let mut set = ShardSet::default();
                many.iter().for_each(|at| set.add(Key::new(&args[*at]).hash));
                Db::lock_set(ks, index, set, cx)
            }
        };
        (command.run)(&mut db, args, reply)
    }

    /// All data that a client could see, sorted.
    pub(crate) fn digest(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        // Looking must not leave traces in the effects.
        let effects = std::mem::take(&mut self.cx.effects);
        let mut db = Db::lock_all(&self.keyspace, 0, &mut self.cx);
        for index in 0..DATABASES {
            db.select(index);
            db.for_each(|e| {
                let mut parts = Vec::new();
                store::walk(e, &mut |part| parts.push(format!("{part:?}")));
                if matches!(e.kind(), Kind::Set | Kind::Hash) {
                    parts.sort();
                }
                let value = format!("{:?} {}", e.kind(), parts.join(" ")).into_bytes();
                all.push((index, e.key().to_vec(), e.deadline(), value));
            });
        }
        drop(db);
        self.cx.effects = effects;
        all.sort();
        all
    }

    /// The journal of the last command, which was `args` in database `db`: each record with its
    /// database.
    pub(crate) fn journal(&self, db: usize, args: &[Vec<u8>]) -> Vec<(usize, Vec<Vec<u8>>)> {
        let effects = &self.cx.effects;
        let mut records: Vec<_> = effects
            .dropped
            .iter()
            .map(|(db, key)| (*db, vec![b"DEL".to_vec(), key.clone()]))
            .collect();
        records.extend(
            effects
                .dropped_fields
                .iter()
                .map(|(db, key, field)| (*db, vec![b"HDEL".to_vec(), key.clone(), field.clone()])),
        );
        let own = effects.rewritten.is_empty();
        if effects.dirty > 0 || !own {
            records.push((db, if own { args.to_vec() } else { effects.rewritten.clone() }));
            records.extend(effects.also.iter().map(|record| (db, record.clone())));
        }
        records
    }
}

/// A part of a transcript, from one `# reset` to the next, as Apus replays it.
pub(crate) struct Session {
    /// The command whose row it stands in.
    pub(crate) of: &'static str,
    /// Its steps.
    pub(crate) steps: Vec<Step>,
}

/// All sessions of all transcripts that consist of data commands alone, and how many do not.
pub(crate) fn sessions() -> (Vec<Session>, usize) {
    let (mut sessions, mut skipped) = (Vec::new(), 0);
    for row in rows().filter(|row| !row.transcript.is_empty()) {
        let steps = transcript::parse(row.transcript)
            .unwrap_or_else(|e| panic!("transcript of {}: {e}", row.name));
        let mut parts: Vec<Vec<Step>> = vec![Vec::new()];
        for step in steps {
            if step.reset {
                parts.push(Vec::new());
            }
            if step.only.includes(Target::Apus) {
                parts.last_mut().expect("one at least").push(step);
            }
        }
        for steps in parts.into_iter().filter(|part| !part.is_empty()) {
            if steps.iter().all(|step| table().0.lookup(&step.args[0]).is_some()) {
                sessions.push(Session { of: row.name, steps });
            } else {
                skipped += 1;
            }
        }
    }
    (sessions, skipped)
}

/// Every row, containers and subcommands included.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    commands::all().flat_map(|c| std::iter::once(&c.row).chain(c.subs.iter().map(|sub| &sub.row)))
}

fn table() -> &'static (Index, Vec<&'static DataCommand>) {
    static TABLE: OnceLock<(Index, Vec<&'static DataCommand>)> = OnceLock::new();
    TABLE.get_or_init(|| {
        let commands: Vec<_> = commands::all().collect();
        let rows: Vec<_> = commands.iter().map(|c| &c.row).collect();
        (Index::new(&rows), commands)
    })
}

/// The texts of a reply in order, without their grouping and types, in which RESP2 and RESP3
/// differ.
pub(crate) fn leaves(reply: &Reply) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    collect_texts(reply, &mut found);
    found
}

fn collect_texts(reply: &Reply, found: &mut Vec<Vec<u8>>) {
    match reply {
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => {
            items.iter().for_each(|item| collect_texts(item, found));
        }
        Reply::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            collect_texts(key, found);
            collect_texts(value, found);
        }),
        Reply::Status(text) | Reply::Bulk(text) | Reply::Verbatim(text) => found.push(text.clone()),
        Reply::Error(text) => found.push([b"-", &text[..]].concat()),
        Reply::Integer(n) => found.push(n.to_string().into_bytes()),
        Reply::Double(text) | Reply::BigNumber(text) => found.push(text.clone().into_bytes()),
        Reply::Bool(yes) => found.push(vec![b'0' + u8::from(*yes)]),
        Reply::Nil => found.push(b"(nil)".to_vec()),
    }
}
