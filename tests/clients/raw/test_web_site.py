"""Sites in keys: `apus site`, and the web port that serves what it has pushed."""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness.ports import free_port
from harness.server import BINARY, PATIENCE_S, Server, beyond_redis, wait_until
from harness.tls import TlsServer, authority, strangers
from raw.test_web import LIBRARY, Web

BLOG = {
    "routes": "GET / index.html\nPOST /like/{id} call:like keys=likes:{id} user=writer\n",
    "templates/index.html": "one {{ get('title') }}",
    "public/a.css": "a{}",
    "public/big.bin": "x" * 3_000_000,
}


def site(*words, fails=False):
    done = subprocess.run([BINARY, "site", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode != 0) == fails, (words, done)
    return done.stdout + done.stderr


def write(root, files):
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def read(root):
    found = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            with open(path, encoding="utf-8") as f:
                found[os.path.relpath(path, root)] = f.read()
    return found


@beyond_redis
class TestWebSite(unittest.TestCase):
    def test_a_new_blog_shows_posts(self):
        with Web(files={}) as w:
            at = os.path.join(w.dir.name, "blog")
            site("new", at)
            self.assertIn("it is not empty", site("new", at, fails=True))
            site("check", at)
            with Web("--web-key", "web:site", files={}) as k, k.connect() as c:
                self.assertEqual(k.ask("/")[0], 404)
                site("push", at, "-p", k.server.port)
                self.assertIn(b"There are no posts yet", k.ask("/")[2])
                c.command("HSET", "post:a", "title", "<i>", "text", "Text")
                c.command("ZADD", "posts", 1, "a")
                c.command("ZADD", "tag:t u", 1, "a")
                c.command("SADD", "tags:a", "t u")
                self.assertIn(b'<a href="/post/a">&lt;i&gt;</a>', k.ask("/")[2])
                self.assertIn(b'href="/tag/t%20u"', k.ask("/post/a")[2])
                self.assertIn(b"<h1>t u</h1>", k.ask("/tag/t%20u")[2])
                self.assertIn(b"<title>&lt;i&gt;</title>", k.ask("/feed.xml")[2])
                self.assertIn(b"Nothing here", k.ask("/none")[2])

    def test_a_push_is_seen_at_once_and_comes_back(self):
        with Web("--web-key", "web:site", "--threads", 2, files={"public/dir.txt": "dir", "public/a.css": "dir"}) as w:
            port = w.server.port
            root = os.path.join(w.dir.name, ".site")
            write(root, BLOG)
            self.assertEqual(w.ask("/a.css")[2], b"dir")
            with w.connect() as c:
                c.command("SET", "title", "t")
                for n in range(20):
                    write(root, {"templates/index.html": f"{n} {{{{ get('title') }}}}"})
                    site("push", root, "-p", port)
                    self.assertEqual(w.ask("/")[2], b"%d t" % n)
                self.assertEqual(w.ask("/a.css")[2], b"a{}")
                self.assertEqual(w.ask("/dir.txt")[2], b"dir")
                self.assertEqual(len(w.ask("/big.bin")[2]), 3_000_000)
                # A field is a file; one whose name is no path is left out.
                c.command("HSET", "web:site", "public/b.css", "b{}", "../x", "x")
                self.assertEqual(w.ask("/b.css")[2], b"b{}")
                pulled = os.path.join(w.dir.name, ".pulled")
                self.assertIn("is no path", site("pull", pulled, "-p", port, fails=True))
                c.command("HDEL", "web:site", "public/b.css", "../x")
                shutil.rmtree(pulled, ignore_errors=True)
                site("pull", pulled, "-p", port)
                self.assertEqual(read(pulled), read(root))
                # What is wrong leaves the site in service.
                write(root, {"templates/index.html": "{{ get( }}"})
                self.assertIn("templates/index.html: index.html:1:", site("push", root, "-p", port, fails=True))
                c.command("HSET", "web:site", "templates/index.html", "{{ get( }}")
                self.assertEqual(w.ask("/")[2], b"19 t")
                w.server.wait_for_log("site: templates/index.html: index.html:1:")
                c.command("SET", "web:site", "text")
                self.assertEqual(w.ask("/")[2], b"19 t")
                w.server.wait_for_log("web-key web:site: WRONGTYPE")
                # Without the key there is the directory.
                c.command("DEL", "web:site")
                wait_until(lambda: w.ask("/a.css")[2] == b"dir", "the directory is served")
                self.assertEqual(w.ask("/big.bin")[0], 404)

    def test_a_replica_has_the_site(self):
        with Web("--web-key", "s", files={}) as w, Web("--web-key", "s", files={}) as r, r.connect() as c:
            root = os.path.join(w.dir.name, ".site")
            write(root, BLOG)
            site("push", root, "-p", w.server.port)
            c.command("REPLICAOF", "127.0.0.1", w.server.port)
            wait_until(lambda: r.ask("/a.css")[2] == b"a{}", "the replica serves the site")
            write(root, {"public/a.css": "new{}"})
            site("push", root, "-p", w.server.port)
            with w.connect() as p:
                self.assertEqual(p.command("WAIT", 1, 0), b":1")
            self.assertEqual(r.ask("/a.css")[2], b"new{}")
            # Nobody pushes into a replica.
            self.assertIn("READONLY", site("push", root, "-p", r.server.port, fails=True))

    def test_routes_in_a_key_get_no_rights(self):
        for users, status in [([], 403), (["--web-key-users", "other,writer"], 303)]:
            with Web("--web-key", "s", *users, files={}) as w, w.connect() as c:
                c.command("ACL", "SETUSER", "writer", "on", "nopass", "~likes:*", "+@all")
                self.assertEqual(c.command("HSET", "s", "routes", BLOG["routes"]), b":1")
                c.command("FUNCTION", "LOAD", LIBRARY)
                self.assertEqual(w.ask("/like/1", "POST", "")[0], status)

    def test_a_server_must_say_its_key(self):
        with Server("--requirepass", "p") as s:
            self.assertIn("NOAUTH", site("pull", "/nonexistent/x", "-p", s.port, fails=True))
            self.assertIn("serves no site in a key", site("pull", "/nonexistent/x", "-p", s.port, "-a", "p", fails=True))
            told = site("pull", "/nonexistent/x", "-p", s.port, "-a", "p", "--key", "k", fails=True)
            self.assertIn("there is no site in the key 'k'", told)
        self.assertIn("127.0.0.1", site("pull", "/nonexistent/x", "-p", free_port(), fails=True))


    def test_a_site_goes_over_tls_and_unix_sockets(self):
        ca = authority()
        with tempfile.TemporaryDirectory() as at:
            path, root = os.path.join(at, "socket"), os.path.join(at, "site")
            write(root, BLOG)
            with TlsServer("--unixsocket", path, "--web-key", "web:site", asks="yes") as server:
                site("push", root, "-s", path)
                shown = ["--cert", ca.path("alice.crt"), "--key-file", ca.path("alice.key")]
                tls = ["-p", server.tls_port, "--tls", "--cacert", ca.certificate, *shown]
                site("pull", os.path.join(at, "pulled"), *tls)
                self.assertEqual(read(os.path.join(at, "pulled")), BLOG)
                write(root, {"public/a.css": "new"})
                site("push", root, "-p", server.tls_port, "--tls", "--insecure", *shown, "--sni", "x.example")
                site("pull", os.path.join(at, "again"), "-s", path)
                self.assertEqual(read(os.path.join(at, "again"))["public/a.css"], "new")
                without = ["-p", server.tls_port, "--tls", "--cacert", ca.certificate]
                site("push", root, *without, fails=True)
                strange = ["-p", server.tls_port, "--tls", "--cacert", strangers().certificate, *shown]
                site("push", root, *strange, fails=True)
                site("push", root, "-p", server.tls_port, fails=True)
                site("push", root, "-s", path + "x", fails=True)


if __name__ == "__main__":
    unittest.main()
