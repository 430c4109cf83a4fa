//! HSET: <https://redis.io/docs/latest/commands/hset/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static HSET: DataCommand = DataCommand {
    row: Row {
        name: "hset",
        group: Group::Hash,
        since: "2.0.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::UPDATE))],
        history: &[("4.0.0", "Accepts multiple `field` and `value` arguments.")],
        complexity: "O(1) for each field.",
        summary: "Sets fields of a hash to values, and returns how many of them were new.",
        syntax: "HSET key field value [field value ...]",
        transcript: r#"
> HSET user name Ann age 41
(integer) 2
> HSET user name Anna city Rome
(integer) 1
> HGETALL user
1) "name"
2) "Anna"
3) "age"
4) "41"
5) "city"
6) "Rome"
# A field named twice has the last of its values.
> HSET user age 1 age 2
(integer) 0
> HGET user age
"2"
> HSET user name
(error) ERR wrong number of arguments for 'hset' command
> HSET user name Ann age
(error) ERR wrong number of arguments for 'hset' command
> SET text v
OK
> HSET text f v
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> OBJECT ENCODING user
"listpack"
> HSET user 12345678901234567890123456789012345678901234567890123456789012345 x
(integer) 1
> OBJECT ENCODING user
"hashtable"
> HGET user name
"Anna"
# reset
# only: redis>=7.4
# A new value has no deadline.
> HSET user name Ann
(integer) 1
> HEXPIRE user 100 FIELDS 1 name
1) (integer) 1
> HSET user name Anna
(integer) 0
> HTTL user FIELDS 1 name
1) (integer) -1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let created = super::set_pairs(db, args, "hset")?;
    reply.int(created as i64);
    Ok(())
}
