"""The throughput that two threads lose to each other on one key.

    python3 tests/soak/contend.py [--seconds 3]

INCR in pipelines of 100: from one connection, from two connections that live on two threads and use
two keys, and from two on one key. With fewer cores than threads and clients together the three share
them; then the second figure is what the third is to be compared with. Fails when two connections on
one key do less than half of what one connection does.
"""

import argparse
import multiprocessing
import socket
import sys
import time

from common import Server, encode, report


def hammer(port, key, start, until, done):
    s = socket.create_connection(("127.0.0.1", port))
    batch = encode("INCR", key) * 100
    n = 0
    start.wait()
    while time.perf_counter() < until.value:
        s.sendall(batch)
        lines = 0
        while lines < 100:
            lines += s.recv(1 << 16).count(b"\n")
        n += 100
    with done.get_lock():
        done.value += n


def run(port, keys, seconds):
    start, until = multiprocessing.Barrier(len(keys) + 1), multiprocessing.Value("d", 0)
    done = multiprocessing.Value("q", 0)
    # Processes share the clock.
    jobs = [multiprocessing.Process(target=hammer, args=(port, k, start, until, done)) for k in keys]
    for j in jobs:
        j.start()
    time.sleep(0.3)
    until.value = time.perf_counter() + seconds
    start.wait()
    for j in jobs:
        j.join()
    return done.value / seconds


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=float, default=3)
    a = p.parse_args()
    with Server("--threads", 2) as s:
        run(s.port, ["warm"], 0.5)
        rounds = [
            [run(s.port, keys, a.seconds / 3) for keys in (["a"], ["a", "b"], ["a", "a"])]
            for _ in range(3)
        ]
        one, two, same = (sorted(r[i] for r in rounds)[1] for i in range(3))
        report("contend", one=round(one), two_keys=round(two), one_key=round(same),
               share=f"{same / one:.2f}")
    return 0 if same >= one / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
