"""Replication with peers that lie, stop, die, or are cut off: in both roles."""

import os
import shutil
import socket
import threading
import unittest

from harness.replication import REDIS, Client, Error, Redis, caught_up, everything
from harness.server import Server, beyond_redis, encode, wait_until

QUICK = ("--repl-diskless-sync-delay", 0)
# What a replica of Redis 7 sends, up to the request for a full copy.
ASK = encode("PSYNC", "?", "-1")
HELLO = (
    encode("PING")
    + encode("REPLCONF", "listening-port", "1")
    + encode("REPLCONF", "capa", "eof", "capa", "psync2")
)
MIB = 1 << 20


def read_until(sock, end):
    """All bytes up to `end`."""
    data = b""
    while not data.endswith(end):
        byte = sock.recv(1)
        if not byte:
            raise AssertionError(f"closed behind {data[-200:]!r}")
        data += byte
    return data


def primary_bytes():
    """What a primary says up to the end of an empty copy, and a SET behind it."""
    with Redis(*QUICK) as redis, socket.create_connection(("127.0.0.1", redis.port)) as sock:
        sock.settimeout(20)
        sock.sendall(HELLO)
        head = read_until(sock, b"+PONG\r\n+OK\r\n+OK\r\n")
        # Redis takes no PSYNC before its answers are read.
        sock.sendall(ASK)
        read_until(sock, b"$EOF:")
        mark = read_until(sock, b"\r\n")[:-2]
        copy = read_until(sock, mark)
    full = b"+FULLRESYNC " + b"a" * 40 + b" 0\r\n"
    return head, full, b"$EOF:" + mark + b"\r\n" + copy


