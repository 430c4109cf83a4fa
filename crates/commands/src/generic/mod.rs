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
pub(crate) mod keys;
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

use std::ops::Range;

use resp::{Args, Reply};
use store::{Block, Class, Db, Empty, Flush, Kind};

use crate::command::{DataCommand, Outcome};
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

/// RENAME and RENAMENX: whether the key has its new name. With `replace`, a present destination is
/// deleted; without, a present destination prevents the renaming.
fn rename_key(db: &mut Db<'_>, args: &Args<'_>, replace: bool) -> Result<bool, Fail> {
    let (from, to) = (db.first_key(&args[1]), db.key(&args[2]));
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
        db.displace(to);
    }
    let e = db.take(from).ok_or(Fail::NO_SUCH_KEY)?;
    db.put(e.rename(to.bytes));
    db.changed(from.bytes, Class::Generic, "rename_from");
    db.event(Class::Generic, "rename_to", to.bytes);
    Ok(true)
}

/// FLUSHALL and FLUSHDB: empties `databases`. Without ASYNC the client waits until their memory is
/// free, but no other client does: large data is freed elsewhere. In a transaction or a script,
/// where nothing may wait, it is freed here.
fn flush(
    db: &mut Db<'_>,
    args: &Args<'_>,
    databases: Range<usize>,
    reply: &mut Reply<'_>,
) -> Outcome {
    let lazily = match args.len() {
        1 => db.cx.lazy_user_flush,
        2 if args.is(1, "async") => true,
        2 if args.is(1, "sync") => false,
        _ => return Err(Fail::SYNTAX),
    };
    let selected = db.index();
    let mut all = 0;
    for index in databases {
        db.select(index);
        let how = match lazily {
            true => Flush::Lazily,
            false if db.cx.may_block && db.is_laborious() => Flush::Apart,
            false => Flush::Now,
        };
        let n = db.flush(how);
        db.dirty(n as u64);
        all += n;
    }
    db.select(selected);
    if all == 0 && db.cx.effects.observed {
        // A replica may have other keys: it is told in any case, as by Redis.
        let words: Vec<&[u8]> = args.iter_from(0).collect();
        db.rewrite(&words);
    }
    if db.cx.apart.is_empty() {
        reply.ok();
    } else {
        let (keys, kind, deadline, args) = (Vec::new(), Kind::String, None, None);
        db.cx.block = Some(Block { args, ..Block::new(keys, kind, deadline, Empty::Ok) });
    }
    Ok(())
}
