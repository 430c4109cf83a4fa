//! DELEX: <https://redis.io/docs/latest/commands/delex/>

use resp::{Args, Reply};
use store::{Class, Db, Kind};

use super::condition::Condition;
use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static DELEX: DataCommand = DataCommand {
    row: Row {
        name: "delex",
        group: Group::String,
        since: "8.4.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        complexity: "O(1) for IFEQ and IFNE, O(N) for IFDEQ and IFDNE where N is the length of the string value.",
        summary: "Deletes a key, if its string value is, or is not, the given one.",
        syntax: "DELEX key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]",
        transcript: r#"
# only: redis>=8.4
> SET lock mine
OK
> DELEX lock IFEQ other
(integer) 0
> DELEX lock IFNE mine
(integer) 0
> DELEX lock IFEQ mine
(integer) 1
> DELEX lock IFEQ mine
(integer) 0
> DELEX lock IFNE mine
(integer) 0
> SET k "Hello world"
OK
> DELEX k IFDEQ 0000000000000000
(integer) 0
> DELEX k IFDNE b6acb9d84a38ff74
(integer) 0
> DELEX k IFDEQ B6ACB9D84A38FF74
(integer) 1
> SET k 12
OK
> DELEX k ifne 13
(integer) 1
> RPUSH l a
(integer) 1
> DELEX l IFEQ a
(error) ERR Key should be of string type if conditions are specified
> DELEX l
(integer) 1
> SET k v
OK
> DELEX k IF v
(error) ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE
> DELEX k IFEQ
(error) ERR wrong number of arguments for 'delex' command
> DELEX k IFEQ v v
(error) ERR wrong number of arguments for 'delex' command
> DELEX k
(integer) 1
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let key = db.key(&args[1]);
    let Some(e) = db.write(key) else {
        reply.int(0);
        return Ok(());
    };
    if args.len() > 2 {
        if args.len() != 4 {
            return Err(Fail::arity("delex"));
        }
        if e.kind() != Kind::String {
            return Err(Fail::text("ERR Key should be of string type if conditions are specified"));
        }
        let condition = Condition::of_option(args, 2)
            .ok_or(Fail::text("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"))?;
        if !condition.holds(&e, args) {
            reply.int(0);
            return Ok(());
        }
    }
    db.delete(key);
    db.rewrite(&[b"DEL", key.bytes]);
    db.changed(key.bytes, Class::Generic, "del");
    reply.int(1);
    Ok(())
}
