"""Every data type through redis-py's typed methods."""

from harness.server import wait_until
from protocols import both_protocols, newer_than_7_0


@both_protocols
class Types:
    def test_hashes(self):
        r = self.r
        self.assertEqual(r.hset("h", mapping={"a": 1, "b": "two", "c": 3.5}), 3)
        self.assertEqual(r.hset("h", "a", 2), 0)
        self.assertEqual(r.hsetnx("h", "a", 9), 0)
        self.assertEqual(r.hgetall("h"), {"a": "2", "b": "two", "c": "3.5"})
        self.assertEqual(r.hmget("h", "a", "none"), ["2", None])
        self.assertEqual(r.hincrby("h", "a", 40), 42)
        self.assertEqual(r.hincrbyfloat("h", "c", 0.25), 3.75)
        self.assertEqual(sorted(r.hkeys("h")), ["a", "b", "c"])
        self.assertEqual(sorted(r.hvals("h")), ["3.75", "42", "two"])
        self.assertEqual((r.hlen("h"), r.hstrlen("h", "b"), r.hexists("h", "x")), (3, 3, False))
        self.assertEqual(set(r.hrandfield("h", 5)), {"a", "b", "c"})
        r.hset("big", mapping={f"f{i}": i for i in range(2_000)})
        self.assertEqual(r.object("encoding", "big"), "hashtable")
        self.assertEqual(dict(r.hscan_iter("big", count=50)), {f"f{i}": str(i) for i in range(2_000)})
        self.assertEqual(r.hdel("h", "a", "b", "c", "d"), 3)
        self.assertEqual(r.exists("h"), 0)

    @newer_than_7_0
    def test_fields_that_expire(self):
        r = self.r
        r.hset("h", mapping={"a": 1, "b": 2, "c": 3})
        self.assertEqual(r.hexpire("h", 100, "a", "none"), [1, -2])
        self.assertEqual(r.hexpire("h", 50, "a", gt=True), [0])
        self.assertTrue(0 < r.httl("h", "a")[0] <= 100)
        self.assertTrue(0 < r.hpttl("h", "a")[0] <= 100_000)
        self.assertEqual(r.hpersist("h", "a", "b"), [1, -1])
        self.assertEqual(r.hexpireat("h", 4_000_000_000, "a"), [1])
        self.assertEqual(r.hexpiretime("h", "a"), [4_000_000_000])
        self.assertEqual(r.hpexpire("h", 1, "b"), [1])
        wait_until(lambda: r.hget("h", "b") is None, "a field of 1 ms expired")
        self.assertEqual(r.hgetall("h"), {"a": "1", "c": "3"})
        self.assertEqual(r.hgetdel("h", "a"), ["1"])
        self.assertEqual(r.hsetex("h", "d", "4", ex=100), 1)
        self.assertEqual(r.hgetex("h", "d", persist=True), ["4"])
        self.assertEqual(r.httl("h", "d"), [-1])
        self.assertEqual(r.hpexpire("h", 1, "c", "d"), [1, 1])
        wait_until(lambda: r.exists("h") == 0, "a hash went with its last field")

    def test_lists(self):
        r = self.r
        self.assertEqual(r.rpush("l", "a", "b", "c"), 3)
        self.assertEqual(r.lpush("l", "z"), 4)
        self.assertEqual(r.lpushx("none", "x"), 0)
        self.assertEqual(r.lrange("l", 0, -1), ["z", "a", "b", "c"])
        self.assertEqual(r.linsert("l", "BEFORE", "b", "ab"), 5)
        self.assertEqual((r.lindex("l", 2), r.llen("l"), r.lpos("l", "c")), ("ab", 5, 4))
        self.assertIs(r.lset("l", 0, "y"), True)
        self.assertEqual(r.lrem("l", 0, "ab"), 1)
        self.assertEqual(r.lmove("l", "m", "LEFT", "RIGHT"), "y")
        self.assertEqual(r.rpoplpush("l", "m"), "c")
        self.assertEqual(r.lmpop(2, "none", "m", direction="LEFT", count=5), ["m", ["c", "y"]])
        self.assertEqual(r.lpop("l", 2), ["a", "b"])
        self.assertIsNone(r.rpop("l"))
        r.rpush("n", *range(5_000))
        self.assertIs(r.ltrim("n", 10, -11), True)
        self.assertEqual(r.lrange("n", 0, 1) + r.lrange("n", -1, -1), ["10", "11", "4989"])
        self.assertEqual(r.sort("n", desc=True, start=0, num=2), ["4989", "4988"])

    def test_sets(self):
        r = self.r
        self.assertEqual(r.sadd("a", 1, 2, 3, 2), 3)
        self.assertEqual(r.sadd("b", 3, 4), 2)
        self.assertEqual(r.object("encoding", "a"), "intset")
        self.assertEqual(set(r.smembers("a")), {"1", "2", "3"})
        self.assertEqual(set(r.sinter("a", "b")), {"3"})
        self.assertEqual(set(r.sunion("a", "b")), {"1", "2", "3", "4"})
        self.assertEqual(set(r.sdiff("a", "b")), {"1", "2"})
        self.assertEqual(r.sinterstore("i", "a", "b"), 1)
        self.assertEqual(r.sintercard(2, ["a", "b"], limit=1), 1)
        self.assertEqual(r.smismember("a", ["1", "9"]), [1, 0])
        self.assertTrue(r.smove("a", "b", 1))
        self.assertEqual((r.scard("a"), r.sismember("b", 1), r.srem("b", 1, 9)), (2, 1, 1))
        r.sadd("big", *[f"m{i}" for i in range(3_000)])
        self.assertEqual(set(r.sscan_iter("big")), {f"m{i}" for i in range(3_000)})
        self.assertEqual(len(set(r.srandmember("big", 10))), 10)
        self.assertEqual(len(r.spop("big", 3_000)), 3_000)
        self.assertEqual(r.exists("big"), 0)

    def test_sorted_sets(self):
        r = self.r
        self.assertEqual(r.zadd("z", {"a": 1, "b": 2, "c": 3}), 3)
        self.assertEqual(r.zadd("z", {"a": 5, "d": 4}, xx=True, ch=True), 1)
        self.assertEqual(r.zadd("z", {"b": 0.5}, incr=True), 2.5)
        scores = [("b", 2.5), ("c", 3.0), ("a", 5.0)]
        self.assertEqual(self.pairs(r.zrange("z", 0, -1, withscores=True)), scores)
        self.assertEqual(self.pairs(r.zrevrange("z", 0, -1, withscores=True)), scores[::-1])
        self.assertEqual(r.zrange("z", "(2.5", "+inf", byscore=True), ["c", "a"])
        self.assertEqual((r.zrank("z", "a"), r.zrevrank("z", "a"), r.zrank("z", "x")), (2, 0, None))
        self.assertEqual((r.zscore("z", "a"), r.zmscore("z", ["a", "x"])), (5.0, [5.0, None]))
        self.assertEqual((r.zcard("z"), r.zcount("z", 3, 5), r.zincrby("z", 1, "c")), (3, 2, 4.0))
        r.zadd("y", {"a": 1, "e": 2})
        union = self.pairs(r.zunion({"z": 1, "y": 10}, aggregate="MAX", withscores=True))
        self.assertEqual(union, [("b", 2.5), ("c", 4.0), ("a", 10.0), ("e", 20.0)])
        self.assertEqual(r.zinterstore("i", ["z", "y"]), 1)
        self.assertEqual(r.zdiff(["z", "y"]), ["b", "c"])
        self.assertEqual(r.zrangestore("s", "z", 0, 1), 2)
        self.assertEqual(self.pairs(r.zpopmin("z", 1)), [("b", 2.5)])
        self.assertEqual(self.pairs(r.zpopmax("z", 1)), [("a", 5.0)])
        r.zadd("lex", {c: 0 for c in "abcdef"})
        self.assertEqual(r.zrangebylex("lex", "[b", "(e"), ["b", "c", "d"])
        self.assertEqual(r.zremrangebylex("lex", "-", "(c"), 2)
        r.zadd("big", {f"m{i}": i for i in range(3_000)})
        self.assertEqual(r.object("encoding", "big"), "skiplist")
        self.assertEqual(dict(r.zscan_iter("big")), {f"m{i}": float(i) for i in range(3_000)})
        self.assertEqual(r.zrank("big", "m2345"), 2345)

    def test_streams(self):
        r = self.r
        first = r.xadd("s", {"n": 1})
        r.xadd("s", {"n": 2})
        last = r.xadd("s", {"n": 3, "m": 4})
        self.assertEqual(r.xlen("s"), 3)
        self.assertEqual(r.xrange("s", first, first), [(first, {"n": "1"})])
        self.assertEqual(r.xrevrange("s", count=1), [(last, {"n": "3", "m": "4"})])
        self.assertEqual(r.xadd("s", {"n": 9}, id="9999999999999-1", nomkstream=True), "9999999999999-1")
        self.assertEqual(r.xdel("s", "9999999999999-1"), 1)
        self.assertEqual(r.xinfo_stream("s")["length"], 3)
        self.assertEqual(r.xtrim("s", maxlen=2, approximate=False), 1)

    def test_consumer_groups(self):
        r = self.r
        ids = [r.xadd("s", {"n": i}) for i in range(10)]
        self.assertTrue(r.xgroup_create("s", "g", id="0"))
        got = self.entries(r.xreadgroup("g", "alice", {"s": ">"}, count=6))
        self.assertEqual([id for id, _ in got], ids[:6])
        got = self.entries(r.xreadgroup("g", "bob", {"s": ">"}))
        self.assertEqual([id for id, _ in got], ids[6:])
        self.assertEqual(r.xack("s", "g", *ids[:2]), 2)
        pending = r.xpending("s", "g")
        self.assertEqual((pending["pending"], pending["min"], pending["max"]), (8, ids[2], ids[9]))
        self.assertEqual(
            {c["name"]: c["pending"] for c in pending["consumers"]}, {"alice": 4, "bob": 4}
        )
        entries = r.xpending_range("s", "g", "-", "+", 10, consumername="alice")
        self.assertEqual([e["message_id"] for e in entries], ids[2:6])
        self.assertEqual(r.xclaim("s", "g", "bob", 0, [ids[2]]), [(ids[2], {"n": "2"})])
        cursor, claimed, deleted = r.xautoclaim("s", "g", "carol", 0, count=2)
        self.assertEqual(([id for id, _ in claimed], cursor, deleted), (ids[2:4], ids[4], []))
        history = self.entries(r.xreadgroup("g", "carol", {"s": "0"}))
        self.assertEqual([id for id, _ in history], ids[2:4])
        group = r.xinfo_groups("s")[0]
        self.assertEqual((group["consumers"], group["pending"], group["lag"]), (3, 8, 0))
        self.assertEqual(len(r.xinfo_consumers("s", "g")), 3)
        self.assertEqual(r.xinfo_stream("s", full=True)["groups"][0]["pel-count"], 8)
        self.assertEqual(r.xgroup_delconsumer("s", "g", "bob"), 4)
        self.assertTrue(r.xgroup_destroy("s", "g"))

    def entries(self, reply):
        """The entries of the one stream in a reply of XREAD or XREADGROUP."""
        if isinstance(reply, dict):
            (entries,) = reply.values()
            # RESP3: redis-py wraps them once more.
            return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else entries
        return reply[0][1]

    def test_hyperloglogs(self):
        r = self.r
        self.assertEqual(r.pfadd("a", *range(1_000)), 1)
        self.assertEqual(r.pfadd("b", *range(500, 1_500)), 1)
        self.assertEqual(r.pfadd("a", 1), 0)
        # The result of Redis's estimator for these members.
        self.assertEqual((r.pfcount("a"), r.pfcount("b")), (1001, 1009))
        self.assertTrue(r.pfmerge("c", "a", "b"))
        self.assertEqual(r.pfcount("c"), r.pfcount("a", "b"))

    def test_geo(self):
        r = self.r
        places = (13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania")
        self.assertEqual(r.geoadd("g", places), 2)
        self.assertEqual(r.geodist("g", "Palermo", "Catania", unit="km"), 166.2742)
        self.assertEqual(r.geohash("g", "Palermo"), ["sqc8b49rny0"])
        self.assertAlmostEqual(r.geopos("g", "Catania")[0][0], 15.087269, places=4)
        near = r.geosearch("g", longitude=15, latitude=37, radius=200, unit="km", sort="ASC")
        self.assertEqual(near, ["Catania", "Palermo"])
        box = r.geosearch(
            "g", member="Catania", width=10, height=10, unit="km", withdist=True, withcoord=True
        )
        self.assertEqual((box[0][0], box[0][1]), ("Catania", 0.0))
        self.assertEqual(r.geosearchstore("d", "g", member="Palermo", radius=1, unit="km"), 1)
