"""LIVE.* commands by name, alone, in transactions and in scripts, and functions that decide about every event."""

import json
import time
import unittest

from harness.live import OPEN, Live, WebSocket, token
from harness.replication import Client
from harness.server import beyond_redis, wait_until

HISTORY = {"history_size": 10, "history_ttl": "60s", "force_recovery": True, "presence": True}

DECIDES = """#!lua name=decides
redis.register_function('decide', function(keys, args)
  local asked = cjson.decode(args[2])
  redis.call('RPUSH', 'asked', args[1])
  if args[1] == 'subscribe' then
    if asked.channel == 'ch:closed' then return '{"error": {"code": 1001, "message": "closed"}}' end
    return '{"result": {"data": {"room": 7}, "expire_at": ' .. (redis.call('TIME')[1] + 2) .. '}}'
  end
  if args[1] == 'connect' then
    return '{"result": {"user": "42", "expire_at": ' .. (redis.call('TIME')[1] + 2) .. '}}'
  end
  local left = redis.call('DECR', args[1] .. ':left')
  if left < 0 then return '{"result": {"expired": true}}' end
  return '{"result": {"expire_at": ' .. (redis.call('TIME')[1] + 2) .. '}}'
end)
"""


@beyond_redis
class Commands(unittest.TestCase):
    def serve(self, **more):
        live = Live("--threads", 2, **more)
        self.addCleanup(live.__exit__)
        c = Client(live.server.port)
        self.addCleanup(c.close)
        return live, c

    def user(self, live, user="42"):
        c = WebSocket(live.port)
        self.addCleanup(c.close)
        return c.hello(token=token(sub=user))

    def through(self, c):
        """The ways to give a command, and what they make of its reply."""
        def multi(*args):
            self.assertEqual(c("MULTI"), b"OK")
            self.assertEqual(c(*args), b"QUEUED")
            return c("EXEC")[0]

        def script(*args):
            return c("EVAL", "return redis.call(unpack(ARGV))", 0, *args)

        return {"alone": c, "multi": multi, "eval": script}

    def test_connections_are_subscribed_and_ended(self):
        live, c = self.serve(namespaces={"ch": HISTORY})
        for way, run in self.through(c).items():
            with self.subTest(way):
                client = self.user(live)
                other = self.user(live, "43")
                self.assertEqual(run("LIVE.SUBSCRIBE", "ch:a", "USER", "42", "INFO", '{"n": 1}', "DATA", "[2]"), b"OK")
                push = client.push()
                self.assertEqual((push["channel"], push["subscribe"]["data"]), ("ch:a", [2]))
                run("LIVE.PUBLISH", "ch:a", "5")
                self.assertEqual(client.publication()["data"], 5)
                self.assertEqual(run("LIVE.UNSUBSCRIBE", "ch:a", "USER", "42"), b"OK")
                self.assertEqual(client.push()["unsubscribe"]["code"], 2000)
                # The options are those of each method: one client of the user, another code.
                second = self.user(live)
                self.assertEqual(run("LIVE.DISCONNECT", "USER", "42", "CODE", "4001", "REASON", "so", "EXCEPT",
                                     second.connected["client"]), b"OK")
                self.assertEqual(client.ended(), (4001, "so"))
                self.assertEqual(second.call("rpc", method="x")["code"], 104)
                self.assertEqual(other.call("rpc", method="x")["code"], 104)
                self.assertEqual(run("LIVE.REFRESH", "CLIENT", second.connected["client"], "USER", "42", "EXPIREAT",
                                     int(time.time()) + 100), b"OK")
                refreshed = second.push()["refresh"]
                self.assertTrue(refreshed["expires"] and 90 < refreshed["ttl"] <= 100, refreshed)
                self.assertEqual(run("LIVE.REFRESH", "USER", "42", "EXPIRED"), b"OK")
                self.assertEqual(second.ended()[0], 3005)

    def test_channels_are_read_and_histories_removed(self):
        live, c = self.serve(namespaces={"ch": HISTORY})
        client = self.user(live)
        for way, run in self.through(c).items():
            with self.subTest(way):
                channel = f"ch:{way}"
                self.assertIn("subscribe", json.loads(client.ask("subscribe", channel=channel)))
                for n in range(3):
                    offset, epoch = run("LIVE.PUBLISH", channel, n)
                self.assertEqual(offset, 3)
                there = json.loads(run("LIVE.PRESENCE", channel))["presence"]
                self.assertEqual([info["user"] for info in there.values()], ["42"])
                self.assertEqual(json.loads(run("LIVE.PRESENCE_STATS", channel)), {"num_clients": 1, "num_users": 1})
                self.assertEqual(json.loads(run("LIVE.CHANNELS", channel)), {"channels": {channel: {"num_clients": 1}}})
                node = json.loads(run("LIVE.INFO"))["nodes"][0]
                self.assertEqual((node["num_clients"], node["num_users"]), (1, 1))
                page = json.loads(run("LIVE.HISTORY", channel, "LIMIT", 2, "REVERSE"))
                self.assertEqual([p["data"] for p in page["publications"]], [2, 1])
                page = json.loads(run("LIVE.HISTORY", channel, "LIMIT", -1, "SINCE", 1, epoch))
                self.assertEqual([p["offset"] for p in page["publications"]], [2, 3])
                self.assertEqual(run("LIVE.HISTORY_REMOVE", channel), b"OK")
                page = json.loads(run("LIVE.HISTORY", channel, "LIMIT", -1))
                self.assertEqual((page.get("publications") or [], page["offset"]), ([], 3))
                self.assertEqual(json.loads(run("LIVE.BROADCAST", 2, channel, "none:a", 1))["responses"][1]["error"]["code"], 102)

    def test_a_transaction_publishes_together_or_not_at_all(self):
        live, c = self.serve(namespaces={"ch": HISTORY})
        client = self.user(live)
        client.call("subscribe", channel="ch:a")
        c("MULTI")
        c("SET", "k", "v")
        c("LIVE.PUBLISH", "ch:a", 1)
        c("DISCARD")
        c("MULTI")
        c("INCR", "n")
        c("LIVE.PUBLISH", "ch:a", 2)
        c("LIVE.HISTORY", "ch:a", "LIMIT", -1)
        replies = c("EXEC")
        self.assertEqual([p["data"] for p in json.loads(replies[2])["publications"]], [2])
        self.assertEqual(client.publication()["data"], 2)


