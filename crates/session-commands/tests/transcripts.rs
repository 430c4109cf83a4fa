//! Every transcript of every row, data commands and session commands alike, replayed in process;
//! and the law that RESP2 and RESP3 say the same.

mod support;

use std::collections::BTreeSet;

use commands::row::Row;
use resp::Proto;
use support::Server;
use transcript::{Only, Reply, Step, Target, check, parse};

fn rows() -> Vec<&'static Row> {
    let server = Server::with_config("");
    server.engine.table.all().iter().map(|cmd| cmd.row).collect()
}

fn steps(row: &Row) -> Vec<Step> {
    if row.transcript.trim().is_empty() {
        return Vec::new();
    }
    parse(row.transcript).unwrap_or_else(|e| panic!("{}: {e}", row.name))
}

/// Replays steps, each with its own protocol or with `proto`, and hands every reply to `f`.
fn replay(steps: &[Step], proto: Option<Proto>, mut f: impl FnMut(&Step, &Reply)) {
    let mut server = Server::with_config("");
    let mut session = server.connect(Proto::V2);
    let mut last = 2;
    for step in steps {
        if step.reset {
            server = Server::with_config("");
            session = server.connect(Proto::V2);
            last = 2;
        }
        match proto {
            Some(proto) => session.set_proto(proto),
            // Only a change is set: HELLO in a transcript changes it, too.
            None if step.resp != last => {
                session.set_proto(if step.resp == 3 { Proto::V3 } else { Proto::V2 });
                last = step.resp;
            }
            None => {}
        }
        if !step.only.includes(Target::Apus) {
            continue;
        }
        match server.call(&mut session, &step.args) {
            Some(reply) => f(step, &reply),
            None => f(step, &Reply::Error(b"(no reply at all)".to_vec())),
        }
    }
}

#[test]
fn transcripts() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows() {
        replay(&steps(row), None, |step, reply| {
            count += 1;
            if let Err(e) = check(step, reply) {
                wrong.push(format!("{}: {e}", row.name));
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} steps were replayed");
}

/// A session is for real Redis alone as long as it needs a type that is not built yet. The mark
/// goes when the type comes.
#[test]
fn what_only_redis_can_do_is_not_built_yet() {
    let server = Server::with_config("");
    for row in rows() {
        let steps = steps(row);
        for session in steps.chunk_by(|_, next| !next.reset) {
            let mut only_redis = session.iter().filter(|step| step.only == Only::Redis).peekable();
            if only_redis.peek().is_some() {
                let is_missing = |step: &Step| {
                    server.engine.table.find(&step.args[0].to_ascii_lowercase()).is_none()
                };
                assert!(only_redis.any(is_missing), "{}: `# only: redis` has no reason", row.name);
            }
        }
    }
}

/// The content of a RESP3 reply, in the types of RESP2.
fn flat(reply: &Reply) -> Reply {
    match reply {
        Reply::Map(pairs) => {
            Reply::Array(pairs.iter().flat_map(|(k, v)| [flat(k), flat(v)]).collect())
        }
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) => {
            Reply::Array(items.iter().map(flat).collect())
        }
        Reply::Double(text) | Reply::BigNumber(text) => Reply::Bulk(text.clone().into()),
        Reply::Verbatim(text) => Reply::Bulk(text.clone()),
        Reply::Bool(yes) => Reply::Integer(i64::from(*yes)),
        other => other.clone(),
    }
}

/// The elements of a reply, in order and without its nesting: RESP2 has `member, score, member,
/// score` where RESP3 has pairs, and so on.
fn words(reply: &Reply, out: &mut Vec<Reply>) {
    match reply {
        Reply::Array(items) => items.iter().for_each(|item| words(item, out)),
        other => out.push(other.clone()),
    }
}

fn said(reply: &Reply) -> Vec<Reply> {
    let mut out = Vec::new();
    words(&flat(reply), &mut out);
    out
}

/// Commands whose replies differ from run to run, or with the protocol itself.
fn varies(row: &Row) -> bool {
    row.tips.contains(&"nondeterministic_output")
        || [
            "hello",
            "reset",
            "lolwut",
            "memory|malloc-stats",
            "client|info",
            "acl|genpass",
            "acl|log",
        ]
        .contains(&row.name)
}

#[test]
fn both_protocols_say_the_same() {
    let mut wrong = Vec::new();
    for row in rows() {
        let mut all = [Vec::new(), Vec::new()];
        for (proto, replies) in [Proto::V2, Proto::V3].into_iter().zip(&mut all) {
            replay(&steps(row), Some(proto), |step, reply| {
                replies.push((step.source.clone(), reply.clone()));
            });
        }
        let [two, three] = all;
        if varies(row) {
            continue;
        }
        for ((source, two), (_, three)) in two.iter().zip(&three) {
            // The transcript's own INFO, TIME … lines vary, whatever row they stand in.
            let word = source.split(' ').next().unwrap_or_default().to_ascii_lowercase();
            let random = ["info", "time", "latency", "hello", "client", "reset"];
            // The commands that a subscriber may run depend on the protocol.
            if matches!(two, Reply::Error(e) if e.starts_with(b"ERR Can't execute")) {
                continue;
            }
            if !random.contains(&word.as_str()) && said(two) != said(three) {
                wrong.push(format!("{}: {source}: {two:?} and {three:?}", row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_without_a_transcript_are_few_and_say_why() {
    let silent: BTreeSet<&str> = rows()
        .into_iter()
        .filter(|row| row.subcommands.is_empty() && row.transcript.trim().is_empty())
        .inspect(|row| assert!(!row.untranscribed.is_empty(), "{}", row.name))
        .map(|row| row.name)
        .collect();
    assert!(silent.len() <= 12, "{silent:?}");
}
