"""Code that the soak scripts share: a server of their own, a small RESP client, figures of a process.

Everything is bounded, stays on loopback, and uses the standard library alone.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "clients"))
from harness.ports import free_port  # noqa: E402

# Binary under test; `Server(reference=True)` starts redis-server for comparison.
APUS = os.environ.get("APUS_BIN") or os.path.join(
    os.path.dirname(__file__), "..", "..", "target", "release", "apus"
)
KIB, MIB = 1 << 10, 1 << 20


class ServerError(Exception):
    """An error reply."""


def encode(*words):
    """One command in RESP."""
    parts = [b"*%d\r\n" % len(words)]
    for w in words:
        if isinstance(w, str):
            w = w.encode()
        elif isinstance(w, int):
            w = b"%d" % w
        parts.append(b"$%d\r\n%b\r\n" % (len(w), w))
    return b"".join(parts)


class Client:
    """A blocking connection. Replies are bytes, ints, lists, None, or ServerError values."""

    def __init__(self, port, timeout=60.0):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb", 1 << 16)

    def send(self, data):
        self.sock.sendall(data)

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("closed by the server")
        kind, rest = line[:1], line[1:-2]
        if kind in b"+(,":
            return rest
        if kind == b"-":
            return ServerError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind in b"$=":
            n = int(rest)
            if n < 0:
                return None
            data = self.file.read(n + 2)
            if len(data) != n + 2:
                raise ConnectionError("closed by the server")
            return data[:-2]
        if kind in b"*~>":
            n = int(rest)
            return None if n < 0 else [self.read() for _ in range(n)]
        if kind == b"%":
            return [self.read() for _ in range(2 * int(rest))]
        if kind == b"_":
            return None
        if kind == b"#":
            return rest == b"t"
        raise AssertionError(f"not a reply: {line!r}")

    def do(self, *words):
        """Sends one command and returns its reply; an error reply is raised."""
        self.send(encode(*words))
        r = self.read()
        if isinstance(r, ServerError):
            raise r
        return r

    def pipeline(self, commands):
        """Sends encoded commands together and returns their replies."""
        commands = list(commands)
        self.send(b"".join(commands))
        return [self.read() for _ in commands]

    def info(self, section="everything"):
        text = self.do("INFO", section).decode()
        return dict(l.split(":", 1) for l in text.split("\r\n") if ":" in l)

    def close(self):
        self.file.close()
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """A server on a free port with a directory of its own; killed at the end of the `with`."""

    def __init__(self, *options, reference=False, program=None):
        self.port = free_port()
        self.dir = tempfile.mkdtemp(prefix="soak-")
        self.log = os.path.join(self.dir, "log")
        if program is None:
            program = [shutil.which("redis-server")] if reference else [APUS, "serve"]
        args = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.dir, "--save", ""]
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                program + args + [str(o) for o in options], stdout=out, stderr=out
            )
        deadline = time.monotonic() + 20
        while True:
            try:
                with Client(self.port) as c:
                    c.do("PING")
                return
            except (OSError, ServerError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.stop()
                    raise RuntimeError("the server did not start: " + self.log_text()) from None
                time.sleep(0.02)

    @property
    def pid(self):
        return self.process.pid

    def client(self, **kw):
        return Client(self.port, **kw)

    def rss(self):
        """Resident bytes."""
        with open(f"/proc/{self.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def alive(self):
        return self.process.poll() is None

    def log_text(self):
        with open(self.log, errors="replace") as f:
            return f.read()

    def complaints(self):
        """Log lines about a panic or an error."""
        bad = re.compile(r"panick|\berror\b|abort|assert|poison", re.I)
        return [l for l in self.log_text().splitlines() if bad.search(l)]

    def stop(self):
        if self.alive():
            self.process.kill()
        self.process.wait()
        if not os.environ.get("SOAK_KEEP"):
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def fill(client, n, make, batch=1000):
    """Sends `make(i)` for i in 0..n in pipelines; replies must not be errors."""
    for first in range(0, n, batch):
        for r in client.pipeline(make(i) for i in range(first, min(n, first + batch))):
            if isinstance(r, ServerError):
                raise r


def report(name, **figures):
    """One line of figures, aligned to be read and easy to grep."""
    print(f"{name}: " + "  ".join(f"{k}={v}" for k, v in figures.items()), flush=True)


def ms(seconds):
    return f"{seconds * 1000:.2f}ms"