@beyond_redis
class Functions(unittest.TestCase):
    def serve(self):
        proxy = {"endpoint": "function:decide"}
        live = Live(
            client={"proxy": {"connect": {"enabled": True, **proxy}, "refresh": {"enabled": True, **proxy}}},
            channel={
                "proxy": {"subscribe": proxy, "sub_refresh": proxy},
                "namespaces": [{**OPEN, "name": "ch", "subscribe_proxy_enabled": True, "sub_refresh_proxy_enabled": True}],
            })
        self.addCleanup(live.__exit__)
        c = Client(live.server.port)
        self.addCleanup(c.close)
        self.assertEqual(c("FUNCTION", "LOAD", DECIDES), b"decides")
        return live, c

    def test_a_function_decides_who_subscribes_and_how_long(self):
        live, c = self.serve()
        c("MSET", "refresh:left", 100, "sub_refresh:left", 1)
        with live.client() as client:
            self.assertEqual(client.call("subscribe", channel="ch:closed"), {"code": 1001, "message": "closed"})
            self.assertEqual(client.call("subscribe", channel="ch:a")["data"], {"room": 7})
            # It is refreshed once, and then it is over.
            self.assertEqual(client.push()["unsubscribe"]["code"], 2501)
        asked = c("LRANGE", "asked", 0, -1)
        self.assertEqual(asked.count(b"sub_refresh"), 2)
        self.assertEqual(asked.count(b"subscribe"), 2)

    def test_a_function_decides_how_long_a_connection_lives(self):
        live, c = self.serve()
        c("SET", "refresh:left", 1)
        with live.client() as client:
            self.assertEqual(client.ended()[0], 3005)
        wait_until(lambda: c("LRANGE", "asked", 0, -1) == [b"connect", b"refresh", b"refresh"], "it was asked twice")


if __name__ == "__main__":
    unittest.main()
