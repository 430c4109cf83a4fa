#!/usr/bin/env python3
"""Speed with many keys, against redis-server: the table "Many keys" of docs/performance.md.

usage: many_keys.py [--apus PATH] [--keys N] [--turns N] [--seconds S] [--other PATH …]

Each server has one worker thread on core 0, the load is on core 1. All servers are filled first, one after the other,
while a second client sends single SETs and notes the slowest, and SLOWLOG the slowest execution; then, when memory is in huge pages as far as it will be, they
are asked in turn. The same requests to the first 100,000 keys alone are the control: what the keyspace's size costs is the
rest. Figures are medians of the turns, and of the ratio in each turn.

100 million keys take 16 GB of memory for both servers.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

from servers import Servers, encode, pinned
import socket

DEPTHS = [(1000, 8), (16, 50)]
CONTROL_KEYS = 100_000
KEY = "key:{key}"


MACHINE = """
import mmap, time
now = time.perf_counter_ns
def slowest(step, count):
    worst, last = 0, now()
    for i in range(count):
        step(i)
        t = now()
        worst, last = max(worst, t - last), t
    return worst / 1e6
memory = mmap.mmap(-1, 1 << 30)
def touch(i): memory[i * 4096] = 1
fresh, there = slowest(touch, 1 << 18), slowest(touch, 1 << 18)
spin = slowest(lambda i: None, 1 << 26)
print(f"{fresh:.2f} ms for a fresh page of 1 GiB, {there:.2f} ms once they are there, {spin:.2f} ms for nothing at all")
"""


def machine():
    """What the machine alone makes a program wait for on the servers' core."""
    done = subprocess.run(pinned(0, ["python3", "-c", MACHINE]), capture_output=True, text=True, check=True)
    print(f"machine: at most {done.stdout.strip()}", flush=True)


def reply(stream):
    kind, line = stream.read(1), stream.readline()[:-2]
    if kind == b"*":
        return [reply(stream) for _ in range(int(line))]
    assert kind != b"-", line
    return int(line) if kind == b":" else stream.read(int(line) + 2)[:-2] if kind == b"$" else line


def call(port, *words):
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.sendall(encode(words))
        return reply(s.makefile("rb"))


def info(port, field):
    lines = call(port, "INFO", "memory").decode().splitlines()
    return int(dict(line.split(":", 1) for line in lines if ":" in line).get(field, 0))


def waited_ms(pid):
    """Milliseconds that the threads of a process were ready to run and did not run."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat").read().split()[1]) for task in os.listdir(tasks)) / 1e6


def bench(apus, port, pid, words, before=()):
    """One run of `apus bench kv` from core 1: the first of its results."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [apus, "bench", "kv", "--threads", "1", "-p", str(port), "--server-pid", str(pid),
                   "--json", out.name, *map(str, words)]
        done = subprocess.run([*before, *pinned(1, command)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout[-2000:]
        return json.load(open(out.name))["results"][0]


def real_time(on):
    """Lets the client that measures run at once when its reply is there: the load takes the same core."""
    try:
        if on:
            os.sched_setaffinity(0, {1})
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        else:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            os.sched_setaffinity(0, {0, 1})
    except PermissionError:
        print("no real-time priority: the client waits for the load, too", flush=True)


def fill(apus, port, pid, keys):
    """Seconds; milliseconds of the slowest single SET meanwhile and of the slowest one's execution; milliseconds that the
    server's threads waited for the core."""
    began, waited = time.monotonic(), waited_ms(pid)
    call(port, "CONFIG", "SET", "slowlog-log-slower-than", 500, "slowlog-max-len", 100_000)
    load = subprocess.Popen(
        ["chrt", "-o", "0", *pinned(1, [apus, "bench", "kv", "--threads", "1", "-p", str(port), "-c", "4", "-P", "100", "-r",
         str(keys), "-n", "1", "--fill", "--command", f"SET {KEY} {{value}}"])], stdout=subprocess.DEVNULL)
    slowest = 0.0
    real_time(True)
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = encode(["SET", "probe", "xxx"])
        while load.poll() is None:
            sent = time.perf_counter()
            s.sendall(request)
            assert s.recv(64) == b"+OK\r\n"
            slowest = max(slowest, time.perf_counter() - sent)
            time.sleep(0.0005)
    real_time(False)
    assert load.returncode == 0
    executed = max((entry[2] for entry in call(port, "SLOWLOG", "GET", -1)), default=0)
    call(port, "CONFIG", "SET", "slowlog-log-slower-than", 10_000)
    return time.monotonic() - began, slowest * 1000, executed / 1000, waited_ms(pid) - waited


def huge(pid):
    """Bytes of a process in huge pages, from the kernel: INFO's figure is up to minutes old while they are made."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("AnonHugePages"))


def settle(pid):
    """Waits until what lies in huge pages no longer changes."""
    last, same = -1, 0
    for _ in range(300):
        now = huge(pid)
        same = same + 1 if now == last else 0
        if same == 8:
            break
        last = now
        time.sleep(1)
    return last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apus", default="target/release/apus")
    parser.add_argument("--other", action="append", default=[], metavar="PATH", help="another binary of apus, compared, too")
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    args = parser.parse_args()
    others = [(f"other{i}", [path, "serve", "--port", "{port}", "--threads", "1", "--save", ""])
              for i, path in enumerate(args.other)]
    with Servers(args.apus, limits=others) as servers:
        machine()
        # Redis comes last: meanwhile the memory of Apus settles.
        for name, port in reversed(servers.targets.items()):
            pid = servers.processes[name].pid
            seconds, slowest, executed, waited = fill(args.apus, port, pid, args.keys)
            resident = info(port, "used_memory_rss")
            print(f"{name}: filled in {seconds:.0f} s, slowest single SET {slowest:.2f} ms, slowest execution "
                  f"{executed:.2f} ms, waited for the core {waited:.1f} ms, "
                  f"{resident / args.keys:.1f} bytes a key", flush=True)
        for name, port in servers.targets.items():
            print(f"{name}: {settle(servers.processes[name].pid):,} of {info(port, 'used_memory_rss'):,} bytes in huge pages", flush=True)
        rows = [(keys, depth, conns, command) for keys in (args.keys, CONTROL_KEYS) for depth, conns in DEPTHS
                for command in (f"SET {KEY} {{value}}", f"GET {KEY}")]
        got = {}
        for _ in range(args.turns):
            for row in rows:
                keys, depth, conns, command = row
                for name, port in servers.targets.items():
                    words = ["-c", conns, "-P", depth, "-r", keys, "--duration", args.seconds, "--command", command]
                    result = bench(args.apus, port, servers.processes[name].pid, words)
                    got.setdefault((row, name), []).append(result)
        for row in rows:
            keys, depth, _, command = row
            line = f"{command.split()[0]} of {keys:,} keys at {depth}:"
            for name in servers.targets:
                results = got[row, name]
                cpu = statistics.median(r["server_cpu_ns"] for r in results)
                rate = statistics.median(r["rps"] for r in results)
                line += f" {name} {cpu:,.0f} ns {rate / 1e6:.2f} M/s"
                if name != "redis":
                    for figure, up in (("server_cpu_ns", True), ("rps", False)):
                        ratios = [r[figure] / a[figure] for r, a in zip(got[row, "redis"], results)]
                        ratio = statistics.median(ratios if up else [1 / r for r in ratios])
                        line += f" {ratio:.1f}x"
            print(line, flush=True)


if __name__ == "__main__":
    main()
