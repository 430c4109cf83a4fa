"""Live channels: what options of a namespace do to what subscribers are sent."""

import json
import time
import unittest

from harness.live import Live, WebSocket, token
from harness.protobuf import apply_delta, fields, message, whole
from harness.replication import Client
from harness.server import beyond_redis

KEPT = {"history_size": 10, "history_ttl": "60s", "force_recovery": True}
DELTAS = {**KEPT, "allowed_delta_types": ["fossil"], "delta_publish": True}


def document(n):
    """Something long of which little changes; the changes lie beside characters of several bytes."""
    return {"n": n, "text": "the same words again and again " * 5 + "é" * n + "ü€😀" * 20}


def publications(c, n):
    return [c.publication() for _ in range(n)]


@beyond_redis
class TestDeltas(unittest.TestCase):
    def test_deltas_follow_a_whole_publication(self):
        with Live(namespaces={"ch": DELTAS}) as live, live.client() as c, live.client() as plain:
            self.assertTrue(c.call("subscribe", channel="ch:1", delta="fossil", recoverable=True)["delta"])
            self.assertNotIn("delta", plain.call("subscribe", channel="ch:1"))
            for n in range(3):
                live.publish("ch:1", document(n), tags={"k": str(n)})
            got = publications(c, 3)
            self.assertEqual(whole(got), ([document(n) for n in range(3)], [False, True, True]))
            self.assertEqual([(p["offset"], p["tags"]["k"]) for p in got], [(1, "0"), (2, "1"), (3, "2")])
            self.assertEqual([p["data"] for p in publications(plain, 3)], [document(n) for n in range(3)])
            # One that comes in between begins with a whole one.
            with live.client() as late:
                late.call("subscribe", channel="ch:1", delta="fossil")
                live.publish("ch:1", document(3))
                self.assertEqual(whole([late.publication()]), ([document(3)], [False]))
            previous = json.dumps(document(2)).encode()
            self.assertEqual(whole([c.publication()], previous), ([document(3)], [True]))

    def test_a_delta_that_is_longer_is_not_sent(self):
        with Live(namespaces={"ch": DELTAS}) as live, live.client() as c:
            c.call("subscribe", channel="ch:1", delta="fossil")
            for data in [document(1), 7, "x"]:
                live.publish("ch:1", data)
            self.assertEqual(whole(publications(c, 3)), ([document(1), 7, "x"], [False] * 3))

    def test_recovered_publications_are_deltas_and_so_is_the_next(self):
        with Live(namespaces={"ch": DELTAS}) as live, live.client() as c:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            for n in range(4):
                live.publish("ch:1", document(n))
            with live.client() as again:
                request = {"recover": True, "epoch": epoch, "offset": 1, "delta": "fossil"}
                result = again.call("subscribe", channel="ch:1", **request)
                self.assertTrue(result["recovered"] and result["delta"])
                recovered = result["publications"]
                self.assertEqual(whole(recovered), ([document(n) for n in [1, 2, 3]], [False, True, True]))
                live.publish("ch:1", document(4))
                self.assertEqual(whole([*recovered, again.publication()])[1], [False, True, True, True])
            # Without anything missed it cannot be known what the client has.
            with live.client() as again:
                result = again.call("subscribe", channel="ch:1", **{**request, "offset": 5})
                self.assertTrue(result["recovered"])
                live.publish("ch:1", document(5))
                self.assertEqual(whole([again.publication()]), ([document(5)], [False]))

    def test_deltas_are_for_who_may_and_asks(self):
        asked = {"channel": "ch:1", "delta": "fossil"}
        with Live(namespaces={"ch": KEPT, "dd": {**DELTAS, "delta_publish": False}}) as live, live.client() as c:
            self.assertNotIn("delta", c.call("subscribe", **asked))
            live.publish("ch:1", document(1), delta=True)
            self.assertEqual(c.publication()["data"], document(1))
            # Where not every publication may be one, those that say so are.
            self.assertTrue(c.call("subscribe", channel="dd:1", delta="fossil")["delta"])
            for n in range(3):
                live.publish("dd:1", document(n), delta=n == 1)
            self.assertEqual(whole(publications(c, 3))[1], [False, True, False])
            c.send({"id": 9, "subscribe": {"channel": "dd:2", "delta": "vcdiff"}})
            self.assertEqual(c.ended()[0], 3501)

    def test_a_filter_and_a_gap_do_not_break_deltas(self):
        with Live(namespaces={"ch": {**DELTAS, "allow_tags_filter": True}}) as live, live.client() as c:
            c.call("subscribe", channel="ch:1", delta="fossil", tf={"key": "k", "cmp": "eq", "val": "1"})
            wanted = [1, 1, 0, 1, 1]
            for n, k in enumerate(wanted):
                live.publish("ch:1", document(n), tags={"k": str(k)})
            got = publications(c, 4)
            self.assertEqual(whole(got), ([document(n) for n in [0, 1, 3, 4]], [False, True, False, True]))
            # The history is removed: what comes next has nothing before it there.
            live.api("history_remove", channel="ch:1")
            live.publish("ch:1", document(5), tags={"k": "1"})
            last = c.publication()
            self.assertEqual(last["offset"], 6)
            self.assertEqual(whole([last], json.dumps(document(4)).encode())[0], [document(5)])

    def test_protobuf(self):
        with Live(namespaces={"ch": DELTAS}) as live, WebSocket(live.port, protobuf=True) as c:
            c.send(message(_1=1, _4=message()))
            self.assertIn(5, c.next())
            c.send(message(_1=2, _5=message(_1="ch:1", _12="fossil")))
            result = fields(c.next()[6][0])
            self.assertEqual(result[13], [1])
            data, previous = [], b""
            for n in range(3):
                live.publish("ch:1", document(n))
                publication = fields(fields(c.next()[4][0])[4][0])
                bytes_ = publication[4][0]
                self.assertEqual(8 in publication, n > 0)
                previous = apply_delta(previous, bytes_) if n else bytes_
                data.append(json.loads(previous))
            self.assertEqual(data, [document(n) for n in range(3)])


