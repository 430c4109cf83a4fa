#!/usr/bin/env python3
"""The cost of a second copy, Apus against redis-server.

usage: replication.py [--apus PATH] [--keys N] [--reps N] [PART…]

Parts (default: all):
  primary   CPU of a primary per SET, with a replica attached and without, at pipeline 1 and 16
  replica   CPU of a replica per SET that it applies, Redis and Apus behind the same primary
  full      a full copy of N keys under write load: its time, the primary's memory, p99.9 of the writes
  acks      SET at pipeline 1 with min-replicas-ack 1 against none
  failover  kill -9 of the primary to the first SET that another server acknowledges, by three Sentinels

The primary has core 0, replicas and the client core 1, one worker thread each. In `full` the replica and the client
share their core as equals; with --gives-way the replica has what the client leaves (SCHED_IDLE), so that the latencies
show the primary alone. CPU is read from the kernel's accounts of each thread; medians of runs in turn. In `failover` the
primary is killed at moments that are spread over the period of the Sentinels' PINGs, the same ones for both servers.
"""

import argparse
import json
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from servers import encode, pinned

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
PRIMARY, REPLICA, CLIENT = 0, 1, 1


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, name, apus, core, *options, sentinel=False, gives_way=False):
        self.name, self.port, self.apus = name, free_port(), apus
        self.where = tempfile.TemporaryDirectory()
        if sentinel:
            path = Path(self.where.name, "sentinel.conf")
            path.write_text(f"port {self.port}\n")
            command = ["redis-server", str(path), "--sentinel"]
        else:
            path = Path(self.where.name, "server.conf")
            path.write_text("")
            start = ["redis-server", str(path)] if name == "redis" else [apus, "serve", str(path), "--threads", "1"]
            command = [*start, "--port", str(self.port), "--save", "", "--dir", self.where.name,
                       "--repl-diskless-sync-delay", "0", *map(str, options)]
        if gives_way:
            command = ["chrt", "--idle", "0", *command]
        self.process = subprocess.Popen(pinned(core, command), **QUIET)
        while self.ask("PING") != "PONG":
            time.sleep(0.02)

    def ask(self, *words):
        """The first line of a reply; an empty text when there is none."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as s:
                s.sendall(encode(words))
                return s.recv(65536).decode(errors="replace").split("\r\n")[0].lstrip("+:")
        except OSError:
            return ""

    def info(self, field):
        with socket.create_connection(("127.0.0.1", self.port), 5) as s:
            s.sendall(encode(["INFO", "everything"]))
            text = b""
            while f"\r\n{field}:".encode() not in text or not text.endswith(b"\r\n"):
                more = s.recv(65536)
                if not more:
                    break
                text += more
        return text.decode(errors="replace").split(f"\r\n{field}:")[1].split("\r\n")[0]

    def cpu_ns(self):
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((t / "schedstat").read_text().split()[0]) for t in tasks)

    def memory_kb(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(field + ":")[1].split()[0])

    def drive(self, *options):
        """Sets keys; (requests, requests per second, milliseconds by percentile)."""
        out = tempfile.NamedTemporaryFile(suffix=".json")
        command = [self.apus, "bench", "kv", "-p", str(self.port), "-c", "50", "-t", "set", "-d", "32",
                   "--threads", "1", "--json", out.name, *map(str, options)]
        run = subprocess.Popen(pinned(CLIENT, command), **QUIET)
        return figures(run, out)

    def follow(self, primary):
        self.ask("REPLICAOF", "127.0.0.1", primary.port)
        while self.info("role") != "slave" or self.info("master_link_status") != "up":
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.where.cleanup()


def figures(run, out):
    run.wait()
    found = json.load(open(out.name))["results"][0]
    return found["requests"], found["rps"], {k: v / 1e6 for k, v in found["latency_ns"].items()}


def show(part, text):
    print(f"{part:10}{text}", flush=True)


def median(values):
    return statistics.median(values)


def per_set(server, *options):
    """Nanoseconds of the server's CPU per SET."""
    before = server.cpu_ns()
    requests, _, _ = server.drive("-r", 100_000, *options)
    return (server.cpu_ns() - before) / requests


def primary(args):
    for depth in (1, 16):
        found = {}
        for _ in range(args.reps):
            for name in ("redis", "apus"):
                for attached in (False, True):
                    with ExitStack() as stack:
                        server = stack.enter_context(Server(name, args.apus, PRIMARY))
                        server.drive("-r", 100_000, "-P", 100, "-n", 200_000)
                        if attached:
                            replica = stack.enter_context(Server(name, args.apus, REPLICA))
                            replica.follow(server)
                        cost = per_set(server, "-P", depth, "--duration", args.seconds)
                    found.setdefault((name, attached), []).append(cost)
        for name in ("redis", "apus"):
            alone, both = median(found[name, False]), median(found[name, True])
            show("primary", f"{name:6} pipeline {depth:3}: {alone:,.0f} ns alone, {both:,.0f} with a replica, {both / alone:.2f}x")


