#!/usr/bin/env python3
"""The web port against nginx: the rows of the table in docs/pages.md.

usage: web.py [--apus PATH] [--nginx PATH] [--mime FILE] [--seconds S] [--reps N] [ROW…]   (all rows without one)

Rows: page page16 file large changed changed16 idle resp latency

Servers run on core 0, the load on core 1. Servers of a row are driven one after another in short runs that
alternate, and medians are reported. nginx runs twice: tuned (no log, open_file_cache, sendfile off) and with the
settings of Debian's package; both with one worker on core 0. It serves the very bytes that Apus has rendered.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

PORTS = {"apus": 18950, "tuned": 18951, "debian": 18952, "resp": 18953, "plain": 18954, "small": 18955}
FIELDS = ["title", "author", "price", "stock", "rating", "text"]

TEMPLATE = """<!doctype html><title>{{ get("site:title") }}</title>
<p>{{ zcard("items") }} items</p>
<ul>
{% for id in zrevrange("items", 0, 9) %}{% set item = hgetall("item:" ~ id) %}<li><a href="/item/{{ id }}">{{ item.title }}</a>
 by {{ item.author }}, {{ item.price }} EUR, {{ item.stock }} left, {{ item.rating }} of 5
 <p>{{ item.text }}</p></li>
{% endfor %}</ul>
"""

COMMON = """
daemon off; pid {dir}/{name}.pid; error_log {dir}/{name}.error; worker_processes 1; worker_cpu_affinity 1;
worker_rlimit_nofile 40000;
events {{ worker_connections {connections}; }}
http {{
  include {mime}; default_type application/octet-stream;
  client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
  {http}
  server {{ listen 127.0.0.1:{port} backlog=4096; root {dir}/public; location = /page {{ default_type text/html; }} }}
}}
"""
TUNED = """access_log off; sendfile off; tcp_nodelay on; open_file_cache max=1000 inactive=1h; open_file_cache_valid 1h;
  open_file_cache_min_uses 1; keepalive_requests 1000000000; keepalive_timeout 1h; output_buffers 2 512k;"""
# /etc/nginx/nginx.conf of the package.
DEBIAN = """sendfile on; tcp_nopush on; types_hash_max_size 2048; access_log {dir}/access.log; gzip on;"""


def pinned(core, command):
    return ["taskset", "-c", str(core), *map(str, command)]


def commands(port, lines):
    out = b"".join(b"*%d\r\n" % len(ws) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in ws)
                   for ws in ([str(w).encode() for w in words] for words in lines))
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(out)
        replies = s.makefile("rb")
        for _ in lines:
            line = replies.readline()
            assert line[:1] in b"+:", line


def data():
    lines = [["SET", "site:title", "Shop"]]
    for i in range(10):
        lines.append(["ZADD", "items", i, i])
        values = [f"Item {i}", f"Author {i}", f"{i}.99", i * 7, i % 6, f"Text of item {i}. " + "Lorem ipsum & dolor. " * 10]
        lines.append(["HSET", f"item:{i}"] + [w for pair in zip(FIELDS, values) for w in pair])
    return lines


class Servers:
    def __init__(self, args):
        self.args = args
        self.dir = tempfile.mkdtemp(prefix="apus-web-")
        os.chmod(self.dir, 0o755)
        self.started = {}

    def __enter__(self):
        for path in ["templates", "public"]:
            os.mkdir(f"{self.dir}/{path}")
        with open(f"{self.dir}/routes", "w") as f:
            f.write("GET /page page.html\nGET /own page.html\n")
        with open(f"{self.dir}/templates/page.html", "w") as f:
            f.write(TEMPLATE)
        for name, size in [("small.txt", 4096), ("large.bin", 1 << 20)]:
            with open(f"{self.dir}/public/{name}", "wb") as f:
                f.write(bytes(32 + i * 7 % 90 for i in range(size)))
        self.start("apus", [self.args.apus, "serve", "--port", PORTS["resp"], "--threads", 1, "--save", "", "--maxclients", 20000,
                            "--web-port", PORTS["apus"], "--web-root", self.dir, "--dir", self.dir])
        self.start("plain", [self.args.apus, "serve", "--port", PORTS["plain"], "--threads", 1, "--save", "", "--dir", self.dir])
        wait(PORTS["resp"]), wait(PORTS["apus"]), wait(PORTS["plain"])
        # A lookup in an empty database would be cheaper.
        commands(PORTS["resp"], data()), commands(PORTS["plain"], data())
        page = urllib.request.urlopen(f"http://127.0.0.1:{PORTS['apus']}/page").read()
        # The route comes first, and nginx has the file.
        with open(f"{self.dir}/public/page", "wb") as f:
            f.write(page)
        if self.args.nginx:
            # What nginx takes for connections from the beginning shows in one that may have few.
            for name, http, connections in [("tuned", TUNED, 10_300), ("debian", DEBIAN, 10_300), ("small", TUNED, 300)]:
                http = http.replace("{dir}", self.dir)
                text = COMMON.format(dir=self.dir, name=name, http=http, connections=connections, port=PORTS[name], mime=self.args.mime)
                with open(f"{self.dir}/{name}.conf", "w") as f:
                    f.write(text)
                self.start(name, [self.args.nginx, "-c", f"{self.dir}/{name}.conf"])
                wait(PORTS[name])
                got = urllib.request.urlopen(f"http://127.0.0.1:{PORTS[name]}/page").read()
                assert got == page, "nginx serves other bytes"
        self.page = page
        return self

    def start(self, name, command):
        quiet = subprocess.DEVNULL
        self.started[name] = subprocess.Popen(pinned(0, command), stdout=quiet, stderr=quiet)

    def pid(self, name):
        """The process that answers."""
        pid = self.started[name].pid
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
        return int(children[0]) if children else pid

    def __exit__(self, *_):
        for name, p in self.started.items():
            if name in ("tuned", "debian", "small"):
                p.terminate()
            else:
                p.kill()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def bench(self, kind, targets, words, reps=None):
        """`apus bench KIND` from core 1: the results by target."""
        out = f"{self.dir}/bench.json"
        where = [w for name, port in targets.items() for w in ("--target", f"{name}=127.0.0.1:{port}")]
        if kind == "http":
            where += [w for name in targets for w in ("--server-pid", f"{name}={self.pid(self.owner(name))}")]
        command = [self.args.apus, "bench", kind, *where, "--threads", 1, "--duration", self.args.seconds,
                   "--reps", reps or self.args.reps, "--json", out, "-q", *words]
        done = subprocess.run(pinned(1, command), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(out) as f:
            found = json.load(f)
        return found

    def owner(self, name):
        return {"resp": "apus", "with": "apus", "without": "plain"}.get(name, name)


def wait(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


HTTP_ROWS = {
    # name: (what, path for each server, targets, pipeline, floors)
    "page": ("page unchanged, depth 1", "/page", ["apus", "tuned", "debian"], 1, {"tuned": 1.25, "debian": 2.2}),
    "page16": ("page unchanged, depth 16", "/page", ["apus", "tuned"], 16, {"tuned": 3}),
    "file": ("the same bytes as a file of 4 KiB, depth 1", "/small.txt", ["apus", "tuned"], 1, {"tuned": 1.2}),
    "large": ("file of 1 MiB, depth 1", "/large.bin", ["apus", "tuned"], 1, {"tuned": 1}),
}


def by_target(found):
    return {r["target"]: r for r in found["results"]}


def rate(result):
    return result["rps"]


def say(row, text, ratios):
    """ratios: name, value, floor, whether more is better."""
    parts = []
    for name, value, floor, more in ratios:
        ok = value >= floor if more else value <= floor
        parts.append(f"{value:.2f}x {name} (floor {floor}x{'' if ok else ': MISSED'})")
    print(f"{row:9} {text}: {'; '.join(parts)}", flush=True)


def http_row(servers, row):
    text, path, targets, depth, floors = HTTP_ROWS[row]
    got = by_target(servers.bench("http", {n: PORTS[n] for n in targets}, ["-P", depth, path]))
    for name in targets:
        print(f"{'':9} {name}: {rate(got[name]):,.0f}/s, {got[name]['server_cpu_ns']} ns of CPU a request, p99 {got[name]['latency_ns']['p99'] / 1e3:.0f} us")
    say(row, text, [(n, rate(got["apus"]) / rate(got[n]), floor, True) for n, floor in floors.items()])


def renderings():
    with socket.create_connection(("127.0.0.1", PORTS["resp"])) as c:
        c.sendall(b"INFO web\r\n")
        text = b""
        while b"web_compressed_bytes" not in text:
            text += c.recv(65536)
    field = lambda name: int(text.split(f"web_{name}:".encode())[1].split()[0])
    return field("requests"), field("renderings")


def changed_row(servers, row, depth, floor):
    """A key of the page changes before (nearly) every request: many addresses show the page, and a writer changes
    the key far more often than each of them is asked for. At depth 16 nothing can be written between two requests
    of a batch, so that it takes addresses. The writer's own cost is a part of the figure. The servers run in turn."""
    path = {"tuned": ["/page"], "apus": ["-r", 400 * depth, "/page?{rand}"]}
    found = {"tuned": [], "apus": []}
    requests = rendered = 0
    for turn in range(servers.args.reps):
        for name in sorted(found, reverse=turn % 2 == 1):
            with writing(servers) if name == "apus" else contextlib.nullcontext():
                before = renderings()
                got = servers.bench("http", {name: PORTS[name]}, ["-P", depth, *path[name]], 1)
                asked, made = (b - a for a, b in zip(before, renderings()))
            requests, rendered = requests + asked, rendered + made
            found[name].append(by_target(got)[name])
    rates = {name: statistics.median(map(rate, all)) for name, all in found.items()}
    costs = {name: statistics.median(one["server_cpu_ns"] for one in all) for name, all in found.items()}
    for name in found:
        print(f"{'':9} {name}: {rates[name]:,.0f}/s, {costs[name]:.0f} ns of CPU a request")
    say(row, f"{rendered / requests:.1%} of requests render, depth {depth}; by the server's CPU {costs['tuned'] / costs['apus']:.2f}x",
        [("tuned", rates["apus"] / rates["tuned"], floor, True)])


