#!/usr/bin/env python3
"""Random commands on a primary, and a check that its replicas have the same data.

The servers of a pair follow one another: `redis7,apus` is a Redis primary with a replica that is Apus, `apus,redis7,apus` a
chain of three. Several connections play the rounds of `cargo xtask fuzz --print FILE` (all types, scripts, transactions,
odd arguments); others add functions, short deadlines, many keys for eviction, and wait for keys. The links go through
proxies that cut them at any byte. After each phase the load stops, the replicas catch up, and all data is compared:
values, deadlines, consumer groups, functions.

    cargo xtask fuzz --print rounds --seed 1 --rounds 2000
    tests/soak/replicas.py --rounds rounds --pair apus,redis7 --pair redis7,apus --seconds 300

A seed gives the same commands again, not the same order between connections.
"""

import argparse
import os
import random
import shutil
import socket
import sys
import threading
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from comparison import differences, is_capable  # noqa: E402
from cutting import Proxy  # noqa: E402
from load import Blocker, Extras, Player, read_rounds  # noqa: E402

PROGRAMS = {
    "apus": lambda: [common.APUS, "serve", "--threads", "2"],
    "redis7": lambda: [os.environ.get("REDIS_BIN") or shutil.which("redis-server") or "redis-server"],
    "redis8": lambda: [os.environ.get("REDIS8_BIN", "redis8-server")],
    "valkey9": lambda: [os.environ.get("VALKEY_BIN", "valkey-server")],
}
PATIENCE_S = 120


def start(name, *options):
    options = ["--repl-diskless-sync-delay", 0, "--enable-debug-command", "yes", "--repl-timeout", 10,
               "--client-output-buffer-limit", "replica 0 0 0", *options]
    return common.Server(*options, program=PROGRAMS[name]())


class Chain:
    """A primary, its replica, the replica of that, and the proxies between them."""

    def __init__(self, names, rng):
        self.names, self.rng = names, rng
        self.servers, self.proxies = [], []
        backlog = rng.choice([16 << 10, 256 << 10, 1 << 20, 16 << 20])
        for name in names:
            options = ["--repl-backlog-size", backlog]
            if self.servers:
                proxy = Proxy(self.servers[-1].port)
                self.proxies.append(proxy)
                options += ["--replicaof", f"127.0.0.1 {proxy.port}"]
            self.servers.append(start(name, *options))
        self.backlog = backlog
        self.has_field_deadlines = all(self.ask(s, is_capable) for s in self.servers)

    def ask(self, server, question):
        with server.client() as c:
            return question(c)

    @property
    def primary(self):
        return self.servers[0]

    def wait_until_same_offset(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            infos = [self.ask(s, lambda c: c.info("replication")) for s in self.servers]
            offsets = {i["master_repl_offset"] for i in infos}
            if len(offsets) == 1 and all(i["master_link_status"] == "up" for i in infos[1:]):
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"the replicas do not catch up: {infos}")
            time.sleep(0.02)

    def compare(self):
        """What differs, as text; waits for it to be nothing, since a deadline may pass meanwhile."""
        deadline = time.monotonic() + 10
        while True:
            self.wait_until_same_offset()
            found = []
            with self.primary.client() as ours:
                for name, server in zip(self.names[1:], self.servers[1:]):
                    with server.client() as theirs:
                        found += [f"{name}: {d}" for d in differences(ours, theirs, self.has_field_deadlines)]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.2)

    def dead(self):
        return [n for n, s in zip(self.names, self.servers) if not s.alive()]

    def complaints(self):
        """What an Apus server has logged of a panic."""
        return [
            line
            for name, s in zip(self.names, self.servers)
            if name == "apus"
            for line in s.log_text().splitlines()
            if "panick" in line
        ]

    def stop(self):
        for proxy in self.proxies:
            proxy.close()
        for server in self.servers:
            server.stop()


