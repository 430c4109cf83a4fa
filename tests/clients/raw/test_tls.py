"""TLS: what clients get. What those get that do not follow the rules is in test_tls_bad_input.py."""

import os
import select
import shutil
import signal
import socket
import ssl
import tempfile
import unittest
import urllib.request

from harness.ports import free_port, own_address
from harness.server import PATIENCE_S, REFERENCE, beyond_redis, wait_until
from harness.tls import Memory, TlsClient as Client, TlsServer as Tls, authority, context, strangers


def setUpModule():
    global ca
    ca = authority()
    strangers()


class Exchange(unittest.TestCase):
    def test_commands_beside_plain_ones_and_alone(self):
        with Tls() as server:
            with Client(server) as c, server.connect() as plain:
                self.assertEqual(c.command("SET", "a", "1"), b"+OK")
                self.assertEqual(plain.command("GET", "a"), b"$1")
                self.assertIn(b" tls=yes", c.command("CLIENT", "INFO"))
                self.assertNotIn(b" tls=yes", plain.command("CLIENT", "INFO"))
                self.assertIn(b"name=tls,", c.command("INFO", "server"))
        with Tls("--port", "0") as server, Client(server) as c:
            self.assertEqual(c.command("PING"), b"+PONG")
            info = c.command("INFO", "server")
            self.assertIn(b"tcp_port:%d\r\n" % server.tls_port, info)

    def test_long_values_and_pipelines(self):
        value = os.urandom(3 << 20)
        with Tls() as server, Client(server) as c:
            self.assertEqual(c.command("SET", "big", value), b"+OK")
            self.assertEqual(c.command("GET", "big"), value)
            for _ in range(3):
                c.socket.sendall(b"PING\r\n" * 5000)
                for _ in range(5000):
                    self.assertEqual(c.reply(), b"+PONG")
            self.assertEqual(c.command("MGET", "big", "none", "big"), [value, b"$-1", value])

    def test_a_client_that_does_not_read_gets_all_of_it_later(self):
        with Tls() as server, Client(server) as c, Client(server) as other:
            value = os.urandom(1 << 20)
            c.command("SET", "big", value)
            for _ in range(30):
                c.send("GET", "big")
            # Others are served, and the replies that were not taken wait at the server.
            self.assertEqual(other.command("PING"), b"+PONG")
            for _ in range(30):
                self.assertEqual(c.reply(), value)
            self.assertEqual(c.command("PING"), b"+PONG")

    def test_records_in_bytes_and_many_in_one_piece(self):
        with Tls() as server:
            raw, peer = server.plain_socket(), Memory()
            done = False
            while not done:
                done = peer.shake()
                for byte in peer.outer.read():
                    raw.sendall(bytes([byte]))
                if not done:
                    peer.inner.write(raw.recv(65536))
            for byte in b"*1\r\n$4\r\nPING\r\n":
                peer.session.write(bytes([byte]))
            for byte in peer.outer.read():
                raw.sendall(bytes([byte]))
            peer.session.write(b"PING\r\n" * 2730)  # the longest record
            raw.sendall(peer.outer.read())
            got = peer.receive(raw, 7 * 2731)
            self.assertEqual(got, b"+PONG\r\n" * 2731)
            raw.close()

    def test_the_end_is_said(self):
        with Tls() as server:
            with Client(server) as c:
                self.assertEqual(c.command("QUIT"), b"+OK")
                # An end without a word would be an error here.
                self.assertEqual(c.file.read(), b"")
            with Client(server) as c, Client(server) as other:
                number = c.command("CLIENT", "ID")[1:]
                self.assertEqual(other.command("CLIENT", "KILL", "ID", number), b":1")
                self.assertEqual(c.file.read(), b"")
            with Client(server) as c:
                c.socket.sendall(b"PING\r\n")
                self.assertEqual(c.reply(), b"+PONG")
                c.socket.unwrap()

    @beyond_redis
    def test_a_script_that_does_not_end_is_ended_over_tls(self):
        with Tls("--threads", "1", "--busy-reply-threshold", "100") as server:
            with Client(server) as c:
                c.send("EVAL", "while true do end", "0")
                with Client(server) as other:
                    wait_until(lambda: other.command("PING").startswith(b"-BUSY"), "it is busy")
                    self.assertEqual(other.command("SCRIPT", "KILL"), b"+OK")
                    self.assertIn(b"kill", c.reply())
                    wait_until(lambda: other.command("PING") == b"+PONG", "it is free")


