"""The ways a server ends."""

import os
import signal
import time
import unittest

from harness.server import Server, beyond_redis, encode


class Shutdown(unittest.TestCase):
    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name), Server("--unixsocket", "s.sock") as server:
                path = os.path.join(server.dir, "s.sock")
                self.assertTrue(os.path.exists(path))
                with server.connect() as c:
                    self.assertEqual(c.command("SET", "k", "v"), b"+OK")
                    server.process.send_signal(number)
                    self.assertTrue(c.is_closed())
                self.assertEqual(server.wait(), 0)
                self.assertFalse(os.path.exists(path), "the Unix socket is left behind")
                with self.assertRaises(ConnectionRefusedError):
                    server.connect()

    def test_command(self):
        for arguments in (["NOSAVE"], ["NOSAVE", "NOW"], ["NOSAVE", "FORCE"], []):
            with self.subTest(arguments=arguments), Server() as server, server.connect() as c:
                c.send(encode("SHUTDOWN", *arguments))
                self.assertTrue(c.is_closed(), "SHUTDOWN has no reply")
                self.assertEqual(server.wait(), 0)

    def test_command_with_mistakes(self):
        with Server() as server, server.connect() as c:
            self.assertEqual(c.command("SHUTDOWN", "NOSUCH"), b"-ERR syntax error")
            self.assertEqual(c.command("SHUTDOWN", "SAVE", "NOSAVE"), b"-ERR syntax error")
            self.assertEqual(c.command("SHUTDOWN", "ABORT"), b"-ERR No shutdown in progress.")
            self.assertEqual(c.command("PING"), b"+PONG")

    # Redis's sleep is cut short by the first signal already.
    @beyond_redis
    def test_the_second_signal_does_not_wait(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("DEBUG", "SLEEP", "0"), b"+OK")
            c.send(encode("DEBUG", "SLEEP", "300"))
            # Nobody sees from outside that the command has begun, but what has arrived is executed.
            server.process.send_signal(signal.SIGINT)
            # Two signals at once are one.
            server.wait_for_log("Received SIGINT")
            time.sleep(0.1)
            self.assertIsNone(server.process.poll(), "the first signal lets commands finish")
            server.process.send_signal(signal.SIGINT)
            self.assertEqual(server.wait(), 1)

    @beyond_redis
    def test_what_is_in_flight_is_answered(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("PING"), b"+PONG", "it has been accepted")
            c.send(encode("SET", "k", "v") + encode("DEBUG", "SLEEP", "1") + encode("GET", "k"))
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            expected = b"+OK\r\n+OK\r\n$1\r\nv\r\n"
            self.assertEqual(c.exactly(len(expected)), expected)
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    @beyond_redis
    def test_replies_that_do_not_fit_into_the_socket_are_sent(self):
        with Server("--enable-debug-command", "yes") as server, server.connect() as c:
            self.assertEqual(c.command("SET", "k", "x" * 10_000), b"+OK")
            c.send(encode("DEBUG", "SLEEP", "1") + encode("GET", "k") * 3_000 + encode("PING"))
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            expected = b"+OK\r\n" + (b"$10000\r\n" + b"x" * 10_000 + b"\r\n") * 3_000 + b"+PONG\r\n"
            self.assertTrue(c.exactly(len(expected)) == expected)
            self.assertTrue(c.is_closed())
            self.assertEqual(server.wait(), 0)

    def test_many_connections_do_not_delay_it(self):
        with Server() as server:
            clients = [server.connect() for _ in range(200)]
            for c in clients:
                c.send(b"*2\r\n$4\r\nECHO\r\n$100\r\nhalf a request")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
            for c in clients:
                self.assertTrue(c.is_closed())
                c.close()
