#!/usr/bin/env python3
"""Histories of live channels under faults: does every subscriber see a contiguous sequence, or is told that it does not?

Subscribers over all transports follow a few channels while messages are published. Meanwhile connections are cut, the
server is killed with -9 and started again, and histories are deleted, cut short and expire. Every subscriber writes down
what it was told. Afterwards:

- behind a subscription that recovered, or is new, comes the next offset, and then each next one;
- nothing comes twice within an epoch, and an offset of an epoch has the same message for everybody, the publisher's
  answer included;
- what was missed is told: a subscription that does not go on where its subscriber was says that it has not recovered.

usage: channels.py [--seconds S] [--seed N] [--journal always|everysec|no] [--threads N] [--channels N]
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "clients"))
from harness.live import TRANSPORTS, Gone, api, config, subscribe  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.server import PATIENCE_S, encode  # noqa: E402

APUS = os.environ.get("APUS_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "target", "release", "apus")


class Server:
    """A server that is killed and started again, with its files."""

    def __init__(self, args, directory):
        self.port, self.web = free_port(), free_port()
        self.dir = directory
        with open(f"{directory}/live.json", "w") as f:
            json.dump(config({"hist": {
                "history_size": args.history, "history_ttl": "2s", "history_meta_ttl": "1h", "force_recovery": True,
            }}), f)
        self.command = [APUS, "serve", "--port", self.port, "--dir", directory, "--save", "", "--threads", args.threads,
                        "--web-port", self.web, "--live-config", f"{directory}/live.json"]
        if args.journal != "no":
            self.command += ["--appendonly", "yes", "--appendfsync", args.journal]
        self.log = open(f"{directory}/log", "ab")
        self.start()

    def start(self):
        self.process = subprocess.Popen([str(w) for w in self.command], stdout=self.log, stderr=self.log)
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                if self.call("PING") == b"+PONG\r\n" and "result" in api(self.web, "channels", {}):
                    return
            except (OSError, Gone):
                pass  # It is on its way up.
            assert self.process.poll() is None and time.monotonic() < end, open(f"{self.dir}/log").read()[-2000:]
            time.sleep(0.01)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def call(self, *words):
        """A command whose reply is one line."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as s:
            s.sendall(encode(*words))
            return s.recv(4096)


class Subscriber(threading.Thread):
    """Follows a channel and writes down what it is told: (what, epoch, offset, data)."""

    def __init__(self, server, transport, channel, stop):
        super().__init__(daemon=True)
        self.server, self.transport, self.channel, self.stop = server, transport, channel, stop
        self.told, self.position, self.connection, self.failure = [], None, None, None

    def run(self):
        try:
            while not self.stop.is_set():
                try:
                    self.follow()
                except Gone as gone:
                    self.told.append(("gone", None, None, str(gone)))
                    time.sleep(0.005)
                finally:
                    if self.connection:
                        self.connection.close()
                    self.connection = None
        except Exception as e:  # What no subscriber expects is a fault of the server, or of this script.
            self.failure = e

    def follow(self):
        self.connection, result = subscribe(self.transport, self.server.web, self.channel, self.position)
        epoch, offset = result.get("epoch", ""), result.get("offset", 0)
        recovered = bool(result.get("recovered"))
        if self.position and not result.get("was_recovering"):
            raise AssertionError(f"a position was given, and the reply is silent about it: {result}")
        self.told.append(("recovered" if recovered else "subscribed", epoch, offset, None))
        for publication in result.get("publications", []):
            self.take(epoch, publication)
        # The offset of a recovered subscription is where it begins; its publications follow.
        at = self.position[0] if recovered and self.position[1] == epoch else offset
        self.position = (max(at, offset), epoch)
        while not self.stop.is_set():
            message = self.connection.message()
            if "pub" in message:
                self.take(epoch, message["pub"])
            elif "unsubscribe" in message:
                raise Gone(message["unsubscribe"]["code"], "unsubscribed")

    def take(self, epoch, publication):
        self.told.append(("pub", epoch, publication.get("offset", 0), publication["data"]))
        self.position = (publication.get("offset", 0), epoch)

    def cut(self):
        connection = self.connection
        if connection:
            connection.cut()


def verify(told):
    """What is wrong with what one subscriber was told."""
    wrong, position = [], None
    for n, (what, epoch, offset, data) in enumerate(told):
        context = f"{told[max(0, n - 4):n + 2]}"
        if what == "subscribed":
            position = (offset, epoch)
        elif what == "recovered":
            if position is None or position[1] != epoch:
                wrong.append(f"recovered in epoch {epoch} from {position}: {context}")
                position = (offset, epoch)
        elif what == "pub":
            if position is None or (offset, epoch) != (position[0] + 1, position[1]):
                kind = "a duplicate" if position and offset <= position[0] else "a gap"
                wrong.append(f"{kind}: {offset} of {epoch} behind {position}: {context}")
            position = (offset, epoch)
    return wrong


