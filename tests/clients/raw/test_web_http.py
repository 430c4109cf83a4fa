"""The web port's HTTP besides pages: content codings, the access log, proxies, counts."""

import gzip
import json
import os
import tempfile
import unittest
import urllib.request

from harness.ports import free_port
from harness.server import PATIENCE_S, beyond_redis, wait_until
from raw.test_web import LIBRARY, Web

BIG = "".join(f"<li>{i}</li>\n" for i in range(500)) + "."
FILES = {
    "routes": "GET / index.html\nGET /small small.html\nGET /who who.txt\nGET /own own.html\nPOST /like/{id} call:like keys=likes:{id} user=writer\n",
    "templates/index.html": "{{ get('title') }}" + BIG,
    "templates/small.html": "small {{ get('title') }}",
    "templates/own.html": "{{ cookies.name }}" + BIG,
    "templates/who.txt": "{{ request.scheme }}://{{ request.host }} {{ request.remote_addr }}",
    "public/a.css": "a{}\n" * 1000,
    "public/small.css": "a{}",
    "public/a.png": "\x01" * 5000,
}


def coding(answer):
    return answer[1].get("Content-Encoding", "-")


@beyond_redis
class TestCodings(unittest.TestCase):
    def both(self, w, path, plain):
        """A path is compressed in the end, in each coding as its client wants it; returns the tags."""
        tags = set()
        for field, wanted in [("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0.5, gzip", "gzip"), ("*", "br")]:
            wait_until(lambda: coding(w.ask(path, Accept_Encoding=field)) == wanted, f"{path} in {wanted}")  # noqa: B023
            status, headers, body = w.ask(path, Accept_Encoding=field)
            self.assertEqual((status, headers["Vary"]), (200, "Accept-Encoding"))
            self.assertLess(len(body), len(plain) // 2)
            self.assertEqual(headers["Content-Length"], str(len(body)))
            if wanted == "gzip":
                self.assertEqual(gzip.decompress(body), plain)
            tags.add(headers["ETag"])
            head = w.ask(path, "HEAD", Accept_Encoding=field)
            for name in ["Content-Length", "Content-Encoding", "ETag", "Vary"]:
                self.assertEqual(head[1][name], headers[name], name)
            self.assertEqual(head[2], b"")
            self.assertEqual(w.ask(path, Accept_Encoding=field, If_None_Match=headers["ETag"])[0], 304)
        for field in ["identity", "gzip;q=0, br;q=0", "deflate", "", "identity, gzip;q=0.9"]:
            answer = w.ask(path, Accept_Encoding=field)
            self.assertEqual((coding(answer), answer[2]), ("-", plain), field)
            self.assertEqual(answer[1]["Vary"], "Accept-Encoding")
            tags.add(answer[1]["ETag"])
        self.assertEqual(coding(w.ask(path, Accept_Encoding="identity;q=0, gzip;q=0.1")), "gzip")
        # A client has no use for what it cannot read, although it names it.
        br = w.ask(path, Accept_Encoding="br")[1]["ETag"]
        self.assertEqual(w.ask(path, Accept_Encoding="gzip", If_None_Match=br)[0], 200)
        self.assertEqual(len(tags), 3, tags)

    def test_files_and_kept_pages(self):
        with Web(files=FILES) as w, w.connect() as c:
            self.both(w, "/a.css", FILES["public/a.css"].encode())
            self.both(w, "/", BIG.encode())
            c.command("SET", "title", "new")
            # The compressed page goes with the page.
            got = w.ask("/", Accept_Encoding="gzip")
            self.assertEqual((coding(got), got[2]), ("-", b"new" + BIG.encode()))
            wait_until(lambda: coding(w.ask("/", Accept_Encoding="gzip")) == "gzip", "gzip")
            self.assertEqual(gzip.decompress(w.ask("/", Accept_Encoding="gzip")[2]), b"new" + BIG.encode())
            for path in ["/small", "/small.css", "/a.png", "/own", "/none"]:
                for _ in range(3):
                    answer = w.ask(path, Accept_Encoding="br, gzip")
                    self.assertEqual((coding(answer), answer[1].get("Vary")), ("-", None), path)
            # Ranges are of the file as it is.
            status, headers, body = w.ask("/a.css", Accept_Encoding="br", Range="bytes=1-4")
            self.assertEqual((status, body, headers.get("Content-Encoding")), (206, b"{}\na", None))
            self.assertEqual(headers["Vary"], "Accept-Encoding")
            plain = w.ask("/a.css")[1]["ETag"]
            coded = w.ask("/a.css", Accept_Encoding="br")[1]["ETag"]
            self.assertEqual(w.ask("/a.css", Accept_Encoding="br", Range="bytes=0-0", If_Range=plain)[0], 206)
            answer = w.ask("/a.css", Accept_Encoding="br", Range="bytes=0-0", If_Range=coded)
            self.assertEqual((answer[0], coding(answer)), (200, "br"))

    def test_options_say_what_is_compressed(self):
        with Web(files=FILES) as w, w.connect() as c:
            c.command("CONFIG", "SET", "web-compression", "no")
            for _ in range(3):
                self.assertEqual(coding(w.ask("/a.css", Accept_Encoding="gzip")), "-")
            c.command("CONFIG", "SET", "web-compression", "all")
            got = w.ask("/own", Accept_Encoding="gzip", Cookie="name=x")
            self.assertEqual((coding(got), got[1]["Vary"]), ("gzip", "Accept-Encoding"))
            self.assertEqual(gzip.decompress(got[2]), b"x" + BIG.encode())
            self.assertEqual(coding(w.ask("/who", Accept_Encoding="gzip")), "-")
            c.command("CONFIG", "SET", "web-compression", "kept", "web-cache-size", "3000")
            self.assertEqual(coding(w.ask("/own", Accept_Encoding="gzip")), "-")


@beyond_redis
class TestAccessLog(unittest.TestCase):
    def lines(self, path):
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()

    def test_every_request_has_a_line(self):
        with tempfile.TemporaryDirectory() as at:
            path = os.path.join(at, "web.log")
            with Web("--web-access-log", path, "--enable-protected-configs", "yes", files=FILES) as w, w.connect() as c:
                w.ask("/small.css?token=secret", User_Agent="me \\ \"x", Referer="http://x/?secret")
                w.ask("/none", "POST", "body")
                w.raw(b"GET / HTTP/3.7\r\n\r\n")
                wait_until(lambda: len(self.lines(path)) == 3, "three lines")
                first, second, third = self.lines(path)
                stamp = r"^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000\] "
                self.assertRegex(first, stamp + r'"GET /small\.css HTTP/1\.1" 200 3 "http://x/" "me \\x5c \\x22x"$')
                self.assertRegex(second, stamp + r'"POST /none HTTP/1\.1" 404 \d+ "-" "-"$')
                self.assertRegex(third, stamp + r'"-" 505 - "-" "-"$')
                # Rotation: the file is moved, and another one begins.
                os.rename(path, path + ".1")
                c.command("CONFIG", "SET", "web-access-log-format", "json", "web-access-log-query", "yes")

                def asked():
                    w.ask("/small?a=b")
                    return os.path.exists(path) and self.lines(path)

                wait_until(asked, "a new file")
                line = json.loads(self.lines(path)[0])
                self.assertEqual((line["target"], line["status"], line["route"]), ("/small?a=b", 200, "GET /small"))
                other = os.path.join(at, "other.log")
                self.assertEqual(c.command("CONFIG", "SET", "web-access-log", other), b"+OK")
                count = len(self.lines(path))
                w.ask("/small")
                wait_until(lambda: len(self.lines(other)) == 1, "a line in the other file")
                self.assertEqual(c.command("CONFIG", "SET", "web-access-log", ""), b"+OK")
                w.ask("/small")
                self.assertIn(b"Unable to open the access log", c.command("CONFIG", "SET", "web-access-log", at))
                self.assertIn(b"Unable to open", c.command("CONFIG", "SET", "web-access-log", at + "/no/such"))
                self.assertEqual((len(self.lines(path)), len(self.lines(other))), (count, 1))

    def test_the_last_lines_are_written(self):
        with tempfile.TemporaryDirectory() as at:
            path = os.path.join(at, "web.log")
            with Web("--web-access-log", path, "--web-access-log-format", "common", files=FILES) as w:
                for _ in range(100):
                    w.ask("/small")
                w.server.process.terminate()
                w.server.process.wait()
            self.assertEqual(len(self.lines(path)), 100)


@beyond_redis
class TestProxies(unittest.TestCase):
    FIELDS = {"X_Forwarded_For": "9.9.9.9, 192.0.2.1", "X_Forwarded_Proto": "https", "X_Forwarded_Host": "shop.example"}

    def test_only_trusted_ones_are_believed(self):
        with Web(files=FILES) as w, w.connect() as c:
            own = f"http://127.0.0.1:{w.port} 127.0.0.1".encode()
            self.assertEqual(w.ask("/who", **self.FIELDS)[2], own)
            c.command("CONFIG", "SET", "web-trusted-proxies", "10.0.0.0/8")
            self.assertEqual(w.ask("/who", **self.FIELDS)[2], own)
            c.command("CONFIG", "SET", "web-trusted-proxies", "127.0.0.0/8, ::1")
            self.assertEqual(w.ask("/who", **self.FIELDS)[2], b"https://shop.example 192.0.2.1")
            c.command("CONFIG", "SET", "web-forwarded-header", "forwarded")
            self.assertEqual(w.ask("/who", **self.FIELDS)[2], own)
            text = 'for="[2001:db8::7]:1";proto=https;host=a.example'
            self.assertEqual(w.ask("/who", Forwarded=text)[2], b"https://a.example 2001:db8::7")
            self.assertTrue(c.command("CONFIG", "SET", "web-trusted-proxies", "1.2.3.4/99").startswith(b"-ERR"))

    def test_the_own_host_is_the_one_that_the_client_has_asked(self):
        with Web("--web-trusted-proxies", "127.0.0.1", files=FILES) as w, w.connect() as c:
            c.command("ACL", "SETUSER", "writer", "on", "nopass", "~likes:*", "+@all")
            c.command("FUNCTION", "LOAD", LIBRARY)
            fields = {"Origin": "https://shop.example", "X_Forwarded_For": "192.0.2.1"}
            self.assertEqual(w.ask("/like/1", "POST", "", **fields)[0], 403)
            self.assertEqual(w.ask("/like/1", "POST", "", X_Forwarded_Host="shop.example", **fields)[0], 303)


@beyond_redis
class TestCounts(unittest.TestCase):
    def text(self, c, *sections):
        return c.exactly(int(c.command("INFO", *sections)[1:]) + 2).decode()

    def info(self, c):
        text = self.text(c, "web").split("\r\n")
        fields = dict(line.split(":", 1) for line in text if ":" in line)
        routes = {}
        for name in [n for n in fields if n.startswith("web_route_")]:
            line = fields.pop(name)
            counts, route = line.split(",route=")
            routes[route] = {k: int(v) for k, v in (pair.split("=") for pair in counts.split(","))}
        return {k: int(v) for k, v in fields.items()}, routes

    def test_requests_are_counted_by_route(self):
        admin = free_port()
        with Web("--admin-port", admin, "--threads", 2, files=FILES) as w, w.connect() as c:
            for _ in range(3):
                w.ask("/small")
            tag = w.ask("/small")[1]["ETag"]
            w.ask("/small", If_None_Match=tag)
            w.ask("/own")
            w.ask("/a.css")
            w.ask("/none")
            w.ask("/", "DELETE")
            w.ask("/like/1", "POST", "", Origin="http://evil.example")
            w.raw(b"GET / HTTP/3.7\r\n\r\n")
            fields, routes = self.info(c)
            self.assertEqual(fields["web_requests"], 11)
            self.assertEqual((fields["web_cache_hits"], fields["web_cache_pages"]), (4, 1))
            row = routes["GET /small"]
            self.assertEqual((row["requests"], row["2xx"], row["3xx"], row["hits"], row["renderings"]), (5, 4, 1, 4, 1))
            self.assertEqual(row["body_bytes"], 4 * len("small "))
            self.assertGreater(row["memory"], 0)
            self.assertEqual((routes["GET /own"]["requests"], routes["GET /own"]["hits"]), (1, 0))
            self.assertEqual(routes["(files)"]["body_bytes"], 4000)
            self.assertEqual((routes["(none)"]["requests"], routes["(none)"]["4xx"]), (2, 2))
            self.assertEqual((routes["POST /like/{id}"]["4xx"], routes["(refused)"]["5xx"]), (1, 1))
            self.assertNotIn("# Web", self.text(c))

            def get(path):
                with urllib.request.urlopen(f"http://127.0.0.1:{admin}{path}", timeout=PATIENCE_S) as answer:
                    return answer.read().decode()

            text = get("/metrics")
            self.assertIn('apus_web_requests_total{route="GET /small",class="2xx"} 4\n', text)
            self.assertIn('apus_web_cache_hits_total{route="GET /small"} 4\n', text)
            self.assertIn('apus_web_request_seconds_count{route="GET /own"} 1\n', text)
            rows = {row["route"]: row for row in json.loads(get("/debug/web"))["routes"]}
            self.assertEqual(rows["GET /small"]["responses"]["2xx"], 4)
            # A route keeps its row when the site changes, and many routes share one.
            more = "".join(f"GET /r{i} small.html\n" for i in range(300))
            w.write("routes", more + FILES["routes"])
            wait_until(lambda: w.ask("/r299")[0] == 200, "the new site")
            w.ask("/small")
            _, routes = self.info(c)
            self.assertEqual((routes["GET /small"]["requests"], routes["(other routes)"]["2xx"]), (5, 2))


if __name__ == "__main__":
    unittest.main()
