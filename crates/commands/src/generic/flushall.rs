//! FLUSHALL: <https://redis.io/docs/latest/commands/flushall/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Acl, Flags, Group, Row, Scope, Traits};

pub(crate) static FLUSHALL: DataCommand = DataCommand {
    row: Row {
        name: "flushall",
        group: Group::Server,
        arity: -1,
        traits: Traits::SAVES_AFTER,
        flags: Flags::WRITE,
        acl: Acl::KEYSPACE.or(Acl::DANGEROUS),
        tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
        history: &[
            ("4.0.0", "Added the `ASYNC` flushing mode modifier."),
            ("6.2.0", "Added the `SYNC` flushing mode modifier."),
        ],
        scope: Scope::All,
        complexity: "O(N) where N is the number of keys in all databases.",
        summary: "Deletes all keys of all databases.",
        syntax: "FLUSHALL [ASYNC | SYNC]",
        transcript: r#"
> SET a 1
OK
> COPY a b DB 1
(integer) 1
> FLUSHALL
OK
> DBSIZE
(integer) 0
> SWAPDB 0 1
OK
> DBSIZE
(integer) 0
> FLUSHALL ASYNC
OK
> FLUSHALL sync
OK
> FLUSHALL NOW
(error) ERR syntax error
> FLUSHALL SYNC ASYNC
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let databases = 0..db.databases();
    super::flush(db, args, databases, reply)
}
