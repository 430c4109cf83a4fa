"""Live channels: options that say what clients are told."""

import json
import unittest

from harness.live import Gone, Live, UniWebSocket, api, token
from harness.replication import Client
from harness.server import Server, beyond_redis, wait_until

KEPT = {"history_size": 10, "history_ttl": "60s"}


@beyond_redis
class TestOptions(unittest.TestCase):
    def test_codes_of_connections_in_one_direction_are_chosen(self):
        chosen = {"enabled": True, "transforms": [{"code": 109, "to": {"code": 4901, "reason": "too old"}}]}
        client = {"allow_anonymous_connect_without_token": False, "connect_code_to_unidirectional_disconnect": chosen}
        with Live(client=client) as live:
            self.assertEqual(self.refused(live, exp=1), (4901, "too old"))
        with Live(client={"allow_anonymous_connect_without_token": False}) as live:
            self.assertEqual(self.refused(live, exp=1)[0], 3005)

    @staticmethod
    def refused(live, **claims):
        with UniWebSocket(live.port, {"token": token(sub="u", **claims)}) as c:
            return c.ended()

    def test_the_environment_counts_more_than_the_file(self):
        variables = {
            "CENTRIFUGO_HTTP_API_KEY": "of the environment",
            "CENTRIFUGO_CHANNEL_NAMESPACES_CH_HISTORY_SIZE": "1",
            "CENTRIFUGO_CLIENT_PINGINTERVAL": "9s",
        }
        with Live(namespaces={"ch": KEPT}, env=variables) as live:
            with self.assertRaises(Gone) as refused:
                live.answer("info")
            self.assertEqual(refused.exception.code, 401)

            def publish(n):
                return api(live.port, "publish", {"channel": "ch:1", "data": n}, key="of the environment")

            for n in range(3):
                self.assertEqual(publish(n)["result"]["offset"], n + 1)
            with live.client() as c:
                self.assertEqual([p["data"] for p in c.call("history", channel="ch:1", limit=-1)["publications"]], [2])
            live.server.wait_for_log("CENTRIFUGO_CLIENT_PINGINTERVAL")
            # And a file that is read again is below it, too.
            with live.connect() as c:
                self.assertEqual(c.command("CONFIG", "SET", "live-config", live.file), b"+OK")
            self.assertEqual(publish(3)["result"]["offset"], 4)

    def test_a_bad_variable_stops_the_start(self):
        with self.assertRaises(AssertionError) as failed, Live(env={"CENTRIFUGO_CLIENT_PING_INTERVAL": "bad"}):
            pass
        for part in ["`client.ping_interval`", "CENTRIFUGO_CLIENT_PING_INTERVAL"]:
            self.assertIn(part, str(failed.exception))

    def test_keys_and_messages_have_the_prefix_of_the_configuration(self):
        redis = lambda prefix: {"enabled": True, "type": "redis", "redis": {"prefix": prefix}}
        more = {"engine": {"redis": {"prefix": "mine"}}, "presence_manager": redis("who")}
        with Live(namespaces={"ch": {**KEPT, "presence": True}}, **more) as live:
            self.has_prefixes(live, live.server, "mine", "who")
            # The keys of those who are there would be left behind.
            with open(live.file, encoding="utf-8") as f:
                config = json.load(f)
            config["engine"]["redis"]["prefix"] = "other"
            with open(live.file, "w", encoding="utf-8") as f:
                json.dump(config, f)
            with live.connect() as c:
                self.assertIn(b"restart", c.command("CONFIG", "SET", "live-config", live.file))

    def test_a_broker_has_the_same_prefix(self):
        redis = {"enabled": True, "type": "redis", "redis": {"prefix": "mine"}}
        with Server() as broker:
            url = f"redis://127.0.0.1:{broker.port}"
            namespaces = {"ch": {**KEPT, "presence": True}}
            with Live("--live-broker", url, namespaces=namespaces, broker=redis) as live:
                wait_until(lambda: self.reached(live), "the broker is reached")
                self.has_prefixes(live, broker, "mine", "mine")

    @staticmethod
    def reached(live):
        with Client(live.server.port) as c:
            return c.info("live")["live_broker_connected"] == "1"

    def has_prefixes(self, live, store, all, presence):
        with live.client() as c, Client(store.port) as r:
            c.call("subscribe", channel="ch:1")
            live.publish("ch:1", 1)
            self.assertEqual(c.publication()["data"], 1)
            wait_until(lambda: r("EXISTS", f"{presence}.presence.data.ch:1"), "it is in presence")
            keys = ["stream", "stream.meta"], ["presence.data", "presence.expire"]
            keys = [f"{all}.{kind}.ch:1" for kind in keys[0]] + [f"{presence}.{kind}.ch:1" for kind in keys[1]]
            self.assertEqual(sorted(k.decode() for k in r("KEYS", "*")), sorted(keys))
            # Another server publishes and tells.
            wait_until(lambda: r("PUBSUB", "NUMSUB", f"{all}.client.ch:1")[1] > 0, "it listens")
            r("PUBLISH", f"{all}.client.ch:1", f"__p1:2:{live.api('history', channel='ch:1')['epoch']}__".encode() + b"\x22\x01\x32")
            self.assertEqual(c.publication()["data"], 2)
            wait_until(lambda: r("PUBSUB", "NUMSUB", f"{all}.control")[1] > 0, "it listens to other servers")
            self.assertEqual(r("PUBSUB", "CHANNELS", "centrifugo*"), [])

    def test_joins_and_leaves_are_pushed_as_the_namespace_says(self):
        events = {"join_leave": True}
        with Live(namespaces={"on": {**events, "force_push_join_leave": True}, "ask": events, "off": {}}) as live, live.client() as c:
            asked = {"on:1": {}, "ask:1": {"join_leave": True}, "ask:2": {}, "off:1": {"join_leave": True}}
            for channel, more in asked.items():
                c.call("subscribe", channel=channel, **more)
            other = live.client()
            for channel in asked:
                other.call("subscribe", channel=channel)
            for channel in asked:
                live.publish(channel, "end")
            seen = {channel: [] for channel in asked}
            ends = 0
            while ends < len(asked):
                push = c.push()
                kind = next(kind for kind in ("pub", "join", "leave") if kind in push)
                seen[push["channel"]].append(kind)
                ends += kind == "pub"
            self.assertEqual(seen, {"on:1": ["join", "pub"], "ask:1": ["join", "pub"], "ask:2": ["pub"], "off:1": ["pub"]})
            other.close()
            self.assertEqual({c.push()["channel"] for _ in range(2)}, {"on:1", "ask:1"}, "leaves")


if __name__ == "__main__":
    unittest.main()
