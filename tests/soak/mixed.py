"""A mixed load for minutes, and then: is everything given back?

    python3 tests/soak/mixed.py [--seconds 600] [--threads 2] [--seed 1]

Processes of different kinds work on one server at once: commands of all families over RESP2 and RESP3,
pipelines of up to 10,000, values of 1 MB, SCAN and KEYS, FLUSHALL ASYNC, connections that come and go,
readers that do not read, connections that stop in the middle of a command, clients that are killed, and
CONFIG SET of maxmemory and its policy. At the end all clients go and the data is flushed. Then

- INFO clients counts one connection,
- used_memory is back where it was after a short warm-up of the same kind, within `--left-kib`,
- resident memory is near where it was after warm-up, within `--rss-mib`,
- no thread panicked, and the log has no error.

Ten seconds of it run as `--seconds 10`.
"""

import argparse
import multiprocessing
import os
import random
import signal
import socket
import struct
import sys
import time

from common import KIB, MIB, Client, Server, ServerError, encode, report

BIG = b"v" * MIB
POLICIES = [
    "noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random",
    "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
]
# Errors that a load like this one causes on purpose.
EXPECTED = ("OOM ", "WRONGTYPE", "ERR value is not an integer", "ERR increment or decrement would",
            "ERR value is out of range", "ERR bit offset", "ERR string exceeds")


def command(r):
    """One random command, encoded, whose reply says nothing unusual."""
    k = "k:%d" % int(r.paretovariate(0.3) % 100_000)
    n = r.randrange(1000)
    which = r.randrange(24)
    if which < 6:
        return encode("SET", k, "v" * r.choice((1, 8, 30, 100, 1000, 5000)))
    if which < 10:
        return encode("GET", k)
    return (
        lambda: encode("INCR", "n:%d" % n),
        lambda: encode("EXPIRE", k, r.choice((0, 1, 2, 100))),
        lambda: encode("PEXPIRE", k, r.choice((1, 10, 500))),
        lambda: encode("DEL", k, "k:%d" % n),
        lambda: encode("UNLINK", k),
        lambda: encode("APPEND", "a:%d" % n, "x" * r.randrange(200)),
        lambda: encode("SETRANGE", "a:%d" % n, r.randrange(3000), "yyy"),
        lambda: encode("BITFIELD", "b:%d" % n, "INCRBY", "u8", r.randrange(4000), 3),
        lambda: encode("MSET", *(w for i in range(5) for w in ("k:%d" % (n + i), "m" * 50))),
        lambda: encode("MGET", *("k:%d" % (n + i) for i in range(5))),
        lambda: encode("SET", "e:%d" % r.randrange(50_000), "v", "PX", r.choice((5, 50, 5000))),
        lambda: encode("GETDEL", k),
        lambda: encode("SETBIT", "b:%d" % n, r.randrange(20_000), 1),
        lambda: encode("PERSIST", k),
    )[which - 10]()


def check(reply):
    if isinstance(reply, ServerError) and not str(reply).startswith(EXPECTED):
        raise reply


def families(port, r, until):
    """Pipelines of everything, in both protocols."""
    while time.time() < until:
        with Client(port) as c:
            if r.random() < 0.5:
                c.do("HELLO", "3")
            for _ in range(20):
                n = r.choice((1, 1, 5, 30, 300, 2000))
                for reply in c.pipeline(command(r) for _ in range(n)):
                    check(reply)


def deep(port, r, until):
    """Pipelines of 10,000, written while replies are read."""
    data = [b"".join(command(r) for _ in range(10_000)) for _ in range(3)]
    while time.time() < until:
        with Client(port) as c:
            c.sock.settimeout(60)
            pid = os.fork()
            if pid == 0:
                try:
                    c.sock.sendall(data[r.randrange(3)])
                finally:
                    os._exit(0)
            for _ in range(10_000):
                check(c.read())
            os.waitpid(pid, 0)


def big(port, r, until):
    with Client(port) as c:
        while time.time() < until:
            for _ in range(20):
                k = "big:%d" % r.randrange(20)
                try:
                    c.do("SET", k, BIG[: r.randrange(MIB)])
                    c.do("APPEND", k, BIG[: r.randrange(1000)])
                except ServerError as e:
                    check(e)
                c.do("GET", "big:%d" % r.randrange(20))
                c.do(r.choice(("DEL", "UNLINK")), "big:%d" % r.randrange(20))
            time.sleep(0.02)


def whole(port, r, until):
    """Commands that look at the whole data set, or empty it."""
    with Client(port) as c:
        while time.time() < until:
            cursor = b"0"
            while True:
                cursor, _ = c.do("SCAN", cursor, "COUNT", 500, "MATCH", "k:*1*")
                if cursor == b"0" or time.time() > until:
                    break
            c.do("KEYS", "n:*9")
            c.do("DBSIZE")
            c.do("RANDOMKEY")
            c.info()
            c.do("CLIENT", "LIST")
            if r.random() < 0.1:
                c.do("FLUSHALL", r.choice(("ASYNC", "SYNC")))
            time.sleep(r.random())


