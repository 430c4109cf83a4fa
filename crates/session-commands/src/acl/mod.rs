//! ACL: <https://redis.io/docs/latest/commands/acl/>

mod cat;
mod deluser;
mod dryrun;
mod genpass;
mod getuser;
mod help;
mod list;
mod load;
mod log;
mod save;
mod setuser;
mod users;
mod whoami;

use commands::Fail;
use commands::row::{Flags, Group, Row, Scope, Secrets};
use config::Id;
use engine::Engine;
use engine::{SessionCommand, SessionFn};

pub(crate) static COMMANDS: &[&SessionCommand] = &[&ACL];

static ACL: SessionCommand = SessionCommand {
    row: Row {
        name: "acl",
        arity: -2,
        flags: Flags::SENTINEL,
        complexity: "Depends on subcommand.",
        summary: "Users, and what they may do.",
        subcommands: &[
            &cat::CAT.row,
            &deluser::DELUSER.row,
            &dryrun::DRYRUN.row,
            &genpass::GENPASS.row,
            &getuser::GETUSER.row,
            &help::HELP.row,
            &list::LIST.row,
            &load::LOAD.row,
            &log::LOG.row,
            &save::SAVE.row,
            &setuser::SETUSER.row,
            &users::USERS.row,
            &whoami::WHOAMI.row,
        ],
        ..BASE
    },
    run: engine::container,
    subs: &[
        &cat::CAT,
        &deluser::DELUSER,
        &dryrun::DRYRUN,
        &genpass::GENPASS,
        &getuser::GETUSER,
        &help::HELP,
        &list::LIST,
        &load::LOAD,
        &log::LOG,
        &save::SAVE,
        &setuser::SETUSER,
        &users::USERS,
        &whoami::WHOAMI,
    ],
};

/// The start of every row here.
const BASE: Row = Row { group: Group::Server, since: "6.0.0", scope: Scope::None, ..Row::DEFAULT };

/// Flags of subcommands that any user may call.
const COMMON: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::SENTINEL);
/// Flags of subcommands about other users.
const ADMIN: Flags = COMMON.or(Flags::ADMIN);
/// Everything about a user.
const SECRETS: Option<Secrets> = Some(|_, i| i > 1);
/// The tips for proxies about commands that must reach every node.
const EVERYWHERE: &[&str] = &["request_policy:all_nodes", "response_policy:all_succeeded"];

const fn sub(row: Row, run: SessionFn) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}

/// Refuses a subcommand about the ACL file when there is none.
fn needs_file(engine: &Engine) -> Result<(), Fail> {
    if engine.config.string(Id::Aclfile).is_empty() {
        return Err(Fail::text(
            "ERR This Redis instance is not configured to use an ACL file. You may want to specify \
             users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a \
             Redis configuration file set) in order to store users in the Redis configuration.",
        ));
    }
    Ok(())
}
