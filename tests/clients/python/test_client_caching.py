"""CLIENT TRACKING: the cache in redis-py (RESP3), and invalidations sent elsewhere (RESP2)."""

import unittest

from harness.server import wait_until
from protocols import Common, newer_than_7_0
from redis.cache import CacheConfig


class Resp3(Common, unittest.TestCase):
    protocol = 3

    @newer_than_7_0
    def test_the_cache_of_redis_py(self):
        cached = self.client(cache_config=CacheConfig())
        self.r.mset({"k": "1", "other": "1"})
        self.assertEqual((cached.get("k"), cached.get("other")), ("1", "1"))
        gets = lambda: self.r.info("commandstats")["cmdstat_get"]["calls"]
        before = gets()
        self.assertEqual([cached.get("k") for _ in range(5)], ["1"] * 5)
        self.assertEqual(gets(), before, "answered from the cache")
        self.r.set("k", "2")
        wait_until(lambda: cached.get("k") == "2", "the cache learned of the change")
        self.r.flushall()
        wait_until(lambda: cached.get("other") is None, "the cache learned of FLUSHALL")

    @newer_than_7_0
    def test_every_type_is_invalidated(self):
        cached = self.client(cache_config=CacheConfig())
        self.r.hset("h", "f", "1")
        self.r.zadd("z", {"a": 1})
        self.r.rpush("l", 1)
        self.r.sadd("s", 1)
        reads = [
            lambda: cached.hget("h", "f"),
            lambda: cached.zscore("z", "a"),
            lambda: cached.lrange("l", 0, -1),
            lambda: cached.scard("s"),
        ]
        self.assertEqual([read() for read in reads], ["1", 1.0, ["1"], 1])
        pipe = self.r.pipeline()
        pipe.hset("h", "f", "2").zincrby("z", 1, "a").rpush("l", 2).sadd("s", 2).execute()
        wait_until(
            lambda: [read() for read in reads] == ["2", 2.0, ["1", "2"], 2],
            "all four changes arrived",
        )


class Resp2(Common, unittest.TestCase):
    protocol = 2

    def test_redirected_invalidations(self):
        listener = self.client(single_connection_client=True)
        id = listener.client_id()
        reader = self.client(single_connection_client=True)
        listener.connection.send_command("SUBSCRIBE", "__redis__:invalidate")
        self.assertEqual(listener.connection.read_response()[0], "subscribe")
        self.assertEqual(reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", id), "OK")
        reader.get("k")
        self.r.set("k", 1)
        message = listener.connection.read_response()
        self.assertEqual(message, ["message", "__redis__:invalidate", ["k"]])
