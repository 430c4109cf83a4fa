"""Live channels in one direction: WebSocket, Server-Sent Events and HTTP streams without an SDK."""

import http.client
import json
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
