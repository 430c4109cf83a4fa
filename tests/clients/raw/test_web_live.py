"""Live blocks of pages: server-sent events over bare sockets."""

import http.client
import json
import os
import re
import shlex
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from urllib.parse import quote

from harness.ports import free_port
from harness.server import BINARY, PATIENCE_S, Server, beyond_redis, wait_until
from harness.tls import authority, context
from raw.test_web import Web

SITE = {
    "routes": "GET / index.html\nGET /post/{slug} post.html\nGET /me me.html\nGET /some some.html\nGET /plain plain.html\n"
    "GET /two two.html\nGET /big big.html\nGET /bad bad.html\nGET /data call:data\n",
    "templates/index.html": "<body>{% call live('n', tag='b') %}{{ get('n') }}{% endcall %}"
    "{% for p in zrange('z', 0, -1) %}{% call live('p:' ~ p, tag='i') %}{{ hget('p:' ~ p, 'x') }}{% endcall %}{% endfor %}</body>",
    "templates/post.html": "{% call live('likes') %}{{ slug }}={{ get('likes:' ~ slug) }}{{ query.q }}{% endcall %}",
    "templates/me.html": "{% call live('me') %}{{ cookies.name }}:{{ get('n') }}{% endcall %}",
    "templates/some.html": "{% if get('n') == '1' %}{% set x = cookies.name %}{% else %}{% set x = 'all' %}{% endif %}"
    "{% call live('me') %}{{ x }}{% endcall %}",
    "templates/plain.html": "{{ get('n') }}",
    "templates/two.html": "{% call live('a') %}{{ get('a') }}{% endcall %}{% call live('b') %}{{ get('b') }}{% endcall %}",
    "templates/big.html": "{% call live('big') %}{{ get('n') }}{{ get('big') }}{% endcall %}",
    "templates/bad.html": "{% call live('a') %}{{ get('n') }}{% endcall %}{% call live('a') %}{% endcall %}",
    "templates/data.html": "{% call live('a') %}{{ n }}{% endcall %}",
}


class Stream:
    """An event source. Events are pairs of an id and the blocks."""

    def __init__(self, port, path, since="", last=None, rcvbuf=None, tls=None, **headers):
        self.s = socket.socket()
        if rcvbuf:
            self.s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.s.settimeout(PATIENCE_S)
        self.s.connect(("127.0.0.1", port))
        if tls:
            self.s = tls.wrap_socket(self.s, server_hostname="127.0.0.1")
        if last is not None:
            headers["Last-Event-ID"] = last
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        target = f"/_apus/live?since={since}&path={quote(path, safe='')}"
        self.s.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())
        self.left = b""
        self.head = self.until(b"\r\n\r\n").decode()
        self.status = int(self.head.split(" ")[1])
        if self.status == 200:
            assert self.until(b"\n\n").startswith(b"retry: ")

    def until(self, end):
        while end not in self.left:
            piece = self.s.recv(1 << 16)
            if not piece:
                raise EOFError(self.left[-100:])
            self.left += piece
        text, self.left = self.left.split(end, 1)
        return text

    def event(self):
        """The next event; signs of life are passed over."""
        while True:
            text = self.until(b"\n\n").decode()
            if not text.startswith(":"):
                number, data = text.split("\n", 1)
                return number.removeprefix("id: "), json.loads(data.removeprefix("data: "))

    def blocks(self):
        return self.event()[1]

    def close(self):
        self.s.close()


def text(c, *command):
    """The reply of a command that answers with a text."""
    return c.exactly(int(c.command(*command)[1:]) + 2).decode()


def since(page):
    return re.search(rb'data-since="([0-9a-f]{16})"', page)[1].decode()


