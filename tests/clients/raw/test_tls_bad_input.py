"""TLS clients that do not follow the rules, and many at once: they are told, logged, and nobody else suffers."""

import os
import select
import ssl
import struct
import subprocess
import unittest

from harness.server import PATIENCE_S, REFERENCE, beyond_redis, open_files, wait_until
from harness.tls import Memory, TlsClient as Client, TlsServer as Tls, authority, context, strangers


class BadInput(unittest.TestCase):
    def assert_ended(self, s):
        s.settimeout(PATIENCE_S)
        try:
            while s.recv(65536):
                pass
        except ConnectionResetError:
            pass
        s.close()

    def test_what_is_no_handshake(self):
        hello = b"\x16\x03\x01\x00\x10\x01\x00\x00\x0c\x03\x03" + b"\0" * 10
        inputs = [
            os.urandom(4096).replace(b"\x16", b"\x17"),
            b"\x15\x03\x03\x00\x02\x01\x00",
            b"\x16\x03\x01\xff\xff" + b"x" * 70000,
            b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"x" * 16380,
            b"\x17\x03\x03\x00\x05hello",
            hello,
        ]
        # The timeout is for input that is the beginning of a handshake.
        with Tls(*[] if REFERENCE else ["--tls-handshake-timeout", "2"]) as server:
            for data in inputs:
                s = server.plain_socket()
                try:
                    s.sendall(data)
                except ConnectionError:
                    pass
                self.assert_ended(s)
            with Client(server) as c:
                self.assertEqual(c.command("PING"), b"+PONG")

    @beyond_redis
    def test_the_wrong_port_is_logged(self):
        with Tls() as server:
            with server.plain_socket() as s:
                s.sendall(b"*1\r\n$4\r\nPING\r\n")
                server.wait_for_log("it does not speak TLS (addr=127.0.0.1:%d)" % s.getsockname()[1])
                self.assert_ended(s)
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                Client(server, port=server.port)
            server.wait_for_log("speaks TLS to a port without TLS")

    @beyond_redis
    def test_handshakes_that_take_too_long(self):
        with Tls("--tls-handshake-timeout", "1") as server, Client(server) as c:
            silent = server.plain_socket()
            half = server.plain_socket()
            half.sendall(struct.pack(">BHH", 22, 0x0301, 500) + b"\x01")
            self.assert_ended(silent)
            self.assert_ended(half)
            server.wait_for_log("takes longer than tls-handshake-timeout")
            # One that is done is not concerned.
            self.assertEqual(c.command("PING"), b"+PONG")

    @beyond_redis
    def test_a_byte_at_a_time_does_not_put_it_off(self):
        with Tls("--tls-handshake-timeout", "1") as server:
            s = server.plain_socket()
            s.settimeout(0.02)
            s.sendall(struct.pack(">BHH", 22, 0x0301, 16000) + b"\x01")
            ended = False
            for _ in range(15000):
                try:
                    s.sendall(b"\0")
                    ended = s.recv(100) == b""
                except TimeoutError:
                    continue
                except ConnectionError:
                    ended = True
                if ended:
                    break
            self.assertTrue(ended, "the client could go on for ever")
            s.close()

    def test_many_handshakes_at_once_while_others_work(self):
        with Tls() as server, Client(server) as c:
            waiting = []
            for _ in range(400):
                s, peer = server.plain_socket(), Memory()
                self.assertFalse(peer.shake())
                waiting.append((s, peer))
            for s, peer in waiting:
                s.sendall(peer.outer.read())
            for i in range(50):
                self.assertEqual(c.command("INCR", "n"), b":%d" % (i + 1))
            for s, peer in waiting:
                peer.finish(s)
                peer.session.write(b"PING\r\n")
                s.sendall(peer.outer.read())
            for s, peer in waiting:
                self.assertEqual(peer.receive(s, 7), b"+PONG\r\n")
                s.close()

    def test_ten_thousand_handshakes_do_not_starve_others(self):
        count = min(10_000, (open_files(self, 21_000) - 500) // 2)
        with Tls("--maxclients", "12000") as server, server.connect() as c:
            peers = {}
            answered = select.epoll()
            self.addCleanup(answered.close)
            shared = context()
            for _ in range(count):
                s, peer = server.plain_socket(), Memory(shared)
                self.assertFalse(peer.shake())
                peers[s.fileno()] = s, peer
                answered.register(s, select.EPOLLIN | select.EPOLLONESHOT)
            # All of them ask in one piece, and the other client works on until the last one is answered.
            for s, peer in peers.values():
                s.sendall(peer.outer.read())
            ready, commands = [], 0
            while len(ready) < count:
                self.assertEqual(c.command("INCR", "n"), b":%d" % (commands + 1))
                commands += 1
                ready += [fd for fd, _ in answered.poll(0)]
            # A server that made them all in one turn of its loop would have answered a command or two.
            self.assertGreater(commands, 100)
            for s, peer in peers.values():
                peer.finish(s)
            for s, peer in list(peers.values())[:: count // 100]:
                peer.session.write(b"PING\r\n")
                s.sendall(peer.outer.read())
                self.assertEqual(peer.receive(s, 7), b"+PONG\r\n")
            with Client(server) as last:
                info = last.command("INFO", "clients")
                self.assertIn(b"tls_connected_clients:%d\r\n" % (count + 1), info)
            for s, _ in peers.values():
                s.close()

    def established(self, server):
        s, peer = server.plain_socket(), Memory()
        peer.finish(s)
        peer.session.write(b"PING\r\n")
        s.sendall(peer.outer.read())
        self.assertEqual(peer.receive(s, 7), b"+PONG\r\n")
        return s, peer

    def test_what_is_no_record_ends_a_connection(self):
        records = [
            b"\x17\x03\x03\x00\x40" + os.urandom(64),  # nobody has sealed it
            b"\x17\x03\x03\x41\x01" + bytes(0x4101),  # longer than any
            b"\x17\x03\x03\xff\xff" + bytes(0xFFFF),
            b"\x99" * 100,
            b"\x16\x03\x03\x00\x04\x00\x00\x00\x00",  # a handshake that nobody has sealed
            b"*1\r\n$4\r\nPING\r\n",
        ]
        with Tls() as server, Client(server) as other:
            for record in records:
                s, peer = self.established(server)
                try:
                    s.sendall(record)
                except ConnectionError:
                    pass
                got = b""
                with self.assertRaises((ssl.SSLError, ConnectionError), msg=record[:5]):
                    got = peer.receive(s, 1)
                self.assertEqual(got, b"")
                s.close()
                self.assertEqual(other.command("PING"), b"+PONG")
            info = other.command("INFO", "clients")
            wait_until(lambda: b"connected_clients:1\r\n" in other.command("INFO", "clients"), info)

    def test_clients_that_go_amid_their_handshake(self):
        # Long before their time is over.
        options = [] if REFERENCE else ["--tls-handshake-timeout", "3600"]
        with Tls(*options) as server, Client(server) as other:
            peer = Memory()
            peer.shake()
            hello = peer.outer.read()
            # Wherever it is cut, behind its end too.
            for end in [0, 1, 4, 5, 9, 50, len(hello) - 1, len(hello)]:
                s = server.plain_socket()
                s.sendall(hello[:end])
                s.close()
            def only_one():
                return b"connected_clients:1\r\n" in other.command("INFO", "clients")
            wait_until(only_one, "the others are gone")
            self.assertEqual(other.command("PING"), b"+PONG")

    def test_a_hello_and_then_garbage(self):
        with Tls() as server:
            for garbage in [b"\x99" * 50, b"\x17\x03\x03\x00\x10" + bytes(16), b"\x14\x03\x03\x00\x01\x02"]:
                s, peer = server.plain_socket(), Memory()
                peer.shake()
                s.sendall(peer.outer.read())
                self.assertTrue(s.recv(100))
                s.sendall(garbage)
                self.assert_ended(s)
            server.wait_for_log("Error accepting a client connection: ")
            with Client(server) as c:
                self.assertEqual(c.command("PING"), b"+PONG")

    def test_keys_are_changed(self):
        with Tls() as server:
            client = subprocess.Popen(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-tls1_3", "-CAfile",
                 authority().certificate],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            with client:
                # `k` changes the client's keys, `K` asks for the server's, too. A line is one read of s_client's.
                for line, reply in [(b"k", b"KEYUPDATE"), (b"PING", b"+PONG"), (b"K", b"KEYUPDATE"),
                                    (b"PING", b"+PONG"), (b"K", b"KEYUPDATE"), (b"PING", b"+PONG")]:
                    client.stdin.write(line + b"\n")
                    client.stdin.flush()
                    said = client.stdout.readline()
                    while said and not said.startswith(reply):
                        said = client.stdout.readline()
                    self.assertTrue(said, (line, "the connection has ended"))
                client.kill()

    def test_client_certificates_that_are_not_good_are_logged(self):
        strangers()
        with Tls(asks="yes") as server:
            for shown, why in [
                (None, "peer sent no certificates"),
                ("expired", "Expired"),
                ("mallory", "UnknownIssuer"),
            ]:
                with self.assertRaises((ssl.SSLError, ConnectionError), msg=shown):
                    with Client(server, shown) as c:
                        if c.command("PING") == b"":
                            raise ConnectionError
                server.wait_for_log(why)
                server.wait_for_log("Error accepting a client connection: ")

    def test_renegotiation_is_refused(self):
        with Tls() as server:
            # `R` asks for it.
            done = subprocess.run(
                ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-tls1_2",
                 "-CAfile", authority().certificate],
                input=b"R\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S,
            )
            self.assertIn(b"RENEGOTIATING", done.stdout)
            self.assertIn(b"no renegotiation", done.stdout.lower())
            with Client(server) as c:
                self.assertEqual(c.command("PING"), b"+PONG")
