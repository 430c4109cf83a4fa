"""Addresses that are changed while the server runs: CONFIG SET bind and port, and those of the HTTP ports."""

import os
import socket
import tempfile
import unittest

from harness.ports import free_port
from harness.server import PATIENCE_S, Raw, Server, beyond_redis


def can_connect(host, port):
    """Whether a server listens there and answers."""
    try:
        with socket.create_connection((host, port), PATIENCE_S) as s:
            s.sendall(b"PING\r\n")
            return s.recv(7) == b"+PONG\r\n"
    except (ConnectionRefusedError, ConnectionResetError):
        return False


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def set_option(c, name, value):
    return c.command("CONFIG", "SET", name, value)


def get_option(c, name):
    assert c.command("CONFIG", "GET", name) == b"*2"
    c.exactly(int(c.line()[1:]) + 2)
    return c.exactly(int(c.line()[1:]) + 2)[:-2]


def keepalive_s(server, client):
    """Seconds until the server's side of a connection is looked after, None for never, as Linux tells."""
    ports = [f":{server.port:04X}", f":{client.socket.getsockname()[1]:04X}"]
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f]
    timer = next(row[5] for row in rows[1:] if [row[1][8:], row[2][8:]] == ports)
    kind, ticks = timer.split(":")
    return int(ticks, 16) / os.sysconf("SC_CLK_TCK") if kind == "02" else None


@unittest.skipUnless(os.path.exists("/proc/net/tcp"), "only Linux has /proc/net/tcp")
class Options(unittest.TestCase):
    def test_keepalive_of_new_connections_follows_the_option(self):
        for bind in ["127.0.0.1", "*"]:
            with Server("--bind", bind, "--protected-mode", "no") as server, server.connect() as c:
                self.assertEqual(c.command("PING"), b"+PONG")
                self.assertTrue(250 < keepalive_s(server, c) <= 301, bind)
                for seconds, low, high in [(1000, 950, 1001), (0, None, None), (60, 10, 61)]:
                    self.assertEqual(set_option(c, "tcp-keepalive", seconds), b"+OK")
                    # The first one after the change, and those that have the option from their listener.
                    for _ in range(3):
                        with server.connect() as new:
                            self.assertEqual(new.command("PING"), b"+PONG")
                            after = keepalive_s(server, new)
                            self.assertTrue(after is None if low is None else low < after <= high, (bind, seconds, after))

    def test_both_addresses_of_a_connection_are_known(self):
        for bind in ["127.0.0.1", "*", "127.0.0.2"]:
            host = "127.0.0.2" if bind != "127.0.0.1" else bind
            with Server("--bind", bind, "--protected-mode", "no") as server, Raw(server.port, host) as c:
                peer, port = c.socket.getsockname()
                own = b" addr=%s:%d laddr=%s:%d " % (peer.encode(), port, host.encode(), server.port)
                text = c.exactly(int(c.command("CLIENT", "INFO")[1:]))
                self.assertIn(own, text)


