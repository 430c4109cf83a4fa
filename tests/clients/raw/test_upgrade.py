"""From a running Redis 7 to Apus and back, as docs/replication.md says: by replication, clients switched by Sentinel.

`APUS_UPGRADE_KEYS` says how many keys there are; with it the times are printed.
"""

import contextlib
import os
import shutil
import sys
import threading
import time
import unittest

from harness.replication import REDIS, Client, Error, Redis, caught_up, everything
from harness.server import Server, beyond_redis, wait_until
from raw.test_failover import Sentinel, role
from raw.test_primary import write_all_types

KEYS = int(os.environ.get("APUS_UPGRADE_KEYS", 200_000))
LIBRARY = """#!lua name=l
redis.register_function('push', function(keys, args) return redis.call('RPUSH', keys[1], args[1]) end)
"""
SCRIPT = "return redis.call('RPUSH', KEYS[1], ARGV[1])"
# Digests must be the same; a Sentinel that takes a busy machine for a dead server must not interfere.
PATIENT = {"down_after": 120_000, "failover_timeout": 60_000}


class Writer(threading.Thread):
    """Asks a Sentinel for the primary, and appends numbers in three ways."""

    def __init__(self, number, sentinels):
        super().__init__(daemon=True)
        self.key, self.sentinels = f"written{number}", sentinels
        self.acknowledged = []
        self.stops = False
        self.number = 0
        # Seconds between two acknowledged writes, at most.
        self.gap, self.last = 0, time.monotonic()

    def run(self):
        while not self.stops:
            try:
                port = self.sentinels[self.number % len(self.sentinels)].primary()
                with Client(port) as c:
                    c("AUTH", "writer", "secret")
                    while not self.stops and self.write(c):
                        time.sleep(0.001)
            except (AssertionError, OSError, TypeError):
                pass  # The connection was closed: what the last write did is not known.
            time.sleep(0.02)

    def write(self, c):
        """Whether to stay with this server."""
        self.number += 1
        words = [("RPUSH", self.key, self.number), ("FCALL", "push", 1, self.key, self.number),
                 ("EVAL", SCRIPT, 1, self.key, self.number)][self.number % 3]
        reply = c(*words)
        if isinstance(reply, Error):
            return str(reply).startswith("NOREPLICAS")
        self.acknowledged.append(b"%d" % self.number)
        now = time.monotonic()
        self.gap, self.last = max(self.gap, now - self.last), now
        return True


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Upgrade(unittest.TestCase):
    def assert_same(self, primary, replica):
        wait_until(lambda: caught_up(primary.port, replica.port), "caught up")
        with Client(primary.port) as p, Client(replica.port) as r:
            digest = p("DEBUG", "DIGEST")
            self.assertEqual(len(digest), 40)
            wait_until(lambda: r("DEBUG", "DIGEST") == p("DEBUG", "DIGEST"), "the data is the same")
            self.assertEqual(p("FUNCTION", "LIST", "WITHCODE")[0][1::2][0], b"l")
            self.assertEqual(r("FUNCTION", "LIST", "WITHCODE"), p("FUNCTION", "LIST", "WITHCODE"))

    def switch(self, old, new, sentinels):
        """Steps 4 to 6 of the documentation."""
        with Client(old.port) as o:
            o("CONFIG", "SET", "min-replicas-to-write", 100)
        wait_until(lambda: caught_up(old.port, new.port), "nothing is written any more, and the replica has all")

        def switched():
            sentinels[0].ask("FAILOVER", "mymaster")  # An error while one goes on.
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                if all(s.primary() == new.port for s in sentinels):
                    return True
                time.sleep(0.1)
            return False

        wait_until(switched, "the Sentinels name the new primary")
        wait_until(lambda: role(new.port) == b"master" and role(old.port) == b"slave", "the roles have changed")
        with Client(old.port) as o:
            o("CONFIG", "SET", "min-replicas-to-write", 0)

    def test_to_apus_and_back(self):
        debug = ("--repl-diskless-sync-delay", 0, "--enable-debug-command", "yes")
        with contextlib.ExitStack() as all_of:
            redis = all_of.enter_context(Redis(*debug))
            with Client(redis.port) as c:
                c("DEBUG", "POPULATE", KEYS, "key", 30)
                c("FUNCTION", "LOAD", LIBRARY)
                write_all_types(c, 1, 50)
                c("ACL", "SETUSER", "writer", "on", ">secret", "~written*", "+@all")
            sentinels = [all_of.enter_context(Sentinel(redis.port, **PATIENT)) for _ in range(3)]
            for s in sentinels:
                wait_until(
                    lambda s=s: isinstance(s.ask("CKQUORUM", "mymaster"), bytes)
                    and len(s.ask("SENTINELS", "mymaster")) == 2,
                    "the Sentinels know each other",
                )
            writers = [Writer(n, sentinels) for n in range(3)]
            for w in writers:
                w.start()
                all_of.callback(setattr, w, "stops", True)
            began = time.monotonic()
            apus = all_of.enter_context(Server(
                *debug, "--replicaof", f"127.0.0.1 {redis.port}", "--replica-priority", 1,
            ))
            with Client(apus.port) as c:
                c("ACL", "SETUSER", "writer", "on", ">secret", "~written*", "+@all")
                wait_until(lambda: c.info()["master_link_status"] == "up", "the copy is there")
            figures = {"copy to Apus": time.monotonic() - began}

            def note(what):
                """The longest time without an acknowledged write since the last note."""
                figures[what] = max(w.gap for w in writers)
                for w in writers:
                    w.gap = 0

            for s in sentinels:
                wait_until(lambda s=s: len(s.ask("REPLICAS", "mymaster")) == 1, "the Sentinels know the replica")

            def more_is_written():
                before = [len(w.acknowledged) for w in writers]
                wait_until(
                    lambda: all(len(w.acknowledged) > n + 20 for w, n in zip(writers, before)), "clients write"
                )

            more_is_written()
            note("longest pause during the copy")
            self.switch(redis, apus, sentinels)
            more_is_written()
            note("longest pause at the switch to Apus")
            began = time.monotonic()
            wait_until(lambda: caught_up(apus.port, redis.port), "Redis follows")
            figures["Redis follows after"] = time.monotonic() - began
            note("longest pause meanwhile")
            with Client(apus.port) as c:
                write_all_types(c, 2, 50)
            self.switch(apus, redis, sentinels)
            more_is_written()
            note("longest pause at the switch back")
            for w in writers:
                w.stops = True
            for w in writers:
                w.join()
            with Client(redis.port) as c:
                for w in writers:
                    there = c("LRANGE", w.key, 0, -1)
                    lost = set(w.acknowledged) - set(there)
                    self.assertEqual(lost, set(), f"of {len(w.acknowledged)}")
                    self.assertEqual(there, sorted(there, key=int))
                self.assertEqual(c("DBSIZE") > KEYS, True)
            self.assert_same(redis, apus)
            if "APUS_UPGRADE_KEYS" in os.environ:
                times = "; ".join(f"{what} {seconds:.2f} s" for what, seconds in figures.items())
                acknowledged = sum(len(w.acknowledged) for w in writers)
                print(f"{KEYS} keys: {times}; {acknowledged} writes acknowledged, none lost", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
