//! One round: a sequence of commands made of a seed, played on both servers.

use crate::events::{self, Listener};
use crate::pattern::{Syntax, expand, parse};
use crate::table::{COMMANDS, How, IN_TRANSACTIONS, Mood, is_comparable, preparations};
use crate::{Args, Servers, compare, exceptions, sharing, values, waiting};
use std::fmt::Write as _;
use stdx::rng::Rng;
use transcript::{Client, ClientError, Reply, quote};

/// Commands of one round; also how many are on their way at a time.
const COMMANDS_PER_ROUND: usize = 400;

/// One round in so many is a scene of several clients.
const SCENES: u64 = 32;

/// As both servers have unless told otherwise.
const DATABASES: usize = 16;

/// Longer than the deadlines of [`expiry`].
const SLEEP: &str = "DEBUG SLEEP 0.003";

/// Attempts at making a failing sequence shorter.
const CUTS_MAX: usize = 400;

/// Thresholds as Redis ships them, and small ones, so that encodings are converted.
const THRESHOLDS: &[(&str, &[&str])] = &[
    ("hash-max-listpack-entries", &["128", "4", "1"]),
    ("hash-max-listpack-value", &["64", "10"]),
    ("set-max-intset-entries", &["512", "3"]),
    ("zset-max-listpack-entries", &["128", "4", "0"]),
    ("zset-max-listpack-value", &["64", "10"]),
    ("list-max-listpack-size", &["-2", "3", "1", "-1"]),
    ("stream-node-max-entries", &["100", "3", "1"]),
    ("stream-node-max-bytes", &["4096", "100"]),
    // No string grows beyond this: at the 512 MB that are usual, a few commands with large offsets
    // fill the memory of the machine.
    ("proto-max-bulk-len", &["1048576"]),
    ("hll-sparse-max-bytes", &["3000", "60", "0"]),
];

/// A command, and how its replies are compared.
#[derive(Clone, Debug)]
struct Step {
    args: Args,
    how: How,
}

/// Several clients.
#[derive(Clone, Debug)]
enum Scene {
    Waiting(waiting::Scene),
    Sharing(sharing::Scene),
}

/// A sequence of commands.
#[derive(Clone, Debug)]
pub struct Round {
    seed: u64,
    setup: Vec<Args>,
    steps: Vec<Step>,
    /// Keyspace events are compared, too.
    events: bool,
    /// Played instead of the steps.
    scene: Option<Scene>,
}

/// Where the servers disagree.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What to play again.
    pub seed: u64,
    /// The command whose replies differ, for counting differences by kind.
    pub command: String,
    /// The shortest sequence found, and the two replies.
    pub text: String,
}

/// The first disagreement of a run.
struct Difference {
    at: usize,
    redis: String,
    apus: String,
}

fn words(text: &str) -> Args {
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// The patterns of the table, parsed once for all rounds.
#[derive(Debug)]
struct Patterns {
    everywhere: Vec<(How, Syntax)>,
    in_transactions: Vec<(How, Syntax)>,
}

fn patterns() -> &'static Patterns {
    static PATTERNS: std::sync::OnceLock<Patterns> = std::sync::OnceLock::new();
    let parsed = |lines: &[(How, &str)]| {
        let line = |(how, line): &(How, &str)| parse(line).ok().map(|part| (*how, part));
        lines.iter().filter_map(line).collect()
    };
    PATTERNS.get_or_init(|| Patterns {
        everywhere: parsed(COMMANDS),
        in_transactions: parsed(IN_TRANSACTIONS),
    })
}

