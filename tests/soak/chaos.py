"""Every feature against every other at once: does anything break?

    python3 tests/soak/chaos.py [--seconds 300] [--threads 4] [--seed 1] [--without KIND ...]

Few keys, all types, deadlines of milliseconds, and at the same time: transactions that watch, blocked
commands, scripts that reach keys which they did not declare, subscribers and client-side caches in both
protocols, readers that do not read; CLIENT KILL, PAUSE, UNBLOCK, NO-EVICT; FLUSHALL, SWAPDB; snapshots,
rewrites and reloads; and CONFIG SET of every option that can be set at run time. Best run over a build with
debug assertions (`APUS_BIN=target/debug/apus`). These must hold:

- every pipeline has as many replies as commands: the reply of an ECHO at its end comes in its position;
- two keys that are only ever set together (by EXEC and by scripts) are never seen to differ;
- a reply that does not come for `--patience` seconds is a hang;
- afterwards no client is blocked, watches, tracks or subscribes, memory is given back, and the data set is
  the same after DEBUG RELOAD and after DEBUG LOADAOF: the journal has everything in order;
- no thread panicked, and the log has no error.
"""

import argparse
import multiprocessing
import random
import socket
import sys
import time

from common import KIB, Client, Server, ServerError, encode, report

KEYS = {
    "s": ["s:%d" % i for i in range(4)], "l": ["l:%d" % i for i in range(3)],
    "h": ["h:%d" % i for i in range(3)], "e": ["e:%d" % i for i in range(3)],
    "z": ["z:%d" % i for i in range(3)], "x": ["x:%d" % i for i in range(2)],
    "p": ["hll:%d" % i for i in range(2)], "g": ["geo:%d" % i for i in range(2)],
    "b": ["bit:%d" % i for i in range(2)],
}
EVERY = [k for keys in KEYS.values() for k in keys]
# Of each letter an argument is made; the others are words. `k`: a key of any type.
COMMANDS = """
SET s v|SET s v PX t|SET s v KEEPTTL|SET s v GET|SETNX s v|GETSET s v|GETDEL s|GETEX s PX t|GETEX s PERSIST|APPEND s v
INCR s|DECRBY s n|INCRBYFLOAT s f|SETRANGE s o v|GETRANGE s i i|MSET s v s v|MSETNX s v s v|MGET s s s|STRLEN s|SET s big
LCS s s|LCS s s IDX|PSETEX s t v|SUBSTR s i i|GET s|SET k v
LPUSH l v v|RPUSH l v v v|LPUSHX l v|LPOP l|RPOP l n1|LLEN l|LRANGE l i i|LINDEX l i|LSET l i v|LREM l i v|LTRIM l i i
LINSERT l BEFORE v v|LMOVE l l LEFT RIGHT|RPOPLPUSH l l|LPOS l v|LMPOP 2 l l LEFT COUNT n1|RPUSH l big
HSET h m v|HSET h m v m v m v|HDEL h m m|HGET h m|HMGET h m m|HGETALL h|HINCRBY h m n|HINCRBYFLOAT h m f|HKEYS h|HVALS h
HRANDFIELD h i WITHVALUES|HSETNX h m v|HSTRLEN h m|HSCAN h 0|HLEN h|HPEXPIRE h t FIELDS 1 m|HPERSIST h FIELDS 1 m
HPTTL h FIELDS 2 m m|HSET h m big|HEXPIRETIME h FIELDS 1 m
SADD e m m m|SADD e n n|SREM e m m|SPOP e|SPOP e n1|SMEMBERS e|SISMEMBER e m|SMISMEMBER e m m|SRANDMEMBER e i|SCARD e
SMOVE e e m|SUNION e e|SINTER e e|SDIFF e e|SUNIONSTORE e e e|SINTERSTORE e e e|SDIFFSTORE e e e|SINTERCARD 2 e e|SSCAN e 0
ZADD z n m n m|ZADD z GT CH f m|ZINCRBY z f m|ZREM z m|ZSCORE z m|ZRANK z m|ZREVRANK z m WITHSCORE|ZRANGE z i i WITHSCORES
ZRANGE z 0 n BYSCORE|ZRANGESTORE z z 0 -1|ZPOPMIN z|ZPOPMAX z n1|ZCARD z|ZCOUNT z -inf +inf|ZUNIONSTORE z 2 z z
ZINTERSTORE z 2 z e|ZDIFFSTORE z 2 z z|ZUNION 2 z z WITHSCORES|ZREMRANGEBYRANK z i i|ZREMRANGEBYSCORE z 0 n|ZMPOP 1 z MIN
ZRANDMEMBER z i WITHSCORES|ZMSCORE z m m|ZLEXCOUNT z - +|ZREMRANGEBYLEX z [m (m|ZSCAN z 0
XADD x * m v|XADD x MAXLEN 50 * m v m v|XADD x NOMKSTREAM * m v|XLEN x|XRANGE x - + COUNT n1|XREVRANGE x + -|XREAD STREAMS x 0
XTRIM x MAXLEN n1|XGROUP CREATE x g1 0 MKSTREAM|XGROUP DESTROY x g1|XREADGROUP GROUP g1 c1 COUNT n1 STREAMS x >|XPENDING x g1
XACK x g1 1-1|XAUTOCLAIM x g1 c2 0 0 COUNT n1|XINFO STREAM x FULL|XINFO GROUPS x|XDEL x 1-1|XSETID x 99999999999999-1
XGROUP CREATECONSUMER x g1 c3|XGROUP DELCONSUMER x g1 c1|XPENDING x g1 - + 10
PFADD p m m|PFCOUNT p p|PFMERGE p p|PFCOUNT p
GEOADD g 13.3 38.1 m|GEOADD g 15.1 37.5 m|GEOPOS g m|GEODIST g m m|GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC
GEOSEARCHSTORE g g FROMLONLAT 15 37 BYBOX 400 400 km|GEOHASH g m
SETBIT b o 1|GETBIT b o|BITCOUNT b|BITPOS b 1|BITOP AND b b b|BITOP NOT b b|BITFIELD b SET u8 o n1 INCRBY i16 o n
DEL k|UNLINK k k|EXISTS k k|TYPE k|PEXPIRE k t|PERSIST k|PTTL k|EXPIRE k -1|PEXPIREAT k 1|RENAME k k|RENAMENX k k|COPY k k
COPY k k REPLACE|COPY k k DB 1 REPLACE|MOVE k 1|TOUCH k k|OBJECT ENCODING k|OBJECT FREQ k|OBJECT IDLETIME k|DUMP k
MEMORY USAGE k|SORT l ALPHA|SORT e ALPHA STORE l|SORT l BY s:* GET s:* GET # ALPHA|SORT_RO e ALPHA LIMIT 0 5|EXPIRETIME k
RANDOMKEY|DBSIZE|KEYS *|SCAN 0 COUNT 100|SCAN 0 TYPE hash|WAIT 0 0|TIME|PUBLISH c v|SPUBLISH c v|INFO keyspace|PING
"""
COMMANDS = [c for line in COMMANDS.strip().splitlines() for c in line.split("|")]
BLOCKING = """BLPOP l l w|BRPOP l w|BLMOVE l l LEFT RIGHT w|BLMPOP w 2 l l LEFT|BZPOPMIN z z w|BZPOPMAX z w|BZMPOP w 1 z MIN
XREAD BLOCK ms STREAMS x $|XREADGROUP GROUP g1 c1 BLOCK ms STREAMS x >|BRPOPLPUSH l l w|WAITAOF 0 0 ms""".replace("\n", "|").split("|")
SETTINGS = [
    ("maxmemory-policy", "noeviction allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu "
     "volatile-random volatile-ttl"),
    ("maxmemory", "0 0 0 6mb 12mb"), ("maxmemory-samples", "1 5 64"), ("maxmemory-clients", "0 0 50mb 20%"),
    ("appendonly", "yes yes no"), ("appendfsync", "always everysec no"), ("save", "=|=1 1|=3600 1"),
    ("no-appendfsync-on-rewrite", "yes no"), ("aof-use-rdb-preamble", "yes no"),
    ("auto-aof-rewrite-percentage", "0 100"), ("auto-aof-rewrite-min-size", "1kb 64mb"),
    ("rdbcompression", "yes no"), ("rdb-save-incremental-fsync", "yes no"),
    ("hash-max-listpack-entries", "0 2 512"), ("hash-max-listpack-value", "0 8 64"),
    ("list-max-listpack-size", "-2 -5 1 128"), ("list-compress-depth", "0 1 3"),
    ("set-max-intset-entries", "0 4 512"), ("set-max-listpack-entries", "0 4 128"),
    ("zset-max-listpack-entries", "0 4 128"), ("zset-max-listpack-value", "0 4 64"),
    ("stream-node-max-bytes", "0 64 4096"), ("stream-node-max-entries", "0 1 100"),
    ("hll-sparse-max-bytes", "0 100 3000"), ("lfu-log-factor", "0 10 100 2147483647"), ("lfu-decay-time", "0 1 1000"),
    ("lazyfree-lazy-user-del", "yes no"), ("lazyfree-lazy-expire", "yes no"), ("lazyfree-lazy-server-del", "yes no"),
    ("lazyfree-lazy-eviction", "yes no"), ("lazyfree-lazy-user-flush", "yes no"),
    ("notify-keyspace-events", "=|KEA|Ex|AKEmn"), ("slowlog-log-slower-than", "10000 0 -1 1"),
    ("slowlog-max-len", "0 16 128"), ("latency-monitor-threshold", "0 1 100"), ("latency-tracking", "yes no"),
    ("tracking-table-max-keys", "1 3 1000000"), ("timeout", "0"), ("tcp-keepalive", "0 300"), ("hz", "1 10 500"),
    ("dynamic-hz", "yes no"), ("active-expire-effort", "1 10"), ("lua-time-limit", "1 20 200"),
    ("client-output-buffer-limit", "normal 0 0 0|pubsub 32kb 8kb 1|normal 200kb 100kb 1|pubsub 0 0 0"),
    ("proto-max-bulk-len", "1mb 512mb"), ("client-query-buffer-limit", "2mb 1gb"), ("acllog-max-len", "0 128"),
    ("activedefrag", "no"), ("loglevel", "notice verbose"), ("maxclients", "1000 10000"),
    ("min-replicas-to-write", "0"), ("oom-score-adj", "no"), ("stop-writes-on-bgsave-error", "yes no"),
]
SCRIPT = """
local out = {}
local n = tonumber(ARGV[1])
for i = 1, n do
  local reply = redis.pcall(unpack(cmsgpack.unpack(ARGV[i + 1])))
  out[i] = type(reply) == 'table' and reply.err and 'E' or 1
end
return out
"""
PAIR = ("pair:a", "pair:b")
TOGETHER = "redis.call('SET', 'pair:a', ARGV[1]); redis.call('SET', 'pair:b', ARGV[1]); return 1"


