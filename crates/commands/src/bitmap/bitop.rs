//! BITOP: <https://redis.io/docs/latest/commands/bitop/>

use std::sync::Arc;

use data::bits::{BitOp, bitop};
use resp::{Args, Reply};
use store::{Class, Db, Str, Ttl};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static BITOP: DataCommand = DataCommand {
    row: Row {
        name: "bitop",
        group: Group::Bitmap,
        since: "2.6.0",
        arity: -4,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        keys: &[
            KeySpec::one(2, KeyFlags::OW.or(KeyFlags::UPDATE)),
            KeySpec::range(3, -1, 1, KeyFlags::RO.or(KeyFlags::ACCESS)),
        ],
        history: &[("8.2.0", "Added the `DIFF`, `DIFF1`, `ANDOR` and `ONE` operations.")],
        complexity: "O(N) where N is the total length of the strings.",
        summary: "Combines strings bit by bit and stores the result.",
        syntax: "BITOP <AND | OR | XOR | NOT | DIFF | DIFF1 | ANDOR | ONE> destkey key [key ...]",
        transcript: r#"
> SET a abcdef
OK
> SET b foobar
OK
> BITOP AND d a b
(integer) 6
> GET d
"`bc`ab"
> BITOP or d a b
(integer) 6
> GET d
"goofev"
> BITOP XOR d a b
(integer) 6
> GET d
"\a\r\x0c\x06\x04\x14"
> SET x "\xaa\x00\xff\x55"
OK
> BITOP NOT d x
(integer) 4
> GET d
"U\xff\x00\xaa"
> SET long "\x01\x02\xff\xff"
OK
> SET short "\x01\x02\xff"
OK
> BITOP AND d long short
(integer) 4
> GET d
"\x01\x02\xff\x00"
> BITOP OR short long short nothing
(integer) 4
> GET short
"\x01\x02\xff\xff"
> SET n 1
OK
> SET m 2
OK
> BITOP OR d n m
(integer) 1
> GET d
"3"
> OBJECT ENCODING d
"raw"
> EXPIRE d 100
(integer) 1
> BITOP OR d n
(integer) 1
> TTL d
(integer) -1
> BITOP NOT d nothing
(integer) 0
> EXISTS d
(integer) 0
> BITOP NOT d a b
(error) ERR BITOP NOT must be called with a single source key.
> BITOP NAND d a b
(error) ERR syntax error
> BITOP AND d
(error) ERR wrong number of arguments for 'bitop' command
# reset
> SET a abcdef
OK
> RPUSH l a
(integer) 1
> BITOP XOR d a l
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> BITOP OR l a
(integer) 6
> TYPE l
string
# reset
# only: redis>=8.2
> SET p "\x0c\x01"
OK
> SET q "\x0a"
OK
> SET r "\x09"
OK
> BITOP DIFF d p q r
(integer) 2
> GET d
"\x04\x01"
> BITOP DIFF1 d p q r
(integer) 2
> GET d
"\x03\x00"
> BITOP ANDOR d p q r
(integer) 2
> GET d
"\b\x00"
> BITOP ONE d p q r
(integer) 2
> GET d
"\a\x01"
> BITOP ONE d p
(integer) 2
> BITOP diff d p
(error) ERR BITOP DIFF must be called with at least two source keys.
> BITOP DIFF1 d p
(error) ERR BITOP DIFF1 must be called with at least two source keys.
> BITOP ANDOR d p
(error) ERR BITOP ANDOR must be called with at least two source keys.
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn operation(args: &Args<'_>) -> Result<BitOp, Fail> {
    [
        ("and", BitOp::And),
        ("or", BitOp::Or),
        ("xor", BitOp::Xor),
        ("not", BitOp::Not),
        ("diff", BitOp::Diff),
        ("diff1", BitOp::Diff1),
        ("andor", BitOp::AndOr),
        ("one", BitOp::One),
    ]
    .into_iter()
    .find_map(|(word, op)| args.is(1, word).then_some(op))
    .ok_or(Fail::SYNTAX)
}

/// Why the number of sources does not fit.
#[cold]
fn refuse(op: BitOp) -> Fail {
    match op {
        BitOp::Diff => Fail::text("ERR BITOP DIFF must be called with at least two source keys."),
        BitOp::Diff1 => Fail::text("ERR BITOP DIFF1 must be called with at least two source keys."),
        BitOp::AndOr => Fail::text("ERR BITOP ANDOR must be called with at least two source keys."),
        BitOp::Not => Fail::text("ERR BITOP NOT must be called with a single source key."),
        // The arity rules these out.
        BitOp::And | BitOp::Or | BitOp::Xor | BitOp::One => Fail::arity("bitop"),
    }
}

/// One source, kept while the next is looked up: a short one as a copy.
enum Source {
    Absent,
    Copied(Vec<u8>),
    Held(Arc<Vec<u8>>),
}

impl Source {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Absent => &[],
            Self::Copied(bytes) => bytes,
            Self::Held(bytes) => bytes,
        }
    }
}

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    let op = operation(args)?;
    if !op.takes(args.len().saturating_sub(3)) {
        return Err(refuse(op));
    }
    let mut sources = Vec::with_capacity(args.len() - 3);
    for name in args.iter_from(3) {
        let key = db.key(name);
        sources.push(match db.read_str(key)? {
            None => Source::Absent,
            Some(e) => match e.str() {
                Str::Inline(b) => Source::Copied(b.to_vec()),
                Str::Int(n) => Source::Copied(n.to_string().into_bytes()),
                Str::Shared(s) => Source::Held(Arc::clone(s)),
            },
        });
    }
    let slices: Vec<&[u8]> = sources.iter().map(Source::bytes).collect();
    let result = bitop(op, &slices);
    let len = result.len();
    let key = db.key(&args[2]);
    if len > 0 {
        super::store_raw(db, key, result, Ttl::Clear);
        db.changed(key.bytes, Class::String, "set");
    } else if db.delete(key) {
        db.changed(key.bytes, Class::Generic, "del");
    }
    reply.int(len as i64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use resp::{Out, Proto, Span};
    use store::{Context, Keyspace};

    /// The words and the refusals of Redis 8.2's operations, which transcripts for 7.4 pass over.
    #[test]
    fn newer_operations() {
        let keyspace = Keyspace::new(1, 0);
        let mut cx = Context::new(0, stdx::rng::Rng::from_seed(1));
        let mut db = Db::lock_all(&keyspace, 0, &mut cx);
        // As integers: their bytes are 0x30, 0x31 and 0x32.
        for (name, n) in [(b"a", 0), (b"b", 1), (b"c", 2)] {
            let key = db.key(name);
            db.set(key, store::Content::Int(n), Ttl::Clear);
        }
        let mut call = |words: &[&[u8]]| {
            let mut owned: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
            let spans: Vec<Span> = (0..words.len()).map(Span::owned).collect();
            let mut out = Out::default();
            let outcome = run(
                &mut db,
                &mut Args::new(&[], &spans, &mut owned),
                &mut Reply::new(&mut out, Proto::V2),
            );
            let key = db.key(b"d");
            let stored = db.read(key).map(|e| super::super::with_bytes(&e, <[u8]>::to_vec));
            outcome.map(|()| stored.unwrap_or_default())
        };
        for (word, expected) in [("DIFF", 0x00), ("diff1", 0x03), ("AndOr", 0x30), ("one", 0x03)] {
            let stored = call(&[b"bitop", word.as_bytes(), b"d", b"a", b"b", b"c"]);
            assert_eq!(stored, Ok(vec![expected]), "{word}");
        }
        for word in ["DIFF", "DIFF1", "ANDOR"] {
            let refused = call(&[b"bitop", word.to_ascii_lowercase().as_bytes(), b"d", b"a"]);
            let text = format!("ERR BITOP {word} must be called with at least two source keys.");
            assert_eq!(refused.map_err(|fail| fail.0.into_owned()), Err(text));
        }
        assert!(call(&[b"bitop", b"one", b"d", b"a"]).is_ok());
    }
}
