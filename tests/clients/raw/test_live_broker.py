"""Live channels in another server (`live-broker`): two web ports serve one set of channels."""

import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import threading
import unittest
import urllib.request
from unittest import mock

from harness.live import Live, token
from harness.ports import free_port
from harness.replication import Client, Error, Redis, caught_up
from harness.server import PATIENCE_S, Server, beyond_redis, wait_until
from harness.tls import TlsServer, authority, strangers
from raw.test_failover import Sentinel

KEPT = {"history_size": 1000, "history_ttl": "60s", "force_recovery": True}
SEEN = {"presence": True, "join_leave": True, "force_push_join_leave": True}
NAMESPACES = {
    "ch": KEPT,
    "at": {**KEPT, **SEEN},
    "no": {},
    "in": {"publish_from_resp": "json"},
}


def url(broker):
    return f"redis://127.0.0.1:{broker.port}"


def port(*urls, more=(), client=None):
    """A web port whose channels are elsewhere, when it has reached all of them."""
    client = {"recovery_max_publication_limit": 1000, **(client or {})}
    live = Live("--live-broker", " ".join(urls), *more, namespaces=NAMESPACES, client=client)
    try:
        reaches(live, len(urls))
    except BaseException:
        live.__exit__()
        raise
    return live


def info(live):
    with Client(live.server.port) as c:
        return c.info("live")


def reaches(live, shards=1):
    wait_until(lambda: info(live)["live_broker_connected"] == str(shards), "the broker is reached")


def told(client):
    """The next message, which ends a subscription: its code."""
    return client.push()["unsubscribe"]["code"]


class Api:
    """A connection for requests to the HTTP API."""

    def __init__(self, live):
        self.socket = socket.create_connection(("127.0.0.1", live.port), PATIENCE_S)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    @staticmethod
    def request(method, body, version="1.1", more=""):
        body = json.dumps(body)
        head = f"POST /api/{method} HTTP/{version}\r\nHost: x\r\nX-API-Key: K\r\n{more}"
        return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    def publish(self, data, channel="ch:1", **options):
        return self.request("publish", {"channel": channel, "data": data}, **options)

    def answer(self):
        """The next answer: its status, what its field Connection says, and its body."""
        status, fields = int(self.file.readline().split()[1]), {}
        while (line := self.file.readline()) != b"\r\n":
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        body = self.file.read(int(fields["content-length"]))
        return status, fields.get("connection"), json.loads(body) if body[:1] == b"{" else body

    def offset(self):
        status, connection, body = self.answer()
        assert (status, connection) == (200, None), (status, connection, body)
        return body["result"]["offset"]


def lose(broker, channel):
    """Adds a publication to a history of which nobody is told, as if the message was lost."""
    with Client(broker.port) as c:
        offset = c("HINCRBY", f"centrifugo.stream.meta.{channel}", "s", 1)
        assert c("XADD", f"centrifugo.stream.{channel}", offset, "d", b'\x22\x06"lost"'), offset


def each(test):
    """Runs a test with a broker of each kind, and two web ports."""

    def run(self):
        for kind in [Server, Redis]:
            with self.subTest(kind=kind.__name__), contextlib.ExitStack() as self.all:
                broker = self.all.enter_context(kind())
                test(self, broker, *self.two(url(broker)))

    return run