@contextlib.contextmanager
def writing(servers):
    """Changes a key of the page 5,000 times a second, from the load's core."""
    writer = subprocess.Popen(pinned(1, [servers.args.apus, "bench", "kv", "-p", PORTS["resp"], "--threads", 1, "-c", 1, "--rate", 5000, "-q",
                                         "--duration", servers.args.seconds + 30, "--command", "SET site:title {rand}"]),
                              stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    try:
        yield
    finally:
        writer.kill()
        writer.wait()


def memory(pid):
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return 1024 * next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def idle_row(servers):
    count, each = 10_000, {}
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1000, count + 1000))
    for name in ["apus", "tuned"]:
        pid = servers.pid(name)
        get = b"GET /small.txt HTTP/1.1\r\nHost: x\r\n\r\n"

        def more(n, held):
            for _ in range(n):
                s = socket.create_connection(("127.0.0.1", PORTS[name]))
                s.sendall(get)
                while len(s.recv(65536)) == 65536:
                    pass
                held.append(s)

        held = []
        before_in = "small" if name == "tuned" else name
        for i in range(100):
            s = socket.create_connection(("127.0.0.1", PORTS[before_in]))
            s.sendall(get)
            s.recv(65536)
            held.append(s)
        before = memory(servers.pid(before_in))
        more(count, held)
        time.sleep(1)
        each[name] = (memory(pid) - before) / count
        for s in held:
            s.close()
    print(f"{'':9} apus: {each['apus']:.0f} bytes, tuned: {each['tuned']:.0f} bytes")
    say("idle", f"{count} idle connections, memory of each", [("tuned", each["apus"] / each["tuned"], 1, False)])


