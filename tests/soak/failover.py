#!/usr/bin/env python3
"""Failovers by real Sentinels, and a check that nothing acknowledged is lost and nothing stale is read.

Three servers and three Sentinels, each in a network of its own (`unshare -n`, which needs root), or all on loopback with
`--plain`. Clients ask the Sentinels for the primary, write registers and lists, make transfers, read; some of them stay with
a primary that was deposed, as a client does that has heard of nothing. Meanwhile faults happen, one at a time: kills,
pauses, cuts, manual failovers. See history.py for what is checked.

    tests/soak/failover.py --rounds 50                 # with the options: nothing may be found
    tests/soak/failover.py --rounds 50 --without       # without them: shows what is lost
    tests/soak/failover.py --rounds 5 --plain          # no partitions; no root
    tests/soak/failover.py --clusters 4 --seconds 3600 # independent clusters at once, again and again; sums at the end
"""

import argparse
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from common import APUS, encode  # noqa: E402
from history import History, self_test  # noqa: E402

ACCOUNTS, TOTAL = 8, 8000
TRANSFER = (
    "redis.call('DECRBY', KEYS[1], ARGV[1]) redis.call('INCRBY', KEYS[2], ARGV[1]) "
    "return redis.call('SADD', 'transfers', ARGV[2])"
)


class Refused(Exception):
    """An error that says that nothing was done."""


class Uncertain(Exception):
    """It is not known what was done."""


class Conn:
    """A connection with short time limits."""

    def __init__(self, address, timeout=2.0):
        try:
            self.sock = socket.create_connection(address, timeout=timeout)
        except OSError as e:
            raise Refused(str(e)) from e
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb")

    def __call__(self, *words):
        try:
            self.sock.sendall(encode(*words))
            return self.reply()
        except (OSError, ValueError) as e:
            raise Uncertain(str(e)) from e

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise Uncertain("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            text = rest.decode()
            certain = ("READONLY", "NOREPLICAS Not", "LOADING", "MASTERDOWN", "MISCONF", "ERR", "NOSCRIPT")
            raise Refused(text) if text.startswith(certain) else Uncertain(text)
        if kind == b":":
            return int(rest)
        if kind == b"$":
            n = int(rest)
            return None if n < 0 else self.file.read(n + 2)[:-2].decode()
        if kind == b"*":
            n = int(rest)
            return None if n < 0 else [self.reply() for _ in range(n)]
        return rest.decode()

    def close(self):
        self.file.close()
        self.sock.close()


class Machine:
    """A network of its own with one process."""

    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.dir = os.path.join(cluster.dir, f"m{number}")
        os.mkdir(self.dir)
        self.process = self.holder = None
        self.runs = False
        self.paused = False
        if cluster.plain:
            self.ip = "127.0.0.1"
            return
        self.ip = f"10.9.{number}.1"
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "1000000"])
        time.sleep(0.2)
        pid = str(self.holder.pid)
        inside = ["nsenter", "-t", pid, "-n", "ip"]
        sh = lambda *words: subprocess.run(words, check=True)
        sh("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", pid)
        sh("ip", "addr", "add", f"10.9.{number}.254/24", "dev", f"v{number}")
        sh("ip", "link", "set", f"v{number}", "up")
        sh(*inside, "addr", "add", f"{self.ip}/24", "dev", "eth0")
        sh(*inside, "link", "set", "eth0", "up")
        sh(*inside, "link", "set", "lo", "up")
        sh(*inside, "route", "add", "default", "via", f"10.9.{number}.254")

    def start(self, command):
        prefix = [] if self.cluster.plain else ["nsenter", "-t", str(self.holder.pid), "-n"]
        log = open(os.path.join(self.dir, "log"), "ab")
        self.command = command
        self.process = subprocess.Popen(prefix + command, stdout=log, stderr=log, cwd=self.dir)
        self.runs = True

    def again(self):
        self.start(self.command)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.runs = self.paused = False

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def go_on(self):
        if self.paused:
            self.process.send_signal(signal.SIGCONT)
            self.paused = False


