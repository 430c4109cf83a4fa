"""Live channels on a web port with TLS."""

import unittest

from harness.live import TRANSPORTS, TWO_WAYS, Gone, Live, WebSocket, subscribe
from harness.replication import Client
from harness.server import beyond_redis
from harness.tls import TlsServer, context

KEPT = {"history_size": 100, "history_ttl": "60s", "force_recovery": True}


def publication(c):
    """The next publication: what it holds."""
    while True:
        message = c.message()
        if "pub" in message:
            return message["pub"]


@beyond_redis
class TestTls(unittest.TestCase):
    def test_every_transport(self):
        with Live("--web-tls", "yes", namespaces={"ch": KEPT}, server=TlsServer) as live, Client(live.server.port) as r:
            # Larger than what the kernel takes at once, and in many records of TLS.
            large = '"' + "x" * 500_000 + '"'
            for name in TRANSPORTS:
                channel = f"ch:{name}"
                c, result = subscribe(name, live.port, channel, tls=context())
                self.assertEqual(r("LIVE.PUBLISH", channel, "1")[0], 1)
                self.assertEqual(publication(c)["data"], 1, name)
                r("LIVE.PUBLISH", channel, large)
                self.assertEqual(len(publication(c)["data"]), 500_000, name)
                if name in TWO_WAYS:
                    c.commands({"publish": {"channel": channel, "data": "own"}})
                    self.assertEqual(publication(c)["data"], "own", name)
                c.close()
                again, result = subscribe(name, live.port, channel, (1, result["epoch"]), tls=context())
                self.assertTrue(result["recovered"], name)
                again.close()
            with self.assertRaises(Gone):
                WebSocket(live.port)


if __name__ == "__main__":
    unittest.main()