def resp_row(servers):
    targets = {"with": PORTS["resp"], "without": PORTS["plain"]}
    got = by_target(servers.bench("kv", targets, ["-P", 16, "--command", "GET site:title"]))
    say("resp", "GET at depth 16 with the web port idle", [("without", rate(got["with"]) / rate(got["without"]), 0.98, True)])


def latency_row(servers):
    """p99.9 of GET, one at a time, alone and while pages are asked for at half of what the server can."""
    most = rate(by_target(servers.bench("http", {"apus": PORTS["apus"]}, ["/page"], 3))["apus"])
    kv = ["-P", 1, "--command", "GET k", "-c", 10, "--rate", 2000]
    alone = by_target(servers.bench("kv", {"resp": PORTS["resp"]}, kv))["resp"]
    # Both loads share a core: the pages' gives way, so that the server's delays are measured and not the load's.
    load = subprocess.Popen(["chrt", "-i", "0", *pinned(1, [
        servers.args.apus, "bench", "http", "-p", PORTS["apus"], "--threads", 1, "--rate", int(most / 2), "--duration",
        servers.args.seconds * servers.args.reps + 3, "-q", "/page"])], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    loaded = by_target(servers.bench("kv", {"resp": PORTS["resp"]}, kv))["resp"]
    load.kill()
    load.wait()
    alone, loaded = alone["latency_ns"]["p99.9"], loaded["latency_ns"]["p99.9"]
    print(f"{'':9} {alone / 1e3:.0f} us alone, {loaded / 1e3:.0f} us with {most / 2:,.0f} pages/s")
    say("latency", "p99.9 of GET while pages are served at half load", [("alone", loaded / alone, 2, False)])


ROWS = {
    **{row: lambda servers, row=row: http_row(servers, row) for row in HTTP_ROWS},
    "changed": lambda servers: changed_row(servers, "changed", 1, 0.95),
    "changed16": lambda servers: changed_row(servers, "changed16", 16, 1.2),
    "idle": idle_row,
    "resp": resp_row,
    "latency": latency_row,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--nginx", default=shutil.which("nginx"), required=not shutil.which("nginx"))
    parser.add_argument("--mime", default="/etc/nginx/mime.types")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--reps", type=int, default=7)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    args = parser.parse_args()
    unknown = [row for row in args.rows if row not in ROWS]
    if unknown:
        parser.error(f"rows are: {' '.join(ROWS)}")
    with Servers(args) as servers:
        print(f"page of {len(servers.page)} bytes")
        for row in args.rows or ROWS:
            ROWS[row](servers)


if __name__ == "__main__":
    main()