class Cluster:
    def __init__(self, options):
        self.o, self.plain = options, options.plain
        self.dir = tempfile.mkdtemp(prefix="apus-failover-")
        self.cuts = []
        self.servers = [Machine(self, i) for i in (1, 2, 3)]
        self.sentinels = [Machine(self, i) for i in (4, 5, 6)]
        ports = free_ports(6) if self.plain else [6379] * 3 + [26379] * 3
        for m, port in zip(self.servers + self.sentinels, ports):
            m.port, m.address = port, (m.ip, port)
        for m in self.servers:
            self.start_server(m)
        for m in self.sentinels:
            self.start_sentinel(m)

    def start_server(self, m):
        first = self.servers[0]
        lines = [f"port {m.port}", f"bind {m.ip}", f"dir {m.dir}", "save \"\"", "protected-mode no",
                 "threads 2", "repl-diskless-sync-delay 0", "repl-timeout 5",
                 "client-output-buffer-limit replica 0 0 0"]
        if m is not first:
            lines.append(f"replicaof {first.ip} {first.port}")
        if not self.o.without:
            lines += [f"min-replicas-ack {self.o.ack}", "min-replicas-ack-timeout 1500",
                      f"min-replicas-ack-window {self.o.window}"]
            if self.o.lease:
                lines += [f"sentinel-lease-ms {self.o.lease}", "sentinel-lease-sentinels 3",
                          "sentinel-lease-quorum 2"]
        lines += self.o.option
        path = os.path.join(m.dir, "apus.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("\n".join(lines) + "\n")
        m.start([APUS, "serve", path])

    def start_sentinel(self, m):
        first = self.servers[0]
        path = os.path.join(m.dir, "sentinel.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"port {m.port}\nbind {m.ip}\ndir {m.dir}\nprotected-mode no\n"
                    f"sentinel monitor m {first.ip} {first.port} 2\n"
                    f"sentinel down-after-milliseconds m {self.o.down_after}\n"
                    f"sentinel failover-timeout m {self.o.failover_timeout}\n"
                    "sentinel parallel-syncs m 2\n")
        m.start(["redis-server", path, "--sentinel"])

    def cut(self, a, b):
        """What `a` sends to `b` is lost from now on."""
        words = ["iif", f"v{a.number}", "to", f"10.9.{b.number}.0/24", "blackhole"]
        subprocess.run(["ip", "rule", "add", *words], check=True)
        self.cuts.append(words)

    def part(self, some):
        """Cuts `some` machines off from the others, in both directions."""
        others = [m for m in self.servers + self.sentinels if m not in some]
        for a in some:
            for b in others:
                self.cut(a, b)
                self.cut(b, a)

    def heal(self):
        for words in self.cuts:
            subprocess.run(["ip", "rule", "del", *words], check=False)
        self.cuts = []
        for m in self.servers + self.sentinels:
            m.go_on()
            if not m.runs:
                m.again()

    def named(self, sentinel):
        """The primary according to a Sentinel."""
        c = Conn(sentinel.address, 1.0)
        try:
            ip, port = c("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "m")
        finally:
            c.close()
        return next((m for m in self.servers if m.address == (ip, int(port))), None)

    def info(self, m):
        c = Conn(m.address, 1.0)
        try:
            text = c("INFO", "replication")
        finally:
            c.close()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def know_replicas(self):
        """Waits until all Sentinels take both replicas for promotable."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            known = []
            for s in self.sentinels:
                c = Conn(s.address, 1.0)
                replicas = [dict(zip(r[::2], r[1::2])) for r in c("SENTINEL", "REPLICAS", "m")]
                c.close()
                known.append([r.get("slave-priority") for r in replicas])
            if all(k == ["100", "100"] for k in known):
                return
            time.sleep(0.2)
        raise TimeoutError(f"the Sentinels do not know the replicas: {known}")

    def settle(self):
        """Waits until everybody names one primary and both others follow it; that primary."""
        patience = self.o.patience
        deadline, why = time.monotonic() + patience, ""
        while time.monotonic() < deadline:
            try:
                named = [self.named(s) for s in self.sentinels]
                primary = named[0]
                if primary and all(n is primary for n in named):
                    info = self.info(primary)
                    c = Conn(primary.address, 2.0)
                    states = [info.get(f"slave{i}", "") for i in (0, 1)]
                    synced = self.o.without or info.get("in_sync_replicas") == "2"
                    if all("state=online" in s for s in states) and synced:
                        c("SET", "settled", "1")
                        others = [self.info(m) for m in self.servers if m is not primary]
                        if not all(o.get("slave_priority") == "100" for o in others):
                            why = "a replica may not be promoted"
                            c.close()
                            continue
                        c.close()
                        return primary
                    why = str(info)
                    c.close()
                else:
                    why = str([n and n.number for n in named])
            except (Refused, Uncertain, TypeError) as e:
                why = repr(e)
            time.sleep(0.1)
        raise TimeoutError(f"the cluster does not settle: {why}")

    def stop(self):
        for m in self.servers + self.sentinels:
            m.go_on()
            if m.runs:
                m.kill()
            if m.holder:
                m.holder.kill()
                m.holder.wait()


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


class Worker(threading.Thread):
    """A client. A sticky one stays with a primary until that refuses it."""

    def __init__(self, cluster, history, number, job, sticky):
        super().__init__(daemon=True)
        self.cluster, self.history, self.number = cluster, history, number
        self.job, self.sticky = job, sticky
        self.stops = False
        self.conn = None
        self.rng = random.Random(number)
        self.generation = self.value = self.pushes = 0

    def connect(self):
        cluster = self.cluster
        primary = cluster.named(self.rng.choice(cluster.sentinels))
        if primary is None:
            raise Refused("none")
        self.conn = Conn(primary.address, 2.5)
        self.until = time.monotonic() + (60 if self.sticky else self.rng.uniform(0.2, 2))

    def run(self):
        while not self.stops:
            try:
                if self.conn is None:
                    self.connect()
                getattr(self, self.job)()
                if time.monotonic() > self.until:
                    self.drop()
                time.sleep(self.rng.uniform(0.0005, 0.006) * self.cluster.o.pace)
            except Refused:
                self.history.count("refused")
                self.drop()
                time.sleep(0.02)
            except Uncertain:
                self.drop()
            except TypeError:
                self.drop()

    def drop(self):
        if self.conn:
            self.conn.close()
        self.conn = None

    def write(self):
        key, value = f"r{self.number}:{self.generation}", self.value + 1
        start = time.monotonic()
        try:
            self.conn("SET", key, value)
        except Uncertain:
            self.history.wrote(key, start, None, value)
            self.generation, self.value = self.generation + 1, 0
            raise
        self.history.wrote(key, start, time.monotonic(), value)
        self.value = value

    def read(self):
        writer = self.rng.choice([w for w in self.cluster.workers if w.job == "write"])
        key = f"r{writer.number}:{writer.generation}"
        start = time.monotonic()
        value = int(self.conn("GET", key) or 0)
        self.history.read(key, start, time.monotonic(), value)

    def push(self):
        element = f"{self.number}-{self.pushes}"
        self.pushes += 1
        start = time.monotonic()
        try:
            if self.rng.random() < 0.5:
                self.conn("RPUSH", "list", element)
            else:
                self.conn("MULTI")
                self.conn("RPUSH", "list", element)
                self.conn("EXEC")
        except Uncertain:
            self.history.pushed("list", start, None, element)
            raise
        self.history.pushed("list", start, time.monotonic(), element)

    def transfer(self):
        self.pushes += 1
        number = f"{self.number}-{self.pushes}"
        a, b = self.rng.sample(range(ACCOUNTS), 2)
        try:
            self.conn("EVAL", TRANSFER, 2, f"account{a}", f"account{b}", self.rng.randrange(50), number)
        except Uncertain:
            self.history.transferred(number, False)
            raise
        self.history.transferred(number, True)

    def add(self):
        values = self.conn("MGET", *(f"account{i}" for i in range(ACCOUNTS)))
        self.history.sums.append(sum(int(v or 0) for v in values))
        self.history.count("reads")


class Final:
    """The state at the end."""

    def __init__(self, primary):
        self.conn = Conn(primary.address, 30)

    def get(self, key):
        return int(self.conn("GET", key) or 0)

    def range(self, key):
        return self.conn("LRANGE", key, 0, -1)

    def members(self, key):
        return set(self.conn("SMEMBERS", key))


class Faults:
    """One fault at a time."""

    def __init__(self, cluster, rng):
        self.cluster, self.rng = cluster, rng
        o = cluster.o
        self.detect = o.down_after / 1000
        self.kinds = o.faults.split(",") if o.faults else (
            ["kill", "pause", "manual", "kill_replica", "flicker"]
            + ([] if o.plain else ["isolate", "minority", "minority", "one_way", "sentinel_side", "split_replica"])
        )

    def happen(self, primary):
        kind = self.rng.choice(self.kinds)
        getattr(self, kind)(primary)
        return kind

    def wait_for_another(self, primary, patience):
        """Until a Sentinel names another primary."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            for s in self.cluster.sentinels:
                try:
                    named = self.cluster.named(s)
                    if named and named is not primary:
                        return True
                except (Refused, Uncertain, TypeError):
                    pass
            time.sleep(0.05)
        return False

    def kill(self, primary):
        primary.kill()
        self.wait_for_another(primary, 30)
        time.sleep(self.rng.uniform(0, 1))

    def kill_replica(self, primary):
        replica = self.rng.choice([m for m in self.cluster.servers if m is not primary])
        replica.kill()
        time.sleep(self.rng.uniform(0.1, 3))
        replica.again()

    def pause(self, primary):
        primary.pause()
        time.sleep(self.rng.uniform(0.3, 3) * self.detect)

    def flicker(self, primary):
        """Pauses around the time of detection, again and again."""
        for _ in range(4):
            primary.pause()
            time.sleep(self.detect * self.rng.uniform(0.7, 1.3))
            primary.go_on()
            time.sleep(self.rng.uniform(0.05, 0.6))

    def manual(self, _primary):
        s = self.rng.choice(self.cluster.sentinels)
        try:
            c = Conn(s.address)
            c("SENTINEL", "FAILOVER", "m")
            c.close()
        except (Refused, Uncertain):
            pass
        time.sleep(self.rng.uniform(1, 3))

    def isolate(self, primary):
        self.cluster.part([primary])
        time.sleep(self.rng.uniform(0.5, 4) * self.detect)

    def minority(self, primary):
        """The primary and a replica, with at most one Sentinel, apart from the others."""
        replica = self.rng.choice([m for m in self.cluster.servers if m is not primary])
        with_them = self.rng.sample(self.cluster.sentinels, self.rng.randrange(2))
        self.cluster.part([primary, replica, *with_them])
        self.wait_for_another(primary, 8 * self.detect)
        time.sleep(self.rng.uniform(0, 2))

    def sentinel_side(self, primary):
        """The Sentinels lose the primary, and its replicas do not."""
        self.cluster.part(self.cluster.sentinels)
        time.sleep(self.rng.uniform(0.5, 2) * self.detect)
        self.cluster.heal()
        for s in self.cluster.sentinels:
            self.cluster.cut(primary, s)
            self.cluster.cut(s, primary)
        time.sleep(self.rng.uniform(1, 4) * self.detect)

    def one_way(self, primary):
        """What the primary sends is lost, or what is sent to it, for all or some."""
        others = [m for m in self.cluster.servers + self.cluster.sentinels if m is not primary]
        some = others if self.rng.random() < 0.5 else self.rng.sample(others, 3)
        out = self.rng.random() < 0.5
        for m in some:
            self.cluster.cut(*((primary, m) if out else (m, primary)))
        time.sleep(self.rng.uniform(1, 4) * self.detect)

    def split_replica(self, primary):
        """A replica loses its primary; then that dies."""
        replica = self.rng.choice([m for m in self.cluster.servers if m is not primary])
        self.cluster.cut(primary, replica)
        self.cluster.cut(replica, primary)
        time.sleep(self.rng.uniform(0, 2) * self.cluster.o.window / 1000)
        self.kill(primary)


def run(options):
    self_test()
    cluster = Cluster(options)
    history, rng = History(), random.Random(options.seed)
    kinds, failovers, gaps = {}, 0, []
    ok = True
    try:
        primary = cluster.settle()
        cluster.know_replicas()
        c = Conn(primary.address)
        for i in range(ACCOUNTS):
            c("SET", f"account{i}", TOTAL // ACCOUNTS)
        jobs = ["write"] * 4 + ["read"] * 4 + ["push"] * 2 + ["transfer"] * 2 + ["add"] * 2
        cluster.workers = [
            Worker(cluster, history, n, job, n % 2 == 0) for n, job in enumerate(jobs)
        ]
        for w in cluster.workers:
            w.start()
        faults, end = Faults(cluster, rng), time.monotonic() + options.seconds
        for number in range(options.rounds):
            if time.monotonic() > end:
                break
            time.sleep(rng.uniform(0.1, 0.8))
            before = primary
            kind = faults.happen(primary)
            cluster.heal()
            start = time.monotonic()
            primary = cluster.settle()
            gaps.append(time.monotonic() - start)
            failovers += primary is not before
            kinds[kind] = kinds.get(kind, 0) + 1
            print(f"round {number} {kind}: {before.number} -> {primary.number}, settled in {gaps[-1]:.1f} s",
                  flush=True)
        for w in cluster.workers:
            w.stops = True
        for w in cluster.workers:
            w.join()
        primary = cluster.settle()
        found = history.check(Final(primary), TOTAL)
        print(f"TOTAL failovers {failovers} faults {sum(kinds.values())}", *(f"{k} {n}" for k, n in history.counts.items()),
              *(f"{what.replace(' ', '-')} {len(which)}" for what, which in found.items()))
        print(f"faults {kinds}")
        for what, which in found.items():
            ok = False
            print(f"FOUND {what}: {len(which)}, such as {which[:5]}")
    except (TimeoutError, Refused, Uncertain) as e:
        ok = False
        print("FAILED", repr(e))
    finally:
        cluster.stop()
        if ok or options.expect:
            shutil.rmtree(cluster.dir, ignore_errors=True)
        else:
            print("files are in", cluster.dir)
    if options.expect:
        print("expected to find something:", "found" if not ok else "NOTHING FOUND")
        return 1 if ok else 0
    return 0 if ok else 1


def run_many(options):
    """Runs `--clusters` of these programs at a time, each with a seed of its own, until the time is over. Prints the sums
    of their totals, and what those that found something have printed."""
    end, seed = time.monotonic() + options.seconds, options.seed
    sums, failed, lock = {"runs": 0}, [], threading.Lock()

    def one(first):
        number = first
        while time.monotonic() < end:
            words = [sys.executable, *without_clusters(sys.argv), "--seed", str(seed + number)]
            words += ["--seconds", str(end - time.monotonic())]
            number += options.clusters
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            with lock:
                add_total(sums, done.stdout)
                print(f"seed {words[-3]}: exit {done.returncode};", *(f"{k} {n}" for k, n in sums.items()), flush=True)
                if done.returncode:
                    failed.append(words[-3])
                    print(done.stdout, flush=True)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(options.clusters)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print("SUM", *(f"{k} {n}" for k, n in sums.items()), "failed seeds", failed)
    return 1 if failed else 0


def without_clusters(words):
    """The command line of one of several programs."""
    out, skip = [], False
    for w in words:
        if not skip and w != "--clusters":
            out.append(w)
        skip = w == "--clusters"
    return out


def add_total(sums, text):
    """Adds the figures of the line that begins with TOTAL, if there is one."""
    sums["runs"] += 1
    for line in text.splitlines():
        if line.startswith("TOTAL "):
            words = line.split()[1:]
            for name, n in zip(words[::2], words[1::2]):
                sums[name] = sums.get(name, 0) + int(n)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=20, help="faults")
    p.add_argument("--seconds", type=float, default=1e9, help="no further fault after this time")
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--plain", action="store_true", help="all on loopback, without partitions")
    p.add_argument("--without", action="store_true", help="without the options under test")
    p.add_argument("--expect", action="store_true", help="succeed only if something is found")
    p.add_argument("--ack", type=int, default=1, help="min-replicas-ack")
    p.add_argument("--window", type=int, default=20000, help="min-replicas-ack-window")
    p.add_argument("--lease", type=int, default=1700, help="sentinel-lease-ms; 0 for none")
    p.add_argument("--down-after", type=int, default=2000, help="down-after-milliseconds")
    p.add_argument("--failover-timeout", type=int, default=3000)
    p.add_argument("--faults", default="", help="kinds of faults, with commas between")
    p.add_argument("--option", action="append", default=[], help="one more line of configuration")
    p.add_argument("--patience", type=float, default=70, help="seconds for the cluster to be whole again after a fault")
    p.add_argument("--pace", type=float, default=1, help="how many times longer the clients wait between calls")
    p.add_argument("--clusters", type=int, default=1, help="how many at once")
    options = p.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.clusters > 1:
        sys.exit(run_many(options))
    if not options.plain and not os.environ.get("APUS_FAILOVER_INSIDE"):
        os.environ["APUS_FAILOVER_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])
    if not options.plain:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as f:
            f.write("1")
    sys.exit(run(options))


if __name__ == "__main__":
    main()
