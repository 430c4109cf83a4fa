//! LCS: <https://redis.io/docs/latest/commands/lcs/>

use data::lcs;
use resp::{Args, Reply};
use stdx::num::I64_LEN_MAX;
use store::{Db, WrongType};

use crate::command::{DataCommand, Outcome};
use crate::fail::Fail;
use crate::parse;
use crate::row::{Flags, Group, KeyFlags, KeySpec, Row, Traits};

pub(crate) static LCS: DataCommand = DataCommand {
    row: Row {
        name: "lcs",
        group: Group::String,
        since: "7.0.0",
        arity: -3,
        traits: Traits::ESTIMATES_ITSELF,
        flags: Flags::READONLY,
        keys: &[KeySpec::range(1, 1, 1, KeyFlags::RO.or(KeyFlags::ACCESS))],
        complexity: "O(N*M) where N and M are the lengths of the two strings.",
        summary: "Finds the longest common subsequence of two string values.",
        syntax: "LCS key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
        transcript: r#"
> MSET a ohmytext b mynewtext
OK
> LCS a b
"mytext"
> LCS a b LEN
(integer) 6
> LCS a b IDX
1) "matches"
2) 1) 1) 1) (integer) 4
         2) (integer) 7
      2) 1) (integer) 5
         2) (integer) 8
   2) 1) 1) (integer) 2
         2) (integer) 3
      2) 1) (integer) 0
         2) (integer) 1
3) "len"
4) (integer) 6
> LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN
1) "matches"
2) 1) 1) 1) (integer) 4
         2) (integer) 7
      2) 1) (integer) 5
         2) (integer) 8
      3) (integer) 4
3) "len"
4) (integer) 6
> LCS a nothing
""
> LCS a nothing IDX
1) "matches"
2) (empty array)
3) "len"
4) (integer) 0
> LCS a b LEN IDX
(error) ERR If you want both the length and indexes, please just use IDX.
> LCS a b MINMATCHLEN
(error) ERR syntax error
> LCS a b MINMATCHLEN x
(error) ERR value is not an integer or out of range
> LCS a b MINMATCHLEN -5 LEN
(integer) 6
# reset
# resp: 3
> MSET a abc b bc
OK
> LCS a b IDX
1# "matches" =>
   1) 1) 1) (integer) 1
         2) (integer) 2
      2) 1) (integer) 0
         2) (integer) 1
2# "len" => (integer) 2
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    // Both are copied: a view lends one entry at a time, and the comparison costs far more.
    let copy = |db: &mut Db<'_>, name: &[u8]| {
        let key = db.key(name);
        let found = db.read_str(key).map_err(|WrongType| NOT_STRINGS)?;
        Ok(found.map(|e| super::bytes(&e, &mut [0; I64_LEN_MAX]).to_vec()).unwrap_or_default())
    };
    let (a, b): (Result<_, Fail>, Result<_, Fail>) = (copy(db, &args[1]), copy(db, &args[2]));
    let (a, b): (Vec<u8>, Vec<u8>) = (a?, b?);
    let o = options(args)?;
    let bytes_max = db.cx.string_max as u64;
    lcs::check_size(a.len(), b.len(), bytes_max).map_err(refused)?;
    if db.cx.budget.is_exceeded_by(a.len().saturating_mul(b.len()) / CELLS) {
        db.hand_over(2);
        return Ok(());
    }
    if o.len {
        reply.int(lcs::lcs_len(&a, &b).map_err(refused)? as i64);
        return Ok(());
    }
    let found = lcs::lcs(&a, &b, o.match_len_min).map_err(refused)?;
    if o.idx {
        reply.map(2);
        reply.bulk("matches");
        reply.array(found.matches.len());
        for m in &found.matches {
            reply.array(2 + usize::from(o.with_match_len));
            for (first, last) in [m.a, m.b] {
                reply.array(2);
                reply.int(first as i64);
                reply.int(last as i64);
            }
            if o.with_match_len {
                reply.int(m.len() as i64);
            }
        }
        reply.bulk("len");
        reply.int(found.bytes.len() as i64);
    } else {
        reply.bulk(found.bytes);
    }
    Ok(())
}

/// Pairs of bytes that take as long to compare as a byte of a set's members: [`store::Budget`].
const CELLS: usize = 8;

const NOT_STRINGS: Fail = Fail::text("ERR The specified keys must contain string values");
const LEN_AND_IDX: Fail =
    Fail::text("ERR If you want both the length and indexes, please just use IDX.");

fn refused(error: lcs::LcsError) -> Fail {
    Fail::new(format!("ERR {error}"))
}

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    with_match_len: bool,
    match_len_min: u64,
}

fn options(args: &Args<'_>) -> Result<Options, Fail> {
    let mut o = Options::default();
    let mut i = 3;
    while i < args.len() {
        if args.is(i, "idx") {
            o.idx = true;
        } else if args.is(i, "len") {
            o.len = true;
        } else if args.is(i, "withmatchlen") {
            o.with_match_len = true;
        } else if args.is(i, "minmatchlen") && i + 1 < args.len() {
            i += 1;
            o.match_len_min = parse::int(args, i)?.max(0) as u64;
        } else {
            return Err(Fail::SYNTAX);
        }
        i += 1;
    }
    if o.len && o.idx { Err(LEN_AND_IDX) } else { Ok(o) }
}
