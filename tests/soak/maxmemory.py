"""maxmemory under load: is the limit kept, by the right victims, and with what hit rate?

    python3 tests/soak/maxmemory.py limit [--limit-mb 100]      all eight policies
    python3 tests/soak/maxmemory.py hits [--reference]          LRU and LFU on a Zipf load

`limit` writes three times the limit, half of it with a deadline, and looks at used_memory meanwhile:
it must stay within 2% of the limit; volatile policies must leave every key without a deadline; under
noeviction writes are refused with OOM and reads go on. `hits` gets keys drawn from a Zipf distribution,
sets missing keys, and reports the part that was there in the second half of the run; run it with
`--reference` for redis-server's figure, which holds fewer keys in the same memory.
"""

import argparse
import itertools
import multiprocessing
import random
import sys
import time

from common import MIB, Client, Server, ServerError, encode, report

POLICIES = [
    "noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random",
    "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
]


def watch(port, stop, highest):
    with Client(port) as c:
        while not stop.is_set():
            highest.value = max(highest.value, int(c.info("memory")["used_memory"]))
            time.sleep(0.005)


def limit(policy, limit_mb, threads):
    """Returns the faults."""
    wrong = []
    top = limit_mb * MIB
    with Server("--maxmemory", top, "--maxmemory-policy", policy, "--threads", threads) as s, s.client() as c:
        stop, highest = multiprocessing.Event(), multiprocessing.Value("q", 0)
        w = multiprocessing.Process(target=watch, args=(s.port, stop, highest))
        w.start()
        r = random.Random(1)
        stays = 0
        volatile = policy.startswith("volatile")
        # Under a volatile policy a quarter of the limit stays, so that there is always a victim.
        stays_max = top // 4 // 200 if volatile else 0
        oom = written = longest = 0
        while written < 3 * top:
            batch = []
            for _ in range(100):
                size = r.choice((20, 100, 100, 300, 1000))
                if stays < stays_max:
                    batch.append(encode("SET", "stays:%d" % stays, "v" * 100))
                    stays += 1
                key = "goes:%d" % r.randrange(1 << 40)
                batch.append(encode("SET", key, "v" * size, *(("EX", r.randrange(100, 10_000)) if volatile else ())))
                written += size + 40
            t = time.perf_counter()
            for reply in c.pipeline(batch):
                if isinstance(reply, ServerError):
                    if not str(reply).startswith("OOM "):
                        raise reply
                    oom += 1
            longest = max(longest, time.perf_counter() - t)
            if policy == "noeviction" and oom > 10_000:
                break
        stop.set()
        w.join()
        if policy == "noeviction":
            if not oom:
                wrong.append("nothing was refused")
            if c.do("RANDOMKEY") is None or c.do("GET", c.do("RANDOMKEY")) is None:
                wrong.append("reads do not work")
        elif oom:
            wrong.append(f"{oom} writes were refused")
        if volatile:
            left = sum(c.pipeline(encode("EXISTS", "stays:%d" % i) for i in range(stays)))
            if left != stays:
                wrong.append(f"{stays - left} keys without a deadline were evicted")
        over = 100 * (highest.value - top) / top
        if over > 2:
            wrong.append(f"{over:.1f}% over the limit")
        report(
            f"limit {policy}", highest_percent=f"{100 + over:.2f}", keys=c.do("DBSIZE"), refused=oom,
            evicted=c.info("stats")["evicted_keys"], longest_batch_of_100=f"{longest * 1000:.1f}ms",
            at_end=f"{100 * int(c.info('memory')['used_memory']) / top:.2f}%",
        )
        wrong += s.complaints()
    return [f"{policy}: {w}" for w in wrong]


def hits(policy, reference, limit_mb, exponent=0.9, keys=1_000_000, draws=3_000_000):
    r = random.Random(7)
    weights = list(itertools.accumulate((i + 1) ** -exponent for i in range(keys)))
    names = list(range(keys))
    r.shuffle(names)
    options = ["--maxmemory", limit_mb * MIB, "--maxmemory-policy", policy]
    with Server(*options, reference=reference) as s, s.client() as c:
        hit = asked = done = 0
        value = "v" * 100
        while done < draws:
            chosen = ["k:%d" % names[i] for i in r.choices(range(keys), cum_weights=weights, k=200)]
            replies = c.pipeline(encode("GET", k) for k in chosen)
            missing = [k for k, v in zip(chosen, replies) if v is None]
            c.pipeline(encode("SET", k, value) for k in missing)
            done += len(chosen)
            if done > draws // 2:
                asked += len(chosen)
                hit += len(chosen) - len(missing)
        report(f"hits {policy} {'redis' if reference else 'apus'}", limit_mb=limit_mb,
               keys=c.do("DBSIZE"), hit_percent=f"{100 * hit / asked:.2f}")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=["limit", "hits"])
    p.add_argument("--limit-mb", type=int, default=100)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--policy", action="append")
    p.add_argument("--reference", action="store_true", help="measure redis-server instead")
    a = p.parse_args()
    if a.what == "hits":
        for policy in a.policy or ["allkeys-lru", "allkeys-lfu", "allkeys-random"]:
            hits(policy, a.reference, a.limit_mb)
        return 0
    wrong = [w for policy in a.policy or POLICIES for w in limit(policy, a.limit_mb, a.threads)]
    for w in wrong:
        print("WRONG:", w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
