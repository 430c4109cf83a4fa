"""The ways a server ends."""

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
import unittest

from harness.replication import Client, Error, caught_up
from harness.server import REFERENCE, Server, beyond_redis, encode, wait_until

# Sets two keys; between them it works for longer than the time after which a script is slow.
HALVES = (
    "redis.call('SET', 'k1', '1') "
    "for i = 1, 5e7 do end "
    "redis.call('SET', 'k2', '1') return 'whole'"
)
ENDLESS_HALF = "redis.call('SET', 'k1', '1') while true do end"
FUNCTIONS = (
    "#!lua name=halves\n"
    f"redis.register_function('halves', function() {HALVES} end)\n"
    f"redis.register_function('endless', function() {ENDLESS_HALF} end)\n"
)
STORES = {
    "journal": ("--appendonly", "yes"),
    "synced journal": ("--appendonly", "yes", "--appendfsync", "always"),
    "snapshot": ("--save", "3600 1"),
}
JOURNALS = ("journal", "synced journal")
# Threads, which of the first connections runs the script, and whether each kind of call is tried.
PLACES = [(0, 0, True)] if REFERENCE else [(1, 0, True), (2, 0, False), (2, 1, False)]


class Shutdown(unittest.TestCase):
    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name), Server("--unixsocket", "s.sock") as server:
                path = os.path.join(server.dir, "s.sock")
                self.assertTrue(os.path.exists(path))
                with server.connect() as c:
                    self.assertEqual(c.command("SET", "k", "v"), b"+OK")
                    server.process.send_signal(number)
                    self.assertTrue(c.is_closed())
                self.assertEqual(server.wait(), 0)
                self.assertFalse(os.path.exists(path), "the Unix socket is left behind")
                with self.assertRaises(ConnectionRefusedError):
                    server.connect()

    def test_command(self):
        for arguments in (["NOSAVE"], ["NOSAVE", "NOW"], ["NOSAVE", "FORCE"], []):
            with self.subTest(arguments=arguments), Server() as server, server.connect() as c:
                c.send(encode("SHUTDOWN", *arguments))
                self.assertTrue(c.is_closed(), "SHUTDOWN has no reply")
                self.assertEqual(server.wait(), 0)

    def test_command_with_mistakes(self):
        with Server() as server, server.connect() as c:
            self.assertEqual(c.command("SHUTDOWN", "NOSUCH"), b"-ERR syntax error")
            self.assertEqual(c.command("SHUTDOWN", "SAVE", "NOSAVE"), b"-ERR syntax error")
            self.assertEqual(c.command("SHUTDOWN", "ABORT"), b"-ERR No shutdown in progress.")
            self.assertEqual(c.command("PING"), b"+PONG")

    # Redis's sleep is cut short by the first signal already.
    @beyond_redis
    def test_the_second_signal_does_not_wait(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("DEBUG", "SLEEP", "0"), b"+OK")
            c.send(encode("DEBUG", "SLEEP", "300"))
            # The start of the command is invisible from outside, but a command that has arrived is executed.
            server.process.send_signal(signal.SIGINT)
            # Two signals at once are one.
            server.wait_for_log("Received SIGINT")
            time.sleep(0.1)
            self.assertIsNone(server.process.poll(), "the first signal lets commands finish")
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(), 1)

    @beyond_redis
    def test_what_is_in_flight_is_answered(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("PING"), b"+PONG", "it has been accepted")
            c.send(encode("SET", "k", "v") + encode("DEBUG", "SLEEP", "1") + encode("GET", "k"))
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            expected = b"+OK\r\n+OK\r\n$1\r\nv\r\n"
            self.assertEqual(c.exactly(len(expected)), expected)
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    @beyond_redis
    def test_replies_that_do_not_fit_into_the_socket_are_sent(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("SET", "k", "x" * 10_000), b"+OK")
            c.send(encode("DEBUG", "SLEEP", "1") + encode("GET", "k") * 3_000 + encode("PING"))
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            expected = b"+OK\r\n" + (b"$10000\r\n" + b"x" * 10_000 + b"\r\n") * 3_000 + b"+PONG\r\n"
            self.assertTrue(c.exactly(len(expected)) == expected)
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    def test_many_connections_do_not_delay_it(self):
        with Server() as server:
            clients = [server.connect() for _ in range(200)]
            for c in clients:
                c.send(b"*2\r\n$4\r\nECHO\r\n$100\r\nhalf a request")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            for c in clients:
                self.assertTrue(c.is_closed())
                c.close()


