"""Live channels over bare sockets: a server with a configuration, tokens, and clients: one class for each transport, with
the same methods.

`commands(...)` sends commands, `message()` is the next message of the server: a reply, or what a push holds with its
channel. A WebSocket can also speak Protobuf (`harness.protobuf`), and gives messages byte for byte as they came. Nothing
is repaired: a connection that ends raises `Gone`.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
import tempfile
from urllib.parse import quote

from harness.ports import free_port
from harness.protobuf import delimited, fields, varint
from harness.server import PATIENCE_S, Server

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10

# What a namespace needs for clients that nobody knows.
OPEN = {
    f"allow_{what}_for_{whom}": True
    for what in ["subscribe", "publish", "presence", "history"]
    for whom in ["client", "anonymous"]
}


def config(namespaces, client=None, **more):
    """A configuration in which everybody may do everything, on all transports; `namespaces` maps names to options
    beyond OPEN."""
    return {
        "client": {
            "allow_anonymous_connect_without_token": True,
            "allowed_origins": ["http://good"],
            "token": {"hmac_secret_key": "secret"},
            **(client or {}),
        },
        "channel": {"namespaces": [{**OPEN, "name": name, **options} for name, options in namespaces.items()]},
        "http_api": {"key": "K"},
        **{name: {"enabled": True} for name in TRANSPORTS if name != "websocket"},
        **more,
    }


class Live:
    """A server with live channels: with `options` of the command line, and a configuration as of `config`, in `file`.
    `server` is its class; `env` is added to its environment."""

    def __init__(self, *options, namespaces=None, client=None, server=Server, env=None, **more):
        self.dir = tempfile.TemporaryDirectory()
        self.port = free_port()
        self.file = os.path.join(self.dir.name, "live.json")
        with open(self.file, "w", encoding="utf-8") as f:
            json.dump(config(namespaces or {"ch": {}}, client, **more), f)
        more = {"env": env} if env else {}
        self.server = server("--web-port", self.port, "--live-config", self.file, *options, **more)
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
        return api(self.port, method, body)

    def publish(self, channel, data, **more):
        return self.api("publish", channel=channel, data=data, **more)

    def client(self, connect=True, **options):
        """A connected WebSocket."""
        return WebSocket(self.port, **options).hello() if connect else WebSocket(self.port, **options)


def api(port, method, body, key="K"):
    """A request to the HTTP API; the whole answer."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        c.request("POST", f"/api/{method}", json.dumps(body), {"X-API-Key": key})
        answer = c.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise Gone(answer.status, text.decode())
        return json.loads(text)
    except (OSError, http.client.HTTPException) as e:
        raise Gone(None, str(e)) from None
    finally:
        c.close()


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims=None, key=b"secret", header=None, **more):
    """A token that is signed with HS256, whatever its header says."""
    claims = {**(claims or {}), **more}
    text = f"{part(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{part(json.dumps(claims).encode())}"
    return f"{text}.{part(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


