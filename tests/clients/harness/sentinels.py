"""Sentinels that do what a test says: each pings a primary and tells it, as Sentinels do, whom it takes for the primary."""

import threading
import time

from harness.replication import Client

PERIOD_S = 0.1


class Sentinels:
    """`count` Sentinels that see the server at `port`, and name it or the one at `names`, until they are cut off."""

    def __init__(self, port, count=3, names=None, epoch=1):
        self.port, self.names, self.epoch = port, names or port, epoch
        self.ids = [f"{i + 1:08x}" + "a" * 32 for i in range(count)]
        self.cut = threading.Event()
        # When the last PONG was read: no Sentinel calls the primary down before that and down-after-milliseconds.
        self.last_pong = 0.0
        self.threads = [threading.Thread(target=self._watch, args=(i,), daemon=True) for i in self.ids]
        for thread in self.threads:
            thread.start()

    def _watch(self, run_id):
        try:
            with Client(self.port) as c:
                c("CLIENT", "SETNAME", f"sentinel-{run_id[:8]}-cmd")
                while not self.cut.wait(PERIOD_S):
                    c("PING")
                    self.last_pong = max(self.last_pong, time.monotonic())
                    hello = f"127.0.0.1,26379,{run_id},{self.epoch},m,127.0.0.1,{self.names},{self.epoch}"
                    c("PUBLISH", "__sentinel__:hello", hello)
        except (OSError, AssertionError):
            pass  # The server has ended, or has closed the connection.

    def cut_off(self):
        """They do not reach the server any more."""
        self.cut.set()
        for thread in self.threads:
            thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cut_off()
