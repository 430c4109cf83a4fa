//! The command table of the server: data commands and session commands under one numbering.

use std::sync::Arc;

use commands::Fail;
use commands::command::{Command, DataFn, Outcome};
use commands::row::{BeginSearch, Channels, FindKeys, Flags, Group, KeySpec, Row, Scope, Traits};
use commands::runs::RunFunction;
use commands::table::Index;
use resp::{Args, Reply};

use crate::clients::Client;
use crate::engine::Engine;
use crate::pubsub::ChannelKind;
use crate::session::Session;
use crate::thread::Thread;

/// Does what a command of live channels asks for: its method, as `publish`, and its arguments.
pub type LiveCall = Arc<
    dyn Fn(&mut Call<'_>, &str, &[&[u8]], &mut Reply<'_>, LiveWait<'_>) -> Outcome + Send + Sync,
>;

/// Makes the connection of a command wait for a reply that comes later, from another thread.
pub type LiveWait<'a> = &'a dyn Fn(&mut Call<'_>) -> Result<LiveAnswer, Fail>;

/// Gives that reply.
pub type LiveAnswer = Box<dyn FnOnce(LiveWrite) + Send>;

/// Writes it.
pub type LiveWrite = Box<dyn FnOnce(&mut Reply<'_>) -> Outcome>;

/// The context of a session command: the server, the thread it runs on, and the connection.
pub struct Call<'a> {
    /// The server.
    pub engine: &'a Engine,
    /// The worker thread's half.
    pub thread: &'a mut Thread,
    /// The connection.
    pub session: &'a mut Session,
}

/// The function of a session command. It locks the shards that it needs itself.
pub type SessionFn = fn(&mut Call<'_>, &mut Args<'_>, &mut Reply<'_>) -> Outcome;

/// A command over sessions and the server.
pub type SessionCommand = Command<SessionFn>;

/// The function of a container. Dispatch finds subcommands before it comes here.
pub fn container(_: &mut Call<'_>, args: &mut Args<'_>, _: &mut Reply<'_>) -> Outcome {
    let name = String::from_utf8_lossy(&args[0]).to_ascii_lowercase();
    Err(Fail::arity(&name))
}

/// A command's function.
#[derive(Clone, Copy)]
pub enum Run {
    /// A data command: it sees the keys that are locked for it.
    Data(DataFn),
    /// A session command: it sees the session and the server.
    Session(SessionFn),
}

/// Answers a command of a client whose thread is stuck in a slow script, on another thread: with neither
/// the session nor the keyspace.
pub type StuckFn = fn(&Engine, &Client, &Args<'_>, &mut Reply<'_>) -> Result<Stuck, Fail>;

/// What was done about a command of a client whose thread is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// The command was answered.
    Answered,
    /// The command was answered, and the session runs it when its thread is free, before any other command.
    Noted,
    /// The command was not answered.
    Silent,
}

/// Where a session command of a replayed script runs: there is no session.
pub struct Replayed<'a> {
    /// The server, which is loading.
    pub engine: &'a Engine,
    /// The number of the script's database.
    pub db: &'a mut usize,
}

/// Runs a session command for a script that an append-only file of Redis holds, as far as the script can tell.
pub type ReplayedFn = fn(&mut Replayed<'_>, &Args<'_>, &mut Reply<'_>) -> Outcome;

/// The session commands that a server has: handed in with [`Options`](crate::Options), so that this crate
/// knows none of them.
#[derive(Clone, Copy)]
pub struct CommandSet {
    /// The commands, in several lists.
    pub lists: &'static [&'static [&'static SessionCommand]],
    /// The commands that are answered while their client's thread is stuck, by the names of their rows, in
    /// several lists.
    pub while_stuck: &'static [&'static [(&'static str, StuckFn)]],
    /// The commands that scripts call which an append-only file of Redis holds, likewise.
    pub in_replayed_scripts: &'static [&'static [(&'static str, ReplayedFn)]],
}

impl CommandSet {
    /// No session commands: such a server has data commands only.
    pub const NONE: Self = Self { lists: &[], while_stuck: &[], in_replayed_scripts: &[] };
}

/// One command or subcommand.
pub struct Cmd {
    /// Its row.
    pub row: &'static Row,
    /// Its function.
    pub run: Run,
    /// Its own traits and its container's.
    pub traits: Traits,
    /// The row's arity, where dispatch finds it without a look at the row.
    arity: i16,
    /// Number of its first subcommand, if it is a container.
    first_sub: u16,
    /// Its only key is argument 1, so its shard is known before it runs.
    pub one_key: bool,
    /// Its keys are argument 1 and every so-many-th one up to the last, which is relative to the
    /// first, or the last argument if negative: `(last, step)`.
    pub many_keys: Option<(i16, usize)>,
    /// Its keys begin at argument 3, and argument 2 says how many they are.
    pub counted_keys: bool,
    /// Its function for several in a row.
    pub run_function: Option<RunFunction>,
    /// Takes constant time, so that it may be timed together with its neighbours.
    pub fast: bool,
    /// Takes time in proportion to the size of its reply, so that it is as fast while the reply is
    /// short.
    pub by_reply: bool,
    /// The argument with the name of its member or field, the first one if there are several; 0 if
    /// it is about the whole value.
    pub part: u8,
    /// The kind of channel that it publishes to, if it publishes.
    pub publishes: Option<ChannelKind>,
    /// Subscribes to the channels that it names.
    pub subscribes: bool,
    /// Its reply tells of data: it waits until what it tells of is as safe as it has to be.
    pub shows_data: bool,
    /// Bytes of the row's name in front of a subcommand's.
    name_len: u8,
}

impl Cmd {
    /// The command's own name, its container's for a subcommand.
    #[inline]
    pub(crate) fn name(&self) -> &'static str {
        self.row.name.get(..usize::from(self.name_len)).unwrap_or_default()
    }

    /// Whether it may change data.
    pub(crate) fn is_write(&self) -> bool {
        self.row.flags.has(Flags::WRITE)
    }

    /// Whether `argc` arguments, the name included, are an acceptable number.
    #[inline]
    pub fn arity_fits(&self, argc: usize) -> bool {
        let least = usize::from(self.arity.unsigned_abs());
        argc == least || self.arity < 0 && argc > least
    }
}

/// All commands by number. Top-level commands come first, in table order.
pub struct Table {
    session: CommandSet,
    cmds: Vec<Cmd>,
    index: Index,
    tops: usize,
}

fn cmd(row: &'static Row, container: Traits, run: Run) -> Cmd {
    let traits = row.traits.or(container);
    let one_key = matches!(row.keys, [spec]
        if spec.begin == BeginSearch::Index(1)
            && matches!(spec.find, FindKeys::Range { last: 0, .. }))
        && matches!(run, Run::Data(_))
        && row.scope == Scope::Keys;
    let many_keys = match row.keys {
        [
            KeySpec {
                begin: BeginSearch::Index(1), find: FindKeys::Range { last, step, .. }, ..
            },
        ] if !one_key && matches!(run, Run::Data(_)) => Some((*last, usize::from(*step).max(1))),
        _ => None,
    };
    let counted_keys = matches!(row.keys, [spec]
        if spec.begin == BeginSearch::Index(2)
            && matches!(spec.find, FindKeys::KeyNum { number: 0, first: 1, step: 1 }));
    let by_reply = one_key && traits.has(Traits::BY_REPLY);
    let fast = row.flags.has(Flags::FAST) || traits.has(Traits::CONSTANT) || by_reply;
    let part = match row.group {
        _ if !one_key || !fast || by_reply => 0,
        _ if traits.has(Traits::SCORE_FIRST) => 3,
        Group::Hash | Group::Set | Group::SortedSet => 2,
        _ => 0,
    };
    let publishes = match row.channels {
        Channels::Publish => Some(ChannelKind::Channel),
        Channels::PublishShard => Some(ChannelKind::Shard),
        _ => None,
    };
    let arity = row.arity;
    Cmd {
        row,
        run,
        first_sub: 0,
        arity,
        one_key,
        many_keys,
        counted_keys,
        run_function: if fast && one_key { commands::run_function(row.name) } else { None },
        fast,
        by_reply,
        part,
        publishes,
        subscribes: row.channels == Channels::Subscribe,
        shows_data: match run {
            Run::Data(_) => true,
            Run::Session(_) => {
                row.flags.has_any(Flags::WRITE.or(Flags::READONLY)) || row.group == Group::Scripting
            }
        },
        traits,
        name_len: row.name.find('|').unwrap_or(row.name.len()) as u8,
    }
}

impl Table {
    /// The table of all data commands and these session commands, with `renames` (from `rename-command`):
    /// name and new name, which is empty for a command that is switched off.
    pub fn new(session: CommandSet, renames: &[(String, String)]) -> Self {
        let mut cmds = Vec::new();
        let mut subs: Vec<Vec<Cmd>> = Vec::new();
        for c in commands::all() {
            let of = c.row.traits;
            cmds.push(cmd(&c.row, of, Run::Data(c.run)));
            subs.push(c.subs.iter().map(|s| cmd(&s.row, of, Run::Data(s.run))).collect());
        }
        for c in session.lists.iter().copied().flatten() {
            let of = c.row.traits;
            cmds.push(cmd(&c.row, of, Run::Session(c.run)));
            subs.push(c.subs.iter().map(|s| cmd(&s.row, of, Run::Session(s.run))).collect());
        }
        let tops = cmds.len();
        let rows: Vec<&Row> = cmds.iter().map(|c| c.row).collect();
        let mut names: Vec<(Vec<u8>, usize)> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            match renames.iter().rev().find(|(old, _)| old.eq_ignore_ascii_case(row.name)) {
                Some((_, new)) if new.is_empty() => {}
                Some((_, new)) => names.push((new.to_ascii_lowercase().into_bytes(), at)),
                None => names.push((row.name.as_bytes().to_vec(), at)),
            }
        }
        let index = Index::with_names(&rows, names.iter().map(|(n, at)| (n.as_slice(), *at)));
        for (at, list) in subs.into_iter().enumerate() {
            cmds[at].first_sub = cmds.len() as u16;
            cmds.extend(list);
        }
        Self { session, cmds, index, tops }
    }

    /// The same commands, none of them renamed.
    pub fn with_own_names(&self) -> Self {
        Self::new(self.session, &[])
    }

    /// How many there are, subcommands included.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.cmds.len()
    }

    /// Number of a top-level command.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        self.index.lookup(name)
    }

    /// Number of a subcommand of container `top`.
    pub fn find_sub(&self, top: u16, name: &[u8]) -> Option<u16> {
        let at = self.index.lookup_sub(top, name)?;
        Some(self.cmds[usize::from(top)].first_sub + at)
    }

    /// The function that answers a command while its client's thread is stuck, if it has one. Linear, as it
    /// is asked only while a script is slow.
    pub(crate) fn while_stuck(&self, id: u16) -> Option<StuckFn> {
        self.handed_in(self.session.while_stuck, id)
    }

    /// The function that runs a session command in replayed scripts, if it has one. Linear, as such
    /// files are rare.
    pub fn in_replayed_scripts(&self, id: u16) -> Option<ReplayedFn> {
        self.handed_in(self.session.in_replayed_scripts, id)
    }

    fn handed_in<F: Copy>(&self, lists: &[&[(&str, F)]], id: u16) -> Option<F> {
        let name = self.get(id).row.name;
        lists.iter().copied().flatten().find(|(of, _)| *of == name).map(|(_, function)| *function)
    }

    /// Numbers of the subcommands of a container; none for any other command.
    pub(crate) fn subs(&self, id: u16) -> std::ops::Range<u16> {
        let c = self.get(id);
        c.first_sub..c.first_sub + c.row.subcommands.len() as u16
    }

    /// The command with this number.
    #[inline]
    pub fn get(&self, id: u16) -> &Cmd {
        &self.cmds[usize::from(id)]
    }

    /// Rows of the top-level commands.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> + Clone + '_ {
        self.cmds[..self.tops].iter().map(|c| c.row)
    }

    /// All commands and subcommands.
    pub fn all(&self) -> &[Cmd] {
        &self.cmds
    }
}
