"""Options of replication, each with a value that makes a difference."""

import signal
import time
import unittest

from harness.replication import Client, caught_up
from harness.sentinels import Sentinels
from harness.server import Server, beyond_redis, wait_until

QUICK = ("--repl-diskless-sync-delay", 0, "--threads", 1)
# For what must not happen: so long it has to stay away.
WHILE_S = 3


@beyond_redis
class Options(unittest.TestCase):
    def pair(self, primary=(), replica=()):
        first = self.enterContext(Server(*QUICK, *primary))
        second = self.enterContext(Server(*QUICK, *replica, "--replicaof", f"127.0.0.1 {first.port}"))
        wait_until(lambda: caught_up(first.port, second.port), "the replica follows")
        return first, second

    @staticmethod
    def info(server):
        with Client(server.port) as c:
            return c.info()

    def test_replica_announced_tells_sentinels_whether_to_count_it(self):
        for value, shown in (("yes", "1"), ("no", "0")):
            with self.subTest(value):
                _, replica = self.pair(replica=("--replica-announced", value))
                self.assertEqual(self.info(replica)["replica_announced"], shown)

    def test_replica_announce_ip_and_port_are_where_others_find_it(self):
        announced = ("--replica-announce-ip", "10.9.8.7", "--replica-announce-port", 7654)
        primary, replica = self.pair(replica=announced)
        self.assertRegex(self.info(primary)["slave0"], "^ip=10.9.8.7,port=7654,")
        with Client(primary.port) as c:
            self.assertEqual(c("ROLE")[2][0][:2], [b"10.9.8.7", b"7654"])
        with Server(*QUICK) as plain, Client(plain.port) as c:
            c("REPLICAOF", "127.0.0.1", primary.port)
            there = f"ip=127.0.0.1,port={plain.port},"
            wait_until(lambda: there in self.info(primary).get("slave1", ""), "its own address without them")

    def test_repl_ping_replica_period_moves_the_stream_of_an_idle_primary(self):
        primary, _ = self.pair(primary=("--repl-ping-replica-period", 1))
        before = int(self.info(primary)["master_repl_offset"])
        # SELECT is no part of it: nothing was written.
        ping = len(b"*1\r\n$4\r\nPING\r\n")
        wait_until(lambda: int(self.info(primary)["master_repl_offset"]) >= before + 2 * ping, "two pings")
        primary, _ = self.pair(primary=("--repl-ping-replica-period", 3600))
        before = self.info(primary)["master_repl_offset"]
        time.sleep(WHILE_S)
        self.assertEqual(self.info(primary)["master_repl_offset"], before)

    def test_repl_backlog_ttl_frees_the_backlog_when_nobody_wants_it(self):
        for ttl, freed in ((1, True), (0, False), (3600, False)):
            with self.subTest(ttl):
                primary, replica = self.pair(primary=("--repl-backlog-ttl", ttl))
                self.assertEqual(self.info(primary)["repl_backlog_active"], "1")
                replica.close()
                wait_until(lambda p=primary: self.info(p)["connected_slaves"] == "0", "it is gone")
                if freed:
                    wait_until(lambda p=primary: self.info(p)["repl_backlog_active"] == "0", "freed")
                else:
                    time.sleep(WHILE_S)
                    self.assertEqual(self.info(primary)["repl_backlog_active"], "1")

    def test_min_replicas_max_lag_says_how_old_an_acknowledgement_may_be(self):
        primary, replica = self.pair(primary=("--min-replicas-to-write", 1, "--min-replicas-max-lag", 3600))
        with Client(primary.port) as c:
            self.assertEqual(c("SET", "k", 1), b"OK")
            replica.process.send_signal(signal.SIGSTOP)
            self.addCleanup(replica.process.send_signal, signal.SIGCONT)
            time.sleep(WHILE_S)
            self.assertEqual(c("SET", "k", 2), b"OK")
            c("CONFIG", "SET", "min-replicas-max-lag", 1)
            wait_until(lambda: "NOREPLICAS" in str(c("SET", "k", 3)), "its acknowledgement is too old")
            c("CONFIG", "SET", "min-replicas-max-lag", 0)
            self.assertEqual(c("SET", "k", 4), b"OK")
            replica.process.send_signal(signal.SIGCONT)

    def test_replica_ignore_maxmemory_says_who_evicts(self):
        limits = ("--maxmemory", "12mb", "--maxmemory-policy", "allkeys-lru")
        for value, evicts in (("yes", False), ("no", True)):
            with self.subTest(value):
                primary, replica = self.pair(replica=(*limits, "--replica-ignore-maxmemory", value))
                with Client(primary.port) as c, Client(replica.port) as r:
                    for i in range(200):
                        c("SET", f"k{i}", "v" * 100_000)
                    wait_until(lambda: caught_up(primary.port, replica.port), "it has them")
                    # Who evicts does so before it executes a command.
                    r("GET", "k199")
                    self.assertEqual(c("DBSIZE"), 200)
                    self.assertEqual(r("DBSIZE") < 200, evicts)
                    self.assertEqual(int(r.info("stats")["evicted_keys"]) > 0, evicts)

    def test_sentinel_lease_reads_answers_reads_without_the_lease(self):
        lease = ("--sentinel-lease-ms", 1700, "--sentinel-lease-sentinels", 3, "--min-replicas-ack-timeout", 300)
        for value in ("no", "yes"):
            with self.subTest(value), Server(*QUICK, *lease, "--sentinel-lease-reads", value) as server:
                with Client(server.port) as c:
                    with Sentinels(server.port):
                        wait_until(lambda c=c: c("SET", "k", 1) == b"OK", "it has the lease")
                    wait_until(lambda c=c: "Not enough good" in str(c("SET", "other", 2)), "it has lost it")
                    read = c("GET", "k")
                    if value == "yes":
                        self.assertEqual(read, b"1")
                    else:
                        self.assertIn("NOREPLICAS What was read", str(read))

    def test_sentinel_lease_ms_is_longer_than_the_period_of_pings(self):
        with Server(*QUICK) as server, Client(server.port) as c:
            for value in (1, 500, 1500, -1):
                error = str(c("CONFIG", "SET", "sentinel-lease-ms", value))
                self.assertIn("argument must be 0 or between 1501 and", error)
            for value in (1501, 4000, 0):
                self.assertEqual(c("CONFIG", "SET", "sentinel-lease-ms", value), b"OK")


if __name__ == "__main__":
    unittest.main()
