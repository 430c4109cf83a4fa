//! DBSIZE: <https://redis.io/docs/latest/commands/dbsize/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Acl, Flags, Group, Row, Scope};

pub(crate) static DBSIZE: DataCommand = DataCommand {
    row: Row {
        name: "dbsize",
        group: Group::Server,
        arity: 1,
        flags: Flags::READONLY.or(Flags::FAST),
        acl: Acl::KEYSPACE,
        tips: &["request_policy:all_shards", "response_policy:agg_sum"],
        scope: Scope::Each,
        complexity: "O(1): the keys of each shard are counted already.",
        summary: "Returns the number of keys in the database.",
        syntax: "DBSIZE",
        transcript: r#"
> DBSIZE
(integer) 0
> SET a 1
OK
> SET b 2
OK
> DBSIZE
(integer) 2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    reply.int(db.len() as i64);
    Ok(())
}
