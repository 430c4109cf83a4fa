//! Laws that hold for every data command; its transcript is the sample.

mod harness;

use commands::row::Flags;
use harness::{Arrival, Server, Session, rows};
use resp::Proto;
use transcript::Reply;

/// Every row is well formed.
#[test]
fn rows_are_well_formed() {
    let broken = commands::laws::check_rows(commands::all().map(|c| &c.row));
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// Too few and too many arguments give Redis's error and have no effect.
#[test]
fn arity() {
    for row in rows().filter(|row| row.subcommands.is_empty()) {
        let words: Vec<&str> = row.name.split('|').collect();
        let least = usize::from(row.arity.unsigned_abs());
        let wrong = [Some(least - 1), (row.arity > 0).then_some(least + 1)];
        for argc in wrong.into_iter().flatten().filter(|argc| *argc >= words.len()) {
            let mut args = words.clone();
            args.resize(argc, "1");
            let mut server = Server::new();
            let answer = server.call(0, &args, Proto::V2, Arrival::Buffer).expect("known");
            let text = format!("ERR wrong number of arguments for '{}' command", row.name);
            assert_eq!(answer.reply, Reply::Error(text.into_bytes()), "{args:?}");
            assert_eq!(server.digest(), []);
        }
    }
}

/// A command that reads, and one that refuses, leave the data alone and say so.
#[test]
fn no_change_without_leave() {
    each_session(|session, server| {
        for step in &session.steps {
            let before = server.digest();
            let answer = server.call(0, &step.args, Proto::V2, Arrival::Buffer).expect("known");
            let refused = matches!(answer.reply, Reply::Error(_));
            // PFCOUNT reads, and stores its count in the value.
            let reads = answer.row.flags.has(Flags::READONLY)
                && !answer.row.flags.has(Flags::MAY_REPLICATE);
            if reads || refused {
                assert_eq!(server.cx.effects.dirty, 0, "{}: {}", session.of, step.source);
                assert_eq!(server.digest(), before, "{}: {}", session.of, step.source);
            }
        }
    });
}

/// A replay of a session's journal makes the same data: no effect is missing, and no record
/// depends on the time of the replay.
#[test]
fn journal_replays() {
    let mut unknown = std::collections::BTreeSet::new();
    each_session(|session, server| {
        let mut copy = Server::new();
        for step in &session.steps {
            server.call(0, &step.args, Proto::V2, Arrival::Buffer).expect("known");
            for (db, record) in server.journal(0, &step.args) {
                // Later than the original, so that a relative time would show.
                copy.cx.set_now(server.cx.now + 5_000);
                match copy.call(db, &record, Proto::V2, Arrival::Buffer) {
                    Ok(answer) => assert!(
                        !matches!(answer.reply, Reply::Error(_)),
                        "{}: {} is {record:?} in the journal, which fails",
                        session.of,
                        step.source,
                    ),
                    Err(harness::Unknown) => {
                        unknown.insert(String::from_utf8_lossy(&record[0]).into_owned());
                        return;
                    }
                }
            }
            copy.cx.set_now(server.cx.now);
            assert_eq!(copy.digest(), server.digest(), "{}: {}", session.of, step.source);
        }
    });
    assert!(unknown.is_empty(), "journal records of commands that do not exist: {unknown:?}");
}

fn each_session(mut f: impl FnMut(&Session, &mut Server)) {
    let (sessions, _) = harness::sessions();
    assert!(!sessions.is_empty());
    for session in &sessions {
        f(session, &mut Server::new());
    }
}
