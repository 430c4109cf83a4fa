//! FCALL and FCALL_RO: <https://redis.io/docs/latest/commands/fcall/>

use commands::Outcome;
use commands::row::{Acl, Flags, Group, Row, Scope, Traits};
use resp::{Args, Reply};

use super::{READS, RUNS, WRITES, feed};
use engine::{Call, SessionCommand};

const COMPLEXITY: &str = "Depends on the function that is executed.";

pub(super) static FCALL: SessionCommand = SessionCommand {
    row: Row {
        name: "fcall",
        group: Group::Scripting,
        since: "7.0.0",
        arity: -3,
        traits: Traits::RUNS_FUNCTION,
        flags: RUNS.or(Flags::MAY_REPLICATE),
        acl: Acl::SCRIPTING,
        keys: &[WRITES[0].notes(
            "We cannot tell how the keys will be used so we assume the worst, RW and UPDATE",
        )],
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Calls a function of a library.",
        syntax: "FCALL function numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> FUNCTION LOAD "#!lua name=mylib\nredis.register_function('bump', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)"
"mylib"
> FCALL bump 1 k 5
(integer) 5
> FCALL bump 1 k 5
(integer) 10
> FCALL nosuch 0
(error) ERR Function not found
> FCALL bump x
(error) ERR Bad number of keys provided
> FUNCTION DELETE mylib
OK
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| fcall(call, args, reply, false),
    subs: &[],
};

pub(super) static FCALL_RO: SessionCommand = SessionCommand {
    row: Row {
        name: "fcall_ro",
        group: Group::Scripting,
        since: "7.0.0",
        arity: -3,
        traits: Traits::RUNS_FUNCTION,
        flags: RUNS.or(Flags::READONLY),
        acl: Acl::SCRIPTING,
        keys: &[READS[0].notes(
            "We cannot tell how the keys will be used so we assume the worst, RO and ACCESS",
        )],
        scope: Scope::None,
        complexity: COMPLEXITY,
        summary: "Calls a function of a library that may not write.",
        syntax: "FCALL_RO function numkeys [key [key ...]] [arg [arg ...]]",
        transcript: r##"
> FUNCTION LOAD "#!lua name=mylib\nredis.register_function('w', function() return 1 end)\nredis.register_function{function_name='r', callback=function(keys) return redis.call('EXISTS', keys[1]) end, flags={'no-writes'}}"
"mylib"
> FCALL_RO r 1 k
(integer) 0
> FCALL_RO w 0
(error) ERR Can not execute a script with write flag using *_ro command.
> FUNCTION DELETE mylib
OK
"##,
        ..Row::DEFAULT
    },
    run: |call, args, reply| fcall(call, args, reply, true),
    subs: &[],
};

fn fcall(
    call: &mut Call<'_>,
    args: &mut Args<'_>,
    reply: &mut Reply<'_>,
    read_only: bool,
) -> Outcome {
    feed(call, if read_only { &FCALL_RO.row } else { &FCALL.row }, args);
    call.run_function(args, reply, read_only)
}
