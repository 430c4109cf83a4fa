"""redis-py over TLS, synchronous and asyncio, over RESP2 and RESP3."""

import asyncio
import os
import ssl
import unittest

import redis
import redis.asyncio
from harness.server import PATIENCE_S
from harness.tls import TlsServer, authority, strangers
from redis.backoff import NoBackoff
from redis.retry import Retry


class Common:
    protocol = None

    @classmethod
    def setUpClass(cls):
        cls.server = TlsServer("--threads", "2", "--tls-auth-clients-user", "CN", asks="optional")
        cls.addClassCleanup(cls.server.close)

    def options(self, shown=None, **more):
        ca = authority()
        options = {
            "host": "localhost", "port": self.server.tls_port, "protocol": self.protocol, "ssl": True,
            "ssl_ca_certs": ca.certificate, "socket_timeout": PATIENCE_S, **more,
        }
        if shown:
            options |= {"ssl_certfile": ca.path(f"{shown}.crt"), "ssl_keyfile": ca.path(f"{shown}.key")}
        return options

    def client(self, *args, **more):
        client = redis.Redis(**self.options(*args, **more))
        self.addCleanup(client.close)
        return client

    def test_values_and_pipelines(self):
        r = self.client()
        value = os.urandom(3_000_000)
        self.assertTrue(r.set("big", value))
        self.assertEqual(r.get("big"), value)
        with r.pipeline(transaction=True) as p:
            for _ in range(5_000):
                p.incr("n")
            self.assertEqual(p.execute()[-1], 5_000)
        r.delete("n")
        self.assertEqual(self.client(ssl_min_version=ssl.TLSVersion.TLSv1_3).ping(), True)

    def test_messages(self):
        r = self.client()
        with r.pubsub() as p:
            p.subscribe("c")
            self.assertEqual(p.get_message(timeout=PATIENCE_S)["type"], "subscribe")
            for i in range(100):
                r.publish("c", str(i))
            for i in range(100):
                self.assertEqual(p.get_message(timeout=PATIENCE_S)["data"], str(i).encode())

    def test_blocking(self):
        r = self.client()
        r.rpush("q", "a")
        self.assertEqual(tuple(r.blpop("q", PATIENCE_S)), (b"q", b"a"))

    def test_a_url_and_a_certificate_instead_of_a_password(self):
        ca = authority()
        url = f"rediss://localhost:{self.server.tls_port}?ssl_ca_certs={ca.certificate}&protocol={self.protocol}"
        with redis.Redis.from_url(url) as r:
            r.acl_setuser("alice", enabled=True, reset=True, keys=["a*"], categories=["+@all"])
        alice = self.client("alice")
        self.assertIn(alice.acl_whoami(), ["alice", b"alice"])
        with self.assertRaises(redis.exceptions.NoPermissionError):
            alice.set("b", 1)

    def test_who_is_not_to_be_trusted(self):
        for more in [
            {"ssl_ca_certs": strangers().certificate},
            {"ssl_certfile": authority().path("mallory.crt"), "ssl_keyfile": authority().path("mallory.key")},
        ]:
            with self.assertRaises(redis.exceptions.ConnectionError):
                redis.Redis(retry=Retry(NoBackoff(), 0), **self.options(**more)).ping()

    def test_asyncio(self):
        async def use():
            async with redis.asyncio.Redis(**self.options()) as r:
                replies = await asyncio.gather(*[r.set(f"k{i}", i) for i in range(50)])
                self.assertTrue(all(replies))
                self.assertEqual(await r.mget([f"k{i}" for i in range(50)]), [b"%d" % i for i in range(50)])

        asyncio.run(use())


class Resp2(Common, unittest.TestCase):
    protocol = 2


class Resp3(Common, unittest.TestCase):
    protocol = 3


if __name__ == "__main__":
    unittest.main()
