//! ACL DELUSER: <https://redis.io/docs/latest/commands/acl-deluser/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{ADMIN, BASE, EVERYWHERE, SECRETS, sub};
use engine::acl::{DEFAULT, change};
use engine::{Call, SessionCommand};

pub(super) static DELUSER: SessionCommand = sub(
    Row {
        name: "acl|deluser",
        arity: -3,
        flags: ADMIN,
        secrets: SECRETS,
        tips: EVERYWHERE,
        complexity: "O(1) amortized time considering the typical user.",
        summary: "Deletes users, and closes their connections.",
        syntax: "ACL DELUSER username [username ...]",
        transcript: r#"
> ACL SETUSER alice
OK
> ACL SETUSER bob
OK
> ACL DELUSER alice bob alice nobody
(integer) 2
# All or nothing.
> ACL SETUSER alice
OK
> ACL DELUSER alice default
(error) ERR The 'default' user cannot be removed
> ACL USERS
1) "alice"
2) "default"
> ACL DELUSER alice
(integer) 1
"#,
        ..BASE
    },
    run,
);

fn run(call: &mut Call<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let names = args.to_slices(2);
    if names.contains(&DEFAULT) {
        return Err(Fail::text("ERR The 'default' user cannot be removed"));
    }
    reply.int(change::delete(call, &names) as i64);
    Ok(())
}
