#!/usr/bin/env python3
"""Topics against Seb on this machine: Seb's workload through every door, and what idle topics cost.

    tests/bench/topics.py target/release/apus [PART ...] [--seb SEB]

SEB is Seb's binary (`go build ./cmd/seb` in its repository); without it, only Apus is measured. Parts:
v1, seb-api, resp, read, seb-client (Seb's client and benchmark against Apus), seb (all of Seb, without
fsync), idle. Each writes 4 GiB at most, into a temporary directory.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

BATCHES = 4096
RECORDS = BATCHES * 1024


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


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
        command += ["--port", str(self.port), "--http-port", str(self.http)]
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
        command = [self.binary, "bench", "log", "--url", url, "--server-pid", str(self.process.pid)]
        subprocess.run(command + list(options), check=True)


def seb_benchmark(seb, *options):
    """Runs Seb's benchmark; records/s, and the CPU seconds of its process."""
    before = os.times()
    command = [seb, "benchmark", "-w", "16", "--batches", str(BATCHES), *options]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    rate = re.search(r"records/second: ([\d.]+)", out)
    return float(rate.group(1)), cpu


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("apus")
    parser.add_argument("--seb")
    parser.add_argument("parts", nargs="*")
    args = parser.parse_args()
    parts = args.parts or ["v1", "seb-api", "resp", "read", "seb-client", "seb", "idle"]
    for part in parts:
        print(f"== {part}", flush=True)
        if part == "seb":
            rate, cpu = seb_benchmark(args.seb)
            print(f"{rate:.0f} records/s, {cpu / RECORDS * 1e6:.2f} CPU s per million, client included")
            continue
        with Apus(args.apus) as apus:
            if part == "v1":
                apus.bench("-r", "2")
            elif part == "seb-api":
                apus.bench("--api", "seb")
            elif part == "resp":
                apus.bench("--api", "resp", port=apus.port)
            elif part == "read":
                apus.bench("--read", "-w", "1", "--batches", "1024", "-r", "2")
            elif part == "seb-client":
                before = cpu_seconds(apus.process.pid)
                remote = ["--local-broker=false", "--remote-broker-address"]
                rate, _ = seb_benchmark(args.seb, *remote, f"http://127.0.0.1:{apus.http}")
                cpu = cpu_seconds(apus.process.pid) - before
                print(f"{rate:.0f} records/s, {cpu / RECORDS * 1e6:.2f} CPU s of the server per million")
            elif part == "idle":
                idle(apus)
            else:
                parser.error(f"there is no part {part}")


if __name__ == "__main__":
    main()
