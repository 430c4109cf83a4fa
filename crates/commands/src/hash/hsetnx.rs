//! HSETNX: <https://redis.io/docs/latest/commands/hsetnx/>

use resp::{Args, Reply};
use store::hash::{self, Value};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HSETNX: DataCommand = DataCommand {
    row: Row {
        name: "hsetnx",
        group: Group::Hash,
        since: "2.0.0",
        arity: 4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        complexity: "O(1)",
        summary: "Sets a field of a hash to a value unless it is there.",
        syntax: "HSETNX key field value",
        transcript: r#"
> HSETNX user name Ann
(integer) 1
> HSETNX user name Bob
(integer) 0
> HGET user name
"Ann"
> SET text v
OK
> HSETNX text f v
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    super::lapse_for_write(db, key, args.iter_from(2).take(1))?;
    let limits = super::limits(db);
    let mut e = match db.write_as(key, Kind::Hash)? {
        Some(e) => e,
        None => db.create_run(key, Kind::Hash),
    };
    if hash::get(&e, &args[2]).is_some() {
        reply.int(0);
        return Ok(());
    }
    hash::set(&mut e, &args[2], &Value::Bytes(&args[3]), false, limits);
    db.changed(key.bytes, Class::Hash, "hset");
    reply.int(1);
    Ok(())
}
