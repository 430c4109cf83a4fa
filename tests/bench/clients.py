#!/usr/bin/env python3
"""SET from 128 callers, by several clients in one run: operations per second, client's and server's CPU.

The server is on core 0, the client on core 1; each client has several turns, in turn, and the median counts. The last
lines say which floors of docs/client.md were reached.

    tests/bench/clients.py SERVER-COMMAND [--turns N] [--seconds N] [--callers N] [--rate N] [--threads N]
                           [--only CLIENT]... | --flush-delay

SERVER-COMMAND is `redis-server` or a path of apus. CLIENT is apus, redis, fred or rueidis, with a flush delay of its
own after a plus (apus+100, in microseconds). --flush-delay is the row of 100,000 commands a second with a delay of
100 µs against none: a thread whose CPU does not count starts commands at random times
(tests/bench/clients/src/pace.rs). A run of all clients takes 65 s, that row 25 s. Build the clients first:
    cargo build --release --manifest-path tests/bench/clients/Cargo.toml
    (cd tests/bench/clients/rueidis && go build -o ../target/rueidis .)
"""

import argparse
import os
import pathlib

from pinned import cpu, medians, run, server, verdict

HERE = pathlib.Path(__file__).resolve().parent / "clients"
# rueidis may flush at once or wait: its better one counts.
CLIENTS = ["apus", "redis", "fred", "rueidis", "rueidis+100"]


def turn(client, process, port, options):
    """Operations per second, nanoseconds of CPU of the client and of the server for each; of apus-client, commands per
    write and the median latency in microseconds."""
    target = pathlib.Path(os.environ.get("CLIENTS_TARGET", HERE / "target"))
    name, _, delay = client.partition("+")
    program = [target / "rueidis"] if name == "rueidis" else [target / "release/clients-bench", name]
    threads = [] if name == "rueidis" else [options.threads]
    before = cpu(process.pid)
    words = run(*program, port, options.callers, options.seconds, options.rate, delay or 0, *threads)
    # The second of warming up is as busy.
    rate, own = float(words[1]), float(words[2])
    of_server = (cpu(process.pid) - before) / (options.seconds + 1) / rate * 1e9
    return rate, own, of_server, *map(float, words[3:])


def judge(results):
    """The floors of SET from many callers."""
    apus = results["apus"]
    rust = [results[name] for name in ("redis", "fred") if name in results]
    go = [results[name] for name in ("rueidis", "rueidis+100") if name in results]
    if rust:
        verdict("operations/s to those of the best Rust client", apus[0] / max(r[0] for r in rust), 1.5)
    if go:
        verdict("operations/s to those of rueidis", apus[0] / max(r[0] for r in go), 1.2)
    for name, other in results.items():
        if name.partition("+")[0] != "apus":
            verdict(f"the client's CPU per operation to that of {name}", apus[1] / other[1], 1, at_most=True)


def judge_delay(results):
    """The floor of a flush delay."""
    none, delayed = results["apus"], results["apus+100"]
    for name, result in [("none", none), ("100 µs", delayed)]:
        print(f"with a delay of {name}: {result[3]:.2f} commands in a write, a median latency of {result[4]:.0f} µs")
    verdict("the client's CPU with a flush delay to that without", delayed[1] / none[1], 0.6, at_most=True)
    verdict("the server's CPU with a flush delay to that without", delayed[2] / none[2], 0.6, at_most=True)
    for name, result in results.items():
        verdict(f"commands a second of {name}", result[0], 99_000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--callers", type=int, default=128)
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--only", action="append")
    parser.add_argument("--flush-delay", action="store_true")
    options = parser.parse_args()
    clients = options.only or CLIENTS
    if options.flush_delay:
        options.rate, clients = 100_000, ["apus", "apus+100"]
    results = {}
    with server(options.server) as (process, port):
        for _ in range(options.turns):
            for client in clients:
                results.setdefault(client, []).append(turn(client, process, port, options))
    results = {client: medians(turns) for client, turns in results.items()}
    print("| client | operations/s | ns of its CPU | ns of the server's CPU |\n|---|---|---|---|")
    for client, (rate, own, of_server, *_) in results.items():
        print(f"| {client} | {rate:,.0f} | {own:,.0f} | {of_server:,.0f} |")
    if options.flush_delay:
        judge_delay(results)
    elif "apus" in results:
        judge(results)


if __name__ == "__main__":
    main()
