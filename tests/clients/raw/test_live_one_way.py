"""Live channels in one direction: WebSocket, Server-Sent Events and HTTP streams without an SDK."""

import http.client
import json
import socket
import unittest
from urllib.parse import quote

from harness.live import TEXT, Gone, Live, UniWebSocket, token
from harness.protobuf import delimited, fields, message
from harness.server import PATIENCE_S, beyond_redis

KEPT = {"history_size": 10, "history_ttl": "60s", "force_recovery": True}


class Stream:
    """A response without an end; messages are the lines, events or Protobuf messages in it."""

    def __init__(self, live, name, request=None, protobuf=False):
        self.sse, self.protobuf = name.endswith("sse"), protobuf
        self.c = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE_S)
        path = f"/connection/{name}"
        if protobuf:
            self.c.request("POST", path, request or b"", {"Content-Type": "application/octet-stream"})
        elif self.sse:
            self.c.request("GET", path + ("?cf_connect=" + quote(json.dumps(request)) if request else ""))
        else:
            self.c.request("POST", path, json.dumps(request) if request else "")
        self.answer = self.c.getresponse()
        self.status, self.left = self.answer.status, b""

    def next(self):
        """The next message; None at the end."""
        while True:
            if self.protobuf:
                if self.left and len(self.left) > self.left[0]:
                    [first] = delimited(self.left[: self.left[0] + 1])
                    self.left = self.left[self.left[0] + 1 :]
                    return fields(first)
            else:
                end = b"\n\n" if self.sse else b"\n"
                if end in self.left:
                    text, self.left = self.left.split(end, 1)
                    text = text.removeprefix(b"\r\n").removeprefix(b"data: ")
                    if text != b"{}":
                        return json.loads(text)
                    continue
            piece = self.answer.read1(1 << 16)
            if not piece:
                return None
            self.left += piece

    def close(self):
        self.c.close()


def refused(live, path, fields="", body=None, chunked=False):
    """The status of the answer to a request."""
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: x\r\nX-Long: {fields}\r\n"
    if chunked:
        head, body = head + "Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    elif body is not None:
        head += f"Content-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", live.port), PATIENCE_S) as c, c.makefile("rb") as answer:
        try:
            c.sendall(head.encode() + b"\r\n" + (body or b""))
        except ConnectionError:
            pass  # It was refused before it was there.
        return int(answer.readline().split()[1])


