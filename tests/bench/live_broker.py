#!/usr/bin/env python3
"""Live channels that live in another server: Apus with `live-broker` against a node built on centrifuge with its Redis
engine, on the same broker.

usage: live_broker.py [--apus PATH] [--broker redis-server|PATH] [--node PATH] [--seconds S] [--reps N] [ROW…]

Rows: fanout latency history publish (all without one)

Both servers run on core 0, each with one thread (GOMAXPROCS=1), the load and the broker on core 1: what a publication
costs the broker is in the load of both. The servers of a row are driven one after another in short runs that alternate,
and medians are reported. The node is tests/clients/go/centrifuge/node; without --node it is built, which needs Go.
"""

import argparse
import json
import os
import resource
import subprocess

import live

BROKER = 18965


class Servers(live.Servers):
    def __enter__(self):
        args, config = self.args, f"{self.dir}/live.json"
        with open(config, "w") as f:
            json.dump(live.CONFIG, f)
        if not args.node:
            args.node = f"{self.dir}/node"
            subprocess.run(["go", "build", "-o", args.node, "./centrifuge/node"], cwd=live.NODE, check=True)
        words = [] if "redis" in os.path.basename(args.broker) else ["serve", "--threads", 1]
        broker = [args.broker, *words, "--port", BROKER, "--save", "", "--dir", self.dir]
        self.broker = subprocess.Popen(live.pinned(1, broker), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        live.wait(BROKER)
        ports = live.PORTS
        self.start("node", [args.node, f"127.0.0.1:{ports['node']}", live.KEY, f"127.0.0.1:{BROKER}"])
        self.start("apus", [args.apus, "serve", "--threads", 1, "--save", "", "--dir", self.dir, "--port", ports["resp"],
                            "--web-port", ports["apus"], "--live-config", config,
                            "--live-broker", f"redis://127.0.0.1:{BROKER}"])
        for name in ["node", "apus", "resp"]:
            live.wait(ports[name])
        return self

    def __exit__(self, *_):
        self.broker.kill()
        self.broker.wait()
        super().__exit__()


def fanout(s):
    got = s.live("--subscribers", 1000, "--in-flight", 256)
    print(f"fanout: deliveries/s {live.ratio(got, 'deliveries_per_second'):.2f}x", flush=True)


def latency(s):
    got = s.live("--subscribers", 1000, "--rate", 100)
    print(f"latency: p99 at 100,000 deliveries/s {live.ratio(got, 'p99_ms'):.2f}x", flush=True)


def history(s):
    got = s.live("--subscribers", 1000, "--rate", 100, "--channel", "hist:a")
    print(f"history: p99 at 100,000 deliveries/s with history and recovery {live.ratio(got, 'p99_ms'):.2f}x", flush=True)


def publish(s):
    for channel in ["plain:api", "hist:api"]:
        body = json.dumps({"channel": channel, "data": {"text": "x" * 80}})
        where = [w for n in ("node", "apus") for w in ("--target", f"{n}=127.0.0.1:{live.PORTS[n]}", "--server-pid",
                                                       f"{n}={s.started[n].pid}")]
        got = s.report([s.args.apus, "bench", "http", *where, "-c", 64, "--threads", 1, "-P", 1, "--reps", s.args.reps,
                        "--duration", s.args.seconds, "-H", f"X-API-Key: {live.KEY}", "--request", "POST /api/publish",
                        "--body", body], ("node", "apus"))
        print(f"publish: requests/s to {channel} {live.ratio(got, 'rps'):.2f}x", flush=True)


ROWS = {f.__name__: f for f in [fanout, latency, history, publish]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--broker", default="redis-server")
    parser.add_argument("--node")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    args = parser.parse_args()
    unknown = [row for row in args.rows if row not in ROWS]
    if unknown:
        parser.error(f"rows are: {' '.join(ROWS)}")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Servers(args) as servers:
        for row in args.rows or ROWS:
            print(f"== {row}", flush=True)
            ROWS[row](servers)


if __name__ == "__main__":
    main()
