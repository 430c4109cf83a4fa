#!/usr/bin/env python3
"""Live channels that live in another server: Apus with `live-broker` against a node built on centrifuge with its Redis
engine, on the same broker.

usage: live_broker.py [--apus PATH] [--broker redis-server|PATH] [--node PATH] [--seconds S] [--reps N] [ROW…]

Rows: fanout latency history publish (all without one)

Both servers run on core 0, each with one thread (GOMAXPROCS=1), the load and the broker on core 1: what a publication
costs the broker is in the load of both. The servers of a row are driven one after another in short runs that alternate,
and medians are reported. The node is tests/clients/go/centrifuge/node; without --node it is built, which needs Go.
"""

import os
import subprocess

import live

BROKER = 18965


class Servers(live.Servers):
    def __enter__(self):
        args, config = self.args, self.prepare()
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
        got = s.publish(channel, 64)
        print(f"publish: requests/s to {channel} {live.ratio(got, 'rps'):.2f}x", flush=True)


ROWS = {f.__name__: f for f in [fanout, latency, history, publish]}


if __name__ == "__main__":
    parser = live.options(__doc__, seconds=2.0, reps=3)
    parser.add_argument("--broker", default="redis-server")
    live.measure(parser, ROWS, Servers)
