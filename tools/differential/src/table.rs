//! The commands that are compared, one line each. See `pattern` for what the signs mean and
//! `values` for the names.
//!
//! What is not here: commands that choose at random and change something (SPOP of a part), those
//! that read a clock (XADD with `*`, relative deadlines), and those that are newer than the Redis
//! that is compared with.

use crate::Args;

/// How two replies to the command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// Byte by byte.
    Exact,
    /// Elements in any order.
    Sorted,
    /// A flat array of pairs, in any order of the pairs.
    Pairs,
    /// The elements of a SCAN's reply in any order, its cursor aside.
    Scan,
    /// The pairs of an HSCAN's or ZSCAN's reply in any order.
    ScanPairs,
    /// Its kind, and how many elements it has.
    Shape,
    /// XPENDING and its like: idle times aside.
    Idle,
    /// XINFO: times and the insides of the radix tree aside.
    Info,
}

use How::{Exact, Idle, Info, Pairs, Scan, ScanPairs, Shape, Sorted};

pub(crate) const COMMANDS: &[(How, &str)] = &[
    // Strings
    (Exact, "GET $s"),
    (Exact, "SET $s $v [NX|XX] [GET] [KEEPTTL|EXAT $at|PXAT $pat]"),
    (
        Exact,
        "SET $s $v <NX|XX|GET|KEEPTTL|EXAT $at|PXAT $pat|(EX|PX) (0|-1|x|9223372036854775807)>",
    ),
    (Exact, "SET $s $n"),
    (Exact, "SETNX $s $v"),
    (Exact, "GETSET $s $v"),
    (Exact, "GETDEL $s"),
    (Exact, "GETEX $s [PERSIST|EXAT $at|PXAT $pat]"),
    (Exact, "APPEND $s $v"),
    (Exact, "STRLEN $s"),
    (Exact, "(GETRANGE|SUBSTR) $s $i $i"),
    (Exact, "SETRANGE $s $off $v"),
    (Exact, "(INCR|DECR) $s"),
    (Exact, "(INCRBY|DECRBY) $s $n"),
    (Exact, "INCRBYFLOAT $s $d"),
    (Exact, "MGET {$s}"),
    (Exact, "MSET {$s $v}"),
    (Exact, "MSETNX {$s $v}"),
    (Exact, "LCS $s $s [LEN|IDX] [MINMATCHLEN $c] [WITHMATCHLEN]"),
    (Exact, "(SETEX|PSETEX) $s (0|-1|x|9223372036854775807) $v"),
    // Bits
    (Exact, "SETBIT $s $off $bit"),
    (Exact, "GETBIT $s $off"),
    (Exact, "BITCOUNT $s [$i $i [BYTE|BIT]]"),
    (Exact, "BITPOS $s $bit [$i [$i [BYTE|BIT]]]"),
    (Exact, "BITOP (AND|OR|XOR|NOT) $s {$s}"),
    (
        Exact,
        "BITFIELD $s {GET $field $foff|SET $field $foff $n|INCRBY $field $foff $n|OVERFLOW (WRAP|SAT|FAIL)}",
    ),
    (Exact, "BITFIELD_RO $s {GET $field $foff}"),
    // Keys
    (Exact, "(DEL|UNLINK) {$k}"),
    (Exact, "(EXISTS|TOUCH) {$k}"),
    (Exact, "TYPE $k"),
    (Exact, "(RENAME|RENAMENX) $k $k"),
    (Exact, "COPY $k $k [REPLACE] [DB (0|1|2|99|x)]"),
    (Exact, "MOVE $k (0|1|16|x)"),
    (Exact, "PERSIST $k"),
    (Exact, "EXPIREAT $k $at [NX|XX|GT|LT]"),
    (Exact, "PEXPIREAT $k $pat [NX|XX|GT|LT]"),
    (Exact, "EXPIREAT $k $at <NX|XX|GT|LT>"),
    (Exact, "(EXPIRE|PEXPIRE) $k (-1|0|x|9223372036854775807)"),
    (Exact, "(EXPIRETIME|PEXPIRETIME) $k"),
    (Shape, "(TTL|PTTL) $k"),
    (Exact, "OBJECT ENCODING $k"),
    (Exact, "OBJECT (REFCOUNT|FREQ) nosuchkey"),
    (Shape, "OBJECT (IDLETIME|FREQ) $k"),
    (Sorted, "KEYS $glob"),
    (Scan, "SCAN 0 COUNT 100000 [MATCH $glob] [TYPE $type]"),
    (Shape, "RANDOMKEY"),
    (Exact, "DBSIZE"),
    (Exact, "SWAPDB (0|1) (0|1|99|x)"),
    (Exact, "SELECT (0|0|0|1|99|x)"),
    (Exact, "SELECT 0"),
    (Exact, "DEBUG DIGEST-VALUE {$k}"),
    (Exact, "SORT $l [BY $by] [LIMIT $i $n] [{GET $get}] [ASC|DESC] [ALPHA]"),
    (Exact, "SORT $l [ALPHA] [STORE $l]"),
    (Exact, "SORT $z [ALPHA] [ASC|DESC] [STORE $l]"),
    (Exact, "SORT $t [ALPHA] [DESC] [STORE $l]"),
    (Exact, "SORT_RO $l [BY $by] [LIMIT $i $n] [{GET $get}] [ASC|DESC] [ALPHA]"),
    (Exact, "SORT $t BY $by [ALPHA]"),
    (Exact, "SORT $l [LIMIT $i $n] [{GET $get}] [ASC|DESC] [ALPHA] STORE $l"),
    (Shape, "DUMP $k"),
    (Exact, "RESTORE $k 0 $dump [REPLACE]"),
    (Exact, "RESTORE $k $pat $dump ABSTTL <REPLACE|IDLETIME $n|FREQ $n>"),
    // Keys of commands, connections, messages without a receiver
    (Exact, "COMMAND GETKEYS (GET|SET|DEL|MGET) $k $k"),
    (Exact, "COMMAND GETKEYS (ZUNIONSTORE|ZINTERSTORE) $k #{$k}"),
    (Exact, "COMMAND GETKEYS (ZUNION|ZDIFF|LMPOP|SINTERCARD) #{$k}"),
    (Exact, "COMMAND GETKEYS XREAD [COUNT $n] STREAMS $k $k $id $id"),
    (Exact, "COMMAND GETKEYS SORT $k [BY $by] [{GET $get}] [STORE $k]"),
    (Exact, "COMMAND GETKEYS EVAL $v #{$k}"),
    (Exact, "CLIENT (GETNAME|SETNAME $f|GETREDIR)"),
    (Exact, "CLIENT (NO-EVICT|REPLY|CACHING|TRACKING|UNBLOCK|KILL) $i"),
    (Exact, "PUBLISH $f $v"),
    (Exact, "PUBSUB (NUMSUB {$f}|SHARDCHANNELS|SHARDNUMSUB {$f})"),
    (Exact, "CONFIG (GET nosuchoption|SET nosuchoption $n|SET list-max-listpack-size 1.5)"),
    (Exact, "SLOWLOG (GET|LEN|RESET) x $v"),
    (Exact, "OBJECT $v $k"),
    (Exact, "(XGROUP|XINFO|CONFIG|CLIENT|SCRIPT|FUNCTION|MEMORY|ACL|COMMAND|DEBUG) $f $k"),
    (Exact, "SCRIPT EXISTS {$v}"),
    (Exact, "AUTH $v [$v]"),
    // Scripts
    (
        Exact,
        "(EVAL|EVAL_RO) $call 1 $k (GET|TYPE|STRLEN|LLEN|HLEN|SCARD|ZCARD|XLEN|EXPIRETIME|EXISTS)",
    ),
    (Exact, "EVAL $call 1 $k (GET|INCR|DEL|PERSIST|EXISTS|nosuch|LPOP|SCARD)"),
    (Exact, "EVAL $call 1 $s (SET|GETSET|APPEND|SETNX) $v"),
    (Exact, "EVAL $call 1 $l (LPUSH|RPUSH) {$v}"),
    (Exact, "(EVAL|EVAL_RO) $call 1 $l LRANGE $i $i"),
    (Exact, "EVAL $call 1 $h HSET {$f $v}"),
    (Exact, "EVAL_RO $call 1 $h HSET {$f $v}"),
    (Exact, "EVAL $call 1 $h HMGET {$f}"),
    (Exact, "EVAL $call 1 $z ZADD $n $e"),
    (Exact, "EVAL $call 1 $z ZREM {$e}"),
    (Exact, "(EVAL|EVAL_RO) $made (0|1 $k|2 $k $k) [{$v}]"),
    (Exact, "EVAL $made $i [{$k}]"),
    (Exact, "EVALSHA (e0e1f9fabfc9d4800c877a703b823ac0578ff8db|x) $i {$k}"),
    (Exact, "PING [$v]"),
    (Exact, "ECHO $v"),
    (Exact, "NOSUCHCOMMAND {$v}"),
    (Exact, "($v|$id) {$v}"),
    (Exact, "WAIT 0 (0|1|-1|x)"),
    // Hashes
    (Exact, "(HSET|HMSET) $h {$f $v}"),
    (Exact, "HSETNX $h $f $v"),
    (Exact, "HGET $h $f"),
    (Exact, "HMGET $h {$f}"),
    (Exact, "HDEL $h {$f}"),
    (Exact, "(HEXISTS|HSTRLEN) $h $f"),
    (Exact, "HLEN $h"),
    (Exact, "HINCRBY $h $f $n"),
    (Exact, "HINCRBYFLOAT $h $f $d"),
    (Pairs, "HGETALL $h"),
    (Sorted, "(HKEYS|HVALS) $h"),
    (Shape, "HRANDFIELD $h [$some [WITHVALUES]]"),
    (Shape, "HRANDFIELD $h -3 [WITHVALUES]"),
    (ScanPairs, "HSCAN $h 0 COUNT 100000 [MATCH $glob]"),
    // Lists
    (Exact, "(LPUSH|RPUSH|LPUSHX|RPUSHX) $l {$v}"),
    (Exact, "(LPUSH|RPUSH) $l $v $e $n $e"),
    (Exact, "(LPOP|RPOP) $l [$c]"),
    (Exact, "LLEN $l"),
    (Exact, "LRANGE $l $i $i"),
    (Exact, "LRANGE $l 0 -1"),
    (Exact, "LINDEX $l $i"),
    (Exact, "LSET $l $i $v"),
    (Exact, "LINSERT $l (BEFORE|AFTER|x) $e $v"),
    (Exact, "LREM $l $i $e"),
    (Exact, "LTRIM $l $i $i"),
    (Exact, "LPOS $l $e <RANK $i|COUNT $c|MAXLEN $c>"),
    (Exact, "LMOVE $l $l (LEFT|RIGHT) (LEFT|RIGHT|x)"),
    (Exact, "RPOPLPUSH $l $l"),
    (Exact, "LMPOP #{$l} (LEFT|RIGHT) [COUNT $c]"),
    // Sets
    (Exact, "SADD $t {$e}"),
    (Exact, "SADD $t {$n}"),
    (Exact, "SREM $t {$e}"),
    (Exact, "SCARD $t"),
    (Exact, "SISMEMBER $t $e"),
    (Exact, "SMISMEMBER $t {$e}"),
    (Exact, "SMOVE $t $t $e"),
    (Sorted, "SMEMBERS $t"),
    (Sorted, "(SINTER|SUNION|SDIFF) {$t}"),
    (Exact, "(SINTERSTORE|SUNIONSTORE|SDIFFSTORE) $t {$t}"),
    (Exact, "SINTERCARD #{$t} [LIMIT $c]"),
    (Sorted, "SPOP $t $all"),
    (Sorted, "SPOP $t 0"),
    (Shape, "SRANDMEMBER $t [$some]"),
    (Scan, "SSCAN $t 0 COUNT 100000 [MATCH $glob]"),
    // Sorted sets
    (Exact, "ZADD $z [NX|XX] [GT|LT] [CH] {$d $e}"),
    (Exact, "ZADD $z <NX|XX|GT|LT|CH|INCR> $d $e"),
    (Exact, "ZADD $z {$n $e}"),
    (Exact, "ZINCRBY $z $d $e"),
    (Exact, "ZREM $z {$e}"),
    (Exact, "ZCARD $z"),
    (Exact, "ZSCORE $z $e"),
    (Exact, "ZMSCORE $z {$e}"),
    (Exact, "(ZRANK|ZREVRANK) $z $e"),
    (Exact, "ZCOUNT $z $min $max"),
    (Exact, "ZLEXCOUNT $y $lex $lex"),
    (Exact, "ZRANGE $z $i $i [REV] [WITHSCORES]"),
    (Exact, "ZRANGE $z $min $max BYSCORE [REV] [LIMIT $i $i] [WITHSCORES]"),
    (Exact, "ZRANGE $y $lex $lex BYLEX [REV] [LIMIT $i $i]"),
    (Exact, "ZRANGE $y $i $i <BYSCORE|BYLEX|REV|LIMIT $i $i|WITHSCORES>"),
    (Exact, "ZADD $y 0 $e 0 $v 0 $e 0 $e 0 $f"),
    (Exact, "ZREM $y {$e}"),
    (Exact, "ZRANGESTORE $y $y $i $i"),
    (Exact, "(DEL|TYPE|OBJECT ENCODING) $y"),
    (Exact, "ZRANGESTORE $z $z $i $i [REV]"),
    (Exact, "ZRANGESTORE $z $z $min $max BYSCORE [REV] [LIMIT $i $i]"),
    (Exact, "ZRANGESTORE $z $y $lex $lex BYLEX [REV] [LIMIT $i $i]"),
    (Exact, "ZREVRANGE $z $i $i [WITHSCORES]"),
    (Exact, "(ZRANGEBYSCORE|ZREVRANGEBYSCORE) $z $min $max [WITHSCORES] [LIMIT $i $i]"),
    (Exact, "(ZRANGEBYLEX|ZREVRANGEBYLEX) $y $lex $lex [LIMIT $i $i]"),
    (Exact, "ZREMRANGEBYRANK $z $i $i"),
    (Exact, "ZREMRANGEBYSCORE $z $min $max"),
    (Exact, "ZREMRANGEBYLEX $y $lex $lex"),
    (Exact, "(ZPOPMIN|ZPOPMAX) $z [$c]"),
    (Exact, "ZMPOP #{$z} (MIN|MAX) [COUNT $c]"),
    (Exact, "(ZINTER|ZUNION) #{$z} [WEIGHTS {$d}] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]"),
    (Exact, "(ZINTER|ZUNION) 2 $z $t [WEIGHTS $d $d] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]"),
    (Exact, "(ZINTERSTORE|ZUNIONSTORE) $z #{$z} [AGGREGATE (SUM|MIN|MAX)]"),
    (Exact, "(ZINTERSTORE|ZUNIONSTORE) $z 2 $t $z [WEIGHTS $d $d] [AGGREGATE (SUM|MIN|MAX)]"),
    (Exact, "ZDIFF #{$z} [WITHSCORES]"),
    (Exact, "ZDIFFSTORE $z #{$z}"),
    (Exact, "ZINTERCARD #{$z} [LIMIT $c]"),
    (Shape, "ZRANDMEMBER $z [$some [WITHSCORES]]"),
    (ScanPairs, "ZSCAN $z 0 COUNT 100000 [MATCH $glob]"),
    // Streams
    (Exact, "XADD $x [NOMKSTREAM] [(MAXLEN|MINID) [=] $c] $id {$f $v}"),
    (Exact, "XADD $x [NOMKSTREAM] $id {$f $v}"),
    (Exact, "XADD $x ($n|5|9)-* {$f $v}"),
    (Exact, "XLEN $x"),
    (Exact, "(XRANGE|XREVRANGE) $x $rid $rid [COUNT $i]"),
    (Exact, "XRANGE $x - +"),
    (Exact, "XDEL $x {$id}"),
    (Exact, "XTRIM $x (MAXLEN|MINID) [=] $c"),
    (Exact, "XTRIM $x (MAXLEN|MINID) <=|~|LIMIT $c> $c"),
    (Exact, "XSETID $x $id [ENTRIESADDED $c] [MAXDELETEDID $id]"),
    (Exact, "XSETID $x 30-1 [ENTRIESADDED $c] [MAXDELETEDID $id]"),
    (Exact, "XREAD [COUNT $c] STREAMS $x $id"),
    (Exact, "XREAD [COUNT $c] STREAMS $x $x $id $id"),
    (Exact, "XGROUP CREATE $x $group $id [MKSTREAM] [ENTRIESREAD $c]"),
    (Exact, "XGROUP CREATE $x $group (0|$id)"),
    (Exact, "XGROUP SETID $x $group $id [ENTRIESREAD $c]"),
    (Exact, "XGROUP (CREATECONSUMER|DELCONSUMER) $x $group $consumer"),
    (Exact, "XGROUP DESTROY $x $group"),
    (Exact, "XREADGROUP GROUP $group $consumer [COUNT $c] [NOACK] STREAMS $x $gid"),
    (Exact, "XREADGROUP GROUP $group $consumer [COUNT $c] STREAMS $x $x $gid $gid"),
    (Exact, "XACK $x $group {$id}"),
    (Exact, "XPENDING $x $group"),
    (Idle, "XPENDING $x $group [IDLE 0] $rid $rid $c [$consumer]"),
    (Exact, "XCLAIM $x $group $consumer 0 {$id} [RETRYCOUNT $c] [FORCE] [JUSTID] [LASTID $id]"),
    (Exact, "XAUTOCLAIM $x $group $consumer 0 $id [COUNT $c] [JUSTID]"),
    (Info, "XINFO STREAM $x [FULL [COUNT $c]]"),
    (Info, "XINFO GROUPS $x"),
    (Info, "XINFO CONSUMERS $x $group"),
    // HyperLogLog
    (Exact, "PFADD $p [{$v}]"),
    (Exact, "PFADD $p $v $e $v $n $v $e $v $v $v $n $v"),
    (Exact, "PFCOUNT {$p}"),
    (Exact, "PFMERGE $p {$p}"),
    (Exact, "GET $p"),
    (Exact, "(STRLEN|TYPE) $p"),
    // Geo
    (Exact, "GEOADD $g [NX|XX] [CH] {$lon $lat $e}"),
    (Exact, "(GEOPOS|GEOHASH) $g {$e}"),
    (Exact, "GEODIST $g $e $e [$unit]"),
    (
        Exact,
        "GEOSEARCH $g (FROMMEMBER $e|FROMLONLAT $lon $lat) (BYRADIUS $radius $unit|BYBOX $radius $radius $unit) (ASC|DESC) [COUNT $c] [WITHCOORD] [WITHDIST] [WITHHASH]",
    ),
    (
        Exact,
        "GEOSEARCH $g <FROMMEMBER $e|FROMLONLAT $lon $lat|BYRADIUS $radius $unit|BYBOX $radius $radius $unit|ASC|COUNT $c|WITHDIST>",
    ),
    (Sorted, "GEOSEARCH $g FROMMEMBER $e BYRADIUS $radius $unit [WITHDIST]"),
    (Exact, "GEOSEARCHSTORE $z $g FROMMEMBER $e BYRADIUS $radius $unit [STOREDIST]"),
    (
        Exact,
        "GEORADIUS $g $lon $lat $radius $unit [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT $c] (ASC|DESC)",
    ),
    (Exact, "GEORADIUSBYMEMBER $g $e $radius $unit (ASC|DESC) [(STORE|STOREDIST) $z]"),
    (Exact, "(GEORADIUS_RO $g $lon $lat|GEORADIUSBYMEMBER_RO $g $e) $radius $unit ASC"),
    (Exact, "ZRANGE $g 0 -1 WITHSCORES"),
];