class Rules(unittest.TestCase):
    def assert_refused(self, server, shown):
        # With TLS 1.3 a client learns it with its first read.
        with self.assertRaises((ssl.SSLError, ConnectionError), msg=shown):
            with Client(server, shown) as c:
                if c.command("PING") == b"":
                    raise ConnectionError

    def test_client_certificates(self):
        with Tls(asks="yes") as server:
            with Client(server, "alice") as c:
                self.assertEqual(c.command("PING"), b"+PONG")
            for shown in [None, "expired", "mallory"]:
                self.assert_refused(server, shown)
            with Client(server, "alice") as c:
                self.assertEqual(c.command("CONFIG", "SET", "tls-auth-clients", "optional"), b"+OK")
            with Client(server) as c:
                self.assertEqual(c.command("PING"), b"+PONG")
            self.assert_refused(server, "mallory")

    @unittest.skipUnless(own_address(), "this machine has no address but loopback")
    def test_protected_mode(self):
        options = ["--threads", "1", "--busy-reply-threshold", "50"]
        with Tls("--bind", "0.0.0.0", *options) as server, server.connect() as here:
            with Client(server, host=own_address()) as c:
                self.assertIn(b"-DENIED", c.file.readline())
                self.assertEqual(c.file.read(), b"")
            # Not even while a script keeps the thread: it cannot be ended from there.
            with Client(server) as c, server.connect() as other:
                c.send("EVAL", "while true do end", "0")
                wait_until(lambda: here.command("PING").startswith(b"-BUSY"), "it is busy")
                with server.plain_socket(own_address()) as far:
                    peer = Memory()
                    peer.shake()
                    far.sendall(peer.outer.read())
                    for _ in range(20):
                        self.assertTrue(other.command("PING").startswith(b"-BUSY"))
                    # Nobody has listened to it, so it cannot have asked for anything.
                    self.assertEqual(select.select([far], [], [], 0)[0], [])
                    self.assertEqual(other.command("SCRIPT", "KILL"), b"+OK")
                    peer.finish(far)
                    self.assertIn(b"-DENIED", peer.receive(far, 100))

    @beyond_redis
    def test_users_by_certificate(self):
        options = ["--tls-auth-clients-user", "CN", "--requirepass", "x"]
        with Tls(*options, asks="optional") as server, server.connect() as admin:
            admin.command("AUTH", "x")
            made = admin.command("ACL", "SETUSER", "alice", "on", ">secret", "~a*", "+@all")
            self.assertEqual(made, b"+OK")
            with Client(server, "alice") as c:
                self.assertEqual(c.command("ACL", "WHOAMI"), b"alice")
                self.assertEqual(c.command("SET", "a", "1"), b"+OK")
                self.assertIn(b"-NOPERM", c.command("SET", "b", "1"))
            for shown in ["nobody", None]:
                with Client(server, shown) as c:
                    self.assertIn(b"-NOAUTH", c.command("PING"))
                    self.assertEqual(c.command("AUTH", "x"), b"+OK")
            with Client(server, "alice") as c:
                c.command("ACL", "SETUSER", "alice", "off")
            with Client(server, "alice") as c:
                self.assertIn(b"-NOAUTH", c.command("PING"))

    def test_protocols_and_ciphers(self):
        def speaks(server, low, high, ciphers=None):
            c = context()
            c.minimum_version, c.maximum_version = low, high
            if ciphers:
                c.set_ciphers(ciphers)
            try:
                with Client(server, with_context=c) as client:
                    return client.socket.version(), client.socket.cipher()[0]
            except (ssl.SSLError, ConnectionError):
                return None
        v = ssl.TLSVersion
        with Tls() as server:
            self.assertEqual(speaks(server, v.TLSv1_3, v.TLSv1_3)[0], "TLSv1.3")
            self.assertEqual(speaks(server, v.TLSv1_2, v.TLSv1_2)[0], "TLSv1.2")
            self.assertIsNone(speaks(server, v.TLSv1, v.TLSv1_1, "ALL:@SECLEVEL=0"))
            for weak in ["AES128-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA", "NULL:@SECLEVEL=0"]:
                self.assertIsNone(speaks(server, v.TLSv1_2, v.TLSv1_2, weak), weak)
        with Tls("--tls-protocols", "TLSv1.3") as server:
            self.assertIsNone(speaks(server, v.TLSv1_2, v.TLSv1_2))
            self.assertEqual(speaks(server, v.TLSv1_2, v.TLSv1_3)[0], "TLSv1.3")
        with Tls(
            "--tls-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256", "--tls-ciphersuites",
            "TLS_CHACHA20_POLY1305_SHA256",
        ) as server:
            self.assertEqual(speaks(server, v.TLSv1_2, v.TLSv1_2)[1], "ECDHE-ECDSA-AES128-GCM-SHA256")
            self.assertEqual(speaks(server, v.TLSv1_3, v.TLSv1_3)[1], "TLS_CHACHA20_POLY1305_SHA256")
            self.assertIsNone(speaks(server, v.TLSv1_2, v.TLSv1_2, "ECDHE-ECDSA-AES256-GCM-SHA384"))

    def resumes(self, server, version):
        """Whether a client's second connection goes on with the session of its first."""
        shared = context_of(version)
        with Client(server, with_context=shared) as c:
            # With TLS 1.3 the ticket comes with the first reply.
            self.assertEqual(c.command("PING"), b"+PONG")
            session = c.socket.session
        again = shared.wrap_socket(server.plain_socket(), server_hostname="localhost", session=session)
        with again:
            again.sendall(b"PING\r\n")
            self.assertEqual(again.recv(7), b"+PONG\r\n")
            return again.session_reused

    def test_sessions_are_resumed_if_wanted(self):
        for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
            with Tls() as server, server.connect() as plain:
                self.assertTrue(self.resumes(server, version), version)
                self.assertEqual(plain.command("CONFIG", "SET", "tls-session-caching", "no"), b"+OK")
                self.assertFalse(self.resumes(server, version), version)

    @beyond_redis
    def test_sessions_are_forgotten(self):
        v = ssl.TLSVersion.TLSv1_2
        # A session of a second ago, or one that was put out by another, is not known any more.
        with Tls("--tls-session-cache-timeout", "0") as server:
            wait_until(lambda: not self.resumes(server, v), "it is too old")
        with Tls("--tls-session-cache-size", "1") as server:
            self.assertTrue(self.resumes(server, v))
            shared = context_of(v)
            with Client(server, with_context=shared) as first:
                session = first.socket.session
            with Client(server, with_context=context_of(v)):
                pass
            again = shared.wrap_socket(server.plain_socket(), server_hostname="localhost", session=session)
            with again:
                self.assertFalse(again.session_reused)