@beyond_redis
class TestCompaction(unittest.TestCase):
    def test_a_number_stands_for_the_channel(self):
        seen = {"presence": True, "join_leave": True, "force_push_join_leave": True}
        namespaces = {"ch": seen, "no": {**seen, "allow_channel_compaction": False}}
        with Live(namespaces=namespaces) as live, live.client() as c:
            first = c.call("subscribe", channel="ch:1", flag=1)["id"]
            second = c.call("subscribe", channel="ch:2", flag=1)["id"]
            self.assertTrue(0 < first != second > 0)
            self.assertNotIn("id", c.call("subscribe", channel="ch:3"))
            self.assertNotIn("id", c.call("subscribe", channel="no:1", flag=1))
            for channel in ["ch:1", "ch:2", "ch:3", "no:1"]:
                live.publish(channel, {"to": channel})
            pushes = []
            while len(pushes) < 4:
                push = c.push()
                if "pub" in push:
                    pushes.append((push.get("id"), push.get("channel"), push["pub"]["data"]["to"]))
            self.assertEqual(
                pushes,
                [(first, None, "ch:1"), (second, None, "ch:2"), (None, "ch:3", "ch:3"), (None, "no:1", "no:1")],
            )
            with live.client() as other:
                other.call("subscribe", channel="ch:2")
                push = c.push()
                self.assertEqual((push["id"], "join" in push, "channel" in push), (second, True, False))


