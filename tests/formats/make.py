"""Writes the files of one version's formats, for tests/clients/raw/test_formats.py: `make.py VERSION`.

`APUS_BIN` names a binary of that version. Run once per released version, before its formats change; what
is there is never written again. Three directories, each with what a server leaves behind, and `replies.json`
with the questions that a later version must answer in the same way.
"""

import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "clients"))

from harness.server import Server, encode  # noqa: E402

FAR = "4102444800000"  # The year 2100, in milliseconds.
BIG = "a value that is longer than one of the small ones " * 40

WRITES = [
    ["SET", "string", "value"],
    ["SET", "integer", "-12345"],
    ["SET", "empty", ""],
    ["SET", "big", BIG],
    ["SET", "binary", "nul:\0, line: \r\n, end"],
    ["SET", "deadline", "x", "PXAT", FAR],
    ["RPUSH", "list", *(f"element {i}" for i in range(300)), BIG],
    ["RPUSH", "small list", "a", "1", "-7"],
    ["SADD", "integers", *(str(i * 7) for i in range(50))],
    ["SADD", "small set", "a", "b", "12"],
    ["SADD", "set", *(f"member {i}" for i in range(300))],
    ["HSET", "small hash", "field", "value", "other", "17"],
    ["HSET", "hash", *(w for i in range(300) for w in (f"field {i}", f"value {i}"))],
    ["HSET", "fields", "stays", "1", "ends", "2"],
    ["HPEXPIREAT", "fields", FAR, "FIELDS", "1", "ends"],
    ["ZADD", "small zset", "1", "a", "-2.5", "b", "inf", "c"],
    ["ZADD", "zset", *(w for i in range(300) for w in (str(i / 8), f"member {i}"))],
    ["XADD", "stream", "1-1", "name", "first"],
    ["XADD", "stream", "1-2", "name", "second", "more", "field"],
    ["XADD", "stream", "5-0", "other", "shape"],
    ["XDEL", "stream", "1-2"],
    ["XGROUP", "CREATE", "stream", "group", "0"],
    ["XREADGROUP", "GROUP", "group", "alice", "COUNT", "1", "STREAMS", "stream", ">"],
    ["PFADD", "sketch", *(str(i) for i in range(1000))],
    ["SETBIT", "bits", "1000", "1"],
    ["GEOADD", "geo", "13.361389", "38.115556", "Palermo"],
    ["FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 42 end)"],
    ["SELECT", "3"],
    ["SET", "elsewhere", "three"],
]

READS = [
    *(["GET", key] for key in ("string", "integer", "empty", "big", "binary", "deadline")),
    ["PEXPIRETIME", "deadline"],
    ["LRANGE", "list", "0", "-1"],
    ["LRANGE", "small list", "0", "-1"],
    *(["SORT", key, "ALPHA"] for key in ("integers", "small set", "set")),
    ["HGETALL", "small hash"],
    ["HMGET", "hash", "field 0", "field 299", "field 300"],
    ["HLEN", "hash"],
    ["HPEXPIRETIME", "fields", "FIELDS", "2", "stays", "ends"],
    ["ZRANGE", "small zset", "0", "-1", "WITHSCORES"],
    ["ZRANGE", "zset", "0", "-1", "WITHSCORES"],
    ["XRANGE", "stream", "-", "+"],
    ["XINFO", "GROUPS", "stream"],
    ["XPENDING", "stream", "group"],
    ["PFCOUNT", "sketch"],
    ["GETBIT", "bits", "1000"],
    ["GEOPOS", "geo", "Palermo"],
    ["FCALL", "f", "0"],
    ["DBSIZE"],
    ["SELECT", "3"],
    ["GET", "elsewhere"],
    ["DEBUG", "DIGEST"],
]

TOPIC_WRITES = [
    *(["TOPIC.APPEND", "fruit", "RECORDS", f"apple {i}", f"pear {i}"] for i in range(20)),
    ["TOPIC.APPEND", "fruit", "PRODUCER", "7", "0", "RECORDS", "a numbered one"],
    ["TOPIC.COMMIT", "fruit", "group", "17"],
]

TOPIC_READS = [
    ["TOPIC.READ", "fruit", "0", "COUNT", "100"],
    ["TOPIC.COMMITTED", "fruit", "group"],
    # The producer's record is not stored a second time.
    ["TOPIC.APPEND", "fruit", "PRODUCER", "7", "0", "RECORDS", "a numbered one"],
    ["TOPIC.APPEND", "fruit", "RECORDS", "the next"],
]

SERVERS = {
    "snapshot": (("--save", "3600 1"), WRITES, READS),
    "journal": (("--appendonly", "yes"), WRITES, READS),
    "topics": ((), TOPIC_WRITES, TOPIC_READS),
}


def whole(c):
    """One reply, as the bytes that arrived."""
    line = c.line()
    kind, rest = line[:1], line[1:]
    if kind == b"$" and rest != b"-1":
        return line + b"\n" + c.exactly(int(rest) + 2)[:-2]
    if kind == b"*" and rest != b"-1":
        return b"\n".join([line, *(whole(c) for _ in range(int(rest)))])
    return line


def ask(c, commands):
    replies = []
    for words in commands:
        c.send(encode(*words))
        replies.append(whole(c).decode("latin-1"))
    return replies


def replay(files, options, reads):
    """The replies of a server that starts with a copy of the files."""
    with tempfile.TemporaryDirectory() as dir:
        copy = os.path.join(dir, "copy")
        shutil.copytree(files, copy)
        with Server("--enable-debug-command", "yes", "--dir", copy, *options) as server:
            with server.connect() as c:
                return ask(c, reads)


def main():
    version = os.path.join(HERE, sys.argv[1])
    if os.path.exists(version):
        sys.exit(f"{version} is there already: files of a version are written once")
    replies = {}
    for name, (options, writes, reads) in SERVERS.items():
        with Server("--enable-debug-command", "yes", *options) as server, server.connect() as c:
            wrong = [r for r in ask(c, writes) if r.startswith("-")]
            if wrong:
                sys.exit(f"{name}: {wrong}")
            c.send(encode("SHUTDOWN"))
            server.wait()
            shutil.copytree(server.dir, os.path.join(version, name))
        replies[name] = replay(os.path.join(version, name), options, reads)
    with open(os.path.join(version, "replies.json"), "w") as file:
        json.dump(replies, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
