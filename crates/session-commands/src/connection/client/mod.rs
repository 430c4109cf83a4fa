//! CLIENT: <https://redis.io/docs/latest/commands/client/>

mod help;
mod id;
mod kill;
mod list;
pub(super) mod name;
mod pause;
mod reply;
mod switch;
mod tracking;
mod unblock;

use commands::row::{Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

pub(crate) static CLIENT: SessionCommand = SessionCommand {
    row: Row {
        name: "client",
        group: Group::Connection,
        since: "2.4.0",
        arity: -2,
        traits: Traits::CONNECTIONS,
        flags: Flags::SENTINEL,
        scope: Scope::None,
        complexity: "Depends on subcommand.",
        summary: "Connections: what they are, and control over them.",
        subcommands: &[
            &tracking::CACHING.row,
            &name::GETNAME.row,
            &tracking::GETREDIR.row,
            &help::HELP.row,
            &id::ID.row,
            &list::INFO.row,
            &kill::KILL.row,
            &list::LIST.row,
            &switch::NO_EVICT.row,
            &switch::NO_TOUCH.row,
            &pause::PAUSE.row,
            &reply::REPLY.row,
            &name::SETINFO.row,
            &name::SETNAME.row,
            &tracking::TRACKING.row,
            &tracking::TRACKINGINFO.row,
            &unblock::UNBLOCK.row,
            &pause::UNPAUSE.row,
        ],
        ..Row::DEFAULT
    },
    run: |_, args, _| Err(usage(args)),
    subs: &[
        &tracking::CACHING,
        &name::GETNAME,
        &tracking::GETREDIR,
        &help::HELP,
        &id::ID,
        &list::INFO,
        &kill::KILL,
        &list::LIST,
        &switch::NO_EVICT,
        &switch::NO_TOUCH,
        &pause::PAUSE,
        &reply::REPLY,
        &name::SETINFO,
        &name::SETNAME,
        &tracking::TRACKING,
        &tracking::TRACKINGINFO,
        &unblock::UNBLOCK,
        &pause::UNPAUSE,
    ],
};

/// The flags that nearly all subcommands have.
const COMMON: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE).or(Flags::SENTINEL);

/// The start of every row here.
const BASE: Row = Row {
    group: Group::Connection,
    flags: COMMON,
    scope: Scope::None,
    complexity: "O(1)",
    ..Row::DEFAULT
};

/// Arguments that no form of the subcommand takes, though their number is within its arity.
#[cold]
pub(crate) fn usage(args: &Args<'_>) -> Fail {
    let word = |i| commands::fail::quoted(args.get(i).map_or(b"", |w| &w[..w.len().min(128)]));
    let sub = word(1);
    Fail::new(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try {} HELP.",
        word(0).to_ascii_uppercase()
    ))
}

/// `true` for ON, `false` for OFF.
fn on_off(args: &Args<'_>, i: usize) -> Result<bool, Fail> {
    if args.is(i, "on") {
        Ok(true)
    } else if args.is(i, "off") {
        Ok(false)
    } else {
        Err(Fail::SYNTAX)
    }
}

/// A subcommand's function, for the tables above.
type Run = fn(&mut Call<'_>, &mut Args<'_>, &mut Reply<'_>) -> Outcome;

/// A subcommand from its row and function.
const fn sub(row: Row, run: Run) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}
