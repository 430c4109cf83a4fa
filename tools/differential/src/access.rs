//! Access control compared: ACL DRYRUN of every command that both servers have, for some users and
//! forms of arguments. No chance is in it: what differs, differs every time.

use crate::Servers;
use std::collections::BTreeMap;
use transcript::{Client, Reply};

/// Name and rules: what each may do overlaps with the others in one way or another.
const USERS: &[(&str, &str)] = &[
    ("none", ""),
    ("all", "+@all ~* &*"),
    ("reader", "+@read ~r:* &news"),
    ("writer", "+@write -@dangerous %W~w:* %R~r:*"),
    ("slow", "+@all -@fast ~*"),
    ("fast", "+@fast ~*"),
    ("single", "-@all +config|get +client -client|kill +select|0 ~k"),
    ("selectors", "+get ~a (+@string ~r:* &n*) (+@set %RW~w:*)"),
    ("careful", "+@all -@dangerous -@admin +info ~* resetchannels &news"),
    ("keys", "+@all ~r:* ~k resetchannels"),
    ("listener", "+@pubsub +@connection &news &n?"),
    ("hash", "+@hash +@list -hset ~w:*"),
    ("reads", "+@all %R~* %W~w:*"),
    ("writes", "+@all %W~* %R~r:*"),
];

/// What follows a command's name. All prefixes are tried, too.
const ARGUMENTS: &[&str] = &[
    "r:1 r:1 r:1 r:1 r:1 r:1",
    "w:1 w:1 w:1 w:1 w:1 w:1",
    "k k k k k",
    "r:1 w:1 r:1 w:1 r:1",
    "w:1 r:1 w:1 r:1 w:1",
    "1 r:1 w:1 r:1",
    "2 r:1 w:1 r:1",
    "r:1 1 r:1 w:1 WEIGHTS 2",
    "r:1 2 r:1 w:1",
    "news news",
    "n? 0",
    "r:1 x GET",
    "w:1 x EX 1 GET",
    "r:1 ASC STORE w:1",
    "w:1 BY x GET y STORE r:1",
    "GROUP g c STREAMS r:1 w:1 0 0",
    "STREAMS r:1 w:1 0 0",
    "COUNT 1 STREAMS w:1 0",
    "r:1 1 1 1 km STORE w:1",
    "w:1 GET u8 0",
    "w:1 GET u8 0 SET u8 0 1",
];

/// What the comparison found.
#[derive(Debug, Default)]
pub struct Compared {
    /// Calls on which both agree.
    pub same: u64,
    /// Calls that differ, each with what the two said.
    pub differences: Vec<String>,
}

/// What a command is allowed, without the words that changed between versions.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Allowed,
    /// The command itself is not.
    Command,
    /// A key or a channel is not: which.
    Argument(String),
    Error(String),
}

fn verdict(reply: &Reply) -> Verdict {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match reply {
        Reply::Status(_) => Verdict::Allowed,
        Reply::Bulk(bytes) => match text(bytes).split_once(" access the ") {
            Some((_, what)) => Verdict::Argument(what.to_owned()),
            None => Verdict::Command,
        },
        other => Verdict::Error(format!("{other:?}")),
    }
}

/// Number of arguments by name, subcommands included.
fn commands(client: &mut Client) -> Result<BTreeMap<String, i64>, String> {
    fn add(all: &mut BTreeMap<String, i64>, reply: &Reply) {
        let Reply::Array(commands) = reply else { return };
        for command in commands {
            let Reply::Array(fields) = command else { continue };
            if let (Some(Reply::Bulk(name)), Some(Reply::Integer(arity))) =
                (fields.first(), fields.get(1))
            {
                all.insert(String::from_utf8_lossy(name).into_owned(), *arity);
            }
            if let Some(subs) = fields.get(9) {
                add(all, subs);
            }
        }
    }
    let reply = client.call(&["COMMAND"]).map_err(|e| e.to_string())?;
    let mut all = BTreeMap::new();
    add(&mut all, &reply);
    Ok(all)
}

/// A call that is not compared, and why.
fn is_exception(words: &[&str]) -> bool {
    // Redis finds no key in it, and so lets every user run it on any.
    words.len() == 2 && words[0] == "pfmerge"
}

/// Compares the two servers; each gets the users, and keeps them.
///
/// # Errors
/// A server cannot be reached, or refuses a user.
pub fn compare(servers: &Servers) -> Result<Compared, String> {
    let connect = |address: &str| Client::connect(address).map_err(|e| format!("{address}: {e}"));
    let mut both = [connect(&servers.redis)?, connect(&servers.apus)?];
    for (user, rules) in USERS {
        let mut words = vec!["ACL", "SETUSER", user, "reset"];
        words.extend(rules.split_ascii_whitespace());
        for client in &mut both {
            let reply = client.call(&words).map_err(|e| e.to_string())?;
            if verdict(&reply) != Verdict::Allowed {
                return Err(format!("{user}: {reply:?}"));
            }
        }
    }
    let [redis, apus] = &mut both;
    let (in_redis, in_apus) = (commands(redis)?, commands(apus)?);
    let mut compared = Compared::default();
    // A container's subcommands may not be there yet; its number of arguments may have changed.
    let known = in_redis.iter().filter(|(name, arity)| in_apus.get(*name) == Some(*arity));
    let whole = |name: &str| {
        let inside = format!("{name}|");
        !in_redis.keys().any(|k| k.starts_with(&inside) && !in_apus.contains_key(k))
    };
    for (name, _) in known.filter(|(name, _)| whole(name)) {
        let names: Vec<&str> = name.split('|').collect();
        let mut calls = vec![names.clone()];
        for arguments in ARGUMENTS {
            let mut call = names.clone();
            for word in arguments.split(' ') {
                call.push(word);
                calls.push(call.clone());
            }
        }
        calls.sort();
        calls.dedup();
        calls.retain(|call| !is_exception(call));
        for (user, _) in USERS {
            let whole = |call: &Vec<&'_ str>| {
                let mut words = vec!["ACL".to_owned(), "DRYRUN".into(), (*user).to_owned()];
                words.extend(call.iter().map(|w| (*w).to_owned()));
                words
            };
            let calls: Vec<Vec<String>> = calls.iter().map(whole).collect();
            let said = [answers(redis, &calls)?, answers(apus, &calls)?];
            for (call, (a, b)) in calls.iter().zip(said[0].iter().zip(&said[1])) {
                if verdict(a) == verdict(b) {
                    compared.same += 1;
                } else {
                    compared.differences.push(format!("{}: {a:?} and {b:?}", call.join(" ")));
                }
            }
        }
    }
    Ok(compared)
}

/// The replies to calls that are sent together.
fn answers(client: &mut Client, calls: &[Vec<String>]) -> Result<Vec<Reply>, String> {
    for call in calls {
        client.send(call).map_err(|e| e.to_string())?;
    }
    calls.iter().map(|_| client.receive().map_err(|e| e.to_string())).collect()
}
