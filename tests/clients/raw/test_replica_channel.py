"""A full copy on a connection of its own, taken by Apus as the replica: of Redis 8, Valkey and Apus.

`REDIS8_BIN` and `VALKEY_BIN` say where those servers are; without them Apus and a primary made here are the others.
"""

import os
import shutil
import signal
import socket
import threading
import unittest

from harness.replication import REDIS, Client, Redis, caught_up, everything
from harness.server import Server, beyond_redis, encode, wait_until
from raw.test_acknowledged import states
from raw.test_primary import write_all_types
from raw.test_replication_faults import primary_bytes, read_until

QUICK = ("--repl-diskless-sync-delay", 0)
DEBUG = ("--enable-debug-command", "local")
ID = "a" * 40
REDIS8, VALKEY = os.environ.get("REDIS8_BIN"), os.environ.get("VALKEY_BIN")


def stays(sock):
    """Reads until the other side ends."""
    while sock.recv(4096):
        pass


def ack(offset):
    return encode("REPLCONF", "ACK", offset)


class Two:
    """A primary that sends its copy on a second connection. `main` and `channel` say what happens there; each gets the
    socket when the handshake has come to PSYNC."""

    def __init__(self, main, channel):
        self.main, self.channel = main, channel
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.mains = 0
        self.asked = []
        self.errors = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                sock, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        sock.settimeout(20)
        with sock:
            try:
                read_until(sock, encode("PING"))
                sock.sendall(b"+PONG\r\n")
                said = b""
                while b"PSYNC" not in said and b"SYNC\r\n" not in said:
                    piece = sock.recv(4096)
                    said += piece
                    sock.sendall(b"+OK\r\n" * piece.count(b"REPLCONF"))
                    if not piece:
                        return
                self.asked.append(said)
                if b"rdb-only" in said:
                    self.channel(sock)
                else:
                    self.mains += 1
                    self.main(sock)
            except OSError:
                pass
            except AssertionError as e:
                self.errors.append(e)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class ReplicaChannel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.copy = primary_bytes()[2]

    def from_real(self, primary):
        """Follows `primary` while that has much to copy, and clients write there."""
        with Server(*QUICK, *DEBUG) as replica, Client(primary.port) as c, Client(replica.port) as r:
            c("DEBUG", "POPULATE", 3000, "key", 20_000)
            write_all_types(c, 17)
            c("SELECT", 0)
            stops = threading.Event()

            def write():
                with Client(primary.port) as w:
                    n = 0
                    while not stops.is_set():
                        n += 1
                        w("SELECT", n % 3)
                        w("SET", f"w{n % 500}", n)
                        w("RPUSH", "all", n)

            writer = threading.Thread(target=write)
            writer.start()
            try:
                r("REPLICAOF", "127.0.0.1", primary.port)
                wait_until(lambda: r.info()["master_link_status"] == "up", "the link is up")
            finally:
                stops.set()
                writer.join()
            replica.wait_for_log("initialize RDB channel")
            wait_until(lambda: caught_up(primary.port, replica.port), "caught up")
            self.assertGreater(int(r.info()["replica_full_sync_buffer_peak"]), 0)
            self.assertEqual(everything(primary.port), everything(replica.port))
            # A broken link is gone on with: the offset is right.
            before = c.info("stats")
            r("CLIENT", "KILL", "TYPE", "master")
            c("SET", "after", "it")
            wait_until(lambda: r("GET", "after") == b"it", "the link goes on")
            after = c.info("stats")
            self.assertEqual(after["sync_full"], before["sync_full"])
            self.assertEqual(int(after["sync_partial_ok"]), int(before["sync_partial_ok"]) + 1)

    def test_from_apus(self):
        with Server(*QUICK, *DEBUG) as primary:
            self.from_real(primary)

    # Where these servers are known.
    if REDIS8:

        def test_from_redis_8(self):
            on = ("--repl-rdb-channel", "yes", "--enable-debug-command", "local")
            with Redis(*QUICK, *on, program=REDIS8) as primary:
                self.from_real(primary)

    if VALKEY:

        def test_from_valkey(self):
            on = ("--dual-channel-replication-enabled", "yes", "--enable-debug-command", "local")
            with Redis(*QUICK, *on, program=VALKEY) as primary:
                self.from_real(primary)

    def test_the_stream_is_executed_behind_the_copy(self):
        """Also what came before the copy had begun; the acknowledgements say where the replica is."""
        first, second, third = (encode("SET", "k", n) for n in (1, 2, 3))
        goes_on, seen = threading.Event(), []

        def main(sock):
            sock.sendall(b"+RDBCHANNELSYNC 7\r\n" + first[:9])
            goes_on.wait(20)
            sock.sendall(first[9:] + second)
            seen.append(read_until(sock, ack(100)))
            seen.append(read_until(sock, ack(100 + len(first + second))))
            sock.sendall(third)
            seen.append(read_until(sock, ack(100 + len(first + second + third))))
            stays(sock)

        def channel(sock):
            sock.sendall(b"\n+FULLRESYNC " + ID.encode() + b" 100\r\n\n")
            sock.sendall(self.copy[:-1])
            goes_on.set()
            sock.sendall(self.copy[-1:])
            stays(sock)

        with Two(main, channel) as p, Server() as server, Client(server.port) as c:
            c("REPLICAOF", "127.0.0.1", p.port)
            wait_until(lambda: len(seen) == 3 or p.errors, "all is acknowledged")
            self.assertEqual(p.errors, [])
            self.assertEqual(c("GET", "k"), b"3")
            offset = str(100 + len(first + second + third))
            info = c.info()
            self.assertEqual((info["slave_repl_offset"], info["master_replid"]), (offset, ID))
            self.assertIn(encode("main-ch-client-id", "7")[4:], p.asked[1])
            self.assertIn(b"rdb-channel-repl", p.asked[0])

    def test_valkeys_form(self):
        seen = []
        stream = encode("SET", "k", 5)

        def main(sock):
            sock.sendall(b"+DUALCHANNELSYNC\r\n")
            seen.append(read_until(sock, encode("REPLCONF", "set-rdb-client-id", "9")))
            sock.sendall(b"+OK\r\n")
            seen.append(read_until(sock, encode("PSYNC", ID, "101")))
            sock.sendall(b"+CONTINUE\r\n" + stream)
            seen.append(read_until(sock, ack(100 + len(stream))))
            stays(sock)

        def channel(sock):
            sock.sendall(b"$ENDOFF:100 " + ID.encode() + b" 0 9\r\n")
            sock.sendall(self.copy)
            stays(sock)

        with Two(main, channel) as p, Server() as server, Client(server.port) as c:
            c("REPLICAOF", "127.0.0.1", p.port)
            wait_until(lambda: len(seen) == 3 or p.errors, "all is acknowledged")
            self.assertEqual((p.errors, c("GET", "k")), ([], b"5"))

    def test_a_full_buffer_leaves_the_stream_at_the_primary(self):
        size, sent = 64 << 20, threading.Event()
        stream = b"".join(encode("SET", f"k{n}", "x" * 1000) for n in range(size // 1000))

        def main(sock):
            sock.sendall(b"+RDBCHANNELSYNC 7\r\n")
            sock.sendall(stream)
            sent.set()
            stays(sock)

        ends = threading.Event()

        def channel(sock):
            sock.sendall(b"+FULLRESYNC " + ID.encode() + b" 0\r\n")
            ends.wait(20)
            sock.sendall(self.copy)
            stays(sock)

        limit = ("--replica-full-sync-buffer-limit", "1mb")
        with Two(main, channel) as p, Server(*limit) as server, Client(server.port) as c:
            c("REPLICAOF", "127.0.0.1", p.port)
            held = lambda: int(c.info().get("replica_full_sync_buffer_size", 0))
            wait_until(lambda: held() >= 1 << 20, "the buffer is full")
            self.assertLess(held(), 2 << 20)
            self.assertFalse(sent.is_set())
            ends.set()
            wait_until(lambda: c("DBSIZE") == size // 1000, "all is executed")
            self.assertEqual(held(), 0)

    def fails(self, main, channel):
        """The old data stays, and the replica asks again."""
        with Server() as server, Client(server.port) as c:
            c("SET", "old", "data")
            with Two(main, channel) as p:
                c("REPLICAOF", "127.0.0.1", p.port)
                wait_until(lambda: p.mains > 1, "it asks again")
                self.assertEqual(c("GET", "old"), b"data")
                self.assertEqual(c("REPLICAOF", "NO", "ONE"), b"OK")
            self.assertEqual(c("SET", "works", 1), b"OK")
            left = [name for name in os.listdir(server.dir) if name.startswith("temp-")]
            wait_until(lambda: not [n for n in os.listdir(server.dir) if n.startswith("temp-")], f"{left} is removed")

    def test_faults(self):
        offer = lambda sock: (sock.sendall(b"+RDBCHANNELSYNC 7\r\n"), stays(sock))
        full = b"+FULLRESYNC " + ID.encode() + b" 0\r\n"

        def waits(sock):
            sock.sendall(full + self.copy[:60])
            stays(sock)

        def damaged(sock):
            bad = self.copy[:60] + b"\xff" + self.copy[61:]
            sock.sendall(full + bad)
            stays(sock)

        cases = {
            "refused": (offer, lambda s: s.sendall(b"-ERR no\r\n")),
            "cut in the copy": (offer, lambda s: s.sendall(full + self.copy[:60])),
            "no position": (offer, lambda s: s.sendall(b"+FULLRESYNC\r\n")),
            "a copy that is damaged": (offer, damaged),
            "the first connection is lost": (lambda s: s.sendall(b"+RDBCHANNELSYNC 7\r\n"), waits),
            "an offer within an offer": (offer, lambda s: s.sendall(b"+RDBCHANNELSYNC 7\r\n")),
            "no number": (lambda s: s.sendall(b"+RDBCHANNELSYNC x\r\n"), waits),
            "no end offset": (
                lambda s: (s.sendall(b"+DUALCHANNELSYNC\r\n"), s.recv(1)),
                lambda s: s.sendall(b"$ENDOFF:x\r\n"),
            ),
            "a word before the copy": (lambda s: (s.sendall(b"+DUALCHANNELSYNC\r\n+X\r\n"), s.recv(1)), waits),
        }
        for name, (main, channel) in cases.items():
            with self.subTest(name):
                self.fails(main, channel)

    def test_after_a_copy_that_cannot_be_read_nothing_is_left_to_go_on_from(self):
        """The file is lost after it was proved. The old data is gone then, and so is its place in a history."""
        goes_on = threading.Event()

        def main(sock):
            sock.sendall(b"+DUALCHANNELSYNC\r\n")
            read_until(sock, encode("REPLCONF", "set-rdb-client-id", "9"))
            sock.sendall(b"+OK\r\n")
            read_until(sock, encode("PSYNC", ID, "101"))
            goes_on.wait(20)
            sock.sendall(b"+CONTINUE\r\n")
            stays(sock)

        def channel(sock):
            sock.sendall(b"$ENDOFF:100 " + ID.encode() + b" 0 9\r\n")
            sock.sendall(self.copy)
            stays(sock)

        with Server(*QUICK) as old, Server() as server, Client(old.port) as o, Client(server.port) as c:
            o("SET", "old", "data")
            c("REPLICAOF", "127.0.0.1", old.port)
            wait_until(lambda: c("GET", "old") == b"data", "it has a copy")
            with Two(main, channel) as p:
                c("REPLICAOF", "127.0.0.1", p.port)
                copies = lambda: [n for n in os.listdir(server.dir) if n.startswith("temp-")]
                # Without the line that announces it, and the 40 bytes in that line which end it.
                announced, data = self.copy.lstrip(b"\n").split(b"\r\n", 1)
                size = len(data) - (40 if announced.startswith(b"$EOF:") else 0)
                whole = lambda n: os.path.getsize(os.path.join(server.dir, n)) == size
                wait_until(lambda: [n for n in copies() if whole(n)] and p.mains == 1, "the copy has come")
                for name in copies():
                    os.truncate(os.path.join(server.dir, name), size // 2)
                goes_on.set()
                wait_until(lambda: p.mains > 1, "it asks again")
                self.assertEqual(p.errors, [])
                second = [asked for asked in p.asked if b"PSYNC" in asked][1]
                self.assertIn(encode("PSYNC", "?", "-1"), second)
                self.assertEqual(c("REPLICAOF", "NO", "ONE"), b"OK")
            self.assertEqual((c("DBSIZE"), c("SET", "works", 1)), (0, b"OK"))

    def test_it_is_an_option(self):
        with Server(*QUICK) as primary, Server("--repl-rdb-channel", "no") as replica, Client(primary.port) as c:
            c("SET", "k", "v")
            with Client(replica.port) as r:
                r("REPLICAOF", "127.0.0.1", primary.port)
                wait_until(lambda: r("GET", "k") == b"v", "it has the copy")
            self.assertNotIn("RDB channel", "\n".join(replica.log))


@beyond_redis
class Paused(unittest.TestCase):
    """DEBUG REPL-PAUSE stops the process at a point of the copy, and what is done meanwhile counts when it goes on."""

    def pair(self):
        primary, replica = (Server(*QUICK, *DEBUG) for _ in range(2))
        for server in (primary, replica):
            self.addCleanup(server.close)
        clients = Client(primary.port), Client(replica.port)
        for client in clients:
            self.addCleanup(client.close)
        return primary, replica, *clients

    def stands(self, server):
        # Before the server is closed, if the test fails.
        self.addCleanup(lambda: self.go_on(server))
        wait_until(lambda: set(states(server.process.pid)) == {"T"}, "all its threads stand")

    def go_on(self, server):
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGCONT)

    def test_before_the_second_connection(self):
        primary, replica, p, r = self.pair()
        p("SET", "k", "v")
        self.assertEqual(r("DEBUG", "REPL-PAUSE", "before-rdb-channel"), b"OK")
        r("REPLICAOF", "127.0.0.1", primary.port)
        self.stands(replica)
        wait_until(lambda: "state=wait_bgsave" in p.info().get("slave0", ""), "the primary waits")
        self.go_on(replica)
        wait_until(lambda: r("GET", "k") == b"v", "it has the copy")

    def test_on_the_primary_when_a_copy_has_begun(self):
        primary, _, p, r = self.pair()
        p("SET", "k", "v")
        p("DEBUG", "REPL-PAUSE", "AFTER-FORK")
        r("REPLICAOF", "127.0.0.1", primary.port)
        self.stands(primary)
        self.go_on(primary)
        wait_until(lambda: r("GET", "k") == b"v", "it has the copy")
        self.assertIn("ERR", str(p("DEBUG", "REPL-PAUSE", "somewhere")))

    def test_while_the_stream_beside_the_copy_is_executed(self):
        primary, replica, p, r = self.pair()
        p("CONFIG", "SET", "repl-backlog-size", "10mb")
        p("DEBUG", "POPULATE", 2000, "key", 1000)
        # It takes two seconds, in which the stream comes.
        p("CONFIG", "SET", "rdb-key-save-delay", 1000)
        r("DEBUG", "REPL-PAUSE", "on-streaming-repl-buf")
        r("REPLICAOF", "127.0.0.1", primary.port)
        wait_until(lambda: "state=send_bulk_and_stream" in p.info().get("slave0", ""), "the copy has begun")
        lines = p("CLIENT", "LIST", "TYPE", "replica").decode().splitlines()
        self.assertEqual([line.split("flags=")[1].split()[0] for line in lines], ["S", "SC"])
        for n in range(20):
            p("SET", f"w{n}", "x" * 100_000)
        self.stands(replica)
        p("CONFIG", "SET", "rdb-key-save-delay", 0)
        # Both are executed before more of the stream is.
        r.send(encode("CLIENT", "KILL", "TYPE", "master") + encode("DEBUG", "REPL-PAUSE", "clear"))
        self.go_on(replica)
        self.assertEqual((r.reply(), r.reply()), (1, b"OK"))
        replica.wait_for_log("Master client was freed while streaming")
        wait_until(lambda: caught_up(primary.port, replica.port), "the next link goes on")
        self.assertEqual(everything(primary.port), everything(replica.port))
        self.assertEqual(p.info("stats")["sync_full"], "1")


if __name__ == "__main__":
    unittest.main()
