//! ACL LOAD: <https://redis.io/docs/latest/commands/acl-load/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{ADMIN, BASE, needs_file, sub};
use engine::acl::{change, file};
use engine::{Call, SessionCommand};

pub(super) static LOAD: SessionCommand = sub(
    Row {
        name: "acl|load",
        arity: 2,
        flags: ADMIN,
        complexity: "O(N). Where N is the number of configured users.",
        summary: "Takes the users from the ACL file: all of them, or none if anything is wrong.",
        syntax: "ACL LOAD",
        transcript: r#"
> ACL LOAD
(error) ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        needs_file(call.engine)?;
        let users = file::read(call.engine).map_err(|e| Fail::new(format!("ERR {e}")))?;
        change::replace(call.engine, Some(&mut *call.session), users);
        reply.ok();
        Ok(())
    },
);
