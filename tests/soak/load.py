"""Clients that load a primary with random commands, each in a thread of its own, from a seed."""

import random
import socket
import threading

from common import Client, ServerError, encode


def read_rounds(path):
    """The requests in a file of `cargo xtask fuzz --print`."""
    rounds = []
    with open(path, "rb") as f:
        while line := f.readline():
            rounds.append(f.read(int(line)))
    return rounds


class Load(threading.Thread):
    """Connects again whenever the connection ends: some commands end it."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.rng = port, random.Random(seed)
        self.commands = 0
        self.ends = False

    def stop(self):
        self.ends = True

    def run(self):
        while not self.ends:
            try:
                with Client(self.port, timeout=60) as c:
                    while not self.ends:
                        self.step(c)
            except (ConnectionError, ValueError):
                pass

    def step(self, c):
        raise NotImplementedError


class Player(Load):
    """Sends whole rounds, and reads until their end."""

    def __init__(self, port, seed, rounds):
        super().__init__(port, seed)
        self.rounds = rounds

    def run(self):
        if self.rounds:
            super().run()

    def step(self, c):
        request = self.rng.choice(self.rounds)
        # Which form a HyperLogLog has depends on the settings of each server, and the form is data.
        request = request.replace(b"$20\r\nhll-sparse-max-bytes\r\n", b"$23\r\nzset-max-listpack-value\r\n")
        if self.rng.random() < 0.97:
            # Each round empties the databases: there would be nothing to compare.
            for name in (b"FLUSHALL", b"FLUSHDB"):
                request = request.replace(b"$%d\r\n%b\r\n" % (len(name), name), b"$4\r\nPING\r\n")
        end = b"end-%016x" % self.rng.randrange(1 << 64)
        # A round may end inside of a transaction, or with replies turned off.
        tail = encode("DISCARD") + encode("CLIENT", "REPLY", "ON") + encode("SELECT", 0) + encode("ECHO", end)
        sender = threading.Thread(target=quietly, args=(c.sock.sendall, request + tail), daemon=True)
        sender.start()
        seen = b""
        while end not in seen:
            data = c.sock.recv(1 << 16)
            if not data:
                raise ConnectionError("closed")
            seen = seen[-64:] + data
        sender.join()
        self.commands += request.count(b"\r\n*") + 1


def quietly(send, data):
    try:
        send(data)
    except OSError:
        pass


class Blocker(Load):
    """Waits for keys that others fill."""

    def step(self, c):
        r = self.rng
        lists, sets = [f"l{i}" for i in (1, 2, 3)], [f"z{i}" for i in (1, 2, 3)]
        r.shuffle(lists)
        command = r.choice([
            ("BLPOP", *lists, 0.05),
            ("BRPOP", *lists, 0.05),
            ("BLMOVE", lists[0], lists[1], "LEFT", "RIGHT", 0.05),
            ("BLMPOP", 0.05, 2, lists[0], lists[1], "LEFT", "COUNT", 2),
            ("BZPOPMIN", *sets, 0.05),
            ("BZMPOP", 0.05, 2, sets[0], sets[1], "MAX", "COUNT", 2),
            ("XREAD", "BLOCK", 20, "STREAMS", "x1", "$"),
            ("XREADGROUP", "GROUP", "g1", f"blocked{r.randrange(3)}", "BLOCK", 20, "STREAMS", "x1", ">"),
        ])
        c.pipeline([encode("SELECT", r.choice([0, 0, 1])), encode(*(str(w) for w in command))])
        self.commands += 1


LIBRARY = """#!lua name=%s
redis.register_function('%s_add', function(keys, args)
  local n = redis.call('INCRBY', keys[1], args[1])
  redis.call('RPUSH', keys[2], n, redis.call('TIME')[1] %% 2)
  if n %% 7 == 0 then redis.call('SPOP', keys[3], 2) end
  return n
end)
redis.register_function{function_name='%s_read', callback=function(keys) return redis.call('GET', keys[1]) end,
  flags={'no-writes'}}
