"""The cost of an idle connection in the server's own memory.

    python3 tests/soak/idle.py [--connections 10000] [--bytes-max 2048]

The figure is the growth after the first tenth of the connections, so that first allocations of the
process do not count. Resident memory grows in steps of 2 MiB where the system gives huge pages, so
take many connections. Every connection has said PING, as real clients do (a buffer kept after a
batch would show). Fails above `--bytes-max` resident bytes per connection.
"""

import argparse
import resource
import sys
import time

from common import Server, report


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--connections", type=int, default=10_000)
    p.add_argument("--bytes-max", type=int, default=2048)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--reference", action="store_true", help="measure redis-server instead")
    a = p.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    a.connections = min(a.connections, hard - 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, a.connections + 100), hard))
    options = ["--maxclients", a.connections + 100]
    if not a.reference:
        options += ["--threads", a.threads]
    with Server(*options, reference=a.reference) as s:
        open_ = []
        samples = []
        with s.client() as watch:
            tenth = a.connections // 10
            for n in (tenth, a.connections - tenth):
                for _ in range(n):
                    c = s.client()
                    # The client's own buffer would cost this process a lot.
                    c.file.close()
                    c.sock.sendall(b"PING\r\n")
                    assert c.sock.recv(16) == b"+PONG\r\n"
                    open_.append(c.sock)
                time.sleep(0.5)
                samples.append((s.rss(), int(watch.info("memory")["used_memory"])))
            n = a.connections - tenth
            rss = (samples[1][0] - samples[0][0]) / n
            used = (samples[1][1] - samples[0][1]) / n
            for sock in open_:
                sock.close()
            deadline = time.monotonic() + 10
            while int(watch.info("clients")["connected_clients"]) > 1:
                assert time.monotonic() < deadline, "connections are still counted"
                time.sleep(0.05)
            # Memory that tables of connections keep for later ones.
            kept = int(watch.info("memory")["used_memory"]) - (samples[0][1] - round(used * tenth))
        report(
            "idle", connections=a.connections, rss_per_connection=round(rss),
            used_per_connection=round(used), used_after_closing=kept,
        )
        return 0 if rss <= a.bytes_max else 1


sys.exit(main())
