"""Replication over TLS, with a real Redis in either role, and the address that links come from."""

import shutil
import unittest

from harness.ports import free_port
from harness.replication import REDIS, Client, Redis, caught_up, everything
from harness.server import Server, beyond_redis, wait_until
from harness.tls import TlsServer, authority
from raw.test_primary import write_all_types

QUICK = ("--repl-diskless-sync-delay", 0)


def tls_options(port):
    ca = authority()
    return (
        "--tls-port", port, "--tls-cert-file", ca.path("server.crt"), "--tls-key-file", ca.path("server.key"),
        "--tls-ca-cert-file", ca.certificate,
    )


class TlsRedis(Redis):
    def __init__(self, *options):
        self.tls_port = free_port()
        super().__init__(*tls_options(self.tls_port), "--tls-replication", "yes", *options)


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class TlsReplication(unittest.TestCase):
    def follow(self, primary, replica):
        with Client(replica.port) as r:
            self.assertEqual(r("REPLICAOF", "127.0.0.1", primary.tls_port), b"OK")
        wait_until(lambda: caught_up(primary.port, replica.port), "the replica follows")

    def test_in_both_roles_and_between_two(self):
        ours = lambda: TlsServer("--tls-replication", "yes", *QUICK, asks="yes")
        theirs = lambda: TlsRedis("--tls-auth-clients", "yes", *QUICK)
        for primary, replica in ((ours, theirs), (theirs, ours), (ours, ours)):
            with primary() as p, replica() as r, Client(p.port) as c:
                write_all_types(c, 1, 200)
                self.follow(p, r)
                write_all_types(c, 2, 200)
                # More than one record, and more than a socket takes at once.
                c("SET", "large", "x" * 5_000_000)
                wait_until(lambda: caught_up(p.port, r.port), "it has followed")
                self.assertEqual(everything(p.port), everything(r.port))
                info = c.info()
                self.assertIn(f"port={r.tls_port},", info["slave0"], "the port that speaks TLS")
                # The link breaks, and goes on where it was.
                c("CLIENT", "KILL", "TYPE", "replica")
                c("SET", "after", "v")
                wait_until(lambda: caught_up(p.port, r.port), "it is back")
                self.assertEqual(c.info("stats")["sync_full"], "1")

    def test_a_port_without_tls(self):
        with Server(*QUICK) as plain, TlsServer("--tls-replication", "yes") as r, Client(r.port) as c:
            c("REPLICAOF", "127.0.0.1", plain.port)
            r.wait_for_log("Unable to connect to MASTER")
            self.assertEqual(c("CONFIG", "SET", "tls-replication", "no"), b"OK")
            wait_until(lambda: caught_up(plain.port, r.port), "it follows without TLS")

    def test_where_links_come_from(self):
        with Server(*QUICK) as p, Redis("--protected-mode", "no") as other, Client(p.port) as c:
            with Server("--bind-source-addr", "127.0.0.2") as r, Client(r.port) as own:
                own("REPLICAOF", "127.0.0.1", p.port)
                wait_until(lambda: caught_up(p.port, r.port), "it follows")
                self.assertIn("ip=127.0.0.2,", c.info()["slave0"])
                # An address that is not there: from any, as with Redis.
                own("CONFIG", "SET", "bind-source-addr", "192.0.2.1")
                c("CLIENT", "KILL", "TYPE", "replica")
                wait_until(lambda: "ip=127.0.0.1," in c.info().get("slave0", ""), "it is back")
            with Client(p.port) as mover, Client(other.port) as theirs:
                mover("CONFIG", "SET", "bind-source-addr", "127.0.0.3")
                mover("SET", "k", "v")
                self.assertEqual(mover("MIGRATE", "127.0.0.1", other.port, "k", 0, 5000), b"OK")
                self.assertIn(b"addr=127.0.0.3:", theirs("CLIENT", "LIST"))
