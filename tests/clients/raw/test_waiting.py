"""Connections that wait, and replies that must not overtake the awaited ones."""

import socket
import struct
import time
import unittest

from harness.server import REFERENCE, Server, beyond_redis, encode, wait_until

ENDLESS = "while true do end"
SPIN = "local t = os.clock() while os.clock() - t < 0.6 do end"


def neighbours(test, conns):
    """The last of these connections, the others on its thread, and those on another."""
    for c in conns:
        test.assertEqual(c.command("PING"), b"+PONG")
    *conns, sleeper = conns
    # A connection that does not answer at this time lives on the same thread.
    sleeper.send(encode("EVAL", SPIN, "0"))
    time.sleep(0.2)
    for c in conns:
        c.send(encode("PING"))
    time.sleep(0.2)
    here, there = [], []
    for c in conns:
        c.socket.setblocking(False)
        try:
            test.assertEqual(c.receive(7), b"+PONG\r\n")
            there.append(c)
        except BlockingIOError:
            here.append(c)
        c.socket.setblocking(True)
        c.socket.settimeout(20)
    for c in here:
        # On a busy machine the script may have become slow.
        test.assertIn(c.line()[:5], (b"+PONG", b"-BUSY"))
    test.assertEqual(sleeper.line(), b"$-1")
    test.assertTrue(len(here) >= 2 and there, "connections are spread over threads")
    return sleeper, here, there


@beyond_redis
class Together(unittest.TestCase):
    """Replies of connections that are ready at the same time are sent together, but for what takes long."""

    def busy(self, server, count):
        """As many connections, whose input comes while the thread does something else."""
        conns = [server.connect() for _ in range(count)]
        for c in conns:
            self.addCleanup(c.close)
            self.assertEqual(c.command("SET", "k", "v"), b"+OK")
        sleeper = server.connect()
        self.addCleanup(sleeper.close)
        sleeper.send(encode("DEBUG", "SLEEP", "0.5"))
        time.sleep(0.2)
        return conns

    def server(self, *options):
        server = Server("--threads", 1, "--enable-debug-command", "yes", *options)
        self.addCleanup(server.close)
        return server

    def test_replies_do_not_wait_for_a_script(self):
        # Pipelines of many commands are read one by one, requests of one together.
        for pipeline in (1, 200):
            with self.subTest(pipeline):
                server = self.server("--busy-reply-threshold", 100)
                conns = self.busy(server, 41)
                script, behind = conns.pop(20), conns[20:]
                del conns[20:]
                for c in conns:
                    c.send(encode("GET", "k") * pipeline)
                script.send(encode("EVAL", ENDLESS, "0"))
                for c in behind:
                    c.send(encode("GET", "k"))
                for c in conns:
                    self.assertEqual(c.exactly(7 * pipeline), b"$1\r\nv\r\n" * pipeline)
                # They are not taken for clients that have replies to come.
                wait_until(lambda: conns[-1].command("GET", "k").startswith(b"-BUSY"), "the script is slow")
                self.assertEqual(conns[-1].command("SCRIPT", "KILL"), b"+OK")
                self.assertTrue(script.line().startswith(b"-ERR"))

    def test_each_gets_its_own(self):
        server = self.server()
        for pipeline in (1, 100, 1000):
            conns = self.busy(server, 40)
            for i, c in enumerate(conns):
                c.send(encode("ECHO", str(i)) * pipeline)
            for i, c in enumerate(conns):
                for _ in range(pipeline):
                    self.assertEqual(c.line(), b"$%d" % len(str(i)))
                    self.assertEqual(c.line(), b"%d" % i)

    def test_a_client_that_is_gone_takes_nothing_along(self):
        server = self.server()
        conns = self.busy(server, 40)
        for i, c in enumerate(conns):
            c.send(encode("ECHO", str(i)) * 100)
            if i % 3 == 0:
                c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
        for i, c in enumerate(conns):
            if i % 3:
                self.assertEqual(c.exactly(100 * (6 + len(str(i)))), b"$%d\r\n%d\r\n" % (len(str(i)), i) * 100)

    def test_messages_come_behind_the_replies(self):
        server = self.server()
        *conns, publisher = self.busy(server, 20)
        for c in conns:
            c.send(encode("HELLO", 3) + encode("SUBSCRIBE", "c") + encode("ECHO", "x") * 50)
        publisher.send(encode("PUBLISH", "c", "m"))
        for c in conns:
            lines = []
            while b"message" not in lines:
                lines.append(c.line())
            self.assertEqual(lines.count(b"x"), 50)
            self.assertEqual([c.line() for _ in range(4)], [b"$1", b"c", b"$1", b"m"])