def evict(chain, rng):
    """Sets a limit above what is used, or none. What the clients have sent and are to be sent counts, too."""
    with chain.primary.client() as c:
        if rng.random() < 0.5:
            c.do("CONFIG", "SET", "maxmemory", 0)
            return
        used = int(c.info("memory")["used_memory"])
        policies = ["allkeys-random", "allkeys-lru", "allkeys-lfu", "volatile-random", "volatile-ttl"]
        c.do("CONFIG", "SET", "maxmemory-policy", rng.choice(policies))
        c.do("CONFIG", "SET", "maxmemory", used + rng.choice([2_000_000, 4_000_000]))


def phase(chain, rng, rounds, seconds):
    """Load and cuts for some seconds; how many commands."""
    port = chain.primary.port
    evict(chain, rng)
    load = [Player(port, rng.randrange(1 << 30), rounds) for _ in range(3)]
    load += [Extras(port, rng.randrange(1 << 30), chain.has_field_deadlines) for _ in range(2)]
    load += [Blocker(port, rng.randrange(1 << 30)) for _ in range(2)]
    for thread in load:
        thread.start()
    end = time.monotonic() + seconds
    cuts = 0
    while time.monotonic() < end:
        time.sleep(min(rng.expovariate(1.5), max(0, end - time.monotonic())))
        if rng.random() < 0.7:
            cuts += rng.choice(chain.proxies).cut()
        if rng.random() < 0.2:
            evict(chain, rng)
    for thread in load:
        thread.stop()
    for thread in load:
        thread.join(PATIENCE_S)
        if thread.is_alive():
            raise TimeoutError(f"the primary does not answer {thread}")
    with chain.primary.client() as c:
        # The limits of a round hold for the primary alone.
        c.do("CONFIG", "SET", "maxmemory", 0)
    return sum(thread.commands for thread in load), cuts


def run(names, seed, options, rounds):
    """One chain; whether all was the same."""
    rng = random.Random(seed)
    chain = Chain(names, rng)
    end = time.monotonic() + options.seconds
    commands = cuts = phases = keys = 0
    found = []
    try:
        while not found and (phases == 0 or time.monotonic() < end):
            more, n = phase(chain, rng, rounds, min(options.phase, options.seconds))
            commands, cuts, phases = commands + more, cuts + n, phases + 1
            found = chain.compare()
            keys += chain.ask(chain.primary, lambda c: sum(c.pipeline(sizes())[1::2]))
        info = chain.ask(chain.primary, lambda c: c.info("stats"))
        figures = {k: info.get(k) for k in ("sync_full", "sync_partial_ok", "evicted_keys", "expired_keys")}
    except (TimeoutError, OSError, common.ServerError) as e:
        found, figures = [repr(e)], {}
    found += [f"{n} has ended" for n in chain.dead()] + chain.complaints()
    common.report(",".join(names), seed=seed, backlog=chain.backlog, phases=phases, commands=commands, cuts=cuts,
                  keys_compared=keys, differences=len(found), **figures)
    for line in found[:20]:
        print("FOUND", line[:2000], flush=True)
    if found and options.keep:
        os.environ["SOAK_KEEP"] = "1"
        print("files are in", *(s.dir for s in chain.servers))
    chain.stop()
    return not found


def sizes():
    for db in range(16):
        yield common.encode("SELECT", db)
        yield common.encode("DBSIZE")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--pair", action="append", required=True, help="the primary, its replica, the replica of that ...")
    p.add_argument("--rounds", help="a file of `cargo xtask fuzz --print`; without it only the other commands")
    p.add_argument("--seconds", type=float, default=60, help="for each pair")
    p.add_argument("--phase", type=float, default=8, help="seconds between comparisons")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--keep", action="store_true", help="keep the files of a chain that differs")
    options = p.parse_args()
    rounds = read_rounds(options.rounds) if options.rounds else []
    ok = True
    for pair in options.pair:
        ok &= run(pair.split(","), options.seed, options, rounds)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