class Hang(Exception):
    """A reply that did not come."""


class Peer(Client):
    """A connection that tells a hang from an end, and keeps pushes apart."""

    def __init__(self, port, patience):
        super().__init__(port, timeout=patience)
        self.pushes = 0

    def read(self):
        try:
            while True:
                kind = self.file.peek(1)[:1]
                reply = super().read()
                if kind != b">":
                    return reply
                self.pushes += 1
        except TimeoutError as e:
            raise Hang("no reply came") from e

    def batch(self, commands, token):
        """Runs encoded commands, and checks that each had one reply."""
        commands = list(commands)
        self.send(b"".join(commands) + encode("ECHO", token))
        replies = [self.read() for _ in commands]
        last = self.read()
        # A server that loads refuses this, too.
        if last != token and not isinstance(last, ServerError):
            raise AssertionError(f"out of step: {last!r} and not {token!r} behind {commands!r}: {replies!r}")
        return replies


def words(r, template):
    """The words of a command by its template."""
    made = []
    for i, w in enumerate(template.split(" ")):
        if i == 0:
            made.append(w)
        elif w in KEYS:
            made.append(r.choice(KEYS[w]) if r.random() < 0.97 else r.choice(EVERY))
        elif w == "k":
            made.append(r.choice(EVERY))
        elif w == "v":
            made.append(r.choice(("v", "7", "-3", "1.5", "x" * r.randrange(1, 90), "y" * 400)))
        elif w == "big":
            made.append("B" * r.choice((2000, 5000, 70_000)))
        elif w == "m":
            made.append("m%d" % r.randrange(r.choice((3, 40, 700))))
        elif w == "n":
            made.append(str(r.choice((0, 1, 5, -2, 1000, 70_000, r.randrange(10_000)))))
        elif w == "n1":
            made.append(str(r.randrange(1, 9)))
        elif w == "f":
            made.append(r.choice(("0.5", "-1.25", "3", "1e10", "inf")))
        elif w == "i":
            made.append(str(r.choice((0, 1, 3, -1, -3, 10, -10))))
        elif w == "o":
            made.append(str(r.choice((0, 7, 64, 1000, 40_000))))
        elif w == "t":
            made.append(str(r.choice((1, 2, 5, 20, 200))))
        elif w == "w":
            made.append(r.choice(("0.005", "0.05", "0.3", "1")))
        elif w == "ms":
            made.append(r.choice(("1", "20", "300")))
        elif w[0] in "[(" and len(w) == 2:
            made.append(w[0] + "m%d" % r.randrange(40))
        else:
            made.append(w)
    return made


