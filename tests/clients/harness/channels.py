"""Clients of live channels over bare sockets, in JSON: one class for each transport, with the same methods.

`commands(...)` sends commands, `message()` is the next message of the server: a reply, or what a push holds with its
channel. Nothing is repaired: a connection that ends raises `Gone`."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import socket
from urllib.parse import quote

from harness.server import PATIENCE_S


class Gone(Exception):
    """The connection has ended: `code` is that of the closing frame or of the last message, if there was one."""

    def __init__(self, code=None, reason=""):
        super().__init__(f"{code} {reason}")
        self.code, self.reason = code, reason


def part(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims, key=b"secret", header=None):
    """A token that is signed with HS256, whatever its header says."""
    text = f"{part(json.dumps(header or {'alg': 'HS256', 'typ': 'JWT'}).encode())}.{part(json.dumps(claims).encode())}"
    return f"{text}.{part(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


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
    """A socket with what has arrived."""

    def __init__(self, port, rcvbuf=None):
        self.s = socket.socket()
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(PATIENCE_S)
        self.left, self.messages = b"", []
        try:
            self.s.connect(("127.0.0.1", port))
        except OSError as e:
            raise Gone(None, str(e)) from None

    def send(self, data):
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
        self.send(text)
        head = self.until(b"\r\n\r\n").decode()
        return int(head.split(" ")[1]), head

    def message(self):
        while not self.messages:
            self.messages += [json.loads(line) for line in self.arrived().split(b"\n") if line.strip()]
        message = self.messages.pop(0)
        if message == {}:
            self.pong()
            return self.message()
        message = message.get("push", message)
        if "disconnect" in message:
            raise Gone(message["disconnect"]["code"], message["disconnect"].get("reason", ""))
        return message

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


class WebSocket(Wire):
    path = "/connection/websocket"

    def __init__(self, port, connect=None, rcvbuf=None, origin=None, path=None):
        super().__init__(port, rcvbuf)
        lines = f"Origin: {origin}\r\n" if origin else ""
        self.status, self.head = self.request((
            f"GET {path or self.path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{lines}"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        if self.status != 101:
            raise Gone(self.status, self.head)
        self.number = 0
        if connect is not None:
            self.begin(connect)

    def begin(self, connect):
        self.commands({"connect": connect})

    def commands(self, *commands):
        self.frame(1, "\n".join(self.numbered(commands)).encode())

    def numbered(self, commands):
        for command in commands:
            self.number += 1
            yield json.dumps({**command, "id": self.number})

    def frame(self, opcode, payload, **kind):
        self.send(frame(opcode, payload, **kind))

    def pong(self):
        self.commands_raw(b"{}")

    def commands_raw(self, data):
        self.frame(1, data)

    def arrived(self):
        while True:
            first, n = self.exactly(2)
            assert first & 0x70 == 0 and first & 0x80 and n & 0x80 == 0, "a bad frame of the server"
            if n > 125:
                n = int.from_bytes(self.exactly(2 if n == 126 else 8), "big")
            payload = self.exactly(n)
            if first & 15 == 8:
                raise Gone(int.from_bytes(payload[:2], "big") or None, payload[2:].decode())
            if first & 15 in (1, 2):
                return payload
            self.control = (first & 15, payload)


class UniWebSocket(WebSocket):
    path = "/connection/uni_websocket"

    def begin(self, connect):
        self.commands_raw(json.dumps(connect).encode())

    def pong(self):
        pass


class Streamed(Wire):
    """A response that does not end, and commands by requests of their own."""

    def __init__(self, port, connect, rcvbuf=None):
        super().__init__(port, rcvbuf)
        self.port, self.number = port, 1
        status, head = self.request(self.first(connect))
        assert status == 200, head
        self.session = None

    def message(self):
        message = super().message()
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


def subscribe(name, port, channel, position=None, rcvbuf=None):
    """Connects and subscribes, and recovers if there is a position (offset, epoch). Returns the connection and the
    result of the subscription."""
    asked = {"recover": True, "offset": position[0], "epoch": position[1]} if position else {}
    if name in ONE_WAY:
        c = TRANSPORTS[name](port, {"subs": {channel: asked}}, rcvbuf=rcvbuf)
        while "connect" not in (message := c.message()):
            pass
        return c, message["connect"]["subs"][channel]
    c = TRANSPORTS[name](port, {}, rcvbuf=rcvbuf)
    while "connect" not in c.message():
        pass
    c.commands({"subscribe": {"channel": channel, **asked}})
    while "subscribe" not in (message := c.message()):
        if "error" in message:
            raise Gone(message["error"]["code"], message["error"]["message"])
    return c, message["subscribe"]


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


EVERYBODY = {
    "allow_subscribe_for_client": True, "allow_subscribe_for_anonymous": True,
    "allow_publish_for_client": True, "allow_publish_for_anonymous": True,
    "allow_history_for_client": True, "allow_history_for_anonymous": True,
    "allow_presence_for_client": True, "allow_presence_for_anonymous": True,
}


def config(*namespaces, **options):
    """Everything is allowed, to everybody, on all transports."""
    client = {"allow_anonymous_connect_without_token": True, "allowed_origins": ["http://good"],
              "token": {"hmac_secret_key": "secret"}, **options.pop("client", {})}
    enabled = {name: {"enabled": True} for name in TRANSPORTS if name != "websocket"}
    return {"client": client, "channel": {"namespaces": [{**EVERYBODY, **n} for n in namespaces]},
            "http_api": {"key": "K"}, **enabled, **options}