/// Commands that would wait outside of a transaction; inside of one they answer at once.
pub(crate) const IN_TRANSACTIONS: &[(How, &str)] = &[
    (Exact, "(BLPOP|BRPOP) {$l} (0|1|x|-1|0.5)"),
    (Exact, "BLMOVE $l $l (LEFT|RIGHT) (LEFT|RIGHT) 0"),
    (Exact, "BRPOPLPUSH $l $l 0"),
    (Exact, "BLMPOP 0 #{$l} (LEFT|RIGHT) [COUNT $c]"),
    (Exact, "(BZPOPMIN|BZPOPMAX) {$z} 0"),
    (Exact, "BZMPOP 0 #{$z} (MIN|MAX) [COUNT $c]"),
    (Exact, "XREAD BLOCK 0 STREAMS $x $id"),
    (Exact, "XREADGROUP GROUP $group $consumer BLOCK 0 STREAMS $x $gid"),
    (Exact, "FLUSHDB [ASYNC|SYNC|x]"),
    (Exact, "FLUSHALL [ASYNC|SYNC|x]"),
    (Exact, "UNWATCH"),
    (Exact, "MULTI"),
    (Exact, "WATCH $k"),
];

/// What a round leaves out, so that other things in it can be compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mood {
    /// The names of encodings are asked for.
    pub(crate) encodings: bool,
    /// XSETID sets any ID, or else entries are deleted from streams.
    pub(crate) set_ids: bool,
    /// Keyspace events are compared, too.
    pub(crate) events: bool,
}

