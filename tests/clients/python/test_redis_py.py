"""redis-py, synchronous, over RESP2 and RESP3, against the whole binary."""

import os
import random
import unittest

import redis
from harness.server import PATIENCE_S, Server, wait_until


class Common:
    """The same tests for both protocols; the subclasses set `protocol`."""

    protocol = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--unixsocket", "apus.sock")
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.r = redis.Redis(port=self.server.port, protocol=self.protocol, socket_timeout=PATIENCE_S)
        self.addCleanup(self.r.close)
        self.r.flushall()

    def test_strings(self):
        r = self.r
        self.assertIs(r.set("k", "v"), True)
        self.assertEqual(r.get("k"), b"v")
        self.assertIsNone(r.get("nope"))
        self.assertIsNone(r.set("k", "w", nx=True))
        self.assertEqual(r.set("k", "w", get=True), b"v")
        self.assertEqual(r.append("k", "xyz"), 4)
        self.assertEqual(r.getrange("k", 1, -1), b"xyz")
        self.assertEqual(r.setrange("k", 6, "!"), 7)
        self.assertEqual(r.get("k"), b"wxyz\0\0!")
        self.assertEqual(r.strlen("k"), 7)
        self.assertEqual(r.getdel("k"), b"wxyz\0\0!")
        self.assertEqual(r.exists("k"), 0)
        self.assertIs(r.mset({"a": 1, "b": 2}), True)
        self.assertEqual(r.mget("a", "none", "b"), [b"1", None, b"2"])
        self.assertIs(r.msetnx({"b": 3, "c": 3}), False)
        self.assertEqual(r.incr("a"), 2)
        self.assertEqual(r.decrby("a", 5), -3)
        self.assertEqual(r.incrbyfloat("a", 0.5), -2.5)
        r.mset({"x": "ohmytext", "y": "mynewtext"})
        self.assertEqual(r.lcs("x", "y"), b"mytext")
        self.assertEqual(r.lcs("x", "y", len=True), 6)

    def test_every_byte_in_keys_and_values(self):
        every_byte = bytes(range(256))
        self.r.set(every_byte, every_byte[::-1])
        self.assertEqual(self.r.get(every_byte), every_byte[::-1])
        self.assertEqual(self.r.keys("*"), [every_byte])

    def test_expiry(self):
        r = self.r
        r.set("k", "v", ex=100)
        self.assertTrue(0 < r.ttl("k") <= 100)
        self.assertTrue(0 < r.pttl("k") <= 100_000)
        self.assertIs(r.expire("k", 50, gt=True), False)
        self.assertIs(r.expire("k", 200, gt=True), True)
        self.assertIs(r.persist("k"), True)
        self.assertEqual(r.ttl("k"), -1)
        self.assertEqual(r.ttl("nope"), -2)
        self.assertIs(r.expireat("k", 4_000_000_000), True)
        self.assertEqual(r.expiretime("k"), 4_000_000_000)
        self.assertEqual(r.getex("k", persist=True), b"v")
        r.set("short", "v", px=1)
        wait_until(lambda: r.get("short") is None, "a key of 1 ms expired")
        self.assertIs(r.pexpire("k", -1), True)
        self.assertEqual(r.dbsize(), 0)

    def test_generic(self):
        r = self.r
        r.mset({"a": 1, "b": 2})
        self.assertEqual(r.type("a"), b"string")
        self.assertEqual(r.object("encoding", "a"), b"int")
        self.assertEqual(r.touch("a", "b", "c"), 2)
        self.assertTrue(r.rename("a", "z"))
        self.assertIs(r.renamenx("z", "b"), False)
        self.assertIs(r.copy("z", "y"), True)
        self.assertIn(r.randomkey(), [b"b", b"y", b"z"])
        self.assertEqual(r.unlink("y"), 1)
        self.assertEqual(r.delete("b", "z"), 2)
        r.set("k", "v")
        self.assertTrue(r.move("k", 3))
        self.assertEqual(r.info("keyspace")["db3"]["keys"], 1)
        self.assertTrue(r.swapdb(0, 3))
        self.assertEqual(r.get("k"), b"v")

    def test_scan_finds_every_key(self):
        keys = {f"key:{i}" for i in range(10_000)}
        self.r.mset({key: 1 for key in keys})
        found = [key.decode() for key in self.r.scan_iter(count=100)]
        self.assertEqual(set(found), keys)
        some = set(self.r.scan_iter(match="key:999*"))
        self.assertEqual(some, {key.encode() for key in keys if key.startswith("key:999")})
        self.assertEqual(list(self.r.scan_iter(_type="list")), [])

    def test_scan_while_keys_come_and_go(self):
        stay = {b"stay:%d" % i for i in range(5_000)}
        self.r.mset({key: 1 for key in stay})
        found, cursor, n = set(), None, 0
        while cursor != 0:
            cursor, keys = self.r.scan(cursor or 0, count=50)
            found.update(keys)
            self.r.mset({f"new:{n + i}": 1 for i in range(300)})
            if n:
                self.r.delete(*[f"new:{n - 300 + i}" for i in range(100)])
            n += 300
            self.assertLess(n, 3_000_000, "the cursor never came back to 0")
        self.assertEqual(stay - found, set())

    def test_bits(self):
        r = self.r
        self.assertEqual(r.setbit("b", 7, 1), 0)
        self.assertEqual(r.getbit("b", 7), 1)
        r.set("s", "foobar")
        self.assertEqual(r.bitcount("s"), 26)
        self.assertEqual(r.bitcount("s", 5, 30, "BIT"), 17)
        self.assertEqual(r.bitpos("s", 0), 0)
        r.set("t", "abcdef")
        self.assertEqual(r.bitop("AND", "d", "s", "t"), 6)
        self.assertEqual(r.get("d"), b"`bc`ab")
        field = r.bitfield("f", default_overflow="SAT").set("u8", 0, 200).incrby("u8", 0, 100)
        self.assertEqual(field.get("u4", 0).execute(), [0, 255, 15])

    def test_pipeline_of_10_000_commands(self):
        pipe = self.r.pipeline(transaction=False)
        for i in range(5_000):
            pipe.set(f"k{i}", i)
            pipe.get(f"k{i}")
        replies = pipe.execute()
        self.assertEqual(replies[0::2], [True] * 5_000)
        self.assertEqual(replies[1::2], [b"%d" % i for i in range(5_000)])

    def test_pipeline_with_an_error_in_it(self):
        pipe = self.r.pipeline(transaction=False)
        pipe.set("k", "text").incr("k").get("k").execute_command("NOSUCH", "a")
        ok, error, value, unknown = pipe.execute(raise_on_error=False)
        self.assertIs(ok, True)
        self.assertIsInstance(error, redis.ResponseError)
        self.assertIn("value is not an integer or out of range", str(error))
        self.assertEqual(value, b"text")
        self.assertIn("unknown command 'NOSUCH', with args beginning with: 'a'", str(unknown))

    def test_value_of_20_mb(self):
        value = random.Random(1).randbytes(20_000_000)
        self.r.set("big", value)
        self.assertEqual(self.r.strlen("big"), len(value))
        self.assertTrue(self.r.get("big") == value, "20 MB came back changed")
        pipe = self.r.pipeline(transaction=False)
        pipe.get("big").echo("after").get("big")
        first, after, second = pipe.execute()
        self.assertTrue(first == value and second == value and after == b"after")

    def test_connection_and_clients(self):
        r = self.r
        self.assertTrue(r.ping())
        self.assertEqual(r.echo("hi"), b"hi")
        named = redis.Redis(
            port=self.server.port, protocol=self.protocol, client_name="tester", db=2
        )
        self.addCleanup(named.close)
        named.set("k", "v")
        info = named.client_info()
        self.assertEqual((info["name"], int(info["db"])), ("tester", 2))
        listed = [c for c in r.client_list() if c["name"] == "tester"]
        self.assertEqual([int(c["id"]) for c in listed], [named.client_id()])
        self.assertEqual(int(info["resp"]), self.protocol)
        self.assertEqual(r.client_getname(), None)
        self.assertEqual(r.client_kill_filter(_id=named.client_id()), 1)
        self.assertIsNone(r.get("k"))
        self.assertEqual(len(r.time()), 2)

    def test_info_and_config(self):
        r = self.r
        info = r.info()
        for name in ["redis_version", "connected_clients", "used_memory", "uptime_in_seconds"]:
            self.assertIn(name, info)
        self.assertEqual(info["tcp_port"], self.server.port)
        self.assertEqual(r.config_get("maxmemory-pol*"), {"maxmemory-policy": "noeviction"})
        self.assertTrue(r.config_set("maxmemory-policy", "allkeys-lru"))
        self.assertEqual(r.config_get("maxmemory-policy")["maxmemory-policy"], "allkeys-lru")
        self.assertTrue(r.config_set("maxmemory-policy", "noeviction"))
        with self.assertRaisesRegex(redis.ResponseError, "Unknown option|unsupported parameter"):
            r.config_set("no-such-option", "1")
        self.assertTrue(r.config_resetstat())

    def test_server_commands(self):
        r = self.r
        r.set("k", "x" * 100)
        self.assertGreater(r.memory_usage("k"), 100)
        self.assertGreater(r.command_count(), 50)
        # Text under RESP2 and bytes under RESP3: the client's doing.
        keys = r.command_getkeys("MSET", "k", "v", "l", "w")
        self.assertIn(keys, [["k", "l"], [b"k", b"l"]])
        self.assertIsInstance(r.slowlog_get(), list)
        self.assertIn("get", r.command())

    def test_unix_socket(self):
        path = os.path.join(self.server.dir, "apus.sock")
        r = redis.Redis(unix_socket_path=path, protocol=self.protocol)
        self.addCleanup(r.close)
        r.set("k", "v" * 100_000)
        self.assertEqual(self.r.get("k"), b"v" * 100_000)
        # Relative, as it was given to the server.
        self.assertEqual(r.client_info()["addr"], "apus.sock:0")


class Resp2(Common, unittest.TestCase):
    protocol = 2


class Resp3(Common, unittest.TestCase):
    protocol = 3

    def test_types_of_resp3(self):
        self.assertIsInstance(self.r.execute_command("CONFIG", "GET", "port"), dict)
        hello = self.r.execute_command("HELLO")
        self.assertEqual((hello[b"server"], hello[b"proto"]), (b"redis", 3))
