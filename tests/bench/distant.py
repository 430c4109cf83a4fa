#!/usr/bin/env python3
"""Publishing with 5 ms of network latency: callers that share a connection, against a pool of 128 connections.

The server is on core 0, callers and relay on core 1 (tests/bench/clients/src/bin/distant.rs). A row takes 10 s. A pool
of 128 with 128 callers is never waited for: sharing pays where there are more callers than connections.

    tests/bench/distant.py SERVER-COMMAND [CALLERS ...]
"""

import argparse
import pathlib

from pinned import run, server, verdict

PROGRAM = pathlib.Path(__file__).resolve().parent / "clients/target/release/distant"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("callers", nargs="*", default=["128", "1024", "4096"])
    options = parser.parse_args()
    rows = []
    with server(options.server) as (_, port):
        for callers in options.callers:
            # CALLERS POOL MILLISECONDS SECONDS
            words = run(PROGRAM, port, callers, "128", "5", "4")
            # The last line: | callers | shared | pool | ratio |
            rows.append([float(word) for word in words[-9:] if word != "|"])
    print("| callers | shared, 1/s | pool of 128, 1/s | ratio |\n|---|---|---|---|")
    for callers, shared, pool, ratio in rows:
        print(f"| {callers:.0f} | {shared:,.0f} | {pool:,.0f} | {ratio:.1f} |")
    for callers, _, _, ratio in rows:
        if callers > 128:
            verdict(f"publications of {callers:.0f} callers to those by a pool of 128", ratio, 4)


if __name__ == "__main__":
    main()
