#!/usr/bin/env python3
"""Apus against redis-server: the workloads whose speed is promised.

usage: floors.py [--apus PATH] [--seconds S] [--reps N] [WORD…]    (workloads whose name has a WORD)

Prints a line per workload: server CPU per request and requests per second as ratios to
redis-server in the same run, and whether the floor was reached.
"""

import argparse
import random

from servers import Servers

CPU, RATE = "cpu", "rate"
MILLION = 1_000_000


def members(n):
    return [f"m{i:012}" for i in range(n)]


def zset(key, n):
    rng = random.Random(1)
    for at in range(0, n, 1000):
        yield ["ZADD", key] + [w for i in range(at, at + 1000)
                               for w in (rng.randrange(MILLION), f"m{i:012}")]


def ints(key, first, n):
    for at in range(first, first + n, 1000):
        yield ["SADD", key, *range(at, at + 1000)]


def small_sets():
    return [["RPUSH", f"l{k}"] + [f"item:{i:03}" for i in range(100)] for k in range(1000)] + [
        ["HSET", f"h{k}"] + [w for i in range(20) for w in (f"field{i}", f"value{i}")]
        for k in range(1000)]


def big_replies():
    fields = [["HSET", "h", f"f{i:09}", "x" * 190] for i in range(5000)]
    return [["RPUSH", "l", "x" * 100] for _ in range(10_000)] + fields


SMALL = small_sets
LISTS = lambda: [["RPUSH", "list"] + ["xyz"] * 1000 for _ in range(10_000)]
MANY_LISTS = lambda: [["RPUSH", f"l{k:012}"] + ["xyz"] * 100 for k in range(100_000)]
MSET = "MSET " + " ".join("k{rand} {value}" for _ in range(10))

# name, what counts, floor, command, how the data are made, options
WORK = [
    ("INCR", CPU, 0.5, "INCR k{key}", None, {}),
    ("LPUSH one list", CPU, 0.5, "LPUSH list {value}", None, {}),
    ("LPUSH many lists", CPU, 0.5, "LPUSH l{key} {value}", None, {}),
    ("RPOP one list", CPU, 0.5, "RPOP list", LISTS, {}),
    ("RPOP many lists", CPU, 0.5, "RPOP l{key}", MANY_LISTS, {}),
    ("SADD one set", CPU, 0.5, "SADD set m{key}", None, {}),
    ("SADD many sets", CPU, 0.5, "SADD s{key} {rand}", None, {}),
    ("HSET one hash", CPU, 0.5, "HSET hash f{key} {value}", None, {}),
    ("HSET many hashes", CPU, 0.5, "HSET h{key} f {value}", None, {}),
    ("ZADD one sorted set", CPU, 0.5, "ZADD z {rand} m{key}", None, {}),
    ("ZADD many sorted sets", CPU, 0.5, "ZADD z{key} {rand} m", None, {}),
    ("XADD one stream", CPU, 0.5, "XADD x * f {value}", None, {}),
    ("XADD one stream, trimmed", CPU, 0.5, "XADD x MAXLEN ~ 1000 * f {value}", None, {}),
    ("MSET of 10 keys", RATE, 2, MSET, None, {}),
    ("LRANGE of 100", RATE, 2, "LRANGE l1 0 -1", SMALL, {}),
    ("HGETALL of 20 fields", RATE, 2, "HGETALL h1", SMALL, {}),
    ("ZADD of 1 million", RATE, 1.5, "ZADD z {rand} m{key}", lambda: zset("z", MILLION),
     {"keys": MILLION}),
    ("ZRANK of 1 million", RATE, 1.5, "ZRANK z m{key}", lambda: zset("z", MILLION),
     {"keys": MILLION}),
    ("ZRANGE of 10 of 1 million", RATE, 1.5, "ZRANGE z 500000 500009", lambda: zset("z", MILLION),
     {"keys": MILLION}),
    ("ZRANGE of 10 by score", RATE, 1.5, "ZRANGE z {rand} +inf BYSCORE LIMIT 0 10",
     lambda: zset("z", MILLION), {"keys": MILLION}),
    ("LRANGE of 1 MiB", RATE, 1.2, "LRANGE l 0 -1", big_replies, {"pipeline": 1}),
    ("HGETALL of 1 MiB", RATE, 1.2, "HGETALL h", big_replies, {"pipeline": 1}),
    ("SINTER of 2 x 1 million", RATE, 1.5, "SINTER a b",
     lambda: [*ints("a", 0, MILLION), *ints("b", MILLION // 2, MILLION)],
     {"pipeline": 1, "connections": 1, "count": 5}),
]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--apus", default="target/release/apus")
    p.add_argument("--seconds", type=float, default=0.6)
    p.add_argument("--reps", type=int, default=3)
    p.add_argument("words", nargs="*")
    a = p.parse_args()
    missed, made = 0, None
    print(f"{'workload':28} {'redis':>9} {'apus':>9}  {'CPU':>5} {'rate':>5}   floor")
    with Servers(a.apus) as servers:
        for name, what, floor, command, data, options in WORK:
            if a.words and not any(w.lower() in name.lower() for w in a.words):
                continue
            servers.flush()
            if data:
                servers.load(data())
            options = {"seconds": a.seconds, "reps": a.reps, **options}
            r = servers.run(command, **options)
            redis, apus = r["redis"], r["apus"]
            cpu, rate = apus["ratios"]["server_cpu"], apus["ratios"]["rps"]
            held = cpu <= floor if what == CPU else rate >= floor
            missed += not held
            print(f"{name:28} {redis['server_cpu_ns']:9.0f} {apus['server_cpu_ns']:9.0f}"
                  f"  {cpu:5.2f} {rate:5.2f}   {what} {floor} {'' if held else 'MISSED'}"
                  f" {apus['client_limit']}", flush=True)
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()
