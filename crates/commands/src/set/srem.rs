//! SREM: <https://redis.io/docs/latest/commands/srem/>

use data::packed::Item;
use data::set::{self, Set};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SREM: DataCommand = DataCommand {
    row: Row {
        name: "srem",
        group: Group::Set,
        arity: -3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        history: &[("2.4.0", "Accepts multiple `member` arguments.")],
        complexity: "O(N) where N is the number of members to be removed.",
        summary: "Removes members from a set, which is deleted when it becomes empty.",
        syntax: "SREM key member [member ...]",
        transcript: r#"
> SADD s 1 2 3 a
(integer) 4
> SREM s 2 a b
(integer) 2
> SCARD s
(integer) 2
> SREM s 3 1 1
(integer) 2
> EXISTS s
(integer) 0
> SREM s 1
(integer) 0
> SET t text
OK
> SREM t a
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.first_key(&args[1]);
    let Some(mut e) = db.write_as(key, Kind::Set)? else {
        reply.int(0);
        return Ok(());
    };
    let mut removed = 0;
    let mut empty = false;
    for member in args.iter_from(2) {
        if set::remove(&mut e, Item::of(member)) {
            removed += 1;
            empty = Set::of(&e).is_empty();
            if empty {
                break;
            }
        }
    }
    if removed > 0 {
        db.event(Class::Set, "srem", key.bytes);
        db.dirty(removed);
    }
    if empty {
        db.remove_empty(key);
    }
    reply.int(removed as i64);
    Ok(())
}
