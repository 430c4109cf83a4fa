//! XTRIM: <https://redis.io/docs/latest/commands/xtrim/>

use resp::{Args, Reply};
use store::{Class, Db, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static XTRIM: DataCommand = DataCommand {
    row: Row {
        name: "xtrim",
        group: Group::Stream,
        since: "5.0.0",
        arity: -4,
        flags: Flags::WRITE,
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::DELETE))],
        tips: &["nondeterministic_output"],
        history: &[("6.2.0", "Added the `MINID` trimming strategy and the `LIMIT` option.")],
        complexity: "O(N) where N is the number of entries that go, with a very small constant: \
                     most of them go with the node that they are in.",
        summary: "Removes entries from the front of a stream.",
        syntax: "XTRIM key <MAXLEN | MINID> [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED]",
        transcript: r#"
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XADD s 3-0 a 3
"3-0"
> XTRIM s MAXLEN 5
(integer) 0
> XTRIM s MAXLEN 2
(integer) 1
# Whole nodes only, and there is one.
> XTRIM s MAXLEN ~ 1 LIMIT 10
(integer) 0
> XTRIM s MINID = 3
(integer) 1
> XRANGE s - +
1) 1) "3-0"
   2) 1) "a"
      2) "3"
> XTRIM s MAXLEN ~ 0
(integer) 1
# An empty stream stays, and remembers its last ID.
> XLEN s
(integer) 0
> XADD s 2-5 a b
(error) ERR The ID specified in XADD is equal or smaller than the target stream top item
> XTRIM nothing MAXLEN 0
(integer) 0
> XTRIM s MAXLEN 1 LIMIT 1
(error) ERR syntax error, LIMIT cannot be used without the special ~ option
> XTRIM s LIMIT 0
(error) ERR syntax error, XTRIM must be called with a trimming strategy
> XTRIM s MAXLEN x
(error) ERR value is not an integer or out of range
> XTRIM s MAXLEN ~ 1 LIMIT -1
(error) ERR The LIMIT argument must be >= 0.
> XTRIM s SIZE 3
(error) ERR syntax error
> SET k v
OK
> XTRIM k MAXLEN 1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
# reset
# only: redis>=8.2
> XADD s 1-0 a 1
"1-0"
> XADD s 2-0 a 2
"2-0"
> XADD s 3-0 a 3
"3-0"
> XGROUP CREATE s g 0
OK
> XREADGROUP GROUP g c COUNT 2 STREAMS s >
...
> XACK s g 2-0
(integer) 1
# Only what is acknowledged.
> XTRIM s MAXLEN 0 ACKED
(integer) 1
> XRANGE s - +
1) 1) "1-0"
   2) 1) "a"
      2) "1"
2) 1) "3-0"
   2) 1) "a"
      2) "3"
> XTRIM s ACKED MINID 9
(integer) 0
> XADD s DELREF MAXLEN 1 4-0 a 4
"4-0"
> XPENDING s g
1) (integer) 0
2) (nil)
3) (nil)
4) (nil)
> XTRIM s MAXLEN 0 KEEPREF DELREF
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let options = super::trim::parse(db, args, false)?;
    // `parse` requires one of XTRIM.
    let Some(trimming) = options.trimming else { return Err(Fail::SYNTAX) };
    let (key, journal) = (db.first_key(&args[1]), db.cx.effects.observed);
    let Some(mut e) = db.write_as(key, Kind::Stream)? else {
        reply.int(0);
        return Ok(());
    };
    let stream = super::of_mut(e.node_mut())?;
    let gone = trimming.apply(stream);
    let exact = (journal && trimming.approximate).then(|| trimming.exact(stream, gone));
    if gone > 0 {
        db.event(Class::Stream, "xtrim", key.bytes);
        db.dirty(gone);
        if let Some(exact) = exact {
            let mut words: Vec<&[u8]> = vec![b"XTRIM", key.bytes];
            words.extend(exact.iter().map(Vec::as_slice));
            db.rewrite(&words);
        }
    }
    reply.int(gone as i64);
    Ok(())
}
