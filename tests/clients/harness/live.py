"""Live channels over bare sockets: a server with a configuration, WebSockets, streams, tokens, Protobuf.

Messages of JSON are texts that a test may compare byte for byte. Messages of Protobuf are dicts from field numbers
to lists of numbers or bytes, which `fields` reads one level at a time.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import tempfile

from harness.ports import free_port
from harness.server import PATIENCE_S, Server

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

# What a namespace needs for clients that nobody knows.
OPEN = {
    f"allow_{what}_for_{whom}": True
    for what in ["subscribe", "publish", "presence", "history"]
    for whom in ["client", "anonymous"]
}


class Live:
    """A server with live channels. `namespaces` maps names to options beyond OPEN."""

    def __init__(self, *options, namespaces=None, client=None, **more):
        self.dir = tempfile.TemporaryDirectory()
        self.port = free_port()
        config = {
            "client": {
                "allow_anonymous_connect_without_token": True,
                "token": {"hmac_secret_key": "secret"},
                **(client or {}),
            },
            "channel": {"namespaces": [{**OPEN, "name": name, **o} for name, o in (namespaces or {"ch": {}}).items()]},
            "http_api": {"key": "K"},
            **{name: {"enabled": True} for name in ["sse", "http_stream", "uni_sse", "uni_http_stream", "uni_websocket"]},
            **more,
        }
        file = os.path.join(self.dir.name, "live.json")
        with open(file, "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.server = Server("--web-port", self.port, "--live-config", file, *options)
        self.connect = self.server.connect

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()
        self.dir.cleanup()

    def api(self, method, **body):
        """The result of a request; AssertionError for an error."""
        answer = self.answer(method, **body)
        assert "result" in answer, answer
        return answer["result"]

    def answer(self, method, **body):
        """The answer to a request."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        c.request("POST", f"/api/{method}", json.dumps(body), {"X-API-Key": "K"})
        answer = json.loads(c.getresponse().read())
        c.close()
        return answer

    def publish(self, channel, data, **more):
        return self.api("publish", channel=channel, data=data, **more)

    def client(self, connect=True, **options):
        """A connected WebSocket of JSON."""
        return Socket(self.port, **options).hello() if connect else Socket(self.port, **options)


def token(secret="secret", **claims):
    """A JSON Web Token."""
    part = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    head = part(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()) + "." + part(json.dumps(claims).encode())
    return head + "." + part(hmac.new(secret.encode(), head.encode(), hashlib.sha256).digest())


class Closed(Exception):
    """The server closed the WebSocket: a code, a reason."""


