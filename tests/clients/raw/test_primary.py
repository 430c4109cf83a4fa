"""Apus as the primary of real Redis replicas."""

import ctypes
import os
import random
import shutil
import socket
import stat
import threading
import time
import unittest

from harness.replication import REDIS, Client, Error, Redis, caught_up, everything
from harness.server import Server, beyond_redis, encode, wait_until


def write_all_types(c, seed, rounds=400):
    """Random changes of all types, in some databases, with transactions, scripts and deadlines."""
    rng = random.Random(seed)
    for _ in range(rounds):
        c("SELECT", rng.randrange(4))
        k = f"k{rng.randrange(30)}"
        v = "v" * rng.choice([1, 30, 300, 5000]) + str(rng.randrange(1000))
        change = rng.randrange(18)
        commands = [
            [["SET", k, v]],
            [["SET", k, v, "PX", 10_000_000]],
            [["INCRBYFLOAT", "f" + k, "0.3"]],
            [["RPUSH", "l" + k, *range(rng.randrange(1, 50))]],
            [["LPOP", "l" + k, 3]],
            [["SADD", "s" + k, *(rng.randrange(100) for _ in range(20))]],
            [["SPOP", "s" + k, 2]],
            [["HSET", "h" + k, f"f{rng.randrange(50)}", v]],
            [["HINCRBY", "h" + k, "n", 7]],
            [["ZADD", "z" + k, rng.random(), f"m{rng.randrange(50)}"]],
            [["ZPOPMIN", "z" + k]],
            [["XADD", "x" + k, "*", "f", v]],
            [["XGROUP", "CREATE", "x" + k, "g", "0", "MKSTREAM"],
             ["XREADGROUP", "GROUP", "g", "c", "COUNT", 2, "STREAMS", "x" + k, ">"]],
            [["MULTI"], ["SET", k, v], ["INCR", "n"], ["EXEC"]],
            [["EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('INCR', 'n')",
              1, k, v]],
            [["DEL", k, "l" + k]],
            [["PEXPIRE", "h" + k, 20_000_000]],
            [["RENAME", k, k + "x"]],
        ][change]
        for command in commands:
            c(*command)


def socket_of(pid, client):
    """The server's side of a client's connection, as a socket of this process, too."""
    pidfd_getfd = 438
    process = os.pidfd_open(pid)
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            own = ctypes.CDLL(None).syscall(pidfd_getfd, process, int(fd), 0)
            if own < 0:
                continue
            if not stat.S_ISSOCK(os.fstat(own).st_mode):
                os.close(own)
                continue
            sock = socket.socket(fileno=own)
            if sock.family == socket.AF_INET and peer_of(sock) == client.socket.getsockname():
                return sock
            sock.close()
    finally:
        os.close(process)
    raise AssertionError("the server has no such connection")