impl Round {
    /// The round of `seed`; always the same one.
    pub fn new(seed: u64) -> Round {
        let mut rng = Rng::from_seed(seed);
        if seed.is_multiple_of(SCENES) {
            let scene = Some(match rng.below(2) {
                0 => Scene::Waiting(waiting::Scene::new(&mut rng)),
                _ => Scene::Sharing(sharing::Scene::new(&mut rng)),
            });
            return Round { seed, setup: Vec::new(), steps: Vec::new(), events: false, scene };
        }
        let hello = if rng.below(2) == 0 { "HELLO 2" } else { "HELLO 3" };
        let mut setup = vec![words("FLUSHALL"), words(hello)];
        for (name, choices) in THRESHOLDS {
            // The default in half of the rounds.
            let choice = if rng.below(2) == 0 { 0 } else { rng.index(choices.len()) };
            let value = choices.get(choice).unwrap_or(&"");
            setup.push(words(&format!("CONFIG SET {name} {value}")));
        }
        // In half of the rounds commands of two or three lines of the table meet more often.
        let favourites: Vec<usize> = (0..10).map(|_| rng.index(COMMANDS.len())).collect();
        let favoured = rng.below(2) == 0;
        let events = rng.below(3) == 0;
        let flags = if events { "KEA" } else { "" };
        setup.push(words(&format!("CONFIG SET notify-keyspace-events {flags}")));
        let mood = Mood { encodings: rng.below(2) == 0, set_ids: rng.below(3) == 0, events };
        let mut steps = Vec::new();
        while steps.len() < COMMANDS_PER_ROUND {
            if rng.below(40) == 0 {
                transaction(mood, &mut rng, &mut steps);
            } else if !events && rng.below(400) == 0 {
                expiry(&mut rng, &mut steps);
            } else {
                let favourite = favourites.get(rng.index(favourites.len())).copied();
                let favourite = favourite.filter(|_| favoured && rng.below(3) == 0);
                push(mood, &mut steps, draw(&mut rng, &patterns().everywhere, favourite));
            }
        }
        Round { seed, setup, steps, events, scene: None }
    }

    /// The commands as a client sends them, without the FLUSHALL of the start: load for a server whose data is
    /// compared with that of its replicas. Empty for a scene.
    pub fn request(&self) -> Vec<u8> {
        let setup = self.setup.iter().filter(|args| args[..] != words("FLUSHALL")[..]);
        encode(setup.chain(self.steps.iter().map(|step| &step.args)))
    }

    /// Whether it is a scene of several clients, which takes many small steps.
    pub fn is_scene(&self) -> bool {
        self.scene.is_some()
    }

    /// How many replies a run compares.
    pub fn commands(&self) -> usize {
        match &self.scene {
            None => self.steps.len() + 1,
            Some(Scene::Waiting(scene)) => scene.commands(),
            Some(Scene::Sharing(scene)) => scene.commands(),
        }
    }

    /// Plays the round on both servers, whose data it wipes.
    ///
    /// # Errors
    /// A message when a server cannot be reached at all.
    pub fn run(&self, servers: &Servers) -> Result<Option<Failure>, String> {
        let named = |e| format!("seed {}: {e}", self.seed);
        if let Some(scene) = &self.scene {
            let (text, name) = match scene {
                Scene::Waiting(scene) => (scene.play(servers), "waiting"),
                Scene::Sharing(scene) => (scene.play(servers), "sharing"),
            };
            let (text, command) = (text.map_err(named)?, name.to_owned());
            return Ok(text.map(|text| Failure { seed: self.seed, command, text }));
        }
        let Some(found) = self.play(servers, &self.steps).map_err(named)? else {
            return Ok(None);
        };
        let (steps, found) = self.shorten(servers, found).map_err(named)?;
        let name = |step: &Step| {
            String::from_utf8_lossy(step.args.first().map_or(b"", |name| name)).into_owned()
        };
        let command = match steps.get(found.at) {
            Some(step) => name(step),
            None => format!("the end, after {}", steps.last().map_or_else(String::new, name)),
        };
        let mut text = String::new();
        for args in self.setup.iter().chain(steps.iter().map(|step| &step.args)) {
            let shown: Vec<String> = args.iter().map(|arg| word(arg)).collect();
            _ = writeln!(text, "> {}", shown.join(" "));
        }
        _ = write!(text, "Redis:\n{}\nApus:\n{}", found.redis, found.apus);
        Ok(Some(Failure { seed: self.seed, command, text }))
    }
}

