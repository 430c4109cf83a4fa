"""Live channels: messages byte for byte as Centrifugo's SDKs expect them, and bad ones."""

import json
import unittest

from harness.live import BINARY, TEXT, Gone, Live, token
from harness.server import beyond_redis

HISTORY = {"history_size": 10, "history_ttl": "60s", "presence": True}
FILTERED = {"allow_tags_filter": True}


@beyond_redis
class TestLiveWire(unittest.TestCase):
    def test_fields_that_are_there_without_a_value(self):
        with Live(namespaces={"ch": HISTORY}) as live, live.client() as c:
            history = c.ask("history", channel="ch:empty")
            epoch = json.loads(history)["history"]["epoch"]
            self.assertEqual(history, f'{{"id":2,"history":{{"publications":[],"epoch":"{epoch}","offset":0}}}}')
            self.assertEqual(
                c.ask("presence_stats", channel="ch:empty"),
                '{"id":3,"presence_stats":{"num_clients":0,"num_users":0}}',
            )
            self.assertEqual(c.ask("presence", channel="ch:empty"), '{"id":4,"presence":{"presence":{}}}')

    def test_texts_are_escaped_as_centrifugo_does_it(self):
        with Live(namespaces={"ch": HISTORY}) as live, live.client(connect=False) as c:
            c.hello(token=token(sub="<a>&\u2028\u2029\r\t\x7f\x01\\"))
            c.call("subscribe", channel="ch:1")
            presence = c.ask("presence", channel="ch:1")
            self.assertIn(r'"user":"\u003ca\u003e\u0026\u2028\u2029\r\t' + "\x7f" + r'\u0001\\"', presence)

    def test_null_stands_for_nothing(self):
        with Live(namespaces={"ch": HISTORY}) as live, live.client(connect=False) as c:
            c.send('{"id":1,"connect":{"token":null,"name":null,"subs":null,"headers":null},"subscribe":null}')
            self.assertIn("connect", c.next())
            c.send('{"id":2,"subscribe":{"channel":"ch:1","token":null,"offset":null,"recover":null,"tf":null}}')
            self.assertEqual(c.next()["id"], 2)

    def test_what_is_no_command(self):
        with Live() as live:
            for bad in [
                "[]", '[{"id":2}]', "null", "1", '"x"', "{", "", "  ", '{"id":2,"rpc":[]}x',
                '{"id":"2","rpc":{}}', '{"id":-1,"rpc":{}}', '{"id":4294967296,"rpc":{}}', '{"id":2,"rpc":{}} []',
                '{"id":2,"subscribe":{"channel":"ch:1","tf":' + '{"op":"not","nodes":[' * 200 + "]}" * 200 + "}}",
            ]:
                with live.client() as c:
                    c.send(bad)
                    self.assertEqual(c.ended()[0], 3501, bad)

    def test_frames_against_the_protocol(self):
        with Live() as live:
            for code, send in [
                (1002, lambda c: c.s.sendall(b"\x81\x02{}")),
                (1002, lambda c: c.s.sendall(b"\x81\xfe\x00\x02\0\0\0\0{}")),
                (1002, lambda c: c.s.sendall(b"\x81\xff\0\0\0\0\0\0\0\x02\0\0\0\0{}")),
                (1002, lambda c: c.frame(3, b"x")),
                (1002, lambda c: c.frame(TEXT, b"x", reserved=0x40)),
                (1002, lambda c: c.frame(0, b"x")),
                (1007, lambda c: c.frame(TEXT, b"\xff")),
                (1009, lambda c: c.frame(TEXT, b"x" * 65537)),
                # A message without an end, of frames without bytes.
                (1009, lambda c: (c.frame(TEXT, b"", last=False), [c.s.sendall(b"\x00\x80\0\0\0\0" * 500) for _ in range(40)])),
            ]:
                with live.client() as c:
                    try:
                        send(c)
                    except (ConnectionError, Gone):
                        pass  # It has been closed meanwhile.
                    self.assertEqual(c.ended()[0], code)
            with live.client() as c:
                c.frame(TEXT, b'{"id":7,', last=False)
                c.frame(9, b"in between")
                c.frame(0, b'"rpc":{}}')
                self.assertEqual(c.next(), {"id": 7, "error": {"code": 104, "message": "method not found"}})

    def test_filters_compare_decimal_fractions(self):
        def got(live, tf, *values):
            """What of publications with tags of these values passes."""
            with live.client() as c:
                c.call("subscribe", channel="ch:f", tf=tf)
                for n, value in enumerate(values):
                    live.publish("ch:f", n, tags={"n": value})
                live.publish("ch:f", 99, tags={"end": "1"})
                seen = []
                while (pub := c.publication())["data"] != 99:
                    seen.append(values[pub["data"]])
                return seen

        with Live(namespaces={"ch": FILTERED}) as live:
            ends = {"key": "end", "cmp": "ex"}
            either = lambda tf: {"op": "or", "nodes": [ends, tf]}
            huge = "9007199254740993"
            self.assertEqual(
                got(live, either({"key": "n", "cmp": "gt", "val": "9007199254740992"}), huge, "inf", "NaN", "1e30", "+" + huge + ".0", "5."),
                [huge, "+" + huge + ".0"],
            )
            self.assertEqual(got(live, either({"key": "n", "cmp": "lte", "val": "0.10"}), ".1", "0.1", "-7", "0.1000000000000000001"), ["0.1", "-7"])
            with live.client() as c:
                for bad in [
                    {"key": "n", "cmp": "eq"}, {"key": "n", "cmp": "eq", "val": "1", "vals": ["1"]}, {"cmp": "eq", "val": "1"},
                    {"op": "and"}, {"op": "xor", "nodes": [ends]}, {"key": "n", "cmp": "like", "val": "1"},
                ]:
                    self.assertEqual(c.call("subscribe", channel="ch:f", tf=bad)["code"], 107, bad)


if __name__ == "__main__":
    unittest.main()
