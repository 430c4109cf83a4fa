"""Channels, patterns, sharded channels and keyspace events with redis-py."""

import threading

from harness.server import PATIENCE_S
from protocols import both_protocols


@both_protocols
class PubSub:
    def next(self, pubsub):
        message = pubsub.get_message(timeout=PATIENCE_S)
        self.assertIsNotNone(message, "no message came")
        return message["type"], message["pattern"], message["channel"], message["data"]

    def test_channels_and_patterns(self):
        with self.r.pubsub() as p:
            p.subscribe("news")
            p.psubscribe("n*")
            self.assertEqual(self.next(p), ("subscribe", None, "news", 1))
            self.assertEqual(self.next(p), ("psubscribe", None, "n*", 2))
            self.assertEqual(self.r.publish("news", "hello"), 2)
            self.assertEqual(self.next(p), ("message", None, "news", "hello"))
            self.assertEqual(self.next(p), ("pmessage", "n*", "news", "hello"))
            self.assertEqual(self.r.pubsub_channels(), ["news"])
            self.assertEqual(dict(self.r.pubsub_numsub("news", "x")), {"news": 1, "x": 0})
            self.assertEqual(self.r.pubsub_numpat(), 1)
            if self.protocol == 2:  # redis-py takes RESP3's plain reply apart.
                p.ping("are you there")
                self.assertEqual(self.next(p), ("pong", None, None, "are you there"))
            p.unsubscribe()
            self.assertEqual(self.next(p), ("unsubscribe", None, "news", 1))
        self.assertEqual(self.r.publish("elsewhere", "nobody"), 0)

    def test_sharded_channels(self):
        with self.r.pubsub() as p:
            p.ssubscribe("orders")
            message = p.get_sharded_message(timeout=PATIENCE_S)
            self.assertEqual((message["type"], message["data"]), ("ssubscribe", 1))
            self.assertEqual(self.r.publish("orders", "not for shards"), 0)
            self.assertEqual(self.r.spublish("orders", "one"), 1)
            message = p.get_sharded_message(timeout=PATIENCE_S)
            self.assertEqual((message["type"], message["data"]), ("smessage", "one"))
            self.assertEqual(self.r.pubsub_shardchannels(), ["orders"])

    def test_order_and_completeness_for_many_subscribers(self):
        subscribers = [self.client().pubsub() for _ in range(10)]
        for p in subscribers:
            p.subscribe("c")
            self.assertEqual(self.next(p)[0], "subscribe")
        publishers, count = 4, 200

        def publish(name, r):
            for i in range(count):
                r.publish("c", f"{name} {i}")

        threads = [
            threading.Thread(target=publish, args=(n, self.client())) for n in range(publishers)
        ]
        for thread in threads:
            thread.start()
        for p in subscribers:
            seen = [self.next(p)[3].split() for _ in range(publishers * count)]
            for name in range(publishers):
                mine = [int(i) for who, i in seen if who == str(name)]
                self.assertEqual(mine, list(range(count)))
            p.close()
        for thread in threads:
            thread.join()

    def test_keyspace_events(self):
        self.r.config_set("notify-keyspace-events", "KEA")
        self.addCleanup(self.r.config_set, "notify-keyspace-events", "")
        with self.r.pubsub() as p:
            p.psubscribe("__keyspace@0__:*")
            self.next(p)
            self.r.rpush("l", 1)
            self.r.lpop("l")
            self.r.hset("h", "f", "v")
            self.r.set("k", "v", px=1)
            events = [self.next(p)[2:] for _ in range(6)]
            expected = ["l rpush", "l lpop", "l del", "h hset", "k set", "k expire"]
            key = "__keyspace@0__:"
            self.assertEqual(events, [(key + e.split()[0], e.split()[1]) for e in expected])
            self.assertEqual(self.next(p)[2:], (key + "k", "expired"))
