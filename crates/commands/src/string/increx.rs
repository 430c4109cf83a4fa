//! INCREX: <https://redis.io/docs/latest/commands/increx/>

use resp::{Args, Reply};
use stdx::longdouble::LongDouble;
use stdx::num::{I64_LEN_MAX, fmt_i64, parse_i64};
use store::{Class, Content, Db};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse::{TimeUnit, deadline};
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row};

pub(crate) static INCREX: DataCommand = DataCommand {
    row: Row {
        name: "increx",
        group: Group::String,
        since: "8.8.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST),
        keys: &[KeySpec::one(1, KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE))],
        complexity: "O(1)",
        summary: "Adds to the number of a key within bounds, and sets its deadline: a rate limiter in one command.",
        syntax: "INCREX key [BYFLOAT float | BYINT integer] [LBOUND lowerbound:string] [UBOUND upperbound:string] \
                 [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | \
                 PXAT unix-time-milliseconds | PERSIST] [ENX]",
        transcript: r#"
# only: redis>=8.8
> INCREX n
1) (integer) 1
2) (integer) 1
> INCREX n BYINT 5 EX 100
1) (integer) 6
2) (integer) 5
> TTL n
(integer) 100
# The window is not extended while it lasts.
> INCREX n BYINT -2 EX 5000 ENX
1) (integer) 4
2) (integer) -2
> TTL n
(integer) 100
# What would leave the bounds is not done, and changes nothing.
> INCREX n BYINT 5 UBOUND 6 PERSIST
1) (integer) 4
2) (integer) 0
> TTL n
(integer) 100
> INCREX n BYINT 5 UBOUND 6 SATURATE PERSIST
1) (integer) 6
2) (integer) 2
> TTL n
(integer) -1
> INCREX n BYINT 9223372036854775807
1) (integer) 6
2) (integer) 0
> INCREX other LBOUND 5
1) (integer) 0
2) (integer) 0
> EXISTS other
(integer) 0
> INCREX other LBOUND 5 SATURATE
1) (integer) 5
2) (integer) 5
> INCREX f BYFLOAT 2.5
1) "2.5"
2) "2.5"
> INCREX f BYFLOAT 100 UBOUND 42.25 SATURATE
1) "42.25"
2) "39.75"
> INCREX f BYFLOAT -100 LBOUND 0
1) "42.25"
2) "0"
# A moment that has passed.
> INCREX f BYFLOAT 1 PXAT 1
1) "43.25"
2) "1"
> EXISTS f
(integer) 0
> SET n 9223372036854775807
OK
> INCREX n UBOUND -9223372036854775808 SATURATE
(error) ERR applied increment would overflow
> INCREX n BYFLOAT 1 LBOUND inf UBOUND inf SATURATE
(error) ERR applied increment would be Infinity
> INCREX n BYFLOAT inf
(error) ERR increment would produce NaN or Infinity
> INCREX n LBOUND 2 UBOUND 1
(error) ERR LBOUND can't be greater than UBOUND
> INCREX n BYFLOAT 1 LBOUND inf
(error) ERR LBOUND can't be greater than UBOUND
> INCREX n BYINT 1.5
(error) ERR Increment is not an integer or out of range
> INCREX n BYFLOAT x
(error) ERR Increment is not a valid float
> INCREX n UBOUND 1.5
(error) ERR UBOUND is not an integer or out of range
> INCREX n BYFLOAT 1 LBOUND x
(error) ERR LBOUND is not a valid float
> INCREX n ENX
(error) ERR ENX flag requires an expiration
> INCREX n PERSIST ENX
(error) ERR syntax error
> INCREX n EX 10 PX 10
(error) ERR syntax error
> INCREX n BYINT 1 BYFLOAT 1
(error) ERR syntax error
> INCREX n UBOUND
(error) ERR syntax error
> INCREX n EX 0
(error) ERR invalid expire time in 'increx' command
> RPUSH l x
(integer) 1
> INCREX l
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SET text x
OK
> INCREX text
(error) ERR value is not an integer or out of range
> INCREX text BYFLOAT 1
(error) ERR value is not a valid float
# reset
# resp: 3
> INCREX f BYFLOAT 2.5
1) (double) 2.5
2) (double) 2.5
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

