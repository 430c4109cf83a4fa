//! SADD: <https://redis.io/docs/latest/commands/sadd/>

use data::packed::Item;
use data::set::{self, Draft};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SADD: DataCommand = DataCommand {
    row: Row {
        name: "sadd",
        group: Group::Set,
        arity: -3,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::INSERT))],
        history: &[("2.4.0", "Accepts multiple `member` arguments.")],
        complexity: "O(1) for each member, O(log(N)) for an integer in a large set.",
        summary: "Adds members to a set, which is created if it is missing.",
        syntax: "SADD key member [member ...]",
        transcript: r#"
> SADD s 3 1 2
(integer) 3
> SADD s 3 4
(integer) 1
> SMEMBERS s
1) "1"
2) "2"
3) "3"
4) "4"
> SADD s 4
(integer) 0
> SADD twice 1 1 01 +1
(integer) 3
> SET t text
OK
> SADD t a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SADD s
(error) ERR wrong number of arguments for 'sadd' command
# reset
# only: redis>=7.2
> SADD s 3 1 2
(integer) 3
> OBJECT ENCODING s
"intset"
> SADD s a -70000
(integer) 2
> OBJECT ENCODING s
"listpack"
> SMEMBERS s
1) "1"
2) "2"
3) "3"
4) "a"
5) "-70000"
> SADD s 12345678901234567890123456789012345678901234567890123456789012345
(integer) 1
> OBJECT ENCODING s
"hashtable"
> SCARD s
(integer) 6
> SISMEMBER s -70000
(integer) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let limits = super::limits(db);
    let members = args.len() - 2;
    let added = match db.write_as(key, Kind::Set)? {
        Some(mut e) => {
            set::expect(&mut e, members, &limits);
            args.iter_from(2).filter(|m| set::add(&mut e, Item::of(m), &limits)).count()
        }
        None => {
            let encoding = set::encoding_for(Item::of(&args[2]), members, &limits);
            let mut draft = Draft::new(key.bytes, encoding);
            let added = args.iter_from(2).filter(|m| draft.add(Item::of(m), &limits)).count();
            db.create(key, draft.finish());
            added
        }
    };
    if added > 0 {
        db.event(Class::Set, "sadd", key.bytes);
        db.dirty(added as u64);
    }
    reply.int(added as i64);
    Ok(())
}