def some(r):
    return words(r, r.choice(COMMANDS))


def sessions(f):
    """Runs `f(peer, random)` over and over, on new connections whenever one ends."""

    def run(port, r, until, patience):
        while time.time() < until:
            try:
                with Peer(port, patience) as c:
                    if r.random() < 0.5:
                        c.do("HELLO", "3")
                    stop = min(until, time.time() + r.random() * 5)
                    while time.time() < stop:
                        f(c, r)
            except (ConnectionError, BrokenPipeError, ServerError):
                # Killed, or refused as long as the server loads.
                time.sleep(0.01)

    run.__name__ = f.__name__
    return run


def token(r):
    return b"t%d" % r.randrange(1 << 40)


@sessions
def plain(c, r):
    c.batch((encode(*some(r)) for _ in range(r.choice((1, 2, 5, 40, 200)))), token(r))
    if r.random() < 0.1:
        c.batch([encode("HELLO", r.choice("23")), encode("SELECT", r.choice("0001")), encode("RESET")][: r.randrange(4)],
                token(r))


@sessions
def transactions(c, r):
    batch = []
    if r.random() < 0.6:
        batch.append(encode("WATCH", *r.sample(EVERY, r.randrange(1, 4))))
        batch += [encode(*some(r)) for _ in range(r.randrange(3))]
    batch.append(encode("MULTI"))
    for _ in range(r.randrange(6)):
        batch.append(encode(*(some(r) if r.random() < 0.9 else words(r, r.choice(BLOCKING)))))
    extra = r.random()
    if extra < 0.04:
        batch.append(encode("SWAPDB", "0", "1"))
    elif extra < 0.06:
        batch.append(encode(r.choice(("FLUSHDB", "FLUSHALL")), r.choice(("ASYNC", "SYNC"))))
    elif extra < 0.09:
        batch.append(encode("SELECT", r.choice("01")))
    elif extra < 0.12:
        batch.append(encode(r.choice(("BGSAVE", "BGREWRITEAOF"))))
    elif extra < 0.2:
        batch.append(script(r))
    batch.append(encode(r.choice(("EXEC", "EXEC", "EXEC", "EXEC", "DISCARD"))))
    if r.random() < 0.7:
        c.batch(batch, token(r))
    else:
        # An ECHO in between would be queued.
        for b in batch:
            c.send(b)
            c.read()


