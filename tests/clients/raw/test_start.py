"""What an operator does wrong before and while the server starts."""

import os
import resource
import signal
import socket
import subprocess
import tempfile
import unittest
from unittest import mock

from harness.ports import free_port
from harness.server import BINARY, PATIENCE_S, Raw, Server, beyond_redis


def start(*options, file=()):
    """Runs a server that cannot start; its exit status and what it said."""
    port = str(free_port())
    command = [BINARY, "serve", *file, "--port", port, "--save", "", *options]
    with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
        done = subprocess.run(
            command,
            cwd=dir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
        )
    return done.returncode, done.stdout.decode()


@beyond_redis
class Start(unittest.TestCase):
    def test_a_file_where_the_unix_socket_should_be_stays(self):
        with tempfile.NamedTemporaryFile() as file:
            status, said = start("--unixsocket", file.name)
            self.assertEqual(status, 1)
            self.assertIn(f"unix socket {file.name}: there is something that is no socket", said)
            self.assertTrue(os.path.exists(file.name))

    def test_the_unix_socket_is_told(self):
        with Server("--unixsocket", "s.sock") as server:
            server.wait_for_log("Ready to accept connections unix on s.sock")

    def test_a_second_server_leaves_the_pidfile_of_the_first(self):
        with Server("--pidfile", "p") as server:
            file = os.path.join(server.dir, "p")
            status, said = start("--port", str(server.port), "--pidfile", file)
            self.assertEqual(status, 1)
            self.assertIn("Address already in use", said)
            with open(file) as pid:
                self.assertEqual(int(pid.read()), server.process.pid)

    def test_a_wrong_user_line_is_told_with_its_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write("user alice on nonsense\n")
            file.flush()
            status, said = start(file=[file.name])
        self.assertEqual(status, 1)
        self.assertIn(f"{file.name}: user 'alice': 'nonsense': Syntax error", said)

    def test_few_open_files_make_few_clients(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        with Server("--threads", "1", "--maxclients", hard) as server, server.connect() as c:
            server.wait_for_log(f"instead of {hard}: the limit of open files is too low")
            # What topics may have open is put by, too.
            allowed = hard - 34 - 512
            self.assertEqual(c.command("CONFIG", "SET", "maxclients", str(allowed)), b"+OK")
            said = c.command("CONFIG", "SET", "maxclients", str(1 << 31))
            self.assertIn(b"The operating system is not able to handle", said)
            self.assertIn(b"try with", said)

    def test_tls_is_not_promised(self):
        with Server() as server, server.connect() as c:
            said = c.command("CONFIG", "SET", "tls-port", str(free_port()))
            self.assertIn(b"TLS is not built yet", said)
            self.assertEqual(c.command("CONFIG", "SET", "tls-port", "0"), b"+OK")

    def test_a_bucket_that_does_not_answer_keeps_nobody_waiting(self):
        # Nobody answers there, and the store is asked for a long time.
        endpoint = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ALLOW_HTTP": "true"}
        keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "r"}
        with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
            port = free_port()
            command = [BINARY, "serve", "--port", str(port), "--save", ""]
            with subprocess.Popen(
                [*command, "--dir", dir, "--topic-storage", "s3://bucket/prefix"],
                env={**os.environ, **endpoint, **keys},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as process:
                said = b""
                for line in process.stdout:
                    said += line
                    if b"Ready to accept connections" in line:
                        break
                self.assertIn(b"Looking for topics in s3://bucket/prefix", said)
                with Raw(port) as c:
                    self.assertEqual(c.command("SET", "k", "v"), b"+OK")
                    for command in (("TOPIC.LIST",), ("TOPIC.APPEND", "t", "RECORDS", "x")):
                        answer = c.command(*command)
                        self.assertIn(b"-TRYAGAIN topics are not open yet", answer)
                        self.assertIn(b"s3://bucket/prefix", answer)
                for line in process.stdout:
                    if b"Still waiting for topics in s3://bucket/prefix" in line:
                        break
                process.send_signal(signal.SIGTERM)
                said = process.stdout.read().decode()
                self.assertEqual(process.wait(PATIENCE_S), 0, said)

    def test_what_a_bucket_lacks_is_said_at_once(self):
        keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
        far = {**keys, "AWS_ENDPOINT_URL": "http://10.0.0.1:9000"}
        for url, variables, expected in (
            ("s3://bucket", far, "set AWS_ALLOW_HTTP=true"),
            ("s3://bucket", {"AWS_ACCESS_KEY_ID": "k"}, "AWS_SECRET_ACCESS_KEY is not"),
            ("az://container", {}, "AZURE_STORAGE_ACCOUNT_NAME is not set"),
        ):
            with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
                command = [BINARY, "serve", "--port", str(free_port())]
                done = subprocess.run(
                    [*command, "--dir", dir, "--topic-storage", url],
                    env={**os.environ, **variables},
                    capture_output=True,
                    timeout=PATIENCE_S,
                )
                said = (done.stdout + done.stderr).decode()
                self.assertEqual(done.returncode, 1, said)
                self.assertIn(expected, said)

    def test_systemd_is_told(self):
        with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
            path = os.path.join(dir, "notify")
            # Those of containers and of old versions have no name in the file system.
            for name, shown in ((path, path), (b"\0" + path.encode(), "@" + path)):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                    manager.bind(name)
                    manager.settimeout(PATIENCE_S)
                    for mode in ("systemd", "auto"):
                        with mock.patch.dict(os.environ, NOTIFY_SOCKET=shown):
                            with Server("--supervised", mode):
                                self.assertIn(b"READY=1\n", manager.recv(1000))

    def test_a_full_disk_for_the_version(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "--version"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (1, b"apus: No space left on device\n"))
