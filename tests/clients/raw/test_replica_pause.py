"""CLIENT PAUSE on a replica, its options while the link is up, and commands of the stream that fail."""

import shutil
import signal
import unittest

from harness.replication import REDIS, Client, Error, Redis, caught_up
from harness.server import Server, beyond_redis, wait_until

QUICK = ("--repl-diskless-sync-delay", 0)
HOUR_MS = 3_600_000


def read_offset(c):
    return int(c.info()["slave_read_repl_offset"])


def executed_offset(c):
    return int(c.info()["slave_repl_offset"])


class Pause(unittest.TestCase):
    def follow(self, primary, replica):
        with Client(replica.port) as r:
            self.assertEqual(r("REPLICAOF", "127.0.0.1", primary.port), b"OK")
        wait_until(lambda: caught_up(primary.port, replica.port), "the replica follows")

    def paused(self, primary, replica, p, r, how):
        """A replica that has received a change and does not execute it."""
        self.follow(primary, replica)
        p("SET", "k", "1")
        wait_until(lambda: r("GET", "k") == b"1", "the first change is there")
        self.assertEqual(r("CLIENT", "PAUSE", HOUR_MS, how), b"OK")
        p("SET", "k", "2")
        offset = int(p.info()["master_repl_offset"])
        if how == "WRITE":
            wait_until(lambda: read_offset(r) >= offset, "the change has arrived")
            self.assertLess(executed_offset(r), offset)
            self.assertEqual(r("GET", "k"), b"1")

    def test_the_stream_waits_for_its_end(self):
        with Server(*QUICK) as primary, Server("--threads", 2) as replica:
            with Client(primary.port) as p, Client(replica.port) as r:
                self.paused(primary, replica, p, r, "WRITE")
                # The link lives: it acknowledges what was executed.
                self.assertEqual(p("WAIT", 1, 100), 0)
                self.assertEqual(p.info()["slave0"].split("state=")[1].split(",")[0], "online")
                self.assertEqual(r("CLIENT", "UNPAUSE"), b"OK")
                wait_until(lambda: r("GET", "k") == b"2", "the change is executed")
                self.assertEqual(p("WAIT", 1, 0), 1)

    @beyond_redis
    def test_a_promotion_does_not_wait_for_its_end(self):
        for threads in (1, 2):
            with self.subTest(threads=threads), Server(*QUICK) as primary:
                with Server("--threads", threads) as replica:
                    with Client(primary.port) as p, Client(replica.port) as r:
                        self.paused(primary, replica, p, r, "WRITE")
                        self.assertEqual(r("REPLICAOF", "NO", "ONE"), b"OK")
                        self.assertEqual(r("ROLE")[0], b"master")
                        self.assertEqual(r("CLIENT", "UNPAUSE"), b"OK")
                        self.assertEqual(r("GET", "k"), b"1")

    @unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
    def test_in_a_transaction(self):
        """The thread that executes it may have locked what the stream waits for."""
        with Redis(*QUICK) as primary, Server("--threads", 2) as replica:
            with Client(primary.port) as p, Client(replica.port) as r:
                self.follow(primary, replica)
                for words in (("MULTI",), ("GET", "k"), ("CLIENT", "PAUSE", HOUR_MS, "WRITE")):
                    r(*words)
                p("SET", "k", "1")
                self.assertEqual(r("EXEC")[1], b"OK")
                r("CLIENT", "UNPAUSE")
                wait_until(lambda: r("GET", "k") == b"1", "the change is executed")


class Link(unittest.TestCase):
    def follow(self, primary, replica):
        Pause.follow(self, primary, replica)

    def test_a_new_timeout_is_for_the_link_that_is_there(self):
        with Server(*QUICK) as primary, Server("--repl-timeout", 86400) as replica:
            self.follow(primary, replica)
            with Client(replica.port) as r:
                primary.process.send_signal(signal.SIGSTOP)
                self.assertEqual(r("CONFIG", "SET", "repl-timeout", 1), b"OK")
                wait_until(lambda: r.info()["master_link_status"] == "down", "the link is given up")
                primary.process.send_signal(signal.SIGCONT)

    def test_a_transaction_sees_the_role_that_it_takes(self):
        with Server(*QUICK) as primary, Server() as replica, Client(replica.port) as r:
            r("MULTI")
            r("REPLICAOF", "127.0.0.1", primary.port)
            r("INFO", "replication")
            ok, info = r("EXEC")
            self.assertEqual(ok, b"OK")
            self.assertIn(b"role:slave", info)
            self.assertIn(b"master_link_status:down", info)
            wait_until(lambda: caught_up(primary.port, replica.port), "it follows")
            # From one primary to another.
            with Server(*QUICK) as second, Client(second.port) as s:
                s("SET", "k", "second")
                r("MULTI")
                r("REPLICAOF", "127.0.0.1", second.port)
                r("EXEC")
                wait_until(lambda: r("GET", "k") == b"second", "it follows the other")

    def test_commands_that_fail_are_told(self):
        debug = ("--enable-debug-command", "yes")
        with Server(*QUICK, *debug) as primary, Server() as replica:
            self.follow(primary, replica)
            with Client(primary.port) as p, Client(replica.port) as r:
                p("SET", "text", "x")
                for words in (("NO-SUCH-COMMAND",), ("INCR", "text")):
                    self.assertEqual(p("DEBUG", "REPLICATE", *words), b"OK")
                p("SET", "last", "1")
                wait_until(lambda: r("GET", "last") == b"1", "the stream goes on")
                for text in ("unknown command 'NO-SUCH-COMMAND'", "after processing the command 'incr'"):
                    self.assertEqual(sum(text in line for line in replica.log), 1, text)
                self.assertEqual(r.info("stats")["unexpected_error_replies"], "2")
                self.assertFalse(isinstance(r("CONFIG", "RESETSTAT"), Error))
                self.assertEqual(r.info("stats")["unexpected_error_replies"], "0")
