//! SMOVE: <https://redis.io/docs/latest/commands/smove/>

use data::packed::Item;
use data::set::{self, Draft, Set};
use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static SMOVE: DataCommand = DataCommand {
    row: Row {
        name: "smove",
        group: Group::Set,
        arity: 4,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[
            KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE)),
            KeySpec::one(2, KeyFlags::RW.or(KeyFlags::INSERT)),
        ],
        complexity: "O(1), O(log(N)) for an integer.",
        summary: "Moves a member from one set to another.",
        syntax: "SMOVE source destination member",
        transcript: r#"
> SADD a 1 2 x
(integer) 3
> SADD b 2
(integer) 1
> SMOVE a b 1
(integer) 1
> SMEMBERS b
1) "1"
2) "2"
> SMOVE a b 7
(integer) 0
# It is in both: it only goes from the first.
> SMOVE a b 2
(integer) 1
> SCARD b
(integer) 2
> SMOVE a new x
(integer) 1
> EXISTS a
(integer) 0
> SMEMBERS new
1) "x"
> SMOVE new new x
(integer) 1
> SMOVE new new y
(integer) 0
> SMOVE nothing b x
(integer) 0
> SET t text
OK
> SMOVE nothing t x
(integer) 0
> SMOVE b t 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SMOVE t b 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (db.first_key(&args[1]), db.key(&args[2]));
    let item = Item::of(&args[3]);
    let limits = super::limits(db);
    // A missing source hides a destination of another type.
    let Some(source) = db.write(from) else {
        db.write(to);
        reply.int(0);
        return Ok(());
    };
    let wrong = source.kind() != Kind::Set;
    if wrong {
        return Err(crate::Fail::WRONG_TYPE);
    }
    db.write_as(to, Kind::Set)?;
    let Some(mut source) = db.peek(from) else {
        reply.int(0);
        return Ok(());
    };
    if from.bytes == to.bytes {
        reply.int(Set::of(&source).contains(item).into());
        return Ok(());
    }
    if !set::remove(&mut source, item) {
        reply.int(0);
        return Ok(());
    }
    let empty = Set::of(&source).is_empty();
    db.changed(from.bytes, Class::Set, "srem");
    if empty {
        db.remove_empty(from);
    }
    let added = match db.peek(to) {
        Some(mut e) => set::add(&mut e, item, &limits),
        None => {
            let mut draft = Draft::new(to.bytes, set::encoding_for(item, 1, &limits));
            draft.add(item, &limits);
            db.create(to, draft.finish());
            true
        }
    };
    if added {
        db.changed(to.bytes, Class::Set, "sadd");
    }
    reply.int(1);
    Ok(())
}
