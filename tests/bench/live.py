#!/usr/bin/env python3
"""Live channels against a node built on centrifuge with its memory engine: the rows of the table in docs/live.md.

usage: live.py [--apus PATH] [--node PATH] [--floor] [--seconds S] [--reps N] [ROW…]   (all rows without one)

Rows: fanout latency history channels api connect memory many storm resp

Servers run on core 0, each with one thread (GOMAXPROCS=1), the load on core 1. The servers of a row are driven one after
another in short runs that alternate, and medians are reported. The node is tests/clients/go/centrifuge/node; without
--node it is built, which needs Go. With --floor the rows latency, history, channels, connect and storm drive a third server, too, which
makes the system calls of such a server and does nothing else (live_floor.c, which needs a C compiler): what is possible.
"""

import argparse
import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(HERE, "..", "clients", "go")
KEY = "key"
EVERYBODY = {
    "allow_subscribe_for_client": True, "allow_subscribe_for_anonymous": True,
    "allow_publish_for_client": True, "allow_publish_for_anonymous": True,
}
CONFIG = {
    "client": {"allow_anonymous_connect_without_token": True, "allowed_origins": ["*"]},
    "channel": {"namespaces": [
        {"name": "plain", **EVERYBODY},
        {"name": "hist", **EVERYBODY, "history_size": 1000, "history_ttl": "300s", "force_recovery": True},
    ]},
    "http_api": {"key": KEY},
}
PORTS = {"node": 18961, "apus": 18962, "resp": 18963, "plain": 18964}
FLOOR_PORT = 18965


def pinned(core, command):
    return ["taskset", "-c", str(core), *map(str, command)]


def wait(port):
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on {port}")