"""
SCRIPT = """
redis.call('SELECT', ARGV[1])
for i = 1, #KEYS do redis.call('SET', KEYS[i], ARGV[2] .. i) end
redis.call('SADD', 'chosen', ARGV[2], ARGV[3])
local one = redis.call('SRANDMEMBER', 'chosen')
redis.call('HINCRBYFLOAT', 'sums', one, ARGV[3])
if ARGV[3] % 5 == 0 then redis.call('SPOP', 'chosen', 3) end
if ARGV[3] % 11 == 0 then return redis.call('INCR', 'chosen') end
return one
"""


class Extras(Load):
    """What the rounds have little of: functions, databases, short deadlines, many keys, groups, fields' deadlines."""

    def __init__(self, port, seed, has_field_deadlines):
        super().__init__(port, seed)
        self.jobs = [self.bulk] * 3 + [self.deadline] * 3 + [self.function, self.script, self.groups, self.transaction,
                                                             self.mixed, self.mixed, self.mixed]
        if has_field_deadlines:
            self.jobs += [self.fields] * 2

    def step(self, c):
        commands = [("SELECT", self.rng.randrange(4))]
        for _ in range(self.rng.randrange(1, 30)):
            commands += self.rng.choice(self.jobs)()
        if self.rng.random() < 0.004:
            commands.append(self.rng.choice([("FLUSHALL",), ("FLUSHDB",), ("FLUSHALL", "ASYNC"), ("SWAPDB", 0, 2)]))
        self.commands += len(commands)
        c.pipeline(encode(*(w if isinstance(w, bytes) else str(w) for w in words)) for words in commands)

    def key(self, kind):
        return f"{kind}{self.rng.randrange(1, 4)}"

    def n(self):
        return self.rng.randrange(40)

    def bulk(self):
        value = "v" * self.rng.choice([1, 10, 100, 3000])
        names = [f"m:{self.rng.randrange(6000)}" for _ in range(5)]
        return [("SET", name, value) for name in names] + [("PEXPIRE", names[0], 3_600_000)]

    def deadline(self):
        ms, key = self.rng.choice([1, 5, 30, 200, 900]), f"e:{self.rng.randrange(200)}"
        return [self.rng.choice([
            ("SET", key, self.n(), "PX", ms),
            ("PSETEX", key, ms, self.n()),
            ("PEXPIRE", self.key("hlstzx"[self.rng.randrange(6)]), ms),
            ("GETEX", key, "PX", ms),
            ("SET", key, "kept", "KEEPTTL"),
            ("PEXPIRE", key, ms, self.rng.choice(["NX", "XX", "GT", "LT"])),
            ("PERSIST", key),
            ("INCR", key),
            ("APPEND", key, "1"),
            ("RENAME", key, f"e:{self.n()}"),
        ])]

    def function(self):
        name = self.key("lib")
        if self.rng.random() < 0.2:
            return [self.rng.choice([
                ("FUNCTION", "LOAD", "REPLACE", LIBRARY % (name, name, name) + " " * self.n()),
                ("FUNCTION", "LOAD", LIBRARY % (name, name, name)),
                ("FUNCTION", "DELETE", name),
                ("FUNCTION", "FLUSH"),
            ])]
        return [("FCALL", f"{name}_add", 3, "fn", "fl", "t1", self.n()), ("FCALL_RO", f"{name}_read", 1, "fn")]

    def script(self):
        return [("EVAL", SCRIPT, 2, self.key("s"), self.key("s"), self.rng.randrange(4), self.n(), self.n())]

    def groups(self):
        x, r = self.key("x"), self.rng
        return [r.choice([
            ("XADD", x, "MAXLEN", "~", 50, "*", "f", self.n()),
            ("XADD", x, "*", "f", self.n(), "g", self.n()),
            ("XADD", x, "NOMKSTREAM", "*", "f", self.n()),
            ("XGROUP", "CREATE", x, "g1", "0", "MKSTREAM"),
            ("XGROUP", "CREATECONSUMER", x, "g1", f"c{r.randrange(5)}"),
            ("XGROUP", "DELCONSUMER", x, "g1", f"c{r.randrange(5)}"),
            ("XGROUP", "SETID", x, "g1", "$"),
            ("XREADGROUP", "GROUP", "g1", f"c{r.randrange(5)}", "COUNT", 5, "STREAMS", x, ">"),
            ("XREADGROUP", "GROUP", "g1", f"c{r.randrange(5)}", "COUNT", 5, "NOACK", "STREAMS", x, ">"),
            ("XAUTOCLAIM", x, "g1", f"c{r.randrange(5)}", 0, "0-0", "COUNT", 7),
            ("XTRIM", x, "MAXLEN", self.n()),
            ("XTRIM", x, "MINID", "~", "1-0"),
            ("XSETID", x, "99999999999999-0"),
        ])]

    def transaction(self):
        inner = [c for _ in range(4) for c in self.rng.choice([self.mixed, self.deadline, self.bulk, self.groups])()]
        end = ("EXEC",) if self.rng.random() < 0.9 else ("DISCARD",)
        start = [("WATCH", self.key("s"))] if self.rng.random() < 0.3 else []
        return [*start, ("MULTI",), *inner, ("SELECT", self.rng.randrange(4)), *inner[:3], end]

    def mixed(self):
        r, n, key = self.rng, self.n, self.key
        return [r.choice([
            ("LPUSH", key("l"), n(), n(), "x" * 100), ("RPUSH", key("l"), n()), ("LPOP", key("l"), 3),
            ("LINSERT", key("l"), "BEFORE", n(), n()), ("LTRIM", key("l"), 0, 60), ("LREM", key("l"), 0, n()),
            ("SADD", key("t"), n(), f"m{n()}"), ("SPOP", key("t")), ("SPOP", key("t"), 4),
            ("SMOVE", key("t"), key("t"), n()), ("SUNIONSTORE", key("t"), key("t"), key("t")),
            ("ZADD", key("z"), n(), f"m{n()}", 0.1 * n(), n()), ("ZINCRBY", key("z"), 0.1, f"m{n()}"),
            ("ZPOPMIN", key("z"), 2), ("ZRANGESTORE", key("z"), key("z"), 0, 10), ("ZMPOP", 1, key("z"), "MAX"),
            ("ZUNIONSTORE", key("z"), 2, key("z"), key("t")), ("HSET", key("h"), f"f{n()}", n()),
            ("HINCRBYFLOAT", key("h"), f"f{n()}", "0.1"), ("HDEL", key("h"), f"f{n()}"),
            ("INCRBYFLOAT", key("s"), "0.1"), ("INCR", key("s")), ("SETRANGE", key("s"), n(), "abc"),
            ("SETBIT", key("s"), n(), 1), ("BITFIELD", key("s"), "INCRBY", "u5", n(), 3),
            ("BITOP", "XOR", key("s"), key("s"), key("s")), ("PFADD", key("p"), n(), n()),
            ("PFMERGE", key("p"), key("p")), ("PFCOUNT", key("p")), ("GETDEL", key("s")), ("GETSET", key("s"), n()),
            ("MSET", key("s"), n(), key("s"), n()), ("MSETNX", key("s"), n(), f"new{n()}", n()),
            ("SORT", key("l"), "ALPHA", "STORE", key("l")), ("SORT", key("t"), "ALPHA", "DESC", "STORE", key("l")),
            ("GEOADD", key("g"), n(), n(), f"p{n()}"),
            ("GEOSEARCHSTORE", key("z"), key("g"), "FROMLONLAT", 10, 10, "BYRADIUS", 3000, "km"),
            ("RENAME", key("l"), key("l")), ("RENAMENX", key("t"), f"t{n()}"),
            ("COPY", key("h"), key("h"), "DB", r.randrange(4), "REPLACE"), ("MOVE", key("z"), r.randrange(4)),
            ("UNLINK", key("s"), key("l")), ("DEL", f"m:{r.randrange(3000)}"), ("PUBLISH", "channel", n()),
            ("LMOVE", key("l"), key("l"), "LEFT", "RIGHT"), ("RPOPLPUSH", key("l"), key("l")),
            ("EXPIREAT", key("h"), 1), ("RESTORE", "bad", 0, b"\x00\x01"),
        ])]

    def fields(self):
        ms, h = self.rng.choice([1, 20, 400, 3_600_000]), self.key("h")
        some = ("FIELDS", 2, f"f{self.n()}", f"f{self.n()}")
        return [self.rng.choice([
            ("HPEXPIRE", h, ms, *some), ("HPEXPIRE", h, ms, "NX", *some), ("HPERSIST", h, *some),
            ("HSETEX", h, "PX", ms, "FIELDS", 1, f"f{self.n()}", self.n()), ("HGETEX", h, "PX", ms, *some),
            ("HGETDEL", h, *some), ("HPEXPIREAT", h, 1, *some),
        ])]
