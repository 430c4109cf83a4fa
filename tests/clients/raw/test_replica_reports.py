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

    def test_bytes_of_replication_are_counted(self):
        for channel in ("yes", "no"):
            with self.subTest(repl_rdb_channel=channel):
                first = self.enterContext(Server(*QUICK))
                with Client(first.port) as c:
                    c("SET", "big", os.urandom(300_000))
                self.count(first, channel)

    def count(self, first, channel):
        replica = ("--repl-rdb-channel", channel, "--replicaof", f"127.0.0.1 {first.port}")
        second = self.enterContext(Server(*QUICK, *replica))
        wait_until(lambda: caught_up(first.port, second.port), "the replica follows")
        with Client(first.port) as c, Client(second.port) as r:
            def figures():
                ours, theirs = c.info("stats"), r.info("stats")
                sent, received = ours["total_net_repl_output_bytes"], theirs["total_net_repl_input_bytes"]
                # They are a part of all bytes, as in Redis.
                self.assertLess(int(sent), int(ours["total_net_output_bytes"]))
                self.assertLess(int(received), int(theirs["total_net_input_bytes"]))
                self.assertEqual(ours["total_net_repl_input_bytes"], "0")
                self.assertEqual(theirs["total_net_repl_output_bytes"], "0")
                return int(sent), int(received)

            self.assertGreater(min(figures()), 300_000)
            c("SET", "again", os.urandom(200_000))
            wait_until(lambda: caught_up(first.port, second.port), "it has it")
            self.assertGreater(min(figures()), 500_000)
            rates = [(c, "instantaneous_output_repl_kbps"), (r, "instantaneous_input_repl_kbps")]
            for client, rate in rates:
                def moves():
                    c("SET", "more", os.urandom(50_000))
                    return float(client.info("stats")[rate]) > 1

                wait_until(moves, rate)
            c("CONFIG", "RESETSTAT")
            r("CONFIG", "RESETSTAT")
            self.assertLess(max(figures()), 300_000)

    def test_a_replica_counts_what_it_executes(self):
        primary, replica = self.pair()
        with Client(primary.port) as c, Client(replica.port) as r:
            before = r.info("stats"), r.info("persistence")
            for i in range(100):
                c("SET", f"k{i}", i)
            wait_until(lambda: caught_up(primary.port, replica.port), "it has them")
            executed = int(r.info("stats")["total_commands_processed"])
            self.assertGreaterEqual(executed - int(before[0]["total_commands_processed"]), 100)
            self.assertIn("calls=100,", r.info("commandstats")["cmdstat_set"])
            # Its `save` points count them.
            changes = int(r.info("persistence")["rdb_changes_since_last_save"])
            self.assertGreaterEqual(changes - int(before[1]["rdb_changes_since_last_save"]), 100)
            r("REPLICAOF", "NO", "ONE")
            r("REPLICAOF", "127.0.0.1", primary.port)
            wait_until(lambda: caught_up(primary.port, replica.port), "another link")
            self.assertGreaterEqual(int(r.info("stats")["total_commands_processed"]), executed)

    def test_the_primarys_connection_in_client_list(self):
        primary, replica = self.pair()
        with Client(primary.port) as c, Client(replica.port) as r:
            c("SET", "k", "v" * 5000)
            wait_until(lambda: caught_up(primary.port, replica.port), "it has it")
            line = r("CLIENT", "LIST", "TYPE", "master").decode()
            fields = dict(field.split("=", 1) for field in line.split())
            # The primary sees the other end of the same connection.
            theirs = c("CLIENT", "LIST", "TYPE", "replica").decode()
            theirs = dict(field.split("=", 1) for field in theirs.split())
            self.assertEqual(fields["laddr"], theirs["addr"])
            self.assertEqual(fields["addr"], theirs["laddr"])
            self.assertGreater(int(fields["fd"]), 2)
            self.assertGreater(int(fields["tot-net-in"]), 5000)
            wait_until(
                lambda: int(dict(f.split("=", 1) for f in r("CLIENT", "LIST", "TYPE", "master").decode().split())
                            ["tot-net-out"]) > 0, "it acknowledges")

    def test_while_a_script_is_stuck_replicas_may_say_the_same_as_ever(self):
        with Server(*QUICK, "--busy-reply-threshold", 50) as server:
            with Client(server.port) as stuck, Client(server.port) as c, Client(server.port) as other:
                stuck.send(encode("EVAL", "while true do end", 0))
                wait_until(lambda: "BUSY" in str(other("GET", "k")), "the script is slow")
                try:
                    for words in (("rdb-channel", 1), ("main-ch-client-id", 1), ("version", "9.0.0"), ("capa", "eof"),
                                  ("rdb-only", 1), ("rdb-filter-only", "functions"), ("listening-port", 1),
                                  ("ip-address", "h")):
                        self.assertEqual(c("REPLCONF", *words), b"OK", words)
                    for words in (("shoe-size", 42), ("rdb-only", 2), ("version", "x"), ("listening-port", "x")):
                        self.assertIn("ERR ", str(c("REPLCONF", *words)), words)
                    c.send(encode("REPLCONF", "ACK", 1))
                    self.assertIn("BUSY", str(c("GET", "k")))
                finally:
                    other("SCRIPT", "KILL")
                self.assertIn("ERR", str(stuck.reply()))

    def test_the_progress_of_a_copy(self):
        for channel in ("yes", "no"):
            with self.subTest(repl_rdb_channel=channel):
                # It comes slowly. Its length is not known in front.
                options = ("--rdb-key-save-delay", 20_000)
                primary = self.enterContext(Server(*QUICK, *options))
                with Client(primary.port) as c:
                    for i in range(50):
                        c("SET", f"k{i}", os.urandom(100_000))
                replica = self.enterContext(Server(*QUICK, "--repl-rdb-channel", channel))
                seen = []
                with Client(replica.port) as r:
                    r("REPLICAOF", "127.0.0.1", primary.port)

                    def watch():
                        fields = r.info()
                        if "master_sync_total_bytes" in fields:
                            seen.append(fields)
                        return fields["master_link_status"] == "up"

                    wait_until(watch, "it follows")
                self.assertTrue(seen, "no look fell into the copy")
                for fields in seen:
                    self.assertEqual(fields["master_sync_perc"], "0.00")
                    self.assertLess(int(fields["master_sync_last_io_seconds_ago"]), 60)

    def test_sentinels_heard_are_those_that_have_spoken(self):
        lease = ("--sentinel-lease-ms", 1700, "--sentinel-lease-sentinels", 3, "--sentinel-lease-quorum", 2)
        with Server(*QUICK, *lease) as server, Client(server.port) as c:
            wait_until(lambda: "sentinels_heard" in c.info(), "it guards")
            self.assertEqual(c.info()["sentinels_heard"], "0")
            with Sentinels(server.port, count=2):
                wait_until(lambda: c.info()["sentinels_heard"] == "2", "two speak")

    def test_an_old_primary_goes_on_after_a_switch_by_hand(self):
        """Nothing lengthens its stream meanwhile. Behind a Sentinel's failover that is another matter: Sentinels publish
        to the old primary, too."""
        quiet = ("--repl-ping-replica-period", 3600)
        old, new = self.pair(primary=quiet, replica=quiet)
        with Client(old.port) as o, Client(new.port) as n:
            o("SET", "k", 1)
            wait_until(lambda: caught_up(old.port, new.port), "it has everything")
            self.assertEqual(n("REPLICAOF", "NO", "ONE"), b"OK")
            self.assertEqual(n("SET", "k", 2), b"OK")
            self.assertEqual(o("REPLICAOF", "127.0.0.1", new.port), b"OK")
            wait_until(lambda: caught_up(new.port, old.port), "the old one follows")
            self.assertEqual(o("GET", "k"), b"2")
            stats = n.info("stats")
            self.assertEqual((stats["sync_full"], stats["sync_partial_ok"]), ("0", "1"))

    def test_one_whose_stream_is_longer_gets_a_copy(self):
        quiet = ("--repl-ping-replica-period", 3600)
        old, new = self.pair(primary=quiet, replica=quiet)
        with Client(old.port) as o, Client(new.port) as n:
            o("SET", "k", 1)
            wait_until(lambda: caught_up(old.port, new.port), "it has everything")
            self.assertEqual(n("REPLICAOF", "NO", "ONE"), b"OK")
            # As a Sentinel does. There is no replica any more, but a backlog.
            o("PUBLISH", "__sentinel__:hello", "x")
            self.assertEqual(o("REPLICAOF", "127.0.0.1", new.port), b"OK")
            wait_until(lambda: caught_up(new.port, old.port), "the old one follows")
            stats = n.info("stats")
            self.assertEqual((stats["sync_full"], stats["sync_partial_ok"]), ("1", "0"))


if __name__ == "__main__":
    unittest.main()
