#!/usr/bin/env python3
"""Topics on this machine: Seb's workload over every protocol, other servers on it, the cost of idle topics.

    tests/bench/topics.py target/release/apus [PART ...] [--seb CHECKOUT]

CHECKOUT is Seb's source (https://github.com/micvbang/simple-event-broker); parts that need it are left
out without it. Of Apus: v1, v1-no-sync, v1-100 (100 records a batch), seb-api, resp, read, idle, and
seb-client (Seb's own client and benchmark against Apus). Of others: seb (all of Seb in one process),
seb-server (its client and its server, no fsync), redis (Streams; XADD in pipelines of 100, appendonly
everysec), nats and nats-sync (JetStream with file storage, synced every two minutes as it comes, and
always; both are built from nats/go.mod). versus-redis is redis and v1 in turn, five times, and how many
times as fast v1 is. Each writes 4 GiB at most, into a temporary directory.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients"))
from harness.ports import free_port  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BATCHES = 4096
RECORDS = BATCHES * 1024
WORKERS = 16


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


class Apus:
    """A server with a directory of its own; gone at the end of the `with`."""

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="apus-bench-")
        self.port, self.http = free_port(), free_port()
        command = [self.binary, "serve", "--dir", self.dir, "--save", "", "--bind", "127.0.0.1"]
        command += ["--port", str(self.port), "--topic-http-port", str(self.http)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.http)).close()
                return self
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("the server did not start")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def bench(self, *options, port=None):
        url = f"127.0.0.1:{port or self.http}"
        result = os.path.join(self.dir, "bench.json")
        command = [self.binary, "bench", "log", "--url", url, "--server-pid", str(self.process.pid)]
        subprocess.run([*command, "--json", result, *options], check=True)
        with open(result, encoding="utf-8") as f:
            runs = json.load(f)["runs"]
        return sum(run["records_per_second"] for run in runs) / len(runs)


@contextlib.contextmanager
def running(*command, ready):
    """A server with a directory of its own in place of DIR, and its port in place of PORT."""
    with tempfile.TemporaryDirectory(prefix="apus-bench-") as work:
        port = free_port()
        command = [str(word).replace("DIR", work).replace("PORT", str(port)) for word in command]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            for line in server.stdout:
                if ready in line:
                    break
            else:
                raise RuntimeError(f"{command[0]} did not start")
            yield server.pid, port
        finally:
            server.terminate()
            server.communicate()


def told(rate, cpu, records, of="of the server"):
    print(f"{rate:.0f} records/s, {cpu / records * 1e6:.3f} CPU s {of} per million", flush=True)


def seb_binaries(checkout, into):
    """Seb's own binary, and a server of it that keeps its data on disk."""
    checkout = os.path.abspath(checkout)
    overlay = os.path.join(into, "overlay.json")
    source = os.path.join(checkout, "cmd/apusbench/main.go")
    with open(overlay, "w", encoding="utf-8") as f:
        json.dump({"Replace": {source: os.path.join(HERE, "seb/main.go")}}, f)
    binaries = [os.path.join(into, name) for name in ("seb", "sebserver")]
    for binary, package in zip(binaries, ["./cmd/seb", "./cmd/apusbench"]):
        build = ["go", "build", "-overlay", overlay, "-o", binary, package]
        subprocess.run(build, check=True, cwd=checkout)
    return binaries


def seb_benchmark(seb, *options):
    """Runs Seb's benchmark; records/s, and the CPU seconds of its process."""
    before = os.times()
    command = [seb, "benchmark", "-w", str(WORKERS), "--batches", str(BATCHES), *options]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    rate = re.search(r"records/second: ([\d.]+)", out)
    return float(rate.group(1)), cpu


def seb_client(seb, pid, port):
    """Seb's client and benchmark against a server of its API."""
    before = cpu_seconds(pid)
    address = f"http://127.0.0.1:{port}"
    remote = ["--local-broker=false", "--remote-broker-address", address]
    rate, _ = seb_benchmark(seb, *remote)
    told(rate, cpu_seconds(pid) - before, RECORDS)


def redis_streams():
    count = 512 * 1024
    options = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
    server = ["redis-server", "--port", "PORT", "--dir", "DIR", *options]
    with running(*server, ready="Ready to accept") as (pid, port):
        before = cpu_seconds(pid)
        load = ["redis-benchmark", "-p", str(port), "-n", str(count), "-c", str(WORKERS), "-P", "100", "-q"]
        out = subprocess.run(
            [*load, "XADD", "stream", "*", "f", "x" * 1024], check=True, capture_output=True, text=True
        ).stdout
        rate = float(re.findall(r"([\d.]+) requests per second", out)[-1])
        told(rate, cpu_seconds(pid) - before, count)
        return rate


