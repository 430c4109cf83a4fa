"""redis-py asks Sentinels for the primary, and follows a failover."""

import contextlib
import shutil
import unittest

import redis
from harness.replication import REDIS, caught_up
from harness.server import PATIENCE_S, Server, beyond_redis, wait_until
from raw.test_failover import Sentinel
from redis.sentinel import MasterNotFoundError
from redis.sentinel import Sentinel as Sentinels

# What a client may see while the roles change; it tries again then.
PASSING = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, MasterNotFoundError)


def again(action):
    """The result of `action` once it does not fail for a failover that goes on."""
    result = []

    def done():
        try:
            result.append(action())
            return True
        except PASSING:
            return False

    wait_until(done, "the client has found the primary")
    return result[0]


@beyond_redis
@unittest.skipUnless(shutil.which(REDIS), "there is no redis-server")
class Failover(unittest.TestCase):
    def test_a_client_follows_the_primary(self):
        for protocol in (2, 3):
            with self.subTest(protocol=protocol), contextlib.ExitStack() as all_of:
                options = ("--repl-diskless-sync-delay", 0)
                old = all_of.enter_context(Server(*options))
                new = all_of.enter_context(Server(*options, "--replicaof", f"127.0.0.1 {old.port}"))
                wait_until(lambda: caught_up(old.port, new.port), "the replica follows")
                sentinels = [all_of.enter_context(Sentinel(old.port)) for _ in range(3)]
                for s in sentinels:
                    wait_until(
                        lambda s=s: isinstance(s.ask("CKQUORUM", "mymaster"), bytes)
                        and len(s.ask("REPLICAS", "mymaster")) == 1
                        and len(s.ask("SENTINELS", "mymaster")) == 2,
                        "the Sentinels know all",
                    )
                found = Sentinels([("127.0.0.1", s.port) for s in sentinels], socket_timeout=PATIENCE_S)
                primary = found.master_for("mymaster", protocol=protocol, socket_timeout=PATIENCE_S)
                replica = found.slave_for("mymaster", protocol=protocol, socket_timeout=PATIENCE_S)
                all_of.callback(primary.close)
                all_of.callback(replica.close)
                for i in range(100):
                    again(lambda i=i: primary.rpush("list", i))
                with primary.pipeline(transaction=True) as p:
                    p.set("k", "before")
                    p.incr("n")
                    self.assertEqual(p.execute()[1], 1)
                self.assertGreaterEqual(primary.wait(1, PATIENCE_S * 1000), 1)
                self.assertEqual(again(lambda: replica.get("k")), b"before")
                old.process.kill()
                old.process.wait()
                self.assertIs(again(lambda: primary.set("k", "after")), True)
                address = primary.connection_pool.get_master_address()
                self.assertEqual(address[1], new.port)
                self.assertEqual(primary.lrange("list", 0, -1), [b"%d" % i for i in range(100)])


if __name__ == "__main__":
    unittest.main()
