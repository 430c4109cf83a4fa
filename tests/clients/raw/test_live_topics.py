"""Live channels that are topics: records reach subscribers, what was missed comes from the log, and a client that cannot
be given all of it is told."""

import http.client
import json
import os
import shutil
import tempfile
import threading
import time
import unittest
from functools import partial

from harness.live import Live, WebSocket, token
from harness.protobuf import fields, message
from harness.server import PATIENCE_S, Server, beyond_redis, free_port, wait_until

NAMESPACES = {
    "audit": {"topic": "audit"},
    "log": {"topic": "log.{channel}", "presence": True, "join_leave": True},
    "raw": {"topic": "raw", "publication_data_format": "binary"},
    "last": {"topic": "audit", "force_recovery": True, "force_recovery_mode": "cache", "auto_cache_recover": True},
    "delta": {"topic": "audit", "allowed_delta_types": ["fossil"], "delta_publish": True},
    "ch": {},
}


class Topics(Live):
    """A server with channels that are topics, which keeps its files when it is killed."""

    def __init__(self, *options, env=None, **more):
        self.data = tempfile.mkdtemp(prefix="apus-live-topics-")
        self.options, self.env = ["--dir", self.data, *options], env
        super().__init__(*self.options, **{"namespaces": NAMESPACES, "server": partial(Server, env=env), **more})
        self.resp = self.connect()

    def kill(self):
        self.resp.close()
        self.server.close()

    def start(self):
        file = os.path.join(self.dir.name, "live.json")
        self.server = Server("--web-port", self.port, "--live-config", file, *self.options, env=self.env)
        self.connect = self.server.connect
        self.resp = self.connect()

    def __exit__(self, *args):
        super().__exit__(*args)
        shutil.rmtree(self.data, ignore_errors=True)

    def run(self, *words):
        """A command whose reply is one line."""
        reply = self.resp.command(*words)
        assert not reply.startswith(b"-"), reply
        return reply

    def append(self, topic, *records):
        """Appends records, as JSON if they are no bytes. Returns the offset of the first."""
        records = [r if isinstance(r, bytes) else json.dumps(r) for r in records]
        return int(self.run("TOPIC.APPEND", topic, "RECORDS", *records)[1:])

    def failing(self, method, **body):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        c.request("POST", f"/api/{method}", json.dumps(body), {"X-API-Key": "K"})
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer["error"]["code"]


def place(result):
    return {"recover": True, "offset": result.get("offset", 0), "epoch": result["epoch"]}


def seen(publications):
    return [(p["offset"], p["data"]) for p in publications]


def numbers(start, end):
    """What is seen of the records `start` to `end`, each its own offset in the topic."""
    return [(n + 1, n) for n in range(start, end)]


def outlive_retention(test, live, c):
    """`c` subscribes and gets records until retention has removed the first of them, and goes on. Returns the place where
    it began, and the oldest offset that is left; 41 is the last one."""
    at = place(c.call("subscribe", channel="audit:x"))
    for n in range(40):
        live.append("audit", json.dumps({"n": n, "pad": "x" * 1000}).encode())
    test.assertEqual([c.publication()["offset"] for _ in range(40)], list(range(1, 41)))
    oldest = lambda: c.call("history", channel="audit:x", limit=1)["publications"][0]["offset"]
    wait_until(lambda: oldest() > 1, "retention has removed records")
    first = oldest()
    # Who is there goes on.
    live.append("audit", 40)
    test.assertEqual(c.publication()["offset"], 41)
    return at, first