def agree(all_told, answers):
    """Whether an offset is one message for everybody."""
    known, wrong = {}, []
    for who, items in [*all_told, ("publisher", answers)]:
        for channel, epoch, offset, data in items:
            other = known.setdefault((channel, epoch, offset), (data, who))
            if other[0] != data:
                wrong.append(f"{channel} {offset} of {epoch}: {data} for {who}, {other[0]} for {other[1]}")
    return wrong


def faults(args, rng, server, subscribers, channels, counts, deadline):
    """Does harm until the time is over."""
    while time.monotonic() < deadline:
        time.sleep(rng.random() * 0.15)
        channel = rng.choice(channels)
        kind = rng.choices(["cut", "all", "kill", "delete", "forget", "trim", "expire"], [12, 2, 3, 2, 1, 2, 1])[0]
        if kind == "cut":
            for s in rng.sample(subscribers, 3):
                s.cut()
        elif kind == "all":
            for s in subscribers:
                s.cut()
        elif kind == "kill":
            server.kill()
            time.sleep(rng.random() * 0.05)
            server.start()
        elif kind == "delete":
            server.call("DEL", f"centrifugo.stream.{channel}")
        elif kind == "forget":
            server.call("DEL", f"centrifugo.stream.{channel}", f"centrifugo.stream.meta.{channel}")
        elif kind == "trim":
            server.call("XTRIM", f"centrifugo.stream.{channel}", "MAXLEN", rng.randrange(3))
        elif kind == "expire":
            server.call("PEXPIRE", f"centrifugo.stream.{channel}", 1)
        counts[kind] = counts.get(kind, 0) + 1


def publisher(server, rng, channels, answers, stop):
    number = 0
    while not stop.is_set():
        number += 1
        channel, data = rng.choice(channels), {"n": number}
        try:
            result = api(server.web, "publish", {"channel": channel, "data": data}).get("result")
            if result:
                answers.append((channel, result["epoch"], result["offset"], data))
        except Gone:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.004)


def settle(server, subscribers, channels, answers):
    """One more message to each channel, which everybody must get."""
    last, end = {}, time.monotonic() + PATIENCE_S
    for channel in channels:
        while True:
            try:
                answer = api(server.web, "publish", {"channel": channel, "data": "last"})
            except Gone as gone:
                answer = {"error": str(gone)}
            if result := answer.get("result"):
                break
            if time.monotonic() > end:
                return [f"{channel} takes no publication: {answer}"]
            time.sleep(0.01)
        answers.append((channel, result["epoch"], result["offset"], "last"))
        last[channel] = (result["offset"], result["epoch"])
    waiting = list(subscribers)
    while waiting:
        waiting = [s for s in waiting if s.position != last[s.channel] and s.failure is None]
        if time.monotonic() > end:
            return [f"{s.transport} of {s.channel} is at {s.position}, not {last[s.channel]}; {s.told[-5:]}" for s in waiting]
        time.sleep(0.01)
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--journal", choices=["always", "everysec", "no"], default="always")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--history", type=int, default=50)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    channels = [f"hist:{n}" for n in range(args.channels)]
    with tempfile.TemporaryDirectory(prefix="apus-channels-") as directory:
        server = Server(args, directory)
        try:
            return chaos(args, rng, server, channels)
        finally:
            server.kill()


def chaos(args, rng, server, channels):
    stop, quiet, answers, counts = threading.Event(), threading.Event(), [], {}
    subscribers = [Subscriber(server, t, c, stop) for c in channels for t in TRANSPORTS]
    for s in subscribers:
        s.start()
    publishing = threading.Thread(target=publisher, args=(server, random.Random(args.seed), channels, answers, quiet), daemon=True)
    publishing.start()
    faults(args, rng, server, subscribers, channels, counts, time.monotonic() + args.seconds)
    quiet.set()
    publishing.join()
    wrong = settle(server, subscribers, channels, answers)
    stop.set()
    for s in subscribers:
        s.cut()
    for s in subscribers:
        s.join(PATIENCE_S)
    for s in subscribers:
        name = f"{s.transport} of {s.channel}"
        if s.failure is not None:
            wrong.append(f"{name}: {s.failure!r}")
        wrong += [f"{name}: {text}" for text in verify(s.told)]
    told = [(s.transport, [(s.channel, e, o, d) for what, e, o, d in s.told if what == "pub"]) for s in subscribers]
    wrong += agree(told, answers)
    kinds = {k: sum(t[0] == k for s in subscribers for t in s.told) for k in ("pub", "recovered", "subscribed", "gone")}
    print(f"journal {args.journal}: {len(answers)} published, {kinds['pub']} delivered, {kinds['recovered']} recovered, "
          f"{kinds['subscribed']} subscribed anew, {kinds['gone']} ends; faults {counts}; {len(wrong)} wrong")
    for text in wrong[:10]:
        print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