@sessions
def blocked(c, r):
    c.batch([encode(*words(r, r.choice(BLOCKING))) for _ in range(r.choice((1, 1, 1, 4)))], token(r))


def pack(args):
    """An array of strings in MessagePack."""
    out = bytes([0xDC]) + len(args).to_bytes(2, "big")
    for a in args:
        a = a.encode()
        out += b"\xdb" + len(a).to_bytes(4, "big") + a
    return out


def script(r):
    calls = [pack(some(r)) for _ in range(r.randrange(1, 8))]
    keys = r.sample(EVERY, r.randrange(3))
    return encode("EVAL", SCRIPT, str(len(keys)), *keys, str(len(calls)), *calls)


@sessions
def scripts(c, r):
    kind = r.random()
    if kind < 0.85:
        c.batch((script(r) for _ in range(r.randrange(1, 4))), token(r))
    elif kind < 0.88:
        c.batch([encode("EVAL", "while true do end", "0")], token(r))
    elif kind < 0.94:
        c.batch([encode("SCRIPT", r.choice(("KILL", "FLUSH"))), encode("FUNCTION", r.choice(("KILL", "LIST", "STATS")))],
                token(r))
    elif kind < 0.97:
        lib = "#!lua name=l%d\nredis.register_function('f%d', function(k, a) return redis.call('GET', 's:0') end)"
        n = r.randrange(3)
        c.batch([encode("FUNCTION", "LOAD", "REPLACE", lib % (n, n)), encode("FCALL", "f%d" % n, "0")], token(r))
    else:
        c.batch([encode("FUNCTION", "FLUSH", r.choice(("ASYNC", "SYNC")))], token(r))


