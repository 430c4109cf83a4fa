#!/usr/bin/env python3
"""The table of docs/performance.md: the time of Apus per request, its parts, and the distance to the limits.

usage: performance.py [--apus PATH] [--limit PATH] [--seconds S] [--results FILE] [PART…]
       performance.py --render [--results FILE] > tables.md

Parts: short (3-byte values, 100 thousand keys), shares (the same, profiled), long (1 KiB values), many
(5 million keys), large (5 million keys with 1 KiB values: 6 GB). Without any, all of them. `--only
PATTERN` takes the workloads whose names contain it. Figures are added to FILE, and those in it are not
measured again, so that the whole can be done in pieces.

The server is pinned to core 0, the client (`apus bench kv`, one thread, 50 connections) to core 1.
`--limit` is the example crates/server/examples/limit.rs, built for release:

    cargo build --release -p apus --bin apus --example limit
"""

import argparse
import collections
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

import profile_shares
from servers import encode, pinned

PIPELINES = (1, 16, 100, 1000)
CONNECTIONS = 50
PORT = 18950
# One pipeline of all connections takes so many bytes at most.
PIPELINE_BYTES = 16 << 20

THOUSAND, MILLION = 1000, 1_000_000
MSET = "MSET " + " ".join(["k{key} {value}"] * 10)

# name, command, what fills the data (once per key), whether values matter, whether the number of keys
# does, whether the value grows without end.
WORK = [
    ("GET", "GET key:{key}", "SET key:{key} {value}", True, True, False),
    ("SET", "SET key:{key} {value}", "SET key:{key} {value}", True, True, False),
    ("INCR", "INCR counter:{key}", "INCR counter:{key}", False, True, False),
    ("MSET of 10", MSET, "SET k{key} {value}", True, True, False),
    ("LPUSH", "LPUSH list {value}", None, True, False, True),
    ("SADD", "SADD set m{key}", "SADD set m{key}", False, True, False),
    ("HSET", "HSET hash f{key} {value}", "HSET hash f{key} {value}", True, True, False),
    ("ZADD", "ZADD z {rand} m{key}", "ZADD z {rand} m{key}", False, True, False),
    ("XADD", "XADD x * f {value}", None, True, False, True),
    ("LRANGE of 100", "LRANGE hundred 0 99", None, True, False, False),
]

# part: bytes of values, keys, whether values or keys must matter, whether the limits are measured, too
PARTS = {
    "short": (3, 100 * THOUSAND, None, True),
    "shares": (3, 100 * THOUSAND, None, False),
    "long": (1024, 100 * THOUSAND, "values", True),
    "many": (3, 5 * MILLION, "keys", False),
    "large": (1024, 5 * MILLION, "large", False),
}


def wants(part, work):
    name, _, _, values, keys, _ = work
    need = PARTS[part][2]
    return {None: True, "values": values, "keys": keys, "large": name in ("GET", "SET")}[need]


def filled_in(command, size):
    """The command's words as the client sends them, all numbers 0."""
    zeros = "0" * 12
    return [w.replace("{key}", zeros).replace("{rand}", zeros).replace("{value}", "x" * size)
            for w in command.split(" ")]


class Server:
    """A server on core 0; `words` is its command line."""

    def __init__(self, words, port):
        quiet = subprocess.DEVNULL
        self.port = port
        self.process = subprocess.Popen(pinned(0, words), stdout=quiet, stderr=quiet)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{words[0]} does not listen on port {port}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, words, size_max=1 << 20):
        """One request and the bytes of its reply."""
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(encode(words))
            reply = s.recv(size_max)
            s.settimeout(0.2)
            try:
                while more := s.recv(size_max):
                    reply += more
            except TimeoutError:
                pass
        return reply


