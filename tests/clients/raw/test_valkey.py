"""Replicas that say that they are Valkey: the form of their copies, and the commands in their stream.

`VALKEY_BIN` says where a Valkey 9 is; without it the replicas are made here.
"""

import os
import unittest

from harness.replication import Client, Redis, caught_up, everything
from harness.server import Server, beyond_redis, encode, wait_until

VALKEY = os.environ.get("VALKEY_BIN")
LATER = 33177117420123
# The hash `h` as Valkey 9 has it: type, key, two fields, each with its value and its deadline, -1 for none.
HASH = (
    b"\x16\x01h\x02"
    + b"\x01g\x01w" + LATER.to_bytes(8, "little")
    + b"\x01f\x01v" + (-1).to_bytes(8, "little", signed=True)
)


def copies(port, *said):
    """The first bytes and the whole of the copies of replicas that say `said`, and then ask at the same time."""
    replicas = [Client(port) for _ in said]
    try:
        for replica, words in zip(replicas, said):
            for option in words:
                assert replica("REPLCONF", *option.split()) == b"OK", option
        for replica in replicas:
            replica.send(encode("PSYNC", "?", "-1"))
        return [copy(replica) for replica in replicas]
    finally:
        for replica in replicas:
            replica.close()


def copy(replica):
    while not (line := replica.line().lstrip()).startswith(b"$"):
        assert line[:12] in (b"", b"+FULLRESYNC "), line
    if not line.startswith(b"$EOF:"):
        return replica.exactly(int(line[1:]))
    mark, found = line[5:45], b""
    while not found.endswith(mark):
        found += replica.exactly(1)
    return found[:-40]


@beyond_redis
class Valkey(unittest.TestCase):
    def fill(self, c):
        c("HSET", "h", "f", "v", "g", "w")
        self.assertEqual(c("HPEXPIREAT", "h", LATER, "FIELDS", 1, "g"), [1])

    def test_each_replica_gets_the_form_that_it_reads(self):
        capa = ["capa eof capa psync2"]
        said = [
            capa,
            [*capa, "version 9.0.5"],
            [*capa, "version 8.1.4"],
            # That of a development build.
            [*capa, "version 255.255.255"],
            # An Apus reads both.
            [f"capa eof capa psync2 capa apus-{'a' * 40} version 9.0.0"],
            # These want to know the length.
            ["capa psync2"],
            ["capa psync2", "version 9.1.0"],
        ]
        for delay in (0, 1):
            with Server("--repl-diskless-sync-delay", delay) as server, Client(server.port) as c:
                self.fill(c)
                valkeys = []
                for number, bytes_ in enumerate(copies(server.port, *said)):
                    heads = [h for h in (b"REDIS0010", b"VALKEY080") if bytes_.startswith(h)]
                    self.assertEqual(len(heads), 1, bytes_[:20])
                    is_valkeys = heads == [b"VALKEY080"]
                    self.assertEqual(HASH in bytes_, is_valkeys)
                    if is_valkeys:
                        valkeys.append(number)
                self.assertEqual(valkeys, [1, 3, 6])

    def test_the_stream_has_commands_that_valkey_9_knows(self):
        with Server("--repl-diskless-sync-delay", 0) as server, Client(server.port) as c, Client(server.port) as r:
            self.fill(c)
            for option in ("capa eof capa psync2", "version 9.0.5"):
                r("REPLCONF", *option.split())
            r.send(encode("PSYNC", "?", "-1"))
            copy(r)
            r.send(encode("REPLCONF", "ACK", "0"))
            c("HSETEX", "h", "EX", 1000, "FIELDS", 1, "a", 1)
            c("HSETEX", "h", "KEEPTTL", "FIELDS", 1, "a", 2)
            c("HSETEX", "h", "PXAT", 1, "FIELDS", 1, "f", 2)
            c("HGETEX", "h", "PX", 1_000_000, "FIELDS", 1, "g")
            c("HGETEX", "h", "PERSIST", "FIELDS", 1, "g")
            c("HINCRBYFLOAT", "h", "a", "0.5")
            c("HGETDEL", "h", "FIELDS", 2, "g", "none")
            c("HEXPIRE", "h", 0, "FIELDS", 1, "a")
            c("SET", "the", "end")
            found = []
            while (command := r.reply())[1:] != [b"the", b"end"]:
                if command[0] not in (b"PING", b"REPLCONF", b"SELECT"):
                    found.append(command)
            self.assertEqual(
                [command[0].upper() for command in found],
                [b"HSETEX", b"HSETEX", b"HDEL", b"HPEXPIREAT", b"HPERSIST", b"HSETEX", b"HDEL", b"HDEL"],
                found,
            )
            self.assertEqual((found[0][2], found[0][4:]), (b"PXAT", [b"FIELDS", b"1", b"a", b"1"]))
            self.assertEqual(found[1][2:], [b"KEEPTTL", b"FIELDS", b"1", b"a", b"2"])
            self.assertEqual(found[5][2:], [b"KEEPTTL", b"FIELDS", b"1", b"a", b"2.5"])

    # Where it is known.
    if VALKEY:

        def test_a_valkey_follows(self):
            with Server("--repl-diskless-sync-delay", 0) as server, Client(server.port) as c:
                self.fill(c)
                with Redis(program=VALKEY) as replica, Client(replica.port) as r:
                    r("REPLICAOF", "127.0.0.1", server.port)
                    wait_until(lambda: caught_up(server.port, replica.port), "the replica follows")
                    c("HSETEX", "h", "EX", 1000, "FIELDS", 1, "a", 1)
                    c("HGETDEL", "h", "FIELDS", 1, "f")
                    wait_until(lambda: caught_up(server.port, replica.port), "caught up")
                    self.assertEqual(everything(server.port), everything(replica.port))
                    for which in (c, r):
                        self.assertEqual(which("HPEXPIRETIME", "h", "FIELDS", 1, "g"), [LATER])


