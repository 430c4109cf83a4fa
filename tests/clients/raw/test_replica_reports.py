"""What both ends of a link report: the log, INFO, CLIENT LIST, REPLCONF."""

import os
import unittest

from harness.replication import Client, caught_up
from harness.sentinels import Sentinels
from harness.server import Server, beyond_redis, encode, wait_until

QUICK = ("--repl-diskless-sync-delay", 0, "--threads", 1)


@beyond_redis
class Reports(unittest.TestCase):
    def pair(self, primary=(), replica=()):
        first = self.enterContext(Server(*QUICK, *primary))
        second = self.enterContext(Server(*QUICK, *replica, "--replicaof", f"127.0.0.1 {first.port}"))
        wait_until(lambda: caught_up(first.port, second.port), "the replica follows")
        return first, second

    def test_the_reason_for_a_full_copy_on_either_connection(self):
        for channel in ("yes", "no"):
            with self.subTest(repl_rdb_channel=channel):
                primary, replica = self.pair(replica=("--repl-rdb-channel", channel))
                own = "A full copy is needed: this server's data has no position in a history"
                self.assertEqual(self.reasons(replica), [own])
                with Server(*QUICK) as other, Client(replica.port) as r:
                    position = r.info()["master_replid"], int(r.info()["slave_repl_offset"]) + 1
                    r("REPLICAOF", "127.0.0.1", other.port)
                    wait_until(lambda: caught_up(other.port, replica.port), "it follows the other")
                    # Its position may have moved on before it left.
                    reasons = self.reasons(replica)[1:]
                    refused = f"A full copy is needed: MASTER does not go on from {position[0]}:"
                    self.assertEqual(len(reasons), 1)
                    self.assertTrue(reasons[0].startswith(refused), reasons)

    @staticmethod
    def reasons(server):
        return [line[line.index("A full copy"):] for line in server.log if "A full copy is needed" in line]

    def test_sentinels_heard_are_those_that_have_spoken(self):
        lease = ("--sentinel-lease-ms", 1700, "--sentinel-lease-sentinels", 3, "--sentinel-lease-quorum", 2)
        with Server(*QUICK, *lease) as server, Client(server.port) as c:
            wait_until(lambda: "sentinels_heard" in c.info(), "it guards")
            self.assertEqual(c.info()["sentinels_heard"], "0")
            with Sentinels(server.port, count=2):
                wait_until(lambda: c.info()["sentinels_heard"] == "2", "two speak")


if __name__ == "__main__":
    unittest.main()
