"""Random writes and requests: a page that may be kept is, behind every acknowledged write, what a page that is never
kept is; a page that is made from parts of the one before it, too; and a live block goes through states that there
were, in their order, to the last one."""

import http.client
import os
import random
import re
import threading
import unittest
from html import unescape

from harness.server import PATIENCE_S, beyond_redis, encode
from raw.test_web import Web
from raw.test_web_live import Stream

KEYS = 3
SHOWN = ", ".join(
    [f"get('s{i}'), hgetall('h{i}'), lrange('l{i}', 0, -1), smembers('m{i}')|sort, zrange('z{i}', 0, 4, withscores=true)," for i in range(KEYS)]
    + ["exists('s0', 'l1', 'z2'), llen('l0'), scard('m1'), zrevrank('z0', 'a'), hget('h1', 'a'), strlen('s2')"]
).replace(",,", ",")
SITE = {
    "routes": "GET /kept page.html\nGET /fresh page.html cache=no\nGET /kept/{x} page.html\n"
    "GET /parts parts.html\nGET /parts/{i} parts.html\nGET /whole parts.html cache=no\nGET /whole/{i} parts.html cache=no\n",
    "templates/page.html": "<p>{% call live('all') %}{{ get('seq') }};{{ [" + SHOWN + "]|tojson }}{% endcall %}</p>",
    # Turns of these loops are kept by themselves, if nothing in them forbids it.
    "templates/parts.html": """{% set word = get('s0') %}{{ get('seq') }}
{% for i in [0, 1, 2] %}<p>{{ i }} {{ get('s' ~ i)|default('none') }}{% if exists('h' ~ i) %} {{ hgetall('h' ~ i)|tojson }}{% else %} -{% endif %}</p>
{% endfor %}
{% for member in zrange('z0', 0, -1) %}{{ loop.index }}/{{ loop.length }} {{ member }}: {{ zscore('z0', member) }} {{ word }}{{ '' if loop.last else ',' }}
{% endfor %}
{% for member, score in zrange('z1', 0, 4, withscores=true) %}{{ member }}={{ score }} {{ scard('m1') }}{% set word = member %}{{ word }}
{% endfor %}
{% for row in [lrange('l0', 0, -1), lrange('l1', 0, -1), 7, none] %}{{ row|tojson }} {{ llen('l2') }}
{% endfor %}
{% for i in [0, 1, 2] if exists('l' ~ i) %}{% for item in lrange('l' ~ i, 0, -1) %}{{ loop.index0 }}{{ item }}{{ sismember('m' ~ i, item) }} {% else %}empty{% endfor %}
{% endfor %}
{% set out %}{% for i in [0, 1] %}{{ strlen('s' ~ i) }} {% endfor %}{% endset %}[{{ out }}]
{% set all = namespace(n=0) %}{% for i in [0, 1, 2] %}{% set all.n = all.n + scard('m' ~ i) %}{{ all.n }} {% endfor %}
{% for i in range(3) %}{% if llen('l' ~ i) > 3 %}{% continue %}{% endif %}{{ lindex('l' ~ i, 0) }};{% endfor %}
{% for n in range(2) %}{{ n }}{{ i }}{{ get('s' ~ i)|default('-') }}{{ word }} {% endfor %}
{% for n in range(loop_end|default(2)) %}{{ scard('m' ~ n) }}{{ zcard('z1') }} {% else %}none{% endfor %}
{% for n in smembers('m2')|sort %}{{ n }}{% else %}{% set word = 'no member' %}{% endfor %}{{ word }}
{% for n in range(2) %}{% include "row.html" %}{% endfor %}
{% for i in range(3) %}{% for f, v in hgetall('h' ~ i)|dictsort %}{{ f }}{{ v }}{{ get('s' ~ i) }} {% endfor %}{% endfor %}
""",
    "templates/row.html": "{{ loop.index }}{% for v in lrange('l1', 0, 2) %}{{ loop.index }}{{ v }}{{ n }}{% endfor %}\n",
}


class Page:
    """A connection that stays open."""

    def __init__(self, port):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.etags = {}

    def get(self, path):
        """A page, asked for with the tag that it had: what has not changed must not be said to be."""
        tag, kept = self.etags.get(path, (None, None))
        self.c.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = self.c.getresponse()
        text = answer.read()
        if answer.status == 304:
            return kept
        assert answer.status == 200, (answer.status, text)
        self.etags[path] = (answer.headers["ETag"], text)
        return text

    def close(self):
        self.c.close()


