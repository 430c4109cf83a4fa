"""Apus as the replica of a real Redis, and of Apus."""

import os
import shutil
import signal
import socket
import threading
import unittest

from harness.replication import REDIS, Client, Error, Redis, caught_up, everything
from harness.server import Server, beyond_redis, encode, wait_until
from raw.test_primary import write_all_types

QUICK = ("--repl-diskless-sync-delay", 0)


class Fake:
    """A primary that answers each line with what it is told to."""

    def __init__(self, *answers):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.answers = answers
        self.connections = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            try:
                for answer in self.answers:
                    c.recv(4096)
                    c.sendall(answer)
            except OSError:
                pass
            c.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Replica(unittest.TestCase):
    def follow(self, primary, replica):
        with Client(replica.port) as r:
            self.assertEqual(r("REPLICAOF", "127.0.0.1", primary.port), b"OK")
        wait_until(lambda: caught_up(primary.port, replica.port), "the replica follows")

    def assert_same(self, primary, *replicas):
        for replica in replicas:
            wait_until(lambda r=replica: caught_up(primary.port, r.port), "caught up")
            ours, theirs = everything(primary.port), everything(replica.port)
            keys = [k for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k)]
            for k in keys[:1]:
                self.assertEqual(ours.get(k), theirs.get(k), f"{len(keys)} keys, one is {k}")

    def primaries(self, *options):
        yield "redis", Redis(*QUICK, *options)
        yield "apus", Server(*QUICK, *options)

    def test_a_full_copy_and_the_stream(self):
        for threads in (1, 2):
            for kind, primary in self.primaries():
                with self.subTest(kind=kind, threads=threads), primary as p:
                    with Server("--threads", threads) as r, Client(p.port) as c:
                        with Client(r.port) as own:
                            own("SET", "own", "data")
                        write_all_types(c, 1)
                        self.follow(p, r)
                        self.assert_same(p, r)
                        write_all_types(c, 2)
                        self.assert_same(p, r)
                        with Client(r.port) as own:
                            self.assertTrue(str(own("SET", "k", "v")).startswith("READONLY"))
                            role = own("ROLE")
                            self.assertEqual(role[:4], [b"slave", b"127.0.0.1", p.port, b"connected"])
                            clients = own("CLIENT", "LIST", "TYPE", "master")
                            self.assertEqual(clients.count(b"\n"), 1)

    def test_a_broken_link_goes_on(self):
        for kind, primary in self.primaries():
            with self.subTest(kind=kind), primary as p, Server() as r:
                self.follow(p, r)
                with Client(p.port) as c, Client(r.port) as own:
                    for _ in range(3):
                        own("CLIENT", "KILL", "TYPE", "master")
                        write_all_types(c, 3, 50)
                        self.assert_same(p, r)
                    stats = c.info("stats")
                    self.assertEqual(stats["sync_full"], "1")
                    self.assertGreater(int(stats["sync_partial_ok"]), 0)

    def test_promotion(self):
        """The other replicas of the old primary follow the new one without a full copy."""
        with Redis(*QUICK) as a, Server() as b, Redis() as c, Client(a.port) as first:
            write_all_types(first, 1, 100)
            self.follow(a, b)
            self.follow(a, c)
            self.assert_same(a, b, c)
            with Client(b.port) as second:
                self.assertEqual(second("REPLICAOF", "NO", "ONE"), b"OK")
                wait_until(lambda: second("ROLE")[0] == b"master", "it is a primary")
                self.follow(b, c)
                self.follow(b, a)
                write_all_types(second, 2, 100)
                self.assert_same(b, a, c)
                self.assertEqual(second.info("stats")["sync_full"], "0")
                self.assertEqual(second.info("stats")["sync_partial_ok"], "2")

    def test_a_writable_replica_expires_what_its_clients_wrote(self):
        debug = ("--enable-debug-command", "local")
        with Redis(*QUICK, *debug) as a, Server("--replica-read-only", "no") as b:
            self.follow(a, b)
            with Client(a.port) as c, Client(b.port) as r:
                r("SELECT", 5)
                r("SET", "own", 1, "PX", 20)
                r("RPUSH", "list", 1)
                r("PEXPIRE", "list", 20)
                r("EVAL", "redis.call('SET', KEYS[1], 1, 'PX', 20)", 1, "script")
                r.send(encode("MULTI") + encode("SET", "tx", 1, "PX", 20) + encode("EXEC"))
                [r.reply() for _ in range(3)]
                r("SET", "later", 1, "PX", 20)
                r("PERSIST", "later")
                r("SET", "kept", 1, "EX", 1000)
                wait_until(lambda: r("DBSIZE") == 2, "the others are gone")
                self.assertEqual(sorted(r("KEYS", "*")), [b"kept", b"later"])
                self.assertEqual(r.info("stats")["slave_expires_tracked_keys"], "1")
                self.assertEqual(r.info("stats")["expired_keys"], "4")
                # What comes from the primary is the primary's to delete.
                self.assertEqual(c("DEBUG", "SET-ACTIVE-EXPIRE", 0), b"OK")
                c("SET", "theirs", 1, "PX", 20)
                r("SELECT", 0)
                wait_until(lambda: r("DBSIZE") == 1, "it is here")
                wait_until(lambda: r("EXISTS", "theirs") == 0, "its time is over")
                r("SET", "own", 1, "PX", 20)
                wait_until(lambda: r.info("stats")["expired_keys"] == "5", "the replica's is gone")
                self.assertEqual(r("DBSIZE"), 1)

    def test_the_role_is_an_option(self):
        with Server(*QUICK) as a, Server(*QUICK) as b, Client(b.port) as c:
            self.follow(a, b)
            here = f"127.0.0.1 {a.port}".encode()
            self.assertEqual(c("CONFIG", "GET", "replicaof"), [b"replicaof", here])
            c("REPLICAOF", "NO", "ONE")
            self.assertEqual(c("CONFIG", "GET", "replicaof"), [b"replicaof", b""])

    def test_functions(self):
        code = """#!lua name=lib
            redis.register_function{function_name='f', callback=function() return 'hello' end, flags={'no-writes'}}"""
        for threads in (1, 2):
            with Server("--threads", threads, *QUICK) as a, Server(*QUICK) as b:
                self.follow(a, b)
                with Client(a.port) as c, Client(b.port) as r:
                    c("FUNCTION", "LOAD", code)
                    wait_until(lambda r=r: r("FCALL", "f", 0) == b"hello", "it is there")
                    dump = c("FUNCTION", "DUMP")
                    c("FUNCTION", "DELETE", "lib")
                    wait_until(lambda r=r: r("FUNCTION", "LIST") == [], "it is gone")
                    c("FUNCTION", "RESTORE", dump)
                    wait_until(lambda r=r: r("FCALL", "f", 0) == b"hello", "it is back")
                    c("FUNCTION", "FLUSH")
                    wait_until(lambda r=r: r("FUNCTION", "LIST") == [], "it is gone again")

    def test_scripts_on_a_replica_by_their_flags(self):
        code = """#!lua name=lib
            redis.register_function('writes', function() return redis.call('SET', 'k', 1) end)
            redis.register_function{function_name='reads', callback=function() return 'r' end, flags={'no-writes'}}
            redis.register_function{function_name='old', callback=function() return 'o' end,
                flags={'no-writes', 'allow-stale'}}
            redis.register_function{function_name='get', callback=function() return redis.call('GET', 'k') end,
                flags={'no-writes', 'allow-stale'}}"""
        with Server() as server, Client(server.port) as c:
            c("FUNCTION", "LOAD", code)
            c("REPLICAOF", "127.0.0.1", "1")
            self.assertEqual(repr(c("FCALL", "writes", 0)), repr(Error("READONLY You can't write against a read only replica.")))
            self.assertEqual(c("FCALL", "reads", 0), b"r")
            c("CONFIG", "SET", "replica-serve-stale-data", "no")
            self.assertIn("MASTERDOWN", repr(c("FCALL", "reads", 0)))
            self.assertIn("MASTERDOWN", repr(c("EVAL", "return 1", 0)))
            self.assertEqual(c("FCALL", "old", 0), b"o")
            self.assertIn("Can not execute the command on a stale replica", repr(c("FCALL", "get", 0)))

    def test_a_flush_of_nothing_is_sent_too(self):
        with Server(*QUICK) as a, Server("--replica-read-only", "no", *QUICK) as b:
            self.follow(a, b)
            with Client(a.port) as c, Client(b.port) as r:
                for words in (("FLUSHALL",), ("FLUSHDB", "SYNC")):
                    r("SET", "own", "value")
                    self.assertEqual(c(*words), b"OK")
                    wait_until(lambda: r("DBSIZE") == 0, "it is empty, too")

    def test_what_a_replica_has_not_read_evicts_nothing(self):
        with Server("--repl-backlog-size", "16kb", *QUICK) as a, Redis() as b:
            self.follow(a, b)
            with Client(a.port) as c:
                for i in range(100):
                    c("SETRANGE", f"key:{i}", 100_000, "x")
                memory = c.info("memory")
                limit = int(memory["used_memory"]) - int(memory["mem_not_counted_for_evict"]) + (4 << 20)
                c("CONFIG", "SET", "maxmemory", limit, "maxmemory-policy", "allkeys-random")
                os.kill(b.process.pid, signal.SIGSTOP)
                try:
                    for _ in range(2_000):
                        c("SETRANGE", "key:0", 0, "x" * 10_000)
                    self.assertEqual(c("DBSIZE"), 100)
                    self.assertGreater(int(c.info("memory")["mem_clients_slaves"]), 8 << 20)
                finally:
                    os.kill(b.process.pid, signal.SIGCONT)

    def test_a_transaction_that_is_stale_when_it_ends(self):
        with Server("--replica-serve-stale-data", "no") as server:
            with Client(server.port) as c, Client(server.port) as other:
                c("SET", "k", "v")
                for queued in (("GET", "k"), ("PING",)):
                    c("MULTI")
                    c(*queued)
                    other("REPLICAOF", "127.0.0.1", "1")
                    self.assertRegex(repr(c("EXEC")), "EXECABORT.*MASTERDOWN")
                    other("REPLICAOF", "NO", "ONE")
                c("MULTI")
                other("REPLICAOF", "127.0.0.1", "1")
                other("REPLICAOF", "NO", "ONE")
                c("GET", "k")
                self.assertEqual(c("EXEC"), [b"v"])

    def test_a_chain(self):
        with Redis(*QUICK) as a, Server(*QUICK) as b, Server(*QUICK) as c, Redis() as d:
            self.follow(a, b)
            self.follow(b, c)
            self.follow(c, d)
            with Client(a.port) as first:
                write_all_types(first, 1)
                self.assert_same(a, b, c, d)
                offsets = set()
                for port in (a.port, b.port, c.port, d.port):
                    with Client(port) as any_of_them:
                        offsets.add(any_of_them.info()["master_replid"])
                self.assertEqual(len(offsets), 1)

    def test_messages_and_expiry(self):
        for kind, primary in self.primaries():
            with self.subTest(kind=kind), primary as p, Server() as r, Client(p.port) as c:
                self.follow(p, r)
                with Client(r.port) as s:
                    s("SUBSCRIBE", "ch")
                    c("PUBLISH", "ch", "m")
                    self.assertEqual(s.reply(), [b"message", b"ch", b"m"])
                c("SET", "k", "v", "PX", 20)
                with Client(r.port) as own:
                    wait_until(lambda: own("GET", "k") is None, "it is hidden")
                    wait_until(lambda: own("DBSIZE") == 0, "it is deleted")

    def test_the_start(self):
        with Redis(*QUICK, "--requirepass", "secret") as p, Client(p.port) as c:
            c("AUTH", "secret")
            c("SET", "k", "v")
            options = ["--replicaof", f"127.0.0.1 {p.port}", "--masterauth", "wrong"]
            with Server(*options) as r, Client(r.port) as own:
                r.wait_for_log("Unable to AUTH to MASTER")
                own("CONFIG", "SET", "masterauth", "secret")
                wait_until(lambda: own("GET", "k") == b"v", "it follows")
                self.assertEqual(own("CONFIG", "GET", "replicaof")[1],
                                 f"127.0.0.1 {p.port}".encode())

    def test_strange_primaries(self):
        handshake = (b"+PONG\r\n", b"+OK\r\n+OK\r\n")
        full = b"+FULLRESYNC " + b"a" * 40 + b" 1\r\n"
        strange = [
            (b"",),
            (b"garbage without end" * 1000,),
            (b"+PONG\r\n", b"-ERR what\r\n" * 3),
            (*handshake, b"+FULLRESYNC x\r\n"),
            (*handshake, full + b"$10\r\nnot an RDB"),
            (*handshake, full + b"$99999999999999999999\r\n"),
            (*handshake, full + b"$EOF:" + b"b" * 40 + b"\r\nREDIS0011 cut"),
            (*handshake, full + b"$EOF:" + b"b" * 40 + b"\r\nREDIS9999" + b"b" * 40),
        ]
        for answers in strange:
            with self.subTest(answers=answers[-1][:60]), Fake(*answers) as p, Server() as r:
                with Client(r.port) as own:
                    own("SET", "k", "v")
                    own("REPLICAOF", "127.0.0.1", p.port)
                    wait_until(lambda p=p: p.connections >= 2, "it tries again")
                    self.assertEqual(own("GET", "k"), b"v")
                    own("REPLICAOF", "NO", "ONE")
                    wait_until(lambda own=own: own("SET", "k", "w") == b"OK", "it is a primary")


if __name__ == "__main__":
    unittest.main()
