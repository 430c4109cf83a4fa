"""The web port: pages from keys, files, functions; requests that try to do harm."""

import http.client
import os
import random
import re
import socket
import tempfile
import threading
import time
import unittest

from harness.ports import free_port
from harness.server import PATIENCE_S, Server, beyond_redis

SITE = {
    "routes": "GET / index.html\nGET /post/{slug} post.html\nGET /me me.html\nGET /loop loop.html\n"
    "GET /self self.html\nGET /del del.html\nGET /sum/{n} sum.html\nGET /secret secret.html\n"
    "POST /like/{id} call:like keys=likes:{id} user=writer\nPOST /denied call:like keys=x\n",
    "templates/index.html": "<h1>{{ get('title') }}</h1>{% for id in zrevrange('posts', 0, 9) %}"
    "<li>{{ hget('post:' ~ id, 'title') }}</li>{% endfor %}",
    "templates/post.html": "{{ slug }}|{{ query.q }}|{{ exists('no') }}",
    "templates/me.html": "{{ cookies.name }}",
    "templates/loop.html": "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}",
    "templates/self.html": "{% include 'self.html' %}",
    "templates/del.html": "{{ del('title') }}",
    "templates/sum.html": "{% for i in range(8) %}{{ get('k' ~ i) }},{% endfor %}",
    "templates/secret.html": "{{ get('secret') }}",
    "templates/404.html": "nothing at {{ request.path }}",
    "public/a.css": "body{}",
    "public/sub/index.html": "sub",
    ".hidden": "hidden",
}

LIBRARY = """#!lua name=web
redis.register_function('like', function(keys, args)
  local n = redis.call('INCR', keys[1])
  local asked = cjson.decode(args[1])
  return cjson.encode({redirect = '/post/' .. asked.params.id, headers = {['X-N'] = tostring(n) .. (asked.form.x or '')}})
end)"""