impl Round {
    /// Plays a sequence from an empty keyspace, and finds the first disagreement.
    fn play(&self, servers: &Servers, steps: &[Step]) -> Result<Option<Difference>, String> {
        let setup = &self.setup;
        // SCAN removes from Redis what died before it was set.
        let scan = |db| [words(&format!("SELECT {db}")), words("SCAN 0 COUNT 100000")];
        let mut digest = vec![words("DISCARD")];
        digest.extend((0..DATABASES).rev().flat_map(scan));
        digest.push(words("DEBUG DIGEST"));
        digest.push(words(events::END));
        let all: Vec<&Args> =
            setup.iter().chain(steps.iter().map(|step| &step.args)).chain(&digest).collect();
        let request = encode(all.iter().copied());
        let connect = |address: &String| -> Result<Client, String> {
            let mut client = Client::connect(address).map_err(|e| format!("{address}: {e}"))?;
            client.send_raw(&request).map_err(|e| format!("{address}: {e}"))?;
            Ok(client)
        };
        let listen = |address| self.events.then(|| Listener::new(address)).transpose();
        let listeners = [listen(&servers.redis)?, listen(&servers.apus)?];
        let (mut redis, mut apus) = (connect(&servers.redis)?, connect(&servers.apus)?);
        let mut track = Track { queued: None };
        for (at, args) in all.iter().enumerate() {
            let from_redis = redis.receive().map_err(|e| {
                let shown: Vec<String> = args.iter().map(|arg| word(arg)).collect();
                format!("Redis at {}: {e}", shown.join(" "))
            })?;
            let from_apus = match apus.receive() {
                Ok(reply) => reply,
                Err(e @ (ClientError::Io(_) | ClientError::Decode(_))) => {
                    let at = at.saturating_sub(setup.len());
                    let redis = transcript::format(&from_redis);
                    return Ok(Some(Difference { at, redis, apus: format!("no reply: {e}") }));
                }
            };
            let step = at.checked_sub(setup.len()).and_then(|at| steps.get(at));
            let is_same = match step {
                Some(step) => {
                    let expect = track.next(step, &from_redis);
                    is_same(&expect, step, &from_redis, &from_apus)
                }
                // The setup's HELLO names the server.
                None if at < setup.len() => {
                    matches!(from_redis, Reply::Error(_)) == matches!(from_apus, Reply::Error(_))
                }
                // The end is told to the listener, and maybe to the one before it.
                None if at + 1 == all.len() => true,
                None => {
                    let canonical = |reply| compare::canonical(reply, How::Scan);
                    canonical(&from_redis) == canonical(&from_apus)
                }
            };
            if !is_same {
                return Ok(Some(Difference {
                    at: at.saturating_sub(setup.len()),
                    redis: transcript::format(&from_redis),
                    apus: transcript::format(&from_apus),
                }));
            }
            debug_assert!(!args.is_empty(), "every step has a name");
        }
        if let [Some(from_redis), Some(from_apus)] = listeners
            && let Some((redis, apus)) = events::difference(&from_redis.all()?, &from_apus.all()?)
        {
            return Ok(Some(Difference { at: steps.len(), redis, apus }));
        }
        Ok(None)
    }

    /// Leaves out what is not needed for the servers to disagree, in pieces that get smaller.
    fn shorten(
        &self,
        servers: &Servers,
        mut found: Difference,
    ) -> Result<(Vec<Step>, Difference), String> {
        let mut steps = self.steps.clone();
        steps.truncate(found.at + 1);
        let mut cuts = 0;
        let mut size = steps.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            let mut is_shorter = false;
            while start < steps.len() && cuts < CUTS_MAX {
                cuts += 1;
                let mut fewer = steps.clone();
                fewer.drain(start..(start + size).min(steps.len()));
                if would_wait(&fewer) || !is_prepared(&fewer) || !is_waited_for(&fewer) {
                    start += size;
                    continue;
                }
                match self.play(servers, &fewer)? {
                    Some(difference) => {
                        fewer.truncate(difference.at + 1);
                        (steps, found, is_shorter) = (fewer, difference, true);
                    }
                    None => start += size,
                }
            }
            if cuts >= CUTS_MAX || (size == 1 && !is_shorter) {
                return Ok((steps, found));
            }
            size = (size / 2).max(1);
        }
    }
}

/// Commands in RESP.
fn encode<'a>(all: impl Iterator<Item = &'a Args>) -> Vec<u8> {
    let mut request = Vec::new();
    for args in all.filter(|args| !args.is_empty()) {
        request.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
    }
    request
}

fn word(arg: &[u8]) -> String {
    let is_plain = |b: &u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\' | b'\'');
    match !arg.is_empty() && arg.iter().all(is_plain) {
        true => String::from_utf8_lossy(arg).into_owned(),
        false => quote(arg),
    }
}

