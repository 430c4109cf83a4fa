//! ACL SAVE: <https://redis.io/docs/latest/commands/acl-save/>

use commands::row::Row;
use commands::{Fail, Outcome};
use resp::{Args, Reply};

use super::{ADMIN, BASE, EVERYWHERE, needs_file, sub};
use engine::acl::file;
use engine::{Call, SessionCommand};

pub(super) static SAVE: SessionCommand = sub(
    Row {
        name: "acl|save",
        arity: 2,
        flags: ADMIN,
        tips: EVERYWHERE,
        complexity: "O(N). Where N is the number of configured users.",
        summary: "Writes the users into the ACL file.",
        syntax: "ACL SAVE",
        transcript: r#"
> ACL SAVE
(error) ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        needs_file(call.engine)?;
        if let Err(e) = file::write(call.engine) {
            engine::log!(call.engine.log, Warning, "ACL SAVE failed: {}", e);
            return Err(Fail::text(
                "ERR There was an error trying to save the ACLs. Please check the server logs for \
                 more information",
            ));
        }
        reply.ok();
        Ok(())
    },
);