def versus_redis(binary):
    ratios = []
    for _ in range(5):
        theirs = redis_streams()
        with Apus(binary) as apus:
            ratios.append(OF_APUS["v1"](apus) / theirs)
    mean = sum(ratios) / len(ratios)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"v1 is {mean:.2f} times as fast as Redis Streams ({each})", flush=True)


def nats(into, sync, count):
    binaries = [os.path.join(into, name) for name in ("nats-server", "natsbench")]
    for binary, package in zip(binaries, ["github.com/nats-io/nats-server/v2", "."]):
        build = ["go", "build", "-o", binary, package]
        subprocess.run(build, check=True, cwd=os.path.join(HERE, "nats"))
    config = os.path.join(into, "nats.conf")
    with open(config, "w", encoding="utf-8") as f:
        f.write(f"jetstream {{ sync_interval: {sync} }}\n")
    server = [binaries[0], "-a", "127.0.0.1", "-p", "PORT", "-sd", "DIR", "-c", config]
    with running(*server, ready="Server is ready") as (pid, port):
        before = cpu_seconds(pid)
        load = [binaries[1], "-url", f"nats://127.0.0.1:{port}", "-workers", str(WORKERS), "-messages", str(count)]
        out = subprocess.run(load, check=True, capture_output=True, text=True).stdout
        told(float(out), cpu_seconds(pid) - before, count)


def resp(*args):
    head = f"*{len(args)}\r\n"
    return (head + "".join(f"${len(a)}\r\n{a}\r\n" for a in args)).encode()


def idle(apus):
    """Ten thousand topics with a record each, and then nothing."""
    count = 10_000
    before = resident_kib(apus.process.pid)
    with socket.create_connection(("127.0.0.1", apus.port)) as s:
        replies = s.makefile("rb")
        for i in range(count):
            s.sendall(resp("TOPIC.APPEND", f"topic-{i}", "RECORDS", "x"))
            if not replies.readline().startswith(b":"):
                raise RuntimeError("not appended")
        used = resident_kib(apus.process.pid)
        # Long enough for topics to rest.
        time.sleep(45)
        rested = resident_kib(apus.process.pid)
    print(f"{count} topics: {(used - before) / 1024:.1f} MiB, idle {(rested - before) / 1024:.1f} MiB")


OF_APUS = {
    "v1": lambda apus: apus.bench("-r", "2"),
    "v1-no-sync": lambda apus: apus.bench("--no-sync", "-r", "2"),
    "v1-100": lambda apus: apus.bench("-b", "100", "--batches", "20000"),
    "seb-api": lambda apus: apus.bench("--api", "seb"),
    "resp": lambda apus: apus.bench("--api", "resp", port=apus.port),
    "read": lambda apus: apus.bench("--read", "-w", "1", "--batches", "1024", "-r", "3"),
    "idle": idle,
}
OF_SEB = ["seb-client", "seb-server", "seb"]
OF_OTHERS = ["redis", "nats", "nats-sync"]


def of_seb(part, apus, seb, server):
    if part == "seb":
        rate, cpu = seb_benchmark(seb)
        told(rate, cpu, RECORDS, "of all of it")
    elif part == "seb-server":
        with running(server, "127.0.0.1:PORT", "DIR", ready="ready") as (pid, port):
            seb_client(seb, pid, port)
    else:
        with Apus(apus) as it:
            seb_client(seb, it.process.pid, it.http)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("apus")
    parser.add_argument("--seb")
    parser.add_argument("parts", nargs="*")
    args = parser.parse_intermixed_args()
    parts = args.parts or [*OF_APUS, *OF_SEB, *OF_OTHERS]
    with tempfile.TemporaryDirectory(prefix="apus-bench-") as work:
        if args.seb and any(part in OF_SEB for part in parts):
            seb = seb_binaries(args.seb, work)
        for part in parts:
            print(f"== {part}", flush=True)
            if part in OF_APUS:
                with Apus(args.apus) as apus:
                    OF_APUS[part](apus)
            elif part in OF_SEB and not args.seb:
                print("left out: --seb names no checkout of it")
            elif part in OF_SEB:
                of_seb(part, args.apus, *seb)
            elif part == "redis":
                redis_streams()
            elif part == "versus-redis":
                versus_redis(args.apus)
            elif part in OF_OTHERS:
                nats(work, *("2m", 512 * 1024) if part == "nats" else ("always", 16 * 1024))
            else:
                parser.error(f"there is no part {part}")


if __name__ == "__main__":
    main()