fn draw(rng: &mut Rng, patterns: &[(How, Syntax)], which: Option<usize>) -> Step {
    let which = which.unwrap_or_else(|| rng.index(patterns.len()));
    let mut args = Args::new();
    let mut how = How::Exact;
    if let Some((line, part)) = patterns.get(which) {
        how = *line;
        expand(part, rng, &mut args);
    }
    // Some are spoilt: an argument too few, one too many, or one that is something else. The
    // reply may then be that of another order, or of a random choice, so only commands whose
    // replies are exact are touched.
    let is_spoilt = how == How::Exact && args.len() > 1 && rng.below(25) == 0;
    // Scores of these stay the same, see `values`.
    let is_fixed = args.iter().any(|arg| matches!(arg[..], [b'y', b'1'..=b'9']))
        // What a wrong number of keys means to COMMAND GETKEYS is each command's own.
        || args.first().is_some_and(|name| name == b"COMMAND" || name == b"CONFIG");
    if is_spoilt && !is_fixed {
        let at = 1 + rng.index(args.len() - 1);
        match rng.below(3) {
            0 => _ = args.remove(at),
            1 => args.insert(at, values::anything(rng)),
            _ => args[at] = values::anything(rng),
        }
    }
    // Names and options in any case.
    if rng.below(20) == 0 {
        args.iter_mut().take(1).for_each(|name| name.make_ascii_lowercase());
    }
    Step { args, how }
}

/// Appends a step, and before it what it needs.
fn push(mood: Mood, steps: &mut Vec<Step>, step: Step) {
    if is_comparable(&step.args, mood) {
        let scan = |args: &Args| args.first().is_some_and(|name| name == b"SCAN");
        steps.extend(preparations(&step.args).into_iter().map(|args| {
            let how = if scan(&args) { How::Scan } else { How::Exact };
            Step { args, how }
        }));
        steps.push(step);
    }
}

/// A deadline that is over at the next step: the servers sleep for longer.
fn expiry(rng: &mut Rng, steps: &mut Vec<Step>) {
    let key = values::draw("k", rng);
    let args: [&[u8]; 5] = match rng.below(4) {
        0 => [b"PEXPIRE", &key, b"1", b"", b""],
        1 => [b"SET", &key, b"v", b"PX", b"1"],
        2 => [b"PSETEX", &key, b"1", b"v", b""],
        _ => [b"GETEX", &key, b"PX", b"1", b""],
    };
    let args = args.iter().filter(|arg| !arg.is_empty()).map(|arg| arg.to_vec()).collect();
    steps.push(Step { args, how: How::Exact });
    steps.push(Step { args: words(SLEEP), how: How::Exact });
}

/// Whether a sleep still follows each deadline that needs it.
fn is_waited_for(steps: &[Step]) -> bool {
    let sleep = words(SLEEP);
    steps.iter().enumerate().all(|(at, step)| {
        let is_short = match &step.args[..] {
            [name, _, one] => name == b"PEXPIRE" && one == b"1",
            [name, _, a, b] => name == b"PSETEX" && a == b"1" || name == b"GETEX" && b == b"1",
            [name, .., px, one] => name == b"SET" && px == b"PX" && one == b"1",
            _ => false,
        };
        !is_short || steps.get(at + 1).is_some_and(|next| next.args == sleep)
    })
}

fn transaction(mood: Mood, rng: &mut Rng, steps: &mut Vec<Step>) {
    let plain = |text: &str| Step { args: words(text), how: How::Exact };
    if rng.below(3) == 0 {
        steps.push(Step { args: vec![b"WATCH".to_vec(), values::draw("k", rng)], how: How::Exact });
        if rng.below(2) == 0 {
            push(mood, steps, draw(rng, &patterns().everywhere, None));
        }
    }
    steps.push(plain("MULTI"));
    for _ in 0..rng.below(8) {
        let waits = rng.below(4) == 0;
        let which = if waits { &patterns().in_transactions } else { &patterns().everywhere };
        push(mood, steps, draw(rng, which, None));
    }
    steps.push(plain(if rng.below(8) == 0 { "DISCARD" } else { "EXEC" }));
}

/// Replies as they are compared: those of a transaction's commands each in its own way.
struct Track {
    queued: Option<Vec<Step>>,
}

impl Track {
    /// The way to compare this step's reply, given Redis's; `None` for EXEC with its list.
    fn next(&mut self, step: &Step, redis: &Reply) -> Expect {
        let name = step.args.first().map_or(&b""[..], |name| name);
        let ok = matches!(redis, Reply::Status(text) if text == b"OK");
        let queued = matches!(redis, Reply::Status(text) if text == b"QUEUED");
        match &mut self.queued {
            None if ok && name.eq_ignore_ascii_case(b"MULTI") => self.queued = Some(Vec::new()),
            Some(list) if queued => list.push(step.clone()),
            Some(_) if name.eq_ignore_ascii_case(b"EXEC") && !is_arity(redis) => {
                return Expect::Each(self.queued.take().unwrap_or_default());
            }
            Some(_) if ok && name.eq_ignore_ascii_case(b"DISCARD") => self.queued = None,
            _ => {}
        }
        Expect::One
    }
}