class Web:
    """A server with a site."""

    def __init__(self, *options, files=SITE):
        self.dir = tempfile.TemporaryDirectory()
        for path, text in files.items():
            self.write(path, text)
        self.port = free_port()
        self.server = Server("--web-port", self.port, "--web-root", self.dir.name, *options)
        self.connect = self.server.connect

    def write(self, path, text):
        path = os.path.join(self.dir.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + "~", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + "~", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()
        self.dir.cleanup()

    def ask(self, path, method="GET", body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        c.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = c.getresponse()
        text = answer.read()
        c.close()
        return answer.status, answer.headers, text

    def raw(self, text, half_close=True):
        """All that comes for some bytes until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as s:
            s.sendall(text)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            got = b""
            while piece := s.recv(1 << 16):
                got += piece
            return got


def renderings(c):
    text = c.exactly(int(c.command("INFO", "web")[1:]) + 2).decode()
    return int(re.search(r"web_renderings:(\d+)", text)[1])


@beyond_redis
class TestWeb(unittest.TestCase):
    def test_pages_show_the_keys(self):
        with Web() as w, w.connect() as c:
            c.command("SET", "title", "<b>")
            c.command("ZADD", "posts", 1, "a", 2, "b")
            c.command("HSET", "post:a", "title", "A")
            status, headers, text = w.ask("/")
            self.assertEqual((status, text), (200, b"<h1>&lt;b&gt;</h1><li></li><li>A</li>"))
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            etag = headers["ETag"]
            self.assertEqual(w.ask("/", If_None_Match=etag)[0], 304)
            c.command("HSET", "post:b", "title", "B")
            self.assertEqual(w.ask("/", If_None_Match=etag)[2], b"<h1>&lt;b&gt;</h1><li>B</li><li>A</li>")
            self.assertEqual(w.ask("/post/x%20y?q=%3Ci%3E")[2], b"x y|&lt;i&gt;|0")
            self.assertEqual(w.ask("/me", Cookie="name=eve")[2], b"eve")
            self.assertEqual(w.ask("/me", Cookie="name=bob")[2], b"bob")
            self.assertEqual(w.ask("/me", "HEAD")[2], b"")
            self.assertEqual(w.ask("/", "DELETE")[0], 405)
            self.assertEqual(w.ask("/", "OPTIONS")[1]["Allow"], "GET, HEAD, OPTIONS")
            status, _, text = w.ask("/nothing")
            self.assertEqual((status, text), (404, b"nothing at &#x2f;nothing"))
            # Everything changes without an event for each key.
            c.command("SWAPDB", 0, 1)
            self.assertEqual(w.ask("/")[2], b"<h1></h1>")
            c.command("SWAPDB", 0, 1)
            c.command("FLUSHALL")
            self.assertEqual(w.ask("/")[2], b"<h1></h1>")

    def test_a_page_that_many_ask_for_is_rendered_once_by_each_thread(self):
        for threads in [1, 2]:
            with self.subTest(threads=threads), Web("--threads", threads) as w, w.connect() as c:
                asking = [socket.create_connection(("127.0.0.1", w.port), timeout=PATIENCE_S) for _ in range(60)]
                for title in range(5):
                    c.command("SET", "title", title)
                    before = renderings(c)
                    for s in asking:
                        s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    for s in asking:
                        got = b""
                        while not got.endswith(b"</h1>"):
                            got += s.recv(1 << 16)
                        self.assertTrue(got.endswith(b"<h1>%d</h1>" % title), got)
                    self.assertIn(renderings(c) - before, range(1, threads + 1))
                for s in asking:
                    s.close()

    def test_a_page_ends_with_its_key(self):
        with Web() as w, w.connect() as c:
            c.command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
            c.command("SET", "title", "short", "PX", 300)
            self.assertEqual(w.ask("/")[2], b"<h1>short</h1>")
            end = time.monotonic() + PATIENCE_S
            while w.ask("/")[2] != b"<h1></h1>":
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)

    def test_files(self):
        with Web() as w:
            status, headers, text = w.ask("/a.css")
            self.assertEqual((status, text, headers["Content-Type"]), (200, b"body{}", "text/css; charset=utf-8"))
            self.assertEqual(w.ask("/a.css", If_None_Match=headers["ETag"])[0], 304)
            self.assertEqual(w.ask("/a.css", If_Modified_Since=headers["Last-Modified"])[0], 304)
            status, headers, text = w.ask("/a.css", Range="bytes=1-2")
            self.assertEqual((status, text, headers["Content-Range"]), (206, b"od", "bytes 1-2/6"))
            self.assertEqual(w.ask("/a.css", Range="bytes=6-")[0], 416)
            self.assertEqual((w.ask("/sub")[0], w.ask("/sub")[1]["Location"]), (308, "/sub/"))
            self.assertEqual(w.ask("/sub/")[2], b"sub")
            for path in ["/.hidden", "/routes", "/templates/index.html", "/../a.css", "/%2e%2e/a.css", "/..%2fa.css"]:
                self.assertIn(w.ask(path)[0], (400, 404), path)

    def test_templates_have_bounds(self):
        with Web() as w, w.connect() as c:
            c.command("SET", "title", "x")
            for path in ["/loop", "/self", "/del"]:
                self.assertEqual(w.ask(path)[0], 500, path)
            self.assertEqual(w.ask("/")[2], b"<h1>x</h1>")

    def test_functions_write(self):
        with Web() as w, w.connect() as c:
            self.assertEqual(c.command("ACL", "SETUSER", "writer", "on", "nopass", "~likes:*", "+@all"), b"+OK")
            c.command("FUNCTION", "LOAD", LIBRARY)
            form = {"Content_Type": "application/x-www-form-urlencoded"}
            status, headers, _ = w.ask("/like/7", "POST", "x=y", **form)
            self.assertEqual((status, headers["Location"], headers["X-N"]), (303, "/post/7", "1y"))
            self.assertEqual(w.ask("/like/7", "POST", "", Origin="http://evil.example")[0], 403)
            self.assertEqual(w.ask("/like/7", "POST", "", Sec_Fetch_Site="cross-site")[0], 403)
            self.assertEqual(w.ask("/like/7", "POST", "", Origin=f"http://127.0.0.1:{w.port}")[1]["X-N"], "2")
            # The user of the site may only read.
            self.assertEqual(w.ask("/denied", "POST", "")[0], 403)
            self.assertEqual(w.ask("/like/7", "POST", "x" * (2 << 20))[0], 413)

    def test_the_user_of_the_site_may_read_what_it_may(self):
        user = ["--web-user", "site", "--user", "site", "on", "nopass", "~title", "+@read"]
        with Web(*user) as w, w.connect() as c:
            c.command("SET", "secret", "s")
            self.assertEqual(w.ask("/secret")[0], 500)
            c.command("ACL", "SETUSER", "site", "~secret")
            self.assertEqual(w.ask("/secret")[2], b"s")
            c.command("ACL", "SETUSER", "site", "resetkeys")
            self.assertEqual(w.ask("/secret")[0], 500)

    def test_a_site_is_read_again(self):
        with Web() as w, w.connect() as c:
            c.command("SET", "title", "x")
            self.assertEqual(w.ask("/")[2], b"<h1>x</h1>")
            w.write("templates/index.html", "new {{ get('title') }}")
            self.until(w, b"new x")
            w.write("templates/index.html", "line\n  {{ get('title' }}")
            w.server.wait_for_log("site: templates/index.html: index.html:2:")
            self.assertEqual(w.ask("/")[2], b"new x")
            w.write("templates/index.html", "newer")
            self.until(w, b"newer")

    def until(self, w, text):
        end = time.monotonic() + PATIENCE_S
        while w.ask("/")[2] != text:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def test_pipelines_and_smuggling(self):
        with Web() as w:
            get = b"GET /a.css HTTP/1.1\r\nHost: x\r\n\r\n"
            self.assertEqual(w.raw(get * 100).count(b"\r\n\r\nbody{}HTTP/1.1 200"), 99)
            post = b"POST /a.css HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            self.assertEqual(w.raw(post + get).count(b"HTTP/1.1 "), 2)
            for bad in [
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + get,
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\n" + get,
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + get,
                b"GET / HTTP/1.1\nHost: x\n\n" + get,
                b"GET / HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n" + get,
                b"GET / HTTP/1.1\r\nX: " + b"a" * 20000 + b"\r\n\r\n" + get,
                b"\x16\x03\x01\x02\x00" + get,
            ]:
                got = w.raw(bad, half_close=False)
                self.assertEqual(got.count(b"HTTP/1.1 "), 1, bad)
                self.assertRegex(got, rb"^HTTP/1.1 4\d\d .*\r\n(.*\r\n)*Connection: close\r\n")
            waits = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
            self.assertTrue(w.raw(waits).startswith(b"HTTP/1.1 100 Continue\r\n\r\n"))

    def test_slow_requests_end(self):
        with Web("--web-head-timeout", 1, "--web-body-timeout", 1, "--web-idle-timeout", 1) as w:
            for start in [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\na"]:
                self.assertEqual(w.raw(start, half_close=False), b"", start)

    def test_no_stale_byte_after_an_acknowledged_write(self):
        with Web("--threads", 2) as w:
            failures, stop = [], threading.Event()

            def noise():
                with w.connect() as c:
                    rng = random.Random(2)
                    while not stop.is_set():
                        c.command("SET", f"noise{rng.randrange(50)}", "x")
                        c.command("INCRBY", "k7", 1)

            def checked(seed):
                rng = random.Random(seed)
                web = http.client.HTTPConnection("127.0.0.1", w.port, timeout=PATIENCE_S)
                own = [seed * 2, seed * 2 + 1]
                known = {k: "" for k in own}
                with w.connect() as c:
                    for i in range(400):
                        k = rng.choice(own)
                        how = rng.randrange(4)
                        if how == 0:
                            c.command("DEL", f"k{k}")
                            known[k] = ""
                        elif how == 1:
                            c.command("SET", f"k{k}", f"{seed}-{i}")
                            known[k] = f"{seed}-{i}"
                        elif how == 2:
                            c.command("EVAL", "redis.call('SET', KEYS[1], ARGV[1])", 1, f"k{k}", f"e{i}")
                            known[k] = f"e{i}"
                        web.request("GET", f"/sum/{rng.randrange(3)}")
                        values = web.getresponse().read().decode().split(",")
                        for k in own:
                            if values[k] != known[k]:
                                failures.append((seed, i, k, values[k], known[k]))

            threads = [threading.Thread(target=checked, args=(seed,)) for seed in range(3)]
            other = threading.Thread(target=noise)
            other.start()
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            stop.set()
            other.join()
            self.assertEqual(failures[:3], [])


if __name__ == "__main__":
    unittest.main()