def write(r):
    """A command that changes something, or perhaps nothing."""
    i, other, member, n = r.randrange(KEYS), r.randrange(KEYS), r.choice("abcd"), r.randrange(100)
    kind = r.choice("shlmz")
    key, to = f"{kind}{i}", f"{kind}{other}"
    return r.choice(
        [
            ("SET", f"s{i}", n), ("APPEND", f"s{i}", member), ("SETRANGE", f"s{i}", 2, member), ("GETDEL", f"s{i}"),
            ("MSET", f"s{i}", n, f"s{other}", member), ("SET", f"s{i}", n, "EX", 1000), ("SETBIT", f"s{i}", 7, 1),
            ("HSET", f"h{i}", member, n), ("HDEL", f"h{i}", member), ("HINCRBY", f"h{i}", "n", n),
            ("RPUSH", f"l{i}", member, n), ("LPOP", f"l{i}"), ("LTRIM", f"l{i}", 1, 3), ("LMOVE", f"l{i}", f"l{other}", "LEFT", "RIGHT"),
            ("SADD", f"m{i}", member), ("SREM", f"m{i}", member), ("SMOVE", f"m{i}", f"m{other}", member),
            ("SUNIONSTORE", f"m{i}", f"m{i}", f"m{other}"), ("ZADD", f"z{i}", n, member), ("ZREM", f"z{i}", member),
            ("ZINCRBY", f"z{i}", 1, member), ("ZRANGESTORE", f"z{i}", f"z{other}", 0, 1), ("ZPOPMIN", f"z{i}"),
            ("DEL", key), ("UNLINK", key, to), ("RENAME", key, to), ("COPY", key, to, "REPLACE"), ("PEXPIREAT", key, 1),
            ("EXPIRE", key, 1000), ("PERSIST", key), ("MOVE", key, 1), ("SWAPDB", 0, 1), ("FLUSHDB",) if n < 20 else ("TOUCH", key),
            ("EVAL", "redis.call('DEL', KEYS[1]); redis.call('SET', KEYS[2], ARGV[1])", 2, key, f"s{other}", n),
        ]
    )


@beyond_redis
class TestRandom(unittest.TestCase):
    def exec(self, c, *commands):
        """A transaction. Errors of its commands are as good as any reply."""
        c.send(b"".join(encode(*command) for command in [("MULTI",), *commands, ("EXEC",)]))
        for _ in range(len(commands) + 1):
            self.assertIn(c.line()[:1], b"+")
        self.read(c)

    def read(self, c):
        line = c.line()
        if line[:1] == b"*":
            for _ in range(max(int(line[1:]), 0)):
                self.read(c)
        elif line[:1] == b"$" and int(line[1:]) >= 0:
            c.exactly(int(line[1:]) + 2)

    def content(self, page):
        return unescape(re.search(rb'data-live="all">(.*?)</div>', page, re.S)[1].decode())

    def run_with(self, seed, threads):
        r = random.Random(seed)
        with Web("--threads", threads, "--web-live-rate", 1000, files=SITE) as w, w.connect() as c, w.connect() as d:
            pages = [Page(w.port) for _ in range(3)]
            fresh, whole = Page(w.port), Page(w.port)
            stream = Stream(w.port, "/kept")
            states, seen, end = {}, [], threading.Event()

            def watch():
                while not end.is_set():
                    seen.append(unescape(stream.blocks()["all"]))
                    if seen[-1].startswith("last;"):
                        return

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            states[self.content(fresh.get("/fresh"))] = 0
            for step in range(1, 400):
                by = r.choice([c, d])
                # The number is in both databases, and is there behind FLUSHDB, too.
                self.exec(by, *[write(r) for _ in range(r.choice([1, 1, 1, 4]))], ("SET", "seq", step))
                wanted = fresh.get("/fresh")
                states[self.content(wanted)] = step
                for page in r.sample(pages, r.randrange(4)):
                    path = r.choice(["/kept", "/kept/x"])
                    got = page.get(path)
                    self.assertEqual(self.content(got), self.content(wanted), f"seed {seed}, step {step}, {path}")
                    self.assertEqual(got, wanted, f"seed {seed}, step {step}, {path}")
                # Pages at several addresses have fragments in common, but where they ask for their address.
                address = r.choice(["", "/0", "/2"])
                wanted = whole.get("/whole" + address)
                for page in r.sample(pages, r.randrange(3)):
                    self.assertEqual(page.get("/parts" + address), wanted, f"seed {seed}, step {step}, /parts{address}")
            self.exec(c, ("SET", "seq", "last"))
            states[self.content(fresh.get("/fresh"))] = 400
            watcher.join(PATIENCE_S)
            end.set()
            self.assertFalse(watcher.is_alive(), f"seed {seed}: the last state has not come: {seen[-1:]}")
            numbers = [states.get(state, f"there was no {state}") for state in seen]
            self.assertEqual(numbers, sorted(numbers, key=lambda n: (isinstance(n, str), n)), f"seed {seed}")
            self.assertTrue(all(isinstance(n, int) for n in numbers), f"seed {seed}: {numbers}")
            self.assertGreater(len(seen), 20)
            c.send(encode("INFO", "web"))
            info = c.exactly(int(c.line()[1:]) + 2).decode()
            self.assertGreater(int(re.search(r"web_parts_kept:(\d+)", info)[1]), 500)
            for page in [*pages, fresh, whole]:
                page.close()
            stream.close()

    def test_one_thread(self):
        self.run_with(int(os.environ.get("SEED", random.getrandbits(32))), 1)

    def test_several_threads(self):
        self.run_with(int(os.environ.get("SEED", random.getrandbits(32))), 4)


if __name__ == "__main__":
    unittest.main()
