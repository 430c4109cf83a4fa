//! A scene: clients that wait for keys, and one that changes them, command by command.
//!
//! After each command both servers are asked which of the clients still wait, and what the others were
//! given is compared, and with it which client is served first.

use crate::pattern::{Syntax, expand, parse};
use crate::{Args, Servers};
use std::fmt::Write as _;
use stdx::rng::Rng;
use transcript::{Client, Reply};

/// Clients that wait.
const CLIENTS: usize = 4;

/// Commands of a scene.
const STEPS: usize = 40;

/// The commands that wait, each for one key. Of several keys, a client gets the one that was ready from Redis
/// 7.0, and since 7.2 the command is run again, as here.
const WAITS: &[&str] = &[
    "(BLPOP|BRPOP) $l 0",
    "BLMOVE $l $l (LEFT|RIGHT) (LEFT|RIGHT) 0",
    "BRPOPLPUSH $l $l 0",
    "BLMPOP 0 1 $l (LEFT|RIGHT) [COUNT $c]",
    "(BZPOPMIN|BZPOPMAX) $z 0",
    "BZMPOP 0 1 $z (MIN|MAX) [COUNT $c]",
    "XREAD [COUNT 2] BLOCK 0 STREAMS $x (0|$id)",
    "XREADGROUP GROUP g1 $consumer BLOCK 0 STREAMS $x $gid",
];

/// What ends their waiting, or does not.
const CHANGES: &[&str] = &[
    "(LPUSH|RPUSH) $l {$e}",
    "(LPUSH|RPUSH) $l {$e}",
    "LMOVE $l $l LEFT RIGHT",
    "LINSERT $l BEFORE $e $e",
    "LPOP $l",
    "ZADD $z {(1|2|3.5|7|-1) $e}",
    "ZADD $z {(1|2|3.5|7|-1) $e}",
    "ZINCRBY $z 1 $e",
    "ZUNIONSTORE $z 1 $z",
    "XADD $x * $f $v",
    "XGROUP CREATE $x g1 0 MKSTREAM",
    "XGROUP DESTROY $x g1",
    "SET $k $v",
    "DEL {$k}",
    "RENAME $k $k",
    "COPY $k $k REPLACE",
    "MOVE $k 1",
    "RESTORE $k 0 $dump REPLACE",
    "EVAL $call 1 $l (LPUSH|RPUSH) {$e}",
    "FLUSHDB",
];

/// See the module's text.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    steps: Vec<(Option<usize>, Args)>,
}

/// One server and its clients.
struct Side {
    main: Client,
    /// Asks which clients wait: the main one may be inside of a transaction.
    observer: Client,
    waiting: Vec<(Client, i64, bool)>,
}

/// The patterns of these lines.
pub(crate) fn parts(lines: &[&str]) -> Vec<Syntax> {
    lines.iter().filter_map(|line| parse(line).ok()).collect()
}

/// Redis 7.4 takes the ID + in XREAD, and says why not in XREADGROUP. For a sorted set that is stored in its own place, see below.
fn is_comparable(args: &Args) -> bool {
    match &args[..] {
        [name, .., id] if name.starts_with(b"XREAD") => id != b"+",
        [name, to, _, from] if name == b"ZUNIONSTORE" => to != from,
        _ => true,
    }
}

impl Scene {
    pub(crate) fn new(rng: &mut Rng) -> Scene {
        let (waits, changes) = (parts(WAITS), parts(CHANGES));
        let steps = (0..STEPS).flat_map(|_| {
            let (who, lines) = match rng.below(3) {
                0 => (Some(rng.index(CLIENTS)), &waits),
                _ => (None, &changes),
            };
            let mut args = Args::new();
            while args.is_empty() || !is_comparable(&args) {
                args.clear();
                if let Some(part) = lines.get(rng.index(lines.len())) {
                    expand(part, rng, &mut args);
                }
            }
            // A client that waits for a key that holds another type meanwhile is not served by Redis when a command
            // that stores a result overwrites it; when it deletes it first, the client is served.
            let deletes =
                (args[0] == b"ZUNIONSTORE").then(|| vec![b"DEL".to_vec(), args[1].clone()]);
            deletes.map(|args| (None, args)).into_iter().chain([(who, args)])
        });
        Scene { steps: steps.collect() }
    }

    /// How many replies it compares, at most.
    pub(crate) fn commands(&self) -> usize {
        self.steps.len()
    }

    /// Plays it; the text is what was sent, and the difference at its end.
    pub(crate) fn play(&self, servers: &Servers) -> Result<Option<String>, String> {
        let mut sides = [Side::new(&servers.redis)?, Side::new(&servers.apus)?];
        let outcome = self.play_on(&mut sides);
        for side in sides {
            side.end()?;
        }
        outcome
    }