/// Whether the command sets deadlines.
fn may_expire(name: &[u8]) -> bool {
    let names: &[&[u8]] = &[
        b"SET",
        b"GETEX",
        b"SETEX",
        b"PSETEX",
        b"EXPIRE",
        b"PEXPIRE",
        b"EXPIREAT",
        b"PEXPIREAT",
        b"RESTORE",
    ];
    names.contains(&name)
}

/// Whether this is a deadline in the past, or may be one in some unit.
fn is_past(arg: &[u8]) -> bool {
    let number = std::str::from_utf8(arg).ok().and_then(|text| text.parse::<i64>().ok());
    number.is_some_and(|n| n < 4_000_000_000 || (5_000_000_000..4_000_000_000_000).contains(&n))
}

/// Whether the command may be sent. Not what changes data in one server and not in the other, and
/// nothing that reads a clock.
pub(crate) fn is_comparable(args: &Args, mood: Mood) -> bool {
    let name = args.first().map_or_else(Vec::new, |name| name.to_ascii_uppercase());
    // When a dead key goes is up to each server, and so is when that is told.
    if mood.events && args.iter().skip(2).any(|arg| is_past(arg)) && may_expire(&name) {
        return false;
    }
    has_same_rules(&name, args, mood)
        && has_same_encoding(&name, args, mood)
        && keeps_logs_apart(&name, args)
}