def peer_of(sock):
    try:
        return sock.getpeername()
    except OSError:
        return None


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Primary(unittest.TestCase):
    def follow(self, primary, replica, count=1):
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

    def test_a_replica_that_loads_for_long_is_not_given_up(self):
        """It says that it is alive by empty lines, and acknowledges nothing before it has loaded."""
        with Server("--repl-diskless-sync-delay", 0, "--repl-timeout", 2) as server, Client(server.port) as c, Client(server.port) as r:
            c("SET", "k", "v")
            r("REPLCONF", "capa", "eof", "capa", "psync2")
            r.send(encode("PSYNC", "?", "-1"))
            wait_until(lambda: "state=online" in c.info().get("slave0", ""), "it has the copy")
            for _ in range(16):
                r.send(b"\n")
                time.sleep(0.3)
            self.assertEqual(c.info()["connected_slaves"], "1")
            # Silence is the end.
            wait_until(lambda: c.info()["connected_slaves"] == "0", "it is given up")
            server.wait_for_log("Disconnecting timedout replica (streaming sync)")

    @unittest.skipUnless(hasattr(os, "pidfd_open"), "the server's sockets can't be looked at")
    def test_small_packets_to_replicas_gather_where_that_is_asked_for(self):
        for disabled in ("no", "yes"):
            with self.subTest(disabled), Server("--repl-diskless-sync-delay", 0) as server, Client(server.port) as c, \
                    Client(server.port) as r:
                c("CONFIG", "SET", "repl-disable-tcp-nodelay", disabled)
                r.send(encode("PSYNC", "?", "-1"))
                wait_until(lambda: "state=" in c.info().get("slave0", ""), "it is a replica")
                for client, fed in ((c, False), (r, True)):
                    with socket_of(server.process.pid, client) as sock:
                        gathers = not sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                    self.assertEqual(gathers, fed and disabled == "yes", fed)

    def test_a_full_copy_and_the_stream(self):
        for threads in (1, 2):
            for diskless in ("yes", "no"):
                options = ["--threads", threads, "--repl-diskless-sync", diskless]
                options += ["--repl-diskless-sync-delay", 0]
                with self.subTest(threads=threads, diskless=diskless):
                    with Server(*options) as p, Redis() as r, Client(p.port) as c:
                        c("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function{function_name='f', "
                          "callback=function() return 7 end, flags={'no-writes'}}")
                        write_all_types(c, 1)
                        self.follow(p, r)
                        self.assert_same(p, r)
                        write_all_types(c, 2)
                        self.assert_same(p, r)
                        with Client(r.port) as theirs:
                            self.assertEqual(theirs("FCALL", "f", 0), 7)
                            self.assertEqual(theirs.info()["master_link_status"], "up")
                        info = c.info()
                        self.assertEqual(info["connected_slaves"], "1")
                        self.assertIn("state=online", info["slave0"])

    def test_a_copy_while_clients_write(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r1, Redis() as r2:
            stop = threading.Event()

            def write(seed):
                with Client(p.port) as c:
                    while not stop.is_set():
                        seed += 1
                        write_all_types(c, seed, 50)

            writers = [threading.Thread(target=write, args=(n * 1000,)) for n in range(2)]
            for writer in writers:
                writer.start()
            try:
                with Client(r1.port) as r:
                    r("REPLICAOF", "127.0.0.1", p.port)
                with Client(r2.port) as r:
                    r("REPLICAOF", "127.0.0.1", p.port)
                with Client(p.port) as c:
                    wait_until(lambda: c("WAIT", 2, 100) == 2, "both replicas are online")
            finally:
                stop.set()
                for writer in writers:
                    writer.join()
            self.assert_same(p, r1, r2)

    def test_a_broken_link_goes_on(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            write_all_types(c, 1, 100)
            self.follow(p, r)
            for _ in range(3):
                self.assertEqual(c("CLIENT", "KILL", "TYPE", "replica"), 1)
                write_all_types(c, 3, 50)
                wait_until(lambda: caught_up(p.port, r.port), "it is back")
                self.assert_same(p, r)
            stats = c.info("stats")
            self.assertEqual((stats["sync_full"], stats["sync_partial_ok"]), ("1", "3"))

    def test_a_small_backlog_means_a_full_copy(self):
        options = ["--repl-diskless-sync-delay", 0, "--repl-backlog-size", 16384]
        with Server(*options) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            with Client(r.port) as theirs:
                theirs("REPLICAOF", "127.0.0.1", 1)
            wait_until(lambda: c.info()["connected_slaves"] == "0", "it is gone")
            for n in range(100):
                c("SET", n, "x" * 1000)
            self.follow(p, r)
            self.assert_same(p, r)
            self.assertEqual(c.info("stats")["sync_full"], "2")

    def test_the_counters_of_synchronizations_start_anew(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Client(p.port) as c, Redis() as r:
            self.follow(p, r)
            self.assertEqual(c.info("stats")["sync_full"], "1")
            with Client(p.port) as strange:
                strange.send(encode("PSYNC", "f" * 40, 7))
                strange.line()
            wait_until(lambda: c.info("stats")["sync_partial_err"] != "0", "it is refused")
            self.assertEqual(c("CONFIG", "RESETSTAT"), b"OK")
            stats = c.info("stats")
            names = ("sync_full", "sync_partial_ok", "sync_partial_err")
            self.assertEqual([stats[name] for name in names], ["0", "0", "0"])

    def test_wait(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            self.assertEqual(c("WAIT", 1, 10), 0)
            self.follow(p, r)
            for n in range(20):
                c("SET", "k", n)
                self.assertEqual(c("WAIT", 1, 60_000), 1)
                with Client(r.port) as theirs:
                    self.assertEqual(theirs("GET", "k"), str(n).encode())
            self.assertEqual(c("WAIT", 2, 50), 1)
            # A stopped replica acknowledges nothing.
            with Client(r.port) as theirs:
                theirs("CLIENT", "PAUSE", 1000, "ALL")
            self.assertEqual(c("MULTI"), b"OK")
            c("WAIT", 1, 0)
            self.assertEqual(len(c("EXEC")), 1)

    def test_messages_reach_the_subscribers_of_replicas(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            with Client(r.port) as s:
                s("SUBSCRIBE", "ch")
                c("PUBLISH", "ch", "one")
                self.assertEqual(s.reply(), [b"message", b"ch", b"one"])
                c("MULTI")
                c("SET", "k", "v")
                c("PUBLISH", "ch", "two")
                c("EXEC")
                self.assertEqual(s.reply(), [b"message", b"ch", b"two"])
            self.assert_same(p, r)

    def test_expired_keys_are_deleted_on_replicas(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            for n in range(50):
                c("SET", n, "v", "PX", 30)
            with Client(r.port) as theirs:
                wait_until(lambda: theirs("DBSIZE") == 0, "they are deleted there")

    def test_replicas_are_no_clients_in_info(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            self.assertEqual(c.info("clients")["connected_clients"], "1")

    def test_min_replicas(self):
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            c("CONFIG", "SET", "min-replicas-to-write", 1)
            refusal = "NOREPLICAS Not enough good replicas to write."
            self.assertEqual(str(c("SET", "k", "v")), refusal)
            self.follow(p, r)
            wait_until(lambda: c("SET", "k", "v") == b"OK", "a replica is there")
            with Client(r.port) as theirs:
                theirs("REPLICAOF", "NO", "ONE")
            wait_until(lambda: str(c("SET", "k", "v")) == refusal, "it is gone")

    def test_min_replicas_are_counted_at_once(self):
        """A replica counts since it is online, not since the next look at all of them."""
        with Server("--repl-diskless-sync-delay", 0) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            c("CONFIG", "SET", "min-replicas-to-write", 1)
            self.assertEqual(c("SET", "k", "v"), b"OK")

    def test_waitaof_tells_of_this_disk_when_nobody_asks(self):
        options = ["--repl-diskless-sync-delay", 0, "--appendonly", "yes"]
        options += ["--appendfsync", "always"]
        with Server(*options) as p, Redis() as r, Client(p.port) as c:
            self.follow(p, r)
            c("SET", "k", "v")
            self.assertEqual(c("WAITAOF", 0, 1, 100), [1, 0])

    def test_waitaof_ends_when_there_is_no_journal_any_more(self):
        options = ["--repl-diskless-sync-delay", 0, "--appendonly", "yes"]
        with Server(*options) as p, Redis() as r, Client(p.port) as c, Client(p.port) as other:
            self.follow(p, r)
            c("SET", "k", "v")
            # The replica has no journal, so this waits for ever.
            c.send(encode("WAITAOF", 1, 1, 0))
            wait_until(lambda: other.info("clients")["blocked_clients"] == "1", "it waits")
            self.assertEqual(other("CONFIG", "SET", "appendonly", "no"), b"OK")
            text = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
            self.assertEqual(c.reply(), Error(text))

    def test_the_journal_does_not_mind(self):
        options = ["--repl-diskless-sync-delay", 0, "--appendonly", "yes"]
        options += ["--enable-debug-command", "local"]
        with Server(*options) as p, Redis("--appendonly", "yes") as r, Client(p.port) as c:
            write_all_types(c, 1, 100)
            self.follow(p, r)
            write_all_types(c, 2, 200)
            c("PUBLISH", "ch", "m")
            self.assert_same(p, r)
            c("CONFIG", "SET", "appendonly", "no")
            write_all_types(c, 3, 100)
            self.assert_same(p, r)
            c("CONFIG", "SET", "appendonly", "yes")
            write_all_types(c, 4, 100)
            self.assert_same(p, r)
            before = everything(p.port)
            self.assertEqual(c("DEBUG", "LOADAOF"), b"OK")
            self.assertEqual(before, everything(p.port))

    def test_a_copy_amid_writes_to_a_database_other_than_the_first(self):
        """The stream names the database again behind each copy: here, and on a replica with replicas."""
        stop = threading.Event()

        def write(port, db):
            with Client(port) as c:
                c("SELECT", db)
                n = 0
                while not stop.is_set():
                    c.send(b"".join(encode("SET", f"k{(n + i) % 50}", n) for i in range(20)))
                    for _ in range(20):
                        c.reply()
                    n += 20

        def first_command(port):
            """The first command behind a copy that is no sign of life."""
            with Client(port) as r:
                r("REPLCONF", "capa", "eof", "capa", "psync2")
                r.send(encode("PSYNC", "?", "-1"))
                while not (line := r.line()).startswith(b"$EOF:"):
                    self.assertIn(line[:12], (b"", b"+FULLRESYNC "))
                mark, copy = line[5:45], b""
                while not copy.endswith(mark):
                    copy += r.exactly(1)
                db = copy[copy.index(b"repl-stream-db") + 14 :][:2]
                r.send(encode("REPLCONF", "ACK", "0"))
                while (command := r.reply()) in ([b"PING"], [b"REPLCONF", b"GETACK", b"*"]):
                    pass
                return db, command

        options = ["--repl-diskless-sync-delay", 0, "--databases", 16]
        with Server(*options) as p, Server(*options) as middle:
            self.follow(p, middle)
            threads = [threading.Thread(target=write, args=(p.port, db)) for db in (9, 9, 9)]
            for thread in threads:
                thread.start()
            try:
                for _ in range(40):
                    db, command = first_command(p.port)
                    self.assertEqual(command, [b"SELECT", b"9"])
                for _ in range(10):
                    db, command = first_command(middle.port)
                    self.assertTrue(command == [b"SELECT", b"9"] or db == b"\xc0\x09", (db, command))
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            wait_until(lambda: caught_up(p.port, middle.port), "caught up")
            self.assertEqual(everything(p.port, 10), everything(middle.port, 10))

    def test_strange_replicas(self):
        options = ["--repl-diskless-sync-delay", 0, "--enable-debug-command", "local"]
        with Server(*options) as p, Client(p.port) as c:
            for words in (
                ["PSYNC", "?", "x"],
                ["PSYNC", "x" * 40, 99],
                ["REPLCONF", "listening-port"],
                ["REPLCONF", "ack", "x"],
            ):
                with Client(p.port) as strange:
                    strange.send(b"".join([b"*%d\r\n" % len(words)] + [
                        b"$%d\r\n%s\r\n" % (len(str(w)), str(w).encode()) for w in words
                    ]))
            # One that never reads, and one that goes in the middle of its copy.
            c("DEBUG", "POPULATE", 20000, "key", 1000)
            lazy = Client(p.port)
            lazy.send(b"*3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n")
            gone = Client(p.port)
            gone.send(b"*3\r\n$8\r\nREPLCONF\r\n$4\r\ncapa\r\n$3\r\neof\r\n")
            gone.line()
            gone.send(b"*3\r\n$5\r\nPSYNC\r\n$1\r\n?\r\n$2\r\n-1\r\n")
            self.assertTrue(gone.line().lstrip().startswith(b"+FULLRESYNC"))
            gone.exactly(100_000)
            gone.close()
            with Redis() as r:
                self.follow(p, r)
                self.assertEqual(c("SET", "k", "v"), b"OK")
                self.assert_same(p, r)
            lazy.close()


if __name__ == "__main__":
    unittest.main()
