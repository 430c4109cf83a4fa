"""Live channels where they meet the rest of the server: the journal, reloads, metrics."""

import contextlib
import ctypes
import json
import os
import socket
import tempfile
import unittest
import urllib.error
import urllib.request

from harness.ports import free_port
from harness.replication import Client
from harness.server import PATIENCE_S, Server, beyond_redis, wait_until

CONFIG = {
    "client": {"insecure": True, "ping_interval": "3600s", "pong_timeout": "10s"},
    "channel": {
        "without_namespace": {
            "force_recovery": True, "history_size": 100, "history_ttl": "600s", "history_meta_ttl": "1h",
            "presence": True,
        },
        "namespaces": [{"name": "plain"}],
    },
    "http_stream": {"enabled": True},
    "http_api": {"key": "K"},
}


class Stream:
    """A client over an HTTP stream: everything that it is told, line by line."""

    def __init__(self, port, *commands):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        body = "\n".join(json.dumps(command) for command in ({"id": 1, "connect": {}}, *commands)).encode()
        head = f"POST /connection/http_stream HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self.socket.sendall(head.encode() + body)
        self.left = b""
        self.line(b"\r\n\r\n")
        self.connect = self.reply(1)["connect"]

    def line(self, end=b"\n"):
        while end not in self.left:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise EOFError
            self.left += piece
        line, _, self.left = self.left.partition(end)
        return line

    def next(self):
        return json.loads(self.line())

    def reply(self, number):
        while True:
            line = self.next()
            if line.get("id") == number:
                return line

    def publication(self):
        while True:
            pub = self.next().get("push", {}).get("pub")
            if pub is not None:
                return pub

    def close(self):
        self.socket.close()


def subscribe(channel, **since):
    return {"id": 2, "subscribe": {"channel": channel, **since}}


class Live:
    """A server with live channels."""

    def __init__(self, test, config, *options):
        self.dir = test.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.dir, "live.json")
        self.write(config)
        self.web = free_port()
        self.api_key = "K"
        self.options = ("--web-port", self.web, "--live-config", self.path, "--threads", "2", *options)
        self.server = test.enterContext(Server(*self.options))

    def write(self, config):
        text = config if isinstance(config, str) else json.dumps(config)
        with open(self.path + ".new", "w") as file:
            file.write(text)
        os.replace(self.path + ".new", self.path)

    def api(self, method, **body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.web}/api/{method}", json.dumps(body).encode(),
                                         {"X-API-Key": self.api_key})
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            return json.load(response)

    def subscriber(self, test, channel, **since):
        stream = Stream(self.web, subscribe(channel, **since))
        test.addCleanup(stream.close)
        stream.subscribed = stream.reply(2)
        return stream

    def client(self):
        return Client(self.server.port)


