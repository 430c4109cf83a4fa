"""Code that the redis-py tests share: a server with two threads, and each test over RESP2 and RESP3."""

import unittest

import redis
from harness.server import PATIENCE_S, REFERENCE, Server

# Features that redis-server 7.0, the reference that Debian brings, does not have.
newer_than_7_0 = unittest.skipIf(REFERENCE, "newer than Redis 7.0")


class Common:
    """An empty server and a client of it, `self.r`; subclasses set `protocol`."""

    protocol = None
    options = ()

    @classmethod
    def setUpClass(cls):
        # Two threads even on one core, so that connections meet across threads.
        threads = () if REFERENCE else ("--threads", "2")
        cls.server = Server(*threads, *cls.options)
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.r = self.client()
        self.r.flushall()

    def client(self, **options):
        """Another client; its text replies are `str`."""
        options = {"decode_responses": True, "socket_timeout": PATIENCE_S, **options}
        client = redis.Redis(port=self.server.port, protocol=self.protocol, **options)
        self.addCleanup(client.close)
        return client

    def pairs(self, reply):
        """Members with scores as a list of tuples: RESP3 has them as lists."""
        return [tuple(pair) for pair in reply]


def both_protocols(cls):
    """Replaces a class of tests by two, in the module that defines it."""
    import sys

    module = sys.modules[cls.__module__]
    for protocol in (2, 3):
        name = f"{cls.__name__}Resp{protocol}"
        bases = (cls, Common, unittest.TestCase)
        members = {"protocol": protocol, "__module__": cls.__module__}
        setattr(module, name, type(name, bases, members))
    return None
