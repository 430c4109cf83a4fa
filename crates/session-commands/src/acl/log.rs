//! ACL LOG: <https://redis.io/docs/latest/commands/acl-log/>

use commands::row::Row;
use commands::{Outcome, parse};
use resp::{Args, Reply};

use super::{ADMIN, BASE, sub};
use engine::{Call, SessionCommand};

/// Entries that are shown when no number is given.
const SHOWN: usize = 10;

pub(super) static LOG: SessionCommand = sub(
    Row {
        name: "acl|log",
        arity: -2,
        flags: ADMIN,
        history: &[("7.2.0", "Added entry ID, timestamp created, and timestamp last updated.")],
        complexity: "O(N) with N being the number of entries shown.",
        summary: "What was refused lately, the newest first.",
        syntax: "ACL LOG [count:integer | RESET]",
        transcript: r#"
> ACL LOG RESET
OK
> ACL LOG
(empty array)
> AUTH nobody x
(error) WRONGPASS invalid username-password pair or user is disabled.
> AUTH nobody x
(error) WRONGPASS invalid username-password pair or user is disabled.
> ACL LOG x
(error) ERR value is not an integer or out of range
> ACL LOG 0
(empty array)
> ACL LOG -1
(empty array)
> ACL LOG 1 2
(error) ERR unknown subcommand or wrong number of arguments for 'LOG'. Try ACL HELP.
# only: redis>=7.2
# resp: 3
> ACL LOG 1
1)  1# "count" => (integer) 2
    2# "reason" => "auth"
    3# "context" => "toplevel"
    4# "object" => "AUTH"
    5# "username" => "nobody"
~     6# "age-seconds" => (double) *
~     7# "client-info" => "id=* cmd=auth user=default *"
~     8# "entry-id" => (integer) *
~     9# "timestamp-created" => (integer) *
~    10# "timestamp-last-updated" => (integer) *
> ACL LOG RESET
OK
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let log = &call.engine.acl.log;
    let n = match args.len() {
        2 => SHOWN,
        3 if args.is(2, "reset") => {
            log.clear();
            reply.ok();
            return Ok(());
        }
        3 => usize::try_from(parse::int(args, 2)?).unwrap_or(0),
        _ => return Err(crate::connection::usage(args)),
    };
    let now = call.engine.clock.wall_ms() as i64;
    let entries = log.newest(n);
    reply.array(entries.len());
    for e in entries {
        reply.map(10);
        reply.bulk("count");
        reply.int(e.count as i64);
        reply.bulk("reason");
        reply.bulk(e.reason.name());
        reply.bulk("context");
        reply.bulk(e.context.name());
        reply.bulk("object");
        reply.bulk(e.object);
        reply.bulk("username");
        reply.bulk(e.user);
        reply.bulk("age-seconds");
        reply.double((now - e.updated) as f64 / 1000.0);
        reply.bulk("client-info");
        reply.bulk(e.client);
        reply.bulk("entry-id");
        reply.int(e.id as i64);
        reply.bulk("timestamp-created");
        reply.int(e.created);
        reply.bulk("timestamp-last-updated");
        reply.int(e.updated);
    }
    Ok(())
}