@beyond_redis
class TestTopics(unittest.TestCase):
    def test_records_reach_subscribers_from_the_first_one_on(self):
        with Topics() as live, live.client() as c, live.client(protobuf=True, connect=False) as p:
            live.run("TOPIC.CREATE", "audit")
            result = c.call("subscribe", channel="audit:all")
            self.assertEqual((result.get("offset", 0), result["recoverable"], result["positioned"]), (0, True, True))
            p.send(message(_1=1, _4=b""))
            p.next()
            p.send(message(_1=2, _5=message(_1="audit:other")))
            self.assertEqual(p.next()[1], [2])
            # The record at offset 0 of the topic is the publication 1.
            self.assertEqual(live.append("audit", {"n": 0}), 0)
            self.assertEqual(c.publication(), {"data": {"n": 0}, "offset": 1})
            push = fields(p.next()[4][0])
            self.assertEqual(push[2], [b"audit:other"])
            self.assertEqual(fields(push[4][0]), {4: [b'{"n": 0}'], 6: [1]})
            live.append("audit", 1, 2)
            self.assertEqual([c.publication()["offset"] for _ in range(2)], [2, 3])
            # A subscriber that asks for nothing begins at the end.
            with live.client() as late:
                self.assertEqual(late.call("subscribe", channel="audit:all")["offset"], 3)
                live.append("audit", 3)
                self.assertEqual(late.publication(), {"data": 3, "offset": 4})

    def test_what_was_missed_is_recovered(self):
        with Topics() as live:
            live.append("audit", 0)
            with live.client() as c:
                at = place(c.call("subscribe", channel="audit:x"))
                live.append("audit", 1)
                at["offset"] = c.publication()["offset"]
            for n in range(2, 200):
                live.append("audit", n)
            with live.client() as c:
                result = c.call("subscribe", channel="audit:x", **at)
                self.assertTrue(result["recovered"])
                self.assertEqual(seen(result["publications"]), numbers(2, 200))
                live.append("audit", 200)
                self.assertEqual(seen([c.publication()]), numbers(200, 201))
            with live.client() as c:
                # From the beginning, by a client that has never been there.
                result = c.call("subscribe", channel="audit:x", recover=True)
                self.assertEqual(seen(result["publications"]), numbers(0, 201))
                # Nothing was missed; and a position that is not there yet.
                with live.client() as other:
                    result = other.call("subscribe", channel="audit:x", **{**at, "offset": 201})
                    self.assertTrue(result["recovered"] and not result.get("publications"))
                    other.call("unsubscribe", channel="audit:x")
                    result = other.call("subscribe", channel="audit:x", **{**at, "offset": 202})
                    self.assertFalse(result.get("recovered"))
                    self.assertEqual(result["offset"], 201)
            # More than `recovery_max_publication_limit`.
            live.append("audit", *range(201, 501))
            with live.client() as c:
                self.assertFalse(c.call("subscribe", channel="audit:x", **at).get("recovered"))
                c.call("unsubscribe", channel="audit:x")
                result = c.call("subscribe", channel="audit:x", **{**at, "offset": 201})
                self.assertEqual(seen(result["publications"]), numbers(201, 501))

    def test_positions_outlive_the_server(self):
        with Topics() as live:
            with live.client() as c:
                live.append("audit", 0, 1)
                at = place(c.call("subscribe", channel="audit:x"))
                live.append("audit", 2)
                self.assertEqual(seen([c.publication()]), numbers(2, 3))
            live.append("audit", 3)
            live.kill()
            live.start()
            live.append("audit", 4)
            with live.client() as c:
                result = c.call("subscribe", channel="audit:x", **at)
                self.assertTrue(result["recovered"])
                self.assertEqual((seen(result["publications"]), result["epoch"]), (numbers(2, 5), at["epoch"]))
                live.append("audit", 5)
                self.assertEqual(seen([c.publication()]), numbers(5, 6))

    def test_trimmed_records_are_not_recovered(self):
        with Topics() as live:
            live.run("TOPIC.CREATE", "audit", "segment_bytes", 4096, "retention_bytes", 4096)
            with live.client() as c:
                at, first = outlive_retention(self, live, c)
            with live.client() as c:
                result = c.call("subscribe", channel="audit:x", **at)
                self.assertFalse(result.get("recovered"))
                self.assertEqual((result["offset"], result["epoch"]), (41, at["epoch"]))
                c.call("unsubscribe", channel="audit:x")
                result = c.call("subscribe", channel="audit:x", **{**at, "offset": first - 1})
                self.assertEqual([p["offset"] for p in result["publications"]], list(range(first, 42)))
                c.call("unsubscribe", channel="audit:x")
                self.assertFalse(c.call("subscribe", channel="audit:x", **{**at, "offset": first - 2}).get("recovered"))

    def test_another_topic_of_the_name_is_another_epoch(self):
        with Topics() as live, live.client() as c:
            self.assertEqual(c.call("subscribe", channel="audit:x"), {"code": 102, "message": "unknown channel", "temporary": True})
            live.append("audit", 0, 1)
            at = place(c.call("subscribe", channel="audit:x"))
            live.run("TOPIC.DELETE", "audit")
            self.assertEqual(c.push()["unsubscribe"]["code"], 2500)
            self.assertEqual(c.call("subscribe", channel="audit:x", **at)["code"], 102)
            # With as many records as the one before.
            live.append("audit", 10, 11)
            result = c.call("subscribe", channel="audit:x", **at)
            self.assertFalse(result.get("recovered"))
            self.assertNotEqual(result["epoch"], at["epoch"])
            live.append("audit", 12)
            self.assertEqual(c.publication(), {"data": 12, "offset": 3})
            history = c.call("history", channel="audit:x", limit=-1, since={"offset": 1, "epoch": at["epoch"]})
            self.assertEqual(history["code"], 112)

    def test_every_subscriber_sees_a_contiguous_sequence(self):
        """Subscriptions begin, and recover, while producers append."""
        total, clients = 3000, 12
        with Topics(client={"recovery_max_publication_limit": -1}) as live:
            live.append("audit", 0)
            failed = []

            def produce():
                with live.connect() as c:
                    for n in range(1, total):
                        if not c.command("TOPIC.APPEND", "audit", "RECORDS", n).startswith(b":"):
                            failed.append(n)

            def follow(number):
                try:
                    got, at = [], {"recover": True}
                    while len(got) < total:
                        with live.client() as c:
                            result = c.call("subscribe", channel=f"audit:{number % 3}", **at)
                            assert result["recovered"], result
                            got += seen(result.get("publications", []))
                            at["epoch"] = result["epoch"]
                            before = len(got)
                            # It leaves after some, and comes back.
                            while len(got) < min(total, before + 50 * (number + 1)):
                                got.append(seen([c.publication()])[0])
                            at["offset"] = got[-1][0]
                    assert got == numbers(0, total), [p for p in zip(got, numbers(0, total)) if p[0] != p[1]][:3]
                except Exception as e:
                    failed.append((number, repr(e)))

            threads = [threading.Thread(target=follow, args=(n,)) for n in range(clients)] + [threading.Thread(target=produce)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(failed, [])

    def test_many_records_at_once(self):
        with Topics(client={"recovery_max_publication_limit": -1, "history_max_publication_limit": -1}) as live, live.client() as c:
            live.run("TOPIC.CREATE", "audit")
            at = place(c.call("subscribe", channel="audit:x"))
            live.append("audit", *range(5000))
            live.append("audit", 5000)
            self.assertEqual(seen(c.publication() for _ in range(5001)), numbers(0, 5001))
            with live.client() as other:
                self.assertEqual(seen(other.call("subscribe", channel="audit:x", **at)["publications"]), numbers(0, 5001))
                back = other.call("history", channel="audit:x", limit=-1, reverse=True)["publications"]
                self.assertEqual(seen(back), numbers(0, 5001)[::-1])

    def test_records_that_are_no_json(self):
        records = [b'{"a":\n[1]}', b"plain text", b"\xff\x00", b"", b'"q"', b"{"]
        with Topics() as live, live.client() as c:
            live.run("TOPIC.CREATE", "audit")
            at = place(c.call("subscribe", channel="audit:x"))
            live.append("audit", *records)
            expected = [{"a": [1]}, "plain text", "/wA=", "", "q", "{"]
            self.assertEqual([c.publication()["data"] for _ in records], expected)
            with live.client() as other:
                result = other.call("subscribe", channel="audit:x", **at)
                self.assertEqual([p["data"] for p in result["publications"]], expected)
            # As they are, for clients of Protobuf; a client of JSON is ended by the first that is none.
            live.append("raw", *records[:1])
            with live.client(protobuf=True, connect=False) as p, live.client() as j:
                p.send(message(_1=1, _4=b""))
                p.next()
                p.send(message(_1=2, _5=message(_1="raw:x", _3=1)))
                p.next()
                self.assertTrue(j.call("subscribe", channel="raw:x", recover=True)["recovered"])
                live.append("raw", *records[1:])
                got = [fields(fields(p.next()[4][0])[4][0]).get(4, [b""])[0] for _ in records[1:]]
                self.assertEqual(got, records[1:])
                self.assertEqual(j.ended()[0], 3506)
            with live.client() as j:
                j.send({"id": 2, "subscribe": {"channel": "raw:x", "recover": True}})
                self.assertEqual(j.ended()[0], 3506)

    def test_only_records_are_publications(self):
        with Topics() as live, live.client() as c:
            live.append("audit", 0)
            c.call("subscribe", channel="audit:x")
            self.assertEqual(c.call("publish", channel="audit:x", data=1)["code"], 108)
            self.assertEqual(live.failing("publish", channel="audit:x", data=1), 108)
            self.assertEqual(live.failing("history_remove", channel="audit:x"), 108)
            replies = live.api("broadcast", channels=["audit:x", "ch:x"], data=1)["responses"]
            self.assertEqual(replies[0]["error"]["code"], 108)
            self.assertIn("result", replies[1])
            for words in [("LIVE.PUBLISH", "audit:x", "1"), ("LIVE.HISTORY", "audit:x")]:
                self.assertIn(b"108", live.resp.command(*words))
            # Nor what others say in the channel's PUB/SUB.
            live.run("PUBLISH", "centrifugo.client.audit:x", b"__p1:9:abcd__" + b"\x22\x01\x31")
            live.run("PUBLISH", "audit:x", b"1")
            live.append("audit", 1)
            self.assertEqual(c.publication(), {"data": 1, "offset": 2})

    def test_histories(self):
        with Topics() as live, live.client() as c:
            live.append("audit", *range(1000))
            epoch = c.call("subscribe", channel="audit:x")["epoch"]
            for asked, expected in [
                ({}, []),
                ({"limit": 3}, numbers(0, 3)),
                ({"limit": 3, "reverse": True}, numbers(997, 1000)[::-1]),
                ({"limit": -1}, numbers(0, 300)),
                ({"limit": -1, "reverse": True}, numbers(700, 1000)[::-1]),
                ({"limit": 2, "since": {"offset": 500, "epoch": epoch}}, numbers(500, 502)),
                ({"limit": 2, "since": {"offset": 500, "epoch": epoch}, "reverse": True}, numbers(497, 499)[::-1]),
                ({"limit": 5, "since": {"offset": 998, "epoch": ""}}, numbers(998, 1000)),
                ({"limit": 5, "since": {"offset": 1000, "epoch": ""}}, []),
                ({"limit": 5, "since": {"offset": 5000, "epoch": ""}}, []),
                ({"limit": 5, "since": {"offset": 1, "epoch": ""}, "reverse": True}, []),
            ]:
                result = c.call("history", channel="audit:x", **asked)
                self.assertEqual(seen(result.get("publications") or []), expected, asked)
                self.assertEqual((result["offset"], result["epoch"]), (1000, epoch))
                if asked.get("limit") != -1:
                    self.assertEqual(live.api("history", channel="audit:x", **asked).get("publications") or [], result.get("publications") or [])
            self.assertEqual(len(live.api("history", channel="audit:x", limit=-1)["publications"]), 1000)
            self.assertEqual(live.failing("history", channel="log:none", limit=1), 102)

    def test_histories_of_the_api_say_what_they_cannot_give(self):
        with Topics() as live:
            live.append("audit", 0, 1)
            epoch = live.api("history", channel="audit:x", limit=0)["epoch"]
            self.assertEqual(seen(live.api("history", channel="audit:x", limit=9, since={"offset": 1, "epoch": epoch})["publications"]), numbers(1, 2))
            self.assertEqual(live.failing("history", channel="audit:x", limit=9, since={"offset": 1, "epoch": "another"}), 112)
            live.append("raw", b"\xff")
            self.assertEqual(live.failing("history", channel="raw:x", limit=1), 108)

    def test_answers_are_bounded_by_their_bytes(self):
        with Topics(client={"recovery_max_publication_limit": -1}) as live, live.client() as c:
            # As text three MiB become four.
            big = bytes([0xFF]) * (3 << 20)
            for _ in range(5):
                live.append("audit", big)
            at = {"recover": True, "epoch": ""}
            self.assertEqual([p["offset"] for p in c.call("subscribe", channel="audit:x", **at)["publications"]], [1, 2, 3, 4, 5])
            for _ in range(3):
                live.append("audit", big)
                c.publication()
            with live.client() as late:
                # Eighteen MiB and more are too much.
                self.assertEqual(late.call("subscribe", channel="audit:x", **at).get("recovered"), None)
                late.call("unsubscribe", channel="audit:x")
                self.assertTrue(late.call("subscribe", channel="audit:x", **at, offset=3)["recovered"])
                for read in [late.call, live.api]:
                    got = []
                    while len(got) < 8:
                        page = read("history", channel="audit:x", limit=100, since={"offset": len(got), "epoch": ""})["publications"]
                        self.assertLess(len(page), 8)
                        got += [p["offset"] for p in page]
                    self.assertEqual(got, list(range(1, 9)))

    def test_a_client_that_takes_a_long_answer_slowly_is_not_ended(self):
        with Topics() as live:
            for _ in range(5):
                live.append("audit", "x" * (3 << 20))
            with live.client(rcvbuf=1 << 16) as c:
                c.commands({"subscribe": {"channel": "audit:x", "recover": True}})
                with live.client() as other:
                    other.call("subscribe", channel="audit:x")
                    for n in range(5):
                        live.append("audit", n)
                        other.publication()
                # The answer has those that were appended before it was made.
                data = [p["data"] for p in c.message()["subscribe"]["publications"]]
                self.assertGreaterEqual(len(data), 5)
                while len(data) < 10:
                    data.append(c.publication()["data"])
                self.assertEqual(data[5:], list(range(5)))

    def test_damaged_records_are_not_recovered(self):
        with Topics() as live:
            live.run("TOPIC.CREATE", "audit", "segment_bytes", 4096)
            for n in range(20):
                live.append("audit", f"record-{n:04}" + "x" * 1000)
            with live.client() as c:
                at = place(c.call("subscribe", channel="audit:x"))
            live.kill()
            for folder, _, files in os.walk(live.data):
                for name in files:
                    with open(os.path.join(folder, name), "r+b") as f:
                        found = f.read().find(b"record-0001")
                        if found >= 0:
                            f.seek(found)
                            f.write(b"R")
            live.start()
            with live.client() as c:
                for offset, recovered in [(0, False), (1, False), (2, True)]:
                    result = c.call("subscribe", channel="audit:x", **{**at, "offset": offset})
                    self.assertEqual((result.get("recovered", False), result["offset"]), (recovered, offset if recovered else 20))
                    self.assertEqual(len(result.get("publications", [])), 18 * recovered)
                    c.call("unsubscribe", channel="audit:x")
                history = lambda **asked: [p["offset"] for p in c.call("history", channel="audit:x", **asked)["publications"]]
                c.call("subscribe", channel="audit:x")
                self.assertEqual(history(limit=-1), [1])
                self.assertEqual(history(limit=-1, since={"offset": 2, "epoch": ""}), list(range(3, 21)))
                self.assertEqual(c.call("history", channel="audit:x", limit=1, since={"offset": 1, "epoch": ""})["code"], 100)
                live.append("audit", "after")
                self.assertEqual(c.publication(), {"data": "after", "offset": 21})

    def test_deltas(self):
        with Topics() as live, live.client() as c:
            text = "much that stays the same, " * 10
            live.append("audit", [text, 0])
            result = c.call("subscribe", channel="delta:x", delta="fossil", recover=True)
            self.assertTrue(result["delta"])
            self.assertEqual(json.loads(result["publications"][0]["data"]), [text, 0])
            # The first that the thread sends is whole, the others are what has changed.
            for n in (1, 2, 3):
                live.append("audit", [text, n])
                push = c.publication()
                self.assertEqual((push.get("delta", False), len(push["data"]) < 100), (n > 1, n > 1), push)
            with live.client() as plain:
                plain.call("subscribe", channel="delta:y")
                live.append("audit", 4)
                self.assertEqual(plain.publication(), {"data": 4, "offset": 5})

    def test_not_beside_a_broker(self):
        with Server() as broker, Topics("--live-broker", f"redis://127.0.0.1:{broker.port}") as live, live.client() as c:
            live.append("audit", 0)
            self.assertEqual(c.call("subscribe", channel="audit:x")["code"], 108)
            self.assertEqual(c.call("subscribe", channel="audit:x", recover=True)["code"], 108)
            self.assertIn(live.failing("history", channel="audit:x", limit=1), (102, 108))

    def test_the_latest_record_comes_with_the_subscription(self):
        with Topics() as live, live.client() as c:
            live.append("audit", *range(50))
            result = c.call("subscribe", channel="last:x")
            self.assertEqual((seen(result["publications"]), result["recovered"]), (numbers(49, 50), True))
            live.append("audit", 50)
            self.assertEqual(seen([c.publication()]), numbers(50, 51))

    def test_names_choose_topics(self):
        with Topics() as live, live.client() as c, live.client() as other:
            for topic in ["log.a", "log.b"]:
                live.append(topic, 0)
                c.call("subscribe", channel=f"log:{topic[4:]}")
            other.call("subscribe", channel="log:b")
            live.append("log.a", 1)
            live.append("log.b", 1)
            self.assertEqual(sorted(p["channel"] for p in pushes(c, 2)), ["log:a", "log:b"])
            self.assertEqual([p["channel"] for p in pushes(other, 1)], ["log:b"])
            self.assertEqual(len(c.call("presence", channel="log:b")["presence"]), 2)
            for bad in ["log:a/b", "log:", "log:../x", "log:a#42"]:
                self.assertIn(c.call("subscribe", channel=bad)["code"], (102, 107), bad)
            self.assertEqual(live.run("TOPIC.APPEND", "log.a", "RECORDS", "2"), b":2")

    def test_the_server_subscribes(self):
        with Topics() as live:
            live.append("audit", 0)
            live.append("log.a", 0)
            channels = ["audit:x", "ch:x", "log:a"]
            with WebSocket(live.port) as c:
                c.hello(token=token(sub="42", channels=channels))
                subs = c.connected["subs"]
                self.assertEqual([subs[name].get("offset", 0) for name in channels], [1, 0, 1])
                live.append("audit", 1)
                self.assertEqual(pushes(c, 1)[0]["pub"], {"data": 1, "offset": 2})
            live.append("audit", 2)
            with WebSocket(live.port) as c:
                c.hello(token=token(sub="42", channels=channels), subs={"audit:x": {"recover": True, "epoch": subs["audit:x"]["epoch"], "offset": 2}})
                self.assertEqual(seen(c.connected["subs"]["audit:x"]["publications"]), numbers(2, 3))
                # A topic that is replaced: the client comes back.
                live.run("TOPIC.DELETE", "audit")
                self.assertEqual(c.ended()[0], 3010)
            with WebSocket(live.port) as c:
                c.hello(token=token(sub="7"))
                live.api("subscribe", user="7", channel="log:a", recover_since={"offset": 0, "epoch": ""})
                self.assertIn("subscribe", c.push())
                live.append("log.a", 1)
                self.assertEqual([p["pub"] for p in pushes(c, 2)], [{"data": 0, "offset": 1}, {"data": 1, "offset": 2}])

    def test_another_server_subscribes(self):
        """Its namespace may be none of topics: it grants no positions."""
        with Topics() as live, WebSocket(live.port) as c:
            live.append("audit", 0)
            c.hello(token=token(sub="7"))
            subscribe = message(_1="7", _2="audit:x", _11=message(_1=0, _2=""))
            live.run("PUBLISH", "centrifugo.control", message(_1="another", _10=subscribe))
            result = c.push()["subscribe"]
            self.assertTrue(result["recoverable"] and result["positioned"], result)
            live.append("audit", 1)
            self.assertEqual([p["pub"] for p in pushes(c, 2)], [{"data": 0, "offset": 1}, {"data": 1, "offset": 2}])
            live.run("TOPIC.DELETE", "audit")
            self.assertEqual(c.ended()[0], 3010)

    def test_a_topic_is_replaced_between_two_records(self):
        """The new one has more records than the old one had: an offset alone does not tell that it is another."""
        http_port = free_port()
        with Topics("--http-port", http_port, "--threads", 1, "--busy-reply-threshold", 1) as live, live.client() as c:
            live.append("audit", 0)
            self.assertEqual(c.call("subscribe", channel="audit:x")["offset"], 1)

            def request(method, path, body=None):
                h = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE_S)
                h.request(method, f"/v1/topics/audit{path}", body)
                answer = h.getresponse()
                text = answer.read()
                h.close()
                self.assertLess(answer.status, 300, text)

            with live.connect() as busy, live.connect() as kills:
                # The only thread is busy: a record is on its way to it when the topic is replaced, and the next is read after.
                busy.send(b"EVAL \"while true do end\" 0\r\n")
                wait_until(lambda: kills.command("PING").startswith(b"-BUSY"), "the script runs")
                request("POST", "/records", "1")
                time.sleep(0.3)
                request("DELETE", "")
                request("PUT", "")
                for n in range(10, 16):
                    request("POST", "/records", str(n))
                self.assertEqual(kills.command("SCRIPT", "KILL"), b"+OK")
            pushed = c.push()
            if "pub" in pushed:
                self.assertEqual(pushed["pub"], {"data": 1, "offset": 2})
                pushed = c.push()
            self.assertEqual(pushed["unsubscribe"]["code"], 2500)
            result = c.call("subscribe", channel="audit:x", recover=True, offset=0, epoch="")
            self.assertEqual(seen(result["publications"]), [(n - 9, n) for n in range(10, 16)])

    def test_the_user_of_channels_needs_the_topic(self):
        with Topics("--live-user", "live") as live, live.client() as c:
            live.append("audit", 0)
            live.append("log.a", 0)
            self.assertEqual(c.call("subscribe", channel="audit:x")["code"], 103)
            live.run("ACL", "SETUSER", "live", "on", "nopass", "%R~log.*", "+topic.read")
            self.assertEqual(c.call("subscribe", channel="audit:x")["code"], 103)
            self.assertEqual(c.call("history", channel="audit:x", limit=1)["code"], 103)
            self.assertEqual(live.failing("history", channel="audit:x", limit=1), 108)
            c.call("subscribe", channel="log:a")
            live.append("log.a", 1)
            self.assertEqual([p["pub"]["data"] for p in pushes(c, 1)], [1])
            # What is taken away counts from the next record on.
            live.run("ACL", "SETUSER", "live", "resetkeys")
            live.append("log.a", 2)
            while "unsubscribe" not in (push := c.push()):
                self.assertNotIn("pub", push)
            self.assertEqual(push["unsubscribe"]["code"], 2500)
            self.assertEqual(c.call("subscribe", channel="log:a")["code"], 103)

    def test_new_options_name_another_topic(self):
        with Topics() as live, live.client() as c:
            live.append("audit", 0)
            live.append("other", 10, 11)
            at = place(c.call("subscribe", channel="audit:x"))
            file = os.path.join(live.dir.name, "live.json")
            with open(file, encoding="utf-8") as f:
                text = f.read()
            with open(file, "w", encoding="utf-8") as f:
                f.write(text.replace('"topic": "audit"', '"topic": "other"'))
            live.run("CONFIG", "SET", "live-config", file)
            self.assertEqual(c.push()["unsubscribe"]["code"], 2500)
            result = c.call("subscribe", channel="audit:x", **at)
            self.assertEqual((result.get("recovered"), result["offset"]), (None, 2))
            live.append("other", 12)
            self.assertEqual(c.publication(), {"data": 12, "offset": 3})

    def test_figures(self):
        with Topics() as live:
            live.append("audit", 0)
            with live.client() as c:
                c.call("subscribe", channel="audit:x", recover=True)
                live.append("audit", 1)
                c.publication()
                with live.connect() as info:
                    text = info.exactly(int(info.command("INFO", "live")[1:])).decode()
                line = text.split("live_namespace_audit:")[1].split("\r\n")[0]
                self.assertEqual(line, "subscriptions=1,channels=1,published=0,delivered=1,recovered=1,not_recovered=0")


def pushes(c, n):
    """The next pushes that are no joins and leaves."""
    got = []
    while len(got) < n:
        push = c.push()
        if "join" not in push and "leave" not in push:
            got.append(push)
    return got


if __name__ == "__main__":
    unittest.main()
