"""What is left of channels when a server is killed without a journal, when all its clients return at once, and when memory
is short."""

import os
import shutil
import signal
import tempfile
import unittest

from harness.live import Live, WebSocket
from harness.ports import free_port
from harness.replication import Client
from harness.server import beyond_redis

HISTORY = {"history_size": 100, "history_ttl": "300s", "force_recovery": True}
CLIENTS = 300


@beyond_redis
class Restarts(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="apus-live-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.web = free_port()

    def start(self, *options):
        """A server with the same data and port as the one before it."""
        live = Live("--dir", self.dir, "--threads", 2, "--web-port", self.web, *options, namespaces={"ch": HISTORY})
        live.port = self.web
        self.addCleanup(live.__exit__)
        return live

    def kill(self, live):
        live.server.process.send_signal(signal.SIGKILL)
        live.server.process.wait()

    def client(self, position=None):
        """A subscriber; with a position it recovers."""
        c = WebSocket(self.web)
        self.addCleanup(c.close)
        asked = {"recover": True, "offset": position[0], "epoch": position[1]} if position else {}
        c.subscribed = c.hello().call("subscribe", channel="ch:a", **asked)
        return c

    def recovered(self, client):
        return client.subscribed.get("recovered"), [p["data"] for p in client.subscribed.get("publications", [])]

    def test_a_snapshot_keeps_history_and_epoch(self):
        live = self.start("--appendonly", "no")
        client = self.client()
        epoch = client.subscribed["epoch"]
        for n in range(3):
            live.publish("ch:a", n)
            client.publication()
        with Client(live.server.port) as c:
            self.assertEqual(c("SAVE"), b"OK")
        self.kill(live)
        self.assertFalse([name for name in os.listdir(self.dir) if "append" in name or "journal" in name])
        live = self.start("--appendonly", "no")
        again = self.client((1, epoch))
        self.assertEqual(self.recovered(again), (True, [1, 2]))
        self.assertEqual(again.subscribed["epoch"], epoch)
        # Offsets go on where they were.
        self.assertEqual(live.publish("ch:a", 3), {"offset": 4, "epoch": epoch})
        self.assertEqual(again.publication()["offset"], 4)

    def test_what_is_behind_the_snapshot_is_not_recovered_in_silence(self):
        live = self.start("--appendonly", "no")
        epoch = live.publish("ch:a", 0)["epoch"]
        with Client(live.server.port) as c:
            self.assertEqual(c("SAVE"), b"OK")
        for n in range(1, 4):
            live.publish("ch:a", n)
        self.kill(live)
        live = self.start("--appendonly", "no")
        # This client has seen offset 4, which the server has forgotten.
        self.assertEqual(self.recovered(self.client((4, epoch))), (None, []))
        self.assertEqual(self.recovered(self.client((0, epoch))), (True, [0]))

    def test_many_clients_return_to_a_new_server(self):
        live = self.start("--appendonly", "yes", "--appendfsync", "always")
        first = [self.client() for _ in range(CLIENTS)]
        epoch = first[0].subscribed["epoch"]
        for n in range(5):
            live.publish("ch:a", n)
        for client in first:
            while client.publication()["offset"] < 5:
                pass
        for n in range(5, 9):
            live.publish("ch:a", n)
        self.kill(live)
        live = self.start("--appendonly", "yes", "--appendfsync", "always")
        # All of them are there before the first is answered.
        sockets = [WebSocket(self.web, {}) for _ in range(CLIENTS)]
        for c in sockets:
            self.addCleanup(c.close)
            c.commands({"subscribe": {"channel": "ch:a", "recover": True, "offset": 5, "epoch": epoch}})
        live.publish("ch:a", 9)
        for c in sockets:
            self.assertIn("connect", c.message())
            found = c.message()["subscribe"]
            self.assertTrue(found["recovered"])
            data = [p["data"] for p in found["publications"]]
            # What was published meanwhile is among them, or follows.
            while data[-1] != 9:
                data.append(c.publication()["data"])
            self.assertEqual(data, [5, 6, 7, 8, 9])
        self.assertEqual(int(Client(live.server.port).info("live")["live_recovered"]), CLIENTS)

    def test_an_evicted_history_is_told(self):
        live = self.start("--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
        epoch = live.publish("ch:a", 0)["epoch"]
        live.publish("ch:a", 1)
        self.assertEqual(self.recovered(self.client((1, epoch))), (True, [1]))
        with Client(live.server.port) as c:
            self.assertTrue(c("KEYS", "centrifugo.*"))
            used = int(c.info("memory")["used_memory"])
            self.assertEqual(c("CONFIG", "SET", "maxmemory", used + (1 << 20)), b"OK")
            for n in range(100_000):
                c("SET", f"k:{n}", "x" * 10_000)
                if n % 100 == 0 and not c("KEYS", "centrifugo.*"):
                    break
            self.assertEqual(c("KEYS", "centrifugo.*"), [])
            self.assertEqual(c("CONFIG", "SET", "maxmemory", 0), b"OK")
        gone = self.client((1, epoch))
        self.assertEqual(self.recovered(gone), (None, []))
        self.assertNotEqual(gone.subscribed["epoch"], epoch)
        self.assertEqual(live.publish("ch:a", 2)["offset"], 1)
        self.assertEqual(gone.publication()["offset"], 1)


if __name__ == "__main__":
    unittest.main()
