"""HTTP/1.1 of the web port, request by request, as browsers and as attackers write them."""

import json
import re
import socket
import time
import unittest

from harness.server import PATIENCE_S, beyond_redis
from raw.test_web import LIBRARY, Web

FILES = {
    "routes": "GET / index.html\nGET /text text.html\nGET /fail fail.html\nPOST /like/{id} call:like keys=likes:{id} user=writer\n"
    "GET /data.json data.json\nGET /data.js data.js\nGET /feed.xml feed.xml\n",
    "templates/index.html": "{{ get('k') }}",
    "templates/fail.html": "{{ nothing.at.all }}{{ 1 // 0 }}",
    "templates/500.html": "sorry: {{ get('k') }}",
    "templates/text.html": "<p title=\"{{ get('k') }}\" class='{{ get('k') }}'>{{ get('k') }}</p>"
    "<a href=\"/x?q={{ get('k')|urlencode }}\">{{ hgetall('h') }}</a>{{ query.q }}{{ query|tojson }}",
    "templates/data.json": "{{ get('k') }}",
    "templates/data.js": "x = {{ get('k') }};",
    "templates/feed.xml": "<t a=\"{{ get('k') }}\">{{ get('k') }}</t>",
    "public/a.txt": "0123456789",
    "public/404.html": "own page",
    "public/deep/er/x.txt": "x",
}
GET = b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\n"
WHOLE = b"\r\n\r\n0123456789"


def request(line, *fields):
    return "\r\n".join([line, "Host: x", *fields, "", ""]).encode("latin-1")


def statuses(text):
    return [int(s) for s in re.findall(rb"(?:^|\n|0123456789|own page)HTTP/1\.1 (\d\d\d) ", text)]


