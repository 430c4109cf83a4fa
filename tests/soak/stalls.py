"""How long one connection makes another wait: table growth, and mass expiry.

    python3 tests/soak/stalls.py growth [--keys 10000000]
    python3 tests/soak/stalls.py same   [--keys 10000000]   the same load without growth: the noise
    python3 tests/soak/stalls.py expire [--keys 5000000]    all keys expire within one second
    python3 tests/soak/stalls.py evict  [--keys 5000000]     SETs of new keys at a full 100 MB limit
    python3 tests/soak/stalls.py big    [--keys 10000000]   a sorted set of so many members goes, in six ways
    python3 tests/soak/stalls.py long   [--keys 5000000]    commands that take long: KEYS, SCAN, big values

One process sends a heavy load at lowest priority; another sends single commands on a connection of
its own, without pipelining, and measures each. The server is pinned to CPU 0 and both clients to CPU
1, so that the scheduler is not measured. A machine that runs other programs shows their load: compare
`growth` with `same`. With `--max-ms` the run fails when one command took longer. The log of slow
commands says how much of it the server saw itself inside of commands.
"""

import argparse
import gc
import multiprocessing
import os
import socket
import sys
import time

from common import Client, Server, encode, fill, ms, report


def hammer(port, start, keys, stop, same):
    """Sends SETs of new keys (or one and the same thousand) in pipelines of 50."""
    os.nice(19)
    os.sched_setaffinity(0, {os.cpu_count() - 1})
    sock = socket.create_connection(("127.0.0.1", port))
    ok = b"+OK\r\n"
    start.wait()
    for first in range(0, keys, 50):
        n = range(first % 1000, first % 1000 + 50) if same else range(first, first + 50)
        sock.sendall(b"".join(b"*3\r\n$3\r\nSET\r\n$14\r\nkey:%010d\r\n$3\r\nxxx\r\n" % i for i in n))
        want = 50 * len(ok)
        while want > 0:
            want -= len(sock.recv(want))
    stop.set()