@beyond_redis
class TestOneWay(unittest.TestCase):
    def test_streams(self):
        for name in ["uni_sse", "uni_http_stream"]:
            with Live(namespaces={"ch": KEPT}) as live:
                live.publish("ch:1", 1)
                s = Stream(live, name, {"token": token(sub="u"), "subs": {"ch:1": {}}})
                connect = s.next()["connect"]
                self.assertTrue(connect["client"] and connect["session"] and connect["ping"] == 25)
                sub = connect["subs"]["ch:1"]
                self.assertEqual(sub["offset"], 1)
                live.publish("ch:1", {"a": "\n"})
                self.assertEqual(s.next(), {"channel": "ch:1", "pub": {"data": {"a": "\n"}, "offset": 2}})
                # Another connection catches up.
                missed = {"recover": True, "offset": 1, "epoch": sub["epoch"]}
                again = Stream(live, name, {"token": token(sub="v"), "subs": {"ch:1": missed}})
                recovered = again.next()["connect"]["subs"]["ch:1"]
                self.assertEqual((recovered["recovered"], recovered["publications"][0]["offset"]), (True, 2))
                live.api("unsubscribe", user="u", channel="ch:1")
                self.assertEqual(s.next(), {"channel": "ch:1", "unsubscribe": {"code": 2000, "reason": "server unsubscribe"}})
                live.api("disconnect", user="u", disconnect={"code": 4501, "reason": "bye"})
                self.assertEqual(s.next(), {"disconnect": {"code": 4501, "reason": "bye"}})
                self.assertIsNone(s.next(), "the stream ends")
                again.close()

    def test_a_websocket(self):
        with Live(namespaces={"ch": KEPT}) as live, UniWebSocket(live.port) as c:
            c.send({"token": token(sub="u"), "subs": {"ch:1": {}}})
            self.assertIn("ch:1", c.next()["connect"]["subs"])
            live.publish("ch:1", 1)
            self.assertEqual(c.next(), {"channel": "ch:1", "pub": {"data": 1, "offset": 1}})
            live.api("disconnect", user="u")
            self.assertEqual(c.next()["disconnect"]["code"], 3503)
            with self.assertRaises(Gone) as end:
                c.text()
            self.assertEqual(end.exception.code, 3503)

    def test_refusals_end_the_connection(self):
        with Live(client={"allow_anonymous_connect_without_token": False}) as live:
            for request, code in [({"token": "bad"}, 3500), ({"token": token(sub="u", exp=1)}, None), ({}, 3501)]:
                s = Stream(live, "uni_sse", request or None)
                end = s.next()["disconnect"]
                self.assertTrue(end["code"] == code or code is None, end)
                self.assertIsNone(s.next())
            with UniWebSocket(live.port) as c:
                c.frame(TEXT, b"[]")
                self.assertEqual(c.ended()[0], 3501)

    def test_a_long_token_is_in_the_address(self):
        """A browser can put what an event stream begins with into its address alone."""
        with Live(namespaces={"ch": KEPT}) as live:
            for name, n in [("sse", 9_000), ("uni_sse", 16_000), ("uni_sse", 48_000)]:
                long = token(sub="u", info={"long": "x" * (n * 3 // 4)})
                self.assertGreater(len(long), n)
                connect = {"token": long}
                s = Stream(live, name, {"id": 1, "connect": connect} if name == "sse" else connect)
                self.assertEqual(s.status, 200, (name, n))
                self.assertIn("connect", s.next())
                s.close()
            # Piece by piece, and with long fields.
            with socket.create_connection(("127.0.0.1", live.port), PATIENCE_S) as c:
                head = f"GET /connection/uni_sse?cf_connect={{}}&x={'x' * 30_000} HTTP/1.1\r\nHost: x\r\nCookie: {'y' * 30_000}\r\n\r\n"
                for at in range(0, len(head), 4096):
                    c.sendall(head[at : at + 4096].encode())
                self.assertTrue(c.recv(100).startswith(b"HTTP/1.1 200 "))
            self.assertEqual(refused(live, f"/connection/sse?cf_connect={'x' * 70_000}"), 414)
            self.assertEqual(refused(live, "/connection/sse", "y" * 90_000), 431)
            # Whoever asks for something else has no more room than ever.
            for path in ["/", "/connection", "/connection/sse/", "/connection/ssex", "/api/info", "//connection/sse"]:
                self.assertEqual(refused(live, f"{path}?cf_connect={'x' * 9_000}"), 414, path)
                self.assertEqual(refused(live, path, "y" * 17_000), 431, path)
        with Live(sse={"enabled": False}) as live:
            self.assertEqual(refused(live, f"/connection/sse?cf_connect={'x' * 9_000}"), 414, "it is not there")

    def test_bodies_have_the_limits_of_their_endpoints(self):
        small = {"enabled": True, "max_request_body_size": 1000}
        ways = ["sse", "http_stream", "uni_sse", "uni_http_stream"]
        more = {name: small for name in ways}
        with Live(**more, emulation={"max_request_body_size": 2000}) as live:
            paths = {**{f"/connection/{name}": 1000 for name in ways}, "/emulation": 2000}
            for path, most in paths.items():
                self.assertNotEqual(refused(live, path, body=b" " * most), 413, path)
                self.assertEqual(refused(live, path, body=b" " * (most + 1)), 413, path)
                self.assertEqual(refused(live, path, body=b" " * (most + 1), chunked=True), 413, path)
            # The API has that of the port.
            live.publish("ch:1", "x" * 5000)
        with Live("--web-max-body", "10kb") as live:
            self.assertNotEqual(refused(live, "/emulation", body=b" " * 65_536), 413)
            self.assertEqual(refused(live, "/emulation", body=b" " * 65_537), 413)

    def test_pushes_that_are_sent_together_are_one_message(self):
        for joins in [False, True]:
            uni = {"enabled": True, "join_push_messages": joins}
            with Live("--threads", 1, namespaces={"ch": KEPT}, uni_websocket=uni) as live:
                for protobuf in [False, True]:
                    request = {"token": token(sub="u"), "subs": {"ch:1": {}}}
                    with UniWebSocket(live.port, protobuf=protobuf) as c:
                        c.frame(2, message(_1=token(sub="u"), _3=message(_1="ch:1", _2=message()))) if protobuf else c.send(request)
                        c.take()
                        with live.connect() as r:
                            r.command("MULTI")
                            for n in range(3):
                                self.assertEqual(r.command("LIVE.PUBLISH", "ch:1", n), b"+QUEUED")
                            self.assertEqual(r.command("EXEC"), b"*3")
                        live.api("disconnect", user="u")
                        lengths = []
                        while (frame := c.take())[0] != 8:
                            kind, payload = frame
                            self.assertEqual(kind, 2 if protobuf else TEXT)
                            lengths.append(len(list(delimited(payload))) if protobuf else payload.count(b"\n") + 1)
                            if not protobuf:
                                [json.loads(line) for line in payload.split(b"\n")]
                        # The last one says why the connection ends.
                        self.assertEqual(lengths, [3, 1] if joins else [1, 1, 1, 1])

    def test_protobuf(self):
        with Live(namespaces={"ch": KEPT}) as live:
            request = message(_3=message(_1="ch:1", _2=message()))
            s = Stream(live, "uni_http_stream", request, protobuf=True)
            connect = fields(s.next()[10][0])
            self.assertEqual(fields(connect[4][0])[1], [b"ch:1"])
            live.publish("ch:1", {"a": 1})
            push = s.next()
            self.assertEqual((push[2], fields(push[4][0])[4]), ([b"ch:1"], [b'{"a": 1}']))
            with UniWebSocket(live.port, protobuf=True) as c:
                c.frame(2, request)
                self.assertIn(10, c.next())
                live.publish("ch:1", 2)
                self.assertEqual(fields(c.next()[4][0])[4], [b"2"])
            s.close()


if __name__ == "__main__":
    unittest.main()