@beyond_redis
class TestBatches(unittest.TestCase):
    def other(self, live, c):
        """A publication elsewhere, which nothing may come before."""
        live.publish("now:1", "now")
        push = c.push()
        self.assertEqual((push["channel"], push["pub"]["data"]), ("now:1", "now"))

    def clients(self, live):
        c = live.client()
        self.addCleanup(c.close)
        c.call("subscribe", channel="ch:1")
        c.call("subscribe", channel="now:1")
        return c

    def test_publications_wait_for_others(self):
        batched = {**KEPT, "batch_max_size": 3, "batch_max_delay": "3600s"}
        with Live("--threads", 1, namespaces={"ch": batched, "now": {}}) as live:
            c = self.clients(live)
            for n in [1, 2]:
                live.publish("ch:1", n)
            self.other(live, c)
            live.publish("ch:1", 3)
            self.assertEqual([(p["offset"], p["data"]) for p in publications(c, 3)], [(1, 1), (2, 2), (3, 3)])
            # A subscription that begins is for what comes after it; the others get what waits.
            live.publish("ch:1", 4)
            self.other(live, c)
            with live.client() as late:
                self.assertEqual(late.call("subscribe", channel="ch:1")["offset"], 4)
                self.assertEqual(c.publication()["data"], 4)
                for n in [5, 6, 7]:
                    live.publish("ch:1", n)
                self.assertEqual([p["data"] for p in publications(late, 3)], [5, 6, 7])
                self.assertEqual([p["data"] for p in publications(c, 3)], [5, 6, 7])

    def test_they_wait_for_a_time(self):
        with Live(namespaces={"ch": {**KEPT, "batch_max_delay": "300ms"}, "now": {}}) as live:
            c = self.clients(live)
            for n in [1, 2]:
                live.publish("ch:1", n)
            self.assertEqual([p["data"] for p in publications(c, 2)], [1, 2])
            live.publish("ch:1", 3)
            self.assertEqual(c.publication()["data"], 3)

    def test_the_latest_stands_for_all(self):
        latest = {**KEPT, "batch_max_size": 3, "batch_max_delay": "3600s", "batch_flush_latest": True}
        with Live("--threads", 1, namespaces={"ch": latest, "now": {}}) as live:
            c = self.clients(live)
            for n in range(1, 7):
                live.publish("ch:1", n)
            self.assertEqual([(p["offset"], p["data"]) for p in publications(c, 2)], [(3, 3), (6, 6)])
            self.other(live, c)


@beyond_redis
class TestHistory(unittest.TestCase):
    def test_versions_and_idempotency_keys(self):
        with Live(namespaces={"ch": KEPT}) as live, live.client() as c:
            c.call("subscribe", channel="ch:1")
            publish = lambda data, **more: live.publish("ch:1", data, **more)["offset"]
            self.assertEqual(publish("v3", version=3), 1)
            self.assertEqual(publish("v2", version=2), 1, "older")
            self.assertEqual(publish("v3", version=3), 1, "the same")
            self.assertEqual(publish("v4", version=4, version_epoch="a"), 2)
            self.assertEqual(publish("w1", version=1, version_epoch="b"), 3, "another count")
            self.assertEqual(publish("w1", version=1, version_epoch="b"), 3)
            self.assertEqual(publish("k", idempotency_key="k"), 4)
            self.assertEqual(publish("other", idempotency_key="k"), 4)
            self.assertEqual(publish("end"), 5)
            self.assertEqual([p["data"] for p in publications(c, 5)], ["v3", "v4", "w1", "k", "end"])

    def test_without_a_history_a_key_counts_too(self):
        with Live() as live, live.client() as c:
            c.call("subscribe", channel="ch:1")
            for data, key in [(1, "k"), (2, "k"), (3, "l")]:
                live.publish("ch:1", data, idempotency_key=key)
            self.assertEqual([p["data"] for p in publications(c, 2)], [1, 3])

    def test_a_cache_is_the_latest_publication(self):
        cache = {**KEPT, "force_recovery_mode": "cache"}
        with Live(namespaces={"ch": cache, "st": KEPT}) as live, live.client() as c:
            recover = lambda channel, c, **position: c.call("subscribe", channel=channel, recover=True, **position)
            empty = recover("ch:1", c)
            self.assertFalse(empty.get("recovered", False) or "publications" in empty)
            for n in range(12):
                live.publish("ch:1", n)
            with live.client() as again:
                result = recover("ch:1", again)
                self.assertTrue(result["recovered"] and result["was_recovering"])
                self.assertEqual([(p["offset"], p["data"]) for p in result["publications"]], [(12, 11)])
                live.publish("ch:1", "next")
                self.assertEqual(again.publication()["offset"], 13)
            # The client that has it is not sent it; one that has missed more than the history holds is.
            epoch = result["epoch"]
            for offset, sent in [(13, []), (1, ["next"]), (99, ["next"])]:
                with live.client() as again:
                    result = recover("ch:1", again, epoch=epoch, offset=offset)
                    self.assertTrue(result["recovered"], offset)
                    self.assertEqual([p["data"] for p in result.get("publications", [])], sent, offset)

    def test_clients_that_recover_together_see_each_change_between_them(self):
        with Live(namespaces={"ch": KEPT}) as live, live.client() as c, Client(live.server.port) as resp:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            for n in range(6):
                live.publish("ch:1", n)

            def recovers(*offsets, whole=True):
                for _ in range(3):
                    with live.client() as again:
                        result = again.call("subscribe", channel="ch:1", recover=True, epoch=epoch, offset=1)
                    self.assertEqual([p["offset"] for p in result.get("publications", [])], list(offsets))
                    self.assertEqual(result.get("recovered", False), whole)

            stream = "centrifugo.stream.ch:1"
            recovers(2, 3, 4, 5, 6)
            self.assertEqual(resp("XDEL", stream, "4-0"), 1)
            recovers(2, 3, 5, 6)
            live.publish("ch:1", "next")
            recovers(2, 3, 5, 6, 7)
            self.assertEqual(resp("XTRIM", stream, "MAXLEN", 4), 2)
            recovers(whole=False)
            self.assertEqual(resp("DEL", stream), 1)
            recovers(whole=False)
            # The same offsets and lengths with other data.
            resp("DEL", "centrifugo.stream.meta.ch:1")
            for n in range(6):
                live.publish("ch:1", -n)
            recovers(whole=False)

    def test_a_recovery_is_whole_or_none(self):
        with Live(namespaces={"ch": KEPT}, client={"recovery_max_publication_limit": 4}) as live, live.client() as c:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            for n in range(12):
                live.publish("ch:1", n)
            for offset, position, recovered in [
                (8, epoch, True), (7, epoch, False), (1, epoch, False), (12, epoch, True), (13, epoch, False), (11, "other", False),
            ]:
                with live.client() as again:
                    result = again.call("subscribe", channel="ch:1", recover=True, epoch=position, offset=offset)
                    self.assertEqual(result.get("recovered", False), recovered, offset)
                    self.assertEqual([p["offset"] for p in result.get("publications", [])], list(range(offset + 1, 13)) if recovered else [])
                    self.assertEqual(result["offset"], offset if recovered else 12)