@beyond_redis
class TestRequests(unittest.TestCase):
    def test_connections_stay_as_their_requests_say(self):
        with Web(files=FILES) as w:
            close = request("GET /a.txt HTTP/1.1", "Connection: x, Close")
            got = w.raw(GET + close + GET, half_close=False)
            self.assertEqual((statuses(got), got.count(b"Connection: close")), ([200, 200], 1))
            self.assertEqual(statuses(w.raw(b"GET /a.txt HTTP/1.0\r\n\r\n", half_close=False)), [200])
            old = b"GET /a.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            got = w.raw(old + b"GET /a.txt HTTP/1.0\r\n\r\n", half_close=False)
            self.assertEqual((statuses(got), got.count(b"Connection: keep-alive")), ([200, 200], 1))

    def test_forms_of_targets(self):
        with Web(files=FILES) as w:
            for line, status in [
                ("GET http://x/a.txt HTTP/1.1", 200),
                ("GET HTTP://X/a.txt HTTP/1.1", 200),
                ("GET http://y/a.txt HTTP/1.1", 400),
                ("GET ftp://x/a.txt HTTP/1.1", 400),
                ("GET x/a.txt HTTP/1.1", 400),
                ("CONNECT x:80 HTTP/1.1", 501),
                ("TRACE / HTTP/1.1", 501),
                ("OPTIONS * HTTP/1.1", 204),
                ("OPTIONS /a.txt HTTP/1.1", 204),
                ("GET * HTTP/1.1", 400),
                ("PUT /a.txt HTTP/1.1", 405),
                ("GET /a.txt HTTP/2.0", 505),
                ("GET /a.txt", 400),
                ("GET  /a.txt HTTP/1.1", 400),
            ]:
                self.assertEqual(statuses(w.raw(request(line))), [status], line)
            self.assertIn(b"Allow: GET, HEAD, OPTIONS\r\n", w.raw(request("PUT /a.txt HTTP/1.1")))
            for host in [b"", b"Host: x\r\nHost: x\r\n", b"Host: a b\r\n", b"Host: x/y\r\n", b"Host: \xff\r\n"]:
                self.assertEqual(statuses(w.raw(b"GET / HTTP/1.1\r\n" + host + b"\r\n")), [400], host)

    def test_head_is_get_without_its_body(self):
        with Web(files=FILES) as w, w.connect() as c:
            c.command("SET", "k", "v")
            for path in ["/", "/a.txt", "/nothing", "/deep/er", "/fail", "/deep"]:
                got, head = w.ask(path), w.ask(path, "HEAD")
                self.assertEqual((head[0], head[2]), (got[0], b""), path)
                fields = [[(n, v) for n, v in answer[1].items() if n != "Date"] for answer in (got, head)]
                self.assertEqual(fields[0], fields[1], path)

    def test_conditions_and_ranges(self):
        with Web(files=FILES) as w:
            headers = w.ask("/a.txt")[1]
            tag, date = headers["ETag"], headers["Last-Modified"]
            old = "Sun, 06 Nov 1994 08:49:37 GMT"
            for field, status in [
                ({"If_None_Match": tag}, 304),
                ({"If_None_Match": f'"x", W/{tag}'}, 304),
                ({"If_None_Match": "*"}, 304),
                ({"If_None_Match": '"x"'}, 200),
                ({"If_None_Match": '"x"', "If_Modified_Since": date}, 200),
                ({"If_Modified_Since": date}, 304),
                ({"If_Modified_Since": old}, 200),
                ({"If_Modified_Since": "yesterday"}, 200),
            ]:
                answer = w.ask("/a.txt", **field)
                self.assertEqual(answer[0], status, field)
                if status == 304:
                    self.assertEqual((answer[2], answer[1]["Content-Length"]), (b"", None))
            for value, status, body in [
                ("bytes=0-0", 206, b"0"),
                ("bytes=8-", 206, b"89"),
                ("bytes=-3", 206, b"789"),
                ("bytes=-99", 206, b"0123456789"),
                ("bytes=5-99", 206, b"56789"),
                ("bytes=10-", 416, b""),
                ("bytes=-0", 416, b""),
                # Several ranges, and what is no range: the whole.
                ("bytes=0-0,2-3", 200, b"0123456789"),
                ("bytes=3-2", 200, b"0123456789"),
                ("lines=1-2", 200, b"0123456789"),
                ("bytes=99999999999999999999-", 416, b""),
                ("bytes=a-b", 200, b"0123456789"),
            ]:
                answer = w.ask("/a.txt", Range=value)
                self.assertEqual((answer[0], answer[2]), (status, body), value)
            for condition, status in [(tag, 206), (date, 206), (old, 200), (f"W/{tag}", 200), ('"x"', 200)]:
                self.assertEqual(w.ask("/a.txt", Range="bytes=1-1", If_Range=condition)[0], status, condition)
            self.assertEqual(w.ask("/a.txt", Range="bytes=1-1", If_None_Match=tag)[0], 304)

    def test_bodies(self):
        with Web("--web-max-body", 100, files=FILES) as w, w.connect() as c:
            c.command("ACL", "SETUSER", "writer", "on", "nopass", "~likes:*", "+@all")
            c.command("FUNCTION", "LOAD", LIBRARY)
            kind = "Content-Type: application/x-www-form-urlencoded"
            chunked = request("POST /like/1 HTTP/1.1", kind, "Transfer-Encoding: chunked")
            got = w.raw(chunked + b"2;ext=1\r\nx=\r\n1\r\ny\r\n0\r\nTrailer: z\r\n\r\n" + GET)
            self.assertEqual(statuses(got), [303, 200])
            self.assertIn(b"X-N: 1y\r\n", got)
            # A body that comes in single bytes.
            with socket.create_connection(("127.0.0.1", w.port), timeout=PATIENCE_S) as s:
                for b in request("POST /like/1 HTTP/1.1", kind, "Content-Length: 3") + b"x=z":
                    s.sendall(bytes([b]))
                self.assertIn(b"X-N: 2z\r\n", s.recv(1 << 16))
            for fields, body in [
                (["Content-Length: 101"], b""),
                (["Content-Length: 99999999999999999999"], b""),
                (["Transfer-Encoding: chunked"], b"65\r\n"),
                (["Transfer-Encoding: chunked"], b"fffffffffffffffff\r\n"),
                (["Transfer-Encoding: chunked"], b"-1\r\n"),
                (["Transfer-Encoding: chunked"], b"0x1\r\n"),
                (["Transfer-Encoding: chunked"], b"1\nx\n"),
                (["Transfer-Encoding: chunked"], b"1\r\nxy\r\n"),
                (["Transfer-Encoding: chunked"], b"0\r\n folded\r\n\r\n"),
                (["Transfer-Encoding: gzip, chunked"], b""),
                (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], b"0\r\n\r\n"),
                (["Content-Length: 1", "Transfer-Encoding: chunked"], b"0\r\n\r\n"),
                (["Content-Length: +1"], b"x"),
                (["Content-Length : 1"], b"x"),
                (["Expect: the-moon", "Content-Length: 1"], b"x"),
            ]:
                got = w.raw(request("POST /like/1 HTTP/1.1", *fields) + body + GET, half_close=False)
                self.assertEqual(len(statuses(got)), 1, (fields, body, got))
                self.assertIn(statuses(got)[0], (400, 413, 417, 501), (fields, body))
                self.assertNotIn(WHOLE, got)
            with w.connect() as other:
                self.assertEqual((other.command("GET", "likes:1"), other.line()), (b"$1", b"2"))

    def test_what_is_too_long(self):
        with Web(files=FILES) as w:
            for text, status in [
                (request("GET /" + "a" * 9000 + " HTTP/1.1"), 414),
                (b"GET /" + b"a" * 20_000, 414),
                (request("GET / HTTP/1.1", "X: " + "a" * 17_000), 431),
                (request("GET / HTTP/1.1", *["X: y"] * 64), 431),
                (request("GET /a.txt HTTP/1.1", *["X: y"] * 60), 200),
                (request("GET /" + "a/" * 3000 + " HTTP/1.1"), 404),
                (request("GET /?" + "a=b&" * 2000 + " HTTP/1.1"), 200),
                (b"\r\n" * 5 + GET, 400),
            ]:
                got = w.raw(text, half_close=False) if status != 200 and status != 404 else w.raw(text)
                self.assertEqual(statuses(got), [status], text[:40])

    def test_nothing_outside_is_served(self):
        with Web(files=FILES) as w:
            for path in [
                "/../a.txt", "/..%2fa.txt", "/%2e%2e/a.txt", "/%2E%2E%2Fa.txt", "/deep/../a.txt", "/deep/..%5ca.txt", "/..\\a.txt",
                "/%252e%252e/a.txt", "/..;/a.txt", "/.%00./a.txt", "/a.txt%00", "/a.txt%00.html", "/%c0%ae%c0%ae/a.txt", "/%uff0e%uff0e/a.txt",
                "/./a.txt", "//a.txt", "/a.txt/", "/deep//er/x.txt", "/.routes", "/routes", "/templates/index.html", "/%", "/%4", "/%zz",
                "/%ff", "/a.txt%0d%0aX:%20y", "/%2fa.txt", "/public/a.txt", "/A.TXT",
            ]:  # fmt: skip
                got = w.raw(request(f"GET {path} HTTP/1.1"))
                self.assertIn(statuses(got)[0], (400, 404), path)
                self.assertNotIn(b"0123456789", got)
            for byte in b"\0\r\n\x01\x7f\xff ":
                got = w.raw(b"GET /a.txt" + bytes([byte]) + b"x HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(statuses(got), [505 if byte == ord(" ") else 400], byte)
            for byte in b"\0\r\x01\x7f":
                got = w.raw(b"GET /a.txt HTTP/1.1\r\nHost: x\r\nX: a" + bytes([byte]) + b"b\r\n\r\n")
                self.assertEqual(statuses(got), [400], byte)

    def test_one_byte_a_moment_is_too_slow(self):
        with Web("--web-head-timeout", 1, "--web-body-timeout", 1, files=FILES) as w:
            for text in [b"GET /" + b"a" * 5000, request("POST / HTTP/1.1", "Content-Length: 5000") + b"a" * 5000]:
                with socket.create_connection(("127.0.0.1", w.port), timeout=PATIENCE_S) as s:
                    head = text.find(b"\r\n\r\n") + 4 if b"\r\n\r\n" in text else 0
                    s.sendall(text[:head])
                    s.settimeout(0.05)
                    sent, ended = head, False
                    end = time.monotonic() + PATIENCE_S
                    while not ended and time.monotonic() < end:
                        try:
                            s.sendall(text[sent : sent + 1])
                            sent += 1
                            ended = s.recv(100) == b""
                        except TimeoutError:
                            pass
                        except OSError:
                            ended = True
                    self.assertTrue(ended)
                    self.assertLess(sent, len(text))

    def test_error_pages_are_the_sites_own(self):
        with Web(files=FILES) as w, w.connect() as c:
            c.command("SET", "k", "<k>")
            self.assertEqual(w.ask("/nothing")[::2], (404, b"own page"))
            self.assertEqual(w.ask("/fail")[::2], (500, b"sorry: &lt;k&gt;"))
            self.assertEqual(w.ask("/like/1", "PUT")[::2], (405, b"405 Method Not Allowed\n"))

    def test_data_make_no_markup(self):
        hostile = "\"'><script>alert(1)</script><!--&amp;{{ 7*7 }}</title>\u2028`javascript:"
        with Web(files=FILES) as w, w.connect() as c:
            c.command("SET", "k", hostile)
            c.command("HSET", "h", "</a><img src=x onerror=alert(1)>", "'\"<b>")
            quoted = "".join(f"%{b:02x}" for b in hostile.encode())
            page = w.ask(f"/text?q={quoted}&{quoted}=1")[2].decode()
            # What the template itself has written, and not one more.
            tags = re.findall(r"<[^>]*>", page)
            self.assertEqual([re.match(r"</?\w+", tag)[0] for tag in tags], ["<p", "</p", "<a", "</a"], page)
            self.assertEqual(tags[0].count('"') + tags[0].count("'"), 4, tags[0])
            self.assertEqual(tags[2].count('"'), 2, tags[2])
            self.assertNotIn("49", re.sub(r"%\w\w", "", page))
            for path in ["/data.json", "/data.js"]:
                _, headers, text = w.ask(path)
                value = text.decode().removeprefix("x = ").removesuffix(";")
                self.assertEqual(json.loads(value), hostile)
                self.assertNotIn("html", headers["Content-Type"])
            self.assertEqual(re.findall(r"<[^>]*>", w.ask("/feed.xml")[2].decode())[1:], ["</t>"])
            self.assertEqual(w.ask("/text")[1]["X-Content-Type-Options"], "nosniff")


if __name__ == "__main__":
    unittest.main()
