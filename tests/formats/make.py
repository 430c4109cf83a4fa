"""Writes the files of one version's formats, for tests/clients/raw/test_formats.py: `make.py VERSION`.

`APUS_BIN` names a binary of that version, and `MINIO` the server of an object store (`cargo xtask test` has one built).
Run once per released version, before its formats change. Each directory has what a server leaves behind, and
`replies.json` the replies that a later version must give. Directories that are there are never written again.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "clients"))

from harness.bucket import MINIO, Bucket  # noqa: E402
from harness.objects import Objects  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.server import Server, encode, wait_until  # noqa: E402

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


def rewrite(server, c):
    """BGREWRITEAOF, to its end."""
    c.command("BGREWRITEAOF")
    wait_until(lambda: b"aof_rewrite_in_progress:0" in info(c, "persistence"), "the journal is rewritten")


def fail_to_rewrite(server, c):
    """A rewrite that cannot write its base: it has begun a segment, and the earlier ones stay."""
    dir = os.path.join(server.data, "appendonlydir")
    blocked = [os.path.join(dir, f"appendonly.aof.{n}.base") for n in range(2, 9)]
    blocked = [name + end for name in blocked for end in ("", ".tmp") if not os.path.exists(name)]
    for name in blocked:
        os.mkdir(name)
    rewrite(server, c)
    for name in blocked:
        os.rmdir(name)


def ask_for_copy(server, c):
    """A replica comes and goes. From here on the server has a backlog, and so a position in a stream."""
    with server.connect() as replica:
        replica.send(encode("PSYNC", "?", "-1"))
        replica.line()


def info(c, section):
    c.send(encode("INFO", section))
    return whole(c)


def position(server, c):
    """The history that the server goes on with."""
    names = (b"master_replid2:", b"second_repl_offset:", b"master_repl_offset:")
    lines = info(c, "replication").replace(b"\r", b"").split(b"\n")
    return b"\n".join(line for line in lines if line.startswith(names))


def bucket_opens(server, c):
    wait_until(lambda: not ask(server, c, [["TOPIC.LIST"]])[0].startswith("-"), "the bucket is open")


REWRITTEN_WRITES = [
    *(["SET", f"key {i}", f"of the base {i}"] for i in range(20)),
    ["RPUSH", "list", "a", "b"],
    rewrite,
    ["SET", "key 1", "of the next segment"],
    ["RPUSH", "list", "c"],
    fail_to_rewrite,
    ["SET", "key 2", "of the segment behind it"],
    ["MULTI"],
    ["RPUSH", "list", "d"],
    ["DEL", "key 3"],
    ["EXEC"],
]

REWRITTEN_READS = [
    *(["GET", f"key {i}"] for i in range(20)),
    ["LRANGE", "list", "0", "-1"],
    ["DBSIZE"],
    ["DEBUG", "DIGEST"],
]

RECORD = "a record that repeats itself, " * 10

COMPRESSED_WRITES = [
    *(["TOPIC.CREATE", name, "compression", name] for name in ("lz4", "zstd")),
    *(["TOPIC.APPEND", t, "RECORDS", *(f"{RECORD}{i}" for i in range(20))] for t in ("lz4", "zstd")),
]

COMPRESSED_READS = [["TOPIC.READ", name, "0", "COUNT", "100"] for name in ("lz4", "zstd")]

POSITION_WRITES = [ask_for_copy, ["SET", "a", "1"], ["SELECT", "2"], ["INCR", "b"]]
POSITION_READS = [position, ["GET", "a"], ["SELECT", "2"], ["GET", "b"]]

ACL_WRITES = [
    ["ACL", "SETUSER", "alice", "on", ">secret", "~cached:*", "%R~read:*", "&news.*", "+@read", "+set", "-get"],
    ["ACL", "SETUSER", "alice", "(+get ~other:*)", "(+@all -@dangerous %W~w:*)"],
    ["ACL", "SETUSER", "bob", "off", "nopass", "sanitize-payload", "allkeys", "+config|get"],
    ["ACL", "SAVE"],
]

ACL_READS = [
    ["ACL", "LIST"],
    ["ACL", "GETUSER", "alice"],
    ["ACL", "GETUSER", "bob"],
    ["AUTH", "alice", "wrong"],
    ["AUTH", "alice", "secret"],
    ["GET", "read:a"],
    ["GET", "other:a"],
]

LIVE = {
    "client": {"insecure": True},
    "channel": {
        "without_namespace": {"force_recovery": True, "history_size": 5, "history_ttl": "1000000h",
                              "history_meta_ttl": "1000000h"},
        "namespaces": [{"name": "last", "history_size": 1, "history_ttl": "1000000h",
                        "history_meta_ttl": "1000000h", "force_recovery": True}],
    },
}

LIVE_WRITES = [
    *(["LIVE.PUBLISH", "news", json.dumps({"n": i})] for i in range(8)),
    ["LIVE.PUBLISH", "last:a", '"only this"'],
    ["LIVE.PUBLISH", "removed", "1"],
    ["LIVE.HISTORY_REMOVE", "removed"],
]

LIVE_READS = [
    *(["LIVE.HISTORY", channel, "LIMIT", "10"] for channel in ("news", "last:a", "removed")),
    ["LIVE.PUBLISH", "news", "9"],
    ["DBSIZE"],
]

# Each append is an object: a few are enough.
OBJECT_WRITES = [
    bucket_opens, *TOPIC_WRITES[:2], TOPIC_WRITES[-2], ["TOPIC.COMMIT", "fruit", "group", "3"], *COMPRESSED_WRITES
]
OBJECT_READS = [bucket_opens, *TOPIC_READS, *COMPRESSED_READS]

# Options, writes and reads. `{dir}` is the directory of the files, `{port}` a free port.
SERVERS = {
    "snapshot": (("--save", "3600 1"), WRITES, READS),
    "journal": (("--appendonly", "yes"), WRITES, READS),
    "rewritten": (("--appendonly", "yes"), REWRITTEN_WRITES, REWRITTEN_READS),
    "topics": ((), TOPIC_WRITES, TOPIC_READS),
    "compressed": ((), COMPRESSED_WRITES, COMPRESSED_READS),
    "position": (("--appendonly", "yes"), POSITION_WRITES, POSITION_READS),
    "acl": (("--aclfile", "{dir}/users.acl"), ACL_WRITES, ACL_READS),
    "live": (("--save", "3600 1", "--web-port", "{port}", "--live-config", "{dir}/live.json"), LIVE_WRITES, LIVE_READS),
    "objects": (("--topic-storage", Bucket.url), OBJECT_WRITES, OBJECT_READS),
}

# Files that a server reads and does not write.
GIVEN = {"acl": ("users.acl", ""), "live": ("live.json", json.dumps(LIVE) + "\n")}


def whole(c):
    """One reply, as the bytes that arrived."""
    line = c.line()
    kind, rest = line[:1], line[1:]
    if kind == b"$" and rest != b"-1":
        return line + b"\n" + c.exactly(int(rest) + 2)[:-2]
    if kind == b"*" and rest != b"-1":
        return b"\n".join([line, *(whole(c) for _ in range(int(rest)))])
    return line


def ask(server, c, steps):
    """The replies to commands; a function among them is called, and may have a reply."""
    replies = []
    for step in steps:
        if callable(step):
            replies.append((step(server, c) or b"").decode("latin-1"))
            continue
        c.send(encode(*step))
        replies.append(whole(c).decode("latin-1"))
    return replies


def serve(name, dir, steps, end=lambda server, c: None):
    """What a server with the files in `dir` replies. `end` ends it, if it is to end in order."""
    options = SERVERS[name][0]
    options = [o.replace("{dir}", dir).replace("{port}", str(free_port())) for o in options]
    bucket = Bucket() if name == "objects" else contextlib.nullcontext()
    with bucket:
        objects = Objects(bucket.env) if name == "objects" else None
        if objects:
            fill(objects, dir)
        env = bucket.env if objects else None
        own = ("--dir", tempfile.mkdtemp(dir=dir)) if objects else ("--dir", dir)
        with Server("--enable-debug-command", "yes", *own, *options, env=env) as server, server.connect() as c:
            server.data = dir
            replies = ask(server, c, steps)
            end(server, c)
        if objects:
            shutil.rmtree(own[1])
            save(objects, dir)
    return replies


def fill(objects, dir):
    for at, _, files in os.walk(dir):
        for file in files:
            path = os.path.join(at, file)
            with open(path, "rb") as f:
                objects.put(os.path.relpath(path, dir), f.read())


def save(objects, dir):
    for key in objects.keys():
        path = os.path.join(dir, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(objects.get(key))


def replay(name, files):
    """The replies of a server that starts with a copy of the files."""
    with tempfile.TemporaryDirectory() as dir:
        copy = os.path.join(dir, "copy")
        shutil.copytree(files, copy)
        return serve(name, copy, SERVERS[name][2])


def make(name, files):
    def end(server, c):
        c.send(encode("SHUTDOWN"))
        server.wait()

    with tempfile.TemporaryDirectory() as dir:
        if name in GIVEN:
            with open(os.path.join(dir, GIVEN[name][0]), "w") as file:
                file.write(GIVEN[name][1])
        wrong = [r for r in serve(name, dir, SERVERS[name][1], end) if r.startswith("-")]
        if wrong:
            sys.exit(f"{name}: {wrong}")
        shutil.copytree(dir, files)


def main():
    version = os.path.join(HERE, sys.argv[1])
    if not MINIO:
        sys.exit("MINIO names no server of an object store")
    path = os.path.join(version, "replies.json")
    replies = {}
    if os.path.exists(path):
        with open(path) as file:
            replies = json.load(file)
    for name in SERVERS:
        files = os.path.join(version, name)
        if not os.path.exists(files):
            make(name, files)
            replies[name] = replay(name, files)
    with open(path, "w") as file:
        json.dump(replies, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