class Servers:
    def __init__(self, args):
        self.args, self.started = args, {}
        self.dir = tempfile.mkdtemp(prefix="apus-live-")

    def prepare(self):
        """Writes the configuration, and builds the node unless it is there. Returns the path of the configuration."""
        config = f"{self.dir}/live.json"
        with open(config, "w") as f:
            json.dump(CONFIG, f)
        if not self.args.node:
            self.args.node = f"{self.dir}/node"
            subprocess.run(["go", "build", "-o", self.args.node, "./centrifuge/node"], cwd=NODE, check=True)
        return config

    def __enter__(self):
        config = self.prepare()
        common = [self.args.apus, "serve", "--threads", 1, "--save", "", "--maxclients", 100_000, "--dir", self.dir]
        self.start("node", [self.args.node, f"127.0.0.1:{PORTS['node']}", KEY])
        self.start("apus", [*common, "--port", PORTS["resp"], "--web-port", PORTS["apus"], "--live-config", config])
        self.start("plain", [*common, "--port", PORTS["plain"]])
        for port in PORTS.values():
            wait(port)
        if self.args.floor:
            self.start_floor()
        return self

    def start_floor(self):
        program = f"{self.dir}/floor"
        subprocess.run(["cc", "-O2", "-o", program, os.path.join(HERE, "live_floor.c")], check=True)
        self.start("floor", [program, FLOOR_PORT])
        wait(FLOOR_PORT)

    def start(self, name, command):
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "GOMAXPROCS": "1"}
        self.started[name] = subprocess.Popen(pinned(0, command), stdout=quiet, stderr=quiet, env=environment)

    def again(self, name):
        """The server anew, with the memory that it has at its start."""
        command = self.started[name].args[3:]
        self.started[name].kill()
        self.started[name].wait()
        self.start(name, command)
        wait(PORTS[name])

    def __exit__(self, *_):
        for p in self.started.values():
            p.kill()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def report(self, command, names):
        out = f"{self.dir}/bench.json"
        done = subprocess.run(pinned(1, [*command, "--json", out]), capture_output=True, text=True)
        print(done.stdout, flush=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(out) as f:
            return {r["target"]: r for r in json.load(f)["results"] if r["target"] in names}

    def live(self, *words, names=("node", "apus"), reps=None, seconds=None):
        """`apus bench live` from core 1: the results by target."""
        ports = {**PORTS, "floor": FLOOR_PORT}
        where = [w for n in names for w in ("--target", f"{n}=ws://127.0.0.1:{ports[n]}", "--server-pid", f"{n}={self.started[n].pid}")]
        return self.report([self.args.apus, "bench", "live", *where, "--api-key", KEY, "--reps", reps or self.args.reps,
                            "--duration", seconds or self.args.seconds, *words], names)

    def publish(self, channel, connections, names=("node", "apus")):
        """`apus bench http` from core 1, which publishes through the API: the results by target."""
        body = json.dumps({"channel": channel, "data": {"text": "x" * 80}})
        where = [w for n in names for w in ("--target", f"{n}=127.0.0.1:{PORTS[n]}", "--server-pid", f"{n}={self.started[n].pid}")]
        return self.report([self.args.apus, "bench", "http", *where, "-c", connections, "--threads", 1, "-P", 1, "--reps",
                            self.args.reps, "--duration", self.args.seconds, "-H", f"X-API-Key: {KEY}", "--request",
                            "POST /api/publish", "--body", body], names)


def all_of(s):
    """The servers of rows that have a floor."""
    return ("node", "apus", "floor") if s.args.floor else ("node", "apus")


def say(row, what, value, floor, more=False):
    met = value >= floor if more else value <= floor
    print(f"{row}: {what} {value:.2f}x (floor {floor}x{'' if met else ': MISSED'})", flush=True)


def ratio(got, figure):
    return got["apus"][figure] / got["node"][figure]


def fanout(s):
    got = s.live("--subscribers", 1000, "--in-flight", 256)
    say("fanout", "deliveries/s", ratio(got, "deliveries_per_second"), 2.5, more=True)


def latency(s):
    got = s.live("--subscribers", 1000, "--rate", 300, names=all_of(s))
    say("latency", "p99 at 300,000 deliveries/s", ratio(got, "p99_ms"), 0.35)


def history(s):
    got = s.live("--subscribers", 1000, "--rate", 200, "--channel", "hist:a", names=all_of(s))
    say("history", "p99 at 200,000 deliveries/s with history and recovery", ratio(got, "p99_ms"), 0.4)


def channels(s):
    got = s.live("--subscribers", 1000, "--channels", 1000, "--rate", 20_000, names=all_of(s))
    say("channels", "server CPU of a message", ratio(got, "message_cpu_us"), 0.45)


def api(s):
    say("api", "requests/s", ratio(s.publish("plain:api", 16), "rps"), 2, more=True)


def connect(s):
    got = s.live("--subscribers", 2000, "--publish", "none", names=all_of(s), seconds=0.1)
    say("connect", "server CPU of a connection", ratio(got, "connect_cpu_us"), 0.25)


def memory(s):
    """Each server is new: what connections before them left is not counted."""
    s.again("node"), s.again("apus")
    got = s.live("--subscribers", 10_000, "--publish", "none", reps=1, seconds=1)
    for name in got:
        print(f"{name}: {got[name]['connection_bytes'] / 1024:.1f} KiB a connection")
    say("memory", "KiB of a connection", got["apus"]["connection_bytes"] / 1024, 6)


def many(s):
    """50,000, or as many as the system lets one process have files."""
    s.again("apus")
    count = min(50_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500)
    got = s.live("--subscribers", count, "--rate", 2, names=("apus",), reps=1, seconds=10)["apus"]
    print(f"many: {count} connections, {got['connection_bytes'] / 1024:.1f} KiB each, {got['lost']} lost, {got['ended']} ended")


def storm(s):
    got = s.live("--subscribers", 1000, "--channel", "hist:s", "--rate", 20, "--storm", 50, names=all_of(s), seconds=1)
    say("storm", "p99 of a recovery", ratio(got, "recovery_p99_ms"), 0.4)


def resp(s):
    def rate():
        where = [w for n, port in (("with", PORTS["resp"]), ("without", PORTS["plain"])) for w in ("--target", f"{n}=127.0.0.1:{port}")]
        got = s.report([s.args.apus, "bench", "kv", *where, "--threads", 1, "-P", 16, "--command", "GET k", "--duration", 1, "--reps", 9,
                        "-q"], ("with", "without"))
        return got["with"]["rps"] / got["without"]["rps"]

    alone = rate()
    idle = subprocess.Popen(pinned(1, [s.args.apus, "bench", "live", "--url", f"ws://127.0.0.1:{PORTS['apus']}", "--subscribers", 10_000,
                                       "--publish", "none", "--duration", 600]), stdout=subprocess.DEVNULL)
    try:
        while "live_subscriptions:10000" not in text(PORTS["resp"]):
            assert idle.poll() is None, "the idle connections are not there"
            time.sleep(0.2)
        loaded = rate()
    finally:
        idle.kill()
        idle.wait()
    print(f"resp: with/without the web port, no connections: {alone:.3f}x")
    say("resp", "GET at depth 16 with 10,000 idle WebSockets", loaded, 0.97, more=True)


def text(port):
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.sendall(b"INFO live\r\n")
        return c.recv(65536).decode()


ROWS = {f.__name__: f for f in [fanout, latency, history, channels, api, connect, memory, many, storm, resp]}


def options(doc, seconds, reps):
    """The command line of a program that measures rows, with these defaults."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--node")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--reps", type=int, default=reps)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    return parser


def measure(parser, rows, kind):
    """Measures the rows that the command line names, or all, with servers of this kind."""
    args = parser.parse_args()
    unknown = [row for row in args.rows if row not in rows]
    if unknown:
        parser.error(f"rows are: {' '.join(rows)}")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with kind(args) as servers:
        for row in args.rows or rows:
            print(f"== {row}", flush=True)
            rows[row](servers)


if __name__ == "__main__":
    measure(options(__doc__, seconds=3.0, reps=5), ROWS, Servers)