@beyond_redis
class TestBroker(unittest.TestCase):
    def setUp(self):
        self.all = self.enterContext(contextlib.ExitStack())

    def two(self, *urls, **options):
        return [self.all.enter_context(port(*urls, **options)) for _ in range(2)]

    @each
    def test_what_is_published_at_one_arrives_at_the_other(self, broker, a, b):
        with a.client() as c, b.client() as d, a.client() as e, b.client() as f:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            self.assertEqual(d.call("subscribe", channel="ch:1")["epoch"], epoch)
            c.call("subscribe", channel="no:1")
            for n in range(100):
                live, client = (a, f) if n % 2 else (b, e)
                if n % 3:
                    self.assertEqual(live.publish("ch:1", n), {"offset": n + 1, "epoch": epoch})
                else:
                    self.assertEqual(client.call("publish", channel="ch:1", data=n), {})
            for client in [c, d]:
                got = [client.publication() for _ in range(100)]
                self.assertEqual([(p["offset"], p["data"]) for p in got], [(n + 1, n) for n in range(100)])
            self.assertEqual(b.publish("no:1", "x"), {})
            self.assertEqual(c.publication()["data"], "x")
            # Nothing of it is in the servers themselves.
            with Client(a.server.port) as own:
                self.assertEqual(own("DBSIZE"), 0)
            self.assertEqual(Client(broker.port)("XLEN", "centrifugo.stream.ch:1"), 100)

    @each
    def test_history_and_recovery(self, _, a, b):
        with a.client() as c, b.client() as d:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            for n in range(5):
                a.publish("ch:1", n)
            read = d.call("history", channel="ch:1", limit=2, since={"offset": 1, "epoch": epoch})
            self.assertEqual([p["data"] for p in read["publications"]], [1, 2])
            self.assertEqual((read["offset"], read["epoch"]), (5, epoch))
            wrong = d.call("history", channel="ch:1", limit=2, since={"offset": 1, "epoch": "x"})
            self.assertEqual(wrong["code"], 112)
            again = d.call("subscribe", channel="ch:1", recover=True, offset=2, epoch=epoch)
            self.assertTrue(again["recovered"])
            self.assertEqual([p["data"] for p in again["publications"]], [2, 3, 4])
            self.assertEqual(d.call("subscribe", channel="ch:1")["code"], 105)
            # By the API, as a batch, and in reverse.
            read = b.api("history", channel="ch:1", limit=2, reverse=True)
            self.assertEqual([p["data"] for p in read["publications"]], [4, 3])
            batch = [{"publish": {"channel": "ch:1", "data": 5}}, {"history": {"channel": "ch:1"}}]
            replies = b.answer("batch", commands=batch)["replies"]
            self.assertEqual([r["publish"]["offset"] for r in replies[:1]], [6])
            self.assertEqual(replies[1]["history"]["offset"], 6)
            a.api("history_remove", channel="ch:1")
            with b.client() as e:
                lost = e.call("subscribe", channel="ch:1", recover=True, offset=2, epoch=epoch)
                self.assertEqual((lost["recovered"], lost["offset"]) if "recovered" in lost else lost["offset"], 6)

    @each
    def test_what_is_not_published_takes_no_offset(self, broker, a, b):
        with a.client() as c:
            c.call("subscribe", channel="ch:1")
            offsets = [b.publish("ch:1", v, version=v)["offset"] for v in [2, 1, 2, 3]]
            self.assertEqual(offsets, [1, 1, 1, 2])
            offsets = [b.publish("ch:1", k, idempotency_key=k)["offset"] for k in ["x", "y", "x"]]
            self.assertEqual(offsets, [3, 4, 3])
            self.assertEqual([c.publication()["data"] for _ in range(4)], [2, 3, "x", "y"])

    @each
    def test_subscriptions_that_begin_under_load_miss_nothing(self, broker, a, b):
        with a.client() as c:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
        last = 600

        def publish():
            with Client(b.server.port) as r:
                for n in range(1, last + 1):
                    assert r("LIVE.PUBLISH", "ch:1", n)[0] == n

        publisher = threading.Thread(target=publish)
        publisher.start()
        late = []
        while publisher.is_alive():
            # On both, so that a channel is left and entered again meanwhile.
            client = self.all.enter_context([a, b][len(late) % 2].client())
            result = client.call("subscribe", channel="ch:1", recover=True, offset=0, epoch=epoch)
            self.assertTrue(result["recovered"])
            late.append((client, [p["offset"] for p in result.get("publications", [])]))
            if len(late) % 3 == 0:
                client.call("unsubscribe", channel="ch:1")
                late[-1] = None
        publisher.join()
        self.assertGreater(len(late), 5)
        for client, got in filter(None, late):
            while not got or got[-1] < last:
                got.append(client.publication()["offset"])
            self.assertEqual(got, list(range(1, last + 1)))

    @each
    def test_a_channel_is_left_and_entered_again(self, broker, a, b):
        with a.client() as c:
            for n in range(50):
                self.assertIn("epoch", c.call("subscribe", channel="ch:1"))
                self.assertEqual(b.publish("ch:1", n)["offset"], n + 1)
                self.assertEqual(c.publication()["data"], n)
                self.assertEqual(c.call("unsubscribe", channel="ch:1"), {})
            wait_until(lambda: info(a)["live_broker_channels"] == "0", "no channel is followed")
            with Client(broker.port) as r:
                wait_until(lambda: r("PUBSUB", "NUMSUB", "centrifugo.client.ch:1")[1] == 0, "nor at the broker")

    @each
    def test_presence_joins_and_leaves(self, broker, a, b):
        with a.client() as c, b.client() as d:
            c.call("subscribe", channel="at:1")
            self.assertEqual(c.push()["join"]["info"]["client"], c.connected["client"])
            d.call("subscribe", channel="at:1")
            self.assertEqual(c.push()["join"]["info"]["client"], d.connected["client"])
            both = {c.connected["client"], d.connected["client"]}
            self.assertEqual(set(d.call("presence", channel="at:1")["presence"]), both)
            self.assertEqual(c.call("presence_stats", channel="at:1")["num_clients"], 2)
            self.assertEqual(a.api("presence_stats", channel="at:1"), {"num_clients": 2, "num_users": 1})
            d.close()
            self.assertEqual(c.push()["leave"]["info"]["client"], d.connected["client"])
            wait_until(lambda: a.api("presence_stats", channel="at:1")["num_clients"] == 1, "it is gone")
            with Client(broker.port) as r:
                key = "centrifugo.presence.data.at:1"
                self.assertEqual(r("HKEYS", key), [c.connected["client"].encode()])
            c.call("unsubscribe", channel="at:1")
            wait_until(lambda: not b.api("presence", channel="at:1").get("presence"), "nobody is there")

    @each
    def test_a_server_that_ends_leaves(self, broker, a, b):
        with a.client() as c, b.client() as d:
            d.call("subscribe", channel="at:1")
            d.push()
            c.call("subscribe", channel="at:1")
            self.assertEqual(d.push()["join"]["info"]["client"], c.connected["client"])
            wait_until(lambda: len(b.api("info")["nodes"]) == 2, "they have met")
            a.server.process.send_signal(signal.SIGTERM)
            self.assertEqual(a.server.wait(), 0)
            self.assertEqual(d.push()["leave"]["info"]["client"], c.connected["client"])
            self.assertEqual(set(b.api("presence", channel="at:1")["presence"]), {d.connected["client"]})
            self.assertEqual(len(b.api("info")["nodes"]), 1)

    @each
    def test_connections_begin_with_channels_and_what_they_missed(self, _, a, b):
        with b.client(connect=False) as c:
            c.hello(token=token(sub="u", channels=["ch:1", "at:1"]))
            subs = c.connected["subs"]
            self.assertEqual(set(subs), {"ch:1", "at:1"})
            self.assertEqual(c.push()["join"]["info"]["user"], "u")
            a.publish("ch:1", 1)
            self.assertEqual(c.publication()["data"], 1)
        for n in [2, 3]:
            a.publish("ch:1", n)
        with b.client(connect=False) as c:
            since = {"recover": True, "offset": 1, "epoch": subs["ch:1"]["epoch"]}
            c.hello(token=token(sub="u", channels=["ch:1"]), subs={"ch:1": since})
            sub = c.connected["subs"]["ch:1"]
            self.assertTrue(sub["recovered"])
            self.assertEqual([p["data"] for p in sub["publications"]], [2, 3])

    @each
    def test_servers_know_each_other(self, _, a, b):
        with a.client(connect=False) as c, b.client() as d:
            c.hello(token=token(sub="u"))
            wait_until(lambda: len(b.api("info")["nodes"]) == 2, "they have met")
            # The other server subscribes it, unsubscribes it, and ends it.
            b.api("subscribe", user="u", channel="at:1")
            self.assertIn("subscribe", c.push())
            self.assertIn("join", c.push())
            d.call("subscribe", channel="ch:2")
            wait_until(lambda: len(a.api("channels")["channels"]) == 2, "both channels are known")
            b.api("unsubscribe", user="u", channel="at:1")
            self.assertEqual(told(c), 2000)
            b.api("disconnect", user="u")
            self.assertEqual(c.ended()[0], 3503)

    @each
    def test_commands(self, broker, a, b):
        with b.client() as c, Client(a.server.port) as r:
            epoch = c.call("subscribe", channel="ch:1")["epoch"].encode()
            c.call("subscribe", channel="in:1")
            self.assertEqual(r("LIVE.PUBLISH", "ch:1", "1"), [1, epoch])
            self.assertEqual(c.publication()["offset"], 1)
            # Replies keep their order.
            r.send(b"LIVE.PUBLISH ch:1 2\r\nPING\r\nLIVE.HISTORY ch:1\r\n")
            self.assertEqual((r.reply(), r.reply()), ([2, epoch], b"PONG"))
            self.assertIn(b'"offset":2', r.reply())
            self.assertEqual(r("MULTI"), b"OK")
            r("LIVE.PUBLISH", "ch:1", "3")
            [refused] = r("EXEC")
            self.assertIn("live-broker", str(refused))
            self.assertIsInstance(r("LIVE.PUBLISH", "none:1", "1"), Error)
            self.assertEqual(c.publication()["data"], 2)
            # PUBLISH at the broker to the own name of a channel.
            self.assertEqual(Client(broker.port)("PUBLISH", "in:1", '{"a":1}'), 1)
            self.assertEqual(c.publication(), {"data": {"a": 1}})

    @each
    def test_new_options(self, broker, a, b):
        file = os.path.join(a.dir.name, "live.json")
        with open(file, encoding="utf-8") as f:
            config = json.load(f)

        def set_option(value):
            for namespace in config["channel"]["namespaces"]:
                if namespace["name"] == "no":
                    namespace["publish_from_resp"] = value
            with open(file + ".new", "w", encoding="utf-8") as f:
                json.dump(config, f)
            os.replace(file + ".new", file)

        with a.client() as c, Client(broker.port) as r:
            c.call("subscribe", channel="no:1")
            self.assertEqual(r("PUBLISH", "no:1", "0"), 0)
            set_option("json")
            wait_until(lambda: r("PUBLISH", "no:1", "1") == 1, "its own name is followed")
            self.assertEqual(c.publication()["data"], 1)
            set_option("")
            wait_until(lambda: r("PUBLISH", "no:1", "2") == 0, "and not any more")

    @each
    def test_lost_messages_are_seen_when_the_connection_breaks(self, broker, a, _):
        with a.client() as c, a.client() as d:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            d.call("subscribe", channel="ch:2")
            a.publish("ch:1", 1)
            self.assertEqual(c.publication()["data"], 1)
            lose(broker, "ch:1")
            with Client(broker.port) as r:
                self.assertGreater(r("CLIENT", "KILL", "TYPE", "pubsub"), 0)
            self.assertEqual(told(c), 2500)
            again = c.call("subscribe", channel="ch:1", recover=True, offset=1, epoch=epoch)
            self.assertTrue(again["recovered"])
            self.assertEqual([p["data"] for p in again["publications"]], ["lost"])
            # It goes on where nothing was lost.
            a.publish("ch:2", 2)
            self.assertEqual(d.publication()["data"], 2)
            self.assertGreaterEqual(int(info(a)["live_broker_gaps"]), 1)

    @each
    def test_every_subscriber_sees_a_sequence_without_gaps_while_connections_break(self, broker, a, b):
        last, done = 1000, threading.Event()

        def publish():
            with Client(b.server.port) as r:
                for n in range(1, last + 1):
                    assert r("LIVE.PUBLISH", "ch:1", n)[0] == n
            done.set()

        def cut():
            with Client(broker.port) as r:
                while not done.wait(0.05):
                    r("CLIENT", "KILL", "TYPE", "pubsub")

        def follow(client):
            place = client.call("subscribe", channel="ch:1")
            got, epoch = [], place["epoch"]
            ready.release()
            while not got or got[-1] < last:
                push = client.push()
                if "pub" in push:
                    got.append(push["pub"]["offset"])
                    continue
                self.assertEqual(push["unsubscribe"]["code"], 2500)
                since = got[-1] if got else 0
                again = client.call("subscribe", channel="ch:1", recover=True, offset=since, epoch=epoch)
                self.assertTrue(again["recovered"])
                self.assertEqual(client.before, [])
                got += [p["offset"] for p in again.get("publications", [])]
            return got

        ready = threading.Semaphore(0)
        clients = [self.all.enter_context(live.client()) for live in [a, a, b, b]]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            followed = [pool.submit(follow, client) for client in clients]
            for _ in clients:
                ready.acquire()
            others = [pool.submit(publish), pool.submit(cut)]
            for one in followed:
                self.assertEqual(one.result(), list(range(1, last + 1)))
            for one in others:
                one.result()
        self.assertGreater(int(info(a)["live_broker_gaps"]), 0)

    def test_a_check_of_positions_finds_what_was_lost(self):
        with Server() as broker, port(url(broker), client={"channel_position_check_delay": "1s"}) as a:
            with a.client() as c:
                c.call("subscribe", channel="ch:1")
                lose(broker, "ch:1")
                self.assertEqual(told(c), 2500)

    def test_the_broker_is_restarted(self):
        for kind in [lambda at: Server("--port", at), lambda at: Redis(port=at)]:
            at = free_port()
            broker = kind(at)
            with self.subTest(kind=type(broker).__name__), port(f"redis://127.0.0.1:{at}") as a, a.client() as c:
                c.call("subscribe", channel="ch:1")
                c.call("subscribe", channel="no:1")
                a.publish("ch:1", 1)
                self.assertEqual(c.publication()["data"], 1)
                broker.close()
                wait_until(lambda: info(a)["live_broker_connected"] == "0", "it is missed")
                a.server.wait_for_log("it is not reached")
                error = c.call("publish", channel="ch:1", data=2)
                self.assertEqual((error["code"], error.get("temporary")), (100, True))
                self.assertEqual(c.call("history", channel="ch:1")["code"], 100)
                with self.assertRaises(AssertionError):
                    a.publish("ch:1", 2)
                with Client(a.server.port) as r:
                    self.assertIn("100", str(r("LIVE.PUBLISH", "ch:1", 2)))
                with a.client() as d:
                    d.send({"id": 2, "subscribe": {"channel": "ch:1"}})
                    self.assertEqual(d.ended()[0], 3004)
                broker = kind(at)
                self.addCleanup(broker.close)
                reaches(a)
                # The history is another one.
                self.assertEqual(told(c), 2500)
                wait_until(lambda: "code" not in c.call("publish", channel="no:1", data=2), "it is published")
                pubs = [m["push"]["pub"]["data"] for m in c.before if "pub" in m.get("push", {})]
                self.assertEqual(pubs or [c.publication()["data"]], [2])
                self.assertEqual(a.publish("ch:1", 1)["offset"], 1)

    def test_a_broker_that_stalls(self):
        with Server() as broker, port(url(broker)) as a, a.client() as c, a.client() as d:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            broker.process.send_signal(signal.SIGSTOP)
            self.assertEqual(c.call("publish", channel="ch:1", data=1)["code"], 100)
            d.send({"id": 2, "subscribe": {"channel": "ch:2"}})
            self.assertEqual(d.ended()[0], 3004)
            broker.process.send_signal(signal.SIGCONT)
            reaches(a)
            # The publication may have been executed all the same: then a subscriber gets it, or is told that it did not.
            last = a.publish("ch:1", 2)["offset"]
            got = []
            while not got or got[-1] < last:
                push = c.push()
                if "pub" in push:
                    got.append(push["pub"]["offset"])
                    continue
                self.assertEqual(push["unsubscribe"]["code"], 2500)
                since = got[-1] if got else 0
                again = c.call("subscribe", channel="ch:1", recover=True, offset=since, epoch=epoch)
                self.assertTrue(again["recovered"])
                got += [p["offset"] for p in again.get("publications", [])]
            self.assertEqual(got, list(range(1, last + 1)))

    def test_a_broker_that_is_not_there_yet(self):
        at = free_port()
        live = Live("--live-broker", f"redis://:secret@127.0.0.1:{at}", namespaces=NAMESPACES)
        with live as a, a.client() as c, Client(a.server.port) as r:
            # What needs no broker is there.
            self.assertEqual((r("SET", "k", "v"), r("GET", "k")), (b"OK", b"v"))
            self.assertEqual(len(a.api("info")["nodes"]), 1)
            a.server.wait_for_log(f"live-broker 127.0.0.1:{at}: it is not reached")
            self.assertNotIn("secret", "\n".join(a.server.log))
            self.assertEqual(info(a)["live_broker_connected"], "0")
            # What needs it is refused, by each way in.
            self.assertEqual(c.call("publish", channel="no:1", data=1)["code"], 100)
            self.assertEqual(c.call("history", channel="ch:1")["code"], 100)
            self.assertEqual(a.answer("publish", channel="no:1", data=1)["error"]["code"], 100)
            self.assertIn("100", str(r("LIVE.PUBLISH", "no:1", 1)))
            with a.client() as d:
                d.send({"id": 2, "subscribe": {"channel": "no:1"}})
                self.assertEqual(d.ended()[0], 3004)
            with Server("--port", at, "--requirepass", "secret"):
                reaches(a)
                c.call("subscribe", channel="no:1")
                self.assertEqual(c.call("publish", channel="no:1", data=1), {})
                pubs = [m["push"]["pub"]["data"] for m in c.before if "pub" in m.get("push", {})]
                self.assertEqual(pubs or [c.publication()["data"]], [1])
                self.assertEqual(a.publish("ch:1", 1)["offset"], 1)

    def test_channels_are_shared_by_two_brokers(self):
        with Server() as one, Redis() as two:
            a, b = self.two(url(one), url(two))
            with a.client() as c:
                names = [f"ch:{n}" for n in range(20)]
                for name in names:
                    c.call("subscribe", channel=name)
                for name in names:
                    self.assertEqual(b.publish(name, name)["offset"], 1)
                self.assertEqual({c.publication()["data"] for _ in names}, set(names))
                keys = [sorted(Client(s.port)("KEYS", "centrifugo.stream.ch:*")) for s in [one, two]]
                self.assertEqual(sum(map(len, keys)), 20)
                self.assertTrue(all(keys), keys)
                # When one is gone, the channels of the other go on.
                two.process.kill()
                wait_until(lambda: info(b)["live_broker_connected"] == "1", "one is missed")
                stays = keys[0][0].decode().removeprefix("centrifugo.stream.")
                gone = keys[1][0].decode().removeprefix("centrifugo.stream.")
                self.assertEqual(b.publish(stays, 2)["offset"], 2)
                self.assertEqual(c.publication()["data"], 2)
                self.assertEqual(c.call("publish", channel=gone, data=2)["code"], 100)

    def test_a_cluster(self):
        for partitions in [0, 4]:
            with self.subTest(partitions=partitions), contextlib.ExitStack() as self.all:
                # Without the option the bus is 10,000 above the port, where outgoing connections may be.
                cluster = ("--cluster-enabled", "yes", "--cluster-port", free_port())
                broker = self.all.enter_context(Redis(*cluster))
                with Client(broker.port) as r:
                    self.assertEqual(r("CLUSTER", "ADDSLOTSRANGE", 0, 16383), b"OK")
                    wait_until(lambda: b"cluster_state:ok" in r("CLUSTER", "INFO"), "the cluster serves")
                cluster = f"redis+cluster://127.0.0.1:{broker.port}"
                a, b = self.two(cluster, more=("--live-broker-partitions", partitions))
                with a.client() as c, b.client() as d:
                    c.call("subscribe", channel="at:1")
                    c.push()
                    with Client(broker.port) as r:
                        names = [r("PUBSUB", kind) for kind in ["CHANNELS", "SHARDCHANNELS"]]
                    of = [[name for name in all if b".client." in name] for all in names]
                    self.assertEqual([len(all) for all in of], [0, 1] if partitions else [1, 0], names)
                    for n in range(3):
                        self.assertEqual(b.publish("at:1", n)["offset"], n + 1)
                    self.assertEqual([c.publication()["data"] for _ in range(3)], [0, 1, 2])
                    self.assertEqual(d.call("presence_stats", channel="at:1")["num_clients"], 1)

    def test_sentinel(self):
        quick = ("--repl-diskless-sync-delay", 0)
        old = self.all.enter_context(Server(*quick))
        new = self.all.enter_context(Server(*quick, "--replicaof", f"127.0.0.1 {old.port}"))
        wait_until(lambda: caught_up(old.port, new.port), "the replica follows")
        sentinels = [self.all.enter_context(Sentinel(old.port)) for _ in range(3)]
        for s in sentinels:
            wait_until(
                lambda s=s: isinstance(s.ask("CKQUORUM", "mymaster"), bytes)
                and len(s.ask("REPLICAS", "mymaster")) == 1
                and len(s.ask("SENTINELS", "mymaster")) == 2,
                "the Sentinels know all",
            )
        addresses = "&".join(f"addr=127.0.0.1:{s.port}" for s in sentinels[1:])
        of = f"redis+sentinel://127.0.0.1:{sentinels[0].port}?sentinel_master_name=mymaster&{addresses}"
        a, b = self.two(of)
        with a.client() as c:
            epoch = c.call("subscribe", channel="ch:1")["epoch"]
            self.assertEqual(b.publish("ch:1", 1)["offset"], 1)
            self.assertEqual(c.publication()["data"], 1)
            wait_until(lambda: caught_up(old.port, new.port), "the replica has it")
            old.process.kill()
            published = []

            def again():
                with b.client() as d:
                    published.append(d.call("publish", channel="ch:1", data="new"))
                return "code" not in published[-1]

            wait_until(again, "it is published to the new primary")
            # By the message, or by recovery when it came before the subscription.
            push = c.push()
            if "unsubscribe" in push:
                result = c.call("subscribe", channel="ch:1", recover=True, offset=1, epoch=epoch)
                self.assertTrue(result["recovered"])
                push = {"pub": result["publications"][0]}
            self.assertEqual((push["pub"]["data"], push["pub"]["offset"]), ("new", 2))

    @each
    def test_a_connection_of_the_api_goes_on(self, _, a, b):
        with Api(a) as c:
            for n in range(1, 20):
                c.socket.sendall(c.publish(n))
                self.assertEqual(c.offset(), n)
            # The channels of all servers.
            wait_until(lambda: len(a.api("info")["nodes"]) == 2, "they have met")
            for _ in range(2):
                c.socket.sendall(c.request("channels", {}))
                self.assertEqual(c.answer(), (200, None, {"result": {"channels": {}}}))
            # A client that sends no more is answered, and closed.
            c.socket.sendall(c.publish(20) + c.publish(21))
            c.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([c.offset(), c.offset()], [20, 21])
            self.assertEqual(c.file.read(), b"")
        with Api(a) as c:
            c.socket.sendall(c.publish(22, more="Connection: close\r\n") + c.publish("never"))
            self.assertEqual(c.answer()[:2], (200, "close"))
            self.assertEqual(c.file.read(), b"")
        with Api(a) as c:
            c.socket.sendall(c.publish(23, version="1.0", more="Connection: keep-alive\r\n"))
            self.assertEqual(c.answer()[:2], (200, "keep-alive"))
            c.socket.sendall(c.publish(24, version="1.0"))
            self.assertEqual(c.answer()[:2], (200, "close"))
            self.assertEqual(c.file.read(), b"")
        self.assertEqual(b.api("history", channel="ch:1")["offset"], 24)

    @each
    def test_requests_of_a_pipeline_are_answered_in_order(self, _, a, b):
        with Api(a) as c:
            # Some are answered by this server alone, some are none.
            other = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
            unknown = c.request("none", {})
            batch = c.request("batch", {"commands": [{"publish": {"channel": "ch:1", "data": 2}}] * 2})
            c.socket.sendall(other + c.publish(1) + unknown + other + batch + c.publish(3) + other)
            self.assertEqual(c.answer()[0], 404)
            self.assertEqual(c.offset(), 1)
            self.assertEqual([c.answer()[0] for _ in range(2)], [404, 404])
            self.assertEqual([r["publish"]["offset"] for r in c.answer()[2]["replies"]], [2, 3])
            self.assertEqual(c.offset(), 4)
            self.assertEqual(c.answer()[0], 404)
            # In pieces, so that heads and bodies arrive while an answer is waited for.
            text = b"".join(c.publish("x" * n) for n in range(50))
            for at in range(0, len(text), 37):
                c.socket.sendall(text[at : at + 37])
            self.assertEqual([c.offset() for _ in range(50)], list(range(5, 55)))
            # More than the server reads for a client that waits, by one that reads nothing meanwhile.
            count = 1000
            text = b"".join(c.publish("x" * 1000) for _ in range(count))
            sender = threading.Thread(target=c.socket.sendall, args=(text,))
            sender.start()
            self.assertEqual([c.offset() for _ in range(count)], list(range(55, 55 + count)))
            sender.join()

    def test_clients_of_the_api_while_the_broker_stalls(self):
        with Server() as broker, port(url(broker)) as a, Api(a) as c:
            broker.process.send_signal(signal.SIGSTOP)
            with Api(a) as gone:
                gone.socket.sendall(gone.publish(1) * 2)
            c.socket.sendall(c.publish(1) + c.publish(2))
            for _ in range(2):
                self.assertEqual(c.answer()[2]["error"]["code"], 100)
            broker.process.send_signal(signal.SIGCONT)
            reaches(a)
            c.socket.sendall(c.publish(3, channel="no:1"))
            self.assertEqual(c.answer(), (200, None, {"result": {}}))

    def test_a_broker_with_tls(self):
        with TlsServer("--requirepass", "p w") as broker:
            of = f"rediss://:p%20w@localhost:{broker.tls_port}"
            with mock.patch.dict(os.environ, SSL_CERT_FILE=authority().certificate):
                a, b = self.two(of)
            with a.client() as c:
                c.call("subscribe", channel="ch:1")
                self.assertEqual(b.publish("ch:1", 1)["offset"], 1)
                self.assertEqual(c.publication()["data"], 1)
                with Client(broker.port) as r:
                    self.assertEqual(r("AUTH", "p w"), b"OK")
                    # Its connections are those of the TLS port.
                    addresses = [line for line in r("CLIENT", "LIST").decode().splitlines() if "name=apus-live" in line]
                    self.assertTrue(addresses)
                    tls = [f":{broker.tls_port} " in line for line in addresses]
                    self.assertTrue(all(tls), addresses)
                    r("CLIENT", "KILL", "TYPE", "pubsub")
                wait_until(lambda: int(info(a)["live_broker_gaps"]) > 0, "it listens again")
                self.assertEqual(b.publish("ch:1", 2)["offset"], 2)
                self.assertEqual(c.publication()["data"], 2)
            # A broker whose authority is a stranger is not spoken with.
            with mock.patch.dict(os.environ, SSL_CERT_FILE=strangers().certificate):
                live = Live("--live-broker", of, namespaces=NAMESPACES)
            with live as d, d.client() as c:
                d.server.wait_for_log("it is not reached")
                self.assertEqual(c.call("publish", channel="no:1", data=1)["code"], 100)
                self.assertNotIn("p w", "\n".join(d.server.log))

    def test_metrics(self):
        admin = free_port()
        with Server() as broker, port(url(broker), more=("--admin-port", admin)) as a, a.client() as c:
            c.call("subscribe", channel="ch:1")
            a.publish("ch:1", 1)
            c.publication()
            with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics", timeout=PATIENCE_S) as answer:
                lines = answer.read().decode().splitlines()
            found = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith("apus_live_broker_")}
            names = ["shards", "connected", "channels", "messages_total", "errors_total", "gaps_total"]
            self.assertEqual(found, dict(zip([f"apus_live_broker_{name}" for name in names], [1, 1, 1, 1, 0, 0])))

    def test_a_url_that_is_none(self):
        for wrong in ["http://:secret@x", "redis://user:secret", "redis:secret@x", "redis//:secret@x"]:
            with self.subTest(wrong), self.assertRaises(AssertionError) as refused:
                Live("--live-broker", f"redis://ok {wrong}", namespaces=NAMESPACES)
            self.assertIn("live-broker: URL 2", str(refused.exception))
            self.assertNotIn("secret", str(refused.exception).split("log:")[-1])


if __name__ == "__main__":
    unittest.main()