@sessions
def pairs(c, r):
    """Sets two keys together, and never sees them differ."""
    value = "p%d" % r.randrange(1 << 30)
    how = r.random()
    if how < 0.3:
        c.batch([encode("MULTI"), encode("SET", PAIR[0], value), encode("SET", PAIR[1], value), encode("EXEC")], token(r))
    elif how < 0.4:
        c.batch([encode("MSET", PAIR[0], value, PAIR[1], value)], token(r))
    elif how < 0.6:
        c.batch([encode("EVAL", TOGETHER, *r.choice((["0"], ["1", PAIR[0]], ["2", *PAIR])), value)], token(r))
    ask = r.choice(([encode("MGET", *PAIR)],
                    [encode("MULTI"), encode("GET", PAIR[0]), encode("GET", PAIR[1]), encode("EXEC")],
                    [encode("EVAL", "return {redis.call('GET', 'pair:a'), redis.call('GET', 'pair:b')}", "0")]))
    reply = c.batch(ask, token(r))[-1]
    if isinstance(reply, list) and len(reply) == 2 and all(isinstance(v, bytes) for v in reply) and reply[0] != reply[1]:
        raise AssertionError(f"seen half done: {reply!r}")


@sessions
def caches(c, r):
    """Tracks in all ways; in RESP2 to another connection."""
    c.do("HELLO", "3")
    options = r.choice(([], ["NOLOOP"], ["OPTIN"], ["OPTOUT"], ["BCAST"], ["BCAST", "PREFIX", "s:", "PREFIX", "h:"]))
    c.batch([encode("CLIENT", "TRACKING", "ON", *options)], token(r))
    for _ in range(r.randrange(30)):
        batch = [encode(*some(r)) for _ in range(r.randrange(1, 10))]
        if options in (["OPTIN"], ["OPTOUT"]):
            batch.insert(0, encode("CLIENT", "CACHING", "YES" if options == ["OPTIN"] else "NO"))
        c.batch(batch, token(r))
    if r.random() < 0.5:
        c.batch([encode("CLIENT", "TRACKING", "OFF")], token(r))