class Gone(Exception):
    """The connection has ended: `code` is that of the closing frame or of the last message, if there was one."""

    def __init__(self, code=None, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


def frame(opcode, payload, last=True, masked=True, reserved=0):
    """A frame of a client."""
    n = len(payload)
    head = bytes([(0x80 if last else 0) | reserved | opcode])
    bit = 0x80 if masked else 0
    if n < 126:
        head += bytes([bit | n])
    elif n < 1 << 16:
        head += bytes([bit | 126]) + n.to_bytes(2, "big")
    else:
        head += bytes([bit | 127]) + n.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


class Wire:
    """A socket with what has arrived. Pings are answered unless `pongs` is false. `tls` is a context of the module ssl."""

    def __init__(self, port, rcvbuf=None, pongs=True, tls=None):
        self.s, self.tls = socket.socket(), tls
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(PATIENCE_S)
        self.left, self.messages, self.binary, self.pongs = b"", [], False, pongs
        try:
            self.s.connect(("127.0.0.1", port))
            if tls:
                self.s = tls.wrap_socket(self.s, server_hostname="localhost")
        except OSError as e:
            raise Gone(None, str(e)) from None

    def write(self, data):
        try:
            self.s.sendall(data)
        except OSError as e:
            raise Gone(None, str(e)) from None

    def more(self):
        try:
            piece = self.s.recv(1 << 16)
        except (OSError, ValueError) as e:
            raise Gone(None, str(e)) from None
        if not piece:
            raise Gone()
        self.left += piece

    def exactly(self, n):
        while len(self.left) < n:
            self.more()
        data, self.left = self.left[:n], self.left[n:]
        return data

    def until(self, end):
        while end not in self.left:
            self.more()
        data, self.left = self.left.split(end, 1)
        return data

    def request(self, text):
        """Sends a request; the status and the head of the answer."""
        self.write(text)
        head = self.until(b"\r\n\r\n").decode()
        return int(head.split(" ")[1]), head

    def text(self):
        """The next message as it stands: a text, or bytes of Protobuf."""
        while True:
            while not self.messages:
                data = self.arrived()
                self.messages += delimited(data) if self.binary else [t for t in data.decode().split("\n") if t.strip()]
            message = self.messages.pop(0)
            if message not in ("{}", b"") or not self.pongs:
                return message
            self.pong()

    def next(self):
        """The next message, decoded."""
        message = self.text()
        return fields(message) if self.binary else json.loads(message)

    def message(self):
        """The next message: a reply, or what a push holds."""
        message = self.next()
        message = message.get("push", message)
        if "disconnect" in message:
            raise Gone(message["disconnect"]["code"], message["disconnect"].get("reason", ""))
        return message

    def push(self):
        """The next message, which is a push: its content."""
        message = self.next()
        assert "push" in message, message
        return message["push"]

    def publication(self):
        """The next message, which is a publication."""
        return self.push()["pub"]

    def ended(self):
        """Waits for the end: its code and reason."""
        try:
            while True:
                self.message()
        except Gone as gone:
            if gone.code is None:
                raise
            return gone.code, gone.reason

    def pong(self):
        pass

    def cut(self):
        """Ends the connection at once, from any thread."""
        try:
            self.s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self):
        self.s.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class WebSocket(Wire):
    path = "/connection/websocket"

    def __init__(self, port, connect=None, rcvbuf=None, origin=None, protobuf=False, pongs=True, tls=None):
        super().__init__(port, rcvbuf, pongs, tls)
        self.binary, self.number = protobuf, 0
        lines = f"Origin: {origin}\r\n" if origin else ""
        if protobuf:
            lines += "Sec-WebSocket-Protocol: centrifuge-protobuf\r\n"
        self.status, self.head = self.request((
            f"GET {self.path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{lines}"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        if self.status != 101:
            raise Gone(self.status, self.head)
        if connect is not None:
            self.begin(connect)

    def begin(self, connect):
        self.commands({"connect": connect})

    def commands(self, *commands):
        """Sends commands in one frame."""
        self.frame(TEXT, "\n".join(self.numbered(commands)).encode())

    def numbered(self, commands):
        for command in commands:
            self.number += 1
            yield json.dumps({**command, "id": self.number})

    def send(self, command):
        """Sends a command as it is: a text, a dict, or bytes of Protobuf."""
        if self.binary:
            self.frame(BINARY, varint(len(command)) + command)
        else:
            self.frame(TEXT, (command if isinstance(command, str) else json.dumps(command)).encode())

    def frame(self, opcode, payload, **kind):
        self.write(frame(opcode, payload, **kind))

    def pong(self):
        self.send(b"" if self.binary else "{}")

    def ask(self, method, /, **request):
        """Sends a request of JSON, and returns the text of its reply; what comes before it goes to `before`."""
        self.commands({method: request})
        self.before = []
        while True:
            text = self.text()
            if text.startswith(f'{{"id":{self.number},'):
                return text
            self.before.append(json.loads(text))

    def call(self, method, /, **request):
        """Sends a request of JSON, and returns its result, or the error."""
        reply = json.loads(self.ask(method, **request))
        return reply.get(method, reply.get("error"))

    def hello(self, **request):
        """Connects."""
        self.connected = self.call("connect", **request)
        assert "client" in self.connected, self.connected
        return self

    def take(self):
        """The next frame: opcode and payload."""
        first, n = self.exactly(2)
        assert first & 0x70 == 0 and first & 0x80 and n & 0x80 == 0, "a bad frame of the server"
        if n > 125:
            n = int.from_bytes(self.exactly(2 if n == 126 else 8), "big")
        return first & 15, self.exactly(n)

    def arrived(self):
        while True:
            opcode, payload = self.take()
            if opcode == CLOSE:
                raise Gone(int.from_bytes(payload[:2], "big") or None, payload[2:].decode())
            if opcode in (TEXT, BINARY):
                return payload


class UniWebSocket(WebSocket):
    path = "/connection/uni_websocket"

    def begin(self, connect):
        self.send(connect)

    def pong(self):
        pass


class Streamed(Wire):
    """A response that does not end, and commands by requests of their own."""

    def __init__(self, port, connect, rcvbuf=None, tls=None):
        super().__init__(port, rcvbuf, tls=tls)
        self.port, self.number = port, 1
        status, head = self.request(self.first(connect))
        assert status == 200, head
        self.session = None

    def next(self):
        message = super().next()
        if "connect" in message:
            self.session = message["connect"].get("session"), message["connect"].get("node")
        return message

    def commands(self, *commands):
        lines = []
        for command in commands:
            self.number += 1
            lines.append(json.dumps({**command, "id": self.number}))
        self.emulate("\n".join(lines))

    def emulate(self, data):
        body = json.dumps({"session": self.session[0], "node": self.session[1], "data": data})
        if self.tls:
            c = http.client.HTTPSConnection("localhost", self.port, timeout=PATIENCE_S, context=self.tls)
        else:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            c.request("POST", "/emulation", body)
            status = c.getresponse().status
        except (OSError, http.client.HTTPException) as e:
            raise Gone(None, str(e)) from None
        finally:
            c.close()
        if status != 204:
            raise Gone(status, "emulation")

    def pong(self):
        if self.session and self.session[0]:
            self.emulate("{}")


class Sse(Streamed):
    def first(self, connect):
        text = quote(json.dumps({"id": 1, "connect": connect}), safe="")
        return f"GET /connection/sse?cf_connect={text} HTTP/1.1\r\nHost: x\r\n\r\n".encode()

    def arrived(self):
        while True:
            line = self.until(b"\n").strip()
            if line.startswith(b"data: "):
                return line[6:]


class HttpStream(Streamed):
    def first(self, connect):
        body = json.dumps({"id": 1, "connect": connect}).encode()
        return b"POST /connection/http_stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body

    def arrived(self):
        return self.until(b"\n")


class UniSse(Sse):
    def first(self, connect):
        text = quote(json.dumps(connect), safe="")
        return f"GET /connection/uni_sse?cf_connect={text} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


class UniHttpStream(HttpStream):
    def first(self, connect):
        body = json.dumps(connect).encode()
        return b"POST /connection/uni_http_stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


TWO_WAYS = {"websocket": WebSocket, "sse": Sse, "http_stream": HttpStream}
ONE_WAY = {"uni_websocket": UniWebSocket, "uni_sse": UniSse, "uni_http_stream": UniHttpStream}
TRANSPORTS = {**TWO_WAYS, **ONE_WAY}


def subscribe(name, port, channel, position=None, **more):
    """Connects and subscribes, and recovers if there is a position (offset, epoch). Returns the connection and the
    result of the subscription."""
    asked = {"recover": True, "offset": position[0], "epoch": position[1]} if position else {}
    if name in ONE_WAY:
        c = TRANSPORTS[name](port, {"subs": {channel: asked}}, **more)
        while "connect" not in (message := c.message()):
            pass
        return c, message["connect"]["subs"][channel]
    c = TRANSPORTS[name](port, {}, **more)
    while "connect" not in c.message():
        pass
    c.commands({"subscribe": {"channel": channel, **asked}})
    while "subscribe" not in (message := c.message()):
        if "error" in message:
            raise Gone(message["error"]["code"], message["error"]["message"])
    return c, message["subscribe"]