/// An argument, or none, which is empty.
fn arg(args: &Args, at: usize) -> &[u8] {
    args.get(at).map_or(&b""[..], |arg| arg)
}

/// Whether an argument is this word.
fn has(args: &Args, word: &str) -> bool {
    args.iter().any(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether both servers read the arguments by the same rules, without a look at a clock.
fn has_same_rules(name: &[u8], args: &Args, mood: Mood) -> bool {
    let arg = |at| arg(args, at);
    let has = |word| has(args, word);
    let is_duration = |text: &[u8]| {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        number.is_some_and(|n| n > 0 && n < i64::MAX / 1000)
    };
    let last_id = b"18446744073709551615-18446744073709551615";
    match name {
        // Its reply names the server.
        b"HELLO" => false,
        // Redis 7.2 refuses a count that cannot be negated.
        b"LREM" => arg(2) != b"-9223372036854775808",
        // Without a transaction it would wait.
        b"WAIT" => arg(1) == b"0",
        // WITHSCORE came with Redis 7.2; before, a transaction was aborted for it.
        b"ZRANK" | b"ZREVRANK" => args.len() != 4,
        b"EXPIRE" | b"PEXPIRE" | b"SETEX" | b"PSETEX" => !is_duration(arg(2)),
        b"SET" => !args.windows(2).any(|pair| {
            let is = |word: &[u8]| pair.first().is_some_and(|arg| arg.eq_ignore_ascii_case(word));
            (is(b"EX") || is(b"PX")) && pair.last().is_some_and(|text| is_duration(text))
        }),
        b"XADD" => !args.iter().any(|arg| arg == b"*"),
        // Redis reserves memory for as many, and may have less.
        b"XAUTOCLAIM" => !args.iter().any(|arg| arg.len() > 6 && is_duration(arg)),
        // Redis 7.2 refuses an ID below one that was deleted.
        b"XSETID" => match mood.set_ids {
            true => !has("MAXDELETEDID"),
            false => arg(2) == b"30-1",
        },
        b"XDEL" => !mood.set_ids && !args.iter().any(|arg| arg == last_id),
        // Redis adds a relative deadline to the present time without a look at the sum.
        b"RESTORE" => arg(2) == b"0" || has("ABSTTL") && !arg(2).starts_with(b"9223372036854775"),
        // Redis 7.2 needs one argument less. Redis allocates for as many keys as it is told, and calls
        // none an error for some commands.
        b"COMMAND" => {
            args.len() > 3
                && !args
                    .iter()
                    .skip(3)
                    .any(|arg| arg == b"0" || arg.len() > 4 && arg.iter().all(u8::is_ascii_digit))
        }
        b"CONFIG" => args.len() < 4 || !args.iter().any(|arg| arg.contains(&0)),
        b"CLIENT" => !has("LIST"),
        // A slow machine has slow commands.
        b"SLOWLOG" => args.len() != 3 && args.len() != 2,
        // As Redis 7.2 counts time, this many seconds end past it.
        b"BLPOP" | b"BRPOP" | b"BLMOVE" | b"BRPOPLPUSH" | b"BLMPOP" | b"BZPOPMIN" | b"BZPOPMAX"
        | b"BZMPOP" => !args.iter().any(|arg| arg == b"9223372036854775"),
        _ => true,
    }
}

/// Whether values have the same encoding in both servers after the command, where encodings are compared; and where
/// they are not, whether SORT may convert them.
fn has_same_encoding(name: &[u8], args: &Args, mood: Mood) -> bool {
    let repeats = |step: usize| {
        let mut seen = std::collections::HashSet::new();
        args.iter().skip(2).rev().step_by(step).any(|member| !seen.insert(member))
    };
    // A sorted set that SORT has converted keeps the sign of a zero; and converting one with a score
    // this small leaves an ERANGE that SORT takes for one of its own.
    let has_odd_score = || args.iter().any(|arg| arg.starts_with(b"-0") || arg == b"5e-324");
    match name {
        b"OBJECT" => mood.encodings || !has(args, "ENCODING"),
        // Redis converts the sorted set that it sorts.
        b"SORT" | b"SORT_RO" => !mood.encodings,
        // Since Redis 7.2 the encoding of a new key follows from the number of arguments.
        b"EVAL" if mood.encodings => !are_repeated(args, 5),
        b"EVAL" | b"ZINCRBY" | b"ZUNIONSTORE" | b"ZINTERSTORE" => {
            mood.encodings || !has_odd_score()
        }
        b"ZADD" => {
            if mood.encodings {
                !repeats(2)
            } else {
                !has_odd_score()
            }
        }
        b"GEOADD" => !mood.encodings || !repeats(3),
        b"HSET" | b"HMSET" if mood.encodings => !are_repeated(args, 2),
        b"SADD" => !mood.encodings || !repeats(1),
        _ => true,
    }
}

/// A HyperLogLog whose bits were edited means something else to every reader: only `p` keys
/// may be one, and stay one.
fn keeps_logs_apart(name: &[u8], args: &Args) -> bool {
    let is_log = |key: &[u8]| matches!(key, [b'p', b'1'..=b'3']);
    let is_log_at = |at| is_log(arg(args, at));
    match name {
        b"EVAL" => !(has(args, "APPEND") && is_log_at(3)),
        b"PFADD" => is_log_at(1),
        b"PFCOUNT" | b"PFMERGE" => args.iter().skip(1).all(|key| is_log(key)),
        b"SETBIT" | b"BITFIELD" | b"SETRANGE" | b"APPEND" => !is_log_at(1),
        b"BITOP" => !is_log_at(2),
        b"COPY" | b"RENAME" | b"RENAMENX" => is_log_at(1) == is_log_at(2),
        _ => true,
    }
}

/// Whether a field is named twice, the first of them being argument `from` and values between them.
fn are_repeated(args: &Args, from: usize) -> bool {
    let mut seen = std::collections::HashSet::new();
    args.iter().skip(from).step_by(2).any(|field| !seen.insert(field))
}

/// What has to be sent right before the command for the servers to be comparable: what Redis would
/// otherwise still hold at this point, or not have yet.
pub(crate) fn preparations(args: &Args) -> Vec<Args> {
    let name = args.first().map_or_else(Vec::new, |name| name.to_ascii_uppercase());
    let consumer = |key: &Vec<u8>, names: &[Vec<u8>]| {
        let words = [b"XGROUP".to_vec(), b"CREATECONSUMER".to_vec(), key.clone()];
        words.into_iter().chain(names.iter().cloned()).collect()
    };
    match &name[..] {
        // SET with a deadline in the past leaves a dead key in Redis, which counts until something
        // touches it. SCAN does.
        b"DBSIZE" | b"DEBUG" => vec![["SCAN", "0", "COUNT", "100000"].map(Into::into).to_vec()],
        // Redis's SORT takes an old ERANGE for one of its own; this sets errno to 0.
        b"SORT" | b"SORT_RO" => {
            vec![["INCRBYFLOAT", "nosuchkey", "x"].map(Into::into).to_vec()]
        }
        // Since Redis 7.2 a consumer comes into being even if there is nothing for it.
        b"XCLAIM" | b"XAUTOCLAIM" => match &args[1..] {
            [key, group, name, ..] => vec![consumer(key, &[group.clone(), name.clone()])],
            _ => Vec::new(),
        },
        b"XREADGROUP" => {
            let streams = args.iter().position(|arg| arg == b"STREAMS");
            let streams = streams.map_or(&[][..], |at| &args[at + 1..]);
            let names = args.get(2..4).unwrap_or_default();
            streams.iter().take(streams.len() / 2).map(|key| consumer(key, names)).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, IN_TRANSACTIONS};
    use crate::pattern::parse;

    #[test]
    fn every_line_is_a_pattern() {
        for (_, line) in COMMANDS.iter().chain(IN_TRANSACTIONS) {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
    }
}