/// The arguments, by their positions.
#[derive(Default)]
struct Options {
    by: Option<usize>,
    float: bool,
    lower: Option<usize>,
    upper: Option<usize>,
    saturate: bool,
    time: Option<(TimeUnit, usize)>,
    persist: bool,
    /// The deadline is only set where there is none.
    if_none: bool,
}

impl Options {
    /// Each at most once.
    fn parse(args: &Args<'_>) -> Result<Self, Fail> {
        let mut o = Self::default();
        let mut i = 2;
        while i < args.len() {
            let more = i + 1 < args.len();
            if (args.is(i, "byint") || args.is(i, "byfloat")) && o.by.is_none() && more {
                o.float = args.is(i, "byfloat");
                i += 1;
                o.by = Some(i);
            } else if args.is(i, "lbound") && o.lower.is_none() && more {
                i += 1;
                o.lower = Some(i);
            } else if args.is(i, "ubound") && o.upper.is_none() && more {
                i += 1;
                o.upper = Some(i);
            } else if args.is(i, "saturate") && !o.saturate {
                o.saturate = true;
            } else if args.is(i, "persist") && !o.persist && o.time.is_none() && !o.if_none {
                o.persist = true;
            } else if args.is(i, "enx") && !o.if_none && !o.persist {
                o.if_none = true;
            } else if let Some(unit) = TimeUnit::of_option(args, i)
                && o.time.is_none()
                && !o.persist
                && more
            {
                i += 1;
                o.time = Some((unit, i));
            } else {
                return Err(Fail::SYNTAX);
            }
            i += 1;
        }
        if o.if_none && o.time.is_none() {
            return Err(Fail::text("ERR ENX flag requires an expiration"));
        }
        Ok(o)
    }

    /// The number at one of the positions, called `name` in errors, or the one that stands for its absence.
    fn number<N>(
        args: &Args<'_>,
        at: Option<usize>,
        (name, kind): (&str, &str),
        parse: impl Fn(&[u8]) -> Option<N>,
        absent: N,
    ) -> Result<N, Fail> {
        let Some(at) = at else { return Ok(absent) };
        parse(&args[at]).ok_or_else(|| Fail::new(format!("ERR {name} is not {kind}")))
    }

    /// Increment, lower and upper bound.
    fn numbers<N: PartialOrd>(
        &self,
        args: &Args<'_>,
        kind: &str,
        parse: impl Fn(&[u8]) -> Option<N>,
        [one, least, most]: [N; 3],
    ) -> Result<[N; 3], Fail> {
        let by = Self::number(args, self.by, ("Increment", kind), &parse, one)?;
        let lower = Self::number(args, self.lower, ("LBOUND", kind), &parse, least)?;
        let upper = Self::number(args, self.upper, ("UBOUND", kind), &parse, most)?;
        if lower > upper {
            return Err(Fail::text("ERR LBOUND can't be greater than UBOUND"));
        }
        Ok([by, lower, upper])
    }
}

/// The outcome: the new value and the amount added, or the present value where nothing is done.
enum Sum<N> {
    Done(N, N),
    Declined(N),
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let o = Options::parse(args)?;
    if o.float { floats(db, args, &o, reply) } else { ints(db, args, &o, reply) }
}

fn ints(db: &mut Db<'_>, args: &Args<'_>, o: &Options, reply: &mut Reply<'_>) -> Outcome {
    let kind = "an integer or out of range";
    let [by, lower, upper] = o.numbers(args, kind, parse_i64, [1, i64::MIN, i64::MAX])?;
    let deadline = time(db, args, o)?;
    let key = db.first_key(&args[1]);
    let value = match db.write_str(key)? {
        Some(e) => parse_i64(super::bytes(&e, &mut [0; I64_LEN_MAX])).ok_or(Fail::NOT_INTEGER)?,
        None => 0,
    };
    let (wide, bounds) =
        (i128::from(value) + i128::from(by), i128::from(lower)..=i128::from(upper));
    let sum = if bounds.contains(&wide) {
        Sum::Done(value + by, by)
    } else if o.saturate {
        let new = if wide < i128::from(lower) { lower } else { upper };
        let added = new.checked_sub(value);
        Sum::Done(new, added.ok_or(Fail::text("ERR applied increment would overflow"))?)
    } else {
        Sum::Declined(value)
    };
    reply.array(2);
    match sum {
        Sum::Done(new, added) => {
            let mut buf = [0; I64_LEN_MAX];
            store(db, args, o, deadline, (Some(new), fmt_i64(&mut buf, new)), "incrby");
            reply.int(new);
            reply.int(added);
        }
        Sum::Declined(value) => {
            reply.int(value);
            reply.int(0);
        }
    }
    Ok(())
}

