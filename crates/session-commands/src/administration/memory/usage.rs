//! MEMORY USAGE: <https://redis.io/docs/latest/commands/memory-usage/>
//!
//! The bytes are those from the allocator: the entry's allocation, a value outside it, and the
//! key's share of the hash table.

use crate::administration::command;
use commands::row::{Flags, Group, KeyFlags, KeySpec, Row, Scope};
use commands::{Fail, Outcome, parse};
use engine::commit;
use engine::{Call, SessionCommand};
use resp::{Args, Reply};
use store::{Db, Key};

pub(super) static USAGE: SessionCommand = command(
    Row {
        name: "memory|usage",
        group: Group::Server,
        since: "4.0.0",
        arity: -3,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(2, KeyFlags::RO)],
        scope: Scope::Keys,
        complexity: "O(N) where N is the number of samples.",
        summary: "Answers the bytes of memory that a key and its value take.",
        syntax: "MEMORY USAGE key [SAMPLES count]",
        transcript: r#"
> MEMORY USAGE nosuch
(nil)
> SET k v
OK
> MEMORY USAGE k
~ (integer) *
> MEMORY USAGE k SAMPLES 0
~ (integer) *
> MEMORY USAGE k SAMPLES -1
(error) ERR syntax error
> MEMORY USAGE k SAMPLES x
(error) ERR value is not an integer or out of range
> MEMORY USAGE k SAMPLES
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let mut i = 3;
    while i < args.len() {
        if !args.is(i, "samples") || i + 1 == args.len() {
            return Err(Fail::SYNTAX);
        }
        // Strings are one piece; the count is only checked.
        if parse::int(args, i + 1)? < 0 {
            return Err(Fail::SYNTAX);
        }
        i += 2;
    }
    let (ks, index) = (&call.engine.keyspace, call.session.db);
    let cx = &mut call.thread.cx;
    let mut all = Db::unlocked(ks, index, cx);
    // The table is shared evenly; it may have been emptied meanwhile, so that no key shares it.
    let share = all.table_bytes() / all.len().max(1);
    drop(all);
    let key = Key::new(&args[2]);
    let mut db = Db::lock_one(ks, index, key, cx);
    match db.peek(key) {
        Some(e) => reply.int((e.bytes() + share) as i64),
        None => reply.null(),
    }
    // Looking may have removed an expired key.
    commit(call.engine, &mut call.thread.pubsub, &mut db);
    drop(db);
    call.thread.collect();
    Ok(())
}
