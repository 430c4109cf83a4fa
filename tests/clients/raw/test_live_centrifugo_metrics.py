"""Metrics under Centrifugo's names (`prometheus.enabled`): which there are, with which labels, and what they count.

FAMILIES is what the metrics.go of centrifuge 0.38 and of Centrifugo 6 declare, by name and labels. A board that is written
for Centrifugo finds each of those here, or one of the reasons of MISSING, which docs/live.md gives, too."""

import os
import re
import unittest
import urllib.request

from harness.live import OPEN, Gone, HttpStream, Live, Sse, UniSse
from harness.ports import free_port
from harness.replication import Client
from harness.server import PATIENCE_S, beyond_redis, wait_until

REPOSITORY = os.path.join(os.path.dirname(__file__), "..", "..", "..")

PROXY, API, NAMESPACE = {"protocol", "type", "name"}, {"protocol", "method"}, {"channel_namespace"}
MESSAGES = {"transport", "frame_type", "channel_namespace"}
CONNECTIONS = {"transport", "accept_protocol", "client_name", "client_version"}

# Type and labels.
FAMILIES = {
    "node_messages_sent_count": ("counter", {"type"} | NAMESPACE),
    "node_messages_received_count": ("counter", {"type"} | NAMESPACE),
    "node_action_count": ("counter", {"action"} | NAMESPACE),
    "node_num_clients": ("gauge", set()),
    "node_num_users": ("gauge", set()),
    "node_num_subscriptions": ("gauge", set()),
    "node_num_nodes": ("gauge", set()),
    "node_num_channels": ("gauge", set()),
    "node_build": ("gauge", {"version"}),
    "node_survey_duration_seconds": ("summary", {"op"}),
    "node_survey_duration_seconds_histogram": ("histogram", {"op"}),
    "node_tags_filter_dropped_publications": ("counter", NAMESPACE),
    "node_pub_sub_lag_seconds": ("histogram", set()),
    "node_broadcast_duration_seconds": ("histogram", {"type"} | NAMESPACE),
    "node_client_connection_limit": ("counter", set()),
    "node_incoming_http_requests_total": ("counter", {"path", "method", "status"}),
    "client_command_duration_seconds": ("summary", {"method"} | NAMESPACE),
    "client_command_duration_seconds_histogram": ("histogram", {"method"} | NAMESPACE),
    "client_num_reply_errors": ("counter", {"method", "code"} | NAMESPACE),
    "client_num_server_unsubscribes": ("counter", {"code"} | NAMESPACE),
    "client_num_server_disconnects": ("counter", {"code"}),
    "client_recover": ("counter", {"recovered", "has_recovered_publications"} | NAMESPACE),
    "client_recovered_publications": ("histogram", NAMESPACE),
    "client_ping_pong_duration_seconds": ("histogram", {"transport"}),
    "client_connections_accepted": ("counter", CONNECTIONS),
    "client_connections_inflight": ("gauge", CONNECTIONS),
    "client_subscriptions_accepted": ("counter", {"client_name"} | NAMESPACE),
    "client_subscriptions_inflight": ("gauge", {"client_name"} | NAMESPACE),
    "transport_messages_sent": ("counter", MESSAGES),
    "transport_messages_sent_size": ("counter", MESSAGES),
    "transport_messages_received": ("counter", MESSAGES),
    "transport_messages_received_size": ("counter", MESSAGES),
    "transport_outgoing_close_count": ("counter", {"transport", "code"}),
    "transport_frame_size": ("histogram", {"transport"}),
    "broker_redis_pub_sub_errors": ("counter", {"broker_name", "error"}),
    "broker_redis_pub_sub_dropped_messages": ("counter", {"broker_name", "channel_type"}),
    "broker_redis_pub_sub_buffered_messages": ("gauge", {"broker_name", "channel_type", "pub_sub_processor"}),
    "proxy_duration_seconds": ("summary", PROXY),
    "proxy_duration_seconds_histogram": ("histogram", PROXY),
    "proxy_errors": ("counter", PROXY),
    "proxy_inflight_requests": ("gauge", PROXY),
    "api_command_errors_total": ("counter", API | {"error"}),
    "api_command_duration_seconds": ("summary", API),
    "api_command_duration_seconds_histogram": ("histogram", API),
    "api_rpc_duration_seconds": ("summary", API),
    "api_rpc_duration_seconds_histogram": ("histogram", API),
    "consumers_messages_processed_total": ("counter", {"consumer_name"}),
    "consumers_errors_total": ("counter", {"consumer_name"}),
    "shared_poll_proxy_request_items": ("histogram", {"name"}),
    "shared_poll_proxy_response_items": ("histogram", {"name"}),
    "broker_postgres_cleanup_removed_total": ("counter", {"broker_name", "pass"}),
    "broker_postgres_outbox_cursor_lag_seconds": ("gauge", {"broker_name", "shard"}),
    "map_broker_postgres_outbox_cursor_lag_seconds": ("gauge", {"broker_name", "shard"}),
    "broker_postgres_partitions": ("gauge", {"broker_name"}),
    "map_broker_postgres_partitions": ("gauge", {"broker_name"}),
}

