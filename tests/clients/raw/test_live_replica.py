"""Live channels on a replica."""

import unittest

from harness.live import TRANSPORTS, Live, api, subscribe
from harness.replication import Client, Error, caught_up
from harness.server import beyond_redis, wait_until

KEPT = {"history_size": 100, "history_ttl": "60s", "force_recovery": True}


def publication(c):
    """The next publication: what it holds."""
    while True:
        message = c.message()
        if "pub" in message:
            return message["pub"]


class Pair:
    """A primary and its replica, with the same configuration."""

    def __init__(self, **namespaces):
        self.primary = Live(namespaces=namespaces)
        self.replica = Live("--replicaof", f"127.0.0.1 {self.primary.server.port}", namespaces=namespaces)
        self.follow()

    def follow(self):
        with Client(self.replica.server.port) as r:
            wait_until(lambda: r.info()["master_link_status"] == "up", "the replica follows")
        self.settle()

    def settle(self):
        ports = self.primary.server.port, self.replica.server.port
        wait_until(lambda: caught_up(*ports), "the replica has everything")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.replica.__exit__()
        self.primary.__exit__()


@beyond_redis
class TestReplica(unittest.TestCase):
    def test_what_is_published_at_the_primary_reaches_the_replicas_subscribers(self):
        with Pair(ch=KEPT, now={}) as pair:
            for name in TRANSPORTS:
                kept, now = f"ch:{name}", f"now:{name}"
                first = pair.primary.publish(kept, 1)
                pair.settle()
                c, result = subscribe(name, pair.replica.port, kept)
                self.assertEqual((result["offset"], result["epoch"]), (1, first["epoch"]), name)
                other, _ = subscribe(name, pair.replica.port, now)
                for n in [2, 3]:
                    pair.primary.publish(kept, n)
                self.assertEqual([publication(c) for _ in range(2)], [{"data": n, "offset": n} for n in [2, 3]], name)
                pair.primary.publish(now, "now")
                self.assertEqual(publication(other), {"data": "now"}, name)
                for port in [pair.replica.port, pair.primary.port]:
                    again, result = subscribe(name, port, kept, (1, first["epoch"]))
                    self.assertEqual((result["recovered"], len(result["publications"])), (True, 2), name)
                    again.close()
                c.close()
                other.close()

    def test_a_channel_without_a_history_gets_its_epoch_from_the_primary(self):
        with Pair(ch=KEPT) as pair, pair.replica.client() as c:
            result = c.call("subscribe", channel="ch:new")
            self.assertEqual((result.get("offset", 0), result.get("epoch", "")), (0, ""))
            epoch = pair.primary.publish("ch:new", 1)["epoch"]
            self.assertEqual(c.push()["unsubscribe"]["code"], 2500)
            result = c.call("subscribe", channel="ch:new", recover=True)
            self.assertEqual((result["recovered"], result["epoch"]), (True, epoch))
            self.assertEqual([p["data"] for p in result["publications"]], [1])
            pair.primary.publish("ch:new", 2)
            self.assertEqual(c.publication(), {"data": 2, "offset": 2})

    def test_a_replica_does_not_publish(self):
        with Pair(ch=KEPT, now={}, seen={"presence": True}, told={"join_leave": True}) as pair, pair.replica.client() as c:
            with Client(pair.replica.server.port) as r, pair.primary.client() as there:
                there.call("subscribe", channel="seen:1")
                pair.settle()
                for channel in ["ch:1", "now:1"]:
                    c.call("subscribe", channel=channel)
                    error = c.call("publish", channel=channel, data=1)
                    self.assertEqual((error["code"], error["temporary"]), (100, True))
                    self.assertIn("replica", error["message"])
                    for method, body in [("publish", {"channel": channel}), ("broadcast", {"channels": [channel]})]:
                        error = api(pair.replica.port, method, {**body, "data": 1})["error"]
                        self.assertEqual(error["code"], 108)
                        self.assertIn("replica", error["message"])
                    self.assertTrue(str(r("LIVE.PUBLISH", channel, "1")).startswith("READONLY "))
                    self.assertIsInstance(r("EVAL", f"return redis.call('live.publish', '{channel}', '1')", 0), Error)
                for channel in ["seen:1", "told:1"]:
                    self.assertEqual(c.call("subscribe", channel=channel)["code"], 100, channel)
                self.assertEqual(len(c.call("presence", channel="seen:1")["presence"]), 1)
                self.assertEqual(pair.replica.api("presence_stats", channel="seen:1")["num_clients"], 1)
                self.assertEqual(pair.replica.api("history", channel="ch:1", limit=1).get("publications", []), [])
                r("REPLICAOF", "NO", "ONE")
            wait_until(lambda: c.call("publish", channel="now:1", data="free") == {}, "it may publish")
            self.assertEqual(c.before[-1]["push"]["pub"]["data"], "free")
            self.assertNotIn("code", c.call("subscribe", channel="seen:2"))


if __name__ == "__main__":
    unittest.main()
