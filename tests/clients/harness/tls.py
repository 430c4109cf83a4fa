"""Servers with a TLS port, and clients of them, with certificates of one authority."""

import atexit
import functools
import os
import shutil
import socket
import ssl
import tempfile

from harness.certificates import Authority
from harness.ports import free_port
from harness.server import PATIENCE_S, Server


@functools.cache
def authority():
    """An authority for all tests of this process. It has issued `server`, `other`, `alice`, `nobody`, `expired`."""
    directory = tempfile.mkdtemp(prefix="apus-tls-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    ca = Authority(directory)
    for name in ["server", "other", "alice", "nobody"]:
        ca.issue(name)
    ca.issue("expired", days=-1)
    return ca


@functools.cache
def strangers():
    """Another authority, which has issued `mallory`, who says that he is alice."""
    ca = Authority(os.path.dirname(authority().certificate), "strangers")
    ca.issue("mallory", common="alice")
    return ca


class TlsServer(Server):
    """A server with a TLS port beside its other one."""

    def __init__(self, *options, certificate="server", asks="no"):
        ca = authority()
        self.tls_port = free_port()
        super().__init__(
            "--tls-port", self.tls_port, "--loglevel", "debug",
            "--tls-cert-file", ca.path(f"{certificate}.crt"),
            "--tls-key-file", ca.path(f"{certificate}.key"),
            "--tls-ca-cert-file", ca.certificate,
            "--tls-auth-clients", asks, *options,
        )

    def plain_socket(self, host="127.0.0.1"):
        """A connection to the TLS port that has not said anything."""
        return socket.create_connection((host, self.tls_port), PATIENCE_S)


def context(shown=None):
    """A client's context, which shows the certificate of this name."""
    ca = authority()
    c = ssl.create_default_context(cafile=ca.certificate)
    if shown:
        c.load_cert_chain(ca.path(f"{shown}.crt"), ca.path(f"{shown}.key"))
    return c


class TlsClient:
    """A client over TLS, RESP2."""

    def __init__(self, server, shown=None, with_context=None, port=None, host="127.0.0.1"):
        plain = socket.create_connection((host, port or server.tls_port), PATIENCE_S)
        try:
            c = with_context or context(shown)
            self.socket = c.wrap_socket(plain, server_hostname="localhost")
        except BaseException:
            plain.close()
            raise
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        head = b"*%d\r\n" % len(words)
        self.socket.sendall(head + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))

    def reply(self):
        line = self.file.readline()[:-2]
        if line[:1] == b"$" and line != b"$-1":
            return self.file.read(int(line[1:]) + 2)[:-2]
        if line[:1] == b"*":
            return [self.reply() for _ in range(int(line[1:]))]
        return line

    def command(self, *words):
        self.send(*words)
        return self.reply()

    def serial(self):
        """The number of the server's certificate."""
        return self.socket.getpeercert()["serialNumber"]


class Memory:
    """The client's side of a session whose bytes go where the test wants."""

    def __init__(self, with_context=None):
        self.inner, self.outer = ssl.MemoryBIO(), ssl.MemoryBIO()
        c = with_context or context()
        self.session = c.wrap_bio(self.inner, self.outer, server_hostname="localhost")

    def shake(self):
        """Goes on with the handshake. Returns whether it is done."""
        try:
            self.session.do_handshake()
            return True
        except ssl.SSLWantReadError:
            return False

    def finish(self, connection):
        """Makes the rest of the handshake over a socket."""
        while not self.shake():
            connection.sendall(self.outer.read())
            more = connection.recv(65536)
            if not more:
                raise ConnectionError("the server has closed the connection")
            self.inner.write(more)
        connection.sendall(self.outer.read())

    def receive(self, connection, size):
        """Exactly `size` bytes of content."""
        got = b""
        while len(got) < size:
            try:
                got += self.session.read(size - len(got))
            except ssl.SSLWantReadError:
                more = connection.recv(65536)
                if not more:
                    raise ConnectionError("the server has closed the connection") from None
                self.inner.write(more)
        return got
