"""A real redis-server beside Apus, whole replies, and all data of a server for comparison."""

import os
import shutil
import subprocess
import tempfile

from harness.ports import free_port
from harness.server import Raw, encode, wait_until

REDIS = os.environ.get("REDIS_BIN", "redis-server")


class Redis:
    """A real redis-server in a directory of its own, or another `program` that takes the same options."""

    def __init__(self, *options, program=REDIS, port=None):
        self.dir = tempfile.mkdtemp(prefix="redis-test-")
        self.port = port or free_port()
        command = [program, "--port", str(self.port), "--dir", self.dir, "--save", ""]
        with open(os.path.join(self.dir, "log"), "wb") as log:
            self.process = subprocess.Popen(
                command + [str(option) for option in options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.dir,
            )
        wait_until(self._listens, "redis-server listens")

    def _listens(self):
        try:
            with Client(self.port) as c:
                return not isinstance(c("PING"), Error) or True
        except OSError:
            return False

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Error(Exception):
    """An error reply."""

    def __eq__(self, other):
        return isinstance(other, Error) and self.args == other.args

    def __hash__(self):
        return hash(self.args)


class Client(Raw):
    """`c("GET", "k")` gives the whole reply."""

    def __call__(self, *args):
        self.send(encode(*args))
        return self.reply()

    def reply(self):
        line = self.line()
        if not line:
            raise AssertionError("the server has closed the connection")
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            return self.exactly(int(rest) + 2)[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        raise AssertionError(f"not a reply: {line!r}")

    def info(self, section="replication"):
        text = self("INFO", section).decode()
        pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
        return dict(pairs)


READERS = {
    b"string": lambda c, k: c("GET", k),
    b"list": lambda c, k: c("LRANGE", k, 0, -1),
    b"set": lambda c, k: sorted(c("SMEMBERS", k)),
    # Redis 7.0 prints scores with 17 digits.
    b"zset": lambda c, k: [(m, float(s)) for m, s in pairs(c("ZRANGE", k, 0, -1, "WITHSCORES"))],
    b"stream": lambda c, k: (c("XRANGE", k, "-", "+"), groups(c, k)),
    b"hash": lambda c, k: sorted(pairs(c("HGETALL", k))),
}


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def groups(c, key):
    """The consumer groups: what is the same in all versions of Redis."""
    found = []
    for group in c("XINFO", "GROUPS", key):
        fields = dict(pairs(group))
        pending = c("XPENDING", key, fields[b"name"])
        found.append((fields[b"name"], fields[b"last-delivered-id"], pending))
    return sorted(found, key=str)


def everything(port, databases=4):
    """All data: database and key to value and time of expiry."""
    data = {}
    with Client(port) as c:
        for db in range(databases):
            c("SELECT", db)
            for key in c("KEYS", "*"):
                kind = c("TYPE", key)
                if kind != b"none":
                    data[db, key] = (kind, READERS[kind](c, key), c("PEXPIRETIME", key))
    return data


def caught_up(primary, replica):
    """Whether the replica has executed everything that the primary has sent."""
    try:
        with Client(primary) as p, Client(replica) as r:
            ours, theirs = p.info(), r.info()
    except (AssertionError, ConnectionError):
        return False  # A Sentinel closes all connections of a server whose role it changes.
    return theirs.get("master_link_status") == "up" and (
        theirs["slave_repl_offset"] == ours["master_repl_offset"]
    )