    fn play_on(&self, sides: &mut [Side; 2]) -> Result<Option<String>, String> {
        let mut text = String::new();
        for (who, args) in &self.steps {
            let shown: Vec<String> = args.iter().map(|arg| transcript::quote(arg)).collect();
            let name = who.map_or("main".to_owned(), |who| format!("client {who}"));
            _ = writeln!(text, "{name}> {}", shown.join(" "));
            let [redis, apus] = &mut *sides;
            let (redis, served) = redis.step(*who, args, None)?;
            let (apus, _) = apus.step(*who, args, Some(&served))?;
            if !is_same(&redis, &apus) {
                _ = write!(text, "Redis:\n{}\nApus:\n{}", redis.join("\n"), apus.join("\n"));
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

impl Side {
    fn new(address: &str) -> Result<Side, String> {
        let connect = || Client::connect(address).map_err(|e| format!("{address}: {e}"));
        let mut main = connect()?;
        call(&mut main, &words(&["FLUSHALL"]))?;
        let mut waiting = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = connect()?;
            let id = match call(&mut client, &words(&["CLIENT", "ID"]))? {
                Reply::Integer(id) => id,
                other => return Err(format!("CLIENT ID: {other:?}")),
            };
            waiting.push((client, id, false));
        }
        Ok(Side { main, observer: connect()?, waiting })
    }

    /// No client of this scene waits when the next one begins.
    fn end(mut self) -> Result<(), String> {
        for (_, id, waits) in self.waiting {
            if waits {
                call(&mut self.observer, &words(&["CLIENT", "UNBLOCK", &id.to_string()]))?;
            }
        }
        Ok(())
    }

    /// The reply to the command, what waiting clients got because of it, and these clients. With several threads that
    /// takes a moment: the `expected` clients have got something.
    fn step(
        &mut self,
        who: Option<usize>,
        args: &Args,
        expected: Option<&[usize]>,
    ) -> Result<(Vec<String>, Vec<usize>), String> {
        let (mut replies, mut served) = (Vec::new(), Vec::new());
        match who.and_then(|who| self.waiting.get_mut(who)) {
            // One that waits already goes on waiting.
            Some((.., true)) => return Ok((replies, served)),
            Some((client, _, waits)) => {
                client.send(args).map_err(|e| e.to_string())?;
                *waits = true;
            }
            None => replies.push(text(&call(&mut self.main, args)?)),
        }
        for (at, (client, id, waits)) in self.waiting.iter_mut().enumerate() {
            if !*waits {
                continue;
            }
            let expected = expected.map(|served| !served.contains(&at));
            if !is_blocked(&mut self.observer, *id, expected)? {
                served.push(at);
                let reply = client.receive().map_err(|e| format!("client {at}: {e}"))?;
                *waits = false;
                // So that the next command can be told from this one.
                call(client, &words(&["CLIENT", "ID"]))?;
                replies.push(format!("client {at}: {}", text(&reply)));
            }
        }
        Ok((replies, served))
    }
}

/// Whether the two say the same, except for what Redis 7.0 tells a reader in a group whose stream or group goes:
/// since 7.2 the waiting client's command is run again, and so says itself what is wrong.
fn is_same(redis: &[String], apus: &[String]) -> bool {
    const GONE: &[&str] = &[
        "(error) UNBLOCKED the stream key no longer exists",
        "(error) NOGROUP the consumer group this client was blocked on no longer exists",
    ];
    const AGAIN: &[&str] = &["(error) NOGROUP No such key", "(error) WRONGTYPE "];
    redis.len() == apus.len()
        && redis.iter().zip(apus).all(|(redis, apus)| {
            let client = redis.split_inclusive(": ").next().unwrap_or_default();
            let (old, new) = (&redis[client.len()..], apus.strip_prefix(client));
            redis == apus
                || GONE.contains(&old)
                    && new.is_some_and(|new| AGAIN.iter().any(|text| new.starts_with(text)))
        })
}

/// Whether a client waits. One whose command has not been looked at yet will soon: within a moment,
/// it waits or has its reply, and so it is as `expected`, if it will be at all.
fn is_blocked(observer: &mut Client, id: i64, expected: Option<bool>) -> Result<bool, String> {
    let mut waits = true;
    for _ in 0..300 {
        let line = match call(observer, &words(&["CLIENT", "LIST", "ID", &id.to_string()]))? {
            Reply::Bulk(line) | Reply::Verbatim(line) => line,
            other => return Err(format!("CLIENT LIST: {other:?}")),
        };
        let line = String::from_utf8_lossy(&line).into_owned();
        let field = |name: &str| line.split(' ').find_map(|field| field.strip_prefix(name));
        waits = field("flags=").is_some_and(|flags| flags.contains('b'));
        let is_begun = waits || field("cmd=") != Some("client|id");
        if is_begun && expected.is_none_or(|expected| expected == waits) {
            return Ok(waits);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(waits)
}

/// A command's words.
pub(crate) fn words(words: &[&str]) -> Args {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Sends a command and waits for its reply.
pub(crate) fn call(client: &mut Client, args: &[Vec<u8>]) -> Result<Reply, String> {
    client.call(args).map_err(|e| e.to_string())
}

/// A reply without the IDs that a clock gave.
fn text(reply: &Reply) -> String {
    let text = transcript::format(reply);
    let is_time = |word: &str| word.len() > 14 && word.trim_matches('"').contains('-');
    let words = text.split(' ').map(|word| if is_time(word) { "ID" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, WAITS};
    use crate::pattern::parse;

    #[test]
    fn every_line_is_a_pattern() {
        for line in WAITS.iter().chain(CHANGES) {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
    }
}
