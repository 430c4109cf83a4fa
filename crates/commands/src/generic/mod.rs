//! Commands of keys, whatever their type.

mod copy;
mod dbsize;
mod deadline;
mod del;
mod dump;
mod exists;
mod expire;
mod expireat;
mod expiretime;
mod flushall;
mod flushdb;
mod keys;
mod r#move;
mod object;
pub(crate) mod pattern;
mod persist;
mod pexpire;
mod pexpireat;
mod pexpiretime;
mod pttl;
mod randomkey;
mod rename;
mod renamenx;
pub(crate) mod restore;
mod restore_asking;
pub(crate) mod scan;
mod sort;
mod sort_ro;
mod sorting;
mod swapdb;
mod touch;
mod ttl;
mod r#type;
mod unlink;

use resp::Args;
use store::{Class, Db, Key};

use crate::command::DataCommand;
use crate::fail::Fail;

pub(crate) static COMMANDS: &[&DataCommand] = &[
    &copy::COPY,
    &dbsize::DBSIZE,
    &del::DEL,
    &dump::DUMP,
    &exists::EXISTS,
    &expire::EXPIRE,
    &expireat::EXPIREAT,
    &expiretime::EXPIRETIME,
    &flushall::FLUSHALL,
    &flushdb::FLUSHDB,
    &keys::KEYS,
    &r#move::MOVE,
    &object::OBJECT,
    &persist::PERSIST,
    &pexpire::PEXPIRE,
    &pexpireat::PEXPIREAT,
    &pexpiretime::PEXPIRETIME,
    &pttl::PTTL,
    &randomkey::RANDOMKEY,
    &rename::RENAME,
    &renamenx::RENAMENX,
    &restore::RESTORE,
    &restore_asking::RESTORE_ASKING,
    &scan::SCAN,
    &sort::SORT,
    &sort_ro::SORT_RO,
    &swapdb::SWAPDB,
    &touch::TOUCH,
    &ttl::TTL,
    &r#type::TYPE,
    &unlink::UNLINK,
];

/// Removes a value that another one takes the place of: no effect of its own.
fn displace(db: &mut Db<'_>, key: Key<'_>) {
    if db.cx.lazy_server_del {
        db.unlink(key);
    } else {
        drop(db.take(key));
    }
}

/// RENAME and RENAMENX: whether the key has its new name. With `replace`, whatever is there goes;
/// without, nothing happens when something is.
fn rename_key(db: &mut Db<'_>, args: &Args<'_>, replace: bool) -> Result<bool, Fail> {
    let (from, to) = (db.key(&args[1]), db.key(&args[2]));
    if db.write(from).is_none() {
        return Err(Fail::NO_SUCH_KEY);
    }
    if from.bytes == to.bytes {
        return Ok(false);
    }
    if db.write(to).is_some() {
        if !replace {
            return Ok(false);
        }
        displace(db, to);
    }
    let e = db.take(from).ok_or(Fail::NO_SUCH_KEY)?;
    db.put(e.rename(to.bytes));
    db.changed(from.bytes, Class::Generic, "rename_from");
    db.event(Class::Generic, "rename_to", to.bytes);
    Ok(true)
}

/// Whether FLUSHDB or FLUSHALL frees in the background.
fn flush_lazily(db: &Db<'_>, args: &Args<'_>) -> Result<bool, Fail> {
    match args.len() {
        1 => Ok(db.cx.lazy_user_flush),
        2 if args.is(1, "async") => Ok(true),
        2 if args.is(1, "sync") => Ok(false),
        _ => Err(Fail::SYNTAX),
    }
}
