"""Live channels: bounds and options, each seen from outside: what may be published, how many connections there may be, how a
message may be cut, what a refused connect is answered with, and what is counted of questions to applications."""

import contextlib
import http.client
import http.server
import json
import threading
import unittest
import urllib.request

from harness.live import OPEN, TEXT, Gone, Live, api, token
from harness.ports import free_port
from harness.protobuf import fields, message
from harness.replication import Client
from harness.server import PATIENCE_S, beyond_redis, wait_until

KEPT = {"history_size": 10, "history_ttl": "60s", "force_recovery": True}


def in_protobuf(live, channel):
    """A client of Protobuf that is subscribed."""
    c = live.client(connect=False, protobuf=True)
    c.send(message(_1=1, _4=message()))
    c.next()
    c.send(message(_1=2, _5=message(_1=channel)))
    c.next()
    return c


@beyond_redis
class TestData(unittest.TestCase):
    def test_data_are_json_unless_it_is_said_that_they_are_bytes(self):
        with Live() as live, Client(live.server.port) as c, live.client() as json_client:
            json_client.call("subscribe", channel="ch:1")
            for bad in [b"text", b"{", b"", b'"\xff"', b"1 2"]:
                for words in [("LIVE.PUBLISH", "ch:1", bad), ("LIVE.BROADCAST", "1", "ch:1", bad), ("LIVE.PUBLISH", "ch:1", bad, "NOHISTORY")]:
                    error = str(c(*words))
                    self.assertTrue(error.startswith("ERR 107 ") and "BINARY" in error, error)
            self.assertEqual(c("LIVE.PUBLISH", "ch:1", '{"a":1}'), [0, b""])
            self.assertEqual(json_client.publication()["data"], {"a": 1})
            with in_protobuf(live, "ch:1") as bytes_client:
                data = lambda: fields(fields(bytes_client.next()[4][0])[4][0])[4]
                self.assertEqual(c("LIVE.PUBLISH", "ch:1", b"\xff\x00", "BINARY"), [0, b""])
                self.assertEqual(data(), [b"\xff\x00"])
                live.api("publish", channel="ch:1", b64data="/wE=")
                self.assertEqual(data(), [b"\xff\x01"])
            # As in Centrifugo.
            self.assertEqual(json_client.ended()[0], 3506)

    def test_a_plain_publish_of_what_is_not_json_ends_nobody(self):
        namespaces = {"js": {"publish_from_resp": "json"}, "wr": {"publish_from_resp": "wrap"}}
        with Live(namespaces=namespaces) as live, Client(live.server.port) as c, live.client() as client:
            for channel in ["js:1", "wr:1"]:
                client.call("subscribe", channel=channel)
            for channel in ["js:1", "wr:1"]:
                for data in [b"text", b'"\xff"', b'{"n":1}']:
                    c("PUBLISH", channel, data)
            got = [client.publication()["data"] for _ in range(4)]
            self.assertEqual(got, [{"n": 1}, "text", "Iv8i", {"n": 1}])

    def test_a_format_holds_for_bytes_too(self):
        with Live(namespaces={"ch": {"publication_data_format": "json"}}) as live:
            for bad in ["/w==", "Iv8i"]:
                self.assertEqual(api(live.port, "publish", {"channel": "ch:1", "b64data": bad})["error"]["code"], 107)


@beyond_redis
class TestConnections(unittest.TestCase):
    def test_a_user_has_as_many_connections_as_permitted_on_all_threads(self):
        with Live("--threads", "4", client={"user_connection_limit": 3}) as live:
            for _ in range(5):
                clients = [live.client(connect=False) for _ in range(24)]
                for c in clients:
                    c.commands({"connect": {"token": token(sub="u")}})
                refused = [c for c in clients if self.is_refused(c)]
                self.assertEqual(len(clients) - len(refused), 3)
                # Another user has places of his own, and a place is free when its connection is gone.
                other = live.client(connect=False).hello(token=token(sub="v"))
                for c in [*clients, other]:
                    c.close()
                wait_until(lambda: live.api("info")["nodes"][0]["num_clients"] == 0, "all are gone")

    def is_refused(self, c):
        try:
            return "connect" not in c.next()
        except Gone as gone:
            self.assertEqual(gone.code, 3504)
            return True

    def test_a_server_has_as_many_connections_as_permitted(self):
        with Live("--threads", "4", client={"connection_limit": 2}) as live:
            clients = [live.client(), live.client()]
            with self.assertRaises(Gone) as refused:
                live.client(connect=False)
            self.assertEqual(refused.exception.code, 503)
            clients.pop().close()
            wait_until(lambda: live.api("info")["nodes"][0]["num_clients"] == 1, "one is gone")
            # Those that are not connected have no place: the first two that connect.
            waiting = [live.client(connect=False) for _ in range(12)]
            for c in waiting:
                c.commands({"connect": {}})
            codes = []
            for c in waiting:
                try:
                    codes.append(c.message()["connect"] and 0)
                except Gone as gone:
                    codes.append(gone.code)
            self.assertEqual(sorted(codes), [0] + [3013] * 11)

    def test_new_connections_have_a_rate(self):
        with Live(client={"connection_rate_limit": 3}) as live:
            begun = 0
            with self.assertRaises(Gone) as refused:
                while begun < 1000:
                    live.client()
                    begun += 1
            self.assertEqual(refused.exception.code, 503)
            self.assertGreaterEqual(begun, 3)
            wait_until(lambda: self.begins(live), "another second")

    @staticmethod
    def begins(live):
        try:
            live.client()
            return True
        except Gone:
            return False


