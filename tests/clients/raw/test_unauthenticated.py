"""Limits of clients that have not authenticated: little memory, and no replies that pile up."""

import base64
import http.client
import socket
import unittest

from harness.ports import free_port
from harness.server import PATIENCE_S, Server, beyond_redis, encode

NOAUTH = b"-NOAUTH Authentication required."


def used_memory(c):
    text = c.exactly(int(c.command("INFO", "memory")[1:]) + 2)
    return int(text.split(b"used_memory:")[1].split(b"\r\n")[0])


class Unauthenticated(unittest.TestCase):
    def setUp(self):
        self.server = Server("--requirepass", "secret")
        self.addCleanup(self.server.close)
        self.inside = self.server.connect()
        self.addCleanup(self.inside.close)
        self.assertEqual(self.inside.command("AUTH", "secret"), b"+OK")

    def test_arguments_are_few_and_short(self):
        for request, error in [
            (b"*11\r\n", b"-ERR Protocol error: unauthenticated multibulk length"),
            (b"*2\r\n$4\r\nAUTH\r\n$16385\r\n", b"-ERR Protocol error: unauthenticated bulk length"),
        ]:
            with self.server.connect() as c:
                c.send(request)
                self.assertEqual(c.line(), error)
                self.assertTrue(c.is_closed())
        with self.server.connect() as c:
            self.assertEqual(c.command("MGET", *["x" * 16384] * 9), NOAUTH)
            self.assertEqual(c.command("AUTH", "secret"), b"+OK")
            self.assertEqual(c.command("SET", "k", "x" * 20000), b"+OK")

    @beyond_redis  # Redis does since 7.4.3.
    def test_who_does_not_read_is_disconnected(self):
        before = used_memory(self.inside)
        clients = [self.server.connect() for _ in range(8)]
        request = encode("PING") * 20000
        for c in clients:
            # Requests without a reply, until the server reads no more.
            c.socket.settimeout(1)
            sent = 0
            try:
                while sent < 64 << 20:
                    sent += c.socket.send(request)
                self.fail("it takes everything")
            except (TimeoutError, ConnectionResetError, BrokenPipeError):
                pass
        self.assertLess(used_memory(self.inside) - before, 16 << 20)
        for c in clients:
            c.close()

    @beyond_redis  # Redis does since 7.4.3.
    def test_replies_that_nobody_takes_disconnect(self):
        with self.server.connect() as c:
            c.send(encode("PING") * 100)
            self.assertEqual([c.line() for _ in range(100)], [NOAUTH] * 100)
            # More than 16 KiB and 1 KiB of replies at once.
            try:
                c.send(encode("PING") * 2000)
                while c.receive(4096):
                    pass
            except (ConnectionResetError, BrokenPipeError):
                pass
        self.server.wait_for_log("for overcoming of output buffer limits")

    def test_who_authenticates_is_not_bound(self):
        with self.server.connect() as c:
            c.send(encode("AUTH", "secret") + encode("ECHO", "x" * 1000) * 1000)
            self.assertEqual(c.line(), b"+OK")
            self.assertEqual(len(c.exactly(1000 * 1009)), 1009000)


@beyond_redis
class OverHttp(unittest.TestCase):
    def test_names_in_the_log_are_short(self):
        port = free_port()
        with Server("--topic-http-port", port, "--requirepass", "x") as server, server.connect() as c:
            self.assertEqual(c.command("AUTH", "x"), b"+OK")
            before = used_memory(c)
            for i in range(40):
                name = b"%d" % i + b"n" * 300_000
                key = base64.b64encode(name + b":x").decode()
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                connection.request("GET", "/v1/topics", headers={"Authorization": "Basic " + key})
                self.assertIn(connection.getresponse().status, (401, 431))
                connection.close()
            self.assertLess(used_memory(c) - before, 8 << 20)

    def test_bodies_are_not_received(self):
        port = free_port()
        with Server("--topic-http-port", port, "--requirepass", "x") as server, server.connect() as c:
            self.assertEqual(c.command("AUTH", "x"), b"+OK")
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
                s.sendall(b"POST /v1/topics/t/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n")
                self.assertEqual(s.recv(12), b"HTTP/1.1 401")


if __name__ == "__main__":
    unittest.main()
