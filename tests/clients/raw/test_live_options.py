"""Live channels: options that say what clients are told."""

import unittest

from harness.live import Live, UniWebSocket, token
from harness.server import beyond_redis


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
