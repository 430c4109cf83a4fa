//! ACL CAT: <https://redis.io/docs/latest/commands/acl-cat/>

use ::acl::commands::category_named;
use commands::row::{Acl, Row};
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use stdx::carried::carry;

use super::{BASE, COMMON, sub};
use engine::{Call, SessionCommand};

pub(super) static CAT: SessionCommand = sub(
    Row {
        name: "acl|cat",
        arity: -2,
        flags: COMMON,
        complexity: "O(1) since the categories and commands are a fixed set.",
        summary: "Names the categories, or the commands of one.",
        syntax: "ACL CAT [category]",
        transcript: r#"
> ACL CAT nosuch
(error) ERR Unknown category 'nosuch'
> ACL CAT read write
(error) ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.
# Redis has no topics.
# only: apus
> ACL CAT
 1) "keyspace"
 2) "read"
 3) "write"
 4) "set"
 5) "sortedset"
 6) "list"
 7) "hash"
 8) "string"
 9) "bitmap"
10) "hyperloglog"
11) "geo"
12) "stream"
13) "pubsub"
14) "admin"
15) "fast"
16) "slow"
17) "blocking"
18) "dangerous"
19) "connection"
20) "transaction"
21) "scripting"
22) "topic"
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    if args.len() > 3 {
        return Err(crate::connection::usage(args));
    }
    let Some(name) = args.get(2) else {
        reply.array(Acl::NAMED.len());
        Acl::NAMED.iter().for_each(|(_, name)| reply.bulk(name));
        return Ok(());
    };
    let Some(category) = category_named(name) else {
        let name = carry(&name[..name.len().min(128)]);
        return Err(Fail::new(format!("ERR Unknown category '{name}'")));
    };
    let rows = call.engine.table.all().iter().map(|c| c.row);
    let names: Vec<&str> =
        rows.filter(|r| r.acl_categories().has(category)).map(|r| r.name).collect();
    reply.array(names.len());
    names.iter().for_each(|name| reply.bulk(name));
    Ok(())
}
