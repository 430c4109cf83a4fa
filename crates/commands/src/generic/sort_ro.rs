//! SORT_RO: <https://redis.io/docs/latest/commands/sort_ro/>

use resp::{Args, Reply};
use store::Db;

use crate::command::{DataCommand, Outcome};
use crate::row::{Acl, Flags, Group, KeyFlags, KeySpec, Row, Scope, Traits};

pub(crate) static SORT_RO: DataCommand = DataCommand {
    row: Row {
        name: "sort_ro",
        group: Group::Generic,
        since: "7.0.0",
        arity: -2,
        flags: Flags::READONLY,
        traits: Traits::COST_OF_VALUES,
        acl: Acl::NO_GROUP.or(Acl::SET).or(Acl::SORTEDSET).or(Acl::LIST).or(Acl::DANGEROUS),
        keys: &[
            KeySpec::one(1, KeyFlags::RO.or(KeyFlags::ACCESS)),
            KeySpec::unknown(KeyFlags::RO.or(KeyFlags::ACCESS)).notes(
                "For the optional BY/GET keyword. It is marked 'unknown' because the key names \
                 derive from the content of the key we sort",
            ),
        ],
        get_keys: Some(super::sorting::sort_ro_keys),
        scope: Scope::Patterns,
        complexity: "O(N+M*log(M)) where N is the number of elements and M is the number of \
                     elements returned. BY and GET hold up all other writers meanwhile.",
        summary: "Sorts the elements of a list, a set or a sorted set.",
        syntax: "SORT_RO key [BY by-pattern#1] [LIMIT offset count] \
                 [GET get-pattern#1 [GET get-pattern#1 ...]] [ASC | DESC] [ALPHA]",
        transcript: r#"
> RPUSH l 3 1 10 2
(integer) 4
> SORT_RO l
1) "1"
2) "2"
3) "3"
4) "10"
> SORT_RO l DESC LIMIT 1 2
1) "3"
2) "2"
> SORT_RO l ALPHA
1) "1"
2) "10"
3) "2"
4) "3"
> MSET w_1 4 w_2 3 w_3 2 w_10 1
OK
> SORT_RO l BY w_*
1) "10"
2) "3"
3) "2"
4) "1"
> SORT_RO l BY w_* GET # GET w_* GET nothing_* LIMIT 0 2
1) "10"
2) "1"
3) (nil)
4) "3"
5) "2"
6) (nil)
> HSET h_1 f x
(integer) 1
> SORT_RO l GET h_*->f LIMIT 0 2
1) "x"
2) (nil)
# A pattern without * leaves the order as it is.
> SORT_RO l BY nosort
1) "3"
2) "1"
3) "10"
4) "2"
> SORT_RO l BY nosort DESC LIMIT 0 1
1) "2"
> SADD s b a c
(integer) 3
> SORT_RO s ALPHA DESC
1) "c"
2) "b"
3) "a"
> SORT_RO s
(error) ERR One or more scores can't be converted into double
> RPUSH weighed 2 1
(integer) 2
> SETRANGE by_2 1 x
(integer) 2
> SORT_RO weighed BY by_*
1) "1"
2) "2"
> RPUSH tiny 5e-324
(integer) 1
> SORT_RO tiny
(error) ERR One or more scores can't be converted into double
> SORT_RO nothing
(empty array)
> SORT_RO w_1
(error) WRONGTYPE Operation against a key holding the wrong kind of value
> SORT_RO l LIMIT x 1
(error) ERR value is not an integer or out of range
> SORT_RO l LIMIT 1
(error) ERR syntax error
> SORT_RO l BY
(error) ERR syntax error
> SORT_RO l STORE d
(error) ERR syntax error
"#,
        ..Row::DEFAULT
    },
    run,
    subs: &[],
};

fn run(db: &mut Db<'_>, args: &mut Args<'_>, reply: &mut Reply<'_>) -> Outcome {
    super::sorting::sort(db, args, false, reply)
}