def subscribe(c, commands, token):
    """Commands that are answered by pushes, except those that a busy server refuses."""
    c.send(b"".join(commands) + encode("ECHO", token))
    reply = c.read()
    if isinstance(reply, ServerError):
        raise ConnectionError("nobody knows which of them was refused")
    if reply != token:
        raise AssertionError(f"out of step: {reply!r} and not {token!r} behind {commands!r}")


@sessions
def subscribers(c, r):
    c.do("HELLO", "3")
    name = r.choice(("c", "d", "__keyevent@0__:expired"))
    subscribe(c, [encode("SUBSCRIBE", name), encode("PSUBSCRIBE", r.choice(("*", "c*", "__key*"))), encode("SSUBSCRIBE", "c")],
              token(r))
    for _ in range(r.randrange(40)):
        c.batch([encode("PUBLISH", "c", "v" * r.randrange(3000)), encode(*some(r))], token(r))
    subscribe(c, [encode("UNSUBSCRIBE"), encode("PUNSUBSCRIBE"), encode("SUNSUBSCRIBE")], token(r))


def deaf(port, r, until, patience):
    """Subscribers, trackers and readers that do not read."""
    while time.time() < until:
        socks = []
        try:
            for _ in range(4):
                s = socket.socket()
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.settimeout(1)
                s.connect(("127.0.0.1", port))
                socks.append(s)
                s.sendall(encode("HELLO", "3") + r.choice((
                    encode("PSUBSCRIBE", "*"), encode("CLIENT", "TRACKING", "ON", "BCAST"), encode("MONITOR"),
                    b"".join(encode(*some(r)) for _ in range(300)),
                )))
            time.sleep(r.random() * 2)
        except OSError:
            pass
        for s in socks:
            s.close()


@sessions
def clients(c, r):
    """Commands of one connection that act on others."""
    listed = c.batch([encode("CLIENT", "LIST")], token(r))[0]
    if not isinstance(listed, bytes):
        return
    ids = [l.split(b" ", 1)[0][3:] for l in listed.splitlines()]
    someone = r.choice(ids or [b"1"])
    what = r.random()
    one = encode("CLIENT", "UNBLOCK", someone, r.choice(("TIMEOUT", "ERROR")))
    if what < 0.15:
        one = encode("CLIENT", "KILL", "ID", someone)
    elif what < 0.18:
        one = encode("CLIENT", "KILL", "TYPE", r.choice(("pubsub", "normal")), "SKIPME", r.choice(("yes", "no")))
    elif what < 0.25:
        one = encode("CLIENT", "PAUSE", str(r.randrange(60)), r.choice(("WRITE", "ALL")))
    elif what < 0.28:
        one = encode("CLIENT", "UNPAUSE")
    elif what < 0.3:
        one = encode("CLIENT", "NO-EVICT", r.choice(("on", "off")))
    elif what < 0.32:
        one = encode("CLIENT", "TRACKING", "ON", "REDIRECT", someone)
    if r.random() < 0.2:
        c.batch([encode("MULTI"), one, encode("EXEC")], token(r))
    else:
        c.batch([one], token(r))
    time.sleep(r.random() * 0.05)


