"""Options of replication, each with a value that makes a difference."""

import signal
import time
import unittest

from harness.replication import Client, caught_up
from harness.sentinels import Sentinels
from harness.server import Server, beyond_redis, wait_until

QUICK = ("--repl-diskless-sync-delay", 0, "--threads", 1)
# For what must not happen: so long it has to stay away.
WHILE_S = 3


@beyond_redis
class Options(unittest.TestCase):
    @staticmethod
    def info(server):
        with Client(server.port) as c:
            return c.info()

    def test_sentinel_lease_ms_is_longer_than_the_period_of_pings(self):
        with Server(*QUICK) as server, Client(server.port) as c:
            for value in (1, 500, 1500, -1):
                error = str(c("CONFIG", "SET", "sentinel-lease-ms", value))
                self.assertIn("argument must be 0 or between 1501 and", error)
            for value in (1501, 4000, 0):
                self.assertEqual(c("CONFIG", "SET", "sentinel-lease-ms", value), b"OK")


if __name__ == "__main__":
    unittest.main()
