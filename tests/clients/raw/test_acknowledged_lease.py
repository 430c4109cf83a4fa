"""The Sentinels' lease (`sentinel-lease-ms`): what a primary answers that too few of them see."""

import shutil
import time
import unittest

from harness.replication import Client, Error, Redis
from harness.sentinels import Sentinels
from harness.server import Server, beyond_redis, encode, wait_until

ALONE = ("--threads", "1", "--sentinel-lease-sentinels", "3", "--sentinel-lease-quorum", "2",
         "--min-replicas-ack-timeout", "300", "--repl-diskless-sync-delay", "0")
LEASE_MS = 1700
# Of the Sentinels: longer than the lease, as it has to be.
DOWN_AFTER_MS = 2500


def lease(ms=LEASE_MS):
    return (*ALONE, "--sentinel-lease-ms", ms)


def fate(answer):
    """Whether a command has run, as its answer says: `done`, `uncertain` (it has run) or `refused` (it has not)."""
    if not isinstance(answer, Error):
        return "done"
    text = str(answer)
    if text.startswith("UNCERTAIN"):
        return "uncertain"
    return "refused" if "NOREPLICAS Not enough good replicas" in text else text


@beyond_redis
class Lease(unittest.TestCase):
    def test_without_it_no_write_is_answered_as_done_or_as_a_read(self):
        """Neither replicas nor a journal want the changes: nothing but the lease is asked for."""
        writes = {
            "a command": lambda c: c("INCR", "n"),
            "a run of commands": lambda c: pipeline(c, ("INCR", "n"), ("SET", "s", 1))[0],
            "a script": lambda c: c("EVAL", "return redis.call('incr', 'n')", 0),
            "a transaction": lambda c: pipeline(c, ("MULTI",), ("INCR", "n"), ("EXEC",))[-1],
        }
        for reads in ("no", "yes"):
            for what, write in writes.items():
                with self.subTest(write=what, reads=reads):
                    self.count_what_has_run(what, write, reads)

    def count_what_has_run(self, what, write, reads):
        options = (*lease(), "--sentinel-lease-reads", reads)
        with Server(*options) as server, Client(server.port) as c:
            fates = []

            def refused():
                answer = write(c)
                # A script runs up to the write that is refused, and what it answers then waits as what was read does.
                nothing = "EXECABORT" in str(answer) or "NOREPLICAS What was read" in str(answer) and "script" in what
                fates.append("refused" if nothing else fate(answer))
                return fates[-1] == "refused"

            wait_until(refused, "writes are refused")
            self.assertLessEqual(set(fates), {"uncertain", "refused"})
            self.assertEqual(fate(c("SET", "x", 1)), "refused")
            c("CONFIG", "SET", "sentinel-lease-ms", 0)
            ran = fates.count("uncertain")
            self.assertEqual(c("GET", "n"), str(ran).encode() if ran else None)
            self.assertIsNone(c("GET", "x"))
            self.assertEqual(c("SET", "x", 1), b"OK")

    def test_with_it_writes_run_and_without_it_they_do_not_again(self):
        with Server(*lease()) as server, Client(server.port) as c:
            with Sentinels(server.port):
                wait_until(lambda: c("SET", "k", 1) == b"OK", "the Sentinels see it")
                self.assertEqual(c("GET", "k"), b"1")
            wait_until(lambda: fate(c("SET", "k", 2)) == "refused", "they do not any more")
            self.assertIn("NOREPLICAS What was read", str(c("GET", "k")))
            with Sentinels(server.port):
                wait_until(lambda: c("SET", "k", 3) == b"OK", "they do again")

    def test_a_minority_is_not_enough(self):
        with Server(*lease()) as server, Client(server.port) as c:
            with Sentinels(server.port, count=1):
                wait_until(lambda: fate(c("SET", "k", 1)) == "refused", "one of three does not do")

    def test_config_set_changes_what_a_running_primary_waits_for(self):
        with Server(*lease()) as server, Client(server.port) as c, Sentinels(server.port):
            wait_until(lambda: c("SET", "k", 1) == b"OK", "the Sentinels see it")
            c("CONFIG", "SET", "min-replicas-ack", 1)
            # There is no replica.
            wait_until(lambda: fate(c("SET", "k", 2)) == "refused", "writes wait for one")
            c("CONFIG", "SET", "min-replicas-ack", 0)
            wait_until(lambda: c("SET", "k", 3) == b"OK", "they do not any more")
            c("CONFIG", "SET", "sentinel-lease-sentinels", 9)
            wait_until(lambda: fate(c("SET", "k", 4)) == "refused", "three of nine do not do")
            c("CONFIG", "SET", "sentinel-lease-ms", 0)
            wait_until(lambda: c("SET", "k", 5) == b"OK", "there is no lease any more")

    def promote_behind_its_back(self, lease_ms, replica):
        """The Sentinels are cut off from the primary and promote the replica as soon as they may, and a client writes
        there. What a client of the old primary, who is cut off with it, reads and writes then."""
        primary = self.enterContext(Server(*lease(lease_ms)))
        other = self.enterContext(replica(primary.port))
        with Client(primary.port) as old, Client(other.port) as new:
            with Sentinels(primary.port) as sentinels:
                wait_until(lambda: old("SET", "k", "before") == b"OK", "it has the lease")
                wait_until(lambda: new("GET", "k") == b"before", "the replica has the value")
            time.sleep(max(0.0, sentinels.last_pong + DOWN_AFTER_MS / 1000 - time.monotonic()))
            self.assertEqual(new("REPLICAOF", "NO", "ONE"), b"OK")
            self.assertEqual(new("SET", "k", "after"), b"OK")
            return old("GET", "k"), old("SET", "lost", 1), new("GET", "lost")

    REPLICAS = {"Apus": lambda port: Server(*ALONE, "--replicaof", f"127.0.0.1 {port}")}
    if shutil.which("redis-server"):
        REPLICAS["Redis"] = lambda port: Redis("--replicaof", "127.0.0.1", port)

    def test_one_that_is_shorter_than_the_detection_prevents_a_stale_read_and_a_lost_write(self):
        for name, replica in self.REPLICAS.items():
            with self.subTest(replica=name):
                read, written, _ = self.promote_behind_its_back(LEASE_MS, replica)
                self.assertIn("NOREPLICAS", str(read))
                self.assertIn(fate(written), ("refused", "uncertain"))

    def test_one_that_is_longer_does_not(self):
        """So it is the lease that prevents them."""
        for name, replica in self.REPLICAS.items():
            with self.subTest(replica=name):
                read, written, there = self.promote_behind_its_back(60_000, replica)
                self.assertEqual((read, written, there), (b"before", b"OK", None))


def pipeline(c, *commands):
    c.send(b"".join(encode(*command) for command in commands))
    return [c.reply() for _ in commands]


if __name__ == "__main__":
    unittest.main()
