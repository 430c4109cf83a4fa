"""Mistakes of an operator before and while the server starts."""

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
    """Runs a server that cannot start; returns its exit status and its output."""
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
        # As few as this process still can start another one with: the limit is one of the numbers of files.
        highest = max(map(int, os.listdir("/proc/self/fd")))
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 64, hard))
        with Server("--threads", "1", "--maxclients", hard) as server, server.connect() as c:
            server.wait_for_log(f"instead of {hard}: the limit of open files is too low")
            # The files that topics may have open are reserved, too.
            allowed = hard - 34 - 64
            self.assertEqual(c.command("CONFIG", "SET", "maxclients", str(allowed)), b"+OK")
            said = c.command("CONFIG", "SET", "maxclients", str(1 << 31))
            self.assertIn(b"The operating system is not able to handle", said)
            self.assertIn(b"try with", said)

    @beyond_redis
    def test_an_http_port_takes_its_files_before_it_opens(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with Server("--threads", "1", "--maxclients", hard, "--enable-protected-configs", "yes") as server, server.connect() as c:
            server.wait_for_log(f"instead of {hard}: the limit of open files is too low")
            port = str(free_port())
            said = c.command("CONFIG", "SET", "topic-http-port", port)
            self.assertIn(b"The limit of open files is too low for topic-http-max-connections 1024 beside maxclients", said)
            with self.assertRaises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", int(port)), 5).close()
            allowed = hard - 34 - 64 - 1024
            self.assertEqual(c.command("CONFIG", "SET", "maxclients", str(allowed)), b"+OK")
            self.assertEqual(c.command("CONFIG", "SET", "topic-http-port", port), b"+OK")
            self.assertEqual(c.command("CONFIG", "SET", "topic-http-bind", "127.0.0.1 127.0.0.2"), b"+OK")
            self.assertIn(b"try with", c.command("CONFIG", "SET", "maxclients", str(allowed + 1)))

    def test_tls_needs_a_certificate(self):
        with Server() as server, server.connect() as c:
            said = c.command("CONFIG", "SET", "tls-port", str(free_port()))
            self.assertIn(b"Unable to update TLS configuration", said)
            self.assertEqual(c.command("CONFIG", "SET", "tls-port", "0"), b"+OK")

    def test_live_channels_that_cannot_be_reached(self):
        with tempfile.TemporaryDirectory() as dir:
            # A relative path begins at `dir`.
            status, said = start("--dir", dir, "--live-config", "live.json")
            self.assertEqual(status, 1)
            self.assertIn(f"live-config {os.path.realpath(dir)}/live.json: No such file", said)
            file = os.path.join(dir, "live.json")
            with open(file, "w", encoding="utf-8") as f:
                f.write("{}")
            with Server("--live-config", file) as server:
                server.wait_for_log("live-config without web-port: browsers cannot connect")

    def test_what_would_do_harm_when_it_is_missing_stops_the_start(self):
        for line, why in (
            ("cluster-enabled yes", "no cluster mode"),
            ("tls-port 6380", "No tls-cert-file configured"),
            ("loadmodule /nowhere/auth.so", "loads no modules"),
            ("sentinel monitor m 127.0.0.1 6379 2", "not a sentinel"),
            ("aclfile /nowhere/users.acl", "/nowhere/users.acl"),
            ("include /nowhere/more.conf", "/nowhere/more.conf"),
            ("requirepass", "wrong number of arguments"),
            ("requirepass two words", "wrong number of arguments"),
            ("rename-command GET", "wants other arguments"),
            ("user alice on >pw ~* +@al", "alice"),
            ("dir /nowhere", "No such file or directory"),
            ("unixsocket /nowhere/s.sock", "/nowhere/s.sock"),
            ("logfile /nowhere/log", "/nowhere/log"),
        ):
            with self.subTest(line=line), tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
                file.write(f"maxclients 100\n{line}\n")
                file.flush()
                status, said = start(file=[file.name])
                self.assertEqual(status, 1, said)
                self.assertIn(why, said)
                name, *values = line.split(" ")
                status, said = start(f"--{name}", *values)
                self.assertEqual(status, 1, said)

    def test_what_has_no_effect_is_told_at_the_start(self):
        with Server("--tls-dh-params-file", "x.pem", "--daemonize", "yes") as server:
            for name in ("tls-dh-params-file", "daemonize"):
                server.wait_for_log(f"Ignored: {name} (")
        with Server("--min-replicas-to-write", "1") as server, server.connect() as c:
            server.wait_for_log("writes are refused until so many replicas have come")
            self.assertTrue(c.command("SET", "k", "v").startswith(b"-NOREPLICAS"))

    def test_a_directory_in_which_no_file_can_be_made(self):
        # Not even root can make one there.
        with Server("--dir", "/proc", "--save", "60", "1") as server, server.connect() as c:
            server.wait_for_log("No file can be made in `dir` /proc")
            server.process.send_signal(signal.SIGTERM)
            server.wait_for_log("Error trying to save the DB, can't exit")
            self.assertEqual(c.command("CONFIG", "SET", "save", ""), b"+OK")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
        options = ["--save", "60", "1", "--enable-protected-configs", "yes"]
        with Server(*options) as server, server.connect() as c:
            self.assertEqual(os.listdir(server.dir), [])
            self.assertFalse(any("No file can be made" in line for line in server.log))
            self.assertEqual(c.command("CONFIG", "SET", "dir", "/proc"), b"+OK")
            server.wait_for_log("No file can be made in `dir` /proc")
        status, said = start("--dir", "/proc", "--appendonly", "yes")
        self.assertEqual(status, 1, said)
        self.assertIn("/proc/appendonlydir", said)

    def test_a_bucket_that_does_not_answer_keeps_nobody_waiting(self):
        # No server answers there, and the store is asked for a long time.
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


@beyond_redis
class CommandLine(unittest.TestCase):
    """The messages about impossible command lines."""

    def run_it(self, *words):
        with tempfile.TemporaryDirectory(prefix="apus-test-") as dir:
            done = subprocess.run(
                [BINARY, *words],
                cwd=dir,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE_S,
            )
        return done.returncode, done.stdout.decode()

    def test_mistakes(self):
        for line, status, told in (
            ("foo", 2, "there is no command 'foo'\n"),
            ("sevre", 2, "did you mean 'apus serve'?"),
            ("bnch", 2, "did you mean 'apus bench'?"),
            ("help foo", 2, "there is no command 'foo'\n"),
            ("-p 7000", 1, "'-p' is not an option: options begin with two dashes (the port is --port)"),
            ("serve -p 7000", 1, "(the port is --port)"),
            ("serve --threads 2 -p 7000", 1, "'-p' is not an option"),
            ("serve --prot=7000", 1, "there is no option 'prot', did you mean 'port'?"),
            ("serve --port=x", 1, "argument couldn't be parsed into an integer"),
            ("serve nosuch.conf", 1, "can't read the configuration file"),
            ("check", 2, "apus check FILE"),
            ("check --fux dump.rdb", 2, "there is no option '--fux'"),
            ("check nosuch", 1, "No such file or directory"),
            ("docs foo", 2, "there is no reference 'foo'"),
            ("bench foo", 2, "there is no benchmark 'foo'; there are kv, http, pubsub, live and log"),
            ("bench kv --port=x", 2, "not a number from 1 to 65535"),
            ("bench pubsub --port=x", 2, "a whole number from 1 to 65535"),
            ("bench log --api=x", 2, "--api"),
            ("log stast", 2, "there is no command 'stast', did you mean 'stats'?"),
            ("log foo", 2, "there is no command 'foo';"),
            ("log stats --dir=/nowhere", 1, "there are no topics in /nowhere"),
        ):
            with self.subTest(line=line):
                code, said = self.run_it(*line.split(" "))
                self.assertIn(told, said)
                self.assertEqual(code, status, said)

    def test_values_behind_an_equals_sign(self):
        with Server("--maxmemory=100mb", "--bind=127.0.0.1 -::1", "--requirepass=a=b") as server:
            with server.connect() as c:
                self.assertTrue(c.command("PING").startswith(b"-NOAUTH"))
                self.assertEqual(c.command("AUTH", "a=b"), b"+OK")

    def test_versions(self):
        code, said = self.run_it("--version")
        for words in (("version",), ("-v",), ("serve", "--version")):
            self.assertEqual(self.run_it(*words), (code, said))