@beyond_redis
class TestFragments(unittest.TestCase):
    def test_a_message_may_come_in_many_fragments(self):
        with Live() as live, live.client() as c:
            data = '{"id":7,"publish":{"channel":"ch:1","data":"' + "x" * 30_000 + '"}}'
            first, *rest = [data[i : i + 1].encode() for i in range(len(data))]
            c.frame(TEXT, first, last=False)
            c.write(b"".join(b"\x00\x81\0\0\0\0" + part for part in rest[:-1]))
            c.frame(0, rest[-1])
            self.assertEqual(c.next(), {"id": 7, "publish": {}})


class Application(http.server.BaseHTTPRequestHandler):
    """Answers questions as `replies` says, by their last path part; none: it does not answer."""

    replies = {}
    gone = threading.Event()

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        reply = self.replies.get(self.path.rsplit("/", 1)[1])
        if reply is None:
            self.gone.wait(PATIENCE_S)
            return
        status, body = reply
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@beyond_redis
class TestProxies(unittest.TestCase):
    def test_questions_are_counted(self):
        self.addCleanup(Application.gone.set)
        Application.replies = {"connect": (200, b'{"result":{"user":"u"}}'), "bad": (200, b"nothing"), "busy": (503, b"")}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        names = ["bad", "busy", "silent"]
        admin = free_port()
        with Live(
            "--admin-port", admin,
            client={"proxy": {"connect": {"enabled": True, "endpoint": f"{at}/connect"}}},
            rpc={"namespaces": [{"name": name, "proxy_enabled": True, "proxy_name": name} for name in names]},
            proxies=[{"name": name, "endpoint": f"{at}/{name}", "timeout": "50ms" if name == "silent" else "60s"} for name in names],
            prometheus={"enabled": True},
        ) as live, live.client() as c:
            for name in [*names, "busy"]:
                self.assertEqual(c.call("rpc", method=f"{name}:x", data={})["code"], 100, name)
            page = urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=PATIENCE_S).read().decode()
            counts = dict(line.rsplit(" ", 1) for line in page.splitlines() if line and line[0] != "#")
            of = lambda metric, event, proxy: counts[f'apus_live_proxy_{metric}{{event="{event}",proxy="{proxy}"}}']
            for event, proxy, expected in [
                ("connect", "connect", "1 0 0 0"), ("rpc", "bad", "1 1 0 0"), ("rpc", "busy", "2 2 0 0"), ("rpc", "silent", "1 1 1 0"),
            ]:
                got = [of(m, event, proxy) for m in ["requests_total", "errors_total", "timeouts_total", "waiting"]]
                self.assertEqual(" ".join(got), expected, proxy)
            self.assertEqual(of("seconds_count", "rpc", "busy"), "2")
            self.assertGreaterEqual(float(of("seconds_sum", "rpc", "silent")), 0.05)
            buckets = [v for k, v in counts.items() if k.startswith("apus_live_proxy_seconds_bucket") and 'proxy="busy"' in k]
            self.assertEqual((len(buckets), buckets[-1], buckets), (12, "2", sorted(buckets)))
            theirs = '{protocol="http",type="rpc",name="busy"}'
            self.assertEqual(counts["centrifugo_proxy_errors" + theirs], "2")
            self.assertEqual(counts["centrifugo_proxy_duration_seconds_count" + theirs], "2")
            with Client(live.server.port) as r:
                self.assertIn("requests=1,errors=1,timeouts=1,waiting=0,seconds=", r.info("live")["live_proxy_rpc_silent"])


    def test_what_an_application_says_may_have_expired(self):
        past = b'{"result": {"user": "u", "expire_at": 1}}'
        now = b'{"result": {"user": "u"}}'
        with application({"connect": (200, past), "subscribe": (200, past)}) as at, Live(
            client={"proxy": {"connect": {"enabled": True, "endpoint": f"{at}/connect"}}},
            channel={
                "proxy": {"subscribe": {"endpoint": f"{at}/subscribe"}},
                "namespaces": [{**OPEN, "name": "ch", "subscribe_proxy_enabled": True}],
            },
        ) as live:
            with live.client(connect=False) as c:
                self.assertEqual(c.call("connect")["code"], 110)
            Application.replies["connect"] = (200, now)
            with live.client() as c:
                error = c.call("subscribe", channel="ch:1")
                self.assertEqual((error["code"], error["message"]), (110, "expired"))
                Application.replies["subscribe"] = (200, now)
                self.assertNotIn("code", c.call("subscribe", channel="ch:1"), "the connection lives on")

    def test_an_application_ends_a_connection_with_any_code_of_its_own(self):
        for code in [4000, 4999]:
            ends = json.dumps({"disconnect": {"code": code, "reason": "so"}}).encode()
            with application({"connect": (200, ends)}) as at, Live(
                client={"proxy": {"connect": {"enabled": True, "endpoint": f"{at}/connect"}}},
            ) as live, live.client(connect=False) as c:
                c.commands({"connect": {}})
                self.assertEqual(c.ended(), (code, "so"))


