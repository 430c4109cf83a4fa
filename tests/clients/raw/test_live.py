"""Live channels where they meet the rest of the server: the journal, reloads, metrics."""

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
        self.options = ("--web-port", self.web, "--live-config", self.path, "--threads", "2", *options)
        self.server = test.enterContext(Server(*self.options))

    def write(self, config):
        text = config if isinstance(config, str) else json.dumps(config)
        with open(self.path + ".new", "w") as file:
            file.write(text)
        os.replace(self.path + ".new", self.path)

    def api(self, method, **body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.web}/api/{method}", json.dumps(body).encode(),
                                         {"X-API-Key": "K"})
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
            with open(f"{tasks}/{task}/comm") as comm:
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


if __name__ == "__main__":
    unittest.main()
