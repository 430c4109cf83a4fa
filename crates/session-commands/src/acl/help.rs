//! ACL HELP: <https://redis.io/docs/latest/commands/acl-help/>

use commands::Outcome;
use commands::row::{Flags, Row};
use resp::{Args, Reply};

use super::{BASE, sub};
use engine::{Call, SessionCommand};

pub(super) static HELP: SessionCommand = sub(
    Row {
        name: "acl|help",
        arity: 2,
        flags: Flags::LOADING.or(Flags::STALE).or(Flags::SENTINEL),
        complexity: "O(1)",
        summary: "Shows what ACL can do.",
        syntax: "ACL HELP",
        transcript: r#"
> ACL HELP
~  1) ACL <subcommand> *
...
"#,
        ..BASE
    },
    |_: &mut Call<'_>, _: &mut Args<'_>, reply: &mut Reply<'_>| -> Outcome {
        const LINES: &[&str] = &[
            "CAT [<category>]",
            "    The categories, or the commands of one.",
            "DELUSER <username> [<username> ...]",
            "    Delete users, and close their connections.",
            "DRYRUN <username> <command> [<arg> ...]",
            "    Whether the user might run the command, which is not run.",
            "GENPASS [<bits>]",
            "    A random password, of 256 bits or as many as are asked for.",
            "GETUSER <username>",
            "    What is known of a user.",
            "LIST",
            "    All users, as lines of a configuration file.",
            "LOAD",
            "    Take the users from the ACL file.",
            "LOG [<count> | RESET]",
            "    What was refused lately.",
            "SAVE",
            "    Write the users into the ACL file.",
            "SETUSER <username> <rule> [<rule> ...]",
            "    Make a user, or change one.",
            "USERS",
            "    The names of all users.",
            "WHOAMI",
            "    The user of this connection.",
        ];
        commands::help::write(reply, "ACL", LINES);
        Ok(())
    },
);
