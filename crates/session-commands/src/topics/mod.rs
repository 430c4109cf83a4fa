//! TOPIC.*: the commands over the event log.

mod append;
mod manage;
mod read;

use commands::Fail;
use commands::row::{Acl, Flags, Group, KeyFlags, KeySpec, Row, Scope};
use engine::{SessionCommand, SessionFn};
use resp::Args;

pub(crate) static COMMANDS: &[&SessionCommand] = &[
    &append::APPEND,
    &manage::COMMIT,
    &manage::COMMITTED,
    &manage::CREATE,
    &manage::DELETE,
    &manage::GROUPS,
    &manage::INFO,
    &manage::LIST,
    &manage::SET,
    &read::READ,
];

/// The common part of the commands' rows. Their transcripts show only commands that are refused at once. The log
/// answers from threads of its own, and no thread that has shards locked may wait for those.
const BASE: Row = Row {
    group: Group::Topic,
    since: "7.4.0",
    flags: Flags::NOSCRIPT.or(Flags::NO_MULTI),
    scope: Scope::None,
    ..Row::DEFAULT
};

/// A row that reads the topic in argument 1. Topics are named like keys, so that key patterns of access
/// control hold for them: docs/acl.md.
const READS: Row =
    Row { acl: Acl::READ, keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))], ..BASE };

/// A row that adds to the topic in argument 1.
const APPENDS: Row =
    Row { acl: Acl::WRITE, keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))], ..BASE };

/// A row that changes the topic in argument 1, or the data kept with it.
const CHANGES: Row =
    Row { acl: Acl::WRITE, keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))], ..BASE };

/// A row that deletes the topic in argument 1.
const DELETES: Row = Row {
    acl: Acl::WRITE.or(Acl::DANGEROUS),
    keys: &[KeySpec::one(1, KeyFlags::RM.or(KeyFlags::DELETE))],
    ..BASE
};

/// A command without subcommands.
const fn command(row: Row, run: SessionFn) -> SessionCommand {
    SessionCommand { row, run, subs: &[] }
}

/// The name of a topic or a group in argument `i`.
fn name(args: &Args<'_>, i: usize) -> Result<String, Fail> {
    let name = args.get(i).and_then(|n| std::str::from_utf8(n).ok()).unwrap_or("");
    match ::log::check_name("topic or group", name) {
        Ok(()) => Ok(name.to_owned()),
        Err(e) => Err(crate::pending_reply::fail(&e)),
    }
}
