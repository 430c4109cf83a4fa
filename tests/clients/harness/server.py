"""Starts the `apus` binary for a test, and raw connections to it.

APUS_BIN names the binary. It is started as `apus serve --port N --dir D --name value ...` in
a directory of its own and is ready once it has printed "Ready to accept connections".
"""

import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness.ports import free_port

BINARY = os.environ.get("APUS_BIN", "")

# Generous, since it only ends tests that would otherwise hang: nothing is measured by it, and a
# machine may be slow and busy.
PATIENCE_S = 180


# Set to 1 when APUS_BIN stands for a real redis-server, to check the tests against it. Tests of
# promises of Apus beyond Redis are then left out.
REFERENCE = os.environ.get("APUS_REFERENCE", "") == "1"
beyond_redis = unittest.skipIf(REFERENCE, "Redis does not promise this")


def wait_until(condition, what):
    """Polls until `condition()` is true; the condition is asserted, not its speed."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {PATIENCE_S} s: {what}")
        time.sleep(0.01)


def open_files(test, count):
    """Lets `test`, and servers it starts, open `count` files, or as many as the machine allows;
    how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            return count
        except (ValueError, OSError):
            count = hard
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
        test.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
    return count


class Server:
    """One running server. `with Server("--maxclients", "5") as server: ...`; `env` is added to its environment."""

    def __init__(self, *options, conf=None, env=None):
        if not BINARY:
            raise RuntimeError("APUS_BIN must name the apus binary")
        self.dir = tempfile.mkdtemp(prefix="apus-test-")
        self.port = free_port()
        self.log = []
        self._log_changed = threading.Condition()

        command = [BINARY, "serve", *([conf] if conf else [])]
        command += ["--port", str(self.port), "--dir", self.dir, "--save", ""]
        self.process = subprocess.Popen(
            command + [str(option) for option in options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # A `dir` among the options may be relative.
            cwd=self.dir,
            env={**os.environ, **(env or {})},
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()
        try:
            self.wait_for_log("Ready to accept connections")
        except BaseException:
            self.close()
            raise

    def _read_log(self):
        for line in self.process.stdout:
            with self._log_changed:
                self.log.append(line.decode(errors="replace").rstrip())
                self._log_changed.notify_all()
        with self._log_changed:
            self.log.append("(end of log)")
            self._log_changed.notify_all()

    def wait_for_log(self, text):
        with self._log_changed:
            found = self._log_changed.wait_for(
                lambda: any(text in line for line in self.log) or "(end of log)" in self.log,
                PATIENCE_S,
            )
        if not found or not any(text in line for line in self.log):
            raise AssertionError(f"no {text!r} in the server's log:\n" + "\n".join(self.log))

    def connect(self):
        return Raw(self.port)

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("the server has no VmRSS")

    def cpu_s(self):
        """Seconds of CPU the server has used, all threads."""
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait(self):
        """Waits for the server to end by itself; its exit status, negative for a signal."""
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            log = "\n".join(self.log[-20:])
            raise AssertionError(f"the server is still running; its log ends:\n{log}") from None

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Raw:
    """A bare TCP connection, for bytes that no well-behaved client would send."""

    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), PATIENCE_S)

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        """The next line without its CR LF; b"" when the server closed instead."""
        data = b""
        while not data.endswith(b"\r\n"):
            byte = self.receive(1)
            if not byte:
                return data
            data += byte
        return data[:-2]

    def receive(self, size):
        """At most `size` bytes; b"" when the server closed the connection."""
        try:
            return self.socket.recv(size)
        except ConnectionResetError:
            return b""

    def exactly(self, size):
        data = b""
        while len(data) < size:
            more = self.receive(min(size - len(data), 1 << 20))
            if not more:
                raise AssertionError(f"closed after {len(data)} of {size} bytes")
            data += more
        return data

    def is_closed(self):
        """Waits for the server to close; False when it sends something instead."""
        return self.receive(1) == b""

    def command(self, *args):
        """Sends a command, returns the first line of its reply."""
        self.send(encode(*args))
        return self.line()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def encode(*args):
    request = b"*%d\r\n" % len(args)
    for arg in args:
        arg = arg if isinstance(arg, bytes) else str(arg).encode()
        request += b"$%d\r\n%s\r\n" % (len(arg), arg)
    return request
