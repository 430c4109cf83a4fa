#!/usr/bin/env python3
"""The cost of scripts: server CPU per EVALSHA on Apus and on a real Redis, in one run.

A script of one GET, and those of centrifuge's Redis engine with arguments like those of its users. The
scripts are read from the Go module that tests/clients/go uses. One client on core 1 sends batches of 200;
both servers are on core 0, Apus with one thread.

    tests/bench/scripts.py [target/release/apus [seconds per case]]

With `threads` behind these: how many calls per second Apus does with one thread and with two, for four
clients with keys of their own on the same two cores. (All clients share the empty key that Centrifugo's
scripts declare.)
"""

import hashlib
import os
import pathlib
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCH = 200


def words(*args):
    """A request."""
    parts = [a if isinstance(a, bytes) else str(a).encode() for a in args]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)


class Client:
    """A connection that sends whole batches."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, requests):
        """Sends requests and reads until their last reply."""
        self.socket.sendall(requests + words("ECHO", "end of batch"))
        got = b""
        while not got.endswith(b"\r\nend of batch\r\n"):
            got = got[-(1 << 16):] + self.socket.recv(1 << 20)
        return got

    def cpu(self):
        """Seconds that the server has used."""
        lines = self.send(words("INFO", "cpu")).decode().split("\r\n")
        known = dict(line.split(":", 1) for line in lines if ":" in line)
        return float(known["used_cpu_user"]) + float(known["used_cpu_sys"])


def cases(directory):
    """Name, script, requests before, arguments of call `i`."""
    text = {f.stem: f.read_text() for f in directory.glob("*.lua")}
    add, payload = text["broker_history_add_stream"], "x" * 200
    present = text["presence_add"]
    history = lambda key, i, value: (
        3, f"{key}:{i % 100}", f"{key}-meta:{i % 100}", "", value, 100, 60,
        f"channel{i % 100}", 3600, "epoch", "publish", "", "", 0, "")
    yield ("one GET", "return redis.call('GET', KEYS[1])",
           [("SET", f"key:{i}", f"value{i}") for i in range(1000)],
           lambda i: (1, f"key:{i % 1000}"))
    yield "publish, stream", add, [], lambda i: history("stream", i, payload)
    yield ("publish, list", text["broker_history_add_list"], [],
           lambda i: (3, f"list:{i % 100}", f"list-meta:{i % 100}", "", payload, 99, 60,
                      f"channel{i % 100}", 3600, "epoch", "publish", "", ""))
    yield ("recover 10 x 800 B", text["broker_history_stream"],
           [("EVAL", add, *history("kept", i, "x" * 800)) for i in range(1000)],
           lambda i: (2, f"kept:{i % 100}", f"kept-meta:{i % 100}", 1, 1, 0, 0, 3600, "epoch"))
    yield ("add presence", present, [],
           lambda i: (4, f"times:{i % 100}", f"infos:{i % 100}", "", "", 60, 9999999999,
                      f"client{i % 50}", "info" * 20, f"user{i % 50}", 0, 0))
    yield ("presence of 1,000", text["presence_get"],
           [("EVAL", present, 4, "times", "infos", "", "", 600, 9999999999, f"client-{i}",
             "info" * 20, "user", 0, 0) for i in range(1000)],
           lambda i: (2, "times", "infos", 1, 0))


def measure(port, case, seconds):
    """Microseconds of CPU per call."""
    _, script, before, args = case
    client = Client(port)
    client.send(b"".join(words(*request) for request in before) + words("SCRIPT", "LOAD", script))
    sha = hashlib.sha1(script.encode()).hexdigest()
    batch = b"".join(words("EVALSHA", sha, *args(i)) for i in range(BATCH))
    client.send(batch)
    used, start, calls = client.cpu(), time.monotonic(), 0
    while time.monotonic() - start < seconds:
        client.send(batch)
        calls += BATCH
    return (client.cpu() - used) * 1e6 / calls


def rate(apus, threads, case, seconds):
    """Calls per second of four clients."""
    port = 17953
    command = [str(apus), "serve", "--port", str(port), "--threads", threads, "--save", ""]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        _, script, before, args = case
        sha = hashlib.sha1(script.encode()).hexdigest()
        Client(port).send(b"".join(words(*r) for r in before) + words("SCRIPT", "LOAD", script))
        total = 0
        children = []
        for number in range(4):
            # 100 different ones each.
            batch = b"".join(words("EVALSHA", sha, *args(i)) for i in range(BATCH))
            batch = batch.replace(b":", b"%d" % number) if case[0] != "one GET" else batch
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                client, calls = Client(port), 0
                until = time.monotonic() + seconds
                while time.monotonic() < until:
                    client.send(batch)
                    calls += BATCH
                os.write(write, b"%d" % calls)
                os._exit(0)
            os.close(write)
            children.append((child, read))
        for child, read in children:
            os.waitpid(child, 0)
            total += int(os.read(read, 100))
        return total / seconds
    finally:
        server.kill()
        server.wait()


def scale(apus, seconds, directory):
    """Prints how much a second thread brings."""
    print("| script | one thread, 1/s | two, 1/s | ratio |\n|---|---|---|---|")
    for case in cases(directory):
        if case[0] in ("one GET", "publish, stream", "publish, list", "add presence"):
            one, two = (rate(apus, threads, case, seconds) for threads in ("1", "2"))
            print(f"| {case[0]} | {one:.0f} | {two:.0f} | {two / one:.2f} |", flush=True)


def main():
    apus = sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/apus"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    go = ROOT / "tests/clients/go"
    module = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", "github.com/centrifugal/centrifuge"],
        cwd=go, check=True, capture_output=True, text=True).stdout.strip()
    if "threads" in sys.argv[3:]:
        return scale(apus, seconds, pathlib.Path(module) / "internal/redis_lua")
    servers = [
        (17951, ["redis-server", "--port", "17951", "--save", ""]),
        (17952, [str(apus), "serve", "--port", "17952", "--threads", "1",
                 "--save", ""]),
    ]
    running = []
    try:
        for _, command in servers:
            running.append(subprocess.Popen(["taskset", "-c", "0", *command],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        subprocess.run(["taskset", "-cp", "1", str(os.getpid())],
                       check=True, stdout=subprocess.DEVNULL)
        time.sleep(1)
        print("| script | Redis, µs | Apus, µs | ratio |\n|---|---|---|---|")
        for case in cases(pathlib.Path(module) / "internal/redis_lua"):
            redis, ours = (measure(port, case, seconds) for port, _ in servers)
            print(f"| {case[0]} | {redis:.2f} | {ours:.2f} | {ours / redis:.2f} |", flush=True)
    finally:
        for process in running:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