def context_of(version):
    """A client's context for one version."""
    c = context()
    c.minimum_version = c.maximum_version = version
    return c


class Reload(unittest.TestCase):
    def test_certificates_are_read_again_and_bad_ones_refused(self):
        files = tempfile.mkdtemp(prefix="apus-tls-")
        self.addCleanup(shutil.rmtree, files, ignore_errors=True)
        crt, key = os.path.join(files, "s.crt"), os.path.join(files, "s.key")

        def put(name):
            shutil.copy(ca.path(f"{name}.crt"), crt)
            shutil.copy(ca.path(f"{name}.key"), key)

        put("server")
        with Tls("--tls-cert-file", crt, "--tls-key-file", key) as server, Client(server) as old:
            def shown():
                with Client(server) as c:
                    return c.serial()
            first = shown()
            put("other")
            self.assertEqual(shown(), first)
            self.assertEqual(old.command("CONFIG", "SET", "tls-cert-file", crt), b"+OK")
            second = shown()
            self.assertNotEqual(second, first)
            # A key that does not belong to it, junk, nothing.
            shutil.copy(ca.path("server.key"), key)
            refused = b"Unable to update TLS configuration"
            self.assertIn(refused, old.command("CONFIG", "SET", "tls-cert-file", crt))
            with open(crt, "w") as f:
                f.write("junk")
            self.assertIn(refused, old.command("CONFIG", "SET", "tls-key-file", key))
            os.unlink(crt)
            self.assertIn(refused, old.command("CONFIG", "SET", "tls-cert-file", crt))
            self.assertEqual(shown(), second)
            # Connections of before go on.
            self.assertEqual(old.command("PING"), b"+PONG")

    @beyond_redis
    def test_sighup_and_expired_certificates(self):
        files = tempfile.mkdtemp(prefix="apus-tls-")
        self.addCleanup(shutil.rmtree, files, ignore_errors=True)
        crt, key = os.path.join(files, "s.crt"), os.path.join(files, "s.key")

        def put(name):
            shutil.copy(ca.path(f"{name}.crt"), crt)
            shutil.copy(ca.path(f"{name}.key"), key)

        put("server")
        with Tls("--tls-cert-file", crt, "--tls-key-file", key) as server, Client(server) as old:
            first = old.serial()
            put("other")
            server.process.send_signal(signal.SIGHUP)

            def shown():
                with Client(server) as c:
                    return c.serial()
            wait_until(lambda: shown() != first, "the new one is shown")
            second = shown()
            put("expired")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for_log("has expired")
            server.wait_for_log("the certificates stay as they are")
            self.assertEqual(shown(), second)
            self.assertIn(b"-ERR", old.command("CONFIG", "SET", "tls-cert-file", crt))
            self.assertEqual(old.command("PING"), b"+PONG")

    def test_the_port_comes_and_goes(self):
        with Tls("--tls-port", "0") as server, server.connect() as plain:
            port = free_port()
            self.assertEqual(plain.command("CONFIG", "SET", "tls-port", port), b"+OK")
            server.tls_port = port
            with Client(server) as c:
                self.assertEqual(c.command("PING"), b"+PONG")
                self.assertEqual(plain.command("CONFIG", "SET", "tls-port", "0"), b"+OK")
                with self.assertRaises(ConnectionRefusedError):
                    Client(server)
                self.assertEqual(c.command("PING"), b"+PONG")