@beyond_redis
class TestPositions(unittest.TestCase):
    def lose(self, live, channel):
        """A publication that is kept and does not arrive, as when a message between servers is lost."""
        with live.connect() as c:
            c.command("HINCRBY", f"centrifugo.stream.meta.{channel}", "s", 1)

    def test_what_is_lost_is_noticed_by_the_next_publication(self):
        with Live(namespaces={"ch": KEPT}) as live, live.client() as c:
            c.call("subscribe", channel="ch:1")
            live.publish("ch:1", 1)
            self.assertEqual(c.publication()["data"], 1)
            self.lose(live, "ch:1")
            live.publish("ch:1", 3)
            push = c.push()
            self.assertEqual((push["channel"], push["unsubscribe"]), ("ch:1", {"code": 2500, "reason": "insufficient state"}))
            self.assertEqual(c.call("subscribe", channel="ch:1")["offset"], 3)

    def test_what_is_lost_is_noticed_by_itself(self):
        with Live(namespaces={"ch": KEPT, "no": {}}, client={"channel_position_check_delay": "50ms"}) as live, live.client() as c:
            for channel in ["ch:1", "ch:2", "no:1"]:
                c.call("subscribe", channel=channel)
            live.publish("ch:1", 1)
            live.publish("ch:2", 1)
            publications(c, 2)
            self.lose(live, "ch:1")
            self.lose(live, "no:1")
            push = c.push()
            self.assertEqual((push["channel"], push["unsubscribe"]["code"]), ("ch:1", 2500))
            # A new life of the stream.
            with live.connect() as r:
                r.command("DEL", "centrifugo.stream.meta.ch:2")
            self.assertEqual(c.push()["channel"], "ch:2")
            # Where the server has subscribed, the client connects again.
            with live.client(connect=False) as server_side:
                server_side.hello(token=token(sub="u", channels=["ch:3"]))
                self.lose(live, "ch:3")
                self.assertEqual(server_side.ended(), (3010, "insufficient state"))

    def test_batches_are_not_lost_publications(self):
        batched = {**KEPT, "batch_max_delay": "3600s"}
        with Live(namespaces={"ch": batched}, client={"channel_position_check_delay": "50ms"}) as live, live.client() as c:
            c.call("subscribe", channel="ch:1")
            live.publish("ch:1", 1)
            self.assertEqual(c.publication()["data"], 1)