class Cut:
    """A primary that closes each connection behind the first `limit` bytes of what it has to say."""

    def __init__(self, said, limit):
        self.said, self.limit = said, limit
        self.connections = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                sock, _ = self.socket.accept()
            except OSError:
                return
            left = self.limit
            with sock:
                try:
                    for answer in self.said:
                        sock.recv(4096)
                        sock.sendall(answer[:left])
                        left -= len(answer)
                        if left <= 0:
                            break
                except OSError:
                    pass
            self.connections += 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Faults(unittest.TestCase):
    def follow(self, primary, replica):
        with Client(replica.port) as r:
            self.assertEqual(r("REPLICAOF", "127.0.0.1", primary.port), b"OK")
        wait_until(lambda: caught_up(primary.port, replica.port), "the replica follows")

    def assert_same(self, primary, replica):
        wait_until(lambda: caught_up(primary.port, replica.port), "caught up")
        self.assertEqual(everything(primary.port), everything(replica.port))

    def works(self, primary):
        """A real replica comes, and has everything."""
        with Redis() as r, Client(primary.port) as c:
            self.follow(primary, r)
            self.assertEqual(c("SET", "works", "yes"), b"OK")
            self.assert_same(primary, r)

    def test_a_replica_is_cut_at_every_byte_of_its_handshake(self):
        with Server(*QUICK) as p, Client(p.port) as c:
            c("SET", "k", "v")
            for n in range(len(HELLO + ASK) + 1):
                with Client(p.port) as replica:
                    replica.send((HELLO + ASK)[:n])
            wait_until(lambda: c.info()["connected_slaves"] == "0", "all are gone")
            self.works(p)

    def test_a_primary_is_cut_at_every_byte_of_its_handshake(self):
        head, full, copy = primary_bytes()
        lines = [line + b"\r\n" for line in head.split(b"\r\n")[:-1]]
        # The replica asks three things at once behind PING, then for the copy.
        said = [lines[0], b"".join(lines[1:]), full + copy]
        whole = sum(len(answer) for answer in said)
        lanes = 6

        def lane(first):
            with Server() as r, Client(r.port) as own:
                own("SET", "k", "v")
                for n in range(first, whole, lanes):
                    with Cut(said, n) as p:
                        own("REPLICAOF", "127.0.0.1", p.port)
                        wait_until(lambda p=p: p.connections > 0, f"cut after {n}")
                        got = own("GET", "k")
                        while isinstance(got, Error) and "LOADING" in str(got):
                            got = own("GET", "k")
                        if got != b"v":
                            failures.append((n, got))
                        own("REPLICAOF", "NO", "ONE")
            done.append(first)

        failures, done = [], []
        threads = [threading.Thread(target=lane, args=(first,)) for first in range(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(sorted(done), list(range(lanes)))
        # The bytes are a handshake: whole, they replace the data.
        with Cut(said, whole) as p, Server() as r, Client(r.port) as own:
            own("SET", "k", "v")
            own("REPLICAOF", "127.0.0.1", p.port)
            wait_until(lambda: own("GET", "k") is None, "the copy is loaded")

    def test_a_transaction_without_an_end(self):
        """What is held of it is bounded and counted; then a full copy is asked for, not the same bytes again."""
        head, full, copy = primary_bytes()
        lines = [line + b"\r\n" for line in head.split(b"\r\n")[:-1]]
        asked, held, done = [], [], threading.Event()
        limits = ("--client-query-buffer-limit", "2mb", "--client-output-buffer-limit", "replica 1mb 0 0")
        with socket.create_server(("127.0.0.1", 0)) as door, Server(*limits) as r:

            def serve():
                for attempt in range(2):
                    sock, _ = door.accept()
                    with sock:
                        try:
                            for answer in (lines[0], b"".join(lines[1:])):
                                sock.recv(4096)
                                sock.sendall(answer)
                            asked.append(sock.recv(4096))
                            if attempt == 1:
                                break
                            sock.sendall(full + copy)
                            sock.recv(4096)
                            sock.sendall(encode("MULTI") + encode("SET", "k", "x" * MIB))
                            with Client(r.port) as own:
                                wait_until(lambda: b"qbuf=10" in own("CLIENT", "LIST", "TYPE", "master"), "it is held")
                                held.append(own("GET", "k"))
                            for _ in range(100):
                                sock.sendall(encode("SET", "k", "x" * MIB))
                        except OSError:
                            pass
                done.set()

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            with Client(r.port) as own:
                own("REPLICAOF", "127.0.0.1", door.getsockname()[1])
            wait_until(done.is_set, "it has asked twice")
            r.wait_for_log("A command or a transaction of MASTER does not end within 2097152 bytes")
        self.assertEqual(held, [None])
        self.assertEqual(asked, [ASK, ASK])

    def test_a_copy_without_an_end(self):
        """The replica keeps its data and takes no more memory, whatever a primary goes on sending in place of a copy."""
        head, full, _ = primary_bytes()
        lines = [line + b"\r\n" for line in head.split(b"\r\n")[:-1]]
        # A string `kN` of 1 KiB in an RDB file: the same key again and again would be refused.
        entries = b"".join(b"\x00\x06" + b"%06d" % n + b"\x44\x00" + b"x" * 1024 for n in range(1000))
        endless = {
            "a line": (b"$", b"1" * MIB),
            "newlines": (b"", b"\n" * MIB),
            "a copy": (b"$EOF:" + b"a" * 40 + b"\r\nREDIS0011\xfe\x00", entries),
            "a copy with a length": (b"$%d\r\nREDIS0011\xfe\x00" % (1 << 40), entries),
            "no copy": (b"$EOF:" + b"a" * 40 + b"\r\n", b"\x00" * MIB),
        }
        for name, (first, chunk) in endless.items():
            with self.subTest(name), socket.create_server(("127.0.0.1", 0)) as door, Server() as r, Client(r.port) as own:
                own("SET", "k", "v")
                before, ended = r.rss_bytes(), threading.Event()

                def serve(first=first, chunk=chunk, door=door, ended=ended):
                    sock, _ = door.accept()
                    with sock:
                        sock.settimeout(20)
                        try:
                            for answer in (lines[0], b"".join(lines[1:]), full + first):
                                sock.recv(4096)
                                sock.sendall(answer)
                            for _ in range(128):
                                sock.sendall(chunk)
                        except OSError:
                            pass
                    ended.set()

                threading.Thread(target=serve, daemon=True).start()
                own("REPLICAOF", "127.0.0.1", door.getsockname()[1])
                wait_until(ended.is_set, f"{name} is taken, or refused")
                own("REPLICAOF", "NO", "ONE")
                self.assertEqual(own("GET", "k"), b"v")
                self.assertLess(r.rss_bytes() - before, 64 * MIB)

    def test_a_replica_asks_for_what_is_not_there(self):
        with Server(*QUICK, "--repl-backlog-size", 16384) as p, Client(p.port) as c:
            with Redis() as r:
                self.follow(p, r)
                c("SET", "big", "x" * 100_000)
                wait_until(lambda: caught_up(p.port, r.port), "caught up")
            info = c.info()
            history, offset = info["master_replid"], int(info["master_repl_offset"])
            for asked in (-1, 0, 1, offset - 20_000, offset + 2, (1 << 63) - 1, -(1 << 63)):
                with self.subTest(asked=asked), Client(p.port) as replica:
                    replica.send(encode("PSYNC", history, asked))
                    self.assertTrue(replica.line().lstrip().startswith(b"+FULLRESYNC"), asked)
            # One that is at the end goes on; the history of another server is a full copy.
            with Client(p.port) as replica:
                replica.send(encode("PSYNC", history, offset + 1))
                self.assertTrue(replica.line().startswith(b"+CONTINUE"))
            with Client(p.port) as replica:
                replica.send(encode("PSYNC", "f" * 40, offset + 1))
                self.assertTrue(replica.line().lstrip().startswith(b"+FULLRESYNC"))
            self.works(p)

    def test_a_replica_lies_about_its_offset(self):
        with Server(*QUICK) as p, Client(p.port) as c, Redis() as honest:
            self.follow(p, honest)
            for lie in (0, -5, 1 << 40, (1 << 63) - 1, -(1 << 63), 1 << 64):
                with self.subTest(lie=lie), Client(p.port) as liar:
                    liar.send(encode("REPLCONF", "capa", "eof", "capa", "psync2"))
                    liar.line()
                    liar.send(encode("PSYNC", "?", "-1"))
                    self.assertTrue(liar.line().lstrip().startswith(b"+FULLRESYNC"))
                    for words in (("ACK", lie), ("ACK", 1), ("ACK", lie, "FACK", lie)):
                        liar.send(encode("REPLCONF", *words))
                    self.assertEqual(c("SET", "k", lie), b"OK")
                    self.assertGreaterEqual(c("WAIT", 1, 0), 1)
                    self.assert_same(p, honest)
            wait_until(lambda: c.info()["connected_slaves"] == "1", "the liars are gone")
            self.works(p)

    def test_a_replica_that_stops_reading_is_dropped_and_the_others_go_on(self):
        limit = ("--client-output-buffer-limit", "replica 2mb 0 0", "--repl-backlog-size", MIB)
        with Server(*QUICK, *limit) as p, Client(p.port) as c, Redis() as r:
            self.follow(p, r)
            with socket.socket() as lazy:
                lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                lazy.connect(("127.0.0.1", p.port))
                lazy.sendall(encode("REPLCONF", "capa", "eof", "capa", "psync2"))
                lazy.sendall(encode("PSYNC", "?", "-1") + encode("REPLCONF", "ACK", "0"))
                wait_until(lambda: c.info()["connected_slaves"] == "2", "it is there")
                before = p.rss_bytes()
                for i in range(250):
                    self.assertEqual(c("SET", f"k{i % 4}", "x" * MIB), b"OK")
                    wait_until(lambda: caught_up(p.port, r.port), "the other goes on")
                wait_until(lambda: c.info()["connected_slaves"] == "1", "it is dropped")
                self.assertLess(p.rss_bytes() - before, 100 * MIB)
            self.assert_same(p, r)

    def test_a_replica_that_takes_nothing_of_its_copy_delays_others_for_a_time_only(self):
        options = (*QUICK, "--rdbcompression", "no", "--enable-debug-command", "local")
        for streams in ("yes", "no"):
            with self.subTest(diskless=streams), Redis() as r, Client(r.port) as own:
                with Server(*options, "--repl-diskless-sync", streams, "--repl-timeout", 3) as p:
                    with Client(p.port) as c, socket.create_connection(("127.0.0.1", p.port)) as lazy:
                        c("DEBUG", "POPULATE", 20_000, "key", 5000)
                        lazy.sendall(encode("REPLCONF", "capa", "eof", "capa", "psync2"))
                        lazy.sendall(encode("PSYNC", "?", "-1"))
                        wait_until(lambda: c.info()["connected_slaves"] == "1", "it is there")
                        own("REPLICAOF", "127.0.0.1", p.port)
                        p.wait_for_log("Disconnecting timedout replica (full sync)")
                        wait_until(lambda: own("DBSIZE") == 20_000, "the other has its copy")

    def test_the_primary_is_killed_while_it_sends_the_copy(self):
        debug = ("--enable-debug-command", "local")
        for kind in (Redis, Server):
            with self.subTest(primary=kind.__name__), Server() as r, Client(r.port) as own:
                own("SET", "old", "v")
                with kind(*QUICK, *debug) as p, Client(p.port) as c:
                    c("DEBUG", "POPULATE", 20_000, "key", 5000)
                    own("REPLICAOF", "127.0.0.1", p.port)
                    wait_until(
                        lambda: int(own.info().get("master_sync_read_bytes", 0)) > 0,
                        "the copy arrives",
                    )
                    p.process.kill()
                wait_until(
                    lambda: own.info()["master_sync_in_progress"] == "0", "the copy is given up"
                )
                self.assertEqual(own("GET", "old"), b"v")
                self.assertEqual(own("DBSIZE"), 1)
                wait_until(
                    lambda: not [f for f in os.listdir(r.dir) if f.startswith("temp-")],
                    "the file of the copy is gone",
                )
                with Redis(*QUICK) as p, Client(p.port) as c:
                    c("SET", "new", "v")
                    self.follow(p, r)
                    self.assert_same(p, r)

    def test_the_replica_is_killed_while_it_gets_the_copy(self):
        with Server(*QUICK, "--enable-debug-command", "local") as p, Client(p.port) as c:
            c("DEBUG", "POPULATE", 20_000, "key", 5000)
            for kind in (Redis, Server):
                with self.subTest(replica=kind.__name__), kind() as r, Client(r.port) as own:
                    own("REPLICAOF", "127.0.0.1", p.port)
                    wait_until(
                        lambda: int(own.info().get("master_sync_read_bytes", 0)) > 0,
                        "the copy arrives",
                    )
                    r.process.kill()
                    wait_until(lambda: c.info()["connected_slaves"] == "0", "it is gone")
                    self.assertEqual(c("SET", "k", "v"), b"OK")
            self.works(p)

    def test_the_disk_of_the_replica_is_full(self):
        with Redis(*QUICK) as p, Client(p.port) as c, Server() as r, Client(r.port) as own:
            c("SET", "new", "v")
            own("SET", "old", "v")
            # The copy goes to a device that has no room. Its name is gone with the attempt.
            copy = os.path.join(r.dir, f"temp-{r.process.pid}.link.rdb")
            os.symlink("/dev/full", copy)
            own("REPLICAOF", "127.0.0.1", p.port)
            r.wait_for_log("the copy cannot be written: No space left on device")
            self.assertIn(own("GET", "old"), (b"v", None))
            wait_until(lambda: caught_up(p.port, r.port), "the next attempt has room")
            self.assert_same(p, r)

    def test_a_user_that_may_not_replicate(self):
        with Server(*QUICK) as p, Client(p.port) as c, Server() as r, Client(r.port) as own:
            c("ACL", "SETUSER", "rep", "on", ">secret", "+ping", "+replconf")
            c("CONFIG", "SET", "requirepass", "other")
            own("SET", "old", "v")
            own("REPLICAOF", "127.0.0.1", p.port)
            r.wait_for_log("NOAUTH")
            own("CONFIG", "SET", "masteruser", "rep")
            own("CONFIG", "SET", "masterauth", "secret")
            r.wait_for_log("NOPERM")
            self.assertEqual(own("GET", "old"), b"v")
            self.assertEqual(c("ACL", "SETUSER", "rep", "+psync"), b"OK")
            wait_until(lambda: own("GET", "old") is None, "it follows")

    def test_loops(self):
        """A of B of A, and a server of itself: nobody syncs, the data stays, and one order ends it."""
        for kind in (Redis, Server):
            with self.subTest(other=kind.__name__), Server(*QUICK) as a, kind(*QUICK) as b:
                with Client(a.port) as ca, Client(b.port) as cb:
                    ca("SET", "a", "v")
                    cb("SET", "b", "v")
                    ca("REPLICAOF", "127.0.0.1", b.port)
                    cb("REPLICAOF", "127.0.0.1", a.port)
                    a.wait_for_log("Connecting to MASTER")
                    wait_until(
                        lambda: ca.info()["role"] == cb.info()["role"] == "slave", "both follow"
                    )
                    self.assertEqual(cb("REPLICAOF", "NO", "ONE"), b"OK")
                    wait_until(lambda: caught_up(b.port, a.port), "the loop is broken")
                    self.assertEqual(cb("SET", "end", "v"), b"OK")
                    self.assert_same(b, a)
        with Server() as a, Client(a.port) as c:
            c("SET", "a", "v")
            c("REPLICAOF", "127.0.0.1", a.port)
            a.wait_for_log("NOMASTERLINK")
            self.assertEqual(c("GET", "a"), b"v")
            c("REPLICAOF", "NO", "ONE")
            wait_until(lambda: c("SET", "a", "w") == b"OK", "it is a primary")


if __name__ == "__main__":
    unittest.main()