class Bind(unittest.TestCase):
    def test_addresses_that_contain_one_another(self):
        with Server("--bind", "127.0.0.1", "--protected-mode", "no") as server, server.connect() as c:
            steps = [
                ("*", ["127.0.0.1", "127.0.0.2"], []),
                ("127.0.0.1", ["127.0.0.1"], ["127.0.0.2"]),
                ("0.0.0.0", ["127.0.0.1", "127.0.0.2"], []),
                ("127.0.0.1 127.0.0.2", ["127.0.0.1", "127.0.0.2"], ["127.0.0.3"]),
                ("127.0.0.2 127.0.0.3", ["127.0.0.2", "127.0.0.3"], ["127.0.0.1"]),
                ("* -::*", ["127.0.0.1", "127.0.0.3"], []),
                ("127.0.0.1 -192.0.2.1", ["127.0.0.1"], ["127.0.0.2"]),
            ]
            if has_ipv6():
                steps += [
                    ("127.0.0.1 ::1", ["127.0.0.1", "::1"], ["127.0.0.2"]),
                    ("::1", ["::1"], ["127.0.0.1"]),
                    ("* ::*", ["127.0.0.1", "::1"], []),
                    ("127.0.0.1 -::1", ["127.0.0.1", "::1"], ["127.0.0.2"]),
                ]
            for bind, there, gone in steps:
                self.assertEqual(set_option(c, "bind", bind), b"+OK", bind)
                self.assertEqual(get_option(c, "bind").decode(), bind)
                for host in there:
                    self.assertTrue(can_connect(host, server.port), (bind, host))
                for host in gone:
                    self.assertFalse(can_connect(host, server.port), (bind, host))
            self.assertEqual(c.command("PING"), b"+PONG", "connections stay")

    def test_what_cannot_be_bound_changes_nothing(self):
        with Server("--bind", "127.0.0.1") as server, server.connect() as c:
            self.assertRegex(set_option(c, "bind", "127.0.0.2 192.0.2.1"), rb"^-ERR CONFIG SET failed.*bind")
            self.assertEqual(get_option(c, "bind"), b"127.0.0.1")
            self.assertTrue(can_connect("127.0.0.1", server.port))
            self.assertFalse(can_connect("127.0.0.2", server.port))
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                port = taken.getsockname()[1]
                self.assertRegex(set_option(c, "port", port), rb"^-ERR CONFIG SET failed.*port")
            self.assertEqual(get_option(c, "port"), str(server.port).encode())
            self.assertTrue(can_connect("127.0.0.1", server.port))
            self.assertEqual(c.command("PING"), b"+PONG")

    def test_the_port_moves(self):
        with Server("--bind", "127.0.0.1") as server, server.connect() as c:
            other = free_port()
            self.assertEqual(set_option(c, "port", other), b"+OK")
            self.assertFalse(can_connect("127.0.0.1", server.port))
            self.assertTrue(can_connect("127.0.0.1", other))
            self.assertEqual(c.command("CONFIG", "SET", "port", server.port, "bind", "*"), b"+OK")
            self.assertTrue(can_connect("127.0.0.1", server.port))
            self.assertFalse(can_connect("127.0.0.1", other))
            self.assertEqual(c.command("PING"), b"+PONG")

    def test_unix_sockets_stay(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "s")
            with Server("--bind", "127.0.0.1", "--unixsocket", path) as server, server.connect() as c:
                self.assertEqual(set_option(c, "bind", "127.0.0.2"), b"+OK")
                self.assertEqual(set_option(c, "port", 0), b"+OK")
                self.assertFalse(can_connect("127.0.0.2", server.port))
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path)
                    s.sendall(b"PING\r\n")
                    self.assertEqual(s.recv(7), b"+PONG\r\n")
                self.assertEqual(set_option(c, "port", server.port), b"+OK")
                self.assertTrue(can_connect("127.0.0.2", server.port))

    @beyond_redis
    def test_who_has_connected_already_is_served(self):
        with Server("--bind", "127.0.0.1") as server, server.connect() as c:
            for bind in ["127.0.0.1 127.0.0.2", "127.0.0.2", "127.0.0.1", "*"] * 5:
                # Some of them are not accepted yet when their address goes.
                host = get_option(c, "bind").split()[0].decode()
                early = [Raw(server.port, "127.0.0.1" if host == "*" else host) for _ in range(8)]
                self.assertEqual(set_option(c, "bind", bind), b"+OK")
                for e in early:
                    self.assertEqual(e.command("PING"), b"+PONG", bind)
                    e.close()


HTTP = ["admin", "topic-http"]