class Socket:
    """A WebSocket. Pings of the channel protocol are answered unless `pongs` is false."""

    def __init__(self, port, path="/connection/websocket", protobuf=False, pongs=True, rcvbuf=None):
        self.binary, self.pongs, self.number = protobuf, pongs, 0
        self.s = socket.socket()
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(PATIENCE_S)
        self.s.connect(("127.0.0.1", port))
        protocol = "Sec-WebSocket-Protocol: centrifuge-protobuf\r\n" if protobuf else ""
        self.s.sendall(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{protocol}"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        self.left = b""
        self.queue = []
        while b"\r\n\r\n" not in self.left:
            self._more()
        head, self.left = self.left.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        assert " 101 " in self.head, self.head

    def _more(self):
        piece = self.s.recv(1 << 16)
        if not piece:
            raise EOFError(self.left[-100:])
        self.left += piece

    def frame(self, opcode, payload, first=0x80):
        """Sends a frame."""
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big") if size < 1 << 16 else b"\xff" + size.to_bytes(8, "big")
        mask = b"\x01\x02\x03\x04"
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
        self.s.sendall(bytes([first | opcode]) + length + mask + masked)

    def take(self):
        """The next frame: opcode and payload."""
        while True:
            if len(self.left) >= 2:
                size, at = self.left[1], 2
                if size >= 126:
                    at += 2 if size == 126 else 8
                    size = int.from_bytes(self.left[2:at], "big")
                if len(self.left) >= at + size:
                    opcode, payload = self.left[0] & 15, self.left[at : at + size]
                    self.left = self.left[at + size :]
                    return opcode, payload
            self._more()

    def text(self):
        """The next message of JSON, as it stands. Closed when there is none."""
        while not self.queue:
            opcode, payload = self.take()
            if opcode == CLOSE:
                raise Closed(int.from_bytes(payload[:2], "big"), payload[2:].decode())
            if opcode == PONG:
                continue
            self.queue = list(delimited(payload)) if self.binary else payload.decode().split("\n")
        message = self.queue.pop(0)
        if message in ("{}", b"") and self.pongs:
            self.send({} if not self.binary else b"")
            return self.text()
        return message

    def next(self):
        """The next message, decoded."""
        message = self.text()
        return fields(message) if self.binary else json.loads(message)

    def push(self):
        """The next message, which is a push: its content."""
        message = self.next()
        assert "push" in message, message
        return message["push"]

    def publication(self):
        """The next message, which is a publication."""
        return self.push()["pub"]

    def send(self, command):
        """Sends a command: a dict, or bytes of Protobuf."""
        if self.binary:
            self.frame(BINARY, varint(len(command)) + command)
        else:
            self.frame(TEXT, (command if isinstance(command, str) else json.dumps(command)).encode())

    def ask(self, method, **request):
        """Sends a request of JSON, and returns the text of its reply; what comes before it goes to `before`."""
        self.number += 1
        self.send({"id": self.number, method: request})
        self.before = []
        while True:
            text = self.text()
            if text.startswith(f'{{"id":{self.number},'):
                return text
            self.before.append(json.loads(text))

    def call(self, method, **request):
        """Sends a request of JSON, and returns its result, or the error."""
        reply = json.loads(self.ask(method, **request))
        return reply.get(method, reply.get("error"))

    def hello(self, **request):
        """Connects."""
        self.connected = self.call("connect", **request)
        assert "client" in self.connected, self.connected
        return self

    def ended(self):
        """Waits for the end: its code and reason."""
        try:
            while True:
                self.text()
        except Closed as end:
            return end.args

    def close(self):
        self.s.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def varint(n):
    out = b""
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def read_varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return n, at


def delimited(data):
    """Messages with their lengths before them."""
    at = 0
    while at < len(data):
        size, at = read_varint(data, at)
        yield data[at : at + size]
        at += size


def message(**values):
    """A Protobuf message: `message(_1=7, _4=b"...")`; a list repeats its field."""
    out = b""
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            number = int(name[1:])
            if isinstance(one, int):
                out += varint(number << 3) + varint(one)
            else:
                one = one.encode() if isinstance(one, str) else one
                out += varint(number << 3 | 2) + varint(len(one)) + one
    return out


def fields(data):
    """The fields of a Protobuf message."""
    out, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at)
            value = data[at : at + size]
            at += size
        out.setdefault(tag >> 3, []).append(value)
    return out


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"


def apply_delta(source, delta):
    """The target of a Fossil delta, by the description of the format."""
    at, out = 0, b""

    def number():
        nonlocal at
        n = 0
        while (digit := DIGITS.find(chr(delta[at]))) >= 0:
            n, at = n * 64 + digit, at + 1
        at += 1
        return n, delta[at - 1 : at]

    size, _ = number()
    while True:
        n, kind = number()
        if kind == b";":
            words = [int.from_bytes(out[i : i + 4].ljust(4, b"\0"), "big") for i in range(0, len(out), 4)]
            assert len(out) == size and sum(words) & 0xFFFFFFFF == n, (source, delta)
            return out
        if kind == b"@":
            start, _ = number()
            out += source[start : start + n]
        else:
            out += delta[at : at + n]
            at += n


def whole(publications, previous=b""):
    """The data of publications for a subscriber that takes deltas, as JSON, and which of them were deltas."""
    data, deltas = [], []
    for publication in publications:
        text = publication["data"].encode()
        deltas.append(publication.get("delta", False))
        previous = apply_delta(previous, text) if deltas[-1] else text
        data.append(json.loads(previous))
    return data, deltas