@beyond_redis
class TestLive(unittest.TestCase):
    def stream(self, w, path, **options):
        stream = Stream(w.port, path, **options)
        self.addCleanup(stream.close)
        return stream

    def calls(self, c, command):
        found = re.search(rf"cmdstat_{command}:calls=(\d+)", text(c, "INFO", "commandstats"))
        return int(found[1]) if found else 0

    def test_a_change_arrives(self):
        with Web(files=SITE) as w, w.connect() as c:
            c.command("SET", "n", "1")
            c.command("ZADD", "z", 1, "a", 2, "b<")
            c.command("HSET", "p:a", "x", "7")
            page = w.ask("/")[2]
            self.assertIn(b'<b data-live="n">1</b><i data-live="p:a">7</i><i data-live="p:b&lt;"></i>', page)
            self.assertRegex(page, rb'<script src="/_apus/live.js\?[^"]*" data-since="[0-9a-f]{16}" defer></script>\n</body>$')
            s = self.stream(w, "/", since=since(page))
            self.assertIn("Content-Type: text/event-stream", s.head)
            c.command("SET", "n", '<i>"2"\n</i>')
            number, blocks = s.event()
            self.assertEqual(blocks, {"n": "&lt;i&gt;&quot;2&quot;\n&lt;&#x2f;i&gt;"})
            self.assertEqual(number, since(w.ask("/")[2]))
            c.command("HSET", "p:b<", "x", "8")
            self.assertEqual(s.blocks(), {"p:b<": "8"})
            # What is outside of the blocks is not told.
            c.command("ZADD", "z", 0, "c")
            self.assertEqual(s.blocks(), {"p:c": ""})
            c.command("SWAPDB", 0, 1)
            self.assertEqual(s.blocks(), {"n": ""})
            c.command("SWAPDB", 0, 1)
            self.assertEqual(set(s.blocks()), {"n", "p:a", "p:b<", "p:c"})
            c.command("FLUSHALL")
            self.assertEqual(s.blocks(), {"n": ""})

    def test_parameters_and_queries(self):
        with Web(files=SITE) as w, w.connect() as c:
            a = self.stream(w, "/post/a%20b")
            b = self.stream(w, "/post/b?q=%3Cx")
            self.assertEqual(a.blocks(), {"likes": "a b="})
            self.assertEqual(b.blocks(), {"likes": "b=&lt;x"})
            c.command("SET", "likes:b", "1")
            self.assertEqual(b.blocks(), {"likes": "b=1&lt;x"})
            c.command("SET", "likes:a b", "2")
            self.assertEqual(a.blocks(), {"likes": "a b=2"})

    def test_only_pages_of_the_site(self):
        with Web("--web-live-max", 2, files={**SITE, "public/f.html": "x"}) as w:
            for path, status in [
                ("/none", 404), ("/f.html", 404), ("/data", 404), ("/plain", 204), ("/bad", 500), ("x", 400),
                ("/../routes", 400), ("/a b", 400), ("/x\r\nA: b", 400), ("", 400), ("/%2e%2e/x", 400),
            ]:
                self.assertEqual(self.stream(w, path).status, status, path)
            self.assertEqual(w.ask("/_apus/live")[0], 400)
            self.assertEqual((w.ask("/_apus/live", "POST", "x")[0], w.ask("/_apus/other")[0]), (405, 404))
            self.assertEqual(self.stream(w, "/", Sec_Fetch_Site="cross-site").status, 403)
            self.assertEqual(self.stream(w, "/", Origin="http://other").status, 403)
            open_ones = [self.stream(w, "/", Sec_Fetch_Site="same-origin") for _ in range(2)]
            refused = self.stream(w, "/")
            self.assertEqual((refused.status, "Retry-After" in refused.head), (503, True))
            open_ones.pop().close()
            end = time.monotonic() + PATIENCE_S
            while self.stream(w, "/").status != 200:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)

    def test_the_script(self):
        with Web(files=SITE) as w:
            src = re.search(rb'src="([^"]*)"', w.ask("/")[2])[1].decode()
            status, headers, text = w.ask(src)
            self.assertEqual((status, headers["Content-Type"]), (200, "text/javascript; charset=utf-8"))
            self.assertIn("immutable", headers["Cache-Control"])
            self.assertIn(b"EventSource", text)
            etag = headers["ETag"]
            status, headers, _ = w.ask("/_apus/live.js", If_None_Match=etag)
            self.assertEqual((status, headers["Cache-Control"]), (304, "no-cache"))
            self.assertEqual(w.ask("/_apus/live.js", "POST", "x")[0], 405)

    def test_many_streams_one_rendering(self):
        with Web("--threads", 1, files=SITE) as w, w.connect() as c:
            c.command("SET", "n", "0")
            page = w.ask("/")[2]
            streams = [self.stream(w, "/", since=since(page)) for _ in range(100)]
            before = self.calls(c, "get")
            c.command("SET", "n", "1")
            for s in streams:
                self.assertEqual(s.blocks(), {"n": "1"})
            self.assertEqual(self.calls(c, "get") - before, 1)
            # The page is there for a visitor, too.
            self.assertIn(b">1</b>", w.ask("/")[2])
            self.assertEqual(self.calls(c, "get") - before, 1)

    def test_the_rate_is_bounded_and_the_last_state_arrives(self):
        with Web("--threads", 1, "--web-live-rate", 2, files=SITE) as w, w.connect() as c:
            s = self.stream(w, "/two")
            self.assertEqual(s.blocks(), {"a": "", "b": ""})
            before = self.calls(c, "get")
            for i in range(300):
                c.command("SET", "a", i)
            c.command("SET", "b", "end")
            seen, last = [], {}
            while last.get("a") != "299" or last.get("b") != "end":
                blocks = s.blocks()
                if "a" in last and "a" in blocks:
                    self.assertGreater(int(blocks["a"]), int(last["a"]))
                last.update(blocks)
                seen.append(blocks)
            # Two reads of a rendering; far fewer renderings than changes.
            self.assertLess(self.calls(c, "get") - before, 20)
            self.assertLess(len(seen), 10)

    def test_a_new_stream_catches_up(self):
        with Web(files=SITE) as w, w.connect() as c:
            c.command("MSET", "a", "1", "b", "1")
            s = self.stream(w, "/two")
            number, blocks = s.event()
            self.assertEqual(blocks, {"a": "1", "b": "1"})
            s.close()
            # Nothing comes to the one who has the present state: the next event is the next change.
            for name in ["last", "since", "last"]:
                s = self.stream(w, "/two", **{name: number})
                c.command("INCR", "b")
                number, blocks = s.event()
                self.assertEqual(list(blocks), ["b"])
                s.close()
            c.command("INCR", "a")
            s = self.stream(w, "/two", last=number)
            number, blocks = s.event()
            self.assertEqual(blocks, {"a": "2", "b": "4"})
            for wrong in ["", "x", "0" * 16, "f" * 40]:
                self.assertEqual(self.stream(w, "/two", last=wrong).blocks(), {"a": "2", "b": "4"})
            # The number says what the blocks are, on any server.
            with Web(files=SITE) as other, other.connect() as d:
                d.command("MSET", "a", "2", "b", "4")
                s = self.stream(other, "/two", last=number)
                d.command("INCR", "b")
                d.command("INCR", "b")
                self.assertEqual(list(s.blocks()), ["b"])

    def test_a_slow_reader_is_closed(self):
        with Web("--web-live-buffer", "64kb", "--web-live-rate", 1000, files=SITE) as w, w.connect() as c:
            c.command("SET", "big", "x" * 1_000_000)
            s = self.stream(w, "/big", rcvbuf=4096)
            quick = self.stream(w, "/big")
            quick.event()
            end = time.monotonic() + PATIENCE_S
            for i in range(100):
                c.command("SET", "n", i)
                blocks = quick.blocks()
                self.assertTrue(blocks["big"].startswith(f"{i}x"), blocks["big"][:20])
                if text(c, "CLIENT", "LIST").count(" addr=") < 3:
                    break
                self.assertLess(time.monotonic(), end)
            else:
                self.fail("it is not closed")
            with self.assertRaises((EOFError, ConnectionError)):
                while True:
                    s.event()
            # It comes again, and has the present state.
            self.assertTrue(self.stream(w, "/big").blocks()["big"].startswith(f"{i}x"))

    def test_what_depends_on_the_visitor_is_for_the_visitor(self):
        with Web("--threads", 1, files=SITE) as w, w.connect() as c:
            eve = self.stream(w, "/me", Cookie="name=eve")
            bob = self.stream(w, "/me", Cookie="name=bob")
            for n in ["", "1", "2"]:
                if n:
                    c.command("SET", "n", n)
                self.assertEqual((eve.blocks(), bob.blocks()), ({"me": "eve:" + n}, {"me": "bob:" + n}))
            # A page that begins to depend on the visitor ends the streams that share it.
            eve = self.stream(w, "/some", Cookie="name=eve")
            bob = self.stream(w, "/some", Cookie="name=bob")
            self.assertEqual((eve.blocks(), bob.blocks()), ({"me": "all"}, {"me": "all"}))
            c.command("SET", "n", "1")
            for s in [eve, bob]:
                self.assertRaises(EOFError, s.event)
            eve = self.stream(w, "/some", Cookie="name=eve")
            bob = self.stream(w, "/some", Cookie="name=bob")
            self.assertEqual((eve.blocks(), bob.blocks()), ({"me": "eve"}, {"me": "bob"}))

    def test_the_site_changes(self):
        with Web(files=SITE) as w, w.connect() as c:
            c.command("MSET", "a", "1", "b", "1")
            s = self.stream(w, "/two")
            other = self.stream(w, "/post/x")
            s.event(), other.event()
            w.write("templates/two.html", SITE["templates/two.html"].replace("{{ get('a') }}", "new {{ get('a') }}"))
            self.assertEqual(s.blocks(), {"a": "new 1"})
            # An error leaves what was there, and so do keys that cannot be read.
            w.write("templates/two.html", "{% call live('a') %}{{ get( }}{% endcall %}")
            c.command("SET", "a", "2")
            self.assertEqual(s.blocks(), {"a": "new 2"})
            c.command("DEL", "a")
            self.assertEqual(s.blocks(), {"a": "new "})
            c.command("HSET", "a", "x", "1")
            c.command("SET", "b", "2")
            c.command("SET", "a", "3")
            last = {}
            while last != {"a": "new 3", "b": "2"}:
                last.update(s.blocks())
            w.write("routes", SITE["routes"].replace("GET /two two.html\n", ""))
            self.assertRaises(EOFError, s.event)
            self.assertEqual(self.stream(w, "/two").status, 404)
            c.command("SET", "likes:x", "5")
            self.assertEqual(other.blocks(), {"likes": "x=5"})

    def test_a_site_in_a_key_and_rights(self):
        port = free_port()
        with Server("--web-port", port, "--web-key", "site", "--web-user", "web") as server, server.connect() as c:
            c.command("ACL", "SETUSER", "web", "on", "~n", "~site", "+@read")
            w = type("W", (), {"port": port})
            c.command("HSET", "site", "routes", "GET / i.html", "templates/i.html", "{% call live('n') %}{{ get('n') }}{% endcall %}")
            s = self.stream(w, "/")
            self.assertEqual(s.blocks(), {"n": ""})
            c.command("HSET", "site", "templates/i.html", "{% call live('n') %}new {{ get('n') }}{% endcall %}")
            self.assertEqual(s.blocks(), {"n": "new "})
            # What the user of the site may not read any more is not shown.
            c.command("ACL", "SETUSER", "web", "resetkeys", "~site")
            c.command("SET", "n", "secret")
            time.sleep(0.3)
            c.command("SET", "n", "public")
            c.command("ACL", "SETUSER", "web", "~n")
            self.assertEqual(s.blocks(), {"n": "new public"})

    def test_the_tutorial(self):
        """What docs/pages.md says, word for word."""
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "pages.md")
        with open(docs, encoding="utf-8") as f:
            tutorial = f.read().split("## In ten minutes")[1].split("\n## ")[0]
        parts = re.findall(r"```(\w+)\n(.*?)```", tutorial, re.S)
        find = lambda kind, part: next(text for k, text in parts if k == kind and part in text)
        with tempfile.TemporaryDirectory() as directory:
            blog = os.path.join(directory, "blog")
            subprocess.run([BINARY, "site", "new", blog], check=True, capture_output=True, timeout=PATIENCE_S)
            os.mkdir(os.path.join(blog, "functions"))
            with open(os.path.join(blog, "functions", "blog.lua"), "w", encoding="utf-8") as f:
                f.write(find("lua", "like"))
            with open(os.path.join(blog, "routes"), "a", encoding="utf-8") as f:
                f.write(find("text", "POST /like"))
            post = os.path.join(blog, "templates", "post.html")
            with open(post, encoding="utf-8") as f:
                text_before = f.read()
            with open(post, "w", encoding="utf-8") as f:
                f.write(text_before.replace("{{ post.text }}", "{{ post.text }}" + find("jinja", "likes")))
            port = free_port()
            with Server("--web-port", port, "--web-root", blog) as server, server.connect() as c:
                server.wait_for_log("Functions of functions/blog.lua loaded")
                for kind, text in parts:
                    for line in text.splitlines():
                        if kind == "console" and line.startswith("$ redis-cli"):
                            reply = c.command(*shlex.split(line)[2:])
                            self.assertIn(reply[:1], b":+", line)
                w = type("W", (), {"port": port})
                s = self.stream(w, "/post/hello")
                self.assertEqual(s.blocks(), {"likes": "0 likes"})
                likes = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                likes.request("POST", "/like/hello")
                answer = likes.getresponse()
                self.assertEqual((answer.status, answer.headers["Location"]), (303, "/post/hello"))
                likes.close()
                self.assertEqual(s.blocks(), {"likes": "1 likes"})
                # The library is read again when it changes, and an error leaves the one before.
                with open(os.path.join(blog, "functions", "blog.lua"), "w", encoding="utf-8") as f:
                    f.write("#!lua name=blog\nthis is no Lua")
                server.wait_for_log("site: functions/blog.lua: ERR")
                self.assertEqual(c.command("FCALL", "like", 1, "likes:hello", '{"params":{"slug":"x"}}')[:1], b"$")

    def test_a_key_ends(self):
        with Web(files=SITE) as w, w.connect() as c:
            c.command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
            c.command("SET", "n", "short", "PX", 400)
            s = self.stream(w, "/")
            self.assertEqual(s.blocks(), {"n": "short"})
            self.assertEqual(s.blocks(), {"n": ""})

    def test_over_tls(self):
        ca, trust = authority(), context()
        options = ["--web-tls", "yes", "--web-tls-cert-file", ca.path("server.crt"), "--web-tls-key-file", ca.path("server.key")]
        with Web(*options, "--web-live-rate", 1000, "--web-live-buffer", "64mb", files=SITE) as w, w.connect() as c:
            c.command("MSET", "n", 0, "big", "x" * 3_000_000)
            s = self.stream(w, "/", tls=trust)
            self.assertIn("Content-Type: text/event-stream", s.head)
            self.assertEqual(s.blocks(), {"n": "0"})
            # More than the socket takes at once, for a reader that comes late.
            big = self.stream(w, "/big", rcvbuf=4096, tls=trust)
            for n in range(1, 4):
                c.command("SET", "n", n)
                self.assertEqual(s.blocks(), {"n": str(n)})
            while (blocks := big.blocks()["big"])[0] != "3":
                pass
            self.assertEqual(blocks, "3" + "x" * 3_000_000)
            # A stream that is left does not stay.
            for stream in [s, big]:
                stream.close()
            wait_until(lambda: text(c, "CLIENT", "LIST").count(" addr=") == 1, "the streams are gone")
            self.assertEqual(self.stream(w, "/", tls=trust).blocks(), {"n": "3"})

    def test_on_a_replica(self):
        with Server() as primary, Server() as other, primary.connect() as p, other.connect() as o:
            p.command("MSET", "n", 1, "likes:x", 1)
            o.command("MSET", "n", 7, "likes:x", 8)
            site = {name: text for name, text in SITE.items() if "post" not in name}
            options = ["--web-key", "site", "--replicaof", f"127.0.0.1 {primary.port}"]
            with Web(*options, files=site) as w, w.connect() as c:
                s = self.stream(w, "/", since="")
                wait_until(lambda: text(c, "INFO", "replication").count("master_link_status:up"), "a link")
                while s.blocks()["n"] != "1":
                    pass
                p.command("SET", "n", 2)
                self.assertEqual(s.blocks(), {"n": "2"})
                # A template that is a key of the primary, and another one that has changed there.
                p.command("HSET", "site", "templates/post.html", SITE["templates/post.html"])
                wait_until(lambda: w.ask("/post/x")[0] == 200, "the template")
                post = self.stream(w, "/post/x")
                self.assertEqual(post.blocks(), {"likes": "x=1"})
                p.command("INCR", "likes:x")
                self.assertEqual(post.blocks(), {"likes": "x=2"})
                # Another primary: all data are others at once.
                o.command("HSET", "site", "templates/post.html", SITE["templates/post.html"])
                c.command("REPLICAOF", "127.0.0.1", other.port)
                for stream, wanted in [(s, {"n": "7"}), (post, {"likes": "x=8"})]:
                    while stream.blocks() != wanted:
                        pass
                # It becomes a primary itself, and its streams go on.
                c.command("REPLICAOF", "NO", "ONE")
                c.command("SET", "n", 9)
                self.assertEqual(s.blocks(), {"n": "9"})

    def test_a_stream_that_has_more_than_its_show_is_sent_nothing_older(self):
        with Web("--threads", 1, "--web-live-rate", 1, files=SITE) as w, w.connect() as c:
            c.command("SET", "n", 1)
            first = self.stream(w, "/")
            self.assertEqual(first.blocks(), {"n": "1"})
            c.command("SET", "n", 2)
            self.assertEqual(first.blocks(), {"n": "2"})
            # For a second from here on the page is not rendered for streams.
            c.command("SET", "n", 3)
            page = w.ask("/")[2]
            second = self.stream(w, "/", since=since(page))
            third = self.stream(w, "/")
            for s in [first, third]:
                self.assertEqual(s.blocks(), {"n": "3"})
            c.command("SET", "n", 4)
            self.assertEqual(second.blocks(), {"n": "4"})

    def test_never_an_older_state_behind_a_newer_one(self):
        with Web("--threads", 4, "--web-live-rate", 1000, files=SITE) as w, w.connect() as c:
            c.command("SET", "n", 0)
            stop, wrong, seen = threading.Event(), [], [0]

            def watch():
                while not stop.is_set():
                    _, _, page = w.ask("/")
                    newest = int(re.search(rb'data-live="n">(\d+)', page)[1])
                    s = Stream(w.port, "/", since=since(page))
                    for _ in range(20):
                        n = int(s.blocks().get("n", newest))
                        if n < newest:
                            wrong.append((newest, n))
                        newest = n
                        seen[0] += 1
                    s.close()

            threads = [threading.Thread(target=watch, daemon=True) for _ in range(6)]
            for t in threads:
                t.start()
            end = time.monotonic() + 3
            while time.monotonic() < end and not wrong:
                for _ in range(20):
                    c.command("INCR", "n")
                time.sleep(0.001)
            stop.set()
            while any(t.is_alive() for t in threads):
                c.command("INCR", "n")
            self.assertEqual(wrong, [])
            self.assertGreater(seen[0], 100)


if __name__ == "__main__":
    unittest.main()
