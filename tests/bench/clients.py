#!/usr/bin/env python3
"""SET from 128 callers, by several clients in one run: operations per second, client's and server's CPU.

The server is on core 0, the client on core 1; each client has several turns, in turn, and the median counts.

    tests/bench/clients.py SERVER-COMMAND [--turns N] [--seconds N] [--callers N] [--rate N] [--delay US]
                           [--threads N] [--only CLIENT]...

SERVER-COMMAND is `redis-server` or a path of apus. CLIENT is apus, redis, fred or rueidis, with a flush delay of its
own after a plus (apus+100, in microseconds), or nothing: callers that do nothing at the same rate. Build the clients
first:
    cargo build --release --manifest-path tests/bench/clients/Cargo.toml
    (cd tests/bench/clients/rueidis && go build -o ../target/rueidis .)
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

HERE = pathlib.Path(__file__).resolve().parent / "clients"
TICK = os.sysconf("SC_CLK_TCK")


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=128)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--delay", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    target = pathlib.Path(os.environ.get("CLIENTS_TARGET", HERE / "target"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = shutil.which(options.server) or os.path.abspath(options.server)
    serve = [] if "redis" in os.path.basename(program) else ["serve", "--threads", "1"]
    with tempfile.TemporaryDirectory() as directory:
        server = subprocess.Popen(
            ["taskset", "-c", "0", program, *serve, "--port", str(port), "--save", ""],
            cwd=directory, stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            results = {}
            for _ in range(options.turns):
                for client in options.only or ["apus", "redis", "fred", "rueidis"]:
                    name, _, delay = client.partition("+")
                    if name == "rueidis":
                        command = [target / "rueidis"]
                    else:
                        command = [target / "release/clients-bench", name]
                    command += [port, options.callers, options.seconds, options.rate, delay or options.delay]
                    command += [options.threads] if name != "rueidis" else []
                    before = cpu(server.pid)
                    words = subprocess.run(["taskset", "-c", "1", *map(str, command)], check=True,
                                           capture_output=True, text=True).stdout.split()
                    # The second of warming up is as busy.
                    rate, used = float(words[1]), cpu(server.pid) - before
                    cost = used / (options.seconds + 1) / rate * 1e9
                    results.setdefault(client, []).append((rate, float(words[2]), cost))
            print("| client | operations/s | ns of its CPU | ns of the server's CPU |\n|---|---|---|---|")
            for client, turns in results.items():
                middle = [statistics.median(column) for column in zip(*turns)]
                print(f"| {client} | {middle[0]:,.0f} | {middle[1]:,.0f} | {middle[2]:,.0f} |")
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
