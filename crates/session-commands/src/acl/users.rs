//! ACL USERS: <https://redis.io/docs/latest/commands/acl-users/>

use commands::Outcome;
use commands::row::Row;
use resp::{Args, Reply};

use super::{ADMIN, BASE, sub};
use engine::{Call, SessionCommand};

pub(super) static USERS: SessionCommand = sub(
    Row {
        name: "acl|users",
        arity: 2,
        flags: ADMIN,
        complexity: "O(N). Where N is the number of configured users.",
        summary: "The names of all users.",
        syntax: "ACL USERS",
        transcript: r#"
> ACL USERS
1) "default"
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let users = call.engine.acl.all();
        reply.array(users.len());
        users.iter().for_each(|user| reply.bulk(user.name()));
        Ok(())
    },
);