/// EXEC with arguments is an error that does not end the transaction.
fn is_arity(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(b"ERR wrong number"))
}

enum Expect {
    One,
    Each(Vec<Step>),
}

fn is_same(expect: &Expect, step: &Step, redis: &Reply, apus: &Reply) -> bool {
    if redis == apus {
        return true;
    }
    let one = |step: &Step, redis: &Reply, apus: &Reply| {
        let canonical = |reply| compare::canonical(reply, step.how);
        exceptions::is_same(&step.args, &canonical(redis), &canonical(apus))
    };
    match (expect, redis, apus) {
        (Expect::Each(steps), Reply::Array(redis), Reply::Array(apus)) => {
            redis.len() == apus.len()
                && steps.len() == redis.len()
                && steps.iter().zip(redis.iter().zip(apus)).all(|(step, (r, a))| one(step, r, a))
        }
        (Expect::Each(_), ..) => false,
        (Expect::One, ..) => one(step, redis, apus),
    }
}

/// Whether each command still has before it what it needs.
fn is_prepared(steps: &[Step]) -> bool {
    steps.iter().enumerate().all(|(at, step)| {
        let needed = preparations(&step.args);
        let before = at.checked_sub(needed.len()).and_then(|from| steps.get(from..at));
        before.is_some_and(|before| before.iter().map(|step| &step.args).eq(&needed))
    })
}

/// Whether a command that waits outside of transactions is no longer inside of one.
fn would_wait(steps: &[Step]) -> bool {
    let mut inside = false;
    steps.iter().any(|step| {
        let Some(name) = step.args.first() else { return false };
        let name = name.to_ascii_uppercase();
        match &name[..] {
            b"MULTI" => inside = true,
            b"EXEC" | b"DISCARD" => inside = false,
            _ => {}
        }
        let blocks = step.args.iter().any(|arg| arg.eq_ignore_ascii_case(b"BLOCK"));
        !inside
            && (blocks
                || name.starts_with(b"BL")
                || name.starts_with(b"BR")
                || name.starts_with(b"BZ"))
    })
}

#[cfg(test)]
mod tests {
    use super::{Expect, Round, Step, Track, is_same, words};
    use crate::table::How;
    use transcript::Reply;

    #[test]
    fn a_seed_gives_the_same_round_and_another_seed_another() {
        let shown = |seed| format!("{:?}", Round::new(seed));
        assert_eq!(shown(7), shown(7));
        assert_ne!(shown(7), shown(8));
    }

    #[test]
    fn a_request_has_all_commands_but_the_first() {
        let round = Round::new(7);
        let request = String::from_utf8_lossy(&round.request()).into_owned();
        assert!(request.starts_with("*2\r\n$5\r\nHELLO\r\n"), "{request:.60}");
        let first = round.steps.last().and_then(|step| step.args.last()).expect("there are steps");
        assert!(request.ends_with(&format!("{}\r\n", String::from_utf8_lossy(first))));
        assert!(Round::new(64).request().is_empty(), "a scene");
    }

    #[test]
    fn replies_of_a_transaction_are_compared_in_the_way_of_each_command() {
        let status = |text: &str| Reply::Status(text.into());
        let step = |text: &str, how| Step { args: words(text), how };
        let mut track = Track { queued: None };
        track.next(&step("MULTI", How::Exact), &status("OK"));
        track.next(&step("SMEMBERS t", How::Sorted), &status("QUEUED"));
        track.next(&step("LRANGE l 0 -1", How::Exact), &status("QUEUED"));
        let numbers =
            |numbers: &[i64]| Reply::Array(numbers.iter().copied().map(Reply::Integer).collect());
        let exec = |set: &[i64], list: &[i64]| Reply::Array(vec![numbers(set), numbers(list)]);
        let redis = exec(&[1, 2], &[3, 4]);
        let exec_step = step("EXEC", How::Exact);
        let expect = track.next(&exec_step, &redis);
        assert!(matches!(&expect, Expect::Each(steps) if steps.len() == 2));
        assert!(is_same(&expect, &exec_step, &redis, &exec(&[2, 1], &[3, 4])));
        assert!(!is_same(&expect, &exec_step, &redis, &exec(&[1, 2], &[4, 3])));
    }
}