def replica(args):
    found = {}
    for _ in range(args.reps):
        for name in ("redis", "apus"):
            with Server("apus", args.apus, PRIMARY) as server, Server(name, args.apus, REPLICA) as behind:
                behind.follow(server)
                before = behind.cpu_ns()
                requests, _, _ = server.drive("-r", 100_000, "-P", 16, "-n", 3_000_000)
                while behind.info("master_repl_offset") != server.info("master_repl_offset"):
                    time.sleep(0.05)
                found.setdefault(name, []).append((behind.cpu_ns() - before) / requests)
    redis, apus = median(found["redis"]), median(found["apus"])
    show("replica", f"a SET applied costs redis {redis:,.0f} ns, apus {apus:,.0f}, {apus / redis:.2f}x")


def until_up(replica, ended):
    """Notes when the link is up. While the replica loads the copy it may not answer."""
    while True:
        try:
            if replica.info("master_link_status") == "up":
                return ended.append(time.monotonic())
        except (OSError, IndexError):
            pass
        time.sleep(0.02)


def full(args):
    found = {}
    for _ in range(max(1, args.reps // 2)):
        for name in ("redis", "apus"):
            limit = ("--client-output-buffer-limit", "replica 0 0 0")
            replica = Server(name, args.apus, REPLICA, gives_way=args.gives_way)
            with Server(name, args.apus, PRIMARY, *limit) as server, replica as behind:
                server.drive("-P", 200, "-r", args.keys, "-n", 1000, "--fill")
                load = ("-P", 1, "-r", args.keys, "--rate", 20_000, "--duration")
                _, _, quiet = server.drive(*load, 5)
                resident = server.memory_kb("VmRSS")
                Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
                began = time.monotonic()
                behind.ask("REPLICAOF", "127.0.0.1", server.port)
                tails, ended = [], []
                look = threading.Thread(target=until_up, args=(behind, ended))
                look.start()
                while not ended:
                    tails.append(server.drive(*load, 2)[2]["p99.9"])
                look.join()
                took = ended[0] - began
                grown = (server.memory_kb("VmHWM") - resident) * 100 / resident
                busy = median(tails)
                found.setdefault(name, []).append((took, grown, quiet["p99.9"], busy))
    for name in ("redis", "apus"):
        took, grown, quiet, busy = (median(c) for c in zip(*found[name]))
        show("full", f"{name:6} {args.keys:,} keys: {took:.1f} s, memory +{grown:.1f}%, p99.9 {quiet:.2f} -> {busy:.2f} ms")
    show("full", f"time {median([f[0] for f in found['apus']]) / median([f[0] for f in found['redis']]):.2f}x")


def acks(args):
    found = {0: [], 1: []}
    for _ in range(args.reps):
        for n in (0, 1):
            with Server("apus", args.apus, PRIMARY, "--min-replicas-ack", n) as server:
                with Server("apus", args.apus, REPLICA) as behind:
                    behind.follow(server)
                    found[n].append(server.drive("-r", 100_000, "-P", 1, "--duration", args.seconds)[1])
    none, one = median(found[0]), median(found[1])
    show("acks", f"none {none:,.0f}/s, one {one:,.0f}/s, {one / none:.2f}x")


def failover(args):
    found = {}
    for rep in range(args.reps):
        for name in ("redis", "apus"):
            with ExitStack() as stack:
                a, b, c = (stack.enter_context(Server(name, args.apus, i % 2)) for i in range(3))
                for r in (b, c):
                    r.follow(a)
                sentinels = [stack.enter_context(Server("sentinel", args.apus, 1, sentinel=True)) for _ in range(3)]
                for s in sentinels:
                    s.ask("SENTINEL", "MONITOR", "m", "127.0.0.1", a.port, 2)
                    s.ask("SENTINEL", "SET", "m", "down-after-milliseconds", 1000)
                    s.ask("SENTINEL", "SET", "m", "failover-timeout", 10000)
                # Sentinels look for each other, and for replicas, every ten seconds, and send PING every second.
                time.sleep(12 + rep / args.reps)
                a.process.kill()
                began = time.monotonic()
                while not any(r.ask("SET", "k", "v") == "OK" for r in (b, c)):
                    time.sleep(0.005)
                found.setdefault(name, []).append(time.monotonic() - began)
    redis, apus = median(found["redis"]), median(found["apus"])
    means = {name: statistics.mean(found[name]) for name in found}
    show("failover", f"redis {redis:.2f} s, apus {apus:.2f} s, {apus / redis:.2f}x; "
         f"means {means['redis']:.2f} {means['apus']:.2f}; "
         f"{[round(x, 2) for x in found['redis']]} {[round(x, 2) for x in found['apus']]}")


PARTS = {"primary": primary, "replica": replica, "full": full, "acks": acks, "failover": failover}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--gives-way", action="store_true")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    args = parser.parse_args()
    for part in args.parts or PARTS:
        PARTS[part](args)


if __name__ == "__main__":
    main()
