#!/usr/bin/env python3
"""Channels through apus-client's broker and through centrifuge with rueidis, in one run on one server.

128 callers; the server is on core 0, the client on core 1. Each case has several turns, in turn, and the median
counts: operations per second, and microseconds of CPU for each, the client's and the server's. The last lines say
which floors of docs/client.md were reached.

    tests/bench/channels.py SERVER-COMMAND [--turns N] [--seconds N] [CASE ...]

SERVER-COMMAND is `redis-server` or a path of apus. A case takes 20 s. Build the clients first, the second one into a
file that CENTRIFUGE_LOAD names (or it is built here):
    cargo build --release --manifest-path tests/bench/clients/Cargo.toml
    (cd tests/clients/go && go build -o /tmp/load ./centrifuge/load)
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

from pinned import medians, run, server, verdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ["publish", "history-stream", "history-list", "subscribe", "recover", "add-presence", "presence"]


def turn(client, port, case, seconds):
    """Operations per second, microseconds of CPU of the client and of the server for each."""
    words = run(client, f"127.0.0.1:{port}", case, seconds)
    return float(words[2].split("/")[0]), float(words[5]), float(words[3])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", default="2")
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory() as directory, server(options.server) as (_, port):
        load = os.environ.get("CENTRIFUGE_LOAD")
        if not load:
            load = pathlib.Path(directory) / "load"
            subprocess.run(["go", "build", "-o", load, "./centrifuge/load"], cwd=ROOT / "tests/clients/go", check=True)
        clients = {"rueidis": load, "apus": ROOT / "tests/bench/clients/target/release/channels"}
        print("| operation | rueidis, 1/s | apus-client, 1/s | ratio | rueidis's CPU, µs | apus-client's, µs "
              "| server's with rueidis, µs | with apus-client, µs |\n|---|---|---|---|---|---|---|---|")
        for case in options.cases:
            results = {name: [] for name in clients}
            for _ in range(options.turns):
                for name, client in clients.items():
                    results[name].append(turn(client, port, case, options.seconds))
            theirs, ours = medians(results["rueidis"]), medians(results["apus"])
            ratios[case] = ours[0] / theirs[0]
            print(f"| {case} | {theirs[0]:,.0f} | {ours[0]:,.0f} | {ratios[case]:.2f} | {theirs[1]:.2f} | {ours[1]:.2f} "
                  f"| {theirs[2]:.2f} | {ours[2]:.2f} |", flush=True)
    for case, ratio in ratios.items():
        verdict(f"{case} to rueidis through centrifuge", ratio, 1)
    verdict("the part of these rows with 1.3 times", sum(r >= 1.3 for r in ratios.values()) / len(ratios), 0.51)


if __name__ == "__main__":
    main()