@beyond_redis
class TestExpiry(unittest.TestCase):
    GRACE = {"expired_close_delay": "1s", "expired_sub_close_delay": "1s"}

    def test_connections(self):
        with Live(client=self.GRACE) as live:
            with live.client(connect=False) as c, live.client(connect=False) as refreshed:
                soon = int(time.time()) + 4
                for one in [c, refreshed]:
                    one.hello(token=token(sub="u", exp=soon))
                    self.assertTrue(one.connected["expires"] and 0 < one.connected["ttl"] <= 4)
                result = refreshed.call("refresh", token=token(sub="u", exp=soon + 1000))
                self.assertTrue(result["expires"] and result["ttl"] > 900)
                self.assertEqual(c.ended(), (3005, "connection expired"))
                self.assertEqual(refreshed.call("rpc")["code"], 104, "it lives")
                refreshed.send({"id": 50, "refresh": {"token": token(sub="other")}})
                self.assertEqual(refreshed.ended()[0], 3500)
            with live.client(connect=False) as c:
                self.assertEqual(c.call("connect", token=token(sub="u", exp=int(time.time()) - 5))["code"], 109)

    def test_subscriptions(self):
        with Live(client=self.GRACE) as live, live.client(connect=False) as c:
            c.hello(token=token(sub="u"))
            soon = int(time.time()) + 4
            for channel in ["ch:1", "ch:2"]:
                result = c.call("subscribe", channel=channel, token=token(sub="u", channel=channel, exp=soon))
                self.assertTrue(result["expires"] and 0 < result["ttl"] <= 4, result)
            longer = token(sub="u", channel="ch:2", exp=soon + 1000)
            self.assertGreater(c.call("sub_refresh", channel="ch:2", token=longer)["ttl"], 900)
            push = c.push()
            self.assertEqual((push["channel"], push["unsubscribe"]), ("ch:1", {"code": 2501, "reason": "subscription expired"}))
            live.publish("ch:2", "still")
            self.assertEqual(c.publication()["data"], "still")
            self.assertEqual(c.call("sub_refresh", channel="ch:1", token=longer)["code"], 103)
            expired = token(sub="u", channel="ch:3", exp=soon - 100)
            self.assertEqual(c.call("subscribe", channel="ch:3", token=expired)["code"], 109)
            c.send({"id": 50, "sub_refresh": {"channel": "ch:2", "token": token(sub="u", channel="ch:9")}})
            self.assertEqual(c.ended()[0], 3500)

    def test_subscriptions_of_the_server(self):
        with Live(client=self.GRACE) as live, live.client(connect=False) as c:
            c.hello(token=token(sub="u"))
            live.api("subscribe", user="u", channel="ch:1", expire_at=int(time.time()) + 1)
            self.assertEqual(c.push()["subscribe"], {})
            self.assertEqual(c.ended(), (3006, "subscription expired"))


@beyond_redis
class TestRates(unittest.TestCase):
    def test_publications_of_a_client(self):
        rate = {"enabled": True, "buckets": [{"interval": "3600s", "rate": 3}]}
        limits = {"rate_limit": {"client_command": {"enabled": True, "publish": rate}}}
        with Live(client=limits) as live, live.client() as c, live.client() as other:
            for _ in range(3):
                self.assertEqual(c.call("publish", channel="ch:1", data=1), {})
            error = c.call("publish", channel="ch:1", data=1)
            self.assertEqual(error, {"code": 111, "message": "too many requests", "temporary": True})
            self.assertEqual(c.call("presence_stats", channel="ch:1")["code"], 108, "others are not limited")
            self.assertEqual(other.call("publish", channel="ch:1", data=1), {})


if __name__ == "__main__":
    unittest.main()
