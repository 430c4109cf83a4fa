//! ACL LIST: <https://redis.io/docs/latest/commands/acl-list/>

use ::acl::file::line;
use commands::Outcome;
use commands::row::Row;
use resp::{Args, Reply};

use super::{ADMIN, BASE, sub};
use engine::{Call, SessionCommand};

pub(super) static LIST: SessionCommand = sub(
    Row {
        name: "acl|list",
        arity: 2,
        flags: ADMIN,
        complexity: "O(N). Where N is the number of configured users.",
        summary: "All users, each as a line of a configuration file.",
        syntax: "ACL LIST",
        transcript: r#"
> ACL LIST
~ 1) "user default on nopass *&* +@all"
# only: redis>=7.2
> ACL SETUSER alice on nopass allkeys +@read -get (%W~w:* +@write)
OK
> ACL LIST
1) "user alice on nopass sanitize-payload ~* resetchannels -@all +@read -get (%W~w:* resetchannels -@all +@write)"
2) "user default on nopass sanitize-payload ~* &* +@all"
# reset
> ACL DELUSER alice
...
"#,
        ..BASE
    },
    |call: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        let users = call.engine.acl.all();
        reply.array(users.len());
        users.iter().for_each(|user| reply.bulk(line(user)));
        Ok(())
    },
);