@beyond_redis
class Information(unittest.TestCase):
    """INFO while a copy for replicas is made is that of BGSAVE, as in Redis."""

    def test_a_copy_is_a_save_in_the_background(self):
        for diskless in ("yes", "no"):
            options = ["--repl-diskless-sync-delay", 0, "--repl-diskless-sync", diskless]
            with Server(*options) as server, Client(server.port) as c, Client(server.port) as r:
                for n in range(50):
                    c("SET", f"k{n}", n)
                before = c.info("persistence")
                self.assertEqual(before["rdb_bgsave_in_progress"], "0")
                self.assertEqual(before["rdb_last_bgsave_time_sec"], "-1")
                c("CONFIG", "SET", "rdb-key-save-delay", 10_000_000)
                r("REPLCONF", "capa", "eof", "capa", "psync2")
                r.send(encode("PSYNC", "?", "-1"))
                wait_until(lambda: c.info("persistence")["rdb_bgsave_in_progress"] == "1", "it is shown")
                during = c.info("persistence")
                self.assertGreaterEqual(int(during["rdb_current_bgsave_time_sec"]), 0)
                self.assertEqual(during["current_save_keys_total"], "50")
                self.assertIn("already in progress", str(c("BGSAVE")))
                c("CONFIG", "SET", "rdb-key-save-delay", 0)
                wait_until(lambda: c.info("persistence")["rdb_bgsave_in_progress"] == "0", "it is over")
                after = c.info("persistence")
                self.assertEqual(after["rdb_current_bgsave_time_sec"], "-1")
                self.assertGreaterEqual(int(after["rdb_last_bgsave_time_sec"]), 0)
                # Nothing was saved here.
                for name in ("rdb_saves", "rdb_last_save_time", "rdb_changes_since_last_save"):
                    self.assertEqual(after[name], before[name])


if __name__ == "__main__":
    unittest.main()
