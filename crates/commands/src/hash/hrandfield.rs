//! HRANDFIELD: <https://redis.io/docs/latest/commands/hrandfield/>

use std::collections::HashSet;

use resp::{Args, Proto, Reply};
use stdx::rng::Rng;
use store::hash::{self, Value};
use store::packed::Item;
use store::{Db, Entry, Kind};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::{self, int};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static HRANDFIELD: DataCommand = DataCommand {
    row: Row {
        name: "hrandfield",
        group: Group::Hash,
        since: "6.2.0",
        arity: -2,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        tips: &["nondeterministic_output"],
        complexity: "O(N), where N is the number of fields returned.",
        summary: "Returns random fields of a hash.",
        syntax: "HRANDFIELD key [count [WITHVALUES]]",
        transcript: r#"
> HSET user name Ann
(integer) 1
> HRANDFIELD user
"name"
> HRANDFIELD user 5
1) "name"
> HRANDFIELD user -2
1) "name"
2) "name"
> HRANDFIELD user -2 WITHVALUES
1) "name"
2) "Ann"
3) "name"
4) "Ann"
> HRANDFIELD user 0
(empty array)
> HRANDFIELD nobody
(nil)
> HRANDFIELD nobody 3
(empty array)
> HRANDFIELD user ten
(error) ERR value is not an integer or out of range
> HRANDFIELD user 1 VALUES
(error) ERR syntax error
> HRANDFIELD user 1 WITHVALUES x
(error) ERR syntax error
> HRANDFIELD user -9223372036854770000 WITHVALUES
(error) ERR value is out of range
> SET text v
OK
> HRANDFIELD text
(error) WRONGTYPE Operation against a key holding the wrong kind of value
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// The options of one call.
#[derive(Clone, Copy)]
struct Wish {
    /// How many fields; negative: each drawn anew. None: one, not in an array.
    count: Option<i64>,
    values: bool,
}

fn wish(args: &Args<'_>, reply: &mut Reply<'_>) -> Result<Wish, Fail> {
    if args.len() == 2 {
        return Ok(Wish { count: None, values: false });
    }
    let count = int(args, 2)?;
    if count == i64::MIN {
        return Err(Fail::text(
            "ERR value is out of range, value must between -9223372036854775807 and \
             9223372036854775807",
        ));
    }
    let values = args.len() == 4 && args.is(3, "withvalues");
    if args.len() > 3 && !values {
        return Err(Fail::SYNTAX);
    }
    if values && count.unsigned_abs() > i64::MAX as u64 / 2 {
        return Err(Fail::text("ERR value is out of range"));
    }
    if count < 0 {
        parse::repeated(count.unsigned_abs(), reply)?;
    }
    Ok(Wish { count: Some(count), values })
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let wish = wish(args, reply)?;
    let (key, now, budget) = (db.first_key(&args[1]), db.now(), db.cx.budget);
    if let Some(e) = db.read_as(key, Kind::Hash)? {
        let count = wish.count.unwrap_or(1);
        let drawn = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let len = hash::len(&e);
        if budget.is_exceeded(&e, if count < 0 { drawn } else { drawn.min(len) }, len, 1) {
            db.hand_over(1);
            return Ok(());
        }
        if hash::is_over(e.part_deadline(), now) {
            db.expire_fields(key, usize::MAX);
        }
    }
    let mut rng = Rng::from_seed(db.cx.rng.next_u64());
    match db.peek(key) {
        None if wish.count.is_none() => reply.null(),
        None => reply.array(0),
        // The overdue fields could not be removed: writes are paused.
        Some(e) if hash::is_over(e.part_deadline(), now) => {
            draw_living(&e, now, wish, &mut rng, reply);
        }
        Some(e) => draw(&e, wish, &mut rng, reply),
    }
    Ok(())
}

/// Draws from a hash without overdue fields.
fn draw(e: &Entry, wish: Wish, rng: &mut Rng, reply: &mut Reply<'_>) {
    let n = hash::len(e);
    let mut below = |n: usize| rng.index(n);
    let Some(count) = wish.count else {
        match hash::random(e, &mut below) {
            Some((field, _)) => super::reply_name(field, reply),
            None => reply.null(),
        }
        return;
    };
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 {
        header(wanted, wish, reply);
        reply.repeat(wanted, |reply| {
            if let Some((field, value)) = hash::random(e, &mut below) {
                pair(field, value, wish, reply);
            }
        });
        return;
    }
    let wanted = wanted.min(n);
    header(wanted, wish, reply);
    if wanted < n / 3 && e.run().is_none() {
        // Few of many: fields are drawn until there are enough different ones.
        let mut drawn = HashSet::with_capacity(wanted);
        while drawn.len() < wanted
            && let Some((field, value)) = hash::random(e, &mut below)
        {
            let Item::Bytes(name) = field else { continue };
            if drawn.insert(name) {
                pair(field, value, wish, reply);
            }
        }
        return;
    }
    // Each field is taken with the chance that remains for it, in the order of the hash.
    let (mut left, mut open) = (n, wanted);
    hash::for_each(e, |field, value, _| {
        if open > 0 && below(left) < open {
            open -= 1;
            pair(field, value, wish, reply);
        }
        left -= 1;
    });
}

/// Draws from those fields whose time is not over.
#[cold]
fn draw_living(e: &Entry, now: i64, wish: Wish, rng: &mut Rng, reply: &mut Reply<'_>) {
    let mut living = Vec::new();
    hash::for_each(e, |field, value, deadline| {
        if !hash::is_over(deadline, now) {
            living.push((field.to_vec(), value.text(&mut [0; stdx::num::I64_LEN_MAX]).to_vec()));
        }
    });
    let count = wish.count.unwrap_or(1);
    let wanted = if living.is_empty() { 0 } else { count.unsigned_abs() };
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let wanted = if count < 0 { wanted } else { wanted.min(living.len()) };
    match wish.count {
        Some(_) => header(wanted, wish, reply),
        None if wanted == 0 => reply.null(),
        None => {}
    }
    reply.repeat(wanted, |reply| {
        let i = rng.index(living.len());
        pair(Item::Bytes(&living[i].0), Value::Bytes(&living[i].1), wish, reply);
        if count > 0 {
            living.swap_remove(i);
        }
    });
}

/// In RESP3 fields with values are pairs; in RESP2 they follow each other.
fn header(n: usize, wish: Wish, reply: &mut Reply<'_>) {
    reply.array(if wish.values && reply.proto() == Proto::V2 { 2 * n } else { n });
}

fn pair(field: Item<'_>, value: Value<'_>, wish: Wish, reply: &mut Reply<'_>) {
    if wish.values && reply.proto() == Proto::V3 {
        reply.array(2);
    }
    super::reply_name(field, reply);
    if wish.values {
        super::reply_value(value, reply);
    }
}
