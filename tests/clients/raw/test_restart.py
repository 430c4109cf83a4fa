"""A server that is started again goes on in the replication stream where its snapshot was taken."""

import os
import shutil
import tempfile
import unittest

from harness.ports import free_port
from harness.replication import REDIS, Client, Redis, caught_up, everything
from harness.server import Server, beyond_redis, wait_until
from raw.test_primary import write_all_types


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Restart(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="apus-restart-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.port = free_port()

    def server(self, *options):
        at = ["--port", self.port, "--dir", self.dir, "--repl-diskless-sync-delay", 0]
        at += ["--enable-debug-command", "local"]
        server = Server(*at, *options)
        server.port = self.port
        return server

    def end(self, server, how="SHUTDOWN SAVE"):
        with Client(self.port) as c:
            c.send(how.encode() + b"\r\n")
            server.wait()

    def follow(self, primary, replica):
        with Client(replica.port) as r:
            r("REPLICAOF", "127.0.0.1", primary.port)
        self.same(primary, replica)

    def same(self, primary, replica):
        wait_until(lambda: caught_up(primary.port, replica.port), "the replica follows")
        self.assertEqual(everything(primary.port), everything(replica.port))

    def syncs(self, server):
        with Client(server.port) as c:
            stats = c.info("stats")
        return stats["sync_full"], stats["sync_partial_ok"]

    def test_a_primary(self):
        with Redis() as r:
            with self.server() as p, Client(self.port) as c:
                write_all_types(c, 1, 100)
                self.follow(p, r)
                write_all_types(c, 2, 100)
                # Its time is over when the server starts: the stream says so, not the load.
                c("DEBUG", "SET-ACTIVE-EXPIRE", 0)
                c("SET", "soon", "gone", "PX", 1)
                self.same(p, r)
                self.end(p)
            with self.server() as p, Client(self.port) as c:
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("0", "1"))
                write_all_types(c, 3, 100)
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("0", "1"))

    def test_a_replica_that_has_more_gets_a_full_copy(self):
        with Redis() as r:
            with self.server() as p, Client(self.port) as c:
                self.follow(p, r)
                write_all_types(c, 1, 50)
                c("SAVE")
                write_all_types(c, 2, 50)
                self.same(p, r)
                p.process.kill()
                p.wait()
            with self.server() as p:
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("1", "0"))

    def test_a_replica(self):
        with Redis("--repl-diskless-sync-delay", 0) as p, Client(p.port) as c:
            with self.server() as r:
                write_all_types(c, 1, 100)
                self.follow(p, r)
                # The stream has selected a database, and does not say so again.
                c("SELECT", 3)
                c("SET", "k", 1)
                self.same(p, r)
                self.end(r)
            c("SET", "k", 2)
            with self.server("--replicaof", f"127.0.0.1 {p.port}") as r:
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("1", "1"))
                write_all_types(c, 2, 100)
                self.same(p, r)

    def test_a_primary_with_a_journal(self):
        journal = ("--appendonly", "yes", "--save", "")
        with Redis() as r:
            with self.server(*journal) as p, Client(self.port) as c:
                write_all_types(c, 1, 100)
                self.follow(p, r)
                c("BGREWRITEAOF")
                write_all_types(c, 2, 100)
                # Its time is over when the server starts: the stream says so, not the load.
                c("DEBUG", "SET-ACTIVE-EXPIRE", 0)
                c("SET", "soon", "gone", "PX", 1)
                self.same(p, r)
                self.end(p, "SHUTDOWN")
            with self.server(*journal) as p, Client(self.port) as c:
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("0", "1"))
                write_all_types(c, 3, 100)
                self.same(p, r)
                self.assertEqual(self.syncs(p), ("0", "1"))
                # What is not ended in order has no position: here it has lost nothing, but it might have.
                p.process.kill()
                p.wait()
            with self.server(*journal) as p:
                self.same(p, r)
                self.assertEqual(self.syncs(p)[0], "1")

    def test_a_replica_with_a_journal(self):
        journal = ("--appendonly", "yes", "--save", "")
        for kind in (Redis, Server):
            with self.subTest(primary=kind.__name__):
                with kind("--repl-diskless-sync-delay", 0) as p, Client(p.port) as c:
                    with self.server(*journal) as r:
                        write_all_types(c, 1, 100)
                        self.follow(p, r)
                        # The stream has selected a database, and does not say so again.
                        c("SELECT", 3)
                        c("SET", "k", 1)
                        self.same(p, r)
                        # Until the journal has its base, the server does not end.
                        r.wait_for_log("rewriting finished successfully")
                        r.process.terminate()
                        r.wait()
                    c("SET", "k", 2)
                    for followed in (1, 2):
                        follows = ("--replicaof", f"127.0.0.1 {p.port}")
                        with self.server(*journal, *follows) as r:
                            self.same(p, r)
                            self.assertEqual(self.syncs(p), ("1", str(followed)))
                            write_all_types(c, 2, 100)
                            self.same(p, r)
                            self.end(r, "SHUTDOWN")
                shutil.rmtree(self.dir)
                os.mkdir(self.dir)

    def test_a_journal_that_has_gone_on_without_its_position(self):
        """The position belongs to one record: a journal with more behind it has none."""
        journal = ("--appendonly", "yes", "--save", "")
        with Redis() as r:
            with self.server(*journal) as p, Client(self.port) as c:
                self.follow(p, r)
                write_all_types(c, 1, 50)
                self.same(p, r)
                self.end(p, "SHUTDOWN")
            path = os.path.join(self.dir, "appendonlydir", "appendonly.aof.position")
            with open(path, "rb") as f:
                position = f.read()
            with self.server(*journal) as p, Client(self.port) as c:
                self.assertFalse(os.path.exists(path))
                r_client = Client(r.port)
                with r_client:
                    r_client("REPLICAOF", "127.0.0.1", p.port + 1 if p.port < 65535 else 1)
                c("SET", "more", 1)
                p.process.kill()
                p.wait()
            with open(path, "wb") as f:
                f.write(position)
            with self.server(*journal) as p, Client(r.port) as rc:
                rc("REPLICAOF", "127.0.0.1", p.port)
                self.same(p, r)
                self.assertEqual(self.syncs(p)[0], "1")

    def test_another_link_goes_on_in_the_database_of_the_stream(self):
        with Redis("--repl-diskless-sync-delay", 0) as a, self.server() as b, Client(a.port) as c:
            with Server() as d:
                self.follow(a, b)
                self.follow(b, d)
                c("SELECT", 3)
                c("SET", "k", 1)
                self.same(a, d)
                with Client(d.port) as r:
                    r("REPLICAOF", "127.0.0.1", a.port)
                c("SET", "k", 2)
                self.same(a, d)
                self.assertEqual(self.syncs(a), ("1", "1"))
