"""Keys that move between servers: from Apus to Apus, and to and from a real Redis."""

import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from harness.server import Raw, Server, encode, free_port, wait_until

# One of every type that Redis 7.0 knows, small and big.
VALUES = [
    ["SET", "s", "text"],
    ["SETRANGE", "big", 3_000_000, "end"],
    ["RPUSH", "l", *range(20)],
    ["RPUSH", "ll", *(f"element {i}" for i in range(3_000))],
    ["SADD", "i", *range(100)],
    ["SADD", "t", *(f"member {i}" for i in range(1_000))],
    ["HSET", "h", "f", 1, "g", "two"],
    ["HSET", "hh", *(f"x{i}" for i in range(2_000))],
    ["ZADD", "z", "1.5", "a", "-inf", "b"],
    ["ZADD", "zz", *(x for i in range(1_000) for x in (i, f"m{i}"))],
    ["XADD", "x", "1-1", "f", "v"],
    ["PFADD", "p", *range(50)],
]
KEYS = [value[1] for value in VALUES]


class Redis:
    """A real redis-server."""

    def __init__(self):
        self.port = free_port()
        # It would load the files of the directory in which it is started.
        self.dir = tempfile.mkdtemp(prefix="apus-test-")
        command = ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.dir)
        wait_until(self._listens, "redis-server listens")

    def _listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def connect(self):
        return Raw(self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


class Migrate(unittest.TestCase):
    def there_and_back(self, a, b):
        with a.connect() as here, b.connect() as there:
            for value in VALUES:
                self.assertRegex(here.command(*value), rb"^[+:$]")
                if value[0] == "XADD":
                    here.line()
            self.assertEqual(here.command("PEXPIRE", "s", 1_000_000), b":1")
            dumps = {key: self.bulk(here, "DUMP", key) for key in KEYS}
            target = ["MIGRATE", "127.0.0.1", b.port]
            self.assertEqual(here.command(*target, "s", 0, 60_000), b"+OK")
            self.assertEqual(here.command(*target, "", 0, 60_000, "KEYS", *KEYS), b"+OK")
            self.assertEqual(here.command("DBSIZE"), b":0")
            left = int(there.command("PTTL", "s")[1:])
            self.assertTrue(900_000 < left <= 1_000_000, left)
            self.assertEqual(there.command("EXISTS", *KEYS), b":%d" % len(KEYS))
            # Back, where the deadline is no part of a dump, and the dumps are the same again.
            target = ["MIGRATE", "127.0.0.1", a.port]
            self.assertEqual(there.command(*target, "", 0, 60_000, "COPY", "KEYS", *KEYS), b"+OK")
            busy = b"^-ERR Target instance replied with error: BUSYKEY"
            self.assertRegex(there.command(*target, "s", 0, 60_000), busy)
            self.assertEqual(there.command(*target, "s", 0, 60_000, "REPLACE"), b"+OK")
            self.assertEqual(there.command(*target, "s", 0, 60_000), b"+NOKEY")
            for key in KEYS:
                # Redis may have another encoding of the same value, and hash tables have any order.
                if type(a) is type(b) and key not in ("t", "hh"):
                    self.assertEqual(self.bulk(here, "DUMP", key), dumps[key], key)
            self.assertEqual(here.command("EXISTS", *KEYS), b":%d" % len(KEYS))
            self.assertEqual(here.command("ZSCORE", "z", "a") + here.line(), b"$31.5")
            self.assertEqual(here.command("LLEN", "ll"), b":3000")
            self.assertEqual(here.command("HLEN", "hh"), b":1000")

    def bulk(self, c, *args):
        size = int(c.command(*args)[1:])
        return c.exactly(size + 2)[:-2]

    def test_between_two(self):
        with Server("--threads", "2") as a, Server("--threads", "1") as b:
            self.there_and_back(a, b)

    @unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
    def test_with_redis(self):
        with Server() as a, Redis() as b:
            self.there_and_back(a, b)
        with Redis() as a, Server() as b:
            self.there_and_back(a, b)

    def test_passwords(self):
        with Server() as a, Server("--requirepass", "secret") as b, a.connect() as c:
            target = ["MIGRATE", "127.0.0.1", b.port, "k", 0, 60_000]
            c.command("SET", "k", "v")
            self.assertRegex(c.command(*target), b"^-ERR Target instance replied with error: NOAUTH")
            self.assertRegex(c.command(*target, "AUTH", "x"), b"^-ERR Target .*: WRONGPASS")
            self.assertEqual(c.command(*target, "COPY", "AUTH", "secret"), b"+OK")
            self.assertEqual(c.command(*target, "REPLACE", "AUTH2", "default", "secret"), b"+OK")
            self.assertEqual(c.command("EXISTS", "k"), b":0")

    def test_a_closed_port(self):
        with Server() as a, a.connect() as c, socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            c.command("SET", "k", "v")
            for port in bound.getsockname()[1], 0:
                reply = c.command("MIGRATE", "127.0.0.1", port, "k", 0, 1000)
                self.assertEqual(reply, b"-IOERR error or timeout writing to target instance")
            # A label of more than 63 characters cannot be asked for: no name server is.
            reply = c.command("MIGRATE", "x" * 100, 6379, "k", 0, 1000)
            self.assertEqual(reply, b"-IOERR error or timeout connecting to the client")
            self.assertEqual(c.command("EXISTS", "k"), b":1")

    def test_a_target_that_does_not_answer_holds_nobody_else_up(self):
        with Server("--threads", "1") as a, socket.socket() as dumb:
            dumb.bind(("127.0.0.1", 0))
            dumb.listen()
            with a.connect() as c, a.connect() as other:
                c.command("MSET", "k", 1, "free", 2)
                began = time.monotonic()
                c.send(encode("MIGRATE", "127.0.0.1", dumb.getsockname()[1], "k", 0, 1500))
                connection, _ = dumb.accept()
                self.assertEqual(other.command("INCR", "free"), b":3")
                # It names the key: it is answered when that is decided.
                self.assertEqual(other.command("INCR", "k"), b":2")
                self.assertEqual(c.line(), b"-IOERR error or timeout reading to target instance")
                self.assertGreater(time.monotonic() - began, 1.4)
                connection.close()