class Run:
    def __init__(self, args):
        self.args = args

    def bench(self, port, command, depth, size, keys, extra=()):
        words = [self.args.apus, "bench", "kv", "-p", str(port), "-c", str(CONNECTIONS), "--threads", "1",
                 "-P", str(depth), "-r", str(keys), "-d", str(size), "--command", command, *extra]
        return pinned(1, words)

    def measure(self, server, command, depth, size, keys):
        """Server nanoseconds per request, requests per second, and the client's bottleneck."""
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            extra = ["--duration", str(self.args.seconds), "--reps", "2", "--json", out.name,
                     "--server-pid", str(server.process.pid)]
            words = self.bench(server.port, command, depth, size, keys, extra)
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(done.stderr + done.stdout[-2000:])
            r = json.load(open(out.name))["results"][0]
        return {"ns": round(r["server_cpu_ns"], 1), "rps": round(r["rps"])}

    def profile(self, server, command, depth, size, keys):
        """Parts of the server's time, in percent."""
        extra = ["--duration", "1.6"]
        words = self.bench(server.port, command, depth, size, keys, extra)
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as client:
            time.sleep(0.2)
            url = f"http://127.0.0.1:{server.port + 1}/debug/profile?seconds=1"
            with urllib.request.urlopen(url) as answer:
                shares = profile_shares.shares(answer.read())
            client.wait()
        return shares

    def fill(self, server, work, size, keys):
        name, _, fill, *_ = work
        if name == "LRANGE of 100":
            server.ask(["RPUSH", "hundred", *["x" * size] * 100])
        elif fill:
            extra = ["-n", str(keys), "--dist", "seq"]
            quiet = subprocess.DEVNULL
            subprocess.run(self.bench(server.port, fill, 100, size, keys, extra), stdout=quiet,
                           stderr=quiet, check=True)

    def part(self, part, results):
        size, keys, _, with_limits = PARTS[part]
        for work in WORK:
            name, command, _, _, _, grows = work
            if name in results.get(part, {}) or not wants(part, work) or not re.search(self.args.only, name):
                continue
            apus = [self.args.apus, "serve", "--port", str(PORT), "--threads", "1", "--save", "",
                    "--admin-port", str(PORT + 1)]
            with Server(apus, PORT) as server, tempfile.NamedTemporaryFile() as file:
                self.fill(server, work, size, keys)
                words = filled_in(command, size)
                sent, reply = len(encode(words)), server.ask(words)
                file.write(reply)
                file.flush()
                cells = {}
                for depth in PIPELINES:
                    if depth * max(sent, len(reply)) > PIPELINE_BYTES:
                        continue
                    if grows:
                        server.ask(["FLUSHALL", "SYNC"])
                    look = self.profile if part == "shares" else self.measure
                    cells[depth] = {"apus": look(server, command, depth, size, keys)}
                if with_limits:
                    self.limits(command, size, keys, sent, file.name, cells)
            results.setdefault(part, {})[name] = cells
            for depth, cell in cells.items():
                print(part, name, depth, cell, file=sys.stderr, flush=True)
            json.dump(results, open(self.args.results, "w"), indent=1)

    def limits(self, command, size, keys, sent, reply, cells):
        for kind, more in (("parse", []), ("echo", [str(sent)])):
            words = [self.args.limit, str(PORT + 2), reply, kind, *more]
            with Server(words, PORT + 2) as server:
                for depth, cell in cells.items():
                    cell[kind] = self.measure(server, command, depth, size, keys)


def ns(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.0f}"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(str(cell) for cell in row) + " |"
    yield ""


def cost_rows(part):
    for name, cells in part.items():
        for depth, cell in cells.items():
            apus = cell["apus"]["ns"]
            row = [name, depth, ns(apus)]
            if "echo" in cell:
                echo, parse = cell["echo"]["ns"], cell["parse"]["ns"]
                row += [ns(parse), ns(echo), f"{apus / parse:.2f}x", f"{apus / echo:.2f}x"]
            yield row


def render(results):
    limited = ["", "pipeline", "Apus", "parses and answers", "echoes", "to parse", "to echo"]
    titles = {
        "short": "Values of 3 bytes, 100 thousand keys",
        "long": "Values of 1 KiB, 100 thousand keys",
        "many": "Values of 3 bytes, 5 million keys",
        "large": "Values of 1 KiB, 5 million keys",
    }
    for part, title in titles.items():
        if part not in results:
            continue
        yield f"### {title}\n"
        rows = list(cost_rows(results[part]))
        if PARTS[part][3]:
            yield from table(limited, rows)
        else:
            # A row per workload, a column per depth.
            by_name = collections.OrderedDict()
            for name, depth, value, *_ in rows:
                by_name.setdefault(name, {})[str(depth)] = value
            depths = [str(d) for d in PIPELINES]
            yield from table(["", *depths],
                             [[n, *[c.get(d, "") for d in depths]] for n, c in by_name.items()])
    if "shares" in results:
        yield "### Where it goes: values of 3 bytes, 100 thousand keys, percent of the server's time\n"
        rows = []
        for name, cells in results["shares"].items():
            for depth, cell in cells.items():
                parts = cell["apus"]
                rows.append([name, depth, *[parts.get(k, 0) or "" for k in profile_shares.KINDS]])
        yield from table(["", "pipeline", *profile_shares.KINDS], rows)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--apus", default="target/release/apus")
    p.add_argument("--limit", default="target/release/examples/limit")
    p.add_argument("--seconds", type=float, default=0.4)
    p.add_argument("--results", default="target/performance.json")
    p.add_argument("--only", default="")
    p.add_argument("--render", action="store_true")
    p.add_argument("parts", nargs="*")
    args = p.parse_args()
    results = json.load(open(args.results)) if os.path.exists(args.results) else {}
    if args.render:
        print("\n".join(render(results)))
        return
    run = Run(args)
    for part in args.parts or PARTS:
        run.part(part, results)


if __name__ == "__main__":
    main()
