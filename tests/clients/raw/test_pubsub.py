"""Publish and subscribe, and client-side caching, over bare sockets and several server threads."""

import random
import select
import threading
import unittest

from harness.server import Server, beyond_redis, encode, wait_until


class Talk:
    """A connection that reads whole replies. Push messages are marked by a leading '>'."""

    def __init__(self, server):
        self.raw = server.connect()
        self.file = self.raw.socket.makefile("rb", 1 << 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.raw.close()

    def send(self, *commands):
        self.raw.send(b"".join(encode(*c.split()) for c in commands))

    def read(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            n = int(rest)
            return None if n < 0 else self.file.read(n + 2)[:-2].decode()
        if kind in b"*~>":
            n = int(rest)
            items = None if n < 0 else [self.read() for _ in range(n)]
            return [">", *items] if kind == b">" else items
        if kind == b"%":
            return [self.read() for _ in range(2 * int(rest))]
        if kind == b"_":
            return None
        return int(rest) if kind == b":" else (kind + rest).decode()

    def call(self, command):
        self.send(command)
        return self.read()


class PubSub(unittest.TestCase):
    def setUp(self):
        self.server = Server("--threads", 4)
        self.addCleanup(self.server.close)

    def talk(self, *hello):
        c = Talk(self.server)
        self.addCleanup(c.close)
        for command in hello:
            c.call(command)
        return c

    def test_every_subscriber_sees_each_publisher_in_order(self):
        publishers, rounds, depth = 4, 40, 25
        subscribers = [self.talk() for _ in range(24)]
        for i, s in enumerate(subscribers):
            self.assertEqual(s.call("SUBSCRIBE ch"), ["subscribe", "ch", 1])
            if i % 2:
                self.assertEqual(s.call("PSUBSCRIBE c*"), ["psubscribe", "c*", 2])

        def publish(p):
            with Talk(self.server) as c:
                for r in range(rounds):
                    c.send(*(f"PUBLISH ch {p}:{r * depth + i}" for i in range(depth)))
                    counts = [c.read() for _ in range(depth)]
                    assert counts == [36] * depth, counts

        threads = [threading.Thread(target=publish, args=(p,)) for p in range(publishers)]
        for t in threads:
            t.start()
        for i, s in enumerate(subscribers):
            seen = {}
            for _ in range(publishers * rounds * depth * (1 + i % 2)):
                *head, text = s.read()
                p, n = text.split(":")
                key = (head[0], p)
                self.assertEqual(int(n), seen.get(key, -1) + 1, f"{head} of publisher {p}")
                seen[key] = int(n)
        for t in threads:
            t.join()

    def test_nothing_from_before_a_subscription_and_all_up_to_its_end(self):
        others = [self.talk() for _ in range(8)]
        for o in others:
            o.call("SUBSCRIBE ch")
        publisher = self.talk()
        s = self.talk("HELLO 3")
        for n in range(200):
            publisher.call(f"PUBLISH ch before-{n}")
            self.assertEqual(s.call("SUBSCRIBE ch"), [">", "subscribe", "ch", 1])
            self.assertEqual(publisher.call(f"PUBLISH ch during-{n}"), 9)
            s.send("UNSUBSCRIBE ch")
            self.assertEqual(s.read(), [">", "message", "ch", f"during-{n}"])
            self.assertEqual(s.read(), [">", "unsubscribe", "ch", 0])

    @beyond_redis
    def test_a_message_to_oneself_follows_the_reply(self):
        # Since Redis 7.2; before, it came first.
        c = self.talk("HELLO 3")
        c.call("SUBSCRIBE ch")
        c.send("PUBLISH ch 1", "PING", "MULTI", "PUBLISH ch 2", "EXEC", "PUBLISH ch 3")
        got = [c.read() for _ in range(9)]
        self.assertEqual(
            got,
            [1, [">", "message", "ch", "1"], "+PONG", "+OK", "+QUEUED", [1],
             [">", "message", "ch", "2"], 1, [">", "message", "ch", "3"]],
        )

    def test_what_a_subscriber_may_do_in_each_protocol(self):
        c = self.talk()
        c.call("SUBSCRIBE ch")
        self.assertIn("Can't execute 'get'", c.call("GET k"))
        self.assertEqual(c.call("PING"), ["pong", ""])
        self.assertEqual(c.call("PING x"), ["pong", "x"])
        self.assertEqual(c.call("RESET"), "+RESET")
        self.assertEqual(c.call("GET k"), None)
        self.assertEqual(c.call("PUBSUB CHANNELS"), [])
        c.call("HELLO 3")
        c.call("SUBSCRIBE ch")
        self.assertEqual(c.call("GET k"), None)

    def test_replies_held_back_do_not_hold_messages_back(self):
        c, publisher = self.talk("HELLO 3"), self.talk()
        c.send("CLIENT REPLY OFF", "SUBSCRIBE ch", "GET k")
        self.assertEqual(c.read(), [">", "subscribe", "ch", 1])
        publisher.call("PUBLISH ch hello")
        self.assertEqual(c.read(), [">", "message", "ch", "hello"])
        c.send("CLIENT REPLY ON")
        self.assertEqual(c.read(), "+OK")

    def test_who_does_not_read_is_cut_and_holds_nobody_up(self):
        slow, quick, publisher = self.talk(), self.talk(), self.talk()
        publisher.raw.send(
            encode("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0"))
        self.assertEqual(publisher.read(), "+OK")
        slow.call("SUBSCRIBE ch")
        quick.call("SUBSCRIBE ch")
        text = "x" * 10_000
        n = 0
        while publisher.call(f"PUBLISH ch {text}") == 2:
            n += 1
            self.assertEqual(quick.read(), ["message", "ch", text])
            self.assertLess(n * len(text), 1 << 30, "nobody is cut")
        self.assertEqual(quick.read(), ["message", "ch", text])
        self.assertIn("\r\npubsub_clients:1\r\n", publisher.call("INFO clients"))

    def busy_thread(self):
        """A subscriber whose thread does not deliver for a while, a publisher on another thread, and the
        connection whose script keeps the first thread busy."""
        server = Server("--threads", 2, "--busy-reply-threshold", 1_000_000)
        self.addCleanup(server.close)
        # Connections are dealt out in turn.
        s, p, busy = Talk(server), Talk(server), Talk(server)
        for c in (s, p, busy):
            self.addCleanup(c.close)
        p.raw.send(encode("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0"))
        self.assertEqual(p.read(), "+OK")
        s.call("SUBSCRIBE ch")
        busy.raw.send(encode("EVAL", "local n = 0; for i = 1, 3e8 do n = n + i end; return 'done'", "0"))
        return server, s, p, busy

    @beyond_redis
    def test_a_publisher_waits_for_a_thread_that_is_behind(self):
        server, s, p, busy = self.busy_thread()
        before = most = server.rss_bytes()
        done = threading.Event()
        threading.Thread(target=lambda: (busy.read(), done.set()), daemon=True).start()
        depth, rounds, text = 50, 800, "x" * 10_000
        batch = b"".join(encode("PUBLISH", "ch", text) for _ in range(depth))
        counts = []

        def publish():
            for _ in range(rounds):
                p.raw.send(batch)
                counts.extend(p.read() for _ in range(depth))

        publisher = threading.Thread(target=publish, daemon=True)
        publisher.start()
        while not done.is_set() and publisher.is_alive():
            most = max(most, server.rss_bytes())
            done.wait(0.01)
        self.assertLess(most - before, 64 << 20)
        for _ in range(depth * rounds):
            self.assertEqual(s.read(), ["message", "ch", text])
        publisher.join()
        self.assertEqual(counts, [1] * (depth * rounds))

    @beyond_redis
    def test_a_publisher_that_waits_can_be_killed_and_goes_on_otherwise(self):
        server, s, p, busy = self.busy_thread()
        killed = p.call("CLIENT ID")
        # More than may wait, in one pipeline, and something behind it.
        pipeline = encode("PUBLISH", "ch", "x" * 100_000) * 50
        p.raw.send(pipeline + encode("SET", "behind", "1"))
        self.assertEqual(p.read(), 1)
        admin = next(c for c in (Talk(server), Talk(server)) if self.answers(c))
        self.assertEqual(admin.call(f"CLIENT KILL ID {killed}"), 1)
        got = 1
        with self.assertRaises(ConnectionError):
            while True:
                self.assertEqual(p.read(), 1)
                got += 1
        self.assertLess(got, 50)
        admin.raw.send(pipeline + encode("SET", "behind", "2"))
        self.assertEqual([admin.read() for _ in range(51)], [1] * 50 + ["+OK"])
        self.assertEqual(busy.read(), "done")
        for _ in range(got + 50):
            self.assertEqual(s.read()[:2], ["message", "ch"])
        self.assertEqual(admin.call("GET behind"), "2")
        server.process.terminate()
        self.assertEqual(server.wait(), 0)

    def answers(self, c):
        """Whether the connection lives on a thread that is not busy."""
        self.addCleanup(c.close)
        c.send("PING")
        return bool(select.select([c.raw.socket], [], [], 0.5)[0]) and c.read() == "+PONG"

    def test_idle_subscribers_stay(self):
        c, other = self.talk(), self.talk()
        c.call("SUBSCRIBE ch")
        idle = self.talk()
        # Long enough for a client on a busy machine between connecting and its first command.
        other.call("CONFIG SET timeout 3")
        self.assertTrue(idle.raw.is_closed())
        with Talk(self.server) as late:
            self.assertEqual(late.call("PUBLISH ch hi"), 1)
        self.assertEqual(c.read(), ["message", "ch", "hi"])

    def test_a_connection_that_is_gone_is_no_subscriber(self):
        c = self.talk()
        with Talk(self.server) as s:
            s.call("SUBSCRIBE a")
            s.call("PSUBSCRIBE b*")
            s.call("SSUBSCRIBE c")
        figures = ["pubsub_channels:0", "pubsub_patterns:0", "pubsubshard_channels:0"]
        wait_until(lambda: all(f in c.call("INFO stats") for f in figures), "nobody is subscribed")

    def test_missed_keys_are_told_of_as_long_as_that_is_wanted(self):
        listener = self.talk("CONFIG SET notify-keyspace-events KEA", "PSUBSCRIBE __keyevent@0__:*")
        with Talk(self.server) as c:
            for number, classes in enumerate(["KEA", "Em", "K$", "KEAm", "KEA"]):
                c.call(f"CONFIG SET notify-keyspace-events {classes}")
                c.call(f"GET none{number}")
                c.call("EXISTS none")
            c.call("CONFIG SET notify-keyspace-events E$")
            c.call("SET end v")
        told = []
        while not told or told[-1][1] != "end":
            told.append(listener.read()[2:])
        missed = [["__keyevent@0__:keymiss", key] for key in ["none1", "none", "none3", "none"]]
        self.assertEqual(told, [*missed, ["__keyevent@0__:set", "end"]])

    def test_events_of_a_key_come_in_the_order_of_its_changes(self):
        listener = self.talk("CONFIG SET notify-keyspace-events KEA", "PSUBSCRIBE __key*__:k")
        rounds = 300

        def change(command):
            with Talk(self.server) as c:
                for _ in range(rounds):
                    c.send(*[command] * 10)
                    for _ in range(10):
                        c.read()

        # A deleted key was there, and a key set by SETNX was not: the events alternate.
        threads = [threading.Thread(target=change, args=(c,)) for c in ["SETNX k v", "DEL k"] * 2]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        with Talk(self.server) as c:
            c.call("DEL k")
            c.call("RENAME other k")
            c.call("SET k end")
            c.call("EXPIRE k 100")
        events = []
        while not events or events[-1] != "expire":
            events.append(listener.read()[3])
        for before, after in zip(events, events[1:-2]):
            self.assertNotEqual(before, after, "two changes of a kind in a row")


class Tracking(unittest.TestCase):
    def setUp(self):
        self.server = Server("--threads", 4)
        self.addCleanup(self.server.close)

    def cached(self, mode, seed):
        """A client that caches its reads, while others write; afterwards the cache is right."""
        keys = [f"k{i}" for i in range(20)]
        stop = threading.Event()

        def write(n):
            rng = random.Random(n)
            with Talk(self.server) as c:
                while not stop.is_set():
                    commands = [f"INCR {rng.choice(keys)}" for _ in range(rng.randint(1, 8))]
                    c.send(*commands)
                    for _ in commands:
                        c.read()

        writers = [threading.Thread(target=write, args=(seed + n,)) for n in range(4)]
        cache, rng = {}, random.Random(seed)
        with Talk(self.server) as c:
            c.call("HELLO 3")
            self.assertEqual(c.call(f"CLIENT TRACKING on {mode}"), "+OK")

            def reply():
                while isinstance(got := c.read(), list) and got[0] == ">":
                    for key in got[2]:
                        cache.pop(key, None)
                return got

            for w in writers:
                w.start()
            hits = 0
            for _ in range(3000):
                key = rng.choice(keys)
                if key in cache:
                    hits += 1
                    # Notices arrive between replies.
                    c.send("PING")
                    reply()
                    continue
                c.send(f"GET {key}")
                cache[key] = reply()
            stop.set()
            for w in writers:
                w.join()
            # Every notice sent before this reply has arrived with it.
            c.send("PING")
            reply()
            with Talk(self.server) as fresh:
                now = {key: fresh.call(f"GET {key}") for key in keys}
            self.assertEqual({k: now[k] for k in cache}, cache)
            self.assertGreater(hits, 0, "nothing was ever cached")

    def test_a_cache_that_obeys_is_never_wrong_for_good(self):
        self.cached("", 1)

    def test_nor_is_one_that_is_told_by_prefix(self):
        # The notice about a read whose reply crosses it comes before the reply: such a cache asks again.
        with Talk(self.server) as c, Talk(self.server) as w:
            c.call("HELLO 3")
            c.call("CLIENT TRACKING on BCAST PREFIX a PREFIX b")
            w.send("MSET a1 x a2 x", "SET c x", "SET b1 x")
            told = set()
            while told != {"a1", "a2", "b1"}:
                push, name, keys = c.read()
                self.assertEqual((push, name), (">", "invalidate"))
                told.update(keys)
            w.call("FLUSHALL")
            self.assertEqual(c.read(), [">", "invalidate", None])

    def test_own_changes_are_told_behind_the_reply(self):
        with Talk(self.server) as c:
            c.call("HELLO 3")
            c.call("CLIENT TRACKING on")
            c.send("GET k", "SET k 1", "PING", "GET k", "MULTI", "SET k 2", "EXEC")
            told = [">", "invalidate", ["k"]]
            self.assertEqual(
                [c.read() for _ in range(9)],
                [None, "+OK", told, "+PONG", "1", "+OK", "+QUEUED", ["+OK"], told],
            )
            c.call("CLIENT TRACKING off")
            c.call("CLIENT TRACKING on NOLOOP")
            c.send("GET k", "SET k 3", "PING")
            self.assertEqual([c.read() for _ in range(3)], ["2", "+OK", "+PONG"])


if __name__ == "__main__":
    unittest.main()
