"""From a Redis with an append-only file to Apus and back, as docs/durability.md says."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness.server import Raw, Server, beyond_redis, encode, free_port, wait_until


class Redis:
    """A real redis-server in a directory that others have used."""

    def __init__(self, dir, appendonly):
        self.port = free_port()
        options = ["--save", "", "--appendonly", appendonly, "--dir", dir]
        command = ["redis-server", "--port", str(self.port), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_until(self._serves, "redis-server serves")

    def _serves(self):
        try:
            with self.connect() as c:
                return c.command("PING") == b"+PONG"
        except OSError:
            return False

    def connect(self):
        return Raw(self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


@beyond_redis
@unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
class Rollback(unittest.TestCase):
    def setUp(self):
        dir = tempfile.TemporaryDirectory(prefix="apus-test-")
        self.addCleanup(dir.cleanup)
        self.dir = dir.name

    def get(self, server, key):
        with server.connect() as c:
            return c.line() if c.command("GET", key) != b"$-1" else None

    def test_there_and_back(self):
        with Redis(self.dir, "yes") as redis, redis.connect() as c:
            self.assertEqual(c.command("SET", "k", "old"), b"+OK")
            self.assertEqual(c.command("RPUSH", "l", "a", "b"), b":2")
        with Server("--dir", self.dir, "--appendonly", "yes") as server, server.connect() as c:
            self.assertEqual(self.get(server, "k"), b"old")
            self.assertEqual(c.command("SET", "k", "new"), b"+OK")
            self.assertEqual(c.command("RPUSH", "l", "c"), b":3")
            c.send(encode("SHUTDOWN", "SAVE"))
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)
        # Without the next step, Redis would load its own files, which are unchanged.
        with Redis(self.dir, "yes") as redis:
            self.assertEqual(self.get(redis, "k"), b"old")
        os.rename(os.path.join(self.dir, "appendonlydir"), os.path.join(self.dir, "aside"))
        with Redis(self.dir, "no") as redis, redis.connect() as c:
            self.assertEqual(self.get(redis, "k"), b"new")
            self.assertEqual(c.command("LLEN", "l"), b":3")
            self.assertEqual(c.command("CONFIG", "SET", "appendonly", "yes"), b"+OK")
            self.assertEqual(c.command("SET", "n", "1"), b"+OK")
            made = os.path.join(self.dir, "appendonlydir", "appendonly.aof.1.base.rdb")
            wait_until(lambda: os.path.exists(made), "the first rewrite is done")
        with Redis(self.dir, "yes") as redis:
            self.assertEqual((self.get(redis, "k"), self.get(redis, "n")), (b"new", b"1"))
        # And there again, by the same way as at first.
        with Server("--dir", self.dir, "--appendonly", "yes") as server:
            self.assertEqual((self.get(server, "k"), self.get(server, "n")), (b"new", b"1"))
