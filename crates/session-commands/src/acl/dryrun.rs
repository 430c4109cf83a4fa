//! ACL DRYRUN: <https://redis.io/docs/latest/commands/acl-dryrun/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};
use stdx::carried::{carried, carry};

use super::{ADMIN, BASE, sub};
use engine::acl::check;
use engine::dispatch::find;
use engine::{Call, SessionCommand};

pub(super) static DRYRUN: SessionCommand = sub(
    Row {
        name: "acl|dryrun",
        since: "7.0.0",
        arity: -4,
        flags: ADMIN,
        complexity: "O(1).",
        summary: "Says whether a user might run a command, and runs nothing.",
        syntax: "ACL DRYRUN username command [arg [arg ...]]",
        transcript: r#"
> ACL SETUSER alice on nopass +@string +config|get ~a:* %R~r:* &news
OK
> ACL DRYRUN alice SET a:1 x
OK
> ACL DRYRUN alice GET r:1
OK
> ACL DRYRUN alice CONFIG GET maxmemory
OK
> ACL DRYRUN alice GET
(error) ERR wrong number of arguments for 'get' command
> ACL DRYRUN nobody GET a:1
(error) ERR User 'nobody' not found
> ACL DRYRUN alice NOSUCH a:1
(error) ERR Command 'NOSUCH' not found
# only: redis>=7.2
> ACL DRYRUN alice SET r:1 x
"User alice has no permissions to access the 'r:1' key"
> ACL DRYRUN alice MGET a:1 b
"User alice has no permissions to access the 'b' key"
> ACL DRYRUN alice CONFIG SET maxmemory 1
"User alice has no permissions to run the 'config|set' command"
> ACL SETUSER alice +publish
OK
> ACL DRYRUN alice PUBLISH news x
OK
> ACL DRYRUN alice PUBLISH other x
"User alice has no permissions to access the 'other' channel"
# reset
> ACL DELUSER alice
...
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let engine = call.engine;
    let Some(user) = engine.acl.user(&args[2]) else {
        let name = carry(&args[2]);
        return Err(Fail::new(format!("ERR User '{name}' not found")));
    };
    let argv = args.to_slices(3);
    let Some(id) = find(engine, &args[3], args.get(4)) else {
        let name = carry(&args[3]);
        return Err(Fail::new(format!("ERR Command '{name}' not found")));
    };
    let row = engine.table.get(id).row;
    if !row.arity_fits(argv.len()) {
        return Err(Fail::arity(row.name));
    }
    match check(&engine.table, &user, id, argv.as_slice()) {
        Ok(()) => reply.ok(),
        Err(denied) => {
            let value = argv.get(denied.arg).copied().unwrap_or_default();
            reply.bulk(carried(&denied.full_text(&user, row, value)));
        }
    }
    Ok(())
}