@beyond_redis
class Claims(unittest.TestCase):
    """XREADGROUP CLAIM is run again when entries have been pending for long enough."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.other, self.waiting = self.server.connect(), self.server.connect()
        self.addCleanup(self.other.close)
        self.addCleanup(self.waiting.close)
        self.ask("XGROUP", "CREATE", "x", "g", "0", "MKSTREAM")

    def ask(self, *words):
        """The reply up to the next one; the tests look at none of it."""
        self.other.send(encode(*words) + encode("ECHO", "end"))
        lines = []
        while not lines or lines[-1] != b"end":
            lines.append(self.other.line())

    def wait(self, block_ms, claim_ms):
        self.waiting.send(encode("XREADGROUP", "GROUP", "g", "c2", "BLOCK", block_ms, "CLAIM", claim_ms, "STREAMS", "x", ">"))

        def waits():
            self.other.send(encode("INFO", "clients"))
            return b"blocked_clients:1" in self.other.exactly(int(self.other.line()[1:]) + 2)

        wait_until(waits, "it waits")

    def test_another_thread_may_put_it_off(self):
        for n in (1, 2):
            self.ask("XADD", "x", f"1-{n}", "f", "v")
        self.ask("XREADGROUP", "GROUP", "g", "c1", "STREAMS", "x", ">")
        # Long enough for us to get there before it is over.
        self.wait(60_000, 3_000)
        time.sleep(0.5)
        for n in (1, 2):
            self.ask("XCLAIM", "x", "g", "c1", "0", f"1-{n}")
        # Makes the waiting command run again, with a later time than that of its timer.
        self.ask("XDEL", "x", "1-2")
        self.assertEqual(self.waiting.line(), b"*1")

    def test_another_thread_may_bring_it_forward(self):
        self.wait(60_000, 300)
        # Another consumer is faster, so that there is an entry to claim before the time is over.
        faster = (["MULTI"], ["XADD", "x", "1-1", "f", "v"], ["XREADGROUP", "GROUP", "g", "c1", "STREAMS", "x", ">"], ["EXEC"])
        self.other.send(b"".join(encode(*words) for words in faster))
        self.assertEqual(self.waiting.line(), b"*1")


class Busy(unittest.TestCase):
    """A script that does not end: BUSY never overtakes the reply of the script itself."""

    def setUp(self):
        self.server = Server("--threads", "1", "--lua-time-limit", "20")
        self.addCleanup(self.server.close)

    def in_order(self, script, prepare):
        with self.server.connect() as c, self.server.connect() as killer:
            prepare(killer)
            c.send(script)
            # Not before the pause is over: it would wait for that, and then for the script.
            time.sleep(0.4)
            while not killer.command("GET", "x").startswith(b"-BUSY"):
                time.sleep(0.01)
            c.send(encode("PING", "behind"))
            # Time enough to be answered, if that were so.
            time.sleep(0.1)
            self.assertEqual(killer.command("SCRIPT", "KILL"), b"+OK")
            self.assertIn(b"Script killed by user", c.line())
            self.assertEqual(c.exactly(12), b"$6\r\nbehind\r\n")

    def test_with_a_large_argument(self):
        self.in_order(encode("EVAL", ENDLESS, "0", "x" * 300_000), lambda _: None)

    def test_when_it_had_to_wait_for_the_end_of_a_pause(self):
        def pause(killer):
            self.assertEqual(killer.command("CLIENT", "PAUSE", "200", "ALL"), b"+OK")

        self.in_order(encode("EVAL", ENDLESS, "0"), pause)

    def test_between_two_large_arguments(self):
        """The second of them, of which nothing has come, is not taken for commands."""
        with self.server.connect() as c, self.server.connect() as d, self.server.connect() as killer:
            big = "y" * 300_000
            whole = encode("MSET", "a", big, "b", big)
            cut = whole.index(b"\r\n$1\r\nb") + 2
            c.send(whole[:cut])
            time.sleep(0.1)
            d.send(encode("EVAL", ENDLESS, "0"))
            while not killer.command("GET", "x").startswith(b"-BUSY"):
                time.sleep(0.01)
            c.send(whole[cut:])
            time.sleep(0.1)
            self.assertEqual(killer.command("SCRIPT", "KILL"), b"+OK")
            self.assertEqual(c.line(), b"+OK")

    def test_nobody_waits_behind_whom_it_makes_wait(self):
        """Read together with a command that waits for the script, SCRIPT KILL does not wait."""
        server = Server("--threads", "2", "--lua-time-limit", "4000")
        self.addCleanup(server.close)
        conns = [server.connect() for _ in range(8)]
        for c in conns:
            self.addCleanup(c.close)
        sleeper, here, there = neighbours(self, conns)
        spin = encode("EVAL", SPIN, "0")
        sleeper.send(spin)
        time.sleep(0.1)
        # It runs again, with every shard, and on the other thread.
        there[0].send(encode("EVAL", "redis.call('GET', ARGV[1]) " + ENDLESS, "0", "x"))
        time.sleep(0.1)
        *waiting, killer = here
        for c in waiting:
            c.send(encode("SET", "x", "v"))
        killer.send(encode("SCRIPT", "KILL"))
        # Too early, or in time.
        while not (reply := killer.line()).startswith(b"+OK"):
            self.assertTrue(reply.startswith(b"-NOTBUSY"), reply)
            time.sleep(0.05)
            killer.send(encode("SCRIPT", "KILL"))
        self.assertIn(b"Script killed by user", there[0].line())
        for c in waiting:
            self.assertEqual(c.line(), b"+OK")


class Kills(unittest.TestCase):
    """SCRIPT KILL is answered while a script does not end, whatever else its thread waits for."""

    def start(self, *options):
        server = Server(*options)
        self.addCleanup(server.close)

        def connect():
            c = server.connect()
            self.addCleanup(c.close)
            c.socket.settimeout(20)
            return c

        return connect

    def end(self, scripted, killer):
        """Ends the script, if it still runs."""
        while (reply := killer.command("SCRIPT", "KILL")) != b"+OK":
            self.assertTrue(reply.startswith(b"-NOTBUSY"), reply)
            time.sleep(0.02)
        self.assertIn(b"Script killed by user", scripted.line())

    def test_a_script_that_comes_before_what_a_pause_held_back(self):
        # Only the script's own command finds that the pause is over.
        connect = self.start("--threads", "1", "--hz", "1", "--lua-time-limit", "20")
        scripted, killer, other = connect(), connect(), connect()
        for _ in range(4):
            self.assertEqual(other.command("CLIENT", "PAUSE", "100", "ALL"), b"+OK")
            killer.send(encode("SCRIPT", "KILL") + encode("ECHO", "behind"))
            time.sleep(0.15)
            scripted.send(encode("EVAL", ENDLESS, "0"))
            reply = killer.line()
            if reply == b"+OK":
                self.assertIn(b"Script killed by user", scripted.line())
            else:
                self.assertTrue(reply.startswith(b"-NOTBUSY"), reply)
                self.end(scripted, other)
            self.assertEqual(killer.exactly(12), b"$6\r\nbehind\r\n")

    @beyond_redis
    def test_the_end_of_a_pause_is_not_waited_for(self):
        connect = self.start("--threads", "2", "--lua-time-limit", "1000")
        scripted, _, there = neighbours(self, [connect() for _ in range(8)])
        scripted.send(encode("EVAL", ENDLESS, "0"))
        time.sleep(0.1)
        # Held back before the script is slow.
        there[0].send(encode("CLIENT", "PAUSE", "100000", "ALL") + encode("SCRIPT", "KILL"))
        self.assertEqual((there[0].line(), there[0].line()), (b"+OK", b"+OK"))
        self.assertIn(b"Script killed by user", scripted.line())

    def test_nothing_is_evicted_for_it(self):
        # With periodic work that is rare, or that would wait for the shards instead.
        options = ("--threads", "2", "--lua-time-limit", "1000", "--hz", "1")
        connect = self.start(*options, "--maxmemory-policy", "allkeys-lru")
        scripted, _, there = neighbours(self, [connect() for _ in range(8)])
        self.assertEqual(there[0].command("CONFIG", "SET", "maxmemory", "1"), b"+OK")
        # One that needs every shard.
        scripted.send(encode("EVAL", "redis.call('GET', ARGV[1]) " + ENDLESS, "0", "x"))
        time.sleep(0.1)
        self.end(scripted, there[0])

    def test_what_the_journal_has_yet_to_write_does_not_hold_its_reply_back(self):
        connect = self.start("--threads", "2", "--lua-time-limit", "1000", "--appendonly", "yes", "--appendfsync", "always")
        scripted, _, there = neighbours(self, [connect() for _ in range(10)])
        self.assertTrue(len(there) >= 3, "connections are spread over threads")
        writer, killer, waiting = there[:3]
        self.assertEqual(killer.command("CONFIG", "SET", "lua-time-limit", "50"), b"+OK")
        for n in range(10):
            # So much that it is not on the disk when the script begins.
            writer.send(encode("SET", "w", "v" * 4_000_000) * 2)
            time.sleep(0.002 * n)
            scripted.send(encode("EVAL", "redis.call('GET', ARGV[1]) " + ENDLESS, "0", "x"))
            time.sleep(0.005)
            killer.send(encode("SCRIPT", "KILL"))
            # Its thread is stuck from here on.
            waiting.send(encode("GET", "y"))
            reply = killer.line()
            if reply == b"+OK":
                self.assertIn(b"Script killed by user", scripted.line())
            else:
                self.assertTrue(reply.startswith(b"-NOTBUSY"), reply)
                self.end(scripted, killer)
            self.assertIn(waiting.line()[:3], (b"$-1", b"-BU"))
            # What had not been read yet when the script became slow is refused.
            for _ in range(2):
                self.assertIn(writer.line()[:3], (b"+OK", b"-BU"))

    def test_only_by_who_may(self):
        connect = self.start("--threads", "1", "--lua-time-limit", "20")
        scripted, user, killer = connect(), connect(), connect()
        rules = ("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all", "-script|kill", "-shutdown")
        self.assertEqual(killer.command(*rules), b"+OK")
        self.assertEqual(user.command("AUTH", "u", "x"), b"+OK")
        scripted.send(encode("EVAL", ENDLESS, "0"))
        while not killer.command("GET", "x").startswith(b"-BUSY"):
            time.sleep(0.01)
        for words in (("SCRIPT", "KILL"), ("SHUTDOWN", "NOSAVE")):
            reply = user.command(*words)
            self.assertTrue(reply.startswith(b"-NOPERM"), reply)
        self.assertTrue(user.command("GET", "x").startswith(b"-BUSY"))
        self.end(scripted, killer)

    def test_only_by_who_may_of_those_who_come_meanwhile(self):
        connect = self.start("--threads", "1", "--lua-time-limit", "20")
        scripted, killer = connect(), connect()
        self.assertEqual(killer.command("ACL", "SETUSER", "boss", "on", ">secret", "~*", "+@all"), b"+OK")
        self.assertEqual(killer.command("AUTH", "boss", "secret"), b"+OK")
        self.assertEqual(killer.command("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all", "-script|kill"), b"+OK")
        self.assertEqual(killer.command("ACL", "SETUSER", "default", "-script|kill"), b"+OK")
        scripted.send(encode("EVAL", ENDLESS, "0"))
        while not killer.command("GET", "x").startswith(b"-BUSY"):
            time.sleep(0.01)
        new = connect()
        for reply in (new.command("SCRIPT", "KILL"), new.command("SHUTDOWN", "BADLY")):
            self.assertTrue(reply.startswith((b"-NOPERM", b"-ERR")), reply)
        self.end(scripted, killer)


@beyond_redis
class Bombs(unittest.TestCase):
    """A script of few instructions, of which one takes hours, or each some time: it is reported, and can be killed."""

    BOMBS = (
        "return string.find(string.rep('a', 100000), '.-.-.-.-b')",
        "return string.find(string.rep('a', 1e8), string.rep('a', 5e7) .. 'b', 1, true)",
        "local t = {} for i = 1, 2e5 do t[i] = i % 2 end for i = 1, 1e9 do table.sort(t) end",
        "local s = string.rep('x', 1e8) for i = 1, 1e9 do local t = s .. i end",
        "for i = 1, 1e9 do collectgarbage() end",
        "for i = 1, 1e9 do redis.call('LRANGE', 'list', 0, -1) end",
        "for i = 1, 1e9 do redis.call('LPOS', 'list', 'nothing') end",
    )

    def test_each_can_be_killed(self):
        for threads in ("1", "2"):
            with Server("--threads", threads, "--lua-time-limit", "50") as server, server.connect() as killer:
                for _ in range(20):
                    killer.send(encode("RPUSH", "list", *["v" * 10] * 5000))
                    killer.line()
                for bomb in self.BOMBS:
                    with self.subTest(threads=threads, bomb=bomb), server.connect() as scripted:
                        self.assertEqual(scripted.command("PING"), b"+PONG")
                        scripted.send(encode("EVAL", bomb, "0"))
                        while not killer.command("PING").startswith(b"-BUSY"):
                            time.sleep(0.01)
                        self.assertEqual(killer.command("SCRIPT", "KILL"), b"+OK")
                        self.assertIn(b"Script killed by user", scripted.line())


class Control(unittest.TestCase):
    """A client that asks about a script before it is slow waits until it is, and then gets its reply, on any thread."""

    LIBRARY = "#!lua name=lib\nredis.register_function{function_name='endless', callback=function() while true do end end, flags={'no-writes'}}"

    def start(self, threads, limit_ms):
        options = () if REFERENCE else ("--threads", str(threads))
        server = Server("--lua-time-limit", limit_ms, *options)
        self.addCleanup(server.close)

        def connect():
            c = server.connect()
            self.addCleanup(c.close)
            c.socket.settimeout(60)
            return c

        return connect

    def each(self, body, limit_ms=1000):
        for threads in (1,) if REFERENCE else (1, 2):
            with self.subTest(threads=threads):
                connect = self.start(threads, limit_ms)
                scripted = connect()
                self.assertEqual(scripted.command("FUNCTION", "LOAD", "REPLACE", self.LIBRARY), b"$3")
                self.assertEqual(scripted.line(), b"lib")
                body(connect, scripted)

    def reply(self, c):
        """Any reply, as a string with its elements behind one another."""
        head = c.line()
        if head[:1] in b"$=" and head[1:] != b"-1":
            return c.exactly(int(head[1:]) + 2)[:-2]
        if head[:1] in b"*%~":
            count = int(head[1:]) * (2 if head[:1] == b"%" else 1)
            return head + b" " + b" ".join(self.reply(c) for _ in range(count))
        return head

    def test_what_is_asked_early_is_answered_when_it_is_slow(self):
        def body(connect, scripted):
            asking = [connect() for _ in range(4)]
            for c in asking:
                self.assertEqual(c.command("PING"), b"+PONG")
            scripted.send(encode("FCALL", "endless", "0"))
            time.sleep(0.2)
            for c in asking:
                c.send(encode("FUNCTION", "STATS"))
            for c in asking:
                self.assertRegex(self.reply(c), rb"running_script .*name endless command .*FCALL endless 0 duration_ms :")
            self.assertEqual(asking[0].command("FUNCTION", "KILL"), b"+OK")
            self.assertIn(b"Script killed by user", scripted.line())

        self.each(body)

    def test_a_kill_that_comes_early_kills(self):
        def body(connect, scripted):
            killers = [connect() for _ in range(2)]
            for killer in killers:
                for call, words in ((("FCALL", "endless", "0"), ("FUNCTION", "KILL")), (("EVAL", ENDLESS, "0"), ("SCRIPT", "KILL"))):
                    self.assertEqual(killer.command("PING"), b"+PONG")
                    scripted.send(encode(*call))
                    time.sleep(0.2)
                    self.assertEqual(killer.command(*words), b"+OK")
                    self.assertIn(b"Script killed by user", scripted.line())

        self.each(body)

    # Redis looks at a few commands more before it ends the script.
    @beyond_redis
    def test_after_a_kill_nobody_is_told_that_a_script_runs(self):
        def body(connect, scripted):
            conns = [connect() for _ in range(4)]
            for c in conns:
                self.assertEqual(c.command("PING"), b"+PONG")
            for _ in range(50):
                scripted.send(encode("FCALL", "endless", "0"))
                while not conns[0].command("PING").startswith(b"-BUSY"):
                    time.sleep(0.001)
                self.assertEqual(conns[1].command("FUNCTION", "KILL"), b"+OK")
                for c in conns:
                    self.assertEqual(c.command("SET", "key", "value"), b"+OK")
                self.assertIn(b"Script killed by user", scripted.line())

        self.each(body, limit_ms=10)

    def test_a_kill_waits_for_no_script_that_ends_in_time(self):
        def body(connect, scripted):
            killers = [connect() for _ in range(2)]
            for killer in killers:
                self.assertEqual(killer.command("PING"), b"+PONG")
                scripted.send(encode("EVAL", "for i = 1, 3e7 do end return 7", "0"))
                time.sleep(0.05)
                self.assertTrue(killer.command("SCRIPT", "KILL").startswith(b"-NOTBUSY"))
                self.assertEqual(scripted.line(), b":7")

        self.each(body, limit_ms=100_000)

    def test_connections_are_set_up_meanwhile(self):
        def body(connect, scripted):
            setup = connect()
            for words in (("ACL", "SETUSER", "u", "on", ">secret", "~*", "&*", "+@all"), ("SET", "key", "value")):
                self.assertEqual(setup.command(*words), b"+OK")
            # Some have been welcomed, but have said nothing.
            conns = [connect() for _ in range(4)]
            time.sleep(0.2)
            scripted.send(encode("EVAL", ENDLESS, "0"))
            while not setup.command("GET", "x").startswith(b"-BUSY"):
                time.sleep(0.01)
            conns += [connect() for _ in range(4)]
            for c in conns:
                self.assertTrue(c.command("HELLO", "3", "AUTH", "u", "wrong", "SETNAME", "me").startswith(b"-WRONGPASS"))
                c.send(encode("HELLO", "3", "AUTH", "u", "secret", "SETNAME", "me"))
                self.assertRegex(self.reply(c), rb"^%7 .*proto :3")
                self.assertTrue(c.command("GET", "key").startswith(b"-BUSY"))
                self.assertTrue(c.command("CLIENT", "GETNAME").startswith(b"-BUSY"))
            changed, quits, queues, *rest = conns[::-1]
            self.assertEqual(changed.command("RESET"), b"+RESET")
            self.assertEqual(changed.command("AUTH", "u", "wrong"), b"-WRONGPASS invalid username-password pair or user is disabled.")
            self.assertEqual(changed.command("AUTH", "u", "secret"), b"+OK")
            self.assertEqual(quits.command("QUIT"), b"+OK")
            self.assertTrue(quits.is_closed())
            self.assertEqual(queues.command("MULTI"), b"+OK")
            self.assertEqual(setup.command("SCRIPT", "KILL"), b"+OK")
            self.assertIn(b"Script killed by user", scripted.line())
            # The replies that they got are true.
            self.assertEqual(queues.command("GET", "key"), b"+QUEUED")
            queues.send(encode("EXEC"))
            self.assertEqual(self.reply(queues), b"*1 value")
            for c in rest:
                self.assertEqual(c.command("GET", "nothing"), b"_")
                c.send(encode("ACL", "WHOAMI") + encode("CLIENT", "GETNAME"))
                self.assertEqual((self.reply(c), self.reply(c)), (b"u", b"me"))
            self.assertEqual(changed.command("GET", "nothing"), b"$-1")
            changed.send(encode("ACL", "WHOAMI") + encode("CLIENT", "GETNAME"))
            self.assertIn((self.reply(changed), self.reply(changed)), ((b"u", b""), (b"u", b"$-1")))

        self.each(body)

    def test_transactions_go_on_meanwhile(self):
        def body(connect, scripted):
            killer = connect()
            conns = [connect() for _ in range(8)]
            for c in conns[4:]:
                self.assertEqual(c.command("MULTI"), b"+OK")
                self.assertEqual(c.command("SET", "key", "value"), b"+QUEUED")
            for c in conns[:4]:
                self.assertEqual(c.command("PING"), b"+PONG")
            scripted.send(encode("EVAL", ENDLESS, "0"))
            while not killer.command("GET", "x").startswith(b"-BUSY"):
                time.sleep(0.01)
            watches, unwatches, queues, told, discards, refused, executed, resets = conns
            self.assertEqual(watches.command("WATCH", "key", "other"), b"+OK")
            self.assertTrue(watches.command("WATCH").startswith(b"-ERR wrong number of arguments"))
            self.assertEqual(watches.command("DISCARD"), b"-ERR DISCARD without MULTI")
            self.assertEqual(watches.command("MULTI"), b"+OK")
            self.assertEqual(unwatches.command("WATCH", "key"), b"+OK")
            self.assertEqual(unwatches.command("UNWATCH"), b"+OK")
            self.assertEqual(unwatches.command("MULTI"), b"+OK")
            self.assertEqual(told.command("REPLCONF", "capa", "eof"), b"+OK")
            self.assertTrue(told.command("REPLCONF", "shoe-size", "42").startswith(b"-ERR Unrecognized"))
            self.assertEqual(queues.command("MULTI"), b"+OK")
            self.assertTrue(queues.command("MULTI").startswith(b"-ERR MULTI calls can not be nested"))
            self.assertTrue(queues.command("WATCH", "key").startswith(b"-ERR WATCH inside MULTI is not allowed"))
            self.assertEqual(queues.command("REPLCONF", "capa", "eof"), b"+QUEUED")
            self.assertEqual(queues.command("UNWATCH"), b"+QUEUED")
            self.assertEqual(discards.command("DISCARD"), b"+OK")
            self.assertEqual(discards.command("MULTI"), b"+OK")
            self.assertTrue(refused.command("SET", "key", "second").startswith(b"-BUSY"))
            self.assertTrue(executed.command("EXEC").startswith(b"-EXECABORT Transaction discarded because of: BUSY"))
            self.assertEqual(executed.command("MULTI"), b"+OK")
            self.assertEqual(resets.command("RESET"), b"+RESET")
            self.assertEqual(resets.command("DISCARD"), b"-ERR DISCARD without MULTI")
            self.assertEqual(killer.command("SCRIPT", "KILL"), b"+OK")
            self.assertIn(b"Script killed by user", scripted.line())
            # What they were told is true.
            self.assertEqual(killer.command("PING"), b"+PONG")
            for c in (watches, unwatches, executed, discards):
                self.assertEqual(c.command("GET", "key"), b"+QUEUED")
            self.assertEqual(killer.command("GET", "key"), b"$-1")
            self.assertEqual(killer.command("SET", "key", "changed"), b"+OK")
            self.assertIn(watches.command("EXEC"), (b"*-1", b"_"))
            for c in (unwatches, executed, discards):
                c.send(encode("EXEC"))
                self.assertEqual(self.reply(c), b"*1 changed")
            queues.send(encode("EXEC"))
            self.assertEqual(self.reply(queues), b"*2 +OK +OK")
            self.assertTrue(refused.command("EXEC").startswith(b"-EXECABORT"))
            self.assertEqual(resets.command("EXEC"), b"-ERR EXEC without MULTI")
            self.assertEqual(killer.command("GET", "key"), b"$7")
            self.assertEqual(killer.line(), b"changed")

        self.each(body)


@beyond_redis
class Journal(unittest.TestCase):
    """Replies that wait for the journal, and commands that turn it on and off."""

    def setUp(self):
        self.server = Server("--threads", "2", "--appendonly", "yes", "--enable-debug-command", "yes")
        self.addCleanup(self.server.close)

    def test_what_a_pause_held_back_is_run_behind_replies_that_wait_for_the_disk(self):
        with self.server.connect() as c, self.server.connect() as other, self.server.connect() as writer:
            self.assertEqual(c.command("CONFIG", "SET", "appendfsync", "always"), b"+OK")
            paused = encode("SET", "a", "1") + encode("CLIENT", "PAUSE", "100000", "WRITE") + encode("SET", "a", "2")
            for _ in range(100):
                # So much to write that the first reply still waits when the pause is over.
                writer.send(encode("SET", "w", "v" * 2000) * 50)
                c.send(paused)
                time.sleep(0.0005)
                self.assertEqual(other.command("CLIENT", "UNPAUSE"), b"+OK")
                c.socket.settimeout(0.5)
                replies = []
                while len(replies) < 3:
                    try:
                        replies.append(c.line())
                    except TimeoutError:
                        self.assertLess(c.socket.gettimeout(), 20, "it is never run")
                        # The pause began behind the command that was to end it.
                        c.socket.settimeout(20)
                        self.assertEqual(other.command("CLIENT", "UNPAUSE"), b"+OK")
                self.assertEqual(replies, [b"+OK"] * 3)
                self.assertEqual(writer.exactly(250), b"+OK\r\n" * 50)

    def together(self, *all_words):
        """Connections that each repeat their own commands; none of them may wait for ever."""
        conns = [self.server.connect() for _ in all_words]
        for c in conns:
            self.addCleanup(c.close)
        for _ in range(150):
            for c, words in zip(conns, all_words):
                c.send(b"".join(encode(*w.split()) for w in words) + encode("ECHO", "end"))
            for c in conns:
                while c.line() != b"end":
                    pass

    def test_options_are_set_from_transactions_and_without(self):
        self.together(
            ["CONFIG SET appendonly no", "CONFIG SET appendonly yes"],
            ["MULTI", "CONFIG SET maxmemory 1gb", "EXEC", "MULTI", "CONFIG SET maxmemory 0", "EXEC"],
        )

    def test_reading_the_journal_again_and_turning_it_off(self):
        self.together(
            ["DEBUG LOADAOF"],
            ["MULTI", "CONFIG SET appendonly no", "EXEC", "MULTI", "CONFIG SET appendonly yes", "EXEC"],
        )


if __name__ == "__main__":
    unittest.main()
