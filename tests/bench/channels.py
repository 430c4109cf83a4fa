#!/usr/bin/env python3
"""Channels through apus-client's broker and through centrifuge with rueidis, in one run on one server.

128 callers; the server is on core 0, the client on core 1. Each case has several turns, in turn, and the median
counts: operations per second, and microseconds of CPU for each, the client's and the server's.

    tests/bench/channels.py SERVER-COMMAND [--turns N] [--seconds N] [CASE ...]

SERVER-COMMAND is `redis-server` or a path of apus. Build the client first:
    cargo build --release --manifest-path tests/bench/clients/Cargo.toml
"""

import argparse
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ["publish", "history-stream", "history-list", "subscribe", "recover", "add-presence", "presence"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", default="2")
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = shutil.which(options.server) or os.path.abspath(options.server)
    serve = [] if "redis" in os.path.basename(program) else ["serve", "--threads", "1"]
    with tempfile.TemporaryDirectory() as directory:
        load = os.environ.get("CENTRIFUGE_LOAD")
        if not load:
            load = pathlib.Path(directory) / "load"
            subprocess.run(["go", "build", "-o", load, "./centrifuge/load"], cwd=ROOT / "tests/clients/go", check=True)
        clients = {"rueidis": load, "apus": ROOT / "tests/bench/clients/target/release/channels"}
        server = subprocess.Popen(
            ["taskset", "-c", "0", program, *serve, "--port", str(port), "--save", ""],
            cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            print("| operation | rueidis, 1/s | apus-client, 1/s | ratio | rueidis's CPU, µs | apus-client's, µs "
                  "| server's with rueidis, µs | with apus-client, µs |\n|---|---|---|---|---|---|---|---|")
            for case in options.cases:
                results = {name: [] for name in clients}
                for _ in range(options.turns):
                    for name, client in clients.items():
                        words = subprocess.run(
                            ["taskset", "-c", "1", client, f"127.0.0.1:{port}", case, options.seconds],
                            check=True, capture_output=True, text=True).stdout.split()
                        results[name].append((float(words[2].split("/")[0]), float(words[5]), float(words[3])))
                rate, own, of_server = zip(*([statistics.median(column) for column in zip(*results[name])]
                                             for name in ("rueidis", "apus")))
                print(f"| {case} | {rate[0]:,.0f} | {rate[1]:,.0f} | {rate[1] / rate[0]:.2f} | {own[0]:.2f} | {own[1]:.2f} "
                      f"| {of_server[0]:.2f} | {of_server[1]:.2f} |", flush=True)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
