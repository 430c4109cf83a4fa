//! MOVE: <https://redis.io/docs/latest/commands/move/>

use resp::{Args, Reply};
use store::{Class, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::db_index;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static MOVE: DataCommand = DataCommand {
    row: Row {
        name: "move",
        group: Group::Generic,
        arity: 3,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Moves a key to another database.",
        syntax: "MOVE key db",
        transcript: r#"
> SET k v
OK
> MOVE k 1
(integer) 1
> EXISTS k
(integer) 0
> MOVE k 1
(integer) 0
# Nothing is overwritten there.
> SET k w
OK
> MOVE k 1
(integer) 0
> GET k
"w"
> MOVE k 0
(error) ERR source and destination objects are the same
> MOVE k x
(error) ERR value is not an integer or out of range
> MOVE k -1
(error) ERR DB index is out of range
> MOVE k 16
(error) ERR DB index is out of range
> MOVE k 2147483648
(error) ERR value is out of range, value must between -2147483648 and 2147483647
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let (from, to) = (db.index(), db_index(args, 2, db.databases())?);
    if from == to {
        return Err(Fail::SAME_OBJECT);
    }
    let key = db.first_key(&args[1]);
    let mut moved = false;
    if db.write(key).is_some() {
        db.select(to);
        if db.write(key).is_none() {
            db.select(from);
            if let Some(e) = db.take(key) {
                db.select(to);
                db.put(e);
                moved = true;
            }
        }
        db.select(from);
    }
    if moved {
        db.changed(key.bytes, Class::Generic, "move_from");
        db.select(to);
        db.event(Class::Generic, "move_to", key.bytes);
        db.select(from);
    }
    reply.int(moved.into());
    Ok(())
}
