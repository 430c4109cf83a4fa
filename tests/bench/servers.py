"""Starts a real redis-server and Apus on one core and drives both, interleaved, from the other.

Both have one worker thread, so that CPU per request compares; `taskset` gives servers core 0 and the
client core 1. Every figure is a median of short runs that alternate between the servers.
"""

import json
import os
import socket
import subprocess
import tempfile
import time


def encode(words):
    out = [b"*%d\r\n" % len(words)]
    for w in words:
        w = w if isinstance(w, bytes) else str(w).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(w), w))
    return b"".join(out)


def pinned(core, command):
    return ["taskset", "-c", str(core), *command] if (os.cpu_count() or 1) > 1 else command


class Servers:
    """Context manager: `targets` maps names to ports on the loopback interface."""

    def __init__(self, apus, base=18900, limits=()):
        self.apus = apus
        self.commands = {
            "redis": ["redis-server", "--port", "{port}", "--save", "", "--appendonly", "no"],
            "apus": [apus, "serve", "--port", "{port}", "--threads", "1", "--save", ""],
        }
        for name, command in limits:
            self.commands[name] = command
        self.base = base
        self.targets, self.processes = {}, {}

    def __enter__(self):
        for i, (name, command) in enumerate(self.commands.items()):
            port = self.base + i
            command = pinned(0, [w.format(port=port) for w in command])
            quiet = subprocess.DEVNULL
            self.processes[name] = subprocess.Popen(command, stdout=quiet, stderr=quiet)
            self.targets[name] = port
        for port in self.targets.values():
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.05)
        return self

    def __exit__(self, *_):
        for p in self.processes.values():
            p.kill()
            p.wait()

    def load(self, commands, names=("redis", "apus")):
        """Sends commands (lists of words) to both, in pipelines, and awaits the replies."""
        commands = list(commands)
        for name in names:
            with socket.create_connection(("127.0.0.1", self.targets[name])) as s:
                replies = s.makefile("rb")
                for at in range(0, len(commands), 1000):
                    part = commands[at : at + 1000]
                    s.sendall(b"".join(map(encode, part)))
                    for _ in part:
                        line = replies.readline()
                        assert line[:1] in b"+:", line

    def flush(self):
        self.load([["FLUSHALL"]])

    def run(self, command, pipeline=16, keys=100_000, connections=50, seconds=0.6, reps=3,
            names=("redis", "apus"), size="3", count=None, resp=None):
        """Drives `command` at one depth. Returns a dict per server, as `apus bench kv --json` has."""
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            words = [self.apus, "bench", "kv", "-c", str(connections), "--threads", "1",
                     "-P", str(pipeline), "--reps", str(reps), "-r", str(keys), "-d", str(size),
                     "--command", command, "--json", out.name]
            words += ["-n", str(count)] if count else ["--duration", str(seconds)]
            for name in names:
                words += ["--target", f"{name}=127.0.0.1:{self.targets[name]}"]
            done = subprocess.run(pinned(1, words), capture_output=True, text=True)
            assert done.returncode == 0, done.stderr + done.stdout[-2000:]
            return {r["target"]: r for r in json.load(open(out.name))["results"]}