@beyond_redis
class Http(unittest.TestCase):
    def test_both_ports_with_their_own_certificates(self):
        admin, topics = free_port(), free_port()
        options = [
            "--admin-port", admin, "--admin-tls", "yes",
            "--topic-http-port", topics, "--topic-http-tls", "yes",
            "--topic-http-tls-cert-file", ca.path("other.crt"),
            "--topic-http-tls-key-file", ca.path("other.key"),
        ]
        with Tls(*options, asks="yes"):
            serials = []
            for port, path in [(admin, "/healthz"), (topics, "/v1/topics")]:
                url = f"https://localhost:{port}{path}"
                with urllib.request.urlopen(url, context=context(), timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.status, 200)
                with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
                    with context().wrap_socket(s, server_hostname="localhost") as t:
                        serials.append(t.getpeercert()["serialNumber"])
                with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
                    s.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    self.assertNotIn(b"HTTP", s.recv(100))
            self.assertNotEqual(*serials)

    def test_the_web_port(self):
        port, root = free_port(), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        with open(os.path.join(root, "index.html"), "w") as f:
            f.write("x" * 3_000_000)
        options = ("--web-port", port, "--web-root", root, "--web-tls", "yes")
        with Tls(*options, asks="yes"):
            url = f"https://localhost:{port}/"
            for _ in range(3):
                with urllib.request.urlopen(url, context=context(), timeout=PATIENCE_S) as answer:
                    self.assertEqual(answer.read(), b"x" * 3_000_000)
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
                with context().wrap_socket(s, server_hostname="localhost") as t:
                    t.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-3\r\n\r\n" * 3)
                    got = b""
                    while got.count(b"xxxx") < 3:
                        got += t.recv(65536)
                    self.assertEqual(got.count(b"HTTP/1.1 206"), 3)
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as s:
                s.sendall(b"GET / HTTP/1.1\r\n\r\n")
                self.assertNotIn(b"HTTP", s.recv(100))


class Outgoing(unittest.TestCase):
    def test_migrate(self):
        with Tls("--tls-cluster", "yes") as from_, Tls("--tls-cluster", "yes", asks="yes") as to:
            with from_.connect() as c:
                self.assertEqual(c.command("SET", "k", "v" * 100000), b"+OK")
                moved = c.command("MIGRATE", "127.0.0.1", to.tls_port, "k", "0", "5000")
                self.assertEqual(moved, b"+OK")
                # Without TLS there is nobody to talk to.
                self.assertEqual(c.command("SET", "k", "v"), b"+OK")
                self.assertIn(b"-IOERR", c.command("MIGRATE", "127.0.0.1", to.port, "k", "0", "5000"))
            with to.connect() as c:
                self.assertEqual(c.command("EXISTS", "k"), b":1")


if __name__ == "__main__":
    unittest.main()
