"""A full copy on a connection of its own, as Redis 8 replicas ask for it: Apus is the primary."""

import os
import unittest

from harness.replication import Client
from harness.server import Server, beyond_redis, encode, wait_until

QUICK = ("--repl-diskless-sync-delay", 0)
MIB = 1 << 20


@beyond_redis
class RdbChannel(unittest.TestCase):
    def main(self, server):
        """The main connection of a replica that can, and the number that it is told."""
        c = self.enterContext(Client(server.port))
        self.assertEqual(c("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "rdb-channel-repl"), b"OK")
        c.send(encode("PSYNC", "?", "-1"))
        word, _, number = c.line().lstrip().partition(b" ")
        self.assertEqual(word, b"+RDBCHANNELSYNC")
        return c, number

    def channel(self, server, number):
        c = self.enterContext(Client(server.port))
        said = c("REPLCONF", "capa", "eof", "rdb-only", 1, "rdb-channel", 1, "main-ch-client-id", number,
                 "listening-port", 7777)
        return c, said

    def copy(self, c):
        """Reads the answer to PSYNC up to the beginning of the copy: the offset, and the mark."""
        c.send(encode("PSYNC", "?", "-1"))
        line = b""
        while not line:
            line = c.line().strip()
        self.assertTrue(line.startswith(b"+FULLRESYNC "), line)
        mark = c.line()
        self.assertTrue(mark.startswith(b"$EOF:"), mark)
        return int(line.split()[2]), mark[5:].strip()

    def state(self, c):
        info = c.info()
        self.assertEqual(info["connected_slaves"], "1")
        return dict(pair.split("=") for pair in info["slave0"].split(","))

    def test_the_stream_comes_beside_the_copy(self):
        with Server(*QUICK) as server, Client(server.port) as c:
            # More than sockets keep, and it cannot be compressed: the copy is under way until it is read.
            c("SET", "k", os.urandom(16 * MIB))
            main, number = self.main(server)
            self.assertEqual(self.state(c)["state"], "wait_bgsave")
            channel, said = self.channel(server, number)
            self.assertEqual(said, b"OK")
            offset, mark = self.copy(channel)
            # The copy is not read yet, and the stream is there.
            c("SET", "later", 1)
            stream = encode("SELECT", 0) + encode("set", "later", 1)
            self.assertEqual(main.exactly(len(stream)), stream)
            self.assertEqual(self.state(c)["state"], "send_bulk_and_stream")
            data = bytearray()
            while not data.endswith(mark):
                data += channel.receive(MIB)
            self.assertTrue(data.startswith(b"REDIS"))
            wait_until(lambda: self.state(c)["state"] == "online", "it has been sent the copy")
            channel.socket.close()
            main.send(encode("REPLCONF", "ACK", offset + len(stream)))
            self.assertEqual(c("WAIT", 1, 0), 1)
            stats = c.info("stats")
            self.assertEqual((stats["sync_full"], stats["sync_partial_err"]), ("1", "0"))

    def test_a_channel_belongs_to_a_connection_that_waits(self):
        with Server(*QUICK) as server, Client(server.port) as c:
            for number in (0, 12345, -1, 1 << 62, c("CLIENT", "ID")):
                _, said = self.channel(server, number)
                self.assertEqual(str(said), f"ERR Unrecognized RDB client id: {number}")
            _, number = self.main(server)
            first, said = self.channel(server, number)
            second, again = self.channel(server, number)
            self.assertEqual((said, again), (b"OK", b"OK"))
            # Both get a copy, and the connection has one stream.
            self.copy(first)
            self.copy(second)
            self.assertEqual(self.channel(server, number)[1].args[0][:3], "ERR")

    def test_of_two_connections_that_are_lost_none_is_left(self):
        big = ("--enable-debug-command", "local", "--threads", 2)
        with Server(*QUICK, *big) as server, Client(server.port) as c:
            c("DEBUG", "POPULATE", 40_000, "key", 5000)
            for lost in ("channel", "main"):
                with self.subTest(lost=lost):
                    main, number = self.main(server)
                    channel, _ = self.channel(server, number)
                    self.copy(channel)
                    (channel if lost == "channel" else main).socket.close()
                    wait_until(lambda: c.info()["connected_slaves"] == "0", "both are closed")
                    wait_until(lambda: c("CLIENT", "LIST", "TYPE", "replica") == b"", "nothing is left")
            main, _ = self.main(server)
            main.socket.close()
            wait_until(lambda: c.info()["connected_slaves"] == "0", "it is gone")

    def test_one_that_makes_no_second_connection_is_given_up(self):
        with Server(*QUICK, "--repl-timeout", 1) as server, Client(server.port) as c:
            main, _ = self.main(server)
            wait_until(lambda: c.info()["connected_slaves"] == "0", "it is gone")
            server.wait_for_log("no connection for the copy")

    def test_it_is_an_option(self):
        for off in (("--repl-rdb-channel", "no"), ("--repl-diskless-sync", "no")):
            with self.subTest(off=off), Server(*QUICK, *off) as server, Client(server.port) as c:
                c("REPLCONF", "capa", "eof", "capa", "psync2", "capa", "rdb-channel-repl")
                c.send(encode("PSYNC", "?", "-1"))
                self.assertTrue(c.line().lstrip().startswith(b"+FULLRESYNC"))


if __name__ == "__main__":
    unittest.main()
