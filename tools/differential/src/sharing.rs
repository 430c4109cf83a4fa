//! A scene: clients that share keys, one command at a time.
//!
//! They remember what they read (CLIENT TRACKING in all its modes) and what they watch. After each command
//! every client is asked what it was told meanwhile, and that is compared, beside the reply. Nothing is left to
//! chance: a command is over before the next one begins.

use crate::compare::canonical;
use crate::pattern::expand;
use crate::table::How;
use crate::waiting::{call, parts, words};
use crate::{Args, Servers, exceptions};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;
use stdx::rng::Rng;
use transcript::{Client, Reply};

/// Clients that read, write, watch and are told.
const CLIENTS: usize = 3;

/// One more client, to which others redirect their notices. It does nothing else: Redis 7.0 tells a client that changes
/// keys in a transaction in the midst of EXEC's reply.
const LISTENER: usize = CLIENTS;

/// Commands of a scene.
const STEPS: usize = 60;

/// How often a client is asked before it is taken as told nothing more: with several threads, what is told
/// may arrive after the reply of the command that it is about.
const PATIENCE: u32 = 300;

const COMMANDS: &[&str] = &[
    "GET $s",
    "MGET {$s}",
    "GET $s",
    "STRLEN $s",
    "HGETALL h1",
    "LRANGE $l 0 -1",
    "EXISTS {$k}",
    "TYPE $k",
    "EXPIRETIME $k",
    "SMEMBERS t1",
    "SORT $l BY $by GET $get",
    "EVAL READER 1 $s",
    "EVAL_RO READER 1 $s",
    "SET $s $n",
    "SET $s $n",
    "SET $s $n NX",
    "INCR $s",
    "APPEND $s $f",
    "GETDEL $s",
    "GETEX $s PERSIST",
    "MSET {$s $n}",
    "DEL {$k}",
    "UNLINK $k",
    "RENAME $k $k",
    "COPY $k $k",
    "LPUSH $l $n",
    "LPOP $l",
    "RPOPLPUSH $l $l",
    "HSET h1 $f $n",
    "HDEL h1 $f",
    "SADD t1 $n",
    "SREM t1 $n",
    "EXPIREAT $k $at",
    "PERSIST $k",
    "EVAL WRITER 1 $s $n",
    "SWAPDB 0 1",
    "SELECT (0|0|1)",
    "FLUSHDB",
    "CLIENT TRACKING on",
    "CLIENT TRACKING on NOLOOP",
    "CLIENT TRACKING on (OPTIN|OPTOUT) [NOLOOP]",
    "CLIENT TRACKING on BCAST [PREFIX (s|h1|l)] [NOLOOP]",
    "CLIENT TRACKING on BCAST PREFIX s PREFIX l",
    "CLIENT TRACKING on [BCAST] REDIRECT SOMEBODY",
    "CLIENT TRACKING off",
    "CLIENT TRACKING off",
    "CLIENT CACHING (yes|no)",
    "CLIENT CACHING (yes|no)",
    "CLIENT CACHING yes",
    "CLIENT TRACKINGINFO",
    "WATCH {$k}",
    "WATCH $s",
    "UNWATCH",
    "MULTI",
    "MULTI",
    "EXEC",
    "EXEC",
    "EXEC",
    "DISCARD",
];

/// Scripts that read, and that write.
const SCRIPTS: &[(&[u8], &[u8])] = &[
    (b"READER", b"return redis.call('GET', KEYS[1])"),
    (b"WRITER", b"redis.call('GET', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1])"),
];

/// Whether Redis does what it says: in broadcasting mode, NOLOOP does not know that a client's script is the
/// client; and what was changed in a transaction is told as things are at its end.
fn is_comparable(args: &Args, scripts_write: bool, queues: bool) -> bool {
    let has = |word: &[u8]| args.iter().any(|arg| arg == word);
    match () {
        () if has(b"WRITER") => scripts_write,
        () if has(b"TRACKING") => !(queues || scripts_write && has(b"BCAST") && has(b"NOLOOP")),
        () => true,
    }
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    steps: Vec<(usize, Args)>,
}

/// One server and its clients.
struct Side {
    clients: Vec<Client>,
    ids: Vec<String>,
    /// Which clients are inside of a transaction.
    queues: [bool; CLIENTS],
}

impl Scene {
    pub(crate) fn new(rng: &mut Rng) -> Scene {
        let lines = parts(COMMANDS);
        let mut queues = [false; CLIENTS];
        let scripts_write = rng.below(2) == 0;
        let mut steps = Vec::new();
        while steps.len() < STEPS {
            let who = rng.index(CLIENTS);
            let mut args = Args::new();
            if let Some(part) = lines.get(rng.index(lines.len())) {
                expand(part, rng, &mut args);
            }
            if !is_comparable(&args, scripts_write, queues[who]) {
                continue;
            }
            match args.first().map(|name| &name[..]) {
                Some(b"MULTI") => queues[who] = true,
                Some(b"EXEC" | b"DISCARD") => queues[who] = false,
                _ => {}
            }
            for arg in &mut args {
                match SCRIPTS.iter().find(|(name, _)| name == arg) {
                    Some((_, script)) => *arg = script.to_vec(),
                    // Its ID differs from server to server.
                    None if arg == b"SOMEBODY" => *arg = format!("${LISTENER}").into(),
                    None => {}
                }
            }
            steps.push((who, args));
        }
        Scene { steps }
    }

    /// How many replies it compares.
    pub(crate) fn commands(&self) -> usize {
        self.steps.len()
    }

