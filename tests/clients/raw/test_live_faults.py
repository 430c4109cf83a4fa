"""Live channels when something is wrong: tokens, origins, data that would break a frame, clients that do not read, servers
that are killed. And `apus bench live`, which would tell of gaps and duplicates."""

import json
import os
import socket
import subprocess
import sys
import time
import unittest

from harness import live as harness
from harness.live import TRANSPORTS, Gone, WebSocket, part, subscribe, token
from harness.server import BINARY, beyond_redis

SOAK = os.path.join(os.path.dirname(__file__), "..", "..", "soak")
NAMESPACES = {"hist": {"history_size": 1000, "history_ttl": "300s", "force_recovery": True}, "plain": {}}


class Live(harness.Live):
    """A server with channels that everybody may use, unless `changes` say otherwise."""

    def __init__(self, *options, **changes):
        super().__init__(*options, namespaces=NAMESPACES, **changes)


def connecting(port, **connect):
    """The result of a connect command, or the code of what is wrong with it."""
    try:
        c = WebSocket(port, connect)
        message = c.message()
        c.close()
        return message.get("error", {}).get("code") or message["connect"]
    except Gone as gone:
        return gone.code


@beyond_redis
class TestLiveFaults(unittest.TestCase):
    def test_tokens(self):
        strict = {"client": {
            "allow_anonymous_connect_without_token": False,
            "token": {"hmac_secret_key": "secret", "audience": "here", "issuer": "us"},
        }}
        now = int(time.time())
        good = {"sub": "42", "aud": "here", "iss": "us", "exp": now + 100}
        with Live(**strict) as live:
            self.assertTrue(connecting(live.port, token=token(good))["expires"])
            for what, text, code in [
                ("none", "", 3501),
                ("no token", "x", 3500),
                ("of another key", token(good, key=b"other"), 3500),
                ("expired", token({**good, "exp": now - 100}), 109),
                ("not yet", token({**good, "nbf": now + 100}), 109),
                ("of another audience", token({**good, "aud": "there"}), 3500),
                ("of another issuer", token({**good, "iss": "them"}), 3500),
                ("without an audience", token({k: v for k, v in good.items() if k != "aud"}), 3500),
                ("for another algorithm", token(good, header={"alg": "HS512", "typ": "JWT"}), 3500),
                ("for a public key", token(good, header={"alg": "RS256", "typ": "JWT"}), 3500),
                ("unsigned", token(good, header={"alg": "none"}), 3500),
                ("unsigned, without a signature", token(good, header={"alg": "none"}).rsplit(".", 1)[0] + ".", 3500),
                ("with claims that are no JSON", token(good).split(".")[0] + "." + part(b"{") + ".x", 3500),
                ("with the channel of a subscription's token", token({**good, "channel": "hist:1"}), 3500),
            ]:
                self.assertEqual(connecting(live.port, token=text), code, what)

    def test_ends_that_the_server_wants(self):
        """The close codes, each after what it stands for."""
        quick = {"ping_interval": "1s", "pong_timeout": "500ms", "stale_close_delay": "300ms", "channel_limit": 2}
        with Live(client={"allow_anonymous_connect_without_token": True, "allowed_origins": ["http://good"],
                          "token": {"hmac_secret_key": "secret"}, **quick}) as live:
            self.assertEqual(WebSocket(live.port).ended()[0], 3502, "without a connect command")
            with WebSocket(live.port, pongs=False) as c:
                c.hello()
                self.assertEqual(c.ended()[0], 3012, "a ping is not answered")
            text = token({"sub": "42", "channels": ["plain:1", "plain:2", "plain:3"]})
            self.assertEqual(connecting(live.port, token=text), 3505, "more channels of the server than permitted")
            with WebSocket(live.port) as c:
                c.hello()
                for channel, code in [("plain:1", None), ("plain:2", None), ("plain:3", 106)]:
                    self.assertEqual(c.call("subscribe", channel=channel).get("code"), code, channel)
                c.send({"send": {"data": {}}})
                self.assertEqual(c.ended()[0], 3508, "no handler takes messages")
            with WebSocket(live.port) as c, live.connect() as resp:
                c.hello()
                resp.send(b"SHUTDOWN NOSAVE\r\n")
                self.assertEqual(c.ended()[0], 3001, "the server stops")

    def test_origins(self):
        with Live() as live:
            self.assertEqual(WebSocket(live.port, origin="http://good").status, 101)
            for origin in ["http://bad", "http://good.bad", "https://good", "null", "http://good:81"]:
                with self.assertRaises(Gone) as refused:
                    WebSocket(live.port, origin=origin)
                self.assertEqual(refused.exception.code, 403, origin)

    def test_data_that_would_break_a_frame_or_a_line(self):
        """Raw newlines between the words of the JSON, deep nesting, and text that looks like the end."""
        with Live() as live:
            readers = {name: subscribe(name, live.port, "hist:raw")[0] for name in TRANSPORTS}
            deep = "[" * 100 + "]" * 100
            bodies = ['{\n "a"\n:\r\n[1,\n2] }', deep, '"\\n\\n{}\\n"', '"data: x\\r\\n\\r\\n"']
            for body in bodies:
                answer = live_post(live.port, '{"channel": "hist:raw", "data": %s}' % body)
                self.assertIn("result", answer)
            for name, reader in readers.items():
                for body in bodies:
                    self.assertEqual(reader.message()["pub"]["data"], json.loads(body), name)
                reader.close()
            for bad in ["{", '"\n"', "[" * 200_000]:
                try:
                    self.assertNotIn("result", live_post(live.port, '{"channel": "hist:raw", "data": %s}' % bad), bad[:20])
                except Gone as gone:
                    self.assertIn(gone.code, (400, 413), bad[:20])
            self.assertEqual(live.publish("hist:raw", 1)["offset"], len(bodies) + 1)
            # Deeper than any stack: data pass without being taken apart.
            live_post(live.port, '{"channel": "plain:deep", "data": %s}' % ('{"a":' * 100_000 + "1" + "}" * 100_000))
            self.assertEqual(live.publish("hist:raw", 1)["offset"], len(bodies) + 2)

    def test_a_client_that_does_not_read_is_ended_and_recovers(self):
        with Live(client={"queue_max_size": 100_000}) as live:
            for name in TRANSPORTS:
                channel = f"hist:{name}"
                c, result = subscribe(name, live.port, channel, rcvbuf=4096)
                position = (result.get("offset", 0), result["epoch"])
                other = subscribe("websocket", live.port, channel)[0]
                # More than the sockets and the queue hold: until the server tells that it has ended one.
                sent = 0
                before = figure(live, "live_slow_closes")
                while figure(live, "live_slow_closes") == before:
                    live.publish(channel, {"n": sent, "pad": "x" * 20_000})
                    sent += 1
                    self.assertEqual(other.message()["pub"]["data"]["n"], sent - 1)
                    self.assertLess(sent, 2000, name)
                got = []
                with self.assertRaises(Gone) as ended:
                    while True:
                        message = c.message()
                        if "pub" in message:
                            got.append(message["pub"]["data"]["n"])
                            position = (message["pub"]["offset"], position[1])
                self.assertEqual(ended.exception.code, 3008, name)
                self.assertEqual(got, list(range(len(got))), name)
                c.close()
                c, result = subscribe(name, live.port, channel, position)
                if sent - len(got) <= 300:
                    self.assertTrue(result["recovered"], name)
                    got += [p["data"]["n"] for p in result.get("publications", [])]
                    while len(got) < sent:
                        got.append(c.message()["pub"]["data"]["n"])
                    self.assertEqual(got, list(range(sent)), name)
                c.close()
                other.close()

    def chaos(self, journal, seed):
        done = subprocess.run(
            [sys.executable, os.path.join(SOAK, "channels.py"), "--seconds", "5", "--journal", journal, "--seed", str(seed)],
            capture_output=True, text=True, timeout=900,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_subscriber_sees_a_contiguous_sequence(self):
        for journal, seed in [("always", 1), ("everysec", 2), ("no", 3)]:
            with self.subTest(journal=journal):
                self.chaos(journal, seed)

    def test_the_benchmark_sees_every_message_once(self):
        with Live() as live:
            for words in [
                ["--rate", "300", "--storm", "20", "--channel", "hist:b"],
                ["--channels", "7", "--publishers", "3", "--in-flight", "16"],
                ["--publish", "http", "--api-key", "K", "--rate", "200"],
            ]:
                out = os.path.join(live.dir.name, "out.json")
                done = subprocess.run(
                    [BINARY, "bench", "live", "--url", f"ws://127.0.0.1:{live.port}", "--subscribers", "50", "--duration", "0.5",
                     "--json", out, *words], capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                with open(out, encoding="utf-8") as f:
                    found = json.load(f)["results"][0]
                self.assertGreater(found["deliveries_per_second"], 0)
                if "--storm" in words:
                    self.assertEqual((found["recovered"], found["replayed"]), (50, 1000))


def live_post(port, body):
    """A publish request with a body as it is."""
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        data = body.encode()
        try:
            s.sendall(b"POST /api/publish HTTP/1.1\r\nHost: x\r\nX-API-Key: K\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
        except OSError:
            pass  # It has answered already.
        got = b""
        while piece := s.recv(1 << 16):
            got += piece
    head, _, text = got.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1])
    if status != 200:
        raise Gone(status, text.decode(errors="replace"))
    return json.loads(text)


def figure(live, name):
    with live.server.connect() as c:
        text = c.exactly(int(c.command("INFO", "live")[1:]) + 2).decode()
    return int(text.split(f"{name}:")[1].split("\r\n")[0])


if __name__ == "__main__":
    unittest.main()