def comers(port, r, until):
    """Hundreds of connections per second: used a little, and ended in different ways."""
    held = []
    while time.time() < until:
        try:
            s = socket.create_connection(("127.0.0.1", port), timeout=30)
        except OSError:
            time.sleep(0.05)
            continue
        how = r.randrange(6)
        if how == 0:  # says nothing at all
            pass
        elif how == 1:
            s.sendall(b"PING\r\n")
            assert s.recv(7) == b"+PONG\r\n"
        elif how == 2:  # half a command, and gone
            s.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nhello\r\n$100\r\nabc")
        elif how == 3:  # half a large value
            s.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nhello\r\n$1000000\r\n" + BIG[: r.randrange(900_000)])
        elif how == 4:  # reset while replies are on their way
            s.sendall(encode("GET", "big:1") * 3)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:  # half-open: our side is shut, the other reads on
            s.sendall(encode("SET", "half", "x"))
            s.shutdown(socket.SHUT_WR)
        held.append(s)
        while len(held) > 100:
            held.pop(r.randrange(len(held))).close()
        time.sleep(0.001)


def slow_readers(port, r, until):
    """Ask for much and take little."""
    while time.time() < until:
        socks = []
        for _ in range(4):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", port))
            s.settimeout(0.2)
            socks.append(s)
            try:
                s.sendall(encode("GET", "big:%d" % r.randrange(20)) * 30)
            except OSError:
                pass
        stop = min(until, time.time() + 3)
        while time.time() < stop:
            for s in socks:
                try:
                    s.recv(2000)
                except OSError:
                    pass
            time.sleep(0.01)
        for s in socks:
            s.close()


def victims(port, r, until):
    """Clients killed in the middle of a request: by signal and by CLIENT KILL."""
    with Client(port) as c:
        while time.time() < until:
            pid = os.fork()
            if pid == 0:
                try:
                    with Client(port) as v:
                        while True:
                            v.send(command(r) * 200)
                            v.sock.recv(100)
                finally:
                    os._exit(0)
            time.sleep(r.random() * 0.3)
            if r.random() < 0.5:
                lines = c.do("CLIENT", "LIST").decode().splitlines()
                mine = str(c.do("CLIENT", "ID"))
                ids = [dict(f.partition("=")[::2] for f in l.split(" "))["id"] for l in lines
                       if "cmd=set " in l or "cmd=get " in l]
                for i in ids[:1]:
                    # A client that is hit connects again, or is a victim.
                    if i != mine and os.environ.get("SOAK_KILL_ANY"):
                        c.do("CLIENT", "KILL", "ID", i)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def settings(port, r, until):
    with Client(port) as c:
        while time.time() < until:
            c.do("CONFIG", "SET", "maxmemory-policy", r.choice(POLICIES))
            c.do("CONFIG", "SET", "maxmemory", r.choice(("0", "0", "15mb", "30mb")))
            c.do("CONFIG", "SET", "slowlog-log-slower-than", r.choice(("10000", "0", "-1")))
            time.sleep(r.random() * 2)
        c.do("CONFIG", "SET", "maxmemory", "0")


KINDS = [families, families, deep, big, whole, comers, slow_readers, victims, settings]


def work(kind, port, seed, until, failures):
    try:
        kind(port, random.Random(seed), until)
    except BaseException as e:
        failures.put(f"{kind.__name__}: {type(e).__name__}: {e}")


def load(server, seconds, seed):
    failures = multiprocessing.Queue()
    until = time.time() + seconds
    jobs = [
        multiprocessing.Process(target=work, args=(k, server.port, seed * 100 + i, until, failures))
        for i, k in enumerate(KINDS)
    ]
    for j in jobs:
        j.start()
    for j in jobs:
        j.join(seconds + 90)
        if j.is_alive():
            j.kill()
            failures.put("a load process did not end: a reply never came")
    found = []
    while not failures.empty():
        found.append(failures.get())
    return found


def settled(server, c):
    """Figures with no data and no other client."""
    c.do("FLUSHALL", "SYNC")
    c.do("SLOWLOG", "RESET")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        info = c.info()
        if info["connected_clients"] == "1" and info.get("lazyfree_pending_objects", "0") == "0":
            break
        time.sleep(0.1)
    # Frees of other threads arrive when those next wake up.
    time.sleep(2)
    info = c.info()
    return int(info["connected_clients"]), int(info["used_memory"]), server.rss(), info


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seconds", type=int, default=600)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    # A thread keeps a reply buffer of up to 4 MiB for the next batch.
    p.add_argument("--left-kib", type=int, default=9 * 1024)
    p.add_argument("--rss-mib", type=int, default=64)
    a = p.parse_args()
    with Server("--threads", a.threads, "--timeout", 0) as s, s.client() as c:
        wrong = load(s, max(3, min(20, a.seconds // 10)), a.seed)
        _, used_before, rss_before, _ = settled(s, c)
        report("mixed warm", used=used_before, rss_mib=rss_before // MIB)
        wrong += load(s, a.seconds, a.seed + 1)
        clients, used, rss, info = settled(s, c)
        report(
            "mixed", seconds=a.seconds, commands=info["total_commands_processed"],
            connections=info["total_connections_received"], evicted=info["evicted_keys"],
            expired=info["expired_keys"], clients=clients, used_left_kib=(used - used_before) // KIB,
            rss_mib=rss // MIB, rss_warm_mib=rss_before // MIB, peak=info["used_memory_peak_human"],
        )
        if not s.alive():
            wrong.append("the server is gone")
        wrong += s.complaints()
        if clients != 1:
            wrong.append(f"{clients} connections are counted")
        if used - used_before > a.left_kib * KIB:
            wrong.append("memory is still counted as used")
        if rss - rss_before > a.rss_mib * MIB:
            wrong.append("memory is still resident")
        for w in wrong:
            print("WRONG:", w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