MISSING = {
    "node_incoming_http_requests_total", "client_recovered_publications", "transport_outgoing_close_count",
    "transport_frame_size", "broker_redis_pub_sub_errors", "broker_redis_pub_sub_dropped_messages",
    "broker_redis_pub_sub_buffered_messages", "api_rpc_duration_seconds", "api_rpc_duration_seconds_histogram",
    "consumers_messages_processed_total", "consumers_errors_total", "shared_poll_proxy_request_items",
    "shared_poll_proxy_response_items", "broker_postgres_cleanup_removed_total",
    "broker_postgres_outbox_cursor_lag_seconds", "map_broker_postgres_outbox_cursor_lag_seconds",
    "broker_postgres_partitions", "map_broker_postgres_partitions",
}

FUNCTION = """#!lua name=live
redis.register_function('decide', function(keys, args) return '{"result": {}}' end)
"""

SAMPLE = re.compile(r'(\w+)(?:\{(.*)\})? (\S+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Page:
    """Types by family, and samples as name, labels and value."""

    def __init__(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        self.types, self.samples = {}, []
        for line in lines:
            if line.startswith("# TYPE centrifugo_"):
                name, kind = line.split(" ")[2:]
                assert name not in self.types, f"{name} is there twice"
                self.types[name.removeprefix("centrifugo_")] = kind
            elif line.startswith("centrifugo_"):
                name, labels, value = SAMPLE.fullmatch(line).groups()
                self.samples.append((name.removeprefix("centrifugo_"), dict(LABEL.findall(labels or "")), float(value)))

    def of(self, family):
        """The samples of a family, with their names."""
        parts = {"summary": {"", "_sum", "_count"}, "histogram": {"_bucket", "_sum", "_count"}}
        names = {family + part for part in parts.get(self.types[family], {""})}
        return [sample for sample in self.samples if sample[0] in names]

    def get(self, name, **labels):
        """The sum of the samples with these labels."""
        return sum(value for known, has, value in self.samples if known == name and labels.items() <= has.items())


@beyond_redis
class Metrics(unittest.TestCase):
    def serve(self, *options, **more):
        admin = free_port()
        more.setdefault("namespaces", {"ch": {"history_size": 9, "history_ttl": "60s", "force_recovery": True, "presence": True,
                                              "join_leave": True, "force_push_join_leave": True, "allow_tags_filter": True}})
        live = Live("--admin-port", admin, "--threads", 2, *options, prometheus={"enabled": True}, **more)
        self.addCleanup(live.__exit__)
        live.page = lambda: Page(admin)
        return live

    def client(self, live, **request):
        c = live.client(connect=False)
        self.addCleanup(c.close)
        return c.hello(**request)

    def busy(self):
        """A server at which everything has happened that makes a family of metrics."""
        ch = {"history_size": 9, "history_ttl": "60s", "force_recovery": True, "presence": True, "join_leave": True,
              "force_push_join_leave": True, "allow_tags_filter": True}
        live = self.serve(
            channel={
                "namespaces": [{**OPEN, "name": "ch", **ch}, {**OPEN, "name": "asked", "publish_proxy_enabled": True}],
                "proxy": {"publish": {"endpoint": "function:decide"}},
            },
            client={"ping_interval": "1s", "pong_timeout": "500ms"},
        )
        with Client(live.server.port) as c:
            c("FUNCTION", "LOAD", FUNCTION)
        return live

    def test_all_families_with_their_labels(self):
        live = self.busy()
        first, second = self.client(live, name="js", version="5"), self.client(live)
        first.call("subscribe", channel="ch:a", tf={"op": "eq", "key": "k", "val": "v", "cmp": "eq"})
        second.call("subscribe", channel="ch:a")
        self.assertEqual(first.call("publish", channel="asked:a", data=1), {})
        self.assertEqual(first.call("publish", channel="none:a", data=1)["code"], 102)
        live.publish("ch:a", 1)
        live.answer("publish", channel="none:a", data=1)
        live.api("unsubscribe", channel="ch:a", user="")
        live.api("disconnect", user="", whitelist=[first.connected["client"]])
        second.ended()
        wait_until(lambda: first.call("presence", channel="ch:a") and "client_ping_pong_duration_seconds" in live.page().types
                   and live.page().get("client_ping_pong_duration_seconds_count"), "a ping is answered")
        page = live.page()
        expected = {name: kind for name, (kind, _) in FAMILIES.items() if name not in MISSING}
        # A survey needs another server.
        surveys = {"node_survey_duration_seconds", "node_survey_duration_seconds_histogram"}
        self.assertEqual(page.types, {name: kind for name, kind in expected.items() if name not in surveys})
        for family in page.types:
            samples = page.of(family)
            self.assertTrue(samples, family)
            for name, labels, _ in samples:
                extra = {"summary": {"quantile"} if name == family else set(),
                         "histogram": {"le"} if name.endswith("_bucket") else set()}
                want = FAMILIES[family][1] | extra.get(page.types[family], set())
                self.assertEqual(set(labels), want, name)
        all_samples = [(name, tuple(sorted(labels.items()))) for name, labels, _ in page.samples]
        self.assertEqual(len(all_samples), len(set(all_samples)), "a sample is there twice")

    def test_a_survey_is_timed(self):
        first = self.serve()
        other = Live("--threads", 1, "--live-broker", f"redis://127.0.0.1:{first.server.port}",
                     namespaces={"ch": {}})
        self.addCleanup(other.__exit__)
        wait_until(lambda: len(first.api("info")["nodes"]) == 2, "the servers know each other")
        first.api("channels")
        page = first.page()
        self.assertEqual(page.get("node_survey_duration_seconds_count", op="channels"), 1)
        self.assertEqual(page.get("node_survey_duration_seconds_histogram_bucket", op="channels", le="+Inf"), 1)
        self.assertEqual(page.get("node_action_count", action="survey"), 1)
        self.assertEqual(page.get("api_command_duration_seconds_count", method="channels"), 1)
        self.assertGreater(page.get("node_messages_sent_count", type="control"), 0)
        self.assertGreater(page.get("node_messages_received_count", type="control"), 0)

    def test_the_documentation_says_what_is_missing(self):
        with open(os.path.join(REPOSITORY, "docs", "live.md"), encoding="utf-8") as f:
            text = f.read()
        for name in MISSING:
            self.assertTrue(f"`centrifugo_{name}`" in text, name)
        for name in FAMILIES.keys() - MISSING:
            self.assertTrue(f"`centrifugo_{name.removesuffix('_histogram')}`" in text, name)

    def test_messages_by_transport(self):
        live = self.serve()
        sockets = [self.client(live, name="js") for _ in range(2)]
        for c in sockets:
            c.call("subscribe", channel="ch:a")
        sse = Sse(live.port, {})
        self.addCleanup(sse.close)
        while "connect" not in sse.message():
            pass
        sse.commands({"subscribe": {"channel": "ch:a"}})
        while "subscribe" not in sse.message():
            pass
        uni = UniSse(live.port, {"subs": {"ch:a": {}}})
        self.addCleanup(uni.close)
        while "connect" not in uni.message():
            pass
        live.publish("ch:a", "x" * 1000)
        while "pub" not in sse.push():
            pass
        page = live.page()
        get = lambda name, **labels: page.get(f"transport_messages_{name}", **labels)
        pushed = {"frame_type": "push_publication", "channel_namespace": "ch"}
        self.assertEqual(get("sent", transport="websocket", **pushed), 2)
        self.assertEqual(get("sent", transport="sse", **pushed), 1)
        self.assertTrue(2000 < get("sent_size", transport="websocket", **pushed) < 2300)
        self.assertEqual(get("sent", transport="websocket", frame_type="connect"), 2)
        self.assertEqual(get("sent", transport="uni_sse", frame_type="push_connect"), 1)
        self.assertEqual(get("received", transport="websocket", frame_type="subscribe"), 2)
        self.assertEqual(get("received", transport="sse", frame_type="connect"), 1)
        self.assertEqual(get("received", transport="sse", frame_type="subscribe"), 1)
        self.assertEqual(get("received_size", transport="websocket", frame_type="subscribe"),
                         2 * len('{"subscribe": {"channel": "ch:a"}, "id": 2}'))
        # Each has seen those who came behind it.
        self.assertGreater(get("sent", transport="websocket", frame_type="push_join", channel_namespace="ch"), 0)

    def test_connections_and_subscriptions_come_and_go(self):
        live = self.serve()
        named, unnamed = self.client(live, name="js", version="5"), self.client(live)
        named.call("subscribe", channel="ch:a")
        unnamed.call("subscribe", channel="ch:a")
        told = {"client_name": "unregistered"}
        page = live.page()
        self.assertEqual(page.get("client_connections_inflight", client_version="unregistered", **told), 1)
        self.assertEqual(page.get("client_connections_inflight", client_name="", client_version=""), 1)
        self.assertEqual(page.get("client_subscriptions_inflight", channel_namespace="ch", **told), 1)
        self.assertEqual(page.get("node_action_count", action="add_subscription", channel_namespace="ch"), 2)
        named.close()
        wait_until(lambda: live.page().get("client_connections_inflight") == 1, "one connection is left")
        page = live.page()
        self.assertEqual(page.get("client_connections_accepted", **told), 1)
        self.assertEqual(page.get("client_connections_inflight", **told), 0)
        self.assertEqual(page.get("client_subscriptions_accepted", **told), 1)
        self.assertEqual(page.get("client_subscriptions_inflight", **told), 0)
        for action, n in [("add_client", 2), ("remove_client", 1), ("remove_subscription", 1), ("add_presence", 2),
                          ("remove_presence", 1), ("history_stream_top", 2)]:
            self.assertEqual(page.get("node_action_count", action=action), n, action)
        self.assertEqual(page.get("node_messages_sent_count", type="leave"), 1)

    def test_commands_errors_and_ends(self):
        live = self.serve(client={"allow_anonymous_connect_without_token": True, "channel_limit": 1})
        c = self.client(live)
        c.call("subscribe", channel="ch:a")
        for _ in range(3):
            c.call("history", channel="ch:a", limit=1)
        self.assertEqual(c.call("subscribe", channel="ch:b")["code"], 106)
        live.api("unsubscribe", channel="ch:a", user="")
        while "unsubscribe" not in c.push():
            pass
        live.api("disconnect", user="", disconnect={"code": 4321, "reason": "x"})
        self.assertEqual(c.ended()[0], 4321)
        page = live.page()
        command = lambda method, what="count": page.get(f"client_command_duration_seconds_{what}", method=method)
        self.assertEqual((command("connect"), command("history"), command("subscribe")), (1, 3, 2))
        self.assertTrue(0 < command("history", "sum") < 3)
        quantile = page.get("client_command_duration_seconds", method="history", quantile="0.99")
        self.assertTrue(0 < quantile < 3, quantile)
        self.assertEqual(page.get("client_command_duration_seconds_histogram_bucket", method="history", le="+Inf"), 3)
        self.assertEqual(page.get("client_num_reply_errors", method="subscribe", code="106", channel_namespace="ch"), 1)
        self.assertEqual(page.get("client_num_server_unsubscribes", code="2000", channel_namespace="ch"), 1)
        self.assertEqual(page.get("client_num_server_disconnects", code="4321"), 1)

    def test_recoveries_say_whether_there_was_something(self):
        live = self.serve()
        live.publish("ch:a", 1)
        epoch = live.publish("ch:a", 2)["epoch"]
        for offset in [1, 2, 0, 2]:
            self.client(live).call("subscribe", channel="ch:a", recover=True, offset=offset, epoch=epoch)
        self.client(live).call("subscribe", channel="ch:a", recover=True, offset=1, epoch="gone")
        page = live.page()
        count = lambda recovered, some: page.get("client_recover", recovered=recovered, has_recovered_publications=some)
        self.assertEqual((count("yes", "yes"), count("yes", "no"), count("no", "no")), (2, 2, 1))

    def test_the_api_is_timed_over_both_protocols(self):
        live = self.serve()
        live.publish("ch:a", 1)
        live.api("info")
        self.assertEqual(live.answer("publish", channel="none:a", data=1)["error"]["code"], 102)
        with Client(live.server.port) as c:
            c("LIVE.PUBLISH", "ch:a", "1")
        page = live.page()
        requests = lambda **labels: page.get("api_command_duration_seconds_count", **labels)
        self.assertEqual(requests(protocol="http", method="publish"), 2)
        self.assertEqual(requests(protocol="http", method="info"), 1)
        self.assertEqual(requests(protocol="resp", method="publish"), 1)
        self.assertEqual(page.get("api_command_errors_total", protocol="http", method="publish", error="102"), 1)

    def test_with_a_broker_commands_are_timed_to_their_replies(self):
        broker = Live("--threads", 1)
        self.addCleanup(broker.__exit__)
        live = self.serve("--live-broker", f"redis://127.0.0.1:{broker.server.port}")
        wait_until(lambda: "result" in live.answer("presence", channel="ch:a"), "the broker is reached")
        c = self.client(live)
        c.call("subscribe", channel="ch:a")
        c.call("publish", channel="ch:a", data=1)
        live.publish("ch:a", 2)
        page = live.page()
        for method in ["subscribe", "publish"]:
            self.assertEqual(page.get("client_command_duration_seconds_count", method=method), 1, method)
        self.assertEqual(page.get("api_command_duration_seconds_count", method="publish"), 1)

    def test_refused_connections_are_counted(self):
        live = self.serve(client={"allow_anonymous_connect_without_token": True, "connection_limit": 1})
        self.client(live)
        with self.assertRaises(Gone):
            live.client()
        self.assertEqual(live.page().get("node_client_connection_limit"), 1)

    def test_without_the_option_there_is_none(self):
        admin = free_port()
        with Live("--admin-port", admin) as live:
            stream = HttpStream(live.port, {})
            stream.message()
            stream.close()
            self.assertEqual(Page(admin).types, {})


if __name__ == "__main__":
    unittest.main()
