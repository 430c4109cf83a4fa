//! WATCH: <https://redis.io/docs/latest/commands/watch/>

use std::sync::atomic::Ordering::Relaxed;

use commands::row::{Flags, Group, KeyFlags, KeySpec, Row, Scope, Traits};
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use store::{Db, Key};

use super::WATCH_BYTES;
use crate::commit::commit;
use crate::table::{Call, SessionCommand};

pub(crate) static WATCH: SessionCommand = SessionCommand {
    row: Row {
        name: "watch",
        group: Group::Transactions,
        since: "2.2.0",
        arity: -2,
        traits: Traits::IMMEDIATE,
        flags: Flags::NOSCRIPT
            .or(Flags::LOADING)
            .or(Flags::STALE)
            .or(Flags::FAST)
            .or(Flags::ALLOW_BUSY),
        scope: Scope::None,
        keys: &[KeySpec::range(1, -1, 1, KeyFlags::RO)],
        complexity: "O(1) for every key.",
        summary: "Makes the next EXEC fail if one of the keys changes until then.",
        syntax: "WATCH key [key ...]",
        transcript: r#"
> SET a 1
OK
> WATCH a b
OK
> MULTI
OK
> WATCH c
(error) ERR WATCH inside MULTI is not allowed
> INCR a
QUEUED
> EXEC
1) (integer) 2
> WATCH a
OK
> SET a 5
OK
> MULTI
OK
> INCR a
QUEUED
> EXEC
(nil)
> GET a
"5"
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if call.session.multi.is_some() {
        return Err(Fail::text("ERR WATCH inside MULTI is not allowed"));
    }
    let index = call.session.db;
    let w = call.session.watching.get_or_insert_default();
    // Nothing more can be lost when it has failed already.
    if !w.flag.is_dirty() {
        for name in args.iter_from(1) {
            if w.keys.iter().any(|(db, key)| *db == index && key == name) {
                continue;
            }
            let key = Key::new(name);
            let mut db = Db::lock_one(&call.engine.keyspace, index, key, &mut call.thread.cx);
            // An expired key is removed before it is watched: that does not count as a change.
            db.peek(key);
            commit(call.engine, &mut call.thread.pubsub, &mut db);
            db.watch(key, &w.flag);
            w.keys.push((index, name.to_vec()));
        }
        let bytes: usize = w.keys.iter().map(|(_, key)| WATCH_BYTES + key.capacity()).sum();
        call.session.client.watch.store(w.keys.len() as u64, Relaxed);
        call.session.client.watch_bytes.store(bytes as u64, Relaxed);
    }
    reply.ok();
    Ok(())
}
