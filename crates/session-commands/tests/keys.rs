//! The law of keys: which arguments of a call are keys is said by the syntax line, found by COMMAND
//! GETKEYS and COMMAND GETKEYSANDFLAGS, locked before the command runs, and checked by ACL. All of
//! these must agree, for every row and wherever its options put the keys.

mod support;

use commands::row::{KeyFlags, Row};
use commands::syntax::{self, Arg, ArgType};
use engine::Run;
use resp::Proto;
use stdx::rng::Rng;
use support::Server;
use transcript::Reply;

/// Calls per row.
const CALLS: usize = 25;

/// A call made from a syntax line.
#[derive(Default)]
struct Made {
    words: Vec<Vec<u8>>,
    /// The arguments that are keys.
    keys: Vec<usize>,
    /// Arguments that say how many keys follow.
    counts: Vec<usize>,
}

impl Made {
    /// A call of `row` in which all repeatable arguments are repeated equally often: an ID per
    /// stream, a weight per key.
    fn of(row: &Row, args: &[Arg], rng: &mut Rng) -> Self {
        let mut made = Self::default();
        made.words.extend(row.name.split('|').map(Vec::from));
        let times = 1 + rng.index(3);
        args.iter().for_each(|arg| made.add(arg, times, rng));
        if row.name == "migrate" {
            // Either one key or KEYS: the syntax line cannot say so.
            if made.keys.is_empty() {
                made.words[3] = b"key:1".to_vec();
                made.keys.push(3);
            } else if made.keys.len() > 1 && made.keys[0] == 3 {
                made.words[3].clear();
                made.keys.remove(0);
            }
        }
        made
    }

    fn add(&mut self, arg: &Arg, times: usize, rng: &mut Rng) {
        if arg.optional && rng.below(2) == 0 {
            // EVAL's keys may be left out, and their number says so.
            if arg.kind == ArgType::Key && arg.multiple {
                self.say(0);
            }
            return;
        }
        for i in 0..if arg.multiple { times } else { 1 } {
            if let Some(token) = arg.token.as_ref().filter(|_| i == 0 || arg.multiple_token) {
                // MIGRATE's empty argument is written as two quotes.
                self.words.push(token.trim_matches('"').into());
            }
            self.add_one(arg, times, rng);
        }
        let holds_keys = arg.kind == ArgType::Key
            || arg.arguments.iter().any(|inner| inner.kind == ArgType::Key);
        if arg.multiple && holds_keys {
            self.say(times);
        }
    }

    fn add_one(&mut self, arg: &Arg, times: usize, rng: &mut Rng) {
        let any = |words: &[&str], rng: &mut Rng| Vec::from(words[rng.index(words.len())]);
        match arg.kind {
            ArgType::PureToken => {}
            ArgType::OneOf => {
                let chosen = &arg.arguments[rng.index(arg.arguments.len())];
                self.add(&Arg { optional: false, ..chosen.clone() }, times, rng);
            }
            ArgType::Block => arg.arguments.iter().for_each(|inner| self.add(inner, times, rng)),
            ArgType::Key => {
                self.keys.push(self.words.len());
                self.words.push(format!("key:{}", self.keys.len()).into_bytes());
            }
            ArgType::Integer if arg.name == "numkeys" => {
                self.counts.push(self.words.len());
                self.words.push(b"0".to_vec());
            }
            // Words that also are the options before which keys stand.
            ArgType::String | ArgType::Pattern => {
                let words = ["a", "1", "*", "STREAMS", "GROUP", "STORE", "KEYS", "0-1", "u8", "x"];
                self.words.push(any(&words, rng));
            }
            ArgType::Integer | ArgType::Double | ArgType::UnixTime => {
                self.words.push(any(&["0", "1", "2", "1", "1"], rng));
            }
        }
    }

    /// The number in front of keys.
    fn say(&mut self, times: usize) {
        if let Some(at) = self.counts.pop() {
            self.words[at] = times.to_string().into_bytes();
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.words.join(&b' ')).into_owned()
    }
}