    /// Plays it; the text is what was sent, and the difference at its end.
    pub(crate) fn play(&self, servers: &Servers) -> Result<Option<String>, String> {
        let mut sides = [Side::new(&servers.redis)?, Side::new(&servers.apus)?];
        let mut text = String::new();
        for (who, args) in &self.steps {
            let shown: Vec<String> = args.iter().map(|arg| transcript::quote(arg)).collect();
            _ = writeln!(text, "client {who}> {}", shown.join(" "));
            let [redis, apus] = &mut sides;
            let (from_redis, from_apus) = (redis.step(*who, args)?, apus.step(*who, args)?);
            if !exceptions::is_same(args, &from_redis, &from_apus) {
                let shown = transcript::format;
                let (redis, apus) = (shown(&from_redis), shown(&from_apus));
                _ = write!(text, "Redis:\n{redis}\nApus:\n{apus}");
                return Ok(Some(text));
            }
            for at in 0..=LISTENER {
                let told = redis.told(at, None)?;
                let told_by_apus = apus.told(at, Some(&told))?;
                if told != told_by_apus {
                    _ = write!(text, "Redis tells {at}:\n{told:?}\nApus:\n{told_by_apus:?}");
                    return Ok(Some(text));
                }
            }
        }
        Ok(None)
    }
}

impl Side {
    fn new(address: &str) -> Result<Side, String> {
        let (mut clients, mut ids) = (Vec::new(), Vec::new());
        for _ in 0..=LISTENER {
            let mut client = Client::connect(address).map_err(|e| format!("{address}: {e}"))?;
            call(&mut client, &words(&["HELLO", "3"]))?;
            match call(&mut client, &words(&["CLIENT", "ID"]))? {
                Reply::Integer(id) => ids.push(id.to_string()),
                other => return Err(format!("CLIENT ID: {other:?}")),
            }
            clients.push(client);
        }
        if let Some(client) = clients.last_mut() {
            call(client, &words(&["FLUSHALL"]))?;
            // It goes on tracking: when the last one stops, Apus forgets which client has read which key, and Redis does not.
            call(client, &words(&["CLIENT", "TRACKING", "on"]))?;
        }
        Ok(Side { clients, ids, queues: [false; CLIENTS] })
    }

    fn step(&mut self, who: usize, args: &Args) -> Result<Reply, String> {
        let id_of = |arg: &Vec<u8>| {
            let number = arg.strip_prefix(b"$").and_then(|n| std::str::from_utf8(n).ok());
            let id = number.and_then(|n| n.parse().ok()).and_then(|at: usize| self.ids.get(at));
            id.map_or_else(|| arg.clone(), |id| id.clone().into_bytes())
        };
        let args: Args = args.iter().map(id_of).collect();
        let client = self.clients.get_mut(who).ok_or("no such client")?;
        let reply = call(client, &args)?;
        let is_ok = matches!(&reply, Reply::Status(text) if text == b"OK");
        if let (Some(queues), Some(name)) = (self.queues.get_mut(who), args.first()) {
            *queues = match &name[..] {
                b"MULTI" => *queues || is_ok,
                b"EXEC" | b"DISCARD" => false,
                _ => *queues,
            };
        }
        Ok(self.canonical(&reply))
    }

    /// The reply with sets and maps in some order, and with the clients' places for their IDs, which only CLIENT
    /// TRACKINGINFO tells.
    fn canonical(&self, reply: &Reply) -> Reply {
        let place = |reply: &Reply| match reply {
            Reply::Integer(n) => {
                let at = self.ids.iter().position(|id| *id == n.to_string());
                Reply::Integer(at.and_then(|at| i64::try_from(at).ok()).unwrap_or(*n))
            }
            other => other.clone(),
        };
        let is_redirect = |name: &Reply| matches!(name, Reply::Bulk(name) if name == b"redirect");
        match reply {
            Reply::Array(items) => {
                Reply::Array(items.iter().map(|item| self.canonical(item)).collect())
            }
            Reply::Map(pairs) => {
                let pair = |(name, value): &(Reply, Reply)| {
                    (name.clone(), if is_redirect(name) { place(value) } else { value.clone() })
                };
                canonical(&Reply::Map(pairs.iter().map(pair).collect()), How::Pairs)
            }
            other => canonical(other, How::Sorted),
        }
    }

    /// What a client was told since it was asked last: the kind of each message and its keys, in any order,
    /// since a server may tell of several keys at once or one by one.
    fn told(
        &mut self,
        at: usize,
        expected: Option<&BTreeSet<String>>,
    ) -> Result<BTreeSet<String>, String> {
        let client = self.clients.get_mut(at).ok_or("no such client")?;
        // What came before the reply to this was told before. Within a transaction, what is refused at once
        // without spoiling it.
        let is_queueing = self.queues.get(at).is_some_and(|queues| *queues);
        let question = words(&[if is_queueing { "MULTI" } else { "PING" }]);
        let mut told = BTreeSet::new();
        for _ in 0..PATIENCE {
            call(client, &question)?;
            for push in client.pushes() {
                let Reply::Push(items) = &push else { continue };
                match &items[..] {
                    [kind, Reply::Array(keys)] => {
                        told.extend(keys.iter().map(|key| format!("{kind:?} {key:?}")));
                    }
                    _ => _ = told.insert(format!("{push:?}")),
                }
            }
            if expected.is_none_or(|expected| *expected == told) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::COMMANDS;
    use crate::pattern::parse;

    #[test]
    fn every_line_is_a_pattern() {
        for line in COMMANDS {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
    }
}
