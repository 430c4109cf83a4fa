"""Replies wait for replicas (`min-replicas-ack`), and say so when they have waited in vain."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from harness.ports import free_port
from harness.replication import Client, Redis
from harness.server import PATIENCE_S, Server, beyond_redis, encode, wait_until

SOAK = os.path.join(os.path.dirname(__file__), "..", "..", "soak")
OPTIONS = ("--min-replicas-ack", "1", "--min-replicas-ack-window", "5000",
           "--repl-diskless-sync-delay", "0", "--threads", "2")
# A connection with this name is a Sentinel's.
SENTINEL = "sentinel-01234567-cmd"


def info(port):
    with Client(port) as c:
        text = c("INFO", "replication").decode()
    return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)


def states(pid):
    """The state of each thread. A thread may end while they are read."""
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/stat") as file:
                yield file.read().rsplit(") ", 1)[1][0]
        except (FileNotFoundError, ProcessLookupError):
            pass


@beyond_redis
class Acknowledged(unittest.TestCase):
    def pair(self, *options):
        primary = self.enterContext(Server(*OPTIONS, *options))
        replica = self.enterContext(Server(*OPTIONS, "--replicaof", f"127.0.0.1 {primary.port}"))
        wait_until(lambda: info(replica.port).get("slave_priority") == "100", "it may be promoted")
        return primary, replica

    def stop(self, server):
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(lambda: server.process.send_signal(signal.SIGCONT))
        # A thread of it that runs on the other core goes on for a moment.
        wait_until(lambda: all(state == "T" for state in states(server.process.pid)), "all its threads stand")

    def test_writes_and_those_who_saw_them_wait_for_the_replica(self):
        primary, replica = self.pair("--min-replicas-ack-timeout", "0")
        with Client(primary.port) as writer, Client(primary.port) as reader, Client(primary.port) as other:
            self.assertEqual(writer("SET", "k", "1"), b"OK")
            self.assertEqual(reader("GET", "k"), b"1")
            self.stop(replica)
            writer.send(encode("SET", "k", "2"))
            # It is executed, and not answered. Other commands are.
            wait_until(lambda: int(info(primary.port)["acknowledged_offset"])
                       < int(info(primary.port)["master_repl_offset"]), "the write waits")
            reader.send(encode("GET", "k"))
            self.assertEqual(other("PING"), b"PONG")
            self.assertEqual(other("PUBLISH", "c", "m"), 0)
            for waiting in (writer, reader):
                waiting.socket.settimeout(0.3)
                with self.assertRaises(OSError):
                    waiting.socket.recv(1)
                waiting.socket.settimeout(None)
            replica.process.send_signal(signal.SIGCONT)
            wait_until(lambda: info(primary.port)["in_sync_replicas"] == "1", "it is back")

    def test_pages_wait_for_the_replica_kept_ones_too(self):
        site = self.enterContext(tempfile.TemporaryDirectory())
        for path, text in {"routes": "GET / page.html\n", "templates/page.html": "{{ get('k') }}"}.items():
            os.makedirs(os.path.dirname(os.path.join(site, path)), exist_ok=True)
            with open(os.path.join(site, path), "w", encoding="utf-8") as f:
                f.write(text)
        web = free_port()
        primary, replica = self.pair("--min-replicas-ack-timeout", "0", "--web-port", web, "--web-root", site)

        def ask():
            s = self.enterContext(socket.create_connection(("127.0.0.1", web), timeout=PATIENCE_S))
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return s

        with Client(primary.port) as writer:
            self.assertEqual(writer("SET", "k", "1"), b"OK")
            self.assertTrue(ask().makefile("rb").read().endswith(b"\r\n\r\n1"))
            self.stop(replica)
            writer.send(encode("SET", "k", "2"))
            wait_until(lambda: int(info(primary.port)["acknowledged_offset"])
                       < int(info(primary.port)["master_repl_offset"]), "the write waits")
            # The first request renders the page, the second one finds it.
            pages = [ask(), ask()]
            for waiting in pages:
                waiting.settimeout(0.3)
                with self.assertRaises(OSError):
                    waiting.recv(1)
                waiting.settimeout(PATIENCE_S)
            replica.process.send_signal(signal.SIGCONT)
            for page in pages:
                self.assertTrue(page.makefile("rb").read().endswith(b"\r\n\r\n2"))

    def test_what_has_waited_in_vain_is_uncertain(self):
        primary, replica = self.pair("--min-replicas-ack-timeout", "300")
        with Client(primary.port) as c:
            c("SET", "n", "0")
            self.stop(replica)
            c.send(encode("MULTI"))
            c.send(encode("INCR", "n"))
            c.send(encode("EXEC"))
            answers = [c.reply() for _ in range(3)]
            self.assertTrue(any(str(a).find("UNCERTAIN") >= 0 for a in answers), answers)
            wait_until(lambda: "NOREPLICAS" in str(c("SET", "p", "1")), "writes are refused")
            self.assertIn("NOREPLICAS", str(c("SET", "n", "9")))
            self.assertEqual(c("PING"), b"PONG")
            replica.process.send_signal(signal.SIGCONT)
            wait_until(lambda: c("GET", "n") == b"1", "what was refused has not run")

    def test_while_a_replica_is_silent_writes_are_refused_until_it_answers_again(self):
        """Its connection stays, and it counts as one that is lost only much later: after a third of the window."""
        options = (*OPTIONS, "--min-replicas-ack-window", "3600000", "--min-replicas-ack-timeout", "500")
        replicas = {"Apus": lambda port: Server(*options, "--replicaof", f"127.0.0.1 {port}")}
        if shutil.which("redis-server"):
            replicas["Redis"] = lambda port: Redis("--replicaof", "127.0.0.1", port)
        for name, start in replicas.items():
            with self.subTest(replica=name), Server(*options) as primary, Client(primary.port) as c:
                replica = self.enterContext(start(primary.port))
                wait_until(lambda: c("SET", "k", "1") == b"OK", "it acknowledges")
                self.stop(replica)
                self.assertIn("UNCERTAIN", str(c("SET", "k", "2")))
                wait_until(lambda: "NOREPLICAS" in str(c("SET", "k", "3")), "writes are refused")
                replica.process.send_signal(signal.SIGCONT)
                wait_until(lambda: c("SET", "k", "4") == b"OK", "writes run again: refused ones ask nothing of it")
                self.assertEqual(c.info()["in_sync_replicas"], "1")

    def test_without_a_replica_nothing_is_acknowledged(self):
        with Server(*OPTIONS, "--min-replicas-ack-timeout", "100") as server, Client(server.port) as c:
            answer = str(c("SET", "k", "v"))
            self.assertTrue("UNCERTAIN" in answer or "NOREPLICAS" in answer, answer)
            self.assertEqual(c("CONFIG", "SET", "min-replicas-ack", "0"), b"OK")
            self.assertEqual(c("SET", "k", "v"), b"OK")

    def test_a_replica_that_may_lack_writes_is_not_promoted_by_a_sentinel(self):
        primary, replica = self.pair()
        primary.process.kill()
        wait_until(lambda: info(replica.port)["slave_priority"] == "0", "its grant is over")
        with Client(replica.port) as c:
            c("CLIENT", "SETNAME", SENTINEL)
            self.assertIn("NOREPLICAS", str(c("REPLICAOF", "NO", "ONE")))
            self.assertEqual(c("ROLE")[0], b"slave")
            c("CLIENT", "SETNAME", "operator")
            self.assertEqual(c("REPLICAOF", "NO", "ONE"), b"OK")
            self.assertEqual(c("ROLE")[0], b"master")

    def test_one_that_has_all_is(self):
        primary, replica = self.pair()
        with Client(primary.port) as c:
            c("SET", "k", "v")
        with Client(replica.port) as c:
            c("CLIENT", "SETNAME", SENTINEL)
            # As a Sentinel does, which has the configuration written at once: it must name no primary.
            for words in (("MULTI",), ("REPLICAOF", "NO", "ONE"), ("CONFIG", "GET", "replicaof")):
                c(*words)
            self.assertEqual(c("EXEC"), [b"OK", [b"replicaof", b""]])
            # It leaves its primary first, and waits for a moment.
            wait_until(lambda: c("ROLE")[0] == b"master", "it is promoted")

    def test_with_the_disk_an_acknowledged_write_survives_the_replica(self):
        for policy in ("always", "everysec"):
            with self.subTest(appendfsync=policy):
                journal = ("--appendonly", "yes", "--appendfsync", policy)
                disk = ("--min-replicas-ack-disk", "yes", "--min-replicas-ack-timeout", "10000")
                where = tempfile.mkdtemp(prefix="apus-disk-")
                self.addCleanup(shutil.rmtree, where, True)
                here = ("--dir", where, *journal)
                with Server(*OPTIONS, *disk) as primary, Client(primary.port) as c:
                    at = ("--replicaof", f"127.0.0.1 {primary.port}")
                    with Server(*OPTIONS, *disk, *here, *at) as replica:
                        wait_until(lambda: info(replica.port).get("slave_priority") == "100", "in sync")
                        for i in range(5):
                            self.assertEqual(c("SET", "k", i), b"OK")
                        replica.process.kill()
                        replica.wait()
                with Server(*here) as alone, Client(alone.port) as own:
                    self.assertEqual(own("GET", "k"), b"4")

    def test_a_replica_without_a_journal_has_nothing_on_disk(self):
        disk = ("--min-replicas-ack-disk", "yes", "--min-replicas-ack-timeout", "300")
        primary = self.enterContext(Server(*OPTIONS, *disk))
        replica = self.enterContext(Server(*OPTIONS, "--replicaof", f"127.0.0.1 {primary.port}"))
        wait_until(lambda: info(replica.port).get("master_link_status") == "up", "it follows")
        with Client(primary.port) as c:
            answer = str(c("SET", "k", "v"))
            self.assertTrue("UNCERTAIN" in answer or "NOREPLICAS" in answer, answer)

    def test_a_journal_is_loaded_before_anything_is_acknowledged(self):
        """Its records have numbers, as the changes have that replicas are to get."""
        place = tempfile.mkdtemp(prefix="apus-acknowledged-")
        self.addCleanup(shutil.rmtree, place, True)
        journal = ("--dir", place, "--appendonly", "yes")
        with Server(*journal) as server, Client(server.port) as c:
            for n in range(20):
                c("SET", f"k{n}", n)
            c("BGREWRITEAOF")
            wait_until(lambda: c.info("persistence")["aof_rewrite_in_progress"] == "0", "it has a base")
            c("SET", "last", "it")
        # Long enough for the periodic work of the first thread.
        slow = ("--key-load-delay", 50_000)
        for role in ((), ("--replicaof", "127.0.0.1 1")):
            port = free_port()
            seen = []
            watcher = threading.Thread(target=self.watch_loading, args=(port, seen))
            watcher.start()
            with Server(*journal, *slow, *OPTIONS, *role, "--port", port):
                watcher.join()
                # While it loads, it says already what it is: a Sentinel would take it for a primary.
                self.assertEqual(set(seen), {("slave", "1") if role else ("master", None)})
                with Client(port) as c:
                    self.assertEqual(c("DBSIZE"), 21)

    @staticmethod
    def watch_loading(port, seen):
        """Notes role and primary as long as the server says that it loads."""

        def loads():
            try:
                with Client(port) as c:
                    lines = c("INFO").decode().split("\r\n")
            except (OSError, AssertionError):
                return None
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
            if fields["loading"] == "1":
                seen.append((fields["role"], fields.get("master_port")))
            return fields["loading"] == "0"

        wait_until(lambda: loads() is not None, "it answers")
        wait_until(loads, "it has loaded")

    @unittest.skipUnless(shutil.which("redis-server"), "there is no redis-server")
    def test_who_takes_a_former_primary_for_the_primary_is_disconnected(self):
        """It may be about to read from what is a replica now, which has nothing before its first copy."""
        lease = ("--sentinel-lease-ms", "3000", "--sentinel-lease-sentinels", "1", "--sentinel-lease-quorum", "1")
        server = self.enterContext(Server(*OPTIONS, *lease))
        waits, reads = (self.enterContext(Client(server.port)) for _ in range(2))
        run_id = "01234567" + "a" * 32
        self.assertEqual(reads("CLIENT", "SETNAME", "reads"), b"OK")
        waits.send(encode("BLPOP", "list", 0))
        hello = f"127.0.0.1,26379,{run_id},2,m,127.0.0.1,1,2"

        def follows():
            try:
                with Client(server.port) as c:
                    c("CLIENT", "SETNAME", f"sentinel-{run_id[:8]}-cmd")
                    c("PUBLISH", "__sentinel__:hello", hello)
                return info(server.port)["role"] == "slave"
            except (AssertionError, ConnectionError):
                return False  # It was closed, too.

        wait_until(follows, "it follows the one that the Sentinel names")
        self.assertTrue(reads.is_closed())
        self.assertTrue(waits.is_closed())
        # Others may come, and are told what it is.
        with Client(server.port) as c:
            self.assertEqual(c("ROLE")[0], b"slave")

    def test_failovers_by_real_sentinels_lose_nothing(self):
        done = subprocess.run(
            [sys.executable, os.path.join(SOAK, "failover.py"), "--plain", "--rounds", "2", "--seed", "1"],
            capture_output=True, text=True, timeout=600,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