@contextlib.contextmanager
def application(replies):
    """An application with these replies: its address."""
    Application.replies = replies
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@beyond_redis
class TestOptions(unittest.TestCase):
    def test_a_refused_connect_is_a_response_of_its_own(self):
        transforms = [{"code": 3500, "to": {"status_code": 401}}, {"code": 109, "to": {"status_code": 403, "body": "too old"}}]
        mapped = {"enabled": True, "connect_code_to_http_response": {"enabled": True, "transforms": transforms}}
        with Live(client={"allow_anonymous_connect_without_token": False}, uni_sse=mapped, uni_http_stream=mapped) as live:
            for path in ["uni_sse", "uni_http_stream"]:
                for given, status, body in [
                    ("bad", 401, b"invalid token"), (token(sub="u", exp=1), 403, b"too old"), ("", 500, b"Internal Server Error"),
                ]:
                    self.assertEqual(self.post(live, path, {"token": given})[:2], (status, body), (path, given))
                status, first, kind = self.post(live, path, {"token": token(sub="u")})
                self.assertEqual((status, b'"client"' in first, kind.split(";")[0]), (200, True, self.KINDS[path]))
            # Others are told in their stream.
            self.assertEqual(self.post(live, "sse", {"id": 1, "connect": {"token": "bad"}})[0], 200)

    KINDS = {"uni_sse": "text/event-stream", "uni_http_stream": "application/json"}

    @staticmethod
    def post(live, path, request):
        c = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE_S)
        c.request("POST", f"/connection/{path}", json.dumps(request), {"Origin": "http://good"})
        answer = c.getresponse()
        assert answer.getheader("Access-Control-Allow-Origin") == "http://good"
        body = answer.read() if answer.status != 200 else answer.readline() + answer.readline()
        c.close()
        return answer.status, body, answer.getheader("Content-Type")

    def test_what_was_too_long_on_its_way_ends_positions(self):
        """As other servers publish: with the time in the message."""
        with Live(namespaces={"ch": KEPT, "no": {}}, client={"channel_position_max_time_lag": "60s"}) as live, live.client() as c:
            for channel in ["ch:1", "no:1"]:
                c.call("subscribe", channel=channel)
            live.publish("ch:1", 1)
            self.assertEqual(c.publication(), {"data": 1, "offset": 1}, "without its time")
            epoch = c.call("history", channel="ch:1", limit=0)["epoch"]
            with Client(live.server.port) as r:
                late = message(_4=b"2", _9=1)
                r("PUBLISH", "centrifugo.client.no:1", late)
                r("PUBLISH", "centrifugo.client.ch:1", f"__p1:2:{epoch}__".encode() + late)
            self.assertEqual(c.push(), {"channel": "no:1", "pub": {"data": 2}})
            self.assertEqual(c.push()["unsubscribe"]["code"], 2500)


if __name__ == "__main__":
    unittest.main()