class Stopped:
    """One thread of a process that does not run for a while."""

    SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17

    def __init__(self, process, name):
        tasks = f"/proc/{process.pid}/task"
        for task in os.listdir(tasks):
            # Another thread may end meanwhile.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"{tasks}/{task}/comm") as comm:
                if comm.read().strip() == name:
                    self.thread = int(task)
        self.libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(self, request):
        if self.libc.ptrace(request, self.thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        try:
            self.ptrace(self.SEIZE)
        except OSError as e:
            raise unittest.SkipTest(f"threads cannot be stopped here: {e}") from e
        self.ptrace(self.INTERRUPT)
        os.waitpid(self.thread, 0x40000000)

    def __exit__(self, *_):
        self.ptrace(self.DETACH)


@beyond_redis
class Journaled(unittest.TestCase):
    def test_pushes_wait_for_the_journal(self):
        live = Live(self, CONFIG, "--appendonly", "yes", "--appendfsync", "always")
        subscribers = [live.subscriber(self, "news") for _ in range(4)]
        plain = live.subscriber(self, "plain:a")
        with live.client() as c:
            self.assertEqual(c("LIVE.PUBLISH", "news", "1")[0], 1)
            for subscriber in subscribers:
                self.assertEqual(subscriber.publication()["offset"], 1)
            with Stopped(live.server.process, "apus-journal"):
                c.send(b"*3\r\n$12\r\nLIVE.PUBLISH\r\n$4\r\nnews\r\n$1\r\n2\r\n")
                for subscriber in subscribers:
                    subscriber.socket.settimeout(0.3)
                    with self.assertRaises(TimeoutError):
                        subscriber.next()
                    subscriber.socket.settimeout(PATIENCE_S)
            self.assertEqual(c.reply()[0], 2)
            for subscriber in subscribers:
                self.assertEqual(subscriber.publication()["offset"], 2)
            live.api("publish", channel="plain:a", data=3)
            self.assertEqual(plain.publication()["data"], 3)

    def test_in_transactions_and_scripts_in_one_order(self):
        live = Live(self, CONFIG, "--appendonly", "yes", "--appendfsync", "always")
        subscriber = live.subscriber(self, "news")
        with live.client() as c:
            c("MULTI")
            c("LIVE.PUBLISH", "news", "1")
            c("SET", "k", "v")
            c("LIVE.PUBLISH", "news", "2")
            replies = c("EXEC")
            self.assertEqual([replies[0][0], replies[2][0]], [1, 2])
            script = "redis.call('live.publish', 'news', '3') return redis.call('live.publish', 'news', '4')[1]"
            self.assertEqual(c("EVAL", script, "0"), 4)
            self.assertEqual([subscriber.publication()["offset"] for _ in range(4)], [1, 2, 3, 4])
            # What is thrown away is not told.
            c("MULTI")
            c("LIVE.PUBLISH", "news", "5")
            c("DISCARD")
            c("LIVE.PUBLISH", "news", "6")
            self.assertEqual(subscriber.publication()["data"], 6)

    def test_functions_publish_and_decide(self):
        config = {**CONFIG, "channel": {**CONFIG["channel"], "proxy": {
            "publish": {"endpoint": "function:decide"}}}}
        config["channel"]["without_namespace"] = {
            **CONFIG["channel"]["without_namespace"], "publish_proxy_enabled": True}
        live = Live(self, config)
        code = """#!lua name=live
redis.register_function('decide', function(keys, args)
  local asked = cjson.decode(args[2])
  if asked.data == 'bad' then return '{"error": {"code": 1000, "message": "no"}}' end
  redis.call('live.publish', 'plain:log', cjson.encode(asked.data))
  return '{"result": {}}'
end)
redis.register_function('tell', function(keys, args) return redis.call('live.publish', 'news', args[1])[1] end)
"""
        with live.client() as c:
            self.assertEqual(c("FUNCTION", "LOAD", code), b"live")
            log = live.subscriber(self, "plain:log")
            subscriber = live.subscriber(self, "news")
            self.assertEqual(c("FCALL", "tell", "0", "1"), 1)
            self.assertEqual(subscriber.publication()["offset"], 1)
            stream = Stream(live.web, subscribe("news"),
                            {"id": 3, "publish": {"channel": "news", "data": "bad"}},
                            {"id": 4, "publish": {"channel": "news", "data": "good"}})
            self.addCleanup(stream.close)
            self.assertEqual(stream.reply(3)["error"]["code"], 1000)
            self.assertEqual(stream.reply(4)["publish"], {})
            self.assertEqual(subscriber.publication()["data"], "good")
            self.assertEqual(log.publication()["data"], "good")


@beyond_redis
class Reloaded(unittest.TestCase):
    def test_new_options_hold_and_connections_stay(self):
        live = Live(self, CONFIG)
        subscriber = live.subscriber(self, "news")
        with self.assertRaises(urllib.error.HTTPError):
            live.api_key = "L"
            live.api("info")
        live.api_key = "K"
        config = {**CONFIG, "http_api": {"key": "L"}, "channel": {
            **CONFIG["channel"], "namespaces": [{"name": "plain"}, {"name": "fresh", "publish_from_resp": "json"}]}}
        self.assertEqual(live.api("publish", channel="fresh:a", data=1)["error"]["code"], 102)
        # By itself, when the file changes.
        live.write(config)
        live.server.wait_for_log("the options are in service")
        live.api_key = "L"
        self.assertEqual(live.api("publish", channel="fresh:a", data=1)["result"], {})
        self.assertEqual(live.api("publish", channel="news", data=2)["result"]["offset"], 1)
        self.assertEqual(subscriber.publication()["data"], 2)

        # A broken file changes nothing.
        for broken, why in [("{", "not JSON"), ('{"cleint": {}}', "cleint"), ('{"client": {"ping_interval": 7}}', "ping_interval")]:
            live.write(broken)
            live.server.wait_for_log("the options stay as they were")
            with live.client() as c:
                refused = str(c("CONFIG", "SET", "live-config", live.path))
                self.assertIn(why, refused)
                self.assertIn(live.path, refused)
            self.assertEqual(live.api("publish", channel="fresh:a", data=3)["result"], {})

        # By CONFIG SET: another file, and the same again.
        other = live.path + ".other"
        with open(other, "w") as file:
            json.dump({**config, "http_api": {"key": "M"}}, file)
        with live.client() as c:
            self.assertEqual(c("CONFIG", "SET", "live-config", other), b"OK")
            live.api_key = "M"
            self.assertEqual(live.api("publish", channel="news", data=4)["result"]["offset"], 2)
            self.assertEqual(subscriber.publication()["data"], 4)
            self.assertIn("restart", str(c("CONFIG", "SET", "live-config", "")))
            self.assertEqual(c("CONFIG", "GET", "live-config"), [b"live-config", other.encode()])
            self.assertEqual(c("CONFIG", "SET", "live-config", other), b"OK")

    def test_a_plain_publish_reaches_those_who_are_there(self):
        live = Live(self, CONFIG)
        subscriber = live.subscriber(self, "plain:a")
        with live.client() as c:
            c("PUBLISH", "plain:a", "1")
            config = {**CONFIG, "channel": {**CONFIG["channel"], "namespaces": [
                {"name": "plain", "publish_from_resp": "json"}]}}
            live.write(config)
            self.assertEqual(c("CONFIG", "SET", "live-config", live.path), b"OK")
            # Each thread follows in its next turn.
            wait_until(lambda: c("PUBLISH", "plain:a", "2") == 1, "the channel is followed")
            self.assertEqual(subscriber.publication()["data"], 2)

    def test_it_begins_with_a_start(self):
        with Server("--threads", "2") as server, Client(server.port) as c:
            self.assertIn("restart", str(c("CONFIG", "SET", "live-config", "/tmp/x")))
            self.assertEqual(c("CONFIG", "GET", "live-config"), [b"live-config", b""])


@beyond_redis
class Counted(unittest.TestCase):
    def metrics(self, port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as response:
            lines = response.read().decode().splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def test_by_namespace(self):
        admin = free_port()
        config = {**CONFIG, "prometheus": {"enabled": True}}
        live = Live(self, config, "--admin-port", admin)
        first, second = live.subscriber(self, "news"), live.subscriber(self, "news")
        plain = live.subscriber(self, "plain:a")
        for n in range(3):
            live.api("publish", channel="news", data=n)
        live.api("publish", channel="plain:a", data=1)
        plain.publication()
        for stream in (first, second):
            while stream.publication()["offset"] < 3:
                pass
        epoch = first.subscribed["subscribe"]["epoch"]
        again = live.subscriber(self, "news", recover=True, offset=1, epoch=epoch)
        self.assertTrue(again.subscribed["subscribe"]["recovered"])
        gone = live.subscriber(self, "news", recover=True, offset=1, epoch="gone")
        self.assertFalse(gone.subscribed["subscribe"].get("recovered", False))
        m = self.metrics(admin)
        self.assertEqual({k: v for k, v in m.items() if k.startswith("apus_live_")}, {
            "apus_live_connections": "5", "apus_live_users": "1", "apus_live_nodes": "1",
            "apus_live_connects_total": "5", "apus_live_slow_closes_total": "0",
            'apus_live_subscriptions{namespace=""}': "4", 'apus_live_subscriptions{namespace="plain"}': "1",
            'apus_live_channels{namespace=""}': "1", 'apus_live_channels{namespace="plain"}': "1",
            'apus_live_publications_total{namespace=""}': "3", 'apus_live_publications_total{namespace="plain"}': "1",
            'apus_live_deliveries_total{namespace=""}': "6", 'apus_live_deliveries_total{namespace="plain"}': "1",
            'apus_live_recoveries_total{namespace="",recovered="yes"}': "1",
            'apus_live_recoveries_total{namespace="",recovered="no"}': "1",
            'apus_live_recoveries_total{namespace="plain",recovered="yes"}': "0",
            'apus_live_recoveries_total{namespace="plain",recovered="no"}': "0",
        })
        self.assertEqual(m["centrifugo_node_num_clients"], "5")
        self.assertEqual(m['centrifugo_client_recover{recovered="yes",channel_namespace="",has_recovered_publications="yes"}'], "1")
        with live.client() as c:
            info = c("INFO", "live").decode()
        self.assertIn("live_namespace_:subscriptions=4,channels=1,published=3,delivered=6,recovered=1,not_recovered=1", info)
        live.write(CONFIG)
        live.server.wait_for_log("the options are in service")
        self.assertFalse([k for k in self.metrics(admin) if k.startswith("centrifugo_")])


if __name__ == "__main__":
    unittest.main()