def probe(port, stop, word):
    """Single commands until `stop`; their times in seconds, the first thousand left out."""
    os.sched_setaffinity(0, {os.cpu_count() - 1})
    sock = socket.create_connection(("127.0.0.1", port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    clock, times, at = time.perf_counter, [], []
    gc.disable()
    begin, n = clock(), 0
    while not stop.is_set():
        n += 1
        key = b"probe:%010d" % n
        data = encode("SET", key, "x") if word == "SET" else encode("GET", key)
        t = clock()
        sock.sendall(data)
        sock.recv(64)
        times.append(clock() - t)
        at.append(t - begin)
    return times[1000:], at[1000:]


def summary(name, times, at, **more):
    order = sorted(times)
    worst = sorted(zip(times, at), reverse=True)[:4]
    at_rank = lambda q: ms(order[min(len(order) - 1, int(len(order) * q))])
    report(
        name, probes=len(times), p50=at_rank(0.5), p999=at_rank(0.999), p9999=at_rank(0.9999),
        max=ms(order[-1]), worst_at=",".join(f"{a:.2f}s:{ms(t)}" for t, a in worst), **more,
    )
    return order[-1]


def pin(server):
    for task in os.listdir(f"/proc/{server.pid}/task"):
        os.sched_setaffinity(int(task), {0})


def loaded(server, keys, same, name):
    start, stop = multiprocessing.Event(), multiprocessing.Event()
    p = multiprocessing.Process(target=hammer, args=(server.port, start, keys, stop, same))
    p.start()
    begin = time.monotonic()
    start.set()
    times, at = probe(server.port, stop, "SET")
    p.join()
    with server.client() as c:
        slow = sorted((e[2] for e in c.do("SLOWLOG", "GET", "-1")), reverse=True)[:5]
        return summary(name, times, at, seconds=round(time.monotonic() - begin, 1),
                       keys=c.do("DBSIZE"), evicted=c.info("stats")["evicted_keys"], slow_us=slow)


def expire(server, keys):
    with server.client() as c:
        begin = time.monotonic()
        due = int(time.time() * 1000) + 2_000 + keys // 100
        fill(c, keys, lambda i: encode("SET", "key:%010d" % i, "xxx", "PXAT", due + i * 1000 // keys))
        left = due / 1000 - time.time()
        assert left > 0.2, f"filling took {time.monotonic() - begin:.0f} s, longer than expected"
        c.do("SLOWLOG", "RESET")
        time.sleep(left - 0.2)
    stop = multiprocessing.Event()
    watcher = multiprocessing.Process(target=until_empty, args=(server.port, stop))
    watcher.start()
    begin = time.monotonic()
    times, at = probe(server.port, stop, "GET")
    watcher.join()
    with server.client() as c:
        slow = sorted((e[2] for e in c.do("SLOWLOG", "GET", "-1")), reverse=True)[:5]
        return summary("expire", times, at, seconds=round(time.monotonic() - begin, 1),
                       used=c.info("memory")["used_memory_human"], slow_us=slow)


def until_empty(port, stop):
    with Client(port) as c:
        deadline = time.monotonic() + 120
        while c.do("DBSIZE") and time.monotonic() < deadline:
            time.sleep(0.2)
    stop.set()


# Ways to remove a big value; each has a value of its own.
WAYS = [
    ("DEL", ["DEL", "z0"]),
    ("UNLINK", ["UNLINK", "z1"]),
    ("expiry", ["PEXPIRE", "z2", "1"]),
    ("SET", ["SET", "z3", "x"]),
    ("RENAME", ["RENAME", "small", "z4"]),
    ("FLUSHALL ASYNC", ["FLUSHALL", "ASYNC"]),
]


def big(server, members):
    with server.client() as c:
        for at in range(0, members, 1000):
            pairs = ((str(i * 7919 % members), f"m{i:09}") for i in range(at, at + 1000))
            c.do("ZADD", "z0", *(word for pair in pairs for word in pair))
        for i in range(1, len(WAYS)):
            assert c.do("COPY", "z0", f"z{i}") == 1
        c.do("SET", "small", "x")
    stop, begun = multiprocessing.Event(), multiprocessing.Queue()
    doer = multiprocessing.Process(target=remove, args=(server.port, begun, stop))
    begin = time.perf_counter()
    doer.start()
    times, at = probe(server.port, stop, "GET")
    doer.join()
    begun = [begun.get() - begin for _ in WAYS]
    for (name, _), first, last in zip(WAYS, begun, begun[1:] + [float("inf")]):
        mine = [(t, a) for t, a in zip(times, at) if first - 0.1 <= a < last - 0.1]
        summary(name, [t for t, _ in mine], [a for _, a in mine], rss_mb=server.rss() >> 20)
    return max(times)


def remove(port, begun, stop):
    with Client(port) as c:
        for _, words in WAYS:
            time.sleep(1.5)
            begun.put(time.perf_counter())
            c.do(*words)
    time.sleep(2)
    stop.set()


# Commands that take long, by their subject: {n} is the number of keys.
LONG = [
    ["KEYS", "*"],
    ["KEYS", "*7"],
    ["SCAN", "0", "COUNT", "{n}"],
    ["ZUNIONSTORE", "zd", "2", "z0", "z1"],
    ["SUNIONSTORE", "sd", "s0", "s1"],
    ["SINTER", "s0", "s1"],
    ["SMEMBERS", "s0"],
    ["SSCAN", "s0", "0", "COUNT", "{n}"],
    ["HGETALL", "h0"],
    ["LRANGE", "l0", "0", "-1"],
    ["LREM", "l0", "0", "nothing"],
    ["LINSERT", "l0", "BEFORE", "nothing", "x"],
    ["LTRIM", "l0", "-100", "-1"],
    ["LPOP", "l1", "{members}"],
    ["ZRANGE", "z0", "0", "-1"],
    ["ZRANGEBYSCORE", "z0", "-inf", "+inf"],
    ["ZRANGESTORE", "zr", "z0", "0", "-1"],
    ["ZPOPMIN", "zr", "{members}"],
    ["SRANDMEMBER", "s0", "-{members}"],
    ["HRANDFIELD", "h0", "-{members}"],
    ["SPOP", "s1", "{members}"],
    ["XRANGE", "x0", "-", "+"],
    ["XREAD", "STREAMS", "x0", "0"],
    ["GEOSEARCH", "g0", "FROMLONLAT", "0", "0", "BYRADIUS", "5000", "km", "COUNT", "1"],
    ["ZCOUNT", "z0", "-inf", "+inf"],
    ["SORT", "s0", "LIMIT", "0", "1"],
    ["BITOP", "AND", "bd", "b0", "b1"],
    ["BITCOUNT", "b0"],
    ["DUMP", "z0"],
    ["COPY", "z0", "zc"],
    ["MEMORY", "USAGE", "z0", "SAMPLES", "0"],
    ["ZREMRANGEBYRANK", "zc", "0", "-2"],
    ["DEL", "z0"],
    ["FLUSHALL", "SYNC"],
]


def long(server, keys, members, threads):
    """Probes on the thread of the connection that sends the command, and on another one."""
    with server.client() as c:
        c.do("DEBUG", "POPULATE", keys)
        for name, first in (("0", 0), ("1", members // 2)):
            fill = "for i = ARGV[1], ARGV[2] do local m = 'm' .. i; redis.call('ZADD', KEYS[1], i, m); " \
                   "redis.call('SADD', KEYS[2], m); redis.call('HSET', KEYS[3], m, i); " \
                   "redis.call('RPUSH', KEYS[4], m); redis.call('XADD', KEYS[5], '*', 'n', i); " \
                   "redis.call('GEOADD', KEYS[6], i * 0.00001, i * 0.00001, m) end"
            for at in range(first, first + members, 10_000):
                c.do("EVAL", fill, "6", *(kind + name for kind in "zshlxg"), at, at + 9_999)
            c.do("SETBIT", "b" + name, 8 * 100_000_000, 1)
    time.sleep(0.5)
    # Connections are dealt out in turn.
    doer = Client(server.port, 300)
    other = socket.create_connection(("127.0.0.1", server.port)) if threads > 1 else None
    same = socket.create_connection(("127.0.0.1", server.port))
    worst = 0
    for words in LONG:
        words = [w.replace("{n}", str(keys)).replace("{members}", str(members)) for w in words]
        stop, found = multiprocessing.Event(), multiprocessing.Queue()
        probes = [(n, s) for n, s in (("same", same), ("other", other)) if s]
        children = [multiprocessing.Process(target=wait_longest, args=(s, n, stop, found)) for n, s in probes]
        for child in children:
            child.start()
        time.sleep(0.1)
        begin = time.perf_counter()
        doer.send(encode(*words))
        size, first = 0, doer.sock.recv(1 << 20)
        took = time.perf_counter() - begin
        size += len(first)
        # The whole reply has come when the reply to the next command has.
        doer.send(encode("ECHO", "the end of it"))
        tail = first
        while not tail.endswith(b"the end of it\r\n"):
            more = doer.sock.recv(1 << 20)
            size += len(more)
            tail = (tail + more)[-32:]
        time.sleep(0.1)
        stop.set()
        waited = dict(found.get() for _ in children)
        for child in children:
            child.join()
        report(" ".join(words[:2]), took=ms(took), reply_mb=size >> 20,
               **{"longest_wait_" + n: ms(t) for n, t in waited.items()})
        worst = max(worst, *waited.values())
    return worst


def wait_longest(sock, name, stop, found):
    gc.disable()
    clock, longest = time.perf_counter, 0
    while not stop.is_set():
        t = clock()
        sock.sendall(b"*2\r\n$3\r\nGET\r\n$5\r\nprobe\r\n")
        sock.recv(64)
        longest = max(longest, clock() - t)
        time.sleep(0.0005)
    found.put((name, longest))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("what", choices=["growth", "same", "expire", "evict", "big", "long"])
    p.add_argument("--keys", type=int)
    p.add_argument("--members", type=int, default=1_000_000, help="of each big value of `long`")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--max-ms", type=float)
    p.add_argument("--reference", action="store_true", help="measure redis-server instead")
    a = p.parse_args()
    options = ["--slowlog-log-slower-than", 500, "--slowlog-max-len", 1000]
    options += [] if a.reference else ["--threads", a.threads]
    if a.what == "evict":
        options += ["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]
    if a.what == "long":
        options += ["--enable-debug-command", "yes"]
    with Server(*options, reference=a.reference) as s:
        if a.what != "long":
            pin(s)
        if a.what == "expire":
            worst = expire(s, a.keys or 5_000_000)
        elif a.what == "long":
            worst = long(s, a.keys or 5_000_000, a.members, a.threads)
        elif a.what == "big":
            worst = big(s, a.keys or 10_000_000)
        else:
            n = a.keys or (5_000_000 if a.what == "evict" else 10_000_000)
            worst = loaded(s, n, a.what == "same", a.what)
        assert not s.complaints(), s.complaints()
    return 1 if a.max_ms and worst * 1000 > a.max_ms else 0


if __name__ == "__main__":
    sys.exit(main())
