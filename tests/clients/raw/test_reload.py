"""SIGHUP: the configuration file and the ACL file are read again."""

import os
import signal
import socket
import tempfile
import unittest

from harness.server import Server, beyond_redis, wait_until


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@beyond_redis
class Reload(unittest.TestCase):
    def setUp(self):
        dir = tempfile.TemporaryDirectory(prefix="apus-test-")
        self.addCleanup(dir.cleanup)
        self.conf = os.path.join(dir.name, "apus.conf")
        self.acl = os.path.join(dir.name, "users.acl")

    def hup(self, server, *said):
        """Sends the signal, and waits for its line in the log."""
        before = len(server.log)
        server.process.send_signal(signal.SIGHUP)
        since = lambda: "\n".join(server.log[before:])
        wait_until(lambda: all(text in since() for text in said), f"the log says {said}")
        return since()

    def value(self, client, name):
        """The value that CONFIG GET shows."""
        self.assertEqual(client.command("CONFIG", "GET", name), b"*2")
        self.assertEqual(client.line(), b"$%d" % len(name))
        client.line()
        client.line()
        return client.line().decode()

    def test_options_whose_lines_have_changed_are_set(self):
        write(self.conf, "maxmemory 100mb\nslowlog-max-len 7\ntimeout 50\nthreads 2\n")
        with Server("--include", self.conf, "--hz", "20") as server, server.connect() as c:
            self.hup(server, "the configuration has not changed")
            self.assertEqual(c.command("CONFIG", "SET", "timeout", "60", "hz", "30"), b"+OK")
            write(self.conf, "maxmemory 200mb\ntimeout 50\nthreads 3\nhz 40\nuser a on\n")
            said = self.hup(server, "Reloaded: ", "for the next start only: threads, user")
            self.assertIn("maxmemory", said)
            self.assertIn("slowlog-max-len", said)
            self.assertEqual(self.value(c, "maxmemory"), str(200 << 20))
            self.assertEqual(self.value(c, "slowlog-max-len"), "128", "a line that is gone")
            self.assertEqual(self.value(c, "timeout"), "60", "the line is the same")
            self.assertEqual(self.value(c, "hz"), "30", "the command line says the same as before")

    def test_a_wrong_file_changes_nothing(self):
        write(self.conf, "maxmemory 100mb\n")
        with Server("--include", self.conf) as server, server.connect() as c:
            for text, why in (
                ("maxmemory 200mb\nnosuch 1\n", "there is no option 'nosuch'"),
                ("maxmemory 200mb\ntimeout x\n", "'timeout x'"),
                ("maxmemory 200mb\ncluster-enabled yes\n", "cluster"),
            ):
                write(self.conf, text)
                self.hup(server, "Not reloaded, everything stays as it is", why)
                self.assertEqual(self.value(c, "maxmemory"), str(100 << 20))
            with socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
                write(self.conf, f"maxmemory 200mb\nadmin-port {port}\n")
                self.hup(server, "Not reloaded, the configuration stays as it is", "admin-port")
                self.assertEqual(self.value(c, "maxmemory"), str(100 << 20))
                self.assertEqual(self.value(c, "admin-port"), "0")
            # A change that was not taken over is tried again.
            self.hup(server, "Reloaded: ")
            self.assertEqual(self.value(c, "maxmemory"), str(200 << 20))
            os.remove(self.conf)
            self.hup(server, "can't read the configuration file")
            self.assertEqual(c.command("PING"), b"+PONG")

    def test_the_form_of_the_log(self):
        write(self.conf, "log-format text\n")
        with Server("--include", self.conf) as server:
            write(self.conf, "log-format json\n")
            self.hup(server, '"msg":"Reloaded: log-format"')

    def test_users(self):
        everything = "user default on nopass ~* &* +@all\n"
        write(self.acl, f"{everything}user a on >first ~* +@all\nuser b on >b ~* +@all\n")
        with Server("--aclfile", self.acl) as server:
            with server.connect() as c, server.connect() as b:
                self.assertEqual(c.command("AUTH", "a", "first"), b"+OK")
                self.assertEqual(b.command("AUTH", "b", "b"), b"+OK")
                write(self.acl, f"{everything}user a on >second ~* nonsense\n")
                self.hup(server, "Not reloaded, the users stay as they are", "users.acl:2")
                self.assertEqual(c.command("AUTH", "a", "first"), b"+OK")
                write(self.acl, f"{everything}user a on >second ~* +@all\n")
                self.hup(server, "Reloaded: the users of the ACL file")
                self.assertEqual(c.command("AUTH", "a", "second"), b"+OK")
                self.assertTrue(b.is_closed(), "the user is gone")

    def test_the_log_file(self):
        with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
            log = os.path.join(dir, "logs", "apus.log")
            os.mkdir(os.path.dirname(log))
            text = lambda: open(log).read() if os.path.exists(log) else ""
            with LoggingServer(log) as server:
                wait_until(lambda: "Ready to accept" in text(), "it is ready")
                os.rename(log, log + ".1")
                server.process.send_signal(signal.SIGHUP)
                wait_until(lambda: "Received SIGHUP" in text(), "it writes to a new file")
                # A directory that is gone: lines go on into the file that is open.
                os.rename(os.path.dirname(log), os.path.join(dir, "gone"))
                moved = os.path.join(dir, "gone", "apus.log")
                server.process.send_signal(signal.SIGHUP)
                wait_until(lambda: "The log goes on where it went" in open(moved).read(), "it is told")


class LoggingServer(Server):
    """A server that logs to a file."""

    def __init__(self, log):
        self.path = log
        super().__init__("--logfile", log)

    def wait_for_log(self, text):
        pass