class Scripts(unittest.TestCase):
    """A script that has written is saved whole or not at all."""

    def start(self, *options):
        server = Server("--lua-time-limit", "100", *options, "--dir", self.dir)
        self.addCleanup(server.close)
        return server

    def each(self, *stores):
        """Options of servers, which of their first connections runs the script, and the call."""
        for store in stores or STORES:
            for threads, caller, thorough in PLACES:
                with self.subTest(store=store, threads=threads, caller=caller):
                    self.dir = tempfile.mkdtemp(prefix="apus-test-")
                    self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
                    yield STORES[store] + (("--threads", threads) if threads else ()), caller, thorough

    def run_slow(self, server, caller, *words):
        """Runs a script, and waits until it is slow. The connection that ran it, and another one."""
        conns = [server.connect() for _ in range(3)]
        for c in conns:
            self.addCleanup(c.close)
            self.assertEqual(c.command("SET", "before", "1"), b"+OK")
        self.assertTrue(conns[2].command("FUNCTION", "LOAD", "REPLACE", FUNCTIONS).startswith(b"$6"))
        self.assertEqual(conns[2].line(), b"halves")
        scripted = conns.pop(caller)
        scripted.send(words[0] if len(words) == 1 else encode(*words))
        while not conns[-1].command("PING").startswith(b"-BUSY"):
            time.sleep(0.01)
        return scripted, conns[-1]

    def saved(self, options):
        with self.start(*options) as server, server.connect() as c:
            self.assertEqual(c.command("EXISTS", "before"), b":1")
            return c.command("EXISTS", "k1"), c.command("EXISTS", "k2")

    def test_a_signal_lets_one_that_has_written_finish(self):
        calls = {
            "script": (("EVAL", HALVES, "0"), b"$5\r\nwhole\r\n"),
            "declared": (("EVAL", HALVES.replace("'k1'", "KEYS[1]").replace("'k2'", "KEYS[2]"), "2", "k1", "k2"), b"$5\r\nwhole\r\n"),
            "function": (("FCALL", "halves", "0"), b"$5\r\nwhole\r\n"),
            "transaction": ((encode("MULTI") + encode("SET", "x", "1") + encode("EVAL", HALVES, "0") + encode("EXEC"),), b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n$5\r\nwhole\r\n"),
        }
        for options, caller, thorough in self.each():
            for name, (words, reply) in calls.items():
                if not thorough and name != "script":
                    continue
                with self.subTest(call=name), self.start(*options) as server:
                    scripted, other = self.run_slow(server, caller, *words)
                    server.process.send_signal(signal.SIGTERM)
                    got = scripted.exactly(len(reply)) if not REFERENCE else reply
                    self.assertEqual(got, reply)
                    self.assertEqual(server.wait(), 0)
                    self.assertEqual(self.saved(options), (b":1", b":1"))
                shutil.rmtree(self.dir)
                os.mkdir(self.dir)

    def test_without_saving_one_that_has_written_leaves_nothing(self):
        calls = {
            "script": ("EVAL", ENDLESS_HALF, "0"),
            "function": ("FCALL", "endless", "0"),
            "transaction": (encode("MULTI") + encode("SET", "k2", "1") + encode("EVAL", "while true do end", "0") + encode("EXEC"),),
        }
        for options, caller, thorough in self.each(*JOURNALS):
            for name, words in calls.items():
                if not thorough and name != "script":
                    continue
                for how in ((), ("FORCE",))[:2 if name == "script" else 1]:
                    with self.subTest(call=name, how=how), self.start(*options) as server:
                        _, other = self.run_slow(server, caller, *words)
                        refused = other.command("SHUTDOWN", *how)
                        self.assertTrue(refused.startswith(b"-BUSY"), refused)
                        other.send(encode("SHUTDOWN", "NOSAVE", *how))
                        self.assertTrue(other.is_closed())
                        self.assertEqual(server.wait(), 0)
                        self.assertEqual(self.saved(options), (b":0", b":0"))

    # Redis exits at once, except on its own second signal, which it handles between two commands.
    @beyond_redis
    def test_the_second_signal_leaves_nothing(self):
        for options, caller, _ in self.each(*JOURNALS):
            with self.start(*options) as server:
                self.run_slow(server, caller, "EVAL", ENDLESS_HALF, "0")
                server.process.send_signal(signal.SIGINT)
                server.wait_for_log("Received SIGINT")
                # Two signals at once are one.
                time.sleep(0.1)
                self.assertIsNone(server.process.poll(), "the first signal lets the script finish")
                server.process.send_signal(signal.SIGINT)
                self.assertEqual(server.wait(), 1)
                self.assertEqual(self.saved(options), (b":0", b":0"))

    @beyond_redis
    def test_a_signal_ends_one_that_has_written_nothing(self):
        for options, caller, _ in self.each("snapshot"):
            with self.start(*options) as server:
                scripted, _ = self.run_slow(server, caller, "EVAL", "while true do end", "0")
                server.process.send_signal(signal.SIGTERM)
                self.assertIn(b"the server is shutting down", scripted.line())
                self.assertEqual(server.wait(), 0)
                self.assertEqual(self.saved(options), (b":0", b":0"))

    def test_a_signal_at_any_moment_leaves_whole_scripts(self):
        script = "for _, k in ipairs(KEYS) do redis.call('SET', k, ARGV[1]) for i = 1, 5e5 do end end return ARGV[1]"
        for options, _, _ in self.each(*JOURNALS):
            acknowledged = [0, 0, 0]

            def call_on(server, i):
                keys = [f"{i}-{n}" for n in range(20)]
                with server.connect() as c:
                    value = acknowledged[i]
                    while True:
                        try:
                            c.send(encode("EVAL", script, len(keys), *keys, value + 1))
                            reply = c.line()
                        except OSError:
                            return
                        if reply.startswith(b"-BUSY"):
                            continue
                        if not reply.startswith(b"$"):
                            return
                        value = int(c.line())
                        acknowledged[i] = value

            for round in range(2):
                with self.start(*options) as server:
                    threads = [threading.Thread(target=call_on, args=(server, i)) for i in range(3)]
                    for t in threads:
                        t.start()
                    before = list(acknowledged)
                    wait_until(lambda: all(a > b for a, b in zip(acknowledged, before)), "all have written")
                    time.sleep(0.137 * round)
                    server.process.send_signal(signal.SIGTERM)
                    self.assertEqual(server.wait(), 0)
                    for t in threads:
                        t.join()
                with self.start(*options) as server, server.connect() as c:
                    for i in range(3):
                        c.send(encode("MGET", *[f"{i}-{n}" for n in range(20)]))
                        self.assertEqual(c.line(), b"*20")
                        values = set()
                        for _ in range(20):
                            c.line()
                            values.add(int(c.line()))
                        self.assertEqual(len(values), 1, f"half a script: {values}")
                        # The last one may have been executed without its reply getting through.
                        self.assertIn(values.pop() - acknowledged[i], (0, 1))
                    # What follows goes on from there.
                    acknowledged = [value + 1 for value in acknowledged]


class Replicas(unittest.TestCase):
    """A primary that ends waits until its replicas have everything."""

    # More than sockets keep, so that it has not left the primary when that is asked to end.
    LARGE = b"x" * (16 << 20)

    @contextlib.contextmanager
    def behind(self, timeout_s):
        """A primary and a replica that has stopped before the last change."""
        quick = ("--repl-diskless-sync-delay", 0, "--client-output-buffer-limit", "replica 0 0 0")
        with Server(*quick, "--shutdown-timeout", timeout_s) as primary, Server() as replica:
            with Client(primary.port) as p, Client(replica.port) as r:
                r("REPLICAOF", "127.0.0.1", primary.port)
                wait_until(lambda: caught_up(primary.port, replica.port), "it follows")
                replica.process.send_signal(signal.SIGSTOP)
                p("SET", "large", self.LARGE)
                p("SET", "last", "1")
                try:
                    yield primary, replica, p, r
                finally:
                    replica.process.send_signal(signal.SIGCONT)

    def begin(self, primary, p, how):
        """The client that waits in SHUTDOWN, if one does."""
        asks = None
        if how == "command":
            asks = Client(primary.port)
            self.addCleanup(asks.close)
            asks.send(encode("SHUTDOWN", "NOSAVE"))
        else:
            primary.process.send_signal(signal.SIGTERM)
        wait_until(lambda: int(p.info("server").get("shutdown_in_milliseconds", 0)) > 0, "it waits")
        return asks

    def test_it_waits_until_they_have_everything(self):
        for how in ("command", "signal"):
            with self.subTest(how), self.behind(3600) as (primary, replica, p, r):
                self.begin(primary, p, how)
                # Writes wait, too: this one never runs.
                with Client(primary.port) as writer:
                    writer.send(encode("SET", "late", "1"))
                    self.assertEqual(p("GET", "late"), None)
                    replica.process.send_signal(signal.SIGCONT)
                    self.assertEqual(primary.wait(), 0)
                    self.assertTrue(writer.is_closed())
                wait_until(lambda: r("GET", "last") == b"1", "the last change is there")
                self.assertEqual(r("STRLEN", "large"), len(self.LARGE))
                self.assertEqual(r("EXISTS", "late"), 0)
                primary.wait_for_log("1 of 1 replicas are in sync when shutting down.")

    def test_it_does_not_wait_for_ever(self):
        with self.behind(1) as (primary, _, p, _r):
            primary.process.send_signal(signal.SIGTERM)
            self.assertEqual(primary.wait(), 0)
            primary.wait_for_log("0 of 1 replicas are in sync when shutting down.")
            primary.wait_for_log("Lagging replica 127.0.0.1:")

    @beyond_redis
    def test_it_does_not_wait_when_it_is_told_so(self):
        for first in (False, True):
            with self.subTest(waits_first=first), self.behind(3600) as (primary, _, p, _r):
                if first:
                    self.begin(primary, p, "signal")
                p.send(encode("SHUTDOWN", "NOSAVE", "NOW"))
                self.assertEqual(primary.wait(), 0)

    def test_it_is_given_up(self):
        for how in ("command", "signal"):
            with self.subTest(how), self.behind(3600) as (primary, replica, p, r):
                asks = [self.begin(primary, p, how)]
                if how == "command":
                    asks.append(Client(primary.port))
                    self.addCleanup(asks[1].close)
                    asks[1].send(encode("SHUTDOWN", "NOSAVE"))
                    wait_until(lambda: p.info("clients")["blocked_clients"] == "2", "both wait")
                self.assertEqual(p("SHUTDOWN", "ABORT"), b"OK")
                for c in asks:
                    text = "ERR Errors trying to SHUTDOWN. Check logs."
                    self.assertTrue(c is None or c.reply() == Error(text))
                self.assertEqual(p("SHUTDOWN", "ABORT"), Error("ERR No shutdown in progress."))
                self.assertNotIn("shutdown_in_milliseconds", p.info("server"))
                self.assertEqual(p("SET", "last", "2"), b"OK")
                replica.process.send_signal(signal.SIGCONT)
                wait_until(lambda: r("GET", "last") == b"2", "everything goes on")

    def test_one_that_has_everything_delays_nothing(self):
        with Server("--shutdown-timeout", 3600, "--repl-diskless-sync-delay", 0) as primary:
            with Server() as replica, Client(replica.port) as r:
                r("REPLICAOF", "127.0.0.1", primary.port)
                wait_until(lambda: caught_up(primary.port, replica.port), "it follows")
                primary.process.send_signal(signal.SIGTERM)
                self.assertEqual(primary.wait(), 0)
