//! EVAL, EVALSHA and their read-only forms: <https://redis.io/docs/latest/commands/eval/>

use super::{READS, RUNS, WRITES, feed};
use commands::row::{Acl, Flags, Group, Row, Scope, Traits};
use commands::{Fail, Outcome};
use engine::scripting::{NOSCRIPT, key_count};
use engine::{Call, SessionCommand};
use resp::{Args, Reply};

const COMPLEXITY: &str = "Depends on the script that is executed.";
const KEYS: &str = "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE";
const RO_KEYS: &str =
    "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS";

pub(super) static EVAL: SessionCommand = SessionCommand {
    row: Row {
        name: "eval",
        group: Group::Scripting,
        since: "2.6.0",
        arity: -3,
        traits: Traits::RUNS_TEXT,
        flags: RUNS.or(Flags::MAY_REPLICATE),
        acl: Acl::SCRIPTING,
        keys: &[WRITES[0].notes(KEYS)],
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Runs a Lua script.",
        syntax: "EVAL script numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> EVAL "return {KEYS[1], ARGV[1], #ARGV}" 1 k a b
1) "k"
2) "a"
3) (integer) 2
> EVAL "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])" 1 k 7
"7"
# Numbers are cut off, an array ends at its first nil, and false is no value.
> EVAL "return {1.9, 'x', false, nil, 5}" 0
1) (integer) 1
2) "x"
3) (nil)
> EVAL "return redis.call('INCR', KEYS[1])" 1 k
(integer) 8
> EVAL "return redis.pcall('LPUSH', KEYS[1], 1)['err']" 1 k
"WRONGTYPE Operation against a key holding the wrong kind of value"
> EVAL "return {ok='fine'}" 0
fine
> EVAL "return redis.error_reply('MINE not today')" 0
(error) MINE not today
> EVAL "x = 1" 0
(error) ERR user_script:1: Attempt to modify a readonly table script: 34bce5f775de97f557a34088509c8bfe1ea17e52, on @user_script:1.
> EVAL "return 1" 2 a
(error) ERR Number of keys can't be greater than number of args
> EVAL "return 1" -1
(error) ERR Number of keys can't be negative
> EVAL "return redis.call('NOSUCH')" 0
~ (error) ERR Unknown Redis command called from script script: *, on @user_script:1.
> EVAL "return redis.call('GET')" 0
~ (error) ERR Wrong number of args calling Redis command from script script: *, on @user_script:1.
> EVAL "return redis.call('MULTI')" 0
~ (error) ERR This Redis command is not allowed from script script: *, on @user_script:1.
> EVAL "#!lua flags=no-writes\nreturn redis.pcall('SET', 'a', 1)" 0
(error) ERR Write commands are not allowed from read-only scripts.
> EVAL "not lua" 0
~ (error) ERR Error compiling script (new function): user_script:1: *
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| eval(call, args, reply, false),
    subs: &[],
};

pub(super) static EVAL_RO: SessionCommand = SessionCommand {
    row: Row {
        name: "eval_ro",
        group: Group::Scripting,
        since: "7.0.0",
        arity: -3,
        traits: Traits::RUNS_TEXT,
        flags: RUNS.or(Flags::READONLY),
        acl: Acl::SCRIPTING,
        keys: &[READS[0].notes(RO_KEYS)],
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Runs a Lua script that may not write.",
        syntax: "EVAL_RO script numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> SET k v
OK
> EVAL_RO "return redis.call('GET', KEYS[1])" 1 k
"v"
> EVAL_RO "return redis.pcall('SET', KEYS[1], 1)" 1 k
(error) ERR Write commands are not allowed from read-only scripts.
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| eval(call, args, reply, true),
    subs: &[],
};

pub(super) static EVALSHA: SessionCommand = SessionCommand {
    row: Row {
        name: "evalsha",
        group: Group::Scripting,
        since: "2.6.0",
        arity: -3,
        traits: Traits::RUNS_DIGEST,
        flags: RUNS.or(Flags::MAY_REPLICATE),
        acl: Acl::SCRIPTING,
        keys: WRITES,
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Runs a Lua script of the cache, by its SHA-1.",
        syntax: "EVALSHA sha1 numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> SCRIPT LOAD "return 5"
"4ca238f611c9d0ae4e9a75a5dbac22aedc379801"
> EVALSHA 4ca238f611c9d0ae4e9a75a5dbac22aedc379801 0
(integer) 5
> EVALSHA ffffffffffffffffffffffffffffffffffffffff 0
(error) NOSCRIPT No matching script. Please use EVAL.
> EVALSHA nonsense 0
(error) NOSCRIPT No matching script. Please use EVAL.
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| evalsha(call, args, reply, false),
    subs: &[],
};

pub(super) static EVALSHA_RO: SessionCommand = SessionCommand {
    row: Row {
        name: "evalsha_ro",
        group: Group::Scripting,
        since: "7.0.0",
        arity: -3,
        traits: Traits::RUNS_DIGEST,
        flags: RUNS.or(Flags::READONLY),
        acl: Acl::SCRIPTING,
        keys: READS,
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Runs a Lua script of the cache that may not write, by its SHA-1.",
        syntax: "EVALSHA_RO sha1 numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> EVALSHA_RO ffffffffffffffffffffffffffffffffffffffff 0
(error) NOSCRIPT No matching script. Please use EVAL.
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| evalsha(call, args, reply, true),
    subs: &[],
};

fn eval(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    read_only: bool,
) -> Outcome {
    feed(call, if read_only { &EVAL_RO.row } else { &EVAL.row }, args);
    let keys = key_count(args, Fail::NOT_INTEGER)?;
    call.run_script(keys, args, reply, read_only)
}

fn evalsha(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    read_only: bool,
) -> Outcome {
    feed(call, if read_only { &EVALSHA_RO.row } else { &EVALSHA.row }, args);
    let name = <&[u8; 40]>::try_from(&args[1]).map_err(|_| NOSCRIPT)?;
    let keys = key_count(args, Fail::NOT_INTEGER)?;
    call.run_named_script(name, keys, args, reply, read_only)
}
