//! ACL WHOAMI: <https://redis.io/docs/latest/commands/acl-whoami/>

use commands::Outcome;
use commands::row::Row;
use resp::{Args, Reply};

use super::{BASE, COMMON, sub};
use engine::{Call, SessionCommand};

pub(super) static WHOAMI: SessionCommand = sub(
    Row {
        name: "acl|whoami",
        arity: 2,
        flags: COMMON,
        complexity: "O(1)",
        summary: "The user of this connection.",
        syntax: "ACL WHOAMI",
        transcript: r#"
> ACL WHOAMI
"default"
> ACL SETUSER alice on >secret +@connection +acl|whoami
OK
> AUTH alice secret
OK
> ACL WHOAMI
"alice"
> AUTH default any
OK
> ACL DELUSER alice
(integer) 1
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        reply.bulk(call.session.user.name());
        Ok(())
    },
);
