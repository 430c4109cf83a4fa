//! TOPIC.CREATE, TOPIC.SET, TOPIC.DELETE, TOPIC.LIST, TOPIC.INFO, TOPIC.COMMIT, TOPIC.COMMITTED,
//! TOPIC.GROUPS

use std::fmt::Write as _;
use std::sync::Arc;

use ::acl::Catalogue as _;
use ::log::{Broker, Error};
use commands::row::{Acl, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{APPENDS, BASE, CHANGES, DELETES, READS, command, name};
use crate::pending_reply::{PendingReply, fail};
use engine::acl;
use engine::{Call, SessionCommand};

/// Does something that may wait for the storage, and answers with the result.
fn aside<T: Send + 'static>(
    call: &mut Call<'_>,
    what: [&str; 2],
    work: impl FnOnce(&Broker) -> Result<T, Error> + Send + 'static,
    write: impl FnOnce(T, &mut Reply<'_>) + Send + 'static,
) -> Outcome {
    let broker = call.engine.topics.open(call.engine).map_err(|e| fail(&e))?;
    let pending = PendingReply::wait(call, what, None)?;
    let inside = broker.clone();
    broker.aside(Box::new(move || {
        let result = work(&inside);
        pending.answer(|reply| {
            write(result.map_err(|e| fail(&e))?, reply);
            Ok(())
        });
    }));
    Ok(())
}

fn ok((): (), reply: &mut Reply<'_>) {
    reply.ok();
}

/// Settings in pairs of name and value, as the JSON object that they are kept as.
fn settings(args: &Args<'_>, from: usize) -> Result<Vec<u8>, Fail> {
    if !(args.len() - from).is_multiple_of(2) {
        return Err(Fail::SYNTAX);
    }
    let mut json = String::from("{");
    for i in (from..args.len()).step_by(2) {
        let word = |i: usize| {
            let word = std::str::from_utf8(&args[i]).unwrap_or("?");
            word.chars().filter(|c| *c != '"' && *c != '\\' && !c.is_control()).collect::<String>()
        };
        let value = match word(i + 1).to_ascii_lowercase().as_str() {
            "yes" => "true".to_owned(),
            "no" => "false".to_owned(),
            bare if bare.parse::<u64>().is_ok() || bare == "null" => bare.to_owned(),
            text => format!("\"{text}\""),
        };
        let comma = if json.len() > 1 { "," } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(json, "{comma}\"{}\":{value}", word(i).to_ascii_lowercase());
    }
    json.push('}');
    Ok(json.into_bytes())
}

const SETTINGS: &str = "O(1)";

pub(super) static CREATE: SessionCommand = command(
    Row {
        name: "topic.create",
        arity: -2,
        complexity: SETTINGS,
        summary: "Creates a topic.",
        syntax: "TOPIC.CREATE topic:key [setting value [setting value ...]]",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.CREATE ../fruit
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
> TOPIC.CREATE fruit sync
(error) ERR syntax error
"#,
        ..APPENDS
    },
    |call, args, _| {
        let (topic, json) = (name(args, 1)?, settings(args, 2)?);
        let work = {
            let topic = topic.clone();
            move |b: &Broker| b.create(&topic, &b.options().settings.clone().with_json(&json)?)
        };
        aside(call, ["TOPIC.CREATE", &topic], work, ok)
    },
);

pub(super) static SET: SessionCommand = command(
    Row {
        name: "topic.set",
        arity: -4,
        complexity: SETTINGS,
        summary: "Changes settings of a topic.",
        syntax: "TOPIC.SET topic:key setting value [setting value ...]",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.SET a/b sync no
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
"#,
        ..CHANGES
    },
    |call, args, _| {
        let (topic, json) = (name(args, 1)?, settings(args, 2)?);
        let work = {
            let topic = topic.clone();
            move |b: &Broker| {
                let settings = b.describe(&topic)?.settings.with_json(&json)?;
                b.set(&topic, settings)
            }
        };
        aside(call, ["TOPIC.SET", &topic], work, ok)
    },
);

pub(super) static DELETE: SessionCommand = command(
    Row {
        name: "topic.delete",
        arity: 2,
        complexity: "O(N) where N is the number of files of the topic",
        summary: "Deletes a topic and all its records.",
        syntax: "TOPIC.DELETE topic:key",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.DELETE ../fruit
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
"#,
        ..DELETES
    },
    |call, args, _| {
        let topic = name(args, 1)?;
        let gone = topic.clone();
        aside(call, ["TOPIC.DELETE", &topic], move |b| b.delete(&gone), ok)
    },
);

pub(super) static LIST: SessionCommand = command(
    Row {
        name: "topic.list",
        arity: 1,
        acl: Acl::READ,
        complexity: "O(N) where N is the number of topics",
        summary: "Answers the names of all topics that the user may read, sorted.",
        syntax: "TOPIC.LIST",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.LIST fruit
(error) ERR wrong number of arguments for 'topic.list' command
"#,
        ..BASE
    },
    |call, _, _| {
        let (user, id) = (Arc::clone(&call.session.user), call.engine.table.named(b"topic.list"));
        aside(call, ["TOPIC.LIST", ""], Broker::topics, move |names, reply| {
            let names = acl::readable(&user, id, names);
            reply.array(names.len());
            names.iter().for_each(|n| reply.bulk(n));
        })
    },
);

pub(super) static INFO: SessionCommand = command(
    Row {
        name: "topic.info",
        arity: 2,
        complexity: SETTINGS,
        summary: "Answers what a topic has, and its settings.",
        syntax: "TOPIC.INFO topic:key",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.INFO .
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
"#,
        ..READS
    },
    |call, args, _| {
        let topic = name(args, 1)?;
        let asked = topic.clone();
        aside(
            call,
            ["TOPIC.INFO", &topic],
            move |b| b.describe(&asked),
            |d, reply| {
                let e = &d.extent;
                reply.map(7);
                reply.bulk("name");
                reply.bulk(&d.name);
                for (name, n) in [
                    ("first-offset", e.first),
                    ("next-offset", e.next),
                    ("bytes", e.bytes),
                    ("objects", e.objects),
                    ("latest-append-ms", e.latest_us / 1000),
                ] {
                    reply.bulk(name);
                    reply.int(n as i64);
                }
                reply.bulk("settings");
                reply.bulk(d.settings.to_json().to_string());
            },
        )
    },
);

pub(super) static COMMIT: SessionCommand = command(
    Row {
        name: "topic.commit",
        arity: 4,
        complexity: SETTINGS,
        summary: "Keeps the offset that a group is going to read next.",
        syntax: "TOPIC.COMMIT topic:key group offset",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.COMMIT fruit a/b 1
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
> TOPIC.COMMIT fruit juice -1
(error) ERR value is out of range, must be positive
"#,
        ..CHANGES
    },
    |call, args, _| {
        let (topic, group) = (name(args, 1)?, name(args, 2)?);
        let offset = u64::try_from(commands::parse::int(args, 3)?);
        let offset = offset.map_err(|_| Fail::NOT_POSITIVE)?;
        let asked = topic.clone();
        let work = move |b: &Broker| b.commit(&asked, &group, offset);
        aside(call, ["TOPIC.COMMIT", &topic], work, ok)
    },
);

pub(super) static COMMITTED: SessionCommand = command(
    Row {
        name: "topic.committed",
        arity: 3,
        complexity: SETTINGS,
        summary: "Answers the offset that a group has committed.",
        syntax: "TOPIC.COMMITTED topic:key group",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.COMMITTED fruit a/b
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
"#,
        ..READS
    },
    |call, args, _| {
        let (topic, group) = (name(args, 1)?, name(args, 2)?);
        let asked = topic.clone();
        let work = move |b: &Broker| b.committed(&asked, &group);
        aside(call, ["TOPIC.COMMITTED", &topic], work, |offset, reply| match offset {
            Some(offset) => reply.int(offset as i64),
            None => reply.null(),
        })
    },
);

pub(super) static GROUPS: SessionCommand = command(
    Row {
        name: "topic.groups",
        arity: 2,
        complexity: "O(N) where N is the number of groups",
        summary: "Answers all groups of a topic and what they have committed.",
        syntax: "TOPIC.GROUPS topic:key",
        transcript: r#"
# What is stored is answered later: crates/server/tests/topics/.
# only: apus
> TOPIC.GROUPS .fruit
(error) ERR a topic or group's name is 1 to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot
"#,
        ..READS
    },
    |call, args, _| {
        let topic = name(args, 1)?;
        let asked = topic.clone();
        aside(
            call,
            ["TOPIC.GROUPS", &topic],
            move |b| b.groups(&asked),
            |groups, reply| {
                reply.map(groups.len());
                for (name, offset) in &groups {
                    reply.bulk(name);
                    reply.int(*offset as i64);
                }
            },
        )
    },
);
