"""The role of the primary moves: FAILOVER, and three real Sentinels."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from harness.ports import free_port
from harness.replication import REDIS, Client, Error, Redis, caught_up, everything
from harness.server import Server, beyond_redis, wait_until
from raw.test_primary import write_all_types

QUICK = ("--repl-diskless-sync-delay", 0)


def role(port):
    """None when the connection is closed, as Sentinel does with all of a server whose role it changes."""
    try:
        with Client(port) as c:
            return c("ROLE")[0]
    except (AssertionError, ConnectionError):
        return None


def follow(primary, *replicas):
    for replica in replicas:
        with Client(replica.port) as r:
            r("REPLICAOF", "127.0.0.1", primary.port)
    for replica in replicas:
        wait_until(lambda r=replica: caught_up(primary.port, r.port), "the replica follows")


class Sentinel:
    """A real redis-sentinel that watches one primary, `mymaster`, with a quorum of 2."""

    def __init__(self, primary, down_after=1000, failover_timeout=5000):
        self.dir = tempfile.mkdtemp(prefix="sentinel-test-")
        self.port = free_port()
        path = os.path.join(self.dir, "sentinel.conf")
        with open(path, "w") as conf:
            conf.write(f"""port {self.port}
dir {self.dir}
sentinel monitor mymaster 127.0.0.1 {primary} 2
sentinel down-after-milliseconds mymaster {down_after}
sentinel failover-timeout mymaster {failover_timeout}
""")
        with open(os.path.join(self.dir, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [REDIS, path, "--sentinel"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def ask(self, *words):
        """A reply, or none while the process does not listen."""
        try:
            with Client(self.port) as c:
                return c("SENTINEL", *words)
        except OSError:
            return None

    def primary(self):
        """The port of the primary."""
        address = self.ask("GET-MASTER-ADDR-BY-NAME", "mymaster")
        return int(address[1]) if address else None

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class WithFile:
    """A server with a configuration file, which outlives its process."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="apus-failover-")
        self.conf = os.path.join(self.dir, "apus.conf")
        self.port = free_port()
        self.server = None
        with open(self.conf, "w") as conf:
            conf.write("repl-diskless-sync-delay 0\n")

    def start(self):
        with open(self.conf) as conf:
            # CONFIG REWRITE has written what the harness gives as well.
            keep = [line for line in conf if line.split(" ")[0] not in ("port", "dir", "save")]
        with open(self.conf, "w") as conf:
            conf.writelines(keep)
        self.server = Server("--port", self.port, conf=self.conf)
        self.server.port = self.port

    def kill(self):
        os.kill(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()

    def close(self):
        self.server.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.close()


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Failover(unittest.TestCase):
    def state(self, server):
        with Client(server.port) as c:
            return c.info()["master_failover_state"]

    def done(self, server):
        wait_until(lambda: self.state(server) == "no-failover", "the failover ends")

    def test_to_a_replica_while_clients_write(self):
        for other in (Server, Redis):
            with self.subTest(other=other.__name__), Server(*QUICK) as a, other(*QUICK) as b:
                follow(a, b)
                stop, acknowledged = threading.Event(), []

                def write():
                    with Client(a.port) as c:
                        while not stop.is_set():
                            if isinstance(c("INCR", "n"), Error):
                                return
                            acknowledged.append(1)

                writer = threading.Thread(target=write)
                writer.start()
                try:
                    wait_until(lambda: len(acknowledged) > 100, "the client writes")
                    with Client(a.port) as c:
                        self.assertEqual(c("FAILOVER", "TO", "127.0.0.1", b.port), b"OK")
                    wait_until(lambda: role(a.port) == b"slave", "it is a replica")
                    self.done(a)
                finally:
                    stop.set()
                    writer.join()
                self.assertEqual(role(b.port), b"master")
                with Client(b.port) as c:
                    self.assertEqual(int(c("GET", "n")), len(acknowledged))
                    self.assertEqual(c.info("stats")["sync_full"], "0")
                    write_all_types(c, 3, 50)
                wait_until(lambda: caught_up(b.port, a.port), "the old primary follows")
                self.assertEqual(everything(a.port), everything(b.port))

    def test_a_redis_asks_apus(self):
        with Redis(*QUICK) as a, Server(*QUICK) as b, Client(a.port) as c:
            follow(a, b)
            write_all_types(c, 1, 50)
            self.assertEqual(c("FAILOVER"), b"OK")
            wait_until(lambda: role(b.port) == b"master", "Apus takes over")
            wait_until(lambda: caught_up(b.port, a.port), "Redis follows")
            self.assertEqual(everything(a.port), everything(b.port))

    def test_it_is_given_up(self):
        with Server(*QUICK) as a, Server(*QUICK) as b, Client(a.port) as c:
            def error(*words):
                return str(c("FAILOVER", *words))

            self.assertIn("requires connected replicas", error())
            follow(a, b)
            self.assertIn("is not a replica", error("TO", "127.0.0.1", 1))
            force = ("TO", "127.0.0.1", b.port, "FORCE")
            self.assertIn("requires both a timeout and target", error(*force))
            self.assertIn("No failover in progress", error("ABORT"))
            with Client(b.port) as theirs:
                self.assertIn("not valid when server is a replica", str(theirs("FAILOVER")))
                theirs("ACL", "SETUSER", "default", "-psync")
                self.assertEqual(c("FAILOVER"), b"OK")
                a.wait_for_log("Failover target rejected psync request")
                theirs("ACL", "SETUSER", "default", "+psync")
            self.done(a)
            self.assertEqual((role(a.port), c("SET", "k", "v")), (b"master", b"OK"))
            wait_until(lambda: caught_up(a.port, b.port), "the replica is back")

            os.kill(b.process.pid, signal.SIGSTOP)
            try:
                c("SET", "k", "never acknowledged")
                self.assertEqual(c("FAILOVER", "TIMEOUT", 600_000), b"OK")
                self.assertEqual(self.state(a), "waiting-for-sync")
                self.assertIn("already in progress", error())
                self.assertIn("not allowed while failing over", str(c("REPLICAOF", "NO", "ONE")))
                self.assertEqual(c("GET", "k"), b"never acknowledged")
                self.assertEqual(c("FAILOVER", "ABORT"), b"OK")
                self.assertEqual(c("SET", "k", "again"), b"OK")
                self.assertEqual(c("FAILOVER", "TIMEOUT", 1), b"OK")
                self.done(a)
                self.assertEqual((role(a.port), c("SET", "k", "v")), (b"master", b"OK"))
            finally:
                os.kill(b.process.pid, signal.SIGCONT)
            wait_until(lambda: caught_up(a.port, b.port), "the replica goes on")

    def test_three_sentinels(self):
        with WithFile() as a, WithFile() as b, WithFile() as c:
            follow(a, b, c)
            with Client(a.port) as client:
                write_all_types(client, 1, 50)
            with Sentinel(a.port) as s, Sentinel(a.port) as t, Sentinel(a.port) as u:
                for sentinel in (s, t, u):
                    wait_until(
                        lambda s=sentinel: isinstance(s.ask("CKQUORUM", "mymaster"), bytes)
                        and len(s.ask("REPLICAS", "mymaster")) == 2
                        and len(s.ask("SENTINELS", "mymaster")) == 2,
                        "the Sentinels know all",
                    )
                wait_until(
                    lambda: caught_up(a.port, b.port) and caught_up(a.port, c.port), "caught up"
                )
                before = everything(a.port)
                a.kill()
                wait_until(lambda: s.primary() in (b.port, c.port), "a replica is promoted")
                new, other = (b, c) if s.primary() == b.port else (c, b)
                wait_until(lambda: role(new.port) == b"master", "it is the primary")
                self.assertEqual(everything(new.port), before)
                wait_until(lambda: caught_up(new.port, other.port), "the other replica follows")
                with Client(new.port) as client:
                    write_all_types(client, 2, 50)
                    self.assertEqual(client.info("stats")["sync_full"], "0")
                    self.assertEqual(client("CONFIG", "GET", "replicaof")[1], b"")
                # The role is in the file: CONFIG REWRITE.
                with open(other.conf) as conf:
                    self.assertIn(f"replicaof 127.0.0.1 {new.port}\n", conf.read())
                with open(new.conf) as conf:
                    self.assertNotIn("replicaof", conf.read())
                a.server.close()
                a.start()
                wait_until(lambda: role(a.port) == b"slave", "the old primary is a replica")
                wait_until(lambda: caught_up(new.port, a.port), "it follows")
                self.assertEqual(everything(a.port), everything(new.port))