fn texts(reply: Option<Reply>) -> Vec<Vec<u8>> {
    match reply {
        Some(Reply::Array(items)) => items
            .into_iter()
            .filter_map(|item| match item {
                Reply::Bulk(text) => Some(text),
                Reply::Array(pair) => match pair.into_iter().next() {
                    Some(Reply::Bulk(text)) => Some(text),
                    _ => None,
                },
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn prefixed(words: &[&str], call: &[Vec<u8>]) -> Vec<Vec<u8>> {
    words.iter().map(|w| Vec::from(*w)).chain(call.iter().cloned()).collect()
}

/// Where locking and ACL find keys.
fn found(row: &Row, words: &[Vec<u8>]) -> (Vec<usize>, Vec<(usize, KeyFlags)>) {
    let (mut locked, mut checked) = (Vec::new(), Vec::new());
    let _ = commands::keys::positions(row, words, &mut |i| locked.push(i));
    let _ = commands::keys::keys(row, words, &mut |k| checked.push((k.index, k.flags)));
    locked.sort_unstable();
    checked.sort_unstable_by_key(|(index, _)| *index);
    (locked, checked)
}

#[test]
fn getkeys_locks_and_acl_find_what_the_syntax_calls_keys() {
    let mut rng = Rng::from_seed(15);
    let mut server = Server::with_config("");
    let engine = std::sync::Arc::clone(&server.engine);
    let (mut calls, mut keys) = (0, 0);
    let mut wrong = Vec::new();
    let rows = engine.table.all().iter().map(|cmd| cmd.row);
    for row in rows.filter(|row| row.subcommands.is_empty() && row.has_keys()) {
        let args = syntax::arguments(row.name, row.syntax, row.keys.len()).expect("a syntax line");
        for _ in 0..CALLS {
            let made = Made::of(row, &args, &mut rng);
            calls += 1;
            keys += made.keys.len();
            let (locked, checked) = found(row, &made.words);
            let positions: Vec<usize> = checked.iter().map(|(index, _)| *index).collect();
            if locked != made.keys || positions != made.keys {
                wrong.push(format!(
                    "{}: the keys are {:?}, locked {locked:?}, checked {positions:?}",
                    made.text(),
                    made.keys
                ));
                continue;
            }
            let mut named: Vec<_> = made.keys.iter().map(|i| made.words[*i].clone()).collect();
            named.sort();
            let mut session = server.connect(Proto::V2);
            for sub in ["GETKEYS", "GETKEYSANDFLAGS"] {
                let reply = server.call(&mut session, &prefixed(&["COMMAND", sub], &made.words));
                let mut said = texts(reply);
                said.sort();
                if said != named {
                    wrong.push(format!("{}: {sub} says {said:?}", made.text()));
                }
            }
            wrong.extend(refused_by_acl(&mut server, &made, &checked));
        }
    }
    assert!(wrong.is_empty(), "{} calls:\n{}", wrong.len(), wrong.join("\n"));
    assert!(calls > 2_000 && keys > 3_000, "{calls} {keys}");
}

/// A user with the rights that the flags name may make the call; without the rights to one of the
/// keys, the same user may not.
fn refused_by_acl(
    server: &mut Server,
    made: &Made,
    checked: &[(usize, KeyFlags)],
) -> Option<String> {
    let mut session = server.connect(Proto::V2);
    let write = KeyFlags::INSERT.or(KeyFlags::UPDATE).or(KeyFlags::DELETE);
    let pattern = |(index, flags): &(usize, KeyFlags)| {
        let name = String::from_utf8_lossy(&made.words[*index]).into_owned();
        match (flags.has(KeyFlags::ACCESS), flags.has_any(write)) {
            (true, true) => format!("%RW~{name}"),
            (true, false) => format!("%R~{name}"),
            (false, true) => format!("%W~{name}"),
            // Whether it exists, its type or its size: any right to the key will do.
            (false, false) => format!("%R~{name}"),
        }
    };
    let patterns: Vec<String> = checked.iter().map(pattern).collect();
    for without in std::iter::once(None).chain((0..patterns.len()).map(Some)) {
        let mut rules = vec!["ACL", "SETUSER", "u", "reset", "on", "nopass", "+@all"];
        let granted = patterns.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        rules.extend(granted.map(|(_, p)| p.as_str()));
        let set = server.call(&mut session, &rules);
        assert_eq!(set, Some(Reply::Status(b"OK".to_vec())), "{rules:?}");
        let reply = server.call(&mut session, &prefixed(&["ACL", "DRYRUN", "u"], &made.words));
        let allowed = matches!(reply, Some(Reply::Status(_)));
        if allowed != without.is_none() {
            return Some(format!("{}: with {rules:?} ACL says {reply:?}", made.text()));
        }
    }
    None
}

/// A command that touches a key whose shard it has not locked ends the process. No argument may
/// lead there: neither valid calls nor ones that are damaged at any position.
#[test]
fn what_a_command_touches_is_locked() {
    let mut rng = Rng::from_seed(16);
    let fill: Vec<Vec<String>> = (1..8)
        .map(|n| {
            let line = match n % 7 {
                0 => format!("SET key:{n} 1"),
                1 => format!("RPUSH key:{n} 1 2 3"),
                2 => format!("SADD key:{n} 1 2 a"),
                3 => format!("ZADD key:{n} 1 a 2 b"),
                4 => format!("HSET key:{n} a 1 x 2"),
                5 => format!("XADD key:{n} 0-1 a 1"),
                _ => format!("PFADD key:{n} a"),
            };
            line.split(' ').map(str::to_owned).collect()
        })
        .collect();
    let mut server = Server::with_config("");
    let (mut valid, mut calls) = (0, 0);
    let names: Vec<u16> = (0..server.engine.table.len() as u16).collect();
    for id in names {
        let engine = std::sync::Arc::clone(&server.engine);
        let cmd = engine.table.get(id);
        let row = cmd.row;
        // Session commands lock key by key.
        if !matches!(cmd.run, Run::Data(_)) || !row.subcommands.is_empty() {
            continue;
        }
        let args = syntax::arguments(row.name, row.syntax, row.keys.len()).expect("a syntax line");
        for turn in 0..2 * CALLS {
            let mut made = Made::of(row, &args, &mut rng);
            if turn % 2 == 1 {
                damage(&mut made.words, row.name.split('|').count(), &mut rng);
            }
            let mut session = server.connect(Proto::V2);
            if turn % 4 == 0 {
                server.call(&mut session, &["FLUSHALL"]);
                let kind = rng.index(fill.len());
                for n in 0..fill.len() {
                    let mut words = fill[if rng.below(2) == 0 { kind } else { n }].clone();
                    words[1] = format!("key:{}", n + 1);
                    server.call(&mut session, &words);
                }
            }
            calls += 1;
            let reply = server.call(&mut session, &made.words);
            valid += usize::from(!matches!(reply, Some(Reply::Error(_))));
        }
    }
    assert!(calls > 4_000 && valid > 1_500, "{calls} {valid}");
}

/// Drops, adds or changes a word behind the name.
fn damage(words: &mut Vec<Vec<u8>>, names: usize, rng: &mut Rng) {
    const WORDS: [&str; 16] = [
        "0",
        "1",
        "2",
        "3",
        "+2",
        "02",
        "-1",
        " 2",
        "2 ",
        "4294967298",
        "9223372036854775807",
        "key:9",
        "STREAMS",
        "STORE",
        "COUNT",
        "",
    ];
    if words.len() == names {
        return;
    }
    for _ in 0..1 + rng.index(2) {
        let at = names + rng.index((words.len() - names).max(1));
        let word = Vec::from(WORDS[rng.index(WORDS.len())]);
        match rng.index(4) {
            0 if at < words.len() => drop(words.remove(at)),
            1 => words.insert(at.min(words.len()), word),
            _ if at < words.len() => words[at] = word,
            _ => {}
        }
    }
}
