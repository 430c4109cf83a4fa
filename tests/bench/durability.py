#!/usr/bin/env python3
"""The cost of durability, Apus against redis-server: snapshots under load, syncs, loading.

usage: durability.py [--apus PATH] [--keys N] [--sync-delay US] [PART…]

Parts: bgsave, always, everysec, replay, load (default: all). Servers run on core 0 with one worker
thread, the client on core 1. `--sync-delay` makes every sync take so much longer, for both servers,
by a library that is compiled for it and preloaded (needs cc).
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from servers import pinned

PORT = 18950
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static int slow(const char *name, int fd) {
    int (*f)(int) = dlsym(RTLD_NEXT, name);
    int r = f(fd);
    struct timespec t = {DELAY / 1000000, DELAY % 1000000 * 1000};
    nanosleep(&t, 0);
    return r;
}
int fsync(int fd) { return slow("fsync", fd); }
int fdatasync(int fd) { return slow("fdatasync", fd); }
"""


class Server:
    def __init__(self, name, apus, where, *options, preload=None):
        self.name, self.apus = name, apus
        self.out = tempfile.NamedTemporaryFile(suffix=".json")
        ours = [apus, "serve", "--threads", "1"]
        start = ["redis-server"] if name == "redis" else ours
        command = [*start, "--port", str(PORT), "--save", "", "--dir", where, *options]
        env = dict(os.environ, **({"LD_PRELOAD": preload} if preload else {}))
        self.began = time.monotonic()
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(pinned(0, command), stdout=quiet, stderr=quiet, env=env)
        while "PONG" not in self.ask("PING"):
            time.sleep(0.02)
        self.took = time.monotonic() - self.began

    def ask(self, *words):
        run = subprocess.run(["redis-cli", "-p", str(PORT), *words], capture_output=True, text=True)
        return run.stdout.strip()

    def drive(self, *options, wait=True):
        command = [self.apus, "bench", "kv", "-p", str(PORT), "-c", "50", "-t", "set", "-d", "32",
                   "--threads", "1", "--json", self.out.name, *map(str, options)]
        quiet = subprocess.DEVNULL
        run = subprocess.Popen(pinned(1, command), stdout=quiet, stderr=quiet)
        return self.figures(run) if wait else run

    def figures(self, run):
        """The results of a run: requests per second, and latencies in milliseconds."""
        run.wait()
        found = json.load(open(self.out.name))["results"][0]
        return {"rps": found["rps"], **{k: v / 1e6 for k, v in found["latency_ns"].items()}}

    def fill(self, keys):
        self.drive("-P", 200, "-r", keys, "-n", 1000, "--fill")

    def memory(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(field + ":")[1].split()[0])

    def stop(self):
        self.ask("SHUTDOWN", "NOSAVE")
        self.process.wait()


def show(part, name, text):
    print(f"{part:10}{name:7}{text}", flush=True)


def bgsave(args, name, where):
    server = Server(name, args.apus, where)
    server.fill(args.keys)
    load = ("-P", 1, "-r", args.keys, "--duration")
    before = server.drive(*load, 4)
    resident = server.memory("VmRSS")
    run = server.drive(*load, args.seconds, wait=False)
    time.sleep(0.7)
    began = time.monotonic()
    server.ask("BGSAVE")
    while "rdb_bgsave_in_progress:1" in server.ask("INFO", "persistence"):
        time.sleep(0.1)
    took = time.monotonic() - began
    during = server.figures(run)
    growth = (server.memory("VmHWM") - resident) * 100 / resident
    show("bgsave", name, f"{took:.1f} s, p99.9 {before['p99.9']:.2f} -> {during['p99.9']:.2f} ms, "
         f"{before['rps']:,.0f} -> {during['rps']:,.0f}/s, peak +{growth:.1f}%")
    server.stop()


def journal(args, name, where, policy, pipeline=1):
    options = ("--appendonly", "yes", "--appendfsync", policy, "--auto-aof-rewrite-percentage", "0")
    for what, options in (("none", ()), (policy, options)):
        server = Server(name, args.apus, where, *options, preload=args.preload)
        found = server.drive("-P", pipeline, "-r", 100_000, "--duration", 4)
        show(what, name, f"{found['rps']:,.0f}/s, p50 {found['p50']:.2f} ms")
        server.stop()


def replay(args, name, where):
    options = ["--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"]
    if name == "redis":
        options += ["--aof-use-rdb-preamble", "no"]
    server = Server(name, args.apus, where, *options)
    server.drive("-P", 200, "-r", 1_000_000, "-n", 5_000_000)
    server.stop()
    server = Server(name, args.apus, where, *options)
    show("replay", name, f"{server.took:.2f} s for 5,000,000 SET of 1,000,000 keys")
    server.stop()


def load(args, name, where):
    if not Path(args.snapshot, "dump.rdb").exists():
        server = Server("apus", args.apus, args.snapshot)
        server.fill(args.keys)
        server.ask("SAVE")
        server.stop()
    server = Server(name, args.apus, args.snapshot)
    show("load", name, f"{server.took:.2f} s for {server.ask('DBSIZE')} keys")
    server.stop()


PARTS = {
    "bgsave": bgsave,
    "always": lambda *a: journal(*a, "always"),
    "everysec": lambda *a: journal(*a, "everysec"),
    "replay": replay,
    "load": load,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--keys", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=int, default=14, help="of load around a snapshot")
    parser.add_argument("--sync-delay", type=int, default=0)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []])
    args = parser.parse_args()
    args.apus = os.path.abspath(args.apus)
    with tempfile.TemporaryDirectory() as top:
        args.snapshot, args.preload = os.path.join(top, "snapshot"), None
        os.mkdir(args.snapshot)
        if args.sync_delay:
            args.preload = os.path.join(top, "slow.so")
            compile = ["cc", "-shared", "-fPIC", f"-DDELAY={args.sync_delay}L", "-xc", "-", "-o", args.preload]
            subprocess.run(compile, input=SLOW, text=True, check=True)
        for part in args.part or PARTS:
            for name in ("redis", "apus"):
                with tempfile.TemporaryDirectory(dir=top) as where:
                    PARTS[part](args, name, where)


if __name__ == "__main__":
    main()
