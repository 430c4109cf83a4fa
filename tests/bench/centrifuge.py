#!/usr/bin/env python3
"""The cost of centrifuge's Redis engine: server CPU per operation on Apus and on a real Redis, in one run.

Through the library and its client rueidis, with 128 callers on core 1 (tests/clients/go/centrifuge/load);
the servers are on core 0. Batches are as small as the client makes them, so that much of the cost is
that of sockets.

    tests/bench/centrifuge.py [target/release/apus [seconds per case [threads [case …]]]]
"""

import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = [
    "publish", "subscribe", "history-stream", "history-list", "recover", "add-presence", "presence",
    "publish-many", "subscribe-many", "history-stream-many", "history-list-many", "add-presence-many",
]


def main():
    apus = sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/apus"
    seconds = sys.argv[2] if len(sys.argv) > 2 else "4"
    threads = sys.argv[3] if len(sys.argv) > 3 else "1"
    chosen = sys.argv[4:] or CASES
    servers = {
        17961: ["redis-server", "--port", "17961", "--save", ""],
        17962: [str(apus), "serve", "--port", "17962", "--threads", threads,
                "--save", ""],
    }
    running = []
    with tempfile.TemporaryDirectory() as directory:
        load = pathlib.Path(directory) / "load"
        subprocess.run(["go", "build", "-o", load, "./centrifuge/load"],
                       cwd=ROOT / "tests/clients/go", check=True)
        try:
            for command in servers.values():
                core = "0" if threads == "1" else "0,1"
                running.append(subprocess.Popen(["taskset", "-c", core, *command], cwd=directory,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            time.sleep(1)
            print("| operation | Redis, µs | Apus, µs | ratio | Redis, 1/s | Apus, 1/s |\n|---|---|---|---|---|---|")
            for case in chosen:
                cost, rate = [], []
                for port in servers:
                    words = subprocess.run(
                        ["taskset", "-c", "1", load, f"127.0.0.1:{port}", case, seconds],
                        check=True, capture_output=True, text=True).stdout.split()
                    rate.append(words[2].split("/")[0])
                    cost.append(float(words[3]))
                print(f"| {case} | {cost[0]:.2f} | {cost[1]:.2f} | {cost[1] / cost[0]:.2f} "
                      f"| {rate[0]} | {rate[1]} |", flush=True)
        finally:
            for process in running:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main()