@sessions
def operator(c, r):
    """The commands of an operator, much too often."""
    what = r.random()
    if what < 0.6:
        name, values = r.choice(SETTINGS)
        values = [v.lstrip("=") for v in values.split("|")] if "|" in values or values.startswith("=") else values.split(" ")
        reply = c.batch([encode("CONFIG", "SET", name, r.choice(values))], token(r))[0]
        if isinstance(reply, ServerError) and not str(reply).startswith(("LOADING", "BUSY")):
            print("NOTE:", name, reply, flush=True)
    elif what < 0.7:
        c.batch([encode(r.choice(("BGSAVE", "BGREWRITEAOF", "SAVE", "LASTSAVE")))], token(r))
    elif what < 0.74:
        c.batch([encode("DEBUG", r.choice(("RELOAD", "LOADAOF")))], token(r))
    elif what < 0.78:
        c.batch([encode(r.choice(("FLUSHALL", "FLUSHDB")), r.choice(("ASYNC", "SYNC")))], token(r))
    elif what < 0.84:
        c.batch([encode("SWAPDB", "0", "1")], token(r))
    else:
        c.batch([encode(*r.choice((("INFO", "everything"), ("MEMORY", "STATS"), ("DEBUG", "DIGEST"), ("SLOWLOG", "GET"),
                                   ("LATENCY", "HISTOGRAM"), ("MEMORY", "PURGE"), ("CONFIG", "RESETSTAT"),
                                   ("ACL", "SETUSER", "u", "on", "nopass", "~s:*", "+@all"), ("CONFIG", "GET", "*"),
                                   ("ACL", "DELUSER", "u"), ("COMMAND", "COUNT"), ("LATENCY", "RESET"),
                                   ("PUBSUB", "CHANNELS"), ("CLIENT", "INFO"), ("MEMORY", "DOCTOR"))))], token(r))
    time.sleep(r.random() * 0.1)


@sessions
def impostors(c, r):
    """Acts as a user whose rules come and go."""
    c.batch([encode("AUTH", "u", "x")] + [encode(*some(r)) for _ in range(r.randrange(20))], token(r))


KINDS = [plain, plain, plain, plain, transactions, transactions, blocked, blocked, blocked, blocked, scripts, scripts,
         pairs, pairs, caches, caches, subscribers, deaf, clients, operator, impostors]


def work(kind, port, seed, until, patience, failures):
    try:
        kind(port, random.Random(seed), until, patience)
    except BaseException as e:
        failures.put(f"{kind.__name__}: {type(e).__name__}: {str(e)[:2000]}")


def killer(port, until, patience, failures):
    """Ends scripts that do not end, while any client works."""
    while not until.wait(0.3):
        try:
            with Peer(port, patience) as c:
                for words in (("SCRIPT", "KILL"), ("FUNCTION", "KILL")):
                    c.send(encode(*words))
                    c.read()
        except Hang as e:
            failures.put(f"killer: {e}")
            # A client that waits for the script would count as hanging, too.
            return
        except (ConnectionError, OSError):
            pass


def load(server, seconds, a, seed):
    failures = multiprocessing.Queue()
    until = time.time() + seconds
    kinds = [k for k in KINDS if k.__name__ not in a.without]
    jobs = [
        multiprocessing.Process(target=work, args=(k, server.port, seed * 100 + i, until, a.patience, failures))
        for i, k in enumerate(kinds)
    ]
    stop = multiprocessing.Event()
    jobs.append(multiprocessing.Process(target=killer, args=(server.port, stop, a.patience, failures)))
    for j in jobs:
        j.start()
    for j in jobs[:-1]:
        j.join(max(1, until - time.time()) + 2 * a.patience)
        if j.is_alive():
            j.kill()
            failures.put("a load process did not end: a reply never came")
    stop.set()
    jobs[-1].join()
    found = []
    while not failures.empty():
        found.append(failures.get())
    return found


CALM = [("maxmemory", "0"), ("maxmemory-policy", "noeviction"), ("save", ""), ("notify-keyspace-events", ""),
        ("slowlog-log-slower-than", "-1"), ("latency-monitor-threshold", "0"), ("appendfsync", "everysec"),
        ("maxmemory-clients", "0"), ("hz", "10"), ("client-output-buffer-limit", "normal 0 0 0"), ("lua-time-limit", "5000")]


