//! SORT: <https://redis.io/docs/latest/commands/sort/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Acl, Flags, Group, KeyFlags, KeySpec, Row, Scope, Traits};

pub(crate) static SORT: DataCommand = DataCommand {
    row: Row {
        name: "sort",
        group: Group::Generic,
        since: "1.0.0",
        arity: -2,
        flags: Flags::WRITE.or(Flags::DENYOOM),
        traits: Traits::COST_OF_VALUES,
        acl: Acl::NO_GROUP.or(Acl::SET).or(Acl::SORTEDSET).or(Acl::LIST).or(Acl::DANGEROUS),
        keys: &[
            KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
            KeySpec::unknown(KeyFlags::RO.or(KeyFlags::ACCESS)).notes(
                "For the optional BY/GET keyword. It is marked 'unknown' because the key names \
                 derive from the content of the key we sort",
            ),
            KeySpec::unknown(KeyFlags::OW.or(KeyFlags::UPDATE)).notes(
                "For the optional STORE keyword. It is marked 'unknown' because the keyword can \
                 appear anywhere in the argument array",
            ),
        ],
        get_keys: Some(super::sorting::sort_keys),
        scope: Scope::Patterns,
        complexity: "O(N+M*log(M)) where N is the number of elements and M is the number of \
                     elements returned. BY and GET hold up all other writers meanwhile.",
        summary: "Sorts the elements of a list, a set or a sorted set, and optionally stores them.",
        syntax: "SORT key [BY by-pattern#1] [LIMIT offset count] \
                 [GET get-pattern#1 [GET get-pattern#1 ...]] [ASC | DESC] [ALPHA] \
                 [STORE destination#2]",
        transcript: r#"
> RPUSH l 3 1 10 2
(integer) 4
> SORT l
1) "1"
2) "2"
3) "3"
4) "10"
> SORT l DESC LIMIT 1 2
1) "3"
2) "2"
> SORT l ALPHA
1) "1"
2) "10"
3) "2"
4) "3"
# As text, an element ends at its first zero byte; what is the same up to there stays as it was.
> RPUSH m a "\x00b" ""
(integer) 3
> SORT m ALPHA
1) "\x00b"
2) ""
3) "a"
> MSET w_1 4 w_2 3 w_3 2 w_10 1
OK
> SORT l BY w_*
1) "10"
2) "3"
3) "2"
4) "1"
> SORT l BY w_* GET # GET w_* GET nothing_* LIMIT 0 2
1) "10"
2) "1"
3) (nil)
4) "3"
5) "2"
6) (nil)
> HSET h_1 f x
(integer) 1
> SORT l GET h_*->f LIMIT 0 2
1) "x"
2) (nil)
# A pattern without * leaves the order as it is.
> SORT l BY nosort
1) "3"
2) "1"
3) "10"
4) "2"
> SORT l BY nosort DESC LIMIT 0 1
1) "2"
> SADD s b a c
(integer) 3
> SORT s ALPHA DESC
1) "c"
2) "b"
3) "a"
> SORT s
(error) ERR One or more scores can't be converted into double
> SORT nothing
(empty array)
> SORT w_1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SORT l LIMIT x 1
(error) ERR value is not an integer or out of range
> SORT l LIMIT 1
(error) ERR syntax error
> SORT l BY
(error) ERR syntax error
> SORT l BY w_* GET # GET nothing_* STORE d
(integer) 8
> LRANGE d 0 3
1) "10"
2) ""
3) "3"
4) ""
> SORT l STORE l
(integer) 4
> LRANGE l 0 -1
1) "1"
2) "2"
3) "3"
4) "10"
> SORT s BY nosort STORE d
(integer) 3
> LRANGE d 0 -1
1) "a"
2) "b"
3) "c"
> SORT l LIMIT 9 1 STORE d
(integer) 0
> EXISTS d
(integer) 0
# A zero byte ends what is searched for `*`: this names no key, so the order stays.
> RPUSH bytes 2 1
(integer) 2
> SORT bytes BY "a\x00*"
1) "2"
2) "1"
> SORT bytes GET "a\x00*"
1) (nil)
2) (nil)
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::sorting::sort(db, args, true, reply)
}