fn floats(db: &mut Db<'_>, args: &Args<'_>, o: &Options, reply: &mut Reply<'_>) -> Outcome {
    let most = LongDouble::largest();
    let zero = LongDouble::from_i64(0);
    let absent = [LongDouble::from_i64(1), -most, most];
    let [by, lower, upper] = o.numbers(args, "a valid float", LongDouble::parse, absent)?;
    let deadline = time(db, args, o)?;
    let key = db.first_key(&args[1]);
    let value = match db.write_str(key)? {
        Some(e) => {
            let text = super::bytes(&e, &mut [0; I64_LEN_MAX]).to_vec();
            LongDouble::parse(&text).ok_or(Fail::NOT_FLOAT)?
        }
        None => zero,
    };
    if value.is_nan_or_inf() || by.is_nan_or_inf() {
        return Err(Fail::text("ERR increment would produce NaN or Infinity"));
    }
    let wide = value + by;
    let sum = if !wide.is_nan_or_inf() && lower <= wide && wide <= upper {
        Sum::Done(wide, by)
    } else if o.saturate {
        let new = if wide < lower { lower } else { upper };
        let added = new + -value;
        if added.is_nan_or_inf() {
            return Err(Fail::text("ERR applied increment would be Infinity"));
        }
        Sum::Done(new, added)
    } else {
        Sum::Declined(value)
    };
    reply.array(2);
    match sum {
        Sum::Done(new, added) => {
            let text = new.to_text();
            store(db, args, o, deadline, (None, &text), "incrbyfloat");
            reply.double_text(&text);
            reply.double_text(&added.to_text());
        }
        Sum::Declined(value) => {
            reply.double_text(&value.to_text());
            reply.double_text(b"0");
        }
    }
    Ok(())
}

/// The deadline that is asked for.
fn time(db: &Db<'_>, args: &Args<'_>, o: &Options) -> Result<Option<i64>, Fail> {
    o.time.map(|(unit, i)| deadline(args, i, unit, db.now(), "increx")).transpose()
}

/// Stores the value, which has been read, and sets the deadline. The journal has both, not the amount added.
fn store(
    db: &mut Db<'_>,
    args: &Args<'_>,
    o: &Options,
    deadline: Option<i64>,
    (int, text): (Option<i64>, &[u8]),
    event: &'static str,
) {
    let key = db.first_key(&args[1]);
    // A sum of floats is kept as text even where it reads as an integer, as INCRBYFLOAT does.
    let content = int.map_or(Content::Bytes(text), Content::Int);
    let before = match db.write_str(key) {
        Ok(Some(mut e)) => {
            let before = e.deadline();
            e.replace_with(|e| e.set(content, before));
            before
        }
        _ => {
            db.add(key, content, None);
            None
        }
    };
    db.changed(key.bytes, Class::String, event);
    match deadline.filter(|_| !(o.if_none && before.is_some())) {
        Some(at) if at <= db.now() => {
            db.delete(key);
            db.rewrite(&[b"DEL", key.bytes]);
            db.event(Class::Generic, "del", key.bytes);
        }
        Some(at) => {
            db.set_deadline(key, Some(at));
            let mut buf = [0; I64_LEN_MAX];
            db.rewrite(&[b"SET", key.bytes, text, b"PXAT", fmt_i64(&mut buf, at)]);
            db.event(Class::Generic, "expire", key.bytes);
        }
        None if o.persist => {
            db.set_deadline(key, None);
            db.rewrite(&[b"SET", key.bytes, text]);
            if before.is_some() {
                db.event(Class::Generic, "persist", key.bytes);
            }
        }
        None => db.rewrite(&[b"SET", key.bytes, text, b"KEEPTTL"]),
    }
}