@beyond_redis
class HttpPorts(unittest.TestCase):
    def start(self, name, *options):
        server = Server("--enable-protected-configs", "local", "--protected-mode", "no", *options)
        self.addCleanup(server.close)
        c = server.connect()
        self.addCleanup(c.close)
        path = "/healthz" if name == "admin" else "/v1/topics"

        def answers(host, port):
            try:
                with socket.create_connection((host, port), PATIENCE_S) as s:
                    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                    return s.recv(12) == b"HTTP/1.1 200"
            except (ConnectionRefusedError, ConnectionResetError):
                return False

        return server, c, answers

    def test_they_open_move_and_close(self):
        for name in HTTP:
            server, c, answers = self.start(name)
            port, other = free_port(), free_port()
            self.assertEqual(set_option(c, f"{name}-port", port), b"+OK")
            self.assertTrue(answers("127.0.0.1", port))
            for bind, there, gone in [
                ("*", ["127.0.0.1", "127.0.0.2"], []),
                ("127.0.0.1 127.0.0.2", ["127.0.0.1", "127.0.0.2"], ["127.0.0.3"]),
                ("127.0.0.2", ["127.0.0.2"], ["127.0.0.1"]),
                ("0.0.0.0", ["127.0.0.1"], []),
                ("127.0.0.1", ["127.0.0.1"], ["127.0.0.2"]),
            ]:
                self.assertEqual(set_option(c, f"{name}-bind", bind), b"+OK", (name, bind))
                for host in there:
                    self.assertTrue(answers(host, port), (name, bind, host))
                for host in gone:
                    self.assertFalse(answers(host, port), (name, bind, host))
            self.assertRegex(set_option(c, f"{name}-port", server.port), rb"^-ERR CONFIG SET failed")
            self.assertRegex(set_option(c, f"{name}-bind", "192.0.2.1"), rb"^-ERR CONFIG SET failed")
            self.assertTrue(answers("127.0.0.1", port), "it listens where it did")
            self.assertEqual(set_option(c, f"{name}-port", other), b"+OK")
            self.assertTrue(answers("127.0.0.1", other) and not answers("127.0.0.1", port))
            self.assertEqual(set_option(c, f"{name}-port", 0), b"+OK")
            self.assertFalse(answers("127.0.0.1", other))
            self.assertEqual(set_option(c, f"{name}-port", port), b"+OK")
            self.assertTrue(answers("127.0.0.1", port))

    def test_connections_of_the_topics_port_stay(self):
        server, c, _ = self.start("topic-http")
        port = free_port()
        self.assertEqual(set_option(c, "topic-http-port", port), b"+OK")
        self.assertEqual(c.command("TOPIC.CREATE", "t"), b"+OK")
        with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as tail:
            tail.sendall(b"GET /v1/topics/t/tail HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertEqual(tail.recv(12), b"HTTP/1.1 200")
            self.assertEqual(set_option(c, "topic-http-port", 0), b"+OK")
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "still"), b":0")
            text = b""
            while b"still" not in text:
                more = tail.recv(4096)
                self.assertTrue(more, text)
                text += more

    def test_they_are_protected_options(self):
        with Server() as server, server.connect() as c:
            for name in HTTP:
                for option, value in [("port", free_port()), ("bind", "*")]:
                    self.assertEqual(
                        set_option(c, f"{name}-{option}", value),
                        b"-ERR CONFIG SET failed (possibly related to argument '%s-%s') - can't set protected config"
                        % (name.encode(), option.encode()),
                    )
            # Tools set every option to the value that it has.
            self.assertEqual(set_option(c, "admin-port", 0), b"+OK")

    def test_a_warning_tells_of_open_doors(self):
        for name in HTTP:
            server, c, _ = self.start(name)
            port = free_port()
            self.assertEqual(set_option(c, f"{name}-port", port), b"+OK")
            self.assertEqual(set_option(c, f"{name}-bind", "0.0.0.0"), b"+OK")
            server.wait_for_log(f"{name}-bind is open to other machines on 0.0.0.0:{port}")


if __name__ == "__main__":
    unittest.main()
