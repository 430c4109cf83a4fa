"""Long commands, which run on threads of their own, and what goes on beside them."""

import functools
import select
import tempfile
import unittest

from harness.server import Server, beyond_redis, encode, wait_until

MEMBERS = 100_000
# So many unions of one set take seconds, and a multiple of that in a debug build.
TIMES = 40


class Ended(Exception):
    """The long command has ended before the test had seen what goes on beside it."""


def on_threads(test):
    """Runs it with one and with two threads, with a longer command each time that it has ended too early."""

    @beyond_redis
    @functools.wraps(test)
    def run(self):
        for threads in (1, 2):
            self.times = TIMES
            with self.subTest(threads=threads):
                while True:
                    try:
                        test(self, threads)
                        break
                    except Ended:
                        self.assertLess(self.times, 16 * TIMES, "nothing goes on beside it")
                        self.times *= 2
                        self.doCleanups()

    return run


class Long(unittest.TestCase):
    def setUp(self):
        self.options = []

    def server(self, threads, *options):
        dir = tempfile.TemporaryDirectory(prefix="apus-test-")
        self.addCleanup(dir.cleanup)
        self.options = ["--dir", dir.name, "--threads", threads, *options]
        server = Server(*self.options)
        self.addCleanup(server.close)
        c = server.connect()
        self.addCleanup(c.close)
        for first in range(0, MEMBERS, 1000):
            c.send(encode("SADD", "big", *("member:%07d" % n for n in range(first, first + 1000))))
        c.exactly(len(":1000\r\n") * (MEMBERS // 1000))
        return server, c

    def info(self, c, section):
        return c.exactly(int(c.command("INFO", section)[1:]) + 2).decode()

    def is_under_way(self, c):
        """INFO would wait for it, as every command does that looks at all shards."""
        size = int(c.command("CLIENT", "LIST", "ID", self.waiting)[1:])
        return b" flags=b " in c.exactly(size + 2)

    def expect_under_way(self, c):
        if not self.is_under_way(c):
            raise Ended

    def begin(self, server, c):
        """A connection that waits for SUNIONSTORE."""
        waiting = server.connect()
        self.addCleanup(waiting.close)
        self.waiting = waiting.command("CLIENT", "ID")[1:].decode()
        waiting.send(encode("SUNIONSTORE", "union", *["big"] * self.times))
        ended = lambda: select.select([waiting.socket], [], [], 0)[0]
        wait_until(lambda: self.is_under_way(c) or ended(), "it is not handed over")
        return waiting

    def connections(self, server):
        """So many that there are some on each thread."""
        others = [server.connect() for _ in range(6)]
        for other in others:
            self.addCleanup(other.close)
            self.assertEqual(other.command("PING"), b"+PONG")
        return others

    def go_on(self, others):
        """No thread waits for the long command, or for a command that needs its shards."""
        for other in others:
            self.assertEqual(other.command("PING"), b"+PONG")
            self.expect_under_way(other)

    def end(self, waiting):
        self.assertEqual(waiting.line(), b":%d" % MEMBERS)

    @on_threads
    def test_a_snapshot_that_waits_for_it_stops_no_thread(self, threads):
        server, c = self.server(threads)
        c.command("SET", "before", "x")
        others = self.connections(server)
        waiting = self.begin(server, c)
        c.send(encode("BGSAVE"))
        self.go_on(others)
        self.end(waiting)
        self.assertEqual(c.line(), b"+Background saving started")
        saved = lambda: "rdb_bgsave_in_progress:0\r" in self.info(c, "persistence")
        wait_until(saved, "the snapshot does not end")
        self.assertIn("rdb_last_bgsave_status:ok\r", self.info(c, "persistence"))
        server.close()
        with Server(*self.options) as again, again.connect() as c:
            self.assertEqual(c.command("EXISTS", "before"), b":1")
            self.assertEqual(c.command("SCARD", "big"), b":%d" % MEMBERS)
            self.assertIn(c.command("SCARD", "union"), (b":0", b":%d" % MEMBERS))

    @on_threads
    def test_a_rewrite_of_the_journal_that_waits_for_it_stops_no_thread(self, threads):
        server, c = self.server(threads, "--appendonly", "yes")
        others = self.connections(server)
        waiting = self.begin(server, c)
        c.send(encode("BGREWRITEAOF"))
        self.go_on(others)
        self.end(waiting)
        self.assertEqual(c.line(), b"+Background append only file rewriting started")
        rewritten = lambda: "aof_rewrite_in_progress:0\r" in self.info(c, "persistence")
        wait_until(rewritten, "the rewrite does not end")
        self.assertIn("aof_last_bgrewrite_status:ok\r", self.info(c, "persistence"))
        self.assertEqual(c.command("SREM", "union", "member:0000000"), b":1")
        self.assertEqual(c.command("WAITAOF", "1", "0", "0"), b"*2")
        # As in a crash.
        server.close()
        with Server(*self.options) as again, again.connect() as c:
            self.assertEqual(c.command("SCARD", "big"), b":%d" % MEMBERS)
            self.assertEqual(c.command("SCARD", "union"), b":%d" % (MEMBERS - 1))

    @on_threads
    def test_a_monitor_sees_it_once_and_others_meanwhile(self, threads):
        server, c = self.server(threads)
        monitor = server.connect()
        self.addCleanup(monitor.close)
        self.assertEqual(monitor.command("MONITOR"), b"+OK")
        waiting = self.begin(server, c)
        self.assertEqual(c.command("ECHO", "meanwhile"), b"$9")
        self.assertEqual(c.line(), b"meanwhile")
        seen = []
        while not seen or b'"meanwhile"' not in seen[-1]:
            seen.append(monitor.line())
        self.expect_under_way(c)
        self.end(waiting)
        c.send(encode("ECHO", "end"))
        while b'"end"' not in seen[-1]:
            seen.append(monitor.line())
        times = sum(b'"SUNIONSTORE"' in line for line in seen)
        self.assertEqual(times, 1, "MONITOR shows it once")
        server.close()

    @on_threads
    def test_a_shutdown_saves_what_it_wrote(self, threads):
        server, c = self.server(threads)
        waiting = self.begin(server, c)
        c.send(encode("SHUTDOWN", "SAVE"))
        self.assertTrue(c.is_closed())
        self.assertEqual(server.wait(), 0)
        # One that had not begun is not run any more, and its client is not answered.
        answered = waiting.line() == b":%d" % MEMBERS
        with Server(*self.options) as again, again.connect() as c:
            saved = c.command("SCARD", "union")
            self.assertIn(saved, (b":%d" % MEMBERS, b":0"))
            self.assertTrue(saved != b":0" or not answered, "an acknowledged write is lost")


if __name__ == "__main__":
    unittest.main()