def calm(c, patience):
    """Ends the pause and the settings that the load has left behind, and awaits the end of its connections."""
    deadline = time.monotonic() + patience
    while True:
        try:
            c.do("CLIENT", "UNPAUSE")
            break
        except ServerError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    for name, value in CALM:
        c.do("CONFIG", "SET", name, value)
    while c.info()["connected_clients"] != "1" and time.monotonic() < deadline:
        time.sleep(0.1)
    # Keys with a deadline are removed.
    time.sleep(1.5)


def idle(c):
    """Waits until no snapshot and no rewrite is under way or owed."""
    names = ("rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled")
    deadline = time.monotonic() + 60
    while any(c.info("persistence").get(n, "0") != "0" for n in names) and time.monotonic() < deadline:
        time.sleep(0.1)


def same_again(c, wrong):
    """The data set is the same after it has been saved and loaded, and after the journal was replayed."""
    idle(c)
    before = c.do("DEBUG", "DIGEST")
    if c.info("persistence").get("aof_enabled") == "1":
        c.do("DEBUG", "LOADAOF")
        if c.do("DEBUG", "DIGEST") != before:
            wrong.append("the journal tells of another data set")
    before = c.do("DEBUG", "DIGEST")
    c.do("DEBUG", "RELOAD")
    if c.do("DEBUG", "DIGEST") != before:
        wrong.append("a snapshot holds another data set")


def settled(server, c):
    for words in (("SCRIPT", "FLUSH"), ("FUNCTION", "FLUSH"), ("SLOWLOG", "RESET"), ("ACL", "LOG", "RESET"),
                  ("CONFIG", "SET", "appendonly", "no"), ("FLUSHALL", "SYNC")):
        c.do(*words)
    deadline = time.monotonic() + 20
    while c.info().get("lazyfree_pending_objects", "0") != "0" and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    return c.info()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=int, default=300)
    p.add_argument("--threads", type=int, default=4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--patience", type=int, default=60)
    p.add_argument("--left-kib", type=int, default=9 * 1024)
    p.add_argument("--without", nargs="*", default=[], help="kinds of load to leave out, by name")
    a = p.parse_args()
    wrong = []
    with Server("--threads", a.threads, "--enable-debug-command", "yes", "--appendonly", "yes",
                "--lua-time-limit", 50) as s:
        used = []
        for seconds, seed in ((max(5, min(20, a.seconds // 8)), a.seed), (a.seconds, a.seed + 1)):
            wrong += load(s, seconds, a, seed)
            if not s.alive() or wrong:
                break
            print("NOTE: the load has ended", flush=True)
            with s.client() as c:
                calm(c, a.patience)
                info = c.info()
                for name in ("connected_clients", "blocked_clients", "tracking_clients", "pubsub_clients", "watching_clients",
                             "pubsub_channels", "pubsub_patterns", "total_blocking_keys", "total_watched_keys"):
                    if info.get(name, "0") != ("1" if name == "connected_clients" else "0"):
                        wrong.append(f"{name} is {info.get(name)}")
                same_again(c, wrong)
                info = settled(s, c)
                used.append(int(info["used_memory"]))
                report("chaos", seconds=seconds, commands=info["total_commands_processed"], used_kib=used[-1] // KIB,
                       rss_kib=s.rss() // KIB, keys=info.get("db0", "none"), errors=info["total_error_replies"])
                c.do("CONFIG", "SET", "appendonly", "yes")
                idle(c)
        if not s.alive():
            wrong.append(f"the server is gone: {s.process.poll()}")
        elif len(used) == 2 and used[1] - used[0] > a.left_kib * KIB:
            wrong.append(f"memory is still counted as used: {used}")
        wrong += s.complaints()
        for w in wrong:
            print("WRONG:", w[:3000])
        if wrong:
            print("LOG:", s.log_text()[-6000:])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
